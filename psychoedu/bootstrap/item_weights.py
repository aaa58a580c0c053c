"""Weights of items whose tasks are resampled: with replacement, or by halves without it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import CodeArray, FloatArray, IntArray
from psychoedu.bootstrap.anything import BLOCK, Layout, draw_block, layout_of
from psychoedu.bootstrap.streams import Seed
from psychoedu.exceptions import ClusterDesignError
from psychoedu.validation import check_per_label, counted, listed

KINDS = ("bootstrap", "jackknife")


def item_layout(items: pd.Index, tasks: Any, strata: Any, correction: str | None) -> tuple[Layout, IntArray]:
    """Return what is resampled, and the task of each item.

    Parameters
    ----------
    items : Index, (J,)
    tasks, strata : a label per item, or None
        None: every item is a task of its own, all in one stratum.
    correction : str or None

    Raises
    ------
    ClusterDesignError
        An item without a label, or a task in two strata.
    """
    task = np.arange(len(items)) if tasks is None else _codes(check_per_label(tasks, items, "tasks", "item"), items, "task")
    stratum = np.zeros(len(items), dtype=np.int64)
    if strata is not None:
        stratum = _codes(check_per_label(strata, items, "strata", "item"), items, "stratum")
    n_tasks = int(task.max()) + 1
    of_task = np.zeros(n_tasks, dtype=np.int64)
    of_task[task] = stratum
    wrong = of_task[task] != stratum
    if wrong.any():
        raise ClusterDesignError(
            f"{counted(int(wrong.sum()), 'item')} in another stratum than the rest of its task: {listed(items[wrong])}.\n"
            "Expected every task in one stratum."
        )
    return layout_of(of_task, correction), task.astype(np.int64)


def _codes(values: Any, items: pd.Index, what: str) -> IntArray:
    series = pd.Series(values)
    blank = series.isna().to_numpy()
    if blank.any():
        raise ClusterDesignError(
            f"{counted(int(blank.sum()), 'item')} without a {what}: {listed(items[blank])}.\nExpected a label for every item."
        )
    codes, _ = pd.factorize(series, sort=True)
    return codes.astype(np.int64)


def draw_item_weights(layout: Layout, task: IntArray, seed: Seed, n_resamples: int, kind: str) -> FloatArray:
    """Draw the weights of the items in every resample, (B, J).

    Parameters
    ----------
    layout : Layout
    task : (J,) int array
        Position of each item's task.
    seed : Seed
    n_resamples : int
    kind : {"bootstrap", "jackknife"}

    Notes
    -----
    "bootstrap": how often the item's task was drawn. "jackknife": half of each stratum's n tasks, d = ceil(n/2), is deleted
    without replacement; the others weigh 1 + c d/(n - d) and the deleted ones 1 - c, c = sqrt((n - d)/d), which gives a mean the
    variance s^2/n without further factor, and no weight below 0. The information of the whole test stays what it was.

    References
    ----------
    Shao, J., & Wu, C. F. J. (1989). A general theory for jackknife variance estimation. *Annals of Statistics, 17*, 1176-1197.
    Chipperfield, J., & Preston, J. (2007). Efficient bootstrap for business surveys. *Survey Methodology, 33*, 167-172.
    """
    drawn = []
    for block in range(-(-n_resamples // BLOCK)):
        count = min(BLOCK, n_resamples - block * BLOCK)
        drawn.append(
            draw_block(layout, seed, block, count, "weights") if kind == "bootstrap" else _halves(layout, seed, block, count)
        )
    return np.asarray(np.concatenate(drawn)[:, task], dtype=np.float64)


def _halves(layout: Layout, seed: Seed, block: int, count: int) -> FloatArray:
    generator = seed.generator(block)
    weights = np.ones((count, layout.n))
    for own in layout.members:
        n = len(own)
        deleted = -(-n // 2)
        share = np.sqrt((n - deleted) / deleted)
        order = np.argsort(generator.random((count, n)), axis=1)
        values = np.where(np.arange(n) < deleted, 1.0 - share, 1.0 + share * deleted / (n - deleted))
        weights[np.arange(count)[:, None], own[order]] = values
    return weights


def perfect_notes(scored: CodeArray, labels: pd.Index) -> tuple[str, ...]:
    """Name the respondents all of whose answers are right, or all wrong.

    Parameters
    ----------
    scored : (N, J) int8 array
        1 right, 0 wrong, below 0 missing.
    labels : Index, (N,)
    """
    answered = (scored >= 0).any(axis=1)
    alike = answered & (~(scored == 0).any(axis=1) | ~(scored == 1).any(axis=1))
    if not alike.any():
        return ()
    names = listed(labels[np.flatnonzero(alike)])
    return (
        f"{counted(int(alike.sum()), 'respondent')} with right answers only or wrong answers only ({names}): resampled tasks "
        "give the same answers, so that these sampling errors are too small and their intervals too short",
    )
