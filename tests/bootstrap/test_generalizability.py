"""Variance components and decision studies: Brennan's and Henderson's published figures, REML as a peer, simulation."""

from __future__ import annotations

import itertools
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import psychoedu as pe
from psychoedu.bootstrap.decision_study import Universe, degrees_of_freedom, half_width, shares_of_sizes, smallest
from psychoedu.bootstrap.generalizability import Generalizability, generalizability
from psychoedu.bootstrap.variance_components import (
    effects_of,
    henderson,
    henderson_coefficients,
    level_codes,
    same_partitions,
    variance_components,
)
from psychoedu.exceptions import DataError, FileFormatError, IdentificationError, LabelError, RepeatsError

CLOSED_FORM = 1e-12
FOUR_PLACES = 5.1e-5
THREE_PLACES = 5.1e-4
TWO_PLACES = 5.1e-3
REML = 2e-3
MC_ERRORS = 4.0

# Brennan (2001), Generalizability Theory, synthetic data sets 1 (persons x items) and 3 (persons x items x occasions) with his
# figures, as the test fixtures of the Python package GeneralizIT give them
DATA_SET_1 = """101000000000 111001000000 111110000000 110110010000 111110100000 111011100000 111111100000 111101111100
                111111111110 111111111111"""
DATA_SET_3 = {
    (1, 1): [2, 4, 5, 5, 4, 4, 2, 3, 0, 6],
    (1, 2): [6, 5, 5, 9, 3, 4, 6, 4, 5, 8],
    (1, 3): [7, 6, 4, 8, 5, 4, 6, 4, 4, 7],
    (1, 4): [5, 7, 6, 6, 6, 7, 5, 5, 5, 6],
    (2, 1): [2, 6, 5, 5, 4, 6, 2, 6, 5, 6],
    (2, 2): [5, 7, 4, 7, 5, 4, 7, 6, 5, 8],
    (2, 3): [5, 5, 5, 7, 6, 7, 7, 6, 5, 8],
    (2, 4): [5, 7, 5, 6, 4, 8, 5, 4, 3, 6],
}
# Henderson (1953), Biometrics 9, table 1, with his figures as GeneralizIT's methods tutorial gives them: herd, sire, year, number
# and total of butterfat records. The first record of herd 2 is 404, which the table's own margins give, not 405
HENDERSON = [
    (1, 1, 1, 3, 1414),
    (1, 1, 2, 2, 981),
    (1, 2, 2, 4, 1766),
    (1, 2, 3, 2, 862),
    (1, 3, 4, 5, 1609),
    (2, 1, 1, 1, 404),
    (2, 1, 2, 3, 1270),
    (2, 2, 3, 5, 2109),
    (2, 3, 3, 4, 1563),
    (2, 3, 4, 2, 740),
    (3, 1, 2, 3, 1705),
    (3, 2, 2, 4, 2310),
    (3, 2, 3, 2, 1134),
    (4, 1, 1, 3, 1113),
    (4, 1, 2, 5, 1951),
    (4, 3, 3, 3, 1291),
    (4, 3, 4, 6, 2457),
]
HENDERSON_TOTAL = 11_124_007.0


def data_set_1() -> pd.DataFrame:
    rows = DATA_SET_1.split()
    cells = [(person, item, float(mark)) for person, row in enumerate(rows) for item, mark in enumerate(row)]
    return pd.DataFrame(cells, columns=["model", "task", "reward"])


def data_set_3() -> pd.DataFrame:
    cells = [(p, i, o, float(x)) for (o, i), column in DATA_SET_3.items() for p, x in enumerate(column)]
    return pd.DataFrame(cells, columns=["model", "task", "condition", "reward"])


def simulate(
    rng: np.random.Generator, n_models: int, n_tasks: int, n_repeats: int = 0, sds: tuple[float, ...] = (1.0, 0.8, 0.6, 0.5)
) -> pd.DataFrame:
    """Draw normal rewards of models x tasks (x repeats in cells); sds of model, task, model x task, repeat."""
    runs = max(n_repeats, 1)
    cells = pd.MultiIndex.from_product([range(n_models), range(n_tasks), range(runs)], names=["model", "task", "run"])
    frame = cells.to_frame(index=False)
    reward = 3.0 + sds[0] * rng.normal(size=n_models)[frame["model"]] + sds[1] * rng.normal(size=n_tasks)[frame["task"]]
    reward = reward + sds[2] * rng.normal(size=(n_models, n_tasks))[frame["model"], frame["task"]]
    if n_repeats:
        reward = reward + sds[3] * rng.normal(size=len(frame))
    frame["reward"] = reward
    return frame if n_repeats else frame.drop(columns="run")


