"""Q-matrix validation: against R GDINA's Qval, closed forms, known profiles, and D22 and D23."""

import cdm_stand_in as stand_in
import numpy as np
import pytest
from scipy.stats import chi2

from psychoedu.cdm.profiles import all_profiles, profile_labels
from psychoedu.cdm.pvaf import (
    class_probabilities,
    discrimination_index,
    hull,
    predicted_cut,
    pvaf,
    suggest_by_cut,
    suggest_by_hull,
)
from psychoedu.cdm.q_validation import METHODS, validate_q
from psychoedu.cdm.stepwise import attribute_restrictions, wald_stepwise
from psychoedu.exceptions import DataError, LabelError

CASES = [  # fit, Qval, tolerance of figures printed to four digits
    ("cdm_ecpe", "gdina_saturated", "qval_saturated", 5.1e-5),
    ("cdm_ecpe", "gdina_ho_stock", "qval_ho", 5.1e-5),
    ("cdm_sim10GDINA", "gdina_saturated", "qval_saturated", 5.1e-5),
    ("cdm_sim10GDINA", "gdina_ho", "qval_ho", 5.1e-5),
]
TRUE_Q = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1], [1, 1, 1], [1, 0, 1], [1, 0, 0], [0, 1, 0]])


def dina_like(q_row, low=0.15, high=0.85):
    alpha = all_profiles(int(q_row.sum()))
    return low + (high - low) * alpha.mean(axis=1) ** 8  # steep enough for Hull to ask for all three attributes


def as_text(matrix):
    return ["".join(str(int(value)) for value in row) for row in matrix]


def known_profiles(q_given, n_respondents=6000, seed=11, probabilities=None):
    """Responses under TRUE_Q with profiles known: the posterior is 1 for each respondent's own."""
    probabilities = [dina_like(row) for row in TRUE_Q] if probabilities is None else probabilities
    truth, profile = stand_in.simulated(TRUE_Q, probabilities, np.full(8, 0.125), n_respondents, seed)
    posterior = np.eye(8)[profile]
    q_given = np.asarray(q_given)
    given = stand_in.StandIn(q_given, [np.full(2 ** row.sum(), 0.5) for row in q_given], np.full(8, 0.125), truth.source.scored)
    means = []
    for j, group in enumerate(given.item_groups):
        right = given.source.scored[:, j] == 1
        means.append(np.array([right[group[profile] == cell].mean() for cell in range(group.max() + 1)]))
    return stand_in.StandIn(q_given, means, np.full(8, 0.125), truth.source.scored, posterior=posterior)


@pytest.mark.shared
@pytest.mark.parametrize(("folder", "name", "reference", "tolerance"), CASES)
def test_gdina_qval(shared, folder, name, reference, tolerance):
    fit = stand_in.gdina_fit(shared, folder, name)
    expected = stand_in.read_json(shared, folder, reference)
    found = validate_q(fit)
    shape = (len(fit.q), len(fit.alpha) - 1)
    for column, key in (("index", "varsigma"), ("pvaf", "PVAF")):
        np.testing.assert_allclose(found.mesa[column].to_numpy().reshape(shape).T, expected[key], atol=tolerance)
    assert list(found.table["given"]) == as_text(expected["original"])
    assert list(found.table["pvaf"]) == as_text(expected["suggested"])
    assert list(found.table["pvaf_predicted"]) == as_text(expected["suggested_eps_predicted"])
    assert list(found.table["wald"]) == as_text(expected["suggested_wald"])
    assert found.cuts["pvaf_predicted"] == pytest.approx(expected["eps_predicted"], abs=2e-5)  # theirs rounds g and s to 4 digits
    np.testing.assert_array_equal(found.suggested("wald").to_numpy(), expected["suggested_wald"])


# ---- closed form


def test_pvaf_of_a_conjunction_by_hand():
    """P = .2 .2 .2 .8, equal profiles: variance .0675; one attribute leaves means .2 and .5, variance .0225, a third."""
    index = discrimination_index(np.array([[0.2, 0.2, 0.2, 0.8]]), np.full(4, 0.25), all_profiles(2))
    np.testing.assert_allclose(index, [[0.0225, 0.0225, 0.0675]], rtol=1e-12)
    np.testing.assert_allclose(pvaf(index), [[1 / 3, 1 / 3, 1.0]], rtol=1e-12)


