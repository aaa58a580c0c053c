"""Time and memory of contrasts beside vectorised scipy.stats.bootstrap and arch.bootstrap, programs taking turns."""

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

from benchmarks.designs import SEED
from benchmarks.machine import describe
from benchmarks.measure import run_module
from benchmarks.tables import seconds, table, write_section
from benchmarks.worker import peak_memory

N_TASKS, N_FOCAL, N_MODELS, N_RESAMPLES = 100, 18, 17, 10_000
LARGE = (5_000, 100, 100_000)
"""Tasks, models and resamples of the run whose memory is measured."""
REPEATS = 15


def rewards(n_tasks: int = N_TASKS, n_focal: int = N_FOCAL, n_models: int = N_MODELS) -> tuple[pd.DataFrame, np.ndarray]:
    """Return rewards as a long table and as a matrix, tasks x models, the focal tasks first."""
    rng = np.random.default_rng(SEED)
    values = np.clip(0.75 + 0.1 * rng.standard_normal((n_tasks, 1)) + 0.1 * rng.standard_normal((n_tasks, n_models)), 0.0, 1.0)
    values[:n_focal] -= 0.055
    frame = pd.DataFrame(
        {
            "task": np.repeat(np.arange(n_tasks), n_models),
            "profile": np.repeat(np.where(np.arange(n_tasks) < n_focal, "focal", "other"), n_models),
            "model": np.tile(np.arange(n_models), n_tasks),
            "reward": values.ravel(),
        }
    )
    return frame, values


def difference(focal: np.ndarray, rest: np.ndarray, axis: int = -1) -> np.ndarray:
    """Return the difference of two means along an axis."""
    return np.asarray(rest.mean(axis=axis) - focal.mean(axis=axis))


def by_scipy(samples: list[tuple[np.ndarray, np.ndarray]]) -> None:
    """Bootstrap each pair of samples by vectorised scipy."""
    from scipy import stats

    for pair in samples:
        stats.bootstrap(
            pair, difference, n_resamples=N_RESAMPLES, method="percentile", vectorized=True, rng=np.random.default_rng(1)
        )


def by_arch(values: np.ndarray) -> None:
    """Bootstrap all models at once by arch: two independent samples, rows drawn together."""
    from arch.bootstrap import IndependentSamplesBootstrap

    drawn = IndependentSamplesBootstrap(values[:N_FOCAL], values[N_FOCAL:], seed=np.random.default_rng(1))
    drawn.conf_int(lambda focal, rest: rest.mean(axis=0) - focal.mean(axis=0), reps=N_RESAMPLES, method="percentile")


def counts_and_product(values: np.ndarray) -> None:
    """Draw the counts of both sides, integers counted with bincount, and multiply them by the matrix: the least needed."""
    rng = np.random.default_rng(1)
    for own in (values[:N_FOCAL], values[N_FOCAL:]):
        n = len(own)
        places = rng.integers(0, n, (N_RESAMPLES, n)) + np.arange(N_RESAMPLES)[:, None] * n
        counts = np.bincount(places.ravel(), minlength=N_RESAMPLES * n).reshape(N_RESAMPLES, n)
        counts.astype(np.float64) @ own


def programs() -> dict[str, Callable[[], Any]]:
    """Return what is timed, by name."""
    import psychoedu as pe

    frame, values = rewards()
    pooled, each = values.mean(axis=1), list(values.T)
    pairs = [(one[:N_FOCAL], one[N_FOCAL:]) for one in each]

    def ours() -> Any:
        return pe.contrast(frame, stratum="profile", focal="focal", n_resamples=N_RESAMPLES, rng=1)

    last = ours()
    return {
        "psychoedu, scalar": ours,
        "scipy, scalar": lambda: by_scipy([(pooled[:N_FOCAL], pooled[N_FOCAL:])]),
        "psychoedu, 17 models": lambda: type(last)._models.func(last),  # the property keeps what it has computed
        "psychoedu, scalar and 17 models": lambda: ours().models,
        "scipy, 17 models": lambda: by_scipy(pairs),
        "arch, 17 models": lambda: by_arch(values),
        "counts and one product": lambda: counts_and_product(values),
        "psychoedu, kernel for 17 models": lambda: kernel(values),
    }


def kernel(values: np.ndarray) -> Any:
    """Draw all resamples of 17 models from a plan that is laid out already."""
    from psychoedu.bootstrap.engine import resample
    from psychoedu.bootstrap.plan import Plan
    from psychoedu.bootstrap.resampling import Pool
    from psychoedu.bootstrap.streams import seed_of

    sides = (values[:N_FOCAL], values[N_FOCAL:])
    pools = [Pool(own, np.ones_like(own), term, len(own)) for term, own in enumerate(sides)]
    plan = Plan(None, (), np.array([-1.0, 1.0]), "task", "side", None, ())  # type: ignore[arg-type]
    return resample(plan, pools, seed_of(1), N_RESAMPLES)


def measure(task: dict[str, Any]) -> dict[str, Any]:
    """Measure in this process: CPU seconds of every program, in turns; or the peak memory of one large contrast."""
    if task["what"] == "memory":
        import psychoedu as pe

        n_tasks, n_models, n_resamples = task["size"]
        frame, _ = rewards(n_tasks, n_tasks // 5, n_models)
        design = pe.ClusterDesign.from_long(frame, stratum="profile")
        before = peak_memory()
        start = time.process_time()
        found = pe.contrast(design, focal="focal", n_resamples=n_resamples, rng=1)
        rows = len(found.models)
        return {"cpu": time.process_time() - start, "peak": peak_memory(), "before": before, "rows": rows}
    timed = programs()
    runs: dict[str, list[float]] = {name: [] for name in timed}
    for turn in range(task["repeats"] + 1):
        for name, call in timed.items():
            start = time.process_time()
            call()
            if turn:  # the first round warms up
                runs[name].append(time.process_time() - start)
    return {name: [statistics.median(found), min(found), max(found)] for name, found in runs.items()}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``python -m benchmarks contrast``."""
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--no-memory", action="store_true", help="leave the large run out")


def run(arguments: argparse.Namespace, command: str) -> None:
    """Measure, and print or write the tables."""
    found = run_module("benchmarks.contrast", {"what": "time", "repeats": arguments.repeats})
    ours, all_models = found["psychoedu, scalar"][0], found["psychoedu, 17 models"][0]
    beside = {
        "scipy, scalar": ours,
        "scipy, 17 models": all_models,
        "arch, 17 models": all_models,
        "counts and one product": found["psychoedu, kernel for 17 models"][0],
    }
    rows = []
    for name, (median, least, most) in found.items():
        ratio = f"{median / beside[name]:.1f}" if name in beside else ""
        rows.append([name, seconds(median), f"{seconds(least)} - {seconds(most)}", ratio])
    header = ["100 tasks x 17 models, 10,000 resamples", "CPU s (median)", "least - most", "ratio to ours"]
    parts = [f"`{command}` on {describe()}", table(header, rows)]
    if not arguments.no_memory:
        one = run_module("benchmarks.contrast", {"what": "memory", "size": LARGE})
        parts.append(
            f"{LARGE[2]:,} resamples of {LARGE[0]:,} tasks x {LARGE[1]} models, the contrast and that of every model: "
            f"{seconds(one['cpu'])} CPU s, peak memory {one['peak']:.0f} MB ({one['before']:.0f} MB before)."
        )
    if arguments.write:
        write_section("contrast", "\n\n".join(parts))
    print("\n\n".join(parts))


if __name__ == "__main__":
    print(json.dumps(measure(json.loads(sys.argv[1]))))
