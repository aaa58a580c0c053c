"""Bookmark cut scores: rules, aggregation, the parts of their error, rounds and agreement."""

import time

import numpy as np
import pandas as pd
import pytest
from level_designs import LEVELS, bank_of, changed, drawn_panel, placed, shifted
from scipy.stats import norm, t

import psychoedu as pe
from psychoedu.exceptions import DataError, LabelError
from psychoedu.irt.linking_constants import LinkingConstants
from psychoedu.standard_setting.booklet import booklet
from psychoedu.standard_setting.bookmark import bookmark
from psychoedu.standard_setting.locations import draw_parameters

EXACT = 1e-12
FINITE_DIFFERENCE = 1e-6
MONTE_CARLO = 4.0  # standard errors
MEDIAN_OF_4 = np.sqrt(4 * 0.2982)
"""Standard error of the median of four normals in units of their mean's; variance .2982 of Sarhan and Greenberg (1962)."""


def line(n_pages=9, **columns):
    """Return a booklet with pages at -2, -1.5, ..., 2."""
    difficulty = np.linspace(-2.0, 2.0, n_pages)
    frame = pd.DataFrame(
        {"discrimination": 1.0, "difficulty": difficulty, **columns}, index=[f"q{n}" for n in range(1, n_pages + 1)]
    )
    return booklet(pe.ItemBank(frame), 0.5)


# the cut


@pytest.mark.parametrize(
    ("rule", "page", "cut"),
    [
        ("last-mastered", 1, -2.0),
        ("last-mastered", 9, 2.0),
        ("first-not-mastered", 1, -2.0),
        ("first-not-mastered", 9, 2.0),
        ("midpoint", 1, -1.75),
        ("midpoint", 8, 1.75),
    ],
)
def test_the_meaning_of_a_page(rule, page, cut):
    assert bookmark(line(), placed({"pass": [page]}), rule=rule).values[0] == pytest.approx(cut, abs=EXACT)


@pytest.mark.parametrize(
    ("rule", "page", "cut", "said"),
    [
        ("last-mastered", 0, -np.inf, "every ability is at or above it"),
        ("first-not-mastered", 10, np.inf, "no ability reaches it, the level is never given"),
        ("midpoint", 0, -np.inf, "every ability"),
        ("midpoint", 9, np.inf, "no ability"),
    ],
)
def test_open_ends(rule, page, cut, said):
    found = bookmark(line(), placed({"pass": [page] * 3}), rule=rule)
    assert found.values[0] == cut
    assert "open_ended" in found.flags["pass"]
    notes = "; ".join(found.diagnostics)
    assert said in notes
    assert "3 panellists placed pass beyond the booklet's pages ('p1', 'p2', 'p3')" in notes
    assert found.standard_errors.loc["pass", ["panel", "items", "total"]].isna().all()
    assert found.conf_int().isna().all(axis=None)


def test_one_open_end_leaves_a_median_but_no_spread():
    found = bookmark(line(), placed({"pass": [0, 4, 5]}))
    assert found.values[0] == pytest.approx(-0.5)
    assert np.isnan(found.standard_errors.loc["pass", "panel"])
    assert any("unknown for 'pass', where a panellist's cut is open-ended" in note for note in found.diagnostics)
    assert bookmark(line(), placed({"pass": [0, 4, 5]}), aggregate="mean").values[0] == -np.inf
    assert bookmark(line(), placed({"pass": [0, 4]})).values[0] == -np.inf


@pytest.mark.parametrize("aggregate", ["median", "mean"])
def test_open_ends_of_both_sides_have_no_middle(aggregate):
    with pytest.raises(DataError, match=rf"lower end open for 'pass' and others the upper.*their {aggregate} does not exist"):
        bookmark(line(), placed({"pass": [0, 9]}), rule="midpoint", aggregate=aggregate)


def test_pages_12_14_15_15_30():
    pages = booklet(bank_of(40), 0.67)
    frame = placed({"pass": [12, 14, 15, 15, 30]})
    found = bookmark(pages, frame)
    assert found.values[0] == pages.locations[14]
    own = pages.locations[[11, 13, 14, 14, 29]]
    assert bookmark(pages, frame, aggregate="mean").values[0] == pytest.approx(own.mean(), abs=EXACT)
    agreed = found.panel.agreement.loc[(1, "pass")]
    assert agreed["median_page"] == 15
    assert agreed["mean_page"] == pytest.approx(17.2)


