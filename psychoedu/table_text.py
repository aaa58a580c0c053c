"""Text from data as it has to stand in a LaTeX or Markdown table."""

from __future__ import annotations

_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$", "|": r"\textbar{}",
}  # fmt: skip


def latex_text(text: str) -> str:
    r"""Escape text for LaTeX.

    Examples
    --------
    >>> latex_text("a_b & 50%") == r"a\_b \& 50\%"
    True
    """
    return "".join(_LATEX.get(character, character) for character in text)


def markdown_text(text: str) -> str:
    r"""Escape text for a Markdown table: a label is no markup.

    Examples
    --------
    >>> markdown_text("a_b|c") == r"a\_b\|c"
    True
    """
    for sign in "\\`*_|<>":
        text = text.replace(sign, f"\\{sign}")
    return text
