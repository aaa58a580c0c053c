"""Where a logistic regression of "at or above the level" crosses a probability, with its sampling error, as plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, xlogy
from scipy.stats import chi2

from psychoedu._typing import BoolArray, FloatArray
from psychoedu.exceptions import EstimationError

_MAX_ITERATIONS = 200
_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class LogisticCut:
    """Where P(at or above | x) crosses a probability.

    Attributes
    ----------
    trouble : {"", "one class", "falling", "separated"}
        "one class": all are at or above, or none is; "falling": those at or above do not lie higher on average, which is where
        the slope is not above 0; "separated": all at or above lie above all others, so that the slope is infinite.
    value : float
        nan for "one class" and "falling"; the middle of the gap for "separated".
    slope : float
        inf for "separated".
    p_value : float
        Of the slope, by the likelihood ratio; nan where there is none.
    n_below, n_above : int
    means : tuple of two floats
        Mean x of those below, and of those at or above.
    fitted : ndarray, (N,)
        Fitted probabilities.
    loading : ndarray, (2,)
        What the error of the cut is of the score of (1, x - mean); nan where unknown.
    gradient : ndarray, (N,)
        Derivative of the cut in each x.
    """

    trouble: str
    value: float
    slope: float
    p_value: float
    n_below: int
    n_above: int
    means: tuple[float, float]
    fitted: FloatArray
    loading: FloatArray
    gradient: FloatArray


def logistic_cut(x: FloatArray, above: BoolArray, weights: FloatArray | None = None, probability: float = 0.5) -> LogisticCut:
    """Regress "at or above" on x, and return where the curve crosses a probability.

    Parameters
    ----------
    x : ndarray, (N,)
        Finite.
    above : ndarray of bool, (N,)
    weights : ndarray, (N,), optional
        How many observations each stands for, above 0.
    probability : float

    Returns
    -------
    LogisticCut

    Raises
    ------
    EstimationError
        The iterations of the regression did not end.

    Notes
    -----
    P = logistic(b0 + b1 x), cut = (logit(probability) - b0) / b1, d cut = -(d b0 + cut d b1) / b1. The derivative in x_i is
    that of the solution of the likelihood equations, sum w (y - P) (1, x) = 0, with the observations y held fixed.

    Examples
    --------
    >>> found = logistic_cut(np.array([0.0, 1, 2, 3]), np.array([False, True, False, True]))
    >>> round(found.value, 6), found.gradient.sum().round(6)
    (1.5, np.float64(1.0))
    """
    w = np.ones(len(x)) if weights is None else weights
    counts = (int((~above).sum()), int(above.sum()))
    unknown = np.full(2, np.nan)
    nothing = np.full(len(x), np.nan)
    if not min(counts):
        means = (np.nan, float(np.average(x, weights=w))) if counts[1] else (float(np.average(x, weights=w)), np.nan)
        return LogisticCut("one class", np.nan, np.nan, np.nan, *counts, means, nothing, unknown, nothing)
    means = (float(np.average(x[~above], weights=w[~above])), float(np.average(x[above], weights=w[above])))
    # the sign of the slope is that of the score at slope 0, which is the difference of the means
    if means[1] - means[0] <= 1e-12 * max(1.0, float(np.abs(x).max())):
        return LogisticCut("falling", np.nan, np.nan, np.nan, *counts, means, nothing, unknown, nothing)
    low, high = float(x[~above].max()), float(x[above].min())
    if low <= high:
        ends = [(~above) & (x == low), above & (x == high)]
        gradient = sum((0.5 * end / end.sum() for end in ends), start=np.zeros(len(x)))
        return LogisticCut("separated", (low + high) / 2.0, np.inf, np.nan, *counts, means, nothing, unknown, gradient)
    return _fitted_cut(x, above.astype(np.float64), w, float(np.log(probability / (1.0 - probability))), counts, means)


def _fitted_cut(
    x: FloatArray, y: FloatArray, w: FloatArray, target: float, counts: tuple[int, int], means: tuple[float, float]
) -> LogisticCut:
    import statsmodels.api as sm

    middle, spread = x.mean(), x.std()
    design = np.column_stack((np.ones(len(x)), (x - middle) / spread))
    model = sm.GLM(y, design, family=sm.families.Binomial(), freq_weights=w)
    result = model.fit(maxiter=_MAX_ITERATIONS, tol=_TOLERANCE, tol_criterion="params")
    b0, b1 = (float(value) for value in result.params / np.array([1.0, spread]))
    if not (result.converged and np.isfinite(b0 + b1)):
        raise EstimationError(
            f"The logistic regression did not settle in {_MAX_ITERATIONS} iterations ({len(x):,} observations).\n"
            "Expected levels that overlap along the scale; look at the values for outliers."
        )
    z = np.column_stack((np.ones(len(x)), x - middle))
    fitted = expit(z @ np.array([b0, b1]))
    information = w * fitted * (1.0 - fitted)
    inverse = np.linalg.inv((z * information[:, None]).T @ z)
    value = (target - b0) / b1
    loading = -(inverse @ np.array([1.0, value])) / b1
    # the score's derivative in x_i: its second entry moves with x_i, and the fitted probability with b1 x_i
    gradient = w * (y - fitted) * loading[1] - b1 * information * (z @ loading)
    p_value = float(chi2.sf(2.0 * (_log_likelihood(y, fitted, w) - _log_likelihood(y, np.average(y, weights=w), w)), 1))
    return LogisticCut("", float(value + middle), b1, p_value, *counts, means, fitted, loading, gradient)


def _log_likelihood(y: FloatArray, fitted: FloatArray | float, w: FloatArray) -> float:
    return float((w * (xlogy(y, fitted) + xlogy(1.0 - y, 1.0 - fitted))).sum())


def joint_covariance(cuts: Sequence[LogisticCut], x: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Return the sampling covariance of the cuts of one set of observations, (L, L); nan where a cut has no error.

    Parameters
    ----------
    cuts : sequence of LogisticCut, lowest level first
        All fitted to the same x and weights.
    x : ndarray, (N,)
    weights : ndarray, (N,), optional

    Notes
    -----
    Inverse information on the diagonal. Between levels: who is at or above the upper level is above the lower one as well, so
    that the two outcomes of an observation have the covariance min(P, Q) - P Q.
    """
    w = np.ones(len(x)) if weights is None else weights
    z = np.column_stack((np.ones(len(x)), x - x.mean()))
    found = np.full((len(cuts), len(cuts)), np.nan)
    for row, one in enumerate(cuts):
        for column, other in enumerate(cuts[: row + 1]):
            if one.trouble or other.trouble:
                continue
            shared = w * (np.minimum(one.fitted, other.fitted) - one.fitted * other.fitted)
            found[row, column] = found[column, row] = one.loading @ ((z * shared[:, None]).T @ z) @ other.loading
    return found
