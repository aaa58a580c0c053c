"""Sampling error through the item response model: learners resampled and refitted, or tasks resampled and learners rescored.

Learners are resampled as row weights, each resample calibrated anew. Tasks are never resampled by calibrating copies of items,
which depend on each other perfectly and would inflate the slopes: the bank stays fixed, and respondents are scored with weights
of items.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import CodeArray, FloatArray
from psychoedu._version import __version__
from psychoedu.bootstrap.anything import bootstrap
from psychoedu.bootstrap.bootstrapped import Bootstrapped
from psychoedu.bootstrap.corrections import CORRECTIONS, inflate, inflation
from psychoedu.bootstrap.intervals import percentile_limits
from psychoedu.bootstrap.item_weights import KINDS, draw_item_weights, item_layout, perfect_notes
from psychoedu.bootstrap.streams import seed_of
from psychoedu.exceptions import ConvergenceWarning, DataError, EstimationError, LabelError
from psychoedu.irt.bank import ItemBank
from psychoedu.irt.calibrate import calibrate
from psychoedu.irt.models import log_probabilities
from psychoedu.responses import ResponseMatrix, as_response_matrix
from psychoedu.validation import check_choice, check_integer, check_number, check_positive, check_probability, counted, listed

HALF_WIDTH, N_NODES = 6.0, 241
"""Nodes of the posterior: a fortieth of the prior SD apart, which is enough for posteriors of several hundred items."""


def bootstrap_calibration(
    responses: Any,
    n_resamples: int = 200,
    confidence_level: float = 0.95,
    strata: Any = None,
    rng: Any = None,
    n_jobs: int | None = None,
    **options: Any,
) -> Bootstrapped:
    """Resample respondents and calibrate each resample by row weights.

    Parameters
    ----------
    responses : ResponseMatrix, DataFrame or array
    n_resamples, confidence_level, rng, n_jobs
        As in ``psychoedu.bootstrap``.
    strata : name of a respondent column, or a label per respondent, optional
        Respondents are drawn within strata, such as their groups.
    **options
        Of :func:`psychoedu.calibrate`, but for ``weights`` and ``standard_errors``.

    Returns
    -------
    Bootstrapped
        Components "<item> discrimination", "<item> intercept" and, with several groups, "<group> latent_mean" and "latent_sd".
        Refits that raised or did not converge are in ``.failures``, with the reason.

    Raises
    ------
    ResamplingError
        More than 5% of the refits failed.

    Examples
    --------
    >>> import psychoedu as pe
    >>> found = pe.irt.bootstrap_calibration(pe.datasets.load_lsat7(), n_resamples=20, rng=1)
    >>> found.names[:2].tolist(), found.n_failed
    (['Item.1 discrimination', 'Item.1 intercept'], 0)
    """
    taken = {"weights", "standard_errors"} & set(options)
    if taken:
        raise DataError(
            f"{listed(sorted(taken))} cannot be given: weights are the resamples', and refits need no standard errors."
        )
    matrix = as_response_matrix(responses)
    design: Any = matrix.n_respondents
    if strata is not None:
        design = matrix.respondents[strata] if isinstance(strata, str) and strata in matrix.respondents else strata
        if len(design) != matrix.n_respondents:
            raise DataError(f"strata has to hold one label per respondent ({matrix.n_respondents:,}); got {len(design):,}.")
    statistic = partial(_refit, matrix, options)
    return bootstrap(statistic, design, n_resamples=n_resamples, confidence_level=confidence_level, rng=rng, n_jobs=n_jobs)


def _refit(matrix: ResponseMatrix, options: Mapping[str, Any], weights: FloatArray) -> dict[str, float]:
    """Calibrate with row weights; a fit that stops before the maximum raises, other warnings are those of the data's own fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", ConvergenceWarning)
        try:
            found = calibrate(matrix, weights=weights, standard_errors=None, **options)
        except ConvergenceWarning as warning:
            raise EstimationError(f"not converged: {warning}") from warning
    values: dict[str, float] = {}
    for label, a, d in zip(found.labels, found.discrimination, found.intercept, strict=True):
        values |= {f"{label} discrimination": float(a), f"{label} intercept": float(d)}
    if len(found.group_labels) > 1:
        for label, mean, sd in zip(found.group_labels, found.latent_mean, found.latent_sd, strict=True):
            values |= {f"{label} latent_mean": float(mean), f"{label} latent_sd": float(sd)}
    return values


