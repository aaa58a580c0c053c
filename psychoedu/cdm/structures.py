"""Structural models: how likely each attribute profile is in a population, and their M-steps.

A structure answers the same questions whatever it is: how many parameters, where to start, the log class probabilities with their
derivatives, the parameters that raise sum_l n_l log pi_l, and which parameters rest on a bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import expit, log_expit

from psychoedu._typing import BoolArray, FloatArray
from psychoedu.cdm.profiles import ProfileArray
from psychoedu.irt.quadrature import equally_spaced, normal_log_weights

SMALLEST_CLASS = 1e-16
STRUCTURES = ("higher-order", "saturated", "independent")
HIGHER_ORDER = ("2pl", "common-slope", "rasch")


class Structure(Protocol):
    """What the estimation asks of a structural model of one population."""

    @property
    def n_parameters(self) -> int:
        """Number of free parameters."""
        ...

    def start(self) -> FloatArray:
        """Return parameters to start from."""
        ...

    def log_prior(self, parameters: FloatArray) -> FloatArray:
        """Return log class probabilities, (L,)."""
        ...

    def step(self, parameters: FloatArray, class_counts: FloatArray) -> FloatArray:
        """Return parameters that raise sum_l n_l log pi_l."""
        ...

    def scores(self, parameters: FloatArray) -> FloatArray:
        """Return d log pi_l / d parameter, (L, p)."""
        ...

    def information(self, parameters: FloatArray, class_counts: FloatArray) -> FloatArray:
        """Return minus the second derivative of sum_l n_l log pi_l, (p, p)."""
        ...

    def on_bound(self, parameters: FloatArray) -> BoolArray:
        """Return which parameters rest on a bound, (p,)."""
        ...

    def pushed_out(self, parameters: FloatArray, gradient: FloatArray) -> BoolArray:
        """Return which parameters, if they rest on a bound, are pushed against it, (p,)."""
        ...

    def clip(self, parameters: FloatArray) -> FloatArray:
        """Return the nearest parameters within the bounds."""
        ...


@dataclass(frozen=True, slots=True)
class Saturated:
    """Every permitted class has its own probability; parameters are log probabilities relative to the first permitted class."""

    permitted: BoolArray

    @property
    def n_parameters(self) -> int:
        """Number of permitted classes less one."""
        return int(self.permitted.sum()) - 1

    def start(self) -> FloatArray:
        """Return equal probabilities."""
        return np.zeros(self.n_parameters)

    def log_prior(self, parameters: FloatArray) -> FloatArray:
        """Return log class probabilities; -inf where a class is not permitted."""
        logits = np.concatenate([[0.0], parameters])
        highest = logits.max()
        out = np.full(self.permitted.size, -np.inf)
        out[self.permitted] = logits - highest - np.log(np.exp(logits - highest).sum())
        return out

    def step(self, parameters: FloatArray, class_counts: FloatArray) -> FloatArray:
        """Return the log ratios of the expected class counts."""
        share = np.maximum(class_counts[self.permitted] / class_counts.sum(), SMALLEST_CLASS)
        logs = np.log(share)
        return np.asarray(logs[1:] - logs[0])

    def scores(self, parameters: FloatArray) -> FloatArray:
        """Return indicator less probability."""
        probability = np.exp(self.log_prior(parameters))
        own = np.eye(self.permitted.size)[:, np.flatnonzero(self.permitted)[1:]]
        return own - probability[np.flatnonzero(self.permitted)[1:]]

    def information(self, parameters: FloatArray, class_counts: FloatArray) -> FloatArray:
        """Return N (diag(pi) - pi pi') of the classes but the first."""
        probability = np.exp(self.log_prior(parameters))[np.flatnonzero(self.permitted)[1:]]
        return np.asarray(class_counts.sum() * (np.diag(probability) - np.multiply.outer(probability, probability)))

    def on_bound(self, parameters: FloatArray) -> BoolArray:
        """Return classes that are empty."""
        logs = self.log_prior(parameters)[self.permitted]
        return np.asarray(logs[1:] <= np.log(1e-8), dtype=bool)

    def pushed_out(self, parameters: FloatArray, gradient: FloatArray) -> BoolArray:
        """Return all: a class that is empty stays empty."""
        return np.ones(self.n_parameters, dtype=bool)

    def clip(self, parameters: FloatArray) -> FloatArray:
        """Keep the ratios within what SMALLEST_CLASS allows."""
        limit = -np.log(SMALLEST_CLASS)
        return np.clip(parameters, -limit, limit)


@dataclass(frozen=True, slots=True)
class Independent:
    """Attributes are independent; parameters are the logits of their prevalences."""

    alpha: ProfileArray

    @property
    def n_parameters(self) -> int:
        """Number of attributes."""
        return int(self.alpha.shape[1])

    def start(self) -> FloatArray:
        """Return prevalences of one half."""
        return np.zeros(self.n_parameters)

    def log_prior(self, parameters: FloatArray) -> FloatArray:
        """Return log class probabilities."""
        return np.asarray(self.alpha @ parameters + log_expit(-parameters).sum())

    def step(self, parameters: FloatArray, class_counts: FloatArray) -> FloatArray:
        """Return the logits of the expected prevalences."""
        share = np.clip(class_counts @ self.alpha / class_counts.sum(), 1e-12, 1.0 - 1e-12)
        return np.asarray(np.log(share / (1.0 - share)))

    def scores(self, parameters: FloatArray) -> FloatArray:
        """Return alpha less prevalence."""
        return np.asarray(self.alpha - expit(parameters))

    def information(self, parameters: FloatArray, class_counts: FloatArray) -> FloatArray:
        """Return N p (1 - p), diagonal."""
        prevalence = expit(parameters)
        return np.asarray(class_counts.sum() * np.diag(prevalence * (1.0 - prevalence)))

    def on_bound(self, parameters: FloatArray) -> BoolArray:
        """Return attributes that all or none have."""
        return np.asarray(np.abs(parameters) > 18.0, dtype=bool)

    def pushed_out(self, parameters: FloatArray, gradient: FloatArray) -> BoolArray:
        """Return which logits rise away from 0."""
        return np.asarray(parameters * gradient >= 0, dtype=bool)

    def clip(self, parameters: FloatArray) -> FloatArray:
        """Keep the logits finite."""
        return np.clip(parameters, -28.0, 28.0)


@dataclass(frozen=True, slots=True)
class HigherOrder:
    """One ability makes all attributes likelier: P(alpha_k = 1 | theta) = logistic(slope_k theta + intercept_k).

    de la Torre & Douglas (2004, Psychometrika 69, 333-353, equation 8); theta ~ N(0, 1) over equally spaced nodes. Parameters
    are the slopes (K, one, or none) followed by the K intercepts.
    """

    alpha: ProfileArray
    form: str = "2pl"
    n_points: int = 61
    slope_bounds: tuple[float, float] = (0.1, 5.0)
    intercept_bounds: tuple[float, float] = (-4.0, 4.0)

    @property
    def n_attributes(self) -> int:
        """Number of attributes."""
        return int(self.alpha.shape[1])

    @property
    def n_slopes(self) -> int:
        """Number of free slopes."""
        return {"2pl": self.n_attributes, "common-slope": 1, "rasch": 0}[self.form]

    @property
    def n_parameters(self) -> int:
        """Number of free slopes and intercepts."""
        return self.n_slopes + self.n_attributes

    def start(self) -> FloatArray:
        """Return slopes of 1 and intercepts of 0."""
        return np.concatenate([np.ones(self.n_slopes), np.zeros(self.n_attributes)])

    def split(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return slopes and intercepts, each (K,)."""
        slopes = parameters[: self.n_slopes] if self.n_slopes else np.ones(1)
        return np.broadcast_to(slopes, (self.n_attributes,)), parameters[self.n_slopes :]

    def nodes(self) -> tuple[FloatArray, FloatArray]:
        """Return the nodes and their log weights."""
        nodes = equally_spaced(self.n_points)
        return nodes, normal_log_weights(nodes)

    def log_joint(self, parameters: FloatArray) -> FloatArray:
        """Return log P(class, node), (L, Q)."""
        nodes, log_weights = self.nodes()
        slopes, intercepts = self.split(parameters)
        eta = np.multiply.outer(slopes, nodes) + intercepts[:, None]
        return np.asarray(self.alpha @ eta + log_expit(-eta).sum(axis=0) + log_weights)

    def log_prior(self, parameters: FloatArray) -> FloatArray:
        """Return log class probabilities."""
        joint = self.log_joint(parameters)
        highest = joint.max(axis=1)
        return np.asarray(highest + np.log(np.exp(joint - highest[:, None]).sum(axis=1)))

    def node_posterior(self, parameters: FloatArray) -> FloatArray:
        """Return P(node | class), (L, Q)."""
        joint = self.log_joint(parameters)
        density = np.exp(joint - joint.max(axis=1, keepdims=True))
        return np.asarray(density / density.sum(axis=1, keepdims=True))

    def scores(self, parameters: FloatArray) -> FloatArray:
        """Return d log pi_l / d parameter: posterior means over the nodes of (alpha - P) (theta, 1)."""
        nodes, _ = self.nodes()
        slopes, intercepts = self.split(parameters)
        success = expit(np.multiply.outer(slopes, nodes) + intercepts[:, None])
        given = self.node_posterior(parameters)
        by_intercept = self.alpha - given @ success.T
        by_slope = self.alpha * (given @ nodes)[:, None] - given @ (success * nodes).T
        return np.hstack([self.gather(by_slope), by_intercept])

    def step(self, parameters: FloatArray, class_counts: FloatArray) -> FloatArray:
        """Return the parameters after up to three Newton steps on sum_l n_l log pi_l, slopes and intercepts together."""
        present = parameters
        value = self._value(present, class_counts)
        for _ in range(3):
            gradient = class_counts @ self.scores(present)
            information = self._curvature(present, class_counts)
            held = self._held(present, gradient)
            if held.any():
                information[held] = 0.0
                information[:, held] = 0.0
                information[held, held] = 1.0
                gradient = np.where(held, 0.0, gradient)
            step = np.linalg.solve(information, gradient)
            length = min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-12))
            for _ in range(10):
                trial = self.clip(present + length * step)
                new_value = self._value(trial, class_counts)
                if new_value >= value - 1e-12 * abs(value):
                    break
                length *= 0.5
            else:
                break
            gain, present, value = new_value - value, trial, new_value
            if gain < 1e-9:
                break
        return present

    def _value(self, parameters: FloatArray, class_counts: FloatArray) -> float:
        return float(class_counts @ self.log_prior(parameters))

    def complete(self, parameters: FloatArray, at_node: FloatArray) -> FloatArray:
        """Return the complete-data information for expected numbers of respondents at the nodes, (p, p)."""
        nodes, _ = self.nodes()
        slopes, intercepts = self.split(parameters)
        success = expit(np.multiply.outer(slopes, nodes) + intercepts[:, None])
        weight = success * (1.0 - success) * at_node
        k = self.n_attributes
        complete = np.zeros((2 * k, 2 * k))
        diagonal = np.arange(k)
        complete[diagonal, diagonal] = weight @ nodes**2
        complete[diagonal, k + diagonal] = complete[k + diagonal, diagonal] = weight @ nodes
        complete[k + diagonal, k + diagonal] = weight.sum(axis=1)
        return self._reduce(complete)

    def information(self, parameters: FloatArray, class_counts: FloatArray) -> FloatArray:
        """Return minus the second derivative of sum_l n_l log pi_l: complete less sum_l n_l Cov((alpha - P)(theta, 1) | l)."""
        nodes, _ = self.nodes()
        slopes, intercepts = self.split(parameters)
        success = expit(np.multiply.outer(slopes, nodes) + intercepts[:, None])
        at = self.node_posterior(parameters) * class_counts[:, None]
        k, at_node = self.n_attributes, at.sum(axis=0)
        alpha = self.alpha.astype(np.float64)
        having = alpha.T @ at
        both = (alpha[:, :, None] * alpha[:, None, :]).reshape(len(alpha), k * k).T @ at
        crossed = having[:, None, :] * success[None, :, :]
        products = both.reshape(k, k, -1) - crossed - crossed.transpose(1, 0, 2)
        products += success[:, None, :] * success[None, :, :] * at_node
        squares = np.empty((2 * k, 2 * k))
        squares[:k, :k], squares[k:, k:] = products @ nodes**2, products.sum(axis=2)
        squares[:k, k:] = products @ nodes
        squares[k:, :k] = squares[:k, k:].T
        scores = self.scores(parameters)
        return self.complete(parameters, at_node) - self._reduce(squares) + (scores.T * class_counts) @ scores

    def _curvature(self, parameters: FloatArray, class_counts: FloatArray) -> FloatArray:
        """Return the information where it is safely positive definite, else the complete-data information, which always is."""
        complete = self.complete(parameters, class_counts @ self.node_posterior(parameters))
        complete.flat[:: complete.shape[0] + 1] += 1e-8
        observed = self.information(parameters, class_counts)
        try:
            np.linalg.cholesky(observed - 1e-3 * np.diag(np.diag(complete)))
        except np.linalg.LinAlgError:
            return complete
        return observed

    def gather(self, by_slope: FloatArray) -> FloatArray:
        """Turn derivatives by K slopes (axis 1) into those by the free slopes."""
        if self.form == "2pl":
            return by_slope
        return by_slope.sum(axis=1, keepdims=True) if self.form == "common-slope" else by_slope[:, :0]

    def _reduce(self, full: FloatArray) -> FloatArray:
        k, s = self.n_attributes, self.n_slopes
        spread = np.zeros((2 * k, s + k))
        spread[:k, :s] = np.eye(k) if self.form == "2pl" else 1.0
        spread[k:, s:] = np.eye(k)
        return spread.T @ full @ spread

    def limits(self) -> tuple[FloatArray, FloatArray]:
        """Return lower and upper bounds of the parameters."""
        s, k = self.n_slopes, self.n_attributes
        low = np.repeat([self.slope_bounds[0], self.intercept_bounds[0]], [s, k])
        high = np.repeat([self.slope_bounds[1], self.intercept_bounds[1]], [s, k])
        return low, high

    def _held(self, parameters: FloatArray, gradient: FloatArray) -> BoolArray:
        low, high = self.limits()
        return np.asarray(((parameters <= low) & (gradient <= 0)) | ((parameters >= high) & (gradient >= 0)), dtype=bool)

    def on_bound(self, parameters: FloatArray) -> BoolArray:
        """Return which slopes and intercepts rest on a bound."""
        low, high = self.limits()
        return np.asarray((parameters <= low + 1e-6) | (parameters >= high - 1e-6), dtype=bool)

    def pushed_out(self, parameters: FloatArray, gradient: FloatArray) -> BoolArray:
        """Return which slopes and intercepts are pushed to the bound that is nearer."""
        low, high = self.limits()
        return np.asarray(np.where(parameters - low < high - parameters, gradient <= 0, gradient >= 0), dtype=bool)

    def clip(self, parameters: FloatArray) -> FloatArray:
        """Return the nearest parameters within the bounds."""
        return np.clip(parameters, *self.limits())
