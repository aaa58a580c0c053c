"""Leaderboards and variance components by simulation: do ranks, scores and components hold what they promise."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.designs import SEED
from benchmarks.recovery import PAGE
from benchmarks.tables import table, write_section

N_DESIGNS, N_RESAMPLES = 1_000, 999
N_MODELS, N_STAGES = 8, 3
TASK_SD, CELL_SD = 0.2, 0.2
SPACINGS = {"far apart": 0.06, "close": 0.015, "all equal": 0.0}
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Board:
    """A leaderboard of 8 models on three stages: tasks of a stage, and how far apart the models are."""

    n_tasks: int
    spacing: str

    @property
    def true_scores(self) -> FloatArray:
        """Return the expected overall scores, the best last."""
        return 0.5 + SPACINGS[self.spacing] * np.arange(N_MODELS)

    def draw(self, rng: np.random.Generator) -> pd.DataFrame:
        """Draw a table of rewards; stages differ in what suits a model, and the overall score is their balanced mean."""
        tastes = rng.normal(0.0, 0.05, (N_STAGES, N_MODELS))
        tastes -= tastes.mean(axis=0)
        shape = (N_STAGES, self.n_tasks, N_MODELS)
        rewards = self.true_scores + tastes[:, None] + TASK_SD * rng.standard_normal((*shape[:2], 1))
        rewards = rewards + CELL_SD * rng.standard_normal(shape)
        stage, task, model = (axis.ravel() for axis in np.indices(shape))
        return pd.DataFrame(
            {"stage": stage, "task": stage * self.n_tasks + task, "model": model, "reward": rewards.ravel()},
        )


def ranks_held(board: Board, n_designs: int, n_resamples: int, seed: int = SEED) -> list[float]:
    """Return how often intervals hold: of scores, of ranks one by one (percentile), and of all ranks at once (simultaneous).

    A rank interval holds where it contains every rank that the true scores allow: 1 to 8 where all are equal. The last two
    figures are the mean widths of the two rank intervals.
    """
    import psychoedu as pe

    true = board.true_scores
    best = 1 + (true[:, None] < true).sum(axis=1)
    worst = N_MODELS - (true[:, None] > true).sum(axis=1)
    scores = percentile = simultaneous = 0.0
    widths = np.zeros(2)
    for design in range(n_designs):
        rng = np.random.default_rng([seed, 3, board.n_tasks, list(SPACINGS).index(board.spacing), design])
        found = pe.leaderboard(board.draw(rng), stage="stage", n_resamples=n_resamples, rng=rng).table.sort_index()
        scores += float(((found["low"] <= true) & (found["high"] >= true)).mean())
        percentile += float(((found["rank_low"] <= best) & (found["rank_high"] >= worst)).mean())
        simultaneous += ((found["rank_low_simultaneous"] <= best) & (found["rank_high_simultaneous"] >= worst)).all()
        widths += [(found[f"rank_high{kind}"] - found[f"rank_low{kind}"] + 1.0).mean() for kind in ("", "_simultaneous")]
    return [scores / n_designs, percentile / n_designs, simultaneous / n_designs, *(widths / n_designs)]


def counts_held(n_tasks: int, gap: float, n_designs: int, n_resamples: int, seed: int = SEED) -> list[float]:
    """Return the mean true and estimated k of "lowest for k of 8 models", and how often the interval holds the true k."""
    import psychoedu as pe

    held = total = of_truth = 0.0
    for design in range(n_designs):
        rng = np.random.default_rng([seed, 4, n_tasks, design])
        means = 0.6 + 0.05 * rng.standard_normal((4, N_MODELS))
        means[0] -= gap
        shape = (4, n_tasks, N_MODELS)
        rewards = means[:, None] + TASK_SD * rng.standard_normal((*shape[:2], 1)) + CELL_SD * rng.standard_normal(shape)
        profile, task, model = (axis.ravel() for axis in np.indices(shape))
        frame = pd.DataFrame(
            {"profile": profile, "task": profile * n_tasks + task, "model": model, "reward": rewards.ravel()},
        )
        found = pe.lowest_for(frame, by="profile", focal=0, n_resamples=n_resamples, rng=rng)
        truth = int((means.argmin(axis=0) == 0).sum())
        held += found.low <= truth <= found.high
        total += found.k
        of_truth += truth
    return [of_truth / n_designs, total / n_designs, held / n_designs]


TRUE_COMPONENTS = {"model": 0.0100, "task": 0.0400, "model x task": 0.0225, "repeat:(model x task)": 0.0100}
"""Variances of a reward in [0, 1]: SDs of 0.10, 0.20, 0.15 and 0.10."""


def components(n_models: int, n_tasks: int, share: float, n_designs: int, seed: int = SEED) -> list[list[str]]:
    """Return rows of a table: mean estimate beside the truth, standard error beside the spread, for every component."""
    from psychoedu.bootstrap import generalizability

    sds = np.sqrt(list(TRUE_COMPONENTS.values()))
    estimates, errors = [], []
    for design in range(n_designs):
        rng = np.random.default_rng([seed, 5, n_models, n_tasks, int(100 * share), design])
        shape = (n_models, n_tasks, 2)
        rewards = 0.6 + sds[0] * rng.standard_normal((n_models, 1, 1)) + sds[1] * rng.standard_normal((1, n_tasks, 1))
        rewards = rewards + sds[2] * rng.standard_normal((n_models, n_tasks, 1)) + sds[3] * rng.standard_normal(shape)
        model, task, run = (axis.ravel() for axis in np.indices(shape))
        frame = pd.DataFrame({"model": model, "task": task, "run": run, "reward": rewards.ravel()})
        if share < 1.0:
            frame = frame[rng.random(len(frame)) < share]
        found = generalizability(frame, repeat="run").components
        estimates.append(found["estimate"].to_numpy())
        errors.append(found["standard_error"].to_numpy())
    value, error = np.array(estimates), np.array(errors)
    kind = f"{n_models} models x {n_tasks} tasks x 2" + ("" if share == 1.0 else f", {share:.0%} of the rewards")
    rows = []
    for at, (name, truth) in enumerate(TRUE_COMPONENTS.items()):
        spread = value[:, at].std(ddof=1)
        bias = f"{value[:, at].mean() - truth:+.5f} ({spread / np.sqrt(n_designs):.5f})"
        rows.append([f"{kind}: {name}", f"{truth:.4f}", bias, f"{spread:.4f}", f"{np.sqrt((error[:, at] ** 2).mean()):.4f}"])
    return rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``python -m benchmarks rankings``."""
    parser.add_argument("--designs", type=int, default=N_DESIGNS)
    parser.add_argument("--resamples", type=int, default=N_RESAMPLES)


