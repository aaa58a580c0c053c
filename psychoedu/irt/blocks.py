"""Responses arranged for the likelihood: equal rows counted once, rows with one missing pattern together.

A block holds the rows of one group that share a missing pattern, on the columns that they answered, so that a design of
several forms costs no more than its forms. Rows whose pattern is shared by few are put into one block with a mask.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psychoedu._typing import AnyArray, CodeArray, FloatArray, IntArray

FEWEST_ROWS_OF_A_PATTERN = 24
"""A missing pattern with fewer rows than this goes into its group's masked block."""
WIDEST_COLLAPSE = 64
"""Equal rows are looked for only up to this many items: beyond it they are rare and the search is not worth its cost."""
FLOAT_CACHE_BYTES = 40_000_000
"""Responses are kept as float64 up to this size; larger ones are converted a chunk at a time from one byte a cell."""


@dataclass(frozen=True, slots=True)
class Block:
    """Rows of one group with one missing pattern (``observed`` None), or with a mask."""

    group: int
    columns: IntArray
    right: AnyArray
    observed: AnyArray | None
    weights: FloatArray
    scored: bool

    @property
    def n_rows(self) -> int:
        """Number of (distinct) rows."""
        return int(self.right.shape[0])

    def right_rows(self, rows: slice) -> FloatArray:
        """1.0 where the answer is right, else 0.0, (B, J_b)."""
        part = self.right[rows]
        if part.dtype == np.float64:
            return part
        return (part == 1).astype(np.float64) if self.scored else part.astype(np.float64)

    def picked_rows(self, rows: IntArray) -> FloatArray:
        """Return the same for rows named one by one."""
        return np.asarray(self.right[rows] == 1, dtype=np.float64)

    def picked_observed(self, rows: IntArray) -> FloatArray | None:
        """1.0 where these rows have an answer, None where all columns are answered."""
        return None if self.observed is None else self.observed[rows].astype(np.float64)

    def observed_rows(self, rows: slice) -> FloatArray | None:
        """1.0 where there is an answer, (B, J_b); None where all columns of the block are answered."""
        return None if self.observed is None else self.observed[rows].astype(np.float64, copy=False)


@dataclass(frozen=True, slots=True)
class ResponseBlocks:
    """All blocks, with what is needed of the whole.

    Attributes
    ----------
    blocks : tuple of Block
    n_items, n_groups : int
    total_right : (J,) array
        Weighted number of right answers of each item.
    group_weight : (G,) array
        Sum of weights of the respondents of each group who answered anything.
    """

    blocks: tuple[Block, ...]
    n_items: int
    n_groups: int
    total_right: FloatArray
    group_weight: FloatArray

    @property
    def n_rows(self) -> int:
        """Number of distinct rows that the likelihood is computed for."""
        return sum(block.n_rows for block in self.blocks)


def arrange(scored: CodeArray, weights: FloatArray | None = None, groups: IntArray | None = None) -> ResponseBlocks:
    """Arrange a scored matrix into blocks.

    Parameters
    ----------
    scored : (N, J) int8 array
        1 right, 0 wrong, negative missing. Not modified; used without a copy where it is complete and wide.
    weights : (N,) array, optional
        Weight of each row; rows with weight 0 are left out.
    groups : (N,) int array, optional
        Group of each row, 0..G-1.

    Returns
    -------
    ResponseBlocks
    """
    n_rows, n_items = scored.shape
    group = np.zeros(n_rows, dtype=np.int64) if groups is None else groups
    n_groups = int(group.max(initial=0)) + 1
    weight = np.ones(n_rows) if weights is None else np.asarray(weights, dtype=np.float64)
    chosen = np.flatnonzero(weight > 0) if weights is not None else None
    if chosen is not None and chosen.size < n_rows:
        scored, group, weight = scored[chosen], group[chosen], weight[chosen]
    if n_items <= WIDEST_COLLAPSE:
        scored, group, weight = _collapse(scored, group, weight, n_groups)
    as_float = scored.size * 8 <= FLOAT_CACHE_BYTES
    blocks = tuple(_blocks(scored, group, weight, n_groups, as_float))
    total_right = np.zeros(n_items)
    group_weight = np.zeros(n_groups)
    for block in blocks:
        group_weight[block.group] += block.weights.sum()
        for start in range(0, block.n_rows, 4096):
            rows = slice(start, start + 4096)
            total_right[block.columns] += block.weights[rows] @ block.right_rows(rows)
    return ResponseBlocks(blocks, n_items, n_groups, total_right, group_weight)


