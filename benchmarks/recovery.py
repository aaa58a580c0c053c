"""Recovery of known parameters and coverage of their intervals in simulated data sets."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from benchmarks.designs import ROOT, SEED
from benchmarks.tables import table, write_section

N_DATA_SETS, N_RESPONDENTS, N_ITEMS = 500, 1_000, 30
METHODS = ("oakes", "crossprod", "sandwich")
PAGE = ROOT / "docs" / "validation.md"
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Recovery:
    """Estimates and standard errors of one parameter kind, (data sets, items), beside the true values (items,)."""

    truth: FloatArray
    estimate: FloatArray
    se: FloatArray

    @property
    def bias(self) -> float:
        """Return the mean error over data sets and items."""
        return float((self.estimate - self.truth).mean())

    @property
    def bias_error(self) -> float:
        """Return the Monte Carlo standard error of the bias, data sets being independent."""
        by_set = (self.estimate - self.truth).mean(axis=1)
        return float(by_set.std(ddof=1) / np.sqrt(len(by_set)))

    @property
    def rmse(self) -> float:
        """Return the root mean squared error."""
        return float(np.sqrt(((self.estimate - self.truth) ** 2).mean()))

    def coverage(self, confidence_level: float = 0.95) -> FloatArray:
        """Return the share of data sets whose Wald interval holds the true value, one per item."""
        half = ndtri(0.5 + confidence_level / 2.0) * self.se
        return (np.abs(self.estimate - self.truth) <= half).mean(axis=0)


def simulate_and_fit(
    standard_errors: str = "oakes",
    n_data_sets: int = N_DATA_SETS,
    n_respondents: int = N_RESPONDENTS,
    n_items: int = N_ITEMS,
    seed: int = SEED,
) -> dict[str, Recovery]:
    """Draw one set of items, a lognormal(0, 0.3), b N(0, 1), then data sets of them; calibrate each.

    Returns
    -------
    dict
        :class:`Recovery` of "discrimination", "intercept" and "difficulty".
    """
    import psychoedu as pe

    rng = np.random.default_rng(seed)
    discrimination = rng.lognormal(0.0, 0.3, n_items)
    difficulty = rng.standard_normal(n_items)
    truth = {"discrimination": discrimination, "intercept": -discrimination * difficulty, "difficulty": difficulty}
    estimates = {name: np.empty((n_data_sets, n_items)) for name in truth}
    errors = {name: np.empty((n_data_sets, n_items)) for name in truth}
    for k in range(n_data_sets):
        theta = rng.standard_normal(n_respondents)
        success = 1.0 / (1.0 + np.exp(-discrimination * (theta[:, None] - difficulty)))
        responses = (rng.random(success.shape) < success).astype(np.int8)
        calibration = pe.calibrate(responses, standard_errors=standard_errors)
        for name in truth:
            estimates[name][k] = getattr(calibration, name)
            errors[name][k] = calibration.standard_errors[name]
    return {name: Recovery(truth[name], estimates[name], errors[name]) for name in truth}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``python -m benchmarks recovery``."""
    parser.add_argument("--data-sets", type=int, default=N_DATA_SETS)


def run(arguments: argparse.Namespace, command: str) -> None:
    """Simulate with each kind of standard error, and print or write the table into docs/validation.md."""
    rows = []
    for method in METHODS:
        for name, found in simulate_and_fit(method, arguments.data_sets).items():
            coverage = found.coverage()
            rows.append(
                [
                    f"{name}, {method}",
                    f"{found.bias:+.4f} ({found.bias_error:.4f})",
                    f"{found.rmse:.4f}",
                    f"{np.sqrt((found.se**2).mean()):.4f}",
                    f"{coverage.mean():.4f}",
                    f"{coverage.min():.3f} - {coverage.max():.3f}",
                ]
            )
            print(*rows[-1], flush=True)
    header = ["parameter, SE", "bias (its MC error)", "RMSE", "root mean SE^2", "coverage, pooled", "least - most of an item"]
    text = table(header, rows)
    if arguments.write:
        write_section("coverage", f"`{command}`, {arguments.data_sets} data sets a row\n\n{text}", PAGE)
    print(text)
