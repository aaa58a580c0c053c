"""Contrasts: sides and weights, paired conditions, invariants, saving, figures, and refusals."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from bootstrap_designs import long, published_like, unequal

import psychoedu as pe
from psychoedu.bootstrap import plots
from psychoedu.bootstrap.results import Contrast
from psychoedu.exceptions import ClusterDesignError, DataError, FileFormatError, LabelError, MissingRewardsError, RepeatsError

RTOL = 1e-12
OPTIONS: dict[str, Any] = {"stratum": "profile", "focal": "strategic surface", "n_resamples": 400, "rng": 1}


def conditions(seed: int = 2) -> pd.DataFrame:
    """Return 0/1 rewards of two models on 24 tasks under three prompts, in two strata."""
    rng = np.random.default_rng(seed)
    rows = [
        (f"t{task:02}", "x" if task < 10 else "y", model, prompt, int(rng.random() < 0.5 + 0.2 * (prompt == "few")))
        for task in range(24)
        for model in "AB"
        for prompt in ("few", "zero", "frame")
    ]
    return pd.DataFrame(rows, columns=["task", "stratum", "model", "prompt", "reward"])


def test_defaults_are_the_protocol() -> None:
    gap = pe.contrast(published_like(), stratum="profile", focal="strategic surface", rng=20260731)
    assert (gap.n_resamples, gap.confidence_level, gap.method, gap.correction) == (10_000, 0.95, "percentile", None)
    assert (gap.options["weighting"], gap.options["resample_within"], gap.options["missing"]) == ("task", "side", "raise")
    assert tuple(gap.interval) == tuple(np.quantile(gap.resamples, [0.025, 0.975]))
    assert gap.seed == 20260731
    assert gap.strata["drawn"].loc["strategic surface"] == "alone"
    assert gap.strata.loc["deep", "drawn"] == "with anxious, brittle, disengaged, motivated novice"


def test_estimate_is_the_difference_of_means_over_cells() -> None:
    frame = published_like()
    gap = pe.contrast(frame, **OPTIONS)
    own = frame["profile"] == "strategic surface"
    assert gap.focal_mean == pytest.approx(frame.loc[own, "reward"].mean(), rel=RTOL)
    assert gap.comparison_mean == pytest.approx(frame.loc[~own, "reward"].mean(), rel=RTOL)
    assert gap.estimate == pytest.approx(gap.comparison_mean - gap.focal_mean, rel=1e-9)
    by_model = frame.groupby([own, "model"])["reward"].mean().unstack(0)
    np.testing.assert_allclose(gap.models["estimate"], by_model[False] - by_model[True], rtol=1e-9)


def test_models_together_are_the_mean_of_the_models_resample_by_resample() -> None:
    """Complete cells: the scalar contrast of a resample is the mean of the models' contrasts of the same resample."""
    frame = published_like(n_models=3)
    each = [pe.contrast(frame[frame["model"] == label], **OPTIONS).resamples for label in ("m00", "m01", "m02")]
    np.testing.assert_allclose(pe.contrast(frame, **OPTIONS).resamples, np.mean(each, axis=0), rtol=1e-10, atol=1e-13)


def test_one_stratum_a_list_and_weights_as_comparison() -> None:
    frame = published_like(n_models=2)
    means = frame.groupby("profile")["reward"].mean()
    one = pe.contrast(frame, **OPTIONS, comparison="deep")
    assert one.comparison_mean == pytest.approx(means["deep"], rel=RTOL)
    assert one.strata.index.tolist() == ["strategic surface", "deep"]
    both = pe.contrast(frame, **OPTIONS, comparison=["deep", "anxious"])
    pooled = frame.loc[frame["profile"].isin(["deep", "anxious"]), "reward"].mean()
    assert both.comparison_mean == pytest.approx(pooled, rel=RTOL)
    weighted = pe.contrast(frame, **OPTIONS, comparison={"deep": 3, "anxious": 1})
    assert weighted.comparison_mean == pytest.approx(0.75 * means["deep"] + 0.25 * means["anxious"], rel=RTOL)
    assert weighted.options["resample_within"] == "side" or (weighted.strata["drawn"] == "alone").all()
    assert "anxious (weight 0.25), deep (weight 0.75)" in weighted.summary()
    swapped = pe.contrast(frame, **{**OPTIONS, "focal": ["deep", "anxious"]}, comparison="strategic surface")
    assert swapped.estimate == pytest.approx(-both.estimate, rel=1e-9)


