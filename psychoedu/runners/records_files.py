"""Files of records: Parquet, which keeps every type, and CSV, which everything reads."""

from __future__ import annotations

import csv
import importlib.util
import io
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from psychoedu.exceptions import FileFormatError, ResultsFormatError
from psychoedu.runners.records_frame import RECORD_COLUMNS, refuse_of_file
from psychoedu.validation import listed

PARQUET, CSV, NOTES = "records.parquet", "records.csv", "records_notes.txt"
_TRUTHS = {"True": True, "False": False}


def has_pyarrow() -> bool:
    """Return whether Parquet files can be written and read here."""
    return importlib.util.find_spec("pyarrow") is not None


def save(frame: pd.DataFrame, notes: Sequence[str], folder: str | Path) -> list[Path]:
    """Write the files and return their paths; see :meth:`~psychoedu.runners.records.Records.save`."""
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise FileFormatError(f"{target} is a file; expected the name of a folder for the records.")
    target.mkdir(parents=True, exist_ok=True)
    written = []
    if has_pyarrow():
        frame.to_parquet(target / PARQUET, index=False)
        written.append(target / PARQUET)
    else:  # an older file would contradict the CSV beside it
        (target / PARQUET).unlink(missing_ok=True)
    # text is quoted throughout: a reply may hold a lone carriage return, which csv would leave bare
    frame.to_csv(target / CSV, index=False, encoding="utf-8", lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    written.append(target / CSV)
    if notes:
        (target / NOTES).write_text("\n".join(note.replace("\n", " ") for note in notes) + "\n", encoding="utf-8")
        written.append(target / NOTES)
    else:
        (target / NOTES).unlink(missing_ok=True)
    return written


def read(path: str | Path) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Read the table and the notes of a folder of records, or of one of its files."""
    place = _table_at(Path(path))
    frame = _read_parquet(place) if is_parquet(place) else from_texts(read_texts(place), place)
    beside = place.parent / NOTES
    notes = beside.read_text(encoding="utf-8").splitlines() if beside.is_file() and place.name in (PARQUET, CSV) else []
    return frame, tuple(notes)


def _table_at(place: Path) -> Path:
    """Return the file of a folder of records that is read; a file stands for itself."""
    if place.is_dir():
        there = [place / name for name in (PARQUET, CSV) if (place / name).is_file()]
        if not there:
            raise ResultsFormatError(f"{place} holds neither {PARQUET} nor {CSV}; expected a folder that Records.save() wrote.")
        return there[0] if there[0].name == CSV or has_pyarrow() else there[-1]
    return place


def refuse(path: str | Path, frame: pd.DataFrame) -> None:
    """Raise what is wrong with the records of a file, with its name and lines, if anything is."""
    refuse_of_file(frame, str(_table_at(Path(path))), "row" if isinstance(frame.index, pd.RangeIndex) else "line")


def is_parquet(path: Path) -> bool:
    """Return whether a file says of itself that it is Parquet."""
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def _read_parquet(path: Path) -> pd.DataFrame:
    from psychoedu.response_files import read_parquet_table

    try:
        return read_parquet_table(path)
    except FileFormatError as error:
        raise ResultsFormatError(str(error)) from error


def read_texts(path: Path, sep: str = ",", most_rows: int | None = None) -> pd.DataFrame:
    """Read a CSV file as text throughout, blank cells as "", or say in which line it breaks off.

    The table's index holds the line in which each row begins. ``most_rows`` stops early.

    Raises
    ------
    ResultsFormatError
        The file is not UTF-8, names a column twice or not at all, or has a line with more or fewer fields than names.
    """
    with path.open("rb") as file:
        content = file.read()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ResultsFormatError(f"{path} line {line}: not UTF-8 ({error.reason}). Save the file as UTF-8.") from error
    if not text.strip():
        raise ResultsFormatError(f"{path} is empty. Expected a line of column names and a line per record.")
    names, rows, lines = _split(text, path, sep, most_rows)
    if not rows:
        return pd.DataFrame({name: pd.Series([], dtype=object) for name in names})
    cells = np.empty((len(rows), len(names)), dtype=object)
    cells[:] = rows
    return pd.DataFrame(cells, columns=pd.Index(names, dtype=object), index=pd.Index(lines), dtype=object)


def _split(text: str, path: Path, sep: str, most_rows: int | None) -> tuple[list[str], list[list[str]], list[int]]:
    """Return the names in the first line, the fields of the others, and the line in which each of these begins."""
    longest = csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))  # replies may be longer than csv's own limit
    names: list[str] | None = None
    rows: list[list[str]] = []
    lines: list[int] = []
    begin = 1
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=sep, strict=True)
    try:
        for fields in reader:
            line, begin = begin, reader.line_num + 1
            if not fields:
                continue
            if names is None:
                names = [name.strip() for name in fields]
                _check_header(names, path)
            elif len(fields) != len(names):
                raise ResultsFormatError(
                    f"{path} line {reader.line_num}: {len(fields)} fields, but line 1 names {len(names)}.\n"
                    "Expected a value or an empty field for every column; the file may be cut off."
                )
            else:
                rows.append(fields)
                lines.append(line)
                if len(rows) == most_rows:
                    break
    except csv.Error as error:
        raise ResultsFormatError(
            f"{path} line {reader.line_num}: not CSV ({error}). Expected quotes that are closed; the file may be cut off."
        ) from error
    finally:
        csv.field_size_limit(longest)
    return names or [], rows, lines


def _check_header(names: list[str], path: Path) -> None:
    blank = [place for place, name in enumerate(names, start=1) if not name]
    twice = sorted(name for name, count in Counter(names).items() if count > 1 and name)
    if twice:
        raise ResultsFormatError(f"{path} line 1: the column names {listed(twice)} stand there twice. Expected each once.")
    if blank and blank != [1]:  # a nameless first column is an index that a program wrote along
        raise ResultsFormatError(f"{path} line 1: no name for column {listed(blank)}. Expected a name for each.")


def from_texts(texts: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Give the columns of a CSV file of records back their types.

    A blank cell is missing; a blank ``raw_output`` of an empty answer is "". Further columns are numbers or truths where that
    loses nothing.
    """
    columns: dict[str, pd.Series] = {}
    for name in texts.columns:
        column = texts[name].astype(object)
        blank = column == ""
        columns[name] = column.mask(blank, None) if name in RECORD_COLUMNS else typed_texts(column)
    if "raw_output" in columns and "reason" in columns:
        empty = texts["reason"].eq("empty") & texts["raw_output"].eq("")
        columns["raw_output"] = columns["raw_output"].mask(empty, "")
    if not len(texts):
        raise ResultsFormatError(f"{path} holds column names and nothing else. Expected a line per record.")
    return pd.DataFrame(columns)


def typed_texts(column: pd.Series) -> pd.Series:
    """Turn text into whole numbers, numbers or truths where writing them back gives the same text; "007" stays text."""
    known = [text for text in column if text]
    read: Any
    for read in (_whole, float, _TRUTHS.__getitem__):
        try:
            if known and all(str(read(text)) == text for text in known):
                return pd.Series([read(text) if text else None for text in column], dtype=object, index=column.index)
        except (ValueError, KeyError):
            continue
    return column.mask(column == "", None)


def _whole(text: str) -> int:
    if len(text) > 20 or abs(number := int(text)) >= 2**63:
        raise ValueError
    return number


def newest(paths: Sequence[Path]) -> Path:
    """Return the file that was written last."""
    return max(paths, key=os.path.getmtime)
