"""From the logs of a run to records: every call with its reply, its cost, the version reported, and why there is no answer."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from psychoedu.response_codes import Reason
from psychoedu.runners.importers import archive, content, inspect_log
from psychoedu.runners.records import Records, from_rows
from psychoedu.runners.settings import without_secrets
from psychoedu.validation import counted

CUT = "max_tokens"
MAX_BYTES = 8 * 2**30
"""Logs of a run are our own and may be large."""
UNSEEN = ("_uuid", "letters", "knowledge", "raw_length", "target")
"""Of a log's samples, what is no column of the records: it is said elsewhere, or as long as the item."""

_GIVEN_UP = re.compile(r"RetryError\(<Future at \w+ state=finished raised (\w+)>\)")
_WITH_REQUEST = re.compile(r"ModelGenerateError\((['\"])\\nRequest:\\n(?:.*\\n\\n)?(?P<said>.*)\1\)", re.DOTALL)
_OURS = re.compile(r"RunnerError\((['\"])(?P<said>.*)\1\)", re.DOTALL)
_NO_CHOICE = "IndexError('list index out of range')"
"""What Inspect's own solver says of a reply without any choice."""

SampleOf = Callable[[str, int], Mapping[str, Any]]


def read_logs(paths: Sequence[str | Path], root: Path, run_id: str, bank: Any = None) -> Records:
    """Read finished logs of one run as records.

    Parameters
    ----------
    paths : sequence of path
        One log for each model and condition, in the order of the records.
    root : Path
        Folder of the run; ``log_uri`` is relative to it.
    run_id : str
        Of the run.
    bank : optional
        The items, in whose order the records of a log stand.

    Returns
    -------
    Records
    """
    order = {} if bank is None else {item.item_id: place for place, item in enumerate(bank.items)}
    rows: list[dict[str, Any]] = []
    for path in paths:
        place = local_path(path)
        found = inspect_log.read(place, content.Options(max_bytes=MAX_BYTES)).frame.to_dict("records")
        with _samples(place) as sample_of:
            own = [_row({str(name): value for name, value in row.items()}, sample_of) for row in found]
        about = {"run_id": run_id, "log_uri": relative(place, root)}
        rows += sorted((row | about for row in own), key=lambda row: (order.get(row["item_id"], len(order)), row["epoch"]))
    return from_rows(rows, notes_on(rows), source="The run")


@contextmanager
def _samples(path: Path) -> Iterator[SampleOf]:
    """Yield what reads a whole sample by item and run; the log is opened once, and only if one is asked for."""
    with ExitStack() as stack:
        files: list[archive.Archive] = []

        def sample(item: str, epoch: int) -> Mapping[str, Any]:
            if path.suffix != ".eval":  # whose samples were whole already
                return {}
            if not files:
                files.append(stack.enter_context(archive.opened(path, MAX_BYTES)))
            found: dict[str, Any] = files[0].json(f"samples/{item}_epoch_{epoch}.json")
            return found

        yield sample


def _row(row: dict[str, Any], sample_of: SampleOf) -> dict[str, Any]:
    """Return a row of a log as one of this run: its reply whole, which the summary of a log cuts, and its error as text."""
    length = row.get("raw_length")
    if isinstance(length, int) and len(row.get("raw_output") or "") != length:
        row["raw_output"] = str(sample_of(row["item_id"], row["epoch"])["output"]["completion"])
    error = row.get("error")
    if isinstance(error, str):
        row["error"] = without_secrets(readable_error(error, lambda: sample_of(row["item_id"], row["epoch"])))
    return {name: value for name, value in row.items() if name not in UNSEEN}


def readable_error(error: str, sample: Callable[[], Mapping[str, Any]]) -> str:
    """Say in one text why a call failed, without the request, which holds the item.

    Parameters
    ----------
    error : str
        As the log has it.
    sample : callable
        Gives the whole sample, where the error only points at its cause.
    """
    given_up = _GIVEN_UP.fullmatch(error)
    if given_up is not None:
        kind = given_up[1]
        said = re.search(rf"^(?:\w+\.)*({kind}: .*\S)", (sample().get("error") or {}).get("traceback") or "", re.MULTILINE)
        return f"{kind if said is None else said[1]} (also when tried again)"
    refused = _WITH_REQUEST.fullmatch(error)
    if refused is not None:
        return refused["said"].replace("\\'", "'").replace('\\"', '"')
    ours = _OURS.fullmatch(error)
    if ours is not None:
        return ours["said"]
    if error == _NO_CHOICE and (sample().get("output") or {}).get("choices") == []:
        return "The reply held no choice."
    return error


def notes_on(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return what somebody who reads the numbers should know: failed calls, replies that were cut before they said anything."""
    failed: dict[str, int] = {}
    why: dict[str, str] = {}
    cut: dict[str, int] = {}
    for row in rows:
        if row["reason"] == Reason.API_ERROR.label:
            failed[row["model"]] = failed.get(row["model"], 0) + 1
            why.setdefault(row["model"], str(row.get("error")))
        elif row["reason"] in (Reason.EMPTY.label, Reason.UNPARSED.label) and row.get("stop_reason") == CUT:
            cut[row["model"]] = cut.get(row["model"], 0) + 1
    notes = [
        f"{model}: {counted(count, 'call')} failed, first with: {shortened(why[model])} They are missing, not wrong; "
        "the same command asks them again."
        for model, count in failed.items()
    ]
    notes += [
        f"{model}: {count:,} {'reply' if count == 1 else 'replies'} without an answer cut at the cap on generated tokens. "
        "If the model reasons first, raise max_tokens for it."
        for model, count in cut.items()
    ]
    return notes


def shortened(text: str, most: int = 120) -> str:
    """Return the beginning of a text in one line, with a full stop."""
    line = " ".join(text.split())
    return f"{line[: most - 3]}..." if len(line) > most else f"{line.rstrip('.')}."


def local_path(place: str | Path) -> Path:
    """Return the path that Inspect's address of a local log stands for."""
    text = str(place)
    return Path(url2pathname(unquote(urlsplit(text).path))) if text.startswith("file:") else Path(text)


def relative(path: Path, root: Path) -> str:
    """Return a path as seen from the folder of the run, with forward slashes."""
    resolved, base = path.resolve(), root.resolve()
    return resolved.relative_to(base).as_posix() if resolved.is_relative_to(base) else resolved.name


def answered_before(log_dir: Path) -> int:
    """Return how many samples the logs in a folder hold, each (task, item, epoch) counted once."""
    seen: set[tuple[str, str]] = set()
    for path in sorted(log_dir.glob("*.eval")):
        task = path.stem.removesuffix("-recovered").rpartition("_")[2]
        try:
            with zipfile.ZipFile(path) as archive:
                seen |= {(task, name) for name in archive.namelist() if name.startswith("samples/")}
        except (OSError, zipfile.BadZipFile):  # being written, or cut off by a kill
            continue
    return len(seen)
