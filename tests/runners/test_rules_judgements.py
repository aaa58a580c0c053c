"""Judges' scores, comparative judgements, classifications of student work, and who is left out."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychoedu.exceptions import DataError
from psychoedu.runners.rules.judgements import (
    LEVELS,
    comparative_judgement,
    grading_agreement,
    is_included,
    parse_better_sample,
    parse_classification,
    parse_judge_score,
    rubric_score,
    sample_of,
    swap_consistency,
    valid_rate,
)

BELOW, AT, ABOVE = LEVELS
EXACT = 1e-12


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ('{"score": 2, "reasoning": "names the mechanism"}', 2),
        ('```json\n{"score": 3}\n```', 3),
        ('Here you are: {"reasoning": "a {b}", "Score": "1"}', 1),
        ('{"score": 2.0}', 2),
        ('{"score": "2/3"}', 2),
        ('{"score": 2, "reasoning": "cut off', 2),
        ("Score: 2", 2),
        ("**Score:** 0", 0),
        ("The score is 3.", 3),
        ("score of 2 out of 3", 2),
        ("Score: 1/3", 1),
        ("Score: 2\nAs said, score: 2", 2),
        ("2", 2),
        (" 3.\n", 3),
        ("2/3", 2),
        ("Score: 2 Reasoning: a score of 3 would need the mechanism", 2),
        # none, several, fractions, out of range
        ('{"score": null}', None),
        ('{"score": true}', None),
        ('{"score": 4}', None),
        ('{"score": 2, "score": 1}', None),
        ('{"score": 2} {"score": 1}', None),
        ("Score: 1 or 2", None),
        ("Score: 1-2", None),
        ("Score: 2.5", None),
        ("Score: 2/5", None),
        ("Score: 4", None),
        ("Score: -1", None),
        ("Score: 12", None),
        ("Score: 2. On reflection, score: 3", None),
        ("These 3 points are missing", None),
        ("two", None),
        ("", None),
        (None, None),
    ],
)
def test_a_judge_gives_one_score_or_none(text: str | None, score: int | None) -> None:
    assert parse_judge_score(text) == score


def test_the_range_of_scores_is_a_parameter() -> None:
    assert parse_judge_score("Score: 4/5", maximum=5) == 4
    assert parse_judge_score("7", maximum=10) == 7


def test_a_sum_of_scores_is_unknown_where_a_score_is() -> None:
    found = rubric_score([3] * 10 + [2, 1])
    assert (found.raw, found.maximum, found.n_unknown) == (33.0, 36, 0)
    assert found.percent == pytest.approx(100 * 33 / 36, rel=EXACT)
    unknown = rubric_score([3, None, 2])
    assert math.isnan(unknown.raw)
    assert math.isnan(unknown.percent)
    assert unknown.n_unknown == 1
    assert math.isnan(rubric_score([]).percent)
    with pytest.raises(DataError, match="Scores outside 0 to 3: 4"):
        rubric_score([4, 1])


@pytest.mark.parametrize(
    ("text", "letter", "bare"),
    [
        ("BETTER_SAMPLE: A", "A", "A"),
        ("better_sample: b", "B", "B"),
        ("**BETTER_SAMPLE:** [B]", "B", "B"),
        ("Sample B is richer.\nBETTER_SAMPLE: B", "B", "B"),
        ("BETTER SAMPLE: Sample A", "A", "A"),
        ("BETTER_SAMPLE: A\nor\nBETTER_SAMPLE: B", None, None),
        ("BETTER_SAMPLE: A or B", None, None),
        ("BETTER_SAMPLE: A/B", None, None),
        ("BETTER_SAMPLE: A, B", None, None),
        ("BETTER_SAMPLE: A, B REASONING: both are good", None, None),
        ("BETTER_SAMPLE: A & Sample B", None, None),
        ("BETTER_SAMPLE: A B", None, None),
        ("BETTER_SAMPLE: a tie", None, None),
        ("BETTER_SAMPLE: A, B is weaker", "A", "A"),
        ("BETTER_SAMPLE: A REASONING: B lacks an ending.", "A", "A"),
        ("BETTER_SAMPLE: a\nREASONING: richer", "A", "A"),
        ("BETTER_SAMPLE: Both", None, None),
        ("B", None, "B"),
        ("(a)", None, "A"),
        ("C", None, None),
        ("", None, None),
        (None, None, None),
    ],
)
def test_the_better_sample(text: str | None, letter: str | None, bare: str | None) -> None:
    assert parse_better_sample(text) == letter
    assert parse_better_sample(text, bare=True) == bare


def test_a_letter_is_mapped_back_to_the_sample() -> None:
    assert [sample_of(letter, "forward") for letter in ("A", "B", None)] == ["A", "B", None]
    assert [sample_of(letter, "reverse") for letter in ("A", "B", None)] == ["B", "A", None]
    with pytest.raises(DataError, match="letter holds 'C'"):
        sample_of("C", "forward")


def test_comparative_judgements_by_hand() -> None:
    # sample chosen in forward order A B A -, in reverse order (letters mapped back) A B B A
    forward, reverse, better = ["A", "B", "A", None], ["B", "A", "A", "B"], ["A", "A", "A", "A"]
    wrong = comparative_judgement(forward, reverse, better)
    assert (wrong.n, wrong.accuracy_forward, wrong.accuracy_reverse) == (4, 0.5, 0.5)
    assert (wrong.accuracy_calls, wrong.accuracy_both, wrong.consistency) == (0.5, 0.25, 0.5)
    assert wrong.valid_rate == 0.875
    dropped = comparative_judgement(forward, reverse, better, invalid="drop")
    assert dropped.accuracy_forward == pytest.approx(2 / 3, rel=EXACT)
    assert dropped.accuracy_reverse == 0.5
    assert dropped.accuracy_calls == pytest.approx(4 / 7, rel=EXACT)
    assert dropped.accuracy_both == pytest.approx(1 / 3, rel=EXACT)
    assert dropped.consistency == pytest.approx(2 / 3, rel=EXACT)


def test_always_the_first_place_is_half_right_and_never_consistent() -> None:
    """A pure position bias: half of the calls hit the better sample, and no pair is judged alike in both orders."""
    better = ["A", "B"] * 5
    found = comparative_judgement(["A"] * 10, ["A"] * 10, better)
    assert (found.accuracy_forward, found.accuracy_reverse, found.accuracy_calls) == (0.5, 0.5, 0.5)
    assert (found.accuracy_both, found.consistency) == (0.0, 0.0)
    assert swap_consistency(["A"] * 10, ["B"] * 10) == 1.0


def test_judgements_that_cannot_be_counted() -> None:
    empty = comparative_judgement([], [], [])
    assert empty.n == 0
    assert math.isnan(empty.accuracy_forward)
    assert math.isnan(empty.valid_rate)
    unread = comparative_judgement([None], [None], ["A"])
    assert (unread.accuracy_forward, unread.consistency, unread.valid_rate) == (0.0, 0.0, 0.0)  # two failures do not agree
    assert math.isnan(comparative_judgement([None], [None], ["A"], invalid="drop").consistency)
    with pytest.raises(DataError, match="have 1, 2 and 1 entries"):
        comparative_judgement(["A"], ["A", "B"], ["A"])
    with pytest.raises(DataError, match="better holds None"):
        comparative_judgement(["A"], ["A"], [None])  # type: ignore[list-item]


letters = st.sampled_from(["A", "B", None])


@given(st.lists(st.tuples(letters, letters, st.sampled_from("AB")), min_size=1))
def test_right_in_both_orders_is_consistent(rows: list[tuple[str | None, str | None, str]]) -> None:
    found = comparative_judgement(*zip(*rows, strict=True))
    assert found.accuracy_both <= min(found.accuracy_forward, found.accuracy_reverse, found.consistency)
    assert found.accuracy_calls == pytest.approx((found.accuracy_forward + found.accuracy_reverse) / 2, rel=EXACT, abs=EXACT)
    # which sample is called A is a name: swapping names of samples and the orders changes nothing
    swapped = comparative_judgement(
        [reverse for _, reverse, _ in rows], [forward for forward, _, _ in rows], ["B" if own == "A" else "A" for *_, own in rows]
    )
    assert (swapped.accuracy_forward, swapped.consistency) == (found.accuracy_reverse, found.consistency)


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("CLASSIFICATION: ABOVE_SATISFACTORY\nREASONING: below the surface", ABOVE),
        ("CLASSIFICATION: SATISFACTORY\nREASONING: above all clear", AT),
        ("CLASSIFICATION: BELOW_SATISFACTORY", BELOW),
        ("classification: below satisfactory", BELOW),
        ("**CLASSIFICATION:** [SATISFACTORY]", AT),
        ("CLASSIFICATION: BELOW", BELOW),
        ("CLASSIFICATION: [ABOVE_SATISFACTORY / SATISFACTORY / BELOW_SATISFACTORY]", None),
        ("CLASSIFICATION: SATISFACTORY\nCLASSIFICATION: ABOVE_SATISFACTORY", None),
        ("CLASSIFICATION: UNSATISFACTORY", None),
        ("CLASSIFICATION: NOT SATISFACTORY", None),
        # what is said later on the line is no classification
        ("CLASSIFICATION: SATISFACTORY REASONING: The work does not go above the standard.", AT),
        ("CLASSIFICATION: SATISFACTORY, REASONING: Some parts fall below expectations.", AT),
        ("CLASSIFICATION: BELOW_SATISFACTORY REASONING: nothing goes above", BELOW),
        ("CLASSIFICATION: ABOVE SATISFACTORY (not merely satisfactory, and not below)", ABOVE),
        ("CLASSIFICATION: SATISFACTORY. It is not above.", AT),
        ("CLASSIFICATION: The work is below satisfactory.", BELOW),
        ('{"classification": "BELOW_SATISFACTORY", "reasoning": "nothing above"}', BELOW),
        # more than one level, or a denied one
        ("CLASSIFICATION: SATISFACTORY or ABOVE_SATISFACTORY", None),
        ("CLASSIFICATION: SATISFACTORY CLASSIFICATION: BELOW_SATISFACTORY", None),
        ("CLASSIFICATION: not above satisfactory", None),
        ("SATISFACTORY", None),
        ("CLASSIFICATION:", None),
        (None, None),
    ],
)
def test_classification(text: str | None, level: str | None) -> None:
    assert parse_classification(text) == level


@pytest.mark.parametrize("text", ['{"a":' * 50_000, '{"' * 50_000, "score" + " " * 50_000, "BETTER_SAMPLE" + " " * 50_000])
def test_degenerate_replies_give_none_and_soon(text: str) -> None:
    started = time.process_time()
    assert (parse_judge_score(text), parse_better_sample(text), parse_classification(text)) == (None, None, None)
    assert time.process_time() - started < 2.0


def test_grading_by_hand() -> None:
    truth = [ABOVE, ABOVE, AT, AT, BELOW, BELOW]
    given_levels = [AT, ABOVE, AT, AT, AT, None]
    dropped = grading_agreement(given_levels, truth)
    # 3 of 5 right; chance: rows 2 2 1, columns 1 4 0 (above, at, below) -> (2 * 1 + 2 * 4 + 0) / 25 = 0.4
    assert (dropped.n, dropped.accuracy) == (5, 0.6)
    assert dropped.kappa == pytest.approx((0.6 - 0.4) / 0.6, rel=EXACT)
    assert dropped.by_level == {BELOW: 0.0, AT: 1.0, ABOVE: 0.5}
    assert dropped.central_tendency == 2
    wrong = grading_agreement(given_levels, truth, invalid="wrong")
    # 3 of 6 right; rows 2 2 2, columns 1 4 0 and 1 that nobody has -> (2 + 8 + 0) / 36
    assert (wrong.n, wrong.accuracy) == (6, 0.5)
    assert wrong.kappa == pytest.approx((0.5 - 10 / 36) / (26 / 36), rel=EXACT)
    assert wrong.by_level == {BELOW: 0.0, AT: 1.0, ABOVE: 0.5}
    assert wrong.valid_rate == dropped.valid_rate == pytest.approx(5 / 6, rel=EXACT)


def test_all_in_the_middle_is_no_better_than_chance() -> None:
    found = grading_agreement([AT] * 9, [BELOW, AT, ABOVE] * 3)
    assert found.accuracy == pytest.approx(1 / 3, rel=EXACT)
    assert found.kappa == pytest.approx(0.0, abs=EXACT)
    assert found.central_tendency == 6


@given(st.lists(st.sampled_from(LEVELS), min_size=12, max_size=12))
def test_with_equal_margins_kappa_is_a_line_in_accuracy(given_levels: list[str]) -> None:
    found = grading_agreement(given_levels, list(LEVELS) * 4)
    assert found.kappa == pytest.approx((found.accuracy - 1 / 3) / (2 / 3), abs=EXACT)


def test_grading_that_cannot_be_counted() -> None:
    nothing = grading_agreement([None, None], [AT, AT])
    assert nothing.n == 0
    assert math.isnan(nothing.accuracy)
    assert math.isnan(nothing.kappa)
    one = grading_agreement([AT, AT], [AT, AT])
    assert one.accuracy == 1.0
    assert math.isnan(one.kappa)  # one level alone: chance agreement is complete
    assert math.isnan(one.by_level[ABOVE])
    with pytest.raises(DataError, match="given holds 'GOOD'"):
        grading_agreement(["GOOD"], [AT])
    with pytest.raises(DataError, match="invalid has to be one of"):
        grading_agreement([AT], [AT], invalid="skip")


def test_who_is_left_out() -> None:
    assert valid_rate([None] * 5) == 0.0
    assert not is_included(0.0)
    assert is_included(0.001)
    assert not is_included(math.nan)
    # the pedagogy benchmark drops models from 5% badly formatted replies on
    assert is_included(0.951, min_valid_rate=0.95)
    assert not is_included(0.95, min_valid_rate=0.95)
    with pytest.raises(DataError, match="between 0 and 1"):
        is_included(0.5, min_valid_rate=95)
