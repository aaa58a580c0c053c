"""Paired comparisons and the general bootstrap where rewards are blank, strata weighted, names reordered or values infinite."""

import numpy as np
import pandas as pd
import pytest

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
    assert "20 missing rewards (A 20)" in omit.summary()


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
    assert any(note.startswith("1 missing reward ") for note in absent.diagnostics)
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


@pytest.mark.parametrize("factor", [1e160, 1e307, 1e-200])
def test_rewards_whose_squares_do_not_fit_are_refused(factor):
    with pytest.raises(DataError, match=r"largest reward in column 'reward' is .*\nExpected between 1e-100 and 1e\+100"):
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
    assert (again.missing, again.n_missing) == (missing, 0)


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
