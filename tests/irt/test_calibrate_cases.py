"""Trouble cases of calibration, one test each; the identifiers are those of the list of known cases."""

from __future__ import annotations

import logging
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from designs import simulate, with_holes

import psychoedu as pe
from psychoedu import exceptions as ex
from psychoedu.irt.blocks import arrange
from psychoedu.irt.likelihood import ItemCurves, expectation
from psychoedu.irt.quadrature import equally_spaced, normal_log_weights

RNG = np.random.default_rng(2026)
EIGHT = simulate(400, RNG.lognormal(0, 0.3, 8), np.linspace(-1.2, 1.2, 8), seed=1)
GUTTMAN = np.tril(np.ones((6, 5), dtype=int), -1)


def frame(values, items=None):
    columns = items or [f"q{j + 1:02d}" for j in range(values.shape[1])]
    return pd.DataFrame(values, columns=columns, index=[f"r{i + 1}" for i in range(values.shape[0])])


# ---- I: data that has no parameters


def test_i1_constant_item_is_named_with_its_value():
    data = frame(np.column_stack([EIGHT[:, :2], np.ones(400, dtype=int)]), ["q1", "q2", "q3"])
    with pytest.raises(ex.ConstantItemError, match=r"1 of 3 items has one response category \(q3: all 1, n = 400\)"):
        pe.calibrate(data)


def test_i1_dropped_on_request_and_recorded():
    data = frame(np.column_stack([EIGHT[:, :4], np.ones(400, dtype=int)]))
    with pytest.warns(ex.DroppedItemsWarning, match="'q05'"):
        calibration = pe.calibrate(data, on_constant="drop")
    assert calibration.data_summary["dropped_items"] == ["q05"]
    assert list(calibration.items.index) == ["q01", "q02", "q03", "q04"]
    np.testing.assert_array_equal(calibration.discrimination, pe.calibrate(data.drop(columns="q05")).discrimination)


def test_i2_all_wrong_and_one_observed_cell():
    lonely = np.full(400, np.nan)
    lonely[7] = 1
    data = frame(np.column_stack([EIGHT[:, :4], np.zeros(400), lonely]))
    with pytest.raises(ex.ConstantItemError, match=r"q05: all 0, n = 400; q06: all 1, n = 1"):
        pe.calibrate(data)


def test_i3_constant_in_the_subset_is_caught_there_and_named():
    data = frame(EIGHT).astype(float)
    first = np.arange(400) < 250
    data.loc[first, "q03"] = 1.0
    with pytest.raises(ex.ConstantItemError, match=r"among the 250 respondents of fit_to \(q03: all 1, n = 250\)"):
        pe.calibrate(data, fit_to=first)
    pe.calibrate(data)  # the whole data have both categories


def test_i4_item_without_a_response():
    data = frame(np.column_stack([EIGHT[:, :4], np.full(400, np.nan)]))
    with pytest.raises(ex.ConstantItemError, match="q05: no response"):
        pe.calibrate(data)


def test_i5_row_without_responses_stays_and_changes_nothing():
    data = frame(EIGHT.astype(float))
    extended = pd.concat([data, pd.DataFrame(np.nan, index=["silent"], columns=data.columns)])
    plain, with_row = pe.calibrate(data), pe.calibrate(extended)
    assert with_row.log_likelihood == plain.log_likelihood
    np.testing.assert_array_equal(with_row.discrimination, plain.discrimination)
    assert with_row.n_respondents == plain.n_respondents == 400
    assert with_row.data_summary["n_without_responses"] == 1
    scores = with_row.scores()
    assert list(scores.theta.index) == list(extended.index)
    assert scores.theta["silent"] == pytest.approx(0.0, abs=1e-9)
    assert scores.theta_se["silent"] == pytest.approx(1.0, abs=1e-6)
    assert "no_data" in scores.flags["silent"]


def test_i6_three_respondents_raise_unless_priors_carry_them():
    data = np.array([[1, 0, 1, 0, 1], [0, 1, 0, 1, 0], [1, 1, 0, 0, 1]])
    with pytest.raises(ex.SampleSizeError, match="3 respondents with responses for 10 parameters"):
        pe.calibrate(data)
    with pytest.warns(ex.SmallSampleWarning, match="3 respondents for 10 parameters"):
        calibration = pe.calibrate(data, priors=pe.Priors())
    # the SE of a parameter that the data hardly touch is near the prior's: lognormal(0, .5) has SD .60 around its mode .78
    assert (calibration.items["discrimination_se"] > 0.2).all()
    assert (calibration.items["difficulty_se"] > 0.8).all()


