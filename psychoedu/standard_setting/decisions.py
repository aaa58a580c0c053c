"""How often levels are right, and how often they would be given again: kernels on plain arrays.

Levels are counted from 0, the level below the first cut score; theta >= cut is the upper level. Everything ends in two tables of
shares, (L + 1, L + 1): true against assigned levels, and the levels of two occasions. All indices are read off them, those of a
single cut after the levels on either side of it are merged.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from psychoedu._typing import FloatArray, IntArray
from psychoedu.irt.models import probability as success_probability
from psychoedu.standard_setting.weighted_scores import score_thresholds, weighted_score_tails

HALF_WIDTH = 8.5
"""How many standard deviations of a population are integrated: 2e-17 of it lies beyond."""

PANEL_POINTS = 16
_CHUNK_CELLS = 2**21


class Decisions(NamedTuple):
    """Tables of shares, which sum to 1, and the indices of single respondents or nodes.

    table : (L + 1, L + 1), true level by assigned level.
    repeated : (L + 1, L + 1), level of one occasion by that of another, symmetric.
    accuracy, consistency : (N,), of each respondent or node.
    """

    table: FloatArray
    repeated: FloatArray
    accuracy: FloatArray
    consistency: FloatArray


def assign_levels(theta: FloatArray, cuts: FloatArray) -> IntArray:
    """Return the level of each ability, (N,): the number of cut scores reached, -1 where theta is nan.

    Parameters
    ----------
    theta : ndarray, (N,)
    cuts : ndarray, (L,)
        In ascending order. A cut of +inf is never reached, not even by theta = +inf; one of -inf always is.

    Examples
    --------
    >>> assign_levels(np.array([-1.0, 0.0, np.inf, np.nan]), np.array([0.0, 1.0, np.inf])).tolist()
    [0, 1, 2, -1]
    """
    reached = (theta[:, None] >= cuts) & (cuts < np.inf)
    return np.where(np.isnan(theta), -1, reached.sum(axis=1)).astype(np.int64)


def level_probabilities(theta: FloatArray, theta_se: FloatArray, cuts: FloatArray) -> FloatArray:
    """Return the probability of each level under a normal around each ability, (N, L + 1).

    Parameters
    ----------
    theta, theta_se : ndarray, (N,)
        Mean and standard deviation. A standard deviation of 0 gives probability 1 to the level of theta; a row with a mean or
        standard deviation that is not finite, or with a negative one, is nan.
    cuts : ndarray, (L,)
        In ascending order, infinite ones included.

    Notes
    -----
    Phi(z_l+1) - Phi(z_l), z = (cut - theta) / theta_se, taken from the upper tail where z_l is above 0, so that small
    probabilities keep their digits on either side.

    Examples
    --------
    >>> level_probabilities(np.array([0.3]), np.array([0.4]), np.array([-0.5, 0.0, 0.5])).round(5).tolist()
    [[0.02275, 0.20388, 0.46484, 0.30854]]
    """
    known = np.isfinite(theta) & np.isfinite(theta_se) & (theta_se >= 0.0)
    mean = np.where(known, theta, 0.0)[:, None]
    spread = np.where(known, theta_se, 1.0)[:, None]
    step = np.where(mean >= cuts, -np.inf, np.inf)
    with np.errstate(over="ignore"):  # an infinite distance is as good as a very large one
        z = np.where(spread > 0.0, (cuts - mean) / np.where(spread > 0.0, spread, 1.0), step)
    edge = np.full((len(theta), 1), np.inf)
    low, high = np.hstack([-edge, z]), np.hstack([z, edge])
    upper = low > 0.0
    probabilities: FloatArray = ndtr(np.where(upper, -low, high)) - ndtr(np.where(upper, -high, low))
    probabilities[~known] = np.nan
    return probabilities


def cross_table(first: FloatArray, second: FloatArray, weights: FloatArray) -> FloatArray:
    """Return shares of pairs of levels, (K, K), given each respondent's probabilities (N, K) of one and of the other."""
    table: FloatArray = first.T @ (second * (weights / weights.sum())[:, None])
    return table


def merge_levels(table: FloatArray) -> FloatArray:
    """Return the table of each cut alone, (L, 2, 2): below and at or above it.

    Examples
    --------
    >>> merge_levels(np.array([[0.3, 0.1, 0.0], [0.1, 0.2, 0.1], [0.0, 0.0, 0.2]])).round(2).tolist()
    [[[0.3, 0.1], [0.1, 0.5]], [[0.7, 0.1], [0.0, 0.2]]]
    """
    level, cut = np.arange(len(table)), np.arange(1, len(table))
    upper = (level >= cut[:, None]).astype(np.float64)
    side = np.stack([1.0 - upper, upper], axis=1)
    merged: FloatArray = side @ table @ side.transpose(0, 2, 1)
    return merged


def agreement(table: FloatArray) -> FloatArray:
    """Return the share on the diagonal of a table, or of each of a stack of tables."""
    return np.asarray(np.trace(table, axis1=-2, axis2=-1))


