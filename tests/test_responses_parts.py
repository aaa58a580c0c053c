"""What a response matrix holds beside its scores: tables, parts, reasons, rates; and that nothing in it can be changed."""

from __future__ import annotations

import copy
import pickle
import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pytest

from psychoedu.exceptions import DataError, DuplicateLabelError, LabelError, RepeatsError
from psychoedu.responses import Reason, ResponseMatrix, as_response_matrix

SCORES = [[1, 0, 1], [0, 0, 1], [1, 1, 0], [0, 1, 1]]


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame(SCORES, index=list("abcd"), columns=["q1", "q2", "q3"])


# ---- tables beside the axes, parts ------------------------------------------------------------------------------------


def test_columns_and_tables_beside(frame: pd.DataFrame) -> None:
    tasks = pd.DataFrame({"item": ["q3", "q2", "q1", "q0"], "task": ["t3", "t2", "t1", "t0"]})
    models = pd.DataFrame({"size": [4, 3, 2, 1]}, index=list("dcba"))
    matrix = ResponseMatrix.from_wide(
        frame.assign(group=list("xxyy")),
        items=["q3", "q1"],
        respondent_columns="group",
        item_table=tasks,
        respondent_table=models,
    )
    assert list(matrix.to_frame().loc["a"]) == [1.0, 1.0]
    assert list(matrix.items["task"]) == ["t3", "t1"]
    assert matrix.items.index.name == "item"
    assert matrix.respondents.index.name == "respondent"
    assert matrix.respondents["size"].tolist() == [1, 2, 3, 4]
    assert list(matrix.respondents["group"]) == list("xxyy")
    with pytest.raises(LabelError, match="lacks 1 item: 'q1'"):
        ResponseMatrix.from_wide(frame, item_table=tasks[:2])
    with pytest.raises(LabelError, match="'q9'"):
        ResponseMatrix.from_wide(frame, items=["q9"])
    with pytest.raises(LabelError, match="'grp'"):
        ResponseMatrix.from_wide(frame, respondent_columns=["grp"])
    with pytest.raises(LabelError, match="twice"):
        ResponseMatrix.from_wide(frame, items=["q1", "q2"], respondent_columns=["q2"])


def test_array_labels() -> None:
    matrix = ResponseMatrix.from_wide(np.array(SCORES), items=["x", "y", "z"], respondents=list("abcd"))
    assert matrix.to_frame().loc["b", "z"] == 1.0
    with pytest.raises(LabelError, match="2 item labels for 3 items"):
        ResponseMatrix.from_wide(np.array(SCORES), items=["x", "y"])
    with pytest.raises(DataError, match="array has none"):
        ResponseMatrix.from_wide(np.array(SCORES), respondent_columns=["group"])


@pytest.mark.parametrize(
    "rows",
    [
        [True, False, False, True],
        np.array([True, False, False, True]),
        pd.Series([True, False, False, True]),
        pd.Series([True, True, False, False], index=list("adbc")),
        pd.array([True, False, False, True], dtype="boolean"),
        ["a", "d"],
        pd.Index(["a", "d"]),
        {"group": ["x", "z"]},
    ],
)
def test_select_rows(frame: pd.DataFrame, rows: Any) -> None:
    matrix = as_response_matrix(frame.assign(group=["x", "y", "y", "z"]), respondent_columns=["group"])
    part = matrix.select(rows, items=["q3", "q1"])
    assert part.respondent_labels.tolist() == ["a", "d"]
    assert part.scored().tolist() == [[1, 1], [1, 0]]
    assert part.respondents["group"].tolist() == ["x", "z"]
    assert matrix.respondent_mask(rows).tolist() == [True, False, False, True]


@pytest.mark.parametrize(
    ("rows", "error", "said"),
    [
        (["a", "zz"], LabelError, "'zz'"),
        (["a", "a"], DuplicateLabelError, "'a'"),
        ([True, False], DataError, "one value per respondent"),
        (pd.array([True, None, False, False], dtype="boolean"), DataError, "missing values"),
        (pd.Series([True] * 4, index=list("abcx")), LabelError, "'d'"),
        ({"grp": "x"}, LabelError, "'grp'"),
        ({"group": "q"}, LabelError, "'q'"),
        ([False] * 4, DataError, "0 respondents x 3 items"),
    ],
)
def test_select_refuses(frame: pd.DataFrame, rows: Any, error: type[Exception], said: str) -> None:
    matrix = as_response_matrix(frame.assign(group=list("xxyy")), respondent_columns=["group"])
    with pytest.raises(error, match=said):
        matrix.select(rows)


# ---- policies, rates, immutability ------------------------------------------------------------------------------------


def reasons_matrix() -> ResponseMatrix:
    """One respondent with each kind of cell: 2 right, 1 wrong, then every reason once."""
    codes = {2: "not_administered", 3: "not_reached", 4: "api_error", 5: "refused", 6: "unparsed", 7: "empty"}
    return as_response_matrix(np.array([[1, 1, 0, 2, 3, 4, 5, 6, 7]]), missing_codes=codes)


