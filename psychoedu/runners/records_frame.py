"""The columns of the common response record, and how any table with some of them becomes one with all of them.

Nothing is guessed: a column that is absent is missing throughout, a value of another kind is refused with its rows.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from psychoedu.exceptions import DataError, PsychoeduError, RecordsError
from psychoedu.response_codes import ANSWERED, REASON_LABELS, Reason, as_reason
from psychoedu.runners.settings import without_secrets
from psychoedu.validation import counted, listed, shown

RECORD_COLUMNS: dict[str, str] = {
    "run_id": "text",
    "benchmark": "text",
    "subset": "text",
    "item_id": "text",
    "model": "text",
    "model_version": "text",
    "provider": "text",
    "condition": "text",
    "temperature": "float",
    "top_p": "float",
    "max_tokens": "integer",
    "seed": "integer",
    "epoch": "integer",
    "prompt_hash": "text",
    "raw_output": "text",
    "parsed": "text",
    "valid": "boolean",
    "reason": "text",
    "score": "float",
    "max_score": "float",
    "judge_model": "text",
    "judge_fallback": "boolean",
    "judge_explanation": "text",
    "input_tokens": "integer",
    "output_tokens": "integer",
    "reasoning_tokens": "integer",
    "latency_s": "float",
    "error": "text",
    "created": "text",
    "log_uri": "text",
}
"""Columns of a record in their order, with the kind of their values: text, float, integer or boolean."""

KEY = ("run_id", "model", "condition", "item_id", "epoch")
"""What tells one record from another."""

INVALID = tuple(reason.label for reason in Reason if reason.is_invalid)
"""Reasons of answers that were given but cannot be scored: refused, unparsed, empty."""

MISSING = tuple(reason.label for reason in Reason if not reason.is_invalid)
"""Reasons of records without a score, whatever the policy: not administered, not reached, failed call."""

_DTYPES: dict[str, Any] = {"float": "float64", "integer": "Int64", "boolean": "boolean"}
_TRUTHS = {"true": True, "false": False, "1": True, "0": False, "1.0": True, "0.0": False}
_NO_ERROR = frozenset(("", "none", "null", "nan", "na", "n/a", "false", "no", "0"))
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_EXACT = 2**53
"""Up to here a float holds every whole number."""

Places = Callable[[Any], str]
"""Writes positions of rows as somebody finds them: "rows 0, 4 (from 0)", or lines of a file."""


def rows_from_0(rows: Any) -> str:
    """Write positions of rows of a table."""
    return f"rows {listed(rows)} (from 0)"


def printable(text: str) -> str:
    r"""Write what a terminal would obey rather than show (escapes, controls, marks that turn the direction) as Python does.

    Examples
    --------
    >>> printable("a\x1b[2J")
    'a\\x1b[2J'
    """
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() or sign == "\n" else repr(sign)[1:-1] for sign in text)


@contextmanager
def printable_messages() -> Iterator[None]:
    """Let errors leave with messages that can be printed, whatever the names of files and labels hold."""
    try:
        yield
    except PsychoeduError as error:
        error.args = tuple(printable(part) if isinstance(part, str) else part for part in error.args)
        raise


def says_failed(error: Any) -> bool:
    """Return whether the field for an error names one; "None" or "False" is none."""
    return isinstance(error, str) and error.strip().lower() not in _NO_ERROR


def number_in(text: str) -> float:
    """Read a number as files write it; raises ValueError for "1_0", digits of other scripts, "inf" and the like."""
    if not _NUMBER.fullmatch(text.strip()):
        raise ValueError(text)
    return float(text)


def record_frame(frame: pd.DataFrame, places: Places = rows_from_0) -> pd.DataFrame:
    """Return a table with all columns of a record, further columns after them, reasons and scores made consistent.

    Parameters
    ----------
    frame : DataFrame
        At least ``model`` and ``item_id``, and ``score`` or a reason in every row.
    places : callable, optional
        How messages name rows, by their positions.

    Raises
    ------
    RecordsError
        A column is absent or of another kind, a score and its reason contradict each other, a record occurs twice.
    """
    if not isinstance(frame, pd.DataFrame):
        raise RecordsError(f"Records are made from a pandas DataFrame; got {type(frame).__name__}.")
    names = pd.Index(frame.columns)
    if not names.is_unique or not all(isinstance(name, str) for name in names):
        wrong = [name for name in names if not isinstance(name, str)] or list(names[names.duplicated()].unique())
        raise RecordsError(f"Columns of records need a name each, as text and used once; got {listed(wrong)}.")
    absent = [name for name in ("model", "item_id") if name not in frame]
    if absent:
        raise RecordsError(
            f"Records lack the {'column' if len(absent) == 1 else 'columns'} {listed(absent)}; the table has {listed(names)}.\n"
            "Expected a row per model, item and epoch with at least: model, item_id, score (or reason)."
        )
    frame = frame.reset_index(drop=True)
    columns: dict[str, pd.Series] = {}
    for name, kind in RECORD_COLUMNS.items():
        columns[name] = typed(frame[name], kind, places) if name in frame else blank_column(len(frame), kind, name)
    for name in ("run_id", "condition"):
        columns[name] = columns[name].where(columns[name].notna(), "")
    columns["epoch"] = columns["epoch"].fillna(1)
    columns["max_score"] = columns["max_score"].fillna(1.0)
    _check_labels(columns, places)
    _check_epochs(columns["epoch"], places)
    _settle(columns, places)
    further = {name: tidy(frame[name]) for name in frame.columns if name not in RECORD_COLUMNS}
    result = pd.DataFrame({**columns, **further}, columns=[*columns, *further])
    refuse_doubles(result, places=None if places is rows_from_0 else places)
    return result


def refuse_of_file(frame: pd.DataFrame, source: str, unit: str) -> None:
    """Raise what :func:`record_frame` finds wrong in a file, with its name and lines."""
    try:
        record_frame(frame, places_of(frame.index, unit))
    except RecordsError as error:
        raise RecordsError(f"{source}: {error}") from error


def places_of(index: pd.Index, unit: str) -> Places:
    """Return how rows are named: by the lines in the table's index, or by their numbers from 1."""
    return lambda rows: f"{unit if len(rows) == 1 else unit + 's'} {listed([int(index[row]) + (unit != 'line') for row in rows])}"


