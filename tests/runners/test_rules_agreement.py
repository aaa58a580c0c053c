"""Kappa, alpha and intraclass correlations against published tables, another program and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats import inter_rater

from psychoedu.exceptions import DataError
from psychoedu.runners.rules.agreement import cohens_kappa, fleiss_kappa, intraclass, krippendorff_alpha
from psychoedu.standard_setting.agreement import intraclass_correlations

EXACT = 1e-12
NAN = math.nan

SHROUT_FLEISS = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7.0]])
"""Shrout & Fleiss (1979), table 2: six targets, four judges."""

FLEISS = np.array(
    [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ]
)
"""Worked example of Fleiss' kappa in Wikipedia's article of that name: 10 subjects, 14 raters; kappa 0.210."""

KRIPPENDORFF = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
).T
"""Krippendorff (2011), section C: four observers, twelve units, missing data."""


def rating_pairs(seed: int, n: int = 60) -> tuple[list[int], list[int]]:
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 4, n)
    return first.tolist(), np.clip(first + rng.integers(-1, 2, n), 0, 3).tolist()


@pytest.mark.parametrize(("weights", "theirs"), [("none", None), ("linear", "linear"), ("quadratic", "quadratic")])
@pytest.mark.parametrize("seed", range(5))
def test_kappa_and_its_error_are_those_of_statsmodels(weights: str, theirs: str | None, seed: int) -> None:
    first, second = rating_pairs(seed)
    table = np.zeros((4, 4))
    np.add.at(table, (first, second), 1)
    reference = inter_rater.cohens_kappa(table, wt=theirs)
    found = cohens_kappa(first, second, range(4), weights)
    assert found.value == pytest.approx(reference.kappa, rel=1e-10)
    assert found.standard_error == pytest.approx(math.sqrt(reference.var_kappa), rel=1e-10)
    assert (found.low, found.high) == pytest.approx((reference.kappa_low, reference.kappa_upp), rel=1e-10)


def test_kappa_of_a_table_by_hand() -> None:
    first = ["yes"] * 25 + ["no"] * 25
    second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    found = cohens_kappa(first, second)
    assert (found.observed, found.expected, found.n) == (0.7, 0.5, 50)
    assert found.value == pytest.approx(0.4, rel=EXACT)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=30))
def test_quadratic_kappa_is_a_concordance_of_moments(pairs: list[tuple[int, int]]) -> None:
    """1 - mean (x - y)^2 / (var x + var y + (mean x - mean y)^2): Fleiss & Cohen (1973), with divisors n."""
    x, y = np.array(pairs, dtype=np.float64).T
    chance = x.var() + y.var() + (x.mean() - y.mean()) ** 2
    found = cohens_kappa(x.tolist(), y.tolist(), [0.0, 1.0, 2.0, 3.0], "quadratic").value
    if chance == 0.0:
        assert math.isnan(found)
    else:
        assert found == pytest.approx(1.0 - ((x - y) ** 2).mean() / chance, abs=1e-9)


def test_kappa_knows_distances_and_orders_of_categories() -> None:
    # 0 and 3 are far apart as numbers, next to each other as the only categories that occur
    x, y = [0, 0, 3, 3], [0, 3, 3, 3]
    assert cohens_kappa(x, y, weights="linear").value == pytest.approx(
        cohens_kappa(x, y, [0, 1, 2, 3], "linear").value, rel=EXACT
    )
    low, middle, high = ["low", "low", "high", "mid"], ["low", "mid", "high", "mid"], ["low", "mid", "high"]
    assert cohens_kappa(low, middle, high, "linear").value > cohens_kappa(low, middle, ["low", "high", "mid"], "linear").value


def test_pairs_with_a_missing_rating_are_left_out() -> None:
    assert cohens_kappa([1, 2, None, 2, NAN], [1, 2, 2, NAN, 1], [1, 2]).n == 2
    empty = cohens_kappa([None], [1])
    assert empty.n == 0
    assert math.isnan(empty.value)


def test_kappa_is_unknown_for_one_category() -> None:
    found = cohens_kappa(["A"] * 5, ["A"] * 5, ["A", "B"])
    assert math.isnan(found.value)
    assert (found.observed, found.expected) == (1.0, 1.0)


def test_kappa_refuses_what_is_no_pair() -> None:
    with pytest.raises(DataError, match="have 1 and 2 ratings"):
        cohens_kappa(["A"], ["A", "B"])
    with pytest.raises(DataError, match=r"Ratings outside the categories 'A', 'B': 'C'\."):
        cohens_kappa(["A"], ["C"], ["A", "B"])
    with pytest.raises(DataError, match="a category twice"):
        cohens_kappa(["A"], ["A"], ["A", "A"])
    with pytest.raises(DataError, match="different types"):
        cohens_kappa(["A", 1], ["A", 1])


def test_fleiss_kappa_of_the_published_example() -> None:
    assert fleiss_kappa(FLEISS) == pytest.approx(0.210, abs=5e-4)
    assert fleiss_kappa(FLEISS) == pytest.approx(inter_rater.fleiss_kappa(FLEISS, method="fleiss"), rel=1e-10)


def test_fleiss_kappa_is_unknown_or_refused() -> None:
    assert math.isnan(fleiss_kappa(np.zeros((0, 3))))
    assert math.isnan(fleiss_kappa(np.array([[3, 0], [3, 0]])))
    with pytest.raises(DataError, match="have 2, 3 ratings"):
        fleiss_kappa(np.array([[2, 0], [2, 1]]))


@pytest.mark.parametrize(("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_krippendorff_alpha_of_the_published_example(level: str, alpha: float) -> None:
    assert krippendorff_alpha(KRIPPENDORFF, level) == pytest.approx(alpha, abs=5e-4)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=2, max_size=20))
def test_alpha_of_two_is_fleiss_kappa_less_the_bias_of_small_samples(pairs: list[tuple[int, int]]) -> None:
    """Two raters: alpha = 1 - (1 - pi) (2 n - 1) / (2 n), with Scott's pi, which is Fleiss' kappa of two."""
    table = np.array(pairs, dtype=np.float64)
    counts = (table[:, :, None] == np.arange(3)).sum(axis=1)
    alpha = krippendorff_alpha(table)
    if len(np.unique(table)) < 2:
        assert math.isnan(alpha)
    else:
        n = len(pairs)
        assert alpha == pytest.approx(1.0 - (1.0 - fleiss_kappa(counts)) * (2 * n - 1) / (2 * n), abs=1e-9)


def test_alpha_leaves_out_what_one_rater_alone_saw() -> None:
    more = np.vstack([KRIPPENDORFF, [NAN, 4, NAN, NAN], [NAN, NAN, NAN, NAN]])
    assert krippendorff_alpha(more) == krippendorff_alpha(KRIPPENDORFF)
    assert math.isnan(krippendorff_alpha(np.ones((3, 2))))


PUBLISHED = {
    "ICC(1,1)": (0.17, -0.133, 0.72),
    "ICC(2,1)": (0.29, 0.019, 0.76),
    "ICC(3,1)": (0.71, 0.342, 0.95),
    "ICC(1,k)": (0.44, -0.884, 0.91),
    "ICC(2,k)": (0.62, 0.071, 0.93),
    "ICC(3,k)": (0.91, 0.676, 0.99),
}
"""Estimates of Shrout & Fleiss (1979), table 4; limits as R's psych prints them for these data (help page of ICC)."""


