"""The E-step against a likelihood written out cell by cell, and its gradient and information against differences."""

from __future__ import annotations

import numpy as np
import pytest
from designs import simulate
from scipy.optimize import approx_fprime

from psychoedu.irt.blocks import arrange
from psychoedu.irt.information import representative_missing_information
from psychoedu.irt.likelihood import ItemCurves, expectation
from psychoedu.irt.objective import Objective
from psychoedu.irt.parameters import parameter_map
from psychoedu.irt.population import Populations
from psychoedu.irt.priors import Priors
from psychoedu.irt.quadrature import equally_spaced, normal_log_weights

NODES = equally_spaced()
CLOSED_FORM = 1e-12


def brute_force(scored, a, d, log_weights):
    """Log-likelihood, posterior means and posterior node probabilities, one cell after the other."""
    total, means, posteriors = 0.0, [], []
    for row in scored:
        density = np.exp(log_weights)
        for j, x in enumerate(row):
            p = 1.0 / (1.0 + np.exp(-(a[j] * NODES + d[j])))
            if x == 1:
                density = density * p
            elif x == 0:
                density = density * (1.0 - p)
        total += np.log(density.sum())
        posterior = density / density.sum()
        means.append(posterior @ NODES)
        posteriors.append(posterior)
    return total, np.array(means), np.array(posteriors)


