"""Learners alone against learners and models: what R's GDINA gives for all, and what has to change and what not."""

import json

import numpy as np
import pandas as pd
import pytest

import psychoedu as pe
from psychoedu.cdm import calibration_sensitivity
from psychoedu.exceptions import DuplicateLabelError, LabelError

LOG_LIKELIHOOD_BELOW = 1e-3
PROBABILITY = 5e-4
THETA = 1e-4
POINTS = 25  # as R's GDINA


@pytest.fixture(scope="module")
def data():
    matrix = pe.datasets.load_cse_like()
    learners = matrix.select(respondents={"group": ["junior", "college"]})
    return learners, matrix.select(respondents={"group": "model"}), pe.datasets.load_cse_like_q()


@pytest.fixture(scope="module")
def found(data):
    return calibration_sensitivity(*data, n_starts=1, n_points=POINTS)


def test_joint_calibration_is_that_of_gdina_on_all_rows(found, shared):
    folder = shared / "reference" / "cse_like_cdm"
    theirs = json.loads((folder / "gdina_ho.json").read_text())
    joint = found.fit.loc["joint"]
    assert joint["log_likelihood"] > theirs["logLik"] - LOG_LIKELIHOOD_BELOW
    assert (joint["n_parameters"], joint["n_respondents"]) == (theirs["npar"], theirs["nobs"])
    assert joint["bic"] == pytest.approx(theirs["BIC"], abs=2e-3)
    persons = pd.read_csv(folder / "gdina_ho_persons.csv").set_index("person")
    rows = found.mastery.pivot(index="respondent", columns="attribute", values="joint")
    rows = rows[list(found.learners.attribute_labels)]
    reference = persons.loc[rows.index]
    np.testing.assert_allclose(rows, reference[[f"mp_A{k}" for k in (1, 2, 3, 4)]], atol=PROBABILITY)
    np.testing.assert_allclose(found.theta["joint"], persons.loc[found.theta.index, "theta_EAP"], atol=THETA)
    probabilities = [value for item in theirs["catprob"].values() for value in item.values()]
    np.testing.assert_allclose(found.items["joint"], probabilities, atol=PROBABILITY)


def test_learners_part_is_the_ordinary_diagnosis(found, data):
    learners, models, q = data
    alone = pe.diagnose(learners, q, n_starts=1, n_points=POINTS)
    np.testing.assert_array_equal(found.items["learners"], alone.items["probability"])
    np.testing.assert_array_equal(found.items["se"], alone.items["se"])
    scored = pe.cdm.score(alone, models)
    np.testing.assert_array_equal(found.mastery["learners"], scored.mastery.to_numpy().ravel())
    np.testing.assert_array_equal(found.theta["learners"], scored.theta)
    slopes = found.structure[found.structure["parameter"] == "slope"]
    np.testing.assert_array_equal(slopes["learners"], alone.structure["slope"])


def test_bic_tells_the_number_of_respondents(found):
    implied = np.exp((found.fit["bic"] - found.fit["minus_2ll"]) / found.fit["n_parameters"])
    np.testing.assert_allclose(implied, [2050, 2074], rtol=1e-9)


def test_joint_parameters_fit_the_learners_worse(found):
    own, joint = found.fit["learners_minus_2ll"]
    assert own == pytest.approx(found.fit.loc["learners", "minus_2ll"], rel=1e-12)
    assert joint > own
    assert own < found.fit.loc["joint", "minus_2ll"]


def test_changes_are_joint_minus_learners(found):
    for table in (found.items, found.structure, found.mastery, found.theta):
        np.testing.assert_allclose(table["change"], table["joint"] - table["learners"], rtol=1e-12, atol=0)
    known = found.items["se"] > 0
    np.testing.assert_allclose(
        found.items.loc[known, "standardized_change"], (found.items["change"] / found.items["se"])[known], rtol=1e-12
    )
    largest = found.largest()
    assert largest.loc["item probability", "change"] == found.items.loc[found.items["change"].abs().idxmax(), "change"]
    assert abs(largest.loc["ability", "change"]) == found.theta["change"].abs().max()


