"""From the columns of a file to the fields of an item: names of several formats, a user's own map, and faults by row."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from psychoedu.exceptions import ItemBankError, PsychoeduWarning
from psychoedu.runners.banks.tables import (
    Row,
    Table,
    as_numbers,
    clean,
    is_blank,
    is_date,
    parse_json,
    plain,
    plain_number,
    without_points,
)
from psychoedu.validation import SHOWN, counted, listed, shown

METADATA = "metadata"


def squeeze(name: str) -> str:
    """Return a column name without case, blanks and marks: "CSE Difficulty Level" and cse_difficulty_level are one."""
    return "".join(character for character in name.lower() if character.isalnum())


@dataclass(frozen=True)
class Faults:
    """Collects what is wrong with the items of a file, by row, and raises it all at once."""

    source: str
    n_items: int
    found: dict[str, list[str]] = field(default_factory=dict)

    def add(self, place: str, text: str) -> None:
        """Note one fault of the item in a row."""
        self.found.setdefault(place, []).append(text)

    def check(self) -> None:
        """Raise if anything was noted: the first five rows, and the count."""
        if not self.found:
            return
        in_order = sorted(self.found.items(), key=lambda fault: int(fault[0].rpartition(" ")[2]))  # "row 12"
        told = [f"{place}: {', '.join(texts)}" for place, texts in in_order]
        more = f"; and {len(told) - SHOWN:,} more" if len(told) > SHOWN else ""
        raise ItemBankError(
            f"{self.source}: {len(told):,} of {counted(self.n_items, 'item')} "
            f"{'is' if len(told) == 1 else 'are'} malformed. {'; '.join(told[:SHOWN])}{more}.\n"
            "Correct these rows in the file; if a column was taken for another, name it with columns={theirs: ours}."
        )


@dataclass(frozen=True)
class Columns:
    """Which column of a file holds which field; ``names`` has our field by the file's column."""

    table: Table
    names: Mapping[str, str]

    @cached_property
    def numeric(self) -> frozenset[str]:
        """The columns all of whose cells are numbers, or texts of which nothing is lost by reading them as such."""
        return frozenset(
            column
            for column in self.table.names
            if all(is_blank(cell) or _is_number(cell) or plain_number(cell) is not None for cell in self.table.column(column))
        )

    def has(self, name: str) -> bool:
        """Tell whether the file has a column for a field."""
        return name in self.names.values()

    def cell(self, row: Row, name: str) -> Any:
        """Return the cell of a field, None where the file or the record has none."""
        for column, ours in self.names.items():
            if ours == name and column in row.cells:
                return row.cells[column]
        return None

    def text(self, row: Row, name: str, faults: Faults) -> str:
        """Return the cell of a field as text; a date, which a spreadsheet has made of something else, is a fault."""
        value = self.cell(row, name)
        if is_date(value):
            faults.add(row.place, f"{name} is a date, {clean(value)} (a spreadsheet has turned the text into one)")
        return self.one_text(row, name, value, faults)

    @staticmethod
    def one_text(row: Row, name: str, value: Any, faults: Faults) -> str:
        """Return a value as text; a list or an object, which is none, is a fault."""
        if isinstance(value, bytes | Mapping | list | tuple | set) or (isinstance(value, np.ndarray) and value.ndim > 0):
            faults.add(row.place, f"{name} is {'an object' if isinstance(value, Mapping) else 'a list'} instead of a text")
            return ""
        return clean(value)

    def required(self, row: Row, name: str, faults: Faults) -> str:
        """Return the cell of a field as text; a blank one is a fault."""
        found = self.text(row, name, faults)
        if not found:
            faults.add(row.place, f"{name} is empty")
        return found

    def metadata(self, row: Row, used: Iterable[str]) -> dict[str, Any]:
        """Return everything of a record but the fields in ``used``, without blank cells."""
        taken = set(used)
        found: dict[str, Any] = {}
        for column, value in row.cells.items():
            name = self.names.get(column, column)
            if name in taken or is_blank(value):
                continue
            nested = _object(value) if name == METADATA else None
            known = plain_number(value) if column in self.numeric and isinstance(value, str) else plain(value)
            found |= {name: known} if nested is None else {str(key): plain(one) for key, one in nested.items()}
        return {name: value for name, value in found.items() if value is not None}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _object(value: Any) -> Mapping[str, Any] | None:
    if isinstance(value, Mapping):
        return value
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            found = parse_json(value)
        except ValueError:
            return None
        return found if isinstance(found, dict) else None
    return None


