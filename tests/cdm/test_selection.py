"""Relative fit and item models: against a published table, R GDINA's modelcomp, closed forms, and D22."""

import cdm_stand_in as stand_in
import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import chi2

from psychoedu.cdm.profiles import all_profiles
from psychoedu.cdm.selection import (
    choose_item_models,
    information_criteria,
    likelihood_ratio,
    nested_tests,
    relative_fit,
    select_model,
)
from psychoedu.cdm.wald import REDUCED_MODELS, reduced_model_test, restrictions, wald_test
from psychoedu.exceptions import DataError

PUBLISHED = {  # CSEBench, Table 2: -2LL, parameters, AIC, BIC; N = 2,074
    "DINA": (94308.34, 130, 94568.34, 95301.18),
    "DINO": (94168.75, 130, 94428.75, 95161.59),
    "ACDM": (93903.82, 152, 94207.82, 95064.68),
    "RRUM": (93901.19, 152, 94205.19, 95062.05),
    "G-DINA": (93803.38, 192, 94187.38, 95269.73),
}
TEST_CASES = [  # fit, modelcomp, relative tolerance: stock higher-order fits stop at another iterate than the stored one
    ("cdm_ecpe", "gdina_saturated", "modelcomp_wald_saturated", 1e-8),
    ("cdm_sim10GDINA", "gdina_saturated", "modelcomp_wald_saturated", 1e-8),
    ("cdm_ecpe", "gdina_ho_stock", "modelcomp_wald_ho", 1e-8),
    ("cdm_sim10GDINA", "gdina_ho", "modelcomp_wald_ho", 2e-5),
]


def probabilities_of(model, n_attributes, rng):
    alpha = all_profiles(n_attributes)
    effects = rng.uniform(0.1, 0.2, n_attributes)
    return {
        "DINA": np.where(alpha.all(axis=1), 0.85, 0.2),
        "DINO": np.where(alpha.any(axis=1), 0.85, 0.2),
        "ACDM": 0.1 + alpha @ effects,
        "LLM": expit(-1.5 + alpha @ (8 * effects)),
        "RRUM": 0.2 * np.exp(alpha @ (2 * effects)),
    }[model]


def spread(size, rng):
    root = rng.standard_normal((size, size + 3)) / 40
    return root @ root.T


# ---- relative fit


@pytest.mark.parametrize("model", PUBLISHED)
def test_published_table(model):
    deviance, n_parameters, aic, bic = PUBLISHED[model]
    found = information_criteria(-deviance / 2, n_parameters, 2074)
    assert found["aic"] == pytest.approx(aic, abs=0.006)
    assert found["bic"] == pytest.approx(bic, abs=0.011)


def test_published_table_as_a_whole():
    models = {name: (-row[0] / 2, row[1]) for name, row in PUBLISHED.items()}
    table = relative_fit(models, 2074)
    assert table["aic"].idxmin() == "G-DINA"
    assert table["bic"].idxmin() == "RRUM"
    assert table.loc["ACDM", "delta_aic"] == pytest.approx(94207.82 - 94187.38, abs=0.01)
    assert table["aic_weight"].sum() == pytest.approx(1.0)
    ratio = table.loc["RRUM", "aic_weight"] / table.loc["G-DINA", "aic_weight"]
    assert ratio == pytest.approx(np.exp(-(94205.19 - 94187.38) / 2), rel=1e-2)
    tests = nested_tests(models)
    assert tests.loc["DINA", "statistic"] == pytest.approx(94308.34 - 93803.38, abs=1e-6)
    assert (tests["df"] == [62, 62, 40, 40]).all()
    assert tests.loc["RRUM", "p_value"] == pytest.approx(chi2.sf(97.81, 40), rel=1e-6)
    assert (tests["p_holm"] >= tests["p_value"]).all()


