"""The verb: against the normal, enumeration and simulation; what it refuses; what its tables say."""

import dataclasses
import itertools
import math
import types

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import psychoedu as pe
from benchmarks import levels as benchmark
from psychoedu.exceptions import DataError, LabelError
from psychoedu.standard_setting.accuracy import classification_accuracy

EXACT = {"rtol": 1e-12, "atol": 1e-15}
INTEGRAL = 1e-9
BAND = 0.01
CALIBRATION = 0.02
N_ERRORS = 4.0
INF = np.inf
CUTS = {"B1": -0.6, "B2": 0.2, "C1": 1.1}
LEVELS = ["below B1", "B1", "B2", "C1"]


@pytest.fixture
def scores():
    rng = np.random.default_rng(1)
    labels = [f"r{k}" for k in range(40)]
    return pd.DataFrame({"theta": rng.normal(0, 1, 40), "theta_se": rng.uniform(0.2, 0.6, 40)}, index=labels)


@pytest.fixture
def bank():
    rng = np.random.default_rng(2)
    return pe.ItemBank.from_arrays([f"q{k}" for k in range(8)], rng.lognormal(0, 0.3, 8), rng.normal(0, 1, 8))


def enumerated(bank, theta, levels_of_rows, n_levels):
    """P(level | theta) from all patterns."""
    rows = np.array(list(itertools.product([0, 1], repeat=bank.n_items)))
    success = 1.0 / (1.0 + np.exp(-(bank.discrimination * theta + bank.intercept)))
    mass = np.prod(np.where(rows == 1, success, 1.0 - success), axis=1)
    return np.bincount(levels_of_rows(rows), weights=mass, minlength=n_levels)


# Rudner


def test_one_score():
    """Theta .3, SE .4, cuts -.5, 0, .5."""
    one = pd.DataFrame({"theta": [0.3], "theta_se": [0.4]})
    found = classification_accuracy(one, [-0.5, 0.0, 0.5])
    np.testing.assert_allclose(found.by_level["true"], [0.02275, 0.20388, 0.46484, 0.30854], atol=5e-6)
    assert found.by_cut.loc["level 3", "accuracy"] == pytest.approx(0.77337, abs=5e-6)
    assert found.by_cut.loc["level 3", "consistency"] == pytest.approx(0.64947, abs=5e-6)
    assert found.accuracy == pytest.approx(0.46484, abs=5e-6)


def test_tables_agree_with_one_another(scores):
    found = classification_accuracy(scores, CUTS)
    assert list(found.table.index) == list(found.table.columns) == list(found.by_level.index) == LEVELS
    assert list(found.by_cut.index) == LEVELS[1:]
    assert found.table.to_numpy().sum() == pytest.approx(1.0, rel=1e-12)
    assert found.accuracy == pytest.approx(np.trace(found.table), rel=1e-12)
    assert found.accuracy == pytest.approx(found.respondents.mean(), rel=1e-12)
    shares = [(np.digitize(scores["theta"], list(CUTS.values())) == k).mean() for k in range(4)]
    np.testing.assert_allclose(found.by_level["assigned"], shares, **EXACT)
    np.testing.assert_allclose(found.by_level["accuracy"] * found.by_level["true"], np.diag(found.table), **EXACT)
    np.testing.assert_allclose(found.by_level["correct"] * found.by_level["assigned"], np.diag(found.table), **EXACT)
    np.testing.assert_allclose(found.by_cut[["accuracy", "false_positive", "false_negative"]].sum(axis=1), 1.0, **EXACT)
    for level, cut in CUTS.items():
        upper = norm.sf(cut, scores["theta"], scores["theta_se"])
        said = scores["theta"].to_numpy() >= cut
        assert found.by_cut.loc[level, "false_positive"] == pytest.approx(((1 - upper) * said).mean(), rel=1e-10)
        assert found.by_cut.loc[level, "false_negative"] == pytest.approx((upper * ~said).mean(), rel=1e-10)
        assert found.by_cut.loc[level, "consistency"] == pytest.approx((upper**2 + (1 - upper) ** 2).mean(), rel=1e-10)


