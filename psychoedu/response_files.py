"""Response tables read from CSV and Parquet, with labels kept as the text that stands in the file."""

from __future__ import annotations

import warnings
import zipfile
import zlib
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from psychoedu.exceptions import DataError, DuplicateLabelError, FileFormatError, LabelError, MissingDependencyError
from psychoedu.validation import check_path, counted, listed, shown

UNREADABLE = (ValueError, EOFError, zipfile.BadZipFile, zlib.error)
"""What pandas raises for a file that is no such table: not parsed, not decoded, not unpacked."""
# what pandas itself reads as missing; a label such as "NA" or "None" stays a label
BLANKS = ["", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None", "<NA>"]


def read_csv_table(
    path: str | Path, text_columns: Iterable[Hashable | None], attribute_columns: Iterable[Hashable], sep: str, encoding: str
) -> pd.DataFrame:
    """Read a CSV file: named columns as text, the others as numbers where they are, blank as missing.

    Parameters
    ----------
    path : str or Path
    text_columns : names or positions
        Columns that hold labels or answers: ``"007"`` stays ``"007"``.
    attribute_columns : names
        Columns that describe respondents or items: numbers only where nothing would be lost.
    sep, encoding : str
        One character (a backslash and t mean a tab, as a shell hands it over), and the name of an encoding.
    """
    check_path(path, "read")
    sep = _check_separator(sep)
    _check_encoding(encoding)
    try:
        first = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False, sep=sep, encoding=encoding)
    except UNREADABLE as error:
        raise _unreadable(path, error) from error
    header = [str(name) for name in first.iloc[0]]
    _check_header(header, path)
    texts = set(text_columns) - {None}
    texts |= {header[place] for place in texts if isinstance(place, int) and 0 <= place < len(header)}
    attributes = set(attribute_columns)
    as_text = {name: str for name in header if name in texts or name in attributes}
    blanks = {name: [""] if name in as_text else BLANKS for name in header}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                path,
                header=0,
                names=header,
                index_col=False,
                dtype=as_text,
                keep_default_na=False,
                na_values=blanks,
                low_memory=False,
                sep=sep,
                encoding=encoding,
            )
    except pd.errors.ParserWarning as error:
        raise FileFormatError(
            f"{path}: rows have more fields than the header, which names {len(header)} columns. Expected one name per column.\n"
            "A file written by R with row names needs write.csv(), or write.table(..., col.names=NA)."
        ) from error
    except UNREADABLE as error:
        raise _unreadable(path, error) from error
    for name in attributes.intersection(header) - texts:
        frame[name] = _lossless_numbers(frame[name])
    return frame


def _check_separator(sep: object) -> str:
    if sep == r"\t":
        return "\t"
    if isinstance(sep, str) and len(sep) == 1 and sep not in '\r\n"':
        return sep
    raise DataError(f"sep={sep!r} is not one character between fields. Expected ',', ';', '\\t' (tab) or another one.")


def _check_encoding(encoding: object) -> None:
    try:
        "".encode(encoding)  # type: ignore[arg-type]
    except (LookupError, TypeError, ValueError) as error:
        raise DataError(
            f"encoding={encoding!r} is not known ({error}). Expected the name of a text encoding, as 'utf-8' or 'latin-1'."
        ) from error


def _check_header(header: list[str], path: str | Path) -> None:
    names = pd.Index(header)
    if not names.is_unique:
        repeated = names[names.duplicated()].unique()
        raise DuplicateLabelError(
            f"{path}: {counted(len(repeated), 'column name')} used more than once: {listed(repeated)}.\n"
            "Expected every item to have its own label in the first line of the file; rename or drop the columns."
        )


def _unreadable(path: str | Path, error: Exception) -> FileFormatError:
    return FileFormatError(
        f"{path} cannot be read as CSV ({error}).\n"
        "Expected a first line of column names and then a line per respondent; see sep= and encoding=."
    )


def _lossless_numbers(texts: pd.Series) -> pd.Series:
    """Turn text into numbers where writing them back gives the same text: "7" does, "007" does not."""
    known = texts.dropna()
    numbers = pd.to_numeric(known, errors="coerce")
    if len(known) and not numbers.isna().any() and (numbers.astype(str) == known).all():
        return pd.to_numeric(texts)
    return texts


def read_parquet_table(path: str | Path) -> pd.DataFrame:
    """Read a Parquet file; a stored index becomes the first column."""
    check_path(path, "read")
    try:
        frame = pd.read_parquet(path)
    except ImportError as error:
        raise MissingDependencyError(
            "Reading Parquet needs the package pyarrow, which is not installed.\n"
            "Install it with: pip install 'psychoedu[parquet]' (or save the table as CSV and use read_csv)."
        ) from error
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise FileFormatError(f"{path} cannot be read as Parquet ({error}). Expected a table written by to_parquet().") from error
    return frame if isinstance(frame.index, pd.RangeIndex) else frame.reset_index()


def label_column(frame: pd.DataFrame, respondent: Any, path: str | Path) -> Hashable | None:
    """Return the name of the column that holds the respondents' labels in a wide file, from its name or position."""
    if respondent is None:
        return None
    if frame.shape[1] == 1:
        raise FileFormatError(
            f"{path} has one column, {shown(frame.columns[0])}. Expected a column of labels and one per item.\n"
            "If the fields are parted by something else than a comma, pass it, as sep=';' or sep='\\t'."
        )
    if isinstance(respondent, int) and respondent not in frame.columns:
        if not 0 <= respondent < frame.shape[1]:
            raise LabelError(f"{path}: respondent={respondent}, but the file has {frame.shape[1]} columns (the first is 0).")
        respondent = frame.columns[respondent]
    if respondent not in frame.columns:
        raise LabelError(f"{path} has no column {shown(respondent)}; its columns are {listed(frame.columns)}.")
    labels = frame[respondent]
    if labels.duplicated().any() and len(labels):
        values = set(labels.dropna().astype(str).unique())
        if values <= {"0", "1", "0.0", "1.0", "True", "False"}:
            raise DuplicateLabelError(
                f"{path}: column {shown(respondent)} was taken for the respondents' labels, but holds {listed(sorted(values))}.\n"
                "Expected a label per row. If the file has no column of labels, pass respondent=None: rows get 1, 2, ..."
            )
        raise DuplicateLabelError(
            f"{path}: column {shown(respondent)} was taken for the respondents' labels, but repeats some: "
            f"{listed(labels[labels.duplicated()].unique())}.\n"
            "Expected a label per row. Name the right column with respondent=; for a file with a row per respondent and item, "
            "name respondent=, item= and score=."
        )
    return respondent  # type: ignore[no-any-return]


def long_respondent(respondent: Any) -> Any:
    """Check that a long file's respondent column is named, not counted."""
    if respondent is None or isinstance(respondent, int):
        raise DataError("With item=, the table is read as long: name the column of the respondents too, respondent='...'.")
    return respondent