@pytest.mark.parametrize("n_items", [1, 2])
def test_i8_too_few_items(n_items):
    with pytest.raises(ex.IdentificationError, match=f"2pl model on {n_items} item"):
        pe.calibrate(EIGHT[:, :n_items])


def test_i8_two_items_with_equal_slopes_or_priors():
    assert pe.calibrate(EIGHT[:, :2], model="1pl").converged
    assert pe.calibrate(EIGHT[:, :2], priors=True).converged


def test_i23_permuted_rows_and_columns_permute_the_results():
    data = frame(with_holes(EIGHT, 0.1))
    rng = np.random.default_rng(4)
    permuted = data.iloc[rng.permutation(len(data)), rng.permutation(data.shape[1])]
    one, other = pe.calibrate(data, tol=1e-13), pe.calibrate(permuted, tol=1e-13)
    numbers = ["discrimination", "difficulty", "intercept", "discrimination_se", "p_value", "point_biserial", "n"]
    np.testing.assert_allclose(other.items.loc[one.items.index, numbers], one.items[numbers], rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(other.scores().theta.loc[data.index], one.scores().theta, atol=1e-7)
    assert list(other.scores().theta.index) == list(permuted.index)


def test_i20_more_items_than_respondents_is_not_turned_round():
    data = simulate(20, 1.0, np.linspace(-1, 1, 60), seed=3)
    data = data[:, (data.mean(axis=0) > 0) & (data.mean(axis=0) < 1)]
    with pytest.warns(ex.SmallSampleWarning):
        calibration = pe.calibrate(data, priors=True, standard_errors=None)
    assert calibration.n_items == data.shape[1]


def test_i17_the_users_frame_is_untouched():
    data = frame(with_holes(EIGHT, 0.1))
    before = data.copy(deep=True)
    pe.calibrate(data).scores()
    pd.testing.assert_frame_equal(data, before)


# ---- C: estimation


def test_c1_reversed_item_keeps_its_sign_and_is_flagged():
    data = EIGHT[:200].copy()
    data[:, 3] = 1 - data[:, 3]
    calibration = pe.calibrate(frame(data))
    assert calibration.discrimination[3] < -0.3
    assert calibration.items["flags"]["q04"] == "negative_discrimination"
    assert (np.delete(calibration.discrimination, 3) > 0).all()


@pytest.mark.parametrize("seed", range(20))
def test_c2_orientation_all_right_is_highest(seed):
    data = np.random.default_rng(seed).integers(0, 2, (200, 8))
    data[0], data[-1] = 1, 0
    theta = pe.calibrate(data, priors=True).scores().theta  # noise: without priors slopes may run to the bound
    assert theta.iloc[0] == theta.max()
    assert theta.iloc[-1] == theta.min()


def test_c2_turning_all_items_round_turns_the_scale_only():
    """Flipping 0 and 1 gives (a, -b, -theta)."""
    one, other = pe.calibrate(EIGHT, tol=1e-12), pe.calibrate(1 - EIGHT, tol=1e-12)
    np.testing.assert_allclose(other.discrimination, one.discrimination, atol=1e-6)
    np.testing.assert_allclose(other.difficulty, -one.difficulty, atol=1e-6)
    np.testing.assert_allclose(other.scores().theta, -one.scores().theta, atol=1e-6)


def test_c3_guttman_pattern_meets_the_bound_and_says_so():
    with pytest.warns(ex.BoundaryEstimateWarning, match=r"on the bound \(-25 or 25\)"):
        calibration = pe.calibrate(np.repeat(GUTTMAN, 50, axis=0))
    assert (np.diff(calibration.log_likelihood_trace) >= 0).all()
    assert (calibration.items["flags"].str.contains("on_bound")).all()
    assert calibration.items["discrimination_se"].isna().all()
    assert (np.diff(calibration.difficulty) > 0).all()


def test_c3_guttman_pattern_is_finite_under_a_prior():
    with pytest.warns(ex.SmallSampleWarning):
        calibration = pe.calibrate(GUTTMAN, priors=pe.Priors())
    assert calibration.converged
    assert (calibration.discrimination < 3).all()
    assert np.isfinite(calibration.items[["discrimination_se", "difficulty_se"]]).all().all()


def test_c5_one_iteration_is_not_converged_and_says_so_first():
    with pytest.warns(ex.ConvergenceWarning, match="stopped after 1 iteration"):
        calibration = pe.calibrate(EIGHT, max_iter=1)
    assert calibration.converged is False
    assert calibration.summary().splitlines()[0].startswith("NOT CONVERGED")
    assert "NOT CONVERGED" in calibration._repr_html_().split("</p>")[0]
    assert "NOT CONVERGED" in repr(calibration)
    assert calibration.remaining_gain > calibration.options["tol"]


@pytest.mark.parametrize("holes", [0.0, 0.3])
@pytest.mark.parametrize("model", ["2pl", "1pl", "rasch"])
def test_c6_trace_never_falls(holes, model):
    calibration = pe.calibrate(with_holes(EIGHT, holes), model=model, groups=np.arange(400) % 2)
    trace = calibration.log_likelihood_trace
    assert len(trace) == calibration.n_iterations + 1 > 2
    assert (np.diff(trace) >= -1e-12 * abs(trace[-1])).all()
    assert trace[-1] == calibration.log_likelihood


def test_c7_no_randomness():
    one, other = pe.calibrate(with_holes(EIGHT, 0.2)), pe.calibrate(with_holes(EIGHT, 0.2))
    np.testing.assert_array_equal(one.discrimination, other.discrimination)
    np.testing.assert_array_equal(one.free_covariance, other.free_covariance)


def disconnected():
    data = np.full((200, 10), np.nan)
    data[:100, :5] = simulate(100, 1.0, np.linspace(-1, 1, 5), seed=5)
    data[100:, 5:] = simulate(100, 1.0, np.linspace(-1, 1, 5), seed=6)
    return frame(data)


@pytest.mark.parametrize("groups", [None, ["a"] * 100 + ["b"] * 100])
def test_c9_disconnected_blocks_raise_with_the_components(groups):
    with pytest.raises(ex.DisconnectedDesignError, match=r"2 sets .*'q01'.*100 respondents.*'q06'.*100 respondents") as error:
        pe.calibrate(disconnected(), groups=groups)
    assert len(str(error.value).splitlines()) == 3


def test_c9_allowed_under_equal_populations_only():
    """Then the blocks are two calibrations of one population, and the likelihoods add up."""
    data = disconnected()
    both = pe.calibrate(data, assume_equal_populations=True, groups=["a"] * 100 + ["b"] * 100, tol=1e-12)
    assert both.options["assume_equal_populations"] is True
    assert len(both.groups) == 1
    with pytest.warns(ex.SmallSampleWarning):
        apart = [pe.calibrate(part.dropna(axis=1), tol=1e-12) for part in (data.iloc[:100], data.iloc[100:])]
    assert both.log_likelihood == pytest.approx(sum(part.log_likelihood for part in apart), abs=1e-8)
    np.testing.assert_allclose(both.discrimination, np.concatenate([part.discrimination for part in apart]), atol=1e-4)


def test_c9_fixed_items_on_either_side_hold_the_scale():
    data = disconnected()
    anchors = pd.DataFrame({"discrimination": [1.0, 1.0], "difficulty": [-1.0, -1.0]}, index=["q01", "q06"])
    calibration = pe.calibrate(data, fixed_items=anchors, groups=["a"] * 100 + ["b"] * 100)
    assert calibration.n_parameters == 16 + 4


@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_c10_integer_weights_equal_repeated_rows(holes):
    data = with_holes(EIGHT, holes)
    weights = np.random.default_rng(8).integers(0, 4, len(data))
    weighted = pe.calibrate(data, weights=weights, tol=1e-12)
    repeated = pe.calibrate(np.repeat(data, weights, axis=0), tol=1e-12)
    assert weighted.log_likelihood == pytest.approx(repeated.log_likelihood, abs=1e-8)
    assert weighted.n_respondents == repeated.n_respondents
    assert weighted.bic == pytest.approx(repeated.bic, abs=1e-7)
    numbers = ["discrimination", "intercept", "discrimination_se", "intercept_se", "p_value", "point_biserial", "n"]
    np.testing.assert_allclose(weighted.items[numbers], repeated.items[numbers], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("method", ["crossprod", "sandwich"])
def test_c10_weights_in_the_other_standard_errors(method):
    weights = np.random.default_rng(8).integers(0, 4, len(EIGHT))
    weighted = pe.calibrate(EIGHT, weights=weights, tol=1e-12, standard_errors=method)
    repeated = pe.calibrate(np.repeat(EIGHT, weights, axis=0), tol=1e-12, standard_errors=method)
    np.testing.assert_allclose(weighted.items["discrimination_se"], repeated.items["discrimination_se"], rtol=1e-5)


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_c10_bad_weights_raise(bad):
    weights = np.ones(400)
    weights[3] = bad
    with pytest.raises(ex.DataError, match="weight"):
        pe.calibrate(EIGHT, weights=weights)
    with pytest.raises(ex.DataError, match="0"):
        pe.calibrate(EIGHT, weights=np.zeros(400))


def test_c11_many_rows_are_collapsed_and_memory_stays_small():
    """200,000 rows of 20 items: a dense N x Q table would take 98 MB; a slice of 1,000 rows against the sum over its rows."""
    rng = np.random.default_rng(9)
    data = simulate(200_000, 1.0, np.linspace(-1, 1, 20), seed=9).astype(np.int8)
    tracemalloc.start()
    calibration = pe.calibrate(data, standard_errors=None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 90e6
    assert calibration.data_summary["n_distinct_rows"] < 200_000
    slice_ = data[rng.choice(200_000, 1000)]
    nodes = equally_spaced()
    curves = ItemCurves.at(nodes, calibration.discrimination, calibration.intercept)
    collapsed = expectation(arrange(slice_), curves, normal_log_weights(nodes)[None]).log_likelihood
    one_by_one = sum(expectation(arrange(row[None]), curves, normal_log_weights(nodes)[None]).log_likelihood for row in slice_)
    assert collapsed == pytest.approx(one_by_one, rel=1e-11)


def test_c13_a_two_names_item_and_respondent():
    data = frame(EIGHT.copy())
    data.iloc[4, 2] = 2
    with pytest.raises(ex.ResponseCodeError, match=r"(?s)'r5', item 'q03': 2 .*dichotomous"):
        pe.calibrate(data)


def test_c15_singular_information_gives_no_standard_errors_and_a_reason():
    """Two responses patterns only: the information of six slopes and intercepts cannot be positive definite."""
    data = np.repeat(np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]]), 60, axis=0)
    with pytest.warns(ex.StandardErrorWarning, match="condition number"):
        calibration = pe.calibrate(data, standard_errors="crossprod")
    assert calibration.covariance is None
    assert calibration.items["discrimination_se"].isna().all()
    assert any("singular" in text for text in calibration.diagnostics)


