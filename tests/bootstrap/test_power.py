"""Power of the paired comparison: published figures, statsmodels, the definition by integration, simulation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

from psychoedu.bootstrap.generalizability import generalizability
from psychoedu.bootstrap.power import (
    LARGE_DELTA,
    LARGE_SAMPLE,
    _upper_tail,
    design_effect,
    minimum_detectable_difference,
    power,
    power_table,
    tasks_for_power,
)
from psychoedu.exceptions import DataError

CLOSED_FORM = 1e-12
PEER = 1e-9
SEVEN_PLACES = 5.1e-8
MC_ERRORS = 4.0


def pilot() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    frame = pd.MultiIndex.from_product([range(5), range(20), range(3)], names=["model", "task", "run"]).to_frame(index=False)
    reward = rng.normal(size=(5, 20))[frame["model"], frame["task"]] + rng.normal(size=len(frame))
    return frame.assign(reward=reward)


# reference


@pytest.mark.parametrize(
    ("effect", "n_tasks", "alpha", "side", "expected"),
    [
        # printed by R's pwr: pwr.t.test(d=0.5, n=20, type="one.sample"), and with d=0.2, n=60, sig.level=0.10
        (0.5, 20, 0.05, "two-sided", 0.5645044),
        (0.2, 60, 0.10, "two-sided", 0.4555818),
    ],
)
def test_published_power(effect: float, n_tasks: int, alpha: float, side: str, expected: float) -> None:
    found = power(effect, n_tasks, sd_of_difference=1.0, alpha=alpha, alternative=side)
    assert found == pytest.approx(expected, abs=SEVEN_PLACES)


def test_published_sample_size() -> None:
    """R's pwr.t.test(d=0.5, power=0.8, type="paired") prints n = 33.36713 pairs."""
    assert tasks_for_power(0.5, sd_of_difference=1.0) == 34


@pytest.mark.parametrize(("side", "peer_side"), [("two-sided", "two-sided"), ("greater", "larger"), ("less", "smaller")])
@pytest.mark.parametrize("effect", [0.1, 0.5, 1.2, -0.3])
@pytest.mark.parametrize("count", [2, 5, 12])
def test_statsmodels_agrees(side: str, peer_side: str, effect: float, count: int) -> None:
    """It gives nan for some larger counts, where SciPy's lower tail is nan."""
    peer = pytest.importorskip("statsmodels.stats.power").TTestPower()
    expected = peer.power(effect, nobs=count, alpha=0.05, alternative=peer_side)
    found = power(0.3 * effect, count, sd_of_difference=0.3, alternative=side)
    assert found == pytest.approx(expected, rel=PEER, abs=PEER)


# closed form


@pytest.mark.parametrize("degrees", [1, 2, 9, 60])
@pytest.mark.parametrize("delta", [-2.0, 0.0, 0.7, 3.0, 12.0, 29.9, 30.1, 200.0])
@pytest.mark.parametrize("ratio", [0.3, 0.9, 1.1, 3.0])
def test_the_tail_is_the_mean_over_the_denominator(degrees: int, delta: float, ratio: float) -> None:
    """P(T > t) = E Phi(delta - t S), S the root of chi^2 / df."""
    critical = ratio * max(delta, 2.0)

    def integrand(s: float) -> float:
        density = stats.chi.pdf(s * math.sqrt(degrees), degrees) * math.sqrt(degrees)
        return float(density * stats.norm.cdf(delta - critical * s))

    places = [0.0, delta / critical, 1.0, 3.0, 12.0] if delta > 0 else [0.0, 1.0, 3.0, 12.0]
    expected = sum(
        integrate.quad(integrand, *ends, epsabs=1e-13, limit=500)[0]
        for ends in zip(sorted(places), sorted(places)[1:], strict=False)
    )
    assert _upper_tail(critical, degrees, delta) == pytest.approx(expected, abs=1e-9)


def test_the_ways_to_the_tail_meet() -> None:
    for critical, delta in ((1.96, 0.0), (1.96, 2.8), (3.0, -1.0), (5.0, 5.0)):
        below, above = _upper_tail(critical, LARGE_SAMPLE, delta), _upper_tail(critical, LARGE_SAMPLE + 1, delta)
        assert below == pytest.approx(above, abs=1e-10)
    for degrees in (1, 10, 10_000):
        for critical in (5.0, 29.0, 31.0, 100.0):
            step = 1e-9
            low, high = _upper_tail(critical, degrees, LARGE_DELTA), _upper_tail(critical, degrees, LARGE_DELTA + step)
            assert high == pytest.approx(low, abs=1e-8)


