"""Sampling error through the models: refits to weighted learners, rescoring on weighted items, copies refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import psychoedu as pe
from psychoedu.bootstrap.anything import BLOCK, draw_block, layout_of
from psychoedu.bootstrap.item_weights import draw_item_weights, item_layout
from psychoedu.bootstrap.streams import seed_of
from psychoedu.exceptions import ClusterDesignError, DataError, IdentificationError, LabelError, ResamplingError
from psychoedu.irt.simulate import simulate_responses

RTOL = 1e-12
SCORE_ATOL = 1e-6
"""Of EAP by 241 nodes against that of the scorer, whose nodes follow the row."""


@pytest.fixture(scope="module")
def bank() -> pe.ItemBank:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"discrimination": rng.uniform(0.7, 1.8, 30), "difficulty": rng.normal(0, 1, 30)})
    return pe.ItemBank(frame.set_index(pd.Index([f"q{at:02}" for at in range(30)], name="item")))


@pytest.fixture(scope="module")
def models(bank: pe.ItemBank) -> pd.DataFrame:
    rng = np.random.default_rng(6)
    theta = np.array([-1.0, 0.0, 0.5, 1.5])
    right = rng.random((4, 30)) < 1 / (1 + np.exp(-bank.discrimination * (theta[:, None] - bank.difficulty)))
    return pd.DataFrame(right.astype(float), columns=bank.labels, index=["A", "B", "C", "D"])


def test_theta_is_the_scorer_s_and_level_that_of_the_cuts(bank: pe.ItemBank, models: pd.DataFrame) -> None:
    found = pe.irt.task_sampling_error(bank, models, cut_scores={"CSE-3": -0.5, "CSE-4": 0.6}, n_resamples=300, rng=1)
    scores = pe.score(bank, models)
    np.testing.assert_allclose(found.table["theta"], scores.theta, atol=SCORE_ATOL)
    np.testing.assert_allclose(found.table["theta_se"], scores.theta_se, atol=SCORE_ATOL)
    expected = np.array(["below CSE-3", "CSE-3", "CSE-4"])[np.searchsorted([-0.5, 0.6], scores.theta, side="right")]
    assert found.table["level"].tolist() == expected.tolist()
    assert found.levels is not None
    np.testing.assert_allclose(found.levels.sum(axis=1), 1.0, rtol=RTOL)
    own = [found.levels.loc[label, level] for label, level in found.table["level"].items()]
    np.testing.assert_allclose(found.table["level_share"], own, rtol=RTOL)
    assert "seed 1" in found.summary()


def test_a_resample_is_the_score_with_items_repeated(bank: pe.ItemBank, models: pd.DataFrame) -> None:
    """An item of weight w counts as w copies: the log-likelihood of the copies is the weighted one."""
    found = pe.irt.task_sampling_error(bank, models, n_resamples=5, rng=7)
    layout, task = item_layout(models.columns, None, None, None)
    weights = draw_item_weights(layout, task, seed_of(7), 5, "bootstrap").astype(int)
    places = np.repeat(np.arange(30), weights[3])
    labels = [f"c{at}" for at in range(len(places))]
    copies = pd.DataFrame(models.to_numpy()[:, places], columns=labels, index=models.index)
    table = pd.DataFrame({"discrimination": bank.discrimination[places], "intercept": bank.intercept[places]}, index=labels)
    expected = pe.score(pe.ItemBank(table), copies).theta
    np.testing.assert_allclose(found.resamples[3], expected, atol=SCORE_ATOL)


def test_tasks_are_drawn_whole_and_within_strata(models: pd.DataFrame) -> None:
    tasks = [f"t{at // 3}" for at in range(30)]
    strata = ["x"] * 12 + ["y"] * 18
    layout, task = item_layout(models.columns, tasks, strata, None)
    weights = draw_item_weights(layout, task, seed_of(1), 200, "bootstrap")
    by_task = weights.reshape(200, 10, 3)
    assert (by_task == by_task[:, :, :1]).all()
    assert (weights[:, :12].sum(axis=1) == 12).all()
    assert (weights[:, 12:].sum(axis=1) == 18).all()
    with pytest.raises(ClusterDesignError, match="1 item in another stratum than the rest of its task: 'q12'"):
        item_layout(models.columns, tasks, ["x"] * 13 + ["y"] * 17, None)
    with pytest.raises(ClusterDesignError, match="1 item without a task: 'q03'"):
        item_layout(models.columns, [*tasks[:3], None, *tasks[4:]], None, None)


@pytest.mark.parametrize("n", [7, 8])
def test_halves_have_the_variance_of_a_mean(n: int) -> None:
    """Weights of deleted halves: sum n in every resample, none below 0, variance of a weighted mean s^2/n."""
    values = np.random.default_rng(n).standard_normal(n)
    layout, task = item_layout(pd.RangeIndex(n), None, None, None)
    size = 40_000
    weights = draw_item_weights(layout, task, seed_of(2), size, "jackknife")
    np.testing.assert_allclose(weights.sum(axis=1), n, rtol=1e-9)
    assert weights.min() >= 0.0
    error = (weights @ values / n).std(ddof=1)
    assert error == pytest.approx(values.std(ddof=1) / np.sqrt(n), rel=4 / np.sqrt(2 * size))


def test_both_kinds_agree_on_many_tasks(bank: pe.ItemBank, models: pd.DataFrame) -> None:
    """Two estimates of one standard error, each from 2,000 resamples: apart by their curvature and Monte Carlo error alone."""
    errors = [
        pe.irt.task_sampling_error(bank, models, n_resamples=2_000, rng=1, kind=kind).table["sampling_se"]
        for kind in ("bootstrap", "jackknife")
    ]
    np.testing.assert_allclose(errors[0], errors[1], rtol=0.12)
    assert (errors[0] > 0.1).all()


def test_seeds_and_refusals(bank: pe.ItemBank, models: pd.DataFrame) -> None:
    one, again = (pe.irt.task_sampling_error(bank, models, n_resamples=BLOCK + 3, rng=4) for _ in range(2))
    assert one.resamples.tobytes() == again.resamples.tobytes()
    assert one.resamples.shape == (BLOCK + 3, 4)
    with pytest.raises(LabelError, match="1 item of the responses not in the bank: 'new'"):
        pe.irt.task_sampling_error(bank, models.assign(new=1.0), rng=1)
    with pytest.raises(DataError, match="rising numbers"):
        pe.irt.task_sampling_error(bank, models, cut_scores={"a": 1.0, "b": 0.0}, rng=1)
    with pytest.raises(DataError, match="its factor built in"):
        pe.irt.task_sampling_error(bank, models, kind="jackknife", correction="rao-wu", rng=1)
    with pytest.raises(DataError, match="a Calibration or an ItemBank first"):
        pe.irt.task_sampling_error(models, models, rng=1)


def test_b18_refits_by_row_weights_are_those_of_repeated_rows() -> None:
    """One resample, written out: calibrating the rows as often as they were drawn."""
    frame = pe.datasets.load_lsat7().to_frame()
    found = pe.irt.bootstrap_calibration(frame, n_resamples=3, rng=11)
    weights = draw_block(layout_of(len(frame)), seed_of(11), 0, 3, "weights")[2].astype(int)
    copies = frame.iloc[np.repeat(np.arange(len(frame)), weights)].reset_index(drop=True)
    expected = pe.calibrate(copies, standard_errors=None)
    np.testing.assert_allclose(found.resamples[2, ::2], expected.discrimination, atol=1e-3)
    np.testing.assert_allclose(found.resamples[2, 1::2], expected.intercept, atol=1e-3)
    assert found.estimate["Item.1 discrimination"] == pytest.approx(pe.calibrate(frame).discrimination[0], abs=1e-3)


def test_b18_bootstrap_errors_of_a_calibration_are_near_the_analytic_ones() -> None:
    found = pe.irt.bootstrap_calibration(pe.datasets.load_lsat7(), n_resamples=150, rng=1)
    analytic = pe.calibrate(pe.datasets.load_lsat7()).items["intercept_se"]
    own = found.standard_error.filter(like="intercept").to_numpy()
    np.testing.assert_allclose(own, analytic, rtol=4 / np.sqrt(2 * 150) + 0.1)


def test_b18_refits_that_make_an_item_constant_are_counted_named_and_too_many_refused() -> None:
    rng = np.random.default_rng(3)
    items = pd.DataFrame({"discrimination": 1.0, "difficulty": np.linspace(-1, 1, 6)}, index=list("abcdef"))
    frame = simulate_responses(items, rng.standard_normal(300), rng=1).to_frame()
    few = frame.assign(hard=0)
    few.loc[:4, "hard"] = 1  # five right: absent from about 1 in 150 resamples
    found = pe.irt.bootstrap_calibration(few, n_resamples=200, rng=2)
    assert found.n_failed >= 1
    assert found.failures["reason"].str.contains("ConstantItemError: 1 of 7 items has one response category").any()
    one = frame.assign(hard=0)
    one.loc[0, "hard"] = 1  # one right: absent from a third of the resamples
    with pytest.raises(ResamplingError, match="ConstantItemError"):
        pe.irt.bootstrap_calibration(one, n_resamples=60, rng=2)
    with pytest.raises(DataError, match="'weights' cannot be given"):
        pe.irt.bootstrap_calibration(frame, weights=np.ones(300))


def test_b18_copies_of_items_are_refused() -> None:
    frame = pe.datasets.load_lsat7().to_frame()
    drawn = frame.iloc[:, [0, 1, 1, 2, 3]].set_axis(list("vwxyz"), axis=1)
    with pytest.raises(
        IdentificationError, match=r"1 pair of items with the same response of every respondent: 'w' and 'x'"
    ) as caught:
        pe.calibrate(drawn)
    assert len(str(caught.value).splitlines()) <= 3
    with pytest.raises(pe.exceptions.DuplicateLabelError, match="perfectly dependent"):
        pe.calibrate(frame.iloc[:, [0, 1, 1, 2, 3]])


def test_refits_within_strata_of_respondents() -> None:
    matrix = pe.datasets.load_cse_like().select(respondents={"group": ["junior", "college"]})
    found = pe.irt.bootstrap_calibration(matrix, n_resamples=2, strata="group", groups="group", rng=1)
    assert found.sizes.sum() == matrix.n_respondents
    assert {"college latent_mean", "college latent_sd"} <= set(found.names)
    with pytest.raises(DataError, match="one label per respondent"):
        pe.irt.bootstrap_calibration(matrix, strata=["a", "b"])
