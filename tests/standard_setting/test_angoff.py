"""Angoff: a worked case, agreement by published figures, the inverse of the test characteristic curve, delta errors, edges."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq

import psychoedu
from psychoedu.exceptions import DataError, DuplicateLabelError, LabelError
from psychoedu.irt.bank import ItemBank
from psychoedu.irt.linking_constants import LinkingConstants
from psychoedu.standard_setting.angoff import AngoffCuts, angoff

EXACT = 1e-12
INVERSE = 1e-9
DIFFERENCES = 1e-6
MC_ERRORS = 4.0
ROWS = [[0.6, 0.7, 0.5, 0.8], [0.5, 0.6, 0.6, 0.7], [0.7, 0.8, 0.6, 0.9]]
ITEMS = ["q1", "q2", "q3", "q4"]
A = np.array([1.0, 1.3, 0.7, 1.6])
D = np.array([0.4, -0.3, 0.1, 0.8])
C = np.array([0.0, 0.2, 0.0, 0.25])
MEDIAN_RATIO_3 = np.sqrt(3.0 * (1.0 - np.sqrt(3.0) / np.pi))
"""Standard error of the median of three normal values in units of that of their mean, in closed form."""


def case() -> pd.DataFrame:
    """Three judges and four items, worked by hand: cuts 2.6, 2.4, 3.0."""
    return pd.DataFrame(ROWS, index=["x", "y", "z"], columns=ITEMS)


def long(*tables: tuple[Any, Any, pd.DataFrame]) -> pd.DataFrame:
    """Put wide tables, each of a round and a level, under one another."""
    parts = []
    for number, level, table in tables:
        part = table.rename_axis("panellist").reset_index().melt("panellist", var_name="item", value_name="rating")
        parts.append(part.assign(round=number, level=level))
    return pd.concat(parts, ignore_index=True)


def bank(covariance: Any = None, c: Any = C, a: Any = A, d: Any = D) -> ItemBank:
    return ItemBank.from_arrays(ITEMS, a, d, c, covariance)


def curve(theta: float, a: Any = A, d: Any = D, c: Any = C) -> float:
    return float(np.sum(c + (1.0 - c) / (1.0 + np.exp(-(a * theta + d)))))


def solved(raw: float, a: Any = A, d: Any = D, c: Any = C) -> float:
    """The ability with an expected score, by Brent's method on the curve written above."""
    return float(brentq(lambda theta: curve(theta, a, d, c) - raw, -30.0, 30.0, xtol=1e-13))


def test_case() -> None:
    cuts = angoff(case())
    assert cuts.panellists["pass"].to_dict() == pytest.approx({"x": 2.6, "y": 2.4, "z": 3.0}, abs=EXACT)
    assert cuts.cut_scores["pass"] == pytest.approx(8.0 / 3.0, abs=EXACT)
    assert cuts.mean["pass"] == pytest.approx(2.66667, abs=5e-6)
    assert cuts.median["pass"] == pytest.approx(2.6, abs=EXACT)
    assert cuts.standard_errors.loc["pass", "panel"] == pytest.approx(0.17638, abs=5e-6)
    median = angoff(case(), aggregate="median")
    assert median.cut_scores["pass"] == pytest.approx(2.6, abs=EXACT)
    expected = np.std([2.6, 2.4, 3.0], ddof=1) / np.sqrt(3) * MEDIAN_RATIO_3
    assert median.standard_errors.loc["pass", "panel"] == pytest.approx(expected, rel=1e-6)
    assert cuts.standard_errors.loc["pass", "median"] == pytest.approx(expected, rel=1e-6)
    assert cuts.to_frame().loc["pass", "percent"] == pytest.approx(200.0 / 3.0)


def test_agreement_of_published_ratings() -> None:
    """Shrout and Fleiss (1979), table 2: six targets by four judges; ICC(2,1) 0.29 and ICC(2,4) 0.62, whatever the unit."""
    table = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]])
    cuts = angoff(pd.DataFrame(table.T / 10.0))
    row = cuts.agreement.loc[(1, "pass")]
    assert [round(row["icc"], 2), round(row["icc_mean"], 2)] == [0.29, 0.62]
    raw = table.sum(axis=0) / 10.0
    pairs = [abs(one - other) for one, other in itertools.combinations(raw, 2)]
    mad = np.median(np.abs(raw - np.median(raw)))
    expected = [4, raw.mean(), np.median(raw), np.ptp(raw), raw.std(ddof=1), mad, np.mean(pairs)]
    np.testing.assert_allclose(row[["n", "mean", "median", "range", "sd", "mad", "pairwise"]], expected, rtol=EXACT)


