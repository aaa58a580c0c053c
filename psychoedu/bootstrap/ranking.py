"""Ranks of models from scores, ties and all: mid-ranks, how often each rank occurs, and which group is lowest for whom.

Scores are (..., M) arrays, the last axis holding the models; the highest score has rank 1. Two scores tie if they differ by at
most ``tie``, so that sums in another order of addition do not break ties.
"""

from __future__ import annotations

import numpy as np

from psychoedu._typing import BoolArray, FloatArray, IntArray


def tie_spans(scores: FloatArray, tie: float = 0.0) -> tuple[IntArray, IntArray]:
    """Return the first and last place, 0 the best, that the models tied with each one take, (..., M) each.

    Parameters
    ----------
    scores : (..., M) array
    tie : float
        Largest difference between neighbours that counts as none.

    Examples
    --------
    >>> first, last = tie_spans(np.array([0.5, 0.9, 0.5, 0.1]))
    >>> first.tolist(), last.tolist()
    ([1, 0, 1, 3], [2, 0, 2, 3])
    """
    order = np.argsort(-scores, axis=-1, kind="stable")
    ordered = np.take_along_axis(scores, order, axis=-1)
    n = scores.shape[-1]
    place = np.arange(n, dtype=np.int64)
    breaks = ordered[..., :-1] - ordered[..., 1:] > tie
    edge = np.ones((*scores.shape[:-1], 1), dtype=np.bool_)
    opens, closes = np.concatenate([edge, breaks], axis=-1), np.concatenate([breaks, edge], axis=-1)
    starts = np.maximum.accumulate(np.where(opens, place, 0), axis=-1)
    ends = np.flip(np.minimum.accumulate(np.flip(np.where(closes, place, n), -1), axis=-1), -1)
    first, last = np.empty_like(starts), np.empty_like(ends)
    np.put_along_axis(first, order, starts, axis=-1)
    np.put_along_axis(last, order, ends, axis=-1)
    return first, last


def mid_ranks(scores: FloatArray, tie: float = 0.0) -> FloatArray:
    """Return ranks from 1 (highest score), tied models sharing the mean of the places that they take, (..., M).

    Examples
    --------
    >>> mid_ranks(np.array([0.5, 0.9, 0.5, 0.1])).tolist()
    [2.5, 1.0, 2.5, 4.0]
    """
    first, last = tie_spans(scores, tie)
    found: FloatArray = (first + last) / 2.0 + 1.0
    return found


def rank_shares(scores: FloatArray, tie: float = 0.0) -> FloatArray:
    """Return how often each model has each rank, (M, M), from scores of B resamples, (B, M).

    Notes
    -----
    Models that tie share the ranks that they take equally, as if ties were broken at random; so that rows and columns both sum
    to 1.
    """
    first, last = tie_spans(scores, tie)
    n = scores.shape[1]
    share = (1.0 / (last - first + 1.0)).ravel()
    start = np.arange(n, dtype=np.int64) * (n + 1)
    # +share from the first place on, -share after the last: the cumulative sum holds what stands between
    steps = np.bincount((start + first).ravel(), weights=share, minlength=n * (n + 1))
    steps -= np.bincount((start + last + 1).ravel(), weights=share, minlength=n * (n + 1))
    found: FloatArray = np.maximum(np.cumsum(steps.reshape(n, n + 1), axis=1)[:, :n] / len(scores), 0.0)
    return found


def shares_above(ranks: FloatArray) -> FloatArray:
    """Return how often the model of each row ranks above that of each column, ties counting half, (M, M); nan against itself."""
    n = ranks.shape[1]
    found = np.full((n, n), np.nan)
    for own in range(n - 1):
        mine, other = ranks[:, own : own + 1], ranks[:, own + 1 :]
        halves = 2 * np.count_nonzero(mine < other, axis=0) + np.count_nonzero(mine == other, axis=0)
        found[own, own + 1 :] = halves / (2 * len(ranks))
        found[own + 1 :, own] = (2 * len(ranks) - halves) / (2 * len(ranks))
    return found


def attained_limits(values: FloatArray, confidence_level: float) -> FloatArray:
    """Return percentile limits that are values of the resamples, (2, ...), and hold at least the level between them.

    Examples
    --------
    >>> attained_limits(np.array([1.0, 1.0, 2.0, 3.0]), 0.5).tolist()
    [1.0, 3.0]
    """
    tail = (1.0 - confidence_level) / 2.0
    return np.stack([np.quantile(values, tail, axis=0, method="lower"), np.quantile(values, 1.0 - tail, axis=0, method="higher")])


def simultaneous_ranks(estimate: FloatArray, resamples: FloatArray, confidence_level: float, tie: float = 0.0) -> IntArray:
    """Return ranks that hold for all models at once, (2, M), from simultaneous intervals of all differences.

    Parameters
    ----------
    estimate : (M,) array
    resamples : (B, M) array
    confidence_level : float
    tie : float

    Notes
    -----
    Model i is surely above j if the difference exceeds c times its standard error, c the quantile of the largest absolute
    studentised difference over all pairs (max-t). Its rank lies between 1 + the number of models surely above it and M - the
    number surely below. If the intervals of the differences hold at once, so do the ranks, whether or not models tie.

    References
    ----------
    Klein, M., Wright, T., & Wieczorek, J. (2020). A joint confidence region for an overall ranking of populations. *Journal of
    the Royal Statistical Society C, 69*, 589-606. Mogstad, M., Romano, J. P., Shaikh, A. M., & Wilhelm, D. (2024). Inference
    for ranks with applications to mobility across neighbourhoods and academic achievement across countries. *Review of Economic
    Studies, 91*, 476-518.
    """
    n = len(estimate)
    largest = np.zeros(len(resamples))
    error = np.zeros((n, n))
    for own in range(n - 1):
        difference = resamples[:, own : own + 1] - resamples[:, own + 1 :]
        spread = difference.std(axis=0, ddof=1)
        spread[spread <= tie] = 0.0
        error[own, own + 1 :] = error[own + 1 :, own] = spread
        moved = np.abs(difference - (estimate[own] - estimate[own + 1 :]))[:, spread > 0.0] / spread[spread > 0.0]
        if moved.size:
            np.maximum(largest, moved.max(axis=1), out=largest)
    critical = float(np.quantile(largest, confidence_level))
    above = estimate[:, None] - estimate[None, :] > np.maximum(critical * error, tie)
    return np.stack([1 + above.sum(axis=0), n - above.sum(axis=1)]).astype(np.int64)


def lowest(scores: FloatArray, tie: float = 0.0) -> tuple[BoolArray, BoolArray]:
    """Return for every model which groups have its lowest score, and which have it alone, (..., G, M) each.

    Parameters
    ----------
    scores : (..., G, M) array
        Of M models in G groups; nan where a model has none, which is then not the lowest.

    Examples
    --------
    >>> at, alone = lowest(np.array([[0.2, 0.5], [0.7, 0.5]]))
    >>> at.tolist(), alone.tolist()
    ([[True, True], [False, True]], [[True, False], [False, False]])
    """
    least = np.min(np.where(np.isnan(scores), np.inf, scores), axis=-2, keepdims=True)
    at = scores <= least + tie
    return at, at & (at.sum(axis=-2, keepdims=True) == 1)
