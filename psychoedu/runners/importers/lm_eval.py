"""Samples of lm-evaluation-harness, ``samples_<task>_<date>.jsonl``, with the ``results_<date>.json`` beside them."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from psychoedu.exceptions import ResultsFormatError
from psychoedu.response_codes import ANSWERED, Reason
from psychoedu.runners.importers import content
from psychoedu.runners.importers.content import Options, Reading, frame_of, label_of, metadata_of, number_of, take, told
from psychoedu.validation import counted, listed

_NAME = re.compile(r"samples_(?P<task>.+?)(?:_(?P<date>\d{4}-\d\d-\d\dT[\d:.\-]+))?\.jsonl?$")
_MOST_RESULTS_BYTES = 64 * 2**20
_INVALID = "[invalid]"
"""What the harness's regex filter writes where nothing matched."""

_HASH_LENGTH = 12


@dataclass
class _About:
    """What the results file says of the run."""

    model: str | None = None
    columns: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def read(path: Path, options: Options) -> Reading:
    """Read one file of samples.

    Raises
    ------
    ResultsFormatError
        A line is no sample, several metrics were computed and none was chosen, a score is not a number.
    """
    lines = list(content.json_lines(path, options.max_bytes))
    if not lines:
        raise ResultsFormatError(f"{path} is empty. Expected a line per document.")
    match = _NAME.search(path.name)
    task = match["task"] if match else path.stem
    about = _about(path, task, match["date"] if match else None, options)
    notes = list(about.notes)
    lines = _one_filter(path, lines, options, notes)
    metric = _metric(path, lines, options)
    rows = [_row(sample, f"{path} line {number}", task, metric, options) for number, sample in lines]
    _name_items(rows, path, notes)
    model = label_of(about.model, f"the results file of {path}", "the model")
    common = {"benchmark": task, "model": model, "log_uri": str(path), "max_score": options.max_score, **about.columns}
    return Reading(frame_of([{**common, **{k: v for k, v in row.items() if v is not None}} for row in rows]), str(path), notes)


def _one_filter(path: Path, lines: list[tuple[int, Any]], options: Options, notes: list[str]) -> list[tuple[int, Any]]:
    """Keep one line a document: each filter has its own."""
    names = list(dict.fromkeys(take(sample, "filter", "text", f"{path} line {number}", "none") for number, sample in lines))
    if options.filter is not None and options.filter not in names:
        raise ResultsFormatError(f"{path} has no filter {options.filter!r}; it has {listed(names)}. Choose with filter=.")
    chosen = options.filter or names[0]
    if len(names) > 1:
        others = [name for name in names if name != chosen]
        notes.append(f"{path.name}: read with the filter {chosen!r}; left out {listed(others)} (choose with filter=).")
    return [(number, sample) for number, sample in lines if (sample.get("filter") or "none") == chosen]


