"""Where the numbers of a run come from: models as reported, date, decoding, prompts, items, versions, settings; never a key."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import platform
import sys
import uuid
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychoedu._version import __version__
from psychoedu.exceptions import RunnerError
from psychoedu.runners.prompt_hash import prompt_hash
from psychoedu.runners.settings import Settings, plain, without_secrets

if TYPE_CHECKING:
    from psychoedu.runners.plan import Plan

FILE = "provenance.json"
PACKAGES = ("inspect_ai", "openai", "anthropic", "google-genai", "mistralai", "numpy", "pandas")
LISTED = 3


def now() -> str:
    """Return the time in UTC, to the second, as ISO 8601."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="seconds")


def versions() -> dict[str, str]:
    """Return the versions of psychoedu, Python, and of the packages that a run may use and that are installed."""
    found = {"psychoedu": __version__, "python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def hashes_of_prompts(plan: Plan) -> dict[str, Any]:
    """Return, by condition, the hash of the messages of every item, and one hash over all of them.

    Where another model writes part of the message (condition "knowledge"), these are of the message with ``{knowledge}`` in its
    place; the hash of the message as it was sent stands in each record.
    """
    found: dict[str, Any] = {}
    for condition in plan.conditions:
        asked = [item for item in plan.bank.items if plan.benchmark.calls(item, condition)]
        by_item = {item.item_id: prompt_hash(plan.benchmark.messages(item, condition, **plan.protocol)) for item in asked}
        text = "\n".join(f"{item}:{digest}" for item, digest in sorted(by_item.items()))
        found[condition] = {"all": hashlib.sha256(text.encode("utf-8")).hexdigest(), "by_item": by_item}
    return found


def first_provenance(plan: Plan, settings: Settings, run_id: str | None = None) -> dict[str, Any]:
    """Return what is known before the first call.

    Parameters
    ----------
    plan : Plan
    settings : Settings
    run_id : str, optional
        Of the run that goes on; a new one if None.
    """
    return {
        "kind": "run provenance",
        "format": 1,
        "run_id": run_id or uuid.uuid4().hex,
        "status": "running",
        "started": now(),
        "finished": None,
        "benchmark": plan.benchmark.name,
        "models": [{"model": name, "max_tokens": plan.max_tokens[name]} for name in plan.models],
        "conditions": list(plan.conditions),
        "repeats": plan.repeats,
        "limit": plan.limit,
        "decoding": {"temperature": plan.benchmark.temperature, "top_p": plan.benchmark.top_p},
        "protocol": plain(plan.protocol),
        "roles": dict(plan.roles),
        "items": {"name": plan.items, "source": str(plan.bank.source), "hash": plan.bank.hash, "n": len(plan.bank.items)},
        "prompts": hashes_of_prompts(plan),
        "settings": settings.to_dict(),
        "versions": versions(),
        "platform": f"{platform.system()} {platform.machine()}, Python {sys.implementation.name}",
    }


def read_provenance(out: Path) -> dict[str, Any] | None:
    """Return the provenance in a folder, or None where no run was started in it.

    Raises
    ------
    RunnerError
        The file cannot be read.
    """
    path = out / FILE
    if not path.is_file():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["kind"] != "run provenance":
            raise KeyError("kind")
    except (ValueError, KeyError, TypeError) as error:
        raise RunnerError(f"{path} is no provenance file of a run ({error!r}). Use another folder, or delete it.") from error
    return dict(found)


def write_provenance(out: Path, content: Mapping[str, Any]) -> Path:
    """Write the provenance, all keys taken out, in one step, so that a kill never leaves half a file."""
    path, draft = out / FILE, out / f"{FILE}.draft"
    text = json.dumps(without_secrets(plain(content)), indent=1, ensure_ascii=False)
    draft.write_text(f"{text}\n", encoding="utf-8")
    draft.replace(path)
    return path


def check_same_run(before: Mapping[str, Any], after: Mapping[str, Any], out: Path) -> None:
    """Refuse to go on with a run under other settings, naming what differs.

    Models and conditions may be added and a limit raised; nothing may be left out that the folder already holds.

    Parameters
    ----------
    before, after : mapping
        Provenance in the folder, and that of the run that is asked for.

    Raises
    ------
    RunnerError
    """
    differences = [
        f"{name}: {_short(old)} there, {_short(new)} now"
        for name, old, new in _compared(without_secrets(plain(before)), without_secrets(plain(after)))
        if old != new
    ]
    for name, there, here in (
        ("models", _models(before), _models(after)),
        ("conditions", before["conditions"], after["conditions"]),
    ):
        gone = [one for one in there if one not in here]
        if gone:
            differences.append(f"{name}: {', '.join(gone)} there, not now")
    if after["limit"] is not None and (before["limit"] is None or after["limit"] < before["limit"]):
        differences.append(f"limit: {before['limit'] or 'none'} there, {after['limit']} now")
    if differences:
        more = f"; and {len(differences) - LISTED} more" if len(differences) > LISTED else ""
        raise RunnerError(
            f"{out} holds a run with other settings: {'; '.join(differences[:LISTED])}{more}.\n"
            "Give the settings of that run to go on with it (models and conditions may be added), or another folder."
        )


def _models(provenance: Mapping[str, Any]) -> list[str]:
    return [member["model"] for member in provenance["models"]]


def _compared(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    pairs = [(name, before[name], after[name]) for name in ("benchmark", "repeats")]
    pairs += [(name, before["decoding"][name], after["decoding"][name]) for name in ("temperature", "top_p")]
    pairs.append(("items (hash)", before["items"]["hash"], after["items"]["hash"]))
    for part in ("protocol", "roles"):
        names = [name for name in before[part] if part == "protocol" or name in after[part]]
        pairs += [(name, before[part][name], after[part].get(name)) for name in names]
    pairs += [(name, before["settings"].get(name), after["settings"][name]) for name in ("seed", "model_args", "generate")]
    caps = {member["model"]: member["max_tokens"] for member in after["models"]}
    pairs += [
        (f"max_tokens of {member['model']}", member["max_tokens"], caps[member["model"]])
        for member in before["models"]
        if member["model"] in caps
    ]
    return pairs


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."