def blank_column(count: int, kind: str, name: str | None = None) -> pd.Series:
    """Return a column of missing values of a kind."""
    if kind == "text":
        return pd.Series(np.full(count, None, dtype=object), dtype=object, name=name)
    if kind == "float":
        return pd.Series(np.full(count, math.nan), name=name)
    absent = np.ones(count, dtype=np.bool_)
    if kind == "integer":
        return pd.Series(pd.arrays.IntegerArray(np.zeros(count, dtype=np.int64), absent), name=name)
    return pd.Series(pd.arrays.BooleanArray(np.zeros(count, dtype=np.bool_), absent), name=name)


def typed(column: pd.Series, kind: str, places: Places = rows_from_0) -> pd.Series:
    """Turn a column into one kind of values, or refuse it with the rows that are of another kind."""
    known = column.notna().to_numpy(dtype=bool)
    if not known.any():
        return blank_column(len(column), kind, str(column.name)).set_axis(column.index)
    if (kind == "float" and column.dtype.kind in "iuf") or (kind == "integer" and column.dtype.kind == "i"):
        return column.astype(_DTYPES[kind])
    values = column.astype(object).to_numpy()
    if kind == "text" and is_clean(values, known):
        values = values.copy()
        values[~known] = None
        return pd.Series(values, dtype=object, name=column.name)
    if (numbers := _all_numbers(values, known, kind)) is not None:
        numbers.name = column.name
        return numbers
    result = np.full(len(values), None, dtype=object)
    read = {"text": _text, "float": _number, "integer": _whole, "boolean": _truth}[kind]
    wrong = []
    for row in np.flatnonzero(known):
        try:
            result[row] = read(values[row])
        except (TypeError, ValueError, OverflowError):
            wrong.append(row)
    if wrong:
        raise RecordsError(
            f"Column {shown(column.name)} holds {counted(len(wrong), 'value')} that are no {kind}: "
            f"{listed([_short(values[row]) for row in wrong])}, at {places(wrong)}.\n"
            f"Expected {kind} or nothing; correct them or leave the column out."
        )
    if kind == "integer":
        unknown = np.array([value is None for value in result], dtype=bool)
        whole = np.array([0 if value is None else value for value in result], dtype=np.int64)  # a float on the way would round
        return pd.Series(pd.arrays.IntegerArray(whole, unknown), name=column.name)
    made = pd.Series(result, dtype=object, name=column.name)
    return made if kind == "text" else made.astype(_DTYPES[kind])


def _all_numbers(values: Any, known: Any, kind: str) -> pd.Series | None:
    """Return a column that holds nothing but numbers of its kind, the usual case, at once; else None."""
    usual = {"float": ("floating", "integer", "mixed-integer-float"), "integer": ("integer",)}.get(kind, ())
    if pd.api.types.infer_dtype(values, skipna=True) not in usual:
        return None
    try:
        if kind == "float":
            floats = np.full(len(values), math.nan)
            floats[known] = values[known]
            return pd.Series(floats)
        whole = np.zeros(len(values), dtype=np.int64)
        whole[known] = values[known]
        return pd.Series(pd.arrays.IntegerArray(whole, ~known))
    except (OverflowError, TypeError, ValueError):
        return None