def kappa(table: FloatArray) -> FloatArray:
    """Return agreement beyond chance, of a table or of each of a stack: (p - e) / (1 - e), nan where one level has everybody.

    Notes
    -----
    e is the agreement of two independent occasions with the table's margins (Cohen, 1960, Educational and Psychological
    Measurement, 20, 37-46).

    Examples
    --------
    >>> round(float(kappa(np.array([[0.4, 0.1], [0.1, 0.4]]))), 3)
    0.6
    """
    chance = (table.sum(axis=-1) * table.sum(axis=-2)).sum(axis=-1)
    room = 1.0 - chance
    some = room > 1e-12
    return np.where(some, (agreement(table) - chance) / np.where(some, room, 1.0), np.nan)


def rudner(theta: FloatArray, theta_se: FloatArray, cuts: FloatArray, weights: FloatArray | None = None) -> Decisions:
    """Estimate accuracy and consistency from scores and their standard errors alone.

    Parameters
    ----------
    theta, theta_se : ndarray, (N,)
        Finite; theta_se at least 0.
    cuts : ndarray, (L,)
    weights : ndarray, (N,), optional

    Returns
    -------
    Decisions

    Notes
    -----
    With P_i the level probabilities of respondent i under N(theta_i, theta_se_i) and a_i the level of theta_i, accuracy is the
    mean of P_i(a_i), consistency that of sum_l P_i(l)^2, and the table has the mean of P_i(l) over those assigned each level.

    For a posterior mean and standard deviation P_i(a_i) is the posterior probability that the level is right. The sum of squares
    is the probability that *two abilities drawn from the posterior* share a level. Two administrations are another pair: with
    one normal prior of variance t^2 and reliability r both pairs have correlation r, but abilities spread by t and posterior
    means by t sqrt(r), so that a cut at c acts on the means as one at c / sqrt(r) would on the abilities. :func:`posterior_mean`
    has the consistency of two administrations.

    References
    ----------
    Rudner, L. M. (2001). Computing the expected proportions of misclassified examinees. Practical Assessment, Research &
    Evaluation, 7(14). Rudner, L. M. (2005). Expected classification accuracy. Practical Assessment, Research & Evaluation,
    10(13).

    Examples
    --------
    >>> found = rudner(np.array([0.3]), np.array([0.4]), np.array([0.0]))
    >>> found.accuracy.round(5).tolist(), found.consistency.round(5).tolist()
    ([0.77337], [0.64947])
    """
    weight = np.ones(len(theta)) if weights is None else weights
    possible = level_probabilities(theta, theta_se, cuts)
    assigned = np.eye(len(cuts) + 1)[assign_levels(theta, cuts)]
    table, repeated = cross_table(possible, assigned, weight), cross_table(possible, possible, weight)
    return Decisions(table, repeated, (possible * assigned).sum(axis=1), (possible**2).sum(axis=1))


def summed_score_distribution(probability: FloatArray) -> FloatArray:
    """Return the distribution of the number right, (Q, J + 1), given the probabilities of J independent items, (Q, J).

    Notes
    -----
    Items are added one by one: f(x) becomes f(x) (1 - p) + f(x - 1) p. Only sums of positive terms: no digit is lost. O(Q J^2).

    References
    ----------
    Lord, F. M., & Wingersky, M. S. (1984). Comparison of IRT true-score and equipercentile observed-score "equatings". Applied
    Psychological Measurement, 8, 453-461.

    Examples
    --------
    >>> summed_score_distribution(np.array([[0.5, 0.5], [0.1, 0.2]])).round(2).tolist()
    [[0.25, 0.5, 0.25], [0.72, 0.26, 0.02]]
    """
    n_nodes, n_items = probability.shape
    distribution = np.zeros((n_nodes, n_items + 1))
    distribution[:, 0] = 1.0
    for j in range(n_items):
        right = probability[:, j, None]
        gained = distribution[:, : j + 1] * right
        distribution[:, : j + 1] *= 1.0 - right
        distribution[:, 1 : j + 2] += gained
    return distribution


