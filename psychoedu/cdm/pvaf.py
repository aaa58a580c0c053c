"""Q-matrix validation by the discrimination index: proportion of variance accounted for, its cuts, and Hull.

A q-vector is one of the 2^K - 1 sets of attributes that an item may require, in the order of profiles (all-zero left out). Its
discrimination index is the variance, over profiles, of the success probability once profiles are merged that agree on its
attributes; PVAF is that variance over the variance with all attributes.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit

from psychoedu._typing import CodeArray, FloatArray, IntArray
from psychoedu.cdm.profiles import ProfileArray, reduced_index

FIXED_CUT = 0.95
_NO_CASES = 1e-10
_NO_VARIANCE = 1e-12


def class_probabilities(
    scored: CodeArray, posterior: FloatArray, weights: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return success probabilities by item and profile, with no Q-matrix between them, and expected counts, (J, L) each.

    Notes
    -----
    (R + 1e-10) / (I + 2e-10), R the expected number right and I that of respondents with a score: 1/2 for an empty profile.
    """
    own = posterior if weights is None else posterior * weights[:, None]
    right = (scored == 1).astype(np.float64).T @ own
    count = (scored >= 0).astype(np.float64).T @ own
    return (right + _NO_CASES) / (count + 2.0 * _NO_CASES), count


def discrimination_index(probability: FloatArray, class_weights: FloatArray, alpha: ProfileArray) -> FloatArray:
    """Return the discrimination index (varsigma squared) of every q-vector, (J, 2^K - 1).

    Parameters
    ----------
    probability : ndarray, (J, L)
        Success probabilities by item and profile.
    class_weights : ndarray, (L,)
        Probability of each profile.
    alpha : ndarray, (L, K)
        All profiles; their order, without the first, is that of the q-vectors.

    Notes
    -----
    Cost O(2^K L J).

    References
    ----------
    de la Torre, J., & Chiu, C.-Y. (2016). A general method of empirical Q-matrix validation. *Psychometrika, 81*, 253-273.
    """
    weighted = probability * class_weights
    centre = weighted.sum(axis=1)
    index = np.empty((len(probability), len(alpha) - 1))
    for place, q_vector in enumerate(alpha[1:]):
        group = reduced_index(q_vector, alpha)
        order = np.argsort(group, kind="stable")
        starts = np.flatnonzero(np.diff(group[order], prepend=-1))
        mass = np.add.reduceat(class_weights[order], starts)
        total = np.add.reduceat(weighted[:, order], starts, axis=1)
        held = mass > 0
        index[:, place] = ((total[:, held] - centre[:, None] * mass[held]) ** 2 / mass[held]).sum(axis=1)
    return index


def pvaf(index: FloatArray) -> FloatArray:
    """Return the proportion of variance accounted for (PVAF), (J, 2^K - 1); nan for an item that tells no profiles apart."""
    full = index[:, -1:]
    proportion = np.full(index.shape, np.nan)
    np.divide(index, full, out=proportion, where=full > _NO_VARIANCE)
    return proportion


def best_by_size(proportion: FloatArray, sizes: IntArray) -> IntArray:
    """Return, for 1 to K attributes, the place of the q-vector with the largest PVAF (the first of equals), (J, K)."""
    best = np.empty((len(proportion), int(sizes.max())), dtype=np.int64)
    for size in range(1, best.shape[1] + 1):
        among = np.flatnonzero(sizes == size)
        best[:, size - 1] = among[np.argmax(np.nan_to_num(proportion[:, among], nan=-1.0), axis=1)]
    return best


def suggest_by_cut(proportion: FloatArray, sizes: IntArray, cut: float) -> IntArray:
    """Return the place of the smallest q-vector with a PVAF above a cut, (J,); -1 where PVAF does not exist.

    Notes
    -----
    Of q-vectors with as many attributes, the one with the largest PVAF. All attributes account for 1, so one is always found.
    """
    best = best_by_size(proportion, sizes)
    value = np.take_along_axis(proportion, best, axis=1)
    above = value > cut
    above[:, -1] = True
    place = best[np.arange(len(best)), np.argmax(above, axis=1)]
    return np.where(np.isnan(proportion[:, -1]), -1, place)


