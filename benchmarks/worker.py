"""One measurement in a process of its own: ``python -m benchmarks.worker '{"engine": ..., "data": ...}'`` prints one JSON line.

The process is pinned to one core with one BLAS thread by its parent. A throw-away fit on small data comes first, so that
imports, compilation and first-touch costs are not counted. CPU seconds are user + system of the fit call alone.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.designs import Data, simulate
from benchmarks.engines import ENGINES, quiet
from benchmarks.loglikelihood import marginal_log_likelihood


def peak_memory() -> float:
    """Return the peak resident memory of this process in MB.

    VmHWM, not ru_maxrss, where there is one: on Linux the latter starts at the memory of the process that started this one.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024**2 if sys.platform == "darwin" else 1024)


def measure(task: dict[str, Any]) -> dict[str, Any]:
    """Fit once warm and return seconds, memory and the log-likelihood reached."""
    engine = ENGINES[task["engine"]]
    standard_errors = bool(task["standard_errors"])
    quiet(engine.prepare(simulate(500, 10), False))
    if task["warm_data"]:
        quiet(engine.prepare(Data.load(task["warm_data"]), standard_errors))
    baseline = peak_memory()
    data = Data.load(task["data"])
    fit = engine.prepare(data, standard_errors)
    repeats = int(task["inner"])
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(repeats):
        result = quiet(fit)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak = peak_memory()
    estimates = engine.estimates(result, data)
    return {
        "cpu": cpu / repeats,
        "wall": wall / repeats,
        "peak": peak,
        "growth": peak - baseline,
        "log_likelihood": marginal_log_likelihood(data, estimates),
        "n_iterations": estimates.n_iterations,
        "n_e_steps": estimates.n_e_steps,
        "converged": estimates.converged,
    }


def main() -> None:
    """Read the task from the command line and print what was measured."""
    print(json.dumps(measure(json.loads(sys.argv[1]))))


if __name__ == "__main__":
    main()
