"""Simulated attribute designs, and cognitive diagnosis written out cell by cell, that several tests share."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from psychoedu.cdm.em import Parameters, Problem
from psychoedu.cdm.fitting import CdmFit, CdmSettings, fit_cdm, populations_for
from psychoedu.cdm.models import item_structure
from psychoedu.cdm.profiles import all_profiles
from psychoedu.irt.blocks import arrange

MODELS = ("G-DINA", "DINA", "DINO", "ACDM", "RRUM", "LLM")
STRUCTURES = ("higher-order", "saturated", "independent")
Q3 = np.array(
    [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1], [1, 0, 1], [1, 1, 1]], dtype=np.int8
)
"""Ten items, three attributes: each alone twice, each pair, all three."""


def simulate(n: int, q: Any, guessing: Any = 0.15, slip: Any = 0.15, seed: int = 0, rule: str = "all", prior: Any = None) -> Any:
    """Draw responses and true profiles; P rises from guessing to 1 - slip by the rule "all", "any" or "share" of mastery."""
    rng = np.random.default_rng(seed)
    q = np.asarray(q)
    alpha = np.array(list(product([0, 1], repeat=q.shape[1])))
    true = alpha[rng.choice(len(alpha), n, p=prior)]
    share = (true[:, None, :] * q).sum(axis=2) / q.sum(axis=1)
    level = {"all": share == 1, "any": share > 0, "share": share}[rule]
    success = guessing + (1.0 - np.asarray(slip) - guessing) * level
    return (rng.random(success.shape) < success).astype(np.int8), true


def holes(scored: Any, share: float, seed: int = 9) -> Any:
    """Return the same with a share of the cells missing (-1)."""
    return np.where(np.random.default_rng(seed).random(scored.shape) < share, -1, scored).astype(np.int8)


def frame(scored: Any) -> Any:
    """Return scores with nan for what is missing, as users have them."""
    return np.where(np.asarray(scored) < 0, np.nan, scored)


def brute_force(scored: Any, success: Any, priors: Any, groups: Any = None, weights: Any = None) -> dict[str, Any]:
    """One E-step, one cell after the other: log-likelihood, expected counts and posteriors."""
    n, n_items = scored.shape
    n_classes = success.shape[1]
    groups = np.zeros(n, dtype=int) if groups is None else groups
    weights = np.ones(n) if weights is None else weights
    right, answered = np.zeros((n_items, n_classes)), np.zeros((n_items, n_classes))
    counts = np.zeros((len(priors), n_classes))
    log_likelihood, posteriors = 0.0, []
    for row, g, w in zip(scored, groups, weights, strict=True):
        density = [float(p) for p in priors[g]]
        for c in range(n_classes):
            for j in range(n_items):
                if row[j] == 1:
                    density[c] *= success[j, c]
                elif row[j] == 0:
                    density[c] *= 1.0 - success[j, c]
        total = sum(density)
        log_likelihood += w * np.log(total)
        posterior = np.array(density) / total
        posteriors.append(posterior)
        counts[g] += w * posterior
        for j in range(n_items):
            if row[j] >= 0:
                answered[j] += w * posterior
                right[j] += w * posterior * (row[j] == 1)
    return {
        "log_likelihood": log_likelihood,
        "right": right,
        "answered": answered,
        "counts": counts,
        "posterior": np.array(posteriors),
    }


def textbook_em(scored: Any, q: Any, partition: Any, cells: Any, prior: Any, n_iterations: int) -> Any:
    """Plain EM of a saturated structure with G-DINA, DINA or DINO items, in the plainest form; bounds as R GDINA's.

    ``partition[j]`` gives the parameter of every class; ``cells[j]`` the parameters.
    """
    observed, right = scored >= 0, scored == 1
    for _ in range(n_iterations):
        success = np.array([own[index] for own, index in zip(cells, partition, strict=True)])
        logs = right @ np.log(success) + (observed & ~right) @ np.log(1.0 - success) + np.log(prior)
        highest = logs.max(axis=1, keepdims=True)
        posterior = np.exp(logs - highest)
        total = posterior.sum(axis=1, keepdims=True)
        posterior /= total
        prior = np.maximum(posterior.mean(axis=0), 1e-300)
        new = []
        for j, index in enumerate(partition):
            n = np.bincount(index, weights=posterior[observed[:, j]].sum(axis=0), minlength=len(cells[j]))
            r = np.bincount(index, weights=posterior[right[:, j]].sum(axis=0), minlength=len(cells[j]))
            new.append(np.clip(r / n, 1e-4, 1.0 - 1e-4))
        cells = new
    return cells, prior, float((highest[:, 0] + np.log(total[:, 0])).sum())


def problem(
    scored: Any,
    q: Any,
    models: Any = "G-DINA",
    structure: str = "saturated",
    weights: Any = None,
    groups: Any = None,
    higher_order: str = "2pl",
    group_structure: str = "separate",
    n_points: int = 25,
    **options: Any,
) -> Problem:
    """Return what ``fit_cdm`` maximises."""
    q = np.asarray(q, dtype=np.int8)
    alpha = all_profiles(q.shape[1])
    names = (models,) * len(q) if isinstance(models, str) else tuple(models)
    settings = CdmSettings(names, structure, higher_order, group_structure, n_points, **options)
    data = arrange(np.asarray(scored, dtype=np.int8), weights, groups)
    return Problem(data, item_structure(q, names, alpha), populations_for(settings, alpha, data.n_groups), settings.bounds)


def some_point(p: Problem, seed: int = 0) -> Parameters:
    """Return parameters well inside the bounds and away from any maximum."""
    from psychoedu.cdm.starts import random_start

    rng = np.random.default_rng(seed)
    start = random_start(p, rng)
    structural = p.populations.clip(start.structural + rng.normal(0.0, 0.4, start.structural.size))
    return Parameters(start.items, structural)


def fit(scored: Any, q: Any, models: Any = "G-DINA", structure: str = "saturated", n_starts: int = 1, **options: Any) -> CdmFit:
    """Fit on plain arrays, without standard errors."""
    q = np.asarray(q, dtype=np.int8)
    names = (models,) * len(q) if isinstance(models, str) else tuple(models)
    options = {"n_points": 25, "standard_errors": None} | options
    settings = CdmSettings(names, structure, n_starts=n_starts, **options)
    return fit_cdm(arrange(np.asarray(scored, dtype=np.int8)), q, all_profiles(q.shape[1]), settings, np.random.default_rng(1))


def random_design(n_items: int, n_attributes: int, seed: int, most: int = 3) -> Any:
    """Return a Q-matrix in which every attribute stands alone twice, the other items taking up to ``most`` attributes."""
    rng = np.random.default_rng(seed)
    q = np.zeros((n_items, n_attributes), dtype=np.int8)
    for j in range(n_items):
        alone = [j % n_attributes]
        q[j, alone if j < 2 * n_attributes else rng.permutation(n_attributes)[: 1 + rng.integers(0, most)]] = 1
    return q
