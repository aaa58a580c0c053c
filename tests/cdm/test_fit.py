"""Absolute fit of diagnoses: against R GDINA's modelfit and itemfit, enumeration of all responses, simulation, and D20."""

import itertools

import cdm_stand_in as stand_in
import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, ncx2

from psychoedu.cdm.accuracy import classification_accuracy
from psychoedu.cdm.diagnose import diagnose
from psychoedu.cdm.fit import absolute_fit
from psychoedu.cdm.limited_information import m2_statistic, rmsea_interval
from psychoedu.cdm.moments import (
    conditional_moments,
    moment_covariance,
    moment_jacobian,
    observed_moments,
    overlap,
    pair_counts,
)
from psychoedu.cdm.multiplicity import bonferroni, holm
from psychoedu.cdm.pair_fit import pair_residuals, srmsr
from psychoedu.cdm.q_validation import validate_q
from psychoedu.cdm.selection import choose_item_models
from psychoedu.exceptions import DataError

CLOSED = {"rtol": 1e-12, "atol": 1e-14}
GDINA = {"rtol": 1e-8}
FULL_RANK = [
    ("cdm_ecpe", "gdina_saturated"),
    ("cdm_ecpe", "gdina_ho"),
    ("cdm_ecpe", "dina_saturated"),
    ("cdm_ecpe", "dina_ho"),
    ("cdm_sim10GDINA", "dina_saturated"),
    ("cdm_sim10GDINA", "dina_ho"),
]
DEFICIENT = {
    ("cdm_ecpe", "acdm_ho"): 3,  # single-attribute items alone: the scale of each attribute's effects goes with its variance
    ("cdm_sim10GDINA", "acdm_ho"): 3,
    ("cdm_sim10GDINA", "gdina_saturated"): 1,  # the interaction of three attributes in one item, the others having two at most
    ("cdm_sim10GDINA", "gdina_ho"): 1,
}
Q = np.array([[1, 0], [0, 1], [1, 1], [1, 0], [0, 1], [1, 1]])
PROBABILITIES = [[0.2, 0.8], [0.1, 0.7], [0.2, 0.4, 0.5, 0.9], [0.3, 0.9], [0.25, 0.75], [0.15, 0.2, 0.3, 0.85]]
PRIOR = np.array([0.3, 0.2, 0.15, 0.35])


@pytest.fixture
def small():
    return stand_in.simulated(Q, PROBABILITIES, PRIOR, 1000, 1)[0]


def m2_of(fit, scored=None, weights=None, free=True, **options):
    items, prior = fit.jacobians()
    if not free:
        items, prior = [own[:, :0] for own in items], prior[:, :0]
    data = fit.source.scored if scored is None else scored
    return m2_statistic(data, weights, fit.success, fit.prior, items, prior, **options)


# ---- against R GDINA


@pytest.mark.shared
@pytest.mark.parametrize(("folder", "name"), FULL_RANK)
def test_gdina_modelfit(shared, folder, name):
    fit = stand_in.gdina_fit(shared, folder, name)
    expected = fit.reference["modelfit"]
    found = absolute_fit(fit, class_weights="posterior")
    assert found.m2 == pytest.approx(expected["M2"], rel=1e-8)
    assert found.df == expected["df"]
    assert found.p_value == pytest.approx(expected["p"], rel=1e-4)  # theirs is 1 - cdf, with 1e-16 of absolute error
    assert found.rmsea2 == pytest.approx(expected["RMSEA2"], rel=1e-8)
    interval = found.statistics.loc["rmsea2", ["low", "high"]].to_numpy(dtype=float)
    np.testing.assert_allclose(interval, expected["RMSEA2_CI90"], atol=1e-8)
    assert found.srmsr == pytest.approx(expected["SRMSR"], rel=1e-10)
    assert not found.notes
    assert (found.statistics["reason"] == "").all()


@pytest.mark.shared
@pytest.mark.parametrize(("case", "deficiency"), DEFICIENT.items())
def test_df_counts_the_parameters_that_moments_tell_apart(shared, case, deficiency):
    """GDINA leaves out as many further directions as columns are redundant; a projection on fewer directions is smaller."""
    fit = stand_in.gdina_fit(shared, *case)
    expected = fit.reference["modelfit"]
    found = absolute_fit(fit, class_weights="posterior")
    assert found.df == expected["df"] + deficiency
    assert expected["M2"] <= found.m2 <= expected["M2"] + chi2.isf(1e-4, deficiency)
    assert found.srmsr == pytest.approx(expected["SRMSR"], rel=1e-10)
    assert "parameters apart" in found.notes[0]
    jacobian = moment_jacobian(fit.success, fit.posterior().mean(axis=0), *fit.jacobians())
    assert np.linalg.matrix_rank(jacobian) == fit.n_parameters - deficiency


