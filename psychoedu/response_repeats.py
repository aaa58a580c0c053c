"""Repeats of one cell (several runs of one model on one item), and the ways to make one cell of them.

Arrays are (N, J, R): respondents, items, runs in their order. A run that was not made is ``NOT_ADMINISTERED``.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import BoolArray, CodeArray, FloatArray, IntArray
from psychoedu.exceptions import RepeatsError
from psychoedu.response_codes import Reason
from psychoedu.validation import counted, shown

CHOICES = ("majority", "mean", "first")
NO_VOTE = -1
NO_ANSWER = -2
_BLOCK_CELLS = 1 << 20


def score_codes(codes: CodeArray, invalid: str) -> CodeArray:
    """Return scores 1, 0 and -1 (missing); the very same array where codes say nothing else."""
    if codes.min(initial=0) >= Reason.NOT_ADMINISTERED:
        return codes
    scored = np.maximum(codes, np.int8(-1))
    if invalid == "wrong":
        np.putmask(scored, codes <= Reason.REFUSED, np.int8(0))
    scored.flags.writeable = False
    return scored


def first_run(codes: CodeArray) -> IntArray:
    """Return the position of the first run that was made, for each cell; 0 where none was."""
    return np.asarray(np.argmax(codes != Reason.NOT_ADMINISTERED, axis=2), dtype=np.int64)


def take_run(codes: CodeArray, run: IntArray) -> CodeArray:
    """Return the codes of one chosen run of each cell."""
    chosen: CodeArray = np.take_along_axis(codes, run[:, :, np.newaxis], axis=2)[:, :, 0]
    return chosen


def majority(codes: CodeArray, answers: IntArray | None, unparsed: str = "vote") -> tuple[CodeArray, BoolArray]:
    """Let the runs of each cell vote, on their answers where these are stored, else on their scores.

    Refused, unparsed and empty runs vote together for "no answer" (``unparsed="vote"``) or not at all as long as another run
    answered (``"drop"``). Failed and absent runs never vote. A tie goes to the tied answer that came first.

    Parameters
    ----------
    codes : ndarray of int8, shape (N, J, R)
    answers : ndarray of int, shape (N, J, R), optional
        Answers as numbers; read only where a run was scored.
    unparsed : {"vote", "drop"}

    Returns
    -------
    codes : ndarray of int8, shape (N, J)
        The code of the first run that gave the winning answer; where nobody voted, the reason of the first run made.
    contradictory : ndarray of bool, shape (N, J)
        Cells whose winning answer was scored right in one run and wrong in another.
    """
    result = np.empty(codes.shape[:2], dtype=np.int8)
    contradictory = np.zeros(codes.shape[:2], dtype=np.bool_)
    step = max(1, _BLOCK_CELLS // max(1, codes.shape[1] * codes.shape[2]))
    for start in range(0, len(codes), step):
        rows = slice(start, start + step)
        block = codes[rows]
        votes = _votes(block, None if answers is None else answers[rows], unparsed)
        n_runs = votes.shape[2]
        support = np.zeros(votes.shape, dtype=np.int32)
        for run in range(n_runs):
            support += votes == votes[:, :, run : run + 1]
        support[votes == NO_VOTE] = 0
        voted = support.any(axis=2)
        winner = np.where(voted, np.argmax(support, axis=2), first_run(block))
        result[rows] = take_run(block, winner)
        same = votes == np.take_along_axis(votes, winner[:, :, np.newaxis], axis=2)
        contradictory[rows] = (same & (block == 1)).any(axis=2) & (same & (block == 0)).any(axis=2)
    return result, contradictory


def _votes(codes: CodeArray, answers: IntArray | None, unparsed: str) -> IntArray:
    votes = np.where(codes >= 0, codes if answers is None else answers, NO_VOTE).astype(np.int64)
    no_answer = codes <= Reason.REFUSED
    if unparsed == "drop":
        no_answer &= ~(codes >= 0).any(axis=2, keepdims=True)
    votes[no_answer] = NO_ANSWER
    return votes


def fractions(codes: CodeArray, invalid: str) -> FloatArray:
    """Return the share of right answers among the runs of each cell that count, nan where none does."""
    scored = score_codes(codes, invalid)
    n_scored = (scored >= 0).sum(axis=2)
    n_right = (scored == 1).sum(axis=2)
    with np.errstate(invalid="ignore"):  # 0 / 0 is the nan of a cell without a score
        return np.asarray(n_right / n_scored, dtype=np.float64)


def refuse_repeats(codes: CodeArray, respondents: pd.Index, items: pd.Index) -> None:
    """Refuse repeats that nobody has said how to reduce."""
    made = (codes != Reason.NOT_ADMINISTERED).sum(axis=2)
    cells = np.argwhere(made > 1)
    row, column = cells[0]
    raise RepeatsError(
        f"{counted(len(cells), 'cell')} of {made.size:,} with more than one run (up to {made.max()}), first respondent "
        f"{shown(respondents[row])}, item {shown(items[column])}.\n"
        "Expected one score per cell. Choose with .reduce(...) or repeats=: 'majority' (of the answers, ties to the first run), "
        "'first', or 'mean' (fractions)."
    )


def refuse_fractions(purpose: str) -> None:
    """Refuse means of repeats where whole scores are needed."""
    raise RepeatsError(
        f"{purpose} needs scores of 0 and 1, but the repeats were reduced by their mean, which gives fractions.\n"
        "Reduce the unreduced matrix with 'majority' or 'first' instead; .to_frame() holds the means."
    )


def order_runs(values: pd.Series) -> tuple[IntArray, pd.Index]:
    """Put the runs in their order: categories as ordered by the user, numbers by size, text with its numbers by size.

    Returns
    -------
    positions : ndarray of int, one per row; -1 where the run has no label
    labels : Index
        The runs' labels in order.
    """
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.cat.remove_unused_categories()
        return np.asarray(values.cat.codes, dtype=np.int64), pd.Index(values.cat.categories)
    positions, labels = pd.factorize(values)
    try:
        order = sorted(range(len(labels)), key=lambda place: _natural(labels[place]))
    except TypeError:
        order = sorted(range(len(labels)), key=lambda place: _natural(str(labels[place])))
    rank = np.empty(len(labels) + 1, dtype=np.int64)
    rank[order] = np.arange(len(labels))
    rank[-1] = -1  # position -1 of factorize, a missing label
    return rank[positions], pd.Index([labels[place] for place in order], name="repeat")


def _natural(label: Any) -> Any:
    """Make "run2" come before "run10"."""
    if not isinstance(label, str):
        return label
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", label)]
