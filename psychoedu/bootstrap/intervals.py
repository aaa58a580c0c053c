"""Intervals from resamples, and for proportions: plain arrays in, limits out."""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv, ndtr, ndtri, stdtrit

from psychoedu._typing import BoolArray, FloatArray, IntArray

METHODS = ("percentile", "basic", "bca", "studentised", "t")
TIE = 1e-12
"""Relative difference up to which two replicates are one value that was rounded differently."""


def percentile_limits(resamples: FloatArray, confidence_level: float) -> FloatArray:
    """Return quantiles of the resamples, (2, K).

    Parameters
    ----------
    resamples : (B, K) array
    confidence_level : float

    Examples
    --------
    >>> percentile_limits(np.arange(101.0)[:, None], 0.9).ravel()
    array([ 5., 95.])
    """
    return quantiles(resamples, _tails(confidence_level))


def quantiles(resamples: FloatArray, probabilities: FloatArray) -> FloatArray:
    """Return quantiles by linear interpolation between order statistics, (P, K): those of ``numpy.quantile`` in half its time."""
    places = probabilities * (len(resamples) - 1)
    low = np.minimum(places.astype(np.int64), max(0, len(resamples) - 2))
    needed = np.unique(np.concatenate([low, np.minimum(low + 1, len(resamples) - 1)]))
    ordered = np.partition(np.ascontiguousarray(resamples.T), needed, axis=1)
    below, above = ordered[:, low], ordered[:, np.minimum(low + 1, len(resamples) - 1)]
    share = places - low
    # from the nearer end, as numpy does, so that equal neighbours give exactly themselves
    found: FloatArray = np.where(share < 0.5, below + (above - below) * share, above - (above - below) * (1.0 - share))
    return found.T


def basic_limits(resamples: FloatArray, estimate: FloatArray, confidence_level: float) -> FloatArray:
    """Return 2 estimate - quantiles, (2, K)."""
    return 2.0 * estimate - percentile_limits(resamples, confidence_level)[::-1]


