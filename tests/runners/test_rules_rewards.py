"""Rewards of the three stages: closed forms, bounds, monotony, and weights that sum to 1."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychoedu.exceptions import DataError
from psychoedu.runners.rules.rewards import (
    ICAP,
    LEARNER_WEIGHTS,
    MEASURED,
    NOT_APPLICABLE,
    NOT_MEASURED,
    R1_WEIGHTS,
    R2_WEIGHTS,
    REVELATION,
    balanced_mean,
    learner_change,
    r1,
    r2,
    r3,
    semantic_score,
    stage_score,
)

EXACT = 1e-12
unit = st.floats(0.0, 1.0, allow_subnormal=False)
maybe = st.one_of(unit, st.none(), st.just(math.nan))
PARTS = tuple(R2_WEIGHTS)


def test_printed_weights_sum_to_one() -> None:
    assert R1_WEIGHTS == {"anchor": 0.55, "semantic": 0.45}
    assert R2_WEIGHTS == {"turn": 0.35, "trajectory_metric": 0.16, "trajectory_judge": 0.24, "learner": 0.25}
    assert LEARNER_WEIGHTS == {"cognitive": 0.5, "metacognitive": 0.25, "non_cognitive": 0.25}
    for weights in (R1_WEIGHTS, R2_WEIGHTS, LEARNER_WEIGHTS):
        assert math.fsum(weights.values()) == pytest.approx(1.0, abs=EXACT)


def test_semantic_score_by_hand() -> None:
    panel = [[1, 1, 0, 1], [1, 0, 0, 1], [1, 0, 1, None]]
    # assertions 1, 1/3, 1/3, 1
    assert semantic_score(panel) == pytest.approx(8 / 12, rel=EXACT)
    assert semantic_score(panel, panel="majority") == 0.5
    assert semantic_score(panel, weights=[2, 1, 1, 0]) == pytest.approx((2 + 2 / 3) / 4, rel=EXACT)
    assert semantic_score([[1, 0]], panel="majority") == 0.5
    assert semantic_score([[1], [0]], panel="majority") == 0.0  # half is not more than half
    assert math.isnan(semantic_score([[1, None]]))
    assert semantic_score([[1, None]], weights=[1, 0]) == 1.0
    assert math.isnan(semantic_score([]))
    with pytest.raises(DataError, match="Judges saw 1, 2 assertions"):
        semantic_score([[1], [1, 0]])
    with pytest.raises(DataError, match="outside 0 to 1"):
        semantic_score([[2.0, 0.0]])
    with pytest.raises(DataError, match="not all 0"):
        semantic_score([[1.0, 0.0]], weights=[0, 0])


def test_r1_by_hand() -> None:
    assert r1(0.8, anchor=1.0) == pytest.approx(0.91, rel=EXACT)
    assert r1(0.6, anchor=0.5) == pytest.approx(0.275 + 0.27, rel=EXACT)
    assert r1(0.0, anchor=1.0) == 0.0  # a conclusion cannot rescue an explanation without the mechanism
    assert r1(1.0, anchor=0.0) == 0.0  # nor a fluent rationale a missing decision
    assert r1(0.8) == 0.8
    assert r1(0.0) == 0.0
    assert math.isnan(r1(math.nan))
    assert math.isnan(r1(0.5, anchor=math.nan))
    assert r1(math.nan, anchor=0.0) == 0.0  # decided, whatever the judges say
    with pytest.raises(DataError, match="divided by 100"):
        r1(80.0)
    with pytest.raises(DataError, match="has to sum to 1"):
        r1(0.5, 0.5, weights={"anchor": 0.5, "semantic": 0.4})


@given(unit, unit, unit)
def test_r1_is_bounded_and_monotone(semantic: float, anchor: float, step: float) -> None:
    reward = r1(semantic, anchor)
    assert 0.0 <= reward <= 1.0
    assert r1(min(semantic + step, 1.0), anchor) >= reward - EXACT
    assert r1(semantic, min(anchor + step, 1.0)) >= reward - EXACT


def test_r2_by_hand() -> None:
    whole = r2(0.8, 0.5, 0.75, 0.4, completed=True)
    assert whole.value == pytest.approx(0.28 + 0.08 + 0.18 + 0.1, rel=EXACT)
    assert whole.effective_weights == pytest.approx(R2_WEIGHTS, rel=EXACT)
    assert whole.nominal_weights == R2_WEIGHTS
    assert r2(0.8, 0.5, 0.75, 0.4, completed=False).value == pytest.approx(0.64 * 0.92, rel=EXACT)
    # without a learner outcome 0.35, 0.16, 0.24 are divided by 0.75
    without = r2(0.8, 0.5, 0.75, None, completed=True)
    assert without.value == pytest.approx((0.28 + 0.08 + 0.18) / 0.75, rel=EXACT)
    assert without.availability == {**dict.fromkeys(PARTS[:3], MEASURED), "learner": NOT_APPLICABLE}
    assert without.effective_weights["turn"] == pytest.approx(7 / 15, rel=EXACT)
    assert without.effective_weights["learner"] == 0.0
    # a judge that failed: the same value, another record
    failed = r2(0.8, 0.5, 0.75, math.nan, completed=True)
    assert failed.value == without.value
    assert failed.availability["learner"] == NOT_MEASURED


def test_r2_without_anything_measured_is_unknown() -> None:
    nothing = r2(completed=False)
    assert math.isnan(nothing.value)
    assert set(nothing.effective_weights.values()) == {0.0}
    with pytest.raises(DataError, match="completed has to be True or False"):
        r2(0.5, completed=1)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"turn: 1\.2"):
        r2(1.2, completed=True)
    with pytest.raises(DataError, match="weights is for"):
        r2(0.5, completed=True, weights={"turn": 1.0})


@given(st.tuples(maybe, maybe, maybe, maybe), st.booleans(), unit)
def test_r2_is_bounded_and_monotone_and_its_weights_sum_to_one(
    parts: tuple[float | None, ...], completed: bool, step: float
) -> None:
    found = r2(*parts, completed=completed)
    known = [name for name, value in zip(PARTS, parts, strict=True) if value is not None and not math.isnan(value)]
    assert [name for name, state in found.availability.items() if state == MEASURED] == known
    if not known:
        assert math.isnan(found.value)
        return
    assert 0.0 <= found.value <= (1.0 if completed else 0.92)
    assert math.fsum(found.effective_weights.values()) == pytest.approx(1.0, abs=EXACT)
    values = [value for value in parts if value is not None and not math.isnan(value)]
    assert min(values) * found.multiplier - EXACT <= found.value <= max(values) * found.multiplier + EXACT
    for place, value in enumerate(parts):
        if value is not None and not math.isnan(value):
            better = [*parts[:place], min(value + step, 1.0), *parts[place + 1 :]]
            assert r2(*better, completed=completed).value >= found.value - EXACT


def test_learner_change_by_hand() -> None:
    assert learner_change(0.8, 0.4, 0.2).value == pytest.approx(0.4 + 0.1 + 0.05, rel=EXACT)
    assert learner_change(1.0, 0.4, 0.2, revelation="partial").value == pytest.approx(0.35 + 0.1 + 0.05, rel=EXACT)
    assert learner_change(1.0, 0.4, 0.2, revelation="complete").value == pytest.approx(0.1 + 0.1 + 0.05, rel=EXACT)
    assert learner_change(1.0, 0.4, 0.2, echoed=True).value == pytest.approx(0.15, rel=EXACT)
    assert learner_change(0.5).value == 0.5  # renormalised over what applies
    assert REVELATION == {"none": 1.0, "partial": 0.7, "complete": 0.2}


def test_modes_of_engagement_count_only_with_numbers() -> None:
    for mode in ICAP:
        assert learner_change(1.0, 0.4, 0.2, engagement=mode).value == learner_change(1.0, 0.4, 0.2).value
    ours = {"interactive": 1.0, "constructive": 0.8, "active": 0.5, "passive": 0.0}
    found = learner_change(1.0, 0.0, 0.0, revelation="partial", engagement="active", icap_multipliers=ours)
    assert found.value == pytest.approx(0.5 * 0.7 * 0.5, rel=EXACT)
    with pytest.raises(DataError, match="engagement has to be one of"):
        learner_change(1.0, engagement="asleep")
    with pytest.raises(DataError, match="revelation has to be one of"):
        learner_change(1.0, revelation="half")
    with pytest.raises(DataError, match="outside 0 to 1"):
        learner_change(1.0, revelation="none", revelation_multipliers={"none": 1.5})


@given(maybe, maybe, maybe, st.sampled_from(sorted(REVELATION)), st.booleans())
def test_more_revealed_is_less_credit(
    cognitive: float | None, metacognitive: float | None, non_cognitive: float | None, level: str, echoed: bool
) -> None:
    found = learner_change(cognitive, metacognitive, non_cognitive, revelation=level, echoed=echoed)
    if set(found.availability.values()) <= {NOT_APPLICABLE, NOT_MEASURED}:
        assert math.isnan(found.value)
        return
    assert 0.0 <= found.value <= 1.0
    assert math.fsum(found.effective_weights.values()) == pytest.approx(1.0, abs=EXACT)
    assert found.value <= learner_change(cognitive, metacognitive, non_cognitive).value + EXACT


def test_r3_by_hand() -> None:
    parts = {"environment": 1.0, "semantic": 0.6, "process": 0.8}
    assert r3(parts) == pytest.approx(0.8, rel=EXACT)
    assert r3(parts, artifact_quality=0.5) == pytest.approx(0.4, rel=EXACT)
    assert r3(parts, penalties=[0.1, 0.5]) == pytest.approx(0.8 * 0.9 * 0.5, rel=EXACT)
    assert r3(parts, penalties={"tool errors": 1.0}) == 0.0
    assert r3(parts, weights={"environment": 2, "semantic": 1, "process": 1}) == pytest.approx(0.85, rel=EXACT)
    assert r3(parts, hard_failure=True) == 0.0
    assert r3({**parts, "environment": 0.0}, artifact_quality=1.0) == 0.0  # quality cannot rescue a state
    assert r3({**parts, "process": 0.0}) == pytest.approx(1.6 / 3, rel=EXACT)  # partial credit
    assert r3({**parts, "process": 0.0}, critical=["process"]) == 0.0
    assert r3({**parts, "environment": 0.0}, critical=[]) == pytest.approx(1.4 / 3, rel=EXACT)


def test_r3_is_unknown_only_where_that_matters() -> None:
    assert math.isnan(r3({"environment": 1.0, "semantic": math.nan}))
    assert r3({"environment": 0.0, "semantic": math.nan}) == 0.0
    assert r3({"environment": 1.0, "semantic": math.nan}, weights={"environment": 1.0, "semantic": 0.0}) == 1.0
    assert r3({"semantic": math.nan}, hard_failure=True) == 0.0
    assert math.isnan(r3({"semantic": 1.0}, artifact_quality=math.nan))


def test_r3_refuses_what_it_cannot_compose() -> None:
    with pytest.raises(DataError, match="components is empty"):
        r3({})
    with pytest.raises(DataError, match="critical names 'goal'"):
        r3({"environment": 1.0}, critical=["goal"])
    with pytest.raises(DataError, match="penalties got values outside"):
        r3({"environment": 1.0}, penalties=[1.5])
    with pytest.raises(DataError, match="weights has to sum to more than 0"):
        r3({"environment": 1.0}, weights={"environment": 0.0})


components = st.dictionaries(st.sampled_from(["environment", "semantic", "process", "goal", "anchor"]), unit, min_size=1)


@given(components, st.one_of(st.none(), unit), st.lists(unit, max_size=3), unit)
def test_r3_is_bounded_and_monotone(parts: dict[str, float], quality: float | None, losses: list[float], step: float) -> None:
    reward = r3(parts, artifact_quality=quality, penalties=losses)
    assert 0.0 <= reward <= 1.0
    for name, value in parts.items():
        better = {**parts, name: min(value + step, 1.0)}
        assert r3(better, artifact_quality=quality, penalties=losses) >= reward - EXACT
    if quality is not None:
        assert r3(parts, artifact_quality=min(quality + step, 1.0), penalties=losses) >= reward - EXACT
    assert r3(parts, artifact_quality=quality, penalties=[*losses, step]) <= reward + EXACT


def test_stage_scores_and_their_balance() -> None:
    assert stage_score([1.0, 0.5, None, math.nan, 0.0]) == 0.5
    assert math.isnan(stage_score([None]))
    assert balanced_mean(0.9, 0.6, 0.3) == pytest.approx(0.6, rel=EXACT)
    assert math.isnan(balanced_mean(0.9, math.nan, 0.3))


def test_rewards_of_what_is_no_number() -> None:
    with pytest.raises(DataError, match=r"semantic: 'x'.*expected numbers from 0 to 1"):
        r1("x")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="expected a number from 0 to 1, nan for an unknown one"):
        r1(None)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="expected numbers from 0 to 1"):
        r2(turn="0.5", completed=True)  # type: ignore[arg-type]
