"""Levels of models under each prompting condition as a table: the form in which benchmarks publish them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from psychoedu.exceptions import DataError, DuplicateLabelError
from psychoedu.irt.score import score
from psychoedu.markup import latex, markdown
from psychoedu.model_conditions import models_and_conditions
from psychoedu.responses import ResponseMatrix, as_response_matrix
from psychoedu.standard_setting.classify import classify
from psychoedu.standard_setting.cut_scores import CutScores
from psychoedu.standard_setting.level_summary import counted_sources
from psychoedu.standard_setting.levels import NO_LEVEL, Levels
from psychoedu.validation import counted, listed

ABSENT = "-"


@dataclass(frozen=True, eq=False)
class LevelTable:
    """Models x conditions, each cell a level and its probability; made by :func:`level_table`.

    Attributes
    ----------
    levels : Levels
        Behind the cells.
    cells : DataFrame
        A row per model and condition: ``respondent``, ``model``, ``condition``, ``level``, ``level_text``, ``p_level``
        (probability of that level), ``next_level`` and ``p_next`` (the likeliest other level), ``p_at_least`` (of that level or a
        higher one), ``theta``, ``theta_se``, ``flags``.
    models, conditions : tuple of labels
        In the order of rows and columns; ``conditions`` is ``("",)`` if there are none.
    """

    levels: Levels
    cells: pd.DataFrame
    models: tuple[Hashable, ...]
    conditions: tuple[Hashable, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return models x conditions with the level texts alone, as the published table."""
        wide = self.cells.pivot(index="model", columns="condition", values="level_text")
        return wide.loc[list(self.models), list(self.conditions)].rename_axis(columns=None)

    def probabilities(self) -> pd.DataFrame:
        """Return models x conditions with the probability of each level given."""
        wide = self.cells.pivot(index="model", columns="condition", values="p_level")
        return wide.loc[list(self.models), list(self.conditions)].rename_axis(columns=None)

    def _heads(self) -> list[str]:
        return [str(name) if str(name) else "level" for name in self.conditions]

    def _rows(self) -> list[tuple[str, list[tuple[str, str]]]]:
        cells: dict[Any, Any] = {(row.model, row.condition): row for row in self.cells.itertuples(index=False)}
        rows = []
        for model in self.models:
            row = []
            for condition in self.conditions:
                cell = cells.get((model, condition))
                row.append((ABSENT, "") if cell is None else (str(cell.level_text), _behind(cell)))
            rows.append((str(model), row))
        return rows

    def legend(self) -> list[str]:
        """Return what a reader needs to know, sentence by sentence."""
        cuts = self.levels.cut_scores
        what = counted_sources(self.levels)
        lines = [
            f"In brackets: probability of the level ({what}), and the likeliest other level where it has a tenth or more.",
            f"{cuts.scale.limits([str(level) for level in cuts.levels])}.",
        ]
        few = self.levels.cut_scores.flags.str.contains("too_few_panellists").any()
        lines += ["Too few panellists: the cut scores' own error is hardly known."] if few else []
        outside = int(self.cells["flags"].str.contains("outside_measured_range").sum())
        if outside:
            where = "beyond the location of the easiest or hardest item at the booklet's RP"
            lines.append(f"{counted(outside, 'cell')} lie {where} (flag outside_measured_range).")
        moved = self._moved_by_rp()
        if moved is not None:
            lines.append(moved)
        return lines

    def _moved_by_rp(self) -> str | None:
        sensitivity = self.levels.rp_sensitivity
        if sensitivity is None:
            return None
        shown = sensitivity.loc[list(self.cells["respondent"])]
        moved = int((shown.nunique(axis=1) > 1).sum())
        low, high = shown.columns[0], shown.columns[-1]
        return f"{moved} of {counted(len(shown), 'cell')} change level between response probabilities {low:g} and {high:g}."

    def summary(self) -> str:
        """Return the table as fixed-width text."""
        rows = [[model, *(f"{text}{f' ({behind})' if behind else ''}" for text, behind in row)] for model, row in self._rows()]
        titles = ["model", *self._heads()]
        widths = [max(len(line[k]) for line in [titles, *rows]) for k in range(len(titles))]
        padded = [[cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in [titles, *rows]]
        return "\n".join([*("  ".join(line).rstrip() for line in padded), "", *self.legend()])

    def to_markdown(self) -> str:
        """Return a Markdown table with its legend."""
        lines = [
            f"| {' | '.join(['model', *(markdown(head) for head in self._heads())])} |",
            "|---" * (len(self.conditions) + 1) + "|",
        ]
        for model, row in self._rows():
            cells = [f"{markdown(text)}{f' ({markdown(behind)})' if behind else ''}" for text, behind in row]
            lines.append(f"| {' | '.join([markdown(model), *cells])} |")
        return "\n".join([*lines, "", *(markdown(line) for line in self.legend())]) + "\n"

    def to_latex(self, caption: str = "", label: str = "") -> str:
        r"""Return a LaTeX table (package booktabs).

        Parameters
        ----------
        caption : str
            Plain text; escaped here.
        label : str
            For ``\ref``, as it is.
        """
        lines = [r"\begin{table}", r"\centering"]
        lines += [rf"\caption{{{latex(caption)}}}"] if caption else []
        lines += [rf"\label{{{label}}}"] if label else []
        heads = " & ".join(["model", *(latex(head) for head in self._heads())])
        lines += [rf"\begin{{tabular}}{{l{'l' * len(self.conditions)}}}", r"\toprule", rf"{heads} \\", r"\midrule"]
        for model, row in self._rows():
            cells = [
                ("--" if text == ABSENT else latex(text)) + (rf" {{\scriptsize ({latex(behind)})}}" if behind else "")
                for text, behind in row
            ]
            lines.append(rf"{latex(model)} & {' & '.join(cells)} \\")
        lines += [r"\bottomrule", r"\end{tabular}", "", rf"\footnotesize {' '.join(latex(line) for line in self.legend())}"]
        return "\n".join([*lines, r"\end{table}"]) + "\n"

    def to_html(self, caption: str = "", legend: bool = True) -> str:
        """Return an HTML table; everything from data is escaped.

        Parameters
        ----------
        caption : str
            Plain text; escaped here.
        legend : bool
            Whether the legend follows as a paragraph.
        """
        title = f"<caption>{escape(caption)}</caption>\n" if caption else ""
        heads = "".join(f'<th scope="col" class="text">{escape(head)}</th>' for head in ["model", *self._heads()])
        rows = []
        for model, row in self._rows():
            cells = "".join(
                f'<td class="text">{"&ndash;" if text == ABSENT else escape(text)}'
                + (f"<br><small>({escape(behind)})</small>" if behind else "")
                + "</td>"
                for text, behind in row
            )
            rows.append(f'<tr><th scope="row">{escape(model)}</th>{cells}</tr>')
        body = (
            f'<table class="dense">\n{title}<thead><tr>{heads}</tr></thead>\n<tbody>\n'
            + "\n".join(rows)
            + "\n</tbody>\n</table>\n"
        )
        return body + (f'<p class="note">{escape(" ".join(self.legend()))}</p>\n' if legend else "")

    def _repr_html_(self) -> str:
        return self.to_html()

    def __repr__(self) -> str:
        """One line."""
        conditions = f" x {counted(len(self.conditions), 'condition')}" if len(self.conditions) > 1 else ""
        return f"LevelTable({counted(len(self.models), 'model')}{conditions})"


def _behind(cell: Any) -> str:
    """Return what stands in brackets behind a level."""
    if cell.level_text == NO_LEVEL or np.isnan(cell.p_level):
        return "" if cell.level_text == NO_LEVEL else "probability unknown"
    second = f"; {cell.next_level} {_probability(cell.p_next)}" if cell.p_next >= 0.1 else ""
    return f"{_probability(cell.p_level)}{second}"


def _probability(value: float) -> str:
    """Write a probability with two places, one that would read 0 or 1 as a bound."""
    text = f"{value:.2f}"
    return "<.01" if text == "0.00" else ">.99" if text == "1.00" else text.removeprefix("0")


def level_table(
    bank: Any,
    responses: Any,
    cut_scores: CutScores,
    *,
    separator: str | None = None,
    model: Any = None,
    condition: Any = None,
    method: str = "eap",
    prior_mean: float = 0.0,
    prior_sd: float = 1.0,
    n_draws: int = 1000,
    rng: Any = 0,
) -> LevelTable:
    """Score models, place them on the levels and lay the levels out, one call from a response matrix.

    Parameters
    ----------
    bank : Calibration or ItemBank
    responses : ResponseMatrix, DataFrame or array-like
        Of the models, a row per model and condition.
    cut_scores : CutScores
    separator : str, optional
        Labels are model, separator, condition, as "GPT-4o_few-shot" for "_" (the last one counts).
    model, condition : column of ``responses.respondents``, or one value per respondent, optional
        Instead of a separator. Without any, each respondent is a model.
    method : {"eap", "map", "ml", "wle"}
    prior_mean, prior_sd : float
        The population of the scores.
    n_draws : int, default 1000
        Joint draws of every source of error; 0 counts measurement error alone.
    rng : int, Generator or None
        Seed of the draws.

    Returns
    -------
    LevelTable
        ``.to_frame()`` (the published form), ``.cells``, ``.summary()``, ``.to_markdown()``, ``.to_latex()``, ``.to_html()``.

    Raises
    ------
    DataError, LabelError
        Models or conditions cannot be read off; a model has two rows under one condition.
    """
    matrix: ResponseMatrix = as_response_matrix(responses)
    if not isinstance(cut_scores, CutScores):
        raise DataError("cut_scores has to be a CutScores; make one of numbers with CutScores.from_values({level: theta}).")
    scores = score(bank, matrix, method, prior_mean, prior_sd)
    joint: dict[str, Any] = {}
    if n_draws:
        joint = {
            "bank": bank,
            "responses": matrix,
            "n_draws": n_draws,
            "rng": rng,
            "prior_mean": prior_mean,
            "prior_sd": prior_sd,
        }
    levels = classify(scores, cut_scores, **joint)
    labels = matrix.respondent_labels
    names, conditions = models_and_conditions(labels, np.arange(len(labels)), separator, model, condition, matrix.respondents)
    pairs = pd.Series(list(zip(names, conditions, strict=True)))
    if pairs.duplicated().any():
        twice = [f"{name} {what}".strip() for name, what in pairs[pairs.duplicated()]]
        raise DuplicateLabelError(
            f"{counted(len(twice), 'model')} with several rows under one condition: {listed(twice)}.\n"
            "Expected one row per model and condition; name the condition with separator= or condition=."
        )
    cells = pd.DataFrame({"respondent": list(labels), "model": names, "condition": conditions})
    return LevelTable(levels, _with_levels(cells, levels), tuple(dict.fromkeys(names)), tuple(dict.fromkeys(conditions)))


def _with_levels(cells: pd.DataFrame, levels: Levels) -> pd.DataFrame:
    values, codes = levels.probability_values, levels.codes
    rows = np.arange(len(codes))
    others = np.where(np.isnan(values), -1.0, values)
    others[rows, np.maximum(codes, 0)] = -1.0
    second = others.argmax(axis=1)
    from_here = np.cumsum(values[:, ::-1], axis=1)[:, ::-1]
    known = codes >= 0
    return cells.assign(
        level=levels.level.to_numpy(),
        level_text=levels.level_text.to_numpy(),
        p_level=levels.p_level.to_numpy(),
        next_level=[levels.level_labels[k] for k in second],
        p_next=np.where(known, values[rows, second], np.nan),
        p_at_least=np.where(known, from_here[rows, np.maximum(codes, 0)], np.nan),
        theta=levels.theta_values,
        theta_se=levels.theta_se_values,
        flags=list(levels.flag_texts),
    )
