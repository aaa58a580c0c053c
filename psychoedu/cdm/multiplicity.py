"""p-values adjusted for the number of tests (Bonferroni, Holm)."""

from __future__ import annotations

import numpy as np

from psychoedu._typing import FloatArray


def bonferroni(p_values: FloatArray) -> FloatArray:
    """Multiply p-values by the number of tests made, up to 1.

    Parameters
    ----------
    p_values : ndarray
        nan marks a test that could not be made; it is not counted and stays nan.

    Returns
    -------
    ndarray of the same shape

    Examples
    --------
    >>> import numpy as np
    >>> bonferroni(np.array([0.01, 0.4, np.nan]))
    array([0.02, 0.8 ,  nan])
    """
    p = np.asarray(p_values, dtype=np.float64)
    adjusted: FloatArray = np.minimum(p * np.isfinite(p).sum(), 1.0)
    return adjusted


def holm(p_values: FloatArray) -> FloatArray:
    """Adjust p-values by Holm's step-down procedure.

    Parameters
    ----------
    p_values : ndarray
        nan marks a test that could not be made; it is not counted and stays nan.

    Returns
    -------
    ndarray of the same shape
        max over k <= i of (m - k + 1) p_(k), up to 1, p_(1) <= ... <= p_(m): what R's ``p.adjust(p, "holm")`` gives.

    References
    ----------
    Holm, S. (1979). A simple sequentially rejective multiple test procedure. *Scandinavian Journal of Statistics, 6*, 65-70.

    Examples
    --------
    >>> import numpy as np
    >>> holm(np.array([0.01, 0.04, 0.03, np.nan]))
    array([0.03, 0.06, 0.06,  nan])
    """
    p = np.asarray(p_values, dtype=np.float64)
    flat = p.ravel()
    adjusted = np.full(flat.shape, np.nan)
    made = np.flatnonzero(np.isfinite(flat))
    order = made[np.argsort(flat[made], kind="stable")]
    factors = np.arange(order.size, 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * flat[order]), 1.0)
    return adjusted.reshape(p.shape)
