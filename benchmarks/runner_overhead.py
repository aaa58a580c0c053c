"""A run of the runner beside a bare run of Inspect: the same items, runs and settings, with a model that answers at once.

Seconds of one and the same program differ by a quarter from one minute to the next on a shared machine, while what is compared
differs by a few percent. So both take turns in one process, neighbours in time make a pair, and the median pair decides.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.machine import describe
from benchmarks.measure import run_module
from benchmarks.tables import table, write_section

N_ITEMS, EPOCHS, PROCESSES, PAIRS, CONNECTIONS = 200, 3, 3, 4, 4
MOST = 1.1
"""What the runner may take, as a multiple of Inspect alone."""

PAGE_SECTION = "runner-overhead"
NAMES = {"bare": "Inspect alone", "ours": "psychoedu, from the plan to all files"}


def bank(n_items: int) -> Any:
    """Return a bank of plain items of the usual length."""
    from psychoedu.runners.banks.questions import Question, QuestionBank

    options = ("makes up", "sets up", "takes up", "puts up")
    stem = "We cannot trust him. He always ________ some excuses for doing something wrong."
    return QuestionBank(tuple(Question(f"q{k}", f"{stem} ({k})", options, "ABCD"[k % 4]) for k in range(n_items)), "made up")


def model() -> Any:
    """Return a model that says B at once."""
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def reply(*_: Any) -> Any:
        output = ModelOutput.from_content("mock", "B")
        output.usage = ModelUsage(input_tokens=60, output_tokens=1, total_tokens=61)
        return output

    return get_model("mockllm/model", custom_outputs=reply, memoize=False)


def bare(items: Any, folder: Path) -> int:
    """Ask as a plain Inspect task does: a prompt, a generation, a scorer of Inspect's own, the mean of the runs."""
    from inspect_ai import Task, eval_set
    from inspect_ai.dataset import Sample
    from inspect_ai.model import GenerateConfig
    from inspect_ai.scorer import match
    from inspect_ai.solver import generate

    from psychoedu.runners.csebench.prompts import prompt
    from psychoedu.runners.settings import Settings

    samples = [Sample(input=prompt(item.text), target=item.key, id=item.item_id) for item in items.items]
    config = GenerateConfig(temperature=0.0, top_p=1.0, max_tokens=8)
    task = Task(samples, solver=generate(), scorer=match(), epochs=EPOCHS, config=config, model=model())
    options = Settings(max_connections=CONNECTIONS).eval_set_options()
    _, headers = eval_set([task], log_dir=str(folder / "logs"), model=None, **options)
    return int(headers[0].results.completed_samples)


def ours(items: Any, folder: Path) -> int:
    """Ask through the runner, and write records, matrix, statistics and provenance."""
    from psychoedu.runners.run import run

    settings = {"max_connections": CONNECTIONS}
    result = run("csebench", model(), "zero_shot", items=items, repeats=EPOCHS, out=folder, settings=settings, progress=False)
    return len(result.collected)


def measure(task: dict[str, Any]) -> dict[str, Any]:
    """Ask in pairs, either program first in every other one, after a run of each that is not counted; return CPU seconds."""
    programs = {"bare": bare, "ours": ours}
    found: dict[str, list[float]] = {name: [] for name in programs}
    items, few = bank(task["n_items"]), bank(2)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for program, ask in programs.items():
            ask(few, folder / f"warm-{program}")
        for pair in range(task["pairs"]):
            for program in list(programs)[:: 1 if pair % 2 == 0 else -1]:
                gc.collect()
                before = time.process_time()
                count = programs[program](items, folder / f"{program}-{pair}")
                found[program].append(time.process_time() - before)
                if count != len(items.items) * EPOCHS:
                    raise RuntimeError(f"{program} has {count} answers; expected {len(items.items) * EPOCHS}")
    return found


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``python -m benchmarks runner-overhead``."""
    parser.add_argument("--processes", type=int, default=PROCESSES)
    parser.add_argument("--pairs", type=int, default=PAIRS, help="in each process")
    parser.add_argument("--items", type=int, default=N_ITEMS)


def run(arguments: argparse.Namespace, command: str) -> None:
    """Measure pairs in one process after the other, and print or write the table and what follows from it."""
    seconds: dict[str, list[float]] = {name: [] for name in NAMES}
    for _ in range(arguments.processes):
        found = run_module("benchmarks.runner_overhead", {"n_items": arguments.items, "pairs": arguments.pairs})
        print(found, flush=True)
        for name, own in seconds.items():
            own += found[name]
    ratios = sorted(ours / bare for bare, ours in zip(seconds["bare"], seconds["ours"], strict=True))
    rows = []
    for name, told in NAMES.items():
        median, calls = statistics.median(seconds[name]), arguments.items * EPOCHS
        low, high = min(seconds[name]), max(seconds[name])
        rows.append([told, f"{median:.2f}", f"{low:.2f} - {high:.2f}", f"{1_000 * median / calls:.1f}"])
    text = table(["program", "CPU s (median)", "least - most", "ms an item and run"], rows)
    text += f"\n\n{verdict(ratios)}"
    if arguments.write:
        write_section(PAGE_SECTION, f"`{command}` on {describe()}\n\n{text}")
    print(text)


def verdict(ratios: list[float]) -> str:
    """Say whether the runner keeps within its bound, by the median pair."""
    ratio = statistics.median(ratios)
    return (
        f"{len(ratios)} pairs: the runner takes {ratio:.3f} times what Inspect takes alone (median pair; from "
        f"{min(ratios):.3f} to {max(ratios):.3f}). At most {MOST:g} is wanted: {'kept' if ratio <= MOST else 'NOT kept'}."
    )


if __name__ == "__main__":
    print(json.dumps(measure(json.loads(sys.argv[1]))))
