"""Classification accuracy and consistency: against R GDINA's CA, enumeration of all responses, and edges."""

import itertools

import cdm_stand_in as stand_in
import numpy as np
import pytest

from psychoedu.cdm.accuracy import accuracy_of, classification_accuracy, profile_index
from psychoedu.cdm.profiles import all_profiles
from psychoedu.exceptions import DataError

CLOSED = {"rtol": 1e-12, "atol": 1e-14}
CASES = [
    (folder, name)
    for folder in ("cdm_ecpe", "cdm_sim10GDINA")
    for name in ("gdina_saturated", "gdina_ho", "dina_saturated", "dina_ho", "dino_ho", "acdm_ho")
]
Q = [[1, 0], [0, 1], [1, 1]]
PROBABILITIES = [[0.2, 0.8], [0.3, 0.7], [0.1, 0.4, 0.3, 0.9]]
PRIOR = np.array([0.4, 0.2, 0.1, 0.3])


def every_response():
    """All 8 responses to three items as respondents, weighted by their probability under the model."""
    scored = np.array(list(itertools.product([0, 1], repeat=3)), dtype=np.int8)
    fit = stand_in.StandIn(Q, PROBABILITIES, PRIOR, scored)
    likelihood = np.exp(stand_in.log_likelihoods(scored, fit.success))
    fit.source.weights = likelihood @ PRIOR
    return fit, likelihood


@pytest.mark.shared
@pytest.mark.parametrize(("folder", "name"), CASES)
def test_gdina_ca(shared, folder, name):
    fit = stand_in.gdina_fit(shared, folder, name)
    expected = fit.reference["CA"]
    found = classification_accuracy(fit, "map")
    assert found.accuracy == pytest.approx(expected["tau"], rel=1e-10)
    assert found.consistency == pytest.approx(expected["gamma"], rel=1e-10)
    np.testing.assert_allclose(found.attributes["accuracy"], expected["tau_k"], rtol=1e-10)
    np.testing.assert_allclose(found.attributes["consistency"], expected["gamma_k"], rtol=1e-10)
    np.testing.assert_allclose(found.profiles["accuracy"], list(expected["tau_l"].values()), rtol=1e-10, atol=1e-12)
    assert list(found.profiles.index) == list(expected["tau_l"])
    eap = classification_accuracy(fit, "eap")
    np.testing.assert_allclose(eap.attributes["accuracy"], fit.reference["CA_EAP"]["tau_k"], rtol=1e-10)
    assert eap.accuracy <= found.accuracy
    mastered = fit.persons[[f"MAP_{label}" for label in fit.attribute_labels]].to_numpy()
    counts = np.bincount(profile_index(mastered, fit.alpha), minlength=len(fit.alpha))
    np.testing.assert_allclose(found.profiles["assigned"], counts, atol=1e-9)


def test_indices_by_enumeration():
    """With all responses in their proportions, the estimates are the probabilities themselves."""
    fit, likelihood = every_response()
    found = classification_accuracy(fit, "map")
    joint = likelihood * PRIOR  # P(response, profile)
    best = joint.argmax(axis=1)
    given_true = np.array([[likelihood[best == there, here].sum() for there in range(4)] for here in range(4)])
    np.testing.assert_allclose(found.matrix, given_true, **CLOSED)
    assert found.accuracy == pytest.approx(PRIOR @ np.diag(given_true), rel=1e-12)
    assert found.consistency_parallel == pytest.approx(PRIOR @ (given_true**2).sum(axis=1), rel=1e-12)
    np.testing.assert_allclose(found.profiles["accuracy"], np.diag(given_true), **CLOSED)
    np.testing.assert_allclose(found.profiles["expected"], PRIOR, **CLOSED)
    alpha = all_profiles(2)
    for k in range(2):
        says = alpha[best, k]
        right = sum(joint[says == alpha[here, k], here].sum() for here in range(4))
        assert found.attributes["accuracy"].iloc[k] == pytest.approx(right, rel=1e-12)
        yes = np.array([likelihood[says == 1, here].sum() for here in range(4)])
        assert found.attributes["consistency_parallel"].iloc[k] == pytest.approx(PRIOR @ (yes**2 + (1 - yes) ** 2), rel=1e-12)
    assert list(found.attributes["n_items"]) == [2, 2]


def test_no_rule_is_more_accurate_than_map():
    fit, _ = every_response()
    best = classification_accuracy(fit, "map")
    for method in ("eap", "ml"):
        other = classification_accuracy(fit, method)
        assert other.accuracy <= best.accuracy + 1e-12
        assert other.consistency == pytest.approx(best.consistency)
    marginal = classification_accuracy(fit, "eap").attributes["accuracy"]
    assert (marginal >= best.attributes["accuracy"] - 1e-12).all()


