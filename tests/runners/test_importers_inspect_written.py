"""Logs that the installed Inspect writes, read without it: epochs, failed samples, several scorers, a run that was killed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("inspect_ai", reason="inspect_ai, of the extra [runners], is not installed")

import psychoedu as pe
from psychoedu.exceptions import ResultsFormatError

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("swept")]

KEYS = {"q1": "A", "q2": "B", "q3": "A", "q4": "A"}
FAILS = "q3"


def task(**options: Any) -> Any:
    """Four items on which the model says A; the third one fails."""
    from inspect_ai import Task
    from inspect_ai.dataset import Sample
    from inspect_ai.scorer import Score, match, mean, scorer
    from inspect_ai.solver import generate, solver

    @solver
    def breaking() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            if state.sample_id == FAILS:
                raise RuntimeError("no answer from the server")
            return state

        return solve

    @scorer(metrics=[mean()])
    def graded() -> Any:
        async def score(state: Any, target: Any) -> Any:
            if state.sample_id == "q4":
                return Score.unscored(reason="grader_failed")
            return Score(value=2, answer="2", explanation="half right", metadata={"judge_model": "judge/x"})

        return score

    samples = [Sample(input="Which one?", target=key, id=name, metadata={"level": 3}) for name, key in KEYS.items()]
    return Task(
        dataset=samples, solver=[breaking(), generate()], scorer=[match(), graded()], epochs=3, fail_on_error=False, **options
    )


def evaluated(folder: Path, format: str) -> Any:
    from inspect_ai import eval as run_inspect
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def reply(*_: Any, **__: Any) -> Any:
        output = ModelOutput.from_content("mockllm/model", "A")
        output.usage = ModelUsage(input_tokens=7, output_tokens=1, total_tokens=8)
        return output

    model = get_model("mockllm/model", custom_outputs=reply, memoize=False)
    return run_inspect(task(), model=model, log_dir=str(folder), log_format=format, display="none", log_level="error")[0]


@pytest.mark.parametrize("format", ["eval", "json"])
def test_what_inspect_writes_is_read_as_inspect_counts_it(tmp_path: Path, format: str) -> None:
    log = evaluated(tmp_path, format)
    reported = {score.name: score.metrics for score in log.results.scores}
    with pytest.raises(ResultsFormatError, match="2 scores: 'match', 'graded'"):
        pe.read_results(tmp_path)
    records = pe.read_results(tmp_path, score="match")
    assert len(records) == 12
    rates = records.rates().iloc[0]
    assert rates["rate_invalid_missing"] == pytest.approx(reported["match"]["accuracy"].value, rel=1e-12)
    assert rates[["n", "answered", "right", "failed"]].tolist() == [12, 9, 6, 3]
    failed = records.frame[records.frame["item_id"] == FAILS]
    assert failed["reason"].tolist() == ["api_error"] * 3
    assert failed["error"].str.contains("no answer from the server").all()
    matrix = records.to_matrix()
    np.testing.assert_equal(matrix.to_frame().iloc[0].tolist(), [1.0, 0.0, np.nan, 1.0])
    assert matrix.items["level"].tolist() == [3, 3, 3, 3]
    answered = records.frame[records.frame["reason"] == "answered"]
    assert answered["raw_output"].unique().tolist() == ["A"]
    assert answered["input_tokens"].sum() == log.stats.model_usage["mockllm/model"].input_tokens
    graded = pe.read_results(tmp_path, score="graded", max_score=4)
    assert graded.rates().iloc[0]["rate_invalid_missing"] * 4 == pytest.approx(reported["graded"]["mean"].value, rel=1e-12)
    assert graded.frame.loc[graded.frame["item_id"] == "q4", "reason"].tolist() == ["api_error"] * 3
    assert graded.frame["judge_model"].dropna().unique().tolist() == ["judge/x"]


def test_full_samples_agree_with_summaries(tmp_path: Path) -> None:
    evaluated(tmp_path, "eval")
    brief = pe.read_results(tmp_path, score="match").frame
    full = pe.read_results(tmp_path, score="match", full=True).frame
    for name in ("item_id", "epoch", "score", "reason", "parsed", "input_tokens", "output_tokens"):
        assert brief[name].equals(full[name]), name
    assert full.loc[full["reason"] == "answered", "prompt_hash"].nunique() == 1
    assert brief["prompt_hash"].isna().all()


KILLED = """
import os, sys
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match

count = 0

def reply(*_, **__):
    global count
    count += 1
    if count == 6:
        os._exit(9)
    output = ModelOutput.from_content("mockllm/model", "A")
    output.usage = ModelUsage(input_tokens=7, output_tokens=1, total_tokens=8)
    return output

task = Task(dataset=[Sample(input="Which?", target="A", id=f"q{n}") for n in range(8)], scorer=match())
model = get_model("mockllm/model", custom_outputs=reply)
eval(task, model=model, log_dir=sys.argv[1], display="none", max_samples=1, log_buffer=1)
"""


def test_a_run_that_was_killed_is_read_as_far_as_it_was_written(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], env=dict(os.environ), capture_output=True, check=False)
    assert done.returncode == 9, done.stderr.decode()
    records = pe.read_results(tmp_path)
    assert 3 <= len(records) <= 5
    assert records.items == [f"q{number}" for number in range(len(records))]
    told = " ".join(records.notes)
    assert "not finished" in told
    assert f"{len(records)} of 8 samples" in told