def test_long_wide_array_and_yes_no() -> None:
    wide = angoff(case())
    shuffled = long((1, "pass", case())).sample(frac=1.0, random_state=3)
    pd.testing.assert_series_equal(angoff(shuffled).cut_scores, wide.cut_scores, rtol=EXACT)
    pd.testing.assert_series_equal(angoff(case().rename_axis("panellist").reset_index()).cut_scores, wide.cut_scores)
    assert angoff(ROWS).cut_scores["pass"] == wide.cut_scores["pass"]
    answers = pd.DataFrame([[1, 0, 1, 1], [0, 0, 1, 1], [1, 1, 1, 1]], columns=ITEMS)
    for given in (answers, answers.astype(bool), answers.astype(object)):
        assert angoff(given, kind="yes-no").panellists["pass"].tolist() == [3.0, 2.0, 4.0]
    named = angoff(case(), levels="CSE-4")
    assert named.levels == ("CSE-4",)
    assert named.scale.name == "CSE"
    assert angoff(case(), levels=[4], scale="CSE").levels == ("CSE-4",)
    assert angoff(case(), items=["q4", "q1"]).cut_scores["pass"] == pytest.approx((1.4 + 1.2 + 1.6) / 3.0, abs=EXACT)


def test_rounds_and_movement() -> None:
    second = case()
    second.loc["x", "q1"] = 0.8
    second.loc["z", "q4"] = 0.5
    frame = long((1, "pass", case()), (2, "pass", second))
    cuts = angoff(frame)
    assert cuts.round == 2
    assert cuts.panellists["pass"].tolist() == pytest.approx([2.8, 2.4, 2.6], abs=EXACT)
    assert angoff(frame, round=1).panellists["pass"].tolist() == pytest.approx([2.6, 2.4, 3.0], abs=EXACT)
    row = cuts.movement.loc[(1, 2, "pass")]
    assert row[["n", "moved", "up", "down"]].tolist() == [3, 2, 1, 1]
    assert row["mean_change"] == pytest.approx(-0.2 / 3.0, abs=EXACT)
    assert row["mean_absolute_change"] == pytest.approx(0.2, abs=EXACT)
    assert row["cut_change"] == pytest.approx(7.8 / 3.0 - 8.0 / 3.0, abs=EXACT)
    assert row["ratings_changed"] == pytest.approx(2.0 / 12.0)
    assert row["sd_after"] == pytest.approx(np.std([2.8, 2.4, 2.6], ddof=1))
    assert "Movement" in cuts.summary()
    with pytest.raises(LabelError, match="round 3"):
        angoff(frame, round=3)


def test_missing_ratings() -> None:
    table = case()
    table.loc["y", "q3"] = np.nan
    with pytest.raises(DataError, match=r"1 rating missing: 'y, q3'(?s:.*)item-mean"):
        angoff(table)
    filled = angoff(table, missing="item-mean")
    assert filled.panellists.loc["y", "pass"] == pytest.approx(0.5 + 0.6 + 0.55 + 0.7, abs=EXACT)
    assert any("1 missing rating" in note for note in filled.diagnostics)
    assert filled.items.loc[("pass", "q3"), "n"] == 2
    assert filled.items.loc[("pass", "q3"), "mean"] == pytest.approx(0.55)
    table["q3"] = np.nan
    with pytest.raises(DataError, match="1 item that no one rated"):
        angoff(table, missing="item-mean")
    absent = long((1, "A", case()), (1, "B", case().drop(index="y") + 0.05))
    with pytest.raises(DataError, match=r"lacks all ratings of 1 panellist: 'y, B'"):
        angoff(absent, levels=["A", "B"])
    gone = angoff(absent, levels=["A", "B"], missing="item-mean")
    assert np.isnan(gone.panellists.loc["y", "B"])
    assert gone.cut_scores["B"] == pytest.approx((2.8 + 3.2) / 2.0)
    assert any("no rating for B" in note for note in gone.diagnostics)


