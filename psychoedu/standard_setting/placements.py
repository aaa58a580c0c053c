"""Placements of a bookmark panel: who put which level's bookmark on which page in which round."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray
from psychoedu.exceptions import DataError, DuplicateLabelError, FileFormatError, LabelError
from psychoedu.standard_setting.booklet import OrderedItemBooklet
from psychoedu.standard_setting.scales import order_levels
from psychoedu.validation import check_choice, check_path, counted, listed

RULES = ("last-mastered", "first-not-mastered", "midpoint")
COLUMNS = ("panellist", "round", "level", "page")


@dataclass(frozen=True, eq=False)
class Placements:
    """Pages by round, panellist and level.

    Attributes
    ----------
    rounds, panellists, levels : tuple of labels
        Rounds in order, panellists as first met, levels from the lowest.
    pages : ndarray, (R, P, L)
        nan where a panellist placed none in a round.
    tables : tuple of labels, (P,), or ()
        The table at which each panellist sat.
    """

    rounds: tuple[Hashable, ...]
    panellists: tuple[Hashable, ...]
    levels: tuple[Hashable, ...]
    pages: FloatArray
    tables: tuple[Hashable, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """Return the placements as long table: panellist, round, level, page, and table where there are tables."""
        rows = []
        for (r, p, k), page in np.ndenumerate(self.pages):
            if not np.isnan(page):
                table = [self.tables[p]] if self.tables else []
                rows.append([self.panellists[p], self.rounds[r], self.levels[k], int(page), *table])
        return pd.DataFrame(rows, columns=[*COLUMNS, *(["table"] if self.tables else [])])


def page_range(rule: str, n_pages: int) -> tuple[int, int]:
    """Return the first and the last page that a bookmark may name.

    Examples
    --------
    >>> page_range("last-mastered", 40), page_range("first-not-mastered", 40)
    ((0, 40), (1, 41))
    """
    return (1, n_pages + 1) if rule == "first-not-mastered" else (0, n_pages)


def page_thetas(pages: FloatArray, locations: FloatArray, rule: str) -> FloatArray:
    """Turn pages into abilities.

    Parameters
    ----------
    pages : ndarray
        Whole numbers within :func:`page_range`, or nan.
    locations : ndarray, (J,)
        RP location of each page.
    rule : {"last-mastered", "first-not-mastered", "midpoint"}

    Returns
    -------
    ndarray of the shape of ``pages``
        Infinite at an open end: where the candidate has mastered no page, or (by the other two rules) every page.
    """
    if rule == "midpoint":
        padded = np.concatenate(([-np.inf], (locations[:-1] + locations[1:]) / 2.0, [np.inf]))
    elif rule == "last-mastered":
        padded = np.concatenate(([-np.inf], locations))
    else:
        padded = np.concatenate(([np.nan], locations, [np.inf]))
    known = ~np.isnan(pages)
    found = np.full(pages.shape, np.nan)
    found[known] = padded[pages[known].astype(np.int64)]
    return found


def page_weights(pages: FloatArray, n_pages: int, rule: str) -> FloatArray:
    """Return how each panellist's ability hangs on the locations, (P, J): zero for missing and open-ended placements."""
    weights = np.zeros((len(pages), n_pages))
    for row, page in enumerate(pages):
        if np.isnan(page):
            continue
        position = int(page) - 1
        if rule == "midpoint":
            if 0 <= position < n_pages - 1:
                weights[row, position : position + 2] = 0.5
        elif 0 <= position < n_pages:
            weights[row, position] = 1.0
    return weights