def predicted_cut(item_quality: float, n_respondents: float, n_items: int) -> float:
    """Return the cut of PVAF predicted from item quality, sample size and test length.

    Parameters
    ----------
    item_quality : float
        Mean over items of P(all required attributes) - P(none).
    n_respondents : float
    n_items : int

    Notes
    -----
    Inverse logit of -0.4045 + 2.8668 item quality + 4.8405e-4 N - 3.3156e-3 J, a regression on simulations with N from 500 to
    2,000: beyond them it extrapolates (towards 1 as N grows).

    References
    ----------
    Nájera, P., Sorrel, M. A., & Abad, F. J. (2019). Reconsidering cutoff points in the general method of empirical Q-matrix
    validation. *Educational and Psychological Measurement, 79*, 727-753.

    Examples
    --------
    >>> round(predicted_cut(0.5, 1000, 30), 4)
    0.8043
    """
    return float(
        expit(
            -0.4045140782147791
            + 2.8667570118638275 * item_quality
            + 4.8404850955032684e-4 * n_respondents
            - 0.003315555999671906 * n_items
        )
    )


def hull(best_proportion: FloatArray) -> FloatArray:
    """Return Hull's index of each number of attributes, nan for those off the hull, (K,).

    Parameters
    ----------
    best_proportion : ndarray, (K,)
        The largest PVAF with 1 to K attributes.

    Returns
    -------
    ndarray, (K,)
        st_k = [(f_k - f_prev) / (p_k - p_prev)] / [(f_next - f_k) / (p_next - p_k)], f being PVAF, p = 2^k parameters and
        (0, 0) the start; neighbours are those on the upper convex hull. If only the start and the end are on it, K gets 1.

    References
    ----------
    Nájera, P., Sorrel, M. A., de la Torre, J., & Abad, F. J. (2021). Balancing fit and parsimony to improve Q-matrix validation.
    *British Journal of Mathematical and Statistical Psychology, 74*(S1), 110-130.

    Examples
    --------
    >>> hull(np.array([0.6, 0.96, 1.0])).round(2).tolist()
    [1.67, 18.0, nan]
    """
    n_attributes = len(best_proportion)
    x = np.concatenate([[0.0], 2.0 ** np.arange(1, n_attributes + 1)])
    y = np.concatenate([[0.0], best_proportion])
    on: list[int] = []
    for point in range(n_attributes + 1):
        while len(on) >= 2 and _slope(x, y, on[-2], on[-1]) < _slope(x, y, on[-2], point):
            on.pop()
        on.append(point)
    index = np.full(n_attributes, np.nan)
    for left, middle, right in zip(on, on[1:], on[2:], strict=False):
        after = _slope(x, y, middle, right)
        index[middle - 1] = _slope(x, y, left, middle) / after if after > 0.0 else math.inf
    if len(on) == 2:
        index[-1] = 1.0
    return index


def suggest_by_hull(proportion: FloatArray, sizes: IntArray) -> tuple[IntArray, FloatArray]:
    """Return the place of the q-vector that Hull selects, (J,), -1 where PVAF does not exist; and Hull's index, (J, K)."""
    best = best_by_size(proportion, sizes)
    place = np.full(len(proportion), -1, dtype=np.int64)
    index = np.full(best.shape, np.nan)
    for item in np.flatnonzero(np.isfinite(proportion[:, -1])):
        index[item] = hull(proportion[item, best[item]])
        place[item] = best[item, int(np.nanargmax(index[item]))]
    return place, index


def _slope(x: FloatArray, y: FloatArray, left: int, right: int) -> float:
    return float((y[right] - y[left]) / (x[right] - x[left]))
