"""The public verb of contrasts: compare the mean rewards of two groups of tasks, or of two conditions on the same tasks."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import BoolArray, FloatArray, IntArray
from psychoedu._version import __version__
from psychoedu.bootstrap.analysis import Source, analyse
from psychoedu.bootstrap.corrections import CORRECTIONS
from psychoedu.bootstrap.design import ClusterDesign, by_model_text
from psychoedu.bootstrap.engine import check_jobs
from psychoedu.bootstrap.intervals import METHODS
from psychoedu.bootstrap.plan import PAIRED, WEIGHTING_WORDS, Choices, Plan, Side, plan_of, side_of
from psychoedu.bootstrap.resampling import estimate
from psychoedu.bootstrap.results import Contrast, Interval
from psychoedu.bootstrap.streams import seed_of
from psychoedu.exceptions import (
    ClusterDesignError,
    DataError,
    DegenerateBootstrapWarning,
    LabelError,
    MissingRewardsError,
    UnbalancedModelsWarning,
)
from psychoedu.validation import check_choice, check_integer, check_probability, counted, has_label, listed

FEWEST_RESAMPLES = 100


def contrast(
    rewards: pd.DataFrame | ClusterDesign,
    stratum: Hashable | None = None,
    focal: Any = None,
    comparison: Any = None,
    cluster: Hashable = "task",
    model: Hashable | None = "model",
    reward: Hashable = "reward",
    n_resamples: int = 10_000,
    confidence_level: float = 0.95,
    method: str = "percentile",
    correction: str | None = None,
    rng: Any = None,
    *,
    item: Hashable | None = None,
    repeat: Hashable | None = None,
    condition: Hashable | None = None,
    weighting: str = "task",
    resample_within: str | None = None,
    missing: str = "raise",
    singleton: str = "raise",
    n_jobs: int = 1,
) -> Contrast:
    """Compare mean rewards of two groups of tasks by the stratified task-cluster bootstrap.

    Parameters
    ----------
    rewards : DataFrame or ClusterDesign
        A row per reward, in any order.
    stratum : column name
        Stratum of the task, such as the learner profile. With ``condition`` it may be left out.
    focal : label, list of labels, or mapping of label to weight
        The stratum that stands apart (with ``condition``: the condition to compare with).
    comparison : label, list of labels, mapping of label to weight, or None
        None: all tasks of the other strata, every task-by-model cell counting the same (with ``condition``: the other condition).
        A mapping weighs the means of its strata.
    cluster : column name
        What is drawn as a whole, with all models' results on it.
    model, reward : column names
        ``model=None`` for one model.
    n_resamples : int, default 10,000
        Exactly so many are drawn.
    confidence_level : float, default 0.95
    method : {"percentile", "basic", "bca", "studentised", "t"}
        "t" is the analytic interval from the cluster-robust standard error; the resamples are drawn for the standard error and p.
    correction : {"rao-wu", "canty-davison"} or None
        Of the resamples, for strata of few clusters; see Notes.
    rng : int, numpy Generator or None
        The same number gives the same resamples, whatever the order of rows and models and ``n_jobs``.
    item : column name, optional
        What is scored within a cluster.
    repeat : column name, optional
        Runs of a model on a unit, averaged before anything else.
    condition : column name, optional
        Compare two conditions, such as prompts, on the same tasks: the differences are paired within model and unit, and tasks
        are drawn within the strata of ``stratum``, if it is given.
    weighting : {"task", "cluster", "stratum"}
        Every task-by-model cell counts the same; every cluster does, however many cells it has; every stratum of a side does.
    resample_within : {"side", "stratum"}, optional
        Draw clusters within the focal and within the comparison side, as the protocol of TeachArena, or within each of their
        strata. Default: "side", but "stratum" where strata have weights of their own, and where conditions are compared.
    missing : {"raise", "omit", "zero"}
        Rewards that are blank, or that other models have.
    singleton : {"raise", "collapse", "certainty"}
        A part with a single cluster has no sampling error: refuse, draw from it together with the smallest other stratum of its
        side, or take it as fixed.
    n_jobs : int
        Threads; -1 for all cores.

    Returns
    -------
    Contrast
        ``.estimate`` is ``comparison_mean - focal_mean``.

    Raises
    ------
    ClusterDesignError
        A single cluster, a cluster in two strata, a missing label, or nothing to compare with.
    MissingRewardsError
        Rewards are missing, and ``missing`` does not say what they count as.
    LabelError
        A column or stratum that does not exist.
    ResamplingError
        More than 5% of the resamples have a side without any reward.

    Warns
    -----
    UnbalancedModelsWarning
        With ``missing="omit"`` a model has rewards on one side only.
    DegenerateBootstrapWarning
        All resamples are equal, or a BCa or studentised interval does not exist and the percentile interval stands in its place.

    Notes
    -----
    Mean of a side: the sum of its rewards over their number. In each resample n clusters are drawn with replacement from each
    of the parts (n - 1, weighed n/(n - 1) times, with Rao and Wu's correction) and both are formed again. The standard
    deviation of the resamples estimates the linearised variance: the sum over parts of ``sum (z - mean z)^2 / N^2``, z = sum -
    mean * size of a cluster, which is (n - 1)/n times the cluster-robust one; the corrections restore that factor. Percentile
    intervals without correction are too short with few clusters: see docs/validation.md, and ``.recommended_interval``. O(B C
    M).

    References
    ----------
    Davison, A. C., & Hinkley, D. V. (1997). *Bootstrap methods and their application*. Cambridge University Press. Rao, J. N.
    K., & Wu, C. F. J. (1988). Resampling inference with complex survey data. *Journal of the American Statistical Association,
    83*, 231-241.

    Examples
    --------
    >>> import psychoedu as pe
    >>> rewards = pd.DataFrame({"task": range(8), "profile": ["deep"] * 4 + ["anxious"] * 4, "model": "A",
    ...     "reward": [0.9, 0.8, 0.9, 0.6, 0.5, 0.7, 0.4, 0.6]})
    >>> gap = pe.contrast(rewards, stratum="profile", focal="anxious", rng=1)
    >>> round(gap.estimate, 3), round(gap.closed_form_standard_error, 4)
    (0.25, 0.0829)
    """
    level = check_probability(confidence_level, "confidence_level")
    size = check_integer(n_resamples, "n_resamples", minimum=FEWEST_RESAMPLES)
    method = check_choice(method, METHODS, "method")
    if correction is not None:
        correction = check_choice(correction, CORRECTIONS, "correction")
    jobs = check_jobs(n_jobs)
    choices = Choices(weighting, resample_within, singleton, correction)
    design = _design_of(rewards, stratum, cluster, model, reward, item, repeat, condition, missing, focal, comparison)
    if focal is None:
        known = design.strata if condition is None else design.models.get_level_values("condition").unique()
        raise DataError(f"focal= is not given. Expected one of: {listed(known)}.")
    seed = seed_of(rng)
    laid = _unpaired(design, focal, comparison, choices) if condition is None else _paired(design, focal, comparison, choices)
    source = Source(laid.plan, *laid.columns, seed, size, jobs)
    return _wrap(source, method, level, laid)


def _design_of(
    rewards: Any,
    stratum: Hashable | None,
    cluster: Hashable,
    model: Hashable | None,
    reward: Hashable,
    item: Hashable | None,
    repeat: Hashable | None,
    condition: Hashable | None,
    missing: str,
    focal: Any,
    comparison: Any,
) -> ClusterDesign:
    if isinstance(rewards, ClusterDesign):
        rewards.refuse_other_columns(
            missing, stratum=(stratum, None), cluster=(cluster, "task"), model=(model, "model"), reward=(reward, "reward"),
            item=(item, None), repeat=(repeat, None), condition=(condition, None),
        )  # fmt: skip
        return rewards
    if stratum is None and condition is None:
        raise DataError(
            "stratum= is not given: which column says what stratum a task is in? To compare prompts, give condition=."
        )
    if condition is not None and isinstance(rewards, pd.DataFrame) and condition in rewards.columns:
        rewards = rewards[
            rewards[condition].isna() | rewards[condition].isin(_two_conditions(rewards[condition], focal, comparison))
        ]
    return ClusterDesign.from_long(
        rewards,
        cluster=cluster,
        stratum=stratum,
        model=model,
        reward=reward,
        item=item,
        repeat=repeat,
        condition=condition,
        missing=missing,
    )


def _two_conditions(column: pd.Series, focal: Any, comparison: Any) -> list[Any]:
    known = pd.Index(column.dropna().unique(), tupleize_cols=False)
    if comparison is None and focal is not None:
        others = [label for label in known if label != focal]
        blank = int(column.isna().sum())
        if not others and blank:
            raise DataError(
                f"{counted(blank, 'row')} without a condition in column {column.name!r}, and no other condition than {focal!r}.\n"
                "Expected a label in every row: name the other condition too."
            )
        if len(others) != 1:
            raise DataError(
                f"There are {len(others)} other conditions to compare {focal!r} with: {listed(others)}.\n"
                "Expected comparison= to name one."
            )
        comparison = others[0]
    for label in (focal, comparison):
        if not has_label(known, label):
            raise LabelError(f"There is no condition {label!r} in column {column.name!r}. Expected one of: {listed(known)}.")
    if focal == comparison:
        raise DataError(f"focal and comparison are the same condition, {focal!r}. Expected two.")
    return [focal, comparison]


_Columns = tuple[FloatArray, FloatArray, tuple[FloatArray, FloatArray] | None]


@dataclass(frozen=True, eq=False)
class _Laid:
    """A contrast before it is drawn: plan, columns, the two sides in words, and what there is to say of the design."""

    plan: Plan
    columns: _Columns
    words: tuple[str, str]
    weighted_sides: bool
    notes: tuple[str, ...]


def _unpaired(design: ClusterDesign, focal: Any, comparison: Any, choices: Choices) -> _Laid:
    design, n_empty = design.without_empty_clusters()
    own = side_of(focal, design, "focal")
    other = side_of(comparison, design, "comparison", own.strata)
    plan = plan_of(design, (own, other), choices)
    words = (_side_words(own, design, False), _side_words(other, design, comparison is None))
    weighted = own.weights is not None or other.weights is not None
    return _Laid(plan, (design.sums, design.sizes, None), words, weighted, _empty_note(design, n_empty, "reward"))


def _empty_note(design: ClusterDesign, n_empty: int, what: str) -> tuple[str, ...]:
    return (f"{counted(n_empty, design.cluster_word)} without any {what} left out",) if n_empty else ()


def _side_words(side: Side, design: ClusterDesign, is_rest: bool) -> str:
    labels = [str(design.strata[at]) for at in side.strata]
    if side.weights is not None:
        labels = [f"{label} (weight {weight:.3g})" for label, weight in zip(labels, side.weights, strict=True)]
    text = ", ".join(labels)
    return f"all others ({text})" if is_rest and len(labels) > 1 else text


def _paired(design: ClusterDesign, focal: Any, comparison: Any, choices: Choices) -> _Laid:
    """Pair the two conditions within model and unit; cells without both are left out of both."""
    labels = design.models.get_level_values("condition")
    places = list(dict.fromkeys(labels))
    if len(places) != 2 or focal not in places or (comparison is not None and comparison not in places):
        raise LabelError(f"Expected a design with two conditions, focal and comparison; it has {listed(places)}.")
    own = places.index(focal)
    first, second = (np.flatnonzero(labels == places[at]) for at in (own, 1 - own))
    both = (design.counts[:, first] > 0) & (design.counts[:, second] > 0)
    if (design.counts[:, first] != design.counts[:, second])[both].any():
        raise MissingRewardsError(
            "The two conditions have different numbers of rewards of one cell, which cannot be paired.\n"
            "Name the column that tells the rewards of a cell apart with item= or repeat=."
        )
    if not both.any():
        raise ClusterDesignError("No model has a unit under both conditions, so that nothing can be paired. Check the labels.")
    names = design.models.get_level_values("model")[first]
    notes = _unpaired_notes(design, both, (first, second), names)
    held = np.zeros_like(design.counts)
    held[:, first] = held[:, second] = both
    design, n_empty = replace(
        design, totals=np.where(held > 0, design.totals, 0.0), counts=np.where(held > 0, design.counts, 0.0)
    ).without_empty_clusters()
    notes += _empty_note(design, n_empty, "pair")
    sides = [design.by_cluster(design.totals[:, at]) for at in (first, second)]
    sizes = design.by_cluster(design.counts[:, first])
    # the same subtraction cell by cell: equal rewards give exactly 0
    sums = design.by_cluster(design.totals[:, second] - design.totals[:, first])
    within = choices.within or "stratum"
    choices = Choices(choices.weighting, within, choices.singleton, choices.correction)
    plan = plan_of(design, (Side(PAIRED, tuple(range(len(design.strata))), None),), choices)
    words = (str(focal), str(comparison if comparison is not None else places[1 - own]))
    return _Laid(plan, (sums, sizes, (sides[0], sides[1])), words, False, notes)


def _unpaired_notes(design: ClusterDesign, both: BoolArray, sides: tuple[IntArray, IntArray], names: pd.Index) -> tuple[str, ...]:
    """Say which rewards have no partner under the other condition, and which models none at all."""
    alone = sum((np.where(both, 0.0, design.counts[:, at]).sum(axis=0) for at in sides), np.zeros(len(names)))
    if not alone.any():
        return ()
    named = by_model_text(pd.Series(alone, index=names))
    notes = [f"{counted(int(alone.sum()), 'reward')} without a partner under the other condition left out ({named})"]
    without = names[np.flatnonzero(~both.any(axis=0))]
    if len(without):
        notes.append(f"{counted(len(without), 'model')} without any pair, and so without a part in the result: {listed(without)}")
    return tuple(notes)


def _wrap(source: Source, method: str, level: float, laid: _Laid) -> Contrast:
    plan, words = source.plan, laid.words
    design = plan.design
    found = analyse(source, False, method, level)
    used, note, notes = method, "", [*laid.notes, *plan.notes, *found.notes]
    if found.degenerate:
        used, note = "percentile", f"the {Interval(0, 0, level, method).method_words} interval does not exist"
        warnings.warn(
            f"{note[0].upper()}{note[1:]}: the resamples lie on one side of the estimate, or lack a spread of their own.\n"
            "The percentile interval is given in its place, and says so.",
            DegenerateBootstrapWarning,
            stacklevel=3,
        )
    values = found.drawn.replicates[:, 0]
    error = float(values.std(ddof=1))
    if not np.ptp(values) > 0.0:
        warnings.warn(
            "All resamples are equal, so that the interval has no width and says nothing about sampling error.\n"
            "See .boundary for intervals of proportions, where all rewards of a side are 0 or all are 1.",
            DegenerateBootstrapWarning,
            stacklevel=3,
        )
        notes.append("all resamples are equal: the interval has no width, which does not mean that there is no error")
    if found.drawn.n_failed:
        notes.append(f"{found.drawn.n_failed:,} resamples without any reward on a side were left out")
    focal, comparison = source.side_means(by_model=False)
    return Contrast(
        estimate=float(found.found.value[0]),
        focal_mean=float(focal[0]),
        comparison_mean=float(comparison[0]),
        interval=Interval(float(found.limits[0, 0]), float(found.limits[1, 0]), level, used, _used_correction(plan, used), note),
        standard_error=error,
        robust_standard_error=float(found.found.robust_error[0]),
        closed_form_standard_error=float(found.found.closed_form_error[0]),
        df=float(found.found.df[0]),
        p_value=float(found.p_value[0]),
        resamples=np.ascontiguousarray(values),
        focal=words[0],
        comparison=words[1],
        n_resamples=source.n_resamples,
        n_failed=found.drawn.n_failed,
        confidence_level=level,
        seed=source.seed.entropy,
        diagnostics=(*notes, *_notes(design, source)),
        options={
            "method": method,
            "correction": plan.correction,
            "weighting": plan.weighting,
            "resample_within": plan.within,
            "weighted_sides": laid.weighted_sides,
            "missing": design.missing,
            "paired": source.paired,
            "fewest_clusters": _fewest(design, plan),
            "names": {role: str(name) for role, name in design.names.items()},
        },
        version=__version__,
        source=source,
    )


def _fewest(design: ClusterDesign, plan: Plan) -> int:
    """Return the clusters of the smallest stratum, or part that is drawn from."""
    strata = sorted({at for part in plan.parts for at in part.strata})
    return int(min(design.stratum_sizes[strata].min(), plan.pool_sizes.min()))


def _used_correction(plan: Plan, method: str) -> str | None:
    """Return the correction that entered an interval: t has none, and a common factor cancels out of a studentised one."""
    if method == "t" or (method == "studentised" and plan.correction == "canty-davison"):
        return None
    return plan.correction


def _notes(design: ClusterDesign, source: Source) -> list[str]:
    notes = []
    within = source.sizes.sum(axis=1)
    if source.plan.weighting == "task" and len(np.unique(within[within > 0])) > 1:
        other = _cluster_weighted(source)
        notes.append(f"clusters have different numbers of rewards; {WEIGHTING_WORDS['task']} (cluster-weighted: {other:.4f})")
    notes += _one_sided(source)
    if "item" not in design.names and "repeat" not in design.names and (design.counts > 1).any():
        most = int(design.counts.max())
        notes.append(f"up to {most} rewards of a model in one {design.cluster_word}: each counts, as an item of its own")
    return notes


def _one_sided(source: Source) -> list[str]:
    """Say, and warn, where a model has rewards on one side only: what models differ by then enters the contrast."""
    design = source.plan.design
    if source.paired or design.missing != "omit" or not design.n_missing.any() or design.n_models < 2:
        return []
    value = estimate(source.plan.pools(*source.columns(by_model=True)), source.plan.coefficients)
    lacking = design.models[np.flatnonzero(~np.isfinite(value))]
    mean = f"the models' own differences are {np.nanmean(value):.3f} on average" if np.isfinite(value).any() else ""
    if not len(lacking):
        return [f"rewards are missing, so that models differ in what they add to each side; {mean}"]
    text = f"{counted(len(lacking), 'model')} with rewards on one side only, whose level enters the contrast: {listed(lacking)}"
    warnings.warn(
        f"{text[0].upper()}{text[1:]}.\nLeave such models out; {mean or 'no model has rewards on both sides'}.",
        UnbalancedModelsWarning,
        stacklevel=4,
    )
    return [f"{text}; {mean}" if mean else text]


def _cluster_weighted(source: Source) -> float:
    plan = replace(source.plan, weighting="cluster")
    return float(estimate(plan.pools(*source.columns(by_model=False)), plan.coefficients)[0])
