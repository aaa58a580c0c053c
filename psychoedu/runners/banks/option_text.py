"""Options that stand in the text of an item, "A. is B. was C. are D. were", told apart from the capital letters of its stem."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from itertools import accumulate, pairwise

from psychoedu.exceptions import ItemBankError

LETTERS = "ABCDEFG"
_MARK = re.compile(r"(?<![^\s_。？！；，、」』）)])(?:\(([A-G])\)|（([A-G])）|([A-G])([.．、)）]))")
_STYLES = {".": ".", "．": ".", "、": "、", ")": ")", "）": ")"}

Place = tuple[int, int]
"""Where a mark begins, and where the text behind it does."""


def split_options(text: str, n_options: int | None = None) -> tuple[str, tuple[str, ...]] | None:
    """Part an item's text into its stem and its options.

    Parameters
    ----------
    text : str
        Stem and options, on one line or several. Marks are "A.", "A)", "(A)" or "A、", one kind throughout.
    n_options : int, optional
        How many there have to be; any number from two to seven by default.

    Returns
    -------
    (stem, options) or None
        None where there are no options in the text. White space runs in options become one blank.

    Raises
    ------
    ItemBankError
        The marks can be read in several ways.

    Notes
    -----
    The options are the longest run of marks A, B, C, ... with a text behind each, of several the one that begins a line, else the
    last; so "A." in a name of the stem is part of the stem. A mark opens a word: the "A" in quotes or at the end of "U.S.A."
    are none.

    Examples
    --------
    >>> split_options("J. A. Brown ____ it. A. write B. writes C. to write D. writing")
    ('J. A. Brown ____ it.', ('write', 'writes', 'to write', 'writing'))
    """
    found: dict[str, dict[str, list[Place]]] = defaultdict(lambda: defaultdict(list))
    for match in _MARK.finditer(text):
        style = "()" if match[3] is None else _STYLES[match[4]]
        found[style][match[1] or match[2] or match[3]].append((match.start(), match.end()))
    for size in range(len(LETTERS), 1, -1) if n_options is None else (n_options,):
        runs = [_Runs(text, marks, size) for marks in found.values()]
        starts = [(place, of) for of in runs for place in of.starts()]
        if starts:
            break
    else:
        return None
    on_own_line = [start for start in starts if start[0][0] > 0 and _opens_line(text, start[0][0])]
    first, of = max(on_own_line or starts, key=lambda start: start[0][0])
    if of.number_from(first) > 1:
        marks = {letter: [place for place in places if _opens_line(text, place[0])] for letter, places in of.marks.items()}
        of = _Runs(text, marks, of.size)
    if of.number_from(first) != 1:
        raise ItemBankError("the options in the text can be told apart in more than one way; put them in columns of their own")
    reading = of.only_from(first)
    ends = [start for start, _ in reading[1:]] + [len(text)]
    options = tuple(" ".join(text[after:end].split()) for (_, after), end in zip(reading, ends, strict=True))
    return text[: first[0]].strip(), options


class _Runs:
    """The runs of so many marks A, B, C, ... with text behind each of them, counted from the last letter to the first.

    There may be very many (thousands of marks make more runs than could be listed), so that they are counted, not made.
    """

    def __init__(self, text: str, marks: dict[str, list[Place]], size: int) -> None:
        self.text, self.marks, self.size = text, marks, size
        self.counts: dict[str, list[int]] = {}
        self.next_of: dict[str, list[int]] = {}
        letters = LETTERS[:size]
        for place, letter in reversed([*enumerate(letters)]):
            places = marks.get(letter, [])
            behind = [_first_text(text, end) for _, end in places]
            if place == size - 1:
                self.counts[letter] = [int(at < len(text)) for at in behind]
                continue
            following = letters[place + 1]
            starts = [start for start, _ in marks.get(following, [])]
            totals = [*accumulate(reversed(self.counts[following]), initial=0)][::-1]  # of this and all later ones
            self.next_of[letter] = [bisect_right(starts, at) for at in behind]
            self.counts[letter] = [totals[at] for at in self.next_of[letter]]

    def starts(self) -> list[Place]:
        """Return the marks A with which a run begins."""
        return [place for place, count in zip(self.marks.get("A", []), self.counts["A"], strict=True) if count]

    def number_from(self, first: Place) -> int:
        """Return how many runs begin with a mark."""
        places = self.marks["A"]
        return self.counts["A"][places.index(first)] if first in places else 0

    def only_from(self, first: Place) -> list[Place]:
        """Return the run that begins with a mark, where there is one alone."""
        at, run = self.marks["A"].index(first), [first]
        for letter, following in pairwise(LETTERS[: self.size]):
            counts = self.counts[following]
            at = next(place for place in range(self.next_of[letter][at], len(counts)) if counts[place])
            run.append(self.marks[following][at])
        return run


def _first_text(text: str, start: int) -> int:
    """Return where the first character that is no white space stands, the length of the text for none."""
    while start < len(text) and text[start].isspace():
        start += 1
    return start


def _opens_line(text: str, start: int) -> bool:
    while start > 0 and text[start - 1].isspace():
        start -= 1
        if text[start] == "\n":
            return True
    return start == 0