def test_each_cut_alone_is_the_test_with_that_cut(scores):
    found = classification_accuracy(scores, CUTS)
    for level, cut in CUTS.items():
        alone = classification_accuracy(scores, {level: cut})
        np.testing.assert_allclose(alone.by_cut.loc[level], found.by_cut.loc[level], rtol=1e-10)
        assert alone.kappa == pytest.approx(found.by_cut.loc[level, "kappa"], rel=1e-10)


def test_order_of_respondents_and_weights(scores):
    weights = pd.Series(np.arange(40) % 3, index=scores.index)
    one = classification_accuracy(scores, CUTS, weights=weights)
    other = classification_accuracy(scores.iloc[::-1], CUTS, weights=weights)
    repeated = pd.concat([scores[weights >= 1], scores[weights >= 2].rename(index=lambda label: f"{label} again")])
    counted = classification_accuracy(repeated, CUTS)
    for found in (other, counted):
        np.testing.assert_allclose(found.table, one.table, rtol=1e-10)
        np.testing.assert_allclose(found.by_cut, one.by_cut, rtol=1e-10)
        assert (found.n, found.kappa) == (pytest.approx(one.n), pytest.approx(one.kappa))


def test_ways_of_giving_cut_scores(scores):
    expected = classification_accuracy(scores, CUTS)
    cut_scores = pe.standard_setting.CutScores.from_values(CUTS)
    for given in (pd.Series(CUTS), cut_scores):
        pd.testing.assert_frame_equal(classification_accuracy(scores, given).by_cut, expected.by_cut)
    plain = classification_accuracy(scores, np.array(list(CUTS.values())))
    assert list(plain.by_level.index) == ["below level 2", "level 2", "level 3", "level 4"]


def test_respondents_without_a_score_are_named(scores):
    scores.iloc[3, 0], scores.iloc[5, 1], scores.iloc[7] = np.nan, np.nan, [INF, np.nan]
    found = classification_accuracy(scores, CUTS)
    assert found.diagnostics == ("3 respondents without a finite score and standard error left out: 'r3', 'r5', 'r7'",)
    assert found.respondents.isna().sum() == 3
    assert found.n == 37
    pd.testing.assert_frame_equal(found.table, classification_accuracy(scores.drop(["r3", "r5", "r7"]), CUTS).table)


def test_everybody_on_one_side_has_no_kappa():
    sure = pd.DataFrame({"theta": [0.0, 1.0], "theta_se": [0.0, 0.0]})
    found = classification_accuracy(sure, {"pass": -3.0})
    assert (found.accuracy, found.consistency) == (1.0, 1.0)
    assert np.isnan(found.kappa)
    assert "kappa does not exist: everybody is in one level" in found.diagnostics
    assert np.isnan(found.by_level.loc["below pass", "accuracy"])


def test_scores_of_the_library(bank):
    rng = np.random.default_rng(3)
    responses = pd.DataFrame(rng.integers(0, 2, (30, 8)), columns=bank.labels)
    scores = pe.score(bank, responses)
    one, other = classification_accuracy(scores, CUTS), classification_accuracy(scores.to_frame(), CUTS)
    np.testing.assert_array_equal(one.table, other.table)
    infinite = pe.score(bank, pd.DataFrame(np.ones((1, 8), dtype=int), columns=bank.labels), "ml")
    with pytest.raises(DataError, match="nobody to classify"):
        classification_accuracy(infinite, CUTS)


# Lee and EAP


def integral(function, edges):
    parts = [quad(function, low, high, epsabs=1e-12, limit=200)[0] for low, high in itertools.pairwise(edges)]
    return sum(parts)


