"""Tables of items from CSV, XLSX, JSONL and Parquet files: cells with the numbers of their rows, nothing evaluated or guessed."""

from __future__ import annotations

import csv
import datetime
import io
import json
import math
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from psychoedu.exceptions import FileFormatError, ItemBankError, MissingDependencyError
from psychoedu.validation import check_path, counted, listed, shown

_INVISIBLE = "\ufeff\u200b\u200e\u200f"
_BLANK_NUMBERS = frozenset(("", "na", "n/a", "nan", "null", "none", "-", "--", "."))
_WHOLE_FLOAT = re.compile(r"-?\d+\.0+")
_ANNOUNCED_SEPARATOR = re.compile(r"\s*\"?sep=([,;\t])\"?[ \t]*(?:\r\n|\n|\r)", re.IGNORECASE)
_LARGEST_WHOLE = 1e15


@dataclass(frozen=True)
class Row:
    """One record of a file: its place, as a spreadsheet or editor numbers it, and its cells by column name."""

    place: str
    cells: Mapping[str, Any]


@dataclass(frozen=True)
class Table:
    """What a file holds: where it is from, its columns, its rows that are not blank."""

    source: str
    names: tuple[str, ...]
    rows: tuple[Row, ...]

    def column(self, name: str) -> Iterator[Any]:
        """Yield the cells of a column."""
        return (row.cells.get(name) for row in self.rows)


def read_table(path: Any) -> Table:
    """Read a file of items, or take a data frame.

    Parameters
    ----------
    path : path or DataFrame
        What a file is, its first bytes say, then its name: Parquet, XLSX (first sheet), JSONL (one object a line), CSV (fields
        parted by comma, semicolon or tab; UTF-8, or UTF-16 with its mark).

    Returns
    -------
    Table
        Rows that are wholly blank are left out, and still counted: the first record of a CSV or XLSX file is row 2.

    Raises
    ------
    ItemBankError
        The file cannot be read as what it is, names a column twice, or a line has more fields than there are names.
    MissingDependencyError
        openpyxl or pyarrow is needed and not installed.
    """
    if isinstance(path, pd.DataFrame):
        return _from_frame(path, "DataFrame")
    try:
        file = check_path(path, "read")
        with file.open("rb") as stream:
            head = stream.read(4)
    except (FileFormatError, OSError) as error:
        raise ItemBankError(f"Items cannot be read: {error}") from error
    suffix = file.suffix.lower()
    if head == b"PAR1":
        return _read_parquet(file)
    if head == b"PK\x03\x04" or suffix in (".xlsx", ".xlsm"):
        return _read_xlsx(file)
    if suffix == ".xls" or head == b"\xd0\xcf\x11\xe0":
        raise ItemBankError(f"{file.name} is an old Excel file (.xls). Expected CSV, XLSX, JSONL or Parquet: save it as .xlsx.")
    text = _decoded(file)
    if suffix in (".jsonl", ".ndjson") or (suffix != ".csv" and text.lstrip()[:1] == "{"):
        return _read_jsonl(text, file.name)
    if text.lstrip()[:1] == "[" and suffix == ".json":
        return _read_json_list(text, file.name)
    return _read_csv(text, file.name)


def _decoded(file: Path) -> str:
    content = file.read_bytes()
    wide = content[:2] in (b"\xff\xfe", b"\xfe\xff")
    try:
        text = content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        coding = "UTF-16, which its first bytes say" if wide else "UTF-8"
        raise ItemBankError(f"{file.name} line {line}: not {coding} ({error.reason}). Save the file as UTF-8.") from error
    if "\0" in text:
        raise ItemBankError(f"{file.name} line {text[: text.index(chr(0))].count(chr(10)) + 1}: holds a NUL character.")
    if not text.strip():
        raise ItemBankError(f"{file.name} is empty. Expected a line of column names and a row an item.")
    return text


def _read_csv(text: str, source: str) -> Table:
    announced = _ANNOUNCED_SEPARATOR.match(text)  # Excel's own line, which it does not show or count
    if announced is not None:
        text = text[announced.end() :]
    sep = _separator(text) if announced is None else announced[1]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=sep, strict=True)
    lines: list[tuple[int, list[str]]] = []
    number = 0
    try:
        for number, fields in enumerate(reader, start=1):
            if any(field.strip() for field in fields):
                lines.append((number, fields))
    except csv.Error as error:
        raise ItemBankError(
            f"{source} cannot be read as CSV after row {max(number, 1)}: {error}.\nExpected double quotes that are closed."
        ) from error
    if not lines:
        raise ItemBankError(f"{source} is empty. Expected a line of column names and a row an item.")
    names = _checked_names(lines[0][1], source)
    for number, fields in lines[1:]:
        if any(field.strip() for field in fields[len(names) :]):
            raise ItemBankError(
                f"{source} row {number}: {len(fields)} fields for {len(names)} columns.\n"
                "Expected a field a column; put texts with a separator in them between double quotes."
            )
    return _of_lines(source, names, [(f"row {number}", fields) for number, fields in lines[1:]])


