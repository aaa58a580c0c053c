"""The report of one evaluation: its tables, apart from those of every other evaluation, and what its functions share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from psychoedu.exceptions import DataError, RecordsError
from psychoedu.runners.banks.keys import load_keys
from psychoedu.runners.measures import key_sensitivity
from psychoedu.runners.records import Records
from psychoedu.runners.records_frame import MISSING
from psychoedu.validation import counted, listed

GROUP = ["model", "condition"]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What one evaluation of AlignED says of the models of a run.

    Attributes
    ----------
    name : str
        The benchmark's.
    title : str
    tables : dict of str to DataFrame
        The scores first, then what else there is.
    notes : tuple of str
        What somebody who reads the scores should know.

    Notes
    -----
    There is no table over several evaluations, on purpose: their scores mean different things.
    """

    name: str
    title: str
    tables: Mapping[str, pd.DataFrame]
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> pd.DataFrame:
        """Return a table by its name."""
        if name not in self.tables:
            raise DataError(f"{self.title} has no table {name!r}. Expected one of {listed(list(self.tables))}.")
        return self.tables[name]

    def summary(self) -> str:
        """Return all tables as fixed-width text, each under its name, then the notes."""
        parts = [self.title]
        for name, table in self.tables.items():
            text = table.to_string(float_format=lambda value: f"{value:.3f}", na_rep="-")
            parts.append(f"{name.replace('_', ' ').capitalize()}\n{text}")
        if self.notes:
            parts.append("\n".join(["Notes:", *(f"- {note}" for note in self.notes)]))
        return "\n\n".join(parts)

    def save(self, folder: str | Path) -> list[Path]:
        """Write every table as CSV, ``evaluation_<table>.csv``.

        Parameters
        ----------
        folder : str or Path
            Exists.
        """
        written = []
        for name, table in self.tables.items():
            written.append(Path(folder) / f"evaluation_{name}.csv")
            table.to_csv(written[-1])
        return written


def frame_of(records: Records, benchmark: str) -> pd.DataFrame:
    """Return the records of one evaluation, or refuse those of another.

    Raises
    ------
    RecordsError
        There are none, or some belong to another benchmark.
    """
    frame = records.frame
    if not len(frame):
        raise RecordsError(f"There are no records of {benchmark}.")
    others = [name for name in dict.fromkeys(frame["benchmark"].dropna()) if name not in (benchmark, "")]
    if others:
        raise RecordsError(
            f"Records of {listed(others)} among those of {benchmark}. Evaluations are reported one at a time: keep one of them."
        )
    return frame


def with_reply(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with a reply: calls that failed or were never made are missing, not wrong."""
    return frame[~frame["reason"].isin(MISSING)]


def iteration_scores(frame: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return the score of models as AlignED reports it: the percentage of each iteration, and the mean over iterations.

    Parameters
    ----------
    frame : DataFrame
        Records; invalid replies have the score 0, failed calls none.
    by : list of str
        Columns that make a row.

    Returns
    -------
    DataFrame by ``by``
        ``n_items``, ``n_iterations``, ``percent`` (mean over iterations), ``sd``, ``low``, ``high`` over iterations, ``invalid``
        (empty, refused and unreadable replies, counted as wrong) and ``failed`` calls, which are left out.
    """
    frame = frame.assign(share=(frame["score"] / frame["max_score"]).astype(np.float64))
    each = frame.groupby([*by, "epoch"], sort=False, dropna=False)["share"].mean().groupby(by, sort=False, dropna=False)
    failed = frame["reason"].isin(MISSING)
    counts = (
        frame.assign(failed=failed, invalid=~failed & ~frame["valid"].astype(bool))
        .groupby(by, sort=False, dropna=False)[["invalid", "failed"]]
        .sum()
        .astype(np.int64)
    )
    items = frame.groupby(by, sort=False, dropna=False)["item_id"].nunique()
    table = pd.DataFrame(
        {
            "n_items": items,
            "n_iterations": each.count(),
            "percent": 100.0 * each.mean(),
            "sd": 100.0 * each.std(),
            "low": 100.0 * each.min(),
            "high": 100.0 * each.max(),
        }
    )
    return table.join(counts)


def column_of(frame: pd.DataFrame, name: str) -> pd.Series:
    """Return a column that the evaluation's own task writes.

    Raises
    ------
    RecordsError
        It is absent: the records come from elsewhere.
    """
    if name not in frame:
        raise RecordsError(f"The records have no column {name!r}, which psychoedu's own run of this evaluation writes.")
    return frame[name]


def keys_in(frame: pd.DataFrame) -> dict[str, Any]:
    """Return the key of every item, as the run had it."""
    keys = column_of(frame, "key")
    return dict(zip(frame["item_id"], keys, strict=True))


def other_keys(keys: Any, read: Callable[[Any], Any]) -> dict[str, dict[str, Any]]:
    """Return alternative keys by name.

    Parameters
    ----------
    keys : path, mapping of item to key, or mapping of name to one of these
    read : callable
        From a key as written to the answer that it asks for; None if it is none.

    Raises
    ------
    DataError
        A key is no answer.
    """
    named = keys if isinstance(keys, Mapping) and _nested(keys) else {_name_of(keys): keys}
    found = {}
    for name, own in named.items():
        table = own if isinstance(own, Mapping) else load_keys(own)
        read_keys = {item: (None if value is None else read(value)) for item, value in table.items()}
        wrong = [item for item, value in read_keys.items() if value is None and table[item] is not None]
        if wrong:
            raise DataError(f"{counted(len(wrong), 'key')} of {name!r} that no reply can give: {listed(wrong)}.")
        found[str(name)] = read_keys
    return found


def _nested(keys: Mapping[Any, Any]) -> bool:
    return bool(keys) and all(isinstance(value, Mapping | Path) for value in keys.values())


def _name_of(keys: Any) -> str:
    return Path(keys).stem if isinstance(keys, str | Path) else "alternative"


def sensitivity(
    frame: pd.DataFrame, keys: Any, read: Callable[[Any], Any], by: list[str], answer: str = "parsed"
) -> pd.DataFrame:
    """Score the answers under other keys; see :func:`psychoedu.runners.measures.key_sensitivity`.

    Parameters
    ----------
    frame : DataFrame
        Records with the column ``key``.
    keys, read
        As for :func:`other_keys`.
    by : list of str
    answer : str
        Column.

    Raises
    ------
    DataError
        An alternative has none of the items of the run.
    """
    own = keys_in(frame)
    alternatives = other_keys(keys, read)
    named = {name: {item: key for item, key in table.items() if item in own} for name, table in alternatives.items()}
    strange = [name for name, table in named.items() if not table]
    if strange:
        items = list(alternatives[strange[0]])
        raise DataError(
            f"The keys {listed(strange)} are for none of the items of the run: {listed(items)} against {listed(list(own))}."
        )
    return key_sensitivity(frame, own, named, by=by, answer=answer)
