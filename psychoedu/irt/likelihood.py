"""The marginal likelihood of the 2PL family, its gradient and its expected counts, one pass over the responses.

With P_j(t) = logistic(a_j t + d_j), the log-likelihood of respondent i at node t_q is

    s_i t_q + sum_j d_j x_ij + sum_{j observed} log(1 - P_j(t_q)),      s_i = sum_j a_j x_ij,

so that the responses enter through the weighted score s_i alone (Birnbaum, 1968, section 18.4), and every expected count that
the gradient needs is a posterior moment of respondent i, or a sum over respondents at a node. One E-step therefore costs a
matrix-vector product in each direction and N Q exponentials, not two matrix products of N J Q. Rows that share a missing
pattern share the last term; rows whose pattern is (nearly) their own are kept in a block with a mask, where it costs the two
products after all. All arrays of nodes by rows are class-major (Q, B), so that loops run along the rows.

Everything is computed on the log scale: a test of thousands of items does not underflow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit

from psychoedu._typing import FloatArray
from psychoedu.irt.blocks import Block, ResponseBlocks
from psychoedu.irt.models import linear_predictor

CHUNK_CELLS = 131_072
"""Nodes x rows worked on at a time: 1 MB of float64, which stays in a core's cache."""


@dataclass(slots=True)
class ItemCurves:
    """What one E-step needs of the items at the nodes: P and log(1 - P), each (J, Q)."""

    discrimination: FloatArray
    intercept: FloatArray
    nodes: FloatArray
    success: FloatArray
    log_failure: FloatArray

    @classmethod
    def at(cls, nodes: FloatArray, discrimination: FloatArray, intercept: FloatArray) -> ItemCurves:
        """Evaluate the items at the nodes."""
        eta = linear_predictor(nodes, discrimination, intercept).T
        return cls(discrimination, intercept, nodes, expit(eta), log_expit(-eta))


@dataclass(slots=True)
class PosteriorChunk:
    """Posteriors of a few rows of one block: unnormalised ``density`` (Q, B), its total and its first two moments."""

    block: Block
    rows: slice
    right: FloatArray
    observed: FloatArray | None
    density: FloatArray
    total: FloatArray
    log_marginal: FloatArray
    mean: FloatArray
    variance: FloatArray


def posterior_chunks(
    data: ResponseBlocks, curves: ItemCurves, log_weights: FloatArray, chunk_cells: int = CHUNK_CELLS
) -> Iterator[PosteriorChunk]:
    """Yield the posteriors of all rows, some rows at a time.

    Parameters
    ----------
    data : ResponseBlocks
    curves : ItemCurves
    log_weights : (G, Q) array
        Log weights of the population of each group at the nodes.
    chunk_cells : int
        Nodes x rows in one chunk.

    Notes
    -----
    ``log_marginal`` lacks sum_j d_j x_ij, which callers add once for all rows. The arrays of a chunk are overwritten by the next.
    """
    nodes = curves.nodes
    n_nodes = nodes.size
    powers = np.vstack([np.ones(n_nodes), nodes, nodes**2])
    size = max(64, chunk_cells // n_nodes)
    buffer = np.empty(n_nodes * min(size, max((block.n_rows for block in data.blocks), default=0)))
    for block in data.blocks:
        slopes = curves.discrimination[block.columns]
        log_failure = curves.log_failure[block.columns]
        base = log_weights[block.group]
        if block.observed is None:
            base = base + log_failure.sum(axis=0)
        for start in range(0, block.n_rows, size):
            rows = slice(start, min(start + size, block.n_rows))
            right = block.right_rows(rows)
            observed = block.observed_rows(rows)
            n_rows = right.shape[0]
            density = buffer[: n_nodes * n_rows].reshape(n_nodes, n_rows)
            np.multiply.outer(nodes, right @ slopes, out=density)
            density += base[:, None]
            if observed is not None:
                density += log_failure.T @ observed.T
            highest = density.max(axis=0)
            density -= highest
            np.exp(density, out=density)
            moments = powers @ density
            total = moments[0]
            mean = moments[1] / total
            variance = np.maximum(moments[2] / total - mean**2, 0.0)
            yield PosteriorChunk(block, rows, right, observed, density, total, highest + np.log(total), mean, variance)


@dataclass(slots=True)
class Expectation:
    """Sums of one E-step.

    Attributes
    ----------
    log_likelihood : float
    right_theta : (J,) array
        Sum over respondents of w_i x_ij E_i(theta).
    counts : (J, Q) array
        Expected number of respondents to item j at node q.
    group_counts : (G, Q) array
        Expected number of respondents of each group at node q.
    quadrature_error : float
        Three standard errors of what the spacing of the nodes adds to the log-likelihood (see :mod:`.quadrature`), the errors
        of single respondents, 2 exp(-2 pi^2 Var_i(theta) / h^2), having signs that follow where they fall between the nodes.
    smallest_sd : float
        The narrowest posterior's standard deviation.
    """

    log_likelihood: float
    right_theta: FloatArray
    counts: FloatArray
    group_counts: FloatArray
    quadrature_error: float
    smallest_sd: float


def expectation(data: ResponseBlocks, curves: ItemCurves, log_weights: FloatArray) -> Expectation:
    """Run one E-step over all respondents; costs O(N (J + Q)) with few missing patterns, O(N J Q) with many.

    Parameters
    ----------
    data : ResponseBlocks
    curves : ItemCurves
    log_weights : (G, Q) array

    Returns
    -------
    Expectation
    """
    n_items, n_nodes = curves.success.shape
    counts = np.zeros((n_items, n_nodes))
    group_counts = np.zeros((log_weights.shape[0], n_nodes))
    right_theta = np.zeros(n_items)
    log_likelihood = float(curves.intercept @ data.total_right)
    per_variance = -4.0 * (np.pi / (curves.nodes[1] - curves.nodes[0])) ** 2
    squared_error = 0.0
    smallest = np.inf
    for chunk in posterior_chunks(data, curves, log_weights):
        block = chunk.block
        weights = block.weights[chunk.rows]
        log_likelihood += float(weights @ chunk.log_marginal)
        scale = weights / chunk.total
        at_node = chunk.density @ scale
        group_counts[block.group] += at_node
        right_theta[block.columns] += (weights * chunk.mean) @ chunk.right
        if chunk.observed is None:
            counts[block.columns] += at_node
        else:
            counts[block.columns] += (chunk.density @ (chunk.observed * scale[:, None])).T
        squared_error += 2.0 * float(weights**2 @ np.exp(per_variance * chunk.variance))
        smallest = min(smallest, float(chunk.variance.min()))
    return Expectation(
        log_likelihood, right_theta, counts, group_counts, 3.0 * float(np.sqrt(squared_error)), float(np.sqrt(smallest))
    )