def test_an_even_panel_averages_two_abilities_not_two_pages():
    pages = booklet(
        pe.ItemBank(pd.DataFrame({"discrimination": 1.0, "difficulty": [0.0, 1.0, 1.1, 5.0]}, index=list("abcd"))), 0.5
    )
    assert bookmark(pages, placed({"pass": [1, 4]})).values[0] == pytest.approx(2.5)
    assert bookmark(pages, placed({"pass": [1, 2, 4, 4]})).values[0] == pytest.approx(3.0)


@pytest.mark.parametrize("aggregate", ["median", "mean"])
@pytest.mark.parametrize("n", [7, 8])
def test_the_rules_are_tied_to_each_other(aggregate, n):
    pages = booklet(bank_of(40))
    frame = drawn_panel(pages, n)
    one = bookmark(pages, frame, aggregate=aggregate).values
    two = bookmark(pages, frame.assign(page=frame["page"] + 1), rule="first-not-mastered", aggregate=aggregate).values
    middle = bookmark(pages, frame, rule="midpoint", aggregate=aggregate).values
    np.testing.assert_allclose(middle, (one + two) / 2, atol=EXACT)
    assert (one < two).all()


@pytest.mark.parametrize("rule", ["last-mastered", "midpoint"])
@pytest.mark.parametrize("aggregate", ["median", "mean"])
def test_permuted_panellists_rows_and_items_change_nothing(rule, aggregate):
    bank = bank_of(30)
    frame = drawn_panel(booklet(bank), 9)
    names = dict(zip(sorted(frame["panellist"].unique()), np.random.default_rng(1).permutation(9), strict=True))
    other = frame.assign(panellist=frame["panellist"].map(names)).sample(frac=1.0, random_state=2)
    one = bookmark(bank, frame, rule=rule, aggregate=aggregate)
    two = bookmark(bank.select(bank.labels[::-1]), other, rule=rule, aggregate=aggregate)
    pd.testing.assert_frame_equal(one.to_frame(), two.to_frame(), rtol=1e-9)
    assert one.levels == two.levels == LEVELS


@pytest.mark.parametrize("rule", ["last-mastered", "midpoint"])
def test_a_shifted_bank_shifts_the_cuts(rule):
    bank = bank_of(30, error=None)
    frame = drawn_panel(booklet(bank), 6)
    one, two = bookmark(bank, frame, rule=rule), bookmark(shifted(bank, -2.5), frame, rule=rule)
    np.testing.assert_allclose(two.values, one.values - 2.5, atol=EXACT)
    np.testing.assert_allclose(two.standard_errors["panel"], one.standard_errors["panel"], rtol=1e-9)
    np.testing.assert_allclose(two.rp_sensitivity, one.rp_sensitivity - 2.5, atol=EXACT)


def test_cuts_that_do_not_rise():
    with pytest.raises(DataError, match=r"equal from L1 \(-1\) to L2 \(-1\), which leaves L1 without any ability"):
        bookmark(line(), placed({"L1": [3, 3], "L2": [3, 3]}))
    pages = booklet(bank_of(20), order_by="difficulty")
    down = int(np.flatnonzero(np.diff(pages.locations) < 0)[0]) + 1
    with pytest.raises(DataError, match="The cut scores fall from L1"):
        bookmark(pages, placed({"L1": [down], "L2": [down + 1]}))


def test_guessing_moves_the_cuts_down():
    frame = placed({"pass": [10, 12, 13]})
    plain, guessed = bookmark(bank_of(20), frame), bookmark(bank_of(20, guessing=0.2), frame)
    assert guessed.values[0] < plain.values[0]
    assert guessed.rp_sensitivity.index[0] == 0.5
    assert bookmark(bank_of(20, guessing=0.6), frame).rp_sensitivity.index.tolist() == [0.65, 0.67, 0.7, 0.75, 0.8]


def test_items_that_have_no_place_in_the_booklet_are_harmless():
    bank = bank_of(12)
    discrimination = bank.discrimination.copy()
    discrimination[[2, 5]] = -0.8, 0.0
    odd = changed(bank, discrimination)
    kept = odd.labels[discrimination > 0]
    frame = placed({"pass": [3, 4, 6]})
    pd.testing.assert_frame_equal(bookmark(odd, frame).to_frame(), bookmark(odd.select(kept), frame).to_frame())


# the panel's part


