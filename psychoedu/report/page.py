"""Pieces of a self-contained HTML page: everything that comes from data is escaped, and nothing is fetched from elsewhere."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOT_AVAILABLE = '<abbr title="not available">&ndash;</abbr>'

STYLE = """
:root { --ink: #1b1f24; --soft: #57606a; --line: #d0d7de; --paper: #ffffff; --tint: #f4f6f8; --link: #0b5cad; --warn: #8a3b00;
  --warn-tint: #fff3e6; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --soft: #a3adb8; --line: #3b434c; --paper: #16191d; --tint: #20252b;
  --link: #6cb2f5; --warn: #ffb37a; --warn-tint: #3a2413; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 64rem; padding: 1rem 1rem 4rem; color: var(--ink); background: var(--paper);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 1rem 0 .3rem; }
h2 { font-size: 1.35rem; margin: 2.6rem 0 .6rem; padding-top: .6rem; border-top: 1px solid var(--line); }
h3 { font-size: 1.08rem; margin: 1.8rem 0 .4rem; }
p, dl, ul { max-width: 46rem; }
a { color: var(--link); }
.lead, .note, figcaption, caption { color: var(--soft); }
.note, figcaption, caption { font-size: .9rem; }
.alert { border-left: .3rem solid var(--warn); background: var(--warn-tint); color: var(--warn); padding: .6rem .9rem;
  font-weight: 600; max-width: none; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: .4rem; margin: .6rem 0 1rem; max-height: 34rem; }
.scroll.whole { max-height: none; }
.scroll:focus-visible { outline: 2px solid var(--link); }
table { border-collapse: collapse; width: 100%; font-size: .88rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: .5rem .7rem; }
th, td { padding: .32rem .7rem; text-align: right; white-space: nowrap; border-top: 1px solid var(--line); }
abbr { text-decoration: none; }
thead th { position: sticky; top: 0; background: var(--tint); border-top: 0; vertical-align: bottom; }
table.dense { font-size: .84rem; } table.dense th, table.dense td { padding: .3rem .38rem; vertical-align: top; }
table.dense td { line-height: 1.3; }
th[scope="colgroup"] { text-align: center; }
th[scope="row"], td.text, th.text { text-align: left; }
td.text { white-space: normal; min-width: 7rem; }
tr.flagged th, tr.flagged td.text { color: var(--warn); }
figure { margin: .8rem 0 1.4rem; }
figure img { width: 100%; height: auto; background: #fff; border-radius: .4rem; display: block; }
figure.wide { max-width: 44rem; }
.grid { display: grid; gap: .7rem; grid-template-columns: repeat(auto-fill, minmax(13.5rem, 1fr)); margin: .8rem 0; }
.grid figure { margin: 0; }
dl.facts { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.2rem; }
dl.facts dt { color: var(--soft); } dl.facts dd { margin: 0; }
dl.terms dt { font-weight: 600; margin-top: .4rem; } dl.terms dd { margin: 0 0 0 1rem; }
details { margin: .6rem 0; } summary { cursor: pointer; color: var(--link); }
@media (max-width: 34rem) { dl.facts { grid-template-columns: 1fr; } dl.facts dd { margin-bottom: .4rem; } }
@media print { .scroll { max-height: none; overflow: visible; } body { max-width: none; } }
"""


def page(title: str, body: str, subtitle: str = "", alert: str = "") -> str:
    """Put a body into a page with a title; an alert comes before everything else.

    Parameters
    ----------
    title, subtitle, alert : str
        Plain text, escaped here.
    body : str
        HTML.

    Returns
    -------
    str
    """
    head = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
    )
    warning = f'<p class="alert" role="alert">{escape(alert)}</p>\n' if alert else ""
    lead = f'<p class="lead">{escape(subtitle)}</p>\n' if subtitle else ""
    return f"{head}<header>\n{warning}<h1>{escape(title)}</h1>\n{lead}</header>\n<main>\n{body}\n</main>\n</body>\n</html>\n"


def number(value: Any, digits: int = 3) -> str:
    """Format one cell: numbers with fixed digits, counts without, nan as a dash, text escaped."""
    if value is None or (isinstance(value, float) and math.isnan(value)) or value is pd.NA:
        return NOT_AVAILABLE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if math.isinf(value):
            return "&infin;" if value > 0 else "&minus;&infin;"
        return f"{value:,.{digits}f}".replace("-", "&minus;")
    if isinstance(value, int):
        return f"{value:,}".replace("-", "&minus;")
    return escape(str(value))


def table(
    frame: pd.DataFrame,
    caption: str,
    digits: Mapping[str, int] | None = None,
    flag_column: str = "flags",
    show_caption: bool = True,
    labels_above: bool = False,
) -> str:
    """Make a table of a frame, its index as row headers; long tables scroll inside their own box.

    Parameters
    ----------
    frame : DataFrame
        What to show.
    caption : str
        Plain text.
    digits : mapping, optional
        Decimals by column; 3 elsewhere.
    flag_column : str
        Rows with text in this column are set off by colour (the text stands in the row as well).
    show_caption : bool
        False where a heading says the same; the caption then only names the table to screen readers.
    labels_above : bool
        Whether the columns are labels from the data (levels, groups), which stand there as they are.

    Returns
    -------
    str
    """
    digits = {"n": 0, **(digits or {})}
    title = f"<caption>{escape(caption)}</caption>\n" if show_caption else ""
    text = {name: not pd.api.types.is_numeric_dtype(frame[name]) for name in frame.columns}
    head = escape if labels_above else _head
    heads = "".join(f'<th scope="col"{" class=text" if text[name] else ""}>{head(str(name))}</th>' for name in frame.columns)
    index_name = escape(str(frame.index.name or ""))
    rows = []
    for label, values in zip(frame.index, zip(*(frame[name].tolist() for name in frame.columns), strict=True), strict=True):
        cells = dict(zip(frame.columns, values, strict=True))
        flagged = ' class="flagged"' if not labels_above and str(cells.get(flag_column) or "") not in ("", "nan") else ""
        columns = "".join(
            f'<td class="text">{escape(_words(value))}</td>' if text[name] else f"<td>{number(value, digits.get(name, 3))}</td>"
            for name, value in cells.items()
        )
        rows.append(f'<tr{flagged}><th scope="row">{escape(str(label))}</th>{columns}</tr>')
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}">\n<table>\n'
        f'{title}<thead><tr><th scope="col" class="text">{index_name}</th>{heads}</tr></thead>\n'
        "<tbody>\n" + "\n".join(rows) + "\n</tbody>\n</table>\n</div>\n"
    )


def facts(pairs: Sequence[tuple[str, Any]], digits: int = 3) -> str:
    """Make a list of names and values."""
    items = "".join(f"<dt>{escape(name)}</dt><dd>{number(value, digits)}</dd>" for name, value in pairs)
    return f'<dl class="facts">{items}</dl>\n'


def terms(pairs: Sequence[tuple[str, str]]) -> str:
    """Make a list of terms and what they mean."""
    items = "".join(f"<dt>{escape(name)}</dt><dd>{escape(meaning)}</dd>" for name, meaning in pairs)
    return f'<dl class="terms">{items}</dl>\n'


def paragraph(text: str, kind: str = "") -> str:
    """Make a paragraph of plain text."""
    attribute = f' class="{kind}"' if kind else ""
    return f"<p{attribute}>{escape(text)}</p>\n"


def drawn(size: tuple[float, float], draw: Callable[[Any], Any]) -> Figure:
    """Return a figure of a size (inches) with one pair of axes, which a function has drawn on."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=size, layout="constrained")
    draw(drawing.add_subplot())
    return drawing


def figure(drawing: Figure, alt: str, caption: str = "", kind: str = "wide") -> str:
    """Embed a matplotlib figure as SVG.

    Parameters
    ----------
    drawing : matplotlib Figure
        What to embed.
    alt : str
        What the figure shows, for those who do not see it.
    caption : str
        Plain text under the figure.
    kind : str
        Class of the figure element.

    Returns
    -------
    str
    """
    import matplotlib

    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "psychoedu"}):
        drawing.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    source = base64.b64encode(buffer.getvalue()).decode("ascii")
    note = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    picture = f'<img src="data:image/svg+xml;base64,{source}" alt="{escape(alt)}" loading="lazy">'
    return f'<figure class="{kind}">{picture}{note}</figure>\n'


def column_title(name: str) -> str:
    """Return what stands over a column: standard errors stand beside their estimates, so SE is enough."""
    return "SE" if name.endswith("_se") else name.replace("_", " ")


def _head(name: str) -> str:
    title = escape(column_title(name))
    if not name.endswith("_se"):
        return title
    return f'<abbr title="standard error of {escape(name.removesuffix("_se").replace("_", " "))}">{title}</abbr>'


def _words(value: Any) -> str:
    missing = value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))
    return "" if missing else str(value)
