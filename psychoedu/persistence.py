"""Saved objects: strict JSON with a ``kind`` field, never executed, exact to the last bit.

A class that can be saved derives from :class:`Saved`, names its ``kind`` and gives ``to_dict`` and ``from_dict``. What a file
holds is taken field by field through :class:`Fields`, which refuses what ``to_dict`` cannot have written.
"""

from __future__ import annotations

import json
import math
import reprlib
import sys
from collections import Counter
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
import pandas as pd

from psychoedu._typing import AnyArray, BoolArray, FloatArray, IntArray
from psychoedu.exceptions import DataError, FileFormatError
from psychoedu.validation import check_labels, check_path, listed

FORMAT_VERSION = 1
_KINDS: dict[str, type[Saved]] = {}
_INFINITE = {"Infinity": math.inf, "-Infinity": -math.inf}
_ABSENT = object()
_LARGEST_INTEGER = 2**53
"""Counts and positions are far below this, up to which floats hold every whole number."""


class Saved:
    """A result that can be written to JSON and read back."""

    kind: ClassVar[str] = ""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.kind:
            _KINDS[cls.kind] = cls

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, strings and numbers that ``from_dict`` turns back into an equal object."""
        raise NotImplementedError

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Build the object from what ``to_dict`` gave."""
        raise NotImplementedError

    def save(self, path: str | Path) -> Path:
        """Write the object as JSON and return the path.

        Parameters
        ----------
        path : str or Path
            The file to write; an existing file is replaced.

        Returns
        -------
        Path

        Raises
        ------
        FileFormatError
            The path is a folder, or none at all.
        DataError
            A label is neither text nor a number.
        """
        target = check_path(path, "write")
        document = {"kind": self.kind, "format": FORMAT_VERSION, **self.to_dict()}
        text = json.dumps(document, allow_nan=False, indent=1, ensure_ascii=False, default=_plain) + "\n"
        try:
            content = text.encode()
        except UnicodeEncodeError as error:
            part = text[error.start : error.end]
            raise DataError(f"The {self.kind} cannot be saved: it holds {part!r}, which is no text. Rename the label.") from error
        target.write_bytes(content)
        return target


