"""Finding the item that a prompt asks: soon also where texts are long and repeat themselves."""

from __future__ import annotations

import time

import pandas as pd
import pytest

from psychoedu.runners.banks import load_pairs, load_questions
from psychoedu.runners.simulated_prompts import Catalogue

SOON = 3.0
"""Seconds of processor time; work that grows with the square of the length would need minutes."""


@pytest.mark.parametrize("unit", ["A. B. ", "A. ", "a", "A. B. C. D. "])
def test_a_long_question_that_repeats_itself_is_found_soon(unit: str) -> None:
    half = (unit * (50_000 // len(unit))).strip()
    stem, options = f"{half} Which one? {half}", ("x " + "A. B. " * 5000, "y " + "A. B. " * 5000)
    table = {"item_id": ["h"], "stem": [stem], "option_a": [options[0]], "option_b": [options[1]], "key": ["A"]}
    bank = load_questions(pd.DataFrame(table))
    catalogue, text = Catalogue({"questions": [bank]}), bank.items[0].text
    started = time.process_time()
    assert catalogue.find([("user", text)]).item_id == "h"
    assert catalogue.find([("user", f"Answer: {text}")]).item_id == "h"
    assert catalogue.find([("user", f"{half} {half} {half}")]).item_id != "h"
    assert time.process_time() - started < SOON


def test_a_stem_without_options_behind_it_is_no_question_of_the_bank() -> None:
    table = {"item_id": ["h"], "stem": ["Which one?"], "option_a": ["x"], "option_b": ["y"], "key": ["A"]}
    catalogue = Catalogue({"questions": [load_questions(pd.DataFrame(table))]})
    assert catalogue.find([("user", "Which one?")]).item_id != "h"


def test_long_works_are_found_soon() -> None:
    row = {"year_level": "5", "subject": "English", "achievement_standard": "S", "task_description": "T", "better": "A"}
    row |= {"pair_id": "p", "sample_a": "dog " * 25_000 + "one", "sample_b": "dog " * 25_000 + "two"}
    catalogue = Catalogue({"pairs": [load_pairs(pd.DataFrame([row]))]})
    asked = "BETTER_SAMPLE\n### Sample A\n{}\n### Sample B\n{}\nWhich sample"
    started = time.process_time()
    forward = catalogue.find([("user", asked.format(row["sample_a"], row["sample_b"]))])
    reverse = catalogue.find([("user", asked.format(row["sample_b"], row["sample_a"]))])
    assert [(found.item_id, found.key, found.variant) for found in (forward, reverse)] == [
        ("p", "A", "forward"),
        ("p", "B", "reverse"),
    ]
    for strange in ("# Sample A " * 5000, "#" * 100_000, "# Sample B " * 5000):
        assert catalogue.find([("user", f"BETTER_SAMPLE {strange}")]).kind == "pair"
    assert time.process_time() - started < SOON
