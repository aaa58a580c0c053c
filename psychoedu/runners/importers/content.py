"""What a file holds, read within bounds and checked: JSON, lines of JSON, values of the expected type.

Files come from anywhere. Nothing in them is executed, nothing is read beyond a limit, and whatever is not as its format says
becomes one :class:`~psychoedu.exceptions.ResultsFormatError` that names file and place.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from psychoedu.exceptions import ResultsFormatError
from psychoedu.runners.records_frame import RECORD_COLUMNS, as_text, clean_text
from psychoedu.validation import listed

MAX_BYTES = 256 * 2**20
"""Most bytes that are read, or unpacked, of one file unless told otherwise."""

_BYTES_PER_PART = 64
_LEAST_PARTS = 100_000
_IN_QUOTES = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)

_BOM = b"\xef\xbb\xbf"
_REQUIRED = object()
_KINDS: dict[str, tuple[type, ...]] = {
    "an object": (dict,),
    "a list": (list,),
    "text": (str,),
    "a number": (int, float),
    "a whole number": (int,),
    "true or false": (bool,),
}


@dataclass(frozen=True)
class Options:
    """What the caller of :func:`psychoedu.read_results` asked for."""

    score: tuple[str, ...] = ()
    model: str | None = None
    condition: str | None = None
    item: str | None = None
    filter: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    metadata: tuple[str, ...] | None = None
    transposed: bool = False
    max_score: float | None = None
    full: bool = False
    max_bytes: int = MAX_BYTES


@dataclass(eq=False)
class Reading:
    """What was read of one file: a row a response, notes, and what tells the run apart from others.

    Attributes
    ----------
    frame : DataFrame
        Columns by the names of the record; columns that begin with an underscore are for joining and are dropped.
    source : str
        The file, for messages.
    notes : list of str
    unit : str
        What the labels of the table's rows count, for messages: "line" of the file, else the record's number from 1.
    identity : str or None
        Of the evaluation; two files of one identity are the same log in two formats.
    task_identity : str or None
        Stays the same when an evaluation is tried again.
    created : str
        When, in a form that sorts.
    arguments : mapping
        Of the task, named where two logs clash.
    """

    frame: pd.DataFrame
    source: str
    notes: list[str] = field(default_factory=list)
    unit: str = "record"
    identity: str | None = None
    task_identity: str | None = None
    created: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)


def frame_of(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Make a table of rows without guessing a type for any column."""
    names = dict.fromkeys(name for row in rows for name in row)
    return pd.DataFrame({name: pd.Series([row.get(name) for row in rows], dtype=object) for name in names})