def test_c16_standard_error_of_difficulty():
    """SE(b) = SE(d) / a where a is fixed; else the delta method on the full covariance, written out."""
    rasch = pe.calibrate(EIGHT, model="rasch").items
    np.testing.assert_allclose(rasch["difficulty_se"], rasch["intercept_se"], rtol=1e-12)
    calibration = pe.calibrate(frame(EIGHT))
    covariance = calibration.covariance
    for item, row in calibration.items.iterrows():
        part = covariance.loc[[(item, "discrimination"), (item, "intercept")], [(item, "discrimination"), (item, "intercept")]]
        gradient = np.array([row["intercept"] / row["discrimination"] ** 2, -1.0 / row["discrimination"]])
        assert row["difficulty_se"] == pytest.approx(np.sqrt(gradient @ part.to_numpy() @ gradient), rel=1e-10)


def test_c17_few_models_many_items_are_warned_about_with_the_ratio():
    data = simulate(25, 1.0, np.linspace(-1, 1, 200), seed=12)
    data = data[:, (data.mean(axis=0) > 0.1) & (data.mean(axis=0) < 0.9)]
    ratio = f"{25 / (2 * data.shape[1]):.2g}"
    with pytest.warns(ex.PsychoeduWarning) as caught:
        pe.calibrate(data, standard_errors=None)
    texts = [str(warning.message) for warning in caught if warning.category is ex.SmallSampleWarning]
    assert len(texts) == 1
    assert f"{ratio} respondents a parameter" in texts[0]
    assert "1pl" in texts[0]
    assert "Priors()" in texts[0]


