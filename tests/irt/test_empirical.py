import numpy as np
import pytest
from scipy.special import expit
from statsmodels.stats.proportion import proportion_confint

from psychoedu.irt.empirical import empirical_curves
from psychoedu.proportions import wilson_interval


def simulate(n_respondents, a, d, seed, c=0.0, mean=0.0, sd=1.0):
    rng = np.random.default_rng(seed)
    theta = mean + sd * rng.standard_normal(n_respondents)
    success = c + (1 - c) * expit(np.multiply.outer(theta, a) + d)
    return (rng.random(success.shape) < success).astype(np.int8)


def test_wilson_interval_agrees_with_statsmodels():
    count, n = np.array([0, 3, 50, 10]), np.array([10, 7, 100, 10])
    low, high = wilson_interval(count / n, n.astype(float))
    expected = proportion_confint(count, n, method="wilson")
    np.testing.assert_allclose(low, expected[0], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(high, expected[1], rtol=1e-10)


@pytest.mark.parametrize("n_items", [5, 40])
@pytest.mark.parametrize("guessing", [0.0, 0.2])
def test_data_from_the_model_lie_on_the_curve(n_items, guessing):
    rng = np.random.default_rng(1)
    a, d = rng.uniform(0.8, 1.8, n_items), rng.uniform(-1, 1, n_items)
    c = np.full(n_items, guessing)
    scored = simulate(20_000, a, d, seed=2, c=guessing)
    deviations = []
    for item, curve in enumerate(empirical_curves(range(5), scored, a, d, c)):
        height = guessing + (1 - guessing) * expit(a[item] * curve.theta + d[item])
        np.testing.assert_allclose(height, curve.expected, rtol=1e-9)  # the point stands where the curve has the expected height
        deviations.append((curve.proportion - curve.expected) / np.sqrt(curve.expected * (1 - curve.expected) / curve.n))
        assert curve.n.sum() == 20_000
        assert np.all(np.diff(curve.theta) > 0) or guessing > 0
    z = np.concatenate(deviations)
    assert np.abs(z).max() < 4
    assert np.mean(z**2) == pytest.approx(1.0, abs=4 * np.sqrt(2 / len(z)))


def test_expected_proportion_of_two_items_by_numerical_integration():
    a, d = np.array([1.2, 0.7]), np.array([0.3, -0.4])
    scored = np.array([[1, 1], [0, 1], [1, 0], [0, 0]] * 40, dtype=np.int8)
    [curve] = empirical_curves([0], scored, a, d, n_groups=2)
    theta = np.linspace(-8, 8, 20001)
    density = np.exp(-(theta**2) / 2)
    other = expit(a[1] * theta + d[1])
    expected = [(density * rest * expit(a[0] * theta + d[0])).sum() / (density * rest).sum() for rest in (1 - other, other)]
    np.testing.assert_allclose(curve.expected, expected, rtol=1e-7)
    np.testing.assert_array_equal(curve.proportion, [0.5, 0.5])


def test_each_respondent_has_the_prior_of_their_group():
    a, d = np.full(6, 1.0), np.zeros(6)
    scored = np.vstack([simulate(15_000, a, d, 3), simulate(15_000, a, d, 4, mean=2.0, sd=0.6)])
    mean, sd = np.repeat([0.0, 2.0], 15_000), np.repeat([1.0, 0.6], 15_000)
    [right] = empirical_curves([0], scored, a, d, prior_mean=mean, prior_sd=sd)
    z = (right.proportion - right.expected) / np.sqrt(right.expected * (1 - right.expected) / right.n)
    assert np.abs(z).max() < 4
    [wrong] = empirical_curves([0], scored, a, d)
    z = (wrong.proportion - wrong.expected) / np.sqrt(wrong.expected * (1 - wrong.expected) / wrong.n)
    assert np.abs(z).max() > 4


def test_weights_equal_repeated_rows_and_missing_rows_are_left_out():
    a, d = np.array([1.0, 1.5, 0.8]), np.array([0.0, 0.5, -0.5])
    scored = simulate(200, a, d, seed=5)
    weights = np.random.default_rng(6).integers(0, 4, 200)
    scored[:20, 0] = -1
    [weighted] = empirical_curves([0], scored, a, d, weights=weights.astype(float), n_groups=3)
    [repeated] = empirical_curves([0], np.repeat(scored, weights, axis=0), a, d, n_groups=3)
    np.testing.assert_allclose(weighted.proportion, repeated.proportion)
    np.testing.assert_allclose(weighted.expected, repeated.expected)
    assert weighted.n.sum() == weights[20:].sum()


def test_reversed_and_flat_items_have_finite_positions():
    a, d = np.array([-1.0, 0.0, 1.0, 1.0, 1.0]), np.zeros(5)
    scored = simulate(500, a, d, seed=7)
    reversed_item, flat = empirical_curves([0, 1], scored, a, d)
    assert reversed_item.proportion[0] > reversed_item.proportion[-1]
    assert np.isfinite(reversed_item.theta).all()
    assert np.isfinite(flat.theta).all()


def test_an_item_that_nobody_saw_gives_an_empty_curve():
    scored = np.array([[-1, 1], [-1, 0]], dtype=np.int8)
    [curve] = empirical_curves([0], scored, np.ones(2), np.zeros(2))
    assert curve.n.size == 0