def crossed(rng: np.random.Generator, *sizes: int) -> pd.DataFrame:
    """Draw rewards of models x tasks x conditions x repeats with every effect present."""
    names = ["model", "task", "condition", "run"][: len(sizes)]
    frame = pd.MultiIndex.from_product([range(size) for size in sizes], names=names).to_frame(index=False)
    reward = np.zeros(len(frame))
    for size in range(1, len(sizes) + 1):
        for effect in itertools.combinations(range(len(sizes)), size):
            drawn = rng.normal(size=[sizes[facet] for facet in effect])
            reward += drawn[tuple(frame[names[facet]].to_numpy() for facet in effect)]
    return frame.assign(reward=reward)


# reference


def test_brennan_data_set_1() -> None:
    """Brennan (2001, ch. 2): p x i of ten persons and twelve items."""
    study = generalizability(data_set_1())
    table = study.components
    np.testing.assert_allclose(table["mean_square"], [0.8157, 0.8811, 0.1269], atol=FOUR_PLACES)
    np.testing.assert_allclose(table["sum_of_squares"], [7.3417, 9.6917, 12.5583], atol=FOUR_PLACES)
    np.testing.assert_array_equal(table["df"], [9, 11, 99])
    np.testing.assert_allclose(table["estimate"], [0.0574, 0.0754, 0.1269], atol=FOUR_PLACES)
    assert study.generalizability == pytest.approx(0.844, abs=THREE_PLACES)
    assert study.dependability == pytest.approx(0.773, abs=THREE_PLACES)


def test_brennan_data_set_3() -> None:
    """Brennan (2001, ch. 3-4): p x i x o, everything random, and with items fixed."""
    frame = data_set_3()
    study = generalizability(frame, condition="condition")
    table = study.components
    names = ["model", "task", "condition", "model x task", "model x condition", "task x condition", "model x task x condition"]
    assert list(table.index) == names
    np.testing.assert_allclose(table["sum_of_squares"], [62.20, 37.45, 3.20, 56.30, 12.05, 7.50, 25.25], atol=TWO_PLACES)
    np.testing.assert_allclose(table["estimate"], [0.5528, 0.4417, 0.0074, 0.5750, 0.1009, 0.1565, 0.9352], atol=FOUR_PLACES)
    assert study.generalizability == pytest.approx(0.64, abs=TWO_PLACES)
    assert study.dependability == pytest.approx(0.55, abs=TWO_PLACES)
    items_fixed = generalizability(frame, condition="condition", fixed="task")
    assert items_fixed.generalizability == pytest.approx(0.81, abs=TWO_PLACES)
    assert items_fixed.dependability == pytest.approx(0.79, abs=TWO_PLACES)
    np.testing.assert_array_equal(items_fixed.components["estimate"], table["estimate"])


def henderson_records() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return records with Henderson's cell totals and total sum of squares: cells alternate about their means."""
    rows, spread = [], []
    for herd, sire, year, count, total in HENDERSON:
        signs = np.resize([1.0, -1.0], count)
        if count % 2:
            signs[-1] = 0.0
        for sign in signs:
            rows.append((herd - 1, sire - 1, year - 1, total / count))
            spread.append(sign)
    table, signs = np.array(rows), np.array(spread)
    within = (HENDERSON_TOTAL - np.sum(table[:, 3] ** 2)) / np.sum(signs**2)
    codes = np.vstack([table[:, :3].T.astype(np.int64), np.arange(len(table))])
    return table[:, 3] + signs * np.sqrt(within), codes


def test_henderson_method_1_is_henderson_s() -> None:
    """Henderson (1953, table 6): the coefficients of his own data, and the components that solve his equations."""
    values, codes = henderson_records()
    effects = [(2,), (0,), (1,), (0, 1), (0, 1, 2, 3)]  # year, herd, sire, herd x sire, error
    found = [level_codes(codes, effect) for effect in effects]
    levels, counts = [level for level, _ in found], np.array([count for _, count in found])
    published = [
        [57, 19.51, 39.22, 15.10, 4],
        [21.49, 57, 24.04, 24.04, 4],
        [30.33, 18.51, 57, 18.51, 3],
        [37.35, 57, 57, 57, 10],
        [57, 57, 57, 57, 57],
        [16.05, 14.93, 19.11, 6.19, 1],
    ]
    np.testing.assert_allclose(henderson_coefficients(levels), published, atol=TWO_PLACES)
    components = henderson(values, levels, counts)
    # solved from T rounded to units and coefficients to two places
    np.testing.assert_allclose(components.estimates, [763, 4531, 1587, -164, 2950], atol=2.0)


