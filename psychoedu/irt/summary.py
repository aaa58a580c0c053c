"""A calibration as text, fixed-width and HTML."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from psychoedu.irt.results import Calibration

MOST_ITEMS = 100
"""Items printed by ``summary()``; the table itself is ``.items``."""
_SE_NAMES = {
    "oakes": "observed information",
    "crossprod": "score cross-products",
    "sandwich": "sandwich of both",
    None: "not asked for",
}


def headline(calibration: Calibration) -> str:
    """First line of everything that is made from a calibration: what it is, or that it did not converge."""
    if not calibration.converged:
        return (
            f"NOT CONVERGED after {calibration.n_iterations} iterations: about {calibration.remaining_gain:.2g} log-likelihood "
            "units below the maximum. Do not use these numbers."
        )
    names = {"2pl": "2PL", "1pl": "1PL (one common discrimination)", "rasch": "Rasch"}
    return f"{names[calibration.model]} by marginal maximum likelihood, logit metric (D = 1)"


def overview(calibration: Calibration) -> list[tuple[str, str]]:
    """Name and value of what stands above the tables."""
    options, data = calibration.options, calibration.data_summary
    respondents = f"{calibration.n_respondents:,.10g}"
    if data.get("n_scored_only"):
        respondents += f" (and {data['n_scored_only']:,} that are only scored)"
    rows = [
        ("respondents", respondents),
        ("items", f"{calibration.n_items:,}" + (f" ({len(data['dropped_items'])} dropped)" if data.get("dropped_items") else "")),
        ("responses", f"{data['n_responses']:,} ({data['share_missing']:.1%} of the cells missing, not used)"),
        ("log-likelihood", f"{calibration.log_likelihood:,.4f}"),
        ("free parameters", f"{calibration.n_parameters}"),
        ("AIC, BIC", f"{calibration.aic:,.2f}, {calibration.bic:,.2f}"),
        ("iterations", f"{calibration.n_iterations} (largest gain left {calibration.remaining_gain:.1g})"),
        ("quadrature", f"{options['n_points']} points on [{options['low']:g}, {options['high']:g}]"),
        ("standard errors", _SE_NAMES[options["standard_errors"]]),
        ("reliability", _reliability(calibration)),
    ]
    if options.get("priors"):
        rows.append(("priors", str(options["priors"])))
    if len(calibration.group_labels) > 1:
        rows.append(("reference group", f"{calibration.reference_group}, N(0, 1)"))
    return rows


def _reliability(calibration: Calibration) -> str:
    parts = [f"{name} {value:.3f}" for name, value in calibration.reliability.items() if np.isfinite(value)]
    return ", ".join(parts) or "none"


def alpha_reason(calibration: Calibration) -> str:
    """Return why coefficient alpha does not exist, items by their labels; empty if it does."""
    labels = calibration.items.index
    return re.sub(
        r"columns (\d+) and (\d+)",
        lambda found: f"items {labels[int(found[1]) - 1]} and {labels[int(found[2]) - 1]}",
        calibration.classical.alpha_reason,
    )


def item_frame(calibration: Calibration) -> pd.DataFrame:
    """Return ``.items`` with the classical statistics that are not among its columns beside them, flags last."""
    items, analysis = calibration.items, calibration.item_analysis()
    flags = items.pop("flags")
    further = [name for name in analysis.columns if name not in items.columns and name != "flags"]
    return pd.concat([items, analysis[further], flags], axis=1)


def calibration_text(calibration: Calibration) -> str:
    """Fixed-width text of a calibration."""
    lines = [headline(calibration), ""]
    lines += [f"  {name:<16} {value}" for name, value in overview(calibration)]
    groups = calibration.groups
    if len(groups) > 1 or not np.allclose([groups["latent_mean"].iloc[0], groups["latent_sd"].iloc[0]], [0.0, 1.0]):
        groups["n"] = groups["n"].map("{:.10g}".format)
        lines += ["", groups.to_string(float_format=lambda value: f"{value:.3f}", na_rep="fixed")]
    items = calibration.items.drop(columns=["n"] if calibration.data_summary["share_missing"] == 0 else [])
    short = {
        "discrimination": "a", "discrimination_se": "se(a)", "difficulty": "b", "difficulty_se": "se(b)",
        "intercept": "d", "intercept_se": "se(d)", "p_value": "p", "point_biserial": "r_pb",
    }  # fmt: skip
    shown = items.rename(columns=short).head(MOST_ITEMS)
    if "n" in shown:
        shown["n"] = shown["n"].map("{:.10g}".format)
    lines += ["", shown.to_string(float_format=lambda value: f"{value:.3f}", na_rep="-")]
    if len(items) > MOST_ITEMS:
        lines.append(f"... and {len(items) - MOST_ITEMS:,} more items, see .items")
    lines += [
        "",
        "a discrimination, b difficulty, d = -a b intercept, p proportion right, r_pb corrected point-biserial.",
    ]
    if reason := alpha_reason(calibration):
        lines.append(f"Note: no coefficient alpha: {reason}.")
    lines += [f"Note: {text}" for text in calibration.diagnostics]
    return "\n".join(lines)


def calibration_html(calibration: Calibration) -> str:
    """HTML of a calibration for notebooks; labels are escaped."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(value)}</td></tr>"
        for name, value in overview(calibration)
    )
    notes = "".join(f"<li>{escape(text)}</li>" for text in calibration.diagnostics)
    table = calibration.items.to_html(float_format=lambda value: f"{value:.3f}", max_rows=30, na_rep="", escape=True)
    return f"<p><b>{escape(headline(calibration))}</b></p><table>{rows}</table>{table}" + (f"<ul>{notes}</ul>" if notes else "")
