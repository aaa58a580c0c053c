"""Entries of a zip archive, unpacked within bounds; zstd entries through Python 3.14 or the package backports.zstd."""

from __future__ import annotations

import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from psychoedu.exceptions import MissingDependencyError, ResultsFormatError
from psychoedu.runners.importers.content import count_parts, parse_json, too_large

ZSTD = 93
"""Number of the method in a zip entry; zipfile.ZIP_ZSTANDARD from Python 3.14."""

_MOST_ENTRIES = 2_000_000


class Archive:
    """A zip file of JSON entries. What is unpacked in all stays under a limit."""

    def __init__(self, file: Any, path: Path, limit: int) -> None:
        self._file = file
        self._path = path
        self._limit = limit
        self._left = limit
        self._parts = 0
        self.names: list[str] = list(dict.fromkeys(file.namelist()))
        if len(self.names) > _MOST_ENTRIES:
            raise ResultsFormatError(f"{path} has {len(self.names):,} entries; expected a log of at most {_MOST_ENTRIES:,}.")

    def __contains__(self, name: str) -> bool:
        return name in self._file.NameToInfo

    def json(self, name: str) -> Any:
        """Unpack one entry and read it as JSON."""
        where = f"{self._path} entry {name}"
        info = self._file.getinfo(name)
        if info.file_size > self._left:
            raise too_large(f"{where} (or the archive in all)", self._limit)
        try:
            with self._file.open(info) as entry:
                content = entry.read(self._left + 1)
        except NotImplementedError as error:
            if info.compress_type == ZSTD:
                raise zstd_missing(self._path) from error
            raise ResultsFormatError(f"{where}: packed by a method that cannot be read ({error}).") from error
        except RuntimeError as error:
            raise ResultsFormatError(f"{where}: cannot be unpacked ({error}); is it encrypted?") from error
        except Exception as error:
            if not _is_damage(error):
                raise
            raise ResultsFormatError(f"{where}: damaged ({error}). The file may be cut off; copy it again.") from error
        if len(content) > self._left:
            raise too_large(f"{where} (or the archive in all)", self._limit)
        self._left -= len(content)
        self._parts += count_parts(content, self._limit, where, self._parts)
        return parse_json(content, where)


def _is_damage(error: Exception) -> bool:
    """Return whether an error says that the file is no good; the classes of backports.zstd are its own."""
    return isinstance(error, EOFError | ValueError | zlib.error) or type(error).__name__ in (
        "BadZipFile",
        "ZstdError",
        "LZMAError",
    )


def zstd_missing(path: Path) -> MissingDependencyError:
    """Return the error for an archive that needs zstd where it is absent."""
    return MissingDependencyError(
        f"{path} is packed with zstd, which Python before 3.14 reads only with the package backports.zstd; it is not installed.\n"
        'Install it with: pip install "psychoedu[runners]" (or pip install backports.zstd), or convert the log to JSON: '
        "inspect log convert LOG --to json --output-dir DIR."
    )


@contextmanager
def opened(path: Path, limit: int) -> Iterator[Archive]:
    """Open a zip file for reading its entries.

    Raises
    ------
    ResultsFormatError
        It is no zip file, or damaged.
    """
    try:
        file = _reader().ZipFile(path)
    except Exception as error:
        if not _is_damage(error):
            raise
        raise ResultsFormatError(
            f"{path} begins like a zip archive, but cannot be opened ({error}). It may be cut off, or still being written."
        ) from error
    with file:
        yield Archive(file, path, limit)


def _reader() -> Any:
    if sys.version_info < (3, 14):
        try:
            return import_module("backports.zstd.zipfile")
        except ImportError:
            return zipfile
    return zipfile
