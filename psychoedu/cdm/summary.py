"""A diagnosis as text, fixed-width and HTML."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from psychoedu.cdm.results import Diagnosis

MOST_ROWS = 120
_SE_NAMES = {
    "oakes": "observed information",
    "crossprod": "score cross-products",
    "sandwich": "sandwich of both",
    "crossprod-items": "score cross-products, class sizes known",
    None: "not asked for",
}


def headline(diagnosis: Diagnosis) -> str:
    """Return the first line of everything made from a diagnosis."""
    if not diagnosis.converged:
        return (
            f"NOT CONVERGED after {diagnosis.n_iterations} iterations: about {diagnosis.remaining_gain:.2g} log-likelihood units "
            "below the maximum. Do not use these numbers."
        )
    form = f" ({diagnosis.higher_order})" if diagnosis.higher_order else ""
    return f"{diagnosis.model} with {diagnosis.structure_name} attributes{form} by maximum likelihood"


def overview(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    """Return name and value of what stands above the tables."""
    options, data = diagnosis.options, diagnosis.data_summary
    respondents = f"{diagnosis.n_respondents:,.10g}"
    if data["n_scored_only"]:
        respondents += f" (and {data['n_scored_only']:,} that are only diagnosed)"
    starts = diagnosis.starts
    rows = [
        ("respondents", respondents),
        ("items, attributes", f"{diagnosis.q_matrix.n_items}, {diagnosis.q_matrix.n_attributes}"),
        ("responses", f"{data['n_responses']:,} ({data['share_missing']:.1%} of the cells missing, not used)"),
        ("-2 log-likelihood", f"{diagnosis.minus_2ll:,.4f}"),
        (
            "parameters",
            f"{diagnosis.n_parameters} ({diagnosis.n_item_parameters} of items, {diagnosis.n_structural_parameters} structural)",
        ),
        ("AIC, BIC", f"{diagnosis.aic:,.2f}, {diagnosis.bic:,.2f}"),
        ("iterations", f"{diagnosis.n_iterations} (largest gain left {diagnosis.remaining_gain:.1g})"),
        ("starts", f"{int(starts['reached_best'].sum())} of {len(starts)} reached the best log-likelihood"),
        ("standard errors", _SE_NAMES[options["standard_errors"]]),
    ]
    if diagnosis.structure_name == "higher-order":
        rows.append(("quadrature", f"{options['n_points']} points on [-6, 6]"))
    return rows


def diagnosis_text(diagnosis: Diagnosis) -> str:
    """Return fixed-width text of a diagnosis."""
    number = "{:.3f}".format
    lines = [headline(diagnosis), "", *(f"  {name:<18} {value}" for name, value in overview(diagnosis))]
    lines += ["", diagnosis.structure.head(MOST_ROWS).to_string(float_format=number, na_rep="-")]
    if diagnosis.source is not None and not diagnosis.withheld:
        prevalence = (
            diagnosis.mastery[diagnosis.source.fitted].mean() if diagnosis.source.fitted.any() else diagnosis.mastery.mean()
        )
        lines += ["", "Mean mastery: " + ", ".join(f"{label} {value:.3f}" for label, value in prevalence.items())]
    lines += ["", item_table(diagnosis).head(MOST_ROWS).to_string(float_format=number, na_rep="")]
    if diagnosis.q_matrix.n_items > MOST_ROWS:
        lines.append(f"... and {diagnosis.q_matrix.n_items - MOST_ROWS:,} more items, see .items")
    lines += ["", "Probability of a right answer by what of the item's own attributes is mastered (order of the Q-matrix)."]
    lines += [f"Note: {text}" for text in diagnosis.diagnostics]
    return "\n".join(lines)


def item_table(diagnosis: Diagnosis) -> pd.DataFrame:
    """Return a row per item: its attributes, guessing, slip, and flags."""
    rows = []
    flags = diagnosis.items.groupby("item", sort=False)["flags"]
    q = diagnosis.q_matrix
    for (label, own), required, probability in zip(flags, q.values, diagnosis.probabilities, strict=True):
        named = [str(name) for name in q.attribute_labels[required == 1]]
        joined = sorted({flag for text in own for flag in str(text).split("; ") if flag})
        rows.append(
            {
                "item": label,
                "attributes": ", ".join(named),
                "guessing": probability[0],
                "slip": 1.0 - probability[-1],
                "flags": "; ".join(joined),
            }
        )
    return pd.DataFrame(rows).set_index("item")


def diagnosis_html(diagnosis: Diagnosis) -> str:
    """Return HTML of a diagnosis for notebooks; labels are escaped."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(value)}</td></tr>"
        for name, value in overview(diagnosis)
    )
    notes = "".join(f"<li>{escape(text)}</li>" for text in diagnosis.diagnostics)
    tables = "".join(
        table.to_html(float_format=lambda value: f"{value:.3f}", max_rows=30, na_rep="", escape=True)
        for table in (diagnosis.structure, item_table(diagnosis))
    )
    return f"<p><b>{escape(headline(diagnosis))}</b></p><table>{rows}</table>{tables}" + (f"<ul>{notes}</ul>" if notes else "")
