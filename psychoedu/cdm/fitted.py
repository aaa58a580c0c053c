"""The arrays of a diagnosis that its fit indices need: the respondents it was fitted to, and the profiles they may have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from psychoedu._typing import BoolArray, CodeArray, FloatArray
from psychoedu.cdm.profiles import ProfileArray

GDINA_NAME = "G-DINA"


@dataclass(frozen=True, eq=False)
class FittedArrays:
    """Respondents that a diagnosis was fitted to, in order.

    Parameters
    ----------
    rows : ndarray of bool, (N,)
        Which of all respondents: fitted, with a response, with a weight above 0.
    scored : int8 array, (n, J)
    posterior : ndarray, (n, L)
    weights : ndarray, (n,), or None
    """

    rows: BoolArray
    scored: CodeArray
    posterior: FloatArray
    weights: FloatArray | None

    @property
    def n(self) -> float:
        """Number of respondents (sum of weights)."""
        return float(len(self.scored) if self.weights is None else self.weights.sum())

    @property
    def mean_posterior(self) -> FloatArray:
        """Mean of the posterior profile probabilities, (L,)."""
        return np.asarray(np.average(self.posterior, axis=0, weights=self.weights), dtype=np.float64)


def fitted_arrays(diagnosis: Any, what: str) -> FittedArrays:
    """Return the respondents that a diagnosis was fitted to; it has to hold its responses, which ``what`` needs."""
    source = diagnosis.require_source(what)
    scored = np.asarray(source.scored, dtype=np.int8)
    rows = np.asarray(source.fitted, dtype=bool) & (scored >= 0).any(axis=1)
    if source.weights is not None:
        rows &= np.asarray(source.weights) > 0
    weights = None if source.weights is None else np.asarray(source.weights, dtype=np.float64)[rows]
    return FittedArrays(rows, scored[rows], np.asarray(diagnosis.posterior(), dtype=np.float64)[rows], weights)


def pooled_prior(diagnosis: Any, fitted: FittedArrays) -> FloatArray:
    """Return the model's profile probabilities, (L,), over groups in the proportions of the fitted respondents."""
    prior = np.asarray(diagnosis.prior, dtype=np.float64)
    if prior.ndim == 1:
        return prior
    group = np.asarray(diagnosis.require_source("profile probabilities").population)[fitted.rows]
    share = np.bincount(group, weights=fitted.weights, minlength=len(prior)).astype(np.float64)
    pooled: FloatArray = share @ prior / share.sum()
    return pooled


def possible_profiles(diagnosis: Any) -> BoolArray:
    """Tell which profiles the structure allows, (L,): a hierarchy gives the others a probability of exactly 0."""
    prior = np.atleast_2d(np.asarray(diagnosis.prior, dtype=np.float64))
    return np.asarray((prior > 0.0).any(axis=0), dtype=bool)


def profiles_of(diagnosis: Any) -> ProfileArray:
    """Return the profiles, (L, K) int8."""
    return np.asarray(diagnosis.alpha, dtype=np.int8)
