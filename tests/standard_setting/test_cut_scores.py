"""Cut scores: given ones, intervals, raw-score equivalents, comparison, and files."""

import json

import numpy as np
import pandas as pd
import pytest
from level_designs import LEVELS, bank_of, changed, drawn_panel, placed
from scipy.optimize import brentq

import psychoedu as pe
from psychoedu.exceptions import DataError, DuplicateLabelError, FileFormatError, LabelError
from psychoedu.irt.linking_constants import LinkingConstants
from psychoedu.standard_setting.booklet import booklet
from psychoedu.standard_setting.bookmark import bookmark
from psychoedu.standard_setting.cut_scores import CutScores

EXACT = 1e-12
Z = 1.959963984540054
LINK = LinkingConstants(1.2, -0.3, [[0.002, -0.001], [-0.001, 0.003]])


def panel_cuts(n=8, **options):
    own = booklet(bank_of(30))
    return bookmark(own, drawn_panel(own, n), **options)


# given values


@pytest.mark.parametrize(
    ("cut_scores", "levels"),
    [
        ({"a": -1, "b": 0.5}, None),
        (pd.Series([-1, 0.5], index=["a", "b"]), None),
        ([-1, 0.5], ["a", "b"]),
        ((-1, 0.5), ("a", "b")),
        (np.array([-1, 0.5]), pd.Index(["a", "b"])),
        ({"b": 0.5, "a": -1}, ["a", "b"]),
        (iter([-1, 0.5]), ["a", "b"]),
    ],
    ids=["mapping", "series", "list", "tuple", "array", "mapping in order", "iterator"],
)
def test_cuts_as_they_are_given(cut_scores, levels):
    found = CutScores.from_values(cut_scores, levels=levels)
    assert found.cut_scores.to_dict() == {"a": -1.0, "b": 0.5}
    assert found.level_labels == ("below a", "a", "b")
    assert found.standard_errors.isna().all(axis=None)
    assert any("their error is not known" in note for note in found.diagnostics)
    assert repr(found) == "CutScores(given: a -1.000, b 0.500)"
    assert len(found) == 2


def test_plain_numbers_get_plain_levels():
    assert CutScores.from_values([0.0, 1.0]).level_labels == ("below level 2", "level 2", "level 3")


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        (0.1, [0.1, 0.1]),
        ([0.1, 0.2], [0.1, 0.2]),
        ({"b": 0.2, "a": 0.1}, [0.1, 0.2]),
        (pd.Series({"b": 0.2, "a": 0.1}), [0.1, 0.2]),
    ],
    ids=repr,
)
def test_given_errors(errors, expected):
    found = CutScores.from_values({"a": -1.0, "b": 0.5}, errors)
    np.testing.assert_allclose(found.standard_errors["total"], expected)
    np.testing.assert_allclose(found.conf_int()["high"], np.array([-1.0, 0.5]) + Z * np.array(expected), rtol=EXACT)
    assert not (found.flags != "").any()


@pytest.mark.parametrize("errors", ["x", [0.1], [0.1, -0.1], [0.1, np.nan], {"a": 0.1}, np.inf], ids=repr)
def test_given_errors_that_are_none(errors):
    with pytest.raises((DataError, LabelError), match=r"standard_errors has to"):
        CutScores.from_values({"a": -1.0, "b": 0.5}, errors)


