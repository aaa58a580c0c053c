"""Bootstrap standard errors of a diagnosis: refits to resampled respondents, or to data simulated from the fitted model."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import CodeArray, FloatArray, IntArray
from psychoedu.cdm.em import Parameters, Problem
from psychoedu.cdm.fitting import CdmSettings, finish
from psychoedu.cdm.results import Diagnosis
from psychoedu.cdm.wrapping import populations_of
from psychoedu.exceptions import EstimationError
from psychoedu.irt.blocks import arrange
from psychoedu.validation import check_choice, check_integer

MOST_FAILED = 0.05
"""Share of refits that may fail before the whole is refused."""


@dataclass(frozen=True, eq=False)
class BootstrapErrors:
    """Standard errors from refits.

    Attributes
    ----------
    items : DataFrame
        ``item``, ``profile``, ``probability``, ``se`` (the fit's own), ``se_bootstrap``.
    structural : DataFrame
        By parameter: ``estimate``, ``se_bootstrap``.
    cells, parameters : (B, C) and (B, p) arrays
        The refits' success probabilities and structural parameters.
    n_failed : int
        Refits that did not converge; they are left out.
    kind : str
    """

    items: pd.DataFrame
    structural: pd.DataFrame
    cells: FloatArray
    parameters: FloatArray
    n_failed: int
    kind: str


def bootstrap_errors(diagnosis: Diagnosis, n_resamples: int = 200, kind: str = "respondents", rng: Any = None) -> BootstrapErrors:
    """Refit a diagnosis to resampled data, each time from its own solution.

    Parameters
    ----------
    diagnosis : Diagnosis
        With its responses.
    n_resamples : int
    kind : {"respondents", "parametric"}
        Draw respondents with replacement (as row weights), or simulate responses from the fitted model at the same missing cells.
    rng : int, Generator or None

    Returns
    -------
    BootstrapErrors

    Raises
    ------
    EstimationError
        More than 5% of the refits failed.

    References
    ----------
    Efron, B., & Tibshirani, R. (1993). An Introduction to the Bootstrap. Chapters 6 and 21.
    """
    check_choice(kind, ("respondents", "parametric"), "kind")
    check_integer(n_resamples, "n_resamples", 2)
    source = diagnosis.require_source("bootstrap_errors()")
    use = source.fitted & (source.scored >= 0).any(axis=1)
    scored, group = source.scored[use], source.population[use]
    own = np.ones(len(scored)) if source.weights is None else source.weights[use]
    generator = np.random.default_rng(rng)
    populations = populations_of(diagnosis)
    bounds = (float(diagnosis.options["bounds"][0]), float(diagnosis.options["bounds"][1]))
    settings = CdmSettings(
        diagnosis.item_models, bounds=bounds, tolerance=1e-4, max_iterations=int(diagnosis.options["max_iter"])
    )
    start = Parameters(diagnosis.item_parameters, diagnosis.structural)
    cells, parameters, n_failed = [], [], 0
    for _ in range(n_resamples):
        drawn, weights = scored, own
        if kind == "respondents":
            weights = own * generator.multinomial(len(own), np.full(len(own), 1.0 / len(own)))
        else:
            drawn = simulate(diagnosis, scored, group, generator)
        data = arrange(drawn, weights, group if len(diagnosis.group_labels) > 1 else None)
        problem = Problem(data, diagnosis.item_structure, populations, bounds, bool(diagnosis.options["monotone"]))
        solution = finish(problem, start, settings)
        if not solution.converged:
            n_failed += 1
            continue
        cells.append(np.clip(problem.items.cells(solution.parameters.items), *bounds))
        parameters.append(solution.parameters.structural)
    if n_failed > MOST_FAILED * n_resamples:
        raise EstimationError(
            f"{n_failed} of {n_resamples} refits did not converge, more than {MOST_FAILED:.0%}; their standard errors would be "
            "those of the easy resamples only.\nUse a smaller model, or allow the fit more iterations (max_iter)."
        )
    cell_draws, parameter_draws = np.array(cells), np.array(parameters)
    items = diagnosis.items[["item", "profile", "probability", "se"]]
    items["se_bootstrap"] = cell_draws.std(axis=0, ddof=1)
    names: list[tuple[Hashable, str]] = list(diagnosis.structural_names)
    structural = pd.DataFrame(
        {"estimate": diagnosis.structural, "se_bootstrap": parameter_draws.std(axis=0, ddof=1)},
        index=pd.MultiIndex.from_tuples(names, names=["of", "parameter"]),
    )
    return BootstrapErrors(items, structural, cell_draws, parameter_draws, n_failed, kind)


def simulate(diagnosis: Diagnosis, scored: CodeArray, group: IntArray, rng: np.random.Generator) -> CodeArray:
    """Draw responses from the fitted model, missing where the data are missing."""
    prior = np.exp(diagnosis.log_prior)
    drawn = np.empty(len(scored), dtype=np.int64)
    for g in range(len(prior)):
        rows = np.flatnonzero(group == g)
        drawn[rows] = rng.choice(prior.shape[1], size=rows.size, p=prior[g] / prior[g].sum())
    right = rng.random(scored.shape) < diagnosis.success.T[drawn]
    return np.where(scored < 0, scored, right.astype(np.int8)).astype(np.int8)
