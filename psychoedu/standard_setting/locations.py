"""Response-probability locations of items, and their sampling errors, as plain arrays."""

from __future__ import annotations

import numpy as np

from psychoedu._typing import FloatArray


def rp_locations(
    discrimination: FloatArray, intercept: FloatArray, guessing: FloatArray | None, response_probability: float
) -> FloatArray:
    """Return the ability at which each item is answered correctly with the response probability.

    Parameters
    ----------
    discrimination, intercept : ndarray, (..., J)
        P(x = 1) = c + (1 - c) logistic(a theta + d).
    guessing : ndarray, (J,), or None
        Lower asymptotes c, each below the response probability.
    response_probability : float
        RP, between 0 and 1.

    Returns
    -------
    ndarray, (..., J)
        (logit((RP - c) / (1 - c)) - d) / a; infinite or nan where a is 0.

    Notes
    -----
    With c = 0 and RP = 1/2 the location is the difficulty; at RP = 2/3 it lies ln(2) / a above it.

    References
    ----------
    Huynh, H. (2006). A clarification on the response probability criterion RP67 for standard settings based on bookmark and
    item mapping. Educational Measurement: Issues and Practice, 25(2), 19-20.

    Examples
    --------
    >>> rp_locations(np.array([1.2]), np.array([-0.6]), None, 2 / 3).round(6).tolist()
    [1.077623]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        found: FloatArray = (_target_logit(guessing, response_probability) - intercept) / discrimination
    return found


def _target_logit(guessing: FloatArray | None, response_probability: float) -> FloatArray | float:
    if guessing is None:
        return float(np.log(response_probability) - np.log1p(-response_probability))
    return np.asarray(np.log(response_probability - guessing) - np.log1p(-response_probability))


def location_errors(discrimination: FloatArray, location: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return the standard errors of locations by the delta method, (J,); nan where those of the parameters are.

    Parameters
    ----------
    discrimination, location : ndarray, (J,)
    covariance : ndarray, (2J, 2J)
        Of the estimates, order a1, d1, a2, d2, ...

    Notes
    -----
    The derivatives of a location with respect to a and d are -location / a and -1 / a.
    """
    variance = np.diag(covariance)
    both = np.diag(covariance, 1)[0::2]
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.sqrt(location**2 * variance[0::2] + 2.0 * location * both + variance[1::2])
        found: FloatArray = spread / np.abs(discrimination)
    return found


def _root(covariance: FloatArray) -> FloatArray:
    """Return R with R R' = covariance: by Cholesky where it is positive definite but for zero rows, else by eigenvalues."""
    free = np.flatnonzero(np.diag(covariance) > 0.0)
    root = np.zeros_like(covariance)
    part = covariance[np.ix_(free, free)]
    try:
        found = np.linalg.cholesky(part)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(part)
        found = vectors * np.sqrt(np.clip(values, 0.0, None))
    root[np.ix_(free, free)] = found
    return root


def draw_parameters(
    discrimination: FloatArray, intercept: FloatArray, covariance: FloatArray, n_draws: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Draw item parameters from their sampling distribution.

    Parameters
    ----------
    discrimination, intercept : ndarray, (J,)
    covariance : ndarray, (2J, 2J)
        Order a1, d1, a2, d2, ...; positive semi-definite.
    n_draws : int
    rng : Generator

    Returns
    -------
    tuple of two ndarrays, each (n_draws, J)

    Notes
    -----
    Joint normal in (log |a|, d), with the covariance carried over by the delta method, so that no draw changes an item's
    direction and no location runs away through a discrimination near 0.
    """
    n_items = len(discrimination)
    scale = np.ones(2 * n_items)
    flat = discrimination == 0.0  # stays flat: there is no log of 0
    scale[0::2] = np.where(flat, 0.0, 1.0 / np.where(flat, 1.0, discrimination))
    scaled = covariance * np.multiply.outer(scale, scale)
    shifts = rng.standard_normal((n_draws, 2 * n_items)) @ _root((scaled + scaled.T) / 2.0).T
    return discrimination * np.exp(shifts[:, 0::2]), intercept + shifts[:, 1::2]
