"""The response matrix from wide tables and arrays: cases I of the trouble list, named in the test ids, and its own promises."""

from __future__ import annotations

import copy
import datetime
import decimal
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from psychoedu.exceptions import DataError, DuplicateLabelError, LabelError, PsychoeduError, ResponseCodeError
from psychoedu.responses import Reason, ResponseMatrix, as_response_matrix

SCORES = [[1, 0, 1], [0, 0, 1], [1, 1, 0], [0, 1, 1]]


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame(SCORES, index=list("abcd"), columns=["q1", "q2", "q3"])


def message_of(error: pytest.ExceptionInfo[PsychoeduError]) -> str:
    text = str(error.value)
    assert text.count("\n") <= 2, "a refusal takes at most three lines"
    return text


# ---- labels and shape -------------------------------------------------------------------------------------------------


def test_i9_duplicate_item_label(frame: pd.DataFrame) -> None:
    with pytest.raises(DuplicateLabelError, match="item label") as error:
        as_response_matrix(frame.set_axis(["q1", "q1", "q3"], axis=1))
    assert "'q1'" in message_of(error)


def test_i9_duplicate_respondent_label(frame: pd.DataFrame) -> None:
    with pytest.raises(DuplicateLabelError, match="respondent label") as error:
        as_response_matrix(frame.set_axis(["gpt-x", "a", "gpt-x", "b"]))
    assert "'gpt-x'" in message_of(error)
    assert "repeat" in message_of(error)


def test_i20_more_items_than_respondents_is_not_transposed() -> None:
    values = np.random.default_rng(20).integers(0, 2, (20, 600))
    matrix = as_response_matrix(values)  # warnings are errors in the tests
    assert matrix.shape == (20, 600)
    np.testing.assert_array_equal(matrix.scored(), values)


@pytest.mark.parametrize("shape", [(0, 3), (4, 0), (0, 0)])
@pytest.mark.parametrize(
    "make", [lambda s: np.empty(s), lambda s: np.empty(s, dtype=object), lambda s: pd.DataFrame(np.empty(s))]
)
def test_i24_empty_matrix(shape: tuple[int, int], make: Callable[[tuple[int, int]], Any]) -> None:
    with pytest.raises(ValueError, match=rf"{shape[0]} respondents x {shape[1]} items \(shape \({shape[0]}, {shape[1]}\)\)"):
        as_response_matrix(make(shape))


def test_i23_permuted_rows_and_columns_permute_the_result(frame: pd.DataFrame) -> None:
    rows, columns = ["c", "a", "d", "b"], ["q3", "q1", "q2"]
    permuted = as_response_matrix(frame.loc[rows, columns])
    assert permuted.respondent_labels.tolist() == rows
    assert permuted.item_labels.tolist() == columns
    pd.testing.assert_frame_equal(permuted.to_frame().loc[list("abcd"), ["q1", "q2", "q3"]], as_response_matrix(frame).to_frame())


def test_i5_respondent_without_data_is_kept(frame: pd.DataFrame) -> None:
    with_hole = frame.astype(float)
    with_hole.loc["b"] = np.nan
    matrix = as_response_matrix(with_hole)
    assert matrix.respondent_labels.tolist() == list("abcd")
    assert matrix.codes[1].tolist() == [Reason.NOT_ADMINISTERED] * 3
    assert "1 respondent without any score" in matrix.summary()


