"""Attribute profiles: their order, their labels, and what an item sees of them.

Profiles are ordered by the number of mastered attributes, then by the positions of the mastered ones, as in R's GDINA: for three
attributes 000, 100, 010, 001, 110, 101, 011, 111.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from psychoedu._typing import IntArray

ProfileArray = NDArray[np.int8]


def all_profiles(n_attributes: int) -> ProfileArray:
    """Return all profiles of K attributes, (2^K, K) of 0 and 1.

    Examples
    --------
    >>> profile_labels(all_profiles(3))
    ['000', '100', '010', '001', '110', '101', '011', '111']
    """
    alpha = np.zeros((2**n_attributes, n_attributes), dtype=np.int8)
    row = 0
    for size in range(n_attributes + 1):
        for mastered in combinations(range(n_attributes), size):
            alpha[row, list(mastered)] = 1
            row += 1
    return alpha


def profile_labels(alpha: ProfileArray) -> list[str]:
    """Return each profile as a string of 0 and 1 in the attributes' order."""
    digits = np.array(["0", "1"])
    return ["".join(digits[row]) for row in alpha]


def reduced_index(q_row: ProfileArray, alpha: ProfileArray) -> IntArray:
    """Return, for every profile, the position of what an item sees of it among the item's own 2^K_j patterns.

    Parameters
    ----------
    q_row : (K,) array
        1 for the attributes that the item requires.
    alpha : (L, K) array

    Returns
    -------
    (L,) int array

    Examples
    --------
    >>> reduced_index(np.array([1, 0, 1], dtype=np.int8), all_profiles(3)).tolist()
    [0, 1, 0, 2, 1, 3, 2, 3]
    """
    required = np.flatnonzero(q_row)
    weights = 2 ** np.arange(required.size)
    own = all_profiles(required.size)
    position = np.empty(2**required.size, dtype=np.int64)
    position[own @ weights] = np.arange(len(own))
    index: IntArray = position[alpha[:, required] @ weights]
    return index
