"""What the command line makes of values typed as text."""

from __future__ import annotations

from typing import Any

import pandas as pd

from psychoedu.exceptions import LabelError


def value_named(column: pd.Series, text: str, option: str) -> Any:
    """Return the value of a column that is written as the text, such as the number 2020; the text itself if there is none."""
    found = [value for value in column.dropna().unique() if text in _written(value)]
    values = [value.item() if hasattr(value, "item") else value for value in found]
    if len(values) > 1:
        meanings = " or ".join(map(repr, values))
        raise LabelError(
            f"{option} {text!r} may mean {meanings} in column {column.name!r}.\n"
            "Expected a column of text or of numbers throughout."
        )
    return values[0] if values else text


def _written(value: Any) -> set[str]:
    """Return how a value may be written; a column of whole numbers with blanks holds floats."""
    whole = isinstance(value, float) and value.is_integer()
    return {str(value), str(int(value))} if whole else {str(value)}