def run(arguments: argparse.Namespace, command: str) -> None:
    """Simulate every setting, and print or write the tables into docs/validation.md."""
    n_designs, n_resamples = arguments.designs, arguments.resamples
    rows = []
    for n_tasks in (20, 100):
        for spacing in SPACINGS:
            held = ranks_held(Board(n_tasks, spacing), n_designs, n_resamples)
            figures = [f"{value:.3f}" for value in held[:3]] + [f"{value:.2f}" for value in held[3:]]
            rows.append([f"{n_tasks} tasks a stage, {spacing}", *figures])
            print(*rows[-1], flush=True)
    header = [
        "8 models, 3 stages",
        "score",
        "rank, percentile",
        "all ranks, simultaneous",
        "ranks in it",
        "ranks in it, simultaneous",
    ]
    parts = [f"`{command}`, {n_designs:,} designs a row, {n_resamples:,} resamples a design", table(header, rows)]
    rows = []
    for n_tasks in (20, 100):
        for gap in (0.0, 0.05, 0.1):
            found = counts_held(n_tasks, gap, n_designs, n_resamples)
            rows.append(
                [f"{n_tasks} tasks a stratum, focal {gap:g} lower", f"{found[0]:.2f}", f"{found[1]:.2f}", f"{found[2]:.3f}"]
            )
            print(*rows[-1], flush=True)
    parts.append(table(["lowest of 4 strata for k of 8 models", "true k", "k", "interval holds"], rows))
    rows = [
        row for size, share in (((8, 60), 1.0), ((17, 100), 1.0), ((8, 60), 0.8)) for row in components(*size, share, n_designs)
    ]
    parts.append(table(["variance components", "truth", "bias (its error)", "SD", "standard error"], rows))
    text = "\n\n".join(parts)
    if arguments.write:
        write_section("rankings", text, PAGE)
    print(text)
