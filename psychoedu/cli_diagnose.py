"""Command line: ``psychoedu diagnose``, which fits a cognitive diagnosis model and writes who has mastered what."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychoedu.cli_files import check_table_name, write_page, write_table
from psychoedu.cli_values import value_named
from psychoedu.exceptions import DataError
from psychoedu.validation import counted

if TYPE_CHECKING:
    import pandas as pd

    from psychoedu.cdm.mastery_table import MasteryTable
    from psychoedu.cdm.results import Diagnosis
    from psychoedu.responses import ResponseMatrix

AS_OPTION = {
    "structure": "--structure",
    "higher_order": "--higher-order",
    "group_structure": "--group-structure",
    "hierarchy": "--hierarchy 'A before B'",
    "n_starts": "--starts N",
    "memory_limit": "--memory-limit GB",
    "classify_unidentified": "--classify-unidentified",
    "attributes": "--attributes COLUMN ...",
    "separator": "--separator TEXT",
    "condition": "--condition-column COLUMN",
}
"""Options that stand for arguments of functions which messages name."""


def add_diagnose(commands: Any, add_reading: Callable[[argparse.ArgumentParser], None]) -> argparse.ArgumentParser:
    """Add the command with its options; ``add_reading`` adds those on how the responses are read."""
    command: argparse.ArgumentParser = commands.add_parser(
        "diagnose",
        help="say which attributes each respondent has mastered",
        description="Fit a cognitive diagnosis model by maximum likelihood and print the tables.",
    )
    command.add_argument("responses", help="CSV or Parquet file, respondents x items: 1 right, 0 wrong, blank not administered")
    command.add_argument("q_matrix", help="CSV file, items x attributes: 1 where the item requires it, else 0")
    command.add_argument("--out", metavar="FILE", help="write the diagnosis here, as JSON; `psychoedu score` reads it")
    command.add_argument("--model", default="G-DINA", help="G-DINA (default), DINA, DINO, ACDM, RRUM or LLM")
    command.add_argument("--structure", default="higher-order", help="higher-order (default), saturated or independent")
    command.add_argument("--higher-order", default="2pl", help="slopes on the ability: 2pl (default), common-slope or rasch")
    command.add_argument("--hierarchy", nargs="+", metavar="'A before B'", help="prerequisites (--structure saturated)")
    command.add_argument("--compare", action="store_true", help="compare the five models first")
    command.add_argument("--fit-to", metavar="COLUMN=VALUE", help="estimate from these (VALUE,VALUE: several); others are scored")
    command.add_argument("--groups", metavar="COLUMN", help="column with the group of each respondent")
    command.add_argument("--group-structure", default="separate", help="of groups: separate (default) or theta")
    command.add_argument("--standard-errors", default="oakes", help="oakes (default), crossprod, sandwich or none")
    command.add_argument("--starts", type=int, metavar="N", help="starts")
    command.add_argument("--seed", type=int, metavar="N", help="seed of the random starts")
    command.add_argument("--points", type=int, metavar="N", help="quadrature points")
    command.add_argument("--max-iter", type=int, metavar="N", help="most iterations")
    command.add_argument("--memory-limit", type=float, metavar="GB", help="memory that the fit may take")
    command.add_argument("--classify-unidentified", action="store_true", help="classify what the Q-matrix cannot tell apart, too")
    command.add_argument("--items-csv", metavar="FILE", help="write the items' probabilities here")
    command.add_argument("--mastery-csv", metavar="FILE", help="write mastery, ability and profile of every respondent here")
    command.add_argument("--profiles-csv", metavar="FILE", help="write the probability of every profile here")
    command.add_argument("--report", metavar="DIR", help="write a page (index.html) into this folder")
    group = command.add_argument_group("reading the Q-matrix")
    group.add_argument("--q-item", metavar="COLUMN", help="column with the items' labels (default: item, else the first)")
    group.add_argument("--attributes", nargs="+", metavar="COLUMN", help="columns that are attributes (default: all others)")
    group = command.add_argument_group("a table of models (those that --fit-to leaves out)")
    group.add_argument("--table", metavar="FILE", help="write it here: .md, .tex or .html")
    group.add_argument("--separator", metavar="TEXT", help="labels are model TEXT condition, as M01_p1 with --separator _")
    group.add_argument("--model-column", metavar="COLUMN", help="column with each respondent's model")
    group.add_argument("--condition-column", metavar="COLUMN", help="column with the condition, such as the prompt")
    add_reading(command)
    return command


def targets(options: argparse.Namespace) -> list[str | None]:
    """Return the files that the command is to write."""
    check_table_name(options.table)
    return [options.out, options.items_csv, options.mastery_csv, options.profiles_csv, options.table]


def fit_to_of(text: str | None, option: str = "--fit-to") -> dict[str, list[str]] | None:
    """Read COLUMN=VALUE or COLUMN=VALUE,VALUE."""
    if text is None:
        return None
    column, sign, values = text.partition("=")
    wanted = [value for value in values.split(",") if value]
    if not (column and sign and wanted):
        raise DataError(f"{option} {text} is not COLUMN=VALUE, such as {option} group=learner.")
    return {column: wanted}


def run_diagnose(
    options: argparse.Namespace, read: Callable[[Sequence[str]], ResponseMatrix], say: Callable[[str], None]
) -> None:
    """Fit, print and write.

    Parameters
    ----------
    options : Namespace
        Of the parser.
    read : callable
        Takes the names of columns that describe respondents, and returns the responses.
    say : callable
        Takes the text to show.
    """
    from psychoedu.cdm.compare import compare
    from psychoedu.cdm.diagnose import diagnose
    from psychoedu.cdm.q_matrix import QMatrix
    from psychoedu.report.diagnosis import comparison_text

    if options.compare and options.groups:
        raise DataError("--compare compares models of one population; leave out --groups, or --compare.")
    fit_to = fit_to_of(options.fit_to)
    columns = [options.groups, *(fit_to or {}), options.model_column, options.condition_column]
    responses = read([name for name in dict.fromkeys(columns) if name])
    chosen_from: dict[str, list[Any]] | None = None
    if fit_to is not None:
        table = responses.respondents
        chosen_from = {name: [value_named(table[name], value, "--fit-to") for value in values] for name, values in fit_to.items()}
    q_matrix = QMatrix.read_csv(options.q_matrix, item=options.q_item, attributes=options.attributes, sep=options.sep)
    chosen = {
        name: value
        for name, value in (("n_starts", options.starts), ("n_points", options.points), ("rng", options.seed))
        if value is not None
    }
    common: dict[str, Any] = {
        "structure": options.structure,
        "higher_order": options.higher_order,
        "fit_to": chosen_from,
        **chosen,
    }
    comparison = compare(responses, q_matrix, **common) if options.compare else None
    if comparison is not None:
        say(f"{comparison_text(comparison)}\n")
    if options.max_iter is not None:
        common["max_iter"] = options.max_iter
    if options.memory_limit is not None:
        common["memory_limit"] = options.memory_limit * 1e9
    diagnosis = diagnose(
        responses,
        q_matrix,
        model=options.model,
        groups=options.groups,
        group_structure=options.group_structure,
        hierarchy=options.hierarchy,
        standard_errors=None if options.standard_errors == "none" else options.standard_errors,
        classify_unidentified=options.classify_unidentified,
        **common,
    )
    say(diagnosis.summary())
    _write(diagnosis, responses, comparison, options, say)


def _write(
    diagnosis: Diagnosis,
    responses: ResponseMatrix,
    comparison: pd.DataFrame | None,
    options: argparse.Namespace,
    say: Callable[[str], None],
) -> None:
    if options.out:
        diagnosis.save(options.out)
        say(f"wrote {options.out}: the diagnosis ({diagnosis.q_matrix.n_items} items)")
    if options.items_csv:
        diagnosis.items.to_csv(options.items_csv, index=False)
        say(f"wrote {options.items_csv}: the items' probabilities")
    if options.mastery_csv:
        mastery_frame(diagnosis).to_csv(options.mastery_csv)
        say(f"wrote {options.mastery_csv}: mastery by respondent")
    if options.profiles_csv:
        diagnosis.profiles.rename_axis("respondent").to_csv(options.profiles_csv)
        say(f"wrote {options.profiles_csv}: probabilities of the profiles by respondent")
    wanted = any((options.table, options.separator, options.model_column, options.condition_column))
    if not (wanted or options.report):
        return
    table = None
    if wanted:
        from psychoedu.cdm.mastery_table import mastery_table

        table = mastery_table(
            diagnosis,
            separator=options.separator,
            model=options.model_column,
            condition=options.condition_column,
            respondents=responses.respondents,
        )
    if table is not None and options.table:
        write_table(table, options.table)
        say(f"wrote {options.table}: mastery of {_whom(table, options)}")
    elif table is not None:
        say(f"\n{table.summary()}")
    if options.report:
        from psychoedu.report.diagnosis import diagnosis_page

        title = f"Diagnosis of {Path(options.responses).name}"
        write_page(options.report, diagnosis_page(diagnosis, title, comparison=comparison, mastery=table), say)


def _whom(table: MasteryTable, options: argparse.Namespace) -> str:
    if options.fit_to:
        return counted(len(table.models), "model")
    shown = counted(table.cells["respondent"].nunique(), "respondent")
    return f"{shown}; name the learners with --fit-to COLUMN=VALUE to have the others alone in the table"


def scored_frame(diagnosis: Diagnosis, responses: ResponseMatrix) -> pd.DataFrame:
    """Return mastery of respondents on a stored diagnosis, all its parameters held fixed."""
    from psychoedu.cdm.compare import score

    return mastery_frame(score(diagnosis, responses))


def mastery_frame(diagnosis: Diagnosis) -> pd.DataFrame:
    """Return mastery by respondent, with ability, likeliest profile and number of answers.

    Parameters
    ----------
    diagnosis : Diagnosis
        With its responses.

    Returns
    -------
    DataFrame by respondent
        A column per attribute, ``theta`` and ``theta_se`` where there are any, ``profile`` (highest posterior), ``n_answered``.
    """
    frame = diagnosis.mastery.rename_axis("respondent")
    if diagnosis.theta is not None and diagnosis.theta_se is not None:
        frame["theta"], frame["theta_se"] = diagnosis.theta, diagnosis.theta_se
    if not diagnosis.withheld:
        frame["profile"] = diagnosis.classification("map")["profile"]
    frame["n_answered"] = diagnosis.persons.n_answered
    return frame
