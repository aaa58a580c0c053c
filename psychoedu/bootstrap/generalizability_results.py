"""A generalizability study: variance components with labels, coefficients of the design, and the decision study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray
from psychoedu._version import __version__
from psychoedu.bootstrap.decision_study import (
    Errors,
    Universe,
    half_width,
    shares_of_sizes,
    smallest,
    split_errors,
)
from psychoedu.bootstrap.variance_components import Components, effects_of
from psychoedu.exceptions import DataError
from psychoedu.persistence import Fields, Saved, encode_numbers, plain_label
from psychoedu.validation import check_choice, check_integer, check_positive, check_probability, counted

ROLES = ("model", "task", "condition", "repeat")
MISSING = ("raise", "omit", "zero")
FEW = 5
"""With fewer levels than this a variance is little more than a guess."""

_METHODS = {True: "analysis of variance (balanced)", False: "Henderson's method 1 (unbalanced)"}


@dataclass(frozen=True, eq=False, repr=False)
class Generalizability(Saved):
    """Variance components of rewards; made by :func:`psychoedu.bootstrap.generalizability.generalizability`.

    Attributes
    ----------
    components : DataFrame, by effect
        estimate (as estimated, perhaps negative), standard_error, variance (what is counted: the estimate, 0 where negative),
        percent (of the sum of the variances), n_levels, and, where balanced, sum_of_squares, df and mean_square.
    generalizability, dependability : float
        E rho^2 and Phi of a model's mean in the study's own design; nan with an entry in ``diagnostics``.
    universe_variance, relative_error_variance, absolute_error_variance : float
        Of the study's own design.
    method : str
        How the components were estimated.
    fixed : tuple of str
        The facets whose levels are all there are; every other facet is random.
    sizes : dict
        Levels a model's mean is taken over, by facet. Where the design is unbalanced: the number that brings as much error.
    mean : float
        Mean reward.
    diagnostics : tuple of str
        Negative estimates, missing cells, and what is not known.
    version : str
    """

    kind: ClassVar[str] = "generalizability"

    facets: tuple[str, ...]
    columns: tuple[Any, ...]
    nested: bool
    fixed: tuple[str, ...]
    found: Components
    shares: FloatArray
    mean: float
    n_rewards: int
    n_missing: int
    missing: str
    version: str = __version__

    def __post_init__(self) -> None:
        part = self.found
        for values in (
            part.estimates,
            part.standard_errors,
            part.n_levels,
            part.sums_of_squares,
            part.degrees_of_freedom,
            part.mean_squares,
            self.shares,
        ):
            values.flags.writeable = False

    @property
    def effects(self) -> tuple[str, ...]:
        """Names of the effects, such as "model x task"."""
        names = []
        for effect in effects_of(len(self.facets), self.nested):
            parts = [self.facets[facet] for facet in effect]
            within = self.nested and len(self.facets) - 1 in effect
            names.append(f"{parts[-1]}:({' x '.join(parts[:-1])})" if within else " x ".join(parts))
        return tuple(names)

    @property
    def universe(self) -> Universe:
        """The effects with their variances, and which facets are random."""
        random = tuple(role not in self.fixed for role in self.facets)
        variances = np.maximum(self.found.estimates, 0.0)
        return Universe(effects_of(len(self.facets), self.nested), variances, random, self.nested)

    @property
    def method(self) -> str:
        """How the components were estimated."""
        return _METHODS[self.found.balanced]

    @property
    def components(self) -> pd.DataFrame:
        """Variance components, by effect; the last one holds all error that the design cannot tell from it."""
        variance = np.maximum(self.found.estimates, 0.0)
        total = variance.sum()
        return pd.DataFrame(
            {
                "estimate": self.found.estimates,
                "standard_error": self.found.standard_errors,
                "variance": variance,
                "percent": 100.0 * variance / total if total > 0.0 else np.full(len(variance), np.nan),
                "n_levels": self.found.n_levels,
                "sum_of_squares": self.found.sums_of_squares,
                "df": self.found.degrees_of_freedom,
                "mean_square": self.found.mean_squares,
            },
            index=pd.Index(self.effects, name="effect"),
        )

    def to_frame(self) -> pd.DataFrame:
        """Return the variance components, by effect."""
        return self.components

    @property
    def sizes(self) -> dict[str, float]:
        """Number of levels that a model's mean is taken over, by facet; effective numbers where unbalanced."""
        share = dict(zip(effects_of(len(self.facets), self.nested), self.shares.tolist(), strict=True))
        last = len(self.facets) - 1
        sizes = {}
        for place, role in enumerate(self.facets[1:], 1):
            inside = self.nested and place == last
            number = share[tuple(range(last))] / share[tuple(range(last + 1))] if inside else 1.0 / share[(place,)]
            sizes[role] = float(round(number)) if abs(number - round(number)) < 1e-9 * number else number
        return sizes

    @property
    def errors(self) -> Errors:
        """Universe, relative and absolute variance of a model's mean in the study's own design."""
        return split_errors(self.universe, self.shares)

    @property
    def universe_variance(self) -> float:
        """Variance of the models' universe scores."""
        return self.errors.universe

    @property
    def relative_error_variance(self) -> float:
        """Error variance of a model's mean against the other models', sigma^2(delta)."""
        return self.errors.relative

    @property
    def absolute_error_variance(self) -> float:
        """Error variance of a model's mean as it stands, sigma^2(Delta)."""
        return self.errors.absolute

    @property
    def generalizability(self) -> float:
        """Generalizability coefficient E rho^2 of the study's own design."""
        return self.errors.generalizability

    @property
    def dependability(self) -> float:
        """Index of dependability Phi of the study's own design."""
        return self.errors.dependability

    @property
    def options(self) -> dict[str, Any]:
        """How the study was made."""
        repeats = ("nested" if self.nested else "crossed") if "repeat" in self.facets else None
        columns = dict(zip(self.facets, self.columns, strict=True))
        return {"columns": columns, "fixed": self.fixed, "repeats": repeats, "missing": self.missing}

    @property
    def data_summary(self) -> dict[str, Any]:
        """Numbers of rewards, of missing ones, and of levels of each crossed facet."""
        levels = dict(zip(self.effects, self.found.n_levels.tolist(), strict=True))
        crossed = {role: levels[role] for role in self.facets if role in levels}
        return {"n_rewards": self.n_rewards, "n_missing": self.n_missing, "balanced": self.found.balanced, "levels": crossed}

    @property
    def diagnostics(self) -> tuple[str, ...]:
        """Negative estimates, missing cells, and what is not known, with counts."""
        notes = []
        negative = [
            f"{name} ({value:.3g})" for name, value in zip(self.effects, self.found.estimates, strict=True) if value < 0.0
        ]
        if negative:
            notes.append(f"{counted(len(negative), 'estimate')} below 0, counted as 0: {', '.join(negative)}")
        if not self.found.balanced:
            notes.append(
                "cells are missing or unequal: components by Henderson's method 1, right where what is missing does not depend "
                "on the rewards; means of models over different tasks also differ by the tasks"
            )
            if np.isnan(self.found.standard_errors).any():
                notes.append("standard errors were not computed: the design is too large for those of unequal cells")
        levels = self.data_summary["levels"]
        few = [f"{number} {role}s" for role, number in levels.items() if number < FEW and role not in self.fixed]
        if few:
            notes.append(f"few levels ({', '.join(few)}): see the standard errors before you lean on these components")
        if self.n_missing:
            outcome = "left out" if self.missing == "omit" else "counted as 0"
            notes.append(f"{counted(self.n_missing, 'reward')} missing, {outcome}")
        if not self.universe.components.any():
            notes.append("all rewards are alike, so the coefficients are 0 / 0: nan")
        elif np.isnan(self.generalizability) or np.isnan(self.dependability):
            notes.append("neither the models nor the errors vary, so a coefficient is 0 / 0: nan")
        return tuple(notes)

    def sd_of_difference(self, n_repeats: float | None = None) -> float:
        """Return the standard deviation over tasks of the difference of two models on one task.

        Parameters
        ----------
        n_repeats : int, optional
            Repeats that each reward is the mean of; None as in the study.

        Returns
        -------
        float

        Notes
        -----
        sqrt(2 sum of sigma^2_b / n_b) over the effects of model and task, n_b the product of conditions and repeats in them:
        without conditions sqrt(2 (sigma^2(model x task) + sigma^2(repeat) / n_repeats)). It is that of an average pair of models;
        conditions count as fixed, which is what a comparison over tasks does.
        """
        sizes = self._sizes(None, n_repeats, None)
        sizes[1] = 1.0
        model, task = 0, self.facets.index("task")
        shares = shares_of_sizes(self.universe.effects, sizes)
        kept = [model in effect and task in effect for effect in self.universe.effects]
        return float(np.sqrt(2.0 * np.sum((self.universe.components * shares)[kept])))

    def decision(
        self,
        n_tasks: int | Sequence[int] | None = None,
        n_repeats: int | Sequence[int] | None = None,
        n_conditions: int | Sequence[int] | None = None,
        confidence_level: float = 0.95,
    ) -> pd.DataFrame:
        """Say how well designs of other sizes would measure.

        Parameters
        ----------
        n_tasks, n_repeats, n_conditions : int or sequence of int, optional
            Sizes to try, in all combinations; None as in the study. Those of a fixed facet are the study's.
        confidence_level : float

        Returns
        -------
        DataFrame
            A row a design: n_tasks, n_repeats and n_conditions where the study has them, relative_error_sd, absolute_error_sd,
            mean_half_width (of the interval of one model's mean), difference_half_width (of two models on the same tasks),
            generalizability, dependability.

        Raises
        ------
        DataError
            A size is asked of a facet that the study does not have, or that is fixed.

        Notes
        -----
        half-width = t sd, sd^2 = sigma^2(Delta) for a mean and 2 sigma^2(delta) for a difference, where tasks are the only random
        facet apart from repeats in cells with n_tasks - 1 degrees of freedom: the root mean square half-width of the t interval
        that a study of that size computes from its own task means. With several random facets the degrees of freedom are
        Satterthwaite's, an approximation. nan with one level of a random facet, which gives no interval. The components are taken
        as known; errors are those of an average model and an average pair.
        """
        level = check_probability(confidence_level, "confidence_level")
        rows = []
        for tasks in _several(n_tasks):
            for repeats in _several(n_repeats):
                for conditions in _several(n_conditions):
                    sizes = self._sizes(tasks, repeats, conditions)
                    errors = split_errors(self.universe, shares_of_sizes(self.universe.effects, sizes))
                    row = {f"n_{role}s": _whole(size) for role, size in zip(self.facets[1:], sizes[1:], strict=True)}
                    rows.append(
                        {
                            **row,
                            "relative_error_sd": np.sqrt(errors.relative),
                            "absolute_error_sd": np.sqrt(errors.absolute),
                            "mean_half_width": half_width(self.universe, sizes, False, level),
                            "difference_half_width": half_width(self.universe, sizes, True, level),
                            "generalizability": errors.generalizability,
                            "dependability": errors.dependability,
                        }
                    )
        return pd.DataFrame(rows)

    def tasks_needed(
        self,
        half_width: float,
        n_repeats: int | None = None,
        of: str = "mean",
        n_conditions: int | None = None,
        confidence_level: float = 0.95,
    ) -> int:
        """Return the smallest number of tasks whose interval is no wider than asked.

        Parameters
        ----------
        half_width : float
            In units of the reward.
        n_repeats, n_conditions : int, optional
            None as in the study.
        of : {"mean", "difference"}
            Of one model's mean, or of the difference of two models on the same tasks.
        confidence_level : float

        Returns
        -------
        int
            At least 2.

        Raises
        ------
        DataError
            No number of tasks is enough, as conditions or repeats with effects of their own leave error; or the tasks are fixed.

        Notes
        -----
        See :meth:`decision` for the half-width.
        """
        width = check_positive(half_width, "half_width")
        difference = check_choice(of, ("mean", "difference"), "of") == "difference"
        level = check_probability(confidence_level, "confidence_level")
        if "task" in self.fixed:
            raise DataError(
                "The tasks are fixed: these are all there are, and no other number of them exists. Leave 'task' out of fixed."
            )
        universe = self.universe

        def reached(count: int) -> float:
            return _half_width(universe, self._sizes(count, n_repeats, n_conditions), difference, level)

        found = smallest(lambda count: reached(count) <= width)
        if found is None:
            raise DataError(
                f"No number of tasks brings the half-width to {width:g}: it stays at {reached(10**9):.3g}, the error of the "
                f"random {' and '.join(role + 's' for role in self.facets[2:] if role not in self.fixed)}.\n"
                "Ask for more of those, or count them as fixed, as in generalizability(..., fixed='condition')."
            )
        return found

    def _sizes(self, tasks: float | None, repeats: float | None, conditions: float | None) -> list[float]:
        """Return the number of levels of each facet of a design; the study's where None."""
        study = self.sizes
        sizes = [1.0]
        for role, asked in (("condition", conditions), ("repeat", repeats)):
            if role not in study and asked not in (None, 1):
                raise DataError(
                    f"n_{role}s={asked} was asked of a study without {role}s, so their variance is not known.\n"
                    f"Make the study with {role}=, the column of the {role}s."
                )
        for role in self.facets[1:]:
            asked = {"task": tasks, "condition": conditions, "repeat": repeats}[role]
            size = study[role]
            if asked is not None:
                number = asked if asked == size else check_integer(asked, f"n_{role}s", 1)
                if role in self.fixed and number != size:
                    raise DataError(
                        f"The {role}s are fixed: the study's {size:g} are all there are; n_{role}s={number:g} is another design."
                    )
                size = float(number)
            sizes.append(size)
        return sizes

    def summary(self) -> str:
        """Return components, coefficients and half-widths as fixed-width text."""
        table = self.components[["estimate", "standard_error", "percent", "n_levels"]]
        fixed = f"; fixed: {', '.join(self.fixed)}" if self.fixed else ""
        sizes = " x ".join(f"{size:.4g} {role}s" for role, size in self.sizes.items())
        row = self.decision().iloc[0]
        lines = [
            f"Generalizability study by {self.method}",
            f"{self.n_rewards:,} rewards, mean {self.mean:.4f}; a model's mean is over {sizes}{fixed}",
            "",
            table.to_string(float_format="{:.5f}".format, na_rep="-"),
            "",
            f"E rho^2 {self.generalizability:.3f}  Phi {self.dependability:.3f}",
            f"95% half-width of a model's mean {row['mean_half_width']:.4f}, of a difference {row['difference_half_width']:.4f}",
        ]
        return "\n".join([*lines, *(f"Note: {text}" for text in self.diagnostics)])

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers that ``from_dict`` turns back into an equal study."""
        part = self.found
        return {
            "facets": list(self.facets),
            "columns": [plain_label(label) for label in self.columns],
            "nested": self.nested,
            "fixed": list(self.fixed),
            "estimates": encode_numbers(part.estimates),
            "standard_errors": encode_numbers(part.standard_errors),
            "n_levels": part.n_levels.tolist(),
            "sums_of_squares": encode_numbers(part.sums_of_squares),
            "degrees_of_freedom": encode_numbers(part.degrees_of_freedom),
            "mean_squares": encode_numbers(part.mean_squares),
            "balanced": part.balanced,
            "shares": encode_numbers(self.shares),
            "mean": self.mean,
            "n_rewards": self.n_rewards,
            "n_missing": self.n_missing,
            "missing": self.missing,
            "version": self.version,
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Build the study from what ``to_dict`` gave."""
        fields = Fields(content)
        facets, fixed = fields.texts("facets"), fields.texts("fixed")
        if facets != tuple(role for role in ROLES if role in facets) or facets[:2] != ROLES[:2]:
            fields.refuse("facets", "'model', 'task', and perhaps 'condition' and 'repeat', in this order")
        nested = fields.flag("nested")
        if nested and facets[-1] != "repeat":
            fields.refuse("nested", "false in a study without repeats")
        if fixed != tuple(role for role in facets[1:] if role in fixed):
            fields.refuse("fixed", "facets of the study, the model aside, in its order")
        count = len(effects_of(len(facets), nested))
        columns = fields.labels("columns")
        if len(columns) != len(facets):
            fields.refuse("columns", f"{len(facets)} labels")
        found = Components(
            fields.numbers("estimates", count),
            fields.numbers("standard_errors", count, low=0.0, missing=True),
            fields.integers("n_levels", count, 1),
            fields.numbers("sums_of_squares", count, low=0.0, missing=True),
            fields.numbers("degrees_of_freedom", count, low=0.0, missing=True),
            fields.numbers("mean_squares", count, low=0.0, missing=True),
            fields.flag("balanced"),
        )
        return cls(
            facets,
            tuple(columns),
            nested,
            fixed,
            found,
            fields.numbers("shares", count, above=0.0),
            fields.number("mean"),
            fields.integer("n_rewards", 1),
            fields.integer("n_missing"),
            fields.text("missing", MISSING),
            fields.text("version"),
        )

    def __repr__(self) -> str:
        return f"Generalizability({self.n_rewards:,} rewards, {' x '.join(self.facets)})"

    def _repr_html_(self) -> str:
        notes = "".join(f"<li>{escape(text)}</li>" for text in self.diagnostics)
        table = self.components.to_html(float_format="{:.5f}".format, na_rep="")
        coefficients = f"E rho<sup>2</sup> {self.generalizability:.3f}, Phi {self.dependability:.3f}"
        return f"<p><b>Generalizability study by {escape(self.method)}</b>: {coefficients}</p>{table}" + (
            f"<ul>{notes}</ul>" if notes else ""
        )


_half_width = half_width
"""The function, where an argument has its name."""


def _several(sizes: int | Sequence[int] | None) -> list[Any]:
    """Return the sizes to try as a list."""
    if sizes is None or np.ndim(sizes) == 0:
        return [sizes]
    values = list(sizes)  # type: ignore[arg-type]
    if not values:
        raise DataError("A list of sizes to try is empty. Expected at least one whole number from 1 on.")
    return values


def _whole(size: float) -> float | int:
    return int(size) if float(size).is_integer() else size
