"""What a response matrix holds and answers: codes, labels, tables, scores, rates, parts. ``responses`` says how it is made."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd

from psychoedu import response_repeats as repeats_of
from psychoedu import response_summary
from psychoedu._typing import BoolArray, CodeArray, FloatArray, IntArray
from psychoedu.exceptions import DataError, RepeatsError
from psychoedu.response_codes import ANSWERED, Reason
from psychoedu.response_readers import default_labels
from psychoedu.response_selection import find_positions
from psychoedu.validation import check_choice, check_not_empty, counted, shown

INVALID_POLICIES = ("wrong", "missing")


@dataclass(frozen=True, eq=False, repr=False)
class ResponseData:
    """The contents of a :class:`~psychoedu.responses.ResponseMatrix` and everything that can be asked of them."""

    _codes: CodeArray
    _respondents: pd.DataFrame | None = None
    _items: pd.DataFrame | None = None
    invalid: str = "wrong"
    reduction: str | None = None
    _answers: IntArray | None = None
    _repeat_labels: pd.Index | None = None

    def __post_init__(self) -> None:
        if not isinstance(self._codes, np.ndarray) or self._codes.dtype != np.int8 or self._codes.ndim not in (2, 3):
            raise DataError(
                f"ResponseMatrix is not made from {type(self._codes).__name__} directly.\n"
                "Use ResponseMatrix.from_wide(...) for a table with a row per respondent, or ResponseMatrix.from_long(...)."
            )
        codes = self._codes.view() if self._codes.ndim == 3 else self._codes[:, :, np.newaxis]
        check_not_empty(codes.shape)
        if codes.min() < min(Reason) or codes.max() > 1:
            raise DataError(f"A response matrix holds codes from {min(Reason)} to 1; got {codes.min()} to {codes.max()}.")
        codes.flags.writeable = False
        object.__setattr__(self, "_codes", codes)
        check_choice(self.invalid, INVALID_POLICIES, "invalid")

    @property
    def n_respondents(self) -> int:
        """Number of respondents (rows)."""
        return int(self._codes.shape[0])

    @property
    def n_items(self) -> int:
        """Number of items (columns)."""
        return int(self._codes.shape[1])

    @property
    def n_repeats(self) -> int:
        """Number of runs kept of each cell; 1 once the repeats are reduced, or where there are none."""
        return 1 if self.is_fractional else int(self._codes.shape[2])

    @property
    def shape(self) -> tuple[int, int]:
        """Number of respondents and of items."""
        return self.n_respondents, self.n_items

    @property
    def is_fractional(self) -> bool:
        """Whether the repeats were reduced by their mean, so that cells hold fractions."""
        return self.reduction == "mean"

    @cached_property
    def respondent_labels(self) -> pd.Index:
        """The respondents' labels, in the rows' order."""
        return default_labels(self.n_respondents, "respondent") if self._respondents is None else self._respondents.index

    @cached_property
    def item_labels(self) -> pd.Index:
        """The items' labels, in the columns' order."""
        return default_labels(self.n_items, "item") if self._items is None else self._items.index

    @property
    def repeat_labels(self) -> pd.Index | None:
        """The runs' labels in their order, or None where no cell has more than one run."""
        return self._repeat_labels

    @property
    def respondents(self) -> pd.DataFrame:
        """What is known of the respondents (group, model, condition, ...), by label; a copy."""
        return pd.DataFrame(index=self.respondent_labels) if self._respondents is None else self._respondents.copy()

    @property
    def items(self) -> pd.DataFrame:
        """What is known of the items (task, stratum, subskill, level, ...), by label; a copy."""
        return pd.DataFrame(index=self.item_labels) if self._items is None else self._items.copy()

    @property
    def repeat_codes(self) -> CodeArray:
        """The codes of all runs, int8 of shape (N, J, R), read-only."""
        return self._codes

    @property
    def codes(self) -> CodeArray:
        """One code a cell, int8 of shape (N, J), read-only: 1 right, 0 wrong, else a :class:`Reason`."""
        self._require_whole(".codes")
        return self._codes[:, :, 0]

    @property
    def reasons(self) -> pd.DataFrame:
        """Why each cell has its value: "answered", "not_administered", "refused", ...; N x J, categorical."""
        names = [ANSWERED, *(reason.label for reason in Reason)]
        positions = np.negative(np.minimum(self.codes, 0))
        dtype = pd.CategoricalDtype(names)
        columns = {j: pd.Categorical.from_codes(positions[:, j], dtype=dtype) for j in range(self.n_items)}
        return pd.DataFrame(columns, index=self.respondent_labels).set_axis(self.item_labels, axis=1)

    def scored(self, invalid: str | None = None) -> CodeArray:
        """Return scores: 1 right, 0 wrong, -1 missing.

        Parameters
        ----------
        invalid : {"wrong", "missing"}, optional
            How refused, unparsed and empty answers count; default: the matrix's own policy.

        Returns
        -------
        ndarray of int8, shape (N, J)
            Read-only; the codes themselves where they hold nothing but these.

        Raises
        ------
        RepeatsError
            The matrix holds repeats that were not reduced, or fractions.
        """
        self._require_whole(".scored()")
        return repeats_of.score_codes(self._codes[:, :, 0], self._policy(invalid))

    def fractions(self, invalid: str | None = None) -> FloatArray:
        """Return the share of right answers in each cell, float64 of shape (N, J), nan where missing.

        Without repeats these are 0 and 1; unreduced repeats are averaged over the runs that count.
        """
        return repeats_of.fractions(self._codes, self._policy(invalid))

    def to_frame(self, invalid: str | None = None) -> pd.DataFrame:
        """Return respondents x items as float64: 1 right, 0 wrong, nan missing; means where the repeats were reduced by them."""
        policy = self._policy(invalid)
        if self.is_fractional:
            values = self.fractions(policy)
        else:
            scored = self.scored(policy)
            values = scored.astype(np.float64)
            values[scored < 0] = np.nan
        return pd.DataFrame(values, index=self.respondent_labels, columns=self.item_labels)

    def rates(self, by: str | None = "respondent") -> pd.DataFrame:
        """Return the share of right answers under each policy, and the counts of cells by reason.

        Parameters
        ----------
        by : {"respondent", "item"}, a column beside them, or None
            What makes a row; None gives one row over all.

        Returns
        -------
        DataFrame
            ``rate_invalid_wrong``, ``rate_invalid_missing`` (failed calls missing in both), ``rate_failed_wrong`` (failed calls
            and invalid answers wrong), then a count per kind of cell. Unreduced repeats count each run.

        Examples
        --------
        >>> import pandas as pd
        >>> from psychoedu import ResponseMatrix
        >>> answers = pd.DataFrame({"q1": [1], "q2": [0], "q3": [9], "q4": [8]}, index=["gpt-x"])
        >>> matrix = ResponseMatrix.from_wide(answers, missing_codes={9: "refused", 8: "api_error"})
        >>> matrix.rates(None).iloc[0, :3].round(3).tolist()
        [0.333, 0.5, 0.25]
        """
        return response_summary.rates(self, by)

    def summary(self) -> str:
        """Return sizes, policy, counts by reason and the rates as fixed-width text."""
        return response_summary.summary(self)

    def with_invalid(self, invalid: str) -> Self:
        """Return the same data with refused, unparsed and empty answers scored as "wrong" or "missing"."""
        return replace(self, invalid=check_choice(invalid, INVALID_POLICIES, "invalid"))

    def reduce(self, repeats: str, *, unparsed: str = "vote") -> Self:
        """Make one cell of the runs of each cell.

        Parameters
        ----------
        repeats : {"majority", "first", "mean"}
            "majority": the answer that most runs gave, then its score; a tie goes to the tied answer that came first. Without
            stored answers the scores vote, recorded as ``majority_of_scores``. "first": the first run made. "mean": the share of
            right answers, which ``calibrate`` refuses.
        unparsed : {"vote", "drop"}
            Refused, unparsed and empty runs vote together for "no answer", or not at all as long as another run of the cell
            answered. Failed calls never vote.

        Returns
        -------
        ResponseMatrix
            The matrix itself where it holds no repeats.
        """
        check_choice(repeats, repeats_of.CHOICES, "repeats")
        check_choice(unparsed, ("vote", "drop"), "unparsed")
        if self.is_fractional and repeats != "mean":
            repeats_of.refuse_fractions(f"reduce({repeats!r})")
        if self._codes.shape[2] == 1 or self.is_fractional:
            return self
        if repeats == "mean":
            return replace(self, reduction="mean", _answers=None)
        if repeats == "first":
            codes = repeats_of.take_run(self._codes, repeats_of.first_run(self._codes))
            reduction = "first"
        else:
            codes, contradictory = repeats_of.majority(self._codes, self._answers, unparsed)
            self._refuse_contradictions(contradictory)
            reduction = "majority" if self._answers is not None else "majority_of_scores"
        return replace(self, _codes=codes, _answers=None, _repeat_labels=None, reduction=reduction)

    def _refuse_contradictions(self, cells: BoolArray) -> None:
        if not cells.any():
            return
        row, column = np.argwhere(cells)[0]
        raise RepeatsError(
            f"{counted(int(cells.sum()), 'cell')} whose winning answer was scored right in one run and wrong in another, first "
            f"respondent {shown(self.respondent_labels[row])}, item {shown(self.item_labels[column])}.\n"
            "Expected one score per answer; correct the scores, or leave answer= out so that the scores vote."
        )

    def select(self, respondents: Any = None, items: Any = None) -> Self:
        """Return a part of the matrix.

        Parameters
        ----------
        respondents, items : boolean mask, labels, or {column: value}; optional
            A mask has one value per row (column); a boolean Series is matched by label. Labels come back in the order asked for.

        Returns
        -------
        ResponseMatrix

        Raises
        ------
        LabelError
            A label or a column is unknown.
        DuplicateLabelError
            A label is asked for twice.
        """
        if respondents is None and items is None:
            return self
        rows = (
            np.arange(self.n_respondents)
            if respondents is None
            else find_positions(respondents, self.respondent_labels, self._table("respondent"), "respondent")
        )
        columns = (
            np.arange(self.n_items) if items is None else find_positions(items, self.item_labels, self._table("item"), "item")
        )
        check_not_empty((len(rows), len(columns)))
        block = (slice(None) if respondents is None else rows, slice(None) if items is None else columns)
        return replace(
            self,
            _codes=np.ascontiguousarray(self._codes[block[0]][:, block[1]]),
            _answers=None if self._answers is None else self._answers[block[0]][:, block[1]],
            _respondents=self._table("respondent").iloc[rows],
            _items=self._table("item").iloc[columns],
        )

    def respondent_mask(self, where: Any) -> BoolArray:
        """Return a boolean mask over the respondents from a mask, labels, or {column: value or list of values}."""
        mask = np.zeros(self.n_respondents, dtype=np.bool_)
        mask[find_positions(where, self.respondent_labels, self._table("respondent"), "respondent")] = True
        return mask

    def _table(self, axis: str) -> pd.DataFrame:
        if axis == "respondent":
            return pd.DataFrame(index=self.respondent_labels) if self._respondents is None else self._respondents
        return pd.DataFrame(index=self.item_labels) if self._items is None else self._items

    def _policy(self, invalid: str | None) -> str:
        return self.invalid if invalid is None else check_choice(invalid, INVALID_POLICIES, "invalid")

    def _require_whole(self, purpose: str) -> None:
        if self.is_fractional:
            repeats_of.refuse_fractions(purpose)
        if self._codes.shape[2] > 1:
            repeats_of.refuse_repeats(self._codes, self.respondent_labels, self.item_labels)

    def __repr__(self) -> str:
        return response_summary.one_line(self)

    def _repr_html_(self) -> str:
        return response_summary.as_html(self)