def most_parts(limit: int) -> int:
    """Return how many objects and lists JSON of so many bytes may hold: each takes far more memory than its two signs."""
    return max(_LEAST_PARTS, limit // _BYTES_PER_PART)


def count_parts(content: bytes, limit: int, where: str, before: int = 0) -> int:
    """Count the objects and lists in JSON, or refuse more of them than a file within the limit can need."""
    most = most_parts(limit) - before
    parts = content.count(b"{") + content.count(b"[")
    if parts > most:  # braces may stand in texts
        bare = _IN_QUOTES.sub(b"", content)
        parts = bare.count(b"{") + bare.count(b"[")
    if parts > most:
        raise ResultsFormatError(
            f"{where}: holds more than {most_parts(limit):,} objects and lists, too many for the memory.\n"
            "If the file is trusted and there is memory for it, raise the limit: max_bytes=..."
        )
    return parts


def too_large(what: str, limit: int) -> ResultsFormatError:
    """Return the error for something that goes beyond the limit."""
    return ResultsFormatError(
        f"{what} is larger than {limit / 2**20:,.1f} MiB, the most that is read of one file.\n"
        "If the file is trusted and there is memory for it, raise the limit: max_bytes=..."
    )


def check_size(path: Path, limit: int) -> None:
    """Refuse a file beyond the limit before it is read."""
    if path.stat().st_size > limit:
        raise too_large(str(path), limit)


def read_bytes(path: Path, limit: int) -> bytes:
    """Read a file whole, or refuse one beyond the limit."""
    with path.open("rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise too_large(str(path), limit)
    return content


def read_json(path: Path, limit: int) -> Any:
    """Read a file that holds one JSON value."""
    content = read_bytes(path, limit)
    count_parts(content, limit, str(path))
    return parse_json(content, str(path))


def parse_json(content: bytes, where: str, first_line: int | None = None) -> Any:
    """Read JSON strictly: UTF-8, no key twice; NaN and Infinity come back as floats, for the reader to judge.

    Parameters
    ----------
    content : bytes
    where : str
        File and entry, for messages.
    first_line : int, optional
        Number of the line, where ``content`` is one line of a file.
    """
    try:
        text = content.removeprefix(_BOM).decode("utf-8")
    except UnicodeDecodeError as error:
        line = first_line or content[: error.start].count(b"\n") + 1
        raise ResultsFormatError(f"{where} line {line}: not UTF-8 ({error.reason}). Expected JSON in UTF-8.") from error
    try:
        return json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        line = first_line or error.lineno
        cut = "; the file seems to be cut off" if error.pos >= len(text.rstrip()) - 1 else ""
        raise ResultsFormatError(f"{where} line {line}: not JSON ({error.msg}, column {error.colno}){cut}.") from error
    except _KeyTwiceError as error:
        at = f" line {first_line}" if first_line else ""
        raise ResultsFormatError(
            f"{where}{at}: the key {error.args[0]!r} stands twice in one object. Expected each once."
        ) from error
    except RecursionError as error:
        at = f" line {first_line}" if first_line else ""
        raise ResultsFormatError(f"{where}{at}: JSON nested too deeply to be a file of results.") from error
    except ValueError as error:  # a whole number with thousands of digits
        at = f" line {first_line}" if first_line else ""
        raise ResultsFormatError(f"{where}{at}: not JSON ({error}).") from error


class _KeyTwiceError(Exception):
    pass


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise _KeyTwiceError(name)
            seen.add(name)
    return made


def json_lines(path: Path, limit: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read a file with a JSON object a line; blank lines are skipped.

    Yields
    ------
    (int, dict)
        The line's number, from 1, and its object.
    """
    with path.open("rb") as file:
        number = total = parts = 0
        while line := file.readline(limit + 1):
            number += 1
            total += len(line)
            if total > limit:
                raise too_large(str(path), limit)
            if number == 1:
                line = line.removeprefix(_BOM)
            if line.strip():
                parts += count_parts(line, limit, str(path), parts)
                where = f"{path} line {number}"
                yield number, take_as(parse_json(line, str(path), number), "an object", where)


def take_as(value: Any, kind: str, where: str) -> Any:
    """Check that a value is of a kind: "an object", "a list", "text", "a number", "a whole number", "true or false"."""
    fits = isinstance(value, _KINDS[kind]) and (kind == "true or false" or not isinstance(value, bool))
    if not fits:
        raise ResultsFormatError(f"{where} is {told(value)}; expected {kind}.")
    return value


def take(mapping: Mapping[str, Any], name: str, kind: str, where: str, default: Any = _REQUIRED) -> Any:
    """Take a field of a kind; without ``default`` it has to be there, with one an absent or null field gives it."""
    value = mapping.get(name)
    if value is None:
        if default is _REQUIRED:
            state = "is null" if name in mapping else f"is absent; there are {listed(list(mapping))}"
            raise ResultsFormatError(f"{where}: the field {name!r} {state}. Expected {kind}.")
        return default
    return take_as(value, kind, f"{where}: the field {name!r}")


def number_of(value: Any) -> float | None:
    """Return a finite number or truth as a float, None for anything else, such as a whole number too large for it."""
    if not isinstance(value, bool | int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def label_of(value: Any, where: str, what: str) -> str:
    """Return text or a whole number as a label that files can hold.

    Raises
    ------
    ResultsFormatError
        It is something else, or holds half of a surrogate pair.
    """
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise ResultsFormatError(f"{where}: {what} is {told(value)}; expected text or a whole number.")
    label = str(value)
    if clean_text(label) != label:
        raise ResultsFormatError(f"{where}: {what} is {told(value)}, with half of a surrogate pair. Expected text in UTF-8.")
    return label


def told(value: Any) -> str:
    """Say what a value is, shortly."""
    if value is None:
        return "null"
    text = repr(value)
    kinds = {"dict": "an object", "list": "a list", "str": "text", "bool": "a truth value"}
    kind = kinds.get(type(value).__name__, "a number")
    return f"{kind} ({text if len(text) <= 60 else text[:57] + '...'})"


def metadata_of(mapping: Mapping[str, Any], names: tuple[str, ...] | None = None, taken: Iterable[str] = ()) -> dict[str, Any]:
    """Return the entries of metadata as values of columns; only some where names are given.

    Lists and objects become JSON text. A name that a record has itself, or that begins with an underscore, gets "meta_" before
    it, unless its value is in ``taken`` already.
    """
    found: dict[str, Any] = {}
    for name, value in mapping.items():
        if value is None or (names is not None and name not in names) or name in taken:
            continue
        own = clean_text(name)
        label = f"meta_{own}" if own in RECORD_COLUMNS or own == "target" else f"meta{own}" if own.startswith("_") else own
        exact = isinstance(value, str | bool | float) or (isinstance(value, int) and abs(value) < 2**63)
        found[label or "meta_"] = value if exact else as_text(value)
    return found
