"""Command line: ``psychoedu run``, which administers a benchmark to models and goes straight on to levels and mastery."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychoedu.exceptions import DataError, FileFormatError, RunnerError
from psychoedu.responses import Reason
from psychoedu.validation import check_choice, counted, listed

if TYPE_CHECKING:
    from psychoedu.runners.run import RunResult

AS_OPTION = {
    "max_tokens": "--max-tokens N, or --max-tokens MODEL=N",
    "roles": "--role NAME=MODEL",
    "knowledge_model": "--knowledge-model MODEL",
    "repeats": "--repeats N",
    "limit": "--limit N",
}
"""Options that stand for arguments of functions which messages name."""

FURTHER = ("scores.csv", "levels.csv", "levels.md", "mastery.csv", "mastery.md")
"""What is written beside the run's own files where a bank, cut scores or a diagnosis are given."""
METHODS = ("eap", "map", "ml", "wle")
_SETTINGS = (
    "max_connections", "max_samples", "max_tasks", "max_retries", "timeout", "attempt_timeout", "retry_on_error", "log_format",
    "log_buffer", "base_url", "seed",
)  # fmt: skip


def add_run(commands: Any) -> argparse.ArgumentParser:
    """Add the command with its options."""
    command: argparse.ArgumentParser = commands.add_parser(
        "run",
        help="administer a benchmark to models and collect their answers",
        description='Administer a benchmark to language models through Inspect (pip install "psychoedu[runners]"). Keys stand in '
        "environment variables, such as OPENAI_API_KEY. The same command goes on with a run that was stopped.",
    )
    command.add_argument("benchmark", nargs="?", help="such as csebench; --list shows all")
    command.add_argument("--list", action="store_true", help="show benchmarks and their conditions")
    command.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="MODEL",
        help="such as openai/gpt-4o or simulated/theta=0.8; repeat for more",
    )
    command.add_argument(
        "--condition", action="append", default=[], metavar="NAME", help="repeat for more (default: the benchmark's)"
    )
    command.add_argument(
        "--items", default="sample", metavar="FILE", help="item bank: CSV, XLSX, JSONL or Parquet (default: sample)"
    )
    command.add_argument("--out", metavar="DIR", help="folder to write to")
    command.add_argument(
        "--dry-run", action="store_true", help="print the number of calls and one prompt a condition; call nothing"
    )
    command.add_argument("--limit", type=int, metavar="N", help="the first N items alone")
    command.add_argument("--repeats", type=int, metavar="N", help="runs of each item (default: the protocol's)")
    command.add_argument(
        "--max-tokens",
        action="append",
        default=[],
        metavar="N|MODEL=N",
        help="cap on generated tokens; raise it for models that reason",
    )
    command.add_argument("--rule", help="how answers are read off replies, as literal, token or strict")
    command.add_argument("--knowledge-model", metavar="MODEL", help="who writes the snippets of the condition knowledge")
    command.add_argument("--knowledge-prompt", metavar="FILE", help="file with what it is asked; {input} stands for the item")
    command.add_argument("--role", action="append", default=[], metavar="NAME=MODEL", help="another model that a condition needs")
    command.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="another parameter of the benchmark (VALUE as JSON, or text)",
    )
    command.add_argument("--invalid", choices=["wrong", "missing"], default="wrong", help="replies without an answer count as")
    command.add_argument("--no-progress", action="store_true", help="show no bar")
    after = command.add_argument_group("straight on to levels and mastery")
    after.add_argument("--bank", metavar="FILE", help="calibration or bank (JSON): abilities")
    after.add_argument("--cuts", metavar="FILE", help="cut scores (JSON): levels, Table 1")
    after.add_argument("--diagnosis", metavar="FILE", help="diagnosis (JSON): ability and mastery, Table 3")
    after.add_argument("--method", default="eap", help="of the ability: eap (default), map, ml or wle")
    how = command.add_argument_group("how it is carried out (see docs/runners.md)")
    how.add_argument("--max-connections", type=int, metavar="N", help="calls to a provider at a time (default: 10)")
    how.add_argument(
        "--max-samples", type=int, metavar="N", help="samples in work at a time in each task (default: as connections)"
    )
    how.add_argument("--max-tasks", type=int, metavar="N", help="tasks (model under a condition) in work at a time")
    how.add_argument("--max-retries", type=int, metavar="N", help="attempts after a failed call (default: 6)")
    how.add_argument("--timeout", type=int, metavar="SECONDS", help="for a call with all its attempts")
    how.add_argument("--attempt-timeout", type=int, metavar="SECONDS", help="for one attempt")
    how.add_argument("--retry-on-error", type=int, metavar="N", help="try a failed sample again as a whole")
    how.add_argument("--log-format", choices=["eval", "json"], help="of Inspect's logs (default: eval)")
    how.add_argument(
        "--log-realtime", action="store_true", help="write every answer at once: a kill loses none, at about 6 ms each"
    )
    how.add_argument("--log-buffer", type=int, metavar="N", help="answers kept back before a log is written (default: 10)")
    how.add_argument("--base-url", metavar="URL", help="address of the provider's interface, without any key in it")
    how.add_argument("--model-arg", action="append", default=[], metavar="NAME=VALUE", help="argument of the model provider")
    how.add_argument("--generate", action="append", default=[], metavar="NAME=VALUE", help="as reasoning_effort=low")
    how.add_argument("--seed", type=int, metavar="N", help="asked of providers that have one")
    return command


