"""The report of diagnostic reasoning: sums of rubric scores, who judged, how far judges and people agree."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from psychoedu.exceptions import RecordsError
from psychoedu.runners.aligned.diagnostic import DIAGNOSTIC, FALLBACK, NAME
from psychoedu.runners.aligned.evaluation import GROUP, Evaluation, column_of, frame_of
from psychoedu.runners.aligned.judge import MAXIMUM
from psychoedu.runners.measures import JudgeAgreement, judge_agreement
from psychoedu.runners.records import Records
from psychoedu.runners.records_frame import MISSING
from psychoedu.runners.rules.judgements import rubric_score
from psychoedu.validation import check_columns, counted, listed

SCORES = tuple(range(MAXIMUM + 1))
REPLY = ["model", "condition", "item_id", "epoch"]
HUMAN_COLUMNS = ("item_id", "model", "rater", "score")


def analyse(records: Records, human: Any = None) -> Evaluation:
    """Report diagnostic reasoning.

    Parameters
    ----------
    records : Records
        Of a run of this evaluation.
    human : path or DataFrame, optional
        Scores by people of some replies, see :func:`load_human_scores`.

    Returns
    -------
    Evaluation
        ``scores``: raw sum, maximum and percentage; ``judged_by``: replies by judge; ``scenarios``: mean score of each;
        ``judges``, ``agreement``, ``agreement_pairs``: where several judges read the same replies; ``human_judges``,
        ``human_agreement``, ``human_agreement_pairs``: where people scored some; ``retest`` with several iterations.

    Notes
    -----
    A reply that no judge has scored is missing: the model's sum is then unknown, and ``percent_scored`` is of the scored alone.
    An empty reply has the score 0. With several iterations sums are of each iteration, and their mean is shown.
    """
    frame = frame_of(records, NAME)
    tables = {"scores": sums(frame), "judged_by": judged_by(frame), "scenarios": by_scenario(frame)}
    notes = []
    panel = judge_scores(frame)
    if panel.shape[1] >= 2:
        tables |= _agreement(judge_agreement(panel, SCORES), "")
    if human is not None:
        compared, told = human_comparison(frame, human)
        tables |= _agreement(judge_agreement(compared, SCORES), "human_")
        notes.append(told)
    if (frame["epoch"] > 1).any():
        tables["retest"] = records.test_retest()
    unscored = frame[frame["reason"].isin(MISSING)]
    if len(unscored):
        notes.append(f"{counted(len(unscored), 'reply')} without a score: {listed(sorted(set(unscored['error'].dropna())))}.")
    return Evaluation(NAME, DIAGNOSTIC.title, tables, tuple(notes))


def _agreement(found: JudgeAgreement, prefix: str) -> dict[str, pd.DataFrame]:
    return {
        f"{prefix}judges": found.judges,
        f"{prefix}agreement": found.overall,
        f"{prefix}agreement_pairs": found.pairs,
    }


def sums(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the sum of scores by model and condition, as AlignED reports it, with what it is made of.

    Parameters
    ----------
    frame : DataFrame
        Records.
    """
    rows = {}
    for label, own in frame.groupby(GROUP, sort=False):
        runs = [rubric_score(run["score"].tolist(), MAXIMUM) for _, run in own.groupby("epoch")]
        scores = own["score"].dropna()
        rows[label] = {
            "n_scenarios": own["item_id"].nunique(),
            "n_iterations": len(runs),
            "raw": float(np.mean([run.raw for run in runs])),
            "maximum": max(run.maximum for run in runs),
            "percent": float(np.mean([run.percent for run in runs])),
            "percent_scored": 100.0 * float(scores.mean()) / MAXIMUM if len(scores) else math.nan,
            **{f"score_{value}": int((scores == value).sum()) for value in SCORES},
            "unscored": int(own["score"].isna().sum()),
            "by_fallback": int(own["judge_fallback"].eq(True).fillna(False).sum()),
        }
    return pd.DataFrame(list(rows.values()), index=pd.MultiIndex.from_tuples(list(rows), names=GROUP))


def judged_by(frame: pd.DataFrame) -> pd.DataFrame:
    """Return how many replies of each model a judge has scored, and with what mean."""
    known = frame[frame["judge_model"].notna() & frame["score"].notna()]
    grouped = known.assign(judge_fallback=known["judge_fallback"].astype(object)).groupby(
        ["judge_model", "judge_fallback", "model"], sort=False
    )["score"]
    return pd.DataFrame({"n": grouped.size(), "mean": grouped.mean()})


