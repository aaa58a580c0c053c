"""A contrast as Markdown, LaTeX and HTML; everything from data is escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from psychoedu.bootstrap.paper import boundary_models_texts, boundary_text, facts, fixed, level_text, methods_text, p_text
from psychoedu.markup import html_facts, html_table, latex, latex_table, markdown, markdown_table

if TYPE_CHECKING:
    from psychoedu.bootstrap.results import Contrast

_HEADS = ("model", "focal", "comparison", "difference", "SE")


def model_table(contrast: Contrast) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows of the table of models, with all models together last."""
    level = level_text(contrast.confidence_level)
    few = contrast.few_clusters
    heads = [*_HEADS, f"{level} interval", *([f"recommended {level} interval"] if few else []), "p", "p (Holm)"]
    rows = []
    own = contrast.recommended_models.to_dict("records") if few else [{}] * contrast.n_models
    for label, row, better in zip(contrast.models.index, contrast.models.to_dict("records"), own, strict=True):
        limits = [f"[{fixed(row['low'])}, {fixed(row['high'])}]"]
        if few:
            limits.append(f"[{fixed(better['low'])}, {fixed(better['high'])}]")
        numbers = [fixed(row[name]) for name in ("focal_mean", "comparison_mean", "estimate", "standard_error")]
        p_values = [p_text(row[name], contrast.n_resamples) for name in ("p_value", "p_holm")]
        rows.append([str(label), *numbers, *limits, *p_values])
    limits = [f"[{fixed(contrast.interval.low)}, {fixed(contrast.interval.high)}]"]
    if few:
        together = contrast.recommended_interval
        limits.append(f"[{fixed(together.low)}, {fixed(together.high)}]")
    numbers = [
        fixed(value) for value in (contrast.focal_mean, contrast.comparison_mean, contrast.estimate, contrast.standard_error)
    ]
    rows.append(["all models", *numbers, *limits, p_text(contrast.p_value, contrast.n_resamples), ""])
    return heads, rows


def stratum_table(contrast: Contrast) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows of the table of strata."""
    word = str(contrast.options["names"].get("cluster", "cluster"))
    mean = "mean difference" if contrast.paired else "mean"
    rows = []
    for label, row in zip(contrast.strata.index, contrast.strata.to_dict("records"), strict=True):
        value = row["mean_difference" if contrast.paired else "mean"]
        rows.append(
            [str(label), str(row["side"]), f"{row['n_clusters']:,}", f"{row['n_cells']:,}", fixed(value), str(row["drawn"])]
        )
    return ["stratum", "side", f"{word}s", "rewards", mean, "drawn"], rows


def notes_of(contrast: Contrast) -> list[str]:
    """Return the notes under a table."""
    rows = [boundary_text(str(side), row, contrast.confidence_level) for side, row in contrast.boundary.iterrows()]
    return [*contrast.diagnostics, *rows, *boundary_models_texts(contrast)]


def contrast_markdown(contrast: Contrast, models: bool) -> str:
    """Write the report in Markdown."""
    parts = [markdown_table(["contrast", "value"], [list(row) for row in facts(contrast)])]
    parts.append(markdown_table(*stratum_table(contrast)))
    if models:
        parts.append(markdown_table(*model_table(contrast)))
    parts += [f"Note: {markdown(note)}." for note in notes_of(contrast)]
    parts.append(markdown(methods_text(contrast)))
    return "\n\n".join(parts) + "\n"


def contrast_latex(contrast: Contrast, caption: str, label: str, models: bool) -> str:
    """Write a LaTeX table; needs booktabs."""
    title = caption or f"Mean reward of {contrast.comparison} and of {contrast.focal}"
    lines = [r"\begin{table}", r"\centering", rf"\caption{{{latex(title)}}}"]
    lines += [rf"\label{{{label}}}"] if label else []
    heads, rows = model_table(contrast)
    lines += [latex_table(heads, rows if models else rows[-1:])]
    skipped = ("focal", "comparison")
    legend = "; ".join(f"{name}: {value}" for name, value in facts(contrast) if name not in skipped)
    notes = "".join(f" {note}." for note in notes_of(contrast))
    sides = f"Focal: {contrast.focal}. Comparison: {contrast.comparison}."
    lines += ["", rf"\footnotesize {latex(f'{sides} {legend}.{notes}')}"]
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def contrast_html(contrast: Contrast, models: bool) -> str:
    """Write tables and the methods paragraph as HTML."""
    parts = [html_facts(facts(contrast)), html_table(*stratum_table(contrast), caption="Strata")]
    if models:
        parts.append(html_table(*model_table(contrast), caption="Difference by model, and of all models together"))
    parts += [f'<p class="note">Note: {escape(note)}.</p>\n' for note in notes_of(contrast)]
    return "".join([*parts, f"<p>{escape(methods_text(contrast))}</p>\n"])
