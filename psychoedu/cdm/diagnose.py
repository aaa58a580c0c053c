"""The verb ``diagnose``: from responses and a Q-matrix to attribute profiles."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import BoolArray, CodeArray, FloatArray, IntArray
from psychoedu.cdm.fitting import CdmFit, CdmSettings, fit_cdm
from psychoedu.cdm.hierarchy import permissible_profiles
from psychoedu.cdm.identifiability import check_identifiability
from psychoedu.cdm.item_step import DEFAULT_BOUNDS
from psychoedu.cdm.memory import DEFAULT_LIMIT, check_memory
from psychoedu.cdm.models import CUSTOM, MODELS, canonical_model
from psychoedu.cdm.monotone import MOST_ATTRIBUTES
from psychoedu.cdm.profiles import all_profiles
from psychoedu.cdm.q_matrix import QMatrix
from psychoedu.cdm.results import Diagnosis
from psychoedu.cdm.structures import HIGHER_ORDER, STRUCTURES
from psychoedu.cdm.wrapping import start_notes, wrap_diagnosis
from psychoedu.exceptions import (
    BoundaryEstimateWarning,
    ConvergenceWarning,
    DataError,
    IdentificationError,
    IdentificationWarning,
    LabelError,
    StandardErrorWarning,
)
from psychoedu.irt.blocks import arrange
from psychoedu.irt.preparation import fit_mask, group_positions, respondent_columns
from psychoedu.responses import as_response_matrix
from psychoedu.validation import check_choice, check_flag, check_integer, check_positive, check_weights, counted, listed

SEED = 0
"""Seed of the random starts where none is given, so that a fit can be repeated."""
STANDARD_ERRORS = ("oakes", "crossprod", "sandwich", "crossprod-items")


@dataclass(slots=True)
class DiagnosisData:
    """The data of one diagnosis, checked: everyone, and those that are fitted and answered anything."""

    q_matrix: QMatrix
    labels: pd.Index
    everyone: CodeArray
    fitted: BoolArray
    all_weights: FloatArray | None
    population: IntArray
    scored: CodeArray
    weights: FloatArray | None
    group: IntArray | None
    groups: tuple[Hashable, ...]
    n_respondents: float


def diagnose(
    responses: Any,
    q_matrix: Any,
    model: str | Mapping[Hashable, str] | Sequence[str] = "G-DINA",
    structure: str = "higher-order",
    higher_order: str = "2pl",
    groups: Any = None,
    group_structure: str = "separate",
    hierarchy: Any = None,
    fit_to: Any = None,
    weights: Any = None,
    n_starts: int = 3,
    n_points: int = 61,
    bounds: tuple[float, float] = DEFAULT_BOUNDS,
    slope_bounds: tuple[float, float] = (0.1, 5.0),
    intercept_bounds: tuple[float, float] = (-4.0, 4.0),
    standard_errors: str | None = "oakes",
    tol: float = 1e-6,
    max_iter: int = 3000,
    monotone: bool = False,
    designs: Mapping[Hashable, tuple[Any, str]] | None = None,
    classify_unidentified: bool = False,
    memory_limit: float = DEFAULT_LIMIT,
    rng: Any = None,
) -> Diagnosis:
    """Fit a cognitive diagnosis model by maximum likelihood and say which attributes each respondent has.

    Parameters
    ----------
    responses : ResponseMatrix, DataFrame or array, N respondents x J items
        1 right, 0 wrong, missing not administered (ignored in the likelihood).
    q_matrix : QMatrix or DataFrame of 0 and 1, J items x K attributes
        Matched to the items by label.
    model : str, or {item: str}, or one an item
        "G-DINA", "DINA", "DINO", "ACDM", "RRUM" or "LLM"; case and hyphen do not matter.
    structure : {"higher-order", "saturated", "independent"}
        How the profiles are distributed.
    higher_order : {"2pl", "common-slope", "rasch"}
        Slopes of the attributes on the ability theta ~ N(0, 1): free, one, or 1.
    groups : str or sequence of length N, optional
        A respondent column, or a label per respondent.
    group_structure : {"separate", "theta"}
        Each group with a structure of its own, or one higher-order structure with the groups' own theta means and SDs.
    hierarchy : list of (before, after) pairs or dict, optional
        Attribute prerequisites: profiles that break them do not exist (structure "saturated").
    fit_to : mask of length N or {column: value or list of values}, optional
        Respondents to estimate from; the others are only diagnosed.
    weights : sequence of length N, optional
    n_starts : int
        Starts, the first without chance. How they ended is in ``.starts``.
    n_points : int
        Quadrature points on [-6, 6] for theta; 25 reproduces R's GDINA.
    bounds, slope_bounds, intercept_bounds : (low, high)
        Of success probabilities, higher-order slopes and intercepts; the defaults are GDINA's. What rests on one is flagged.
    standard_errors : {"oakes", "crossprod", "sandwich", "crossprod-items"} or None
        Observed information with the structural part; cross-products with it; the sandwich; cross-products of the items alone.
    tol : float
        Log-likelihood that may be left to gain.
    max_iter : int
    monotone : bool
        Let no success probability fall with another attribute mastered (items of up to four attributes). Never on by itself;
        without it, probabilities that fall are flagged.
    designs : {item: (matrix, link)}, optional
        Items with a model of your own: link(P) = matrix @ effects, a row a reduced pattern, the first column ones; link
        "identity", "logit" or "log".
    classify_unidentified : bool
        Classify also attributes whose labels the likelihood cannot tell apart.
    memory_limit : float
        Bytes that the fit may take; the estimate is made before anything is allocated.
    rng : int, Generator or None
        For the random starts; None takes a fixed seed, so that the fit can be repeated.

    Returns
    -------
    Diagnosis

    Raises
    ------
    QMatrixError, IdentificationError, LabelError, ResponseCodeError, DataError

    Warns
    -----
    IdentificationWarning, ConvergenceWarning, BoundaryEstimateWarning, StandardErrorWarning

    Notes
    -----
    Accelerated EM, then Newton steps on the exact marginal likelihood where EM is slow (:mod:`psychoedu.cdm.em`,
    :mod:`psychoedu.cdm.newton`). Of the equal solutions that reversing attributes makes, the one is given in which mastery raises
    the probability of success.

    References
    ----------
    de la Torre, J. (2011). The generalized DINA model framework. Psychometrika, 76, 179-199.
    de la Torre, J., & Douglas, J. A. (2004). Higher-order latent trait models for cognitive diagnosis. Psychometrika, 69,
    333-353.

    Examples
    --------
    >>> import psychoedu as pe
    >>> diagnosis = pe.diagnose(pe.datasets.load_cse_like(), pe.datasets.load_cse_like_q(), model="DINA", n_starts=1)
    >>> diagnosis.n_parameters
    130
    """
    job = prepare_diagnosis(responses, q_matrix, fit_to, weights, groups)
    settings = diagnosis_settings(
        job, model, structure, higher_order, group_structure, hierarchy, n_starts, n_points, bounds, slope_bounds,
        intercept_bounds, standard_errors, tol, max_iter, memory_limit, monotone, designs,
    )  # fmt: skip
    notes, withheld = _identifiability(job, settings, classify_unidentified)
    fit, seed = run_fit(job, settings, rng)
    notes += _findings(fit, settings, job) + start_notes(fit)
    return wrap_diagnosis(job, fit, settings, notes, withheld, seed)


def run_fit(
    job: DiagnosisData, settings: CdmSettings, rng: Any, further_starts: Sequence[tuple[str, FloatArray, FloatArray]] = ()
) -> tuple[CdmFit, int | None]:
    """Arrange the data and fit; returns the fit and the seed, None where a Generator was given."""
    seed = SEED if rng is None else rng
    generator = seed if isinstance(seed, np.random.Generator) else np.random.default_rng(check_integer(seed, "rng", 0))
    data = arrange(job.scored, job.weights, job.group)
    alpha = all_profiles(job.q_matrix.n_attributes)
    fit = fit_cdm(data, job.q_matrix.values, alpha, settings, generator, further_starts)
    return fit, None if isinstance(rng, np.random.Generator) else int(seed)


def prepare_diagnosis(responses: Any, q_matrix: Any, fit_to: Any, weights: Any, groups: Any) -> DiagnosisData:
    """Check the data and match the Q-matrix to the items by label."""
    matrix = as_response_matrix(responses, **respondent_columns(responses, groups, fit_to))
    q = q_matrix if isinstance(q_matrix, QMatrix) else QMatrix(q_matrix)
    aligned = q.align(matrix.item_labels)
    everyone = matrix.scored()
    fitted = fit_mask(fit_to, matrix)
    all_weights = None if weights is None else check_weights(weights, matrix.respondent_labels)
    use = fitted if all_weights is None else fitted & (all_weights > 0)
    names, _, population, positions = group_positions(groups, None, matrix, use, False)
    use = use & (everyone >= 0).any(axis=1)
    if not use.any():
        raise DataError("No respondent with responses is left to estimate from. Look at fit_to, weights and the responses.")
    scored = everyone[use]
    answered = np.asarray((scored >= 0).any(axis=0), dtype=bool)
    if not answered.all():
        raise DataError(
            f"{counted(int((~answered).sum()), 'item')} without a response among those that are estimated from: "
            f"{listed(matrix.item_labels[~answered])}.\nLeave them out of the responses and the Q-matrix, or widen fit_to."
        )
    own = None if all_weights is None else all_weights[use]
    return DiagnosisData(
        aligned, matrix.respondent_labels, everyone, fitted, all_weights, population, scored, own,
        None if len(names) == 1 else positions[use], names, float(use.sum() if own is None else own.sum()),
    )  # fmt: skip


def diagnosis_settings(
    job: DiagnosisData,
    model: Any,
    structure: str,
    higher_order: str,
    group_structure: str,
    hierarchy: Any,
    n_starts: int,
    n_points: int,
    bounds: tuple[float, float],
    slope_bounds: tuple[float, float],
    intercept_bounds: tuple[float, float],
    standard_errors: str | None,
    tol: float,
    max_iter: int,
    memory_limit: float = DEFAULT_LIMIT,
    monotone: bool = False,
    designs: Mapping[Hashable, tuple[Any, str]] | None = None,
) -> CdmSettings:
    """Check the options of ``diagnose``."""
    models = item_models(model, job.q_matrix.item_labels)
    own = read_designs(designs, job.q_matrix)
    models = tuple(CUSTOM if j in own else name for j, name in enumerate(models))
    check_flag(monotone, "monotone")
    if monotone:
        _check_monotone(job.q_matrix, own)
    check_choice(structure, STRUCTURES, "structure")
    check_choice(higher_order, HIGHER_ORDER, "higher_order")
    check_choice(group_structure, ("separate", "theta"), "group_structure")
    if standard_errors is not None:
        check_choice(standard_errors, STANDARD_ERRORS, "standard_errors")
    for name, pair in (("bounds", bounds), ("slope_bounds", slope_bounds), ("intercept_bounds", intercept_bounds)):
        if len(pair) != 2 or not pair[0] < pair[1] or (name == "bounds" and not (pair[0] > 0 and pair[1] < 1)):
            raise DataError(
                f"{name}={pair!r}: expected (low, high) with low < high{', inside (0, 1)' if name == 'bounds' else ''}."
            )
    n_attributes = job.q_matrix.n_attributes
    if structure == "higher-order":
        _check_higher_order(higher_order, n_attributes)
    permitted = None
    if hierarchy is not None:
        if structure != "saturated":
            raise DataError(f'hierarchy= needs structure="saturated"; got {structure!r}.')
        permitted = permissible_profiles(hierarchy, job.q_matrix.attribute_labels)
    check_memory(
        job.everyone.shape[0],
        job.q_matrix.n_items,
        n_attributes,
        structure=structure,
        n_points=n_points,
        standard_errors=standard_errors is not None,
        limit=memory_limit,
    )
    return CdmSettings(
        models, structure, higher_order, group_structure, check_integer(n_points, "n_points", 5),
        (float(bounds[0]), float(bounds[1])), (float(slope_bounds[0]), float(slope_bounds[1])),
        (float(intercept_bounds[0]), float(intercept_bounds[1])), check_positive(tol, "tol"),
        check_integer(max_iter, "max_iter", 1), check_integer(n_starts, "n_starts", 1), standard_errors, permitted,
        monotone, own or None,
    )  # fmt: skip


def _check_higher_order(form: str, n_attributes: int) -> None:
    n_free = {"2pl": 2 * n_attributes, "common-slope": n_attributes + 1, "rasch": n_attributes}[form]
    if n_free > 2**n_attributes - 1:
        raise IdentificationError(
            f"A higher-order structure with {n_free} parameters ({form}) on {counted(n_attributes, 'attribute')} has more "
            f"than the {2**n_attributes - 1} free class sizes.\n"
            'Expected no more. Use higher_order="common-slope" or "rasch", or structure="saturated".'
        )


def _check_monotone(q_matrix: QMatrix, own: Mapping[int, Any]) -> None:
    size = q_matrix.values.sum(axis=1)
    wide = q_matrix.item_labels[size > MOST_ATTRIBUTES]
    if len(wide):
        raise DataError(
            f"monotone=True is for items of up to {MOST_ATTRIBUTES} attributes; {counted(len(wide), 'item')} have more: "
            f"{listed(wide)}.\n"
            "Use an additive model for them without monotone, or fewer attributes."
        )
    if own:
        raise DataError("monotone=True cannot be kept for items with designs of their own. Drop one of the two.")


def read_designs(designs: Mapping[Hashable, tuple[Any, str]] | None, q_matrix: QMatrix) -> dict[int, tuple[FloatArray, str]]:
    """Check design matrices of the user's own, and return them by item position."""
    out: dict[int, tuple[FloatArray, str]] = {}
    for label, given in (designs or {}).items():
        if label not in q_matrix.item_labels:
            raise LabelError(f"designs names the item {label!r}, which the responses lack: {listed(q_matrix.item_labels)}.")
        position = int(q_matrix.item_labels.get_indexer(pd.Index([label], tupleize_cols=False))[0])
        patterns = 2 ** int(q_matrix.values[position].sum())
        if not (isinstance(given, tuple | list) and len(given) == 2):
            raise DataError(f"designs[{label!r}] has to be (matrix, link); got {type(given).__name__}.")
        matrix = np.asarray(given[0], dtype=np.float64)
        check_choice(given[1], ("identity", "logit", "log"), f"designs[{label!r}] link")
        if matrix.ndim != 2 or matrix.shape[0] != patterns or not np.isfinite(matrix).all() or (matrix[:, 0] != 1.0).any():
            raise DataError(
                f"designs[{label!r}] has a matrix of shape {matrix.shape}: expected {patterns} rows, one a reduced pattern in "
                "the usual order, finite numbers, and a first column of ones."
            )
        if np.linalg.matrix_rank(matrix) < matrix.shape[1]:
            raise IdentificationError(f"designs[{label!r}] has linearly dependent columns, so its effects are not identified.")
        out[position] = (matrix, given[1])
    return out


