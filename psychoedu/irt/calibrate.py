"""The verb ``calibrate``: from responses to an item bank."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from psychoedu._typing import BoolArray
from psychoedu.exceptions import (
    BoundaryEstimateWarning,
    ConvergenceWarning,
    DataError,
    QuadratureWarning,
    SampleSizeError,
    SmallSampleWarning,
    StandardErrorWarning,
)
from psychoedu.irt import checks
from psychoedu.irt.covariance import METHODS
from psychoedu.irt.estimation import DEFAULT_MAX_ITERATIONS, DEFAULT_TOLERANCE, LARGEST_SLOPE
from psychoedu.irt.fitting import (
    LARGEST_QUADRATURE_ERROR,
    MOST_POINTS,
    SMALLEST_POSITIVE_SLOPE,
    FitSettings,
    FittedModel,
    fit_model,
)
from psychoedu.irt.parameters import parameter_map
from psychoedu.irt.preparation import CalibrationData, FixedItems, prepare, respondent_columns
from psychoedu.irt.priors import Priors
from psychoedu.irt.quadrature import DEFAULT_POINTS
from psychoedu.irt.results import Calibration
from psychoedu.irt.wrapping import wrap_calibration
from psychoedu.responses import as_response_matrix
from psychoedu.validation import (
    check_choice,
    check_flag,
    check_integer,
    check_positive,
    counted,
    listed,
)

logger = logging.getLogger(__name__)
MODELS = ("2pl", "1pl", "rasch")


def calibrate(
    responses: Any,
    model: str = "2pl",
    groups: Any = None,
    reference_group: Hashable | None = None,
    fit_to: Any = None,
    weights: Any = None,
    priors: Any = None,
    fixed_items: FixedItems | None = None,
    standard_errors: str | None = "oakes",
    n_points: int = DEFAULT_POINTS,
    tol: float = DEFAULT_TOLERANCE,
    max_iter: int = DEFAULT_MAX_ITERATIONS,
    engine: str = "mml",
    on_constant: str = "raise",
    assume_equal_populations: bool = False,
    progress: bool = False,
    adapt_points: bool = True,
) -> Calibration:
    """Calibrate items by marginal maximum likelihood.

    Parameters
    ----------
    responses : ResponseMatrix, DataFrame or array, N respondents x J items
        1 right, 0 wrong, missing (nan, None, NA, masked) not administered: not used, never counted wrong.
    model : {"2pl", "1pl", "rasch"}
        "1pl": one common discrimination, reference group N(0, 1). "rasch": discriminations 1, SDs free, reference mean 0.
    groups : str or sequence of length N, optional
        Name of a respondent column, or a label per respondent. All groups are calibrated at once: common items hold them
        together, the reference group is N(0, 1), the means and SDs of the others are free.
    reference_group : label, optional
        Default: the first category of a Categorical, else the first label met. Recorded in ``.reference_group``.
    fit_to : mask of length N or {column: value or list of values}, optional
        Respondents to estimate from; the others are only scored.
    weights : sequence of length N, optional
        Weight of each respondent; an integer weight equals that many copies, 0 leaves the respondent out.
    priors : Priors, True or dict, optional
        Penalties for few respondents: ``Priors()`` or True for lognormal(0, 0.5) discriminations and N(0, 2) difficulties, or
        ``{"discrimination": ("lognormal", 0, 0.5), "difficulty": ("normal", 0, 2)}``. A prior on discriminations keeps them
        positive.
    fixed_items : ItemBank or DataFrame by item, optional
        Items whose parameters stay as given, matched by label. The mean and SD of every group are then free.
    standard_errors : {"oakes", "crossprod", "sandwich"} or None
        Observed information (exact second derivatives), score cross-products, or the sandwich of both.
    n_points : int
        Quadrature points on [-6, 6].
    tol : float
        Log-likelihood that may at most be left to gain; parameters are then within sqrt(2 tol) of their SEs from the maximum.
    max_iter : int
        Most iterations.
    engine : {"mml"}
        Marginal maximum likelihood.
    on_constant : {"raise", "drop"}
        What to do with items whose observed responses are all alike.
    assume_equal_populations : bool
        Take all respondents as one population although no item or respondent connects them (randomly equivalent samples).
    progress : bool
        Show a progress bar (tqdm).
    adapt_points : bool
        Add quadrature points where the posteriors are too narrow, or a group too far out, for ``n_points`` on [-6, 6] (recorded
        in ``.options``). False keeps the points and warns.

    Returns
    -------
    Calibration

    Raises
    ------
    ConstantItemError, DisconnectedDesignError, IdentificationError, SampleSizeError
        The parameters do not exist for these data.
    ResponseCodeError, DuplicateLabelError, RepeatsError, LabelError, DataError
        The data or an argument is not as expected.

    Warns
    -----
    SmallSampleWarning, ConvergenceWarning, BoundaryEstimateWarning, StandardErrorWarning, QuadratureWarning, DroppedItemsWarning
        The numbers exist but should be read with care.

    Notes
    -----
    The marginal likelihood is integrated over equally spaced points (mirt's rule) and maximised by Newton steps whose matrix
    comes from representative respondents; see :mod:`psychoedu.irt.estimation`. Cost O(N (J + Q)) an iteration with few missing
    patterns. Slopes may be negative: a reversed item stays visible and is flagged; the scale is
    oriented so that their sum is positive.

    References
    ----------
    Bock, R. D., & Aitkin, M. (1981). Psychometrika, 46, 443-459.
    Bock, R. D., & Zimowski, M. F. (1997). Multiple group IRT. In Handbook of Modern Item Response Theory.
    Louis, T. A. (1982). JRSS B, 44, 226-233.

    Examples
    --------
    >>> import psychoedu as pe
    >>> calibration = pe.calibrate(pe.datasets.load_lsat7())
    >>> round(calibration.log_likelihood, 4)
    -2658.8051
    >>> calibration.items["discrimination"].round(2).tolist()
    [0.99, 1.08, 1.71, 0.76, 0.74]
    """
    check_choice(model, MODELS, "model")
    check_choice(engine, ("mml",), "engine")
    check_choice(on_constant, ("raise", "drop"), "on_constant")
    if standard_errors is not None:
        check_choice(standard_errors, METHODS, "standard_errors")
    if check_integer(n_points, "n_points", 11) > MOST_POINTS:
        raise DataError(f"n_points={n_points:,}: expected at most {MOST_POINTS:,}, with which no posterior is too narrow.")
    check_positive(tol, "tol")
    check_integer(max_iter, "max_iter", 1)
    for name, flag in (
        ("assume_equal_populations", assume_equal_populations), ("progress", progress), ("adapt_points", adapt_points),
    ):  # fmt: skip
        check_flag(flag, name)
    parsed_priors = Priors.parse(priors)

    matrix = as_response_matrix(responses, **respondent_columns(responses, groups, fit_to))
    job = prepare(matrix, model, groups, reference_group, fit_to, weights, fixed_items, on_constant, assume_equal_populations)
    notes = _check(job, model, parsed_priors is not None, assume_equal_populations)
    settings = FitSettings(
        model, n_points, adapt_points, tol, max_iter, standard_errors, job.names.index(job.reference), parsed_priors
    )
    with _progress(progress) as report:
        fitted = fit_model(job.scored, settings, job.weights, job.group, job.fixed, report)
    notes += _warn(fitted, settings, job)
    return wrap_calibration(job, fitted, settings, notes, on_constant, assume_equal_populations)


def _check(job: CalibrationData, model: str, has_priors: bool, equal: bool) -> list[str]:
    """Refuse designs without parameters; return notes, after warning about few respondents."""
    n_items = job.labels.size
    held = np.zeros(n_items, dtype=bool) if job.fixed is None else job.fixed[0]
    n_estimated = int((~held).sum())
    checks.refuse_unidentified(model, n_items, n_estimated, has_priors)
    with_data = job.scored.shape[0] if job.weights is None else round(float(job.weights.sum()))
    if job.weights is not None and with_data < checks.FEWEST_RESPONDENTS <= job.scored.shape[0] and not has_priors:
        raise SampleSizeError(
            f"The weights of {job.scored.shape[0]:,} respondents sum to {job.weights.sum():.4g}, so they count as so many.\n"
            "Expected weights that say how many respondents each stands for. Rescale them, for example to sum to the number of "
            "rows."
        )
    empty = np.zeros(n_items)
    reference = job.names.index(job.reference)
    n_free = parameter_map(model, empty, empty, len(job.names), reference, held).n_free
    text = checks.refuse_small_sample(with_data, n_free, has_priors, n_estimated > 0)
    if not equal and job.n_responses < job.scored.size:
        checks.refuse_disconnected(job.scored, job.labels, job.respondents, held)
    if not text:
        return []
    warnings.warn(text, SmallSampleWarning, stacklevel=3)
    return [text]


def _progress(progress: bool) -> AbstractContextManager[Callable[[int, float, float], None] | None]:
    return _Bar() if progress else nullcontext(None)


class _Bar:
    """A tqdm bar over the iterations, with the log-likelihood and what is still to gain."""

    def __enter__(self) -> Callable[[int, float, float], None]:
        from tqdm.auto import tqdm

        self._bar = tqdm(desc="calibrate", unit=" iterations")
        return self._report

    def _report(self, iteration: int, objective: float, remaining: float) -> None:
        self._bar.update(1)
        self._bar.set_postfix_str(f"log-likelihood {objective:.4f}, {remaining:.1g} to gain")

    def __exit__(self, *exception: object) -> None:
        self._bar.close()


def _warn(fitted: FittedModel, settings: FitSettings, job: CalibrationData) -> list[str]:
    """Warn about what the fit shows, and return the same texts as notes."""
    notes = list(_findings(fitted, settings, job))
    for text, category in notes:
        warnings.warn(text, category, stacklevel=4)
    texts = [text for text, _ in notes]
    if fitted.nodes.size > settings.n_points:
        texts.append(
            f"{settings.n_points} quadrature points were too few for these posteriors or groups; {fitted.nodes.size} were used."
        )
    return texts


def _findings(fitted: FittedModel, settings: FitSettings, job: CalibrationData) -> Iterator[tuple[str, type[Warning]]]:
    fit = fitted.fit
    n_items = job.labels.size
    if not fit.converged:
        yield (
            f"Estimation stopped after {counted(fitted.n_iterations, 'iteration')}, about {fit.remaining:.2g} "
            f"log-likelihood units below the maximum (tol={settings.tolerance:g}).\nAllow more than "
            f"max_iter={settings.max_iterations}, or look for items that nearly everyone answers alike.",
            ConvergenceWarning,
        )
    bound: BoolArray = np.append(fit.on_bound, False)[fitted.parameters.index]
    slopes = bound[:n_items]
    if slopes.any():
        lowest = -LARGEST_SLOPE if settings.priors is None else SMALLEST_POSITIVE_SLOPE
        yield (
            f"{counted(int(slopes.sum()), 'discrimination')} on the bound ({lowest:g} or {LARGEST_SLOPE:g}): "
            f"{listed(job.labels[slopes])}.\n"
            "The likelihood still rises beyond it (a Guttman pattern, or too few respondents), so they have no standard errors.\n"
            "priors=psychoedu.Priors() gives finite estimates.",
            BoundaryEstimateWarning,
        )
    if bound[2 * n_items :].any():
        names = [name for name, on in zip(job.names, np.any(bound[2 * n_items :].reshape(2, -1), axis=0), strict=True) if on]
        yield (
            f"The mean or SD of a group rests on its bound: {listed(names)}. Its responses hold too little information; "
            "name fewer groups.",
            BoundaryEstimateWarning,
        )
    if fitted.quadrature_error > LARGEST_QUADRATURE_ERROR:
        yield (
            f"{fitted.nodes.size} points are too few for posteriors as narrow as these: they may move the log-likelihood by "
            f"{fitted.quadrature_error:.2g}. Raise n_points, or leave adapt_points=True.",
            QuadratureWarning,
        )
    if fitted.covariance is not None and fitted.covariance.matrix is None:
        yield fitted.covariance.reason, StandardErrorWarning
