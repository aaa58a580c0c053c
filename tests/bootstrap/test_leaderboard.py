"""Leaderboards: closed forms by enumeration of resamples, invariants, ties, missing rewards, and what they refuse."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import psychoedu as pe
from psychoedu.exceptions import (
    ClusterDesignError,
    DataError,
    DegenerateBootstrapWarning,
    DuplicateLabelError,
    FileFormatError,
    LabelError,
    MissingRewardsError,
    ResamplingError,
)

CLOSED_FORM = 1e-12
N = 20_000


def staged(sizes: dict[str, int] | None = None, models: str = "ABCDE", seed: int = 11, spread: float = 0.1) -> pd.DataFrame:
    """Return rewards of models on tasks of stages, with a stratum of each task; models get better along the alphabet."""
    rng = np.random.default_rng(seed)
    rows = []
    for place, (stage, size) in enumerate((sizes or {"S1": 12, "S2": 25, "S3": 30}).items()):
        for task in range(size):
            easy = 0.1 * rng.standard_normal()
            for at, model in enumerate(models):
                reward = 0.5 + 0.05 * at - 0.1 * place + easy + spread * rng.standard_normal()
                rows.append((f"{stage}-{task:02}", stage, "xy"[task % 2], model, reward))
    return pd.DataFrame(rows, columns=["task", "stage", "kind", "model", "reward"])


def by_task(rewards: dict[str, list[float]], stages: list[str] | None = None) -> pd.DataFrame:
    """Return rewards of models given task by task."""
    size = len(next(iter(rewards.values())))
    frame = pd.DataFrame({"task": [f"t{at}" for at in range(size)], "stage": stages or ["S"] * size, **rewards})
    return frame.melt(["task", "stage"], var_name="model", value_name="reward")


def within(share: float, expected: float, n: int = N) -> None:
    assert abs(share - expected) <= 4.0 * np.sqrt(expected * (1.0 - expected) / n) + 1e-12


def test_two_models_two_tasks_by_enumeration() -> None:
    """The resamples are (t0, t0), (t0, t1) twice and (t1, t1): A has 1, 0.5, 0.5, 0 and B always 0.4."""
    board = pe.leaderboard(by_task({"A": [1.0, 0.0], "B": [0.4, 0.4]}), rng=1, n_resamples=N)
    table = board.table
    assert list(table.index) == ["A", "B"]
    assert table["overall"].tolist() == [0.5, 0.4]
    within(table.loc["A", "probability_best"], 0.75)
    within(board.probability_above.loc["A", "B"], 0.75)
    assert table.loc["A", "probability_above_next"] == board.probability_above.loc["A", "B"]
    assert table["standard_error"].tolist() == [pytest.approx(np.sqrt(0.125), rel=0.02), 0.0]
    assert table["robust_standard_error"].tolist() == [pytest.approx(0.5, rel=CLOSED_FORM), 0.0]
    assert table.loc["A", ["low", "high"]].tolist() == [0.0, 1.0]
    assert table[["rank_low", "rank_high"]].to_numpy().tolist() == [[1.0, 2.0], [1.0, 2.0]]


def test_two_stages_of_two_tasks_by_enumeration() -> None:
    rewards = {"A": [0.9, 0.1, 0.5, 0.3], "B": [0.5, 0.5, 0.2, 0.6], "C": [0.2, 0.7, 0.4, 0.45]}
    board = pe.leaderboard(by_task(rewards, ["S1", "S1", "S2", "S2"]), "stage", rng=2, n_resamples=N)
    values = {model: np.array(own) for model, own in rewards.items()}
    best, above, correlations, mean_rank = [], [], [], []
    for first in itertools.product((0, 1), repeat=2):
        for second in itertools.product((2, 3), repeat=2):
            scores = np.array([[own[list(places)].mean() for own in values.values()] for places in (first, second)])
            overall = scores.mean(axis=0).round(12)
            ranks = stats.rankdata(-overall)
            top = overall == overall.max()
            best.append(top / top.sum())
            above.append((overall[0] > overall[1]) + 0.5 * (overall[0] == overall[1]))
            mean_rank.append(ranks)
            first_ranks, second_ranks = stats.rankdata(scores.round(12), axis=1)
            correlations.append(np.corrcoef(first_ranks, second_ranks)[0, 1])
    table = board.table.loc[["A", "B", "C"]]
    for at, model in enumerate("ABC"):
        within(table.loc[model, "probability_best"], float(np.mean(best, axis=0)[at]))
        shares = board.rank_probabilities.loc[model]
        assert shares @ shares.index.to_numpy() == pytest.approx(np.mean(mean_rank, axis=0)[at], abs=0.03)
    within(board.probability_above.loc["A", "B"], float(np.mean(above)))
    row = board.rank_correlations().loc[("S1", "S2", "spearman")]
    assert row["n_undefined"] == 0
    error = np.std(correlations) / np.sqrt(N)
    assert row["bias"] + row["estimate"] == pytest.approx(np.mean(correlations), abs=4.0 * error)
    assert row["standard_error"] == pytest.approx(np.std(correlations), rel=0.02)


def test_scores_are_means_of_stages_and_the_overall_their_mean() -> None:
    rewards = staged()
    table = pe.leaderboard(rewards, "stage", rng=1, n_resamples=200).table
    means = rewards.pivot_table(index="model", columns="stage", values="reward").loc[table.index]
    np.testing.assert_allclose(table[["S1", "S2", "S3"]], means, rtol=CLOSED_FORM)
    np.testing.assert_allclose(table["overall"], means.mean(axis=1), rtol=CLOSED_FORM)
    np.testing.assert_array_equal(table["rank"], means.mean(axis=1).rank(ascending=False))


def test_standard_errors_meet_their_closed_forms() -> None:
    rewards = staged()
    board = pe.leaderboard(rewards, "stage", rng=3, n_resamples=100_000)
    variance = rewards.groupby(["model", "stage"])["reward"].agg(lambda own: own.var(ddof=0) / len(own)).unstack()
    for model, row in board.table.iterrows():
        assert row["standard_error"] == pytest.approx(np.sqrt(variance.loc[model].sum()) / 3.0, rel=0.01)
    np.testing.assert_allclose(board.stage_errors, np.sqrt(variance.loc[board.models]), rtol=0.01)
    unbiased = rewards.groupby(["model", "stage"])["reward"].agg(lambda own: own.var(ddof=1) / len(own)).unstack()
    robust = np.sqrt(unbiased.sum(axis=1)).loc[board.models] / 3.0
    np.testing.assert_allclose(board.table["robust_standard_error"], robust, rtol=CLOSED_FORM)


def test_resamples_are_those_of_compare_models() -> None:
    rewards = staged()
    board = pe.leaderboard(rewards, "stage", rng=5, n_resamples=1500)
    pairs = pe.compare_models(rewards, "stage", weighting="stratum", rng=5, n_resamples=1500).table
    draws = pd.DataFrame(board.source.scores.mean(axis=1), columns=board.models)
    assert len(draws) == 1500
    for first, second in pairs.index:
        row = pairs.loc[(first, second)]
        difference = draws[first] - draws[second]
        assert difference.std() == pytest.approx(row["standard_error"], rel=CLOSED_FORM)
        assert np.quantile(difference, 0.025) == pytest.approx(row["low"], abs=CLOSED_FORM)
        assert board.probability_above.loc[first, second] == (difference > 0).mean()


def test_simultaneous_ranks_agree_with_simultaneous_differences() -> None:
    rewards = staged(spread=0.05)
    table = pe.leaderboard(rewards, "stage", rng=5, n_resamples=2000).table
    pairs = pe.compare_models(rewards, "stage", weighting="stratum", rng=5, n_resamples=2000).table
    below = pairs["low_simultaneous"] > 0.0
    above = pairs["high_simultaneous"] < 0.0
    for model, row in table.iterrows():
        worse = (
            below[pairs.index.get_level_values("first") == model].sum() + above[pairs.index.get_level_values(1) == model].sum()
        )
        better = (
            above[pairs.index.get_level_values("first") == model].sum() + below[pairs.index.get_level_values(1) == model].sum()
        )
        assert (row["rank_low_simultaneous"], row["rank_high_simultaneous"]) == (1 + better, 5 - worse)


def test_order_of_rows_changes_nothing() -> None:
    rewards = staged()
    first = pe.leaderboard(rewards, "stage", stratum="kind", rng=1, n_resamples=500)
    second = pe.leaderboard(rewards.sample(frac=1.0, random_state=4), "stage", stratum="kind", rng=1, n_resamples=500)
    assert json.dumps(first.to_dict()) == json.dumps(second.to_dict())


def test_names_of_models_change_nothing_but_names() -> None:
    rewards, names = staged(), dict(zip("ABCDE", "zyxwv", strict=True))
    first = pe.leaderboard(rewards, "stage", rng=1, n_resamples=500)
    second = pe.leaderboard(rewards.assign(model=rewards["model"].map(names)), "stage", rng=1, n_resamples=500)
    expected = first.table.rename(index=names)
    pd.testing.assert_frame_equal(second.table, expected, rtol=CLOSED_FORM, atol=1e-14)
    pd.testing.assert_frame_equal(second.rank_correlations(), first.rank_correlations(), rtol=1e-10)


def test_a_constant_moves_scores_and_no_rank() -> None:
    rewards = staged()
    first = pe.leaderboard(rewards, "stage", rng=1, n_resamples=500)
    second = pe.leaderboard(rewards.assign(reward=rewards["reward"] + 3.0), "stage", rng=1, n_resamples=500)
    moved = ["overall", "low", "high", "S1", "S2", "S3"]
    np.testing.assert_allclose(second.table[moved], first.table[moved] + 3.0, rtol=CLOSED_FORM)
    others = [name for name in first.table if name.startswith(("rank", "probability"))]
    pd.testing.assert_frame_equal(second.table[others], first.table[others])
    pd.testing.assert_frame_equal(second.rank_correlations(), first.rank_correlations(), rtol=1e-9)


def test_a_better_scale_of_one_stage_moves_no_rank_of_it() -> None:
    rewards = staged()
    other = rewards.assign(reward=np.where(rewards["stage"] == "S2", 2.0 * rewards["reward"] - 1.0, rewards["reward"]))
    first, second = (pe.leaderboard(frame, "stage", rng=1, n_resamples=500) for frame in (rewards, other))
    pd.testing.assert_frame_equal(second.stage_ranks.loc[first.models], first.stage_ranks)
    pd.testing.assert_frame_equal(second.rank_correlations(), first.rank_correlations(), rtol=1e-9)


def test_equal_models_tie_everywhere() -> None:
    rewards = staged(models="AB")
    twin = rewards[rewards["model"] == "B"].assign(model="B2")
    board = pe.leaderboard(pd.concat([rewards, twin]), "stage", rng=1, n_resamples=500)
    table = board.table
    assert table.loc[["B", "B2"], "rank"].tolist() == [1.5, 1.5]
    assert board.probability_above.loc["B", "B2"] == 0.5
    assert table.loc["B", "probability_best"] == table.loc["B2", "probability_best"]
    assert table.loc["B", ["rank_low_simultaneous", "rank_high_simultaneous"]].tolist()[0] == 1.0
    np.testing.assert_allclose(board.rank_probabilities.sum(axis=1), 1.0, rtol=CLOSED_FORM)
    assert "2 models share the highest overall score" in board.methods_text()


def test_sums_in_another_order_tie() -> None:
    """0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in the last bit; these models are equally good."""
    rewards = {"A": [0.1, 0.2, 0.3, 0.7], "B": [0.3, 0.2, 0.1, 0.7], "C": [0.7, 0.3, 0.2, 0.1]}
    board = pe.leaderboard(by_task(rewards), rng=1, n_resamples=200)
    assert board.table["rank"].tolist() == [2.0, 2.0, 2.0]


def test_all_rewards_equal() -> None:
    board = pe.leaderboard(by_task({"A": [1.0] * 4, "B": [1.0] * 4}, ["S1", "S1", "S2", "S2"]), "stage", rng=1, n_resamples=200)
    assert board.table["rank"].tolist() == [1.5, 1.5]
    assert board.table["standard_error"].tolist() == [0.0, 0.0]
    assert board.rank_correlations()["estimate"].isna().all()
    assert board.rank_probabilities.to_numpy().tolist() == [[0.5, 0.5], [0.5, 0.5]]


def test_one_task_in_a_stage_is_refused_or_taken_as_certain() -> None:
    rewards = staged({"S1": 1, "S2": 8})
    with pytest.raises(ClusterDesignError, match=r"1 stratum with one task: 'S1' \('S1-00' alone\)"):
        pe.leaderboard(rewards, "stage", rng=1)
    board = pe.leaderboard(rewards, "stage", rng=1, singleton="certainty", n_resamples=500)
    assert (board.stage_errors["S1"] == 0.0).all()
    assert (board.stage_errors["S2"] > 0.0).all()
    assert any("taken as certain" in note for note in board.diagnostics)
    with pytest.raises(ClusterDesignError, match="side of its own"):
        pe.leaderboard(rewards, "stage", rng=1, singleton="collapse")


def test_one_task_in_every_stage_leaves_nothing_to_resample() -> None:
    rewards = staged({"S1": 1, "S2": 1})
    with pytest.raises(ClusterDesignError, match="2 strata with one task"):
        pe.leaderboard(rewards, "stage", rng=1)
    with pytest.raises(ClusterDesignError, match="nothing is left to resample"):
        pe.leaderboard(rewards, "stage", rng=1, singleton="certainty")


def test_strata_lie_within_stages() -> None:
    rewards = staged()
    board = pe.leaderboard(rewards, "stage", stratum="kind", rng=3, n_resamples=50_000)
    assert board.sizes.to_dict() == {"S1 / x": 6, "S1 / y": 6, "S2 / x": 13, "S2 / y": 12, "S3 / x": 15, "S3 / y": 15}
    grouped = rewards.groupby(["model", "stage", "kind"])["reward"]
    inside = grouped.agg(lambda own: own.var(ddof=0) * len(own)).groupby(level=["model", "stage"]).sum()
    sizes = rewards.groupby("stage")["task"].nunique()
    error = np.sqrt(inside).unstack().loc[board.models] / sizes
    np.testing.assert_allclose(board.stage_errors, error, rtol=0.02)


def test_a_stratum_of_one_task_is_joined_within_its_stage() -> None:
    rewards = staged({"S1": 6, "S2": 6})
    rewards["kind"] = np.where(rewards["task"] == "S1-00", "alone", rewards["kind"])
    with pytest.raises(ClusterDesignError, match=r"\('S1', 'alone'\) \('S1-00' alone\)"):
        pe.leaderboard(rewards, "stage", stratum="kind", rng=1)
    board = pe.leaderboard(rewards, "stage", stratum="kind", rng=1, singleton="collapse", n_resamples=200)
    assert board.diagnostics[0] == "drawn from together: ('S1', 'alone') ('S1-00' alone) with ('S1', 'x')"


def test_strata_without_stages() -> None:
    board = pe.leaderboard(staged(), stratum="stage", rng=1, n_resamples=200)
    assert len(board.stages) == 1
    assert board.sizes.to_dict() == {"S1": 12, "S2": 25, "S3": 30}
    assert "S1" not in board.table.columns
    np.testing.assert_allclose(
        board.table["overall"], staged().groupby("model")["reward"].mean().loc[board.models], rtol=CLOSED_FORM
    )
    with pytest.raises(DataError, match="There is one stage"):
        board.rank_correlations()


def test_missing_rewards_by_policy() -> None:
    rewards = staged()
    hole = rewards[~((rewards["model"] == "E") & (rewards["task"] == "S1-03"))]
    with pytest.raises(MissingRewardsError, match=r"1 reward missing: 'E' on 'S1-03'"):
        pe.leaderboard(hole, "stage", rng=1)
    means = hole.groupby(["model", "stage"])["reward"].mean().unstack()
    omitted = pe.leaderboard(hole, "stage", rng=1, missing="omit", n_resamples=200)
    assert omitted.table.loc["E", "S1"] == pytest.approx(means.loc["E", "S1"], rel=CLOSED_FORM)
    assert omitted.n_missing["E"] == 1
    assert "left out of all means (policy: omit)" in omitted.summary()
    zero = pe.leaderboard(hole, "stage", rng=1, missing="zero", n_resamples=200)
    assert zero.table.loc["E", "S1"] == pytest.approx(means.loc["E", "S1"] * 11.0 / 12.0, rel=CLOSED_FORM)
    assert "counted as 0" in zero.summary()


def test_a_model_without_a_stage_has_no_rank() -> None:
    rewards = staged()
    hole = rewards[~((rewards["model"] == "C") & (rewards["stage"] == "S2"))]
    board = pe.leaderboard(hole, "stage", rng=1, missing="omit", n_resamples=300)
    others = pe.leaderboard(hole[hole["model"] != "C"], "stage", rng=1, n_resamples=300)
    assert board.models[-1] == "C"
    assert board.table.loc["C", "overall":].isna().all()
    assert board.table.loc["C", "S1"] == pytest.approx(
        others.table.shape[0] and rewards.query("model == 'C' and stage == 'S1'")["reward"].mean()
    )
    pd.testing.assert_frame_equal(board.table.drop(index="C"), others.table, rtol=CLOSED_FORM, atol=1e-14)
    assert board.rank_probabilities.iloc[:4, 4].tolist() == [0.0] * 4
    assert "1 model without any reward in a stage, and so without rank: 'C'" in board.diagnostics
    correlations = board.rank_correlations()["n_models"]
    assert correlations.loc[("S1", "S3")].tolist() == [5, 5]
    assert correlations.loc[("S1", "S2")].tolist() == [4, 4]
    assert "\N{EN DASH}" in board.to_markdown()
    board.plot()
    board.plot_ranks()


def test_too_many_resamples_without_rewards_are_refused() -> None:
    rewards = staged({"S1": 4, "S2": 6})
    hole = rewards[~((rewards["model"] == "C") & rewards["task"].isin(["S1-00", "S1-01", "S1-02"]))]
    with pytest.raises(ResamplingError, match="some model in 'S1', most often 'C'"):
        pe.leaderboard(hole, "stage", rng=1, missing="omit")


def test_same_bytes_for_the_same_seed_at_any_number_of_threads() -> None:
    rewards = staged()
    boards = [pe.leaderboard(rewards, "stage", rng=7, n_resamples=2500, n_jobs=jobs) for jobs in (1, 1, 2)]
    assert len({json.dumps(board.to_dict()) for board in boards}) == 1
    assert boards[0].source.scores.tobytes() == boards[2].source.scores.tobytes()
    other = pe.leaderboard(rewards, "stage", rng=8, n_resamples=2500)
    assert other.table["standard_error"].tolist() != boards[0].table["standard_error"].tolist()
    drawn = pe.leaderboard(rewards, "stage", rng=np.random.default_rng(1), n_resamples=300)
    again = pe.leaderboard(rewards, "stage", rng=drawn.seed, n_resamples=300)
    pd.testing.assert_frame_equal(again.table, drawn.table)


def test_weights_of_stages() -> None:
    rewards = staged()
    means = rewards.pivot_table(index="model", columns="stage", values="reward")
    given = pe.leaderboard(rewards, "stage", weights={"S1": 3, "S2": 1, "S3": 0}, rng=1, n_resamples=200)
    expected = (0.75 * means["S1"] + 0.25 * means["S2"]).loc[given.models]
    np.testing.assert_allclose(given.table["overall"], expected, rtol=CLOSED_FORM)
    assert "weighted mean of the 3 stages (S1 0.75, S2 0.25, S3 0)" in given.summary()
    by_tasks = pe.leaderboard(rewards, "stage", weights="task", rng=1, n_resamples=200)
    everything = rewards.groupby("model")["reward"].mean().loc[by_tasks.models]
    np.testing.assert_allclose(by_tasks.table["overall"], everything, rtol=CLOSED_FORM)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"S1": 1, "S2": 1}, "1 stage without a weight: 'S3'"),
        ({"S1": 1, "S2": 1, "S3": 1, "S4": 1}, "1 stage not found: 'S4'"),
        ({"S1": 0, "S2": 0, "S3": 0}, "one above 0"),
        ({"S1": -1, "S2": 2, "S3": 1}, "at least 0"),
        ({"S1": "a", "S2": 2, "S3": 1}, "have to be numbers"),
        ([1, 2, 3], "mapping of stage to weight"),
        ("balanced", "weights has to be one of 'task'"),
    ],
)
def test_weights_that_do_not_fit(weights: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        pe.leaderboard(staged(), "stage", weights=weights, rng=1)


def test_items_and_repeats() -> None:
    rewards = staged({"S1": 6, "S2": 6})
    items = pd.concat([rewards.assign(item="a"), rewards[rewards["task"] != "S1-00"].assign(item="b")])
    by_cell = pe.leaderboard(items, "stage", item="item", rng=1, n_resamples=200)
    expected = items.groupby(["model", "stage"])["reward"].mean().unstack().loc[by_cell.models]
    np.testing.assert_allclose(by_cell.table[["S1", "S2"]], expected, rtol=CLOSED_FORM)
    by_cluster = pe.leaderboard(items, "stage", item="item", weighting="cluster", rng=1, n_resamples=200)
    plain = pe.leaderboard(rewards, "stage", rng=1, n_resamples=200)
    np.testing.assert_allclose(by_cluster.table["overall"], plain.table["overall"], rtol=CLOSED_FORM)
    runs = pd.concat(
        [rewards.assign(run=1, reward=rewards["reward"] + 0.1), rewards.assign(run=2, reward=rewards["reward"] - 0.1)]
    )
    averaged = pe.leaderboard(runs, "stage", repeat="run", rng=1, n_resamples=200)
    np.testing.assert_allclose(averaged.table["low"], plain.table["low"], rtol=1e-10)


@pytest.mark.parametrize("method", ["percentile", "basic", "bca", "studentised", "t"])
def test_methods_of_intervals(method: str) -> None:
    rewards = staged({"S1": 25, "S2": 25})
    board = pe.leaderboard(rewards, "stage", method=method, rng=1, n_resamples=2000)
    table = board.table
    assert ((table["low"] < table["overall"]) & (table["overall"] < table["high"])).all()
    if method == "t":
        error = table["robust_standard_error"]
        variances = rewards.groupby(["model", "stage"])["reward"].var().unstack().loc[board.models] / 25.0
        df = variances.sum(axis=1) ** 2 / (variances**2 / 24.0).sum(axis=1)
        np.testing.assert_allclose(table["high"], table["overall"] + stats.t.ppf(0.975, df) * error, rtol=CLOSED_FORM)


def test_an_interval_that_does_not_exist_is_replaced_and_says_so() -> None:
    rewards = by_task({"A": [0.0, 1.0], "B": [0.5, 0.5]})
    with pytest.warns(DegenerateBootstrapWarning, match="The studentised interval does not exist for 1 model: 'A'"):
        board = pe.leaderboard(rewards, method="studentised", rng=1, n_resamples=500)
    assert board.table.loc["A", ["low", "high"]].tolist() == [0.0, 1.0]
    assert any("percentile interval stands in its place" in note for note in board.diagnostics)


def test_corrections_restore_the_error_of_few_tasks() -> None:
    rewards = staged({"S1": 4, "S2": 4})
    plain, rescaled, inflated = (
        pe.leaderboard(rewards, "stage", correction=name, rng=1, n_resamples=40_000) for name in (None, "rao-wu", "canty-davison")
    )
    robust = plain.table["robust_standard_error"].loc[list("ABCDE")]
    for board in (rescaled, inflated):
        np.testing.assert_allclose(board.table["standard_error"].loc[list("ABCDE")], robust, rtol=0.02)
    np.testing.assert_allclose(plain.table["standard_error"].loc[list("ABCDE")], robust * np.sqrt(0.75), rtol=0.02)


def test_few_clusters_are_reported_with_the_recommended_interval() -> None:
    few, many = (pe.leaderboard(staged({"S1": n, "S2": 30}), "stage", rng=1, n_resamples=300) for n in (12, 25))
    assert few.few_clusters
    assert not many.few_clusters
    assert "recommended 95% interval" in few.to_markdown()
    assert "recommended 95% interval" not in many.to_markdown()
    assert any("only 12 tasks" in note for note in few.diagnostics)
    recommended = few.recommended
    assert (recommended["method"] == "studentised").all()
    assert (recommended["high"] - recommended["low"]).mean() > (few.table["high"] - few.table["low"]).mean()


def test_a_design_has_its_strata_as_stages() -> None:
    rewards = staged()
    design = pe.ClusterDesign.from_long(rewards, stratum="stage")
    first, second = pe.leaderboard(design, rng=1, n_resamples=200), pe.leaderboard(rewards, "stage", rng=1, n_resamples=200)
    pd.testing.assert_frame_equal(first.table, second.table)
    with pytest.raises(DataError, match="its strata are the stages"):
        pe.leaderboard(design, "stage", rng=1)


def test_conditions_of_a_design_are_entrants() -> None:
    rewards = pd.concat([staged().assign(prompt="p1"), staged(seed=12).assign(prompt="p2")])
    design = pe.ClusterDesign.from_long(rewards, stratum="stage", condition="prompt")
    board = pe.leaderboard(design, rng=1, n_resamples=200)
    assert len(board.models) == 10
    assert "A / p1" in board.models
    assert pe.Leaderboard.from_dict(board.to_dict()).to_dict() == board.to_dict()


def test_rank_spread_is_worst_less_best_stage_rank() -> None:
    board = pe.leaderboard(staged(), "stage", rng=1, n_resamples=200)
    ranks = staged().pivot_table(index="model", columns="stage", values="reward").rank(ascending=False)
    expected = (ranks.max(axis=1) - ranks.min(axis=1)).loc[board.models]
    np.testing.assert_array_equal(board.rank_spread, expected)


def test_what_is_asked_for_wrongly() -> None:
    rewards = staged()
    with pytest.raises(DataError, match="There is one model, 'A'"):
        pe.leaderboard(rewards[rewards["model"] == "A"], "stage", rng=1)
    with pytest.raises(LabelError, match="stratum names 1 column that the table lacks: 'stag'"):
        pe.leaderboard(rewards, "stag", rng=1)
    with pytest.raises(LabelError, match="1 stage called as a column of the leaderboard: 'overall'"):
        pe.leaderboard(rewards.replace({"stage": {"S1": "overall"}}), "stage", rng=1)
    with pytest.raises(ClusterDesignError, match="1 task in more than one stage"):
        pe.leaderboard(rewards.replace({"task": {"S1-00": "S2-00"}}), "stage", rng=1, missing="omit")
    with pytest.raises(ClusterDesignError, match="5 rows without a stratum label in column 'stage'"):
        pe.leaderboard(rewards.assign(stage=rewards["stage"].mask(rewards["task"] == "S1-00")), "stage", rng=1)
    with pytest.raises(DataError, match="n_resamples has to be at least 100"):
        pe.leaderboard(rewards, "stage", n_resamples=10)
    with pytest.raises(DataError, match="weighting has to be one of 'task', 'cluster'"):
        pe.leaderboard(rewards, "stage", weighting="stratum")


def test_saved_and_read_back(tmp_path: object) -> None:
    board = pe.leaderboard(staged(), "stage", stratum="kind", rng=1, n_resamples=300)
    again = pe.load(board.save(tmp_path / "board.json"))
    assert isinstance(again, pe.Leaderboard)
    assert again.to_dict() == board.to_dict()
    pd.testing.assert_frame_equal(again.table, board.table, check_column_type=False)
    pd.testing.assert_frame_equal(again.rank_correlations(), board.rank_correlations())
    for text in ("summary", "methods_text", "to_markdown", "to_latex", "to_html"):
        assert getattr(again, text)() == getattr(board, text)()
    content = board.to_dict()
    content["ranks"] = content["ranks"][:-1]
    with pytest.raises(FileFormatError, match="'ranks'"):
        pe.Leaderboard.from_dict(content)


def test_reports_hold_everything_and_escape_labels() -> None:
    rewards = staged().replace({"model": {"A": "a_b & <c>|d"}})
    board = pe.leaderboard(rewards, "stage", rng=20260731, n_resamples=300)
    for text in (board.summary(), board.methods_text(), board.to_markdown(), board.to_latex(), board.to_html()):
        plain = text.replace("\\", "")
        for part in ("95%", "percentile", "20260731", "300", "S1 12", "balanced mean of the 3 stages", pe.__version__):
            assert part in plain, part
    assert r"a\_b \& $<$c$>$\textbar{}d" in board.to_latex(label="tab:x")
    assert r"\label{tab:x}" in board.to_latex(label="tab:x")
    assert r"\toprule" in board.to_latex()
    assert "a_b &amp; &lt;c&gt;|d" in board.to_html()
    assert r"a\_b & \<c\>\|d" in board.to_markdown()
    assert board.to_html() == board._repr_html_()


def test_what_never_happened_is_a_bound() -> None:
    rewards = staged(models="AB", spread=0.001).assign(reward=lambda frame: frame["reward"] + (frame["model"] == "B"))
    board = pe.leaderboard(rewards, "stage", rng=1, n_resamples=1000)
    assert board.table["probability_best"].tolist() == [1.0, 0.0]
    assert ">0.999" in board.summary()
    assert "<0.001" in board.summary()


def test_figures() -> None:
    board = pe.leaderboard(staged(), "stage", rng=1, n_resamples=300)
    ax = board.plot()
    assert [text.get_text() for text in ax.get_yticklabels()] == list(board.models)
    ranks = board.plot_ranks()
    markers = ranks.lines[-1]
    assert markers.get_xdata().tolist() == board.table["rank"].tolist()
    assert ranks.get_ylim()[0] > ranks.get_ylim()[1]
    assert board.plot(ax=ax, stages=False) is ax
    dollars = pe.leaderboard(staged().replace({"model": {"A": "$x_"}}), rng=1, n_resamples=200)
    dollars.plot().get_figure().canvas.draw()


def test_scores_table_has_ranks_and_says_why_no_intervals() -> None:
    scores = pd.DataFrame({"S1": [0.9, 0.5, 0.7], "S2": [0.2, 0.9, 0.4]}, index=["A", "B", "C"])
    board = pe.leaderboard_from_scores(scores)
    assert list(board.models) == ["B", "A", "C"]
    assert board.table["rank"].tolist() == [1.0, 2.5, 2.5]
    assert board.table[["standard_error", "low", "rank_low", "probability_best"]].isna().to_numpy().all()
    assert "holds no rewards by task" in board.summary()
    assert "holds no rewards by task" in board.methods_text()
    assert "interval" not in board.to_markdown().split("\n")[0]
    assert (
        board.rank_correlations().loc[("S1", "S2", "spearman"), "estimate"]
        == stats.spearmanr(scores["S1"], scores["S2"]).statistic
    )
    again = pe.Leaderboard.from_dict(board.to_dict())
    assert again.to_dict() == board.to_dict()
    assert again.summary() == board.summary()
    board.plot()
    board.plot_ranks()
    wide = scores.rename_axis("name").reset_index()
    assert pe.leaderboard_from_scores(wide, ["S1", "S2"], model="name").to_dict() == board.to_dict()
    weighted = pe.leaderboard_from_scores(scores, weights={"S1": 1, "S2": 3})
    assert weighted.table.loc["A", "overall"] == pytest.approx(0.375, rel=CLOSED_FORM)


def test_scores_tables_that_are_refused() -> None:
    scores = pd.DataFrame({"S1": [0.9, 0.5], "S2": [0.2, np.nan], "note": ["x", "y"]}, index=["A", "B"])
    with pytest.raises(DataError, match="2 scores in column 'note' that are no numbers"):
        pe.leaderboard_from_scores(scores)
    with pytest.raises(MissingRewardsError, match="1 score missing: 'B' in 'S2'"):
        pe.leaderboard_from_scores(scores, ["S1", "S2"])
    board = pe.leaderboard_from_scores(scores, ["S1", "S2"], missing="omit")
    assert np.isnan(board.table.loc["B", "rank"])
    assert "1 model without a score in a stage, and so without rank: 'B'" in board.diagnostics
    with pytest.raises(LabelError, match="1 column that the table lacks: 'S9'"):
        pe.leaderboard_from_scores(scores, ["S1", "S9"])
    with pytest.raises(LabelError, match="called as a column of the leaderboard: 'overall'"):
        pe.leaderboard_from_scores(scores.rename(columns={"S2": "overall"}), ["S1", "overall"])
    with pytest.raises(DuplicateLabelError, match="1 model label used more than once: 'A'"):
        pe.leaderboard_from_scores(scores.set_axis(["A", "A"], axis=0), ["S1"])
    with pytest.raises(DataError, match="The table has 1 model"):
        pe.leaderboard_from_scores(scores.iloc[:1], ["S1"])
    with pytest.raises(DataError, match="There is no stage"):
        pe.leaderboard_from_scores(scores, [])
    with pytest.raises(DataError, match="got dict"):
        pe.leaderboard_from_scores({"A": 1})
