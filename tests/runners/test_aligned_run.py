"""All five evaluations from end to end, offline: sample banks, simulated respondents and judges, records, matrices, tables."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("inspect_ai", reason="the extra [runners] is not installed")

import aligned_banks
from aligned_banks import by_part, inspected
from mock_models import mock_model

from psychoedu.exceptions import RunnerError
from psychoedu.runners import Records, read_results, run
from psychoedu.runners.aligned import certification, comparative, diagnostic_tables, grading, neuromyths
from psychoedu.runners.benchmarks import known_benchmarks

STRONG, WEAK = "simulated/theta=3,seed=1", "simulated/theta=-3,seed=2"
JUDGE = "simulated/theta=4,seed=3"
ALL = ["standard", "temperature_0.5", "temperature_1.0", "framing_interrogative", "framing_embedded", "framing_adversarial",
       "confidence"]  # fmt: skip


def test_all_evaluations_are_known_and_none_is_a_composite() -> None:
    names = [one.name for one in known_benchmarks() if one.name.startswith("aligned-")]
    assert names == [
        "aligned-certification",
        "aligned-comparative",
        "aligned-diagnostic",
        "aligned-grading",
        "aligned-neuromyths",
    ]


@inspected
def test_neuromyths_with_every_probe(tmp_path: Path) -> None:
    result = run("aligned-neuromyths", [STRONG, WEAK], ALL, out=tmp_path, repeats=2)
    bank = result.plan.bank
    probes = sum(item.probe for item in bank.items)
    assert result.plan.n_calls == 2 * 2 * (6 * len(bank.items) + 2 * probes)
    assert result.plan.n_samples == len(result.collected) == 2 * 2 * (6 * len(bank.items) + probes)
    assert result.provenance["status"] == "complete"
    found = result.report()
    assert list(found.tables) == ["scores", "by_type", "temperature", "framing", "confidence", "tokens", "retest"]
    percents = found["scores"]["percent"].xs("standard", level="condition")
    assert percents[STRONG] > percents[WEAK]
    assert found["scores"]["n_items"].xs("confidence", level="condition").tolist() == [probes, probes]
    assert found["confidence"].groupby(level="model").sum().to_numpy().sum() == 2 * 2 * probes
    accuracy = found["temperature"]
    for model in (STRONG, WEAK):
        row = accuracy.loc[model]
        expected = min(row["percent_t0.5"], row["percent_t1"]) / row["percent_t0"] if row["percent_t0"] else np.nan
        assert row["kri"] == pytest.approx(expected, nan_ok=True)
    again = neuromyths.analyse(Records.read(tmp_path))
    assert again["scores"].equals(found["scores"])


@inspected
def test_diagnostic_with_judge_and_fallback(tmp_path: Path) -> None:
    options: dict[str, Any] = {"judge": JUDGE, "fallback_judge": "simulated/theta=2,seed=4"}
    result = run("aligned-diagnostic", [STRONG, WEAK], out=tmp_path, roles={"judge_2": "simulated/theta=1,seed=5"}, **options)
    frame = result.collected.frame
    assert len(frame) == 2 * len(result.plan.bank.items)
    assert frame["score"].between(0, 3).all()
    assert frame["judge_model"].unique().tolist() == [JUDGE]
    assert set(json.loads(frame["judge_scores"][0])) == {"judge", "judge_2"}
    assert set(result.provenance["roles"]) == {"judge", "judge_2", "judge_fallback"}
    found = result.report()
    assert "agreement_pairs" in found.tables
    raw = found["scores"]["raw"]
    assert raw[STRONG, "standard"] == frame[frame["model"] == STRONG]["score"].sum()
    matrix = result.matrix().to_frame()
    share = frame[frame["model"] == STRONG].set_index("item_id")["score"] >= 2
    assert matrix.loc[f"{STRONG} / standard"].tolist() == share.astype(float).tolist()
    assert diagnostic_tables.analyse(Records.read(tmp_path))["scores"].equals(found["scores"])


@inspected
def test_diagnostic_needs_a_judge_before_anything_is_sent(tmp_path: Path) -> None:
    with pytest.raises(RunnerError, match="role 'judge'"):
        run("aligned-diagnostic", STRONG, out=tmp_path)


@inspected
def test_certification(tmp_path: Path) -> None:
    result = run("aligned-certification", [STRONG, WEAK], out=tmp_path)
    scores = result.report()["scores"]
    assert scores.index.get_level_values("subset").unique().tolist() == ["CDPK", "SEND"]
    assert scores["n_items"].groupby(level="model").sum().tolist() == [12, 12]
    assert result.matrix().items["subset"].isin(["CDPK", "SEND"]).all()
    assert certification.analyse(result.collected)["scores"].equals(scores)


@inspected
def test_comparative(tmp_path: Path) -> None:
    result = run("aligned-comparative", [STRONG, WEAK], out=tmp_path)
    assert result.plan.n_calls == 2 * 2 * 3 * 6
    scores = result.report()["scores"]
    assert scores["n_evaluations"].tolist() == [18, 18]
    assert scores["valid_rate"].tolist() == [1.0, 1.0]
    forward = result.collected.frame.query("condition == 'forward'").groupby("model", sort=False)["score"].mean()
    assert scores["accuracy"].to_dict() == pytest.approx(forward.to_dict())
    assert comparative.response_matrix(result.collected).to_frame().shape == (2, 12)


@inspected
def test_grading(tmp_path: Path) -> None:
    result = run("aligned-grading", [STRONG, WEAK], out=tmp_path)
    scores = result.report()["scores"]
    assert scores["n"].tolist() == [6, 6]
    assert scores.loc[STRONG, "accuracy"] >= scores.loc[WEAK, "accuracy"]
    assert grading.analyse(result.collected)["confusion"].to_numpy().sum() == 12


@inspected
def test_a_run_that_ends_early_goes_on_without_asking_twice(tmp_path: Path) -> None:
    seen: list[str] = []
    bank = aligned_banks.statements()
    answers = {"How confident": "Very confident", "": "Incorrect"}
    model = mock_model(by_part(answers), seen=seen)
    run("aligned-neuromyths", model, ["standard"], items=bank, out=tmp_path, repeats=1)
    assert len(seen) == 4
    again = run("aligned-neuromyths", model, ["standard", "confidence"], items=bank, out=tmp_path, repeats=1)
    assert len(seen) == 4 + 2 * 2
    assert again.collected.frame["condition"].value_counts().to_dict() == {"standard": 4, "confidence": 2}


@inspected
def test_logs_read_as_any_others(tmp_path: Path) -> None:
    """The importer, which knows nothing of the run, finds the same scores."""
    result = run("aligned-comparative", mock_model(lambda *_: "BETTER_SAMPLE: A"), items=aligned_banks.pairs(), out=tmp_path)
    found = Records.concat([read_results(path) for path in sorted(result.log_dir.glob("*.eval"))])
    assert comparative.analyse(found)["scores"].equals(result.report()["scores"])


@pytest.mark.parametrize("name", ["neuromyths", "diagnostic", "certification", "comparative", "grading"])
@inspected
def test_dry_run_shows_the_prompt_of_every_condition(tmp_path: Path, name: str) -> None:
    judge = {"judge": JUDGE} if name == "diagnostic" else {}
    plan = run(f"aligned-{name}", STRONG, out=tmp_path / "unused", dry_run=True, **judge).plan
    text = plan.dry_run()
    assert all(f"--- {condition}: " in text for condition in plan.conditions)
    assert not (tmp_path / "unused").exists()


@inspected
def test_dry_run_of_the_confidence_probe_shows_the_follow_up(tmp_path: Path) -> None:
    text = run("aligned-neuromyths", STRONG, ["confidence"], out=tmp_path, dry_run=True).plan.dry_run()
    assert "[assistant]\n{answer}\n[user]\nHow confident are you" in text


@pytest.mark.parametrize("name", ["neuromyths", "certification"])
@inspected
def test_inspects_own_command_line_finds_the_tasks(tmp_path: Path, name: str) -> None:
    words = [
        "eval",
        f"psychoedu/aligned_{name}",
        "-T",
        "repeats=1",
        "--limit",
        "1",
        "--model",
        "simulated/theta=3",
        "--log-dir",
        str(tmp_path),
    ]
    code = f"import sys; from inspect_ai._cli.main import main; sys.argv = ['inspect', *{words!r}, '--display', 'none']; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = read_results(next(tmp_path.glob(f"*aligned-{name}*.eval")))
    assert found.frame["benchmark"].tolist() == [f"aligned-{name}"]


@inspected
def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from psychoedu.cli import main

    words = ["run", "aligned-diagnostic", "--model", STRONG, "--role", f"judge={JUDGE}", "--limit", "2", "--out", str(tmp_path)]
    assert main(words) in (0, None)
    said = capsys.readouterr().out
    assert "AlignED diagnostic reasoning" in said
    assert (tmp_path / "evaluation_scores.csv").is_file()
