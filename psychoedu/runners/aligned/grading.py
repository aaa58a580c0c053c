"""AlignED's standards-based grading: the level of a single student work, above, at or below satisfactory."""

from __future__ import annotations

from typing import Any

import pandas as pd

from psychoedu.runners.aligned.evaluation import Evaluation, frame_of, keys_in, sensitivity, with_reply
from psychoedu.runners.aligned.items import items_of
from psychoedu.runners.aligned.prompts import grading_prompt
from psychoedu.runners.banks.works import StudentWork, WorkBank, load_works
from psychoedu.runners.benchmarks import Benchmark, Messages
from psychoedu.runners.records import Records
from psychoedu.runners.rules.grading import LEVELS, GradingAgreement, grading_agreement

NAME = "aligned-grading"
CONDITIONS = {"standard": "the work, its task and the achievement standard"}


def load_items(items: Any) -> WorkBank:
    """Return a bank of student works: as it is, from a file, or the sample that comes with the package.

    Raises
    ------
    ItemBankError
        The file has malformed items.
    """
    bank: WorkBank = items_of(items, WorkBank, "works", load_works)
    return bank


def messages(item: StudentWork, condition: str = "standard", **_: Any) -> Messages:
    """Return what a model is sent about a work."""
    return [("user", grading_prompt(item))]


GRADING = Benchmark(
    name=NAME,
    title="AlignED standards-based grading: the level of a student work",
    conditions=CONDITIONS,
    default_conditions=("standard",),
    load_items=load_items,
    task="psychoedu.runners.tasks.aligned_grading:aligned_grading",
    messages=messages,
    protocol={"temperature": 0.0},
    temperature=None,
    report="psychoedu.runners.aligned.grading:analyse",
)


def read_key(value: Any) -> str | None:
    """Return the level that a key names, with or without _SATISFACTORY."""
    text = str(value).strip().upper().replace(" ", "_")
    return next((level for level in LEVELS if text in (level, level.removesuffix("_SATISFACTORY"))), None)


def analyse(records: Records, invalid: str = "drop", keys: Any = None) -> Evaluation:
    """Report standards-based grading.

    Parameters
    ----------
    records : Records
        Of a run of this evaluation.
    invalid : {"drop", "wrong"}
        Classifications that cannot be read are left out, or are wrong; see
        :func:`psychoedu.runners.rules.grading.grading_agreement`.
    keys : path, mapping of work to level, or mapping of name to one of these, optional
        Alternative levels, under which the classifications are scored as well.

    Returns
    -------
    Evaluation
        ``scores``: accuracy, Cohen's kappa, accuracy at each level, works pulled to the middle, valid rate, by model;
        ``confusion``: true levels against given ones; ``subjects``: the same scores by subject; ``keys``; ``retest``.
    """
    frame = frame_of(records, NAME)
    keys_in(frame)
    tables = {"scores": agreements(frame, ["model"], invalid), "confusion": confusion(frame)}
    if "subject" in frame and frame["subject"].nunique() > 1:
        tables["subjects"] = agreements(frame, ["model", "subject"], invalid)
    if keys is not None:
        tables["keys"] = sensitivity(frame, keys, read_key, ["model", "condition"])
    if (frame["epoch"] > 1).any():
        tables["retest"] = records.test_retest()
    return Evaluation(NAME, GRADING.title, tables, (f"Classifications that cannot be read: {invalid}.",))


def agreements(frame: pd.DataFrame, by: list[str], invalid: str = "drop") -> pd.DataFrame:
    """Return the agreement of classifications with the true levels.

    Parameters
    ----------
    frame : DataFrame
        Records; failed calls are left out.
    by : list of str
        Columns that make a row.
    invalid : {"drop", "wrong"}
    """
    rows: dict[Any, dict[str, float]] = {}
    failed = frame.groupby(by, sort=False)["score"].agg(lambda scores: int(scores.isna().sum()))
    for label, own in with_reply(frame).groupby(by, sort=False):
        given = [answer if isinstance(answer, str) else None for answer in own["parsed"]]
        rows[label] = _row(grading_agreement(given, own["key"].tolist(), invalid=invalid))
    index = pd.MultiIndex.from_tuples(list(rows), names=by)
    table = pd.DataFrame(list(rows.values()), index=index.get_level_values(0) if len(by) == 1 else index)
    return table.assign(failed=failed.reindex(table.index))


def _row(found: GradingAgreement) -> dict[str, float]:
    return {
        "n": found.n,
        "accuracy": found.accuracy,
        "kappa": found.kappa,
        **{f"accuracy_{level.lower()}": found.by_level[level] for level in reversed(LEVELS)},
        "central_tendency": found.central_tendency,
        "valid_rate": found.valid_rate,
    }


def confusion(frame: pd.DataFrame) -> pd.DataFrame:
    """Return counts of given levels by model and true level; "unread" for classifications that cannot be read."""
    answered = with_reply(frame)
    given = answered["parsed"].astype(object).where(answered["parsed"].notna(), "unread")
    table = pd.crosstab([answered["model"], answered["key"].rename("level")], given)
    columns = [*LEVELS, *(["unread"] if "unread" in table else [])]
    models = [(model, level) for model in answered["model"].unique() for level in LEVELS]
    return table.reindex(index=pd.MultiIndex.from_tuples(models, names=["model", "level"]), columns=columns, fill_value=0)
