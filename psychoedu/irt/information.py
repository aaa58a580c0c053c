"""Information of the item and population parameters: complete, missing, observed.

Louis (1982, JRSS B 44, 226-233, equation 3.2'): observed information = complete information - missing information, the missing
part being the posterior covariance of the complete-data score. For the 2PL that score is (x_ij - P_j(t)) (t, 1) for item j and
a function h(t) of ability for the population, so that every posterior covariance is made of posterior means of P, t P and h, and
the whole sum over respondents of a handful of matrix products. The result is exact, and equals Oakes's (1999) identity.

The same sum over a few dozen *representative* respondents, with the responses replaced by what the model expects of someone with
that weighted score, gives nearly the same matrix for next to nothing. The estimation uses it as its Newton matrix.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from psychoedu._typing import FloatArray, IntArray
from psychoedu.irt.blocks import Block, ResponseBlocks
from psychoedu.irt.likelihood import ItemCurves, posterior_chunks
from psychoedu.irt.population import Populations

N_REPRESENTATIVES = 48
"""Respondents of a block that stand for all when the Newton matrix is made."""
ROW_OVERHEAD = 10_000
"""What taking one row on its own costs, in products of a pair of items."""
SORTED_SAMPLE = 4096
"""Representatives are the quantiles of the weighted score among at most so many rows."""


def complete_information(
    curves: ItemCurves, counts: FloatArray, populations: Populations, group_weight: FloatArray
) -> FloatArray:
    """Complete-data information of the full parameter vector (a, d, means, log SDs), a dense matrix."""
    n_items = curves.discrimination.size
    n_groups = group_weight.size
    full = np.zeros((2 * n_items + 2 * n_groups,) * 2)
    a = np.arange(n_items)
    d = a + n_items
    full[a, a], full[a, d], full[d, d] = item_information(curves, counts)
    full[d, a] = full[a, d]
    for g in range(n_groups):
        at = _population_index(n_items, n_groups, g)
        full[np.ix_(at, at)] = populations.complete_information(g, float(group_weight[g]))
    return full


def item_information(curves: ItemCurves, counts: FloatArray) -> FloatArray:
    """Complete-data information of each item by (a, a), (a, d) and (d, d), (3, J)."""
    precision = counts * curves.success * (1.0 - curves.success)
    powers = np.column_stack([curves.nodes**2, curves.nodes, np.ones_like(curves.nodes)])
    return np.ascontiguousarray((precision @ powers).T)


def observed_missing_information(data: ResponseBlocks, curves: ItemCurves, populations: Populations) -> FloatArray:
    """Missing information of the full parameter vector from every respondent: exact, O(N J^2)."""
    total = np.zeros((2 * data.n_items + 2 * data.n_groups,) * 2)
    for chunk in posterior_chunks(data, curves, populations.log_weights, chunk_cells=65_536):
        block = chunk.block
        posterior = chunk.density / chunk.total
        part = _missing_information(
            posterior,
            block.weights[chunk.rows],
            curves.success[block.columns],
            curves.nodes,
            populations.scores[block.group],
            chunk.right.T,
            None if chunk.observed is None else chunk.observed.T,
        )
        at = _block_index(block, data)
        total[np.ix_(at, at)] += part
    return total


def representative_missing_information(
    data: ResponseBlocks, curves: ItemCurves, populations: Populations, n_representatives: int = N_REPRESENTATIVES
) -> FloatArray:
    """Missing information of the full parameter vector from a few respondents a block; exact for blocks as small as that."""
    total = np.zeros((2 * data.n_items + 2 * data.n_groups,) * 2)
    for block in data.blocks:
        at = _block_index(block, data)
        part = _representative_part(block, curves, populations, n_representatives)
        total[np.ix_(at, at)] += part
    return total


def _block_index(block: Block, data: ResponseBlocks) -> IntArray:
    population = _population_index(data.n_items, data.n_groups, block.group)
    return np.concatenate([block.columns, block.columns + data.n_items, population])


def _population_index(n_items: int, n_groups: int, group: int) -> IntArray:
    return np.array([2 * n_items + group, 2 * n_items + n_groups + group])


def _representative_part(block: Block, curves: ItemCurves, populations: Populations, n_representatives: int) -> FloatArray:
    slopes = curves.discrimination[block.columns]
    success = curves.success[block.columns]
    log_failure = curves.log_failure[block.columns]
    few = block.n_rows <= n_representatives
    if few:
        chosen = np.arange(block.n_rows)
        weights = block.weights
    else:
        sample = np.arange(0, block.n_rows, -(-block.n_rows // SORTED_SAMPLE))
        order = np.argsort(block.picked_rows(sample) @ slopes)
        ranks = ((np.arange(n_representatives) + 0.5) / n_representatives * sample.size).astype(np.int64)
        chosen = sample[order[ranks]]
        weights = np.full(n_representatives, block.weights.sum() / n_representatives)
    right = block.picked_rows(chosen)
    observed = block.picked_observed(chosen)
    score = right @ slopes
    log_density = np.multiply.outer(curves.nodes, score) + populations.log_weights[block.group][:, None]
    log_density += log_failure.sum(axis=0)[:, None] if observed is None else log_failure.T @ observed.T
    posterior = np.exp(log_density - log_density.max(axis=0))
    posterior /= posterior.sum(axis=0)
    mask = None if observed is None else observed.T
    scores = populations.scores[block.group]
    if few:
        return _missing_information(posterior, weights, success, curves.nodes, scores, right.T, mask)
    # The ability at which the expected weighted score is the observed one: sum_j a_j P_j(t) rises with t whatever the signs.
    if observed is None:
        matching = np.interp(score, slopes @ success, curves.nodes)
    else:
        expected_scores = (observed * slopes) @ success
        matching = np.array([np.interp(s, row, curves.nodes) for s, row in zip(score, expected_scores, strict=True)])
    expected = expit(np.multiply.outer(slopes, matching) + curves.intercept[block.columns][:, None])
    if mask is not None:
        expected *= mask
    part = _missing_information(posterior, weights, success, curves.nodes, scores, expected, mask)
    # Var(x | weighted score): diagonal, less what holds the score at its value.
    spread = expected * (1.0 - expected)
    mean = curves.nodes @ posterior
    posterior_variance = weights * np.maximum(curves.nodes**2 @ posterior - mean**2, 0.0)
    n_columns = block.columns.size
    diagonal = np.arange(n_columns)
    part[diagonal, diagonal] += spread @ posterior_variance
    held = spread * slopes[:, None]
    norm = np.maximum(slopes @ held, np.finfo(np.float64).tiny)
    part[:n_columns, :n_columns] -= (held * (posterior_variance / norm)) @ held.T
    return part


def _missing_information(
    posterior: FloatArray,
    weights: FloatArray,
    success: FloatArray,
    nodes: FloatArray,
    scores: FloatArray,
    right: FloatArray,
    mask: FloatArray | None,
) -> FloatArray:
    """Sum over rows of w Cov(score): posterior (Q, B), weights (B,), success (J, Q), scores (2, Q), right and mask (J, B)."""
    n_items = success.shape[0]
    weighted = success * nodes
    mean = nodes @ posterior
    variance = weights * np.maximum(nodes**2 @ posterior - mean**2, 0.0)
    p_mean = success @ posterior
    tp_mean = weighted @ posterior
    t_tp = (weighted * nodes) @ posterior - mean * tp_mean
    t_p = tp_mean - mean * p_mean
    h_mean = scores @ posterior
    h_t = ((scores * nodes) @ posterior - h_mean * mean) * weights
    if mask is None:
        at_node = posterior @ weights
        pp = (success * at_node) @ success.T
        tpp = (weighted * at_node) @ success.T
        tptp = (weighted * at_node) @ weighted.T
        h_by_item = scores * at_node
        h_p, h_tp = h_by_item @ success.T, h_by_item @ weighted.T
    else:
        p_mean, tp_mean, t_tp, t_p = p_mean * mask, tp_mean * mask, t_tp * mask, t_p * mask
        pp, tpp, tptp = _masked_products(posterior * weights, success, nodes, mask)
        by_item = (mask * weights) @ posterior.T
        h_p, h_tp = scores @ (by_item * success).T, scores @ (by_item * weighted).T
    wp, wtp, wright = p_mean * weights, tp_mean * weights, right * weights
    size = 2 * n_items + 2
    out = np.empty((size, size))
    a, d, h = slice(0, n_items), slice(n_items, 2 * n_items), slice(2 * n_items, size)
    cross = wright @ t_tp.T
    out[a, a] = (right * variance) @ right.T - cross - cross.T + tptp - wtp @ tp_mean.T
    out[a, d] = tpp - wtp @ p_mean.T - wright @ t_p.T
    out[d, d] = pp - wp @ p_mean.T
    out[h, h] = (scores * (posterior @ weights)) @ scores.T - (h_mean * weights) @ h_mean.T
    out[h, d] = h_mean @ wp.T - h_p
    out[h, a] = h_t @ right.T - h_tp + h_mean @ wtp.T
    out[d, a] = out[a, d].T
    out[d, h] = out[h, d].T
    out[a, h] = out[h, a].T
    return out


def _masked_products(
    mass: FloatArray, success: FloatArray, nodes: FloatArray, mask: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return sums over rows and nodes of mass t^m P_j P_k for items j and k that the row answered, m = 0, 1, 2.

    Rows that answered few of the items are taken one by one, on their own items; else nodes one by one, on all rows.
    """
    n_items = success.shape[0]
    pp, tpp, tptp = np.zeros((n_items, n_items)), np.zeros((n_items, n_items)), np.zeros((n_items, n_items))
    answered = mask.sum(axis=0)
    if float((answered**2).sum()) + ROW_OVERHEAD * answered.size < mask.size * n_items:
        for i in np.flatnonzero(answered):
            own = np.flatnonzero(mask[:, i])
            p = success[own]
            plain = p * mass[:, i]
            at = np.ix_(own, own)
            pp[at] += plain @ p.T
            tpp[at] += (plain * nodes) @ p.T
            tptp[at] += (plain * nodes**2) @ p.T
        return pp, tpp, tptp
    for q, node in enumerate(nodes):
        both = (mask * mass[q]) @ mask.T
        both *= np.multiply.outer(success[:, q], success[:, q])
        pp += both
        tpp += node * both
        tptp += node**2 * both
    return pp, tpp, tptp


def score_cross_products(data: ResponseBlocks, curves: ItemCurves, populations: Populations) -> FloatArray:
    """Sum over respondents of w s s', s being the observed-data score of the full parameter vector."""
    total = np.zeros((2 * data.n_items + 2 * data.n_groups,) * 2)
    for chunk in posterior_chunks(data, curves, populations.log_weights, chunk_cells=65_536):
        block = chunk.block
        posterior = chunk.density / chunk.total
        success = curves.success[block.columns]
        p_mean = success @ posterior
        tp_mean = (success * curves.nodes) @ posterior
        if chunk.observed is not None:
            p_mean, tp_mean = p_mean * chunk.observed.T, tp_mean * chunk.observed.T
        right = chunk.right.T
        score = np.vstack([right * chunk.mean - tp_mean, right - p_mean, populations.scores[block.group] @ posterior])
        at = _block_index(block, data)
        total[np.ix_(at, at)] += (score * block.weights[chunk.rows]) @ score.T
    return total