def _metric(path: Path, lines: list[tuple[int, Any]], options: Options) -> str:
    """Return the metric to read: the one that was asked for, or the only one."""
    number, first = lines[0]
    where = f"{path} line {number}"
    named = first.get("metrics")
    if named is None:  # older files do not list them: whatever is a number and no field of the format
        known = {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter"}
        names: list[str] = [name for name, value in first.items() if name not in known and isinstance(value, int | float)]
    else:
        names = [
            str(content.take_as(name, "text", f"{where}: a name in 'metrics'"))
            for name in content.take_as(named, "a list", where)
        ]
    for name in options.score:
        if name in names:
            return name
    if options.score:
        raise ResultsFormatError(f"{path} has no metric {listed(options.score)}; it has {listed(names)}. Choose with score=.")
    if len(names) != 1:
        mend = f"Expected one; choose with score=, as in score={names[0]!r}." if names else "Expected one, named in 'metrics'."
        raise ResultsFormatError(f"{path} has {counted(len(names), 'metric')}: {listed(names) or 'none'}.\n{mend}")
    return names[0]


def _row(sample: dict[str, Any], where: str, task: str, metric: str, options: Options) -> dict[str, Any]:
    doc_id = sample.get("doc_id")
    doc_id = label_of(doc_id, where, "the field 'doc_id'")
    doc = sample.get("doc")
    value = sample.get(metric)
    score = number_of(value)
    if score is None:
        raise ResultsFormatError(f"{where}: the metric {metric!r} is {told(value)}; expected a number.")
    target = sample.get("target")
    metadata = metadata_of(doc, options.metadata) if isinstance(doc, dict) and options.metadata is not None else {}
    row = {
        **metadata,
        "item_id": _item(sample, doc, where, options),
        "doc_id": doc_id,
        "doc_hash": label_of(digest, where, "the field 'doc_hash'") if (digest := _hash_of(sample, doc)) else None,
        "target": str(target) if isinstance(target, str | int | float) else None,
        "prompt_hash": take(sample, "prompt_hash", "text", where, None),
        "score": score,
        **_reply(sample, metric, score, where),
        **_decoding(sample.get("arguments")),
    }
    row["item_id"] = row["item_id"] or (f"{task}/{row['doc_hash'][:_HASH_LENGTH]}" if row["doc_hash"] else f"{task}/{doc_id}")
    return row


def _item(sample: dict[str, Any], doc: Any, where: str, options: Options) -> str | None:
    if options.item is None:
        return None
    for place in (doc, sample):
        value = place.get(options.item) if isinstance(place, dict) else None
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            return label_of(value, where, f"the field {options.item!r}")
    fields = listed(list(doc)) if isinstance(doc, dict) else "no fields"
    raise ResultsFormatError(f"{where}: no label in the field item={options.item!r}; the document has {fields}.")


def _hash_of(sample: dict[str, Any], doc: Any) -> str | None:
    """Return the document's hash; for files older than it, made as the harness makes it."""
    stored = sample.get("doc_hash")
    if isinstance(stored, str) and stored:
        return stored
    if not isinstance(doc, dict):
        return None
    text = json.dumps(doc, indent=2, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _name_items(rows: list[dict[str, Any]], path: Path, notes: list[str]) -> None:
    """Tell documents apart that have one hash, by their number."""
    seen: dict[str, int] = {}
    for row in rows:
        seen[row["item_id"]] = seen.get(row["item_id"], 0) + 1
    twice = {label for label, count in seen.items() if count > 1}
    if not twice:
        return
    for row in rows:
        if row["item_id"] in twice:
            row["item_id"] = f"{row['item_id']}#{row['doc_id']}"
    notes.append(
        f"{path.name}: {counted(len(twice), 'label')} shared by several documents got their doc_id: {listed(sorted(twice))}."
    )


def _reply(sample: dict[str, Any], metric: str, score: float, where: str) -> dict[str, Any]:
    """Return raw and parsed reply, and the reason, of one sample."""
    filtered = take(sample, "filtered_resps", "a list", where, [])
    raw = _first_text(sample.get("resps"))
    if filtered and all(isinstance(pair, list) and len(pair) == 2 for pair in filtered):
        return {"parsed": _likeliest(filtered, sample.get("arguments")) if metric == "acc" else None, "reason": ANSWERED}
    parsed = _first_text(filtered)
    if score == 0.0 and parsed is not None and parsed.strip() in ("", _INVALID):
        reason = Reason.EMPTY if raw is not None and not raw.strip() else Reason.UNPARSED
        return {"raw_output": raw, "parsed": None, "reason": reason.label}
    return {"raw_output": raw, "parsed": parsed, "reason": ANSWERED}


def _first_text(value: Any) -> str | None:
    while isinstance(value, list) and value:
        value = value[0]
    return value if isinstance(value, str) else None


def _likeliest(pairs: list[Any], arguments: Any) -> str | None:
    """Return the option with the highest log-likelihood, as it stood in the request."""
    try:
        values = [float(pair[0]) for pair in pairs]
    except (TypeError, ValueError):
        return None
    best = max(range(len(values)), key=values.__getitem__)
    requests = list(arguments.values()) if isinstance(arguments, dict) else arguments
    if not isinstance(requests, list) or len(requests) != len(values):
        return str(best)
    request = requests[best]
    option = (
        request.get("arg_1")
        if isinstance(request, dict)
        else (request[1] if isinstance(request, list) and len(request) > 1 else None)
    )
    return option.strip() if isinstance(option, str) and option.strip() else str(best)


def _decoding(arguments: Any) -> dict[str, Any]:
    """Return temperature, top-p and cap of a generated sample; ``arguments`` was a list of lists in older files."""
    first = (
        next(iter(arguments.values()), None)
        if isinstance(arguments, dict)
        else (arguments[0] if isinstance(arguments, list) and arguments else None)
    )
    settings = (
        first.get("arg_1") if isinstance(first, dict) else (first[1] if isinstance(first, list) and len(first) > 1 else None)
    )
    if not isinstance(settings, dict):
        return {}
    named = {"temperature": "temperature", "top_p": "top_p", "max_tokens": "max_gen_toks"}
    values = {ours: settings.get(theirs) for ours, theirs in named.items()}
    return {name: value for name, value in values.items() if isinstance(value, int | float) and not isinstance(value, bool)}


def _about(path: Path, task: str, date: str | None, options: Options) -> _About:
    """Look for the results file of these samples, else for any of the same folder, else take the folder's name."""
    known = [(name, results) for name in sorted(path.parent.glob("*results*.json")) if (results := _results(name)) is not None]
    exact = [pair for pair in known if task in pair[1].get("configs", {})] or [
        pair for pair in known if task in pair[1]["results"]
    ]
    dated = [pair for pair in exact if date is not None and date in pair[0].name]
    about = _About(options.model)
    if exact:
        results = (dated or exact)[-1][1]
        about.model = about.model or _model_of(results)
        about.columns = _settings(results, task, options)
    elif known and about.model is None:
        models = {_model_of(results) for _, results in known} - {None}
        if len(models) == 1:
            about.model = models.pop()
            about.notes.append(
                f"{path.name}: no results file of the task {task!r}; the model is that of {known[-1][0].name} beside it."
            )
    if about.model is None:
        folder = path.absolute().parent.name
        about.model = folder.replace("__", "/")
        about.notes.append(
            f"{path.name}: no results file names the model; the folder's name was taken, {about.model!r} (or pass model=)."
        )
    return about


def _results(path: Path) -> dict[str, Any] | None:
    """Read a results file, None where it is something else."""
    try:
        document = content.read_json(path, _MOST_RESULTS_BYTES)
    except ResultsFormatError:
        return None
    return document if isinstance(document, dict) and isinstance(document.get("results"), dict) else None


def _model_of(results: dict[str, Any]) -> str | None:
    config = results.get("config")
    config = config if isinstance(config, dict) else {}
    arguments = config.get("model_args")
    if isinstance(arguments, str):
        arguments = dict(part.split("=", 1) for part in arguments.split(",") if "=" in part)
    arguments = arguments if isinstance(arguments, dict) else {}
    for value in (results.get("model_name"), arguments.get("pretrained"), arguments.get("model"), config.get("model")):
        if isinstance(value, str) and value:
            return value
    return None


def _settings(results: dict[str, Any], task: str, options: Options) -> dict[str, Any]:
    """Return what the results file says of the condition."""
    config = results.get("config") if isinstance(results.get("config"), dict) else {}
    assert isinstance(config, dict)
    shots = results.get("n-shot")
    count = shots.get(task) if isinstance(shots, dict) else None
    columns: dict[str, Any] = {"provider": config.get("model") if isinstance(config.get("model"), str) else None}
    if options.condition is not None:
        of_task = results["configs"].get(task) if isinstance(results.get("configs"), dict) else None
        for place in (of_task, config, results):
            if isinstance(place, dict) and isinstance(place.get(options.condition), str | int | float):
                columns["condition"] = str(place[options.condition])
                break
    elif isinstance(count, int):
        columns["condition"] = "zero_shot" if count == 0 else f"{count}_shot"
    return {name: value for name, value in columns.items() if value is not None}
