"""AlignED's teacher certification: components, keys, rules, and exemplars as fields of the condition."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

pytest.importorskip("inspect_ai", reason="the extra [runners] is not installed")

import aligned_banks
from aligned_banks import by_part, inspected
from mock_models import mock_model

import psychoedu as pe
from psychoedu.exceptions import ItemBankError, RecordsError, RunnerError
from psychoedu.runners import Records, run
from psychoedu.runners.aligned.certification import CONDITIONS, analyse, messages, subset_of
from psychoedu.runners.aligned.exemplars import Exemplars, chosen_exemplars, exemplar_variance, exemplars_of
from psychoedu.runners.banks.questions import Question

BANK = aligned_banks.questions()
REPLIES = {"Question 1?": "A", "Question 2?": "A", "Question 3?": "Answer: C", "Question 4?": "None of these"}


def test_prompt_is_one_user_message() -> None:
    text = (
        "Teacher certification exam - respond with letter only.\n\nQuestion 1?\n\nA. a of 1\nB. b of 1\nC. c of 1\nD. d of 1\n\n"
        "Your answer (A/B/C/D):"
    )
    assert messages(BANK.items[0]) == [("user", text)]


@pytest.mark.parametrize(
    ("metadata", "source", "column", "expected"),
    [
        ({"config": "cdpk_main"}, "", None, "CDPK"),
        ({"subset": "SEND", "config": "cdpk_main"}, "", None, "SEND"),
        ({}, "/data/cdpk_send.parquet", None, "SEND"),
        ({}, "cdpk_main-00000.parquet", None, "CDPK"),
        ({"category": "Science"}, "items.csv", None, "all"),
        ({"category": "Science"}, "items.csv", "category", "Science"),
    ],
)
def test_component(metadata: dict[str, str], source: str, column: str | None, expected: str) -> None:
    assert subset_of(Question("q", "Which?", ("x", "y"), "A", metadata), source, column) == expected


@inspected
def test_components_are_reported_apart_in_a_single_run(tmp_path: Path) -> None:
    seen: list[str] = []
    result = run("aligned-certification", mock_model(by_part(REPLIES), seen=seen), items=BANK, out=tmp_path / "out", rule="token")
    assert len(seen) == 4
    found = analyse(result.collected)
    scores = found["scores"]["percent"]
    assert scores.to_dict() == {("mockllm/a", "zero_shot", "CDPK"): 50.0, ("mockllm/a", "zero_shot", "SEND"): 50.0}
    assert found["scores"]["invalid"].tolist() == [0, 1]
    shares = found["format"].iloc[0]
    assert (shares["n"], shares["valid_rate"], shares["rules_differ"]) == (4, 0.75, 0.25)  # "Answer: C" is A to the literal rule
    assert "retest" not in found.tables


@inspected
def test_the_literal_rule_is_the_default(tmp_path: Path) -> None:
    result = run("aligned-certification", mock_model(by_part(REPLIES)), items=BANK, out=tmp_path / "out")
    assert result.collected.frame["parsed"].fillna("").tolist() == ["A", "A", "A", ""]


@inspected
def test_corrected_keys_apply_before_the_run_or_after_it(tmp_path: Path) -> None:
    path = tmp_path / "corrected.csv"
    path.write_text("item_id,key,reason\nC2,A,unanimous\n")
    plain = run("aligned-certification", mock_model(by_part(REPLIES)), items=BANK, out=tmp_path / "plain", rule="token")
    table = analyse(plain.collected, keys=path)["keys"]["score"]
    assert table["mockllm/a", "zero_shot", "CDPK", "key"] == 0.5
    assert table["mockllm/a", "zero_shot", "CDPK", "corrected"] == 1.0
    assert table["mockllm/a", "zero_shot", "SEND", "corrected"] == 0.5
    before = run(
        "aligned-certification", mock_model(by_part(REPLIES)), items=BANK, out=tmp_path / "before", rule="token", keys=str(path)
    )
    assert before.collected.frame["score"].tolist() == [1.0, 1.0, 1.0, 0.0]
    assert before.collected.frame["key"].tolist() == ["A", "A", "C", "D"]


@inspected
def test_a_key_for_an_unknown_item_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "corrected.csv"
    path.write_text("item_id,key\nC9,A\n")
    with pytest.raises(ItemBankError, match="C9"):
        run("aligned-certification", mock_model(by_part(REPLIES)), items=BANK, out=tmp_path / "out", keys=str(path))


def test_components_can_be_contrasted() -> None:
    right = {"CDPK": 6, "SEND": 3}
    rows = [
        {
            "benchmark": "aligned-certification", "model": model, "condition": "zero_shot", "subset": subset,
            "item_id": f"{subset}{number}", "score": float(number < right[subset]), "parsed": "A", "key": "A",
        }
        for model in ("m", "n")
        for subset in right
        for number in range(10)
    ]  # fmt: skip
    records = Records(pd.DataFrame(rows))
    found = pe.contrast(records.rewards(), "subset", "SEND", "CDPK", n_resamples=200, rng=1)
    assert found.estimate == pytest.approx(0.3, rel=1e-12)
    assert records.to_matrix().items["subset"].value_counts().to_dict() == {"CDPK": 10, "SEND": 10}


def test_conditions_of_exemplars_are_read_off_their_names() -> None:
    assert exemplars_of("zero_shot") == Exemplars(0, "none", "none")
    assert exemplars_of("exemplars_2_other_reverse") == Exemplars(2, "other", "reverse")
    assert "exemplars_12_any_shuffled" in CONDITIONS
    assert CONDITIONS["exemplars_2_any_file"] == "2 exemplars before the item, type any, order file"
    for name in ("exemplars_0_any_file", "exemplars_2_best_file", "few_shot"):
        assert name not in CONDITIONS
        with pytest.raises(RunnerError, match="no condition"):
            exemplars_of(name)


def test_exemplars_fit_their_type_and_order_and_are_never_the_item() -> None:
    item = BANK.items[0]  # odd
    labels = {
        how: [one.item_id for one in chosen_exemplars(item, Exemplars(*how), BANK)]
        for how in [(1, "same", "file"), (2, "other", "file"), (3, "any", "file"), (3, "any", "reverse"), (3, "any", "shuffled")]
    }
    assert labels[1, "same", "file"] == ["C3"]
    assert labels[2, "other", "file"] == ["C2", "C4"]
    assert labels[3, "any", "file"] == ["C2", "C3", "C4"]
    assert labels[3, "any", "reverse"] == ["C4", "C3", "C2"]
    assert sorted(labels[3, "any", "shuffled"]) == ["C2", "C3", "C4"]
    shuffled = Exemplars(3, "any", "shuffled")
    others = [Question(f"x{number}", "?", ("a", "b"), "A") for number in range(20)]
    orders = {tuple(one.item_id for one in chosen_exemplars(other, shuffled, BANK)) for other in others}
    assert len(orders) > 1
    with pytest.raises(ItemBankError, match="has 1 exemplars of type 'same' for C1; expected 2"):
        chosen_exemplars(item, Exemplars(2, "same", "file"), BANK)


def test_exemplars_stand_before_the_item_with_their_letters(tmp_path: Path) -> None:
    path = tmp_path / "exemplars.csv"
    path.write_text("item_id,stem,option_a,option_b,key,category\nE1,First?,x,y,B,odd\nE2,Second?,x,y,A,odd\n")
    text = messages(BANK.items[0], "exemplars_2_same_reverse", exemplars=str(path))[0][1]
    head, middle, item = text.split("Teacher certification exam - respond with letter only.\n\n")[1:]
    assert head == "Second?\n\nA. x\nB. y\n\nYour answer (A/B): A\n\n"
    assert middle == "First?\n\nA. x\nB. y\n\nYour answer (A/B): B\n\n"
    assert item.startswith("Question 1?")
    assert item.endswith("Your answer (A/B/C/D):")
    with pytest.raises(RunnerError, match="exemplars="):
        messages(BANK.items[0], "exemplars_2_same_reverse")


def test_share_of_variance_by_field_by_hand() -> None:
    """Means by model and number 0, 2: m1 0.4 0.6, m2 0.5 0.7; number explains 0.04 of 0.05, the model 0.01."""
    rows = []
    for model, number, right in (("m1", 0, 4), ("m1", 2, 6), ("m2", 0, 5), ("m2", 2, 7)):
        condition = "zero_shot" if number == 0 else "exemplars_2_any_file"
        rows += [
            {
                "benchmark": "aligned-certification", "model": model, "condition": condition, "item_id": f"q{item}",
                "score": float(item < right), "parsed": "A", "key": "A", "raw_output": "A", "exemplar_number": number,
                "exemplar_type": "any", "exemplar_order": "file",
            }
            for item in range(10)
        ]  # fmt: skip
    records = Records(pd.DataFrame(rows))
    share = exemplar_variance(records)["share"]
    assert share["exemplar_number"] == pytest.approx(0.8, rel=1e-9)
    assert share["model"] == pytest.approx(0.2, rel=1e-9)
    assert analyse(records)["exemplars"]["share"].equals(share)
    with pytest.raises(RecordsError, match=r"None of .* varies"):
        exemplar_variance(Records(records.frame.query("exemplar_number == 0")))
    with pytest.raises(RecordsError, match="no columns"):
        exemplar_variance(Records(records.frame.drop(columns="exemplar_type")))


@inspected
def test_run_with_exemplars_writes_their_fields(tmp_path: Path) -> None:
    path = tmp_path / "exemplars.csv"
    path.write_text("item_id,stem,option_a,option_b,key,category\nE1,First?,x,y,B,odd\n")
    names = ["zero_shot", "exemplars_1_any_file"]
    result = run(
        "aligned-certification", mock_model(by_part(REPLIES)), names, items=BANK, out=tmp_path / "out", exemplars=str(path)
    )
    fields = result.collected.frame.groupby("condition")[["exemplar_number", "exemplar_type", "exemplar_order"]].first()
    assert fields.loc["zero_shot"].tolist() == [0, "none", "none"]
    assert fields.loc["exemplars_1_any_file"].tolist() == [1, "any", "file"]
    assert analyse(result.collected)["exemplars"].index[0] == "exemplar_number"
