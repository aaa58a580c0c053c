"""Reliability of ability scores, as plain arrays."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from psychoedu._typing import FloatArray

_HALF_WIDTH = 8.5
_START_INTERVALS = 256
_MAX_INTERVALS = 2**17
_TOLERANCE = 1e-10
_CHUNK = 257


class InformationCurve(Protocol):
    """Anything that gives test information at abilities, as an item bank does."""

    def information(self, theta: FloatArray) -> FloatArray:
        """Return test information, (len(theta),)."""
        ...


def marginal_reliability(bank: InformationCurve, mean: float = 0.0, sd: float = 1.0) -> float:
    """Return the marginal reliability of a bank in the population N(mean, sd).

    Parameters
    ----------
    bank : ItemBank
    mean, sd : float
        The population.

    Returns
    -------
    float
        The mean of I(theta) / (I(theta) + 1 / sd^2), I being test information: R mirt's ``marginal_rxx`` at sd 1.

    Notes
    -----
    Equally spaced points on mean +- 8.5 sd, doubled until the value is steady to 1e-10. Cost O(J Q).

    References
    ----------
    Green, B. F., Bock, R. D., Humphreys, L. G., Linn, R. L., & Reckase, M. D. (1984). Technical guidelines for assessing
    computerized adaptive tests. Journal of Educational Measurement, 21, 347-360.

    Examples
    --------
    >>> from psychoedu.irt.bank import ItemBank
    >>> bank = ItemBank.from_arrays(["q1", "q2", "q3"], [1.2, 1.0, 0.8], [0.0, 0.5, -0.5])
    >>> round(marginal_reliability(bank), 3)
    0.375
    """
    previous = math.nan
    n_intervals = _START_INTERVALS
    while True:
        z = np.linspace(-_HALF_WIDTH, _HALF_WIDTH, n_intervals + 1)
        information = np.concatenate([bank.information(mean + sd * part) for part in np.array_split(z, -(-len(z) // _CHUNK))])
        density = np.exp(-0.5 * z**2)
        value = float((density * information / (information + 1.0 / sd**2)).sum() / density.sum())
        if abs(value - previous) <= _TOLERANCE or n_intervals >= _MAX_INTERVALS:
            return value
        previous = value
        n_intervals *= 2


def empirical_reliability(theta: FloatArray, theta_se: FloatArray) -> float:
    """Return the empirical reliability of scores: var(theta) / (var(theta) + mean(theta_se^2)).

    Parameters
    ----------
    theta, theta_se : ndarray, (N,)
        Scores and standard errors; those that are not finite are left out.

    Returns
    -------
    float
        R mirt's ``empirical_rxx`` (its default formula, for every kind of score); nan for fewer than two finite scores.

    Notes
    -----
    The variance has the denominator N - 1. The formula takes the spread of the scores as that of true ability, which fits EAP and
    MAP. ML and WLE scores spread by their errors besides, so that for them it states too high a value.

    Examples
    --------
    >>> import numpy as np
    >>> empirical_reliability(np.array([-1.0, 0.0, 1.0]), np.array([0.5, 0.5, 0.5]))
    0.8
    """
    finite = np.isfinite(theta) & np.isfinite(theta_se)
    if finite.sum() < 2:
        return math.nan
    variance = float(np.var(theta[finite], ddof=1))
    error = float(np.mean(theta_se[finite] ** 2))
    return variance / (variance + error) if variance + error > 0.0 else math.nan
