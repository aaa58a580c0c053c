"""HTML page of a diagnosis: what was fitted, who masters what and how sure that is, and what to look at twice."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import pandas as pd

from psychoedu.cdm import plots
from psychoedu.cdm.summary import headline, item_table, overview
from psychoedu.report.page import drawn, facts, figure, page, paragraph, table, terms

if TYPE_CHECKING:
    from psychoedu.cdm.mastery_table import MasteryTable
    from psychoedu.cdm.results import Diagnosis
    from psychoedu.cdm.sensitivity import CalibrationSensitivity

MOST_MODELS = 60
"""More models than this are not drawn."""
MAX_BARS = 24
"""Items that are drawn; those with several attributes and flagged ones come first."""

FLAGS = {
    "on_bound": "The estimate ran to the edge of what is allowed and has no standard error.",
    "few_respondents": "Fewer than five respondents are expected to have this pattern of the item's attributes.",
    "empty": "No respondent is expected to have this pattern: its probability is not known from these data.",
    "monotonicity_violation": "Respondents with more of the item's attributes are less likely to be right. Look at the Q-matrix "
    "and at the standard errors; nothing was forced.",
}
_COLUMNS = {"minus_2ll": "-2LL", "n_parameters": "parameters", "aic": "AIC", "bic": "BIC"}


def comparison_text(comparison: pd.DataFrame) -> str:
    """Return what :func:`psychoedu.cdm.compare` gave as fixed-width text."""
    shown = pd.DataFrame({"-2LL": comparison["minus_2ll"].map("{:,.2f}".format), "parameters": comparison["n_parameters"]})
    for name in ("aic", "bic"):
        pairs = zip(comparison[name], comparison[f"best_{name}"], strict=True)
        shown[name.upper()] = [f"{value:,.2f}{'*' if best else ' '}" for value, best in pairs]
    stopped = [str(label) for label in comparison.index[~comparison["converged"].to_numpy(dtype=bool)]]
    note = f"\nNOT CONVERGED: {', '.join(stopped)}" if stopped else ""
    return f"Relative fit of the models (* the smallest)\n\n{shown.to_string()}{note}"


def diagnosis_page(
    diagnosis: Diagnosis,
    title: str = "Diagnosis report",
    notes: Sequence[str] = (),
    comparison: pd.DataFrame | None = None,
    mastery: MasteryTable | None = None,
    sensitivity: CalibrationSensitivity | None = None,
) -> str:
    """Write a diagnosis as one self-contained HTML page.

    Parameters
    ----------
    diagnosis : Diagnosis
        What to report.
    title : str
        Heading of the page, plain text.
    notes, comparison, mastery, sensitivity
        As in :func:`diagnosis_section`.

    Returns
    -------
    str
        HTML. Nothing is written to disk.
    """
    body = diagnosis_section(diagnosis, "", notes, comparison, mastery, sensitivity)
    alert = "" if diagnosis.converged else headline(diagnosis)
    subtitle = f"{diagnosis.model} with {diagnosis.structure_name} attributes, maximum likelihood · psychoedu {diagnosis.version}"
    return page(title, body, subtitle=subtitle, alert=alert)


def diagnosis_section(
    diagnosis: Diagnosis,
    heading: str,
    notes: Sequence[str] = (),
    comparison: pd.DataFrame | None = None,
    mastery: MasteryTable | None = None,
    sensitivity: CalibrationSensitivity | None = None,
) -> str:
    """Write the body of a diagnosis report, to be put into a page.

    Parameters
    ----------
    diagnosis : Diagnosis
        What to report.
    heading : str
        Heading of the section; none if empty.
    notes : sequence of str
        Paragraphs of plain text.
    comparison : DataFrame, optional
        What :func:`psychoedu.cdm.compare` gave.
    mastery : MasteryTable, optional
        Models and what they master.
    sensitivity : CalibrationSensitivity, optional

    Returns
    -------
    str
        HTML.
    """
    alert = "" if diagnosis.converged else headline(diagnosis)
    parts = [f"<h2>{escape(heading)}</h2>\n" if heading else "", paragraph(alert, "alert") if alert and heading else ""]
    parts += [paragraph(note) for note in notes]
    parts += ["<h3>Data and fit</h3>\n", facts([(name[:1].upper() + name[1:], value) for name, value in overview(diagnosis)])]
    parts += [paragraph(f"Note: {note}", "note") for note in diagnosis.diagnostics]
    if comparison is not None:
        parts.append(_comparison(comparison))
    if mastery is not None:
        parts.append(_mastery(mastery))
    if sensitivity is not None:
        parts.append(_sensitivity(sensitivity))
    parts += [_structure(diagnosis), _items(diagnosis), _bars(diagnosis)]
    return "".join(parts)


def _comparison(comparison: pd.DataFrame) -> str:
    shown = comparison[list(_COLUMNS)].rename(columns=_COLUMNS)
    shown["smallest"] = [
        " and ".join(name for name, best in (("AIC", aic), ("BIC", bic)) if best)
        for aic, bic in zip(comparison["best_aic"], comparison["best_bic"], strict=True)
    ]
    shown["flags"] = ["" if done else "not converged" for done in comparison["converged"]]
    if not shown["flags"].any():
        shown = shown.drop(columns="flags")
    best = {name: str(comparison[name].idxmin()) for name in ("aic", "bic")}
    drawing = drawn((6.0, 1.3 + 0.36 * len(comparison)), lambda ax: plots.model_comparison(comparison, ax=ax))
    explained = "The reduced models are nested in the G-DINA. Smaller AIC and BIC are better; BIC asks more of each parameter."
    alt = f"AIC and BIC by model; the smallest AIC is that of {best['aic']}, the smallest BIC that of {best['bic']}."
    return "".join(
        [
            "<h3>Model comparison</h3>\n",
            table(shown, "Relative fit of the models", dict.fromkeys(("-2LL", "AIC", "BIC"), 2), show_caption=False),
            paragraph(explained, "note"),
            figure(drawing, alt),
        ]
    )


def _mastery(mastery: MasteryTable) -> str:
    n_columns = len(mastery.attributes) * len(mastery.conditions)
    widest = max(len(str(label)) for label in mastery.models)
    size = (min(9.0, max(4.5, 1.6 + 0.07 * widest + 0.62 * n_columns)), 1.5 + 0.27 * len(mastery.models))
    shares = mastery.cells.groupby("attribute", sort=False)["mastered"].mean()
    alt = "Heat map of mastery probabilities; share of rows above the threshold: " + ", ".join(
        f"{name} {share:.0%}" for name, share in shares.items()
    )
    label = "Models: ability and mastery"
    scroll = (
        f'<div class="scroll whole" tabindex="0" role="region" aria-label="{label}">\n{mastery.to_html(legend=False)}</div>\n'
    )
    picture = ""
    if len(mastery.models) <= MOST_MODELS:
        caption = "Mastery probabilities; numbers above the threshold are bold. White line in the bar: the threshold."
        picture = figure(drawn(size, lambda ax: mastery.plot(ax=ax)), f"{alt}.", caption)
    return f"<h3>{label}</h3>\n{scroll}{''.join(paragraph(line, 'note') for line in mastery.legend())}{picture}"


def _sensitivity(sensitivity: CalibrationSensitivity) -> str:
    fit = sensitivity.fit.drop(columns=["converged", "log_likelihood"])
    fit = fit.rename(columns={**_COLUMNS, "n_respondents": "respondents", "learners_minus_2ll": "-2LL of the learners"})
    digits = {**dict.fromkeys(("-2LL", "AIC", "BIC", "-2LL of the learners"), 2), "respondents": 0}
    largest = sensitivity.largest().rename(columns={"standardized_change": "change / SE"})
    explained = (
        "What would change if the models had helped to estimate the parameters that they are scored with. -2LL, AIC and BIC of "
        "the two are of different data. "
        f"{sensitivity.n_decisions_changed} of {len(sensitivity.mastery)} mastery decisions change."
    )
    return "".join(
        [
            "<h3>Learners alone, or learners and models</h3>\n",
            paragraph(explained),
            table(fit, "Both calibrations", digits, show_caption=False),
            table(largest, "Largest changes, joint minus learners", dict.fromkeys(("learners", "joint", "change"), 4)),
            *(paragraph(f"Note: {note}", "note") for note in sensitivity.notes),
        ]
    )


def _structure(diagnosis: Diagnosis) -> str:
    parts = ["<h3>Attributes</h3>\n"]
    if diagnosis.structure_name == "higher-order":
        explained = (
            "An attribute is mastered with probability logistic(slope θ + intercept), θ the higher-order ability, normal with "
            "mean 0 and SD 1 in the population."
        )
    else:
        explained = "Probability of each profile (a digit an attribute, in the Q-matrix's order)."
        explained = "Probability of each attribute." if diagnosis.structure_name == "independent" else explained
    parts += [paragraph(explained, "note"), table(diagnosis.structure, "Structure of the attributes", show_caption=False)]
    size = (1.4 + 1.0 * max(4, diagnosis.q_matrix.n_attributes), 3.2)
    drawing = drawn(size, lambda ax: plots.attribute_prevalence(diagnosis, ax=ax))
    alt = "Prevalence of the attributes: under the model, and among those classified."
    caption = "How common each attribute is: under the model (bars), and among the respondents that it was fitted to (diamonds)."
    parts.append(figure(drawing, alt, caption))
    if diagnosis.structure_name == "higher-order":
        drawing = drawn((5.2, 3.6), lambda ax: plots.higher_order_curves(diagnosis, ax=ax))
        alt = "Probability of each attribute over the higher-order ability."
        caption = "Probability of mastery over the higher-order ability. Grey: where the population is."
        parts.append(figure(drawing, alt, caption))
    return "".join(parts)


def _items(diagnosis: Diagnosis) -> str:
    frame = item_table(diagnosis)
    parts = ["<h3>Items</h3>\n", table(frame, "Items: what they require, guessing and slip", show_caption=False)]
    meanings = [
        ("guessing", "Probability of a right answer with none of the item's attributes."),
        ("slip", "One minus the probability of a right answer with all of the item's attributes."),
    ]
    found = {flag for text in frame["flags"] for flag in str(text).split("; ") if flag}
    meanings += [(flag.replace("_", " "), FLAGS.get(flag, "See the documentation.")) for flag in sorted(found)]
    return "".join([*parts, "<details open><summary>What the columns mean</summary>\n", terms(meanings), "</details>\n"])


def _bars(diagnosis: Diagnosis) -> str:
    from matplotlib.figure import Figure

    frame, size = item_table(diagnosis), diagnosis.q_matrix.frame.sum(axis=1)
    first = sorted(frame.index, key=lambda label: (not frame["flags"].to_dict()[label], -int(size.to_dict()[label])))
    drawn = set(first[:MAX_BARS])
    pictures = []
    for label in frame.index:
        if label not in drawn:
            continue
        drawing = Figure(figsize=(2.8, 2.4))  # fixed margins: constrained layout would draw each twice
        ax = drawing.add_axes((0.13, 0.27, 0.84, 0.62))
        plots.item_responses(diagnosis, label, ax=ax)
        ax.tick_params(labelsize=7)
        ax.xaxis.label.set_fontsize(7)
        ax.set_ylabel("")
        row = frame.loc[label]
        alt = f"Item {label}, which requires {row['attributes']}: guessing {row['guessing']:.2f}, slip {row['slip']:.2f}."
        pictures.append(figure(drawing, alt, kind="small"))
    more = f" Drawn: {len(drawn)} of {len(frame)} items, flagged ones and those with several attributes first."
    explained = (
        "Probability of a right answer by which of the item's attributes are mastered (a digit each), with 95% intervals. "
        f"Hatched: without a standard error.{more if len(drawn) < len(frame) else ''}"
    )
    return f'<h3>Items by profile</h3>\n{paragraph(explained, "note")}<div class="grid">\n{"".join(pictures)}</div>\n'
