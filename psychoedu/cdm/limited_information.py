"""Limited-information fit of a latent class model: M2 and RMSEA2.

Both compare first and second moments of the responses with what the model expects of them; see :mod:`psychoedu.cdm.moments` for
their order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, solve_triangular, svd
from scipy.optimize import brentq
from scipy.stats import chi2, ncx2

from psychoedu._typing import BoolArray, CodeArray, FloatArray
from psychoedu.cdm.moments import (
    PairCounts,
    conditional_moments,
    moment_covariance,
    moment_jacobian,
    observed_moments,
    overlap,
    pair_counts,
)
from psychoedu.cdm.pair_fit import MINIMUM_JOINT, short_pairs_text

MAX_MOMENTS = 9000
"""More moments than this (133 items) would need more than 2 GB for their covariance."""

_RANK_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class LimitedInformation:
    """M2 and what follows from it; nan with an entry in ``reasons`` where an index does not exist.

    Parameters
    ----------
    m2, df, p_value : float
        The statistic, its degrees of freedom (moments minus rank of the jacobian) and the upper tail of the chi-square.
    rmsea2, rmsea2_low, rmsea2_high : float
        sqrt(max((M2 - df) / (N df), 0)) and its interval.
    n : float
        Respondents with any score (sum of weights): the N of RMSEA2.
    n_moments, n_parameters, rank : int
        Moments used; columns of the jacobian; how many of them the moments tell apart.
    reasons : dict
        Index to why it does not exist.
    notes : tuple of str
        What a reader has to know about those that exist.
    """

    m2: float
    df: float
    p_value: float
    rmsea2: float
    rmsea2_low: float
    rmsea2_high: float
    n: float
    n_moments: int
    n_parameters: int
    rank: int
    reasons: dict[str, str]
    notes: tuple[str, ...]


def m2_statistic(
    scored: CodeArray,
    weights: FloatArray | None,
    success: FloatArray,
    class_weights: FloatArray,
    item_jacobian: Sequence[FloatArray],
    prior_jacobian: FloatArray,
    *,
    minimum_joint: float = MINIMUM_JOINT,
    drop_short_pairs: bool = False,
    confidence_level: float = 0.90,
) -> LimitedInformation:
    """Compute M2 with RMSEA2.

    Parameters
    ----------
    scored : int8 array, (N, J)
        1 right, 0 wrong, negative without a score.
    weights : ndarray, (N,), optional
        Counts of equal rows.
    success : ndarray, (J, L)
        Probability right by item and profile.
    class_weights : ndarray, (L,)
        Profile probabilities: of the model, or the mean posterior (which R's GDINA takes).
    item_jacobian : sequence of J arrays, (L, p_j)
        Derivative of an item's success probabilities in its own parameters.
    prior_jacobian : ndarray, (L, p_s)
        Derivative of the model's profile probabilities in the structural parameters.
    minimum_joint : float, default 200
        With missing cells: the least count behind a moment.
    drop_short_pairs : bool, default False
        With missing cells: leave moments with a smaller count out, instead of refusing.
    confidence_level : float, default 0.90
        Of the interval of RMSEA2.

    Returns
    -------
    LimitedInformation

    Notes
    -----
    With residuals d of the moments, their covariance G and the jacobian D, M2 = d' (G^-1 - G^-1 D (D' G^-1 D)^- D' G^-1) d.
    With complete data G is the covariance of one respondent's moments over N, which is M2 as published. With missing cells each
    moment has its own count n_a, and G_ab is that covariance times n_ab / (n_a n_b), n_ab being the respondents with a score on
    all items of both: the same limiting distribution, by the same argument, if which cells are missing has nothing to do with
    the profiles (completely at random, or forms dealt at random; forms for different populations show as misfit). R's GDINA
    instead weights each pair as N. Cost O(M^3), M = J(J + 1)/2.

    References
    ----------
    Maydeu-Olivares, A., & Joe, H. (2006). Limited information goodness-of-fit testing in multidimensional contingency tables.
    *Psychometrika, 71*, 713-732. Hansen, M., Cai, L., Monroe, S., & Li, Z. (2016). Limited-information goodness-of-fit testing
    of diagnostic classification item response models. *British Journal of Mathematical and Statistical Psychology, 69*, 225-252.
    Liu, Y., Tian, W., & Xin, T. (2016). An application of M2 statistic to evaluate the fit of cognitive diagnostic models.
    *Journal of Educational and Behavioral Statistics, 41*, 3-26.
    """
    counts = pair_counts(scored, weights)
    counted = (scored >= 0).any(axis=1)
    n = float(counted.sum() if weights is None else weights[counted].sum())
    proportion, n_moment = observed_moments(counts)
    n_parameters = sum(own.shape[1] for own in item_jacobian) + prior_jacobian.shape[1]
    enough = n_moment >= (minimum_joint if not counts.complete else 1)
    kept = enough if drop_short_pairs else np.ones(enough.shape, dtype=bool)
    notes = _notes_on_counts(counts, enough, drop_short_pairs, minimum_joint)
    reason = _refusal(counts, enough, drop_short_pairs, minimum_joint, int(kept.sum()), n_parameters)
    if reason:
        return undefined(reason, n, int(kept.sum()), n_parameters, notes)
    residual = (proportion - conditional_moments(success) @ class_weights)[kept]
    covariance = moment_covariance(success, class_weights)[np.ix_(kept, kept)]
    if counts.complete:
        covariance /= n
    else:
        covariance *= overlap(scored, weights, kept) / np.outer(n_moment[kept], n_moment[kept])
    jacobian = moment_jacobian(success, class_weights, item_jacobian, prior_jacobian)[kept]
    try:
        m2, rank = _projected(residual, covariance, jacobian)
    except LinAlgError:
        reason = "the model's covariance of the moments is singular (probabilities of 0 or 1)"
        return undefined(reason, n, int(kept.sum()), n_parameters, notes)
    df = int(kept.sum()) - rank
    if rank < n_parameters:
        notes.append(f"the moments tell {rank} of {n_parameters} parameters apart; df counts those")
    if df < 1:
        reason = f"no degrees of freedom: {int(kept.sum())} moments, of which {rank} are taken by the parameters"
        return undefined(reason, n, int(kept.sum()), n_parameters, notes, rank)
    low, high = rmsea_interval(m2, df, n, confidence_level)
    return LimitedInformation(
        m2=m2,
        df=float(df),
        p_value=float(chi2.sf(m2, df)),
        rmsea2=math.sqrt(max(m2 - df, 0.0) / (n * df)),
        rmsea2_low=low,
        rmsea2_high=high,
        n=n,
        n_moments=int(kept.sum()),
        n_parameters=n_parameters,
        rank=rank,
        reasons={},
        notes=tuple(notes),
    )


def undefined(
    reason: str, n: float, n_moments: int, n_parameters: int, notes: Sequence[str] = (), rank: int = 0
) -> LimitedInformation:
    """Return a result without numbers, with the reason beside each index."""
    nan = math.nan
    reasons = dict.fromkeys(("m2", "df", "p_value", "rmsea2"), reason)
    return LimitedInformation(nan, nan, nan, nan, nan, nan, n, n_moments, n_parameters, rank, reasons, tuple(notes))


def rmsea_interval(statistic: float, df: float, n: float, confidence_level: float = 0.90) -> tuple[float, float]:
    """Return the interval of RMSEA = sqrt(lambda / (n df)) from the non-central chi-square with non-centrality lambda.

    Notes
    -----
    The bounds are those lambda for which the statistic is at the upper and at the lower (1 - confidence_level) / 2 tail; 0 where
    no lambda reaches it. The divisor is N df, as in R's GDINA (mirt: (N - 1) df).

    Examples
    --------
    >>> low, high = rmsea_interval(511.222861483547, 326, 2922)
    >>> round(low, 6), round(high, 6)
    (0.011582, 0.01622)
    """
    tail = (1.0 - confidence_level) / 2.0
    bounds = []
    for level in (1.0 - tail, tail):
        if chi2.cdf(statistic, df) <= level:
            bounds.append(0.0)
            continue
        top = max(statistic, 1.0)
        while ncx2.cdf(statistic, df, top) > level:
            top *= 2.0
        root = brentq(lambda value, at=level: float(ncx2.cdf(statistic, df, value)) - at, 1e-12, top, xtol=1e-12 * top)
        bounds.append(math.sqrt(float(root) / (n * df)))
    return bounds[0], bounds[1]


def _projected(residual: FloatArray, covariance: FloatArray, jacobian: FloatArray) -> tuple[float, int]:
    """Return the squared length of the whitened residual outside the span of the jacobian, and the rank of the latter."""
    factor, _ = cho_factor(covariance, lower=True)
    white = solve_triangular(factor, np.column_stack([residual, jacobian]), lower=True)
    target, columns = white[:, 0], white[:, 1:]
    length = np.linalg.norm(columns, axis=0)
    columns = columns[:, length > 0] / length[length > 0]
    if not columns.shape[1]:
        return float(target @ target), 0
    basis, values, _ = svd(columns, full_matrices=False)
    rank = int((values > _RANK_TOLERANCE * values[0]).sum())
    outside = target - basis[:, :rank] @ (basis[:, :rank].T @ target)
    return float(outside @ outside), rank


def _refusal(counts: PairCounts, enough: BoolArray, drop: bool, minimum_joint: float, n_moments: int, n_parameters: int) -> str:
    if not enough.all() and not drop:
        return short_pairs_text(int((~enough).sum()), enough.size, minimum_joint)
    if n_moments > MAX_MOMENTS:
        return f"{len(counts.n)} items have {n_moments:,} moments, whose covariance needs {8e-9 * n_moments**2 * 3:.0f} GB"
    if not n_moments:
        return "no moment has enough responses"
    return ""


def _notes_on_counts(counts: PairCounts, enough: BoolArray, drop: bool, minimum_joint: float) -> list[str]:
    if counts.complete:
        return []
    notes = [
        "cells are missing: each moment has its own count, N of RMSEA2 is the number of respondents, and forms that were given "
        "to different populations count as misfit (then fit each form by itself)"
    ]
    if drop and not enough.all():
        notes.append(
            f"{int((~enough).sum()):,} of {enough.size:,} moments left out: fewer than {minimum_joint:g} joint responses"
        )
    return notes
