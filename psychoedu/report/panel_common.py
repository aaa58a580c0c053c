"""What the pages of a bookmark panel share: checked arguments, words, and a page whose script reaches nothing outside it."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from fractions import Fraction
from html import escape
from importlib.resources import files
from typing import Any

from psychoedu.exceptions import DataError, DuplicateLabelError
from psychoedu.report.page import STYLE
from psychoedu.standard_setting.booklet import OrderedItemBooklet
from psychoedu.standard_setting.placements import RULES
from psychoedu.standard_setting.scales import KNOWN_SCALES, refuse_misspelt
from psychoedu.validation import check_choice, counted, listed

FORMULA_STARTS = "=+-@"
"""A cell that begins with one of these is taken for a formula by spreadsheets."""

_NUMERALS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five"}


def check_booklet(booklet: Any) -> OrderedItemBooklet:
    """Check that the booklet is one."""
    if isinstance(booklet, OrderedItemBooklet):
        return booklet
    raise DataError(
        f"booklet has to be an OrderedItemBooklet; got {type(booklet).__name__}.\n"
        "Make one first: booklet(bank, response_probability=0.67)."
    )


def check_rule(rule: Any) -> str:
    """Check the name of the rule."""
    return check_choice(rule, RULES, "rule")


def check_levels(levels: Any) -> tuple[str, ...]:
    """Check the levels that get a bookmark, from the lowest, and return them as text.

    Raises
    ------
    DataError
        There is none, or one is empty or neither text nor a whole number.
    DuplicateLabelError
        Two are written alike.

    Examples
    --------
    >>> check_levels(["A2", "B1"])
    ('A2', 'B1')
    """
    if isinstance(levels, str | bytes | Set | Mapping) or not isinstance(levels, Iterable):
        raise DataError(f"levels is {levels!r}. Expected the levels from the lowest, as in levels=['CSE-3', 'CSE-4'].")
    given: list[Hashable] = list(levels)
    if not given:
        raise DataError("levels is empty; expected at least one level that gets a bookmark, as in levels=['CSE-3', 'CSE-4'].")
    wrong = [level for level in given if isinstance(level, bool) or not isinstance(level, str | int) or not str(level).strip()]
    if wrong:
        raise DataError(
            f"{counted(len(wrong), 'level')} without a name: {listed(wrong)}. Expected text, as in levels=['CSE-3', 'CSE-4']."
        )
    names = [str(level) for level in given]
    padded = [name for name in names if name != name.strip()]
    if padded:
        raise DataError(
            f"{counted(len(padded), 'level')} with a space before or after the name: {listed(padded)}.\n"
            "Placements are read back without it; strip it, as in [level.strip() for level in levels]."
        )
    if len(set(names)) < len(names):
        repeated = list(dict.fromkeys(name for name in names if names.count(name) > 1))
        raise DuplicateLabelError(
            f"{counted(len(repeated), 'level')} given more than once: {listed(repeated)}. "
            "Expected each level once, from the lowest."
        )
    refuse_misspelt(names)
    for scale in KNOWN_SCALES.values():
        if set(names) <= set(scale.levels) and names != [level for level in scale.levels if level in names]:
            raise DataError(
                f"The levels {listed(names)} are not in the order of the scale {scale.name}. Expected the lowest first."
            )
    return tuple(names)


def check_text(value: Any, name: str, required: bool = False) -> str:
    """Check that an argument is text; where it is required, not blank."""
    if not isinstance(value, str):
        raise DataError(f"{name} has to be text; got {value!r}.")
    if required and not value.strip():
        raise DataError(f"{name} is empty; expected text.")
    return value


def check_cell(value: Any, name: str) -> str:
    """Check a text that becomes a cell of the placements: not one that a spreadsheet takes for a formula."""
    text = check_text(value, name).strip()
    if text.startswith(tuple(FORMULA_STARTS)):
        raise DataError(
            f"{name} is {value!r}, which spreadsheets take for a formula.\n"
            "Expected it to begin with a letter or a digit; rename it."
        )
    return text


def check_notes(notes: Any) -> tuple[str, ...]:
    """Check the notes: a sequence of texts, not one text."""
    if isinstance(notes, str):
        raise DataError(f"notes is one text, {notes!r}. Expected a sequence of texts: notes=[{notes!r}].")
    return tuple(check_text(note, "each of notes") for note in notes)


def probability_words(probability: float) -> str:
    """Return a response probability in words.

    Examples
    --------
    >>> probability_words(2 / 3), probability_words(0.67), probability_words(0.5), probability_words(0.625)
    ('two in three', '67 in 100', 'one in two', '62.5 in 100')
    """
    near = Fraction(probability).limit_denominator(5)
    if abs(float(near) - probability) < 1e-9 and near.numerator in _NUMERALS:
        return f"{_NUMERALS[near.numerator]} in {_NUMERALS[near.denominator]}"
    return f"{100.0 * probability:.4g} in 100"


def order_words(booklet: OrderedItemBooklet) -> str:
    """Say what the page order and the numbers on the pages mean."""
    first = "from the easiest item to the hardest"
    by = "by location" if booklet.order_by == "rp_location" else "by difficulty (the ability with an even chance, guessing aside)"
    return (
        f"The pages go {first}, {by}. An item's location is the point on the ability scale where candidates answer it correctly "
        f"with a chance of {probability_words(booklet.response_probability)}; "
        "the step is the distance to the next page's location."
    )


def scripted_page(
    title: str, subtitle: str, body: str, data: dict[str, Any], scripts: Sequence[str], styles: Sequence[str], wide: bool = False
) -> str:
    """Put a body, its data and its scripts into a page that may fetch nothing and run nothing else.

    Parameters
    ----------
    title, subtitle : str
        Plain text, escaped here.
    body : str
        HTML.
    data : dict
        What the scripts read, as JSON in the element ``panel-data``.
    scripts, styles : sequence of str
        Names of files beside this module, in the order in which they are joined.
    wide : bool
        Class of the body.

    Returns
    -------
    str

    Notes
    -----
    The content security policy names the hashes of the one script and the one style sheet: markup that slipped through as data
    could neither run nor load anything.
    """
    script = "\n".join(_read(name) for name in scripts)
    style = STYLE + "".join(_read(name) for name in styles)
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data: blob:; base-uri 'none'; "
        "form-action 'none'"
    )
    lead = f'<p class="lead">{escape(subtitle)}</p>\n' if subtitle else ""
    kind = ' class="wide"' if wide else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body{kind}>\n"
        f"<header>\n<h1>{escape(title)}</h1>\n{lead}</header>\n{body}\n"
        f'<script type="application/json" id="panel-data">{script_json(data)}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def script_json(data: dict[str, Any]) -> str:
    r"""Write JSON that cannot end the element it stands in: no ``<``, ``>`` or ``&`` is left.

    Examples
    --------
    >>> script_json({"text": "</script>"})
    '{"text": "\\u003c/script\\u003e"}'
    """
    text = json.dumps(data, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _read(name: str) -> str:
    return files("psychoedu.report").joinpath(name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
