"""Levels: calibration of their probabilities, and estimated accuracy and consistency beside simulated ones."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.designs import ROOT, SEED
from benchmarks.tables import table, write_section

N_RESPONDENTS, N_DATA_SETS, N_SIMULATED = 20_000, 20, 400_000
N_ITEMS = (35, 61)
CUTS = np.array([-1.0, -0.2, 0.6, 1.4])
N_BINS = 10
GRID_STEP = 0.02  # the cuts are multiples of it, so that no cell of the grid lies on both sides of one
PAGE = ROOT / "docs" / "validation.md"
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Comparison:
    """An estimate beside the simulated truth, with the Monte Carlo standard error of their difference."""

    quantity: str
    estimate: float
    truth: float
    error: float

    @property
    def difference(self) -> float:
        """Return the estimate less the truth."""
        return self.estimate - self.truth

    def row(self, n_items: int) -> list[str]:
        """Return the row of the table."""
        figures = f"{self.estimate:.4f}", f"{self.truth:.4f}", f"{self.difference:+.4f} ({self.error:.4f})"
        return [f"{n_items} items, {self.quantity}", *figures]


def draw_items(n_items: int, seed: int = SEED) -> tuple[FloatArray, FloatArray]:
    """Draw the items of a form, a lognormal(0, 0.3), b N(0, 1); return discriminations and intercepts."""
    rng = np.random.default_rng([seed, n_items])
    discrimination = rng.lognormal(0.0, 0.3, n_items)
    return discrimination, -discrimination * rng.standard_normal(n_items)


def respond(theta: FloatArray, items: tuple[FloatArray, FloatArray], rng: np.random.Generator) -> NDArray[np.int8]:
    """Draw responses, (N, J), a block of respondents at a time."""
    discrimination, intercept = items
    blocks = []
    for part in np.array_split(theta, max(1, len(theta) // 20_000)):
        success = 1.0 / (1.0 + np.exp(-(part[:, None] * discrimination + intercept)))
        blocks.append((rng.random(success.shape) < success).astype(np.int8))
    return np.concatenate(blocks)


def level_of(theta: FloatArray) -> IntArray:
    """Return the level of each ability."""
    return np.searchsorted(CUTS, theta, side="right")


def calibration_errors(probabilities: FloatArray, level: IntArray, n_bins: int = N_BINS) -> FloatArray:
    """Return the expected calibration error of each class, (K,), in bins of equal counts.

    Of a class: respondents in the order of its probability, in bins; the mean over bins of |mean probability - share|.
    """
    errors = []
    for k in range(probabilities.shape[1]):
        order = np.argsort(probabilities[:, k], kind="stable")
        excess = probabilities[order, k] - (level[order] == k)
        errors.append(sum(abs(part.sum()) for part in np.array_split(excess, n_bins)) / len(level))
    return np.array(errors)


def calibration_of_levels(
    n_items: int, n_respondents: int = N_RESPONDENTS, n_data_sets: int = N_DATA_SETS, seed: int = SEED
) -> tuple[FloatArray, FloatArray]:
    """Return calibration errors of the level probabilities (data sets, K), and those of a perfect forecaster with the same bins.

    Respondents are drawn from the prior N(0, 1) that scores them; the probabilities are those of a normal with the posterior's
    mean and standard deviation. The perfect forecaster's levels are drawn from these probabilities: what is left is the noise
    of finite bins.
    """
    import psychoedu as pe
    from psychoedu.standard_setting.decisions import level_probabilities

    rng = np.random.default_rng([seed, n_items, 1])
    items = draw_items(n_items)
    bank = pe.ItemBank.from_arrays([f"q{j}" for j in range(1, n_items + 1)], *items)
    errors, floor = [], []
    for _ in range(n_data_sets):
        theta = rng.standard_normal(n_respondents)
        scores = pe.score(bank, respond(theta, items, rng))
        probabilities = level_probabilities(scores.theta.to_numpy(), scores.theta_se.to_numpy(), CUTS)
        errors.append(calibration_errors(probabilities, level_of(theta)))
        perfect = (rng.random(n_respondents)[:, None] > probabilities.cumsum(axis=1)[:, :-1]).sum(axis=1)
        floor.append(calibration_errors(probabilities, perfect))
    return np.array(errors), np.array(floor)


def posterior_draws(responses: NDArray[np.int8], items: tuple[FloatArray, FloatArray], rng: np.random.Generator) -> IntArray:
    """Draw a level for each respondent from the exact posterior, the prior being N(0, 1), on a grid of midpoints."""
    discrimination, intercept = items
    theta = np.arange(-7.0, 7.0, GRID_STEP) + GRID_STEP / 2.0
    base = -np.logaddexp(0.0, np.multiply.outer(theta, discrimination) + intercept).sum(axis=1) - 0.5 * theta**2
    inside = (level_of(theta)[:, None] == np.arange(len(CUTS) + 1)).astype(float)
    levels = []
    for part in np.array_split(responses @ discrimination, max(1, len(responses) // 10_000)):
        exponent = np.multiply.outer(part, theta) + base
        mass = np.exp(exponent - exponent.max(axis=1, keepdims=True)) @ inside
        cumulative = mass.cumsum(axis=1) / mass.sum(axis=1, keepdims=True)
        levels.append((rng.random(len(part))[:, None] > cumulative[:, :-1]).sum(axis=1))
    return np.concatenate(levels)


def compare(n_items: int, n_simulated: int = N_SIMULATED, seed: int = SEED) -> list[Comparison]:
    """Simulate two administrations of a form to respondents from N(0, 1), and compare every estimate with what it estimates."""
    import psychoedu as pe
    from psychoedu.standard_setting.accuracy import classification_accuracy

    rng = np.random.default_rng([seed, n_items, 2])
    items = draw_items(n_items)
    bank = pe.ItemBank.from_arrays([f"q{j}" for j in range(1, n_items + 1)], *items)
    theta = rng.standard_normal(n_simulated)
    first, second = respond(theta, items, rng), respond(theta, items, rng)
    scores = pe.score(bank, first)
    true, level = level_of(theta), level_of(scores.theta.to_numpy())
    again = level_of(pe.score(bank, second).theta.to_numpy())

    rudner = classification_accuracy(scores, CUTS)
    assert rudner.respondents is not None
    eap = classification_accuracy(None, CUTS, "eap", bank=bank)
    lee = classification_accuracy(None, CUTS, "lee", bank=bank)
    raw_cuts = lee.by_cut["raw_cut"].to_numpy()
    by_sum, sum_again = (np.searchsorted(raw_cuts, responses.sum(axis=1), side="right") for responses in (first, second))

    hit, repeat = level == true, level == again
    same_posterior = true == posterior_draws(first, items, rng)
    # the estimate and the truth are of the same respondents: their difference has the error of the paired difference
    paired = float((rudner.respondents.to_numpy() - hit).std(ddof=1) / np.sqrt(n_simulated))
    found = [
        Comparison("accuracy of EAP levels: Rudner", rudner.accuracy, float(hit.mean()), paired),
        _comparison("accuracy of EAP levels: from the bank", eap.accuracy, hit),
        _comparison("level of two draws from a posterior: Rudner's sum of squares", rudner.consistency, same_posterior),
        _comparison("EAP levels of two administrations: Rudner's sum of squares", rudner.consistency, repeat),
        _comparison("EAP levels of two administrations: from the bank", eap.consistency, repeat),
        _comparison("accuracy of summed-score levels: Lee", lee.accuracy, by_sum == true),
        _comparison("summed-score levels of two administrations: Lee", lee.consistency, by_sum == sum_again),
    ]
    single = []
    for k, cut in enumerate(CUTS):
        above, above_again = by_sum > k, sum_again > k
        single.append(_comparison("", float(lee.by_cut["accuracy"].iloc[k]), above == (theta >= cut)))
        single.append(_comparison("", float(lee.by_cut["consistency"].iloc[k]), above == above_again))
    worst = max(single, key=lambda each: abs(each.difference))
    return [*found, Comparison("single cuts: Lee, the largest difference of 8", worst.estimate, worst.truth, worst.error)]


def _comparison(quantity: str, estimate: float, outcomes: NDArray[np.bool_]) -> Comparison:
    return Comparison(quantity, estimate, float(outcomes.mean()), float(outcomes.std(ddof=1) / np.sqrt(len(outcomes))))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``python -m benchmarks levels``."""
    parser.add_argument("--data-sets", type=int, default=N_DATA_SETS, help="data sets of 20,000 for the calibration errors")
    parser.add_argument("--respondents", type=int, default=N_SIMULATED, help="simulated respondents for accuracy and consistency")


