"""Cognitive diagnosis: ours on cse_like (and ECPE where its data are) beside R GDINA's stored times, and PyPI mirt.

R's figures were taken when the stored references were made, on a like machine, by its default criteria; ours are measured here.
The PyPI package mirt fits DINA and DINO with a saturated structure; it takes turns with ours on simulated complete data.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.cdm_recovery import SEED, q_matrix, true_cells
from benchmarks.designs import shared_reference
from benchmarks.machine import describe
from benchmarks.measure import run_module
from benchmarks.tables import seconds, table, write_section
from benchmarks.worker import peak_memory

MODELS = ("G-DINA", "DINA", "DINO", "ACDM", "RRUM")
GDINA_SECONDS = {
    "cse_like": (0.70, 0.56, 0.57, 1.27, 1.45),
    "ecpe": (1.76, 0.83, 0.99, 3.05, 2.73),
}
"""CPU seconds of R GDINA 2.11 at its default criterion 1e-4, 25 points, higher-order 2PL, one run each."""
REPEATS = 7


def data_of(name: str) -> tuple[Any, Any]:
    """Return responses and Q-matrix of a design."""
    import psychoedu as pe

    if name == "cse_like":
        return pe.datasets.load_cse_like(), pe.datasets.load_cse_like_q()
    folder = shared_reference()
    assert folder is not None
    responses = pd.read_csv(folder / f"cdm_{name}" / "responses.csv").select_dtypes("number")
    q = pd.read_csv(folder / f"cdm_{name}" / "q.csv").select_dtypes("number").to_numpy()
    return responses.iloc[:, -len(q) :].to_numpy(), q


def simulated(n_respondents: int = 20_000) -> tuple[np.ndarray, np.ndarray]:
    """Return complete DINA responses of 40 items and four attributes."""
    from psychoedu.cdm.profiles import all_profiles, reduced_index

    rng = np.random.default_rng(SEED)
    q, alpha = q_matrix(), all_profiles(4)
    success = np.array([own[reduced_index(row, alpha)] for own, row in zip(true_cells("DINA", q, rng), q, strict=True)])
    profile = rng.integers(0, 16, n_respondents)
    return (rng.random((n_respondents, len(q))) < success.T[profile]).astype(np.int8), q


def timed(call: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Return the median CPU seconds of a call, after one that is not counted."""
    found = call()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        found = call()
        times.append(time.process_time() - start)
    return statistics.median(times), found


