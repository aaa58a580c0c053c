"""Kernels of level decisions: against enumeration, binomials, the normal integral, published figures, and simulation."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom, multivariate_normal, norm

from psychoedu.standard_setting import decisions, weighted_scores
from psychoedu.standard_setting.decisions import (
    agreement,
    assign_levels,
    cross_table,
    kappa,
    lee,
    level_probabilities,
    merge_levels,
    population_nodes,
    posterior_mean,
    rudner,
    summed_score_distribution,
)

EXACT = {"rtol": 1e-12, "atol": 1e-15}
QUADRATURE = {"rtol": 1e-9, "atol": 1e-11}
FIGURES = 5e-6  # half a unit of the last digit given
INF = np.inf
CUTS = np.array([-0.5, 0.0, 0.5])


def patterns(n_items):
    """All 2^J response patterns."""
    return np.array(list(itertools.product([0, 1], repeat=n_items)))


def pattern_probabilities(success):
    """(2^J,) for probabilities (J,)."""
    rows = patterns(len(success))
    return np.prod(np.where(rows == 1, success, 1.0 - success), axis=1)


def logistic(theta, a, d):
    return 1.0 / (1.0 + np.exp(-(np.multiply.outer(theta, a) + d)))


# levels and their probabilities


def test_figures_of_one_score():
    """Theta .3, SE .4, cuts -.5, 0, .5."""
    found = rudner(np.array([0.3]), np.array([0.4]), CUTS)
    levels = level_probabilities(np.array([0.3]), np.array([0.4]), CUTS)[0]
    np.testing.assert_allclose(levels, [0.02275, 0.20388, 0.46484, 0.30854], atol=FIGURES)
    np.testing.assert_allclose(agreement(merge_levels(found.table))[1], 0.77337, atol=FIGURES)
    np.testing.assert_allclose(agreement(merge_levels(found.repeated))[1], 0.64947, atol=FIGURES)
    np.testing.assert_allclose(found.accuracy, [0.46484], atol=FIGURES)


def test_level_probabilities_are_those_of_the_normal():
    rng = np.random.default_rng(1)
    theta, se = rng.normal(0, 2, 200), rng.uniform(0.05, 2, 200)
    found = level_probabilities(theta, se, CUTS)
    edges = np.array([-np.inf, *CUTS, np.inf])
    expected = np.diff(norm.cdf(edges, theta[:, None], se[:, None]), axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, **EXACT)


@pytest.mark.parametrize("far", [8.0, 12.0, 30.0])
def test_both_tails_keep_their_digits(far):
    """P(far < Z < far + 1) from the complementary error function; a difference of values near 1 would give 0."""
    expected = 0.5 * (math.erfc(far / math.sqrt(2)) - math.erfc((far + 1) / math.sqrt(2)))
    cuts = np.array([far, far + 1.0])
    above = level_probabilities(np.zeros(1), np.ones(1), cuts)[0]
    below = level_probabilities(np.zeros(1), np.ones(1), -cuts[::-1])[0]
    np.testing.assert_allclose([above[1], below[1]], expected, rtol=1e-11)
    np.testing.assert_array_equal(above, below[::-1])


def test_mirrored_scores_have_mirrored_probabilities():
    rng = np.random.default_rng(2)
    theta, se = rng.normal(0, 1, 50), rng.uniform(0.1, 1, 50)
    mirrored = level_probabilities(-theta, se, -CUTS[::-1])[:, ::-1]
    np.testing.assert_allclose(level_probabilities(theta, se, CUTS), mirrored, **EXACT)


def test_standard_error_of_zero_is_a_step():
    theta = np.array([-0.6, -0.5, 0.0, 0.7])
    expected = np.eye(4)[[0, 1, 2, 3]]
    np.testing.assert_array_equal(level_probabilities(theta, np.zeros(4), CUTS), expected)


def test_what_is_not_a_normal_has_no_probability():
    theta = np.array([INF, -INF, np.nan, 0.0, 0.0, 0.0])
    se = np.array([0.4, 0.4, 0.4, np.nan, INF, -0.1])
    assert np.isnan(level_probabilities(theta, se, CUTS)).all()


def test_open_ended_cuts_leave_nothing_beyond():
    found = level_probabilities(np.array([0.3, -2.0]), np.array([0.4, 0.0]), np.array([-INF, 0.0, INF, INF]))
    inner = level_probabilities(np.array([0.3, -2.0]), np.array([0.4, 0.0]), np.array([0.0]))
    np.testing.assert_array_equal(found[:, 1:3], inner)
    np.testing.assert_array_equal(found[:, [0, 3, 4]], 0.0)


def test_levels_at_and_beyond_the_cuts():
    theta = np.array([-INF, -0.5 - 1e-12, -0.5, 0.49, 0.5, INF, np.nan])
    assert assign_levels(theta, CUTS).tolist() == [0, 0, 1, 2, 3, 3, -1]
    open_ended = np.array([-INF, 0.0, INF])
    assert assign_levels(np.array([-INF, 0.0, INF]), open_ended).tolist() == [1, 2, 2]
    assert assign_levels(np.zeros(0), CUTS).shape == (0,)


# tables


def test_merged_levels_are_counted_by_hand():
    table = np.arange(16.0).reshape(4, 4) / 120.0
    merged = merge_levels(table)
    for cut in range(1, 4):
        expected = [[table[:cut, :cut].sum(), table[:cut, cut:].sum()], [table[cut:, :cut].sum(), table[cut:, cut:].sum()]]
        np.testing.assert_allclose(merged[cut - 1], expected, **EXACT)


def test_kappa_of_published_tables():
    """Cohen (1960), Educational and Psychological Measurement, 20, 37-46: .70 agreement, .41 by chance, kappa .492."""
    cohen = np.array([[0.44, 0.07, 0.09], [0.05, 0.20, 0.05], [0.01, 0.03, 0.06]])
    assert float(kappa(cohen)) == pytest.approx(0.492, abs=5e-4)
    assert float(kappa(cohen)) == pytest.approx(0.29 / 0.59, rel=1e-12)
    assert float(kappa(np.outer([0.2, 0.8], [0.2, 0.8]))) == pytest.approx(0.0, abs=1e-12)
    assert np.isnan(kappa(np.array([[1.0, 0.0], [0.0, 0.0]])))


def test_weights_count_respondents():
    rng = np.random.default_rng(3)
    first, second = rng.dirichlet(np.ones(3), 6), rng.dirichlet(np.ones(3), 6)
    weights = np.array([1.0, 2.0, 0.0, 1.0, 3.0, 1.0])
    rows = np.repeat(np.arange(6), weights.astype(int))
    np.testing.assert_allclose(cross_table(first, second, weights), cross_table(first[rows], second[rows], np.ones(8)), **EXACT)


# Rudner


def test_rudner_of_two_levels_is_closed_form():
    rng = np.random.default_rng(4)
    theta, se, cut = rng.normal(0, 1, 40), rng.uniform(0.2, 0.8, 40), 0.1
    upper = 0.5 * np.array([math.erfc(value) for value in (cut - theta) / se / math.sqrt(2)])
    found = rudner(theta, se, np.array([cut]))
    np.testing.assert_allclose(found.accuracy, np.maximum(upper, 1.0 - upper), **EXACT)
    np.testing.assert_allclose(agreement(found.table), np.maximum(upper, 1.0 - upper).mean(), **EXACT)
    np.testing.assert_allclose(agreement(found.repeated), (upper**2 + (1 - upper) ** 2).mean(), **EXACT)
    chance = upper.mean() ** 2 + (1 - upper.mean()) ** 2
    expected = ((upper**2 + (1 - upper) ** 2).mean() - chance) / (1 - chance)
    np.testing.assert_allclose(kappa(found.repeated), expected, rtol=1e-10)
    said_up = theta >= cut
    np.testing.assert_allclose(found.table[0, 1], ((1 - upper) * said_up).mean(), **EXACT)


def test_rudner_knows_no_order_of_respondents():
    rng = np.random.default_rng(5)
    theta, se, weights = rng.normal(0, 1, 30), rng.uniform(0.2, 0.8, 30), rng.uniform(0, 2, 30)
    order = rng.permutation(30)
    one, other = rudner(theta, se, CUTS, weights), rudner(theta[order], se[order], CUTS, weights[order])
    np.testing.assert_allclose(one.table, other.table, **EXACT)
    np.testing.assert_array_equal(one.accuracy[order], other.accuracy)


def test_normal_posteriors_give_the_bivariate_normal():
    """Scores of reliability r in N(0, 1): accuracy and the sum of squares are bivariate normal probabilities.

    Ability and score have correlation sqrt(r) and SDs 1 and sqrt(r); two abilities of one posterior have correlation r.
    """
    r, cut = 0.8, 0.7
    nodes, weights = population_nodes(np.ones(1), np.zeros(1), np.array([np.sqrt(r)]), np.array([cut]), 1.0)
    found = rudner(nodes, np.full(len(nodes), np.sqrt(1 - r)), np.array([cut]), weights)

    def same_side(correlation, first, second):
        low = multivariate_normal.cdf([first, second], cov=[[1, correlation], [correlation, 1]])
        return 1.0 - norm.cdf(first) - norm.cdf(second) + 2.0 * low

    assert float(agreement(found.table)) == pytest.approx(same_side(np.sqrt(r), cut, cut / np.sqrt(r)), abs=1e-7)
    assert float(agreement(found.repeated)) == pytest.approx(same_side(r, cut, cut), abs=1e-7)
    two_scores = same_side(r, cut / np.sqrt(r), cut / np.sqrt(r))
    assert two_scores - float(agreement(found.repeated)) > 0.009  # another quantity


def test_a_cut_that_everybody_passes_changes_nothing():
    rng = np.random.default_rng(6)
    theta, se = rng.normal(0, 1, 30), rng.uniform(0.2, 0.8, 30)
    plain, padded = rudner(theta, se, CUTS), rudner(theta, se, np.array([-INF, *CUTS, INF]))
    np.testing.assert_array_equal(plain.table, padded.table[1:-1, 1:-1])
    np.testing.assert_array_equal(plain.consistency, padded.consistency)
    assert float(kappa(padded.repeated)) == pytest.approx(float(kappa(plain.repeated)), rel=1e-12)


# the number right


def test_recursion_of_kolen_and_brennan():
    """Kolen & Brennan (2004), Test Equating, Scaling, and Linking, p. 183, as stored in R classify's example of wlord."""
    found = summed_score_distribution(np.array([[0.26, 0.27, 0.18]]))
    np.testing.assert_allclose(found, [[0.442964, 0.416708, 0.127692, 0.012636]], rtol=1e-12)


