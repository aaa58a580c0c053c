"""Item banks: the parameters of a set of items on one scale, by label."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from psychoedu._typing import AnyArray, FloatArray
from psychoedu.exceptions import DataError
from psychoedu.irt import models
from psychoedu.irt.bank_table import ItemTable, read_item_table
from psychoedu.persistence import Fields, Saved, encode_numbers, plain_label
from psychoedu.validation import check_known, counted, has_label, listed


class ItemBank(Saved):
    """Item parameters in the logit metric: P(x = 1 | theta) = c + (1 - c) logistic(a theta + d), d = -a b.

    Parameters
    ----------
    frame : DataFrame
        A row per item. Labels: a column ``item``, else the index (a plain 0, 1, 2, ... index is read as q1, q2, ..., the labels
        of a plain array). Columns: ``discrimination`` (a), and ``difficulty`` (b) or ``intercept`` (d) or both, which must then
        agree to 1e-6; optionally ``guessing`` (the lower asymptote c, taken as fixed). Other columns are not kept, so that the
        ``.items`` of a calibration can be given as they are.
    scaling_constant : float, default 1.0
        The D of the table's metric, P = logistic(D a (theta - b)) or logistic(D (a theta + d)). The bank stores D = 1: 1.7 (or
        1.702) multiplies discriminations and intercepts by it and leaves difficulties and probabilities as they are.

    Attributes
    ----------
    labels : Index
        The items' labels, (J,).
    discrimination, intercept, difficulty, guessing : ndarray, (J,)
        Read-only. Discriminations may be negative. A difficulty does not exist, and is nan, where the discrimination is 0.
    covariance : ndarray, (2J, 2J), or None
        Sampling covariance of the estimates in the order a1, d1, a2, d2, ..., where the bank comes from a calibration.
    diagnostics : tuple of str
        Why a value is missing or odd.

    Raises
    ------
    DataError
        A column is absent or not numeric; a parameter is missing, infinite or outside its range; intercept and difficulty
        disagree; a difficulty stands where the discrimination is 0.
    DuplicateLabelError, LabelError
        Labels are repeated or missing.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"discrimination": [1.2, 0.8], "difficulty": [-0.5, 1.0]}, index=["q1", "q2"])
    >>> bank = ItemBank(frame)
    >>> bank.probability([0.0, 1.0]).round(3).tolist()
    [[0.646, 0.31], [0.858, 0.5]]
    >>> ItemBank(frame, scaling_constant=1.7).discrimination.round(2).tolist()
    [2.04, 1.36]
    """

    kind = "item_bank"

    def __init__(self, frame: pd.DataFrame, scaling_constant: float = 1.0) -> None:
        self._set(read_item_table(frame, scaling_constant), None)

    @classmethod
    def from_arrays(
        cls,
        labels: Iterable[Any],
        discrimination: ArrayLike,
        intercept: ArrayLike,
        guessing: ArrayLike | None = None,
        covariance: ArrayLike | None = None,
        difficulty: ArrayLike | None = None,
    ) -> Self:
        """Make a bank from arrays.

        Parameters
        ----------
        labels : sequence of labels, (J,)
        discrimination, intercept : array-like, (J,)
        guessing : array-like, (J,), optional
            Zeros by default.
        covariance : array-like, (2J, 2J), optional
            Covariance of the estimates, in the order a1, d1, a2, d2, ...; nan where it is not known.
        difficulty : array-like, (J,), optional
            Kept to the bit where it is given; it must agree with -intercept / discrimination. nan where the discrimination is 0.

        Returns
        -------
        ItemBank

        Examples
        --------
        >>> ItemBank.from_arrays(["q1", "q2"], [1.0, 2.0], [0.5, -1.0]).difficulty.tolist()
        [-0.5, 0.5]
        """
        index = labels if isinstance(labels, pd.Index) else pd.Index(list(labels), tupleize_cols=False)
        columns = {"discrimination": discrimination, "intercept": intercept}
        if guessing is not None:
            columns["guessing"] = guessing
        if difficulty is not None:
            columns["difficulty"] = difficulty
        arrays = {name: _array(values) for name, values in columns.items()}
        for name, values in arrays.items():
            if values is None or values.shape != (len(index),):
                shape = "rows of different lengths" if values is None else f"shape {values.shape}"
                raise DataError(f"{name} has {shape}; expected one number for each of the {len(index):,} labels.")
        bank = cls.__new__(cls)
        table = read_item_table(pd.DataFrame({"item": index, **arrays}, index=pd.RangeIndex(len(index))))
        bank._set(table, None if covariance is None else _covariance(covariance, 2 * len(index)))
        return bank

    def _set(self, table: ItemTable, covariance: FloatArray | None) -> None:
        size = 2 * len(table.labels)
        if covariance is not None and covariance.shape != (size, size):
            raise DataError(f"covariance has shape {covariance.shape}; expected {(size, size)}, in the order a1, d1, a2, d2, ...")
        self._labels = table.labels
        self._discrimination = _read_only(table.discrimination)
        self._intercept = _read_only(table.intercept)
        self._guessing = _read_only(table.guessing)
        self._covariance = None if covariance is None else _read_only(covariance)
        self._difficulty = _read_only(table.difficulty)

    @property
    def labels(self) -> pd.Index:
        """The items' labels, (J,)."""
        return self._labels

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self._labels)

    @property
    def discrimination(self) -> FloatArray:
        """Discriminations a, (J,), read-only."""
        return self._discrimination

    @property
    def intercept(self) -> FloatArray:
        """Intercepts d = -a b, (J,), read-only."""
        return self._intercept

    @property
    def difficulty(self) -> FloatArray:
        """Difficulties b, (J,), read-only; nan where the discrimination is 0."""
        return self._difficulty

    @property
    def guessing(self) -> FloatArray:
        """Lower asymptotes c, (J,), read-only; zeros for a 2PL."""
        return self._guessing

    @property
    def covariance(self) -> FloatArray | None:
        """Covariance of the estimates, (2J, 2J), in the order a1, d1, a2, d2, ...; None where it is not known."""
        return self._covariance

    @property
    def diagnostics(self) -> tuple[str, ...]:
        """Notes on values that are missing or odd."""
        notes = []
        flat, reversed_ = self._discrimination == 0.0, self._discrimination < 0.0
        if flat.any():
            notes.append(f"difficulty does not exist where the discrimination is 0: {listed(self._labels[flat])}")
        if reversed_.any():
            notes.append(f"negative discrimination (more able, less often right): {listed(self._labels[reversed_])}")
        return tuple(notes)

    @property
    def items(self) -> pd.DataFrame:
        """The parameters by item: discrimination, difficulty, intercept, guessing."""
        return pd.DataFrame(
            {
                "discrimination": self._discrimination,
                "difficulty": self._difficulty,
                "intercept": self._intercept,
                "guessing": self._guessing,
            },
            index=self._labels,
        )

    def select(self, items: Any) -> ItemBank:
        """Return the bank of some of the items, in the order given, with their covariance.

        Parameters
        ----------
        items : label or sequence of labels

        Raises
        ------
        LabelError
            An item is not in the bank.
        """
        one = isinstance(items, str) or not isinstance(items, Iterable)
        one = one or (isinstance(items, tuple) and has_label(self._labels, items))
        wanted = check_known([items] if one else items, self._labels, "item")
        positions = self._labels.get_indexer(wanted)
        covariance = None
        if self._covariance is not None:
            both = np.column_stack((2 * positions, 2 * positions + 1)).ravel()
            covariance = self._covariance[np.ix_(both, both)]
        arrays = (self._discrimination, self._intercept, self._guessing, self._difficulty)
        discrimination, intercept, guessing, difficulty = (array[positions] for array in arrays)
        return ItemBank.from_arrays(wanted, discrimination, intercept, guessing, covariance, difficulty)

    def probability(self, theta: ArrayLike) -> FloatArray:
        """Return P(right) of every item, theta's shape + (J,)."""
        nodes, shape = _abilities(theta)
        return models.probability(nodes, self._discrimination, self._intercept, self._asymptotes()).reshape(*shape, -1)

    def item_information(self, theta: ArrayLike) -> FloatArray:
        """Return Fisher information of every item, theta's shape + (J,)."""
        nodes, shape = _abilities(theta)
        return models.item_information(nodes, self._discrimination, self._intercept, self._asymptotes()).reshape(*shape, -1)

    def information(self, theta: ArrayLike) -> FloatArray:
        """Return test information, the sum over the items, in theta's shape; 1 / sqrt of it is the standard error of ML."""
        return np.asarray(self.item_information(theta).sum(axis=-1))

    def expected_score(self, theta: ArrayLike) -> FloatArray:
        """Return the expected number of right answers (the test characteristic curve), in theta's shape."""
        return np.asarray(self.probability(theta).sum(axis=-1))

    def summary(self) -> str:
        """Return the parameters as fixed-width text."""
        table = self.items if self._asymptotes() is not None else self.items.drop(columns="guessing")
        lines = [f"Item bank: {counted(self.n_items, 'item')}, logit metric (D = 1)", "", table.round(3).to_string()]
        return "\n".join([*lines, *([""] if self.diagnostics else []), *self.diagnostics])

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers that ``from_dict`` turns back into an equal bank."""
        return {
            "labels": [plain_label(label) for label in self._labels],
            "discrimination": encode_numbers(self._discrimination),
            "intercept": encode_numbers(self._intercept),
            "difficulty": encode_numbers(self._difficulty),
            "guessing": encode_numbers(self._guessing),
            "covariance": None if self._covariance is None else encode_numbers(self._covariance),
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Build the bank from what ``to_dict`` gave."""
        fields = Fields(content)
        labels = fields.index("labels", "item")
        count = len(labels)
        discrimination, intercept = fields.numbers("discrimination", count), fields.numbers("intercept", count)
        guessing = fields.numbers("guessing", count, low=0.0)
        difficulty = fields.numbers("difficulty", count, missing=True)
        covariance = None
        if not fields.is_none("covariance"):
            covariance = fields.numbers("covariance", 2 * count, 2 * count, missing=True)
        return cls.from_arrays(labels, discrimination, intercept, guessing, covariance, difficulty)

    def _asymptotes(self) -> FloatArray | None:
        return self._guessing if bool(np.any(self._guessing > 0.0)) else None

    def __len__(self) -> int:
        return self.n_items

    def __repr__(self) -> str:
        asymptotes = "" if self._asymptotes() is None else ", with guessing"
        return f"ItemBank({counted(self.n_items, 'item')}{asymptotes}: {listed(self._labels)})"

    def _repr_html_(self) -> str:
        return self.items.to_html(float_format=lambda value: f"{value:.3f}", max_rows=60)


def _read_only(values: FloatArray) -> FloatArray:
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array


def _array(values: ArrayLike) -> AnyArray | None:
    """Return an array, or None where nested lists make none."""
    try:
        return np.asarray(values)
    except ValueError:
        return None


def _covariance(values: ArrayLike, size: int) -> FloatArray:
    array = _array(values)
    if array is not None and array.dtype.kind not in "biufO":
        array = None
    try:
        numbers = None if array is None else array.astype(np.float64)
    except (TypeError, ValueError):
        numbers = None
    if numbers is None:
        raise DataError(
            f"covariance has to be a table of {size} x {size} numbers, in the order a1, d1, a2, d2, ...; "
            f"got {reprlib.repr(values)}."
        )
    return numbers


def _abilities(theta: ArrayLike) -> tuple[FloatArray, tuple[int, ...]]:
    array = _array(theta)
    try:
        if array is None or array.dtype.kind == "c":
            raise TypeError
        values = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"theta has to be numbers; got {reprlib.repr(theta)}.") from error
    strange = int((~np.isfinite(values)).sum())
    if strange:
        raise DataError(f"theta holds {strange:,} missing or infinite values; expected finite numbers.")
    return values.ravel(), values.shape
