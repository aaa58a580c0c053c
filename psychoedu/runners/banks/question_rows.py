"""Reading one row of a file as a multiple-choice question: stem, options, key, and metadata that is checked."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Mapping
from typing import Any

from psychoedu.exceptions import ItemBankError
from psychoedu.runners.banks.fields import Columns, Faults
from psychoedu.runners.banks.option_text import LETTERS, split_options
from psychoedu.runners.banks.tables import Row, as_numbers, clean, is_blank, number, parse_json
from psychoedu.validation import shown

CSE_LEVELS = range(2, 8)
"""Levels of China's Standards of English that CSEBench has items of."""

OPTION_COLUMNS = {f"option_{letter.lower()}": letter for letter in LETTERS}
"""The letter of each column of options."""

_LEVEL, _ACCURACY, _DISCRIMINATION = "cse_level", "average_accuracy", "discrimination"

COLUMNS: dict[str, tuple[str, ...]] = {
    "item_id": ("id", "item", "question_id", "item no", "item number"),
    "stem": ("item text", "question", "question text", "text"),
    "key": ("answer", "correct_answer", "answer key", "correct option"),
    **{name: (f"answer_{letter}", f"choice_{letter}", f"option {letter}", letter) for name, letter in OPTION_COLUMNS.items()},
    "options": ("choices",),
    "student_level": (),
    "subskill": (),
    "sublabel": (),
    _LEVEL: ("CSE Difficulty Level", "cse", "CSE difficulty"),
    _ACCURACY: ("accuracy",),
    _DISCRIMINATION: (),
}
"""Fields, with the names that others give their columns."""

FIELDS = ("item_id", "stem", "key", "options", *OPTION_COLUMNS)


