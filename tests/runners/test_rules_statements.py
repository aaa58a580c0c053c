"""Statements judged correct or incorrect, and the probes: KRI, PSI, confidence, tokens."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychoedu.exceptions import DataError
from psychoedu.runners.rules.statements import (
    accuracy_variation,
    confidence_counts,
    inconsistent_items,
    iteration_percents,
    kri,
    parse_confidence,
    parse_statement,
    psi,
    token_efficiency,
)


@pytest.mark.parametrize(
    ("text", "substring", "word"),
    [
        ("Correct", "Correct", "Correct"),
        ("Incorrect", "Incorrect", "Incorrect"),
        ("incorrect.", "Incorrect", "Incorrect"),
        ("**CORRECT**", "Correct", "Correct"),
        ("The statement is incorrect", "Incorrect", "Incorrect"),
        ("Correct, not incorrect", "Incorrect", None),
        ("That is not correct", "Correct", None),
        ("It isn't entirely correct", "Correct", None),
        ("Correctly", "Correct", None),
        ("True", None, None),
        ("", None, None),
        (None, None, None),
    ],
)
def test_incorrect_is_looked_for_before_correct(text: str | None, substring: str | None, word: str | None) -> None:
    assert parse_statement(text) == substring
    assert parse_statement(text, "word") == word


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Very confident", "Very confident"),
        ('"somewhat  confident".', "Somewhat confident"),
        ("Uncertain", "Uncertain"),
        ("Not very confident", None),
        ("Very confident or somewhat confident", None),
        ("confident", None),
        ("Very confidently", None),
        (None, None),
    ],
)
def test_confidence(text: str | None, answer: str | None) -> None:
    assert parse_confidence(text) == answer


def test_an_iteration_is_the_percentage_of_the_key() -> None:
    key = [False, True, False, True]
    answers = [
        ["Incorrect", "Correct", "Incorrect", "Correct"],
        ["Incorrect", "Incorrect", None, "Correct"],
        [None, None, None, None],
    ]
    np.testing.assert_array_equal(iteration_percents(answers, key), [100.0, 50.0, 0.0])
    np.testing.assert_array_equal(
        iteration_percents(answers, ["Incorrect", "Correct", "Incorrect", "Correct"]), [100.0, 50.0, 0.0]
    )
    with pytest.raises(DataError, match="Iteration 2 has another number of answers than the key, 4"):
        iteration_percents([["Correct"] * 4, ["Correct"]], key)
    with pytest.raises(DataError, match="key holds 'yes'"):
        iteration_percents(answers, ["yes"] * 4)
    with pytest.raises(DataError, match="key is empty"):
        iteration_percents([], [])


def test_kri() -> None:
    assert kri({0.0: 0.8, 0.5: 0.6, 1.0: 0.7}) == pytest.approx(0.75, rel=1e-12)
    assert kri({0.0: 80, 0.5: 60, 1.0: 70}) == pytest.approx(0.75, rel=1e-12)  # percentages or shares
    assert kri({0.0: 0.5, 0.5: 0.75, 1.0: 0.625}) == 1.25  # not capped
    assert math.isnan(kri({0.0: 0.0, 0.5: 0.5, 1.0: 0.5}))  # undefined, not infinite
    assert math.isnan(kri({0.0: 0.8, 0.5: math.nan, 1.0: 0.9}))
    assert kri({0.2: 0.5, 0.7: 0.25}, baseline=0.2) == 0.5


def test_kri_needs_the_baseline_and_another_temperature() -> None:
    for given_accuracies in ({}, {0.0: 1.0}, {0.5: 1.0, 1.0: 0.5}):
        with pytest.raises(DataError, match="expected 0 and at least one more"):
            kri(given_accuracies)
    with pytest.raises(DataError, match="at least 0"):
        kri({0.0: 0.5, 1.0: -0.1})


def test_variation_over_temperatures() -> None:
    accuracies = {0.0: 80.0, 0.5: 79.0, 1.0: 83.0}
    assert accuracy_variation(accuracies) == 4.0
    assert accuracy_variation(accuracies, "change") == 2.0  # (1 + 3) / 2
    assert math.isnan(accuracy_variation({0.0: 80.0, 1.0: math.nan}))


def test_psi_counts_items_that_are_not_answered_alike() -> None:
    same, other = ["Correct"] * 4, ["Correct", "Correct", "Incorrect", "Correct"]
    assert psi([same] * 13 + [other]) == pytest.approx(1 / 14, rel=1e-12)
    assert psi([same, ["Incorrect"] * 4]) == 0.0
    assert math.isnan(psi([]))


def test_a_reply_without_an_answer_differs_unless_dropped() -> None:
    answers = [["Correct", None, "Correct", "Correct"], [None] * 4, ["Correct", None, "Incorrect", "Correct"]]
    assert inconsistent_items(answers).tolist() == [True, False, True]
    assert inconsistent_items(answers, "drop").tolist() == [False, False, True]
    with pytest.raises(DataError, match="expected one number, at least 2"):
        psi([["Correct"]])
    with pytest.raises(DataError, match="expected one number, at least 2"):
        psi([["Correct", "Correct"], ["Correct"] * 3])


@given(
    st.lists(st.lists(st.sampled_from(["Correct", "Incorrect", None]), min_size=4, max_size=4), min_size=1),
    st.permutations(range(4)),
)
def test_psi_knows_no_order_of_framings(answers: list[list[str | None]], order: list[int]) -> None:
    assert 0.0 <= psi(answers) <= 1.0
    assert psi([[row[place] for place in order] for row in answers]) == psi(answers)
    assert psi(answers, "drop") <= psi(answers)


def test_confidence_by_correctness() -> None:
    answers = ["Very confident", "Very confident", "Somewhat confident", None, "Very confident"]
    counts = confidence_counts(answers, [True, False, False, True, True])
    assert counts == {"Very confident": (2, 1), "Somewhat confident": (0, 1), "Uncertain": (0, 0), "unparsed": (1, 0)}
    with pytest.raises(DataError, match="confidence holds 'sure'"):
        confidence_counts(["sure"], [True])


def test_accuracy_over_tokens() -> None:
    assert token_efficiency(0.75, [1, 1, 2, 4]) == 0.375
    assert token_efficiency(0.75, [1, 1, 2, 4], per=100.0) == 37.5
    assert token_efficiency(0.75, [1, 1, 2, 4], tokens="total") == 0.09375
    for unknown in ([], [0, 0], [1.0, math.nan]):
        assert math.isnan(token_efficiency(0.75, unknown))
    with pytest.raises(DataError, match="negative number: -1"):
        token_efficiency(0.75, [3, -1])
