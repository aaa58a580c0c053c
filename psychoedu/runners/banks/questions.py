"""Banks of multiple-choice questions: CSEBench's records, pedagogy-benchmark's, and psychoedu's own format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

from psychoedu.exceptions import ItemBankError
from psychoedu.runners.banks.bank import Bank
from psychoedu.runners.banks.fields import Faults, item_ids, match_columns, warn_of_repeats
from psychoedu.runners.banks.keys import with_new_keys
from psychoedu.runners.banks.option_text import LETTERS
from psychoedu.runners.banks.question_rows import COLUMNS, OPTION_COLUMNS, QuestionRows, letter_of
from psychoedu.runners.banks.tables import read_table
from psychoedu.validation import check_integer


@dataclass(frozen=True)
class Question:
    """A multiple-choice question.

    Parameters
    ----------
    item_id : str
    stem : str
    options : tuple of str
        Two to seven texts, in the order in which they are shown.
    key : str
        The letter of the right one.
    metadata : mapping
        Of CSEBench: ``student_level``, ``subskill``, ``sublabel``, ``cse_level`` (2 to 7), ``average_accuracy`` (0 to 1),
        ``discrimination``; else under the names of the file's columns. Blank cells are left out.

    Examples
    --------
    >>> question = Question("q1", "She ____ tea.", ("drink", "drinks"), "B")
    >>> print(question.text)
    She ____ tea.
    A. drink B. drinks
    """

    item_id: str
    stem: str
    options: tuple[str, ...]
    key: str
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def letters(self) -> str:
        """The letters of the options, such as "ABCD"."""
        return LETTERS[: len(self.options)]

    @cached_property
    def text(self) -> str:
        """Stem, line break, options on one line: what CSEBench's prompts hold."""
        options = " ".join(f"{letter}. {option}" for letter, option in zip(self.letters, self.options, strict=True))
        return f"{self.stem}\n{options}"

    def option(self, letter: str) -> str:
        """Return the text of an option."""
        return self.options[self.letters.index(letter)]

    def content(self) -> dict[str, Any]:
        """Return label, stem, options and key."""
        return {"item_id": self.item_id, "stem": self.stem, "options": list(self.options), "key": self.key}


@dataclass(frozen=True, repr=False)
class QuestionBank(Bank[Question]):
    """Multiple-choice questions; made by :func:`load_questions`. See :class:`~psychoedu.runners.banks.bank.Bank`."""

    kind: ClassVar[str] = "questions"

    items: tuple[Question, ...]
    source: str = "items"

    def key_of(self, item_id: str) -> str:
        """Return the letter of the right option."""
        return self[item_id].key

    @property
    def keys(self) -> dict[str, str]:
        """The key of every item."""
        return {item.item_id: item.key for item in self.items}

    def with_keys(self, keys: Mapping[str, str]) -> Self:
        """Return the bank with other keys for some items, whose metadata then has the ``former_key``.

        Parameters
        ----------
        keys : mapping of str to str
            A letter by item; :func:`~psychoedu.runners.banks.keys.load_keys` reads one from a file.

        Raises
        ------
        ItemBankError
            An item is unknown, or a key is not among its options.
        """
        return with_new_keys(self, keys, "key", lambda item, value: letter_of(str(value), item.options))

    @property
    def flags(self) -> dict[str, tuple[str, ...]]:
        """Items that ask for a second look, with the reason: a discrimination that is negative."""
        found = {item.item_id: item.metadata.get("discrimination") for item in self.items}
        return {label: ("negative discrimination",) for label, value in found.items() if value is not None and value < 0}

    def _fields(self, item: Question) -> dict[str, Any]:
        widest = max(len(other.options) for other in self.items)
        padded = [*item.options, *[None] * (widest - len(item.options))]
        options = dict(zip(list(OPTION_COLUMNS)[:widest], padded, strict=True))
        return {"item_id": item.item_id, "stem": item.stem, **options, "key": item.key}


def load_questions(path: Any, columns: Mapping[str, str] | None = None, n_options: int | None = None) -> QuestionBank:
    """Read multiple-choice questions from CSV, XLSX, JSONL or Parquet.

    Parameters
    ----------
    path : path or DataFrame
        A row an item. Known names of columns, in any case: ``item_id`` (id, item, question_id; without it the items become q1,
        q2, ...), ``stem`` (item text, question), ``option_a`` to ``option_g`` (answer_a, A) or ``options`` (a list), ``key``
        (answer, correct_answer), and for CSEBench student level, subskill, sublabel, CSE difficulty level, average accuracy and
        discrimination. Options may stand in the item text instead, as "A. .. B. .. C. .. D. ..". Other columns are metadata.
    columns : mapping of str to str, optional
        For other names: {theirs: ours}.
    n_options : int, optional
        How many options every item has to have.

    Returns
    -------
    QuestionBank

    Raises
    ------
    ItemBankError
        A column is missing, or an item is malformed: no stem, fewer than two options, a blank one before others, two alike, a key
        that is not among them, a label twice, a level that is not 2 to 7, an accuracy outside 0 to 1. The message has the row of
        each, as a spreadsheet shows it.
    MissingDependencyError
        The file needs openpyxl or pyarrow.

    Warns
    -----
    PsychoeduWarning
        Two labels have the same stem and options.

    Notes
    -----
    Formulas are never evaluated: "=1+1" is that text. A key may be a letter, "(b)", or the whole text of one option.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"Item text": ["She ____ tea. A. drink B. drinks C. drunk D. drinking"], "Answer": ["B"]})
    >>> load_questions(table).items[0].options
    ('drink', 'drinks', 'drunk', 'drinking')
    """
    if n_options is not None and not 2 <= check_integer(n_options, "n_options") <= len(LETTERS):
        raise ItemBankError(f"n_options has to be 2 to {len(LETTERS)}; got {n_options}.")
    table = read_table(path)
    found = match_columns(table, COLUMNS, ("stem", "key"), columns)
    faults = Faults(table.source, len(table.rows))
    rows = QuestionRows(found, faults, n_options)
    labels = item_ids(found, "item_id", faults)
    items = tuple(Question(label, *rows.read(row)) for row, label in zip(table.rows, labels, strict=True))
    rows.check_numbers()
    faults.check()
    warn_of_repeats(table.source, ((item.item_id, item.text) for item in items))
    return QuestionBank(items, table.source)
