"""Scores of Inspect: which of a log's scores is read, and what its values mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from psychoedu.exceptions import ResultsFormatError
from psychoedu.response_codes import Reason
from psychoedu.runners.importers.content import number_of, take, take_as, told
from psychoedu.runners.records_frame import number_in
from psychoedu.validation import counted, listed

_LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_WORDS = {"yes": 1.0, "true": 1.0, "correct": 1.0, "no": 0.0, "false": 0.0, "incorrect": 0.0}
_REASONS = {
    "invalid_response_format": Reason.UNPARSED.label,
    "refusal": Reason.REFUSED.label,
    "no_response": Reason.EMPTY.label,
    "grader_failed": Reason.API_ERROR.label,
    "scoring_failed": Reason.API_ERROR.label,
}
"""What Inspect's names for abnormal scores are here; a judge that failed leaves no score, as a call that failed."""


@dataclass(frozen=True)
class Chosen:
    """The score to read: a scorer, and a key where its value is a mapping."""

    scorer: str
    key: str | None = None


def chosen_score(samples: Sequence[dict[str, Any]], wanted: tuple[str, ...], where: str) -> Chosen:
    """Return the score that was asked for, or the only one there is.

    Raises
    ------
    ResultsFormatError
        No score, several of them, or none of that name.
    """
    known: dict[str, Chosen] = {}
    for sample in samples:
        for scorer, score in take(sample, "scores", "an object", where, {}).items():
            value = take_as(score, "an object", f"{where}: the score {scorer!r}").get("value")
            if isinstance(value, dict):
                known.update({f"{scorer}/{key}": Chosen(scorer, str(key)) for key in value})
            else:
                known.setdefault(scorer, Chosen(scorer))
    if not known:
        errors = sum(bool(sample.get("error")) for sample in samples)
        if errors:
            return Chosen(wanted[0] if wanted else "")
        raise ResultsFormatError(
            f"{where} holds {counted(len(samples), 'sample')} and no scores. Score the log first: inspect score LOG."
        )
    for name in wanted:
        if name in known:
            return known[name]
    if wanted:
        raise ResultsFormatError(f"{where} has no score {listed(wanted)}; it has {listed(list(known))}. Choose with score=.")
    if len(known) > 1:
        raise ResultsFormatError(
            f"{where} has {len(known)} scores: {listed(list(known))}.\n"
            f"Expected one; choose with score=, as in score={next(iter(known))!r}."
        )
    return next(iter(known.values()))


def value_of(score: dict[str, Any], chosen: Chosen, where: str) -> float | None:
    """Return a score as a number, None where the scorer left it unscored (NaN)."""
    value = score.get("value")
    if chosen.key is not None:
        value = take_as(value, "an object", f"{where}: the value of the score {chosen.scorer!r}").get(chosen.key)
    if value is None:
        return None
    if isinstance(value, bool | int | float):
        number = math.nan if value != value else _finite_or_inf(value)
    elif isinstance(value, str):
        number = _LETTERS.get(value.strip().upper(), _WORDS.get(value.strip().lower(), math.inf))
        if math.isinf(number):
            number = _read(value)
    else:
        number = math.inf
    if math.isinf(number):
        raise ResultsFormatError(
            f"{where}: the value of the score {chosen.scorer!r} is {told(value)}.\nExpected C, I, P, N, true, false or a number."
        )
    return None if math.isnan(number) else number


def _finite_or_inf(value: float) -> float:
    number = number_of(value)
    return math.inf if number is None else number


def _read(text: str) -> float:
    try:
        return math.nan if text.strip().lower() == "nan" else number_in(text)
    except ValueError:
        return math.inf


def stated_reason(score: dict[str, Any]) -> str | None:
    """Return the reason that the scorer gave for a missing or failed answer, in our words."""
    reason = score.get("reason")
    metadata = score.get("metadata")
    if reason is None and isinstance(metadata, dict):
        reason = metadata.get("unscored_reason")
    return _REASONS.get(reason) if isinstance(reason, str) else None
