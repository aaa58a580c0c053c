"""What the estimation maximises: the marginal log-likelihood, plus log priors where there are any."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import coo_array, csc_array

from psychoedu._typing import FloatArray
from psychoedu.irt.blocks import ResponseBlocks
from psychoedu.irt.information import (
    complete_information,
    item_information,
    observed_missing_information,
    representative_missing_information,
)
from psychoedu.irt.likelihood import Expectation, ItemCurves, expectation
from psychoedu.irt.parameters import FIXED, ParameterMap
from psychoedu.irt.population import Populations
from psychoedu.irt.priors import Priors

FARTHEST_MEAN = 30.0
LARGEST_LOG_RATIO = 3.0
"""A group's mean stays within so many SDs of where it started, and its SD within a factor of e^3 = 20 either way."""


@dataclass(slots=True)
class Evaluation:
    """Objective and gradient at one point, with what is needed to say more about the point."""

    free: FloatArray
    objective: float
    gradient: FloatArray
    log_likelihood: float
    curves: ItemCurves
    populations: Populations
    expected: Expectation
    prior_curvature: FloatArray | None
    exact_missing: FloatArray | None = None


@dataclass(slots=True)
class Objective:
    """The (penalised) marginal log-likelihood of the free parameters.

    Parameters
    ----------
    data : ResponseBlocks
    parameters : ParameterMap
    nodes : (Q,) array
    priors : Priors or None
    prior_weight : (J,) array or None

    Attributes
    ----------
    n_evaluations : int
        Full E-steps done so far.
    """

    data: ResponseBlocks
    parameters: ParameterMap
    nodes: FloatArray
    priors: Priors | None = None
    prior_weight: FloatArray | None = None
    n_evaluations: int = field(default=0)
    _last_populations: tuple[bytes, Populations] | None = field(default=None)

    def _populations(self, mean: FloatArray, log_sd: FloatArray) -> Populations:
        """Return the populations at these means and SDs, those of the last call where they are the same."""
        key = mean.tobytes() + log_sd.tobytes()
        if self._last_populations is None or self._last_populations[0] != key:
            self._last_populations = key, Populations.at(self.nodes, mean, log_sd)
        return self._last_populations[1]

    def evaluate(self, free: FloatArray) -> Evaluation:
        """Run one E-step: the objective and its exact gradient (Fisher's identity)."""
        self.n_evaluations += 1
        discrimination, intercept, mean, log_sd = self.parameters.split(self.parameters.expand(free))
        curves = ItemCurves.at(self.nodes, discrimination, intercept)
        populations = self._populations(mean, log_sd)
        expected = expectation(self.data, curves, populations.log_weights)
        fitted = expected.counts * curves.success
        by_item = [expected.right_theta - fitted @ self.nodes, self.data.total_right - fitted.sum(axis=1)]
        objective = expected.log_likelihood
        prior_curvature = None
        if self.priors is not None and self.prior_weight is not None:
            log_prior, by_a, by_d, prior_curvature = self.priors.evaluate(discrimination, intercept, self.prior_weight)
            objective += log_prior
            by_item = [by_item[0] + by_a, by_item[1] + by_d]
        gradient = self.parameters.reduce(np.concatenate([*by_item, populations.gradient(expected.group_counts)]))
        return Evaluation(free, objective, gradient, expected.log_likelihood, curves, populations, expected, prior_curvature)

    def complete(self, at: Evaluation) -> FloatArray:
        """Complete-data information (with the priors') of the free parameters."""
        full = complete_information(at.curves, at.expected.counts, at.populations, self.data.group_weight)
        return self.parameters.reduce_matrix(full) + self.prior_information(at)

    def complete_sparse(self, at: Evaluation) -> csc_array:
        """Return the same as :meth:`complete` as a sparse matrix, for very long tests."""
        n_items, n_groups = self.parameters.n_items, self.parameters.n_groups
        blocks = item_information(at.curves, at.expected.counts)
        if at.prior_curvature is not None:
            blocks = blocks + at.prior_curvature
        a = np.arange(n_items)
        d = a + n_items
        rows, columns = [a, a, d, d], [a, d, a, d]
        values = [blocks[0], blocks[1], blocks[1], blocks[2]]
        for g in range(n_groups):
            own = np.array([2 * n_items + g, 2 * n_items + n_groups + g])
            rows.append(np.repeat(own, 2))
            columns.append(np.tile(own, 2))
            values.append(at.populations.complete_information(g, float(self.data.group_weight[g])).ravel())
        row, column = (self.parameters.index[np.concatenate(part)] for part in (rows, columns))
        free = (row != FIXED) & (column != FIXED)
        size = self.parameters.n_free
        return coo_array((np.concatenate(values)[free], (row[free], column[free])), shape=(size, size)).tocsc()

    def prior_information(self, at: Evaluation) -> FloatArray:
        """Minus the second derivatives of the log priors by the free parameters; zeros without priors."""
        n_free = self.parameters.n_free
        if at.prior_curvature is None:
            return np.zeros((n_free, n_free))
        return self.parameters.reduce_matrix(self._prior_matrix(at.prior_curvature, self.parameters.index.size))

    def missing(self, at: Evaluation, exact: bool) -> FloatArray:
        """Missing information of the free parameters, from all respondents or from representatives."""
        if not exact:
            return self.parameters.reduce_matrix(representative_missing_information(self.data, at.curves, at.populations))
        if at.exact_missing is None:  # kept: the last word of the estimation and the standard errors both need it
            full = observed_missing_information(self.data, at.curves, at.populations)
            at.exact_missing = self.parameters.reduce_matrix(full)
        return at.exact_missing

    def _prior_matrix(self, curvature: FloatArray, size: int) -> FloatArray:
        n_items = self.parameters.n_items
        matrix = np.zeros((size, size))
        a = np.arange(n_items)
        d = a + n_items
        matrix[a, a], matrix[d, d] = curvature[0], curvature[2]
        matrix[a, d] = matrix[d, a] = curvature[1]
        return matrix

    def bounds(self, largest_slope: float, smallest_slope: float) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bounds of the free parameters."""
        n_items = self.parameters.n_items
        _, _, mean, log_sd = self.parameters.split(self.parameters.values)
        sd = np.exp(log_sd)
        slopes, anything = np.ones(n_items), np.full(n_items, np.inf)
        low = np.concatenate([smallest_slope * slopes, -anything, mean - FARTHEST_MEAN * sd, log_sd - LARGEST_LOG_RATIO])
        high = np.concatenate([largest_slope * slopes, anything, mean + FARTHEST_MEAN * sd, log_sd + LARGEST_LOG_RATIO])
        index = self.parameters.index
        used = index != FIXED
        lower, upper = np.empty(self.parameters.n_free), np.empty(self.parameters.n_free)
        lower[index[used]], upper[index[used]] = low[used], high[used]
        return lower, upper