def test_resampling_within_strata_keeps_their_sizes() -> None:
    frame = published_like(n_models=1)
    size = 20_000
    options = {**OPTIONS, "n_resamples": size}
    within = pe.contrast(frame, **options, resample_within="stratum")
    own = frame.groupby("profile")["reward"].agg(["var", "size"])
    rest = own.drop("strategic surface")
    closed = (rest["var"] * (rest["size"] - 1)).sum() / rest["size"].sum() ** 2
    focal = own.loc["strategic surface"]
    closed += focal["var"] * (focal["size"] - 1) / focal["size"] ** 2
    assert within.closed_form_standard_error == pytest.approx(np.sqrt(closed), rel=1e-9)
    assert within.standard_error == pytest.approx(np.sqrt(closed), rel=4 / np.sqrt(2 * size))
    assert within.estimate == pytest.approx(pe.contrast(frame, **options).estimate, rel=RTOL)


def test_repeats_are_averaged_first() -> None:
    frame = published_like(n_models=2)
    runs = pd.concat([frame.assign(run=at, reward=frame["reward"] + 0.01 * at) for at in range(3)])
    gap = pe.contrast(runs, **OPTIONS, repeat="run")
    once = pe.contrast(frame.assign(reward=frame["reward"] + 0.01), **OPTIONS)
    np.testing.assert_allclose(gap.resamples, once.resamples, rtol=1e-9, atol=1e-12)
    thrice = pe.contrast(runs, **OPTIONS)
    np.testing.assert_allclose(thrice.resamples, once.resamples, rtol=1e-9, atol=1e-12)
    assert any("each counts, as an item of its own" in note for note in thrice.diagnostics)


def test_unequal_repeats_without_their_column_are_missing_rewards() -> None:
    frame = published_like(n_models=2)
    more = pd.concat([frame, frame[(frame["model"] == "m00") & (frame["task"] == "t003")]])
    with pytest.raises(MissingRewardsError, match=r"'m01' on 't003'[\s\S]*name their column with repeat="):
        pe.contrast(more, **OPTIONS)
    with pytest.raises(RepeatsError, match="'m00' on 't003'"):
        pe.contrast(more.assign(run=1), **OPTIONS, repeat="run")


def test_paired_conditions_are_differences_on_the_same_tasks() -> None:
    frame = conditions()
    gap = pe.contrast(frame, condition="prompt", focal="zero", comparison="few", n_resamples=5_000, rng=1)
    wide = frame.pivot_table(index=["task", "model"], columns="prompt", values="reward")
    difference = (wide["few"] - wide["zero"]).groupby("task").mean().to_numpy()
    assert gap.estimate == pytest.approx(difference.mean(), rel=1e-9)
    assert gap.robust_standard_error == pytest.approx(difference.std(ddof=1) / np.sqrt(24), rel=1e-9)
    assert gap.standard_error == pytest.approx(difference.std() / np.sqrt(24), rel=4 / np.sqrt(2 * 5_000))
    assert (gap.focal_mean, gap.comparison_mean) == pytest.approx((wide["zero"].mean(), wide["few"].mean()), rel=1e-9)
    by_model = (wide["few"] - wide["zero"]).groupby("model").mean()
    np.testing.assert_allclose(gap.models["estimate"], by_model, rtol=1e-9, atol=1e-12)
    assert gap.paired
    assert "the same tasks under both" in gap.methods_text()
    assert pe.contrast(frame, condition="prompt", stratum="stratum", focal="zero", comparison="few", rng=1).strata.shape[0] == 2


