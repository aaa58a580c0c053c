"""Banks of pairs of student works, of which one is better, for comparative judgement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from psychoedu.runners.banks.bank import Bank
from psychoedu.runners.banks.fields import Columns, Faults, item_ids, match_columns, warn_of_repeats
from psychoedu.runners.banks.keys import with_new_keys
from psychoedu.runners.banks.tables import Row, clean, read_table
from psychoedu.validation import shown

_TEXTS = ("year_level", "subject", "achievement_standard", "task_description", "sample_a", "sample_b")
_COLUMNS: dict[str, tuple[str, ...]] = {
    "item_id": ("pair_id", "id", "item"),
    "year_level": ("year",),
    "subject": (),
    "achievement_standard": ("standard",),
    "task_description": ("task",),
    "sample_a": ("work_a", "text_a"),
    "sample_b": ("work_b", "text_b"),
    "better": ("key", "answer", "better_sample"),
}


@dataclass(frozen=True)
class Pair:
    """Two works on one task.

    Parameters
    ----------
    item_id : str
        The label of the pair.
    year_level, subject, achievement_standard, task_description : str
    sample_a, sample_b : str
        The works.
    better : {"A", "B"}
        Which of them shows the higher achievement.
    metadata : mapping
    """

    item_id: str
    year_level: str
    subject: str
    achievement_standard: str
    task_description: str
    sample_a: str
    sample_b: str
    better: str
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def swapped(self) -> Pair:
        """Return the pair in reverse order: the other work first, and the key with it."""
        return replace(self, sample_a=self.sample_b, sample_b=self.sample_a, better="B" if self.better == "A" else "A")

    def content(self) -> dict[str, Any]:
        """Return everything but the metadata."""
        return {name: getattr(self, name) for name in ("item_id", *_TEXTS, "better")}


@dataclass(frozen=True, repr=False)
class PairBank(Bank[Pair]):
    """Pairs; made by :func:`load_pairs`. See :class:`~psychoedu.runners.banks.bank.Bank`."""

    kind: ClassVar[str] = "pairs"

    items: tuple[Pair, ...]
    source: str = "items"

    def with_keys(self, keys: Mapping[str, str]) -> Self:
        """Return the bank with the other work, "A" or "B", as the better one of some pairs.

        Raises
        ------
        ItemBankError
            A pair is unknown, or a key is neither.
        """
        return with_new_keys(self, keys, "better", lambda _, value: _sample(value))


def load_pairs(path: Any, columns: Mapping[str, str] | None = None) -> PairBank:
    """Read pairs of works from CSV, XLSX, JSONL or Parquet.

    Parameters
    ----------
    path : path or DataFrame
        A row a pair. Columns, in any case: ``pair_id`` (without it the pairs become q1, q2, ...), ``year_level``, ``subject``,
        ``achievement_standard``, ``task_description``, ``sample_a``, ``sample_b``, ``better`` (A or B). Others are metadata.
    columns : mapping of str to str, optional
        {theirs: ours}.

    Returns
    -------
    PairBank

    Raises
    ------
    ItemBankError
        A column is missing, a cell blank, the two works are the same, ``better`` is neither A nor B, or a label stands twice.

    Warns
    -----
    PsychoeduWarning
        Two labels have the same works.

    Examples
    --------
    >>> import pandas as pd
    >>> row = {"year_level": "Year 3", "subject": "English", "achievement_standard": "Writes sentences.", "better": "a"}
    >>> row |= {"task_description": "Write about a pet.", "sample_a": "My dog is old. He sleeps.", "sample_b": "dog"}
    >>> load_pairs(pd.DataFrame([row])).items[0].better
    'A'
    """
    table = read_table(path)
    found = match_columns(table, _COLUMNS, (*_TEXTS, "better"), columns)
    faults = Faults(table.source, len(table.rows))
    labels = item_ids(found, "item_id", faults)
    items = [_read(found, row, label, faults) for row, label in zip(table.rows, labels, strict=True)]
    faults.check()
    bank = PairBank(tuple(items), table.source)
    warn_of_repeats(table.source, ((item.item_id, "\n".join(sorted((item.sample_a, item.sample_b)))) for item in items))
    return bank


def _read(columns: Columns, row: Row, item_id: str, faults: Faults) -> Pair:
    texts = {name: columns.required(row, name, faults) for name in _TEXTS}
    if texts["sample_a"] and texts["sample_a"].split() == texts["sample_b"].split():
        faults.add(row.place, "sample_a and sample_b are the same text")
    given = columns.required(row, "better", faults)
    better = _sample(given)
    if given and better is None:
        faults.add(row.place, f"better {shown(given)} is neither A nor B")
    return Pair(item_id, **texts, better=better or "A", metadata=columns.metadata(row, _COLUMNS))


def _sample(value: Any) -> str | None:
    letter = clean(value).upper().removeprefix("SAMPLE").strip("_ ")
    return letter if letter in ("A", "B") else None