@pytest.mark.parametrize(("rounding", "rule"), [("up", np.ceil), ("down", np.floor), ("nearest", np.round)])
def test_lee_by_enumeration_and_integration(bank, rounding, rule):
    cuts = np.array(list(CUTS.values()))
    found = classification_accuracy(None, CUTS, "lee", bank=bank, rounding=rounding, population=(0.2, 1.1))
    curve = [
        sum(1 / (1 + math.exp(-(a * cut + d))) for a, d in zip(bank.discrimination, bank.intercept, strict=True)) for cut in cuts
    ]
    raw = rule(curve).astype(int)
    assert found.by_cut["raw_cut"].tolist() == raw.tolist()

    def assigned(theta):
        return enumerated(bank, theta, lambda rows: np.digitize(rows.sum(axis=1), raw), 4)

    edges = [-8.0, *cuts, 8.0]
    right = [integral(lambda t, k=k: norm.pdf(t, 0.2, 1.1) * assigned(t)[k], edges[k : k + 2]) for k in range(4)]
    again = integral(lambda t: norm.pdf(t, 0.2, 1.1) * (assigned(t) ** 2).sum(), edges)
    np.testing.assert_allclose(np.diag(found.table), right, atol=INTEGRAL)
    assert found.consistency == pytest.approx(again, abs=INTEGRAL)
    assert (found.n, found.respondents) == (None, None)


def test_eap_by_enumeration(bank):
    """All patterns scored by pe.score, their levels weighted by their probability at each respondent's ability."""
    cuts = np.array(list(CUTS.values()))
    rows = np.array(list(itertools.product([0, 1], repeat=8)))
    given = np.digitize(pe.score(bank, rows_of(bank, rows), prior_mean=-0.1, prior_sd=1.2).theta, cuts)
    theta = pd.DataFrame({"theta": [-1.0, 0.0, 0.3, 1.5]}, index=list("abcd"))
    found = classification_accuracy(theta, CUTS, "eap", bank=bank, population=None, prior=(-0.1, 1.2))
    assigned = np.array([enumerated(bank, t, lambda rows: given, 4) for t in theta["theta"]])
    np.testing.assert_allclose(found.respondents, assigned[np.arange(4), np.digitize(theta["theta"], cuts)], rtol=1e-9)
    assert found.consistency == pytest.approx((assigned**2).sum(axis=1).mean(), rel=1e-9)


def rows_of(bank, rows):
    return pd.DataFrame(rows, columns=bank.labels)


def test_mixture_is_the_mean_of_its_parts(bank):
    parts = [(0.25, -1.0, 0.5), (0.75, 0.4, 1.2)]
    mixed = classification_accuracy(None, CUTS, "lee", bank=bank, population=parts)
    alone = [classification_accuracy(None, CUTS, "lee", bank=bank, population=part[1:]) for part in parts]
    np.testing.assert_allclose(mixed.table, 0.25 * alone[0].table + 0.75 * alone[1].table, atol=1e-13)
    assert mixed.consistency == pytest.approx(0.25 * alone[0].consistency + 0.75 * alone[1].consistency, rel=1e-12)
    assert "0.25 N(-1, 0.5) + 0.75 N(0.4, 1.2)" in mixed.about[0]


@pytest.mark.parametrize("method", ["lee", "eap"])
def test_many_respondents_are_their_population(bank, method):
    """Abilities at the midpoints of equal shares of N(0, 1)."""
    theta = norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    persons = classification_accuracy(pd.DataFrame({"theta": theta}), CUTS, method, bank=bank, population=None)
    population = classification_accuracy(None, CUTS, method, bank=bank)
    np.testing.assert_allclose(persons.table, population.table, atol=1e-4)
    np.testing.assert_allclose(persons.by_cut, population.by_cut, atol=2e-4)
    assert persons.n == 20_000


def test_form_is_part_of_the_bank(bank):
    form = ["q5", "q1", "q2"]
    one = classification_accuracy(None, {"pass": 0.0}, "lee", bank=bank, items=form)
    other = classification_accuracy(None, {"pass": 0.0}, "lee", bank=types.SimpleNamespace(bank=bank.select(form)))
    pd.testing.assert_frame_equal(one.by_cut, other.by_cut)


