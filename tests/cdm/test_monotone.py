"""Order constraints, designs of the user's own, effects on a link, bootstrap standard errors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import psychoedu as pe
from psychoedu import exceptions as ex
from psychoedu.cdm.models import additive_design, saturated_design
from psychoedu.cdm.monotone import isotonic, upper_sets, violates
from psychoedu.cdm.profiles import all_profiles


@pytest.fixture(scope="module")
def data():
    return pe.datasets.load_cse_like(), pe.datasets.load_cse_like_q()


@pytest.fixture(scope="module")
def free(data):
    return pe.diagnose(*data, n_starts=1)


@pytest.mark.parametrize(("n_attributes", "count"), [(1, 2), (2, 5), (3, 19), (4, 167)])
def test_number_of_upper_sets_is_dedekinds(n_attributes, count):
    """Dedekind's numbers 3, 6, 20, 168 count the upper sets of the Boolean lattice, the empty one included."""
    assert len(upper_sets(n_attributes)) == count


@pytest.mark.parametrize("n_attributes", [1, 2, 3])
def test_isotonic_is_the_constrained_maximum(n_attributes):
    """Against SLSQP on the binomial log-likelihood with the order as constraints."""
    rng = np.random.default_rng(n_attributes)
    patterns = all_profiles(n_attributes)
    pairs = [(a, b) for a in range(len(patterns)) for b in range(len(patterns)) if a != b and (patterns[a] <= patterns[b]).all()]
    for _ in range(5):
        answered = rng.uniform(5, 50, len(patterns))
        right = answered * rng.uniform(0.1, 0.9, len(patterns))
        found = isotonic(right[None], answered[None], n_attributes)[0]
        assert not violates(found[None], n_attributes)
        best = minimize(
            lambda p, r=right, n=answered: -(r * np.log(p) + (n - r) * np.log(1 - p)).sum(),
            np.full(len(patterns), 0.5),
            bounds=[(1e-6, 1 - 1e-6)] * len(patterns),
            constraints=[{"type": "ineq", "fun": lambda p, a=a, b=b: p[b] - p[a]} for a, b in pairs],
            method="SLSQP",
            options={"ftol": 1e-12, "maxiter": 500},
        )
        np.testing.assert_allclose(found, best.x, atol=2e-4)


def test_monotone_fit_keeps_the_order_and_costs_likelihood(data, free):
    fit = pe.diagnose(*data, n_starts=1, monotone=True)
    assert fit.converged
    assert free.items["flags"].str.contains("monotonicity_violation").any()
    assert not fit.items["flags"].str.contains("monotonicity_violation").any()
    assert fit.log_likelihood < free.log_likelihood
    assert (np.diff(fit.log_likelihood_trace) >= -1e-7).all()
    # where the order does not bind, the estimates hardly move
    kept = fit.items["se"].notna() & ~free.items["flags"].str.contains("monot")
    assert (np.abs(fit.cells - free.cells)[kept] < 0.05).all()
    # pooled patterns have no standard error
    assert fit.items["se"].isna().any()


def test_monotone_is_the_free_fit_where_the_order_holds(data):
    one = pe.diagnose(*data, model="RRUM", n_starts=1)
    other = pe.diagnose(*data, model="RRUM", n_starts=1, monotone=True)
    assert not one.items["flags"].str.contains("monot").any()
    assert other.log_likelihood == pytest.approx(one.log_likelihood, abs=1e-3)


def test_monotone_refuses_what_it_cannot_keep(data):
    q = np.ones((8, 5), dtype=int)
    q[:5] = np.eye(5, dtype=int)
    rng = np.random.default_rng(0)
    with pytest.raises(ex.DataError, match="up to 4 attributes"):
        pe.diagnose(rng.integers(0, 2, (100, 8)), q, monotone=True)


