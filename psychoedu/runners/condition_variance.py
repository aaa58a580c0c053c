"""What the conditions of a run have to do with its scores: shares of their variance by field, by an analysis of variance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray
from psychoedu.exceptions import DataError
from psychoedu.validation import check_columns, check_flag, counted, listed


def condition_variance(
    scores: Any, fields: Sequence[str], score: str = "score", model: str | None = "model", interactions: bool = False
) -> pd.DataFrame:
    """Split the variance of scores into the shares of the model and of each field of the condition.

    Parameters
    ----------
    scores : Records or DataFrame
        A row per score: of an item, or a mean over items. Rows without a score are left out.
    fields : sequence of str
        Columns that make the condition, such as the number, type and order of exemplars; every different value is a level.
    score : str
        Column.
    model : str or None
        Column of the model, a factor like the fields; None leaves it out.
    interactions : bool
        Whether all two-way interactions are terms too.

    Returns
    -------
    DataFrame by term
        ``df``, ``sum_of_squares``, ``share`` of the total sum of squares (eta squared), ``omega_squared`` (the same less what
        chance gives, never below 0), ``f``, ``p_value``. Terms: the model, the fields, interactions as "a:b"; then "residual"
        (between rows alike in all terms, and what the terms leave), "shared" and "total". "shared" is what cannot be told apart
        in an unbalanced design: 0 in a balanced one, and negative where terms hide each other.

    Raises
    ------
    LabelError
        A column is absent.
    DataError
        Fewer than two scores, no field, or a column named twice.

    Notes
    -----
    Sums of squares of type II: a term's is what it takes off the residual sum of squares of all terms that do not contain it.
    In a balanced design every type gives the same. Rows with one score an item have the items' own differences in the residual;
    shares then are small, and are best compared with each other, or taken from means over items.

    References
    ----------
    Langsrud, O. (2003). ANOVA for unbalanced data: Use type II instead of type III sums of squares. Statistics and Computing, 13,
    163-167. Olejnik, S., & Algina, J. (2003). Generalized eta and omega squared statistics. Psychological Methods, 8, 434-447.

    Examples
    --------
    >>> table = pd.DataFrame({"model": ["m1", "m1", "m2", "m2"], "shots": [0, 2, 0, 2], "score": [0.4, 0.6, 0.5, 0.7]})
    >>> condition_variance(table, ["shots"])["share"].round(2).to_dict()
    {'model': 0.2, 'shots': 0.8, 'residual': 0.0, 'shared': 0.0, 'total': 1.0}
    """
    check_flag(interactions, "interactions")
    frame = getattr(scores, "frame", scores)
    if not isinstance(frame, pd.DataFrame):
        raise DataError(f"Expected records or a DataFrame; got {type(scores).__name__}.")
    factors = [*([] if model is None else [model]), *([fields] if isinstance(fields, str) else fields)]
    if len(set(factors)) != len(factors) or len(factors) == (model is not None):
        raise DataError(
            f"fields is {listed(fields)}; expected at least one column of conditions, none twice and none the model's."
        )
    check_columns(frame, [*factors, score], "condition_variance()")
    kept = frame[frame[score].notna()]
    if len(kept) < 2:
        raise DataError(f"{counted(len(kept), 'row')} with a score; expected at least 2.")
    cells = _cells(kept, factors, score)
    terms: list[tuple[str, ...]] = [(name,) for name in factors]
    if interactions:
        terms += list(combinations(factors, 2))
    rows = [_term(cells, term, terms) for term in terms]
    error, error_df = cells.residual(terms)
    table = pd.DataFrame(rows, index=pd.Index([":".join(term) for term in terms], name="term"))
    return _completed(table, error, error_df, cells.total, cells.n - 1)


@dataclass(frozen=True, eq=False)
class _Cells:
    """Scores by combination of levels: equal rows of the design once, with how many scores they stand for."""

    size: FloatArray
    mean: FloatArray
    within: float
    levels: dict[str, Any]
    total: float

    @property
    def n(self) -> int:
        return int(self.size.sum())

    def columns(self, term: tuple[str, ...]) -> FloatArray:
        """Return indicator columns of a term; those of an interaction are products."""
        code = np.zeros(len(self.size), dtype=np.int64)
        for name in term:
            code = code * (int(self.levels[name].max()) + 1) + self.levels[name]
        columns: FloatArray = (code[:, None] == np.unique(code)).astype(np.float64)
        return columns

    def residual(self, terms: Sequence[tuple[str, ...]]) -> tuple[float, int]:
        """Return the residual sum of squares of a set of terms, and its degrees of freedom."""
        design = np.hstack([np.ones((len(self.size), 1)), *[self.columns(term) for term in terms]])
        root = np.sqrt(self.size)
        solution, _, rank, _ = np.linalg.lstsq(design * root[:, None], self.mean * root, rcond=None)
        rest = root * (self.mean - design @ solution)
        return self.within + float(rest @ rest), self.n - int(rank)


def _cells(frame: pd.DataFrame, factors: list[str], score: str) -> _Cells:
    values = frame[score].to_numpy(dtype=np.float64)
    if not np.isfinite(values).all():
        raise DataError(f"{score} holds infinite values; expected finite scores.")
    values = values - values[0]  # equal scores become exact zeros
    codes = np.column_stack([pd.factorize(frame[name].astype(object), use_na_sentinel=False)[0] for name in factors])
    cells, place = np.unique(codes, axis=0, return_inverse=True)
    place = place.reshape(-1)
    size = np.bincount(place).astype(np.float64)
    mean = np.bincount(place, weights=values) / size
    grand = values.mean()
    return _Cells(
        size=size,
        mean=mean - grand,
        within=float(((values - mean[place]) ** 2).sum()),
        levels={name: cells[:, column] for column, name in enumerate(factors)},
        total=float(((values - grand) ** 2).sum()),
    )


def _term(cells: _Cells, term: tuple[str, ...], terms: Sequence[tuple[str, ...]]) -> dict[str, float]:
    """Return degrees of freedom and sum of squares of one term, after all that do not contain it."""
    others = [other for other in terms if not set(term) <= set(other)]
    without, df_without = cells.residual(others)
    with_it, df_with = cells.residual([*others, term])
    df = df_without - df_with
    return {"df": df, "sum_of_squares": max(without - with_it, 0.0) if df else 0.0}


def _completed(table: pd.DataFrame, error: float, error_df: int, total: float, total_df: int) -> pd.DataFrame:
    """Add residual, shared and total, and what follows from the sums of squares."""
    from scipy.special import fdtrc

    clean = error if error > 1e-12 * total else 0.0  # what rounding leaves of an exact fit
    square = clean / error_df if error_df else math.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        table["share"] = table["sum_of_squares"] / total
        table["omega_squared"] = np.maximum(table["sum_of_squares"] - table["df"] * square, 0.0) / (total + square)
        table["f"] = table["sum_of_squares"] / table["df"] / square
        table["p_value"] = fdtrc(table["df"], error_df or math.nan, table["f"])
    told = float(table["sum_of_squares"].sum())
    shared = total - told - clean
    last = pd.DataFrame(
        {
            "df": [error_df, total_df - error_df - int(table["df"].sum()), total_df],
            "sum_of_squares": [clean, shared if abs(shared) > 1e-12 * total else 0.0, total],
        },
        index=pd.Index(["residual", "shared", "total"], name="term"),
    )
    last["share"] = last["sum_of_squares"] / total if total else math.nan
    return pd.concat([table, last])
