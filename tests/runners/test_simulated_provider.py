"""Simulated respondents behind Inspect: items found in prompts, runs that agree or flip, failures, every kind of prompt."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

pytest.importorskip("inspect_ai", reason="the extra [runners] is not installed")

from inspect_ai import Task, task
from inspect_ai import eval as inspect_eval
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig, get_model
from inspect_ai.solver import generate
from mock_models import INSPECT, small_bank

from psychoedu.exceptions import DataError, RunnerError
from psychoedu.irt.bank import ItemBank
from psychoedu.runners.aligned.judge import judge_messages
from psychoedu.runners.aligned.prompts import (
    CONFIDENCE,
    DIAGNOSTIC_SYSTEM,
    NEUROMYTHS_SYSTEM,
    certification_prompt,
    comparative_prompt,
    grading_prompt,
)
from psychoedu.runners.banks import sample
from psychoedu.runners.banks.pairs import Pair
from psychoedu.runners.banks.questions import Question, QuestionBank
from psychoedu.runners.banks.scenarios import Scenario
from psychoedu.runners.banks.statements import Statement
from psychoedu.runners.banks.works import StudentWork
from psychoedu.runners.csebench.prompts import knowledge_request, prompt
from psychoedu.runners.rules.grading import LEVELS, parse_classification
from psychoedu.runners.rules.judgements import parse_better_sample, parse_judge_score
from psychoedu.runners.rules.statements import parse_confidence, parse_statement
from psychoedu.runners.simulated_names import respondent_named
from psychoedu.runners.simulated_prompts import Catalogue
from psychoedu.runners.simulated_replies import DIAGNOSES
from psychoedu.runners.tasks.csebench import csebench

pytestmark = INSPECT
BANK = small_bank(24)


def evaluated(
    model: Any, tmp_path: Path, bank: Any = BANK, repeats: int = 3, condition: str = "zero_shot", **options: Any
) -> Any:
    options = {"fail_on_error": False, **options}
    made = csebench(condition=condition, items=bank, repeats=repeats)
    return inspect_eval(made, model=model, log_dir=str(tmp_path), display="none", **options)[0]


def simulated(name: str, **arguments: Any) -> Any:
    return get_model(f"simulated/{name}", memoize=False, **{"items": BANK, **arguments})


def answers(log: Any) -> dict[tuple[Any, int], str | None]:
    return {(one.id, one.epoch): one.scores["letter"].answer for one in log.samples if one.scores}


def said(model: Any, *texts: str, system: str = "", **config: Any) -> str:
    """Return the reply to the last of a conversation's messages of the user."""
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    messages: list[Any] = [ChatMessageSystem(content=system)] if system else []
    for place, text in enumerate(texts):
        messages += [ChatMessageAssistant(content="Correct")] if place else []
        messages.append(ChatMessageUser(content=text))
    return str(asyncio.run(model.generate(messages, config=GenerateConfig(temperature=0.0, **config))).completion)


def test_runs_agree_and_are_those_of_the_respondent(tmp_path: Path) -> None:
    log = evaluated(simulated("theta=0.3,seed=5"), tmp_path, condition="few_shot")
    person = respondent_named("theta=0.3,seed=5")
    assert log.status == "success"
    assert answers(log) == {
        (item.item_id, epoch): person.reply(item.item_id, item.key) for item in BANK.items for epoch in (1, 2, 3)
    }
    assert 0 < log.results.scores[0].metrics["accuracy"].value < 1


def test_every_call_reports_its_model_and_tokens(tmp_path: Path) -> None:
    log = evaluated(simulated("theta=0.3,seed=5"), tmp_path, repeats=1)
    outputs = [one.output for one in log.samples]
    assert {output.model for output in outputs} == {"theta=0.3,seed=5"}
    assert {output.usage.output_tokens for output in outputs} == {1}
    assert all(output.usage.total_tokens == output.usage.input_tokens + 1 > 40 for output in outputs)