def _blocks(scored: CodeArray, group: IntArray, weight: FloatArray, n_groups: int, as_float: bool) -> list[Block]:
    n_items = scored.shape[1]
    all_columns = np.arange(n_items)
    if n_groups == 1 and (scored.size == 0 or int(scored.min()) >= 0):
        right = scored.astype(np.float64) if as_float else scored
        return [Block(0, all_columns, right, None, weight, scored=False)] if scored.shape[0] else []
    pattern = row_codes(np.packbits(scored >= 0, axis=1))
    _, first, inverse, size = np.unique(pattern, return_index=True, return_inverse=True, return_counts=True)
    blocks = []
    for g in range(n_groups):
        in_group = group == g
        ragged = in_group & (size[inverse] < FEWEST_ROWS_OF_A_PATTERN)
        for k in np.unique(inverse[in_group & ~ragged]):
            columns = np.flatnonzero(scored[first[k]] >= 0)
            rows = np.flatnonzero(in_group & (inverse == k))
            if columns.size:
                blocks.append(_block(g, columns, scored[np.ix_(rows, columns)], weight[rows], as_float, masked=False))
        rows = np.flatnonzero(ragged & (scored >= 0).any(axis=1)) if ragged.any() else np.empty(0, dtype=np.int64)
        if rows.size:
            columns = np.flatnonzero((scored[rows] >= 0).any(axis=0))
            blocks.append(_block(g, columns, scored[np.ix_(rows, columns)], weight[rows], as_float, masked=True))
    return blocks


def _block(group: int, columns: IntArray, part: CodeArray, weight: FloatArray, as_float: bool, masked: bool) -> Block:
    observed: AnyArray | None = None
    if masked:
        observed = (part >= 0).astype(np.float64) if as_float else part >= 0
    right = (part == 1).astype(np.float64) if as_float else part
    return Block(group, columns, right, observed, weight, scored=masked)


def row_codes(packed: AnyArray) -> AnyArray:
    """Return one uint64 a row that is equal for equal rows (and, but for 2^-64 accidents, only for them).

    Parameters
    ----------
    packed : (N, W) uint8 array
    """
    n_rows, width = packed.shape
    words = -(-width // 8)
    padded = np.zeros((n_rows, max(words, 1) * 8), dtype=np.uint8)
    padded[:, :width] = packed
    columns = padded.view(np.uint64)
    code = columns[:, 0].copy()
    for k in range(1, columns.shape[1]):  # the finaliser of SplitMix64 between words
        code ^= code >> np.uint64(30)
        code *= np.uint64(0xBF58476D1CE4E5B9)
        code ^= code >> np.uint64(27)
        code *= np.uint64(0x94D049BB133111EB)
        code ^= code >> np.uint64(31)
        code += columns[:, k]
    return code


def _collapse(scored: CodeArray, group: IntArray, weight: FloatArray, n_groups: int) -> tuple[CodeArray, IntArray, FloatArray]:
    if scored.shape[0] < 2:
        return scored, group, weight
    parts = [np.packbits(scored == 1, axis=1)]
    if int(scored.min()) < 0:
        parts.append(np.packbits(scored >= 0, axis=1))
    if n_groups > 1:
        parts.append(group[:, None].astype(np.uint32).view(np.uint8).reshape(len(group), 4))
    code = row_codes(parts[0] if len(parts) == 1 else np.hstack(parts))
    _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    if first.size > 0.95 * scored.shape[0]:
        return scored, group, weight
    return scored[first], group[first], np.bincount(inverse, weights=weight, minlength=first.size).astype(np.float64)
