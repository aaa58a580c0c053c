"""HTML page of a calibration: what was calibrated, what came out, what each number means, and what to look at twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from psychoedu import plots
from psychoedu.irt.summary import alpha_reason, headline, item_frame, overview
from psychoedu.report.page import column_title, facts, figure, page, paragraph, table, terms

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from psychoedu.irt.results import Calibration

MAX_CURVES = 100
"""Items whose curves are drawn; flagged items come first."""

COLUMNS = {
    "discrimination": "Slope a: how sharply the item separates respondents just below and just above its difficulty. "
    "Logit metric (D = 1): multiply by 1/1.702 for the normal ogive metric.",
    "difficulty": "b: the ability at which a right answer has probability one half. On the scale of θ.",
    "intercept": "d = -a b: the logit of a right answer at θ = 0.",
    "discrimination_se": "Standard error of the number to its left; a dash where it does not exist.",
    "p_value": "Proportion right among those who have a score on the item.",
    "point_biserial": "Correlation of the item with the proportion right on the respondent's other items (corrected).",
    "discrimination_index": "Proportion right in the upper 27% of respondents minus that in the lower 27%.",
    "alpha_if_deleted": "Coefficient alpha of the other items: if higher than alpha, the item lowers reliability.",
    "n": "Number of respondents with a score on the item.",
    "flags": "What to look at twice; explained below.",
}

FLAGS = {
    "negative_discrimination": "Able respondents get this item wrong more often than others. Check the key first, then the "
    "wording. The item was left as it is.",
    "on_bound": "The estimate ran to the edge of what is allowed: the likelihood has no maximum inside.",
    "fixed": "The parameters were given, not estimated.",
    "few_responses": "Few respondents have a score on this item.",
}

MODELS = {
    "2pl": "Two-parameter logistic model (2PL), marginal maximum likelihood",
    "1pl": "One-parameter logistic model (1PL: one common discrimination), marginal maximum likelihood",
    "rasch": "Rasch model, marginal maximum likelihood",
}


def calibration_page(calibration: Calibration, title: str = "Calibration report", notes: Sequence[str] = ()) -> str:
    """Write a calibration as one self-contained HTML page.

    Parameters
    ----------
    calibration : Calibration
        What to report.
    title : str
        Heading of the page, plain text.
    notes : sequence of str
        Paragraphs of plain text under the heading: where the data come from, for instance.

    Returns
    -------
    str
        HTML. Nothing is written to disk.

    Examples
    --------
    >>> import psychoedu as pe
    >>> html = calibration_page(pe.calibrate(pe.datasets.load_lsat7()), title="LSAT section 7")
    >>> html.startswith("<!DOCTYPE html>"), "<script" in html
    (True, False)
    """
    body = calibration_section(calibration, heading="", notes=notes)
    subtitle = f"{MODELS[calibration.model]} · psychoedu {calibration.version}"
    return page(title, body, subtitle=subtitle, alert=_alert(calibration))


def calibration_section(
    calibration: Calibration,
    heading: str,
    notes: Sequence[str] = (),
    tables: Mapping[str, pd.DataFrame] | None = None,
) -> str:
    """Write the body of a calibration report, to be put into a page.

    Parameters
    ----------
    calibration : Calibration
        What to report.
    heading : str
        Heading of the section; none if empty.
    notes : sequence of str
        Paragraphs of plain text.
    tables : mapping of str to DataFrame, optional
        Further tables by caption, such as the scores of some respondents; they come after the groups.

    Returns
    -------
    str
        HTML.
    """
    alert = _alert(calibration)
    parts = [f"<h2>{escape(heading)}</h2>\n" if heading else "", paragraph(alert, "alert") if alert and heading else ""]
    parts += [paragraph(note) for note in notes]
    parts += ["<h3>Data and fit</h3>\n", facts([(name[:1].upper() + name[1:], value) for name, value in overview(calibration)])]
    parts += [paragraph(f"Note: {note}", "note") for note in calibration.diagnostics]
    if reason := alpha_reason(calibration):
        parts += [paragraph(f"Coefficient alpha does not exist: {reason}.", "note")]
    parts += [_groups(calibration)]
    for caption, frame in (tables or {}).items():
        parts += [f"<h3>{escape(caption)}</h3>\n", table(frame, caption, show_caption=False)]
    parts += [_items(calibration), _figures(calibration), _curves(calibration)]
    return "".join(parts)


def _alert(calibration: Calibration) -> str:
    return "" if calibration.converged else headline(calibration)


def _groups(calibration: Calibration) -> str:
    explained = (
        f"Each group is a normal population of ability. The reference group, {calibration.reference_group}, has mean 0 and SD 1, "
        "which fixes the scale (in a Rasch model, its mean only); the others are estimated on it. Fixed numbers have no standard "
        "error."
    )
    return (
        "<h3>Groups</h3>\n" + table(calibration.groups, "Mean and standard deviation of ability") + paragraph(explained, "note")
    )


def _items(calibration: Calibration) -> str:
    frame = item_frame(calibration)
    known = [(column_title(name), meaning) for name, meaning in COLUMNS.items() if name in frame.columns]
    parts = ["<h3>Items</h3>\n", table(frame, "Item parameters and classical statistics")]
    parts += ["<details open><summary>What the columns mean</summary>\n", terms(known), "</details>\n"]
    flags = _flags_of(frame["flags"]) if "flags" in frame else []
    if flags:
        parts += ["<h3>Flags</h3>\n", paragraph("Flagged items are kept. What the flags say:")]
        parts += [terms([(_flag_title(name, items), FLAGS.get(name, "See the documentation.")) for name, items in flags])]
    else:
        parts += [paragraph("No item is flagged.")]
    return "".join(parts)


def _flags_of(column: pd.Series[Any]) -> list[tuple[str, list[str]]]:
    found: dict[str, list[str]] = {}
    for label, text in column.fillna("").items():
        for flag in filter(None, (part.strip() for part in str(text).split(";"))):
            found.setdefault(flag, []).append(str(label))
    return list(found.items())


def _flag_title(name: str, items: Sequence[str]) -> str:
    shown = ", ".join(items[:8]) + (f" and {len(items) - 8} more" if len(items) > 8 else "")
    return f"{name.replace('_', ' ')}: {shown}"


def _new_figure(width: float, height: float) -> tuple[Figure, Any]:
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(width, height), layout="constrained")
    return drawing, drawing.add_subplot()


def _figures(calibration: Calibration) -> str:
    n_items = len(calibration.items)
    groups = ", ".join(
        f"{label} mean {mean:.2f} SD {sd:.2f}"
        for label, mean, sd in zip(
            calibration.groups.index, calibration.groups["latent_mean"], calibration.groups["latent_sd"], strict=True
        )
    )
    difficulty = calibration.items["difficulty"]
    span = f"difficulties from {np.nanmin(difficulty):.2f} to {np.nanmax(difficulty):.2f}"
    wright, ax = _new_figure(7.2, 4.4 if n_items <= 25 else 7.0)
    plots.wright_map(calibration, ax=ax)
    test, ax = _new_figure(5.4, 3.8)
    plots.information(calibration, ax=ax)
    return "".join(
        [
            "<h3>Wright map</h3>\n",
            figure(
                wright,
                f"Wright map: populations {groups}; {n_items} items with {span}.",
                "Respondents (left) and items (right) on one scale. An item stands where a respondent has an even chance. Where "
                "respondents are without items beside them, the test says little about them.",
            ),
            "<h3>Test information</h3>\n",
            figure(
                test,
                "Test information and standard error of ability over ability.",
                "Where the test measures well: information (solid), and the standard error of a score from all items (dashed). "
                "Grey: where the populations are.",
            ),
        ]
    )


def _curves(calibration: Calibration) -> str:
    from matplotlib.figure import Figure

    frame = calibration.items
    flagged = [label for label, text in frame["flags"].fillna("").items() if text]
    ordered = list(dict.fromkeys([*flagged, *frame.index]))[:MAX_CURVES]
    chosen = [label for label in frame.index if label in set(ordered)]
    pictures = []
    for label in chosen:
        drawing = Figure(figsize=(2.8, 2.2))  # fixed margins: constrained layout would draw each twice
        ax = drawing.add_axes((0.12, 0.13, 0.85, 0.74))
        plots.icc(calibration, label, ax=ax)
        ax.tick_params(labelsize=8)
        ax.set(xlabel="", ylabel="")
        row = frame.iloc[calibration.position_of(label)]
        alt = f"Curve of item {label}: discrimination {row['discrimination']:.2f}, difficulty {row['difficulty']:.2f}."
        pictures.append(figure(drawing, alt, kind="small"))
    left_out = len(frame) - len(chosen)
    more = f" Drawn: {len(chosen)} of {len(frame)} items, flagged ones included." if left_out else ""
    explained = (
        "Probability of a right answer over ability. Line: the model, with its 95% band. Points: observed proportions with 95% "
        "intervals, for groups of respondents formed by their ability on the other items; the height of a point above the line "
        f"is observed minus expected.{more}"
    )
    return f'<h3>Item characteristic curves</h3>\n{paragraph(explained, "note")}<div class="grid">\n{"".join(pictures)}</div>\n'
