"""Judgements: scores of a judge from 0 to 3, and the better of two samples; levels of student work are those of ``grading``."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from psychoedu.exceptions import DataError
from psychoedu.runners.rules.grading import (
    INVALID,
    LEVELS,
    GradingAgreement,
    check_values,
    grading_agreement,
    parse_classification,
)
from psychoedu.runners.rules.replies import is_included, valid_rate
from psychoedu.validation import check_choice, check_integer, listed

__all__ = [
    "LEVELS",
    "SAMPLES",
    "ComparativeJudgement",
    "GradingAgreement",
    "RubricScore",
    "comparative_judgement",
    "grading_agreement",
    "is_included",
    "parse_better_sample",
    "parse_classification",
    "parse_judge_score",
    "rubric_score",
    "sample_of",
    "swap_consistency",
    "valid_rate",
]

SAMPLES = ("A", "B")

_NUMBER = r"(-?\d+(?:\.\d+)?)"
_OF = r"(?:\s*(?:/|out\s+of)\s*(\d+))?"
_LABEL = r"(?<![A-Za-z])(?:score|rating|grade)[\"'*_\s]{0,9}"
_GIVEN = rf"[\"'*_\s]{{0,9}}{_NUMBER}"
_ONE = rf"{_OF}(?!\s*(?:[-–—]|to|or)\s*\d)(?!\d)"
_LABELLED = re.compile(rf"{_LABEL}(?:is|of|[:=])?{_GIVEN}{_ONE}", re.IGNORECASE)
_MENTIONED = re.compile(rf"{_LABEL}(?:is|of|[:=]){_GIVEN}", re.IGNORECASE)
_MARKED = re.compile(rf"{_LABEL}[:=]{_GIVEN}", re.IGNORECASE)
_MARKED_ONE = re.compile(rf"{_LABEL}[:=]{_GIVEN}{_ONE}", re.IGNORECASE)
_BARE = re.compile(rf"{_NUMBER}{_OF}")
_BETTER = re.compile(
    r"BETTER[\s_]{0,9}SAMPLE[\"'*_\s]{0,9}(?:is|[:=])?[\"'*_\s(\[]{0,9}(?:sample\s{1,9})?([AB])(?![A-Za-z])"
    r"(?!\W{0,3}(?:or|and|vs|[/,;|&+=])\W{0,3}(?:(?:or|and)\s)?\W{0,3}(?:sample\s{1,9})?[AB](?![A-Za-z'’])(?!\s{1,9}(?:is|was|has|had|does|lacks|shows|uses|needs)\b))"
    r"(?!\W{0,3}(?:or|and|[/=])\W{0,3}(?:sample\s{1,9})?[AB](?![A-Za-z]))"
    r"(?![ \t]{1,9}[AB](?:\W|\Z))",
    re.IGNORECASE,
)
_OBJECT = re.compile(r"\{\s{0,99}[\"}]")
_MOST_BROKEN = 1000
_ARTICLE = re.compile(r"[ \t]+[a-z]")


def parse_judge_score(text: str | None, maximum: int = 3) -> int | None:
    """Read the score that a judge gave.

    Parameters
    ----------
    text : str or None
        JSON with a field "score", alone or within other text; or "Score: 2", "score of 2 out of 3"; or nothing but the number.
        Beside "Score: 2" a mention such as "a score of 3 would need more" does not count.
    maximum : int
        Scores are whole numbers from 0 to this one.

    Returns
    -------
    int or None
        None where there is no score, more than one, a fraction, or one out of range: then the fallback judge is asked.

    References
    ----------
    AlignED methods page, 2.2 Diagnostic reasoning: scores of 0 to 3, 4 of 360 by the fallback judge since the judge's reply was
    unparseable. How replies were parsed is not published.

    Examples
    --------
    >>> [parse_judge_score(text) for text in ('{"score": 2, "reasoning": "..."}', "Score: 3/3", "1", "Score: 1 or 2")]
    [2, 3, 1, None]
    """
    top = check_integer(maximum, "maximum", minimum=1)
    if not isinstance(text, str):
        return None
    given = _json_scores(text)
    if given:
        found = [_whole(value, top) for value in given]
    else:
        n_marked = len(_MARKED.findall(text))
        labelled = list((_MARKED_ONE if n_marked else _LABELLED).finditer(text))
        if len(labelled) < (n_marked or len(_MENTIONED.findall(text))):  # "Score: 1-2", "Score: 1 or 2"
            return None
        if not labelled:
            bare = _BARE.fullmatch(text.strip(" \t\r\n*_`\"'.()[]"))
            labelled = [] if bare is None else [bare]
        found = [_whole(match[1], top) if match[2] in (None, str(top)) else None for match in labelled]
    return found[0] if found and len(set(found)) == 1 else None


def _json_scores(text: str) -> list[Any]:
    """Return the values of the fields "score" in all JSON objects of a text."""
    decoder, found, end, n_broken = json.JSONDecoder(object_pairs_hook=list), [], 0, 0
    while n_broken < _MOST_BROKEN and (start := _OBJECT.search(text, end)) is not None:
        try:
            value, end = decoder.raw_decode(text, start.start())
        except RecursionError:  # nested deeper than any reply that means it
            return []
        except ValueError:
            end = start.start() + 1
            n_broken += 1
        else:
            found += [field for name, field in value if name.strip().lower() == "score"]
    return found


def _whole(value: Any, maximum: int) -> int | None:
    """Return a whole number from 0 to the maximum, also written as text or as "2/3"; else None."""
    if isinstance(value, str):
        match = _BARE.fullmatch(value.strip())
        if match is None or match[2] not in (None, str(maximum)):
            return None
        value = float(match[1])
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value <= maximum and value == int(value) else None


@dataclass(frozen=True)
class RubricScore:
    """A sum of rubric scores: raw, the highest possible, and the percentage; raw and percent nan where a score is unknown."""

    raw: float
    maximum: int
    percent: float
    n_unknown: int


def rubric_score(scores: Sequence[int | float | None], maximum: int = 3) -> RubricScore:
    """Add the scores of a model over scenarios.

    Parameters
    ----------
    scores : sequence of int or None
        None or nan where neither judge gave a score: then the sum is unknown.
    maximum : int
        Of one scenario.

    Returns
    -------
    RubricScore
        AlignED reports the percentage of 36, 12 scenarios of 3 points.

    References
    ----------
    AlignED methods page, 2.2 Diagnostic reasoning.

    Examples
    --------
    >>> rubric_score([3] * 11 + [2]).percent.__round__(1)
    97.2
    """
    values = np.array([math.nan if score is None else float(score) for score in scores], dtype=np.float64)
    highest = check_integer(maximum, "maximum", minimum=1) * len(values)
    if (values < 0.0).any() or (values > maximum).any():
        raise DataError(f"Scores outside 0 to {maximum}: {listed(values[(values < 0.0) | (values > maximum)])}.")
    raw = float(values.sum()) if len(values) else math.nan
    return RubricScore(raw, highest, 100.0 * raw / highest if highest else math.nan, int(np.isnan(values).sum()))


def parse_better_sample(text: str | None, bare: bool = False) -> str | None:
    """Read which sample was judged better.

    Parameters
    ----------
    text : str or None
    bare : bool
        Whether a reply that is nothing but the letter counts too. The source does not publish its parser; off, since its prompt
        asks for "BETTER_SAMPLE: A" and three models were excluded for replies of another form.

    Returns
    -------
    "A", "B" or None
        None where the reply names neither or both.

    References
    ----------
    AlignED methods page, 2.4 Student work judgement.

    Examples
    --------
    >>> parse_better_sample("BETTER_SAMPLE: B"), parse_better_sample("BETTER_SAMPLE: A or BETTER_SAMPLE: B")
    ('B', None)
    """
    if not isinstance(text, str):
        return None
    found = {
        match[1].upper() for match in _BETTER.finditer(text) if match[1] != "a" or _ARTICLE.match(text, match.end(1)) is None
    }  # "a tie" names no sample
    if bare and not found:
        found = {text.strip(" \t\r\n*_`\"'.()[]").upper()} & set(SAMPLES)
    return found.pop() if len(found) == 1 else None


def sample_of(letter: str | None, order: str) -> str | None:
    """Return the sample that a letter means, in the order in which the samples were shown.

    Parameters
    ----------
    letter : "A", "B" or None
        The place in the prompt that was chosen.
    order : {"forward", "reverse"}
        In reverse order sample B stands in place A.

    Examples
    --------
    >>> sample_of("A", "forward"), sample_of("A", "reverse")
    ('A', 'B')
    """
    check_choice(order, ("forward", "reverse"), "order")
    check_values([letter], SAMPLES, "letter")
    if letter is None or order == "forward":
        return letter
    return "B" if letter == "A" else "A"


@dataclass(frozen=True)
class ComparativeJudgement:
    """Accuracy and consistency of comparative judgements; shares, nan where nothing is counted.

    Parameters
    ----------
    n : int
        Pair evaluations: pairs times trials.
    accuracy_forward, accuracy_reverse : float
        Share of evaluations in which the better sample was chosen, in this order. The forward one is the headline figure.
    accuracy_calls : float
        Of all calls, two an evaluation.
    accuracy_both : float
        Of evaluations, the better sample in both orders.
    consistency : float
        Position-swap consistency: the same sample in both orders.
    valid_rate : float
        Share of calls with a readable judgement.
    """

    n: int
    accuracy_forward: float
    accuracy_reverse: float
    accuracy_calls: float
    accuracy_both: float
    consistency: float
    valid_rate: float


def comparative_judgement(
    forward: Sequence[str | None], reverse: Sequence[str | None], better: Sequence[str], invalid: str = "wrong"
) -> ComparativeJudgement:
    """Compute accuracy and position-swap consistency of judgements made in both orders.

    Parameters
    ----------
    forward, reverse : sequences of "A", "B" or None, one entry per pair and trial
        The letters given, as they stand in the replies: in reverse order "A" means sample B. None: not readable.
    better : sequence of "A" or "B"
        The sample of higher achievement.
    invalid : {"wrong", "drop"}
        Unreadable judgements are wrong (and inconsistent), or left out of what they would enter.

    Returns
    -------
    ComparativeJudgement

    Raises
    ------
    DataError
        Sequences of different lengths, or other values.

    Notes
    -----
    The source does not say which calls its accuracy counts. Its twelve figures are all k / 237, so the unit is the evaluation,
    and five lie above the model's consistency, so it is not "right in both orders": forward order alone fits.

    References
    ----------
    AlignED methods page, 2.4 Student work judgement.

    Examples
    --------
    >>> found = comparative_judgement(["A", "A"], ["B", "A"], better=["A", "A"])
    >>> found.accuracy_forward, found.accuracy_both, found.consistency
    (1.0, 0.5, 0.5)
    """
    check_choice(invalid, INVALID, "invalid")
    if not len(forward) == len(reverse) == len(better):
        raise DataError(
            f"forward, reverse and better have {len(forward)}, {len(reverse)} and {len(better)} entries; expected one number."
        )
    check_values(better, SAMPLES, "better", missing=False)
    pairs = [(sample_of(one, "forward"), sample_of(other, "reverse")) for one, other in zip(forward, reverse, strict=True)]
    right = [[sample == truth for sample in pair] for pair, truth in zip(pairs, better, strict=True)]
    valid = [[sample is not None for sample in pair] for pair in pairs]
    both = [all(pair) for pair in valid]
    same = [one == other and one is not None for one, other in pairs]
    return ComparativeJudgement(
        n=len(pairs),
        accuracy_forward=_share([row[0] for row in right], [row[0] for row in valid], invalid),
        accuracy_reverse=_share([row[1] for row in right], [row[1] for row in valid], invalid),
        accuracy_calls=_share([hit for row in right for hit in row], [flag for row in valid for flag in row], invalid),
        accuracy_both=_share([all(row) for row in right], both, invalid),
        consistency=_share(same, both, invalid),
        valid_rate=valid_rate(sample for pair in pairs for sample in pair),
    )


def swap_consistency(forward: Sequence[str | None], reverse: Sequence[str | None], invalid: str = "wrong") -> float:
    """Return the share of pairs in which the same sample was chosen in both orders.

    Parameters
    ----------
    forward, reverse, invalid
        As for :func:`comparative_judgement`.

    Examples
    --------
    >>> swap_consistency(["A", "A", None], ["B", "A", "A"], invalid="drop")
    0.5
    """
    return comparative_judgement(forward, reverse, ["A"] * len(forward), invalid).consistency


def _share(hits: Sequence[bool], valid: Sequence[bool], invalid: str) -> float:
    counted = len(hits) if invalid == "wrong" else sum(valid)
    return sum(hits) / counted if counted else math.nan
