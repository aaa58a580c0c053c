"""The verb ``classify``: levels of respondents, with the probability of each."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import BoolArray, FloatArray
from psychoedu.exceptions import DataError, LabelError
from psychoedu.irt.scores import Scores
from psychoedu.standard_setting.cut_scores import CutScores
from psychoedu.standard_setting.decisions import assign_levels, level_probabilities
from psychoedu.standard_setting.levels import Levels
from psychoedu.standard_setting.locations import rp_locations
from psychoedu.standard_setting.uncertainty import LevelUncertainty
from psychoedu.validation import check_labels, counted, listed


def classify(
    scores: Any,
    cut_scores: Any,
    *,
    levels: Sequence[Hashable] | None = None,
    scale: Any = None,
    bank: Any = None,
    responses: Any = None,
    n_draws: int = 1000,
    rng: Any = None,
    item_sampling: bool = False,
    tasks: Any = None,
    prior_mean: Any = None,
    prior_sd: Any = None,
) -> Levels:
    """Turn scores into levels, with the probability of each level.

    Parameters
    ----------
    scores : Scores, or DataFrame with columns theta and theta_se
        From ``psychoedu.score`` or ``Calibration.scores``; on the scale of the cuts.
    cut_scores : CutScores, Series or mapping {level: theta}, or sequence of numbers with ``levels``
    levels : sequence of labels, optional
        The levels that the cuts open, lowest first, where ``cut_scores`` is a sequence.
    scale : "CSE", "CEFR", Scale, or list of all levels, optional
        Where ``cut_scores`` is no CutScores.
    bank : Calibration or ItemBank, optional
        The bank that the scores were made with; needed with ``responses``, and for the measured range where ``cut_scores`` is no
        CutScores.
    responses : ResponseMatrix, DataFrame or array-like, optional
        The responses behind the scores (the same respondents). With them the probabilities hold every source of error, not that
        of measurement alone: item parameters, linking and panel are drawn jointly, and ``.uncertainty`` shows what each
        contributes.
    n_draws : int, default 1000
        Joint draws.
    rng : int, Generator or None
        Seed of the draws: the same seed gives the same numbers.
    item_sampling : bool
        Count the sampling of tasks besides (its excess over measurement, see :func:`item_sampling_error`); it is shown in any
        case.
    tasks : Series {item: task}, sequence, or column of the item table, optional
        For the sampling of tasks; by default each item is a task.
    prior_mean, prior_sd : float or one number per respondent, optional
        The prior of the scores; by default the scores' own.

    Returns
    -------
    Levels
        ``.level``, ``.level_text``, ``.probabilities``, ``.flags``, ``.rp_sensitivity``, ``.to_frame()``.

    Raises
    ------
    DataError
        The cuts do not rise, or are not as many as the levels; scores and responses do not belong together.

    Notes
    -----
    theta >= cut is the upper level. Without responses the probability of a level is that of a normal distribution with the score
    as its mean and the standard error as its standard deviation: the posterior for EAP and MAP scores; for ML and WLE scores it
    amounts to a flat prior. An infinite score gets the top (bottom) level, and no probability.

    With responses, each draw takes the item parameters, the linking constants and the panel's cuts from their sampling
    distributions (the panel's with the t distribution of its degrees of freedom), scores the respondents anew, and integrates
    their posterior between the cuts; probabilities are means over the draws. Item parameters move ability and cuts together where
    the cuts come from the same bank, so that nothing counts twice.

    Examples
    --------
    >>> import pandas as pd
    >>> scores = pd.DataFrame({"theta": [0.3], "theta_se": [0.4]}, index=["model-x"])
    >>> levels = classify(scores, {"CSE-4": -0.5, "CSE-5": 0.0, "CSE-6": 0.5})
    >>> levels.level_text["model-x"], levels.probabilities.round(5).iloc[0].tolist()
    ('CSE-5', [0.02275, 0.20388, 0.46484, 0.30854])
    """
    cuts = cut_scores
    if not isinstance(cuts, CutScores):
        cuts = CutScores.from_values(cut_scores, levels=levels, scale=scale, bank=bank)
    elif levels is not None or scale is not None:
        raise DataError("levels= and scale= belong to plain numbers; a CutScores has its own. Leave them out.")
    labels, theta, error, score_flags = _scores(scores)
    no_data = np.array(["no_data" in text.split("; ") for text in score_flags], dtype=np.bool_)
    codes = np.where(no_data, -1, assign_levels(theta, cuts.values))
    notes = [*_notes(scores, theta, error, no_data), *_notes_on_cuts(cuts)]
    uncertainty: LevelUncertainty | None = None
    if responses is None:
        if item_sampling or tasks is not None:
            raise DataError("item_sampling and tasks need the responses behind the scores: pass responses= and bank=.")
        probabilities = level_probabilities(theta, error, cuts.values)
        if cuts.method != "given":
            notes.append(
                "the probabilities count measurement error alone; responses= and bank= add item parameters, linking and panel"
            )
    else:
        from psychoedu.standard_setting.joint import level_uncertainty

        if bank is None:
            raise DataError("With responses= the bank that the scores were made with is needed too: pass bank=.")
        uncertainty = level_uncertainty(
            bank,
            responses,
            cuts,
            labels,
            (theta, error),
            scores.method if isinstance(scores, Scores) else None,
            _prior(scores, prior_mean, prior_sd),
            n_draws=n_draws,
            rng=rng,
            item_sampling=item_sampling,
            tasks=tasks,
        )
        probabilities = uncertainty.steps[-1].copy()
        probabilities[~np.isfinite(theta) | ~np.isfinite(error)] = np.nan
    flags = _flags(theta, codes, cuts, score_flags)
    return Levels(labels, theta, error, codes, probabilities, flags, cuts, uncertainty, tuple(notes))


def _scores(scores: Any) -> tuple[pd.Index, FloatArray, FloatArray, list[str]]:
    """Return labels, theta, standard errors (nan where unknown) and flags."""
    if isinstance(scores, Scores):
        frame = scores.to_frame()
    elif isinstance(scores, pd.Series):
        frame = pd.DataFrame({"theta": scores})
    elif isinstance(scores, pd.DataFrame):
        frame = scores
    else:
        raise DataError(f"scores has to be Scores, or a DataFrame with columns theta and theta_se; got {type(scores).__name__}.")
    if "theta" not in frame.columns:
        raise LabelError(f"scores has no column theta; its columns are {listed(frame.columns)}. Expected theta and theta_se.")
    if not len(frame):
        raise DataError("scores has no rows; expected at least one respondent.")
    columns = [frame["theta"], frame["theta_se"] if "theta_se" in frame.columns else pd.Series(np.nan, index=frame.index)]
    try:
        theta, error = (np.array(column.to_numpy(dtype=np.float64, na_value=np.nan)) for column in columns)
    except (TypeError, ValueError) as fault:
        raise DataError("theta and theta_se have to be numbers.") from fault
    if (error < 0.0).any():
        raise DataError(f"theta_se is negative for {counted(int((error < 0).sum()), 'respondent')}; expected at least 0.")
    flags = [str(text) for text in frame["flags"].fillna("")] if "flags" in frame.columns else [""] * len(frame)
    return check_labels(frame.index, "respondent"), theta, error, flags


def _prior(scores: Any, mean: Any, sd: Any) -> tuple[Any, Any]:
    own = (scores.prior_mean, scores.prior_sd) if isinstance(scores, Scores) else (0.0, 1.0)
    if isinstance(scores, Scores) and scores.method in ("ml", "wle"):
        own = (0.0, 1.0)
    found = (own[0] if mean is None else mean, own[1] if sd is None else sd)
    if found[0] is None or found[1] is None:
        raise DataError(
            "These scores have several priors (each respondent's group), which they do not keep.\n"
            "Pass prior_mean and prior_sd, one number per respondent or one for all."
        )
    return found


def _notes(scores: Any, theta: FloatArray, error: FloatArray, no_data: BoolArray) -> list[str]:
    notes = []
    if isinstance(scores, Scores) and scores.method in ("ml", "wle"):
        notes.append(
            f"{scores.method.upper()} scores: the probabilities take their sampling distribution for the posterior (a flat prior)"
        )
    infinite = int(np.isinf(theta).sum())
    if infinite:
        notes.append(f"{counted(infinite, 'respondent')} with an infinite score: the end level, its probability is unknown")
    unknown = int((np.isfinite(theta) & ~np.isfinite(error)).sum())
    if unknown:
        notes.append(f"{counted(unknown, 'respondent')} without a standard error: the probabilities of their levels are unknown")
    if no_data.any():
        notes.append(
            f"{counted(int(no_data.sum()), 'respondent')} answered no item: no level is given, the probabilities are the prior's"
        )
    return notes


def _notes_on_cuts(cuts: CutScores) -> list[str]:
    notes = []
    for level, value in zip(cuts.levels, cuts.values, strict=True):
        if np.isinf(value):
            what = "everybody is at or above it" if value < 0.0 else "nobody reaches it"
            notes.append(f"the cut score of {level} is open-ended ({value:+g}): {what}, whatever they answered")
    return notes


def _flags(theta: FloatArray, codes: FloatArray, cuts: CutScores, score_flags: list[str]) -> tuple[str, ...]:
    locations = _locations(cuts)
    outside = np.zeros(len(theta), dtype=np.bool_)
    empty = np.zeros(len(cuts.values) + 1, dtype=np.bool_)
    if locations is not None:
        with np.errstate(invalid="ignore"):
            outside = (theta < locations.min()) | (theta > locations.max())
        empty = np.bincount(assign_levels(locations, cuts.values), minlength=len(empty)) == 0
    texts = []
    for row, own in enumerate(score_flags):
        found = [flag for flag in own.split("; ") if flag]
        found += ["infinite"] if np.isinf(theta[row]) and "infinite" not in found else []
        found += ["outside_measured_range"] if outside[row] else []
        found += ["no_items_at_level"] if codes[row] >= 0 and empty[int(codes[row])] else []
        texts.append("; ".join(found))
    return tuple(texts)


def _locations(cuts: CutScores) -> FloatArray | None:
    """Return where the items behind the cuts are located, on the cuts' scale; None where no items are known."""
    if cuts.booklet is not None:
        locations = cuts.booklet.locations
    elif cuts.bank is not None:
        bank, probability = cuts.bank, float(cuts.options.get("response_probability", 0.5))
        rising = bank.discrimination > 0.0
        if not rising.any() or (bank.guessing[rising] >= probability).any():
            return None
        locations = rp_locations(bank.discrimination[rising], bank.intercept[rising], bank.guessing[rising], probability)
    else:
        return None
    return locations if cuts.linking is None else cuts.linking.transform(locations)
