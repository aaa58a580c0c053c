"""One respondent's level in words: how sure it is, and which error makes it unsure."""

from __future__ import annotations

from collections.abc import Hashable
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from psychoedu.exceptions import LabelError
from psychoedu.validation import has_label, listed

if TYPE_CHECKING:
    from psychoedu.standard_setting.levels import Levels

_SOURCES = {
    "measurement": "measurement (this test is short and finite)",
    "items": "item parameters (estimated, not known)",
    "linking": "linking of the scales",
    "panel": "the panel's cut (other panellists would cut elsewhere)",
    "item_sampling": "sampling of items (other items might have been given)",
}


def counted_sources(levels: Levels) -> str:
    """Return in words which sources of error the probabilities count.

    Parameters
    ----------
    levels : Levels
    """
    if levels.uncertainty is None:
        return "measurement error alone"
    names = {"measurement": "measurement", "items": "item parameters", "linking": "linking", "panel": "panel"}
    if levels.uncertainty.item_sampling_counted:
        names["item_sampling"] = "sampling of items"
    columns = levels.uncertainty.contributions[list(names)]
    known = [text for name, text in names.items() if columns[name].notna().any()]
    return f"error of {', '.join(known)}"


def explain_level(levels: Levels, respondent: Hashable) -> str:
    """Return ``Levels.explain``."""
    if not has_label(levels.respondent_labels, respondent):
        raise LabelError(f"No respondent {respondent!r}; expected one of {listed(levels.respondent_labels)}.")
    row = int(levels.respondent_labels.get_indexer(pd.Index([respondent], tupleize_cols=False))[0])
    theta, error = levels.theta_values[row], levels.theta_se_values[row]
    lines = [f"{respondent}: {levels.level_text.iloc[row]} (theta {theta:.3f}, standard error {error:.3f})"]
    probabilities = levels.probability_values[row]
    if np.isnan(probabilities).all():
        lines.append("The probability of a level is unknown: the score has no finite standard error.")
    else:
        shown = ", ".join(f"{name} {p:.3f}" for name, p in zip(levels.level_labels, probabilities, strict=True))
        what = "measurement error alone" if levels.uncertainty is None else counted_sources(levels)
        lines.append(fill(f"Probabilities with {what}: {shown}.", 100))
    if levels.flag_texts[row]:
        lines.append(f"Flags: {levels.flag_texts[row]}.")
    sensitivity = levels.rp_sensitivity
    if sensitivity is not None and levels.codes[row] >= 0:
        own = sensitivity.iloc[row]
        reached = [str(value) for value in own.dropna()]
        if len(set(reached)) > 1:
            low, high = own.index[0], own.index[-1]
            lines.append(
                fill(f"It hangs on the response probability: {reached[0]} at RP {low:g}, {reached[-1]} at RP {high:g}.", 100)
            )
        else:
            lines.append(f"The same level at every response probability from {own.index[0]:g} to {own.index[-1]:g}.")
    if levels.uncertainty is not None:
        account = levels.uncertainty.respondent(respondent)
        cut = levels.uncertainty.contributions["nearest_cut"].iloc[row]
        lines += ["", f"Error of ability minus the nearest cut ({cut}):"]
        for source, se, share in zip(account.index, account["se"], account["share"], strict=True):
            size = "unknown, left out" if np.isnan(se) else f"{se:.3f} ({share:.0%} of the variance)"
            lines.append(f"  {_SOURCES[source]}: {size}")
        if not levels.uncertainty.item_sampling_counted:
            apart = levels.uncertainty.contributions["item_sampling"].iloc[row]
            size = "unknown" if np.isnan(apart) else f"{apart:.3f}"
            lines.append(f"  apart, not counted: {_SOURCES['item_sampling']}: {size} beyond measurement")
        lines += [fill(f"- {note}", 100) for note in levels.uncertainty.diagnostics]
    return "\n".join(lines)
