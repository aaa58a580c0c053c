"""Responses, and posteriors on dense grids, for the tests of the scores."""

import numpy as np
import pandas as pd
from scipy.special import expit, log_expit

import psychoedu as pe


def rows_of(patterns):
    return np.array([[{"1": 1, "0": 0, "-": -1}[mark] for mark in pattern] for pattern in patterns], dtype=np.int8)


def five_items():
    return np.ones(5), -np.array([-2.0, -1.0, 0.0, 1.0, 2.0])


def draw(n_respondents, n_items, seed, missing=0.0, guessing=0.0, spread=1.0):
    rng = np.random.default_rng(seed)
    a = rng.lognormal(0.0, 0.4, n_items)
    a[:: max(2, n_items // 2)] *= -1.0
    d = rng.normal(0.0, 1.0, n_items)
    c = np.full(n_items, guessing)
    theta = spread * rng.standard_normal(n_respondents)
    probability = c + (1 - c) * expit(np.outer(theta, a) + d)
    codes = (rng.random((n_respondents, n_items)) < probability).astype(np.int8)
    codes[rng.random(codes.shape) < missing] = -1
    return codes, a, d, c


def labelled_bank():
    frame = pd.DataFrame({"discrimination": [0.8, 1.1, 1.5, 0.9], "difficulty": [-1.0, 0.0, 0.5, 1.2]}, index=list("abcd"))
    return pe.ItemBank(frame)


def dense_posterior(row, a, d, c, mean, sd, half=14.0, n_points=40_001, nodes=None):
    theta = np.linspace(mean - half * sd, mean + half * sd, n_points) if nodes is None else nodes
    eta = np.multiply.outer(theta, a) + d
    with np.errstate(divide="ignore"):
        right = np.logaddexp(np.log(c), np.log1p(-c) + log_expit(eta))
    wrong = np.log1p(-c) + log_expit(-eta)
    height = np.where(row == 1, right, np.where(row == 0, wrong, 0.0)).sum(axis=1) - 0.5 * ((theta - mean) / sd) ** 2
    weight = np.exp(height - height.max())
    weight /= weight.sum()
    location = weight @ theta
    return location, np.sqrt(weight @ (theta - location) ** 2)


def same_bits(left, right):
    return np.array_equal(np.asarray(left).view(np.int64), np.asarray(right).view(np.int64))
