"""Tables in CSV and Parquet: records, long (a row per response), wide (a row per respondent), pedagogy-benchmark's results."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from psychoedu.exceptions import MissingDependencyError, ResultsFormatError
from psychoedu.response_codes import ANSWERED, Reason
from psychoedu.runners import records_files
from psychoedu.runners.importers.content import Options, Reading, check_size, frame_of, told, too_large
from psychoedu.runners.records_frame import RECORD_COLUMNS, as_text, number_in, says_failed
from psychoedu.validation import counted, listed

_MOST_CELLS = 200_000_000
_OURS = frozenset(("run_id", "benchmark", "item_id", "model", "condition", "epoch", "reason", "score"))
_MODEL = (
    "model",
    "model_id",
    "model_name",
    "subject_id",
    "subject",
    "respondent",
    "respondent_id",
    "person",
    "learner",
    "student",
)
_ITEM = ("item_id", "item", "question_id", "question", "task_id", "task", "problem_id", "sample_id", "doc_id")
_SCORE = ("score", "correct", "is_correct", "response", "reward", "value", "accuracy", "acc")
_FURTHER = {
    "epoch": ("epoch", "run", "repeat", "trial", "iteration"),
    "condition": ("condition", "prompt", "prompting"),
    "raw_output": ("raw_output", "output", "completion"),
    "parsed": ("parsed", "answer", "prediction"),
}
_PREDICTED = "pred_"
_KEYS = ("correct answer", "correct_answer", "answer", "key")
_TEXTS = frozenset(("question", "answer_a", "answer_b", "answer_c", "answer_d", "answer_e", "answer_f", "answer_g"))
_BLANKS = frozenset(("", "na", "n/a", "nan", "null", "none", "<na>"))


def read_table(path: Path, options: Options, most_rows: int | None = None) -> tuple[pd.DataFrame, list[str]]:
    """Read a CSV or Parquet file within bounds; cells of a CSV file are text, blank ones "", its lines the table's index.

    Returns
    -------
    frame : DataFrame
    notes : list of str
        What was assumed of the file.
    """
    if records_files.is_parquet(path):
        return _read_parquet(path, options), []
    check_size(path, options.max_bytes)
    sep = separator(path)
    notes = [] if sep == "," else [f"{path.name}: fields are parted by {sep!r}."]
    return records_files.read_texts(path, sep, most_rows), notes


def separator(path: Path) -> str:
    """Return what parts the names in the first line of a file: a comma, a semicolon or a tab."""
    with path.open("rb") as file:
        first = file.readline(1 << 20).decode("utf-8-sig", "replace")
    counts = {sep: first.count(sep) for sep in (",", ";", "\t")}
    best = max(counts, key=lambda sep: counts[sep])
    return best if counts[best] else ","


def parquet_names(path: Path) -> list[str]:
    """Return the names of a Parquet file's columns."""
    with _parquet(path) as file:
        return [str(name) for name in file.schema_arrow.names]


def _read_parquet(path: Path, options: Options) -> pd.DataFrame:
    with _parquet(path) as file:
        about = file.metadata
        unpacked = sum(about.row_group(place).total_byte_size for place in range(about.num_row_groups))
        if unpacked > options.max_bytes:
            raise too_large(f"{path}, unpacked,", options.max_bytes)
        if about.num_rows * about.num_columns > _MOST_CELLS:
            raise ResultsFormatError(f"{path} has {about.num_rows:,} rows x {about.num_columns:,} columns, too many to read.")
        frame: pd.DataFrame = file.read().to_pandas(integer_object_nulls=True)
    return frame if isinstance(frame.index, pd.RangeIndex) else frame.reset_index()


@contextmanager
def _parquet(path: Path) -> Iterator[Any]:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise MissingDependencyError(
            f"{path} is a Parquet file, which needs the package pyarrow; it is not installed.\n"
            "Install it with: pip install 'psychoedu[parquet]'."
        ) from error
    try:
        with ParquetFile(path) as file:
            yield file
    except (ArrowException, OSError, ValueError) as error:
        if isinstance(error, ResultsFormatError | FileNotFoundError):
            raise
        raise ResultsFormatError(f"{path} cannot be read as Parquet ({error}). The file may be cut off.") from error