def test_likelihood_ratio_that_does_not_exist():
    assert "has 10 parameters, the other 10" in likelihood_ratio((-5.0, 10), (-4.0, 10)).reason
    worse = likelihood_ratio((-4.0, 10), (-5.0, 12))
    assert np.isnan(worse.p_value)
    assert "fits worse by 1" in worse.reason
    assert "not known" in likelihood_ratio((np.nan, 10), (-5.0, 12)).reason
    level = likelihood_ratio((-4.0, 10), (-4.0 - 1e-5, 12))
    assert (level.statistic, level.p_value, level.reason) == (0.0, 1.0, "")
    with pytest.raises(DataError, match="'G-DINA' is not among the models: DINA"):
        nested_tests({"DINA": (-1.0, 2)})


# ---- Wald tests of items


@pytest.mark.shared
@pytest.mark.parametrize(("folder", "name", "reference", "tolerance"), TEST_CASES)
def test_gdina_modelcomp(shared, folder, name, reference, tolerance):
    fit = stand_in.gdina_fit(shared, folder, name)
    expected = stand_in.read_json(shared, folder, reference)
    covariance = stand_in.cross_product_covariance(fit)
    errors = np.concatenate([np.array(own) for own in fit.reference["catprob_se"].values()])
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), errors, rtol=1e-8)
    found = choose_item_models(fit, expected["models"], covariance=covariance)
    tests = found.tests[found.tests["n_attributes"] > 1]
    shape = (len(expected["items"]), len(expected["models"]))
    assert [f"Item {int(label[1:])}" for label in tests["item"].unique()] == expected["items"]
    for column, key in (("statistic", "wald"), ("p_value", "p")):
        rtol = tolerance if key == "wald" else max(100 * tolerance, 1e-6)
        np.testing.assert_allclose(tests[column].to_numpy().reshape(shape), np.array(expected[key]), rtol=rtol, atol=1e-12)
    np.testing.assert_array_equal(tests["df"].to_numpy().reshape(shape), expected["df"])
    np.testing.assert_allclose(tests["p_holm"].to_numpy().reshape(shape), expected["p_holm"], rtol=2e-3, atol=1e-12)
    assert [model.replace("G-DINA", "GDINA") for model in found.models] == expected["selected"]["models"]


@pytest.mark.parametrize("n_attributes", [2, 3, 4])
@pytest.mark.parametrize("model", REDUCED_MODELS)
def test_restrictions_hold_for_their_model_alone(model, n_attributes):
    rng = np.random.default_rng(4)
    for truth in REDUCED_MODELS:
        p = probabilities_of(truth, n_attributes, rng)
        values = np.log(p / (1 - p)) if model == "LLM" else np.log(p) if model == "RRUM" else p
        matrix = restrictions(model, n_attributes)
        assert np.linalg.matrix_rank(matrix) == len(matrix)
        holds = np.abs(matrix @ values).max() < 1e-12
        assert holds == (truth == model)


@pytest.mark.parametrize("model", REDUCED_MODELS)
def test_wald_statistic_vanishes_for_the_model_and_does_not_see_the_order_of_attributes(model):
    rng = np.random.default_rng(7)
    p, covariance = probabilities_of(model, 3, rng), spread(8, rng)
    found = reduced_model_test(model, p, covariance)
    assert found.statistic == pytest.approx(0.0, abs=1e-15)
    assert found.df == (6 if model in ("DINA", "DINO") else 4)
    other = np.clip(p + rng.normal(0, 0.03, 8), 0.02, 0.98)
    alpha = all_profiles(3)
    turned = np.array([np.flatnonzero((alpha == row[[2, 0, 1]]).all(axis=1))[0] for row in alpha])
    one = reduced_model_test(model, other, covariance)
    two = reduced_model_test(model, other[turned], covariance[np.ix_(turned, turned)])
    assert one.statistic == pytest.approx(two.statistic, rel=1e-8)
    assert one.statistic > 1e-3