@pytest.mark.parametrize(
    ("cut_scores", "levels", "message"),
    [
        ({"a": 1, "b": 0}, None, r"fall from a \(1\) to b \(0\), which leaves a without any ability"),
        ({"a": 1, "b": 1}, None, "are equal from a"),
        ({"a": np.nan}, None, "No cut score for 'a'"),
        ({"a": "high"}, None, "have to be numbers; got 'high'"),
        ({}, None, "0 cut scores for 0 levels"),
        ([0.0, 1.0], ["below a", "a", "b"], r"2 cut scores for 3 levels .*the lowest level, below the first cut, has none"),
        ([0.0], ["a", "b"], "1 cut scores for 2 levels"),
        ([[0.0, 1.0]], ["a"], "one number a level"),
        (0.5, None, r"has to be a CutScores, or \{level: theta\}; got float"),
        (None, None, "got NoneType"),
        ({0.1, 0.2}, None, "a set, which has no order"),
        ("abc", None, "have to be numbers"),
    ],
    ids=repr,
)
def test_cuts_that_are_none(cut_scores, levels, message):
    with pytest.raises(DataError, match=message):
        CutScores.from_values(cut_scores, levels=levels)


def test_levels_that_do_not_fit():
    with pytest.raises(LabelError, match="No cut score for 'c'"):
        CutScores.from_values({"a": 0.0}, levels=["a", "c"])
    with pytest.raises(DuplicateLabelError, match="name one twice"):
        CutScores.from_values([0.0, 1.0], levels=["a", "a"])
    with pytest.raises(DataError, match="on the scale CSE it is 'CSE-3', 'CSE-4'"):
        CutScores.from_values({"CSE-4": 0.0, "CSE-3": 1.0})
    with pytest.raises(DataError, match="bank has to be a Calibration or an ItemBank; got str"):
        CutScores.from_values({"a": 0.0}, bank="bank.json")


def test_texts_of_levels():
    found = CutScores.from_values(dict(zip(LEVELS, [-1.0, 0.0, 1.0, 2.0], strict=True)))
    assert found.level_labels == ("below CSE-3", *LEVELS)
    assert found.level_texts == ("below CSE-3", "CSE-3", "CSE-4", "CSE-5", "CSE-6 or above")
    assert CutScores.from_values({"C2": 1.0}).level_texts == ("below C2", "C2")
    assert CutScores.from_values({3: 1.0}, scale=[1, 2, 3, 4]).level_texts == ("below 3", "3 or above")


def test_what_is_held_is_read_only():
    found = panel_cuts()
    for array in (found.values, found.panel_covariance, found.item_covariance, found.linking_covariance, found.gradient):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


# the whole in tables and words


def test_the_frame_holds_cuts_errors_intervals_and_flags():
    found = panel_cuts(linking=LINK)
    frame = found.to_frame()
    assert list(frame.columns) == ["cut_score", "se", "se_panel", "se_items", "se_linking", "low", "high", "flags"]
    np.testing.assert_allclose(frame["se"] ** 2, (frame[["se_panel", "se_items", "se_linking"]] ** 2).sum(axis=1), rtol=EXACT)
    assert list(frame.index) == list(LEVELS)


def test_the_summary_says_how_and_how_sure():
    said = panel_cuts(3).summary()
    assert said.startswith("Cut scores by bookmark, 3 panellists, round 1, RP 0.67, last-mastered, median")
    assert "Cut scores at other response probabilities" in said
    assert "too few panellists" in said
    assert "CSE-6 or above" in said
    assert "Cut scores by given" in CutScores.from_values({"a": 0.0}).summary()


# raw scores


def test_raw_scores_by_the_curve():
    found = panel_cuts()
    table = found.raw_scores()
    for (_, level), row in table.iterrows():
        theta = found.cut_scores[level]
        expected = (1 / (1 + np.exp(-(found.bank.discrimination * theta + found.bank.intercept)))).sum()
        assert row["expected_score"] == pytest.approx(expected, rel=EXACT)
        assert row["raw_score"] == int(np.ceil(expected))
        below = brentq(lambda x, k=row["raw_score"] - 1: found.bank.expected_score(x) - k, -9, 9)
        assert below < theta  # a point less stands for an ability below the cut