def test_no_difference_is_found_with_probability_alpha() -> None:
    for side in ("two-sided", "greater", "less"):
        for count in (2, 10, 3_000_000):
            assert power(0.0, count, sd_of_difference=0.3, alpha=0.01, alternative=side) == pytest.approx(0.01, abs=1e-9)


def test_components_give_the_sd_of_the_difference() -> None:
    study = generalizability(pilot(), repeat="run")
    cell, run = study.components["variance"][["model x task", "repeat:(model x task)"]]
    for repeats in (None, 1, 7):
        sd = math.sqrt(2 * (cell + run / (repeats or 3)))
        found = power(0.5, 30, components=study, n_repeats=repeats)
        assert found == pytest.approx(power(0.5, 30, sd_of_difference=sd), rel=CLOSED_FORM)


def test_design_effect() -> None:
    assert design_effect(1, 0.4) == 1.0
    assert design_effect(10, 0.1) == pytest.approx(1.9, rel=CLOSED_FORM)
    assert design_effect(10, 0.1, size_cv=0.5) == pytest.approx(1 + (1.25 * 10 - 1) * 0.1, rel=CLOSED_FORM)
    assert design_effect(10, 1.0) == 10.0
    # items that agree wholly: a task is worth one item; items that are independent: sd / sqrt(m)
    whole = power(0.1, 20, sd_of_difference=0.3, items_per_task=10, intraclass_correlation=1.0)
    assert whole == pytest.approx(power(0.1, 20, sd_of_difference=0.3), rel=CLOSED_FORM)
    free = power(0.1, 20, sd_of_difference=0.3, items_per_task=10)
    assert free == pytest.approx(power(0.1, 20, sd_of_difference=0.3 / math.sqrt(10)), rel=CLOSED_FORM)


# invariants


def test_the_three_questions_answer_each_other() -> None:
    options: dict[str, Any] = {"sd_of_difference": 0.4, "alpha": 0.02}
    for side, sign in (("two-sided", 1.0), ("greater", 1.0), ("less", -1.0)):
        for count in (2, 3, 17, 250, 2_000_000):
            gap = minimum_detectable_difference(count, power=0.9, alternative=side, **options)
            assert sign * gap > 0.0
            assert power(gap, count, alternative=side, **options) == pytest.approx(0.9, abs=1e-9)
            assert tasks_for_power(gap * (1 + 1e-7), power=0.9, alternative=side, **options) == count


def test_tasks_for_power_is_the_smallest_number() -> None:
    for gap in (0.01, 0.1, 0.5, 3.0):
        count = tasks_for_power(gap, sd_of_difference=0.4, power=0.85)
        assert power(gap, count, sd_of_difference=0.4) >= 0.85
        assert count == 2 or power(gap, count - 1, sd_of_difference=0.4) < 0.85


def test_sign_and_unit_do_not_matter() -> None:
    found = power(0.1, 40, sd_of_difference=0.3)
    assert power(-0.1, 40, sd_of_difference=0.3) == found
    assert power(10.0, 40, sd_of_difference=30.0) == pytest.approx(found, rel=CLOSED_FORM)
    assert power(0.1, 40, sd_of_difference=0.3, alternative="greater") == pytest.approx(
        power(-0.1, 40, sd_of_difference=0.3, alternative="less"), rel=CLOSED_FORM
    )
    gap = minimum_detectable_difference(40, sd_of_difference=0.3)
    assert minimum_detectable_difference(40, sd_of_difference=0.6) == pytest.approx(2 * gap, rel=1e-9)


def test_power_never_falls_with_tasks_or_difference() -> None:
    table = power_table(np.linspace(0, 20, 60).tolist(), [2, 3, 5, 10, 30, 100, 1000], sd_of_difference=1.0).to_numpy()
    assert (np.diff(table, axis=0) > -1e-12).all()
    assert (np.diff(table, axis=1)[1:] > -1e-12).all()
    assert ((table >= 0.0) & (table <= 1.0)).all()


def test_table_holds_the_single_answers() -> None:
    table = power_table([0.05, 0.1], [20, 50], sd_of_difference=0.3)
    assert table.index.name == "difference"
    assert table.columns.tolist() == [20, 50]
    assert table.loc[0.1, 50] == power(0.1, 50, sd_of_difference=0.3)


# edges