@pytest.mark.parametrize(
    ("labels", "error", "said"),
    [
        (pd.MultiIndex.from_product([["m", "n"], ["z", "f"]]), LabelError, "2 levels"),
        ([np.nan, "b", "c", "d"], LabelError, "position 1"),
        ([1, "1", "c", "d"], DuplicateLabelError, "type alone"),
        ([True, 1, 2, 3], DuplicateLabelError, "more than once"),
    ],
)
def test_labels_that_cannot_serve(frame: pd.DataFrame, labels: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        as_response_matrix(frame.set_axis(labels))
    square = frame.iloc[:, [0, 1, 2, 2]].set_axis(labels, axis=1)
    with pytest.raises(error, match=said):
        as_response_matrix(square)


def test_labels_of_users_are_kept(frame: pd.DataFrame) -> None:
    assert as_response_matrix(frame.reset_index(drop=True)).respondent_labels.tolist() == [0, 1, 2, 3]
    assert as_response_matrix(frame.set_axis([7, "x", 3, "y"])).respondent_labels.tolist() == [7, "x", 3, "y"]
    categorical = as_response_matrix(frame.set_axis(pd.CategoricalIndex(list("dcba"))))
    assert categorical.respondent_labels.tolist() == list("dcba")
    assert not isinstance(categorical.respondent_labels, pd.CategoricalIndex)
    assert as_response_matrix(frame.to_numpy()).item_labels.tolist() == ["q1", "q2", "q3"]
    assert as_response_matrix(frame.to_numpy()).respondent_labels.tolist() == [1, 2, 3, 4]


# ---- codes ------------------------------------------------------------------------------------------------------------


def test_i10_codes_one_two(frame: pd.DataFrame) -> None:
    with pytest.raises(ResponseCodeError, match=r"Found codes \{1, 2\}, expected \{0, 1\}") as error:
        as_response_matrix(frame + 1)
    assert "recode={1: 0, 2: 1}" in message_of(error)
    recoded = as_response_matrix(frame + 1, recode={1: 0, 2: 1})
    np.testing.assert_array_equal(recoded.scored(), SCORES)
    reverse = as_response_matrix(frame + 1, recode={1: 1, 2: 0})
    np.testing.assert_array_equal(reverse.scored(), 1 - np.array(SCORES))


def test_i10_codes_one_three_five() -> None:
    with pytest.raises(ResponseCodeError, match=r"Found codes \{1, 3, 5\}, expected \{0, 1\}") as error:
        as_response_matrix(pd.DataFrame({"q1": [1, 3, 5], "q2": [5, 5, 1]}))
    assert "3 (1 cell)" in message_of(error)
    assert "recode={1: 0, 3: 0, 5: 1}" in message_of(error)


@pytest.mark.parametrize("texts", [("0", "1"), ("False", "True"), ("0.0", "1.0")])
@pytest.mark.parametrize("dtype", [object, "str", "category", "string"])
def test_i11_text_is_not_cast(frame: pd.DataFrame, texts: tuple[str, str], dtype: Any) -> None:
    text = frame.replace(dict(enumerate(texts))).astype(dtype)
    with pytest.raises(ResponseCodeError, match="recode=") as error:
        as_response_matrix(text)
    assert repr(texts[1]) in message_of(error)
    recoded = as_response_matrix(text, recode={texts[0]: 0, texts[1]: 1})
    np.testing.assert_array_equal(recoded.scored(), SCORES)


def test_i11_text_array() -> None:
    with pytest.raises(ResponseCodeError, match="recode="):
        as_response_matrix(np.array([["0", "1"]]))
    assert as_response_matrix(np.array([["0", "1"]]), recode={"0": 0, "1": 1}).scored().tolist() == [[0, 1]]


def test_i12_booleans(frame: pd.DataFrame) -> None:
    np.testing.assert_array_equal(as_response_matrix(frame == 1).scored(), SCORES)
    np.testing.assert_array_equal(as_response_matrix((frame == 1).to_numpy()).scored(), SCORES)


@pytest.mark.parametrize("dtype", [object, "boolean", "bool[pyarrow]"])
def test_i12_booleans_with_a_hole(dtype: str) -> None:
    if dtype == "bool[pyarrow]":
        pytest.importorskip("pyarrow")
    column = pd.Series([True, None, False], dtype=dtype, index=list("abc"), name="q1")
    values = as_response_matrix(column.to_frame()).to_frame()["q1"]
    np.testing.assert_array_equal(values, [1.0, np.nan, 0.0])


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "longdouble", "int8", "uint8", "int64", ">i4", "Int64", "Float32"]
)
def test_i13_whole_numbers_of_any_type(frame: pd.DataFrame, dtype: Any) -> None:
    np.testing.assert_array_equal(as_response_matrix(frame.astype(dtype)).scored(), SCORES)
    if dtype not in ("Int64", "Float32"):
        np.testing.assert_array_equal(as_response_matrix(frame.to_numpy().astype(dtype)).scored(), SCORES)


