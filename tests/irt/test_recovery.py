"""Recovery and interval coverage in 500 simulated data sets of 1,000 respondents and 30 items; figures in docs/validation.md.

Score cross-products are left to the table there: with 60 parameters on 1,000 respondents they are too wide (they cover .96).
"""

from __future__ import annotations

import pytest

from benchmarks.recovery import simulate_and_fit

POOLED = (0.935, 0.965)
SINGLE = (0.91, 0.98)


@pytest.mark.slow
@pytest.mark.parametrize("standard_errors", ["oakes", "sandwich"])
def test_intervals_cover_and_estimates_are_nearly_unbiased(standard_errors):
    found = simulate_and_fit(standard_errors)
    for name in ("discrimination", "intercept"):
        coverage = found[name].coverage()
        assert POOLED[0] <= coverage.mean() <= POOLED[1], name
        assert SINGLE[0] <= coverage.min(), name
        assert coverage.max() <= SINGLE[1], name
        # the standard errors are the spread of the estimates: RMSE and root mean squared SE within 3%
        assert (found[name].se ** 2).mean() ** 0.5 == pytest.approx(found[name].rmse, rel=0.03), name
        # maximum likelihood is biased by O(1/N), well under a tenth of a standard error here
        assert abs(found[name].bias) < 0.1 * found[name].rmse + 4 * found[name].bias_error, name
