"""CSEBench as an Inspect task: what is sent, with which decoding, how runs become one answer, and the snippet of knowledge."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="the extra [runners] is not installed")

from inspect_ai import eval as inspect_eval
from inspect_ai.scorer import Score
from mock_models import INSPECT, item_of, mock_model, small_bank

from psychoedu.runners import run
from psychoedu.runners.csebench.prompts import KNOWLEDGE_PROMPT, prompt
from psychoedu.runners.tasks.csebench import csebench
from psychoedu.runners.tasks.mcq import majority_first

pytestmark = INSPECT
BANK = small_bank(3)


def evaluated(task: Any, model: Any, tmp_path: Path, **options: Any) -> Any:
    return inspect_eval(task, model=model, log_dir=str(tmp_path), display="none", **options)[0]


def test_task_sends_the_prompt_alone_with_the_articles_decoding(tmp_path: Path) -> None:
    seen: list[str] = []
    log = evaluated(csebench(condition="few_shot", items=BANK), mock_model(lambda *_: "A", seen=seen), tmp_path)
    assert sorted(set(seen)) == sorted(prompt(item.text, "few_shot") for item in BANK.items)
    assert len(seen) == 9
    config = log.plan.config
    assert (config.temperature, config.top_p, config.max_tokens) == (0.0, 1.0, 8)
    assert all([message.role for message in sample.messages] == ["user", "assistant"] for sample in log.samples)
    assert [sample.target for sample in log.samples if sample.epoch == 1] == ["A", "B", "C"]


def test_runs_vote_and_each_run_keeps_its_own_score(tmp_path: Path) -> None:
    said = {1: iter("BAA"), 2: iter("ABC"), 3: iter("CCD")}

    def answer(text: str, call: int) -> str:
        return next(said[int(item_of(text).split("item ")[1][0])])

    log = evaluated(csebench(items=BANK), mock_model(answer), tmp_path, max_samples=1)
    by_run = {(sample.id, sample.epoch): sample.scores["letter"] for sample in log.samples}
    assert [by_run["q1", epoch].answer for epoch in (1, 2, 3)] == ["B", "A", "A"]
    assert [by_run["q1", epoch].value for epoch in (1, 2, 3)] == ["I", "C", "C"]
    reduced = {sample.sample_id: sample.answer for sample in log.reductions[0].samples}
    assert reduced == {"q1": "A", "q2": "A", "q3": "C"}  # q2: three answers, so the first run decides
    assert log.results.scores[0].metrics["accuracy"].value == pytest.approx(2 / 3)


def test_runs_without_an_answer_vote_or_are_dropped() -> None:
    runs = [Score(value="I", answer=None), Score(value="I", answer=None), Score(value="C", answer="A")]
    assert majority_first("vote")(runs).answer is None
    assert majority_first("drop")(runs).answer == "A"
    assert majority_first("vote")(runs[1:]).answer is None  # a tie goes to the first


@pytest.mark.parametrize(("rule", "expected"), [("literal", "A"), ("token", "C"), ("strict", "C")])
def test_the_rule_reads_the_reply(tmp_path: Path, rule: str, expected: str) -> None:
    log = evaluated(csebench(items=BANK, rule=rule, repeats=1), mock_model(lambda *_: "Answer: C"), tmp_path)
    assert {sample.scores["letter"].answer for sample in log.samples} == {expected}


def test_a_snippet_is_written_once_an_item_for_all_runs_and_models(tmp_path: Path) -> None:
    asked: list[str] = []
    seen: list[str] = []
    writer = mock_model(lambda text, call: f"Fact {call}.", "mockllm/writer", "writer-1", asked)
    models = [mock_model(lambda *_: "A", name, seen=seen) for name in ("mockllm/a", "mockllm/b")]
    result = run("csebench", models, "knowledge", items=BANK, out=tmp_path / "out", knowledge_model=writer)
    assert sorted(asked) == sorted(KNOWLEDGE_PROMPT.replace("{input}", item.text) for item in BANK.items)
    assert len(seen) == 2 * 3 * 3
    assert len(set(seen)) == 3
    assert all(text.split("Input: ")[1].startswith("Fact ") and item_of(text).endswith(".") for text in seen)
    frame = result.records.frame
    assert set(frame["knowledge_model"]) == {"writer-1"}
    assert frame["prompt_hash"].nunique() == 3
    assert set(frame["input_tokens"]) == {20}  # the writer's tokens are not the model's


def test_a_writer_that_writes_nothing_leaves_the_item_missing(tmp_path: Path) -> None:
    writer = mock_model(lambda *_: ("", "max_tokens"), "mockllm/mute")
    result = run(
        "csebench", mock_model(lambda *_: "A"), "knowledge", items=BANK, out=tmp_path / "out", knowledge_model=writer, repeats=1
    )
    assert set(result.records.frame["reason"]) == {"api_error"}
    assert result.records.frame["error"].str.contains("wrote nothing.*knowledge_max_tokens").all()


def test_knowledge_without_a_writer_is_an_error_of_the_run(tmp_path: Path) -> None:
    log = evaluated(csebench(condition="knowledge", items=BANK, repeats=1), mock_model(lambda *_: "A"), tmp_path)
    assert log.status == "error"


def test_inspects_own_command_line_finds_the_task(tmp_path: Path) -> None:
    words = [
        "eval",
        "psychoedu/csebench",
        "-T",
        "condition=few_shot",
        "-T",
        "repeats=1",
        "--limit",
        "1",
        "--model",
        "mockllm/model",
    ]
    code = (
        "import sys; from inspect_ai.model._providers import mockllm; from inspect_ai.model import ModelUsage\n"
        "from inspect_ai._cli.main import main\n"
        f"sys.argv = ['inspect', *{words!r}, '--log-dir', {str(tmp_path)!r}, '--display', 'none']\n"
        "async def usage(self, output, *_): output.usage = ModelUsage()\n"
        "mockllm.MockLLM._ensure_default_usage = usage  # which would fetch a tokenizer\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("*csebench*.eval"))) == 1