def test_given_raw_cuts_and_levels_that_no_score_gives(bank):
    given = classification_accuracy(None, CUTS, "lee", bank=bank, raw_scores=[4, 4, 9])
    assert given.by_cut["raw_cut"].tolist() == [4, 4, 9]
    assert "2 levels that no number right gives: 'B1', 'C1'" in given.diagnostics
    np.testing.assert_array_equal(given.by_level.loc[["B1", "C1"], "assigned"], 0.0)
    assert given.by_level.loc[["B1", "C1"], "correct"].isna().all()


@pytest.mark.parametrize("method", ["rudner", "lee", "eap"])
def test_open_ended_cuts(bank, scores, method):
    inner = classification_accuracy(scores, {"B1": 0.2}, method, bank=bank)
    padded = classification_accuracy(scores, {"A": -INF, "B1": 0.2, "C": INF}, method, bank=bank)
    np.testing.assert_allclose(padded.table.loc[["A", "B1"], ["A", "B1"]], inner.table, **EXACT)
    np.testing.assert_allclose(padded.consistency, inner.consistency, **EXACT)
    assert padded.by_cut.loc["A", "accuracy"] == pytest.approx(1.0, rel=1e-12)


def test_guessing_counts_for_lee():
    frame = pd.DataFrame({"discrimination": 1.0, "difficulty": [-1.0, 0.0, 1.0], "guessing": 0.25}, index=list("abc"))
    guessed = classification_accuracy(None, {"pass": 0.0}, "lee", bank=pe.ItemBank(frame))
    plain = classification_accuracy(None, {"pass": 0.0}, "lee", bank=pe.ItemBank(frame.drop(columns="guessing")))
    assert guessed.accuracy < plain.accuracy


# what is refused


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"method": "lea"}, DataError, "method has to be one of 'rudner', 'lee', 'eap'"),
        ({"cut_scores": {"B1": 0.5, "B2": 0.1}}, DataError, "fall from B1"),
        ({"cut_scores": [0.5, 0.5]}, DataError, "are equal"),
        ({"cut_scores": []}, DataError, "cut scores"),
        ({"cut_scores": {"B1": np.nan}}, DataError, "No cut score for 'B1'"),
        ({"scores": None}, DataError, "scores is nothing"),
        ({"scores": [0.1, 0.2]}, DataError, "scores is a list"),
        ({"scores": pd.DataFrame({"theta": [0.1]})}, LabelError, "lacks 1 column: 'theta_se'"),
        ({"scores": pd.DataFrame({"EAP": [0.1]}), "method": "lee", "population": None}, LabelError, "lacks 1 column: 'theta'"),
        ({"scores": pd.DataFrame({"theta": [0.1], "theta_se": [-0.2]})}, DataError, "theta_se of 1 respondent is negative"),
        ({"scores": pd.DataFrame({"theta": ["high"], "theta_se": [0.2]})}, DataError, "has to hold numbers"),
        ({"method": "lee", "bank": None}, DataError, "needs the item parameters: bank="),
        ({"method": "lee", "items": [1, 2]}, LabelError, "no item in common"),
        ({"method": "lee", "items": ["q1", "other"]}, LabelError, "1 item not found: 'other'"),
        ({"method": "lee", "rounding": "ceil"}, DataError, "rounding has to be one of"),
        ({"method": "lee", "raw_scores": [1, 2]}, DataError, "a whole number from 0 to 9 for each of 3 cuts"),
        ({"method": "lee", "raw_scores": [1, 2, 2.5]}, DataError, "a whole number from 0 to 9"),
        ({"method": "lee", "raw_scores": [5, 4, 6]}, DataError, "decrease: 5, 4, 6"),
        ({"method": "lee", "population": (0.0, 0.0)}, DataError, "standard deviation of population has to be above 0"),
        ({"method": "lee", "population": 1.0}, DataError, "population has to be a mean and a standard deviation"),
        ({"method": "lee", "population": [(0.5, 0, 1), (0.4, 1, 1)]}, DataError, "sum to 0.9"),
        ({"method": "lee", "population": [(1.0, 0)]}, DataError, r"\(share, mean, SD\)"),
        ({"method": "lee", "weights": [1.0]}, DataError, "weights are those of respondents"),
        ({"method": "eap", "prior": (0.0, -1.0)}, DataError, "standard deviation of prior"),
    ],
)
def test_what_is_refused(scores, bank, arguments, error, message):
    given = {"scores": scores, "cut_scores": CUTS, "bank": bank} | arguments
    with pytest.raises(error, match=message) as caught:
        classification_accuracy(given.pop("scores"), given.pop("cut_scores"), given.pop("method", "rudner"), **given)
    assert len(str(caught.value).splitlines()) <= 3


