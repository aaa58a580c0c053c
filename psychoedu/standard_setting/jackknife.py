"""How much ability hangs on the tasks that happened to be given: the delete-one-task jackknife on a fixed bank."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray, IntArray
from psychoedu.exceptions import DataError
from psychoedu.irt.bank import ItemBank
from psychoedu.irt.score import score
from psychoedu.irt.scoring import METHODS, Method, estimate
from psychoedu.responses import ResponseMatrix, as_response_matrix
from psychoedu.validation import check_choice, check_per_label


def item_sampling_error(
    bank: Any,
    responses: Any,
    tasks: Any = None,
    *,
    method: str = "eap",
    prior_mean: Any = 0.0,
    prior_sd: Any = 1.0,
) -> pd.DataFrame:
    """Estimate the error that the sampling of tasks adds to each respondent's ability.

    Parameters
    ----------
    bank : Calibration or ItemBank
    responses : ResponseMatrix, DataFrame or array-like, (N, J)
    tasks : Series {item: task}, sequence of J, or name of a column of the responses' item table, optional
        Items of one task are left out together; by default each item is a task.
    method : {"eap", "map", "ml", "wle"}
    prior_mean, prior_sd : float or one number per respondent

    Returns
    -------
    DataFrame by respondent
        ``theta``; ``jackknife_variance``, (C - 1) / C sum (theta without task c - their mean)^2 over the C tasks that the
        respondent was given; ``measurement_variance``, the square of theta's standard error; ``excess_variance``, the first minus
        the second, floored at 0; ``n_tasks``. nan where fewer than two tasks were answered, or a score is infinite.

    Notes
    -----
    If responses are independent given ability, the jackknife variance estimates the sampling variance of theta, which the
    standard error covers already: the excess is then noise around a value at or below 0, floored. It shows where items of a task
    hang together, or the bank does not describe the respondent. Cost: C scorings.

    References
    ----------
    Efron, B., & Tibshirani, R. J. (1993). An introduction to the bootstrap, equation 11.5. Chapman & Hall.
    """
    own = getattr(bank, "bank", bank)
    if not isinstance(own, ItemBank):
        raise DataError(f"item_sampling_error needs a Calibration or an ItemBank; got {type(bank).__name__}.")
    check_choice(method, METHODS, "method")
    matrix = as_response_matrix(responses)
    chosen: Method = next(name for name in METHODS if name == method)
    whole = score(own, matrix, chosen, prior_mean, prior_sd)
    mean, sd = (_values(prior, matrix) for prior in (prior_mean, prior_sd))
    of_item = _tasks(tasks, matrix)
    codes, positions = matrix.scored(), own.labels.get_indexer(matrix.item_labels).astype(np.int64)
    n_tasks = int(of_item.max()) + 1
    without = np.full((n_tasks, matrix.n_respondents), np.nan)
    for task in range(n_tasks):
        inside = of_item == task
        given = (codes[:, inside] >= 0).any(axis=1)
        part = codes.copy()
        part[:, inside] = -1
        found = estimate(part, own.discrimination, own.intercept, own.guessing, chosen, mean, sd, positions)
        without[task, given] = found.theta[given]
    counts = (~np.isnan(without)).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        centre = np.where(counts > 0, np.nansum(without, axis=0) / counts, np.nan)
        squares = np.nansum((without - centre) ** 2, axis=0)
        variance = np.where((counts >= 2) & np.isfinite(centre), (counts - 1) / counts * squares, np.nan)
    measurement = whole.theta_se.to_numpy() ** 2
    return pd.DataFrame(
        {
            "theta": whole.theta.to_numpy(),
            "jackknife_variance": variance,
            "measurement_variance": measurement,
            "excess_variance": np.where(np.isnan(variance), np.nan, np.maximum(variance - measurement, 0.0)),
            "n_tasks": counts,
        },
        index=matrix.respondent_labels,
    )


def _values(prior: Any, matrix: ResponseMatrix) -> float | FloatArray:
    if np.ndim(prior) == 0:
        return float(prior)
    return np.asarray(check_per_label(prior, matrix.respondent_labels, "prior"), dtype=np.float64)


def _tasks(tasks: Any, matrix: ResponseMatrix) -> IntArray:
    """Return the number of each item's task."""
    if tasks is None:
        return np.arange(matrix.n_items)
    if isinstance(tasks, str):
        if tasks not in matrix.items.columns:
            raise DataError(f"tasks={tasks!r} is no column of the responses' item table; give a Series of tasks by item.")
        tasks = matrix.items[tasks]
    values = check_per_label(tasks, matrix.item_labels, "tasks", "item")
    codes, labels = pd.factorize(pd.Series(values))
    if (codes < 0).any():
        raise DataError(f"tasks holds {int((codes < 0).sum())} missing values; expected a task for every item.")
    if len(labels) < 2:
        raise DataError("tasks names one task only; leaving it out leaves nothing. Expected at least two.")
    return codes.astype(np.int64)
