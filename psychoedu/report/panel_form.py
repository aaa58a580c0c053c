"""The ordered item booklet as a page on which a panellist places the bookmarks: reads, prints and works from disk."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import pandas as pd

from psychoedu.exceptions import DataError
from psychoedu.report.page import column_title, paragraph, terms
from psychoedu.report.panel_common import (
    check_booklet,
    check_cell,
    check_levels,
    check_notes,
    check_rule,
    check_text,
    order_words,
    probability_words,
    scripted_page,
)
from psychoedu.standard_setting.booklet import OWN_COLUMNS
from psychoedu.standard_setting.placements import page_range
from psychoedu.validation import check_integer, check_known

if TYPE_CHECKING:
    from psychoedu.standard_setting.booklet import OrderedItemBooklet


def panel_form(
    booklet: OrderedItemBooklet,
    levels: Sequence[Any],
    *,
    title: str = "Ordered item booklet",
    rule: str = "last-mastered",
    round: int = 1,
    panellist: str = "",
    table: str = "",
    notes: Sequence[str] = (),
    descriptors: Mapping[Any, str] | None = None,
) -> str:
    """Write the booklet as one self-contained HTML page that is also the panellist's form.

    Parameters
    ----------
    booklet : OrderedItemBooklet
        The items; ``text`` and the other columns of its item table are shown where they are given. Without texts the page says
        that they have to be read in the test booklet itself.
    levels : sequence of labels
        Levels that get a bookmark, from the lowest.
    title : str
        Heading of the page, plain text.
    rule : {"last-mastered", "first-not-mastered", "midpoint"}
        What a bookmark on a page says; the page explains it.
    round : int
        Round of the panel that the page opens with, from 1.
    panellist, table : str
        Name and table to fill in beforehand. A table makes the page ask for one.
    notes : sequence of str
        Plain paragraphs for the panel.
    descriptors : mapping, optional
        What the just-qualified candidate of a level is like, by level.

    Returns
    -------
    str
        HTML. Nothing is written to disk.

    Raises
    ------
    DataError
        An argument is not of its kind: no levels, an unknown rule, a round that is no whole number from 1.
    LabelError
        A descriptor is of no level.

    Notes
    -----
    The page loads nothing and sends nothing. Placements are kept in the browser's storage under the booklet's fingerprint and the
    round, and leave the page as a CSV file with the columns ``panellist, round, level, page, booklet`` (and ``table``).

    Examples
    --------
    >>> from psychoedu.irt.bank import ItemBank
    >>> from psychoedu.standard_setting.booklet import booklet
    >>> bank = ItemBank(pd.DataFrame({"discrimination": [1.0, 1.2], "difficulty": [-0.5, 0.7]}, index=["q1", "q2"]))
    >>> form = panel_form(booklet(bank), ["B1", "B2"], title="Grammar panel")
    >>> form.splitlines()[0], "<h1>Grammar panel</h1>" in form
    ('<!DOCTYPE html>', True)
    """
    booklet = check_booklet(booklet)
    names = check_levels(levels)
    described = _descriptors(descriptors, names)
    rule = check_rule(rule)
    heading = check_text(title, "title", required=True)
    data = {
        "rule": rule,
        "levels": names,
        "pages": booklet.n_pages,
        "items": [str(label) for label in booklet.labels],
        "booklet": booklet.fingerprint,
        "round": check_integer(round, "round", minimum=1),
        "panellist": check_cell(panellist, "panellist"),
        "table": check_cell(table, "table"),
        "descriptors": described,
    }
    task = task_words(rule, booklet)
    aside = "".join(paragraph(note) for note in check_notes(notes))
    body = (
        f'<div class="layout">\n<section class="task" aria-label="What to do">\n{paragraph(task)}{_elsewhere(booklet)}'
        '<p class="note only-screen">Your bookmarks are kept in this browser while you work. At the end, press '
        "<b>Download placements</b> and send the file to the person who leads the panel.</p>\n"
        '<noscript><p class="alert">This page needs JavaScript to place bookmarks. Without it you can read and print the booklet.'
        "</p></noscript>\n"
        f"{aside}{_described(described, names)}"
        f'<details class="only-screen"><summary>What the numbers on the pages mean</summary>{paragraph(order_words(booklet))}'
        f"</details>\n</section>\n{_panel(bool(data['table']))}"
        f'<main id="booklet" aria-label="Booklet">\n<h2 class="unseen">The pages</h2>\n{_pages(booklet, rule)}</main>\n'
        f"{_record(names, booklet.fingerprint, bool(data['table']))}</div>\n"
    )
    count = f"{booklet.n_pages} pages" if booklet.n_pages != 1 else "1 page"
    subtitle = f"{count} · response probability {booklet.response_probability:.4g} · booklet {booklet.fingerprint}"
    scripts = ["panel_common.js", "panel_form.js"]
    return scripted_page(heading, subtitle, body, data, scripts, ["panel_common.css", "panel_form.css"], wide=True)


def task_words(rule: str, booklet: OrderedItemBooklet) -> str:
    """Say in one paragraph what the panellist is to do."""
    mastered = (
        "mastered, where mastered means answering the item correctly with a chance of at least "
        f"{probability_words(booklet.response_probability)}. "
    )
    words = (
        "Read the pages in order. For each level, picture the just-qualified candidate: "
        "someone who has only just reached that level. Place the level's bookmark on the "
    )
    if rule == "first-not-mastered":
        words += f"first page that this candidate has not {mastered}If every page is mastered, place it after the last page "
        words += f"(number {booklet.n_pages + 1}). "
    else:
        words += (
            f"last page that this candidate has {mastered}If not even page 1 is mastered, place it before page 1 (number 0). "
        )
    if rule == "midpoint":
        words += "The cut will lie halfway between the page you choose and the next one. "
    return f"{words}Bookmarks of higher levels lie further back in the booklet, or on the same page."


def _elsewhere(booklet: OrderedItemBooklet) -> str:
    """Say where the item texts are when the booklet holds none."""
    frame = booklet.to_frame()
    if "text" in frame.columns and any(_cell(text) for text in frame["text"]):
        return ""
    words = "The item texts are not on this page: read each item in the test booklet itself, by the label beside the page number."
    return paragraph(words, "elsewhere")


def _descriptors(descriptors: Mapping[Any, str] | None, levels: tuple[str, ...]) -> list[str]:
    if descriptors is None:
        return [""] * len(levels)
    if not isinstance(descriptors, Mapping):
        raise DataError(f"descriptors has to be a mapping from level to text; got {type(descriptors).__name__}.")
    given = {str(level): check_text(text, f"the descriptor of {level}").strip() for level, text in descriptors.items()}
    check_known(given, pd.Index(levels), "level of descriptors")
    return [given.get(level, "") for level in levels]


def _described(descriptors: list[str], levels: tuple[str, ...]) -> str:
    pairs = [(level, text) for level, text in zip(levels, descriptors, strict=True) if text]
    return f"<details open><summary>The just-qualified candidates</summary>{terms(pairs)}</details>\n" if pairs else ""


def _panel(with_table: bool) -> str:
    """Return the panel with the fields; the script adds a row per level."""
    table = '<label for="table">Table</label><input id="table" type="text" autocomplete="off">\n' if with_table else ""
    return (
        '<aside id="panel" class="panel needs-script" aria-label="Your bookmarks">\n'
        '<button type="button" id="panel-toggle" aria-expanded="false" aria-controls="panel-body">'
        '<span class="toggle-title" id="toggle-title">Your bookmarks</span></button>\n'
        '<div id="panel-body">\n<h2>Your bookmarks</h2>\n'
        '<div class="fields"><label for="panellist">Your name</label>'
        '<input id="panellist" type="text" autocomplete="name" spellcheck="false">\n'
        f'<label for="round">Round</label><input id="round" type="number" min="1" step="1" inputmode="numeric">\n{table}</div>\n'
        '<p id="progress" class="note"></p>\n<div id="level-rows"></div>\n'
        '<button type="button" id="copy-round" hidden></button>\n'
        '<div id="faults" class="alert" role="status" hidden></div>\n'
        '<div class="actions"><button type="button" id="download" class="primary">Download placements</button>\n'
        '<button type="button" id="undo">Undo</button> <button type="button" id="clear">Clear all</button> '
        '<button type="button" id="print">Print</button></div>\n'
        '<div id="refusal" class="alert" role="alert" tabindex="-1" hidden></div>\n'
        '<p id="status" class="note" role="status"></p>\n'
        '<details id="copy" hidden><summary>No file arrived?</summary><label for="copy-text">Copy this text into a message '
        'instead.</label><textarea id="copy-text" rows="5" readonly></textarea></details>\n'
        '<p id="storage-note" class="alert" role="status" hidden></p>\n</div>\n</aside>\n'
    )


def _pages(booklet: OrderedItemBooklet, rule: str) -> str:
    frame = booklet.to_frame()
    own = set(OWN_COLUMNS) | {"text"}
    extra = [name for name in frame.columns if name not in own]
    cards = []
    for page, row in zip(frame.index, frame.to_dict("records"), strict=True):
        more = [(column_title(str(name)), _cell(row[name])) for name in extra]
        cards.append(_card(int(page), row, [(name, value) for name, value in more if value]))
    low, high = page_range(rule, booklet.n_pages)
    if low == 0:
        cards.insert(0, _end(0, "Before page 1", "For a level whose just-qualified candidate has not mastered even page 1."))
    if high > booklet.n_pages:
        cards.append(_end(high, "After the last page", "For a level whose just-qualified candidate has mastered every page."))
    return "".join(cards)


def _card(page: int, row: Mapping[Hashable, Any], more: list[tuple[str, str]]) -> str:
    text = _cell(row.get("text"))
    words = f'<p class="item-text">{escape(text)}</p>\n' if text else ""
    facts = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in more)
    gap = "" if pd.isna(row["gap_to_next"]) else f" · step to the next page {_signed(row['gap_to_next'])}"
    return (
        f'<article class="item" id="page-{page}" data-page="{page}" tabindex="-1" aria-labelledby="page-{page}-title">\n'
        f'<div class="item-head"><h3 id="page-{page}-title">Page {page}</h3> '
        f'<span class="item-label">{escape(str(row["item"]))}</span>'
        f'<span class="marks"></span></div>\n{words}'
        + (f'<dl class="item-facts">{facts}</dl>\n' if facts else "")
        + f'<p class="numbers">location {_signed(row["rp_location"])}{gap}</p>\n</article>\n'
    )


def _end(page: int, heading: str, text: str) -> str:
    return (
        f'<article class="item end" id="page-{page}" data-page="{page}" tabindex="-1" aria-labelledby="page-{page}-title">\n'
        f'<div class="item-head"><h3 id="page-{page}-title">{heading}</h3><span class="marks"></span></div>\n'
        f'<p class="note">{text}</p>\n</article>\n'
    )


def _record(levels: tuple[str, ...], fingerprint: str, with_table: bool) -> str:
    """Return the sheet that is only printed, for a panel that works on paper; the script fills in what was placed."""
    rows = "".join(
        f'<tr><th scope="row">{escape(level)}</th><td data-record="{at}"></td></tr>' for at, level in enumerate(levels)
    )
    table = '<p>Table: <span data-record="table"></span></p>' if with_table else ""
    return (
        '<section class="only-print record">\n<h2>Placements</h2>\n'
        '<p>Name: <span data-record="panellist"></span></p><p>Round: <span data-record="round"></span></p>'
        f"{table}<p>Booklet: {escape(fingerprint)}</p>\n"
        '<table><thead><tr><th scope="col" class="text">Level</th><th scope="col">Page of the bookmark</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>\n</section>\n"
    )


def _cell(value: Any) -> str:
    if value is None or value is pd.NA or (isinstance(value, float) and pd.isna(value)):
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value).strip("\n")


def _signed(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")