@pytest.mark.parametrize("max_samples", [1, 12])
def test_flips_belong_to_the_epoch_however_many_samples_run_at_once(tmp_path: Path, max_samples: int) -> None:
    model = simulated("theta=0.3,seed=5,flip=0.4")
    said(model, prompt(BANK.items[0].text))  # a call outside a sample moves no epoch
    log = evaluated(model, tmp_path, max_samples=max_samples)
    person = respondent_named("theta=0.3,seed=5,flip=0.4")
    expected = {
        (item.item_id, epoch): person.reply(item.item_id, item.key, epoch=epoch) for item in BANK.items for epoch in (1, 2, 3)
    }
    assert answers(log) == expected
    by_run = [[expected[item.item_id, epoch] for item in BANK.items] for epoch in (1, 2, 3)]
    assert by_run[0] != by_run[1] != by_run[2] != by_run[0]


def test_epochs_are_followed_also_by_a_model_that_inspect_makes(tmp_path: Path) -> None:
    log = evaluated("simulated/theta=0.3:seed=5:flip=0.4", tmp_path, bank="sample", limit=12)
    person = respondent_named("theta=0.3,seed=5,flip=0.4")
    bank = sample("csebench")
    assert len(log.samples) == 36
    for one in log.samples:
        item = bank[one.id]
        assert one.scores["letter"].answer == person.reply(item.item_id, item.key, epoch=one.epoch, metadata=item.metadata)


def test_failures_are_samples_with_an_error_and_are_not_tried_without_end(tmp_path: Path) -> None:
    log = evaluated(simulated("theta=0.3,seed=5,error=0.3"), tmp_path, retry_on_error=1)
    failed = {(one.id, one.epoch) for one in log.samples if one.error is not None}
    assert 0.1 < len(failed) / len(log.samples) < 0.5
    assert all("Simulated failure" in one.error.message for one in log.samples if one.error is not None)
    assert all(len(one.error_retries) == 1 for one in log.samples if one.error is not None)
    again = evaluated(simulated("theta=0.3,seed=5,error=0.3"), tmp_path / "again", max_samples=1)
    assert {(one.id, one.epoch) for one in again.samples if one.error is not None} == failed
    steady = respondent_named("theta=0.3,seed=5")
    assert answers(log) == {
        place: steady.reply(place[0], BANK.key_of(str(place[0]))) for place in answers(again)
    }  # what did not fail is as without failures


def test_a_bank_gives_the_chances(tmp_path: Path) -> None:
    labels = [item.item_id for item in BANK.items]
    easy = [place % 3 == 0 for place in range(len(labels))]
    frame = pd.DataFrame({"discrimination": 4.0, "difficulty": [-9.0 if one else 9.0 for one in easy]}, index=labels)
    file = ItemBank(frame).save(tmp_path / "bank.json")
    log = evaluated(simulated("theta=0", bank=str(file)), tmp_path, repeats=1)
    right = {one.id: one.scores["letter"].value == "C" for one in log.samples}
    assert [right[label] for label in labels] == easy
    with pytest.raises(RunnerError, match=r"none of them.*\n.*items=FILE"):
        get_model("simulated/theta=0", memoize=False, bank=str(file))
    with pytest.raises(DataError, match="profile= needs a diagnosis"):
        simulated("profile=1011", bank=str(file))


def test_names_and_options_are_refused_before_the_first_call() -> None:
    with pytest.raises(DataError, match="did you mean 'theta'"):
        get_model("simulated/teta=1", memoize=False)
    with pytest.raises(DataError, match="did you mean 'seed'"):
        get_model("simulated/theta=1", memoize=False, sed=3)
    assert simulated("theta=1", flip=0.25).api.respondent.flip == 0.25


