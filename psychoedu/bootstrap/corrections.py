"""Corrections of the bootstrap for strata of few clusters, where plain resampling gives too small a spread."""

from __future__ import annotations

import numpy as np

from psychoedu._typing import FloatArray, IntArray

CORRECTIONS = ("rao-wu", "canty-davison")


def n_draws(n: int, correction: str | None) -> int:
    """Return how many of n clusters a resample draws: n, or n - 1 for the rescaled bootstrap.

    Examples
    --------
    >>> n_draws(6, None), n_draws(6, "rao-wu"), n_draws(6, "canty-davison")
    (6, 5, 6)
    """
    return n - 1 if correction == "rao-wu" and n > 1 else n


def inflation(sizes: IntArray, correction: str | None) -> float:
    """Return the factor by which replicates are drawn away from the estimate.

    Parameters
    ----------
    sizes : (G,) int array
        Clusters of each stratum that is resampled.
    correction : {"rao-wu", "canty-davison"} or None

    Notes
    -----
    Plain resampling with replacement gives a mean of n clusters the variance s^2 (n - 1)/n^2, short of s^2/n by (n - 1)/n.

    - Rao and Wu: draw n - 1 clusters and weigh each n/(n - 1) times, by stratum, which is unbiased for every stratum; no factor
      (R's
      ``survey::subbootweights``).
    - Canty and Davison: draw n, and multiply the variance by h/(h - 1) with h the harmonic mean of the strata's numbers of
      clusters
      (R's ``survey::bootweights``); exact where they are equal.

    References
    ----------
    Rao, J. N. K., & Wu, C. F. J. (1988). Resampling inference with complex survey data. *Journal of the American Statistical
    Association, 83*, 231-241. Canty, A. J., & Davison, A. C. (1999). Resampling-based variance estimation for labour force
    surveys. *The Statistician, 48*, 379-391.

    Examples
    --------
    >>> inflation(np.array([2, 2]), "canty-davison") ** 2
    2.0000000000000004
    """
    if correction != "canty-davison" or not len(sizes):
        return 1.0
    harmonic = len(sizes) / float((1.0 / sizes).sum())
    return float(np.sqrt(harmonic / (harmonic - 1.0)))


def inflate(resamples: FloatArray, estimate: FloatArray, factor: float) -> FloatArray:
    """Return the resamples moved away from the estimate by a factor."""
    return resamples if factor == 1.0 else estimate + factor * (resamples - estimate)
