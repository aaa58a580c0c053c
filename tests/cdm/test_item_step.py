"""The items' M-step: closed forms, and the additive models against scipy's constrained optimisers on the same objective."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from psychoedu.cdm.item_step import DEFAULT_BOUNDS, item_step
from psychoedu.cdm.models import additive_design, inverse_link, item_structure, link
from psychoedu.cdm.profiles import all_profiles

LOW, HIGH = DEFAULT_BOUNDS
LINK = {"ACDM": "identity", "RRUM": "log", "LLM": "logit"}
OBJECTIVE = 1e-4
"""What the M-step's barrier may cost, in log-likelihood units of a thousand respondents."""


def structure_of(model, n_attributes, n_items=1):
    return item_structure(np.ones((n_items, n_attributes), dtype=np.int8), (model,) * n_items, all_profiles(n_attributes))


def value(model, effects, right, answered, n_attributes):
    p = inverse_link(LINK[model], additive_design(n_attributes) @ effects)[0]
    return float((right * np.log(p) + (answered - right) * np.log1p(-p)).sum())


def scipy_maximum(model, right, answered, n_attributes):
    """Maximise by trust-constr from a middling point, then by SLSQP from there, within the same bounds."""
    design, name = additive_design(n_attributes), LINK[model]
    low, high = link(name, np.array([LOW, HIGH]))

    def objective(effects):
        eta = design @ effects
        p, slope = inverse_link(name, np.clip(eta, low, high))
        score = (right / p - (answered - right) / (1 - p)) * slope
        return -(right * np.log(p) + (answered - right) * np.log1p(-p)).sum(), -(score @ design)

    start = np.zeros(n_attributes + 1)
    start[0] = link(name, np.array([0.4]))[0]
    bounds = LinearConstraint(design, low, high)
    first = minimize(
        objective, start, jac=True, method="trust-constr", constraints=bounds, options={"gtol": 1e-9, "maxiter": 3000}
    )
    between = {"type": "ineq", "fun": lambda e: np.concatenate([design @ e - low, high - design @ e])}
    best = minimize(objective, first.x, jac=True, method="SLSQP", constraints=between, options={"ftol": 1e-15, "maxiter": 500})
    return max(-first.fun, -best.fun if np.all(between["fun"](best.x) > -1e-9) else -np.inf)


def counts(n_attributes, seed, shape):
    rng = np.random.default_rng(seed)
    patterns = all_profiles(n_attributes)
    share = patterns.mean(axis=1)
    p = {
        "rising": 0.15 + 0.7 * share,
        "steep": np.where(share == 1, 0.97, 0.02),
        "falling": 0.9 - 0.8 * share,
        "interaction": np.where(patterns.sum(axis=1) % 2 == 1, 0.9, 0.05),
    }[shape]
    answered = rng.dirichlet(np.ones(len(patterns))) * 1000
    return answered * p, answered


@pytest.mark.parametrize("shape", ["rising", "steep", "falling", "interaction"])
@pytest.mark.parametrize("n_attributes", [2, 3])
@pytest.mark.parametrize("model", ["ACDM", "RRUM", "LLM"])
@pytest.mark.filterwarnings("ignore:delta_grad == 0.0:UserWarning")
@pytest.mark.filterwarnings("ignore:Singular Jacobian matrix:UserWarning")
@pytest.mark.filterwarnings("ignore:Values in x were outside bounds:RuntimeWarning")
def test_repeated_steps_reach_scipys_maximum(model, n_attributes, shape):
    right, answered = counts(n_attributes, 7, shape)
    structure = structure_of(model, n_attributes)
    effects = np.zeros(n_attributes + 1)
    effects[0] = link(LINK[model], np.array([0.4]))[0]
    values = [value(model, effects, right, answered, n_attributes)]
    for _ in range(60):
        effects = item_step(structure, effects, right, answered, DEFAULT_BOUNDS)
        values.append(value(model, effects, right, answered, n_attributes))
        p = structure.cells(effects)
        assert (p > LOW).all()
        assert (p < HIGH).all()
    assert (np.diff(values) > -1e-5).all()  # each M-step raises the objective, but for its barrier
    best = scipy_maximum(model, right, answered, n_attributes)
    assert values[-1] > best - OBJECTIVE
    assert values[-1] < best + OBJECTIVE


def test_batched_items_equal_items_alone():
    structure, single = structure_of("RRUM", 2, 3), structure_of("RRUM", 2)
    all_counts = [counts(2, seed, "rising") for seed in range(3)]
    start = np.array([np.log(0.3), 0.1, 0.2])
    together = item_step(
        structure, np.tile(start, 3), *(np.concatenate(part) for part in zip(*all_counts, strict=True)), DEFAULT_BOUNDS
    )
    alone = [item_step(single, start, right, answered, DEFAULT_BOUNDS) for right, answered in all_counts]
    np.testing.assert_allclose(together.reshape(3, 3), alone, rtol=1e-12)


@pytest.mark.parametrize(
    ("model", "expected"), [("G-DINA", [0.1, 0.3, 0.5, 0.9]), ("DINA", [0.9 / 3, 0.9]), ("DINO", [0.1, 1.7 / 3])]
)
def test_partitions_are_right_over_answered(model, expected):
    answered = np.full(4, 100.0)
    right = 100.0 * np.array([0.1, 0.3, 0.5, 0.9])
    np.testing.assert_allclose(
        item_step(structure_of(model, 2), np.zeros(2), right, answered, DEFAULT_BOUNDS), expected, rtol=1e-12
    )


def test_bounds_and_empty_cells():
    answered = np.array([100.0, 100.0, 0.0, 1e-14])
    right = np.array([0.0, 100.0, 0.0, 1e-14])
    found = item_step(structure_of("G-DINA", 2), np.zeros(4), right, answered, DEFAULT_BOUNDS)
    np.testing.assert_allclose(found, [LOW, HIGH, 0.5, 0.5], atol=1e-3)
    narrow = item_step(structure_of("G-DINA", 2), np.zeros(4), right, answered, (0.2, 0.7))
    np.testing.assert_allclose(narrow[:2], [0.2, 0.7])


def test_small_weights_are_not_taken_for_empty_cells():
    right, answered = counts(2, 1, "rising")
    large = item_step(structure_of("G-DINA", 2), np.zeros(4), right, answered, DEFAULT_BOUNDS)
    small = item_step(structure_of("G-DINA", 2), np.zeros(4), right * 1e-6, answered * 1e-6, DEFAULT_BOUNDS)
    np.testing.assert_allclose(small, large, rtol=1e-9)
