"""First and second moments of dichotomous responses: observed, expected under a latent class model, and their covariance.

Moments are ordered: the J proportions right, then the J(J - 1)/2 proportions right on both items of a pair, in the order of
``numpy.triu_indices(J, 1)``. Every pair keeps its own count, so that cells may be missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from psychoedu._typing import BoolArray, CodeArray, FloatArray, IntArray

_BLOCK_ROWS = 4096


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Weighted counts of respondents by pairs of items; the diagonal belongs to the items alone.

    Parameters
    ----------
    n : ndarray, (J, J)
        With a score on both items.
    both : ndarray, (J, J)
        Right on both.
    right : ndarray, (J, J)
        ``right[i, j]``: right on i, with a score on both.
    complete : bool
        Whether every counted respondent has a score on every item.
    """

    n: FloatArray
    both: FloatArray
    right: FloatArray
    complete: bool


def pair_counts(scored: CodeArray, weights: FloatArray | None = None) -> PairCounts:
    """Count respondents by pairs of items.

    Parameters
    ----------
    scored : int8 array, (N, J)
        1 right, 0 wrong, negative without a score. Respondents without any score are not counted.
    weights : ndarray, (N,), optional
        Counts of equal rows; integer weights give what repeated rows give.

    Returns
    -------
    PairCounts

    Notes
    -----
    Cost O(N J^2).

    Examples
    --------
    >>> counts = pair_counts(np.array([[1, 1], [1, 0], [0, -1]], dtype=np.int8))
    >>> counts.n.tolist(), counts.right.tolist()
    ([[3.0, 2.0], [2.0, 2.0]], [[2.0, 2.0], [1.0, 1.0]])
    """
    n_items = scored.shape[1]
    n, both, right = (np.zeros((n_items, n_items)) for _ in range(3))
    complete = True
    for start in range(0, len(scored), _BLOCK_ROWS):
        block = scored[start : start + _BLOCK_ROWS]
        answered, correct = (block >= 0).astype(np.float64), (block == 1).astype(np.float64)
        weight = np.ones(len(block)) if weights is None else weights[start : start + _BLOCK_ROWS]
        counted = (answered.sum(axis=1) > 0) & (weight > 0)
        complete = complete and bool(answered[counted].all())
        weighted = correct * weight[:, None]
        n += (answered * weight[:, None]).T @ answered
        both += weighted.T @ correct
        right += weighted.T @ answered
    return PairCounts(n, both, right, complete)


def conditional_moments(success: FloatArray) -> FloatArray:
    """Return the moments of each profile, (J + J(J - 1)/2, L), from the success probabilities, (J, L).

    Examples
    --------
    >>> conditional_moments(np.array([[0.2, 0.9], [0.5, 0.5]])).round(2).tolist()
    [[0.2, 0.9], [0.5, 0.5], [0.1, 0.45]]
    """
    first, second = np.triu_indices(len(success), 1)
    return np.concatenate([success, success[first] * success[second]])


def observed_moments(counts: PairCounts) -> tuple[FloatArray, FloatArray]:
    """Return the observed moments and the count behind each; nan where nobody was counted."""
    pairs = np.triu_indices(len(counts.n), 1)
    n = np.concatenate([np.diag(counts.n), counts.n[pairs]])
    right = np.concatenate([np.diag(counts.both), counts.both[pairs]])
    proportion = np.full(n.shape, np.nan)
    np.divide(right, n, out=proportion, where=n > 0)
    return proportion, n


def moment_covariance(success: FloatArray, class_weights: FloatArray) -> FloatArray:
    """Return the covariance, under the model, of one respondent's items and products of pairs of items.

    Parameters
    ----------
    success : ndarray, (J, L)
        Probability right by item and profile.
    class_weights : ndarray, (L,)
        Probability of each profile.

    Returns
    -------
    ndarray, (M, M), M = J + J(J - 1)/2

    Notes
    -----
    E(y_a y_b) is the probability of right answers to all items of a and b together: sum over profiles of the product over the
    *union* of items, so that items which a and b share enter once. Cost O(M^2 L).
    """
    n_items = len(success)
    conditional = conditional_moments(success)
    expected = conditional @ class_weights
    joint = (conditional * class_weights) @ conditional.T
    position = _moment_positions(n_items)
    for item in range(n_items):
        shared = position[item]  # {item} alone at its own place, {item, other} elsewhere
        factors = success.copy()
        factors[item] = 1.0
        joint[np.ix_(shared, shared)] = (factors * (class_weights * success[item])) @ factors.T
    np.fill_diagonal(joint, expected)
    covariance: FloatArray = joint - np.outer(expected, expected)
    return covariance


def overlap(scored: CodeArray, weights: FloatArray | None, kept: BoolArray) -> FloatArray:
    """Return how many respondents have a score on all items of two moments, for every two of the kept moments.

    Parameters
    ----------
    scored : int8 array, (N, J)
    weights : ndarray, (N,), optional
    kept : bool array, (M,)
        Which of the moments.

    Returns
    -------
    ndarray, (M', M')

    Notes
    -----
    Respondents with the same cells missing are counted once: O(patterns x M'^2).
    """
    answered = scored >= 0
    packed = np.packbits(answered, axis=1)
    patterns, where = np.unique(packed, axis=0, return_inverse=True)
    count = np.bincount(where.ravel(), weights=weights, minlength=len(patterns)).astype(np.float64)
    present = np.unpackbits(patterns, axis=1, count=scored.shape[1]).astype(bool)
    first, second = np.triu_indices(scored.shape[1], 1)
    total = np.zeros((int(kept.sum()), int(kept.sum())))
    step = max(1, 2**24 // max(1, kept.size))
    for start in range(0, len(present), step):
        block = present[start : start + step]
        indicator = np.concatenate([block, block[:, first] & block[:, second]], axis=1)[:, kept].astype(np.float64)
        total += (indicator * count[start : start + step, None]).T @ indicator
    return total


def moment_jacobian(
    success: FloatArray,
    class_weights: FloatArray,
    item_jacobian: Sequence[FloatArray],
    prior_jacobian: FloatArray,
) -> FloatArray:
    """Return the derivative of the expected moments in the parameters, items first.

    Parameters
    ----------
    success : ndarray, (J, L)
    class_weights : ndarray, (L,)
    item_jacobian : sequence of J arrays, (L, p_j)
        Derivative of an item's success probabilities in its own parameters.
    prior_jacobian : ndarray, (L, p_s)
        Derivative of the profile probabilities in the structural parameters.

    Returns
    -------
    ndarray, (M, p_1 + ... + p_J + p_s)
    """
    n_items = len(success)
    position = _moment_positions(n_items)
    blocks = []
    for item, own in enumerate(item_jacobian):
        block = np.zeros((n_items * (n_items + 1) // 2, own.shape[1]))
        factors = success.copy()
        factors[item] = 1.0
        block[position[item]] = (factors * class_weights) @ own
        blocks.append(block)
    return np.concatenate([*blocks, conditional_moments(success) @ prior_jacobian], axis=1)


def _moment_positions(n_items: int) -> IntArray:
    """Return the place of moment {i, j} in the order of moments, and of {i} on the diagonal, (J, J)."""
    place = np.zeros((n_items, n_items), dtype=np.int64)
    first, second = np.triu_indices(n_items, 1)
    place[first, second] = n_items + np.arange(first.size)
    place += place.T
    np.fill_diagonal(place, np.arange(n_items))
    return place
