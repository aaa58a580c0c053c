"""What banks refuse rather than pick or drop: columns, names and cells that contradict each other, and texts that are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from psychoedu.exceptions import ItemBankError
from psychoedu.runners.banks import load_questions, load_statements

HEADER = "item_id,stem,option_a,option_b,key"
RECORD = {"item_id": "q1", "stem": "Stem", "options": ["x", "y"], "key": "A"}


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def line(**changes: Any) -> str:
    return json.dumps(RECORD | changes) + "\n"


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.csv", f"{HEADER},answer\nq1,S,x,y,A,B\n", "the columns 'key', 'answer' may all be key"),
        ("a.csv", f"{HEADER},question\nq1,S,x,y,A,T\n", "the columns 'stem', 'question' may all be stem"),
        ("a.jsonl", line()[:-2] + ', "key": "B"}\n', "line 1 is no JSON: the name 'key' stands twice in one object"),
        ("a.jsonl", line() + line(item_id="q2", **{"key ": "B"}), "line 2: two fields have the same name but for blanks"),
        ("a.json", "[" + line()[:-2] + ', "key": "B"}]', "the name 'key' stands twice"),
        ("a.jsonl", line(option_a="x", option_b="z"), "line 1: options differ from those in option_a, option_b"),
        ("a.jsonl", line(options={"A": "x", "B": "y", "H": "z"}), "line 1: options has 'H'"),
        ("a.jsonl", line(options={"A": "x", "a": "y"}), "line 1: options has one letter twice"),
        ("a.jsonl", line(options={"A": "x", "C": "z"}), "line 1: option B is empty"),
        ("a.jsonl", line(options=["x", ["y"]]), "line 1: an option is a list instead of a text"),
        ("a.jsonl", line(stem=["S"]), "line 1: stem is a list instead of a text"),
        ("a.jsonl", line(item_id={"a": 1}), "line 1: item_id is an object instead of a text"),
        ("a.csv", "item_id,stem,options,key\nq1,S,x/y,A\n", "row 2: options is 'x/y', which is no list"),
        ("a.csv", f"{HEADER},\nq1,S,x,y,A,note\n", "row 2: 'note' stands in column 6, which has no name"),
        ("a.csv", (HEADER + "\nq1,S,x,y,A\n").encode("utf-16") + b"x", "line 3: not UTF-16, which its first bytes say"),
        ("a.jsonl", '{"item_id": ' + "[" * 100_000 + "\n", "line 1 is no JSON: it is nested too deep"),
        ("a.csv", f"{HEADER}\nq1,,x,y,A\n,S,x,y,A\n", "row 2: the stem is empty; row 3: item_id is empty"),
    ],
)
def test_contradictions_are_refused_with_their_place(name: str, content: str | bytes, told: str, tmp_path: Path) -> None:
    with pytest.raises(ItemBankError) as caught:
        load_questions(written(tmp_path, name, content))
    assert told in str(caught.value)
    assert str(caught.value).startswith(name)


def test_a_cell_outside_an_excel_table_is_refused(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="writes the file")
    book = openpyxl.Workbook()
    book.active.append(HEADER.split(","))
    book.active.append(["q1", "S", "x", "y", "A", None, "to do"])
    book.save(tmp_path / "a.xlsx")
    with pytest.raises(ItemBankError, match="row 2: 'to do' stands in column 7, which has no name"):
        load_questions(tmp_path / "a.xlsx")


def test_columns_that_say_the_same_and_a_column_that_counts_rows_are_no_contradiction(tmp_path: Path) -> None:
    same = load_questions(written(tmp_path, "a.csv", f"{HEADER},answer\nq1,S,x,y,A,A\n"))
    assert same.keys == {"q1": "A"}
    chosen = load_questions(written(tmp_path, "a.csv", f"{HEADER},answer\nq1,S,x,y,A,B\n"), columns={"answer": "key"})
    assert chosen.keys == {"q1": "B"}
    counted = load_questions(written(tmp_path, "b.csv", f",{HEADER}\n0,q1,S,x,y,A\n1,q2,T,x,y,B\n"))
    assert counted.keys == {"q1": "A", "q2": "B"}
    both = load_questions(written(tmp_path, "a.jsonl", line(option_a="x", option_b="y")))
    assert both.items[0].options == ("x", "y")


@pytest.mark.parametrize(
    ("before", "sep", "row"), [("\n\n", ",", 5), (",,,,\n", ",", 4), ("sep=;\r\n", ";", 3), ('"sep=;"\n', ";", 3)]
)
def test_lines_before_the_names(before: str, sep: str, row: int, tmp_path: Path) -> None:
    text = before + f"{HEADER}\nq1,S,x,y,A\n".replace(",", sep)
    assert load_questions(written(tmp_path, "a.csv", text)).keys == {"q1": "A"}
    with pytest.raises(ItemBankError, match=f"row {row}: the stem is empty"):
        load_questions(written(tmp_path, "a.csv", text + "q2,,x,y,A\n".replace(",", sep)))


def test_numbers_as_options_are_asked_alike_from_every_format(tmp_path: Path) -> None:
    table = pd.DataFrame({"item_id": ["q1", "q2"], "stem": ["S", "T"], "option_a": [1.0, 2.0], "option_b": [0.5, 3.0]})
    table = table.assign(key=["A", "B"], year=[2026.0, 2025.0])
    table.to_csv(tmp_path / "a.csv", index=False)
    table.to_excel(tmp_path / "a.xlsx", index=False)
    table.to_parquet(tmp_path / "a.parquet")
    table.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    banks = [load_questions(tmp_path / f"a.{kind}") for kind in ("csv", "xlsx", "parquet", "jsonl")]
    assert {bank.items[0].options for bank in banks} == {("1", "0.5")}
    assert len({bank.hash for bank in banks}) == 1
    assert {type(bank.items[0].metadata["year"]) for bank in banks} == {int}


def test_numbers_that_were_written_with_care_stay_as_they_are(tmp_path: Path) -> None:
    rows = f"{HEADER}\nq1,Two places?,1.0,1.50,B\nq2,One place?,1.0,1,1.0\nq3,Half?,1.0,0.5,1.0\n"
    bank = load_questions(written(tmp_path, "a.csv", rows))
    assert [item.options for item in bank.items] == [("1.0", "1.50"), ("1.0", "1"), ("1", "0.5")]
    assert bank.keys == {"q1": "B", "q2": "A", "q3": "A"}


def test_metadata_are_numbers_where_every_cell_is_one(tmp_path: Path) -> None:
    found = load_questions(written(tmp_path, "a.jsonl", line(year="2026") + line(item_id="q2", stem="T", year=2025)))
    assert [item.metadata["year"] for item in found.items] == [2026, 2025]
    named = load_questions(written(tmp_path, "a.csv", f"{HEADER},Jahr\nq1,S,x,y,A,2026\n"), columns={"Jahr": "year"})
    assert named.items[0].metadata == {"year": 2026}
    mixed = load_questions(written(tmp_path, "b.csv", f"{HEADER},year\nq1,S,x,y,A,2026\nq2,T,x,y,A,unknown\n"))
    assert [item.metadata["year"] for item in mixed.items] == ["2026", "unknown"]


def test_a_framing_that_is_no_text() -> None:
    table = pd.DataFrame({"item_id": ["s"], "text": ["Sleep helps."], "key": [True], "framings": [{"embedded": ["x"]}]})
    with pytest.raises(ItemBankError, match="the framing embedded is a list instead of a text"):
        load_statements(table)
