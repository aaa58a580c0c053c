"""Residuals of item pairs under a latent class model: correlations, log-odds ratios, SRMSR."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from psychoedu._typing import BoolArray, FloatArray, IntArray
from psychoedu.cdm.moments import PairCounts
from psychoedu.cdm.multiplicity import bonferroni, holm

MINIMUM_JOINT = 200
"""With missing cells, a pair counts only if this many respondents have a score on both items."""

_CONSTANT = 1e-14


@dataclass(frozen=True, eq=False)
class PairResiduals:
    """Residuals of item pairs (i < j in the order of ``numpy.triu_indices``), nan with a reason where they do not exist.

    Parameters
    ----------
    first, second : ndarray of int, (P,)
        Positions of the two items.
    n : ndarray, (P,)
        Respondents with a score on both.
    correlation, log_odds : dict of arrays, (P,)
        observed, expected, residual, se, z, p_value, p_holm, p_bonferroni. Of correlations, observed and expected are
        correlations; residual and se are in Fisher's z = atanh(r).
    correlation_reason, log_odds_reason : list of str
        Empty where the residual exists.
    """

    first: IntArray
    second: IntArray
    n: FloatArray
    correlation: dict[str, FloatArray]
    log_odds: dict[str, FloatArray]
    correlation_reason: list[str]
    log_odds_reason: list[str]


def pair_residuals(
    counts: PairCounts, success: FloatArray, class_weights: FloatArray, minimum_joint: float = MINIMUM_JOINT
) -> PairResiduals:
    """Compare correlations and log-odds ratios of item pairs with what the model expects.

    Parameters
    ----------
    counts : PairCounts
    success : ndarray, (J, L)
    class_weights : ndarray, (L,)
    minimum_joint : float, default 200
        With missing cells, the least number of joint responses.

    Returns
    -------
    PairResiduals

    Notes
    -----
    Fisher's z of the correlation has SE 1 / sqrt(n - 3); the log-odds ratio has SE sqrt(sum of 1 / (n P_ab)) over the four cells
    that the model expects. Expectations are exact sums over profiles where R's GDINA simulates responses. The SEs take the item
    parameters as known, so the tests are a little conservative. p-values are two-sided; those adjusted count the pairs tested.

    References
    ----------
    Chen, J., de la Torre, J., & Zhang, Z. (2013). Relative and absolute fit evaluation in cognitive diagnosis modeling.
    *Journal of Educational Measurement, 50*, 123-140.
    """
    first, second = np.triu_indices(len(success), 1)
    cells, expected = _tables(counts, success, class_weights)
    n = counts.n[first, second]
    short = (n < minimum_joint) & (not counts.complete)
    constant = ~short & (_spread(cells) <= _CONSTANT * np.maximum(n, 1.0) ** 4)
    perfect = ~short & ~constant & ((cells[1] + cells[2] == 0) | (cells[0] + cells[3] == 0))
    few = ~short & (n < 4)
    zero = ~short & (cells.min(axis=0, initial=np.inf) <= 0)
    flat = (_spread(expected) <= _CONSTANT) | (expected.min(axis=0, initial=np.inf) <= 0)
    count_text = [
        f"{value:g} joint responses, fewer than {minimum_joint:g}" if bad else "" for value, bad in zip(n, short, strict=True)
    ]
    r_reason = _reasons(
        count_text,
        (few, "fewer than 4 joint responses"),
        (constant, "one of the items has no variance"),
        (perfect, "the observed correlation is 1 or -1"),
        (flat, "the model expects an item without variance"),
    )
    odds_reason = _reasons(
        count_text,
        (zero, "an empty cell in the observed fourfold table"),
        (flat, "the model expects an empty cell"),
    )
    r_ok, odds_ok = (np.array([not text for text in reasons], dtype=bool) for reasons in (r_reason, odds_reason))
    observed_r, expected_r = _correlation(cells, r_ok), _correlation(expected, r_ok)
    z_residual = np.arctanh(observed_r) - np.arctanh(expected_r)
    r_se = np.full(n.shape, np.nan)
    r_se[r_ok] = 1.0 / np.sqrt(n[r_ok] - 3.0)
    observed_odds, expected_odds = _log_odds(cells, odds_ok), _log_odds(expected, odds_ok)
    odds_se = np.full(n.shape, np.nan)
    odds_se[odds_ok] = np.sqrt((1.0 / expected[:, odds_ok]).sum(axis=0) / n[odds_ok])
    return PairResiduals(
        first=first,
        second=second,
        n=n,
        correlation=_tests(observed_r, expected_r, z_residual, r_se),
        log_odds=_tests(observed_odds, expected_odds, observed_odds - expected_odds, odds_se),
        correlation_reason=r_reason,
        log_odds_reason=odds_reason,
    )


def srmsr(
    counts: PairCounts,
    success: FloatArray,
    class_weights: FloatArray,
    minimum_joint: float = MINIMUM_JOINT,
    drop_short_pairs: bool = False,
) -> tuple[float, str]:
    """Return the standardised root mean square residual of the correlations of item pairs, and why if it does not exist.

    Notes
    -----
    sqrt(mean over pairs of (r - r_model)^2), r over the respondents with a score on both items.

    References
    ----------
    Maydeu-Olivares, A. (2013). Goodness-of-fit assessment of item response theory models. *Measurement, 11*, 71-101.
    """
    if len(success) < 2:
        return math.nan, "one item has no pairs"
    cells, expected = _tables(counts, success, class_weights)
    n = cells.sum(axis=0)
    short = (n < minimum_joint) & (not counts.complete)
    if short.any() and not drop_short_pairs:
        return math.nan, short_pairs_text(int(short.sum()), short.size, minimum_joint)
    used = ~short
    if not used.any():
        return math.nan, f"no pair has {minimum_joint:g} joint responses"
    flat = used & ((_spread(cells) <= _CONSTANT * n**4) | (_spread(expected) <= _CONSTANT))
    if flat.any():
        return math.nan, f"{int(flat.sum())} of {int(used.sum())} pairs hold an item without variance"
    difference = (_correlation(cells, used) - _correlation(expected, used))[used]
    return float(np.sqrt(np.mean(difference**2))), ""


def short_pairs_text(n_short: int, total: int, minimum_joint: float) -> str:
    """Say that moments rest on too few joint responses."""
    return (
        f"{n_short:,} of {total:,} items and pairs have fewer than {minimum_joint:g} joint responses: "
        "fit each form by itself, or leave such pairs out"
    )


def _tables(counts: PairCounts, success: FloatArray, class_weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the fourfold table of each pair, (4, P) in the order 11 10 01 00: observed counts, and the model's probabilities."""
    first, second = np.triu_indices(len(success), 1)
    n, both = counts.n[first, second], counts.both[first, second]
    one, two = counts.right[first, second], counts.right[second, first]
    mean, joint = success @ class_weights, (success[first] * success[second]) @ class_weights
    e_one, e_two = mean[first], mean[second]
    observed = np.stack([both, one - both, two - both, n - one - two + both])
    return observed, np.stack([joint, e_one - joint, e_two - joint, 1.0 - e_one - e_two + joint])


