"""What a run is going to do, counted and laid out before any call; none of it needs inspect_ai."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mock_models import small_bank

from psychoedu.exceptions import RunnerError
from psychoedu.runners.csebench.prompts import prompt
from psychoedu.runners.plan import make_plan
from psychoedu.runners.prompt_hash import prompt_hash
from psychoedu.runners.provenance import check_same_run, first_provenance
from psychoedu.runners.run import run
from psychoedu.runners.settings import Settings

MODELS = ["openai/gpt-4o", "deepseek/reasoner"]


def plan_of(models: Any = MODELS, conditions: Any = None, **options: Any) -> Any:
    return make_plan("csebench", models, conditions, items=small_bank(), **options)


def test_calls_are_models_by_conditions_by_items_by_runs() -> None:
    plan = plan_of()
    assert plan.conditions == ("zero_shot", "few_shot")
    assert plan.n_calls == 2 * 2 * 4 * 3
    assert plan_of(limit=3, repeats=5).n_calls == 2 * 2 * 3 * 5
    assert plan_of(limit=30).n_items == 4


def test_snippets_are_written_once_an_item_whatever_the_models_and_runs() -> None:
    plan = plan_of(conditions=["zero_shot", "knowledge"], knowledge_model="deepseek/r1")
    assert (plan.n_calls, plan.n_role_calls, plan.roles) == (48, 4, {"knowledge": "deepseek/r1"})
    assert plan_of(conditions=["zero_shot"], knowledge_model="deepseek/r1").roles == {}  # nobody needs it


def test_dry_run_shows_the_count_and_one_whole_prompt_a_condition() -> None:
    text = plan_of(max_tokens={"deepseek/reasoner": 4096}).dry_run()
    item = small_bank().items[0]
    assert "= 48 calls" in text
    assert "generated tokens openai/gpt-4o at most 8, deepseek/reasoner at most 4,096" in text
    assert [text.count(prompt(item.text, condition)) for condition in ("zero_shot", "few_shot")] == [1, 1]


def test_caps_are_for_all_for_some_or_for_the_others() -> None:
    assert plan_of().max_tokens == dict.fromkeys(MODELS, 8)
    assert plan_of(max_tokens=64).max_tokens == dict.fromkeys(MODELS, 64)
    assert plan_of(max_tokens={MODELS[1]: 4096}).max_tokens == {MODELS[0]: 8, MODELS[1]: 4096}
    assert plan_of(max_tokens={None: 16, MODELS[1]: 4096}).max_tokens == {MODELS[0]: 16, MODELS[1]: 4096}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"models": []}, "No model is named"),
        ({"models": ["gpt-4o"]}, "provider/model"),
        ({"models": ["a/b", "a/b"]}, "a/b is named twice"),
        ({"conditions": ["knowledge"]}, "role 'knowledge'.*knowledge_model"),
        ({"roles": {"judge": "a/b"}}, "no role 'judge'.*'knowledge'"),
        ({"rules": "strict"}, "no parameter 'rules'.*'rule'"),
        ({"max_tokens": {"a/b": 5}}, "max_tokens names 'a/b'"),
    ],
)
def test_what_cannot_be_run_is_named(options: dict[str, Any], said: str) -> None:
    with pytest.raises(RunnerError, match=said):
        plan_of(**options)


def test_arguments_of_the_task_leave_out_its_defaults() -> None:
    plan = plan_of(rule="strict", unparsed="vote")
    assert plan.task_arguments(MODELS[0], "few_shot") == {
        "condition": "few_shot",
        "items": f"sha256:{small_bank().hash}",
        "repeats": 3,
        "max_tokens": 8,
        "rule": "strict",
    }


def test_provenance_before_the_first_call_has_hashes_of_the_exact_messages() -> None:
    content = first_provenance(plan_of(), Settings())
    for condition in ("zero_shot", "few_shot"):
        expected = {item.item_id: prompt_hash([("user", prompt(item.text, condition))]) for item in small_bank().items}
        assert content["prompts"][condition]["by_item"] == expected
    assert content["items"]["hash"] == small_bank().hash
    assert content["versions"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert len(content["run_id"]) == 32


@pytest.mark.parametrize(
    ("options", "settings", "said"),
    [
        ({"rule": "strict"}, {}, 'rule: "literal" there, "strict" now'),
        ({"repeats": 5}, {}, "repeats: 3 there, 5 now"),
        ({"max_tokens": {MODELS[1]: 99}}, {}, "max_tokens of deepseek/reasoner: 8 there, 99 now"),
        ({}, {"seed": 4}, "seed: null there, 4 now"),
        ({"models": MODELS[:1]}, {}, "models: deepseek/reasoner there, not now"),
        ({"conditions": ["zero_shot"]}, {}, "conditions: few_shot there, not now"),
        ({"limit": 2}, {}, "limit: none there, 2 now"),
    ],
)
def test_another_run_is_not_gone_on_with(options: dict[str, Any], settings: dict[str, Any], said: str) -> None:
    before = first_provenance(plan_of(), Settings())
    with pytest.raises(RunnerError, match=said) as caught:
        check_same_run(before, first_provenance(plan_of(**options), Settings(**settings)), Path("out"))
    assert len(str(caught.value).splitlines()) <= 3


def test_other_items_are_another_run() -> None:
    other = make_plan("csebench", MODELS, items=small_bank(5))
    with pytest.raises(RunnerError, match=r"items \(hash\)"):
        check_same_run(first_provenance(plan_of(), Settings()), first_provenance(other, Settings()), Path("out"))


def test_more_models_conditions_and_items_are_the_same_run_and_so_are_other_connections() -> None:
    before = first_provenance(plan_of(MODELS[:1], ["zero_shot"], limit=2), Settings())
    after = plan_of(conditions=["few_shot", "zero_shot", "knowledge"], knowledge_model="deepseek/r1", limit=3)
    for plan in (after, plan_of()):
        check_same_run(before, first_provenance(plan, Settings(max_connections=3, log_realtime=True)), Path("out"))


def test_without_inspect_a_dry_run_works_and_a_run_names_the_extra(tmp_path: Path) -> None:
    code = f"""
import sys, json
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("inspect_ai", "openai", "backports"):
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Refuse())
from psychoedu.cli import main
words = ["run", "csebench", "--model", "openai/gpt-4o", "--out", {str(tmp_path / "out")!r}]
print(json.dumps([main(["run", "--list"]), main([*words, "--dry-run"]), main(words)]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == [0, 0, 2]
    assert 'pip install "psychoedu[runners]"' in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_dry_run_writes_nothing(tmp_path: Path) -> None:
    result = run("csebench", MODELS, items=small_bank(), out=tmp_path / "out", dry_run=True)
    assert "Nothing was sent." in result.summary()
    assert not (tmp_path / "out").exists()
    with pytest.raises(RunnerError, match="dry run"):
        result.matrix()


def test_a_judge_is_asked_for_every_model() -> None:
    one, three = (
        make_plan("aligned-diagnostic", [f"simulated/theta={n}" for n in range(count)], roles={"judge": "simulated/theta=2"})
        for count in (1, 3)
    )
    assert (one.n_role_calls, three.n_role_calls) == (4, 12)
