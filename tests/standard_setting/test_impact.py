"""Impact of cut scores: shares against normal probabilities and counts, intervals against published ones."""

import numpy as np
import pandas as pd
import pytest
from level_designs import bank_of, respond
from scipy.stats import norm
from statsmodels.stats.proportion import proportion_confint

import psychoedu as pe
from psychoedu.exceptions import DataError
from psychoedu.standard_setting.cut_scores import CutScores
from psychoedu.standard_setting.impact import EVERYONE, impact, impact_texts, survival_curves

EXACT = 1e-12
CUTS = {"CSE-3": -0.5, "CSE-4": 0.3, "CSE-5": 1.2}
# Newcombe (1998), Statistics in Medicine, 17, 857-872: Wilson's method without continuity correction, 95%
PUBLISHED = {(81, 263): (0.2553, 0.3662), (15, 148): (0.0624, 0.1605), (0, 20): (0.0, 0.1611), (1, 29): (0.0061, 0.1718)}


def sample(n=60, seed=5):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"theta": rng.normal(0.2, 1.1, n), "theta_se": rng.uniform(0.2, 0.6, n)})


def normal_shares(theta, error, cuts):
    """Return the mean over respondents of the normal probability between the cuts."""
    edges = [-np.inf, *cuts, np.inf]
    below = np.array([norm.cdf(edge, theta, error) for edge in edges])
    return np.diff(below, axis=0).mean(axis=1)


# shares


def test_shares_are_means_of_normal_probabilities_by_group():
    scores = sample()
    groups = np.array(["junior", "college", "college"] * 20)
    found = impact(scores, CUTS, groups)
    assert found.index.names == ["group", "level"]
    assert list(found.index) == [(g, level) for g in ("junior", "college") for level in ("below CSE-3", *CUTS)]
    for group in ("junior", "college"):
        own = scores[groups == group]
        expected = normal_shares(own["theta"].to_numpy(), own["theta_se"].to_numpy(), CUTS.values())
        np.testing.assert_allclose(found.loc[group, "share"], expected, atol=EXACT)
        assert (found.loc[group, "n"] == len(own)).all()


def test_shares_of_levels_are_counts():
    scores = pd.DataFrame({"theta": [-2.0, -0.5, -0.4999, 0.2, 1.2, 3.0, -0.6], "theta_se": 0.4})
    found = impact(scores, CUTS, basis="level").loc[EVERYONE]
    assert (found["share"] * 7).round(10).tolist() == [2, 3, 0, 2]  # at the cut is above it
    assert (found["n"] == 7).all()


def test_normal_posteriors_put_more_at_the_ends_than_their_means_do():
    scores = sample(400)
    ends = ["below CSE-3", "CSE-5"]
    by = {
        basis: impact(scores, {"CSE-3": -1.5, "CSE-5": 1.9}, basis=basis).loc[EVERYONE, "share"]
        for basis in ("probability", "level")
    }
    assert (by["probability"][ends] > by["level"][ends]).all()


@pytest.mark.parametrize("basis", ["probability", "level"])
def test_shares_of_a_group_sum_to_1_and_its_parts_make_up_the_whole(basis):
    scores = sample()
    groups = ["a"] * 20 + ["b"] * 40
    found = impact(scores, CUTS, groups, basis=basis)
    np.testing.assert_allclose(found["share"].groupby("group").sum(), 1.0, rtol=EXACT)
    assert ((found["low"] <= found["share"]) & (found["share"] <= found["high"])).all()
    whole = impact(scores, CUTS, basis=basis).loc[EVERYONE, "share"]
    np.testing.assert_allclose((found.loc["a", "share"] * 20 + found.loc["b", "share"] * 40) / 60, whole, rtol=1e-10)


# intervals


@pytest.mark.parametrize(("counts", "expected"), PUBLISHED.items(), ids=str)
def test_intervals_are_the_published_wilson_ones(counts, expected):
    above, n = counts
    theta = np.where(np.arange(n) < above, 1.0, -1.0)
    row = impact(pd.DataFrame({"theta": theta, "theta_se": 0.1}), {"pass": 0.0}, basis="level").loc[(EVERYONE, "pass")]
    assert (round(row["low"], 4), round(row["high"], 4)) == expected


@pytest.mark.parametrize("confidence_level", [0.8, 0.95, 0.999])
def test_intervals_agree_with_statsmodels(confidence_level):
    found = impact(sample(), CUTS, confidence_level=confidence_level)
    low, high = proportion_confint(found["share"] * found["n"], found["n"], alpha=1.0 - confidence_level, method="wilson")
    np.testing.assert_allclose(found["low"], low, rtol=1e-9)
    np.testing.assert_allclose(found["high"], high, rtol=1e-9)


# who counts


def test_who_has_no_score_or_no_group_is_left_out():
    scores = pd.DataFrame({"theta": [0.0, np.nan, 1.0, -1.0], "theta_se": [0.5, 0.5, np.nan, 0.5]})
    groups = pd.Series(["a", "a", "b", None])
    found = impact(scores, {"pass": 0.0}, groups)
    assert found["n"].to_dict() == {("a", "below pass"): 1, ("a", "pass"): 1, ("b", "below pass"): 0, ("b", "pass"): 0}
    assert found.loc["a", "share"].tolist() == [0.5, 0.5]
    assert found.loc["b", ["share", "low", "high"]].isna().all(axis=None)  # nobody: unknown, not 0
    by_level = impact(scores, {"pass": 0.0}, groups, basis="level")
    assert by_level.loc[("b", "pass"), ["share", "n"]].tolist() == [1.0, 1.0]  # a level needs no standard error