@pytest.mark.parametrize("n_items", [1, 2, 5, 11])
def test_recursion_by_enumeration(n_items):
    success = np.random.default_rng(n_items).uniform(0.02, 0.98, (4, n_items))
    right = patterns(n_items).sum(axis=1)
    expected = [np.bincount(right, weights=pattern_probabilities(row)) for row in success]
    np.testing.assert_allclose(summed_score_distribution(success), expected, **EXACT)


def test_equal_items_are_binomial():
    p = np.array([1e-3, 0.3, 0.5, 0.999])
    found = summed_score_distribution(np.repeat(p[:, None], 61, axis=1))
    np.testing.assert_allclose(found, binom.pmf(np.arange(62), 61, p[:, None]), rtol=1e-9)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, **EXACT)


def test_certain_answers():
    np.testing.assert_array_equal(summed_score_distribution(np.array([[1.0, 0.0, 1.0]])), [[0, 0, 1, 0]])
    np.testing.assert_array_equal(summed_score_distribution(np.zeros((2, 0))), [[1.0], [1.0]])


# the population


def test_population_nodes_integrate_steps_and_curves():
    cuts = np.array([-1.0, 0.3])
    shares, means, sds = np.array([0.3, 0.7]), np.array([-1.0, 0.5]), np.array([0.5, 1.2])
    nodes, weights = population_nodes(shares, means, sds, cuts, 3.0)
    assert weights.sum() == pytest.approx(1.0, rel=1e-13)
    for cut in cuts:
        expected = (shares * norm.sf(cut, means, sds)).sum()
        assert weights[nodes >= cut].sum() == pytest.approx(expected, rel=1e-12)

    def integrand(theta):
        density = (shares * norm.pdf(theta, means, sds)).sum()
        return density / (1.0 + math.exp(-3.0 * (theta - 0.2)))

    parts = [
        quad(integrand, low, high, epsabs=1e-13, epsrel=1e-12)[0] for low, high in itertools.pairwise([-12, -2, 0, 0.4, 2, 12])
    ]
    np.testing.assert_allclose(weights @ logistic(nodes, 3.0, -0.6), sum(parts), **QUADRATURE)


