"""One E-step beside the two matrix products of the textbook's E-step, timed in turns.

The two products are (N, J) x (J, Q) for the log-likelihoods and (J, N) x (N, Q) for the expected counts, in float64, on data that
are float64 already, in the fastest of several block sizes, with nothing else: no exponentials, no sums, no conversion.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.designs import Data, simulate
from benchmarks.machine import describe
from benchmarks.measure import run_module
from benchmarks.tables import seconds, table, write_section

SIZES = ((2_074, 61), (20_000, 100), (100_000, 200))
N_POINTS = 61
BLOCKS = (1_024, 4_096, 16_384)
REPEATS = 7


def two_products(data: Data, block: int) -> Callable[[], Any]:
    """Return a function that does the two products of one E-step and nothing else."""
    rng = np.random.default_rng(1)
    n_respondents, n_items = data.responses.shape
    values = data.responses.astype(np.float64)
    slopes = rng.standard_normal((n_items, N_POINTS))
    scratch = np.empty((block, N_POINTS))

    def once() -> NDArray[np.float64]:
        counts = np.zeros((n_items, N_POINTS))
        for first in range(0, n_respondents, block):
            rows = values[first : first + block]
            counts += rows.T @ np.matmul(rows, slopes, out=scratch[: len(rows)])
        return counts

    return once


def our_e_step(data: Data) -> Callable[[], Any]:
    """Return a function that runs one E-step of the package's kernel on prepared data: log-likelihood and expected counts."""
    from psychoedu.irt.blocks import arrange
    from psychoedu.irt.likelihood import ItemCurves, expectation
    from psychoedu.irt.quadrature import equally_spaced, normal_log_weights

    rng = np.random.default_rng(2)
    blocks = arrange(data.responses)
    nodes = equally_spaced(N_POINTS)
    log_weights = normal_log_weights(nodes)[None, :]
    discrimination = rng.lognormal(0.0, 0.3, data.responses.shape[1])
    intercept = rng.standard_normal(data.responses.shape[1])
    return lambda: expectation(blocks, ItemCurves.at(nodes, discrimination, intercept), log_weights)


def cpu_seconds(call: Callable[[], Any]) -> float:
    """Return the CPU seconds of one call, of as many calls as fill a tenth of a second."""
    start = time.process_time()
    count = 0
    while count == 0 or time.process_time() - start < 0.1:
        call()
        count += 1
    return (time.process_time() - start) / count


def measure(task: dict[str, Any]) -> dict[str, Any]:
    """Time the products and the E-step in turns within one process, after one call of each that is not counted."""
    data = simulate(task["n_respondents"], task["n_items"])
    products = {block: two_products(data, block) for block in BLOCKS}
    ours = our_e_step(data)
    calls = {**products, "ours": ours}
    for call in calls.values():
        call()
    times = {name: [] for name in calls}
    for _ in range(task["repeats"]):
        for name, call in calls.items():
            times[name].append(cpu_seconds(call))
    medians = {name: float(np.median(values)) for name, values in times.items()}
    return {"products": min(medians[block] for block in BLOCKS), "e_step": medians["ours"]}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``python -m benchmarks estep``."""
    parser.add_argument("--repeats", type=int, default=REPEATS)


def run(arguments: argparse.Namespace, command: str) -> None:
    """Measure each size in a process of its own, and print or write the table."""
    rows = []
    for n_respondents, n_items in SIZES:
        task = {"n_respondents": n_respondents, "n_items": n_items, "repeats": arguments.repeats}
        found = run_module("benchmarks.estep", task)
        ratio = found["e_step"] / found["products"]
        rows.append([f"{n_respondents:,} x {n_items}", seconds(found["products"]), seconds(found["e_step"]), f"{ratio:.2f}"])
        print(*rows[-1], flush=True)
    text = table(["data", "two products, CPU s", "E-step, CPU s", "ratio"], rows)
    if arguments.write:
        write_section("estep", f"`{command}` on {describe()}\n\n{text}")
    print(text)


if __name__ == "__main__":
    print(json.dumps(measure(json.loads(sys.argv[1]))))
