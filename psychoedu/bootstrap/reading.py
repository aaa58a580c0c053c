"""Reads a long table of rewards into a design, and says what is wrong with it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import AnyArray, BoolArray, FloatArray, IntArray
from psychoedu.bootstrap.design import MISSING_POLICIES, ClusterDesign
from psychoedu.exceptions import ClusterDesignError, DataError, LabelError, MissingRewardsError, RepeatsError
from psychoedu.validation import check_choice, check_columns, counted, listed, shown

ONLY = "all"
"""Label of the one stratum, or of the one model, where no column names any."""
LARGEST = 1e50
"""Absolute value of a reward beyond which its powers overflow; its inverse, below which they vanish."""


@dataclass(frozen=True)
class Columns:
    """Names of a table's columns; None for one that is not there."""

    cluster: Hashable
    stratum: Hashable | None
    model: Hashable | None
    reward: Hashable
    item: Hashable | None = None
    repeat: Hashable | None = None
    condition: Hashable | None = None

    def given(self) -> dict[str, Hashable]:
        """Return the columns that were named, by argument."""
        return {each.name: getattr(self, each.name) for each in fields(self) if getattr(self, each.name) is not None}


@dataclass(frozen=True, eq=False)
class _Labels:
    codes: IntArray
    labels: pd.Index


def read_long(rewards: Any, names: Columns, missing: str) -> ClusterDesign:
    """Read a table with a row per reward; see :meth:`psychoedu.bootstrap.design.ClusterDesign.from_long`."""
    missing = check_choice(missing, MISSING_POLICIES, "missing")
    given = names.given()
    frame = _checked_frame(rewards, given)
    values = _numbers(frame[names.reward], names.reward)
    clusters = _labels(frame, names.cluster, "cluster")
    strata = _labels(frame, names.stratum, "stratum")
    models = _labels(frame, names.model, "model")
    conditions = None if names.condition is None else _labels(frame, names.condition, "condition")
    stratum_of = _stratum_of_clusters(clusters, strata, given)
    columns, column = models.labels, models.codes
    if conditions is not None:
        column = models.codes * len(conditions.labels) + conditions.codes
        columns = pd.MultiIndex.from_product([models.labels, conditions.labels], names=["model", "condition"])
    unit, units, cluster_of = _units(frame, names, clusters)
    cells = _cells(frame, names, values, unit, column, (len(cluster_of), len(columns)), missing, units, columns)
    totals, counts, expected, n_missing, n_partial = cells
    lacking = expected[:, None] - counts
    if missing == "raise" and (lacking > 0).any():
        _refuse_missing(lacking, units, columns, given)
    if missing == "zero":
        counts = np.repeat(expected[:, None], len(columns), axis=1)
    return ClusterDesign(
        models=columns if conditions is not None else columns.rename("model"),
        clusters=clusters.labels.rename("cluster"),
        strata=strata.labels.rename("stratum"),
        stratum_of=stratum_of,
        units=units,
        cluster_of=cluster_of,
        totals=totals,
        counts=counts,
        n_missing=n_missing,
        n_partial=n_partial,
        missing=missing,
        names=given,
    )


def _checked_frame(rewards: Any, given: dict[str, Hashable]) -> pd.DataFrame:
    if not isinstance(rewards, pd.DataFrame):
        raise DataError(
            f"rewards has to be a DataFrame with a row per reward; got {type(rewards).__name__}.\n"
            "A wide table becomes one with frame.melt(ignore_index=False)."
        )
    for argument, name in given.items():
        if isinstance(name, list | tuple | set | dict):
            raise DataError(f"{argument} has to be the name of one column; got {name!r}.")
        check_columns(rewards, [name], argument)
        if not isinstance(rewards[name], pd.Series):
            raise LabelError(f"The table has more than one column {name!r}, which {argument} names; rename them.")
    roles: dict[Hashable, str] = {}
    for argument, name in given.items():
        if name in roles and {roles[name], argument} != {"cluster", "item"}:
            raise DataError(f"{roles[name]} and {argument} both name the column {name!r}; expected a column for each.")
        roles[name] = argument
    if not len(rewards):
        raise DataError("The table of rewards has no rows. Check the filter or the file that it came from.")
    return rewards


