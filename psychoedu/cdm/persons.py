"""What a fitted model says of each respondent: profile probabilities, mastery, the likeliest profiles, higher-order ability."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psychoedu._typing import BoolArray, CodeArray, FloatArray, IntArray
from psychoedu.cdm.profiles import ProfileArray

CHUNK_CELLS = 1_000_000
TIE = 1e-9
"""Profiles whose log probabilities differ by no more than this are tied."""


@dataclass(frozen=True, eq=False)
class Persons:
    """Results by respondent, in the rows' order.

    Attributes
    ----------
    mastery : (N, K) array
        Posterior probability of each attribute.
    map_profile, ml_profile : (N,) int array
        Position of the profile with the highest posterior, of that with the highest likelihood; the first of tied ones.
    map_probability : (N,) array
        Its posterior probability.
    map_tied, ml_tied : (N,) bool array
    theta, theta_se : (N,) array or None
        Posterior mean and standard deviation of the higher-order ability.
    log_likelihood : (N,) array
    n_answered : (N,) int array
    """

    mastery: FloatArray
    map_profile: IntArray
    map_probability: FloatArray
    map_tied: BoolArray
    ml_profile: IntArray
    ml_tied: BoolArray
    theta: FloatArray | None
    theta_se: FloatArray | None
    log_likelihood: FloatArray
    n_answered: IntArray


def class_posterior(
    scored: CodeArray, success: FloatArray, log_prior: FloatArray, population: IntArray, rows: slice
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return posteriors (B, L), log-likelihoods by class (B, L) and log marginal likelihoods (B,) of some rows."""
    part = scored[rows]
    log_failure = np.log1p(-success)
    likelihood = (part == 1).astype(np.float64) @ (np.log(success) - log_failure)
    likelihood += (part >= 0).astype(np.float64) @ log_failure
    joint = likelihood + log_prior[population[rows]]
    highest = joint.max(axis=1, keepdims=True)
    density = np.exp(joint - highest)
    total = density.sum(axis=1, keepdims=True)
    return density / total, likelihood, (highest + np.log(total))[:, 0]


def score_persons(
    scored: CodeArray,
    success: FloatArray,
    log_prior: FloatArray,
    population: IntArray,
    alpha: ProfileArray,
    ability: tuple[FloatArray, FloatArray] | None = None,
) -> Persons:
    """Score respondents with all parameters held fixed.

    Parameters
    ----------
    scored : (N, J) int8 array
        1, 0, negative for missing.
    success : (J, L) array
    log_prior : (G, L) array
    population : (N,) int array
        Each respondent's group.
    alpha : (L, K) array
    ability : (mean, variance), each (G, L), optional
        Of the higher-order ability given the class.

    Returns
    -------
    Persons
    """
    n_rows, n_classes = scored.shape[0], alpha.shape[0]
    mastery = np.empty((n_rows, alpha.shape[1]))
    map_profile, ml_profile = np.empty(n_rows, dtype=np.int64), np.empty(n_rows, dtype=np.int64)
    map_tied, ml_tied = np.empty(n_rows, dtype=bool), np.empty(n_rows, dtype=bool)
    map_probability, marginal = np.empty(n_rows), np.empty(n_rows)
    theta = np.empty(n_rows) if ability is not None else None
    theta_se = np.empty(n_rows) if ability is not None else None
    step = max(1, CHUNK_CELLS // n_classes)
    for start in range(0, n_rows, step):
        rows = slice(start, start + step)
        posterior, likelihood, marginal[rows] = class_posterior(scored, success, log_prior, population, rows)
        mastery[rows] = posterior @ alpha
        map_profile[rows], map_tied[rows] = _highest(likelihood + log_prior[population[rows]])
        ml_profile[rows], ml_tied[rows] = _highest(likelihood)
        map_probability[rows] = posterior[np.arange(posterior.shape[0]), map_profile[rows]]
        if ability is not None and theta is not None and theta_se is not None:
            mean, variance = (part[population[rows]] for part in ability)
            first = (posterior * mean).sum(axis=1)
            theta[rows] = first
            theta_se[rows] = np.sqrt((posterior * (variance + mean**2)).sum(axis=1) - first**2)
    return Persons(
        np.clip(mastery, 0.0, 1.0),
        map_profile,
        map_probability,
        map_tied,
        ml_profile,
        ml_tied,
        theta,
        theta_se,
        marginal,
        np.asarray((scored >= 0).sum(axis=1), dtype=np.int64),
    )


def _highest(logs: FloatArray) -> tuple[IntArray, BoolArray]:
    """Return the first class within ``TIE`` of the highest, and whether there are others."""
    top = logs >= logs.max(axis=1, keepdims=True) - TIE
    first: IntArray = top.argmax(axis=1)
    return first, np.asarray(top.sum(axis=1) > 1, dtype=bool)
