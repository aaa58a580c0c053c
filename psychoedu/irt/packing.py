"""Responses as bits: eight items a byte, equal rows found once, sums over items by table look-up.

Every sum is built in one fixed order (the bits of a byte from low to high, then the bytes), and a missing item adds an exact
zero. So a row's sums are the same to the last bit whoever else is in the matrix and whichever empty columns stand in it,
which no matrix product promises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psychoedu._typing import BoolArray, CodeArray, FloatArray, IntArray
from psychoedu.irt.models import item_information, linear_predictor, log_probabilities

ByteArray = NDArray[np.uint8]

ITEMS_PER_BYTE = 8
_PACK_ROWS = 65_536
_TABLE_CELLS = 2**22
"""Largest table (cells) that is kept: 32 MB of float64."""
_DIRECT_KEY_BITS = 22
_MIX = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio, an odd multiplier that spreads keys (Knuth, 1973, section 6.4)


@dataclass(frozen=True, eq=False)
class PackedRows:
    """Rows of responses as bits, byte-major: ``right`` and ``answered`` are (n_bytes, n_rows)."""

    right: ByteArray
    answered: ByteArray

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return int(self.right.shape[1])

    def take(self, rows: IntArray | BoolArray | slice) -> PackedRows:
        """Return some of the rows."""
        return PackedRows(np.ascontiguousarray(self.right[:, rows]), np.ascontiguousarray(self.answered[:, rows]))

    def n_answered(self) -> IntArray:
        """Return how many items each row answered."""
        counts: IntArray = np.bitwise_count(self.answered).sum(axis=0, dtype=np.int64)
        return counts


@dataclass(frozen=True, eq=False)
class PackedItems:
    """Item parameters in the bytes' order, (n_bytes, 8), zero where a byte has no item; ``guessing`` None for a 2PL."""

    discrimination: FloatArray
    intercept: FloatArray
    guessing: FloatArray | None
    present: BoolArray

    def cells(self) -> list[tuple[int, int]]:
        """Return (byte, bit) of every item present, in order."""
        byte, bit = np.nonzero(self.present)
        return list(zip(byte.tolist(), bit.tolist(), strict=True))


def pack_items(
    discrimination: FloatArray, intercept: FloatArray, guessing: FloatArray | None, positions: IntArray
) -> tuple[PackedItems, IntArray]:
    """Lay out the items at ``positions`` of the bank by byte of the bank.

    Returns
    -------
    items : PackedItems
    columns : ndarray of int, (n_columns,)
        Where each item stands among the 8 n_bytes bits. Bytes of the bank without any of the items are left out.
    """
    byte_of = positions // ITEMS_PER_BYTE
    used, compact = np.unique(byte_of, return_inverse=True)
    columns = compact * ITEMS_PER_BYTE + positions % ITEMS_PER_BYTE

    def laid_out(values: FloatArray) -> FloatArray:
        flat = np.zeros(len(used) * ITEMS_PER_BYTE)
        flat[columns] = values[positions]
        return flat.reshape(-1, ITEMS_PER_BYTE)

    present = np.zeros(len(used) * ITEMS_PER_BYTE, dtype=np.bool_)
    present[columns] = True
    has_guessing = guessing is not None and bool(np.any(guessing > 0.0))
    items = PackedItems(
        laid_out(discrimination),
        laid_out(intercept),
        laid_out(guessing) if guessing is not None and has_guessing else None,
        present.reshape(-1, ITEMS_PER_BYTE),
    )
    return items, columns