def test_wald_of_one_contrast_is_a_squared_z():
    """ACDM, two attributes: (P00 - P10 - P01 + P11)^2 over its variance; LLM by the delta method."""
    p, variance = np.array([0.2, 0.4, 0.5, 0.9]), np.array([1.0, 4.0, 2.0, 1.0]) * 1e-3
    found = reduced_model_test("ACDM", p, np.diag(variance))
    assert found.statistic == pytest.approx(0.2**2 / 8e-3, rel=1e-12)
    assert found.p_value == pytest.approx(chi2.sf(5.0, 1), rel=1e-12)
    contrast = np.log(0.25) - np.log(2 / 3) - np.log(1.0) + np.log(9.0)
    deltas = variance / (p * (1 - p)) ** 2
    assert reduced_model_test("LLM", p, np.diag(variance)).statistic == pytest.approx(contrast**2 / deltas.sum(), rel=1e-12)


@pytest.mark.parametrize(
    ("probability", "covariance", "reason"),
    [
        ([0.2, 0.8], np.eye(2), "one attribute"),
        ([0.2, 0.3, 0.4, 0.8], np.full((4, 4), np.nan), "no standard error"),
        ([0.2, 0.3, 0.4, 0.8], np.zeros((4, 4)), "no variance"),
        ([0.2, 0.3, 0.4, 0.8], np.outer([1, 1, 0, 0], [1, 1, 0, 0]) * 1e-3 + np.diag([0, 0, 1e-3, 0]), "rank 1"),
    ],
)
def test_wald_tests_that_do_not_exist(probability, covariance, reason):
    found = reduced_model_test("DINA", np.array(probability), covariance)
    assert reason in found.reason
    assert np.isnan(found.statistic)
    assert np.isnan(found.p_value)


def test_certain_probabilities_have_no_logit():
    p = np.array([0.0, 0.3, 0.4, 1.0])
    assert "no logit or log" in reduced_model_test("LLM", p, np.eye(4)).reason
    assert "no logit or log" in reduced_model_test("RRUM", p, np.eye(4)).reason
    assert not reduced_model_test("ACDM", p, np.eye(4)).reason
    assert not reduced_model_test("RRUM", np.array([0.1, 0.3, 0.4, 1.0]), np.eye(4)).reason


def test_wald_inverts_what_has_full_rank():
    rng = np.random.default_rng(3)
    values, covariance, matrix = rng.standard_normal(5), spread(5, rng), rng.standard_normal((3, 5))
    contrast = matrix @ values
    expected = contrast @ np.linalg.solve(matrix @ covariance @ matrix.T, contrast)
    assert wald_test(values, covariance, matrix).statistic == pytest.approx(expected, rel=1e-9)


# ---- the choice


@pytest.mark.parametrize(
    ("p", "simpler", "largest"),
    [
        ([0.10, 0.20, 0.90, 0.01, 0.50], ("DINO", 0.2, 4), ("ACDM", 0.9, 4)),
        ([0.01, 0.01, 0.06, 0.80, 0.70], ("LLM", 0.8, 3), ("LLM", 0.8, 3)),
        ([0.05, np.nan, 0.01, 0.01, 0.01], ("G-DINA", np.nan, 0), ("G-DINA", np.nan, 0)),
    ],
)
def test_rules(p, simpler, largest):
    for rule, expected in (("simpler", simpler), ("largestp", largest)):
        model, value, kept = select_model(REDUCED_MODELS, np.array(p), rule, 0.05)
        assert (model, kept) == (expected[0], expected[2])
        np.testing.assert_equal(value, expected[1])


@pytest.fixture
def fit():
    q = [[1, 1], [1, 0], [1, 1]]
    return stand_in.simulated(q, [[0.2, 0.2, 0.2, 0.8], [0.2, 0.8], [0.2, 0.5, 0.5, 0.8]], np.full(4, 0.25), 400, 5)[0]


