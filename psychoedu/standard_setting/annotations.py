"""Cut scores from the levels that experts annotated items with."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import BoolArray, FloatArray
from psychoedu.exceptions import DataError, LabelError
from psychoedu.irt.linking_constants import LinkingConstants
from psychoedu.standard_setting.booklet import OrderedItemBooklet, booklet_of
from psychoedu.standard_setting.bookmark import SENSITIVITY_GRID
from psychoedu.standard_setting.cut_scores import CutScores
from psychoedu.standard_setting.error_parts import item_part, linked
from psychoedu.standard_setting.judged_levels import JudgedLevels, judged_levels, matched
from psychoedu.standard_setting.locations import rp_locations
from psychoedu.standard_setting.logistic_cuts import LogisticCut, joint_covariance, logistic_cut
from psychoedu.standard_setting.scales import as_scale
from psychoedu.validation import check_probability, counted, listed

WEAK = 0.05
"""A slope with a larger p value is called weak."""

FEW_ITEMS = 5


def annotation_cuts(
    bank: Any,
    annotations: Any,
    *,
    response_probability: float | None = None,
    levels: Sequence[Hashable] | None = None,
    scale: Any = None,
    probability: float = 0.5,
    linking: LinkingConstants | None = None,
) -> CutScores:
    """Set cut scores where items begin to be annotated at or above a level.

    Parameters
    ----------
    bank : Calibration, ItemBank or OrderedItemBooklet
        Of a calibration or bank the booklet is made as :func:`booklet` does by default, which leaves flagged items out.
    annotations : Series or mapping {item: level}, or the name of a column of the booklet's item table
        The level that experts gave each item; missing for none.
    response_probability : float, default 0.67
        RP, with which items are located. With a booklet it is the booklet's own.
    levels : sequence of labels, optional
        Levels that get a cut score, lowest first; by default all that occur, except the lowest.
    scale : "CSE", "CEFR", Scale, or list of all levels, optional
        By default CSE or CEFR where the labels are theirs. With it numbers are read as its levels, 4 as CSE-4.
    probability : float, default 0.5
        The cut score is the location at which the probability to be annotated at or above the level reaches this.
    linking : LinkingConstants, optional
        Brings the cuts from the bank's scale onto another; their error becomes the linking part.

    Returns
    -------
    CutScores
        Of method "annotations", with ``.rp_sensitivity``; ``.compare(bookmark_cuts)`` shows how they differ from a panel's.

    Raises
    ------
    DataError
        The annotations do not rise with the items' locations; all items are, or none is, at or above a level; the cuts cross.
    LabelError
        No item of the bank is annotated; a label is not among the levels.

    Notes
    -----
    For each level l a logistic regression of [annotated >= l] on the items' RP locations. Panel part of the error: the inverse
    information of the regression by the delta method, that is the sampling of items and annotations, as if each item had been
    annotated by itself. Items part: the implicit derivative of the cut in each location, and through it in each a and d.
    Where all items at or above l lie above all others, the cut is the middle of the gap; its panel part is unknown.

    Annotations are of what an item was written for, not of what it takes: where experts and data disagree, the slope is flat,
    and the cut uncertain.

    Examples
    --------
    >>> import pandas as pd
    >>> from psychoedu.irt.bank import ItemBank
    >>> bank = ItemBank(pd.DataFrame({"discrimination": 1.0, "difficulty": [-2, -1, 0, 1, 2, 3]}, index=list("abcdef")))
    >>> given = pd.Series([3, 3, 4, 3, 4, 4], index=list("abcdef"))
    >>> annotation_cuts(bank, given, scale="CSE", response_probability=0.5).cut_scores.round(6).to_dict()
    {'CSE-4': 0.5}
    """
    target = check_probability(probability, "probability")
    pages = booklet_of(bank, response_probability)
    given, elsewhere = matched(_column(pages, annotations), pages.labels, "annotations", "item", by_position=False)
    judged = judged_levels(given, levels, scale, "annotations")
    used = judged.places >= 0
    x = pages.locations[used]
    fits = [logistic_cut(x, judged.places[used] >= judged.first(level), None, target) for level in judged.cuts]
    for level, fit in zip(judged.cuts, fits, strict=True):
        _refuse(level, fit, len(x))
    cuts = np.array([fit.value for fit in fits])
    _refuse_crossed(judged.cuts, cuts)
    notes = _notes(pages, judged, fits, x, elsewhere)
    gradient = np.zeros((len(cuts), 2 * pages.bank.n_items))
    slopes = np.zeros((len(cuts), pages.n_pages))
    slopes[:, used] = [fit.gradient for fit in fits]
    gradient[:, 0::2] = slopes * (-pages.locations / pages.bank.discrimination)
    gradient[:, 1::2] = slopes * (-1.0 / pages.bank.discrimination)
    values, parts = linked(cuts, joint_covariance(fits, x), item_part(pages.bank, gradient, notes), linking, notes)
    return CutScores(
        judged.cuts,
        values,
        as_scale(scale, judged.cuts),
        "annotations",
        *parts,
        bank=pages.bank,
        gradient=gradient,
        booklet=pages,
        linking=linking,
        rp_sensitivity=_sensitivity(pages, judged, used, target, linking),
        options={
            "response_probability": pages.response_probability,
            "probability": target,
            "n_items": int(used.sum()),
            "n_below": [fit.n_below for fit in fits],
            "n_at_or_above": [fit.n_above for fit in fits],
            "slopes": [None if np.isinf(fit.slope) else fit.slope for fit in fits],
            "slope_p_values": [None if np.isnan(fit.p_value) else fit.p_value for fit in fits],
        },
        diagnostics=tuple(notes),
    )


def _column(pages: OrderedItemBooklet, annotations: Any) -> Any:
    if not isinstance(annotations, str):
        return annotations
    if annotations not in pages.item_table.columns:
        raise LabelError(
            f"annotations names the column {annotations!r}, which the booklet's item table lacks; it has "
            f"{listed(pages.item_table.columns) or 'no column'}.\n"
            "Expected one of these, or a Series of levels by item."
        )
    return pages.item_table[annotations]


def _refuse(level: Hashable, fit: LogisticCut, n_items: int) -> None:
    if fit.trouble == "one class":
        what = "none is" if fit.n_above == 0 else "all are"
        raise DataError(
            f"{level} has no cut score: of {counted(n_items, 'annotated item')} {what} at or above it. Expected items on both "
            "sides; leave the level out of levels=."
        )
    if fit.trouble == "falling":
        raise DataError(
            f"{level} has no cut score: items annotated at or above it do not lie higher (mean location {fit.means[1]:.3f}, n "
            f"{fit.n_above:,}) than the others (mean {fit.means[0]:.3f}, n {fit.n_below:,}).\n"
            "Expected annotations that rise with difficulty; check their labels, or leave the level out of levels=."
        )


def _refuse_crossed(levels: Sequence[Hashable], cuts: FloatArray) -> None:
    for k in range(len(cuts) - 1):
        if cuts[k + 1] <= cuts[k]:
            raise DataError(
                f"The cut scores of {levels[k]} ({cuts[k]:.4g}) and {levels[k + 1]} ({cuts[k + 1]:.4g}) cross: each level has "
                "a regression of its own, and the annotations tell these two hardly apart.\n"
                "Expected cut scores that rise with the level; leave one of the two out of levels=, or set them by a panel's "
                "bookmarks."
            )


def _notes(
    pages: OrderedItemBooklet, judged: JudgedLevels, fits: Sequence[LogisticCut], x: FloatArray, elsewhere: int
) -> list[str]:
    notes = []
    bare = pages.n_pages - len(x)
    if bare:
        notes.append(f"left out, not annotated: {counted(bare, 'item')}")
    if elsewhere:
        notes.append(f"{counted(elsewhere, 'annotation')} of items that are not in the booklet: not used")
    if judged.uncut is not None:
        notes.append(f"no cut score for {judged.uncut}: it is the lowest level annotated")
    for level, fit in zip(judged.cuts, fits, strict=True):
        if fit.trouble == "separated":
            notes.append(
                f"panel part of the standard error of {level}: unknown, locations separate its items from the others without "
                "overlap; the cut score is the middle of the gap between them"
            )
        elif fit.p_value > WEAK:
            notes.append(
                f"weak: annotations of {level} rise hardly with difficulty (slope {fit.slope:.3f}, p = {fit.p_value:.2f}, "
                f"{fit.n_above:,} of {counted(len(x), 'item')} at or above); its cut score says little"
            )
        fewer = min(fit.n_below, fit.n_above)
        if fewer < FEW_ITEMS:
            side = "below" if fit.n_below == fewer else "at or above"
            notes.append(f"few items annotated {side} {level}: {fewer}; its standard error is a formula for many items")
        if not x.min() <= fit.value <= x.max():
            notes.append(f"the cut score of {level} lies beyond the items' locations ({x.min():.3f} to {x.max():.3f})")
    return notes


def _sensitivity(
    pages: OrderedItemBooklet, judged: JudgedLevels, used: BoolArray, target: float, linking: LinkingConstants | None
) -> pd.DataFrame:
    """Return the cuts at other response probabilities, of the same items; nan where the annotations do not rise."""
    bank = pages.bank
    asymptotes = bank.guessing if bool(np.any(bank.guessing > 0.0)) else None
    grid = sorted({*(value for value in SENSITIVITY_GRID if value > float(bank.guessing.max())), pages.response_probability})
    rows = []
    for value in grid:
        x = rp_locations(bank.discrimination, bank.intercept, asymptotes, value)[used]
        fits = [logistic_cut(x, judged.places[used] >= judged.first(level), None, target) for level in judged.cuts]
        cuts = np.array([fit.value for fit in fits])
        rows.append(cuts if linking is None else linking.transform(cuts))
    index = pd.Index(grid, name="response_probability")
    return pd.DataFrame(np.array(rows), index=index, columns=pd.Index(list(judged.cuts), name="level"))
