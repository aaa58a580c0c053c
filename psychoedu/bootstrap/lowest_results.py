"""The result of "lowest for k of m models": which stratum is lowest for whom, and how sure that is."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray
from psychoedu.bootstrap.analysis import FEW_CLUSTERS
from psychoedu.persistence import Saved

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Lowest(Saved):
    """For how many models a stratum has the lowest mean; made by :func:`psychoedu.lowest_for`.

    Attributes
    ----------
    k, n_models : int
        Models for which the focal stratum, and no other, has the lowest mean; of how many.
    low, high : int
        Percentiles of k over the resamples.
    standard_error, bias : float
        Standard deviation of the resampled k, and their mean less k.
    n_tied : int
        Models for which the focal stratum shares the lowest mean with another; not counted in k.
    resampled : Series by count from 0 to m
        Share of the resamples in which the focal stratum is lowest for so many models.
    exceptions : DataFrame by model
        Those that k leaves out, with the columns of ``by_model``.
    by_model : DataFrame by model
        ``lowest`` (the strata that are, joined by " and "), ``lowest_mean``, ``focal_mean``, ``gap`` (focal less the lowest of
        the others: below 0 where k counts the model) and ``probability``, the share of the resamples in which k counts it.
    strata : DataFrame by stratum, lowest mean first
        ``n_clusters``, ``mean`` (over models, of their means), ``k``, ``n_tied``, ``low`` and ``high`` of k, ``expected`` (mean
        of the resampled k).
    means, probabilities : DataFrame, model by stratum
        Means; and shares of the resamples in which each is lowest for the model (strata that tie share theirs).
    n_resamples, n_failed, confidence_level, correction, weighting, missing, sizes, n_missing, seed, cluster_word, diagnostics,
    version
        As in a leaderboard.

    Notes
    -----
    Resampling adds noise to the means, so that the resampled k tends to lie below an observed k near m: ``bias`` says by how
    much. Read the percentile interval with it, as a statement about how easily other tasks would change the count.
    """

    kind: ClassVar[str] = "lowest"

    models: pd.Index
    groups: pd.Index
    focal: Hashable
    by: str
    scores: FloatArray
    shares: FloatArray
    probability_focal: FloatArray
    distribution: FloatArray
    counts: FloatArray
    tied: FloatArray
    count_limits: FloatArray
    count_means: FloatArray
    pooled: FloatArray
    tie: float
    sizes: pd.Series
    n_missing: pd.Series
    n_resamples: int
    n_failed: int
    confidence_level: float
    correction: str | None
    weighting: str
    missing: str
    fewest_clusters: int
    seed: int
    cluster_word: str
    diagnostics: tuple[str, ...]
    version: str

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    @property
    def _at(self) -> int:
        return list(self.groups).index(self.focal)

    @property
    def n_models(self) -> int:
        """Number of models."""
        return len(self.models)

    @property
    def few_clusters(self) -> bool:
        """Whether some stratum has fewer than 20 clusters."""
        return self.fewest_clusters < FEW_CLUSTERS

    @property
    def k(self) -> int:
        """Models for which the focal stratum alone has the lowest mean."""
        return int(self.counts[self._at])

    @property
    def n_tied(self) -> int:
        """Models for which the focal stratum shares the lowest mean."""
        return int(self.tied[self._at])

    @property
    def low(self) -> int:
        """Lower percentile of the resampled k."""
        return int(self.count_limits[0, self._at])

    @property
    def high(self) -> int:
        """Upper percentile of the resampled k."""
        return int(self.count_limits[1, self._at])

    @property
    def bias(self) -> float:
        """Mean of the resampled k less k."""
        return float(self.count_means[self._at]) - self.k

    @property
    def standard_error(self) -> float:
        """Standard deviation of the resampled k."""
        counts = np.arange(self.n_models + 1)
        kept = self.n_resamples - self.n_failed
        variance = float(self.distribution @ (counts - self.distribution @ counts) ** 2)
        return float(np.sqrt(variance * kept / (kept - 1)))

    @property
    def resampled(self) -> pd.Series:
        """Share of the resamples by k; see the class."""
        return pd.Series(self.distribution.copy(), index=pd.RangeIndex(self.n_models + 1, name="k"), name="probability")

    @property
    def means(self) -> pd.DataFrame:
        """Means, model by stratum."""
        return pd.DataFrame(self.scores.T.copy(), index=self.models, columns=self.groups)

    @property
    def probabilities(self) -> pd.DataFrame:
        """Share of the resamples in which each stratum is lowest, model by stratum."""
        return pd.DataFrame(self.shares.T.copy(), index=self.models, columns=self.groups)

    @property
    def by_model(self) -> pd.DataFrame:
        """What is lowest for each model; see the class."""
        rows = []
        for at in range(self.n_models):
            own = self.scores[:, at]
            least, focal = float(own.min()), float(own[self._at])
            where = np.flatnonzero(own - least <= self.tie).tolist()
            gap = focal - float(np.delete(own, self._at).min())
            gap = 0.0 if abs(gap) <= self.tie else gap
            names = " and ".join(str(self.groups[place]) for place in where)
            rows.append((names, least, focal, gap, float(self.probability_focal[at])))
        return pd.DataFrame(rows, columns=["lowest", "lowest_mean", "focal_mean", "gap", "probability"], index=self.models)

    @property
    def exceptions(self) -> pd.DataFrame:
        """Models that k leaves out, and what is lowest for them; see the class."""
        table = self.by_model
        return table[(table["gap"] >= 0.0).to_numpy()]

    @property
    def strata(self) -> pd.DataFrame:
        """One row per stratum, lowest mean first; see the class."""
        frame = pd.DataFrame(
            {
                "n_clusters": self.sizes.to_numpy(),
                "mean": self.pooled,
                "k": self.counts.astype(np.int64),
                "n_tied": self.tied.astype(np.int64),
                "low": self.count_limits[0].astype(np.int64),
                "high": self.count_limits[1].astype(np.int64),
                "expected": self.count_means,
            },
            index=self.groups,
        )
        return frame.sort_values("mean", kind="stable")

    def sentence(self) -> str:
        """Return the statement in one sentence, as a paper makes it, with its uncertainty and its exceptions."""
        from psychoedu.bootstrap.lowest_text import sentence

        return sentence(self)

    def summary(self) -> str:
        """Return the statement and its tables as fixed-width text."""
        from psychoedu.bootstrap.lowest_text import lowest_text

        return lowest_text(self)

    def methods_text(self) -> str:
        """Return a paragraph for the methods section, made from the numbers themselves."""
        from psychoedu.bootstrap.lowest_text import methods_text

        return methods_text(self)

    def to_markdown(self) -> str:
        """Return the report in Markdown."""
        from psychoedu.bootstrap.lowest_text import lowest_markdown

        return lowest_markdown(self)

    def to_latex(self, caption: str = "", label: str = "") -> str:
        """Return a LaTeX table (package booktabs), labels escaped."""
        from psychoedu.bootstrap.lowest_text import lowest_latex

        return lowest_latex(self, caption, label)

    def to_html(self) -> str:
        """Return tables and the methods paragraph as HTML, labels escaped."""
        from psychoedu.bootstrap.lowest_text import lowest_html

        return lowest_html(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how often the focal stratum is lowest for so many models; returns the axes."""
        from psychoedu.bootstrap import leaderboard_plots

        return leaderboard_plots.lowest_counts(self, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, strings and numbers that ``from_dict`` turns back into an equal object."""
        from psychoedu.bootstrap.leaderboard_saved import lowest_to_dict

        return lowest_to_dict(self)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Build the statement from what ``to_dict`` gave."""
        from psychoedu.bootstrap.leaderboard_saved import lowest_arguments

        return cls(**lowest_arguments(content))

    def __repr__(self) -> str:
        """One line."""
        return f"Lowest({self.focal!r} for {self.k} of {self.n_models} models, {self.low} to {self.high})"

    def _repr_html_(self) -> str:
        """Notebook display."""
        return self.to_html()
