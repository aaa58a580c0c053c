"""Covariance of the estimates: from the observed information, from score cross-products, or the sandwich of both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from psychoedu._typing import BoolArray, FloatArray
from psychoedu.irt.information import score_cross_products
from psychoedu.irt.objective import Evaluation, Objective

METHODS = ("oakes", "crossprod", "sandwich")
LARGEST_CONDITION = 1e12
"""Condition number of the information, scaled to a unit diagonal, from which on it is called singular."""


@dataclass(frozen=True, slots=True)
class EstimateCovariance:
    """Covariance of the free parameters, or none and a reason.

    Attributes
    ----------
    matrix : (p, p) array or None
        nan in the rows and columns of parameters that rest on a bound.
    condition_number : float
        Of the information matrix scaled to a unit diagonal; inf where it is not positive definite.
    reason : str
        Why there is no matrix, else "".
    """

    matrix: FloatArray | None
    condition_number: float
    reason: str


def estimate_covariance(objective: Objective, at: Evaluation, method: str, held: BoolArray) -> EstimateCovariance:
    """Compute the covariance of the free parameters at a maximum.

    Parameters
    ----------
    objective : Objective
    at : Evaluation
        The maximum.
    method : {"oakes", "crossprod", "sandwich"}
        "oakes": inverse of the observed information, exact second derivatives of the marginal likelihood (Louis, 1982; the
        identity of Oakes, 1999, gives the same matrix). "crossprod": inverse of the sum of score cross-products (Meilijson,
        1989). "sandwich": observed^-1 crossproducts observed^-1 (White, 1982).
    held : (p,) bool array
        Parameters on a bound; they are treated as fixed.

    Returns
    -------
    EstimateCovariance
    """
    free = ~held
    information: FloatArray | None = None
    products: FloatArray | None = None
    if method in ("oakes", "sandwich"):
        information = (objective.complete(at) - objective.missing(at, exact=True))[np.ix_(free, free)]
    if method in ("crossprod", "sandwich"):
        full = score_cross_products(objective.data, at.curves, at.populations)
        products = objective.parameters.reduce_matrix(full)[np.ix_(free, free)]
        if method == "crossprod":
            products = products + objective.prior_information(at)[np.ix_(free, free)]
    to_invert = information if information is not None else products
    assert to_invert is not None
    inverse, condition = invert_information(to_invert)
    if inverse is None:
        what = "observed information" if information is not None else "matrix of score cross-products"
        reason = (
            f"The {what} is singular or not positive definite at the estimates (condition number {condition:.3g}), so "
            "standard errors do not exist: the data do not hold all parameters apart.\n"
            "Use priors, fewer parameters (1PL) or more respondents."
        )
        return EstimateCovariance(None, condition, reason)
    if method == "sandwich":
        assert products is not None
        inverse = inverse @ products @ inverse
    matrix = np.full((held.size, held.size), np.nan)
    matrix[np.ix_(free, free)] = inverse
    return EstimateCovariance(matrix, condition, "")


def invert_information(information: FloatArray) -> tuple[FloatArray | None, float]:
    """Inverse of a positive definite matrix and its condition number after scaling to a unit diagonal."""
    if information.size == 0:
        return information.copy(), 1.0
    diagonal = np.diag(information)
    if not np.isfinite(information).all() or (diagonal <= 0).any():
        return None, float("inf")
    scale = 1.0 / np.sqrt(diagonal)
    scaled = information * np.multiply.outer(scale, scale)
    try:
        lower = cholesky(scaled, lower=True, check_finite=False)
    except LinAlgError:
        return None, float("inf")
    half = solve_triangular(lower, np.eye(scale.size), lower=True, check_finite=False)
    inverse = half.T @ half
    # 1-norm condition number, exact since the inverse is at hand
    condition = float(np.abs(scaled).sum(axis=0).max() * np.abs(inverse).sum(axis=0).max())
    if condition > LARGEST_CONDITION:
        return None, condition
    return inverse * np.multiply.outer(scale, scale), condition
