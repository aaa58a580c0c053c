"""What was read of several files, joined into one table of records: nobody counted twice, nothing renamed in silence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from psychoedu.exceptions import RecordsError, ResultsFormatError
from psychoedu.runners.importers.content import Reading
from psychoedu.runners.records import KEY, Records
from psychoedu.runners.records_frame import MISSING, clean_text, is_clean, places_of, refuse_doubles, refuse_of_file, typed
from psychoedu.runners.records_tables import numbered_on
from psychoedu.validation import counted, listed, shown

_CELL = list(KEY[1:])


def joined(readings: Sequence[Reading], notes: Sequence[str], repeats: str | None) -> Records:
    """Join what was read of several files.

    Parameters
    ----------
    readings : sequence of Reading
    notes : sequence of str
        From finding the files.
    repeats : {"append"} or None
        What to do where two files hold the same model, condition, item and epoch.

    Raises
    ------
    RecordsError
        They do, and ``repeats`` is None.
    """
    kept = _each_log_once(readings)
    told = [*notes, *(note for reading in kept for note in reading.notes)]
    told += _note_of_doubles(readings, kept)
    frames = [_with_key(reading) for reading in kept]
    frames = _latest_attempts(kept, frames, told)
    frames = _told_apart_by_benchmark(frames, told)
    table = frames[0] if repeats is None else _numbered_within(frames[0], told)
    for frame in frames[1:]:
        following = frame if repeats is None else numbered_on(table, _numbered_within(frame, told))[0]
        table = pd.concat([table, following], ignore_index=True)
    if repeats is None:
        refuse_doubles(table, _CELL, _mend(kept, table), _places(table))
    elif len(frames) > 1:
        told.append("Where two files hold the same model, condition, item and epoch, the later ones are further runs.")
    own = [name for name in table.columns if str(name).startswith("_")]
    try:
        return Records(table.drop(columns=own), tuple(told))
    except RecordsError:
        for reading in kept:  # which of the files it was, and where in it
            theirs = [name for name in reading.frame.columns if str(name).startswith("_")]
            refuse_of_file(reading.frame.drop(columns=theirs), reading.source, reading.unit)
        raise


def _places(table: pd.DataFrame) -> Callable[[Any], str]:
    """Return how doubles are named: by their lines, or the numbers of their records, in the files."""

    def named(rows: Any) -> str:
        return f"{table['_unit'].iloc[rows[0]]}s {listed(table['_line'].iloc[rows].to_list())}"

    return named


def _with_key(reading: Reading) -> pd.DataFrame:
    """Fill in the columns that tell records apart, untyped, so that tables can be joined whatever they lack."""
    absent = [name for name in ("model", "item_id") if name not in reading.frame]
    if absent:
        raise ResultsFormatError(
            f"{reading.source}: no column {listed(absent)}; the table has {listed(list(reading.frame.columns))}.\n"
            "Expected at least model, item_id, and score or reason."
        )
    filled = reading.frame.astype(object).reset_index(drop=True)
    filled["_line"] = reading.frame.index.to_numpy() + (reading.unit != "line")
    filled["_unit"] = reading.unit
    if "epoch" in filled:
        try:
            filled["epoch"] = typed(filled["epoch"], "integer", places_of(reading.frame.index, reading.unit)).astype(object)
        except RecordsError as error:
            raise RecordsError(f"{reading.source}: {error}") from error
    for name, default in (
        ("run_id", ""),
        ("condition", ""),
        ("epoch", 1),
        ("log_uri", None),
        ("benchmark", None),
        ("reason", None),
    ):
        if name not in filled:
            filled[name] = pd.Series(np.full(len(filled), default, dtype=object), dtype=object)
        elif default is not None:
            filled[name] = filled[name].where(filled[name].notna(), default)
    for name in ("run_id", "benchmark", "model", "item_id", "condition"):
        known = filled[name].notna()
        if not is_clean(filled[name].to_numpy(), known.to_numpy()):
            texts = [None if missing else clean_text(str(value)) for value, missing in zip(filled[name], ~known, strict=True)]
            filled[name] = pd.Series(texts, dtype=object)
    return filled


def _each_log_once(readings: Sequence[Reading]) -> list[Reading]:
    seen: set[str] = set()
    kept = []
    for reading in readings:
        if reading.identity is not None and reading.identity in seen:
            continue
        if reading.identity is not None:
            seen.add(reading.identity)
        kept.append(reading)
    return kept


def _note_of_doubles(readings: Sequence[Reading], kept: Sequence[Reading]) -> list[str]:
    left_out = [reading.source for reading in readings if reading not in kept]
    if not left_out:
        return []
    return [f"{counted(len(left_out), 'file')} of logs that were read already (same eval_id) left out: {listed(left_out)}."]


def _latest_attempts(readings: Sequence[Reading], frames: list[pd.DataFrame], notes: list[str]) -> list[pd.DataFrame]:
    """Keep one record of each sample of an evaluation that was tried again: a finished one, of these the latest."""
    attempts: dict[str, list[int]] = defaultdict(list)
    for place, reading in enumerate(readings):
        if reading.task_identity is not None:
            attempts[reading.task_identity].append(place)
    result = list(frames)
    for places in attempts.values():
        if len(places) < 2:
            continue
        places.sort(key=lambda place: readings[place].created)
        both = pd.concat([frames[place].assign(_place=place, _order=order) for order, place in enumerate(places)])
        both["_done"] = ~both["reason"].isin(MISSING)
        both = both.sort_values(["_done", "_order"], kind="stable")
        best = both[~both.duplicated([*_CELL, "benchmark"], keep="last")]
        if len(best) < len(both):
            sources = [Path(readings[place].source).name for place in places]
            notes.append(
                f"{counted(len(both) - len(best), 'record')} of earlier attempts at one evaluation (same task_id) replaced by "
                f"later ones: {listed(sources)}."
            )
        for place in places:
            rows = best.index[best["_place"] == place]
            result[place] = frames[place].loc[frames[place].index.isin(rows)].reset_index(drop=True)
    return [frame for frame in result if len(frame)]


def _told_apart_by_benchmark(frames: list[pd.DataFrame], notes: list[str]) -> list[pd.DataFrame]:
    """Put the benchmark before the labels of items where benchmarks share labels."""
    owners: dict[str, set[frozenset[str]]] = defaultdict(set)
    for frame in frames:
        own: dict[str, set[str]] = defaultdict(set)
        for benchmark, item in frame[["benchmark", "item_id"]].drop_duplicates().itertuples(index=False):
            if isinstance(benchmark, str) and benchmark:
                own[item].add(benchmark)
        for item, names in own.items():  # within one file the labels are as its writer wanted them
            owners[item].add(frozenset(names))
    sharing = sorted(set().union(*(name for names in owners.values() if len(names) > 1 for name in names)))
    if not sharing:
        return frames
    notes.append(
        f"Benchmarks {listed(sharing)} share labels of items; the benchmark was put before them: {shown(sharing[0] + '/...')}."
    )
    made = []
    for frame in frames:
        labels = [
            f"{benchmark}/{item}" if benchmark in sharing and not str(item).startswith(f"{benchmark}/") else item
            for benchmark, item in zip(frame["benchmark"], frame["item_id"], strict=True)
        ]
        made.append(frame.assign(item_id=pd.Series(labels, dtype=object, index=frame.index)))
    return made


def _numbered_within(frame: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Give the responses that stand in one file twice further epochs, in their order."""
    twice = frame.duplicated(_CELL, keep=False)
    if not twice.any():
        return frame
    group = ["model", "condition", "item_id"]
    notes.append(f"{counted(int(twice.sum()), 'record')} of the same item and epoch in one file were numbered as runs.")
    affected = frame.set_index(group).index.isin(frame.loc[twice].set_index(group).index)
    numbers = frame.groupby(group, sort=False).cumcount() + 1
    return frame.assign(epoch=frame["epoch"].where(~affected, numbers))


def _mend(readings: Sequence[Reading], table: pd.DataFrame) -> str:
    """Say how to mend clashing logs: by the arguments in which they differ, or as further runs."""
    twice = table[table.duplicated(_CELL, keep=False)]
    sources = set(twice["log_uri"].dropna())
    clashing = [reading for reading in readings if reading.source in sources]
    names = dict.fromkeys(name for reading in clashing for name in reading.arguments)
    differing = [name for name in names if len({repr(reading.arguments.get(name)) for reading in clashing}) > 1]
    if differing:
        return (
            f"The logs differ in the task's arguments {listed(differing)}: name the one that is the condition, as in "
            f"condition={differing[0]!r}; or pass repeats='append' if they are further runs."
        )
    if len(sources) > 1:
        return "If they are further runs of the same questions, pass repeats='append'; else leave one of the files out."
    return "If they are runs, say so with a column epoch, or pass repeats='append'; else drop the double rows."
