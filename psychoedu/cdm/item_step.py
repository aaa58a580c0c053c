"""The M-step of the items: success probabilities that maximise the expected complete-data likelihood within bounds.

Partitions have it in closed form. The additive models are concave in their effects with linear bounds on the link of every
pattern's probability; one or two damped Newton steps on the objective with a logarithmic barrier, for all items of a kind at
once, raise it enough for an EM iteration, and the barrier is too low for the log-likelihood to feel it.
"""

from __future__ import annotations

import numpy as np

from psychoedu._typing import FloatArray
from psychoedu.cdm.models import ItemKind, ItemStructure, inverse_link, link
from psychoedu.cdm.monotone import isotonic

Bounds = tuple[float, float]
DEFAULT_BOUNDS: Bounds = (1e-4, 1.0 - 1e-4)
BARRIER = 1e-7
ENOUGH = 100.0
"""Expected answers to an item from which the barrier is as said; lower in proportion below, as where weights sum to 1."""
NEWTON_STEPS = 2
TO_THE_WALL = 0.995
FEWEST_EXPECTED = 1e-10
"""A cell with fewer expected respondents than this is drawn towards one half: so few that no log-likelihood feels it."""


def item_step(
    structure: ItemStructure,
    parameters: FloatArray,
    right: FloatArray,
    answered: FloatArray,
    bounds: Bounds,
    monotone: bool = False,
) -> FloatArray:
    """Return parameters that raise the expected complete-data log-likelihood.

    Parameters
    ----------
    structure : ItemStructure
    parameters : (p,) array
        Present parameters.
    right, answered : (cells,) arrays
        Expected numbers.
    bounds : (low, high)
        Of every success probability.
    monotone : bool
        Let no probability fall with another attribute mastered.

    Returns
    -------
    (p,) array
    """
    out = np.empty(structure.n_parameters)
    for kind in structure.kinds:
        r, n = right[kind.cells], answered[kind.cells]
        if kind.link:
            out[kind.parameters] = _additive_step(kind, parameters[kind.parameters], r, n, bounds, monotone)
            continue
        r, n = r @ kind.design, n @ kind.design
        small = n < FEWEST_EXPECTED
        probability = (r + 0.5 * FEWEST_EXPECTED * small) / (n + FEWEST_EXPECTED * small)
        if monotone:
            counts = n + FEWEST_EXPECTED * small
            probability = isotonic(probability * counts, counts, kind.order_attributes)
        out[kind.parameters] = np.clip(probability, *bounds)
    return out


def _additive_step(
    kind: ItemKind, effects: FloatArray, right: FloatArray, answered: FloatArray, bounds: Bounds, monotone: bool
) -> FloatArray:
    low, high = (float(link(kind.link, np.array(bound))) for bound in bounds)
    design = kind.design
    present = effects
    value, gradient, curvature = _objective(kind.link, present @ design.T, right, answered, low, high)
    for _ in range(NEWTON_STEPS):
        hessian = np.einsum("rp,mr,rq->mpq", design, curvature, design)
        diagonal = np.arange(design.shape[1])
        hessian[:, diagonal, diagonal] += 1e-9 * (1.0 + hessian[:, diagonal, diagonal])
        step = np.linalg.solve(hessian, (gradient @ design)[..., None])[..., 0]
        eta, change = present @ design.T, step @ design.T
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(change > 0, (high - eta) / change, np.where(change < 0, (low - eta) / change, np.inf))
        length = np.minimum(1.0, TO_THE_WALL * room.min(axis=1))
        if monotone:
            step, length = _rising(present, step, length)
        for _ in range(12):
            trial = present + length[:, None] * step
            new_value, new_gradient, new_curvature = _objective(kind.link, trial @ design.T, right, answered, low, high)
            worse = ~(new_value >= value - 1e-12 * np.abs(value))
            if not worse.any():
                break
            length = np.where(worse, 0.5 * length, length)
        keep = (~worse)[:, None]
        present = np.where(keep, trial, present)
        value = np.where(worse, value, new_value)
        gradient, curvature = np.where(keep, new_gradient, gradient), np.where(keep, new_curvature, curvature)
    return present


def _rising(present: FloatArray, step: FloatArray, length: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Keep the effects of attributes from falling below 0: those at 0 stay, the first to get there ends the step."""
    step = step.copy()
    step[:, 1:][(present[:, 1:] <= 0.0) & (step[:, 1:] < 0.0)] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(step[:, 1:] < 0, -present[:, 1:] / step[:, 1:], np.inf)
    return step, np.minimum(length, room.min(axis=1))


def _objective(
    name: str, eta: FloatArray, right: FloatArray, answered: FloatArray, low: float, high: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Objective of each item (m,), its gradient by eta and minus its second derivative by eta, both (m, patterns)."""
    wrong = answered - right
    p, slope = inverse_link(name, eta)
    below, above = eta - low, high - eta
    q = 1.0 - p
    barrier = BARRIER * np.minimum(1.0, answered.sum(axis=1, keepdims=True) / ENOUGH)
    value = (right * np.log(p) + wrong * np.log(q) + barrier * (np.log(below) + np.log(above))).sum(axis=1)
    gradient = (right / p - wrong / q) * slope + barrier * (1.0 / below - 1.0 / above)
    if name == "logit":
        curvature = answered * slope
    elif name == "log":
        curvature = wrong * p / q**2
    else:
        curvature = right / p**2 + wrong / q**2
    curvature = curvature + barrier * (1.0 / below**2 + 1.0 / above**2)
    return value, gradient, curvature