@pytest.mark.parametrize("n_repeats", [0, 2])
def test_reml_of_statsmodels_agrees_where_balanced(n_repeats: int) -> None:
    """REML is the analysis of variance on balanced data with positive estimates (Searle et al. 1992, ch. 4)."""
    mixed = pytest.importorskip("statsmodels.regression.mixed_linear_model")
    frame = simulate(np.random.default_rng(4), 6, 8, n_repeats)
    study = generalizability(frame, repeat="run" if n_repeats else None)
    assert (study.components["estimate"] > 0.1).all()
    frame = frame.assign(one=1, cell=frame["model"] * 8 + frame["task"])
    parts = {"model": "0 + C(model)", "task": "0 + C(task)"} | ({"cell": "0 + C(cell)"} if n_repeats else {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its optimiser complains on the way
        model = mixed.MixedLM.from_formula("reward ~ 1", groups="one", vc_formula=parts, data=frame, re_formula="0")
        fit = model.fit(reml=True, gtol=1e-8)
    peer = dict(zip(model.exog_vc.names, fit.vcomp, strict=True))
    expected = [peer["model"], peer["task"], *([peer["cell"]] if n_repeats else []), fit.scale]
    np.testing.assert_allclose(study.components["estimate"], expected, rtol=REML)


# closed form


def test_two_by_two_by_hand() -> None:
    """Rewards 1 2 / 3 8: mean squares 16 of models, 9 of tasks, 4 of the rest."""
    frame = pd.DataFrame({"model": ["a", "a", "b", "b"], "task": [1, 2, 1, 2], "reward": [1.0, 2.0, 3.0, 8.0]})
    study = generalizability(frame)
    np.testing.assert_allclose(study.components["mean_square"], [16.0, 9.0, 4.0], rtol=CLOSED_FORM)
    np.testing.assert_allclose(study.components["estimate"], [6.0, 2.5, 4.0], rtol=CLOSED_FORM)
    # sqrt(sum of (2 MS^2 / (df + 2)) / 2^2), df = 1
    np.testing.assert_allclose(
        study.components["standard_error"],
        [math.sqrt((2 * 256 / 3 + 2 * 16 / 3) / 4), math.sqrt((2 * 81 / 3 + 2 * 16 / 3) / 4), math.sqrt(32 / 3)],
        rtol=CLOSED_FORM,
    )
    assert study.generalizability == pytest.approx(6.0 / 8.0, rel=CLOSED_FORM)
    assert study.dependability == pytest.approx(6.0 / 9.25, rel=CLOSED_FORM)


DESIGNS: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((5, 4), {}),
    ((5, 4, 3), {"condition": "condition"}),
    ((4, 5, 3, 2), {"condition": "condition", "repeat": "run"}),
    ((4, 5, 3, 2), {"condition": "condition", "repeat": "run", "repeats": "crossed"}),
]


def design_of(frame: pd.DataFrame, options: dict[str, Any]) -> tuple[np.ndarray[Any, Any], tuple[tuple[int, ...], ...], bool]:
    names = ["model", "task", *[options[role] for role in ("condition", "repeat") if role in options]]
    codes = frame[names].to_numpy().T.astype(np.int64)
    nested = "repeat" in options and options.get("repeats") != "crossed"
    return codes, effects_of(len(names), nested), nested


@pytest.mark.parametrize(("sizes", "options"), DESIGNS)
def test_henderson_equals_the_analysis_of_variance_where_balanced(sizes: tuple[int, ...], options: dict[str, Any]) -> None:
    frame = crossed(np.random.default_rng(1), *sizes)
    codes, effects, nested = design_of(frame, options)
    values = frame["reward"].to_numpy()
    anova = variance_components(values, codes, effects, nested)
    found = [level_codes(codes, effect) for effect in effects]
    other = henderson(values, [level for level, _ in found], np.array([count for _, count in found]))
    assert anova.balanced
    assert not other.balanced
    np.testing.assert_allclose(other.estimates, anova.estimates, rtol=1e-9)


@pytest.mark.parametrize(("sizes", "options"), DESIGNS)
def test_standard_errors_of_unequal_cells_are_those_of_the_dense_formula(sizes: tuple[int, ...], options: dict[str, Any]) -> None:
    """cov(y'Ay, y'By) = 2 tr(A V B V) of normal y, with matrices written out."""
    frame = crossed(np.random.default_rng(2), *sizes).sample(frac=0.8, random_state=3)
    codes, effects, nested = design_of(frame, options)
    found = variance_components(frame["reward"].to_numpy(), codes, effects, nested)
    assert not found.balanced
    size = len(frame)
    spread, projections = np.zeros((size, size)), []
    for effect, variance in zip(effects, found.estimates, strict=True):
        same = np.all(codes[list(effect)][:, :, None] == codes[list(effect)][:, None, :], axis=0).astype(float)
        spread += max(variance, 0.0) * same
        projections.append(same / same.sum(axis=1)[:, None] - 1.0 / size)
    kinds = [np.all(codes[list(e)][:, :, None] == codes[list(e)][:, None, :], axis=0).astype(float) for e in effects]
    equations = np.array([[np.trace(p @ kind) for kind in kinds] for p in projections])
    covariance = np.array([[2.0 * np.trace(p @ spread @ q @ spread) for q in projections] for p in projections])
    inverse = np.linalg.inv(equations)
    totals = [frame["reward"] @ p @ frame["reward"] for p in projections]
    np.testing.assert_allclose(found.estimates, inverse @ totals, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(found.standard_errors, np.sqrt(np.diag(inverse @ covariance @ inverse.T)), rtol=1e-8)


def test_decision_study_by_hand() -> None:
    study = generalizability(simulate(np.random.default_rng(5), 8, 12, 3), repeat="run")
    model, task, cell, run = study.components["variance"]
    row = study.decision(n_tasks=20, n_repeats=2).iloc[0]
    relative, absolute = cell / 20 + run / 40, task / 20 + cell / 20 + run / 40
    assert row["relative_error_sd"] == pytest.approx(math.sqrt(relative), rel=CLOSED_FORM)
    assert row["absolute_error_sd"] == pytest.approx(math.sqrt(absolute), rel=CLOSED_FORM)
    assert row["generalizability"] == pytest.approx(model / (model + relative), rel=CLOSED_FORM)
    assert row["dependability"] == pytest.approx(model / (model + absolute), rel=CLOSED_FORM)
    quantile = stats.t.ppf(0.975, 19)
    assert row["mean_half_width"] == pytest.approx(quantile * math.sqrt(absolute), rel=CLOSED_FORM)
    assert row["difference_half_width"] == pytest.approx(quantile * math.sqrt(2 * relative), rel=CLOSED_FORM)
    assert study.sd_of_difference(4) == pytest.approx(math.sqrt(2 * (cell + run / 4)), rel=CLOSED_FORM)
    assert study.sd_of_difference() == pytest.approx(math.sqrt(2 * (cell + run / 3)), rel=CLOSED_FORM)


def test_the_study_s_own_design_is_a_decision_study_of_its_sizes() -> None:
    for options in ({"repeat": "run"}, {"repeat": "run", "repeats": "crossed"}, {"repeat": "run", "fixed": "condition"}):
        study = generalizability(crossed(np.random.default_rng(6), 5, 6, 3, 2), condition="condition", **options)
        assert study.sizes == {"task": 6.0, "condition": 3.0, "repeat": 2.0}
        row = study.decision().iloc[0]
        assert row["generalizability"] == pytest.approx(study.generalizability, rel=1e-10)
        assert row["dependability"] == pytest.approx(study.dependability, rel=1e-10)
        assert row["relative_error_sd"] ** 2 == pytest.approx(study.relative_error_variance, rel=1e-10)
        assert row["absolute_error_sd"] ** 2 == pytest.approx(study.absolute_error_variance, rel=1e-10)


def test_fixed_conditions_move_to_the_universe_score() -> None:
    frame = crossed(np.random.default_rng(7), 6, 7, 2)
    study = generalizability(frame, condition="condition", fixed=["condition"])
    value = study.components["variance"]
    assert study.universe_variance == pytest.approx(value["model"] + value["model x condition"] / 2, rel=1e-10)
    relative = value["model x task"] / 7 + value["model x task x condition"] / 14
    assert study.relative_error_variance == pytest.approx(relative, rel=1e-10)
    assert study.absolute_error_variance == pytest.approx(
        relative + value["task"] / 7 + value["task x condition"] / 14, rel=1e-10
    )


def test_degrees_of_freedom() -> None:
    effects = effects_of(3, nested=True)
    universe = Universe(effects, np.array([1.0, 2.0, 3.0, 4.0]), (True, True, True), True)
    assert degrees_of_freedom(universe, [1, 10, 5], False) == 9
    fixed = Universe(effects, np.array([1.0, 2.0, 3.0, 4.0]), (True, False, True), True)
    assert degrees_of_freedom(fixed, [1, 10, 5], False) == 40  # the repeats within ten tasks
    assert degrees_of_freedom(fixed, [1, 10, 1], False) != degrees_of_freedom(fixed, [1, 10, 1], False)  # nan
    two = Universe(effects_of(3), np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]), (True, True, True), False)
    parts = {9: 2 / 10 + 4 / 10, 4: 3 / 5 + 5 / 5, 36: 6 / 50 + 7 / 50}
    expected = sum(parts.values()) ** 2 / sum(part**2 / df for df, part in parts.items())
    assert degrees_of_freedom(two, [1, 10, 5], False) == pytest.approx(expected, rel=CLOSED_FORM)
    assert math.isnan(half_width(two, [1, 10, 1], False, 0.95))