@pytest.mark.shared
def test_with_saturated_profiles_both_class_weights_agree(shared):
    fit = stand_in.gdina_fit(shared, "cdm_ecpe", "gdina_saturated")
    assert absolute_fit(fit).m2 == pytest.approx(absolute_fit(fit, class_weights="posterior").m2, rel=1e-7)


@pytest.mark.shared
@pytest.mark.parametrize(("folder", "name"), [("cdm_ecpe", "gdina_ho"), ("cdm_sim10GDINA", "dina_saturated")])
def test_gdina_itemfit(shared, folder, name):
    """Observed figures to the four printed digits; expected ones, which GDINA simulates, within 4.5 of its Monte Carlo errors."""
    fit = stand_in.gdina_fit(shared, folder, name)
    pairs = absolute_fit(fit, class_weights="posterior").pairs
    n = len(fit.source.scored)
    simulated = n * np.ceil(max(100_000, 10 * n) / n)
    r, odds = (fit.reference["itemfit"][key] for key in ("r", "logOR"))
    assert [f"I{j:02d}" for j in r["item.pair.1"]] == list(pairs["item_1"])
    assert [f"I{j:02d}" for j in r["item.pair.2"]] == list(pairs["item_2"])
    np.testing.assert_allclose(pairs["r_observed"], r["observed.r"], atol=5.1e-5)
    np.testing.assert_allclose(pairs["r_se"], r["rstat.SE"], atol=5.1e-5)
    np.testing.assert_allclose(pairs["r_expected"], r["expected.r"], atol=4.5 / np.sqrt(simulated))
    np.testing.assert_allclose(pairs["log_odds_observed"], odds["observed.logOR"], atol=5.1e-5)
    error = pairs["log_odds_se"] * np.sqrt(n / simulated)
    assert (np.abs(pairs["log_odds_expected"] - odds["expected.logOR"]) < 4.5 * error + 5e-5).all()
    np.testing.assert_allclose(pairs["log_odds_se"], odds["lstat.SE"], rtol=0.05)


# ---- closed form


def test_moments_and_their_covariance_by_enumeration(small):
    success, prior = small.success[:4], small.prior
    responses = np.array(list(itertools.product([0, 1], repeat=4)))
    likelihood = np.where(responses[:, :, None] == 1, success, 1 - success).prod(axis=1) @ prior
    first, second = np.triu_indices(4, 1)
    moments = np.concatenate([responses, responses[:, first] * responses[:, second]], axis=1)
    mean = likelihood @ moments
    expected = (moments * likelihood[:, None]).T @ moments - np.outer(mean, mean)
    np.testing.assert_allclose(conditional_moments(success) @ prior, mean, **CLOSED)
    np.testing.assert_allclose(moment_covariance(success, prior), expected, **CLOSED)


def test_moment_jacobian_by_complex_steps(small):
    step = 1e-30
    jacobian = moment_jacobian(small.success, small.prior, *small.jacobians())
    columns = []
    for j, own in enumerate(small.probabilities):
        for cell in range(len(own)):
            success = small.success.astype(complex)
            success[j, small.item_groups[j] == cell] += step * 1j
            columns.append((conditional_moments(success) @ small.prior).imag / step)
    for parameter in range(3):
        prior = small.prior + step * 1j * small.prior_jacobian[:, parameter]
        columns.append((conditional_moments(small.success) @ prior).imag / step)
    np.testing.assert_allclose(jacobian, np.array(columns).T, **CLOSED)


def test_m2_is_the_projection_of_maydeu_olivares_and_joe(small):
    """N d' C d with C = U (U' Xi U)^-1 U', U the orthogonal complement of the jacobian: the other way to write it."""
    jacobian = moment_jacobian(small.success, small.prior, *small.jacobians())
    covariance = moment_covariance(small.success, small.prior)
    rank = np.linalg.matrix_rank(jacobian)
    complement = np.linalg.svd(jacobian)[0][:, rank:]
    scored = small.source.scored.astype(float)
    first, second = np.triu_indices(6, 1)
    observed = np.concatenate([scored.mean(axis=0), (scored[:, first] * scored[:, second]).mean(axis=0)])
    d = complement.T @ (observed - conditional_moments(small.success) @ small.prior)
    expected = len(scored) * d @ np.linalg.solve(complement.T @ covariance @ complement, d)
    found = m2_of(small)
    assert found.m2 == pytest.approx(expected, rel=1e-9)
    assert found.df == 21 - rank
    assert found.p_value == pytest.approx(chi2.sf(expected, 21 - rank), rel=1e-8)