def test_index_with_unequal_and_empty_profiles():
    alpha, weights = all_profiles(2), np.array([0.5, 0.0, 0.2, 0.3])
    p = np.array([0.1, 0.6, 0.4, 0.9])
    found = discrimination_index(p[None], weights, alpha)[0]
    mean = weights @ p
    by_first = 0.7 * ((0.5 * 0.1 + 0.2 * 0.4) / 0.7 - mean) ** 2 + 0.3 * (0.9 - mean) ** 2
    by_second = 0.5 * (0.1 - mean) ** 2 + 0.5 * ((0.2 * 0.4 + 0.3 * 0.9) / 0.5 - mean) ** 2
    np.testing.assert_allclose(found, [by_first, by_second, weights @ (p - mean) ** 2], rtol=1e-12)


def test_class_probabilities_use_each_item_s_own_respondents():
    scored = np.array([[1, 0], [1, -1], [0, 1]], dtype=np.int8)
    posterior = np.array([[0.8, 0.2], [0.4, 0.6], [0.5, 0.5]])
    probability, count = class_probabilities(scored, posterior, np.array([1.0, 2.0, 1.0]))
    np.testing.assert_allclose(count, [[2.1, 1.9], [1.3, 0.7]], rtol=1e-12)
    np.testing.assert_allclose(probability, [[1.6 / 2.1, 1.4 / 1.9], [0.5 / 1.3, 0.5 / 0.7]], rtol=1e-9)


def test_cut_is_strict_and_takes_the_best_of_a_size():
    sizes = all_profiles(3)[1:].sum(axis=1)
    row = np.array([0.5, 0.95, 0.2, 0.96, 0.97, 0.96, 1.0])  # 100 010 001 110 101 011 111
    assert suggest_by_cut(row[None], sizes, 0.95).tolist() == [4]
    assert suggest_by_cut(row[None], sizes, 0.949).tolist() == [1]
    assert suggest_by_cut(row[None], sizes, 0.999).tolist() == [6]
    assert suggest_by_cut(np.full((1, 7), np.nan), sizes, 0.9).tolist() == [-1]


def test_predicted_cut_by_hand():
    """Najera, Sorrel & Abad (2019): logit = -.405 + 2.867 IQ + 4.840e-4 N - 3.316e-3 J, to their digits."""
    logit = -0.405 + 2.867 * 0.6 + 4.840e-4 * 1000 - 3.316e-3 * 30
    assert predicted_cut(0.6, 1000, 30) == pytest.approx(1 / (1 + np.exp(-logit)), abs=1e-4)


@pytest.mark.parametrize(
    ("best", "expected"),
    [
        ([0.6, 0.96, 1.0], [(0.6 / 2) / (0.36 / 2), (0.36 / 2) / (0.04 / 4), np.nan]),
        ([0.3, 0.9, 1.0], [np.nan, (0.9 / 4) / (0.1 / 4), np.nan]),  # (2, .3) lies below the line from (0, 0) to (4, .9)
        ([0.1, 0.2, 1.0], [np.nan, np.nan, 1.0]),  # only the start and the end are on the hull
        ([0.97, 1.0, 1.0], [(0.97 / 2) / (0.03 / 2), np.inf, np.nan]),
        ([1.0], [1.0]),
        ([0.1, 0.3, 0.31, 1.0], [np.nan, (0.3 / 4) / (0.7 / 12), np.nan, np.nan]),  # the first and the third lie below
    ],
)
def test_hull_by_hand(best, expected):
    np.testing.assert_allclose(hull(np.array(best)), expected, rtol=1e-12)


def test_hull_selects_the_largest_index():
    sizes = all_profiles(3)[1:].sum(axis=1)
    rows = np.array([[0.6, 0.1, 0.2, 0.96, 0.7, 0.3, 1.0], [0.1, 0.1, 0.1, 0.2, 0.2, 0.2, 1.0], np.full(7, np.nan)])
    place, index = suggest_by_hull(rows, sizes)
    assert place.tolist() == [3, 6, -1]
    assert np.isnan(index[2]).all()


