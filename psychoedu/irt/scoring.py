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
        The normal prior of "eap" and "map", each row's own where arrays are given.
    positions : ndarray of int, (J,), optional
        Where each column of `codes` stands in the bank; by default column j is item j.

    Returns
    -------
    Estimates

    Notes
    -----
    A row's result is the same to the last bit whichever other rows and empty columns the matrix has, and whether its prior is
    given for it alone or for all. Equal rows with one prior are scored once. Cost: O(N J) bytes to pack, and for U distinct rows
    O(U (Q + J / 8)) floating-point operations where the items answered are alike or O(U Q J / 8) where they differ (EAP, Q
    nodes), O(U (Q + 5 J)) for the others; with a prior for each row EAP takes about twice as long. Memory beside the data: 2 bits
    a cell and blocks of some 10 MB.
    """
    n_rows, n_columns = codes.shape
    items, columns = pack_items(
        discrimination, intercept, guessing, np.arange(n_columns) if positions is None else positions.astype(np.int64)
    )
    right, answered = pack_rows(codes, columns, len(items.present))
    if method in ("ml", "wle"):
        prior_mean, prior_sd = 0.0, 1.0
    priors = _priors(prior_mean, prior_sd, n_rows)
    one_prior = len(priors) == 1
    first, inverse = group_rows(right, answered, *(() if one_prior else (priors.view(np.uint8),)))
    rows = PackedRows(np.ascontiguousarray(right[first].T), np.ascontiguousarray(answered[first].T))
    mean, sd = np.ascontiguousarray((priors if one_prior else priors[first]).T)
    found = _estimate_distinct(rows, items, (discrimination, intercept), method, mean, sd)
    return Estimates(found.theta[inverse], found.theta_se[inverse], found.n_answered[inverse], found.flags[inverse])


def _priors(mean: float | FloatArray, sd: float | FloatArray, n_rows: int) -> FloatArray:
    """Return mean and SD of each row's prior, (n_rows, 2), or (1, 2) where all are one."""
    columns = np.broadcast_arrays(np.asarray(mean, dtype=np.float64), np.asarray(sd, dtype=np.float64))
    priors = np.column_stack(tuple(np.atleast_1d(*columns))) + 0.0  # -0.0 becomes 0.0
    return priors[:1] if len(priors) and (priors == priors[0]).all() else np.broadcast_to(priors, (n_rows, 2))


def _estimate_distinct(
    rows: PackedRows, items: PackedItems, bank: tuple[FloatArray, FloatArray], method: Method, mean: FloatArray, sd: FloatArray
) -> Estimates:
    n_answered = rows.n_answered()
    flags = _pattern_flags(rows, items, n_answered)
    no_data = (flags & (Flag.NO_DATA | Flag.NO_INFORMATION)) != 0
    if method == "eap":
        theta, error = posterior_moments(rows, items, mean, sd)
    else:
        modes = find_modes(rows, items, method, search_nodes(*bank), mean, sd)
        theta, error = modes.theta, modes.theta_se
    if method in ("eap", "map"):  # exactly the prior
        theta = np.where(no_data, mean, theta)
        error = np.where(no_data, sd, error)
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
