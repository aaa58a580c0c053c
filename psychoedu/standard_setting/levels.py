"""Levels of respondents, with the probability of each."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray, IntArray
from psychoedu._version import __version__
from psychoedu.persistence import Fields, Saved, encode_numbers, plain_label
from psychoedu.standard_setting.cut_scores import CutScores
from psychoedu.standard_setting.cut_summary import headline
from psychoedu.standard_setting.decisions import assign_levels
from psychoedu.standard_setting.uncertainty import LevelUncertainty
from psychoedu.validation import counted, listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NO_LEVEL = "no level"


@dataclass(frozen=True, eq=False, repr=False)
class Levels(Saved):
    """Each respondent's level and the probability of every level; made by :func:`psychoedu.classify`.

    Attributes
    ----------
    level : Series, ordered Categorical, by respondent
        "below <first>", <first>, ...: theta >= cut is the upper level. Missing where there is no score, or nothing was answered.
    level_text : Series of str
        What may be said: the top level reads "or above" where the scale goes on beyond the last cut.
    probabilities : DataFrame, respondents x levels
        The columns are the labels of ``level``; rows sum to 1. nan where the standard error is unknown.
    flags : Series of str
        Joined by "; ": ``outside_measured_range`` (theta beyond the easiest or hardest item's location), ``no_items_at_level``
        (no item is located in the level's range), and those of the scores (``no_data``, ``infinite``, ...).
    cut_scores : CutScores
    rp_sensitivity : DataFrame or None
        Level of every respondent at other response probabilities (columns); abilities stay, the cuts move.
    uncertainty : LevelUncertainty or None
        Where the responses were given: every source of error in the probabilities, and what each contributes.
    diagnostics : tuple of str
    version : str
    """

    kind: ClassVar[str] = "levels"

    respondent_labels: pd.Index
    theta_values: FloatArray
    theta_se_values: FloatArray
    codes: IntArray
    probability_values: FloatArray
    flag_texts: tuple[str, ...]
    cut_scores: CutScores
    uncertainty: LevelUncertainty | None = None
    diagnostics: tuple[str, ...] = ()
    version: str = __version__

    def __post_init__(self) -> None:
        for name in ("theta_values", "theta_se_values", "codes", "probability_values"):
            getattr(self, name).flags.writeable = False
        object.__setattr__(self, "respondent_labels", self.respondent_labels.rename("respondent"))

    @property
    def level_labels(self) -> tuple[str, ...]:
        """Labels of the levels, lowest first."""
        return self.cut_scores.level_labels

    @property
    def n_respondents(self) -> int:
        """Number of respondents."""
        return len(self.respondent_labels)

    @property
    def theta(self) -> pd.Series:
        """Ability, by respondent."""
        return pd.Series(self.theta_values, index=self.respondent_labels, name="theta")

    @property
    def theta_se(self) -> pd.Series:
        """Standard error of ability, by respondent."""
        return pd.Series(self.theta_se_values, index=self.respondent_labels, name="theta_se")

    @property
    def level(self) -> pd.Series:
        """The level, by respondent."""
        return self._categorical(self.codes, "level")

    @property
    def level_text(self) -> pd.Series:
        """What may be said of each respondent's level."""
        texts = [*self.cut_scores.level_texts, NO_LEVEL]
        return pd.Series([texts[code] for code in self.codes], index=self.respondent_labels, name="level_text", dtype=object)

    @property
    def probabilities(self) -> pd.DataFrame:
        """Probability of each level, respondents x levels."""
        return pd.DataFrame(self.probability_values, index=self.respondent_labels, columns=list(self.level_labels))

    @property
    def p_level(self) -> pd.Series:
        """Probability of the level given, by respondent; nan where it is unknown."""
        rows = np.arange(self.n_respondents)
        found = np.where(self.codes >= 0, self.probability_values[rows, np.maximum(self.codes, 0)], np.nan)
        return pd.Series(found, index=self.respondent_labels, name="p_level")

    @property
    def flags(self) -> pd.Series:
        """What is particular about each respondent, "" for nothing."""
        return pd.Series(list(self.flag_texts), index=self.respondent_labels, name="flags", dtype=object)

    @property
    def rp_sensitivity(self) -> pd.DataFrame | None:
        """Level of every respondent at other response probabilities; cuts that cross there are put in order, as in the draws."""
        cuts = self.cut_scores.rp_sensitivity
        if cuts is None:
            return None
        columns = {}
        for probability, row in zip(cuts.index, cuts.to_numpy(dtype=np.float64), strict=True):
            if np.isnan(row).any():
                columns[probability] = self._categorical(np.full(self.n_respondents, -1), "level")
                continue
            codes = np.where(self.codes < 0, -1, assign_levels(self.theta_values, np.sort(row)))
            columns[probability] = self._categorical(codes, "level")
        return pd.DataFrame(columns, index=self.respondent_labels).rename_axis(columns="response_probability")

    def counts(self) -> pd.Series:
        """Return the number of respondents at each level."""
        return self.level.value_counts(sort=False).rename("n")

    def to_frame(self) -> pd.DataFrame:
        """Return theta, theta_se, level, level_text, ``p_<level>`` for every level, flags."""
        parts: list[Any] = [
            self.theta,
            self.theta_se,
            self.level,
            self.level_text,
            self.probabilities.add_prefix("p_"),
            self.flags,
        ]
        frame: pd.DataFrame = pd.concat(parts, axis=1)
        return frame

    def explain(self, respondent: Hashable) -> str:
        """Return in words how sure one respondent's level is, and what each source of error contributes.

        Parameters
        ----------
        respondent : label

        Raises
        ------
        LabelError
            There is no such respondent.
        """
        from psychoedu.standard_setting.level_summary import explain_level

        return explain_level(self, respondent)

    def summary(self) -> str:
        """Return levels and probabilities as fixed-width text."""
        shown = self.to_frame().drop(columns=["level"]).rename(columns={"level_text": "level"})
        if not shown["flags"].any():
            shown = shown.drop(columns="flags")
        lines = [f"Levels of {counted(self.n_respondents, 'respondent')}. {headline(self.cut_scores)}", ""]
        lines.append(shown.to_string(float_format=lambda value: f"{value:.3f}", na_rep="-", max_rows=60))
        return "\n".join([*lines, *([""] if self.diagnostics else []), *(fill(f"- {note}", 100) for note in self.diagnostics)])

    def plot(self, ax: Axes | None = None, respondents: Any = None) -> Axes:
        """Draw the level probabilities of respondents as stacked bars."""
        from psychoedu.standard_setting.plots import level_probabilities

        return level_probabilities(self, ax=ax, respondents=respondents)

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers that ``from_dict`` turns back into equal levels."""
        return {
            "respondents": [plain_label(label) for label in self.respondent_labels],
            "theta": encode_numbers(self.theta_values),
            "theta_se": encode_numbers(self.theta_se_values),
            "level": self.codes.tolist(),
            "probabilities": encode_numbers(self.probability_values),
            "flags": list(self.flag_texts),
            "cut_scores": self.cut_scores.to_dict(),
            "uncertainty": None if self.uncertainty is None else self.uncertainty.to_dict(),
            "diagnostics": list(self.diagnostics),
            "version": self.version,
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Build the levels from what ``to_dict`` gave."""
        fields = Fields(content)
        labels = fields.index("respondents", "respondent")
        cuts = CutScores.from_dict(fields.part("cut_scores").content)
        n, k = len(labels), len(cuts.level_labels)
        flags = fields.texts("flags")
        if len(flags) != n:
            fields.refuse("flags", f"{n} texts")
        uncertainty = None
        if not fields.is_none("uncertainty"):
            part = fields.part("uncertainty").content
            uncertainty = LevelUncertainty.from_dict(part, labels, cuts.level_labels, cuts.levels)
        return cls(
            labels,
            fields.numbers("theta", n, missing=True, infinite=True),
            fields.numbers("theta_se", n, low=0.0, missing=True, infinite=True),
            fields.integers("level", n, -1, k - 1),
            fields.numbers("probabilities", n, k, low=0.0, missing=True),
            flags,
            cuts,
            uncertainty,
            fields.texts("diagnostics"),
            fields.text("version"),
        )

    def _categorical(self, codes: IntArray, name: str) -> pd.Series:
        dtype = pd.CategoricalDtype(list(self.level_labels), ordered=True)
        return pd.Series(pd.Categorical.from_codes(codes, dtype=dtype), index=self.respondent_labels, name=name)

    def __len__(self) -> int:
        return self.n_respondents

    def __repr__(self) -> str:
        return f"Levels({counted(self.n_respondents, 'respondent')}: {listed(list(self.level_labels))})"

    def _repr_html_(self) -> str:
        return self.to_frame().to_html(float_format=lambda value: f"{value:.3f}", max_rows=60, na_rep="-")
