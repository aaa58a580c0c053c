"""Markdown tables, and where they stand in docs/benchmarks.md."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.designs import ROOT

PAGE = ROOT / "docs" / "benchmarks.md"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; the first column is text, the others are aligned right."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows])


def seconds(value: float) -> str:
    """Write seconds with three significant digits."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.2f}" if value >= 1 else f"{value:.3g}"


def write_section(name: str, text: str, page: Path = PAGE) -> None:
    """Replace what stands between the markers <!-- name:begin --> and <!-- name:end --> of the page."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    content = page.read_text(encoding="utf-8")
    pattern = re.compile(f"({re.escape(begin)}).*?({re.escape(end)})", flags=re.DOTALL)
    if not pattern.search(content):
        raise LookupError(f"{page} has no section between {begin} and {end}")
    page.write_text(pattern.sub(lambda found: f"{found[1]}\n{text.strip()}\n{found[2]}", content), encoding="utf-8")
