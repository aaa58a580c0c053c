"""One sample of an Inspect log, as it stands in the summaries or in full, made a record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from psychoedu.exceptions import ResultsFormatError
from psychoedu.response_codes import ANSWERED, REASON_LABELS, Reason
from psychoedu.runners.importers.content import Options, label_of, metadata_of, take, told
from psychoedu.runners.importers.inspect_scores import Chosen, stated_reason, value_of
from psychoedu.runners.prompt_hash import prompt_hash
from psychoedu.runners.records_frame import INVALID, MISSING, RECORD_COLUMNS

UNGRADED = "not graded: there is an answer, and no score"
"""The error of a sample that was answered, and that no scorer gave a value."""

_ATTACHMENT = "attachment://"
_NUMBERS = {"temperature", "top_p", "max_score", "latency_s"}
_WHOLE = {"max_tokens", "seed", "input_tokens", "output_tokens", "reasoning_tokens"}
_OF_SAMPLES = ("benchmark", "subset", "condition", "prompt_hash")
_OF_SCORES = (
    *_OF_SAMPLES, "model_version", "temperature", "top_p", "max_score", "judge_model", "judge_fallback",
    "judge_explanation", "input_tokens", "output_tokens", "reasoning_tokens", "latency_s", "error",
)  # fmt: skip
"""What samples and scores may say of a record in their metadata, by the names of its columns."""

_REPLY_AS_EXPLANATION = frozenset("match includes pattern answer exact f1 choice".split())
"""Scorers of Inspect itself that give the reply as the explanation; the summaries shorten it."""


@dataclass(frozen=True)
class Run:
    """What holds for all samples of a log."""

    model: str
    log_uri: str
    arguments: dict[str, Any]
    columns: dict[str, Any]
    options: Options
    ours: bool

    @classmethod
    def of(cls, spec: dict[str, Any], header: dict[str, Any], where: str, options: Options) -> Run:
        """Read the header."""
        place = f"{where} eval"
        model = label_of(take(spec, "model", "text", place), place, "the model")
        task = take(spec, "task", "text", place)
        arguments = take(spec, "task_args", "an object", place, {}) or take(spec, "task_args_passed", "an object", place, {})
        metadata = take(spec, "metadata", "an object", place, {}) or take(header, "metadata", "an object", where, {})
        plan = take(take(header, "plan", "an object", where, {}), "config", "an object", f"{where} plan", {})
        config = {
            **take(spec, "model_generate_config", "an object", place, {}),
            **{k: v for k, v in plan.items() if v is not None},
        }
        known = {**arguments, **metadata}
        columns = {
            "run_id": take(spec, "run_id", "text", place, ""),
            "benchmark": _text(metadata.get("benchmark")) or task,
            "subset": _text(metadata.get("subset")),
            "condition": _condition(known, options),
            "model": options.model or model,
            "provider": model.split("/")[0] if "/" in model else None,
            "created": take(spec, "created", "text", place, None),
            "log_uri": where,
            **{name: config.get(name) for name in ("temperature", "top_p", "max_tokens", "seed")},
            "max_score": options.max_score,
        }
        registry = spec.get("task_registry_name")
        return cls(model, where, dict(known), columns, options, isinstance(registry, str) and registry.startswith("psychoedu/"))


def _condition(known: Mapping[str, Any], options: Options) -> str:
    value = known.get(options.condition or "condition")
    return "" if value is None else str(value)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def row_of(sample: dict[str, Any], run: Run, chosen: Chosen, where: str) -> dict[str, Any]:
    """Return a sample as a row of records."""
    item = label_of(sample.get("id"), where, "the id")
    where = f"{where} (id {item!r})"
    metadata = take(sample, "metadata", "an object", where, {})
    stated = _stated(metadata, _OF_SAMPLES)
    kept = metadata_of(metadata, run.options.metadata, taken=stated)
    target = sample.get("target")
    row: dict[str, Any] = {
        **run.columns,
        "item_id": item,
        "epoch": take(sample, "epoch", "a whole number", where, 1),
        "created": take(sample, "completed_at", "text", where, None) or run.columns["created"],
        "latency_s": take(sample, "working_time", "a number", where, None) or take(sample, "total_time", "a number", where, None),
        "_uuid": take(sample, "uuid", "text", where, None),
        **_usage(take(sample, "model_usage", "an object", where, {}), run.model, where),
        **stated,
        **_output(sample, where),
        "target": target if isinstance(target, str) else (" | ".join(map(str, target)) if isinstance(target, list) else None),
        **kept,
    }
    if run.options.condition and run.options.condition in metadata:
        row["condition"] = str(metadata[run.options.condition])
    scores = take(sample, "scores", "an object", where, {})
    error = _error(sample.get("error"))
    score = take(scores, chosen.scorer, "an object", where, None)
    if score is not None:
        full = {name: row[name] for name in ("raw_output", "prompt_hash") if row.get(name) is not None and "output" in sample}
        row |= {**_scored(score, chosen, run, where), **full}
    if error is not None:
        row |= {"error": error, "score": None, "reason": Reason.API_ERROR.label}
    elif row.get("score") is None and row.get("reason") not in (*MISSING, *INVALID):
        if row.get("parsed") or row.get("raw_output"):
            row |= {"score": None, "error": UNGRADED, "reason": Reason.API_ERROR.label}
            return row
        done = sample.get("completed", True)
        row |= {
            "score": None,
            "reason": (Reason.NOT_ADMINISTERED if done and not sample.get("limit") else Reason.NOT_REACHED).label,
        }
    return row


def _scored(score: dict[str, Any], chosen: Chosen, run: Run, where: str) -> dict[str, Any]:
    """Return score, answer and reason, with what our own scorers say beside them."""
    metadata = take(score, "metadata", "an object", where, {})
    answer = score.get("answer")
    if answer is not None and not isinstance(answer, str):
        raise ResultsFormatError(f"{where}: the answer is {told(answer)}; expected text.")
    explanation = take(score, "explanation", "text", where, None)
    found = _stated(metadata, _OF_SCORES)
    if run.ours:
        found |= {
            name: value
            for name, value in metadata.items()
            if isinstance(value, str | int | float | bool) and name not in RECORD_COLUMNS
        }
    raw = metadata.get("raw_output")
    raw = raw[0] if isinstance(raw, list) and len(raw) == 1 else raw
    if isinstance(raw, str):
        found["raw_output"] = raw
    elif explanation is not None and (chosen.scorer in _REPLY_AS_EXPLANATION or (run.ours and "judge_model" not in metadata)):
        found["raw_output"] = explanation
    elif explanation is not None:
        found.setdefault(
            "judge_explanation" if chosen.scorer.startswith("model_graded") or run.ours else "explanation", explanation
        )
    value = value_of(score, chosen, where)
    reason = metadata.get("reason")
    if not isinstance(reason, str) or reason not in REASON_LABELS:
        reason = stated_reason(score)
    blank = answer is not None and not answer.strip()
    if reason is None and value == 0.0 and (metadata.get("valid") is False or score.get("value") == "N" or blank):
        reason = Reason.UNPARSED.label
    if reason is not None and reason != ANSWERED and value:
        reason = None  # it was given credit all the same
    if reason in MISSING:
        value = None
    return {**found, "score": value, "parsed": answer or None, "reason": reason if value is None else reason or ANSWERED}


def _stated(metadata: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Return what metadata say of a record, where it is of the column's kind."""
    found: dict[str, Any] = {}
    for name in names:
        value = metadata.get(name)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        fits = (
            number if name in _NUMBERS
            else isinstance(value, int) and number if name in _WHOLE
            else isinstance(value, bool) if RECORD_COLUMNS[name] == "boolean"
            else isinstance(value, str)
        )  # fmt: skip
        if fits:
            found[name] = value
    return found


