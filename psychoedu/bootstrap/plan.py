"""What a contrast compares and what it resamples: sides, ratios and pools of clusters, from a design and a few choices."""

from __future__ import annotations

from collections.abc import Hashable, KeysView, Mapping, Sequence, ValuesView
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray, IntArray
from psychoedu.bootstrap.corrections import n_draws
from psychoedu.bootstrap.design import ClusterDesign
from psychoedu.bootstrap.resampling import Pool
from psychoedu.exceptions import ClusterDesignError, DataError
from psychoedu.validation import check_choice, counted, has_label, listed, shown

WEIGHTINGS = ("task", "cluster", "stratum")
WITHIN = ("side", "stratum")
MIXED = "mixed"
"""Drawn within one side, and within the strata of the other, which have weights."""
_SEVERAL = (list, tuple, set, frozenset, pd.Index, np.ndarray, KeysView, ValuesView)
SINGLETONS = ("raise", "collapse", "certainty")
WEIGHTING_WORDS = {
    "task": "task-weighted: every task-by-model cell counts the same",
    "cluster": "cluster-weighted: every cluster counts the same, whatever its number of cells",
    "stratum": "stratum-weighted: every stratum counts the same, and every cell within it",
}
_Side = tuple[str, float]
FOCAL, COMPARISON, PAIRED = "focal", "comparison", "paired"


@dataclass(frozen=True)
class Choices:
    """How means are formed and clusters drawn.

    Attributes
    ----------
    weighting : {"task", "cluster", "stratum"}
    within : {"side", "stratum"} or None
        Whether clusters are drawn within the whole side or within each of its strata; None: within the side, unless strata have
        weights of their own.
    singleton : {"raise", "collapse", "certainty"}
    correction : str or None
    """

    weighting: str = "task"
    within: str | None = None
    singleton: str = "raise"
    correction: str | None = None


@dataclass(frozen=True, eq=False)
class Part:
    """Clusters that are drawn from together, before they have columns.

    Attributes
    ----------
    side : str
        "focal", "comparison" or "paired".
    term : int
        Position of the ratio.
    strata : tuple of int
        Positions of the strata in it; several where they are drawn from together.
    clusters : (n,) int array
    shares : dict of int to float, or None
        Weight of each stratum where strata were collapsed into one ratio.
    certain : bool
    """

    side: str
    term: int
    strata: tuple[int, ...]
    clusters: IntArray
    shares: dict[int, float] | None = None
    certain: bool = False


@dataclass(frozen=True, eq=False)
class Plan:
    """Parts and the coefficients of their ratios, which make any column into a contrast."""

    design: ClusterDesign
    parts: tuple[Part, ...]
    coefficients: FloatArray
    weighting: str
    within: str
    correction: str | None
    notes: tuple[str, ...]

    def pools(self, sums: FloatArray, sizes: FloatArray) -> list[Pool]:
        """Return the pools of some columns, from what each cluster adds to numerator and denominator, (C, K) each."""
        if self.weighting == "cluster":
            with np.errstate(invalid="ignore", divide="ignore"):
                sums = np.where(sizes > 0, sums / sizes, 0.0)
            sizes = (sizes > 0).astype(np.float64)
        found = []
        for part in self.parts:
            a, b = sums[part.clusters], sizes[part.clusters]
            if part.shares is not None:
                weight = self._weights(part, b)
                a, b = a * weight, b * weight
            draws = n_draws(len(part.clusters), self.correction)
            found.append(Pool(a, b, part.term, draws, part.certain))
        return found

    def _weights(self, part: Part, sizes: FloatArray) -> FloatArray:
        """Return weights that give each collapsed stratum its share of the common ratio."""
        assert part.shares is not None
        weight = np.zeros_like(sizes)
        stratum = self.design.stratum_of[part.clusters]
        for at, share in part.shares.items():
            own = stratum == at
            with np.errstate(divide="ignore"):
                weight[own] = share / sizes[own].sum(axis=0)
        return weight

    def side_coefficients(self, side: str) -> FloatArray:
        """Return coefficients of the mean of one side alone, 0 for the ratios of the other."""
        own = np.zeros(len(self.coefficients), dtype=bool)
        own[[part.term for part in self.parts if part.side == side]] = True
        return np.where(own, np.abs(self.coefficients), 0.0)

    @property
    def resampled(self) -> list[Part]:
        """The parts that are resampled at all."""
        return [part for part in self.parts if not part.certain]

    @property
    def pool_sizes(self) -> IntArray:
        """Clusters of each part that is resampled."""
        return np.array([len(part.clusters) for part in self.resampled], dtype=np.int64)


