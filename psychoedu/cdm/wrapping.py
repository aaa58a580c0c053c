"""From a fit on plain arrays to a labelled :class:`Diagnosis`, and back to the populations that it was made with."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray
from psychoedu._version import __version__
from psychoedu.cdm.fitting import NEAR, REACHED, CdmFit, CdmSettings, populations_for
from psychoedu.cdm.populations import Populations, SharedHigherOrder
from psychoedu.cdm.profiles import all_profiles, profile_labels
from psychoedu.cdm.q_matrix import QMatrix
from psychoedu.cdm.results import Diagnosis, DiagnosisSource

if TYPE_CHECKING:
    from psychoedu.cdm.diagnose import DiagnosisData


def populations_of(diagnosis: Diagnosis) -> Populations:
    """Return the structural models that a diagnosis was fitted with."""
    options = diagnosis.options
    permitted = options["permitted"]
    settings = CdmSettings(
        diagnosis.item_models,
        diagnosis.structure_name,
        diagnosis.higher_order or "2pl",
        options["group_structure"],
        options["n_points"],
        slope_bounds=tuple(options["slope_bounds"]),
        intercept_bounds=tuple(options["intercept_bounds"]),
        permitted=None if permitted is None else np.array(permitted, dtype=bool),
    )
    return populations_for(settings, diagnosis.alpha, len(diagnosis.group_labels))


def starts_table(fit: CdmFit) -> pd.DataFrame:
    """Return how each start ended, best first."""
    best = max(one.log_likelihood for one in fit.starts)
    return pd.DataFrame(
        {
            "start": [one.name for one in fit.starts],
            "log_likelihood": [one.log_likelihood for one in fit.starts],
            "n_iterations": [one.n_iterations for one in fit.starts],
            "reached_best": [one.log_likelihood > best - REACHED for one in fit.starts],
            "agreement": [one.agreement for one in fit.starts],
        }
    ).sort_values("log_likelihood", ascending=False, ignore_index=True)


def start_notes(fit: CdmFit) -> list[str]:
    """Say what the starts show of the likelihood's surface."""
    if len(fit.starts) < 2:
        return ["One start only: other maxima would go unseen. Raise n_starts."]
    values = np.array([one.log_likelihood for one in fit.starts])
    best = values.max()
    reached = int((values > best - REACHED).sum())
    notes = []
    if reached < len(values):
        notes.append(
            f"{reached} of {len(values)} starts reached the best log-likelihood; the others ended up to "
            f"{best - values.min():.2f} below it. More starts (n_starts) make the best one surer."
        )
    near = [one.agreement for one in fit.starts if best - NEAR < one.log_likelihood <= best - REACHED]
    if near and min(near) < 0.95:
        notes.append(
            f"Solutions within {NEAR:g} log-likelihood units of the best classify up to {1 - min(near):.0%} of the respondents "
            "differently."
        )
    return notes


def structural_names(settings: CdmSettings, q_matrix: QMatrix, groups: tuple[Hashable, ...]) -> tuple[tuple[Hashable, str], ...]:
    """Return a name for each structural parameter, ``(attribute, profile or group, parameter)``."""
    attributes = list(q_matrix.attribute_labels)
    names: list[tuple[Hashable, str]] = []
    labels = profile_labels(all_profiles(len(attributes)))
    permitted = np.ones(len(labels), dtype=bool) if settings.permitted is None else settings.permitted
    shared = settings.structure == "higher-order" and settings.group_structure == "theta" and len(groups) > 1
    for group in groups[:1] if shared else groups:
        where = "" if shared or len(groups) == 1 else f" ({group})"
        if settings.structure == "higher-order":
            slopes: list[Hashable] = {"2pl": attributes, "common-slope": ["all"], "rasch": []}[settings.higher_order]
            names += [(label, f"slope{where}") for label in slopes]
            names += [(label, f"intercept{where}") for label in attributes]
        elif settings.structure == "independent":
            names += [(label, f"logit{where}") for label in attributes]
        else:
            names += [(labels[k], f"log_ratio{where}") for k in np.flatnonzero(permitted)[1:]]
    if shared:
        names += [(group, "latent_mean") for group in groups[1:]] + [(group, "latent_log_sd") for group in groups[1:]]
    return tuple(names)


