"""Information of all parameters of a cognitive diagnosis model: complete, observed, and cross-products of scores.

Scores are those of the flat scale: logits of a partition's probabilities, effects of an additive model, structural parameters.
Louis (1982, JRSS B 44, 226-233): observed = complete - sum_i E(s s' | x_i) + sum_i s_i s_i', s_i being the observed score.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from psychoedu._typing import BoolArray, FloatArray, IntArray
from psychoedu.cdm.em import Parameters, Problem
from psychoedu.cdm.likelihood import ClassExpectation, class_chunks
from psychoedu.irt.covariance import invert_information

ROWS_AT_ONCE = 512
"""Rows that one product of residuals takes at least: with thousands of classes a chunk of fewer would be all overhead."""


@dataclass(frozen=True, slots=True)
class Scores:
    """What the scores need of a point: P by cell, d log-odds-weighted P by item parameter, structural scores by group."""

    cells: FloatArray
    weight: FloatArray
    structural: FloatArray

    @classmethod
    def at(cls, problem: Problem, parameters: Parameters) -> Scores:
        """Evaluate at the parameters."""
        cells = np.clip(problem.items.cells(parameters.items), *problem.bounds)
        jacobian = problem.items.jacobian(parameters.items)
        spread = cells * (1.0 - cells)
        weight = jacobian / spread[:, None]
        for kind in problem.items.kinds:
            if not kind.link:  # from probability to logit
                p = parameters.items[kind.parameters].ravel()
                weight[:, kind.parameters.ravel()] *= p * (1.0 - p)
        return cls(cells, weight, problem.populations.scores(parameters.structural))


def complete_information(problem: Problem, parameters: Parameters, expected: ClassExpectation) -> FloatArray:
    """Return minus the second derivative of the expected complete-data log-likelihood, block-diagonal by items and groups."""
    items = problem.items
    right, answered = items.collect(expected.right), items.collect(expected.answered)
    cells = np.clip(items.cells(parameters.items), *problem.bounds)
    size = items.n_parameters + problem.populations.n_parameters
    out = np.zeros((size, size))
    for kind in items.kinds:
        p, r, n = cells[kind.cells], right[kind.cells], answered[kind.cells]
        if not kind.link or kind.link == "logit":
            curvature = n * p * (1.0 - p)
        elif kind.link == "log":
            curvature = (n - r) * p / (1.0 - p) ** 2
        else:
            curvature = r / p**2 + (n - r) / (1.0 - p) ** 2
        blocks = np.einsum("rp,mr,rq->mpq", kind.design, curvature, kind.design)
        out[kind.parameters[:, :, None], kind.parameters[:, None, :]] = blocks
    part = slice(items.n_parameters, size)
    out[part, part] = problem.populations.information(parameters.structural, expected.class_counts)
    return out


def score_products(problem: Problem, parameters: Parameters) -> FloatArray:
    """Return sum_i w_i s_i s_i' of the observed scores."""
    scores = Scores.at(problem, parameters)
    size = problem.items.n_parameters + problem.populations.n_parameters
    out = np.zeros((size, size))
    for row, weights, at in _observed_scores(problem, parameters, scores):
        out[np.ix_(at, at)] += (row.T * weights) @ row
    return out


def _observed_scores(
    problem: Problem, parameters: Parameters, scores: Scores
) -> Iterator[tuple[FloatArray, FloatArray, IntArray]]:
    """Yield observed scores (B, p_b) of chunks of rows, their weights, and the positions of their columns."""
    items = problem.items
    priors = problem.populations.log_prior(parameters.structural)
    n_classes = items.cell_of.shape[1]
    for chunk in class_chunks(
        problem.data, items.success(scores.cells), priors, chunk_cells=max(65_536, ROWS_AT_ONCE * n_classes)
    ):
        block = chunk.block
        cells = np.concatenate([np.arange(items.first_cell[j], items.first_cell[j + 1]) for j in block.columns])
        owner = np.repeat(np.arange(block.columns.size), np.diff(items.first_cell)[block.columns])
        member = np.zeros((n_classes, cells.size))
        position = np.full(items.n_cells, -1)
        position[cells] = np.arange(cells.size)
        for j in block.columns:
            member[np.arange(n_classes), position[items.cell_of[j]]] = 1.0
        held = chunk.posterior.T @ member
        fitted = scores.cells[cells]
        if chunk.observed is not None:
            fitted = fitted * chunk.observed[:, owner]
        residual = chunk.right[:, owner] - fitted
        own = np.flatnonzero((scores.weight[cells] != 0).any(axis=0))
        by_item = (held * residual) @ scores.weight[np.ix_(cells, own)]
        by_structure = chunk.posterior.T @ scores.structural[block.group]
        at = np.concatenate([own, items.n_parameters + np.arange(by_structure.shape[1])])
        yield np.hstack([by_item, by_structure]), block.weights[chunk.rows], at