@pytest.mark.parametrize("n_items", [60, 300])
def test_c18_the_points_suffice_or_are_raised(n_items):
    """The log-likelihood at the same parameters on 601 points differs by less than 1e-4."""
    rng = np.random.default_rng(14)
    data = simulate(300, rng.lognormal(0.3, 0.2, n_items), rng.normal(size=n_items), seed=14).astype(np.int8)
    calibration = pe.calibrate(data, standard_errors=None)
    if n_items == 300:
        assert calibration.options["n_points"] > 61
        assert any("quadrature points were too few" in text for text in calibration.diagnostics)
    nodes = equally_spaced(601)
    curves = ItemCurves.at(nodes, calibration.discrimination, calibration.intercept)
    exact = expectation(arrange(data), curves, normal_log_weights(nodes)[None]).log_likelihood
    assert abs(exact - calibration.log_likelihood) < 1e-4


def test_c18_kept_points_are_warned_about():
    data = simulate(300, 1.5, np.linspace(-2, 2, 300), seed=15)
    with pytest.warns(ex.QuadratureWarning, match="61 points are too few"):
        pe.calibrate(data, adapt_points=False, standard_errors=None)


# ---- L7 and other options


def test_l7_fixed_items_stay_to_the_bit_and_free_the_population():
    a, b = np.linspace(0.7, 1.6, 12), np.linspace(-1.5, 1.5, 12)
    data = frame(simulate(4000, a, b, seed=21, mean=0.8, sd=1.4))
    anchors = pd.DataFrame({"discrimination": a[:5] / 3.0, "difficulty": b[:5] / 3.0}, index=data.columns[:5])
    anchors = anchors * 3.0
    calibration = pe.calibrate(data, fixed_items=anchors)
    kept = calibration.items.loc[anchors.index]
    assert kept["discrimination"].tolist() == anchors["discrimination"].tolist()
    assert kept["difficulty"].tolist() == anchors["difficulty"].tolist()
    assert (kept["flags"] == "fixed").all()
    assert kept[["discrimination_se", "difficulty_se"]].isna().all().all()
    group = calibration.groups.iloc[0]
    assert group["latent_mean"] == pytest.approx(0.8, abs=4 * group["latent_mean_se"])
    assert group["latent_sd"] == pytest.approx(1.4, abs=4 * group["latent_sd_se"])
    free = calibration.items.drop(index=anchors.index)
    z = (free["discrimination"] - a[5:]) / free["discrimination_se"]
    assert (z.abs() < 4).all()


