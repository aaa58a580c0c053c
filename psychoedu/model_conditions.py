"""Which model, under which condition, a respondent is: from its label, or from columns that say so."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import pandas as pd

from psychoedu.exceptions import DataError, LabelError
from psychoedu.validation import check_columns, check_per_respondent, counted, listed


def models_and_conditions(
    labels: pd.Index, rows: Any, separator: str | None, model: Any, condition: Any, table: pd.DataFrame | None
) -> tuple[list[Hashable], list[Hashable]]:
    """Return the model and the condition of the respondents at some rows.

    Parameters
    ----------
    labels : Index
        Of all respondents.
    rows : ndarray of int
        Those that are asked about.
    separator : str, optional
        Labels are model, separator, condition (the last separator counts).
    model, condition : column of the table, or one value per respondent, optional
        Instead of a separator. Without ``model`` the label is the model, without ``condition`` there is none ("").
    table : DataFrame, optional
        What is known of the respondents.

    Raises
    ------
    DataError, LabelError
        Both ways are given; a label has no separator; a column or a value is missing.
    """
    shown = labels[rows]
    if separator is not None:
        if model is not None or condition is not None:
            raise DataError("separator= takes model and condition from the labels; give it, or model= and condition=, not both.")
        if not isinstance(separator, str) or not separator:
            raise DataError(f"separator={separator!r}: expected the text between model and condition, such as '_'.")
        parts = [str(label).rpartition(separator) for label in shown]
        whole = [label for label, part in zip(shown, parts, strict=True) if not (part[0] and part[2])]
        if whole:
            raise LabelError(
                f"{counted(len(whole), 'label')} of {len(shown)} without a model and a condition around {separator!r}: "
                f"{listed(whole)}.\n"
                "Expected labels such as 'M01_p1' for separator='_'. Give model= and condition=."
            )
        return [part[0] for part in parts], [part[2] for part in parts]
    names: list[Hashable] = list(shown) if model is None else _per_respondent(model, labels, rows, table, "model")
    conditions: list[Hashable] = [""] * len(shown)
    if condition is not None:
        conditions = _per_respondent(condition, labels, rows, table, "condition")
    return names, conditions


def _per_respondent(values: Any, labels: pd.Index, rows: Any, table: pd.DataFrame | None, name: str) -> list[Hashable]:
    if isinstance(values, str):
        if table is None:
            raise DataError(f"{name}={values!r} names a column; pass the table that has it as respondents=.")
        check_columns(table, [values], name)
        values = table[values]
        if isinstance(values, pd.Series) and set(labels) <= set(values.index):
            values = values.reindex(labels)
    found = check_per_respondent(values, labels, name)[rows]
    if pd.isna(found).any():
        raise DataError(f"{name} holds missing values; expected one per respondent that is shown.")
    whole: list[Hashable] = found.tolist()
    return whole
