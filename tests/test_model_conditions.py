"""Models and conditions read off labels, columns or values."""

import numpy as np
import pandas as pd
import pytest

from psychoedu.exceptions import DataError, LabelError
from psychoedu.model_conditions import models_and_conditions

LABELS = pd.Index(["m_one_p1", "m_one_p2", "n_p1"])
TABLE = pd.DataFrame({"model": ["A", "A", "B"], "prompt": ["x", "y", "x"], "size": [7, 7, 70]}, index=LABELS)
EVERY = np.arange(3)


def read(rows=EVERY, separator=None, model=None, condition=None, table=TABLE, labels=LABELS):
    return models_and_conditions(labels, rows, separator, model, condition, table)


def test_the_last_separator_counts():
    assert read(separator="_") == (["m_one", "m_one", "n"], ["p1", "p2", "p1"])
    assert read(rows=[2, 0], separator="_") == (["n", "m_one"], ["p1", "p1"])
    several = pd.Index(["a::b::c"])
    assert read(rows=[0], separator="::", labels=several) == (["a::b"], ["c"])


def test_labels_that_are_numbers_are_split_as_text():
    assert read(rows=[0, 1], separator=".", labels=pd.Index([1.5, 2.25])) == (["1", "2"], ["5", "25"])


def test_without_anything_each_label_is_a_model_without_a_condition():
    assert read() == (list(LABELS), [""] * 3)
    assert read(condition="prompt") == (list(LABELS), ["x", "y", "x"])


@pytest.mark.parametrize(
    "table",
    [TABLE, TABLE.iloc[::-1], pd.concat([TABLE.tail(1).set_axis(["o_p9"]), TABLE])],
    ids=["in order", "turned", "more rows"],
)
def test_columns_belong_to_labels(table):
    assert read(model="model", condition="prompt", table=table) == (["A", "A", "B"], ["x", "y", "x"])
    assert read(rows=[2], model="size", table=table) == ([70], [""])


def test_values_are_one_per_respondent_and_of_their_own_type():
    names, conditions = read(rows=[1, 2], model=["A", "A", "B"], condition=pd.Series([0, 1, 2]))
    assert (names, conditions) == (["A", "B"], [1, 2])
    assert type(conditions[0]) is int


def test_a_missing_value_of_one_who_is_not_shown_does_no_harm():
    assert read(rows=[0, 2], model=["A", None, "B"])[0] == ["A", "B"]
    with pytest.raises(DataError, match="model holds missing values; expected one per respondent that is shown"):
        read(rows=[0, 1], model=["A", None, "B"])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"separator": "_", "model": "model"}, DataError, "give it, or model= and condition=, not both"),
        ({"separator": "_", "condition": "prompt"}, DataError, "not both"),
        ({"separator": ""}, DataError, "separator='': expected the text between model and condition"),
        ({"separator": 3}, DataError, "separator=3"),
        ({"separator": "-"}, LabelError, r"3 labels of 3 without a model and a condition around '-': 'm_one_p1'"),
        ({"separator": "_p1"}, LabelError, r"3 labels of 3"),
        ({"separator": "m_"}, LabelError, r"3 labels of 3"),
        ({"separator": "_p1", "rows": [2]}, LabelError, r"1 label of 1 .*: 'n_p1'\.\nExpected labels such as 'M01_p1'"),
        ({"model": "name"}, LabelError, "model names 1 column that the table lacks: 'name'"),
        ({"model": "model", "table": None}, DataError, r"model='model' names a column; pass the table .* respondents="),
        ({"condition": ["x"]}, DataError, r"condition has to hold one value per respondent \(3\)"),
    ],
    ids=["both", "both too", "empty", "number", "none", "no condition", "no model", "one", "column", "no table", "short"],
)
def test_what_cannot_be_read(options, error, message):
    with pytest.raises(error, match=message):
        read(**options)
