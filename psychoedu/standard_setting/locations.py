"""Response-probability locations of items, and their sampling errors, as plain arrays."""

from __future__ import annotations

import numpy as np

from psychoedu._typing import FloatArray, IntArray


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


def location_jacobian(discrimination: FloatArray, location: FloatArray) -> FloatArray:
    """Return the derivatives of each location with respect to its a and d, (J, 2): -location / a and -1 / a."""
    return np.column_stack((-location / discrimination, -1.0 / discrimination))


def location_covariance(
    discrimination: FloatArray, location: FloatArray, positions: IntArray, covariance: FloatArray
) -> FloatArray:
    """Return the sampling covariance of locations by the delta method, (J, J).

    Parameters
    ----------
    discrimination, location : ndarray, (J,)
        Of the items asked for.
    positions : ndarray of int, (J,)
        Where each of them stands in the bank.
    covariance : ndarray, (2 n_bank, 2 n_bank)
        Of the bank's estimates, order a1, d1, a2, d2, ...

    Returns
    -------
    ndarray, (J, J)
    """
    jacobian = location_jacobian(discrimination, location)
    both = np.column_stack((2 * positions, 2 * positions + 1))
    blocks = covariance[np.ix_(both.ravel(), both.ravel())].reshape(len(both), 2, len(both), 2)
    found: FloatArray = np.einsum("ip,ipjq,jq->ij", jacobian, blocks, jacobian)
    return found


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
    values, vectors = np.linalg.eigh((scaled + scaled.T) / 2.0)
    root = vectors * np.sqrt(np.clip(values, 0.0, None))
    shifts = rng.standard_normal((n_draws, 2 * n_items)) @ root.T
    return discrimination * np.exp(shifts[:, 0::2]), intercept + shifts[:, 1::2]
