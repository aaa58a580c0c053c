"""HTML page of cut scores and levels: how the cuts came about, how sure they are, and where respondents stand."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import pandas as pd

from psychoedu._version import __version__
from psychoedu.report.page import drawn, facts, figure, page, paragraph, table, terms
from psychoedu.standard_setting import plots
from psychoedu.standard_setting.cut_summary import headline
from psychoedu.standard_setting.impact import impact_texts

if TYPE_CHECKING:
    from psychoedu.standard_setting.cut_scores import CutScores
    from psychoedu.standard_setting.level_table import LevelTable
    from psychoedu.standard_setting.levels import Levels

MOST_BARS = 60
"""More respondents than this are not drawn."""
_COLUMNS = {"se": "SE", "se_panel": "SE panel", "se_items": "SE items", "se_linking": "SE linking"}
_ERRORS = [
    ("SE panel", "How far the panellists' cuts spread, as an error of their median or mean: others would cut elsewhere."),
    ("SE items", "The error of the item parameters: the marked items are not located exactly."),
    ("SE linking", "The error of bringing the cut from another scale; 0 where all items were calibrated together."),
    ("SE", "All of them: the square is the sum of their squares."),
    ("low, high", "95% interval: t with panellists - 1 degrees of freedom for the panel part; less the bias of reading."),
]


def levels_page(
    cuts: CutScores,
    title: str = "Cut scores and levels",
    notes: Sequence[str] = (),
    calibration: Any = None,
    levels: Levels | None = None,
    level_table: LevelTable | None = None,
    impact: pd.DataFrame | None = None,
) -> str:
    """Write cut scores, and the levels of respondents where given, as one self-contained HTML page.

    Parameters
    ----------
    cuts : CutScores
    title : str
        Heading of the page, plain text.
    notes, calibration, levels, level_table, impact
        As in :func:`levels_section`.

    Returns
    -------
    str
        HTML. Nothing is written to disk.
    """
    body = levels_section(cuts, "", notes, calibration, levels, level_table, impact)
    return page(title, body, subtitle=f"{headline(cuts)} · psychoedu {__version__}")


def levels_section(
    cuts: CutScores,
    heading: str,
    notes: Sequence[str] = (),
    calibration: Any = None,
    levels: Levels | None = None,
    level_table: LevelTable | None = None,
    impact: pd.DataFrame | None = None,
) -> str:
    """Write the body of a report on cut scores, to be put into a page.

    Parameters
    ----------
    cuts : CutScores
    heading : str
        Heading of the section; none if empty.
    notes : sequence of str
        Paragraphs of plain text.
    calibration : Calibration, optional
        For the populations on the Wright map.
    levels : Levels, optional
        Respondents whose probabilities are drawn.
    level_table : LevelTable, optional
        Models and conditions.
    impact : DataFrame, optional
        What :func:`psychoedu.standard_setting.impact.impact` gave.

    Returns
    -------
    str
        HTML.
    """
    parts = [f"<h2>{escape(heading)}</h2>\n" if heading else "", *(paragraph(note) for note in notes)]
    scale = f"{cuts.scale.name}: {cuts.scale.levels[0]} to {cuts.scale.levels[-1]}"
    parts += ["<h3>Cut scores</h3>\n", facts([("Made", headline(cuts)), ("Scale", scale)])]
    frame = cuts.to_frame().rename(columns=_COLUMNS)
    parts += [table(frame, "Cut scores and their errors", show_caption=False)]
    parts += ["<details><summary>What the columns mean</summary>\n", terms(_ERRORS), "</details>\n"]
    parts += [paragraph(f"{cuts.scale.limits([str(level) for level in cuts.levels])}.")]
    parts += [paragraph(f"Note: {note}", "note") for note in cuts.diagnostics]
    if cuts.bank is not None:
        parts.append(_maps(cuts, calibration))
    if cuts.panel is not None:
        parts.append(_panel(cuts))
    if cuts.rp_sensitivity is not None:
        parts.append(_sensitivity(cuts))
    if impact is not None:
        parts.append(_impact(impact))
    if level_table is not None:
        parts.append(_table(level_table))
    shown = levels if levels is not None else None if level_table is None else level_table.levels
    if shown is not None:
        parts.append(_levels(shown))
    return "".join(parts)


def _cuts_in_words(cuts: CutScores) -> str:
    return ", ".join(f"{level} {value:.2f}" for level, value in zip(cuts.levels, cuts.values, strict=True))


def _maps(cuts: CutScores, calibration: Any) -> str:
    n_items = cuts.bank.n_items if cuts.bank is not None else 0
    wright = drawn((7.2, 4.4 if n_items <= 25 else 7.0), lambda ax: plots.cuts_on_wright_map(cuts, calibration, ax))
    curve = drawn((5.6, 3.9), lambda ax: plots.cuts_on_information(cuts, calibration, ax))
    words = _cuts_in_words(cuts)
    return "".join(
        [
            figure(wright, f"Wright map with the cut scores {words}.", "Respondents, items and cut scores on one scale."),
            figure(
                curve,
                f"Test information and standard error with the cut scores {words}.",
                "How well the test measures where the decisions fall.",
            ),
        ]
    )


def _panel(cuts: CutScores) -> str:
    panel = cuts.panel
    assert panel is not None
    kept = ["n", "median_page", "cut", "range", "sd", "mad", "pairwise_pages", "pairwise_theta", "icc"]
    agreement = panel.agreement[kept]
    agreement.index = pd.Index([f"round {number}, {level}" for number, level in agreement.index], name="at")
    height = 1.6 + 0.55 * len(panel.levels)
    drawing = drawn((6.4, max(3.2, height)), lambda ax: plots.panel_rounds(cuts, ax))
    parts = ["<h3>The panel</h3>\n", figure(drawing, f"Cuts of each panellist by round; final cuts {_cuts_in_words(cuts)}.")]
    digits = {"n": 0, "median_page": 1, "pairwise_pages": 1}
    parts.append(table(agreement, "Agreement by round and level", digits))
    explained = (
        "Range, SD, MAD (median absolute deviation) and the mean difference of all pairs of panellists, in theta (and pages); "
        "ICC: agreement of a single panellist with the others over the levels, ICC(2,1)."
    )
    parts.append(paragraph(explained, "note"))
    if len(panel.rounds) > 1:
        moved = panel.movement.reset_index()
        moved.insert(0, "at", [f"{row['from']} to {row['to']}, {row['level']}" for _, row in moved.iterrows()])
        moved = moved.drop(columns=["from", "to", "level"]).set_index("at")
        parts.append(table(moved, "Movement between rounds", {"mean_pages": 1, "mean_absolute_pages": 1}))
    if panel.booklet.bank.covariance is not None:
        explained = (
            "Bias of reading: pages are ordered by estimates, so that some stand too early, and a panellist reading page by page "
            "meets the first page above the cut early. Estimated by parametric bootstrap, and taken off the intervals, not off "
            "the cut scores."
        )
        parts += [table(cuts.reading_bias(), "Bias of reading"), paragraph(explained, "note")]
    return "".join(parts)


def _sensitivity(cuts: CutScores) -> str:
    frame = cuts.rp_sensitivity
    assert frame is not None
    shown = frame.copy()
    shown.index = pd.Index([f"{value:g}" for value in frame.index], name="response probability")
    shown.columns = [str(level) for level in frame.columns]
    drawing = drawn((5.6, 3.6), lambda ax: plots.rp_sensitivity(cuts, ax))
    explained = (
        "The response probability is a choice, not an estimate. The same items, located at other response probabilities; a panel "
        "asked for another one might have placed its bookmarks elsewhere."
    )
    return "".join(
        [
            "<h3>What hangs on the response probability</h3>\n",
            paragraph(explained),
            table(shown, "Cut scores at other response probabilities", show_caption=False, labels_above=True),
            figure(drawing, "Cut scores over the response probability."),
        ]
    )


def _impact(shares: pd.DataFrame) -> str:
    wide = impact_texts(shares)
    wide.index = wide.index.map(str)
    wide.columns = wide.columns.map(str)
    drawing = drawn((6.2, 1.6 + 0.5 * len(wide)), lambda ax: plots.impact(shares, ax))
    return "".join(
        [
            "<h3>Impact</h3>\n",
            table(wide, "Share of each group at each level, with 95% intervals", show_caption=False, labels_above=True),
            figure(
                drawing, "Share of each group at each level.", "Means of the level probabilities of each group's respondents."
            ),
        ]
    )


def _table(found: LevelTable) -> str:
    label = "Models: level and its probability"
    whole = f'<div class="scroll whole" tabindex="0" role="region" aria-label="{label}">\n{found.to_html(legend=False)}</div>\n'
    return f"<h3>{label}</h3>\n{whole}{''.join(paragraph(line, 'note') for line in found.legend())}"


def _levels(levels: Levels) -> str:
    parts = ["<h3>Level probabilities</h3>\n"]
    n = levels.n_respondents
    if n <= MOST_BARS:
        drawing = drawn((6.8, 1.5 + 0.27 * n), lambda ax: plots.level_probabilities(levels, ax))
        shares = ", ".join(f"{name} {count}" for name, count in levels.counts().items())
        parts.append(figure(drawing, f"Level probabilities of {n} respondents; at each level: {shares}."))
    shown = levels.to_frame().drop(columns="level").rename(columns={"level_text": "level"})
    parts.append(table(shown.head(500), "Levels and their probabilities"))
    parts += [paragraph(f"Note: {note}", "note") for note in levels.diagnostics]
    if levels.uncertainty is not None:
        account = levels.uncertainty.contributions
        explained = (
            "What each source adds to the error of ability minus the nearest cut. Item sampling is what the jackknife shows "
            "beyond measurement; it is counted only where asked for."
        )
        parts += [table(account.head(500), "Where the uncertainty comes from"), paragraph(explained, "note")]
        parts += [paragraph(f"Note: {note}", "note") for note in levels.uncertainty.diagnostics]
    return "".join(parts)
