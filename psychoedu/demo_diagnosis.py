"""Third part of the demonstration: the simulated design diagnosed, five models compared and the model rows classified."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Any

import pandas as pd

from psychoedu.cdm import plots
from psychoedu.cdm.compare import compare
from psychoedu.cdm.mastery_table import MasteryTable, mastery_table
from psychoedu.cdm.results import Diagnosis
from psychoedu.cdm.sensitivity import CalibrationSensitivity, calibration_sensitivity
from psychoedu.datasets import load_cse_like, load_cse_like_q
from psychoedu.report.diagnosis import comparison_text, diagnosis_section

HEADING = "Which attributes are mastered (simulated data)"
NOTE = (
    "Simulated data: the responses of the two test forms again. A Q-matrix says which of four attributes each item requires. "
    "Only the learners gave the parameters of the diagnosis; the 24 rows that stand for models were then scored with them, and "
    'no language model answered. One population of both cohorts, as in the paper; groups="group" gives each its own (on these '
    "data -2LL then falls from 77,703 to 77,206)."
)


@dataclass(frozen=True, eq=False)
class DemoDiagnosis:
    """What the third part computed."""

    comparison: pd.DataFrame
    mastery: MasteryTable
    sensitivity: CalibrationSensitivity

    @property
    def diagnosis(self) -> Diagnosis:
        """The G-DINA of the learners."""
        return self.sensitivity.learners

    @property
    def converged(self) -> bool:
        """Whether every fit reached its maximum."""
        fits = (self.sensitivity.learners.converged, self.sensitivity.joint.converged)
        return all(fits) and bool(self.comparison["converged"].all())

    def section(self) -> str:
        """Return the part of the page."""
        return diagnosis_section(self.diagnosis, HEADING, [NOTE], self.comparison, self.mastery, self.sensitivity)


def run_diagnosis(folder: Path, say: Callable[[str], None]) -> DemoDiagnosis:
    """Compare the models on the learners, classify the model rows, and write tables and figures.

    Parameters
    ----------
    folder : Path
        Where to write; it exists.
    say : callable
        Takes the text to show.

    Returns
    -------
    DemoDiagnosis
    """
    responses, q_matrix = load_cse_like(), load_cse_like_q()
    learner = (responses.respondents["group"] != "model").to_numpy()
    learners, models = responses.select(respondents=learner), responses.select(respondents=~learner)
    say("\n" + fill(f"4. {HEADING.replace(' (simulated data)', '')}. {NOTE}", width=96) + "\n")
    comparison = compare(learners, q_matrix)
    say(comparison_text(comparison) + "\n")
    sensitivity = calibration_sensitivity(learners, models, q_matrix)
    say(sensitivity.learners.summary())
    mastery = mastery_table(sensitivity.scored, separator="_", learners=sensitivity.learners)
    say("\nModel rows: ability and mastery\n")
    rows, _, legend = mastery.summary().partition("\n\n")
    say("\n".join([rows, "", *(fill(line, width=96) for line in legend.splitlines())]))
    say("\n" + sensitivity.summary())
    found = DemoDiagnosis(comparison, mastery, sensitivity)
    _save(folder, found)
    return found


def _save(folder: Path, found: DemoDiagnosis) -> None:
    diagnosis = found.diagnosis
    diagnosis.save(folder / "diagnosis.json")
    found.comparison.to_csv(folder / "diagnosis_models.csv")
    diagnosis.items.to_csv(folder / "diagnosis_items.csv", index=False)
    diagnosis.structure.to_csv(folder / "diagnosis_structure.csv")
    found.mastery.cells.to_csv(folder / "diagnosis_mastery_cells.csv", index=False)
    found.mastery.to_frame().to_csv(folder / "diagnosis_mastery.csv")
    (folder / "diagnosis_mastery.tex").write_text(
        found.mastery.to_latex("Ability and mastery (simulated data)"), encoding="utf-8"
    )
    found.sensitivity.items.to_csv(folder / "diagnosis_sensitivity_items.csv", index=False)
    found.sensitivity.mastery.to_csv(folder / "diagnosis_sensitivity_mastery.csv", index=False)
    item = diagnosis.q_matrix.frame.sum(axis=1).idxmax()  # one that requires several attributes
    drawings: dict[str, tuple[tuple[float, float], Callable[[Any], Any]]] = {
        "models": ((6.0, 3.1), lambda ax: plots.model_comparison(found.comparison, ax=ax)),
        "mastery": ((7.0, 4.6), lambda ax: found.mastery.plot(ax=ax)),
        "prevalence": ((4.6, 3.2), lambda ax: diagnosis.plot_prevalence(ax=ax)),
        "structure": ((4.8, 3.4), lambda ax: diagnosis.plot_structure(ax=ax)),
        "item": ((4.8, 3.4), lambda ax: diagnosis.plot_items(item, ax=ax)),
    }
    from matplotlib.figure import Figure

    for kind, (size, draw) in drawings.items():
        drawing = Figure(figsize=size, layout="constrained")
        draw(drawing.add_subplot())
        drawing.savefig(folder / f"diagnosis_{kind}.png", dpi=200)
        drawing.savefig(folder / f"diagnosis_{kind}.pdf", metadata={"CreationDate": None})