def is_clean(values: Any, known: Any) -> bool:
    """Return whether all values are text that a file can hold: the usual case, told at once."""
    if pd.api.types.infer_dtype(values, skipna=True) != "string":
        return False
    try:
        "".join(values[known]).encode()
    except UnicodeEncodeError:
        return False
    return True


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dt.datetime | dt.date):
        return value.isoformat()
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, int | float | np.number):
        return shown(value)
    raise TypeError


def clean_text(value: str) -> str:
    """Replace halves of surrogate pairs, which no file can hold."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        return number_in(value) if value.strip() else None
    if isinstance(value, bool | np.bool_ | int | float | np.number):
        return float(value)
    raise TypeError


def _whole(value: Any) -> int | None:
    if isinstance(value, int | np.integer | np.bool_):
        number = int(value)
    else:
        exact = _decimal(value) if isinstance(value, str) else _number(value)
        if exact is None:
            return None
        number = int(exact)
        if number != exact:
            raise ValueError
    if abs(number) >= 2**63:
        raise OverflowError
    return number


def _decimal(text: str) -> Decimal | None:
    if not text.strip():
        return None
    number_in(text)
    exact = Decimal(text.strip())
    if exact.adjusted() > 20:
        raise OverflowError
    return exact


def _truth(value: Any) -> bool | None:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, str) and not value.strip():
        return None
    text = value.strip().lower() if isinstance(value, str) else str(value)
    if text not in _TRUTHS:
        raise ValueError
    return _TRUTHS[text]


def _short(value: Any) -> Any:
    text = repr(value)
    return value if len(text) <= 60 else text[:57] + "..."


def tidy(column: pd.Series) -> pd.Series:
    """Give a further column one kind of values that CSV and Parquet can both hold: numbers, truths or text."""
    values = [None if _is_missing(value) else value for value in column.astype(object)]
    kinds = {_kind_of(value) for value in values if value is not None}
    if kinds == {"boolean"}:
        return typed(pd.Series(values, dtype=object, name=column.name), "boolean")
    if kinds == {"integer"} and all(abs(int(value)) < 2**63 for value in values if value is not None):
        return typed(pd.Series(values, dtype=object, name=column.name), "integer")
    wide = any(_kind_of(value) == "integer" and abs(int(value)) > _EXACT for value in values if value is not None)
    if kinds and kinds <= {"integer", "float"} and not wide:
        return pd.Series([math.nan if value is None else float(value) for value in values], dtype="float64", name=column.name)
    return pd.Series([None if value is None else as_text(value) for value in values], dtype=object, name=column.name)


def _kind_of(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "boolean"
    if isinstance(value, int | np.integer):
        return "integer"
    return "float" if isinstance(value, float | np.floating) else "text"


def _is_missing(value: Any) -> bool:
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float | np.floating) and math.isnan(value))


def as_text(value: Any) -> str:
    """Write any value as text; lists and mappings as JSON."""
    if isinstance(value, list | tuple | dict):
        return clean_text(json.dumps(value, ensure_ascii=False, default=str))
    try:
        return str(_text(value))
    except TypeError:
        return clean_text(str(value))


def _check_labels(columns: dict[str, pd.Series], places: Places) -> None:
    for name in ("model", "item_id"):
        empty = [value for value in columns[name].dropna().unique() if not value.strip()]
        blank = np.flatnonzero(columns[name].isna() | columns[name].isin(empty))
        if len(blank):
            raise RecordsError(
                f"{counted(len(blank), 'record')} without {'a model' if name == 'model' else 'an item'} (column {name!r}), "
                f"at {places(blank)}. Expected a label in every row."
            )


def _check_epochs(epoch: pd.Series, places: Places) -> None:
    wrong = np.flatnonzero(epoch.to_numpy(dtype=np.int64) < 1)
    if len(wrong):
        raise RecordsError(
            f"{counted(len(wrong), 'record')} with an epoch below 1: {listed(epoch.iloc[wrong].to_list())}, at {places(wrong)}.\n"
            "Expected runs numbered from 1."
        )


def _settle(columns: dict[str, pd.Series], places: Places) -> None:
    """Bring reason, validity and score of every row to terms, and refuse rows where they contradict each other."""
    reason = _stated_reasons(columns["reason"])
    score = columns["score"].to_numpy(dtype=np.float64, copy=True)
    most = columns["max_score"].to_numpy(dtype=np.float64)
    scored = ~np.isnan(score)
    refuse = _Refusal(columns, places)
    refuse(
        ~(np.isfinite(most) & (most > 0.0)), "with a max_score that is not above 0", "the highest score there is, in max_score"
    )
    unstated = np.array([value is None for value in reason], dtype=bool)
    said = columns["error"]  # where a provider may repeat the key that it refuses
    columns["error"] = pd.Series([without_secrets(text) for text in said], index=said.index, dtype=said.dtype)
    failed = _where(columns["error"], says_failed)
    invalid = columns["valid"].eq(False).fillna(False).to_numpy(dtype=bool)
    empty = _where(columns["raw_output"], lambda text: not text.strip())
    failed = failed & unstated & ~columns["valid"].eq(True).fillna(False).to_numpy(dtype=bool)
    refuse(
        failed & scored & (score != 0.0),
        "with an error, yet with a score above 0",
        "a score or an error; if the error did not matter, the reason 'answered'",
    )
    reason[failed] = Reason.API_ERROR.label  # also with score 0, which many tools write for a call that failed
    unstated &= ~failed
    reason[unstated & invalid] = np.where(empty[unstated & invalid], Reason.EMPTY.label, Reason.UNPARSED.label)
    unstated &= ~invalid
    reason[unstated & scored] = ANSWERED
    refuse(unstated & ~scored, "with neither a score nor a reason", f"a score, or a reason: {', '.join(REASON_LABELS)}")
    answered = reason == ANSWERED
    refuse(answered & ~scored, f"with the reason {ANSWERED!r}, but without a score", "a score in each of them")
    refuse(~answered & scored & (score != 0.0), "with a score above 0, yet with a reason not to be scored", "score 0 or none")
    refuse(
        answered & ~((score >= 0.0) & (score <= most)),
        "with a score outside 0 and max_score",
        "scores from 0 to max_score (1 unless given); give the highest score there is, as max_score=3",
    )
    score[np.isin(reason, INVALID)] = 0.0
    score[np.isin(reason, MISSING)] = math.nan
    columns["score"] = pd.Series(score, name="score")
    columns["reason"] = pd.Series(reason, dtype=object, name="reason")
    columns["valid"] = pd.Series(answered, dtype="boolean", name="valid")


def _where(column: pd.Series, holds: Callable[[str], bool]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return where there is text of which something holds."""
    result = np.zeros(len(column), dtype=bool)
    known = column.notna().to_numpy(dtype=bool)
    result[known] = [holds(text) for text in column[known]]
    return result


