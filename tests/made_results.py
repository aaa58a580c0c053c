"""Small files of results in the shapes that other tools write, of our own wording, for the tests of importers."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any


def header(**changes: Any) -> dict[str, Any]:
    """The header of an Inspect log."""
    spec = {
        "eval_id": "e1",
        "run_id": "r1",
        "task_id": "t1",
        "created": "2026-01-02T03:04:05+00:00",
        "task": "toy",
        "task_args": {},
        "dataset": {"sample_ids": ["q1", "q2"]},
        "model": "maker/model-a",
        "model_generate_config": {},
        "config": {"epochs": 1},
        **changes,
    }
    return {"version": 2, "status": "success", "eval": spec, "plan": {"config": {"temperature": 0.0}}}


def sample(item: str | int, value: Any = "C", epoch: int = 1, **changes: Any) -> dict[str, Any]:
    """One sample of an Inspect log, as in its summaries; ``answer`` and other fields as given."""
    score: dict[str, Any] = {"value": value}
    for name in ("answer", "explanation", "reason"):
        if name in changes:
            score[name] = changes.pop(name)
    if "score_metadata" in changes:
        score["metadata"] = changes.pop("score_metadata")
    return {"id": item, "epoch": epoch, "input": "?", "target": "A", "metadata": {}, "scores": {"grade": score}, **changes}


def eval_log(path: Path, samples: list[dict[str, Any]], head: dict[str, Any] | None = None, **entries: Any) -> Path:
    """Write an ``.eval`` log with deflated entries; entries given as text are written as they stand, None leaves one out."""
    contents: dict[str, Any] = {"header.json": header() if head is None else head, "summaries.json": samples, **entries}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in contents.items():
            if content is not None:
                file.writestr(name, content if isinstance(content, str | bytes) else json.dumps(content))
    return path


def json_log(path: Path, samples: list[dict[str, Any]], head: dict[str, Any] | None = None) -> Path:
    """Write a ``.json`` log."""
    path.write_text(json.dumps({**(header() if head is None else head), "samples": samples}, indent=1))
    return path


def harness_line(number: int, score: Any, **changes: Any) -> dict[str, Any]:
    """One line of lm-evaluation-harness."""
    line = {
        "doc_id": number,
        "doc": {"id": f"I{number}", "subskill": "syntax", "text": f"Sentence {number}"},
        "target": "A",
        "arguments": {"gen_args_0": {"arg_0": "prompt", "arg_1": {"temperature": 0.0, "max_gen_toks": 8}}},
        "resps": [["A."]],
        "filtered_resps": ["A"],
        "filter": "none",
        "metrics": ["exact_match"],
        "doc_hash": f"{number:064x}",
        "prompt_hash": "p" * 64,
        "exact_match": score,
    }
    return {name: value for name, value in {**line, **changes}.items() if value is not ...}


def lines(path: Path, rows: list[Any], end: str = "\n") -> Path:
    """Write a JSON value a line; text is written as it stands."""
    path.write_text(end.join(row if isinstance(row, str) else json.dumps(row) for row in rows) + end, newline="")
    return path


def harness_results(path: Path, task: str = "toy", **changes: Any) -> Path:
    """Write the results file of lm-evaluation-harness."""
    document = {
        "results": {task: {"exact_match,none": 0.5}},
        "configs": {task: {"task": task}},
        "n-shot": {task: 0},
        "config": {"model": "hf", "model_args": "pretrained=maker/model-a,dtype=float16"},
        "model_name": "maker/model-a",
        **changes,
    }
    path.write_text(json.dumps(document))
    return path


def helm_run(folder: Path, model: str, scores: dict[str, Any], **changes: Any) -> Path:
    """Write a run folder of HELM: one instance a score; ``stats``, ``predictions`` and ``spec`` replace the files."""
    folder.mkdir(parents=True)
    stats = [
        {
            "instance_id": name,
            "train_trial_index": 0,
            "stats": [
                {"name": {"name": "exact_match", "split": "test"}, "count": 1, "sum": score, "mean": score},
                {"name": {"name": "num_output_tokens", "split": "test"}, "count": 1, "sum": 3, "mean": 3},
            ],
        }
        for name, score in scores.items()
    ]
    predictions = [
        {"instance_id": name, "train_trial_index": 0, "predicted_text": " A", "stats": {"exact_match": score}}
        for name, score in scores.items()
    ]
    spec = {"name": f"toy:subject=x,model={model}", "adapter_spec": {"model": model, "max_train_instances": 0, "max_tokens": 5}}
    for name, content in (
        ("per_instance_stats.json", changes.get("stats", stats)),
        ("display_predictions.json", changes.get("predictions", predictions)),
        ("run_spec.json", changes.get("spec", spec)),
    ):
        if content is not None:
            (folder / name).write_text(json.dumps(content))
    return folder
