"""What all banks have in common: items with labels, where they are from, a hash of the content, a table."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import pandas as pd

from psychoedu.exceptions import ItemBankError
from psychoedu.validation import counted, listed


class Item(Protocol):
    """An item of any bank."""

    @property
    def item_id(self) -> str:
        """Its label."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """What is known of it besides."""

    def content(self) -> dict[str, Any]:
        """Return what a model is asked and how the reply is scored; what the hash is of."""


ItemT = TypeVar("ItemT", bound=Item)


@dataclass(frozen=True)
class Bank(Generic[ItemT]):
    """Items in the order of their file.

    Parameters
    ----------
    items : tuple of items
        With different ``item_id``.
    source : str
        The name of the file, without its folder.

    Attributes
    ----------
    hash : str
        SHA-256 of the content, in hexadecimal digits.

    Notes
    -----
    The hash is of the kind of the bank and of the items' labels, texts, options and keys, sorted by label, as JSON in UTF-8. So
    it depends on all that a model is asked and scored by, and neither on the format of the file, nor on the order of its rows,
    nor on metadata such as levels or difficulties.
    """

    kind: ClassVar[str] = "items"

    items: tuple[ItemT, ...]
    source: str = "items"

    def __post_init__(self) -> None:
        if len(self._by_id) < len(self.items):
            labels = [item.item_id for item in self.items]
            twice = sorted({label for label in labels if labels.count(label) > 1})
            raise ItemBankError(f"{self.source}: {listed(twice)} stand for more than one item. Expected a label each.")

    @cached_property
    def _by_id(self) -> dict[str, ItemT]:
        return {item.item_id: item for item in self.items}

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the content; see the notes of the class."""
        items = [item.content() for item in sorted(self.items, key=lambda item: item.item_id)]
        content = {"kind": self.kind, "items": items}
        document = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(document.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def ids(self) -> list[str]:
        """The labels of the items."""
        return list(self._by_id)

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[ItemT]:
        return iter(self.items)

    def __getitem__(self, item_id: str) -> ItemT:
        if item_id not in self._by_id:
            raise ItemBankError(f"{self.source} has no item {item_id!r}. It has {listed(self.ids)}.")
        return self._by_id[item_id]

    def __contains__(self, item_id: object) -> bool:
        return item_id in self._by_id

    def select(self, item_ids: Iterable[str]) -> Self:
        """Return the bank of some of the items, in the order given."""
        wanted = [item_ids] if isinstance(item_ids, str) else list(item_ids)
        unknown = [label for label in wanted if label not in self._by_id]
        if unknown:
            raise ItemBankError(f"{self.source} has no item {listed(unknown)}. It has {listed(self.ids)}.")
        return replace(self, items=tuple(self._by_id[label] for label in wanted))

    def frame(self) -> pd.DataFrame:
        """Return a row an item: ``item_id``, the fields, then the metadata; the loader reads it back as the same items."""
        rows = [self._fields(item) | _flat(item.metadata) for item in self.items]
        return pd.DataFrame(rows, columns=list(dict.fromkeys(name for row in rows for name in row)))

    def _fields(self, item: ItemT) -> dict[str, Any]:
        return item.content()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({counted(len(self.items), 'item')} of {self.source}: {listed(self.ids)})"


def _flat(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, list | dict | tuple) else value
        for name, value in metadata.items()
    }