def _stated_reasons(column: pd.Series) -> np.ndarray[Any, np.dtype[np.object_]]:
    labels: dict[Any, str | None] = {None: None}
    for value in column.dropna().unique():
        try:
            reason = as_reason(value)
        except DataError as error:
            raise RecordsError(f"Column 'reason': {error}") from error
        labels[value] = reason.label if reason is not None else (ANSWERED if value.strip() else None)
    result = np.empty(len(column), dtype=object)
    result[:] = [labels[value] for value in column]
    return result


class _Refusal:
    """Raises for rows that contradict themselves."""

    def __init__(self, columns: dict[str, pd.Series], places: Places) -> None:
        self.columns = columns
        self.places = places

    def __call__(self, wrong: Any, what: str, expected: str) -> None:
        rows = np.flatnonzero(wrong)
        if not len(rows):
            return
        first = rows[0]
        raise RecordsError(
            f"{counted(len(rows), 'record')} {what}: {self.places(rows)}, first model "
            f"{shown(self.columns['model'][first])}, item {shown(self.columns['item_id'][first])}, score "
            f"{self.columns['score'][first]:g} of {self.columns['max_score'][first]:g}.\nExpected {expected}."
        )


def refuse_doubles(frame: pd.DataFrame, key: Iterable[Hashable] = KEY, mend: str = "", places: Places | None = None) -> None:
    """Refuse records that occur more than once, naming them and the logs they come from."""
    names = list(key)
    twice = frame.duplicated(names, keep=False).to_numpy()
    if not twice.any():
        return
    groups = frame[twice].groupby(names, sort=False, dropna=False)
    shown_groups = []
    for place, (label, rows) in enumerate(groups):
        if place == 5:
            break
        parts = label if isinstance(label, tuple) else (label,)
        logs = list(dict.fromkeys(str(value) for value in rows["log_uri"] if value is not None))
        told = ", ".join(f"{name} {shown(value)}" for name, value in zip(names, parts, strict=True) if value != "")
        shown_groups.append(f"({told})" + (f" in {' and '.join(logs[:3])}" if len(logs) > 1 else ""))
        if places is not None:
            shown_groups[-1] += f" at {places(rows.index)}"
    more = f" and {groups.ngroups - 5:,} more" if groups.ngroups > 5 else ""
    raise RecordsError(
        f"{counted(groups.ngroups, 'record')} found more than once: {'; '.join(shown_groups)}{more}.\n"
        f"Expected one each. {mend or 'Number the runs in the column epoch, or drop the double rows.'}"
    )