@dataclass(frozen=True)
class Side:
    """One side of a contrast: its strata, and their weights where they have any."""

    name: str
    strata: tuple[int, ...]
    weights: tuple[float, ...] | None


def side_of(value: Any, design: ClusterDesign, name: str, without: Sequence[int] = ()) -> Side:
    """Read one side of a contrast.

    Parameters
    ----------
    value : label, list of labels, mapping of label to weight, or None
        None for all strata but those in ``without``.
    design : ClusterDesign
    name : {"focal", "comparison"}
    without : sequence of int
        Positions of the other side's strata.
    """
    if value is None:
        rest = tuple(at for at in range(len(design.strata)) if at not in set(without))
        if not rest:
            raise ClusterDesignError(
                f"Nothing is left to compare with: the focal side holds all strata, {listed(design.strata)}.\n"
                "Expected tasks of another stratum in the table."
            )
        return Side(name, rest, None)
    weights = None
    if isinstance(value, pd.Series):  # numbers by stratum are weights, anything else a list of labels
        value = value.to_dict() if value.dtype.kind in "iuf" and value.index.isin(design.strata).all() else value.tolist()
    if isinstance(value, Mapping):
        labels, weights = list(value), _checked_weights(value, name)
    elif isinstance(value, list | tuple | set | frozenset | pd.Index | np.ndarray | KeysView | ValuesView) and not _is_label(
        value, design
    ):
        labels = list(value)
    else:
        labels = [value]
    if not labels:
        raise DataError(f"{name} is empty. Expected a stratum, a list of strata or a mapping of stratum to weight.")
    places = [design.position_of_stratum(label) for label in labels]
    if len(set(places)) < len(places):
        raise DataError(f"{name} names a stratum twice: {listed(labels)}.")
    both = sorted(set(places) & set(without))
    if both:
        shared = listed(design.strata[both])
        raise DataError(f"{shared} would be on both sides. Expected different strata as focal and as comparison.")
    order = np.argsort(places)
    return Side(
        name,
        tuple(places[at] for at in order),
        None if weights is None else tuple(weights[at] for at in order),
    )


def _is_label(value: Any, design: ClusterDesign) -> bool:
    return isinstance(value, tuple) and has_label(design.strata, value)


def _checked_weights(value: Mapping[Hashable, Any], name: str) -> list[float]:
    given = list(value.values())
    try:
        weights = [float(weight) for weight in given]
    except (TypeError, ValueError) as error:
        raise DataError(f"The weights of {name} have to be numbers; got {listed(given)}.") from error
    if not all(np.isfinite(weight) and weight > 0.0 for weight in weights):
        raise DataError(
            f"The weights of {name} have to be above 0; got {listed(given)}. Leave a stratum out instead of giving it 0."
        )
    return [weight / sum(weights) for weight in weights]


def plan_of(design: ClusterDesign, sides: Sequence[Side], choices: Choices) -> Plan:
    """Lay out ratios and pools.

    Parameters
    ----------
    design : ClusterDesign
    sides : sequence of Side
        Focal and comparison; or one, "paired", whose columns are differences.
    choices : Choices

    Returns
    -------
    Plan

    Raises
    ------
    ClusterDesignError
        A part that is resampled has one cluster.
    """
    weighting = check_choice(choices.weighting, WEIGHTINGS, "weighting")
    singleton = check_choice(choices.singleton, SINGLETONS, "singleton")
    within = None if choices.within is None else check_choice(choices.within, WITHIN, "resample_within")
    parts: list[Part] = []
    coefficients: list[float] = []
    said: set[str] = set()
    for side in sides:
        sign = -1.0 if side.name == FOCAL else 1.0
        weights = side.weights
        if weights is None and weighting == "stratum":
            weights = (1.0 / len(side.strata),) * len(side.strata)
        if weights is not None and within == "side" and len(side.strata) > 1:
            raise DataError(
                'resample_within="side" draws from all strata together, which their weights forbid.\n'
                'Expected resample_within="stratum", or means without weights of strata (weighting="task").'
            )
        by_stratum = within == "stratum" or (weights is not None)
        if len(side.strata) > 1:
            said.add("stratum" if by_stratum else "side")
        groups = [(at,) for at in side.strata] if by_stratum else [side.strata]
        for place, group in enumerate(groups):
            clusters = np.flatnonzero(np.isin(design.stratum_of, group))
            if weights is not None or place == 0:
                coefficients.append(sign if weights is None else sign * weights[place])
            parts.append(Part(side.name, len(coefficients) - 1, group, clusters))
    plan = Plan(
        design,
        tuple(parts),
        np.array(coefficients),
        weighting,
        MIXED if len(said) > 1 else said.pop() if said else (within or "side"),
        choices.correction,
        (),
    )
    return _settle_singletons(plan, singleton)


