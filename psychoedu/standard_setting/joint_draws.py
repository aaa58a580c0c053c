"""Level probabilities of respondents with every source of error drawn jointly, as plain arrays.

In each draw the item parameters, the link and the panel's cuts take values from their sampling distributions; given these, the
posterior of each respondent is integrated between the cuts. Averaging the integrals over the draws gives the probability of each
level: measurement error needs no draws of its own, which leaves less simulation noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_expit

from psychoedu._typing import CodeArray, FloatArray, IntArray
from psychoedu.irt.packing import group_rows

NODES_PER_SD = 3.0
"""At least so many lattice points per posterior SD of a respondent at the peak of test information."""
_HALF_WIDTH = 6.5
_MOST_NODES = 4001
_AROUND = np.arange(-2, 4)
_POLYNOMIAL = np.linalg.inv(np.vander(_AROUND.astype(np.float64), increasing=True))
"""Coefficients of the polynomial through six densities: row o gives that of the power o."""
_END_CORRECTION = np.array([0.0, -1.0 / 12.0, 0.0, 6.0 / 720.0, 0.0, -120.0 / 30240.0])
"""Euler-Maclaurin: what each coefficient (a derivative over its factorial) adds to the trapezoidal sum up to the node."""


@dataclass(frozen=True, eq=False)
class JointDraws:
    """What was found.

    Attributes
    ----------
    probabilities : ndarray, (4, N, L + 1)
        Level probabilities with measurement alone, then with items, linking and the panel added one after the other; the last are
        those with every source.
    simulation_se : ndarray, (N, L + 1)
        Monte Carlo standard errors of the last.
    measurement_variance : ndarray, (N,)
        Mean over the draws of the posterior variance.
    item_variance : ndarray, (N, L)
        Variance over the draws of posterior mean minus cut as the item parameters move both.
    """

    probabilities: FloatArray
    simulation_se: FloatArray
    measurement_variance: FloatArray
    item_variance: FloatArray


def lattice(prior_mean: FloatArray, prior_sd: FloatArray, peak_information: float) -> FloatArray:
    """Return the lattice on which posteriors are integrated; it depends on the test and the priors, not on the responses.

    Parameters
    ----------
    prior_mean, prior_sd : ndarray
    peak_information : float
        The largest test information.
    """
    spacing = 2.0 ** np.floor(-np.log2(NODES_PER_SD * np.sqrt(peak_information + float(prior_sd.min()) ** -2)))
    low, high = float((prior_mean - _HALF_WIDTH * prior_sd).min()), float((prior_mean + _HALF_WIDTH * prior_sd).max())
    first, last = np.floor(low / spacing), np.ceil(high / spacing)
    stride = np.ceil((last - first) / _MOST_NODES)
    nodes: FloatArray = np.arange(first, last + stride, stride) * spacing
    return nodes


def joint_level_draws(
    codes: CodeArray,
    discrimination: FloatArray,
    intercept: FloatArray,
    guessing: FloatArray | None,
    prior_mean: FloatArray,
    prior_sd: FloatArray,
    nodes: FloatArray,
    item_cuts: FloatArray,
    linked_cuts: FloatArray,
    all_cuts: FloatArray,
    estimates: tuple[FloatArray, FloatArray, FloatArray],
    shifts: FloatArray | None = None,
) -> JointDraws:
    """Integrate each respondent's posterior between the cuts in every draw.

    Parameters
    ----------
    codes : ndarray of int8, (N, J)
        1 right, 0 wrong, negative not used.
    discrimination, intercept : ndarray, (R, J)
        Item parameters of each draw.
    guessing : ndarray, (J,), or None
    prior_mean, prior_sd : ndarray, (N,)
    nodes : ndarray, (Q,)
        Equally spaced; see :func:`lattice`.
    item_cuts, linked_cuts, all_cuts : ndarray, (R, L)
        Cuts of each draw as the item parameters move them; with the link drawn besides; with the panel's error besides.
    estimates : tuple of ndarrays, (J,), (J,), (L,)
        Discriminations, intercepts and cuts as estimated.
    shifts : ndarray, (R, N), optional
        Error added to each respondent's ability in the last step, such as that of the sampling of items.

    Returns
    -------
    JointDraws

    Notes
    -----
    Cuts that cross in a draw are put in order, which is never farther from the true, ordered cuts than the draw was
    (Chernozhukov, Fernández-Val & Galichon, 2009, Biometrika, 96, 559-575). Cost O(R N Q + R J Q) and, without guessing, one
    product of the answered patterns' indicators with (J, Q) a draw.
    """
    n_draws, n_rows, n_cuts = len(discrimination), len(codes), item_cuts.shape[1]
    patterns = _Patterns.of(codes)
    log_prior = -0.5 * ((nodes - prior_mean[:, None]) / prior_sd[:, None]) ** 2
    spacing = float(nodes[1] - nodes[0])
    sums = np.zeros((3, n_rows, n_cuts))  # items, linking, panel: mean probability of reaching each cut
    squares, total = np.zeros((n_rows, n_cuts + 1)), np.zeros((n_rows, n_cuts + 1))
    means, variances = np.empty((n_draws, n_rows)), np.zeros(n_rows)
    cuts = [np.sort(values, axis=1) for values in (item_cuts, linked_cuts, all_cuts)]
    for draw in range(n_draws):
        density = patterns.posterior(discrimination[draw], intercept[draw], guessing, nodes, log_prior)
        means[draw], variance = _moments(density, nodes)
        variances += variance
        below = _Cumulative(density, nodes, spacing)
        for place in range(3):
            at = cuts[place][draw]
            reached = below.above(at if shifts is None or place < 2 else at - shifts[draw][:, None])
            sums[place] += reached
        masses = _to_levels(reached)
        total += masses
        squares += masses**2
    start = patterns.posterior(estimates[0], estimates[1], guessing, nodes, log_prior)
    at_estimates = _Cumulative(start, nodes, spacing).above(estimates[2])
    steps = np.stack([_to_levels(at_estimates), *(_to_levels(part / n_draws) for part in sums)])
    spread = np.maximum(squares / n_draws - (total / n_draws) ** 2, 0.0)
    with np.errstate(invalid="ignore"):
        margins = means[:, :, None] - np.where(np.isinf(item_cuts), np.nan, item_cuts)[:, None, :]
        item_variance = margins.var(axis=0, ddof=1) if n_draws > 1 else np.full((n_rows, n_cuts), np.nan)
    error = np.sqrt(spread / max(n_draws - 1, 1))
    return JointDraws(steps, error, variances / n_draws, item_variance)


@dataclass(frozen=True, eq=False)
class _Patterns:
    """Responses with the rows that answered the same items grouped, so that what depends on the items alone is summed once."""

    right: FloatArray
    answered: FloatArray
    which: IntArray

    @classmethod
    def of(cls, codes: CodeArray) -> _Patterns:
        answered = (codes >= 0).astype(np.uint8)
        first, which = group_rows(answered)
        return cls((codes == 1).astype(np.float64), answered[first].astype(np.float64), which)

    def posterior(
        self,
        discrimination: FloatArray,
        intercept: FloatArray,
        guessing: FloatArray | None,
        nodes: FloatArray,
        log_prior: FloatArray,
    ) -> FloatArray:
        """Return posterior densities on the nodes, (N, Q), each summing to 1."""
        eta = np.multiply.outer(nodes, discrimination) + intercept
        log_wrong = log_expit(-eta)
        if guessing is None:  # log P - log(1 - P) = eta
            density = np.multiply.outer(self.right @ discrimination, nodes) + (self.right @ intercept)[:, None]
        else:
            with np.errstate(divide="ignore"):
                log_right = np.logaddexp(np.log(guessing), np.log1p(-guessing) + log_expit(eta))
            log_wrong = np.log1p(-guessing) + log_wrong
            density = self.right @ (log_right - log_wrong).T
        density += (self.answered @ log_wrong.T)[self.which]
        density += log_prior
        density -= density.max(axis=1, keepdims=True)
        np.exp(density, out=density)
        density /= density.sum(axis=1, keepdims=True)
        return density


def _moments(density: FloatArray, nodes: FloatArray) -> tuple[FloatArray, FloatArray]:
    mean = density @ nodes
    return mean, np.maximum(density @ nodes**2 - mean**2, 0.0)


class _Cumulative:
    """Distribution functions of smooth densities on equally spaced nodes.

    Within a cell: the polynomial through the densities of the six nodes around it; up to a node: the trapezoidal sum with the
    Euler-Maclaurin corrections that this polynomial's derivatives give. Both are wrong by terms in the sixth power of its width.
    """

    def __init__(self, density: FloatArray, nodes: FloatArray, spacing: float) -> None:
        self._density, self._first, self._spacing, self._n = density, float(nodes[0]), spacing, len(nodes)
        self._upto = np.cumsum(density, axis=1)

    def above(self, cuts: FloatArray) -> FloatArray:
        """Return the probability of an ability of at least each cut, (N, L), for cuts (L,) or (N, L)."""
        place = np.clip((cuts - self._first) / self._spacing, 2.0, self._n - 3.0)
        cell = np.minimum(place.astype(np.int64), self._n - 4)
        t = place - cell
        around = np.stack([self._take(self._density, cell + step) for step in _AROUND])
        below = self._take(self._upto, cell) - 0.5 * around[2]
        powers = np.stack([_END_CORRECTION[order] + t ** (order + 1) / (order + 1) for order in range(len(_AROUND))])
        below += np.einsum("o...,ok,k...->...", np.broadcast_to(powers, (len(_AROUND), *t.shape)), _POLYNOMIAL, around)
        found = np.clip(1.0 - below / self._upto[:, -1:], 0.0, 1.0)
        found = np.where(np.isinf(cuts), np.where(cuts > 0.0, 0.0, 1.0), found)
        return np.asarray(np.minimum.accumulate(found, axis=1))  # an upper cut is not more often reached, to the last bit

    @staticmethod
    def _take(array: FloatArray, index: IntArray) -> FloatArray:
        return array[:, index] if index.ndim == 1 else np.take_along_axis(array, index, axis=1)


def _to_levels(reached: FloatArray) -> FloatArray:
    """Turn probabilities of reaching each cut into those of the levels between them, (..., L + 1)."""
    ones, zeros = np.ones((*reached.shape[:-1], 1)), np.zeros((*reached.shape[:-1], 1))
    edges = np.concatenate((ones, reached, zeros), axis=-1)
    return np.asarray(edges[..., :-1] - edges[..., 1:])
