"""Contrasting groups and borderline group: published figures, independent fits, sampling error by simulation, edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import psychoedu
from psychoedu.exceptions import DataError, DuplicateLabelError, LabelError
from psychoedu.irt.bank import ItemBank
from psychoedu.standard_setting.examinees import borderline_group, contrasting_groups, median_standard_error

FIT = 1e-6
SHIFT = 1e-8
MC_ERRORS = 4.0
DEAD = (2, 8, 15, 23, 27)
"""Insects killed, of 30 each, at concentrations 0 to 4 (Bliss, 1935)."""
DOLLARS = (30, 20, 15, 10, 10, 60, 20, 25, 20, 30, 10, 5, 50, 40, 20, 10, 0, 20, 50)
TEN = (25, 29, 35, 36, 36, 40, 41, 43, 44, 54)


def logistic(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


def judged(n: int = 600, seed: int = 0, noise: float = 0.7) -> tuple[pd.Series, pd.Series]:
    """Abilities and judgements CSE-3 to CSE-6 that rise with them."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=n)
    seen = theta + rng.normal(0.0, noise, n)
    labels = np.array(["CSE-3", "CSE-4", "CSE-5", "CSE-6"])[np.searchsorted([-0.8, 0.1, 1.0], seen)]
    index = [f"r{i}" for i in range(n)]
    return pd.Series(theta, index=index), pd.Series(labels, index=index)


def fitted(x: Any, y: Any, target: float = 0.0) -> tuple[float, float]:
    """Cut and standard error of a logistic regression, by a general optimiser and the numbers that it needs."""

    def loss(beta: Any) -> float:
        eta = beta[0] + beta[1] * x
        return float(np.sum(np.logaddexp(0.0, eta) - y * eta))

    def slope(beta: Any) -> Any:
        residual = logistic(beta[0] + beta[1] * x) - y
        return np.array([residual.sum(), (residual * x).sum()])

    b0, b1 = minimize(loss, [0.0, 1.0], jac=slope, method="BFGS", options={"gtol": 1e-9}).x
    p = logistic(b0 + b1 * x)
    design = np.column_stack((np.ones(len(x)), x))
    covariance = np.linalg.inv(design.T @ (design * (p * (1 - p))[:, None]))
    cut = (target - b0) / b1
    toward = np.array([-1.0, -cut]) / b1
    return float(cut), float(np.sqrt(toward @ covariance @ toward))


@pytest.mark.parametrize(("probability", "dose", "error"), [(0.5, 2.0, 0.17844), (0.9, 3.8911, None)])
def test_median_lethal_dose(probability: float, dose: float, error: float | None) -> None:
    """Faraway (2006), Extending the linear model with R, section 2.10: MASS::dose.p of these data."""
    theta = pd.Series(np.repeat(np.arange(5.0), 30))
    dead = np.concatenate([np.arange(30) < count for count in DEAD])
    cuts = contrasting_groups(theta, np.where(dead, "dead", "alive"), levels=["dead"], probability=probability)
    assert cuts.values[0] == pytest.approx(dose, abs=5e-5)
    if error is not None:
        assert cuts.standard_errors.loc["dead", "panel"] == pytest.approx(error, abs=5e-6)
        assert cuts.options["slopes"][0] == pytest.approx(1.1619, abs=5e-5)
    counts = np.column_stack((DEAD, 30 - np.array(DEAD))).ravel()
    short = pd.Series(np.repeat(np.arange(5.0), 2))
    same = contrasting_groups(short, ["dead", "alive"] * 5, levels=["dead"], probability=probability, weights=counts)
    assert same.values[0] == pytest.approx(cuts.values[0], abs=SHIFT)
    assert same.panel_covariance[0, 0] == pytest.approx(cuts.panel_covariance[0, 0], rel=1e-6)


def test_against_an_independent_fit() -> None:
    theta, labels = judged()
    cuts = contrasting_groups(theta, labels)
    assert cuts.levels == ("CSE-4", "CSE-5", "CSE-6")
    assert cuts.method == "contrasting groups"
    for level in cuts.levels:
        expected = fitted(theta.to_numpy(), (labels >= level).to_numpy(dtype=float))
        found = cuts.cut_scores[level], cuts.standard_errors.loc[level, "panel"]
        assert found == pytest.approx(expected, abs=FIT)
    upper = contrasting_groups(theta, labels, probability=0.8, levels=["CSE-5"])
    expected = fitted(theta.to_numpy(), (labels >= "CSE-5").to_numpy(dtype=float), np.log(4.0))
    assert (upper.values[0], upper.standard_errors["panel"].iloc[0]) == pytest.approx(expected, abs=FIT)
    assert np.isnan(cuts.standard_errors[["items", "linking", "total"]].to_numpy()).all()
    assert any("items and linking parts" in note and "unknown" in note for note in cuts.diagnostics)