def test_population_nodes_of_flat_items():
    """Panels are then as long as the density allows."""
    nodes, weights = population_nodes(np.ones(1), np.array([0.5]), np.array([2.0]), np.array([-3.0, 4.1]), 0.01)
    for cut in (-3.0, 4.1):
        assert weights[nodes >= cut].sum() == pytest.approx(norm.sf(cut, 0.5, 2.0), rel=1e-12)
    assert weights @ nodes**2 == pytest.approx(4.25, rel=1e-12)


def test_population_nodes_of_very_steep_items():
    nodes, weights = population_nodes(np.ones(1), np.zeros(1), np.ones(1), np.array([0.0]), 200.0)
    with np.errstate(over="ignore"):
        curve = logistic(nodes, 200.0, -100.0)
    expected = quad(lambda t: norm.pdf(t) / (1 + math.exp(-200 * (t - 0.5))), 0.3, 0.7, points=[0.5], epsabs=1e-13, limit=200)[0]
    assert weights @ curve == pytest.approx(expected + norm.sf(0.7), abs=1e-10)


# Lee


def test_lee_by_enumeration():
    """At one ability, and over a population by an independent integral, from all 2^6 patterns."""
    rng = np.random.default_rng(7)
    a, d, c = rng.lognormal(0, 0.3, 6), rng.normal(0, 1, 6), np.array([0, 0.2, 0, 0, 0.1, 0])
    cuts, raw = np.array([-0.4, 0.6]), np.array([3, 5])
    given = np.searchsorted(raw, patterns(6).sum(axis=1), side="right")

    def assigned(theta):
        return np.bincount(given, weights=pattern_probabilities(c + (1 - c) * logistic(theta, a, d)), minlength=3)

    found = lee(np.array([0.1]), np.ones(1), (a, d, c), cuts, raw)
    expected = assigned(0.1)
    np.testing.assert_allclose(found.table, [[0, 0, 0], expected, [0, 0, 0]], **EXACT)
    np.testing.assert_allclose(found.repeated, np.outer(expected, expected), **EXACT)
    np.testing.assert_allclose([found.accuracy[0], found.consistency[0]], [expected[1], (expected**2).sum()], **EXACT)

    nodes, weights = population_nodes(np.ones(1), np.zeros(1), np.ones(1), cuts, a.max())
    found = lee(nodes, weights, (a, d, c), cuts, raw)
    right = [
        quad(lambda t, k=k: norm.pdf(t) * assigned(t)[k], low, high, epsabs=1e-12)[0]
        for k, (low, high) in enumerate(itertools.pairwise([-9.0, *cuts, 9.0]))
    ]
    again = sum(
        quad(lambda t: norm.pdf(t) * (assigned(t) ** 2).sum(), low, low + 3, epsabs=1e-12)[0] for low in (-9, -6, -3, 0, 3, 6)
    )
    np.testing.assert_allclose(np.diag(found.table), right, **QUADRATURE)
    assert float(agreement(found.repeated)) == pytest.approx(again, rel=1e-9)
    np.testing.assert_allclose(found.table.sum(axis=1), np.diff(norm.cdf([-INF, *cuts, INF])), **QUADRATURE)