def test_i13_partial_credit(frame: pd.DataFrame) -> None:
    partial = frame.astype(float)
    partial.loc["c", "q2"] = 0.5
    with pytest.raises(ResponseCodeError, match=r"0\.5 is partial credit") as error:
        as_response_matrix(partial)
    assert "respondent 'c', item 'q2'" in message_of(error)
    assert "threshold" in message_of(error)
    assert "polytomous" in message_of(error)


def hole_as(kind: str) -> Any:
    plain: list[list[Any]] = [[1, 0], [None, 1], [0, 1]]
    if kind == "masked array":
        return np.ma.array([[1, 0], [77, 1], [0, 1]], mask=np.array([[0, 0], [1, 0], [0, 0]], dtype=bool))
    holes: dict[str, Any] = {"nan": np.nan, "None": None, "pd.NA": pd.NA, "NaT": pd.NaT}
    cells = [[holes[kind.split(" ")[0]] if cell is None else cell for cell in row] for row in plain]
    return pd.DataFrame(cells, dtype=object if "object" in kind else None)


@pytest.mark.parametrize(
    "kind", ["nan", "nan object", "None", "None object", "pd.NA", "pd.NA object", "NaT object", "masked array"]
)
def test_i14_one_hole_in_many_spellings(kind: str) -> None:
    matrix = as_response_matrix(hole_as(kind))
    expected = np.array([[1, 0], [-1, 1], [0, 1]], dtype=np.int8)
    assert matrix.codes.dtype == np.int8
    assert matrix.codes.tobytes() == expected.tobytes()
    assert matrix.scored().tobytes() == expected.tobytes()


def test_i15_declared_and_undeclared_missing_codes(frame: pd.DataFrame) -> None:
    coded = frame.copy()
    coded.loc["a", "q1"] = -9
    coded.loc[["b", "c"], "q3"] = 99
    with pytest.raises(ResponseCodeError) as error:
        as_response_matrix(coded)
    text = message_of(error)
    assert "99 (2 cells)" in text
    assert "-9 (1 cell)" in text
    assert "missing_codes=(-9, 99)" in text
    assert "'q1', 'q3'" in text
    with pytest.raises(ResponseCodeError, match=r"99 \(2 cells\)"):
        as_response_matrix(coded, missing_codes=(-9,))
    matrix = as_response_matrix(coded, missing_codes=(-9, 99))
    assert matrix.scored().tolist() == [[-1, 0, 1], [0, 0, -1], [1, 1, -1], [0, 1, 1]]


@pytest.mark.parametrize(
    ("code", "dtype"),
    [
        (code, dtype)
        for code in (-9, 9, 99, 999, -1)
        for dtype in ("int8", "int16", "float64", "object")
        if (code, dtype) != (999, "int8")
    ],
)
def test_i15_no_code_is_taken_for_missing(code: int, dtype: str) -> None:
    values: Any = np.array([[1, 0, code]], dtype=dtype)
    with pytest.raises(ResponseCodeError, match=rf"missing_codes=\({code},\)"):
        as_response_matrix(values)
    assert as_response_matrix(values, missing_codes=[code]).scored().tolist() == [[1, 0, -1]]


def test_i16_not_reached_is_told_from_wrong_and_missing() -> None:
    timed = pd.DataFrame({"q1": [1, 0, 1], "q2": [0, np.nan, 1], "q3": [1, 8, 8]}, index=list("abc"))
    matrix = as_response_matrix(timed, missing_codes={8: "not reached"})
    assert matrix.codes.tolist() == [[1, 0, 1], [0, -1, -2], [1, 1, -2]]
    assert matrix.scored().tolist() == [[1, 0, 1], [0, -1, -1], [1, 1, -1]]
    counts = matrix.rates("item")
    assert counts["wrong"].tolist() == [1, 1, 0]
    assert counts["not_administered"].tolist() == [0, 1, 0]
    assert counts["not_reached"].tolist() == [0, 0, 2]
    assert repr(matrix) == "ResponseMatrix(3 respondents x 3 items, 11.1% not administered, 2 not reached)"
    assert "not reached" in matrix.summary()


