"""Newton steps on the exact marginal likelihood: the end of a slow fit, and the proof that a fit has ended.

EM, accelerated or not, crawls along the ridges that attribute models have (slopes near their bound, attributes that hardly
depend on each other). There the observed information (:mod:`.information`) costs a few E-steps and gives the maximum in a
handful of them. Parameters on a bound and pushed against it are held (Bertsekas, 1982, SIAM J. Control and Optimization 20,
221-246). Additive items have linear bounds instead, one for every pattern's probability: those that an item rests on enter by
their multipliers (as in a primal-dual interior method: Nocedal & Wright, 2006, Numerical Optimization, 2nd ed., section 19.3),
and each item's step ends inside of all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import nnls

from psychoedu._typing import BoolArray, FloatArray, IntArray
from psychoedu.cdm.em import Parameters, Problem, Solution, held_on_bound
from psychoedu.cdm.information import complete_information, observed_information
from psychoedu.cdm.item_step import TO_THE_WALL
from psychoedu.cdm.likelihood import ClassExpectation
from psychoedu.cdm.models import inverse_link, link

MOST_STEPS = 25
HALVINGS = 25
LARGEST_STEP = 2.0
MOST_WORK = 4e10
"""Floating-point operations that one observed information may cost; larger problems are left to EM."""
ROUNDING = 1e-12
AT_THE_WALL = 0.02
"""An additive item rests on a bound where a probability is this near to it, as a share of the lower bound."""
LEAST_ROOM = 1e-9
"""Nearer to a bound than this a step does not go on: rounding would cross it."""
MOST_BARRED = 8
WORTHWHILE = 8.0
"""The information is made anew once a step with the old one brings the decrement down by less than this factor."""


def information_work(problem: Problem) -> float:
    """Return the operations of one observed information, about 2 N J^2 L + N C p."""
    n_items, n_classes = problem.items.cell_of.shape
    n_rows = problem.data.n_rows
    return float(2.0 * n_rows * n_items**2 * n_classes + 2.0 * n_rows * problem.items.n_cells * problem.items.n_parameters)


def newton_finish(problem: Problem, solution: Solution, tolerance: float, most_steps: int = MOST_STEPS) -> Solution:
    """Go on from a solution by Newton steps until the exact decrement bounds what is left to gain.

    Parameters
    ----------
    problem : Problem
    solution : Solution
    tolerance : float
    most_steps : int

    Returns
    -------
    Solution
        Never with a lower log-likelihood; ``converged`` only where the decrement is below the tolerance.
    """
    at, expected = solution.parameters, solution.expected
    trace = list(solution.trace)
    remaining, converged, steps = np.inf, False, 0
    information: tuple[FloatArray, FloatArray] | None = None
    while True:
        gradient = problem.gradient(at, expected)
        held, rests = _held(problem, at, gradient), _rests(problem, at)
        before = remaining
        if information is not None:  # the last one serves while it works
            step = _direction(information, rests, gradient, held)
            remaining = 0.5 * float(gradient @ step)
        if information is None or remaining > before / WORTHWHILE:
            information = observed_information(problem, at, expected), complete_information(problem, at, expected)
            step = _direction(information, rests, gradient, held)
            remaining = 0.5 * float(gradient @ step)
        if remaining < tolerance:
            converged = True
            break
        if steps >= most_steps:
            break
        moved = _line_search(problem, at, expected.log_likelihood, _short_of_walls(problem, at, step))
        if moved is None:
            break
        at, expected = moved
        trace.append(expected.log_likelihood)
        steps += 1
    return replace(
        solution,
        parameters=at,
        expected=expected,
        converged=converged,
        n_iterations=solution.n_iterations + steps,
        remaining=max(remaining, 0.0),
        trace=tuple(trace),
    )


def _newton_step(
    information: tuple[FloatArray, FloatArray], walls: FloatArray, gradient: FloatArray, held: BoolArray
) -> FloatArray:
    free = ~held
    observed, complete = (matrix[np.ix_(free, free)] for matrix in information)
    observed = observed + walls[np.ix_(free, free)]
    diagonal = np.maximum(np.diag(complete), 1e-8)
    share = 1e-10
    step = np.zeros_like(gradient)
    while True:  # a ridge of a share of the complete information, larger until the matrix is positive definite
        try:
            factor = cho_factor(observed + share * np.diag(diagonal), check_finite=False)
        except LinAlgError:
            share *= 100.0
            continue
        step[free] = cho_solve(factor, gradient[free], check_finite=False)
        return step


def _held(problem: Problem, at: Parameters, gradient: FloatArray) -> BoolArray:
    """Return what rests on a bound of its own and is pushed against it; empty classes are always held, additive items never."""
    on_bound = held_on_bound(problem, at)
    flat = problem.flatten(at)
    n_items = problem.items.n_parameters
    for kind in problem.items.kinds:
        if kind.link:
            on_bound[kind.parameters.ravel()] = False
    outward = np.zeros(flat.size, dtype=bool)
    outward[:n_items] = gradient[:n_items] * flat[:n_items] >= 0  # logit of the low bound is negative, of the high one positive
    outward[n_items:] = problem.populations.pushed_out(at.structural, gradient[n_items:])
    return on_bound & outward


@dataclass(frozen=True, slots=True)
class _Rest:
    """An additive item on bounds: its parameters, the outward normals of those bounds, and the room left to each."""

    own: IntArray
    normals: FloatArray
    room: FloatArray


def _rests(problem: Problem, at: Parameters) -> list[_Rest]:
    low, high = problem.bounds
    found = []
    for kind in problem.items.kinds:
        if not kind.link:
            continue
        eta = at.items[kind.parameters] @ kind.design.T
        p = inverse_link(kind.link, eta)[0]
        is_low = p < low * (1.0 + AT_THE_WALL)
        near = is_low | (p > high - AT_THE_WALL * low)
        edges = [float(link(kind.link, np.array(bound))) for bound in problem.bounds]
        for m in np.flatnonzero(near.any(axis=1)):
            rows = np.flatnonzero(near[m])
            down = is_low[m, rows]
            room = np.where(down, eta[m, rows] - edges[0], edges[1] - eta[m, rows])
            found.append(_Rest(kind.parameters[m], kind.design[rows] * np.where(down, -1.0, 1.0)[:, None], room))
    return found


def _direction(
    information: tuple[FloatArray, FloatArray], rests: list[_Rest], gradient: FloatArray, held: BoolArray
) -> FloatArray:
    """Return the Newton step on the bounds that additive items rest on.

    A bound that the gradient pushes against adds its multiplier over the room left, so that the step ends there and the decrement
    counts what that room is worth; one that the step would cross all the same is barred, and the step made anew.
    """
    walls = np.zeros((gradient.size, gradient.size))
    for rest in rests:
        pressed = nnls(rest.normals.T, gradient[rest.own])[0]
        stiff = np.where(rest.room > LEAST_ROOM, pressed / np.maximum(rest.room, LEAST_ROOM), 1e3 * pressed / LEAST_ROOM)
        walls[np.ix_(rest.own, rest.own)] += (rest.normals.T * stiff) @ rest.normals
    barred = [np.zeros(rest.room.size, dtype=bool) for rest in rests]
    for _ in range(MOST_BARRED):
        step = _newton_step(information, walls, gradient, held)
        crossed = False
        for rest, bars in zip(rests, barred, strict=True):
            new = (rest.normals @ step[rest.own] > rest.room) & ~bars
            if new.any():
                crossed = True
                bars |= new
                hard = 1e6 * float(np.diag(information[1])[rest.own].max() + 1.0)
                walls[np.ix_(rest.own, rest.own)] += hard * rest.normals[new].T @ rest.normals[new]
        if not crossed:
            break
    for rest, bars in zip(rests, barred, strict=True):
        if bars.any():
            normals = rest.normals[bars]
            step[rest.own] -= np.linalg.pinv(normals) @ (normals @ step[rest.own])
    return step


def _short_of_walls(problem: Problem, at: Parameters, step: FloatArray) -> FloatArray:
    """Return the step with every additive item's part shortened to end inside its bounds."""
    out = step.copy()
    for kind in problem.items.kinds:
        if not kind.link:
            continue
        low, high = (float(link(kind.link, np.array(bound))) for bound in problem.bounds)
        eta, change = at.items[kind.parameters] @ kind.design.T, step[kind.parameters] @ kind.design.T
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(change > 1e-14, (high - eta) / change, np.where(change < -1e-14, (low - eta) / change, np.inf))
        out[kind.parameters] *= np.minimum(1.0, TO_THE_WALL * room.min(axis=1))[:, None]
    return out


def _line_search(
    problem: Problem, at: Parameters, log_likelihood: float, step: FloatArray
) -> tuple[Parameters, ClassExpectation] | None:
    flat = problem.flatten(at)
    length = min(1.0, LARGEST_STEP / max(float(np.abs(step).max()), 1e-300))
    for _ in range(HALVINGS):
        trial = problem.restore(flat + length * step)
        if trial is not None:
            expected = problem.expect(trial)
            if expected.log_likelihood >= log_likelihood - ROUNDING * abs(log_likelihood):
                return trial, expected
        length *= 0.5
    return None
