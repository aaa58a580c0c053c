"""One cognitive diagnosis fit on plain arrays: several starts, the best finished, orientation, covariance."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from psychoedu._typing import BoolArray, FloatArray, IntArray
from psychoedu.cdm.em import Parameters, Problem, Solution, held_on_bound, run_em
from psychoedu.cdm.information import information_covariance
from psychoedu.cdm.item_step import DEFAULT_BOUNDS, Bounds
from psychoedu.cdm.models import Designs, item_structure, link
from psychoedu.cdm.newton import MOST_WORK, information_work, newton_finish
from psychoedu.cdm.populations import Populations, Separate, SharedHigherOrder
from psychoedu.cdm.profiles import ProfileArray
from psychoedu.cdm.starts import first_start, from_cells, random_start
from psychoedu.cdm.structures import HigherOrder, Independent, Saturated
from psychoedu.irt.blocks import ResponseBlocks

SHORT_ITERATIONS = 14
"""Accelerated EM iterations before Newton steps take over, where they can."""
NO_MEMBERS = 1e-6
MOST_REVIVALS = 5
EM_BETWEEN = 100
"""EM iterations where Newton steps came to a halt, before they are tried again; twice as many every time."""
UNPROVED = 0.01
"""EM's own estimate of what is left, short by hundreds of times on a ridge, ends a fit only below this share of the tolerance."""
START_TOLERANCE = 1e-2
START_ITERATIONS = 200
REACHED = 0.05
"""Starts that end within this of the best log-likelihood are said to have reached it."""
NEAR = 2.0
"""Starts within this are near-best: how far they agree on the classification is reported."""
MOST_RIVALS = 12
"""At most so many of them are finished."""
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CdmSettings:
    """What to fit and how; see ``diagnose`` for the meaning."""

    models: tuple[str, ...]
    structure: str = "higher-order"
    higher_order: str = "2pl"
    group_structure: str = "separate"
    n_points: int = 61
    bounds: Bounds = DEFAULT_BOUNDS
    slope_bounds: tuple[float, float] = (0.1, 5.0)
    intercept_bounds: tuple[float, float] = (-4.0, 4.0)
    tolerance: float = 1e-6
    max_iterations: int = 3000
    n_starts: int = 3
    standard_errors: str | None = "oakes"
    permitted: BoolArray | None = None
    monotone: bool = False
    designs: Designs | None = None


@dataclass(frozen=True, slots=True)
class StartResult:
    """How one start ended."""

    name: str
    log_likelihood: float
    n_iterations: int
    agreement: float


@dataclass(frozen=True, slots=True)
class CdmFit:
    """Estimates on plain arrays."""

    problem: Problem
    solution: Solution
    starts: tuple[StartResult, ...]
    on_bound: BoolArray
    covariance: FloatArray | None
    reason: str

    @property
    def cells(self) -> FloatArray:
        """Success probabilities of all reduced patterns."""
        return np.clip(self.problem.items.cells(self.solution.parameters.items), *self.problem.bounds)

    @property
    def log_prior(self) -> FloatArray:
        """Log class probabilities, (G, L)."""
        return self.problem.populations.log_prior(self.solution.parameters.structural)


def populations_for(settings: CdmSettings, alpha: ProfileArray, n_groups: int) -> Populations:
    """Return the structural models of all groups."""
    if settings.structure == "higher-order":
        base = HigherOrder(alpha, settings.higher_order, settings.n_points, settings.slope_bounds, settings.intercept_bounds)
        if n_groups > 1 and settings.group_structure == "theta":
            return SharedHigherOrder(base, n_groups)
        return Separate((base,) * n_groups)
    if settings.structure == "independent":
        return Separate((Independent(alpha),) * n_groups)
    permitted = np.ones(len(alpha), dtype=bool) if settings.permitted is None else settings.permitted
    return Separate((Saturated(permitted),) * n_groups)