def test_shares_of_unequal_models() -> None:
    """A model's mean over 4 rewards on 3 tasks, one of them twice: sum of squares of 2/4, 1/4, 1/4."""
    rows = [("a", 1, 1), ("a", 1, 2), ("a", 2, 1), ("a", 3, 1), ("b", 1, 1), ("b", 1, 2), ("b", 2, 1), ("b", 3, 1)]
    frame = pd.DataFrame(rows, columns=["model", "task", "run"]).assign(reward=[1, 2, 4, 3, 5, 5, 7, 9])
    study = generalizability(frame, repeat="run")
    np.testing.assert_allclose(study.shares, [1.0, 6 / 16, 6 / 16, 1 / 4], rtol=CLOSED_FORM)
    assert study.sizes["task"] == pytest.approx(16 / 6)
    assert study.sizes["repeat"] == pytest.approx(1.5)


def test_tasks_needed_is_the_smallest_number() -> None:
    study = generalizability(simulate(np.random.default_rng(8), 8, 12, 3), repeat="run")
    for of, column in (("mean", "mean_half_width"), ("difference", "difference_half_width")):
        for width in (0.05, 0.2, 0.5, 3.0):
            count = study.tasks_needed(width, n_repeats=2, of=of)
            reached = study.decision(n_tasks=[max(count - 1, 1), count], n_repeats=2)[column]
            assert reached.iloc[1] <= width
            assert count == 2 or reached.iloc[0] > width
    assert smallest(lambda _: False) is None