@pytest.mark.parametrize(
    ("rating", "kind", "said"),
    [
        (60, "probability", r"x, q1: 60(?s:.*)Did you mean 0\.6\?"),
        (-0.1, "probability", "from 0 to 1"),
        (np.inf, "probability", "out of range"),
        ("high", "probability", "'high'"),
        (True, "probability", 'kind="yes-no"'),
        (0.6, "yes-no", 'kind="probability"'),
        (2, "yes-no", "0 or 1"),
    ],
)
def test_ratings_out_of_range(rating: Any, kind: str, said: str) -> None:
    table = (case() if kind == "probability" else case().round()).astype(object)
    table.loc["x", "q1"] = rating
    with pytest.raises(DataError, match=said):
        angoff(table, kind=kind)


def test_faulty_tables() -> None:
    frame = long((1, "pass", case()))
    with pytest.raises(DuplicateLabelError, match="1 rating given more than once: 'x, round 1, pass, q1'"):
        angoff(pd.concat([frame, frame.iloc[[0]]]))
    with pytest.raises(LabelError, match="'item'"):
        angoff(frame.drop(columns="item"))
    with pytest.raises(LabelError, match="wide table holds the ratings of one"):
        angoff(case(), levels=["A", "B"])
    with pytest.raises(LabelError, match="'q9'"):
        angoff(case(), items=["q1", "q9"])
    with pytest.raises(DuplicateLabelError, match="1 panellist in several rows: 'x'"):
        angoff(case().rename(index={"y": "x"}))
    with pytest.raises(DataError, match="items names no item"):
        angoff(case(), items=[])
    with pytest.raises(LabelError, match="without a panellist, in row 1"):
        angoff(frame.assign(panellist=frame["panellist"].where(frame.index > 0)))
    for nothing in (None, 3, pd.DataFrame(columns=["panellist", "item", "rating"])):
        with pytest.raises(DataError):
            angoff(nothing)
    for option in ({"kind": "odds"}, {"aggregate": "mode"}, {"missing": "zero"}):
        with pytest.raises(DataError, match="has to be one of"):
            angoff(case(), **option)


def test_crossed_levels() -> None:
    frame = long((1, "CSE-3", case()), (1, "CSE-4", case() - 0.1))
    with pytest.raises(DataError, match=r"cross 3 times: 'x: CSE-4 2.2 below CSE-3 2.6'"):
        angoff(frame)
    higher = case() + 0.05
    higher.loc["y", "q2"] = 0.55  # the sum still rises
    assert any(
        "1 rating of an item for a level lower" in note for note in angoff(long((1, 3, case()), (1, 4, higher))).diagnostics
    )
    assert angoff(long((1, 4, higher), (1, 3, case())), scale="CSE").levels == ("CSE-3", "CSE-4")


def test_small_panels() -> None:
    one = angoff(case().iloc[:1])
    assert np.isnan(one.standard_errors.to_numpy()).all()
    assert "unknown with one panellist" in one.diagnostics[0]
    assert any("too few panellists: 3" in note for note in angoff(case()).diagnostics)
    five = pd.DataFrame(np.vstack([ROWS, ROWS[:2]]), columns=ITEMS)
    assert angoff(five).diagnostics == ()
    cuts = one.to_theta(bank())
    assert np.isnan(cuts.standard_errors.loc["pass", "panel"])
    assert any("one panellist" in note for note in cuts.diagnostics)
    assert cuts.flags["pass"] == "too_few_panellists"
    assert angoff(five).to_theta(bank()).flags["pass"] == ""


def test_theta_of_each_panellist() -> None:
    thetas = np.array([solved(raw) for raw in (2.6, 2.4, 3.0)])
    mean = angoff(case(), bank=bank()).to_theta()
    median = angoff(case()).to_theta(bank(), aggregate="median")
    assert mean.method == "angoff"
    assert mean.values[0] == pytest.approx(thetas.mean(), abs=INVERSE)
    assert median.values[0] == pytest.approx(np.median(thetas), abs=INVERSE)
    own = thetas.std(ddof=1) / np.sqrt(3)
    assert mean.standard_errors.loc["pass", "panel"] == pytest.approx(own, rel=1e-8)
    assert median.standard_errors.loc["pass", "panel"] == pytest.approx(own * MEDIAN_RATIO_3, rel=1e-6)
    assert mean.panel_df == 2.0
    assert mean.options["n_panellists"] == 3
    assert curve(float(median.values[0])) == pytest.approx(2.6, abs=INVERSE)


def test_equal_rasch_items_in_closed_form() -> None:
    """r of J equal items: theta = b + logit(r / J)."""
    equal = ItemBank.from_arrays(ITEMS, np.ones(4), np.full(4, -0.7))
    cuts = angoff(case()).to_theta(equal, aggregate="median")
    assert cuts.values[0] == pytest.approx(0.7 + np.log(2.6 / 1.4), abs=INVERSE)