def test_i17_the_caller_s_objects_are_unchanged(frame: pd.DataFrame) -> None:
    given = frame.assign(
        group=pd.Categorical(["x", "x", "y", "y"]), q4=pd.Series([True, None, False, True], index=frame.index, dtype=object)
    ).astype({"q1": "Int64", "q2": float})
    before = copy.deepcopy(given)
    matrix = as_response_matrix(given, respondent_columns=["group"], recode={1: 0, 0: 1})
    pd.testing.assert_frame_equal(given, before)
    pd.testing.assert_series_equal(given.dtypes, before.dtypes)
    assert given.index.name is None
    assert given.columns.name is None
    given.loc["a", "q2"] = 1.0
    given["group"] = "z"
    assert matrix.codes[0, 1] == 1, "0 was recoded to 1, and later changes of the frame do not reach the matrix"
    assert matrix.respondents["group"].tolist() == ["x", "x", "y", "y"]


def test_i17_arrays_are_copied() -> None:
    for values in (np.array(SCORES, dtype=np.int8), np.array(SCORES, dtype=bool), np.array(SCORES, dtype=float)):
        matrix = as_response_matrix(values)
        values[0, 0] = 0
        assert matrix.codes[0, 0] == 1
        assert values.flags.writeable


def test_i21_id_column_is_named_with_its_first_codes(frame: pd.DataFrame) -> None:
    with_id = frame.assign(id=[101, 102, 103, 104])[["id", "q1", "q2", "q3"]]
    with pytest.raises(ResponseCodeError, match=r"Column 'id' holds values \(101, 102, 103, 104\)") as error:
        as_response_matrix(with_id)
    text = message_of(error)
    assert "index_col=0" in text
    assert "set_index('id')" in text
    assert "respondent_columns=['id']" in text
    assert as_response_matrix(with_id.set_index("id")).shape == (4, 3)
    assert as_response_matrix(with_id, respondent="id").respondent_labels.tolist() == [101, 102, 103, 104]


def test_i21_saved_default_index(frame: pd.DataFrame) -> None:
    many = pd.concat([frame] * 10, ignore_index=True)
    with pytest.raises(ResponseCodeError, match="Column 'Unnamed: 0' holds values") as error:
        as_response_matrix(many.assign(**{"Unnamed: 0": range(40)}))
    assert "index_col=0" in message_of(error)


def test_i21_text_column_says_how_to_declare_it(frame: pd.DataFrame) -> None:
    grouped = frame.assign(group=["junior", "junior", "college", "college"])
    with pytest.raises(ResponseCodeError, match=r"Column 'group' holds text \('junior', 'college'\)") as error:
        as_response_matrix(grouped)
    assert "respondent_columns=['group']" in message_of(error)
    matrix = as_response_matrix(grouped, respondent_columns=["group"])
    assert matrix.item_labels.tolist() == ["q1", "q2", "q3"]
    assert matrix.respondents["group"].tolist() == ["junior", "junior", "college", "college"]
    assert repr(matrix) == "ResponseMatrix(4 respondents x 3 items; groups: junior 2, college 2)"


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_i21_infinite_value(frame: pd.DataFrame, value: float) -> None:
    infinite = frame.astype(float)
    infinite.loc["b", "q3"] = value
    for given in (infinite, infinite.to_numpy(), infinite.astype(object)):
        with pytest.raises(ResponseCodeError, match=r"inf \(1 cell\)") as error:
            as_response_matrix(given)
        assert "'q3'" in message_of(error)


def test_i21_negative_zero_is_zero() -> None:
    assert as_response_matrix(np.array([[-0.0, 1.0]])).codes.tolist() == [[0, 1]]


def test_c13_value_two_in_one_cell(frame: pd.DataFrame) -> None:
    frame.loc["b", "q2"] = 2
    with pytest.raises(ResponseCodeError, match="1 cell cannot be read") as error:
        as_response_matrix(frame)
    text = message_of(error)
    assert "respondent 'b', item 'q2': 2 (1 cell)" in text
    assert "dichotomous" in text


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (1e20, "1e[+]20"),
        (1 + 1j, "Column 'q9' holds values"),
        (pd.Timestamp("2026-01-01"), "Column 'q9' holds values"),
        (datetime.timedelta(1), "Column 'q9' holds values"),
        ([1], "Column 'q9' holds values"),
        (b"1", "Column 'q9' holds values"),
        ("A", "chosen options"),
    ],
)
def test_values_that_are_no_responses(frame: pd.DataFrame, values: Any, said: str) -> None:
    strange = pd.Series([values, 1, "B" if values == "A" else 0, 1], index=frame.index, dtype=object)
    with pytest.raises(ResponseCodeError, match=said):
        as_response_matrix(frame.assign(q9=strange))