def kind_of(names: Iterable[Hashable], options: Options) -> str:
    """Return which table a header belongs to: "records", "pedagogy", "long" or "wide"."""
    labels = [str(name) for name in names]
    if set(labels) >= _OURS:
        return "records"
    if any(name.startswith(_PREDICTED) for name in labels) and "question_id" in labels:
        return "pedagogy"
    renamed = {options.columns.get(ours): ours for ours in options.columns}
    known = {renamed.get(name, name).lower() for name in labels}
    if known & set(_MODEL) and known & set(_ITEM) and known & set(_SCORE):
        return "long"
    return "wide"


def read_records(path: Path, options: Options) -> Reading:
    """Read our own records; the model that the file names stays, whatever else is asked."""
    frame, notes = read_table(path, options)
    if not records_files.is_parquet(path):
        frame = records_files.from_texts(frame, path)
    beside = path.parent / records_files.NOTES
    if path.name in (records_files.CSV, records_files.PARQUET) and beside.is_file():
        notes += beside.read_text(encoding="utf-8").splitlines()
    return Reading(frame, str(path), notes, unit=_unit(path))


def read_long(path: Path, options: Options) -> Reading:
    """Read a table with a row per response.

    Raises
    ------
    ResultsFormatError
        There is no column of models (subjects), items or scores, or a score is no number.
    """
    frame, notes = read_table(path, options)
    taken = _columns_of(frame, path, options)
    columns: dict[str, Any] = {}
    for ours, theirs in taken.items():
        columns[ours] = _blank_as_missing(frame[theirs])
    for name in frame.columns:
        if name not in taken.values() and str(name) not in columns:
            text = _is_text(frame[name]) and str(name) not in RECORD_COLUMNS
            columns[str(name)] = records_files.typed_texts(frame[name]) if text else _blank_as_missing(frame[name])
    table = pd.DataFrame(columns).astype(object)
    table["score"] = _numbers(table["score"], path, taken["score"])
    table["log_uri"] = str(path) if "log_uri" not in table else table["log_uri"]
    table = _with_reasons(table)
    if options.model is not None:
        table["model"] = options.model
    if options.max_score is not None:
        table["max_score"] = options.max_score
    renamed = {theirs: ours for ours, theirs in taken.items() if theirs != ours}
    if renamed:
        notes.append(f"{path.name}: columns renamed: {', '.join(f'{old} to {new}' for old, new in renamed.items())}.")
    return Reading(_runs_from_1(table, path, notes), str(path), notes, unit=_unit(path))


def _columns_of(frame: pd.DataFrame, path: Path, options: Options) -> dict[str, Any]:
    """Return the table's column for each of the record's, as told or by the usual names."""
    lower = {str(name).lower(): name for name in frame.columns}
    absent = [name for name in options.columns.values() if name not in frame.columns]
    if absent:
        raise ResultsFormatError(f"{path} has no column {listed(absent)} (columns=); it has {listed(list(frame.columns))}.")
    taken: dict[str, Any] = dict(options.columns)
    usual = {"model": _MODEL, "item_id": _ITEM, "score": _SCORE, **_FURTHER}
    if options.score:
        usual["score"] = tuple(name.lower() for name in options.score)
    if options.condition:
        usual["condition"] = (options.condition.lower(),)
    if options.item:
        usual["item_id"] = (options.item.lower(),)
    for ours, names in usual.items():
        found = [lower[name] for name in names if name in lower and lower[name] not in taken.values()]
        if ours not in taken and found:
            taken[ours] = found[0]
    if options.model is not None and "model" not in taken:
        taken["model"] = taken.get("item_id", frame.columns[0])  # overwritten by the model that was told
    lacking = [name for name in ("model", "item_id", "score") if name not in taken]
    if lacking:
        raise ResultsFormatError(
            f"{path} is read as a long table, but has no column for {listed(lacking)}; it has {listed(list(frame.columns))}.\n"
            "Expected a row per response; say which column is which: columns={'model': ..., 'item_id': ..., 'score': ...}."
        )
    return taken


def _is_text(column: pd.Series) -> bool:
    return column.dtype.kind not in "iufb" and all(isinstance(value, str) for value in column.dropna())


def _blank_as_missing(column: pd.Series) -> pd.Series:
    values = [None if _is_blank(value) else value for value in column.astype(object)]
    return pd.Series(values, dtype=object, index=column.index, name=column.name)


def _is_blank(value: Any) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)) or value == ""


def score_in(value: Any) -> float | None:
    """Return a cell as a score, None where it is blank; raises ValueError where it is no number."""
    if isinstance(value, str):
        text = value.strip().lower()
        if text in _BLANKS:
            return None
        return {"true": 1.0, "false": 0.0}.get(text) if text in ("true", "false") else number_in(text)
    return None if _is_blank(value) else float(value)


