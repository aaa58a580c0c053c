"""The public verb of paired comparisons: which models differ, on resamples of tasks that all of them share."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray
from psychoedu._version import __version__
from psychoedu.bootstrap.analysis import FALLBACK, FEW_CLUSTERS, Source, recommended
from psychoedu.bootstrap.comparison import ModelComparison
from psychoedu.bootstrap.corrections import CORRECTIONS
from psychoedu.bootstrap.design import MISSING_POLICIES, ClusterDesign, by_model_text
from psychoedu.bootstrap.engine import check_jobs, estimates_of, limits_of, resample
from psychoedu.bootstrap.intervals import TIE, holm, max_t_limits, p_value
from psychoedu.bootstrap.pairing import Pairing, exact_mcnemar, pair_up, sign_flip_p
from psychoedu.bootstrap.plan import PAIRED, Choices, Plan, Side, plan_of
from psychoedu.bootstrap.resampling import Pool
from psychoedu.bootstrap.streams import Seed, seed_of
from psychoedu.exceptions import DataError, LabelError, MissingRewardsError
from psychoedu.validation import (
    check_choice,
    check_integer,
    check_known,
    check_positive,
    check_probability,
    counted,
    has_label,
    listed,
)

METHODS = ("percentile", "basic", "bca", "studentised", "t")
PAIR_RULES = ("error", "intersection")
_FLIPS = 1
"""Purpose of the stream of sign flips, apart from the resamples'."""


def compare_models(
    rewards: pd.DataFrame | ClusterDesign,
    stratum: Hashable | None = None,
    cluster: Hashable = "task",
    model: Hashable = "model",
    reward: Hashable = "reward",
    n_resamples: int = 10_000,
    confidence_level: float = 0.95,
    method: str = "percentile",
    correction: str | None = None,
    rng: Any = None,
    *,
    item: Hashable | None = None,
    repeat: Hashable | None = None,
    models: Sequence[Hashable] | None = None,
    compare: Sequence[tuple[Hashable, Hashable]] | None = None,
    reference: Hashable | None = None,
    pairs: str = "error",
    missing: str = "raise",
    margin: float | None = None,
    weighting: str = "task",
    singleton: str = "raise",
    n_jobs: int = 1,
) -> ModelComparison:
    """Compare models pair by pair on the same units and the same resamples.

    Parameters
    ----------
    rewards : DataFrame or ClusterDesign
        A row per reward; a design has to be read with ``missing="omit"`` or "raise", and keeps that policy.
    stratum : column name, optional
        Clusters are drawn within strata.
    cluster, model, reward, item, repeat
        Columns, as in :func:`psychoedu.contrast`.
    n_resamples, confidence_level, correction, rng, weighting, singleton, n_jobs
        As in :func:`psychoedu.contrast`.
    method : {"percentile", "basic", "bca", "studentised", "t"}
        Of the separate intervals.
    models : sequence of labels, optional
        Which models to compare; all by default.
    compare : sequence of (first, second), optional
        Which pairs; all by default. The difference is that of the first less the second.
    reference : label, optional
        Compare every other model with this one.
    pairs : {"error", "intersection"}
        What to do where two models were scored on different units: refuse, or compare each pair on what both have.
    missing : {"raise", "omit", "zero"}
        What to do about blank rewards: refuse, leave them out of the cell's mean (a cell without any other is a unit that the
        model lacks: see ``pairs``), or count them as 0. The numbers by model are in the diagnostics. Units that a model lacks
        altogether are for ``pairs`` to say.
    margin : float, optional
        Two models are equivalent if the interval at ``1 - 2 (1 - confidence_level)`` lies within -margin and margin.

    Returns
    -------
    ModelComparison
        ``.table`` has a row per pair; ``low_recommended`` and ``high_recommended`` where a stratum has fewer than 20 clusters.

    Raises
    ------
    MissingRewardsError
        Models have different units and ``pairs="error"``; rewards are blank and ``missing="raise"``.

    Notes
    -----
    One set of resampled clusters serves all pairs. p is the two-sided bootstrap p, (k + 1)/(B + 1); ``p_holm`` adjusts it over
    the table. The simultaneous intervals use the quantile of the largest studentised difference over all pairs (max-t). The
    equivalence interval, by the same method, is that of two one-sided tests at ``1 - confidence_level`` each (Schuirmann, 1987).
    ``p_sign_flip`` turns the sign of whole clusters' differences, in all ways where they are no more than ``n_resamples``;
    ``p_mcnemar`` is exact for 0/1 rewards and given where every cluster is one unit, since it takes units for independent.

    References
    ----------
    Westfall, P. H., & Young, S. S. (1993). *Resampling-based multiple testing*. Wiley. Schuirmann, D. J. (1987). A comparison
    of the two one-sided tests procedure and the power approach. *Journal of Pharmacokinetics and Biopharmaceutics, 15*,
    657-680.

    Examples
    --------
    >>> import psychoedu as pe
    >>> rewards = pd.DataFrame({"task": list(range(6)) * 2, "model": ["A"] * 6 + ["B"] * 6,
    ...     "reward": [1, 1, 1, 0, 1, 1, 0, 1, 0, 0, 0, 1]})
    >>> found = pe.compare_models(rewards, rng=1)
    >>> found.table.loc[("A", "B"), ["difference", "wins", "ties", "losses"]].tolist()
    [0.5, 3.0, 3.0, 0.0]
    """
    level = check_probability(confidence_level, "confidence_level")
    size = check_integer(n_resamples, "n_resamples", minimum=100)
    method = check_choice(method, METHODS, "method")
    if correction is not None:
        correction = check_choice(correction, CORRECTIONS, "correction")
    rule = check_choice(pairs, PAIR_RULES, "pairs")
    bound = None if margin is None else check_positive(margin, "margin")
    jobs = check_jobs(n_jobs)
    missing = check_choice(missing, MISSING_POLICIES, "missing")
    design = rewards
    if not isinstance(design, ClusterDesign):
        names = {"cluster": cluster, "stratum": stratum, "model": model, "reward": reward, "item": item, "repeat": repeat}
        design = ClusterDesign.from_long(rewards, **names, missing="zero" if missing == "zero" else "omit")  # type: ignore[arg-type]
    else:
        design.refuse_other_columns(
            missing, cluster=(cluster, "task"), stratum=(stratum, None), model=(model, "model"), reward=(reward, "reward"),
            item=(item, None), repeat=(repeat, None),
        )  # fmt: skip
        if design.missing == "zero" and missing != "zero":
            raise DataError(
                'The design counts missing rewards as 0, which hides who was scored on what. Read it with missing="omit".'
            )
    if models is not None:
        design = design.select_models(models)
    design, n_empty = design.without_empty_clusters()
    pairing = pair_up(design, _pairs(design.models, compare, reference), rule == "intersection")
    if isinstance(rewards, ClusterDesign):
        missing = design.missing
    notes = _missing_notes(design, rule, missing)
    if n_empty:
        notes.append(f"{counted(n_empty, design.cluster_word)} without any reward left out")
    side = Side(PAIRED, tuple(range(len(design.strata))), None)
    plan = plan_of(design, (side,), Choices(weighting, "stratum", singleton, correction))
    return _compare(design, pairing, plan, seed_of(rng), size, level, method, bound, jobs, rule, missing, notes)


