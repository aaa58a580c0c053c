"""Simulated respondents asked directly, in numbers that no runner could afford: abilities, mastery, policies and runs come back.

What a runner collects is the same to the letter (``test_chain_inspect``), so that these are statements about the whole chain.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from chain_designs import (
    abilities,
    asked_directly,
    learners_and_q,
    names_of,
    parameters,
    pivots,
    profiles_drawn,
    questions,
    right_by_draws,
)

import psychoedu as pe
from psychoedu.cdm.accuracy import classification_accuracy

BANK, ITEMS = parameters(), questions()
N = 2000
THETAS = abilities(N)
STANDARD_ERRORS = 4.0
BIAS, COVERAGE = 0.2, (0.93, 0.97)


@pytest.fixture(scope="module")
def diagnosis() -> Any:
    learners, q = learners_and_q()
    return pe.diagnose(learners, q, model="DINA", structure="saturated", n_starts=1, standard_errors=None)


@pytest.fixture(scope="module")
def right() -> pd.DataFrame:
    return right_by_draws(names_of(THETAS), BANK, ITEMS)


@pytest.mark.parametrize("method", ["wle", "ml"])
def test_abilities_come_back_with_their_standard_errors(method: str, right: pd.DataFrame) -> None:
    """Monte Carlo errors: 0.022 of the mean and 0.5 points of the coverage; the limits are nine and four of them away."""
    found = pivots(pe.score(BANK, right, method=method), THETAS)
    known = np.isfinite(found)  # maximum likelihood has no estimate of somebody who was right, or wrong, everywhere
    assert known.mean() > 0.995
    assert abs(found[known].mean()) < BIAS
    assert COVERAGE[0] < (np.abs(found[known]) < 1.96).mean() < COVERAGE[1]
    assert found[known].std() == pytest.approx(1.0, abs=0.1)


def test_mastery_comes_back_as_the_classification_accuracy_says(diagnosis: Any) -> None:
    profiles = profiles_drawn(diagnosis, N)
    names = [f"profile={profile},seed={seed}" for seed, profile in enumerate(profiles)]
    right = right_by_draws(names, diagnosis, questions(len(diagnosis.item_labels)))
    classified = pe.cdm.score(diagnosis, right).classification(method="map")[list(diagnosis.attribute_labels)]
    true = np.array([[int(digit) for digit in profile] for profile in profiles])
    promised = classification_accuracy(diagnosis).attributes["accuracy"].to_numpy()
    found = (classified.to_numpy() == true).mean(axis=0)
    error = np.sqrt(promised * (1.0 - promised) * (1.0 / N + 1.0 / diagnosis.n_respondents))
    assert ((promised > 0.8) & (promised < 0.97)).all()  # neither a guess nor a matter of course
    np.testing.assert_array_less(np.abs(found - promised), STANDARD_ERRORS * error)


def test_the_policies_differ_by_the_rate_of_refusals_and_only_counting_them_as_wrong_moves_abilities() -> None:
    thetas = abilities(400)
    refusing = asked_directly(names_of(thetas, ",refuse=0.25"), BANK, ITEMS)
    chance = np.mean([BANK.probability(theta).mean() for theta in thetas])
    rates = refusing.rates("benchmark").iloc[0]
    cells = len(thetas) * len(ITEMS)
    assert rates["refused"] / cells == pytest.approx(0.25, abs=STANDARD_ERRORS * math.sqrt(0.25 * 0.75 / cells))
    assert rates["rate_invalid_missing"] == pytest.approx(chance, abs=STANDARD_ERRORS * 0.5 / math.sqrt(0.75 * cells))
    assert rates["rate_invalid_wrong"] == pytest.approx(0.75 * chance, abs=STANDARD_ERRORS * 0.5 / math.sqrt(cells))
    wrong, missing = (
        pivots(pe.score(BANK, refusing.to_matrix(invalid=policy), method="wle"), thetas).mean() for policy in ("wrong", "missing")
    )
    assert abs(missing) < BIAS
    assert wrong < -1.0


@pytest.mark.parametrize("flip", [0.1, 0.3])
def test_runs_agree_as_often_as_flips_let_them(flip: float) -> None:
    """Three runs agree if none is flipped, or all are, to one of the three other options: (1 - f)^3 + f^3 / 9."""
    table = asked_directly(names_of(abilities(60), f",flip={flip}"), BANK, ITEMS, runs=3).test_retest()
    cells = 60 * len(ITEMS)
    for name, chance in (
        ("same_answer", (1.0 - flip) ** 3 + flip**3 / 9.0),
        ("pairwise_agreement", (1.0 - flip) ** 2 + flip**2 / 3.0),
    ):
        assert table[name].mean() == pytest.approx(chance, abs=STANDARD_ERRORS * math.sqrt(chance * (1.0 - chance) / cells))


def test_a_majority_of_three_runs_is_right_as_often_as_computed() -> None:
    """With p of a run's right answer given the respondent's own: three runs, ties to the first, four options."""
    flip = 0.3
    names = names_of(abilities(60), f",flip={flip}")
    voted = asked_directly(names, BANK, ITEMS, runs=3).to_matrix().to_frame()
    steady = right_by_draws([name.partition(",flip")[0] for name in names], BANK, ITEMS)
    own = voted.to_numpy()[steady.to_numpy() == 1.0]
    other = voted.to_numpy()[steady.to_numpy() == 0.0]
    for cells, p in ((own, 1.0 - flip), (other, flip / 3.0)):
        rest = [flip / 3.0] * 3 if p > 0.5 else [1.0 - flip, flip / 3.0, flip / 3.0]
        three_ways = sum(one * two for place, one in enumerate(rest) for two in rest[:place] + rest[place + 1 :])
        chance = p**3 + 3.0 * p**2 * (1.0 - p) + p * three_ways  # all, two, or the first of three different ones
        assert cells.mean() == pytest.approx(chance, abs=STANDARD_ERRORS * math.sqrt(chance * (1.0 - chance) / cells.size))


def test_failed_calls_are_missing_whatever_the_policy() -> None:
    records = asked_directly(names_of(abilities(40), ",error=0.2,refuse=0.2"), BANK, ITEMS)
    failed = records.frame["reason"] == "api_error"
    assert failed.mean() == pytest.approx(0.2, abs=STANDARD_ERRORS * math.sqrt(0.16 / len(failed)))
    order = {"index": list(pd.unique(records.frame["model"])), "columns": ITEMS.ids}
    no_call = failed.groupby([records.frame["model"], records.frame["item_id"]]).any().unstack().reindex(**order)
    no_answer = records.frame["reason"].ne("answered").groupby([records.frame["model"], records.frame["item_id"]]).any()
    for policy, blank in (("wrong", no_call), ("missing", no_answer.unstack().reindex(**order))):
        np.testing.assert_array_equal(records.to_matrix(invalid=policy).to_frame().isna(), blank)
