"""Options that stand in the text of an item, told apart from the capital letters of its stem."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychoedu.exceptions import ItemBankError
from psychoedu.runners.banks.option_text import split_options

FOUR = ("is", "was", "are", "were")


@pytest.mark.parametrize(
    "marks",
    [
        "A. is B. was C. are D. were",
        "A.is B.was C.are D.were",
        "A) is B) was C) are D) were",
        "(A) is (B) was (C) are (D) were",
        "A、is B、was C、are D、were",
        "A．is　B．was　C．are　D．were",
        "A. is\nB. was\nC. are\nD. were",
        "A. is\tB. was\r\nC. are\tD. were",
    ],
)
@pytest.mark.parametrize("between", [" ", "\n", "\n\n"])
def test_marks_of_every_kind(marks: str, between: str) -> None:
    assert split_options(f"The lesson ____ easy.{between}{marks}") == ("The lesson ____ easy.", FOUR)


@pytest.mark.parametrize(
    "stem",
    [
        "I've got an \"A\" in the examination. That's a good ____.",
        "J. A. Brown ____ it.",
        "A. B. Carter and C. D. Evans ____ late.",
        "He lives in the U.S.A. and ____ rich.",
        "Plan A. It ____ good.",
        "Which of these words have it: (1) picture (2) maintain (3) complete?",
        "① Ann ____ here. ② Ben ____ there.",
        "A: How are you? B: I ____ fine.",
        "Hepatitis B. A vaccine ____ safe.",
        "Vitamin D. It ____ good.",
    ],
)
def test_capital_letters_of_the_stem_stay_in_it(stem: str) -> None:
    for between in (" ", "\n"):
        assert split_options(f"{stem}{between}A. is B. was C. are D. were") == (stem, FOUR)


def test_the_mark_within_an_option_of_its_own_letter() -> None:
    text = "Which plan?\nA. Plan A. B. Plan B. C. Plan C. D. Plan D."
    assert split_options(text) == ("Which plan?", ("Plan A.", "Plan B.", "Plan C.", "Plan D."))
    assert split_options("Why?\nA. Plan A. is best. B. Luck.") == ("Why?", ("Plan A. is best.", "Luck."))


def test_options_that_can_be_read_in_two_ways_are_refused() -> None:
    with pytest.raises(ItemBankError, match="more than one way"):
        split_options("Who? A. Mr B. Carter B. Ann C. Tom D. Joe")
    # marks that all begin lines leave no doubt
    assert split_options("Who?\nA. Mr B. Carter\nB. Ann\nC. Tom") == ("Who?", ("Mr B. Carter", "Ann", "Tom"))


def test_the_number_of_options_settles_the_last_letter() -> None:
    text = "What did she do? A. slept B. sang C. ran D. discovered E. coli"
    found = split_options(text, n_options=4)
    assert found is not None
    assert found[1][-1] == "discovered E. coli"
    unaided = split_options(text)
    assert unaided is not None
    assert len(unaided[1]) == 5


@pytest.mark.parametrize("text", ["", "She ____ tea.", "A. is", "A. B. C. D.", "B. is C. was", "a. is b. was"])
def test_texts_without_options(text: str) -> None:
    assert split_options(text) is None


def test_too_few_marks_for_the_number_asked() -> None:
    assert split_options("She ____ it. A. is B. was C. are", n_options=4) is None


def test_a_hundred_capital_letters_take_no_time() -> None:
    text = "A. x " * 40 + "B. y " * 40 + "C. z " * 40 + "D. w"
    with pytest.raises(ItemBankError, match="more than one way"):
        split_options(text)


@pytest.mark.parametrize("marks", ["A. B. ", "A. x B. y ", "A. x\nB. y\n", "A. x B. y C. z D. w E. v F. u G. t ", "A. ", "B. x "])
def test_thousands_of_marks_are_read_soon(marks: str) -> None:
    text = "What? " + marks * (100_000 // len(marks))
    started = time.process_time()
    try:
        parts = split_options(text)
    except ItemBankError:
        parts = None
    assert time.process_time() - started < 3.0
    assert parts is None or parts[0].startswith("What?")


@given(st.text(alphabet="AB C.\n", max_size=14))
def test_options_against_all_runs_written_out(text: str) -> None:
    """A slow reading by the rule as documented: every run of marks, then longest, then own line, then last."""
    marks = [(match[1], match.start(), match.end()) for match in re.finditer(r"(?<!\S)([ABC])\.", text)]

    def runs(run: list[tuple[str, int, int]]) -> list[list[tuple[str, int, int]]]:
        letter = "ABCD"[len(run)]
        longer = [[*run, mark] for mark in marks if mark[0] == letter and (not run or text[run[-1][2] : mark[1]].strip())]
        return [one for more in longer for one in ([more] if text[more[-1][2] :].strip() else []) + runs(more)]

    def opens(start: int) -> bool:
        return not text[text.rfind("\n", 0, start) + 1 : start].strip()

    found = [run for run in runs([]) if len(run) > 1]
    found = [run for run in found if len(run) == max(map(len, found))]
    found = [run for run in found if run[0][1] > 0 and opens(run[0][1])] or found
    found = [run for run in found if run[0][1] == max(other[0][1] for other in found)]
    if len(found) > 1:
        on_lines = [run for run in found if all(opens(mark[1]) for mark in run)]
        found = on_lines if len(on_lines) == 1 else found
    if len(found) > 1:
        with pytest.raises(ItemBankError, match="more than one way"):
            split_options(text)
    elif not found:
        assert split_options(text) is None
    else:
        (run,) = found
        ends = [mark[1] for mark in run[1:]] + [len(text)]
        options = tuple(" ".join(text[mark[2] : end].split()) for mark, end in zip(run, ends, strict=True))
        assert split_options(text) == (text[: run[0][1]].strip(), options)
