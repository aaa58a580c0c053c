"""Structural models of several groups: blocks apart, and one higher-order structure with the groups' means and SDs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit

from psychoedu.cdm.populations import Separate, SharedHigherOrder
from psychoedu.cdm.profiles import all_profiles
from psychoedu.cdm.structures import HigherOrder, Independent, Saturated

ALPHA = all_profiles(3)
BASE = HigherOrder(ALPHA, "2pl", 61)
COUNTS = np.array([[70.0, 30, 22, 41, 18, 35, 9, 75], [20.0, 10, 12, 21, 28, 35, 39, 175], [50.0, 14, 15, 11, 12, 13, 10, 33]])
SHARED = SharedHigherOrder(BASE, 3)
POINT = np.array([0.8, 1.7, 2.5, 0.3, -0.6, 1.0, 0.5, -0.4, 0.2, -0.3])
CASES = {
    "separate higher-order": (Separate((BASE,) * 3), np.tile(POINT[:6], 3) * np.linspace(0.8, 1.2, 18)),
    "separate mixed": (Separate((BASE, Independent(ALPHA), Saturated(np.ones(8, dtype=bool)))), np.linspace(0.3, 1.2, 16)),
    "shared": (SHARED, POINT),
    "shared rasch": (SharedHigherOrder(HigherOrder(ALPHA, "rasch", 61), 3), POINT[3:]),
    "shared common slope": (SharedHigherOrder(HigherOrder(ALPHA, "common-slope", 61), 3), POINT[2:]),
}


def differences(f, x, h=1e-5):
    return np.stack([(np.asarray(f(x + h * e)) - np.asarray(f(x - h * e))) / (2 * h) for e in np.eye(x.size)], axis=-1)


@pytest.mark.parametrize("name", CASES)
def test_normalised_and_derivatives_equal_differences(name):
    populations, parameters = CASES[name]
    assert populations.n_parameters == parameters.size == populations.start().size
    np.testing.assert_allclose(np.exp(populations.log_prior(parameters)).sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(populations.scores(parameters), differences(populations.log_prior, parameters), atol=1e-8)
    hessian = differences(lambda x: np.einsum("gl,glp->p", COUNTS, populations.scores(x)), parameters)
    np.testing.assert_allclose(populations.information(parameters, COUNTS), -hessian, atol=2e-5)


def test_shared_equals_integration_over_the_groups_ability():
    mean, sd = SHARED.moments(POINT)
    np.testing.assert_allclose(mean, [0, 0.5, -0.4])
    np.testing.assert_allclose(sd, np.exp([0, 0.2, -0.3]))
    found = np.exp(SHARED.log_prior(POINT))
    for g in range(3):
        for k in (0, 3, 7):

            def integrand(theta, g=g, row=ALPHA[k]):
                p = expit(POINT[:3] * theta + POINT[3:6])
                density = np.exp(-0.5 * ((theta - mean[g]) / sd[g]) ** 2) / (sd[g] * np.sqrt(2 * np.pi))
                return np.prod(np.where(row == 1, p, 1 - p)) * density

            assert found[g, k] == pytest.approx(quad(integrand, -10, 10, epsabs=1e-12)[0], abs=2e-5)


@pytest.mark.parametrize("name", CASES)
def test_steps_raise_the_value_to_a_stationary_point(name):
    populations, present = CASES[name]
    values = [float((COUNTS * populations.log_prior(present)).sum())]
    for _ in range(100):
        present = populations.step(present, COUNTS)
        values.append(float((COUNTS * populations.log_prior(present)).sum()))
    assert (np.diff(values) > -1e-8).all()
    gradient = np.einsum("gl,glp->p", COUNTS, populations.scores(present))
    held = populations.on_bound(present) & populations.pushed_out(present, gradient)
    np.testing.assert_allclose(gradient[~held], 0.0, atol=5e-2)
    assert values[-1] > values[0] + 1.0


def test_separate_groups_do_not_touch_each_other():
    populations, parameters = CASES["separate higher-order"]
    first, last = populations.parts()[0], populations.parts()[2]
    other = COUNTS.copy()
    other[2] = other[2][::-1]
    one, two = populations.step(parameters, COUNTS), populations.step(parameters, other)
    np.testing.assert_array_equal(one[first], two[first])
    assert not np.allclose(one[last], two[last])
    assert (populations.scores(parameters)[0][:, last] == 0).all()
