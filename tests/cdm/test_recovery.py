"""Coverage of intervals and of estimated accuracy in 300 simulated data sets a model; figures in docs/validation.md."""

from __future__ import annotations

import pytest

from benchmarks.cdm_recovery import MODELS, simulate_and_fit, structural_errors

COVERAGE = (0.93, 0.97)
ACCURACY = 0.01


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_intervals_cover_and_accuracy_is_as_estimated(model):
    found = simulate_and_fit(model)
    assert COVERAGE[0] <= found.items <= COVERAGE[1]
    assert COVERAGE[0] <= found.structural <= COVERAGE[1]
    assert abs(found.accuracy_error) < ACCURACY


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_structural_standard_errors_meet_the_parametric_bootstrap(model):
    """300 refits give a standard error to within 1 / sqrt(2 * 299) = 4%; eight of them, correlated, a mean to within about 3%."""
    ratio = structural_errors(model)
    assert ratio.mean() == pytest.approx(1.0, abs=0.1)
    assert 0.8 < ratio.min() <= ratio.max() < 1.25