@pytest.mark.parametrize(("aggregate", "ratio"), [("mean", 1.0), ("median", MEDIAN_OF_4)])
def test_the_panel_part_by_hand(aggregate, ratio):
    found = bookmark(line(), placed({"L1": [1, 2, 4, 5], "L2": [6, 6, 7, 9]}), aggregate=aggregate)
    one, two = np.array([-2.0, -1.5, -0.5, 0.0]), np.array([0.5, 0.5, 1.0, 2.0])
    expected = ratio * np.array([one.std(ddof=1), two.std(ddof=1)]) / 2.0
    np.testing.assert_allclose(found.standard_errors["panel"], expected, rtol=1e-4)
    covariance = ratio**2 * np.cov(one, two)[0, 1] / 4.0
    assert found.panel_covariance[0, 1] == pytest.approx(covariance, rel=2e-4)
    assert found.panel_df == 3
    assert "too_few_panellists" in found.flags["L1"]
    assert any("too few panellists: the panel part rests on 4 panellists" in note for note in found.diagnostics)


def test_five_panellists_are_enough_to_say_nothing():
    found = bookmark(line(), placed({"L1": [1, 2, 4, 5, 5]}))
    assert found.flags["L1"] == ""
    assert not any("too few" in note for note in found.diagnostics)


def test_one_panellist_has_no_spread_and_that_is_not_0():
    found = bookmark(line(), placed({"L1": [3], "L2": [5]}))
    assert found.standard_errors[["panel", "total"]].isna().all(axis=None)
    assert any("unknown with one panellist" in note for note in found.diagnostics)
    assert (found.flags == "too_few_panellists").all()
    assert found.conf_int().isna().all(axis=None)


def test_panellists_who_agree_to_the_page_are_pointed_out():
    found = bookmark(line(), placed({"L1": [3, 3, 3], "L2": [5, 6, 6]}))
    assert found.standard_errors.loc["L1", "panel"] == 0.0
    assert any("0 for 'L1', on which all agree; another panel might not" in note for note in found.diagnostics)


def test_intervals_use_t_for_the_panel():
    found = bookmark(booklet(bank_of(30)), drawn_panel(booklet(bank_of(30)), 6), aggregate="mean")
    error = found.standard_errors
    half = np.sqrt((t.ppf(0.95, 5) * error["panel"]) ** 2 + (norm.ppf(0.95) * error["items"]) ** 2)
    np.testing.assert_allclose(found.conf_int(0.9, bias=None)["low"], found.cut_scores - half, rtol=1e-9)
    np.testing.assert_allclose(found.conf_int(0.9, bias=None)["high"], found.cut_scores + half, rtol=1e-9)


@pytest.mark.parametrize("aggregate", ["mean", "median"])
def test_the_panel_part_is_the_spread_of_cuts_over_panels(aggregate):
    """Over 3,000 panels of 6 the mean of the estimated variances is the variance of the cuts."""
    rng = np.random.default_rng(4)
    pages = line(401)  # a fine booklet, so that rounding to pages adds next to nothing
    cuts, variances = [], []
    for _ in range(3_000):
        own = np.searchsorted(pages.locations, 0.3 * rng.standard_normal(6))
        theta = pages.locations[own - 1]
        cuts.append(np.median(theta) if aggregate == "median" else theta.mean())
        variances.append(theta)
    spread = np.var(variances, axis=1, ddof=1) / 6
    one = bookmark(pages, placed({"pass": list(np.searchsorted(pages.locations, variances[0] + 1e-9))}), aggregate=aggregate)
    ratio = one.standard_errors.loc["pass", "panel"] ** 2 / spread[0]
    found, expected = np.var(cuts), ratio * spread.mean()
    noise = expected * np.sqrt(2.0 / 3_000 + 2.0 / (5 * 3_000))
    assert abs(found - expected) < MONTE_CARLO * noise


def test_missing_placements():
    frame = placed({"L1": [1, 2, 4], "L2": [6, 6, 7]}).drop(index=4)
    with pytest.raises(DataError, match=r"Round 1 lacks 1 bookmark: 'p2, L2'\.\n.*missing=\"omit\""):
        bookmark(line(), frame)
    found = bookmark(line(), frame, missing="omit", aggregate="mean")
    one, two = np.array([-2.0, -1.5, -0.5]), np.array([0.5, 1.0])
    np.testing.assert_allclose(found.values, [one.mean(), two.mean()])
    np.testing.assert_allclose(found.standard_errors["panel"], [one.std(ddof=1) / np.sqrt(3), two.std(ddof=1) / np.sqrt(2)])
    # two panellists are in both cuts: Cov = S n_12 / (n_1 n_2)
    assert found.panel_covariance[0, 1] == pytest.approx(np.cov(one[[0, 2]], two)[0, 1] * 2 / (3 * 2))
    assert found.panel_df == 1


