"""Gradient, observed information and cross-products of scores against finite differences of the marginal log-likelihood."""

from __future__ import annotations

import numpy as np
import pytest
from cdm_designs import MODELS, Q3, brute_force, holes, problem, simulate, some_point

from psychoedu.cdm.em import run_em
from psychoedu.cdm.information import (
    complete_information,
    information_covariance,
    natural_jacobian,
    observed_information,
    score_products,
)
from psychoedu.irt.blocks import Block

N = 90
MIXED = ("DINA", "G-DINA", "G-DINA", "LLM", "DINO", "ACDM", "RRUM", "LLM", "ACDM", "G-DINA")


def data(kind):
    scored, _ = simulate(N, Q3, 0.2, 0.2, seed=4, rule="share")
    if kind == "forms":
        scored[:40, :3] = -1
        scored[40:, 8:] = -1
    return holes(scored, 0.25) if kind == "ragged" else scored


def cases():
    groups = np.arange(N) % 2
    weights = np.random.default_rng(5).integers(1, 4, N).astype(float)
    out = {f"{model} saturated": ("complete", {"models": model}) for model in MODELS}
    out |= {f"{model} higher-order ragged": ("ragged", {"models": model, "structure": "higher-order"}) for model in MODELS}
    out |= {
        "independent, weights": ("complete", {"structure": "independent", "weights": weights}),
        "mixed, common slope, forms": ("forms", {"models": MIXED, "structure": "higher-order", "higher_order": "common-slope"}),
        "mixed, rasch": ("complete", {"models": MIXED, "structure": "higher-order", "higher_order": "rasch"}),
        "two groups, saturated, ragged": ("ragged", {"models": MIXED, "groups": groups, "weights": weights}),
        "two groups, higher-order": ("forms", {"structure": "higher-order", "groups": groups}),
        "two groups, shared theta": (
            "ragged",
            {"models": MIXED, "structure": "higher-order", "groups": groups, "group_structure": "theta", "n_points": 61},
        ),
        "hierarchy": ("complete", {"models": "DINA", "permitted": np.array([1, 1, 1, 0, 1, 0, 0, 1], dtype=bool)}),
    }
    return out


def flat_differences(f, x, h=1e-5):
    return np.stack([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(x.size)], axis=-1)


def at(p, flat):
    restored = p.restore(flat)
    assert restored is not None
    return restored


@pytest.mark.parametrize("name", cases())
def test_gradient_and_observed_information(name):
    kind, options = cases()[name]
    p = problem(data(kind), Q3, **options)
    point = some_point(p)
    flat = p.flatten(point)
    gradient = p.gradient(point, p.expect(point))
    numeric = flat_differences(lambda x: p.expect(at(p, x)).log_likelihood, flat)
    np.testing.assert_allclose(gradient, numeric, atol=2e-5)
    information = observed_information(p, point, p.expect(point))
    hessian = flat_differences(lambda x: p.gradient(at(p, x), p.expect(at(p, x))), flat)
    np.testing.assert_allclose(information, -hessian, rtol=1e-6, atol=2e-4)
    np.testing.assert_array_equal(information, information.T)


@pytest.mark.parametrize("model", ["G-DINA", "ACDM", "RRUM", "LLM"])
def test_complete_information_is_that_of_the_expected_counts(model):
    p = problem(data("ragged"), Q3, model, "higher-order")
    point = some_point(p)
    expected = p.expect(point)

    def gradient(flat):  # of the expected complete-data log-likelihood: counts fixed at the point
        return p.gradient(at(p, flat), expected)

    hessian = flat_differences(gradient, p.flatten(point))
    np.testing.assert_allclose(complete_information(p, point, expected), -hessian, rtol=1e-6, atol=2e-4)


