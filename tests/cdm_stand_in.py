"""Stand-ins for a Diagnosis, built from R GDINA's stored fits or from parameters: what fit and selection read of one."""

from __future__ import annotations

import json
from functools import cached_property
from types import SimpleNamespace

import numpy as np
import pandas as pd
from scipy.special import expit

from psychoedu.cdm.profiles import all_profiles, profile_labels, reduced_index


def additive(n_attributes):
    return np.column_stack([np.ones(2**n_attributes), all_profiles(n_attributes)])


DESIGNS = {
    "G-DINA": lambda k: np.eye(2**k),
    "DINA": lambda k: np.column_stack([np.arange(2**k) < 2**k - 1, np.arange(2**k) == 2**k - 1]).astype(float),
    "DINO": lambda k: np.column_stack([np.arange(2**k) == 0, np.arange(2**k) > 0]).astype(float),
    "ACDM": additive,
}


class StandIn:
    """Answers what a Diagnosis answers, from plain arrays."""

    def __init__(self, q, probabilities, prior, scored, *, prior_jacobian=None, models=None, posterior=None, weights=None):
        self.q = np.asarray(q, dtype=np.int8)
        self.alpha = all_profiles(self.q.shape[1])
        self.probabilities = [np.asarray(own, dtype=float) for own in probabilities]
        self.item_groups = [reduced_index(row, self.alpha) for row in self.q]
        self.success = np.array([own[group] for own, group in zip(self.probabilities, self.item_groups, strict=True)])
        self.prior = np.asarray(prior, dtype=float)
        self.item_models = tuple(models or ["G-DINA"] * len(self.q))
        self.item_labels = pd.Index([f"I{j + 1:02d}" for j in range(len(self.q))])
        self.attribute_labels = pd.Index([f"A{k + 1}" for k in range(self.q.shape[1])])
        frame = pd.DataFrame(self.q, index=self.item_labels, columns=self.attribute_labels)
        self.q_matrix = SimpleNamespace(frame=frame, values=self.q)
        self.profile_labels = profile_labels(self.alpha)
        self.prior_jacobian = simplex(len(self.alpha)) if prior_jacobian is None else prior_jacobian
        scored = np.asarray(scored, dtype=np.int8)
        fitted = np.ones(len(scored), dtype=bool)
        self.source = SimpleNamespace(scored=scored, fitted=fitted, weights=weights, population=np.zeros(len(scored), dtype=int))
        self.given_posterior = posterior
        self.covariance = None
        self.group_labels, self.group_means, self.group_sds = ("all",), np.zeros(1), np.ones(1)
        self.n_parameters = sum(jacobian.shape[1] for jacobian in self.jacobians()[0]) + self.prior_jacobian.shape[1]
        self.log_likelihood = np.nan

    def require_source(self, what):
        return self.source

    def jacobians(self):
        sizes = self.q.sum(axis=1)
        designs = [DESIGNS[model](int(size)) for model, size in zip(self.item_models, sizes, strict=True)]
        return [design[group] for design, group in zip(designs, self.item_groups, strict=True)], self.prior_jacobian

    def posterior(self, fitted_only=False):
        if self.given_posterior is not None:
            return self.given_posterior
        log = np.log(np.maximum(self.prior, 1e-300)) + log_likelihoods(self.source.scored, self.success)
        height = np.exp(log - log.max(axis=1, keepdims=True))
        return height / height.sum(axis=1, keepdims=True)

    @property
    def mastery(self):
        return pd.DataFrame(self.posterior() @ self.alpha, columns=self.attribute_labels)

    def classification(self, method):
        likelihood = log_likelihoods(self.source.scored, self.success)
        assert method == "ml"
        return pd.DataFrame(self.alpha[likelihood.argmax(axis=1)], columns=self.attribute_labels)

    @cached_property
    def items(self):
        rows = [
            (label, profile, value, error)
            for label, own, size in zip(self.item_labels, self.probabilities, self.q.sum(axis=1), strict=True)
            for profile, value, error in zip(
                profile_labels(all_profiles(int(size))), own, np.sqrt(own * (1 - own) / 200), strict=True
            )
        ]
        return pd.DataFrame(rows, columns=["item", "profile", "probability", "se"])


