"""Checks of arguments, one function per kind; the only place that says "expected ..., got ...".

Each function returns the checked value in the form that the code after it works with, or raises with what is wrong, what was
expected and how to mend it. Nothing here knows what a response or a model is.
"""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import AnyArray, FloatArray
from psychoedu.exceptions import DataError, DuplicateLabelError, FileFormatError, LabelError

SHOWN = 5
"""How many labels or codes a message shows before it only counts."""


def listed(values: Iterable[Any], total: int | None = None) -> str:
    """Write the first five values and the number of the others, as in ``'q1', 'q2' and 7 more``."""
    everything = values if isinstance(values, Sequence | pd.Index | np.ndarray) else list(values)
    count = len(everything) if total is None else total
    text = ", ".join(shown(value) for value in everything[:SHOWN])
    return text if count <= SHOWN else f"{text} and {count - SHOWN:,} more"


def shown(value: Any) -> str:
    """Write one value as a user would type it: NumPy scalars as plain numbers, whole floats without a point."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float) and plain.is_integer() and abs(plain) < 1e15:
        return str(int(plain))
    return repr(plain)


def counted(count: int, noun: str) -> str:
    """Write a number with its noun, as in ``1 item`` and ``2 items``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def check_choice(value: object, choices: Sequence[str], name: str) -> str:
    """Check that an option is one of its spellings.

    Examples
    --------
    >>> check_choice("wrong", ("wrong", "missing"), "invalid")
    'wrong'
    """
    if isinstance(value, str) and value in choices:
        return value
    options = ", ".join(repr(choice) for choice in choices)
    hint = ""
    if isinstance(value, str):
        close = [choice for choice in choices if _squeeze(choice) == _squeeze(value)]
        hint = f" Did you mean {close[0]!r}?" if close else ""
    raise DataError(f"{name} has to be one of {options}; got {value!r}.{hint}")


def _squeeze(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum())


def check_flag(value: object, name: str) -> bool:
    """Check that a switch is True or False (1 and "yes" are neither)."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise DataError(f"{name} has to be True or False; got {value!r}.")


def check_number(value: object, name: str) -> float:
    """Check that an argument is one finite number."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real) or not math.isfinite(float(value)):
        raise DataError(f"{name} has to be one finite number; got {value!r}.")
    return float(value)


def check_positive(value: object, name: str) -> float:
    """Check that an argument is one finite number above 0.

    Examples
    --------
    >>> check_positive(2, "prior_sd")
    2.0
    """
    number = check_number(value, name)
    if number > 0.0:
        return number
    raise DataError(f"{name} has to be above 0; got {value!r}.")


def check_probability(value: object, name: str) -> float:
    """Check that an argument lies strictly between 0 and 1; a percentage gets a hint."""
    number = check_number(value, name)
    if 0.0 < number < 1.0:
        return number
    hint = f" Did you mean {number / 100.0:g}?" if 1.0 < number < 100.0 else ""
    raise DataError(f"{name} has to lie between 0 and 1, both excluded; got {value!r}.{hint}")