# invariants


@pytest.mark.parametrize("share", [1.0, 0.85])
def test_invariants(share: float) -> None:
    """Order and names of rows do not matter, a constant neither; twice the rewards have four times the variances."""
    frame = simulate(np.random.default_rng(9), 6, 9, 3).sample(frac=share, random_state=1)
    study = generalizability(frame, repeat="run")
    columns = ["estimate", "standard_error"]
    shuffled = frame.sample(frac=1.0, random_state=2).rename(columns={"model": "m", "task": "t", "reward": "x"})
    shuffled["m"] = shuffled["m"].map(lambda label: f"model {9 - label}")
    other = generalizability(shuffled, model="m", task="t", reward="x", repeat="run")
    np.testing.assert_allclose(other.components[columns], study.components[columns], rtol=1e-10)
    shifted = generalizability(frame.assign(reward=frame["reward"] + 1000.0), repeat="run")
    np.testing.assert_allclose(shifted.components[columns], study.components[columns], rtol=1e-9)
    doubled = generalizability(frame.assign(reward=frame["reward"] * 2.0), repeat="run")
    np.testing.assert_allclose(doubled.components[columns], 4.0 * study.components[columns], rtol=1e-10)
    assert doubled.generalizability == pytest.approx(study.generalizability, rel=1e-10)
    assert doubled.dependability == pytest.approx(study.dependability, rel=1e-10)


def test_names_of_nested_repeats_do_not_matter_those_of_crossed_ones_do() -> None:
    frame = simulate(np.random.default_rng(10), 6, 9, 3)
    renamed = frame.assign(run=(frame["run"] + frame["task"]) % 3)
    nested = [generalizability(each, repeat="run").components["estimate"] for each in (frame, renamed)]
    np.testing.assert_allclose(nested[1], nested[0], rtol=1e-10)
    one_by_one = [generalizability(each, repeat="run", repeats="crossed").components["estimate"] for each in (frame, renamed)]
    assert not np.allclose(one_by_one[1], one_by_one[0], rtol=1e-3)


def test_repeats_pool_the_crossed_residuals() -> None:
    """The mean square of nested repeats pools those of r, mr, tr and mtr."""
    frame = simulate(np.random.default_rng(11), 5, 7, 3)
    nested = generalizability(frame, repeat="run").components.loc["repeat:(model x task)"]
    parts = generalizability(frame, repeat="run", repeats="crossed").components
    parts = parts.loc[["repeat", "model x repeat", "task x repeat", "model x task x repeat"]]
    assert nested["sum_of_squares"] == pytest.approx(parts["sum_of_squares"].sum(), rel=1e-10)
    assert nested["df"] == parts["df"].sum()


# edges


@pytest.fixture
def frame() -> pd.DataFrame:
    return simulate(np.random.default_rng(12), 4, 6, 2)


def test_one_level(frame: pd.DataFrame) -> None:
    with pytest.raises(IdentificationError, match=r"Column 'model' has one model only.*\nGive the rewards of several models"):
        generalizability(frame[frame["model"] == 0], repeat="run")
    with pytest.raises(IdentificationError, match="Column 'task' has one task only"):
        generalizability(frame[frame["task"] == 0], repeat="run")
    with pytest.raises(IdentificationError, match=r"one condition only.*\nLeave condition= out"):
        generalizability(frame.assign(condition="zero-shot"), repeat="run", condition="condition")
    single = frame[frame["run"] == 0]
    with pytest.raises(IdentificationError, match=r"Every cell has one repeat.*model and task.\nLeave repeat= out"):
        generalizability(single, repeat="run")
    assert list(generalizability(single).effects) == ["model", "task", "model x task"]