def load(path: str | Path) -> Any:
    """Read back any object that ``save`` wrote; its ``kind`` field tells which.

    Parameters
    ----------
    path : str or Path
        A JSON file written by psychoedu.

    Returns
    -------
    Calibration, ItemBank or another saved object

    Raises
    ------
    FileFormatError
        The file is not JSON, or not a psychoedu object, or was written by a newer format, or a field is not as it was written.
    """
    source = check_path(path, "read")
    try:
        document = json.loads(source.read_text(encoding="utf-8-sig"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        message = f"{path} is not a JSON file ({error}). Expected a file written by .save() of a psychoedu object."
        raise FileFormatError(message) from error
    kind = document.get("kind") if isinstance(document, dict) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        known = ", ".join(sorted(_KINDS))
        raise FileFormatError(
            f"{path} has kind {_described(kind)}; expected one of: {known}. Only files written by .save() can be loaded."
        )
    version = document.get("format")
    if not isinstance(version, int) or isinstance(version, bool) or not 1 <= version <= FORMAT_VERSION:
        newer = isinstance(version, int) and version > FORMAT_VERSION
        mend = "Upgrade psychoedu." if newer else "Only files written by .save() can be loaded."
        raise FileFormatError(
            f"{path} has format {_described(version)}; expected a whole number, at most {FORMAT_VERSION} for this version. {mend}"
        )
    content = {key: value for key, value in document.items() if key not in ("kind", "format")}
    try:
        return _KINDS[kind].from_dict(content)
    except DataError as error:
        raise FileFormatError(f"{path} says it is a {kind}, but {error}") from error
    except (KeyError, TypeError, IndexError, ValueError, AttributeError, ArithmeticError) as error:
        raise FileFormatError(f"{path} says it is a {kind}, but {error!r} is missing or of the wrong type.") from error


class Fields:
    """The fields of a saved object, each checked as it is taken.

    Parameters
    ----------
    content : dict
        What the file holds.
    within : str
        Name of the field that holds these, for the messages.

    Raises
    ------
    FileFormatError
        By every method: the field is absent, of the wrong type or shape, or outside its range.

    Examples
    --------
    >>> fields = Fields({"model": "2pl", "slopes": [1.5, None]})
    >>> fields.text("model", ("1pl", "2pl"))
    '2pl'
    >>> fields.numbers("slopes", 2, missing=True)
    array([1.5, nan])
    """

    def __init__(self, content: Any, within: str = "") -> None:
        self.content: dict[str, Any] = content
        self._within = within

    def refuse(self, name: str, expected: str, found: Any = _ABSENT) -> NoReturn:
        """Raise for a field, with what it holds (or ``found``) and what was expected."""
        where = f"{self._within}.{name}" if self._within else name
        if found is _ABSENT:
            if name not in self.content:
                raise FileFormatError(f"{where!r} is missing or of the wrong type; expected {expected}.")
            found = _described(self.content[name])
        raise FileFormatError(f"its field {where!r} holds {found}; expected {expected}.")

    def _take(self, name: str, expected: str) -> Any:
        return self.content[name] if name in self.content else self.refuse(name, expected)

    def is_none(self, name: str) -> bool:
        """Tell whether a field stands there and is null."""
        return self.content.get(name, _ABSENT) is None

    def part(self, name: str) -> Fields:
        """Return the fields within a field."""
        value = self._take(name, "named values")
        return Fields(value, name) if isinstance(value, dict) else self.refuse(name, "named values")

    def text(self, name: str, choices: Sequence[str] = ()) -> str:
        """Return a text, one of the choices if there are any."""
        expected = f"one of {', '.join(map(repr, choices))}" if choices else "text"
        value = self._take(name, expected)
        return value if isinstance(value, str) and (not choices or value in choices) else self.refuse(name, expected)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts."""
        value = self._take(name, "a list of texts")
        if isinstance(value, list) and all(isinstance(text, str) for text in value):
            return tuple(value)
        return self.refuse(name, "a list of texts")

    def flag(self, name: str) -> bool:
        """Return true or false."""
        value = self._take(name, "true or false")
        return value if isinstance(value, bool) else self.refuse(name, "true or false")

    def flags(self, name: str, size: int) -> BoolArray:
        """Return an array of true and false."""
        expected = f"{size} times true or false"
        values = self._list(name, size, expected)
        for position, value in enumerate(values, 1):
            if not isinstance(value, bool):
                self.refuse(name, expected, f"{_described(value)} at position {position}")
        return np.array(values, dtype=np.bool_)

    def integer(self, name: str, low: int = 0) -> int:
        """Return a whole number."""
        expected = f"a whole number from {low} on"
        value = self._take(name, expected)
        return int(value) if _is_integer(value, low, _LARGEST_INTEGER) else self.refuse(name, expected)

    def integers(self, name: str, size: int, low: int, high: int = _LARGEST_INTEGER) -> IntArray:
        """Return an array of whole numbers from ``low`` to ``high``."""
        expected = f"{size} whole numbers from {low} {'on' if high == _LARGEST_INTEGER else f'to {high}'}"
        values = self._list(name, size, expected)
        for position, value in enumerate(values, 1):
            if not _is_integer(value, low, high):
                self.refuse(name, expected, f"{_described(value)} at position {position}")
        return np.array(values, dtype=np.int64)

    def number(
        self,
        name: str,
        *,
        low: float = -math.inf,
        above: float = -math.inf,
        high: float = math.inf,
        missing: bool = False,
        infinite: bool = False,
    ) -> float:
        """Return a number from ``low`` to ``high`` and above ``above``; nan for null where it may be missing."""
        expected = "a " + _number_words(low, above, missing, infinite)
        number = _number(self._take(name, expected), low, above, missing, infinite)
        if number is None or number > high:
            self.refuse(name, expected if high == math.inf else f"{expected} and at most {high:g}")
        return number

    def numbers(
        self,
        name: str,
        *shape: int,
        low: float = -math.inf,
        above: float = -math.inf,
        missing: bool = False,
        infinite: bool = False,
    ) -> FloatArray:
        """Return an array of numbers as :meth:`number` describes them; a size of -1 is any but 0."""
        size = " x ".join(map(str, shape)) if shape != (-1,) else "some"
        expected = f"{size} {_number_words(low, above, missing, infinite)}".replace("number", "numbers")

        def read(values: Any, sizes: tuple[int, ...], place: str) -> Any:
            if not sizes:
                number = _number(values, low, above, missing, infinite)
                return self.refuse(name, expected, f"{_described(values)} at position{place}") if number is None else number
            if not isinstance(values, list) or (len(values) != sizes[0] if sizes[0] >= 0 else not values):
                self.refuse(name, expected, _described(values) + (f" at position{place}" if place else ""))
            return [read(value, sizes[1:], f"{place}{',' if place else ''} {at}") for at, value in enumerate(values, 1)]

        found = read(self._take(name, expected), shape, "")
        return np.array(found, dtype=np.float64).reshape(len(found), *shape[1:])

    def labels(self, name: str) -> list[str | int | float | bool]:
        """Return labels, each text, a number, true or false, none twice."""
        expected = "different labels, each text or a number"
        values = self._list(name, None, expected)
        for position, value in enumerate(values, 1):
            if not _is_label(value):
                self.refuse(name, expected, f"{_described(value)} at position {position}")
        if len(set(values)) < len(values):
            self.refuse(name, expected, f"{_described(Counter(values).most_common(1)[0][0])} more than once")
        return values

    def repeated_labels(self, name: str) -> list[str | int | float | bool]:
        """Return labels, each text, a number, true or false; one may stand more than once."""
        expected = "labels, each text or a number"
        values = self._take(name, expected)
        if not isinstance(values, list):
            return self.refuse(name, expected)
        for position, value in enumerate(values, 1):
            if not _is_label(value):
                self.refuse(name, expected, f"{_described(value)} at position {position}")
        return values

    def index(self, name: str, axis: str) -> pd.Index:
        """Return labels of items or respondents."""
        labels = self.labels(name)
        try:
            return check_labels(pd.Index(labels, tupleize_cols=False), axis)
        except DataError as error:
            raise FileFormatError(f"its field {name!r} is not as expected: {error}") from error

    def label(self, name: str, among: Sequence[Hashable]) -> Hashable:
        """Return one of the labels known."""
        value = self._take(name, "a label")
        for label in among:
            if type(label) is type(value) and label == value:
                return label
        return self.refuse(name, f"one of {listed(among)}")

    def _list(self, name: str, size: int | None, expected: str) -> list[Any]:
        value = self._take(name, expected)
        if not isinstance(value, list) or (len(value) != size if size is not None else not value):
            self.refuse(name, expected)
        return value


def plain_label(label: Hashable) -> str | int | float | bool:
    """Turn a label into what JSON holds, or say that it cannot be saved.

    Examples
    --------
    >>> plain_label(np.int64(3))
    3
    """
    value = label.item() if isinstance(label, np.generic) else label
    if isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise DataError(f"The label {label!r} cannot be saved: expected text or a finite number. Rename it before calibrating.")


def encode_numbers(values: AnyArray) -> list[Any]:
    """Turn an array into nested lists in which nan is None and infinities are strings, as strict JSON needs."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim > 1:
        return [encode_numbers(row) for row in array]
    return [encode_number(value) for value in array.tolist()]


def encode_number(value: float | None) -> float | str | None:
    """Encode one number: nan and None become None, infinities strings."""
    if value is None or math.isnan(value):
        return None
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return float(value)


def decode_numbers(values: list[Any]) -> FloatArray:
    """Undo :func:`encode_numbers`."""
    if values and isinstance(values[0], list):
        return np.array([decode_numbers(row) for row in values], dtype=np.float64)
    return np.array([decode_number(value) for value in values], dtype=np.float64)


def decode_number(value: float | str | None) -> float:
    """Undo :func:`encode_number`, None becoming nan."""
    if value is None:
        return math.nan
    return _INFINITE[value] if isinstance(value, str) else float(value)


def _plain(value: object) -> Any:
    """Turn what JSON does not know into what it does: NumPy scalars."""
    if isinstance(value, np.generic):
        return value.item()
    raise DataError(f"{value!r} cannot be saved: expected text, a number, or lists of them.")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"it holds {name}, which JSON has not")


def _described(value: object) -> str:
    """Write a value of a file shortly."""
    return f"a list of {len(value)}" if isinstance(value, list) and len(value) > 3 else reprlib.repr(value)


def _is_label(value: object) -> bool:
    if isinstance(value, str):
        return not any("\ud800" <= character <= "\udfff" for character in value)  # halves of a pair are no text
    return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))


def _is_integer(value: object, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _number(value: object, low: float, above: float, missing: bool, infinite: bool) -> float | None:
    """Read one number, nan for null; None where it is not as expected."""
    if value is None:
        return math.nan if missing else None
    number = math.nan
    if isinstance(value, str):
        number = _INFINITE.get(value, math.nan) if infinite else math.nan
    elif isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max:
        number = float(value)
    return number if number >= low and (number > above or above == -math.inf) else None


def _number_words(low: float, above: float, missing: bool, infinite: bool) -> str:
    words = "number" if infinite else "finite number"
    words += f" of at least {low:g}" if low > -math.inf else f" above {above:g}" if above > -math.inf else ""
    return words + (" (null where it is not known)" if missing else "")
