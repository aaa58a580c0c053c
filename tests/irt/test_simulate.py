import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from psychoedu.exceptions import DataError
from psychoedu.irt.bank import ItemBank
from psychoedu.irt.simulate import simulate_responses

BANK = pd.DataFrame(
    {"discrimination": [1.0, 1.5, 0.7], "difficulty": [0.0, 1.0, -1.0], "guessing": [0.0, 0.2, 0.0]}, index=list("abc")
)


def test_proportions_right_are_the_model_s_probabilities():
    responses = simulate_responses(BANK, np.full(40_000, 0.6), rng=1)
    a, b, c = (BANK[name].to_numpy() for name in ("discrimination", "difficulty", "guessing"))
    expected = c + (1 - c) * expit(a * (0.6 - b))
    z = (responses.to_frame().mean() - expected) / np.sqrt(expected * (1 - expected) / 40_000)
    assert np.abs(z).max() < 4


def test_answers_are_independent_given_ability():
    frame = simulate_responses(BANK, np.zeros(40_000), rng=2).to_frame()
    correlations = np.corrcoef(frame.T)[np.triu_indices(3, 1)]
    assert np.abs(correlations).max() < 4 / np.sqrt(40_000)


def test_labels_come_from_the_bank_and_the_series():
    theta = pd.Series([0.0, 1.0], index=["ann", "ben"])
    for bank in (BANK, ItemBank(BANK)):
        responses = simulate_responses(bank, theta, rng=3)
        assert responses.item_labels.tolist() == ["a", "b", "c"]
        assert responses.respondent_labels.tolist() == ["ann", "ben"]


def test_same_seed_same_answers():
    one, other = (simulate_responses(BANK, np.zeros(50), rng=4).scored() for _ in range(2))
    np.testing.assert_array_equal(one, other)
    assert not np.array_equal(one, simulate_responses(BANK, np.zeros(50), rng=5).scored())


@pytest.mark.parametrize("theta", [[0.0, np.nan], [[0.0]], np.inf], ids=["nan", "two dimensions", "scalar"])
def test_abilities_that_are_none_are_refused(theta):
    with pytest.raises(DataError, match="one finite number per respondent"):
        simulate_responses(BANK, theta)
