"""From records to the response matrix: labels joined, scores made 0 and 1, metadata taken along."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from psychoedu.exceptions import RecordsError
from psychoedu.response_codes import ANSWERED
from psychoedu.responses import ResponseMatrix
from psychoedu.runners.records_frame import RECORD_COLUMNS, refuse_doubles
from psychoedu.validation import check_columns, check_probability, counted, listed, shown

RESPONDENT = "respondent"
_OF_RESPONDENTS = ("provider", "model_version", "temperature", "top_p", "max_tokens")
_OF_ITEMS = ("benchmark", "subset")


def columns_of(respondent: str | Sequence[str]) -> list[str]:
    """Return the columns that make a respondent, as a list."""
    return [respondent] if isinstance(respondent, str) else list(respondent)


def long_frame(frame: pd.DataFrame, respondent: str | Sequence[str], threshold: float | None) -> pd.DataFrame:
    """Return the records with one label per respondent and scores of 0, 1 or missing."""
    names = columns_of(respondent)
    if not len(frame):
        raise RecordsError("There are no records, so there is no matrix. Check the filter or the file they came from.")
    check_columns(frame, names, "respondent")
    long = frame.assign(**{RESPONDENT: _labels(frame, names), "score": _zero_one(frame, threshold)})
    mend = "Number further runs in the column epoch (Records.concat(..., repeats='append') does)"
    left_out = [name for name in ("model", "condition") if name not in names and frame[name].nunique() > 1]
    if left_out:
        mend = f"They differ in {listed(left_out)}, which respondent={tuple(names)!r} leaves out"
    elif frame["run_id"].nunique() > 1:
        mend += ", or keep one run"
    refuse_doubles(long, [RESPONDENT, "item_id", "epoch"], mend + ".")
    return long


def _labels(frame: pd.DataFrame, names: list[str]) -> pd.Series:
    parts = [["" if pd.isna(value) else str(value) for value in frame[name]] for name in names]
    labels = [" / ".join(part for part in row if part) for row in zip(*parts, strict=True)]
    blank = [row for row, label in enumerate(labels) if not label]
    if blank:
        raise RecordsError(
            f"{counted(len(blank), 'record')} with nothing in {listed(names)}, at rows {listed(blank)} (from 0). "
            "Expected a label for every respondent; name other columns with respondent=."
        )
    return pd.Series(labels, index=frame.index, dtype=object)


def _zero_one(frame: pd.DataFrame, threshold: float | None) -> pd.Series:
    share = (frame["score"] / frame["max_score"]).to_numpy(dtype=np.float64)
    known = ~np.isnan(share)
    if threshold is None:
        partial = known & (share != 0.0) & (share != 1.0)
        if partial.any():
            items = frame.loc[partial, "item_id"].unique()
            first = frame.loc[partial].iloc[0]
            raise RecordsError(
                f"{counted(int(partial.sum()), 'record')} of {counted(len(items), 'item')} ({listed(items)}) with partial "
                f"scores, the first {first['score']:g} of {first['max_score']:g}; a matrix holds 0 and 1.\n"
                "Say from which share of the highest score an answer is right, as in threshold=0.5, or use .rewards(), which "
                "keeps the fractions."
            )
        right = share == 1.0
    else:
        least = 1.0 if threshold == 1 else check_probability(threshold, "threshold")
        right = share >= least
    return pd.Series(np.where(known, right.astype(np.float64), np.nan), index=frame.index)


def matrix(
    long: pd.DataFrame, respondent: str | Sequence[str], repeats: str | None, invalid: str, unparsed: str, votes: str
) -> ResponseMatrix:
    """Make the matrix of the records prepared by :func:`long_frame`."""
    has_answers = votes == "answers" and not bool(_blank(long.loc[long["reason"] == ANSWERED, "parsed"]).all())
    if has_answers:
        long = long.assign(parsed=_votes(long))
    names = columns_of(respondent)
    about = [*names, *(name for name in _OF_RESPONDENTS if name not in names and _is_attribute(long, RESPONDENT, name))]
    further = [name for name in long.columns if name not in RECORD_COLUMNS and name not in (RESPONDENT, *about)]
    items = [name for name in (*_OF_ITEMS, *further) if name not in about and _is_attribute(long, "item_id", name)]
    read = ResponseMatrix.from_long(
        _told_apart(long, names),
        respondent=RESPONDENT,
        item="item_id",
        score="score",
        answer="parsed" if has_answers else None,
        reason="reason",
        repeat="epoch",
        repeats=None,
        invalid=invalid,
        respondent_columns=about,
        item_columns=items,
    )
    return read if repeats is None else read.reduce(repeats, unparsed=unparsed)


def _votes(long: pd.DataFrame) -> pd.Series:
    """Return the parsed answers; the scores in cells in which an answered run has none."""
    by_score = cells_without_answer(long, [RESPONDENT, "item_id"]) & (long["reason"] == ANSWERED)
    return long["parsed"].where(~by_score, long["score"].map(lambda score: f"score {score:g}"))


def cells_without_answer(frame: pd.DataFrame, cell: Sequence[str]) -> pd.Series:
    """Return which records belong to a cell with an answered record that has no parsed answer."""
    lacking = (frame["reason"] == ANSWERED) & _blank(frame["parsed"])
    if not lacking.any():
        return lacking
    return lacking.groupby([frame[name] for name in cell], sort=False).transform("any").astype(bool)


def _blank(column: pd.Series) -> pd.Series:
    return column.map(lambda text: text is None or not text.strip()).astype(bool)


def _is_attribute(long: pd.DataFrame, owner: str, name: str) -> bool:
    """Return whether a column has a value, and no more than one for each respondent or item."""
    known = long.loc[long[name].notna(), [owner, name]]
    return bool(len(known)) and not bool(known.drop_duplicates()[owner].duplicated().any())


def _told_apart(long: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Refuse two respondents whose joined labels are alike."""
    pairs = long[[RESPONDENT, *names]].drop_duplicates()
    alike = pairs[pairs[RESPONDENT].duplicated(keep=False)]
    if len(alike):
        label = alike[RESPONDENT].iloc[0]
        raise RecordsError(
            f"Different values of {listed(names)} give one label, {shown(label)}: {alike[names].to_numpy().tolist()[:2]}.\n"
            "Rename a model or condition so that labels joined by ' / ' differ."
        )
    return long
