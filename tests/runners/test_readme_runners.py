"""README's commands on running and importing, as written, with the real Inspect."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import psychoedu as pe
from psychoedu.cli import main

ROOT = Path(__file__).resolve().parents[2]
(BLOCK,) = [
    text
    for text in re.findall(r"^```bash\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    if text.startswith("psychoedu run")
]
COMMANDS = [shlex.split(line)[1:] for line in BLOCK.splitlines()]


@pytest.mark.parametrize("command", COMMANDS[:2], ids=" ".join)
def test_what_asks_nobody_runs_without_the_extra(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(command) == 0
    assert "zero_shot" in capsys.readouterr().out
    assert not any(tmp_path.iterdir())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("command", COMMANDS[2:], ids=" ".join)
def test_simulated_runs_write_records(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, swept: Path
) -> None:
    pytest.importorskip("inspect_ai", reason="asks simulated models through Inspect: pip install psychoedu[runners]")
    monkeypatch.chdir(tmp_path)
    assert main(command) == 0
    folder = tmp_path / command[command.index("--out") + 1]
    records = pe.read_results(folder / "records.csv")
    again = pe.read_results(folder / "logs")
    assert len(records.frame) == len(again.frame) > 0
    assert main(["import", str(folder / "logs"), "--out", str(tmp_path / "imported")]) == 0
