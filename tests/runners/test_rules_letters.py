"""Letters read off replies, and the majority of runs; expected values are read off the rules by hand."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychoedu.exceptions import DataError
from psychoedu.response_codes import Reason
from psychoedu.response_repeats import majority as majority_of_codes
from psychoedu.runners.rules.letters import RULES, majority_first, parse_letter, rules_differ
from psychoedu.runners.rules.replies import reply_reason, without_reasoning

# reply, literal, token, strict
READINGS = [
    ("B", "B", "B", "B"),
    (" B\n", "B", "B", "B"),
    ("B.", "B", "B", "B"),
    ("**B**", "B", "B", "B"),
    ("Answer: C", "A", "C", "C"),
    ("According to the text", "A", None, None),
    ("Because", "B", None, None),
    ("The answer is D.", "D", "D", "D"),
    ("The correct answer is (b)", None, None, "B"),
    ("(b)", None, None, "B"),
    ("\uff22", None, None, "B"),  # full-width B
    ("\uff08\uff42\uff09", None, None, "B"),  # full-width (b)
    ("\u24b7", None, None, "B"),  # circled B
    ("\u7b54\u6848\u662fB", "B", "B", "B"),  # "the answer is B" in Chinese
    ("A or B", "A", "A", None),
    ("A, B", "A", "A", None),
    ("A/B", "A", "A", None),
    ("AB", "A", None, None),
    ("Both A and", "B", "A", None),
    ("A dog", "A", "A", None),
    ("I choose a different one", None, None, None),
    ("B. drinks a lot", "B", "B", "B"),
    ("C) It is a mistake", "C", "C", "C"),
    ("A. is B. was C. are D. were", "A", "A", None),
    ("The answer is not B", "B", "B", None),
    ("Option B is wrong", "B", "B", None),
    ("E", None, None, None),
    ("", None, None, None),
    ("42", None, None, None),
]


@pytest.mark.parametrize(("text", "literal", "token", "strict"), READINGS, ids=[repr(row[0]) for row in READINGS])
def test_readings(text: str, literal: str | None, token: str | None, strict: str | None) -> None:
    assert parse_letter(text) == literal, "literal is the documented rule and the default"
    assert [parse_letter(text, rule=rule) for rule in RULES[:3]] == [literal, token, strict]


def test_case_r3_one_clear_letter_and_a_reason_for_the_others() -> None:
    cases = [
        ("B", "stop", "B", None),
        ("(b)", "stop", "B", None),
        ("\uff22", "stop", "B", None),
        ("\u200bB", "stop", "B", None),
        ("The answer is \u200b\u2060B.", "stop", "B", None),
        ("A or B", "stop", None, Reason.UNPARSED),
        ("I'm sorry, but I can't help with that request.", "stop", None, Reason.REFUSED),
        ("As an AI language model, I do not take exams.", "stop", None, Reason.REFUSED),
        ("B", "content_filter", "B", None),
        ("The", "content_filter", None, Reason.REFUSED),
        ("", "stop", None, Reason.EMPTY),
        (" \n\u200b", "stop", None, Reason.EMPTY),
        ("", "max_tokens", None, Reason.EMPTY),  # all tokens went into hidden reasoning
        ("<think>The verb has to", "max_tokens", None, Reason.EMPTY),
        ("The correct answer is", "max_tokens", None, Reason.UNPARSED),
    ]
    for text, stop_reason, letter, reason in cases:
        parsed = parse_letter(text, rule="strict")
        assert (parsed, reply_reason(text, stop_reason, parsed)) == (letter, reason), text


def test_a_reply_that_was_not_given_is_empty() -> None:
    assert parse_letter(None) is None
    assert reply_reason(None) is Reason.EMPTY
    assert reply_reason("I am not sure about this.") is Reason.UNPARSED


@pytest.mark.parametrize("text", ["I don't know", "Correct", "\u5317\u4eac", "I could not care less"])
def test_a_wrong_form_is_no_refusal(text: str) -> None:
    assert reply_reason(text) is Reason.UNPARSED


def test_a_degenerate_reply_is_read_soon() -> None:
    started = time.process_time()
    assert parse_letter("The answer is" + " \n" * 20_000 + "?", rule="strict") is None
    assert time.process_time() - started < 2.0


def test_reasoning_is_taken_off_only_when_asked() -> None:
    text = "<think>A or B?</think>\nC"
    assert parse_letter(text) == "A"
    assert parse_letter(without_reasoning(text)) == "C"
    assert without_reasoning("C <think>") == "C <think>"


def test_small_letters_only_when_asked() -> None:
    assert parse_letter("b", ignore_case=True) == "B"
    assert parse_letter("answer: c", rule="token", ignore_case=True) == "C"
    assert parse_letter("answer: c", ignore_case=True) == "A"
    assert parse_letter("\u017f", letters="S", ignore_case=True) is None  # a long s is no small S


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("B", "B"),
        ("  C.", "C"),
        ("B. text", "B"),
        ("B\nbecause", "B"),
        ("<think>A, then B</think> so it is D", "D"),
        ("## Step 1: read\nThe answer is C.", "C"),
        ("The reasoning.\nD", "D"),
        ('The reasoning.\nD"', "D"),
        ("The answer is B", None),
        ("(B)", None),
        ("b", None),
        ("", None),
    ],
)
def test_the_patterns_of_the_pedagogy_benchmark(text: str, letter: str | None) -> None:
    assert parse_letter(text, rule="pedagogy") == letter


def test_the_pedagogy_patterns_know_letters_that_an_item_lacks() -> None:
    assert parse_letter("F", rule="pedagogy") is None
    assert parse_letter("F", letters="ABCDEFG", rule="pedagogy") == "F"


def test_letters_of_the_item_are_those_that_count() -> None:
    assert parse_letter("E", letters="ABCDE") == "E"
    assert parse_letter("Cat", letters=("A", "B")) is None
    for wrong in ("", "abc", "AA", ["A", "BC"]):
        with pytest.raises(DataError, match="different single capital letters"):
            parse_letter("A", letters=wrong)
    with pytest.raises(DataError, match="rule has to be one of"):
        parse_letter("A", rule="first")


def test_share_of_replies_that_rules_read_differently() -> None:
    # "Answer: C" A and C, "According" A and none, the others alike: 2 of 5
    assert rules_differ(["B", "Answer: C", "According", "", "D) were"]) == 0.4
    assert rules_differ(["(b)", "B"], rules=("token", "strict")) == 0.5
    assert math.isnan(rules_differ([]))


def test_majority_with_ties_to_the_first_run() -> None:
    assert majority_first(["B", "C", "C"]) == "C"
    assert majority_first(["B", "C", "D"]) == "B"
    assert majority_first([None, "C", "D"]) is None  # a tie, and the first run gave no letter
    assert majority_first(["C", None, None]) is None
    assert majority_first(["C", None, None], unparsed="drop") == "C"
    assert majority_first([None, "C", "D"], unparsed="drop") == "C"
    assert majority_first([None, None, None], unparsed="drop") is None
    assert majority_first(["A", "B", "C", "C", "B"]) == "B"  # the tied answer that came first, not the first run
    assert majority_first([]) is None
    with pytest.raises(DataError, match="unparsed has to be one of"):
        majority_first(["A"], unparsed="ignore")


@pytest.mark.parametrize("unparsed", ["vote", "drop"])
def test_majority_is_that_of_the_response_matrix(unparsed: str) -> None:
    """Runs of one item reduced here, and as codes with answers by ResponseMatrix, for all replies of four runs."""
    numbers = {"A": 0, "B": 1, "C": 2}
    for runs in itertools.product(["A", "B", "C", None], repeat=4):
        ours = majority_first(runs, unparsed)
        codes = np.array([[[Reason.UNPARSED if run is None else run == "B" for run in runs]]], dtype=np.int8)
        answers = np.array([[[numbers.get(run, 0) for run in runs]]], dtype=np.int64)  # type: ignore[arg-type]
        theirs = majority_of_codes(codes, answers, unparsed)[0][0, 0]
        assert theirs == (Reason.UNPARSED if ours is None else ours == "B"), runs


@given(st.text(max_size=40))
def test_any_text_gives_a_letter_or_none(text: str) -> None:
    for rule in RULES:
        assert parse_letter(text, rule=rule) in {"A", "B", "C", "D", None}


FORMS = ["{}", "({})", "{}.", "**{}**", "Answer: {}", "The answer is {}", "{}\n", "'{}'"]


@given(st.sampled_from("ABCD"), st.sampled_from(FORMS))
def test_strict_treats_all_letters_and_cases_alike(letter: str, form: str) -> None:
    for written in (letter, letter.lower(), chr(ord(letter) + 0xFEE0)):
        assert parse_letter(form.format(written), rule="strict") == letter


@given(st.lists(st.sampled_from(["A", "B", None]), min_size=1, max_size=7))
def test_majority_never_loses_to_another_answer(runs: list[str | None]) -> None:
    winner = majority_first(runs)
    assert all(runs.count(winner) >= runs.count(other) for other in runs)
