"""Ability and mastery of models as a table: how sure each mastery is, and how many items it rests on."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import BoolArray
from psychoedu.cdm.accuracy import classification_accuracy
from psychoedu.cdm.fitted import fitted_arrays
from psychoedu.cdm.results import Diagnosis
from psychoedu.exceptions import DuplicateLabelError, LabelError
from psychoedu.markup import latex, markdown
from psychoedu.model_conditions import models_and_conditions
from psychoedu.validation import check_flag, check_known, check_probability, counted, listed

ABSENT = "-"


def probability_text(value: float) -> str:
    """Write a probability with four places; one that would read 0 or 1, which it is not, as a bound.

    Examples
    --------
    >>> [probability_text(value) for value in (0.16889, 2e-7, 0.99996, float("nan"))]
    ['.1689', '<.0001', '>.9999', 'withheld']
    """
    if np.isnan(value):
        return "withheld"
    text = f"{value:.4f}"
    return "<.0001" if text == "0.0000" else ">.9999" if text == "1.0000" else text.removeprefix("0")


@dataclass(frozen=True, eq=False)
class MasteryTable:
    """Models x (ability, mastery of each attribute), conditions side by side; made by :func:`mastery_table`.

    Parameters
    ----------
    cells : DataFrame
        A row per model, condition and attribute: ``respondent`` (label), ``model``, ``condition``, ``attribute``, ``mastery``,
        ``mastered`` (strictly above the threshold), ``certainty`` (max(p, 1 - p)), ``accuracy`` (of the attribute among the
        learners; nan if unknown), ``n_items`` (answered items that require the attribute), ``n_alone``, ``n_with_others``.
    ability : DataFrame
        ``respondent``, ``model``, ``condition``, ``theta``, ``theta_se``; empty without a higher-order structure.
    models, conditions, attributes : tuple
        In the order of the rows and columns; ``conditions`` is ``("",)`` if there are none.
    threshold : float
    accuracy : bool
        Whether every cell shows its certainty and items; where a mastery is 0 or 1 to four places they always stand.
    n_learners : float
        Whom ``accuracy`` is from; nan if unknown.
    """

    cells: pd.DataFrame
    ability: pd.DataFrame
    models: tuple[Hashable, ...]
    conditions: tuple[Hashable, ...]
    attributes: tuple[Hashable, ...]
    threshold: float
    accuracy: bool
    n_learners: float

    def to_frame(self) -> pd.DataFrame:
        """Return a row per respondent: model, condition, ability, mastery by attribute."""
        wide = self.cells.pivot(index="respondent", columns="attribute", values="mastery")
        known = self.cells.drop_duplicates("respondent").set_index("respondent")[["model", "condition"]]
        parts = [known]
        if len(self.ability):
            parts.append(self.ability.set_index("respondent")[["theta", "theta_se"]])
        return pd.concat([*parts, wide.loc[known.index, list(self.attributes)]], axis=1)

    def by_condition(self) -> dict[Hashable, pd.DataFrame]:
        """Return one table of mastery a condition, models x attributes, as ``plots.mastery_heatmap`` takes it."""
        parts = {}
        for condition in self.conditions:
            own = self.cells[self.cells["condition"] == condition]
            wide = own.pivot(index="model", columns="attribute", values="mastery")
            order = [model for model in self.models if model in wide.index]
            parts[condition] = wide.loc[order, list(self.attributes)].rename_axis(columns=None)
        return parts

    def plot(self, ax: Any = None) -> Any:
        """Draw the mastery probabilities as a heat map; returns the axes."""
        from psychoedu.cdm.plots import mastery_heatmap

        return mastery_heatmap(self.by_condition(), ax=ax, threshold=self.threshold)

    def legend(self) -> list[str]:
        """Return what a reader needs to know, sentence by sentence."""
        shown = "In brackets" if self.accuracy else "In brackets, where a probability is 0 or 1 to four places"
        lines = [
            f"Posterior probability of mastery; bold (*) above {self.threshold:g}. {shown}: certainty, max(p, 1 - p), and the "
            "answered items behind it that require the attribute, alone + with others.",
            "Certainty takes the parameters and the Q-matrix as known; a probability near 0 or 1 is no proof of either.",
        ]
        if len(self.ability):
            lines.append(
                "Ability: posterior mean of the higher-order ability (standard deviation), learners N(0, 1): another scale than "
                "the theta of an IRT calibration, with a ceiling where all attributes are mastered."
            )
        accuracy = self._accuracy()
        if np.isfinite(list(accuracy.values())).any():
            values = ", ".join(f"{name} {probability_text(value)}" for name, value in accuracy.items() if np.isfinite(value))
            lines.append(f"Estimated classification accuracy among the {self.n_learners:,.10g} learners: {values}.")
        if (self.cells["n_items"] == 0).any():
            lines.append("Where no answered item requires the attribute, the probability rests on the other attributes alone.")
        return lines

    def _accuracy(self) -> dict[Hashable, float]:
        first = self.cells.drop_duplicates("attribute").set_index("attribute")["accuracy"]
        return {name: float(first.to_dict().get(name, np.nan)) for name in self.attributes}

    def _rows(self) -> list[tuple[Hashable, list[tuple[str, str, bool]]]]:
        """Return each model's cells, column by column: what stands first, what stands in brackets, whether it is mastered."""
        shown = ["mastery", "mastered", "certainty", "n_alone", "n_with_others"]
        long = self.cells[["model", "condition", "attribute", *shown]]
        cells = {tuple(row[:3]): row[3:] for row in long.itertuples(index=False)}
        scores = self.ability[["model", "condition", "theta", "theta_se"]]
        ability = {tuple(row[:2]): row[2:] for row in scores.itertuples(index=False)}
        rows = []
        for model in self.models:
            row: list[tuple[str, str, bool]] = []
            if ability:
                for condition in self.conditions:
                    theta = ability.get((model, condition))
                    row.append((ABSENT, "", False) if theta is None else (f"{theta[0]:.4f}", f"{theta[1]:.3f}", False))
            for attribute in self.attributes:
                row += [self._cell(cells.get((model, condition, attribute))) for condition in self.conditions]
            rows.append((model, row))
        return rows

    def _cell(self, values: Any) -> tuple[str, str, bool]:
        if values is None:
            return ABSENT, "", False
        mastery, mastered, certainty, alone, others = values
        text = probability_text(mastery)
        behind = f"{probability_text(certainty)}; {alone}+{others}" if self.accuracy or text[0] in "<>" else ""
        return text, "" if np.isnan(mastery) else behind, bool(mastered)

    def _heads(self) -> list[str]:
        return [*(["ability"] if len(self.ability) else []), *(str(name) for name in self.attributes)]

    def summary(self) -> str:
        """Return the table as fixed-width text, a row per model and condition."""
        heads, n_conditions = self._heads(), len(self.conditions)
        rows = []
        for model, row in self._rows():
            for c, condition in enumerate(self.conditions):
                own = [f"{text}{'*' * bold}{f' ({behind})' if behind else ''}" for text, behind, bold in row[c::n_conditions]]
                if any(cell != ABSENT for cell in own):
                    rows.append([str(model), *([str(condition)] if n_conditions > 1 else []), *own])
        titles = ["model", *(["condition"] if n_conditions > 1 else []), *heads]
        widths = [max(len(line[k]) for line in [titles, *rows]) for k in range(len(titles))]
        padded = [[cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in [titles, *rows]]
        return "\n".join([*("  ".join(line).rstrip() for line in padded), "", *self.legend()])

    def to_markdown(self) -> str:
        """Return a Markdown table with its legend; conditions side by side."""
        conditions = [f" {markdown(str(name))}" if len(self.conditions) > 1 else "" for name in self.conditions]
        heads = ["model", *(f"{markdown(head)}{condition}" for head in self._heads() for condition in conditions)]
        lines = [f"| {' | '.join(heads)} |", f"|---|{'---|' * (len(heads) - 1)}"]
        for model, row in self._rows():
            cells = []
            for text, behind, bold in row:
                first = f"**{markdown(text)}**" if bold else markdown(text)
                cells.append(f"{first} ({markdown(behind)})" if behind else first)
            lines.append(f"| {' | '.join([markdown(str(model)), *cells])} |")
        return "\n".join([*lines, "", *(markdown(line) for line in self.legend())]) + "\n"

    def to_latex(self, caption: str = "", label: str = "") -> str:
        r"""Return a LaTeX table (package booktabs), conditions side by side under each attribute.

        Parameters
        ----------
        caption : str
            Plain text; escaped here.
        label : str
            For ``\ref``, as it is.
        """
        n_conditions, heads = len(self.conditions), self._heads()
        n_columns = n_conditions * len(heads)
        lines = [r"\begin{table}", r"\centering"]
        lines += [rf"\caption{{{latex(caption)}}}"] if caption else []
        lines += [rf"\label{{{label}}}"] if label else []
        lines += [r"\footnotesize\setlength{\tabcolsep}{3pt}", rf"\begin{{tabular}}{{l{'c' * n_columns}}}", r"\toprule"]
        if n_conditions > 1:
            spans = [rf"\multicolumn{{{n_conditions}}}{{c}}{{{latex(head)}}}" for head in heads]
            lines.append(rf"model & {' & '.join(spans)} \\")
            places = [(2 + n_conditions * place, 1 + n_conditions * (place + 1)) for place in range(len(heads))]
            lines.append("".join(rf"\cmidrule(lr){{{first}-{last}}}" for first, last in places))
            lines.append(rf" & {' & '.join([latex(str(name)) for name in self.conditions] * len(heads))} \\")
        else:
            lines.append(rf"model & {' & '.join(latex(head) for head in heads)} \\")
        lines.append(r"\midrule")
        for model, row in self._rows():
            lines.append(rf"{latex(str(model))} & {' & '.join(_latex_cell(*cell) for cell in row)} \\")
        lines += [r"\bottomrule", r"\end{tabular}", "", rf"\footnotesize {' '.join(latex(line) for line in self.legend())}"]
        return "\n".join([*lines, r"\end{table}"]) + "\n"

    def to_html(self, caption: str = "", legend: bool = True) -> str:
        """Return an HTML table, conditions side by side under each attribute; everything from data is escaped.

        Parameters
        ----------
        caption : str
            Plain text; escaped here.
        legend : bool
            Whether the legend follows as a paragraph.
        """
        n_conditions, heads = len(self.conditions), self._heads()
        title = f"<caption>{escape(caption)}</caption>\n" if caption else ""
        first = '<th scope="col" class="text">model</th>'
        if n_conditions > 1:
            spans = "".join(f'<th scope="colgroup" colspan="{n_conditions}">{escape(head)}</th>' for head in heads)
            names = "".join(f'<th scope="col">{escape(str(name))}</th>' for name in self.conditions) * len(heads)
            both = first.replace("<th", '<th rowspan="2"')
            top = f"<tr>{both}{spans}</tr>\n<tr>{names}</tr>"
        else:
            names = "".join(f'<th scope="col">{escape(head)}</th>' for head in heads)
            top = f"<tr>{first}{names}</tr>"
        rows = []
        for model, row in self._rows():
            cells = "".join(f"<td>{_html_cell(*cell)}</td>" for cell in row)
            rows.append(f'<tr><th scope="row">{escape(str(model))}</th>{cells}</tr>')
        body = f'<table class="dense">\n{title}<thead>{top}</thead>\n<tbody>\n' + "\n".join(rows) + "\n</tbody>\n</table>\n"
        return body + (f'<p class="note">{escape(" ".join(self.legend()))}</p>\n' if legend else "")

    def _repr_html_(self) -> str:
        return self.to_html()

    def __repr__(self) -> str:
        """One line."""
        conditions = f" x {counted(len(self.conditions), 'condition')}" if len(self.conditions) > 1 else ""
        return f"MasteryTable({counted(len(self.models), 'model')}{conditions}, {counted(len(self.attributes), 'attribute')})"


def _latex_cell(text: str, behind: str, bold: bool) -> str:
    first = rf"\textbf{{{latex(text)}}}" if bold else latex(text.replace("-", "--") if text == ABSENT else text)
    if text[0] == "-" and text != ABSENT:
        first = f"${text}$"
    below = "".join(rf"\\{{\scriptsize {latex(line)}}}" for line in _lines(behind))
    return rf"\shortstack{{{first}{below}}}" if behind else first


def _html_cell(text: str, behind: str, bold: bool) -> str:
    shown = "&ndash;" if text == ABSENT else escape(text).replace("-", "&minus;")
    first = f"<strong>{shown}</strong>" if bold else shown
    return f"{first}<br><small>{'<br>'.join(escape(line) for line in _lines(behind))}</small>" if behind else first


def _lines(behind: str) -> list[str]:
    """Return what stands in brackets line by line, so that columns stay narrow."""
    return f"({behind})".replace("; ", ";\n").splitlines()


def mastery_table(
    diagnosis: Diagnosis,
    accuracy: bool = True,
    *,
    separator: str | None = None,
    model: Any = None,
    condition: Any = None,
    respondents: pd.DataFrame | None = None,
    select: Any = None,
    learners: Diagnosis | None = None,
    threshold: float = 0.5,
) -> MasteryTable:
    """Lay out ability and mastery of models, each mastery with how sure it is and the number of items behind it.

    Parameters
    ----------
    diagnosis : Diagnosis
        With responses: of :func:`psychoedu.diagnose`, or of :func:`psychoedu.cdm.score`. If it was fitted to some of its
        respondents (``fit_to``), the others are shown; else all.
    accuracy : bool, default True
        Show certainty and items in every cell; if False only where a mastery is 0 or 1 to four places.
    separator : str, optional
        Labels are "model<separator>condition": what follows its last occurrence is the condition.
    model, condition : column name of ``respondents``, or sequence with a value per respondent, optional
        Each respondent's model and condition, where the labels do not tell.
    respondents : DataFrame by respondent, optional
        Where ``model`` and ``condition`` are looked up, such as ``responses.respondents``.
    select : sequence of labels, optional
        Respondents to show.
    learners : Diagnosis, optional
        Fitted, with its responses: whom the attributes' accuracy is estimated from; default ``diagnosis`` itself if it was fitted
        to some of its respondents.
    threshold : float, default 0.5
        Mastered strictly above it.

    Returns
    -------
    MasteryTable

    Raises
    ------
    DuplicateLabelError
        Two respondents are one model under one condition.

    Examples
    --------
    >>> import psychoedu as pe
    >>> matrix, q = pe.datasets.load_cse_like(), pe.datasets.load_cse_like_q()
    >>> diagnosis = pe.diagnose(matrix, q, fit_to={"group": ["junior", "college"]}, n_starts=1)
    >>> mastery_table(diagnosis, separator="_")
    MasteryTable(12 models x 2 conditions, 4 attributes)
    """
    source = diagnosis.require_source("mastery_table()")
    threshold = check_probability(threshold, "threshold")
    rows = _rows_to_show(source.labels, source.fitted, select)
    labels = source.labels[rows]
    names, conditions = models_and_conditions(source.labels, rows, separator, model, condition, respondents)
    keys = pd.MultiIndex.from_arrays([names, conditions])
    if not keys.is_unique:
        doubled = [f"{one}, {other}" if other != "" else one for one, other in keys[keys.duplicated()].unique()]
        raise DuplicateLabelError(
            f"{counted(len(doubled), 'model')} with several rows under one condition: {listed(doubled)}.\n"
            "Expected one each. Give condition= or separator=, or select rows."
        )
    mastery = diagnosis.mastery.to_numpy(dtype=np.float64)[rows]
    answered = (source.scored[rows] >= 0).astype(np.int64)
    q = diagnosis.q_matrix.frame.to_numpy(dtype=np.int64)
    behind, alone = answered @ q, answered @ (q * (q.sum(axis=1) == 1)[:, None])
    attributes = list(diagnosis.attribute_labels)
    known, n_learners = _learner_accuracy(diagnosis if learners is None else learners, diagnosis)
    n_rows, n_attributes = mastery.shape
    cells = pd.DataFrame(
        {
            "respondent": np.repeat(np.asarray(labels, dtype=object), n_attributes),
            "model": np.repeat(np.asarray(names, dtype=object), n_attributes),
            "condition": np.repeat(np.asarray(conditions, dtype=object), n_attributes),
            "attribute": np.tile(np.asarray(attributes, dtype=object), n_rows),
            "mastery": mastery.ravel(),
            "mastered": (mastery > threshold).ravel(),
            "certainty": np.maximum(mastery, 1.0 - mastery).ravel(),
            "accuracy": np.tile([known.get(name, np.nan) for name in attributes], n_rows),
            "n_items": behind.ravel(),
            "n_alone": alone.ravel(),
            "n_with_others": (behind - alone).ravel(),
        }
    )
    ability = pd.DataFrame({"respondent": [], "model": [], "condition": [], "theta": [], "theta_se": []})
    theta, theta_se = diagnosis.theta, diagnosis.theta_se
    if theta is not None and theta_se is not None:
        ability = pd.DataFrame(
            {
                "respondent": np.asarray(labels, dtype=object),
                "model": np.asarray(names, dtype=object),
                "condition": np.asarray(conditions, dtype=object),
                "theta": theta.to_numpy(dtype=np.float64)[rows],
                "theta_se": theta_se.to_numpy(dtype=np.float64)[rows],
            }
        )
    return MasteryTable(
        cells, ability, tuple(dict.fromkeys(names)), tuple(dict.fromkeys(conditions)), tuple(attributes), threshold,
        check_flag(accuracy, "accuracy"), n_learners,
    )  # fmt: skip


def _rows_to_show(labels: pd.Index, fitted: BoolArray, select: Any) -> Any:
    if select is not None:
        return labels.get_indexer(check_known([select] if isinstance(select, str) else list(select), labels, "respondent"))
    return np.arange(len(labels)) if fitted.all() else np.flatnonzero(~fitted)


def _learner_accuracy(learners: Diagnosis, shown: Diagnosis) -> tuple[dict[Hashable, float], float]:
    """Return the accuracy of EAP decisions by attribute among fitted respondents, and how many these are; nothing without any."""
    source = learners.source
    if source is None or not source.fitted.any():
        return {}, float("nan")
    if list(learners.attribute_labels) != list(shown.attribute_labels):
        raise LabelError(
            f"learners has the attributes {listed(learners.attribute_labels)}, the table {listed(shown.attribute_labels)}; "
            "expected the same."
        )
    found = classification_accuracy(learners, method="eap").attributes["accuracy"].to_dict()
    known: dict[Hashable, float] = {
        name: float("nan") if name in learners.withheld else float(found[name]) for name in learners.attribute_labels
    }
    return known, fitted_arrays(learners, "mastery_table()").n
