"""The result of a contrast: the estimate with its intervals, what was resampled, and the text and tables made of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray
from psychoedu.bootstrap.analysis import FALLBACK, FEW_CLUSTERS, RECOMMENDED, Source, analyse, recommended
from psychoedu.bootstrap.described import boundary_models_table, boundary_table, missing_table, stratum_table
from psychoedu.bootstrap.intervals import holm
from psychoedu.persistence import Saved

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Interval:
    """A confidence interval that says how it was made; it unpacks as ``low, high``.

    Attributes
    ----------
    low, high : float
    confidence_level : float
    method : str
        "percentile", "basic", "bca", "studentised" or "t".
    correction : str or None
    note : str
        Why it is another method than was asked for; empty if it is not.
    """

    low: float
    high: float
    confidence_level: float
    method: str
    correction: str | None = None
    note: str = ""

    def __iter__(self) -> Iterator[float]:
        """Unpack as low, high."""
        return iter((self.low, self.high))

    @property
    def width(self) -> float:
        """Upper less lower limit."""
        return self.high - self.low

    @property
    def method_words(self) -> str:
        """The method with its correction, in words."""
        names = {"bca": "BCa", "t": "analytic t"}
        corrections = {"rao-wu": "Rao-Wu rescaling", "canty-davison": "Canty-Davison correction"}
        corrected = f" with {corrections[self.correction]}" if self.correction else ""
        return f"{names.get(self.method, self.method)}{corrected}{f' ({self.note})' if self.note else ''}"


@dataclass(frozen=True, eq=False, repr=False)
class Contrast(Saved):
    """Difference between the mean rewards of two sides, by the cluster bootstrap; made by :func:`psychoedu.contrast`.

    Attributes
    ----------
    estimate : float
        ``comparison_mean - focal_mean``.
    focal_mean, comparison_mean : float
    interval : Interval
        By the method asked for; ``.low`` and ``.high``.
    recommended_interval : Interval
        By the method that the coverage table in docs/validation.md selects, whatever was asked for.
    standard_error : float
        Standard deviation of the resamples.
    robust_standard_error, closed_form_standard_error : float
        Analytic: cluster-robust, n/(n - 1) in each part that is resampled; and with denominator n, which plain resampling
        estimates.
    p_value : float
        Two-sided bootstrap p of no difference, (k + 1)/(B + 1).
    resamples : (B,) array
        Replicates of the estimate; exactly ``n_resamples`` less those in ``n_failed``.
    models : DataFrame by model
        ``focal_mean``, ``comparison_mean``, ``estimate``, ``standard_error``, ``low``, ``high``, ``p_value``, ``p_holm``; the
        same resamples of clusters for all.
    recommended_models : DataFrame by model
        ``low``, ``high`` and ``method`` of the recommended interval.
    strata : DataFrame by stratum
        ``side``, ``n_clusters``, ``n_cells`` (rewards that count), ``mean``, ``drawn`` ("with" the strata that it is drawn from
        together, "alone", or "not").
    focal, comparison : str
        What was compared, in words.
    missing : DataFrame by model
        ``n_missing``: absent rewards; what was done about them is ``options["missing"]``.
    boundary : DataFrame by side
        Where all rewards of a side are 0 or all are 1: ``n_clusters``, ``value`` and the limits by Wilson and by Clopper and
        Pearson, taking every cluster for one trial. Empty otherwise.
    boundary_models : DataFrame by model and side
        The same for single models, whose own intervals take no account of it.
    diagnostics : tuple of str
        What a reader should know before trusting the numbers.
    options : dict
        ``weighting``, ``resample_within``, ``singleton``, ``missing``, ``correction``, ``method``, ``paired``, ``names``.
    n_resamples, confidence_level, seed, version
        ``seed`` passed as ``rng=`` gives the same resamples again.
    """

    kind: ClassVar[str] = "contrast"

    estimate: float
    focal_mean: float
    comparison_mean: float
    interval: Interval
    standard_error: float
    robust_standard_error: float
    closed_form_standard_error: float
    df: float
    p_value: float
    resamples: FloatArray
    focal: str
    comparison: str
    n_resamples: int
    n_failed: int
    confidence_level: float
    seed: int
    diagnostics: tuple[str, ...]
    options: dict[str, Any]
    version: str
    source: Source | None = field(default=None, repr=False)
    stored: dict[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Make the resamples read-only."""
        self.resamples.setflags(write=False)

    @property
    def method(self) -> str:
        """Method of ``interval``."""
        return self.interval.method

    @property
    def correction(self) -> str | None:
        """Small-sample correction of the resamples."""
        correction: str | None = self.options["correction"]
        return correction

    @cached_property
    def strata(self) -> pd.DataFrame:
        """One row per stratum; see the class."""
        return stratum_table(self.source) if self.source is not None else self.stored["strata"]

    @cached_property
    def missing(self) -> pd.DataFrame:
        """Missing rewards by model; see the class."""
        return missing_table(self.source) if self.source is not None else self.stored["missing"]

    @cached_property
    def boundary(self) -> pd.DataFrame:
        """Intervals of proportions where all rewards of a side are alike; see the class."""
        return boundary_table(self.source, self.confidence_level) if self.source is not None else self.stored["boundary"]

    @cached_property
    def boundary_models(self) -> pd.DataFrame:
        """Intervals of proportions of models whose rewards on a side are all alike; see the class."""
        if self.source is None:
            stored: pd.DataFrame = self.stored["boundary_models"]
            return stored
        return boundary_models_table(self.source, self.confidence_level)

    @property
    def n_models(self) -> int:
        """Number of models."""
        return len(self.missing)

    @property
    def paired(self) -> bool:
        """Whether two conditions of the same tasks are compared."""
        return bool(self.options["paired"])

    @property
    def few_clusters(self) -> bool:
        """Whether a stratum has fewer than 20 clusters, so that reports print both intervals."""
        return int(self.options["fewest_clusters"]) < FEW_CLUSTERS

    @cached_property
    def recommended_interval(self) -> Interval:
        """The interval that the coverage table selects; see the class."""
        if self.source is None:
            found: Interval = self.stored["recommended_interval"]
            return found
        limits, methods, correction = recommended(self.source, False, self.confidence_level)
        return self._recommended(limits[:, 0], methods[0], correction)

    def _recommended(self, limits: FloatArray, method: str, correction: str | None) -> Interval:
        fell_back = method == FALLBACK != RECOMMENDED[0]
        note = f"the {RECOMMENDED[0]} interval does not exist with so few clusters" if fell_back else ""
        return Interval(
            float(limits[0]), float(limits[1]), self.confidence_level, method, None if fell_back else correction, note
        )

    @cached_property
    def _models(self) -> pd.DataFrame:
        if self.source is None:
            stored: pd.DataFrame = self.stored["models"]
            return stored
        found = analyse(self.source, True, str(self.options["method"]), self.confidence_level)
        focal, comparison = self.source.side_means(by_model=True)
        frame = pd.DataFrame(
            {
                "focal_mean": focal,
                "comparison_mean": comparison,
                "estimate": found.found.value,
                "standard_error": found.drawn.replicates.std(axis=0, ddof=1),
                "low": found.limits[0],
                "high": found.limits[1],
                "p_value": np.where(np.isfinite(found.found.value), found.p_value, np.nan),
            },
            index=self.missing.index,
        )
        frame.insert(7, "p_holm", holm(frame["p_value"].to_numpy(dtype=np.float64)))
        return frame

    @property
    def models(self) -> pd.DataFrame:
        """One row per model; see the class."""
        return self._models.copy()

    @cached_property
    def _recommended_models(self) -> pd.DataFrame:
        if self.source is None:
            stored: pd.DataFrame = self.stored["recommended_models"]
            return stored
        limits, methods, _ = recommended(self.source, True, self.confidence_level)
        return pd.DataFrame({"low": limits[0], "high": limits[1], "method": methods}, index=self.missing.index)

    @property
    def recommended_models(self) -> pd.DataFrame:
        """One row per model; see the class."""
        return self._recommended_models.copy()

    def summary(self) -> str:
        """Return the contrast as fixed-width text."""
        from psychoedu.bootstrap.paper import contrast_text

        return contrast_text(self)

    def methods_text(self) -> str:
        """Return a paragraph for the methods section, made from the numbers themselves."""
        from psychoedu.bootstrap.paper import methods_text

        return methods_text(self)

    def to_markdown(self, models: bool = True) -> str:
        """Return the report in Markdown; ``models=False`` leaves the table of models out."""
        from psychoedu.bootstrap.tables import contrast_markdown

        return contrast_markdown(self, models)

    def to_latex(self, caption: str = "", label: str = "", models: bool = True) -> str:
        """Return a LaTeX table (package booktabs), labels escaped; ``models=False`` leaves the table of models out."""
        from psychoedu.bootstrap.tables import contrast_latex

        return contrast_latex(self, caption, label, models)

    def to_html(self, models: bool = True) -> str:
        """Return tables and the methods paragraph as HTML, labels escaped; ``psychoedu.report.contrast_page`` makes a page."""
        from psychoedu.bootstrap.tables import contrast_html

        return contrast_html(self, models)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the contrast of each model and of all together (forest plot); returns the axes."""
        from psychoedu.bootstrap import plots

        return plots.forest(self, ax=ax)

    def plot_resamples(self, ax: Axes | None = None) -> Axes:
        """Draw the histogram of the resamples with the interval; returns the axes."""
        from psychoedu.bootstrap import plots

        return plots.resamples(self, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the rewards as plain lists, strings and numbers."""
        from psychoedu.bootstrap.serialise import contrast_to_dict

        return contrast_to_dict(self)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Build a contrast from what ``to_dict`` gave."""
        from psychoedu.bootstrap.serialise import contrast_arguments

        return cls(**contrast_arguments(content))

    def __repr__(self) -> str:
        """One line."""
        low, high = self.interval
        return (
            f"Contrast({self.estimate:.4f}, {100 * self.confidence_level:g}% {self.interval.method_words} interval "
            f"[{low:.4f}, {high:.4f}], {self.n_resamples:,} resamples)"
        )

    def _repr_html_(self) -> str:
        """Notebook display."""
        return self.to_html()
