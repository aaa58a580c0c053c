"""Trouble cases of diagnoses, invariants, and inputs that users come with."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from cdm_designs import MODELS, Q3, STRUCTURES, frame, holes, random_design, simulate

import psychoedu as pe
from psychoedu.cdm.diagnose import prepare_diagnosis
from psychoedu.cdm.profiles import all_profiles
from psychoedu.cdm.starts import from_cells
from psychoedu.exceptions import (
    BoundaryEstimateWarning,
    ConvergenceWarning,
    DataError,
    IdentificationError,
    IdentificationWarning,
    LabelError,
    MissingResponsesError,
    StandardErrorWarning,
)

LOG_LIKELIHOOD = 1e-4
PROBABILITY = 2e-4
Q = pd.DataFrame(Q3, index=[f"i{j}" for j in range(10)], columns=["a", "b", "c"])
N = 400


def responses(seed=1, rule="share", n=N, guessing=0.15, slip=0.15, missing=0.0):
    scored, _ = simulate(n, Q3, guessing, slip, seed, rule)
    return pd.DataFrame(frame(holes(scored, missing) if missing else scored), columns=Q.index)


def quietly(*arguments, **options):
    with warnings.catch_warnings():
        for category in (BoundaryEstimateWarning, IdentificationWarning, StandardErrorWarning):
            warnings.simplefilter("ignore", category)
        return pe.diagnose(*arguments, **({"standard_errors": None, "n_points": 25, "n_starts": 2} | options))


# ---- starts


def test_d9_fifty_starts_and_how_they_ended():
    data = responses(2, "all", 300, 0.1, 0.1)
    found = quietly(data, Q, "DINA", n_starts=50, rng=3)
    starts = found.starts
    assert len(starts) == 50
    assert starts["log_likelihood"].is_monotonic_decreasing
    assert starts["reached_best"].sum() >= 25
    assert found.log_likelihood == pytest.approx(starts["log_likelihood"].iloc[0], abs=0.05)
    assert (found.log_likelihood - starts["log_likelihood"] > -1e-6).all()
    assert starts["agreement"].between(0, 1).all()
    np.testing.assert_allclose(found.items["probability"].iloc[:2], [0.1, 0.9], atol=0.1)
    one, again, other = (quietly(data, Q, "DINA", n_starts=5, rng=seed).starts for seed in (3, 3, 4))
    pd.testing.assert_frame_equal(one, again)
    assert not one["log_likelihood"].equals(other["log_likelihood"])
    assert found.options["seed"] == 3
    assert quietly(data, Q, "DINA", n_starts=2, rng=np.random.default_rng(3)).options["seed"] is None


def test_one_start_says_so_and_the_starts_are_in_the_summary():
    found = quietly(responses(), Q, n_starts=1)
    assert any("One start only" in text for text in found.diagnostics)
    assert "1 of 1 reached" in found.summary()
    assert not any("One start only" in text for text in quietly(responses(), Q, n_starts=2).diagnostics)


# ---- what solutions look like


def test_d10_falling_probabilities_are_flagged_and_not_repaired():
    data = responses(3, n=800)
    falling = data.assign(i6=1 - data["i6"])
    found = quietly(falling, Q, "DINA")
    item = found.items[found.items["item"] == "i6"]
    assert item["probability"].iloc[-1] < item["probability"].iloc[0]
    assert "monotonicity_violation" in item["flags"].iloc[-1] or "monotonicity_violation" in item["flags"].iloc[0]
    others = found.items[~found.items["item"].isin(["i6"])]
    assert not others["flags"].str.contains("monotonicity").any()
    assert "monotonicity_violation" in found.summary()


@pytest.mark.parametrize("model", ["G-DINA", "DINA", "RRUM"])
def test_d11_a_profile_without_members(model):
    prior = np.array([0.5, 0, 0, 0, 0, 0, 0, 0.5])  # nobody has one attribute without the others
    scored, _ = simulate(500, Q3, 0.05, 0.05, 4, "all", prior)
    found = quietly(scored, Q3, model, "saturated")
    assert np.isfinite(found.log_likelihood)
    assert np.isfinite(found.profiles.to_numpy()).all()
    assert np.isfinite(found.items["probability"]).all()
    pure = found.prior[[0, 7]]
    np.testing.assert_allclose(pure, 0.5, atol=0.06)
    if model == "G-DINA":
        assert found.items["flags"].str.contains("empty|few_respondents").any()
        assert (found.items["n"] >= 0).all()


@pytest.mark.parametrize("structure", ["higher-order", "saturated"])
def test_d12_noise_free_data(structure):
    scored, true = simulate(400, Q3, 0.0, 0.0, 5, "all")
    with pytest.warns(BoundaryEstimateWarning, match="on their bounds"):
        found = pe.diagnose(scored, Q3, "DINA", structure, n_points=25)
    on_bound = found.items["flags"].str.contains("on_bound")
    assert on_bound.all()
    assert found.items["se"].isna().all()
    np.testing.assert_allclose(found.items["probability"], np.where(found.items["probability"] > 0.5, 1 - 1e-4, 1e-4), rtol=1e-6)
    for method in ("eap", "map", "ml"):
        np.testing.assert_array_equal(found.classification(method).iloc[:, :3], true)


def test_d13_parameters_and_criteria():
    data, three = responses(), Q.loc[["i0", "i1", "i2", "i9"]]
    own = data[three.index]
    for model, count in [("DINA", 2), ("DINO", 2), ("ACDM", 4), ("RRUM", 4), ("LLM", 4), ("G-DINA", 8)]:
        found = quietly(own, three, model, "independent", n_starts=1)
        assert found.n_item_parameters == 6 + count
        assert found.n_parameters == 6 + count + 3
        assert found.aic == pytest.approx(found.minus_2ll + 2 * found.n_parameters)
        assert found.bic == pytest.approx(found.minus_2ll + np.log(N) * found.n_parameters)
    assert quietly(own, three, "DINA", "saturated", n_starts=1).n_structural_parameters == 7
    assert quietly(own, three, "DINA", n_starts=1).n_structural_parameters == 6
    assert quietly(own, three, "DINA", higher_order="common-slope", n_starts=1).n_structural_parameters == 4
    assert quietly(own, three, "DINA", higher_order="rasch", n_starts=1).n_structural_parameters == 3


@pytest.mark.parametrize("structure", ["higher-order", "saturated"])
def test_d14_reduced_models_never_fit_better(structure):
    data = responses(6, n=150, missing=0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentificationWarning)
        table = pe.cdm.compare(data, Q, models=["G-DINA", "DINA", "DINO", "ACDM", "RRUM", "LLM"], structure=structure, n_starts=1)
    assert table.index.tolist() == ["G-DINA", "DINA", "DINO", "ACDM", "RRUM", "LLM"]
    assert (table["log_likelihood"] <= table.loc["G-DINA", "log_likelihood"] + 1e-6).all()
    assert table["converged"].all()
    np.testing.assert_allclose(table["aic"], -2 * table["log_likelihood"] + 2 * table["n_parameters"])
    np.testing.assert_allclose(table["bic"], -2 * table["log_likelihood"] + np.log(150) * table["n_parameters"])
    assert table["best_aic"].sum() == 1
    assert table["aic"].idxmin() == table.index[table["best_aic"]][0]
    alone = quietly(data, Q, "RRUM", structure, n_starts=4, n_points=61)
    assert table.loc["RRUM", "log_likelihood"] <= alone.log_likelihood + LOG_LIKELIHOOD


def test_compare_starts_g_dina_from_the_reduced_solutions_as_they_are(monkeypatch):
    module, passed = sys.modules["psychoedu.cdm.compare"], {}
    run_fit = module.run_fit

    def watched(job, settings, rng, further=()):
        fit, seed = run_fit(job, settings, rng, further)
        passed[settings.models[0]] = (fit, further)
        return fit, seed

    monkeypatch.setattr(module, "run_fit", watched)
    pe.cdm.compare(responses(6), Q, models=["G-DINA", "DINA", "RRUM"], n_starts=1)
    fit, further = passed["G-DINA"]
    assert [name for name, *_ in further] == ["DINA", "RRUM"]
    for name, cells, structural in further:
        start = from_cells(fit.problem, cells, structural)
        reached = passed[name][0].solution.log_likelihood
        assert fit.problem.expect(start).log_likelihood == pytest.approx(reached, rel=1e-9)
    assert {"DINA", "RRUM"} <= {start.name for start in fit.starts}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("model", ["G-DINA", "ACDM"])
def test_saturated_is_never_below_its_nested_higher_order_fit(seed, model):
    q = random_design(12, 4, seed)
    scored, _ = simulate(120, q, 0.2, 0.2, seed, "share")
    saturated, nested = (quietly(scored, q, model, structure, n_starts=4) for structure in ("saturated", "higher-order"))
    assert saturated.log_likelihood > nested.log_likelihood - 1e-6


@pytest.mark.parametrize("model", ["RRUM", "ACDM", "LLM"])
def test_d16_probabilities_of_all_profiles_are_probabilities(model):
    rng = np.random.default_rng(8)
    rare = (responses(7).to_numpy() * (rng.random((N, 10)) < 0.06)).astype(int)
    rare[:3] = 1
    prior_free = quietly(rare, Q3, model, "saturated")
    assert ((prior_free.success > 0) & (prior_free.success < 1)).all()
    assert prior_free.items["probability"].between(1e-4, 1 - 1e-4).all()
    assert np.isfinite(prior_free.log_likelihood)


def test_d17_more_slopes_than_class_sizes():
    two = Q.loc[["i0", "i1", "i3", "i4", "i6"], ["a", "b"]]
    data = responses()[two.index]
    with pytest.raises(IdentificationError, match="4 parameters") as error:
        pe.diagnose(data, two)
    assert "common-slope" in str(error.value)
    assert quietly(data, two, higher_order="common-slope", n_starts=1).n_structural_parameters == 3
    assert quietly(responses(), Q, n_starts=1).n_structural_parameters == 6
    with pytest.raises(IdentificationError, match="2 parameters"):
        pe.diagnose(data[["i0", "i3"]], two.loc[["i0", "i3"], ["a"]])


@pytest.mark.parametrize("model", MODELS)
def test_d18_orientation(model):
    found = quietly(responses(9), Q, model)
    assert (found.structure["slope"] >= 0.1).all()
    success = found.success
    for k in range(3):
        assert success[:, found.alpha[:, k] == 1].sum() > success[:, found.alpha[:, k] == 0].sum()
    mean, _ = found.ability_by_class()
    size = found.alpha.sum(axis=1)
    assert mean[0][size == 3].min() > mean[0][size == 0].max()
    assert np.corrcoef(found.theta, responses(9).sum(axis=1))[0, 1] > 0.5
    assert found.theta_se.between(0.1, 1.2).all()


# ---- invariants


@pytest.mark.parametrize(("model", "structure"), [("G-DINA", "higher-order"), ("RRUM", "saturated"), ("LLM", "independent")])
def test_permuting_respondents_items_and_attributes(model, structure):
    data = responses(10, missing=0.1)
    data.index = [f"r{k}" for k in range(N)]
    base = quietly(data, Q, model, structure, tol=1e-10)
    rng = np.random.default_rng(2)
    rows, items, attributes = rng.permutation(N), rng.permutation(10), [2, 0, 1]
    other = quietly(data.iloc[rows, items], Q.iloc[rng.permutation(10), attributes], model, structure, tol=1e-10)
    assert other.log_likelihood == pytest.approx(base.log_likelihood, abs=LOG_LIKELIHOOD)
    np.testing.assert_allclose(other.mastery.loc[data.index, ["a", "b", "c"]], base.mastery, atol=PROBABILITY)
    assert other.mastery.index.tolist() == data.index[rows].tolist()
    table = other.structure.loc[["a", "b", "c"]] if structure != "saturated" else other.structure.sort_values("probability")
    expected = base.structure if structure != "saturated" else base.structure.sort_values("probability")
    np.testing.assert_allclose(table, expected, atol=2e-2 if structure == "higher-order" else 1e-3)
    ends = other.items.groupby("item")["probability"].agg(["first", "last"]).loc[Q.index]
    np.testing.assert_allclose(
        ends, base.items.groupby("item")["probability"].agg(["first", "last"]).loc[Q.index], atol=PROBABILITY
    )


def test_swapping_right_and_wrong_reverses_the_attributes():
    data = responses(11)
    for model, twin in [("G-DINA", "G-DINA"), ("ACDM", "ACDM"), ("DINA", "DINO")]:
        base, other = quietly(data, Q, model, "saturated"), quietly(1 - data, Q, twin, "saturated")
        assert other.log_likelihood == pytest.approx(base.log_likelihood, abs=LOG_LIKELIHOOD)
        if model != "DINA":
            # oriented: mastery raises the probability of what is scored 1
            np.testing.assert_allclose(other.mastery, 1 - base.mastery, atol=PROBABILITY)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_weights_are_repeated_rows(structure):
    data = responses(12, n=150, missing=0.1)
    times = np.random.default_rng(1).integers(0, 4, 150)
    repeated = data.loc[data.index.repeat(times)].reset_index(drop=True)
    weighted = quietly(data, Q, structure=structure, weights=times, standard_errors="oakes")
    plain = quietly(repeated, Q, structure=structure, standard_errors="oakes")
    assert weighted.log_likelihood == pytest.approx(plain.log_likelihood, abs=LOG_LIKELIHOOD)
    assert weighted.n_respondents == len(repeated)
    assert weighted.bic == pytest.approx(plain.bic, abs=2 * LOG_LIKELIHOOD)
    np.testing.assert_allclose(weighted.items["n"], plain.items["n"], atol=2e-2)
    np.testing.assert_allclose(weighted.mastery.loc[data.index.repeat(times)], plain.mastery, atol=1e-3)
    both = weighted.items["se"].notna() & plain.items["se"].notna()
    np.testing.assert_allclose(weighted.items["se"][both], plain.items["se"][both], rtol=2e-2)


@pytest.mark.parametrize("scale", [1 / N, 1e6])
def test_the_scale_of_weights_does_not_move_estimates(scale):
    data = responses(13)
    base = quietly(data, Q, "RRUM", n_starts=1)
    scaled = quietly(data, Q, "RRUM", n_starts=1, weights=np.full(N, scale), tol=1e-6 * scale)
    np.testing.assert_allclose(scaled.items["probability"], base.items["probability"], atol=PROBABILITY)
    assert scaled.converged


def test_a_column_without_answers_is_refused_and_an_unanswered_row_has_the_prior():
    data = responses(14, missing=0.1)
    data.loc[3] = np.nan
    found = quietly(data, Q, structure="saturated")
    np.testing.assert_allclose(found.posterior()[3], found.prior, rtol=1e-12)
    assert found.n_respondents == N - 1
    without = quietly(data.drop(index=3), Q, structure="saturated")
    assert without.log_likelihood == pytest.approx(found.log_likelihood, abs=1e-6)
    with pytest.raises(DataError, match="without a response") as error:
        pe.diagnose(data.assign(i4=np.nan), Q)
    assert "i4" in str(error.value)


# ---- groups, parts of the data, several models


def two_groups(seed=15):
    first, _ = simulate(300, Q3, 0.15, 0.15, seed, "all", np.array([6, 2, 2, 2, 2, 2, 2, 2]) / 20)
    second, _ = simulate(300, Q3, 0.15, 0.15, seed + 1, "all", np.array([2, 2, 2, 2, 2, 2, 2, 6]) / 20)
    return pd.DataFrame(np.vstack([first, second]), columns=Q.index), ["low"] * 300 + ["high"] * 300


def test_groups_with_structures_of_their_own():
    data, groups = two_groups()
    found = quietly(data, Q, "DINA", "saturated", groups=groups)
    assert found.prior.shape == (2, 8)
    assert found.n_structural_parameters == 14
    assert found.structure.columns.tolist() == ["probability (low)", "probability (high)"]
    assert found.prior[0, 0] > 0.2 > found.prior[1, 0]
    pooled = quietly(data, Q, "DINA", "saturated")
    assert pooled.log_likelihood < found.log_likelihood
    independent = quietly(data, Q, "DINA", "independent", groups=groups, standard_errors="oakes").structure
    assert independent.index.tolist() == ["a", "b", "c"]
    assert independent.columns.tolist() == ["probability (low)", "se (low)", "probability (high)", "se (high)"]
    assert (independent["probability (high)"] > independent["probability (low)"]).all()
    higher = quietly(data, Q, "DINA", groups=groups, standard_errors="oakes")
    names = [f"{column}{end} ({group})" for group in ("low", "high") for column in ("slope", "intercept") for end in ("", "_se")]
    assert sorted(higher.structure.columns) == sorted(name.replace("_se (", "_se (") for name in names)
    assert (higher.structure["intercept (high)"] > higher.structure["intercept (low)"]).all()
    assert higher.n_structural_parameters == 12
    assert "slope (low)" in higher.summary()


def test_groups_that_share_one_structure():
    data, groups = two_groups()
    found = quietly(data, Q, "DINA", groups=groups, group_structure="theta", higher_order="common-slope")
    assert found.n_structural_parameters == 4 + 2
    assert found.group_means[0] == 0.0
    assert found.group_sds[0] == 1.0
    assert found.group_means[1] > 0.3
    assert found.structure.columns.tolist() == ["slope", "slope_se", "intercept", "intercept_se"]
    separate = quietly(data, Q, "DINA", groups=groups, higher_order="common-slope")
    assert separate.log_likelihood > found.log_likelihood - LOG_LIKELIHOOD
    theta = found.theta.groupby(np.array(groups)).mean()
    assert theta["high"] > theta["low"]


def test_a_group_that_is_not_fitted_is_only_diagnosed():
    data = responses(16)
    data["who"] = ["learner"] * 390 + ["model"] * 10
    found = quietly(data, Q, fit_to={"who": "learner"})
    alone = quietly(data.drop(columns="who").iloc[:390], Q)
    assert found.log_likelihood == pytest.approx(alone.log_likelihood, rel=1e-12)
    assert found.n_respondents == 390
    assert len(found.mastery) == N
    scored = pe.cdm.score(alone, data.drop(columns="who"))
    np.testing.assert_allclose(scored.mastery, found.mastery, rtol=1e-9)
    np.testing.assert_allclose(scored.theta, found.theta, rtol=1e-9)
    assert found.posterior(fitted_only=True).shape == (390, 8)
    part = pe.cdm.score(alone, data[["i9", "i2"]])  # the other items count as missing
    seen = pe.cdm.score(alone, data[Q.index].assign(**dict.fromkeys(Q.index.difference(["i2", "i9"]), np.nan)))
    np.testing.assert_allclose(part.mastery, seen.mastery, rtol=1e-12)
    with pytest.raises(LabelError, match="does not know"):
        pe.cdm.score(alone, data[["i9"]].rename(columns={"i9": "new"}))


def test_every_item_has_its_own_model():
    data = responses(17)
    named = quietly(data, Q, {"i6": "dina", "i9": "A-CDM"})
    assert named.item_models == ("G-DINA",) * 6 + ("DINA", "G-DINA", "G-DINA", "ACDM")
    assert named.model == "mixed"
    assert named.n_item_parameters == 12 + 2 + 4 + 4 + 4
    listed = quietly(data, Q, ["G-DINA"] * 6 + ["DINA", "gdina", "G-DINA", "ACDM"])
    assert listed.log_likelihood == pytest.approx(named.log_likelihood, rel=1e-12)
    bigger, smaller = quietly(data, Q), quietly(data, Q, ["DINA"] * 9 + ["ACDM"])
    assert smaller.log_likelihood <= named.log_likelihood + 1e-6 <= bigger.log_likelihood + 2e-6
    with pytest.raises(LabelError, match="nowhere"):
        pe.diagnose(data, Q, {"nowhere": "DINA"})
    with pytest.raises(DataError, match="9 entries for 10 items"):
        pe.diagnose(data, Q, ["DINA"] * 9)
    with pytest.raises(DataError, match="NIDA"):
        pe.diagnose(data, Q, "NIDA")


def test_a_hierarchy():
    data = responses(18, "all")
    found = quietly(data, Q, "DINA", "saturated", hierarchy=[("a", "b")])
    broken = (found.alpha[:, 1] == 1) & (found.alpha[:, 0] == 0)
    assert (found.prior[broken] == 0).all()
    assert (found.profiles.to_numpy()[:, broken] == 0).all()
    assert found.n_structural_parameters == 5
    assert (found.mastery["b"] <= found.mastery["a"] + 1e-12).all()
    assert found.log_likelihood <= quietly(data, Q, "DINA", "saturated").log_likelihood + 1e-6
    with pytest.raises(DataError, match="saturated"):
        pe.diagnose(data, Q, hierarchy=[("a", "b")])


# ---- classification


def test_classifications_and_ties():
    found = quietly(responses(19), Q, "DINA", "saturated")
    posterior, alpha = found.posterior(), all_profiles(3)
    np.testing.assert_allclose(found.mastery, posterior @ alpha, atol=1e-12)
    best = found.classification("map")
    np.testing.assert_array_equal(best.iloc[:, :3], alpha[posterior.argmax(axis=1)])
    assert best["profile"].tolist() == ["".join(map(str, row)) for row in alpha[posterior.argmax(axis=1)]]
    assert not best["tied"].any()
    np.testing.assert_array_equal(found.classification("eap").iloc[:, :3], (found.mastery > 0.5).astype(int))
    np.testing.assert_array_equal(found.mastered(0.8), found.mastery > 0.8)
    # a row without answers: every profile has the same likelihood, the first is named and the tie flagged
    empty = pe.cdm.score(found, pd.DataFrame(np.full((2, 10), np.nan), columns=Q.index))
    likeliest = empty.classification("ml")
    assert likeliest["tied"].all()
    assert (likeliest["profile"] == "000").all()
    np.testing.assert_allclose(empty.profiles.to_numpy()[0], found.prior, rtol=1e-12)
    with pytest.raises(ValueError, match="method"):
        found.classification("mle")


# ---- saved and loaded


@pytest.mark.parametrize(
    "options",
    [
        {"model": "RRUM", "standard_errors": "oakes"},
        {"structure": "saturated", "groups": ["x", "y"] * 200},
        {"structure": "saturated", "hierarchy": [("a", "b")], "model": "DINA", "standard_errors": "crossprod"},
        {"group_structure": "theta", "groups": [1, 2] * 200, "standard_errors": "sandwich"},
    ],
)
def test_saved_and_loaded_exactly(options, tmp_path):
    data = responses(20)
    found = quietly(data, Q, **options)
    found.save(tmp_path / "d.json")
    back = pe.load(tmp_path / "d.json")
    assert isinstance(back, pe.Diagnosis)
    for name in ("cells", "structural", "log_prior", "item_parameters", "cell_se", "log_likelihood_trace", "group_means"):
        np.testing.assert_array_equal(getattr(back, name), getattr(found, name))
    pd.testing.assert_frame_equal(back.items, found.items)
    pd.testing.assert_frame_equal(back.structure, found.structure)
    pd.testing.assert_frame_equal(back.starts, found.starts)
    assert back.diagnostics == found.diagnostics
    assert (back.bic, back.converged, back.options) == (found.bic, found.converged, found.options)
    with pytest.raises(MissingResponsesError, match="score"):
        _ = back.mastery
    rescored = pe.cdm.score(back, data, groups=options.get("groups"))
    np.testing.assert_array_equal(rescored.mastery, found.mastery)
    if found.theta is not None:
        np.testing.assert_array_equal(rescored.theta, found.theta)
    assert back.summary().splitlines()[0] == found.summary().splitlines()[0]


# ---- inputs


def test_q_in_another_order_as_bool_as_array_as_object():
    data = responses(21)
    base = quietly(data, Q)
    for given in (Q.iloc[::-1], Q.astype(bool), pe.QMatrix(Q), Q.astype(float)):
        assert quietly(data, given).log_likelihood == pytest.approx(base.log_likelihood, abs=1e-6)
    array = quietly(data.to_numpy(), Q3)
    assert array.log_likelihood == pytest.approx(base.log_likelihood, rel=1e-12)


def test_labels_that_mean_something_elsewhere():
    names = {"a": "<b>&", "b": "$x_1$", "c": "naïve 中"}
    data = responses(22).rename(columns={"i0": "<script>", "i1": "a $ b"})
    q = Q.rename(index={"i0": "<script>", "i1": "a $ b"}, columns=names)
    found = quietly(data, q, standard_errors="oakes")
    assert found.mastery.columns.tolist() == list(names.values())
    html = found._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "<b>&" not in html.replace("&amp;", "&").split("<table>", 1)[1].split("<b>&lt;", 1)[0]
    assert "<script>" in found.summary()


@pytest.mark.parametrize("model", MODELS)
def test_items_that_everyone_or_no_one_gets_right(model):
    data = responses(23).assign(i0=1, i7=0, i9=1)
    found = quietly(data, Q, model)
    items = found.items.set_index("item")
    assert (items.loc["i0", "probability"] > 1 - 2e-3).all()
    assert (items.loc["i7", "probability"] < 2e-3).all()
    assert found.converged
    assert np.isfinite(found.profiles.to_numpy()).all()


@pytest.mark.parametrize("structure", ["saturated", "independent"])
def test_one_attribute_is_a_two_class_mixture(structure):
    q = np.ones((6, 1), dtype=int)
    scored, true = simulate(500, q, 0.2, 0.1, 24)
    fits = [quietly(scored, q, model, structure) for model in MODELS]
    assert len({fit.n_parameters for fit in fits}) == 1
    np.testing.assert_allclose([fit.log_likelihood for fit in fits], fits[0].log_likelihood, rtol=1e-12)
    assert fits[0].n_parameters == 13
    assert fits[0].classification().iloc[:, 0].eq(true[:, 0]).mean() > 0.95


@pytest.mark.parametrize("n", [1, 2, 20])
@pytest.mark.parametrize("model", ["G-DINA", "RRUM"])
def test_very_few_respondents(n, model):
    found = quietly(responses(25).iloc[:n], Q, model)
    assert np.isfinite(found.profiles.to_numpy()).all()
    assert np.diff(found.log_likelihood_trace).min(initial=0.0) > -1e-6
    assert found.converged


def test_identical_rows_and_three_items():
    same = pd.DataFrame(np.tile([[1, 0, 1, 0, 1, 0, 1, 0, 1, 0]], (60, 1)), columns=Q.index)
    found = quietly(same, Q)
    assert found.data_summary["n_distinct_rows"] == 1
    assert found.log_likelihood > 60 * 10 * np.log(1 - 1e-4) - 1e-3
    small = quietly(responses(26)[["i0", "i1", "i6"]], Q.loc[["i0", "i1", "i6"], ["a", "b"]], higher_order="rasch")
    assert small.converged
    assert len(small.items) == 2 + 2 + 4


def test_one_item_an_attribute_ends_and_is_warned_of():
    data, q = responses(27)[["i0", "i1", "i2"]], Q.loc[["i0", "i1", "i2"]]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = pe.diagnose(data, q, n_starts=1, n_points=25)
    assert found.converged
    kinds = {warning.category for warning in caught}
    assert IdentificationWarning in kinds
    assert kinds <= {IdentificationWarning, BoundaryEstimateWarning, StandardErrorWarning}


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"bounds": (0.0, 1.0)}, "inside"),
        ({"bounds": (0.6, 0.4)}, "low < high"),
        ({"slope_bounds": (2.0, 1.0)}, "slope_bounds"),
        ({"structure": "unstructured"}, "structure"),
        ({"higher_order": "3pl"}, "higher_order"),
        ({"group_structure": "x"}, "group_structure"),
        ({"standard_errors": "oake"}, "standard_errors"),
        ({"n_starts": 0}, "n_starts"),
        ({"tol": -1.0}, "tol"),
        ({"max_iter": 0}, "max_iter"),
        ({"rng": -1}, "rng"),
        ({"weights": np.zeros(N)}, "All 400 weights are 0"),
        ({"fit_to": np.zeros(N, dtype=bool)}, "leave|estimate|fit_to"),
        ({"memory_limit": 1000.0}, "profiles"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, match):
    with pytest.raises(pe.exceptions.PsychoeduError, match=match):
        pe.diagnose(responses(), Q, **options)


def test_too_few_iterations_are_said_first():
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        found = pe.diagnose(responses(28), Q, n_starts=1, max_iter=2, standard_errors=None)
    assert not found.converged
    assert found.n_iterations == 2
    assert found.remaining_gain > 0.01
    assert found.summary().startswith("NOT CONVERGED")
    assert "NOT CONVERGED" in repr(found)
    assert "NOT CONVERGED" in found._repr_html_()


def test_bounds_are_kept_and_flagged():
    found = quietly(
        responses(29, guessing=0.05, slip=0.05),
        Q,
        "DINA",
        bounds=(0.1, 0.9),
        slope_bounds=(0.9, 1.1),
        intercept_bounds=(-0.2, 0.2),
    )
    assert found.items["probability"].between(0.1 - 1e-9, 0.9 + 1e-9).all()
    assert found.structure["slope"].between(0.9, 1.1).all()
    assert found.structure["intercept"].between(-0.2, 0.2).all()
    assert found.items["flags"].str.contains("on_bound").any()


@pytest.mark.parametrize("method", ["oakes", "crossprod", "sandwich"])
@pytest.mark.parametrize("model", ["G-DINA", "LLM"])
def test_standard_errors_of_a_large_sample_agree(method, model):
    """With one attribute an item and no noise between methods: all three estimate the same covariance where the model holds."""
    data = responses(30, n=4000)
    found = quietly(data, Q, "DINA" if model == "G-DINA" else model, "independent", standard_errors=method, n_starts=1)
    reference = quietly(data, Q, "DINA" if model == "G-DINA" else model, "independent", standard_errors="oakes", n_starts=1)
    assert found.items["se"].notna().all()
    np.testing.assert_allclose(found.items["se"], reference.items["se"], rtol=0.6)
    assert found.structure["se"].notna().all()


# ---- a published design whose labels are not identified


def frac15(shared):
    folder = shared / "reference" / "cdm_frac15"
    return pd.read_csv(folder / "responses.csv"), pd.read_csv(folder / "q.csv", index_col="item")


@pytest.mark.shared
def test_fraction_data_are_flagged_before_the_fit_and_withheld(shared):
    data, q = frac15(shared)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = pe.diagnose(data, q, structure="saturated", n_starts=1, standard_errors=None)
    assert caught[0].category is IdentificationWarning  # before what the fit itself warns of
    assert len(found.withheld) >= 1
    assert found.mastery[list(found.withheld)].isna().all().all()
    assert found.diagnostics
    asked = quietly(data, q, structure="saturated", n_starts=1, classify_unidentified=True)
    assert asked.withheld == ()
    assert asked.mastery.notna().all().all()


@pytest.mark.slow
@pytest.mark.shared
def test_fraction_data_from_two_hundred_starts(shared, capsys):
    data, q = frac15(shared)
    found = quietly(data, q, structure="saturated", n_starts=200)
    hits = int(found.starts["reached_best"].sum())
    with capsys.disabled():
        print(f"\nfraction data: best deviance {found.minus_2ll:.4f}, reached by {hits} of {len(found.starts)} starts")
    assert found.minus_2ll <= 6428.53
    assert hits >= 1


def test_data_are_checked_once():
    job = prepare_diagnosis(responses(), Q, None, None, None)
    assert job.scored.dtype == np.int8
    assert job.groups == ("all",)
    assert job.n_respondents == N
