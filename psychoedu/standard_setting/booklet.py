"""Ordered item booklets: items from the easiest to the hardest, a page each, as a bookmark panel reads them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray, IntArray
from psychoedu._version import __version__
from psychoedu.exceptions import DataError, LabelError
from psychoedu.irt.bank import ItemBank
from psychoedu.persistence import Fields, Saved, plain_label
from psychoedu.standard_setting.locations import location_errors, rp_locations
from psychoedu.validation import check_choice, check_known, check_number, check_path, check_probability, counted, listed

ORDERS = ("rp_location", "difficulty")
OWN_COLUMNS = ("item", "rp_location", "rp_location_se", "discrimination", "difficulty", "gap_to_next")
HARMLESS_FLAGS = {"", "fixed"}
DEFAULT_RP = 0.67
_DIGITS = 10
"""Locations are told apart to so many decimals: at RP 0.5 equal difficulties are not to be ordered by rounding errors."""


@dataclass(frozen=True, eq=False, repr=False)
class OrderedItemBooklet(Saved):
    """Items ordered by their location, one a page; made by :func:`booklet`.

    Attributes
    ----------
    bank : ItemBank
        The items in page order, with their covariance where it is known.
    response_probability : float
        RP, the probability with which the just-qualified candidate answers an item that they have mastered.
    order_by : {"rp_location", "difficulty"}
    locations : ndarray, (J,)
        RP location of each page's item, on the bank's scale.
    location_se : ndarray, (J,)
        Their standard errors; nan where the bank has none.
    excluded : DataFrame
        ``item`` and ``reason`` of the items that were left out.
    order_differences : DataFrame
        ``item``, ``page`` and ``page_by_<the other order>`` of the pages where ordering by RP location and ordering by difficulty
        disagree; with equal discriminations, or at RP 0.5 without guessing, there are none.
    fingerprint : str
        Twelve hexadecimal digits that name the order of the items and RP: placements carry it, so that they are not read against
        another booklet.
    """

    kind: ClassVar[str] = "ordered_item_booklet"

    bank: ItemBank
    response_probability: float
    order_by: str
    excluded: pd.DataFrame
    item_table: pd.DataFrame
    version: str = __version__
    locations: FloatArray = field(init=False)
    location_se: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        bank = self.bank
        locations = rp_locations(bank.discrimination, bank.intercept, _asymptotes(bank), self.response_probability)
        errors = np.full(bank.n_items, np.nan)
        if bank.covariance is not None:
            errors = location_errors(bank.discrimination, locations, bank.covariance)
        for name, values in (("locations", locations), ("location_se", errors)):
            values.flags.writeable = False
            object.__setattr__(self, name, values)

    @property
    def n_pages(self) -> int:
        """Number of pages, J."""
        return self.bank.n_items

    @property
    def labels(self) -> pd.Index:
        """The items' labels in page order."""
        return self.bank.labels

    @property
    def fingerprint(self) -> str:
        """Twelve hexadecimal digits that name this booklet."""
        labels = [plain_label(label) for label in self.labels]
        known = [labels, self.response_probability, self.order_by]
        return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:12]

    @property
    def order_differences(self) -> pd.DataFrame:
        """Pages where the two orders disagree: item, page, page in the other order."""
        other = "difficulty" if self.order_by == "rp_location" else "rp_location"
        keys = {"difficulty": self.bank.difficulty, "rp_location": self.locations}
        page = np.empty(self.n_pages, dtype=np.int64)
        page[_order(keys[other])] = np.arange(1, self.n_pages + 1)
        own = np.arange(1, self.n_pages + 1)
        # pages whose keys tie in both orders are no disagreement: the booklet's own order settles them
        moved = page != own
        return pd.DataFrame(
            {"item": self.labels[moved], "page": own[moved], f"page_by_{other}": page[moved]}, index=pd.RangeIndex(moved.sum())
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a row per page.

        Returns
        -------
        DataFrame, index ``page`` from 1
            ``item``, ``rp_location``, ``rp_location_se``, ``discrimination``, ``difficulty``, ``gap_to_next`` (distance to the
            next page's location; nan on the last page), and the columns of the item table (text, key, subskill, ...).
        """
        gaps = np.append(np.diff(self.locations), np.nan)
        values = (
            self.labels,
            self.locations,
            self.location_se,
            self.bank.discrimination,
            self.bank.difficulty,
            gaps,
        )
        frame = pd.DataFrame(dict(zip(OWN_COLUMNS, values, strict=True)), index=pd.RangeIndex(1, self.n_pages + 1, name="page"))
        for name in self.item_table.columns:
            frame[name] = self.item_table[name].to_numpy()
        return frame

    def to_csv(self, path: str | Path) -> Path:
        """Write the pages as CSV, a row per page, and return the path."""
        target = check_path(path, "write")
        self.to_frame().to_csv(target)
        return target

    def to_html(self, levels: Sequence[Hashable], **options: Any) -> str:
        """Return the booklet as one self-contained page that is also the panellist's form.

        Parameters
        ----------
        levels : sequence of labels
            Levels that get a bookmark, from the lowest.
        **options
            Of :func:`psychoedu.report.panel_form.panel_form`: ``title``, ``rule``, ``round``, ``panellist``, ``notes``, ...

        Returns
        -------
        str
            HTML; nothing is written to disk.
        """
        from psychoedu.report.panel_form import panel_form

        return panel_form(self, levels, **options)

    def summary(self) -> str:
        """Return the pages as fixed-width text."""
        order = "RP location" if self.order_by == "rp_location" else "difficulty"
        lines = [f"Ordered item booklet: {counted(self.n_pages, 'page')} by {order}, RP {self.response_probability:.6g}", ""]
        shown = [name for name in self.to_frame().columns if name not in ("text", "discrimination")]
        lines.append(self.to_frame()[shown].to_string(float_format=lambda value: f"{value:.3f}", na_rep="-"))
        return "\n".join([*lines, *([""] if self.diagnostics else []), *self.diagnostics])

    @property
    def diagnostics(self) -> tuple[str, ...]:
        """What was left out, and where the two orders disagree."""
        notes = []
        for reason, rows in self.excluded.groupby("reason", sort=False):
            notes.append(f"left out, {reason}: {counted(len(rows), 'item')} ({listed(list(rows['item']))})")
        moved = self.order_differences
        if len(moved):
            other = "difficulty" if self.order_by == "rp_location" else "RP location"
            notes.append(f"ordering by {other} would give another page to {counted(len(moved), 'item')}; see order_differences")
        return tuple(notes)

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers that ``from_dict`` turns back into an equal booklet."""
        table = {str(name): [_plain_cell(value) for value in self.item_table[name]] for name in self.item_table.columns}
        return {
            "bank": self.bank.to_dict(),
            "response_probability": self.response_probability,
            "order_by": self.order_by,
            "excluded": [[plain_label(item), reason] for item, reason in self.excluded.itertuples(index=False)],
            "item_table": table,
            "version": self.version,
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Build the booklet from what ``to_dict`` gave."""
        fields = Fields(content)
        bank = ItemBank.from_dict(fields.part("bank").content)
        left_out = content["excluded"]
        if not isinstance(left_out, list) or not all(isinstance(row, list) and len(row) == 2 for row in left_out):
            fields.refuse("excluded", "pairs of an item and a reason")
        columns = fields.part("item_table").content
        for name, values in columns.items():
            if not isinstance(values, list) or len(values) != bank.n_items:
                fields.part("item_table").refuse(name, f"{bank.n_items} values")
        probability = fields.number("response_probability", above=0.0)
        if probability >= 1.0:
            fields.refuse("response_probability", "a number below 1")
        if (bank.discrimination <= 0.0).any():
            fields.refuse("bank", "discriminations above 0", "others")
        _refuse_guessing(bank, probability)
        made = cls(
            bank,
            probability,
            fields.text("order_by", ORDERS),
            pd.DataFrame(left_out, columns=["item", "reason"]),
            pd.DataFrame(columns, index=bank.labels),
            fields.text("version"),
        )
        keys = made.locations if made.order_by == "rp_location" else bank.difficulty
        if not np.array_equal(_order(keys), np.arange(bank.n_items)):
            fields.refuse("bank", f"items in the order of their {made.order_by}", "another order")
        return made

    def __len__(self) -> int:
        return self.n_pages

    def __repr__(self) -> str:
        left_out = f", {len(self.excluded)} left out" if len(self.excluded) else ""
        return f"OrderedItemBooklet({counted(self.n_pages, 'page')}, RP {self.response_probability:.6g}{left_out})"

    def _repr_html_(self) -> str:
        return self.to_frame().to_html(float_format=lambda value: f"{value:.3f}", max_rows=80, na_rep="-")


def booklet(
    bank: Any,
    response_probability: float = DEFAULT_RP,
    order_by: str = "rp_location",
    *,
    items: pd.DataFrame | None = None,
    exclude: Any = (),
    keep: Any = (),
) -> OrderedItemBooklet:
    """Order the items of a calibrated bank from the easiest to the hardest.

    Parameters
    ----------
    bank : Calibration or ItemBank
        Items with a lower asymptote are located with it.
    response_probability : float, default 0.67
        RP. 2/3 and 0.67 differ; 0.5 and 0.8 are in use as well. It is a choice, not an estimate:
        ``CutScores.rp_sensitivity`` shows what hangs on it.
    order_by : {"rp_location", "difficulty"}
        The two agree at RP 0.5 (without guessing) and where all discriminations are equal.
    items : DataFrame, optional
        What stands on the pages beside the item's label: text, key, subskill, ... by item (its index, or a column ``item``).
        By default the item table of the calibration's responses.
    exclude : label or labels, optional
        Items to leave out besides.
    keep : label or labels, optional
        Flagged items to keep all the same (discriminations at or below 0 have no location in a booklet and are never kept).

    Returns
    -------
    OrderedItemBooklet

    Raises
    ------
    DataError
        The response probability is not between 0 and 1, or not above an item's lower asymptote; no item is left.
    LabelError
        An item named is not in the bank.

    Notes
    -----
    Left out, and listed in ``.excluded``: items whose discrimination is not above 0, items that the calibration flagged
    (``on_bound``, ``few_responses``), and those named. Ties keep the bank's order.

    References
    ----------
    Mitzel, H. C., Lewis, D. M., Patz, R. J., & Green, D. R. (2001). The bookmark procedure. In G. J. Cizek (Ed.), Setting
    performance standards (pp. 249-281). Erlbaum.

    Examples
    --------
    >>> import pandas as pd
    >>> bank = ItemBank(pd.DataFrame({"discrimination": [0.5, 2.0], "difficulty": [0.0, 0.4]}, index=["q1", "q2"]))
    >>> booklet(bank, 0.5).to_frame()["item"].tolist(), booklet(bank, 2 / 3).to_frame()["item"].tolist()
    (['q1', 'q2'], ['q2', 'q1'])
    """
    source = bank
    bank = getattr(bank, "bank", bank)
    if not isinstance(bank, ItemBank):
        hint = " Make a bank of the table first: ItemBank(frame)." if isinstance(bank, pd.DataFrame) else ""
        raise DataError(f"A booklet needs a Calibration or an ItemBank; got {type(source).__name__}.{hint}")
    probability = check_probability(response_probability, "response_probability")
    check_choice(order_by, ORDERS, "order_by")
    reasons = _reasons_to_leave_out(source, bank, exclude, keep)
    kept = [position for position in range(bank.n_items) if position not in reasons]
    if not kept:
        raise DataError(
            f"No item is left for the booklet: all {bank.n_items:,} were left out ({listed(sorted(set(reasons.values())))})."
            "\nExpected at least one item with a discrimination above 0 and no flag; name flagged ones to keep with keep=."
        )
    some = bank.select(bank.labels[kept])
    _refuse_guessing(some, probability)
    location = rp_locations(some.discrimination, some.intercept, _asymptotes(some), probability)
    order = _order(location if order_by == "rp_location" else some.difficulty)
    ordered = some.select(some.labels[order])
    excluded = pd.DataFrame(
        {"item": [bank.labels[position] for position in reasons], "reason": list(reasons.values())}, columns=["item", "reason"]
    )
    return OrderedItemBooklet(ordered, probability, order_by, excluded, _item_table(source, items, ordered.labels))


def _order(keys: FloatArray) -> IntArray:
    """Return the stable order of keys, of which those that differ by a rounding error alone are ties."""
    return np.argsort(np.round(keys, _DIGITS), kind="stable")


def booklet_of(bank: Any, response_probability: float | None = None, order_by: str | None = None) -> OrderedItemBooklet:
    """Return the booklet that was given, or make one of a bank.

    Parameters
    ----------
    bank : Calibration, ItemBank or OrderedItemBooklet
    response_probability : float, optional
        0.67 by default; a booklet has its own.
    order_by : {"rp_location", "difficulty"}, optional

    Raises
    ------
    DataError
        A booklet was given together with another response probability or order than its own.
    """
    if not isinstance(bank, OrderedItemBooklet):
        return booklet(bank, DEFAULT_RP if response_probability is None else response_probability, order_by or "rp_location")
    own = bank.response_probability
    if response_probability is not None and check_number(response_probability, "response_probability") != own:
        raise DataError(
            f"response_probability is {response_probability!r}, but the panel's booklet has {own:.6g}."
            "\nLeave it out, or make another booklet; .rp_sensitivity shows the cuts at other response probabilities."
        )
    if order_by is not None and order_by != bank.order_by:
        raise DataError(f"order_by is {order_by!r}, but the booklet is ordered by {bank.order_by!r}. Leave it out.")
    return bank


def _asymptotes(bank: ItemBank) -> FloatArray | None:
    return bank.guessing if bool(np.any(bank.guessing > 0.0)) else None


def _refuse_guessing(bank: ItemBank, probability: float) -> None:
    beyond = bank.guessing >= probability
    if beyond.any():
        raise DataError(
            f"response_probability {probability:.6g} is not above the lower asymptote of {counted(int(beyond.sum()), 'item')}: "
            f"{listed(bank.labels[beyond])} (guessing {listed(np.round(bank.guessing[beyond], 4))}), so no ability has it.\n"
            "Expected a response probability above every item's guessing; raise it, or leave those items out with exclude=."
        )


def _reasons_to_leave_out(source: Any, bank: ItemBank, exclude: Any, keep: Any) -> dict[int, str]:
    """Return why each item that is left out is, by position."""
    kept = set(_known(keep, bank.labels))
    reasons: dict[int, str] = {}
    flags = getattr(source, "flags", None)
    texts = list(flags) if isinstance(flags, tuple) and len(flags) == bank.n_items else [""] * bank.n_items
    named = set(_known(exclude, bank.labels))
    both = [label for label in bank.labels if label in named and label in kept]
    if both:
        raise DataError(f"exclude= and keep= both name {counted(len(both), 'item')}: {listed(both)}. Expected one or the other.")
    for position, (label, text) in enumerate(zip(bank.labels, texts, strict=True)):
        found = [flag for flag in text.split("; ") if flag not in HARMLESS_FLAGS]
        if bank.discrimination[position] <= 0.0:
            reasons[position] = "discrimination not above 0"
        elif label in named:
            reasons[position] = "excluded by name"
        elif found and label not in kept:
            reasons[position] = "flagged " + ", ".join(found)
    return reasons


def _known(labels: Any, among: pd.Index) -> list[Hashable]:
    if isinstance(labels, str) or not isinstance(labels, Sequence | pd.Series | pd.Index | np.ndarray | set | frozenset):
        labels = [labels]
    return list(check_known(labels, among, "item"))


def _item_table(source: Any, items: pd.DataFrame | None, labels: pd.Index) -> pd.DataFrame:
    """Return what is known of the items, in page order."""
    table = items
    if table is None:
        responses = getattr(getattr(source, "source", None), "responses", None)
        table = pd.DataFrame(index=labels) if responses is None else responses.items
    elif isinstance(table, Mapping) or not isinstance(table, pd.DataFrame):
        raise DataError(f"items has to be a DataFrame with a row per item; got {type(table).__name__}.")
    if "item" in table.columns:
        table = table.set_index("item")
    if not table.index.is_unique:
        raise LabelError(f"items has several rows for one item: {listed(table.index[table.index.duplicated()].unique())}.")
    absent = labels[~labels.isin(table.index)]
    if len(absent):
        raise LabelError(
            f"items has no row for {counted(len(absent), 'item')} of the booklet: {listed(absent)}.\n"
            "Expected the items' labels as its index or in a column 'item'."
        )
    table = table.loc[labels]
    clash = [name for name in table.columns if name in OWN_COLUMNS]
    return table.drop(columns=clash).rename_axis("item")


def _plain_cell(value: Any) -> str | int | float | bool | None:
    if np.ndim(value) == 0 and pd.isna(value):
        return None
    plain = value.item() if isinstance(value, np.generic) else value
    infinite = isinstance(plain, float) and np.isinf(plain)
    return plain if isinstance(plain, str | int | float | bool) and not infinite else str(plain)
