"""From tables, arrays and files to the parts of a response matrix: codes, labels, tables beside the axes, repeats.

Nothing given by the user is modified, nothing is transposed, and no coding is guessed.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import AnyArray, BoolArray, CodeArray, IntArray
from psychoedu.exceptions import DataError, LabelError, RepeatsError, ResponseCodeError
from psychoedu.response_codes import (
    ANSWERED,
    UNKNOWN,
    CodeRules,
    Reason,
    as_reason,
    encode_array,
    encode_frame,
)
from psychoedu.response_errors import raise_for_unknown, raise_for_unknown_scores
from psychoedu.response_repeats import order_runs
from psychoedu.validation import check_columns, check_labels, check_not_empty, counted, listed, shown

Columns = Sequence[Hashable] | str | None
_ANSWERED_EXPLICITLY = 2
_TRUTH = {"True": 1, "False": 0, "true": 1, "false": 0}


@dataclass(frozen=True)
class Parts:
    """What a response matrix is made of; None where labels are the default ones."""

    codes: CodeArray
    respondents: pd.DataFrame | None = None
    items: pd.DataFrame | None = None
    answers: IntArray | None = None
    repeat_labels: pd.Index | None = None


def read_array(values: Any, respondents: Any, items: Any, rules: CodeRules) -> Parts:
    """Read a two-dimensional array or nested list, masked or not."""
    mask: BoolArray | None = None
    if isinstance(values, np.ma.MaskedArray):
        mask = None if values.mask is np.ma.nomask else np.ma.getmaskarray(values)
        array = np.asarray(values.data)
    elif isinstance(values, np.ndarray):
        array = np.asarray(values)
    elif isinstance(values, list | tuple):
        try:
            array = np.array(values, dtype=object)
        except ValueError as error:
            raise DataError("The rows of the nested list have different lengths; expected one value per item in each.") from error
    else:
        raise DataError(
            f"Expected a ResponseMatrix, a pandas DataFrame or a 2-D array (respondents x items); got {type(values).__name__}. "
            "Other frames: convert with .to_pandas()."
        )
    if array.ndim == 1 and any(isinstance(row, list | tuple) for row in array):
        raise DataError("The rows of the nested list have different lengths; expected one value per item in each.")
    if array.ndim != 2:
        hint = {
            1: "One respondent: values.reshape(1, -1); one item: values.reshape(-1, 1).",
            3: "Repeats: give them in long format with ResponseMatrix.from_long(..., repeat=).",
        }.get(array.ndim, "")
        raise DataError(f"Expected a table of respondents x items; got an array of shape {array.shape}. {hint}".rstrip())
    check_not_empty(array.shape)
    codes = encode_array(array, rules, mask)
    row_labels = _labels_for(respondents, array.shape[0], "respondent")
    item_labels = _labels_for(items, array.shape[1], "item")
    if codes.max() == UNKNOWN:
        raise_for_unknown(
            codes,
            default_labels(array.shape[0], "respondent") if row_labels is None else row_labels,
            default_labels(array.shape[1], "item") if item_labels is None else item_labels,
            lambda column: array[:, column],
            is_frame=False,
        )
    return Parts(
        codes,
        None if row_labels is None else pd.DataFrame(index=row_labels),
        None if item_labels is None else pd.DataFrame(index=item_labels),
    )


@lru_cache(maxsize=16)
def default_labels(count: int, axis: str) -> pd.Index:
    """Return the labels of an axis that has none: respondents 1, 2, ...; items q1, q2, ..."""
    if axis == "respondent":
        return pd.RangeIndex(1, count + 1, name=axis)
    return pd.Index([f"q{number}" for number in range(1, count + 1)], name=axis)


def _labels_for(labels: Any, count: int, axis: str) -> pd.Index | None:
    if labels is None:
        return None
    index = check_labels(labels if isinstance(labels, pd.Index) else pd.Index(list(labels), tupleize_cols=False), axis)
    if len(index) != count:
        raise LabelError(f"{counted(len(index), axis + ' label')} for {count:,} {axis}s; expected one label each.")
    return index


def read_wide(
    frame: pd.DataFrame, items: Columns, respondent: Hashable | None, respondent_columns: Columns, rules: CodeRules
) -> Parts:
    """Read a frame with a row per respondent and a column per item."""
    check_not_empty(frame.shape)
    check_labels(frame.columns, "item")
    attributes = check_columns(frame, _several(respondent_columns), "respondent_columns")
    beside = list(attributes) if respondent is None else [*attributes, *check_columns(frame, [respondent], "respondent")]
    if items is None:
        positions = np.flatnonzero(~frame.columns.isin(beside)) if beside else np.arange(frame.shape[1])
    else:
        names = check_columns(frame, _several(items), "items")
        both = [name for name in names if name in beside]
        if both or len(set(names)) < len(names):
            raise LabelError(f"items names a column twice, or one that describes respondents: {listed(both or names)}.")
        positions = frame.columns.get_indexer(pd.Index(names, tupleize_cols=False))
    check_not_empty((len(frame), len(positions)))
    run_on = positions[-1] - positions[0] == len(positions) - 1 and bool((np.diff(positions) == 1).all())
    # neighbouring columns are a view; a selection in any other order has to be copied
    part = frame.iloc[:, positions[0] : positions[-1] + 1] if run_on else frame.iloc[:, positions]
    item_labels = check_labels(part.columns, "item")
    labels = pd.Index(frame[respondent]) if respondent is not None else frame.index
    respondent_labels = check_labels(labels, "respondent")
    codes = encode_frame(part, rules)
    raise_for_unknown(codes, respondent_labels, item_labels, lambda column: part.iloc[:, column].astype(object).to_numpy())
    table = frame[attributes].copy()
    table.index = respondent_labels
    table.columns.name = None
    return Parts(codes, table, pd.DataFrame(index=item_labels))


def _several(names: Columns) -> list[Hashable]:
    if names is None:
        return []
    return [names] if isinstance(names, str) else list(names)


@dataclass(frozen=True)
class LongColumns:
    """Which column of a long table holds what."""

    respondent: str | Sequence[str]
    item: Hashable
    score: Hashable | None = None
    answer: Hashable | None = None
    key: Hashable | Mapping[Any, Any] | None = None
    reason: Hashable | None = None
    valid: Hashable | None = None
    repeat: Hashable | None = None
    respondent_columns: Columns = None
    item_columns: Columns = None


def read_long(frame: pd.DataFrame, columns: LongColumns, may_number_repeats: bool, rules: CodeRules) -> Parts:
    """Read a frame with a row per respondent, item and run."""
    if not len(frame):
        raise DataError(
            "The long table is empty: 0 rows. Expected a row per respondent and item; check the filter or file it came from."
        )
    if not frame.columns.is_unique:
        check_labels(frame.columns, "item")
    names = [columns.respondent] if isinstance(columns.respondent, str | int) else list(columns.respondent)
    given = [columns.item, columns.score, columns.answer, columns.reason, columns.valid, columns.repeat]
    key_column = [] if columns.key is None or isinstance(columns.key, Mapping) else [columns.key]
    check_columns(frame, [*names, *(name for name in given if name is not None), *key_column], "from_long")
    respondent_of, respondents = _numbered(_joined(frame, names), "respondent")
    item_of, items = _numbered(frame[columns.item], "item")
    cells = _Cells(frame, columns, respondents.take(respondent_of).to_numpy(), items.take(item_of).to_numpy())
    codes = cells.codes(rules)

    run_of, run_labels = _runs(frame, columns, respondent_of, item_of, respondents, items, may_number_repeats)
    shape = (len(respondents), len(items), 1 if run_labels is None else len(run_labels))
    table = np.full(shape, Reason.NOT_ADMINISTERED, dtype=np.int8)
    table[respondent_of, item_of, run_of] = codes
    answers = None
    if run_labels is not None and columns.answer is not None:
        answers = np.full(shape, -1, dtype=np.int32)
        answers[respondent_of, item_of, run_of] = pd.factorize(cells.answers())[0]
    attributes = list(dict.fromkeys([*(names if len(names) > 1 else []), *_several(columns.respondent_columns)]))
    return Parts(
        table,
        _attributes(frame, attributes, respondent_of, respondents, "respondent"),
        _attributes(frame, _several(columns.item_columns), item_of, items, "item"),
        answers,  # type: ignore[arg-type]
        run_labels,
    )


def _joined(frame: pd.DataFrame, names: list[str]) -> pd.Series:
    if len(names) == 1:
        return frame[names[0]]
    parts = [frame[name] for name in names]
    absent = pd.concat([part.isna() for part in parts], axis=1).any(axis=1).to_numpy()
    joined = parts[0].astype(str)
    for part in parts[1:]:
        joined = joined + " / " + part.astype(str)
    return joined.astype(object).mask(absent)


def _numbered(labels: pd.Series, axis: str) -> tuple[IntArray, pd.Index]:
    """Give the labels of a long table numbers, in the order in which they first occur."""
    positions, index = pd.factorize(labels)
    blank = np.flatnonzero(positions < 0)
    if len(blank):
        raise LabelError(
            f"{counted(len(blank), 'row')} without {'a respondent' if axis == 'respondent' else 'an item'} in column "
            f"{shown(labels.name)}, at rows {listed(labels.index[blank])}.\n"
            "Expected a label in every row; fill it in or drop the rows."
        )
    return np.asarray(positions, dtype=np.int64), check_labels(pd.Index(index), axis)


@dataclass(frozen=True)
class _Cells:
    """The rows of a long table on their way to codes."""

    frame: pd.DataFrame
    columns: LongColumns
    respondents: AnyArray
    items: AnyArray

    def answers(self) -> pd.Series:
        """Return the answers, blank ones as missing."""
        column = self.frame[self.columns.answer].astype(object)
        return column.mask(column.map(lambda value: isinstance(value, str) and not value.strip()).astype(bool))

    def codes(self, rules: CodeRules) -> CodeArray:
        """Combine score, answer, validity and reason of every row into its code."""
        reasons = self._reasons()
        invalid = reasons < 0
        answered = None if self.columns.answer is None else self.answers().notna().to_numpy()
        codes = self._scores(rules)
        given = codes >= 0
        self._refuse((codes == 1) & invalid, "scored right, yet with a reason not to be scored")
        self._refuse((codes < 0) & (reasons == _ANSWERED_EXPLICITLY), f"with the reason {ANSWERED!r}, but without a score")
        if answered is not None:
            self._refuse((codes == 1) & ~answered, "scored right without an answer")
            declared = codes < Reason.NOT_ADMINISTERED
            self._refuse(answered & ~given & ~invalid & ~declared, "with an answer, but neither a score nor a reason")
            codes[given & ~answered] = Reason.UNPARSED
        codes[invalid] = reasons[invalid]
        return codes

    def _scores(self, rules: CodeRules) -> CodeArray:
        if self.columns.score is not None:
            column = self.frame[self.columns.score]
            codes = encode_frame(column.to_frame(), rules)[:, 0]
            raise_for_unknown_scores(codes, column.astype(object).to_numpy(), self.respondents, self.items, self.columns.score)
            return codes
        if self.columns.answer is None or self.columns.key is None:
            raise DataError(
                "from_long needs the column of the scores (score=), or those of the answers and of the key (answer=, key=)."
            )
        answers = self.answers()
        if isinstance(self.columns.key, Mapping):
            key = pd.Series(self.items, index=answers.index, dtype=object).map(dict(self.columns.key))
        else:
            key = self.frame[self.columns.key].astype(object)
        self._refuse(key.isna().to_numpy(), "on an item without a key")
        given = answers.notna().to_numpy()
        right = np.zeros(len(answers), dtype=np.int8)
        right[given] = answers.to_numpy()[given] == key.to_numpy()[given]
        if not right.any() and (answers[given].astype(str) == key[given].astype(str)).any():
            raise ResponseCodeError(
                f"Answers and key differ in type alone (text or number): {listed(answers[given].to_numpy())} against "
                f"{listed(key.to_numpy())}.\nExpected the same type in both; convert one of them, as with astype(str)."
            )
        return right

    def _reasons(self) -> IntArray:
        """Return each row's reason, 0 where there is none, ``_ANSWERED_EXPLICITLY`` where it says so."""
        reasons = np.zeros(len(self.frame), dtype=np.int64)
        if self.columns.valid is not None:
            column = self.frame[self.columns.valid]
            valid = encode_frame(column.to_frame(), CodeRules.build(recode=_TRUTH))[:, 0]
            raise_for_unknown_scores(valid, column.astype(object).to_numpy(), self.respondents, self.items, self.columns.valid)
            reasons[valid == 0] = Reason.UNPARSED
        if self.columns.reason is not None:
            positions, different = pd.factorize(self.frame[self.columns.reason].astype(object))
            table = np.array([*(self._reason_code(value) for value in different), 0])
            stated = table[positions]
            reasons = np.where(stated != 0, stated, reasons)
        return reasons

    def _reason_code(self, value: object) -> int:
        try:
            reason = as_reason(value)
        except DataError as error:
            raise ResponseCodeError(f"Column {shown(self.columns.reason)}: {error}") from error
        if reason is not None:
            return int(reason)
        return _ANSWERED_EXPLICITLY if isinstance(value, str) and value.strip() else 0

    def _refuse(self, wrong: BoolArray, what: str) -> None:
        rows = np.flatnonzero(wrong)
        if not len(rows):
            return
        raise ResponseCodeError(
            f"{counted(len(rows), 'row')} of the long table {what}: rows {listed(self.frame.index[rows])}, first respondent "
            f"{shown(self.respondents[rows[0]])}, item {shown(self.items[rows[0]])}.\n"
            "Expected a score of 0 or 1, or a reason why there is none, in each row; correct or drop these rows."
        )


