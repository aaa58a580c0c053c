"""Analyses a contrast: from a plan and columns of sums to estimates, resamples and limits."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from psychoedu._typing import FloatArray
from psychoedu.bootstrap.corrections import n_draws
from psychoedu.bootstrap.engine import Estimates, Resampled, estimates_of, limits_of, resample
from psychoedu.bootstrap.intervals import p_value
from psychoedu.bootstrap.plan import COMPARISON, FOCAL, Plan
from psychoedu.bootstrap.resampling import ratios_of
from psychoedu.bootstrap.streams import Seed

RECOMMENDED = ("studentised", "rao-wu")
FALLBACK = "t"
FEWEST_DRAWS = 3
"""Fewer clusters than this in a resample leave its own spread next to meaningless."""
FEW_CLUSTERS = 20
"""A stratum with fewer clusters than this makes every report print the recommended interval beside the other one."""


@dataclass(frozen=True, eq=False)
class Source:
    """What a contrast was computed from; not saved with it.

    Attributes
    ----------
    plan : Plan
    sums, sizes : (C, M) arrays
        What each cluster adds to the numerator and denominator of every model: rewards, or differences of paired conditions.
    side_sums : (focal, comparison) or None
        The rewards of the two conditions, where ``sums`` are differences.
    seed : Seed
    n_resamples : int
    n_jobs : int
    """

    plan: Plan
    sums: FloatArray
    sizes: FloatArray
    side_sums: tuple[FloatArray, FloatArray] | None
    seed: Seed
    n_resamples: int
    n_jobs: int = 1

    @property
    def paired(self) -> bool:
        """Whether two conditions of the same tasks are compared."""
        return self.side_sums is not None

    def columns(self, by_model: bool, sums: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Return numerators and denominators, (C, M) by model, (C, 1) of all models together."""
        values = self.sums if sums is None else sums
        if by_model:
            return values, self.sizes
        return values.sum(axis=1, keepdims=True), self.sizes.sum(axis=1, keepdims=True)

    def side_means(self, by_model: bool) -> tuple[FloatArray, FloatArray]:
        """Return the means of the focal and the comparison side, (1,) or (M,)."""
        if self.side_sums is not None:
            weights = np.abs(self.plan.coefficients)
            found = [self._mean(self.columns(by_model, sums), weights) for sums in self.side_sums]
            return found[0], found[1]
        sides = [self.plan.side_coefficients(side) for side in (FOCAL, COMPARISON)]
        both = [self._mean(self.columns(by_model), weights) for weights in sides]
        return both[0], both[1]

    def _mean(self, columns: tuple[FloatArray, FloatArray], weights: FloatArray) -> FloatArray:
        ratios, _ = ratios_of(self.plan.pools(*columns), len(weights))
        found: FloatArray = np.where(weights[:, None] > 0, weights[:, None] * ratios, 0.0).sum(axis=0)
        return found


@dataclass(frozen=True, eq=False)
class Analysis:
    """Numbers of K columns."""

    found: Estimates
    drawn: Resampled
    limits: FloatArray
    degenerate: bool
    p_value: FloatArray
    notes: tuple[str, ...]


def analyse(source: Source, by_model: bool, method: str, confidence_level: float) -> Analysis:
    """Estimate, resample and give limits by one method."""
    plan = source.plan
    pools = plan.pools(*source.columns(by_model))
    found = estimates_of(plan, pools)
    drawn = resample(plan, pools, source.seed, source.n_resamples, method == "studentised", source.n_jobs)
    limits = limits_of(method, pools, plan, found, drawn, confidence_level)
    return Analysis(
        found, drawn, limits.limits, bool(len(limits.degenerate)), p_value(drawn.replicates, found.value), limits.notes
    )


def recommended(source: Source, by_model: bool, confidence_level: float) -> tuple[FloatArray, list[str], str | None]:
    """Return the limits that the coverage table of docs/validation.md selects, (2, K), with method by column and correction.

    Notes
    -----
    Studentised with Rao and Wu's rescaling. Where it does not exist (too few clusters for a spread within a resample, or an
    infinite limit), the analytic t interval.
    """
    method, correction = RECOMMENDED
    plan = replace(source.plan, correction=correction)
    pools = plan.pools(*source.columns(by_model))
    found = estimates_of(plan, pools)
    t_limits = limits_of(FALLBACK, pools, plan, found, Resampled(np.zeros((0, 1)), None, np.zeros((0, 1)), 0), confidence_level)
    if min(n_draws(int(size), correction) for size in plan.pool_sizes) < FEWEST_DRAWS:
        return t_limits.limits, [FALLBACK] * len(found.value), None
    drawn = resample(plan, pools, source.seed, source.n_resamples, True, source.n_jobs)
    limits = limits_of(method, pools, plan, found, drawn, confidence_level)
    methods = [FALLBACK if at in limits.degenerate else method for at in range(len(found.value))]
    own = np.array([name == FALLBACK for name in methods])
    return np.where(own, t_limits.limits, limits.limits), methods, correction
