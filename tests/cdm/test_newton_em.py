"""Estimation: the trace never falls, and what is called the maximum is one that long plain EM cannot raise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cdm_designs import MODELS, Q3, STRUCTURES, fit, holes, problem, random_design, simulate, some_point

from psychoedu.cdm.em import Parameters, run_em
from psychoedu.cdm.fitting import CdmSettings, _revived, finish, orient
from psychoedu.cdm.newton import newton_finish
from psychoedu.cdm.profiles import all_profiles
from psychoedu.cdm.starts import first_start, from_cells, random_start

ROUNDING = 1e-11
LEFT = 5e-5
"""Log-likelihood that plain EM may still find after a fit with tol=1e-6 has ended: a decrement is an estimate."""
SCORED = holes(simulate(250, Q3, 0.2, 0.15, seed=2, rule="share")[0], 0.15)


def left_to_gain(problem_, solution, iterations=1500):
    plain = run_em(problem_, solution.parameters, 1e-13, iterations, memory=0)
    again = run_em(problem_, plain.parameters, 1e-13, iterations)
    return max(plain.log_likelihood, again.log_likelihood) - solution.log_likelihood


def falls(solution):
    return float(np.diff(solution.trace).min()) < -ROUNDING * abs(solution.log_likelihood)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("model", MODELS)
def test_plain_and_accelerated_em_and_newton_agree(model, structure):
    p = problem(SCORED, Q3, model, structure)
    start = first_start(p)
    plain = run_em(p, start, 1e-12, 4000, memory=0)
    fast = run_em(p, start, 1e-9, 4000)
    newton = newton_finish(p, run_em(p, start, 1e-6, 15), 1e-6)
    assert not falls(plain)
    assert not falls(fast)
    assert not falls(newton)
    for found in (fast, newton):
        assert found.converged
        assert found.log_likelihood > plain.log_likelihood - 1e-4
        assert left_to_gain(p, found) < 1e-4
    assert fast.n_iterations < plain.n_iterations


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("model", ["ACDM", "RRUM", "LLM"])
def test_additive_items_on_their_bounds_do_not_stop_the_fit(model, structure):
    q = random_design(14, 4, 17)
    scored, _ = simulate(300, q, 0.003, 0.05, seed=17)
    found = fit(scored, q, model, structure)
    low, high = found.problem.bounds
    additive = np.concatenate([kind.cells.ravel() for kind in found.problem.items.kinds if kind.link])
    on_bound = (found.cells[additive] < low * 1.02) | (found.cells[additive] > high - 0.02 * low)
    assert on_bound.any()
    assert found.solution.converged
    assert left_to_gain(found.problem, found.solution) < LEFT
    assert not falls(found.solution)


@pytest.mark.parametrize(("model", "seed"), [("ACDM", 68), ("DINO", 10), ("DINA", 60)])
def test_a_flat_ridge_is_not_taken_for_the_maximum(model, seed):
    """Attributes apart from each other: slopes run to their bound, and EM's own estimate of what is left is far too low."""
    scored, _ = simulate(300, Q3, 0.3, 0.3, seed=seed)
    found = fit(scored, Q3, model, "higher-order")
    assert found.solution.converged
    assert left_to_gain(found.problem, found.solution, 4000) < 1e-5


def test_no_class_would_grow_at_the_maximum():
    """The gradient inequality of mixtures (Lindsay, 1995): expected count over N pi is at most 1 for every class."""
    for seed in range(6):
        q = random_design(15, 4, seed)
        scored, _ = simulate(40, q, 0.15, 0.1, seed=seed, rule="share")
        found = fit(scored, q, "LLM", "saturated")
        prior = np.exp(found.log_prior)[0]
        growth = found.solution.expected.class_counts[0] / 40.0 / prior
        assert growth.max() < 1.005


def test_a_class_given_up_too_early_comes_back():
    best = fit(SCORED, Q3, "G-DINA", "saturated")
    settings = CdmSettings(("G-DINA",) * 10, "saturated")
    assert _revived(best.problem, best.solution, 1e-6) is None
    structural = best.solution.parameters.structural.copy()
    structural[6] = -30.0  # all three attributes, a large class, left with 1e-13
    lost = replace(best.solution.parameters, structural=structural)
    expected = best.problem.expect(lost)
    stuck = replace(best.solution, parameters=lost, expected=expected)
    back = _revived(best.problem, stuck, 1e-6)
    assert back is not None
    assert best.problem.expect(back).log_likelihood > expected.log_likelihood + 1.0
    assert finish(best.problem, back, settings).log_likelihood == pytest.approx(best.solution.log_likelihood, abs=1e-4)


def test_identified_or_not_a_fit_ends():
    """One item an attribute: 13 parameters for 7 free proportions, so that the maximum is that of the multinomial."""
    scored, _ = simulate(400, np.eye(3, dtype=int), 0.2, 0.2, seed=1)
    found = fit(scored, np.eye(3, dtype=int), "G-DINA", "saturated")
    _, counts = np.unique(scored, axis=0, return_counts=True)
    multinomial = float((counts * np.log(counts / 400)).sum())
    assert found.solution.converged
    assert found.solution.log_likelihood == pytest.approx(multinomial, abs=1e-4)


def test_stopped_early_says_so():
    p = problem(SCORED, Q3, "G-DINA", "higher-order")
    stopped = run_em(p, some_point(p), 1e-9, 3)
    assert not stopped.converged
    assert stopped.n_iterations == 3
    assert len(stopped.trace) == 4
    assert stopped.remaining > 1e-3
    found = fit(SCORED, Q3, "G-DINA", "higher-order", max_iterations=2)
    assert not found.solution.converged
    assert left_to_gain(found.problem, found.solution) > 1e-3


