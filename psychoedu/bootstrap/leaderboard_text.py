"""A leaderboard in words and tables: screen, Markdown, LaTeX, HTML, a paragraph for a paper; everything from data is escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from psychoedu.bootstrap.design import missing_text
from psychoedu.bootstrap.paper import fixed, level_text
from psychoedu.markup import html_facts, html_table, latex, latex_table, markdown, markdown_table

if TYPE_CHECKING:
    from psychoedu.bootstrap.leaderboard_results import Leaderboard
    from psychoedu.bootstrap.lowest_results import Lowest

BALANCED, BY_TASKS = "balanced", "task"
_NAMES = {"spearman": "Spearman's rho", "kendall": "Kendall's tau-b"}
_CORRECTIONS = {"rao-wu": "rescaled after Rao and Wu", "canty-davison": "corrected after Canty and Davison"}
_METHODS = {"bca": "BCa", "t": "analytic t"}


def rank_text(value: float) -> str:
    """Write a rank: 3 or 2.5, a dash for none.

    Examples
    --------
    >>> rank_text(3.0), rank_text(2.5)
    ('3', '2.5')
    """
    return "\N{EN DASH}" if np.isnan(value) else f"{value:g}"


def share_text(value: float, n_resamples: int) -> str:
    """Write a share of the resamples; what never or always happened is a bound, since more resamples might show it.

    Examples
    --------
    >>> share_text(0.25, 1000), share_text(0.0, 1000), share_text(1.0, 1000)
    ('0.250', '<0.001', '>0.999')
    """
    if np.isnan(value):
        return "\N{EN DASH}"
    digits = max(3, int(np.ceil(np.log10(max(n_resamples, 1)) - 1e-9))) if value <= 0.0 or value >= 1.0 else 3
    least = 10.0**-digits
    if value <= 0.0:
        return f"<{least:.{digits}f}"
    if value >= 1.0:
        return f">{1.0 - least:.{digits}f}"
    return "<0.001" if value < 0.0005 else ">0.999" if value > 0.9995 else f"{value:.3f}"


def method_words(board: Leaderboard) -> str:
    """Name the method of the intervals with its correction."""
    corrected = f", {_CORRECTIONS[board.correction]}" if board.correction and board.method != "t" else ""
    return f"{_METHODS.get(board.method, board.method)}{corrected}"


def overall_words(board: Leaderboard) -> str:
    """Say what the overall score is."""
    if len(board.stages) == 1:
        return "the mean reward"
    if board.weighting_of_stages == BALANCED:
        same = f"each counts the same, whatever its number of {board.cluster_word}s"
        return f"the balanced mean of the {len(board.stages)} stages ({same})"
    weights = ", ".join(f"{label} {weight:.3g}" for label, weight in board.weights.items())
    if board.weighting_of_stages == BY_TASKS:
        return f"the mean of the {len(board.stages)} stages weighed by their numbers of rewards ({weights})"
    return f"the weighted mean of the {len(board.stages)} stages ({weights})"


def missing_words(found: Leaderboard | Lowest) -> str:
    """Say how many rewards were missing, and what was done about them."""
    return missing_text(found.n_missing, found.missing)


def sizes_words(found: Leaderboard | Lowest) -> str:
    """Give the number of clusters that are drawn from together, everywhere."""
    return f"{', '.join(f'{label} {n}' for label, n in found.sizes.items())} ({found.cluster_word}s)"


def correction_words(found: Leaderboard | Lowest) -> str:
    """Name the small-sample correction of the resamples."""
    return _CORRECTIONS.get(found.correction or "", "without small-sample correction")


def facts(board: Leaderboard) -> list[tuple[str, str]]:
    """Return what every report of a leaderboard says, as names and values."""
    rows = [
        ("models", f"{len(board.models)}"),
        ("overall", overall_words(board)),
        ("ties", "share the mean of their ranks (mid-ranks)"),
    ]
    if board.has_intervals:
        level = level_text(board.confidence_level)
        rows += [
            ("intervals of scores", f"{level}, {method_words(board)}"),
            (
                "intervals of ranks",
                f"{level}: percentiles of the resampled ranks; simultaneous: hold for all models at once (max-t)",
            ),
            ("resamples", f"{board.n_resamples:,} of whole {board.cluster_word}s, all models' results on one kept together"),
            ("drawn within", sizes_words(board)),
            ("seed", str(board.seed)),
            ("correction", board.correction or "none"),
            ("missing rewards", missing_words(board)),
        ]
    rows.append(("software", f"psychoedu {board.version}"))
    return rows


def board_table(board: Leaderboard) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows of the leaderboard."""
    several, level = len(board.stages) > 1, level_text(board.confidence_level)
    heads = ["model", *(str(label) for label in board.stages if several), "overall"]
    if board.has_intervals:
        heads += ["SE", f"{level} interval", *([f"recommended {level} interval"] if board.few_clusters else [])]
    heads.append("rank")
    if board.has_intervals:
        heads += [f"{level} ranks", "simultaneous ranks", "P(best)", "P(above next)"]
    rows = []
    better = board.recommended.to_dict("records") if board.few_clusters else [{}] * len(board.models)
    for label, row, own, wide in zip(board.models, board.table.to_dict("records"), board.scores, better, strict=True):
        cells = [str(label), *(fixed(value) for value in own if several), fixed(row["overall"])]
        if board.has_intervals:
            cells += [fixed(row["standard_error"], 4), f"[{fixed(row['low'])}, {fixed(row['high'])}]"]
            cells += [f"[{fixed(wide['low'])}, {fixed(wide['high'])}]"] if board.few_clusters else []
        cells.append(rank_text(row["rank"]))
        if board.has_intervals:
            cells += [
                f"{rank_text(row[f'rank_low{end}'])} to {rank_text(row[f'rank_high{end}'])}" for end in ("", "_simultaneous")
            ]
            cells += [share_text(row[name], board.n_resamples) for name in ("probability_best", "probability_above_next")]
        rows.append(cells)
    return heads, rows