def read_placements(
    placements: Any, booklet: OrderedItemBooklet, rule: str, levels: Sequence[Hashable] | None = None
) -> Placements:
    """Check a table of placements and lay it out by round, panellist and level.

    Parameters
    ----------
    placements : DataFrame, path of a CSV file, or sequence of either
        Columns ``panellist``, ``level``, ``page``; ``round`` (one round if absent); ``table`` (optional); ``booklet`` (optional:
        the fingerprint of the booklet, which must be this one's). Several are put under one another, as one file a panellist.
    booklet : OrderedItemBooklet
    rule : {"last-mastered", "first-not-mastered", "midpoint"}
    levels : sequence of labels, optional
        Order of the levels; see :func:`psychoedu.standard_setting.scales.order_levels`.

    Raises
    ------
    DataError
        A page is not a whole number or out of range; bookmarks cross; another booklet was used.
    DuplicateLabelError
        A panellist placed a level's bookmark twice in one round.
    LabelError
        A column or a label is missing.
    """
    check_choice(rule, RULES, "rule")
    frame = _frame(placements)
    absent = [name for name in ("panellist", "level", "page") if name not in frame.columns]
    if absent:
        raise LabelError(
            f"The placements lack {counted(len(absent), 'column')}: {listed(absent)}. They have {listed(frame.columns)}.\n"
            "Expected a row per placement: panellist, round, level, page."
        )
    several = [name for name in (*COLUMNS, "table", "booklet") if list(frame.columns).count(name) > 1]
    if several:
        raise LabelError(f"The placements have several columns {listed(several)}. Expected one of each name.")
    if not len(frame):
        raise DataError("The placements are empty; expected a row per panellist, round and level: panellist, round, level, page.")
    frame = frame.assign(round=1) if "round" not in frame.columns else frame
    _check_labels_there(frame)
    _check_booklet(frame, booklet)
    frame = frame.assign(page=_whole_pages(frame, booklet, rule))
    repeated = frame.duplicated(["panellist", "round", "level"], keep=False)
    if repeated.any():
        where = frame.loc[repeated, ["panellist", "round", "level"]].drop_duplicates()
        raise DuplicateLabelError(
            f"{counted(len(where), 'bookmark')} placed more than once: {listed(_named(where))}.\n"
            "Expected one page for each panellist, round and level."
        )
    known = order_levels(frame["level"], levels)
    rounds, panellists = _ordered(frame["round"]), tuple(pd.unique(frame["panellist"]))
    pages = np.full((len(rounds), len(panellists), len(known)), np.nan)
    places = [
        pd.Index(labels, dtype=object).get_indexer(pd.Index(frame[name], dtype=object))
        for labels, name in ((rounds, "round"), (panellists, "panellist"), (known, "level"))
    ]
    pages[tuple(places)] = frame["page"].to_numpy(dtype=np.float64)
    _refuse_crossed(pages, rounds, panellists, known)
    return Placements(rounds, panellists, known, pages, _tables(frame, panellists))


def _frame(placements: Any) -> pd.DataFrame:
    if isinstance(placements, pd.DataFrame):
        return placements.reset_index(drop=True)
    if isinstance(placements, str | os.PathLike):
        return _read_csv(check_path(placements, "read"))
    if isinstance(placements, list | tuple) and placements:
        return pd.concat([_frame(part) for part in placements], ignore_index=True)
    raise DataError(
        f"placements has to be a DataFrame, the path of a CSV file, or a list of these; got {type(placements).__name__}."
    )


