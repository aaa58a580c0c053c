"""Ratings of an Angoff panel: who rated which item for which level in which round, checked and laid out."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray, IntArray
from psychoedu.exceptions import DataError, DuplicateLabelError, LabelError
from psychoedu.standard_setting.judged_levels import named_levels
from psychoedu.standard_setting.scales import as_scale, order_levels
from psychoedu.validation import check_known, check_labels, counted, listed

KINDS = ("probability", "yes-no")
MISSING = ("raise", "item-mean")
ONLY_LEVEL = "pass"
"""The level of a table that names none."""


@dataclass(frozen=True, eq=False)
class AngoffRatings:
    """Ratings by round, panellist, level and item.

    Attributes
    ----------
    rounds, panellists, levels, items : tuple of labels
        Rounds in order, panellists and items as first met, levels from the lowest.
    values : ndarray, (R, P, L, J)
        Proportions from 0 to 1; nan where there is no rating.
    """

    rounds: tuple[Hashable, ...]
    panellists: tuple[Hashable, ...]
    levels: tuple[Hashable, ...]
    items: tuple[Hashable, ...]
    values: FloatArray

    @cached_property
    def filled(self) -> FloatArray:
        """The ratings with a missing one replaced by the item's mean; panellists who rated nothing for a level stay nan."""
        filled = self.values.copy()
        there = ~np.isnan(self.values)
        rated = there.any(axis=3, keepdims=True)
        counts = there.sum(axis=1, keepdims=True)
        means = np.where(there, self.values, 0.0).sum(axis=1, keepdims=True) / np.where(counts, counts, np.nan)
        gaps = ~there & rated
        filled[gaps] = np.broadcast_to(means, filled.shape)[gaps]
        return filled

    @property
    def raw_cuts(self) -> FloatArray:
        """Sum over the items of each panellist's ratings, (R, P, L); nan where a panellist rated nothing."""
        total: FloatArray = self.filled.sum(axis=3)
        return total

    @property
    def gaps(self) -> FloatArray:
        """Number of missing ratings of panellists who rated some items, (R, P, L)."""
        there = ~np.isnan(self.values)
        found: FloatArray = np.where(there.any(axis=3), (~there).sum(axis=3), 0).astype(np.float64)
        return found

    def named(self, place: Sequence[int] | IntArray) -> str:
        """Name a cell by (round, panellist, level) or (round, panellist, level, item), without what there is only one of."""
        parts = [str(self.panellists[place[1]])]
        if len(self.rounds) > 1:
            parts.append(f"round {self.rounds[place[0]]}")
        if len(self.levels) > 1:
            parts.append(str(self.levels[place[2]]))
        return ", ".join([*parts, *(str(self.items[at]) for at in place[3:])])