def test_arguments() -> None:
    study = generalizability(pilot(), repeat="run")
    wrong: list[tuple[dict[str, Any], str]] = [
        ({}, "one of components .* and sd_of_difference .*; got neither"),
        ({"components": study, "sd_of_difference": 1.0}, "got both"),
        ({"components": 0.3}, "components has to be a Generalizability; got float"),
        ({"sd_of_difference": 0.0}, "sd_of_difference has to be above 0"),
        ({"sd_of_difference": 1.0, "n_repeats": 3}, "n_repeats needs components"),
        ({"components": study, "n_repeats": 0}, "n_repeats has to be at least 1"),
        ({"components": study, "items_per_task": 4}, "Items within tasks go with sd_of_difference"),
        ({"sd_of_difference": 1.0, "items_per_task": 0.5}, "items_per_task of at least 1"),
        ({"sd_of_difference": 1.0, "items_per_task": 5, "intraclass_correlation": 1.5}, "intraclass_correlation has to lie"),
        ({"sd_of_difference": 1.0, "items_per_task": 5, "intraclass_correlation": -0.5}, "intraclass_correlation has to lie"),
        ({"sd_of_difference": 1.0, "items_per_task": 5, "intraclass_correlation": -0.25}, "do not vary over tasks"),
        ({"sd_of_difference": 1.0, "alpha": 5}, "Did you mean 0.05"),
        ({"sd_of_difference": 1.0, "alpha": 0.95}, "alpha has to be below 0.5.*not the confidence level"),
        ({"sd_of_difference": 1.0, "alternative": "larger"}, "alternative has to be one of"),
    ]
    for options, message in wrong:
        with pytest.raises(DataError, match=message):
            power(0.1, 30, **options)
    with pytest.raises(DataError, match="n_tasks has to be at least 2; got 1"):
        power(0.1, 1, sd_of_difference=1.0)
    with pytest.raises(DataError, match="n_tasks has to be a whole number"):
        power(0.1, 2.5, sd_of_difference=1.0)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="difference has to be one finite number"):
        power(math.nan, 30, sd_of_difference=1.0)
    with pytest.raises(DataError, match="power has to be above alpha"):
        minimum_detectable_difference(30, sd_of_difference=1.0, power=0.05)
    with pytest.raises(DataError, match="differences has to be a list"):
        power_table([], [10], sd_of_difference=1.0)


def test_differences_that_no_number_of_tasks_shows() -> None:
    with pytest.raises(DataError, match="difference has to be other than 0"):
        tasks_for_power(0.0, sd_of_difference=1.0)
    with pytest.raises(DataError, match="difference has to be above 0 with alternative='greater'"):
        tasks_for_power(-0.1, sd_of_difference=1.0, alternative="greater")
    with pytest.raises(DataError, match="difference has to be below 0"):
        tasks_for_power(0.1, sd_of_difference=1.0, alternative="less")
    with pytest.raises(DataError, match="More than 1,000,000,000 tasks"):
        tasks_for_power(1e-9, sd_of_difference=1.0)


def test_models_that_agree_on_every_task_have_no_test() -> None:
    frame = pd.DataFrame([(m, t, 0.5 * m + 0.25 * t) for m in range(4) for t in range(5)], columns=["model", "task", "reward"])
    with pytest.raises(DataError, match="do not vary over tasks"):
        power(0.1, 30, components=generalizability(frame))


def test_extremes_are_numbers() -> None:
    assert power(1e6, 5, sd_of_difference=1.0) == 1.0
    assert power(1e-9, 2, sd_of_difference=1e6) == pytest.approx(0.05, abs=1e-9)
    assert minimum_detectable_difference(2, sd_of_difference=1.0, power=0.999, alpha=1e-6) > 1e6
    assert 0.0 < minimum_detectable_difference(10**8, sd_of_difference=1.0) < 1e-3


# simulation


def test_the_t_test_rejects_as_often_as_promised() -> None:
    rng = np.random.default_rng(2)
    runs, count, gap, sd = 20_000, 12, 0.25, 0.3
    differences = gap + sd * rng.normal(size=(runs, count))
    rejected = np.mean(stats.ttest_1samp(differences, 0.0, axis=1).pvalue < 0.05)
    promised = power(gap, count, sd_of_difference=sd)
    assert abs(rejected - promised) < MC_ERRORS * math.sqrt(promised * (1 - promised) / runs)


def test_the_clustered_t_test_rejects_as_often_as_promised() -> None:
    rng = np.random.default_rng(3)
    runs, count, items, correlation, gap, sd = 10_000, 15, 6, 0.3, 0.2, 0.5
    shared = math.sqrt(correlation) * rng.normal(size=(runs, count, 1))
    own = math.sqrt(1 - correlation) * rng.normal(size=(runs, count, items))
    tasks = gap + sd * (shared + own).mean(axis=2)
    rejected = np.mean(stats.ttest_1samp(tasks, 0.0, axis=1).pvalue < 0.05)
    promised = power(gap, count, sd_of_difference=sd, items_per_task=items, intraclass_correlation=correlation)
    assert abs(rejected - promised) < MC_ERRORS * math.sqrt(promised * (1 - promised) / runs)