def test_lee_in_chunks(monkeypatch):
    rng = np.random.default_rng(8)
    a, d, theta, weights = rng.lognormal(0, 0.3, 9), rng.normal(0, 1, 9), rng.normal(0, 1, 50), rng.uniform(0, 1, 50)
    whole = lee(theta, weights, (a, d, None), CUTS, np.array([3, 4, 6]))
    monkeypatch.setattr(decisions, "_CHUNK_CELLS", 70)
    parts = lee(theta, weights, (a, d, None), CUTS, np.array([3, 4, 6]))
    np.testing.assert_allclose(whole.table, parts.table, **EXACT)


def test_mirrored_form_has_mirrored_decisions():
    """Right and wrong exchanged, abilities turned round: X becomes J - X."""
    rng = np.random.default_rng(9)
    a, d, cut = rng.lognormal(0, 0.3, 8), rng.normal(0, 1, 8), np.array([0.2])
    nodes, weights = population_nodes(np.ones(1), np.zeros(1), np.ones(1), cut, a.max())
    one = lee(nodes, weights, (a, d, None), cut, np.array([5]))
    turned = lee(-nodes, weights, (a, -d, None), -cut, np.array([4]))  # X >= 5 is J - X < 4
    np.testing.assert_allclose(one.table, turned.table[::-1, ::-1], **EXACT)


# the posterior mean


