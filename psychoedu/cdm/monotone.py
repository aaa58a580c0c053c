"""Success probabilities that never fall with another attribute mastered: isotonic regression on an item's patterns.

For binomial counts the maximum under a partial order is the weighted isotonic regression, and has the closed form
max over upper sets U of min over lower sets L, both holding the pattern, of right(U and L) / answered(U and L)
(Robertson, Wright & Dykstra, 1988, Order Restricted Statistical Inference, theorem 1.4.4).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from psychoedu._typing import BoolArray, FloatArray
from psychoedu.cdm.profiles import all_profiles

MOST_ATTRIBUTES = 4
"""With five attributes in an item there would be 7,581 upper sets."""
_NOTHING = 1e-12


@lru_cache(maxsize=8)
def upper_sets(n_attributes: int) -> BoolArray:
    """Return all non-empty upper sets of the patterns, (S, 2^K): with a pattern every one that masters more."""
    patterns = all_profiles(n_attributes)
    above = np.all(patterns[:, None, :] <= patterns[None, :, :], axis=2).tolist()  # row below or equal to column
    single: list[tuple[bool, ...]] = [tuple(bool(mark) for mark in row) for row in above]
    found = set(single)
    grown = set(found)
    while grown:
        new = {tuple(a or b for a, b in zip(one, other, strict=True)) for one in grown for other in single}
        grown = new - found
        found |= grown
    return np.array(sorted(found), dtype=bool)


def isotonic(right: FloatArray, answered: FloatArray, n_attributes: int) -> FloatArray:
    """Return the isotonic success probabilities of items of one kind.

    Parameters
    ----------
    right, answered : (m, 2^K) arrays
        Expected numbers by pattern.
    n_attributes : int

    Returns
    -------
    (m, 2^K) array

    Examples
    --------
    >>> isotonic(np.array([[5.0, 2.0, 6.0, 9.0]]), np.full((1, 4), 10.0), 2).tolist()
    [[0.35, 0.35, 0.6, 0.9]]
    """
    ups = upper_sets(n_attributes)
    lows = np.vstack([~ups[~ups.all(axis=1)], np.ones((1, ups.shape[1]), dtype=bool)])
    best = np.full(right.shape, -np.inf)
    for up in ups:
        both = (lows & up).astype(np.float64)
        share = (right @ both.T) / np.maximum(answered @ both.T, _NOTHING)
        for cell in np.flatnonzero(up):
            best[:, cell] = np.maximum(best[:, cell], share[:, lows[:, cell]].min(axis=1))
    return best


def violates(probability: FloatArray, n_attributes: int) -> bool:
    """Return whether a probability falls with another attribute mastered, in any of the items (m, 2^K)."""
    patterns = all_profiles(n_attributes)
    below = (patterns[:, None, :] <= patterns[None, :, :]).all(axis=2)
    return bool(((probability[:, :, None] > probability[:, None, :] + 1e-12) & below).any())


def pooled(probability: FloatArray, n_attributes: int) -> BoolArray:
    """Return which patterns share their probability with one above or below, (m, 2^K): the order holds them there."""
    patterns = all_profiles(n_attributes)
    ordered = (patterns[:, None, :] <= patterns[None, :, :]).all(axis=2)
    ordered = (ordered | ordered.T) & ~np.eye(len(patterns), dtype=bool)
    equal = np.abs(probability[:, :, None] - probability[:, None, :]) <= 1e-10
    return np.asarray((equal & ordered).any(axis=2), dtype=bool)
