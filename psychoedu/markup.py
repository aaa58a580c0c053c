"""Labels from data as plain text in LaTeX, Markdown and HTML, and tables made of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$", "|": r"\textbar{}",
    "\N{MINUS SIGN}": "$-$",
}  # fmt: skip


def latex(text: str) -> str:
    r"""Write text so that LaTeX prints it as it is, on one line; the sign of a number becomes a minus sign.

    Examples
    --------
    >>> latex("50% of a_b")
    '50\\% of a\\_b'
    """
    signed = re.sub(r"(?<![\w-])-(?=\.?\d)", "\N{MINUS SIGN}", " ".join(text.split()))
    return "".join(_LATEX.get(character, character) for character in signed)


def markdown(text: str) -> str:
    r"""Write text so that Markdown prints it as it is, on one line.

    Examples
    --------
    >>> markdown("a|b")
    'a\\|b'
    """
    text = " ".join(text.split())
    for sign in "\\`*_|<>#[]$":
        text = text.replace(sign, f"\\{sign}")
    return text


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; the first column is text, the others are aligned right. Cells are escaped here."""
    lines = [list(heads), *rows]
    written = [f"| {' | '.join(markdown(cell) for cell in line)} |" for line in lines]
    return "\n".join([written[0], f"|---|{'---:|' * (len(heads) - 1)}", *written[1:]])


def latex_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a booktabs ``tabular``; the first column is text, the others are aligned right. Cells are escaped here."""
    body = [" & ".join(latex(cell) for cell in row) + r" \\" for row in rows]
    head = " & ".join(latex(cell) for cell in heads) + r" \\"
    columns = f"l{'r' * (len(heads) - 1)}"
    return "\n".join(
        [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"]
    )


def html_facts(rows: Sequence[tuple[str, str]]) -> str:
    """Return names and values as an HTML list, escaped here."""
    items = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in rows)
    return f'<dl class="facts">{items}</dl>\n'


def html_table(heads: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    """Return an HTML table that can be scrolled to by keyboard; the first column is text. Cells are escaped here."""
    head = "".join(f'<th scope="col"{"" if place else " class=text"}>{escape(name)}</th>' for place, name in enumerate(heads))
    lines = [
        f'<tr><th scope="row">{escape(row[0])}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in row[1:])}</tr>' for row in rows
    ]
    body = "\n".join(lines)
    return (
        f'<div class="scroll whole" tabindex="0" role="region" aria-label="{escape(caption)}">\n<table>\n'
        f"<caption>{escape(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</div>\n"
    )