def test_missing_cells_have_the_covariance_of_their_own_counts(small):
    """Sum over respondents of the indicators, divided by the counts, written out respondent by respondent."""
    scored = small.source.scored[:40].copy()
    scored[np.random.default_rng(5).random(scored.shape) < 0.3] = -1
    first, second = np.triu_indices(6, 1)
    present = np.array([[*(row >= 0), *((row[first] >= 0) & (row[second] >= 0))] for row in scored], dtype=float)
    weights = np.arange(1.0, 41.0)
    expected = sum(weight * np.outer(row, row) for weight, row in zip(weights, present, strict=True))
    np.testing.assert_allclose(overlap(scored, weights, np.ones(21, dtype=bool)), expected, **CLOSED)
    proportion, n = observed_moments(pair_counts(scored, weights))
    np.testing.assert_allclose(n, weights @ present, **CLOSED)
    joint = np.array([[*(row == 1), *((row[first] == 1) & (row[second] == 1))] for row in scored], dtype=float)
    np.testing.assert_allclose(proportion, (weights @ joint) / n, **CLOSED)


def test_rmsea_interval_is_where_the_tails_are():
    low, high = rmsea_interval(120.0, 60.0, 800, 0.90)
    assert ncx2.cdf(120.0, 60.0, low**2 * 800 * 60) == pytest.approx(0.95, abs=1e-9)
    assert ncx2.cdf(120.0, 60.0, high**2 * 800 * 60) == pytest.approx(0.05, abs=1e-9)
    assert rmsea_interval(20.0, 60.0, 800, 0.90) == (0.0, 0.0)
    assert rmsea_interval(55.0, 60.0, 800, 0.90)[0] == 0.0


def test_residuals_of_one_pair_by_hand():
    """40 right-right, 10 and 20 mixed, 30 wrong-wrong; the model expects independence at 0.5 and 0.6."""
    table = np.repeat(np.array([[1, 1], [1, 0], [0, 1], [0, 0]], dtype=np.int8), [40, 10, 20, 30], axis=0)
    success = np.array([[0.5], [0.6]])
    found = pair_residuals(pair_counts(table), success, np.ones(1))
    phi = (40 * 30 - 10 * 20) / np.sqrt(50 * 50 * 60 * 40)
    assert found.correlation["observed"][0] == pytest.approx(phi, rel=1e-12)
    assert found.correlation["z"][0] == pytest.approx(np.arctanh(phi) * np.sqrt(97), rel=1e-12)
    assert found.log_odds["residual"][0] == pytest.approx(np.log(40 * 30 / (10 * 20)), rel=1e-12)
    assert found.log_odds["se"][0] == pytest.approx(np.sqrt((1 / 0.3 + 1 / 0.2 + 1 / 0.3 + 1 / 0.2) / 100), rel=1e-12)
    assert srmsr(pair_counts(table), success, np.ones(1))[0] == pytest.approx(phi, rel=1e-12)


def test_adjusted_p_values():
    """R 4: p.adjust(c(.01, .02, .03, .04, .05), "holm") = .05 .08 .09 .09 .09."""
    p = np.array([0.03, 0.01, np.nan, 0.05, 0.02, 0.04])
    np.testing.assert_allclose(holm(p), [0.09, 0.05, np.nan, 0.09, 0.08, 0.09], rtol=1e-12)
    np.testing.assert_allclose(bonferroni(p), [0.15, 0.05, np.nan, 0.25, 0.1, 0.2], rtol=1e-12)
    assert bonferroni(np.array([0.9, 0.8])).tolist() == [1.0, 1.0]


# ---- simulation


@pytest.mark.parametrize("missing", [0.0, 0.35], ids=["complete", "missing"])
def test_m2_of_the_true_parameters_is_chi_square(missing):
    """No parameter estimated: df = 21 moments, and the mean and variance of M2 are those of the chi-square."""
    values = []
    for seed in range(300):
        fit = stand_in.simulated(Q, PROBABILITIES, PRIOR, 1500, seed, missing)[0]
        result = m2_of(fit, free=False)
        assert result.df == 21
        values.append(result.m2)
    assert np.mean(values) == pytest.approx(21, abs=4 * np.sqrt(42 / 300))
    assert np.mean(np.array(values) < chi2.ppf(0.9, 21)) == pytest.approx(0.9, abs=4 * np.sqrt(0.09 / 300))


