"""Tables of agreement: between judges, between runs of one model, between keys; and what conditions have to do with scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray, IntArray
from psychoedu.exceptions import DataError
from psychoedu.response_codes import ANSWERED, Reason
from psychoedu.runners.condition_variance import condition_variance
from psychoedu.runners.rules.agreement import (
    IntraclassCorrelation,
    Kappa,
    cohens_kappa,
    fleiss_kappa,
    intraclass,
    krippendorff_alpha,
)
from psychoedu.runners.rules.statements import CORRECT, INCORRECT
from psychoedu.validation import check_choice, check_columns, counted, listed

__all__ = [
    "IntraclassCorrelation",
    "JudgeAgreement",
    "Kappa",
    "cohens_kappa",
    "condition_variance",
    "fleiss_kappa",
    "intraclass",
    "judge_agreement",
    "key_sensitivity",
    "krippendorff_alpha",
    "retest_agreement",
    "test_retest",
]

_GROUP = ("model", "condition")
_NO_REPLY = tuple(reason.label for reason in Reason if not reason.is_invalid)


@dataclass(frozen=True, eq=False)
class JudgeAgreement:
    """Agreement of several judges, human or not, on the same objects.

    Parameters
    ----------
    pairs : DataFrame by pair of judges
        ``n`` objects scored by both; ``exact``, ``within_one``: shares with equal scores, and with scores at most 1 apart;
        ``mean_difference`` (first minus second: severity); ``kappa``, ``kappa_linear``, ``kappa_quadratic``, each with ``_low``
        and ``_high``.
    overall : DataFrame by coefficient
        ``value``, ``low``, ``high``, ``n``: Fleiss' kappa, Krippendorff's alpha (nominal, ordinal, interval), the intraclass
        correlations; limits where they exist.
    judges : DataFrame by judge
        ``n``, ``mean``, and a column of shares for each category.
    confidence_level : float
    """

    pairs: pd.DataFrame
    overall: pd.DataFrame
    judges: pd.DataFrame
    confidence_level: float


def judge_agreement(
    scores: pd.DataFrame, categories: Sequence[float] | None = (0, 1, 2, 3), confidence_level: float = 0.95
) -> JudgeAgreement:
    """Compare the scores of two or more judges.

    Parameters
    ----------
    scores : DataFrame, objects x judges
        One column a judge (a human scorer is one more); missing where a judge gave no score.
    categories : sequence of float, optional
        All possible scores in their order; None: those that occur.
    confidence_level : float

    Returns
    -------
    JudgeAgreement

    Raises
    ------
    DataError
        Fewer than two judges, or scores outside the categories.

    Notes
    -----
    Pairs use the objects that both scored. Fleiss' kappa and the intraclass correlations use the objects that all scored,
    Krippendorff's alpha those that two scored.

    References
    ----------
    See :func:`psychoedu.runners.rules.agreement.cohens_kappa`, :func:`~psychoedu.runners.rules.agreement.intraclass`.

    Examples
    --------
    >>> found = judge_agreement(pd.DataFrame({"one": [0, 1, 2, 3], "two": [0, 1, 3, 3]}))
    >>> found.pairs[["n", "exact", "within_one", "mean_difference"]].iloc[0].tolist()
    [4.0, 0.75, 1.0, -0.25]
    """
    table = pd.DataFrame(scores).astype(np.float64)
    if table.shape[1] < 2 or not table.columns.is_unique:
        raise DataError(f"scores has the columns {listed(table.columns)}; expected a column for each of at least 2 judges.")
    values = table.to_numpy()
    known = sorted(set(values[~np.isnan(values)].tolist())) if categories is None else [float(value) for value in categories]
    rows = [_pair(values[:, [i, j]], known, confidence_level) for i, j in combinations(range(values.shape[1]), 2)]
    index = pd.MultiIndex.from_tuples(list(combinations(table.columns, 2)), names=["judge", "other"])
    judges = pd.DataFrame(
        {
            "n": table.notna().sum(),
            "mean": table.mean(),
            **{category: (table == category).sum() / table.notna().sum() for category in known},
        }
    ).rename_axis("judge")
    return JudgeAgreement(
        pd.DataFrame(rows, index=index), _overall(values, known, confidence_level), judges, float(confidence_level)
    )


def _pair(both: FloatArray, categories: Sequence[float], level: float) -> dict[str, float]:
    pair = both[~np.isnan(both).any(axis=1)]
    apart = pair[:, 0] - pair[:, 1]
    n = len(pair)
    row: dict[str, float] = {
        "n": n,
        "exact": float((apart == 0.0).mean()) if n else math.nan,
        "within_one": float((np.abs(apart) <= 1.0).mean()) if n else math.nan,
        "mean_difference": float(apart.mean()) if n else math.nan,
    }
    for weights, name in (("none", "kappa"), ("linear", "kappa_linear"), ("quadratic", "kappa_quadratic")):
        found = cohens_kappa(pair[:, 0].tolist(), pair[:, 1].tolist(), categories, weights, level)
        row |= {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}
    return row


def _overall(values: FloatArray, categories: Sequence[float], level: float) -> pd.DataFrame:
    complete = values[~np.isnan(values).any(axis=1)]
    some = int(((~np.isnan(values)).sum(axis=1) >= 2).sum())
    counts = (complete[:, :, None] == np.asarray(categories)).sum(axis=1)
    rows: dict[str, tuple[float, float, float, int]] = {"fleiss_kappa": (fleiss_kappa(counts), math.nan, math.nan, len(complete))}
    for kind in ("nominal", "ordinal", "interval"):
        rows[f"alpha_{kind}"] = (krippendorff_alpha(values, kind), math.nan, math.nan, some)
    if len(complete) >= 2:
        for form, icc in intraclass(complete, level).items():
            rows[form] = (icc.value, icc.low, icc.high, len(complete))
    return pd.DataFrame.from_dict(rows, orient="index", columns=["value", "low", "high", "n"]).rename_axis("coefficient")


def retest_agreement(
    records: Any,
    by: Sequence[str] = _GROUP,
    answer: str = "parsed",
    item: str = "item_id",
    repeat: str = "epoch",
    unparsed: str = "answer",
) -> pd.DataFrame:
    """Tell how far repeated runs of the same items give the same answers.

    Parameters
    ----------
    records : Records or DataFrame
        One row per item and run; without an answer where nothing could be read. A column ``reason``, if there is one, tells
        failed calls, which are left out, from replies that could not be read.
    by : sequence of str
        Columns within which runs are compared.
    answer, item, repeat : str
        Columns.
    unparsed : {"answer", "drop"}
        Whether replies that could not be read are alike among themselves and differ from others, or are left out.

    Returns
    -------
    DataFrame by ``by``
        ``n_items`` (with at least two runs that count), ``n_runs`` (the most runs of an item), ``n_compared`` (pairs of runs),
        ``same_answer``: share of items with one and the same answer in all runs, ``pairwise_agreement``: mean over items of the
        share of pairs of runs that agree; nan where there is no item. ``fleiss_kappa`` of the runs, corrected for chance, where
        all items have equally many.

    Raises
    ------
    LabelError
        A column is absent.
    DataError
        An item was run twice under one number.

    Notes
    -----
    At temperature 0 runs need not agree: providers do not promise it, and a seed helps only as far as they say.

    Examples
    --------
    >>> runs = pd.DataFrame({"model": "m", "condition": "", "item_id": ["q1", "q1", "q2", "q2"], "epoch": [1, 2, 1, 2],
    ...                      "parsed": ["A", "A", "B", "C"]})
    >>> retest_agreement(runs)["same_answer"].tolist()
    [0.5]
    """
    check_choice(unparsed, ("answer", "drop"), "unparsed")
    frame, names = _frame_of(records), list(by)
    check_columns(frame, [*names, answer, item, repeat], "retest_agreement()")
    kept = _with_reply(frame)
    if unparsed == "drop":
        kept = kept[kept[answer].notna()]
    keys = kept[[*names, item, repeat]]
    if keys.duplicated().any():
        twice = keys[keys.duplicated()]
        raise DataError(
            f"{counted(len(twice), 'run')} recorded twice: {listed(twice.head().to_numpy().tolist(), len(twice))}.\n"
            f"Expected one row per {', '.join([*names, item, repeat])}."
        )
    codes = pd.Series(pd.factorize(kept[answer].astype(object), use_na_sentinel=False)[0], index=kept.index)
    cells = pd.DataFrame({**{name: kept[name] for name in (*names, item)}, "code": codes})
    rows, labels = [], []
    for label, group in _groups(cells, names):
        _, place = np.unique(group[item].astype(str), return_inverse=True)
        rows.append(_agreement_of_runs(np.asarray(place), group["code"].to_numpy(dtype=np.int64)))
        labels.append(label)
    return pd.DataFrame(rows, index=_index(labels, names), columns=list(_RUN_COLUMNS))


test_retest = retest_agreement
"""The same by its usual name."""
test_retest.__test__ = False  # type: ignore[attr-defined]  # not a test, whatever its name suggests

_RUN_COLUMNS = ("n_items", "n_runs", "n_compared", "same_answer", "pairwise_agreement", "fleiss_kappa")


def _agreement_of_runs(item: IntArray, code: IntArray) -> dict[str, float]:
    counts = np.zeros((int(item.max(initial=-1)) + 1, int(code.max(initial=-1)) + 1))
    np.add.at(counts, (item, code), 1.0)
    runs = counts.sum(axis=1)
    counts, runs = counts[runs >= 2], runs[runs >= 2]
    agreeing = (counts * (counts - 1.0)).sum(axis=1) / 2.0
    pairs = runs * (runs - 1.0) / 2.0
    if not len(counts):
        return dict(zip(_RUN_COLUMNS, (0, 1 if len(item) else 0, 0, math.nan, math.nan, math.nan), strict=True))
    return {
        "n_items": len(counts),
        "n_runs": int(runs.max()),
        "n_compared": int(pairs.sum()),
        "same_answer": float((agreeing == pairs).mean()),
        "pairwise_agreement": float((agreeing / pairs).mean()),
        "fleiss_kappa": fleiss_kappa(counts) if (runs == runs[0]).all() else math.nan,
    }


def key_sensitivity(
    records: Any,
    key: Mapping[Any, Any],
    alternatives: Mapping[Any, Any],
    by: Sequence[str] = _GROUP,
    answer: str = "parsed",
    item: str = "item_id",
    invalid: str = "wrong",
) -> pd.DataFrame:
    """Score the same answers under other keys.

    Parameters
    ----------
    records : Records or DataFrame
        Long, one row per item and run; or wide, models x items with the answers as cells, if it lacks the column ``item``.
    key : mapping of item to answer
        True and False stand for "Correct" and "Incorrect".
    alternatives : mapping of name to mapping of item to answer
        What differs from ``key``; None as an answer leaves the item out. One mapping of items to answers is called "alternative".
    by : sequence of str
        Columns that make a model; one that the table lacks is left aside, other than "model".
    answer, item : str
        Columns.
    invalid : {"wrong", "missing"}
        How replies that could not be read count. Failed calls never count.

    Returns
    -------
    DataFrame by ``by`` and ``key``
        The first key is called "key". ``score``: mean over answers, from 0 to 1; ``difference`` from the score under the first
        key; ``rank`` (1 best, ties share the better rank; among the models of a condition); ``rank_change`` (negative: better
        under this key); ``n_answers``; ``n_changed`` items.

    Raises
    ------
    DataError
        Answers to items that the key does not have, or an alternative key for an unknown item.

    Examples
    --------
    >>> answers = pd.DataFrame({"Q1": ["Correct", "Correct"], "Q2": ["Correct", "Incorrect"]}, index=["m1", "m2"])
    >>> key_sensitivity(answers, {"Q1": True, "Q2": True}, {"Q2": False})["score"].tolist()
    [1.0, 0.5, 0.5, 1.0]
    """
    check_choice(invalid, ("wrong", "missing"), "invalid")
    frame = _frame_of(records)
    if item not in frame:
        labels = ["model"] if frame.index.nlevels == 1 else [str(name) for name in frame.index.names]
        frame = frame.rename_axis(index=labels).reset_index().melt(id_vars=labels, var_name=item, value_name=answer)
    names = [name for name in by if name in frame or name == "model"]
    check_columns(frame, [*names, answer, item], "key_sensitivity()")
    keys = {"key": dict(key), **_alternatives(key, alternatives)}
    kept = _with_reply(frame)
    if invalid == "missing":
        kept = kept[kept[answer].notna()]
    strange = [label for label in kept[item].unique() if label not in keys["key"]]
    if strange:
        raise DataError(
            f"{counted(len(strange), 'item')} without a key: {listed(strange)}. Expected a key for every item answered."
        )
    tables = [_scored(kept, names, answer, item, own, name) for name, own in keys.items()]
    result = pd.concat(tables)
    base = tables[0].droplevel("key")
    plain = result.droplevel("key").index
    changed = {name: sum(own[label] != keys["key"][label] for label in own) for name, own in keys.items()}
    result["difference"] = result["score"] - base["score"].reindex(plain).to_numpy()
    result["rank_change"] = result["rank"] - base["rank"].reindex(plain).to_numpy()
    result["n_changed"] = result.index.get_level_values("key").map(changed)
    order = list(dict.fromkeys(base.index))
    place = {label: number for number, label in enumerate(order)}
    result = result.iloc[np.argsort([place[label] for label in plain], kind="stable")]
    return result[["score", "difference", "rank", "rank_change", "n_answers", "n_changed"]]


def _alternatives(key: Mapping[Any, Any], alternatives: Mapping[Any, Any]) -> dict[Any, dict[Any, Any]]:
    """Return whole keys by name."""
    nested = all(isinstance(value, Mapping) for value in alternatives.values())
    named: Mapping[Any, Any] = alternatives if nested else {"alternative": alternatives}
    if "key" in named:
        raise DataError("An alternative is called 'key', as the first key is; give it another name.")
    for name, changes in named.items():
        unknown = [label for label in changes if label not in key]
        if unknown:
            raise DataError(f"The alternative {name!r} has keys for items that the key lacks: {listed(unknown)}.")
    return {name: {**key, **changes} for name, changes in named.items()}


def _scored(frame: pd.DataFrame, names: list[str], answer: str, item: str, key: Mapping[Any, Any], name: Any) -> pd.DataFrame:
    """Return score, rank and number of answers of each model under one key."""
    words = {label: _word(value) for label, value in key.items()}
    wanted = frame[item].map(words)
    used = frame[wanted.notna()]
    right = (used[answer].map(_word) == wanted[wanted.notna()]).astype(np.float64)
    table = right.groupby([used[column] for column in names], sort=False, dropna=False).agg(["mean", "size"])
    table = table.set_axis(["score", "n_answers"], axis=1)
    others = [column for column in names if column != "model"]
    grouped = table.groupby(level=others, sort=False)["score"] if others else table["score"]
    table["rank"] = grouped.rank(ascending=False, method="min")
    keyed: pd.DataFrame = pd.concat({name: table}, names=["key"]).reorder_levels([*names, "key"])
    return keyed


def _word(value: Any) -> Any:
    """Return an answer as text: truths in words, missing as None."""
    if isinstance(value, bool | np.bool_):
        return CORRECT if value else INCORRECT
    return None if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)) else str(value)


def _frame_of(records: Any) -> pd.DataFrame:
    frame = getattr(records, "frame", records)
    if not isinstance(frame, pd.DataFrame):
        raise DataError(f"Expected records or a DataFrame; got {type(records).__name__}.")
    return frame


def _with_reply(frame: pd.DataFrame) -> pd.DataFrame:
    """Leave out rows of calls that failed or were never made."""
    if "reason" not in frame:
        return frame
    return frame[~frame["reason"].fillna(ANSWERED).isin(_NO_REPLY)]


def _groups(frame: pd.DataFrame, names: list[str]) -> Any:
    return frame.groupby(names, sort=False, dropna=False) if names else [((), frame)]


def _index(labels: list[Any], names: list[str]) -> pd.Index | None:
    index: pd.Index | None = None
    if len(names) == 1:
        index = pd.Index([label[0] if isinstance(label, tuple) else label for label in labels], name=names[0])
    elif names:
        index = pd.MultiIndex.from_tuples(labels, names=names)
    return index