def enumerated_eap(a, d, mean=0.0, sd=1.0):
    """Posterior means of all patterns on a dense grid."""
    theta = mean + sd * np.linspace(-9, 9, 6001)
    p, rows = logistic(theta, a, d), patterns(len(a))
    density = np.exp(rows @ np.log(p).T + (1 - rows) @ np.log1p(-p).T - 0.5 * ((theta - mean) / sd) ** 2)
    return density @ theta / density.sum(axis=1)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_posterior_mean_by_enumeration(sign):
    rng = np.random.default_rng(10)
    a, d = rng.lognormal(0, 0.3, 8), rng.normal(0, 1, 8)
    a[3] *= sign
    cuts, prior = np.array([-0.3, 0.5]), (0.2, 1.3)
    given = np.searchsorted(cuts, enumerated_eap(a, d, *prior), side="right")
    theta = np.array([-1.5, 0.0, 0.4, 2.0])
    assigned = np.array([np.bincount(given, weights=pattern_probabilities(row), minlength=3) for row in logistic(theta, a, d)])
    found = posterior_mean(theta, np.ones(4), a, d, cuts, prior)
    true = np.searchsorted(cuts, theta, side="right")
    np.testing.assert_allclose(found.accuracy, assigned[np.arange(4), true], **EXACT)
    np.testing.assert_allclose(found.consistency, (assigned**2).sum(axis=1), **EXACT)


def test_equal_items_make_the_posterior_mean_a_number_right():
    """Rasch: the levels of EAP are those of the number right at the matching raw cut, whatever the number of items."""
    a, d = np.full(40, 0.9), np.linspace(-2, 2, 40)
    nodes, weights = population_nodes(np.ones(1), np.zeros(1), np.ones(1), CUTS, 0.9)
    thresholds = weighted_scores.score_thresholds(a, d, CUTS)
    raw = np.ceil(thresholds / 0.9).astype(int)
    np.testing.assert_allclose(
        posterior_mean(nodes, weights, a, d, CUTS).table,
        lee(nodes, weights, (a, d, None), CUTS, raw).table,
        rtol=1e-10,
        atol=1e-14,
    )


def test_a_tie_at_the_cut_is_the_upper_level():
    """Ten items in pairs of d and -d: five right has a posterior mean of 0 by symmetry, which reaches a cut at 0."""
    a, d = np.ones(10), np.array([0.3, 0.7, 1.1, 1.5, 2.0])
    found = posterior_mean(np.zeros(1), np.ones(1), a, np.concatenate([d, -d]), np.zeros(1))
    upper = summed_score_distribution(logistic(np.zeros(1), a, np.concatenate([d, -d])))[0, 5:].sum()
    assert found.accuracy[0] == pytest.approx(upper, rel=1e-10)


def test_cuts_out_of_reach_of_the_posterior_mean():
    found = weighted_scores.score_thresholds(np.ones(3), np.zeros(3), np.array([-INF, -5.0, 5.0, INF]))
    assert found.tolist() == [-INF, -INF, INF, INF]


@pytest.mark.parametrize(("n_items", "tolerance"), [(14, 1e-2), (17, 4e-3)])
def test_lattice_by_enumeration(n_items, tolerance):
    """Where the scores are too many to be kept apart; the tolerances are those of the docstring, between items."""
    rng = np.random.default_rng(n_items)
    weights, success = rng.lognormal(0, 0.3, n_items), rng.uniform(0.1, 0.9, (2, n_items))
    scores = patterns(n_items) @ weights
    thresholds = np.sort(rng.uniform(0, weights.sum(), 20))
    expected = np.array([[mass[scores >= cut].sum() for cut in thresholds] for mass in map(pattern_probabilities, success)])
    np.testing.assert_allclose(weighted_scores.weighted_score_tails(success, weights, thresholds), expected, atol=tolerance)


def test_lattice_ends_and_finer_lattice(monkeypatch):
    rng = np.random.default_rng(11)
    weights, success = rng.lognormal(0, 0.3, 35), rng.uniform(0.1, 0.9, (3, 35))
    thresholds = np.array([-INF, -1.0, *np.linspace(8, 28, 30), weights.sum() + 1.0, INF])
    found = weighted_scores.weighted_score_tails(success, weights, thresholds)
    np.testing.assert_allclose(found[:, :2], 1.0, **EXACT)
    np.testing.assert_allclose(found[:, -2:], 0.0, atol=1e-15)
    monkeypatch.setattr(weighted_scores, "MAX_ATOMS", 2**17)
    monkeypatch.setattr(weighted_scores, "_atoms", lambda weights: None)
    np.testing.assert_allclose(found, weighted_scores.weighted_score_tails(success, weights, thresholds), atol=1e-4)
