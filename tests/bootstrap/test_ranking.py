"""Ranks, shares of ranks and rank correlations, beside scipy and by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from psychoedu.bootstrap.rank_correlation import (
    correlation_with_error,
    disattenuate,
    kendall,
    relative_error_variance,
    reliability,
    spearman,
)
from psychoedu.bootstrap.ranking import (
    attained_limits,
    lowest,
    mid_ranks,
    rank_shares,
    shares_above,
    simultaneous_ranks,
    tie_spans,
)

CLOSED_FORM = 1e-12


def tied_scores(seed: int, shape: tuple[int, ...], n_values: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, n_values, size=shape).astype(float)


@pytest.mark.parametrize("seed", range(5))
def test_mid_ranks_are_those_of_scipy(seed: int) -> None:
    scores = tied_scores(seed, (40, 9))
    np.testing.assert_array_equal(mid_ranks(scores), stats.rankdata(-scores, method="average", axis=1))


@pytest.mark.parametrize("seed", range(5))
def test_places_of_ties_are_scipys_least_and_largest_ranks(seed: int) -> None:
    scores = tied_scores(seed, (40, 9), n_values=4)
    first, last = tie_spans(scores)
    np.testing.assert_array_equal(first + 1, stats.rankdata(-scores, method="min", axis=1))
    np.testing.assert_array_equal(last + 1, stats.rankdata(-scores, method="max", axis=1))


@pytest.mark.parametrize("seed", range(20))
def test_correlations_are_those_of_scipy(seed: int) -> None:
    first, second = tied_scores(seed, (12,), 6), tied_scores(seed + 100, (12,), 6)
    ranks = mid_ranks(first), mid_ranks(second)
    assert spearman(*ranks) == pytest.approx(stats.spearmanr(first, second).statistic, rel=CLOSED_FORM, abs=CLOSED_FORM)
    assert kendall(*ranks) == pytest.approx(
        stats.kendalltau(first, second, variant="b").statistic, rel=CLOSED_FORM, abs=CLOSED_FORM
    )


def test_correlations_of_many_rows_are_those_of_each() -> None:
    first, second = mid_ranks(tied_scores(1, (30, 8))), mid_ranks(tied_scores(2, (30, 8)))
    for coefficient in (spearman, kendall):
        one_by_one = [coefficient(x, y) for x, y in zip(first, second, strict=True)]
        np.testing.assert_array_equal(coefficient(first, second), one_by_one)


def test_a_side_of_ties_has_no_correlation() -> None:
    constant, other = mid_ranks(np.ones(4)), mid_ranks(np.arange(4.0))
    assert np.isnan(spearman(constant, other))
    assert np.isnan(kendall(other, constant))


def test_rounding_does_not_break_a_tie_and_a_difference_does() -> None:
    scores = np.array([0.1 + 0.2, 0.3, 0.3 - 1e-9])
    assert scores[0] != scores[1]
    assert mid_ranks(scores, tie=1e-12).tolist() == [1.5, 1.5, 3.0]


def test_shares_of_ranks_split_ties_and_sum_to_1() -> None:
    scores = np.array([[3.0, 3.0, 1.0], [1.0, 2.0, 3.0], [5.0, 5.0, 5.0], [2.0, 1.0, 1.0]])
    third = 1.0 / 3.0
    expected = np.array(
        [[0.5 + 0 + third + 1, 0.5 + 0 + third + 0, 0 + 1 + third + 0],
         [0.5 + 0 + third + 0, 0.5 + 1 + third + 0.5, 0 + 0 + third + 0.5],
         [0 + 1 + third + 0, 0 + 0 + third + 0.5, 1 + 0 + third + 0.5]]
    ) / 4.0  # fmt: skip
    np.testing.assert_allclose(rank_shares(scores), expected, rtol=CLOSED_FORM)
    shares = rank_shares(tied_scores(4, (200, 7)))
    np.testing.assert_allclose(shares.sum(axis=0), 1.0, rtol=CLOSED_FORM)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=CLOSED_FORM)
    assert shares.min() >= 0.0


def test_mean_rank_follows_from_the_shares() -> None:
    scores = tied_scores(5, (300, 6))
    np.testing.assert_allclose(rank_shares(scores) @ np.arange(1, 7), mid_ranks(scores).mean(axis=0), rtol=CLOSED_FORM)


def test_shares_above_count_ties_half() -> None:
    ranks = mid_ranks(np.array([[2.0, 1.0], [1.0, 1.0], [0.0, 1.0], [3.0, 1.0]]))
    found = shares_above(ranks)
    assert found[0, 1] == 2.5 / 4.0
    assert found[1, 0] == 1.5 / 4.0
    assert np.isnan(np.diag(found)).all()


def test_mean_rank_follows_from_the_shares_above() -> None:
    ranks = mid_ranks(tied_scores(6, (300, 6)))
    above = np.where(np.isnan(shares_above(ranks)), 0.0, shares_above(ranks))
    np.testing.assert_allclose(1.0 + above.sum(axis=0), ranks.mean(axis=0), rtol=CLOSED_FORM)


def test_attained_limits_hold_at_least_the_level() -> None:
    values = np.random.default_rng(0).integers(1, 18, size=(777, 5)).astype(float)
    low, high = attained_limits(values, 0.9)
    assert (((values >= low) & (values <= high)).mean(axis=0) >= 0.9).all()
    assert all(low[at] in values[:, at] and high[at] in values[:, at] for at in range(5))


def test_simultaneous_ranks_of_far_close_and_equal_models() -> None:
    rng = np.random.default_rng(1)
    estimate = np.array([10.0, 5.0, 5.02, 0.0])
    low, high = simultaneous_ranks(estimate, estimate + 0.1 * rng.standard_normal((2000, 4)), 0.95)
    assert low.tolist() == [1, 2, 2, 4]
    assert high.tolist() == [1, 3, 3, 4]


def test_simultaneous_ranks_equal_max_t_by_hand() -> None:
    rng = np.random.default_rng(2)
    estimate = np.array([0.30, 0.24, 0.22, 0.10])
    draws = estimate + rng.standard_normal((500, 4)) * np.array([0.01, 0.05, 0.02, 0.03])
    pairs = list(itertools.combinations(range(4), 2))
    differences = np.stack([draws[:, i] - draws[:, j] for i, j in pairs], axis=1)
    observed = np.array([estimate[i] - estimate[j] for i, j in pairs])
    errors = differences.std(axis=0, ddof=1)
    critical = np.quantile(np.max(np.abs(differences - observed) / errors, axis=1), 0.95)
    low, high = np.ones(4, int), np.full(4, 4)
    for (i, j), difference, error in zip(pairs, observed, errors, strict=True):
        if difference > critical * error:
            low[j] += 1
            high[i] -= 1
    found = simultaneous_ranks(estimate, draws, 0.95)
    np.testing.assert_array_equal(found, [low, high])


def test_models_without_any_spread_are_ordered_surely() -> None:
    estimate = np.array([0.5, 0.5, 0.4])
    found = simultaneous_ranks(estimate, np.repeat(estimate[None], 50, axis=0), 0.95, tie=1e-12)
    assert found.tolist() == [[1, 1, 3], [2, 2, 3]]


def test_reliability_is_the_share_that_is_not_error() -> None:
    scores = np.array([0.1, 0.3, 0.5])
    assert reliability(scores, 0.01) == pytest.approx(1.0 - 0.01 / 0.04, rel=CLOSED_FORM)
    assert reliability(scores, 0.01, 2.0) == pytest.approx(1.0 - 0.02 / 0.04, rel=CLOSED_FORM)
    assert reliability(scores, 0.05) == 0.0


def test_what_moves_all_models_alike_is_no_error_of_ranks() -> None:
    rng = np.random.default_rng(3)
    scores, own = np.array([0.1, 0.4, 0.2, 0.3]), rng.standard_normal((100, 4))
    own -= own.mean(axis=1, keepdims=True)
    shift = rng.standard_normal((100, 1))
    expected = own.var(axis=0, ddof=1).sum() / 3.0
    assert relative_error_variance(scores, scores + shift + own) == pytest.approx(expected, rel=CLOSED_FORM)


@pytest.mark.parametrize("kind", ["spearman", "kendall"])
def test_disattenuation_of_normal_scores(kind: str) -> None:
    """Normal scores of correlation r have Spearman 6/pi asin(r/2) and Kendall 2/pi asin(r); error multiplies r."""

    def rank_correlation(r: float) -> float:
        return float(6.0 / np.pi * np.arcsin(r / 2.0) if kind == "spearman" else 2.0 / np.pi * np.arcsin(r))

    observed = np.array(rank_correlation(0.7 * np.sqrt(0.8 * 0.6)))
    assert disattenuate(observed, np.array(0.8 * 0.6), kind) == pytest.approx(rank_correlation(0.7), rel=CLOSED_FORM)
    assert disattenuate(observed, np.array(1.0), kind) == pytest.approx(float(observed), rel=CLOSED_FORM)
    assert disattenuate(np.array(0.9), np.array(0.1), kind) == pytest.approx(1.0, rel=CLOSED_FORM)
    assert disattenuate(-observed, np.array(0.5), kind) == -disattenuate(observed, np.array(0.5), kind)


def test_undefined_resamples_are_counted_and_left_out() -> None:
    scores = np.array([0.2, 0.4, 0.6])
    draws = np.array([[0.2, 0.4, 0.6], [0.5, 0.5, 0.5], [0.6, 0.4, 0.2], [0.2, 0.6, 0.4]])
    found, n_undefined = correlation_with_error(
        "spearman", (scores, scores), (draws, np.repeat(scores[None], 4, axis=0)), 0.9, 1e-12
    )
    assert n_undefined == 1
    assert found[0] == pytest.approx(1.0, rel=CLOSED_FORM)
    assert found[1] == pytest.approx((1.0 - 1.0 + 0.5) / 3.0 - 1.0, rel=CLOSED_FORM)


def test_nothing_is_known_of_true_ranks_without_reliability() -> None:
    rng = np.random.default_rng(4)
    scores = np.array([0.50, 0.51, 0.52])
    draws = scores + rng.standard_normal((200, 3))
    found, _ = correlation_with_error("kendall", (scores, scores), (draws, draws), 0.95, 0.0)
    assert np.isfinite(found[:5]).all()
    assert np.isnan(found[5:]).all()


def test_lowest_of_groups() -> None:
    scores = np.array([[0.2, 0.5, 0.4], [0.7, 0.5, np.nan], [0.2, 0.6, 0.9]])
    at, alone = lowest(scores)
    assert at.tolist() == [[True, True, True], [False, True, False], [True, False, False]]
    assert alone.tolist() == [[False, False, True], [False, False, False], [False, False, False]]


@pytest.mark.slow
def test_coverage_of_the_correlation_of_true_ranks() -> None:
    """The disattenuated interval covers the correlation of true ranks; the percentile interval does not."""
    rng = np.random.default_rng(20260731)
    n_models, n_tasks, n_draws, n_designs = 17, (117, 137), 400, 300
    hits = np.zeros(2)
    for _ in range(n_designs):
        common = rng.standard_normal(n_models)
        true = (0.04 * common, 0.1 * (0.9 * common + np.sqrt(0.19) * rng.standard_normal(n_models)))
        scores, draws = [], []
        for own, n in zip(true, n_tasks, strict=True):
            rewards = own + 0.2 * rng.standard_normal((n, 1)) + 0.2 * rng.standard_normal((n, n_models))
            scores.append(rewards.mean(axis=0))
            draws.append(rng.multinomial(n, np.full(n, 1.0 / n), size=n_draws) @ rewards / n)
        found, _ = correlation_with_error("spearman", (scores[0], scores[1]), (draws[0], draws[1]), 0.95, 0.0)
        goal = stats.spearmanr(*true).statistic
        hits += [found[3] <= goal <= found[4], found[6] <= goal <= found[7]]
    percentile, disattenuated = hits / n_designs
    assert disattenuated >= 0.93
    assert percentile < 0.85


@pytest.mark.slow
def test_coverage_of_simultaneous_ranks() -> None:
    """All true ranks lie in the simultaneous ones in about 95% of designs or more, where models tie and where they do not."""
    rng = np.random.default_rng(7)
    true = np.array([0.6, 0.6, 0.58, 0.55, 0.55, 0.5, 0.4, 0.4])
    first, last = tie_spans(true)
    n_tasks, n_designs, hits, percentile_hits = 60, 400, 0, 0
    for _ in range(n_designs):
        rewards = true + 0.2 * rng.standard_normal((n_tasks, 1)) + 0.2 * rng.standard_normal((n_tasks, 8))
        estimate = rewards.mean(axis=0)
        draws = rng.multinomial(n_tasks, np.full(n_tasks, 1.0 / n_tasks), size=400) @ rewards / n_tasks
        low, high = simultaneous_ranks(estimate, draws, 0.95)
        hits += bool(((low <= first + 1) & (high >= last + 1)).all())
        low, high = attained_limits(mid_ranks(draws), 0.95)
        percentile_hits += bool(((low <= first + 1) & (high >= last + 1)).all())
    assert hits / n_designs >= 0.92
    assert percentile_hits < hits
