"""The folder of a run: nothing is written before models and tasks are made, and nothing of others is written over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

pytest.importorskip("inspect_ai", reason="runs through Inspect: pip install psychoedu[runners]")

from mock_models import INSPECT

import psychoedu as pe
from psychoedu.cli import main
from psychoedu.exceptions import DataError, RunnerError
from psychoedu.runners import run
from psychoedu.runners.inspect_set import locked

pytestmark = INSPECT
GOOD = "simulated/theta=1"


def first(folder: Path, **options: Any) -> Any:
    return run("csebench", [GOOD], ["zero_shot"], out=folder, limit=3, repeats=1, progress=False, **options)


@pytest.mark.parametrize("bad", ["openai/gpt-4o", "simulated/thta=1"])
def test_a_model_that_cannot_be_made_spoils_no_run(bad: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    first(tmp_path)
    before = (tmp_path / "provenance.json").read_bytes()
    with pytest.raises((DataError, RunnerError)):
        run("csebench", [GOOD, bad], ["zero_shot"], out=tmp_path, limit=3, repeats=1, progress=False)
    assert (tmp_path / "provenance.json").read_bytes() == before
    assert len(first(tmp_path).records.frame) == 3


def test_a_wrong_option_leaves_a_new_folder_unmade(tmp_path: Path) -> None:
    with pytest.raises((DataError, RunnerError), match="rule"):
        first(tmp_path / "new", rule="foo")
    assert not (tmp_path / "new").exists()
    assert first(tmp_path / "new", rule="strict").provenance["status"] == "complete"


def test_a_second_process_changes_nothing(tmp_path: Path) -> None:
    first(tmp_path)
    before = (tmp_path / "provenance.json").read_bytes()
    with locked(tmp_path), pytest.raises(RunnerError, match="Another process runs"):
        run("csebench", [GOOD, "simulated/theta=0"], ["zero_shot"], out=tmp_path, limit=3, repeats=1, progress=False)
    assert (tmp_path / "provenance.json").read_bytes() == before


def test_files_of_others_are_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "records.csv").write_text("mine", encoding="utf-8")
    with pytest.raises(RunnerError, match=r"'records\.csv' of something else"):
        first(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "records.csv"]
    assert (tmp_path / "records.csv").read_text(encoding="utf-8") == "mine"


def test_the_policy_is_that_of_the_matrix_on_disk(tmp_path: Path) -> None:
    models = ["simulated/theta=1:refuse=0.5:seed=3"]
    options: dict[str, Any] = {"out": tmp_path, "repeats": 1, "progress": False}
    found = run("csebench", models, ["zero_shot"], invalid="missing", **options)
    refused = int((found.records.frame["reason"] == "refused").sum())
    assert refused > 0
    written = pd.read_csv(tmp_path / "responses.csv", index_col=0)
    assert int(written.isna().sum(axis=None)) == refused
    assert json.loads((tmp_path / "provenance.json").read_text(encoding="utf-8"))["matrix"]["invalid"] == "missing"
    again = run("csebench", models, ["zero_shot"], **options)
    assert not again.matrix().to_frame().isna().any(axis=None)


def test_tables_of_an_earlier_command_do_not_stay(tmp_path: Path, capsys: Any) -> None:
    names = [item.item_id for item in pe.runners.banks.sample("csebench").items] if hasattr(pe, "runners") else []
    names = names or [f"S{number:02d}" for number in range(1, 25)]
    bank = pe.ItemBank(pd.DataFrame({"discrimination": 1.0, "difficulty": 0.0}, index=names))
    bank.save(tmp_path / "bank.json")
    command = ["run", "csebench", "--model", GOOD, "--condition", "zero_shot", "--repeats", "1", "--out", str(tmp_path / "r")]
    assert main([*command, "--bank", str(tmp_path / "bank.json")]) == 0
    assert (tmp_path / "r" / "scores.csv").is_file()
    assert main(command) == 0
    assert not (tmp_path / "r" / "scores.csv").exists()
    out = capsys.readouterr().out
    assert out.index("= 24 calls") < out.index("wrote")


def test_a_run_in_which_every_call_failed_says_so(tmp_path: Path, capsys: Any) -> None:
    command = ["run", "csebench", "--model", "simulated/theta=1:error=1", "--condition", "zero_shot", "--limit", "2"]
    assert main([*command, "--repeats", "1", "--max-retries", "0", "--out", str(tmp_path / "r")]) == 2
    assert "All 2 calls failed" in capsys.readouterr().err
    assert json.loads((tmp_path / "r" / "provenance.json").read_text(encoding="utf-8"))["status"] == "calls failed"


def test_an_empty_name_is_no_folder(capsys: Any) -> None:
    assert main(["run", "csebench", "--model", GOOD, "--out", ""]) == 2
    assert "--out DIR" in capsys.readouterr().err


def test_simulated_models_know_the_items_of_their_run(tmp_path: Path) -> None:
    lines = ["item_id,stem,option_a,option_b,key,average_accuracy"]
    lines += [f"own{number},Own item {number}: choose.,yes,no,{'AB'[number % 2]},0.999" for number in range(20)]
    (tmp_path / "own.csv").write_text("\n".join(lines), encoding="utf-8")
    found = run(
        "csebench",
        ["simulated/theta=3"],
        ["zero_shot"],
        items=tmp_path / "own.csv",
        out=tmp_path / "r",
        repeats=1,
        progress=False,
    )
    assert found.matrix().to_frame().mean(axis=None) == 1.0  # by chance: half of them


def test_a_long_prompt_is_told_apart_in_no_time() -> None:
    import time

    from psychoedu.runners.simulated_prompts import Catalogue

    start = time.process_time()
    Catalogue().find([("user", "score " * 50_000)])
    assert time.process_time() - start < 5.0


def test_who_failed_is_named(tmp_path: Path) -> None:
    options: dict[str, Any] = {"out": tmp_path, "limit": 2, "repeats": 1, "progress": False, "settings": {"max_retries": 0}}
    found = run("csebench", [GOOD], ["knowledge"], knowledge_model="simulated/theta=1:error=1", **options)
    assert found.records.frame["error"].str.startswith("The knowledge model simulated/theta=1:error=1 failed: ").all()
    assert found.provenance["status"] == "calls failed"