def _missing_notes(design: ClusterDesign, rule: str, missing: str) -> list[str]:
    """Say what was done about missing rewards, by model, or refuse them.

    Units that one of a pair lacks have been refused, or left out as ``pairs="intersection"`` asks; what is left here are blank
    rewards among others of a cell, and units that nobody has.
    """
    if missing == "raise":
        blank = design.n_partial if rule == "intersection" else design.n_missing
        if blank.any():
            raise MissingRewardsError(
                f"{counted(int(blank.sum()), 'reward')} missing{_within_cells(rule)}, by model: "
                f"{by_model_text(pd.Series(blank, index=design.models))}.\n"
                'Expected every reward. Pass missing="omit" (the mean of the other rewards, units without any left out) or '
                'missing="zero" (a failure), and report it.'
            )
    if not design.n_missing.any() or missing != "omit":
        return []
    return ["missing rewards are left out of the means of their cells, and units without any of all pairs"]


def _within_cells(rule: str) -> str:
    return " beside others of the same cell" if rule == "intersection" else ""


def _pairs(
    models: pd.Index, compare: Sequence[tuple[Hashable, Hashable]] | None, reference: Hashable | None
) -> list[tuple[int, int]]:
    if compare is not None and reference is not None:
        raise DataError("compare and reference both say which pairs; expected one of them.")
    if compare is not None:
        wanted = list(compare)
        if not wanted or any(not isinstance(pair, tuple | list) or len(pair) != 2 for pair in wanted):
            raise DataError(f"compare has to be a list of pairs (first, second); got {listed(wanted)}.")
        check_known(list(dict.fromkeys(label for pair in wanted for label in pair)), models, "model")
        return [(_place(models, first), _place(models, second)) for first, second in wanted]
    if len(models) < 2:
        raise DataError(f"There is one model, {models[0]!r}. Expected at least two to compare.")
    if reference is None:
        return list(combinations(range(len(models)), 2))
    if not has_label(models, reference):
        raise LabelError(f"There is no model {reference!r} to compare with. Expected one of: {listed(models)}.")
    at = _place(models, reference)
    return [(other, at) for other in range(len(models)) if other != at]


def _place(models: pd.Index, label: Hashable) -> int:
    return int(models.get_indexer(pd.Index([label], tupleize_cols=False))[0])


