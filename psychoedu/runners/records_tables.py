"""Tables made of records: rewards, rates under each policy, agreement between runs, several runs joined, the summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from psychoedu.exceptions import RecordsError
from psychoedu.response_codes import ANSWERED, Reason
from psychoedu.response_data import INVALID_POLICIES
from psychoedu.runners.records_frame import INVALID, RECORD_COLUMNS, printable
from psychoedu.runners.records_matrix import cells_without_answer
from psychoedu.validation import check_choice, check_columns, counted, listed

KINDS = {
    ANSWERED: "answered",
    Reason.REFUSED.label: "refused",
    Reason.UNPARSED.label: "unparsed",
    Reason.EMPTY.label: "empty",
    Reason.API_ERROR.label: "failed",
    Reason.NOT_REACHED.label: "absent",
    Reason.NOT_ADMINISTERED.label: "absent",
}
"""Name of the count that a reason goes into."""

_REWARD_COLUMNS = ("model", "condition", "task", "reward", "repeat", "benchmark", "subset")


def rewards(frame: pd.DataFrame, invalid: str, columns: Mapping[str, str]) -> pd.DataFrame:
    """Return the long table of rewards; see :meth:`~psychoedu.runners.records.Records.rewards`."""
    check_choice(invalid, INVALID_POLICIES, "invalid")
    check_columns(frame, list(columns.values()), "rewards")
    taken = [name for name in columns if name in _REWARD_COLUMNS]
    if taken:
        raise RecordsError(f"rewards() makes the columns {listed(taken)} itself; choose other names.")
    reward = (frame["score"] / frame["max_score"]).astype(np.float64)
    if invalid == "missing":
        reward = reward.mask(frame["reason"].isin(INVALID))
    table = pd.DataFrame(
        {
            "model": frame["model"],
            "condition": frame["condition"],
            "task": frame["item_id"],
            "reward": reward,
            "repeat": frame["epoch"].astype(np.int64),
            "benchmark": frame["benchmark"],
            "subset": frame["subset"],
        }
    )
    further = [name for name in frame.columns if name not in RECORD_COLUMNS and name not in _REWARD_COLUMNS]
    return table.assign(**{name: frame[name] for name in further}, **{new: frame[old] for new, old in columns.items()})


def rates(frame: pd.DataFrame, by: str | Sequence[str]) -> pd.DataFrame:
    """Return counts by reason and mean scores; see :meth:`~psychoedu.runners.records.Records.rates`."""
    names = [by] if isinstance(by, str) else list(by)
    check_columns(frame, names, "by")
    share = (frame["score"] / frame["max_score"]).astype(np.float64)
    kind = frame["reason"].map(KINDS)
    answered = kind == "answered"
    flags = {name: kind == name for name in dict.fromkeys(KINDS.values())}
    counts = pd.DataFrame(
        {
            "n": 1,
            "answered": answered,
            "right": answered & (share == 1.0),
            "partial": answered & (share > 0.0) & (share < 1.0),
            "wrong": answered & (share == 0.0),
            **{name: flag for name, flag in flags.items() if name != "answered"},
            "points": share.fillna(0.0),
        }
    )
    keys = [frame[name] for name in names]
    table = counts.groupby(keys, sort=False, dropna=False).sum()
    points = table.pop("points")
    table = table.astype(np.int64)
    given = table["n"] - table["failed"] - table["absent"]
    for name, total in (
        ("rate_invalid_wrong", given),
        ("rate_invalid_missing", table["answered"]),
        ("rate_failed_wrong", given + table["failed"]),
    ):
        table[name] = points / total.where(total > 0)
    return table


def test_retest(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the agreement between runs; see :meth:`~psychoedu.runners.records.Records.test_retest`."""
    from psychoedu.runners import measures

    return measures.retest_agreement(frame)


test_retest.__test__ = False  # type: ignore[attr-defined]


