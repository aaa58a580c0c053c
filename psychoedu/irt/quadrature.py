"""Equally spaced quadrature for a normal ability distribution, and how far apart the points may stand.

The rectangular rule on equally spaced points converges geometrically for smooth densities (Trefethen & Weideman, 2014,
SIAM Review 56, section 5): for a normal posterior of standard deviation s and spacing h its relative error is
2 exp(-2 pi^2 s^2 / h^2), 3e-8 at s = h / 1.05 and 1.4e-2 at s = h / 2. So long tests, whose posteriors are narrow, need
more than the usual 61 points on [-6, 6].
"""

from __future__ import annotations

import math

import numpy as np

from psychoedu._typing import FloatArray

DEFAULT_POINTS = 61
DEFAULT_RANGE = (-6.0, 6.0)
SPACING_PER_SD = 1.0
"""Largest spacing, in posterior standard deviations, at which the rule is taken to be exact (relative error 5e-9)."""

SPACING_TIMES_SLOPE = 1.25
"""Largest spacing x steepest discrimination: P has poles at a height of pi / a, which cost exp(-2 pi^2 / (a h)), here 1.4e-7."""


def equally_spaced(n_points: int = DEFAULT_POINTS, low: float = DEFAULT_RANGE[0], high: float = DEFAULT_RANGE[1]) -> FloatArray:
    """Return the nodes, (n_points,)."""
    return np.linspace(low, high, n_points)


def normal_log_weights(nodes: FloatArray, mean: float = 0.0, sd: float = 1.0) -> FloatArray:
    """Return log weights of N(mean, sd) at the nodes, normalised so that the weights sum to 1."""
    exponent = -0.5 * ((nodes - mean) / sd) ** 2
    highest = exponent.max()
    normalised: FloatArray = exponent - highest - math.log(np.exp(exponent - highest).sum())
    return normalised


def points_for(spacing: float, low: float, high: float) -> int:
    """Return how many points on [low, high] stand no farther apart than ``spacing`` (an odd number)."""
    count = math.ceil((high - low) / spacing - 1e-9) + 1
    return count if count % 2 else count + 1
