"""The structural models of all groups as one: separate structures, or one higher-order structure with group means and SDs."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import expit, log_expit

from psychoedu._typing import BoolArray, FloatArray
from psychoedu.cdm.structures import HigherOrder, Structure
from psychoedu.irt.quadrature import normal_log_weights

MEAN_BOUNDS = (-4.0, 4.0)
LOG_SD_BOUNDS = (-2.0, 2.0)


class Populations(Protocol):
    """What the estimation asks of the structural models of all groups."""

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        ...

    @property
    def n_parameters(self) -> int:
        """Number of free parameters."""
        ...

    def start(self) -> FloatArray:
        """Return parameters to start from."""
        ...

    def log_prior(self, parameters: FloatArray) -> FloatArray:
        """Return log class probabilities, (G, L)."""
        ...

    def step(self, parameters: FloatArray, class_counts: FloatArray) -> FloatArray:
        """Return parameters that raise sum_gl n_gl log pi_gl."""
        ...

    def scores(self, parameters: FloatArray) -> FloatArray:
        """Return d log pi_gl / d parameter, (G, L, p)."""
        ...

    def information(self, parameters: FloatArray, class_counts: FloatArray) -> FloatArray:
        """Return minus the second derivative of sum_gl n_gl log pi_gl, (p, p)."""
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
class Separate:
    """One structure a group, with parameters of its own."""

    structures: tuple[Structure, ...]

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.structures)

    @property
    def n_parameters(self) -> int:
        """Number of free parameters of all groups."""
        return sum(one.n_parameters for one in self.structures)

    def parts(self) -> list[slice]:
        """Return where each group's parameters stand."""
        ends = np.cumsum([0, *(one.n_parameters for one in self.structures)])
        return [slice(int(a), int(b)) for a, b in itertools.pairwise(ends)]

    def start(self) -> FloatArray:
        """Return parameters to start from."""
        return np.concatenate([one.start() for one in self.structures])

    def log_prior(self, parameters: FloatArray) -> FloatArray:
        """Return log class probabilities, (G, L)."""
        return np.array([one.log_prior(parameters[part]) for one, part in zip(self.structures, self.parts(), strict=True)])

    def step(self, parameters: FloatArray, class_counts: FloatArray) -> FloatArray:
        """Step each group on its own."""
        groups = zip(self.structures, self.parts(), class_counts, strict=True)
        return np.concatenate([one.step(parameters[part], counts) for one, part, counts in groups])

    def scores(self, parameters: FloatArray) -> FloatArray:
        """Return scores, zero for the parameters of other groups."""
        parts = self.parts()
        own = [one.scores(parameters[part]) for one, part in zip(self.structures, parts, strict=True)]
        out = np.zeros((self.n_groups, own[0].shape[0], self.n_parameters))
        for g, part in enumerate(parts):
            out[g, :, part] = own[g]
        return out

    def information(self, parameters: FloatArray, class_counts: FloatArray) -> FloatArray:
        """Return the groups' blocks."""
        out = np.zeros((self.n_parameters, self.n_parameters))
        for one, part, counts in zip(self.structures, self.parts(), class_counts, strict=True):
            out[part, part] = one.information(parameters[part], counts)
        return out

    def on_bound(self, parameters: FloatArray) -> BoolArray:
        """Return which parameters rest on a bound."""
        groups = zip(self.structures, self.parts(), strict=True)
        return np.concatenate([one.on_bound(parameters[part]) for one, part in groups])

    def pushed_out(self, parameters: FloatArray, gradient: FloatArray) -> BoolArray:
        """Return which are pushed against their bound."""
        groups = zip(self.structures, self.parts(), strict=True)
        return np.concatenate([one.pushed_out(parameters[part], gradient[part]) for one, part in groups])

    def clip(self, parameters: FloatArray) -> FloatArray:
        """Return the nearest parameters within the bounds."""
        groups = zip(self.structures, self.parts(), strict=True)
        return np.concatenate([one.clip(parameters[part]) for one, part in groups])


