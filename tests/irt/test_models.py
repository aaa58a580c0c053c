"""Item response functions: closed forms, and information against numeric derivatives."""

import numpy as np
import pytest

from psychoedu.irt import models

EXACT = 1e-12
THETA = np.array([-3.0, -0.4, 0.0, 1.3, 2.8])
A = np.array([1.0, 0.3, -1.2, 2.5])
D = np.array([0.0, 0.5, -0.7, 1.0])
C = np.array([0.0, 0.25, 0.1, 0.2])


def test_probability_closed_form():
    assert models.probability(np.array([0.0]), np.array([1.0]), np.array([0.0]))[0, 0] == 0.5
    # logit 3/4 = ln 3
    found = models.probability(np.array([np.log(3.0)]), np.array([1.0]), np.array([0.0]))
    assert found[0, 0] == pytest.approx(0.75, rel=EXACT)
    found = models.probability(np.array([np.log(3.0)]), np.array([1.0]), np.array([0.0]), np.array([0.2]))
    assert found[0, 0] == pytest.approx(0.2 + 0.8 * 0.75, rel=EXACT)


def test_probability_is_one_row_per_ability():
    found = models.probability(THETA, A, D)
    expected = [[1 / (1 + np.exp(-(a * theta + d))) for a, d in zip(A, D, strict=True)] for theta in THETA]
    np.testing.assert_allclose(found, expected, rtol=EXACT)
    np.testing.assert_allclose(models.linear_predictor(THETA, A, D)[3], 1.3 * A + D, rtol=EXACT)


@pytest.mark.parametrize("guessing", [None, C])
def test_log_probabilities_are_logs_of_both_outcomes(guessing):
    right, wrong = models.log_probabilities(THETA, A, D, guessing)
    success = models.probability(THETA, A, D, guessing)
    np.testing.assert_allclose(np.exp(right), success, rtol=EXACT)
    np.testing.assert_allclose(np.exp(right) + np.exp(wrong), 1.0, rtol=EXACT)


def test_log_probabilities_lose_nothing_at_the_ends():
    right, wrong = models.log_probabilities(np.array([-800.0, 800.0]), np.ones(1), np.zeros(1))
    np.testing.assert_allclose(right[:, 0], [-800.0, 0.0], rtol=EXACT)
    np.testing.assert_allclose(wrong[:, 0], [0.0, -800.0], rtol=EXACT)
    right, wrong = models.log_probabilities(np.array([-800.0, 800.0]), np.ones(1), np.zeros(1), np.array([0.25]))
    np.testing.assert_allclose(right[:, 0], [np.log(0.25), 0.0], rtol=EXACT, atol=EXACT)
    np.testing.assert_allclose(wrong[:, 0], [np.log(0.75), np.log(0.75) - 800.0], rtol=EXACT)


def test_guessing_zero_is_the_2pl():
    zero = np.zeros(4)
    np.testing.assert_array_equal(models.probability(THETA, A, D, zero), models.probability(THETA, A, D))
    np.testing.assert_allclose(models.item_information(THETA, A, D, zero), models.item_information(THETA, A, D), rtol=EXACT)
    for with_c, without in zip(models.log_probabilities(THETA, A, D, zero), models.log_probabilities(THETA, A, D), strict=True):
        np.testing.assert_allclose(with_c, without, rtol=EXACT)


@pytest.mark.parametrize("guessing", [None, C])
def test_information_is_expected_squared_score(guessing):
    """I = (dP/dtheta)^2 / (P Q), the derivative by the complex step (exact to rounding)."""
    c = 0.0 if guessing is None else guessing
    stepped = c + (1 - c) / (1 + np.exp(-(np.multiply.outer(THETA + 1e-30j, A) + D)))
    slope, success = stepped.imag / 1e-30, stepped.real
    found = models.item_information(THETA, A, D, guessing)
    np.testing.assert_allclose(found, slope**2 / (success * (1 - success)), rtol=1e-10)


@pytest.mark.parametrize("guessing", [None, C])
def test_information_is_minus_expected_second_derivative(guessing):
    step = 1e-4
    right = [models.log_probabilities(THETA + k * step, A, D, guessing)[0] for k in (-1, 0, 1)]
    wrong = [models.log_probabilities(THETA + k * step, A, D, guessing)[1] for k in (-1, 0, 1)]
    success = models.probability(THETA, A, D, guessing)
    curvature = [(values[0] - 2 * values[1] + values[2]) / step**2 for values in (right, wrong)]
    expected = -(success * curvature[0] + (1 - success) * curvature[1])
    np.testing.assert_allclose(models.item_information(THETA, A, D, guessing), expected, rtol=1e-5, atol=1e-6)


def test_information_peaks():
    """2PL: a^2 / 4 at b. 3PL: at b + ln((1 + sqrt(1 + 8 c)) / 2) / a (Lord, 1980, equation 10-4)."""
    theta = np.linspace(-3, 3, 60_001)
    plain = models.item_information(theta, np.array([1.6]), np.array([-0.8]))[:, 0]
    assert theta[plain.argmax()] == pytest.approx(0.5, abs=1e-4)
    assert plain.max() == pytest.approx(1.6**2 / 4, rel=1e-8)
    guessed = models.item_information(theta, np.array([1.6]), np.array([-0.8]), np.array([0.2]))[:, 0]
    assert theta[guessed.argmax()] == pytest.approx(0.5 + np.log((1 + np.sqrt(1 + 8 * 0.2)) / 2) / 1.6, abs=2e-4)
    assert guessed.max() < plain.max()


def test_information_far_out_is_small_not_nan():
    for guessing in (None, np.array([0.2])):
        found = models.item_information(np.array([-700.0, 700.0]), np.ones(1), np.zeros(1), guessing)
        assert np.isfinite(found).all()
        assert (found >= 0).all()
        assert found.max() < 1e-200
