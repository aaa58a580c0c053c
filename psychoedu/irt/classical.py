"""Classical item analysis of dichotomous responses, as plain arrays.

Everything but alpha with missing cells follows from one table: how many respondents (by weight) with a right answers out of b
administered items saw item j, and how many of them had it right. One pass over the data in blocks of rows makes the table, so
that the cost is O(N J) and no copy of the data is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from psychoedu._typing import AnyArray, BoolArray, CodeArray, FloatArray, IntArray

TAIL = 0.27
"""Share of respondents in the upper and in the lower group (Kelley, 1939)."""

MINIMUM_PAIR_SHARE = 0.05
"""With missing cells, alpha is given only if every two items were answered together by this share of the respondents."""

_BLOCK_CELLS = 400_000  # cells of a block of rows, or of a block of the table: 3.2 MB in float64
_ZERO_VARIANCE = 1e-14  # proportions vary by more than this if they vary at all, up to a million respondents and 1,000 items


@dataclass(frozen=True, eq=False)
class ClassicalItems:
    """Classical statistics, one entry per item in the order of the columns; nan where a statistic does not exist.

    Parameters
    ----------
    p_value : ndarray of shape (J,)
        Proportion right among the respondents who have a score on the item.
    point_biserial : ndarray of shape (J,)
        Corrected point-biserial: correlation of the item with the proportion right on the respondent's other items.
    discrimination_index : ndarray of shape (J,)
        Proportion right in the upper 27% minus that in the lower 27%.
    n : ndarray of shape (J,)
        Number of respondents with a score on the item (sum of their weights).
    alpha : float
        Coefficient alpha of all items, nan if it cannot be computed.
    alpha_if_deleted : ndarray of shape (J,)
        Coefficient alpha of the other items.
    alpha_reason : str
        Why alpha is nan; empty if it is a number.
    """

    p_value: FloatArray
    point_biserial: FloatArray
    discrimination_index: FloatArray
    n: FloatArray
    alpha: float
    alpha_if_deleted: FloatArray
    alpha_reason: str


@dataclass(frozen=True, eq=False)
class _Levels:
    """Respondents by (number right, number administered), in the order of the proportion right."""

    level: IntArray  # (N,) index of each respondent's level, in 0..K-1
    right: FloatArray  # (K,)
    administered: FloatArray  # (K,)
    weight: FloatArray  # (K,)
    weights: FloatArray | None  # (N,), None if all are 1
    complete: bool  # every respondent with data has a score on every item


def item_statistics(scored: CodeArray, weights: FloatArray | None = None, alpha: bool = True) -> ClassicalItems:
    """Compute classical item statistics.

    Parameters
    ----------
    scored : int8 array of shape (N, J)
        1 right, 0 wrong, negative without a score.
    weights : array of shape (N,), optional
        Non-negative weights; integer weights give what repeated rows give, weight 0 what leaving the row out gives.
    alpha : bool, default True
        Whether to compute alpha and alpha if deleted; with missing cells these cost O(N J^2), everything else O(N J).

    Returns
    -------
    ClassicalItems

    Notes
    -----
    *Corrected point-biserial.* The Pearson correlation of x_ij with (T_i - x_ij) / (m_i - 1), where T_i is the number right and
    m_i the number of scored items of respondent i. With complete data the divisor is a constant, so this is the textbook
    correlation with the rest score. With items missing by design the proportion, unlike the sum, does not mistake a longer form
    for a better respondent; it does not correct for forms of different difficulty, which is what a calibration is for.
    Respondents without another item are left out. nan for an item without variance.

    *Discrimination index.* Among the respondents with a score on the item, ranked by proportion right on all their items (the
    item included, as usual), each tail holds exactly 27% of the weight: respondents tied at the border all enter with the same
    fraction. The index therefore does not depend on the order of the rows. 0 for an item that all have right or all have wrong.

    *Alpha.* See :func:`coefficient_alpha`.

    References
    ----------
    Kelley, T. L. (1939). The selection of upper and lower groups for the validation of test items. *Journal of Educational
    Psychology, 30*, 17-24. Lord, F. M., & Novick, M. R. (1968). *Statistical theories of mental test scores*, section 15.4.

    Examples
    --------
    >>> import numpy as np
    >>> scored = np.array([[1, 1, 1], [1, 1, 0], [1, 0, 0], [0, 0, 0]], dtype=np.int8)
    >>> statistics = item_statistics(scored)
    >>> statistics.p_value
    array([0.75, 0.5 , 0.25])
    >>> statistics.point_biserial.round(4)
    array([0.5222, 0.7071, 0.5222])
    >>> round(statistics.alpha, 4)
    0.75
    """
    levels = _levels(scored, weights)
    n_items = scored.shape[1]
    p_value, biserial, index, seen_weight = (np.full(n_items, np.nan) for _ in range(4))
    covariance = np.full(n_items, np.nan)
    for columns, seen, right in _tables(scored, levels):
        seen_weight[columns] = seen.sum(axis=0)
        p_value[columns] = _ratio(right.sum(axis=0), seen_weight[columns])
        biserial[columns] = _point_biserial(levels, seen, right)
        index[columns] = _discrimination_index(levels, seen, right)
        covariance[columns] = _covariance_with_total(levels, right)
    value, deleted, reason = np.nan, np.full(n_items, np.nan), "alpha was not asked for"
    if alpha:
        value, deleted, reason = _alpha(scored, levels, p_value, covariance)
    return ClassicalItems(
        p_value=p_value,
        point_biserial=biserial,
        discrimination_index=index,
        n=seen_weight,
        alpha=value,
        alpha_if_deleted=deleted,
        alpha_reason=reason,
    )


def coefficient_alpha(scored: CodeArray, weights: FloatArray | None = None) -> float:
    """Compute coefficient alpha (for 0/1 items, Kuder and Richardson's formula 20).

    Parameters
    ----------
    scored : int8 array of shape (N, J)
        1 right, 0 wrong, negative without a score.
    weights : array of shape (N,), optional
        Non-negative weights.

    Returns
    -------
    float
        nan if alpha does not exist; ``item_statistics(...).alpha_reason`` says why.

    Notes
    -----
    alpha = J / (J - 1) (1 - sum_j V_jj / sum_jk V_jk), V the covariance matrix of the items. With missing cells V holds pairwise
    covariances, each from the respondents who have both items. Items that (nearly) nobody answered together, as in two forms with
    common items, have no covariance: alpha is then nan, and alpha of each form is what to report. Variances divide by the sum of
    weights, not by that less 1; with complete data this cancels.

    References
    ----------
    Cronbach, L. J. (1951). Coefficient alpha and the internal structure of tests. *Psychometrika, 16*, 297-334.

    Examples
    --------
    >>> import numpy as np
    >>> coefficient_alpha(np.array([[1, 1], [1, 1], [0, 0]], dtype=np.int8))
    1.0
    """
    levels = _levels(scored, weights)
    n_items = scored.shape[1]
    p_value, covariance = np.full(n_items, np.nan), np.full(n_items, np.nan)
    if levels.complete:
        for columns, seen, right in _tables(scored, levels):
            p_value[columns] = _ratio(right.sum(axis=0), seen.sum(axis=0))
            covariance[columns] = _covariance_with_total(levels, right)
    return _alpha(scored, levels, p_value, covariance)[0]


def _blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    step = max(1, _BLOCK_CELLS // max(1, n_columns))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def _levels(scored: CodeArray, weights: FloatArray | None) -> _Levels:
    n_rows, n_items = scored.shape
    right = np.empty(n_rows, dtype=np.int64)
    administered = np.empty(n_rows, dtype=np.int64)
    for rows in _blocks(n_rows, n_items):
        right[rows] = (scored[rows] == 1).sum(axis=1, dtype=np.int32)
        administered[rows] = (scored[rows] >= 0).sum(axis=1, dtype=np.int32)
    used = administered > 0
    checked = None if weights is None else np.asarray(weights, dtype=np.float64)
    if checked is not None:
        used &= checked > 0
    pairs, level = np.unique(right * (n_items + 1) + administered, return_inverse=True)
    pair_right, pair_administered = (part.astype(np.float64) for part in np.divmod(pairs, n_items + 1))
    order = np.argsort(_ratio(pair_right, pair_administered), kind="stable")  # nan (nothing administered) comes last
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    level = rank[level]
    weight = np.bincount(level, weights=checked, minlength=len(order)).astype(np.float64)
    weight[pair_administered[order] == 0] = 0.0
    complete = bool(np.all(administered[used] == n_items))
    return _Levels(level, pair_right[order], pair_administered[order], weight, checked, complete)


def _tables(scored: CodeArray, levels: _Levels) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
    """Yield, for blocks of columns, the weight seen and the weight right, each of shape (K, columns of the block)."""
    n_rows, n_items = scored.shape
    n_levels = len(levels.right)
    step = max(1, _BLOCK_CELLS // max(1, n_levels))
    for start in range(0, n_items, step):
        columns = slice(start, min(start + step, n_items))
        shape = (n_levels, columns.stop - columns.start)
        right = np.zeros(shape)
        seen = np.repeat(levels.weight[:, None], shape[1], axis=1) if levels.complete else np.zeros(shape)
        for rows in _blocks(n_rows, shape[1]):
            block = scored[rows, columns]
            indicator = _indicator(levels, rows)
            right += indicator @ (block == 1).astype(np.float64)
            if not levels.complete:
                seen += indicator @ (block >= 0).astype(np.float64)
        yield columns, seen, right


def _indicator(levels: _Levels, rows: slice) -> Any:
    """Return the (K, block) matrix with each respondent's weight in the row of their level."""
    n_rows = rows.stop - rows.start
    data = np.ones(n_rows) if levels.weights is None else levels.weights[rows]
    return csc_array((data, levels.level[rows], np.arange(n_rows + 1)), shape=(len(levels.right), n_rows))


def _ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Divide, with nan where the denominator is not positive."""
    result = np.full(np.broadcast(numerator, denominator).shape, np.nan)
    np.divide(numerator, denominator, out=result, where=np.asarray(denominator > 0))
    return result


def _point_biserial(levels: _Levels, seen: FloatArray, right: FloatArray) -> FloatArray:
    others = levels.administered - 1.0
    usable = (others > 0).astype(np.float64)
    inverse = usable / np.maximum(others, 1.0)
    centre = right.sum() / max(seen.sum(), 1e-300)  # centred sums keep the digits of the variance
    rest = inverse * (levels.right - centre * others)  # rest proportion of a respondent who has the item wrong
    shifted = rest - inverse  # the same for one who has it right
    count, sum_rest, square_rest = np.stack([usable, rest, rest**2]) @ (seen - right)
    count_right, sum_right, square_right = np.stack([usable, shifted, shifted**2]) @ right
    total = count + count_right
    mean_item, mean_rest = _ratio(count_right, total), _ratio(sum_rest + sum_right, total)
    variance_item = mean_item * (1.0 - mean_item)
    variance_rest = _ratio(square_rest + square_right, total) - mean_rest**2
    covariance = _ratio(sum_right, total) - mean_item * mean_rest
    varies = (variance_item > 0) & (variance_rest > _ZERO_VARIANCE)
    return _ratio(covariance, np.sqrt(np.where(varies, variance_item * variance_rest, 0.0)))


def _discrimination_index(levels: _Levels, seen: FloatArray, right: FloatArray) -> FloatArray:
    proportion = _ratio(levels.right, levels.administered)
    starts = np.flatnonzero(np.r_[True, proportion[1:] != proportion[:-1]])  # 1 of 2 ties with 2 of 4
    seen, right = np.add.reduceat(seen, starts, axis=0), np.add.reduceat(right, starts, axis=0)
    target = TAIL * seen.sum(axis=0)
    success = _ratio(right, seen)
    success[seen <= 0] = 0.0
    below = np.cumsum(seen, axis=0) - seen
    lower = (np.clip(target - below, 0.0, seen) * success).sum(axis=0)
    above = np.cumsum(seen[::-1], axis=0)[::-1] - seen
    upper = (np.clip(target - above, 0.0, seen) * success).sum(axis=0)
    return _ratio(upper - lower, target)


def _covariance_with_total(levels: _Levels, right: FloatArray) -> FloatArray:
    total = levels.weight.sum()
    if not levels.complete or total <= 0:
        return np.full(right.shape[1], np.nan)
    centred = levels.right - levels.weight @ levels.right / total
    covariance: FloatArray = centred @ right / total
    return covariance


def _alpha(scored: CodeArray, levels: _Levels, p_value: FloatArray, covariance: FloatArray) -> tuple[float, FloatArray, str]:
    """Return alpha, alpha if deleted and the reason why alpha is nan."""
    n_items = scored.shape[1]
    missing = np.full(n_items, np.nan)
    total_weight = levels.weight.sum()
    if n_items < 2:
        return np.nan, missing, "alpha needs two items"
    if total_weight <= 0:
        return np.nan, missing, "no respondent has a score"
    if levels.complete:
        variance = p_value * (1.0 - p_value)
        centred = levels.right - levels.weight @ levels.right / total_weight
        total_variance = float(levels.weight @ centred**2 / total_weight)
    else:
        pairwise, reason = _pairwise_covariance(scored, levels)
        if pairwise is None:
            return np.nan, missing, reason
        variance, covariance = np.diag(pairwise).copy(), pairwise.sum(axis=0)
        total_variance = float(pairwise.sum())
    rest_variance = total_variance + variance - 2.0 * covariance
    deleted = _alpha_from(n_items - 1, variance.sum() - variance, rest_variance)
    value = float(_alpha_from(n_items, variance.sum(), np.array(total_variance)))
    return value, deleted, "" if np.isfinite(value) else "the number right does not vary"


def _alpha_from(n_items: int, sum_of_variances: Any, total_variance: FloatArray) -> FloatArray:
    if n_items < 2:
        return np.full(np.shape(total_variance), np.nan)
    positive = np.where(total_variance > _ZERO_VARIANCE, total_variance, 0.0)
    return n_items / (n_items - 1.0) * (1.0 - _ratio(np.asarray(sum_of_variances), positive))


def _pairwise_covariance(scored: CodeArray, levels: _Levels) -> tuple[FloatArray | None, str]:
    n_rows, n_items = scored.shape
    both, right, product = (np.zeros((n_items, n_items)) for _ in range(3))
    for rows in _blocks(n_rows, n_items):
        # counts within a block are exact in float32, which halves the time; weights need float64
        kind: Any = np.float32 if levels.weights is None else np.float64
        item: AnyArray = (scored[rows] == 1).astype(kind)
        observed: AnyArray = (scored[rows] >= 0).astype(kind)
        weighted_item, weighted_observed = item, observed
        if levels.weights is not None:
            weighted_item, weighted_observed = item * levels.weights[rows, None], observed * levels.weights[rows, None]
        both += weighted_observed.T @ observed
        right += weighted_item.T @ observed  # [j, k]: weight of those with j right who have a score on k
        product += weighted_item.T @ item
    needed = MINIMUM_PAIR_SHARE * levels.weight.sum()
    scarce: BoolArray = both < max(needed, np.finfo(np.float64).tiny)
    if scarce.any():
        first, second = (int(index) + 1 for index in np.argwhere(np.triu(scarce))[0])
        reason = (
            f"{int(np.triu(scarce).sum())} pairs of items were answered together by fewer than {MINIMUM_PAIR_SHARE:.0%} of the "
            f"respondents (first: columns {first} and {second}); compute alpha for each form or group"
        )
        return None, reason
    return product / both - (right / both) * (right.T / both), ""
