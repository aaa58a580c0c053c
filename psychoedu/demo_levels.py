"""The demonstration's part on levels: a booklet, a panel's cut scores, and the model rows placed on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Any

import pandas as pd

from psychoedu.datasets import load_cse_like_levels, load_cse_like_panel
from psychoedu.report.facilitator_page import facilitator_page
from psychoedu.report.levels import levels_section
from psychoedu.responses import ResponseMatrix
from psychoedu.standard_setting import plots
from psychoedu.standard_setting.annotations import annotation_cuts
from psychoedu.standard_setting.booklet import booklet
from psychoedu.standard_setting.bookmark import bookmark
from psychoedu.standard_setting.cut_scores import CutScores
from psychoedu.standard_setting.impact import impact, impact_texts, survival_curves
from psychoedu.standard_setting.level_table import LevelTable, level_table

HEADING = "CSE levels (simulated data)"
NOTE = (
    "The items of the two forms in the order of their location at response probability 0.67, and a panel of two in two rounds. "
    "Simulated as well: no panel met, and the levels say nothing about China's Standards of English or about any model."
)


@dataclass(frozen=True, eq=False)
class DemoLevels:
    """What the demonstration found."""

    cuts: CutScores
    table: LevelTable
    impact: pd.DataFrame
    calibration: Any

    def section(self) -> str:
        """Return the part of the page."""
        return levels_section(self.cuts, HEADING, [NOTE], self.calibration, level_table=self.table, impact=self.impact)


def run_levels(folder: Path, calibration: Any, responses: ResponseMatrix, say: Callable[[str], None]) -> DemoLevels:
    """Set the cut scores, place the model rows, and write tables, pages and figures.

    Parameters
    ----------
    folder : Path
        Where to write; it exists.
    calibration : Calibration
        Of the two forms, on the learners.
    responses : ResponseMatrix
        Learners and model rows.
    say : callable
        Takes the text to show.

    Returns
    -------
    DemoLevels
    """
    say("\n" + fill(f"3. {HEADING.replace(' (simulated data)', '')}. {NOTE}", width=96) + "\n")
    learner = (responses.respondents["group"] != "model").to_numpy()
    pages = booklet(calibration)
    cuts = bookmark(pages, load_cse_like_panel())
    say(cuts.summary())
    annotated = annotation_cuts(pages, load_cse_like_levels(), levels=list(cuts.levels))
    say("\nBeside the cuts that the items' own annotated levels give\n")
    say(cuts.compare(annotated).to_string(float_format=_three))
    scores = calibration.scores()
    groups = responses.respondents["group"].where(learner)
    shares = impact(scores, cuts, groups)
    say("\nImpact: share of each group of learners at each level\n")
    say(impact_texts(shares).to_string())
    models = level_table(calibration, responses.select(respondents=~learner), cuts, separator="_")
    say("\nModel rows under both prompts\n")
    rows, _, legend = models.summary().partition("\n\n")
    say("\n".join([rows, "", *(fill(line, width=96) for line in legend.splitlines())]))
    say("\n" + models.levels.explain("M05_p2"))
    found = DemoLevels(cuts, models, shares, calibration)
    curves = survival_curves(scores, groups)
    facilitator = facilitator_page(pages, list(cuts.levels), title="Bookmark panel (demonstration)", impact=curves)
    (folder / "panel_form.html").write_text(
        pages.to_html(list(cuts.levels), title="Ordered item booklet (demonstration)"), encoding="utf-8"
    )
    (folder / "panel_facilitator.html").write_text(facilitator, encoding="utf-8")
    load_cse_like_panel().to_csv(folder / "panel_placements.csv", index=False)
    _save(folder, found, pages)
    return found


def _save(folder: Path, found: DemoLevels, pages: Any) -> None:
    cuts, models = found.cuts, found.table
    pages.save(folder / "booklet.json")
    pages.to_csv(folder / "booklet.csv")
    cuts.save(folder / "cut_scores.json")
    cuts.to_frame().to_csv(folder / "cut_scores.csv")
    if cuts.rp_sensitivity is not None:
        cuts.rp_sensitivity.to_csv(folder / "cut_scores_by_rp.csv")
    found.impact.to_csv(folder / "levels_impact.csv")
    models.cells.to_csv(folder / "levels_models.csv", index=False)
    (folder / "levels_models.tex").write_text(models.to_latex("CSE levels (simulated data)"), encoding="utf-8")
    drawings: dict[str, tuple[tuple[float, float], Callable[[Any], Any]]] = {
        "cuts": ((7.2, 7.0), lambda ax: cuts.plot(found.calibration, ax=ax)),
        "cuts_information": ((5.2, 3.8), lambda ax: cuts.plot_information(found.calibration, ax=ax)),
        "panel": ((6.2, 3.8), lambda ax: cuts.plot_panel(ax=ax)),
        "rp_sensitivity": ((5.0, 3.6), lambda ax: cuts.plot_rp_sensitivity(ax=ax)),
        "models": ((6.8, 7.6), lambda ax: models.levels.plot(ax=ax)),
        "impact": ((6.0, 3.8), lambda ax: plots.impact(found.impact, ax)),
    }
    from matplotlib.figure import Figure

    for kind, (size, draw) in drawings.items():
        drawing = Figure(figsize=size, layout="constrained")
        draw(drawing.add_subplot())
        drawing.savefig(folder / f"levels_{kind}.png", dpi=200)
        drawing.savefig(folder / f"levels_{kind}.pdf", metadata={"CreationDate": None})


def _three(value: float) -> str:
    return f"{value:.3f}"