def by_scenario(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the mean score of each model on each scenario: scenarios x models."""
    table = frame.pivot_table(index="item_id", columns=GROUP, values="score", aggfunc="mean", sort=False)
    table.columns = [" / ".join(part for part in label if part) for label in table.columns]
    return table.assign(mean=table.mean(axis=1))


def judge_scores(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the scores of every judge but the fallback: replies x judges.

    Parameters
    ----------
    frame : DataFrame
        Records with the column ``judge_scores``.

    Returns
    -------
    DataFrame
        By model, condition, item and iteration; a column a judge, its role and its model's name; missing where it gave no score.
        No column where no reply was judged.
    """
    if "judge_scores" not in frame:
        return pd.DataFrame(index=pd.MultiIndex.from_frame(frame[REPLY]))
    given = [json.loads(text) if isinstance(text, str) else {} for text in frame["judge_scores"]]
    named = [json.loads(text) if isinstance(text, str) else {} for text in column_of(frame, "judge_models")]
    roles = dict.fromkeys(role for scores in given for role in scores if role != FALLBACK)
    columns = {}
    for role in roles:
        models = list(dict.fromkeys(names[role] for names in named if role in names))
        columns[f"{role} ({', '.join(models)})"] = [scores.get(role) for scores in given]
    return pd.DataFrame(columns, index=pd.MultiIndex.from_frame(frame[REPLY]), dtype=np.float64)


def load_human_scores(source: Any) -> pd.DataFrame:
    """Read scores that people gave to some replies.

    Parameters
    ----------
    source : path or DataFrame
        A row for each reply and rater with the columns ``item_id``, ``model``, ``rater``, ``score`` (0 to 3), and ``condition``
        and ``epoch`` where these tell replies apart.

    Returns
    -------
    DataFrame

    Raises
    ------
    RecordsError
        A column is missing, a score is none of 0, 1, 2, 3, or a rater scored a reply twice.
    """
    table = source.copy() if isinstance(source, pd.DataFrame) else pd.read_csv(Path(source), dtype={"item_id": str})
    check_columns(table, list(HUMAN_COLUMNS), "human")
    table = table.astype({"item_id": str, "model": str, "rater": str})
    values = pd.to_numeric(table["score"], errors="coerce")
    wrong = ~values.isin(SCORES)
    if wrong.any():
        raise RecordsError(
            f"{counted(int(wrong.sum()), 'human score')} outside {listed(SCORES)}, first {table['score'][wrong].iloc[0]!r} by "
            f"{table['rater'][wrong].iloc[0]} for {table['item_id'][wrong].iloc[0]}. Leave out what was not scored."
        )
    keys = [name for name in (*REPLY, "rater") if name in table]
    twice = table.duplicated(keys)
    if twice.any():
        labels = table.loc[twice, keys].to_numpy().tolist()
        raise RecordsError(
            f"{counted(len(labels), 'human score')} given twice by one rater: {listed(labels)}. Expected one each."
        )
    return table.assign(score=values.astype(np.float64))


def human_comparison(frame: pd.DataFrame, human: Any) -> tuple[pd.DataFrame, str]:
    """Return the scores of judges and people of the replies that people scored: replies x judges and raters, and a note.

    Parameters
    ----------
    frame : DataFrame
        Records.
    human : path or DataFrame
        As for :func:`load_human_scores`.

    Raises
    ------
    RecordsError
        A reply that people scored is not among the records, or they do not say which of several.
    """
    people = load_human_scores(human)
    keys = [name for name in REPLY if name in people]
    known = frame[REPLY].copy()
    if known.duplicated(keys).any():
        absent = [name for name in REPLY if name not in keys]
        raise RecordsError(f"The human scores do not say which of several replies they are of. Add the columns {listed(absent)}.")
    by_rater = people.pivot(index=keys, columns="rater", values="score")
    places = known.set_index(keys).index
    unknown = [label for label in by_rater.index if label not in places]
    if unknown:
        raise RecordsError(
            f"{counted(len(unknown), 'reply')} with human scores are not among the records: {listed(unknown)}.\n"
            f"Expected the {listed(keys)} of records, spelt alike."
        )
    panel = judge_scores(frame)
    judges = panel if panel.shape[1] >= 2 else frame[["score"]].set_axis(["judge"], axis=1)
    table = judges.set_axis(places, axis=0).join(by_rater.rename(columns=lambda name: f"rater {name}"), how="inner")
    return table, f"People scored {len(by_rater):,} of {len(frame):,} replies ({counted(by_rater.shape[1], 'rater')})."
