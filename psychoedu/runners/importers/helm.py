"""Run folders of HELM: ``per_instance_stats.json``, ``display_predictions.json`` and ``run_spec.json``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from psychoedu.exceptions import ResultsFormatError
from psychoedu.response_codes import ANSWERED, Reason
from psychoedu.runners.importers import content
from psychoedu.runners.importers.content import Options, Reading, frame_of, label_of, number_of, take, told
from psychoedu.validation import counted, listed

STATS, PREDICTIONS, SPEC = "per_instance_stats.json", "display_predictions.json", "run_spec.json"
_USUAL = ("exact_match", "quasi_exact_match")
_MEASURED = {"input_tokens": "num_prompt_tokens", "output_tokens": "num_output_tokens", "latency_s": "inference_runtime"}

Key = tuple[str, int]
"""An instance and its trial, from 0."""


def is_run(folder: Path) -> bool:
    """Return whether a folder is one of a HELM run."""
    return (folder / STATS).is_file() or (folder / PREDICTIONS).is_file()


def read(folder: Path, options: Options) -> Reading:
    """Read one run folder, or the folder of one of its files.

    Raises
    ------
    ResultsFormatError
        A file is not as HELM writes it, or the score asked for is not there.
    """
    folder = folder if folder.is_dir() else folder.parent
    notes: list[str] = []
    perturbed: set[Key | str] = set()
    stats = _stats(folder / STATS, options, perturbed) if (folder / STATS).is_file() else {}
    shown = _predictions(folder / PREDICTIONS, options, perturbed) if (folder / PREDICTIONS).is_file() else {}
    if not stats and not shown:
        raise ResultsFormatError(f"{folder} holds no unperturbed instances. Expected {STATS} or {PREDICTIONS} with at least one.")
    if perturbed:
        notes.append(f"{folder.name}: perturbed instances were left out.")
    if stats and shown and set(stats) != set(shown):
        notes.append(
            f"{folder.name}: {counted(len(set(stats) ^ set(shown)), 'instance')} in only one of {STATS} and {PREDICTIONS}."
        )
    name = _stat_name(
        folder, [*(values for values, _ in stats.values()), *(values for values, _ in shown.values())], options, notes
    )
    common = _spec(folder, options, notes)
    rows = []
    for key in dict.fromkeys([*stats, *shown]):
        values, subset = stats.get(key, ({}, None))
        other, reply = shown.get(key, ({}, {}))
        score = values.get(name, other.get(name))
        if name in values and name in other and not math.isclose(values[name], other[name], abs_tol=1e-9):
            raise ResultsFormatError(
                f"{folder}: {name} of the instance {key[0]!r} is {values[name]:g} in {STATS}, {other[name]:g} in {PREDICTIONS}.\n"
                "Expected both files of one run."
            )
        nothing = score == 0.0 and reply.get("raw_output") is not None and not reply["raw_output"].strip()
        rows.append(
            {
                **common,
                "item_id": key[0],
                "epoch": key[1] + 1,
                "subset": subset,
                "score": score,
                "reason": Reason.NOT_ADMINISTERED.label if score is None else Reason.EMPTY.label if nothing else ANSWERED,
                **reply,
                **{ours: values[theirs] for ours, theirs in _MEASURED.items() if theirs in values},
            }
        )
    trials = {key[1] for key in (*stats, *shown)}
    if len(trials) > 1:
        notes.append(
            f"{folder.name}: {len(trials)} trials became runs (epochs) of each item; rewards and repeats='mean' average them."
        )
    return Reading(frame_of(rows), str(folder), notes)


def _instances(path: Path, options: Options) -> list[tuple[str, dict[str, Any]]]:
    listed_instances = content.take_as(content.read_json(path, options.max_bytes), "a list", str(path))
    return [
        (f"{path} entry {number}", content.take_as(entry, "an object", f"{path} entry {number}"))
        for number, entry in enumerate(listed_instances, start=1)
    ]


def _key(entry: dict[str, Any], where: str) -> Key:
    name = entry.get("instance_id")
    return label_of(name, where, "the field 'instance_id'"), take(entry, "train_trial_index", "a whole number", where, 0)


def _once(known: dict[Key, Any], key: Key, where: str) -> None:
    if key in known:
        raise ResultsFormatError(f"{where}: the instance {key[0]!r}, trial {key[1]}, stands there twice. Expected each once.")


def _stats(path: Path, options: Options, perturbed: set[Key | str]) -> dict[Key, tuple[dict[str, float], str | None]]:
    found: dict[Key, tuple[dict[str, float], str | None]] = {}
    for where, entry in _instances(path, options):
        key = _key(entry, where)
        if entry.get("perturbation") is not None:
            perturbed.add(key)
            continue
        _once(found, key, where)
        values: dict[str, float] = {}
        splits: list[str] = []
        for stat in take(entry, "stats", "a list", where):
            place = f"{where}, a stat"
            about = take(content.take_as(stat, "an object", place), "name", "an object", place)
            if about.get("perturbation") is not None:
                perturbed.add(str(key))
                continue
            name = take(about, "name", "text", place)
            mean = stat.get("mean")
            if mean is None and stat.get("count"):
                total = _finite(take(stat, "sum", "a number", place), f"{place}: the sum")
                mean = total / _finite(take(stat, "count", "a number", place), f"{place}: the count")
            if mean is not None:
                values[name] = _finite(mean, f"{where}: the stat {name!r}")
            if isinstance(about.get("split"), str):
                splits.append(about["split"])
        found[key] = (values, splits[0] if splits else None)
    return found


def _finite(value: Any, where: str) -> float:
    number = number_of(value)
    if number is None:
        raise ResultsFormatError(f"{where} is {told(value)}; expected a number.")
    return number


def _predictions(path: Path, options: Options, perturbed: set[Key | str]) -> dict[Key, tuple[dict[str, float], dict[str, Any]]]:
    found: dict[Key, tuple[dict[str, float], dict[str, Any]]] = {}
    for where, entry in _instances(path, options):
        key = _key(entry, where)
        if entry.get("perturbation") is not None:
            perturbed.add(key)
            continue
        _once(found, key, where)
        values = {
            name: _finite(value, f"{where}: the stat {name!r}")
            for name, value in take(entry, "stats", "an object", where, {}).items()
        }
        raw = take(entry, "predicted_text", "text", where, None)
        mapped = entry.get("mapped_output")
        cut = entry.get("truncated_predicted_text")
        answer = next((text for text in (mapped, cut, raw) if isinstance(text, str)), None)
        found[key] = (values, {"raw_output": raw, "parsed": None if answer is None else answer.strip()})
    return found


def _stat_name(folder: Path, values: list[dict[str, float]], options: Options, notes: list[str]) -> str:
    names = list(dict.fromkeys(name for known in values for name in known))
    wanted = [name for name in (options.score or _USUAL) if name in names]
    if not wanted:
        asked = listed(options.score or _USUAL)
        raise ResultsFormatError(f"{folder} has no stat {asked}; it has {listed(names)}. Choose with score=.")
    if not options.score and len([name for name in _USUAL if name in names]) > 1:
        notes.append(f"{folder.name}: the score is {wanted[0]!r} ({wanted[1]!r} is there too; choose with score=).")
    return wanted[0]


def _spec(folder: Path, options: Options, notes: list[str]) -> dict[str, Any]:
    """Return what the run's specification says, or its folder's name where there is none."""
    path = folder / SPEC
    spec = content.take_as(content.read_json(path, options.max_bytes), "an object", str(path)) if path.is_file() else {}
    adapter = take(spec, "adapter_spec", "an object", str(path), {})
    title = take(spec, "name", "text", str(path), folder.name)
    parts = [part for part in title.replace(":", ",", 1).split(",") if part]
    of_name = next((part.removeprefix("model=") for part in parts if part.startswith("model=")), None)
    model = options.model or take(adapter, "model", "text", str(path), None)
    if model is None:
        if of_name is None:
            raise ResultsFormatError(f"{folder}: neither {SPEC} nor the folder's name says which model it was. Pass model=.")
        model = of_name
        notes.append(f"{folder.name}: the model is that of the folder's name, {model!r}.")
    others = [part for part in parts[1:] if not part.startswith("model=")]
    shots = adapter.get("max_train_instances")
    deployment = adapter.get("model_deployment")
    condition = "" if not isinstance(shots, int) else ("zero_shot" if shots == 0 else f"{shots}_shot")
    if options.condition is not None:
        condition = str(adapter.get(options.condition, ""))
    return {
        "benchmark": parts[0] + (":" + ",".join(others) if others else ""),
        "model": label_of(model, str(path), "the model"),
        "provider": deployment.split("/")[0] if isinstance(deployment, str) and "/" in deployment else None,
        "condition": condition,
        "temperature": adapter.get("temperature"),
        "max_tokens": adapter.get("max_tokens"),
        "max_score": options.max_score,
        "run_id": title,
        "log_uri": str(folder),
    }
