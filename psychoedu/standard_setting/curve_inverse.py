"""The inverse of the test characteristic curve, and how it hangs on the item parameters, as plain arrays."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from psychoedu._typing import FloatArray

_SLACK = 1e-9
"""A score this close to an end of the curve is that end: sums of proportions carry rounding errors."""


def curve(theta: float, discrimination: FloatArray, intercept: FloatArray, guessing: FloatArray) -> float:
    """Return the expected number of right answers at an ability, the sum of c + (1 - c) logistic(a theta + d)."""
    return float((guessing + (1.0 - guessing) * expit(discrimination * theta + intercept)).sum())


def inverse_curve(scores: FloatArray, discrimination: FloatArray, intercept: FloatArray, guessing: FloatArray) -> FloatArray:
    """Return the abilities at which the expected scores are the ones given.

    Parameters
    ----------
    scores : ndarray
        Of any shape; nan stays nan.
    discrimination, intercept, guessing : ndarray, (J,)
        No discrimination below 0, and one above it at least, so that the curve rises.

    Returns
    -------
    ndarray of the shape of ``scores``
        -inf at or below the curve's lower end (the sum of guessing), inf at or above its upper end (J).

    Examples
    --------
    >>> inverse_curve(np.array([0.0, 1.0, 2.0]), np.ones(2), np.array([1.0, -1.0]), np.zeros(2)).round(6).tolist()
    [-inf, 0.0, inf]
    """
    rises = discrimination > 0.0
    constant = float((guessing + (1.0 - guessing) * expit(intercept))[~rises].sum())
    bottom, top = constant + float(guessing[rises].sum()), constant + float(rises.sum())
    own = (discrimination[rises], intercept[rises], guessing[rises])
    found = np.full(scores.shape, np.nan)
    found[scores <= bottom + _SLACK] = -np.inf
    found[scores >= top - _SLACK] = np.inf
    middle = float(np.median(-own[1] / own[0]))
    for place in zip(*np.nonzero((scores > bottom + _SLACK) & (scores < top - _SLACK)), strict=True):
        target = float(scores[place]) - constant

        def miss(theta: float, target: float = target) -> float:
            return curve(theta, *own) - target

        low, high, step = middle - 1.0, middle + 1.0, 2.0
        while miss(low) > 0.0:
            low, step = low - step, 2.0 * step
        step = 2.0
        while miss(high) < 0.0:
            high, step = high + step, 2.0 * step
        found[place] = brentq(miss, low, high, xtol=1e-13, rtol=1e-14)
    return found


def inverse_gradient(theta: FloatArray, discrimination: FloatArray, intercept: FloatArray, guessing: FloatArray) -> FloatArray:
    """Return how abilities of given expected scores move with the item parameters, (n, 2J).

    Parameters
    ----------
    theta : ndarray, (n,)
        Abilities on the curve; infinite ones hang on no parameter.
    discrimination, intercept, guessing : ndarray, (J,)

    Returns
    -------
    ndarray, (n, 2J), order a1, d1, a2, d2, ...
        -(dT / d parameter) / T'(theta), as T(theta) is held fixed.
    """
    found = np.zeros((len(theta), 2 * len(discrimination)))
    known = np.isfinite(theta)
    eta = np.multiply.outer(theta[known], discrimination) + intercept
    slope = (1.0 - guessing) * expit(eta) * expit(-eta)
    steepness = slope @ discrimination
    found[known, 1::2] = -slope / steepness[:, None]
    found[known, 0::2] = found[known, 1::2] * theta[known, None]
    return found