def _runs(
    frame: pd.DataFrame,
    columns: LongColumns,
    respondent_of: IntArray,
    item_of: IntArray,
    respondents: pd.Index,
    items: pd.Index,
    may_number: bool,
) -> tuple[IntArray, pd.Index | None]:
    """Return the run of every row, and the runs' labels or None where no cell has two."""
    cell_of = respondent_of * len(items) + item_of
    order = np.argsort(cell_of, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(cell_of[order]) != 0])
    sizes = np.diff(np.r_[starts, len(order)])
    none = np.zeros(len(frame), dtype=np.int64)

    def refuse(cells: IntArray, what: str, hint: str) -> None:
        pairs = [f"({shown(respondents[cell // len(items)])}, {shown(items[cell % len(items)])})" for cell in cells[:5]]
        more = f" and {len(cells) - 5:,} more" if len(cells) > 5 else ""
        raise RepeatsError(
            f"{counted(len(cells), 'pair')} of respondent and item {what}: {', '.join(pairs)}{more}.\n"
            f"Expected one row each. {hint}"
        )

    if columns.repeat is not None:
        run_of, labels = order_runs(frame[columns.repeat])
        if (run_of < 0).any():
            blank = frame.index[run_of < 0]
            raise LabelError(
                f"{counted(len(blank), 'row')} without a run in column {shown(columns.repeat)} (rows {listed(blank)}); "
                "expected the number of the run in every row."
            )
        run_cells = pd.Series(cell_of * len(labels) + run_of)
        twice = run_cells[run_cells.duplicated()]
        if len(twice):
            refuse(
                np.unique(twice.to_numpy() // len(labels)),
                f"found more than once in one run (column {shown(columns.repeat)})",
                "Drop the double rows; if they differ by condition, pass respondent=['model', 'condition'].",
            )
        return (run_of, labels.rename("repeat")) if sizes.max() > 1 else (none, None)
    if sizes.max() == 1:
        return none, None
    if not may_number:
        refuse(
            cell_of[order][starts[sizes > 1]],
            f"found more than once (up to {sizes.max()} times)",
            "If they are runs, name their column (repeat=) or say how to reduce them: repeats='majority', 'mean' or 'first'; "
            "if they differ by condition, pass respondent=['model', 'condition'].",
        )
    run_of = none
    run_of[order] = np.arange(len(order)) - np.repeat(starts, sizes)
    return run_of, pd.RangeIndex(1, int(sizes.max()) + 1, name="repeat")


def _attributes(frame: pd.DataFrame, names: list[Hashable], row_of: IntArray, labels: pd.Index, axis: str) -> pd.DataFrame:
    """Collect what describes respondents or items, and refuse attributes that change within one of them."""
    table = pd.DataFrame(index=labels)
    for name in check_columns(frame, names, f"{axis}_columns"):
        values = frame[name]
        known = values.notna().to_numpy()
        different = pd.DataFrame({"row": row_of[known], "value": pd.factorize(values[known])[0]}).drop_duplicates()
        changing = different["row"][different["row"].duplicated()].unique()
        if len(changing):
            raise LabelError(
                f"Column {shown(name)} has more than one value for {counted(len(changing), axis)}: {listed(labels[changing])}.\n"
                f"Expected one value per {axis}; an attribute that changes belongs to the label, "
                f"as in respondent=['model', 'condition'], or elsewhere."
            )
        rows = np.flatnonzero(known)
        owners, firsts = np.unique(row_of[rows], return_index=True)
        source = np.full(len(labels), -1, dtype=np.int64)
        source[owners] = rows[firsts]
        taken = values.reset_index(drop=True).reindex(source)
        taken.index = labels
        table[name] = taken
    return table


def align_table(table: pd.DataFrame | None, labels: pd.Index, axis: str) -> pd.DataFrame | None:
    """Bring a table of attributes into the order of the labels; rows for other labels are left out."""
    if table is None:
        return None
    if not isinstance(table, pd.DataFrame):
        raise DataError(f"{axis}_table has to be a DataFrame with the {axis} labels as its index; got {type(table).__name__}.")
    if axis in table.columns:
        table = table.set_index(axis)
    check_labels(table.index, axis)
    absent = labels[~labels.isin(table.index)]
    if len(absent):
        raise LabelError(
            f"{axis}_table lacks {counted(len(absent), axis)}: {listed(absent)}.\n"
            f"Expected a row for each of the {len(labels):,} {axis}s, found by label (index, or a column {axis!r}): "
            f"it has {listed(table.index)}."
        )
    return table.reindex(labels)
