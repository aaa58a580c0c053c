"""Simulations: what the recommended interval covers, and how often the sign-flip test rejects where nothing differs."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.coverage import Setting, coverage, standard_error_ratio
from benchmarks.paired_tests import PairedSetting, type_one_errors
from psychoedu.bootstrap.analysis import RECOMMENDED

RECOMMENDED_BAND = (0.94, 0.96)
SIGN_FLIP_BAND = (0.045, 0.055)
SE_RTOL = 0.01


@pytest.mark.slow
@pytest.mark.parametrize("skewed", [False, True])
def test_b21_recommended_interval_covers_what_it_says(skewed: bool) -> None:
    """20 equal clusters a stratum, 10,000 designs."""
    found = coverage(Setting(20, True, skewed))
    assert RECOMMENDED_BAND[0] <= found[RECOMMENDED][0] <= RECOMMENDED_BAND[1]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["normal", "skewed", "bounded"])
@pytest.mark.parametrize("n_tasks", [50, 100])
def test_sign_flip_test_keeps_its_level(n_tasks: int, kind: str) -> None:
    error = type_one_errors(PairedSetting(n_tasks, kind))[0]
    assert SIGN_FLIP_BAND[0] <= error <= SIGN_FLIP_BAND[1]


def test_b21_standard_error_at_a_hundred_thousand_resamples() -> None:
    assert standard_error_ratio() == pytest.approx(1.0, abs=SE_RTOL)


def test_percentile_coverage_of_few_designs_is_below_its_level() -> None:
    """1,000 designs of 5 clusters: the percentile interval is far too short, the recommended one is not."""
    found = coverage(Setting(5, True, False), n_designs=1_000, n_resamples=499)
    assert found[("percentile", None)][0] < 0.92
    assert found[RECOMMENDED][0] > found[("percentile", None)][0] + 0.03
    assert np.all([width > 0 for _, width in found.values()])
