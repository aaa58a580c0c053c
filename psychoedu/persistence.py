"""Saved objects: strict JSON with a ``kind`` field, never executed, exact to the last bit.

A class that can be saved derives from :class:`Saved`, names its ``kind`` and gives ``to_dict`` and ``from_dict``.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from psychoedu._typing import AnyArray, FloatArray
from psychoedu.exceptions import FileFormatError

FORMAT_VERSION = 1
_KINDS: dict[str, type[Saved]] = {}
_INFINITE = {"Infinity": math.inf, "-Infinity": -math.inf}


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
        """
        target = Path(path)
        document = {"kind": self.kind, "format": FORMAT_VERSION, **self.to_dict()}
        target.write_text(json.dumps(document, allow_nan=False, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
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
        The file is not JSON, or not a psychoedu object, or was written by a newer format.
    """
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        message = f"{path} is not a JSON file ({error}). Expected a file written by .save() of a psychoedu object."
        raise FileFormatError(message) from error
    kind = document.get("kind") if isinstance(document, dict) else None
    if kind not in _KINDS:
        known = ", ".join(sorted(_KINDS))
        raise FileFormatError(f"{path} has kind {kind!r}; expected one of: {known}. Only files written by .save() can be loaded.")
    if document.get("format", 0) > FORMAT_VERSION:
        raise FileFormatError(
            f"{path} has format {document['format']}; this version reads up to {FORMAT_VERSION}. Upgrade psychoedu."
        )
    content = {key: value for key, value in document.items() if key not in ("kind", "format")}
    try:
        return _KINDS[kind].from_dict(content)
    except (KeyError, TypeError, IndexError) as error:
        raise FileFormatError(f"{path} says it is a {kind}, but {error!r} is missing or of the wrong type.") from error


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
