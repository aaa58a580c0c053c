"""Impact of cut scores: the share of each group of test takers at each level, with intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray
from psychoedu.exceptions import DataError
from psychoedu.irt.scores import Scores
from psychoedu.proportions import wilson_interval
from psychoedu.standard_setting.agreement import share_above
from psychoedu.standard_setting.classify import classify
from psychoedu.validation import check_choice, check_per_respondent, check_probability

EVERYONE = "everyone"
_GRID = np.linspace(-8.0, 8.0, 321)


def impact(
    scores: Any, cut_scores: Any, groups: Any = None, *, basis: str = "probability", confidence_level: float = 0.95
) -> pd.DataFrame:
    """Return the share of each group at each level: what a panel sees before its last round.

    Parameters
    ----------
    scores : Scores, or DataFrame with columns theta and theta_se
        EAP scores, best under each group's own population (``Calibration.scores()`` gives these).
    cut_scores : CutScores, Series or mapping {level: theta}
    groups : one label per respondent, optional
        Everyone is one group without it. Respondents with a missing label are left out.
    basis : {"probability", "level"}
        "probability": the mean of the respondents' level probabilities. "level": the share of levels assigned; EAP scores are
        drawn together, so that this puts too few at the ends.
    confidence_level : float

    Returns
    -------
    DataFrame by (group, level)
        ``share``, ``low``, ``high``, ``n`` (respondents with a score).

    Notes
    -----
    Wilson intervals for the sampling of respondents; with "probability" they are on the safe side, since a mean of probabilities
    varies less than a share of ones and zeros. The cuts are taken as they are.

    References
    ----------
    Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. Journal of the American
    Statistical Association, 22, 209-212.

    Examples
    --------
    >>> import pandas as pd
    >>> scores = pd.DataFrame({"theta": [-1.0, 0.5, 1.5], "theta_se": 0.3})
    >>> impact(scores, {"pass": 0.0}, basis="level")["share"].round(3).tolist()
    [0.333, 0.667]
    """
    check_choice(basis, ("probability", "level"), "basis")
    check_probability(confidence_level, "confidence_level")
    levels = classify(scores, cut_scores)
    membership = levels.probability_values
    if basis == "level":
        membership = (levels.codes[:, None] == np.arange(len(levels.level_labels))).astype(np.float64)
        membership[levels.codes < 0] = np.nan
    parts = []
    for group, rows in _groups(groups, levels.respondent_labels).items():
        own = membership[rows]
        own = own[~np.isnan(own).any(axis=1)]
        n = len(own)
        share = own.mean(axis=0) if n else np.full(membership.shape[1], np.nan)
        low, high = wilson_interval(share, n, confidence_level) if n else (share, share)
        index = pd.MultiIndex.from_product([[group], levels.level_labels], names=["group", "level"])
        parts.append(pd.DataFrame({"share": share, "low": low, "high": high, "n": n}, index=index))
    return pd.concat(parts)


def impact_texts(shares: pd.DataFrame) -> pd.DataFrame:
    """Return what :func:`impact` gave as text for tables, levels x groups: "12.3% (10.1% to 14.9%)"."""
    texts = shares.apply(lambda row: f"{row['share']:.1%} ({row['low']:.1%} to {row['high']:.1%})", axis=1)
    order = [list(dict.fromkeys(shares.index.get_level_values(name))) for name in ("level", "group")]
    return texts.unstack("group").loc[order[0], order[1]].rename_axis(columns=None)


def survival_curves(scores: Any, groups: Any = None) -> dict[Any, tuple[FloatArray, FloatArray, int]]:
    """Return for each group the share at or above each point of a grid of abilities, for a facilitator's page.

    Parameters
    ----------
    scores : Scores, or DataFrame with columns theta and theta_se
    groups : one label per respondent, optional

    Returns
    -------
    dict
        group -> (grid, share at or above, n): the first two (G,), the share being the mean of the respondents' normal posteriors;
        n is the number of respondents with a score, on which a share's interval rests.
    """
    frame = scores.to_frame() if isinstance(scores, Scores) else scores
    if not isinstance(frame, pd.DataFrame) or not {"theta", "theta_se"} <= set(frame.columns):
        raise DataError("scores has to be Scores, or a DataFrame with columns theta and theta_se.")
    theta, error = (frame[name].to_numpy(dtype=np.float64) for name in ("theta", "theta_se"))
    found = {}
    for group, rows in _groups(groups, frame.index).items():
        known = rows[np.isfinite(theta[rows]) & (error[rows] > 0.0)]
        if len(known):
            found[group] = (_GRID, share_above(theta[known], error[known], _GRID), len(known))
    return found


def _groups(groups: Any, labels: pd.Index) -> dict[Any, Any]:
    """Return the rows of each group, in the order of a Categorical or of first occurrence."""
    if groups is None:
        return {EVERYONE: np.arange(len(labels))}
    values = pd.Series(check_per_respondent(groups, labels, "groups"))
    dtype = getattr(groups, "dtype", None)  # the values themselves come as a plain array
    order = dtype.categories if isinstance(dtype, pd.CategoricalDtype) else pd.unique(values.dropna())
    found = {group: np.flatnonzero((values == group).to_numpy(dtype=bool)) for group in order}
    found = {group: rows for group, rows in found.items() if len(rows)}
    if not found:
        raise DataError("groups holds no label. Expected one per respondent.")
    return found
