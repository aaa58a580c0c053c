"""The command ``psychoedu import``."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from made_results import eval_log, header, sample

from psychoedu.cli import main
from psychoedu.runners import records_files
from psychoedu.runners.records import Records


def folder_of_logs(folder: Path) -> Path:
    folder.mkdir()
    wrong = sample("q2", "I", answer="", epoch=1)
    failed = {**sample("q3"), "scores": None, "error": "timeout"}
    eval_log(folder / "a.eval", [sample("q1", "C", answer="A"), wrong, failed], header(task_args={"condition": "zero_shot"}))
    return folder


def test_it_writes_records_and_matrix_and_prints_a_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow, of the extra [parquet]")
    out = tmp_path / "out"
    assert main(["import", str(folder_of_logs(tmp_path / "logs")), "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert sorted(path.name for path in out.iterdir()) == ["records.csv", "records.parquet", "records_notes.txt", "responses.csv"]
    matrix = pd.read_csv(out / "responses.csv", index_col=0)
    assert matrix.loc["maker/model-a / zero_shot", ["q1", "q2"]].tolist() == [1, 0]
    assert matrix["q3"].isna().all()
    assert (out / "responses.csv").read_text().splitlines()[1] == "maker/model-a / zero_shot,1,0,"
    assert "3 records: 1 model, 3 items, 1 run" in text
    assert "0.500" in text  # invalid as wrong
    assert "1.000" in text  # invalid left out
    assert "0.333" in text  # failed as wrong
    assert "1 sample of 3 failed" in text
    assert len(Records.read(out)) == 3
    assert main(["import", str(out), "--out", str(tmp_path / "again"), "--invalid", "missing"]) == 0
    assert (tmp_path / "again/responses.csv").read_text().splitlines()[1] == "maker/model-a / zero_shot,1,,"


def test_without_pyarrow_it_says_what_it_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records_files, "has_pyarrow", lambda: False)
    assert main(["import", str(folder_of_logs(tmp_path / "logs")), "--out", str(tmp_path / "out")]) == 0
    assert "records.parquet was not written: the package pyarrow is not installed" in capsys.readouterr().out
    assert not (tmp_path / "out/records.parquet").exists()


def test_runs_are_reduced_as_asked(tmp_path: Path) -> None:
    samples = [sample("q1", "C" if answer == "A" else "I", epoch, answer=answer) for epoch, answer in enumerate("BAA", start=1)]
    log = str(eval_log(tmp_path / "a.eval", samples))
    for repeats, expected in (("majority", "1"), ("first", "0"), ("mean", "0.6666666666666666")):
        assert main(["import", log, "--out", str(tmp_path / repeats), "--repeats", repeats]) == 0
        assert (tmp_path / repeats / "responses.csv").read_text().splitlines()[1] == f"maker/model-a,{expected}"


def test_options_reach_the_reader(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "a.csv"
    table.write_text("who,what,points\nm,q1,3\nm,q2,1\n")
    words = ["import", str(table), "--out", str(tmp_path / "out"), "--max-score", "3"]
    words += ["--column", "model=who", "--column", "item_id=what", "--column", "score=points"]
    assert main(words) == 2
    assert "--threshold SHARE" in capsys.readouterr().err
    assert main([*words, "--threshold", "0.5"]) == 0
    assert (tmp_path / "out/responses.csv").read_text().splitlines()[1] == "m,1,0"
    assert main([*words, "--column", "model"]) == 2
    assert "--column model: expected the record's name" in capsys.readouterr().err


def test_errors_name_the_options_of_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    two = [{**sample("q1"), "scores": {"one": {"value": "C"}, "two": {"value": "I"}}}]
    log = eval_log(tmp_path / "a.eval", two)
    assert main(["import", str(log), "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert "has 2 scores: 'one', 'two'" in error
    assert "--score NAME" in error
    assert not (tmp_path / "out").exists()
    assert main(["import", str(log), "--out", str(tmp_path / "out"), "--score", "two"]) == 0
    assert main(["import", str(log), "--out", str(log), "--score", "two"]) == 2
    assert "expected the name of a folder" in capsys.readouterr().err
    assert main(["import", str(tmp_path / "absent"), "--out", str(tmp_path / "out")]) == 2
    assert "does not exist" in capsys.readouterr().err


def test_what_a_terminal_would_obey_is_printed_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.csv"
    path.write_text("model,q1\nm\x1b[2J,1\n")
    assert main(["import", str(path), "--out", str(tmp_path / "out\x1b[2J")]) == 0
    assert main(["import", str(tmp_path / "none\x1b[2J.csv"), "--out", str(tmp_path / "out")]) == 2
    printed = capsys.readouterr()
    assert "m\\x1b[2J" in printed.out
    assert "\x1b" not in printed.out + printed.err
