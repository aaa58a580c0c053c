"""Level probabilities with every source of error, and what each source contributes."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray, IntArray
from psychoedu.exceptions import LabelError
from psychoedu.persistence import Fields, encode_numbers, plain_label
from psychoedu.validation import has_label, listed

STEPS = ("measurement", "items", "linking", "panel")
PARTS = (*STEPS, "item_sampling")


@dataclass(frozen=True, eq=False)
class LevelUncertainty:
    """How sure each respondent's level is, and why not surer; made by ``classify(..., responses=...)``.

    Attributes
    ----------
    respondent_labels : Index
    level_labels : tuple of str, (L + 1,)
    steps : ndarray, (4, N, L + 1)
        Level probabilities with measurement error alone, then with that of item parameters, linking and the panel added.
    simulation_se : ndarray, (N, L + 1)
        Monte Carlo standard errors of the last step.
    nearest_cut : ndarray of int, (N,)
        The cut that each respondent's ability is nearest to, as a position among the levels with a cut; -1 for none.
    sd : ndarray, (N, 5)
        Standard error that each source adds to ability minus the nearest cut: measurement, items, linking, panel, item sampling.
        nan where it is unknown (see ``diagnostics``); it was then left out of the draws.
    item_sampling_counted : bool
        Whether item sampling is in the probabilities.
    n_draws : int
    diagnostics : tuple of str
    """

    respondent_labels: pd.Index
    level_labels: tuple[str, ...]
    cut_levels: tuple[Hashable, ...]
    steps: FloatArray
    simulation_se: FloatArray
    nearest_cut: IntArray
    sd: FloatArray
    item_sampling_counted: bool
    n_draws: int
    diagnostics: tuple[str, ...]

    @property
    def probabilities(self) -> pd.DataFrame:
        """Level probabilities with every source of error."""
        return pd.DataFrame(self.steps[-1], index=self.respondent_labels, columns=list(self.level_labels))

    @property
    def contributions(self) -> pd.DataFrame:
        """What each source adds to the error of ability minus the nearest cut.

        Returns
        -------
        DataFrame by respondent
            ``nearest_cut`` (its level), ``measurement``, ``items``, ``linking``, ``panel``, ``item_sampling`` (standard errors),
            ``total`` (root of the sum of squares of those that are known; item sampling only where it was asked to count).
        """
        frame = pd.DataFrame(self.sd, index=self.respondent_labels, columns=list(PARTS))
        names = [None if cut < 0 else plain_label(self.cut_levels[cut]) for cut in self.nearest_cut]
        frame.insert(0, "nearest_cut", pd.Series(names, index=frame.index, dtype=object))
        counted = list(PARTS) if self.item_sampling_counted else list(STEPS)
        frame["total"] = np.sqrt((frame[counted].fillna(0.0) ** 2).sum(axis=1))
        return frame

    def respondent(self, label: Hashable) -> pd.DataFrame:
        """Return one respondent's account: a row a source.

        Returns
        -------
        DataFrame by source
            ``se`` (standard error it adds to ability minus the nearest cut), ``share`` (of the total variance), and the
            probability of each level with this source and those above it.

        Raises
        ------
        LabelError
            There is no such respondent.
        """
        if not has_label(self.respondent_labels, label):
            raise LabelError(f"No respondent {label!r}; expected one of {listed(self.respondent_labels)}.")
        row = int(self.respondent_labels.get_indexer(pd.Index([label], tupleize_cols=False))[0])
        sources = list(PARTS) if self.item_sampling_counted else list(STEPS)
        se = self.sd[row, : len(sources)]
        total = np.nansum(se**2)
        shares = se**2 / total if total > 0.0 else np.full(len(se), np.nan)
        frame = pd.DataFrame({"se": se, "share": shares}, index=pd.Index(sources, name="source"))
        steps = [*self.steps[:, row], *([self.steps[-1, row]] if self.item_sampling_counted else [])]
        for k, name in enumerate(self.level_labels):
            frame[f"p_{name}"] = [step[k] for step in steps]
        if self.item_sampling_counted:  # the last step holds the panel and the sampling of items together
            frame.loc["panel", [f"p_{name}" for name in self.level_labels]] = np.nan
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers that ``from_dict`` turns back into an equal account."""
        return {
            "steps": encode_numbers(self.steps),
            "simulation_se": encode_numbers(self.simulation_se),
            "nearest_cut": self.nearest_cut.tolist(),
            "sd": encode_numbers(self.sd),
            "item_sampling_counted": self.item_sampling_counted,
            "n_draws": self.n_draws,
            "diagnostics": list(self.diagnostics),
        }

    @classmethod
    def from_dict(cls, content: Any, labels: pd.Index, level_labels: tuple[str, ...], cut_levels: tuple[Hashable, ...]) -> Self:
        """Build the account from what ``to_dict`` gave and the labels that stand beside it."""
        fields, n, k = Fields(content, "uncertainty"), len(labels), len(level_labels)
        return cls(
            labels,
            level_labels,
            cut_levels,
            fields.numbers("steps", len(STEPS), n, k, low=0.0, missing=True),
            fields.numbers("simulation_se", n, k, low=0.0, missing=True),
            fields.integers("nearest_cut", n, -1, len(cut_levels) - 1),
            fields.numbers("sd", n, len(PARTS), low=0.0, missing=True),
            fields.flag("item_sampling_counted"),
            fields.integer("n_draws", 2),
            fields.texts("diagnostics"),
        )
