"""Other keys for some items, as data: a table of item, key and the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from psychoedu.exceptions import ItemBankError
from psychoedu.runners.banks.bank import Bank
from psychoedu.runners.banks.fields import Faults, item_ids, match_columns
from psychoedu.runners.banks.tables import read_table
from psychoedu.validation import SHOWN, counted, listed, shown

BankT = TypeVar("BankT", bound=Bank[Any])

_COLUMNS = {
    "item_id": ("id", "item", "question_id"),
    "key": ("answer", "correct_answer", "new key", "answer key"),
    "reason": ("note", "comment", "rationale"),
}


@dataclass(frozen=True)
class KeyTable(Mapping[str, str]):
    """Keys by item, with the reasons for them; made by :func:`load_keys`.

    Parameters
    ----------
    keys_of : mapping of str to str
    source : str
    reasons : mapping of str to str
        Items without a reason are absent.
    """

    keys_of: Mapping[str, str]
    source: str = "keys"
    reasons: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, item_id: str) -> str:
        return self.keys_of[item_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys_of)

    def __len__(self) -> int:
        return len(self.keys_of)


def load_keys(path: Any, columns: Mapping[str, str] | None = None) -> KeyTable:
    """Read a table of other keys.

    Parameters
    ----------
    path : path or DataFrame
        CSV, XLSX, JSONL or Parquet with the columns ``item_id``, ``key`` and perhaps ``reason``.
    columns : mapping of str to str, optional
        {theirs: ours}.

    Returns
    -------
    KeyTable
        For ``with_keys`` of a bank, which knows what a key may be.

    Raises
    ------
    ItemBankError
        A column is missing, a key is blank, or an item stands in two rows.

    Examples
    --------
    >>> import pandas as pd
    >>> dict(load_keys(pd.DataFrame({"item_id": ["q7"], "key": ["C"], "reason": ["B is not English"]})))
    {'q7': 'C'}
    """
    table = read_table(path)
    found = match_columns(table, _COLUMNS, ("item_id", "key"), columns)
    faults = Faults(table.source, len(table.rows))
    keys, reasons = {}, {}
    for row, label in zip(table.rows, item_ids(found, "item_id", faults), strict=True):
        keys[label] = found.text(row, "key", faults)
        if not keys[label]:
            faults.add(row.place, "the key is empty")
        reason = found.text(row, "reason", faults)
        if reason:
            reasons[label] = reason
    faults.check()
    return KeyTable(keys, table.source, reasons)


def with_new_keys(bank: BankT, keys: Mapping[str, Any], name: str, read: Callable[[Any, Any], Any]) -> BankT:
    """Return a bank with other keys for some of its items, and what they were before as ``former_key`` in the metadata.

    Parameters
    ----------
    bank : Bank
    keys : mapping
        A key by item.
    name : str
        The field of an item that is the key.
    read : callable
        ``read(item, value)``: the key as the bank stores it, None if the item cannot have it.

    Raises
    ------
    ItemBankError
        An item is unknown, or a key is none.
    """
    if not isinstance(keys, Mapping):
        raise ItemBankError(f"keys has to be a mapping of items to keys; got {keys!r}. load_keys reads one from a file.")
    source = getattr(keys, "source", "keys")
    unknown = [label for label in keys if label not in bank]
    if unknown:
        raise ItemBankError(f"{source} has keys for {listed(unknown)}, which {bank.source} has not. It has {listed(bank.ids)}.")
    new = {label: read(bank[label], value) for label, value in keys.items()}
    wrong = [f"{label}: {shown(keys[label])}" for label, key in new.items() if key is None]
    if wrong:
        more = f" and {len(wrong) - SHOWN:,} more" if len(wrong) > SHOWN else ""
        raise ItemBankError(
            f"{source}: {counted(len(wrong), 'key')} that the item cannot have: {', '.join(wrong[:SHOWN])}{more}."
        )
    items = []
    for item in bank.items:
        former = getattr(item, name)
        if new.get(item.item_id, former) == former:
            items.append(item)
        else:
            items.append(replace(item, **{name: new[item.item_id], "metadata": {**item.metadata, "former_key": former}}))
    n_changed = sum(one is not other for one, other in zip(items, bank.items, strict=True))
    if not n_changed:
        return bank
    return replace(bank, items=tuple(items), source=f"{bank.source} with {counted(n_changed, 'other key')}")
