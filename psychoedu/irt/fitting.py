"""One calibration on plain arrays: arrange, start, maximise, check the quadrature, orient, invert the information."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from psychoedu._typing import BoolArray, CodeArray, FloatArray, IntArray
from psychoedu.irt.blocks import arrange
from psychoedu.irt.covariance import EstimateCovariance, estimate_covariance
from psychoedu.irt.estimation import LARGEST_SLOPE, Fit, maximise
from psychoedu.irt.objective import Objective
from psychoedu.irt.parameters import ParameterMap, parameter_map
from psychoedu.irt.priors import Priors
from psychoedu.irt.quadrature import DEFAULT_RANGE, SPACING_PER_SD, SPACING_TIMES_SLOPE, equally_spaced, points_for
from psychoedu.irt.starting_values import starting_values

LARGEST_QUADRATURE_ERROR = 1e-4
"""Log-likelihood units that the spacing of the nodes may cost before nodes are added."""
TAIL_SDS = 4.0
FULL_SDS = 6.5
"""Standard deviations of each group that the nodes must cover, and that they are made to cover where they do not."""
LARGEST_TAIL_COUNT = 0.02
"""Expected respondents of a group at an outermost node from which on the nodes are made to reach farther. (Less is left, so that
log-likelihoods on [-6, 6] are those of other programs.)"""
MOST_POINTS = 4001
SMALLEST_POSITIVE_SLOPE = 0.01
"""Lower bound of discriminations under a prior that lives on positive ones."""
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FitSettings:
    """What to fit and how; see ``calibrate`` for the meaning."""

    model: str
    n_points: int
    adapt_points: bool
    tolerance: float
    max_iterations: int
    standard_errors: str | None
    reference: int = 0
    priors: Priors | None = None


@dataclass(frozen=True, slots=True)
class FittedModel:
    """Estimates on plain arrays, with where they come from."""

    parameters: ParameterMap
    free: FloatArray
    fit: Fit
    covariance: EstimateCovariance | None
    nodes: FloatArray
    quadrature_error: float
    n_iterations: int
    n_evaluations: int
    n_rows: int

    @property
    def split(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Discriminations, intercepts, group means and group SDs."""
        discrimination, intercept, mean, log_sd = self.parameters.split(self.parameters.expand(self.free))
        return discrimination, intercept, mean, np.exp(log_sd)


def fit_model(
    scored: CodeArray,
    settings: FitSettings,
    weights: FloatArray | None = None,
    groups: IntArray | None = None,
    fixed: tuple[BoolArray, FloatArray, FloatArray] | None = None,
    report: Callable[[int, float, float], None] | None = None,
) -> FittedModel:
    """Estimate a model of the 2PL family by marginal maximum likelihood.

    Parameters
    ----------
    scored : (N, J) int8 array
        1, 0, negative for missing; no item constant unless it is fixed.
    settings : FitSettings
    weights : (N,) array, optional
    groups : (N,) int array, optional
    fixed : (which, discrimination, intercept), optional
        Items to keep, and the values to keep them at (read only where ``which``).
    report : callable, optional
        Called after each iteration with its number, the objective and the gain still expected.

    Returns
    -------
    FittedModel
    """
    data = arrange(scored, weights, groups)
    slope, intercept = starting_values(scored)
    which, start_mean, start_sd = None, 0.0, 1.0
    if fixed is not None:
        which = fixed[0]
        slope, intercept, start_mean, start_sd = _start_on_anchors(slope, intercept, fixed)
    positive = settings.priors is not None
    if positive:
        slope = np.where(np.zeros_like(slope, dtype=bool) if which is None else which, slope, np.maximum(slope, 0.3))
    parameters = parameter_map(settings.model, slope, intercept, data.n_groups, settings.reference, which, start_mean, start_sd)
    prior_weight = None
    if settings.priors is not None:
        estimated = np.ones(slope.size, dtype=bool) if which is None else ~which
        prior_weight = settings.priors.weights(estimated, settings.model == "1pl")
    smallest = SMALLEST_POSITIVE_SLOPE if positive else -LARGEST_SLOPE
    low, high = DEFAULT_RANGE
    if start_mean - TAIL_SDS * start_sd < low or start_mean + TAIL_SDS * start_sd > high:
        low, high = start_mean + low * start_sd, start_mean + high * start_sd
    nodes = equally_spaced(settings.n_points, low, high)
    start = parameters.start()
    evaluations = 0
    iterations = 0
    while True:
        objective = Objective(data, parameters, nodes, settings.priors, prior_weight)
        left = max(settings.max_iterations - iterations, 0)
        fit = maximise(objective, start, settings.tolerance, left, smallest, report, settings.standard_errors is not None)
        evaluations += objective.n_evaluations
        iterations += fit.n_iterations
        logger.info(
            "%d points: log-likelihood %.6f after %d iterations, %d E-steps; %.2g still to gain",
            nodes.size, fit.at.log_likelihood, iterations, evaluations, fit.remaining,
        )  # fmt: skip
        better = _better_nodes(nodes, fit, parameters) if settings.adapt_points and fit.converged else None
        if better is not None:
            nodes, start = better, fit.at.free
            continue
        mirrored = _mirrored(fit, parameters, settings, which)
        if mirrored is None:
            break
        start = mirrored
    covariance = None
    if settings.standard_errors is not None:
        covariance = estimate_covariance(objective, fit.at, settings.standard_errors, fit.on_bound)
    return FittedModel(
        parameters, fit.at.free, fit, covariance, nodes, fit.at.expected.quadrature_error, iterations, evaluations, data.n_rows
    )


