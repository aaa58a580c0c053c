"""Demonstration on the data that come with the package: tables, figures, scores and one page to read them on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import pandas as pd

from psychoedu import plots
from psychoedu._version import __version__
from psychoedu.datasets import load_cse_like, load_lsat7
from psychoedu.demo_contrasts import DemoContrasts, run_contrasts
from psychoedu.demo_diagnosis import DemoDiagnosis, run_diagnosis
from psychoedu.demo_levels import DemoLevels, run_levels
from psychoedu.exceptions import DataError
from psychoedu.irt.calibrate import calibrate
from psychoedu.irt.score import score
from psychoedu.irt.summary import item_frame
from psychoedu.report.html import calibration_section
from psychoedu.report.page import page

MARKER = ".psychoedu-demo"
LSAT7_NOTE = "Real data: 1,000 people, five items of the Law School Admission Test, section 7 (Bock & Lieberman, 1970)."
CSE_LIKE_NOTE = (
    "Simulated data, in the shape of a benchmark of English: nobody answered these items, and no language model did. Two groups "
    "of learners took two forms with 13 common items, which put both forms on one scale; 24 rows stand for 12 models under two "
    "prompts. The items were calibrated on the learners, and the model rows were only scored."
)


def run_demo(folder: Path, say: Callable[[str], None]) -> Path:
    """Calibrate two data sets, set levels, diagnose and contrast on one; write everything into a folder, return the page to open.

    Parameters
    ----------
    folder : Path
        Where to write. Made if it is absent; refused if it holds anything that no earlier demo wrote.
    say : callable
        Takes the text to show, such as ``print``.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    DataError
        The folder holds something else.
    """
    claim(folder)
    say(f"psychoedu {__version__}: a demonstration on the data that come with the package\n")
    lsat7 = calibrate(load_lsat7())
    say(_wrapped(f"1. LSAT-7. {LSAT7_NOTE}"))
    say(lsat7.summary())
    _save(folder, "lsat7", lsat7)

    responses = load_cse_like()
    learner = (responses.respondents["group"] != "model").to_numpy()
    two_forms = calibrate(responses, groups="group", reference_group="junior", fit_to=learner)
    say("\n" + _wrapped(f"2. Two test forms. {CSE_LIKE_NOTE}"))
    say(two_forms.summary())
    models = score(two_forms, responses.select(respondents=~learner), method="eap").to_frame()
    say("\nModel rows: ability (EAP, population N(0, 1), on the scale of the junior group) and its standard error\n")
    say(models.to_string(float_format=_three))
    models.to_csv(folder / "model_scores.csv")
    _save(folder, "two_forms", two_forms)

    levels = run_levels(folder, two_forms, responses, say)
    diagnosis = run_diagnosis(folder, say)
    contrasts = run_contrasts(folder, responses, say)
    target = folder / "index.html"
    target.write_text(_page(lsat7, two_forms, models, levels, diagnosis, contrasts), encoding="utf-8")
    say(f"\nTables (CSV, LaTeX), banks (JSON) and figures (PNG, PDF) are in {folder.resolve()}")
    say(f"Open this page in a browser: {target.resolve()}")
    return target


def claim(folder: Path) -> None:
    """Make the folder, or make sure that it is an earlier demo's."""
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is a file; expected a folder to write to. Name another one with --out.")
    if folder.is_dir() and not (folder / MARKER).is_file() and any(folder.iterdir()):
        raise DataError(
            f"{folder} holds files that psychoedu demo did not write; nothing was changed. Name another one with --out."
        )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARKER).write_text("Written by `psychoedu demo`, which may replace the files in this folder.\n", encoding="utf-8")


def _wrapped(text: str) -> str:
    return fill(text, width=96) + "\n"


def _three(value: float) -> str:
    return f"{value:.3f}"


def _save(folder: Path, name: str, calibration: Any) -> None:
    from matplotlib.figure import Figure

    item_frame(calibration).to_csv(folder / f"{name}_items.csv")
    calibration.groups.to_csv(folder / f"{name}_groups.csv")
    calibration.scores().to_frame().to_csv(folder / f"{name}_scores.csv")
    calibration.save(folder / f"{name}_calibration.json")
    first_items: Sequence[Any] = list(calibration.items.index[:3])
    drawings: dict[str, tuple[tuple[float, float], Callable[[Any], Any]]] = {
        "wright_map": (
            (6.5, 4.2) if len(calibration.items) <= 25 else (7.2, 7.0),
            lambda ax: plots.wright_map(calibration, ax=ax),
        ),
        "information": ((4.6, 3.6), lambda ax: plots.information(calibration, ax=ax)),
        "curves": ((4.6, 3.6), lambda ax: plots.icc(calibration, first_items, ax=ax)),
        "groups": ((4.6, 3.2), lambda ax: plots.group_distributions(calibration, ax=ax)),
    }
    for kind, (size, draw) in drawings.items():
        drawing = Figure(figsize=size, layout="constrained")
        draw(drawing.add_subplot())
        drawing.savefig(folder / f"{name}_{kind}.png", dpi=200)
        drawing.savefig(folder / f"{name}_{kind}.pdf", metadata={"CreationDate": None})


def _page(
    lsat7: Any,
    two_forms: Any,
    models: pd.DataFrame,
    levels: DemoLevels,
    diagnosis: DemoDiagnosis,
    contrasts: DemoContrasts,
) -> str:
    body = calibration_section(lsat7, "LSAT-7 (real data)", notes=[LSAT7_NOTE])
    caption = "Model rows: ability (EAP, population N(0, 1), on the scale of the junior group)"
    body += calibration_section(two_forms, "Two test forms (simulated data)", [CSE_LIKE_NOTE], {caption: models})
    body += levels.section()
    body += diagnosis.section()
    body += contrasts.section()
    converged = lsat7.converged and two_forms.converged and diagnosis.converged
    return page(
        "psychoedu: a demonstration",
        body,
        subtitle=f"Two calibrations, levels, a diagnosis and contrasts by psychoedu {__version__}, on the data that come "
        "with the package.",
        alert="" if converged else "NOT CONVERGED: at least one of the fits below. Do not use its numbers.",
    )