@dataclass(frozen=True, eq=False)
class TaskSampling:
    """Abilities with the error that comes from the choice of tasks; made by :func:`task_sampling_error`.

    Attributes
    ----------
    table : DataFrame by respondent
        ``theta`` (EAP), ``theta_se`` (posterior SD: measurement error), ``sampling_se`` (spread over resampled tasks), ``low``,
        ``high``; with cut scores ``level`` and ``level_share``, the share of resamples that agree.
    levels : DataFrame or None
        Share of resamples at each level, by respondent.
    resamples : (B, N) array
    kind, n_resamples, n_tasks, confidence_level, seed, version
    diagnostics : tuple of str
        Who has no wrong, or no right, answer: for them the choice of tasks seems to matter little, and may well not.
    """

    table: pd.DataFrame
    levels: pd.DataFrame | None
    resamples: FloatArray
    kind: str
    n_resamples: int
    n_tasks: int
    confidence_level: float
    seed: int
    version: str
    diagnostics: tuple[str, ...] = ()

    def summary(self) -> str:
        """Return the table as fixed-width text."""
        how = "resampled" if self.kind == "bootstrap" else "deleted by halves"
        first = (
            f"Ability of {counted(len(self.table), 'respondent')} on a fixed bank, {self.n_tasks} tasks {how} "
            f"{self.n_resamples:,} times, seed {self.seed}, {100 * self.confidence_level:g}% intervals"
        )
        table = self.table.to_string(float_format=lambda value: f"{value:.3f}")
        return "\n".join([first, table, *(f"note: {note}" for note in self.diagnostics)])