def read_ratings(
    ratings: Any, kind: str, levels: Sequence[Hashable] | None, scale: Any, items: Iterable[Hashable] | None, missing: str
) -> AngoffRatings:
    """Check a table of ratings and lay it out.

    Parameters
    ----------
    ratings : DataFrame or array
        Wide: a row per panellist, a column per item. Long: columns ``panellist``, ``item``, ``rating``, and optionally
        ``level`` and ``round``.
    kind : {"probability", "yes-no"}
    levels : sequence of labels, optional
        Of a wide table its one level; else their order.
    scale : "CSE", "CEFR", Scale, list of all levels, or None
    items : labels, optional
        Those that count, by default all.
    missing : {"raise", "item-mean"}

    Raises
    ------
    DataError
        A rating is out of range or missing; a higher level has a lower raw cut.
    DuplicateLabelError, LabelError
        A rating, panellist or item stands there twice; a column or label is missing.
    """
    known = None if scale is None else as_scale(scale, ())
    wanted = None
    if levels is not None:
        wanted = list(named_levels(pd.Series([levels] if isinstance(levels, str) else list(levels), dtype=object), known))
    frame = _long(ratings, wanted)
    if not len(frame):
        raise DataError("The ratings are empty; expected a row per panellist and a column per item, or a row per rating.")
    for name in ("panellist", "item", "level", "round"):
        blank = frame[name].isna().to_numpy()
        if blank.any():
            raise LabelError(
                f"{counted(int(blank.sum()), 'rating')} without a {name}, in row {listed(np.flatnonzero(blank) + 1)}. Expected "
                f"a {name} for every rating."
            )
    frame["level"] = named_levels(frame["level"], known)
    if items is not None:
        asked = [items] if isinstance(items, str) else list(items)
        kept = check_known(asked, pd.Index(pd.unique(frame["item"]), tupleize_cols=False), "rated item")
        frame = frame[frame["item"].isin(kept)]
        if frame.empty:
            raise DataError("items names no item. Expected at least one of those rated, or leave it out.")
    values = _numbers(frame, kind)
    cell = ["panellist", "round", "level", "item"]
    repeated = frame.duplicated(cell, keep=False)
    if repeated.any():
        where = frame.loc[repeated, cell].drop_duplicates()
        texts = [
            f"{panellist}, round {number}, {level}, {item}" for panellist, number, level, item in where.itertuples(index=False)
        ]
        raise DuplicateLabelError(
            f"{counted(len(where), 'rating')} given more than once: {listed(texts)}.\n"
            "Expected one rating for each panellist, round, level and item."
        )
    known_levels = order_levels(frame["level"], wanted)
    axes = (_plain(order_levels(frame["round"])), _plain(pd.unique(frame["panellist"])), _plain(known_levels))
    known_items = _plain(pd.unique(frame["item"]) if items is None else asked)
    cells = np.full((*map(len, axes), len(known_items)), np.nan)
    places = [
        pd.Index(labels, dtype=object, tupleize_cols=False).get_indexer(pd.Index(frame[name], dtype=object, tupleize_cols=False))
        for labels, name in zip((*axes, known_items), ("round", "panellist", "level", "item"), strict=True)
    ]
    cells[tuple(places)] = values
    cells.flags.writeable = False
    table = AngoffRatings(*axes, known_items, cells)
    _refuse_gaps(table, missing)
    _refuse_crossed(table)
    return table


def _plain(labels: Iterable[Any]) -> tuple[Hashable, ...]:
    return tuple(label.item() if isinstance(label, np.generic) else label for label in labels)


def _long(ratings: Any, levels: list[Hashable] | None) -> pd.DataFrame:
    if not isinstance(ratings, pd.DataFrame):
        array = np.asarray(ratings, dtype=object) if isinstance(ratings, np.ndarray | list | tuple) else np.empty(0)
        if array.ndim != 2:
            raise DataError(
                "ratings has to be a table: a row per panellist and a column per item, or the columns panellist, item, rating "
                f"(level, round); got {type(ratings).__name__}."
            )
        names = [f"q{j}" for j in range(1, array.shape[1] + 1)]
        ratings = pd.DataFrame(array, index=range(1, array.shape[0] + 1), columns=names)
    if "rating" in ratings.columns:
        absent = [name for name in ("panellist", "item") if name not in ratings.columns]
        if absent:
            raise LabelError(
                f"The ratings lack {counted(len(absent), 'column')}: {listed(absent)}. Their columns are "
                f"{listed(ratings.columns)}.\n"
                "Expected a row per rating: panellist, item, rating, and where there are several level and round."
            )
        frame = ratings.reset_index(drop=True)
        if "level" not in frame.columns and levels is not None and len(levels) != 1:
            raise LabelError(
                f"levels names {len(levels)} levels, but the ratings have no column 'level'. Expected one, or the column."
            )
        only = ONLY_LEVEL if levels is None else levels[0]
        extra = {name: value for name, value in (("level", only), ("round", 1)) if name not in frame.columns}
        chosen: pd.DataFrame = frame.assign(**extra)[["panellist", "item", "rating", "level", "round"]]
        return chosen
    wide = ratings.set_index("panellist") if "panellist" in ratings.columns else ratings
    if levels is not None and len(levels) != 1:
        raise LabelError(
            f"levels names {len(levels)} levels, but a wide table holds the ratings of one.\n"
            "Expected one level, or a long table with the columns panellist, item, level, rating."
        )
    if not wide.index.is_unique:
        twice = wide.index[wide.index.duplicated()].unique()
        raise DuplicateLabelError(
            f"{counted(len(twice), 'panellist')} in several rows: {listed(twice)}. Expected a row each.\n"
            "Several rounds or levels of one panellist take a long table: panellist, item, rating, level, round."
        )
    panellists, labels = check_labels(wide.index, "panellist"), check_labels(wide.columns, "item")
    n, j = wide.shape
    return pd.DataFrame(
        {
            "panellist": np.repeat(np.array([*panellists, None], dtype=object)[:-1], j),
            "item": np.tile(np.array([*labels, None], dtype=object)[:-1], n),
            "rating": pd.Series(wide.to_numpy(dtype=object).ravel(), dtype=object),
            "level": pd.Series([ONLY_LEVEL if levels is None else levels[0]] * (n * j), dtype=object),
            "round": 1,
        }
    )