def fit_cdm(
    data: ResponseBlocks,
    q_values: ProfileArray,
    alpha: ProfileArray,
    settings: CdmSettings,
    rng: np.random.Generator,
    further_starts: Sequence[tuple[str, FloatArray, FloatArray]] = (),
) -> CdmFit:
    """Fit by maximum likelihood from several starts.

    Parameters
    ----------
    data : ResponseBlocks
    q_values : (J, K) array of 0 and 1
    alpha : (L, K) array
    settings : CdmSettings
    rng : Generator
        Draws the random starts.
    further_starts : sequence of (name, cells, structural)
        Success probabilities and structural parameters of other solutions to start from as well.

    Returns
    -------
    CdmFit
    """
    items = item_structure(q_values, settings.models, alpha, settings.designs)
    populations = populations_for(settings, alpha, data.n_groups)
    problem = Problem(data, items, populations, settings.bounds, settings.monotone)
    candidates = [("first", first_start(problem))]
    candidates += [(f"random {k}", random_start(problem, rng)) for k in range(1, settings.n_starts)]
    candidates += [(name, from_cells(problem, cells, structural)) for name, cells, structural in further_starts]
    if settings.structure == "saturated" and settings.n_starts > 1 and settings.permitted is None and alpha.shape[1] > 1:
        candidates.append(_higher_order_start(problem, data, alpha, settings))
    if len(candidates) == 1:
        solution = finish(problem, candidates[0][1], settings)
        results: tuple[StartResult, ...] = (StartResult("first", solution.log_likelihood, solution.n_iterations, 1.0),)
    else:
        solution, results = _best_of(problem, candidates, settings)
    solution = replace(solution, parameters=orient(problem, solution.parameters, alpha, settings))
    solution = replace(solution, expected=problem.expect(solution.parameters))
    on_bound = held_on_bound(problem, solution.parameters)
    covariance, reason = None, ""
    if settings.standard_errors is not None:
        covariance, reason = information_covariance(
            problem, solution.parameters, solution.expected, on_bound, settings.standard_errors
        )
    logger.info("log-likelihood %.6f after %d iterations", solution.log_likelihood, solution.n_iterations)
    return CdmFit(problem, solution, results, on_bound, covariance, reason)


def _best_of(
    problem: Problem, candidates: Sequence[tuple[str, Parameters]], settings: CdmSettings
) -> tuple[Solution, tuple[StartResult, ...]]:
    """Run all starts short of the end, finish the best, and those so near that they might yet overtake it."""
    runs = [run_em(problem, start, START_TOLERANCE, START_ITERATIONS) for _, start in candidates]
    ranked = sorted(range(len(runs)), key=lambda k: -runs[k].log_likelihood)
    best = ranked[0]
    highest = runs[best].log_likelihood
    rivals = [k for k in ranked[1:] if highest - NEAR < runs[k].log_likelihood <= highest - REACHED]
    for k in [best, *rivals[:MOST_RIVALS]]:
        ended = finish(problem, runs[k].parameters, settings)
        runs[k] = replace(ended, n_iterations=runs[k].n_iterations + ended.n_iterations)
    best = max(range(len(runs)), key=lambda k: runs[k].log_likelihood)
    results = (
        StartResult(name, run.log_likelihood, run.n_iterations, _agreement(run, runs[best]))
        for (name, _), run in zip(candidates, runs, strict=True)
    )
    return runs[best], tuple(results)


def finish(problem: Problem, start: Parameters, settings: CdmSettings) -> Solution:
    """Run one start to the end; go on where a class that was given up would raise the log-likelihood after all."""
    solution = _run_to_the_end(problem, start, settings)
    for _ in range(MOST_REVIVALS):
        revived = _revived(problem, solution, settings.tolerance)
        if revived is None or solution.n_iterations >= settings.max_iterations:
            break
        left = replace(settings, max_iterations=settings.max_iterations - solution.n_iterations)
        more = _run_to_the_end(problem, revived, left)
        solution = replace(more, n_iterations=solution.n_iterations + more.n_iterations, trace=solution.trace + more.trace)
    return solution


def _run_to_the_end(problem: Problem, start: Parameters, settings: CdmSettings) -> Solution:
    """Run accelerated EM, and Newton steps where it is slow and they can be afforded."""
    affordable = information_work(problem) <= MOST_WORK
    first = min(SHORT_ITERATIONS, settings.max_iterations) if affordable else settings.max_iterations
    solution = run_em(problem, start, settings.tolerance, first)
    if not affordable or solution.n_iterations >= settings.max_iterations:
        return solution
    if solution.converged and solution.remaining < UNPROVED * settings.tolerance:
        return solution
    solution, between = newton_finish(problem, solution, settings.tolerance), EM_BETWEEN
    while not solution.converged and solution.n_iterations < settings.max_iterations:
        n_left = settings.max_iterations - solution.n_iterations
        more = run_em(problem, solution.parameters, UNPROVED * settings.tolerance, min(between, n_left))
        more = replace(more, n_iterations=solution.n_iterations + more.n_iterations, trace=solution.trace + more.trace[1:])
        if more.converged:  # where the information is singular Newton steps have nothing to prove
            return more
        solution, between = newton_finish(problem, more, settings.tolerance), 2 * between
    return solution