def _usage(usage: dict[str, Any], model: str, where: str) -> dict[str, Any]:
    """Return the tokens of the model under test; those of judges and helpers are not its own."""
    mine = usage.get(model)
    if mine is None and len(usage) == 1:
        mine = next(iter(usage.values()))
    if not isinstance(mine, dict):
        return {}
    place = f"{where} model_usage"
    parts = ("input_tokens", "input_tokens_cache_read", "input_tokens_cache_write")
    sent = [take(mine, name, "a whole number", place, None) for name in parts]
    return {
        "input_tokens": None if sent[0] is None else sum(part or 0 for part in sent),
        "output_tokens": take(mine, "output_tokens", "a whole number", place, None),
        "reasoning_tokens": take(mine, "reasoning_tokens", "a whole number", place, None),
    }


def _error(error: Any) -> str | None:
    if isinstance(error, dict):
        error = error.get("message") or "error without a message"
    return None if error is None or error == "" else str(error)


def _output(sample: dict[str, Any], where: str) -> dict[str, Any]:
    """Return reply, model version and prompt hash, which only full samples hold."""
    found: dict[str, Any] = {}
    output = take(sample, "output", "an object", where, None)
    if output is None:
        return found
    attachments = take(sample, "attachments", "an object", where, {})
    if output.get("choices"):
        found["raw_output"] = None if output.get("completion") is None else _text_of(output["completion"], attachments)
        found["model_version"] = _text(output.get("model"))
    messages = take(sample, "messages", "a list", where, [])
    sent = []
    for message in messages:
        if not isinstance(message, dict) or message.get("role") not in ("system", "user"):
            break
        sent.append((str(message["role"]), _text_of(message.get("content"), attachments)))
    if sent:
        found["prompt_hash"] = prompt_hash(sent)
    return found


def _text_of(content: Any, attachments: Mapping[str, Any]) -> str:
    """Return the text of a message whose content is text, a list of parts, or kept among the sample's attachments."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        return "\n".join(_text_of(part, attachments) for part in parts)
    if not isinstance(content, str):
        return ""
    kept = attachments.get(content.removeprefix(_ATTACHMENT)) if content.startswith(_ATTACHMENT) else None
    return kept if isinstance(kept, str) else content
