"""Coverage of a contrast's 95% intervals and the bootstrap's standard error, by simulation."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.designs import SEED
from benchmarks.recovery import PAGE
from benchmarks.tables import table, write_section

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


def standard_error_ratio(n_clusters: int = 20, n_resamples: int = 100_000, seed: int = SEED) -> float:
    """Return the bootstrap standard error over the closed form with denominator n, equal clusters in two strata."""
    import pandas as pd

    import psychoedu as pe

    rng = np.random.default_rng(seed)
    values = rng.normal(0.6, 0.2, 2 * n_clusters)
    frame = pd.DataFrame(
        {"task": np.arange(2 * n_clusters), "stratum": np.repeat(["a", "b"], n_clusters), "model": "m", "reward": values}
    )
    gap = pe.contrast(frame, "stratum", "a", n_resamples=n_resamples, rng=seed)
    closed = np.sqrt(sum(part.var() / n_clusters for part in (values[:n_clusters], values[n_clusters:])))
    return float(gap.standard_error / closed)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``python -m benchmarks contrast-coverage``."""
    parser.add_argument("--designs", type=int, default=N_DESIGNS)
    parser.add_argument("--resamples", type=int, default=N_RESAMPLES)


def run(arguments: argparse.Namespace, command: str) -> None:
    """Simulate every setting, and print or write the tables into docs/validation.md."""
    settings = [Setting(n, equal, skewed) for n in CLUSTERS for equal in (True, False) for skewed in (False, True)]
    found = {}
    for setting in settings:
        found[setting] = coverage(setting, arguments.designs, arguments.resamples)
        print(
            setting,
            {f"{method} {correction or ''}".strip(): value[0] for (method, correction), value in found[setting].items()},
            flush=True,
        )
    parts = [f"`{command}`, {arguments.designs:,} designs a cell, {arguments.resamples:,} resamples a design"]
    for equal in (True, False):
        for skewed in (False, True):
            own = [setting for setting in settings if (setting.equal, setting.skewed) == (equal, skewed)]
            header = [f"{own[0].words}: clusters a stratum", *(str(setting.n_clusters) for setting in own)]
            rows = [
                [
                    variant_words(*variant),
                    *(f"{found[setting][variant][0]:.3f} ({found[setting][variant][1]:.2f})" for setting in own),
                ]
                for variant in VARIANTS
            ]
            parts.append(table(header, rows))
    parts.append(
        table(["over the 16 settings", "least", "most", "mean distance from 0.95", "within [0.94, 0.96]"], _overall(found))
    )
    ratio = standard_error_ratio()
    parts.append(
        f"Bootstrap standard error over the closed form (denominator n, 20 equal clusters a stratum), B = 100,000: {ratio:.4f}."
    )
    text = "\n\n".join(parts)
    if arguments.write:
        write_section("contrast-coverage", text, PAGE)
    print(text)


def variant_words(method: str, correction: str | None) -> str:
    """Return the name of a method with its correction."""
    return f"{method}, {correction}" if correction else method


def _overall(found: dict[Setting, dict[tuple[str, str | None], tuple[float, float]]]) -> list[list[str]]:
    rows = []
    for variant in VARIANTS:
        held = np.array([own[variant][0] for own in found.values()])
        inside = int(((held >= 0.94) & (held <= 0.96)).sum())
        rows.append(
            [variant_words(*variant), f"{held.min():.3f}", f"{held.max():.3f}", f"{np.abs(held - LEVEL).mean():.4f}", f"{inside}"]
        )
    return rows