def run(arguments: argparse.Namespace, command: str) -> None:
    """Simulate, and print or write the tables into docs/validation.md."""
    calibration, rows = [], []
    for n_items in N_ITEMS:
        errors, floor = calibration_of_levels(n_items, n_data_sets=arguments.data_sets)
        mean, largest = errors.mean(axis=1), errors.max(axis=1)
        calibration.append(
            [
                f"{n_items} items",
                f"{mean.mean():.4f} ({standard_error(mean):.4f})",
                f"{largest.mean():.4f} ({standard_error(largest):.4f})",
                f"{largest.max():.4f}",
                f"{floor.mean():.4f}",
            ]
        )
        print(*calibration[-1], flush=True)
        for each in compare(n_items, arguments.respondents):
            rows.append(each.row(n_items))
            print(*rows[-1], flush=True)
    header = [
        "calibration error of level probabilities",
        "mean of 5 classes",
        "largest class",
        "largest of all",
        "perfect forecaster",
    ]
    text = f"{table(header, calibration)}\n\n"
    text += table(["quantity", "estimate", "simulated", "difference (its MC error)"], rows)
    if arguments.write:
        said = f"{arguments.data_sets} data sets of {N_RESPONDENTS:,}, {arguments.respondents:,} simulated respondents"
        write_section("levels", f"`{command}`, {said}\n\n{text}", PAGE)
    print(text)


def standard_error(values: FloatArray) -> float:
    """Return the Monte Carlo standard error of a mean; nan for one value."""
    return float(pd.Series(values).sem())