def test_models_without_answers_change_nothing_and_are_named(data):
    learners, models, q = data
    nothing = models.to_frame() * np.nan
    found = calibration_sensitivity(learners, nothing, q, n_starts=1, standard_errors=None)
    assert found.fit["n_respondents"].tolist() == [2050, 2050]
    assert found.items["change"].abs().max() < 1e-4
    assert found.n_decisions_changed == 0
    assert "24 models without a response" in found.summary()
    assert found.items["standardized_change"].isna().all()


def test_many_rows_that_are_all_right_pull_the_parameters(data):
    learners, models, q = data
    right = pd.DataFrame(1, index=[f"m{row}" for row in range(400)], columns=models.item_labels)
    found = calibration_sensitivity(learners, right, q, n_starts=1, standard_errors=None)
    full = found.items[[set(label) == {"1"} for label in found.items["profile"]]]
    assert (full["change"] > 0).all()
    intercepts = found.structure[found.structure["parameter"] == "intercept"]
    assert (intercepts["change"] > 0).all()
    assert (found.theta["change"].abs() > 0.01).all()


def test_decisions_that_change_are_counted_and_listed(data):
    """Rows near one half: models that are right on a share of what an attribute needs, many of them."""
    learners, _, q = data
    rng = np.random.default_rng(3)
    odd = pd.DataFrame(0, index=[f"m{row}" for row in range(500)], columns=q.index)
    for label in q.index[q["phonology"] == 1]:
        odd[label] = (rng.random(500) < 0.45).astype(int)
    found = calibration_sensitivity(learners, odd, q, n_starts=1, standard_errors=None)
    expected = (found.mastery["learners"] > 0.5) != (found.mastery["joint"] > 0.5)
    assert found.n_decisions_changed == expected.sum() > 0
    assert f"Mastery decisions that change: {expected.sum()} of 2000." in found.summary()
    first = found.mastery[expected].iloc[0]
    assert f"{first['respondent']}" in found.summary()


def test_other_models_and_structures(data):
    learners, models, q = data
    some = list(models.item_labels[:40])
    found = calibration_sensitivity(
        learners, models.to_frame()[some[::-1]], q, model="DINA", structure="saturated", n_starts=1, standard_errors="crossprod"
    )
    assert found.theta is None
    assert found.structure["of"].tolist() == found.learners.profile_labels
    np.testing.assert_allclose(found.structure[["learners", "joint"]].sum(), 1.0, rtol=1e-9)
    assert found.structure["se"].notna().all()
    assert found.largest().index.tolist() == ["item probability", "structural parameter", "mastery"]
    assert repr(found).startswith("CalibrationSensitivity(2,050 learners, 2,074 with the models")


def test_respondents_in_both_are_refused(data):
    learners, models, q = data
    everyone = pd.concat([learners.to_frame(), models.to_frame()])
    with pytest.raises(
        DuplicateLabelError, match=r"24 respondents among the learners and the models: 'M01_p1'.*\n.*counts them twice"
    ):
        calibration_sensitivity(everyone, models, q)


def test_items_that_only_models_answered_are_refused(data):
    learners, models, q = data
    more = models.to_frame().rename(columns={"I01": "I99"})
    with pytest.raises(LabelError, match=r"1 item that the learners lack: 'I99'"):
        calibration_sensitivity(learners, more, q)


def test_labels_that_are_numbers_may_meet(data):
    learners, models, q = data
    one, other = learners.to_frame().head(500).reset_index(drop=True), models.to_frame().reset_index(drop=True)
    both = [label for label in one.columns if one[label].notna().any()]  # the junior form
    found = calibration_sensitivity(one[both], other[both], q.loc[both], model="DINA", n_starts=1, standard_errors=None)
    assert found.fit["n_respondents"].tolist() == [500, 524]
