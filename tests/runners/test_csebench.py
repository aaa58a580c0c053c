"""CSEBench's prompts, to the letter of the article, and its description for the runner."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from psychoedu.exceptions import DataError, RunnerError
from psychoedu.runners.benchmarks import Benchmark, benchmark_named, known_benchmarks, register
from psychoedu.runners.csebench import prompts

ITEM = "She ____ tea.\nA. drink B. drinks C. drinking D. drunk"


@pytest.mark.shared
@pytest.mark.parametrize(("name", "template"), [("Zero-shot prompt", prompts.ZERO_SHOT), ("Few-shot prompt", prompts.FEW_SHOT)])
def test_prompts_are_the_articles(shared: Path, name: str, template: str) -> None:
    """The stored text of the article has lost its line breaks, so words and signs are compared."""
    found = next((shared / "seeds").glob("001_*.txt")).read_text(encoding="utf-8")
    start = found.index(f"{name} Instruction:") + len(name) + 1
    words = " ".join(template.split())
    assert found[start : start + len(words)] == words


def test_parts_are_paragraphs_and_options_stand_under_the_stem() -> None:
    parts = prompts.prompt(ITEM).split("\n\n")
    assert [part.split(":")[0] for part in parts] == ["Instruction", "Input", "Response"]
    assert parts[1] == f"Input: {ITEM}"
    shots = prompts.prompt(ITEM, "few_shot").split("\n\n")
    assert [part.split(":")[0] for part in shots] == ["Instruction", *["Input", "Response"] * 3]
    assert [shots[place] for place in (2, 4, 6)] == ["Response: B", "Response: C", "Response:"]
    assert all(len(shots[place].split("\n")) == 2 for place in (1, 3, 5))


def test_an_item_with_braces_is_left_as_it_is() -> None:
    item = "What does {input} or {knowledge} mean?\nA. {0} B. %s C. \\1 D. x"
    assert prompts.prompt(item).count(item) == 1
    assert prompts.prompt(item, "knowledge", "A {input} and {knowledge}.").count(f"A {{input}} and {{knowledge}}.\n\n{item}") == 1


def test_snippet_stands_before_the_item_of_the_zero_shot_prompt() -> None:
    text = prompts.prompt(ITEM, "knowledge", "  Verbs agree.\n")
    assert text == prompts.prompt(f"Verbs agree.\n\n{ITEM}")
    assert prompts.knowledge_request(ITEM).endswith(f"\n\n{ITEM}")


@pytest.mark.parametrize(("condition", "knowledge"), [("knowledge", None), ("zero_shot", "x"), ("no_shot", None)])
def test_what_does_not_fit_is_refused(condition: str, knowledge: str | None) -> None:
    with pytest.raises(DataError):
        prompts.prompt(ITEM, condition, knowledge)


def test_request_without_a_place_for_the_item_is_refused() -> None:
    with pytest.raises(DataError, match=re.escape("{input}")):
        prompts.knowledge_request(ITEM, "Tell me something.")


def test_protocol_is_the_articles() -> None:
    csebench = benchmark_named("csebench")
    assert (csebench.repeats, csebench.max_tokens, csebench.temperature, csebench.top_p) == (3, 8, 0.0, 1.0)
    assert csebench.protocol["rule"] == "literal"
    assert csebench.default_conditions == ("zero_shot", "few_shot")


def test_an_unknown_benchmark_or_condition_is_named() -> None:
    with pytest.raises(RunnerError, match=r"no benchmark 'csebnch'.*csebench"):
        benchmark_named("csebnch")
    with pytest.raises(RunnerError, match=r"no condition 'two_shot'.*'zero_shot', 'few_shot', 'knowledge'"):
        benchmark_named("csebench").check_conditions(["zero_shot", "two_shot"])


def test_another_benchmark_can_be_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psychoedu.runners.benchmarks._KNOWN", {})
    own = Benchmark("own", "Mine", {"plain": "as it is"}, ("plain",), lambda items: items, "module:task", lambda *_, **__: [])
    assert register(own) is benchmark_named("own")
    assert known_benchmarks() == [own]
