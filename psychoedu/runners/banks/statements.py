"""Banks of statements that are true or false, with other wordings (framings) of each, such as AlignED's neuromyths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from psychoedu.runners.banks.bank import Bank
from psychoedu.runners.banks.fields import Columns, Faults, item_ids, match_columns, read_truth, warn_of_repeats
from psychoedu.runners.banks.keys import with_new_keys
from psychoedu.runners.banks.tables import Row, clean, is_blank, read_table
from psychoedu.validation import shown

FRAMINGS = ("standard", "interrogative", "embedded", "adversarial")
"""AlignED's framings; a bank may have others."""

_PREFIX = "framing_"
_TRUE = ("true", "correct", "right", "yes", "t", "1")
_FALSE = ("false", "incorrect", "wrong", "no", "f", "0")
_MARKED = ("1", "true", "yes", "x", "*", "y")
_UNMARKED = ("", "0", "false", "no", "n", "-")
_COLUMNS: dict[str, tuple[str, ...]] = {
    "item_id": ("id", "item", "question_id"),
    "text": ("statement", "assertion", "stem"),
    "key": ("answer", "correct_answer", "key_aligned", "truth"),
    "probe": ("confidence_probe", "confidence"),
    "framings": (),
    **{f"{_PREFIX}{name}": (name,) for name in FRAMINGS},
}


@dataclass(frozen=True)
class Statement:
    """A statement to be judged correct or incorrect.

    Parameters
    ----------
    item_id : str
    text : str
    key : bool
        Whether the statement is true.
    framings : mapping of str to str
        Other wordings by name; "standard" is the text itself.
    probe : bool
        Whether confidence is asked about after the answer.
    metadata : mapping
    """

    item_id: str
    text: str
    key: bool
    framings: Mapping[str, str] = field(default_factory=dict, hash=False)
    probe: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def content(self) -> dict[str, Any]:
        """Return label, text, key, framings and probe."""
        return {
            "item_id": self.item_id,
            "text": self.text,
            "key": self.key,
            "probe": self.probe,
            "framings": dict(self.framings),
        }


@dataclass(frozen=True, repr=False)
class StatementBank(Bank[Statement]):
    """Statements; made by :func:`load_statements`. See :class:`~psychoedu.runners.banks.bank.Bank`."""

    kind: ClassVar[str] = "statements"

    items: tuple[Statement, ...]
    source: str = "items"

    @property
    def framings(self) -> tuple[str, ...]:
        """The framings that every statement has."""
        names = dict.fromkeys(name for item in self.items for name in item.framings)
        return tuple(name for name in names if all(name in item.framings for item in self.items))

    def with_keys(self, keys: Mapping[str, Any]) -> Self:
        """Return the bank with other keys for some statements.

        Parameters
        ----------
        keys : mapping of str to bool
            By item; "Correct" and "Incorrect", "True" and "False" will do.

        Raises
        ------
        ItemBankError
            An item is unknown, or a key is neither.
        """
        return with_new_keys(self, keys, "key", lambda _, value: read_truth(value, _TRUE, _FALSE))

    def _fields(self, item: Statement) -> dict[str, Any]:
        known = {"item_id": item.item_id, "text": item.text, "key": item.key, "probe": item.probe}
        return known | {f"{_PREFIX}{name}": text for name, text in item.framings.items()}


def load_statements(path: Any, columns: Mapping[str, str] | None = None) -> StatementBank:
    """Read statements from CSV, XLSX, JSONL or Parquet.

    Parameters
    ----------
    path : path or DataFrame
        A row a statement. Columns, in any case: ``item_id`` (without it the items become q1, q2, ...), ``text`` (statement),
        ``key`` (true or false, correct or incorrect, 1 or 0), ``probe`` (confidence_probe), a column ``framing_<name>`` for each
        other wording (interrogative, embedded and adversarial without the prefix, too), or ``framings``, an object. Others are
        metadata.
    columns : mapping of str to str, optional
        {theirs: ours}.

    Returns
    -------
    StatementBank

    Raises
    ------
    ItemBankError
        A column is missing, or a statement malformed: no text, no key or another one, a label twice, a standard framing that is
        not the text.

    Warns
    -----
    PsychoeduWarning
        Two labels have the same text.

    Examples
    --------
    >>> import pandas as pd
    >>> bank = load_statements(pd.DataFrame({"statement": ["Sleep helps memory."], "key": ["Correct"]}))
    >>> bank.items[0].key, bank.framings
    (True, ('standard',))
    """
    table = read_table(path)
    found = match_columns(table, _COLUMNS, ("text", "key"), columns)
    faults = Faults(table.source, len(table.rows))
    labels = item_ids(found, "item_id", faults)
    items = [_read(found, row, label, faults) for row, label in zip(table.rows, labels, strict=True)]
    faults.check()
    bank = StatementBank(tuple(items), table.source)
    warn_of_repeats(table.source, ((item.item_id, item.text) for item in items))
    return bank


def _read(columns: Columns, row: Row, item_id: str, faults: Faults) -> Statement:
    text = columns.required(row, "text", faults)
    key_cell = columns.cell(row, "key")
    key = None if is_blank(key_cell) else read_truth(key_cell, _TRUE, _FALSE)
    if key is None:
        told = "is empty" if is_blank(key_cell) else f"{shown(clean(key_cell))} is neither true nor false"
        faults.add(row.place, f"the key {told}")
    probe_cell = columns.cell(row, "probe")
    probe = read_truth(probe_cell, _MARKED, _UNMARKED)
    if probe is None:
        faults.add(row.place, f"probe {shown(clean(probe_cell))} is neither yes nor no")
    framings = _framings(columns, row, faults)
    if framings.setdefault("standard", text) != text:
        faults.add(row.place, "the standard framing differs from the text")
    names = ("standard", *(name for name in framings if name != "standard"))
    used = {"item_id", "text", "key", "probe", "framings", *(f"{_PREFIX}{name}" for name in framings)}
    used |= {name for name in columns.names.values() if name.startswith(_PREFIX)}
    return Statement(item_id, text, bool(key), {name: framings[name] for name in names}, bool(probe), columns.metadata(row, used))


def _framings(columns: Columns, row: Row, faults: Faults) -> dict[str, str]:
    given = columns.cell(row, "framings")
    if isinstance(given, Mapping):
        return {
            str(name): columns.one_text(row, f"the framing {name}", text, faults)
            for name, text in given.items()
            if not is_blank(text)
        }
    if not is_blank(given):
        faults.add(row.place, "framings is no object of texts by name")
    known = [name for name in columns.names.values() if name.startswith(_PREFIX)]
    known += [column for column in row.cells if column.startswith(_PREFIX) and column not in columns.names]
    texts = {
        name.removeprefix(_PREFIX): columns.text(row, name, faults) or clean(row.cells.get(name)) for name in dict.fromkeys(known)
    }
    return {name: text for name, text in texts.items() if text}
