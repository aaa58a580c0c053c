"""Trouble cases of the stratified cluster bootstrap, one test each; the numbers are those of the list of cases."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from bootstrap_designs import long, published_like, unequal

import psychoedu as pe
from psychoedu.bootstrap import intervals, resampling
from psychoedu.bootstrap.design import ClusterDesign
from psychoedu.bootstrap.streams import seed_of
from psychoedu.exceptions import ClusterDesignError, DegenerateBootstrapWarning, MissingRewardsError

RTOL = 1e-12
PRINTED = 5e-6
"""The figures in the list of cases have five decimals."""


def monte_carlo(n_resamples: int) -> float:
    """Return four standard errors of a bootstrap standard error, relative to it."""
    return 4.0 / np.sqrt(2.0 * n_resamples)


def test_b1_stratum_with_one_cluster_is_named() -> None:
    frame = long({"hard": [0.2], "easy": [0.5, 0.6, 0.9]})
    with pytest.raises(ClusterDesignError, match=r"1 stratum with one task: 'hard' \('t0' alone\)") as caught:
        pe.contrast(frame, stratum="stratum", focal="hard", rng=1)
    assert len(str(caught.value).splitlines()) <= 3
    certain = pe.contrast(frame, stratum="stratum", focal="hard", rng=1, singleton="certainty")
    own = np.array([0.5, 0.6, 0.9])
    assert certain.closed_form_standard_error == pytest.approx(own.std() / np.sqrt(3), rel=RTOL)
    assert "taken as certain, without sampling error (one task): 'hard' ('t0' alone)" in certain.summary()
    with pytest.raises(ClusterDesignError, match="is a side of its own"):
        pe.contrast(frame, stratum="stratum", focal="hard", rng=1, singleton="collapse")


def test_b1_collapsed_stratum_is_drawn_with_the_smallest_other() -> None:
    frame = long({"hard": [0.2, 0.4], "lone": [0.5], "few": [0.6, 0.9], "many": [0.1, 0.2, 0.3]})
    options = {"stratum": "stratum", "focal": "hard", "weighting": "stratum", "rng": 1}
    found = pe.contrast(frame, **options, singleton="collapse")
    means = [0.5, 0.75, 0.2]
    assert found.comparison_mean == pytest.approx(np.mean(means), rel=RTOL)
    assert found.strata["drawn"].to_dict() == {"hard": "alone", "few": "with lone", "lone": "with few", "many": "alone"}
    assert "drawn from together: 'lone' ('t2' alone) with 'few'" in found.to_markdown().replace("\\", "")
    # the common ratio of 'lone' and 'few': z = w (y - R), weights 1/3 and 1/6, R = 0.625 of the share 2/3
    weight, y = np.array([1 / 3, 1 / 6, 1 / 6]), np.array([0.5, 0.6, 0.9])
    together = (weight**2 * (y - (weight @ y) / weight.sum()) ** 2).sum()
    rest = [0.01 / 2, (1 / 9) * np.var([0.1, 0.2, 0.3]) / 3]
    assert found.closed_form_standard_error == pytest.approx(np.sqrt(together + sum(rest)), rel=RTOL)
    with pytest.raises(ClusterDesignError, match="'lone'"):
        pe.contrast(frame, **options)


def test_b2_small_strata_correction_restores_the_unbiased_error() -> None:
    """Plain resampling gives 0.10000; the unbiased standard error is 0.14142."""
    frame = long({"A": [0.2, 0.6], "B": [0.5, 0.9]})
    design = ClusterDesign.from_long(frame, stratum="stratum")
    size, errors = 40_000, {}

    def means_of_both(weights: np.ndarray) -> np.ndarray:
        first, second = weights[:, :2], weights[:, 2:]
        return 0.5 * (first @ [0.2, 0.6] / first.sum(axis=1) + second @ [0.5, 0.9] / second.sum(axis=1))

    for correction in (None, "rao-wu", "canty-davison"):
        found = pe.bootstrap(means_of_both, design, vectorized=True, n_resamples=size, correction=correction, rng=1)
        errors[correction] = float(found.standard_error.iloc[0])
    assert errors[None] == pytest.approx(0.1, rel=monte_carlo(size))
    assert errors["rao-wu"] == pytest.approx(np.sqrt(0.02), rel=monte_carlo(size))
    assert errors["canty-davison"] == pytest.approx(np.sqrt(0.02), rel=monte_carlo(size))
    # and the contrast of the two, whose variance is four times as large
    gap = pe.contrast(frame, stratum="stratum", focal="A", rng=1, n_resamples=size)
    assert gap.closed_form_standard_error == pytest.approx(0.2, rel=RTOL)
    assert gap.robust_standard_error == pytest.approx(np.sqrt(0.08), rel=RTOL)
    assert gap.robust_standard_error / gap.closed_form_standard_error == pytest.approx(np.sqrt(2), rel=RTOL)
    assert "cluster-robust standard error" in gap.summary()


def test_b3_clusters_of_one_task_are_the_ordinary_bootstrap() -> None:
    """The same stream, drawn task by task: means of the drawn values."""
    frame = published_like(n_models=1)
    gap = pe.contrast(frame, stratum="profile", focal="strategic surface", n_resamples=3_000, rng=7)
    ordered = frame.sort_values("task")
    focal = ordered.loc[ordered["profile"] == "strategic surface", "reward"].to_numpy()
    rest = ordered.loc[ordered["profile"] != "strategic surface", "reward"].to_numpy()
    expected = []
    for block, size in enumerate([1024, 1024, 952]):
        generator = seed_of(7).generator(block)
        drawn = [resampling.draw_places(generator, size, len(values)) for values in (focal, rest)]
        expected.append(rest[drawn[1]].mean(axis=1) - focal[drawn[0]].mean(axis=1))
    np.testing.assert_allclose(gap.resamples, np.concatenate(expected), rtol=RTOL, atol=1e-13)


def test_b4_unequal_clusters() -> None:
    """Clusters 1111 / 000 / 10 / 1: mean .6, cluster error .24495 or .28284 with G/(G - 1), naive .16330; cluster mean .625."""
    clusters = {"a": [1, 1, 1, 1], "b": [0, 0, 0], "c": [1, 0], "d": [1]}
    frame = pd.DataFrame([(task, value) for task, values in clusters.items() for value in values], columns=["task", "reward"])
    other = pd.DataFrame({"task": ["z1", "z2"], "reward": [0.0, 0.0]})
    both = pd.concat([frame.assign(stratum="own"), other.assign(stratum="zero")])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gap = pe.contrast(both, stratum="stratum", focal="zero", model=None, rng=1)
    assert gap.estimate == pytest.approx(0.6, rel=RTOL)
    assert gap.closed_form_standard_error == pytest.approx(0.24495, abs=PRINTED)
    assert gap.robust_standard_error == pytest.approx(0.28284, abs=PRINTED)
    values = frame["reward"].to_numpy(dtype=float)
    assert values.std(ddof=1) / np.sqrt(10) == pytest.approx(0.16330, abs=PRINTED)
    assert gap.robust_standard_error > values.std(ddof=1) / np.sqrt(10)
    by_cluster = pe.contrast(both, stratum="stratum", focal="zero", model=None, rng=1, weighting="cluster")
    assert by_cluster.estimate == pytest.approx(0.625, rel=RTOL)
    assert "cluster-weighted: 0.6250" in gap.summary()
    assert "cluster-weighted: every cluster counts the same" in by_cluster.summary()


def test_b5_a_single_cluster_has_no_standard_error() -> None:
    design = ClusterDesign.from_long(pd.DataFrame({"task": ["t"] * 4, "reward": [1, 0, 1, 1]}), model=None)
    with pytest.raises(ClusterDesignError, match="one task"):
        pe.bootstrap(lambda weights: float(weights.sum()), design, rng=1)
    frame = pd.DataFrame({"task": ["t"] * 4, "stratum": ["s"] * 4, "reward": [1, 0, 1, 1]})
    with pytest.raises(ClusterDesignError, match="Nothing is left to compare with"):
        pe.contrast(frame, stratum="stratum", focal="s", model=None, rng=1)


def test_b6_missing_rewards_are_an_error_unless_a_rule_is_given() -> None:
    frame = pd.concat([long({"x": [0.2, 0.4, 0.9], "y": [0.5, 0.6, 0.7]}, model) for model in "AB"])
    frame.iloc[1, frame.columns.get_loc("reward")] = np.nan
    with pytest.raises(MissingRewardsError, match=r"1 reward missing: 'A' on 't1' \(by model: 'A' 1\)"):
        pe.contrast(frame, stratum="stratum", focal="x", rng=1)
    omitted = pe.contrast(frame, stratum="stratum", focal="x", rng=1, missing="omit")
    assert omitted.focal_mean == pytest.approx((0.2 + 0.9 + 0.2 + 0.4 + 0.9) / 5, rel=RTOL)
    assert omitted.missing["n_missing"].to_dict() == {"A": 1, "B": 0}
    assert "left out of all means (policy: omit)" in omitted.summary()
    zero = pe.contrast(frame, stratum="stratum", focal="x", rng=1, missing="zero")
    assert zero.focal_mean == pytest.approx((0.2 + 0.9 + 0.2 + 0.4 + 0.9) / 6, rel=RTOL)
    assert "counted as 0 (policy: zero)" in zero.methods_text()
    # a row that is not there is as absent as a blank one
    without = frame.drop(frame.index[1]).reset_index(drop=True)
    dropped = frame[~((frame["model"] == "A") & (frame["task"] == "t1"))]
    assert len(without) == len(frame) - 2
    again = pe.contrast(dropped, stratum="stratum", focal="x", rng=1, missing="omit")
    np.testing.assert_array_equal(again.resamples, omitted.resamples)
    with pytest.raises(MissingRewardsError, match="'A' on 't1'"):
        pe.contrast(dropped, stratum="stratum", focal="x", rng=1)


@pytest.mark.parametrize("method", ["percentile", "studentised"])
def test_b7_same_bytes_for_a_seed_whatever_the_workers_and_the_order(method: str) -> None:
    frame = published_like()
    options = {"stratum": "profile", "focal": "strategic surface", "n_resamples": 2_500, "method": method}
    first = pe.contrast(frame, **options, rng=1)
    again = pe.contrast(frame, **options, rng=1, n_jobs=4)
    assert first.resamples.tobytes() == again.resamples.tobytes()
    assert tuple(first.interval) == tuple(again.interval)
    assert first.models.to_numpy().tobytes() == again.models.to_numpy().tobytes()
    names = {f"m{at:02}": f"m{(at * 5) % 17:02}" for at in range(17)}  # another order of the columns
    shuffled = frame.replace({"model": names}).sample(frac=1.0, random_state=4)
    other = pe.contrast(shuffled, **options, rng=1)
    np.testing.assert_allclose(other.resamples, first.resamples, rtol=RTOL, atol=1e-13)
    np.testing.assert_allclose(
        other.models.loc[[names[label] for label in first.models.index], "low"], first.models["low"], rtol=RTOL, atol=1e-13
    )
    assert pe.contrast(frame, **options, rng=2).resamples.tobytes() != first.resamples.tobytes()


def test_b7_the_seed_of_a_generator_is_recorded_and_repeats_it() -> None:
    frame = published_like(n_models=2)
    options = {"stratum": "profile", "focal": "deep", "n_resamples": 500}
    generator = np.random.default_rng(3)
    first, second = pe.contrast(frame, **options, rng=generator), pe.contrast(frame, **options, rng=generator)
    assert first.resamples.tobytes() != second.resamples.tobytes()
    assert pe.contrast(frame, **options, rng=second.seed).resamples.tobytes() == second.resamples.tobytes()
    unseeded = pe.contrast(frame, **options)
    assert pe.contrast(frame, **options, rng=unseeded.seed).resamples.tobytes() == unseeded.resamples.tobytes()


def test_b8_exactly_as_many_resamples_as_asked_for() -> None:
    gap = pe.contrast(published_like(n_models=1), stratum="profile", focal="deep", n_resamples=1_500, rng=1)
    assert gap.resamples.shape == (1_500,)
    assert np.isfinite(gap.resamples).all()


def test_b12_weights_are_the_same_in_estimate_and_resamples() -> None:
    """Strata of 300 and 20 tasks, weighing the same: the error is that of the equal-weight mean, not of the pooled one."""
    rng = np.random.default_rng(8)
    large, small, focal = rng.normal(0.5, 0.2, 300), rng.normal(0.8, 0.2, 20), rng.normal(0.4, 0.2, 50)
    frame = long({"large": list(large), "small": list(small), "focal": list(focal)})
    size = 20_000
    gap = pe.contrast(frame, stratum="stratum", focal="focal", weighting="stratum", n_resamples=size, rng=1)
    assert gap.comparison_mean == pytest.approx((large.mean() + small.mean()) / 2, rel=RTOL)
    expected = np.sqrt(0.25 * large.var() / 300 + 0.25 * small.var() / 20 + focal.var() / 50)
    assert gap.standard_error == pytest.approx(expected, rel=monte_carlo(size))
    assert gap.resamples.mean() == pytest.approx(gap.estimate, abs=4 * expected / np.sqrt(size))
    named = pe.contrast(frame, "stratum", "focal", {"large": 1, "small": 1}, n_resamples=size, rng=1)
    np.testing.assert_array_equal(named.resamples, gap.resamples)
    assert "stratum-weighted" in gap.summary()


def test_b14_p_is_never_zero() -> None:
    frame = long({"x": [0.1, 0.11, 0.12, 0.1], "y": [0.9, 0.91, 0.92, 0.9]})
    gap = pe.contrast(frame, stratum="stratum", focal="x", n_resamples=999, rng=1)
    assert gap.p_value == pytest.approx(1 / 1000, rel=RTOL)
    assert "<0.001" in gap.summary()
    assert "p < 0.001" in gap.methods_text()


def test_b15_raw_and_holm_side_by_side() -> None:
    gap = pe.contrast(published_like(n_models=12), stratum="profile", focal="strategic surface", n_resamples=2_000, rng=1)
    raw, adjusted = gap.models["p_value"], gap.models["p_holm"]
    ordered = raw.sort_values()
    expected = np.minimum(np.maximum.accumulate(ordered.to_numpy() * np.arange(12, 0, -1)), 1.0)
    np.testing.assert_allclose(adjusted[ordered.index], expected, rtol=RTOL)
    assert (adjusted >= raw).all()
    assert "p (Holm)" in gap.to_latex()


def test_b17_bca_with_all_resamples_on_one_side_says_so_and_gives_the_percentile_interval() -> None:
    """Every resample of the focal task equals the smallest value of the comparison, or lies above: no bias correction."""
    frame = long({"x": [0.5, 0.5, 0.5], "y": [0.7, 0.7, 0.7]})
    with pytest.warns(DegenerateBootstrapWarning) as caught:
        gap = pe.contrast(frame, stratum="stratum", focal="x", n_resamples=500, rng=1, method="bca")
    assert any("All resamples are equal" in str(warning.message) for warning in caught)
    assert tuple(gap.interval) == (gap.estimate, gap.estimate)
    resamples, estimate = np.linspace(1.0, 2.0, 50)[:, None], np.array([0.5])
    limits, degenerate = intervals.bca_limits(resamples, estimate, np.zeros(1), 0.95)
    assert degenerate.tolist() == [True]
    assert np.isnan(limits).all()


def test_b17_method_that_was_used_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intervals, "share_below", lambda resamples, estimate: np.zeros(resamples.shape[1]))
    frame = published_like(n_models=1)
    with pytest.warns(DegenerateBootstrapWarning, match="BCa interval does not exist"):
        gap = pe.contrast(frame, stratum="profile", focal="deep", n_resamples=500, rng=1, method="bca")
    plain = pe.contrast(frame, stratum="profile", focal="deep", n_resamples=500, rng=1)
    assert tuple(gap.interval) == tuple(plain.interval)
    assert "percentile (the BCa interval does not exist)" in gap.summary()
    assert "percentile (the BCa interval does not exist)" in gap.methods_text()


def test_b20_labels_that_are_missing_or_in_two_strata_are_named() -> None:
    frame = long({"x": [0.2, 0.4], "y": [0.5, 0.6]})
    for blank in (np.nan, None):
        with_blank = frame.astype({"task": object})
        with_blank.loc[2, "task"] = blank
        with pytest.raises(ClusterDesignError, match=r"1 row without a cluster label in column 'task': 2\."):
            pe.contrast(with_blank, stratum="stratum", focal="x", rng=1)
    twice = frame.assign(task=["t0", "t1", "t1", "t3"])
    with pytest.raises(ClusterDesignError, match=r"1 task in more than one stratum: 't1' in 'x', 'y'"):
        pe.contrast(twice, stratum="stratum", focal="x", rng=1)


def test_b21_standard_error_meets_the_closed_form() -> None:
    """20 equal clusters a side; within 1% of the with-replacement closed form, denominator n, at B = 100,000."""
    rng = np.random.default_rng(2)
    focal, rest = rng.normal(0.4, 0.2, 20), rng.normal(0.6, 0.1, 20)
    gap = pe.contrast(long({"x": list(focal), "y": list(rest)}), "stratum", "x", n_resamples=100_000, rng=20260731)
    expected = np.sqrt(focal.var() / 20 + rest.var() / 20)
    assert gap.closed_form_standard_error == pytest.approx(expected, rel=RTOL)
    assert gap.standard_error == pytest.approx(expected, rel=0.01)
    assert gap.robust_standard_error == pytest.approx(expected * np.sqrt(20 / 19), rel=RTOL)


def test_b22_reports_hold_everything_that_a_reader_needs() -> None:
    gap = pe.contrast(published_like(), stratum="profile", focal="strategic surface", n_resamples=2_000, rng=20260731)
    low, high = (f"{limit:.3f}" for limit in gap.interval)
    needed = [
        f"{gap.estimate:.3f}", f"[{low}, {high}]", "95%", "percentile", "2,000", "20260731", "strategic surface 18", "anxious 13",
        "policy: refuse", f"psychoedu {pe.__version__}",
    ]  # fmt: skip
    texts = {
        "summary": gap.summary(),
        "methods": gap.methods_text(),
        "markdown": gap.to_markdown().replace("\\", ""),
        "latex": gap.to_latex().replace("\\", "").replace("$-$", "-"),
        "html": gap.to_html(),
    }
    for name, text in texts.items():
        assert not [each for each in needed if each not in text], name
    own = gap.recommended_interval
    for name, text in texts.items():  # 18 tasks on a side: both intervals
        assert f"[{own.low:.3f}, {own.high:.3f}]" in text, name


def test_unequal_table_is_what_it_says() -> None:
    design = ClusterDesign.from_long(unequal(), stratum="stratum", item="item")
    assert (design.n_clusters, design.n_models, design.is_binary) == (30, 3, True)
    assert design.sizes.sum() == len(unequal())