@pytest.mark.parametrize("n_attributes", [1, 2, 3])
def test_attribute_restrictions(n_attributes):
    """They vanish exactly for probabilities that do not depend on the attribute."""
    alpha = all_profiles(n_attributes).astype(float)
    for attribute, matrix in enumerate(attribute_restrictions(n_attributes)):
        without = np.delete(alpha, attribute, axis=1)
        assert matrix.shape == (2 ** (n_attributes - 1), 2**n_attributes)
        np.testing.assert_allclose(matrix @ (1 + without.sum(axis=1) + without.prod(axis=1)), 0.0, atol=1e-12)
        assert np.abs(matrix @ alpha[:, attribute]).min() == 1.0


# ---- known profiles


def test_all_methods_find_the_generating_q_matrix():
    given = TRUE_Q.copy()
    given[3], given[4], given[7] = [1, 0, 0], [1, 1, 1], [0, 1, 0]  # too few, too many, another one
    fit = known_profiles(given)
    before = fit.q_matrix.frame.copy()
    found = validate_q(fit)
    for method in METHODS:
        assert list(found.table[method]) == as_text(TRUE_Q), method
        np.testing.assert_array_equal(found.suggested(method), TRUE_Q)
    assert list(found.changes()["item"]) == ["I04", "I05", "I08"]
    assert list(found.table["n_changes"]) == [0, 0, 0, 4, 4, 0, 0, 4, 0]
    assert list(found.table["given"]) == as_text(given)
    assert fit.q_matrix.frame.equals(before)
    assert found.steps["I04"][0] in ("start 100", "start 010")


def test_stepwise_removes_an_attribute_that_another_makes_needless():
    """With A1 nearly A2 and A3 at once, A1 explains most alone, and is removed once both are in."""
    rng = np.random.default_rng(2)
    alpha = all_profiles(3)
    both = alpha[:, 1] & alpha[:, 2]
    prior = np.where(alpha[:, 0] == both, 0.22, 0.03)
    prior /= prior.sum()
    profile = rng.choice(8, size=8000, p=prior)
    success = np.where(both == 1, 0.9, 0.2)
    scored = np.stack([rng.random(8000) < success[profile], rng.random(8000) < 0.2 + 0.6 * alpha[profile, 0]], axis=1)
    scored, posterior = scored.astype(np.int8), np.eye(8)[profile]
    probability, _ = class_probabilities(scored, posterior)
    proportion = pvaf(discrimination_index(probability, posterior.mean(axis=0), alpha))[0]
    assert proportion[0] == proportion[:3].max()
    fit = stand_in.StandIn([[1, 1, 1], [1, 0, 0]], [probability[0], [0.2, 0.8]], prior, scored)
    choice = wald_stepwise(0, scored, posterior, None, alpha, fit.probabilities, fit.item_groups, proportion, cut=0.999)
    assert choice.q_vector.tolist() == [0, 1, 1]
    assert any("remove 1" in step for step in choice.steps)


def test_stepwise_p_value_comes_from_the_scores_of_all_items():
    """Written out: scores of all items' probabilities, the item's own under the larger q-vector, inverted as a whole."""
    q = np.array([[1, 0], [0, 1], [1, 1], [1, 0], [0, 1]])
    probabilities = [[0.3, 0.7], [0.25, 0.7], [0.2, 0.45, 0.3, 0.75], [0.3, 0.75], [0.2, 0.6]]
    fit, _ = stand_in.simulated(q, probabilities, np.array([0.3, 0.2, 0.2, 0.3]), 300, 21, missing=0.1)
    posterior, scored = fit.posterior(), fit.source.scored
    seen, right = scored[:, 2] >= 0, scored[:, 2] == 1
    larger = posterior[right].sum(axis=0) / posterior[seen].sum(axis=0)  # K = 2: the larger q-vector has all profiles
    widened = stand_in.StandIn(q, [*probabilities[:2], larger, *probabilities[3:]], fit.prior, scored, posterior=posterior)
    covariance = stand_in.cross_product_covariance(widened)[4:8, 4:8]
    proportion = pvaf(discrimination_index(larger[None], posterior.mean(axis=0), fit.alpha))[0]
    first = int(np.argmax(proportion[:2]))
    pairs = [(0, 1), (2, 3)] if first == 1 else [(0, 2), (1, 3)]  # without and with the other attribute, order 00 10 01 11
    contrast = np.array([larger[without] - larger[with_it] for without, with_it in pairs])
    matrix = np.zeros((2, 4))
    for row, (without, with_it) in enumerate(pairs):
        matrix[row, [without, with_it]] = 1.0, -1.0
    statistic = contrast @ np.linalg.solve(matrix @ covariance @ matrix.T, contrast)
    choice = wald_stepwise(
        2, scored, posterior, None, fit.alpha, fit.probabilities, fit.item_groups, proportion, cut=0.9999, alpha_level=0.999
    )
    expected = f"add {2 - first} (p = {chi2.sf(statistic, 2):.3g})"
    assert choice.steps[1].startswith(expected)


