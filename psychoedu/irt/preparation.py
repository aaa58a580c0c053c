"""What ``calibrate`` makes of its arguments: checked arrays of the respondents to estimate from, and who everyone is."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import BoolArray, CodeArray, FloatArray, IntArray
from psychoedu.exceptions import DataError, DroppedItemsWarning, LabelError
from psychoedu.irt import checks
from psychoedu.irt.bank import ItemBank
from psychoedu.responses import ResponseMatrix
from psychoedu.validation import check_group_labels, check_per_label, check_weights, counted, listed

ALL = "all"
"""Label of the only group where none are named."""
FixedItems = ItemBank | pd.DataFrame


@dataclass(slots=True)
class CalibrationData:
    """The data of one calibration, checked.

    ``matrix``, ``fitted``, ``all_weights`` and ``population`` are of all respondents; ``scored``, ``respondents``, ``weights``
    and ``group`` of those that are estimated from and answered anything.
    """

    matrix: ResponseMatrix
    labels: pd.Index
    scored: CodeArray
    respondents: pd.Index
    fitted: BoolArray
    weights: FloatArray | None
    all_weights: FloatArray | None
    group: IntArray | None
    names: tuple[Hashable, ...]
    reference: Hashable
    population: IntArray
    fixed: tuple[BoolArray, FloatArray, FloatArray] | None
    fixed_difficulty: FloatArray | None
    dropped: list[Hashable]
    n_responses: int
    n_without_responses: int


def respondent_columns(responses: Any, groups: Any, fit_to: Any) -> dict[str, Any]:
    """Columns of a plain frame that the arguments name as describing respondents, as options of ``as_response_matrix``."""
    if not isinstance(responses, pd.DataFrame):
        return {}
    named = [groups] if isinstance(groups, str) else []
    named += [column for column in (fit_to if isinstance(fit_to, Mapping) else {}) if column not in named]
    found = [column for column in named if column in responses.columns]
    return {"respondent_columns": found} if found else {}


def prepare(
    matrix: ResponseMatrix,
    model: str,
    groups: Any,
    reference_group: Hashable | None,
    fit_to: Any,
    weights: Any,
    fixed_items: FixedItems | None,
    on_constant: str,
    assume_equal_populations: bool,
) -> CalibrationData:
    """Check the arguments of ``calibrate`` against the responses, leave out what was asked, and lay the arrays out."""
    everyone = matrix.scored()
    n_respondents = everyone.shape[0]
    fitted = fit_mask(fit_to, matrix)
    all_weights = None if weights is None else check_weights(weights, matrix.respondent_labels)
    use = fitted if all_weights is None else fitted & (all_weights > 0)
    if not use.any():
        raise DataError(
            f"fit_to and weights leave none of the {n_respondents:,} respondents to estimate from. Expected at least one."
        )
    among = "" if bool(fitted.all()) else f" among the {int(use.sum()):,} respondents of fit_to"
    n_asked = int(use.sum())
    if int(everyone.min()) < 0:
        use = use & (everyone >= 0).any(axis=1)
        if not use.any():
            raise DataError(f"None of the {n_asked:,} respondents to estimate from has a response. Expected at least one.")
    names, reference, population, positions = group_positions(groups, reference_group, matrix, use, assume_equal_populations)
    rows = slice(None) if bool(use.all()) else use
    scored = everyone[rows]
    labels = matrix.item_labels
    fixed, fixed_difficulty = _fixed(fixed_items, labels)
    answered, right = checks.response_counts(scored)
    constant = (right == 0) | (right == answered)
    if fixed is not None:
        constant &= ~fixed[0]
    dropped: list[Hashable] = []
    if constant.any():
        keep = ~constant
        if on_constant == "raise" or not keep.any():
            checks.refuse_constant(answered, right, constant, labels, among)
        dropped = list(labels[constant])
        warnings.warn(
            f"{counted(len(dropped), 'item')} with one response category{among} left out: {listed(dropped)}.",
            DroppedItemsWarning,
            stacklevel=3,
        )
        matrix = matrix.select(items=labels[keep])
        labels, scored = labels[keep], np.ascontiguousarray(scored[:, keep])
        answered, right = answered[keep], right[keep]
        if fixed is not None and fixed_difficulty is not None:
            fixed = (fixed[0][keep], fixed[1][keep], fixed[2][keep])
            fixed_difficulty = fixed_difficulty[keep]
    if fixed is None:
        checks.refuse_copies(scored, answered, right, labels)
    return CalibrationData(
        matrix,
        labels,
        scored,
        matrix.respondent_labels[rows],
        fitted,
        None if all_weights is None else all_weights[rows],
        all_weights,
        None if len(names) == 1 else positions[rows],
        names,
        reference,
        population,
        fixed,
        fixed_difficulty,
        dropped,
        int(answered.sum()),
        n_asked - scored.shape[0],
    )


def fit_mask(fit_to: Any, matrix: ResponseMatrix) -> BoolArray:
    """Return which respondents ``fit_to`` names, all of them for None."""
    n_respondents = matrix.n_respondents
    if fit_to is None:
        return np.ones(n_respondents, dtype=bool)
    if isinstance(fit_to, Mapping):
        mask = np.ones(n_respondents, dtype=bool)
        if fit_to and all(isinstance(value, bool | np.bool_) for value in fit_to.values()):
            labels = matrix.respondent_labels
            if not set(fit_to) <= set(matrix.respondents.columns) and set(fit_to) <= set(labels):
                chosen = check_per_label(fit_to, labels, "fit_to")
                return np.asarray(chosen, dtype=bool)
        for column, wanted in fit_to.items():
            values = _respondent_column(matrix, column, "fit_to")
            accepted = [wanted] if isinstance(wanted, str) or not np.iterable(wanted) else list(wanted)
            absent = [value for value in accepted if not (values == value).any()]
            if absent:
                raise LabelError(
                    f"fit_to asks for {listed(absent)} in column {column!r}, which holds {listed(pd.unique(values.dropna()))}."
                )
            mask &= values.isin(accepted).to_numpy()
        return mask
    chosen = np.asarray(check_per_label(fit_to, matrix.respondent_labels, "fit_to"))
    if chosen.dtype != bool:
        raise DataError(f"fit_to has to be a mask of True and False, or {{column: value}}; got {chosen.dtype} values.")
    return chosen


def _respondent_column(matrix: ResponseMatrix, column: Hashable, argument: str) -> pd.Series:
    if column not in matrix.respondents.columns:
        have = listed(matrix.respondents.columns) if len(matrix.respondents.columns) else "none"
        raise LabelError(
            f"{argument} names the respondent column {column!r}; the responses have {have}.\n"
            "Declare it with ResponseMatrix.from_wide(frame, respondent_columns=[...]), or pass one label per respondent."
        )
    return matrix.respondents[column]


def group_positions(
    groups: Any, reference_group: Hashable | None, matrix: ResponseMatrix, use: BoolArray, equal: bool
) -> tuple[tuple[Hashable, ...], Hashable, IntArray, IntArray]:
    """Return the groups' names, the reference, and each respondent's population and group (-1 for a group that is not fitted)."""
    n_respondents = use.size
    nobody = np.zeros(n_respondents, dtype=np.int64)
    if groups is None or equal:
        if reference_group is not None:
            if equal:
                raise DataError(
                    f"reference_group={reference_group!r} has no meaning with assume_equal_populations=True, which makes one "
                    "population of all respondents. Drop one of the two."
                )
            raise DataError(f"reference_group={reference_group!r} needs groups=, a respondent column or a label per respondent.")
        return (ALL,), ALL, nobody, nobody
    if isinstance(groups, str):
        series = _respondent_column(matrix, groups, "groups")
    elif isinstance(groups, pd.Series | pd.Categorical):
        dtype = groups.dtype
        series = pd.Series(check_per_label(groups, matrix.respondent_labels, "groups"))
        series = series.astype(dtype) if isinstance(dtype, pd.CategoricalDtype) else series
    else:
        series = pd.Series(check_per_label(groups, matrix.respondent_labels, "groups"))
    missing = series.isna().to_numpy() & use
    if missing.any():
        raise DataError(
            f"{counted(int(missing.sum()), 'respondent')} without a group: {listed(matrix.respondent_labels[missing])}.\n"
            "Expected a label for everyone that is estimated from. Name their group, or leave them out with fit_to=."
        )
    met = list(pd.unique(series[use]))
    if isinstance(series.dtype, pd.CategoricalDtype):
        met = [label for label in series.cat.categories if label in set(met)]
    check_group_labels(met)
    if reference_group is not None and reference_group not in met:
        raise LabelError(f"reference_group={reference_group!r} is none of the groups: {listed(met)}.")
    reference = met[0] if reference_group is None else reference_group
    positions = pd.Index(met, tupleize_cols=False).get_indexer(pd.Index(series.to_numpy(dtype=object), tupleize_cols=False))
    population = np.where(positions < 0, met.index(reference), positions).astype(np.int64)
    names = tuple(label.item() if isinstance(label, np.generic) else label for label in met)
    return names, names[met.index(reference)], population, positions.astype(np.int64)


def _fixed(
    fixed_items: FixedItems | None, labels: pd.Index
) -> tuple[tuple[BoolArray, FloatArray, FloatArray] | None, FloatArray | None]:
    if fixed_items is None:
        return None, None
    bank = fixed_items if isinstance(fixed_items, ItemBank) else getattr(fixed_items, "bank", None) or ItemBank(fixed_items)
    unknown = bank.labels[~bank.labels.isin(labels)]
    if len(unknown):
        raise LabelError(
            f"fixed_items holds {counted(len(unknown), 'item')} that the responses lack: {listed(unknown)}.\n"
            f"Their items are {listed(labels)}. Pass the common ones only, for example bank.items.loc[...]."
        )
    if bank.guessing is not None and np.any(np.asarray(bank.guessing) > 0):
        raise DataError("fixed_items have lower asymptotes (guessing above 0), which the models calibrated here have not.")
    position = labels.get_indexer(bank.labels)
    which = np.zeros(labels.size, dtype=bool)
    slope, intercept, difficulty = np.ones(labels.size), np.zeros(labels.size), np.full(labels.size, np.nan)
    which[position] = True
    slope[position], intercept[position], difficulty[position] = bank.discrimination, bank.intercept, bank.difficulty
    return (which, slope, intercept), difficulty