def test_a_condition_with_itself_and_equal_conditions() -> None:
    frame = conditions()
    with pytest.raises(DataError, match="the same condition"):
        pe.contrast(frame, condition="prompt", focal="zero", comparison="zero", rng=1)
    zero = frame[frame["prompt"] == "zero"]
    copies = pd.concat([zero, zero.assign(prompt="copy")])
    with pytest.warns(pe.exceptions.DegenerateBootstrapWarning, match="All resamples are equal"):
        gap = pe.contrast(copies, condition="prompt", focal="zero", rng=1)
    assert (gap.estimate, tuple(gap.interval), gap.p_value) == (0.0, (0.0, 0.0), 1.0)


def test_conditions_refuse_what_cannot_be_paired() -> None:
    frame = conditions()
    with pytest.raises(DataError, match="There are 2 other conditions to compare 'zero' with: 'few', 'frame'"):
        pe.contrast(frame, condition="prompt", focal="zero", rng=1)
    with pytest.raises(LabelError, match="no condition 'none'"):
        pe.contrast(frame, condition="prompt", focal="none", comparison="few", rng=1)
    lacking = frame[~((frame["prompt"] == "few") & (frame["task"] == "t05"))]
    with pytest.raises(MissingRewardsError, match=r"\('A', 'few'\) on 't05'"):
        pe.contrast(lacking, condition="prompt", focal="zero", comparison="few", rng=1)
    omitted = pe.contrast(lacking, condition="prompt", focal="zero", comparison="few", rng=1, missing="omit")
    without = frame[frame["task"] != "t05"]
    assert omitted.estimate == pytest.approx(
        pe.contrast(without, condition="prompt", focal="zero", comparison="few", rng=1).estimate, rel=1e-9
    )


def test_cluster_weights_and_items() -> None:
    frame = unequal()
    by_cell = pe.contrast(frame, "stratum", "x", item="item", n_resamples=200, rng=1)
    by_cluster = pe.contrast(frame, "stratum", "x", item="item", n_resamples=200, rng=1, weighting="cluster")
    means = frame.groupby(["stratum", "task"])["reward"].mean().groupby("stratum").mean()
    assert by_cluster.estimate == pytest.approx(means["y"] - means["x"], rel=1e-9)
    pooled = frame.groupby("stratum")["reward"].mean()
    assert by_cell.estimate == pytest.approx(pooled["y"] - pooled["x"], rel=1e-9)
    assert by_cell.estimate != pytest.approx(by_cluster.estimate, rel=1e-3)


@pytest.mark.parametrize("name", ["number", "category", "mixed"])
def test_labels_of_any_kind(name: str) -> None:
    frame = published_like(n_models=2)
    text = pe.contrast(frame, **OPTIONS)
    number = frame["task"].str[1:].astype(int)
    made = {"number": number, "category": frame["task"].astype("category"), "mixed": frame["task"].astype(object)}[name]
    if name == "mixed":
        made = made.where(number != 3, 3)
    gap = pe.contrast(frame.assign(task=made), **OPTIONS)
    if name != "mixed":  # "3" sorts before "t000", which gives the same draws to other tasks
        np.testing.assert_array_equal(gap.resamples, text.resamples)
    assert gap.estimate == pytest.approx(text.estimate, rel=RTOL)


