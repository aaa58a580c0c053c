"""Bookmark cut scores in simulated studies: coverage of their intervals. docs/validation.md has the tables."""

import numpy as np
import pytest

from benchmarks.bookmark import CUTS, simulate

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::psychoedu.exceptions.BoundaryEstimateWarning"),
    pytest.mark.filterwarnings("ignore:Mean of empty slice"),
]


@pytest.mark.parametrize("n_respondents", [2_050, 1_000])
def test_intervals_cover_the_generating_cuts(n_respondents):
    found = simulate(n_respondents, n_studies=600)
    error = np.sqrt(0.95 * 0.05 / 600)
    for k in range(len(CUTS)):
        covered = found["covered"][:, k]
        share = np.nanmean(covered)
        assert 0.93 - 2.0 * error <= share <= 0.97 + 2.0 * error
        assert share > np.nanmean(found["covered, uncorrected"][:, k]) - error
