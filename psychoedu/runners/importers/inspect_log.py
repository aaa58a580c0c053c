"""Logs of Inspect, ``.eval`` and ``.json``, read without inspect_ai: header and summaries, full samples where asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from psychoedu.exceptions import ResultsFormatError
from psychoedu.runners.importers import archive, content
from psychoedu.runners.importers.content import Options, Reading, frame_of, take
from psychoedu.runners.importers.inspect_samples import UNGRADED, Run, row_of
from psychoedu.runners.importers.inspect_scores import chosen_score
from psychoedu.validation import counted, listed

_START, _HEADER, _SUMMARIES = "_journal/start.json", "header.json", "summaries.json"
_JOURNAL, _SAMPLES = "_journal/summaries/", "samples/"


@dataclass
class _Log:
    """What stands in a log, whichever its format."""

    header: dict[str, Any]
    samples: list[tuple[str, dict[str, Any]]]
    notes: list[str] = field(default_factory=list)


def read(path: Path, options: Options) -> Reading:
    """Read one log.

    Raises
    ------
    ResultsFormatError
        The file is no such log, is damaged, or holds several scores and none was chosen.
    MissingDependencyError
        The entries are packed with zstd and nothing here unpacks it.
    """
    with path.open("rb") as file:
        is_archive = file.read(4) == b"PK\x03\x04"
    log = _read_archive(path, options) if is_archive else _read_json(path, options)
    where = str(path)
    spec = take(log.header, "eval", "an object", where)
    if not log.samples:
        raise ResultsFormatError(
            f"{path} holds no samples (status {log.header.get('status')!r}). Expected a log of at least one finished sample."
        )
    run = Run.of(spec, log.header, where, options)
    chosen = chosen_score([sample for _, sample in log.samples], options.score, where)
    rows = _in_order([row_of(sample, run, chosen, place) for place, sample in log.samples], spec)
    notes = [*log.notes, *_notes(log, run, rows, spec, options)]
    return Reading(
        frame_of(rows),
        where,
        notes,
        identity=take(spec, "eval_id", "text", f"{where} eval", None) or _joined_ids(spec),
        task_identity=take(spec, "task_id", "text", f"{where} eval", None),
        created=take(spec, "created", "text", f"{where} eval", ""),
        arguments=run.arguments,
    )


def _joined_ids(spec: dict[str, Any]) -> str | None:
    """Return what tells logs apart that are older than eval_id."""
    parts = [spec.get(name) for name in ("run_id", "task_id", "model")]
    return "/".join(map(str, parts)) if all(isinstance(part, str) for part in parts) else None


def _in_order(rows: list[dict[str, Any]], spec: dict[str, Any]) -> list[dict[str, Any]]:
    """Put samples into the order of the data set: a log has them as they were finished."""
    dataset = spec.get("dataset")
    listed_ids = dataset.get("sample_ids") if isinstance(dataset, dict) else None
    known = {str(name): place for place, name in enumerate(listed_ids)} if isinstance(listed_ids, list) else {}
    if not known:
        for row in rows:
            known.setdefault(row["item_id"], len(known))
    return sorted(rows, key=lambda row: (known.get(row["item_id"], len(known)), row["epoch"]))


def _notes(log: _Log, run: Run, rows: list[dict[str, Any]], spec: dict[str, Any], options: Options) -> Iterator[str]:
    name = Path(run.log_uri).name
    status = log.header.get("status")
    failed = sum(row["reason"] == "api_error" for row in rows)
    if status not in ("success", None):
        yield f"{name}: the run ended with status {status!r}; what it had finished was read."
    if failed:
        yield f"{name}: {counted(failed, 'sample')} of {len(rows):,} failed and count as missing (reason api_error)."
    ungraded = sum(row.get("error") == UNGRADED for row in rows)
    if ungraded:
        yield f"{name}: {counted(ungraded, 'sample')} of these answered, but not graded (the scorer gave no value)."
    absent = sum(row["reason"] in ("not_reached", "not_administered") for row in rows)
    if absent:
        yield f"{name}: {counted(absent, 'sample')} without a score and without an error count as missing."
    epochs = (spec.get("config") or {}).get("epochs") if isinstance(spec.get("config"), dict) else None
    dataset = spec.get("dataset") if isinstance(spec.get("dataset"), dict) else {}
    planned = dataset.get("sample_ids") if isinstance(dataset, dict) else None
    if isinstance(planned, list) and isinstance(epochs, int | None):
        expected = len(planned) * (epochs or 1)
        if len(rows) < expected:
            yield f"{name}: {len(rows):,} of {expected:,} samples are in the log; the others are no records."
    if log.header.get("invalidated"):
        yield f"{name}: whoever ran it marked the log as invalidated."


def _read_archive(path: Path, options: Options) -> _Log:
    with archive.opened(path, options.max_bytes) as file:
        notes: list[str] = []
        if _HEADER in file:
            header = content.take_as(file.json(_HEADER), "an object", f"{path} entry {_HEADER}")
        elif _START in file:
            header = content.take_as(file.json(_START), "an object", f"{path} entry {_START}")
            notes.append(f"{path.name}: the log was not finished (no {_HEADER}); the samples written until then were read.")
        else:
            raise ResultsFormatError(
                f"{path} is a zip archive, but no Inspect log: it has the entries {listed(file.names)}.\n"
                f"Expected {_HEADER} or {_START}."
            )
        if options.full:
            names = [name for name in file.names if name.startswith(_SAMPLES) and name.endswith(".json")]
            samples = [
                (f"{path} entry {name}", content.take_as(file.json(name), "an object", f"{path} entry {name}"))
                for name in sorted(names, key=_natural)
            ]
        elif _SUMMARIES in file:
            samples = _listed_samples(file.json(_SUMMARIES), f"{path} entry {_SUMMARIES}")
        else:
            samples = []
            journal = [name for name in file.names if name.startswith(_JOURNAL) and name.endswith(".json")]
            for name in sorted(journal, key=_natural):
                samples += _listed_samples(file.json(name), f"{path} entry {name}")
    return _Log(header, _last_of_each(samples, notes, path), notes)


def _natural(name: str) -> tuple[int, str]:
    number = Path(name).stem
    return (int(number), "") if number.isdecimal() and len(number) < 10 else (0, name)


def _read_json(path: Path, options: Options) -> _Log:
    document = content.take_as(content.read_json(path, options.max_bytes), "an object", str(path))
    if "eval" not in document:
        raise ResultsFormatError(f"{path} is no Inspect log: it has the keys {listed(list(document))}, and no 'eval'.")
    samples = _listed_samples(take(document, "samples", "a list", str(path), []), f"{path} samples")
    notes: list[str] = []
    return _Log(
        {name: value for name, value in document.items() if name != "samples"}, _last_of_each(samples, notes, path), notes
    )


def _listed_samples(value: Any, where: str) -> list[tuple[str, dict[str, Any]]]:
    samples = content.take_as(value, "a list", where)
    return [
        (f"{where}, sample {number}", content.take_as(sample, "an object", f"{where}, sample {number}"))
        for number, sample in enumerate(samples, start=1)
    ]


def _last_of_each(samples: list[tuple[str, dict[str, Any]]], notes: list[str], path: Path) -> list[tuple[str, dict[str, Any]]]:
    """Keep the last entry of a sample and epoch: a log that was continued holds them twice in its journal."""
    last: dict[Any, tuple[str, dict[str, Any]]] = {}
    ids: dict[str, Any] = {}
    for where, sample in samples:
        other = ids.setdefault(str(sample.get("id")), sample.get("id"))
        if type(other) is not type(sample.get("id")):
            raise ResultsFormatError(
                f"{where}: the ids {other!r} and {sample.get('id')!r} differ in kind alone. Expected samples that can be told "
                "apart by their labels."
            )
        key = (str(sample.get("id")), str(sample.get("epoch")))
        last.pop(key, None)
        last[key] = (where, sample)
    if len(last) < len(samples):
        notes.append(f"{path.name}: {counted(len(samples) - len(last), 'entry')} of samples written again later were left out.")
    return list(last.values())