def test_a_level_with_one_panellist_leaves_the_others_their_error():
    frame = placed({"L1": [1, 2, 4], "L2": [6, 6, 7]}).drop(index=[3, 4])
    found = bookmark(line(), frame, missing="omit")
    assert np.isnan(found.standard_errors.loc["L2", "panel"])
    assert found.standard_errors.loc["L1", "panel"] > 0
    assert found.panel_df == 2
    assert any("unknown for 'L2' with one panellist" in note for note in found.diagnostics)


def test_a_level_that_no_one_placed_in_the_round():
    frame = pd.concat([placed({"L1": [1, 2], "L2": [6, 6]}, round=1), placed({"L1": [1, 2]}, round=2)])
    with pytest.raises(DataError, match=r"Round 2 has no bookmark for 'L2'"):
        bookmark(line(), frame, missing="omit")
    assert bookmark(line(), frame, round=1).values[1] == pytest.approx(0.5)


# tables


def test_tables_of_one_size_are_the_units():
    pages = {"pass": [1, 2, 5, 6, 8, 9]}
    frame = placed(pages, table=list("AABBCC"))
    found = bookmark(line(), frame, aggregate="mean", panel_unit="table")
    means = np.array([-1.75, 0.25, 1.75])
    assert found.values[0] == pytest.approx(means.mean())
    assert found.standard_errors.loc["pass", "panel"] == pytest.approx(means.std(ddof=1) / np.sqrt(3))
    assert found.panel_df == 2
    assert found.panel.agreement.loc[(1, "pass"), "between_table_se"] == pytest.approx(means.std(ddof=1) / np.sqrt(3))
    plain = bookmark(line(), frame, aggregate="mean")
    assert any("tables differ by more than" in note for note in plain.diagnostics)
    assert "between_table_se" not in bookmark(line(), placed(pages)).panel.agreement


def test_tables_of_other_sizes_count_by_their_panellists():
    frame = placed({"pass": [1, 5, 6, 7]}, table=list("ABBB"))
    found = bookmark(line(), frame, aggregate="mean", panel_unit="table")
    theta = np.array([-2.0, 0.0, 0.5, 1.0])
    shares, means = np.array([0.25, 0.75]), np.array([-2.0, 0.5])
    assert found.values[0] == pytest.approx(theta.mean())
    expected = np.sqrt(2.0 / 1.0 * (shares**2 * (means - theta.mean()) ** 2).sum())
    assert found.standard_errors.loc["pass", "panel"] == pytest.approx(expected)


def test_one_table_has_no_error_between_tables():
    frame = placed({"pass": [1, 5, 6, 7]}, table="A")
    assert np.isnan(bookmark(line(), frame).panel.agreement["between_table_se"]).all()
    found = bookmark(line(), frame, aggregate="mean", panel_unit="table")
    assert np.isnan(found.standard_errors.loc["pass", "panel"])
    assert any("unknown with one table" in note for note in found.diagnostics)
    with pytest.raises(DataError, match='needs a column "table"'):
        bookmark(line(), placed({"pass": [1, 5]}), aggregate="mean", panel_unit="table")
    with pytest.raises(DataError, match='goes with aggregate="mean"'):
        bookmark(line(), frame, panel_unit="table")


# the items' part


PANELS = {
    "odd": [9, 12, 14, 17, 20],
    "even": [9, 12, 14, 17],
    "tied": [12, 14, 14, 14, 20],
    "even and tied": [12, 14, 14, 20],
    "adjacent": [12, 13],
    "one": [12],
}


