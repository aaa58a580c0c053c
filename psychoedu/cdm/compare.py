"""The verbs ``compare`` and ``score``: several models on the same responses, and respondents on a fitted model."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from psychoedu.cdm.diagnose import diagnosis_settings, item_models, prepare_diagnosis, run_fit
from psychoedu.cdm.fitting import CdmFit
from psychoedu.cdm.item_step import DEFAULT_BOUNDS
from psychoedu.cdm.results import Diagnosis, DiagnosisSource
from psychoedu.exceptions import ConvergenceWarning, DataError, LabelError
from psychoedu.responses import as_response_matrix
from psychoedu.validation import counted, listed

FIVE = ("G-DINA", "DINA", "DINO", "ACDM", "RRUM")


def compare(
    responses: Any,
    q_matrix: Any,
    models: Sequence[str] = FIVE,
    structure: str = "higher-order",
    higher_order: str = "2pl",
    fit_to: Any = None,
    weights: Any = None,
    n_starts: int = 3,
    n_points: int = 61,
    rng: Any = None,
) -> pd.DataFrame:
    """Fit several models and compare their relative fit.

    Parameters
    ----------
    responses, q_matrix, structure, higher_order, fit_to, weights, n_starts, n_points, rng
        As in :func:`psychoedu.diagnose`.
    models : sequence of str
        In the order of the rows.

    Returns
    -------
    DataFrame by model
        ``log_likelihood``, ``minus_2ll``, ``n_parameters``, ``aic``, ``bic``, ``converged``, ``best_aic``, ``best_bic``.

    Notes
    -----
    The reduced models are nested in the G-DINA, which is also started from each of their solutions: it never fits worse.

    Examples
    --------
    >>> import psychoedu as pe
    >>> table = pe.cdm.compare(pe.datasets.load_cse_like(), pe.datasets.load_cse_like_q(), models=["DINA", "G-DINA"], n_starts=1)
    >>> table["n_parameters"].tolist()
    [130, 192]
    """
    job = prepare_diagnosis(responses, q_matrix, fit_to, weights, None)
    if isinstance(models, str) or not len(models):
        raise DataError(f"models={models!r}: expected a list of models, for example {list(FIVE)}.")
    names = [item_models(model, job.q_matrix.item_labels[:1])[0] for model in models]
    if len(set(names)) < len(names):
        raise DataError(f"models names one twice: {listed(names)}.")
    fits: dict[str, CdmFit] = {}
    for name in sorted(names, key=lambda one: one == "G-DINA"):
        settings = diagnosis_settings(
            job, name, structure, higher_order, "separate", None, n_starts, n_points, DEFAULT_BOUNDS, (0.1, 5.0), (-4.0, 4.0),
            None, 1e-6, 3000,
        )  # fmt: skip
        further = (
            [(reduced, fit.cells, fit.solution.parameters.structural) for reduced, fit in fits.items()]
            if name == "G-DINA"
            else []
        )
        fits[name], _ = run_fit(job, settings, rng, further)
    rows = []
    for name in names:
        solution, problem = fits[name].solution, fits[name].problem
        n_parameters = problem.items.n_parameters + problem.populations.n_parameters
        minus_2ll = -2.0 * solution.log_likelihood
        rows.append(
            {
                "log_likelihood": solution.log_likelihood,
                "minus_2ll": minus_2ll,
                "n_parameters": n_parameters,
                "aic": minus_2ll + 2.0 * n_parameters,
                "bic": minus_2ll + n_parameters * float(np.log(job.n_respondents)),
                "converged": solution.converged,
            }
        )
    table = pd.DataFrame(rows, index=pd.Index(names, name="model"))
    stopped = list(table.index[~table["converged"]])
    if stopped:
        text = f"{counted(len(stopped), 'model')} stopped before the maximum: {listed(stopped)}. Their criteria are too high."
        warnings.warn(text, ConvergenceWarning, stacklevel=2)
    for criterion in ("aic", "bic"):
        table[f"best_{criterion}"] = table[criterion] == table[criterion].min()
    return table


def score(diagnosis: Diagnosis, responses: Any, groups: Any = None) -> Diagnosis:
    """Diagnose respondents on a fitted model, all parameters held fixed.

    Parameters
    ----------
    diagnosis : Diagnosis
        Its parameters are used as they are, those of the profiles' distribution as well.
    responses : ResponseMatrix, DataFrame or array
        Items are matched by label; an item that is absent counts as missing.
    groups : sequence of length N, optional
        With several groups, whose population each respondent is of; default the first.

    Returns
    -------
    Diagnosis
        The same parameters, with ``mastery``, ``profiles``, ``theta`` and ``classification()`` of these respondents.

    Raises
    ------
    LabelError
        The responses have items that the diagnosis does not know, or none that it does.

    Examples
    --------
    >>> import psychoedu as pe
    >>> matrix, q = pe.datasets.load_cse_like(), pe.datasets.load_cse_like_q()
    >>> learners = matrix.select(respondents={"group": ["junior", "college"]})
    >>> diagnosis = pe.diagnose(learners, q, n_starts=1, standard_errors=None)
    >>> pe.cdm.score(diagnosis, matrix.select(respondents={"group": "model"})).mastery.shape
    (24, 4)
    """
    matrix = as_response_matrix(responses)
    position = diagnosis.item_labels.get_indexer(matrix.item_labels)
    unknown = matrix.item_labels[position < 0]
    if len(unknown):
        raise LabelError(
            f"The responses have {counted(len(unknown), 'item')} that the diagnosis does not know: {listed(unknown)}.\n"
            f"Its items are {listed(diagnosis.item_labels)}. Select the common ones first."
        )
    scored = np.full((matrix.n_respondents, len(diagnosis.item_labels)), -1, dtype=np.int8)
    scored[:, position] = matrix.scored()
    population = np.zeros(matrix.n_respondents, dtype=np.int64)
    if groups is not None:
        population = pd.Index(diagnosis.group_labels, tupleize_cols=False).get_indexer(pd.Index(groups, tupleize_cols=False))
        if population.shape != (matrix.n_respondents,) or (population < 0).any():
            raise LabelError(f"groups has to hold one of {listed(diagnosis.group_labels)} per respondent.")
    nobody = np.zeros(matrix.n_respondents, dtype=bool)
    return replace(diagnosis, source=DiagnosisSource(matrix.respondent_labels, scored, nobody, None, population))
