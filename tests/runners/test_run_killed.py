"""The command ``psychoedu run``, killed and stopped in the middle over real HTTP: what the server was asked twice is counted."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("inspect_ai", reason="the extra [runners] is not installed")
pytest.importorskip("openai", reason="the client of OpenAI's protocol, of the extra [runners], is not installed")

from loopback_server import Loopback, Reply, always, loopback
from mock_models import small_bank

from psychoedu.runners import Records
from psychoedu.runners.provenance import read_provenance

KEY = "sk-loopback-0123456789abcdef"
N_ITEMS, REPEATS, CONNECTIONS, BUFFER = 12, 3, 3, 4
N_CALLS = N_ITEMS * REPEATS
SLOW, QUICK = Reply(wait=0.15), Reply(text="C")


def bank(folder: Path) -> Path:
    """Write the items as a file of a user's."""
    path = folder / "items.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["item_id", "stem", "A", "B", "C", "D", "key"])
        writer.writerows([item.item_id, item.stem, *item.options, item.key] for item in small_bank(N_ITEMS).items)
    return path


@contextmanager
def started(server: Loopback, folder: Path, *more: str) -> Iterator[subprocess.Popen[str]]:
    words = [
        sys.executable, "-m", "psychoedu.cli", "run", "csebench", "--model", "openai-api/loopback/model-a",
        "--items", str(bank(folder)), "--out", str(folder / "out"), "--max-connections", str(CONNECTIONS),
        "--log-buffer", str(BUFFER), "--no-progress", *more,
    ]  # fmt: skip
    own = {"LOOPBACK_API_KEY": KEY, "LOOPBACK_BASE_URL": server.url, "NO_PROXY": "127.0.0.1", "INSPECT_CACHE_DIR": str(folder)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, text=True, env={**os.environ, **own}, cwd=folder, **pipes) as child:
        try:
            yield child
        finally:
            child.kill()  # where the test has not ended it


def wait_for(server: Loopback, count: int, child: subprocess.Popen[str]) -> None:
    """Return when the server has seen so many requests; a child that ended before fails, with what it said."""
    try:
        server.wait_for(count, lambda: child.poll() is None)
    except AssertionError as error:
        child.kill()
        raise AssertionError(f"{error}; {child.communicate()}") from None


def finish(server: Loopback, folder: Path, *more: str) -> str:
    """Give the same command again, let it come to its end, and return what it says."""
    with started(server, folder, *more) as child:
        said, trouble = child.communicate(timeout=120)
    assert child.returncode == 0, (said, trouble)
    return said


def status(folder: Path) -> str:
    found = read_provenance(folder / "out")
    assert found is not None
    return str(found["status"])


def check_whole(folder: Path, conditions: int) -> int:
    """Check that every condition, item and run is there once, and return how many answers are those of the slow server."""
    frame = Records.read(folder / "out").frame
    cells = Counter(zip(frame["condition"], frame["item_id"], frame["epoch"], strict=True))
    assert set(cells.values()) == {1}
    assert len(cells) == conditions * N_CALLS
    assert set(frame["reason"]) == {"answered"}
    assert status(folder) == "complete"
    return int((frame["parsed"] == "B").sum())  # the quick one says C


@pytest.mark.parametrize(
    ("more", "kills", "unflushed"),
    [
        ((), 1, BUFFER),
        pytest.param((), 2, BUFFER, marks=pytest.mark.slow),
        pytest.param(("--log-realtime",), 1, 0, marks=pytest.mark.slow),
    ],
)
def test_a_killed_command_asks_again_what_was_in_flight_or_unflushed_and_no_more(
    tmp_path: Path, more: tuple[str, ...], kills: int, unflushed: int
) -> None:
    options = ("--condition", "zero_shot", *more)
    with loopback(always(SLOW), KEY) as server:
        for _ in range(kills):
            before = len(server.requests)
            with started(server, tmp_path, *options) as child:
                wait_for(server, before + 13, child)
                child.kill()
                child.communicate()
            server.wait_until_idle()
            assert status(tmp_path) == "running"  # a kill leaves no time to say more
        asked = len(server.requests)
        assert asked < N_CALLS
        server.rule = always(QUICK)
        finish(server, tmp_path, *options)
        repeated = len(server.requests) - N_CALLS
        assert 0 <= repeated <= kills * (CONNECTIONS + unflushed)
        assert check_whole(tmp_path, 1) == asked - repeated  # what was not asked again was kept


def test_stopped_from_the_keyboard_only_items_in_work_are_asked_again(tmp_path: Path) -> None:
    """Those are calls in flight, and replies that came in as it stopped and had not been scored: CONNECTIONS a condition."""
    with loopback(always(SLOW), KEY) as server:
        with started(server, tmp_path) as child:
            wait_for(server, 17, child)
            child.send_signal(signal.SIGINT)
            said, trouble = child.communicate(timeout=30)
        server.wait_until_idle()
        asked = len(server.requests)
        assert child.returncode == 2
        assert said.startswith("csebench: 1 model x 2 conditions x 12 items x 3 runs = 72 calls")
        assert "wrote" not in said
        assert trouble.startswith("error: Stopped. The same command goes on where it stopped")
        assert "Traceback" not in trouble
        assert status(tmp_path) == "stopped"
        server.rule = always(QUICK)
        assert f"wrote {tmp_path / 'out'}: {2 * N_CALLS} records" in finish(server, tmp_path)
        repeated = len(server.requests) - 2 * N_CALLS
        assert 0 <= repeated <= 2 * CONNECTIONS
        assert check_whole(tmp_path, 2) == asked - repeated
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    logs = json.loads((tmp_path / "out" / "provenance.json").read_text(encoding="utf-8"))["logs"]
    assert len(logs) == 2  # one a condition, whatever the stop left beside them