def test_fixed_items_from_another_calibration_give_it_back():
    """All items fixed at their own estimates: the population comes back as N(0, 1)."""
    first = pe.calibrate(frame(EIGHT))
    again = pe.calibrate(frame(EIGHT), fixed_items=first.bank)
    assert again.n_parameters == 2
    assert again.groups["latent_mean"].iloc[0] == pytest.approx(0.0, abs=5e-3)
    assert again.groups["latent_sd"].iloc[0] == pytest.approx(1.0, abs=5e-3)
    assert again.log_likelihood == pytest.approx(first.log_likelihood, abs=1e-3)


def test_fixed_items_that_the_responses_lack():
    with pytest.raises(ex.LabelError, match="'q99'"):
        pe.calibrate(frame(EIGHT), fixed_items=pd.DataFrame({"discrimination": [1.0], "difficulty": [0.0]}, index=["q99"]))


def test_reference_group_changes_the_scale_only():
    """The two scales are one affine map apart: theta' = (theta - mean) / sd of the new reference."""
    groups = np.where(np.arange(1200) % 2 == 0, "a", "b")
    data = np.empty((1200, 10), dtype=int)
    data[groups == "a"] = simulate(600, 1.2, np.linspace(-1, 1, 10), seed=31)
    data[groups == "b"] = simulate(600, 1.2, np.linspace(-1, 1, 10), seed=32, mean=0.7, sd=1.3)
    one = pe.calibrate(data, groups=groups, tol=1e-12)
    other = pe.calibrate(data, groups=groups, reference_group="b", tol=1e-12)
    assert (one.reference_group, other.reference_group) == ("a", "b")
    mean, sd = one.groups.loc["b", ["latent_mean", "latent_sd"]]
    # the grid stays on [-6, 6] in either scale, so the maxima agree to the quadrature and tails, not to the bit
    np.testing.assert_allclose(other.discrimination, one.discrimination * sd, rtol=1e-4)
    np.testing.assert_allclose(other.difficulty, (one.difficulty - mean) / sd, atol=1e-4)
    assert other.groups.loc["a", "latent_mean"] == pytest.approx(-mean / sd, abs=1e-4)
    assert other.groups.loc["a", "latent_sd"] == pytest.approx(1 / sd, abs=1e-4)


