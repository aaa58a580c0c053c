"""Runs over real HTTP, against a server that misbehaves on purpose: nothing lost, nothing double, and failed is not wrong."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="the extra [runners] is not installed")
pytest.importorskip("openai", reason="the client of OpenAI's protocol, of the extra [runners], is not installed")

import loopback_server as trouble
from loopback_server import SERVED_MODEL, Loopback, Reply, always, at_first, by_item, first_call, loopback
from mock_models import INSPECT, small_bank

from psychoedu.runners import run
from psychoedu.runners.csebench.prompts import prompt
from psychoedu.runners.importers import archive

pytestmark = INSPECT
KEY = "sk-loopback-0123456789abcdef"
ASKED, NAME = "model-a", "openai-api/loopback/model-a"
QUICK = {"max_retries": 0, "max_connections": 6, "model_args": {"max_retries": 1}}
"""Inspect waits 3 seconds at least before it tries again; the client beneath it, half a second."""
REPEATS = 2
LATE, PAUSE = 0.4, 1.2

SOUND = {
    "1": always(Reply()),  # keys are A, B, C, D in turn
    "2": always(Reply(text="\n B", usage=(71, 2, 0))),
    "3": always(Reply(text="Sure: C", wait=LATE)),
}
OVERCOME = {
    "4": at_first(trouble.too_many(PAUSE)),
    "5": at_first(trouble.broken()),
    "6": at_first(trouble.half_sent()),
    "7": at_first(trouble.reset()),
}
EMPTY = {"8": always(trouble.all_thought(8)), "9": always(Reply(text=None)), "10": always(trouble.withheld())}
FAILED = {
    "11": always(trouble.half_json()),
    "12": always(trouble.no_choices()),
    "13": always(trouble.no_utf8()),
    "14": always(trouble.not_json()),
    "15": always(Reply(status=400)),
    "16": always(trouble.too_many()),
    "17": always(trouble.broken()),
    "18": always(trouble.reset()),
}
TRIED_AGAIN = {*OVERCOME, "16", "17", "18"}
ALL = SOUND | OVERCOME | EMPTY | FAILED
BANK = small_bank(len(ALL))


def ids(rules: dict[str, Any]) -> list[str]:
    return [f"q{number}" for number in rules]


def address(patch: pytest.MonkeyPatch, server: Loopback, service: str = "LOOPBACK") -> None:
    patch.setenv(f"{service}_API_KEY", KEY)
    patch.setenv(f"{service}_BASE_URL", server.url)
    patch.setenv("NO_PROXY", "127.0.0.1")


def every_byte(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield the contents of all files, those inside of Inspect's archives as well."""
    for path in folder.rglob("*"):
        if path.is_file():
            yield path, path.read_bytes()
        if path.suffix == ".eval":
            with archive.opened(path, 2**30) as file:
                for name in file.names:
                    yield path / name, json.dumps(file.json(name)).encode()


@dataclass(frozen=True)
class Rough:
    """A run against the server that does everything wrong, and what the server saw of it."""

    result: Any
    server: Loopback
    tries: Counter[tuple[str, str]]
    calls: Counter[tuple[str, str]]
    completed: Counter[tuple[str, str]]

    @property
    def frame(self) -> Any:
        return self.result.records.frame

    def rows(self, rules: dict[str, Any]) -> Any:
        return self.frame[self.frame["item_id"].isin(ids(rules))]


