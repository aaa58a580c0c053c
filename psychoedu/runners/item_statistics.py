"""How each item did under each condition: share right, discrimination among the models, options chosen, invalid replies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from psychoedu.response_codes import Reason
from psychoedu.responses import ResponseMatrix
from psychoedu.runners.records import Records

LEAST_MODELS = 3
"""Fewer models have no discrimination worth the name."""

MOST_ANSWERS = 12
"""More different answers are free texts, which are not counted."""


def item_statistics(records: Records, matrix: ResponseMatrix, bank: Any = None) -> pd.DataFrame:
    """Return the statistics of items by condition.

    Parameters
    ----------
    records : Records
        Of the run, every repeat.
    matrix : ResponseMatrix
        Made from them, with ``model`` and ``condition`` among the respondents' columns.
    bank : optional
        The items: their columns stand last.

    Returns
    -------
    DataFrame
        By condition and item: ``n_models`` with a score, ``p_value`` (share right), ``rest_correlation`` (Pearson correlation
        with the share right on the other items; nan for fewer than three models or without any spread). Of all runs: ``n_runs``,
        ``chosen_A`` and so on, ``unparsed``, ``refused``, ``empty``, ``failed``. Then the item's own columns.

    Notes
    -----
    Models are no sample of a population: the correlation describes these models, it calibrates nothing.
    """
    conditions = _conditions(matrix)
    tables = []
    for condition in dict.fromkeys(conditions):
        own = matrix.to_frame().to_numpy(dtype=np.float64)[conditions == condition]
        tables.append(_of_scores(own, matrix.item_labels).assign(condition=condition))
    scores = pd.concat(tables).rename_axis("item").set_index("condition", append=True).swaplevel()
    table = scores.join(_of_runs(records.frame))
    if bank is not None:
        known = pd.DataFrame({item.item_id: dict(item.metadata) for item in bank.items}).T.rename_axis("item")
        known = known.drop(columns=[name for name in known.columns if name in table.columns])
        table = table.join(known, on="item")
    return table


def _conditions(matrix: ResponseMatrix) -> np.ndarray[Any, np.dtype[np.object_]]:
    table = matrix.respondents
    values = table["condition"] if "condition" in table.columns else pd.Series([""] * len(table))
    return values.astype(object).to_numpy()


def _of_scores(scores: np.ndarray[Any, np.dtype[np.float64]], items: pd.Index) -> pd.DataFrame:
    known = ~np.isnan(scores)
    filled = np.where(known, scores, 0.0)
    n, right = known.sum(axis=0), filled.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):  # nobody answered: nan
        p_value = np.where(n > 0, right / np.maximum(n, 1), np.nan)
        rest = (filled.sum(axis=1, keepdims=True) - filled) / (known.sum(axis=1, keepdims=True) - known)
    correlation = np.full(scores.shape[1], np.nan)
    for item in range(scores.shape[1]):
        rows = known[:, item] & np.isfinite(rest[:, item])
        one, other = scores[rows, item], rest[rows, item]
        if rows.sum() >= LEAST_MODELS and np.ptp(one) > 0 and np.ptp(other) > 0:
            correlation[item] = np.corrcoef(one, other)[0, 1]
    return pd.DataFrame({"n_models": n, "p_value": p_value, "rest_correlation": correlation}, index=items)


def _of_runs(frame: pd.DataFrame) -> pd.DataFrame:
    by = [frame["condition"].rename("condition"), frame["item_id"].rename("item")]
    columns: dict[str, pd.Series] = {"n_runs": frame.groupby(by).size()}
    answers = sorted(frame["parsed"].dropna().unique())
    for letter in answers if len(answers) <= MOST_ANSWERS else ():
        columns[f"chosen_{letter}"] = (frame["parsed"] == letter).groupby(by).sum()
    for reason in (Reason.UNPARSED, Reason.REFUSED, Reason.EMPTY):
        columns[reason.label] = (frame["reason"] == reason.label).groupby(by).sum()
    columns["failed"] = (frame["reason"] == Reason.API_ERROR.label).groupby(by).sum()
    return pd.DataFrame(columns)
