"""From a run's matrix straight on to abilities, levels and mastery: the same as by hand, one call at a time."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import psychoedu as pe
from psychoedu.cdm.mastery_table import mastery_table
from psychoedu.exceptions import DataError, LabelError
from psychoedu.runners.csebench.tables import tables

CUTS = {"CSE-3": -0.8, "CSE-4": 0.0, "CSE-5": 0.7, "CSE-6": 1.4}


@pytest.fixture(scope="module")
def learners() -> Any:
    return pe.datasets.load_cse_like().select(respondents={"group": ["junior", "college"]})


@pytest.fixture(scope="module")
def bank(learners: Any) -> Any:
    return pe.calibrate(learners, groups="group", standard_errors=None)


@pytest.fixture(scope="module")
def diagnosis(learners: Any) -> Any:
    return pe.diagnose(learners, pe.datasets.load_cse_like_q(), model="DINA", n_starts=1, standard_errors=None)


@pytest.fixture(scope="module")
def models() -> Any:
    """The models of the data set as a run gives them: model and condition as columns."""
    wide = pe.datasets.load_cse_like().select(respondents={"group": "model"}).to_frame()
    table = pd.DataFrame([label.split("_") for label in wide.index], columns=["model", "condition"], index=wide.index)
    return pe.ResponseMatrix.from_wide(wide, respondent_table=table)


def test_levels_are_those_of_level_table(bank: Any, models: Any) -> None:
    cuts = pe.CutScores.from_values(CUTS)
    found = tables(models, bank, cuts)
    by_hand = pe.level_table(bank, pe.datasets.load_cse_like().select(respondents={"group": "model"}), cuts, separator="_")
    assert found.levels is not None
    assert found.levels.to_frame().equals(by_hand.to_frame())
    assert found.levels.to_frame().shape == (12, 2)
    assert "Table 1" in found.summary()
    assert found.notes == ()


def test_abilities_are_those_of_score(bank: Any, models: Any) -> None:
    found = tables(models, bank, method="wle")
    assert found.scores is not None
    pd.testing.assert_frame_equal(found.scores.to_frame(), pe.score(bank, models, method="wle").to_frame())
    assert found.levels is None
    assert "Ability on the bank's scale" in found.summary()


def test_mastery_is_that_of_the_diagnosis_held_fixed(diagnosis: Any, models: Any) -> None:
    found = tables(models, diagnosis=diagnosis)
    by_hand = mastery_table(pe.cdm.score(diagnosis, models), separator="_", learners=diagnosis)
    assert found.mastery is not None
    pd.testing.assert_frame_equal(found.mastery.to_frame(), by_hand.to_frame())
    assert found.summary().startswith("Table 3")


def test_items_of_one_side_alone_are_left_out_and_said(bank: Any, models: Any) -> None:
    few = models.select(items=list(models.item_labels[:20])).to_frame()
    more = pe.ResponseMatrix.from_wide(few.assign(unknown=1.0), respondent_table=models.respondents)
    found = tables(more, bank)
    assert found.notes == (
        "1 item of the run is not in the bank: 'unknown'.",
        f"{len(bank.items) - 20} items of the bank were not administered.",
    )
    assert found.scores is not None
    pd.testing.assert_series_equal(found.scores.theta, pe.score(bank, few).theta)


def test_a_bank_of_other_items_and_cuts_without_a_bank_are_refused(bank: Any, models: Any) -> None:
    other = pe.ResponseMatrix.from_wide(models.to_frame().add_prefix("other-"), respondent_table=models.respondents)
    with pytest.raises(LabelError, match="knows none of the 61 items"):
        tables(other, bank)
    with pytest.raises(DataError, match="--bank"):
        tables(models, cuts=pe.CutScores.from_values(CUTS))


def test_nobody_masters_anything_without_an_answer(diagnosis: Any, models: Any) -> None:
    frame = models.to_frame()
    frame.iloc[0] = float("nan")
    blank = pe.ResponseMatrix.from_wide(frame, respondent_table=models.respondents)
    found = tables(blank, diagnosis=diagnosis)
    assert found.notes[-1] == f"No mastery without a single answer: {frame.index[0]!r}."
    assert found.mastery is not None
    assert len(found.mastery.cells) == (len(frame) - 1) * len(diagnosis.attribute_labels)
