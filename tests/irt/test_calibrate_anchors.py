"""Fixed items on any scale and in any direction, odd groups and weights, flat directions, sparse designs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from designs import simulate

import psychoedu as pe
from psychoedu import exceptions as ex

LOG_LIKELIHOOD = 1e-3
FREE = pe.calibrate(pe.datasets.load_lsat7())


def anchors(a=1.0, b=0.0, n=3):
    """The first items' estimates on the scale theta' = a theta + b."""
    items = FREE.items.iloc[:n]
    return pd.DataFrame({"discrimination": items["discrimination"] / a, "difficulty": items["difficulty"] * a + b})


@pytest.mark.parametrize(
    ("a", "b"), [(1, 0), (1, 8), (0.5, -6), (2, -6), (2, 10), (1, 6), (0.25, -6), (10, -6), (1, 100), (-1, 0), (-2, 10)]
)
def test_l7_any_scale_of_the_anchors_gives_the_same_maximum(a, b):
    """An affine change of scale, reversal included, leaves the likelihood as it is; mean and SD are those of the map."""
    calibration = pe.calibrate(pe.datasets.load_lsat7(), fixed_items=anchors(a, b))
    assert calibration.converged
    assert calibration.log_likelihood == pytest.approx(FREE.log_likelihood, abs=LOG_LIKELIHOOD)
    group = calibration.groups.iloc[0]
    assert group["latent_mean"] == pytest.approx(b, abs=2e-3 * abs(a))
    assert group["latent_sd"] == pytest.approx(abs(a), rel=2e-3)


def test_anchors_against_the_direction_of_most_items():
    """Six of eight items reversed: two anchors, kept at their free estimates, still hold the direction."""
    data = simulate(1000, 1.1, np.linspace(-1, 1, 8), seed=5)
    data[:, 2:] = 1 - data[:, 2:]
    frame = pd.DataFrame(data).add_prefix("q")
    free = pe.calibrate(frame)  # oriented so that the six are positive
    kept = free.items.iloc[:2][["discrimination", "difficulty"]]
    turned = pd.DataFrame({"discrimination": -kept["discrimination"], "difficulty": -kept["difficulty"]})
    calibration = pe.calibrate(frame, fixed_items=turned)
    assert calibration.log_likelihood == pytest.approx(free.log_likelihood, abs=LOG_LIKELIHOOD)
    assert (calibration.discrimination[2:] < 0).all()


def test_priors_leave_a_fixed_reversed_item_alone():
    calibration = pe.calibrate(pe.datasets.load_lsat7(), fixed_items=anchors(-1, 0, n=1), priors=True)
    assert calibration.converged  # a misfit that the user asked for, but no nan
    assert calibration.discrimination[0] == anchors(-1, 0, n=1)["discrimination"].iloc[0]
    assert (calibration.discrimination[1:] > 0).all()


def test_fixed_items_without_slope_hold_no_scale():
    flat = pd.DataFrame({"discrimination": [0.0], "intercept": [1.5]}, index=FREE.labels[:1])
    calibration = pe.calibrate(pe.datasets.load_lsat7(), fixed_items=flat)
    assert calibration.groups.iloc[0][["latent_mean", "latent_sd"]].tolist() == [0.0, 1.0]
    assert calibration.items["discrimination_se"].iloc[1:].notna().all()


def test_a_group_without_responses_is_no_group():
    frame = pe.datasets.load_lsat7().to_frame()
    groups = np.array(["z"] * 5 + ["a", "b"] * 497 + ["a"])
    frame.iloc[:5] = np.nan
    calibration = pe.calibrate(frame, groups=groups)
    assert list(calibration.groups.index) == ["a", "b"]
    assert calibration.items["discrimination_se"].notna().all()
    assert len(calibration.scores().theta) == 1000


def test_tails_are_not_cut():
    """The second group reaches the end of [-6, 6]: the nodes are widened until the log-likelihood no longer depends on them."""
    difficulty = np.linspace(-4, 2, 20)
    data = np.vstack([simulate(500, 1.0, difficulty, seed=1), simulate(500, 1.0, difficulty, seed=2, mean=-2.3)])
    groups = ["a"] * 500 + ["b"] * 500
    calibration = pe.calibrate(data, groups=groups, standard_errors=None)
    dense = pe.calibrate(data, groups=groups, standard_errors=None, n_points=401)
    assert calibration.options["low"] < -8
    assert calibration.log_likelihood == pytest.approx(dense.log_likelihood, abs=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_the_stopping_rule_holds_on_flat_directions(seed):
    """Many groups, few items, holes: what is left to gain is what a far tighter fit gains, to within the tolerance."""
    rng = np.random.default_rng(seed)
    data = simulate(500, 1.0, np.linspace(-1, 1, 6), seed=seed, sd=0.8).astype(float)
    data[rng.random(data.shape) < 0.3] = np.nan
    groups = rng.integers(0, 4, 500)
    loose = pe.calibrate(data, model="1pl", groups=groups)
    tight = pe.calibrate(data, model="1pl", groups=groups, tol=1e-12, max_iter=5000)
    assert tight.log_likelihood - loose.log_likelihood < 10 * loose.options["tol"]


def test_sparse_design_converges():
    """Each of 300 respondents meets 8 of 60 items."""
    data = simulate(300, 1.0, np.linspace(-1.5, 1.5, 60), seed=7).astype(float)
    order = np.argsort(np.random.default_rng(7).random(data.shape), axis=1)
    data[order >= 8] = np.nan
    calibration = pe.calibrate(data, model="1pl")
    assert calibration.converged
    assert calibration.data_summary["share_missing"] == pytest.approx(1 - 8 / 60)


def test_weights_that_sum_to_less_than_ten_are_named():
    with pytest.raises(ex.SampleSizeError, match="The weights of 1,000 respondents sum to 1"):
        pe.calibrate(pe.datasets.load_lsat7(), weights=np.full(1000, 1e-3))


def test_reference_group_beside_equal_populations():
    with pytest.raises(ex.DataError, match="assume_equal_populations"):
        pe.calibrate(pe.datasets.load_lsat7(), groups=["a", "b"] * 500, reference_group="a", assume_equal_populations=True)


@pytest.mark.parametrize("option", [{"n_points": 20_000_000}, {"progress": "yes"}, {"adapt_points": "no"}])
def test_options_of_the_wrong_kind(option):
    with pytest.raises(ex.DataError, match=next(iter(option))):
        pe.calibrate(pe.datasets.load_lsat7(), **option)
