"""``psychoedu run``: what it prints, what it writes, and that every mistake is one short error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from mock_models import INSPECT, item_of, mock_model

import psychoedu as pe
from psychoedu.cli import main
from psychoedu.irt.simulate import simulate_responses
from psychoedu.runners.banks import sample

pytestmark = INSPECT
NEEDS_INSPECT = "the extra [runners] is not installed"


@pytest.fixture
def mocked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let models named on the command line be mocks that know the answer to every second item; returns what they were sent."""
    pytest.importorskip("inspect_ai", reason=NEEDS_INSPECT)
    keys = {item.stem: item.key for item in sample("csebench").items[::2]}
    seen: list[str] = []

    def model(name: str, settings: Any) -> Any:
        return mock_model(lambda text, _: keys.get(item_of(text), "none of them"), name, seen=seen)

    monkeypatch.setattr("psychoedu.runners.inspect_set._model", model)
    return seen


@pytest.fixture
def stored(tmp_path: Path) -> dict[str, str]:
    """A bank, cut scores and a diagnosis for the sample's items, of simulated learners."""
    items = [item.item_id for item in sample("csebench").items]
    bank = pe.ItemBank(
        pd.DataFrame({"item": items, "discrimination": 1.0, "difficulty": [k / 8 - 1.5 for k in range(len(items))]})
    )
    bank.save(tmp_path / "bank.json")
    pe.CutScores.from_values({"CSE-3": -1.0, "CSE-4": 0.5}).save(tmp_path / "cuts.json")
    learners = simulate_responses(bank, np.random.default_rng(1).normal(size=400), rng=2)
    q = pe.QMatrix(pd.DataFrame({"x": [1, 0] * 12, "y": [0, 1] * 12}, index=items))
    pe.diagnose(learners, q, model="DINA", structure="saturated", n_starts=1, standard_errors=None).save(tmp_path / "cdm.json")
    return {name: str(tmp_path / f"{name}.json") for name in ("bank", "cuts", "cdm")}


def test_list_shows_benchmarks_and_conditions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--list"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("csebench: ") or "\ncsebench: " in said
    assert all(f"  {name}: " in said for name in ("zero_shot", "few_shot", "knowledge"))


def test_dry_run_counts_and_shows_and_sends_nothing(mocked: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "run",
        "csebench",
        "--model",
        "mockllm/a",
        "--model",
        "mockllm/b",
        "--condition",
        "few_shot",
        "--limit",
        "5",
        "--dry-run",
    ]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "2 models x 1 condition x 5 items x 3 runs = 30 calls" in said
    assert sample("csebench").items[0].text in said
    assert mocked == []


def test_run_goes_straight_on_to_levels_and_mastery(
    mocked: list[str], stored: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = [
        "run", "csebench", "--model", "mockllm/a", "--model", "mockllm/b", "--condition", "zero_shot", "--condition", "few_shot",
        "--items", "sample", "--out", str(out), "--repeats", "1", "--max-tokens", "mockllm/b=4096", "--no-progress",
        "--bank", stored["bank"], "--cuts", stored["cuts"], "--diagnosis", stored["cdm"],
    ]  # fmt: skip
    assert main(words) == 0
    said = capsys.readouterr().out
    assert len(mocked) == 2 * 2 * 24
    assert [part in said for part in ("Table 1. Level by model", "Ability on the bank's scale", "Table 3.")] == [True] * 3
    matrix = pd.read_csv(out / "responses.csv", index_col=0)
    assert matrix.mean(axis=1).tolist() == [0.5] * 4
    levels = pd.read_csv(out / "levels.csv", index_col=0)
    assert levels.to_numpy().tolist() == [["CSE-3", "CSE-3"]] * 2
    scores = pd.read_csv(out / "scores.csv", index_col=0)
    assert scores["theta"].between(-1, 0.5).all()
    assert (out / "mastery.md").is_file()
    provenance = json.loads((out / "provenance.json").read_text(encoding="utf-8"))
    assert [member["max_tokens"] for member in provenance["models"]] == [8, 4096]


def test_a_second_command_asks_nothing_again(mocked: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "csebench", "--model", "mockllm/a", "--out", str(tmp_path), "--limit", "2", "--condition", "zero_shot"]
    assert [main(words), main(words)] == [0, 0]
    assert len(mocked) == 2 * 3
    assert main([*words, "--rule", "strict"]) == 2
    assert 'rule: "literal" there, "strict" now' in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "Name a benchmark"),
        (["csebench", "--model", "a/b"], "--out DIR"),
        (["csebnch", "--model", "a/b", "--out", "x"], "no benchmark 'csebnch'"),
        (["csebench", "--out", "x"], "No model is named"),
        (["csebench", "--model", "a/b", "--out", "x", "--condition", "two_shot"], "'two_shot'"),
        (["csebench", "--model", "a/b", "--out", "x", "--items", "absent.csv"], "absent.csv"),
        (["csebench", "--model", "a/b", "--out", "x", "--max-tokens", "a/b=many"], "MODEL=NUMBER"),
        (["csebench", "--model", "a/b", "--out", "x", "--max-tokens", "c/d=8"], "max_tokens names 'c/d'"),
        (["csebench", "--model", "a/b", "--out", "x", "--condition", "knowledge"], "knowledge_model"),
        (["csebench", "--model", "a/b", "--out", "x", "--role", "knowledge"], "--role knowledge is not NAME=VALUE"),
        (["csebench", "--model", "a/b", "--out", "x", "--option", "colour=red"], "no parameter 'colour'"),
        (["csebench", "--model", "a/b", "--out", "x", "--cuts", "cuts.json"], "--bank FILE"),
        (["csebench", "--model", "a/b", "--out", "x", "--bank", "absent.json"], "absent.json"),
        (["csebench", "--model", "a/b", "--out", "x", "--model-arg", "api_key=sk-1"], "environment variables"),
        (["csebench", "--model", "a/b", "--out", "x", "--base-url", "http://u:p@h/v1"], "credentials"),
    ],
)
def test_mistakes_are_short_errors_and_nothing_is_written(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", *words]) == 2
    trouble = capsys.readouterr().err
    assert said in trouble
    assert "Traceback" not in trouble
    assert len(trouble.strip().splitlines()) <= 4
    assert list(tmp_path.iterdir()) == []


def test_cut_scores_in_the_place_of_a_bank_are_refused(
    stored: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "csebench", "--model", "a/b", "--out", str(tmp_path / "out"), "--bank", stored["cuts"]]) == 2
    assert "holds no calibration or bank, but a CutScores" in capsys.readouterr().err
