"""README's Python runs as written, and its two commands are there."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from psychoedu.cli import main

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def simulated(n_respondents: int, prefix: str, rng: np.random.Generator) -> pd.DataFrame:
    """Draw 2PL responses to items q01 ... q12 with blanks, as a table that README's reader would have."""
    difficulty = np.linspace(-1.5, 1.5, 12)
    theta = rng.standard_normal(n_respondents)
    right = rng.random((n_respondents, 12)) < 1 / (1 + np.exp(-1.2 * (theta[:, None] - difficulty)))
    frame = pd.DataFrame(right.astype(float), columns=[f"q{number:02}" for number in range(1, 13)])
    frame.index = pd.Index([f"{prefix}{number}" for number in range(n_respondents)], name="respondent")
    return frame.mask(rng.random(frame.shape) < 0.05)


def test_python_runs_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(20261130)
    simulated(400, "learner-", rng).to_csv("responses.csv")
    simulated(5, "model-", rng).to_csv("models.csv")
    examples = [text for language, text in BLOCKS if language == "python"]
    assert examples
    names: dict[str, Any] = {}
    for text in examples:
        exec(compile(text, "README.md", "exec"), names)
    assert names["calibration"].converged
    assert (tmp_path / "bank.json").is_file()


def test_diagnosis_from_a_shell_runs_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (command,) = [text for language, text in BLOCKS if language == "bash" and text.startswith("psychoedu diagnose")]
    shutil.copytree(ROOT / "data", tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command.replace("\\\n", " "))[1:]) == 0
    assert "M01" in (tmp_path / "models.md").read_text(encoding="utf-8")


def test_example_is_short() -> None:
    first = next(text for language, text in BLOCKS if language == "python")
    assert len(first.splitlines()) <= 10


def test_two_commands_are_one_line_each() -> None:
    commands = [line for line in README.splitlines() if line.startswith("python3 -m venv .venv && ")]
    assert commands == [
        "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/psychoedu demo",
        'python3 -m venv .venv && .venv/bin/pip install ".[test]" && .venv/bin/pytest',
    ]


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\((?!https?:)([^)#]+)\)", README))))
def test_links_lead_somewhere(target: str) -> None:
    assert (ROOT / target).exists()