def pack_rows(codes: CodeArray, columns: IntArray, n_bytes: int) -> tuple[ByteArray, ByteArray]:
    """Pack codes (1 right, 0 wrong, negative missing) into bits, row-major: ``right`` and ``answered``, (n_rows, n_bytes)."""
    n_rows = codes.shape[0]
    right = np.empty((n_rows, n_bytes), dtype=np.uint8)
    answered = np.empty_like(right)
    width = n_bytes * ITEMS_PER_BYTE
    in_order = codes.shape[1] == width and bool(np.array_equal(columns, np.arange(width)))
    spread = np.zeros((0 if in_order else min(n_rows, _PACK_ROWS), width), dtype=np.bool_)
    for start in range(0, n_rows, _PACK_ROWS):
        block = codes[start : start + _PACK_ROWS]
        for target, flags in ((right, block == 1), (answered, block >= 0)):
            bits = flags
            if not in_order:
                bits = spread[: len(block)]
                bits[:, columns] = flags
            target[start : start + len(block)] = np.packbits(bits, axis=1, bitorder="little")
    return right, answered


def group_rows(*parts: ByteArray) -> tuple[IntArray, IntArray]:
    """Find equal rows: ``first`` (one row of each kind) and ``inverse`` (the kind of each row)."""
    n_rows = parts[0].shape[0]
    n_bytes = sum(part.shape[1] for part in parts)
    n_words = max(1, -(-n_bytes // 8))
    padded = np.zeros((n_rows, n_words * 8), dtype=np.uint8)
    np.concatenate(parts, axis=1, out=padded[:, :n_bytes])
    words = padded.view(np.dtype("<u8"))
    if n_words == 1:
        return _group_keys(words[:, 0], 8 * n_bytes)
    key = words[:, 0].copy()
    for column in range(1, n_words):
        key ^= key >> np.uint64(29)
        key *= _MIX
        key += words[:, column]
    key ^= key >> np.uint64(29)
    key *= _MIX
    first, inverse = _group_keys(key, 64)
    if not np.array_equal(words[first][inverse], words):  # two different rows met in one hash
        _, first, inverse = np.unique(words, axis=0, return_index=True, return_inverse=True)
    return first.astype(np.int64), inverse.reshape(-1).astype(np.int64)


def _group_keys(key: NDArray[np.uint64], n_bits: int) -> tuple[IntArray, IntArray]:
    if n_bits <= _DIRECT_KEY_BITS and len(key) > 2 ** (n_bits - 4):
        small = key.astype(np.int64)
        first_of = np.full(2**n_bits, -1, dtype=np.int64)
        first_of[small[::-1]] = np.arange(len(key) - 1, -1, -1)
        met = np.flatnonzero(first_of >= 0)
        first = first_of[met]
        first_of[met] = np.arange(len(met))
        return first, first_of[small]
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return first.astype(np.int64), inverse.astype(np.int64)


def add_selected(total: FloatArray, selected: ByteArray, terms: FloatArray) -> None:
    """Add to each row of ``total`` the ``terms`` (8, ...) whose bit is set in that row's byte of ``selected``."""
    table, index = _selection_table(selected, terms)
    total += table[index]


def _selection_table(selected: ByteArray, terms: FloatArray) -> tuple[FloatArray, NDArray[np.integer]]:
    """Return the sums of ``terms`` (8, ...) for each byte that is met, and where each row's byte stands among them."""
    if len(selected) >= 2 * 256:
        values = np.arange(256, dtype=np.uint8)
        index: NDArray[np.integer] = selected
    else:
        met = np.zeros(256, dtype=np.bool_)
        met[selected] = True
        values = np.flatnonzero(met).astype(np.uint8)
        index = (np.cumsum(met) - 1)[selected]
    table = np.zeros((len(values), *terms.shape[1:]))
    for bit in range(ITEMS_PER_BYTE):
        table[(values >> bit) & 1 == 1] += terms[bit]
    return table, index


def selected_sum(selected: ByteArray, values: FloatArray) -> FloatArray:
    """Sum ``values`` (n_bytes, 8) over the set bits of each row of ``selected`` (n_bytes, n_rows)."""
    total = np.zeros(selected.shape[1])
    for byte in range(len(selected)):
        add_selected(total, selected[byte], values[byte])
    return total


def selected_maximum(selected: ByteArray, values: FloatArray) -> FloatArray:
    """Return the largest of the non-negative ``values`` (n_bytes, 8) over the set bits of each row, 0 for none."""
    total = np.zeros(selected.shape[1])
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    for byte in range(len(selected)):
        table = (bits * values[byte]).max(axis=1)
        np.maximum(total, table[selected[byte]], out=total)
    return total


def _log_terms(theta: FloatArray, items: PackedItems, byte: int) -> tuple[FloatArray, FloatArray]:
    """Return what the right and the answered items of a byte add to log L, each (8, n_nodes)."""
    a, d = items.discrimination[byte], items.intercept[byte]
    if items.guessing is None:
        eta = linear_predictor(theta, a, d).T.copy()
        return eta, -(np.maximum(eta, 0.0) + np.log1p(np.exp(-np.abs(eta))))  # 3 times as fast as scipy's log_expit
    right, wrong = log_probabilities(theta, a, d, items.guessing[byte])
    return np.ascontiguousarray((right - wrong).T), np.ascontiguousarray(wrong.T)


class AnsweredSums:
    """Sums of a function of theta over the items that each row answered, at fixed nodes.

    Rows with one and the same answered items are summed once; where nearly every row has its own, they are summed as needed.
    """

    def __init__(self, terms: Callable[[int], FloatArray], n_nodes: int, rows: PackedRows) -> None:
        self._terms = terms
        self._answered = rows.answered
        self._n_nodes = n_nodes
        self._table: FloatArray | None = None
        self._index: IntArray | None = None
        self.common: FloatArray | None = None
        """The sums (n_nodes,), where all rows answered the same items."""
        answered = rows.answered
        if rows.n_rows == 0:
            return
        if np.array_equal(answered.min(axis=1), answered.max(axis=1)):
            self.common = self._sums(answered[:, :1])[0]
            return
        first, index = group_rows(np.ascontiguousarray(answered.T))
        if len(first) * n_nodes <= _TABLE_CELLS:
            self._index = index
            self._table = self._sums(np.ascontiguousarray(answered[:, first]))

    def _sums(self, answered: ByteArray) -> FloatArray:
        total = np.zeros((answered.shape[1], self._n_nodes))
        for byte in range(len(answered)):
            add_selected(total, answered[byte], self._terms(byte))
        return total

    def block(self, start: int, stop: int) -> FloatArray:
        """Return the sums of rows ``start`` to ``stop``, node-major (n_nodes, stop - start)."""
        if self.common is not None:
            return np.repeat(self.common[:, None], stop - start, axis=1)
        if self._table is not None and self._index is not None:
            sums = self._table[self._index[start:stop]]
        else:
            sums = self._sums(self._answered[:, start:stop])
        return np.ascontiguousarray(sums.T)


class LogLikelihoodGrid:
    """Log-likelihoods of rows at fixed nodes, up to a constant of the row where no item has a lower asymptote.

    Without lower asymptotes log L = theta sum(a x) - sum log(1 + exp(a theta + d)) + sum(d x): the first sum is one number a row,
    the second depends on the items answered alone. With them both the right and the answered items are summed at every node.
    """

    def __init__(self, theta: FloatArray, items: PackedItems, rows: PackedRows) -> None:
        self._theta = theta
        self._items = items
        self._rows = rows
        self._kept: dict[int, tuple[FloatArray, FloatArray]] = {}
        self._keep = items.discrimination.size * len(theta) <= _TABLE_CELLS
        self._weighted = selected_sum(rows.right, items.discrimination) if items.guessing is None else None
        self._base = AnsweredSums(lambda byte: self._logs(byte)[1], len(theta), rows)

    def _logs(self, byte: int) -> tuple[FloatArray, FloatArray]:
        if byte in self._kept:
            return self._kept[byte]
        logs = _log_terms(self._theta, self._items, byte)
        if self._keep:
            self._kept[byte] = logs
        return logs

    def fill(self, out: FloatArray, start: int, stop: int) -> None:
        """Write the log-likelihoods of rows ``start`` to ``stop`` into ``out``, (n_nodes, stop - start)."""
        if self._weighted is None:
            right = self._rows.right[:, start:stop]
            sums = np.zeros((stop - start, len(self._theta)))
            for byte in range(len(right)):
                add_selected(sums, right[byte], self._logs(byte)[0])
            out[...] = self._base.block(start, stop)
            out += sums.T
            return
        weighted = self._weighted[start:stop]
        base = self._base.common if self._base.common is not None else self._base.block(start, stop)
        for node, theta in enumerate(self._theta.tolist()):
            np.multiply(weighted, theta, out=out[node])
            out[node] += base[node]


def window_shifts(first: IntArray, n_nodes: int) -> IntArray:
    """Place windows of ``n_nodes`` lattice nodes from ``first`` (increasing) on, in one array without the gaps between them."""
    shifts = np.zeros(len(first), dtype=np.int64)
    np.cumsum(np.minimum(np.diff(first), n_nodes), out=shifts[1:])
    return shifts


class LogLikelihoodWindows:
    """Log-likelihoods of rows as of `LogLikelihoodGrid`, to the same bits, but each row at a window of nodes of its own.

    Row i has the nodes (first[i] + 0, 1, ..., n_nodes - 1) * spacing, ``first`` increasing. Sums over items are tabulated once
    for all nodes that some window has.
    """

    def __init__(self, first: IntArray, spacing: float, n_nodes: int, items: PackedItems, rows: PackedRows) -> None:
        self._first = first.astype(np.float64)
        self._spacing = spacing
        self._items = items
        self._rows = rows
        self._shifts = window_shifts(first, n_nodes)
        place = np.arange(self._shifts[-1] + n_nodes)
        owner = np.searchsorted(self._shifts, place, side="right") - 1
        self._theta = (first[owner] + (place - self._shifts[owner])) * spacing

    def fill(self, out: FloatArray) -> None:
        """Write the log-likelihoods of all rows into ``out``, (n_nodes, n_rows)."""
        self._add_base(out)
        if self._items.guessing is not None:
            sums = np.zeros_like(out)
            for byte in range(len(self._rows.right)):
                self._add(sums, *_selection_table(self._rows.right[byte], _log_terms(self._theta, self._items, byte)[0]))
            out += sums
            return
        weighted = selected_sum(self._rows.right, self._items.discrimination)
        theta = np.empty(self._rows.n_rows)
        for node, row in enumerate(out):
            np.add(self._first, node, out=theta)
            theta *= self._spacing
            theta *= weighted
            row += theta

    def _add_base(self, out: FloatArray) -> None:
        answered = self._rows.answered
        out[...] = 0.0
        if np.array_equal(answered.min(axis=1), answered.max(axis=1)):
            table = np.zeros((1, len(self._theta)))
            for byte in range(len(answered)):
                add_selected(table, answered[byte, :1], _log_terms(self._theta, self._items, byte)[1])
            self._add(out, table, np.zeros(self._rows.n_rows, dtype=np.int64))
            return
        for byte in range(len(answered)):
            self._add(out, *_selection_table(answered[byte], _log_terms(self._theta, self._items, byte)[1]))

    def _add(self, out: FloatArray, table: FloatArray, index: NDArray[np.integer]) -> None:
        """Add to each row its line ``index`` of ``table`` (n_lines, n_theta), from the row's shift on."""
        n_lines = len(table)
        flat = np.ascontiguousarray(table.T).ravel()
        place = self._shifts * n_lines + index
        for node, row in enumerate(out):
            row += flat[node * n_lines :].take(place)


def information_sums(theta: FloatArray, items: PackedItems, rows: PackedRows) -> AnsweredSums:
    """Return test information over the answered items at fixed nodes."""

    def terms(byte: int) -> FloatArray:
        guessing = None if items.guessing is None else items.guessing[byte]
        return np.ascontiguousarray(item_information(theta, items.discrimination[byte], items.intercept[byte], guessing).T)

    return AnsweredSums(terms, len(theta), rows)