def _spread(cells: FloatArray) -> FloatArray:
    """Return the product of the two items' variances in a fourfold table, times the total to the fourth power."""
    spread: FloatArray = (cells[0] + cells[1]) * (cells[2] + cells[3]) * (cells[0] + cells[2]) * (cells[1] + cells[3])
    return spread


def _correlation(cells: FloatArray, where: BoolArray) -> FloatArray:
    value = np.full(cells.shape[1], np.nan)
    table = cells[:, where]
    value[where] = (table[0] * table[3] - table[1] * table[2]) / np.sqrt(_spread(table))
    return value


def _log_odds(cells: FloatArray, where: BoolArray) -> FloatArray:
    value = np.full(cells.shape[1], np.nan)
    logs = np.log(cells[:, where])
    value[where] = logs[0] + logs[3] - logs[1] - logs[2]
    return value


def _tests(observed: FloatArray, expected: FloatArray, residual: FloatArray, se: FloatArray) -> dict[str, FloatArray]:
    z = residual / se
    p_value = 2.0 * norm.sf(np.abs(z))
    return {
        "observed": observed,
        "expected": expected,
        "residual": residual,
        "se": se,
        "z": z,
        "p_value": p_value,
        "p_holm": holm(p_value),
        "p_bonferroni": bonferroni(p_value),
    }


def _reasons(first: list[str], *others: tuple[BoolArray, str]) -> list[str]:
    """Return the first reason that applies to each pair."""
    found = list(first)
    for where, text in others:
        for place in np.flatnonzero(where):
            found[place] = found[place] or text
    return found