@pytest.mark.parametrize(("rounding", "score"), [("up", 2), ("nearest", 1), ("down", 1)])
def test_rounding_rules(rounding, score):
    bank = pe.ItemBank.from_arrays(list("ab"), [1.0, 1.0], [0.0, 0.0])
    found = CutScores.from_values({"pass": np.log(0.6 / 0.4)}, bank=bank).raw_scores(rounding=rounding)
    assert found["expected_score"].item() == pytest.approx(1.2)
    assert found["raw_score"].item() == score
    assert found["rounding"].item() == rounding


def test_a_whole_expected_score_is_not_rounded_away():
    bank = pe.ItemBank.from_arrays(range(10), np.linspace(0.5, 1.5, 10), np.zeros(10))
    cuts = CutScores.from_values({"pass": 0.0}, bank=bank)
    for rule in ("up", "nearest", "down"):
        assert cuts.raw_scores(rounding=rule)["raw_score"].item() == 5


def test_raw_scores_on_forms():
    found = panel_cuts()
    labels = list(found.bank.labels)
    mapping = {"A": labels[:20], "B": labels[10:]}
    table = found.raw_scores(mapping)
    assert table.loc["A", "n_items"].tolist() == [20] * 4
    own = found.bank.select(labels[10:])
    np.testing.assert_allclose(
        table.loc["B", "expected_score"], [own.expected_score(theta) for theta in found.values], rtol=EXACT
    )
    by_item = pd.Series(["A"] * 15 + ["B"] * 14 + [None], index=labels)
    assert found.raw_scores(by_item).loc["B", "n_items"].tolist() == [14] * 4
    assert found.raw_scores(labels[:5]).loc["form", "n_items"].tolist() == [5] * 4


def test_raw_scores_of_linked_cuts_are_those_of_the_panels_scale():
    np.testing.assert_allclose(
        panel_cuts(linking=LINK).raw_scores()["expected_score"], panel_cuts().raw_scores()["expected_score"]
    )


def test_raw_scores_of_open_ends():
    own = booklet(bank_of(10, guessing=0.2))
    low = bookmark(own, placed({"pass": [0, 0]}), rule="midpoint").raw_scores()
    high = bookmark(own, placed({"pass": [10, 10]}), rule="midpoint").raw_scores()
    assert low["expected_score"].item() == pytest.approx(2.0)
    assert low["raw_score"].item() == 2
    assert high["expected_score"].item() == 10
    assert high["raw_score"].isna().all()


@pytest.mark.parametrize(
    ("forms", "message"),
    [
        ({"A": ["q1", "zz"]}, r"Form 'A' has items that are not behind these cuts: 'zz' \(1 of 2\)"),
        ({"A": []}, "Form 'A' has no item"),
        ({}, "forms names no form"),
        ("A", "forms has to be"),
        (3, "forms has to be"),
        ({"A": ["q1", "q1"]}, "more than once"),
    ],
    ids=repr,
)
def test_forms_that_are_none(forms, message):
    with pytest.raises(DataError, match=message):
        panel_cuts().raw_scores(forms)


def test_no_raw_scores_without_a_bank():
    with pytest.raises(DataError, match=r"no bank, so there is no test characteristic curve"):
        CutScores.from_values({"a": 0.0}).raw_scores()
    with pytest.raises(DataError, match="rounding has to be one of"):
        panel_cuts().raw_scores(rounding="half")


# comparison


def test_panels_of_one_bank_share_the_error_of_its_items():
    own = booklet(bank_of(30))
    one, two = bookmark(own, placed({"L": [10, 11, 12, 13]})), bookmark(own, placed({"L": [14, 15, 15, 16]}))
    found = one.compare(two)
    assert list(found.columns) == ["bookmark (these)", "bookmark (others)", "difference", "difference_se"]
    assert found.loc["L", "difference"] == pytest.approx(two.values[0] - one.values[0])
    step = one.gradient[0] - two.gradient[0]
    variance = one.panel_covariance[0, 0] + two.panel_covariance[0, 0] + step @ own.bank.covariance @ step
    assert found.loc["L", "difference_se"] == pytest.approx(np.sqrt(variance), rel=EXACT)
    itself = one.compare(bookmark(own, placed({"L": [10, 11, 12, 13]})))
    assert itself.loc["L", "difference_se"] == pytest.approx(np.sqrt(2) * one.standard_errors.loc["L", "panel"])