def test_inspects_command_line_knows_the_provider(tmp_path: Path) -> None:
    words = ["eval", "psychoedu/csebench", "--limit", "2", "--model", "simulated/theta=0.8:seed=3", "-M", "flip=0.1"]
    code = f"import sys; from inspect_ai._cli.main import main; sys.argv = ['inspect', *{words!r}, '--display', 'none']; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("logs/*csebench*.eval"))) == 1


# ---- what a prompt asks


def found(text: str, system: str = "", bank: Any = BANK) -> Any:
    turns = [("system", system)] if system else []
    return Catalogue({"questions": [bank]}).find([*turns, ("user", text)])


def test_the_last_item_of_a_prompt_counts() -> None:
    first, last = BANK.items[0], BANK.items[7]
    shots = f"Input: {first.text}\n\nResponse: {first.key}\n\n{prompt(last.text)}"
    assert found(shots).item_id == last.item_id
    for condition, snippet in (("zero_shot", None), ("few_shot", None), ("knowledge", f"As in {first.text}")):
        asked = found(prompt(last.text, condition, snippet))
        assert (asked.item_id, asked.key) == (last.item_id, last.key)


def test_an_item_is_found_however_its_options_are_laid_out() -> None:
    item = BANK.items[1]
    assert found(certification_prompt(item)).item_id == item.item_id
    lines = "\n".join(f"{letter}) {option}" for letter, option in zip("ABCD", item.options, strict=True))
    asked = found(f"Answer the question.\n\n{item.stem}\n\n{lines}")
    assert (asked.item_id, asked.key) == (item.item_id, item.key)


def test_the_key_follows_its_option_where_options_are_shuffled() -> None:
    item = BANK.items[1]  # its key is B, "two"
    asked = found(f"{item.stem}\nA. four B. one C. two D. three\n\nResponse:")
    assert (asked.item_id, asked.key, asked.texts) == (item.item_id, "C", ("four", "one", "two", "three"))


def test_items_that_share_a_stem_are_told_by_their_options() -> None:
    bank = QuestionBank(
        (Question("one", "Choose.", ("a", "b", "c"), "A", {}), Question("two", "Choose.", ("d", "e", "f"), "C", {})), "twins"
    )
    assert [found(prompt(item.text), bank=bank).item_id for item in bank.items] == ["one", "two"]


def test_a_question_of_no_bank_is_not_taken_for_a_demonstration_of_one() -> None:
    shots = f"Input: {BANK.items[0].text}\n\nResponse: A\n\nInput: Another one.\nA. x B. y C. z\n\nResponse:"
    asked = found(shots)
    assert asked.item_id.startswith("unknown-")
    assert asked.options == ("A", "B", "C")
    assert found(shots) == asked
    assert found(shots.replace("Another", "A third")).item_id != asked.item_id


def test_questions_of_no_bank_are_answered_by_chance_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    model = simulated("theta=9")
    replies = [said(model, f"Number {place}.\nA. x B. y C. z D. w") for place in range(60)]
    assert set(replies) == set("ABCD")
    assert sum("in none of its banks" in record.getMessage() for record in caplog.records) == 1


def test_outside_a_sample_calls_are_counted() -> None:
    text = prompt(BANK.items[0].text)
    model = simulated("theta=0.3,seed=5,flip=0.5")
    person = respondent_named("theta=0.3,seed=5,flip=0.5")
    assert [said(model, text) for _ in range(8)] == [person.reply("q1", "A", epoch=run) for run in range(1, 9)]


def test_replies_end_at_the_limit_of_tokens() -> None:
    model = simulated("theta=0,refuse=1")
    assert said(model, prompt(BANK.items[0].text), max_tokens=5) == "I'm sorry,"
    assert said(model, prompt(BANK.items[0].text)).endswith("help with that.")


# ---- the other benchmarks; an able respondent is right, an unable one wrong


@pytest.fixture(scope="module")
def pair_of_people() -> tuple[Any, Any]:
    return simulated("theta=9"), simulated("theta=-9")


def test_statements_in_every_framing(pair_of_people: tuple[Any, Any]) -> None:
    able, unable = pair_of_people
    statements: tuple[Statement, ...] = sample("neuromyths").items
    for item in statements:
        right, wrong = ("Correct", "Incorrect") if item.key else ("Incorrect", "Correct")
        for text in {item.text, *item.framings.values()}:
            assert parse_statement(said(able, text, system=NEUROMYTHS_SYSTEM)) == right
            assert parse_statement(said(unable, text, system=NEUROMYTHS_SYSTEM)) == wrong
    assert said(able, "Nobody wrote this one.", system=NEUROMYTHS_SYSTEM) in ("Correct", "Incorrect")


def test_confidence_follows_how_sure_the_answer_is() -> None:
    text = sample("neuromyths").items[0].text
    told = [said(simulated(f"theta={theta}"), text, CONFIDENCE, system=NEUROMYTHS_SYSTEM) for theta in (3, 0.5, 0, -3)]
    assert [parse_confidence(one) for one in told] == ["Very confident", "Somewhat confident", "Uncertain", "Very confident"]


def test_pairs_in_both_orders(pair_of_people: tuple[Any, Any]) -> None:
    able, unable = pair_of_people
    pairs: tuple[Pair, ...] = sample("pairs").items
    for pair in pairs:
        for shown in (pair, pair.swapped()):
            assert parse_better_sample(said(able, comparative_prompt(shown))) == shown.better
            assert parse_better_sample(said(unable, comparative_prompt(shown))) != shown.better
    other = Pair("x", "Year 5", "English", "A standard.", "A task.", "The first text.", "The second text.", "A")
    both = [parse_better_sample(said(able, comparative_prompt(shown))) for shown in (other, other.swapped())]
    assert sorted(str(letter) for letter in both) == ["A", "B"]  # one work in both orders, also of an unknown pair


def test_works(pair_of_people: tuple[Any, Any]) -> None:
    able, unable = pair_of_people
    works: tuple[StudentWork, ...] = sample("works").items
    for work in works:
        assert parse_classification(said(able, grading_prompt(work))) == work.level
        mistaken = parse_classification(said(unable, grading_prompt(work)))
        assert mistaken in LEVELS
        assert abs(LEVELS.index(str(mistaken)) - LEVELS.index(work.level)) == 1


def test_certification(pair_of_people: tuple[Any, Any]) -> None:
    able, unable = (get_model(f"simulated/theta={theta}", memoize=False) for theta in (9, -9))
    for item in sample("certification").items:
        assert said(able, certification_prompt(item)) == item.key != said(unable, certification_prompt(item))


def test_diagnoses_rise_with_ability_and_a_judge_sees_it() -> None:
    judge = simulated("theta=9")
    scenarios: tuple[Scenario, ...] = sample("scenarios").items
    means = []
    for theta in (-1.5, 0.0, 1.5):
        scores = []
        for seed in range(15):
            model = simulated(f"theta={theta},seed={seed}")
            for item in scenarios:
                reply = said(model, item.text, system=DIAGNOSTIC_SYSTEM)
                (_, system), (_, request) = judge_messages(item, reply)
                scores.append(parse_judge_score(said(judge, request, system=system)))
                assert reply == DIAGNOSES[scores[-1]]
        means.append(sum(scores) / len(scores))
    assert means[0] + 0.4 < means[1] < means[2] - 0.4


def test_a_judge_scores_any_reply_and_always_alike() -> None:
    item = sample("scenarios").items[0]
    scores = []
    for place in range(40):
        (_, system), (_, request) = judge_messages(item, f"Reply number {place}.")
        told = [said(simulated("theta=2"), request, system=system) for _ in range(2)]
        assert told[0] == told[1]
        assert json.loads(told[0])["score"] == parse_judge_score(told[0])
        scores.append(parse_judge_score(told[0]))
    assert set(scores) == {0, 1, 2, 3}
    assert parse_judge_score(said(simulated("theta=2,wrong_format=1"), request, system=system)) is None


def test_a_writer_of_knowledge_writes_something() -> None:
    assert said(simulated("theta=0"), knowledge_request(BANK.items[0].text)).startswith("One has to know")


def test_other_forms_are_read_or_not_by_each_rule() -> None:
    odd, wordy = simulated("theta=9,wrong_format=1"), simulated("theta=9,sentence=1")
    statement, pair, work = (sample(name).items[0] for name in ("neuromyths", "pairs", "works"))
    asked = [(statement.text, NEUROMYTHS_SYSTEM, parse_statement), (comparative_prompt(pair), "", parse_better_sample)]
    asked += [(grading_prompt(work), "", parse_classification)]
    for text, system, parse in asked:
        assert parse(said(odd, text, system=system)) is None
        assert parse(said(wordy, text, system=system)) == parse(said(simulated("theta=9"), text, system=system)) is not None


@task
def plain_task() -> Task:
    return Task(
        dataset=[Sample(input=prompt(item.text), target=item.key, id=item.item_id) for item in BANK.items], solver=generate()
    )


def test_any_task_can_ask_them(tmp_path: Path) -> None:
    log = inspect_eval(plain_task(), model=simulated("profile=1101,seed=2"), log_dir=str(tmp_path), display="none")[0]
    person = respondent_named("profile=1101,seed=2")
    assert {one.id: one.output.completion for one in log.samples} == {
        item.item_id: person.reply(item.item_id, item.key) for item in BANK.items
    }
