"""Simulated respondents: how often they are right, what stays the same, the forms of their replies, and their names."""

from __future__ import annotations

import hashlib
import math
import subprocess
import sys
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from psychoedu.cdm.diagnose import diagnose
from psychoedu.cdm.results import Diagnosis
from psychoedu.exceptions import DataError
from psychoedu.irt.bank import ItemBank
from psychoedu.responses import ResponseMatrix
from psychoedu.runners.rules.letters import parse_letter
from psychoedu.runners.rules.replies import reply_reason
from psychoedu.runners.simulated import SimulatedFailure, SimulatedRespondent, default_difficulty, success_of, uniform
from psychoedu.runners.simulated_names import KEYS, respondent_named

SEEDS = range(300)
STANDARD_ERRORS = 4.0
BANK = ItemBank(pd.DataFrame({"discrimination": [1.5, 0.8, 2.0], "difficulty": [-1.0, 0.5, 1.0]}, index=["q1", "q2", "q3"]))


def within(share: float, chance: float, count: int) -> bool:
    return abs(share - chance) <= STANDARD_ERRORS * math.sqrt(chance * (1.0 - chance) / count)


@pytest.fixture(scope="module")
def diagnosis() -> Diagnosis:
    rng = np.random.default_rng(5)
    q = pd.DataFrame({"one": [1, 0, 1, 1, 0, 1], "two": [0, 1, 1, 0, 1, 1]}, index=[f"q{item}" for item in range(1, 7)])
    has = rng.integers(0, 2, (400, 2))
    right = rng.random((400, 6)) < np.where((has[:, None, :] >= q.to_numpy()).all(axis=2), 0.85, 0.2)
    matrix = ResponseMatrix.from_wide(pd.DataFrame(right.astype(int), columns=q.index))
    return diagnose(matrix, q, model="DINA", structure="saturated", n_starts=1)


def test_the_number_of_a_seed_and_texts_is_the_head_of_their_hash() -> None:
    digest = hashlib.sha256(b"7\x1fanswer\x1fq1").hexdigest()
    assert uniform(7, "answer", "q1") == (int(digest[:16], 16) >> 11) / 2**53


def test_numbers_are_uniform() -> None:
    drawn = np.array([uniform(seed, "answer", f"q{item}") for seed in range(50) for item in range(40)])
    counts = np.histogram(drawn, bins=10, range=(0.0, 1.0))[0]
    chi_square = float(((counts - 200.0) ** 2 / 200.0).sum())
    assert chi_square < 33.7  # the 0.9999 quantile with 9 degrees of freedom
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < STANDARD_ERRORS / math.sqrt(len(drawn))


@pytest.mark.parametrize("theta", [-1.5, 0.3, 2.0])
def test_shares_of_right_answers_over_seeds_meet_the_2pl(theta: float) -> None:
    success = success_of(BANK, theta=theta)
    people = [SimulatedRespondent(theta=theta, success=success, seed=seed) for seed in SEEDS]
    for label, slope, place in (("q1", 1.5, -1.0), ("q2", 0.8, 0.5), ("q3", 2.0, 1.0)):
        share = sum(person.reply(label, "C") == "C" for person in people) / len(people)
        assert within(share, 1.0 / (1.0 + math.exp(-slope * (theta - place))), len(people))


def test_shares_of_right_answers_over_seeds_meet_the_diagnosis(diagnosis: Diagnosis) -> None:
    success = success_of(diagnosis, profile="10")
    people = [SimulatedRespondent(profile="10", success=success, seed=seed) for seed in SEEDS]
    items = diagnosis.items
    for label, needed in (("q1", "1"), ("q2", "0"), ("q3", "10")):
        rows = items[(items["item"] == label) & (items["profile"] == needed)]
        share = sum(person.reply(label, "C") == "C" for person in people) / len(people)
        assert within(share, rows["probability"].item(), len(people))


def test_digits_of_a_profile_stand_in_the_order_of_the_q_matrix(diagnosis: Diagnosis) -> None:
    one, two = success_of(diagnosis, profile="10"), success_of(diagnosis, profile="01")
    assert one["q1"] > 0.6 > two["q1"]
    assert two["q2"] > 0.6 > one["q2"]


def test_default_items_follow_accuracy_then_level() -> None:
    right = {"average_accuracy": 0.75, "cse_level": 7}
    assert SimulatedRespondent(theta=0.0).probability("q", right) == pytest.approx(0.75)
    assert [round(default_difficulty({"cse_level": level}), 6) for level in range(2, 8)] == [-2.0, -1.2, -0.4, 0.4, 1.2, 2.0]
    assert SimulatedRespondent(theta=0.4).probability("q", {"cse_level": 5}) == pytest.approx(0.5)
    assert default_difficulty({"average_accuracy": float("nan"), "cse_level": "5"}) == 0.0
    assert math.isfinite(default_difficulty({"average_accuracy": 1.0}))