def test_invalid_answers_as_wrong_or_missing() -> None:
    matrix = reasons_matrix()
    wrong, missing = [1, 1, 0, -1, -1, -1, 0, 0, 0], [1, 1, 0, -1, -1, -1, -1, -1, -1]
    assert matrix.codes.tolist() == [[1, 1, 0, -1, -2, -3, -4, -5, -6]]
    assert matrix.invalid == "wrong"
    assert matrix.scored().tolist() == [wrong]
    assert matrix.scored("missing").tolist() == [missing]
    other = matrix.with_invalid("missing")
    assert other.scored().tolist() == [missing]
    assert other.scored("wrong").tolist() == [wrong]
    assert other.codes is not None
    np.testing.assert_array_equal(other.codes, matrix.codes)
    np.testing.assert_array_equal(other.to_frame().iloc[0], [1, 1, 0] + [np.nan] * 6)
    np.testing.assert_array_equal(matrix.to_frame().iloc[0], [1, 1, 0, np.nan, np.nan, np.nan, 0, 0, 0])
    assert matrix.reasons.iloc[0].tolist() == [
        *["answered"] * 3, "not_administered", "not_reached", "api_error", "refused", "unparsed", "empty",
    ]  # fmt: skip
    with pytest.raises(DataError, match="Did you mean 'missing'"):
        matrix.with_invalid("Missing")


def test_rates_by_hand() -> None:
    row = reasons_matrix().rates().iloc[0]
    assert row["rate_invalid_wrong"] == pytest.approx(2 / 6, rel=1e-12)
    assert row["rate_invalid_missing"] == pytest.approx(2 / 3, rel=1e-12)
    assert row["rate_failed_wrong"] == pytest.approx(2 / 7, rel=1e-12)
    assert row["right"] == 2
    assert row[[reason.label for reason in Reason]].tolist() == [1] * 6
    text = reasons_matrix().summary()
    assert "0.3333" in text
    assert "0.6667" in text


def test_r1_two_right_four_wrong_two_failed_calls() -> None:
    matrix = as_response_matrix(np.array([[1, 1, 0, 0, 0, 0, 7, 7]]), missing_codes={7: "api_error"})
    row = matrix.rates(None).iloc[0]
    assert row["rate_failed_wrong"] == 0.25
    assert row["rate_invalid_missing"] == pytest.approx(1 / 3, rel=1e-12)
    assert matrix.scored("wrong").tolist() == matrix.scored("missing").tolist() == [[1, 1, 0, 0, 0, 0, -1, -1]]


def test_rates_by_column_and_without_scores(frame: pd.DataFrame) -> None:
    holes = frame.astype(float)
    holes["q3"] = np.nan
    matrix = as_response_matrix(holes.assign(group=list("xxyy")), respondent_columns=["group"], item_table=None)
    assert matrix.rates("group")["rate_invalid_wrong"].tolist() == [0.25, 0.75]
    assert matrix.rates("item")["rate_invalid_wrong"].isna().tolist() == [False, False, True]
    with pytest.raises(LabelError, match="by='zz'"):
        matrix.rates("zz")
    assert matrix._repr_html_().startswith("<div>")


def test_nothing_can_be_changed(frame: pd.DataFrame) -> None:
    matrix = reasons_matrix()
    for array in (matrix.codes, matrix.scored(), matrix.scored("missing"), matrix.repeat_codes):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 0
    with pytest.raises(AttributeError):
        matrix.invalid = "missing"  # type: ignore[misc]
    plain = as_response_matrix(frame)
    assert np.shares_memory(plain.scored(), plain.codes), "no copy where the codes say nothing else"
    table, scores = plain.respondents, plain.to_frame()
    table["new"] = 1
    scores.iloc[0, 0] = 5.0
    assert "new" not in plain.respondents.columns
    assert plain.to_frame().iloc[0, 0] == 1.0


def test_as_response_matrix_passes_matrices_through(frame: pd.DataFrame) -> None:
    matrix = as_response_matrix(frame)
    assert as_response_matrix(matrix) is matrix
    assert as_response_matrix(matrix, invalid="missing").invalid == "missing"
    with pytest.raises(DataError, match="already read"):
        as_response_matrix(matrix, recode={2: 1})
    with pytest.raises(DataError, match="already read"):
        ResponseMatrix.from_wide(matrix)
    with pytest.raises(DataError, match="from_wide"):
        ResponseMatrix(frame)  # type: ignore[arg-type]
    for twin in (copy.deepcopy(matrix), pickle.loads(pickle.dumps(matrix))):
        pd.testing.assert_frame_equal(twin.to_frame(), matrix.to_frame())
    with pytest.raises(RepeatsError):
        ResponseMatrix(np.ones((1, 1, 2), dtype=np.int8)).scored()


@pytest.mark.parametrize("kind", ["int8", "int8 frame", "int8 frame with group", "float"])
def test_memory_beside_the_codes_is_small(kind: str) -> None:
    values: Any = np.zeros((50_000, 100), dtype=np.int8)
    if kind.startswith("int8 frame"):
        values = pd.DataFrame(values)
    if kind == "int8 frame with group":
        values.insert(0, "group", "x")
    elif kind == "float":
        values = np.full((50_000, 100), np.nan)
    as_response_matrix(np.zeros((2, 2)))  # what is imported on first use does not count
    tracemalloc.start()
    matrix = as_response_matrix(values, respondent_columns=["group"] if "group" in kind else None)
    matrix.scored()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < matrix.codes.nbytes + 10_000_000
