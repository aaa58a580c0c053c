"""Simulated designs that several tests share; every one is drawn from a seed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
REFERENCE = Path(__file__).resolve().parent / "reference"


def reference(name: str) -> dict[str, Any]:
    """Figures of R mirt for one data set."""
    content: dict[str, Any] = json.loads((REFERENCE / "mirt_2pl.json").read_text(encoding="utf-8"))[name]
    return content


def simulate(n: int, discrimination: Any, difficulty: Any, seed: int = 0, mean: float = 0.0, sd: float = 1.0) -> IntArray:
    """Responses of n respondents from N(mean, sd) to 2PL items."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(mean, sd, n)
    a, b = np.broadcast_arrays(np.asarray(discrimination, float), np.asarray(difficulty, float))
    success = 1.0 / (1.0 + np.exp(-a * (theta[:, None] - b)))
    return (rng.random(success.shape) < success).astype(np.int64)


def with_holes(responses: IntArray, share: float, seed: int = 1) -> FloatArray:
    """The same with a share of the cells missing at random."""
    out = responses.astype(float)
    out[np.random.default_rng(seed).random(out.shape) < share] = np.nan
    return out
