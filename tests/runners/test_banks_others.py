"""Banks of statements, scenarios, pairs and works: their fields, every malformed row, and their way to a table and back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from psychoedu.exceptions import ItemBankError, PsychoeduWarning
from psychoedu.runners.banks import load_keys, load_pairs, load_scenarios, load_statements, load_works

STATEMENTS = pd.DataFrame(
    {
        "item_id": ["n1", "n2", "n3"],
        "statement": ["Sleep helps memory.", "We use a tenth of the brain.", "The heart pumps blood."],
        "key": ["True", "Incorrect", 1],
        "probe": [None, "x", 0],
        "interrogative": ["Does sleep help memory?", "Do we use a tenth of the brain?", None],
        "framing_embedded": ["A teacher says that sleep helps memory. Is it so?", "A tenth, says a teacher. Is it so?", None],
        "source": ["own", "own", None],
    }
)
SCENARIOS = pd.DataFrame(
    {
        "scenario_id": ["s1", "s2"],
        "scenario": ["I gave a quiz, but no feedback.", "I mixed topics too early."],
        "key_mechanism": ["feedback", "interleaving"],
        "implementation_error": ["no feedback", None],
        "strategy": ["quiz", "mixing"],
    }
)
PAIRS = pd.DataFrame(
    {
        "pair_id": ["p1", "p2"],
        "year_level": ["Year 3", 4],
        "subject": ["English", "English"],
        "achievement_standard": ["Writes sentences.", "Writes paragraphs."],
        "task_description": ["A pet", "A trip"],
        "sample_a": ["My dog is old. He sleeps.", "we go lake"],
        "sample_b": ["dog old", "We went to the lake. It was cold."],
        "better": ["a", "Sample B"],
    }
)
WORKS = pd.DataFrame(
    {
        "work_id": ["w1", "w2", "w3"],
        "year_level": ["Year 3"] * 3,
        "subject": ["English"] * 3,
        "achievement_standard": ["Writes sentences."] * 3,
        "task_description": ["A pet"] * 3,
        "student_work_content": ["dog old", "My dog is old.", "My dog is old, yet he guards us well."],
        "level": ["Below satisfactory", "SATISFACTORY", "above"],
    }
)
ALL = [(load_statements, STATEMENTS), (load_scenarios, SCENARIOS), (load_pairs, PAIRS), (load_works, WORKS)]
Loader = Callable[..., Any]


def changed(frame: pd.DataFrame, row: int, column: str, value: Any) -> pd.DataFrame:
    """Return a table with another cell."""
    copy = frame.astype(object)
    copy.loc[row, column] = value
    return copy


def test_statements() -> None:
    bank = load_statements(STATEMENTS)
    assert bank.ids == ["n1", "n2", "n3"]
    assert [item.key for item in bank.items] == [True, False, True]
    assert [item.probe for item in bank.items] == [False, True, False]
    assert dict(bank["n1"].framings) == {
        "standard": "Sleep helps memory.",
        "interrogative": "Does sleep help memory?",
        "embedded": "A teacher says that sleep helps memory. Is it so?",
    }
    assert bank.framings == ("standard",)
    assert bank.select(["n1", "n2"]).framings == ("standard", "interrogative", "embedded")
    assert bank["n1"].metadata == {"source": "own"}
    assert bank["n3"].metadata == {}


@pytest.mark.shared
def test_the_columns_of_a_table_of_neuromyths(shared: Path) -> None:
    bank = load_statements(shared / "examples" / "aligned_neuromyth_items.csv")
    assert len(bank) == 32
    assert sum(item.key for item in bank.items) == 15
    assert sum(item.probe for item in bank.items) == 8
    assert not any(item.key for item in bank.items if item.probe)


def test_framings_as_an_object(tmp_path: Path) -> None:
    path = tmp_path / "bank.jsonl"
    record = {"text": "Sleep helps memory.", "key": True, "framings": {"question": "Does it?", "plain": ""}}
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    (item,) = load_statements(path).items
    assert dict(item.framings) == {"standard": "Sleep helps memory.", "question": "Does it?"}


def test_other_keys_of_statements() -> None:
    bank = load_statements(STATEMENTS)
    other = bank.with_keys({"n1": "Incorrect", "n2": False})
    assert [item.key for item in other.items] == [False, False, True]
    assert other["n1"].metadata["former_key"] is True
    assert other.hash != bank.hash
    with pytest.raises(ItemBankError, match="1 key that the item cannot have: n1: 'B'"):
        bank.with_keys({"n1": "B"})
    table = load_keys(pd.DataFrame({"item_id": ["n2"], "key": ["correct"]}))
    assert bank.with_keys(table)["n2"].key is True


def test_scenarios() -> None:
    bank = load_scenarios(SCENARIOS)
    assert bank.ids == ["s1", "s2"]
    first, second = bank.items
    assert (first.text, first.mechanism, first.implementation_error) == (
        "I gave a quiz, but no feedback.",
        "feedback",
        "no feedback",
    )
    assert second.implementation_error == ""
    assert first.metadata == {"strategy": "quiz"}


def test_pairs() -> None:
    bank = load_pairs(PAIRS)
    assert [item.better for item in bank.items] == ["A", "B"]
    assert bank["p2"].year_level == "4"
    back = bank["p1"].swapped()
    assert (back.sample_a, back.sample_b, back.better) == ("dog old", "My dog is old. He sleeps.", "B")
    assert back.swapped() == bank["p1"]
    assert bank.with_keys({"p1": "B"})["p1"].better == "B"


def test_works() -> None:
    bank = load_works(WORKS)
    assert [item.level for item in bank.items] == ["BELOW_SATISFACTORY", "SATISFACTORY", "ABOVE_SATISFACTORY"]
    assert bank["w2"].student_work == "My dog is old."
    assert bank.with_keys({"w2": "below"})["w2"].level == "BELOW_SATISFACTORY"


@pytest.mark.parametrize(
    ("load", "frame", "column", "value", "fault"),
    [
        (load_statements, STATEMENTS, "statement", " ", "text is empty"),
        (load_statements, STATEMENTS, "key", None, "the key is empty"),
        (load_statements, STATEMENTS, "key", "perhaps", "the key 'perhaps' is neither true nor false"),
        (load_statements, STATEMENTS, "probe", "often", "probe 'often' is neither yes nor no"),
        (load_statements, STATEMENTS, "item_id", "n1", "item_id 'n1' stands in record 1 already"),
        (load_statements, STATEMENTS.assign(standard=None), "standard", "Other.", "the standard framing differs from the text"),
        (load_scenarios, SCENARIOS, "scenario", None, "text is empty"),
        (load_scenarios, SCENARIOS, "key_mechanism", "", "mechanism is empty"),
        (load_pairs, PAIRS, "sample_b", None, "sample_b is empty"),
        (load_pairs, PAIRS, "sample_b", "we  go lake", "sample_a and sample_b are the same text"),
        (load_pairs, PAIRS, "better", "C", "better 'C' is neither A nor B"),
        (load_pairs, PAIRS, "better", None, "better is empty"),
        (load_pairs, PAIRS, "pair_id", "p1", "item_id 'p1' stands in record 1 already"),
        (load_works, WORKS, "level", "good", "the level 'good' is none of 'BELOW_SATISFACTORY', 'SATISFACTORY'"),
        (load_works, WORKS, "level", None, "level is empty"),
        (load_works, WORKS, "student_work_content", None, "student_work is empty"),
    ],
)
def test_every_malformed_row_is_named(load: Loader, frame: pd.DataFrame, column: str, value: Any, fault: str) -> None:
    with pytest.raises(ItemBankError) as caught:
        load(changed(frame, 1, column, value))
    assert f"1 of {len(frame)} items is malformed. record 2: {fault}" in str(caught.value)


@pytest.mark.parametrize(("load", "frame"), ALL)
def test_missing_columns_are_named(load: Loader, frame: pd.DataFrame) -> None:
    with pytest.raises(ItemBankError, match="has no column for"):
        load(frame[[frame.columns[0]]])
    assert load(frame.drop(columns=frame.columns[0])).ids[0] == "q1"


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "xlsx"])
@pytest.mark.parametrize(("load", "frame"), ALL)
def test_the_table_of_a_bank_is_read_back_as_it(load: Loader, frame: pd.DataFrame, kind: str, tmp_path: Path) -> None:
    bank = load(frame)
    path, table = tmp_path / f"bank.{kind}", bank.frame()
    if kind == "csv":
        table.to_csv(path, index=False)
    elif kind == "jsonl":
        table.to_json(path, orient="records", lines=True)
    elif kind == "parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
        table.to_parquet(path)
    else:
        pytest.importorskip("openpyxl", reason="openpyxl is not installed")
        table.to_excel(path, index=False)
    again = load(path)
    assert again.items == bank.items
    assert again.hash == bank.hash


@pytest.mark.parametrize(("load", "frame"), ALL)
def test_the_hash_knows_the_content_and_not_the_order(load: Loader, frame: pd.DataFrame) -> None:
    bank = load(frame)
    assert load(frame.iloc[::-1]).hash == bank.hash
    assert load(frame.assign(remark="x")).hash == bank.hash
    assert len({load(one).hash for load, one in ALL}) == len(ALL)
    for column in bank.items[0].content():
        if column in frame.columns and column not in ("key", "probe", "better", "level"):
            assert load(changed(frame, 0, column, "other")).hash != bank.hash, column


def test_one_text_under_two_labels_is_said() -> None:
    for load, frame, columns in (
        (load_statements, STATEMENTS, {"statement": "The heart pumps blood."}),
        (load_scenarios, SCENARIOS, {"scenario": "I mixed topics."}),
        (load_works, WORKS, {"student_work_content": "My dog."}),
        (load_pairs, PAIRS, {"sample_a": ["x", "y"], "sample_b": ["y", "x"]}),
    ):
        with pytest.warns(PsychoeduWarning, match="1 text with more than one label"):
            load(frame.assign(**columns))
