"""One E-step of a cognitive diagnosis model: log-likelihood, expected class counts, expected responses by class.

The log-likelihood of respondent i in class l is sum_j x_ij logit P_jl + sum_{j observed} log(1 - P_jl): one matrix product for
the right answers, and a base that rows of one missing pattern share (Ma & de la Torre, 2020, Journal of Statistical Software
93(14), equation 7, on the log scale). Arrays of classes by rows are class-major. Nothing underflows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from psychoedu._typing import FloatArray
from psychoedu.irt.blocks import Block, ResponseBlocks

CHUNK_CELLS = 131_072
"""Classes x rows worked on at a time."""


@dataclass(slots=True)
class ClassChunk:
    """Posteriors of a few rows of one block: ``posterior`` (L, B) sums to 1 over classes; the next chunk overwrites it."""

    block: Block
    rows: slice
    right: FloatArray
    observed: FloatArray | None
    posterior: FloatArray
    log_marginal: FloatArray


def class_chunks(
    data: ResponseBlocks, success: FloatArray, log_prior: FloatArray, chunk_cells: int = CHUNK_CELLS
) -> Iterator[ClassChunk]:
    """Yield the class posteriors of all rows, some rows at a time.

    Parameters
    ----------
    data : ResponseBlocks
    success : (J, L) array
        P(right | class), strictly inside (0, 1).
    log_prior : (G, L) array
        Log class probabilities of each group; -inf for a class that does not exist.
    chunk_cells : int
        Classes x rows in one chunk.
    """
    n_classes = success.shape[1]
    log_failure = np.log1p(-success)
    logit = np.log(success) - log_failure
    size = max(16, chunk_cells // n_classes)
    buffer = np.empty(n_classes * min(size, max((block.n_rows for block in data.blocks), default=0)))
    for block in data.blocks:
        odds = np.ascontiguousarray(logit[block.columns].T)
        failure = log_failure[block.columns]
        base = log_prior[block.group]
        if block.observed is None:
            base = base + failure.sum(axis=0)
        for start in range(0, block.n_rows, size):
            rows = slice(start, min(start + size, block.n_rows))
            right = block.right_rows(rows)
            observed = block.observed_rows(rows)
            n_rows = right.shape[0]
            posterior = buffer[: n_classes * n_rows].reshape(n_classes, n_rows)
            np.matmul(odds, right.T, out=posterior)
            posterior += base[:, None]
            if observed is not None:
                posterior += failure.T @ observed.T
            highest = posterior.max(axis=0)
            posterior -= highest
            np.exp(posterior, out=posterior)
            total = posterior.sum(axis=0)
            posterior /= total
            yield ClassChunk(block, rows, right, observed, posterior, highest + np.log(total))


@dataclass(slots=True)
class ClassExpectation:
    """Sums of one E-step.

    Attributes
    ----------
    log_likelihood : float
    right : (J, L) array
        Expected number of right answers to item j from class l.
    answered : (J, L) array
        Expected number of respondents of class l who answered item j.
    class_counts : (G, L) array
        Expected number of respondents of each group in each class.
    """

    log_likelihood: float
    right: FloatArray
    answered: FloatArray
    class_counts: FloatArray


def class_expectation(data: ResponseBlocks, success: FloatArray, log_prior: FloatArray) -> ClassExpectation:
    """Run one E-step over all respondents; costs O(N J L).

    Parameters
    ----------
    data : ResponseBlocks
    success : (J, L) array
    log_prior : (G, L) array

    Returns
    -------
    ClassExpectation
    """
    right = np.zeros_like(success)
    answered = np.zeros_like(success)
    class_counts = np.zeros((log_prior.shape[0], success.shape[1]))
    log_likelihood = 0.0
    for chunk in class_chunks(data, success, log_prior):
        block = chunk.block
        weights = block.weights[chunk.rows]
        log_likelihood += float(weights @ chunk.log_marginal)
        chunk.posterior *= weights
        counts = chunk.posterior.sum(axis=1)
        class_counts[block.group] += counts
        by_class = (chunk.posterior @ chunk.right).T
        right[block.columns] += by_class
        if chunk.observed is None:
            answered[block.columns] += counts
        else:
            answered[block.columns] += (chunk.posterior @ chunk.observed).T
    return ClassExpectation(log_likelihood, right, answered, class_counts)