# ---- invariants


def test_order_of_items_does_not_matter(small):
    order = [4, 2, 0, 5, 1, 3]
    turned = stand_in.StandIn(Q[order], [PROBABILITIES[j] for j in order], PRIOR, small.source.scored[:, order])
    one, other = absolute_fit(small), absolute_fit(turned)
    assert one.m2 == pytest.approx(other.m2, rel=1e-9)
    assert one.srmsr == pytest.approx(other.srmsr, rel=1e-12)
    assert one.max_abs_z_correlation == pytest.approx(other.max_abs_z_correlation, rel=1e-12)


def test_weights_are_repeated_rows_and_empty_rows_are_nobody(small):
    scored = small.source.scored[:300].copy()
    scored[:120, 5] = -1
    weights = np.tile([3.0, 1.0, 2.0], 100)
    options = {"minimum_joint": 1}
    weighted = m2_of(small, scored, weights, **options)
    repeated = m2_of(small, np.repeat(scored, weights.astype(int), axis=0), **options)
    padded = m2_of(small, np.vstack([scored, np.full((7, 6), -1, dtype=np.int8)]), np.append(weights, np.ones(7)), **options)
    assert weighted.n == repeated.n == padded.n == 600
    assert weighted.m2 == pytest.approx(repeated.m2, rel=1e-10)
    assert weighted.m2 == pytest.approx(padded.m2, rel=1e-10)


# ---- edges (D20)


def two_forms(small, shared_rows):
    """Item 1 on one form, item 6 on the other, and a few respondents who saw both."""
    scored = small.source.scored.copy()
    scored[: 500 - shared_rows, 0] = -1
    scored[500:, 5] = -1
    return stand_in.StandIn(Q, PROBABILITIES, PRIOR, scored)


def test_a_pair_with_few_joint_responses_is_refused_with_a_reason(small):
    found = absolute_fit(two_forms(small, 24))
    assert np.isnan(found.m2)
    assert np.isnan(found.srmsr)
    for name in ("m2", "df", "p_value", "rmsea2", "srmsr"):
        assert "fewer than 200 joint responses" in found.reason(name)
    pairs = found.pairs.set_index(["item_1", "item_2"])
    refused = pairs.loc[("I01", "I06")]
    assert refused["n"] == 24
    assert np.isnan(refused["r_z"])
    assert np.isnan(refused["log_odds_z"])
    assert refused["r_reason"] == refused["log_odds_reason"] == "24 joint responses, fewer than 200"
    others = pairs.drop(index=[("I01", "I06")])
    assert others[["r_z", "log_odds_z"]].notna().all(axis=None)
    assert others["r_p_bonferroni"].to_numpy() == pytest.approx(np.minimum(others["r_p_value"] * 14, 1.0).to_numpy())
    assert "not defined: 1 of 21 items and pairs" in found.summary()
    assert found.to_dict()["indices"]["m2"]["value"] is None


def test_short_pairs_can_be_left_out(small):
    """Fewer moments, and whatever the 24 respondents did on the pair left out changes nothing of it."""
    found = absolute_fit(two_forms(small, 24), short_pairs="drop")
    items, prior = small.jacobians()
    kept = np.ones(21, dtype=bool)
    kept[6 + 4] = False  # pairs start at 6; the fifth of item 1 is with item 6
    jacobian = moment_jacobian(small.success, small.prior, items, prior)[kept]
    assert found.n_moments == 20
    assert found.df == 20 - np.linalg.matrix_rank(jacobian)
    assert "1 of 21 moments left out" in found.notes[1]
    residual = (found.pairs["r_observed"] - found.pairs["r_expected"]).dropna()
    assert len(residual) == 14
    assert found.srmsr == pytest.approx(np.sqrt(np.mean(residual**2)), rel=1e-12)


def test_complete_data_with_few_respondents_are_not_refused():
    fit = stand_in.simulated(Q, PROBABILITIES, PRIOR, 150, 3)[0]
    assert np.isfinite(absolute_fit(fit).m2)


def test_no_degrees_of_freedom():
    fit = stand_in.simulated(Q[:3], PROBABILITIES[:3], PRIOR, 500, 3)[0]
    found = absolute_fit(fit)
    assert np.isnan(found.p_value)
    assert "no degrees of freedom: 6 moments" in found.reason("m2")
    assert np.isfinite(found.srmsr)


