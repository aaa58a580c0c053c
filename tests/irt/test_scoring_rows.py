"""Rows of responses to scores: each on its own to the bit, with a prior of its own, equal rows once, and the verb.

Cases I5, I7, I23 and T7.
"""

import time
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scoring_designs import draw, five_items, labelled_bank, rows_of, same_bits

import psychoedu as pe
from psychoedu.exceptions import DataError, LabelError
from psychoedu.irt.packing import group_rows
from psychoedu.irt.scoring import METHODS, Flag, estimate

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


# a prior of one's own


def own_priors(n_respondents):
    rng = np.random.default_rng(n_respondents)
    return rng.normal(0.0, 2.0, n_respondents), np.exp(rng.normal(0.0, 0.7, n_respondents))


@pytest.mark.parametrize("guessing", [0.0, 0.2])
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("method", ["eap", "map"])
def test_i7_with_a_prior_per_row_alone_equals_in_a_matrix_to_the_bit(method, missing, guessing):
    codes, a, d, c = draw(6000, 21, seed=3, missing=missing, guessing=guessing)
    mean, sd = own_priors(6000)
    mean[:30] = mean[0]  # the same prior on a lattice row and in a group
    sd[:30] = sd[0]
    together = estimate(codes, a, d, c, method, mean, sd)
    for row in (0, 1, 29, *range(30, 6000, 311), 5999):
        alone = estimate(codes[row : row + 1], a, d, c, method, float(mean[row]), float(sd[row]))
        assert same_bits(alone.theta, together.theta[row : row + 1])
        assert same_bits(alone.theta_se, together.theta_se[row : row + 1])
    order = np.random.default_rng(4).permutation(6000)
    shuffled = estimate(codes[order], a, d, c, method, mean[order], sd[order])
    assert same_bits(shuffled.theta, together.theta[order])


@pytest.mark.parametrize("guessing", [0.0, 0.2])
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("method", ["eap", "map"])
def test_i7_one_prior_few_priors_and_many_give_the_same_bits(method, missing, guessing):
    codes, a, d, c = draw(5000, 18, seed=5, missing=missing, guessing=guessing)
    one = estimate(codes, a, d, c, method, 0.3, 1.1)
    mean, sd = own_priors(5000)
    for step in (2, 50):  # half and a fiftieth of the rows have that prior
        few = estimate(codes, a, d, c, method, np.where(np.arange(5000) % step == 0, 0.3, -0.2), 1.1)
        many_mean, many_sd = mean.copy(), sd.copy()
        many_mean[::step], many_sd[::step] = 0.3, 1.1
        many = estimate(codes, a, d, c, method, many_mean, many_sd)
        for found in (few, many):
            assert same_bits(found.theta[::step], one.theta[::step])
            assert same_bits(found.theta_se[::step], one.theta_se[::step])


def test_equal_rows_with_different_priors_stay_apart():
    codes = rows_of(["11100"] * 4)
    found = estimate(codes, *five_items(), prior_mean=np.array([0.0, 1.0, -0.0, 1.0]), prior_sd=np.array([1.0, 1.0, 1.0, 2.0]))
    assert len(set(found.theta.tolist())) == 3
    assert found.theta[0] == found.theta[2]


@pytest.mark.parametrize("method", ["ml", "wle"])
def test_methods_without_a_prior_ignore_one_per_row(method):
    codes, a, d, c = draw(300, 12, seed=8, missing=0.2)
    mean, sd = own_priors(300)
    assert same_bits(estimate(codes, a, d, c, method, mean, sd).theta, estimate(codes, a, d, c, method).theta)


@pytest.mark.parametrize("method", ["eap", "map"])
def test_rows_without_data_get_their_own_prior(method):
    mean, sd = own_priors(40)
    codes = np.full((40, 5), -1, dtype=np.int8)
    codes[::2] = 1
    found = estimate(codes, *five_items(), method=method, prior_mean=mean, prior_sd=sd)
    np.testing.assert_array_equal(found.theta[1::2], mean[1::2])
    np.testing.assert_array_equal(found.theta_se[1::2], sd[1::2])


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("method", ["eap", "map"])
def test_a_prior_per_respondent_is_fast_and_small(method, missing):
    codes, a, d, c = draw(20_000, 30, seed=6, missing=missing)
    mean, sd = own_priors(20_000)
    estimate(codes[:10], a, d, c, method)
    tracemalloc.start()
    started = time.perf_counter()
    estimate(codes, a, d, c, method, mean, sd)
    elapsed = time.perf_counter() - started
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert elapsed < 10  # about 0.2 s on one core; one prior at a time it would be 40 s
    assert peak < 60e6


@pytest.mark.parametrize("method", ["eap", "map"])
def test_priors_far_apart_do_not_fill_the_gap_between_them(method):
    """A table over everything between the priors would have 10^9 nodes."""
    codes, a, d, c = draw(500, 20, seed=7, missing=0.1)
    mean = np.linspace(-1e7, 1e7, 500)
    tracemalloc.start()
    found = estimate(codes, a, d, c, method, mean, 0.2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6
    assert np.isfinite(found.theta).all()


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


@pytest.mark.parametrize("method", ["EAP", "bayes"])
def test_scores_of_a_calibration_refuse_an_unknown_method(method):
    calibration = pe.calibrate(pe.datasets.load_lsat7())
    with pytest.raises(DataError, match="Did you mean 'eap'" if method == "EAP" else "'eap', 'map', 'ml', 'wle'"):
        calibration.scores(method=method)


def test_anything_with_a_bank_can_score():
    class Holder:
        bank = labelled_bank()

    responses = pd.DataFrame([[1, 1, 0, 0]], columns=list("abcd"))
    assert same_bits(pe.score(Holder(), responses).theta, pe.score(Holder.bank, responses).theta)
