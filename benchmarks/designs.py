"""The data that the benchmarks calibrate: one byte a cell, -1 where an item was not administered."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / "benchmarks" / ".cache"
SEED = 20261130
MISSING = -1


@dataclass(frozen=True)
class Data:
    """Scored responses (N, J) in {0, 1, -1}, and each respondent's group where there are several (the first is the reference)."""

    responses: NDArray[np.int8]
    groups: NDArray[np.str_] | None = None

    @property
    def name_of_shape(self) -> str:
        """Return "2,074 x 61"."""
        return f"{self.responses.shape[0]:,} x {self.responses.shape[1]}"

    @property
    def reference_group(self) -> str | None:
        """Return the label of the group whose population is N(0, 1)."""
        return None if self.groups is None else str(self.groups[0])

    def save(self, path: Path) -> Path:
        """Write to an .npz file for the measuring processes."""
        path.parent.mkdir(parents=True, exist_ok=True)
        groups = np.array([], dtype=str) if self.groups is None else self.groups
        np.savez(path, responses=self.responses, groups=groups)
        return path

    @classmethod
    def load(cls, path: str | Path) -> Data:
        """Read what ``save`` wrote."""
        with np.load(path) as stored:
            groups = stored["groups"]
            return cls(stored["responses"], groups if groups.size else None)


def shared_reference() -> Path | None:
    """Return the folder of reference data beside the checkout, or None."""
    folder = Path(os.environ.get("PSYCHOEDU_SHARED", ROOT.parent / "shared")) / "reference"
    return folder if folder.is_dir() else None


def simulate(n_respondents: int, n_items: int, seed: int = SEED, block: int = 50_000) -> Data:
    """Draw complete 2PL responses: a lognormal(0, 0.3), b N(0, 1), theta N(0, 1); a block of respondents at a time."""
    rng = np.random.default_rng([seed, n_respondents, n_items])
    discrimination = rng.lognormal(0.0, 0.3, n_items)
    difficulty = rng.standard_normal(n_items)
    responses = np.empty((n_respondents, n_items), dtype=np.int8)
    for first in range(0, n_respondents, block):
        theta = rng.standard_normal(min(block, n_respondents - first))
        eta = discrimination * (theta[:, None] - difficulty)
        responses[first : first + theta.size] = rng.random(eta.shape) < 1.0 / (1.0 + np.exp(-eta))
    return Data(responses)


def lsat7() -> Data:
    """Return LSAT-7, 1,000 x 5, as the package ships it."""
    import psychoedu

    frame = psychoedu.datasets.load_lsat7()
    return Data(_cells(frame))


def two_forms(as_groups: bool) -> Data:
    """Return the simulated two-form design: all 2,074 rows as one group, or the 2,050 learners as two groups."""
    responses, groups = _cse_like()
    if not as_groups:
        return Data(responses)
    learners = groups != "model"
    return Data(responses[learners], groups[learners])


def large() -> Data:
    """Return 20,000 x 100: the stored reference data where they are, else the same design drawn anew."""
    folder = shared_reference()
    path = folder / "irt_large" / "responses.csv.gz" if folder else None
    if path is None or not path.exists():
        return simulate(20_000, 100)
    return Data(pd.read_csv(path, dtype=np.int8).to_numpy())


def _cells(table: object) -> NDArray[np.int8]:
    """Return int8 codes with -1 for missing, from a ResponseMatrix or a frame."""
    frame = table if isinstance(table, pd.DataFrame) else table.to_frame()  # type: ignore[attr-defined]
    values = frame.to_numpy(dtype=float, na_value=np.nan)
    return np.where(np.isnan(values), MISSING, values).astype(np.int8)


def _cse_like() -> tuple[NDArray[np.int8], NDArray[np.str_]]:
    import psychoedu

    matrix = psychoedu.datasets.load_cse_like()
    return _cells(matrix), matrix.respondents["group"].to_numpy(dtype=str)


DESIGNS: dict[str, tuple[str, Callable[[], Data]]] = {
    "lsat7": ("LSAT-7", lsat7),
    "complete": ("complete, simulated", lambda: simulate(2_074, 61)),
    "forms": ("two forms as one group, with holes", lambda: two_forms(as_groups=False)),
    "groups": ("two forms as two groups", lambda: two_forms(as_groups=True)),
    "large": ("complete, simulated", large),
    "huge": ("complete, simulated", lambda: simulate(100_000, 200)),
}
"""Key on the command line, what the table says, and how to make the data."""
