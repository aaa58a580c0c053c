"""Stepwise Wald validation of a Q-matrix, as plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from psychoedu._typing import CodeArray, FloatArray, IntArray
from psychoedu.cdm.profiles import ProfileArray, all_profiles, reduced_index
from psychoedu.cdm.wald import WaldTest, wald_test

MAX_ATTRIBUTES = 8
_BLOCK_ROWS = 8192
_FLOOR = 1e-10


@dataclass(frozen=True, eq=False)
class StepwiseChoice:
    """The q-vector of one item, its steps, and why there is none."""

    q_vector: ProfileArray | None
    steps: tuple[str, ...]
    reason: str


@dataclass(frozen=True, eq=False)
class _Cross:
    """Cross-products of one item's class-level scores with themselves and with the other items' scores."""

    right_right: FloatArray  # (L, L) over respondents with the item right
    wrong_wrong: FloatArray  # (L, L)
    right_other: FloatArray  # (L, p)
    wrong_other: FloatArray  # (L, p)
    other: FloatArray  # (p, p)


def wald_stepwise(
    item: int,
    scored: CodeArray,
    posterior: FloatArray,
    weights: FloatArray | None,
    alpha: ProfileArray,
    probabilities: Sequence[FloatArray],
    item_groups: Sequence[IntArray],
    proportion: FloatArray,
    *,
    cut: float = 0.95,
    alpha_level: float = 0.05,
) -> StepwiseChoice:
    """Choose an item's q-vector by adding and removing attributes with Wald tests.

    Parameters
    ----------
    item : int
        Position of the item.
    scored, posterior, weights
        Responses (N, J), profile posterior (N, L) and weights (N,) or None of the fitted respondents.
    alpha : ndarray, (L, K)
        All profiles.
    probabilities, item_groups : sequences of J arrays
        G-DINA success probabilities by reduced profile, and what each full profile is for the item.
    proportion : ndarray, (2^K - 1,)
        PVAF of the item's q-vectors.
    cut : float, default 0.95
        A q-vector with this PVAF is not added to.
    alpha_level : float, default 0.05

    Returns
    -------
    StepwiseChoice

    Notes
    -----
    Start: the attribute with the largest PVAF. Each step fits, for every other attribute, the q-vector with it added, from the
    expected counts of the given fit, and tests that P does not depend on an attribute (2^(K'-1) contrasts). Among attributes
    with p < alpha_level the one whose q-vector has the largest PVAF is added; attributes in it with p > alpha_level are removed.
    It ends when the PVAF reaches the cut, nothing is to be added, or after K - 1 steps.

    The covariance is the inverse of the cross-products of all items' scores with the item's own replaced; only its block of the
    item is needed, so the other items' part is projected out. Profile probabilities are held known, as R's GDINA does.

    References
    ----------
    Ma, W., & de la Torre, J. (2020). An empirical Q-matrix validation method for the sequential generalized DINA model.
    *British Journal of Mathematical and Statistical Psychology, 73*, 142-163.
    """
    n_attributes = alpha.shape[1]
    if not np.isfinite(proportion).all():
        return StepwiseChoice(None, (), "the item does not tell profiles apart")
    if n_attributes > MAX_ATTRIBUTES:
        return StepwiseChoice(None, (), f"{n_attributes} attributes; stepwise Wald is limited to {MAX_ATTRIBUTES}")
    cross = _cross_products(item, scored, posterior, weights, probabilities, item_groups)
    own = posterior if weights is None else posterior * weights[:, None]
    right = own[scored[:, item] == 1].sum(axis=0)
    count = own[scored[:, item] >= 0].sum(axis=0)
    place = {tuple(row): index for index, row in enumerate(alpha[1:].tolist())}
    current = [int(np.argmax(proportion[:n_attributes]))]
    steps = [f"start {_vector_text(current, n_attributes)}"]
    for _ in range(n_attributes - 1):
        if _pvaf_of(current, n_attributes, proportion, place) >= cut:
            break
        found = []
        for added in sorted(set(range(n_attributes)) - set(current)):
            candidate = sorted([*current, added])
            tests = _attribute_tests(candidate, alpha, right, count, cross)
            p = {attribute: test.p_value for attribute, test in zip(candidate, tests, strict=True)}
            if any(test.reason for test in tests):
                return StepwiseChoice(None, tuple(steps), next(test.reason for test in tests if test.reason))
            if p[added] < alpha_level:
                found.append((_pvaf_of(candidate, n_attributes, proportion, place), added, p))
        if not found:
            steps.append("nothing to add")
            break
        _, added, p = max(found, key=lambda entry: (entry[0], -entry[1]))
        removed = [attribute for attribute in current if p[attribute] > alpha_level]
        current = sorted(({*current} | {added}) - {*removed})
        text = f"add {added + 1} (p = {p[added]:.3g})"
        text += "".join(f", remove {attribute + 1} (p = {p[attribute]:.3g})" for attribute in removed)
        steps.append(f"{text}: {_vector_text(current, n_attributes)}")
    chosen = np.zeros(n_attributes, dtype=np.int8)
    chosen[current] = 1
    return StepwiseChoice(chosen, tuple(steps), "")


def attribute_restrictions(n_attributes: int) -> list[FloatArray]:
    """Return, for each of an item's attributes, R such that R P = 0 if success does not depend on it.

    Examples
    --------
    >>> attribute_restrictions(2)[0]
    array([[ 1., -1.,  0.,  0.],
           [ 0.,  0.,  1., -1.]])
    """
    own = all_profiles(n_attributes)
    place = {tuple(row): index for index, row in enumerate(own.tolist())}
    matrices = []
    for attribute in range(n_attributes):
        without = own[own[:, attribute] == 0]
        with_it = without.copy()
        with_it[:, attribute] = 1
        matrix = np.zeros((len(without), len(own)))
        rows = np.arange(len(without))
        matrix[rows, [place[tuple(row)] for row in without.tolist()]] = 1.0
        matrix[rows, [place[tuple(row)] for row in with_it.tolist()]] = -1.0
        matrices.append(matrix)
    return matrices


def _attribute_tests(
    candidate: list[int], alpha: ProfileArray, right: FloatArray, count: FloatArray, cross: _Cross
) -> list[WaldTest]:
    q_vector = np.zeros(alpha.shape[1], dtype=np.int8)
    q_vector[candidate] = 1
    group = reduced_index(q_vector, alpha)
    merge = np.zeros((2 ** len(candidate), len(alpha)))
    merge[group, np.arange(len(alpha))] = 1.0
    total = merge @ count
    probability = np.asarray(np.clip((merge @ right) / np.maximum(total, _FLOOR), _FLOOR, 1.0 - _FLOOR), dtype=np.float64)
    up, down = merge / probability[:, None], merge / (1.0 - probability)[:, None]
    own = up @ cross.right_right @ up.T + down @ cross.wrong_wrong @ down.T
    with_others = up @ cross.right_other - down @ cross.wrong_other
    information = own - with_others @ np.linalg.pinv(cross.other, rcond=1e-12, hermitian=True) @ with_others.T
    covariance = np.asarray(np.linalg.pinv(information, hermitian=True), dtype=np.float64)
    return [wald_test(probability, covariance, matrix) for matrix in attribute_restrictions(len(candidate))]


def _cross_products(
    item: int,
    scored: CodeArray,
    posterior: FloatArray,
    weights: FloatArray | None,
    probabilities: Sequence[FloatArray],
    item_groups: Sequence[IntArray],
) -> _Cross:
    others = [j for j in range(scored.shape[1]) if j != item]
    merges = []
    for j in others:
        merge = np.zeros((len(item_groups[j]), len(probabilities[j])))
        merge[np.arange(len(merge)), item_groups[j]] = 1.0
        merges.append(merge)
    n_classes, n_other = posterior.shape[1], sum(merge.shape[1] for merge in merges)
    right_right, wrong_wrong = np.zeros((n_classes, n_classes)), np.zeros((n_classes, n_classes))
    right_other, wrong_other = np.zeros((n_classes, n_other)), np.zeros((n_classes, n_other))
    other = np.zeros((n_other, n_other))
    for start in range(0, len(scored), _BLOCK_ROWS):
        rows = slice(start, start + _BLOCK_ROWS)
        block, post = scored[rows], posterior[rows]
        weight = np.ones(len(block)) if weights is None else weights[rows]
        scores = np.concatenate(
            [_scores(block[:, j], post @ merge, probabilities[j]) for j, merge in zip(others, merges, strict=True)], axis=1
        )
        is_right, is_wrong = block[:, item] == 1, block[:, item] == 0
        for where, square, mixed in ((is_right, right_right, right_other), (is_wrong, wrong_wrong, wrong_other)):
            own = post[where] * weight[where, None]
            square += own.T @ post[where]
            mixed += own.T @ scores[where]
        other += (scores * weight[:, None]).T @ scores
    return _Cross(right_right, wrong_wrong, right_other, wrong_other, other)


def _scores(codes: CodeArray, group_posterior: FloatArray, probability: FloatArray) -> FloatArray:
    """Return the score of each respondent in an item's probabilities, (n, 2^K_j); 0 without a response."""
    p = np.clip(probability, _FLOOR, 1.0 - _FLOOR)
    right, wrong = (codes == 1)[:, None], (codes == 0)[:, None]
    scores: FloatArray = group_posterior * (right / p - wrong / (1.0 - p))
    return scores


def _pvaf_of(attributes: list[int], n_attributes: int, proportion: FloatArray, place: dict[tuple[int, ...], int]) -> float:
    key = tuple(int(k in attributes) for k in range(n_attributes))
    return float(proportion[place[key]])


def _vector_text(attributes: list[int], n_attributes: int) -> str:
    return "".join("1" if k in attributes else "0" for k in range(n_attributes))
