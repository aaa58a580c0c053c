"""Modes of the likelihood (ML), the posterior (MAP) and Warm's weighted likelihood (WLE), for many rows at once.

The objective is first evaluated at nodes that follow the bank, and its highest node brackets the mode: without lower asymptotes
ML and MAP objectives are concave, so that there is one; a weighted likelihood, or a 3PL likelihood, may have several, of which
the highest is meant. Newton steps inside the bracket, with bisection where a step leaves it or does not shrink, then find the
root of the first derivative. Every operation is elementwise over rows: a row's result does not depend on the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from psychoedu._typing import BoolArray, FloatArray, IntArray
from psychoedu.irt.derivatives import Derivatives, log_likelihood, log_likelihood_derivatives
from psychoedu.irt.models import log_probabilities
from psychoedu.irt.packing import AnsweredSums, LogLikelihoodGrid, PackedItems, PackedRows, information_sums, selected_sum

Objective = Literal["map", "ml", "wle"]

TOLERANCE = 1e-10
_LEVEL = 1e-9
"""A log-likelihood this close below its limit at infinity has no maximum of its own."""
_MAX_STEPS = 200
_MAX_NODES = 121
_BLOCK_ROWS = 4096
_ITEM_OFFSETS = np.array([-8.0, -6.0, -4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0])


@dataclass(frozen=True, eq=False)
class Modes:
    """Where the objective is highest, and 1/sqrt of minus its second derivative there; nan where that does not exist."""

    theta: FloatArray
    theta_se: FloatArray


@dataclass(frozen=True, eq=False)
class _Search:
    """What is maximised: the objective with its prior."""

    objective: Objective
    mean: FloatArray
    sd: FloatArray

    def take(self, rows: IntArray | BoolArray | slice) -> _Search:
        """Return what is maximised for some of the rows."""
        return self if len(self.mean) == 1 else _Search(self.objective, self.mean[rows], self.sd[rows])

    def log_prior(self, theta: FloatArray) -> FloatArray | float:
        """Return the log prior at nodes, (n_nodes, n_rows) or, where all rows have one prior, (n_nodes, 1)."""
        return -0.5 * ((theta[:, None] - self.mean) / self.sd) ** 2 if self.objective == "map" else 0.0

    def slope(self, theta: FloatArray, at: Derivatives) -> tuple[FloatArray, FloatArray]:
        """Return first and second derivatives of the objective."""
        if self.objective == "map":
            return at.first - (theta - self.mean) / self.sd**2, at.second - 1.0 / self.sd**2
        if self.objective == "wle":
            with np.errstate(divide="ignore", invalid="ignore"):  # no information so far out: nan, and bisection goes on
                ratio = at.information_first / at.information
                first = at.first + 0.5 * ratio
                second = at.second + 0.5 * (at.information_second / at.information - ratio**2)
            return np.where(np.isnan(first), at.first, first), second
        return at.first, at.second


def search_nodes(discrimination: FloatArray, intercept: FloatArray) -> FloatArray:
    """Return increasing nodes that are dense where the bank's items are.

    No prior adds nodes of its own: among the items it is too smooth to make a mode that these would not show.
    """
    steep = np.abs(discrimination) > 0.0
    location = -intercept[steep] / discrimination[steep]
    nodes = np.unique(location[:, None] + np.outer(1.0 / np.abs(discrimination[steep]), _ITEM_OFFSETS))
    if len(nodes) == 0:
        return np.zeros(1)
    if len(nodes) <= _MAX_NODES:
        return nodes
    chosen = np.round(np.linspace(0, len(nodes) - 1, _MAX_NODES)).astype(np.int64)
    picked: FloatArray = nodes[chosen]
    return picked


def find_modes(
    rows: PackedRows, items: PackedItems, objective: Objective, nodes: FloatArray, mean: FloatArray, sd: FloatArray
) -> Modes:
    """Maximise the objective for every row; ``mean`` and ``sd`` of the prior of "map" are (n_rows,) or, one for all, (1,).

    ML gives +inf or -inf with standard error nan where the likelihood has its supremum there, and nan where no answered item
    discriminates; so does WLE in the second case.
    """
    theta = np.full(rows.n_rows, np.nan)
    error = np.full(rows.n_rows, np.nan)
    grid = LogLikelihoodGrid(nodes, items, rows)
    information = information_sums(nodes, items, rows) if objective == "wle" else None
    search = _Search(objective, mean, sd)
    flat = selected_sum(rows.answered, (items.discrimination != 0.0).astype(np.float64)) == 0.0
    for start in range(0, rows.n_rows, _BLOCK_ROWS):
        stop = min(start + _BLOCK_ROWS, rows.n_rows)
        block = rows.take(slice(start, stop))
        search_block = search.take(slice(start, stop))
        where, highest = _highest_node(grid, information, search_block.log_prior(nodes), len(nodes), start, stop)
        active = np.flatnonzero(~flat[start:stop]) if objective != "map" else np.arange(stop - start)
        if objective == "ml" and items.guessing is None:
            for sign in (-1.0, 1.0):
                rising = _limit(block.take(active), items, sign) > 0.0
                theta[start + active[rising]] = sign * np.inf
                active = active[~rising]
        if len(active) == 0:
            continue
        part, top = block.take(active), where[active]
        low = np.where(top > 0, nodes[np.maximum(top - 1, 0)], -np.inf)
        high = np.where(top < len(nodes) - 1, nodes[np.minimum(top + 1, len(nodes) - 1)], np.inf)
        origin = nodes[top]
        if objective == "map" and items.guessing is not None:
            _start_at_far_priors(origin, low, high, highest, nodes, search_block.mean, part, items)
        found, spread = _newton(part, items, search_block.take(active), origin, low, high)
        if objective == "ml" and items.guessing is not None:
            height = np.where(np.isinf(found), -np.inf, log_likelihood(np.where(np.isinf(found), 0.0, found), part, items))
            for sign in (-1.0, 1.0):
                limit = _limit(part, items, sign)
                beyond = limit >= height - _LEVEL
                found[beyond], spread[beyond] = sign * np.inf, np.nan
                height = np.maximum(height, limit)
        theta[start + active], error[start + active] = found, spread
    return Modes(theta, error)


def _highest_node(
    grid: LogLikelihoodGrid, information: AnsweredSums | None, log_prior: FloatArray | float, n_nodes: int, start: int, stop: int
) -> tuple[IntArray, FloatArray]:
    """Return the index of each row's highest node, and the objective there."""
    values = np.empty((n_nodes, stop - start))
    grid.fill(values, start, stop)
    if information is not None:
        sums = information.common[:, None] if information.common is not None else information.block(start, stop)
        with np.errstate(divide="ignore"):
            values += 0.5 * np.log(sums)
    values += log_prior
    where: IntArray = np.zeros(stop - start, dtype=np.int64)
    highest = values[0].copy()
    for node, value in enumerate(values):  # as values.argmax(axis=0), in half the time
        np.copyto(where, node, where=value > highest)
        np.maximum(highest, value, out=highest)
    return where, highest


