"""The public verb of leaderboards: rank models over stages, from rewards by task."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray
from psychoedu._version import __version__
from psychoedu.bootstrap.analysis import FEW_CLUSTERS, Source
from psychoedu.bootstrap.corrections import CORRECTIONS
from psychoedu.bootstrap.design import ClusterDesign
from psychoedu.bootstrap.engine import Resampled, check_jobs, estimates_of, limits_of, resample
from psychoedu.bootstrap.group_means import Groups, draw_means, groups_of, nested
from psychoedu.bootstrap.intervals import METHODS, TIE, clopper_pearson_limits
from psychoedu.bootstrap.leaderboard_parts import (
    FEWEST_RESAMPLES,
    WEIGHTINGS,
    check_stage_names,
    flat,
    overall_scores,
    ranks_of,
    sizes_of,
    stage_weights,
)
from psychoedu.bootstrap.leaderboard_results import Drawn, Leaderboard
from psychoedu.bootstrap.plan import Choices
from psychoedu.bootstrap.streams import Seed, seed_of
from psychoedu.exceptions import DataError, DegenerateBootstrapWarning
from psychoedu.proportions import wilson_interval
from psychoedu.validation import check_choice, check_integer, check_probability, counted, listed


def leaderboard(
    rewards: pd.DataFrame | ClusterDesign,
    stage: Hashable | None = None,
    *,
    cluster: Hashable = "task",
    model: Hashable = "model",
    reward: Hashable = "reward",
    stratum: Hashable | None = None,
    item: Hashable | None = None,
    repeat: Hashable | None = None,
    weights: Mapping[Hashable, float] | str | None = None,
    n_resamples: int = 10_000,
    confidence_level: float = 0.95,
    method: str = "percentile",
    correction: str | None = None,
    weighting: str = "task",
    singleton: str = "raise",
    missing: str = "raise",
    rng: Any = None,
    n_jobs: int = 1,
) -> Leaderboard:
    """Rank models by their mean over stages, with the sampling error of tasks in scores, ranks and rank correlations.

    Parameters
    ----------
    rewards : DataFrame or ClusterDesign
        A row per reward, in any order; the strata of a design are the stages.
    stage : column name, optional
        Stage of the task; every task lies in one. None: one stage, and the overall score is its mean.
    cluster : column name
        What is drawn as a whole, with all models' results on it.
    model, reward : column names
        The highest score ranks first.
    stratum : column name, optional
        Tasks are drawn within the strata of each stage, such as learner profiles; else within the stage.
    item : column name, optional
        What is scored within a cluster.
    repeat : column name, optional
        Runs of a model on a unit, averaged before anything else.
    weights : mapping of stage to weight, "task", or None
        Of the stages in the overall score. None: the same for each (balanced, as TeachArena's Overall). "task": their numbers
        of units.
    n_resamples : int, default 10,000
    confidence_level : float, default 0.95
    method : {"percentile", "basic", "bca", "studentised", "t"}
        Of the intervals of overall scores.
    correction : {"rao-wu", "canty-davison"} or None
        Of the resamples, for strata of few clusters; ranks are made from the corrected ones too.
    weighting : {"task", "cluster"}
        Within a stage every task-by-model cell counts the same, or every cluster does.
    singleton : {"raise", "collapse", "certainty"}
        What to do with a stratum of one cluster, as in :func:`psychoedu.contrast`; "collapse" stays within the stage.
    missing : {"raise", "omit", "zero"}
        Rewards that are blank, or that other models have. With "omit" a model without any reward in a stage has no overall
        score and no rank.
    rng : int, numpy Generator or None
        The same number gives the same resamples, whatever the order of rows and models and ``n_jobs``.
    n_jobs : int
        Threads; -1 for all cores.

    Returns
    -------
    Leaderboard
        ``.table``, ``.rank_probabilities``, ``.probability_above``, ``.rank_correlations()``.

    Raises
    ------
    ClusterDesignError
        A stage or stratum with one cluster, a cluster in two of them, or a missing label.
    MissingRewardsError
        Rewards are missing, and ``missing`` does not say what they count as.
    LabelError
        A column that does not exist; or a stage called as a column of the table.
    DataError
        One model; weights that do not fit the stages.

    Warns
    -----
    DegenerateBootstrapWarning
        A BCa or studentised interval does not exist and the percentile interval stands in its place.

    Notes
    -----
    In each resample n clusters are drawn with replacement from each stratum of each stage; scores, ranks and correlations are
    all formed again from the same draws, which are also those of :func:`psychoedu.compare_models` with the same strata and
    ``rng``. Scores tie where they differ by rounding alone. Percentile intervals of ranks are descriptive: where models are
    close they need not cover the true rank with the level (Hall and Miller, 2009). The simultaneous ranks do, at least as well
    as the resamples' standard errors hold: they follow from simultaneous intervals of all differences. O(B (C M + M^2)).

    References
    ----------
    Hall, P., & Miller, H. (2009). Using the bootstrap to quantify the authority of an empirical ranking. *Annals of Statistics,
    37*, 3929-3959. Mogstad, M., Romano, J. P., Shaikh, A. M., & Wilhelm, D. (2024). Inference for ranks with applications to
    mobility across neighbourhoods and academic achievement across countries. *Review of Economic Studies, 91*, 476-518.

    Examples
    --------
    >>> rows = [(task, "1" if task < 4 else "2", model, value / 10) for model, values in
    ...         {"A": [9, 8, 9, 7, 6, 5, 6, 7], "B": [8, 6, 9, 5, 6, 4, 5, 7], "C": [3, 4, 5, 2, 1, 2, 3, 1]}.items()
    ...         for task, value in enumerate(values)]
    >>> board = leaderboard(pd.DataFrame(rows, columns=["task", "stage", "model", "reward"]), stage="stage", rng=1)
    >>> board.table[["1", "2", "overall", "rank"]].round(3)
               1      2  overall  rank
    model
    A      0.825  0.600    0.712   1.0
    B      0.700  0.550    0.625   2.0
    C      0.350  0.175    0.262   3.0
    """
    level = check_probability(confidence_level, "confidence_level")
    size = check_integer(n_resamples, "n_resamples", minimum=FEWEST_RESAMPLES)
    method = check_choice(method, METHODS, "method")
    if correction is not None:
        correction = check_choice(correction, CORRECTIONS, "correction")
    choices = Choices(check_choice(weighting, WEIGHTINGS, "weighting"), "stratum", singleton, correction)
    jobs = check_jobs(n_jobs)
    names = {"cluster": cluster, "model": model, "reward": reward, "item": item, "repeat": repeat}
    stages, design, group_of = _read(rewards, stage, stratum, names, missing)
    design = replace(design, models=flat(design.models))
    if design.n_models < 2:
        raise DataError(f"There is one model, {design.models[0]!r}. Expected at least two to rank.")
    check_stage_names(stages)
    units = np.bincount(group_of[design.stratum_of[design.cluster_of]], minlength=len(stages)).astype(np.float64)
    shares, how = stage_weights(weights, stages, units)
    groups = groups_of(design, stages, group_of, shares, choices)
    return _wrap(groups, how, seed_of(rng), size, level, method, jobs)


def _read(
    rewards: Any, stage: Hashable | None, stratum: Hashable | None, names: dict[str, Any], missing: str
) -> tuple[pd.Index, ClusterDesign, Any]:
    """Return the stages, the design whose strata are drawn within, and the stage of each stratum."""
    if isinstance(rewards, ClusterDesign):
        if stage is not None or stratum is not None:
            raise DataError(
                "stage and stratum name columns of a table, and a ClusterDesign is none: its strata are the stages.\n"
                "Leave both out, or pass the table of rewards."
            )
        return rewards.strata, rewards, np.arange(len(rewards.strata))
    outer = ClusterDesign.from_long(rewards, stratum=stage, missing=missing, **names)
    if stratum is None:
        return outer.strata, outer, np.arange(len(outer.strata))
    inner = ClusterDesign.from_long(rewards, stratum=stratum, missing=missing, **names)
    if stage is None:
        return outer.strata, inner, np.zeros(len(inner.strata), dtype=np.int64)
    return outer.strata, *nested(outer, inner)


def _wrap(groups: Groups, how: str, seed: Seed, size: int, level: float, method: str, jobs: int) -> Leaderboard:
    design, plan, pools = groups.design, groups.plan, groups.pools
    source = Source(plan, design.sums, design.sizes, None, seed, size, jobs)
    drawn = draw_means(groups, seed, size, jobs)
    draws = drawn.means
    means = groups.means()
    overall = overall_scores(means, groups.weights)
    ranks = ranks_of(overall, groups.tie)
    order = np.argsort(ranks, kind="stable")
    found = estimates_of(plan, pools)
    if method == "studentised":
        again = resample(plan, pools, seed, size, True, jobs)
    else:
        values = np.einsum("t,btm->bm", groups.weights, draws)
        again = Resampled(values, None, values, drawn.n_failed)
    limits = limits_of(method, pools, plan, found, again, level)
    notes = [*plan.notes, *limits.notes]
    if len(limits.degenerate):
        names = listed(design.models[limits.degenerate])
        notes.append(f"the {method} interval does not exist for {names}; the percentile interval stands in its place")
        warnings.warn(
            f"The {method} interval does not exist for {counted(len(limits.degenerate), 'model')}: {names}.\n"
            "The percentile interval is given in its place.",
            DegenerateBootstrapWarning,
            stacklevel=3,
        )
    unranked = design.models[~np.isfinite(overall)]
    if len(unranked):
        notes.append(f"{counted(len(unranked), 'model')} without any reward in a stage, and so without rank: {listed(unranked)}")
    if drawn.n_failed:
        notes.append(f"{drawn.n_failed:,} resamples without any reward of a model in a stage were left out")
    fewest = int(plan.pool_sizes.min())
    if fewest < FEW_CLUSTERS and plan.correction is None:
        notes.append(
            f"somewhere only {fewest} {design.cluster_word}s are drawn from together: percentile intervals, of ranks too, are "
            'then too short; see the recommended interval, and correction="rao-wu"'
        )
    notes += _alike(design, draws, level)
    return Leaderboard(
        models=design.models[order].rename("model"),
        stages=groups.labels.rename("stage"),
        weighting_of_stages=how,
        stage_weights=groups.weights,
        scores=np.ascontiguousarray(means[:, order].T),
        overall=overall[order],
        ranks=ranks[order],
        ranks_by_stage=np.stack([ranks_of(own, groups.tie) for own in means], axis=1)[order],
        sizes=sizes_of(groups),
        n_missing=pd.Series(design.n_missing[order], index=design.models[order].rename("model"), name="n_missing"),
        n_resamples=size,
        n_failed=drawn.n_failed,
        confidence_level=level,
        method=method,
        correction=plan.correction,
        weighting=plan.weighting,
        missing=design.missing,
        fewest_clusters=fewest,
        seed=seed.entropy,
        cluster_word=design.cluster_word,
        diagnostics=tuple(notes),
        version=__version__,
        limits=limits.limits[:, order],
        robust_standard_error=found.robust_error[order],
        source=Drawn(draws[:, :, order], source, order, groups.tie),
    )


def _alike(design: ClusterDesign, draws: FloatArray, level: float) -> list[str]:
    """Say which models have no spread over resamples, with intervals of the proportion where everything is right or wrong."""
    spread = np.ptp(draws, axis=0).max(axis=0)
    means = np.abs(draws).max(axis=(0, 1))
    notes = []
    for at in np.flatnonzero(spread <= TIE * means).tolist():
        text = f"{design.models[at]}: all resamples are equal, so that its intervals have no width"
        own = design.select_models([design.models[at]])
        n = int((own.sizes > 0).sum())
        value = float(own.totals.sum() / max(1.0, own.counts.sum()))
        if own.is_binary and value in (0.0, 1.0):
            low, high = (float(limit) for limit in wilson_interval(np.array(value), n, level))
            exact = clopper_pearson_limits(n * value, n, level)
            kind = "right" if value else "wrong"
            text += (
                f"; everything is {kind} (n = {n} {design.cluster_word}s): Wilson [{low:.3f}, {high:.3f}], "
                f"Clopper-Pearson [{exact[0]:.3f}, {exact[1]:.3f}]"
            )
        notes.append(text)
    return notes