def test_a_saturated_design_in_any_link_is_the_gdina(data, free):
    items = free.item_labels[free.q_matrix.frame.sum(axis=1) == 2]
    designs = {items[0]: (saturated_design(2), "logit"), items[1]: (saturated_design(2), "identity")}
    fit = pe.diagnose(*data, n_starts=1, designs=designs)
    assert fit.n_parameters == free.n_parameters
    assert fit.log_likelihood == pytest.approx(free.log_likelihood, abs=1e-3)
    np.testing.assert_allclose(fit.cells, free.cells, atol=5e-4)
    np.testing.assert_allclose(fit.cell_se, free.cell_se, rtol=5e-3)


def test_an_additive_design_is_the_acdm(data, tmp_path):
    item = pe.QMatrix(data[1]).item_labels[4]
    one = pe.diagnose(*data, n_starts=1, model={item: "ACDM"})
    other = pe.diagnose(*data, n_starts=1, designs={item: (additive_design(2), "identity")})
    assert one.n_parameters == other.n_parameters
    np.testing.assert_allclose(one.cells, other.cells, atol=1e-5)
    assert pe.load(other.save(tmp_path / "fit.json")).to_dict() == other.to_dict()


@pytest.mark.parametrize(
    ("design", "match"),
    [
        (np.ones((3, 1)), "4 rows"),
        (np.zeros((4, 2)), "ones"),
        (np.ones((4, 2)), "linearly dependent"),
        (np.full((4, 1), np.nan), "finite"),
    ],
)
def test_designs_that_are_none(data, design, match):
    item = pe.QMatrix(data[1]).item_labels[4]
    with pytest.raises(ex.DataError, match=match):
        pe.diagnose(*data, designs={item: (design, "logit")})


def test_delta_reproduces_the_probabilities(free):
    for link, inverse in (("identity", lambda x: x), ("logit", lambda x: 1 / (1 + np.exp(-x))), ("log", np.exp)):
        table = free.delta(link)
        for item, own in zip(free.item_labels, free.probabilities, strict=True):
            effects = table.loc[table["item"] == item, "delta"].to_numpy()
            eta = saturated_design(int(np.log2(len(own)))) @ effects
            np.testing.assert_allclose(inverse(eta), own, rtol=1e-10)


def test_delta_of_an_additive_model_has_no_interactions(data):
    table = pe.diagnose(*data, model="LLM", n_starts=1).delta("logit")
    interactions = table["effect"].str.contains(" x ")
    np.testing.assert_allclose(table.loc[interactions, "delta"], 0.0, atol=1e-8)
    np.testing.assert_allclose(table.loc[interactions, "se"], 0.0, atol=1e-6)
    assert (table.loc[~interactions, "se"] > 0.01).all()


def test_delta_of_one_attribute_is_the_difference_with_its_standard_error(free):
    table = free.delta()
    rows = table[table["item"] == free.item_labels[0]]
    guess, top = free.probabilities[0]
    assert rows["delta"].tolist() == pytest.approx([guess, top - guess], rel=1e-12)
    assert rows["se"].iloc[0] == pytest.approx(free.cell_se[0], rel=1e-12)


@pytest.mark.parametrize("kind", ["respondents", "parametric"])
def test_bootstrap_meets_the_observed_information(data, kind):
    """60 refits: an SE from them has a relative error of 1 / sqrt(2 * 59) = 9%; their mean over 184 cells far less."""
    fit = pe.diagnose(*data, model="DINA", n_starts=1)
    found = pe.cdm.bootstrap_errors(fit, 60, kind, rng=1)
    ratio = found.items["se_bootstrap"] / found.items["se"]
    assert ratio.mean() == pytest.approx(1.0, abs=0.06)
    if kind == "respondents":  # one population is wrong for two cohorts: simulated takers of a form are not like its real ones
        assert ratio.between(0.6, 1.5).all()
    assert found.n_failed == 0
    again = pe.cdm.bootstrap_errors(fit, 60, kind, rng=1)
    np.testing.assert_array_equal(again.cells, found.cells)