def design(kind, n=60, n_items=7):
    rng = np.random.default_rng(11)
    scored = simulate(n, rng.lognormal(0, 0.3, n_items), rng.normal(size=n_items), seed=3).astype(np.int8)
    if kind == "forms":
        scored[: n // 2, :2] = -1
        scored[n // 2 :, -2:] = -1
    if kind == "holes":
        scored[rng.random(scored.shape) < 0.25] = -1
        scored[4] = -1
    return scored, rng.normal(1.0, 0.4, n_items), rng.normal(size=n_items)


@pytest.mark.parametrize("kind", ["complete", "forms", "holes"])
def test_e_step_equals_the_sum_over_cells(kind):
    scored, a, d = design(kind)
    log_weights = normal_log_weights(NODES)
    log_likelihood, mean, posterior = brute_force(scored, a, d, log_weights)
    result = expectation(arrange(scored), ItemCurves.at(NODES, a, d), log_weights[None])
    assert result.log_likelihood == pytest.approx(log_likelihood, rel=CLOSED_FORM)
    np.testing.assert_allclose(result.right_theta, (scored == 1).T @ mean, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(result.counts, (scored >= 0).T @ posterior, rtol=1e-10, atol=1e-13)
    some = (scored >= 0).any(axis=1)
    np.testing.assert_allclose(result.group_counts[0], posterior[some].sum(axis=0), rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("kind", ["complete", "forms", "holes"])
def test_weights_equal_repeated_rows(kind):
    scored, a, d = design(kind)
    weights = np.random.default_rng(5).integers(0, 4, len(scored))
    curves, log_weights = ItemCurves.at(NODES, a, d), normal_log_weights(NODES)[None]
    weighted = expectation(arrange(scored, weights.astype(float)), curves, log_weights)
    repeated = expectation(arrange(np.repeat(scored, weights, axis=0)), curves, log_weights)
    assert weighted.log_likelihood == pytest.approx(repeated.log_likelihood, rel=CLOSED_FORM)
    np.testing.assert_allclose(weighted.counts, repeated.counts, rtol=1e-10, atol=1e-13)


def test_t4_two_thousand_items_do_not_underflow():
    a, b = np.full(2000, 1.5), np.linspace(-3, 3, 2000)
    scored = (np.arange(2000) % 2 == 0).astype(np.int8)[None]
    result = expectation(arrange(scored), ItemCurves.at(NODES, a, -a * b), normal_log_weights(NODES)[None])
    assert np.isfinite(result.log_likelihood)
    # the largest log-likelihood over theta is -2609.32 (CASES T4): it bounds the marginal one from above
    assert -2609.32 - 20.0 < result.log_likelihood < -2609.31


def test_collapsed_rows_are_counted_once():
    scored = np.repeat(design("complete")[0], 50, axis=0)
    data = arrange(scored)
    assert data.n_rows <= 60
    assert data.group_weight.tolist() == [3000.0]
    np.testing.assert_array_equal(data.total_right, (scored == 1).sum(axis=0))


def objective_for(kind, model="2pl", groups=False, priors=None, n=60):
    scored, a, d = design(kind, n)
    group = (np.arange(len(scored)) % 3 == 0).astype(np.int64) if groups else None
    parameters = parameter_map(model, np.abs(a) + 0.1 if priors else a, d, 2 if groups else 1)
    weight = None if priors is None else priors.weights(np.ones(a.size, dtype=bool), model == "1pl")
    return Objective(arrange(scored, groups=group), parameters, NODES, priors, weight)


CASES = [
    ("complete", "2pl", False, None),
    ("forms", "2pl", True, None),
    ("holes", "2pl", True, None),
    ("complete", "1pl", True, None),
    ("complete", "rasch", True, None),
    ("complete", "2pl", False, Priors()),
    ("holes", "1pl", False, Priors()),
]


@pytest.mark.parametrize(("kind", "model", "groups", "priors"), CASES)
def test_gradient_is_the_derivative(kind, model, groups, priors):
    objective = objective_for(kind, model, groups, priors)
    at = objective.parameters.start()
    if groups:
        at = at + 0.05  # away from mean 0 and SD 1
    gradient = objective.evaluate(at).gradient
    numeric = np.array(
        [
            (objective.evaluate(at + step).objective - objective.evaluate(at - step).objective) / 2e-5
            for step in 1e-5 * np.eye(at.size)
        ]
    )
    np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=2e-6)


@pytest.mark.parametrize(("kind", "model", "groups", "priors"), CASES)
def test_information_is_minus_the_second_derivative_at_the_maximum(kind, model, groups, priors):
    from psychoedu.irt.estimation import maximise

    objective = objective_for(kind, model, groups, priors, n=600)
    fit = maximise(objective, objective.parameters.start(), tolerance=1e-13, smallest_slope=0.01 if priors else -25.0)
    assert fit.converged
    assert not fit.on_bound.any()
    information = objective.complete(fit.at) - objective.missing(fit.at, exact=True)
    numeric = -approx_fprime(fit.at.free, lambda x: objective.evaluate(x).gradient, 1e-6)
    np.testing.assert_allclose(information, (numeric + numeric.T) / 2, rtol=2e-4, atol=5e-3)


def test_representatives_stand_for_all():
    """The Newton matrix from 48 respondents of 3,000 is near the exact one, unlike the complete-data matrix of EM."""
    rng = np.random.default_rng(2)
    a, b = rng.lognormal(0, 0.3, 30), rng.normal(size=30)
    data = arrange(simulate(3000, a, b, seed=8).astype(np.int8))
    objective = Objective(data, parameter_map("2pl", a, -a * b), NODES)
    at = objective.evaluate(objective.parameters.start())
    exact = objective.complete(at) - objective.missing(at, exact=True)
    near = objective.complete(at) - objective.missing(at, exact=False)
    ratio = np.linalg.eigvals(np.linalg.solve(near, exact)).real
    assert 0.7 < ratio.min() <= ratio.max() < 1.4
    em_ratio = np.linalg.eigvals(np.linalg.solve(objective.complete(at), exact)).real
    assert em_ratio.min() < 0.3


def test_representatives_are_exact_when_all_are_taken():
    scored, a, d = design("holes")
    data = arrange(scored)
    curves, populations = ItemCurves.at(NODES, a, d), Populations.at(NODES, np.zeros(1), np.zeros(1))
    from psychoedu.irt.information import observed_missing_information

    few = representative_missing_information(data, curves, populations, n_representatives=10_000)
    np.testing.assert_allclose(few, observed_missing_information(data, curves, populations), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("spacing_in_sd", [0.8, 1.6, 2.4])
def test_quadrature_error_follows_the_gaussian_rule(spacing_in_sd):
    """For a normal posterior the rectangular rule errs by 2 exp(-2 pi^2 s^2 / h^2) at the worst phase."""
    h, s = 0.2, 0.2 / spacing_in_sd
    nodes = np.arange(-6, 6 + h / 2, h)
    density = np.exp(-0.5 * ((nodes - 0.0) / s) ** 2) * h / (s * np.sqrt(2 * np.pi))
    assert density.sum() - 1.0 == pytest.approx(2 * np.exp(-2 * np.pi**2 * s**2 / h**2), rel=0.02, abs=1e-12)
