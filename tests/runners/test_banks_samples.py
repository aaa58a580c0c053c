"""The sample banks that come with the package: their shape, the balance of their keys, and that the loaders take them."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from psychoedu.exceptions import DataError
from psychoedu.runners.banks import SAMPLES, sample
from psychoedu.runners.banks.statements import FRAMINGS

SIZES = {"csebench": 24, "neuromyths": 12, "scenarios": 4, "certification": 12, "pairs": 6, "works": 6}


@pytest.mark.parametrize(("name", "size"), SIZES.items())
def test_each_sample_is_there(name: str, size: int) -> None:
    bank = sample(name)
    assert len(bank) == size
    assert bank.source == SAMPLES[name][0]
    assert sample(name).hash == bank.hash
    assert {type(item).__name__ for item in bank.items} == {type(bank.items[0]).__name__}


def test_an_unknown_sample() -> None:
    assert set(SAMPLES) == set(SIZES)
    with pytest.raises(DataError, match="'csebench', 'neuromyths'"):
        sample("cse")


@pytest.mark.parametrize("name", ["csebench", "certification"])
def test_keys_are_balanced_and_do_not_stand_out(name: str) -> None:
    bank = sample(name)
    assert Counter(bank.keys.values()) == dict.fromkeys("ABCD", len(bank) // 4)
    keys = list(bank.keys.values())
    assert not any(len(set(keys[start : start + 3])) == 1 for start in range(len(keys) - 2)), "three keys alike in a row"
    ranks = [sorted(map(len, item.options), reverse=True).index(len(item.option(item.key))) for item in bank.items]
    assert np.mean([rank == 0 for rank in ranks]) <= 0.5, "the longest option is right too often"
    assert {item.letters for item in bank.items} == {"ABCD"}


def test_levels_and_subskills_are_crossed() -> None:
    cells = Counter((item.metadata["cse_level"], item.metadata["subskill"]) for item in sample("csebench").items)
    wanted = {(level, skill) for level in range(2, 8) for skill in ("phonology", "cohesion", "vocabulary", "syntax")}
    assert cells == dict.fromkeys(wanted, 1)


def test_no_figures_are_made_up() -> None:
    """Nobody has answered these items."""
    for item in sample("csebench").items:
        assert "average_accuracy" not in item.metadata
        assert "discrimination" not in item.metadata


def test_statements_have_four_framings_each() -> None:
    bank = sample("neuromyths")
    assert bank.framings == FRAMINGS
    assert Counter(item.key for item in bank.items) == {True: 5, False: 7}
    probes = [item for item in bank.items if item.probe]
    assert len(probes) == 4
    assert not any(item.key for item in probes)
    for item in bank.items:
        assert len(set(item.framings.values())) == len(FRAMINGS)
        assert item.framings["interrogative"].endswith("?")


@pytest.mark.parametrize("words", ["every all no only throughout never always any", "usually most often can may"])
def test_words_that_might_be_a_cue_stand_in_true_and_false_statements(words: str) -> None:
    def share(key: bool) -> float:
        texts = [item.text.lower().strip(".").split() for item in sample("neuromyths").items if item.key is key]
        return float(np.mean([bool(set(words.split()) & set(text)) for text in texts]))

    assert abs(share(True) - share(False)) < 0.25
    assert min(share(True), share(False)) > 0.2


def test_no_interrogative_is_a_negative_question() -> None:
    for item in sample("neuromyths").items:
        assert not set(item.framings["interrogative"].lower().split()) & {"no", "not", "never", "without"}


@pytest.mark.parametrize("name", SIZES)
def test_every_sample_says_that_it_is_one(name: str) -> None:
    assert {item.metadata["note"] for item in sample(name).items} == {"sample written for psychoedu; carries no claim"}


def test_scenarios_have_what_a_judge_needs() -> None:
    for item in sample("scenarios").items:
        assert item.implementation_error
        assert item.mechanism not in item.text


def test_both_places_of_a_pair_are_right_equally_often() -> None:
    assert Counter(item.better for item in sample("pairs").items) == {"A": 3, "B": 3}


def test_levels_of_works_are_balanced() -> None:
    levels = import_module("psychoedu.runners.rules.grading").LEVELS
    assert Counter(item.level for item in sample("works").items) == dict.fromkeys(levels, 2)


@pytest.mark.parametrize("name", SIZES)
def test_texts_are_clean(name: str) -> None:
    def texts(value: Any) -> list[str]:
        if isinstance(value, dict):
            return [text for one in value.values() for text in texts(one)]
        if isinstance(value, list | tuple):
            return [text for one in value for text in texts(one)]
        return [value] if isinstance(value, str) else []

    for item in sample(name).items:
        for text in texts(item.content()):
            assert text == text.strip()
            assert "  " not in text, (item.item_id, text)
