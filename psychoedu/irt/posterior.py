"""Posterior mean and standard deviation of ability (EAP), by quadrature that follows each row's own prior and precision.

Nodes are consecutive points k h of a lattice through 0, from about mean - 7.5 SD to mean + 7.5 SD, h a power of the fourth root
of 2 and at most an eighth of the prior SD. A row whose answered items may make its posterior narrower gets a finer lattice (the
bound needs no response: the posterior variance is at least 1 / (1 / prior_sd^2 + sum a^2 / 4), a Cramer-Rao inequality, and the
nearest pole of an item's logistic is pi / a off the real axis); a row whose posterior has not died out at the ends gets a range
twice, four times ... as wide. Both depend on the row and its prior alone, so that one row scored by itself equals the same row
among a million; and rows with different priors meet at the same nodes, so that their log-likelihoods are tabulated together.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from psychoedu._typing import BoolArray, FloatArray, IntArray
from psychoedu.exceptions import EstimationError
from psychoedu.irt.packing import (
    LogLikelihoodGrid,
    LogLikelihoodWindows,
    PackedItems,
    PackedRows,
    group_rows,
    selected_maximum,
    selected_sum,
    window_shifts,
)

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
_FARTHEST = 1e12
"""Largest distance of a prior from 0 in its SDs; further out float64 holds no nodes that are apart."""
_STEPS = 4
"""Lattices (and widths) in each doubling."""
_ROOTS = 2.0 ** (np.arange(_STEPS) / _STEPS - 1.0)
_BLOCK_CELLS = 2**19
_LATTICE_NODES = 2**12
"""How many nodes more than one row has the rows of a block may have together."""
_ROWS_PER_PRIOR = 256
"""From so many rows a prior on, the priors are taken one by one."""


def posterior_moments(rows: PackedRows, items: PackedItems, mean: FloatArray, sd: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return posterior means and SDs, each (n_rows,), under the priors N(mean, sd), each (n_rows,) or, one for all, (1,)."""
    location = np.empty(rows.n_rows)
    scale = np.empty(rows.n_rows)
    lattice, width = _quadrature(rows, items, sd)
    pending = np.arange(rows.n_rows)
    width[np.broadcast_to(np.abs(mean) > _FARTHEST * sd, width.shape)] = _STEPS * MAX_DOUBLINGS + 1
    while len(pending):
        if width.max() > _STEPS * MAX_DOUBLINGS:
            raise _too_many_points(pending[width > _STEPS * MAX_DOUBLINGS], mean, sd)
        again, again_lattice, again_width = [], [], []
        kind = (lattice - lattice.min()) * (_STEPS * MAX_DOUBLINGS + 1) + width
        for value in np.unique(kind).tolist():
            which = np.flatnonzero(kind == value)
            chosen = pending[which]
            everyone = len(chosen) == rows.n_rows
            part = rows if everyone else rows.take(chosen)
            prior = (mean, sd) if everyone or len(mean) == 1 else (mean[chosen], sd[chosen])
            step, n_nodes = _rule(int(lattice[which[0]]), int(width[which[0]]))
            location[chosen], scale[chosen], open_ended = _moments(part, items, step, n_nodes, *prior)
            again.append(chosen[open_ended])
            again_lattice.append(lattice[which[open_ended]])
            again_width.append(width[which[open_ended]] + _STEPS)
        pending, lattice, width = (np.concatenate(parts) for parts in (again, again_lattice, again_width))
    return mean + sd * location, sd * scale


def _quadrature(rows: PackedRows, items: PackedItems, sd: FloatArray) -> tuple[IntArray, IntArray]:
    """Return for each row log2 of the spacing and of the number of intervals / 120, in quarters."""
    precision = 1.0 / (sd * sd) + 0.25 * selected_sum(rows.answered, items.discrimination**2)
    steepest = selected_maximum(rows.answered, np.abs(items.discrimination))
    widest = np.minimum(sd * (2.0 * HALF_WIDTH / N_INTERVALS), SPACING / np.maximum(np.sqrt(precision), steepest))
    lattice = _log2_quarters(widest)
    spacing = _power(lattice)
    width = -_log2_quarters(N_INTERVALS * spacing / (2.0 * HALF_WIDTH * sd))
    return lattice, np.maximum(width, 0)


def _log2_quarters(values: FloatArray) -> IntArray:
    """Return floor(4 log2(values)) from comparisons alone, which round for one number as for many."""
    mantissa, exponent = np.frexp(values)
    quarters: IntArray = _STEPS * (exponent.astype(np.int64) - 1) + np.searchsorted(_ROOTS, mantissa, side="right") - 1
    return quarters