@pytest.mark.parametrize("pages", PANELS.values(), ids=PANELS)
@pytest.mark.parametrize("rule", ["last-mastered", "first-not-mastered", "midpoint"])
@pytest.mark.parametrize("aggregate", ["median", "mean"])
@pytest.mark.parametrize("guessing", [0.0, 0.15])
def test_the_gradient_is_that_of_the_whole_cut_function(pages, rule, aggregate, guessing):
    """Against central differences: every parameter is moved, the booklet's pages kept, and the cut computed anew."""
    own = booklet(bank_of(25, guessing=guessing))
    frame = placed({"pass": pages})
    found = bookmark(own, frame, rule=rule, aggregate=aggregate)

    def cut(bank):
        moved = np.log((0.67 - bank.guessing) / 0.33) - bank.intercept
        location = moved / bank.discrimination
        page = np.array(pages)
        theta = (location[page - 1] + location[page]) / 2 if rule == "midpoint" else location[page - 1]
        return np.median(theta) if aggregate == "median" else theta.mean()

    assert found.values[0] == pytest.approx(cut(own.bank), abs=EXACT)
    gradient = np.zeros(50)
    for item in range(25):
        for place, (a, d) in enumerate([(1e-5, 0.0), (0.0, 1e-5)]):
            step = np.zeros(25)
            step[item] = 1.0
            up = changed(own.bank, own.bank.discrimination + a * step, own.bank.intercept + d * step)
            down = changed(own.bank, own.bank.discrimination - a * step, own.bank.intercept - d * step)
            gradient[2 * item + place] = (cut(up) - cut(down)) / 2e-5
    np.testing.assert_allclose(found.gradient[0], gradient, atol=FINITE_DIFFERENCE)
    expected = np.sqrt(gradient @ own.bank.covariance @ gradient)
    assert found.standard_errors.loc["pass", "items"] == pytest.approx(expected, rel=1e-5)


def test_the_items_part_is_the_spread_over_drawn_parameters():
    own = booklet(bank_of(25, error=0.03))
    frame = placed({"L1": [7, 8, 8, 9, 10], "L2": [14, 15, 17, 18, 20]})
    found = bookmark(own, frame, rule="midpoint", aggregate="mean")
    bank = own.bank
    drawn = draw_parameters(bank.discrimination, bank.intercept, bank.covariance, 4_000, np.random.default_rng(3))
    location = (np.log(0.67 / 0.33) - drawn[1]) / drawn[0]
    pages = np.array([[7, 8, 8, 9, 10], [14, 15, 17, 18, 20]])
    cuts = (location[:, pages - 1] + location[:, pages]).mean(axis=2) / 2
    spread = np.cov(cuts, rowvar=False)
    variance = np.diag(spread)
    noise = np.sqrt((np.multiply.outer(variance, variance) + spread**2) / 4_000)
    assert (
        np.abs(spread - found.item_covariance) < MONTE_CARLO * noise + 0.01 * np.sqrt(np.multiply.outer(variance, variance))
    ).all()


def test_panellists_at_one_ability_by_different_pages_share_its_error():
    bank = pe.ItemBank.from_arrays(
        list("abc"), [1.0, 1.0, 1.0], [0.0, 0.0, -1.0], covariance=np.diag([0, 0.04, 0, 0.04, 0, 0.04])
    )
    found = bookmark(booklet(bank, 0.5), placed({"pass": [1, 2, 3]}))
    assert found.values[0] == 0.0
    assert found.standard_errors.loc["pass", "items"] == pytest.approx(0.2 / np.sqrt(2))


def test_a_bank_without_covariance_has_no_items_part():
    found = bookmark(bank_of(20, error=None), placed({"pass": [9, 10, 12]}))
    assert found.standard_errors.loc["pass", ["items", "total"]].isna().all()
    assert any("items part of the standard errors: unknown, the bank has no covariance" in note for note in found.diagnostics)
    assert found.standard_errors.loc["pass", "panel"] > 0


def test_a_cut_on_an_item_without_error_is_unknown_and_the_others_are_not():
    own = booklet(bank_of(20))
    covariance = own.bank.covariance.copy()
    covariance[20:22] = covariance[:, 20:22] = np.nan  # page 11
    bank = changed(own.bank, covariance=covariance)
    found = bookmark(bank, placed({"L1": [5, 6, 7], "L2": [10, 11, 12], "L3": [14, 15, 16]}))
    plain = bookmark(own, placed({"L1": [5, 6, 7], "L2": [10, 11, 12], "L3": [14, 15, 16]}))
    items = found.standard_errors["items"]
    assert np.isnan(items["L2"])
    np.testing.assert_allclose(items[["L1", "L3"]], plain.standard_errors["items"][["L1", "L3"]], rtol=EXACT)
    label = own.labels[10]
    assert any(f"unknown where it hangs on '{label}', without standard errors" in note for note in found.diagnostics)