class QuestionRows:
    """Reads the rows of one file, and remembers what of them was told by marks in the text.

    Parameters
    ----------
    columns : Columns
    faults : Faults
        What is wrong is noted there.
    n_options : int or None
        How many options there have to be.
    """

    def __init__(self, columns: Columns, faults: Faults, n_options: int | None) -> None:
        self.columns, self.faults, self.n_options = columns, faults, n_options
        self.given = [name for name in OPTION_COLUMNS if columns.has(name)]
        self.marked: list[tuple[Row, int]] = []
        absent = [name for name in list(OPTION_COLUMNS)[: len(self.given)] if name not in self.given]
        if absent:
            raise ItemBankError(
                f"{columns.table.source} has columns for {', '.join(self.given)}, but none for {absent[0]}.\n"
                f"Name it with columns={{their name: {absent[0]!r}}}."
            )

    def read(self, row: Row) -> tuple[str, tuple[str, ...], str, dict[str, Any]]:
        """Return stem, options, key and metadata of a row."""
        stem = self.columns.text(row, "stem", self.faults)
        if not stem:
            self.faults.add(row.place, "the stem is empty")
        options = self._in_columns(row)
        if stem and not options:
            stem, options = self._in_text(row, stem)
        self._check(row, options)
        key = self._key(row, options)
        return stem, options, key, self._metadata(row)

    def check_numbers(self) -> None:
        """Refuse texts with more or fewer marks than most of the file: the last may belong to a word, as in "vitamin E."."""
        counts = Counter(count for _, count in self.marked)
        if self.n_options is not None or len(counts) < 2:
            return
        usual = counts.most_common(1)[0][0]
        for row, count in self.marked:
            if count != usual:
                self.faults.add(
                    row.place, f"{count} options in the text, where most have {usual} (n_options={usual} takes just these)"
                )

    def _in_columns(self, row: Row) -> tuple[str, ...]:
        listed_ones = self._without_end(row, self._in_list(row))
        texts = self._without_end(row, [self.columns.text(row, name, self.faults) for name in self.given])
        if listed_ones and texts and listed_ones != texts:
            self.faults.add(row.place, "options differ from those in option_a, option_b, ...")
        return listed_ones or texts

    def _in_list(self, row: Row) -> list[str]:
        several = self.columns.cell(row, "options")
        if is_blank(several):
            return []
        if hasattr(several, "tolist"):
            several = several.tolist()
        if isinstance(several, str) and several.lstrip()[:1] in ("[", "{"):
            try:
                several = parse_json(several)
            except ValueError as error:
                self.faults.add(row.place, f"options is no list: {error}")
                return []
        if isinstance(several, Mapping):
            by_letter = {str(letter).strip().upper(): text for letter, text in several.items()}
            strange = [str(letter) for letter in several if str(letter).strip().upper() not in [*LETTERS]]
            if strange or len(by_letter) < len(several):
                letters = shown(strange[0]) if strange else "one letter twice"
                self.faults.add(row.place, f"options has {letters}, where each of A to {LETTERS[-1]} may stand once")
            several = [by_letter.get(letter) for letter in LETTERS]
        if not isinstance(several, list | tuple):
            self.faults.add(row.place, f"options is {shown(several)}, which is no list")
            return []
        return [self.columns.one_text(row, "an option", one, self.faults) for one in several]

    def _without_end(self, row: Row, texts: list[str]) -> tuple[str, ...]:
        while texts and not texts[-1]:
            texts.pop()
        if len(texts) > len(LETTERS):
            self.faults.add(row.place, f"{len(texts)} options, where {len(LETTERS)} are the most")
        return tuple(as_numbers(texts[: len(LETTERS)]))

    def _in_text(self, row: Row, text: str) -> tuple[str, tuple[str, ...]]:
        try:
            parts = split_options(text, self.n_options)
        except ItemBankError as error:
            self.faults.add(row.place, str(error))
            return text, ()
        if parts is None:
            wanted = "" if self.n_options is None else f"{self.n_options} "
            self.faults.add(row.place, f"no {wanted}options, neither in columns nor in the text as A. .. B. ..")
            return text, ()
        if not parts[0]:
            self.faults.add(row.place, "the stem is empty")
        self.marked.append((row, len(parts[1])))
        return parts

    def _check(self, row: Row, options: tuple[str, ...]) -> None:
        blank = [letter for letter, text in zip(LETTERS, options, strict=False) if not text]
        if blank:
            self.faults.add(row.place, f"option {', '.join(blank)} is empty")
        first: dict[str, str] = {}
        for letter, text in zip(LETTERS, options, strict=False):
            same = " ".join(text.split())
            if same in first:
                self.faults.add(row.place, f"options {first[same]} and {letter} are both {shown(text)}")
            elif same:
                first[same] = letter
        if len(options) == 1:
            self.faults.add(row.place, "one option alone")
        elif options and self.n_options is not None and len(options) != self.n_options:
            self.faults.add(row.place, f"{len(options)} options instead of {self.n_options}")

    def _key(self, row: Row, options: tuple[str, ...]) -> str:
        text = self.columns.text(row, "key", self.faults)
        if not text:
            self.faults.add(row.place, "the key is empty")
            return ""
        letter = letter_of(text, options) or letter_of(as_numbers([text])[0], options)
        if letter is None and options:
            self.faults.add(row.place, f"the key {shown(text)} is not among the options A-{LETTERS[len(options) - 1]}")
        return letter or ""

    def _metadata(self, row: Row) -> dict[str, Any]:
        found = self.columns.metadata(row, FIELDS)
        if _LEVEL in found:
            level = _level(found[_LEVEL])
            if level is None:
                self.faults.add(row.place, f"the CSE level {shown(clean(found[_LEVEL]))} is not 2 to 7")
            found[_LEVEL] = level
        for name, low, high in ((_ACCURACY, 0.0, 1.0), (_DISCRIMINATION, -math.inf, math.inf)):
            if name not in found:
                continue
            try:
                value = number(found[name])
            except ValueError:
                self.faults.add(row.place, f"{name} {shown(found[name])} is no number")
                continue
            if value is not None and not low <= value <= high:
                self.faults.add(row.place, f"{name} {shown(value)} does not lie within 0 to 1")
            found[name] = value
        return {name: value for name, value in found.items() if value is not None}


def letter_of(text: str, options: tuple[str, ...]) -> str | None:
    """Return the letter that a key means, None if none: "B", "b", "(B)", "B.", a full-width B, or the text of one option.

    Examples
    --------
    >>> letter_of("(b)", ("is", "are")), letter_of("are", ("is", "are")), letter_of("C", ("is", "are"))
    ('B', 'B', None)
    """
    plain = unicodedata.normalize("NFKC", text).strip("().:[] \t\n").upper()
    letters = LETTERS[: len(options)]
    if len(plain) == 1 and plain in letters:
        return plain
    same = [letter for letter, option in zip(letters, options, strict=True) if option == text]
    return same[0] if len(same) == 1 else None


def _level(value: Any) -> int | None:
    """Return a CSE level written as 4, "4.0", "CSE-4" or "Level 4"; None for anything else."""
    text = clean(value).upper().removeprefix("CSE").strip(" -_").removeprefix("LEVEL").strip(" -_")
    try:
        level = number(text)
    except ValueError:
        return None
    return int(level) if level is not None and level in CSE_LEVELS else None
