"""Command line: ``psychoedu contrast``, which compares groups of tasks, or two conditions, and writes a report."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychoedu.cli_values import value_named
from psychoedu.exceptions import DataError, FileFormatError, LabelError
from psychoedu.response_files import BLANKS
from psychoedu.validation import listed

if TYPE_CHECKING:
    import pandas as pd

    from psychoedu.bootstrap.results import Contrast

AS_OPTION = {
    "stratum": "--stratum COLUMN",
    "focal": "--focal LABEL",
    "comparison": "--comparison LABEL",
    "cluster": "--cluster COLUMN",
    "reward": "--reward COLUMN",
    "repeat": "--repeat COLUMN",
    "condition": "--condition COLUMN",
    "missing": "--missing omit, or zero",
    "singleton": "--singleton collapse, or certainty",
    "correction": "--correction",
    "method": "--method",
    "weighting": "--weighting",
    "resample_within": "--resample-within",
    "n_resamples": "--resamples N",
    "confidence_level": "--level",
    "rng": "--seed N",
}
"""Options that stand for arguments of functions which messages name."""


def add_contrast(commands: Any) -> argparse.ArgumentParser:
    """Add the command with its options."""
    command: argparse.ArgumentParser = commands.add_parser(
        "contrast",
        help="compare mean rewards of groups of tasks, or of two conditions, with intervals",
        description="Compare mean rewards by the stratified cluster bootstrap; positive where the focal side scores lower.",
    )
    command.add_argument("rewards", help="CSV or Parquet file with a row per reward: task, model, stratum, reward")
    command.add_argument("--stratum", metavar="COLUMN", help="column with the stratum of the task, such as profile")
    command.add_argument(
        "--focal", required=True, nargs="+", metavar="LABEL", help="the stratum (or condition) that stands apart"
    )
    command.add_argument(
        "--comparison", nargs="+", metavar="LABEL", help="what to compare with (default: all others); LABEL=WEIGHT weighs strata"
    )
    command.add_argument("--cluster", default="task", metavar="COLUMN", help="column of what is drawn (default: %(default)s)")
    command.add_argument("--model", default="model", metavar="COLUMN", help="column with the model (default: %(default)s)")
    command.add_argument("--no-model", action="store_true", help="the rewards are of one model, without a column")
    command.add_argument("--reward", default="reward", metavar="COLUMN", help="column with the reward (default: %(default)s)")
    command.add_argument("--item", metavar="COLUMN", help="column with what is scored within a task")
    command.add_argument("--repeat", metavar="COLUMN", help="column with the run; repeats are averaged first")
    command.add_argument("--condition", metavar="COLUMN", help="compare two conditions on the same tasks, pair by pair")
    command.add_argument("--resamples", type=int, default=10_000, metavar="N", help="resamples (default: %(default)s)")
    command.add_argument("--seed", type=int, metavar="N", help="seed; drawn and printed if left out")
    command.add_argument("--level", type=float, default=0.95, help="confidence level (default: %(default)s)")
    command.add_argument("--method", default="percentile", help="percentile (default), basic, bca, studentised or t")
    command.add_argument("--correction", help="for few clusters: rao-wu or canty-davison")
    command.add_argument("--weighting", default="task", help="task (default), cluster or stratum")
    command.add_argument("--resample-within", metavar="WHAT", help="side (default) or stratum")
    command.add_argument("--missing", default="raise", help="missing rewards: raise (default), omit or zero")
    command.add_argument("--singleton", default="raise", help="strata of one cluster: raise (default), collapse or certainty")
    command.add_argument("--jobs", type=int, default=1, metavar="N", help="threads (-1: all cores)")
    command.add_argument("--sep", default=",", help=r"separator of a CSV file, such as ';' or '\t' (default: comma)")
    command.add_argument("--out", metavar="DIR", help="write report, tables, figures and the methods paragraph into this folder")
    return command


def run_contrast(options: argparse.Namespace, say: Callable[[str], None]) -> None:
    """Compare, print and write.

    Parameters
    ----------
    options : Namespace
        Of the parser.
    say : callable
        Takes the text to show.
    """
    from psychoedu.bootstrap.contrast import contrast

    if options.out and Path(options.out).exists() and not Path(options.out).is_dir():
        raise FileFormatError(f"--out {options.out} is a file; expected the name of a folder.")
    labels = [options.stratum, options.condition, options.cluster, options.item, options.repeat]
    labels += [] if options.no_model else [options.model]
    frame = read_rewards(Path(options.rewards), options.sep, [name for name in labels if name is not None])
    column = options.condition or options.stratum
    focal, comparison = options.focal, options.comparison
    if column is not None and column in frame:
        focal = _side(frame[column], focal, "--focal")
        comparison = None if comparison is None else _side(frame[column], comparison, "--comparison")
        if options.condition and any(isinstance(side, list | dict) for side in (focal, comparison)):
            raise DataError("With --condition, --focal and --comparison are one condition each.")
    found = contrast(
        frame,
        stratum=options.stratum,
        focal=focal,
        comparison=comparison,
        cluster=options.cluster,
        model=None if options.no_model else options.model,
        reward=options.reward,
        n_resamples=options.resamples,
        confidence_level=options.level,
        method=options.method,
        correction=options.correction,
        rng=options.seed,
        item=options.item,
        repeat=options.repeat,
        condition=options.condition,
        weighting=options.weighting,
        resample_within=options.resample_within,
        missing=options.missing,
        singleton=options.singleton,
        n_jobs=options.jobs,
    )
    say(found.summary())
    if options.out:
        folder = Path(options.out)
        for target, what in write_report(found, folder, f"Contrast of {Path(options.rewards).name}"):
            say(f"wrote {target}: {what}")


def read_rewards(path: Path, sep: str = ",", labels: Sequence[str] = ()) -> pd.DataFrame:
    """Read a table of rewards from a CSV or Parquet file.

    Parameters
    ----------
    path : Path
    sep : str
        Of a CSV file.
    labels : sequence of column names
        Read as text where numbers would not be written as they stand in a CSV file, such as 01.
    """
    import pandas as pd

    if not sep:
        raise DataError(r"--sep is empty. Expected the character between cells, such as ',', ';' or '\t'.")
    try:
        if path.suffix.lower() in (".parquet", ".pq"):
            return pd.read_parquet(path)
        sep = sep.replace("\\t", "\t")
        header = pd.read_csv(path, sep=sep, nrows=0).columns
        # a label such as NA stays a label, and only an empty cell is none
        blanks: dict[Any, list[str]] = {name: [""] if name in labels else BLANKS for name in header}
        frame = pd.read_csv(path, sep=sep, keep_default_na=False, na_values=blanks)
        texts = pd.read_csv(path, sep=sep, usecols=lambda name: name in labels, dtype=str, keep_default_na=False, na_values=[""])
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise FileFormatError(f"{path} cannot be read as a table: {error}. Expected a CSV or Parquet file; see --sep.") from error
    for name in texts.columns:
        if frame[name].dtype.kind in "iuf" and not _is_written_so(frame[name], texts[name]):
            frame[name] = texts[name]
    return frame


def _is_written_so(numbers: pd.Series, texts: pd.Series) -> bool:
    """Return whether numbers, written out, give the texts that they were read from."""
    distinct = texts.dropna().drop_duplicates()
    pairs = zip(numbers[distinct.index].tolist(), distinct, strict=True)
    # a column of whole numbers with blanks holds floats
    return all(text.strip() in (str(value), str(value).removesuffix(".0")) for value, text in pairs)


def _side(column: pd.Series, labels: list[str], option: str) -> Any:
    """Return the labels of a side as the column holds them; a mapping where weights are given."""
    known = {str(value) for value in column.dropna().unique()}
    weights: dict[Any, float] = {}
    found = []
    names = [text if text in known else text.rpartition("=")[0] or text for text in labels]
    twice = list(dict.fromkeys(name for name in names if names.count(name) > 1))
    if twice:
        raise DataError(f"{option} names {listed(twice)} more than once. Expected each label once.")
    for text in labels:
        name, sign, weight = text.rpartition("=")
        if sign and text not in known:
            try:
                weights[value_named(column, name, option)] = float(weight)
            except ValueError as error:
                if isinstance(error, LabelError):
                    raise
                raise DataError(f"{option} {text}: the weight has to be a number, as in {option} deep=2 anxious=1.") from error
        else:
            found.append(value_named(column, text, option))
    if weights and found:
        raise DataError(f"{option} gives weights to some labels only; {listed(found)} have none.")
    return weights or (found if len(found) > 1 else found[0])


def write_report(contrast: Contrast, folder: Path, title: str) -> list[tuple[Path, str]]:
    """Write page, tables, paragraph, figures and the result itself into a folder, and return what was written.

    Parameters
    ----------
    contrast : Contrast
    folder : Path
        Made where it does not exist.
    title : str
        Of the page.
    """
    from matplotlib.figure import Figure

    from psychoedu.bootstrap import plots
    from psychoedu.report.contrast import contrast_page

    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "index.html": (contrast_page(contrast, title), "the report; open it in a browser"),
        "contrast.md": (contrast.to_markdown(), "the report in Markdown"),
        "contrast.tex": (contrast.to_latex(), "the table for LaTeX (booktabs)"),
        "methods.txt": (contrast.methods_text() + "\n", "a paragraph for the methods section"),
    }
    written = []
    for name, (text, what) in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
        written.append((folder / name, what))
    models = folder / "models.csv"
    contrast.models.to_csv(models)
    written.append((models, "the difference of each model"))
    for name, draw, what in (
        ("forest", plots.forest, "forest plot"),
        ("resamples", plots.resamples, "histogram of the resamples"),
    ):
        rows = contrast.n_models + 1 if name == "forest" and contrast.n_models > 1 else 7
        drawing = Figure(figsize=(plots.COLUMN_WIDTHS["double"], 1.6 + 0.3 * rows), layout="constrained")
        ax = draw(contrast, ax=drawing.add_subplot())
        written += [(plots.save_figure(ax, folder / f"{name}.{suffix}", "double"), what) for suffix in ("pdf", "svg")]
    written.append((contrast.save(folder / "contrast.json"), "the result; psychoedu.load reads it"))
    return written