def test_repeated_cells(frame: pd.DataFrame) -> None:
    with pytest.raises(RepeatsError, match=r"(?s)24 cells with more than one reward \(model x task\): \(0, 0\), .*with repeat="):
        generalizability(frame)
    with pytest.raises(RepeatsError, match=r"2 cells .*: \(0, 0, 0\), \(0, 0, 1\)\.\n.*its own number"):
        generalizability(pd.concat([frame, frame.head(2)]), repeat="run")


def test_missing_rewards(frame: pd.DataFrame) -> None:
    blank = frame.assign(reward=frame["reward"].where(frame.index > 2))
    with pytest.raises(DataError, match=r"3 rewards of 48 missing: \(0, 0, 0\), .*\nPass missing='omit'.*missing='zero'"):
        generalizability(blank, repeat="run")
    omitted, dropped = generalizability(blank, repeat="run", missing="omit"), generalizability(frame.iloc[3:], repeat="run")
    np.testing.assert_allclose(omitted.components["estimate"], dropped.components["estimate"], rtol=CLOSED_FORM)
    assert any("3 rewards missing, left out" in note for note in omitted.diagnostics)
    assert any("Henderson's method 1" in note for note in omitted.diagnostics)
    zero = generalizability(blank, repeat="run", missing="zero")
    filled = generalizability(blank.fillna({"reward": 0.0}), repeat="run")
    np.testing.assert_array_equal(zero.components["estimate"], filled.components["estimate"])
    assert any("3 rewards missing, counted as 0" in note for note in zero.diagnostics)
    with pytest.raises(DataError, match="None of the 48 rewards"):
        generalizability(frame.assign(reward=np.nan), repeat="run", missing="omit")


def test_rewards_that_are_no_numbers(frame: pd.DataFrame) -> None:
    reward = frame["reward"]
    with pytest.raises(DataError, match=r"2 rewards in column 'reward' not numbers: 'good', 'bad' \(rows 0, 1"):
        generalizability(frame.assign(reward=["good", "bad", *reward[2:]]), repeat="run")
    with pytest.raises(DataError, match="not numbers: Timestamp"):
        generalizability(frame.assign(reward=pd.Timestamp("2020-01-01")), repeat="run")
    with pytest.raises(DataError, match=r"infinite: rows 0\. Expected finite"):
        generalizability(frame.assign(reward=reward.where(frame.index > 0, np.inf)), repeat="run")
    with pytest.raises(DataError, match="complex"):
        generalizability(frame.assign(reward=reward + 0j), repeat="run")
    right = reward > 3.0
    expected = generalizability(frame.assign(reward=right.astype(float)), repeat="run").components["estimate"]
    for column in (right, right.astype("boolean"), right.astype(int).astype(str), right.astype("Int64"), right.astype(object)):
        found = generalizability(frame.assign(reward=column), repeat="run").components["estimate"]
        np.testing.assert_array_equal(found, expected)


def test_constant_rewards(frame: pd.DataFrame) -> None:
    study = generalizability(frame.assign(reward=0.7), repeat="run")
    np.testing.assert_array_equal(study.components["estimate"], 0.0)
    assert math.isnan(study.generalizability)
    assert math.isnan(study.dependability)
    assert any("all rewards are alike" in note for note in study.diagnostics)
    assert "all rewards are alike" in study.summary()


def test_additive_rewards_have_no_interaction() -> None:
    cells = itertools.product(range(5), range(7))
    frame = pd.DataFrame([(m, t, 0.1 * m + 0.37 * t) for m, t in cells], columns=["model", "task", "reward"])
    study = generalizability(frame)
    assert study.components.loc["model x task", "estimate"] == 0.0
    assert study.generalizability == pytest.approx(1.0, rel=CLOSED_FORM)


def test_negative_estimates_are_shown_named_and_counted_as_0() -> None:
    frame = pd.DataFrame([(m, t, float(m == t)) for m in range(4) for t in range(4)], columns=["model", "task", "reward"])
    study = generalizability(frame)
    assert study.components.loc["model", "estimate"] == pytest.approx(-1 / 12)
    assert study.components.loc["model", "variance"] == 0.0
    assert study.diagnostics[0] == "2 estimates below 0, counted as 0: model (-0.0833), task (-0.0833)"
    assert "2 estimates below 0" in study.summary()
    assert study.generalizability == 0.0


def test_designs_that_do_not_tell_effects_apart(frame: pd.DataFrame) -> None:
    own = frame.assign(task=frame["model"] * 10 + frame["task"])
    with pytest.raises(IdentificationError, match="divide the rewards in the same way: task and model x task"):
        generalizability(own, repeat="run")
    single = frame[frame["run"] == 0]
    with pytest.raises(IdentificationError, match="With task fixed and no repeats, error cannot be told"):
        generalizability(single, fixed="task")
    assert same_partitions(np.array([2, 3, 6]), effects_of(2)) == []