@pytest.mark.parametrize("weight", [1e-6, 1e6])
def test_the_scale_of_the_weights_does_not_move_the_maximum(weight):
    p, scaled = problem(SCORED, Q3, "RRUM"), problem(SCORED, Q3, "RRUM", weights=np.full(250, weight))
    one = run_em(p, first_start(p), 1e-10, 3000)
    other = run_em(scaled, first_start(scaled), 1e-10 * weight, 3000)
    assert other.log_likelihood / weight == pytest.approx(one.log_likelihood, rel=1e-7)
    assert not falls(other)


def twin(p, parameters, flipped):
    """Reverse attributes in every profile: the same model under other names, worked out class by class."""
    alpha = all_profiles(3)
    turned = alpha ^ np.asarray(flipped, dtype=np.int8)
    order = [int(np.flatnonzero((alpha == row).all(axis=1))[0]) for row in turned]
    success = p.items.success(p.items.cells(parameters.items))[:, order]
    cells = np.empty(p.items.n_cells)
    cells[p.items.cell_of] = success
    structural = p.populations.log_prior(parameters.structural)[0][order]
    return from_cells(p, cells, structural[1:] - structural[0])


@pytest.mark.parametrize("model", ["G-DINA", "ACDM", "RRUM", "LLM"])
@pytest.mark.parametrize("flipped", [(1, 0, 0), (0, 1, 1), (1, 1, 1)])
def test_reversed_attributes_are_turned_back_without_loss(model, flipped):
    p = problem(SCORED, Q3, model, "saturated")
    best = run_em(p, first_start(p), 1e-6, 500).parameters
    settings = CdmSettings((model,) * 10, "saturated")
    reversed_ = twin(p, best, flipped)
    assert p.expect(reversed_).log_likelihood == pytest.approx(p.expect(best).log_likelihood, rel=1e-9)
    back = orient(p, reversed_, all_profiles(3), settings)
    np.testing.assert_allclose(p.items.cells(back.items), p.items.cells(best.items), atol=1e-9)
    np.testing.assert_allclose(p.populations.log_prior(back.structural), p.populations.log_prior(best.structural), atol=1e-7)


def test_a_higher_order_solution_is_turned_as_a_whole():
    p = problem(SCORED, Q3, "G-DINA", "higher-order")
    best = run_em(p, first_start(p), 1e-6, 500).parameters
    saturated = problem(SCORED, Q3, "G-DINA", "saturated")
    logs = p.populations.log_prior(best.structural)[0]
    turned_items = twin(saturated, Parameters(best.items, logs[1:] - logs[0]), (1, 1, 1)).items
    structural = best.structural.copy()
    structural[3:] *= -1.0
    reversed_ = Parameters(turned_items, structural)
    assert p.expect(reversed_).log_likelihood == pytest.approx(p.expect(best).log_likelihood, rel=1e-12)
    back = orient(p, reversed_, all_profiles(3), CdmSettings(("G-DINA",) * 10))
    np.testing.assert_allclose(back.structural, best.structural, rtol=1e-12)
    np.testing.assert_allclose(back.items, best.items, rtol=1e-12)


def test_turning_an_item_on_its_bound_keeps_it_there():
    p = problem(SCORED, Q3, "ACDM", "saturated")
    start = first_start(p)
    items = start.items.copy()
    kind = next(kind for kind in p.items.kinds if kind.link)
    items[kind.parameters[0]] = [1.0001e-4, 0.4, 0.5]
    point = replace(start, items=items)
    expected = p.expect(point).log_likelihood
    reversed_ = Parameters(twin(p, point, (0, 0, 0)).items, point.structural)
    assert p.expect(reversed_).log_likelihood != pytest.approx(expected, rel=1e-9)  # from_cells draws inwards
    turned = orient(
        p, Parameters(_reverse_items(p, items), point.structural), all_profiles(3), CdmSettings(("ACDM",) * 10, "saturated")
    )
    assert p.expect(turned).log_likelihood == pytest.approx(expected, rel=1e-12)


def _reverse_items(p, items):
    """Reverse all attributes: intercept becomes the sum, effects change sign; partitions swap their two values."""
    out = items.copy()
    for kind in p.items.kinds:
        own = items[kind.parameters]
        if kind.link:
            out[kind.parameters] = np.column_stack([own.sum(axis=1), -own[:, 1:]])
        else:
            out[kind.parameters] = own[:, ::-1]
    return out


@pytest.mark.parametrize("model", MODELS)
def test_starts_are_inside_the_bounds_and_increasing(model):
    p = problem(SCORED, random_design(12, 3, 5), model, "higher-order")
    rng = np.random.default_rng(0)
    for start in (first_start(p), random_start(p, rng), random_start(p, rng)):
        success = p.items.success(p.items.cells(start.items))
        assert (success > 1e-4).all()
        assert (success < 1 - 1e-4).all()
        alpha = all_profiles(3)
        for row in alpha:
            above = (alpha >= row).all(axis=1)
            assert (success[:, above] >= success[:, (alpha == row).all(axis=1)] - 1e-12).all()
    assert not np.allclose(random_start(p, rng).items, random_start(p, rng).items)


def test_from_cells_is_exact_where_the_model_holds():
    p = problem(SCORED, Q3, "RRUM", "saturated")
    point = some_point(p)
    back = from_cells(p, p.items.cells(point.items), point.structural)
    np.testing.assert_allclose(back.items, point.items, rtol=1e-9)
