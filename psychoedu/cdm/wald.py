"""Wald tests of reduced item models against G-DINA, as plain arrays."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from psychoedu._typing import FloatArray
from psychoedu.cdm.profiles import all_profiles

REDUCED_MODELS = ("DINA", "DINO", "ACDM", "LLM", "RRUM")
_GINV_TOLERANCE = float(np.sqrt(np.finfo(np.float64).eps))


@dataclass(frozen=True)
class WaldTest:
    """A Wald test; nan with a reason where it does not exist."""

    statistic: float
    df: int
    p_value: float
    reason: str


def restrictions(model: str, n_attributes: int) -> FloatArray:
    """Return R such that R f(P) = 0 for the success probabilities P of a reduced model.

    Parameters
    ----------
    model : {"DINA", "DINO", "ACDM", "LLM", "RRUM"}
        f is the identity for the first three, logit for LLM, log for RRUM.
    n_attributes : int
        Of the item, K.

    Returns
    -------
    ndarray, (2^K - 2, 2^K) for DINA and DINO, (2^K - K - 1, 2^K) for the additive models

    Examples
    --------
    >>> restrictions("DINA", 2)
    array([[ 1., -1.,  0.,  0.],
           [ 1.,  0., -1.,  0.]])
    >>> restrictions("ACDM", 2)
    array([[ 1., -1., -1.,  1.]])
    """
    size = 2**n_attributes
    if model in ("DINA", "DINO"):
        matrix = np.zeros((size - 2, size))
        rows = np.arange(size - 2)
        matrix[:, 0 if model == "DINA" else 1] = 1.0  # DINA: all but the last alike; DINO: all but the first
        matrix[rows, rows + (1 if model == "DINA" else 2)] = -1.0
        return matrix
    alpha = all_profiles(n_attributes).astype(np.int64)
    within = (alpha[None, :, :] <= alpha[:, None, :]).all(axis=2)  # pattern S (column) inside pattern T (row)
    order = alpha.sum(axis=1)
    contrasts: FloatArray = np.where(within, (-1.0) ** (order[:, None] - order[None, :]), 0.0)
    additive: FloatArray = contrasts[order >= 2]
    return additive


def wald_test(values: FloatArray, covariance: FloatArray, matrix: FloatArray) -> WaldTest:
    """Test R values = 0: (R v)' (R V R')^- (R v) against the chi-square with as many degrees of freedom as R has rows.

    Notes
    -----
    The inverse is Moore and Penrose's with the tolerance of R's ``MASS::ginv``. If R V R' has a smaller rank than R (a
    probability on its bound has no variance of its own), the nominal degrees of freedom would be wrong: no test, with the reason.
    """
    df = len(matrix)
    if not (np.isfinite(values).all() and np.isfinite(covariance).all()):
        return WaldTest(
            math.nan,
            df,
            math.nan,
            "a probability of the item has no standard error (on its bound, empty profile, or none computed)",
        )
    contrast = matrix @ values
    spread = matrix @ covariance @ matrix.T
    singular = np.linalg.svd(spread, compute_uv=False)
    if not singular.size or singular[0] <= 0.0:
        return WaldTest(math.nan, df, math.nan, "the contrasts have no variance")
    rank = int((singular > _GINV_TOLERANCE * singular[0]).sum())
    if rank < df:
        return WaldTest(math.nan, df, math.nan, f"the covariance of {df} contrasts has rank {rank}")
    statistic = float(contrast @ np.linalg.pinv(spread, rcond=_GINV_TOLERANCE, hermitian=True) @ contrast)
    return WaldTest(statistic, df, float(chi2.sf(statistic, df)), "")


def reduced_model_test(model: str, probability: FloatArray, covariance: FloatArray) -> WaldTest:
    """Test whether an item's G-DINA probabilities are those of a reduced model.

    Parameters
    ----------
    model : {"DINA", "DINO", "ACDM", "LLM", "RRUM"}
    probability : ndarray, (2^K,)
        Success probabilities by reduced profile, of the G-DINA model.
    covariance : ndarray, (2^K, 2^K)
        Their covariance.

    Returns
    -------
    WaldTest

    Notes
    -----
    LLM and RRUM are additive in the logit and in the log of P: the covariance goes there by the delta method.

    References
    ----------
    de la Torre, J., & Lee, Y.-S. (2013). Evaluating the Wald test for item-level comparison of saturated and reduced models in
    cognitive diagnosis. *Journal of Educational Measurement, 50*, 355-373. Ma, W., Iaconangelo, C., & de la Torre, J. (2016).
    Model similarity, model selection, and attribute classification. *Applied Psychological Measurement, 40*, 200-217.
    """
    n_attributes = round(math.log2(len(probability)))
    if n_attributes < 2:
        return WaldTest(math.nan, 0, math.nan, "one attribute: all models are the same")
    values, slope = probability, np.ones_like(probability)
    if model in ("LLM", "RRUM"):
        top = 1.0 if model == "LLM" else np.inf
        if not ((probability > 0.0) & (probability < top)).all():
            return WaldTest(math.nan, 0, math.nan, "a probability of 0 or 1 has no logit or log")
        values = np.log(probability) - (np.log1p(-probability) if model == "LLM" else 0.0)
        slope = 1.0 / (probability * (1.0 - probability) if model == "LLM" else probability)
    return wald_test(values, covariance * np.outer(slope, slope), restrictions(model, n_attributes))
