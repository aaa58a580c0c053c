"""Agreement of panellists, and the error of their median: published tables, closed forms and simulation."""

from itertools import combinations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta, norm

from psychoedu.standard_setting.agreement import (
    intraclass_correlations,
    mean_pairwise_difference,
    median_error_ratio,
    share_above,
    spread,
)

EXACT = 1e-12
MONTE_CARLO = 4.0  # standard errors
SHROUT_FLEISS = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float)
"""Shrout and Fleiss (1979), table 2: four ratings on six targets."""

ORDER_STATISTICS = {3: 0.4487, 4: 0.2982, 5: 0.2868, 6: 0.2147, 7: 0.2104}
"""Variance of the median of n N(0, 1): Sarhan and Greenberg (1962), tables; an even n averages the middle two."""
FOUR_DECIMALS = 6e-5


# intraclass correlations


def test_published_ratings():
    """Shrout and Fleiss (1979), table 4: ICC(2,1) .29, ICC(2,4) .62."""
    single, mean = intraclass_correlations(SHROUT_FLEISS)
    assert round(single, 2) == 0.29
    assert round(mean, 2) == 0.62


def test_the_mean_of_raters_follows_from_the_mean_squares():
    """Shrout and Fleiss (1979), table 3: mean squares 11.24, 32.49 and 1.02 between targets, judges and residual."""
    targets, judges, rest, n, k = 11.24, 32.49, 1.02, 6, 4
    single, mean = intraclass_correlations(SHROUT_FLEISS)
    assert single == pytest.approx((targets - rest) / (targets + (k - 1) * rest + k * (judges - rest) / n), abs=1e-3)
    assert mean == pytest.approx((targets - rest) / (targets + (judges - rest) / n), abs=1e-3)


def test_correlations_do_not_depend_on_order_scale_or_origin():
    expected = intraclass_correlations(SHROUT_FLEISS)
    rng = np.random.default_rng(1)
    for other in (
        SHROUT_FLEISS[rng.permutation(6)],
        SHROUT_FLEISS[:, rng.permutation(4)],
        3.0 * SHROUT_FLEISS - 7.0,
        -SHROUT_FLEISS,
    ):
        np.testing.assert_allclose(intraclass_correlations(other), expected, rtol=EXACT)


def test_raters_who_agree_and_what_has_no_correlation():
    agree = np.repeat(np.array([[-1.0], [0.0], [2.0]]), 4, axis=1)
    np.testing.assert_allclose(intraclass_correlations(agree), [1.0, 1.0], rtol=EXACT)
    for none in (np.ones((3, 4)), agree[:1], agree[:, :1], np.where(agree == 2.0, np.inf, agree)):
        assert np.isnan(intraclass_correlations(none)).all()


# spread


def test_spread_by_hand():
    values = np.array([[1.0, np.nan], [2.0, 5.0], [4.0, np.nan], [9.0, np.nan]])
    wide, sd, mad = spread(values)
    np.testing.assert_allclose(wide, [8.0, 0.0])
    np.testing.assert_allclose(sd, [np.sqrt((9 + 4 + 0 + 25) / 3), np.nan])
    np.testing.assert_allclose(mad, [1.5, 0.0])  # median 3: distances 2, 1, 1, 6
    assert np.isnan(spread(np.full((2, 1), np.nan))).all()


def test_spread_with_open_ends():
    wide, sd, mad = spread(np.array([[-np.inf, -np.inf], [0.0, -np.inf], [1.0, -np.inf]]))
    assert wide[0] == np.inf
    assert np.isnan(sd[0])
    assert mad[0] == 1.0
    assert wide[1] == mad[1] == 0.0


@pytest.mark.parametrize("n", [2, 3, 8])
def test_pairwise_difference_over_all_pairs(n):
    values = np.random.default_rng(n).normal(size=(n, 2))
    expected = [np.mean([abs(a - b) for a, b in combinations(column, 2)]) for column in values.T]
    np.testing.assert_allclose(mean_pairwise_difference(values), expected, rtol=EXACT)
    with_hole = np.vstack([values, [np.nan, np.nan]])
    np.testing.assert_allclose(mean_pairwise_difference(with_hole), expected, rtol=EXACT)
    assert np.isnan(mean_pairwise_difference(values[:1])).all()


# the median


@pytest.mark.parametrize(("n", "variance"), ORDER_STATISTICS.items())
def test_variance_of_the_median_as_published(n, variance):
    assert median_error_ratio(n) ** 2 / n == pytest.approx(variance, abs=FOUR_DECIMALS)


@pytest.mark.parametrize("n", [3, 9, 33, 101])
def test_variance_of_an_odd_median_by_quadrature(n):
    density = beta((n + 1) / 2, (n + 1) / 2)
    variance = quad(lambda u: norm.ppf(u) ** 2 * density.pdf(u), 0, 1, epsabs=0, epsrel=1e-9, limit=500)[0]
    assert median_error_ratio(n) == pytest.approx(np.sqrt(n * variance), rel=1e-7)


@pytest.mark.parametrize("n", [2, 4, 15, 16, 100, 150])
def test_variance_of_the_median_by_simulation(n):
    medians = np.median(np.random.default_rng(n).standard_normal((40_000, n)), axis=1)
    found = medians.var() * n
    noise = found * np.sqrt(2.0 / 40_000)
    assert abs(found - median_error_ratio(n) ** 2) < MONTE_CARLO * noise


def test_few_and_many_values():
    assert median_error_ratio(1) == median_error_ratio(2) == 1.0
    assert median_error_ratio(10**9) == pytest.approx(np.sqrt(np.pi / 2), rel=1e-8)
    for last in (100, 101):  # where the expansion takes over, odd and even numbers apart
        step = median_error_ratio(last + 2) - median_error_ratio(last)
        assert abs(step) < 3e-4


def test_share_above_is_a_mean_of_normal_tails():
    theta, error, grid = np.array([0.0, 1.0]), np.array([0.5, 1.0]), np.array([-1.0, 0.0, 2.0])
    expected = [(norm.sf((g - 0.0) / 0.5) + norm.sf(g - 1.0)) / 2 for g in grid]
    np.testing.assert_allclose(share_above(theta, error, grid), expected, rtol=EXACT)
    many = share_above(np.tile(theta, 5_000), np.tile(error, 5_000), grid)
    np.testing.assert_allclose(many, expected, rtol=EXACT)