@pytest.mark.parametrize("aggregate", ["mean", "median"])
def test_gradient_against_differences(aggregate: str) -> None:
    table = pd.concat([case(), case().iloc[[0]].rename(index={"x": "w"}) + 0.03])  # an even panel
    cuts = angoff(table, aggregate=aggregate).to_theta(bank())
    raws = table.sum(axis=1)
    step = 1e-5
    found = []
    for j in range(4):
        for which in (0, 1):
            ends = []
            for sign in (1.0, -1.0):
                a, d = A.copy(), D.copy()
                (a, d)[which][j] += sign * step
                thetas = [solved(raw, a, d) for raw in raws]
                ends.append(np.mean(thetas) if aggregate == "mean" else np.median(thetas))
            found.append((ends[0] - ends[1]) / (2.0 * step))
    assert cuts.gradient is not None
    np.testing.assert_allclose(cuts.gradient[0], found, atol=DIFFERENCES)


def test_items_part_against_simulation() -> None:
    """The standard deviation of the cut over banks drawn from the covariance, each solved anew."""
    rng = np.random.default_rng(11)
    root = rng.normal(0.0, 0.03, (8, 8))
    covariance = root @ root.T
    cuts = angoff(case()).to_theta(bank(covariance))
    n = 4000
    draws = rng.multivariate_normal(np.column_stack((A, D)).ravel(), covariance, n)
    a, d = draws[:, 0::2, None], draws[:, 1::2, None]
    low, high = np.full((n, 3), -20.0), np.full((n, 3), 20.0)
    raws = np.array([2.6, 2.4, 3.0])
    for _ in range(60):  # bisection of all curves at once
        middle = (low + high) / 2.0
        score = (C[:, None] + (1.0 - C[:, None]) / (1.0 + np.exp(-(a * middle[:, None, :] + d)))).sum(axis=1)
        low, high = np.where(score < raws, middle, low), np.where(score < raws, high, middle)
    spread = ((low + high) / 2.0).mean(axis=1).std(ddof=1)
    assert cuts.standard_errors.loc["pass", "items"] == pytest.approx(spread, abs=MC_ERRORS * spread / np.sqrt(2 * n))


def test_items_unknown_without_covariance() -> None:
    cuts = angoff(case()).to_theta(bank())
    assert np.isnan(cuts.standard_errors.loc["pass", "items"])
    assert any("items part" in note and "unknown" in note for note in cuts.diagnostics)


def test_open_ends() -> None:
    table = case()
    table.loc["z"] = 1.0
    cuts = angoff(table)
    open_ended = cuts.to_theta(bank())
    assert open_ended.values[0] == np.inf
    assert "open_ended" in open_ended.flags["pass"]
    assert any("'z'" in note for note in open_ended.diagnostics)
    middle = cuts.to_theta(bank(), aggregate="median")
    assert middle.values[0] == pytest.approx(solved(2.6), abs=INVERSE)
    assert np.isnan(middle.standard_errors.loc["pass", "panel"])
    table.loc["z"] = [0.1, 0.1, 0.1, 0.15]  # exactly the sum of guessing, 0.45
    assert angoff(table).to_theta(bank()).values[0] == -np.inf
    table.loc["y"] = 1.0
    with pytest.raises(DataError, match="mean does not exist"):
        angoff(table).to_theta(bank())
    with pytest.raises(DataError, match="pass bank="):
        angoff(case()).to_theta()


def test_linking() -> None:
    covariance = np.diag(np.full(8, 0.01))
    link = LinkingConstants(1.2, -0.3, [[0.0016, 0.0], [0.0, 0.0009]])
    own, there = (angoff(case()).to_theta(bank(covariance), linking=how) for how in (None, link))
    theta = own.values[0]
    assert there.values[0] == pytest.approx(1.2 * theta - 0.3)
    before, after = own.standard_errors.loc["pass"], there.standard_errors.loc["pass"]
    assert after["panel"] == pytest.approx(1.2 * before["panel"])
    assert after["items"] == pytest.approx(1.2 * before["items"])
    assert after["linking"] == pytest.approx(np.sqrt(0.0016 * theta**2 + 0.0009))
    assert before["linking"] == 0.0
    # the curve stands on the bank's scale: mean raw cuts come back from the linked cut
    assert there.raw_scores().iloc[0]["expected_score"] == pytest.approx(curve(theta), abs=INVERSE)