def test_intraclass_correlations_of_shrout_and_fleiss() -> None:
    found = intraclass(SHROUT_FLEISS)
    assert list(found) == list(PUBLISHED)
    for form, (value, low, high) in PUBLISHED.items():
        assert found[form].value == pytest.approx(value, abs=5e-3), form
        assert found[form].low == pytest.approx(low, abs=5e-4), form
        assert found[form].high == pytest.approx(high, abs=5e-3), form
    # table 3: mean squares 11.24, 6.26, 1.02
    assert found["ICC(1,1)"].f == pytest.approx(11.24 / 6.26, rel=1e-2)
    assert found["ICC(3,1)"].f == pytest.approx(11.24 / 1.02, rel=1e-2)
    assert (found["ICC(1,1)"].df1, found["ICC(1,1)"].df2, found["ICC(3,1)"].df2) == (5, 18, 15)


def test_absolute_agreement_is_that_of_the_panels() -> None:
    rng = np.random.default_rng(6)
    for shape in ((6, 2), (12, 5)):
        ratings = rng.normal(size=shape) + rng.normal(size=(shape[0], 1))
        found = intraclass(ratings)
        assert (found["ICC(2,1)"].value, found["ICC(2,k)"].value) == pytest.approx(intraclass_correlations(ratings), rel=1e-10)


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.floats(-5.0, 5.0))
def test_severity_matters_to_agreement_and_not_to_consistency(seed: int, k: int, severity: float) -> None:
    rng = np.random.default_rng(seed)
    ratings = rng.normal(size=(8, k)) + 2.0 * rng.normal(size=(8, 1))
    harsher = ratings + np.eye(k)[0] * severity
    plain, shifted = intraclass(ratings), intraclass(harsher)
    assert shifted["ICC(3,1)"].value == pytest.approx(plain["ICC(3,1)"].value, abs=1e-9)
    for result in shifted.values():
        assert result.low <= result.value <= result.high
    for form in ("1", "2", "3"):  # Spearman and Brown
        single = shifted[f"ICC({form},1)"].value
        assert shifted[f"ICC({form},k)"].value == pytest.approx(k * single / (1 + (k - 1) * single), rel=1e-9)


def test_intraclass_correlations_at_the_edges() -> None:
    assert all(math.isnan(result.value) for result in intraclass(np.full((5, 3), 0.1)).values())
    alike = intraclass(np.tile(np.arange(4.0)[:, None], 3))
    assert all((result.value, result.low, result.high) == (1.0, 1.0, 1.0) for result in alike.values())
    for wrong in (np.ones((1, 3)), np.ones((3, 1)), np.array([[1.0, NAN], [1.0, 2.0]])):
        with pytest.raises(DataError, match="expected finite numbers from at least 2 raters on at least 2 objects"):
            intraclass(wrong)


def test_limits_of_the_intraclass_correlation_cover() -> None:
    """With normal objects, raters and residuals the limits of a single rater hold the true value in 95% of samples."""
    rng = np.random.default_rng(1979)
    n_samples, n, k = 600, 20, 4
    true = 1.0 / (1.0 + 0.25 + 0.5)
    covered = 0
    for _ in range(n_samples):
        ratings = rng.normal(size=(n, 1)) + 0.5 * rng.normal(size=(1, k)) + math.sqrt(0.5) * rng.normal(size=(n, k))
        result = intraclass(ratings)["ICC(2,1)"]
        covered += result.low <= true <= result.high
    assert abs(covered / n_samples - 0.95) < 4 * math.sqrt(0.95 * 0.05 / n_samples)