def test_who_answered_nothing_has_no_level_to_count():
    bank = bank_of(12)
    answers = respond(bank, np.linspace(-2, 2, 30)).astype(float)
    answers.iloc[4] = np.nan
    found = impact(pe.score(bank, answers), CUTS, basis="level")
    assert (found["n"] == 29).all()
    known = pe.score(bank, answers.drop(index="r5")).to_frame()["theta"].to_numpy()
    codes = (known[:, None] >= list(CUTS.values())).sum(axis=1)
    np.testing.assert_allclose(found["share"], np.bincount(codes, minlength=4) / 29, rtol=EXACT)


def test_groups_stand_in_their_own_order():
    scores = sample(4)
    met = impact(scores, {"pass": 0.0}, [2, 1, 2, 1])
    assert list(dict.fromkeys(met.index.get_level_values("group"))) == [2, 1]
    ordered = pd.Series(pd.Categorical(["b", "a", "b", "a"], categories=["a", "none", "b"]))
    found = impact(scores, {"pass": 0.0}, ordered)
    assert list(dict.fromkeys(found.index.get_level_values("group"))) == ["a", "b"]


@pytest.mark.parametrize("dtype", ["string", "category", object])
def test_missing_groups_of_any_dtype(dtype):
    groups = pd.Series(["a", None, "a", "b"], dtype=dtype)
    found = impact(sample(4), {"pass": 0.0}, groups)
    assert found["n"].to_dict() == {("a", "below pass"): 2, ("a", "pass"): 2, ("b", "below pass"): 1, ("b", "pass"): 1}


def test_scores_of_a_calibration_or_a_bank():
    bank = bank_of(12)
    scores = pe.score(bank, respond(bank, np.linspace(-2, 2, 30)))
    frame = scores.to_frame()
    expected = normal_shares(frame["theta"].to_numpy(), frame["theta_se"].to_numpy(), CUTS.values())
    for cuts in (CUTS, CutScores.from_values(CUTS), pd.Series(CUTS)):
        np.testing.assert_allclose(impact(scores, cuts)["share"], expected, atol=EXACT)


def test_an_open_end_takes_everyone():
    cuts = CutScores.from_values({"CSE-3": -np.inf, "CSE-4": 0.0})
    found = impact(sample(), cuts).loc[EVERYONE]
    assert found.loc["below CSE-3", ["share", "low"]].tolist() == [0.0, 0.0]
    assert found.loc["below CSE-3", "high"] > 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"basis": "counts"}, r"basis has to be one of 'probability', 'level'; got 'counts'"),
        ({"confidence_level": 95}, "confidence_level has to lie between 0 and 1"),
        ({"groups": ["a", "b"]}, r"groups has to hold one value per respondent \(4\)"),
        ({"groups": [None] * 4}, "groups holds no label"),
    ],
    ids=["basis", "level", "too few groups", "no group"],
)
def test_arguments_that_are_none(options, message):
    with pytest.raises(DataError, match=message):
        impact(sample(4), CUTS, **options)


# as text


def test_texts_have_levels_down_and_groups_across():
    index = pd.MultiIndex.from_product([["b", "a"], ["below pass", "pass"]], names=["group", "level"])
    shares = pd.DataFrame(
        {"share": [0.123, 0.877, 0.5, 0.5], "low": [0.101, 0.851, 0.25, 0.25], "high": [0.1494, 0.899, 0.75, 0.75], "n": 9},
        index=index,
    )
    found = impact_texts(shares)
    assert found.columns.tolist() == ["b", "a"]
    assert found.index.tolist() == ["below pass", "pass"]
    assert found.loc["below pass", "b"] == "12.3% (10.1% to 14.9%)"
    assert found.loc["pass", "a"] == "50.0% (25.0% to 75.0%)"


# curves for the facilitator's page


def test_survival_curves_at_the_cuts_are_the_impact_at_or_above():
    scores, groups = sample(), ["a", "b", "b"] * 20
    curves = survival_curves(scores, groups)
    for group, (grid, share, n) in curves.items():
        cuts = grid[[150, 170, 190]]  # -0.5, 0.5, 1.5
        shares = impact(scores, dict(zip(("x", "y", "z"), cuts, strict=True)), groups).loc[group]
        np.testing.assert_allclose(share[[150, 170, 190]], 1.0 - shares["share"].cumsum()[:-1], atol=EXACT)
        assert (shares["n"] == n).all()


def test_survival_curves_fall_from_1_to_0_over_a_grid_that_covers_abilities():
    ((grid, share, n),) = survival_curves(sample()).values()
    assert (grid[0], grid[-1], n) == (-8.0, 8.0, 60)
    np.testing.assert_allclose(np.diff(grid), 0.05, rtol=1e-10)
    assert share[0] == pytest.approx(1.0, abs=1e-9)
    assert share[-1] == pytest.approx(0.0, abs=1e-9)
    assert (np.diff(share) <= 0.0).all()


def test_survival_curves_without_a_score_are_left_out():
    scores = pd.DataFrame({"theta": [0.0, np.inf, 1.0, np.nan], "theta_se": [0.5, 0.5, np.nan, 0.5]})
    curves = survival_curves(scores, ["a", "a", "b", "b"])
    assert list(curves) == ["a"]
    grid, share, n = curves["a"]
    assert n == 1
    np.testing.assert_allclose(share, norm.sf(grid, 0.0, 0.5), atol=EXACT)


@pytest.mark.parametrize("scores", [pd.DataFrame({"theta": [1.0]}), [[0.0, 0.3]], None], ids=["no error", "list", "none"])
def test_survival_curves_need_scores_with_errors(scores):
    with pytest.raises(DataError, match="scores has to be Scores, or a DataFrame with columns theta and theta_se"):
        survival_curves(scores)