def _compare(
    design: ClusterDesign,
    pairing: Pairing,
    plan: Plan,
    seed: Seed,
    size: int,
    level: float,
    method: str,
    margin: float | None,
    jobs: int,
    rule: str,
    missing: str,
    missing_notes: list[str],
) -> ModelComparison:
    pools = plan.pools(pairing.sums, pairing.sizes)
    found = estimates_of(plan, pools)
    drawn = resample(plan, pools, seed, size, method == "studentised", jobs)
    separate = limits_of(method, pools, plan, found, drawn, level)
    limits, degenerate = separate.limits, len(separate.degenerate)
    errors = drawn.replicates.std(axis=0, ddof=1)
    simultaneous, p_max_t = max_t_limits(drawn.replicates, found.value, errors, level)
    raw = p_value(drawn.replicates, found.value)
    source = Source(plan, pairing.sums, pairing.sizes, None, seed, size, jobs)
    better, better_notes = _recommended(source, level, design.cluster_word)
    table = {
        "difference": found.value,
        "standard_error": errors,
        "robust_standard_error": found.robust_error,
        "low": limits[0],
        "high": limits[1],
        **better,
        "low_simultaneous": simultaneous[0],
        "high_simultaneous": simultaneous[1],
        "p_value": raw,
        "p_holm": holm(raw),
        "p_max_t": p_max_t,
        "p_sign_flip": sign_flip_p(seed.generator(0, _FLIPS), _contributions(plan, pools), size),
        "n_units": pairing.n_units,
        "left_out": pairing.left_out,
        "wins": pairing.wins,
        "ties": pairing.ties,
        "losses": pairing.losses,
    }
    more_notes = list(missing_notes)
    if pairing.binary.any():
        single = pairing.single
        exact = np.where(pairing.binary & single, exact_mcnemar(pairing.wins, pairing.losses), np.nan)
        table |= {
            "first_only": np.where(pairing.binary, pairing.wins, np.nan),
            "second_only": np.where(pairing.binary, pairing.losses, np.nan),
            "p_mcnemar": exact,
        }
        if not pairing.binary.all():
            more_notes.append("pairs with other rewards than 0 and 1 have no flips and no exact test (McNemar)")
        if (pairing.binary & ~single).any():
            word = design.cluster_word
            more_notes.append(
                f"no exact test (McNemar) where {word}s hold several units: it takes units for independent; the sign-flip test "
                f"turns whole {word}s"
            )
    if margin is not None:
        low, high = [found.value] * 2
        if level > 0.5:
            low, high = limits_of(method, pools, plan, found, drawn, 2.0 * level - 1.0).limits
        table |= {"low_equivalence": low, "high_equivalence": high, "equivalent": (low > -margin) & (high < margin)}
    labels = [(design.models[first], design.models[second]) for first, second in pairing.pairs]
    notes = [*plan.notes, *more_notes, *better_notes]
    alike = np.flatnonzero(errors <= TIE * np.abs(found.value))
    if len(alike):
        names = listed([f"{labels[at][0]} - {labels[at][1]}" for at in alike])
        notes.append(
            f"all resamples of {names} are equal: these intervals have no width, which does not mean that there is no error"
        )
    if degenerate:
        notes.append(f"{degenerate} {method} intervals do not exist; percentile intervals stand in their place")
    if pairing.left_out.any():
        notes.append("pairs were compared on the units that both have (pairs='intersection'); see n_units and left_out")
    if drawn.n_failed:
        notes.append(f"{drawn.n_failed:,} resamples without a common unit of some pair were left out")
    return ModelComparison(
        table=pd.DataFrame(table, index=pd.MultiIndex.from_tuples(labels, names=["first", "second"])),
        sizes=pd.Series(design.stratum_sizes, index=design.strata, name="n_clusters"),
        n_resamples=size,
        confidence_level=level,
        method=method,
        correction=plan.correction,
        weighting=plan.weighting,
        pairs=rule,
        missing=missing,
        n_missing=pd.Series(design.n_missing, index=design.models, name="n_missing"),
        margin=margin,
        seed=seed.entropy,
        cluster_word=design.cluster_word,
        diagnostics=tuple(notes),
        version=__version__,
    )


def _recommended(source: Source, level: float, word: str) -> tuple[dict[str, FloatArray], list[str]]:
    """Return recommended limits of every pair, with a note, where fewer than 20 clusters are drawn from together somewhere."""
    fewest = int(source.plan.pool_sizes.min())
    if fewest >= FEW_CLUSTERS:
        return {}, []
    limits, methods, _ = recommended(source, True, level)
    kinds = " or ".join(
        sorted({"analytic t" if method == FALLBACK else "studentised with Rao-Wu rescaling" for method in methods})
    )
    note = f"somewhere only {fewest} {word}s are drawn from together: recommended intervals ({kinds}) stand beside the others"
    return {"low_recommended": limits[0], "high_recommended": limits[1]}, [note]


def _contributions(plan: Plan, pools: Sequence[Pool]) -> FloatArray:
    """Return what each cluster adds to the difference, (C, P): their sum is the difference that stands in the table."""
    below = np.zeros((len(plan.coefficients), pools[0].numerator.shape[1]))
    for pool in pools:
        below[pool.term] += pool.denominator.sum(axis=0)
    return np.concatenate([plan.coefficients[pool.term] * pool.numerator / below[pool.term] for pool in pools])