def test_default_items_of_a_profile_ask_for_their_subskill() -> None:
    able = SimulatedRespondent(profile="1011")
    chances = [able.probability("q", {"subskill": name}) for name in ("phonology", "Cohesion", "vocabulary", "syntax", "style")]
    assert chances == pytest.approx([0.9, 0.2, 0.9, 0.9, 0.2 + 0.7 * 0.75])


def test_runs_agree_at_temperature_0_and_are_drawn_anew_above() -> None:
    person = SimulatedRespondent(theta=0.0, seed=4)
    labels = [f"q{item}" for item in range(400)]
    first = [person.reply(label, "A", epoch=1) for label in labels]
    assert [person.reply(label, "A", epoch=2) for label in labels] == first
    warm = [[person.reply(label, "A", epoch=run, temperature=0.7) == "A" for label in labels] for run in (1, 2)]
    assert all(within(sum(run) / len(run), 0.5, len(run)) for run in warm)
    assert within(sum(one == other for one, other in zip(*warm, strict=True)) / len(labels), 0.5, len(labels))
    assert [person.reply(label, "A", epoch=1, temperature=0.7) == "A" for label in labels] == warm[0]


def test_flips_come_at_their_rate_and_differ_between_runs() -> None:
    steady, flips = SimulatedRespondent(theta=0.5, seed=9), SimulatedRespondent(theta=0.5, seed=9, flip=0.2)
    labels = [f"q{item}" for item in range(600)]
    changed = [[flips.reply(label, "A", epoch=run) != steady.reply(label, "A") for label in labels] for run in (1, 2)]
    assert all(within(sum(run) / len(run), 0.2, len(run)) for run in changed)
    both = sum(one and other for one, other in zip(*changed, strict=True)) / len(labels)
    assert within(both, 0.04, len(labels))


def test_flips_change_the_share_of_right_answers_as_documented() -> None:
    people = [SimulatedRespondent(theta=1.0, success={"q": 0.8}, seed=seed, flip=0.3) for seed in range(2000)]
    share = sum(person.reply("q", "B", "ABCD", epoch=1) == "B" for person in people) / len(people)
    assert within(share, 0.8 * 0.7 + 0.2 * 0.3 / 3.0, len(people))


def test_a_wrong_answer_is_one_distractor_for_a_seed_and_all_over_seeds() -> None:
    assert {SimulatedRespondent(theta=0.0, success={"q": 0.0}, seed=1).reply("q", "B", epoch=run) for run in range(5)} <= set(
        "ACD"
    )
    over = Counter(SimulatedRespondent(theta=0.0, success={"q": 0.0}, seed=seed).reply("q", "B") for seed in SEEDS)
    assert set(over) == set("ACD")
    assert all(within(count / len(SEEDS), 1.0 / 3.0, len(SEEDS)) for count in over.values())


def test_answers_are_the_same_in_another_process_and_order() -> None:
    code = (
        "from psychoedu.runners.simulated_names import respondent_named as named\n"
        "print(''.join(named('theta=0.2,seed=11,flip=0.3').reply(f'q{i}', 'B', epoch=2) for i in reversed(range(60))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "7", "PATH": ""}
    )
    person = respondent_named("theta=0.2,seed=11,flip=0.3")
    assert done.stdout.strip()[::-1] == "".join(person.reply(f"q{i}", "B", epoch=2) for i in range(60))


def test_forms_come_at_their_rates_whatever_the_answer() -> None:
    person = SimulatedRespondent(theta=0.0, seed=2, sentence=0.3, wrong_format=0.2, refuse=0.15, empty=0.05)
    plain = SimulatedRespondent(theta=0.0, seed=2)
    labels = [f"q{item}" for item in range(1500)]
    found: Counter[str] = Counter()
    for label in labels:
        said, answer = person.reply(label, "A", options=("Art", "Bat", "Cat", "Dot")), plain.reply(label, "A")
        form = {"": "empty", answer: "plain", f"The answer is {answer}.": "sentence"}.get(said)
        found[form or ("refuse" if "sorry" in said else "odd")] += 1
    rates = {"plain": 0.3, "sentence": 0.3, "odd": 0.2, "refuse": 0.15, "empty": 0.05}
    assert set(found) == set(rates)
    assert all(within(found[form] / len(labels), rate, len(labels)) for form, rate in rates.items())


def replies(**rates: float) -> set[str]:
    options = ("blue", "red", "gray", "pink")
    people = (SimulatedRespondent(theta=0.0, success={"q": 1.0}, seed=seed, **rates) for seed in range(40))
    return {person.reply("q", "B", options=options) for person in people}