def test_ml_assigns_by_likelihood():
    fit, likelihood = every_response()
    weights = fit.source.weights
    posterior = likelihood * PRIOR / weights[:, None]
    expected = weights @ posterior[np.arange(8), likelihood.argmax(axis=1)]
    assert classification_accuracy(fit, "ml").accuracy == pytest.approx(expected, rel=1e-12)


def test_certain_posteriors():
    posterior = np.eye(4)[[0, 1, 2, 3, 3]]
    found = accuracy_of(posterior, all_profiles(2), all_profiles(2)[[0, 1, 2, 3, 3]])
    assert found.accuracy == found.consistency == found.consistency_parallel == 1.0
    np.testing.assert_array_equal(found.attribute_accuracy, [1.0, 1.0])
    np.testing.assert_array_equal(found.profile_assigned, [1, 1, 1, 2])


def test_weights_are_repeated_rows():
    rng = np.random.default_rng(1)
    posterior = rng.dirichlet(np.ones(4), 30)
    mastered = ((posterior @ all_profiles(2)) > 0.5).astype(np.int8)
    weights = rng.integers(1, 4, 30)
    one = accuracy_of(posterior, all_profiles(2), mastered, weights.astype(float))
    other = accuracy_of(np.repeat(posterior, weights, axis=0), all_profiles(2), np.repeat(mastered, weights, axis=0))
    for name in vars(one):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), **CLOSED)


def test_only_the_fitted_are_counted():
    fit, _ = every_response()
    fit.source.fitted[4:] = False
    found = classification_accuracy(fit)
    weights, posterior = fit.source.weights[:4], fit.posterior()[:4]
    assert found.accuracy == pytest.approx(np.average(posterior.max(axis=1), weights=weights), rel=1e-12)
    assert found.n == pytest.approx(weights.sum())


def test_respondents_without_a_response_are_not_counted():
    """They were not fitted, and their posterior, the prior, would make classification look worse than it is."""
    fit, _ = every_response()
    found = classification_accuracy(fit)
    scored = np.vstack([fit.source.scored, np.full((5, 3), -1, dtype=np.int8)])
    padded = stand_in.StandIn(Q, PROBABILITIES, PRIOR, scored, weights=np.append(fit.source.weights, np.ones(5)))
    other = classification_accuracy(padded)
    assert other.n == pytest.approx(1.0)
    assert other.accuracy == pytest.approx(found.accuracy, rel=1e-12)


def test_profiles_that_nobody_has_say_so():
    fit, _ = every_response()
    posterior = fit.posterior() * [1, 1, 1e-6, 0]
    fit.given_posterior = posterior / posterior.sum(axis=1, keepdims=True)
    found = classification_accuracy(fit, "map")
    assert found.profiles.loc["11", "reason"] == "no respondent is expected to have this profile"
    assert np.isnan(found.profiles.loc["11", "accuracy"])
    assert "expected respondents" in found.profiles.loc["01", "reason"]
    assert np.isfinite([found.accuracy, found.consistency, found.consistency_parallel]).all()


def test_an_eap_profile_that_is_none_of_the_profiles_is_wrong_and_has_no_repetition():
    """Of profiles with two attributes each, a respondent split three ways is given all three attributes by EAP."""
    fit, _ = every_response()
    fit.alpha = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1]], dtype=np.int8)
    fit.profile_labels, fit.attribute_labels = ["110", "101", "011"], ["A1", "A2", "A3"]
    fit.q_matrix.values = np.eye(3, dtype=np.int8)
    fit.given_posterior = np.array([[0.9, 0.1, 0.0], [0.4, 0.35, 0.25]] * 4)
    fit.source.weights = None
    found = classification_accuracy(fit, "eap")
    assert found.accuracy == pytest.approx(0.45)
    assert np.isnan(found.consistency_parallel)
    assert found.reasons["consistency_parallel"].startswith("4 of 8 respondents have an eap profile that the structure does not")
    assert (found.profiles["reason"] == found.reasons["consistency_parallel"]).sum() >= 1
    np.testing.assert_allclose(found.attributes["accuracy"], [(1.0 + 0.75) / 2, (0.9 + 0.65) / 2, (0.9 + 0.6) / 2], **CLOSED)
    assert not classification_accuracy(fit, "map").reasons


def test_method_is_checked():
    fit, _ = every_response()
    with pytest.raises(DataError, match="method has to be one of"):
        classification_accuracy(fit, "mode")
    fit.source.fitted[:] = False
    with pytest.raises(DataError, match="no respondent"):
        classification_accuracy(fit)