@dataclass(frozen=True, slots=True)
class SharedHigherOrder:
    """One set of slopes and intercepts; theta is N(0, 1) in the first group, N(mean_g, sd_g) in the others.

    Parameters: those of the higher-order structure, then the means and the log SDs of the other groups.
    """

    base: HigherOrder
    n_groups: int

    @property
    def n_parameters(self) -> int:
        """Number of slopes, intercepts, means and log SDs."""
        return self.base.n_parameters + 2 * (self.n_groups - 1)

    def start(self) -> FloatArray:
        """Return the base's start, means 0 and SDs 1."""
        return np.concatenate([self.base.start(), np.zeros(2 * (self.n_groups - 1))])

    def moments(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the groups' means and SDs."""
        own = parameters[self.base.n_parameters :]
        others = self.n_groups - 1
        return np.concatenate([[0.0], own[:others]]), np.exp(np.concatenate([[0.0], own[others:]]))

    def _log_joint(self, parameters: FloatArray) -> FloatArray:
        """Return log P(class, node) of each group, (G, L, Q)."""
        nodes, _ = self.base.nodes()
        mean, sd = self.moments(parameters)
        weights = np.array([normal_log_weights(nodes, m, s) for m, s in zip(mean, sd, strict=True)])
        slopes, intercepts = self.base.split(parameters[: self.base.n_parameters])
        eta = np.multiply.outer(slopes, nodes) + intercepts[:, None]
        given = self.base.alpha @ eta + log_expit(-eta).sum(axis=0)
        return np.asarray(given[None] + weights[:, None, :])

    def log_prior(self, parameters: FloatArray) -> FloatArray:
        """Return log class probabilities, (G, L)."""
        joint = self._log_joint(parameters)
        highest = joint.max(axis=2)
        return np.asarray(highest + np.log(np.exp(joint - highest[..., None]).sum(axis=2)))

    def node_posterior(self, parameters: FloatArray) -> FloatArray:
        """Return P(node | class, group), (G, L, Q)."""
        joint = self._log_joint(parameters)
        density = np.exp(joint - joint.max(axis=2, keepdims=True))
        return np.asarray(density / density.sum(axis=2, keepdims=True))

    def _node_scores(self, parameters: FloatArray, group: int) -> FloatArray:
        """Return the complete-data scores (alpha - P)(theta, 1) and those of the group's mean and log SD, (L, p, Q)."""
        base, nodes = self.base, self.base.nodes()[0]
        slopes, intercepts = base.split(parameters[: base.n_parameters])
        success = expit(np.multiply.outer(slopes, nodes) + intercepts[:, None])
        residual = base.alpha[:, :, None] - success
        out = np.zeros((len(base.alpha), self.n_parameters, nodes.size))
        out[:, : base.n_slopes] = base.gather(residual * nodes)
        out[:, base.n_slopes : base.n_parameters] = residual
        if group:
            mean, sd = self.moments(parameters)
            z = (nodes - mean[group]) / sd[group]
            weights = np.exp(normal_log_weights(nodes, mean[group], sd[group]))
            for k, h in enumerate((z / sd[group], z**2 - 1.0)):
                out[:, base.n_parameters + k * (self.n_groups - 1) + group - 1] = h - weights @ h
        return out

    def scores(self, parameters: FloatArray) -> FloatArray:
        """Return posterior means of the complete-data scores, (G, L, p)."""
        given = self.node_posterior(parameters)
        return np.array([(self._node_scores(parameters, g) * given[g][:, None, :]).sum(axis=2) for g in range(self.n_groups)])

    def information(self, parameters: FloatArray, class_counts: FloatArray) -> FloatArray:
        """Return complete information less the posterior covariance of its scores."""
        complete, given = self._complete(parameters, class_counts), self.node_posterior(parameters)
        for g in range(self.n_groups):
            both = self._node_scores(parameters, g)
            weight = given[g]
            centred = both - (both * weight[:, None, :]).sum(axis=2, keepdims=True)
            flat = centred.transpose(1, 0, 2).reshape(centred.shape[1], -1)
            complete -= (flat * (weight * class_counts[g][:, None]).ravel()) @ flat.T
        return complete

    def _complete(self, parameters: FloatArray, class_counts: FloatArray) -> FloatArray:
        base, nodes = self.base, self.base.nodes()[0]
        given = self.node_posterior(parameters)
        at_node = np.einsum("gl,glq->gq", class_counts, given)
        out = np.zeros((self.n_parameters, self.n_parameters))
        part = slice(0, base.n_parameters)
        out[part, part] = base.complete(parameters[: base.n_parameters], at_node.sum(axis=0))
        mean, sd = self.moments(parameters)
        others = self.n_groups - 1
        for g in range(1, self.n_groups):
            z = (nodes - mean[g]) / sd[g]
            weights = np.exp(normal_log_weights(nodes, mean[g], sd[g]))
            h = np.array([z / sd[g], z**2 - 1.0])
            h -= (h @ weights)[:, None]
            at = base.n_parameters + np.array([g - 1, others + g - 1])
            out[np.ix_(at, at)] = at_node[g].sum() * (h * weights) @ h.T
            # what is left of the second derivative where the moments are not yet matched
            excess = at_node[g] - at_node[g].sum() * weights
            second = np.array([[1.0 / sd[g] ** 2 * np.ones_like(z), 2.0 * z / sd[g]], [2.0 * z / sd[g], 2.0 * z**2]])
            out[np.ix_(at, at)] += second @ excess
        return out

    def step(self, parameters: FloatArray, class_counts: FloatArray) -> FloatArray:
        """Return the parameters after up to three safeguarded Newton steps."""
        present, value = parameters, self._value(parameters, class_counts)
        for _ in range(3):
            gradient = np.einsum("gl,glp->p", class_counts, self.scores(present))
            held = self.on_bound(present) & self.pushed_out(present, gradient)
            information = self.information(present, class_counts)
            try:
                np.linalg.cholesky(information)
            except np.linalg.LinAlgError:
                information = self._complete(present, class_counts)
            information[held] = 0.0
            information[:, held] = 0.0
            information[held, held] = 1.0
            step = np.linalg.solve(information, np.where(held, 0.0, gradient))
            length = min(1.0, 1.0 / max(float(np.abs(step).max()), 1e-12))
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
        return float((class_counts * self.log_prior(parameters)).sum())

    def _limits(self) -> tuple[FloatArray, FloatArray]:
        low, high = self.base.limits()
        others = self.n_groups - 1
        return (
            np.concatenate([low, np.full(others, MEAN_BOUNDS[0]), np.full(others, LOG_SD_BOUNDS[0])]),
            np.concatenate([high, np.full(others, MEAN_BOUNDS[1]), np.full(others, LOG_SD_BOUNDS[1])]),
        )

    def on_bound(self, parameters: FloatArray) -> BoolArray:
        """Return which parameters rest on a bound."""
        low, high = self._limits()
        return np.asarray((parameters <= low + 1e-6) | (parameters >= high - 1e-6), dtype=bool)

    def pushed_out(self, parameters: FloatArray, gradient: FloatArray) -> BoolArray:
        """Return which are pushed to the bound that is nearer."""
        low, high = self._limits()
        return np.asarray(np.where(parameters - low < high - parameters, gradient <= 0, gradient >= 0), dtype=bool)

    def clip(self, parameters: FloatArray) -> FloatArray:
        """Return the nearest parameters within the bounds."""
        return np.clip(parameters, *self._limits())
