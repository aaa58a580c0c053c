"""What a failed call said, in one line, whoever was asked."""

from __future__ import annotations

from typing import Any


def told(error: BaseException) -> str:
    r"""Return the class and message of an error, of its cause where a retrying library has wrapped it.

    Parameters
    ----------
    error : BaseException

    Examples
    --------
    >>> told(ValueError("no\n such  thing"))
    'ValueError: no such thing'
    """
    last: Any = getattr(error, "last_attempt", None)  # of tenacity, with which Inspect tries again
    cause = last.exception() if last is not None and hasattr(last, "exception") else None
    found = cause if cause is not None else error
    return " ".join(f"{type(found).__name__}: {found}".split())
