"""Cost against the number of respondents: our calibration at 10^4, 10^5 and 10^6 respondents, 20 and 60 items."""

from __future__ import annotations

import argparse

from benchmarks.designs import simulate
from benchmarks.machine import describe
from benchmarks.measure import interleaved
from benchmarks.tables import seconds, table, write_section

RESPONDENTS = (10_000, 100_000, 1_000_000)
ITEMS = (20, 60)
HEADER = ["data", "CPU s", "microseconds a respondent", "E-steps", "peak MB", "above start MB", "data at one byte a cell, MB"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``python -m benchmarks scaling``."""
    parser.add_argument("--respondents", nargs="+", type=int, default=list(RESPONDENTS))
    parser.add_argument("--items", nargs="+", type=int, default=list(ITEMS))
    parser.add_argument("--repeats", type=int, default=1)


def run(arguments: argparse.Namespace, command: str) -> None:
    """Measure each size, and print or write the table."""
    rows = []
    for n_items in arguments.items:
        for n_respondents in arguments.respondents:
            data = simulate(n_respondents, n_items)
            found = interleaved(data, ["psychoedu"], False, {"psychoedu": arguments.repeats})["psychoedu"]
            steps = found["n_e_steps"] if found["n_e_steps"] is not None else found["n_iterations"]
            rows.append(
                [
                    data.name_of_shape,
                    seconds(found.cpu),
                    f"{1e6 * found.cpu / n_respondents:.2f}",
                    f"{steps:.3g}",
                    f"{found.worst('peak'):.0f}",
                    f"{found.worst('growth'):.0f}",
                    f"{data.responses.size / 1024**2:.0f}",
                ]
            )
            print(*rows[-1], flush=True)
    text = table(HEADER, rows)
    if arguments.write:
        write_section("scaling", f"`{command}` on {describe()}\n\n{text}")
    print(text)