def _revived(problem: Problem, solution: Solution, tolerance: float) -> Parameters | None:
    """Return parameters with a higher log-likelihood in which classes have members that had none, or None.

    The likelihood is concave in the class probabilities: a class without members belongs there only if its expected count is no
    larger than its probability says. EM needs for ever to bring it back.
    """
    populations = problem.populations
    if not isinstance(populations, Separate) or not isinstance(populations.structures[0], Saturated):
        return None
    prior = np.exp(populations.log_prior(solution.parameters.structural))
    counts = solution.expected.class_counts
    growth = counts / (counts.sum(axis=1, keepdims=True) * np.maximum(prior, 1e-300))
    starved = (prior > 0) & (prior < NO_MEMBERS) & (growth > 1.0 + 1e-3)
    if not starved.any():
        return None
    for size in (1e-2, 1e-3, 1e-4, 1e-5):
        mixed = np.where(starved, prior + size, prior)
        steps = zip(populations.structures, populations.parts(), mixed, strict=True)
        structural = np.concatenate([one.step(solution.parameters.structural[part], counts) for one, part, counts in steps])
        parameters = Parameters(solution.parameters.items, structural)
        if problem.expect(parameters).log_likelihood > solution.log_likelihood + tolerance:
            return parameters
    return None


def _higher_order_start(
    problem: Problem, data: ResponseBlocks, alpha: ProfileArray, settings: CdmSettings
) -> tuple[str, Parameters]:
    """Return the nested higher-order solution as a start, so that a saturated fit never ends below it."""
    form = "common-slope" if alpha.shape[1] == 2 else "2pl"
    nested = replace(settings, structure="higher-order", higher_order=form, standard_errors=None)
    smaller = Problem(data, problem.items, populations_for(nested, alpha, data.n_groups), settings.bounds, settings.monotone)
    solution = run_em(smaller, first_start(smaller), START_TOLERANCE, START_ITERATIONS)
    log_prior = smaller.populations.log_prior(solution.parameters.structural)
    logs = log_prior[:, 1:] - log_prior[:, :1]
    return "higher-order", Parameters(solution.parameters.items, problem.populations.clip(logs.ravel()))


def _agreement(run: Solution, best: Solution) -> float:
    """Return how alike two solutions' class sizes are: 1 less half the sum of absolute differences."""
    one, other = run.expected.class_counts.sum(axis=0), best.expected.class_counts.sum(axis=0)
    return float(1.0 - 0.5 * np.abs(one / one.sum() - other / other.sum()).sum())


def orient(problem: Problem, parameters: Parameters, alpha: ProfileArray, settings: CdmSettings) -> Parameters:
    """Return the equal solution in which mastery of every attribute raises the probability of success, on the whole.

    Reversing an attribute in all its items leaves a saturated or independent model's likelihood as it is, reversing all with
    negated intercepts that of a higher-order one. DINA and DINO have no such twin where items have several attributes.
    """
    if any(kind.model in ("DINA", "DINO") for kind in problem.items.kinds) or settings.permitted is not None:
        return parameters
    success = problem.items.success(problem.items.cells(parameters.items))
    helps = np.array([success[:, alpha[:, k] == 1].sum() - success[:, alpha[:, k] == 0].sum() for k in range(alpha.shape[1])])
    flipped = np.full(alpha.shape[1], bool(helps.sum() < 0)) if settings.structure == "higher-order" else helps < 0
    if not flipped.any():
        return parameters
    turned = alpha ^ flipped.astype(np.int8)
    powers = 2 ** np.arange(alpha.shape[1])
    place = np.empty(len(alpha), dtype=np.int64)
    place[alpha @ powers] = np.arange(len(alpha))
    order: IntArray = place[turned @ powers]
    cells = np.empty(problem.items.n_cells)
    cells[problem.items.cell_of] = success[:, order]
    turned_items = np.empty_like(parameters.items)
    for kind in problem.items.kinds:  # exactly, also on bounds: additive models stay additive when attributes are reversed
        values = link(kind.link, cells[kind.cells]) if kind.link else cells[kind.cells]
        turned_items[kind.parameters] = values @ np.linalg.pinv(kind.design).T
    return Parameters(turned_items, _turn(problem, parameters, order, flipped, settings))


def _turn(problem: Problem, parameters: Parameters, order: IntArray, flipped: BoolArray, settings: CdmSettings) -> FloatArray:
    structural = parameters.structural.copy()
    if settings.structure == "saturated":
        logs = problem.populations.log_prior(structural)[:, order]
        return np.asarray((logs[:, 1:] - logs[:, :1]).ravel())
    k = flipped.size
    if settings.structure == "independent":
        return np.asarray((structural.reshape(-1, k) * np.where(flipped, -1.0, 1.0)).ravel())
    populations = problem.populations
    if isinstance(populations, SharedHigherOrder):
        base, others = populations.base, populations.n_groups - 1
        structural[base.n_slopes : base.n_parameters + others] *= -1.0  # intercepts and means
        return structural
    assert isinstance(populations, Separate)
    for one, part in zip(populations.structures, populations.parts(), strict=True):
        assert isinstance(one, HigherOrder)
        structural[part.start + one.n_slopes : part.stop] *= -1.0
    return structural
