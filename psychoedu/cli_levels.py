"""Command line: ``psychoedu booklet``, ``bookmark`` and ``classify``, from a calibrated bank to levels."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychoedu.cli_diagnose import fit_to_of
from psychoedu.cli_files import check_table_name, write_page, write_table
from psychoedu.cli_values import value_named
from psychoedu.exceptions import DataError, FileFormatError
from psychoedu.validation import counted

if TYPE_CHECKING:
    import pandas as pd

    from psychoedu.responses import ResponseMatrix

AS_OPTION = {
    "response_probability": "--rp P",
    "order_by": "--order-by",
    "rule": "--rule",
    "aggregate": "--aggregate",
    "round": "--round",
    "levels": "--levels LEVEL ...",
    "scale": "--scale",
    "keep": "--keep ITEM ...",
    "exclude": "--exclude ITEM ...",
    "missing": "--missing omit",
    "separator": "--separator TEXT",
    "model": "--model-column COLUMN",
    "condition": "--condition-column COLUMN",
}
"""Options that stand for arguments of functions which messages name."""


def add_booklet(commands: Any, add_reading: Callable[[argparse.ArgumentParser], None]) -> argparse.ArgumentParser:
    """Add ``booklet`` with its options."""
    command: argparse.ArgumentParser = commands.add_parser(
        "booklet",
        help="order the items of a bank for a bookmark panel, and make the panel's pages",
        description="Order the items of a calibrated bank, and write the booklet, the panellists' form "
        "and the facilitator's sheet.",
    )
    command.add_argument("bank", help="JSON file written by `psychoedu calibrate --out`, or by .save() of a bank")
    command.add_argument("--rp", type=float, default=0.67, metavar="P", help="response probability (default: %(default)s)")
    command.add_argument("--order-by", default="rp_location", help="rp_location (default) or difficulty")
    command.add_argument("--items", metavar="FILE", help="CSV with what stands on the pages: item, text, key, subskill, ...")
    command.add_argument("--exclude", nargs="+", default=[], metavar="ITEM", help="items to leave out")
    command.add_argument("--keep", nargs="+", default=[], metavar="ITEM", help="flagged items to keep")
    command.add_argument("--out", metavar="FILE", help="write the booklet here, as JSON; `psychoedu bookmark` reads it")
    command.add_argument("--csv", metavar="FILE", help="write the pages here, as CSV")
    group = command.add_argument_group("pages for the panel")
    group.add_argument("--levels", nargs="+", metavar="LEVEL", help="levels that get a bookmark, lowest first")
    group.add_argument("--rule", default="last-mastered", help="last-mastered (default), first-not-mastered or midpoint")
    group.add_argument("--aggregate", default="median", help="median (default) or mean")
    group.add_argument("--form", metavar="FILE", help="write the panellists' form here, as HTML")
    group.add_argument("--facilitator", metavar="FILE", help="write the facilitator's sheet here, as HTML")
    group.add_argument("--title", default="Ordered item booklet", help="heading of the pages")
    group.add_argument("--responses", metavar="FILE", help="responses of test takers, for the impact on the facilitator's sheet")
    group.add_argument("--groups", metavar="COLUMN", help="column with the group of each test taker")
    add_reading(command)
    return command


def add_bookmark(commands: Any) -> argparse.ArgumentParser:
    """Add ``bookmark`` with its options."""
    command: argparse.ArgumentParser = commands.add_parser(
        "bookmark",
        help="turn a panel's placements into cut scores",
        description="Turn the bookmarks of a panel into cut scores with their standard errors.",
    )
    command.add_argument("bank", help="JSON file of a booklet (`psychoedu booklet --out`), a calibration or a bank")
    command.add_argument("placements", nargs="+", help="CSV files with the columns panellist, round, level, page")
    command.add_argument("--rp", type=float, metavar="P", help="response probability (default: the booklet's, else 0.67)")
    command.add_argument("--rule", default="last-mastered", help="last-mastered (default), first-not-mastered or midpoint")
    command.add_argument("--aggregate", default="median", help="median (default) or mean")
    command.add_argument("--round", metavar="ROUND", help="round with the final placements (default: the last)")
    command.add_argument("--levels", nargs="+", metavar="LEVEL", help="order of the levels, lowest first")
    command.add_argument("--scale", help="CSE or CEFR (default: whichever has the levels)")
    command.add_argument("--missing", default="raise", help="where a panellist lacks a bookmark: raise (default) or omit")
    command.add_argument("--out", metavar="FILE", help="write the cut scores here, as JSON; `psychoedu classify` reads it")
    command.add_argument("--csv", metavar="FILE", help="write the cut scores and their errors here, as CSV")
    command.add_argument("--report", metavar="DIR", help="write a page (index.html) into this folder")
    return command


def add_classify(commands: Any, add_reading: Callable[[argparse.ArgumentParser], None]) -> argparse.ArgumentParser:
    """Add ``classify`` with its options."""
    command: argparse.ArgumentParser = commands.add_parser(
        "classify",
        help="say which level each respondent has reached, and how sure that is",
        description="Score respondents, place them on the levels, with the probability of each level from every source of error.",
    )
    command.add_argument("bank", help="JSON file of the calibration or bank")
    command.add_argument("cuts", help="JSON file written by `psychoedu bookmark --out`, or by .save() of cut scores")
    command.add_argument("responses", help="CSV or Parquet file, respondents x items")
    command.add_argument("--method", default="eap", help="eap (default), map, ml or wle")
    command.add_argument("--prior-mean", type=float, default=0.0, help="mean of the population (default: %(default)s)")
    command.add_argument("--prior-sd", type=float, default=1.0, help="SD of the population (default: %(default)s)")
    command.add_argument("--draws", type=int, default=1000, metavar="N", help="joint draws; 0: measurement error alone")
    command.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the draws (default: %(default)s)")
    command.add_argument("--out", metavar="FILE", help="write levels and probabilities here, as CSV")
    command.add_argument("--json", metavar="FILE", help="write the levels here, as JSON; psychoedu.load reads it")
    command.add_argument("--report", metavar="DIR", help="write a page (index.html) into this folder")
    command.add_argument("--select", metavar="COLUMN=VALUE", help="classify these respondents alone (VALUE,VALUE: several)")
    group = command.add_argument_group("a table of models")
    group.add_argument("--table", metavar="FILE", help="write it here: .md, .tex or .html")
    group.add_argument("--separator", metavar="TEXT", help="labels are model TEXT condition, as M01_p1 with --separator _")
    group.add_argument("--model-column", metavar="COLUMN", help="column with each respondent's model")
    group.add_argument("--condition-column", metavar="COLUMN", help="column with the condition, such as the prompt")
    add_reading(command)
    return command


def targets(options: argparse.Namespace) -> list[str | None]:
    """Return the files that a command is to write."""
    check_table_name(getattr(options, "table", None))
    return [getattr(options, name, None) for name in ("out", "csv", "form", "facilitator", "json", "table")]


def run_booklet(options: argparse.Namespace, read: Callable[[Sequence[str]], ResponseMatrix], say: Callable[[str], None]) -> None:
    """Make the booklet, print it and write what was asked for."""
    from psychoedu.report.panel_common import check_levels
    from psychoedu.standard_setting.booklet import booklet
    from psychoedu.stored import load

    if (options.form or options.facilitator) and not options.levels:
        raise DataError("The panel's pages need the levels that get a bookmark: --levels CSE-3 CSE-4 ...")
    if options.responses and not options.facilitator:
        raise DataError("--responses is for the impact on the facilitator's sheet; name that with --facilitator FILE.")
    if options.form or options.facilitator:
        check_levels(options.levels)
    bank = load(options.bank)
    items = None if options.items is None else _item_table(options.items, options.sep)
    own = _own_labels(bank)
    pages = booklet(
        bank,
        options.rp,
        options.order_by,
        items=items if items is None else items.rename(index=own),
        exclude=[own.get(label, label) for label in options.exclude],
        keep=[own.get(label, label) for label in options.keep],
    )
    say(pages.summary())
    if options.out:
        pages.save(options.out)
        say(f"wrote {options.out}: the booklet ({counted(pages.n_pages, 'page')})")
    if options.csv:
        pages.to_csv(options.csv)
        say(f"wrote {options.csv}: the pages")
    if options.form:
        text = pages.to_html(options.levels, title=options.title, rule=options.rule)
        Path(options.form).write_text(text, encoding="utf-8")
        say(f"wrote {options.form}: the panellists' form; send it to them, it opens in any browser")
    if options.facilitator:
        from psychoedu.report.facilitator_page import facilitator_page

        impact = _impact(bank, read([options.groups] if options.groups else []), options.groups) if options.responses else None
        text = facilitator_page(
            pages, options.levels, title=options.title, rule=options.rule, aggregate=options.aggregate, impact=impact
        )
        Path(options.facilitator).write_text(text, encoding="utf-8")
        say(f"wrote {options.facilitator}: the facilitator's sheet; open the panellists' files in it")


def run_bookmark(options: argparse.Namespace, say: Callable[[str], None]) -> None:
    """Read the placements, print the cut scores and write what was asked for."""
    from psychoedu.standard_setting.bookmark import bookmark
    from psychoedu.stored import load

    bank = load(options.bank)
    cuts = bookmark(
        bank,
        list(options.placements),
        options.rp,
        options.rule,
        options.aggregate,
        _round(options.round),
        levels=options.levels,
        scale=options.scale,
        missing=options.missing,
    )
    assert cuts.panel is not None
    say(f"{cuts.summary()}\n\n{cuts.panel.summary()}")
    if options.out:
        cuts.save(options.out)
        say(f"wrote {options.out}: the cut scores")
    if options.csv:
        cuts.to_frame().to_csv(options.csv)
        say(f"wrote {options.csv}: the cut scores and their errors")
    if options.report:
        from psychoedu.report.levels import levels_page

        write_page(options.report, levels_page(cuts, calibration=_with_groups(bank)), say)


def run_classify(
    options: argparse.Namespace, read: Callable[[Sequence[str]], ResponseMatrix], say: Callable[[str], None]
) -> None:
    """Score, classify, print and write what was asked for."""
    from psychoedu.standard_setting.cut_scores import CutScores
    from psychoedu.standard_setting.level_table import level_table
    from psychoedu.stored import load

    bank, cuts = load(options.bank), load(options.cuts)
    if not isinstance(cuts, CutScores):
        raise FileFormatError(f"{options.cuts} holds no cut scores. Expected a file written by `psychoedu bookmark --out`.")
    select = fit_to_of(options.select, "--select")
    columns = [options.model_column, options.condition_column, *(select or {})]
    responses = read([name for name in dict.fromkeys(columns) if name])
    if select is not None:
        table = responses.respondents
        chosen = {name: [value_named(table[name], value, "--select") for value in values] for name, values in select.items()}
        responses = responses.select(respondents=chosen)
    found = level_table(
        bank,
        responses,
        cuts,
        separator=options.separator,
        model=options.model_column,
        condition=options.condition_column,
        method=options.method,
        prior_mean=options.prior_mean,
        prior_sd=options.prior_sd,
        n_draws=options.draws,
        rng=options.seed,
    )
    say(found.levels.summary())
    if options.separator or options.model_column or options.condition_column or options.table:
        say(f"\n{found.summary()}")
    if options.out:
        found.levels.to_frame().to_csv(options.out)
        say(f"wrote {options.out}: levels of {counted(found.levels.n_respondents, 'respondent')}")
    if options.json:
        found.levels.save(options.json)
        say(f"wrote {options.json}: the levels")
    if options.table:
        write_table(found, options.table)
        say(f"wrote {options.table}: levels of {counted(len(found.models), 'model')}")
    if options.report:
        from psychoedu.report.levels import levels_page

        write_page(options.report, levels_page(cuts, "Levels", calibration=_with_groups(bank), level_table=found), say)


def _with_groups(bank: Any) -> Any:
    return bank if hasattr(bank, "groups") else None


def _own_labels(bank: Any) -> dict[str, Any]:
    own = getattr(bank, "bank", bank)
    return {str(label): label for label in getattr(own, "labels", ())}


def _item_table(path: str, sep: str) -> pd.DataFrame:
    import pandas as pd

    try:
        table = pd.read_csv(path, sep=sep, encoding="utf-8-sig", dtype={0: str})
    except (UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise FileFormatError(
            f"{path} is not a CSV file of items ({error}). Expected a column item and others beside it."
        ) from error
    name = "item" if "item" in table.columns else table.columns[0]
    return table.assign(**{str(name): table[name].astype(str)}).set_index(name)


def _impact(bank: Any, responses: ResponseMatrix, groups: str | None) -> dict[Any, Any]:
    """Return the share of each group at or above each ability, each group with its own population as prior."""
    import numpy as np

    from psychoedu.irt.score import score
    from psychoedu.standard_setting.impact import survival_curves

    known = getattr(bank, "groups", None)
    if known is not None and groups is not None:  # others, such as models, are no test takers of the panel's
        own = responses.respondents[groups].astype(str).isin([str(name) for name in known.index]).to_numpy()
        responses = responses.select(respondents=own) if own.any() else responses
    labels = None if groups is None else responses.respondents[groups]
    mean, sd = np.zeros(responses.n_respondents), np.ones(responses.n_respondents)
    if known is not None and labels is not None:
        for name, row in known.iterrows():
            own = (labels.astype(str) == str(name)).to_numpy()
            mean[own], sd[own] = row["latent_mean"], row["latent_sd"]
    return survival_curves(score(bank, responses, prior_mean=mean, prior_sd=sd), labels)


def _round(text: str | None) -> Any:
    if text is None:
        return None
    return int(text) if text.isdecimal() else text
