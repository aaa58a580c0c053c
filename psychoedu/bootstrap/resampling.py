"""Resample counts of clusters, and what they make of ratios of cluster sums: the innermost loop of every contrast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from psychoedu._typing import FloatArray, IntArray

BLOCK_CELLS = 2**20
"""Resamples x clusters drawn at once: small enough for the cache and for memory at any number of clusters."""
MOST_IN_BLOCK = 1024
_SMALL = 2**16


@dataclass(frozen=True, eq=False)
class Pool:
    """Clusters that are drawn from together, with what each adds to the numerator and denominator of one ratio.

    Attributes
    ----------
    numerator, denominator : (n, K) arrays
        Sums and counts of each cluster in K columns, such as models.
    term : int
        Position of the ratio that they belong to.
    n_draws : int
        Clusters drawn: n, or n - 1 for the rescaled bootstrap.
    certain : bool
        Never resampled: the one cluster of its stratum, taken as it is.
    """

    numerator: FloatArray
    denominator: FloatArray
    term: int
    n_draws: int
    certain: bool = False

    @property
    def n(self) -> int:
        """Number of clusters."""
        return len(self.numerator)

    @cached_property
    def constant(self) -> bool:
        """Whether every cluster adds the same to the denominator, which then never changes."""
        return bool((self.denominator == self.denominator[0]).all())


def block_size(n_clusters: int) -> int:
    """Return how many resamples are drawn together; it depends on the design alone, never on the number of workers.

    Examples
    --------
    >>> block_size(100), block_size(5_000), block_size(3_000_000)
    (1024, 209, 1)
    """
    return max(1, min(MOST_IN_BLOCK, BLOCK_CELLS // max(1, n_clusters)))


def draw_counts(generator: np.random.Generator, size: int, n: int, n_draws: int | None = None) -> IntArray:
    """Draw how often each of n clusters stands in each resample.

    Parameters
    ----------
    generator : numpy Generator
    size : int
        Number of resamples.
    n : int
        Number of clusters.
    n_draws : int, optional
        Draws in a resample; n if None.

    Returns
    -------
    (size, n) int array
        Each row sums to ``n_draws``.

    Notes
    -----
    Integers counted with ``bincount`` cost about a tenth of ``Generator.multinomial``. Two bytes a draw are enough for most
    designs.
    """
    drawn = n if n_draws is None else n_draws
    kind = np.uint16 if n <= _SMALL else np.int64
    places = generator.integers(0, n, size=(size, drawn), dtype=kind)
    offset = np.arange(size, dtype=np.intp)[:, None] * n
    flat = np.add(places, offset, dtype=np.intp).ravel()
    return np.bincount(flat, minlength=size * n).reshape(size, n)


def draw_places(generator: np.random.Generator, size: int, n: int, n_draws: int | None = None) -> IntArray:
    """Draw the positions themselves, (size, n_draws): those that :func:`draw_counts` counts, from the same stream."""
    drawn = n if n_draws is None else n_draws
    kind = np.uint16 if n <= _SMALL else np.int64
    return generator.integers(0, n, size=(size, drawn), dtype=kind).astype(np.int64)


def replicate(
    generator: np.random.Generator, size: int, pools: Sequence[Pool], coefficients: FloatArray, with_variance: bool = False
) -> tuple[FloatArray, FloatArray | None]:
    """Resample clusters and return the sum of ratios, and where asked its own variance in every resample.

    Parameters
    ----------
    generator : numpy Generator
    size : int
        Number of resamples.
    pools : sequence of Pool
    coefficients : (T,) array
        Of the ratios in the sum, such as -1 and 1.
    with_variance : bool
        Whether the linearised variance in each resample is needed, as for studentised intervals.

    Returns
    -------
    values : (size, K) array
        nan where a resample has no observation in a ratio.
    variances : (size, K) array or None

    Notes
    -----
    Ratio t is R_t = sum over its pools of (n/m) r' A over the same of (n/m) r' B, with counts r that sum to m. Its linearised
    variance, with z = A - R_t B, is the sum over pools of n^2/m sum r (z - mean z)^2/(m - 1), over the squared denominator.
    It is computed from A - R B, R the ratio of the data, so that an offset common to all rewards takes no digits away. Where
    every cluster adds the same to the denominator, it is not computed again. O(size n K).
    """
    centres = ratios_of(pools, len(coefficients))[0] if with_variance else None
    upper: list[Any] = [None] * len(coefficients)
    lower: list[Any] = [None] * len(coefficients)
    moments: list[tuple[Pool, tuple[FloatArray, ...]]] = []
    for pool in pools:
        if pool.certain:
            sums, sizes, scale = pool.numerator.sum(axis=0, keepdims=True), pool.denominator.sum(axis=0, keepdims=True), 1.0
        else:
            counts = draw_counts(generator, size, pool.n, pool.n_draws).astype(np.float64)
            scale = pool.n / pool.n_draws
            sums = counts @ pool.numerator
            sizes = pool.n_draws * pool.denominator[:1] if pool.constant else counts @ pool.denominator
            if centres is not None:
                moments.append((pool, _moments(counts, sizes, pool, centres[pool.term])))
        own, within = (sums, sizes) if scale == 1.0 else (scale * sums, scale * sizes)
        upper[pool.term] = own if upper[pool.term] is None else upper[pool.term] + own
        lower[pool.term] = within if lower[pool.term] is None else lower[pool.term] + within
    values = np.zeros((size, pools[0].numerator.shape[1]))
    with np.errstate(invalid="ignore", divide="ignore"):
        weights = [coefficient / below for coefficient, below in zip(coefficients, lower, strict=True)]
        for above, weight in zip(upper, weights, strict=True):
            values += above * weight
        if centres is None:
            return values, None
        variances = np.zeros_like(values)
        for pool, sums_of in moments:
            shift = upper[pool.term] / lower[pool.term] - centres[pool.term]
            spread = _spread(shift, pool.n_draws, *sums_of)
            factor = pool.n**2 / (pool.n_draws * (pool.n_draws - 1.0)) if pool.n_draws > 1 else np.nan
            variances += factor * spread * weights[pool.term] ** 2
    return values, variances


def _moments(counts: FloatArray, sizes: FloatArray, pool: Pool, centre: FloatArray) -> tuple[FloatArray, ...]:
    """Return sums of A, B, A^2, A B and B^2 over each resample, with A less ``centre`` times B for A."""
    b = pool.denominator
    a = pool.numerator - np.where(np.isfinite(centre), centre, 0.0) * b
    sums = counts @ a
    if pool.constant:
        return sums, sizes, counts @ a**2, b[:1] * sums, pool.n_draws * b[:1] ** 2
    return sums, sizes, counts @ a**2, counts @ (a * b), counts @ b**2


def _spread(
    ratio: FloatArray, n_draws: int, a: FloatArray, b: FloatArray, aa: FloatArray, ab: FloatArray, bb: FloatArray
) -> FloatArray:
    """Return sum r (z - mean z)^2 with z = A - ratio B from sums over a resample; never below 0."""
    total = aa - 2.0 * ratio * ab + ratio**2 * bb
    found: FloatArray = np.maximum(total - (a - ratio * b) ** 2 / n_draws, 0.0)
    size = np.maximum(aa, ratio**2 * bb)
    return np.where(found <= 1e-14 * size * n_draws, 0.0, found)  # a difference of equal sums is rounding


def estimate(pools: Sequence[Pool], coefficients: FloatArray) -> FloatArray:
    """Return the sum of ratios of the data themselves, (K,)."""
    ratios, _ = ratios_of(pools, len(coefficients))
    found: FloatArray = np.tensordot(coefficients, ratios, axes=1)
    return found


def ratios_of(pools: Sequence[Pool], n_terms: int) -> tuple[FloatArray, FloatArray]:
    """Return ratios and denominators of the data themselves, (T, K) each; nan where nothing was observed."""
    n_columns = pools[0].numerator.shape[1]
    upper, lower = np.zeros((n_terms, n_columns)), np.zeros((n_terms, n_columns))
    for pool in pools:
        upper[pool.term] += pool.numerator.sum(axis=0)
        lower[pool.term] += pool.denominator.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return upper / lower, lower


def closed_form_variances(pools: Sequence[Pool], coefficients: FloatArray) -> FloatArray:
    """Return the linearised variance that each pool adds, denominator n, (G, K).

    Notes
    -----
    c^2 sum (z - mean z)^2 / D^2 with z = A - R B and D the denominator of the ratio: what resampling with replacement estimates.
    Times n/(n - 1) it is the cluster-robust variance.
    """
    ratios, lower = ratios_of(pools, len(coefficients))
    found = np.zeros((len(pools), ratios.shape[1]))
    for place, pool in enumerate(pools):
        if not pool.certain:
            z = pool.numerator - ratios[pool.term] * pool.denominator
            spread = ((z - z.mean(axis=0)) ** 2).sum(axis=0)
            with np.errstate(invalid="ignore", divide="ignore"):
                found[place] = spread * (coefficients[pool.term] / lower[pool.term]) ** 2
    return found


def jackknife(pools: Sequence[Pool], coefficients: FloatArray) -> list[FloatArray]:
    """Return (n - 1)(theta - theta without cluster i) of each pool, (n, K) each; the other clusters of the pool are scaled up.

    Notes
    -----
    The others stand in for the cluster that is left out, n/(n - 1) times each, so that strata keep their weight in a ratio that
    spans several (Davison and Hinkley, 1997, section 3.2.1).
    """
    ratios, lower = ratios_of(pools, len(coefficients))
    upper = ratios * lower
    found = []
    for pool in pools:
        if pool.certain:
            found.append(np.zeros_like(pool.numerator))
            continue
        a, b, scale = pool.numerator, pool.denominator, pool.n / (pool.n - 1.0)
        a_sum, b_sum = a.sum(axis=0), b.sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            without = (upper[pool.term] - a_sum + scale * (a_sum - a)) / (lower[pool.term] - b_sum + scale * (b_sum - b))
            found.append((pool.n - 1.0) * coefficients[pool.term] * (ratios[pool.term] - without))
    return found


def acceleration(influence: Sequence[FloatArray]) -> FloatArray:
    """Return the acceleration constant of BCa intervals from jackknife values of several strata, (K,); 0 without spread.

    References
    ----------
    Davison, A. C., & Hinkley, D. V. (1997). *Bootstrap methods and their application*. Cambridge University Press, equation 5.30.
    """
    skew = sum(((values**3).sum(axis=0) / len(values) ** 3 for values in influence), np.zeros(influence[0].shape[1]))
    spread = sum(((values**2).sum(axis=0) / len(values) ** 2 for values in influence), np.zeros(influence[0].shape[1]))
    with np.errstate(invalid="ignore", divide="ignore"):
        found: FloatArray = np.where(spread > 0.0, skew / (6.0 * spread**1.5), 0.0)
    return found