def test_covariance_of_two_cuts_against_simulation() -> None:
    """Judgements drawn anew from parallel logistic curves at fixed abilities."""
    rng = np.random.default_rng(5)
    x = np.linspace(-2.5, 2.5, 400)
    theta = pd.Series(x)
    n, found, predicted = 250, [], []
    for _ in range(n):
        seen = 2.0 * x + rng.logistic(size=len(x))
        cuts = contrasting_groups(theta, (seen > -1.0).astype(int) + (seen > 1.2).astype(int))
        found.append(cuts.values)
        predicted.append(cuts.panel_covariance)
    values, mean = np.array(found), np.mean(predicted, axis=0)
    spread = np.cov(values, rowvar=False)
    error = np.sqrt((np.outer(np.diag(spread), np.diag(spread)) + spread**2) / n)
    assert (np.abs(spread - mean) < MC_ERRORS * error).all()
    assert spread[0, 1] > MC_ERRORS * error[0, 1]  # the two hang together, which a diagonal would miss
    assert (np.abs(values.mean(axis=0) - [-0.5, 0.6]) < MC_ERRORS * np.sqrt(np.diag(spread) / n) + 0.01).all()


def test_what_error_in_ability_does() -> None:
    """The posterior mean leaves the cut where it is; a noisy estimate moves it away from the mean by 1 / reliability."""
    rng = np.random.default_rng(8)
    n, cut, reliability = 40_000, 0.8, 0.7
    theta = rng.normal(size=n)
    estimate = theta + rng.normal(0.0, np.sqrt(1.0 / reliability - 1.0), n)
    labels = np.where(theta + rng.normal(0.0, 0.3, n) >= cut, "upper", "lower")
    for scores, expected in ((theta, cut), (reliability * estimate, cut), (estimate, cut / reliability)):
        found = contrasting_groups(pd.Series(scores), labels, levels=["upper"])
        # the logistic stands in for a normal ogive: its median is shifted by less than 0.01 here
        assert found.values[0] == pytest.approx(expected, abs=MC_ERRORS * found.standard_errors["panel"].iloc[0] + 0.01)


def test_shift_and_order() -> None:
    theta, labels = judged()
    own, moved = contrasting_groups(theta, labels), contrasting_groups(theta + 1.0, labels)
    np.testing.assert_allclose(moved.values - own.values, 1.0, atol=SHIFT)
    np.testing.assert_allclose(moved.panel_covariance, own.panel_covariance, rtol=1e-6)
    shuffled = contrasting_groups(theta.sample(frac=1.0, random_state=1), labels.sample(frac=1.0, random_state=2))
    np.testing.assert_allclose(shuffled.values, own.values, atol=SHIFT)
    numbers = labels.str[-1].astype(float)
    np.testing.assert_allclose(contrasting_groups(theta, numbers, scale="CSE").values, own.values, atol=SHIFT)
    assert contrasting_groups(theta, numbers, scale="CSE").levels == own.levels
    lowest = labels.replace("CSE-3", "below CSE-4")
    np.testing.assert_allclose(contrasting_groups(theta, lowest).values, own.values, atol=SHIFT)
    one = contrasting_groups(theta, labels, levels=["CSE-5"])
    assert one.values[0] == pytest.approx(own.cut_scores["CSE-5"], abs=SHIFT)
    both = contrasting_groups(theta, labels, levels=["CSE-3", "CSE-5"])
    assert both.levels == ("CSE-5",)
    assert any("no cut score for CSE-3" in note for note in both.diagnostics)


def test_separated_groups() -> None:
    theta = pd.Series([-2.0, -1.0, -0.4, 0.2, 1.0, 1.5])
    cuts = contrasting_groups(theta, ["A1", "A1", "A1", "A2", "A2", "A2"])
    assert cuts.values[0] == pytest.approx(-0.1)
    assert np.isnan(cuts.standard_errors.loc["A2", "panel"])
    assert any("without overlap" in note and "unknown" in note for note in cuts.diagnostics)
    assert any("few respondents judged below A2: 3" in note for note in cuts.diagnostics)