def test_every_form_is_read_as_its_rule_says() -> None:
    def read(text: str) -> list[str | None]:
        return [parse_letter(text, rule=rule) for rule in ("literal", "token", "strict")]

    assert {said: read(said) for said in replies()} == {"B": ["B", "B", "B"]}
    assert {said: read(said) for said in replies(sentence=1.0)} == {"The answer is B.": ["B", "B", "B"]}
    assert {said: read(said) for said in replies(wrong_format=1.0)} == {
        "b": [None, None, "B"],
        "[B]": ["B", "B", "B"],
        "red": [None, None, None],
    }
    (refusal,) = replies(refuse=1.0)
    assert read(refusal) == [None, None, None]
    assert str(reply_reason(refusal).label) == "refused"
    assert [str(reply_reason(said).label) for said in replies(empty=1.0)] == ["empty"]


def test_failures_belong_to_a_run() -> None:
    person = SimulatedRespondent(theta=0.0, seed=3, error=0.25)

    def fails(label: str, run: int) -> bool:
        try:
            person.reply(label, "A", epoch=run)
        except SimulatedFailure:
            return True
        return False

    runs = [[fails(f"q{item}", run) for item in range(600)] for run in (1, 2)]
    assert all(within(sum(run) / len(run), 0.25, len(run)) for run in runs)
    assert runs[0] != runs[1]
    assert [fails(f"q{item}", 1) for item in range(600)] == runs[0]


def test_names_give_respondents() -> None:
    person = respondent_named("theta=-0.8,seed=3,flip=0.1,refuse=0.05,sentence=0.2")
    values = (person.theta, person.seed, person.flip, person.refuse, person.sentence, person.empty, person.error)
    assert values == (-0.8, 3, 0.1, 0.05, 0.2, 0.0, 0.0)
    assert respondent_named("profile=0110:seed=3").profile == "0110"
    assert respondent_named("theta=1", options={"seed": 4, "flip": 0.5}).seed == 4
    assert respondent_named("theta=1,seed=9", options={"seed": 4}).seed == 9


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("", "no key=value"),
        ("0.8", "no key=value"),
        ("theta", "no key=value"),
        ("tehta=1", "did you mean 'theta'"),
        ("theta=1,Seed=2", "did you mean 'seed'"),
        ("theta=1,refusal=0.1", "did you mean 'refuse'"),
        ("theta=1,zzz=2", r"'zzz'\.\nExpected some of " + ", ".join(KEYS)),
        ("seed=3", "neither theta nor profile"),
        ("theta=1,profile=1011", "both theta and profile"),
        ("theta=1,theta=2", "theta twice"),
        ("theta=high", "theta has to be a number"),
        ("theta=nan", "theta has to be a number"),
        ("theta=1,seed=1.5", "seed has to be a whole number"),
        ("theta=1,flip=1.5", "flip is a rate"),
        ("theta=1,refuse=-0.1", "refuse is a rate"),
        ("theta=1,refuse=0.6,empty=0.6", "add up to 1.2"),
        ("profile=1021", "a 0 or 1 for each attribute"),
        ("profile=", "a 0 or 1 for each attribute"),
        ("profile=101", "has 3 digits"),
    ],
)
def test_names_that_are_none_are_told(name: str, told: str) -> None:
    with pytest.raises(DataError, match=told) as caught:
        respondent_named(name)
    assert len(str(caught.value).splitlines()) <= 3


def test_options_are_as_strict_as_names() -> None:
    with pytest.raises(DataError, match="did you mean 'flip'"):
        respondent_named("theta=1", options={"flips": 0.1})
    with pytest.raises(DataError, match="'theta'"):
        respondent_named("theta=1", options={"theta": 2})


def test_banks_have_to_belong_to_the_respondent(diagnosis: Diagnosis) -> None:
    with pytest.raises(DataError, match="needs a diagnosis; got a item_bank"):
        respondent_named("profile=10", BANK)
    with pytest.raises(DataError, match="needs an item bank or a calibration; got a diagnosis"):
        respondent_named("theta=1", diagnosis)
    with pytest.raises(DataError, match="expected 2 digits, for 'one', 'two'"):
        respondent_named("profile=101", diagnosis)


def test_keys_have_to_be_letters_of_the_item() -> None:
    with pytest.raises(DataError, match="'E' of item 'q' is none of its options A, B, C, D"):
        SimulatedRespondent(theta=0.0).reply("q", "E")
    with pytest.raises(DataError, match="expected two or more"):
        SimulatedRespondent(theta=0.0).reply("q", "A", "A")
