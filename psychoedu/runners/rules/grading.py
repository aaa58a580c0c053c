"""Levels of student work: reading a classification, and its agreement with the true levels."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from psychoedu.exceptions import DataError
from psychoedu.runners.rules.agreement import kappa_of_table
from psychoedu.runners.rules.replies import valid_rate
from psychoedu.validation import check_choice, listed

LEVELS = ("BELOW_SATISFACTORY", "SATISFACTORY", "ABOVE_SATISFACTORY")
"""Levels of student work, lowest first."""

INVALID = ("drop", "wrong")
"""What becomes of replies that could not be read: left out, or counted as wrong."""

_CLASSIFICATION = re.compile(r"CLASSIFICATION[\"'*_\s]*[:=]", re.IGNORECASE)
_REASONING = re.compile(r"\n|(?<![A-Z])(?:REASONING|RATIONALE|JUSTIFICATION|EXPLANATION)(?![A-Z])")
_NAME = r"(?:(?:(?P<side>ABOVE|BELOW)(?:[\s_-]{0,3}SATISFACTORY)?)|(?:AT[\s_-]{1,3})?SATISFACTORY)(?![A-Z])"
_FIRST = re.compile(rf"[^A-Z0-9]*{_NAME}")
_ANOTHER = re.compile(
    rf"[^A-Z0-9,;/|&-]*(?:[,;/|&-]+|(?:OR|AND|TO|VS)(?![A-Z]))[^A-Z0-9]*(?:(?:OR|AND)(?![A-Z])[^A-Z0-9]*)?{_NAME}"
)
_SENTENCE_END = re.compile(r"[.;!?]")
_ABOVE_OR_BELOW = re.compile(r"(?<![A-Z])(ABOVE|BELOW)(?![A-Z])")
_BARE_LEVEL = re.compile(r"(?<![A-Z])SATISFACTORY(?![A-Z])")
_DENIED = re.compile(r"(?<![A-Z])(?:NOT|NO|NEITHER|NEVER)(?![A-Z])|N['’]T(?![A-Z])")


def parse_classification(text: str | None) -> str | None:
    r"""Read the level that a piece of student work was given.

    Parameters
    ----------
    text : str or None

    Returns
    -------
    "ABOVE_SATISFACTORY", "SATISFACTORY", "BELOW_SATISFACTORY" or None
        The level named right behind "CLASSIFICATION:", where ABOVE_SATISFACTORY and BELOW_SATISFACTORY are not read as the bare
        word that they hold. What is said later, such as a reasoning on the same line, does not count. None without the label,
        for more than one level or a denied one ("not satisfactory"), and for labels that differ.

    References
    ----------
    AlignED methods page, 2.4 Student work judgement, standards-based grading pilot.

    Examples
    --------
    >>> parse_classification("CLASSIFICATION: BELOW_SATISFACTORY\nREASONING: ...")
    'BELOW_SATISFACTORY'
    >>> parse_classification("CLASSIFICATION: SATISFACTORY REASONING: The work does not go above the standard.")
    'SATISFACTORY'
    """
    if not isinstance(text, str):
        return None
    found = {_level(part) for part in _CLASSIFICATION.split(text)[1:]}
    return found.pop() if len(found) == 1 else None


def _level(text: str) -> str | None:
    """Return the level named first in what stands behind a label."""
    plain = _REASONING.split(text.upper(), maxsplit=1)[0]
    first = _FIRST.match(plain)
    if first is not None:
        another = _ANOTHER.match(plain, first.end())
        return _named(first["side"]) if another is None or another["side"] == first["side"] else None
    sentence = _SENTENCE_END.split(plain, maxsplit=1)[0].replace("_", " ")  # "the work is below satisfactory"
    sides = set(_ABOVE_OR_BELOW.findall(sentence))
    if _DENIED.search(sentence) or len(sides) > 1 or not (sides or _BARE_LEVEL.search(sentence)):
        return None
    return _named(sides.pop() if sides else None)


def _named(side: str | None) -> str:
    return "SATISFACTORY" if side is None else f"{side}_SATISFACTORY"


@dataclass(frozen=True)
class GradingAgreement:
    """Agreement of classifications with the true levels; shares, nan where nothing is counted.

    Parameters
    ----------
    n : int
        Works counted: all, or with invalid="drop" those with a readable classification.
    accuracy, kappa : float
    by_level : dict
        Accuracy among the works of each level.
    central_tendency : int
        Works above or below the middle level that were given the middle one.
    valid_rate : float
    invalid : {"drop", "wrong"}
    """

    n: int
    accuracy: float
    kappa: float
    by_level: dict[str, float]
    central_tendency: int
    valid_rate: float
    invalid: str


def grading_agreement(
    given: Sequence[str | None], truth: Sequence[str], levels: Sequence[str] = LEVELS, invalid: str = "drop"
) -> GradingAgreement:
    """Compare classifications with the true levels: accuracy, Cohen's kappa, accuracy by level, pull to the middle.

    Parameters
    ----------
    given : sequence of levels or None
        None: not readable.
    truth : sequence of levels
    levels : sequence of str
        All levels, lowest first.
    invalid : {"drop", "wrong"}
        Unreadable classifications are left out, or are wrong: for kappa a category of their own, which no work has. Not stated in
        the source; "drop", because the published accuracies of one model are no multiples of 1/68.

    Returns
    -------
    GradingAgreement

    Raises
    ------
    DataError
        Sequences of different lengths, or other values.

    Notes
    -----
    Where all C levels are equally frequent among the works counted and every classification is readable, chance agreement is
    1 / C whatever the model says, and kappa = (accuracy - 1 / C) / (1 - 1 / C). The source prints a "central tendency bias"
    without its formula; the count here is ours.

    References
    ----------
    AlignED methods page, 2.4 Student work judgement, standards-based grading pilot.

    Examples
    --------
    >>> truth = ["ABOVE_SATISFACTORY", "SATISFACTORY", "BELOW_SATISFACTORY"]
    >>> found = grading_agreement(["SATISFACTORY", "SATISFACTORY", "BELOW_SATISFACTORY"], truth)
    >>> round(found.kappa, 12), found.central_tendency
    (0.5, 1)
    """
    check_choice(invalid, INVALID, "invalid")
    known = list(levels)
    if len(given) != len(truth):
        raise DataError(f"given and truth have {len(given)} and {len(truth)} entries; expected one number.")
    check_values(truth, known, "truth", missing=False)
    check_values(given, known, "given")
    counts = np.zeros((len(known) + 1, len(known) + 1))
    for true, own in zip(truth, given, strict=True):
        if own is not None or invalid == "wrong":
            counts[known.index(true), len(known) if own is None else known.index(own)] += 1.0
    right, of_level = np.diag(counts), counts.sum(axis=1)
    n = counts.sum()
    middle = known[1:-1]
    pulled = [own in middle and true not in middle for true, own in zip(truth, given, strict=True)]
    return GradingAgreement(
        n=int(n),
        accuracy=float(right.sum() / n) if n else math.nan,
        kappa=kappa_of_table(counts, 1.0 - np.eye(len(counts))).value,
        by_level={
            level: float(hits / size) if size else math.nan
            for level, hits, size in zip(known, right[:-1], of_level[:-1], strict=True)
        },
        central_tendency=sum(pulled),
        valid_rate=valid_rate(given),
        invalid=invalid,
    )


def check_values(values: Iterable[str | None], known: Sequence[str], name: str, missing: bool = True) -> None:
    """Check that a sequence holds known values, and None only where that is allowed."""
    strange = [value for value in dict.fromkeys(values) if value not in known and not (missing and value is None)]
    if strange:
        raise DataError(f"{name} holds {listed(strange)}; expected {listed(known)}{' or None' if missing else ''}.")
