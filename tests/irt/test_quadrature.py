"""Nodes and weights of the normal population, and the number of points that a narrow posterior needs."""

import math

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from psychoedu.irt.quadrature import DEFAULT_POINTS, SPACING_PER_SD, equally_spaced, normal_log_weights, points_for

EXACT = 1e-12


def test_default_nodes():
    nodes = equally_spaced()
    assert len(nodes) == DEFAULT_POINTS == 61
    np.testing.assert_allclose(nodes, np.arange(-30, 31) / 5, rtol=0, atol=EXACT)
    np.testing.assert_allclose(equally_spaced(5, 1.0, 3.0), [1.0, 1.5, 2.0, 2.5, 3.0], rtol=EXACT)


@pytest.mark.parametrize(("mean", "sd"), [(0.0, 1.0), (1.1, 0.7), (-0.5, 1.4)])
def test_weights_are_a_normalised_normal(mean, sd):
    nodes = equally_spaced()
    log_weights = normal_log_weights(nodes, mean, sd)
    assert np.exp(log_weights).sum() == pytest.approx(1.0, rel=EXACT)
    density = norm.logpdf(nodes, mean, sd)
    np.testing.assert_allclose(log_weights - log_weights[30], density - density[30], rtol=1e-10, atol=1e-10)


def test_weights_give_the_moments():
    nodes = equally_spaced(121, -8.0, 8.0)
    weights = np.exp(normal_log_weights(nodes, 0.4, 0.9))
    mean = weights @ nodes
    assert mean == pytest.approx(0.4, abs=1e-12)
    assert weights @ (nodes - mean) ** 2 == pytest.approx(0.81, abs=1e-12)
    assert weights @ (nodes - mean) ** 4 == pytest.approx(3 * 0.81**2, abs=1e-10)


def test_weights_far_from_the_nodes_do_not_underflow():
    log_weights = normal_log_weights(equally_spaced(), 60.0, 0.5)
    assert np.isfinite(log_weights).all()
    assert np.exp(log_weights).sum() == pytest.approx(1.0, rel=EXACT)


@pytest.mark.parametrize("spacing", [0.01, 0.0366, 0.2, 1.0, 5.0])
def test_points_keep_the_spacing(spacing):
    count = points_for(spacing, -6.0, 6.0)
    assert count % 2 == 1
    assert 12.0 / (count - 1) <= spacing * (1 + 1e-9)
    assert 12.0 / (count - 3) > spacing  # no more than needed: two fewer would be too few


def test_the_default_points_are_the_usual_ones():
    assert points_for(0.2, -6.0, 6.0) == DEFAULT_POINTS == 61


@pytest.mark.parametrize("offset", [0.0, 0.25, 0.5])
def test_the_spacing_rule_is_accurate(offset):
    """At one SD a step the sum of a normal density is 1 within 2 exp(-2 pi^2), wherever the nodes fall."""
    sd = 0.3
    nodes = (np.arange(-60, 61) + offset) * SPACING_PER_SD * sd
    total = norm.pdf(nodes, 0.0, sd).sum() * SPACING_PER_SD * sd
    assert total == pytest.approx(1.0, abs=2.1 * math.exp(-2 * math.pi**2))
    coarse = (np.arange(-30, 31) + offset) * 2 * sd
    assert abs(norm.pdf(coarse, 0.0, sd).sum() * 2 * sd - 1.0) > 1e-3 or offset == 0.25


def test_61_points_are_wrong_for_a_long_test():
    """Case T5's lesson: 2,000 items, where 61 points miss by 0.06 and `points_for` asks for enough."""
    b = np.linspace(-3.0, 3.0, 2000)
    row = np.random.default_rng(7).random(2000) < expit(1.5 * (0.537 - b))

    def mean(n_points):
        nodes = equally_spaced(n_points)
        eta = 1.5 * np.subtract.outer(nodes, b)
        height = np.where(row, eta, 0.0).sum(axis=1) - np.logaddexp(0, eta).sum(axis=1) + normal_log_weights(nodes)
        weights = np.exp(height - height.max())
        return weights @ nodes / weights.sum()

    assert mean(61) == pytest.approx(0.59307, abs=1e-5)
    assert mean(points_for(0.045, -6.0, 6.0)) == pytest.approx(0.53418, abs=1e-5)