def test_one_item_has_no_pairs():
    fit = stand_in.simulated(Q[:1], PROBABILITIES[:1], PRIOR, 500, 3)[0]
    found = absolute_fit(fit)
    assert found.reason("srmsr") == found.reason("max_abs_z_correlation") == "one item has no pairs"
    assert "no degrees of freedom" in found.reason("m2")
    assert len(found.pairs) == 0


def test_items_without_variance(small):
    scored = small.source.scored.copy()
    scored[:, 2] = 1
    found = absolute_fit(stand_in.StandIn(Q, PROBABILITIES, PRIOR, scored))
    assert "5 of 15 pairs hold an item without variance" in found.reason("srmsr")
    flat = found.pairs[(found.pairs["item_1"] == "I03") | (found.pairs["item_2"] == "I03")]
    assert (flat["r_reason"] == "one of the items has no variance").all()
    assert (flat["log_odds_reason"] == "an empty cell in the observed fourfold table").all()
    assert np.isfinite(found.max_abs_z_correlation)


def test_certain_probabilities_have_a_singular_covariance(small):
    sure = [[0.0, 1.0], *PROBABILITIES[1:3], [0.0, 1.0], *PROBABILITIES[4:]]
    found = absolute_fit(stand_in.StandIn(Q, sure, PRIOR, small.source.scored, posterior=np.tile(PRIOR, (1000, 1))))
    assert "singular" in found.reason("m2")


def test_several_groups_have_no_common_m2(small):
    small.given_posterior = small.posterior()
    small.prior = np.stack([PRIOR, PRIOR[::-1]])
    small.source.population = np.repeat([0, 1], [250, 750])
    found = absolute_fit(small)
    assert "2 groups" in found.reason("m2")
    pooled = 0.25 * PRIOR + 0.75 * PRIOR[::-1]
    expected = pair_residuals(pair_counts(small.source.scored), small.success, pooled).correlation["z"]
    np.testing.assert_allclose(found.pairs["r_z"], expected, **CLOSED)


@pytest.mark.parametrize("options", [{"class_weights": "prior"}, {"short_pairs": "no"}, {"minimum_joint": 0}])
def test_options_are_checked(small, options):
    with pytest.raises(DataError, match=next(iter(options))):
        absolute_fit(small, **options)


def test_unknown_index(small):
    with pytest.raises(AttributeError, match="no 'cfi'"):
        _ = absolute_fit(small).cfi


# ---- on a diagnosis that was fitted


def test_on_a_fitted_diagnosis():
    """All verbs read a Diagnosis as they read the stand-ins; a true model fits, a Q-matrix with one wrong row does not."""
    q = np.array([[1, 0], [0, 1], [1, 0], [0, 1], [1, 1], [1, 1], [1, 0], [0, 1]])
    alone = [0.2, 0.85]
    truth, _ = stand_in.simulated(q, [[0.2, 0.5, 0.6, 0.85] if row.sum() == 2 else alone for row in q], PRIOR, 2000, 8)
    responses = pd.DataFrame(truth.source.scored, columns=truth.item_labels)
    options = {"structure": "saturated", "n_starts": 1, "standard_errors": "crossprod-items"}
    true = diagnose(responses, truth.q_matrix.frame, **options)
    fit = absolute_fit(true)
    assert fit.df == 36 - np.linalg.matrix_rank(moment_jacobian(truth.success, truth.prior, *truth.jacobians()))
    assert fit.p_value > 1e-3
    mistaken = truth.q_matrix.frame.copy()
    mistaken.iloc[1] = mistaken.iloc[0]
    wrong = absolute_fit(diagnose(responses, mistaken, **options))
    assert wrong.p_value < 1e-6
    assert wrong.srmsr > fit.srmsr

    copy = stand_in.StandIn(q, true.probabilities, true.prior, truth.source.scored)
    choice = choose_item_models(true)
    expected = choose_item_models(copy, covariance=stand_in.cross_product_covariance(copy))
    np.testing.assert_allclose(choice.tests["statistic"], expected.tests["statistic"], rtol=1e-6)
    assert "DINA" not in choice.models
    assert list(validate_q(true).table["wald"]) == list(validate_q(copy).table["wald"])
    assert classification_accuracy(true).accuracy == pytest.approx(classification_accuracy(copy).accuracy, rel=1e-9)
    assert classification_accuracy(true, "ml").accuracy == pytest.approx(classification_accuracy(copy, "ml").accuracy, rel=1e-9)
