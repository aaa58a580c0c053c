"""Rewards of TeachArena's three stages: pedagogical judgment, situated tutoring, workflows in a learning management system."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from psychoedu.exceptions import DataError
from psychoedu.validation import check_choice, check_flag, listed, shown

R1_WEIGHTS = {"anchor": 0.55, "semantic": 0.45}
R2_WEIGHTS = {"turn": 0.35, "trajectory_metric": 0.16, "trajectory_judge": 0.24, "learner": 0.25}
LEARNER_WEIGHTS = {"cognitive": 0.50, "metacognitive": 0.25, "non_cognitive": 0.25}
UNCOMPLETED = 0.92
"""Multiplier of stage 2 for a session without an explicit completion signal."""

REVELATION = {"none": 1.00, "partial": 0.70, "complete": 0.20}
"""Credit for mastery by what the tutor revealed: complete in the same turn, partial scaffolding; 1 for nothing is not printed but
follows from there being nothing to discount."""

ICAP = {"interactive": 1.0, "constructive": 1.0, "active": 1.0, "passive": 1.0}
"""Credit by mode of engagement. The paper prints no numbers, so that the modes do not count unless numbers are given."""

MEASURED, NOT_APPLICABLE, NOT_MEASURED = "measured", "not applicable", "not measured"


@dataclass(frozen=True)
class Reward:
    """A weighted mean of the components that were measured, with what it was made of.

    Parameters
    ----------
    value : float
        Between 0 and 1; nan where no component with a weight was measured.
    components : dict
        The values, nan where not measured or not applicable.
    nominal_weights : dict
        As printed in the protocol.
    effective_weights : dict
        Nominal weights divided by the sum of those of measured components: they sum to 1. All 0 where nothing was measured.
    availability : dict
        "measured", "not applicable" or "not measured" of every component.
    multiplier : float
        What the mean was multiplied with.
    """

    value: float
    components: dict[str, float]
    nominal_weights: dict[str, float]
    effective_weights: dict[str, float]
    availability: dict[str, str]
    multiplier: float = 1.0


def semantic_score(
    passes: Sequence[Sequence[float | None]], weights: Sequence[float] | None = None, panel: str = "mean"
) -> float:
    """Return the semantic score of a response: its assertions as judges saw them.

    Parameters
    ----------
    passes : sequences, (n_judges, n_assertions)
        1 or True where the assertion holds, 0 where not, a fraction between; None or nan where the judge said nothing readable.
    weights : sequence of float, optional
        Of the assertions; default: equal.
    panel : {"mean", "majority"}
        The judges' mean, or 1 where more than half of those who judged give more than 0.5, else 0. The paper says that several
        evaluator views are aggregated and not how; the mean keeps partial agreement.

    Returns
    -------
    float
        nan where an assertion that has a weight was judged by nobody, or there is none.

    References
    ----------
    TeachArena (Chen et al.), A.3.

    Examples
    --------
    >>> semantic_score([[1, 1, 0], [1, 0, 0]]), semantic_score([[1, 1, 0], [1, 0, 0]], panel="majority").__round__(3)
    (0.5, 0.333)
    """
    check_choice(panel, ("mean", "majority"), "panel")
    if len({len(row) for row in passes}) > 1:
        raise DataError(f"Judges saw {listed(sorted({len(row) for row in passes}))} assertions; expected one number.")
    table = np.array([[math.nan if cell is None else float(cell) for cell in row] for row in passes], dtype=np.float64)
    if not table.size:
        return math.nan
    known = ~np.isnan(table)
    _check_unit(dict(enumerate(table[known].tolist())), "passes")
    voters = known.sum(axis=0)
    values = table if panel == "mean" else (table > 0.5).astype(np.float64)
    total = np.where(known, values, 0.0).sum(axis=0)
    with np.errstate(invalid="ignore"):  # 0 / 0 is the nan of an assertion that nobody judged
        share = total / voters
    if panel == "majority":
        share = np.where(voters > 0, (share > 0.5).astype(np.float64), math.nan)
    weight = np.ones(len(share)) if weights is None else np.asarray(weights, dtype=np.float64)
    if weight.shape != share.shape or not (weight >= 0.0).all() or weight.sum() <= 0.0:
        raise DataError(f"weights has to hold {len(share)} numbers of at least 0, not all 0; got {listed(weight)}.")
    counted = weight > 0.0
    return float(share[counted] @ weight[counted] / weight.sum())


def r1(semantic: float, anchor: float | None = None, weights: Mapping[str, float] = R1_WEIGHTS) -> float:
    """Return the reward of a task of stage 1, pedagogical judgment.

    Parameters
    ----------
    semantic : float
        From 0 to 1, or nan.
    anchor : float, optional
        The response anchor, from 0 to 1; None for one of the 17 tasks without.
    weights : mapping
        Of "anchor" and "semantic", summing to 1.

    Returns
    -------
    float
        0 if either is 0, else 0.55 anchor + 0.45 semantic; semantic alone without an anchor. nan where what decides is unknown.

    References
    ----------
    TeachArena (Chen et al.), equation 1.

    Examples
    --------
    >>> round(r1(0.8, anchor=1.0), 12), r1(1.0, anchor=0.0), r1(0.8)
    (0.91, 0.0, 0.8)
    """
    own = _check_weights(weights, R1_WEIGHTS)
    if semantic is None:
        raise DataError("r1() got no semantic score; expected a number from 0 to 1, nan for an unknown one.")
    _check_unit({"semantic": semantic, "anchor": anchor}, "r1()")
    if anchor is None:
        return float(semantic)
    if anchor == 0.0 or semantic == 0.0:
        return 0.0
    return float(min(own["anchor"] * anchor + own["semantic"] * semantic, 1.0))


def r2(
    turn: float | None = None,
    trajectory_metric: float | None = None,
    trajectory_judge: float | None = None,
    learner: float | None = None,
    *,
    completed: bool,
    weights: Mapping[str, float] = R2_WEIGHTS,
    uncompleted_multiplier: float = UNCOMPLETED,
) -> Reward:
    """Return the reward of a task of stage 2, situated tutoring.

    Parameters
    ----------
    turn, trajectory_metric, trajectory_judge, learner : float or None
        From 0 to 1. None: the task does not have it (2 of 100 have no learner outcome); nan: it should have been measured and was
        not.
    completed : bool
        Whether the session gave an explicit completion signal.
    weights : mapping
        Nominal weights of the four, summing to 1.
    uncompleted_multiplier : float
        For a session without the signal.

    Returns
    -------
    Reward
        0.35 turn + 0.16 trajectory_metric + 0.24 trajectory_judge + 0.25 learner, the weights renormalised over the components
        that apply and were measured, times 0.92 without the signal.

    References
    ----------
    TeachArena (Chen et al.), equation 2 and B.2.

    Examples
    --------
    >>> found = r2(turn=0.8, trajectory_metric=0.5, trajectory_judge=0.5, completed=True)
    >>> round(found.value, 4), round(found.effective_weights["turn"], 4), found.availability["learner"]
    (0.64, 0.4667, 'not applicable')
    """
    check_flag(completed, "completed")
    multiplier = _multiplier(uncompleted_multiplier, "uncompleted_multiplier")
    components = {
        "turn": turn,
        "trajectory_metric": trajectory_metric,
        "trajectory_judge": trajectory_judge,
        "learner": learner,
    }
    return _weighted(components, _check_weights(weights, R2_WEIGHTS), 1.0 if completed else multiplier)


def learner_change(
    cognitive: float | None,
    metacognitive: float | None = None,
    non_cognitive: float | None = None,
    *,
    revelation: str = "none",
    engagement: str | None = None,
    echoed: bool = False,
    weights: Mapping[str, float] = LEARNER_WEIGHTS,
    revelation_multipliers: Mapping[str, float] = REVELATION,
    icap_multipliers: Mapping[str, float] = ICAP,
) -> Reward:
    """Return the learner-change component of stage 2.

    Parameters
    ----------
    cognitive, metacognitive, non_cognitive : float or None
        Change of the learner's state, from 0 to 1. None: does not apply; nan: not measured. Weights are renormalised over the
        others, as those of stage 2 are; the paper does not say so of this component.
    revelation : {"none", "partial", "complete"}
        What the tutor had revealed in the same turn.
    engagement : {"interactive", "constructive", "active", "passive"}, optional
        The learner's mode of engagement (ICAP).
    echoed : bool
        Whether the learner only agreed with, or repeated, what the tutor had supplied: no credit for mastery.
    weights : mapping
    revelation_multipliers, icap_multipliers : mapping
        Factors from 0 to 1. They multiply the cognitive part, mastery, which is what the paper names.

    Returns
    -------
    Reward
        0.50 cognitive + 0.25 metacognitive + 0.25 non_cognitive, the cognitive part after its discount.

    References
    ----------
    TeachArena (Chen et al.), B.2. Chi, M. T. H., & Wylie, R. (2014). The ICAP framework. Educational Psychologist, 49, 219-243.

    Examples
    --------
    >>> round(learner_change(1.0, 0.4, 0.4, revelation="complete").value, 12)
    0.3
    """
    check_flag(echoed, "echoed")
    check_choice(revelation, tuple(revelation_multipliers), "revelation")
    credit = _multiplier(revelation_multipliers[revelation], "revelation_multipliers")
    if engagement is not None:
        check_choice(engagement, tuple(icap_multipliers), "engagement")
        credit *= _multiplier(icap_multipliers[engagement], "icap_multipliers")
    components = {"cognitive": cognitive, "metacognitive": metacognitive, "non_cognitive": non_cognitive}
    _check_unit(components, "learner_change()")
    if cognitive is not None:
        components["cognitive"] = cognitive * (0.0 if echoed else credit)
    return _weighted(components, _check_weights(weights, LEARNER_WEIGHTS))


def r3(
    components: Mapping[str, float],
    *,
    critical: Iterable[str] | None = None,
    weights: Mapping[str, float] | None = None,
    artifact_quality: float | None = None,
    penalties: Mapping[str, float] | Iterable[float] = (),
    hard_failure: bool = False,
) -> float:
    """Return the reward of a task of stage 3, a workflow in a learning management system.

    Parameters
    ----------
    components : mapping of str to float
        What the task's manifest declares, from 0 to 1: "environment", "semantic", "process", "goal", "anchor"; nan: not measured.
    critical : iterable of str, optional
        Components without which there is no reward. The paper leaves them to the manifest; default: the persistent state,
        "environment" and "goal", as far as declared, since artifact quality "cannot rescue a zero required state component".
    weights : mapping of str to float, optional
        Of the components; printed nowhere, so equal by default.
    artifact_quality : float, optional
        Multiplies; None where none is declared.
    penalties : mapping or iterable of float
        Shares taken off, from 0 to 1, one after the other: visible backend language, termination by the limit of tool errors.
    hard_failure : bool
        Blind-grading violation: no reward.

    Returns
    -------
    float
        0 after a hard failure or with a critical component at 0; else the weighted mean of the components x artifact quality x
        product of (1 - penalty). nan where what decides is unknown.

    References
    ----------
    TeachArena (Chen et al.), C.2. How components are weighted is left to the tasks' manifests.

    Examples
    --------
    >>> r3({"environment": 1.0, "semantic": 0.5}, artifact_quality=0.8, penalties={"backend language": 0.1}).__round__(12)
    0.54
    >>> r3({"environment": 0.0, "semantic": 1.0})
    0.0
    """
    check_flag(hard_failure, "hard_failure")
    if not components:
        raise DataError("components is empty; expected those that the task declares, such as {'environment': 1.0}.")
    _check_unit({**components, "artifact_quality": artifact_quality}, "r3()")
    required = [name for name in ("environment", "goal") if name in components] if critical is None else list(critical)
    unknown = [name for name in required if name not in components]
    if unknown:
        raise DataError(f"critical names {listed(unknown)}; the task declares {listed(list(components))}.")
    losses = dict(penalties) if isinstance(penalties, Mapping) else dict(enumerate(penalties))
    _check_unit(losses, "penalties")
    if hard_failure or any(components[name] == 0.0 for name in required) or artifact_quality == 0.0:
        return 0.0
    own = dict.fromkeys(components, 1.0 / len(components)) if weights is None else _check_weights(weights, components, 0.0)
    mean = sum(own[name] * value for name, value in components.items() if own[name] > 0.0) / sum(own.values())
    kept = math.prod(1.0 - loss for loss in losses.values())
    return float(min(mean, 1.0) * (1.0 if artifact_quality is None else artifact_quality) * kept)


def stage_score(rewards: Iterable[float | None]) -> float:
    """Return the score of a stage: the mean of the recorded task rewards that apply.

    Parameters
    ----------
    rewards : iterable of float
        None or nan for tasks without a recorded reward, which are left out.

    Returns
    -------
    float
        nan where nothing is recorded.

    References
    ----------
    TeachArena (Chen et al.), appendix D.

    Examples
    --------
    >>> stage_score([1.0, None, 0.5])
    0.75
    """
    recorded = [float(reward) for reward in rewards if reward is not None and not math.isnan(reward)]
    return math.fsum(recorded) / len(recorded) if recorded else math.nan


def balanced_mean(stage_1: float, stage_2: float, stage_3: float) -> float:
    """Return the unweighted mean of the three stage scores; nan where one is unknown.

    References
    ----------
    TeachArena (Chen et al.), appendix D: R_bal = (R1 + R2 + R3) / 3.

    Examples
    --------
    >>> round(balanced_mean(0.799, 0.732, 0.447), 3)
    0.659
    """
    return (float(stage_1) + float(stage_2) + float(stage_3)) / 3.0


def _weighted(components: Mapping[str, float | None], nominal: dict[str, float], multiplier: float = 1.0) -> Reward:
    """Return the mean over measured components, weights renormalised."""
    _check_unit(components, "The reward")
    values = {name: math.nan if value is None else float(value) for name, value in components.items()}
    availability = {
        name: NOT_APPLICABLE if value is None else NOT_MEASURED if math.isnan(value) else MEASURED
        for name, value in components.items()
    }
    measured = [name for name, state in availability.items() if state == MEASURED]
    total = math.fsum(nominal[name] for name in measured)
    effective = {name: nominal[name] / total if name in measured and total > 0.0 else 0.0 for name in nominal}
    mean = min(math.fsum(effective[name] * values[name] for name in measured), 1.0) if total > 0.0 else math.nan
    return Reward(mean * multiplier, values, nominal, effective, availability, multiplier)


def _check_weights(weights: Mapping[str, float], names: Iterable[str], total: float = 1.0) -> dict[str, float]:
    """Check that weights are for these components, not negative, and sum to ``total`` (0: to anything above 0)."""
    wanted = list(names)
    if set(weights) != set(wanted):
        raise DataError(f"weights is for {listed(list(weights))}; expected {listed(wanted)}.")
    own = {name: float(weights[name]) for name in wanted}
    if not all(weight >= 0.0 for weight in own.values()):
        raise DataError(f"weights has to hold numbers of at least 0; got {listed(list(own.values()))}.")
    found = math.fsum(own.values())
    if found <= 0.0 or (total and abs(found - total) > 1e-9):
        raise DataError(f"weights has to sum to {shown(total) if total else 'more than 0'}; the sum is {found:g}.")
    return own


def _check_unit(values: Mapping[str, float | None] | Mapping[int, float], what: str) -> None:
    """Check that values which are known are numbers between 0 and 1."""
    strange = {
        name: value for name, value in values.items() if value is not None and not isinstance(value, int | float | np.number)
    }
    if strange:
        raise DataError(
            f"{what} got {listed([f'{name}: {value!r}' for name, value in strange.items()])}; "
            "expected numbers from 0 to 1, nan for unknown ones."
        )
    wrong = {name: value for name, value in values.items() if value is not None and (value < 0.0 or value > 1.0)}
    if wrong:
        hint = " Percentages have to be divided by 100." if all(1.0 < value <= 100.0 for value in wrong.values()) else ""
        raise DataError(
            f"{what} got values outside 0 to 1: {listed([f'{name}: {value}' for name, value in wrong.items()])}.{hint}"
        )


def _multiplier(value: float, name: str) -> float:
    _check_unit({name: value}, "Multipliers")
    if math.isnan(value):
        raise DataError(f"{name} is unknown (nan); expected a number from 0 to 1.")
    return float(value)
