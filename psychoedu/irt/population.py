"""The ability distribution of each group at the quadrature nodes, with its derivatives.

Group g is N(mu_g, sigma_g), its weights normalised to sum 1 over the nodes. With z = (t - mu) / sigma the derivatives of the
unnormalised log density are z / sigma with respect to mu and z^2 - 1 with respect to log sigma; subtracting their mean under the
weights accounts for the normaliser, which mirt's M-step leaves out (so that its multiple-group fit is not quite the maximum of
its own likelihood once a tail is cut off).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psychoedu._typing import FloatArray
from psychoedu.irt.quadrature import normal_log_weights


@dataclass(frozen=True, slots=True)
class Populations:
    """Log weights (G, Q) and the centred score functions of (mu, log sigma), (G, 2, Q)."""

    log_weights: FloatArray
    scores: FloatArray

    @classmethod
    def at(cls, nodes: FloatArray, mean: FloatArray, log_sd: FloatArray) -> Populations:
        """Evaluate the groups' populations at the nodes."""
        sd = np.exp(log_sd)
        log_weights = np.array([normal_log_weights(nodes, m, s) for m, s in zip(mean, sd, strict=True)])
        z = (nodes - mean[:, None]) / sd[:, None]
        scores = np.stack([z / sd[:, None], z**2 - 1.0], axis=1)
        scores -= (scores * np.exp(log_weights)[:, None, :]).sum(axis=2, keepdims=True)
        return cls(log_weights, scores)

    def gradient(self, group_counts: FloatArray) -> FloatArray:
        """Return the derivative of the log-likelihood by (mu_1..mu_G, log sigma_1..log sigma_G), (2G,)."""
        by_group = (self.scores * group_counts[:, None, :]).sum(axis=2)
        return np.concatenate([by_group[:, 0], by_group[:, 1]])

    def complete_information(self, group: int, group_weight: float) -> FloatArray:
        """Complete-data information of (mu, log sigma) of one group, (2, 2)."""
        scores = self.scores[group]
        information: FloatArray = group_weight * (scores * np.exp(self.log_weights[group])) @ scores.T
        return information
