"""Command line: calibrate, diagnose, score, set levels and classify from stored files, contrast rewards, and a demonstration."""

from __future__ import annotations

import argparse
import os
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychoedu import cli_contrast, cli_diagnose, cli_import, cli_levels, cli_run
from psychoedu._version import __version__
from psychoedu.cli_files import write_page
from psychoedu.cli_values import value_named
from psychoedu.exceptions import DataError, FileFormatError, LabelError, PsychoeduError, PsychoeduWarning

if TYPE_CHECKING:
    import pandas as pd

    from psychoedu.responses import ResponseMatrix

FAILED = 2
MISSING = -1
"""What ``ResponseMatrix.scored()`` holds where there is no score."""
_AS_OPTION = {
    "respondent_columns": "--respondent-columns COLUMN",
    "respondent": "--respondent COLUMN, or --no-labels",
    "item": "--item COLUMN",
    "score": "--score COLUMN",
    "repeats": "--repeats",
    "recode": "--recode FROM=TO",
    "missing_codes": "--missing-codes CODE",
    "on_constant": "--on-constant drop",
    "groups": "--groups COLUMN",
    "reference_group": "--reference-group LABEL",
    "fit_to": "--fit-to COLUMN=VALUE",
    "priors": "--priors",
    "model": "--model",
    "n_points": "--points N",
    "max_iter": "--max-iter N",
    "assume_equal_populations": "--assume-equal-populations",
    "sep": "--sep",
    **cli_diagnose.AS_OPTION,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status: 0, or 2 after an error.

    Parameters
    ----------
    arguments : sequence of str, optional
        Words after the program's name; those of the shell if None.

    Returns
    -------
    int

    Examples
    --------
    >>> main(["score", "absent.json", "absent.csv"])
    2
    """
    options = _parser().parse_args(arguments)
    names = {**_AS_OPTION, **getattr(options, "as_option", {})}
    with warnings.catch_warnings():
        warnings.filterwarnings("always", category=PsychoeduWarning)
        warnings.showwarning = partial(_show_warning, names)
        try:
            options.run(options)
            sys.stdout.flush()
        except BrokenPipeError:  # the reader, such as head, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except PsychoeduError as error:
            print(f"error: {error}{_as_options(str(error), names)}", file=sys.stderr)
            return FAILED
        except OSError as error:
            where = f": {error.filename}" if error.filename else ""
            print(f"error: {error.strerror or error}{where}", file=sys.stderr)
            return FAILED
    return 0


def _show_warning(names: dict[str, str], message: Warning | str, *_: Any) -> None:
    print(f"warning: {message}{_as_options(str(message), names)}", file=sys.stderr)


def _as_options(message: str, names: dict[str, str]) -> str:
    """Name the options of the command line that stand for arguments of functions in a message."""
    named = [word for word in names if re.search(rf"\b{word}\b *=", message)]
    return f"\n(on the command line: {', '.join(names[word] for word in named)})" if named else ""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="psychoedu",
        description="Psychometrics for educational benchmarks. Start with: psychoedu demo",
    )
    parser.add_argument("--version", action="version", version=f"psychoedu {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_calibrate(commands)
    _add_score(commands)
    cli_diagnose.add_diagnose(commands, _add_reading).set_defaults(run=_diagnose)
    cli_contrast.add_contrast(commands).set_defaults(run=_contrast, as_option=cli_contrast.AS_OPTION)
    cli_levels.add_booklet(commands, _add_reading).set_defaults(run=_booklet, as_option=cli_levels.AS_OPTION)
    cli_levels.add_bookmark(commands).set_defaults(run=_bookmark, as_option=cli_levels.AS_OPTION)
    cli_levels.add_classify(commands, _add_reading).set_defaults(run=_classify, as_option=cli_levels.AS_OPTION)
    cli_run.add_run(commands).set_defaults(run=_run, as_option=cli_run.AS_OPTION)
    cli_import.add_import(commands).set_defaults(run=_import, as_option=cli_import.AS_OPTION)
    demo = commands.add_parser(
        "demo",
        help="calibrate, set levels on and diagnose the data that come with the package; write tables, figures and a page",
        description="Calibrate LSAT-7 (real) and a design of two test forms (simulated), and diagnose it; needs no network.",
    )
    demo.add_argument(
        "--out", metavar="DIR", help="folder to write to (default: psychoedu-demo; with --runners psychoedu-demo-runners)"
    )
    demo.add_argument(
        "--runners",
        action="store_true",
        help='run simulated models through the CSEBench runner instead, offline; needs pip install "psychoedu[runners]"',
    )
    demo.set_defaults(run=_demo)
    return parser


def _add_calibrate(commands: Any) -> None:
    command = commands.add_parser(
        "calibrate",
        help="estimate item parameters from responses",
        description="Estimate a 1PL, 2PL or Rasch model by marginal maximum likelihood and print the tables.",
    )
    command.add_argument("responses", help="CSV or Parquet file, respondents x items: 1 right, 0 wrong, blank not administered")
    command.add_argument("--out", metavar="FILE", help="write the calibration here, as JSON; `psychoedu score` reads it")
    command.add_argument("--model", default="2pl", help="2pl (default), 1pl or rasch")
    command.add_argument("--groups", metavar="COLUMN", help="column with the group of each respondent")
    command.add_argument("--reference-group", metavar="LABEL", help="group with mean 0 and SD 1 (default: the first met)")
    command.add_argument("--fit-to", metavar="COLUMN=VALUE", help="estimate from these (VALUE,VALUE: several); others are scored")
    command.add_argument("--standard-errors", default="oakes", help="oakes (default), crossprod, sandwich or none")
    command.add_argument("--points", type=int, metavar="N", help="quadrature points")
    command.add_argument("--max-iter", type=int, metavar="N", help="most iterations")
    command.add_argument("--on-constant", choices=["raise", "drop"], default="raise", help="what to do with constant items")
    command.add_argument("--assume-equal-populations", action="store_true", help="allow groups without a common item")
    command.add_argument("--priors", action="store_true", help="weak priors on the item parameters, for few respondents")
    command.add_argument("--progress", action="store_true", help="show progress")
    command.add_argument("--items-csv", metavar="FILE", help="write the item table here")
    command.add_argument("--scores-csv", metavar="FILE", help="write the EAP score of every respondent here")
    command.add_argument("--report", metavar="DIR", help="write a page (index.html) into this folder")
    _add_reading(command)
    command.set_defaults(run=_calibrate)


def _add_score(commands: Any) -> None:
    command = commands.add_parser(
        "score",
        help="score respondents with a stored bank or diagnosis",
        description="Score respondents, one or many, with the parameters of a stored calibration, bank or diagnosis.",
    )
    command.add_argument("bank", help="JSON file written by `psychoedu calibrate --out`, by `diagnose --out`, or by .save()")
    command.add_argument("responses", help="CSV or Parquet file, respondents x items")
    command.add_argument("--method", default="eap", help="eap (default), map, ml or wle")
    command.add_argument("--prior-mean", type=float, default=0.0, help="mean of the population (default: %(default)s)")
    command.add_argument("--prior-sd", type=float, default=1.0, help="SD of the population (default: %(default)s)")
    command.add_argument("--out", metavar="FILE", help="write the scores here, as CSV (default: to the screen)")
    _add_reading(command)
    command.set_defaults(run=_score)


def _add_reading(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("reading the responses")
    group.add_argument("--respondent", metavar="COLUMN", help="column with the respondents' labels (default: the first)")
    group.add_argument("--no-labels", action="store_true", help="no column has labels; number the respondents 1, 2, ...")
    group.add_argument(
        "--respondent-columns", nargs="+", default=[], metavar="COLUMN", help="columns that describe respondents and are no items"
    )
    group.add_argument("--item", metavar="COLUMN", help="long file: column with the items' labels (give --respondent as well)")
    group.add_argument("--score", metavar="COLUMN", help="long file: column with the scores")
    group.add_argument("--repeats", choices=["majority", "first"], help="long file: how to reduce repeats of a cell")
    group.add_argument(
        "--missing-codes", nargs="+", default=[], type=_number, metavar="CODE", help="codes that mean missing, such as -9 99"
    )
    group.add_argument("--recode", nargs="+", default=[], metavar="FROM=TO", help="what other codes mean, such as 1=0 2=1")
    group.add_argument(
        "--invalid", choices=["wrong", "missing"], default="wrong", help="unparsed, refused and empty answers count as"
    )
    group.add_argument("--sep", default=",", help=r"separator of a CSV file, such as ';' or '\t' (default: comma)")


def _calibrate(options: argparse.Namespace) -> None:
    from psychoedu.irt.calibrate import calibrate
    from psychoedu.irt.priors import Priors
    from psychoedu.irt.summary import item_frame

    for name in (options.out, options.items_csv, options.scores_csv):
        _check_target(name)
    extra = [options.groups] if options.groups else []
    fit_to = cli_diagnose.fit_to_of(options.fit_to)
    extra += [name for name in fit_to or {} if name not in extra]
    responses = _read(options, extra)
    if options.groups:
        _refuse_labels_as_groups(options, responses)
    columns, reference = responses.respondents, options.reference_group
    if reference is not None and options.groups:
        reference = value_named(columns[options.groups], reference, "--reference-group")
    if fit_to is not None:
        fit_to = {name: [value_named(columns[name], value, "--fit-to") for value in values] for name, values in fit_to.items()}
    chosen = {"n_points": options.points, "max_iter": options.max_iter}
    calibration = calibrate(
        responses,
        model=options.model,
        groups=options.groups,
        reference_group=reference,
        fit_to=fit_to,
        priors=Priors() if options.priors else None,
        standard_errors=None if options.standard_errors == "none" else options.standard_errors,
        on_constant=options.on_constant,
        assume_equal_populations=options.assume_equal_populations,
        progress=options.progress,
        **{name: value for name, value in chosen.items() if value is not None},
    )
    print(calibration.summary())
    if options.out:
        calibration.save(options.out)
        print(f"wrote {options.out}: the calibration ({len(calibration.items)} items)")
    if options.items_csv:
        item_frame(calibration).to_csv(options.items_csv)
        print(f"wrote {options.items_csv}: the item table")
    if options.scores_csv:
        calibration.scores().to_frame().to_csv(options.scores_csv)
        print(f"wrote {options.scores_csv}: the scores")
    if options.report:
        from psychoedu.report.html import calibration_page

        title = f"Calibration of {Path(options.responses).name}"
        write_page(options.report, calibration_page(calibration, title=title), _say)


def _score(options: argparse.Namespace) -> None:
    from psychoedu.cdm.results import Diagnosis
    from psychoedu.irt.score import score
    from psychoedu.stored import load

    _check_target(options.out)
    stored = load(options.bank)
    responses = _with_labels_of(stored, _read(options, []))
    frame: pd.DataFrame
    if isinstance(stored, Diagnosis):
        if (options.method, options.prior_mean, options.prior_sd) != ("eap", 0.0, 1.0):
            raise DataError("--method, --prior-mean and --prior-sd belong to a bank; a diagnosis has its own population.")
        frame, how = cli_diagnose.scored_frame(stored, responses), "mastery"
    else:
        scores = score(stored, responses, method=options.method, prior_mean=options.prior_mean, prior_sd=options.prior_sd)
        frame, how = scores.to_frame(), f"method {options.method}"
    if options.out:
        frame.to_csv(options.out)
        print(f"wrote {options.out}: {len(frame)} respondents, {how}")
    else:
        frame.to_csv(sys.stdout)


def _diagnose(options: argparse.Namespace) -> None:
    for name in cli_diagnose.targets(options):
        _check_target(name)
    cli_diagnose.run_diagnose(options, lambda columns: _read(options, columns), _say)


def _contrast(options: argparse.Namespace) -> None:
    cli_contrast.run_contrast(options, _say)


def _booklet(options: argparse.Namespace) -> None:
    _check_targets(options)
    cli_levels.run_booklet(options, lambda columns: _read(options, columns), _say)


def _bookmark(options: argparse.Namespace) -> None:
    _check_targets(options)
    cli_levels.run_bookmark(options, _say)


def _classify(options: argparse.Namespace) -> None:
    from psychoedu.stored import load

    _check_targets(options)
    stored = load(options.bank)
    cli_levels.run_classify(options, lambda columns: _with_labels_of(stored, _read(options, columns)), _say)


def _run(options: argparse.Namespace) -> None:
    cli_run.run_run(options, _say)


def _import(options: argparse.Namespace) -> None:
    cli_import.run_import(options, _say)


def _check_targets(options: argparse.Namespace) -> None:
    for name in cli_levels.targets(options):
        _check_target(name)


def _demo(options: argparse.Namespace) -> None:
    if options.runners:
        from psychoedu.demo_runners import run_demo_runners

        run_demo_runners(Path(options.out or "psychoedu-demo-runners"), _say)
        return
    from psychoedu.demo import run_demo

    run_demo(Path(options.out or "psychoedu-demo"), _say)


def _say(text: str) -> None:
    print(text, flush=True)


def _read(options: argparse.Namespace, extra: Sequence[str]) -> ResponseMatrix:
    from psychoedu.responses import ResponseMatrix

    named = [part for words in options.respondent_columns for part in words.split(",") if part]
    chosen: dict[str, Any] = {"invalid": options.invalid}
    columns = list(dict.fromkeys([*named, *extra]))
    if columns:
        chosen["respondent_columns"] = columns
    if options.missing_codes:
        chosen["missing_codes"] = options.missing_codes
    if options.recode:
        chosen["recode"] = dict(_pair(text) for text in options.recode)
    if options.no_labels:
        chosen["respondent"] = None
    elif options.respondent:
        chosen["respondent"] = options.respondent
    if options.item:
        chosen.update(item=options.item, score=options.score or "score")
        if options.repeats:
            chosen["repeats"] = options.repeats
    elif options.score or options.repeats:
        raise DataError("--score and --repeats belong to a long file; name the column of the items' labels with --item as well.")
    path = Path(options.responses)
    reader: Callable[..., ResponseMatrix] = ResponseMatrix.read_csv
    if path.suffix.lower() in (".parquet", ".pq"):
        reader = ResponseMatrix.read_parquet
    else:
        chosen["sep"] = options.sep
    return reader(path, **chosen)


def _check_target(name: str | None) -> None:
    """Refuse a place that cannot be written to before the work, not after it."""
    if name is None:
        return
    target = Path(name)
    if target.is_dir():
        raise FileFormatError(f"{name} is a folder; expected the name of a file to write.")
    if not target.parent.is_dir():
        raise FileFormatError(
            f"The folder {target.parent} of {target.name} does not exist. Make it first: mkdir -p {target.parent}"
        )


def _refuse_labels_as_groups(options: argparse.Namespace, responses: ResponseMatrix) -> None:
    """Refuse to make a group of every respondent."""
    if options.no_labels:
        return
    groups, labels = responses.respondents[options.groups].astype(str), responses.respondent_labels.astype(str)
    if (groups.to_numpy() == labels.to_numpy()).all():
        raise LabelError(
            f"--groups {options.groups} names the column of the respondents' labels, so that everyone would be a group.\n"
            "Expected a column that respondents share, such as their school. If the labels stand in another column, name that "
            "with --respondent COLUMN."
        )


def _with_labels_of(stored: Any, responses: ResponseMatrix) -> ResponseMatrix:
    """Return the responses with the bank's own item labels, which may be numbers where a file's header is text."""
    bank = getattr(stored, "bank", stored)
    own = {str(label): label for label in getattr(bank, "labels", getattr(bank, "item_labels", ()))}
    labels = [own.get(str(label), label) for label in responses.item_labels]
    if labels == list(responses.item_labels):
        return responses
    return type(responses).from_wide(
        responses.scored(), items=labels, respondents=responses.respondent_labels, missing_codes=[MISSING]
    )


def _number(text: str) -> Any:
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text


def _pair(text: str) -> tuple[Any, Any]:
    code, sign, meaning = text.partition("=")
    if not (code and sign):
        raise DataError(f"--recode {text} is not FROM=TO, such as --recode 1=0 2=1.")
    return _number(code), None if meaning in ("", "missing") else _number(meaning)


if __name__ == "__main__":
    sys.exit(main())
