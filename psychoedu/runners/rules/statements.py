"""Statements judged correct or incorrect: reading the replies, and the probes of how firm the judgements are."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np

from psychoedu._typing import BoolArray, FloatArray
from psychoedu.exceptions import DataError
from psychoedu.validation import check_choice, check_positive, listed, shown

CORRECT, INCORRECT = "Correct", "Incorrect"
CONFIDENCE = ("Very confident", "Somewhat confident", "Uncertain")
"""Answers to the confidence probe, from sure to unsure."""

_WORDS = {word: re.compile(rf"(?<![A-Za-z]){word}(?![A-Za-z])", re.IGNORECASE) for word in (INCORRECT, CORRECT)}
_DENIED = re.compile(r"(?:\bnot|n['’]t)\s+(?:\w+\s+){0,2}$", re.IGNORECASE)
_BEFORE = 80
"""So many characters before a word are looked at for a denial."""


def parse_statement(text: str | None, rule: str = "substring") -> str | None:
    """Read "Correct" or "Incorrect" off a reply; "incorrect" is looked for first, because it holds "correct".

    Parameters
    ----------
    text : str or None
    rule : {"substring", "word"}
        "substring": "incorrect" anywhere, else "correct" anywhere, in any case. "word": either as a word of its own, and None
        where both occur or it is denied ("not correct"). AlignED does not publish its parser; the default reads every reply that
        names a judgement, and on one-word replies, which the prompt asks for, the two agree.

    Returns
    -------
    "Correct", "Incorrect" or None
        None counts as a wrong answer in AlignED, and is reported.

    References
    ----------
    AlignED methods page, 2.1 Neuromyths.

    Examples
    --------
    >>> parse_statement("Incorrect."), parse_statement("That is not correct."), parse_statement("That is not correct.", "word")
    ('Incorrect', 'Correct', None)
    """
    check_choice(rule, ("substring", "word"), "rule")
    if not isinstance(text, str):
        return None
    if rule == "substring":
        lower = text.lower()
        return INCORRECT if "incorrect" in lower else CORRECT if "correct" in lower else None
    found = [(name, match) for name, word in _WORDS.items() for match in word.finditer(text)]
    if len({name for name, _ in found}) != 1 or any(_is_denied(text, match) for _, match in found):
        return None
    return found[0][0]


def _is_denied(text: str, match: re.Match[str]) -> bool:
    return _DENIED.search(text[max(match.start() - _BEFORE, 0) : match.start()]) is not None


def parse_confidence(text: str | None) -> str | None:
    """Read the answer to the confidence probe.

    Parameters
    ----------
    text : str or None

    Returns
    -------
    "Very confident", "Somewhat confident", "Uncertain" or None
        None where none of them, more than one, or a denied one ("not very confident") stands in the reply.

    References
    ----------
    AlignED methods page, Confidence calibration.

    Examples
    --------
    >>> parse_confidence('"Somewhat confident"'), parse_confidence("Not very confident.")
    ('Somewhat confident', None)
    """
    if not isinstance(text, str):
        return None
    plain = " ".join(text.split())
    found = []
    for name in CONFIDENCE:
        for match in re.finditer(rf"(?<![A-Za-z]){name}(?![A-Za-z])", plain, re.IGNORECASE):
            if _is_denied(plain, match):
                return None
            found.append(name)
    return found[0] if len(set(found)) == 1 else None


def iteration_percents(answers: Sequence[Sequence[str | None]], key: Sequence[str | bool]) -> FloatArray:
    """Return the percentage of statements judged as the key says, in each iteration.

    Parameters
    ----------
    answers : sequences of answers, (n_iterations, n_statements)
        "Correct", "Incorrect", or None for a reply that could not be read, which counts as wrong.
    key : sequence, (n_statements,)
        "Correct" or True, "Incorrect" or False.

    Returns
    -------
    ndarray, (n_iterations,)
        The reported score of a model is their mean, over five iterations at temperature 0.

    Raises
    ------
    DataError
        An iteration has another number of answers than the key, or the key another value.

    References
    ----------
    AlignED methods page, 2.1 Neuromyths.

    Examples
    --------
    >>> iteration_percents([["Correct", "Correct"], ["Incorrect", None]], [True, False]).tolist()
    [50.0, 0.0]
    """
    wanted = [_key_word(value) for value in key]
    if not wanted:
        raise DataError("key is empty; expected a key for every statement.")
    wrong = [number for number, row in enumerate(answers, start=1) if len(row) != len(wanted)]
    if wrong:
        raise DataError(f"Iteration {listed(wrong)} has another number of answers than the key, {len(wanted)}.")
    right = [sum(answer == word for answer, word in zip(row, wanted, strict=True)) for row in answers]
    return 100.0 * np.array(right, dtype=np.float64) / len(wanted)


def _key_word(value: str | bool) -> str:
    if isinstance(value, bool | np.bool_):
        return CORRECT if value else INCORRECT
    if value in (CORRECT, INCORRECT):
        return str(value)
    raise DataError(f"key holds {shown(value)}; expected {CORRECT!r} or True, {INCORRECT!r} or False.")


def kri(accuracy_by_temperature: Mapping[float, float], baseline: float = 0.0) -> float:
    """Return the Knowledge Robustness Index: the worst accuracy at a higher temperature over that at temperature 0.

    Parameters
    ----------
    accuracy_by_temperature : mapping of float to float
        Shares or percentages, at the baseline and at one temperature more at least; AlignED's are 0, 0.5 and 1.
    baseline : float

    Returns
    -------
    float
        min(Acc_0.5, Acc_1) / Acc_0. Above 1 where the model is better at every higher temperature: the source does not cap it.
        nan where the accuracy at the baseline is 0 or any accuracy is unknown.

    Raises
    ------
    DataError
        The baseline or the other temperatures are absent, or an accuracy is negative.

    References
    ----------
    AlignED methods page, Temperature robustness; the formula stands in the report's methods page.

    Examples
    --------
    >>> kri({0: 80.0, 0.5: 76.0, 1: 78.0})
    0.95
    """
    at_baseline, others = _temperatures(accuracy_by_temperature, baseline)
    if at_baseline == 0.0 or any(math.isnan(value) for value in (at_baseline, *others)):
        return math.nan
    return min(others) / at_baseline


def accuracy_variation(accuracy_by_temperature: Mapping[float, float], measure: str = "range", baseline: float = 0.0) -> float:
    """Return how far accuracy moves with temperature.

    Parameters
    ----------
    accuracy_by_temperature : mapping of float to float
    measure : {"range", "change"}
        Highest minus lowest, or the mean absolute difference from the baseline. AlignED prints "0.6%" without saying which.
    baseline : float

    Returns
    -------
    float
        In the units given; nan where an accuracy is unknown.

    References
    ----------
    AlignED methods page, Temperature robustness.

    Examples
    --------
    >>> accuracy_variation({0: 80.0, 0.5: 76.0, 1: 78.0}), accuracy_variation({0: 80.0, 0.5: 76.0, 1: 78.0}, "change")
    (4.0, 3.0)
    """
    check_choice(measure, ("range", "change"), "measure")
    at_baseline, others = _temperatures(accuracy_by_temperature, baseline)
    values = np.array([at_baseline, *others])
    return float(np.ptp(values) if measure == "range" else np.abs(values[1:] - at_baseline).mean())


def _temperatures(accuracy: Mapping[float, float], baseline: float) -> tuple[float, list[float]]:
    values = {float(temperature): float(value) for temperature, value in accuracy.items()}
    if len(values) < 2 or float(baseline) not in values:
        raise DataError(
            f"Accuracies are given at temperatures {listed(values)}; expected {shown(baseline)} and at least one more."
        )
    if any(value < 0.0 for value in values.values()):
        raise DataError(f"Accuracies have to be at least 0; got {listed(list(values.values()))}.")
    return values.pop(float(baseline)), list(values.values())


def inconsistent_items(answers: Sequence[Sequence[Hashable]], unparsed: str = "answer") -> BoolArray:
    """Tell which items were not answered alike under all framings.

    Parameters
    ----------
    answers : sequences, (n_items, n_framings)
        None for a reply that could not be read.
    unparsed : {"answer", "drop"}
        Whether an unread reply differs from a read one, or is left out. The source does not say; "answer", because there an
        unread reply is a wrong answer.

    Returns
    -------
    ndarray of bool, (n_items,)

    Raises
    ------
    DataError
        Rows have different lengths, or fewer than two framings.
    """
    check_choice(unparsed, ("answer", "drop"), "unparsed")
    widths = {len(row) for row in answers}
    if len(widths) > 1 or (widths and min(widths) < 2):
        raise DataError(f"answers has rows of {listed(sorted(widths))} framings; expected one number, at least 2, for all items.")
    kept = [[answer for answer in row if unparsed == "answer" or answer is not None] for row in answers]
    return np.array([len(set(row)) > 1 for row in kept], dtype=np.bool_)


def psi(answers: Sequence[Sequence[Hashable]], unparsed: str = "answer") -> float:
    """Return the Prompt Sensitivity Index: the share of items that were not answered alike under all framings.

    Parameters
    ----------
    answers, unparsed
        As for :func:`inconsistent_items`.

    Returns
    -------
    float
        Between 0 and 1; nan for no items.

    References
    ----------
    AlignED methods page, Prompt sensitivity: "the proportion of items where different framings produce different answers".

    Examples
    --------
    >>> psi([["Correct", "Correct", "Correct", "Correct"], ["Correct", "Incorrect", "Correct", "Correct"]])
    0.5
    """
    inconsistent = inconsistent_items(answers, unparsed)
    return float(inconsistent.mean()) if len(inconsistent) else math.nan


def confidence_counts(confidence: Iterable[str | None], right: Iterable[bool]) -> dict[str, tuple[int, int]]:
    """Count confidence by correctness.

    Parameters
    ----------
    confidence : iterable of str or None
        As :func:`parse_confidence` gives it.
    right : iterable of bool
        Whether the answer that the confidence is about was right.

    Returns
    -------
    dict
        By answer ("Very confident", "Somewhat confident", "Uncertain", "unparsed"): how often after a right answer, and how often
        after a wrong one.

    References
    ----------
    AlignED methods page, Confidence calibration, whose finding is that "Uncertain" was never chosen.

    Examples
    --------
    >>> confidence_counts(["Very confident", "Very confident", None], [True, False, True])["Very confident"]
    (1, 1)
    """
    counts = Counter((answer, bool(hit)) for answer, hit in zip(confidence, right, strict=True))
    unknown = {answer for answer, _ in counts} - {*CONFIDENCE, None}
    if unknown:
        raise DataError(f"confidence holds {listed(sorted(map(str, unknown)))}; expected {listed(CONFIDENCE)} or None.")
    return {answer or "unparsed": (counts[answer, True], counts[answer, False]) for answer in (*CONFIDENCE, None)}


def token_efficiency(
    accuracy: float, output_tokens: Sequence[float] | FloatArray, per: float = 1.0, tokens: str = "mean"
) -> float:
    """Return accuracy over the number of output tokens.

    Parameters
    ----------
    accuracy : float
        Share or percentage of right answers.
    output_tokens : sequence of float
        Tokens of each reply, hidden reasoning included.
    per : float
        The ratio is stated per so many tokens. The source names no unit; 1, the plain ratio.
    tokens : {"mean", "total"}
        Tokens a reply, or of all replies. "mean" by default, as it does not depend on the number of items.

    Returns
    -------
    float
        nan for no replies, unknown counts, or no tokens at all.

    References
    ----------
    AlignED methods page, Token efficiency: "performance-to-tokens ratio (accuracy relative to reasoning length)".

    Examples
    --------
    >>> token_efficiency(80.0, [1, 3, 4, 8])
    20.0
    """
    check_choice(tokens, ("mean", "total"), "tokens")
    unit = check_positive(per, "per")
    counts = np.asarray(output_tokens, dtype=np.float64)
    if not counts.size or np.isnan(counts).any() or counts.sum() == 0.0:
        return math.nan
    if counts.min() < 0.0:
        raise DataError(f"output_tokens holds a negative number: {shown(counts.min())}.")
    return float(accuracy) * unit / float(counts.mean() if tokens == "mean" else counts.sum())
