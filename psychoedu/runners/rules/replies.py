"""Why a reply could not be scored (empty, refused, not in the form asked for), and which share of them could."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable

from psychoedu.exceptions import DataError
from psychoedu.response_codes import Reason
from psychoedu.validation import check_number

REFUSING_STOPS = frozenset({"content_filter", "refusal", "safety", "blocked", "prohibited_content"})
"""Stop reasons with which providers say that the answer was withheld."""

_REFUSAL = re.compile(
    r"""
      \b i \s (?: am | ['’]m ) \s (?: so \s | very \s )? (?: sorry | unable | not \s (?: able | allowed | permitted | going ) )
    | \b i \s (?: can \s? not | can ['’] t | won ['’] t | will \s not | do \s not | don ['’] t | must ) \s
          (?: \w+ \s ){0,2} (?: help | assist | answer | comply | provide | respond | decline | refuse | choose | determine
            | participate | continue | feel \s comfortable )
    | \b i \s (?: decline | refuse ) \b
    | \b as \s an? \s (?: ai | artificial | large \s language | language \s model )
    | \b (?: sorry | apologi[sz]e | apologies ) \b
    | \b unable \s to \s (?: help | assist | answer | comply | provide )
    | 抱歉 | 对不起 | 无法 (?: 回答 | 提供 | 协助 ) | 不能 (?: 回答 | 提供 )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad"))
_THOUGHT = re.compile(r"\s*<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)


def without_reasoning(text: str) -> str:
    """Return a reply without the reasoning that some open models write before it in ``<think>`` marks.

    Parameters
    ----------
    text : str

    Returns
    -------
    str
        What follows the closing mark; nothing where the reply was cut before it. A reply without the marks comes back as it is.

    Notes
    -----
    CSEBench does not say whether such text is read; nothing here removes it unasked.

    Examples
    --------
    >>> without_reasoning("<think>A or B?</think> C")
    ' C'
    """
    return _THOUGHT.sub("", text, count=1) if _THOUGHT.match(text) else text


def reply_reason(text: str | None, stop_reason: str | None = None, parsed: object = None) -> Reason | None:
    """Say why a reply has no answer.

    Parameters
    ----------
    text : str or None
        The reply. None and white space alone are empty, as when all tokens went into hidden reasoning. A call that failed has no
        reply at all and does not belong here.
    stop_reason : str, optional
        Why the model stopped, as the provider reported it; "content_filter" and its like make a refusal.
    parsed : optional
        The answer that was read off the reply.

    Returns
    -------
    Reason or None
        None if there is an answer; else ``Reason.REFUSED``, ``Reason.EMPTY`` or ``Reason.UNPARSED``.

    Notes
    -----
    Refusals are told by common phrases in English and Chinese. They describe the replies and change no score: all three reasons
    are counted as wrong, or left out, alike. A reply from which a rule reads an answer is answered, whatever else it says.

    Examples
    --------
    >>> reply_reason("I'm sorry, but I can't help with that."), reply_reason("(b)", parsed="B")
    (<Reason.REFUSED: -4>, None)
    """
    if parsed is not None:
        return None
    if stop_reason is not None and stop_reason.strip().lower().replace("-", "_") in REFUSING_STOPS:
        return Reason.REFUSED
    shown = "" if text is None else text.translate(_INVISIBLE).strip()
    if not shown or not without_reasoning(shown).strip():
        return Reason.EMPTY
    plain = " ".join(unicodedata.normalize("NFKC", shown).split())
    return Reason.REFUSED if _REFUSAL.search(plain) else Reason.UNPARSED


def valid_rate(parsed: Iterable[object]) -> float:
    """Return the share of replies that could be read (are not None); nan for none.

    Examples
    --------
    >>> valid_rate(["A", None, "B", "B"])
    0.75
    """
    flags = [value is not None for value in parsed]
    return sum(flags) / len(flags) if flags else math.nan


def is_included(rate: float, min_valid_rate: float = 0.0) -> bool:
    """Tell whether a model's results are reported: its share of readable replies lies above a limit.

    Parameters
    ----------
    rate : float
        As :func:`valid_rate` gives it; nan is not above anything.
    min_valid_rate : float
        0 excludes only models without a single readable reply, as AlignED did (three of its comparative judges). The pedagogy
        benchmark drops models with 5% badly formatted replies or more: 0.95.

    References
    ----------
    AlignED methods page, 2.4 Student work judgement, Excluded models.

    Examples
    --------
    >>> is_included(0.0), is_included(0.01), is_included(0.95, min_valid_rate=0.95)
    (False, True, False)
    """
    limit = check_number(min_valid_rate, "min_valid_rate")
    if not 0.0 <= limit <= 1.0:
        raise DataError(f"min_valid_rate has to lie between 0 and 1; got {min_valid_rate!r}.")
    return rate > limit
