"""From estimates on plain arrays to a labelled :class:`Calibration`."""

from __future__ import annotations

import numpy as np

from psychoedu._version import __version__
from psychoedu.irt.fitting import FitSettings, FittedModel
from psychoedu.irt.parameters import FIXED, parameter_order
from psychoedu.irt.preparation import CalibrationData
from psychoedu.irt.results import Calibration, Source


def wrap_calibration(
    job: CalibrationData, fitted: FittedModel, settings: FitSettings, notes: list[str], on_constant: str, equal: bool
) -> Calibration:
    """Label the estimates, turn log SDs into SDs, and note how they came about."""
    discrimination, intercept, mean, sd = fitted.split
    n_items, n_groups = job.labels.size, len(job.names)
    with np.errstate(divide="ignore", invalid="ignore"):
        difficulty = np.where(discrimination == 0.0, np.nan, -intercept / discrimination)
    held = np.zeros(n_items, dtype=bool)
    if job.fixed is not None and job.fixed_difficulty is not None:
        held = job.fixed[0]
        difficulty = np.where(held, job.fixed_difficulty, difficulty)
    index = fitted.parameters.index
    order = parameter_order(index, n_items)
    covariance = fitted.covariance.matrix if fitted.covariance is not None else None
    condition = fitted.covariance.condition_number if fitted.covariance is not None else np.inf
    if covariance is not None:
        scale = np.ones(fitted.parameters.n_free)
        sd_index = index[2 * n_items + n_groups :]
        scale[sd_index[sd_index != FIXED]] = sd[sd_index != FIXED]  # from log SD to SD
        covariance = (covariance * np.multiply.outer(scale, scale))[np.ix_(order, order)]
    place = np.empty(order.size + 1, dtype=np.int64)
    place[order], place[-1] = np.arange(order.size), FIXED
    n_rows = job.scored.shape[0]
    group = np.zeros(n_rows, dtype=np.int64) if job.group is None else job.group
    group_n = np.bincount(group, job.weights, n_groups).astype(np.float64)
    bound = np.append(fitted.fit.on_bound, False)[index]
    return Calibration(
        model=settings.model,
        labels=job.labels,
        discrimination=discrimination.copy(),
        intercept=intercept.copy(),
        difficulty=difficulty,
        fixed=held,
        on_bound=bound[:n_items],
        group_labels=job.names,
        latent_mean=mean.copy(),
        latent_sd=sd,
        group_n=group_n,
        reference_group=job.reference,
        log_likelihood=fitted.fit.at.log_likelihood,
        n_respondents=float(group_n.sum()),
        n_parameters=fitted.parameters.n_free,
        converged=fitted.fit.converged,
        n_iterations=fitted.n_iterations,
        log_likelihood_trace=np.array(fitted.fit.trace),
        remaining_gain=fitted.fit.remaining,
        parameter_index=place[index],
        free_covariance=covariance,
        diagnostics=tuple(notes),
        options={
            "model": settings.model,
            "engine": "mml",
            "standard_errors": settings.standard_errors,
            "n_points": int(fitted.nodes.size),
            "n_points_asked": settings.n_points,
            "low": float(fitted.nodes[0]),
            "high": float(fitted.nodes[-1]),
            "tol": settings.tolerance,
            "max_iter": settings.max_iterations,
            "priors": None if settings.priors is None else repr(settings.priors),
            "on_constant": on_constant,
            "assume_equal_populations": equal,
        },
        data_summary={
            "n_respondents": n_rows,
            "n_scored_only": int((~job.fitted).sum()),
            "n_without_responses": job.n_without_responses,
            "n_items": n_items,
            "n_responses": job.n_responses,
            "share_missing": 1.0 - job.n_responses / job.scored.size,
            "n_distinct_rows": fitted.n_rows,
            "n_e_steps": fitted.n_evaluations,
            "dropped_items": [str(label) for label in job.dropped],
            "invalid": job.matrix.invalid,
            "condition_number": condition if np.isfinite(condition) else None,
        },
        version=__version__,
        source=Source(job.matrix, job.fitted, job.all_weights, job.population),
    )
