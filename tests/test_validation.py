"""Checks of arguments: what passes comes back in its standard form, what does not is refused with what was expected."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import pytest

from psychoedu import validation
from psychoedu.exceptions import DataError, DuplicateLabelError, FileFormatError, LabelError

LABELS = pd.Index(["a", "b", "c"], name="respondent")


@pytest.mark.parametrize(
    ("check", "value", "expected"),
    [
        (validation.check_positive, 2, 2.0),
        (validation.check_positive, np.float32(0.5), 0.5),
        (validation.check_number, np.int64(-3), -3.0),
        (validation.check_probability, 0.67, 0.67),
        (validation.check_integer, np.int8(4), 4),
        (validation.check_flag, np.True_, True),
    ],
)
def test_accepted(check: Callable[[Any, str], Any], value: Any, expected: Any) -> None:
    result = check(value, "argument")
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(
    ("check", "value", "said"),
    [
        (validation.check_positive, 0.0, "above 0"),
        (validation.check_positive, -1, "above 0"),
        (validation.check_positive, np.nan, "finite"),
        (validation.check_positive, np.inf, "finite"),
        (validation.check_positive, "2", "finite number"),
        (validation.check_positive, True, "finite number"),
        (validation.check_positive, [1.0], "finite number"),
        (validation.check_probability, 0, "between 0 and 1"),
        (validation.check_probability, 1.0, "between 0 and 1"),
        (validation.check_probability, 67, r"Did you mean 0\.67\?"),
        (validation.check_integer, 3.0, "whole number"),
        (validation.check_integer, True, "whole number"),
        (validation.check_flag, 1, "True or False"),
        (validation.check_flag, "yes", "True or False"),
    ],
)
def test_refused(check: Callable[[Any, str], Any], value: Any, said: str) -> None:
    with pytest.raises(DataError, match=said) as error:
        check(value, "argument_name")
    assert "argument_name" in str(error.value)


def test_integer_minimum() -> None:
    assert validation.check_integer(1, "n", minimum=1) == 1
    with pytest.raises(DataError, match="at least 1; got 0"):
        validation.check_integer(0, "n", minimum=1)


def test_choice() -> None:
    assert validation.check_choice("eap", ("eap", "map"), "method") == "eap"
    with pytest.raises(DataError, match="Did you mean 'g-dina'"):
        validation.check_choice("GDINA", ("g-dina", "dina"), "model")
    with pytest.raises(DataError, match="'eap', 'map'; got None"):
        validation.check_choice(None, ("eap", "map"), "method")


def test_listed_counts_what_it_leaves_out() -> None:
    assert validation.listed(["q1", "q2"]) == "'q1', 'q2'"
    assert validation.listed([f"q{j}" for j in range(1200)]) == "'q0', 'q1', 'q2', 'q3', 'q4' and 1,195 more"
    assert validation.listed(np.array([1.0, 0.5, np.inf])) == "1, 0.5, inf"
    assert validation.counted(1, "item") == "1 item"
    assert validation.counted(1200, "item") == "1,200 items"


def test_labels() -> None:
    checked = validation.check_labels(pd.Index(["x", "y"], name="own"), "item")
    assert checked.tolist() == ["x", "y"]
    assert checked.name == "item"
    with pytest.raises(DuplicateLabelError, match="2 item labels used more than once: 'x', 'y'"):
        validation.check_labels(pd.Index(["x", "y", "x", "y", "x"]), "item")


def test_known_labels() -> None:
    assert validation.check_known(["c", "a"], LABELS, "respondent").tolist() == ["c", "a"]
    with pytest.raises(LabelError, match="2 respondents not found: 'y', 'z'"):
        validation.check_known(["y", "a", "z"], LABELS, "respondent")
    with pytest.raises(LabelError, match="type alone"):
        validation.check_known(["1"], pd.Index([1, 2]), "item")
    with pytest.raises(LabelError, match=r"2 respondents not found: \{\}, \['a'\]"):
        validation.check_known([{}, "a", ["a"]], LABELS, "respondent")


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, 3],
        np.array([1, 2, 3]),
        pd.Series([1, 2, 3]),
        pd.Series([1, 2, 3], index=LABELS),
        pd.Series([3, 1, 2], index=["c", "a", "b"]),
        (1, 2, 3),
        {"c": 3, "a": 1, "b": 2},
        MappingProxyType({"c": 3, "a": 1, "b": 2}),
    ],
)
def test_one_value_per_respondent(values: Any) -> None:
    assert validation.check_per_respondent(values, LABELS, "groups").tolist() == [1, 2, 3]


def test_default_index_goes_by_position_and_labels_go_first() -> None:
    numbered = pd.RangeIndex(1, 4)
    assert validation.check_per_respondent(pd.Series([7, 8, 9]), numbered, "groups").tolist() == [7, 8, 9]
    shuffled = pd.Index([2, 0, 1])
    assert validation.check_per_respondent(pd.Series([7, 8, 9]), shuffled, "groups").tolist() == [9, 7, 8]


@pytest.mark.parametrize(
    ("values", "error", "said"),
    [
        ([1, 2], DataError, r"one value per respondent \(3\)"),
        (np.ones((3, 1)), DataError, r"\(3, 1\)"),
        (pd.Series([1, 2, 3], index=["a", "b", "x"]), LabelError, "'c'"),
        (pd.Series([1, 2, 3], index=["a", "a", "b"]), LabelError, "'c'"),
        ({"a": 1, "b": 2}, LabelError, r"without a value for 1 respondent: 'c'"),
        ({"a": 1, "b": 2, "c": 3, "d": 4}, LabelError, r"1 label that is no respondent: 'd'"),
        ({0: 1, 1: 2, 2: 3}, LabelError, r"without a value for 3 respondents: 'a', 'b', 'c'"),
        ({}, LabelError, "3 respondents"),
        ({1, 2, 3}, DataError, "a set, which has no order"),
        (frozenset("abc"), DataError, "a frozenset, which has no order"),
        (pd.DataFrame({"group": [1, 2, 3]}, index=LABELS), DataError, r"(?s)a table of 1 column.*frame\['group'\]"),
        (pd.DataFrame({"x": [1, 2, 3], "y": [1, 2, 3]}), DataError, "a table of 2 columns"),
    ],
)
def test_values_that_fit_no_respondents(values: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        validation.check_per_respondent(values, LABELS, "groups")


def test_a_mapping_goes_by_its_keys_not_by_their_order() -> None:
    numbered = pd.RangeIndex(1, 4, name="respondent")
    assert validation.check_per_respondent({3: "z", 1: "x", 2: "y"}, numbered, "groups").tolist() == ["x", "y", "z"]
    pairs = pd.Index([("a", 1), ("a", 2)], tupleize_cols=False)
    assert validation.check_per_respondent({("a", 2): 5, ("a", 1): 4}, pairs, "groups").tolist() == [4, 5]
    assert validation.check_weights({"b": 2.0, "c": 0.0, "a": 1.0}, LABELS).tolist() == [1.0, 2.0, 0.0]
    mask = validation.check_per_respondent({"b": False, "c": True, "a": True}, LABELS, "fit_to")
    assert mask.dtype == bool
    assert mask.tolist() == [True, False, True]


def test_masked_values_are_missing() -> None:
    masked = np.ma.masked_array([1.0, 2.0, 3.0], mask=[False, True, False])
    np.testing.assert_array_equal(validation.check_per_respondent(masked, LABELS, "groups"), [1.0, np.nan, 3.0])
    with pytest.raises(DataError, match="missing: 'b'"):
        validation.check_weights(masked, LABELS)


def test_weights() -> None:
    given = np.array([1.0, 0.0, 2.0])
    weights = validation.check_weights(given, LABELS)
    assert weights.tolist() == [1.0, 0.0, 2.0]
    weights[0] = 9.0
    assert given.tolist() == [1.0, 0.0, 2.0], "the weights are a copy"
    assert validation.check_weights(None, LABELS).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([1, -1, 2], "'b'"),
        ([1, np.nan, np.inf], "2 respondents"),
        ([1, None, 2], "'b'"),
        ([0, 0, 0], "All 3 weights are 0"),
        (["1", "x", "2"], "has to be numbers"),
        ([1, 2], "one value per respondent"),
        (np.array([1, 2, 3 + 1j]), "has to be numbers"),
        ({"a": 1, "b": 2, "c": -1}, "'c'"),
        ({"a": 1, "c": 2}, "'b'"),
    ],
)
def test_weights_refused(weights: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        validation.check_weights(weights, LABELS)


@pytest.mark.parametrize(
    "labels",
    [
        pd.Index([True, False]),
        pd.Index([True, False], dtype=object),
        pd.Index(["x", False], dtype=object),
        pd.Index([2, np.True_]),
    ],
    ids=["bool", "object", "mixed", "numpy"],
)
@pytest.mark.parametrize("axis", ["item", "respondent"])
def test_true_and_false_are_no_labels(labels: pd.Index, axis: str) -> None:
    """Neither pandas' .loc nor a selection can tell them from a mask."""
    with pytest.raises(LabelError, match=f"{axis}.* True or False.*masks"):
        validation.check_labels(labels, axis)


def test_groups_that_differ_in_type_alone() -> None:
    validation.check_group_labels([1, 2, "x", ("a", 1), None])
    with pytest.raises(DuplicateLabelError, match="2 group labels differ in type alone: 1, '1'"):
        validation.check_group_labels([1, "x", "1"])


@pytest.mark.parametrize("path", [None, 3, True, ["a.csv"], b"a.csv", "", "a\0b"])
def test_what_is_no_path(path: Any) -> None:
    with pytest.raises(FileFormatError, match=r"file to read is .*Expected a path"):
        validation.check_path(path, "read")


def test_paths(tmp_path: Path) -> None:
    assert validation.check_path("some.json", "write") == Path("some.json")
    assert validation.check_path(tmp_path / "new.json", "write") == tmp_path / "new.json"
    with pytest.raises(FileFormatError, match=f"{tmp_path} is a folder; expected the name of a file to write"):
        validation.check_path(tmp_path, "write")
