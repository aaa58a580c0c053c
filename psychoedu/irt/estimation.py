"""Maximum of the marginal likelihood by Newton steps on representative respondents.

Each iteration runs one E-step over everyone, which gives the log-likelihood and its exact gradient (Fisher's identity: the
expected complete-data score, which the M-step of Bock & Aitkin, 1981, sets to zero). The step solves with an approximation of the
observed information (:mod:`.information`) made from a few dozen representative respondents, corrected by the gradient differences
of the last steps (L-BFGS; Nocedal & Wright, 2006, algorithm 7.4). The matrix is so near the exact one that six E-steps usually
reach the maximum to eight figures where EM needs a hundred; a step that would lower the log-likelihood is halved, so that the
trace never falls.

The stopping rule bounds the distance to the maximum and not the last step: half the Newton decrement, g' H^-1 g / 2, is the
log-likelihood still to be gained (Boyd & Vandenberghe, 2004, section 9.5.1), and the parameters are then within
sqrt(2 tol) of their standard errors from the maximum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import csc_array, diags_array
from scipy.sparse.linalg import splu

from psychoedu._typing import BoolArray, FloatArray
from psychoedu.irt.information import N_REPRESENTATIVES
from psychoedu.irt.objective import Evaluation, Objective

DEFAULT_TOLERANCE = 1e-7
DEFAULT_MAX_ITERATIONS = 500
LARGEST_SLOPE = 25.0
DENSE_LIMIT = 2500
"""With more free parameters than this the missing information, small in so long a test, is left out of the Newton matrix."""
LARGEST_STEP = 1.0
REFRESHES = 2
"""The Newton matrix is remade in the first iterations, when a step was halved or met a bound, and always where it is exact."""
SLOW, EVERY = 20, 4
"""After ``SLOW`` iterations the estimation is on a ridge, where the exact information pays: it is made after every ``EVERY``."""
MEMORY = 8
HALVINGS = 40
ROUNDING = 2e-13
"""Relative size of the log-likelihood's own rounding: falls below it are not falls."""

Solver = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, slots=True)
class Fit:
    """Where the estimation ended."""

    at: Evaluation
    converged: bool
    n_iterations: int
    remaining: float
    trace: tuple[float, ...]
    on_bound: BoolArray


def maximise(
    objective: Objective,
    start: FloatArray,
    tolerance: float = DEFAULT_TOLERANCE,
    max_iterations: int = DEFAULT_MAX_ITERATIONS,
    smallest_slope: float = -LARGEST_SLOPE,
    report: Callable[[int, float, float], None] | None = None,
    verify: bool = False,
) -> Fit:
    """Maximise the objective from a start.

    Parameters
    ----------
    objective : Objective
    start : (p,) array
    tolerance : float
        Largest gain in log-likelihood that may be left.
    max_iterations : int
        Steps accepted at the most.
    smallest_slope : float
        Lower bound of every discrimination; the upper one is ``LARGEST_SLOPE``.
    report : callable, optional
        Called with iteration, objective and remaining gain.
    verify : bool
        Take the decrement that ends the estimation from the exact information, and go on with that where it asks for more.

    Returns
    -------
    Fit
    """
    lower, upper = objective.bounds(LARGEST_SLOPE, smallest_slope)
    at = objective.evaluate(np.clip(start, lower, upper))
    trace = [at.objective]
    held = _held(at, lower, upper)
    pairs: list[tuple[FloatArray, FloatArray]] = []
    small = objective.data.n_rows <= N_REPRESENTATIVES  # the matrix is exact, for next to nothing
    solve, is_exact = newton_solver(objective, at, held), small
    iteration, remaining, converged = 0, np.inf, at.free.size == 0
    while not converged:
        gradient = np.where(held, 0.0, at.gradient)
        step = _quasi_newton(solve, gradient, pairs)
        remaining = 0.5 * float(gradient @ step)
        if remaining <= 0.0 and gradient.any():  # the correction lost positive definiteness: drop it
            pairs.clear()
            step = solve(gradient)
            remaining = 0.5 * float(gradient @ step)
        if remaining < tolerance and verify and not is_exact and _can_be_exact(objective):
            solve, is_exact = newton_solver(objective, at, held, exact=True), True
            pairs.clear()
            step = solve(gradient)
            remaining = 0.5 * float(gradient @ step)
        if report is not None:
            report(iteration, at.objective, remaining)
        if remaining < tolerance:
            converged = True
            break
        if iteration >= max_iterations:
            break
        after, was_halved = _line_search(objective, at, step, lower, upper)
        if after is None and pairs:
            pairs.clear()
            after, was_halved = _line_search(objective, at, solve(gradient), lower, upper)
        if after is None:  # no ascent left in the arithmetic
            converged = remaining < max(tolerance, 1e3 * ROUNDING * abs(at.objective))
            break
        iteration += 1
        trace.append(after.objective)
        now_held = _held(after, lower, upper)
        changed = was_halved or bool((now_held != held).any())
        slow = iteration > SLOW and _can_be_exact(objective)
        change, difference = after.free - at.free, at.gradient - after.gradient
        at, held = after, now_held
        if small or changed or iteration <= REFRESHES or (slow and iteration % EVERY == 0):
            pairs.clear()
            left = np.where(held, 0.0, at.gradient)
            if changed or slow or 0.5 * float(left @ solve(left)) > tolerance:  # else the old matrix serves for the last word
                solve, is_exact = newton_solver(objective, at, held, exact=slow and not small), slow or small
            continue
        is_exact = False
        if float(change @ difference) > 1e-12 * float(np.linalg.norm(change) * np.linalg.norm(difference)):
            pairs.append((change, difference))
            del pairs[:-MEMORY]
    return Fit(
        at, converged, iteration, max(remaining, 0.0) if at.free.size else 0.0, tuple(trace), _touching(at.free, lower, upper)
    )


