"""Banks of multiple-choice questions: three formats, every kind of file, and every malformed item with its row."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from psychoedu.exceptions import ItemBankError, PsychoeduWarning
from psychoedu.runners.banks.keys import load_keys
from psychoedu.runners.banks.questions import Question, QuestionBank, load_questions

OURS = pd.DataFrame(
    {
        "item_id": ["e1", "e2", "e3"],
        "stem": ["She ____ tea.", "They ____ here.", "I ____ it."],
        "option_a": ["drink", "is", "did"],
        "option_b": ["drinks", "are", "done"],
        "option_c": ["drunk", "was", "doing"],
        "option_d": ["drinking", "am", None],
        "key": ["B", "b", "(A)"],
        "level": ["low", None, "high"],
    }
)

# three of the example items that the CSEBench article prints, in its own columns
CSEBENCH = pd.DataFrame(
    {
        "Item text": [
            "I've got an \"A\" in the examination. That's a good _____. You'll surely win a second.\n"
            "A. result B. start C. news D. idea",
            "Hi, Mary, ________ beautiful day! Yes, it is. A. How B. What a C. What D. How a",
            "Which three of the six words below have the stress on the first syllable? ① picture ② maintain ③ complete ④ contact "
            "⑤ language ⑥ defeat. A. ①④⑤ B. ①②⑥ C. ②③⑤ D. ③④⑥",
        ],
        "Answer": ["B", "B", "A"],
        "Student level": ["High", "Low", "High"],
        "Subskill": ["vocabulary", "syntax", "phonology"],
        "Sublabel": ["Noun", "Exclamatory sentence", "Stress"],
        "CSE Difficulty Level": [2, 3, 5],
        "Average Accuracy": [0.239, 0.508, 0.416],
        "Discrimination": [0.308, 0.556, 0.309],
    }
)

PEDAGOGY = pd.DataFrame(
    {
        "question_id": np.array([0, 1], dtype=np.int64),
        "question": ["What is a rubric for?", "What is wait time?"],
        "answer_a": ["Scoring", "A break"],
        "answer_b": ["Seating", "A pause"],
        "answer_c": ["Timing", "A bell"],
        "answer_d": ["Grouping", "A test"],
        **{f"answer_{letter}": np.array([np.nan, np.nan]) for letter in "efg"},
        "correct_answer": ["A", "B"],
        "category": ["General", "General"],
        "year": np.array([2018, 2019], dtype=np.int64),
        "secondary_category": [None, "Talk"],
    }
)


def written(frame: pd.DataFrame, folder: Path, kind: str) -> Path:
    """Write a table in one of the formats."""
    path = folder / f"bank.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "xlsx":
        pytest.importorskip("openpyxl", reason="openpyxl is not installed")
        frame.to_excel(path, index=False)
    elif kind == "parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
        frame.to_parquet(path, index=False)
    else:
        frame.to_json(path, orient="records", lines=True)
    return path


def refused(source: Any, *parts: str, **options: Any) -> str:
    """Load what has to be refused, and return the message, which holds the parts and has at most three lines."""
    with pytest.raises(ItemBankError) as caught:
        load_questions(source, **options)
    message = str(caught.value)
    for part in parts:
        assert part in message, message
    assert len(message.splitlines()) <= 3
    return message


def csv_file(folder: Path, content: str | bytes) -> Path:
    path = folder / "items.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


@pytest.mark.parametrize("kind", ["csv", "xlsx", "jsonl", "parquet"])
def test_our_format_in_every_kind_of_file(kind: str, tmp_path: Path) -> None:
    bank = load_questions(written(OURS, tmp_path, kind))
    assert bank.ids == ["e1", "e2", "e3"]
    assert bank.items[0] == Question("e1", "She ____ tea.", ("drink", "drinks", "drunk", "drinking"), "B", {"level": "low"})
    assert bank.items[2] == Question("e3", "I ____ it.", ("did", "done", "doing"), "A", {"level": "high"})
    assert bank.items[1].metadata == {}
    assert bank.key_of("e2") == "B"
    assert bank.source == f"bank.{kind}"
    assert bank.hash == load_questions(OURS).hash


@pytest.mark.parametrize("kind", ["csv", "xlsx", "jsonl", "parquet"])
def test_the_columns_of_the_csebench_article(kind: str, tmp_path: Path) -> None:
    bank = load_questions(written(CSEBENCH, tmp_path, kind))
    assert bank.ids == ["q1", "q2", "q3"]
    first, second, third = bank.items
    assert first.stem == "I've got an \"A\" in the examination. That's a good _____. You'll surely win a second."
    assert first.options == ("result", "start", "news", "idea")
    assert second.options == ("How", "What a", "What", "How a")
    assert third.stem.endswith("⑥ defeat.")
    assert third.options == ("①④⑤", "①②⑥", "②③⑤", "③④⑥")
    assert bank.keys == {"q1": "B", "q2": "B", "q3": "A"}
    assert second.metadata == {
        "student_level": "Low",
        "subskill": "syntax",
        "sublabel": "Exclamatory sentence",
        "cse_level": 3,
        "average_accuracy": 0.508,
        "discrimination": 0.556,
    }
    assert second.text == "Hi, Mary, ________ beautiful day! Yes, it is.\nA. How B. What a C. What D. How a"


@pytest.mark.parametrize("kind", ["csv", "xlsx", "jsonl", "parquet"])
def test_the_schema_of_pedagogy_benchmark(kind: str, tmp_path: Path) -> None:
    bank = load_questions(written(PEDAGOGY, tmp_path, kind))
    assert bank.ids == ["0", "1"]
    assert [item.letters for item in bank.items] == ["ABCD", "ABCD"]
    assert bank.items[0].options == ("Scoring", "Seating", "Timing", "Grouping")
    assert bank.items[1].key == "B"
    assert bank.items[0].metadata["category"] == "General"
    assert bank.items[1].metadata["year"] == 2019
    assert "secondary_category" not in bank.items[0].metadata


def test_five_options_where_one_item_has_them() -> None:
    frame = PEDAGOGY.astype({"answer_e": object})
    frame.loc[1, ["answer_e", "correct_answer"]] = ["A song", "E"]
    bank = load_questions(frame)
    assert [item.letters for item in bank.items] == ["ABCD", "ABCDE"]
    assert bank.items[1].option("E") == "A song"
    refused(frame, "record 2: 5 options instead of 4", n_options=4)


def test_the_text_is_stem_line_break_and_options_on_one_line() -> None:
    assert load_questions(OURS).items[2].text == "I ____ it.\nA. did B. done C. doing"


def test_a_map_of_the_users_own_column_names() -> None:
    frame = OURS.rename(columns={"stem": "Frage", "key": "Lösung", "item_id": "Nr", "level": "Stufe"})
    bank = load_questions(frame, columns={"Frage": "stem", "Lösung": "key", "Nr": "Item ID", "Stufe": "level"})
    assert bank.items == load_questions(OURS).items
    refused(frame, "no column for 'stem', 'key'", "columns=")
    refused(frame, "no column 'Question', which columns= names", columns={"Question": "stem"})
    refused(frame, "more than one column to 'stem'", columns={"Frage": "stem", "Nr": "stem"})


def test_two_columns_that_may_both_be_meant_are_refused() -> None:
    frame = OURS.rename(columns={"key": "answer"}).assign(correct_answer=list("BBA"))
    refused(frame, "'answer', 'correct_answer'", "may all be key")
    assert load_questions(frame, columns={"answer": "key"}).keys == {"e1": "B", "e2": "B", "e3": "A"}


def test_options_as_a_list_and_metadata_as_an_object(tmp_path: Path) -> None:
    path = tmp_path / "bank.jsonl"
    records = [
        {"item_id": "q1", "stem": "One?", "options": ["yes", "no"], "key": "A", "metadata": {"level": 3, "note": None}},
        {"item_id": "q2", "stem": "Two?", "options": {"A": "yes", "B": "no", "C": "both"}, "key": "both", "level": 4},
    ]
    path.write_text("\n\n".join(json.dumps(record) for record in records) + "\n", encoding="utf-8")
    bank = load_questions(path)
    assert [item.options for item in bank.items] == [("yes", "no"), ("yes", "no", "both")]
    assert [item.key for item in bank.items] == ["A", "C"]
    assert [item.metadata for item in bank.items] == [{"level": 3}, {"level": 4}]


HEADER = "item_id,stem,option_a,option_b,key,CSE Difficulty Level,Average Accuracy,Discrimination\n"
GOOD = "q1,One?,yes,no,A,2,0.5,0.3\n"


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("q2,,yes,no,A,2,0.5,0.3", "the stem is empty"),
        ("q2,  ,yes,no,A,2,0.5,0.3", "the stem is empty"),
        ("q2,Two?,yes,no,,2,0.5,0.3", "the key is empty"),
        ("q2,Two?,yes,no,C,2,0.5,0.3", "the key 'C' is not among the options A-B"),
        ("q2,Two?,yes,no,1,2,0.5,0.3", "the key '1' is not among the options A-B"),
        ("q2,Two?,yes,no,AB,2,0.5,0.3", "the key 'AB' is not among the options A-B"),
        ("q2,Two?,yes, yes ,A,2,0.5,0.3", "options A and B are both 'yes'"),
        ("q2,Two?,yes,,A,2,0.5,0.3", "one option alone"),
        ("q2,Two?,,no,A,2,0.5,0.3", "option A is empty"),
        ("q2,Two?,,,A,2,0.5,0.3", "no options, neither in columns nor in the text"),
        ("q1,Two?,yes,no,A,2,0.5,0.3", "item_id 'q1' stands in row 2 already"),
        (",Two?,yes,no,A,2,0.5,0.3", "item_id is empty"),
        ("q2,Two?,yes,no,A,1,0.5,0.3", "the CSE level '1' is not 2 to 7"),
        ("q2,Two?,yes,no,A,8,0.5,0.3", "the CSE level '8' is not 2 to 7"),
        ("q2,Two?,yes,no,A,2.5,0.5,0.3", "the CSE level '2.5' is not 2 to 7"),
        ("q2,Two?,yes,no,A,high,0.5,0.3", "the CSE level 'high' is not 2 to 7"),
        ("q2,Two?,yes,no,A,2,1.01,0.3", "average_accuracy 1.01 does not lie within 0 to 1"),
        ("q2,Two?,yes,no,A,2,-0.1,0.3", "average_accuracy -0.1 does not lie within 0 to 1"),
        ("q2,Two?,yes,no,A,2,48%,0.3", "average_accuracy '48%' is no number"),
        ("q2,Two?,yes,no,A,2,=1/2,0.3", "average_accuracy '=1/2' is no number"),
        ("q2,Two?,yes,no,A,2,0.5,inf", "discrimination 'inf' is no number"),
    ],
)
def test_every_malformed_item_is_named_with_its_row(row: str, fault: str, tmp_path: Path) -> None:
    refused(csv_file(tmp_path, HEADER + GOOD + row + "\n"), "items.csv: 1 of 2 items is malformed", f"row 3: {fault}")


def test_row_numbers_are_those_of_a_spreadsheet(tmp_path: Path) -> None:
    """A record over three lines is one row, and blank rows count."""
    text = HEADER + 'q1,"One\nor\ntwo?",yes,no,A,2,0.5,0.3\n\n,,,,,,,\nq2,Two?,yes,no,Z,2,0.5,0.3\n'
    refused(csv_file(tmp_path, text), "row 5: the key 'Z'")
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    book = openpyxl.Workbook()
    for line in ([], ["stem", "key", "a", "b"], ["One?", "A", "yes", "no"], [], ["Two?", "Z", "yes", "no"]):
        book.active.append(line)
    book.save(tmp_path / "items.xlsx")
    row = next(cells[0].row for cells in book.active.iter_rows() if cells[0].value == "Two?")
    refused(tmp_path / "items.xlsx", f"row {row}: the key 'Z'")
    (tmp_path / "items.jsonl").write_text('\n{"stem": "Two?", "key": "Z", "a": "yes", "b": "no"}\n', encoding="utf-8")
    refused(tmp_path / "items.jsonl", "line 2: the key 'Z'")


def test_five_rows_are_shown_and_the_others_counted(tmp_path: Path) -> None:
    rows = "".join(f"q{number},Item {number}?,yes,no,Z,9,0.5,0.3\n" for number in range(10))
    message = refused(csv_file(tmp_path, HEADER + rows), "10 of 10 items are malformed", "; and 5 more")
    assert re.findall(r"row \d+", message) == ["row 2", "row 3", "row 4", "row 5", "row 6"]
    assert "row 2: the key 'Z' is not among the options A-B, the CSE level '9' is not 2 to 7" in message


def test_levels_and_numbers_in_many_spellings(tmp_path: Path) -> None:
    rows = ["q2,b?,yes,no,A,2.0,0,-0.25", "q3,c?,yes,no,A,CSE-7,1,", "q4,d?,yes,no,A,Level 4,NA,n/a", "q5,e?,yes,no,A,,,"]
    bank = load_questions(csv_file(tmp_path, HEADER + "\n".join(rows)))
    assert [dict(item.metadata) for item in bank.items] == [
        {"cse_level": 2, "average_accuracy": 0.0, "discrimination": -0.25},
        {"cse_level": 7, "average_accuracy": 1.0},
        {"cse_level": 4},
        {},
    ]
    assert bank.flags == {"q2": ("negative discrimination",)}


def test_other_columns_of_numbers_are_numbers_where_all_are(tmp_path: Path) -> None:
    rows = ["One?,yes,no,A,2018,007,0.5,12", "Two?,yes,no,B,2019,08,,x2"]
    bank = load_questions(csv_file(tmp_path, "\n".join(["stem,option_a,option_b,key,year,code,share,mixed", *rows])))
    assert [dict(item.metadata) for item in bank.items] == [
        {"year": 2018, "code": "007", "share": 0.5, "mixed": "12"},
        {"year": 2019, "code": "08", "mixed": "x2"},
    ]


@pytest.mark.parametrize("key", ["b", " B ", "B.", "(B)", "B)", "[B]", "Ｂ", "（Ｂ）", "no"])
def test_keys_in_many_spellings(key: str, tmp_path: Path) -> None:
    path = csv_file(tmp_path, f'stem,option_a,option_b,key\nOne?,yes,no,"{key}"\n')
    assert load_questions(path).items[0].key == "B"


@pytest.mark.parametrize("sep", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_csv_of_every_make(sep: str, end: str, encoding: str, tmp_path: Path) -> None:
    lines = [["Item text", "Answer", "A", "B"], [' "Café; tea, or\tboth?" ', " B", "yes ", "no, never"]]
    text = end.join(sep.join('"' + cell.replace('"', '""') + '"' for cell in line) for line in lines) + end
    bank = load_questions(csv_file(tmp_path, text.encode(encoding)))
    assert bank.items[0] == Question("q1", '"Café; tea, or\tboth?"', ("yes", "no, never"), "B")


def test_numbers_that_a_spreadsheet_made_floats(tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": [1.0, 2.0], "stem": ["Sum?", "Product?"], "a": [2.0, 2.5], "b": [3.0, 4.0], "key": ["A", "B"]})
    for kind in ("xlsx", "parquet", "jsonl"):
        bank = load_questions(written(frame, tmp_path, kind))
        assert bank.ids == ["1", "2"]
        assert [item.options for item in bank.items] == [("2", "3"), ("2.5", "4")]
    assert load_questions(written(frame, tmp_path, "csv")).ids == ["1", "2"]


def test_formulas_are_text(tmp_path: Path) -> None:
    rows = [["stem", "option_a", "option_b", "key"], ["=1+1", "=cmd|' /C calc'!A0", "@SUM(1)", "A"]]
    path = csv_file(tmp_path, "\n".join(",".join(row) for row in rows))
    assert load_questions(path).items[0].stem == "=1+1"
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(tmp_path / "items.xlsx")
    assert load_questions(tmp_path / "items.xlsx").items == load_questions(path).items


def test_a_text_that_excel_turned_into_a_date_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    frame = pd.DataFrame({"stem": ["Half of six?"], "a": [pd.Timestamp("2025-03-04")], "b": ["4-5"], "key": ["A"]})
    refused(written(frame, tmp_path, "xlsx"), "row 2: option_a is a date, 2025-03-04")


def test_files_that_are_not_what_they_say(tmp_path: Path) -> None:
    refused(csv_file(tmp_path, b"stem,key\nCaf\xe9?,A\n"), "items.csv line 2: not UTF-8")
    refused(csv_file(tmp_path, ""), "is empty")
    refused(csv_file(tmp_path, "stem,key,a,b\n"), "holds column names, but no items")
    refused(csv_file(tmp_path, "stem,stem,key\nOne?,Two?,A\n"), "more than one column 'stem'")
    refused(csv_file(tmp_path, "stem,a,b,key\nOne, or two?,yes,no,A\n"), "row 2: 5 fields for 4 columns")
    refused(csv_file(tmp_path, 'stem,a,b,key\n"One?,yes,no,A\n'), "cannot be read as CSV after row 1")
    refused(csv_file(tmp_path, "stem,a,b,key\nO\0ne?,yes,no,A\n"), "line 2: holds a NUL character")
    refused(csv_file(tmp_path, "stem,a,c,key\nOne?,yes,no,A\n"), "none for option_b")
    refused(tmp_path / "absent.csv", "absent.csv")
    refused(tmp_path, "is a folder")
    for name, content, part in (
        ("bad.xlsx", b"PK\x03\x04 no archive", "cannot be read as an Excel file"),
        ("old.xls", b"\xd0\xcf\x11\xe0", "old Excel file"),
        ("bad.jsonl", b'{"stem": "One?"}\n{"stem":\n', "bad.jsonl line 2 is no JSON"),
        ("list.jsonl", b"[1, 2]\n", "line 1: list where an object"),
        ("bad.parquet", b"PAR1 and no more", "cannot be read as Parquet"),
    ):
        if name.endswith("xlsx"):
            pytest.importorskip("openpyxl", reason="openpyxl is not installed")
        (tmp_path / name).write_bytes(content)
        refused(tmp_path / name, part)


def test_marks_of_different_number_are_refused(tmp_path: Path) -> None:
    texts = [f"Item {number} ____. A. is B. was C. are D. were" for number in range(3)]
    frame = pd.DataFrame({"Item text": [*texts, "What? A. slept B. sang C. ran D. met E. coli"], "Answer": list("AAAA")})
    refused(frame, "record 4: 5 options in the text, where most have 4")
    assert load_questions(frame, n_options=4).items[3].options[3] == "met E. coli"
    refused(frame, "n_options has to be 2 to 7", n_options=9)


def test_one_text_under_two_labels_is_said() -> None:
    frame = OURS.assign(stem="I ____ it.", option_a="did", option_b="done", option_c="doing", option_d=None, key="A")
    with pytest.warns(PsychoeduWarning, match="1 text with more than one label: 'e1 = e2 = e3'"):
        assert len(load_questions(frame)) == 3


def test_the_hash_is_of_the_content_and_of_nothing_else() -> None:
    bank = load_questions(OURS)
    assert re.fullmatch("[0-9a-f]{64}", bank.hash)
    assert load_questions(OURS.iloc[::-1]).hash == bank.hash
    assert load_questions(OURS.drop(columns="level")).hash == bank.hash
    for column, value in (("item_id", "e9"), ("stem", "Other?"), ("option_a", "other"), ("key", "C")):
        changed = OURS.copy()
        changed.loc[0, column] = value
        assert load_questions(changed).hash != bank.hash, column


def test_other_keys_are_data(tmp_path: Path) -> None:
    bank = load_questions(OURS)
    path = csv_file(tmp_path, "item_id,key,reason\ne1,c,an older form\ne2,B,\n")
    table = load_keys(path)
    assert dict(table) == {"e1": "c", "e2": "B"}
    assert table.reasons == {"e1": "an older form"}
    other = bank.with_keys(table)
    assert other.keys == {"e1": "C", "e2": "B", "e3": "A"}
    assert bank.keys["e1"] == "B"
    assert other["e1"].metadata == {"level": "low", "former_key": "B"}
    assert other["e2"] is bank["e2"]
    assert other.hash != bank.hash
    assert bank.with_keys({}) is bank
    with pytest.raises(ItemBankError, match="keys for 'x', which DataFrame has not"):
        bank.with_keys({"x": "A"})
    with pytest.raises(ItemBankError, match="1 key that the item cannot have: e3: 'D'"):
        bank.with_keys({"e3": "D"})
    with pytest.raises(ItemBankError, match="row 3: item_id 'e1' stands in row 2 already"):
        load_keys(csv_file(tmp_path, "item_id,key\ne1,A\ne1,B\n"))


def test_the_table_of_a_bank_is_read_back_as_it(tmp_path: Path) -> None:
    for frame in (OURS, CSEBENCH, PEDAGOGY):
        bank = load_questions(frame)
        for kind in ("csv", "jsonl", "parquet", "xlsx"):
            again = load_questions(written(bank.frame(), tmp_path, kind))
            assert again.hash == bank.hash
            assert [set(item.metadata) for item in again.items] == [set(item.metadata) for item in bank.items]


def test_a_bank_is_a_collection() -> None:
    bank = load_questions(OURS)
    assert [item.item_id for item in bank] == bank.ids
    assert bank.select(["e3", "e1"]).ids == ["e3", "e1"]
    assert "e2" in bank
    assert "x" not in bank
    assert repr(bank) == "QuestionBank(3 items of DataFrame: 'e1', 'e2', 'e3')"
    assert hash(bank) == hash(load_questions(OURS))
    with pytest.raises(ItemBankError, match="no item 'x'"):
        bank["x"]
    with pytest.raises(ItemBankError, match="no item 'x'"):
        bank.select(["e1", "x"])
    with pytest.raises(ItemBankError, match="'e1' stand for more than one item"):
        QuestionBank((bank.items[0], bank.items[0]))


def test_ten_thousand_items(tmp_path: Path) -> None:
    count = 10_000
    frame = pd.DataFrame({"Item text": [f"Item {place} ____? A. is B. was C. are D. were" for place in range(count)]})
    path = written(frame.assign(Answer="A"), tmp_path, "csv")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bank = load_questions(path)
    assert len(bank) == count
    assert bank.ids[-1] == "q10000"