def large(n_respondents: int, n_items: int, n_attributes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return responses and a Q-matrix of one to three attributes an item, from a higher-order structure with equal effects."""
    rng = np.random.default_rng(1)
    q = np.zeros((n_items, n_attributes), dtype=np.int8)
    for j in range(n_items):
        q[j, j % n_attributes] = 1
        if j >= 2 * n_attributes:
            q[j, rng.choice(n_attributes, size=rng.integers(0, 3), replace=False)] = 1
    eta = rng.standard_normal(n_respondents)[:, None] * 1.3 + np.linspace(-0.7, 0.7, n_attributes)
    mastered = (rng.random(eta.shape) < 1.0 / (1.0 + np.exp(-eta))).astype(np.int8)
    responses = np.empty((n_respondents, n_items), dtype=np.int8)
    for j, row in enumerate(q):
        responses[:, j] = rng.random(n_respondents) < 0.15 + 0.7 * mastered[:, row == 1].mean(axis=1)
    return responses, q


def measure_large(task: dict[str, Any]) -> dict[str, Any]:
    """Fit one large design once, and read the mastery table."""
    import psychoedu as pe

    responses, q = large(*task["size"])
    start = time.process_time()
    fit = pe.diagnose(responses, q, n_starts=1, standard_errors=task["standard_errors"])
    table_ = fit.mastery
    cpu = time.process_time() - start
    return {"cpu": cpu, "peak": peak_memory(), "steps": fit.data_summary["n_e_steps"], "rows": len(table_)}


def measure_fraction() -> dict[str, Any]:
    """Fit saturated G-DINA to the 15-item fraction data from 200 starts."""
    import psychoedu as pe

    responses, q = data_of("frac15")
    start = time.process_time()
    options = {"structure": "saturated", "n_starts": 200, "standard_errors": None}
    fit = quiet(lambda: pe.diagnose(responses, q, **options))
    starts = fit.starts
    return {
        "cpu": time.process_time() - start,
        "deviance": fit.minus_2ll,
        "reached": int(starts["reached_best"].sum()),
        "starts": len(starts),
    }


def measure(task: dict[str, Any]) -> dict[str, Any]:
    """Measure one design in this process."""
    import psychoedu as pe

    if task["data"] == "large":
        return measure_large(task)
    if task["data"] == "frac15":
        return measure_fraction()
    repeats = task["repeats"]
    if task["data"] == "simulated":
        import mirt

        responses, q = simulated()
        ours, theirs = [], []
        for _ in range(repeats):
            for model in ("DINA", "DINO"):
                options = {"model": model, "structure": "saturated", "n_starts": 1, "standard_errors": None}
                ours.append(timed(lambda options=options: pe.diagnose(responses, q, **options), 1))
                theirs.append(timed(lambda model=model: mirt.fit_cdm(responses.astype(int), q.astype(int), model), 1))
        return {
            model: [
                statistics.median(one[0] for one in ours[k::2]),
                statistics.median(one[0] for one in theirs[k::2]),
                ours[k][1].log_likelihood,
            ]
            for k, model in enumerate(("DINA", "DINO"))
        }
    responses, q = data_of(task["data"])
    out = {}
    for model in MODELS:
        for name, starts in (("one", 1), ("default", 3)):
            options = {"model": model, "n_points": 25, "n_starts": starts, "standard_errors": None}
            cpu, fit = timed(lambda options=options: quiet(lambda: pe.diagnose(responses, q, **options)), repeats)
            out[f"{model} {name}"] = [cpu, fit.minus_2ll, fit.data_summary["n_e_steps"]]
    return out


def quiet(call: Callable[[], Any]) -> Any:
    """Call with warnings silenced."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``python -m benchmarks diagnose``."""
    parser.add_argument("--repeats", type=int, default=REPEATS)


def run(arguments: argparse.Namespace, command: str) -> None:
    """Measure every design in a process of its own, and print or write the tables."""
    rows = []
    for name, theirs in GDINA_SECONDS.items():
        if name == "ecpe" and shared_reference() is None:
            continue
        found = run_module("benchmarks.diagnose", {"data": name, "repeats": arguments.repeats})
        for model, gdina in zip(MODELS, theirs, strict=True):
            (one, deviance, steps), (default, _, _) = found[f"{model} one"], found[f"{model} default"]
            rows.append(
                [
                    f"{name}, {model}", seconds(one), seconds(default), f"{steps}", f"{deviance:.4f}", f"{gdina:.2f}",
                    f"{gdina / one:.0f}", f"{gdina / default:.0f}",
                ]
            )  # fmt: skip
            print(*rows[-1], flush=True)
    header = [
        "higher-order, 25 points", "one start, CPU s", "default starts, CPU s", "E-steps", "-2LL", "R GDINA, CPU s (stored)",
        "ratio, one start", "ratio, default starts",
    ]  # fmt: skip
    parts = [f"`{command}` on {describe()}", table(header, rows)]
    found = run_module("benchmarks.diagnose", {"data": "simulated", "repeats": 3})
    beside = [
        [f"20,000 x 40, 4 attributes, {model}", seconds(ours), seconds(theirs), f"{theirs / ours:.1f}"]
        for model, (ours, theirs, _) in found.items()
    ]
    parts.append(table(["saturated structure, one start", "psychoedu, CPU s", "PyPI mirt 1.2.0, CPU s", "ratio"], beside))
    sizes = []
    for size in ((100_000, 60, 6), (5_000, 60, 12)):
        for errors in (None, "oakes"):
            one = run_module("benchmarks.diagnose", {"data": "large", "size": size, "standard_errors": errors})
            name = f"{size[0]:,} x {size[1]}, {size[2]} attributes, {'with' if errors else 'without'} standard errors"
            sizes.append([name, seconds(one["cpu"]), f"{one['peak']:.0f}", f"{one['steps']}"])
    parts.append(table(["G-DINA, higher-order, one start", "CPU s", "peak MB, whole process", "E-steps"], sizes))
    if shared_reference() is not None:
        one = run_module("benchmarks.diagnose", {"data": "frac15"})
        parts.append(
            f"Fraction data (536 x 15), saturated G-DINA, 200 starts and the nested one: deviance {one['deviance']:.4f}, "
            f"{one['reached']} of {one['starts']} starts within 0.05 of its log-likelihood, {seconds(one['cpu'])} CPU s."
        )
    if arguments.write:
        write_section("diagnose", "\n\n".join(parts))
    print("\n\n".join(parts))


if __name__ == "__main__":
    print(json.dumps(measure(json.loads(sys.argv[1]))))
