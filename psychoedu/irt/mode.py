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

from psychoedu._typing import FloatArray, IntArray
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
    mean: float
    sd: float

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


def search_nodes(discrimination: FloatArray, intercept: FloatArray, prior: tuple[float, float] | None = None) -> FloatArray:
    """Return increasing nodes that are dense where the bank's items are, and the prior."""
    steep = np.abs(discrimination) > 0.0
    location = -intercept[steep] / discrimination[steep]
    candidates = [location[:, None] + np.outer(1.0 / np.abs(discrimination[steep]), _ITEM_OFFSETS)]
    if prior is not None:
        candidates.append(prior[0] + prior[1] * np.linspace(-6.0, 6.0, 25))
    nodes = np.unique(np.concatenate([np.ravel(part) for part in candidates]))
    if len(nodes) == 0:
        return np.zeros(1)
    if len(nodes) <= _MAX_NODES:
        return nodes
    chosen = np.round(np.linspace(0, len(nodes) - 1, _MAX_NODES)).astype(np.int64)
    picked: FloatArray = nodes[chosen]
    return picked


def find_modes(
    rows: PackedRows, items: PackedItems, objective: Objective, nodes: FloatArray, mean: float = 0.0, sd: float = 1.0
) -> Modes:
    """Maximise the objective for every row.

    ML gives +inf or -inf with standard error nan where the likelihood has its supremum there, and nan where no answered item
    discriminates; so does WLE in the second case.
    """
    theta = np.full(rows.n_rows, np.nan)
    error = np.full(rows.n_rows, np.nan)
    grid = LogLikelihoodGrid(nodes, items, rows)
    information = information_sums(nodes, items, rows) if objective == "wle" else None
    log_prior = -0.5 * ((nodes - mean) / sd) ** 2 if objective == "map" else np.zeros(len(nodes))
    search = _Search(objective, mean, sd)
    flat = selected_sum(rows.answered, (items.discrimination != 0.0).astype(np.float64)) == 0.0
    for start in range(0, rows.n_rows, _BLOCK_ROWS):
        stop = min(start + _BLOCK_ROWS, rows.n_rows)
        block = rows.take(slice(start, stop))
        where = _highest_node(grid, information, log_prior, start, stop)
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
        found, spread = _newton(part, items, search, nodes[top], low, high)
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
    grid: LogLikelihoodGrid, information: AnsweredSums | None, log_prior: FloatArray, start: int, stop: int
) -> IntArray:
    """Return the index of each row's highest node."""
    n_nodes = len(log_prior)
    values = np.empty((n_nodes, stop - start))
    grid.fill(values, start, stop)
    if information is not None:
        sums = information.common[:, None] if information.common is not None else information.block(start, stop)
        with np.errstate(divide="ignore"):
            values += 0.5 * np.log(sums)
    values += log_prior[:, None]
    where: IntArray = values.argmax(axis=0)
    return where


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
        part = part.take(going) if not going.all() else part
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