def _separator(text: str) -> str:
    """Return what parts the names in the first line with any: a comma, a semicolon or a tab, those between quotes not counted."""
    lines = (line for line in io.StringIO(text) if line.strip(" ,;\t\r\n"))
    first = re.sub(r'"[^"]*"', "", next(lines, ""))
    return max((",", ";", "\t"), key=first.count)


def _of_lines(source: str, names: list[str], lines: Sequence[tuple[str, Sequence[Any]]]) -> Table:
    """Return the table of lines under names; cells that have no name over them are refused, numbers of the rows excepted."""
    width = max((len(cells) for _, cells in lines), default=0)
    for at in range(width):
        if at < len(names) and names[at]:
            continue
        found = [(place, cells[at]) for place, cells in lines if at < len(cells) and clean(cells[at])]
        if found and not (at == 0 and _count_rows([cells[0] for _, cells in lines if cells])):
            more = f", and {counted(len(found) - 1, 'more cell')}" if len(found) > 1 else ""
            raise ItemBankError(
                f"{source} {found[0][0]}: {shown(clean(found[0][1]))} stands in column {at + 1}, which has no name"
                f"{more}.\n"
                "Expected a name in the first row over every column that is filled; name the column, or empty the cell."
            )
    return Table(source, _kept(names), tuple(Row(place, _cells(names, cells)) for place, cells in lines))


def _count_rows(cells: Sequence[Any]) -> bool:
    """Tell whether cells are 0, 1, 2, ... or 1, 2, 3, ..., as programs write them before the rows of a table."""
    texts = [clean(cell) for cell in cells]
    return any(texts == [str(number) for number in range(first, first + len(texts))] for first in (0, 1))


def _read_xlsx(file: Path) -> Table:
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise MissingDependencyError(
            f"{file.name} is an Excel file, for which openpyxl is needed and not installed.\n"
            "Install it with: pip install 'psychoedu[runners]' (or save the sheet as CSV, UTF-8)."
        ) from error
    try:
        book = load_workbook(file, read_only=True, data_only=False)  # a formula stays its text: nothing is evaluated
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise ItemBankError(f"{file.name} cannot be read as an Excel file: {error}.") from error
    try:
        sheet = book.worksheets[0]
        sheet.reset_dimensions()  # the size that some programs write into the file is wrong
        lines = enumerate(sheet.iter_rows(values_only=True), start=1)
        number, header = next(((place, line) for place, line in lines if any(clean(cell) for cell in line)), (0, ()))
        if not number:
            raise ItemBankError(f"{file.name}: the first sheet is empty. Expected a row of column names and a row an item.")
        names = _checked_names([clean(cell) for cell in header], file.name)
        rows = [(f"row {place}", line) for place, line in lines if any(clean(cell) != "" for cell in line)]
    finally:
        book.close()
    return _of_lines(file.name, names, rows)


def _read_jsonl(text: str, source: str) -> Table:
    records = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            records.append((f"line {number}", parse_json(line)))
        except ValueError as error:
            raise ItemBankError(f"{source} line {number} is no JSON: {error}. Expected one object a line.") from error
    return _of_objects(records, source)


def _read_json_list(text: str, source: str) -> Table:
    try:
        values = parse_json(text)
    except ValueError as error:
        raise ItemBankError(f"{source} is no JSON: {error}. Expected a list of objects.") from error
    return _of_objects([(f"record {number}", value) for number, value in enumerate(values, start=1)], source)


def _of_objects(records: Iterable[tuple[str, Any]], source: str) -> Table:
    names: dict[str, None] = {}
    rows = []
    for place, value in records:
        if not isinstance(value, dict):
            raise ItemBankError(
                f"{source} {place}: {type(value).__name__} where an object with the fields of an item was expected."
            )
        cells = {str(name).strip(): cell for name, cell in value.items()}
        if len(cells) < len(value):
            raise ItemBankError(f"{source} {place}: two fields have the same name but for blanks. Expected each name once.")
        names |= dict.fromkeys(cells)
        rows.append(Row(place, cells))
    return Table(source, tuple(names), tuple(rows))


def parse_json(text: str) -> Any:
    """Read JSON, where an object may not have a name twice, of which one would be dropped.

    Raises
    ------
    ValueError
        It is no JSON, has a name twice in one object, or is nested too deep.
    """
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = list(dict.fromkeys(name for name in names if names.count(name) > 1)) if len(names) < 1000 else names[:1]
        raise ValueError(f"the name {listed(twice)} stands twice in one object")
    return found


