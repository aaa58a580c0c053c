"""The result of a leaderboard: scores by stage and overall, ranks, and how sure they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray, IntArray
from psychoedu.bootstrap.analysis import FEW_CLUSTERS, Source, recommended
from psychoedu.bootstrap.rank_correlation import COEFFICIENTS, correlation_with_error, relative_error_variance, reliability
from psychoedu.bootstrap.ranking import attained_limits, mid_ranks, rank_shares, shares_above, simultaneous_ranks
from psychoedu.exceptions import DataError
from psychoedu.persistence import Saved

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SAMPLING_COLUMNS = (
    "standard_error", "robust_standard_error", "low", "high", "rank_low", "rank_high", "rank_low_simultaneous",
    "rank_high_simultaneous", "probability_best", "probability_above_next",
)  # fmt: skip
CORRELATION_COLUMNS = (
    "estimate", "bias", "standard_error", "low", "high", "disattenuated", "low_disattenuated", "high_disattenuated", "n_models",
    "n_undefined",
)  # fmt: skip
OWN_COLUMNS = ("overall", "rank", *SAMPLING_COLUMNS)
NO_TASKS = (
    "no standard errors, intervals or probabilities: a table of scores holds no rewards by task, without which their sampling "
    "error is unknown; pass the rewards to leaderboard()"
)


@dataclass(frozen=True, eq=False)
class Drawn:
    """What a leaderboard was computed from; not saved with it.

    Attributes
    ----------
    scores : (B, T, M) array
        Resampled scores of the stages, models in the order of the table.
    contrast : Source
        Plan and cluster sums, models in the order of the design.
    order : (M,) int array
        Position in the design of each model of the table.
    tie : float
        Largest difference that is rounding alone.
    """

    scores: FloatArray
    contrast: Source
    order: IntArray
    tie: float


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard(Saved):
    """Scores and ranks of models; made by :func:`psychoedu.leaderboard` and :func:`psychoedu.leaderboard_from_scores`.

    Attributes
    ----------
    table : DataFrame by model, best first
        A column per stage (if there are several); ``overall``, their weighted mean, with ``standard_error`` (bootstrap),
        ``robust_standard_error`` (analytic), ``low`` and ``high``; ``rank`` (ties share the mean of their ranks), ``rank_low``
        and ``rank_high`` (percentiles of the resampled ranks), ``rank_low_simultaneous`` and ``rank_high_simultaneous`` (which
        hold for all models at once); ``probability_best``; ``probability_above_next`` of the next row.
    rank_probabilities : DataFrame, model by rank
        Share of the resamples in which the model has the rank; models that tie share theirs. Rows and columns sum to 1.
    probability_above : DataFrame, model by model
        Share of the resamples in which the model of the row is above that of the column; ties count half.
    recommended : DataFrame by model
        ``low``, ``high`` and ``method`` of the interval that the coverage table in docs/validation.md selects.
    stage_ranks, stage_errors : DataFrame, model by stage
        Ranks within each stage, and bootstrap standard errors of its scores.
    reliability : Series by stage
        Share of the variance of its scores over models that is not sampling error of tasks.
    rank_spread : Series by model
        Worst less best rank over the stages.
    weights : Series by stage
    sizes : Series by stage, or by stage and stratum
        Clusters that are drawn from together.
    n_missing : Series by model
        Rewards that are absent.
    n_resamples, n_failed, confidence_level, method, correction, weighting, missing, seed, cluster_word, diagnostics, version
        ``n_resamples`` is 0 for a table of scores, which has no intervals; ``diagnostics`` says why.
    """

    kind: ClassVar[str] = "leaderboard"

    models: pd.Index
    stages: pd.Index
    weighting_of_stages: str
    stage_weights: FloatArray
    scores: FloatArray
    overall: FloatArray
    ranks: FloatArray
    ranks_by_stage: FloatArray
    sizes: pd.Series
    n_missing: pd.Series
    n_resamples: int
    n_failed: int
    confidence_level: float
    method: str
    correction: str | None
    weighting: str
    missing: str
    fewest_clusters: int
    seed: int
    cluster_word: str
    diagnostics: tuple[str, ...]
    version: str
    limits: FloatArray | None = None
    robust_standard_error: FloatArray | None = None
    source: Drawn | None = field(default=None, repr=False)
    stored: dict[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for value in (self.stage_weights, self.scores, self.overall, self.ranks, self.ranks_by_stage, self.limits):
            if value is not None:
                value.setflags(write=False)

    @property
    def has_intervals(self) -> bool:
        """Whether there were rewards by task to resample."""
        return self.n_resamples > 0

    @property
    def few_clusters(self) -> bool:
        """Whether fewer than 20 clusters are drawn from together somewhere, so that reports print both intervals."""
        return self.has_intervals and self.fewest_clusters < FEW_CLUSTERS

    @property
    def weights(self) -> pd.Series:
        """Weight of each stage in the overall score."""
        return pd.Series(self.stage_weights, index=self.stages, name="weight")

    @property
    def stage_ranks(self) -> pd.DataFrame:
        """Ranks within each stage, ties by mid-ranks."""
        return pd.DataFrame(self.ranks_by_stage, index=self.models, columns=self.stages)

    @property
    def rank_spread(self) -> pd.Series:
        """Worst less best rank of each model over the stages."""
        ranks = self.stage_ranks
        return (ranks.max(axis=1) - ranks.min(axis=1)).rename("rank_spread")

    @cached_property
    def _ranked(self) -> IntArray:
        return np.flatnonzero(np.isfinite(self.overall))

    @cached_property
    def _overall_draws(self) -> FloatArray:
        """Resampled overall scores of the models that have a rank, (B, R)."""
        assert self.source is not None
        found: FloatArray = np.einsum("t,btm->bm", self.stage_weights, self.source.scores[:, :, self._ranked])
        return found

    @cached_property
    def _sampling(self) -> pd.DataFrame:
        """Everything about sampling error, by model; nan for models without a rank."""
        if self.source is None:
            if self.stored:
                found: pd.DataFrame = self.stored["sampling"]
                return found
            return pd.DataFrame(np.nan, index=self.models, columns=list(SAMPLING_COLUMNS))
        draws, own = self._overall_draws, self._ranked
        ranks = mid_ranks(draws, self.source.tie)
        low, high = attained_limits(ranks, self.confidence_level)
        surely = simultaneous_ranks(self.overall[own], draws, self.confidence_level, self.source.tie)
        above = self.probability_above.to_numpy()
        assert self.limits is not None
        columns = {
            "standard_error": np.where((error := draws.std(axis=0, ddof=1)) <= self.source.tie, 0.0, error),
            "robust_standard_error": np.asarray(self.robust_standard_error)[own],
            "low": self.limits[0, own],
            "high": self.limits[1, own],
            "rank_low": low,
            "rank_high": high,
            "rank_low_simultaneous": surely[0],
            "rank_high_simultaneous": surely[1],
            "probability_best": self.rank_probabilities.iloc[own, 0],
            "probability_above_next": np.append(above[own[:-1], own[1:]], np.nan),
        }
        frame = pd.DataFrame(np.nan, index=self.models, columns=list(SAMPLING_COLUMNS))
        for name, values in columns.items():
            frame.iloc[own, frame.columns.get_loc(name)] = np.asarray(values, dtype=np.float64)  # type: ignore[index]
        return frame

    @property
    def table(self) -> pd.DataFrame:
        """One row per model, best first; see the class."""
        stages = self.scores if len(self.stages) > 1 else self.scores[:, :0]
        frame = pd.DataFrame(stages, index=self.models, columns=pd.Index(list(self.stages[: stages.shape[1]]), dtype=object))
        frame["overall"] = self.overall
        rest = self._sampling
        frame[["standard_error", "robust_standard_error", "low", "high"]] = rest[list(SAMPLING_COLUMNS[:4])]
        frame["rank"] = self.ranks
        frame[list(SAMPLING_COLUMNS[4:])] = rest[list(SAMPLING_COLUMNS[4:])]
        return frame

    @cached_property
    def _rank_probabilities(self) -> FloatArray:
        n, own = len(self.models), self._ranked
        found = np.full((n, n), np.nan)
        if self.source is None:
            return np.asarray(self.stored.get("rank_probabilities", found))
        found[np.ix_(own, np.arange(len(own)))] = rank_shares(self._overall_draws, self.source.tie)
        found[np.ix_(own, np.arange(len(own), n))] = 0.0
        return found

    @property
    def rank_probabilities(self) -> pd.DataFrame:
        """Share of the resamples in which each model has each rank; see the class."""
        columns = pd.RangeIndex(1, len(self.models) + 1, name="rank")
        return pd.DataFrame(self._rank_probabilities.copy(), index=self.models, columns=columns)

    @cached_property
    def _probability_above(self) -> FloatArray:
        found = np.full((len(self.models), len(self.models)), np.nan)
        if self.source is None:
            return np.asarray(self.stored.get("probability_above", found))
        own = self._ranked
        found[np.ix_(own, own)] = shares_above(mid_ranks(self._overall_draws, self.source.tie))
        return found

    @property
    def probability_above(self) -> pd.DataFrame:
        """Share of the resamples in which the model of the row is above that of the column; see the class."""
        return pd.DataFrame(self._probability_above.copy(), index=self.models, columns=self.models.rename("other"))

    @cached_property
    def _stage_errors(self) -> FloatArray:
        if self.source is None:
            return np.asarray(self.stored.get("stage_errors", np.full(self.scores.shape, np.nan)))
        with np.errstate(invalid="ignore"):
            found: FloatArray = self.source.scores.std(axis=0, ddof=1).T
        return np.where(found <= self.source.tie, 0.0, found)

    @property
    def stage_errors(self) -> pd.DataFrame:
        """Bootstrap standard errors of the stages' scores."""
        return pd.DataFrame(self._stage_errors.copy(), index=self.models, columns=self.stages)

    @cached_property
    def _recommended(self) -> pd.DataFrame:
        if self.source is None:
            nothing = pd.DataFrame({"low": np.nan, "high": np.nan, "method": "none"}, index=self.models)
            stored: pd.DataFrame = self.stored.get("recommended", nothing)
            return stored
        limits, methods, _ = recommended(self.source.contrast, True, self.confidence_level)
        own = self.source.order
        columns = {"low": limits[0, own], "high": limits[1, own], "method": [methods[at] for at in own]}
        return pd.DataFrame(columns, index=self.models)

    @property
    def recommended(self) -> pd.DataFrame:
        """Limits of the overall score by the recommended method; see the class."""
        return self._recommended.copy()

    @cached_property
    def _correlations(self) -> pd.DataFrame:
        if self.stored:
            stored: pd.DataFrame = self.stored["correlations"]
            return stored
        pairs = list(combinations(range(len(self.stages)), 2))
        rows = [self._correlation(first, second, name) for first, second in pairs for name in COEFFICIENTS]
        labels = [(self.stages[first], self.stages[second], name) for first, second in pairs for name in COEFFICIENTS]
        index = pd.MultiIndex.from_tuples(labels, names=["first", "second", "coefficient"]) if labels else None
        frame = pd.DataFrame(rows, columns=list(CORRELATION_COLUMNS), index=index)
        return frame.astype({"n_models": np.int64, "n_undefined": np.int64})

    def _correlation(self, first: int, second: int, kind: str) -> tuple[Any, ...]:
        """Return a row of the correlations; of the models that have both scores."""
        both = np.flatnonzero(np.isfinite(self.scores[:, [first, second]]).all(axis=1))
        scores = (self.scores[both, first], self.scores[both, second])
        if self.source is None:
            found, n_undefined = correlation_with_error(kind, scores, None, self.confidence_level, 0.0)
        else:
            draws = (self.source.scores[:, first][:, both], self.source.scores[:, second][:, both])
            found, n_undefined = correlation_with_error(kind, scores, draws, self.confidence_level, self.source.tie)
        return (*found.tolist(), len(both), n_undefined)

    @cached_property
    def _reliability(self) -> FloatArray:
        found = np.full(len(self.stages), np.nan)
        if self.source is None:
            return np.asarray(self.stored.get("reliability", found))
        for at in range(len(self.stages)):
            own = np.flatnonzero(np.isfinite(self.scores[:, at]))
            if len(own) > 1:
                scores, draws = self.scores[own, at], self.source.scores[:, at][:, own]
                found[at] = reliability(scores, relative_error_variance(scores, draws))
        return found

    @property
    def reliability(self) -> pd.Series:
        """Share of the variance of a stage's scores over models that is not sampling error of tasks."""
        return pd.Series(self._reliability.copy(), index=self.stages, name="reliability")

    def rank_correlations(self) -> pd.DataFrame:
        """Return rank correlations between stages over models, with the sampling error of tasks.

        Returns
        -------
        DataFrame by first stage, second stage and coefficient ("spearman" of mid-ranks, "kendall" tau-b)
            ``estimate``; ``bias``, the mean of the resamples less the estimate; ``standard_error``; ``low`` and ``high``
            (percentile); ``disattenuated``, ``low_disattenuated`` and ``high_disattenuated``, for endlessly many tasks;
            ``n_models`` with both scores; ``n_undefined`` resamples in which all models tied in a stage, which are left out.

        Raises
        ------
        DataError
            There is one stage.

        Notes
        -----
        Sampling error mixes ranks up and pulls correlations towards 0: those of the table, compared with ranks on endlessly
        many tasks, and those of the resamples once more, since they hold the error of a second draw. ``bias`` says by how much.
        The percentile interval therefore lies too near 0, and may leave out the estimate: it shows how the figure would vary,
        and does not cover the correlation of true ranks (in simulations 2% to 94% of the time). The disattenuated correlation
        divides by the root of both stages' ``reliability``; its interval holds the percentiles of the resamples, each divided
        by the reliability that resampled scores have (two errors instead of one). It covers 95% or more, being wider than it
        had to be. nan where a reliability is 0: then nothing is known of true ranks. The models are taken as they are, no
        sample of others.

        References
        ----------
        Spearman, C. (1904). The proof and measurement of association between two things. *American Journal of Psychology, 15*,
        72-101. Hall, P., & Miller, H. (2009). Using the bootstrap to quantify the authority of an empirical ranking. *Annals of
        Statistics, 37*, 3929-3959.
        """
        if len(self.stages) < 2:
            raise DataError(
                "There is one stage, so that there is nothing to correlate. Name the column of the stages with stage=."
            )
        return self._correlations.copy()

    def summary(self) -> str:
        """Return the leaderboard as fixed-width text."""
        from psychoedu.bootstrap.leaderboard_text import leaderboard_text

        return leaderboard_text(self)

    def methods_text(self) -> str:
        """Return a paragraph for the methods section, made from the numbers themselves."""
        from psychoedu.bootstrap.leaderboard_text import methods_text

        return methods_text(self)

    def to_markdown(self) -> str:
        """Return the report in Markdown: the leaderboard, rank correlations, and what was done."""
        from psychoedu.bootstrap.leaderboard_text import leaderboard_markdown

        return leaderboard_markdown(self)

    def to_latex(self, caption: str = "", label: str = "") -> str:
        """Return a LaTeX table (package booktabs), labels escaped."""
        from psychoedu.bootstrap.leaderboard_text import leaderboard_latex

        return leaderboard_latex(self, caption, label)

    def to_html(self) -> str:
        """Return tables and the methods paragraph as HTML, labels escaped."""
        from psychoedu.bootstrap.leaderboard_text import leaderboard_html

        return leaderboard_html(self)

    def plot(self, ax: Axes | None = None, stages: bool = True) -> Axes:
        """Draw the overall scores with their intervals, and those of the stages (forest plot); returns the axes."""
        from psychoedu.bootstrap import leaderboard_plots

        return leaderboard_plots.overall_scores(self, ax=ax, stages=stages)

    def plot_ranks(self, ax: Axes | None = None) -> Axes:
        """Draw the ranks with their intervals and the probability of each; returns the axes."""
        from psychoedu.bootstrap import leaderboard_plots

        return leaderboard_plots.ranks(self, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the resamples as plain lists, strings and numbers."""
        from psychoedu.bootstrap.leaderboard_saved import leaderboard_to_dict

        return leaderboard_to_dict(self)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Build a leaderboard from what ``to_dict`` gave."""
        from psychoedu.bootstrap.leaderboard_saved import leaderboard_arguments

        return cls(**leaderboard_arguments(content))

    def __repr__(self) -> str:
        """One line."""
        drawn = f"{self.n_resamples:,} resamples" if self.has_intervals else "no intervals"
        stages = f"{len(self.stages)} stages" if len(self.stages) > 1 else "one stage"
        return f"Leaderboard({len(self.models)} models, {stages}, {drawn})"

    def _repr_html_(self) -> str:
        """Notebook display."""
        return self.to_html()