def test_guessing_is_refused_for_eap():
    bank = pe.ItemBank(pd.DataFrame({"discrimination": [1.0], "difficulty": [0.0], "guessing": [0.2]}, index=["q1"]))
    with pytest.raises(DataError, match="1 item with guessing: 'q1'"):
        classification_accuracy(None, CUTS, "eap", bank=bank)


def test_a_falling_curve_is_refused():
    bank = pe.ItemBank.from_arrays(list("abcdef"), [-1.0] * 6, [0.0] * 6)
    with pytest.raises(DataError, match="raw cuts of 'B1', 'B2', 'C1' decrease"):
        classification_accuracy(None, CUTS, "lee", bank=bank)


def test_result_reads_and_keeps(scores, bank):
    found = classification_accuracy(scores, CUTS)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.accuracy = 1.0
    assert f"accuracy {found.accuracy:.3f}" in found.summary()
    assert "not two administrations" in found.summary()
    assert "two administrations of the form" in classification_accuracy(None, CUTS, "lee", bank=bank).summary()
    assert repr(found).startswith("ClassificationAccuracy(4 levels, method='rudner', accuracy=")
    assert "<table" in found._repr_html_()
    assert list(scores.columns) == ["theta", "theta_se"]


# simulation


def test_calibration_error_by_hand():
    """Four respondents in two bins: 0.2 and 0.3 with one hit of two, 0.8 and 0.9 with two of two."""
    p = np.array([0.9, 0.2, 0.8, 0.3])
    found = benchmark.calibration_errors(np.column_stack([1 - p, p]), np.array([1, 0, 1, 1]), n_bins=2)
    np.testing.assert_allclose(found, (abs(0.25 - 0.5) + abs(0.85 - 1.0)) / 2, **EXACT)


def test_levels_are_calibrated():
    errors, _ = benchmark.calibration_of_levels(35, n_data_sets=1)
    assert errors.max() < CALIBRATION


def test_estimates_are_of_what_they_say():
    """35 items, 30,000 respondents; the sum of squares against two administrations is another quantity and is not asked."""
    found = {each.quantity: each for each in benchmark.compare(35, 30_000)}
    asked = [each for name, each in found.items() if name != "EAP levels of two administrations: Rudner's sum of squares"]
    assert len(asked) == 7
    assert [each for each in asked if abs(each.difference) > N_ERRORS * each.error] == []


@pytest.mark.slow
@pytest.mark.parametrize("n_items", benchmark.N_ITEMS)
def test_bands_of_the_validation(n_items):
    errors, _ = benchmark.calibration_of_levels(n_items)
    assert errors.mean(axis=1).max() < CALIBRATION
    assert errors.max() < CALIBRATION
    found = {each.quantity: each for each in benchmark.compare(n_items)}
    other = found.pop("EAP levels of two administrations: Rudner's sum of squares")
    assert {name: each for name, each in found.items() if abs(each.difference) >= BAND} == {}
    bank = found["EAP levels of two administrations: from the bank"]
    assert other.difference < -N_ERRORS * other.error  # two draws from a posterior agree less often than two scores
    assert abs(bank.difference) < N_ERRORS * bank.error
