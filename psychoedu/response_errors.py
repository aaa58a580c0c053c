"""What a message says about cells that are not understood: which codes, where, and the likely mend.

The likely mend is only ever suggested. Which code means "correct" is the user's to say.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from psychoedu._typing import AnyArray, CodeArray
from psychoedu.exceptions import ResponseCodeError
from psychoedu.response_codes import UNKNOWN
from psychoedu.validation import SHOWN, counted, listed, shown

_TEXT_CODES = {
    "0": 0, "0.0": 0, "false": 0, "f": 0, "no": 0, "n": 0, "wrong": 0, "incorrect": 0,
    "1": 1, "1.0": 1, "true": 1, "t": 1, "yes": 1, "y": 1, "right": 1, "correct": 1,
}  # fmt: skip
_OPTION_LETTERS = frozenset("ABCDEFGHabcdefgh")


@dataclass(frozen=True)
class _StrangeColumn:
    """The values of one column that are not understood."""

    label: Any
    codes: Counter[Any]
    first_row: int
    n_rows: int

    @property
    def is_text(self) -> bool:
        return all(isinstance(code, str) for code in self.codes)

    @property
    def is_like_labels(self) -> bool:
        """Whether the column looks like an id or an attribute that was left among the items."""
        if any(isinstance(code, float) and not math.isfinite(code) for code in self.codes):
            return False
        if self.is_text:
            options = len(self.codes) > 1 and all(code.strip() in _OPTION_LETTERS for code in self.codes)
            return not options and not all(_is_text_code(code) for code in self.codes)
        if not all(_is_plain_number(code) for code in self.codes):
            return True  # dates and other objects
        whole = all(float(code).is_integer() for code in self.codes)
        return whole and (len(self.codes) > 2 * SHOWN or (len(self.codes) > 2 and max(self.codes.values()) == 1))

    @property
    def is_id(self) -> bool:
        return max(self.codes.values()) == 1 and sum(self.codes.values()) >= self.n_rows - 2  # 0 and 1 may be ids as well


def _is_plain_number(code: Any) -> bool:
    return isinstance(code, int | float | np.number) and not isinstance(code, complex)


def _is_text_code(code: str) -> bool:
    return code.strip().lower() in _TEXT_CODES or _reads_as_number(code)


def _reads_as_number(code: str) -> bool:
    try:
        float(code)
    except ValueError:
        return False
    return True


def _hashable(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    try:
        hash(value)
    except TypeError:
        return type(value)  # a list or the like: only its kind is reported
    return value


def raise_for_unknown(
    codes: CodeArray, respondents: pd.Index, items: pd.Index, raw: Callable[[int], AnyArray], *, is_frame: bool = True
) -> None:
    """Raise ``ResponseCodeError`` if any cell of a wide table was not understood.

    Parameters
    ----------
    codes : ndarray of int8, shape (N, J)
    respondents, items : Index
        Labels, used in the message.
    raw : callable
        Gives the raw values of the column at a position, for the message.
    is_frame : bool
        Whether the table has columns that could be declared as something else than items.
    """
    if codes.max() != UNKNOWN:
        return
    strange = []
    for position in np.flatnonzero((codes == UNKNOWN).any(axis=0)):
        rows = np.flatnonzero(codes[:, position] == UNKNOWN)
        values = Counter(_hashable(value) for value in raw(int(position))[rows])
        strange.append(_StrangeColumn(items[int(position)], values, int(rows[0]), len(codes)))
    labelled = [column for column in strange if column.is_like_labels]
    if is_frame and labelled and len(labelled) < max(2, len(items)):
        _raise_for_label_columns(labelled)
    columns = [column.label for column in strange]
    total: Counter[Any] = Counter()
    for column in strange:
        total.update(column.codes)
    affected = codes[:, items.isin(columns)]
    found = set(total) | {score for score in (0, 1) if (affected == score).any()}
    first = strange[0]
    place = (
        f"in {counted(len(columns), 'item')} ({listed(columns)}), first for respondent {shown(respondents[first.first_row])}, "
        f"item {shown(first.label)}"
    )
    _raise_for_codes(total, found, place)


def raise_for_unknown_scores(codes: CodeArray, raw: AnyArray, respondents: AnyArray, items: AnyArray, column: Any) -> None:
    """Raise ``ResponseCodeError`` if a score of a long table was not understood; one label per row is given for the message."""
    rows = np.flatnonzero(codes == UNKNOWN)
    if not len(rows):
        return
    total = Counter(_hashable(value) for value in raw[rows])
    found = set(total) | {score for score in (0, 1) if (codes == score).any()}
    affected = pd.unique(items[rows])
    place = (
        f"in column {shown(column)} for {counted(len(affected), 'item')} ({listed(affected)}), "
        f"first for respondent {shown(respondents[rows[0]])}, item {shown(items[rows[0]])}"
    )
    _raise_for_codes(total, found, place)


def _raise_for_label_columns(columns: list[_StrangeColumn]) -> NoReturn:
    names = [column.label for column in columns]
    first = columns[0]
    kind = "text" if first.is_text else "values"
    others = f"; likewise {listed(names[1:])}" if len(names) > 1 else ""
    verb = f"holds {kind} ({listed(list(first.codes))}), not responses{others}"
    written = "[" + ", ".join(shown(name) for name in names) + "]"
    attribute = f"respondent_columns={written}"
    if first.is_id:
        mend = (
            f"It looks like an id: make it the row labels with frame.set_index({shown(first.label)}), read_csv(..., index_col=0) "
            f"or respondent={shown(first.label)}; if it describes respondents, pass {attribute}; otherwise drop it."
        )
    else:
        mend = (
            f"If it describes respondents, declare it: {attribute}; if it is their label, use "
            f"frame.set_index({shown(first.label)}); otherwise drop it."
        )
    raise ResponseCodeError(
        f"Column {shown(first.label)} {verb}.\nExpected 0 (wrong), 1 (right) or missing in every item column.\n{mend}"
    )


def _raise_for_codes(total: Counter[Any], found: set[Any], place: str) -> NoReturn:
    most = total.most_common(SHOWN)
    counts = ", ".join(f"{shown(code)} ({counted(count, 'cell')})" for code, count in most)
    if len(total) > SHOWN:
        counts += f" and {len(total) - SHOWN:,} more codes"
    ordered = sorted(found, key=lambda code: (isinstance(code, str), str(type(code)), code)) if _sortable(found) else list(found)
    codes = "{" + ", ".join(shown(code) for code in ordered[: 2 * SHOWN]) + (", ...}" if len(ordered) > 2 * SHOWN else "}")
    raise ResponseCodeError(
        f"{counted(sum(total.values()), 'cell')} cannot be read, {place}: {counts}.\n"
        f"Found codes {codes}, expected {{0, 1}} (0 wrong, 1 right, for a dichotomous model) or missing.\n" + _mend(total, found)
    )


def _sortable(codes: set[Any]) -> bool:
    return all(isinstance(code, str) or _is_plain_number(code) for code in codes)


def _mend(total: Counter[Any], found: set[Any]) -> str:
    texts = [code for code in total if isinstance(code, str)]
    if texts:
        return _mend_text(texts)
    if not all(_is_plain_number(code) for code in total):
        kinds = sorted({code.__name__ if isinstance(code, type) else type(code).__name__ for code in total})
        return f"Cells of type {', '.join(kinds)} are no responses; leave those columns out, or turn them into 0 and 1 first."
    if any(math.isinf(code) for code in total):
        return "An infinite value is no response: look for the division or the merge that made it, or drop it with replace()."
    fractions = [code for code in total if 0.0 < code < 1.0]
    if fractions:
        return (
            f"{shown(fractions[0])} is partial credit: decide on a threshold first, as in (frame >= 0.5).where(frame.notna()), "
            f"or use a polytomous model; if it stands for missing, missing_codes=({shown(fractions[0])},)."
        )
    missing = sorted(code for code in total if code < 0 or set(str(int(abs(code)))) <= {"9", "8"})
    if missing and len(missing) == len(total):
        written = ", ".join(shown(code) for code in missing[:SHOWN]) + ("," if len(missing) == 1 else "")
        reasons = f"{{{shown(missing[0])}: 'not_reached'}}"
        return f"If they stand for missing, declare them: missing_codes=({written}), or with their reasons, as {reasons}."
    scores = sorted(code for code in found if code not in missing)
    if 2 <= len(scores) <= SHOWN and not {0, 1} <= set(scores):
        pairs = ", ".join(f"{shown(code)}: {int(code == scores[-1])}" for code in scores)
        extra = f" and missing_codes=({', '.join(map(shown, missing))},) for the missing" if missing else ""
        right = shown(scores[-1])
        return f"Say which code is right, for example recode={{{pairs}}} if {right} alone is{extra}; it is never guessed."
    code = shown(next(iter(total)))
    return f"Correct the cells, or say what the codes mean: recode={{{code}: 1}}, {{{code}: 0}}, or missing_codes=({code},)."


def _mend_text(texts: list[str]) -> str:
    if all(text.strip().lower() in _TEXT_CODES for text in texts):
        pairs = ", ".join(f"{text!r}: {_TEXT_CODES[text.strip().lower()]}" for text in sorted(texts)[:SHOWN])
        return f"Text is not turned into numbers by itself: pass recode={{{pairs}}} if that is what it means."
    if all(text.strip() in _OPTION_LETTERS for text in texts):
        return "These look like chosen options: score them with the key first, as in (frame == key).where(frame.notna())."
    return f"Say what text means: recode={{{texts[0]!r}: 1, ...}}; text that marks a missing cell: missing_codes=({texts[0]!r},)."