@pytest.mark.parametrize("change", ["plain", "paired", "boundary", "unseeded"])
def test_round_trip_is_exact(change: str, tmp_path) -> None:
    if change == "paired":
        gap = pe.contrast(conditions(), condition="prompt", focal="zero", comparison="few", n_resamples=300, rng=1)
    elif change == "boundary":
        gap = pe.contrast(long({"x": [0.0, 1.0, 0.0], "y": [1.0] * 3}), "stratum", "x", n_resamples=300, rng=1)
    else:
        gap = pe.contrast(published_like(3), **{**OPTIONS, "rng": 1 if change == "plain" else None})
    again = pe.load(gap.save(tmp_path / "c.json"))
    assert isinstance(again, Contrast)
    assert again.resamples.tobytes() == gap.resamples.tobytes()
    assert again.interval == gap.interval
    assert again.recommended_interval == gap.recommended_interval
    for name in ("models", "strata", "missing", "boundary", "recommended_models"):
        pd.testing.assert_frame_equal(getattr(again, name), getattr(gap, name), check_exact=True, check_dtype=False)
    assert (again.summary(), again.methods_text(), again.to_latex()) == (gap.summary(), gap.methods_text(), gap.to_latex())
    assert again.to_dict() == gap.to_dict()


@pytest.mark.parametrize(
    ("field", "value"),
    [("resamples", [1.0]), ("seed", "one"), ("estimate", "0.1"), ("interval", {"low": 1.0}), ("models", {"labels": []})],
)
def test_a_changed_file_is_refused(field: str, value: Any, tmp_path) -> None:
    path = pe.contrast(published_like(1), **OPTIONS).save(tmp_path / "c.json")
    content = json.loads(path.read_text(encoding="utf-8"))
    content[field] = value
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(FileFormatError):
        pe.load(path)


def test_results_are_read_only() -> None:
    gap = pe.contrast(published_like(1), **OPTIONS)
    with pytest.raises(ValueError, match="read-only"):
        gap.resamples[0] = 0.0
    before = gap.models
    before["estimate"] = 0.0
    assert (gap.models["estimate"] != 0.0).all()


def test_labels_from_data_are_escaped() -> None:
    frame = published_like(2).replace({"profile": {"strategic surface": "50% of <b>_x_</b>"}, "model": {"m00": "a&b|c"}})
    gap = pe.contrast(frame, **{**OPTIONS, "focal": "50% of <b>_x_</b>"})
    assert r"50\% of $<$b$>$\_x\_$<$/b$>$" in gap.to_latex()
    assert r"a\&b\textbar{}c" in gap.to_latex()
    assert "<b>" not in gap.to_html()
    assert "50% of &lt;b&gt;_x_&lt;/b&gt;" in gap.to_html()
    assert r"a&b\|c" in gap.to_markdown()
    for command in (r"\toprule", r"\midrule", r"\bottomrule"):
        assert gap.to_latex().count(command) == 1


def test_forest_has_a_row_per_model_and_draws_the_interval() -> None:
    gap = pe.contrast(published_like(4), **OPTIONS)
    ax = gap.plot()
    labels = [text.get_text() for text in ax.get_yticklabels()]
    order = gap.models["estimate"].sort_values().index
    assert labels == ["all models", *order]
    drawn = [tuple(line.get_xdata()) for line in ax.lines if len(line.get_xdata()) == 2]
    assert tuple(gap.interval) in drawn
    assert tuple(gap.recommended_interval) in drawn
    assert len(pe.contrast(published_like(1), **OPTIONS).plot().get_yticklabels()) == 1


def test_histogram_holds_every_resample_and_figures_are_vectors_at_journal_size(tmp_path) -> None:
    gap = pe.contrast(published_like(1), **OPTIONS)
    ax = gap.plot_resamples()
    area = sum(patch.get_height() * patch.get_width() for patch in ax.patches)
    assert area == pytest.approx(1.0, rel=1e-9)
    for suffix in ("pdf", "svg"):
        path = plots.save_figure(ax, tmp_path / f"f.{suffix}", "single")
        assert path.stat().st_size > 1_000
    assert ax.get_figure().get_size_inches()[0] == pytest.approx(3.5)
    with pytest.raises(DataError, match="no vector file"):
        plots.save_figure(ax, tmp_path / "f.png")