def task_sampling_error(
    calibration_or_bank: Any,
    responses: Any,
    tasks: Any = None,
    strata: Any = None,
    cut_scores: Any = None,
    n_resamples: int = 1_000,
    confidence_level: float = 0.95,
    kind: str = "bootstrap",
    correction: str | None = None,
    prior_mean: float = 0.0,
    prior_sd: float = 1.0,
    rng: Any = None,
) -> TaskSampling:
    """Rescore respondents with weights of resampled tasks, item parameters held fixed.

    Parameters
    ----------
    calibration_or_bank : Calibration or ItemBank
    responses : ResponseMatrix, DataFrame or array
        Items are matched by label.
    tasks : a label per item, optional
        Items of one task are drawn together; every item for itself if None.
    strata : a label per item, optional
        Tasks are drawn within strata.
    cut_scores : CutScores, mapping or Series of level to cut, optional
        In rising order; a respondent at a cut is at the upper level.
    n_resamples, confidence_level, rng
        As in ``psychoedu.bootstrap``; intervals are percentiles.
    kind : {"bootstrap", "jackknife"}
        Draw tasks with replacement, or delete half of them in turn (without replacement); see
        :func:`psychoedu.bootstrap.item_weights.draw_item_weights`.
    correction : {"rao-wu", "canty-davison"} or None
        Of the bootstrap, for few tasks.
    prior_mean, prior_sd : float

    Returns
    -------
    TaskSampling

    Notes
    -----
    log L(theta) = sum of w_j log P_j, w the weights of the items; EAP by the trapezoidal rule on 241 nodes within 6 prior SDs.
    The spread over tasks contains the noise of the answers on them, so that it is no error to be added to ``theta_se``: that
    one takes the items as they are.
    """
    bank = getattr(calibration_or_bank, "bank", calibration_or_bank)
    if not isinstance(bank, ItemBank):
        raise DataError(
            f"task_sampling_error needs a Calibration or an ItemBank first; got {type(calibration_or_bank).__name__}."
        )
    matrix = as_response_matrix(responses)
    position = bank.labels.get_indexer(matrix.item_labels)
    if (position < 0).any():
        unknown = matrix.item_labels[position < 0]
        raise LabelError(f"{counted(len(unknown), 'item')} of the responses not in the bank: {listed(unknown)}. Leave them out.")
    size = check_integer(n_resamples, "n_resamples", minimum=2)
    level = check_probability(confidence_level, "confidence_level")
    kind = check_choice(kind, KINDS, "kind")
    if correction is not None:
        correction = check_choice(correction, CORRECTIONS, "correction")
        if kind == "jackknife":
            raise DataError('The deletion of halves has its factor built in; expected correction=None with kind="jackknife".')
    mean, sd = check_number(prior_mean, "prior_mean"), check_positive(prior_sd, "prior_sd")
    layout, task = item_layout(matrix.item_labels, tasks, strata, correction)
    seed = seed_of(rng)
    weights = draw_item_weights(layout, task, seed, size, kind)
    nodes = mean + sd * np.linspace(-HALF_WIDTH, HALF_WIDTH, N_NODES)
    guessing = None if bank.guessing is None else np.asarray(bank.guessing)[position]
    right, wrong = log_probabilities(nodes, bank.discrimination[position], bank.intercept[position], guessing)
    log_prior = -0.5 * ((nodes - mean) / sd) ** 2
    scored = matrix.scored()
    theta, error = weighted_eap(scored, right, wrong, nodes, log_prior, np.ones((1, matrix.n_items)))
    drawn, _ = weighted_eap(scored, right, wrong, nodes, log_prior, weights)
    drawn = inflate(drawn, theta[0], inflation(np.array([len(own) for own in layout.members]), correction))
    low, high = percentile_limits(drawn, level)
    columns: dict[str, Any] = {
        "theta": theta[0], "theta_se": error[0], "sampling_se": drawn.std(axis=0, ddof=1), "low": low, "high": high,
    }  # fmt: skip
    shares = None
    if cut_scores is not None:
        names, cuts = _cuts(cut_scores)
        at, of = (np.searchsorted(cuts, values, side="right") for values in (theta[0], drawn))
        shares = pd.DataFrame(
            {name: (of == place).mean(axis=0) for place, name in enumerate(names)}, index=matrix.respondent_labels
        )
        columns["level"] = pd.Categorical([names[place] for place in at.tolist()], categories=names, ordered=True)
        columns["level_share"] = (of == at).mean(axis=0)
    return TaskSampling(
        table=pd.DataFrame(columns, index=matrix.respondent_labels),
        levels=shares,
        resamples=drawn,
        kind=kind,
        n_resamples=size,
        n_tasks=layout.n,
        confidence_level=level,
        seed=seed.entropy,
        version=__version__,
        diagnostics=perfect_notes(scored, matrix.respondent_labels),
    )


def _cuts(cut_scores: Any) -> tuple[list[str], FloatArray]:
    """Return the names of the levels, the lowest first, and the cuts between them."""
    series = pd.Series(getattr(cut_scores, "cut_scores", cut_scores))  # a CutScores holds a Series
    cuts = series.to_numpy(dtype=np.float64)
    if not len(cuts) or np.isnan(cuts).any() or (np.diff(cuts) < 0).any():
        raise DataError(f"cut_scores has to hold rising numbers, a cut for each level; got {listed(cuts)}.")
    return [f"below {series.index[0]}", *(str(label) for label in series.index)], cuts


def weighted_eap(
    scored: CodeArray, right: FloatArray, wrong: FloatArray, nodes: FloatArray, log_prior: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return posterior means and SDs under each set of item weights, (B, N) each.

    Parameters
    ----------
    scored : (N, J) int8 array
        1 right, 0 wrong, negative missing.
    right, wrong : (Q, J) arrays
        Log probabilities at the nodes.
    nodes, log_prior : (Q,) arrays
    weights : (B, J) array
    """
    one, zero = (scored == 1).astype(np.float64), (scored == 0).astype(np.float64)
    mean, spread = np.empty((len(weights), len(scored))), np.empty((len(weights), len(scored)))
    for row, weight in enumerate(weights):
        log_density = one @ (right * weight).T + zero @ (wrong * weight).T + log_prior
        density = np.exp(log_density - log_density.max(axis=1, keepdims=True))
        density /= density.sum(axis=1, keepdims=True)
        mean[row] = density @ nodes
        spread[row] = np.sqrt(np.maximum(density @ nodes**2 - mean[row] ** 2, 0.0))
    return mean, spread
