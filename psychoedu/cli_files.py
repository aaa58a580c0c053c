"""Command line: files that several commands write, tables of models and pages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from psychoedu.exceptions import FileFormatError

TABLES = {".md": "to_markdown", ".tex": "to_latex", ".html": "to_html"}
"""Method that writes a table, by the end of the file's name."""


def check_table_name(name: str | None) -> None:
    """Refuse a name for --table that does not say what to write."""
    if name is not None and Path(name).suffix.lower() not in TABLES:
        raise FileFormatError(f"--table {name}: expected a name that ends in {', '.join(TABLES)}.")


def write_table(table: Any, name: str) -> None:
    """Write a table in the format that the file's name asks for."""
    Path(name).write_text(getattr(table, TABLES[Path(name).suffix.lower()])(), encoding="utf-8")


def write_page(folder: str | Path, text: str, say: Callable[[str], None]) -> None:
    """Write a page as index.html into a folder, which is made where it is absent."""
    target = Path(folder) / "index.html"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    say(f"wrote {target}: the report; open it in a browser")
