"""Rates, counts by reason, and the printed face of a response matrix."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from psychoedu._typing import CodeArray, IntArray
from psychoedu.exceptions import LabelError
from psychoedu.response_codes import Reason
from psychoedu.validation import SHOWN, counted, listed

if TYPE_CHECKING:
    from psychoedu.response_data import ResponseData

_INVALID = [reason for reason in Reason if reason.is_invalid]


def count_codes(codes: CodeArray, axis: str) -> pd.DataFrame:
    """Count every code along the runs and the other axis; a row per respondent or item, a column per kind of cell."""
    over = (1, 2) if axis == "respondent" else (0, 2)
    columns: dict[str, IntArray] = {
        "right": np.count_nonzero(codes == 1, axis=over),
        "wrong": np.count_nonzero(codes == 0, axis=over),
    }
    lowest = codes.min()
    for reason in Reason:
        absent = reason < lowest
        shape = codes.shape[0 if axis == "respondent" else 1]
        columns[reason.label] = np.zeros(shape, dtype=np.int64) if absent else np.count_nonzero(codes == reason, axis=over)
    return pd.DataFrame(columns)


def rates_of(counts: pd.DataFrame) -> pd.DataFrame:
    """Put the three shares of right answers beside the counts."""
    valid = counts["right"] + counts["wrong"]
    invalid = counts[[reason.label for reason in _INVALID]].sum(axis=1)
    right = counts["right"].astype(np.float64)
    table = pd.DataFrame(index=counts.index)
    for name, tried in (
        ("rate_invalid_wrong", valid + invalid),
        ("rate_invalid_missing", valid),
        ("rate_failed_wrong", valid + invalid + counts["api_error"]),
    ):
        table[name] = right / tried.where(tried > 0).astype(np.float64)
    return pd.concat([table, counts], axis=1)


def rates(matrix: ResponseData, by: str | None) -> pd.DataFrame:
    """Compute what :meth:`~psychoedu.responses.ResponseMatrix.rates` returns."""
    codes = matrix.repeat_codes
    if by == "item":
        counts = count_codes(codes, "item")
        counts.index = matrix.item_labels
        return rates_of(counts)
    counts = count_codes(codes, "respondent")
    counts.index = matrix.respondent_labels
    if by == "respondent":
        return rates_of(counts)
    if by is None:
        return rates_of(counts.sum(axis=0).to_frame().T.set_axis(pd.Index(["all"]), axis=0))
    table = matrix.respondents
    if by in table.columns:
        return rates_of(counts.groupby(table[by], sort=False, observed=True, dropna=False).sum())
    attributes = matrix.items
    if by in attributes.columns:
        counts = count_codes(codes, "item")
        counts.index = matrix.item_labels
        return rates_of(counts.groupby(attributes[by], sort=False, observed=True, dropna=False).sum())
    raise LabelError(
        f"by={by!r} is neither 'respondent' nor 'item' nor a column beside them.\n"
        f"The respondents' columns are {listed(table.columns) or 'none'}; the items' are {listed(attributes.columns) or 'none'}."
    )


def one_line(matrix: ResponseData) -> str:
    """Write the matrix in one line: its size, the cells without a score, the groups."""
    codes = matrix.repeat_codes
    size = f"{_number(matrix.n_respondents, 'respondent')} x {_number(matrix.n_items, 'item')}"
    if matrix.n_repeats > 1:
        size += f" x {matrix.n_repeats} runs"
    parts = [size]
    if matrix.reduction is not None:
        parts.append(f"repeats reduced by {matrix.reduction}")
    counts = _total_counts(codes)
    absent = counts.pop(Reason.NOT_ADMINISTERED)
    if absent:
        share = 100.0 * absent / codes.size
        parts.append(f"{share:.1f}% not administered" if share >= 0.05 else f"{absent} not administered")
    parts += [f"{count:,} {_words(reason)}" for reason, count in counts.items() if count]
    text = ", ".join(parts)
    groups = _groups(matrix)
    return f"ResponseMatrix({text}; groups: {groups})" if groups else f"ResponseMatrix({text})"


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _total_counts(codes: CodeArray) -> dict[Reason, int]:
    lowest = codes.min()
    return {reason: 0 if reason < lowest else int(np.count_nonzero(codes == reason)) for reason in Reason}


def _words(reason: Reason) -> str:
    return "failed (API error)" if reason is Reason.API_ERROR else reason.label.replace("_", " ")


def _groups(matrix: ResponseData) -> str:
    table = matrix.respondents
    if "group" not in table.columns:
        return ""
    sizes = table["group"].value_counts(sort=False)
    shown = ", ".join(f"{label} {count}" for label, count in sizes.iloc[:SHOWN].items())
    return shown if len(sizes) <= SHOWN else f"{shown} and {len(sizes) - SHOWN} more"


def summary(matrix: ResponseData) -> str:
    """Write sizes, policy, counts by reason and both rates as fixed-width text."""
    total = rates(matrix, None).iloc[0]
    codes = matrix.repeat_codes
    lines = [
        "Response matrix",
        "=" * 60,
        f"{'respondents':<28}{matrix.n_respondents:>12,}",
        f"{'items':<28}{matrix.n_items:>12,}",
    ]
    if matrix.n_repeats > 1:
        lines.append(f"{'runs of each cell, at most':<28}{matrix.n_repeats:>12,}")
    lines.append(f"{'repeats reduced by':<28}{matrix.reduction or ('not yet' if matrix.n_repeats > 1 else 'none'):>12}")
    lines.append(f"{'invalid answers count as':<28}{matrix.invalid:>12}")
    groups = _groups(matrix)
    if groups:
        lines.append(f"groups: {groups}")
    lines += ["-" * 60, f"{'cells':<28}{'count':>12}{'share':>10}"]
    names = ["right", "wrong", *(reason.label for reason in Reason)]
    for name in names:
        count = int(total[name])
        if count or name in ("right", "wrong"):
            lines.append(f"{name.replace('_', ' '):<28}{count:>12,}{100.0 * count / codes.size:>9.1f}%")
    lines += ["-" * 60, "share of right answers"]
    for name, words in (
        ("rate_invalid_wrong", "invalid answers as wrong"),
        ("rate_invalid_missing", "invalid answers as missing"),
        ("rate_failed_wrong", "failed calls as wrong too"),
    ):
        rate = total[name]
        lines.append(f"{'  ' + words:<28}{'none scored' if np.isnan(rate) else f'{rate:.4f}':>12}")
    without = int(np.count_nonzero((codes < 0).all(axis=(1, 2))))
    if without:
        lines.append(f"{counted(without, 'respondent')} without any score")
    return "\n".join(lines)


def as_html(matrix: ResponseData) -> str:
    """Write the one-line description over a table of rates, for notebooks."""
    table = rates(matrix, "group" if "group" in matrix.respondents.columns else None)
    kept = table.loc[:, [name for name in table.columns if name.startswith("rate_") or table[name].any()]]
    body = kept.to_html(float_format=lambda value: f"{value:.3f}", na_rep="", border=0)
    return f"<div><p><b>{html.escape(one_line(matrix))}</b></p>{body}</div>"
