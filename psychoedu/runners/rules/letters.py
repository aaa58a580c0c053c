"""The letter that a reply to a multiple-choice question gives, by four rules, and the majority of several runs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from psychoedu.exceptions import DataError
from psychoedu.validation import check_choice, check_flag

RULES = ("literal", "token", "strict", "pedagogy")
"""Rules of :func:`parse_letter`."""

_PEDAGOGY = tuple(
    re.compile(pattern)
    for pattern in (
        r"^\s*([ABCDEFG])(?:[\.(?:\s*\n)]+.*)*$",
        r"^<think>[\s\S]*?</think>[\s\S]*?([ABCDEFG])$",
        r"^## Step 1[\s\S]*?([ABCDEFG])[\.\s]*$",
        r'[\s\S]*\n([A-G])"?$',
    )
)
_ANNOUNCED = (
    r"(?:answers?|options?|choices?|responses?|choose|chose|pick|select|\\boxed|答案|选项|选择|选)"
    r"\s*(?:\s+is|\s+would\s+be|\s+letter|[:=是为])?\s*[:=]?\s*(?:option|choice|选项)?\s*"
)
_SPACES = re.compile(r"\s{2,}")
_DENIED = r"\W{0,3}\s+(?:is|was|can)\s*(?:n['’]t|not|wrong|incorrect|false)"
_MARKS = r"[\s\"'`*_(\[{<]*"
_AROUND = " \t\r\n\"'`*_~()[]{}<>.,:;!?。、,;:「」『』【】《》“”‘’$\\"


def parse_letter(
    text: str | None, letters: Sequence[str] = "ABCD", rule: str = "literal", ignore_case: bool = False
) -> str | None:
    """Read the option that a reply to a multiple-choice question gives.

    Parameters
    ----------
    text : str or None
        The reply, as the model wrote it.
    letters : str or sequence of single capital letters
        The options of the item.
    rule : {"literal", "token", "strict", "pedagogy"}
        See Notes.
    ignore_case : bool
        Whether the rules "literal" and "token" take small letters as well. CSEBench does not say; off, because a small "a" is
        mostly an article. "strict" has its own rule for small letters.

    Returns
    -------
    str or None
        One of the letters; None for a reply that gives none. A reply without a letter is a wrong answer in CSEBench.

    Raises
    ------
    DataError
        Unknown rule, or letters that are not different single capital letters.

    Notes
    -----
    - "literal", CSEBench's documented rule: the first of the letters anywhere in the reply, so that "Answer: C" reads as A.
    - "token": the first of the letters that stands alone, with no Latin letter before or after it.
    - "strict": a letter in any width and case, if the reply is nothing but it ("B", "(b)", a full-width letter), begins with it
      and a mark ("B. drinks"), or announces it ("The answer is B"), and no other of the letters stands alone anywhere.
      "A or B" gives none. Zero-width characters are left out first.
    - "pedagogy": the four patterns with which the harness of the pedagogy benchmark reads replies, tried in order. They know
      the letters A to G; one that the item does not have gives None here, where that harness has an answer that is wrong. Pass
      letters="ABCDEFG" for its figures on badly formatted replies.

    References
    ----------
    CSEBench preprint, doi:10.21203/rs.3.rs-8820245/v1, Methods: "the first valid letter in {A, B, C, D}; if no valid letter is
    found, the item is marked incorrect". Pedagogy benchmark: github.com/AI-for-Education/pedagogy-benchmark.

    Examples
    --------
    >>> [parse_letter("Answer: C", rule=rule) for rule in ("literal", "token", "strict")]
    ['A', 'C', 'C']
    >>> parse_letter("A or B", rule="strict") is None
    True
    """
    known = _checked(letters)
    check_choice(rule, RULES, "rule")
    check_flag(ignore_case, "ignore_case")
    if not isinstance(text, str) or not text:
        return None
    if rule == "strict":
        return _strict(text, known)
    if rule == "pedagogy":
        found = next((match[1] for pattern in _PEDAGOGY if (match := pattern.match(text))), None)
        return found if found is not None and found in known else None
    match = _first(known, rule, ignore_case).search(text)
    return None if match is None else match[0].upper()


def rules_differ(
    texts: Iterable[str | None],
    letters: Sequence[str] = "ABCD",
    rules: tuple[str, str] = ("literal", "token"),
    ignore_case: bool = False,
) -> float:
    """Return the share of replies that two rules read differently.

    Parameters
    ----------
    texts : iterable of str or None
        Replies; a letter against none is a difference.
    letters, ignore_case
        As for :func:`parse_letter`.
    rules : pair of rules

    Returns
    -------
    float
        Between 0 and 1; nan for no replies.

    Examples
    --------
    >>> rules_differ(["B", "Answer: C", "According to rule B", "D."])
    0.5
    """
    one, other = rules
    different = [
        parse_letter(text, letters, one, ignore_case) != parse_letter(text, letters, other, ignore_case) for text in texts
    ]
    return sum(different) / len(different) if different else float("nan")


def majority_first(answers: Sequence[str | None], unparsed: str = "vote") -> str | None:
    """Return the answer that most runs gave; a tie goes to the tied answer that came first.

    Parameters
    ----------
    answers : sequence of str or None
        Parsed answers in the order of the runs. Calls that failed have no answer and do not belong here.
    unparsed : {"vote", "drop"}
        Whether replies without a letter vote, together, for "no answer", or only count where no run gave a letter. CSEBench does
        not say; "vote", because leaving them out would give a model that mostly fails to answer the benefit of one lucky run.

    Returns
    -------
    str or None
        None for "no answer", also if there are no runs.

    Notes
    -----
    With three runs a tie means three different answers, and the first run decides, even if it gave no letter.

    References
    ----------
    CSEBench preprint, doi:10.21203/rs.3.rs-8820245/v1, Methods: "we run each item three times under each prompting condition and
    take majority vote when the outputs differ (ties broken by the first run)".

    Examples
    --------
    >>> majority_first(["B", "C", "C"]), majority_first(["B", "C", "D"])
    ('C', 'B')
    """
    check_choice(unparsed, ("vote", "drop"), "unparsed")
    votes = list(answers)
    if unparsed == "drop":
        votes = [answer for answer in votes if answer is not None] or votes
    return max(votes, key=votes.count, default=None)  # max gives the first of equals


def _checked(letters: Sequence[str]) -> str:
    known = "".join(letters)
    single = len(known) == len(letters) == len(set(known)) > 0
    if single and all("A" <= letter <= "Z" for letter in known):
        return known
    raise DataError(f"letters has to be different single capital letters, such as 'ABCD'; got {letters!r}.")


@cache
def _first(letters: str, rule: str, ignore_case: bool) -> re.Pattern[str]:
    one = f"[{letters}]" if rule == "literal" else rf"(?<![A-Za-z])[{letters}](?![A-Za-z])"
    return re.compile(one, re.IGNORECASE | re.ASCII if ignore_case else 0)


@cache
def _clear(letters: str) -> Callable[[str], str | None]:
    """Return the reader of replies that give one clear letter."""
    one = f"([{letters}{letters.lower()}])"
    alone = re.compile(rf"(?<![A-Za-z0-9']){one}(?![A-Za-z0-9'])")
    leading = re.compile(rf"{_MARKS}{one}(?:[\"'`*_)\]}}>]*[.):,;。、」】]|[\"'`*_)\]}}>]*\s*\n|[\"'`*_]*\s+[-–—]\s)")
    announced = re.compile(rf"(?<![A-Za-z]){_ANNOUNCED}{_MARKS}{one}(?![A-Za-z0-9']|{_DENIED})", re.IGNORECASE)
    article = re.compile(r"\s+[a-z]")

    def read(text: str) -> str | None:
        bare = text.strip(_AROUND)
        if len(bare) == 1:
            return bare.upper() if bare.upper() in letters else None
        given = [match for match in (leading.match(text), *announced.finditer(text)) if match and not is_article(text, match)]
        others = [match for match in alone.finditer(text) if not is_article(text, match)]
        chosen = {match[1].upper() for match in (*given, *others)}
        return chosen.pop() if given and len(chosen) == 1 else None

    def is_article(text: str, match: re.Match[str]) -> bool:
        return match[1] == "a" and article.match(text, match.end(1)) is not None

    return read


def _strict(text: str, letters: str) -> str | None:
    folded = unicodedata.normalize("NFKC", text)  # full-width and circled letters become plain ones
    shown = "".join(character for character in folded if unicodedata.category(character) != "Cf")  # zero-width ones are not seen
    folded = _SPACES.sub(lambda run: "\n" if "\n" in run[0] else " ", shown)
    return _clear(letters)(folded)
