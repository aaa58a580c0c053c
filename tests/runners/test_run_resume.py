"""A run that was killed or stopped goes on where it stopped: every item and run once, as good as nothing paid for twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("inspect_ai", reason="the extra [runners] is not installed")

from mock_models import INSPECT, item_of, mock_model, small_bank

from psychoedu.exceptions import RunnerError
from psychoedu.runners import run
from psychoedu.runners.inspect_set import locked
from psychoedu.runners.provenance import read_provenance

pytestmark = INSPECT
N_ITEMS, REPEATS, CONNECTIONS, BUFFER = 12, 3, 3, 4
CHILD = f"""
import sys, warnings
sys.path.insert(0, {str(Path(__file__).resolve().parents[1])!r})
import anyio
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from mock_models import item_of, small_bank
from psychoedu.runners import run
from psychoedu.exceptions import RunnerError

calls = open(sys.argv[2], "a", buffering=1)

async def reply(messages, tools, choice, config):
    calls.write(item_of(messages[-1].text) + "\\n")
    await anyio.sleep(float(sys.argv[3]))
    output = ModelOutput.from_content("mock", "B")
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output

model = get_model("mockllm/a", custom_outputs=reply)
options = {{"max_connections": {CONNECTIONS}, "log_buffer": {BUFFER}, "log_realtime": sys.argv[4] == "True"}}
try:
    run("csebench", model, "zero_shot", items=small_bank({N_ITEMS}), out=sys.argv[1], settings=options)
except RunnerError as error:
    print(error)
    sys.exit(3)
"""


def start(out: Path, calls: Path, seconds: float, realtime: bool) -> subprocess.Popen[str]:
    words = [sys.executable, "-P", "-c", CHILD, str(out), str(calls), str(seconds), str(realtime)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ})


def wait_for_calls(calls: Path, count: int) -> None:
    end = time.monotonic() + 60
    while not calls.is_file() or len(calls.read_text().splitlines()) < count:
        assert time.monotonic() < end, "the run did not start"
        time.sleep(0.02)


@pytest.mark.parametrize(("realtime", "unflushed"), [(False, BUFFER), (True, 0)])
def test_after_a_kill_each_item_and_run_is_there_once(tmp_path: Path, realtime: bool, unflushed: int) -> None:
    out, calls = tmp_path / "out", tmp_path / "calls"
    child = start(out, calls, 0.2, realtime)
    wait_for_calls(calls, 16)
    child.kill()
    child.communicate()
    before = len(calls.read_text().splitlines())
    assert read_provenance(out)["status"] == "running"  # type: ignore[index]  # a kill leaves no time to say more
    done = start(out, calls, 0.0, realtime)
    said = done.communicate(timeout=120)
    assert done.returncode == 0, said
    provenance = read_provenance(out)
    assert provenance is not None
    assert provenance["status"] == "complete"
    frame = run("csebench", mock_model(lambda *_: "C"), "zero_shot", items=small_bank(N_ITEMS), out=out).records.frame
    assert Counter(zip(frame["item_id"], frame["epoch"], strict=True)).most_common(1)[0][1] == 1
    assert len(frame) == N_ITEMS * REPEATS
    assert set(frame["parsed"]) == {"B"}  # nothing was asked of the model that says C
    repeated = len(calls.read_text().splitlines()) - N_ITEMS * REPEATS
    assert before < N_ITEMS * REPEATS
    assert 0 <= repeated <= CONNECTIONS + unflushed


def test_stopped_from_the_keyboard_it_says_how_to_go_on(tmp_path: Path) -> None:
    out, calls = tmp_path / "out", tmp_path / "calls"
    child = start(out, calls, 0.2, False)
    wait_for_calls(calls, 6)
    child.send_signal(signal.SIGINT)
    said, trouble = child.communicate(timeout=60)
    assert child.returncode == 3, (said, trouble)
    assert "goes on where it stopped" in said
    provenance = read_provenance(out)
    assert provenance is not None
    assert provenance["status"] == "stopped"


def test_a_stopped_run_gives_the_matrix_of_one_that_was_not(tmp_path: Path) -> None:
    """First some items of one model, then all items of two: as if it had been run at once."""

    def answer(text: str, call: int) -> str:
        return "ABCD"[len(item_of(text)) % 4]

    bank = small_bank(5)
    seen: list[str] = []
    run("csebench", mock_model(answer, seen=seen), "zero_shot", items=bank, out=tmp_path / "parts", limit=2)
    models = [mock_model(answer, seen=seen), mock_model(answer, "mockllm/b", seen=seen)]
    parts = run("csebench", models, items=bank, out=tmp_path / "parts")
    whole = run("csebench", models, items=bank, out=tmp_path / "whole")
    assert parts.matrix().to_frame().equals(whole.matrix().to_frame())
    assert len(seen) == 2 * 2 * 2 * 5 * 3  # both runs, each call once
    assert parts.provenance["run_id"] != whole.provenance["run_id"]


def test_other_settings_are_refused_and_nothing_changes(tmp_path: Path) -> None:
    bank, model = small_bank(2), mock_model(lambda *_: "A")
    run("csebench", model, items=bank, out=tmp_path, repeats=1)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(RunnerError, match=r"other settings: repeats: 1 there, 3 now; rule: .literal. there, .strict. now"):
        run("csebench", model, items=bank, out=tmp_path, rule="strict")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_folder_in_use_and_a_folder_of_something_else_are_refused(tmp_path: Path) -> None:
    bank, model = small_bank(2), mock_model(lambda *_: "A")
    with locked(tmp_path), pytest.raises(RunnerError, match="Another process runs in"):
        run("csebench", model, items=bank, out=tmp_path)
    other = tmp_path / "other"
    (other / "logs").mkdir(parents=True)
    (other / "logs" / "mine.eval").write_bytes(b"")
    with pytest.raises(RunnerError, match="something else"):
        run("csebench", model, items=bank, out=other)
