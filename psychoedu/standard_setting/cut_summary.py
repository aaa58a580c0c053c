"""Cut scores as fixed-width text."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from psychoedu.validation import counted

if TYPE_CHECKING:
    from psychoedu.standard_setting.cut_scores import CutScores

_WIDTH = 100


def headline(cuts: CutScores) -> str:
    """Return in a line what the cut scores are."""
    options = cuts.options
    parts = [f"Cut scores by {cuts.method}"]
    if cuts.panel is not None:
        parts.append(f"{counted(options['n_panellists'], 'panellist')}, round {options['round']}")
        parts.append(f"RP {options['response_probability']:.6g}, {options['rule']}, {options['aggregate']}")
        return ", ".join(parts)
    for name, noun in (("n_panellists", "panellist"), ("n_respondents", "respondent"), ("n_items", "item")):
        if isinstance(options.get(name), int):
            parts.append(counted(options[name], noun))
    if "response_probability" in options:
        parts.append(f"RP {options['response_probability']:.6g}")
    return ", ".join(parts)


def cut_summary(cuts: CutScores) -> str:
    """Return the cut scores, their errors, raw scores and what hangs on RP."""
    frame = cuts.to_frame()
    if not frame["flags"].any():
        frame = frame.drop(columns="flags")
    around = ", around the cut less the bias of reading (see reading_bias)" if cuts.panel is not None else ""
    lines = [headline(cuts), "", frame.to_string(float_format=_three, na_rep="-"), ""]
    lines += [
        fill(
            f"95% intervals: t for the panel part, normal for the others{around}. "
            f"{cuts.scale.limits([str(k) for k in cuts.levels])}.",
            _WIDTH,
        )
    ]
    if cuts.rp_sensitivity is not None:
        table = cuts.rp_sensitivity.rename_axis(index="RP", columns=None)
        lines += ["", "Cut scores at other response probabilities (the same items; a panel might have placed elsewhere)", ""]
        lines += [table.to_string(float_format=_three)]
        crossed = [f"{value:g}" for value, row in zip(table.index, table.to_numpy(), strict=True) if (np.diff(row) <= 0.0).any()]
        if crossed:
            lines.append(fill(f"Cut scores cross at RP {', '.join(crossed)}: the marked items change places there.", _WIDTH))
    lines += ["", *(fill(f"- {note}", _WIDTH, subsequent_indent="  ") for note in cuts.diagnostics)] if cuts.diagnostics else []
    return "\n".join(lines)


def _three(value: float) -> str:
    return f"{value:.3f}"