def _start_on_anchors(
    slope: FloatArray, intercept: FloatArray, fixed: tuple[BoolArray, FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray, float, float]:
    """Bring starting values to the scale of the fixed items; return slopes, intercepts, and the population's mean and SD there.

    In a population N(mean, sd) an item a theta + d looks like slope a sd and intercept d + a mean to someone who takes the
    population for N(0, 1), as the starting values do.
    """
    which, kept_slope, kept_intercept = fixed
    mean, sd = 0.0, 1.0
    steep = which & (kept_slope != 0.0)
    if steep.any():
        a, d = kept_slope[steep], kept_intercept[steep]
        if a @ slope[steep] < 0.0:
            slope = -slope
        sd = float(np.clip(a @ slope[steep] / (a @ a), 0.02, 50.0))
        mean = float(a @ (intercept[steep] - d) / (a @ a))
        slope, intercept = slope / sd, intercept - slope / sd * mean
    return np.where(which, kept_slope, slope), np.where(which, kept_intercept, intercept), mean, sd


def _better_nodes(nodes: FloatArray, fit: Fit, parameters: ParameterMap) -> FloatArray | None:
    """Return nodes closer together or farther out where the fit shows the present ones to be wrong."""
    low, high = float(nodes[0]), float(nodes[-1])
    spacing = (high - low) / (nodes.size - 1)
    _, _, mean, log_sd = parameters.split(parameters.expand(fit.at.free))
    sd = np.exp(log_sd)
    at_edge = fit.at.expected.group_counts[:, [0, -1]]
    beyond_low = (at_edge[:, 0] > LARGEST_TAIL_COUNT) | (mean - TAIL_SDS * sd < low)
    beyond_high = (at_edge[:, 1] > LARGEST_TAIL_COUNT) | (mean + TAIL_SDS * sd > high)
    new_low = min(low - spacing, float((mean - FULL_SDS * sd).min())) if beyond_low.any() else low
    new_high = max(high + spacing, float((mean + FULL_SDS * sd).max())) if beyond_high.any() else high
    allowed = spacing
    if fit.at.expected.quadrature_error > LARGEST_QUADRATURE_ERROR:
        allowed = min(allowed, SPACING_PER_SD * max(fit.at.expected.smallest_sd, spacing / 4.0))
    steepest = float(np.abs(fit.at.curves.discrimination).max())
    if steepest * spacing > SPACING_TIMES_SLOPE:
        allowed = min(allowed, SPACING_TIMES_SLOPE / steepest)
    if allowed == spacing and new_low == low and new_high == high:
        return None
    wanted = min(points_for(allowed, new_low, new_high), MOST_POINTS)
    if wanted <= nodes.size:
        return None
    logger.info("quadrature: %d points on [%.2f, %.2f] instead of %d", wanted, new_low, new_high, nodes.size)
    return equally_spaced(wanted, new_low, new_high)


def _mirrored(fit: Fit, parameters: ParameterMap, settings: FitSettings, which: BoolArray | None) -> FloatArray | None:
    """Return the same maximum with the scale turned round, where more discrimination is negative than positive."""
    if settings.priors is not None or settings.model == "rasch" or (which is not None and which.any()):
        return None
    full = parameters.expand(fit.at.free)
    discrimination, _, mean, _ = parameters.split(full)
    if discrimination.sum() >= 0:
        return None
    discrimination *= -1.0
    mean *= -1.0
    turned = ParameterMap(parameters.n_items, parameters.n_groups, parameters.index, full)
    return turned.start()
