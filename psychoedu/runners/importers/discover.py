"""From paths, folders and patterns to the files of results among them, each with its format."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from pathlib import Path

from psychoedu.exceptions import ResultsFormatError
from psychoedu.runners import records_files
from psychoedu.runners.importers import helm, sniff
from psychoedu.runners.importers.content import Options
from psychoedu.validation import counted, listed

PathLike = str | os.PathLike[str]
Found = list[tuple[Path, str]]
"""Files (or run folders) with the names of their formats."""

_ENDINGS = (".eval", ".json", ".jsonl", ".jsonlines", ".csv", ".tsv", ".parquet", ".pq")
_ENDINGS_OF_TABLES = (".csv", ".tsv", ".parquet", ".pq")
_BESIDE = ("logs.json", "eval-set.json", "listing.json")
"""Files that Inspect keeps beside its logs."""

_MOST_NAMED = 50
_TABLES = ("pedagogy", "records", "long", "wide")
_MOST_FILES = 100_000


def discovered(places: Iterable[PathLike], format: str | None, options: Options) -> tuple[Found, list[str]]:
    """Find the files to read.

    Returns
    -------
    found : list of (Path, str)
        Each once, in the order of the places, within a folder by name.
    notes : list of str
        What a folder held that was not read.

    Raises
    ------
    ResultsFormatError
        A path does not exist, nothing is there to read, or a folder holds several formats.
    """
    found: dict[str, tuple[Path, str]] = {}
    notes: list[str] = []
    for place in places:
        for path in _expanded(place):
            files = (
                _in_folder(path, format, options, notes) if path.is_dir() else [(path, format or sniff.recognise(path, options))]
            )
            for file, kind in files:
                home = file.parent if kind == "helm" and file.is_file() else file
                found.setdefault(os.path.realpath(home), (home, kind))
    if not found:
        raise ResultsFormatError("There is nothing to read: no path was given. Expected a file, a folder or a pattern.")
    return list(found.values()), notes


def _expanded(place: PathLike) -> list[Path]:
    """Return the path, or the paths that it is a pattern of."""
    text = os.fspath(place)
    if not isinstance(text, str) or not text or "\0" in text:
        raise ResultsFormatError(f"The path to read is {place!r}. Expected a file, a folder or a pattern.")
    if os.path.exists(text):
        return [_regular(Path(text))]
    matches = sorted(glob.glob(text, recursive=True)) if glob.has_magic(text) else []
    if not matches:
        what = "matches no file" if glob.has_magic(text) else "does not exist"
        raise ResultsFormatError(f"{text} {what}. Expected a file, a folder or a pattern of files, as 'logs/*.eval'.")
    return [_regular(Path(match)) for match in matches]


def _regular(path: Path) -> Path:
    """Refuse devices and pipes, which have no end."""
    if not (path.is_file() or path.is_dir()):
        raise ResultsFormatError(f"{path} is neither a file nor a folder, so it is not read.")
    return path


def _in_folder(folder: Path, format: str | None, options: Options, notes: list[str]) -> Found:
    if format in (None, "helm") and helm.is_run(folder):
        return [(folder, "helm")]
    own = [folder / name for name in (records_files.PARQUET, records_files.CSV) if (folder / name).is_file()]
    if format in (None, "records") and own:
        return [(own[0] if records_files.has_pyarrow() else own[-1], "records")]
    found: Found = []
    skipped: list[str] = []
    beside: list[str] = []
    for path in _walked(folder):
        try:
            kind = "helm" if path.is_dir() else _kind(path, format, options)
        except sniff.UnknownFormatError as error:
            (beside if error.beside_results or path.name in _BESIDE else skipped).append(str(path.relative_to(folder)))
            continue
        if format is None or kind == format:
            found.append((path, kind))
        else:
            skipped.append(str(path.relative_to(folder)))
    kinds = {kind: sum(kind == other for _, other in found) for _, kind in found}
    if not found:
        what = f"of the format {format!r} " if format else ""
        raise ResultsFormatError(
            f"{folder} holds no results {what}that are read here; it has "
            f"{listed([*skipped, *beside]) or 'no files that might be some'}.\n"
            f"Known formats: {sniff.known_formats()}."
        )
    if len(kinds) > 1:
        told = ", ".join(f"{kind} ({count})" for kind, count in kinds.items())
        raise ResultsFormatError(
            f"{folder} holds results of several formats: {told}. Name one, as in format={next(iter(kinds))!r}, or its files."
        )
    if skipped:
        more = f" and {len(skipped) - _MOST_NAMED:,} more" if len(skipped) > _MOST_NAMED else ""
        names = ", ".join(map(repr, skipped[:_MOST_NAMED]))
        notes.append(f"{folder.name}: {counted(len(skipped), 'file')} of another kind not read: {names}{more}.")
    return found


def _kind(path: Path, format: str | None, options: Options) -> str:
    """Return a file's format; a file that is of a format, but broken, is an error, whatever else the folder holds."""
    is_table = path.suffix.lower() in _ENDINGS_OF_TABLES
    if format is not None and is_table != (format in _TABLES):
        raise sniff.unknown(path, f"no file of the format {format!r}")
    if format in _TABLES:
        return str(format)
    return "inspect" if path.suffix == ".eval" else sniff.recognise(path, options)


def _walked(folder: Path) -> list[Path]:
    """Return files that might hold results, and folders of HELM runs, by name."""
    found: list[Path] = []
    for home, folders, names in os.walk(folder):
        folders.sort()
        here = Path(home)
        if here != folder and helm.is_run(here):
            found.append(here)
            folders.clear()
            continue
        files = {
            name for name in names if name.lower().endswith(_ENDINGS) and not name.startswith(".") and (here / name).is_file()
        }
        if {records_files.PARQUET, records_files.CSV} <= files:
            files.discard(records_files.CSV if records_files.has_pyarrow() else records_files.PARQUET)
        found += [here / name for name in sorted(files)]
        if len(found) > _MOST_FILES:
            raise ResultsFormatError(f"{folder} holds more than {_MOST_FILES:,} files. Name the folder of the results.")
    return found
