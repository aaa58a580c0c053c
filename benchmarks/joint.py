"""Level probabilities from every source of error: the joint draws beside scoring everyone anew in each draw."""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.designs import SEED
from benchmarks.machine import describe
from benchmarks.tables import seconds, table, write_section

SIZES = ((24, 61), (100, 61), (1_000, 61))
N_DRAWS, N_NAIVE_DRAWS, REPEATS = 1_000, 50, 5


def study(n_respondents: int, n_items: int) -> tuple[Any, Any, Any, Any]:
    """Return a calibration on 2,050 respondents, the responses of others, their scores, and a panel's cuts."""
    import psychoedu as pe

    rng = np.random.default_rng([SEED, n_respondents])
    discrimination, difficulty = rng.lognormal(0.0, 0.3, n_items), rng.standard_normal(n_items)

    def respond(count: int) -> pd.DataFrame:
        theta = rng.standard_normal(count)
        success = 1.0 / (1.0 + np.exp(-discrimination * (theta[:, None] - difficulty)))
        return pd.DataFrame((rng.random(success.shape) < success).astype(np.int8), columns=[f"i{j}" for j in range(n_items)])

    calibration, responses = pe.calibrate(respond(2_050)), respond(n_respondents)
    rows = [(f"P{p}", level, page + p) for p in range(8) for level, page in (("CSE-3", 8), ("CSE-4", 22), ("CSE-5", 38))]
    cuts = pe.bookmark(calibration, pd.DataFrame(rows, columns=["panellist", "level", "page"]))
    return calibration, responses, pe.score(calibration, responses), cuts


def naive(calibration: Any, responses: Any, cuts: Any) -> None:
    """Score everyone in banks drawn one after the other, and take normal level probabilities, without the panel's error."""
    import psychoedu as pe
    from psychoedu.standard_setting.locations import draw_parameters

    bank = calibration.bank
    rng = np.random.default_rng(1)
    slopes, intercepts = draw_parameters(bank.discrimination, bank.intercept, bank.covariance, N_NAIVE_DRAWS, rng)
    for a, d in zip(slopes, intercepts, strict=True):
        drawn = pe.ItemBank.from_arrays(bank.labels, a, d)
        pe.classify(pe.score(drawn, responses), dict(cuts.cut_scores))


def cpu_seconds(run: Callable[[], object]) -> float:
    """Return the CPU seconds of one run."""
    before = time.process_time()
    run()
    return time.process_time() - before


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``python -m benchmarks joint``."""
    parser.add_argument("--repeats", type=int, default=REPEATS)


def run(arguments: argparse.Namespace, command: str) -> None:
    """Time both in turns, and print or write the table into docs/benchmarks.md."""
    import psychoedu as pe

    rows = []
    for n_respondents, n_items in SIZES:
        calibration, responses, scores, cuts = study(n_respondents, n_items)
        ours, theirs = [], []
        for _ in range(arguments.repeats):
            options: dict[str, Any] = {"bank": calibration, "responses": responses, "n_draws": N_DRAWS, "rng": 1}
            ours.append(cpu_seconds(lambda scores=scores, cuts=cuts, options=options: pe.classify(scores, cuts, **options)))
            theirs.append(cpu_seconds(lambda parts=(calibration, responses, cuts): naive(*parts)) * N_DRAWS / N_NAIVE_DRAWS)
        mine, other = statistics.median(ours), statistics.median(theirs)
        rows.append([f"{n_respondents:,} x {n_items}", seconds(mine), seconds(other), f"{other / mine:.1f}"])
        print(*rows[-1], flush=True)
    header = ["respondents x items", "joint draws, CPU s", "scoring anew, CPU s", "ratio"]
    threads = os.environ.get("OPENBLAS_NUM_THREADS", "unset")
    text = f"`{command}`, OPENBLAS_NUM_THREADS={threads}, on {describe()}\n\n{table(header, rows)}"
    if arguments.write:
        write_section("joint", text)
    print(text)