def test_weights_are_repeated_rows():
    fit = known_profiles(TRUE_Q, 800)
    weights = np.tile([1.0, 3.0], 400)
    rows = np.repeat(np.arange(800), weights.astype(int))
    repeated = stand_in.StandIn(TRUE_Q, fit.probabilities, fit.prior, fit.source.scored[rows], posterior=fit.posterior()[rows])
    fit.source.weights = weights
    one, other = validate_q(fit), validate_q(repeated)
    np.testing.assert_allclose(one.mesa["pvaf"], other.mesa["pvaf"], rtol=1e-10)
    assert one.cuts == pytest.approx(other.cuts)
    assert list(one.table["wald"]) == list(other.table["wald"])
    assert one.steps == other.steps


def test_rows_that_were_not_fitted_do_not_count():
    fit = known_profiles(TRUE_Q, 800)
    fewer = stand_in.StandIn(TRUE_Q, fit.probabilities, fit.prior, fit.source.scored[:500], posterior=fit.posterior()[:500])
    fit.source.fitted[500:] = False
    np.testing.assert_array_equal(validate_q(fit).mesa["pvaf"], validate_q(fewer).mesa["pvaf"])


# ---- edges


def test_restricted_profiles_have_no_suggestion():
    fit = known_profiles(TRUE_Q, 500)
    fit.prior = np.where(np.arange(8) == 2, 0.0, 1 / 7)
    found = validate_q(fit)
    assert found.notes == ("needs unstructured profiles: 7 of 8 are allowed",)
    for method in METHODS:
        assert (found.table[method] == "").all()
        assert (found.table[f"{method}_reason"] == found.notes[0]).all()
    assert (found.table["n_methods"] == 0).all()
    np.testing.assert_array_equal(found.suggested("wald"), TRUE_Q)
    assert len(found.mesa) == 0


def test_an_item_that_tells_no_profiles_apart():
    fit = known_profiles(TRUE_Q, 500)
    fit.source.scored[:, 0] = 1
    found = validate_q(fit)
    assert np.isnan(found.mesa_of("I01")["pvaf"]).all()
    for method in METHODS:
        assert found.table.loc[0, method] == ""
        assert found.table.loc[0, f"{method}_reason"] == "the item does not tell profiles apart"
        assert found.table.loc[1, f"{method}_reason"] == ""


def test_reduced_models_have_no_stepwise_wald():
    fit = known_profiles(TRUE_Q, 500)
    fit.item_models = ("DINA", *fit.item_models[1:])
    found = validate_q(fit)
    assert (found.table["wald_reason"] == "needs G-DINA for all items; 1 of 9 are reduced models").all()
    assert (found.table["n_methods"] == 3).all()


def test_methods_on_demand_and_mesa_rows():
    found = validate_q(known_profiles(TRUE_Q, 800), methods=["hull"])
    assert "wald" not in found.table.columns
    rows = found.mesa_of("I06")
    assert list(rows["q_vector"]) == profile_labels(all_profiles(3))[1:]
    assert rows["best"].sum() == 3
    assert list(rows.loc[rows["given"], "q_vector"]) == ["111"]
    assert (rows["hull"].notna() <= rows["best"]).all()
    with pytest.raises(LabelError, match="'I99' is not an item"):
        found.mesa_of("I99")
    with pytest.raises(DataError, match="method has to be one of 'hull'"):
        found.suggested("wald")


@pytest.mark.parametrize("options", [{"cut": 1.0}, {"alpha": 0.0}, {"methods": ["gdi"]}])
def test_options_are_checked(options):
    with pytest.raises(DataError, match=next(iter(options))):
        validate_q(known_profiles(TRUE_Q, 200), **options)