def correlation_table(board: Leaderboard) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows of the rank correlations between stages."""
    level = level_text(board.confidence_level)
    heads = ["stages", "coefficient", "estimate"]
    if board.has_intervals:
        heads += [f"{level} percentile", "bias of resamples", "disattenuated", f"{level} interval"]
    rows = []
    frame = board.rank_correlations()
    for (first, second, name), row in zip(frame.index, frame.to_dict("records"), strict=True):
        cells = [f"{first} and {second}", _NAMES[name], fixed(row["estimate"])]
        if board.has_intervals:
            cells += [f"[{fixed(row['low'])}, {fixed(row['high'])}]", fixed(row["bias"])]
            limits = f"[{fixed(row['low_disattenuated'])}, {fixed(row['high_disattenuated'])}]"
            cells += [fixed(row["disattenuated"]), limits]
        rows.append(cells)
    return heads, rows


def notes_of(board: Leaderboard) -> list[str]:
    """Return what a reader should know before trusting the numbers."""
    notes = list(board.diagnostics)
    if board.has_intervals and len(board.stages) > 1:
        shown = ", ".join(f"{label} {fixed(value, 2)}" for label, value in board.reliability.items())
        notes.append(
            "sampling error pulls rank correlations towards 0, those of resamples and their percentile intervals once more; the "
            f"disattenuated ones are for endlessly many tasks (reliability of the stages' scores: {shown})"
        )
    return notes


def aligned(heads: list[str], rows: list[list[str]]) -> str:
    """Return a table as fixed-width text; the first column is text, the others are aligned right."""
    widths = [max(len(line[at]) for line in [heads, *rows]) for at in range(len(heads))]
    lines = [
        "  ".join(
            [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))]
        ).rstrip()
        for line in [heads, *rows]
    ]
    return "\n".join(lines)


def leaderboard_text(board: Leaderboard) -> str:
    """Return a leaderboard as fixed-width text."""
    rows = facts(board)
    width = max(len(name) for name, _ in rows)
    lines = ["Leaderboard", *(f"{name:<{width}}  {value}" for name, value in rows)]
    lines += [f"note: {note}" for note in notes_of(board)]
    lines += ["", aligned(*board_table(board))]
    if len(board.stages) > 1:
        lines += ["", "Rank correlations between stages", aligned(*correlation_table(board))]
    return "\n".join(lines)


def methods_text(board: Leaderboard) -> str:
    """Return a paragraph for the methods and results of a paper, from the same numbers as every table."""
    level, word = level_text(board.confidence_level), board.cluster_word
    sentences = [f"We ranked {len(board.models)} models by {overall_words(board)}; tied models share the mean of their ranks."]
    sentences.append(_first_sentence(board))
    if board.has_intervals:
        within = "stratum of a stage" if len(board.sizes) > len(board.stages) else "stage" if len(board.stages) > 1 else "stratum"
        within = f" within each {within}" if len(board.sizes) > 1 else ""
        sentences += [
            f"Uncertainty comes from a stratified cluster bootstrap: {board.n_resamples:,} resamples (seed {board.seed}) of "
            f"whole {word}s drawn with replacement{within}, with the results of all models on a {word} kept together, "
            f"{correction_words(board)}.",
            f"Drawn from together were {sizes_words(board)}.",
            f"Intervals of scores are {level} {method_words(board)} intervals; intervals of single ranks are percentiles of the "
            f"resampled ranks; simultaneous ones follow from max-t intervals of all differences between models and hold for all "
            f"models at once.",
        ]
    if len(board.stages) > 1:
        sentences.append(_correlation_sentence(board))
    if board.has_intervals:
        sentences.append(f"Missing rewards: {missing_words(board)}.")
    sentences += [f"{note[:1].upper()}{note[1:]}." for note in notes_of(board)]
    sentences.append(f"Computed with psychoedu {board.version}.")
    return " ".join(sentences)


def _first_sentence(board: Leaderboard) -> str:
    table = board.table
    best = table.index[(table["rank"] == table["rank"].min()).to_numpy()]
    row = table.loc[best[0]]
    scored = fixed(row["overall"])
    if board.has_intervals:
        scored += f", {level_text(board.confidence_level)} interval [{fixed(row['low'])}, {fixed(row['high'])}]"
    if len(best) > 1:
        return f"{len(best)} models share the highest overall score ({scored}): {', '.join(str(label) for label in best)}."
    sure = ""
    if board.has_intervals:
        share = share_text(row["probability_best"], board.n_resamples)
        sure = (
            f"; it was first in a share {'' if share[0] in '<>' else 'of '}{share} of the resamples; its simultaneous ranks are "
            f"{rank_text(row['rank_low_simultaneous'])} to {rank_text(row['rank_high_simultaneous'])}"
        )
    return f"{best[0]} has the highest overall score ({scored}){sure}."


def _correlation_sentence(board: Leaderboard) -> str:
    frame = board.rank_correlations()
    level, parts = level_text(board.confidence_level), []
    for (first, second, name), row in zip(frame.index, frame.to_dict("records"), strict=True):
        if name != "spearman":
            continue
        text = f"{first} and {second} {fixed(row['estimate'])}"
        if board.has_intervals:
            text += f" (disattenuated {fixed(row['disattenuated'])}, {level} interval "
            text += f"[{fixed(row['low_disattenuated'])}, {fixed(row['high_disattenuated'])}])"
        parts.append(text)
    return f"Spearman's rank correlations between stages: {'; '.join(parts)}."


def leaderboard_markdown(board: Leaderboard) -> str:
    """Write the report in Markdown."""
    parts = [markdown_table(*board_table(board))]
    if len(board.stages) > 1:
        parts.append(markdown_table(*correlation_table(board)))
    parts.append(markdown_table(["leaderboard", "value"], [list(row) for row in facts(board)]))
    parts += [f"Note: {markdown(note)}." for note in notes_of(board)]
    parts.append(markdown(methods_text(board)))
    return "\n\n".join(parts) + "\n"


def leaderboard_latex(board: Leaderboard, caption: str, label: str) -> str:
    """Write a LaTeX table; needs booktabs."""
    legend = "; ".join(f"{name}: {value}" for name, value in facts(board))
    notes = "".join(f" {note[:1].upper()}{note[1:]}." for note in notes_of(board))
    return latex_float(caption or "Leaderboard", label, *board_table(board), f"{legend[:1].upper()}{legend[1:]}.{notes}")


def latex_float(caption: str, label: str, heads: list[str], rows: list[list[str]], notes: str) -> str:
    """Write a floating booktabs table with notes under it."""
    lines = [r"\begin{table}", r"\centering", rf"\caption{{{latex(caption)}}}"]
    lines += [rf"\label{{{label}}}"] if label else []
    return "\n".join([*lines, latex_table(heads, rows), "", rf"\footnotesize {latex(notes)}", r"\end{table}"]) + "\n"


def leaderboard_html(board: Leaderboard) -> str:
    """Write tables and the methods paragraph as HTML."""
    parts = [html_table(*board_table(board), caption="Leaderboard")]
    if len(board.stages) > 1:
        parts.append(html_table(*correlation_table(board), caption="Rank correlations between stages"))
    return "".join([*parts, *html_account(facts(board), notes_of(board), methods_text(board))])


def html_account(rows: list[tuple[str, str]], notes: list[str], paragraph: str) -> list[str]:
    """Write facts, notes and a paragraph as HTML."""
    lines = [f'<p class="note">Note: {escape(note)}.</p>\n' for note in notes]
    return [html_facts(rows), *lines, f"<p>{escape(paragraph)}</p>\n"]