def _settle_singletons(plan: Plan, singleton: str) -> Plan:
    single = [part for part in plan.parts if len(part.clusters) == 1]
    if not single:
        return plan
    design = plan.design
    names = [_name(part, design) for part in single]
    word = design.cluster_word
    if singleton == "raise":
        raise ClusterDesignError(
            f"{counted(len(single), 'stratum') if len(single) == 1 else f'{len(single)} strata'} with one {word}: "
            f"{', '.join(names[:5])}. The spread between its {word}s, and so the standard error, does not exist.\n"
            f'Expected at least two. Pass singleton="collapse" (draw from it together with another stratum of its side) or\n'
            f'singleton="certainty" (take it as fixed, without sampling error), or add {word}s.'
        )
    if singleton == "certainty":
        if len(single) == len(plan.parts):
            raise ClusterDesignError(
                f"Every stratum has one {word}, so that nothing is left to resample. Expected at least two in one."
            )
        notes = (f"taken as certain, without sampling error (one {word}): {', '.join(names)}",)
        parts = tuple(replace(part, certain=True) if part in single else part for part in plan.parts)
        return replace(plan, parts=parts, notes=plan.notes + notes)
    return _collapse(plan)


def _name(part: Part, design: ClusterDesign) -> str:
    labels = ", ".join(shown(design.strata[at]) for at in part.strata)
    return f"{labels} ({shown(design.clusters[part.clusters[0]])} alone)" if len(part.clusters) == 1 else labels


def _collapse(plan: Plan) -> Plan:
    """Join each part of one cluster with the smallest other part of its side."""
    design, parts, notes = plan.design, list(plan.parts), []
    while True:
        single = next((part for part in parts if len(part.clusters) == 1), None)
        if single is None:
            break
        others = [part for part in parts if part.side == single.side and part is not single]
        if not others:
            raise ClusterDesignError(
                f"Stratum {_name(single, design)} is a side of its own: no other stratum is there to draw with it.\n"
                f'Expected at least two {design.cluster_word}s; add some, or pass singleton="certainty".'
            )
        other = min(others, key=lambda part: (len(part.clusters), part.strata))
        notes.append(f"drawn from together: {_name(single, design)} with {_name(other, design)}")
        parts = [part for part in parts if part is not single and part is not other]
        parts.append(_joined(single, other, plan))
    order = sorted(parts, key=lambda part: (part.side != FOCAL, part.strata))
    terms = sorted({part.term for part in order})
    coefficients = np.array([_coefficient(term, order, plan) for term in terms])
    renumbered = tuple(replace(part, term=terms.index(part.term)) for part in order)
    return replace(plan, parts=renumbered, coefficients=coefficients, notes=plan.notes + tuple(notes))


def _joined(single: Part, other: Part, plan: Plan) -> Part:
    shares = None
    if single.term != other.term:
        shares = {**_shares(single, plan), **_shares(other, plan)}
    clusters = np.sort(np.concatenate([single.clusters, other.clusters]))
    return Part(other.side, other.term, tuple(sorted(single.strata + other.strata)), clusters, shares)


def _shares(part: Part, plan: Plan) -> dict[int, float]:
    return part.shares if part.shares is not None else {part.strata[0]: abs(float(plan.coefficients[part.term]))}


def _coefficient(term: int, parts: Sequence[Part], plan: Plan) -> float:
    own = next(part for part in parts if part.term == term)
    sign = -1.0 if own.side == FOCAL else 1.0
    return sign * sum(own.shares.values()) if own.shares is not None else float(plan.coefficients[term])
