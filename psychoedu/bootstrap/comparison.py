"""The result of comparing models pair by pair."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any, ClassVar, Self

import pandas as pd

from psychoedu.bootstrap.corrections import CORRECTIONS
from psychoedu.bootstrap.design import MISSING_POLICIES, by_model_text, missing_text
from psychoedu.bootstrap.intervals import METHODS
from psychoedu.bootstrap.paper import exact_p_text, fixed, level_text, p_text
from psychoedu.bootstrap.plan import WEIGHTINGS
from psychoedu.bootstrap.serialise import seed_from
from psychoedu.markup import latex, latex_table, markdown, markdown_table
from psychoedu.persistence import Fields, Saved, encode_numbers, plain_label

COUNTS = ("n_units", "left_out", "wins", "ties", "losses")
NUMBERS = (
    "difference", "standard_error", "robust_standard_error", "low", "high", "low_simultaneous", "high_simultaneous",
    "p_value", "p_holm", "p_max_t", "p_sign_flip",
)  # fmt: skip
_PLAIN = ("n_resamples", "confidence_level", "method", "correction", "weighting", "pairs", "missing")
_OPTIONAL = (
    "low_recommended",
    "high_recommended",
    "first_only",
    "second_only",
    "p_mcnemar",
    "low_equivalence",
    "high_equivalence",
)


@dataclass(frozen=True, eq=False, repr=False)
class ModelComparison(Saved):
    """Paired differences of models; made by :func:`psychoedu.compare_models`.

    Attributes
    ----------
    table : DataFrame by pair (first, second)
        ``difference`` (first less second), ``standard_error`` (bootstrap), ``robust_standard_error`` (analytic), ``low`` and
        ``high``; where a stratum has fewer than 20 clusters ``low_recommended`` and ``high_recommended``;
        ``low_simultaneous`` and ``high_simultaneous``, which hold for all pairs at once; ``p_value``, ``p_holm``, ``p_max_t``,
        ``p_sign_flip``; ``n_units`` and ``left_out``; ``wins``, ``ties`` and ``losses`` of the first; where rewards are 0 and 1
        ``first_only``, ``second_only`` and ``p_mcnemar``, nan for other pairs; with a margin ``low_equivalence``,
        ``high_equivalence`` and ``equivalent``.
    sizes : Series by stratum
        Clusters.
    missing : str
        What was done about missing rewards.
    n_missing : Series by model
    n_resamples, confidence_level, method, correction, weighting, pairs, margin, seed, diagnostics, version
    """

    kind: ClassVar[str] = "model_comparison"

    table: pd.DataFrame
    sizes: pd.Series
    n_resamples: int
    confidence_level: float
    method: str
    correction: str | None
    weighting: str
    pairs: str
    missing: str
    n_missing: pd.Series
    margin: float | None
    seed: int
    cluster_word: str
    diagnostics: tuple[str, ...]
    version: str

    def _title(self) -> str:
        sizes = ", ".join(f"{label} {n}" for label, n in self.sizes.items())
        return (
            f"Paired differences of models, {level_text(self.confidence_level)} {self.method} intervals, {self.n_resamples:,} "
            f"resamples of {self.cluster_word}s within strata ({sizes}), seed {self.seed}, "
            f"correction {self.correction or 'none'}, missing rewards: {self._missing_text()}, "
            f"psychoedu {self.version}"
        )

    def _missing_text(self) -> str:
        if self.missing == "raise" and self.n_missing.any():
            named = by_model_text(self.n_missing)
            return (
                f"{int(self.n_missing.sum()):,} ({named}), units that one of a pair lacks left out of it (pairs='intersection')"
            )
        return missing_text(self.n_missing, self.missing)

    def summary(self) -> str:
        """Return the differences as fixed-width text."""
        left = [
            column
            for column in self.table.columns
            if column not in ("robust_standard_error", "p_max_t", "first_only", "second_only")
        ]
        bounds = ("p_value", "p_holm", "p_sign_flip")
        texts = {name: self.table[name].map(lambda value: p_text(value, self.n_resamples)) for name in bounds}
        if "p_mcnemar" in self.table:
            texts["p_mcnemar"] = self.table["p_mcnemar"].map(exact_p_text)
        shown = self.table[left].assign(**texts).to_string(float_format=fixed)
        return "\n".join([self._title(), shown, *(f"note: {note}" for note in self.diagnostics)])

    def _rows(self) -> tuple[list[str], list[list[str]]]:
        level = level_text(self.confidence_level)
        heads = [
            "models",
            "difference",
            f"{level} interval",
            f"{level} simultaneous",
            "p",
            "p (Holm)",
            "p (sign flip)",
            "win/tie/loss",
        ]
        exact, margin, few = "p_mcnemar" in self.table, self.margin is not None, "low_recommended" in self.table
        heads[3:3] = [f"recommended {level} interval"] if few else []
        heads += ["flips", "p (McNemar)"] if exact else []
        heads += [f"equivalent within {self.margin:g}"] if margin else []
        rows = []
        for (first, second), row in zip(self.table.index, self.table.to_dict("records"), strict=True):
            cells = [
                f"{first} - {second}",
                fixed(row["difference"]),
                f"[{fixed(row['low'])}, {fixed(row['high'])}]",
                *([f"[{fixed(row['low_recommended'])}, {fixed(row['high_recommended'])}]"] if few else []),
                f"[{fixed(row['low_simultaneous'])}, {fixed(row['high_simultaneous'])}]",
                *(p_text(row[name], self.n_resamples) for name in ("p_value", "p_holm", "p_sign_flip")),
                f"{row['wins']}/{row['ties']}/{row['losses']}",
            ]
            cells += (
                [f"{fixed(row['first_only'], 0)} and {fixed(row['second_only'], 0)}", exact_p_text(row["p_mcnemar"])]
                if exact
                else []
            )
            cells += ["yes" if row["equivalent"] else "no"] if margin else []
            rows.append(cells)
        return heads, rows

    def to_markdown(self) -> str:
        """Return a Markdown table with what was done under it."""
        lines = [markdown_table(*self._rows()), "", markdown(f"{self._title()}."), *(markdown(note) for note in self.diagnostics)]
        return "\n".join(lines) + "\n"

    def to_latex(self, caption: str = "", label: str = "") -> str:
        """Return a LaTeX table (package booktabs), labels escaped."""
        lines = [r"\begin{table}", r"\centering", rf"\caption{{{latex(caption or 'Paired differences of models')}}}"]
        lines += [rf"\label{{{label}}}"] if label else []
        notes = " ".join(f"{note}." for note in (self._title(), *self.diagnostics))
        return "\n".join([*lines, latex_table(*self._rows()), "", rf"\footnotesize {latex(notes)}", r"\end{table}"]) + "\n"

    def to_html(self) -> str:
        """Return an HTML table, labels escaped."""
        heads, rows = self._rows()
        head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
        body = "\n".join(
            f'<tr><th scope="row">{escape(row[0])}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in row[1:])}</tr>'
            for row in rows
        )
        notes = " ".join(f"{note}." for note in (self._title(), *self.diagnostics))
        return (
            f'<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n<p class="note">{escape(notes)}</p>\n'
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, strings and numbers that ``from_dict`` turns back into an equal object."""
        columns = {}
        for name in self.table.columns:
            values = self.table[name].to_numpy()
            columns[name] = values.tolist() if values.dtype.kind in "biu" else encode_numbers(values)
        return {
            "first": [plain_label(first) for first, _ in self.table.index],
            "second": [plain_label(second) for _, second in self.table.index],
            "table": columns,
            "strata": [plain_label(label) for label in self.sizes.index],
            "sizes": self.sizes.tolist(),
            "models": [plain_label(label) for label in self.n_missing.index],
            "n_missing": self.n_missing.tolist(),
            **{name: getattr(self, name) for name in _PLAIN},
            "margin": self.margin,
            "seed": str(self.seed),
            "cluster_word": self.cluster_word,
            "diagnostics": list(self.diagnostics),
            "version": self.version,
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Build the comparison from what ``to_dict`` gave."""
        fields = Fields(content)
        table = fields.part("table")
        first, second = (fields.repeated_labels(name) for name in ("first", "second"))
        size = len(first)
        columns: dict[str, Any] = {}
        for name in table.content:
            if name in COUNTS:
                columns[name] = table.integers(name, size, 0)
            elif name == "equivalent":
                columns[name] = table.flags(name, size)
            elif name in NUMBERS + _OPTIONAL:
                columns[name] = table.numbers(name, size, missing=True, infinite=True)
            else:
                table.refuse(name, "no such column")
        absent = [name for name in (*NUMBERS, *COUNTS) if name not in columns]
        if absent:
            table.refuse(absent[0], f"{size} numbers")
        strata, models = fields.labels("strata"), fields.labels("models")
        return cls(
            table=pd.DataFrame(columns, index=pd.MultiIndex.from_arrays([first, second], names=["first", "second"])),
            sizes=pd.Series(fields.integers("sizes", len(strata), 1), index=pd.Index(strata, name="stratum"), name="n_clusters"),
            n_resamples=fields.integer("n_resamples", 1),
            confidence_level=fields.number("confidence_level", above=0.0, high=1.0),
            method=fields.text("method", METHODS),
            correction=None if fields.is_none("correction") else fields.text("correction", CORRECTIONS),
            weighting=fields.text("weighting", WEIGHTINGS),
            pairs=fields.text("pairs", ("error", "intersection")),
            missing=fields.text("missing", MISSING_POLICIES),
            n_missing=pd.Series(
                fields.integers("n_missing", len(models), 0),
                index=pd.Index(models, name="model", tupleize_cols=False),
                name="n_missing",
            ),
            margin=None if fields.is_none("margin") else fields.number("margin", above=0.0),
            seed=seed_from(fields),
            cluster_word=fields.text("cluster_word"),
            diagnostics=fields.texts("diagnostics"),
            version=fields.text("version"),
        )

    def __repr__(self) -> str:
        """One line."""
        return f"ModelComparison({len(self.table)} pairs, {self.n_resamples:,} resamples)"

    def _repr_html_(self) -> str:
        """Notebook display."""
        return self.to_html()
