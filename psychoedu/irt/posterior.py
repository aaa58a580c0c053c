"""Posterior mean and standard deviation of ability (EAP), by quadrature that follows each row's own precision.

Nodes are equally spaced in units of the prior, 121 on mean +- 7.5 SD at least. A row whose answered items may make its posterior
narrower than the spacing gets twice, four times ... as many (the bound needs no response: the posterior variance is at least
1 / (1 / prior_sd^2 + sum a^2 / 4), a Cramer-Rao inequality, and the nearest pole of an item's logistic is pi / a off the real
axis); a row whose posterior has not died out at the ends gets a range twice, four times ... as wide. Both depend on the row
alone, so that one row scored by itself equals the same row among a million.
"""

from __future__ import annotations

import numpy as np

from psychoedu._typing import BoolArray, FloatArray, IntArray
from psychoedu.exceptions import EstimationError
from psychoedu.irt.packing import LogLikelihoodGrid, PackedItems, PackedRows, selected_maximum, selected_sum

N_INTERVALS = 120
HALF_WIDTH = 7.5
"""Half the range of the nodes in prior SDs; N(0, 1) has fallen to 6e-13 of its height there."""
SPACING = 0.75
"""Largest spacing of the nodes, in units of the lower bound of the posterior SD and of 1 / a of the steepest item. The rule's
error is about exp(-2 pi^2 / SPACING^2) for a normal posterior, and for the item's pole exp(-2 pi^2 / SPACING) times the growth of
the other factors on the way to it, which at SPACING = 1 still shows in the eighth digit."""
MAX_DOUBLINGS = 9
END_DENSITY = 1e-9
"""Largest density at the ends, relative to the highest node: leaves an error of about 1e-9 in the mean and in the SD."""
_BLOCK_CELLS = 2**19


def posterior_moments(rows: PackedRows, items: PackedItems, mean: float, sd: float) -> tuple[FloatArray, FloatArray]:
    """Return posterior means and SDs under the prior N(mean, sd), each (n_rows,)."""
    location = np.empty(rows.n_rows)
    scale = np.empty(rows.n_rows)
    finer = _doublings_for(rows, items, sd)
    wider = np.zeros(rows.n_rows, dtype=np.int64)
    pending = np.arange(rows.n_rows)
    while len(pending):
        again = []
        kinds = np.unique(np.column_stack((finer[pending], wider[pending])), axis=0)
        for n_finer, n_wider in kinds.tolist():
            if n_finer + n_wider > MAX_DOUBLINGS:
                raise _too_many_points(len(pending), mean, sd)
            chosen = pending[(finer[pending] == n_finer) & (wider[pending] == n_wider)]
            nodes = _nodes(n_finer, n_wider)
            part = rows if len(chosen) == rows.n_rows else rows.take(chosen)
            location[chosen], scale[chosen], open_ended = _moments(part, items, nodes, mean, sd)
            again.append(chosen[open_ended])
        pending = np.concatenate(again)
        wider[pending] += 1
    return mean + sd * location, sd * scale


def _nodes(n_finer: int, n_wider: int) -> FloatArray:
    half = HALF_WIDTH * 2.0**n_wider
    return np.linspace(-half, half, N_INTERVALS * 2 ** (n_finer + n_wider) + 1)


def _doublings_for(rows: PackedRows, items: PackedItems, sd: float) -> IntArray:
    """Return how often the spacing must be halved for each row."""
    precision = 1.0 + 0.25 * sd**2 * selected_sum(rows.answered, items.discrimination**2)
    steepest = sd * selected_maximum(rows.answered, np.abs(items.discrimination))
    spacing = SPACING / np.maximum(np.sqrt(precision), steepest)
    ratio = (2.0 * HALF_WIDTH / N_INTERVALS) / spacing
    doublings: IntArray = np.ceil(np.log2(np.maximum(ratio, 1.0))).astype(np.int64)
    return doublings


def _moments(
    rows: PackedRows, items: PackedItems, nodes: FloatArray, mean: float, sd: float
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return mean, SD (in prior SDs) and whether the density has not died out at an end."""
    n_nodes = len(nodes)
    grid = LogLikelihoodGrid(mean + sd * nodes, items, rows)
    log_prior = -0.5 * nodes**2
    location = np.empty(rows.n_rows)
    scale = np.empty(rows.n_rows)
    open_ended = np.empty(rows.n_rows, dtype=np.bool_)
    block_rows = max(1, min(rows.n_rows, _BLOCK_CELLS // n_nodes))
    space = np.empty(n_nodes * block_rows)
    for start in range(0, rows.n_rows, block_rows):
        stop = min(start + block_rows, rows.n_rows)
        density = space[: n_nodes * (stop - start)].reshape(n_nodes, stop - start)
        grid.fill(density, start, stop)
        highest = np.full(stop - start, -np.inf)
        for node in range(n_nodes):
            density[node] += log_prior[node]
            np.maximum(highest, density[node], out=highest)
        total, first, second, product = np.zeros((4, stop - start))
        for node, value in enumerate(nodes.tolist()):
            height = density[node]
            height -= highest
            np.exp(height, out=height)
            total += height
            np.multiply(height, value, out=product)
            first += product
            product *= value
            second += product
        first /= total
        second /= total
        location[start:stop] = first
        scale[start:stop] = np.sqrt(second - first**2)
        open_ended[start:stop] = np.maximum(density[0], density[-1]) > END_DENSITY
    return location, scale, open_ended


def _too_many_points(n_rows: int, mean: float, sd: float) -> EstimationError:
    most = N_INTERVALS * 2**MAX_DOUBLINGS + 1
    return EstimationError(
        f"EAP scores of {n_rows:,} response patterns need more than {most:,} quadrature points: the prior (mean {mean:g},\n"
        f"SD {sd:g}) is far wider than the test is precise, or far away from it. Expected a prior on the scale of the bank.\n"
        "Pass another prior_mean or prior_sd, or use method='map', 'ml' or 'wle', which need no quadrature."
    )