def item_models(model: Any, labels: pd.Index) -> tuple[str, ...]:
    """Return each item's model in its usual spelling."""
    if isinstance(model, str):
        given: list[Any] = [model] * len(labels)
    elif isinstance(model, Mapping):
        unknown = [label for label in model if label not in labels]
        if unknown:
            raise LabelError(f"model names {counted(len(unknown), 'item')} that the responses lack: {listed(unknown)}.")
        given = [model.get(label, "G-DINA") for label in labels]
    else:
        given = list(model)
        if len(given) != len(labels):
            raise DataError(f"model has {len(given)} entries for {len(labels)} items; expected one each, or {{item: model}}.")
    names = [canonical_model(name) if isinstance(name, str) else None for name in given]
    wrong = [name for name, known in zip(given, names, strict=True) if known is None]
    if wrong:
        known = f"{', '.join(map(repr, MODELS[:-1]))} or {MODELS[-1]!r}"
        raise DataError(f"model has to be one of {known}; got {listed(list(dict.fromkeys(wrong)))}.")
    return tuple(name for name in names if name is not None)


def _identifiability(job: DiagnosisData, settings: CdmSettings, classify: bool) -> tuple[list[str], tuple[Hashable, ...]]:
    """Warn before the fit about what the Q-matrix cannot tell apart; returns the texts and the attributes withheld."""
    report = check_identifiability(job.q_matrix, tuple("G-DINA" if name == CUSTOM else name for name in settings.models))
    for text in report.warnings:
        warnings.warn(text, IdentificationWarning, stacklevel=3)
    withheld = () if classify else tuple(report.attributes_affected)
    return list(report.warnings), withheld


