"""The statement "lowest for k of m models": counts, their resamples by enumeration, ties, and what is refused."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from bootstrap_designs import published_like

import psychoedu as pe
from psychoedu.exceptions import ClusterDesignError, DataError, FileFormatError, LabelError, MissingRewardsError, ResamplingError

N = 20_000


def small() -> pd.DataFrame:
    """Return three models on two tasks of each of two kinds."""
    rewards = {"A": [0.1, 0.4, 0.3, 0.5], "B": [0.2, 0.2, 0.6, 0.1], "C": [0.9, 0.3, 0.3, 0.2]}
    return pd.DataFrame(
        [(task, "xxyy"[task], model, value) for model, values in rewards.items() for task, value in enumerate(values)],
        columns=["task", "kind", "model", "reward"],
    )


def test_counts_by_enumeration() -> None:
    rewards = small()
    found = pe.lowest_for(rewards, "kind", "x", rng=1, n_resamples=N)
    wide = rewards.pivot_table(index="task", columns="model", values="reward").to_numpy()
    counts, by_model = [], []
    for first in itertools.product((0, 1), repeat=2):
        for second in itertools.product((2, 3), repeat=2):
            below = wide[list(first)].mean(axis=0) < wide[list(second)].mean(axis=0) - 1e-9
            counts.append(int(below.sum()))
            by_model.append(below)
    assert (found.k, found.n_models) == (2, 3)
    expected = np.bincount(counts, minlength=4) / 16.0
    error = 4.0 * np.sqrt(expected * (1.0 - expected) / N) + 1e-12
    assert (np.abs(found.resampled.to_numpy() - expected) <= error).all()
    assert found.bias == pytest.approx(np.mean(counts) - 2.0, abs=0.03)
    assert found.standard_error == pytest.approx(np.std(counts), rel=0.02)
    np.testing.assert_allclose(found.by_model["probability"], np.mean(by_model, axis=0), atol=0.015)
    assert found.by_model["probability"].sum() == pytest.approx(found.k + found.bias, rel=1e-12)


def test_exceptions_are_named_with_what_is_lowest_for_them() -> None:
    found = pe.lowest_for(small(), "kind", "x", rng=1, n_resamples=500)
    assert list(found.exceptions.index) == ["C"]
    row = found.exceptions.loc["C"]
    assert row["lowest"] == "y"
    assert (row["lowest_mean"], row["focal_mean"]) == (pytest.approx(0.25), pytest.approx(0.6))
    assert row["gap"] == pytest.approx(0.35)
    assert "x is the lowest of 2 strata of kind for 2 of 3 models" in found.sentence()
    assert found.sentence().endswith("exception: C (y lowest).")


def test_means_are_those_of_pandas() -> None:
    rewards = published_like()
    found = pe.lowest_for(rewards, "profile", "strategic surface", rng=1, n_resamples=500)
    means = rewards.pivot_table(index="model", columns="profile", values="reward")
    np.testing.assert_allclose(found.means, means, rtol=1e-12)
    assert found.k == (means.idxmin(axis=1) == "strategic surface").sum()
    np.testing.assert_array_equal(found.by_model["lowest"], means.idxmin(axis=1))
    counts = means.idxmin(axis=1).value_counts().reindex(found.strata.index, fill_value=0)
    np.testing.assert_array_equal(found.strata["k"], counts)
    assert found.strata["k"].sum() == 17
    assert found.strata["mean"].is_monotonic_increasing


def test_interval_holds_the_level_and_the_distribution_sums_to_1() -> None:
    found = pe.lowest_for(published_like(), "profile", "strategic surface", rng=1, n_resamples=2000, confidence_level=0.9)
    assert found.resampled.sum() == pytest.approx(1.0, rel=1e-12)
    assert found.resampled.loc[found.low : found.high].sum() >= 0.9
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1.0, rtol=1e-12)
    row = found.strata.loc["strategic surface"]
    assert (row["low"], row["high"], row["expected"]) == (found.low, found.high, pytest.approx(found.k + found.bias))


def test_ties_are_counted_apart() -> None:
    rewards = small()
    rewards.loc[(rewards["model"] == "A") & (rewards["kind"] == "y"), "reward"] = [0.4, 0.1]
    found = pe.lowest_for(rewards, "kind", "x", rng=1, n_resamples=300)
    assert (found.k, found.n_tied) == (1, 1)
    assert found.by_model.loc["A", ["lowest", "gap"]].tolist() == ["x and y", 0.0]
    assert list(found.exceptions.index) == ["A", "C"]
    assert "(1 more tied)" in found.summary()


def test_a_stratum_far_below_is_always_lowest() -> None:
    rewards = published_like()
    rewards["reward"] -= 5.0 * (rewards["profile"] == "deep")
    found = pe.lowest_for(rewards, "profile", "deep", rng=1, n_resamples=300)
    assert (found.k, found.low, found.high, found.bias, found.standard_error) == (17, 17, 17, 0.0, 0.0)
    assert len(found.exceptions) == 0
    assert "exception" not in found.sentence()


def test_constants_and_order_of_rows_change_nothing() -> None:
    rewards = published_like()
    found = pe.lowest_for(rewards, "profile", "anxious", rng=3, n_resamples=500)
    shuffled = pe.lowest_for(rewards.sample(frac=1.0, random_state=1), "profile", "anxious", rng=3, n_resamples=500, n_jobs=2)
    assert json.dumps(shuffled.to_dict()) == json.dumps(found.to_dict())
    moved = pe.lowest_for(rewards.assign(reward=rewards["reward"] + 2.0), "profile", "anxious", rng=3, n_resamples=500)
    pd.testing.assert_series_equal(moved.resampled, found.resampled)
    assert moved.k == found.k


def test_without_focal_the_lowest_is_chosen_and_it_says_so() -> None:
    found = pe.lowest_for(published_like(), "profile", rng=1, n_resamples=300)
    assert found.focal == found.strata["k"].idxmax()
    assert "chosen because it is lowest" in found.methods_text()


def test_a_design_and_a_correction() -> None:
    design = pe.ClusterDesign.from_long(published_like(), stratum="profile")
    plain = pe.lowest_for(design, focal="strategic surface", rng=1, n_resamples=5000)
    wider = pe.lowest_for(design, focal="strategic surface", rng=1, n_resamples=5000, correction="rao-wu")
    assert plain.by == "profile"
    assert wider.standard_error > plain.standard_error
    assert any("only 13 tasks" in note for note in plain.diagnostics)
    assert not any("only 13 tasks" in note for note in wider.diagnostics)


def test_what_is_refused() -> None:
    rewards = small()
    with pytest.raises(DataError, match="by is not given"):
        pe.lowest_for(rewards, focal="x")
    with pytest.raises(LabelError, match="There is no stratum 'z' in column 'kind'"):
        pe.lowest_for(rewards, "kind", "z")
    with pytest.raises(ClusterDesignError, match="There is one stratum in kind, 'x'"):
        pe.lowest_for(rewards[rewards["kind"] == "x"], "kind", "x")
    with pytest.raises(ClusterDesignError, match="1 stratum with one task: 'x'"):
        pe.lowest_for(rewards[rewards["task"] != 0], "kind", "x")
    certain = pe.lowest_for(rewards[rewards["task"] != 0], "kind", "x", singleton="certainty", rng=1, n_resamples=200)
    assert any("taken as certain" in note for note in certain.diagnostics)
    hole = rewards[~((rewards["model"] == "B") & (rewards["kind"] == "x"))]
    with pytest.raises(MissingRewardsError, match="2 rewards missing"):
        pe.lowest_for(hole, "kind", "x")
    with pytest.raises(MissingRewardsError, match="1 mean without any reward: 'B in x'"):
        pe.lowest_for(hole, "kind", "x", missing="omit")
    with pytest.raises(ResamplingError, match="some model in 'x', most often 'B'"):
        pe.lowest_for(
            rewards.drop(rewards.index[(rewards["model"] == "B") & (rewards["task"] == 0)]), "kind", "x", missing="omit"
        )
    with pytest.raises(DataError, match="its strata are compared"):
        pe.lowest_for(pe.ClusterDesign.from_long(rewards, stratum="kind"), "kind", "x")


def test_reports_escape_labels_and_hold_everything() -> None:
    rewards = small().replace({"kind": {"x": "a_b & <c>|"}})
    found = pe.lowest_for(rewards, "kind", "a_b & <c>|", rng=20260731, n_resamples=300)
    for text in (found.summary(), found.methods_text(), found.to_markdown(), found.to_latex(), found.to_html()):
        for part in ("20260731", "300", "95%", "2 of 3 models", "y 2", pe.__version__):
            assert part in text.replace("\\", ""), part
    assert r"a\_b \& $<$c$>$\textbar{}" in found.to_latex(label="tab:l")
    assert "a_b &amp; &lt;c&gt;|" in found.to_html()
    assert found._repr_html_() == found.to_html()
    assert repr(found) == f"Lowest('a_b & <c>|' for 2 of 3 models, {found.low} to {found.high})"


def test_saved_and_read_back(tmp_path: object) -> None:
    found = pe.lowest_for(published_like(), "profile", "anxious", rng=1, n_resamples=300)
    again = pe.load(found.save(tmp_path / "lowest.json"))
    assert isinstance(again, pe.Lowest)
    assert again.to_dict() == found.to_dict()
    assert again.to_markdown() == found.to_markdown()
    content = found.to_dict()
    content["focal"] = "nobody"
    with pytest.raises(FileFormatError, match="'focal'"):
        pe.Lowest.from_dict(content)


def test_figure() -> None:
    found = pe.lowest_for(published_like(), "profile", "strategic surface", rng=1, n_resamples=300)
    ax = found.plot()
    assert sum(bar.get_height() for bar in ax.patches) == pytest.approx(1.0)
    assert found.plot(ax=ax) is ax