def test_arguments(frame: pd.DataFrame) -> None:
    wrong: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"model": "nobody"}, LabelError, "model names 1 column that the table lacks: 'nobody'"),
        ({"model": "task"}, DataError, "model and task name the same column: 'task'"),
        ({"model": ["model"]}, DataError, "model has to name one column"),
        ({"repeats": "Nested"}, DataError, "Did you mean 'nested'"),
        ({"missing": "drop"}, DataError, "missing has to be one of"),
        ({"fixed": "condition"}, DataError, "fixed names 'condition', which the study does not have"),
        ({"fixed": "repeat"}, DataError, "nested repeats are a sample by nature"),
        ({"fixed": "model"}, DataError, "fixed has to be one of"),
    ]
    for options, kind, message in wrong:
        with pytest.raises(kind, match=message):
            generalizability(frame, **{"repeat": "run", **options})
    with pytest.raises(DataError, match=r"rewards has to be a DataFrame.*got list"):
        generalizability([1], repeat="run")  # type: ignore[arg-type]
    with pytest.raises(LabelError, match="2 rows without a model label in column 'model': rows 0, 1"):
        generalizability(frame.assign(model=frame["model"].where(frame.index > 1)), repeat="run")
    with pytest.raises(LabelError, match="2 model labels differ in type alone: 1, '1'"):
        generalizability(frame.assign(model=[1, "1"] * 24), repeat="run")
    twice = pd.concat([frame, frame["model"]], axis=1)
    with pytest.raises(LabelError, match="several columns 'model'"):
        generalizability(twice, repeat="run")


def test_decision_arguments(frame: pd.DataFrame) -> None:
    study = generalizability(frame, repeat="run")
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"n_conditions": 2}, "n_conditions=2 was asked of a study without conditions"),
        ({"n_tasks": []}, "list of sizes to try is empty"),
        ({"n_tasks": 0}, "n_tasks has to be at least 1"),
        ({"n_repeats": 2.5}, "n_repeats has to be a whole number"),
        ({"confidence_level": 95}, "Did you mean 0.95"),
    ]
    for options, message in wrong:
        with pytest.raises(DataError, match=message):
            study.decision(**options)
    table = study.decision(n_tasks=[1, 10, 100], n_repeats=[1, 2])
    assert table[["n_tasks", "n_repeats"]].to_numpy().tolist() == [[1, 1], [1, 2], [10, 1], [10, 2], [100, 1], [100, 2]]
    assert table["mean_half_width"].isna().tolist() == [True, True, False, False, False, False]  # one task gives no interval
    for width, message in ((0.0, "half_width has to be above 0"), ("wide", "half_width has to be one finite number")):
        with pytest.raises(DataError, match=message):
            study.tasks_needed(width)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="of has to be one of 'mean', 'difference'"):
        study.tasks_needed(0.1, of="median")


def test_what_tasks_cannot_bring() -> None:
    frame = crossed(np.random.default_rng(13), 6, 7, 3)
    study = generalizability(frame, condition="condition")
    with pytest.raises(DataError, match=r"it stays at .*random conditions.\nAsk for more of those, or count them as fixed"):
        study.tasks_needed(0.01)
    assert generalizability(frame, condition="condition", fixed="condition").tasks_needed(0.01) > 1000
    runs = crossed(np.random.default_rng(14), 6, 7, 3).rename(columns={"condition": "run"})
    fixed = generalizability(runs, repeat="run", fixed="task")
    with pytest.raises(DataError, match="The tasks are fixed"):
        fixed.tasks_needed(0.1)
    with pytest.raises(DataError, match="The tasks are fixed: the study's 7 are all there are; n_tasks=8"):
        fixed.decision(n_tasks=8)
    run = fixed.components.loc["repeat:(model x task)", "variance"]
    width = fixed.decision(n_repeats=4)["mean_half_width"].iloc[0]
    assert width == pytest.approx(stats.t.ppf(0.975, 21) * math.sqrt(run / 28), rel=1e-10)


def test_the_frame_is_not_changed_and_arrays_are_read_only(frame: pd.DataFrame) -> None:
    before = frame.copy()
    study = generalizability(frame, repeat="run")
    pd.testing.assert_frame_equal(frame, before)
    with pytest.raises(ValueError, match="read-only"):
        study.found.estimates[0] = 1.0


