"""Starting values from one common factor of the responses of a sample of rows."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from psychoedu._typing import CodeArray, FloatArray

SAMPLE_ROWS = 1024
FACTOR_STEPS = 12
LARGEST_LOADING = 0.85
SMALLEST_SLOPE = 0.2
LOGISTIC_PER_NORMAL = 1.702
"""Scale of the normal ogive in the logistic metric (Haley, 1952); used here only to start."""


def starting_values(scored: CodeArray) -> tuple[FloatArray, FloatArray]:
    """Return discriminations and intercepts to start from, oriented so that most discriminations are positive.

    Parameters
    ----------
    scored : (N, J) int8 array
        1, 0 or negative for missing.

    Returns
    -------
    discrimination, intercept : (J,) arrays

    Notes
    -----
    The loadings are those of one factor fitted to the off-diagonal correlations by least squares (Harman & Jones, 1966, minres),
    each weighted by its pairs.
    A correlation of two dichotomies is about the tetrachoric one times c_j c_k, c = phi(z) / sqrt(p (1 - p)), so loading / c is a
    loading of the normal ogive, and its slope is loading / sqrt(1 - loading^2) (Lord & Novick, 1968, equation 16.10.3). A
    reversed item starts reversed.
    """
    n_rows = scored.shape[0]
    sample = scored[:: -(-n_rows // SAMPLE_ROWS)] if n_rows > SAMPLE_ROWS else scored
    right = (sample == 1).astype(np.float64)
    complete = int(sample.min(initial=0)) >= 0
    observed = np.ones(1) if complete else (sample >= 0).astype(np.float64)
    answered = np.full(right.shape[1], float(len(right))) if complete else observed.sum(axis=0)
    share = (right.sum(axis=0) + 0.5) / (answered + 1.0)
    spread = np.sqrt(share * (1.0 - share))
    standardised = (right - share) / spread * observed
    loading = _one_factor(standardised, None if complete else observed)
    threshold = ndtri(share)
    attenuation = np.exp(-0.5 * threshold**2) / (math.sqrt(2.0 * math.pi) * spread)
    loading = np.clip(loading / attenuation, -LARGEST_LOADING, LARGEST_LOADING)
    if loading.sum() < 0:
        loading = -loading
    slope = LOGISTIC_PER_NORMAL * loading / np.sqrt(1.0 - loading**2)
    slope = np.where(np.abs(slope) < SMALLEST_SLOPE, np.where(slope < 0, -SMALLEST_SLOPE, SMALLEST_SLOPE), slope)
    return slope, LOGISTIC_PER_NORMAL * threshold * np.sqrt(1.0 + (slope / LOGISTIC_PER_NORMAL) ** 2)


def _one_factor(standardised: FloatArray, observed: FloatArray | None) -> FloatArray:
    """Return the loadings of one factor; for tests longer than the sample those of the first component."""
    n_rows, n_items = standardised.shape
    loading = standardised.T @ standardised.sum(axis=1)
    if n_items > n_rows:  # the diagonal no longer matters: the first component
        answered = float(n_rows) if observed is None else np.maximum(observed.sum(axis=0), 1.0)
        for _ in range(FACTOR_STEPS):
            component = standardised @ loading
            loading = standardised.T @ component / max(float(np.linalg.norm(component)), 1e-12)
        return np.asarray(loading / np.sqrt(answered))
    product = standardised.T @ standardised
    product.flat[:: n_items + 1] = 0.0
    pairs: FloatArray | None = None
    if observed is not None:
        pairs = observed.T @ observed
        pairs.flat[:: n_items + 1] = 0.0
    loading = loading / max(float(np.abs(loading).max()), 1e-12) * 0.5
    for _ in range(FACTOR_STEPS):
        squares = loading**2
        weight = n_rows * (squares.sum() - squares) if pairs is None else pairs @ squares
        update = product @ loading / np.maximum(weight, 1e-3 * n_rows)
        loading = 0.5 * (np.clip(update, -1.0, 1.0) + loading)
    return np.asarray(loading)
