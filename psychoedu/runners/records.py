"""The common response record: one row per model, condition, item and run, whatever tool asked the question.

:class:`Records` holds the table and what was done to it when it was read; everything further (matrix, rewards, rates, agreement
between runs) is made from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pandas as pd

from psychoedu.exceptions import RecordsError
from psychoedu.responses import ResponseMatrix
from psychoedu.runners import records_files, records_matrix, records_tables
from psychoedu.runners.records_frame import (
    INVALID,
    KEY,
    MISSING,
    RECORD_COLUMNS,
    printable_messages,
    record_frame,
    refuse_doubles,
)
from psychoedu.validation import check_choice, counted, listed

__all__ = ["INVALID", "KEY", "MISSING", "RECORD_COLUMNS", "Records"]


@dataclass(frozen=True, eq=False, repr=False)
class Records:
    """Responses of models to items, one row per (run_id, model, condition, item_id, epoch).

    Parameters
    ----------
    frame : DataFrame
        At least ``model``, ``item_id`` and ``score`` (or ``reason``). Columns of :data:`RECORD_COLUMNS` that are absent are
        added, without values; further columns (metadata of items) stand after them. The frame given is never changed.
    notes : sequence of str
        What was dropped, averaged or renamed when the records were read.

    Attributes
    ----------
    frame : DataFrame
        All columns of :data:`RECORD_COLUMNS`, then the further ones. ``reason`` is "answered" or why there is no score
        (:class:`psychoedu.Reason`), ``valid`` is True where it is "answered", ``score`` lies between 0 and ``max_score``: 0 for
        refused, unparsed and empty answers, missing for failed calls.
    notes : tuple of str

    Raises
    ------
    RecordsError
        A column is absent or holds other values; a record occurs twice; a score and its reason contradict each other.

    Examples
    --------
    >>> import pandas as pd
    >>> records = Records(pd.DataFrame({
    ...     "model": ["m"] * 4, "item_id": ["q1", "q2", "q3", "q4"], "parsed": ["A", "B", None, None],
    ...     "score": [1, 0, 0, None], "reason": ["answered", "answered", "refused", "api_error"]}))
    >>> records
    Records(4 records: 1 model, 4 items; 2 answered, 1 refused, 1 failed)
    >>> records.to_matrix(invalid="missing").to_frame().loc["m"].tolist()
    [1.0, 0.0, nan, nan]
    """

    frame: pd.DataFrame
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "frame", record_frame(self.frame))
        notes = (self.notes,) if isinstance(self.notes, str) else tuple(str(note) for note in self.notes)
        object.__setattr__(self, "notes", tuple(dict.fromkeys(notes)))

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def models(self) -> list[str]:
        """The models, in the order in which they first occur."""
        return list(dict.fromkeys(self.frame["model"]))

    @property
    def items(self) -> list[str]:
        """The items, in the order in which they first occur."""
        return list(dict.fromkeys(self.frame["item_id"]))

    def to_matrix(
        self,
        repeats: str | None = "majority",
        invalid: str = "wrong",
        respondent: str | Sequence[str] = ("model", "condition"),
        *,
        threshold: float | None = None,
        unparsed: str = "vote",
        votes: str = "answers",
    ) -> ResponseMatrix:
        """Make the response matrix: a row per model and condition, a column per item.

        Parameters
        ----------
        repeats : {"majority", "first", "mean"} or None
            How the runs of a cell become one: by the majority of the parsed answers (tie: the first run), in cells in which an
            answered record has no parsed answer by that of the scores (:meth:`summary` says in how many); the first run; the mean
            (fractions). None keeps the runs as a third axis.
        invalid : {"wrong", "missing"}
            How refused, unparsed and empty answers are scored. Failed calls are missing under both.
        respondent : column or sequence of columns
            What makes a respondent; values are joined by " / ", blank ones left out.
        threshold : float, optional
            Share of the highest score from which an answer is right, ``score / max_score >= threshold``; needed where scores are
            neither 0 nor ``max_score``.
        unparsed : {"vote", "drop"}
            Whether invalid runs vote for "no answer", see :meth:`psychoedu.ResponseMatrix.reduce`.
        votes : {"answers", "scores"}
            What runs vote with. Long free-text answers hardly ever agree: let their scores vote.

        Returns
        -------
        ResponseMatrix
            Metadata with one value per item stand in ``.items``, such with one value per respondent in ``.respondents``.

        Raises
        ------
        RecordsError
            Scores are fractions and no threshold is given; two records fall into one cell and run.
        RepeatsError
            The winning answer was scored right in one run and wrong in another.
        """
        frame = records_matrix.long_frame(self.frame, respondent, threshold)
        return records_matrix.matrix(
            frame, respondent, repeats, invalid, unparsed, check_choice(votes, ("answers", "scores"), "votes")
        )

    def rewards(self, invalid: str = "wrong", **columns: str) -> pd.DataFrame:
        """Return the long table that :func:`psychoedu.contrast` and :func:`psychoedu.compare_models` take.

        Parameters
        ----------
        invalid : {"wrong", "missing"}
            Reward of refused, unparsed and empty answers: 0, or missing.
        **columns : names of columns
            Further names under which a column is wanted, as ``profile="subskill"``.

        Returns
        -------
        DataFrame
            ``model``, ``condition``, ``task`` (the item), ``reward`` (score / max_score, missing for failed calls), ``repeat``
            (the epoch), ``benchmark``, ``subset``, then the metadata columns.
        """
        return records_tables.rewards(self.frame, invalid, columns)

    def rates(self, by: str | Sequence[str] = ("model", "condition")) -> pd.DataFrame:
        """Return counts by reason and the mean score under each policy.

        Parameters
        ----------
        by : column or sequence of columns

        Returns
        -------
        DataFrame
            ``n`` records; of these ``answered`` (``right``, ``partial``, ``wrong``), ``refused``, ``unparsed``, ``empty``,
            ``failed`` calls and ``absent`` (not administered or reached). ``rate_invalid_wrong``: mean of score / max_score,
            invalid answers as 0, failed calls left out. ``rate_invalid_missing``: of the answered alone. ``rate_failed_wrong``:
            failed calls as 0 too.
        """
        return records_tables.rates(self.frame, by)

    def test_retest(self) -> pd.DataFrame:
        """Return how far the runs (epochs) of the same items agree, by model and condition.

        Returns
        -------
        DataFrame
            See :func:`psychoedu.runners.measures.retest_agreement`. Failed calls are left out; where items are then left with
            unequally many runs, ``fleiss_kappa`` is nan even if all runs agree, as it is defined for equal numbers alone:
            ``same_answer`` and ``pairwise_agreement`` stand all the same.
        """
        return records_tables.test_retest(self.frame)

    def save(self, folder: str | Path) -> list[Path]:
        """Write records.parquet (where pyarrow is installed), records.csv and, if there are any, records_notes.txt.

        Parameters
        ----------
        folder : str or Path
            Made where it does not exist; older files of these names are replaced.

        Returns
        -------
        list of Path
            What was written.
        """
        return records_files.save(self.frame, self.notes, folder)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read what :meth:`save` wrote: a folder, or one of its files.

        Raises
        ------
        ResultsFormatError
            The file is no table, or not of records.
        RecordsError
            Records contradict themselves; the message names file and line.
        """
        with printable_messages():
            frame, notes = records_files.read(path)
            try:
                return cls(frame, notes)
            except RecordsError:
                records_files.refuse(path, frame)
                raise

    @classmethod
    def concat(cls, several: Sequence[Records], repeats: str | None = None) -> Self:
        """Join records of several runs or files.

        Parameters
        ----------
        several : sequence of Records
        repeats : {"append"}, optional
            What to do where two of them hold the same model, condition, item and epoch: by default that is an error, for nobody
            should be counted twice; "append" makes the later ones further runs, numbered on.

        Raises
        ------
        RecordsError
            The same (model, condition, item, epoch) stands in two of them.
        """
        members = list(several)
        if not members or not all(isinstance(member, Records) for member in members):
            raise RecordsError("concat takes a list of Records with at least one of them.")
        if repeats is not None:
            check_choice(repeats, ("append",), "repeats")
        frame, notes = records_tables.concatenated([member.frame for member in members], repeats == "append")
        if repeats is None:
            refuse_doubles(
                frame,
                KEY[1:],
                "If they are further runs of the same questions, pass repeats='append'; if they differ, say so in the column "
                "condition; else leave one of the files out.",
            )
        return cls(frame, (*(note for member in members for note in member.notes), *notes))

    def summary(self) -> str:
        """Return models, items, runs, rates under each policy and notes as fixed-width text."""
        return records_tables.summary(self.frame, self.notes)

    def __repr__(self) -> str:
        counts = self.frame["reason"].map(records_tables.KINDS).value_counts()
        told = [f"{int(counts[kind]):,} {kind}" for kind in dict.fromkeys(records_tables.KINDS.values()) if kind in counts]
        epochs = self.frame["epoch"].nunique()
        runs = f" x {epochs} runs" if epochs > 1 else ""
        return (
            f"Records({counted(len(self.frame), 'record')}: {counted(len(self.models), 'model')}, "
            f"{counted(len(self.items), 'item')}{runs}; {', '.join(told) or 'none'})"
        )


def from_rows(rows: Sequence[dict[str, Any]], notes: Sequence[str] = (), source: str = "") -> Records:
    """Make records of one mapping a row; ``source`` is named where there are none.

    Raises
    ------
    RecordsError
        There are no rows.
    """
    if not rows:
        raise RecordsError(f"{source or 'The source'} holds no responses. Expected at least one; see what was run.")
    names = dict.fromkeys(name for row in rows for name in row)
    unknown = [name for name in names if not isinstance(name, str)]
    if unknown:
        raise RecordsError(f"Names of columns have to be text; got {listed(unknown)}.")
    columns = {name: pd.Series([row.get(name) for row in rows], dtype=object, name=name) for name in names}
    return Records(pd.DataFrame(columns), tuple(notes))