def test_own_covariance_is_carried_to_the_probabilities(fit):
    """The DINA item in the middle has fewer parameters than G-DINA would; blocks of later items still find their place."""
    fit.item_models = ("G-DINA", "DINA", "G-DINA")
    rng = np.random.default_rng(9)
    fit.covariance = spread(4 + 2 + 4 + 3, rng)
    found = choose_item_models(fit).tests.set_index(["item", "model"])
    for label, own, p in (("I01", slice(0, 4), fit.probabilities[0]), ("I03", slice(6, 10), fit.probabilities[2])):
        for model in REDUCED_MODELS:
            expected = reduced_model_test(model, p, fit.covariance[own, own])
            assert found.loc[(label, model), "statistic"] == pytest.approx(expected.statistic, rel=1e-12)


def test_items_that_cannot_be_tested_keep_their_model(fit):
    fit.item_models = ("DINA", "G-DINA", "G-DINA")
    found = choose_item_models(fit, ["DINA", "ACDM"])
    assert list(found.selected["model"]) == ["DINA", "G-DINA", "G-DINA"]
    reasons = list(found.selected["reason"])
    assert reasons[0] == "fitted as DINA; fit it as G-DINA to test reduced models"
    assert reasons[1] == "one attribute: all models are the same"
    assert "no standard error" in reasons[2]
    assert found.tests["p_value"].isna().all()
    assert (found.tests["reason"] != "").all()


def test_restricted_profiles_are_said_before_anything_is_computed(fit):
    """D22: with A1 before A2, the profile 01 cannot occur, and items with both attributes have three probabilities."""
    fit.prior = np.array([0.4, 0.3, 0.0, 0.3])
    found = choose_item_models(fit, covariance=np.eye(10) * 1e-3)
    reasons = list(found.selected["reason"])
    assert reasons[0] == reasons[2] == "needs unstructured profiles: 1 of 4 reduced profiles cannot occur"


def test_a_probability_on_its_bound_is_noted(fit):
    fit.probabilities[0] = np.array([1e-4, 0.2, 0.2, 0.8])
    found = choose_item_models(fit, covariance=np.eye(10) * 1e-3)
    own = found.tests[found.tests["item"] == "I01"]
    assert own["reason"].str.contains("on its bound").all()
    assert own["p_value"].notna().all()


def test_adjusted_p_values_guide_the_rule_where_asked(fit):
    covariance = np.diag(np.full(10, 3.0e-2))
    found = choose_item_models(fit, ["DINO", "ACDM"], covariance=covariance)
    p = found.tests.set_index(["item", "model"])["p_value"]
    assert p[("I01", "DINO")] < 0.05 < 4 * p[("I01", "DINO")]
    assert found.models[0] == "ACDM"
    adjusted = choose_item_models(fit, ["DINO", "ACDM"], covariance=covariance, adjusted=True)
    assert adjusted.models[0] == "DINO"


def test_likelihood_ratio_refits_one_item_at_a_time(fit):
    fit.log_likelihood, fit.n_parameters = -1000.0, 13
    asked = []

    def refit(models):
        asked.append(models)
        return {"DINA": (-1000.5, 11), "ACDM": (-1004.0, 12)}[next(model for model in models if model != "G-DINA")]

    found = choose_item_models(fit, ["DINA", "ACDM"], method="lr", refit=refit)
    assert asked == [(model, "G-DINA", "G-DINA") for model in ("DINA", "ACDM")] + [
        ("G-DINA", "G-DINA", model) for model in ("DINA", "ACDM")
    ]
    first = found.tests[found.tests["item"] == "I01"]
    np.testing.assert_allclose(first["statistic"], [1.0, 8.0], rtol=1e-12)
    np.testing.assert_allclose(first["p_value"], [chi2.sf(1.0, 2), chi2.sf(8.0, 1)], rtol=1e-12)
    assert found.models == ["DINA", "G-DINA", "DINA"]


def test_arguments_are_checked(fit):
    with pytest.raises(DataError, match="refit="):
        choose_item_models(fit, method="lr")
    with pytest.raises(DataError, match="Did you mean 'DINA'"):
        choose_item_models(fit, ["dina"])
    with pytest.raises(DataError, match=r"shape \(3, 3\); expected \(10, 10\)"):
        choose_item_models(fit, covariance=np.eye(3))
