"""How often the paired tests reject where nothing differs, by simulation."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.coverage import AT_ONCE, LEVEL, N_DESIGNS, N_RESAMPLES
from benchmarks.designs import SEED
from benchmarks.recovery import PAGE
from benchmarks.tables import table, write_section

FloatArray = NDArray[np.float64]
KINDS = {
    "normal": "normal rewards",
    "skewed": "skewed rewards (exponential)",
    "heavy": "heavy tails (t, 3 df)",
    "bounded": "rewards in [0, 1] (uniform)",
    "binary": "0/1 rewards, alike on 60% of the tasks",
    "unfair": "skewed differences, mean 0: outside the test's assumption",
}
"""Models that are equal, reward by reward, but for the last kind: there their means alone are."""


@dataclass(frozen=True)
class PairedSetting:
    """A kind of paired design without a difference: number of tasks, and how differences are distributed."""

    n_tasks: int
    kind: str

    def draw(self, rng: np.random.Generator, n_designs: int) -> FloatArray:
        """Draw differences of two equally good models, (tasks, designs)."""
        shape = (self.n_tasks, n_designs)
        if self.kind == "binary":
            return rng.choice([-1.0, 0.0, 1.0], p=[0.2, 0.6, 0.2], size=shape)
        if self.kind == "unfair":
            return rng.standard_exponential(shape) - 1.0
        if self.kind == "skewed":
            return rng.standard_exponential(shape) - rng.standard_exponential(shape)
        if self.kind == "heavy":
            return rng.standard_t(3, shape) - rng.standard_t(3, shape)
        if self.kind == "bounded":
            return rng.random(shape) - rng.random(shape)
        return rng.standard_normal(shape)


PAIRED = tuple(PairedSetting(n, kind) for n in (50, 100) for kind in KINDS)


def type_one_errors(
    setting: PairedSetting, n_designs: int = N_DESIGNS, n_resamples: int = N_RESAMPLES, seed: int = SEED
) -> FloatArray:
    """Return how often p is at most 0.05 for the sign-flip test and for the bootstrap test, uncorrected and rescaled."""
    from psychoedu.bootstrap import intervals
    from psychoedu.bootstrap import resampling as kernel
    from psychoedu.bootstrap.corrections import n_draws
    from psychoedu.bootstrap.pairing import sign_flip_p

    rejected = np.zeros(3)
    for batch in range(-(-n_designs // AT_ONCE)):
        count = min(AT_ONCE, n_designs - batch * AT_ONCE)
        rng = np.random.default_rng([seed, 2, setting.n_tasks, list(KINDS).index(setting.kind), batch])
        sums = setting.draw(rng, count)
        rejected[0] += (sign_flip_p(rng, sums, n_resamples) <= 1.0 - LEVEL).sum()
        for at, correction in enumerate((None, "rao-wu"), 1):
            pools = [kernel.Pool(sums, np.ones_like(sums), 0, n_draws(setting.n_tasks, correction))]
            values, _ = kernel.replicate(rng, n_resamples, pools, np.ones(1))
            rejected[at] += (intervals.p_value(values, sums.mean(axis=0)) <= 1.0 - LEVEL).sum()
    return rejected / n_designs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``python -m benchmarks paired-tests``."""
    parser.add_argument("--designs", type=int, default=N_DESIGNS)
    parser.add_argument("--resamples", type=int, default=N_RESAMPLES)


def run(arguments: argparse.Namespace, command: str) -> None:
    """Simulate every setting, and print or write the table into docs/validation.md."""
    rows = []
    for setting in PAIRED:
        errors = type_one_errors(setting, arguments.designs, arguments.resamples)
        rows.append([f"{setting.n_tasks} tasks, {KINDS[setting.kind]}", *(f"{error:.4f}" for error in errors)])
        print(*rows[-1], flush=True)
    text = "\n\n".join(
        [
            f"`{command}`, {arguments.designs:,} designs a row, {arguments.resamples:,} resamples a design",
            table(["type I error at 0.05, paired", "sign flip", "bootstrap", "bootstrap, Rao-Wu"], rows),
        ]
    )
    if arguments.write:
        write_section("paired-tests", text, PAGE)
    print(text)
