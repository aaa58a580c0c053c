"""Ordered item booklets: locations in closed form, order, what is left out, and files."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from level_designs import bank_of, changed, shifted
from scipy.optimize import brentq
from scipy.special import expit

import psychoedu as pe
from psychoedu.exceptions import DataError, FileFormatError, LabelError
from psychoedu.standard_setting.booklet import OrderedItemBooklet, booklet
from psychoedu.standard_setting.locations import draw_parameters

EXACT = 1e-12
FIGURES = 5e-7  # half a unit of the last digit given
FINITE_DIFFERENCE = 1e-6


def table(discrimination, difficulty, labels=None, **columns):
    labels = labels or [f"q{number}" for number in range(1, len(discrimination) + 1)]
    return pe.ItemBank(pd.DataFrame({"discrimination": discrimination, "difficulty": difficulty, **columns}, index=labels))


# locations


@pytest.mark.parametrize(("probability", "location"), [(0.5, 0.5), (2 / 3, 1.077623), (0.67, 1.090154), (0.8, 1.655245)], ids=str)
def test_location_of_one_item(probability, location):
    assert booklet(table([1.2], [0.5]), probability).locations[0] == pytest.approx(location, abs=FIGURES)


def test_location_in_the_normal_metric():
    bank = pe.ItemBank(pd.DataFrame({"discrimination": [1.2], "difficulty": [0.5]}, index=["q1"]), scaling_constant=1.7)
    assert booklet(bank, 2 / 3).locations[0] == pytest.approx(0.839778, abs=FIGURES)


def test_location_with_guessing():
    found = booklet(table([1.2], [0.5], guessing=[0.25]), 2 / 3)
    assert found.locations[0] == pytest.approx(0.685953, abs=FIGURES)
    mixed = booklet(table([1.2, 1.2], [0.5, 0.5], guessing=[0.25, 0.0]), 2 / 3)
    np.testing.assert_allclose(mixed.locations, [0.685953, 1.077623], atol=FIGURES)


@pytest.mark.parametrize("guessing", [0.0, 0.2])
def test_the_probability_at_the_location_is_the_response_probability(guessing):
    bank = bank_of(12, guessing=guessing)
    pages = booklet(bank, 0.67)
    for page, label in enumerate(pages.labels):
        one = bank.select(label)
        assert one.probability(pages.locations[page])[0] == pytest.approx(0.67, abs=EXACT)
        found = brentq(lambda theta, one=one: one.probability(theta)[0] - 0.67, -9, 9, xtol=1e-13)
        assert pages.locations[page] == pytest.approx(found, abs=1e-9)


def test_shifted_difficulties_shift_the_locations():
    bank = bank_of(15)
    one, two = booklet(bank), booklet(shifted(bank, 1.7))
    np.testing.assert_allclose(two.locations, one.locations + 1.7, atol=EXACT)
    assert list(one.labels) == list(two.labels)


def test_location_errors_are_those_of_the_delta_method_and_of_finite_differences():
    bank = bank_of(9)
    pages = booklet(bank, 0.67)
    step, target = 1e-6, np.log(0.67 / 0.33)
    gradient = np.zeros((9, 18))
    for item in range(9):
        for place, (up, down) in enumerate([((step, 0.0), (-step, 0.0)), ((0.0, step), (0.0, -step))]):
            high, low = ((target - bank.intercept[item] - d) / (bank.discrimination[item] + a) for a, d in (up, down))
            gradient[item, 2 * item + place] = (high - low) / (2 * step)
    expected = gradient @ bank.covariance @ gradient.T
    order = bank.labels.get_indexer(pages.labels)
    np.testing.assert_allclose(pages.location_se, np.sqrt(np.diag(expected))[order], rtol=FINITE_DIFFERENCE)


def test_an_unknown_error_is_nan_and_only_there():
    bank = bank_of(6)
    covariance = bank.covariance.copy()
    covariance[4:6, :] = covariance[:, 4:6] = np.nan
    pages = booklet(changed(bank, covariance=covariance)).to_frame().set_index("item")
    assert list(pages.index[pages["rp_location_se"].isna()]) == ["q3"]
    assert booklet(bank_of(6, error=None)).to_frame()["rp_location_se"].isna().all()


def test_parameters_are_drawn_with_their_covariance():
    bank = bank_of(3, error=0.02)
    discrimination, intercept = bank.discrimination * np.array([1, -1, 1]), bank.intercept
    drawn = draw_parameters(discrimination, intercept, bank.covariance, 40_000, np.random.default_rng(5))
    both = np.stack(drawn, axis=2).reshape(40_000, 6)
    np.testing.assert_array_equal(np.sign(drawn[0]), np.tile([1, -1, 1], (40_000, 1)))
    # the standard error of a covariance of normals is sqrt((s_ii s_jj + s_ij^2) / n)
    variance = np.diag(bank.covariance)
    noise = np.sqrt((np.multiply.outer(variance, variance) + bank.covariance**2) / 40_000)
    assert (np.abs(np.cov(both, rowvar=False) - bank.covariance) < 4.5 * noise).all()
    flat = draw_parameters(np.zeros(1), np.ones(1), np.diag([0.1, 0.1]), 10, np.random.default_rng(1))
    assert not flat[0].any()


# order


def test_the_order_depends_on_the_response_probability():
    bank = table([0.5, 2.0], [0.0, 0.4])
    assert list(booklet(bank, 0.5).labels) == ["q1", "q2"]
    found = booklet(bank, 2 / 3)
    assert list(found.labels) == ["q2", "q1"]
    np.testing.assert_allclose(found.locations, [0.746574, 1.386294], atol=FIGURES)


def test_order_by_difficulty_and_the_pages_that_differ():
    bank = table([0.5, 2.0, 1.0], [0.0, 0.4, 3.0])
    found = booklet(bank, 2 / 3, order_by="difficulty")
    assert list(found.labels) == ["q1", "q2", "q3"]
    assert found.order_differences.to_dict("list") == {"item": ["q1", "q2"], "page": [1, 2], "page_by_rp_location": [2, 1]}
    other = booklet(bank, 2 / 3).order_differences
    assert other.to_dict("list") == {"item": ["q2", "q1"], "page": [1, 2], "page_by_difficulty": [2, 1]}
    assert not len(booklet(bank, 0.5).order_differences)
    assert not len(booklet(table([1.3] * 3, [0.2, -1.0, 0.4]), 0.8).order_differences)
    assert "ordering by difficulty would give another page to 2 items" in booklet(bank, 2 / 3).summary()


@pytest.mark.parametrize("order_by", ["rp_location", "difficulty"])
def test_ties_keep_the_order_of_the_bank_whatever_the_rounding_errors(order_by):
    discrimination = np.random.default_rng(2).uniform(0.3, 2.5, 200)
    bank = pe.ItemBank.from_arrays(range(200), discrimination, -discrimination * 0.3)
    assert len(set(bank.difficulty)) > 1  # equal but for rounding errors
    found = booklet(bank, 0.5, order_by)
    assert list(found.labels) == list(range(200))
    assert not len(found.order_differences)


def test_a_permuted_bank_gives_the_same_booklet():
    bank = bank_of(25)
    other = bank.select(bank.labels[np.random.default_rng(3).permutation(25)])
    one, two = booklet(bank), booklet(other)
    pd.testing.assert_frame_equal(one.to_frame(), two.to_frame(), rtol=EXACT)
    assert one.fingerprint == two.fingerprint


def test_the_fingerprint_names_order_probability_and_items():
    bank = bank_of(10, error=None)
    prints = {
        booklet(bank).fingerprint,
        booklet(bank, 0.5).fingerprint,
        booklet(bank, order_by="difficulty").fingerprint,
        booklet(bank, exclude="q1").fingerprint,
    }
    assert len(prints) == 4
    assert all(re.fullmatch("[0-9a-f]{12}", text) for text in prints)
    assert booklet(bank).fingerprint == booklet(bank, np.float64(0.67)).fingerprint
    # the same pages on another scale, or recalibrated, are the same booklet
    assert booklet(bank).fingerprint == booklet(shifted(bank, 0.01)).fingerprint


def test_pages_and_gaps():
    found = booklet(table([1.0, 1.0, 1.0], [0.5, -1.0, 2.0]), 0.5).to_frame()
    assert list(found.columns) == ["item", "rp_location", "rp_location_se", "discrimination", "difficulty", "gap_to_next"]
    assert list(found.index) == [1, 2, 3]
    assert found.index.name == "page"
    assert list(found["item"]) == ["q2", "q1", "q3"]
    np.testing.assert_allclose(found["gap_to_next"], [1.5, 1.5, np.nan])


# what is left out


def test_items_without_a_rising_curve_are_left_out_and_listed():
    found = booklet(table([1.0, -0.4, 0.0, 1.2], [0.0, 1.0, np.nan, 1.0], intercept=[0.0, 0.4, 0.3, -1.2]))
    assert list(found.labels) == ["q1", "q4"]
    assert found.excluded.to_dict("list") == {"item": ["q2", "q3"], "reason": ["discrimination not above 0"] * 2}
    assert "left out, discrimination not above 0: 2 items ('q2', 'q3')" in found.summary()


def test_flagged_items_are_left_out_unless_they_are_kept():
    bank = table([1.0, 1.1, 1.2, -1.0], [0.0, 1.0, 2.0, 0.0])
    calibration = SimpleNamespace(bank=bank, flags=("", "on_bound", "fixed", "on_bound; few_responses"))
    found = booklet(calibration)
    assert list(found.labels) == ["q1", "q3"]
    assert list(found.excluded["reason"]) == ["flagged on_bound", "discrimination not above 0"]
    kept = booklet(calibration, keep=["q2", "q4"])
    assert list(kept.labels) == ["q1", "q2", "q3"]
    assert list(kept.excluded["item"]) == ["q4"]  # nothing gives it a location
    with pytest.raises(DataError, match=r"exclude= and keep= both name 1 item: 'q2'"):
        booklet(calibration, exclude="q2", keep="q2")


@pytest.mark.parametrize("exclude", ["q2", ["q2"], ("q2",), pd.Index(["q2"]), pd.Series(["q2"]), {"q2"}], ids=repr)
def test_items_excluded_by_name(exclude):
    found = booklet(bank_of(4), exclude=exclude)
    assert found.excluded.to_dict("list") == {"item": ["q2"], "reason": ["excluded by name"]}
    assert found.n_pages == len(found) == 3


def test_a_calibration_gives_its_flags_and_its_item_table():
    from designs import simulate

    frame = pd.DataFrame(simulate(400, [1.0] * 8, np.linspace(-1, 1, 8)), columns=[f"q{n}" for n in range(1, 9)])
    items = pd.DataFrame({"text": [f"item {n}" for n in range(1, 9)]}, index=frame.columns)
    responses = pe.ResponseMatrix.from_wide(frame, item_table=items)
    pages = booklet(pe.calibrate(responses)).to_frame()
    assert list(pages["text"]) == [label.replace("q", "item ") for label in pages["item"]]
    assert (pages["rp_location_se"] > 0).all()


def test_unknown_items_and_an_empty_booklet():
    with pytest.raises(LabelError, match=r"1 item not found: 'zz'"):
        booklet(bank_of(3), exclude="zz")
    with pytest.raises(DataError, match=r"No item is left for the booklet: all 3 were left out \('excluded by name'\)"):
        booklet(bank_of(3), exclude=["q1", "q2", "q3"])


# arguments


@pytest.mark.parametrize(
    ("probability", "message"),
    [
        (0, "between 0 and 1"),
        (1, "between 0 and 1"),
        (67, r"got 67\. Did you mean 0\.67\?"),
        (float("nan"), "one finite number"),
        ("0.67", "one finite number"),
        (None, "one finite number"),
        (True, "one finite number"),
    ],
    ids=repr,
)
def test_response_probabilities_that_are_none(probability, message):
    with pytest.raises(DataError, match=message):
        booklet(bank_of(3), probability)


@pytest.mark.parametrize("probability", [0.2, 0.25])
def test_a_response_probability_below_guessing_names_the_items(probability):
    with pytest.raises(DataError, match=r"not above the lower asymptote of 2 items: 'q1', 'q3' \(guessing 0.25, 0.3\)"):
        booklet(table([1.0] * 3, [0.0, 1.0, 2.0], guessing=[0.25, 0.1, 0.3]), probability)
    left = booklet(table([1.0] * 3, [0.0, 1.0, 2.0], guessing=[0.25, 0.1, 0.3]), probability, exclude=["q1", "q3"])
    assert list(left.labels) == ["q2"]


def test_other_objects_and_orders():
    with pytest.raises(DataError, match=r"got DataFrame\. Make a bank of the table first: ItemBank\(frame\)\."):
        booklet(pd.DataFrame({"discrimination": [1.0], "difficulty": [0.0]}))
    with pytest.raises(DataError, match="a Calibration or an ItemBank; got NoneType"):
        booklet(None)
    with pytest.raises(DataError, match=r"order_by has to be one of 'rp_location', 'difficulty'.*Did you mean 'rp_location'"):
        booklet(bank_of(3), order_by="RP location")


# the item table


def test_the_item_table_by_index_or_by_column():
    bank = table([1.0, 1.0], [1.0, 0.0])
    by_index = pd.DataFrame({"key": ["A", "B"], "difficulty": [9, 9]}, index=["q1", "q2"])
    for items in (by_index, by_index.rename_axis("item").reset_index()):
        frame = booklet(bank, items=items).to_frame()
        assert list(frame["key"]) == ["B", "A"]
        assert list(frame["difficulty"]) == [0.0, 1.0]  # the booklet's own, never the table's
    with pytest.raises(LabelError, match=r"no row for 1 item of the booklet: 'q2'"):
        booklet(bank, items=by_index.iloc[:1])
    with pytest.raises(LabelError, match=r"several rows for one item: 'q1'"):
        booklet(bank, items=pd.concat([by_index, by_index.iloc[:1]]))
    with pytest.raises(DataError, match="a DataFrame with a row per item; got dict"):
        booklet(bank, items={"key": ["A", "B"]})


def test_booklets_are_saved_to_the_last_bit(tmp_path):
    items = pd.DataFrame(
        {"text": ["早", None, "a,b"], "n": [1, 2, 3], "x": [0.1, np.nan, np.inf], "options": [["a", "b"], ["c"], []]},
        index=["q1", "q2", "q3"],
    )
    found = booklet(bank_of(3), items=items, exclude=["q2"])
    again = pe.load(found.save(tmp_path / "booklet.json"))
    assert isinstance(again, OrderedItemBooklet)
    assert again.fingerprint == found.fingerprint
    np.testing.assert_array_equal(again.locations, found.locations)
    np.testing.assert_array_equal(again.location_se, found.location_se)
    np.testing.assert_array_equal(again.bank.covariance, found.bank.covariance)
    pd.testing.assert_frame_equal(again.excluded, found.excluded)
    assert again.to_dict() == found.to_dict()
    assert list(again.to_frame()["n"]) == list(found.to_frame()["n"])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"response_probability": 1.0}, "response_probability"),
        ({"response_probability": 0.0}, "response_probability"),
        ({"response_probability": None}, "response_probability"),
        ({"order_by": "page"}, "order_by"),
        ({"excluded": [["q9"]]}, "excluded"),
        ({"item_table": {"text": ["only one"]}}, "text"),
        ({"bank": None}, "bank"),
    ],
    ids=repr,
)
def test_damaged_files_are_refused(tmp_path, damage, message):
    path = booklet(bank_of(4)).save(tmp_path / "booklet.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), **damage}))
    with pytest.raises(FileFormatError, match=message):
        pe.load(path)


def test_a_file_with_pages_in_another_order_is_refused(tmp_path):
    found = booklet(bank_of(4))
    for other in (found.bank.select(found.labels[::-1]), changed(found.bank, -found.bank.discrimination)):
        path = found.save(tmp_path / "booklet.json")
        path.write_text(json.dumps({**json.loads(path.read_text()), "bank": other.to_dict()}))
        with pytest.raises(FileFormatError, match="'bank' holds"):
            pe.load(path)


def test_a_booklet_as_csv(tmp_path):
    found = booklet(bank_of(4))
    read = pd.read_csv(found.to_csv(tmp_path / "pages.csv"), index_col="page")
    pd.testing.assert_frame_equal(read, found.to_frame(), rtol=EXACT, check_dtype=False)
    assert expit(0.0) == 0.5  # the curve used above is the logistic
