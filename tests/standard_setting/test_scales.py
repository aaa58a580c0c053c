"""Scales of levels: what may be said, which levels belong, and their order."""

import numpy as np
import pandas as pd
import pytest

from psychoedu.exceptions import DataError, DuplicateLabelError, LabelError
from psychoedu.standard_setting.scales import CEFR, CSE, Scale, as_scale, level_labels, order_levels, refuse_misspelt


def test_cse_has_nine_levels_and_cefr_six():
    assert CSE.levels == ("CSE-1", "CSE-2", "CSE-3", "CSE-4", "CSE-5", "CSE-6", "CSE-7", "CSE-8", "CSE-9")
    assert CEFR.levels == ("A1", "A2", "B1", "B2", "C1", "C2")


def test_above_the_top_cut_the_instrument_tells_nothing_apart():
    cuts = ["CSE-3", "CSE-4", "CSE-5", "CSE-6"]
    assert CSE.labels(cuts) == ("below CSE-3", "CSE-3", "CSE-4", "CSE-5", "CSE-6")
    assert CSE.texts(cuts) == ("below CSE-3", "CSE-3", "CSE-4", "CSE-5", "CSE-6 or above")
    said = CSE.limits(cuts)
    assert "no cut score for CSE-7 to CSE-9, so a score above the top cut is reported as CSE-6 or above" in said
    assert "levels under CSE-3 are not told apart" in said


def test_the_last_level_of_a_scale_is_itself():
    assert CEFR.texts(["C1", "C2"]) == ("below C1", "C1", "C2")
    assert CEFR.texts(["A2", "B2"]) == ("below A2", "A2 to B1", "B2 or above")
    assert "there is no cut score for C2, so" in CEFR.limits(["B2", "C1"])
    assert CEFR.limits(["A2", "B1", "B2", "C1", "C2"]).endswith("the whole scale is covered")


def test_scales_that_are_none():
    with pytest.raises(DataError, match="has 1 level; expected at least two"):
        Scale("one", ("a",))
    with pytest.raises(DuplicateLabelError, match="names a level twice"):
        Scale("two", ("a", "b", "a"))


@pytest.mark.parametrize("levels", [["CSE-3", "CSE-4"], ["CSE-9"], np.array(["CSE-3"])], ids=repr)
def test_the_known_scales_are_found_by_their_levels(levels):
    assert as_scale(None, levels) is CSE


def test_scales_by_name_list_or_none():
    assert as_scale("cse", ["CSE-3"]) is CSE
    assert as_scale(None, ["B1", "B2"]) is CEFR
    assert as_scale(CEFR, ["B1"]) is CEFR
    assert as_scale(["low", "mid", "high"], ["mid"]).texts(["mid"]) == ("below mid", "mid or above")
    assert as_scale(None, ["pass"]).texts(["pass"]) == ("below pass", "pass")
    assert as_scale([1, 2, 3], [2, 3]).texts(["2", "3"]) == ("below 2", "2", "3")


@pytest.mark.parametrize("scale", ["XYZ", 3, 2.5], ids=repr)
def test_scales_that_do_not_exist(scale):
    with pytest.raises(DataError, match=r"scale has to be .*got"):
        as_scale(scale, ["CSE-3"])


def test_levels_that_a_scale_lacks_with_the_likely_spelling():
    with pytest.raises(LabelError, match=r"2 levels not on the scale CSE: '3', '4'\.\n.*Rename them, as '3' to 'CSE-3'\."):
        as_scale("CSE", [3, 4])
    with pytest.raises(LabelError, match=r"Rename them, as 'CSE 3' to 'CSE-3'"):
        as_scale("CSE", ["CSE 3"])
    with pytest.raises(
        LabelError, match=r"not on the scale CEFR: 'D1'\.\nIts levels are 'A1', 'A2', 'B1', 'B2', 'C1' and 1 more\.$"
    ):
        as_scale("CEFR", ["D1"])


@pytest.mark.parametrize("scale", [None, "CSE", CSE], ids=str)
def test_levels_against_the_order_of_their_scale(scale):
    with pytest.raises(DataError, match=r"order 'CSE-4', 'CSE-3', but on the scale CSE it is 'CSE-3', 'CSE-4'"):
        as_scale(scale, ["CSE-4", "CSE-3"])


def test_a_level_twice():
    with pytest.raises(DuplicateLabelError, match="The levels name one twice: 'a', 'a'"):
        as_scale(None, ["a", "a"])


