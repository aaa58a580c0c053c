"""Paired comparisons: the same tasks and resamples for both, adjusted for the number of pairs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from bootstrap_designs import published_like, unequal
from scipy import stats

import psychoedu as pe
from psychoedu.bootstrap.comparison import ModelComparison
from psychoedu.bootstrap.intervals import max_t_limits
from psychoedu.bootstrap.pairing import exact_mcnemar, sign_flip_p
from psychoedu.exceptions import ClusterDesignError, DataError, LabelError, MissingRewardsError

RTOL = 1e-12


def test_b10_a_model_with_itself() -> None:
    """The same resampled tasks for both: the difference is exactly 0, the interval [0, 0], p = 1."""
    found = pe.compare_models(published_like(n_models=3), compare=[("m00", "m00")], rng=1, n_resamples=500)
    row = found.table.loc[("m00", "m00")]
    assert (row["difference"], row["low"], row["high"], row["standard_error"]) == (0.0, 0.0, 0.0, 0.0)
    assert (row["p_value"], row["p_sign_flip"]) == (1.0, 1.0)
    assert (row["low_simultaneous"], row["high_simultaneous"]) == (0.0, 0.0)


def test_b10_equal_rewards_of_two_models() -> None:
    frame = published_like(n_models=2)
    same = pd.concat([frame[frame["model"] == "m00"], frame[frame["model"] == "m00"].assign(model="copy")])
    row = pe.compare_models(same, rng=1, n_resamples=500).table.iloc[0]
    assert (row["difference"], row["low"], row["high"], row["p_value"]) == (0.0, 0.0, 0.0, 1.0)


def test_b11_models_with_different_tasks_are_paired_by_label() -> None:
    frame = pd.DataFrame(
        {
            "task": ["t1", "t2", "t3", "t4", "t3", "t2", "t1", "t5"],
            "model": ["A"] * 4 + ["B"] * 4,
            "reward": [0.1, 0.2, 0.3, 0.9, 0.3, 0.1, 0.4, 0.0],
        }
    )
    with pytest.raises(
        MissingRewardsError, match=r"1 pair of models without the same tasks: 'A and B'; not everyone has 't4', 't5'"
    ):
        pe.compare_models(frame, rng=1)
    found = pe.compare_models(frame, rng=1, pairs="intersection", n_resamples=1_000)
    row = found.table.loc[("A", "B")]
    assert row["difference"] == pytest.approx((-0.3 + 0.1 + 0.0) / 3, rel=RTOL)
    assert (row["n_units"], row["left_out"], row["wins"], row["ties"], row["losses"]) == (3, 2, 1, 1, 1)
    assert any("left_out" in note for note in found.diagnostics)
    apart = frame.assign(task=[f"{model}{task}" for model, task in zip(frame["model"], frame["task"], strict=True)])
    with pytest.raises(ClusterDesignError, match="without a common unit"):
        pe.compare_models(apart, rng=1, pairs="intersection")


def test_difference_and_error_are_those_of_the_paired_differences() -> None:
    frame = published_like(n_models=4)
    size = 20_000
    found = pe.compare_models(frame, rng=3, n_resamples=size)
    wide = frame.pivot(index="task", columns="model", values="reward")
    for first, second in found.table.index:
        difference = (wide[first] - wide[second]).to_numpy()
        row = found.table.loc[(first, second)]
        assert row["difference"] == pytest.approx(difference.mean(), rel=1e-9)
        assert row["robust_standard_error"] == pytest.approx(difference.std(ddof=1) / 10, rel=1e-9)
        assert row["standard_error"] == pytest.approx(difference.std() / 10, rel=4 / np.sqrt(2 * size))


def test_same_design_and_pairs_in_another_order() -> None:
    frame = published_like(n_models=4)
    forth = pe.compare_models(frame, compare=[("m01", "m03")], rng=4, n_resamples=600)
    back = pe.compare_models(frame, compare=[("m03", "m01")], rng=4, n_resamples=600)
    one, other = forth.table.iloc[0], back.table.iloc[0]
    assert one["difference"] == -other["difference"]
    assert (one["low"], one["high"]) == pytest.approx((-other["high"], -other["low"]), rel=1e-9)
    assert one["p_value"] == other["p_value"]
    assert (one["wins"], one["losses"]) == (other["losses"], other["wins"])


def test_reference_and_models() -> None:
    frame = published_like(n_models=5)
    found = pe.compare_models(frame, reference="m02", models=["m04", "m02", "m00"], rng=1, n_resamples=200)
    assert found.table.index.tolist() == [("m04", "m02"), ("m00", "m02")]
    with pytest.raises(LabelError, match="There is no model 'm02'"):
        pe.compare_models(frame, reference="m02", models=["m04", "m00"], rng=1)
    with pytest.raises(DataError, match="There is one model"):
        pe.compare_models(frame, models=["m04"], rng=1)


def test_simultaneous_intervals_hold_the_separate_ones_and_agree_for_one_pair() -> None:
    found = pe.compare_models(published_like(n_models=6), rng=1, n_resamples=4_000)
    table = found.table
    assert len(table) == 15
    width = table["high"] - table["low"]
    assert (table["high_simultaneous"] - table["low_simultaneous"] > width).all()
    assert (table["p_max_t"] >= table["p_value"] - 1e-12).all()
    assert (table["p_holm"] >= table["p_value"]).all()


def test_max_t_is_the_normal_quantile_for_independent_columns() -> None:
    """Independent normal columns: the quantile of the largest of |z_1|, ..., |z_k| is that of 0.95^(1/k)."""
    rng = np.random.default_rng(6)
    size, k = 200_000, 5
    resamples = rng.standard_normal((size, k)) * np.arange(1, k + 1)
    limits, _ = max_t_limits(resamples, np.zeros(k), np.arange(1.0, k + 1), 0.95)
    expected = stats.norm.ppf(0.5 + 0.95 ** (1 / k) / 2)
    density = 2 * k * 0.95 ** ((k - 1) / k) * stats.norm.pdf(expected)
    tolerance = 4 * np.sqrt(0.95 * 0.05 / size) / density
    np.testing.assert_allclose(limits[1] / np.arange(1, k + 1), expected, atol=tolerance)


def test_equivalence_is_two_one_sided_tests() -> None:
    frame = published_like(n_models=2)
    found = pe.compare_models(frame, rng=1, margin=0.05, n_resamples=2_000)
    at_90 = pe.compare_models(frame, rng=1, confidence_level=0.9, n_resamples=2_000).table.iloc[0]
    row = found.table.iloc[0]
    assert (row["low_equivalence"], row["high_equivalence"]) == (at_90["low"], at_90["high"])
    assert bool(row["equivalent"]) == (row["low_equivalence"] > -0.05 and row["high_equivalence"] < 0.05)
    near = pe.compare_models(frame, rng=1, margin=1e-6, n_resamples=2_000)
    assert not near.table["equivalent"].iloc[0]
    assert pe.compare_models(frame, rng=1, margin=1.0, n_resamples=2_000).table["equivalent"].iloc[0]
    assert "equivalent within 0.05" in found.to_latex()


def test_flips_and_exact_mcnemar_against_scipy() -> None:
    frame = unequal()
    found = pe.compare_models(frame, stratum="stratum", item="item", rng=1, n_resamples=500)
    wide = frame.pivot_table(index=["task", "item"], columns="model", values="reward")
    for first, second in found.table.index:
        row = found.table.loc[(first, second)]
        only = int(((wide[first] == 1) & (wide[second] == 0)).sum()), int(((wide[first] == 0) & (wide[second] == 1)).sum())
        assert (row["first_only"], row["second_only"]) == only
        assert np.isnan(row["p_mcnemar"])  # items of a task are not independent
        assert row["wins"] + row["ties"] + row["losses"] == row["n_units"] == len(wide)


def test_exact_mcnemar_of_independent_units_is_scipy_s() -> None:
    frame = unequal()
    frame["unit"] = frame["task"].astype(str) + "/" + frame["item"].astype(str)
    found = pe.compare_models(frame, cluster="unit", rng=1, n_resamples=500)
    wide = frame.pivot_table(index="unit", columns="model", values="reward")
    for first, second in found.table.index:
        only = int((wide[first] > wide[second]).sum()), int((wide[first] < wide[second]).sum())
        exact = found.table.loc[(first, second), "p_mcnemar"]
        assert exact == pytest.approx(stats.binomtest(only[0], sum(only)).pvalue, rel=1e-9)


def test_mcnemar_without_flips_is_one() -> None:
    assert exact_mcnemar(np.array([0, 3]), np.array([0, 3])).tolist() == [1.0, 1.0]


def test_sign_flip_is_exact_on_three_clusters() -> None:
    """Of the 8 ways to turn signs of 1, 2, 4, two reach |7|: p is near 1/4."""
    size = 40_000
    p = sign_flip_p(np.random.default_rng(1), np.array([[1.0], [2.0], [4.0]]), size)
    assert p[0] == pytest.approx(0.25, abs=4 * np.sqrt(0.25 * 0.75 / size))


def test_design_may_be_given_and_rewards_counted_as_zero_are_refused() -> None:
    frame = unequal()
    design = pe.ClusterDesign.from_long(frame, stratum="stratum", item="item", missing="omit")
    one = pe.compare_models(design, rng=1, n_resamples=300)
    other = pe.compare_models(frame, stratum="stratum", item="item", rng=1, n_resamples=300)
    pd.testing.assert_frame_equal(one.table, other.table)
    zero = pe.ClusterDesign.from_long(frame, item="item", missing="zero")
    with pytest.raises(DataError, match="hides who was scored"):
        pe.compare_models(zero, rng=1)


@pytest.mark.parametrize("margin", [None, 0.1])
def test_round_trip_and_tables(tmp_path, margin) -> None:
    frame = unequal().replace({"model": {"A": "a_b & <c>"}})
    found = pe.compare_models(frame, stratum="stratum", item="item", rng=1, n_resamples=300, margin=margin)
    again = pe.load(found.save(tmp_path / "c.json"))
    assert isinstance(again, ModelComparison)
    pd.testing.assert_frame_equal(again.table, found.table, check_exact=True)
    assert again.to_latex() == found.to_latex()
    assert again.summary() == found.summary()
    assert r"B - a\_b \& $<$c$>$" in found.to_latex()
    assert "B - a_b &amp; &lt;c&gt;" in found.to_html()
    assert r"B - a\_b & \<c\>" in found.to_markdown()
    assert "seed 1" in found.summary()
