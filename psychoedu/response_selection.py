"""Which rows or columns a user means: by a mask, by labels, or by the value of a column beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import IntArray
from psychoedu.exceptions import DataError, LabelError
from psychoedu.validation import check_columns, check_known, check_per_label, listed, shown


def find_positions(wanted: Any, labels: pd.Index, table: pd.DataFrame, axis: str) -> IntArray:
    """Return the positions meant by a boolean mask, by labels, or by {column: value or values}.

    Parameters
    ----------
    wanted : mask, labels or mapping
        A boolean Series is matched by label, any other mask by position. Labels come back in the order asked for.
    labels : Index
        The labels of the axis.
    table : DataFrame
        What is known of the rows or columns.
    axis : {"respondent", "item"}
    """
    if isinstance(wanted, Mapping):
        check_columns(table, wanted, f"{axis}s")
        mask = np.ones(len(labels), dtype=np.bool_)
        for column, value in wanted.items():
            several = list(value) if isinstance(value, list | tuple | set | frozenset | np.ndarray | pd.Index) else [value]
            held: Any = table[column]
            found = held.isin(several).to_numpy()
            if not found.any():
                raise LabelError(
                    f"No {axis} has {listed(several)} in column {shown(column)}; it holds {listed(list(held.unique()))}."
                )
            mask &= found
        return np.flatnonzero(mask)
    if isinstance(wanted, str) or not isinstance(wanted, Iterable):
        wanted = [wanted]
    values: Any = wanted
    if not isinstance(wanted, pd.Series | pd.Index | np.ndarray | pd.api.extensions.ExtensionArray):
        values = pd.Series(list(wanted), dtype=object).infer_objects()
    if pd.api.types.is_bool_dtype(values.dtype):
        return _masked(values, labels, axis)
    names = check_known(values.tolist(), labels, axis)
    return np.asarray(labels.get_indexer(names), dtype=np.int64)


def _masked(mask: Any, labels: pd.Index, axis: str) -> IntArray:
    values = check_per_label(mask, labels, "mask", axis)
    if pd.isna(values).any():
        raise DataError(f"The mask over the {axis}s holds missing values; expected True or False in each.")
    return np.flatnonzero(values.astype(np.bool_))