def observed_information(problem: Problem, parameters: Parameters, expected: ClassExpectation) -> FloatArray:
    """Return minus the second derivative of the marginal log-likelihood; exact, costs O(N J^2 L)."""
    items = problem.items
    scores = Scores.at(problem, parameters)
    out = complete_information(problem, parameters, expected) + score_products(problem, parameters)
    priors = problem.populations.log_prior(parameters.structural)
    n_items, n_classes = items.cell_of.shape
    success = items.success(scores.cells)
    products = np.zeros((n_classes, n_items, n_items))
    residuals = np.zeros((len(priors), n_items, n_classes))
    for chunk in class_chunks(problem.data, success, priors, chunk_cells=max(65_536, ROWS_AT_ONCE * n_classes)):
        block = chunk.block
        weights = block.weights[chunk.rows]
        at = np.ix_(block.columns, block.columns)
        right = chunk.right
        for c in range(n_classes):
            mass = chunk.posterior[c] * weights
            p = success[block.columns, c]
            difference = right - p if chunk.observed is None else right - chunk.observed * p
            weighted = difference * mass[:, None]
            products[c][at] += difference.T @ weighted
            residuals[block.group, block.columns, c] += weighted.sum(axis=0)
    n_own = items.n_parameters
    for c in range(n_classes):
        weight = scores.weight[items.cell_of[:, c]]
        out[:n_own, :n_own] -= weight.T @ products[c] @ weight
    for g, structural in enumerate(scores.structural):
        part = slice(n_own, out.shape[0])
        cross = np.zeros((n_own, structural.shape[1]))
        for c in range(n_classes):
            cross += np.multiply.outer(scores.weight[items.cell_of[:, c]].T @ residuals[g, :, c], structural[c])
        out[:n_own, part] -= cross
        out[part, :n_own] -= cross.T
        out[part, part] -= (structural.T * expected.class_counts[g]) @ structural
    return (out + out.T) / 2.0


def natural_jacobian(problem: Problem, parameters: Parameters) -> FloatArray:
    """Return the diagonal of d natural / d flat: P (1 - P) for a partition's probability, 1 for the others."""
    out = np.ones(problem.items.n_parameters + problem.populations.n_parameters)
    for kind in problem.items.kinds:
        if not kind.link:
            p = parameters.items[kind.parameters]
            out[kind.parameters] = p * (1.0 - p)
    return out


def information_covariance(
    problem: Problem, parameters: Parameters, expected: ClassExpectation, on_bound: BoolArray, method: str
) -> tuple[FloatArray | None, str]:
    """Return the covariance of all parameters in their natural scale, nan for those on a bound; or None and why.

    Parameters
    ----------
    problem, parameters, expected
        The maximum.
    on_bound : (p,) bool array
        Held fixed.
    method : {"oakes", "crossprod", "sandwich", "crossprod-items"}
        Observed information with the structural part; score cross-products with it; the sandwich of both; cross-products of the
        item parameters alone, the class sizes taken as known (R GDINA's SE.type = 2).
    """
    free = ~on_bound
    n_items = problem.items.n_parameters
    if method == "crossprod-items":
        free = free & (np.arange(free.size) < n_items)
    at = np.ix_(free, free)
    natural = natural_jacobian(problem, parameters)
    products = score_products(problem, parameters)[at] if method != "oakes" else None
    if method in ("oakes", "sandwich"):
        inverse, condition = invert_information(observed_information(problem, parameters, expected)[at])
    else:
        assert products is not None
        inverse, condition = invert_information(products)
    if inverse is None:
        return None, (
            f"The information is singular or not positive definite (condition number {condition:.3g}), so standard errors do not "
            "exist: the data do not hold all parameters apart. Use a smaller model, more respondents, or a bootstrap."
        )
    if method == "sandwich":
        assert products is not None
        inverse = inverse @ products @ inverse
    covariance = np.full((free.size, free.size), np.nan)
    covariance[at] = inverse * np.multiply.outer(natural[free], natural[free])
    return covariance, ""