# the whole


def test_the_total_is_the_root_of_the_sum_of_squares():
    link = LinkingConstants(1.2, -0.3, [[0.002, -0.001], [-0.001, 0.003]])
    own = booklet(bank_of(30))
    error = bookmark(own, drawn_panel(own, 8), linking=link).standard_errors
    assert list(error.columns) == ["panel", "items", "linking", "total"]
    assert (error > 0).all(axis=None)
    np.testing.assert_allclose(error["total"] ** 2, (error[["panel", "items", "linking"]] ** 2).sum(axis=1), rtol=EXACT)
    assert (bookmark(own, drawn_panel(own, 8)).standard_errors["linking"] == 0).all()


def test_linking_moves_cuts_errors_and_sensitivity():
    covariance = np.array([[0.002, -0.001], [-0.001, 0.003]])
    link = LinkingConstants(1.2, -0.3, covariance)
    own = booklet(bank_of(30))
    frame = drawn_panel(own, 8)
    plain, linked = bookmark(own, frame), bookmark(own, frame, linking=link)
    np.testing.assert_allclose(linked.values, 1.2 * plain.values - 0.3, rtol=EXACT)
    np.testing.assert_allclose(linked.rp_sensitivity, 1.2 * plain.rp_sensitivity - 0.3, rtol=EXACT)
    for part in ("panel", "items"):
        np.testing.assert_allclose(linked.standard_errors[part], 1.2 * plain.standard_errors[part], rtol=EXACT)
    expected = [np.sqrt(c**2 * 0.002 - 2 * c * 0.001 + 0.003) for c in plain.values]
    np.testing.assert_allclose(linked.standard_errors["linking"], expected, rtol=EXACT)
    unknown = bookmark(own, frame, linking=LinkingConstants(1.2, -0.3))
    assert unknown.standard_errors[["linking", "total"]].isna().all(axis=None)
    assert any("linking constants have no covariance" in note for note in unknown.diagnostics)
    with pytest.raises(DataError, match="linking has to be LinkingConstants"):
        bookmark(own, frame, linking=(1.2, -0.3))


@pytest.mark.parametrize("probability", [0.5, 0.62, 2 / 3, 0.67, 0.8])
@pytest.mark.parametrize("linking", [None, LinkingConstants(1.2, -0.3)], ids=["plain", "linked"])
def test_the_sensitivity_holds_the_cuts_to_the_bit(probability, linking):
    own = booklet(bank_of(30, guessing=0.1), probability)
    found = bookmark(own, drawn_panel(own, 7), rule="midpoint", linking=linking)
    table = found.rp_sensitivity
    np.testing.assert_array_equal(table.loc[probability], found.values)
    assert table.index.is_monotonic_increasing
    assert {0.5, 0.67, 0.8} <= set(table.index)
    assert (table.diff().iloc[1:] > 0).all(axis=None)  # a higher response probability, a higher cut


def test_the_sensitivity_in_closed_form():
    found = bookmark(line(), placed({"pass": [5, 5, 6]}))
    np.testing.assert_allclose(
        found.rp_sensitivity["pass"], [np.log(p / (1 - p)) for p in found.rp_sensitivity.index], atol=EXACT
    )


# rounds


def rounds():
    one = placed({"L1": [1, 2, 6], "L2": [6, 7, 9]}, round=1)
    two = placed({"L1": [2, 2, 4], "L2": [6, 7, 7]}, round=2)
    return pd.concat([one, two])


def test_the_final_round_is_the_last_or_the_one_named():
    assert bookmark(line(), rounds()).values.tolist() == [-1.5, 1.0]
    assert bookmark(line(), rounds(), round=1).values.tolist() == [-1.5, 1.0]
    assert bookmark(line(), rounds(), round=1, aggregate="mean").values[0] == pytest.approx(-1.0)
    assert bookmark(line(), rounds(), aggregate="mean").values[0] == pytest.approx(-3.5 / 3)
    assert bookmark(line(), rounds(), round=1).options["round"] == 1
    with pytest.raises(LabelError, match="round 3 is not among the placements' rounds: 1, 2"):
        bookmark(line(), rounds(), round=3)