@pytest.mark.parametrize(
    "name", ["RRUM higher-order ragged", "two groups, shared theta", "independent, weights", "two groups, higher-order"]
)
def test_score_products_are_sums_over_respondents(name):
    kind, options = cases()[name]
    scored = data(kind)
    p = problem(scored, Q3, **options)
    point = some_point(p)
    flat = p.flatten(point)
    groups, weights = options.get("groups"), options.get("weights")
    weights = np.ones(N) if weights is None else weights
    expected = np.zeros((flat.size, flat.size))

    def marginal(x):
        there = at(p, x)
        success = p.items.success(p.items.cells(there.items))
        priors = np.exp(p.populations.log_prior(there.structural))
        own = np.zeros(N, dtype=int) if groups is None else groups
        density = priors[own]
        for j in range(10):
            answer = scored[:, j]
            density = density * np.where(answer[:, None] == 1, success[j], np.where(answer[:, None] == 0, 1 - success[j], 1.0))
        return np.log(density.sum(axis=1))

    scores = flat_differences(marginal, flat)
    expected = (scores.T * weights) @ scores
    np.testing.assert_allclose(score_products(p, point), expected, atol=1e-4)


def test_natural_scale():
    p = problem(data("complete"), Q3, MIXED, "higher-order")
    point = some_point(p)

    def natural(flat):
        there = at(p, flat)
        return np.concatenate([there.items, there.structural])

    numeric = flat_differences(natural, p.flatten(point))
    np.testing.assert_allclose(np.diag(natural_jacobian(p, point)), numeric, atol=1e-8)


@pytest.fixture(scope="module")
def fitted():
    scored, _ = simulate(800, Q3, 0.2, 0.2, seed=8, rule="share")
    p = problem(holes(scored, 0.1), Q3, "DINA", "higher-order", higher_order="common-slope")
    return p, run_em(p, some_point(p), 1e-12, 5000)


def test_covariances(fitted):
    p, solution = fitted
    point, free = solution.parameters, np.zeros(p.flatten(solution.parameters).size, dtype=bool)
    information = observed_information(p, point, solution.expected)
    natural = np.diag(natural_jacobian(p, point))
    inverse = natural @ np.linalg.inv(information) @ natural
    products = natural @ np.linalg.inv(score_products(p, point)) @ natural
    for method, expected in (("oakes", inverse), ("crossprod", products)):
        covariance, reason = information_covariance(p, point, solution.expected, free, method)
        np.testing.assert_allclose(covariance, expected, rtol=1e-6, atol=1e-12)
        assert reason == ""
    meat = score_products(p, point)
    bread = np.linalg.inv(information)
    sandwich, _ = information_covariance(p, point, solution.expected, free, "sandwich")
    np.testing.assert_allclose(sandwich, natural @ bread @ meat @ bread @ natural, rtol=1e-6, atol=1e-12)
    k = p.items.n_parameters
    items, _ = information_covariance(p, point, solution.expected, free, "crossprod-items")
    np.testing.assert_allclose(
        items[:k, :k], natural[:k, :k] @ np.linalg.inv(meat[:k, :k]) @ natural[:k, :k], rtol=1e-6, atol=1e-12
    )
    assert np.isnan(items[k:]).all()


def test_parameters_on_a_bound_are_held(fitted):
    p, solution = fitted
    held = np.zeros(p.flatten(solution.parameters).size, dtype=bool)
    held[[0, 5]] = True
    covariance, _ = information_covariance(p, solution.parameters, solution.expected, held, "oakes")
    assert np.isnan(covariance[held]).all()
    information = observed_information(p, solution.parameters, solution.expected)[np.ix_(~held, ~held)]
    natural = np.diag(natural_jacobian(p, solution.parameters)[~held])
    np.testing.assert_allclose(
        covariance[np.ix_(~held, ~held)], natural @ np.linalg.inv(information) @ natural, rtol=1e-6, atol=1e-12
    )


def test_blocks_are_of_all_kinds():
    """The cases above reach complete, masked and per-form blocks."""
    assert isinstance(problem(data("complete"), Q3).data.blocks[0], Block)
    assert problem(data("ragged"), Q3).data.blocks[-1].observed is not None
    forms = problem(data("forms"), Q3).data.blocks
    assert len(forms) == 2
    assert all(block.observed is None for block in forms)
    assert brute_force(data("forms")[:2], np.full((10, 8), 0.5), np.full((1, 8), 1 / 8))["log_likelihood"] < 0
