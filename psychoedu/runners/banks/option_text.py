"""Options that stand in the text of an item, "A. is B. was C. are D. were", told apart from the capital letters of its stem."""

from __future__ import annotations

import re
from collections import defaultdict

from psychoedu.exceptions import ItemBankError

LETTERS = "ABCDEFG"
_MARK = re.compile(r"(?<![^\s_。？！；，、」』）)])(?:\(([A-G])\)|（([A-G])）|([A-G])([.．、)）]))")
_STYLES = {".": ".", "．": ".", "、": "、", ")": ")", "）": ")"}
_MOST_RUNS = 200

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
    readings = [run for marks in found.values() for run in _runs(text, marks) if n_options in (None, len(run))]
    if not readings:
        return None
    most = max(len(run) for run in readings)
    longest = {run for run in readings if len(run) == most}
    on_own_line = {run for run in longest if run[0][0] > 0 and _opens_line(text, run[0][0])}
    candidates = on_own_line or longest
    last = max(run[0][0] for run in candidates)
    latest = {run for run in candidates if run[0][0] == last}
    if len(latest) > 1:
        at_line_starts = {run for run in latest if all(_opens_line(text, start) for start, _ in run)}
        latest = at_line_starts if len(at_line_starts) == 1 else latest
    if len(latest) > 1:
        raise ItemBankError("the options in the text can be told apart in more than one way; put them in columns of their own")
    (reading,) = latest
    ends = [start for start, _ in reading[1:]] + [len(text)]
    options = tuple(" ".join(text[after:end].split()) for (_, after), end in zip(reading, ends, strict=True))
    return text[:last].strip(), options


def _runs(text: str, marks: dict[str, list[Place]]) -> list[tuple[Place, ...]]:
    """Return every run of two or more marks A, B, C, ... with text behind each of them."""
    open_runs: list[tuple[Place, ...]] = [(place,) for place in marks.get("A", ())]
    complete: list[tuple[Place, ...]] = []
    for letter in LETTERS[1:]:
        open_runs = [
            (*run, place) for run in open_runs for place in marks.get(letter, ()) if text[run[-1][1] : place[0]].strip()
        ][-_MOST_RUNS:]
        complete += [run for run in open_runs if text[run[-1][1] :].strip()]
    return complete


def _opens_line(text: str, start: int) -> bool:
    return not text[text.rfind("\n", 0, start) + 1 : start].strip()
