"""The bootstrap of any statistic: weights and indices, workers, failures; and that the package can be called."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import numpy as np
import pandas as pd
import pytest
from bootstrap_designs import unequal
from scipy import stats

import psychoedu as pe
from psychoedu.bootstrap.anything import BLOCK, bootstrap, draw_block, layout_of
from psychoedu.bootstrap.streams import seed_of
from psychoedu.exceptions import ClusterDesignError, DataError, DegenerateBootstrapWarning, ResamplingError

VALUES = np.array([0.2, 0.6, 0.5, 0.9, 0.1, 0.4, 0.8])
STRATA = ["A", "A", "A", "B", "B", "B", "B"]


def weighted_mean(weights: np.ndarray) -> float:
    return float(np.average(VALUES, weights=weights))


def mean_of(places: np.ndarray) -> float:
    return float(VALUES[places].mean())


def test_the_package_is_a_package_and_a_verb() -> None:
    package = importlib.import_module("psychoedu.bootstrap")
    assert package is pe.bootstrap
    assert callable(package)
    assert importlib.import_module("psychoedu.bootstrap.design").ClusterDesign is pe.ClusterDesign
    assert inspect.signature(pe.bootstrap) == inspect.signature(bootstrap)
    assert inspect.ismodule(pe.bootstrap)
    one, other = (call(weighted_mean, STRATA, n_resamples=100, rng=1) for call in (pe.bootstrap, bootstrap))
    assert one.resamples.tobytes() == other.resamples.tobytes()


def test_weights_and_indices_are_the_same_resamples() -> None:
    by_weight = pe.bootstrap(weighted_mean, STRATA, n_resamples=300, rng=1)
    by_place = pe.bootstrap(mean_of, STRATA, takes="indices", n_resamples=300, rng=1)
    np.testing.assert_allclose(by_weight.resamples, by_place.resamples, rtol=1e-12)
    many = pe.bootstrap(lambda weights: weights @ VALUES / weights.sum(axis=1), STRATA, vectorized=True, n_resamples=300, rng=1)
    np.testing.assert_allclose(many.resamples, by_weight.resamples, rtol=1e-12)
    assert by_weight.resamples.shape == (300, 1)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_b7_same_bytes_at_any_number_of_workers(n_jobs: int) -> None:
    joblib = pytest.importorskip("joblib")
    values = VALUES

    def statistic(weights: np.ndarray) -> float:  # local, so that it travels to other processes by value
        return float(np.average(values, weights=weights))

    alone = pe.bootstrap(statistic, STRATA, n_resamples=4 * BLOCK + 7, rng=20260731)
    together = pe.bootstrap(statistic, STRATA, n_resamples=4 * BLOCK + 7, rng=20260731, n_jobs=n_jobs)
    assert alone.resamples.tobytes() == together.resamples.tobytes()
    with joblib.parallel_config(backend="threading", n_jobs=n_jobs):
        configured = pe.bootstrap(statistic, STRATA, n_resamples=4 * BLOCK + 7, rng=20260731)
    assert alone.resamples.tobytes() == configured.resamples.tobytes()


def test_standard_error_of_a_stratified_mean_meets_its_closed_form() -> None:
    size = 20_000
    found = pe.bootstrap(weighted_mean, STRATA, n_resamples=size, rng=3, vectorized=False)
    expected = np.sqrt((3 * VALUES[:3].var() + 4 * VALUES[3:].var()) / 49)
    assert found.standard_error.iloc[0] == pytest.approx(expected, rel=4 / np.sqrt(2 * size))
    assert found.bias.iloc[0] == pytest.approx(0.0, abs=4 * expected / np.sqrt(size))


def test_strata_keep_their_sizes_and_rao_wu_its_weights() -> None:
    layout = layout_of(STRATA, "rao-wu")
    weights = draw_block(layout, seed_of(1), 0, 50, "weights")
    np.testing.assert_allclose(weights[:, :3].sum(axis=1), 3.0, rtol=1e-12)
    np.testing.assert_allclose(weights[:, 3:].sum(axis=1), 4.0, rtol=1e-12)
    assert set(np.unique(weights[:, :3] / 1.5)) <= {0.0, 1.0, 2.0}
    with pytest.raises(DataError, match="which indices cannot say"):
        pe.bootstrap(mean_of, STRATA, takes="indices", correction="rao-wu")


def test_bca_is_scipy_s_on_the_same_resamples() -> None:
    values = np.array([0.2137, 0.5291, 0.4073, 0.9431, 0.7719, 0.3361, 0.6113])  # no resamples meet by chance
    found = pe.bootstrap(lambda weights: float(np.average(values, weights=weights)), 7, n_resamples=500, method="bca", rng=5)
    before = stats.bootstrap((values,), np.mean, n_resamples=2, method="percentile", rng=1)
    before.bootstrap_distribution = found.resamples[:, 0]
    expected = stats.bootstrap((values,), np.mean, n_resamples=0, bootstrap_result=before, method="BCa").confidence_interval
    assert tuple(found.interval.loc["statistic", ["low", "high"]]) == pytest.approx(tuple(expected), rel=1e-9)
    by_place = pe.bootstrap(lambda places: float(values[places].mean()), 7, takes="indices", n_resamples=500, method="bca", rng=5)
    np.testing.assert_allclose(by_place.limits, found.limits, rtol=1e-9)


def test_b17_bca_without_resamples_on_both_sides() -> None:
    with pytest.warns(DegenerateBootstrapWarning, match="BCa interval does not exist for 1 component"):
        found = pe.bootstrap(lambda weights: float(weights.max()), 30, n_resamples=200, method="bca", rng=1)
    assert found.methods == ("percentile",)
    assert "percentile" in found.summary()


def test_named_results_keep_their_names() -> None:
    by_name = pe.bootstrap(lambda weights: {"mean": weighted_mean(weights), "n": weights.sum()}, STRATA, n_resamples=70, rng=1)
    assert by_name.estimate.index.tolist() == ["mean", "n"]
    assert by_name.standard_error["n"] == 0.0
    series = pe.bootstrap(
        lambda weights: pd.Series([1.0, weighted_mean(weights)], index=["one", "mean"]), 7, n_resamples=70, rng=1
    )
    assert series.to_frame().index.tolist() == ["one", "mean"]
    assert pe.bootstrap(lambda weights: VALUES[:2] * weights.max(), 7, n_resamples=70, rng=1).names.tolist() == [0, 1]


def failing(share: float) -> Any:
    """Return a statistic that raises on about this share of resamples, by how often the first unit was drawn."""
    limit = 4 if share < 0.05 else 2

    def statistic(weights: np.ndarray) -> float:
        if weights[0] >= limit:
            raise ValueError("an item is constant\nand more")
        return weighted_mean(weights)

    return statistic


def test_b18_failures_are_counted_and_named() -> None:
    found = pe.bootstrap(failing(0.02), 7, n_resamples=1_000, rng=1)
    assert 0 < found.n_failed <= 50
    assert len(found.resamples) == 1_000 - found.n_failed
    assert set(found.failures["reason"]) == {"ValueError: an item is constant"}
    assert f"{found.n_failed} resamples failed and are left out" in found.summary()
    assert f"{found.n_failed} x ValueError: an item is constant" in found.summary()
    alone = draw_block(layout_of(7), seed_of(1), 0, BLOCK, "weights")
    first = found.failures["resample"][found.failures["resample"] < BLOCK].tolist()
    assert first == np.flatnonzero(alone[:, 0] >= 4).tolist()


def test_b18_more_than_five_percent_are_refused() -> None:
    with pytest.raises(ResamplingError, match=r"failed on \d+ of 1,000 resamples: \d+ x ValueError: an item is constant"):
        pe.bootstrap(failing(0.2), 7, n_resamples=1_000, rng=1)
    with pytest.raises(ResamplingError, match="nan in 'statistic'"):
        pe.bootstrap(lambda weights: np.nan if weights[0] == 0 else 1.0, 7, n_resamples=1_000, rng=1)


def test_an_estimate_that_does_not_exist_is_no_failure_and_an_error_on_the_data_is_raised() -> None:
    found = pe.bootstrap(lambda weights: np.array([np.nan, weighted_mean(weights)]), 7, n_resamples=100, rng=1)
    assert np.isnan(found.estimate.iloc[0])
    assert found.n_failed == 0

    def broken(weights: np.ndarray) -> float:
        raise ZeroDivisionError("always")

    with pytest.raises(ZeroDivisionError, match="always"):
        pe.bootstrap(broken, 7, n_resamples=100)


def test_a_design_is_resampled_by_cluster() -> None:
    frame = unequal()
    design = pe.ClusterDesign.from_long(frame, stratum="stratum", item="item")

    def ratio(weights: np.ndarray) -> np.ndarray:
        return (weights @ design.sums) / (weights @ design.sizes)

    found = pe.bootstrap(ratio, design, n_resamples=200, rng=1)
    np.testing.assert_allclose(found.estimate, frame.groupby("model")["reward"].mean(), rtol=1e-12)
    assert found.sizes.to_dict() == {"x": 12, "y": 18}


def test_singletons() -> None:
    strata = ["A", "B", "B", "B"]
    with pytest.raises(ClusterDesignError, match="1 stratum with one unit: 'A'"):
        pe.bootstrap(lambda weights: weights.sum(), strata)
    found = pe.bootstrap(lambda weights: weights[0], strata, singleton="certainty", n_resamples=70, rng=1)
    assert (found.resamples == 1.0).all()
    assert "taken as certain" in found.summary()
    by_place = pe.bootstrap(lambda places: float((places == 0).sum()), strata, takes="indices", singleton="certainty", rng=1)
    assert (by_place.resamples == 1.0).all()
    with pytest.raises(ClusterDesignError, match="the only stratum"):
        pe.bootstrap(lambda weights: weights.sum(), 1)


REFUSED = {
    "statistic": ((3, 7), {}, "statistic has to be a function"),
    "design": ((weighted_mean, {"a": 1}), {}, "design has to be a ClusterDesign"),
    "table": ((weighted_mean, pd.DataFrame({"a": [1]})), {}, "ClusterDesign.from_long"),
    "empty": ((weighted_mean, []), {}, "nothing to resample"),
    "blank": ((weighted_mean, ["a", None, "a"]), {}, "1 unit without a stratum"),
    "takes": ((weighted_mean, 7), {"takes": "rows"}, "takes has to be one of"),
    "method": ((weighted_mean, 7), {"method": "t"}, "method has to be one of"),
    "matrix": ((lambda weights: np.eye(2), 7), {}, r"shape \(2, 2\)"),
}


@pytest.mark.parametrize(("arguments", "options", "message"), REFUSED.values(), ids=REFUSED)
def test_refusals(arguments: Any, options: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        pe.bootstrap(*arguments, **options)
    assert len(str(caught.value).splitlines()) <= 3


@pytest.mark.parametrize("statistic", [weighted_mean, failing(0.02)], ids=["all", "some failed"])
def test_round_trip_is_exact(statistic: Any, tmp_path) -> None:
    found = pe.bootstrap(statistic, 7, n_resamples=200, rng=None)
    again = pe.load(found.save(tmp_path / "b.json"))
    assert again.resamples.tobytes() == found.resamples.tobytes()
    assert again.summary() == found.summary()
    assert again.to_dict() == found.to_dict()
    assert again.seed == found.seed
