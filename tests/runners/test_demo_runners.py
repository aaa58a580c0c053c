"""The demonstration of the runners: what it says and writes, that its numbers are those of the files, and what it refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import psychoedu as pe
from psychoedu import cli, load
from psychoedu.runners.records import Records

MODELS = ["weak", "middle", "able", "profile 1011"]
CONDITIONS = ["zero_shot", "few_shot"]
SECONDS = 180
STANDARD_ERRORS = 3.0


def demo_command(where: Path, *words: str) -> Any:
    environment = {**os.environ, "PYTHONPATH": str(Path(pe.__file__).parents[1]), "INSPECT_CACHE_DIR": str(where / "cache")}
    command = [sys.executable, "-m", "psychoedu.cli", "demo", *words]
    return subprocess.run(command, cwd=where, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Any:
    pytest.importorskip("inspect_ai", reason="the extra [runners] is not installed")
    where, start = tmp_path_factory.mktemp("demo"), time.perf_counter()
    done = demo_command(where, "--runners")
    return done, where / "psychoedu-demo-runners", time.perf_counter() - start


def plain(text: str) -> str:
    return " ".join(text.split())


def test_it_ends_in_time_with_the_page_to_open(demo: Any) -> None:
    done, folder, seconds = demo
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.rstrip().splitlines()[-1] == f"Open this page in a browser: {folder.resolve() / 'index.html'}"
    assert seconds < SECONDS


def test_it_says_what_is_simulated(demo: Any) -> None:
    done, folder, _ = demo
    for text in (done.stdout, (folder / "index.html").read_text(encoding="utf-8")):
        for said in (
            "Everything here is simulated, but for the runner itself.",
            "no language model was asked",
            "the cut scores are made up",
            "that was put in, and says nothing about prompts",
            "made-up cut scores",
        ):
            assert said in plain(text)


def test_records_are_those_of_both_runs_under_shown_names(demo: Any) -> None:
    _, folder, _ = demo
    records = Records.read(folder)
    assert (records.models, len(records.items)) == (MODELS, 24)
    assert records.frame.groupby(["model", "condition"]).size().eq(24 * 3).all()
    for condition in CONDITIONS:
        own = Records.read(folder / "runs" / condition).frame
        joined = records.frame[records.frame["condition"] == condition]
        pd.testing.assert_frame_equal(
            own.drop(columns="model").reset_index(drop=True), joined.drop(columns="model").reset_index(drop=True)
        )
        provenance = json.loads((folder / "runs" / condition / "provenance.json").read_text(encoding="utf-8"))
        assert provenance["status"] == "complete"
        assert provenance["conditions"] == [condition]
        assert all(member["model"].startswith("simulated/") for member in provenance["models"])
        assert len(list((folder / "runs" / condition / "logs").glob("*.eval"))) == len(MODELS)


def test_rates_differ_between_the_policies_for_the_model_that_refuses(demo: Any) -> None:
    done, folder, _ = demo
    rates = pd.read_csv(folder / "rates.csv", index_col=["model", "condition"])
    frame = Records.read(folder).frame
    assert (
        rates["refused"].to_dict() == frame["reason"].eq("refused").groupby([frame["model"], frame["condition"]]).sum().to_dict()
    )
    apart = rates["rate_invalid_missing"] - rates["rate_invalid_wrong"]
    assert (apart.loc["able"] > 0.05).all()
    assert (apart[apart.index.get_level_values("model") != "able"] == 0).all()
    assert f"{rates.loc[('able', 'few_shot'), 'rate_invalid_missing']:.3f}" in done.stdout


def test_abilities_are_scored_with_the_bank_that_was_written_and_lie_near_the_truth(demo: Any) -> None:
    _, folder, _ = demo
    table = pd.read_csv(folder / "abilities.csv", index_col=["model", "condition"])
    records = Records.read(folder)
    for policy in ("wrong", "missing"):
        scores = pe.score(load(folder / "bank.json"), records.to_matrix(invalid=policy), method="wle")
        found = [f"{model} / {condition}" for model, condition in table.index]
        np.testing.assert_allclose(table[f"invalid_{policy}"], scores.theta[found], rtol=1e-9)
    known = table.dropna(subset="true")
    assert sorted(known["true"]) == pytest.approx([-1.0, -0.4, 0.2, 0.8, 1.4, 2.0])
    assert (np.abs(known["invalid_missing"] - known["true"]) < STANDARD_ERRORS * known["invalid_missing_se"]).all()
    assert table["true"].isna().sum() == 2


def test_levels_and_mastery_follow_from_the_files(demo: Any) -> None:
    done, folder, _ = demo
    bank, cuts, diagnosis = (load(folder / f"{name}.json") for name in ("bank", "cuts", "diagnosis"))
    matrix = Records.read(folder).to_matrix()
    levels = pe.level_table(bank, matrix, cuts, method="wle", model="model", condition="condition")
    assert pd.read_csv(folder / "levels.csv", index_col=0).to_numpy().tolist() == levels.to_frame().to_numpy().tolist()
    mastery = pd.read_csv(folder / "mastery.csv", index_col="respondent")
    attributes = list(diagnosis.attribute_labels)
    np.testing.assert_allclose(
        mastery[attributes], pe.cdm.score(diagnosis, matrix).mastery.loc[mastery.index, attributes], rtol=1e-9
    )
    of_profile = mastery.loc[mastery["model"] == "profile 1011", attributes]
    assert (of_profile > 0.5).to_numpy().tolist() == [[True, False, True, True]] * 2
    for told in ("Table 1. Level by model and prompt", "Table 3. Ability and probability of mastery", "CSE-5"):
        assert told in done.stdout


def test_the_prompts_are_compared_pair_by_pair(demo: Any) -> None:
    done, folder, _ = demo
    records = Records.read(folder)
    frame = records.frame[records.frame["model"] != "profile 1011"]
    means = frame.groupby(["condition", "model"])["score"].mean().groupby("condition").mean()
    found = load(folder / "prompts.json")
    assert found.paired
    assert found.estimate == pytest.approx(means["few_shot"] - means["zero_shot"], rel=1e-12)
    assert f"{found.estimate:.3f} (comparison less focal)" in done.stdout


def test_what_was_put_in_is_what_the_definitions_of_the_respondents_say() -> None:
    """Levels 2 to 7, four items each, of difficulty 0.8 (level - 4.5) and discrimination 1.2; four options."""
    from psychoedu.demo_runners import expected_difference

    difficulty = 0.8 * (np.arange(2, 8) - 4.5)
    means = []
    for shift in (0.0, 0.6):
        chances = [(1.0 / (1.0 + np.exp(-1.2 * (theta + shift - difficulty)))).mean() for theta in (-1.0, 0.2, 1.4)]
        weak, middle, able = chances
        means.append((weak + 0.9 * middle + 0.1 * (1.0 - middle) / 3.0 + 0.85 * able) / 3.0)
    assert expected_difference() == pytest.approx(means[1] - means[0], rel=1e-12)


@pytest.mark.slow
def test_again_in_the_same_folder_nothing_is_asked_again(demo: Any) -> None:
    _, folder, _ = demo
    before = {path.name: path.stat().st_mtime_ns for path in folder.glob("runs/*/logs/*.eval")}
    again = demo_command(folder.parent, "--runners")
    assert (again.returncode, again.stderr) == (0, "")
    assert {path.name: path.stat().st_mtime_ns for path in folder.glob("runs/*/logs/*.eval")} == before
    assert again.stdout == demo[0].stdout


def test_folders_of_others_are_spared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("inspect_ai", reason="the extra [runners] is not installed")
    (tmp_path / "index.html").write_text("mine")
    assert cli.main(["demo", "--runners", "--out", str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "psychoedu demo did not write" in err
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]


def test_without_inspect_it_names_what_to_install_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    assert cli.main(["demo", "--runners", "--out", str(tmp_path / "demo")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert 'pip install "psychoedu[runners]"' in err
    assert len(err.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
