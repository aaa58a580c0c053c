"""Intervals of proportions, as plain arrays."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from psychoedu._typing import FloatArray


def wilson_interval(
    proportion: FloatArray, n: FloatArray | float, confidence_level: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Return Wilson score intervals of proportions.

    Parameters
    ----------
    proportion : ndarray, (G,)
        Between 0 and 1.
    n : ndarray, (G,), or float
        The numbers they rest on, all positive.
    confidence_level : float

    Returns
    -------
    low, high : ndarray, (G,)
        Exactly 0 and 1 where the proportion is.

    References
    ----------
    Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. *Journal of the American
    Statistical Association, 22*, 209-212.

    Examples
    --------
    >>> low, high = wilson_interval(np.array([0.0]), 10.0)
    >>> low.round(4), high.round(4)
    (array([0.]), array([0.2775]))
    """
    z = float(ndtri(0.5 + confidence_level / 2.0))
    shrink = z**2 / n
    centre = (proportion + shrink / 2.0) / (1.0 + shrink)
    half = z * np.sqrt(proportion * (1.0 - proportion) / n + shrink / (4.0 * n)) / (1.0 + shrink)
    low = np.where(proportion == 0.0, 0.0, np.maximum(centre - half, 0.0))
    return low, np.where(proportion == 1.0, 1.0, np.minimum(centre + half, 1.0))