def _read_csv(path: Path) -> pd.DataFrame:
    """Read a file as panellists' forms and spreadsheets write them: commas, semicolons or tabs, empty rows and columns."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        first = text.lstrip().partition("\n")[0]
        separator = max(",;\t", key=first.count)
        rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise FileFormatError(
            f"{path} is not a CSV file of placements ({error}).\nExpected UTF-8 text, columns panellist, round, level, page; "
            'a spreadsheet writes it as "CSV UTF-8".'
        ) from error
    rows = [row for row in rows if any(row)]
    if not rows:
        raise FileFormatError(f"{path} is empty. Expected the columns panellist, round, level, page.")
    header = rows[0]
    while header and not header[-1]:
        header = header[:-1]
    wrong = [number for number, row in enumerate(rows[1:], 1) if any(row[len(header) :])]
    if wrong:
        raise FileFormatError(
            f"{path} has more cells than its {counted(len(header), 'column')} ({listed(header)}) in row {listed(wrong)}.\n"
            "Expected the columns panellist, round, level, page; text that holds the separator has to stand in quotes."
        )
    cells = [[cell or None for cell in [*row, *[""] * len(header)][: len(header)]] for row in rows[1:]]
    frame = pd.DataFrame(cells, columns=header, dtype=object)
    if header.count("round") == 1:  # rounds by number are numbers
        frame["round"] = frame["round"].map(lambda cell: int(cell) if str(cell).isdecimal() else cell)
    return frame


def _check_labels_there(frame: pd.DataFrame) -> None:
    for name in ("panellist", "round", "level"):
        if frame[name].map(lambda value: isinstance(value, Hashable)).all():
            found = pd.unique(frame[name].dropna())
        else:
            raise LabelError(f"The column {name} holds lists or the like. Expected text or numbers.")
        if len({str(value) for value in found}) < len(found):
            raise LabelError(
                f"Labels of the column {name} differ in type alone: {listed(found)}. Expected text, or numbers, throughout."
            )
        blank = frame[name].isna()
        if blank.any():
            raise LabelError(
                f"{counted(int(blank.sum()), 'placement')} without a {name}, in row {listed(np.flatnonzero(blank) + 1)}. "
                f"Expected a {name} in every row."
            )


def _check_booklet(frame: pd.DataFrame, booklet: OrderedItemBooklet) -> None:
    if "booklet" not in frame.columns:
        return
    other = frame["booklet"].notna() & (frame["booklet"].astype(str) != booklet.fingerprint)
    if other.any():
        who = pd.unique(frame.loc[other, "panellist"])
        raise DataError(
            f"{counted(int(other.sum()), 'placement')} were made in another booklet "
            f"({listed(pd.unique(frame.loc[other, 'booklet']))}) than this one ({booklet.fingerprint}): {listed(who)}.\n"
            "Expected the booklet that the panel read: the same items, order and RP. Load the one that was saved."
        )


def _named(where: pd.DataFrame) -> list[str]:
    return [f"{panellist}, round {number}, {level}" for panellist, number, level in where.itertuples(index=False)]


def _whole_pages(frame: pd.DataFrame, booklet: OrderedItemBooklet, rule: str) -> FloatArray:
    pages = pd.to_numeric(frame["page"], errors="coerce")
    if frame["page"].map(lambda value: isinstance(value, bool | np.bool_)).any():
        pages = pages.where(~frame["page"].map(lambda value: isinstance(value, bool | np.bool_)))
    low, high = page_range(rule, booklet.n_pages)
    values = pages.to_numpy(dtype=np.float64)
    wrong = ~(np.isfinite(values) & (values == np.floor(values)) & (values >= low) & (values <= high))
    if wrong.any():
        places = [
            f"{name}: page {page}"
            for name, page in zip(
                _named(frame.loc[wrong, ["panellist", "round", "level"]]), frame.loc[wrong, "page"], strict=True
            )
        ]
        raise DataError(
            f"{counted(int(wrong.sum()), 'placement')} on no page of the booklet: {listed(places)}.\n"
            f"Expected whole numbers from {low} to {high} (rule {rule!r}, {counted(booklet.n_pages, 'page')})."
        )
    return values


def _ordered(labels: pd.Series) -> tuple[Hashable, ...]:
    found = [value.item() if isinstance(value, np.generic) else value for value in pd.unique(labels)]
    if isinstance(labels.dtype, pd.CategoricalDtype):
        return tuple(label for label in labels.cat.categories if label in found)
    try:
        return tuple(sorted(found, key=lambda value: float(value)))
    except (TypeError, ValueError):
        return tuple(found)


def _refuse_crossed(
    pages: FloatArray, rounds: Sequence[Hashable], panellists: Sequence[Hashable], levels: Sequence[Hashable]
) -> None:
    faults = []
    for r, p in np.ndindex(*pages.shape[:2]):
        placed = [k for k in range(len(levels)) if not np.isnan(pages[r, p, k])]
        for lower, upper in pairwise(placed):
            if pages[r, p, upper] < pages[r, p, lower]:
                at = f"{levels[upper]} on page {pages[r, p, upper]:g} before {levels[lower]} on page {pages[r, p, lower]:g}"
                faults.append(f"{panellists[p]}, round {rounds[r]}: {at}")
    if faults:
        raise DataError(
            f"Bookmarks cross {counted(len(faults), 'time')}: {listed(faults)}.\n"
            f"Expected the pages of a panellist to rise with the level, {' < '.join(map(str, levels))}; if that is not "
            "the levels' order, give it with levels=."
        )


def _tables(frame: pd.DataFrame, panellists: Sequence[Hashable]) -> tuple[Hashable, ...]:
    if "table" not in frame.columns or frame["table"].isna().all():
        return ()
    known: dict[Any, list[Any]] = {
        name: list(pd.unique(own.dropna())) for name, own in frame.groupby("panellist", sort=False, observed=True)["table"]
    }
    several = [name for name in panellists if len(known[name]) > 1]
    none = [name for name in panellists if not known[name]]
    if several or none:
        what = f"sat at several tables: {listed(several)}" if several else f"without a table: {listed(none)}"
        raise DataError(
            f"{counted(len(several or none), 'panellist')} {what}.\nExpected one table for each panellist, or none at all."
        )
    return tuple(known[name][0] for name in panellists)
