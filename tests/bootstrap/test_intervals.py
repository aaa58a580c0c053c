"""Intervals and corrections: scipy and statsmodels as references, closed forms, and edges."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from bootstrap_designs import long, published_like, unequal
from scipy import stats
from statsmodels.api import OLS, add_constant
from statsmodels.stats.proportion import proportion_confint

import psychoedu as pe
from psychoedu.bootstrap import intervals, resampling
from psychoedu.bootstrap.resampling import Pool
from psychoedu.bootstrap.streams import seed_of
from psychoedu.proportions import wilson_interval

RTOL = 1e-12
REFERENCE_RTOL = 1e-9
SAMPLES = (
    np.array([0.2137, 0.5291, 0.4073, 0.9431, 0.7719, 0.3361]),
    np.array([0.6113, 0.8219, 0.1327, 0.9541, 0.5087, 0.5573, 0.7331]),
)
"""Thirteen tasks; no two resamples meet by chance, which scipy would take for ties or not, as rounding has it."""


def difference(focal: np.ndarray, rest: np.ndarray, axis: int = -1) -> np.ndarray:
    return rest.mean(axis=axis) - focal.mean(axis=axis)


@pytest.mark.parametrize(("ours", "theirs"), [("percentile", "percentile"), ("basic", "basic"), ("bca", "BCa")])
def test_limits_are_those_of_scipy_on_the_same_resamples(ours: str, theirs: str) -> None:
    """scipy.stats.bootstrap takes a distribution that was drawn before: ours."""
    frame = long({"x": list(SAMPLES[0]), "y": list(SAMPLES[1])})
    gap = pe.contrast(frame, "stratum", "x", n_resamples=2_000, method=ours, rng=1)
    before = stats.bootstrap(SAMPLES, difference, n_resamples=2, vectorized=True, method="percentile", rng=1)
    before.bootstrap_distribution = gap.resamples
    with np.errstate(all="ignore"):
        expected = stats.bootstrap(
            SAMPLES, difference, n_resamples=0, bootstrap_result=before, vectorized=True, method=theirs
        ).confidence_interval
    assert tuple(gap.interval) == pytest.approx((expected.low, expected.high), rel=REFERENCE_RTOL)


def test_studentised_limits_are_the_definition_written_out() -> None:
    """Each resample's own cluster-robust error, drawn again from the same stream."""
    frame = long({"x": list(SAMPLES[0]), "y": list(SAMPLES[1])})
    frame["task"] = range(13)  # in the order of their labels
    gap = pe.contrast(frame, "stratum", "x", n_resamples=900, method="studentised", rng=4)
    generator = seed_of(4).generator(0)
    drawn = [sample[resampling.draw_places(generator, 900, len(sample))] for sample in SAMPLES]
    errors = np.sqrt(sum(values.var(axis=1, ddof=1) / values.shape[1] for values in drawn))
    estimate = difference(*SAMPLES)
    error = np.sqrt(sum(values.var(ddof=1) / len(values) for values in SAMPLES))
    t = (drawn[1].mean(axis=1) - drawn[0].mean(axis=1) - estimate) / errors
    high, low = np.quantile(t, [0.025, 0.975], method="inverted_cdf")
    assert tuple(gap.interval) == pytest.approx((estimate - low * error, estimate - high * error), rel=REFERENCE_RTOL)
    assert gap.robust_standard_error == pytest.approx(error, rel=RTOL)


def test_t_interval_is_welch_s() -> None:
    frame = long({"x": list(SAMPLES[0]), "y": list(SAMPLES[1])})
    gap = pe.contrast(frame, "stratum", "x", n_resamples=200, method="t", rng=1)
    welch = stats.ttest_ind(SAMPLES[1], SAMPLES[0], equal_var=False)
    expected = welch.confidence_interval(0.95)
    assert gap.df == pytest.approx(welch.df, rel=REFERENCE_RTOL)
    assert tuple(gap.interval) == pytest.approx((expected.low, expected.high), rel=REFERENCE_RTOL)


@pytest.mark.parametrize("make", [published_like, unequal])
def test_analytic_error_is_that_of_statsmodels_clustered_by_task(make) -> None:
    """OLS of every cell on the side, cluster-robust without correction: our closed form, denominator n."""
    frame = make()
    name = "profile" if "profile" in frame else "stratum"
    focal = "strategic surface" if name == "profile" else "x"
    item = "item" if "item" in frame else None
    gap = pe.contrast(frame, name, focal, item=item, n_resamples=200, rng=1)
    side = (frame[name] != focal).to_numpy(dtype=float)
    groups = pd.factorize(frame["task"])[0]
    fit = OLS(frame["reward"].to_numpy(dtype=float), add_constant(side))
    plain = fit.fit(cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False})
    assert gap.estimate == pytest.approx(plain.params[1], rel=REFERENCE_RTOL)
    assert gap.focal_mean == pytest.approx(plain.params[0], rel=REFERENCE_RTOL)
    assert gap.closed_form_standard_error == pytest.approx(plain.bse[1], rel=REFERENCE_RTOL)


@pytest.mark.parametrize(("successes", "n"), [(0, 7), (7, 7), (3, 10), (1, 400)])
def test_proportion_limits_are_those_of_statsmodels(successes: int, n: int) -> None:
    wilson, exact = (proportion_confint(successes, n, 0.05, method) for method in ("wilson", "beta"))
    assert tuple(map(float, wilson_interval(np.array(successes / n), n))) == pytest.approx(wilson, rel=REFERENCE_RTOL, abs=RTOL)
    expected = [0.0 if successes == 0 else exact[0], 1.0 if successes == n else exact[1]]
    assert intervals.clopper_pearson_limits(successes, n, 0.95) == pytest.approx(expected, rel=REFERENCE_RTOL, abs=RTOL)