def log_likelihoods(scored, success):
    right, wrong = (scored == 1).astype(float), (scored == 0).astype(float)
    return right @ np.log(success) + wrong @ np.log1p(-success)


def simplex(size):
    """Derivative of probabilities that sum to 1 in all but the last."""
    return np.vstack([np.eye(size - 1), -np.ones(size - 1)])


def higher_order(slope, intercept, alpha, n_points=25):
    """Profile probabilities and their derivatives in slopes and intercepts, on equispaced nodes from -6 to 6."""
    theta = np.linspace(-6.0, 6.0, n_points)
    weight = np.exp(-0.5 * theta**2)
    weight /= weight.sum()
    p = expit(np.multiply.outer(theta, slope) + intercept)
    likelihood = np.where(alpha == 1, p[:, None, :], 1 - p[:, None, :]).prod(axis=2)
    residual = (alpha[None] - p[:, None, :]) * (likelihood * weight[:, None])[:, :, None]
    return weight @ likelihood, np.concatenate([(residual * theta[:, None, None]).sum(axis=0), residual.sum(axis=0)], axis=1)


def read_json(shared, folder, name):
    return json.loads((shared / "reference" / folder / f"{name}.json").read_text(encoding="utf-8"))


def gdina_fit(shared, folder, name):
    """Return a stand-in from a stored GDINA fit (complete data), with its JSON as ``reference``."""
    place = shared / "reference" / folder
    reference = read_json(shared, folder, name)
    q = pd.read_csv(place / "q.csv", index_col=0).to_numpy(dtype=np.int8)
    scored = pd.read_csv(place / "responses.csv").to_numpy(dtype=np.int8)
    persons = pd.read_csv(place / f"{name}_persons.csv")
    posterior = persons[[f"post_{label}" for label in reference["attribute_patterns"]]].to_numpy()
    probabilities = [np.array(list(own.values())) for own in reference["catprob"].values()]
    model = {"gdina": "G-DINA", "dina": "DINA", "dino": "DINO", "acdm": "ACDM"}[name.split("_")[0]]
    jacobian, prior = None, np.array(reference["structural_prior"])
    if "higher_order" in reference:
        curve = reference["higher_order"]
        prior, jacobian = higher_order(np.array(curve["slope"]), np.array(curve["intercept"]), all_profiles(q.shape[1]))
        np.testing.assert_allclose(prior, reference["structural_prior"], rtol=1e-10)
    fit = StandIn(q, probabilities, prior, scored, prior_jacobian=jacobian, models=[model] * len(q), posterior=posterior)
    assert fit.profile_labels == reference["attribute_patterns"]
    assert fit.n_parameters == reference["npar"]
    fit.reference, fit.persons, fit.log_likelihood = reference, persons, reference["logLik"]
    return fit


def cross_product_covariance(fit):
    """Inverse cross-products of the scores of all items' probabilities (profile probabilities known): GDINA's SE.type 2."""
    posterior, scored = fit.posterior(), fit.source.scored
    scores = []
    for j, (own, group) in enumerate(zip(fit.probabilities, fit.item_groups, strict=True)):
        for pattern, p in enumerate(own):
            of_pattern = posterior[:, group == pattern].sum(axis=1)
            scores.append(of_pattern * np.where(scored[:, j] == 1, 1 / p, np.where(scored[:, j] == 0, -1 / (1 - p), 0.0)))
    scores = np.array(scores)
    return np.linalg.pinv(scores @ scores.T, hermitian=True)


def simulated(q, probabilities, prior, n_respondents, seed, missing=0.0):
    """Draw responses; returns the stand-in with the true parameters, and the true profile of each respondent."""
    rng = np.random.default_rng(seed)
    fit = StandIn(q, probabilities, prior, np.zeros((1, len(q))))
    true = rng.choice(len(fit.alpha), size=n_respondents, p=fit.prior)
    scored = (rng.random((n_respondents, len(q))) < fit.success[:, true].T).astype(np.int8)
    scored[rng.random(scored.shape) < missing] = -1
    return StandIn(q, probabilities, prior, scored), true