def _findings(fit: CdmFit, settings: CdmSettings, job: DiagnosisData) -> list[str]:
    """Warn about what the fit shows, and return the same texts."""
    notes: list[tuple[str, type[Warning]]] = []
    solution = fit.solution
    if not solution.converged:
        notes.append(
            (
                f"Estimation stopped after {counted(solution.n_iterations, 'iteration')}, about {solution.remaining:.2g} "
                f"log-likelihood units below the maximum (tol={settings.tolerance:g}).\nAllow more than "
                f"max_iter={settings.max_iterations}, or look for attributes that few items measure.",
                ConvergenceWarning,
            )
        )
    n_items = fit.problem.items.n_parameters
    low, high = fit.problem.bounds
    edge = (fit.cells <= low * (1 + 1e-4)) | (fit.cells >= high - 1e-4 * low)
    structural = int(fit.on_bound[n_items:].sum())
    if edge.any() or (structural and settings.structure != "saturated"):
        notes.append(
            (
                f"{counted(int(edge.sum()), 'success probability').replace('probabilitys', 'probabilities')} and "
                f"{counted(structural, 'structural parameter')} on their bounds; they are flagged, have no standard errors, "
                "and are held fixed in those of the others.",
                BoundaryEstimateWarning,
            )
        )
    if settings.standard_errors is not None and fit.covariance is None:
        notes.append((fit.reason, StandardErrorWarning))
    for text, category in notes:
        warnings.warn(text, category, stacklevel=3)
    return [text for text, _ in notes]
