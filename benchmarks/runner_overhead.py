"""A run of the runner beside a bare run of Inspect: the same items, runs and settings, with a model that answers at once."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.machine import describe
from benchmarks.measure import Measured, run_module
from benchmarks.tables import table, write_section

N_ITEMS, EPOCHS, REPEATS, CONNECTIONS = 200, 3, 5, 4
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
    """Run once on two items, uncounted, then on all, and return CPU and wall seconds."""
    ask = {"bare": bare, "ours": ours}[task["engine"]]
    with tempfile.TemporaryDirectory() as folder:
        ask(bank(2), Path(folder) / "warm")
        cpu, wall = time.process_time(), time.perf_counter()
        count = ask(bank(task["n_items"]), Path(folder) / "run")
        return {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall, "count": count}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``python -m benchmarks runner-overhead``."""
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--items", type=int, default=N_ITEMS)


def run(arguments: argparse.Namespace, command: str) -> None:
    """Measure both in turns, each in a process of its own, and print or write the table."""
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in NAMES}
    for _ in range(arguments.repeats):
        for engine, found in runs.items():
            found.append(run_module("benchmarks.runner_overhead", {"engine": engine, "n_items": arguments.items}))
            print(engine, found[-1], flush=True)
    measured = {name: Measured(found) for name, found in runs.items()}
    calls = arguments.items * EPOCHS
    rows = []
    for name, told in NAMES.items():
        one = measured[name]
        low, high = one.cpu_range
        rows.append(
            [
                told,
                f"{one.cpu:.2f}",
                f"{low:.2f} - {high:.2f}",
                f"{1_000 * one.cpu / calls:.1f}",
                f"{one.cpu / measured['bare'].cpu:.3f}",
            ]
        )
    text = table(["program", "CPU s (median)", "least - most", "ms an item and run", "ratio to Inspect alone"], rows)
    if arguments.write:
        write_section(PAGE_SECTION, f"`{command}` on {describe()}\n\n{text}")
    print(text)


if __name__ == "__main__":
    print(json.dumps(measure(json.loads(sys.argv[1]))))
