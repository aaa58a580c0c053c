"""Calibration: ours and the peers on the same data, taking turns, with and without standard errors."""

from __future__ import annotations

import argparse

from benchmarks.designs import DESIGNS, Data
from benchmarks.engines import ENGINES
from benchmarks.machine import describe
from benchmarks.measure import Measured, MeasurementError, interleaved
from benchmarks.tables import seconds, table, write_section

SMALL, MANY, FEW = 3_000, 5, 3
GIRTH_CELLS = 3_000_000
"""Above so many cells girth and mirt's plain EM are measured only when asked (--slow-everywhere), and girth once."""
SLOW = ("girth", "mirt-em")
HEADER = [
    "program",
    "CPU s (median)",
    "least - most",
    "wall s",
    "ratio to ours",
    "log-likelihood",
    "short of the best",
    "iterations",
    "peak MB",
    "above start MB",
]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``python -m benchmarks calibrate``."""
    parser.add_argument("--designs", nargs="+", choices=DESIGNS, default=list(DESIGNS))
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--repeats", type=int, help=f"default {MANY} up to {SMALL:,} respondents, {FEW} above")
    parser.add_argument("--standard-errors", choices=["both", "yes", "no"], default="both")
    parser.add_argument(
        "--slow-everywhere", action="store_true", help="girth (once) and plain EM on the largest data too: many minutes"
    )


def engines_for(data: Data, asked: list[str], standard_errors: bool, slow_everywhere: bool) -> tuple[list[str], list[str]]:
    """Return the engines that can do the task, and a line for each that is left out."""
    able, notes = [], []
    for name in asked:
        engine = ENGINES[name]
        if data.groups is not None and not engine.groups:
            notes.append(f"{engine.name}: no multi-group form")
        elif standard_errors and not engine.standard_errors:
            notes.append(f"{engine.name}: no standard errors")
        elif standard_errors and data.groups is not None and name != "psychoedu":
            notes.append(f"{engine.name}: no standard errors with several groups")
        elif name in SLOW and data.responses.size > GIRTH_CELLS and not slow_everywhere:
            notes.append(f"{engine.name}: not run on data of this size (--slow-everywhere)")
        else:
            able.append(name)
    return able, notes


def rows_of(found: dict[str, Measured]) -> list[list[str]]:
    """Return one row a program, with its CPU time as a multiple of ours and its distance to the best log-likelihood."""
    best = max(measured["log_likelihood"] for measured in found.values())
    ours = found.get("psychoedu")
    rows = []
    for name, measured in found.items():
        low, high = measured.cpu_range
        steps, iterations = measured["n_e_steps"], measured["n_iterations"]
        count = "" if iterations is None else str(iterations)
        if steps is not None:
            count = f"{steps:.3g} E-steps"
        rows.append(
            [
                ENGINES[name].name + ("" if measured["converged"] in (True, None) else " (not converged)"),
                seconds(measured.cpu),
                f"{seconds(low)} - {seconds(high)}" if len(measured.runs) > 1 else "one run",
                seconds(measured.wall),
                f"{measured.cpu / ours.cpu:.1f}" if ours else "",
                f"{measured['log_likelihood']:.4f}",
                f"{best - measured['log_likelihood']:.4f}",
                count,
                f"{measured.worst('peak'):.0f}",
                f"{measured.worst('growth'):.0f}",
            ]
        )
    return rows


def fastest_peer(found: dict[str, Measured]) -> str:
    """Say how many times ours the fastest peer's CPU time is."""
    peers = {name: measured for name, measured in found.items() if name != "psychoedu"}
    if "psychoedu" not in found or not peers:
        return ""
    name = min(peers, key=lambda key: peers[key].cpu)
    ratio = peers[name].cpu / found["psychoedu"].cpu
    return f"The fastest peer, {ENGINES[name].name}, takes {ratio:.1f} times our CPU time."


def run(arguments: argparse.Namespace, command: str) -> None:
    """Measure what was asked, print the tables, and write them into docs/benchmarks.md with --write."""
    parts = [f"`{command}` on {describe()}"]
    for key in arguments.designs:
        title, make = DESIGNS[key]
        data = make()
        small = len(data.responses) <= SMALL
        repeats = arguments.repeats or (MANY if small else FEW)
        inner = 20 if data.responses.size <= 10_000 else 1
        for standard_errors in {"both": (False, True), "yes": (True,), "no": (False,)}[arguments.standard_errors]:
            heading = f"{data.name_of_shape}, {title}, {'with' if standard_errors else 'without'} standard errors"
            print(heading, flush=True)
            engines, notes = engines_for(data, arguments.engines, standard_errors, arguments.slow_everywhere)
            if not engines:
                continue
            times = {name: 1 if name == "girth" and not small else repeats for name in engines}
            try:
                found = interleaved(data, engines, standard_errors, times, inner, say=lambda text: print(text, flush=True))
            except MeasurementError as error:
                print(f"  failed: {error}", flush=True)
                parts.append(f"### {heading}\n\nNot measured: a program failed.")
                continue
            text = table(HEADER, rows_of(found))
            verdict = " ".join([fastest_peer(found), f"Left out - {'; '.join(notes)}." if notes else ""]).strip()
            parts.append(f"### {heading}\n\n{text}\n\n{verdict}")
            print(text, verdict, sep="\n", flush=True)
    if arguments.write:
        write_section("calibrate", "\n\n".join(parts))