def test_too_large_for_standard_errors(frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psychoedu.bootstrap.variance_components.MOST_PAIRS", 10)
    study = generalizability(frame.iloc[1:], repeat="run")
    assert study.components["standard_error"].isna().all()
    assert study.components["estimate"].notna().all()
    assert any("standard errors were not computed" in note for note in study.diagnostics)


@pytest.mark.parametrize("share", [1.0, 0.9])
def test_round_trip(share: float, tmp_path: Path) -> None:
    frame = crossed(np.random.default_rng(15), 4, 5, 3, 2).sample(frac=share, random_state=1)
    study = generalizability(frame, condition="condition", repeat="run", fixed="condition")
    back = pe.load(study.save(tmp_path / "study.json"))
    assert isinstance(back, Generalizability)
    pd.testing.assert_frame_equal(back.components, study.components, check_exact=True)
    assert back.to_dict() == study.to_dict()
    assert (back.summary(), back.options, back.data_summary) == (study.summary(), study.options, study.data_summary)
    assert "Generalizability study" in back._repr_html_()
    content = study.to_dict()
    for name, value in {"facets": ["task", "model"], "nested": 1, "fixed": ["model"], "shares": [1.0], "columns": ["a"]}.items():
        with pytest.raises(FileFormatError, match=name):
            Generalizability.from_dict({**content, name: value})


# simulation


@pytest.mark.parametrize("share", [1.0, 0.8])
def test_components_are_recovered_and_their_errors_honest(share: float) -> None:
    """Over many studies the mean estimate is the truth, and the mean squared standard error the variance of the estimates.

    The latter exactly only where balanced; with unequal cells the errors come from estimates put in for the truth.
    """
    rng = np.random.default_rng(16)
    truth = np.array([1.0, 0.64, 0.36, 0.25])
    estimates, squares = [], []
    for _ in range(400 if share == 1.0 else 150):
        frame = simulate(rng, 5, 8, 2)
        if share < 1.0:
            frame = frame[rng.random(len(frame)) < share]
        table = generalizability(frame, repeat="run").components
        estimates.append(table["estimate"].to_numpy())
        squares.append(table["standard_error"].to_numpy() ** 2)
    found, squared = np.array(estimates), np.array(squares)
    errors = found.std(axis=0, ddof=1) / math.sqrt(len(found))
    assert (np.abs(found.mean(axis=0) - truth) < MC_ERRORS * errors).all()
    deviations = (found - truth) ** 2
    gap = squared - deviations
    within = np.abs(gap.mean(axis=0)) < MC_ERRORS * gap.std(axis=0, ddof=1) / math.sqrt(len(gap))
    if share == 1.0:
        assert within.all()
    else:
        ratio = squared.mean(axis=0) / deviations.mean(axis=0)
        assert ((ratio > 0.7) & (ratio < 2.0)).all()


@pytest.mark.slow
def test_the_half_width_that_is_promised_is_kept() -> None:
    """New studies of the size asked for: their t intervals cover, and their mean squared half-width is the one promised."""
    rng = np.random.default_rng(17)
    sds = (0.3, 0.25, 0.2, 0.3)
    study = generalizability(simulate(rng, 60, 400, 3, sds), repeat="run")
    wanted, repeats = 0.1, 2
    for of in ("mean", "difference"):
        count = study.tasks_needed(wanted, n_repeats=repeats, of=of)
        promised = study.decision(count, repeats)[f"{of}_half_width"].iloc[0]
        runs = 20_000
        task = sds[1] * rng.normal(size=(runs, 1, count))
        cell = sds[2] * rng.normal(size=(runs, 2, count)) + sds[3] / math.sqrt(repeats) * rng.normal(size=(runs, 2, count))
        scores = task + cell  # of two models whose universe scores are 0
        values = scores[:, 0] if of == "mean" else scores[:, 0] - scores[:, 1]
        width = stats.t.ppf(0.975, count - 1) * values.std(axis=1, ddof=1) / math.sqrt(count)
        coverage = np.mean(np.abs(values.mean(axis=1)) <= width)
        assert abs(coverage - 0.95) < MC_ERRORS * math.sqrt(0.95 * 0.05 / runs)
        # the components are estimates themselves: their standard errors let the width be off by 10%
        assert math.sqrt(np.mean(width**2)) == pytest.approx(promised, rel=0.1)
        assert promised <= wanted
        if of == "mean":
            fixed = np.mean(np.abs(values.mean(axis=1)) <= promised)
            assert 0.94 <= fixed <= 0.97


def test_promised_width_with_known_components() -> None:
    """With the components known, the root mean square width of the t interval is the promise."""
    rng = np.random.default_rng(18)
    universe = Universe(effects_of(3, nested=True), np.array([0.1, 0.06, 0.04, 0.09]), (True, True, True), True)
    count, repeats, runs = 12, 3, 4000
    values = math.sqrt(0.06 + 0.04 + 0.09 / repeats) * rng.normal(size=(runs, count))
    width = stats.t.ppf(0.975, count - 1) * values.std(axis=1, ddof=1) / math.sqrt(count)
    promised = half_width(universe, [1, count, repeats], False, 0.95)
    squares = width**2
    assert abs(squares.mean() - promised**2) < MC_ERRORS * squares.std() / math.sqrt(runs)
    assert shares_of_sizes(universe.effects, [1, count, repeats]).tolist() == [1.0, 1 / 12, 1 / 12, 1 / 36]
