"""The response matrix from CSV and Parquet: labels stay text, blanks are missing, and what is odd in a file is said."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from psychoedu.exceptions import (
    DataError,
    DuplicateLabelError,
    FileFormatError,
    LabelError,
    MissingDependencyError,
    PsychoeduError,
    ResponseCodeError,
)
from psychoedu.responses import Reason, ResponseMatrix

Reader = Callable[..., ResponseMatrix]
BAD_SEPARATORS = ["ab", "", None, 5, "\n", "\r", '"', "\\n", ["\t"]]
BAD_ENCODINGS: list[Any] = ["klingon", "", None, 8, "hex", "a\0b"]
LONG: dict[str, Any] = {"respondent": "r", "item": "i", "score": "s"}


@pytest.fixture
def read(tmp_path: Path) -> Reader:
    """Return a function that writes a text to a file and reads it as CSV."""

    def read_text(text: str, **options: Any) -> ResponseMatrix:
        path = tmp_path / "responses.csv"
        path.write_text(text, encoding="utf-8")
        return ResponseMatrix.read_csv(path, **options)

    return read_text


def test_labels_stay_text_and_blanks_are_missing(read: Reader) -> None:
    matrix = read("id,q1,q2,NA\n007,1,,1\n08,0,NA,0.0\nNA,0,1,1.0\n")
    assert matrix.respondent_labels.tolist() == ["007", "08", "NA"]
    assert matrix.item_labels.tolist() == ["q1", "q2", "NA"]
    assert matrix.codes.tolist() == [[1, -1, 1], [0, -1, 0], [0, 1, 1]]


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (",q1,q2\na,1,0\nb,0,1\n", {}),
        ("\ufeffid,q1,q2\na,1,0\nb,0,1\n", {"respondent": "id"}),
        ("q1,q2,id\n1,0,a\n0,1,b\n", {"respondent": "id"}),
        ("q1,q2,id\n1,0,a\n0,1,b\n", {"respondent": 2}),
        ("id;q1;q2\na;1;0\nb;0;1\n", {"sep": ";"}),
        ("id\tq1\tq2\na\t1\t0\nb\t0\t1\n", {"sep": "\t"}),
        ("id\tq1\tq2\na\t1\t0\nb\t0\t1\n", {"sep": "\\t"}),  # as a shell hands it over
        ("id,q1,q2\na,True,False\nb,False,True\n", {}),
        ("id,q1,q2\na,R,W\nb,W,R\n", {"recode": {"R": 1, "W": 0}}),
        ("id,q2,q1\na,0,1\nb,1,0\n", {"items": ["q1", "q2"]}),
    ],
)
def test_wide_files(read: Reader, text: str, options: dict[str, Any]) -> None:
    matrix = read(text, **options)
    assert matrix.respondent_labels.tolist() == ["a", "b"]
    assert matrix.item_labels.tolist() == ["q1", "q2"]
    assert matrix.scored().tolist() == [[1, 0], [0, 1]]


def test_file_without_labels(read: Reader) -> None:
    text = "q1,q2\n1,0\n1,1\n0,0\n"
    with pytest.raises(DuplicateLabelError, match="respondent=None"):
        read(text)
    matrix = read(text, respondent=None)
    assert matrix.respondent_labels.tolist() == [1, 2, 3]
    assert matrix.scored().tolist() == [[1, 0], [1, 1], [0, 0]]


def test_attributes_are_numbers_only_where_nothing_is_lost(read: Reader) -> None:
    matrix = read("id,school,grade,q1\na,01,7,1\nb,02,,0\n", respondent_columns=["school", "grade"])
    assert matrix.respondents["school"].tolist() == ["01", "02"]
    np.testing.assert_array_equal(matrix.respondents["grade"], [7.0, np.nan])


@pytest.mark.parametrize(
    ("text", "options", "error", "said"),
    [
        ("id,q1,q1\na,1,0\n", {}, DuplicateLabelError, "column name used more than once: 'q1'"),
        ("id,q1\na,1\na,0\n", {}, DuplicateLabelError, "repeats some: 'a'"),
        ("id,q1\n,1\nb,0\n", {}, LabelError, "1 respondent without a label, at position 1"),
        ("id,q1\na,99\nb,1\n", {}, ResponseCodeError, r"missing_codes=\(99,\)"),
        ("id,group,q1\na,x,1\nb,x,0\n", {}, ResponseCodeError, r"respondent_columns=\['group'\]"),
        ("q1,q2\na,1,0\nb,1,1\n", {}, FileFormatError, "more fields than the header"),
        ("id;q1\na;1\n", {}, FileFormatError, "sep=';'"),
        ("", {}, FileFormatError, "cannot be read as CSV"),
        ("id,q1\n", {}, DataError, "0 respondents"),
        ("id,q1\na,1\n", {"respondent": "name"}, LabelError, "'name'"),
        ("id,q1\na,1\n", {"respondent": 5}, LabelError, "has 2 columns"),
        ("r,i,s\na,q,1\n", {"item": "i", "score": "s"}, DataError, "respondent="),
        *(("id,q1\na,1\n", {"sep": sep}, DataError, r"sep=.* is not one character") for sep in BAD_SEPARATORS),
        *(("id,q1\na,1\n", {"encoding": name}, DataError, "encoding=.*Expected the name") for name in BAD_ENCODINGS),
        ("id,q1\na,1\n", {"encoding": "utf-16"}, FileFormatError, "cannot be read as CSV"),
        ("id,q1\nä,1\n", {"encoding": "ascii"}, FileFormatError, "cannot be read as CSV"),
    ],
)
def test_files_that_cannot_be_read(
    read: Reader, text: str, options: dict[str, Any], error: type[PsychoeduError], said: str
) -> None:
    with pytest.raises(error, match=said):
        read(text, **options)


def test_long_file(read: Reader) -> None:
    text = "r,i,s,run,parsed,valid\n01,q,1,1,A,True\n01,q,0,2,B,True\n01,q,1,10,A,True\n02,q,0,1,,False\n"
    matrix = read(text, **LONG, repeat="run", answer="parsed", valid="valid")
    assert matrix.respondent_labels.tolist() == ["01", "02"]
    assert matrix.repeat_labels is not None
    assert matrix.repeat_labels.tolist() == [1, 2, 10]
    assert matrix.reduce("majority").codes.tolist() == [[1], [Reason.UNPARSED]]


def test_absent_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ResponseMatrix.read_csv(tmp_path / "nothing.csv")


@pytest.mark.parametrize("index", [True, False])
def test_parquet_wide(tmp_path: Path, index: bool) -> None:
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"id": ["007", "08"], "q1": [1, 0], "q2": [np.nan, 1.0]})
    path = tmp_path / "responses.parquet"
    (frame.set_index("id") if index else frame).to_parquet(path)
    matrix = ResponseMatrix.read_parquet(path)
    assert matrix.respondent_labels.tolist() == ["007", "08"]
    assert matrix.codes.tolist() == [[1, -1], [0, 1]]


def test_parquet_long(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "responses.parquet"
    pd.DataFrame({"r": ["a", "a"], "i": ["q", "p"], "s": [1, 0]}).to_parquet(path)
    assert ResponseMatrix.read_parquet(path, **LONG).scored().tolist() == [[1, 0]]


def test_not_parquet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "responses.parquet"
    path.write_text("id,q1\na,1\n")
    with pytest.raises(FileFormatError, match="cannot be read as Parquet"):
        ResponseMatrix.read_parquet(path)


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "fastparquet", None)
    (tmp_path / "responses.parquet").write_bytes(b"PAR1")
    with pytest.raises(MissingDependencyError, match=r"psychoedu\[parquet\]"):
        ResponseMatrix.read_parquet(tmp_path / "responses.parquet")


@pytest.mark.shared
def test_example_files(shared: Path) -> None:
    examples = shared / "examples"
    for matrix in (
        ResponseMatrix.read_csv(examples / "matrix_wide.csv"),
        ResponseMatrix.read_csv(examples / "responses_long.csv", respondent="subject_id", item="item_id", score="score"),
        ResponseMatrix.read_parquet(examples / "matrix_wide.parquet"),
        ResponseMatrix.read_parquet(examples / "responses_long.parquet", respondent="subject_id", item="item_id", score="score"),
    ):
        assert matrix.respondent_labels.tolist() == ["toy/model-a", "toy/model-b"]
        assert matrix.item_labels.tolist() == ["id1", "id2", "id3"]
        assert matrix.scored().tolist() == [[1, 0, 1], [1, 1, 0]]


@pytest.mark.shared
def test_two_form_design(shared: Path) -> None:
    path = shared / "reference" / "cse_like" / "responses.csv"
    matrix = ResponseMatrix.read_csv(path, respondent_columns=["group"])
    plain = pd.read_csv(path, index_col=0).drop(columns="group")
    assert matrix.shape == (2074, 61)
    np.testing.assert_array_equal(matrix.to_frame(), plain)
    assert matrix.respondents["group"].value_counts().to_dict() == {"junior": 1102, "college": 948, "model": 24}


@pytest.mark.parametrize("reader", [ResponseMatrix.read_csv, ResponseMatrix.read_parquet], ids=["csv", "parquet"])
def test_paths_that_name_no_file(tmp_path: Path, reader: Reader) -> None:
    with pytest.raises(FileFormatError, match=f"{tmp_path} is a folder; expected the name of a file to read"):
        reader(tmp_path)
    for path in (None, 3, [tmp_path], b"responses.csv", ""):
        with pytest.raises(FileFormatError, match="Expected a path"):
            reader(path)


def test_a_file_that_only_looks_compressed(tmp_path: Path) -> None:
    path = tmp_path / "responses.csv.zip"
    path.write_text("id,q1\na,1\n")
    with pytest.raises(FileFormatError, match="cannot be read as CSV"):
        ResponseMatrix.read_csv(path)
