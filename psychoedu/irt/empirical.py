"""Observed proportions right by ability group, for a picture of an item's curve against the data, as plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logit, softmax

from psychoedu._typing import CodeArray, FloatArray
from psychoedu.irt.models import log_probabilities
from psychoedu.proportions import wilson_interval

MAX_RESPONDENTS = 50_000
"""More respondents than this are thinned evenly: no eye sees the difference."""

_BLOCK_ROWS = 2048
_SMALLEST_GROUP = 20


@dataclass(frozen=True, eq=False)
class EmpiricalCurve:
    """Observed proportions of one item, one entry per group of respondents, from the least to the most able.

    Parameters
    ----------
    theta : ndarray of shape (G,)
        Where the model expects the proportion that it expects of this group: a point above the curve is a group that did better
        than the model says, by exactly the vertical distance.
    proportion, low, high : ndarray of shape (G,)
        Proportion right, and its 95% Wilson interval.
    expected : ndarray of shape (G,)
        Proportion right that the model expects, given the group's answers to the other items.
    n : ndarray of shape (G,)
        Number of respondents (sum of weights).
    """

    theta: FloatArray
    proportion: FloatArray
    low: FloatArray
    high: FloatArray
    expected: FloatArray
    n: FloatArray


def empirical_curves(
    items: Sequence[int],
    scored: CodeArray,
    discrimination: FloatArray,
    intercept: FloatArray,
    guessing: FloatArray | None = None,
    prior_mean: float | FloatArray = 0.0,
    prior_sd: float | FloatArray = 1.0,
    weights: FloatArray | None = None,
    n_groups: int = 10,
) -> list[EmpiricalCurve]:
    """Group respondents by their ability on the other items and compare observed with expected proportions.

    Parameters
    ----------
    items : sequence of int
        Columns to look at.
    scored : int8 array of shape (N, J)
        1 right, 0 wrong, negative without a score.
    discrimination, intercept, guessing : ndarray of shape (J,)
        Item parameters, P = c + (1 - c) logistic(a theta + d).
    prior_mean, prior_sd : float or ndarray of shape (N,)
        Normal population of each respondent.
    weights : ndarray of shape (N,), optional
        Non-negative weights.
    n_groups : int, default 10
        Groups of about equal size; fewer where they would hold fewer than 20 respondents or where scores tie.

    Returns
    -------
    list of EmpiricalCurve
        One per entry of ``items``.

    Notes
    -----
    Respondents are grouped by their EAP from the *other* items, so that the item does not vote on its own fit. A group's average
    ability is not a point but a spread, over which a curve flattens; the model's expectation therefore averages the curve over
    each respondent's posterior, and the point stands where the curve has that height. Plotting at the mean EAP instead makes
    every short test look misfitting. Cost O(N J Q) once and O(N Q) per item, Q = 61.

    Examples
    --------
    >>> import numpy as np
    >>> scored = np.array([[1, 1], [1, 0], [0, 1], [0, 0]] * 20, dtype=np.int8)
    >>> [curve] = empirical_curves([0], scored, np.zeros(2), np.zeros(2))
    >>> curve.proportion, curve.expected
    (array([0.5]), array([0.5]))
    """
    n_respondents = scored.shape[0]
    rows = slice(None, None, max(1, -(-n_respondents // MAX_RESPONDENTS)))
    scored = scored[rows]
    mean = np.broadcast_to(np.asarray(prior_mean, dtype=np.float64), (n_respondents,))[rows]
    sd = np.broadcast_to(np.asarray(prior_sd, dtype=np.float64), (n_respondents,))[rows]
    weight = np.ones(len(scored)) if weights is None else np.asarray(weights, dtype=np.float64)[rows]
    nodes = _nodes(mean, sd)
    log_right, log_wrong = log_probabilities(nodes, discrimination, intercept, guessing)
    log_density = -0.5 * ((nodes - mean[:, None]) / sd[:, None]) ** 2
    for start in range(0, len(scored), _BLOCK_ROWS):
        block = scored[start : start + _BLOCK_ROWS]
        log_density[start : start + _BLOCK_ROWS] += (block == 1) @ log_right.T + (block == 0) @ log_wrong.T
    curves = []
    for item in items:
        keep = (scored[:, item] >= 0) & (weight > 0)
        right = scored[keep, item] == 1
        rest = log_density[keep] - np.where(right[:, None], log_right[:, item], log_wrong[:, item])
        posterior = softmax(rest, axis=1)
        success = np.exp(log_right[:, item])
        guess = 0.0 if guessing is None else float(guessing[item])
        curves.append(
            _curve(
                posterior @ nodes,
                posterior @ success,
                right.astype(np.float64),
                weight[keep],
                (float(discrimination[item]), float(intercept[item]), guess),
                n_groups,
            )
        )
    return curves


def _nodes(mean: FloatArray, sd: FloatArray) -> FloatArray:
    """Spread the nodes over every group's population."""
    low = float(np.min(mean - 6.0 * sd, initial=-6.0))
    high = float(np.max(mean + 6.0 * sd, initial=6.0))
    step = 0.2 * float(np.min(sd, initial=1.0))
    return np.linspace(low, high, min(401, int(np.ceil((high - low) / step)) + 1))


def _curve(
    ability: FloatArray,
    expected: FloatArray,
    right: FloatArray,
    weight: FloatArray,
    parameters: tuple[float, float, float],
    n_groups: int,
) -> EmpiricalCurve:
    if len(ability) == 0:
        return EmpiricalCurve(*(np.empty(0) for _ in range(6)))
    n_groups = max(1, min(n_groups, len(ability) // _SMALLEST_GROUP))
    _, tie = np.unique(ability.round(9), return_inverse=True)
    tie_weight = np.bincount(tie, weights=weight)
    middle = np.cumsum(tie_weight) - tie_weight / 2.0
    group = np.minimum((n_groups * middle / tie_weight.sum()).astype(np.int64), n_groups - 1)[tie]
    n: FloatArray = np.bincount(group, weights=weight, minlength=n_groups).astype(np.float64)
    filled = n > 0
    n = n[filled]
    proportion = np.clip(np.bincount(group, weights=weight * right, minlength=n_groups)[filled] / n, 0.0, 1.0)
    mean_expected = np.bincount(group, weights=weight * expected, minlength=n_groups)[filled] / n
    mean_ability = np.bincount(group, weights=weight * ability, minlength=n_groups)[filled] / n
    low, high = wilson_interval(proportion, n)
    theta = _inverse(mean_expected, mean_ability, *parameters)
    return EmpiricalCurve(theta, proportion, low, high, mean_expected, n)


def _inverse(expected: FloatArray, ability: FloatArray, slope: float, intercept: float, guessing: float) -> FloatArray:
    """Return where the curve has the height ``expected``; the mean ability where the curve is flat."""
    share = np.clip((expected - guessing) / (1.0 - guessing), 1e-12, 1.0 - 1e-12)
    if abs(slope) < 1e-3:
        return ability
    theta: FloatArray = (logit(share) - intercept) / slope
    return theta
