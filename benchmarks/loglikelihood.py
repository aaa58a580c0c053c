"""The marginal log-likelihood of any program's estimates, written independently of the package and on a finer grid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.designs import Data
from benchmarks.engines import Estimates, group_labels

GRID = np.linspace(-6.0, 6.0, 241)
BLOCK = 4_096


def marginal_log_likelihood(data: Data, estimates: Estimates, grid: NDArray[np.float64] = GRID) -> float:
    """Return sum over respondents of log integral P(x | theta) N(theta; mean_g, sd_g), missing cells left out.

    Weights are normal densities at the grid, normalised to 1 in each group.
    """
    eta = np.multiply.outer(grid, estimates.discrimination) + estimates.intercept
    log_right = -np.logaddexp(0.0, -eta)
    log_wrong = -np.logaddexp(0.0, eta)
    labels = group_labels(data)
    members = np.zeros(len(data.responses), dtype=int)
    if data.groups is not None:
        members = np.array([labels.index(label) for label in data.groups.tolist()])
    log_weights = np.empty((max(1, len(labels)), grid.size))
    for group, (mean, sd) in enumerate(zip(estimates.means, estimates.sds, strict=True)):
        density = -0.5 * ((grid - mean) / sd) ** 2
        log_weights[group] = density - np.logaddexp.reduce(density)
    total = 0.0
    for first in range(0, len(data.responses), BLOCK):
        cells = data.responses[first : first + BLOCK]
        given = (cells == 1).astype(float) @ log_right.T + (cells == 0).astype(float) @ log_wrong.T
        total += float(np.logaddexp.reduce(given + log_weights[members[first : first + BLOCK]], axis=1).sum())
    return total
