"""Ability scores on plain arrays: EAP, MAP, ML and WLE of rows of 0/1 responses against fixed item parameters."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag
from typing import Literal

import numpy as np

from psychoedu._typing import CodeArray, FloatArray, IntArray
from psychoedu.irt.mode import find_modes, search_nodes
from psychoedu.irt.packing import PackedItems, PackedRows, group_rows, pack_items, pack_rows, selected_sum
from psychoedu.irt.posterior import posterior_moments

Method = Literal["eap", "map", "ml", "wle"]
METHODS: tuple[Method, ...] = ("eap", "map", "ml", "wle")


class Flag(IntFlag):
    """What is particular about a row; a row may carry several."""

    NO_DATA = 1
    ALL_RIGHT = 2
    ALL_WRONG = 4
    INFINITE = 8
    """ML of a row that is neither all right nor all wrong, whose likelihood still rises towards an infinite ability."""
    NO_INFORMATION = 16
    """The answered items all have discrimination 0."""


@dataclass(frozen=True, eq=False)
class Estimates:
    """Ability, its standard error, the number of items answered and the flags (see `Flag`), each (n_rows,)."""

    theta: FloatArray
    theta_se: FloatArray
    n_answered: IntArray
    flags: CodeArray


def estimate(
    codes: CodeArray,
    discrimination: FloatArray,
    intercept: FloatArray,
    guessing: FloatArray | None = None,
    method: Method = "eap",
    prior_mean: float | FloatArray = 0.0,
    prior_sd: float | FloatArray = 1.0,
    positions: IntArray | None = None,
) -> Estimates:
    """Score rows of responses against fixed item parameters.

    Parameters
    ----------
    codes : ndarray of int8, (N, J)
        1 right, 0 wrong, negative for a response that is not used.
    discrimination, intercept : ndarray, (n_bank,)
        P(x = 1) = c + (1 - c) logistic(a theta + d).
    guessing : ndarray, (n_bank,), optional
        Lower asymptotes c in [0, 1).
    method : {"eap", "map", "ml", "wle"}
    prior_mean, prior_sd : float or ndarray, (N,)
        The normal prior of "eap" and "map", each row's own where arrays are given. Rows are scored by distinct prior.
    positions : ndarray of int, (J,), optional
        Where each column of `codes` stands in the bank; by default column j is item j.

    Returns
    -------
    Estimates

    Notes
    -----
    A row's result is the same to the last bit whichever other rows and empty columns the matrix has. Equal rows are scored
    once. Cost: O(N J) bytes to pack, and for U distinct rows O(U (Q + J / 8)) floating-point operations where the items
    answered are alike or O(U Q J / 8) where they differ (EAP, Q nodes), O(U (Q + 5 J)) for the others. Memory beside the
    data: 2 bits a cell and blocks of some 10 MB.
    """
    n_rows, n_columns = codes.shape
    items, columns = pack_items(
        discrimination, intercept, guessing, np.arange(n_columns) if positions is None else positions.astype(np.int64)
    )
    right, answered = pack_rows(codes, columns, len(items.present))
    if method in ("ml", "wle"):
        prior_mean, prior_sd = 0.0, 1.0
    priors, prior_of = _distinct_priors(prior_mean, prior_sd, n_rows)
    theta, error = np.empty(n_rows), np.empty(n_rows)
    n_answered, flags = np.empty(n_rows, dtype=np.int64), np.empty(n_rows, dtype=np.int8)
    bank = (discrimination, intercept)
    for kind, (mean, sd) in enumerate(priors):
        chosen = slice(None) if prior_of is None else np.flatnonzero(prior_of == kind)
        some_right, some_answered = right[chosen], answered[chosen]
        first, inverse = group_rows(some_right, some_answered)
        rows = PackedRows(np.ascontiguousarray(some_right[first].T), np.ascontiguousarray(some_answered[first].T))
        found = _estimate_distinct(rows, items, bank, method, mean, sd)
        theta[chosen] = found.theta[inverse]
        error[chosen] = found.theta_se[inverse]
        n_answered[chosen] = found.n_answered[inverse]
        flags[chosen] = found.flags[inverse]
    return Estimates(theta, error, n_answered, flags)


def _distinct_priors(
    mean: float | FloatArray, sd: float | FloatArray, n_rows: int
) -> tuple[list[tuple[float, float]], IntArray | None]:
    """Return the distinct (mean, SD) and which of them each row has (None: all the first)."""
    if np.ndim(mean) == 0 and np.ndim(sd) == 0:
        return [(float(mean), float(sd))], None
    means, mean_of = np.unique(np.broadcast_to(mean, (n_rows,)), return_inverse=True)
    sds, sd_of = np.unique(np.broadcast_to(sd, (n_rows,)), return_inverse=True)
    kinds, prior_of = np.unique(mean_of * len(sds) + sd_of, return_inverse=True)
    priors = [(float(means[kind // len(sds)]), float(sds[kind % len(sds)])) for kind in kinds.tolist()]
    return priors, None if len(priors) == 1 else prior_of.astype(np.int64)


def _estimate_distinct(
    rows: PackedRows, items: PackedItems, bank: tuple[FloatArray, FloatArray], method: Method, mean: float, sd: float
) -> Estimates:
    n_answered = rows.n_answered()
    flags = _pattern_flags(rows, items, n_answered)
    no_data = (flags & (Flag.NO_DATA | Flag.NO_INFORMATION)) != 0
    if method == "eap":
        theta, error = posterior_moments(rows, items, mean, sd)
    else:
        nodes = search_nodes(*bank, prior=(mean, sd) if method == "map" else None)
        modes = find_modes(rows, items, method, nodes, mean, sd)
        theta, error = modes.theta, modes.theta_se
    if method in ("eap", "map"):  # exactly the prior
        theta[no_data], error[no_data] = mean, sd
    else:
        theta[no_data], error[no_data] = np.nan, np.nan
        surprising = np.isinf(theta) & ((flags & (Flag.ALL_RIGHT | Flag.ALL_WRONG)) == 0)
        flags[surprising] |= np.int8(Flag.INFINITE)
    return Estimates(theta, error, n_answered, flags)


def _pattern_flags(rows: PackedRows, items: PackedItems, n_answered: IntArray) -> CodeArray:
    flags = np.zeros(rows.n_rows, dtype=np.int8)
    some = n_answered > 0
    flags[~some] |= np.int8(Flag.NO_DATA)
    flags[some & (rows.right == rows.answered).all(axis=0)] |= np.int8(Flag.ALL_RIGHT)
    flags[some & (rows.right == 0).all(axis=0)] |= np.int8(Flag.ALL_WRONG)
    flat = selected_sum(rows.answered, (items.discrimination != 0.0).astype(np.float64)) == 0.0
    flags[some & flat] |= np.int8(Flag.NO_INFORMATION)
    return flags
