"""The statement "lowest for k of m models" in words and tables; everything from data is escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psychoedu.bootstrap.leaderboard_text import (
    aligned,
    correction_words,
    html_account,
    latex_float,
    missing_words,
    share_text,
    sizes_words,
)
from psychoedu.bootstrap.paper import fixed, level_text
from psychoedu.markup import html_table, markdown, markdown_table

if TYPE_CHECKING:
    from psychoedu.bootstrap.lowest_results import Lowest


_NAMED = 5
"""Exceptions that the sentence names; the tables have all."""


def sentence(found: Lowest) -> str:
    """Return the statement in one sentence."""
    level = level_text(found.confidence_level)
    text = (
        f"{found.focal} is the lowest of {len(found.groups)} strata of {found.by} for {found.k} of {found.n_models} models "
        f"({level} of the resamples: {found.low} to {found.high})"
    )
    rows = found.exceptions
    if len(rows):
        named = "; ".join(f"{label} ({lowest} lowest)" for label, lowest in rows["lowest"].head(_NAMED).items())
        named += f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
        text += f"; {'exception' if len(rows) == 1 else 'exceptions'}: {named}"
    return f"{text}."


def facts(found: Lowest) -> list[tuple[str, str]]:
    """Return what every report says, as names and values."""
    level = level_text(found.confidence_level)
    return [
        (
            "lowest",
            f"{found.focal} for {found.k} of {found.n_models} models" + (f" ({found.n_tied} more tied)" if found.n_tied else ""),
        ),
        (f"{level} of the resamples", f"{found.low} to {found.high} models"),
        ("mean of the resamples", f"{fixed(found.k + found.bias, 1)} models (bias {fixed(found.bias, 1)})"),
        ("standard error", fixed(found.standard_error, 2)),
        ("resamples", f"{found.n_resamples:,} of whole {found.cluster_word}s, all models' results on one kept together"),
        ("drawn within", sizes_words(found)),
        ("seed", str(found.seed)),
        ("correction", found.correction or "none"),
        ("missing rewards", missing_words(found)),
        ("software", f"psychoedu {found.version}"),
    ]


def model_table(found: Lowest, everyone: bool = True) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows of the table of models."""
    frame = found.by_model if everyone else found.exceptions
    heads = ["model", "lowest", "its mean", f"mean of {found.focal}", "focal less lowest other", "P(focal lowest)"]
    rows = [
        [
            str(label),
            str(row["lowest"]),
            *(fixed(row[name]) for name in ("lowest_mean", "focal_mean", "gap")),
            share_text(row["probability"], found.n_resamples),
        ]
        for label, row in zip(frame.index, frame.to_dict("records"), strict=True)
    ]
    return heads, rows


def stratum_table(found: Lowest) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows of the table of strata."""
    level = level_text(found.confidence_level)
    heads = [found.by, f"{found.cluster_word}s", "mean", "lowest for", "tied for", f"{level} of resamples", "mean of resamples"]
    rows = [
        [
            str(label),
            f"{row['n_clusters']:,}",
            fixed(row["mean"]),
            str(row["k"]),
            str(row["n_tied"]),
            f"{row['low']} to {row['high']}",
            fixed(row["expected"], 1),
        ]
        for label, row in zip(found.strata.index, found.strata.to_dict("records"), strict=True)
    ]
    return heads, rows


def lowest_text(found: Lowest) -> str:
    """Return the statement as fixed-width text."""
    rows = facts(found)
    width = max(len(name) for name, _ in rows)
    lines = [sentence(found), *(f"{name:<{width}}  {value}" for name, value in rows)]
    lines += [f"note: {note}" for note in found.diagnostics]
    return "\n".join([*lines, "", aligned(*stratum_table(found)), "", aligned(*model_table(found))])


def methods_text(found: Lowest) -> str:
    """Return a paragraph for the methods and results of a paper, from the same numbers as every table."""
    word = found.cluster_word
    sentences = [
        f"We asked for each of {found.n_models} models which of {len(found.groups)} strata of {found.by} has the lowest mean.",
        sentence(found),
        f"Uncertainty comes from a stratified cluster bootstrap: {found.n_resamples:,} resamples (seed {found.seed}) of whole "
        f"{word}s drawn with replacement within each stratum, with the results of all models on a {word} kept together, "
        f"{correction_words(found)}.",
        f"In the resamples the count was {fixed(found.k + found.bias, 1)} on average: resampling adds noise, which makes a count "
        f"near its maximum smaller.",
        f"Strata held {sizes_words(found)}.",
        f"Missing rewards: {missing_words(found)}.",
        *(f"{note[:1].upper()}{note[1:]}." for note in found.diagnostics),
        f"Computed with psychoedu {found.version}.",
    ]
    return " ".join(sentences)


def lowest_markdown(found: Lowest) -> str:
    """Write the report in Markdown."""
    parts = [markdown(sentence(found)), markdown_table(*stratum_table(found)), markdown_table(*model_table(found))]
    parts.append(markdown_table(["statement", "value"], [list(row) for row in facts(found)]))
    parts += [f"Note: {markdown(note)}." for note in found.diagnostics]
    return "\n\n".join([*parts, markdown(methods_text(found))]) + "\n"


def lowest_latex(found: Lowest, caption: str, label: str) -> str:
    """Write a LaTeX table of the strata; needs booktabs."""
    legend = "; ".join(f"{name}: {value}" for name, value in facts(found)[4:])
    notes = "".join(f" {note[:1].upper()}{note[1:]}." for note in found.diagnostics)
    notes = f"{sentence(found)} {legend[:1].upper()}{legend[1:]}.{notes}"
    return latex_float(caption or f"Which strata of {found.by} are lowest", label, *stratum_table(found), notes)


def lowest_html(found: Lowest) -> str:
    """Write tables and the methods paragraph as HTML."""
    parts = [html_table(*stratum_table(found), caption="Strata"), html_table(*model_table(found), caption="Models")]
    return "".join([*parts, *html_account(facts(found), list(found.diagnostics), methods_text(found))])