REFUSED = {
    "no stratum": ({"stratum": None}, DataError, "stratum= is not given"),
    "no focal": ({"focal": None}, DataError, "focal= is not given. Expected one of: 'anxious'"),
    "unknown focal": ({"focal": "surface"}, LabelError, "There is no stratum 'surface' in column 'profile'"),
    "both sides": ({"comparison": ["strategic surface", "deep"]}, DataError, "'strategic surface' would be on both sides"),
    "twice": ({"comparison": ["deep", "deep"]}, DataError, "names a stratum twice"),
    "empty": ({"comparison": []}, DataError, "comparison is empty"),
    "weight 0": ({"comparison": {"deep": 0.0}}, DataError, "have to be above 0"),
    "column": ({"cluster": "tusk"}, LabelError, "cluster names 1 column that the table lacks: 'tusk'"),
    "same column": ({"cluster": "profile"}, DataError, "cluster and stratum both name the column 'profile'"),
    "method": ({"method": "studentized"}, DataError, "'studentised' or|method has to be one of"),
    "correction": ({"correction": "rao"}, DataError, "correction has to be one of 'rao-wu', 'canty-davison'"),
    "resamples": ({"n_resamples": 10}, DataError, "n_resamples has to be at least 100"),
    "level": ({"confidence_level": 95}, DataError, "Did you mean 0.95"),
    "seed": ({"rng": -1}, DataError, "rng has to be a whole number"),
    "weighting": ({"weighting": "items"}, DataError, "weighting has to be one of"),
    "within": ({"weighting": "stratum", "resample_within": "side"}, DataError, "which their weights forbid"),
}


@pytest.mark.parametrize(("change", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_refusals(change: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        pe.contrast(published_like(2), **{**OPTIONS, **change})
    assert len(str(caught.value).splitlines()) <= 3


@pytest.mark.parametrize("value", ["0.5 points", np.inf])
def test_rewards_have_to_be_finite_numbers(value: Any) -> None:
    frame = published_like(1).astype({"reward": object})
    frame.loc[4, "reward"] = value
    with pytest.raises(DataError, match="4"):
        pe.contrast(frame, **OPTIONS)


def test_other_inputs_are_refused() -> None:
    with pytest.raises(DataError, match="has to be a DataFrame with a row per reward; got list"):
        pe.contrast([1, 2], **OPTIONS)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="has no rows"):
        pe.contrast(published_like(1).iloc[:0], **OPTIONS)
    with pytest.raises(ClusterDesignError, match="without a stratum label in column 'profile'"):
        pe.contrast(published_like(1).replace({"profile": {"deep": None}}), **OPTIONS)


def test_a_model_without_any_task_of_a_side_has_no_contrast_but_does_not_spoil_the_others() -> None:
    frame = published_like(3)
    lacking = frame[~((frame["model"] == "m01") & (frame["profile"] == "strategic surface"))]
    with pytest.warns(pe.exceptions.UnbalancedModelsWarning, match="1 model with rewards on one side only.*'m01'") as caught:
        gap = pe.contrast(lacking, **OPTIONS, missing="omit")
    row = gap.models.loc["m01"]
    mean = gap.models["estimate"].mean()
    assert f"the models' own differences are {mean:.3f} on average" in str(caught[0].message)
    assert f"{mean:.3f} on average" in gap.methods_text()
    assert row[["focal_mean", "estimate", "low", "high", "p_value"]].isna().all()
    assert gap.models.drop(index="m01").notna().all().all()
    assert np.isfinite(gap.estimate)
    assert "m01" in gap.summary()


def test_large_designs_stay_within_blocks() -> None:
    assert pe.bootstrap.resampling.block_size(5_000) * 5_000 <= pe.bootstrap.resampling.BLOCK_CELLS