def test_refusals_name_the_level() -> None:
    theta, labels = judged()
    with pytest.raises(DataError, match=r"CSE-4 has no cut score: those judged at or above it are no more able \(mean 1"):
        contrasting_groups(pd.Series([1.0, 2.0, 1.0, 2.0]), ["CSE-3", "CSE-3", "CSE-4", "CSE-4"])
    with pytest.raises(DataError, match="no more able"):
        contrasting_groups(-theta, labels)
    with pytest.raises(DataError, match=r"CSE-8 has no cut score: of 600 respondents(?s:.*)none is"):
        contrasting_groups(theta, labels, levels=["CSE-4", "CSE-8"])
    with pytest.raises(DataError, match=r"gives nothing the level CSE-5(?s:.*)CSE-6"):
        contrasting_groups(theta, labels.replace("CSE-5", "CSE-4"), levels=["CSE-4", "CSE-5", "CSE-6"])
    with pytest.raises(DataError, match="knows but one level"):
        contrasting_groups(theta, labels.where(labels == "CSE-4"))
    with pytest.raises(LabelError, match="'CSE4'"):
        contrasting_groups(theta, labels.replace("CSE-3", "CSE4"), scale="CSE")
    with pytest.raises(LabelError, match="not among levels: 'poor', 'fair'"):
        contrasting_groups(pd.Series([0.0, 1, 2]), ["poor", "fair", "good"], levels=["good"])
    with pytest.raises(DataError, match=r"order of the levels(?s:.*)levels="):
        contrasting_groups(pd.Series([0.0, 1, 2]), ["poor", "fair", "good"])
    with pytest.raises(DataError, match="which lies below it"):
        contrasting_groups(theta, labels.replace("CSE-6", "below CSE-4"))
    with pytest.raises(DataError, match="expected the order of the scale"):
        contrasting_groups(theta, labels, levels=["CSE-5", "CSE-4"])


def test_crossing_cuts() -> None:
    """Two at the middle level who are more able than all others flatten the upper curve, whose cut moves below the lower one."""
    theta = pd.Series(np.r_[np.linspace(-1.0, 0.8, 20), np.full(2, 1.5), np.linspace(-0.9, 1.0, 35)])
    labels = ["A1"] * 20 + ["A2"] * 2 + ["B1"] * 35
    with pytest.raises(DataError, match=r"A2(?s:.*)B1(?s:.*)cross"):
        contrasting_groups(theta, labels)


def test_who_is_left_out() -> None:
    theta, labels = judged()
    before = contrasting_groups(theta.iloc[4:], labels)
    theta = theta.copy()
    theta.iloc[:3] = [np.nan, np.inf, -np.inf]
    labels = labels.copy()
    labels.iloc[3] = np.nan
    labels["stranger"] = "CSE-4"
    cuts = contrasting_groups(theta, labels)
    np.testing.assert_allclose(cuts.values, before.values, atol=SHIFT)
    notes = "\n".join(cuts.diagnostics)
    assert "ability infinite or missing: 3 respondents ('r0', 'r1', 'r2')" in notes
    assert "no judgement: 1 respondent" in notes
    assert "1 judgement of respondents who have no score" in notes
    assert "3 fall on respondents without a finite ability" in notes
    assert cuts.options["n_respondents"] == 596
    with pytest.raises(LabelError, match="no level for any"):
        contrasting_groups(theta, labels.rename(lambda name: f"other {name}"))
    with pytest.raises(DataError, match="Series of abilities"):
        contrasting_groups([0.0, 1.0], labels)
    with pytest.raises(DuplicateLabelError):
        contrasting_groups(theta, pd.concat([labels, labels.iloc[:1]]))


def scores_of(method: str) -> tuple[Any, pd.Series, ItemBank]:
    """Scores of 300 simulated respondents, the first of whom answered nothing, and judgements."""
    rng = np.random.default_rng(4)
    items = [f"q{j}" for j in range(12)]
    bank = ItemBank.from_arrays(items, np.full(12, 1.5), np.linspace(-1.8, 1.8, 12))
    theta = rng.normal(size=300)
    answers = pd.DataFrame((rng.random((300, 12)) < bank.probability(theta)).astype(float), columns=items)
    answers.iloc[0] = np.nan
    labels = pd.Series(np.where(theta + rng.normal(0.0, 0.5, 300) > 0.2, "B2", "B1"))
    return psychoedu.score(bank, answers, method=method), labels, bank


@pytest.mark.parametrize("method", ["eap", "ml"])
def test_scores(method: str) -> None:
    scores, labels, bank = scores_of(method)
    labels.index = scores.respondent_labels
    cuts = contrasting_groups(scores, labels, bank=bank)
    notes = "\n".join(cuts.diagnostics)
    assert "answered no item that tells of ability: 1 respondent" in notes
    assert ("EAP, shrunk" in notes) == (method == "eap")
    assert ("ML, which scatter" in notes) == (method == "ml")
    usable = np.isfinite(scores.theta.to_numpy())
    usable[0] = False
    expected = fitted(scores.theta.to_numpy()[usable], (labels == "B2").to_numpy(dtype=float)[usable])
    assert (cuts.values[0], cuts.standard_errors["panel"].iloc[0]) == pytest.approx(expected, abs=FIT)
    assert cuts.raw_scores().iloc[0]["expected_score"] == pytest.approx(float(bank.expected_score(cuts.values[0])))
    border = borderline_group(scores, {"B2": list(scores.respondent_labels[5:40])})
    assert border.values[0] == pytest.approx(float(np.median(scores.theta.iloc[5:40])))
    assert any("towards the prior mean" in note for note in border.diagnostics) == (method == "eap")
    with pytest.raises(DataError, match="ItemBank"):
        contrasting_groups(scores, labels, bank=bank.items)


