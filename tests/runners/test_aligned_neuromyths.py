"""AlignED's neuromyths: conditions, what is sent, the confidence probe, and scores, KRI and PSI computed by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

pytest.importorskip("inspect_ai", reason="the extra [runners] is not installed")

import aligned_banks
from aligned_banks import by_part, inspected
from inspect_ai import eval as inspect_eval
from mock_models import mock_model

from psychoedu.exceptions import DataError, ItemBankError, RecordsError, RunnerError
from psychoedu.runners import Records, run
from psychoedu.runners.aligned.neuromyths import CONDITIONS, administration, analyse, calls, messages
from psychoedu.runners.aligned.prompts import CONFIDENCE, NEUROMYTHS_SYSTEM
from psychoedu.runners.prompt_hash import prompt_hash
from psychoedu.runners.tasks.aligned_neuromyths import aligned_neuromyths

BANK = aligned_banks.statements()
RIGHT = {"Water": "Correct", "Stone": "Incorrect", "Ice": "Incorrect", "Fire": "Correct"}
ONE_AT_A_TIME = {"max_connections": 1, "max_tasks": 1}


def collected(tmp_path: Path, replies: dict[str, Any], conditions: list[str], **options: Any) -> Records:
    model = mock_model(by_part(replies))
    result = run("aligned-neuromyths", model, conditions, items=BANK, out=tmp_path / "out", settings=ONE_AT_A_TIME, **options)
    return result.collected


def test_conditions_are_read_off_their_names() -> None:
    assert administration("standard").temperature == 0.0
    assert administration("temperature_1.0").temperature == 1.0
    assert administration("framing_classroom").framing == "classroom"
    assert administration("confidence").confidence
    assert next(iter(CONDITIONS)) == "standard"
    assert "temperature_0.7" in CONDITIONS
    assert CONDITIONS["temperature_0.7"] == "temperature 0.7"
    for name in ("temperature_0", "temperature_", "framing_standard", "hot", "temperature_-1"):
        assert name not in CONDITIONS
        with pytest.raises(RunnerError, match="no condition"):
            administration(name)


def test_framings_are_the_banks_texts() -> None:
    item = BANK.items[0]
    assert messages(item, "standard")[1] == ("user", "Water is wet.")
    assert messages(item, "framing_embedded")[1] == (
        "user",
        "A teacher claims: Water is wet. Is this claim correct or incorrect?",
    )
    with pytest.raises(ItemBankError, match="Q1 has no framing 'authority'"):
        messages(item, "framing_authority")


def test_calls_count_the_follow_up_on_probed_statements_alone() -> None:
    assert [calls(item, "standard") for item in BANK.items] == [1, 1, 1, 1]
    assert [calls(item, "confidence") for item in BANK.items] == [0, 2, 2, 0]


@inspected
def test_each_statement_is_a_call_with_the_system_prompt(tmp_path: Path) -> None:
    seen: list[str] = []
    model = mock_model(by_part(RIGHT), seen=seen)
    log = inspect_eval(aligned_neuromyths(items=BANK), model=model, log_dir=str(tmp_path), display="none")[0]
    assert sorted(seen) == sorted(item.text for item in BANK.items for _ in range(5))
    assert all([m.role for m in sample.messages] == ["system", "user", "assistant"] for sample in log.samples)
    assert {sample.messages[0].text for sample in log.samples} == {NEUROMYTHS_SYSTEM}
    assert (log.plan.config.temperature, log.plan.config.max_tokens) == (0.0, None)
    assert log.results.scores[0].metrics["accuracy"].value == 1.0


@inspected
def test_score_is_the_mean_over_five_iterations_and_unreadable_replies_are_wrong(tmp_path: Path) -> None:
    replies = {**RIGHT, "Stone": ["Incorrect", "Incorrect", "Incorrect", "Correct", "Hm."], "Ice": "Correct"}
    records = collected(tmp_path, replies, ["standard"])
    scores = analyse(records)["scores"].loc[("mockllm/a", "standard")]
    # by iteration 3, 3, 3, 2, 2 of 4 right: 75, 75, 75, 50, 50
    assert scores["percent"] == pytest.approx(65.0, rel=1e-12)
    assert scores["sd"] == pytest.approx(187.5**0.5, rel=1e-12)  # (3 * 10^2 + 2 * 15^2) / 4
    assert (scores["n_items"], scores["n_iterations"], scores["invalid"], scores["failed"]) == (4, 5, 1, 0)
    by_type = analyse(records)["by_type"]["percent"]
    assert by_type["mockllm/a", "standard", "neuromyth"] == pytest.approx(30.0)
    assert by_type["mockllm/a", "standard", "general_assertion"] == pytest.approx(100.0)
    retest = analyse(records)["retest"].iloc[0]
    assert retest["same_answer"] == pytest.approx(0.75)
    assert retest["pairwise_agreement"] == pytest.approx((1 + 3 / 10 + 1 + 1) / 4)


@inspected
def test_a_failed_call_is_missing_and_not_wrong(tmp_path: Path) -> None:
    records = collected(tmp_path, {**RIGHT, "Ice": RuntimeError("no such luck")}, ["standard"], repeats=1)
    scores = analyse(records)["scores"].iloc[0]
    assert (scores["percent"], scores["failed"], scores["invalid"]) == (100.0, 1, 0)
    frame = records.frame.set_index("item_id")
    assert frame.loc["Q3", "reason"] == "api_error"
    assert "no such luck" in frame.loc["Q3", "error"]
    assert analyse(records)["tokens"].iloc[0]["n"] == 3


@inspected
def test_knowledge_robustness_over_temperatures(tmp_path: Path) -> None:
    # Called once a condition and statement, in the order of the conditions: right, then at 0.5 one wrong, at 1 two wrong.
    replies = {**RIGHT, "Stone": ["Incorrect", "Correct", "Correct"], "Fire": ["Correct", "Correct", "Incorrect"]}
    conditions = ["standard", "temperature_0.5", "temperature_1.0"]
    records = collected(tmp_path, replies, conditions, repeats=1)
    row = analyse(records)["temperature"].loc["mockllm/a"]
    assert row[["percent_t0", "percent_t0.5", "percent_t1"]].tolist() == [100.0, 75.0, 50.0]
    assert row["kri"] == pytest.approx(0.5, rel=1e-12)
    assert row["range"] == pytest.approx(50.0)
    by_condition = records.frame.groupby("condition")["temperature"].unique()
    assert {name: list(values) for name, values in by_condition.items()} == {
        "standard": [0.0],
        "temperature_0.5": [0.5],
        "temperature_1.0": [1.0],
    }


@inspected
def test_prompt_sensitivity_over_four_framings(tmp_path: Path) -> None:
    def answer(prompt: str, number: int) -> str:
        if prompt.startswith("Research has shown: Stone"):
            return "Correct"
        if prompt.startswith("Is this so: Fire"):
            return "Perhaps."
        return next(reply for part, reply in RIGHT.items() if part in prompt)

    names = ["standard", "framing_interrogative", "framing_embedded", "framing_adversarial"]
    result = run("aligned-neuromyths", mock_model(answer), names, items=BANK, out=tmp_path / "out", repeats=3)
    row = analyse(result.collected)["framing"].loc["mockllm/a"]
    assert row["psi"] == pytest.approx(2 / 4, rel=1e-12)
    assert (row["n_items"], row["n_inconsistent"]) == (4, 2)
    assert row["percent_adversarial"] == pytest.approx(75.0)
    assert row["percent_embedded"] == pytest.approx(100.0)
    assert set(result.collected.frame["framing"]) == {"standard", "interrogative", "embedded", "adversarial"}


@inspected
def test_items_that_lack_a_framing_do_not_enter_prompt_sensitivity(tmp_path: Path) -> None:
    def answer(prompt: str, number: int) -> Any:
        if prompt.startswith("Is this so: Fire"):
            return RuntimeError("down")
        return next(reply for part, reply in RIGHT.items() if part in prompt)

    names = ["standard", "framing_interrogative"]
    result = run("aligned-neuromyths", mock_model(answer), names, items=BANK, out=tmp_path / "out", repeats=1)
    row = analyse(result.collected)["framing"].loc["mockllm/a"]
    assert (row["psi"], row["n_items"]) == (0.0, 3)


@inspected
def test_confidence_is_asked_in_the_same_conversation(tmp_path: Path) -> None:
    replies = {"How confident": ["Very confident", "Uncertain"], "Stone": "Incorrect", "Ice": "Correct"}
    log = inspect_eval(
        aligned_neuromyths(condition="confidence", items=BANK, repeats=1),
        model=mock_model(by_part(replies)), log_dir=str(tmp_path), display="none", max_samples=1,
    )[0]  # fmt: skip
    assert [sample.id for sample in log.samples] == ["Q2", "Q3"]
    assert [(m.role, m.text) for m in log.samples[0].messages] == [
        ("system", NEUROMYTHS_SYSTEM),
        ("user", "Stone is soft."),
        ("assistant", "Incorrect"),
        ("user", CONFIDENCE),
        ("assistant", "Very confident"),
    ]
    records = aligned_banks.records_of(log, tmp_path)
    frame = records.frame.set_index("item_id")
    assert frame["raw_output"].to_dict() == {"Q2": "Incorrect", "Q3": "Correct"}  # the answer, not the follow-up
    assert frame["score"].to_dict() == {"Q2": 1.0, "Q3": 0.0}
    assert frame["output_tokens"].to_dict() == {"Q2": 1, "Q3": 1}
    table = analyse(records)["confidence"]
    assert table.loc[("mockllm/a", "Very confident")].to_dict() == {"right": 1, "wrong": 0}
    assert table.loc[("mockllm/a", "Uncertain")].to_dict() == {"right": 0, "wrong": 1}
    assert table.to_numpy().sum() == 2
    assert analyse(records).notes == ('"Uncertain" was answered 1 times to the confidence probe.',)


@inspected
def test_hash_of_a_record_is_of_what_was_sent(tmp_path: Path) -> None:
    records = collected(tmp_path, {**RIGHT, "How confident": "Very confident"}, ["standard", "confidence"], repeats=1)
    frame = records.frame.set_index(["condition", "item_id"])
    assert frame.loc[("standard", "Q2"), "prompt_hash"] == prompt_hash(
        [("system", NEUROMYTHS_SYSTEM), ("user", "Stone is soft.")]
    )
    assert frame.loc[("confidence", "Q2"), "prompt_hash"] == prompt_hash(messages(BANK.items[1], "confidence"))


def test_a_bank_without_probes_has_no_confidence_condition() -> None:
    bank = aligned_banks.load_statements(pd.DataFrame({"text": ["Water is wet."], "key": [True]}))
    with pytest.raises(ItemBankError, match="marks no statement"):
        aligned_neuromyths(condition="confidence", items=bank)


@inspected
def test_tokens_and_percent_per_token(tmp_path: Path) -> None:
    row = analyse(collected(tmp_path, RIGHT, ["standard"], repeats=1))["tokens"].iloc[0]
    assert (row["mean_output_tokens"], row["percent_per_token"]) == (1.0, 100.0)  # the mock reports one token a reply


@inspected
def test_other_keys_rescore_the_same_answers(tmp_path: Path) -> None:
    records = collected(tmp_path, {**RIGHT, "Ice": "Correct"}, ["standard"], repeats=2)
    table = analyse(records, keys={"Q3": "True"})["keys"]["score"]
    assert table["mockllm/a", "standard", "key"] == pytest.approx(0.75)
    assert table["mockllm/a", "standard", "alternative"] == pytest.approx(1.0)
    path = tmp_path / "recent.csv"
    path.write_text("item_id,key\nQ1,Incorrect\nQ2,false\n")
    table = analyse(records, keys=path)["keys"]
    assert table.loc[("mockllm/a", "standard", "recent"), "score"] == pytest.approx(0.5)
    assert table.loc[("mockllm/a", "standard", "recent"), "n_changed"] == 1
    with pytest.raises(DataError, match="no reply can give"):
        analyse(records, keys={"Q1": "maybe"})
    with pytest.raises(DataError, match="none of the items"):
        analyse(records, keys={"Q9": True})


@inspected
def test_records_of_another_evaluation_are_refused(tmp_path: Path) -> None:
    records = collected(tmp_path, RIGHT, ["standard"], repeats=1)
    other = Records(records.frame.assign(benchmark="aligned-grading"))
    with pytest.raises(RecordsError, match="one at a time"):
        analyse(other)


@inspected
def test_summary_and_files_hold_every_table(tmp_path: Path) -> None:
    found = analyse(collected(tmp_path, RIGHT, ["standard", "temperature_0.5"], repeats=2))
    assert list(found.tables) == ["scores", "by_type", "temperature", "tokens", "retest"]
    assert all(name.replace("_", " ").capitalize() in found.summary() for name in found.tables)
    names = [path.name for path in found.save(tmp_path)]
    assert names == [f"evaluation_{name}.csv" for name in found.tables]
    assert pd.read_csv(tmp_path / "evaluation_scores.csv")["percent"].tolist() == [100.0, 100.0]
    with pytest.raises(DataError, match="no table 'composite'"):
        found["composite"]


@inspected
def test_records_become_a_matrix_and_a_design(tmp_path: Path) -> None:
    records = collected(tmp_path, {**RIGHT, "Ice": ["Incorrect", "Correct", "Correct"]}, ["standard"], repeats=3)
    matrix = records.to_matrix()
    assert matrix.to_frame().loc["mockllm/a / standard"].tolist() == [1.0, 1.0, 0.0, 1.0]
    assert matrix.items["item_type"].tolist() == ["general_assertion", "neuromyth", "neuromyth", "general_assertion"]
    rewards = records.rewards()
    assert rewards.groupby("task")["reward"].mean().tolist() == pytest.approx([1.0, 1.0, 1 / 3, 1.0])
