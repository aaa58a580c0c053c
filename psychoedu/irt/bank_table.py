"""Reading a table of item parameters: what an item bank accepts, and what it refuses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import BoolArray, FloatArray
from psychoedu.exceptions import DataError
from psychoedu.validation import check_labels, check_positive, counted, listed

AGREEMENT = 1e-6
"""How far intercept and -discrimination x difficulty may differ, relative to the larger (or 1)."""
_SYNONYMS = {"a": "discrimination", "a1": "discrimination", "b": "difficulty", "d": "intercept", "c": "guessing", "g": "guessing"}


@dataclass(frozen=True, eq=False)
class ItemTable:
    """Labels and parameters in the logit metric (D = 1), each (J,)."""

    labels: pd.Index
    discrimination: FloatArray
    intercept: FloatArray
    difficulty: FloatArray
    guessing: FloatArray


def read_item_table(frame: Any, scaling_constant: float = 1.0) -> ItemTable:
    """Read item parameters from a table; see :class:`~psychoedu.irt.bank.ItemBank` for what it may hold."""
    constant = check_positive(scaling_constant, "scaling_constant")
    if not isinstance(frame, pd.DataFrame):
        raise DataError(
            f"An item bank is made from a DataFrame of item parameters; got {type(frame).__name__}.\n"
            "Expected columns discrimination and difficulty (or intercept), and the items' labels as the index.\n"
            "Plain arrays: ItemBank.from_arrays(labels, discrimination, intercept)."
        )
    _check_columns(frame)
    labels = item_labels(frame)
    discrimination = _numbers(frame, "discrimination", labels)
    guessing = _numbers(frame, "guessing", labels) if "guessing" in frame.columns else np.zeros(len(labels))
    outside = ~((guessing >= 0.0) & (guessing < 1.0))
    if outside.any():
        raise DataError(
            f"{counted(int(outside.sum()), 'item')} with a guessing parameter outside [0, 1): {_at(labels, guessing, outside)}.\n"
            "Expected the probability of a right answer at the lowest ability, as 0.25."
        )
    intercept = _intercepts(frame, labels, discrimination)
    difficulty = np.full(len(labels), np.nan)
    np.divide(-intercept, discrimination, out=difficulty, where=discrimination != 0.0)
    if "difficulty" in frame.columns:  # as it was given, to the bit
        given = _numbers(frame, "difficulty", labels, may_be_missing=True)
        difficulty = np.where(np.isfinite(given) & (discrimination != 0.0), given, difficulty)
    return ItemTable(labels, constant * discrimination, constant * intercept, difficulty + 0.0, guessing)


def item_labels(frame: pd.DataFrame) -> pd.Index:
    """Return the items' labels: a column "item", else the index; where it has neither, q1, q2, ... as for an array."""
    if "item" in frame.columns:
        return check_labels(pd.Index(frame["item"]), "item")
    if isinstance(frame.index, pd.RangeIndex) and frame.index.name is None:
        return pd.Index([f"q{number}" for number in range(1, len(frame) + 1)], name="item")
    return check_labels(frame.index, "item")


def _check_columns(frame: pd.DataFrame) -> None:
    columns = frame.columns
    if not columns.is_unique:
        raise DataError(f"The item table has columns of one name: {listed(columns[columns.duplicated()].unique())}. Rename them.")
    if "discrimination" not in columns or not ("difficulty" in columns or "intercept" in columns):
        renaming = {name: full for name, full in _SYNONYMS.items() if name in columns and full not in columns}
        hint = f"\nIf these are they: frame.rename(columns={renaming!r})." if renaming else ""
        raise DataError(
            "An item bank needs the columns discrimination and difficulty (or intercept); "
            f"the table has {listed(columns) or 'none'}.{hint}"
        )
    if len(frame) == 0:
        raise DataError("The item table has no rows. Expected a row per item.")


def _numbers(frame: pd.DataFrame, column: str, labels: pd.Index, may_be_missing: bool = False) -> FloatArray:
    values = frame[column]
    kinds = pd.api.types
    if not kinds.is_numeric_dtype(values) or kinds.is_bool_dtype(values) or kinds.is_complex_dtype(values):
        raise DataError(
            f"Column {column} of the item table holds {values.dtype} ({listed(values.to_numpy())}); expected numbers.\n"
            f"Convert it: frame['{column}'] = pd.to_numeric(frame['{column}'])."
        )
    numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    wrong = np.isinf(numbers) if may_be_missing else ~np.isfinite(numbers)
    if wrong.any():
        raise DataError(
            f"{counted(int(wrong.sum()), 'item')} whose {column} is missing or infinite: {_at(labels, numbers, wrong)}.\n"
            "Expected a finite number for every item. Leave those items out of the bank."
        )
    return np.asarray(numbers, dtype=np.float64)


def _intercepts(frame: pd.DataFrame, labels: pd.Index, discrimination: FloatArray) -> FloatArray:
    """Return intercepts, from the difficulties where there are none."""
    if "difficulty" not in frame.columns:
        return _numbers(frame, "intercept", labels)
    has_both = "intercept" in frame.columns
    difficulty = _numbers(frame, "difficulty", labels, may_be_missing=has_both)
    from_difficulty = 0.0 - discrimination * difficulty
    if not has_both:
        flat = discrimination == 0.0
        if flat.any():
            raise DataError(
                f"{counted(int(flat.sum()), 'item')} with discrimination 0, so without a difficulty: {listed(labels[flat])}.\n"
                "Expected their intercept, in a column intercept (difficulty may be missing there), or the table without them."
            )
        return from_difficulty
    intercept = _numbers(frame, "intercept", labels, may_be_missing=True)
    missing = np.isnan(intercept) & (np.isnan(difficulty) | (discrimination == 0.0))
    if missing.any():
        raise DataError(
            f"{counted(int(missing.sum()), 'item')} with neither intercept nor usable difficulty: {listed(labels[missing])}.\n"
            "Expected one of them (the intercept where discrimination is 0). Leave those items out of the bank."
        )
    size = np.maximum(1.0, np.maximum(np.abs(intercept), np.abs(from_difficulty)))
    with np.errstate(invalid="ignore"):
        apart = (np.abs(intercept - from_difficulty) > AGREEMENT * size) & (discrimination != 0.0)
    if apart.any():
        raise DataError(
            f"{counted(int(apart.sum()), 'item')} whose intercept is not -discrimination x difficulty: "
            f"{_at(labels, intercept - from_difficulty, apart)} (differences).\n"
            "Expected both to say the same. Keep one of the columns, as in frame.drop(columns='difficulty')."
        )
    return np.where(np.isnan(intercept), from_difficulty, intercept)


def _at(labels: pd.Index, values: FloatArray, where: BoolArray) -> str:
    pairs = [f"{label} ({value:g})" for label, value in zip(labels[where][:5], values[where][:5], strict=True)]
    extra = int(where.sum()) - len(pairs)
    return ", ".join(pairs) + (f" and {extra:,} more" if extra > 0 else "")
