"""Variance components of random-effects designs: analysis of variance where balanced, Henderson's method 1 where not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import sparse

from psychoedu._typing import FloatArray, IntArray

Effect = tuple[int, ...]
"""Positions of the factors that make an effect: (0, 1) is the interaction of the first two."""

ROUNDING = 1e-12
"""A component smaller than this share of the total mean square is rounding error, and 0."""

SINGULAR = 1e-10
"""Smallest ratio of singular values of equations that determine their solution."""

MOST_PAIRS = 30_000_000
"""Multiplications of one sparse product, beyond which the standard errors of an unbalanced design are not computed."""


@dataclass(frozen=True, eq=False)
class Components:
    """Variance components of a design, one entry an effect.

    Parameters
    ----------
    estimates, standard_errors : ndarray, (E,)
        As estimated: an estimate may be negative. A standard error that was not computed is nan.
    n_levels : int64 array, (E,)
        Number of observed levels (combinations) of each effect.
    sums_of_squares, degrees_of_freedom, mean_squares : ndarray, (E,)
        The analysis of variance; nan where the design is unbalanced, as they are not independent there.
    balanced : bool
    singular : bool
        The equations do not determine the components; estimates are nan.
    """

    estimates: FloatArray
    standard_errors: FloatArray
    n_levels: IntArray
    sums_of_squares: FloatArray
    degrees_of_freedom: FloatArray
    mean_squares: FloatArray
    balanced: bool
    singular: bool = False


def effects_of(n_factors: int, nested: bool = False) -> tuple[Effect, ...]:
    """List the effects of a crossed design, main effects first; ``nested`` puts the last factor within the cells of the others.

    Examples
    --------
    >>> effects_of(2)
    ((0,), (1,), (0, 1))
    >>> effects_of(3, nested=True)
    ((0,), (1,), (0, 1), (0, 1, 2))
    """
    crossed = n_factors - nested
    listed = [effect for size in range(1, crossed + 1) for effect in combinations(range(crossed), size)]
    return (*listed, tuple(range(n_factors))) if nested else tuple(listed)


def level_codes(codes: IntArray, effect: Effect) -> tuple[IntArray, int]:
    """Return a number for each observed combination of an effect's factors.

    Parameters
    ----------
    codes : int64 array, (F, N)
        Level of each factor, from 0 on.
    effect : tuple of int

    Returns
    -------
    tuple of int64 array (N,) and int
        The combination of each observation, and how many there are.
    """
    joint = np.zeros(codes.shape[1], dtype=np.int64)
    for factor in effect:
        _, joint = np.unique(joint, return_inverse=True)
        joint = joint.astype(np.int64) * (int(codes[factor].max()) + 1) + codes[factor]
    found, numbered = np.unique(joint, return_inverse=True)
    return numbered.astype(np.int64), len(found)


def same_partitions(n_levels: IntArray, effects: Sequence[Effect]) -> list[tuple[int, int]]:
    """List pairs of effects that divide the observations in the same way, so that their variances cannot be told apart.

    An effect refines every effect whose factors it holds; it is the same division where it has no more levels.

    Examples
    --------
    >>> same_partitions(np.array([3, 6, 6]), effects_of(2))
    [(1, 2)]
    """
    return [
        (low, high)
        for low in range(len(effects))
        for high in range(len(effects))
        if set(effects[low]) < set(effects[high]) and n_levels[low] == n_levels[high]
    ]


def is_balanced(levels: Sequence[IntArray], n_levels: IntArray, effects: Sequence[Effect], nested: bool) -> bool:
    """Tell whether every cell of the crossed factors was observed, equally often (once, without nested repeats)."""
    cell = len(effects) - 2 if nested else len(effects) - 1
    single = [n_levels[place] for place, effect in enumerate(effects) if len(effect) == 1]
    counts = np.bincount(levels[cell])
    return bool(len(counts) == np.prod(np.array(single, dtype=np.float64)) and np.all(counts == counts[0]))


def variance_components(values: FloatArray, codes: IntArray, effects: Sequence[Effect], nested: bool = False) -> Components:
    """Estimate the variance of each random effect of a linear model.

    Parameters
    ----------
    values : ndarray, (N,)
    codes : int64 array, (F, N)
        Level of each factor at each observation, from 0 on.
    effects : sequence of tuple of int
        Effects of the model, as :func:`effects_of` lists them: the last has one observation a level (the residual).
    nested : bool
        The last factor lies within the cells of the others.

    Returns
    -------
    Components

    Notes
    -----
    The model is y = mu + sum over effects of u_a + residual, all u_a independent with mean 0 and variance sigma^2_a. With
    T_a = sum over levels of (sum of y)^2 / n,

    - balanced: SS_a = T_a - T_mu - sum of SS_b over the effects b within a, and sigma^2 from E MS_a = sum over the effects b that
      hold a of sigma^2_b N / n_levels_b (Brennan 2001, ch. 3; Searle et al. 1992, ch. 4). With sigma^2 = W MS the standard error
      is sqrt(sum of W^2 2 MS^2 / (df + 2)), unbiased for the variance where effects are normal.
    - unbalanced: E T_a = N mu^2 + sum over b of k_ab sigma^2_b, with k_ab = sum over levels i of a and j of b of n_ij^2 / n_i;
      the equations T_a - T_mu = sum of (k_ab - k_mub) sigma^2_b are solved (Henderson's method 1, analogous ANOVA; Brennan 2001,
      ch. 7). Unbiased where what is missing does not depend on the effects; no distribution is assumed. On balanced data the
      same as above. The standard error is that of normal effects, with
      cov(T_a, T_b) = 2 tr(P_a V P_b V), P_a the projection on the means of a's levels and V from the estimates, negative ones as
      0; it is not computed where that takes products of over 3e7 multiplications (hundreds of thousands of observations).

    Cost: O(N E) balanced, O(N E^2) unbalanced, without the standard errors.

    References
    ----------
    Brennan, R. L. (2001). *Generalizability theory*. Springer. Henderson, C. R. (1953). Estimation of variance and covariance
    components. *Biometrics, 9*, 226-252. Searle, S. R., Casella, G., & McCulloch, C. E. (1992). *Variance components*. Wiley.
    """
    centred = values - values[0]  # equal values give exact zeros
    centred = centred - centred.mean()
    found = [level_codes(codes, effect) for effect in effects]
    levels, n_levels = [level for level, _ in found], np.array([count for _, count in found], dtype=np.int64)
    if is_balanced(levels, n_levels, effects, nested) and not same_partitions(n_levels, effects):
        return _balanced(centred, levels, n_levels, effects)
    return henderson(centred, levels, n_levels)


def _uncorrected(values: FloatArray, levels: Sequence[IntArray]) -> FloatArray:
    """Return T_a of each effect."""
    return np.array([np.sum(np.bincount(level, weights=values) ** 2 / np.bincount(level)) for level in levels])


def _without_rounding(estimates: FloatArray, values: FloatArray) -> FloatArray:
    """Put to 0 what is smaller than the rounding of the sums."""
    return np.where(np.abs(estimates) <= ROUNDING * np.mean(values**2), 0.0, estimates)


def _balanced(values: FloatArray, levels: Sequence[IntArray], n_levels: IntArray, effects: Sequence[Effect]) -> Components:
    size, count = len(values), len(effects)
    totals = _uncorrected(values, levels)
    sums, degrees = np.zeros(count), np.zeros(count)
    for place, effect in enumerate(effects):
        within = [other for other in range(count) if set(effects[other]) < set(effect)]
        sums[place] = max(totals[place] - sums[within].sum(), 0.0)  # T_mu is 0: the values are centred
        degrees[place] = n_levels[place] - 1 - degrees[within].sum()
    squares = sums / degrees
    expected = np.array(
        [[size / n_levels[b] if set(effects[a]) <= set(effects[b]) else 0.0 for b in range(count)] for a in range(count)]
    )
    weights = np.linalg.inv(expected)
    estimates = _without_rounding(weights @ squares, values)
    errors = np.sqrt(weights**2 @ (2.0 * squares**2 / (degrees + 2.0)))
    return Components(estimates, errors, n_levels, sums, degrees, squares, True)


def henderson_coefficients(levels: Sequence[IntArray]) -> FloatArray:
    """Return k_ab of every pair of effects, (E + 1, E); the last row is that of the mean.

    Parameters
    ----------
    levels : sequence of int64 arrays, (N,)
        The level of each effect at each observation.

    Returns
    -------
    ndarray, (E + 1, E)
    """
    size = len(levels[0])
    everything = [*levels, np.zeros(size, dtype=np.int64)]
    coefficients = np.empty((len(everything), len(levels)))
    for a, first in enumerate(everything):
        inverse = 1.0 / np.bincount(first)
        for b, second in enumerate(levels):
            joint = first * (int(second.max()) + 1) + second
            found, counts = np.unique(joint, return_counts=True)
            coefficients[a, b] = np.sum(counts.astype(np.float64) ** 2 * inverse[found // (int(second.max()) + 1)])
    return coefficients


def henderson(values: FloatArray, levels: Sequence[IntArray], n_levels: IntArray) -> Components:
    """Estimate variance components by Henderson's method 1, whatever is missing.

    Parameters
    ----------
    values : ndarray, (N,)
    levels : sequence of int64 arrays, (N,)
        The level of each effect at each observation; the last is the residual, a level of its own for each observation.
    n_levels : int64 array, (E,)

    Returns
    -------
    Components
        ``singular`` with nan estimates where the equations do not determine them.
    """
    count = len(levels)
    nothing = np.full(count, np.nan)
    coefficients = henderson_coefficients(levels)
    equations = coefficients[:-1] - coefficients[-1]
    centred = values - values.mean()
    totals = _uncorrected(centred, levels)
    values_of = np.linalg.svd(equations / len(values), compute_uv=False)
    if values_of[-1] <= SINGULAR * values_of[0]:
        return Components(nothing, nothing, n_levels, nothing, nothing, nothing, False, True)
    inverse = np.linalg.inv(equations)
    estimates = _without_rounding(inverse @ totals, centred)
    spread = _covariance_of_totals(np.maximum(estimates, 0.0), levels)
    errors = nothing if spread is None else np.sqrt(np.maximum(np.diag(inverse @ spread @ inverse.T), 0.0))
    return Components(estimates, errors, n_levels, nothing, nothing, nothing, False)


def _covariance_of_totals(components: FloatArray, levels: Sequence[IntArray]) -> FloatArray | None:
    """Return cov(T_a - T_mu, T_b - T_mu) of normal effects, (E, E); None where it would take too long."""
    size = len(levels[0])
    everything = [*levels, np.zeros(size, dtype=np.int64)]
    used = np.flatnonzero(components > 0.0).tolist()
    indicators = [sparse.csr_array((np.ones(size), (level, np.arange(size)))) for level in everything]
    # joint[a][c]: how many observations levels of a and c share
    joint = [[(first @ second.T).tocsr() for second in indicators] for first in indicators]
    inverse = [1.0 / np.bincount(level) for level in everything]
    traces = np.zeros((len(everything), len(everything)))
    for a in range(len(everything)):
        for b in range(a + 1):
            trace = _trace(a, b, used, components, joint, inverse)
            if trace is None:
                return None
            traces[a, b] = traces[b, a] = trace
    found: FloatArray = 2.0 * (traces[:-1, :-1] - traces[:-1, -1:] - traces[-1:, :-1] + traces[-1, -1])
    return found


def _trace(
    a: int, b: int, used: list[int], components: FloatArray, joint: list[list[sparse.csr_array]], inverse: list[FloatArray]
) -> float | None:
    """Return tr(P_a V P_b V), V the sum of sigma^2_c Z_c Z_c'; None where both ways to it are too long.

    One way sums squares of Z_a' V Z_b, the other, for each c and d, products of Z_c' P_a Z_d and Z_c' P_b Z_d: the first is short
    where a and b have few levels, the second where c and d have.
    """
    over_levels = sum(_work(joint[a][c], joint[c][b]) for c in used)
    over_effects = sum(_work(joint[c][e], joint[e][d]) for c in used for d in used for e in (a, b))
    if min(over_levels, over_effects) > MOST_PAIRS:
        return None
    if over_levels <= over_effects:
        total = sparse.csr_array((len(inverse[a]), len(inverse[b])))
        for c in used:
            total = total + components[c] * (joint[a][c] @ joint[c][b])
        found = total.tocoo()
        return float(np.sum(found.data**2 * inverse[a][found.row] * inverse[b][found.col]))
    trace = 0.0
    for c in used:
        for d in used:
            first, second = ((joint[c][e] * inverse[e][None, :]) @ joint[e][d] for e in (a, b))
            trace += components[c] * components[d] * float((first * second).sum())
    return trace


def _work(left: sparse.csr_array, right: sparse.csr_array) -> float:
    """Return the number of multiplications of a sparse product."""
    return float(np.bincount(left.indices, minlength=left.shape[1]).astype(np.float64) @ np.diff(right.indptr))


def shares_of_mean(codes: IntArray, effects: Sequence[Effect]) -> FloatArray:
    """Return by how much each component counts in the variance of a mean over one level of the first factor, (E,).

    Parameters
    ----------
    codes : int64 array, (F, N)
    effects : sequence of tuple of int

    Returns
    -------
    ndarray, (E,)
        Sum over the effect's levels within one level of the first factor of (n / n of that level)^2, averaged over its levels:
        1 / n for a factor of n levels in a balanced design.
    """
    first = codes[0]
    sizes = np.bincount(first).astype(np.float64)
    shares = np.empty(len(effects))
    for place, effect in enumerate(effects):
        level, _ = level_codes(codes, tuple(sorted({0, *effect})))
        counts = np.bincount(level).astype(np.float64)
        owner = np.zeros(len(counts), dtype=np.int64)
        owner[level] = first
        shares[place] = np.mean(np.bincount(owner, weights=counts**2, minlength=len(sizes)) / sizes**2)
    return shares