@pytest.fixture(scope="module")
def rough(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rough]:
    with pytest.MonkeyPatch.context() as patch, loopback(by_item(ALL, always(Reply())), KEY) as server:
        address(patch, server)
        patch.setenv("INSPECT_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        folder = tmp_path_factory.mktemp("rough") / "out"
        result = run("csebench", NAME, "zero_shot", items=BANK, out=folder, repeats=REPEATS, settings=QUICK)
        server.wait_until_idle()
        yield Rough(result, server, server.tries, server.calls, server.completed.copy())


def test_every_item_and_run_is_there_once_whatever_went_wrong(rough: Rough) -> None:
    cells = Counter(zip(rough.frame["item_id"], rough.frame["epoch"], strict=True))
    assert cells == Counter({(item, epoch): 1 for item in ids(ALL) for epoch in range(1, REPEATS + 1)})
    assert rough.result.provenance["status"] == "calls failed"


def test_the_server_saw_each_call_once_and_as_many_tries_as_were_allowed(rough: Rough) -> None:
    assert rough.calls == {(ASKED, item): REPEATS for item in ALL}
    assert rough.tries == {(ASKED, item): REPEATS * (2 if item in TRIED_AGAIN else 1) for item in ALL}


def test_a_server_that_asks_for_a_pause_gets_it(rough: Rough) -> None:
    """By itself the client would come back after half a second."""
    tries = [one for one in rough.server.requests if one.item == "4"]
    first = {one.call: one.at for one in tries if one.attempt == 0}
    pauses = [one.at - first[one.call] for one in tries if one.attempt == 1]
    assert len(pauses) == REPEATS
    assert min(pauses) >= PAUSE


def test_every_completion_that_was_sent_is_in_the_records(rough: Rough) -> None:
    replied = rough.frame[rough.frame["reason"] != "api_error"].groupby("item_id").size().to_dict()
    assert replied == {f"q{item}": count for (_, item), count in rough.completed.items()}
    assert replied == dict.fromkeys(ids(SOUND | OVERCOME | EMPTY), REPEATS)


def test_trouble_that_passes_leaves_no_trace_in_the_answers(rough: Rough) -> None:
    rows = rough.rows(OVERCOME)
    assert set(rows["reason"]) == {"answered"}
    assert set(rows["parsed"]) == {"B"}
    assert rows["error"].isna().all()
    assert rows.loc[rows["item_id"] == "q6", "score"].tolist() == [1.0] * REPEATS


def test_calls_that_failed_are_missing_with_the_reason_and_not_wrong(rough: Rough) -> None:
    rows = rough.rows(FAILED)
    assert set(rows["reason"]) == {"api_error"}
    assert rows["score"].isna().all()
    assert rows["parsed"].isna().all()
    said = {
        "q11": "JSONDecodeError", "q12": "no choice", "q13": "UnicodeDecodeError", "q14": "<html>",
        "q15": "made to fail with 400", "q16": "Error code: 429", "q17": "made to fail with 500", "q18": "Connection error",
    }  # fmt: skip
    errors = rows.drop_duplicates("item_id").set_index("item_id")["error"]
    assert {item: text for item, text in said.items() if text not in errors[item]} == {}
    wide = rough.result.matrix().to_frame()
    assert wide[ids(FAILED)].isna().all(axis=None)
    assert wide.drop(columns=ids(FAILED)).notna().all(axis=None)


def test_no_error_repeats_the_item(rough: Rough) -> None:
    """Inspect puts the request into the message of a refused call; records go where logs must not."""
    assert not rough.frame["error"].fillna("").str.contains("The stem of item").any()


def test_replies_without_an_answer_count_as_the_protocol_says(rough: Rough) -> None:
    rows = rough.rows(EMPTY).drop_duplicates("item_id").set_index("item_id")
    assert rows["reason"].to_dict() == {"q8": "empty", "q9": "empty", "q10": "refused"}
    assert rows["score"].tolist() == [0.0, 0.0, 0.0]
    assert rows["stop_reason"].to_dict() == {"q8": "max_tokens", "q9": "stop", "q10": "content_filter"}
    assert rows.loc["q8", ["output_tokens", "reasoning_tokens"]].tolist() == [8, 8]
    assert rough.result.matrix(invalid="missing").to_frame()[ids(EMPTY)].isna().all(axis=None)
    assert any("cut at the cap" in note for note in rough.result.records.notes)
    rates = rough.result.rates().iloc[0]
    right, answered = len(["q2", "q3", "q6"]), len(SOUND | OVERCOME)  # "B" is the key of 2 and 6, "Sure: C" has that of 3
    assert rates["rate_invalid_missing"] == pytest.approx(right / answered)
    assert rates["rate_invalid_wrong"] == pytest.approx(right / (answered + len(EMPTY)))
    assert rates["rate_failed_wrong"] == pytest.approx(right / len(ALL))


def test_what_the_server_reported_is_in_the_records(rough: Rough) -> None:
    rows = rough.frame[rough.frame["reason"] != "api_error"]
    assert set(rows["model"]) == {NAME}
    assert set(rows["model_version"]) == {SERVED_MODEL}
    assert rough.result.provenance["models"][0]["reported"] == [SERVED_MODEL]
    one = rows[rows["item_id"] == "q2"].iloc[0]
    assert one[["input_tokens", "output_tokens", "reasoning_tokens"]].tolist() == [71, 2, 0]
    assert one["raw_output"] == "\n B"
    assert (rows.loc[rows["item_id"] == "q3", "latency_s"] >= LATE).all()
    assert (rows["latency_s"] > 0.0).all()


def test_the_server_was_asked_what_the_protocol_says(rough: Rough) -> None:
    first = {one.item: one for one in reversed(rough.server.requests)}
    for number, question in zip(ALL, BANK.items, strict=True):
        sent = [{"role": "user", "content": prompt(question.text, "zero_shot")}]
        assert first[number].body == {"model": ASKED, "messages": sent, "temperature": 0.0, "top_p": 1.0, "max_tokens": 8}


def test_the_key_reaches_the_server_and_nothing_else(rough: Rough, capsys: pytest.CaptureFixture[str]) -> None:
    assert all(one.authorized for one in rough.server.requests)
    assert not any(KEY in json.dumps([one.body, one.headers]) for one in rough.server.requests)
    found = [path for path, content in every_byte(rough.result.out) if KEY.encode() in content]
    assert found == []
    assert KEY not in rough.frame.to_csv() + json.dumps(rough.result.provenance) + rough.result.summary()
    assert KEY not in "".join(capsys.readouterr())


def test_once_the_server_is_sound_only_what_failed_is_asked_again(
    rough: Rough, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with loopback(always(Reply(text="D")), KEY) as server:
        address(monkeypatch, server)
        folder = shutil.copytree(rough.result.out, tmp_path / "again")
        again = run("csebench", NAME, "zero_shot", items=BANK, out=folder, repeats=REPEATS, settings=QUICK)
        assert server.tries == {(ASKED, item): REPEATS for item in FAILED}
    frame = again.records.frame
    assert not frame.duplicated(["item_id", "epoch"]).any()
    assert len(frame) == len(ALL) * REPEATS
    assert set(frame.loc[frame["item_id"].isin(ids(FAILED)), "parsed"]) == {"D"}
    told = ["item_id", "epoch", "raw_output", "reason", "score", "output_tokens", "latency_s"]
    kept = [each.loc[~each["item_id"].isin(ids(FAILED)), told].reset_index(drop=True) for each in (frame, rough.frame)]
    assert kept[0].equals(kept[1])


def test_replies_that_come_too_late_are_asked_for_again_and_then_given_up(
    rough: Rough, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the rough run, so that all that a call needs is loaded and the client's patience goes into waiting alone."""
    settings = {**QUICK, "model_args": {"max_retries": 1, "client_timeout": 2}}
    with loopback(by_item({"1": at_first(trouble.slow(9.0)), "2": always(trouble.slow(9.0))}, always(Reply())), KEY) as server:
        address(monkeypatch, server)
        result = run("csebench", NAME, "zero_shot", items=small_bank(2), out=tmp_path, repeats=1, settings=settings)
        assert server.tries == {(ASKED, "1"): 2, (ASKED, "2"): 2}
    rows = result.records.frame.set_index("item_id")
    assert rows["reason"].to_dict() == {"q1": "answered", "q2": "api_error"}
    assert "timed out" in rows.loc["q2", "error"]


def test_inspect_tries_again_after_its_own_waits_as_often_as_set(
    rough: Rough, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One item times out at first, one fails at first, one for good: two attempts each, of one request, and no third."""
    rules = {"1": first_call(trouble.slow(9.0)), "2": first_call(trouble.broken()), "3": always(trouble.too_many())}
    settings = {"max_retries": 1, "attempt_timeout": 2, "model_args": {"max_retries": 0}}
    with loopback(by_item(rules, always(Reply())), KEY) as server:
        address(monkeypatch, server)
        result = run("csebench", NAME, "zero_shot", items=small_bank(4), out=tmp_path, repeats=1, settings=settings)
        assert server.tries == {(ASKED, "1"): 2, (ASKED, "2"): 2, (ASKED, "3"): 2, (ASKED, "4"): 1}
    assert result.records.frame["reason"].tolist() == ["answered", "answered", "api_error", "answered"]


def test_items_that_are_tried_again_as_a_whole_are_recorded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a JSON is no error that a client tries again; ``retry_on_error`` is for that."""
    with loopback(by_item({"1": first_call(trouble.half_json())}, always(Reply())), KEY) as server:
        address(monkeypatch, server)
        settings = {**QUICK, "retry_on_error": 1}
        result = run("csebench", NAME, "zero_shot", items=small_bank(2), out=tmp_path, repeats=1, settings=settings)
        assert server.tries == {(ASKED, "1"): 2, (ASKED, "2"): 1}
    frame = result.records.frame
    assert frame[["item_id", "epoch", "reason"]].to_numpy().tolist() == [["q1", 1, "answered"], ["q2", 1, "answered"]]
    assert frame["error"].isna().all()


def test_a_wrong_key_is_a_reason_for_each_call_and_in_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with loopback(always(Reply()), KEY) as server:
        address(monkeypatch, server)
        wrong = "sk-loopback-not-the-one-expected"
        monkeypatch.setenv("LOOPBACK_API_KEY", wrong)
        result = run("csebench", NAME, "zero_shot", items=small_bank(2), out=tmp_path, repeats=1, settings=QUICK)
        assert len(server.requests) == 2
    assert result.records.frame["error"].str.contains("401").all()
    assert result.matrix().to_frame().isna().all(axis=None)
    assert [path for path, content in every_byte(tmp_path) if wrong.encode() in content] == []


def test_two_models_and_conditions_at_once_each_call_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenAI's own provider and a compatible service, at one address, with no more calls of a model at once than allowed."""
    models, connections = ["openai/gpt-4o", NAME], 3
    with loopback(always(Reply(wait=0.02)), KEY) as server:
        address(monkeypatch, server)
        address(monkeypatch, server, "OPENAI")
        settings = {"max_connections": connections, "seed": 7}
        result = run("csebench", models, items=small_bank(3), out=tmp_path, settings=settings)
        assert server.tries == {(model, str(item)): 2 * 3 for model in ("gpt-4o", ASKED) for item in (1, 2, 3)}
        assert server.most_at_once <= connections * len(models)
        assert {one.body["seed"] for one in server.requests} == {7}
    frame = result.records.frame
    assert len(frame) == 2 * 2 * 3 * 3
    assert not frame.duplicated(["model", "condition", "item_id", "epoch"]).any()
    assert set(frame["provider"]) == {"openai", "openai-api"}
    assert set(frame["reason"]) == {"answered"}