def check_integer(value: object, name: str, minimum: int | None = None) -> int:
    """Check that an argument is a whole number, at least ``minimum``; 3.0 is not one."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral):
        raise DataError(f"{name} has to be a whole number; got {value!r}.")
    number = int(value)
    if minimum is not None and number < minimum:
        raise DataError(f"{name} has to be at least {minimum}; got {number}.")
    return number


def check_path(path: object, purpose: str) -> Path:
    """Check that an argument names a file rather than a folder; whether it exists is left to who opens it.

    Parameters
    ----------
    path : object
        What the user gave.
    purpose : {"read", "write"}
        For the message.

    Examples
    --------
    >>> check_path("bank.json", "write").name
    'bank.json'
    """
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str) or not text or "\0" in text:
        raise FileFormatError(f"The file to {purpose} is {path!r}. Expected a path, as text or pathlib.Path.")
    if os.path.isdir(text):
        raise FileFormatError(f"{text} is a folder; expected the name of a file to {purpose}.")
    return Path(text)


def check_not_empty(shape: tuple[int, ...]) -> None:
    """Check that a matrix has respondents and items."""
    if min(shape) > 0:
        return
    raise DataError(
        f"The response matrix is empty: {shape[0]:,} respondents x {shape[1]:,} items (shape {tuple(shape)}).\n"
        "Expected at least one row (respondent) and one column (item); check the filter or file it came from."
    )


def check_labels(labels: pd.Index, axis: str) -> pd.Index:
    """Check the labels of one axis: one level, none missing, none twice, none True or False (which would be taken for masks).

    Parameters
    ----------
    labels : Index
        Labels as the user gave them.
    axis : str
        "respondent" or "item", used in the messages and as the name of the index returned.

    Returns
    -------
    Index
        The same labels in the same order, never categorical, named ``axis``.
    """
    place = "index" if axis == "respondent" else "columns"
    if isinstance(labels, pd.MultiIndex):
        raise LabelError(
            f"The {axis}s have labels of {labels.nlevels} levels, for example {listed(labels[:1])}; expected one label each.\n"
            f"Join the levels, frame.{place} = frame.{place}.map(lambda parts: '/'.join(map(str, parts))), "
            "or move some of them to columns with reset_index()."
        )
    if isinstance(labels, pd.CategoricalIndex):
        labels = labels.astype(labels.categories.dtype)
    if isinstance(labels, pd.RangeIndex):
        return labels.rename(axis)
    if labels.hasnans:
        positions = np.flatnonzero(labels.isna()) + 1
        raise LabelError(
            f"{counted(len(positions), axis)} without a label, at position {listed(positions)}.\n"
            f"Expected a label for every {axis}. Fill the labels in, or leave those {axis}s out."
        )
    if not labels.is_unique:
        repeated = labels[labels.duplicated()].unique()
        raise DuplicateLabelError(
            f"{counted(len(repeated), axis + ' label')} used more than once: {listed(repeated)}. "
            f"Expected every {axis} to have its own label.\n" + _duplicate_hint(axis)
        )
    if labels.dtype == bool or (labels.dtype == object and labels.inferred_type not in ("string", "integer")):
        _refuse_truth(labels, axis, place)
        _refuse_alike(labels, axis, f"for example frame.{place} = frame.{place}.map(str) after renaming")
    return labels.rename(axis)


def _refuse_truth(labels: pd.Index, axis: str, place: str) -> None:
    truths = [label for label in labels if isinstance(label, bool | np.bool_)]
    if truths:
        raise LabelError(
            f"{counted(len(truths), axis)} labelled True or False, which selections take for masks: {listed(truths)}.\n"
            f"Expected text or numbers as labels, for example frame.{place} = frame.{place}.map(str)."
        )


def _refuse_alike(labels: pd.Index, what: str, mend: str) -> None:
    texts = pd.Index([str(label) for label in labels])
    if not texts.is_unique:
        alike = labels[texts.duplicated(keep=False)]
        raise DuplicateLabelError(
            f"{len(alike)} {what} labels differ in type alone: {listed(alike)}; files and tables cannot tell them apart.\n"
            f"Give every {what} its own label, {mend}."
        )


def check_group_labels(labels: Iterable[Hashable]) -> None:
    """Check that different group labels do not read the same, as 1 and "1" do.

    Examples
    --------
    >>> check_group_labels([2020, 2021, "later"])
    """
    _refuse_alike(pd.Index(list(labels), dtype=object, tupleize_cols=False), "group", "as text or as a number throughout")


def _duplicate_hint(axis: str) -> str:
    if axis == "item":
        return "Rename or drop the columns; two copies of one item are perfectly dependent."
    return (
        "Rename the rows; several runs of one respondent are repeats: give them in long format with "
        "ResponseMatrix.from_long(..., repeat=)."
    )


def has_label(labels: pd.Index, label: object) -> bool:
    """Tell whether a label is among the labels; what cannot be one, as a list, is not.

    Examples
    --------
    >>> has_label(pd.Index(["q1", "q2"]), ["q1"])
    False
    """
    try:
        return label in labels
    except TypeError:
        return False


def check_known(wanted: Iterable[Hashable], known: pd.Index, what: str) -> pd.Index:
    """Check that all labels asked for exist, once each, and return them as an index."""
    labels = pd.Index(list(wanted), tupleize_cols=False)
    try:
        unknown = labels[~labels.isin(known)]
    except TypeError:  # a list or a mapping cannot be a label
        unknown = pd.Index([label for label in labels if not has_label(known, label)], dtype=object, tupleize_cols=False)
    if len(unknown):
        raise LabelError(
            f"{counted(len(unknown), what)} not found: {listed(unknown)}.\n"
            f"Expected labels among the {len(known):,} known: {listed(known)}.{_type_hint(unknown, known)}"
        )
    if not labels.is_unique:
        repeated = labels[labels.duplicated()].unique()
        raise DuplicateLabelError(f"{counted(len(repeated), what)} asked for more than once: {listed(repeated)}; expected once.")
    return labels


def _type_hint(unknown: pd.Index, known: pd.Index) -> str:
    alike = pd.Index([str(label) for label in unknown[:SHOWN]]).isin(pd.Index([str(label) for label in known]))
    return " They differ in type alone (text or number): convert them, as in labels.astype(str)." if alike.any() else ""


def check_columns(frame: pd.DataFrame, columns: Iterable[Hashable], argument: str) -> list[Hashable]:
    """Check that a frame has the columns that an argument names."""
    names: list[Hashable] = [columns] if isinstance(columns, str | int) else list(columns)
    absent = [name for name in names if name not in frame.columns]
    if absent:
        raise LabelError(
            f"{argument} names {counted(len(absent), 'column')} that the table lacks: {listed(absent)}.\n"
            f"Its columns are {listed(frame.columns)}."
        )
    return names


def check_per_label(values: Any, labels: pd.Index, name: str, axis: str = "respondent") -> AnyArray:
    """Check that an argument holds one value per respondent (or item), and put the values in the labels' order.

    Parameters
    ----------
    values : Series, mapping or array-like of length N
        A mapping is matched by its keys. A Series is matched by label where its index holds the labels, and by position where
        its index is the default 0, 1, 2, ...; anything else is taken by position. Masked values are missing.
    labels : Index
        The labels of the axis.
    name : str
        The argument's name, for the messages.
    axis : {"respondent", "item"}

    Returns
    -------
    ndarray of shape (N,)
    """
    if isinstance(values, Mapping):
        values = _by_label(values, labels, name, axis)
    elif isinstance(values, pd.DataFrame | set | frozenset):
        _refuse_container(values, len(labels), name, axis)
    elif isinstance(values, pd.Series):
        if not values.index.equals(labels):
            by_position = isinstance(values.index, pd.RangeIndex) and values.index.equals(pd.RangeIndex(len(labels)))
            if values.index.is_unique and len(values) == len(labels) and labels.isin(values.index).all():
                values = values.reindex(labels)
            elif not by_position and len(values) == len(labels):
                absent = labels[~labels.isin(values.index)]
                raise LabelError(
                    f"{name} is a Series without a value for {counted(len(absent), axis)}: {listed(absent)}.\n"
                    f"Expected the {axis}s' labels as its index, once each; or pass {name}.to_numpy() to go by position."
                )
        values = values.to_numpy()
    plain = isinstance(values, np.ndarray) and not isinstance(values, np.ma.MaskedArray)
    array: AnyArray = values if plain else np.asarray(pd.Series(values))
    if array.ndim != 1 or len(array) != len(labels):
        raise DataError(f"{name} has to hold one value per {axis} ({len(labels):,}); got shape {array.shape}.")
    return array


def _by_label(values: Mapping[Any, Any], labels: pd.Index, name: str, axis: str) -> pd.Series:
    """Put a mapping's values in the labels' order."""
    given = pd.Series(list(values.values()), index=pd.Index(list(values), tupleize_cols=False))
    absent, unknown = labels[~labels.isin(given.index)], given.index[~given.index.isin(labels)]
    if len(absent) or len(unknown):
        faults = [f"without a value for {counted(len(absent), axis)}: {listed(absent)}"] if len(absent) else []
        if len(unknown):
            faults.append(
                f"with {counted(len(unknown), 'label')} that {'is' if len(unknown) == 1 else 'are'} no {axis}: {listed(unknown)}"
            )
        raise LabelError(
            f"{name} is a mapping {', and '.join(faults)}.\n"
            f"Expected the labels of the {len(labels):,} {axis}s as its keys: {listed(labels)}."
        )
    return given.iloc[given.index.get_indexer(labels)]


def _refuse_container(values: Any, count: int, name: str, axis: str) -> None:
    """Refuse what holds several values without one order or one column."""
    if isinstance(values, pd.DataFrame):
        column = values.columns[0] if values.shape[1] else "column"
        what, mend = f"a table of {counted(values.shape[1], 'column')}", f"Take one of its columns, as frame[{column!r}]."
    else:
        what = f"a {type(values).__name__}, which has no order"
        mend = f"Give a list in the rows' order, or a mapping {{{axis}: value}}."
    raise DataError(f"{name} is {what}. Expected one value per {axis} ({count:,}).\n{mend}")


def check_per_respondent(values: Any, labels: pd.Index, name: str) -> AnyArray:
    """Check that an argument holds one value per respondent; :func:`check_per_label` for the rows."""
    return check_per_label(values, labels, name, "respondent")


def check_weights(weights: Any, labels: pd.Index, name: str = "weights") -> FloatArray:
    """Check respondent weights: finite, none below 0, not all 0; None gives ones.

    Examples
    --------
    >>> check_weights([1, 0, 2], pd.Index(["a", "b", "c"]))
    array([1., 0., 2.])
    """
    if weights is None:
        return np.ones(len(labels))
    values = check_per_respondent(weights, labels, name)
    if np.iscomplexobj(values):
        raise DataError(f"{name} has to be numbers; got {listed(values)}.")
    try:
        array = np.asarray(pd.Series(values).to_numpy(dtype=np.float64, na_value=np.nan))
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} has to be numbers; got {listed(values)}.") from error
    with np.errstate(invalid="ignore"):
        wrong = ~(np.isfinite(array) & (array >= 0.0))
    if wrong.any():
        raise DataError(
            f"{counted(int(wrong.sum()), 'respondent')} with a weight that is negative, infinite or missing: "
            f"{listed(labels[wrong])} (weights {listed(array[wrong])}).\n"
            "Expected finite weights of at least 0; a weight of 0 leaves the respondent out."
        )
    if not array.any():
        raise DataError(f"All {len(array):,} {name} are 0, so no respondent is left. Expected at least one above 0.")
    return array.astype(np.float64, copy=True)