def _start_at_far_priors(
    origin: FloatArray,
    low: FloatArray,
    high: FloatArray,
    highest: FloatArray,
    nodes: FloatArray,
    mean: FloatArray,
    rows: PackedRows,
    items: PackedItems,
) -> None:
    """Start, in place, at the mean of a prior beyond all nodes where the posterior is higher there than at every node.

    So far out a likelihood with lower asymptotes is flat and leaves the prior a mode of its own.
    """
    mean = np.broadcast_to(mean, origin.shape)
    outside = np.flatnonzero((mean < nodes[0]) | (mean > nodes[-1]))
    if len(outside) == 0:
        return
    there = mean[outside]
    higher = log_likelihood(there, rows.take(outside), items) > highest[outside]
    chosen, there = outside[higher], there[higher]
    origin[chosen] = there
    low[chosen] = np.where(there < nodes[0], -np.inf, nodes[-1])
    high[chosen] = np.where(there < nodes[0], nodes[0], np.inf)


def _limit(rows: PackedRows, items: PackedItems, sign: float) -> FloatArray:
    """Return the log-likelihood as theta goes to +inf (sign 1) or -inf: -inf where a response becomes impossible.

    Without lower asymptotes it is +inf where no response becomes impossible: the likelihood then rises all the way.
    """
    slope = sign * items.discrimination
    guessing = np.zeros_like(slope) if items.guessing is None else items.guessing
    wrong = rows.answered & ~rows.right
    impossible = selected_sum(rows.right, ((slope < 0.0) & (guessing == 0.0)).astype(np.float64))
    impossible += selected_sum(wrong, (slope > 0.0).astype(np.float64))
    if items.guessing is None:
        return np.where(impossible > 0.0, -np.inf, np.inf)
    anywhere = np.zeros(1)
    flat_right, flat_wrong = (
        part.reshape(slope.shape)
        for part in log_probabilities(anywhere, np.zeros(slope.size), items.intercept.ravel(), guessing.ravel())
    )
    log_guess = np.log(np.where(guessing > 0.0, guessing, 1.0))
    log_right = np.where(slope > 0.0, 0.0, np.where(slope < 0.0, log_guess, flat_right))
    log_wrong = np.where(slope > 0.0, 0.0, np.where(slope < 0.0, np.log1p(-guessing), flat_wrong))
    total = selected_sum(rows.right, log_right) + selected_sum(wrong, log_wrong)
    return np.where(impossible > 0.0, -np.inf, total)