def _power(quarters: IntArray) -> FloatArray:
    """Return 2^(quarters / 4)."""
    power: FloatArray = np.ldexp(2.0 * _ROOTS[quarters % _STEPS], (quarters // _STEPS).astype(np.int32))
    return power


def _rule(lattice: int, width: int) -> tuple[float, int]:
    """Return the spacing and the (odd) number of nodes."""
    spacing = float(_power(np.array([lattice]))[0])
    return spacing, 2 * int(np.ceil(N_INTERVALS / 2 * 2.0 ** (width / _STEPS))) + 1


def _moments(
    rows: PackedRows, items: PackedItems, spacing: float, n_nodes: int, mean: FloatArray, sd: FloatArray
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return mean, SD (from the prior's, in prior SDs) and whether the density has not died out at an end."""
    first = np.rint(mean / spacing).astype(np.int64) - n_nodes // 2
    if len(mean) == 1:
        return _moments_of_one_prior(rows, items, spacing, n_nodes, int(first[0]), mean, sd)
    found = np.empty((2, rows.n_rows))
    open_ended = np.empty(rows.n_rows, dtype=np.bool_)
    one_of, prior_of = group_rows(np.column_stack((mean, sd)).view(np.uint8))
    if len(one_of) * _ROWS_PER_PRIOR <= rows.n_rows:
        order = np.argsort(prior_of, kind="stable")
        for chosen in np.split(order, np.cumsum(np.bincount(prior_of))[:-1]):
            one = chosen[:1]
            *found[:, chosen], open_ended[chosen] = _moments_of_one_prior(
                rows.take(chosen), items, spacing, n_nodes, int(first[one[0]]), mean[one], sd[one]
            )
        return found[0], found[1], open_ended
    order = np.argsort(first, kind="stable")
    block_rows = max(1, _BLOCK_CELLS // n_nodes)
    space = np.empty(n_nodes * min(block_rows, rows.n_rows))
    start = 0
    while start < rows.n_rows:
        chosen = order[start : start + block_rows]
        shifts = window_shifts(first[chosen], n_nodes)
        chosen = chosen[: np.searchsorted(shifts, _LATTICE_NODES, side="right")]
        density = space[: n_nodes * len(chosen)].reshape(n_nodes, -1)
        LogLikelihoodWindows(first[chosen], spacing, n_nodes, items, rows.take(chosen)).fill(density)
        found[0, chosen], found[1, chosen], open_ended[chosen] = _summarised(
            density, spacing, first[chosen], mean[chosen], sd[chosen]
        )
        start += len(chosen)
    return found[0], found[1], open_ended


def _moments_of_one_prior(
    rows: PackedRows, items: PackedItems, spacing: float, n_nodes: int, first: int, mean: FloatArray, sd: FloatArray
) -> tuple[FloatArray, FloatArray, BoolArray]:
    grid = LogLikelihoodGrid(np.arange(first, first + n_nodes).astype(np.float64) * spacing, items, rows)
    location, scale = np.empty((2, rows.n_rows))
    open_ended = np.empty(rows.n_rows, dtype=np.bool_)
    block_rows = max(1, min(rows.n_rows, _BLOCK_CELLS // n_nodes))
    space = np.empty(n_nodes * block_rows)
    for start in range(0, rows.n_rows, block_rows):
        stop = min(start + block_rows, rows.n_rows)
        density = space[: n_nodes * (stop - start)].reshape(n_nodes, stop - start)
        grid.fill(density, start, stop)
        location[start:stop], scale[start:stop], open_ended[start:stop] = _summarised(
            density, spacing, np.array([first]), mean, sd
        )
    return location, scale, open_ended


def _summarised(
    density: FloatArray, spacing: float, first: IntArray, mean: FloatArray, sd: FloatArray
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Turn log-likelihoods (n_nodes, n_rows) into densities, in place, and return their moments.

    ``first``, ``mean`` and ``sd`` are (n_rows,), or (1,) where all rows have one prior.
    """
    n_nodes, n_rows = density.shape
    start, step = (first * spacing - mean) / sd, spacing / sd
    highest = np.full(n_rows, -np.inf)
    for height, value in zip(density, _standardised(start, step, n_nodes), strict=True):
        height += -0.5 * value * value
        np.maximum(highest, height, out=highest)
    total, first_moment, second_moment, product = np.zeros((4, n_rows))
    for height, value in zip(density, _standardised(start, step, n_nodes), strict=True):
        height -= highest
        np.exp(height, out=height)
        total += height
        np.multiply(height, value, out=product)
        first_moment += product
        product *= value
        second_moment += product
    first_moment /= total
    second_moment /= total
    open_ended: BoolArray = np.maximum(density[0], density[-1]) > END_DENSITY
    return first_moment, np.sqrt(second_moment - first_moment**2), open_ended


def _standardised(start: FloatArray, step: FloatArray, n_nodes: int) -> Iterator[float | FloatArray]:
    """Give the nodes in prior SDs from the prior mean, one after the other: a number, or one for each row."""
    if len(start) == 1:
        yield from (start + np.arange(n_nodes) * step).tolist()
        return
    for node in range(n_nodes):
        yield start + node * step


def _too_many_points(which: IntArray, mean: FloatArray, sd: FloatArray) -> EstimationError:
    most = N_INTERVALS * 2**MAX_DOUBLINGS + 1
    one = 0 if len(mean) == 1 else int(which[0])
    prior = f"mean {mean[one]:g}, SD {sd[one]:g}"
    return EstimationError(
        f"EAP scores of {len(which):,} response patterns need more than {most:,} quadrature points: the prior\n"
        f"({prior}) is far wider than the test is precise, or far away from it. Expected a prior on the scale of the bank.\n"
        "Pass another prior_mean or prior_sd, or use method='map', 'ml' or 'wle', which need no quadrature."
    )