def test_panels_of_two_banks_add_their_errors():
    one, two = panel_cuts(), bookmark(bank_of(30, seed=5), drawn_panel(booklet(bank_of(30, seed=5)), 8))
    error = one.standard_errors["total"] ** 2 + two.standard_errors["total"] ** 2
    np.testing.assert_allclose(one.compare(two)["difference_se"] ** 2, error, rtol=1e-9)


def test_an_unknown_part_leaves_the_error_of_the_difference_unknown():
    own = booklet(bank_of(30))
    covariance = own.bank.covariance.copy()
    covariance[22:24] = covariance[:, 22:24] = np.nan  # page 12
    own = booklet(changed(own.bank, covariance=covariance))
    one, two = bookmark(own, placed({"L": [10, 12, 13]})), bookmark(own, placed({"L": [14, 15, 16]}))
    assert np.isnan(one.compare(two).loc["L", "difference_se"])
    assert np.isnan(panel_cuts().compare({"CSE-3": 0.0})["difference_se"]).all()


def test_cuts_through_one_link_share_its_error():
    own = booklet(bank_of(30))
    plain = [bookmark(own, placed({"L": pages})) for pages in ([10, 11, 12, 13], [14, 15, 15, 16])]
    linked = [bookmark(own, placed({"L": pages}), linking=LINK) for pages in ([10, 11, 12, 13], [14, 15, 15, 16])]
    before, after = plain[0].compare(plain[1]).loc["L"], linked[0].compare(linked[1]).loc["L"]
    assert after["difference"] == pytest.approx(1.2 * before["difference"])
    expected = 1.44 * before["difference_se"] ** 2 + 0.002 * before["difference"] ** 2
    assert after["difference_se"] ** 2 == pytest.approx(expected, rel=1e-9)
    other = plain[0].compare(linked[1]).loc["L", "difference_se"]
    parts = plain[0].standard_errors.loc["L", "total"] ** 2 + linked[1].standard_errors.loc["L", "total"] ** 2
    assert other**2 == pytest.approx(parts, rel=1e-9)


def test_comparison_by_level():
    found = panel_cuts().compare({"CSE-4": 0.3, "CSE-6": 2.0})
    assert list(found.index) == ["CSE-4", "CSE-6"]
    with pytest.raises(LabelError, match="share no level"):
        panel_cuts().compare({"B1": 0.0})


# files


def all_kinds():
    two_rounds = pd.concat([placed({"L1": [1, 2, 4], "L2": [6, 6, 7]}, round=r, table=list("AAB") * 2) for r in (1, 2)])
    return {
        "bookmark": panel_cuts(),
        "linked": panel_cuts(linking=LINK, rule="midpoint", aggregate="mean"),
        "rounds and tables": bookmark(bank_of(9), two_rounds, aggregate="mean", panel_unit="table", round=1),
        "open-ended": bookmark(bank_of(9), placed({3: [0, 0], 4: [5, 6]})),
        "no covariance": bookmark(bank_of(9, error=None), placed({"L": [3]})),
        "guessing": bookmark(booklet(bank_of(9, guessing=0.2), order_by="difficulty"), placed({"L": [3, 4]})),
        "given": CutScores.from_values({"CSE-3": -1.0, "CSE-4": 1 / 3}, 0.1, bank=bank_of(5)),
        "given alone": CutScores.from_values([0.5]),
    }


