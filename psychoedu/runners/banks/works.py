"""Banks of single student works with their level, for standards-based grading."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from psychoedu.runners.banks.bank import Bank
from psychoedu.runners.banks.fields import Columns, Faults, item_ids, match_columns, squeeze, warn_of_repeats
from psychoedu.runners.banks.keys import with_new_keys
from psychoedu.runners.banks.tables import Row, clean, read_table
from psychoedu.runners.rules.grading import LEVELS
from psychoedu.validation import listed, shown

_TEXTS = ("year_level", "subject", "achievement_standard", "task_description", "student_work")
_COLUMNS: dict[str, tuple[str, ...]] = {
    "item_id": ("work_id", "sample_id", "id", "item"),
    "year_level": ("year",),
    "subject": (),
    "achievement_standard": ("standard",),
    "task_description": ("task",),
    "student_work": ("student_work_content", "work", "text", "sample"),
    "level": ("key", "answer", "grade", "classification"),
}
_LEVELS = {
    **{squeeze(level): level for level in LEVELS},
    "below": "BELOW_SATISFACTORY",
    "at": "SATISFACTORY",
    "above": "ABOVE_SATISFACTORY",
}


@dataclass(frozen=True)
class StudentWork:
    """A work on a task, with its level.

    Parameters
    ----------
    item_id : str
    year_level, subject, achievement_standard, task_description, student_work : str
    level : {"BELOW_SATISFACTORY", "SATISFACTORY", "ABOVE_SATISFACTORY"}
    metadata : mapping
    """

    item_id: str
    year_level: str
    subject: str
    achievement_standard: str
    task_description: str
    student_work: str
    level: str
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def content(self) -> dict[str, Any]:
        """Return everything but the metadata."""
        return {name: getattr(self, name) for name in ("item_id", *_TEXTS, "level")}


@dataclass(frozen=True, repr=False)
class WorkBank(Bank[StudentWork]):
    """Student works; made by :func:`load_works`. See :class:`~psychoedu.runners.banks.bank.Bank`."""

    kind: ClassVar[str] = "works"

    items: tuple[StudentWork, ...]
    source: str = "items"

    def with_keys(self, keys: Mapping[str, str]) -> Self:
        """Return the bank with other levels for some works.

        Raises
        ------
        ItemBankError
            A work is unknown, or a level is none.
        """
        return with_new_keys(self, keys, "level", lambda _, value: _level(value))


def load_works(path: Any, columns: Mapping[str, str] | None = None) -> WorkBank:
    """Read single student works from CSV, XLSX, JSONL or Parquet.

    Parameters
    ----------
    path : path or DataFrame
        A row a work. Columns, in any case: ``work_id`` (without it the works become q1, q2, ...), ``year_level``, ``subject``,
        ``achievement_standard``, ``task_description``, ``student_work`` (student_work_content), ``level`` (below, at or above
        satisfactory, in any spelling of AlignED's three). Others are metadata.
    columns : mapping of str to str, optional
        {theirs: ours}.

    Returns
    -------
    WorkBank

    Raises
    ------
    ItemBankError
        A column is missing, a cell blank, a level unknown, or a label stands twice.

    Warns
    -----
    PsychoeduWarning
        Two labels have the same work.

    Examples
    --------
    >>> import pandas as pd
    >>> row = {"year_level": "Year 3", "subject": "English", "achievement_standard": "Writes sentences.", "level": "above"}
    >>> row |= {"task_description": "Write about a pet.", "student_work": "My dog is old. He sleeps all day."}
    >>> load_works(pd.DataFrame([row])).items[0].level
    'ABOVE_SATISFACTORY'
    """
    table = read_table(path)
    found = match_columns(table, _COLUMNS, (*_TEXTS, "level"), columns)
    faults = Faults(table.source, len(table.rows))
    labels = item_ids(found, "item_id", faults)
    items = [_read(found, row, label, faults) for row, label in zip(table.rows, labels, strict=True)]
    faults.check()
    bank = WorkBank(tuple(items), table.source)
    warn_of_repeats(table.source, ((item.item_id, item.student_work) for item in items))
    return bank


def _read(columns: Columns, row: Row, item_id: str, faults: Faults) -> StudentWork:
    texts = {name: columns.required(row, name, faults) for name in _TEXTS}
    given = columns.required(row, "level", faults)
    level = _level(given)
    if given and level is None:
        faults.add(row.place, f"the level {shown(given)} is none of {listed(LEVELS)}")
    return StudentWork(item_id, **texts, level=level or LEVELS[0], metadata=columns.metadata(row, _COLUMNS))


def _level(value: Any) -> str | None:
    return _LEVELS.get(squeeze(clean(value)))