@pytest.mark.parametrize("dtype", ["complex128", "datetime64[D]", "timedelta64[s]", [("a", int)]])
def test_arrays_of_other_types(dtype: Any) -> None:
    with pytest.raises(DataError, match="array holds"):
        as_response_matrix(np.zeros((2, 2), dtype=dtype))


def test_sparse_arrow_decimal_and_mixed_columns() -> None:
    pytest.importorskip("pyarrow")
    mixed = pd.DataFrame(
        {
            "sparse": pd.arrays.SparseArray([1.0, np.nan, 0.0]),
            "arrow": pd.array([1, None, 0], dtype="int64[pyarrow]"),
            "decimal": [decimal.Decimal(1), decimal.Decimal("NaN"), decimal.Decimal(0)],
            "category": pd.Categorical([1, None, 0]),
            "object": pd.Series([np.int8(1), pd.NA, False], dtype=object),
            "float": [1.0, np.nan, 0.0],
        }
    )
    assert as_response_matrix(mixed).codes.tolist() == [[1] * 6, [-1] * 6, [0] * 6]


def test_layouts_and_subclasses(frame: pd.DataFrame) -> None:
    class Own(np.ndarray):
        """A user's own kind of array."""

    values = np.array(SCORES)
    frozen = values.copy()
    frozen.flags.writeable = False
    wide = np.zeros((8, 6), dtype=int)
    wide[::2, ::2] = values
    for given in (np.asfortranarray(values), frozen, wide[::2, ::2], values[::-1, ::-1][::-1, ::-1], values.view(Own), SCORES):
        codes = as_response_matrix(given).codes
        assert codes.flags.c_contiguous
        assert type(codes) is np.ndarray
        np.testing.assert_array_equal(codes, SCORES)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (np.array([1, 0]), "reshape"),
        (np.zeros((1, 2, 3)), "from_long"),
        ([[1, 0], [1]], "different lengths"),
        (pd.Series([1, 0]), "got Series"),
        ({"q1": [1]}, "got dict"),
        ("responses.csv", "got str"),
        (None, "got NoneType"),
    ],
)
def test_what_is_no_table(given: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        as_response_matrix(given)


def test_recode_is_applied_at_once_and_checked() -> None:
    values = pd.DataFrame({"q1": [0, 1, 2], "q2": ["R", "W", "skip"]})
    matrix = ResponseMatrix.from_wide(values, recode={0: 1, 1: None, 2: 0, "R": 1, "W": 0, "skip": "refused"}, invalid="missing")
    assert matrix.codes.tolist() == [[1, 1], [-1, 0], [0, Reason.REFUSED]]
    assert as_response_matrix(pd.DataFrame({"q": [1.0, np.nan]}), recode={None: 0}).codes.tolist() == [[1], [0]]
    with pytest.raises(ResponseCodeError, match="'R'"):
        as_response_matrix(values, recode={2: 1})
    with pytest.raises(ResponseCodeError, match=r"'1' \(1 cell\)"):
        as_response_matrix(pd.DataFrame({"q": ["1", "2"]}), recode={1: 0, 2: 1})  # a number stands for no text
    for wrong in ({1: 2}, {1: "lost"}, [0, 1]):
        with pytest.raises(DataError, match=r"recode|reason"):
            as_response_matrix(values[["q1"]], recode=wrong)
    with pytest.raises(DataError, match="both recode and missing_codes"):
        as_response_matrix(values[["q1"]], recode={2: 1}, missing_codes=(2,))
    with pytest.raises(DataError, match="means wrong"):
        as_response_matrix(values[["q1"]], missing_codes=(0, 2))
    with pytest.raises(DataError, match=r"missing_codes=\(-9,\)"):
        as_response_matrix(values[["q1"]], missing_codes=-9)