def concatenated(frames: Sequence[pd.DataFrame], append: bool) -> tuple[pd.DataFrame, list[str]]:
    """Join the tables of several records; with ``append``, runs that are there already are numbered on."""
    notes: list[str] = []
    joined = frames[0]
    for frame in frames[1:]:
        if append:
            frame, moved = numbered_on(joined, frame)
            if moved:
                notes.append(f"{counted(moved, 'record')} of a further file were appended as later runs of the same items.")
        joined = pd.concat([_as_objects(joined), _as_objects(frame)], ignore_index=True)
    return joined, notes


def _as_objects(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table with untyped columns, so that columns without values do not decide a type."""
    return frame.astype(object)


def numbered_on(before: pd.DataFrame, frame: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Move the epochs of a model and condition behind those known, where one of its items was asked in the same epoch."""
    cell = ["model", "condition", "item_id", "epoch"]
    group = ["model", "condition"]
    known = before[cell].astype({"epoch": "int64"})
    new = frame[cell].astype({"epoch": "int64"})
    clashing = new.merge(known.drop_duplicates(), on=cell)[group].drop_duplicates()
    if not len(clashing):
        return frame, 0
    last = known.groupby(group, sort=False)["epoch"].max().rename("last").reset_index()
    first = new.groupby(group, sort=False)["epoch"].min().rename("first").reset_index()
    shift = clashing.merge(last, on=group).merge(first, on=group)
    offset = new[group].merge(shift, on=group, how="left")
    by = (offset["last"] - offset["first"] + 1).fillna(0).astype(np.int64).to_numpy()
    return frame.assign(epoch=new["epoch"].to_numpy() + by), int((by > 0).sum())


def summary(frame: pd.DataFrame, notes: Sequence[str]) -> str:
    """Return the records in words and two short tables."""
    benchmarks = [name for name in dict.fromkeys(frame["benchmark"]) if name]
    lines = [
        f"{counted(len(frame), 'record')}: {counted(frame['model'].nunique(), 'model')}, "
        f"{counted(frame['item_id'].nunique(), 'item')}, {counted(frame['epoch'].nunique(), 'run')}"
        + (f"; benchmark {listed(benchmarks)}" if benchmarks else "")
    ]
    names = ["model", *(["condition"] if (frame["condition"] != "").any() else [])]
    table = rates(frame, names).reset_index()
    counts = [name for name in ("partial", "refused", "unparsed", "empty", "failed", "absent") if table[name].any()]
    shown_columns = [
        *names,
        "n",
        "answered",
        "right",
        "wrong",
        *counts,
        *(name for name in table if str(name).startswith("rate_")),
    ]
    for name in names:
        table[name] = table[name].map(printable)
    lines += ["", table[shown_columns].to_string(index=False, float_format=lambda value: f"{value:.3f}", na_rep="-")]
    lines += [
        "",
        "rate_invalid_wrong: refused, unparsed and empty answers count as wrong, failed calls are left out.",
        "rate_invalid_missing: answers alone. rate_failed_wrong: failed calls count as wrong too.",
    ]
    notes = [*notes, *_note_on_votes(frame)]
    if notes:
        lines += ["", "Notes:", *(f"- {printable(note)}" for note in notes)]
    return "\n".join(lines)


def _note_on_votes(frame: pd.DataFrame) -> list[str]:
    """Say in how many cells with several runs scores have to vote, because some parsed answers are absent."""
    cell = ["model", "condition", "item_id"]
    parsed = frame["parsed"].notna().any()
    lacking = frame.loc[cells_without_answer(frame, cell), cell] if parsed else frame.iloc[:0][cell]
    several = lacking[lacking.duplicated()].drop_duplicates()
    if not len(several):
        return []
    return [
        f"{counted(len(several), 'item')} of a model with an answered run that has no parsed answer: there the scores vote "
        f"(repeats='majority'), first item {several['item_id'].iloc[0]!r}."
    ]
