"""Coverage of a contrast's 95% intervals, the bootstrap's standard error and the size of the paired tests, by simulation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.designs import SEED

N_DESIGNS, N_RESAMPLES, AT_ONCE = 10_000, 1_999, 200
CLUSTERS = (5, 10, 20, 50)
LEVEL = 0.95
VARIANTS = (
    ("percentile", None), ("percentile", "rao-wu"), ("percentile", "canty-davison"), ("basic", None), ("basic", "rao-wu"),
    ("basic", "canty-davison"), ("bca", None), ("bca", "rao-wu"), ("bca", "canty-davison"), ("studentised", None),
    ("studentised", "rao-wu"), ("t", None),
)  # fmt: skip
"""Canty and Davison's factor cancels out of a studentised interval, and resampling out of the t interval."""
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """A kind of design: clusters a stratum, whether they have equal numbers of cells, and how rewards are distributed."""

    n_clusters: int
    equal: bool
    skewed: bool

    @property
    def words(self) -> str:
        """Return its name."""
        return f"{'equal' if self.equal else 'unequal'} clusters, {'skewed' if self.skewed else 'normal'} rewards"


def draw_stratum(rng: np.random.Generator, setting: Setting, sign: float, n_designs: int) -> tuple[FloatArray, FloatArray]:
    """Draw sums and sizes of the clusters of one stratum, (n, designs) each; the mean reward is 0.

    Cluster effects have SD 1, cells SD 1 around them; equal clusters have 4 cells, others 1, 2, 4 or 9 with equal chance.
    Skewed: both parts are exponential (skewness 2), to the right in one stratum and to the left in the other, which makes their
    difference most skewed.
    """
    shape = (setting.n_clusters, n_designs)
    sizes = np.full(shape, 4.0) if setting.equal else rng.choice([1.0, 2.0, 4.0, 9.0], shape)
    if setting.skewed:
        effects = sign * (rng.standard_exponential(shape) - 1.0)
        noise = sign * (rng.standard_gamma(sizes) - sizes)  # a sum of that many exponentials
    else:
        effects, noise = rng.standard_normal(shape), rng.standard_normal(shape) * np.sqrt(sizes)
    return sizes * effects + noise, sizes


def batches(setting: Setting, n_designs: int, seed: int = SEED) -> Iterator[tuple[list[FloatArray], list[FloatArray], int]]:
    """Yield sums and sizes of the two strata, some designs at a time, with the number of the batch."""
    for batch in range(-(-n_designs // AT_ONCE)):
        count = min(AT_ONCE, n_designs - batch * AT_ONCE)
        rng = np.random.default_rng([seed, setting.n_clusters, setting.equal, setting.skewed, batch])
        drawn = [draw_stratum(rng, setting, sign, count) for sign in (1.0, -1.0)]
        yield [one[0] for one in drawn], [one[1] for one in drawn], batch


def coverage(
    setting: Setting, n_designs: int = N_DESIGNS, n_resamples: int = N_RESAMPLES, seed: int = SEED
) -> dict[tuple[str, str | None], tuple[float, float]]:
    """Return coverage and median width of each variant's interval; designs of a batch share their resample counts."""
    from psychoedu.bootstrap import resampling as kernel
    from psychoedu.bootstrap.corrections import inflate, inflation, n_draws
    from psychoedu.bootstrap.engine import Resampled, estimates_of, limits_of
    from psychoedu.bootstrap.plan import Plan

    coefficients = np.array([-1.0, 1.0])
    plan = Plan(None, (), coefficients, "task", "side", None, ())  # type: ignore[arg-type]
    held: dict[tuple[str, str | None], list[FloatArray]] = {variant: [] for variant in VARIANTS}
    width: dict[tuple[str, str | None], list[FloatArray]] = {variant: [] for variant in VARIANTS}
    n = setting.n_clusters
    for sums, sizes, batch in batches(setting, n_designs, seed):
        for number, correction in enumerate((None, "rao-wu", "canty-davison")):
            pools = [kernel.Pool(a, b, term, n_draws(n, correction)) for term, (a, b) in enumerate(zip(sums, sizes, strict=True))]
            found = estimates_of(plan, pools)
            if correction != "canty-davison":
                generator = np.random.default_rng([seed, 1, number, n, batch])
                values, spread = kernel.replicate(generator, n_resamples, pools, coefficients, with_variance=True)
                assert spread is not None
                plain, errors = values, np.sqrt(spread)
                if correction is None:
                    uncorrected = values
            else:
                plain = uncorrected
            drawn = Resampled(inflate(plain, found.value, inflation(np.array([n, n]), correction)), errors, plain, 0)
            for method, of in VARIANTS:
                if of == correction:
                    low, high = limits_of(method, pools, plan, found, drawn, LEVEL).limits
                    held[method, of].append((low <= 0.0) & (high >= 0.0))
                    width[method, of].append(high - low)
    return {
        variant: (float(np.concatenate(held[variant]).mean()), float(np.median(np.concatenate(width[variant]))))
        for variant in VARIANTS
    }