def _numbers(column: pd.Series, name: Hashable) -> FloatArray:
    """Return rewards as floats, nan where blank."""
    kind = pd.api.types.infer_dtype(column, skipna=True)
    if kind.startswith(("complex", "date", "time", "period", "interval")):
        raise DataError(f"Rewards in column {name!r} are of type {kind}. Expected numbers.")
    if column.dtype == object or not (pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column)):
        found = pd.to_numeric(column, errors="coerce")
        wrong = column[found.isna() & column.notna()]
        if len(wrong):
            raise DataError(
                f"{counted(len(wrong), 'reward')} in column {name!r} that are no numbers: {listed(wrong.tolist())} "
                f"(rows {listed(wrong.index.tolist())}).\nExpected numbers, blank where there is no reward."
            )
        column = found
    values: FloatArray = column.to_numpy(dtype=np.float64, na_value=np.nan)
    infinite = np.isinf(values)
    if infinite.any():
        raise DataError(
            f"{counted(int(infinite.sum()), 'reward')} infinite, in rows {listed(column.index[infinite].tolist())}.\n"
            "Expected finite numbers, blank where there is no reward."
        )
    largest = float(np.nanmax(np.abs(values), initial=0.0))
    if largest > LARGEST or 0.0 < largest < 1.0 / LARGEST:
        raise DataError(
            f"The largest reward in column {name!r} is {largest:.3g} in absolute value; variances are of its square, which a "
            f"number cannot hold.\nExpected between {1.0 / LARGEST:g} and {LARGEST:g}: give the rewards in another unit."
        )
    return values


def _labels(frame: pd.DataFrame, name: Hashable | None, what: str) -> _Labels:
    """Give numbers to the labels of a column, in sorted order (a Categorical's own order)."""
    if name is None:
        return _Labels(np.zeros(len(frame), dtype=np.int64), pd.Index([ONLY]))
    column = frame[name]
    blank = column.isna().to_numpy()
    if blank.any():
        rows = column.index[blank].tolist()
        raise ClusterDesignError(
            f"{counted(int(blank.sum()), 'row')} without a {what} label in column {name!r}: {listed(rows)}.\n"
            f"Expected a label in every row: fill them in, or leave those rows out."
        )
    try:
        codes, labels = pd.factorize(column, sort=True)
    except TypeError:
        return _mixed_labels(column, name, what)
    if labels.dtype == object and pd.api.types.infer_dtype(labels) not in ("string", "integer"):
        return _mixed_labels(column, name, what)
    if isinstance(labels, pd.CategoricalIndex):
        labels = pd.Index(labels.tolist(), tupleize_cols=False)
    return _Labels(codes.astype(np.int64), pd.Index(labels, tupleize_cols=False))


