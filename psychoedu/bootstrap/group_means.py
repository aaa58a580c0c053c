"""Means of models in several groups of clusters, such as stages, and their resamples, all from the same draws."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray, IntArray
from psychoedu.bootstrap import resampling
from psychoedu.bootstrap.corrections import inflate, inflation
from psychoedu.bootstrap.design import ClusterDesign
from psychoedu.bootstrap.engine import MOST_FAILED, blocks, in_parallel
from psychoedu.bootstrap.plan import PAIRED, Choices, Part, Plan, Side, plan_of
from psychoedu.bootstrap.resampling import Pool
from psychoedu.bootstrap.streams import Seed
from psychoedu.exceptions import ClusterDesignError, ResamplingError

RELATIVE_TIE = 1e-12
"""Means that differ by less than this share of the largest reward are one number, added up in another order."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of strata, each with a mean per model.

    Attributes
    ----------
    labels : Index, (G,)
    design : ClusterDesign
        Its strata are what clusters are drawn within; each lies in one group.
    group_of : (H,) int array
        Group of each stratum.
    plan : Plan
        Ratio g is the mean of group g; its coefficient is the group's weight.
    """

    labels: pd.Index
    design: ClusterDesign
    group_of: IntArray
    plan: Plan

    @property
    def weights(self) -> FloatArray:
        """Weight of each group, (G,)."""
        return self.plan.coefficients

    @property
    def pools(self) -> list[Pool]:
        """Pools of all groups, in their order; the models are the columns."""
        return self.plan.pools(self.design.sums, self.design.sizes)

    @property
    def tie(self) -> float:
        """Largest difference of two means that is rounding alone."""
        with np.errstate(invalid="ignore", divide="ignore"):
            means = np.where(self.design.sizes > 0, self.design.sums / self.design.sizes, 0.0)
        return RELATIVE_TIE * float(np.abs(means).max(initial=0.0))

    def means(self) -> FloatArray:
        """Return the means of the data themselves, (G, M); nan where a model has no reward."""
        return resampling.ratios_of(self.pools, len(self.labels))[0]

    def sizes(self) -> pd.Series:
        """Return the number of clusters of each stratum that is drawn within, by group (and stratum, where they differ)."""
        counts = self.design.stratum_sizes
        return pd.Series(counts, index=self.design.strata, name="n_clusters")


@dataclass(frozen=True, eq=False)
class GroupDraws:
    """Resampled means.

    Attributes
    ----------
    means : (B, G, M) array
        Without the resamples that failed; corrected where a correction was asked for.
    n_failed : int
    """

    means: FloatArray
    n_failed: int


def groups_of(design: ClusterDesign, labels: pd.Index, group_of: IntArray, weights: FloatArray, choices: Choices) -> Groups:
    """Lay out one ratio per group, with a pool per stratum.

    Parameters
    ----------
    design : ClusterDesign
    labels : Index, (G,)
    group_of : (H,) int array
    weights : (G,) array
    choices : Choices

    Raises
    ------
    ClusterDesignError
        A stratum has one cluster.
    """
    if choices.singleton == "raise":  # so that the message names the strata of all groups
        plan_of(design, (Side(PAIRED, tuple(range(len(design.strata))), None),), replace(choices, within="stratum"))
    parts: list[Part] = []
    notes: list[str] = []
    for group in range(len(labels)):
        plan = _plan_of_group(design, np.flatnonzero(group_of == group), choices)
        parts += [replace(part, term=group) for part in plan.parts]
        notes += plan.notes
    if all(part.certain for part in parts):
        raise ClusterDesignError(
            f"Every stratum has one {design.cluster_word}, so that nothing is left to resample. Expected at least two in one."
        )
    whole = Plan(design, tuple(parts), weights, choices.weighting, "stratum", choices.correction, tuple(notes))
    return Groups(labels, design, group_of, whole)


def _plan_of_group(design: ClusterDesign, strata: IntArray, choices: Choices) -> Plan:
    """Return the plan of one mean; where every stratum of a group has one cluster, certainty leaves nothing to draw in it."""
    if choices.singleton == "certainty" and (design.stratum_sizes[strata] == 1).all():
        parts = tuple(Part(PAIRED, 0, (int(at),), np.flatnonzero(design.stratum_of == at), certain=True) for at in strata)
        names = ", ".join(f"{design.strata[at]!r}" for at in strata)
        note = f"taken as certain, without sampling error (one {design.cluster_word}): {names}"
        return Plan(design, parts, np.ones(1), choices.weighting, "stratum", choices.correction, (note,))
    return plan_of(design, (Side(PAIRED, tuple(int(at) for at in strata), None),), replace(choices, within="stratum"))


def draw_means(groups: Groups, seed: Seed, n_resamples: int, n_jobs: int = 1) -> GroupDraws:
    """Resample clusters and return the means of every group and model.

    Parameters
    ----------
    groups : Groups
    seed : Seed
    n_resamples : int
    n_jobs : int
        Threads; the numbers do not depend on it.

    Raises
    ------
    ResamplingError
        More than 5% of the resamples leave a mean without any reward.

    Notes
    -----
    The draws are those of a contrast or comparison with the same strata and seed, so that all of them agree.
    """
    found = groups.means()
    pools = groups.pools
    own = [[replace(pool, term=0) for pool in pools if pool.term == group] for group in range(len(groups.labels))]
    one = np.ones(1)
    raw = np.empty((n_resamples, *found.shape))
    laid = blocks(n_resamples, max(pool.n for pool in pools))
    size = laid[0][1]

    def fill(block: int, count: int) -> None:
        generator = seed.generator(block)
        for group, members in enumerate(own):
            raw[block * size : block * size + count, group], _ = resampling.replicate(generator, count, members, one)

    in_parallel([partial(fill, block, count) for block, count in laid], n_jobs, shared_memory=True)
    failed = np.isnan(raw[:, np.isfinite(found)]).any(axis=1)
    n_failed = int(failed.sum())
    if n_failed > MOST_FAILED * n_resamples:
        raise ResamplingError(
            f"{n_failed:,} of {n_resamples:,} resamples drew no observed reward of some model in {_where(groups, raw, found)}, "
            f"so that its mean does not exist.\nExpected at most {MOST_FAILED:.0%}. Leave out models with few observed rewards."
        )
    kept = raw[~failed] if n_failed else raw
    return GroupDraws(inflate(kept, found, inflation(groups.plan.pool_sizes, groups.plan.correction)), n_failed)


def _where(groups: Groups, raw: FloatArray, found: FloatArray) -> str:
    """Name the mean that failed most often."""
    often = np.where(np.isfinite(found), np.isnan(raw).sum(axis=0), -1)
    group, model = np.unravel_index(int(often.argmax()), often.shape)
    return f"{groups.labels[int(group)]!r}, most often {groups.design.models[int(model)]!r}"


def nested(outer: ClusterDesign, inner: ClusterDesign) -> tuple[ClusterDesign, IntArray]:
    """Return the design whose strata are those of ``inner`` within those of ``outer``, and the outer stratum of each.

    Parameters
    ----------
    outer, inner : ClusterDesign
        Of the same table: the same clusters in the same order.
    """
    n_inner = len(inner.strata)
    pairs, codes = np.unique(outer.stratum_of * n_inner + inner.stratum_of, return_inverse=True)
    group_of, within = np.divmod(pairs, n_inner)
    labels: list[Any] = [(outer.strata[a], inner.strata[b]) for a, b in zip(group_of, within, strict=True)]
    strata = pd.Index(labels, name="stratum", tupleize_cols=False)
    return replace(outer, strata=strata, stratum_of=codes.astype(np.int64)), group_of.astype(np.int64)
