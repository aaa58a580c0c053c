"""Simulated respondents through the CSEBench runner and Inspect: replies, and what is made of them, as when asked directly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("inspect_ai", reason="the extra [runners] is not installed")

from chain_designs import asked_directly, learners_and_q, names_of, parameters, questions, replies, right_by_draws, written
from mock_models import INSPECT

import psychoedu as pe
from psychoedu.runners import run
from psychoedu.runners.csebench.tables import tables

pytestmark = INSPECT
N_ITEMS, RUNS = 12, 3
ITEMS, BANK = questions(N_ITEMS), parameters(N_ITEMS)
FORMS = ",refuse=0.2,empty=0.2,wrong_format=0.2,sentence=0.2"
STEADY = names_of([-1.3, 0.2, 1.4])
NAMES = [*STEADY, f"theta=0.6,seed=3{FORMS}", f"theta=-0.4,seed=4{FORMS},flip=0.3", "theta=0.9,seed=5,flip=0.5,error=0.1"]
MODELS = [f"simulated/{name}" for name in NAMES]
POLICIES = ("wrong", "missing")
CUTS = {"CSE-3": -1.0, "CSE-4": 0.0, "CSE-5": 1.0}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Six respondents, three runs of 12 items."""
    folder = tmp_path_factory.mktemp("chain")
    settings = {"model_args": written(folder, BANK, N_ITEMS)}
    return run(
        "csebench", MODELS, ["zero_shot"], items=folder / "items.csv", out=folder / "out", repeats=RUNS, settings=settings,
        progress=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def directly() -> Any:
    return asked_directly(NAMES, BANK, ITEMS, RUNS)


def test_every_reply_is_the_respondents_own(finished: Any, directly: Any) -> None:
    columns = ["model", "item_id", "epoch", "raw_output", "parsed", "reason", "score"]
    place = columns[:3]
    theirs, ours = (one.frame[columns].sort_values(place, ignore_index=True) for one in (finished.records, directly))
    assert len(theirs) == len(NAMES) * N_ITEMS * RUNS
    assert set(theirs["reason"]) == {"answered", "refused", "unparsed", "empty", "api_error"}
    pd.testing.assert_frame_equal(theirs, ours, check_dtype=False)


@pytest.mark.parametrize("policy", POLICIES)
def test_the_matrix_is_what_the_replies_make_it(finished: Any, policy: str) -> None:
    """By hand: the answer that two runs gave, else that of the first; a cell without one is wrong, or missing."""
    found = finished.matrix(invalid=policy).to_frame()
    assert list(found.index) == [f"{model} / zero_shot" for model in MODELS]
    assert list(found.columns) == ITEMS.ids
    for name, (_, row) in zip(NAMES, found.iterrows(), strict=True):
        said = replies(name, BANK, ITEMS, RUNS).query("reason != 'api_error'")
        for item in ITEMS.items:
            letters = said.loc[said["item_id"] == item.item_id, "parsed"].fillna("none").tolist()
            twice = [letter for letter in letters if letters.count(letter) > 1]
            answer = (twice or letters or [""])[0]
            unknown = not letters or (answer == "none" and policy == "missing")
            expected = np.nan if unknown else float(answer == item.key)
            np.testing.assert_equal(row[item.item_id], expected)


def test_without_rates_the_matrix_is_that_of_the_draws(finished: Any) -> None:
    found = finished.matrix().to_frame().iloc[: len(STEADY)]
    np.testing.assert_array_equal(found, right_by_draws(STEADY, BANK, ITEMS))
    assert finished.records.test_retest().iloc[: len(STEADY)]["same_answer"].tolist() == [1.0] * len(STEADY)


def test_policies_differ_by_the_replies_without_an_answer(finished: Any) -> None:
    rates = finished.rates().droplevel("condition")
    frame = finished.records.frame
    for model in MODELS:
        own = frame[frame["model"] == model]
        right = (own["parsed"] == own["item_id"].map(ITEMS.keys)).sum()
        replied = int(own["error"].isna().sum())
        answered = int(own["parsed"].notna().sum())
        row = rates.loc[model]
        assert (row["n"], row["answered"], row["right"]) == (N_ITEMS * RUNS, answered, right)
        assert row["refused"] + row["unparsed"] + row["empty"] == replied - answered
        assert row["failed"] == N_ITEMS * RUNS - replied
        assert row["rate_invalid_wrong"] == pytest.approx(right / replied)
        assert row["rate_invalid_missing"] == pytest.approx(right / answered)
        assert row["rate_failed_wrong"] == pytest.approx(right / (N_ITEMS * RUNS))
    lost = rates.iloc[3:5]
    assert (lost["rate_invalid_missing"] > lost["rate_invalid_wrong"] + 0.1).all()
    assert (rates.iloc[:3]["rate_invalid_missing"] == rates.iloc[:3]["rate_invalid_wrong"]).all()


def test_means_of_the_matrix_differ_by_the_cells_without_an_answer(finished: Any) -> None:
    wrong, missing = (finished.matrix(invalid=policy).to_frame() for policy in POLICIES)
    lost = missing.isna() & wrong.notna()
    assert lost.sum(axis=1).tolist()[:3] == [0, 0, 0]
    assert (lost.sum(axis=1).iloc[3:5] >= 4).all()
    assert (wrong[lost].sum(axis=1) == 0).all()
    n = wrong.notna().sum(axis=1)
    np.testing.assert_allclose(wrong.mean(axis=1) * n, missing.mean(axis=1) * (n - lost.sum(axis=1)), rtol=1e-12)


def test_agreement_over_runs_is_counted(finished: Any, directly: Any) -> None:
    found = finished.records.test_retest().droplevel("condition")
    np.testing.assert_allclose(found, directly.test_retest().droplevel("condition"), rtol=1e-12)
    flipping = directly.frame[directly.frame["model"] == MODELS[4]]
    answers = flipping["parsed"].fillna("none").groupby(flipping["item_id"]).nunique()
    assert found.loc[MODELS[4], "same_answer"] == (answers == 1).mean() < 1.0


def test_abilities_and_levels_follow_from_the_bank_that_made_the_replies(finished: Any) -> None:
    found = tables(finished.matrix(invalid="missing"), BANK, pe.CutScores.from_values(CUTS), method="wle")
    assert found.scores is not None
    by_hand = pe.score(BANK, right_by_draws(STEADY, BANK, ITEMS), method="wle")
    np.testing.assert_allclose(found.scores.theta[:3], by_hand.theta, rtol=1e-12)
    assert found.scores.theta.iloc[:3].is_monotonic_increasing
    assert found.levels is not None
    assert found.levels.to_frame().shape == (len(NAMES), 1)


def test_a_respondent_with_a_profile_is_diagnosed_by_the_diagnosis_it_answers_from(tmp_path: Path) -> None:
    learners, q = learners_and_q(n=600)
    diagnosis = pe.diagnose(learners, q, model="DINA", structure="saturated", n_starts=1, standard_errors=None)
    names = [f"profile={profile},seed={seed}" for seed, profile in enumerate(("000", "101", "111"))]
    result = run(
        "csebench", [f"simulated/{name}" for name in names], ["zero_shot"], items=questions(len(q)), out=tmp_path / "out",
        repeats=1, settings={"model_args": written(tmp_path, diagnosis, len(q))}, progress=False,
    )  # fmt: skip
    right = right_by_draws(names, diagnosis, questions(len(q)))
    np.testing.assert_array_equal(result.matrix().to_frame(), right)
    found = tables(result.matrix(), diagnosis=diagnosis)
    assert found.mastery is not None
    np.testing.assert_allclose(
        found.mastery.to_frame()[list(diagnosis.attribute_labels)], pe.cdm.score(diagnosis, right).mastery, rtol=1e-12
    )