def _can_be_exact(objective: Objective) -> bool:
    return objective.parameters.n_free <= DENSE_LIMIT


def newton_solver(objective: Objective, at: Evaluation, held: BoolArray, exact: bool = False) -> Solver:
    """Return x -> H^-1 x, H being the observed information with the held parameters taken out, exact or from representatives."""
    n_free = objective.parameters.n_free
    if n_free > DENSE_LIMIT:
        return _sparse_solver(objective.complete_sparse(at), held)
    complete = objective.complete(at)
    missing = objective.missing(at, exact=exact)
    shrink = 1.0
    while shrink > 0.05:
        factor = _factor(complete - shrink * missing, held)
        if factor is not None:
            return factor
        shrink *= 0.85  # far from the maximum the information need not be positive definite; the complete one is
    ridge = 0.0
    while True:
        factor = _factor(complete + ridge * np.eye(n_free), held)
        if factor is not None:
            return factor
        ridge = max(10.0 * ridge, 1e-8 * float(np.abs(np.diag(complete)).max()), 1e-8)


def _sparse_solver(complete: csc_array, held: BoolArray) -> Solver:
    keep = diags_array(np.where(held, 0.0, 1.0))
    diagonal = np.abs(complete.diagonal())
    ridge = np.where(held, 1.0, 1e-10 * diagonal + 1e-10)
    factor = splu((keep @ complete @ keep + diags_array(ridge)).tocsc())

    def solve(right_side: FloatArray) -> FloatArray:
        solution: FloatArray = factor.solve(np.where(held, 0.0, right_side))
        return solution

    return solve


def _factor(matrix: FloatArray, held: BoolArray) -> Solver | None:
    if held.any():
        matrix = matrix.copy()
        matrix[held] = 0.0
        matrix[:, held] = 0.0
        matrix[held, held] = 1.0
    try:
        factor = cho_factor(matrix, lower=True, check_finite=False)
    except LinAlgError:
        return None
    if not np.isfinite(factor[0]).all():
        return None

    def solve(right_side: FloatArray) -> FloatArray:
        solution: FloatArray = cho_solve(factor, np.where(held, 0.0, right_side), check_finite=False)
        return solution

    return solve


def _held(at: Evaluation, lower: FloatArray, upper: FloatArray) -> BoolArray:
    """Parameters that rest on a bound and are pushed against it."""
    held: BoolArray = ((at.free <= lower) & (at.gradient <= 0.0)) | ((at.free >= upper) & (at.gradient >= 0.0))
    return held


def _touching(free: FloatArray, lower: FloatArray, upper: FloatArray) -> BoolArray:
    """Parameters on a bound or within a millionth of it, where the likelihood is flat."""
    touching: BoolArray = np.zeros(free.size, dtype=bool)
    for bound in (lower, upper):
        some = np.isfinite(bound)
        touching[some] |= np.abs(free[some] - bound[some]) <= 1e-6 * np.abs(bound[some])
    return touching


def _quasi_newton(solve: Solver, gradient: FloatArray, pairs: list[tuple[FloatArray, FloatArray]]) -> FloatArray:
    """Two-loop recursion with ``solve`` as the initial inverse matrix."""
    direction = gradient.copy()
    kept = []
    for change, difference in reversed(pairs):
        rho = 1.0 / float(change @ difference)
        alpha = rho * float(change @ direction)
        kept.append((change, difference, rho, alpha))
        direction -= alpha * difference
    direction = solve(direction)
    for change, difference, rho, alpha in reversed(kept):
        direction += change * (alpha - rho * float(difference @ direction))
    return direction


def _line_search(
    objective: Objective, at: Evaluation, step: FloatArray, lower: FloatArray, upper: FloatArray
) -> tuple[Evaluation | None, bool]:
    longest = float(np.abs(step).max())
    length = min(1.0, LARGEST_STEP / longest) if longest > 0 else 1.0
    slack = ROUNDING * abs(at.objective)
    for halving in range(HALVINGS):
        free = np.clip(at.free + length * step, lower, upper)
        if (free == at.free).all():
            break
        after = objective.evaluate(free)
        if np.isfinite(after.objective) and after.objective >= at.objective - slack:
            return after, halving > 0
        length *= 0.5
    return None, True