def _numbers(column: pd.Series, path: Path, name: Any) -> pd.Series:
    result: list[float | None] = []
    for row, value in enumerate(column):
        try:
            number = score_in(value)
        except (TypeError, ValueError, OverflowError):
            number = math.inf
        if number is not None and not math.isfinite(number):
            raise ResultsFormatError(
                f"{path} {_place(column.to_frame(), row, path)}: the score in column {name!r} is {told(value)}{_comma(value)}. "
                "Expected a number, or nothing."
            )
        result.append(number)
    return pd.Series(result, dtype=object, index=column.index, name="score")


def _with_reasons(table: pd.DataFrame) -> pd.DataFrame:
    """Say why a row has no score where the table does not: not administered, unless it says error or invalid."""
    reason = table["reason"] if "reason" in table else pd.Series([None] * len(table), dtype=object, index=table.index)
    unsaid = reason.isna() & table["score"].isna()
    if "error" in table:
        unsaid &= ~table["error"].map(says_failed).astype(bool)
    if "valid" in table:
        unsaid &= table["valid"].isna()
    table["reason"] = reason.mask(unsaid, Reason.NOT_ADMINISTERED.label)
    return table


def _runs_from_1(table: pd.DataFrame, path: Path, notes: list[str]) -> pd.DataFrame:
    """Count runs from 1 where a table counts them from 0."""
    if "epoch" not in table:
        return table
    texts = [str(value).strip() for value in table["epoch"].dropna()]
    if "0" not in texts or not all(text.isascii() and text.isdecimal() for text in texts):
        return table
    notes.append(f"{path.name}: runs numbered from 0 were numbered from 1.")
    return table.assign(epoch=table["epoch"].map(lambda value: None if value is None else int(value) + 1).astype(object))


def read_wide(path: Path, options: Options) -> Reading:
    """Read a table with a row per respondent and a column per item, the other way round with ``transposed``.

    Raises
    ------
    ResultsFormatError
        There are no labels in the first column, a label stands twice, or a cell is no number.
    """
    frame, notes = read_table(path, options)
    if frame.shape[1] < 2 or not len(frame):
        raise ResultsFormatError(
            f"{path} has {counted(len(frame), 'row')} and the columns {listed(list(frame.columns))}.\n"
            "Expected a column of labels and one per item (wide), or columns for model, item and score (long)."
        )
    first = frame.columns[0]
    labels = [as_text(value) if not _is_blank(value) else "" for value in frame[first]]
    twice = sorted(label for label, count in Counter(labels).items() if count > 1 and label)
    if twice or "" in labels:
        what = f"repeats {listed(twice)}" if twice else "has blank cells"
        raise ResultsFormatError(
            f"{path}: the first column, {first!r}, {what}; it should label the "
            f"{'items' if options.transposed else 'respondents'}. The columns are {listed(list(frame.columns))}.\n"
            "Expected a label a row; for a long table, say which column is which: columns={'model': ..., 'item_id': ..., "
            "'score': ...}."
        )
    scores = np.empty((len(labels), frame.shape[1] - 1), dtype=object)
    known: dict[Any, float | None] = {}
    for place, name in enumerate(frame.columns[1:]):
        scores[:, place] = [_cell(value, known, frame, row, name, path) for row, value in enumerate(frame[name])]
    names = np.array([str(name) for name in frame.columns[1:]], dtype=object)
    shape = scores.shape
    by_row, by_column = np.repeat(np.array(labels, dtype=object), shape[1]), np.tile(names, shape[0])
    given = scores.ravel()
    absent = np.array([score is None for score in given], dtype=bool)
    table = pd.DataFrame(
        {
            "model": by_column if options.transposed else by_row,
            "item_id": by_row if options.transposed else by_column,
            "score": given,
            "reason": np.where(absent, Reason.NOT_ADMINISTERED.label, ANSWERED).astype(object),
            "max_score": options.max_score,
            "log_uri": str(path),
        },
        index=np.repeat(frame.index.to_numpy(), shape[1]),
        dtype=object,
    )
    return Reading(table, str(path), notes, unit=_unit(path))