def wrap_diagnosis(
    job: DiagnosisData, fit: CdmFit, settings: CdmSettings, notes: list[str], withheld: tuple[Hashable, ...], seed: Any
) -> Diagnosis:
    """Label the estimates and note how they came about."""
    problem, solution = fit.problem, fit.solution
    items, parameters = problem.items, solution.parameters
    n_items = items.n_parameters
    cell_se = np.full(items.n_cells, np.nan)
    jacobian = items.jacobian(parameters.items)
    if fit.covariance is not None:
        block = fit.covariance[:n_items, :n_items]
        known = np.isfinite(np.diag(block))
        whole = ~(jacobian[:, ~known] != 0).any(axis=1)
        variance = np.einsum("cp,pq,cq->c", jacobian[:, known], block[np.ix_(known, known)], jacobian[:, known], optimize=True)
        cell_se[whole] = np.sqrt(np.maximum(variance[whole], 0.0))
    low, high = problem.bounds
    cells = fit.cells
    means, sds = np.zeros(len(job.groups)), np.ones(len(job.groups))
    if isinstance(problem.populations, SharedHigherOrder):
        means, sds = problem.populations.moments(parameters.structural)
    on_bound = (cells <= low * (1 + 1e-4)) | (cells >= high - 1e-4 * low)
    answered: FloatArray = items.collect(solution.expected.answered)
    return Diagnosis(
        q_matrix=job.q_matrix,
        item_models=settings.models,
        structure_name=settings.structure,
        higher_order=settings.higher_order if settings.structure == "higher-order" else None,
        group_labels=job.groups,
        group_means=means,
        group_sds=sds,
        item_parameters=parameters.items,
        cells=cells,
        cell_se=cell_se,
        cell_n=answered,
        cell_on_bound=on_bound,
        structural=parameters.structural,
        structural_names=structural_names(settings, job.q_matrix, job.groups),
        structural_on_bound=fit.on_bound[n_items:],
        log_prior=fit.log_prior,
        covariance=fit.covariance,
        log_likelihood=solution.log_likelihood,
        n_respondents=job.n_respondents,
        n_item_parameters=n_items,
        n_structural_parameters=problem.populations.n_parameters,
        converged=solution.converged,
        n_iterations=solution.n_iterations,
        remaining_gain=solution.remaining,
        log_likelihood_trace=np.array(solution.trace),
        starts=starts_table(fit),
        withheld=withheld,
        diagnostics=tuple(notes),
        options={
            "structure": settings.structure,
            "higher_order": settings.higher_order,
            "group_structure": settings.group_structure,
            "n_points": settings.n_points,
            "bounds": list(settings.bounds),
            "slope_bounds": list(settings.slope_bounds),
            "intercept_bounds": list(settings.intercept_bounds),
            "tol": settings.tolerance,
            "max_iter": settings.max_iterations,
            "n_starts": settings.n_starts,
            "standard_errors": settings.standard_errors,
            "monotone": settings.monotone,
            "designs": {str(j): [matrix.tolist(), name] for j, (matrix, name) in (settings.designs or {}).items()},
            "permitted": None if settings.permitted is None else settings.permitted.tolist(),
            "seed": seed,
        },
        data_summary={
            "n_respondents": job.scored.shape[0],
            "n_scored_only": int((~job.fitted).sum()),
            "n_items": job.q_matrix.n_items,
            "n_responses": int((job.scored >= 0).sum()),
            "share_missing": float((job.scored < 0).mean()),
            "n_distinct_rows": problem.data.n_rows,
            "n_e_steps": problem.n_evaluations,
        },
        version=__version__,
        source=DiagnosisSource(job.labels, job.everyone, job.fitted, job.all_weights, job.population),
    )