def _newton(
    rows: PackedRows, items: PackedItems, search: _Search, start: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Find the root of the slope in [low, high] (an end may be infinite); return it and the standard error."""
    theta = start.copy()
    error = np.full(len(theta), np.nan)
    low, high = low.copy(), high.copy()
    last_step = np.full(len(theta), np.inf)
    reach = np.maximum(1.0, np.abs(start))
    active = np.arange(len(theta))
    part = rows
    for _ in range(_MAX_STEPS):
        here = theta[active]
        at = log_likelihood_derivatives(here, part, items, search.objective == "wle")
        slope, curvature = search.slope(here, at)
        low[active] = np.where(slope > 0.0, here, low[active])
        high[active] = np.where(slope < 0.0, here, high[active])
        step, moved = _step(slope, curvature, here, low[active], high[active], last_step[active], reach[active])
        theta[active] = moved
        last_step[active] = np.abs(step)
        with np.errstate(divide="ignore", invalid="ignore"):
            error[active] = np.where(curvature < 0.0, 1.0 / np.sqrt(-curvature), np.nan)
        going = np.abs(step) > TOLERANCE * np.maximum(1.0, np.abs(moved))
        reach[active] = np.where(np.isinf(high[active] - low[active]), 2.0 * reach[active], reach[active])
        active = active[going]
        if len(active) == 0:
            break
        if not going.all():
            part, search = part.take(going), search.take(going)
    unbounded = active[np.isinf(low[active]) | np.isinf(high[active])]  # rises as far as float64 can tell
    theta[unbounded] = np.copysign(np.inf, theta[unbounded])
    error[unbounded] = np.nan
    return theta, error


def _step(
    slope: FloatArray,
    curvature: FloatArray,
    here: FloatArray,
    low: FloatArray,
    high: FloatArray,
    last_step: FloatArray,
    reach: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the step and the new point: Newton's where it is safe, else half the bracket, else outward."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        newton = here - slope / curvature
        halved = 0.5 * (low + high)
    size = np.abs(newton - here)
    inside = (newton > low) & (newton < high) & (size <= 0.5 * last_step)
    safe = (curvature < 0.0) & (inside | (size <= TOLERANCE * np.maximum(1.0, np.abs(here))))
    outward = here + np.sign(slope) * reach
    open_side = np.where(slope > 0.0, np.isinf(high), np.isinf(low))
    fallback = np.where(open_side, outward, halved)
    moved = np.where(slope == 0.0, here, np.where(safe, newton, fallback))
    return moved - here, moved
