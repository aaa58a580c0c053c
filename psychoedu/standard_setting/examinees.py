"""Cut scores from judgements of respondents: contrasting groups and the borderline group."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri
from scipy.stats import binom

from psychoedu._typing import BoolArray, FloatArray
from psychoedu.exceptions import DataError, DuplicateLabelError
from psychoedu.irt.bank import ItemBank
from psychoedu.irt.scores import Scores
from psychoedu.standard_setting.cut_scores import CutScores
from psychoedu.standard_setting.judged_levels import JudgedLevels, border_levels, judged_levels, matched
from psychoedu.standard_setting.logistic_cuts import LogisticCut, joint_covariance, logistic_cut
from psychoedu.standard_setting.scales import as_scale
from psychoedu.validation import check_labels, check_probability, check_weights, counted, listed

FEW_RESPONDENTS = 20
_NOT_KNOWN = (
    "items and linking parts of the standard errors: unknown, the abilities are taken as they are (they are not 0); the panel "
    "part is the sampling of respondents and judgements"
)


def contrasting_groups(
    scores: Any,
    judgements: Any,
    *,
    levels: Sequence[Hashable] | None = None,
    scale: Any = None,
    probability: float = 0.5,
    weights: Any = None,
    bank: Any = None,
) -> CutScores:
    """Set cut scores where respondents begin to be judged at or above a level by those who know them.

    Parameters
    ----------
    scores : Scores, or Series or mapping {respondent: theta}
        Abilities; those that are infinite or missing, and those of respondents who answered nothing, are left out and counted.
    judgements : Series or mapping {respondent: level}, or sequence in the respondents' order
        The level that a judge gives each respondent without seeing the score; missing for none.
    levels : sequence of labels, optional
        Levels that get a cut score, lowest first. By default all that occur, except the lowest, which no cut opens; it may
        have any label ("below CSE-3").
    scale : "CSE", "CEFR", Scale, or list of all levels, optional
        By default CSE or CEFR where the labels are theirs. With it numbers are read as its levels, 4 as CSE-4.
    probability : float, default 0.5
        The cut score is where the probability to be judged at or above the level reaches this.
    weights : Series, mapping or sequence, optional
        How many respondents each stands for.
    bank : Calibration or ItemBank, optional
        The items behind the scores, for raw-score equivalents of the cuts.

    Returns
    -------
    CutScores
        Of method "contrasting groups". The panel part of the error is the sampling of respondents and judgements.

    Raises
    ------
    DataError
        Those judged at or above a level are no more able than the others; all are, or none is, at or above it; the cuts cross.
    LabelError
        No respondent has both a score and a judgement; a label is not among the levels.

    Notes
    -----
    For each level l a logistic regression of [judged >= l] on theta; the standard error is by the delta method. Where
    everyone judged at or above l is more able than everyone else, the cut is the middle of the gap, and its error unknown.

    Abilities carry error, and the regression depends on its kind. With EAP scores the true ability scatters around the score:
    the slope is attenuated, but the cut at 0.5 stays where it is, as long as the prior is the ability distribution of those
    judged. With another prior, as where only some of the respondents were judged, the shrinkage moves the cut. ML and WLE scores
    scatter around the true ability, and the distance of the cut at 0.5 from the group's mean grows by 1 / reliability. A cut at
    another probability hangs on the attenuated slope, so that any error moves it.

    References
    ----------
    Livingston, S. A., & Zieky, M. J. (1982). Passing scores (chapter 3). Educational Testing Service.
    Cizek, G. J., & Bunch, M. B. (2007). Standard setting (chapter 8). Sage.

    Examples
    --------
    >>> import pandas as pd
    >>> theta = pd.Series([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0], index=list("uvwxyz"))
    >>> judged = pd.Series(["no", "no", "yes", "no", "yes", "yes"], index=list("uvwxyz"))
    >>> abs(contrasting_groups(theta, judged, levels=["yes"]).cut_scores.round(6)).to_dict()
    {'yes': 0.0}
    """
    target = check_probability(probability, "probability")
    labels, theta, usable, notes = _abilities(scores)
    given, elsewhere = matched(judgements, labels, "judgements", "respondent")
    weight = check_weights(weights, labels)
    judged = judged_levels(given.where(usable & (weight > 0.0)), levels, scale, "judgements")
    used = judged.places >= 0
    unjudged = int((given.isna().to_numpy() & usable).sum())
    if unjudged:
        notes.append(f"left out, no judgement: {counted(unjudged, 'respondent')}")
    notes += _unused(given, usable, elsewhere)
    if judged.uncut is not None:
        notes.append(f"no cut score for {judged.uncut}: it is the lowest level judged")
    x, w = theta[used], weight[used]
    fits = [_fit(judged, level, x, used, w, target) for level in judged.cuts]
    values = np.array([fit.value for fit in fits])
    _refuse_crossed(judged.cuts, values)
    notes += [note for level, fit in zip(judged.cuts, fits, strict=True) for note in _notes_on(level, fit, x)]
    notes += [*_notes_on_method(scores, contrasting=True), _NOT_KNOWN]
    nothing = np.full((len(values), len(values)), np.nan)
    return CutScores(
        judged.cuts,
        values,
        as_scale(scale, judged.cuts),
        "contrasting groups",
        joint_covariance(fits, x, w),
        nothing,
        nothing,
        bank=_bank(bank),
        options={
            "probability": target,
            "n_respondents": int(used.sum()),
            "n_below": [fit.n_below for fit in fits],
            "n_at_or_above": [fit.n_above for fit in fits],
            "slopes": [None if np.isinf(fit.slope) else fit.slope for fit in fits],
            "weighted": weights is not None,
        },
        diagnostics=tuple(notes),
    )


def borderline_group(
    scores: Any,
    borderline: Any,
    *,
    levels: Sequence[Hashable] | None = None,
    scale: Any = None,
    bank: Any = None,
) -> CutScores:
    """Set each cut score at the median ability of the respondents whom judges see on the border of the level.

    Parameters
    ----------
    scores : Scores, or Series or mapping {respondent: theta}
        As for :func:`contrasting_groups`.
    borderline : Series or mapping {respondent: level}, or mapping {level: respondents}
        On the border of which level each respondent stands, just reaching it or not; missing for those on none.
    levels : sequence of labels, optional
        The levels, lowest first; by default all that occur.
    scale : "CSE", "CEFR", Scale, or list of all levels, optional
        By default CSE or CEFR where the labels are theirs. With it numbers are read as its levels, 4 as CSE-4.
    bank : Calibration or ItemBank, optional
        The items behind the scores, for raw-score equivalents of the cuts.

    Returns
    -------
    CutScores
        Of method "borderline group". The panel part of the error is the sampling of respondents.

    Raises
    ------
    DataError
        A level has no one on its border; a respondent stands on two; the medians do not rise with the level.

    Notes
    -----
    Standard error of the median, from the order statistics c-th from below and from above, c = (n + 1) / 2 - sqrt(n), rounded, at
    least 1: their distance / (2 z), with z the normal quantile of the exact binomial probability that the median lies beyond
    one of them. It is a formula for large n; for normal values it is 5 to 15% too large on average from n = 20 down to 5.

    Abilities carry error. ML and WLE scores of a borderline group scatter around its ability, so that the median is right
    where the error is symmetric; EAP and MAP scores are shrunk, and their median is drawn towards the prior mean.

    References
    ----------
    Price, R. M., & Bonett, D. G. (2001). Estimating the variance of the sample median. Journal of Statistical Computation and
    Simulation, 68, 295-305.
    McKean, J. W., & Schrader, R. M. (1984). A comparison of methods for studentizing the sample median. Communications in
    Statistics - Simulation and Computation, 13, 751-773. Livingston, S. A., & Zieky, M. J. (1982). Passing scores (chapter
    3). Educational Testing Service.

    Examples
    --------
    >>> theta = {"u": -1.0, "v": 0.0, "w": 0.4, "x": 1.0, "y": 2.0}
    >>> borderline_group(theta, {"B1": ["u", "v", "w"], "B2": ["x", "y"]}).cut_scores.to_dict()
    {'B1': 0.0, 'B2': 1.5}
    """
    labels, theta, usable, notes = _abilities(scores)
    given, elsewhere = matched(_by_respondent(borderline), labels, "borderline", "respondent")
    named, cuts = border_levels(given, levels, scale, "borderline")
    groups = [theta[(named == level).to_numpy(dtype=bool, na_value=False) & usable] for level in cuts]
    empty = [level for level, group in zip(cuts, groups, strict=True) if not len(group)]
    if empty:
        raise DataError(
            f"No respondent with a finite ability is on the border of {listed(empty)}. Expected at least one for each."
        )
    values = np.array([np.median(group) for group in groups])
    errors = np.array([median_standard_error(group) for group in groups])
    others = int((given.notna() & named.isna()).sum())
    if others:
        notes.append(f"left out, on the border of another level: {counted(others, 'respondent')}")
    notes += _unused(named, usable, elsewhere)
    for level, group, error in zip(cuts, groups, errors, strict=True):
        n = counted(len(group), "respondent")
        if np.isnan(error):
            why = "there is no spread to see" if len(group) == 1 else "the middle abilities are all alike"
            notes.append(f"panel part of the standard error of {level}: unknown, {n} on its border, {why} (it is not 0)")
        elif len(group) < FEW_RESPONDENTS:
            notes.append(f"few on the border of {level}: {n}; the standard error of the median is a formula for large groups")
    notes += [*_notes_on_method(scores, contrasting=False), _NOT_KNOWN]
    nothing = np.full((len(values), len(values)), np.nan)
    return CutScores(
        cuts,
        values,
        as_scale(scale, cuts),
        "borderline group",
        np.where(np.eye(len(values), dtype=bool), errors**2, 0.0),
        nothing,
        nothing,
        bank=_bank(bank),
        options={"n_respondents": [len(group) for group in groups]},
        diagnostics=tuple(notes),
    )


def median_standard_error(values: FloatArray) -> float:
    """Return the standard error of the median after Price and Bonett; nan for one value, and where the middle values are alike.

    Examples
    --------
    >>> round(median_standard_error(np.array([25.0, 29, 35, 36, 36, 40, 41, 43, 44, 54])), 6)
    3.261774
    """
    n = len(values)
    if n < 2:
        return float("nan")
    ordered = np.sort(values)
    place = max(round((n + 1) / 2 - np.sqrt(n)), 1)
    width = float(ordered[n - place] - ordered[place - 1])
    return width / (-2.0 * float(ndtri(binom.cdf(place - 1, n, 0.5)))) if width > 0.0 else float("nan")


def _abilities(scores: Any) -> tuple[pd.Index, FloatArray, BoolArray, list[str]]:
    """Return labels, abilities, which of them may be used, and why the others may not."""
    notes = []
    if isinstance(scores, Scores):
        labels, theta = scores.respondent_labels, scores.estimates.theta
        silent = scores.flags.str.contains("no_data|no_information").to_numpy(dtype=bool)
        if silent.any():
            notes.append(f"left out, answered no item that tells of ability: {counted(int(silent.sum()), 'respondent')}")
    else:
        if isinstance(scores, Mapping):
            scores = pd.Series(list(scores.values()), index=pd.Index(list(scores), tupleize_cols=False))
        if not isinstance(scores, pd.Series):
            raise DataError(f"scores has to be Scores, or a Series of abilities by respondent; got {type(scores).__name__}.")
        labels = check_labels(scores.index, "respondent")
        try:
            theta = scores.to_numpy(dtype=np.float64, na_value=np.nan)
        except (TypeError, ValueError) as error:
            raise DataError(f"scores has to hold abilities, numbers; got {listed(scores)}.") from error
        silent = np.zeros(len(labels), dtype=bool)
    strange = ~np.isfinite(theta) & ~silent
    if strange.any():
        notes.append(
            f"left out, ability infinite or missing: {counted(int(strange.sum()), 'respondent')} ({listed(labels[strange])})"
        )
    return labels, theta, ~strange & ~silent, notes


def _unused(given: pd.Series, usable: BoolArray, elsewhere: int) -> list[str]:
    notes = []
    without = int((given.notna().to_numpy() & ~usable).sum())
    if without:
        notes.append(f"of the judgements {without:,} fall on respondents without a finite ability: not used")
    if elsewhere:
        notes.append(f"{counted(elsewhere, 'judgement')} of respondents who have no score: not used")
    return notes


def _fit(
    judged: JudgedLevels, level: Hashable, x: FloatArray, used: BoolArray, weights: FloatArray, probability: float
) -> LogisticCut:
    fit = logistic_cut(x, judged.places[used] >= judged.first(level), weights, probability)
    if fit.trouble == "one class":
        what = "none is" if fit.n_above == 0 else "all are"
        raise DataError(
            f"{level} has no cut score: of {counted(len(x), 'respondent')} with an ability and a judgement {what} judged at or "
            "above it.\n"
            "Expected respondents on both sides; leave the level out of levels=."
        )
    if fit.trouble == "falling":
        raise DataError(
            f"{level} has no cut score: those judged at or above it are no more able (mean {fit.means[1]:.3f}, n "
            f"{fit.n_above:,}) than those judged below (mean {fit.means[0]:.3f}, n {fit.n_below:,}).\n"
            "Expected judgements that rise with ability; check that the labels of scores and judgements belong together, and "
            "the order of the levels."
        )
    return fit


def _refuse_crossed(levels: Sequence[Hashable], values: FloatArray) -> None:
    for k in range(len(values) - 1):
        if values[k + 1] <= values[k]:
            raise DataError(
                f"The cut scores of {levels[k]} ({values[k]:.4g}) and {levels[k + 1]} ({values[k + 1]:.4g}) cross: each level "
                f"has a regression of its own, and {levels[k]} has too few respondents, or judgements too vague, to lie "
                "between.\n"
                "Leave one of the two out of levels=, or join them."
            )


def _notes_on(level: Hashable, fit: LogisticCut, x: FloatArray) -> list[str]:
    notes = []
    if fit.trouble == "separated":
        notes.append(
            f"panel part of the standard error of {level}: unknown, ability separates the groups without overlap; the cut "
            "score is the middle of the gap between them"
        )
    fewer = min(fit.n_below, fit.n_above)
    if fewer < FEW_RESPONDENTS:
        side = "below" if fit.n_below == fewer else "at or above"
        notes.append(f"few respondents judged {side} {level}: {fewer}; its standard error is a formula for large groups")
    if not x.min() <= fit.value <= x.max():
        notes.append(f"the cut score of {level} lies beyond the abilities judged ({x.min():.3f} to {x.max():.3f})")
    return notes


def _notes_on_method(scores: Any, contrasting: bool) -> list[str]:
    method = scores.method if isinstance(scores, Scores) else None
    if method in ("eap", "map"):
        if contrasting:
            return [
                f"scores are {method.upper()}, shrunk to the prior: the cut scores hold where the prior is the ability "
                "distribution of those judged"
            ]
        return [
            f"scores are {method.upper()}, shrunk to the prior: the medians are drawn towards the prior mean; WLE or ML are not"
        ]
    if method in ("ml", "wle") and contrasting:
        return [
            f"scores are {method.upper()}, which scatter around the ability: the cut scores lie too far from the mean of those "
            "judged, by a factor of about 1 / reliability"
        ]
    return []


def _by_respondent(borderline: Any) -> Any:
    """Turn {level: respondents} into a Series by respondent; anything else stays."""
    if not isinstance(borderline, Mapping) or not borderline:
        return borderline
    several = [isinstance(value, Iterable) and not isinstance(value, str) for value in borderline.values()]
    if not all(several):
        return borderline
    who = [respondent for group in borderline.values() for respondent in group]
    level = [name for name, group in borderline.items() for _ in group]
    found = pd.Series(level, index=pd.Index(who, tupleize_cols=False), dtype=object)
    if not found.index.is_unique:
        twice = found.index[found.index.duplicated()].unique()
        raise DuplicateLabelError(
            f"{counted(len(twice), 'respondent')} on two borders, or named twice: {listed(twice)}. Expected each on one border "
            "at most."
        )
    return found


def _bank(bank: Any) -> ItemBank | None:
    own = getattr(bank, "bank", bank)
    if own is None or isinstance(own, ItemBank):
        return own
    raise DataError(f"bank has to be a Calibration or an ItemBank; got {type(bank).__name__}.")
