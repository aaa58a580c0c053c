"""Structural models of one population: normalisation, scores and information against differences, and their M-steps."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import expit

from psychoedu.cdm.profiles import all_profiles
from psychoedu.cdm.structures import HigherOrder, Independent, Saturated

ALPHA = all_profiles(3)
COUNTS = np.array([70.0, 30, 22, 41, 18, 35, 9, 75])
PERMITTED = np.array([1, 1, 1, 0, 1, 0, 1, 1], dtype=bool)
CASES = {
    "saturated": (Saturated(np.ones(8, dtype=bool)), np.linspace(-0.8, 0.9, 7)),
    "hierarchy": (Saturated(PERMITTED), np.array([0.3, -0.4, 0.2, -1.0, 0.5])),
    "independent": (Independent(ALPHA), np.array([0.3, -0.7, 1.1])),
    "2pl": (HigherOrder(ALPHA, "2pl", 25), np.array([0.8, 1.7, 2.5, 0.3, -0.6, 1.0])),
    "common-slope": (HigherOrder(ALPHA, "common-slope", 25), np.array([1.4, 0.3, -0.6, 1.0])),
    "rasch": (HigherOrder(ALPHA, "rasch", 61), np.array([0.3, -0.6, 1.0])),
}


def differences(f, x, h=1e-5):
    return np.stack([(np.asarray(f(x + h * e)) - np.asarray(f(x - h * e))) / (2 * h) for e in np.eye(x.size)], axis=-1)


@pytest.mark.parametrize("name", CASES)
def test_probabilities_sum_to_one(name):
    structure, parameters = CASES[name]
    assert np.exp(structure.log_prior(parameters)).sum() == pytest.approx(1.0, rel=1e-12)
    assert structure.n_parameters == parameters.size == structure.start().size


@pytest.mark.parametrize("name", CASES)
def test_scores_and_information_equal_differences(name):
    structure, parameters = CASES[name]
    counts = np.where(PERMITTED, COUNTS, 0.0) if name == "hierarchy" else COUNTS
    alive = counts > 0
    numeric = differences(lambda x: structure.log_prior(x)[alive], parameters)
    np.testing.assert_allclose(structure.scores(parameters)[alive], numeric, atol=1e-8)
    hessian = differences(lambda x: counts[alive] @ structure.scores(x)[alive], parameters)
    np.testing.assert_allclose(structure.information(parameters, counts), -hessian, atol=1e-5)


def test_higher_order_equals_adaptive_integration():
    slopes, intercepts = np.array([0.8, 1.7, 2.5]), np.array([0.3, -0.6, 1.0])

    def integrand(theta, row):
        p = expit(slopes * theta + intercepts)
        return np.prod(np.where(row == 1, p, 1 - p)) * np.exp(-0.5 * theta**2) / np.sqrt(2 * np.pi)

    expected = [quad(integrand, -10, 10, args=(row,), epsabs=1e-12)[0] for row in ALPHA]
    structure = HigherOrder(ALPHA, "2pl", 61)
    found = np.exp(structure.log_prior(np.concatenate([slopes, intercepts])))
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_independent_is_a_product_of_prevalences():
    structure, parameters = CASES["independent"]
    prevalence = expit(parameters)
    expected = np.prod(np.where(ALPHA == 1, prevalence, 1 - prevalence), axis=1)
    np.testing.assert_allclose(np.exp(structure.log_prior(parameters)), expected, rtol=1e-12)
    step = structure.step(parameters, COUNTS)
    np.testing.assert_allclose(expit(step), COUNTS @ ALPHA / COUNTS.sum(), rtol=1e-12)


def test_saturated_step_is_the_share():
    structure, parameters = CASES["saturated"]
    np.testing.assert_allclose(np.exp(structure.log_prior(structure.step(parameters, COUNTS))), COUNTS / COUNTS.sum(), rtol=1e-12)


def test_a_hierarchy_gives_broken_profiles_nothing():
    structure, parameters = CASES["hierarchy"]
    prior = np.exp(structure.log_prior(parameters))
    assert (prior[~PERMITTED] == 0).all()
    assert (prior[PERMITTED] > 0).all()


def test_a_class_without_members_keeps_a_finite_probability():
    structure, parameters = CASES["saturated"]
    logs = structure.log_prior(structure.step(parameters, np.array([0.0, 0, 0, 0, 0, 0, 0, 9])))
    assert np.isfinite(logs).all()
    np.testing.assert_allclose(np.exp(logs), [0, 0, 0, 0, 0, 0, 0, 1], atol=1e-12)


@pytest.mark.parametrize("form", ["2pl", "common-slope", "rasch"])
def test_higher_order_steps_reach_scipys_maximum(form):
    structure, present = CASES[form]
    low, high = structure.limits()
    bounds = list(zip(low, high, strict=True))
    best = minimize(
        lambda x: -COUNTS @ structure.log_prior(x), structure.start(), method="L-BFGS-B", bounds=bounds,
        options={"ftol": 1e-15, "gtol": 1e-9},
    )  # fmt: skip
    values = [COUNTS @ structure.log_prior(present)]
    for _ in range(40):
        present = structure.step(present, COUNTS)
        values.append(COUNTS @ structure.log_prior(present))
    assert (np.diff(values) > -1e-9).all()
    assert values[-1] == pytest.approx(-best.fun, abs=1e-6)


def test_bounds_hold_a_slope_and_the_rest_is_optimal():
    counts = np.array([200.0, 1, 1, 1, 1, 1, 1, 200])  # all or nothing: slopes as steep as they may be
    structure = HigherOrder(ALPHA, "2pl", 25)
    present = structure.start()
    for _ in range(60):
        present = structure.step(present, counts)
    assert structure.on_bound(present)[:3].all()
    np.testing.assert_allclose(present[:3], 5.0)
    gradient = counts @ structure.scores(present)
    assert (gradient[:3] > 0).all()
    assert structure.pushed_out(present, gradient)[:3].all()
    np.testing.assert_allclose(gradient[3:], 0.0, atol=1e-3)
    np.testing.assert_allclose(structure.clip(present + 10)[:3], 5.0)


@pytest.mark.parametrize("form", ["2pl", "common-slope", "rasch"])
def test_ability_given_the_class_rises_with_mastery(form):
    structure, parameters = CASES[form]
    mean = structure.node_posterior(parameters) @ structure.nodes()[0]
    for one, row in enumerate(ALPHA):
        for two, other in enumerate(ALPHA):
            if (row <= other).all() and one != two:
                assert mean[one] < mean[two]