def test_movement_between_rounds_by_hand():
    moved = bookmark(line(), rounds()).panel.movement
    assert list(moved.index) == [(1, 2, "L1"), (1, 2, "L2")]
    first = moved.iloc[0]
    assert first[["n", "moved", "up", "down"]].tolist() == [3, 2, 1, 1]
    assert first["mean_pages"] == pytest.approx(-1 / 3)
    assert first["mean_absolute_pages"] == pytest.approx(1.0)
    assert first["cut_change"] == 0.0
    assert first["sd_before"] == pytest.approx(np.std([-2, -1.5, 0.5], ddof=1))
    assert first["sd_after"] == pytest.approx(np.std([-1.5, -1.5, -0.5], ddof=1))
    moves = bookmark(line(), rounds()).panel.moves.set_index(["panellist", "level"])
    assert moves.loc[("p3", "L1"), "theta_change"] == pytest.approx(-1.0)


def test_one_round_has_no_movement():
    panel = bookmark(line(), placed({"L1": [1, 2], "L2": [6, 7]})).panel
    assert not len(panel.movement)
    assert not len(panel.moves)
    assert "Movement" not in panel.summary()


def test_agreement_by_round_and_level():
    found = bookmark(line(), rounds()).panel.agreement
    assert list(found.index) == [(1, "L1"), (1, "L2"), (2, "L1"), (2, "L2")]
    one = found.loc[(1, "L1")]
    assert one[["n", "median_page", "cut", "range"]].tolist() == [3, 2, -1.5, 2.5]
    assert one["pairwise_pages"] == pytest.approx((1 + 4 + 5) / 3)
    assert one["pairwise_theta"] == pytest.approx((0.5 + 2.0 + 2.5) / 3)
    assert one["mad"] == pytest.approx(0.5)
    assert found.loc[2, "icc"].nunique() == 1
    assert found.loc[(2, "L1"), "icc"] > found.loc[(1, "L1"), "icc"]


def test_rounds_with_open_ends_are_still_described():
    one = placed({"L1": [0, 2, 6], "L2": [6, 7, 9]}, round=1)
    panel = bookmark(line(), pd.concat([one, placed({"L1": [2, 2, 4], "L2": [6, 7, 7]}, round=2)])).panel
    assert panel.agreement.loc[(1, "L1"), "range"] == np.inf
    assert np.isnan(panel.agreement.loc[(1, "L1"), "icc"])
    assert panel.movement.loc[(1, 2, "L1"), "moved"] == 2
    assert panel.moves["theta_change"].max() == np.inf


# arguments


def test_a_booklet_keeps_its_response_probability():
    own = line()
    assert bookmark(own, placed({"pass": [3]}), 0.5).options["response_probability"] == 0.5
    with pytest.raises(DataError, match=r"response_probability is 0\.67, but the panel's booklet has 0\.5"):
        bookmark(own, placed({"pass": [3]}), 0.67)
    with pytest.raises(DataError, match="order_by is 'difficulty', but the booklet is ordered by 'rp_location'"):
        bookmark(own, placed({"pass": [3]}), order_by="difficulty")
    assert bookmark(own.bank, placed({"pass": [3]})).options["response_probability"] == 0.67


@pytest.mark.parametrize(
    ("name", "value"), [("aggregate", "mode"), ("missing", "drop"), ("panel_unit", "group"), ("rule", "last")]
)
def test_unknown_options(name, value):
    with pytest.raises(DataError, match=f"{name} has to be one of"):
        bookmark(line(), placed({"pass": [3]}), **{name: value})


def test_levels_by_number():
    found = bookmark(line(), placed({4: [5, 6], 3: [2, 3]}))
    assert found.levels == (3, 4)
    assert found.level_labels == ("below 3", "3", "4")
    assert found.cut_scores[3] == pytest.approx(-1.25)
    with pytest.raises(LabelError, match=r"not on the scale CSE: '3', '4'\.\n.*Rename them, as '3' to 'CSE-3'"):
        bookmark(line(), placed({4: [5, 6], 3: [2, 3]}), scale="CSE")


def test_many_pages_and_panellists_take_no_time():
    rng = np.random.default_rng(1)
    bank = pe.ItemBank.from_arrays(range(5_000), rng.uniform(0.5, 2.0, 5_000), rng.normal(size=5_000))
    pages = {f"L{k}": list(rng.integers(1_000 * k, 1_000 * k + 500, 30)) for k in range(4)}
    start = time.process_time()
    found = bookmark(bank, placed(pages), aggregate="mean")
    found.summary()
    assert time.process_time() - start < 5.0  # 0.3 in a quiet machine
    assert found.booklet.n_pages == 5_000
