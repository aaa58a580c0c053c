"""Bookmark cut scores in simulated studies: bias of each rule, and coverage of the intervals."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.designs import ROOT, SEED
from benchmarks.tables import table, write_section

N_STUDIES, N_PANELLISTS, N_ITEMS, PANEL_SD, RP = 2_000, 15, 61, 0.3, 0.67
N_RESPONDENTS = (2_050, 1_000)
CUTS = {"CSE-3": -0.5, "CSE-4": 0.2, "CSE-5": 0.9, "CSE-6": 1.6}
PARTS = ("panel", "items", "covered", "covered, uncorrected")
RULES = ("midpoint", "last-mastered", "first-not-mastered")
PAGE = ROOT / "docs" / "validation.md"
FloatArray = NDArray[np.float64]


def placements(true: FloatArray, shifts: FloatArray) -> pd.DataFrame:
    """Return the bookmarks of panellists who read page by page and stop at the first page above their ability.

    Parameters
    ----------
    true : (J,) array
        True RP location of each page's item, in page order.
    shifts : (P,) array
        What each panellist's cut differs from the generating one by, at every level.
    """
    rows = []
    for number, shift in enumerate(shifts):
        for level, cut in CUTS.items():
            above = np.flatnonzero(true > cut + shift)
            rows.append((f"P{number + 1}", level, int(above[0]) if len(above) else len(true)))
    return pd.DataFrame(rows, columns=["panellist", "level", "page"])


def study(rng: np.random.Generator, n_respondents: int) -> dict[str, FloatArray]:
    """Simulate items, respondents, a calibration and a panel; return errors, standard errors and coverage, each (4,)."""
    import psychoedu as pe
    from psychoedu.exceptions import DataError
    from psychoedu.standard_setting import booklet, bookmark

    discrimination, difficulty = rng.lognormal(0.0, 0.3, N_ITEMS), rng.standard_normal(N_ITEMS)
    theta = rng.standard_normal(n_respondents)
    success = 1.0 / (1.0 + np.exp(-discrimination * (theta[:, None] - difficulty)))
    calibration = pe.calibrate((rng.random(success.shape) < success).astype(np.int8))
    pages = booklet(calibration, RP)
    true = difficulty + np.log(RP / (1.0 - RP)) / discrimination
    in_order = true[calibration.labels.get_indexer(pages.labels)]
    placed = placements(in_order, PANEL_SD * rng.standard_normal(N_PANELLISTS))
    generating = np.array(list(CUTS.values()))
    found: dict[str, FloatArray] = {}
    for rule in RULES:
        page = placed.assign(page=placed["page"] + (rule == "first-not-mastered"))
        for aggregate in ("mean", "median"):
            name = f"{rule} {aggregate}"
            try:
                cuts = bookmark(pages, page, rule=rule, aggregate=aggregate)
            except DataError:  # two levels left open at the same end: no cut scores in this study
                found |= dict.fromkeys((name, *(PARTS if name == "midpoint mean" else ())), np.full(len(CUTS), np.nan))
                continue
            with np.errstate(invalid="ignore"):
                found[name] = np.where(np.isfinite(cuts.values), cuts.values - generating, np.nan)
            if name == "midpoint mean":
                found["panel"] = cuts.standard_errors["panel"].to_numpy()
                found["items"] = cuts.standard_errors["items"].to_numpy()
                for which, interval in (("covered", cuts.conf_int()), ("covered, uncorrected", cuts.conf_int(bias=None))):
                    inside = (interval["low"] <= generating) & (generating <= interval["high"])
                    found[which] = np.where(interval["low"].isna(), np.nan, inside)
    return found


def simulate(n_respondents: int, n_studies: int = N_STUDIES, seed: int = SEED) -> dict[str, FloatArray]:
    """Run the studies, each with a generator of its own; arrays of (studies, 4)."""
    found = [study(np.random.default_rng([seed, n_respondents, number]), n_respondents) for number in range(n_studies)]
    return {name: np.array([one[name] for one in found]) for name in found[0]}


def coverage_rows(found: dict[str, FloatArray], n_respondents: int) -> list[list[str]]:
    """Return a row per level: error of the cut, the two parts of its standard error, coverage of both intervals."""
    rows = []
    for k, level in enumerate(CUTS):
        error = found["midpoint mean"][:, k]
        whole = ~np.isnan(found["covered"][:, k])
        parts = [np.sqrt((found[name][whole, k] ** 2).mean()) for name in ("panel", "items")]
        shares = [found[name][whole, k].mean() for name in ("covered", "covered, uncorrected")]
        rows.append(
            [
                f"N = {n_respondents:,}, {level} at {CUTS[level]:g}",
                f"{np.nanmean(error):+.4f}",
                f"{np.nanstd(error):.4f}",
                f"{parts[0]:.4f}",
                f"{parts[1]:.4f}",
                *(f"{share:.4f}" for share in shares),
                f"{int((~whole).sum())}",
            ]
        )
    return rows


def bias_rows(found: dict[str, FloatArray], n_respondents: int) -> list[list[str]]:
    """Return a row per rule and aggregate: mean error of each cut."""
    rows = []
    for rule in RULES:
        for aggregate in ("mean", "median"):
            means = np.nanmean(found[f"{rule} {aggregate}"], axis=0)
            rows.append([f"N = {n_respondents:,}, {rule}, {aggregate}", *(f"{value:+.4f}" for value in means)])
    return rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``python -m benchmarks bookmark``."""
    parser.add_argument("--studies", type=int, default=N_STUDIES)
    parser.add_argument("--respondents", type=int, nargs="+", default=list(N_RESPONDENTS))


def run(arguments: argparse.Namespace, command: str) -> None:
    """Simulate, and print or write the tables into docs/validation.md."""
    coverage: list[Sequence[str]] = []
    bias: list[Sequence[str]] = []
    for n_respondents in arguments.respondents:
        found = simulate(n_respondents, arguments.studies)
        coverage += coverage_rows(found, n_respondents)
        bias += bias_rows(found, n_respondents)
        print(*coverage[-len(CUTS) :], sep="\n", flush=True)
    error = np.sqrt(0.95 * 0.05 / arguments.studies)
    first = ["midpoint, mean", "bias", "SD", "panel SE", "items SE", "coverage", "coverage, bias left in", "open-ended"]
    text = "\n\n".join(
        [
            f"`{command}`, {arguments.studies} studies; Monte Carlo error of a coverage {error:.4f}, of a bias about 0.002",
            table(first, coverage),
            table(["bias", *CUTS], bias),
        ]
    )
    if arguments.write:
        write_section("bookmark", text, PAGE)
    print(text)
