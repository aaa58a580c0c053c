"""Mastery with the error that comes from the choice of tasks: parameters stay fixed, and items have weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray
from psychoedu._version import __version__
from psychoedu.bootstrap.corrections import CORRECTIONS, inflate, inflation
from psychoedu.bootstrap.intervals import percentile_limits
from psychoedu.bootstrap.item_weights import KINDS, draw_item_weights, item_layout, perfect_notes
from psychoedu.bootstrap.streams import seed_of
from psychoedu.cdm.compare import score
from psychoedu.cdm.results import Diagnosis
from psychoedu.exceptions import DataError
from psychoedu.responses import as_response_matrix
from psychoedu.validation import check_choice, check_integer, check_probability, counted


@dataclass(frozen=True, eq=False)
class MasterySampling:
    """Mastery of respondents with its task-sampling error; made by :func:`mastery_sampling_error`.

    Attributes
    ----------
    table : DataFrame by respondent and attribute
        ``mastery`` (probability), ``sampling_se`` (spread over resampled tasks), ``low``, ``high``, ``mastered`` and
        ``mastered_share``, the share of resamples with mastery above the threshold; missing for attributes that are withheld.
    resamples : (B, N, K) array
    kind, n_resamples, n_tasks, confidence_level, threshold, seed, version
    diagnostics : tuple of str
        Who has no wrong, or no right, answer: for them the choice of tasks seems to matter little, and may well not.
    """

    table: pd.DataFrame
    resamples: FloatArray
    kind: str
    n_resamples: int
    n_tasks: int
    confidence_level: float
    threshold: float
    seed: int
    version: str
    diagnostics: tuple[str, ...] = ()

    def summary(self) -> str:
        """Return the table as fixed-width text."""
        how = "resampled" if self.kind == "bootstrap" else "deleted by halves"
        n_respondents = self.table.index.get_level_values(0).nunique()
        first = (
            f"Mastery of {counted(n_respondents, 'respondent')}, parameters fixed, {self.n_tasks} tasks {how} "
            f"{self.n_resamples:,} times, seed {self.seed}, {100 * self.confidence_level:g}% intervals"
        )
        table = self.table.to_string(float_format=lambda value: f"{value:.3f}")
        return "\n".join([first, table, *(f"note: {note}" for note in self.diagnostics)])


def mastery_sampling_error(
    diagnosis: Diagnosis,
    responses: Any,
    groups: Any = None,
    tasks: Any = None,
    strata: Any = None,
    n_resamples: int = 1_000,
    confidence_level: float = 0.95,
    threshold: float = 0.5,
    kind: str = "bootstrap",
    correction: str | None = None,
    rng: Any = None,
) -> MasterySampling:
    """Diagnose respondents with weights of resampled tasks, all parameters held fixed.

    Parameters
    ----------
    diagnosis : Diagnosis
    responses, groups
        As in :func:`psychoedu.cdm.score`; items are matched by label.
    tasks : a label per item, optional
        Items of one task are drawn together; every item for itself if None.
    strata : a label per item, optional
    n_resamples, confidence_level, rng
        As in ``psychoedu.bootstrap``; intervals are percentiles.
    threshold : float
        An attribute is mastered strictly above it.
    kind : {"bootstrap", "jackknife"}
        Draw tasks with replacement, or delete half of them in turn; see
        :func:`psychoedu.bootstrap.item_weights.draw_item_weights`.
    correction : {"rao-wu", "canty-davison"} or None

    Returns
    -------
    MasterySampling

    Notes
    -----
    log L(profile) = sum of w_j log P_j, w the weights of the items. A calibration of resampled items is not offered: copies of
    an item depend on each other perfectly.
    """
    if not isinstance(diagnosis, Diagnosis):
        raise DataError(f"mastery_sampling_error needs a Diagnosis first; got {type(diagnosis).__name__}.")
    size = check_integer(n_resamples, "n_resamples", minimum=2)
    level = check_probability(confidence_level, "confidence_level")
    at = check_probability(threshold, "threshold")
    kind = check_choice(kind, KINDS, "kind")
    if correction is not None:
        correction = check_choice(correction, CORRECTIONS, "correction")
        if kind == "jackknife":
            raise DataError('The deletion of halves has its factor built in; expected correction=None with kind="jackknife".')
    scored = score(diagnosis, responses, groups)
    source = scored.require_source("mastery_sampling_error()")
    labels = as_response_matrix(responses).item_labels
    position = diagnosis.item_labels.get_indexer(labels)
    layout, task = item_layout(labels, tasks, strata, correction)
    seed = seed_of(rng)
    weights = draw_item_weights(layout, task, seed, size, kind)
    right, wrong = (source.scored[:, position] == code for code in (1, 0))
    success = diagnosis.success[position]
    log_prior = diagnosis.log_prior[source.population]
    alpha = diagnosis.alpha.astype(np.float64)
    both = (right.astype(np.float64), wrong.astype(np.float64), np.log(success), np.log1p(-success))
    mastery = _mastery(*both, log_prior, alpha, np.ones((1, len(labels))))[0]
    drawn = _mastery(*both, log_prior, alpha, weights)
    factor = inflation(np.array([len(own) for own in layout.members]), correction)
    flat = inflate(drawn.reshape(size, -1), mastery.ravel(), factor)
    low, high = percentile_limits(flat, level)
    frame = pd.DataFrame(
        {
            "mastery": mastery.ravel(),
            "sampling_se": flat.std(axis=0, ddof=1),
            "low": low,
            "high": high,
            "mastered": pd.array(mastery.ravel() > at, dtype="boolean"),
            "mastered_share": (flat > at).mean(axis=0),
        },
        index=pd.MultiIndex.from_product([source.labels, diagnosis.attribute_labels], names=["respondent", "attribute"]),
    )
    frame[frame.index.get_level_values("attribute").isin(diagnosis.withheld)] = pd.NA
    return MasterySampling(
        table=frame,
        resamples=flat.reshape(drawn.shape),
        kind=kind,
        n_resamples=size,
        n_tasks=layout.n,
        confidence_level=level,
        threshold=at,
        seed=seed.entropy,
        version=__version__,
        diagnostics=perfect_notes(source.scored[:, position], source.labels),
    )


def _mastery(
    right: FloatArray,
    wrong: FloatArray,
    log_success: FloatArray,
    log_failure: FloatArray,
    log_prior: FloatArray,
    alpha: FloatArray,
    weights: FloatArray,
) -> FloatArray:
    """Return mastery under each set of item weights, (B, N, K)."""
    found = np.empty((len(weights), len(right), alpha.shape[1]))
    for row, weight in enumerate(weights):
        log_posterior = (right * weight) @ log_success + (wrong * weight) @ log_failure + log_prior
        posterior = np.exp(log_posterior - log_posterior.max(axis=1, keepdims=True))
        found[row] = posterior @ alpha / posterior.sum(axis=1, keepdims=True)
    return found