@pytest.mark.parametrize(("values", "median", "error"), [(DOLLARS, 20.0, 5.390263), (TEN, 38.0, 3.261774)])
def test_median_of_published_values(values: tuple[float, ...], median: float, error: float) -> None:
    """R DGB, ci.median.os(0.05, dollars); R statpsych 2.0.0, ci.median(0.05, y): Price and Bonett's standard error."""
    cuts = borderline_group(pd.Series(values, dtype=float), ["pass"] * len(values))
    assert cuts.values[0] == median
    assert cuts.standard_errors.loc["pass", "panel"] == pytest.approx(error, abs=5e-7)
    assert any(f"few on the border of pass: {len(values)} respondents" in note for note in cuts.diagnostics)


def test_median_error_against_simulation() -> None:
    rng = np.random.default_rng(9)
    values = rng.normal(size=(1500, 401))
    n = len(values)
    found = [(np.median(row), median_standard_error(row) ** 2) for row in values]
    medians, variances = np.array(found).T
    spread = medians.std(ddof=1)
    error = spread / np.sqrt(2 * n) + np.sqrt(variances).std() / np.sqrt(n)
    assert np.sqrt(variances.mean()) == pytest.approx(spread, abs=MC_ERRORS * error)


def test_forms_of_borderline() -> None:
    theta = pd.Series(np.linspace(-2.0, 2.0, 41), index=[f"r{i}" for i in range(41)])
    groups = {"CSE-4": [f"r{i}" for i in range(3, 12)], "CSE-5": [f"r{i}" for i in range(20, 30)]}
    own = borderline_group(theta, groups)
    assert own.values.tolist() == pytest.approx([theta.iloc[7], theta.iloc[24:26].mean()])
    assert own.method == "borderline group"
    given = pd.Series({who: level for level, members in groups.items() for who in members})
    for other in (given, given.to_dict(), given.sample(frac=1.0, random_state=0)):
        np.testing.assert_array_equal(borderline_group(theta, other).values, own.values)
    numbers = given.str[-1].astype(int)
    assert borderline_group(theta, numbers, scale="CSE").levels == ("CSE-4", "CSE-5")
    np.testing.assert_allclose(borderline_group(theta + 1.0, groups).values - own.values, 1.0, atol=SHIFT)
    some = borderline_group(theta, given, levels=["CSE-5"])
    assert some.values[0] == own.values[1]
    assert any("border of another level: 9 respondents" in note for note in some.diagnostics)
    assert own.panel_covariance[0, 1] == 0.0  # no respondent is in both


def test_borderline_refusals() -> None:
    theta = pd.Series([0.0, 1.0, 2.0, np.inf], index=list("abcd"))
    with pytest.raises(DataError, match="on the border of 'B2'"):
        borderline_group(theta, {"B1": ["a"], "B2": ["d"]})
    with pytest.raises(DuplicateLabelError, match="1 respondent on two borders, or named twice: 'b'"):
        borderline_group(theta, {"B1": ["a", "b"], "B2": ["b"]})
    with pytest.raises(DataError, match="cut scores fall"):
        borderline_group(theta, {"B1": ["c"], "B2": ["a"]})
    one = borderline_group(theta, {"B1": ["b"]})
    assert np.isnan(one.standard_errors.loc["B1", "panel"])
    assert any("no spread" in note for note in one.diagnostics)
    alike = borderline_group(pd.Series([0.0, 1.0, 1.0, 1.0, 3.0]), ["B1"] * 5)
    assert alike.standard_errors.loc["B1", "panel"] > 0.0
    alike = borderline_group(pd.Series(np.r_[0.0, np.ones(30), 3.0]), ["B1"] * 32)
    assert np.isnan(alike.standard_errors.loc["B1", "panel"])
    assert any("all alike" in note for note in alike.diagnostics)


def test_save_and_load(tmp_path: Any) -> None:
    theta, labels = judged(200)
    for cuts in (contrasting_groups(theta, labels), borderline_group(theta, labels)):
        back = psychoedu.load(cuts.save(tmp_path / "cuts.json"))
        assert back.to_dict() == cuts.to_dict()
        np.testing.assert_array_equal(back.panel_covariance, cuts.panel_covariance)
        assert cuts.method in back.summary()