def bca_limits(
    resamples: FloatArray, estimate: FloatArray, acceleration: FloatArray, confidence_level: float
) -> tuple[FloatArray, BoolArray]:
    """Return bias-corrected and accelerated limits, (2, K), and where they do not exist, (K,).

    Parameters
    ----------
    resamples : (B, K) array
    estimate, acceleration : (K,) arrays
    confidence_level : float

    Notes
    -----
    Ties with the estimate count half. Where all resamples lie on one side of the estimate the bias correction is infinite: the
    column is nan and marked.

    References
    ----------
    Efron, B. (1987). Better bootstrap confidence intervals. *Journal of the American Statistical Association, 82*, 171-185.
    """
    share = share_below(resamples, estimate)
    degenerate = (share <= 0.0) | (share >= 1.0)
    z0 = ndtri(np.where(degenerate, 0.5, share))
    shifted = z0 + ndtri(_tails(confidence_level))[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        levels = ndtr(z0 + shifted / (1.0 - acceleration * shifted))
    degenerate |= ~np.isfinite(levels).all(axis=0) | (1.0 - acceleration * shifted <= 0.0).any(axis=0)
    limits = np.full(levels.shape, np.nan)
    for column in np.flatnonzero(~degenerate):
        limits[:, column] = np.quantile(resamples[:, column], levels[:, column])
    return limits, degenerate


def share_below(resamples: FloatArray, estimate: FloatArray) -> FloatArray:
    """Return the share of resamples below the estimate, ties counting half, (K,)."""
    near = np.abs(resamples - estimate) <= TIE * np.maximum(np.abs(resamples), np.abs(estimate))
    below = (resamples < estimate) & ~near
    found: FloatArray = below.mean(axis=0) + 0.5 * near.mean(axis=0)
    return found


def studentised_limits(
    resamples: FloatArray, errors: FloatArray, estimate: FloatArray, standard_error: FloatArray, confidence_level: float
) -> tuple[FloatArray, IntArray]:
    """Return studentised (bootstrap-t) limits, (2, K), and the number of resamples without a spread of their own, (K,).

    Parameters
    ----------
    resamples, errors : (B, K) arrays
        Each resample with its own standard error.
    estimate, standard_error : (K,) arrays
    confidence_level : float

    Notes
    -----
    estimate - q SE, with q quantiles of (resample - estimate)/(its own SE). A resample whose own SE is 0 counts as infinitely far
    out on its side, unless it equals the estimate; so that with few clusters a limit may be infinite.
    """
    shift = resamples - estimate
    shift = np.where(np.abs(shift) <= TIE * np.maximum(np.abs(resamples), np.abs(estimate)), 0.0, shift)
    with np.errstate(divide="ignore", invalid="ignore"):
        studentised = np.where(shift == 0.0, 0.0, shift / errors)
    # closest order statistics: interpolation between infinite ones is undefined
    q = np.quantile(studentised, _tails(confidence_level), axis=0, method="inverted_cdf")
    with np.errstate(invalid="ignore"):
        limits = estimate - q[::-1] * standard_error
    return limits, (errors == 0.0).sum(axis=0)


def t_limits(estimate: FloatArray, standard_error: FloatArray, df: FloatArray, confidence_level: float) -> FloatArray:
    """Return estimate -+ t SE, (2, K); the estimate itself where the standard error is 0, whatever the degrees of freedom."""
    half = np.where(standard_error == 0.0, 0.0, stdtrit(df, 0.5 + confidence_level / 2.0) * standard_error)
    return np.stack([estimate - half, estimate + half])


def satterthwaite(variances: FloatArray, df: FloatArray) -> FloatArray:
    """Return the degrees of freedom of a sum of variances, (K,); nan where all are 0.

    Parameters
    ----------
    variances : (G, K) array
    df : (G,) array
        Of each variance.

    References
    ----------
    Satterthwaite, F. E. (1946). An approximate distribution of estimates of variance components. *Biometrics Bulletin, 2*,
    110-114.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(df[:, None] > 0, variances**2 / np.maximum(df, 1e-300)[:, None], 0.0)
        found: FloatArray = variances.sum(axis=0) ** 2 / parts.sum(axis=0)
    return found


def p_value(resamples: FloatArray, estimate: FloatArray) -> FloatArray:
    """Return the two-sided bootstrap p of a difference of 0, (k + 1)/(B + 1), (K,).

    Notes
    -----
    k counts resamples whose distance from the estimate is at least that of the estimate from 0 (Davison and Hinkley, 1997,
    section 4.4); the 1 is the observed value, so that p is never 0.
    """
    distance = resamples - estimate
    np.abs(distance, out=distance)
    as_far = np.count_nonzero(distance >= np.abs(estimate) * (1.0 - TIE), axis=0)
    return np.asarray((as_far + 1.0) / (len(resamples) + 1.0), dtype=np.float64)


def holm(p_values: FloatArray) -> FloatArray:
    """Return Holm's step-down adjusted p values; nan stay nan and are not counted.

    References
    ----------
    Holm, S. (1979). A simple sequentially rejective multiple test procedure. *Scandinavian Journal of Statistics, 6*, 65-70.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03])).round(2)
    array([0.03, 0.06, 0.06])
    """
    adjusted = np.full(len(p_values), np.nan)
    known = np.flatnonzero(np.isfinite(p_values))
    order = known[np.argsort(p_values[known], kind="stable")]
    steps = p_values[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def max_t_limits(
    resamples: FloatArray, estimate: FloatArray, standard_error: FloatArray, confidence_level: float
) -> tuple[FloatArray, FloatArray]:
    """Return simultaneous limits of several differences, (2, K), and single-step adjusted p values, (K,).

    Notes
    -----
    estimate -+ c SE with c the quantile of max over columns of |resample - estimate|/SE: all intervals hold at once with the
    confidence level (Westfall and Young, 1993, section 2.6). Columns without spread are left out of the maximum; their interval
    is the estimate itself.
    """
    spread = standard_error > 0.0
    largest = np.zeros(len(resamples))
    for column in np.flatnonzero(spread):
        np.maximum(largest, np.abs(resamples[:, column] - estimate[column]) / standard_error[column], out=largest)
    critical = float(np.quantile(largest, confidence_level))
    limits = np.stack([estimate - critical * standard_error, estimate + critical * standard_error])
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = np.where(spread, np.abs(estimate) / standard_error, np.where(estimate == 0.0, 0.0, np.inf))
    ordered = np.sort(largest)
    as_far = len(ordered) - np.searchsorted(ordered, observed * (1.0 - TIE), side="left")
    adjusted: FloatArray = np.asarray((as_far + 1.0) / (len(resamples) + 1.0), dtype=np.float64)
    return limits, adjusted


def clopper_pearson_limits(successes: float, n: float, confidence_level: float) -> tuple[float, float]:
    """Return the exact (beta) interval of a proportion.

    References
    ----------
    Clopper, C. J., & Pearson, E. S. (1934). The use of confidence or fiducial limits illustrated in the case of the binomial.
    *Biometrika, 26*, 404-413.

    Examples
    --------
    >>> [round(limit, 4) for limit in clopper_pearson_limits(10, 10, 0.95)]
    [0.6915, 1.0]
    """
    tail = (1.0 - confidence_level) / 2.0
    low = 0.0 if successes == 0 else float(betaincinv(successes, n - successes + 1.0, tail))
    high = 1.0 if successes == n else float(betaincinv(successes + 1.0, n - successes, 1.0 - tail))
    return low, high


def _tails(confidence_level: float) -> FloatArray:
    return np.array([(1.0 - confidence_level) / 2.0, (1.0 + confidence_level) / 2.0]).round(15)  # 0.025, not 0.025000000000000022