def population_nodes(
    shares: FloatArray, means: FloatArray, sds: FloatArray, cuts: FloatArray, steepest: float
) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights, each (Q,), that integrate smooth functions of ability and steps at the cuts over a population.

    Parameters
    ----------
    shares, means, sds : ndarray, (G,)
        A mixture of normals.
    cuts : ndarray, (L,)
    steepest : float
        The largest absolute discrimination.

    Notes
    -----
    Gauss-Legendre on panels that end at the cuts, so that no panel holds a step. Panels are at most one standard deviation and
    2 / steepest long: the nearest pole of an item's curve, pi / a off the real axis, is then three half panels away, and 16
    points leave an error near 1e-16.

    Examples
    --------
    >>> nodes, weights = population_nodes(np.ones(1), np.zeros(1), np.ones(1), np.array([0.5]), 1.0)
    >>> round(float(weights[nodes >= 0.5].sum()), 12)
    0.308537538726
    """
    points, point_weights = np.polynomial.legendre.leggauss(PANEL_POINTS)
    all_nodes, all_weights = [], []
    for share, mean, sd in zip(shares, means, sds, strict=True):
        low, high = mean - HALF_WIDTH * sd, mean + HALF_WIDTH * sd
        width = min(sd, 2.0 / max(steepest, 1e-6))
        ends = np.concatenate([[low], np.unique(cuts[(cuts > low) & (cuts < high)]), [high]])
        edges = np.concatenate([np.linspace(a, b, math.ceil((b - a) / width) + 1)[:-1] for a, b in pairwise(ends)] + [[high]])
        half = np.diff(edges) / 2.0
        nodes = (edges[:-1] + half)[:, None] + half[:, None] * points
        density = np.exp(-0.5 * ((nodes - mean) / sd) ** 2) * half[:, None] * point_weights
        all_nodes.append(nodes.ravel())
        all_weights.append(share * density.ravel() / density.sum())
    return np.concatenate(all_nodes), np.concatenate(all_weights)


def lee(
    theta: FloatArray,
    weights: FloatArray,
    items: tuple[FloatArray, FloatArray, FloatArray | None],
    cuts: FloatArray,
    raw_cuts: IntArray,
) -> Decisions:
    """Compute accuracy and consistency of levels given by the number right on a form.

    Parameters
    ----------
    theta, weights : ndarray, (Q,)
        Nodes of a population with their weights (the D method), or respondents' abilities with theirs (the P method).
    items : tuple of ndarray, (J,)
        Discriminations, intercepts, and guessing or None.
    cuts : ndarray, (L,)
        On ability, for the true levels.
    raw_cuts : ndarray of int, (L,)
        Number right from which the level is given.

    Returns
    -------
    Decisions

    Notes
    -----
    At each ability the number right falls into level l with probability P_l(theta). Accuracy there is P of the true level,
    consistency sum_l P_l^2: two independent administrations of the form. The true level is that of theta against the cut on
    theta, since that is how the level is defined; a raw cut that had to be rounded off the expected score then costs accuracy, as
    it does in use. Lee takes the expected score against the raw cut, which is the same for cuts at the abilities where
    the expected score is the raw cut.

    References
    ----------
    Lee, W.-C. (2010). Classification consistency and accuracy for complex assessments using item response theory. Journal of
    Educational Measurement, 47, 1-17.
    """
    bounds = np.concatenate([[0], raw_cuts, [len(items[0]) + 1]])

    def assigned(success: FloatArray) -> FloatArray:
        distribution = summed_score_distribution(success)
        parts = [distribution[:, low:high].sum(axis=1) for low, high in pairwise(bounds)]
        return np.stack(parts, axis=1)

    step = max(1, _CHUNK_CELLS // bounds[-1])
    chunks = [theta[start : start + step] for start in range(0, len(theta), step)]
    return given_ability(theta, weights, cuts, np.concatenate([assigned(success_probability(part, *items)) for part in chunks]))


def posterior_mean(
    theta: FloatArray,
    weights: FloatArray,
    discrimination: FloatArray,
    intercept: FloatArray,
    cuts: FloatArray,
    prior: tuple[float, float] = (0.0, 1.0),
) -> Decisions:
    """Compute accuracy and consistency of levels given by the posterior mean (EAP) of complete responses to 2PL items.

    Parameters
    ----------
    theta, weights : ndarray, (Q,)
        As for :func:`lee`.
    discrimination, intercept : ndarray, (J,)
    cuts : ndarray, (L,)
    prior : tuple of float
        Mean and standard deviation of the prior that the scores were made with.

    Returns
    -------
    Decisions

    Notes
    -----
    In the 2PL the posterior depends on the responses through the weighted score w = sum a_j x_j, and its mean rises with w: the
    level is l where w lies between two thresholds (see :func:`psychoedu.standard_setting.weighted_scores.score_thresholds`), and
    the distribution of w at each ability is a convolution. Consistency is that of two administrations to one person.
    """
    thresholds = score_thresholds(discrimination, intercept, cuts, *prior)
    step = 1024
    tails = [
        weighted_score_tails(
            success_probability(theta[start : start + step], discrimination, intercept), discrimination, thresholds
        )
        for start in range(0, len(theta), step)
    ]
    edge = np.ones((len(theta), 1))
    return given_ability(theta, weights, cuts, -np.diff(np.hstack([edge, np.concatenate(tails), 0.0 * edge]), axis=1))


def given_ability(theta: FloatArray, weights: FloatArray, cuts: FloatArray, assigned: FloatArray) -> Decisions:
    """Return the decisions where ability is known and levels are assigned with known probabilities, (Q, L + 1)."""
    true = np.eye(len(cuts) + 1)[assign_levels(theta, cuts)]
    table, repeated = cross_table(true, assigned, weights), cross_table(assigned, assigned, weights)
    return Decisions(table, repeated, (true * assigned).sum(axis=1), (assigned**2).sum(axis=1))