def _numbers(frame: pd.DataFrame, kind: str) -> FloatArray:
    """Return the ratings as numbers from 0 to 1, nan for none."""
    given = frame["rating"].astype(object)
    blank = given.isna().to_numpy()
    truths = given.map(lambda value: isinstance(value, bool | np.bool_)).to_numpy(dtype=bool)
    values = np.array(pd.to_numeric(given.where(~truths), errors="coerce"), dtype=np.float64)
    values[truths] = given[truths].map(float)
    with np.errstate(invalid="ignore"):
        wrong = ~blank & ~((values == 0.0) | (values == 1.0) if kind == "yes-no" else (values >= 0.0) & (values <= 1.0) & ~truths)
    if not wrong.any():
        return values
    first = frame[wrong]
    texts = [f"{row.panellist}, {row.item}: {row.rating!r}" for row in first.head(5).itertuples(index=False)]
    number = float(values[wrong][0])
    if kind == "yes-no":
        expected = "0 or 1, False or True"
        hint = ' Proportions need kind="probability".' if 0.0 < number < 1.0 else ""
    else:
        expected = "proportions from 0 to 1"
        hint = f" Did you mean {number / 100.0:g}?" if 1.0 < number <= 100.0 else ""
        hint = ' True and False need kind="yes-no".' if truths[wrong].all() else hint
    count = counted(int(wrong.sum()), "rating")
    listing = ", ".join(texts) + (f" and {len(first) - 5:,} more" if len(first) > 5 else "")
    raise DataError(f"{count} out of range: {listing}.\nExpected {expected} (kind {kind!r}).{hint}")


def _refuse_gaps(table: AngoffRatings, missing: str) -> None:
    gaps = np.argwhere(np.isnan(table.values) & ~np.isnan(table.values).all(axis=3, keepdims=True))
    if len(gaps) and missing == "raise":
        raise DataError(
            f"{counted(len(gaps), 'rating')} missing: {listed([table.named(place) for place in gaps])}.\n"
            "Expected a rating of every item; "
            'to fill a gap with the mean of the other panellists pass missing="item-mean", or leave items out with items=.'
        )
    bare = np.argwhere(np.isnan(table.filled) & ~np.isnan(table.values).all(axis=3, keepdims=True))
    if len(bare):
        names = list(dict.fromkeys(table.items[place[3]] for place in bare))
        raise DataError(
            f"{counted(len(names), 'item')} that no one rated in a round and level: {listed(names)}. Expected at least one "
            "rating, for a mean to take; leave those items out with items=."
        )


def _refuse_crossed(table: AngoffRatings) -> None:
    faults = []
    cuts = table.raw_cuts
    for r, p in np.ndindex(*cuts.shape[:2]):
        rated = [k for k in range(len(table.levels)) if not np.isnan(cuts[r, p, k])]
        for lower, upper in pairwise(rated):
            if cuts[r, p, upper] < cuts[r, p, lower] - 1e-9:
                who = f"{table.panellists[p]}" + (f", round {table.rounds[r]}" if len(table.rounds) > 1 else "")
                at = f"{table.levels[upper]} {cuts[r, p, upper]:.4g} below {table.levels[lower]} {cuts[r, p, lower]:.4g}"
                faults.append(f"{who}: {at}")
    if faults:
        raise DataError(
            f"Raw cut scores cross {counted(len(faults), 'time')}: {listed(faults)}.\n"
            f"Expected the sums of a panellist to rise with the level, {' < '.join(map(str, table.levels))}; if that is not "
            "the levels' order, give it with levels=."
        )
