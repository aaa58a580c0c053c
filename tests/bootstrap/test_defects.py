"""Paired comparisons and the general bootstrap where rewards are blank, strata weighted, names reordered or values infinite."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import psychoedu as pe
from psychoedu.cli_contrast import read_rewards
from psychoedu.exceptions import DataError, MissingRewardsError, ResamplingError


def blank_failures():
    rows = [(t, m, run, 1.0 * ((t + run) % 2) if m == "A" else 0.4) for t in range(20) for m in "AB" for run in range(2)]
    frame = pd.DataFrame(rows, columns=["task", "model", "run", "reward"])
    frame.loc[(frame["model"] == "A") & (frame["reward"] == 0), "reward"] = np.nan
    return frame


def test_blank_repeats_are_refused_unless_a_policy_is_named():
    frame = blank_failures()
    with pytest.raises(MissingRewardsError, match="20 rewards missing, by model: A 20"):
        pe.compare_models(frame, repeat="run", rng=1, n_resamples=200)
    zero = pe.compare_models(frame, repeat="run", missing="zero", rng=1, n_resamples=200)
    assert zero.table["difference"].iloc[0] == pytest.approx(0.1)
    omit = pe.compare_models(frame, repeat="run", missing="omit", rng=1, n_resamples=200)
    assert omit.table["difference"].iloc[0] == pytest.approx(0.6)
    assert "missing rewards: 20 (A 20), left out of all means (policy: omit)" in omit.summary()


def test_units_blank_for_everybody_are_refused():
    frame = pd.DataFrame(
        [(t, m, 0.5 + 0.1 * (m == "A") + 0.01 * t) for t in range(20) for m in "AB"], columns=["task", "model", "reward"]
    )
    frame.loc[frame["task"] < 5, "reward"] = np.nan
    with pytest.raises(MissingRewardsError, match="A 5, B 5"):
        pe.compare_models(frame, rng=1, n_resamples=200)


def test_the_sign_flip_test_is_of_the_difference_beside_it():
    rng, rows = np.random.default_rng(1), []
    for t in range(320):
        base, stratum = rng.normal(), "A" if t < 300 else "B"
        shift = rng.normal(0, 0.3) + (-0.1 if t < 300 else 0.115)
        rows += [(t, stratum, "X", base + shift), (t, stratum, "Y", base)]
    frame = pd.DataFrame(rows, columns=["task", "s", "model", "reward"])
    found = pe.compare_models(frame, stratum="s", weighting="stratum", rng=1, n_resamples=4000).table.iloc[0]
    wide = frame.pivot(index=["s", "task"], columns="model", values="reward")
    difference = wide["X"] - wide["Y"]
    weighted = difference / (2.0 * difference.groupby(level="s").transform("size"))
    flips = rng.choice([-1.0, 1.0], size=(20_000, len(weighted))) @ weighted.to_numpy()
    expected = (np.abs(flips) >= abs(weighted.sum())).mean()
    assert found["difference"] == pytest.approx(weighted.sum())
    assert found["p_sign_flip"] == pytest.approx(expected, abs=4.0 * np.sqrt(0.25 * (1 / 4000 + 1 / 20_000)))


def test_named_values_are_aligned_by_name():
    values, labels = np.array([0, 2.0, 1, 3, 0.5, 2.5]), np.array(list("AABBCC"))

    def means(weights):
        return pd.Series({g: np.average(values[labels == g], weights=weights[labels == g]) for g in "ABC"})

    plain = pe.bootstrap(means, list(labels), rng=1, n_resamples=500)
    mixed = pe.bootstrap(lambda w: means(w).sort_values(ascending=False), list(labels), rng=1, n_resamples=500)
    for name in "ABC":
        own = [list(found.names).index(name) for found in (plain, mixed)]
        np.testing.assert_array_equal(plain.resamples[:, own[0]], mixed.resamples[:, own[1]])


def test_other_names_lengths_and_infinities_are_failures():
    with pytest.raises(ResamplingError, match="1 values, where all the data give 2"):
        pe.bootstrap(lambda w: {"A": w[0], "B": 100 + w[1]} if w[0] < 2 else {"A": w[0]}, 20, rng=1, n_resamples=500)
    with pytest.raises(ResamplingError, match="inf in 'statistic'"):
        pe.bootstrap(lambda w: np.inf if w[0] > 1 else w[0], 30, rng=1, n_resamples=500)
    with pytest.raises(DataError, match="a row per resample"):
        pe.bootstrap(lambda w: w.sum(), 20, vectorized=True, rng=1, n_resamples=100)


def runs_of_two_models():
    rows = [(t, m, run, "PQ"[t % 2], 0.5 + 0.1 * run) for t in range(12) for m in (1, 2) for run in (1, 2, 3)]
    frame = pd.DataFrame(rows, columns=["task", "model", "run", "profile", "reward"])
    return frame, frame.index[(frame["task"] == 0) & (frame["model"] == 1) & (frame["run"] == 1)]


@pytest.mark.parametrize("missing", ["omit", "zero"])
def test_an_absent_run_counts_as_a_blank_one(missing):
    frame, gone = runs_of_two_models()
    blank = frame.assign(reward=frame["reward"].mask(frame.index.isin(gone)))
    options = {"stratum": "profile", "focal": "P", "repeat": "run", "missing": missing, "rng": 1, "n_resamples": 200}
    absent, as_blank = (pe.contrast(each, **options) for each in (frame.drop(gone), blank))
    own = {"omit": 0.75, "zero": (0.7 + 0.8) / 3}[missing]
    assert absent.focal_mean == pytest.approx((11 * 0.7 + own) / 12)
    assert "missing rewards                1 (" in absent.summary()
    assert absent.summary() == as_blank.summary()


def test_an_absent_run_is_refused_and_labels_are_plain():
    frame, gone = runs_of_two_models()
    with pytest.raises(MissingRewardsError, match="1 reward absent, in 1 cell: 1 on 0") as caught:
        pe.contrast(frame.drop(gone), stratum="profile", focal="P", repeat="run", rng=1)
    assert len(str(caught.value).splitlines()) <= 3
    with pytest.raises(MissingRewardsError, match="1 reward missing, by model: 1 1"):
        pe.compare_models(frame.drop(gone), repeat="run", rng=1, n_resamples=200)
    without = frame[(frame["run"] == 1) & ~((frame["task"] == 0) & (frame["model"] == 1))]
    with pytest.raises(MissingRewardsError, match=r"1 reward missing: 1 on 0 \(by model: 1 1\)"):
        pe.contrast(without, stratum="profile", focal="P", rng=1)


def test_no_workers_are_refused():
    frame, _ = runs_of_two_models()
    with pytest.raises(DataError, match="n_jobs has to be"):
        pe.compare_models(frame, repeat="run", n_jobs=0, n_resamples=200)
    with pytest.raises(DataError, match="n_jobs has to be"):
        pe.contrast(frame, stratum="profile", focal="P", repeat="run", n_jobs=0)
    with pytest.raises(DataError, match="n_jobs has to be"):
        pe.bootstrap(lambda weights: weights[0], 7, n_jobs=0)


def test_labels_of_a_file_keep_leading_zeros(tmp_path):
    path = tmp_path / "rewards.csv"
    path.write_text("task,profile,year,reward\n1,01,2020,0.50\n2,1,2021,1\n3,2,2021,0.1\n", encoding="utf-8")
    frame = read_rewards(path, labels=["task", "profile", "year", "absent"])
    assert frame["profile"].tolist() == ["01", "1", "2"]
    assert frame["year"].tolist() == [2020, 2021, 2021]
    assert frame["reward"].tolist() == [0.5, 1.0, 0.1]


def thirty_tasks(change=lambda x: x):
    rng, rows = np.random.default_rng(3), []
    for t in range(30):
        rows += [(t, "xy"[t % 2], m, change(rng.normal())) for m in "AB"]
    return pd.DataFrame(rows, columns=["task", "stratum", "model", "reward"])


@pytest.mark.parametrize(("offset", "tolerance"), [(1e6, 1e-8), (1e9, 1e-5)])
def test_an_offset_of_all_rewards_changes_no_interval(offset, tolerance):
    plain, moved = (
        pe.contrast(
            thirty_tasks(lambda x, by=by: x + by), stratum="stratum", focal="x", method="studentised", rng=1, n_resamples=2000
        )
        for by in (0.0, offset)
    )
    assert moved.interval.method == "studentised"
    np.testing.assert_allclose([*moved.interval], [*plain.interval], atol=tolerance)
    assert moved.recommended_interval.method == "studentised"
    np.testing.assert_allclose([*moved.recommended_interval], [*plain.recommended_interval], atol=tolerance)


@pytest.mark.parametrize("factor", [1e60, 1e160, 1e307, 1e-60, 1e-200])
def test_rewards_whose_squares_do_not_fit_are_refused(factor):
    with pytest.raises(DataError, match=r"largest reward in column 'reward' is .*\nExpected between 1e-50 and 1e\+50"):
        pe.contrast(thirty_tasks(lambda x: x * factor), stratum="stratum", focal="x", rng=1, n_resamples=100)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (lambda n: np.ones(n) * (1 + 2j), "complex"),
        (lambda n: pd.Series([1 + 2j] * n, dtype=object), "complex"),
        (lambda n: pd.date_range("2026-01-01", periods=n), "datetime64"),
        (lambda n: pd.Series(list(pd.date_range("2026-01-01", periods=n)), dtype=object), "datetime"),
        (lambda n: pd.to_timedelta(np.arange(n), unit="s"), "timedelta64"),
    ],
)
def test_rewards_that_are_no_numbers_are_refused(values, kind):
    frame = thirty_tasks()
    frame["reward"] = values(len(frame))
    with pytest.raises(DataError, match=f"Rewards in column 'reward' are of type {kind}"):
        pe.contrast(frame, stratum="stratum", focal="x", rng=1, n_resamples=100)


def test_without_any_spread_the_t_interval_is_the_estimate():
    frame = pd.DataFrame({"task": range(20), "stratum": ["x", "y"] * 10, "model": "A", "reward": [0.0, 1.0] * 10})
    with pytest.warns(pe.exceptions.DegenerateBootstrapWarning, match="no width"):
        found = pe.contrast(frame, stratum="stratum", focal="x", method="t", rng=1, n_resamples=100)
    assert (found.interval.low, found.interval.high, found.estimate) == (1.0, 1.0, 1.0)


def test_blank_repeats_are_no_units_that_a_model_lacks():
    frame = blank_failures()
    with pytest.raises(MissingRewardsError, match="20 rewards missing beside others of the same cell, by model: A 20"):
        pe.compare_models(frame, repeat="run", pairs="intersection", rng=1, n_resamples=200)
    lacking = thirty_tasks().drop(index=[0, 4])  # A lacks two tasks altogether
    found = pe.compare_models(lacking, pairs="intersection", rng=1, n_resamples=200)
    assert found.table[["n_units", "left_out"]].iloc[0].tolist() == [28, 2]


@pytest.mark.parametrize(("missing", "words"), [("raise", "none (policy: refuse)"), ("zero", "none (policy: zero)")])
def test_every_comparison_says_its_policy_for_missing_rewards(missing, words):
    found = pe.compare_models(thirty_tasks(), missing=missing, rng=1, n_resamples=200)
    for text in (found.summary(), found.to_markdown(), found.to_latex(), found.to_html()):
        assert f"missing rewards: {words}" in text
    again = type(found).from_dict(found.to_dict())
    assert again.missing == missing
    assert again.n_missing.to_dict() == {"A": 0, "B": 0}


def test_a_model_with_part_marks_costs_only_its_own_pairs_the_exact_test():
    answers = {"A": [1, 1, 1, 1, 1, 0], "B": [0, 0, 0, 1, 0, 1], "C": [0.5, 1, 0, 0.2, 1, 0]}
    rows = [(t, m, value) for m, values in answers.items() for t, value in enumerate(values)]
    found = pe.compare_models(pd.DataFrame(rows, columns=["task", "model", "reward"]), rng=1, n_resamples=200)
    exact = found.table[["first_only", "second_only", "p_mcnemar"]]
    assert exact.loc[("A", "B")].tolist() == [4.0, 1.0, pytest.approx(0.375)]  # 2 (1 + 5)/2^5
    assert exact.drop(index=("A", "B")).isna().all(axis=None)
    assert "no exact test (McNemar)" in found.summary()
    again = type(found).from_dict(found.to_dict())
    pd.testing.assert_frame_equal(again.table, found.table)


def test_p_values_of_the_printed_tables_are_never_nought():
    frame = thirty_tasks()
    frame.loc[frame["model"] == "A", "reward"] += 50.0
    frame.loc[frame["stratum"] == "x", "reward"] += 100.0
    compared = pe.compare_models(frame, rng=1, n_resamples=999)
    assert "<0.001" in compared.summary()
    assert "0.000" not in compared.summary()
    gap = pe.contrast(frame, stratum="stratum", focal="x", rng=1, n_resamples=999)
    table = gap.summary().split("\n\n")[-1]
    assert "<0.001" in table
    assert {"low_recommended", "high_recommended"} <= set(table.splitlines()[0].split())  # 15 tasks a stratum


def test_comparisons_on_common_units_can_be_reported():
    lacking = thirty_tasks().drop(index=[0, 4])
    found = pe.compare_models(lacking, pairs="intersection", rng=1, n_resamples=200)
    for text in (found.summary(), found.to_markdown(), found.to_latex(), found.to_html(), found._repr_html_()):
        assert "2 (A 2), units that one of a pair lacks left out of it" in text
    assert type(found).from_dict(found.to_dict()).summary() == found.summary()


def test_a_model_on_one_side_only_is_named_with_what_the_others_give():
    frame = thirty_tasks()
    frame.loc[frame["model"] == "A", "reward"] -= 0.4
    frame.loc[(frame["model"] == "A") & (frame["stratum"] == "x"), "reward"] = np.nan
    with pytest.warns(pe.exceptions.UnbalancedModelsWarning, match="1 model with rewards on one side only.*'A'"):
        found = pe.contrast(frame, stratum="stratum", focal="x", missing="omit", rng=1, n_resamples=200)
    wide = frame[frame["model"] == "B"].groupby("stratum")["reward"].mean()
    assert f"{wide['y'] - wide['x']:.3f} on average" in found.methods_text()
    assert "15 (A 15), left out of all means" in found.methods_text()


def perfect():
    rows = [(t, "xy"[t % 2], m, float(m == "A" or t % 3 > 0)) for t in range(30) for m in "ABC"]
    return pd.DataFrame(rows, columns=["task", "stratum", "model", "reward"])


def test_models_that_have_everything_right_get_intervals_of_proportions():
    gap = pe.contrast(perfect(), stratum="stratum", focal="x", rng=1, n_resamples=500)
    found = gap.boundary_models
    assert found.index.tolist() == [("A", "focal"), ("A", "comparison")]
    row = found.loc[("A", "focal")]
    z2 = stats.norm.ppf(0.975) ** 2
    assert (row["n_clusters"], row["value"]) == (15, 1.0)
    assert row["wilson_low"] == pytest.approx(15 / (15 + z2))
    assert row["clopper_pearson_low"] == pytest.approx(0.025 ** (1 / 15))
    assert "A on the focal side: all right (n = 15), Wilson [0.796, 1.000]" in gap.summary()
    again = type(gap).from_dict(gap.to_dict())
    pd.testing.assert_frame_equal(again.boundary_models, found)
    assert again.to_html() == gap.to_html()
    board = pe.leaderboard(perfect(), rng=1, n_resamples=500)
    words = (
        f"everything is right (n = 30 tasks): Wilson [{30 / (30 + z2):.3f}, 1.000], Clopper-Pearson [{0.025 ** (1 / 30):.3f}, 1"
    )
    assert words in board.summary()
    nothing = perfect()
    nothing.loc[nothing["model"] == "B", "reward"] = 0.0
    pairs = pe.compare_models(nothing, compare=[("A", "B")], rng=1, n_resamples=500)
    assert "all resamples of 'A - B' are equal" in pairs.summary()


def test_perfect_respondents_are_named_where_tasks_are_resampled():
    responses = pe.datasets.load_lsat7()
    calibration = pe.calibrate(responses)
    frame = responses.to_frame()
    right = int(frame.index[frame.all(axis=1)][0])
    some = frame.index[frame.sum(axis=1) == 3][0]
    found = pe.irt.task_sampling_error(calibration, frame.loc[[right, some]], n_resamples=50, rng=1)
    assert len(found.diagnostics) == 1
    assert f"1 respondent with right answers only or wrong answers only ({right!r})" in found.summary()


def test_five_tasks_have_thirty_two_signs():
    frame = pd.DataFrame(
        [(t, m, 0.1 * t + 0.3 * (m == "A")) for t in range(5) for m in "AB"], columns=["task", "model", "reward"]
    )
    for n in (100, 1000):
        found = pe.compare_models(frame, rng=n, n_resamples=n)
        assert found.table["p_sign_flip"].iloc[0] == pytest.approx(2 / 32)


def test_items_of_a_task_are_no_independent_trials():
    frame = pd.DataFrame(
        [(t, i, m, float(t < (14 if m == "A" else 10))) for t in range(20) for i in range(10) for m in "AB"],
        columns=["task", "item", "model", "reward"],
    )
    found = pe.compare_models(frame, item="item", rng=1, n_resamples=500)
    assert found.table[["first_only", "second_only"]].iloc[0].tolist() == [40.0, 0.0]
    assert np.isnan(found.table["p_mcnemar"].iloc[0])
    assert "no exact test (McNemar) where tasks hold several units" in found.summary()


def test_exact_p_values_are_never_printed_as_nought():
    frame = pd.DataFrame([(t, m, float(m == "A")) for t in range(60) for m in "AB"], columns=["task", "model", "reward"])
    frame.loc[frame["task"] < 2, "reward"] = 1.0
    found = pe.compare_models(frame, rng=1, n_resamples=200)
    assert found.table["p_mcnemar"].iloc[0] == pytest.approx(2.0**-57)
    for text in (found.summary(), found.to_markdown()):
        assert "<0.0001" in text.replace("\\", "")


def three_strata():
    rng = np.random.default_rng(8)
    rows = [(t, "abc"[t % 3], m, rng.normal() + 3.0 * (t % 3)) for t in range(45) for m in "AB"]
    return pd.DataFrame(rows, columns=["task", "s", "model", "reward"])


@pytest.mark.parametrize(
    ("options", "words", "drawn"),
    [
        ({"focal": "a", "comparison": {"b": 1, "c": 1}}, "within each stratum", {"alone"}),
        ({"focal": "a"}, "within each side", {"alone", "with b", "with c"}),
        ({"focal": ["a", "b"], "comparison": "c"}, "within each side", {"alone", "with a", "with b"}),
        ({"focal": "a", "resample_within": "stratum"}, "within each stratum", {"alone"}),
    ],
)
def test_the_text_says_what_was_drawn_from_together(options, words, drawn):
    found = pe.contrast(three_strata(), stratum="s", rng=1, n_resamples=2000, **options)
    assert f"with replacement, {words}" in found.methods_text()
    assert ("strata have the weights given" in found.methods_text()) == isinstance(options.get("comparison"), dict)
    assert set(found.strata["drawn"]) == drawn


def test_rewards_without_a_partner_are_counted():
    rng = np.random.default_rng(2)
    rows = [(t, m, c, rng.normal()) for t in range(24) for m in "ABC" for c in ("few", "zero")]
    frame = pd.DataFrame(rows, columns=["task", "model", "prompt", "reward"])
    frame.loc[(frame["model"] == "A") & (frame["prompt"] == "few"), "reward"] = np.nan
    frame.loc[(frame["task"] == 3) & (frame["prompt"] == "zero"), "reward"] = np.nan
    found = pe.contrast(frame, condition="prompt", focal="zero", missing="omit", rng=1, n_resamples=300)
    text = found.methods_text()
    assert "27 (A 25, B 1, C 1), left out of all means" in text
    assert "25 rewards without a partner under the other condition left out (A 23, B 1, C 1)" in text
    assert "1 model without any pair, and so without a part in the result: 'A'" in text
    assert "There were 23 tasks." in text
    assert "1 task without any pair left out" in text


def test_tasks_without_any_reward_are_not_drawn():
    frame = thirty_tasks()
    gone = frame["task"] == 7
    blank = frame.assign(reward=frame["reward"].mask(gone))
    options = {"stratum": "stratum", "focal": "x", "rng": 1, "n_resamples": 300}
    left, dropped = pe.contrast(blank, missing="omit", **options), pe.contrast(frame[~gone], **options)
    assert (left.standard_error, left.df, left.interval) == (dropped.standard_error, dropped.df, dropped.interval)
    assert left.strata["n_clusters"].tolist() == [15, 14]
    assert "1 task without any reward left out" in left.summary()


def test_what_a_design_was_read_with_cannot_be_asked_for_again_otherwise():
    design = pe.ClusterDesign.from_long(thirty_tasks(), stratum="stratum")
    same = pe.contrast(design, stratum="stratum", focal="x", rng=1, n_resamples=200)
    assert same.estimate == pe.contrast(design, focal="x", rng=1, n_resamples=200).estimate
    for name, value in (("stratum", "nonsense"), ("cluster", "nope"), ("condition", "prompt"), ("missing", "zero")):
        with pytest.raises(DataError, match=f"{name}="):
            pe.contrast(design, focal="x", rng=1, n_resamples=200, **{name: value})
    with pytest.raises(DataError, match="reward='score' names a column"):
        pe.compare_models(design, reward="score", rng=1, n_resamples=200)


def test_labels_of_whole_numbers_stand_plain_in_notes():
    frame = three_strata()
    frame = frame[(frame["s"] != "c") | (frame["task"] == 2)]
    for singleton, words in (("certainty", "'c' (2 alone)"), ("collapse", "'c' (2 alone) with 'b'")):
        found = pe.contrast(frame, stratum="s", focal="a", resample_within="stratum", singleton=singleton, rng=1, n_resamples=200)
        assert words in found.methods_text()


def test_equivalence_uses_the_method_that_was_asked_for():
    frame = thirty_tasks()
    found = pe.compare_models(frame, method="t", margin=0.5, rng=1, n_resamples=300)
    narrow = pe.compare_models(frame, method="t", confidence_level=0.9, rng=1, n_resamples=300).table.iloc[0]
    assert found.table[["low_equivalence", "high_equivalence"]].iloc[0].tolist() == [narrow["low"], narrow["high"]]


@pytest.mark.parametrize("focal", [pd.Series(["a", "b"]), {"a": 0, "b": 0}.keys()], ids=["series", "keys"])
def test_sides_may_come_in_any_collection(focal):
    found = pe.contrast(three_strata(), stratum="s", focal=focal, rng=1, n_resamples=200)
    assert found.estimate == pe.contrast(three_strata(), stratum="s", focal=["a", "b"], rng=1, n_resamples=200).estimate
    weights = pd.Series({"b": 1.0, "c": 3.0})
    weighed = pe.contrast(three_strata(), stratum="s", focal="a", comparison=weights, rng=1, n_resamples=200)
    assert weighed.comparison_mean == pytest.approx(
        pe.contrast(three_strata(), stratum="s", focal="a", comparison={"b": 1, "c": 3}, rng=1, n_resamples=200).comparison_mean
    )


def test_a_statistic_has_to_give_numbers():
    with pytest.raises(DataError, match="The statistic gave 'x'; expected a number"):
        pe.bootstrap(lambda w: "x", 20, rng=1, n_resamples=100)


@pytest.mark.parametrize(
    ("name", "value"),
    [("p_value", 2.0), ("p_value", -1.0), ("standard_error", -1.0), ("n_failed", 200), ("estimate", 9.0), ("df", -2.0)],
)
def test_contrasts_that_cannot_be_are_not_read(name, value):
    content = pe.contrast(thirty_tasks(), stratum="stratum", focal="x", rng=1, n_resamples=200).to_dict()
    content[name] = value
    with pytest.raises(pe.exceptions.FileFormatError, match=name):
        pe.bootstrap.Contrast.from_dict(content)


def test_labels_such_as_na_are_labels(tmp_path):
    (tmp_path / "r.csv").write_text("task,s,model,reward\n1,NA,A,0.5\n2,NA,A,NA\n3,EU,None,\n", encoding="utf-8")
    frame = read_rewards(tmp_path / "r.csv", labels=["task", "s", "model"])
    assert frame["s"].tolist() == ["NA", "NA", "EU"]
    assert frame["model"].tolist() == ["A", "A", "None"]
    assert frame["reward"].isna().tolist() == [False, True, True]


def test_a_drawn_seed_can_be_copied_from_a_spreadsheet():
    found = pe.contrast(thirty_tasks(), stratum="stratum", focal="x", n_resamples=200)
    assert found.seed < 2**53
    again = pe.contrast(thirty_tasks(), stratum="stratum", focal="x", n_resamples=200, rng=found.seed)
    np.testing.assert_array_equal(again.resamples, found.resamples)


@pytest.mark.parametrize("kind", ["forest", "resamples", "scores", "ranks"])
def test_figures_of_one_column_hold_their_labels(kind):
    frame = three_strata().replace(
        {"model": {"A": "an instruction-tuned model with a rather long name", "B": "Model-B-instruct-v0.3"}}
    )
    frame = frame.replace({"s": {"a": "strategic surface learner", "b": "disengaged or amotivated", "c": "deep learner"}})
    gap = pe.contrast(frame, stratum="s", focal="strategic surface learner", rng=1, n_resamples=200)
    board = pe.leaderboard(frame, rng=1, n_resamples=200)
    ax = {"forest": gap.plot, "resamples": gap.plot_resamples, "scores": board.plot, "ranks": board.plot_ranks}[kind]()
    figure = ax.get_figure()
    figure.set_figwidth(3.5)
    figure.canvas.draw()
    width, height = figure.canvas.get_width_height()
    legend = ax.get_legend()
    texts = [ax.xaxis.label, ax.yaxis.label, *ax.get_yticklabels(), *(legend.get_texts() if legend else [])]
    rows = [text.get_window_extent() for text in ax.get_yticklabels() if text.get_text()]
    for text in texts:
        box = text.get_window_extent()
        assert not text.get_text() or (box.x0 >= -1 and box.x1 <= width + 1 and box.y0 >= -1 and box.y1 <= height + 1), (
            text.get_text()
        )
    assert not any(one.overlaps(other) for at, one in enumerate(rows) for other in rows[at + 1 :])
    import matplotlib.pyplot as plt

    plt.close(figure)


def test_few_tasks_bring_the_recommended_interval_of_every_pair():
    frame = thirty_tasks()
    few = pe.compare_models(frame, stratum="stratum", rng=1, n_resamples=999)  # 15 tasks a stratum
    wide = frame.pivot(index=["stratum", "task"], columns="model", values="reward")
    difference = (wide["A"] - wide["B"]).rename("reward").reset_index().assign(prompt="one")
    paired = pd.concat([difference, difference.assign(prompt="two", reward=0.0)])
    own = pe.contrast(
        paired, condition="prompt", focal="two", stratum="stratum", model=None, rng=1, n_resamples=999
    ).recommended_interval
    assert few.table[["low_recommended", "high_recommended"]].iloc[0].tolist() == pytest.approx([own.low, own.high])
    for text in (few.to_markdown(), few.to_latex(), few.to_html()):
        assert "recommended 95" in text
    assert "only 15 tasks are drawn from together" in few.summary()
    assert type(few).from_dict(few.to_dict()).to_markdown() == few.to_markdown()
    many = pe.compare_models(frame, rng=1, n_resamples=200)
    assert "low_recommended" not in many.table
