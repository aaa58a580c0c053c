"""The public verb behind "lowest for k of m models": which stratum has the lowest mean for how many, and how sure that is."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._version import __version__
from psychoedu.bootstrap import ranking
from psychoedu.bootstrap.analysis import FEW_CLUSTERS
from psychoedu.bootstrap.corrections import CORRECTIONS
from psychoedu.bootstrap.design import ClusterDesign
from psychoedu.bootstrap.engine import check_jobs
from psychoedu.bootstrap.group_means import draw_means, groups_of
from psychoedu.bootstrap.leaderboard_parts import FEWEST_RESAMPLES, WEIGHTINGS, flat, sizes_of
from psychoedu.bootstrap.lowest_results import Lowest
from psychoedu.bootstrap.plan import Choices
from psychoedu.bootstrap.streams import seed_of
from psychoedu.exceptions import ClusterDesignError, DataError, MissingRewardsError
from psychoedu.validation import check_choice, check_integer, check_probability, counted, listed


def lowest_for(
    rewards: pd.DataFrame | ClusterDesign,
    by: Hashable | None = None,
    focal: Hashable | None = None,
    *,
    cluster: Hashable = "task",
    model: Hashable | None = "model",
    reward: Hashable = "reward",
    item: Hashable | None = None,
    repeat: Hashable | None = None,
    n_resamples: int = 10_000,
    confidence_level: float = 0.95,
    correction: str | None = None,
    weighting: str = "task",
    singleton: str = "raise",
    missing: str = "raise",
    rng: Any = None,
    n_jobs: int = 1,
) -> Lowest:
    """Count the models for which a stratum has the lowest mean, with what other tasks would have made of the count.

    Parameters
    ----------
    rewards : DataFrame or ClusterDesign
        A row per reward, in any order.
    by : column name
        Strata that are compared, such as learner profiles; tasks are drawn within them. Not for a design, which has its own.
    focal : label, optional
        The stratum that the statement is about. None: the one that is lowest for the most models; of several the first by
        label, and the result says so.
    cluster, model, reward, item, repeat
        Columns, as in :func:`psychoedu.leaderboard`.
    n_resamples, confidence_level, correction, weighting, missing, rng, n_jobs
        As in :func:`psychoedu.leaderboard`.
    singleton : {"raise", "certainty"}
        A stratum of one cluster: refuse, or take it as fixed.

    Returns
    -------
    Lowest
        ``.k`` of ``.n_models``, ``.low`` and ``.high``, ``.resampled``, ``.exceptions``, ``.strata``, ``.sentence()``.

    Raises
    ------
    ClusterDesignError
        One stratum; or a stratum with one cluster.
    LabelError
        There is no such stratum.
    MissingRewardsError
        Rewards are missing, and ``missing`` does not say what they count as; or a model has none at all in a stratum.

    Notes
    -----
    k counts the models for which the focal stratum alone has the lowest mean; ties, up to rounding, are counted apart. In each
    resample all means are formed again and the count is taken again. Where ``focal`` was chosen because it is lowest, the count
    is favourable to it: ``.strata`` gives those of all strata.

    Examples
    --------
    >>> rows = [(task, "x" if task < 3 else "y", model, value / 10) for model, values in
    ...         {"A": [1, 2, 3, 7, 8, 9], "B": [2, 1, 2, 6, 5, 6], "C": [5, 9, 6, 6, 5, 4]}.items()
    ...         for task, value in enumerate(values)]
    >>> found = lowest_for(pd.DataFrame(rows, columns=["task", "kind", "model", "reward"]), by="kind", focal="x", rng=1)
    >>> print(found.sentence())
    x is the lowest of 2 strata of kind for 2 of 3 models (95% of the resamples: 2 to 3); exception: C (y lowest).
    """
    level = check_probability(confidence_level, "confidence_level")
    size = check_integer(n_resamples, "n_resamples", minimum=FEWEST_RESAMPLES)
    if correction is not None:
        correction = check_choice(correction, CORRECTIONS, "correction")
    choices = Choices(
        check_choice(weighting, WEIGHTINGS, "weighting"),
        "stratum",
        check_choice(singleton, ("raise", "certainty"), "singleton"),
        correction,
    )
    jobs = check_jobs(n_jobs)
    if isinstance(rewards, ClusterDesign):
        if by is not None:
            raise DataError("by names a column of a table, and a ClusterDesign is none: its strata are compared. Leave by out.")
        design = rewards
    else:
        if by is None:
            raise DataError("by is not given. Which column says what stratum a task is in?")
        names = {"cluster": cluster, "model": model, "reward": reward, "item": item, "repeat": repeat}
        design = ClusterDesign.from_long(rewards, stratum=by, missing=missing, **names)
    word = str(design.names.get("stratum", "stratum"))
    if len(design.strata) < 2:
        raise ClusterDesignError(f"There is one stratum in {word}, {design.strata[0]!r}, so that none can be lower than another.")
    at = None if focal is None else design.position_of_stratum(focal)
    design = replace(design, models=flat(design.models))
    n_strata = len(design.strata)
    groups = groups_of(design, design.strata, np.arange(n_strata), np.full(n_strata, 1.0 / n_strata), choices)
    means = groups.means()
    _refuse_empty(design, means)
    seed = seed_of(rng)
    drawn = draw_means(groups, seed, size, jobs)
    holds, alone = ranking.lowest(means, groups.tie)
    each, each_alone = ranking.lowest(drawn.means, groups.tie)
    counts, resampled = alone.sum(axis=1), each_alone.sum(axis=2)
    notes = list(groups.plan.notes)
    if at is None:
        at = int(counts.argmax())
        notes.append(f"{design.strata[at]!r} was chosen because it is lowest for the most models, which favours it")
    fewest = int(groups.plan.pool_sizes.min())
    if fewest < FEW_CLUSTERS and correction is None:
        notes.append(
            f"somewhere only {fewest} {design.cluster_word}s are drawn from together: the resamples then spread too little; see "
            'correction="rao-wu"'
        )
    if drawn.n_failed:
        notes.append(f"{drawn.n_failed:,} resamples without any reward of a model in a stratum were left out")
    labels = design.models.rename("model")
    return Lowest(
        models=labels,
        groups=design.strata.rename("stratum"),
        focal=design.strata[at],
        by=word,
        scores=means,
        shares=(each / each.sum(axis=1, keepdims=True)).mean(axis=0),
        probability_focal=each_alone[:, at].mean(axis=0),
        distribution=np.bincount(resampled[:, at], minlength=design.n_models + 1) / len(resampled),
        counts=counts.astype(np.float64),
        tied=(holds & ~alone).sum(axis=1).astype(np.float64),
        count_limits=ranking.attained_limits(resampled.astype(np.float64), level),
        count_means=resampled.mean(axis=0),
        pooled=means.mean(axis=1),
        tie=groups.tie,
        sizes=sizes_of(groups),
        n_missing=pd.Series(design.n_missing, index=labels, name="n_missing"),
        n_resamples=size,
        n_failed=drawn.n_failed,
        confidence_level=level,
        correction=correction,
        weighting=groups.plan.weighting,
        missing=design.missing,
        fewest_clusters=fewest,
        seed=seed.entropy,
        cluster_word=design.cluster_word,
        diagnostics=tuple(notes),
        version=__version__,
    )


def _refuse_empty(design: ClusterDesign, means: Any) -> None:
    empty = np.argwhere(~np.isfinite(means))
    if len(empty):
        cells = [f"{design.models[model]} in {design.strata[group]}" for group, model in empty]
        raise MissingRewardsError(
            f"{counted(len(empty), 'mean')} without any reward: {listed(cells)}, so that what is lowest is not known.\n"
            'Leave those models out, or count missing rewards as 0 with missing="zero".'
        )