def test_reference_group_is_the_first_category_else_the_first_met():
    labels = np.array(["b", "a"] * 200)
    assert pe.calibrate(EIGHT, groups=labels).reference_group == "b"
    assert pe.calibrate(EIGHT, groups=pd.Categorical(labels, categories=["a", "b"])).reference_group == "a"
    with pytest.raises(ex.LabelError, match="'c' is none of the groups: 'b', 'a'"):
        pe.calibrate(EIGHT, groups=labels, reference_group="c")


def test_missing_group_labels_name_the_respondents():
    labels = np.array(["a", "b"] * 200, dtype=object)
    labels[2] = None
    with pytest.raises(ex.DataError, match="'r3'"):
        pe.calibrate(frame(EIGHT), groups=labels)


def test_group_column_that_does_not_exist():
    with pytest.raises(ex.LabelError, match="respondent_columns"):
        pe.calibrate(frame(EIGHT), groups="cohort")


def test_fit_to_a_column_and_a_mask_agree():
    matrix = pe.datasets.load_cse_like()
    college = (matrix.respondents["group"] == "college").to_numpy()
    items = matrix.item_labels[(matrix.scored()[college] >= 0).any(axis=0)]
    part = matrix.select(items=items)
    one, other = pe.calibrate(part, fit_to={"group": "college"}), pe.calibrate(part, fit_to=college)
    np.testing.assert_array_equal(one.discrimination, other.discrimination)
    assert one.n_respondents == 948
    assert one.data_summary["n_scored_only"] == 2074 - 948
    assert len(one.scores().theta) == 2074
    with pytest.raises(ex.LabelError, match="'colledge'"):
        pe.calibrate(part, fit_to={"group": "colledge"})


def test_a_group_far_out_widens_the_points():
    """Mean 4.5: a grid that ended at 6 would cut its tail; the generating mean is met within 4 SEs."""
    b = np.linspace(-3, 7, 30)
    data = np.vstack([simulate(800, 1.0, b, seed=41), simulate(800, 1.0, b, seed=42, mean=4.5)])
    calibration = pe.calibrate(data, groups=["a"] * 800 + ["b"] * 800)
    assert calibration.options["high"] > 8
    group = calibration.groups.loc["b"]
    assert group["latent_mean"] == pytest.approx(4.5, abs=4 * group["latent_mean_se"])


def test_priors_pull_towards_their_means():
    plain = pe.calibrate(EIGHT)
    tight = pe.calibrate(EIGHT, priors={"discrimination": ("lognormal", 0.0, 1e-3), "difficulty": None})
    np.testing.assert_allclose(tight.discrimination, 1.0, atol=5e-3)
    assert tight.log_likelihood < plain.log_likelihood
    with pytest.raises(ex.DataError, match="lognormal"):
        pe.calibrate(EIGHT, priors={"discrimination": ("normal", 0, 1)})
    with pytest.raises(ex.DataError, match="sd above 0"):
        pe.calibrate(EIGHT, priors={"difficulty": ("normal", 0, 0.0)})


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("model", "3pl"),
        ("engine", "girth"),
        ("on_constant", "ignore"),
        ("standard_errors", "fisher"),
        ("tol", 0.0),
        ("max_iter", 0),
        ("n_points", 3),
    ],
)
def test_unknown_options_are_refused_by_name(option, value):
    with pytest.raises(ex.DataError, match=option):
        pe.calibrate(EIGHT, **{option: value})


def test_fractions_are_refused():
    long = pd.DataFrame({"model": np.repeat(["a", "b"], 6), "item": np.tile(["x", "y", "z"], 4), "score": [0, 1] * 6})
    matrix = pe.ResponseMatrix.from_long(long, respondent="model", item="item", score="score", repeats="mean")
    with pytest.raises(ex.DataError, match="fraction"):
        pe.calibrate(matrix)


def test_it_logs_and_does_not_print(capsys, caplog):
    with caplog.at_level(logging.INFO, logger="psychoedu"):
        pe.calibrate(EIGHT)
    assert any("log-likelihood" in record.getMessage() for record in caplog.records)
    assert capsys.readouterr() == ("", "")


def test_progress_is_shown_on_request(capsys):
    pe.calibrate(EIGHT, progress=True)
    assert "log-likelihood" in capsys.readouterr().err