def run_run(options: argparse.Namespace, say: Callable[[str], None]) -> None:
    """List benchmarks, or run one, print what came of it and go on to the tables that were asked for."""
    from psychoedu.runners.run import run, told

    if options.list:
        say(_listed())
        return
    if options.benchmark is None:
        raise DataError(
            "Name a benchmark, such as: psychoedu run csebench --model openai/gpt-4o --out DIR. See psychoedu run --list."
        )
    if not options.out and not options.dry_run:
        raise DataError("Name a folder to write to: --out DIR (or look first what would be sent: --dry-run).")
    stored = _stored(options)
    check_choice(options.method, METHODS, "--method")
    result = run(
        options.benchmark,
        options.model,
        options.condition or None,
        items=options.items,
        out=options.out or ".",
        repeats=options.repeats,
        limit=options.limit,
        max_tokens=_caps(options.max_tokens),
        roles=dict(_pair(text, "--role") for text in options.role),
        settings=_settings(options),
        progress=not options.no_progress,
        dry_run=options.dry_run,
        invalid=options.invalid,
        announce=lambda text: say(f"{text}\n"),
        **_protocol(options),
    )
    if options.dry_run:
        say(result.summary())
        return
    say(result.findings())
    say(f"\n{told(result)}")
    report = result.report()
    if report is not None:
        say(f"\n{report.summary()}")
        say(f"wrote {', '.join(path.name for path in report.save(result.out))}")
    for name in FURTHER:  # of an earlier command, perhaps with other files or under another policy
        (result.out / name).unlink(missing_ok=True)
    if stored:
        _tables(result, options, stored, say)
    if (result.collected.frame["reason"] == Reason.API_ERROR.label).all():
        raise RunnerError(
            f"All {counted(len(result.collected), 'call')} failed; the first said: {result.collected.frame['error'].iloc[0]}\n"
            "The same command asks them again."
        )


def _tables(result: RunResult, options: argparse.Namespace, stored: dict[str, Any], say: Callable[[str], None]) -> None:
    from psychoedu.runners.benchmarks import named_function

    analysis = result.plan.benchmark.analysis
    if analysis is None:
        raise DataError(f"{result.plan.benchmark.name} has no levels or mastery; leave --bank, --cuts and --diagnosis out.")
    found = named_function(analysis)(result.matrix(), method=options.method, **stored)
    say(f"\n{found.summary()}")
    if found.scores is not None:
        found.scores.to_frame().to_csv(result.out / "scores.csv")
        say(f"wrote {result.out / 'scores.csv'}: abilities")
    for name, table in (("levels", found.levels), ("mastery", found.mastery)):
        if table is not None:
            table.to_frame().to_csv(result.out / f"{name}.csv")
            (result.out / f"{name}.md").write_text(table.to_markdown(), encoding="utf-8")
            say(f"wrote {result.out / name}.csv, .md: {name}")


def _stored(options: argparse.Namespace) -> dict[str, Any]:
    """Read bank, cut scores and diagnosis before anything is paid for, and refuse what is none."""
    from psychoedu.cdm.results import Diagnosis
    from psychoedu.irt.bank import ItemBank
    from psychoedu.irt.results import Calibration
    from psychoedu.standard_setting.cut_scores import CutScores
    from psychoedu.stored import load

    if options.cuts and not options.bank:
        raise DataError("--cuts places models on the scale of a bank; give --bank FILE as well.")
    kinds: dict[str, tuple[Any, str]] = {
        "bank": ((Calibration, ItemBank), "calibration or bank"),
        "cuts": (CutScores, "cut scores"),
        "diagnosis": (Diagnosis, "diagnosis"),
    }
    found = {}
    for name, (classes, what) in kinds.items():
        path = getattr(options, name)
        if path:
            found[name] = load(path)
            if not isinstance(found[name], classes):
                raise FileFormatError(f"--{name} {path} holds no {what}, but a {type(found[name]).__name__}.")
    return found


def _listed() -> str:
    from psychoedu.runners.benchmarks import known_benchmarks

    lines = []
    for benchmark in known_benchmarks():
        lines.append(f"{benchmark.name}: {benchmark.title}")
        lines += [f"  {name}: {what}" for name, what in benchmark.conditions.items()]
    return "\n".join(lines)


def _caps(texts: list[str]) -> Any:
    """Return one cap, or those by model."""
    alone = [text for text in texts if "=" not in text]
    if len(alone) > 1:
        raise DataError(f"--max-tokens gives several caps for all models: {listed(alone)}. Expected one, others as MODEL=N.")
    caps: dict[str | None, int] = {None: _whole(alone[0], alone[0])} if alone else {}
    for text in texts:
        model, sign, value = text.rpartition("=")
        if sign:
            caps[model] = _whole(value, text)
    return caps or None


def _whole(value: str, text: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise DataError(f"--max-tokens {text} is neither a number nor MODEL=NUMBER, such as 4096 or openai/o3=4096.") from None


def _protocol(options: argparse.Namespace) -> dict[str, Any]:
    chosen = {"rule": options.rule, "knowledge_model": options.knowledge_model}
    found = {name: value for name, value in chosen.items() if value is not None}
    if options.knowledge_prompt:
        found["knowledge_prompt"] = Path(options.knowledge_prompt).read_text(encoding="utf-8")
    return found | _values(options.option, "--option")


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    found: dict[str, Any] = {name: getattr(options, name) for name in _SETTINGS if getattr(options, name) is not None}
    if options.log_realtime:
        found["log_realtime"] = True
    found["model_args"] = _values(options.model_arg, "--model-arg")
    found["generate"] = _values(options.generate, "--generate")
    return found


def _values(texts: list[str], option: str) -> dict[str, Any]:
    return {name: _value(value) for name, value in (_pair(text, option) for text in texts)}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _pair(text: str, option: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not (name and sign and value):
        raise DataError(f"{option} {text} is not NAME=VALUE.")
    return name, value
