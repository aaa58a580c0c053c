"""How far panellists agree, and how well their median is known, as plain arrays."""

from __future__ import annotations

from functools import cache
from math import comb

import numpy as np
from scipy.integrate import cumulative_simpson
from scipy.special import log_ndtr, ndtr

from psychoedu._typing import FloatArray

_POINTS = 3201
_REACH = 9.0
_LARGEST_EXACT = 101


def spread(values: FloatArray) -> FloatArray:
    """Return range, SD (denominator n - 1) and MAD (median absolute deviation from the median) of each column.

    Parameters
    ----------
    values : ndarray, (n, L)
        nan is left out; infinite values make a spread infinite or nan.

    Returns
    -------
    ndarray, (3, L)
        nan where fewer than two values are there (the SD), or none (the others).
    """
    found = np.full((3, values.shape[1]), np.nan)
    for column in range(values.shape[1]):
        own = values[~np.isnan(values[:, column]), column]
        if not len(own):
            continue
        with np.errstate(invalid="ignore"):
            found[0, column] = np.ptp(own) if len(np.unique(own)) > 1 else 0.0
            found[1, column] = own.std(ddof=1) if len(own) > 1 else np.nan
            middle = np.median(own)
            found[2, column] = np.median(np.where(own == middle, 0.0, np.abs(own - middle)))
    return found


def mean_pairwise_difference(values: FloatArray) -> FloatArray:
    """Return the mean absolute difference over all pairs of values in each column, (L,); nan for fewer than two."""
    found = np.full(values.shape[1], np.nan)
    for column in range(values.shape[1]):
        own = np.sort(values[~np.isnan(values[:, column]), column])
        n = len(own)
        if n > 1:
            with np.errstate(invalid="ignore"):
                # over sorted values the sum of all differences is sum (2 i - n + 1) x_i
                weights = 2.0 * np.arange(n) - n + 1.0
                found[column] = 0.0 if own[0] == own[-1] else weights @ own / comb(n, 2)
    return found


def intraclass_correlations(values: FloatArray) -> tuple[float, float]:
    """Return the agreement of raters on targets: of a single rater, and of their mean.

    Parameters
    ----------
    values : ndarray, (n_targets, n_raters)
        For cut scores the targets are the levels and the raters the panellists; all finite.

    Returns
    -------
    tuple of two floats
        ICC(2,1) and ICC(2,k), two-way random effects, absolute agreement; nan for fewer than two targets or raters, or where
        nothing varies.

    References
    ----------
    Shrout, P. E., & Fleiss, J. L. (1979). Intraclass correlations: Uses in assessing rater reliability. Psychological Bulletin,
    86, 420-428.

    Examples
    --------
    >>> ratings = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7.0]])
    >>> [round(value, 2) for value in intraclass_correlations(ratings)]
    [0.29, 0.62]
    """
    n, k = values.shape
    if min(n, k) < 2 or not np.isfinite(values).all():
        return np.nan, np.nan
    grand, by_target, by_rater = values.mean(), values.mean(axis=1), values.mean(axis=0)
    targets = k * ((by_target - grand) ** 2).sum() / (n - 1)
    raters = n * ((by_rater - grand) ** 2).sum() / (k - 1)
    rest = ((values - by_target[:, None] - by_rater + grand) ** 2).sum() / ((n - 1) * (k - 1))
    single = targets + (k - 1) * rest + k * (raters - rest) / n
    average = targets + (raters - rest) / n
    if min(single, average) <= 0.0:
        return np.nan, np.nan
    return float((targets - rest) / single), float((targets - rest) / average)


@cache
def median_error_ratio(n: int) -> float:
    """Return the standard error of the median of n normal values in units of that of their mean.

    Parameters
    ----------
    n : int
        At least 1.

    Returns
    -------
    float
        sqrt(n Var(median of n N(0, 1))): 1 at n = 1 and 2, rising to sqrt(pi / 2) = 1.2533.

    Notes
    -----
    From the density of the middle order statistic, or of the two middle ones (David & Nagaraja, 2003, Order statistics,
    equations 2.1.6 and 2.2.1), by the trapezoidal rule and Simpson's; from 102 values on the expansion
    Var = pi / (2 n) (1 - (4 - pi) / (2 n)), for an even n with 6 in place of 4, with which the ratio agrees there to 2e-4.

    Examples
    --------
    >>> [round(median_error_ratio(n), 4) for n in (1, 2, 3, 1001)]
    [1.0, 1.0, 1.1602, 1.253]
    """
    if n <= 2:
        return 1.0
    if n > _LARGEST_EXACT:
        return float(np.sqrt(np.pi / 2.0 * (1.0 - ((4.0 if n % 2 else 6.0) - np.pi) / (2.0 * n))))
    x = np.linspace(-_REACH, _REACH, _POINTS)
    density, below, above = np.exp(-0.5 * x * x), log_ndtr(x), log_ndtr(-x)
    if n % 2:
        m = n // 2
        weight = density * np.exp(m * (below + above - below[_POINTS // 2] - above[_POINTS // 2]))
        variance = float((weight * x * x).sum() / weight.sum())
    else:
        m = n // 2 - 1
        lower = density * np.exp(m * (below - below[_POINTS // 2]))
        upper = density * np.exp(m * (above - above[_POINTS // 2]))
        # the lower one integrated up to the upper one, times its powers 0, 1, 2
        zero, one, two = (cumulative_simpson(lower * x**power, x=x, initial=0.0) for power in range(3))
        variance = float((upper * (two + 2.0 * x * one + x * x * zero)).sum() / (4.0 * (upper * zero).sum()))
    return float(np.sqrt(n * variance))


def share_above(theta: FloatArray, theta_se: FloatArray, grid: FloatArray) -> FloatArray:
    """Return the mean posterior probability of an ability of at least each grid point, (G,).

    Parameters
    ----------
    theta, theta_se : ndarray, (N,)
        Posterior means and standard deviations, normal.
    grid : ndarray, (G,)
    """
    total = np.zeros(len(grid))
    for start in range(0, len(theta), 4096):
        part = slice(start, start + 4096)
        total += ndtr((theta[part, None] - grid) / theta_se[part, None]).sum(axis=0)
    return total / len(theta)