def match_columns(
    table: Table, known: Mapping[str, Sequence[str]], required: Iterable[str], columns: Mapping[str, str] | None
) -> Columns:
    """Find the column of every field.

    Parameters
    ----------
    table : Table
    known : mapping of str to sequence of str
        Other names of each field. Case, blanks and marks do not matter.
    required : iterable of str
    columns : mapping of str to str, optional
        The user's own, {their name: ours}; any other of our names makes it metadata of that name.

    Raises
    ------
    ItemBankError
        A required field has no column or several, or the map names a column that is absent.
    """
    if columns is not None and not isinstance(columns, Mapping):
        raise ItemBankError(f"columns has to be a mapping such as {{'Question text': 'stem'}}; got {columns!r}.")
    wanted = dict(columns or {})
    absent = [name for name in wanted if name not in table.names]
    if absent:
        raise ItemBankError(
            f"{table.source} has no column {listed(absent)}, which columns= names.\nIt has {listed(table.names)}."
        )
    ours = {squeeze(name): name for name in known}
    names = {theirs: ours.get(squeeze(name), name) for theirs, name in wanted.items()}
    twice = sorted({name for name in names.values() if list(names.values()).count(name) > 1})
    if twice:
        raise ItemBankError(f"columns= gives more than one column to {listed(twice)}. Expected one each.")
    free = [column for column in table.names if column not in names]
    for name, others in known.items():
        if name in names.values():
            continue
        exact = [column for column in free if squeeze(column) == squeeze(name)]
        spellings = {squeeze(other) for other in others}
        found = exact + [column for column in free if squeeze(column) in spellings and column not in exact]
        if len(found) > 1 and len(exact) == 1 and _say_the_same(table, found):
            found = exact
        if len(found) > 1:
            raise ItemBankError(
                f"{table.source}: the columns {listed(found)} may all be {name}. "
                f"Say which one with columns={{{found[0]!r}: {name!r}}}."
            )
        names |= dict.fromkeys(found, name)
        free = [column for column in free if column not in found]
    missing = [name for name in required if name not in names.values()]
    if missing:
        also = f" (or {listed(known[missing[0]][:3])})" if known.get(missing[0]) else ""
        raise ItemBankError(
            f"{table.source} has no column for {listed(missing)}. Expected {missing[0]!r}{also}; it has {listed(table.names)}.\n"
            f"Name it with columns={{their name: {missing[0]!r}}}."
        )
    if not table.rows:
        raise ItemBankError(f"{table.source} holds column names, but no items.")
    return Columns(table, names)


def _say_the_same(table: Table, columns: Sequence[str]) -> bool:
    return all(len({clean(row.cells.get(column)) for column in columns}) == 1 for row in table.rows)


def item_ids(columns: Columns, name: str, faults: Faults, prefix: str = "q") -> list[str]:
    """Return the labels of the items, numbered q1, q2, ... where the file has none; blank and repeated ones are faults."""
    rows = columns.table.rows
    if not columns.has(name):
        return [f"{prefix}{place}" for place in range(1, len(rows) + 1)]
    labels = as_numbers(without_points([columns.text(row, name, faults) for row in rows]))
    first: dict[str, str] = {}
    for row, label in zip(rows, labels, strict=True):
        if not label:
            faults.add(row.place, f"{name} is empty")
        elif label in first:
            faults.add(row.place, f"{name} {shown(label)} stands in {first[label]} already")
        else:
            first[label] = row.place
    return labels


def warn_of_repeats(source: str, texts: Iterable[tuple[str, str]]) -> None:
    """Warn where one text has several labels.

    Parameters
    ----------
    source : str
    texts : iterable of (label, text)
    """
    labels: dict[str, list[str]] = {}
    for label, text in texts:
        labels.setdefault(" ".join(text.split()), []).append(label)
    several = [" = ".join(same) for same in labels.values() if len(same) > 1]
    if several:
        warnings.warn(
            f"{source}: {counted(len(several), 'text')} with more than one label: {listed(several)}. "
            "They are kept as items of their own; drop the repeats if they are none.",
            PsychoeduWarning,
            stacklevel=4,
        )


def read_truth(value: Any, true: Sequence[str], false: Sequence[str]) -> bool | None:
    """Return a cell that says yes or no, None where it says neither."""
    if isinstance(value, bool):
        return value
    word = clean(value).lower()
    return True if word in true else False if word in false else None
