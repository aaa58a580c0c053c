"""The delete-one-task jackknife of ability: against rescoring by hand, and where it does not exist."""

import numpy as np
import pandas as pd
import pytest
from level_designs import bank_of, respond

import psychoedu as pe
from psychoedu.exceptions import DataError, LabelError
from psychoedu.standard_setting.jackknife import item_sampling_error

EXACT = 1e-9
MONTE_CARLO = 4.0  # standard errors
THETA = np.linspace(-2.0, 2.0, 6)


def by_hand(bank, row, tasks, method):
    """Score one respondent without each task in turn, and apply the formula."""
    given = [task for task in pd.unique(tasks) if row[tasks == task].notna().any()]
    thetas = []
    for task in given:
        part = row.where(tasks != task)
        thetas.append(pe.score(bank, part.to_frame().T.astype(float), method).theta.iloc[0])
    thetas = np.array(thetas)
    return (len(given) - 1) / len(given) * ((thetas - thetas.mean()) ** 2).sum(), len(given)


@pytest.mark.parametrize("method", ["eap", "map", "wle"])
@pytest.mark.parametrize("n_tasks", [12, 4])
def test_the_jackknife_by_rescoring(method, n_tasks):
    bank = bank_of(12)
    responses = respond(bank, THETA).astype(float)
    responses.iloc[0, :5] = np.nan
    tasks = pd.Series(np.arange(12) % n_tasks, index=bank.labels)
    found = item_sampling_error(bank, responses, tasks, method=method)
    for label, row in responses.iterrows():
        variance, count = by_hand(bank, row, tasks.to_numpy(), method)
        assert found.loc[label, "jackknife_variance"] == pytest.approx(variance, rel=EXACT)
        assert found.loc[label, "n_tasks"] == count
    scores = pe.score(bank, responses, method)
    np.testing.assert_array_equal(found["theta"], scores.theta)
    np.testing.assert_allclose(found["measurement_variance"], scores.theta_se**2, rtol=1e-12)
    expected = np.maximum(found["jackknife_variance"] - found["measurement_variance"], 0.0)
    np.testing.assert_allclose(found["excess_variance"], expected, rtol=1e-12)


def test_each_item_is_a_task_by_default():
    bank = bank_of(8)
    responses = respond(bank, THETA)
    own = pd.Series(list("abcdefgh"), index=bank.labels)
    pd.testing.assert_frame_equal(item_sampling_error(bank, responses), item_sampling_error(bank, responses, own))


def test_tasks_in_any_form():
    bank = bank_of(6)
    matrix = pe.ResponseMatrix.from_wide(
        respond(bank, THETA), item_table=pd.DataFrame({"task": list("aabbcc")}, index=bank.labels)
    )
    expected = item_sampling_error(bank, matrix, "task")
    for tasks in (
        list("aabbcc"),
        dict(zip(bank.labels, "aabbcc", strict=True)),
        pd.Series(list("ccbbaa"), index=bank.labels[::-1]),
    ):
        pd.testing.assert_frame_equal(item_sampling_error(bank, matrix, tasks), expected)
    assert (expected["n_tasks"] == 3).all()


def test_priors_by_respondent():
    bank = bank_of(10)
    responses = respond(bank, THETA)
    mean = pd.Series(np.linspace(-1, 1, 6), index=responses.index)
    found = item_sampling_error(bank, responses, prior_mean=mean, prior_sd=0.5)
    for label in responses.index:
        one = item_sampling_error(bank, responses.loc[[label]], prior_mean=mean[label], prior_sd=0.5)
        np.testing.assert_allclose(found.loc[label].to_numpy(dtype=float), one.loc[label].to_numpy(dtype=float), rtol=EXACT)


def test_independent_answers_leave_little_beyond_measurement():
    """The jackknife's variance is that of measurement on average; answers that hang together give several times more."""
    bank = bank_of(40, error=None)
    theta = np.zeros(300)
    responses = respond(bank, theta)
    alone = item_sampling_error(bank, responses, method="wle")
    ratio = alone["jackknife_variance"] / alone["measurement_variance"]
    noise = ratio.std() / np.sqrt(300)
    assert abs(ratio.mean() - 1.0) < MONTE_CARLO * noise + 0.1
    tasks = np.repeat(np.arange(10), 4)
    copied = responses.to_numpy()[:, ::4].repeat(4, axis=1)
    together = item_sampling_error(bank, pd.DataFrame(copied, columns=bank.labels), tasks, method="wle")
    assert (together["jackknife_variance"] / together["measurement_variance"]).mean() > 2.0
    assert (together["excess_variance"] >= 0).all()


def test_where_there_is_no_jackknife():
    bank = bank_of(6)
    responses = respond(bank, np.zeros(3)).astype(float)
    responses.iloc[0] = np.nan
    responses.iloc[1, 1:] = np.nan
    found = item_sampling_error(bank, responses)
    assert found["n_tasks"].tolist() == [0, 1, 6]
    assert found["excess_variance"].isna().tolist() == [True, True, False]
    responses = respond(bank, np.zeros(2))
    responses.iloc[0] = 1
    by_ml = item_sampling_error(bank, responses, method="ml")
    assert np.isnan(by_ml["jackknife_variance"].iloc[0])
    assert np.isnan(by_ml["excess_variance"].iloc[0])


def test_permuted_rows_and_items():
    bank = bank_of(10)
    responses = respond(bank, THETA)
    mixed = responses.iloc[::-1, ::-1]
    one, two = item_sampling_error(bank, responses), item_sampling_error(bank, mixed)
    pd.testing.assert_frame_equal(two.loc[one.index], one, rtol=EXACT)


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ("subskill", "no column of the responses' item table"),
        (list("aaaaaa"), "names one task only"),
        (["a", "a", None, "b", "b", "b"], "1 missing values; expected a task for every item"),
        (list("ab"), "one value per item"),
    ],
    ids=repr,
)
def test_tasks_that_are_none(tasks, message):
    bank = bank_of(6)
    with pytest.raises(DataError, match=message):
        item_sampling_error(bank, respond(bank, THETA), tasks)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "sum"}, "method has to be"),
        ({"prior_sd": 0.0}, "prior_sd has to be above 0"),
        ({"prior_mean": "x"}, "prior_mean"),
    ],
    ids=repr,
)
def test_options_that_are_none(options, message):
    bank = bank_of(6)
    with pytest.raises(DataError, match=message):
        item_sampling_error(bank, respond(bank, THETA), **options)


def test_other_banks_and_items():
    bank = bank_of(6)
    with pytest.raises(DataError, match="needs a Calibration or an ItemBank; got DataFrame"):
        item_sampling_error(bank.items, respond(bank, THETA))
    with pytest.raises(LabelError, match="not in the bank: 'extra'"):
        item_sampling_error(bank, respond(bank, THETA).assign(extra=1))
