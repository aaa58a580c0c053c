"""The E-step against a likelihood written out cell by cell."""

from __future__ import annotations

import numpy as np
import pytest
from cdm_designs import Q3, brute_force, holes, simulate

from psychoedu.cdm.likelihood import class_chunks, class_expectation
from psychoedu.cdm.persons import class_posterior
from psychoedu.irt.blocks import arrange

CLOSED_FORM = 1e-11
RNG = np.random.default_rng(3)
SUCCESS = RNG.uniform(0.05, 0.95, (10, 8))
PRIORS = RNG.dirichlet(np.ones(8), 2)


def cases():
    complete, _ = simulate(70, Q3, seed=1)
    ragged = holes(complete, 0.3)
    ragged[0, 1:] = -1
    forms = complete.copy()
    forms[:35, :4] = -1
    forms[35:, 6:] = -1
    weights = np.random.default_rng(2).integers(1, 5, 70).astype(float)
    groups = np.arange(70) % 2
    return {
        "complete": (complete, None, None),
        "weights": (complete, weights, None),
        "ragged": (ragged, weights, None),
        "two forms": (forms, None, None),
        "groups": (complete, None, groups),
        "groups, ragged, weights": (ragged, weights, groups),
        "groups, forms": (forms, weights, groups),
        "equal rows": (np.repeat(complete[:5], 14, axis=0), None, groups),
    }


@pytest.mark.parametrize("name", cases())
def test_expectation_equals_brute_force(name):
    scored, weights, groups = cases()[name]
    priors = PRIORS[: 1 if groups is None else 2]
    expected = brute_force(scored, SUCCESS, priors, groups, weights)
    found = class_expectation(arrange(scored, weights, groups), SUCCESS, np.log(priors))
    assert found.log_likelihood == pytest.approx(expected["log_likelihood"], rel=CLOSED_FORM)
    np.testing.assert_allclose(found.right, expected["right"], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.answered, expected["answered"], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.class_counts, expected["counts"], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("chunk_cells", [1, 131, 10**6])
def test_chunks_give_the_same_posteriors(chunk_cells):
    scored, _, _ = cases()["ragged"]
    data = arrange(scored)
    total = sum(float(chunk.log_marginal @ chunk.block.weights[chunk.rows]) for chunk in class_chunks(
        data, SUCCESS, np.log(PRIORS[:1]), chunk_cells
    ))  # fmt: skip
    assert total == pytest.approx(brute_force(scored, SUCCESS, PRIORS[:1])["log_likelihood"], rel=CLOSED_FORM)


def test_a_class_that_does_not_exist_gets_nothing():
    scored, _, _ = cases()["complete"]
    prior = PRIORS[:1].copy()
    prior[0, 2] = 0.0
    prior /= prior.sum()
    with np.errstate(divide="ignore"):
        found = class_expectation(arrange(scored), SUCCESS, np.log(prior))
    expected = brute_force(scored, SUCCESS, prior)
    assert found.class_counts[0, 2] == 0.0
    assert found.log_likelihood == pytest.approx(expected["log_likelihood"], rel=CLOSED_FORM)


def test_a_thousand_items_do_not_underflow():
    rng = np.random.default_rng(5)
    success = rng.uniform(0.01, 0.99, (1500, 4))
    scored = (rng.random((6, 1500)) < 0.5).astype(np.int8)
    found = class_expectation(arrange(scored), success, np.full((1, 4), -np.log(4)))
    by_class = np.where(scored[:, :, None] == 1, np.log(success), np.log(1 - success)).sum(axis=1)
    assert np.exp(by_class).max() == 0.0  # what a product of probabilities would give
    expected = np.log(np.exp(by_class - by_class.max(axis=1, keepdims=True)).mean(axis=1)) + by_class.max(axis=1)
    assert found.log_likelihood == pytest.approx(expected.sum(), rel=CLOSED_FORM)


def test_persons_posterior_equals_brute_force_and_an_empty_row_has_the_prior():
    scored, _, groups = cases()["groups, ragged, weights"]
    scored = np.vstack([scored, np.full((1, 10), -1, dtype=np.int8)])
    groups = np.append(groups, 1)
    posterior, _, marginal = class_posterior(scored, SUCCESS, np.log(PRIORS), groups, slice(None))
    expected = brute_force(scored, SUCCESS, PRIORS, groups)
    np.testing.assert_allclose(posterior, expected["posterior"], rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(posterior[-1], PRIORS[1], rtol=1e-12)
    assert marginal[-1] == pytest.approx(0.0, abs=1e-12)