@pytest.mark.parametrize("size", [1, 2, 3, 999, 1_000])
def test_quantiles_are_numpy_s(size: int) -> None:
    values = np.random.default_rng(size).standard_normal((size, 3))
    levels = np.array([0.0, 0.025, 0.4, 0.975, 1.0])
    np.testing.assert_array_equal(intervals.quantiles(values, levels), np.quantile(values, levels, axis=0))


def test_counts_are_those_of_the_places_and_have_the_right_mean() -> None:
    n, draws, size = 7, 6, 20_000
    counts = resampling.draw_counts(np.random.default_rng(1), size, n, draws)
    places = resampling.draw_places(np.random.default_rng(1), size, n, draws)
    expected = (places[:, :, None] == np.arange(n)).sum(axis=1)
    np.testing.assert_array_equal(counts, expected)
    error = np.sqrt(draws / n * (1 - 1 / n) / size)
    np.testing.assert_allclose(counts.mean(axis=0), draws / n, atol=4 * error)


def test_more_clusters_than_two_bytes_count() -> None:
    counts = resampling.draw_counts(np.random.default_rng(1), 2, 70_000)
    assert counts.shape == (2, 70_000)
    assert counts.sum(axis=1).tolist() == [70_000, 70_000]
    assert counts[:, 65_536:].sum() > 0


def test_variance_within_a_resample_of_the_whole_sample_is_the_robust_one() -> None:
    """A resample that drew every cluster once has the linearised variance of the data."""
    rng = np.random.default_rng(9)
    a, b = rng.random((5, 2)), rng.integers(1, 4, (5, 2)).astype(float)
    pools = [Pool(a, b, 0, 5)]
    coefficient = np.array([1.0])

    class Once:
        def integers(self, low: int, high: int, size: tuple[int, int], dtype: type) -> np.ndarray:
            return np.tile(np.arange(high, dtype=dtype), (size[0], 1))

    values, variances = resampling.replicate(Once(), 1, pools, coefficient, with_variance=True)  # type: ignore[arg-type]
    np.testing.assert_allclose(values[0], a.sum(axis=0) / b.sum(axis=0), rtol=RTOL)
    closed = resampling.closed_form_variances(pools, coefficient)[0]
    assert variances is not None
    np.testing.assert_allclose(variances[0], closed * 5 / 4, rtol=1e-10)


def test_canty_davison_is_exact_for_equal_strata_and_rao_wu_for_all() -> None:
    values = {"x": [0.2, 0.9, 0.4], "y": [0.6, 0.1, 0.8]}
    size = 40_000
    for correction in ("rao-wu", "canty-davison"):
        gap = pe.contrast(long(values), "stratum", "x", correction=correction, n_resamples=size, rng=2)
        assert gap.standard_error == pytest.approx(gap.robust_standard_error, rel=4 / np.sqrt(2 * size))
        assert correction in gap.summary()
    unequal_sizes = {"x": [0.2, 0.9], "y": list(SAMPLES[1])}
    gap = pe.contrast(long(unequal_sizes), "stratum", "x", correction="rao-wu", n_resamples=size, rng=2)
    # two clusters drawn once: a two-valued error, whose kurtosis is below the normal one
    assert gap.standard_error == pytest.approx(gap.robust_standard_error, rel=4 / np.sqrt(2 * size))
    harmonic = 2 / (1 / 2 + 1 / 7)
    plain = pe.contrast(long(unequal_sizes), "stratum", "x", n_resamples=size, rng=2)
    scaled = pe.contrast(long(unequal_sizes), "stratum", "x", correction="canty-davison", n_resamples=size, rng=2)
    ratio = scaled.standard_error / plain.standard_error
    assert ratio == pytest.approx(np.sqrt(harmonic / (harmonic - 1)), rel=REFERENCE_RTOL)


def test_holm_ignores_what_is_not_known() -> None:
    found = intervals.holm(np.array([0.01, np.nan, 0.04]))
    np.testing.assert_allclose(found, [0.02, np.nan, 0.04], rtol=RTOL)


def test_boundary_gives_proportion_intervals_where_everything_is_right() -> None:
    frame = long({"x": [0.0, 1.0, 0.0, 1.0], "y": [1.0] * 6})
    gap = pe.contrast(frame, "stratum", "x", n_resamples=200, rng=1)
    assert gap.boundary.index.tolist() == ["comparison"]
    row = gap.boundary.iloc[0]
    assert (row["wilson_low"], row["wilson_high"]) == pytest.approx(proportion_confint(6, 6, 0.05, "wilson"), rel=REFERENCE_RTOL)
    assert "everything is right on the comparison side" in gap.summary()
    assert "Clopper-Pearson [0.541, 1.000]" in gap.to_markdown().replace("\\", "")
    assert pe.contrast(published_like(1), "profile", "deep", n_resamples=200, rng=1).boundary.empty


def test_studentised_falls_back_where_resamples_have_no_spread() -> None:
    frame = long({"x": [0.2, 0.9], "y": [0.6, 0.1]})
    with pytest.warns(pe.exceptions.DegenerateBootstrapWarning, match="studentised interval does not exist"):
        gap = pe.contrast(frame, "stratum", "x", n_resamples=400, method="studentised", rng=1)
    assert gap.interval.method == "percentile"
    assert gap.recommended_interval.method == "t"
    assert "does not exist with so few clusters" in gap.summary()
