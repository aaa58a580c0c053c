"""The response matrix: respondents x items, one byte a cell, every cell with a value and a reason.

This is the one thing that every analysis takes. Plain frames and arrays become one through :func:`as_response_matrix`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from psychoedu import response_repeats as repeats_of
from psychoedu.exceptions import DataError, LabelError
from psychoedu.response_codes import CodeRules, Reason
from psychoedu.response_data import INVALID_POLICIES, ResponseData
from psychoedu.response_files import label_column, long_respondent, read_csv_table, read_parquet_table
from psychoedu.response_readers import Columns, LongColumns, Parts, align_table, default_labels, read_array, read_long, read_wide
from psychoedu.validation import check_choice, check_not_empty, listed

__all__ = ["Reason", "ResponseMatrix", "as_response_matrix"]

MissingCodes = Iterable[Any] | Mapping[Any, Any]


class ResponseMatrix(ResponseData):
    """Respondents x items, with labels on both axes, tables beside them, and a reason for every cell without a score.

    Made by :meth:`from_wide`, :meth:`from_long`, :meth:`read_csv` or :meth:`read_parquet`; it never changes afterwards.

    Attributes
    ----------
    invalid : {"wrong", "missing"}
        How refused, unparsed and empty answers are scored. Cells that were not administered or not reached, and failed calls, are
        always missing.
    reduction : str or None
        How repeats were reduced: "majority", "majority_of_scores" (no answers were stored), "first", "mean", or None.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"q1": [1, 0, 1], "q2": [0, None, 1]}, index=["ann", "ben", "cem"])
    >>> responses = ResponseMatrix.from_wide(frame)
    >>> responses
    ResponseMatrix(3 respondents x 2 items, 16.7% not administered)
    >>> responses.to_frame().loc["ben"].tolist()
    [0.0, nan]
    """

    @classmethod
    def _from_parts(
        cls, parts: Parts, invalid: str, item_table: pd.DataFrame | None, respondent_table: pd.DataFrame | None
    ) -> ResponseMatrix:
        matrix = cls(parts.codes, parts.respondents, parts.items, invalid, None, parts.answers, parts.repeat_labels)
        if item_table is None and respondent_table is None:
            return matrix
        return replace(
            matrix,
            _respondents=_beside(parts.respondents, respondent_table, matrix.respondent_labels, "respondent"),
            _items=_beside(parts.items, item_table, matrix.item_labels, "item"),
        )

    @classmethod
    def from_wide(
        cls,
        responses: Any,
        *,
        items: Any = None,
        respondent: Hashable | None = None,
        respondents: Any = None,
        respondent_columns: Columns = None,
        missing_codes: MissingCodes = (),
        recode: Mapping[Any, Any] | None = None,
        invalid: str = "wrong",
        item_table: pd.DataFrame | None = None,
        respondent_table: pd.DataFrame | None = None,
    ) -> ResponseMatrix:
        """Make a matrix from a table with a row per respondent and a column per item.

        Parameters
        ----------
        responses : DataFrame, or array-like of shape (N, J)
            0 wrong, 1 right, missing (nan, None, NA, masked) not administered. Booleans count as 0 and 1; text does not. Never
            transposed.
        items : sequence of labels, optional
            A frame's columns that are items, in this order (default: all but ``respondent`` and ``respondent_columns``); for an
            array the items' labels (default ``q1, q2, ...``).
        respondent : label, optional
            A frame's column with the respondents' labels (default: its index).
        respondents : sequence of labels, optional
            The respondents' labels for an array (default 1, 2, ...).
        respondent_columns : sequence of labels, optional
            Columns that describe respondents (group, model, prompting condition, ...); kept in ``.respondents``.
        missing_codes : collection or mapping
            Values that stand for missing, as ``(-9, 99)``, or with their reasons, as ``{-9: "not_reached", 99: "refused"}``.
        recode : mapping, optional
            What other values mean, as ``{1: 0, 2: 1}``: 0, 1, None for missing, or a reason. Applied all at once.
        invalid : {"wrong", "missing"}
            How refused, unparsed and empty answers are scored.
        item_table, respondent_table : DataFrame, optional
            Further attributes, found by label in the index (or a column "item", "respondent").

        Returns
        -------
        ResponseMatrix

        Raises
        ------
        ResponseCodeError
            Cells hold something other than 0, 1, missing and what was declared.
        DuplicateLabelError, LabelError
            Labels are repeated, missing or unknown.
        DataError
            The table is empty or not two-dimensional.

        Notes
        -----
        Costs O(N J) time, and one byte a cell beside temporaries of a few MB.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"group": ["a", "a", "b"], "q1": [2, 1, 2], "q2": [1, 2, -9]})
        >>> matrix = ResponseMatrix.from_wide(
        ...     frame, respondent_columns=["group"], recode={1: 0, 2: 1}, missing_codes={-9: "not_reached"})
        >>> matrix
        ResponseMatrix(3 respondents x 2 items, 1 not reached; groups: a 2, b 1)
        >>> matrix.scored().tolist()
        [[1, 0], [0, 1], [1, -1]]
        """
        check_choice(invalid, INVALID_POLICIES, "invalid")
        rules = CodeRules.build(missing_codes, recode)
        if isinstance(responses, ResponseMatrix):
            raise DataError(
                "from_wide was given a ResponseMatrix; it is already read. Use .select(), .with_invalid() or .reduce()."
            )
        if isinstance(responses, pd.DataFrame):
            if respondents is not None:
                raise DataError(
                    "respondents= labels the rows of an array; a frame has an index: use set_index() or respondent='column'."
                )
            parts = read_wide(responses, items, respondent, respondent_columns, rules)
        else:
            if respondent is not None or respondent_columns is not None:
                raise DataError("respondent= and respondent_columns= name columns, and an array has none. Use respondent_table=.")
            parts = read_array(responses, respondents, items, rules)
        return cls._from_parts(parts, invalid, item_table, respondent_table)

    @classmethod
    def from_long(
        cls,
        frame: pd.DataFrame,
        *,
        respondent: str | Sequence[str],
        item: Hashable,
        score: Hashable | None = None,
        answer: Hashable | None = None,
        key: Hashable | Mapping[Any, Any] | None = None,
        reason: Hashable | None = None,
        valid: Hashable | None = None,
        repeat: Hashable | None = None,
        repeats: str | None = None,
        unparsed: str = "vote",
        respondent_columns: Columns = None,
        item_columns: Columns = None,
        missing_codes: MissingCodes = (),
        recode: Mapping[Any, Any] | None = None,
        invalid: str = "wrong",
        item_table: pd.DataFrame | None = None,
        respondent_table: pd.DataFrame | None = None,
    ) -> ResponseMatrix:
        """Make a matrix from a table with a row per respondent, item and run.

        Parameters
        ----------
        frame : DataFrame
        respondent : label or list of labels
            The column of the respondents' labels; several columns (model, condition) are joined as ``"model / condition"`` and
            kept in ``.respondents``.
        item : label
            The column of the items' labels.
        score : label, optional
            The column of the scores: 0, 1 or missing.
        answer : label, optional
            The column of the parsed answers, on which repeats vote. A blank one that was scored 0 is ``unparsed``.
        key : label or mapping, optional
            The right answers, as a column or as {item: answer}; used where ``score`` is not given.
        reason : label, optional
            The column of the reasons: answered, not_administered, not_reached, api_error, refused, unparsed, empty; blank where
            the score says all.
        valid : label, optional
            A column of booleans; False is ``unparsed`` where no reason is given.
        repeat : label, optional
            The column of the run's number. Repeats are kept as a third axis until they are reduced.
        repeats : {"majority", "first", "mean"}, optional
            How to reduce repeats at once; see :meth:`reduce`. Without ``repeat`` the rows' order is the runs' order.
        unparsed : {"vote", "drop"}
            See :meth:`reduce`.
        respondent_columns, item_columns : sequence of labels, optional
            Columns that describe respondents and items, each with one value per respondent or item.
        missing_codes, recode, invalid, item_table, respondent_table
            As in :meth:`from_wide`.

        Returns
        -------
        ResponseMatrix
            Respondents and items in the order in which they first occur; pairs that do not occur are not administered.

        Raises
        ------
        RepeatsError
            A respondent and item occur more than once, and neither ``repeat`` nor ``repeats`` says what that means.
        ResponseCodeError
            A score, answer and reason contradict each other, or a score is not 0, 1 or declared.
        LabelError
            A label is missing, or an attribute has two values for one respondent or item.

        Examples
        --------
        >>> import pandas as pd
        >>> runs = pd.DataFrame({
        ...     "model": ["m"] * 3, "item": ["q1"] * 3, "run": [1, 2, 3], "answer": ["B", "A", "A"], "score": [0, 1, 1]})
        >>> matrix = ResponseMatrix.from_long(runs, respondent="model", item="item", score="score", answer="answer", repeat="run")
        >>> matrix
        ResponseMatrix(1 respondent x 1 item x 3 runs)
        >>> matrix.reduce("majority").scored().tolist()
        [[1]]
        """
        check_choice(invalid, INVALID_POLICIES, "invalid")
        if repeats is not None:
            check_choice(repeats, repeats_of.CHOICES, "repeats")
        if not isinstance(frame, pd.DataFrame):
            raise DataError(f"from_long takes a pandas DataFrame; got {type(frame).__name__}.")
        columns = LongColumns(respondent, item, score, answer, key, reason, valid, repeat, respondent_columns, item_columns)
        parts = read_long(frame, columns, repeats is not None, CodeRules.build(missing_codes, recode))
        matrix = cls._from_parts(parts, invalid, item_table, respondent_table)
        return matrix if repeats is None else matrix.reduce(repeats, unparsed=unparsed)

    @classmethod
    def read_csv(
        cls,
        path: str | Path,
        *,
        respondent: Any = 0,
        item: str | None = None,
        sep: str = ",",
        encoding: str = "utf-8",
        **options: Any,
    ) -> ResponseMatrix:
        r"""Read a CSV file: wide, or long where ``item`` names a column.

        Parameters
        ----------
        path : str or Path
            A file whose first line names the columns. A blank or ``NA`` cell is not administered; labels stay text ("007").
        respondent : name or position, or None
            The column of the respondents' labels (default: the first). None: the rows are numbered 1, 2, ...
        item : name, optional
            The column of the items' labels, for a long file.
        sep : str
            The one character between fields, as ``";"`` or ``"\t"``.
        encoding : str
            How the file is written.
        **options
            What :meth:`from_wide` or :meth:`from_long` takes.

        Returns
        -------
        ResponseMatrix

        Raises
        ------
        FileFormatError
            The path is a folder, or the file is no such table.
        DataError
            ``sep`` is not one character, or ``encoding`` is unknown.
        """
        names = [options.get(name) for name in ("answer", "key") if isinstance(options.get(name), str)]
        labels = respondent if isinstance(respondent, list | tuple) else [respondent]
        attributes = [*_names(options.get("respondent_columns")), *_names(options.get("item_columns"))]
        frame = read_csv_table(path, [*labels, item, *names, options.get("reason")], attributes, sep, encoding)
        return cls._from_file(frame, path, respondent, item, options)

    @classmethod
    def read_parquet(cls, path: str | Path, *, respondent: Any = 0, item: str | None = None, **options: Any) -> ResponseMatrix:
        """Read a Parquet file: wide, or long where ``item`` names a column; needs pyarrow (``pip install psychoedu[parquet]``).

        Parameters
        ----------
        path : str or Path
        respondent : name or position, or None
            The column of the respondents' labels (default: the first; an index stored in the file counts as the first).
        item : name, optional
            The column of the items' labels, for a long file.
        **options
            What :meth:`from_wide` or :meth:`from_long` takes.

        Returns
        -------
        ResponseMatrix

        Raises
        ------
        MissingDependencyError
            pyarrow is not installed.
        FileFormatError
            The path is a folder, or the file is not Parquet.
        """
        return cls._from_file(read_parquet_table(path), path, respondent, item, options)

    @classmethod
    def _from_file(
        cls, frame: pd.DataFrame, path: str | Path, respondent: Any, item: str | None, options: dict[str, Any]
    ) -> ResponseMatrix:
        if item is not None:
            return cls.from_long(frame, respondent=long_respondent(respondent), item=item, **options)
        check_not_empty(frame.shape)
        if respondent is None:
            frame = frame.set_axis(default_labels(len(frame), "respondent"), axis=0)
        return cls.from_wide(frame, respondent=label_column(frame, respondent, path), **options)


def _beside(known: pd.DataFrame | None, further: pd.DataFrame | None, labels: pd.Index, axis: str) -> pd.DataFrame | None:
    """Add a table's columns to those already known."""
    aligned = align_table(further, labels, axis)
    if aligned is None:
        return known
    both = [] if known is None else [name for name in aligned.columns if name in known.columns]
    if both:
        raise LabelError(f"{axis}_table repeats columns that were read from the data: {listed(both)}; expected each once.")
    return aligned if known is None else pd.concat([known, aligned], axis=1)


def _names(columns: Columns) -> list[Hashable]:
    return [] if columns is None else [columns] if isinstance(columns, str) else list(columns)


def as_response_matrix(responses: Any, **options: Any) -> ResponseMatrix:
    """Return a response matrix, whatever a user has: a ResponseMatrix as it is, a frame or an array as ``from_wide`` reads it.

    Parameters
    ----------
    responses : ResponseMatrix, DataFrame, or array-like of shape (N, J)
    **options
        What :meth:`ResponseMatrix.from_wide` takes; for a ResponseMatrix only ``invalid``.

    Returns
    -------
    ResponseMatrix

    Examples
    --------
    >>> as_response_matrix([[1, 0], [1, None]]).scored().tolist()
    [[1, 0], [1, -1]]
    """
    if not isinstance(responses, ResponseMatrix):
        return ResponseMatrix.from_wide(responses, **options)
    others = [name for name in options if name != "invalid"]
    if others:
        raise DataError(f"A ResponseMatrix is already read, so {listed(others)} cannot apply; give it where the matrix is made.")
    return responses.with_invalid(options["invalid"]) if "invalid" in options else responses