def test_shift_and_order() -> None:
    own = angoff(case()).to_theta(bank())
    moved = angoff(case()).to_theta(bank(d=D - A))  # all difficulties one higher
    assert moved.values[0] - own.values[0] == pytest.approx(1.0, abs=INVERSE)
    turned = angoff(case().iloc[[2, 0, 1], [3, 1, 0, 2]]).to_theta(bank(np.diag(np.arange(1.0, 9.0))))
    straight = angoff(case()).to_theta(bank(np.diag(np.arange(1.0, 9.0))))
    assert turned.values[0] == pytest.approx(straight.values[0], abs=INVERSE)
    np.testing.assert_allclose(turned.standard_errors, straight.standard_errors, rtol=1e-8)


def test_items_against_the_model() -> None:
    cuts = angoff(case(), bank=bank())
    theta = np.mean([solved(raw) for raw in (2.6, 2.4, 3.0)])
    probability = C + (1.0 - C) / (1.0 + np.exp(-(A * theta + D)))
    frame = cuts.items.loc["pass"]
    np.testing.assert_allclose(frame["mean"], np.mean(ROWS, axis=0))
    np.testing.assert_allclose(frame["sd"], np.std(ROWS, axis=0, ddof=1))
    np.testing.assert_allclose(frame["probability"], probability, atol=INVERSE)
    np.testing.assert_allclose(frame["difference"], np.mean(ROWS, axis=0) - probability, atol=INVERSE)
    against = angoff(pd.DataFrame([1.0 - probability] * 5, columns=ITEMS), bank=bank())
    assert any("do not follow" in note for note in against.diagnostics)
    table = case()
    table.loc[:] = 1.0
    assert angoff(table, bank=bank()).items["probability"].tolist() == [1.0] * 4


def test_banks_without_an_inverse() -> None:
    with pytest.raises(DataError, match="below 0: 'q3'"):
        angoff(case(), bank=bank(a=A * [1, 1, -1, 1]))
    with pytest.raises(DataError, match="no discrimination above 0"):
        angoff(case(), bank=ItemBank.from_arrays(ITEMS, np.zeros(4), D))
    with pytest.raises(LabelError, match=r"1 rated item without parameters in the bank: 'q4'(?s:.*)items="):
        angoff(case()).to_theta(bank().select(ITEMS[:3]))
    with pytest.raises(DataError, match="ItemBank"):
        angoff(case(), bank=bank().items)
    flat = bank(a=A * [1, 1, 0, 1])  # a flat item is worth its probability at any ability
    expected = solved(2.6, A * [1, 1, 0, 1])
    assert angoff(case()).to_theta(flat, aggregate="median").values[0] == pytest.approx(expected, abs=INVERSE)


def test_cuts_of_two_levels_are_correlated() -> None:
    higher = case() + np.array([[0.08], [0.05], [0.02]])
    cuts = angoff(long((1, "B1", case()), (1, "B2", higher))).to_theta(bank())
    thetas = np.array([[solved(raw) for raw in table.sum(axis=1)] for table in (case(), higher)])
    np.testing.assert_allclose(cuts.panel_covariance, np.cov(thetas) / 3.0, rtol=1e-7)
    assert cuts.levels == ("B1", "B2")
    assert cuts.scale.name == "CEFR"


def test_save_and_load(tmp_path: Any) -> None:
    table = case()
    table.loc["y", "q3"] = np.nan
    frame = long((1, "A", case()), (2, "A", table), (1, "B", case() + 0.1), (2, "B", case() + 0.1))
    cuts = angoff(frame, levels=["A", "B"], missing="item-mean", bank=bank(np.eye(8)))
    back = psychoedu.load(cuts.save(tmp_path / "cuts.json"))
    assert isinstance(back, AngoffCuts)
    assert back.to_dict() == cuts.to_dict()
    pd.testing.assert_frame_equal(back.items, cuts.items)
    assert back.diagnostics == cuts.diagnostics
    theta = cuts.to_theta()
    again = psychoedu.load(theta.save(tmp_path / "theta.json"))
    assert again.to_dict() == theta.to_dict()
    content = cuts.to_dict()
    content["ratings"][0][0][0][0] = 1.5
    with pytest.raises(DataError, match="from 0 to 1"):
        AngoffCuts.from_dict(content)
