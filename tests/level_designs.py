"""Banks, responses and panels for the tests of cut scores and levels; every one is drawn from a seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

import psychoedu as pe
from psychoedu.irt.bank import ItemBank

LEVELS = ("CSE-3", "CSE-4", "CSE-5", "CSE-6")
TRUE_CUTS = (-0.8, 0.2, 1.0, 1.8)


def bank_of(n_items: int, seed: int = 0, error: float | None = 0.1, guessing: float = 0.0) -> ItemBank:
    """Return a bank of n items; with an error, a dense covariance whose standard errors are about so large."""
    rng = np.random.default_rng(seed)
    discrimination = rng.uniform(0.7, 1.6, n_items)
    intercept = -discrimination * rng.permutation(np.linspace(-2.5, 2.5, n_items))
    covariance = None
    if error is not None:
        root = np.eye(2 * n_items) + 0.3 * rng.standard_normal((2 * n_items, 2 * n_items)) / np.sqrt(2 * n_items)
        covariance = error**2 * root @ root.T
    labels = [f"q{number}" for number in range(1, n_items + 1)]
    return ItemBank.from_arrays(labels, discrimination, intercept, np.full(n_items, guessing), covariance)


def changed(bank: ItemBank, discrimination: Any = None, intercept: Any = None, covariance: Any = "same") -> ItemBank:
    """Return the bank with other parameters."""
    return ItemBank.from_arrays(
        bank.labels,
        bank.discrimination if discrimination is None else discrimination,
        bank.intercept if intercept is None else intercept,
        bank.guessing,
        bank.covariance if isinstance(covariance, str) else covariance,
    )


def shifted(bank: ItemBank, by: float) -> ItemBank:
    """Return the bank with every difficulty higher by so much; the covariance is left out."""
    return changed(bank, intercept=bank.intercept - by * bank.discrimination, covariance=None)


def respond(bank: ItemBank, theta: Any, seed: int = 1) -> pd.DataFrame:
    """Draw the responses of respondents r1, r2, ..."""
    rng = np.random.default_rng(seed)
    eta = np.multiply.outer(np.asarray(theta, dtype=float), bank.discrimination) + bank.intercept
    success = bank.guessing + (1.0 - bank.guessing) * expit(eta)
    right = (rng.random(success.shape) < success).astype(int)
    return pd.DataFrame(right, index=[f"r{number}" for number in range(1, len(right) + 1)], columns=bank.labels)


def placed(pages: dict[str, list[int]], **columns: Any) -> pd.DataFrame:
    """Return placements of panellists p1, p2, ... from the pages of each level."""
    rows = [[f"p{number}", level, page] for level, own in pages.items() for number, page in enumerate(own, 1)]
    return pd.DataFrame(rows, columns=["panellist", "level", "page"]).assign(**columns)


def drawn_panel(booklet: Any, n_panellists: int, seed: int = 3, spread: float = 0.2) -> pd.DataFrame:
    """Return the pages last mastered of panellists whose cuts are the true ones plus normal errors."""
    rng = np.random.default_rng(seed)
    cuts = np.sort(np.array(TRUE_CUTS) + spread * rng.standard_normal((n_panellists, len(LEVELS))), axis=1)
    pages = np.searchsorted(booklet.locations, cuts)
    return placed({level: list(pages[:, k]) for k, level in enumerate(LEVELS)})


def scored(bank: ItemBank, responses: pd.DataFrame, **options: Any) -> Any:
    """Score responses."""
    return pe.score(bank, responses, **options)