def _mixed_labels(column: pd.Series, name: Hashable, what: str) -> _Labels:
    """Give numbers to labels of several types, by their text, which has to tell them apart."""
    codes, labels = pd.factorize(column, sort=False)
    texts = pd.Index([str(label) for label in labels])
    if not texts.is_unique:
        alike = [label for label, twice in zip(labels, texts.duplicated(keep=False), strict=True) if twice]
        raise LabelError(
            f"{len(alike)} {what} labels in column {name!r} differ in type alone: {listed(alike)}.\n"
            "Give them as text or as numbers throughout."
        )
    order = np.argsort(texts.to_numpy(dtype=object), kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return _Labels(place[codes], pd.Index([labels[at] for at in order], dtype=object, tupleize_cols=False))


def _stratum_of_clusters(clusters: _Labels, strata: _Labels, given: dict[str, Hashable]) -> IntArray:
    n_strata = len(strata.labels)
    pairs = np.unique(clusters.codes * n_strata + strata.codes)
    of, stratum = np.divmod(pairs, n_strata)
    if len(pairs) > len(clusters.labels):
        twice = np.flatnonzero(np.bincount(of) > 1)
        where = [f"{_plain(clusters.labels[at])} in {listed(strata.labels[stratum[of == at]])}" for at in twice[:5]]
        more = f" and {len(twice) - 5} more" if len(twice) > 5 else ""
        raise ClusterDesignError(
            f"{counted(len(twice), str(given['cluster']))} in more than one {given['stratum']}: {'; '.join(where)}{more}.\n"
            "Expected every cluster in one stratum, since whole clusters are drawn within strata. Correct the labels, or give "
            "the parts of the cluster labels of their own."
        )
    return stratum.astype(np.int64)


def _units(frame: pd.DataFrame, names: Columns, clusters: _Labels) -> tuple[IntArray, pd.Index, IntArray]:
    """Return the unit of each row, the units' labels and their clusters."""
    if names.item is None or names.item == names.cluster:
        return clusters.codes, clusters.labels.rename("unit"), np.arange(len(clusters.labels), dtype=np.int64)
    items = _labels(frame, names.item, "item")
    pairs, unit = np.unique(clusters.codes * len(items.labels) + items.codes, return_inverse=True)
    cluster_of, item = np.divmod(pairs, len(items.labels))
    return unit.astype(np.int64), items.labels[item].rename("unit"), cluster_of.astype(np.int64)


def _cells(
    frame: pd.DataFrame,
    names: Columns,
    values: FloatArray,
    unit: IntArray,
    column: IntArray,
    shape: tuple[int, int],
    missing: str,
    units: pd.Index,
    columns: pd.Index,
) -> tuple[FloatArray, FloatArray, FloatArray, IntArray, IntArray]:
    """Return totals and counts, (U, M), the rewards that a cell of each unit should have, (U,), and the absent ones by model.

    The absent ones, (M,), come twice: all of them, and those in cells that have other rewards.
    """
    cell = unit * shape[1] + column
    size = shape[0] * shape[1]
    blank = np.isnan(values)
    rows = np.bincount(cell, minlength=size)
    if names.repeat is not None:
        _refuse_repeated(frame, names, cell, names.repeat, units, columns)
        if missing == "raise" and blank.any():
            _refuse_blank(blank, cell, units, columns, names)
        runs = rows.reshape(shape).max(axis=1)  # a number, since runs may have labels of their own in every model
        absent_runs = np.where(rows > 0, np.repeat(runs, shape[1]) - rows, 0)
        if missing == "raise" and absent_runs.any():
            _refuse_absent_runs(absent_runs, units, columns)
        present = np.bincount(cell[~blank], minlength=size)
        counted_rows = np.where(rows > 0, np.repeat(runs, shape[1]), 0) if missing == "zero" else present
        summed = np.bincount(cell[~blank], weights=values[~blank], minlength=size)
        with np.errstate(invalid="ignore", divide="ignore"):
            total: FloatArray = np.where(counted_rows > 0, summed / counted_rows, 0.0)
        observed = (counted_rows > 0).astype(np.float64)
        absent = np.bincount(column[blank], minlength=shape[1]) + (rows.reshape(shape) == 0).sum(axis=0)
        absent = absent + absent_runs.reshape(shape).sum(axis=0)
        lacking = np.where(present > 0, np.repeat(runs, shape[1]) - present, 0).reshape(shape).sum(axis=0)
        return total.reshape(shape), observed.reshape(shape), np.ones(shape[0]), absent.astype(np.int64), lacking.astype(np.int64)
    if names.item is not None and (rows > 1).any():
        _say_repeated(np.flatnonzero(rows > 1), units, columns, names)
    total = np.bincount(cell[~blank], weights=values[~blank], minlength=size).astype(np.float64)
    observed = np.bincount(cell[~blank], minlength=size).astype(np.float64).reshape(shape)
    expected = rows.reshape(shape).max(axis=1).astype(np.float64)
    absent = (expected[:, None] - observed).sum(axis=0).round().astype(np.int64)
    lacking = np.where(observed > 0, expected[:, None] - observed, 0.0).sum(axis=0).round().astype(np.int64)
    return total.reshape(shape), observed, expected, absent, lacking


def _refuse_repeated(
    frame: pd.DataFrame, names: Columns, cell: IntArray, repeat: Hashable, units: pd.Index, columns: pd.Index
) -> None:
    runs = _labels(frame, repeat, "repeat")
    both = cell * len(runs.labels) + runs.codes
    found, times = np.unique(both, return_counts=True)
    if (times > 1).any():
        _say_repeated(np.unique(found[times > 1] // len(runs.labels)), units, columns, names)


def _say_repeated(cells: AnyArray, units: pd.Index, columns: pd.Index, names: Columns) -> None:
    known = [name for name in ("item", "repeat") if getattr(names, name) is not None]
    other = "repeat=" if "repeat" not in known else "item="
    raise RepeatsError(
        f"{counted(len(cells), 'cell')} with several rewards that {' and '.join(known)} do not tell apart: "
        f"{_cell_list(cells, units, columns)}.\nName the column that does with {other}, or reduce them first."
    )


def _refuse_blank(blank: BoolArray, cell: IntArray, units: pd.Index, columns: pd.Index, names: Columns) -> None:
    cells = np.unique(cell[blank])
    raise MissingRewardsError(
        f"{counted(int(blank.sum()), 'reward')} blank, in {counted(len(cells), 'cell')}: {_cell_list(cells, units, columns)}.\n"
        'Expected every reward. Pass missing="omit" (the mean of the other repeats) or missing="zero" (a failure), and report it.'
    )


def _refuse_absent_runs(absent: IntArray, units: pd.Index, columns: pd.Index) -> None:
    cells = np.flatnonzero(absent)
    raise MissingRewardsError(
        f"{counted(int(absent.sum()), 'reward')} absent, in {counted(len(cells), 'cell')}: {_cell_list(cells, units, columns)}.\n"
        "Expected as many repeats of a unit from every model as another model has.\n"
        'Pass missing="omit" (the mean of the other repeats) or missing="zero" (a failure), and report it.'
    )


def _refuse_missing(lacking: FloatArray, units: pd.Index, columns: pd.Index, given: dict[str, Hashable]) -> None:
    cells = np.flatnonzero(lacking.ravel() > 0)
    by_model = [f"{_plain(columns[at])} {int(n)}" for at, n in enumerate(lacking.sum(axis=0)) if n > 0]
    more = f" and {len(by_model) - 5} more" if len(by_model) > 5 else ""
    several = lacking.max() > 1 or "item" not in given
    hint = " If rows are repeats, name their column with repeat=." if several and "repeat" not in given else ""
    raise MissingRewardsError(
        f"{counted(round(lacking.sum()), 'reward')} missing: {_cell_list(cells, units, columns)} "
        f"(by model: {', '.join(by_model[:5])}{more}).\nExpected a number for every model on every unit that another model has.\n"
        f'Pass missing="omit" (leave the cell out of all means) or missing="zero" (a failure), and report it.{hint}'
    )


def _cell_list(cells: AnyArray, units: pd.Index, columns: pd.Index) -> str:
    at = [divmod(int(cell), len(columns)) for cell in cells[:5]]
    names = [f"{_plain(columns[column])} on {_plain(units[unit])}" for unit, column in at]
    return ", ".join(names) + (f" and {len(cells) - 5:,} more" if len(cells) > 5 else "")


def _plain(label: Any) -> str:
    """Write a label, or one of model and condition, without NumPy's types."""
    return f"({', '.join(map(shown, label))})" if isinstance(label, tuple) else shown(label)
