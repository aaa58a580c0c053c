"""Derivatives in theta of a row's log-likelihood and of its test information, each row at its own theta.

With e = a theta + d, psi = logistic(e), q = 1 - psi and w = (1 - c) psi / P, the probability that a right answer was not guessed
(w = 1 where c = 0):

    right   l' = a q w,      l'' = a^2 q w ((1 - w) q - psi)
    wrong   l' = -a psi,     l'' = -a^2 psi q
    I = a^2 psi q w,   I' = a u I,   I'' = a^2 I (u^2 - q (psi (3 - w) + w (1 - w) q)),   u = (2 - w) q - psi

which at c = 0 are the 2PL's a (x - P), -a^2 P Q, and I' = a^3 P Q (1 - 2 P), I'' = a^4 P Q (1 - 6 P Q).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psychoedu._typing import FloatArray
from psychoedu.irt.models import log_probabilities
from psychoedu.irt.packing import ByteArray, PackedItems, PackedRows, selected_sum


@dataclass(frozen=True, eq=False)
class Derivatives:
    """First and second derivative of log L; test information and its two derivatives (zeros where not asked for)."""

    first: FloatArray
    second: FloatArray
    information: FloatArray
    information_first: FloatArray
    information_second: FloatArray


def log_likelihood_derivatives(
    theta: FloatArray, rows: PackedRows, items: PackedItems, with_information: bool = False
) -> Derivatives:
    """Evaluate the derivatives of every row at its theta, (n_rows,). Cost O(n_rows J), elementwise over rows."""
    if items.guessing is None:
        return _without_guessing(theta, rows, items, with_information)
    return _with_guessing(theta, rows, items, items.guessing, with_information)


def log_likelihood(theta: FloatArray, rows: PackedRows, items: PackedItems) -> FloatArray:
    """Return log L of every row at its own theta, (n_rows,)."""
    total = np.zeros(len(theta))
    for byte, bit in items.cells():
        cell = (byte, slice(bit, bit + 1))
        guessing = None if items.guessing is None else items.guessing[cell]
        log_right, log_wrong = log_probabilities(theta, items.discrimination[cell], items.intercept[cell], guessing)
        answered, right = _bits(rows.answered, byte, bit), _bits(rows.right, byte, bit)
        total += np.where(right > 0.0, log_right[:, 0], np.where(answered > 0.0, log_wrong[:, 0], 0.0))
    return total


def _bits(packed: ByteArray, byte: int, bit: int) -> FloatArray:
    bits: FloatArray = ((packed[byte] >> np.uint8(bit)) & np.uint8(1)).astype(np.float64)
    return bits


def _logistic(eta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return logistic(eta) and logistic(-eta), both to full relative accuracy."""
    shrunk = np.exp(-np.abs(eta))
    larger = 1.0 / (1.0 + shrunk)
    smaller = shrunk * larger
    upper = eta >= 0.0
    return np.where(upper, larger, smaller), np.where(upper, smaller, larger)


def _without_guessing(theta: FloatArray, rows: PackedRows, items: PackedItems, with_information: bool) -> Derivatives:
    expected, information, first, second = np.zeros((4, len(theta)))
    complete = np.bitwise_and.reduce(rows.answered, axis=1) if rows.n_rows else np.zeros(len(rows.answered), dtype=np.uint8)
    for byte, bit in items.cells():
        a = items.discrimination[byte, bit]
        success, failure = _logistic(a * theta + items.intercept[byte, bit])
        weight = a * success
        if not (complete[byte] >> bit) & 1:
            weight *= _bits(rows.answered, byte, bit)
        expected += weight
        weight *= a * failure
        information += weight
        if with_information:
            slope = a * (failure - success)
            first += weight * slope
            second += weight * (slope**2 - (2.0 * a**2) * (success * failure))
    score = selected_sum(rows.right, items.discrimination) - expected
    return Derivatives(score, -information, information, first, second)


def _with_guessing(
    theta: FloatArray, rows: PackedRows, items: PackedItems, guessing: FloatArray, with_information: bool
) -> Derivatives:
    score, hessian, information, first, second = np.zeros((5, len(theta)))
    for byte, bit in items.cells():
        a, c = items.discrimination[byte, bit], guessing[byte, bit]
        answered, right = _bits(rows.answered, byte, bit), _bits(rows.right, byte, bit)
        wrong = answered - right
        success, failure = _logistic(a * theta + items.intercept[byte, bit])
        known = (1.0 - c) * success / (c + (1.0 - c) * success) if c > 0.0 else np.ones_like(success)
        score += a * (right * failure * known - wrong * success)
        hessian += a**2 * failure * (right * known * ((1.0 - known) * failure - success) - wrong * success)
        if with_information:
            weight = answered * (a**2 * success * failure * known)
            slope = a * ((2.0 - known) * failure - success)
            information += weight
            first += weight * slope
            curvature = failure * (success * (3.0 - known) + known * (1.0 - known) * failure)
            second += weight * (slope**2 - a**2 * curvature)
    return Derivatives(score, hessian, information, first, second)
