"""Maximum likelihood of a cognitive diagnosis model by EM with Anderson acceleration.

EM's map is accelerated by combining its last steps (Walker & Ni, 2011, SIAM J. Numerical Analysis 49, 1715-1735, type II),
measured in the metric of the complete-data information; a combination that lowers the log-likelihood is dropped for the EM
step, so that the trace never falls. With f the EM step and s the accelerated one, the complete-data gradient g = C f is also
that of the marginal likelihood (Fisher's identity) and s estimates the Newton step, so g's / 2 estimates the log-likelihood
still to be gained: the stopping rule bounds that, not the last gain.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np

from psychoedu._typing import BoolArray, FloatArray
from psychoedu.cdm.item_step import DEFAULT_BOUNDS, Bounds, item_step
from psychoedu.cdm.likelihood import ClassExpectation, class_expectation
from psychoedu.cdm.models import ItemStructure, inverse_link, link
from psychoedu.cdm.monotone import pooled, violates
from psychoedu.cdm.populations import Populations
from psychoedu.irt.blocks import ResponseBlocks

DEFAULT_TOLERANCE = 1e-6
DEFAULT_MAX_ITERATIONS = 3000
MEMORY = 10
CONFIRMATIONS = 2
"""How many iterations in a row must expect no more than the tolerance."""
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Parameters:
    """Item parameters (probabilities of partitions, effects of additive models), and those of the populations."""

    items: FloatArray
    structural: FloatArray


@dataclass(slots=True)
class Problem:
    """What is maximised.

    Parameters
    ----------
    data : ResponseBlocks
    items : ItemStructure
    populations : Populations
    bounds : (low, high)
        Of every success probability.
    monotone : bool
        Whether no probability may fall with another attribute mastered.
    """

    data: ResponseBlocks
    items: ItemStructure
    populations: Populations
    bounds: Bounds = DEFAULT_BOUNDS
    monotone: bool = False
    n_evaluations: int = field(default=0)

    def expect(self, parameters: Parameters) -> ClassExpectation:
        """Run the E-step."""
        self.n_evaluations += 1
        cells = np.clip(self.items.cells(parameters.items), *self.bounds)
        return class_expectation(self.data, self.items.success(cells), self.populations.log_prior(parameters.structural))

    def maximise(self, parameters: Parameters, expected: ClassExpectation) -> Parameters:
        """Run the M-step."""
        right, answered = self.items.collect(expected.right), self.items.collect(expected.answered)
        items = item_step(self.items, parameters.items, right, answered, self.bounds, self.monotone)
        return Parameters(items, self.populations.step(parameters.structural, expected.class_counts))

    def flatten(self, parameters: Parameters) -> FloatArray:
        """Return one vector in which steps are taken: logits of probabilities, effects, structural parameters."""
        items = parameters.items.copy()
        for kind in self.items.kinds:
            if not kind.link:
                items[kind.parameters] = link("logit", items[kind.parameters])
        return np.concatenate([items, parameters.structural])

    def restore(self, flat: FloatArray) -> Parameters | None:
        """Undo :meth:`flatten` within the bounds; None where an additive item leaves them, or the order is broken."""
        items = flat[: self.items.n_parameters].copy()
        low, high = self.bounds
        for kind in self.items.kinds:
            if not kind.link:
                items[kind.parameters] = np.clip(inverse_link("logit", items[kind.parameters])[0], low, high)
                if self.monotone and violates(items[kind.parameters], kind.order_attributes):
                    return None
                continue
            if self.monotone and (items[kind.parameters][:, 1:] < 0.0).any():
                return None
            eta = items[kind.parameters] @ kind.design.T
            edge_low, edge_high = (float(link(kind.link, np.array(bound))) for bound in self.bounds)
            if (eta <= edge_low).any() or (eta >= edge_high).any():
                return None
        return Parameters(items, self.populations.clip(flat[self.items.n_parameters :]))

    def metric(self, parameters: Parameters, expected: ClassExpectation) -> FloatArray:
        """Return the diagonal of the complete-data information in the flat scale."""
        answered = self.items.collect(expected.answered)
        cells = np.clip(self.items.cells(parameters.items), *self.bounds)
        items = np.empty(self.items.n_parameters)
        for kind in self.items.kinds:
            p, n = cells[kind.cells], answered[kind.cells]
            if not kind.link:
                items[kind.parameters] = (n * p * (1.0 - p)) @ kind.design
                continue
            slope = inverse_link(kind.link, parameters.items[kind.parameters] @ kind.design.T)[1]
            items[kind.parameters] = (n / (p * (1.0 - p)) * slope**2) @ kind.design**2
        structural = np.einsum("gl,glp->p", expected.class_counts, self.populations.scores(parameters.structural) ** 2)
        return np.asarray(np.maximum(np.concatenate([items, structural]), 1e-10))

    def gradient(self, parameters: Parameters, expected: ClassExpectation) -> FloatArray:
        """Return the gradient of the marginal log-likelihood in the flat scale."""
        right, answered = self.items.collect(expected.right), self.items.collect(expected.answered)
        cells = np.clip(self.items.cells(parameters.items), *self.bounds)
        items = np.empty(self.items.n_parameters)
        for kind in self.items.kinds:
            p, r, n = cells[kind.cells], right[kind.cells], answered[kind.cells]
            if not kind.link:
                items[kind.parameters] = (r - n * p) @ kind.design
                continue
            slope = inverse_link(kind.link, parameters.items[kind.parameters] @ kind.design.T)[1]
            items[kind.parameters] = ((r - n * p) / (p * (1.0 - p)) * slope) @ kind.design
        structural = np.einsum("gl,glp->p", expected.class_counts, self.populations.scores(parameters.structural))
        return np.concatenate([items, structural])


@dataclass(frozen=True, slots=True)
class Solution:
    """Where EM ended."""

    parameters: Parameters
    expected: ClassExpectation
    converged: bool
    n_iterations: int
    remaining: float
    trace: tuple[float, ...]

    @property
    def log_likelihood(self) -> float:
        """Log-likelihood at the end."""
        return self.expected.log_likelihood


def run_em(
    problem: Problem,
    start: Parameters,
    tolerance: float = DEFAULT_TOLERANCE,
    max_iterations: int = DEFAULT_MAX_ITERATIONS,
    memory: int = MEMORY,
) -> Solution:
    """Maximise from one start.

    Parameters
    ----------
    problem : Problem
    start : Parameters
    tolerance : float
        Log-likelihood that may be left to gain.
    max_iterations : int
    memory : int
        Earlier steps that are combined; 0 for plain EM.

    Returns
    -------
    Solution
    """
    at, expected = start, problem.expect(start)
    flat = problem.flatten(at)
    trace = [expected.log_likelihood]
    points: list[FloatArray] = []
    steps: list[FloatArray] = []
    remaining, confirmed, iteration = np.inf, 0, 0
    while iteration < max_iterations:
        after = problem.maximise(at, expected)
        step = problem.flatten(after) - flat
        metric = problem.metric(at, expected)
        points.append(flat)
        steps.append(step)
        del points[: -memory - 1], steps[: -memory - 1]
        accelerated = _combine(points, steps, np.sqrt(metric)) if len(steps) > 1 else step
        gradient = problem.gradient(at, expected)
        moving = step != 0.0
        remaining = 0.5 * abs(float(gradient[moving] @ accelerated[moving]))
        remaining = max(remaining, 0.5 * float(metric @ step**2))
        confirmed = confirmed + 1 if remaining < tolerance else 0
        if confirmed >= CONFIRMATIONS:
            break
        iteration += 1
        slack = ROUNDING * abs(expected.log_likelihood)
        trial = problem.restore(flat + accelerated) if len(steps) > 1 else None
        moved = problem.expect(trial) if trial is not None else None
        if trial is None or moved is None or not moved.log_likelihood >= expected.log_likelihood - slack:
            trial, moved = after, problem.expect(after)
            if len(steps) > 1:
                points.clear()
                steps.clear()
        at, expected, flat = trial, moved, problem.flatten(trial)
        trace.append(expected.log_likelihood)
    return Solution(at, expected, confirmed >= CONFIRMATIONS, iteration, remaining, tuple(trace))


def _combine(points: list[FloatArray], steps: list[FloatArray], scale: FloatArray) -> FloatArray:
    """Anderson's step from the last point: f - (dX + dF) gamma, gamma by least squares on the scaled residuals."""
    newest = steps[-1]
    residuals = np.array([b - a for a, b in itertools.pairwise(steps)]).T
    moves = np.array([b - a for a, b in itertools.pairwise(points)]).T
    gamma, *_ = np.linalg.lstsq(residuals * scale[:, None], newest * scale, rcond=1e-10)
    combined: FloatArray = newest - (moves + residuals) @ gamma
    return combined


def held_on_bound(problem: Problem, parameters: Parameters) -> BoolArray:
    """Return which entries of the flat vector rest on a bound."""
    low, high = problem.bounds
    items = np.zeros(problem.items.n_parameters, dtype=bool)
    cells = problem.items.cells(parameters.items)
    for kind in problem.items.kinds:
        if not kind.link:
            own = parameters.items[kind.parameters]
            items[kind.parameters] = (own <= low * (1 + 1e-6)) | (own >= high - 1e-6 * low)
            if problem.monotone:
                items[kind.parameters] |= pooled(own, kind.order_attributes)
        else:
            p = cells[kind.cells]
            items[kind.parameters] = np.any((p < low * 1.02) | (p > high - 0.02 * low), axis=1)[:, None]
            if problem.monotone:
                items[kind.parameters[:, 1:]] |= parameters.items[kind.parameters[:, 1:]] <= 0.0
    return np.concatenate([items, problem.populations.on_bound(parameters.structural)])
