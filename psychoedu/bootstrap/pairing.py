"""Pairs models on the units that both were scored on: differences by cluster, flips, wins, ties and losses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import bdtr

from psychoedu._typing import BoolArray, FloatArray, IntArray
from psychoedu.bootstrap.design import ClusterDesign
from psychoedu.exceptions import ClusterDesignError, MissingRewardsError
from psychoedu.validation import counted, listed


@dataclass(frozen=True, eq=False)
class Pairing:
    """Differences of P pairs of models.

    Attributes
    ----------
    pairs : tuple of (int, int)
        Positions of the models: the difference is that of the first less the second.
    sums, sizes : (C, P) arrays
        Sum of the differences, and number of common cells, of each cluster.
    n_units : (P,) int array
        Units that both have.
    left_out : (P,) int array
        Units that only one of them has.
    wins, ties, losses : (P,) int arrays
        Units on which the first is better, equal or worse.
    binary : (P,) bool array
        Whether all rewards of both are 0 or 1, one a cell: then ``wins`` and ``losses`` are flips.
    single : (P,) bool array
        Whether no cluster has more than one unit of both.
    """

    pairs: tuple[tuple[int, int], ...]
    sums: FloatArray
    sizes: FloatArray
    n_units: IntArray
    left_out: IntArray
    wins: IntArray
    ties: IntArray
    losses: IntArray
    binary: BoolArray
    single: BoolArray


def pair_up(design: ClusterDesign, pairs: Sequence[tuple[int, int]], intersection: bool) -> Pairing:
    """Pair models by the labels of cluster and unit, never by position.

    Parameters
    ----------
    design : ClusterDesign
        Read with ``missing="omit"``, so that a cell counts where it was observed.
    pairs : sequence of (int, int)
    intersection : bool
        Whether units that only one of a pair has are left out; else they are an error.

    Raises
    ------
    MissingRewardsError
        A model lacks units that the other one of its pair has.
    ClusterDesignError
        A pair has no unit in common.
    """
    totals, counts = design.totals, design.counts
    means = np.divide(totals, counts, out=np.zeros_like(totals), where=counts > 0)
    size = len(pairs)
    sums, sizes, units = (np.empty((design.n_clusters, size)) for _ in range(3))
    tally = np.zeros((5, size), dtype=np.int64)
    for at, (first, second) in enumerate(pairs):
        both = (counts[:, first] > 0) & (counts[:, second] > 0)
        either = (counts[:, first] > 0) | (counts[:, second] > 0)
        difference = np.where(both, means[:, first] - means[:, second], 0.0)
        weight = np.where(both, np.minimum(counts[:, first], counts[:, second]), 0.0)
        sums[:, at] = design.by_cluster(difference * weight)
        sizes[:, at] = design.by_cluster(weight)
        units[:, at] = design.by_cluster(both.astype(np.float64))
        tally[0, at], tally[1, at] = both.sum(), (either & ~both).sum()
        tally[2, at], tally[3, at] = (difference > 0).sum(), (difference < 0).sum()
    _refuse_unpaired(design, pairs, tally, intersection)
    ties = tally[0] - tally[2] - tally[3]
    each = np.array([design.select_models([label]).is_binary for label in design.models])
    return Pairing(
        pairs=tuple(pairs),
        sums=sums,
        sizes=sizes,
        n_units=tally[0],
        left_out=tally[1],
        wins=tally[2],
        ties=ties,
        losses=tally[3],
        binary=np.array([bool(each[first] and each[second]) for first, second in pairs]),
        single=np.asarray((units <= 1.0).all(axis=0)),
    )


def _refuse_unpaired(design: ClusterDesign, pairs: Sequence[tuple[int, int]], tally: IntArray, intersection: bool) -> None:
    def named(where: IntArray) -> str:
        return listed([_pair_name(design.models, pairs[at]) for at in where])

    alone = np.flatnonzero(tally[1] > 0)
    if len(alone) and not intersection:
        lacking = np.flatnonzero((design.counts == 0).any(axis=1))
        units = design.units[lacking].tolist()
        raise MissingRewardsError(
            f"{counted(len(alone), 'pair')} of models without the same {design.cluster_word}s: {named(alone)}; "
            f"not everyone has {listed(units)}.\n"
            f"Expected every model on every unit, since differences are taken unit by unit.\n"
            'Pass pairs="intersection" to compare each pair on what both have; the table says how many units that is.'
        )
    empty = np.flatnonzero(tally[0] == 0)
    if len(empty):
        raise ClusterDesignError(
            f"{counted(len(empty), 'pair')} of models without a common unit: {named(empty)}.\n"
            "Expected units that both were scored on. Leave those models out with models=[...]."
        )


def _pair_name(models: pd.Index, pair: tuple[int, int]) -> str:
    return f"{models[pair[0]]} and {models[pair[1]]}"


def exact_mcnemar(first_only: IntArray, second_only: IntArray) -> FloatArray:
    """Return the two-sided exact p of equal flip chances; 1 without flips.

    References
    ----------
    McNemar, Q. (1947). Note on the sampling error of the difference between correlated proportions or percentages.
    *Psychometrika, 12*, 153-157.

    Examples
    --------
    >>> exact_mcnemar(np.array([0, 8, 5]), np.array([0, 1, 5]))
    array([1.       , 0.0390625, 1.       ])
    """
    flips = first_only + second_only
    lower = np.minimum(first_only, second_only).astype(np.float64)
    found: FloatArray = np.minimum(1.0, 2.0 * bdtr(lower, flips.astype(np.int64), 0.5))
    return np.where(first_only == second_only, 1.0, found)


def sign_flip_p(generator: np.random.Generator, sums: FloatArray, n_resamples: int) -> FloatArray:
    """Return two-sided p values of the paired sign-flip test of clusters, (P,).

    Parameters
    ----------
    generator : numpy Generator
    sums : (C, P) array
        Sum of the differences of each cluster.
    n_resamples : int
        Random flips; the data themselves are one more.

    Notes
    -----
    Where no model is better, each cluster's difference is as likely to have the other sign. p = (k + 1)/(B + 1), k the flips
    whose absolute sum reaches the observed one. One set of flips serves all pairs. Where the 2^C ways to flip are no more than
    B, they are gone through instead, and p is their share.

    Examples
    --------
    >>> sign_flip_p(np.random.default_rng(1), np.full((5, 1), 0.2), 1000)  # 2 of 32
    array([0.0625])
    """
    sums = sums[(sums != 0.0).any(axis=1)]
    observed = np.abs(sums.sum(axis=0))
    reach = observed * (1.0 - 1e-12)
    if len(sums) < 63 and 2 ** len(sums) <= n_resamples:
        ways = np.arange(2 ** len(sums))[:, None] >> np.arange(len(sums))
        return np.asarray((np.abs((1.0 - 2.0 * (ways & 1)) @ sums) >= reach).mean(axis=0), dtype=np.float64)
    reached = np.zeros(sums.shape[1], dtype=np.int64)
    size = max(1, min(1024, 2**20 // max(1, len(sums))))
    for start in range(0, n_resamples, size):
        count = min(size, n_resamples - start)
        signs = 2.0 * generator.integers(0, 2, size=(count, len(sums)), dtype=np.int8).astype(np.float64) - 1.0
        reached += (np.abs(signs @ sums) >= reach).sum(axis=0)
    return np.asarray((reached + 1.0) / (n_resamples + 1.0), dtype=np.float64)