def _cell(value: Any, known: dict[Any, float | None], frame: pd.DataFrame, row: int, name: Any, path: Path) -> float | None:
    """Return a cell of a wide table as a score; few values occur, so each is read once."""
    if isinstance(value, str) and value in known:
        return known[value]
    try:
        score = score_in(value)
    except (TypeError, ValueError, OverflowError):
        score = math.inf
    if score is not None and not math.isfinite(score):
        raise ResultsFormatError(
            f"{path} {_place(frame, row, path)}, column {name!r}: {told(value)} is no score{_comma(value)}; the columns are "
            f"{listed(list(frame.columns))}.\n"
            "Expected numbers after the first column (wide), or columns for model, item and score (long; see columns=)."
        )
    if isinstance(value, str):
        known[value] = score
    return score


def _unit(path: Path) -> str:
    return "row" if records_files.is_parquet(path) else "line"


def _place(frame: pd.DataFrame, row: int, path: Path) -> str:
    """Return where a row stands: the line of a CSV file, as an editor counts, or the row of a Parquet file, from 1."""
    return f"row {row + 1}" if records_files.is_parquet(path) else f"line {frame.index[row]}"


def _comma(value: Any) -> str:
    """Return a hint where a comma keeps text from being a number."""
    decimal = isinstance(value, str) and re.fullmatch(r"\s*[+-]?\d*,\d+\s*", value)
    return f" (a decimal comma? write {value.strip().replace(',', '.')})" if decimal else ""


def read_pedagogy(path: Path, options: Options) -> Reading:
    """Read a results table of pedagogy-benchmark: a row per question, a column ``pred_<model>`` per model.

    A prediction equal to the key is right; one that is no letter of an option is unparsed. The texts of questions and options
    are left out: their authors ask that no item appears online.

    Raises
    ------
    ResultsFormatError
        There is no column with the key, or a question has none or stands twice.
    """
    frame, notes = read_table(path, options)
    lower = {str(name).lower(): name for name in frame.columns}
    key_name = next((lower[name] for name in _KEYS if name in lower), None)
    predicted = [name for name in frame.columns if str(name).startswith(_PREDICTED)]
    if key_name is None or "question_id" not in frame or not predicted:
        raise ResultsFormatError(
            f"{path} is no results table of pedagogy-benchmark: it has the columns {listed(list(frame.columns))}.\n"
            "Expected question_id, the correct answer, and one column pred_<model> per model."
        )
    further = [
        name
        for name in frame.columns
        if name not in (key_name, "question_id", *predicted)
        and str(name).lower() not in _TEXTS
        and not str(name).startswith("Unnamed")
    ]
    further = [name for name in further if str(name) and (options.metadata is None or name in options.metadata)]
    options_of = [(letter, lower[f"answer_{letter.lower()}"]) for letter in "ABCDEFG" if f"answer_{letter.lower()}" in lower]
    # without the texts of the options a letter is one where it is the key somewhere, or one of the usual four
    usual = "ABCD" + "".join(sorted({as_text(key).strip().upper() for key in frame[key_name]} & set("EFG")))
    rows: list[dict[str, Any]] = []
    for place in range(len(frame)):
        record = frame.iloc[place]
        question = record["question_id"]
        key = record[key_name]
        if _is_blank(question) or _is_blank(key):
            raise ResultsFormatError(
                f"{path} {_place(frame, place, path)}: without a question_id or a correct answer. Expected both in every row."
            )
        about = {str(name): None if _is_blank(record[name]) else record[name] for name in further}
        letters = "".join(letter for letter, column in options_of if not _is_blank(record[column]))
        if as_text(key).strip().upper() not in letters:
            letters = usual
        for name in predicted:
            given = "" if _is_blank(record[name]) else str(record[name]).strip()
            letter = given.upper() if len(given) == 1 and given.upper() in letters else None
            rows.append(
                {
                    **about,
                    "_line": frame.index[place],
                    "benchmark": "pedagogy-benchmark",
                    "subset": path.stem.split("_results")[0] if "_results" in path.stem else None,
                    "model": str(name).removeprefix(_PREDICTED),
                    "item_id": as_text(question),
                    "raw_output": given or None,
                    "parsed": letter,
                    "score": float(letter == str(key).strip().upper()),
                    "reason": ANSWERED if letter else Reason.UNPARSED.label,
                    "target": str(key).strip().upper(),
                    "log_uri": str(path),
                }
            )
    rows.sort(key=lambda row: predicted.index(_PREDICTED + row["model"]))
    lines = pd.Index([row.pop("_line") for row in rows])
    notes.append(f"{path.name}: texts of questions and options were not read; predictions that are no letter count as unparsed.")
    return Reading(frame_of(rows).set_axis(lines), str(path), notes, unit=_unit(path))