def _read_parquet(file: Path) -> Table:
    from psychoedu.response_files import read_parquet_table

    try:
        frame = read_parquet_table(file)
    except FileFormatError as error:
        raise ItemBankError(str(error)) from error
    return _from_frame(frame, file.name)


def _from_frame(frame: pd.DataFrame, source: str) -> Table:
    known = frame if frame.index.name is None else frame.reset_index()
    names = _checked_names([str(name).strip() for name in known.columns], source)
    values = known.astype(object).to_numpy()
    rows = [Row(f"record {number}", _cells(names, line)) for number, line in enumerate(values, start=1)]
    return Table(source, _kept(names), tuple(row for row in rows if any(clean(cell) != "" for cell in row.cells.values())))


def _checked_names(header: Iterable[Any], source: str) -> list[str]:
    names = [clean(name) for name in header]
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        raise ItemBankError(f"{source} has more than one column {listed(twice)}. Expected each name once.")
    if not any(names):
        raise ItemBankError(f"{source} has no column names. Expected them in the first row.")
    return names


def _kept(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name)


def _cells(names: list[str], values: Iterable[Any]) -> dict[str, Any]:
    found = {name: value for name, value in zip(names, values, strict=False) if name}
    return {name: found.get(name) for name in names if name}


def is_blank(value: Any) -> bool:
    """Tell whether a cell holds nothing: None, a missing number, or white space."""
    if value is None or value is pd.NaT or value is pd.NA:
        return True
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    return isinstance(value, str) and not value.strip().strip(_INVISIBLE)


def clean(value: Any) -> str:
    r"""Return a cell as text: without white space around it, whole numbers without a point, line ends as one character.

    Examples
    --------
    >>> clean(2.0), clean(" B\r\n"), clean("=1+1"), clean(None)
    ('2', 'B', '=1+1', '')
    """
    if is_blank(value):
        return ""
    if isinstance(value, str):
        return value.replace("\r\n", "\n").replace("\r", "\n").strip().strip(_INVISIBLE).strip()
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float) and plain.is_integer() and abs(plain) < _LARGEST_WHOLE:
        return str(int(plain))
    if isinstance(plain, datetime.datetime) and plain.time() == datetime.time():
        return plain.date().isoformat()
    return str(plain)


def is_date(value: Any) -> bool:
    """Tell whether a cell is a date or time, which a spreadsheet makes of texts such as 3-4."""
    return isinstance(value, datetime.date | datetime.time | np.datetime64) and value is not pd.NaT


def number(value: Any) -> float | None:
    """Return a cell as a number, None for a blank one.

    Raises
    ------
    ValueError
        The cell holds something else, infinity included.
    """
    if is_blank(value):
        return None
    if isinstance(value, bool | np.bool_) or is_date(value):
        raise ValueError(str(value))
    text = clean(value)
    if text.lower() in _BLANK_NUMBERS:
        return None
    found = float(text)
    if not math.isfinite(found):
        raise ValueError(text)
    return found


def plain(value: Any) -> Any:
    """Return a cell of a column that nothing is known about: numbers and truths as they are, text cleaned, None if blank."""
    if is_blank(value):
        return None
    if isinstance(value, np.ndarray):
        return [plain(one) for one in value.tolist()]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, bool | list | dict):
        return value
    if isinstance(value, int | float):
        whole = isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_WHOLE
        return int(value) if whole else value
    return clean(value)


def plain_number(value: Any) -> int | float | None:
    """Return a number that stands as text in just the form in which it would be written, else None.

    Examples
    --------
    >>> plain_number("12"), plain_number(" 0.5"), plain_number("007"), plain_number("1e3")
    (12, 0.5, None, None)
    """
    if not isinstance(value, str):
        return None
    text = clean(value)
    for kind in (int, float):
        try:
            found = kind(text)
        except ValueError:
            continue
        if str(found) == text and math.isfinite(found):
            return plain(found)  # type: ignore[no-any-return]
    return None


def without_points(labels: list[str]) -> list[str]:
    """Return labels without ``.0`` where all are whole numbers that went through a table of floats."""
    if labels and all(_WHOLE_FLOAT.fullmatch(label) for label in labels):
        return [label.split(".")[0] for label in labels]
    return labels


def as_numbers(texts: Sequence[str]) -> list[str]:
    """Return texts that are all numbers, as programs write them, with whole ones short: "1.0" and the number 1 are one text.

    Others are left as they are, and so are texts of which two would become one.

    Examples
    --------
    >>> as_numbers(["1.0", "0.5"]), as_numbers(["1.0", "1.50"]), as_numbers(["1.0", "1"])
    (['1', '0.5'], ['1.0', '1.50'], ['1.0', '1'])
    """
    if any(plain_number(text) is None for text in texts):
        return list(texts)
    short = [text.removesuffix(".0") for text in texts]
    return short if len(set(short)) == len(set(texts)) else list(texts)