@pytest.mark.parametrize("kind", all_kinds())
def test_files_hold_everything_to_the_last_bit(tmp_path, kind):
    found = all_kinds()[kind]
    again = pe.load(found.save(tmp_path / "cuts.json"))
    assert isinstance(again, CutScores)
    assert again.levels == found.levels
    for name in ("values", "panel_covariance", "item_covariance", "linking_covariance", "gradient"):
        np.testing.assert_array_equal(getattr(again, name), getattr(found, name))
    assert again.to_dict() == found.to_dict()
    pd.testing.assert_frame_equal(again.to_frame(), found.to_frame(), check_exact=True)
    assert again.summary() == found.summary()
    if found.panel is not None:
        pd.testing.assert_frame_equal(again.panel.agreement, found.panel.agreement, check_exact=True)
        pd.testing.assert_frame_equal(again.rp_sensitivity, found.rp_sensitivity, check_exact=True)
        assert again.booklet.fingerprint == found.booklet.fingerprint
        assert again.panel.to_frame().equals(found.panel.to_frame())


def nested(content, path, value):
    *inner, last = path.split(".")
    for name in inner:
        content = content[name]
    content[last] = value


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("values", [1.0, 0.0, 2.0, 3.0]),
        ("values", [0.0, 0.0, 1.0, 2.0]),
        ("values", [None, 0.0, 1.0, 2.0]),
        ("values", [0.0, 1.0]),
        ("values", [0.0, 1.0, "x", 3.0]),
        ("levels", ["CSE-3", "CSE-3", "CSE-4", "CSE-5"]),
        ("levels", ["CSE-4", "CSE-3", "CSE-5", "CSE-6"]),
        ("levels", ["a", "b", "c", "d"]),
        ("levels", []),
        ("scale", None),
        ("scale.levels", ["CSE-3"]),
        ("scale.levels", ["CSE-3", "CSE-4"]),
        ("method", 3),
        ("panel_covariance", [[-0.1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]),
        ("panel_covariance", [[1, 5, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]),
        ("item_covariance", [[1.0]]),
        ("linking_covariance", None),
        ("panel_df", -1),
        ("panel_df", None),
        ("gradient", [[0.0] * 4] * 4),
        ("bank", None),
        ("bank.discrimination", [1.0]),
        ("panel.pages", [[[1.5, 2, 3, 4]] * 8]),
        ("panel.pages", [[[1, 2, 3, 99]] * 8]),
        ("panel.rule", "other"),
        ("panel.tables", ["A"]),
        ("panel.levels", ["CSE-3", "CSE-4", "CSE-5", "CSE-7"]),
        ("panel.booklet.response_probability", 1.0),
        ("linking", {"slope": 0.0, "intercept": 0.0, "covariance": None}),
        ("rp_sensitivity.cuts", [[0.0]]),
        ("rp_sensitivity", 3),
        ("options", {}),
        ("options", None),
        ("diagnostics", "none"),
        ("version", None),
    ],
    ids=str,
)
def test_damaged_files_are_refused(tmp_path, path, value):
    file = panel_cuts().save(tmp_path / "cuts.json")
    content = json.loads(file.read_text())
    nested(content, path, value)
    file.write_text(json.dumps(content))
    with pytest.raises(FileFormatError, match="says it is a cut_scores, but"):
        pe.load(file)


@pytest.mark.parametrize("name", ["levels", "values", "panel", "scale", "panel_covariance", "options", "linking", "version"])
def test_files_that_lack_a_field(tmp_path, name):
    file = panel_cuts().save(tmp_path / "cuts.json")
    content = json.loads(file.read_text())
    del content[name]
    file.write_text(json.dumps(content))
    with pytest.raises(FileFormatError, match="says it is a cut_scores, but"):
        pe.load(file)


@pytest.mark.parametrize("kind", ["levels", "item_bank", "ordered_item_booklet", "scores"])
def test_files_of_another_kind(tmp_path, kind):
    file = panel_cuts().save(tmp_path / "cuts.json")
    file.write_text(json.dumps({**json.loads(file.read_text()), "kind": kind}))
    with pytest.raises(FileFormatError, match=f"says it is a {kind}, but"):
        pe.load(file)
