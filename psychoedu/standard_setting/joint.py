"""Joint simulation of the errors behind a level: item parameters, linking and panel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import BoolArray, FloatArray, IntArray
from psychoedu.exceptions import DataError, LabelError
from psychoedu.irt.bank import ItemBank
from psychoedu.responses import ResponseMatrix, as_response_matrix
from psychoedu.standard_setting.cut_scores import CutScores
from psychoedu.standard_setting.jackknife import item_sampling_error
from psychoedu.standard_setting.joint_draws import joint_level_draws, lattice
from psychoedu.standard_setting.locations import draw_parameters
from psychoedu.standard_setting.uncertainty import LevelUncertainty
from psychoedu.validation import check_flag, check_integer, check_per_respondent, counted, listed

_SAME_SCORE = 1e-4
_ALIKE = 0.01


def level_uncertainty(
    bank: Any,
    responses: Any,
    cuts: CutScores,
    labels: pd.Index,
    scores: tuple[FloatArray, FloatArray],
    method: str | None,
    prior: tuple[Any, Any],
    *,
    n_draws: int,
    rng: Any,
    item_sampling: bool,
    tasks: Any,
) -> LevelUncertainty:
    """Simulate every source of error jointly; ``classify`` with responses.

    Parameters
    ----------
    bank, responses, n_draws, rng, item_sampling, tasks
        As in :func:`psychoedu.classify`.
    cuts : CutScores
    labels : Index
        Respondents of the scores.
    scores : tuple of ndarrays, (N,)
        Theta and its standard errors.
    method : str or None
        Of the scores, if it is known.
    prior : tuple
        Mean and SD, each a number or one a respondent.

    Returns
    -------
    LevelUncertainty
    """
    own = getattr(bank, "bank", bank)
    if not isinstance(own, ItemBank):
        raise DataError(f"bank has to be a Calibration or an ItemBank; got {type(bank).__name__}.")
    check_integer(n_draws, "n_draws", 2)
    check_flag(item_sampling, "item_sampling")
    matrix = _rows_of(as_response_matrix(responses), labels)
    unknown = matrix.item_labels[~matrix.item_labels.isin(own.labels)]
    if len(unknown):
        raise LabelError(
            f"{len(unknown)} items of the responses are not in the bank: {listed(unknown)}. Expected the bank of the scores."
        )
    notes: list[str] = []
    sampling = item_sampling_error(own, matrix, tasks, method=method or "eap", prior_mean=prior[0], prior_sd=prior[1])
    _check_scores(scores[0], sampling["theta"].to_numpy(), labels, method, notes)
    mean, sd = (np.broadcast_to(_per_row(value, labels), len(labels)).astype(np.float64) for value in prior)
    generator = rng if isinstance(rng, np.random.Generator) else np.random.default_rng(_seed(rng))
    # a stream for each source: that one is unknown, or asked for, does not change the draws of the others
    streams = dict(zip(("items", "linking", "panel", "sampling"), generator.spawn(4), strict=True))
    parameters, cuts_by_step, sds = _drawn(own, cuts, n_draws, streams, notes)
    excess = sampling["excess_variance"].to_numpy()
    shifts = None
    if item_sampling:  # one draw for all respondents: who else is classified does not change a respondent's numbers
        shifts = streams["sampling"].standard_normal((n_draws, 1)) * np.sqrt(np.nan_to_num(excess))
        if np.isnan(excess).any():
            notes.append(f"item sampling: its error is unknown and left out for {listed(labels[np.isnan(excess)])}")
    crossed = float((np.diff(cuts_by_step[2], axis=1) < 0.0).any(axis=1).mean())
    if crossed > 0.0:
        notes.append(
            f"cuts crossed in {crossed:.1%} of the draws and were put in order there; small probabilities of levels far from the "
            "score rest on such draws"
        )
    place = own.labels.get_indexer(matrix.item_labels)
    guessing = own.guessing[place] if bool(np.any(own.guessing[place] > 0.0)) else None
    found = joint_level_draws(
        matrix.scored(),
        parameters[0][:, place],
        parameters[1][:, place],
        guessing,
        mean,
        sd,
        lattice(mean, sd, _peak_information(own, mean, sd)),
        *cuts_by_step,
        (own.discrimination[place], own.intercept[place], cuts.values),
        shifts,
    )
    by_items = cuts_by_step[0]
    drawn = own.covariance is not None and bool(np.isfinite(np.diag(own.covariance)).any())
    drawn = drawn or bool((by_items != by_items[0]).any())
    item_variance = found.item_variance if drawn else np.full_like(found.item_variance, np.nan)
    nearest, parts = _contributions(scores[0], cuts, found.measurement_variance, item_variance, sds, excess)
    if method in ("ml", "wle"):
        notes.append(f"the scores are {method.upper()}; the draws integrate the posterior under a normal prior, as EAP does")
    return LevelUncertainty(
        labels,
        cuts.level_labels,
        cuts.levels,
        found.probabilities,
        found.simulation_se,
        nearest,
        parts,
        item_sampling,
        n_draws,
        tuple(notes),
    )


def _seed(rng: Any) -> int | None:
    return None if rng is None else check_integer(rng, "rng", 0)


def _peak_information(bank: ItemBank, mean: FloatArray, sd: FloatArray) -> float:
    """Return the largest test information where respondents may be."""
    low, high = float((mean - 5.0 * sd).min()), float((mean + 5.0 * sd).max())
    located = bank.difficulty[(bank.difficulty > low) & (bank.difficulty < high)]  # a steep item's peak is narrow
    probe = np.concatenate(
        (np.linspace(low, high, 241), np.quantile(located, np.linspace(0.0, 1.0, 241)) if len(located) else [])
    )
    return float(bank.information(probe).max())


def _check_scores(theta: FloatArray, again: FloatArray, labels: pd.Index, method: str | None, notes: list[str]) -> None:
    """Compare the scores with those of the responses: the draws integrate the posteriors of the latter."""
    other = ~np.isclose(theta, again, rtol=0.0, atol=_SAME_SCORE if method else _ALIKE, equal_nan=True)
    if not other.any():
        return
    first = int(np.flatnonzero(other)[0])
    what = f"{counted(int(other.sum()), 'score')} ({labels[first]!r}: {theta[first]:.4g} in place of {again[first]:.4g})"
    if method:
        raise DataError(
            f"{what} are not those of these responses on this bank with this prior.\n"
            "Expected the bank, the responses and the prior that the scores were made with (prior_mean=, prior_sd=)."
        )
    notes.append(
        f"{what} differ from EAP of these responses on this bank with the prior given, whose posterior the draws integrate"
    )


def _rows_of(matrix: ResponseMatrix, labels: pd.Index) -> ResponseMatrix:
    absent = labels[~labels.isin(matrix.respondent_labels)]
    if len(absent):
        raise LabelError(
            f"{len(absent)} of {len(labels)} respondents of the scores have no responses: {listed(absent)}.\n"
            "Expected the responses that the scores were made from."
        )
    return matrix if matrix.respondent_labels.equals(labels) else matrix.select(respondents=labels)


def _per_row(value: Any, labels: pd.Index) -> FloatArray:
    if np.ndim(value) == 0:
        return np.asarray(value, dtype=np.float64)
    return np.asarray(check_per_respondent(value, labels, "prior"), dtype=np.float64)


def _drawn(
    bank: ItemBank, cuts: CutScores, n_draws: int, streams: dict[str, np.random.Generator], notes: list[str]
) -> tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray, FloatArray], dict[str, FloatArray]]:
    """Draw item parameters, and the cuts as items, link and panel move them."""
    covariance = bank.covariance
    if covariance is None:
        notes.append("item parameters: their error is unknown (the bank has no covariance) and left out of the draws")
        shape = (n_draws, bank.n_items)
        parameters = np.broadcast_to(bank.discrimination, shape), np.broadcast_to(bank.intercept, shape)
    else:
        unknown: BoolArray = np.atleast_1d(np.isnan(np.diag(covariance)).reshape(-1, 2).any(axis=1))
        if unknown.any():
            notes.append(f"item parameters of {listed(bank.labels[unknown])}: their error is unknown and left out of the draws")
        parameters = draw_parameters(bank.discrimination, bank.intercept, np.nan_to_num(covariance), n_draws, streams["items"])
    own = np.broadcast_to(cuts.values, (n_draws, len(cuts))).copy()
    if cuts.linking is not None:
        own = (own - cuts.linking.intercept) / cuts.linking.slope
    shifts, linked_with_scores = _item_shifts(bank, cuts, parameters, n_draws, streams["items"], notes)
    item_cuts = own + shifts
    fixed_link = item_cuts if cuts.linking is None else cuts.linking.transform(item_cuts)
    sds = {"linking": np.sqrt(np.diag(cuts.linking_covariance)), "panel": np.sqrt(np.diag(cuts.panel_covariance))}
    linked = _through_link(item_cuts, cuts, n_draws, streams["linking"])
    if linked_with_scores:
        notes.append("linking: cuts and scores went through one link, so that its error moves both and is not counted")
        linked, sds["linking"] = fixed_link, np.zeros(len(cuts))
    item_sd = np.sqrt(np.diag(cuts.item_covariance))
    for name, values in {"items": item_sd, **sds}.items():
        if np.isnan(values).any():
            which = [level for level, value in zip(cuts.levels, values, strict=True) if np.isnan(value)]
            notes.append(f"{name}: the error of {listed(which)} is unknown and left out of the draws (it is not 0)")
    return parameters, (fixed_link, linked, linked + _panel_shifts(cuts, n_draws, streams["panel"])), sds


def _item_shifts(
    bank: ItemBank, cuts: CutScores, parameters: Any, n_draws: int, rng: np.random.Generator, notes: list[str]
) -> tuple[FloatArray, bool]:
    """Return how drawn item parameters move the cuts, (R, L), to first order, and whether the bank went through their link."""
    source = cuts.bank
    if source is None or cuts.gradient is None:
        return np.zeros((n_draws, len(cuts))), False
    place = bank.labels.get_indexer(source.labels)
    shared = bool((place >= 0).all())
    drawn, with_link = None, False
    if shared and _alike(bank.discrimination[place], bank.intercept[place], source):
        if cuts.linking is not None and (cuts.linking.slope, cuts.linking.intercept) != (1.0, 0.0):
            raise DataError(
                "The cut scores were brought onto another scale by their linking constants, but bank is the one that they came "
                "from, on its own scale.\nExpected the bank of the scores, on the cuts' scale; or cuts made without linking=."
            )
        drawn = parameters[0][:, place], parameters[1][:, place]  # the items of the scores: one draw moves both
    elif shared and cuts.linking is not None:
        # the same items on the new scale? a = slope a*, d = d* + intercept a*
        slope, intercept = cuts.linking.slope, cuts.linking.intercept
        back = [
            (a[..., place] * slope, d[..., place] + a[..., place] * intercept)
            for a, d in ((bank.discrimination, bank.intercept), parameters)
        ]
        if _alike(*back[0], source):
            drawn, with_link = back[1], True
    if drawn is None:
        if source.covariance is None:
            return np.zeros((n_draws, len(cuts))), False
        notes.append("the cuts come from another calibration than the scores: the two errors of item parameters are drawn apart")
        drawn = draw_parameters(source.discrimination, source.intercept, np.nan_to_num(source.covariance), n_draws, rng)
    shift = np.empty((n_draws, 2 * source.n_items))
    # to first order in log a, in which the draws are normal: no mean shift, and the covariance of the cuts' items part
    steep = np.where(source.discrimination == 0.0, 1.0, source.discrimination)
    shift[:, 0::2] = steep * np.log(np.where(source.discrimination == 0.0, 1.0, drawn[0] / steep))
    shift[:, 1::2] = drawn[1] - source.intercept
    found: FloatArray = shift @ cuts.gradient.T
    return found, with_link


def _alike(discrimination: FloatArray, intercept: FloatArray, source: ItemBank) -> bool:
    pairs = (discrimination, source.discrimination), (intercept, source.intercept)
    return all(np.allclose(one, other, rtol=1e-9, atol=1e-9) for one, other in pairs)


def _through_link(item_cuts: FloatArray, cuts: CutScores, n_draws: int, rng: np.random.Generator) -> FloatArray:
    if cuts.linking is None:
        return item_cuts
    if cuts.linking.covariance is None:
        return cuts.linking.transform(item_cuts)
    values, vectors = np.linalg.eigh(cuts.linking.covariance)
    root = vectors * np.sqrt(np.clip(values, 0.0, None))
    constants = np.array([cuts.linking.slope, cuts.linking.intercept]) + rng.standard_normal((n_draws, 2)) @ root.T
    with np.errstate(invalid="ignore"):
        found: FloatArray = constants[:, :1] * item_cuts + constants[:, 1:]
    return found


def _panel_shifts(cuts: CutScores, n_draws: int, rng: np.random.Generator) -> FloatArray:
    """Return the panel's error of the cuts, (R, L): multivariate t with the panel's degrees of freedom; 0 where unknown."""
    covariance = np.nan_to_num(cuts.panel_covariance)
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2.0)
    root = vectors * np.sqrt(np.clip(values, 0.0, None))
    normal = rng.standard_normal((n_draws, len(cuts)))
    chi = rng.chisquare(cuts.panel_df, n_draws) if 0.0 < cuts.panel_df < np.inf else None
    found: FloatArray = normal @ root.T
    return found if chi is None else found * np.sqrt(cuts.panel_df / chi)[:, None]


def _contributions(
    theta: FloatArray,
    cuts: CutScores,
    measurement: FloatArray,
    items: FloatArray,
    sds: dict[str, FloatArray],
    excess: FloatArray,
) -> tuple[IntArray, FloatArray]:
    """Return the nearest finite cut of each respondent, and what each source adds to the error of ability minus that cut."""
    finite = np.flatnonzero(np.isfinite(cuts.values))
    nearest = np.full(len(theta), -1, dtype=np.int64)
    parts = np.full((len(theta), 5), np.nan)
    parts[:, 0] = np.sqrt(measurement)
    parts[:, 4] = np.sqrt(excess)
    if len(finite):
        known = np.isfinite(theta)
        distance = np.abs(theta[known, None] - cuts.values[finite])
        nearest[known] = finite[distance.argmin(axis=1)]
        rows = np.flatnonzero(known)
        at = nearest[rows]
        parts[rows, 1] = np.sqrt(items[rows, at])
        parts[rows, 2], parts[rows, 3] = sds["linking"][at], sds["panel"][at]
    return nearest, parts
