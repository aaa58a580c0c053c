"""Command line: ``psychoedu import``, which reads results of other tools and writes records and the response matrix."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from psychoedu.exceptions import DataError, FileFormatError

MATRIX = "responses.csv"
AS_OPTION = {
    "format": "--format F",
    "score": "--score NAME",
    "repeats": "--append for further runs, --repeats majority, first or mean",
    "condition": "--condition NAME",
    "model": "--model NAME",
    "item": "--item FIELD",
    "filter": "--filter NAME",
    "columns": "--column model=COLUMN",
    "metadata": "--metadata NAME",
    "max_score": "--max-score X",
    "threshold": "--threshold SHARE",
    "max_bytes": "--max-bytes N",
    "full": "--full",
}
"""Options that stand for arguments of functions which messages name."""

_REPEATS = ("majority", "first", "mean")


def add_import(commands: Any) -> argparse.ArgumentParser:
    """Add the command with its options."""
    command: argparse.ArgumentParser = commands.add_parser(
        "import",
        help="read results of Inspect, lm-evaluation-harness, HELM, py-irt or tables; write records and the response matrix",
        description="Read results that other tools wrote, recognised by what stands in them, and write records.csv, "
        "records.parquet and responses.csv.",
    )
    command.add_argument("paths", nargs="+", metavar="PATH", help="file, folder or pattern; several are joined")
    command.add_argument("--out", required=True, metavar="FOLDER", help="folder to write to; made where it is absent")
    command.add_argument(
        "--format", metavar="F", help="inspect, lm-eval, helm, py-irt, pedagogy, records, long or wide (default: by content)"
    )
    command.add_argument("--score", metavar="NAME", action="append", help="scorer, metric or stat, where there are several")
    command.add_argument("--model", metavar="NAME", help="the model, where the files do not name it")
    command.add_argument("--condition", metavar="NAME", help="task argument, setting or column that holds the condition")
    command.add_argument("--item", metavar="FIELD", help="field or column that labels the items")
    command.add_argument("--filter", metavar="NAME", help="filter of lm-evaluation-harness (default: the first)")
    command.add_argument(
        "--column", metavar="OURS=THEIRS", action="append", default=[], help="column of a long table, as model=who, score=right"
    )
    command.add_argument("--metadata", metavar="NAME", action="append", help="metadata to keep")
    command.add_argument("--transposed", action="store_true", help="a wide table has a row per item")
    command.add_argument("--full", action="store_true", help="read the full samples of Inspect logs: raw replies, prompt hashes")
    command.add_argument("--append", action="store_true", help="the same items in several files are further runs, not an error")
    command.add_argument("--repeats", choices=_REPEATS, default="majority", help="how runs become one (default: %(default)s)")
    command.add_argument(
        "--votes", choices=("answers", "scores"), default="answers", help="what runs vote with (default: %(default)s)"
    )
    command.add_argument(
        "--invalid",
        choices=("wrong", "missing"),
        default="wrong",
        help="refused, unparsed and empty answers (default: %(default)s)",
    )
    command.add_argument("--threshold", type=float, metavar="SHARE", help="share of the highest score that is right, as 0.5")
    command.add_argument("--max-score", type=float, metavar="X", help="the highest score, where it is not 1")
    command.add_argument("--max-bytes", type=int, metavar="N", help="most bytes read of one file")
    return command


def run_import(options: argparse.Namespace, say: Callable[[str], None]) -> None:
    """Read, write and print.

    Parameters
    ----------
    options : Namespace
        Of the parser.
    say : callable
        Takes the text to show.
    """
    from psychoedu.runners.importers.read import read_results
    from psychoedu.runners.records_files import has_pyarrow
    from psychoedu.runners.records_frame import printable

    folder = Path(options.out)
    if folder.exists() and not folder.is_dir():
        raise FileFormatError(f"--out {printable(str(folder))} is a file; expected the name of a folder.")
    records = read_results(
        options.paths,
        options.format,
        score=options.score,
        repeats="append" if options.append else None,
        model=options.model,
        condition=options.condition,
        item=options.item,
        filter=options.filter,
        columns=dict(_pair(text) for text in options.column),
        metadata=options.metadata,
        transposed=options.transposed,
        max_score=options.max_score,
        full=options.full,
        **({} if options.max_bytes is None else {"max_bytes": options.max_bytes}),
    )
    say(records.summary())
    say("")
    for path in records.save(folder):
        say(f"wrote {printable(str(path))}")
    if not has_pyarrow():
        say("records.parquet was not written: the package pyarrow is not installed (pip install 'psychoedu[parquet]')")
    matrix = records.to_matrix(repeats=options.repeats, invalid=options.invalid, threshold=options.threshold, votes=options.votes)
    target = folder / MATRIX
    frame = matrix.to_frame()
    frame.astype("float64" if matrix.is_fractional else "Int64").to_csv(target)
    how = "" if matrix.reduction is None else f", runs reduced by {matrix.reduction}"
    shape = f"{matrix.n_respondents} x {matrix.n_items}{how}"
    say(f"wrote {printable(str(target))}: {shape}, invalid answers {options.invalid}, blank where missing")


def _pair(text: str) -> tuple[str, str]:
    ours, sign, theirs = text.partition("=")
    if not sign or not ours or not theirs:
        raise DataError(f"--column {text}: expected the record's name, =, and the table's, as in --column model=who.")
    return ours, theirs
