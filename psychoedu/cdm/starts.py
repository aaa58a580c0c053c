"""Starting values: guessing and slip for every item, in between by the share of attributes, so that mastery always helps."""

from __future__ import annotations

import numpy as np

from psychoedu._typing import FloatArray
from psychoedu.cdm.em import Parameters, Problem
from psychoedu.cdm.models import link
from psychoedu.cdm.profiles import all_profiles

FIRST_GUESSING, FIRST_SLIP = 0.2, 0.2
LOW, HIGH = 0.05, 0.25
"""Guessing and slip of the random starts are uniform on this range."""


def first_start(problem: Problem) -> Parameters:
    """Return the start without chance: guessing and slip of .2, equal effects."""
    n_items = problem.items.cell_of.shape[0]
    cells = _cells(problem, np.full(n_items, FIRST_GUESSING), np.full(n_items, FIRST_SLIP), None)
    return from_cells(problem, cells, problem.populations.start())


def random_start(problem: Problem, rng: np.random.Generator) -> Parameters:
    """Return a start with random guessing, slip and relative effects of the attributes, increasing in each of them."""
    n_items = problem.items.cell_of.shape[0]
    guessing, slip = rng.uniform(LOW, HIGH, (2, n_items))
    cells = _cells(problem, guessing, slip, rng)
    return from_cells(problem, cells, problem.populations.start())


def _cells(problem: Problem, guessing: FloatArray, slip: FloatArray, rng: np.random.Generator | None) -> FloatArray:
    cells = np.empty(problem.items.n_cells)
    for kind in problem.items.kinds:
        patterns = all_profiles(kind.n_attributes).astype(np.float64)
        for item, own in zip(kind.items, kind.cells, strict=True):
            share = np.full(kind.n_attributes, 1.0) if rng is None else rng.dirichlet(np.full(kind.n_attributes, 2.0)) + 0.05
            mastered = patterns @ share / share.sum()
            cells[own] = guessing[item] + (1.0 - slip[item] - guessing[item]) * mastered
    return cells


def from_cells(problem: Problem, cells: FloatArray, structural: FloatArray) -> Parameters:
    """Return the parameters of the problem's models that are nearest to cells' probabilities, within the bounds.

    Parameters
    ----------
    problem : Problem
    cells : (C,) array
        Success probabilities of every item's reduced patterns.
    structural : array
        Parameters of the populations.
    """
    low, high = problem.bounds
    items = np.empty(problem.items.n_parameters)
    for kind in problem.items.kinds:
        p = np.clip(cells[kind.cells], low, high)
        if not kind.link:
            items[kind.parameters] = (p @ kind.design) / kind.design.sum(axis=0)
            continue
        edges = link(kind.link, np.array([low, high]))
        inside = np.clip(link(kind.link, p), edges[0], edges[1])
        effects = inside @ np.linalg.pinv(kind.design).T
        fitted = effects @ kind.design.T
        middle = (edges[0] + edges[1]) / 2.0 if kind.link != "log" else float(link("log", np.array(0.5)))
        # draw towards a constant until every pattern is well inside
        margin = 1e-3 * (edges[1] - edges[0]) if kind.link != "log" else 1e-3
        worst = np.maximum(fitted - middle, 0.0).max(axis=1) / (edges[1] - margin - middle)
        worst = np.maximum(worst, np.maximum(middle - fitted, 0.0).max(axis=1) / (middle - edges[0] - margin))
        shrink = 1.0 / np.maximum(worst, 1.0)
        effects = effects * shrink[:, None]
        effects[:, 0] += (1.0 - shrink) * middle
        items[kind.parameters] = effects
    return Parameters(items, problem.populations.clip(structural))
