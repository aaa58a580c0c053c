"""Run measurements in processes of their own: one core, one BLAS thread, one after the other, programs taking turns."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.designs import ROOT, Data

THREAD_VARIABLES = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
)
WARM_ROWS = 600


class MeasurementError(RuntimeError):
    """A measuring process failed; the message ends with what it said."""


@dataclass(frozen=True)
class Measured:
    """The repeats of one program on one task."""

    runs: list[dict[str, Any]]

    @property
    def cpu(self) -> float:
        """Return the median CPU seconds."""
        return statistics.median(run["cpu"] for run in self.runs)

    @property
    def wall(self) -> float:
        """Return the median wall seconds."""
        return statistics.median(run["wall"] for run in self.runs)

    @property
    def cpu_range(self) -> tuple[float, float]:
        """Return the least and the most CPU seconds."""
        values = [run["cpu"] for run in self.runs]
        return min(values), max(values)

    def worst(self, key: str) -> float:
        """Return the largest value over the repeats."""
        return max(float(run[key]) for run in self.runs)

    def __getitem__(self, key: str) -> Any:
        return self.runs[-1][key]


def pin_to_one_core() -> None:
    """Keep this process on the last of the cores it may use, where the system can do that."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def run_module(module: str, task: dict[str, Any], timeout: float | None = None) -> dict[str, Any]:
    """Run ``python -m module '<task>'`` on one core with one thread and return the JSON object it prints."""
    environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, "1")}
    done = subprocess.run(
        [sys.executable, "-m", module, json.dumps(task)],
        cwd=ROOT,
        env={**environment, "PYTHONPATH": os.pathsep.join([str(ROOT), environment.get("PYTHONPATH", "")]).rstrip(os.pathsep)},
        capture_output=True,
        text=True,
        timeout=timeout,
        preexec_fn=pin_to_one_core if os.name == "posix" else None,
        check=False,
    )
    if done.returncode:
        raise MeasurementError(f"{module} {task}: {done.stderr.strip()[-800:]}")
    answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return answer


def small_cut(data: Data) -> Data:
    """Return about WARM_ROWS respondents, evenly spaced, so that every form and group is among them."""
    every = max(1, len(data.responses) // WARM_ROWS)
    return Data(data.responses[::every], None if data.groups is None else data.groups[::every])


def interleaved(
    data: Data,
    engines: Sequence[str],
    standard_errors: bool,
    repeats: dict[str, int],
    inner: int = 1,
    say: Callable[[str], None] = lambda text: None,
) -> dict[str, Measured]:
    """Measure every engine ``repeats[engine]`` times, taking turns: first, second, ..., first, second, ..."""
    runs: dict[str, list[dict[str, Any]]] = {engine: [] for engine in engines}
    with tempfile.TemporaryDirectory() as folder:
        path = data.save(Path(folder) / "data.npz")
        warm = small_cut(data).save(Path(folder) / "warm.npz")
        for turn in range(max(repeats[engine] for engine in engines)):
            for engine in engines:
                if turn >= repeats[engine]:
                    continue
                task = {
                    "engine": engine,
                    "data": str(path),
                    "warm_data": str(warm),
                    "standard_errors": standard_errors,
                    "inner": inner,
                }
                run = run_module("benchmarks.worker", task)
                say(f"  {engine:13} {run['cpu']:9.4f} s CPU  log-likelihood {run['log_likelihood']:.4f}")
                runs[engine].append(run)
    return {engine: Measured(found) for engine, found in runs.items()}
