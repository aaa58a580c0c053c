"""Item response functions of the dichotomous models, as plain arrays.

P(x = 1 | theta) = c + (1 - c) logistic(a theta + d), logit metric (D = 1), with d = -a b
(Birnbaum, 1968, in Lord & Novick, chapter 17). The 2PL has c = 0; the 1PL has one a for all items; Rasch has a = 1.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, log_expit

from psychoedu._typing import FloatArray


def linear_predictor(theta: FloatArray, discrimination: FloatArray, intercept: FloatArray) -> FloatArray:
    """Return a_j theta_q + d_j as an array of (len(theta), J)."""
    return np.multiply.outer(theta, discrimination) + intercept


def probability(
    theta: FloatArray, discrimination: FloatArray, intercept: FloatArray, guessing: FloatArray | None = None
) -> FloatArray:
    """Return P(x = 1 | theta) as an array of (len(theta), J)."""
    success: FloatArray = expit(linear_predictor(theta, discrimination, intercept))
    return success if guessing is None else guessing + (1.0 - guessing) * success


def log_probabilities(
    theta: FloatArray, discrimination: FloatArray, intercept: FloatArray, guessing: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return log P and log(1 - P), each (len(theta), J), without loss at either end."""
    eta = linear_predictor(theta, discrimination, intercept)
    log_wrong: FloatArray = log_expit(-eta)
    if guessing is None:
        return log_expit(eta), log_wrong
    with np.errstate(divide="ignore"):  # log 0 = -inf is right where c = 0
        log_guess = np.log(guessing)
    return np.logaddexp(log_guess, np.log1p(-guessing) + log_expit(eta)), np.log1p(-guessing) + log_wrong


def item_information(
    theta: FloatArray, discrimination: FloatArray, intercept: FloatArray, guessing: FloatArray | None = None
) -> FloatArray:
    """Return Fisher information of each item, (len(theta), J).

    a^2 (1 - P)/P ((P - c)/(1 - c))^2, which is a^2 P (1 - P) at c = 0 (Lord, 1980, equation 5-9).
    """
    success = expit(linear_predictor(theta, discrimination, intercept))
    failure = expit(-linear_predictor(theta, discrimination, intercept))
    if guessing is None:
        return discrimination**2 * success * failure
    total = guessing + (1.0 - guessing) * success
    return discrimination**2 * (1.0 - guessing) * failure * success**2 / total
