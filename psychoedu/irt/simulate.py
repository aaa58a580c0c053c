"""Responses drawn from a bank at given abilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from psychoedu.exceptions import DataError
from psychoedu.irt.bank import ItemBank
from psychoedu.irt.models import probability
from psychoedu.responses import ResponseMatrix


def simulate_responses(bank: Any, theta: Any, rng: int | np.random.Generator | None = None) -> ResponseMatrix:
    """Draw one response of each respondent to each item of a bank.

    Parameters
    ----------
    bank : ItemBank, Calibration or DataFrame
        Item parameters; a frame is read as :class:`psychoedu.ItemBank` reads it.
    theta : array-like of shape (N,), or Series
        Abilities. A Series gives its labels to the respondents.
    rng : int, Generator or None
        Seed or source of random numbers.

    Returns
    -------
    ResponseMatrix
        N respondents x J items, complete.

    Notes
    -----
    Responses are independent given ability: x_ij is 1 with probability c_j + (1 - c_j) logistic(a_j theta_i + d_j).

    Examples
    --------
    >>> import pandas as pd
    >>> bank = pd.DataFrame({"discrimination": [1.0, 1.5], "difficulty": [-9.0, 9.0]}, index=["easy", "hard"])
    >>> simulate_responses(bank, [0.0, 0.5], rng=1).to_frame().to_numpy().tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """
    known = bank if isinstance(bank, ItemBank) else getattr(bank, "bank", None)
    items = ItemBank(bank) if known is None else known
    labels = theta.index if isinstance(theta, pd.Series) else None
    ability = np.asarray(theta, dtype=np.float64)
    if ability.ndim != 1 or not np.all(np.isfinite(ability)):
        raise DataError(
            f"theta must be one finite number per respondent; got shape {ability.shape}, or nan or infinite values in it."
        )
    success = probability(ability, items.discrimination, items.intercept, items.guessing)
    right = np.random.default_rng(rng).random(success.shape) < success
    return ResponseMatrix.from_wide(right, items=items.labels, respondents=labels)
