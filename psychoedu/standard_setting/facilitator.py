"""The facilitator's sheet between two rounds: placements, cuts, spread, movement and impact."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from psychoedu.exceptions import DataError
from psychoedu.standard_setting.cut_scores import CutScores, refuse_not_increasing
from psychoedu.standard_setting.impact import impact, impact_texts
from psychoedu.standard_setting.panel import BookmarkPanel
from psychoedu.validation import counted, has_label, listed


@dataclass(frozen=True, eq=False)
class FacilitatorSheet:
    """What a panel is shown after a round; made by :func:`facilitator_sheet`.

    Attributes
    ----------
    round : label
    panel : BookmarkPanel
    placements : DataFrame
        Panellists x (level; page, theta).
    agreement : DataFrame, by level
        As ``BookmarkPanel.agreement``, of this round.
    movement : DataFrame, by level
        From the round before; empty for the first.
    impact : DataFrame by (group, level), or None
        Share of each group at each level if these were the cuts, with its interval; None without scores, or where the round's
        cuts do not rise (``diagnostics`` says so).
    diagnostics : tuple of str
    """

    round: Hashable
    panel: BookmarkPanel
    placements: pd.DataFrame
    agreement: pd.DataFrame
    movement: pd.DataFrame
    impact: pd.DataFrame | None
    diagnostics: tuple[str, ...] = ()

    def summary(self) -> str:
        """Return the sheet as fixed-width text."""
        kept = ["n", "median_page", "cut", "range", "sd", "mad", "pairwise_pages", "pairwise_theta"]
        parts = [
            f"Round {self.round}: {counted(len(self.placements), 'panellist')}, rule {self.panel.rule}, {self.panel.aggregate}",
            self.placements.to_string(float_format=_three, na_rep="-"),
            "Cuts and agreement\n\n" + self.agreement[kept].to_string(float_format=_three, na_rep="-"),
        ]
        if len(self.movement):
            parts.append("Movement from the round before\n\n" + self.movement.to_string(float_format=_three, na_rep="-"))
        if self.impact is not None:
            text = impact_texts(self.impact).to_string()
            parts.append(f"Impact: share of each group at each level, with 95% intervals\n\n{text}")
        return "\n\n".join([*parts, *self.diagnostics])


def facilitator_sheet(cuts: CutScores, scores: Any = None, groups: Any = None, round: Hashable | None = None) -> FacilitatorSheet:
    """Lay out a round of a bookmark panel for its discussion.

    Parameters
    ----------
    cuts : CutScores
        Of :func:`psychoedu.bookmark`, from the placements so far.
    scores : Scores, or DataFrame with columns theta and theta_se, optional
        Of test takers, for the impact.
    groups : one label per respondent of the scores, optional
    round : label, optional
        The last by default.

    Returns
    -------
    FacilitatorSheet

    Raises
    ------
    DataError
        The cuts are no bookmarks, or there is no such round.
    """
    panel = cuts.panel if isinstance(cuts, CutScores) else None
    if panel is None:
        raise DataError("facilitator_sheet needs the cut scores of a bookmark panel, as psychoedu.bookmark gives them.")
    number = panel.rounds[-1] if round is None else round
    if not has_label(pd.Index(panel.rounds, dtype=object), number):
        raise DataError(f"round {number!r} is not among the placements' rounds: {listed(panel.rounds)}.")
    position = panel.rounds.index(number)
    agreement = panel.agreement.iloc[position * len(panel.levels) : (position + 1) * len(panel.levels)].droplevel("round")
    notes: tuple[str, ...] = ()
    shares = None
    values = agreement["cut"].to_numpy(dtype=np.float64)
    values = values if cuts.linking is None else cuts.linking.transform(values)
    if scores is not None:
        try:
            refuse_not_increasing(panel.levels, values)
        except DataError as error:
            notes = (f"no impact: {error}",)
        else:
            shares = impact(scores, CutScores.from_values(dict(zip(panel.levels, values, strict=True)), scale=cuts.scale), groups)
    return FacilitatorSheet(number, panel, _wide(panel, position), agreement, _moved(panel, position), shares, notes)


def _wide(panel: BookmarkPanel, position: int) -> pd.DataFrame:
    pages, theta = panel.placements.pages[position], panel.theta[position]
    columns = {}
    for k, level in enumerate(panel.levels):
        columns[(level, "page")] = pd.array([None if np.isnan(page) else int(page) for page in pages[:, k]], dtype="Int64")
        columns[(level, "theta")] = theta[:, k]
    frame = pd.DataFrame(columns, index=pd.Index(list(panel.placements.panellists), name="panellist"))
    return frame.iloc[np.flatnonzero(~np.isnan(pages).all(axis=1))]


def _moved(panel: BookmarkPanel, position: int) -> pd.DataFrame:
    if position == 0:
        return pd.DataFrame()
    moved = panel.movement
    own = moved.index.get_level_values("to") == panel.rounds[position]
    return moved[own].droplevel(["from", "to"])


def _three(value: float) -> str:
    return f"{value:.3f}"