def test_labels_of_the_levels():
    assert level_labels([3, 4]) == ("below 3", "3", "4")


# the order of the levels of a table


@pytest.mark.parametrize(
    ("labels", "order"),
    [
        (["CSE-6", "CSE-3", "CSE-5"], ("CSE-3", "CSE-5", "CSE-6")),
        (["C1", "A2", "B1"], ("A2", "B1", "C1")),
        ([6, 3, 5], (3, 5, 6)),
        (["L10", "L2", "L1"], ("L1", "L2", "L10")),
        (["-1", "10", "2"], ("-1", "2", "10")),
        (["Level-10", "Level-2", "Level-1"], ("Level-1", "Level-2", "Level-10")),
        (["band -2", "band -1"], ("band -1", "band -2")),
        (["pass", "merit", "distinction"], ("pass", "merit", "distinction")),
        (["L1", "M2"], ("L1", "M2")),
        (["M2", "L1"], ("M2", "L1")),
        ([2.5, 1.5], (1.5, 2.5)),
    ],
    ids=repr,
)
def test_levels_are_put_in_order(labels, order):
    assert order_levels(pd.Series([*labels, *labels])) == order


def test_a_categorical_has_its_own_order():
    labels = pd.Series(pd.Categorical(["high", "low"], categories=["low", "mid", "high"]))
    assert order_levels(labels) == ("low", "high")


def test_levels_in_a_given_order():
    labels = pd.Series(["b", "a"])
    assert order_levels(labels, ["c", "b", "a"]) == ("b", "a")
    with pytest.raises(LabelError, match=r"1 level not among levels: 'a'\.\nExpected 'b'"):
        order_levels(labels, ["b"])
    with pytest.raises(DuplicateLabelError, match="names a level twice"):
        order_levels(labels, ["b", "a", "b"])


def test_levels_that_differ_in_type_alone():
    with pytest.raises(DuplicateLabelError, match="Levels differ in type alone: 3, '3'"):
        order_levels(pd.Series([3, "3"], dtype=object))


# labels that look like levels and are none


@pytest.mark.parametrize(
    ("labels", "scale", "wrong", "hint"),
    [
        (["CSE-4", "CSE3"], "CSE", ["CSE3"], "Did you mean 'CSE-3'?"),
        (["cse 3", "CSE_4"], "CSE", ["cse 3", "CSE_4"], "Did you mean 'CSE-3', 'CSE-4'?"),
        (["CSE-3 "], "CSE", ["CSE-3 "], "Did you mean 'CSE-3'?"),
        (["CSE-12", "CSE-3"], "CSE", ["CSE-12"], "Its levels are 'CSE-1', 'CSE-2'"),
        (["CSE0"], "CSE", ["CSE0"], "Its levels are 'CSE-1'"),
        (["A1", "b2"], "CEFR", ["b2"], "Did you mean 'B2'?"),
        (["B-1", "C 2"], "CEFR", ["B-1", "C 2"], "Did you mean 'B1', 'C2'?"),
        (["cefr 3"], "CEFR", ["cefr 3"], "Its levels are 'A1', 'A2'"),
        (["CSE3", "CSE3"], "CSE", ["CSE3"], "Did you mean"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("kind", [list, pd.Series, iter])
def test_misspelt_levels_are_named_with_the_level_that_was_meant(labels, scale, wrong, hint, kind):
    with pytest.raises(LabelError) as caught:
        refuse_misspelt(kind(labels))
    first, second = str(caught.value).splitlines()
    number = "1 level" if len(wrong) == 1 else f"{len(wrong)} levels"
    assert first == f"{number} not on the scale {scale}: {', '.join(map(repr, wrong))}."
    assert second.startswith(hint)


@pytest.mark.parametrize(
    "labels", [["CSE-3", "CSE-9"], ["A1", "C2"], ["pass", "merit"], ["L1", "L10"], [3, 4], [3.5], ["CSE"], ["A12"], []], ids=repr
)
def test_levels_that_are_right_or_of_another_scale_are_let_by(labels):
    assert refuse_misspelt(labels) is None


def test_misspelt_levels_stop_the_order_of_a_table():
    with pytest.raises(LabelError, match=r"Did you mean 'CSE-3'\?"):
        order_levels(pd.Series(["CSE3", "CSE-4"]))
    assert order_levels(pd.Series(["CSE3", "CSE-4"]), ["CSE3", "CSE-4"]) == ("CSE3", "CSE-4")  # the order says they are meant
