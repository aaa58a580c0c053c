"""The Q-matrix: which item requires which attribute, by label."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from psychoedu._typing import CodeArray
from psychoedu.cdm.coders import CoderAgreement, consensus, is_code, read_coders
from psychoedu.exceptions import DuplicateLabelError, LabelError, QMatrixError
from psychoedu.persistence import Saved
from psychoedu.validation import SHOWN, check_columns, check_known, counted, listed, shown


class QMatrix(Saved):
    """Which attributes each item requires, items x attributes of 0 and 1.

    Parameters
    ----------
    frame : DataFrame, QMatrix or array of shape (J, K)
        1 (or True) where the item requires the attribute, else 0 (or False). Of a DataFrame the columns are the attributes, and
        the items' labels are a column ``item``, else the index; a plain 0, 1, 2, ... index counts as no labels, as in an array.
    items, attributes : sequence of labels, optional
        Labels for an array: q1, q2, ... and A1, A2, ... where they are not given. For a frame, ``attributes`` names the columns
        to take.

    Attributes
    ----------
    frame : DataFrame
        Items x attributes, int8; a copy.
    values : ndarray of int8, (J, K)
        Read-only.
    item_labels, attribute_labels : Index
    has_item_labels : bool
        Whether the items were labelled; if not, :meth:`align` goes by position.
    coding : CoderAgreement or None
        How the coders agreed, where it was made by :meth:`from_coders`.

    Raises
    ------
    QMatrixError
        A cell is not 0, 1, True or False; an item requires nothing; an attribute is required by no item.
    LabelError, DuplicateLabelError
        Labels are absent or repeated.

    Examples
    --------
    >>> import pandas as pd
    >>> q = QMatrix(pd.DataFrame({"phonology": [1, 0, 1], "syntax": [0, 1, 1]}, index=["I1", "I2", "I3"]))
    >>> q
    QMatrix(3 items x 2 attributes: 'phonology', 'syntax')
    >>> q.align(["I3", "I1", "I2"]).values.tolist()
    [[1, 1], [1, 0], [0, 1]]
    """

    kind = "q_matrix"

    def __init__(self, frame: Any, items: Iterable[Hashable] | None = None, attributes: Iterable[Hashable] | None = None) -> None:
        if isinstance(frame, QMatrix):
            self._set(frame.values, frame.item_labels, frame.attribute_labels, frame.has_item_labels, frame.coding)
            return
        if isinstance(frame, pd.DataFrame):
            table, labels = _frame_parts(frame, items, attributes)
            cells, columns = table.to_numpy(dtype=object), table.columns
        else:
            cells = _cells_of(frame)
            labels = None if items is None else _index(items)
            columns = pd.Index([f"A{k + 1}" for k in range(cells.shape[1])]) if attributes is None else _index(attributes)
        if 0 in cells.shape:
            raise QMatrixError(
                f"The Q-matrix is empty: {cells.shape[0]:,} items x {cells.shape[1]:,} attributes. Expected at least one of each."
            )
        rows = pd.Index([f"q{j + 1}" for j in range(len(cells))]) if labels is None else labels
        rows, columns = _check_labels(rows, len(cells), "item"), _check_labels(columns, cells.shape[1], "attribute")
        self._set(_to_codes(cells, rows, columns), rows, columns, labels is not None, None)

    def _set(
        self, values: CodeArray, items: pd.Index, attributes: pd.Index, has_item_labels: bool, coding: CoderAgreement | None
    ) -> None:
        _refuse_empty(values, items, attributes)
        codes = np.array(values, dtype=np.int8, order="C")
        codes.flags.writeable = False
        self._values, self._items, self._attributes = codes, items.rename("item"), attributes.rename("attribute")
        self._has_item_labels, self._coding = has_item_labels, coding

    @classmethod
    def from_coders(
        cls,
        codings: pd.DataFrame | Mapping[Hashable, pd.DataFrame],
        *,
        coder: Hashable = "coder",
        item: Hashable = "item",
        attribute: Hashable = "attribute",
        value: Hashable = "value",
        ties: str = "raise",
        lead_coder: Hashable | None = None,
    ) -> Self:
        """Make the consensus of several coders by majority.

        Parameters
        ----------
        codings : DataFrame, or mapping from coder to DataFrame
            A long frame with a row per coder, item and attribute; or each coder's own items x attributes frame. Every coder codes
            every cell, 0 too.
        coder, item, attribute, value : column names
            Of the long frame.
        ties : {"raise", "one", "zero", "lead"}
            What a cell becomes that as many coders gave 1 as 0: refused (listing them), 1, 0, or the value of ``lead_coder``.
        lead_coder : label, optional
            For ``ties="lead"``.

        Returns
        -------
        QMatrix
            With ``.coding``: agreement and kappa by attribute, the disagreements and ties.

        Raises
        ------
        QMatrixError
            A value is not 0 or 1, or ties are left.
        DataError, DuplicateLabelError
            A cell is coded twice or not at all, or there is one coder only.

        Examples
        --------
        >>> import pandas as pd
        >>> one = pd.DataFrame({"A1": [1, 0, 1], "A2": [0, 1, 1]}, index=["I1", "I2", "I3"])
        >>> two = pd.DataFrame({"A1": [1, 0, 1], "A2": [0, 1, 0]}, index=["I1", "I2", "I3"])
        >>> q = QMatrix.from_coders({"Ann": one, "Bo": two, "Cy": one})
        >>> q.frame.loc["I3"].tolist()
        [1, 1]
        >>> q.coding.disagreements[["item", "attribute", "n_ones", "consensus"]].values.tolist()
        [['I3', 'A2', 2, 1]]
        """
        coders, items, attributes, codes = read_coders(codings, coder, item, attribute, value)
        coding = consensus(coders, items, attributes, codes, ties, lead_coder)
        matrix = cls.__new__(cls)
        matrix._set(coding.consensus, items, attributes, True, coding)
        return matrix

    @classmethod
    def read_csv(
        cls, path: str | Path, *, item: Hashable | None = None, attributes: Iterable[Hashable] | None = None, **options: Any
    ) -> Self:
        """Read a Q-matrix from a CSV file.

        Parameters
        ----------
        path : str or Path
        item : column name, optional
            The column of item labels; by default ``item`` where there is one, else the first.
        attributes : sequence of column names, optional
            The attributes; all other columns by default.
        **options
            Passed on to ``pandas.read_csv``.

        Returns
        -------
        QMatrix
        """
        frame = pd.read_csv(path, **options)
        name = item if item is not None else "item" if "item" in frame.columns else frame.columns[0]
        check_columns(frame, [name], "item")
        return cls(frame.set_index(name).rename_axis("item"), attributes=attributes)

    @property
    def values(self) -> CodeArray:
        """Items x attributes of 0 and 1, int8, (J, K), read-only."""
        return self._values

    @property
    def frame(self) -> pd.DataFrame:
        """Items x attributes of 0 and 1, int8, with their labels; a copy."""
        return pd.DataFrame(self._values.copy(), index=self._items, columns=self._attributes)

    @property
    def item_labels(self) -> pd.Index:
        """The items' labels, (J,)."""
        return self._items

    @property
    def attribute_labels(self) -> pd.Index:
        """The attributes' labels, (K,), in the order of the profiles' digits."""
        return self._attributes

    @property
    def has_item_labels(self) -> bool:
        """Whether the items were labelled when the matrix was made."""
        return self._has_item_labels

    @property
    def coding(self) -> CoderAgreement | None:
        """How the coders agreed, or None."""
        return self._coding

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self._values.shape[0])

    @property
    def n_attributes(self) -> int:
        """Number of attributes."""
        return int(self._values.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """Number of items and of attributes."""
        return self.n_items, self.n_attributes

    def align(self, item_labels: Iterable[Hashable], *, drop_extra: bool = False) -> QMatrix:
        """Return the rows of given items, in their order.

        Parameters
        ----------
        item_labels : sequence of labels
            The items of the responses. A matrix without item labels takes them over by position, if their number is the same.
        drop_extra : bool
            Whether rows of items that are not among them are left out; they are an error by default.

        Returns
        -------
        QMatrix

        Raises
        ------
        LabelError
            Items without a row, rows without an item, or a matrix without labels whose number of rows differs.
        QMatrixError
            An attribute loses all its items.
        """
        wanted = _index(item_labels)
        if not self._has_item_labels:
            if len(wanted) != self.n_items:
                raise LabelError(
                    f"The Q-matrix has {counted(self.n_items, 'row')} without item labels; the responses have "
                    f"{counted(len(wanted), 'item')} ({listed(wanted)}).\n"
                    "Expected a row per item. Give the items' labels: QMatrix(frame) with them as the index, or items=."
                )
            return self._with(self._values, _check_labels(wanted, self.n_items, "item"))
        absent = wanted[~wanted.isin(self._items)]
        if len(absent):
            raise LabelError(
                f"{counted(len(absent), 'item')} of {len(wanted):,} without a row in the Q-matrix: {listed(absent)}.\n"
                f"Expected a row for each; it has {counted(self.n_items, 'row')}: {listed(self._items)}. "
                "Add rows, or select the items first."
            )
        extra = self._items[~self._items.isin(wanted)]
        if len(extra) and not drop_extra:
            raise LabelError(
                f"{counted(len(extra), 'row')} of the Q-matrix without an item in the responses: {listed(extra)}.\n"
                "Expected the same items in both; pass q_matrix.align(items, drop_extra=True) to leave these rows out."
            )
        labels = check_known(wanted, self._items, "item")
        return self._with(self._values[self._items.get_indexer(labels)], labels)

    def _with(self, values: CodeArray, items: pd.Index) -> QMatrix:
        matrix = QMatrix.__new__(QMatrix)
        matrix._set(values, items, self._attributes, True, self._coding)
        return matrix

    def summary(self) -> str:
        """Return sizes, items by attribute and by number of attributes, and the coders' agreement as fixed-width text."""
        sizes = self._values.sum(axis=1)
        table = pd.DataFrame(
            {"items": self._values.sum(axis=0), "alone": self._values[sizes == 1].sum(axis=0)}, index=self._attributes
        )
        by_size = ", ".join(f"{int((sizes == size).sum())} with {size}" for size in np.unique(sizes))
        lines = [f"Q-matrix: {counted(self.n_items, 'item')}, {counted(self.n_attributes, 'attribute')}", ""]
        lines += [f"  items by number of attributes: {by_size}", "", table.to_string()]
        if self._coding is not None:
            lines += ["", self._coding.summary()]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists that ``from_dict`` turns back into an equal matrix."""
        return {
            "items": self._items.tolist(),
            "attributes": self._attributes.tolist(),
            "values": self._values.tolist(),
            "has_item_labels": self._has_item_labels,
            "coding": None if self._coding is None else self._coding.to_dict(),
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Build the matrix from what ``to_dict`` gave."""
        matrix = cls.__new__(cls)
        cells = _cells_of(content["values"])
        items = _check_labels(_index(content["items"]), len(cells), "item")
        attributes = _check_labels(_index(content["attributes"]), cells.shape[1], "attribute")
        coding = None if content["coding"] is None else CoderAgreement.from_dict(content["coding"])
        matrix._set(_to_codes(cells, items, attributes), items, attributes, bool(content["has_item_labels"]), coding)
        return matrix

    def __len__(self) -> int:
        return self.n_items

    def __repr__(self) -> str:
        sizes = f"{counted(self.n_items, 'item')} x {counted(self.n_attributes, 'attribute')}"
        return f"QMatrix({sizes}: {listed(self._attributes)})"

    def _repr_html_(self) -> str:
        return str(self.frame.to_html(max_rows=60))


def as_q_matrix(value: Any) -> QMatrix:
    """Return a QMatrix as it is, and make one of a frame or an array."""
    return value if isinstance(value, QMatrix) else QMatrix(value)


def _index(labels: Iterable[Hashable]) -> pd.Index:
    return labels if isinstance(labels, pd.Index) else pd.Index(list(labels), tupleize_cols=False)


def _frame_parts(
    frame: pd.DataFrame, items: Iterable[Hashable] | None, attributes: Iterable[Hashable] | None
) -> tuple[pd.DataFrame, pd.Index | None]:
    """Return the cells' frame and the items' labels, None where there are none."""
    if not frame.columns.is_unique:
        repeated = frame.columns[frame.columns.duplicated()].unique()
        raise DuplicateLabelError(
            f"{counted(len(repeated), 'attribute label')} used more than once: {listed(repeated)}.\n"
            "Expected every attribute to have its own column. Rename or drop columns."
        )
    if items is not None:
        labels: pd.Index | None = _index(items)
    elif "item" in frame.columns:
        labels = pd.Index(frame["item"])
    elif isinstance(frame.index, pd.RangeIndex) and frame.index.name is None:
        labels = None
    else:
        labels = frame.index
    table = frame.drop(columns="item") if "item" in frame.columns else frame
    if attributes is not None:
        table = table[check_columns(table, list(attributes), "attributes")]
    return table, labels


def _cells_of(values: Any) -> np.ndarray[Any, np.dtype[np.object_]]:
    cells = np.array(values, dtype=object)
    if cells.ndim != 2:
        raise QMatrixError(
            f"A Q-matrix is made from a frame or an array; got {type(values).__name__} of shape {cells.shape}.\n"
            "Expected two dimensions, items x attributes."
        )
    return cells


def _check_labels(labels: pd.Index, count: int, axis: str) -> pd.Index:
    if isinstance(labels, pd.MultiIndex):
        raise LabelError(f"The {axis}s have labels of {labels.nlevels} levels; expected one label each. Join the levels.")
    if len(labels) != count:
        raise LabelError(
            f"{counted(len(labels), axis + ' label')} for {counted(count, axis)} of the Q-matrix; expected one each."
        )
    if isinstance(labels, pd.CategoricalIndex):
        labels = labels.astype(labels.categories.dtype)
    if labels.hasnans:
        places = np.flatnonzero(labels.isna()) + 1
        raise LabelError(
            f"{counted(len(places), axis)} of the Q-matrix without a label, at position {listed(places)}.\n"
            "Expected a label for each. Fill them in."
        )
    if not labels.is_unique:
        repeated = labels[labels.duplicated()].unique()
        raise DuplicateLabelError(
            f"{counted(len(repeated), axis + ' label')} used more than once in the Q-matrix: {listed(repeated)}.\n"
            f"Expected every {axis} once. Rename or drop {'rows' if axis == 'item' else 'columns'}."
        )
    return labels


def _to_codes(cells: np.ndarray[Any, np.dtype[np.object_]], items: pd.Index, attributes: pd.Index) -> CodeArray:
    """Turn cells into 0 and 1; text and fractions are not numbers that happen to look like them."""
    good = np.array([[is_code(cell) for cell in row] for row in cells], dtype=np.bool_)
    if not good.all():
        places = np.argwhere(~good)
        texts = [f"item {shown(items[j])}, attribute {shown(attributes[k])}: {_written(cells[j, k])}" for j, k in places[:SHOWN]]
        more = f"; and {len(places) - SHOWN:,} more" if len(places) > SHOWN else ""
        whole = attributes[np.flatnonzero(good.sum(axis=0) == 0)]
        hint = f" Columns that are no attributes ({listed(whole)}) are left out by attributes=." if len(whole) else ""
        raise QMatrixError(
            f"{counted(len(places), 'cell')} of the Q-matrix {'is' if len(places) == 1 else 'are'} not 0 or 1 "
            f"({'; '.join(texts)}{more}).\n"
            f"Expected 0, 1, True or False in each of the {cells.size:,} cells; text and missing values are not read as 0.{hint}"
        )
    return cells.astype(np.float64).astype(np.int8)


def _written(cell: Any) -> str:
    return "missing" if cell is None or cell is pd.NA or cell != cell else shown(cell)


def _refuse_empty(values: CodeArray, items: pd.Index, attributes: pd.Index) -> None:
    no_attribute = np.asarray(values.sum(axis=1) == 0)
    if no_attribute.any():
        raise QMatrixError(
            f"{counted(int(no_attribute.sum()), 'item')} of {len(items):,} without any attribute in the Q-matrix: "
            f"{listed(items[no_attribute])}.\n"
            "Expected at least one 1 in every row. Code what these items require, or leave them out of the diagnosis."
        )
    no_item = np.asarray(values.sum(axis=0) == 0)
    if no_item.any():
        raise QMatrixError(
            f"{counted(int(no_item.sum()), 'attribute')} of {len(attributes):,} required by no item of the Q-matrix: "
            f"{listed(attributes[no_item])}.\n"
            "Expected at least one 1 in every column. Nothing measures these attributes: drop their columns, or add items."
        )
