"""The verb ``bookmark``: cut scores from a panel's placements in an ordered item booklet."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray
from psychoedu.exceptions import DataError, LabelError
from psychoedu.irt.linking_constants import LinkingConstants
from psychoedu.standard_setting.booklet import OrderedItemBooklet, booklet_of
from psychoedu.standard_setting.cut_scores import CutScores
from psychoedu.standard_setting.error_parts import item_part, linked, panel_part
from psychoedu.standard_setting.locations import rp_locations
from psychoedu.standard_setting.panel import AGGREGATES, BookmarkPanel, aggregated
from psychoedu.standard_setting.placements import page_thetas, page_weights, read_placements
from psychoedu.standard_setting.scales import as_scale
from psychoedu.validation import check_choice, counted, has_label, listed

SENSITIVITY_GRID = (0.5, 0.55, 0.6, 0.65, 0.67, 0.7, 0.75, 0.8)


def bookmark(
    bank: Any,
    placements: Any,
    response_probability: float | None = None,
    rule: str = "last-mastered",
    aggregate: str = "median",
    round: Hashable | None = None,
    *,
    order_by: str | None = None,
    levels: Sequence[Hashable] | None = None,
    scale: Any = None,
    linking: LinkingConstants | None = None,
    missing: str = "raise",
    panel_unit: str = "panellist",
) -> CutScores:
    """Turn a panel's bookmarks into cut scores with their standard errors.

    Parameters
    ----------
    bank : Calibration, ItemBank or OrderedItemBooklet
        A booklet is taken as the panel read it. Of a calibration or bank the booklet is made here, as :func:`booklet` does by
        default.
    placements : DataFrame, path of a CSV file, or list of these
        A row per placement: ``panellist``, ``round`` (optional), ``level``, ``page``; ``table`` (optional) names the table at
        which a panellist sat. The panellists' forms write such files.
    response_probability : float, default 0.67
        RP. With a booklet it is the booklet's own.
    rule : {"last-mastered", "first-not-mastered", "midpoint"}
        What the page means. "last-mastered": the last page that the just-qualified candidate has mastered, 0 to J; the cut is
        that page's location. "first-not-mastered": 1 to J + 1; the cut is that page's location. "midpoint": the last page
        mastered, 0 to J; the cut lies halfway to the next page. Page 0 (J + 1; by midpoint J too) is an open end: an infinite
        cut, flagged.
    aggregate : {"median", "mean"}
        Of the panellists' abilities; an even panel's median averages the two middle abilities.
    round : label, optional
        The round whose placements are final; by default the last.
    order_by : {"rp_location", "difficulty"}, optional
        Of the booklet that is made here.
    levels : sequence of labels, optional
        Levels from the lowest; see :func:`psychoedu.standard_setting.scales.order_levels` for the order without it.
    scale : "CSE", "CEFR", Scale, or list of all levels, optional
        By default CSE or CEFR where the levels are theirs.
    linking : LinkingConstants, optional
        Brings the cuts from the bank's scale onto another; their error becomes the linking part.
    missing : {"raise", "omit"}
        What to do where a panellist of the final round has no bookmark for a level.
    panel_unit : {"panellist", "table"}
        What the panel part of the error is estimated from. Panellists at a table talk to one another: with several tables,
        "table" takes the tables' means as the independent units (for the mean; tables - 1 degrees of freedom).

    Returns
    -------
    CutScores
        ``.cut_scores``, ``.standard_errors`` (panel, items, linking, total), ``.panel`` (rounds, movement, agreement),
        ``.rp_sensitivity``.

    Raises
    ------
    DataError
        A page is out of range or no whole number; bookmarks cross; cut scores do not rise; a placement is missing.
    LabelError
        A column, level or round is unknown.

    Notes
    -----
    Panel part: SD / sqrt(n) of the panellists' abilities for the mean; for the median the same times the ratio that holds for
    normal values (1 at n = 2, 1.16 at 3, up to 1.2533). Its interval has n - 1 degrees of freedom. Items part: delta method, from
    the covariance of the item parameters through the locations of the pages that carry the cut (its average, or its middle
    panellists), the pages held fixed. One panellist, or a bank without covariance, has no such part: nan, and the reason in
    ``.diagnostics``.

    References
    ----------
    Mitzel, H. C., Lewis, D. M., Patz, R. J., & Green, D. R. (2001). The bookmark procedure. In G. J. Cizek (Ed.), Setting
    performance standards (pp. 249-281). Erlbaum.
    Lewis, D. M., Mitzel, H. C., Mercado, R. L., & Schulz, E. M. (2012). The bookmark standard setting procedure. In G. J. Cizek
    (Ed.), Setting performance standards (2nd ed., pp. 225-253). Routledge.

    Examples
    --------
    >>> import pandas as pd
    >>> from psychoedu.irt.bank import ItemBank
    >>> bank = ItemBank(pd.DataFrame({"discrimination": 1.0, "difficulty": [-2, -1, 0, 1, 2]}, index=list("abcde")))
    >>> pages = pd.DataFrame({"panellist": ["x", "y", "z"], "level": "pass", "page": [2, 3, 3]})
    >>> bookmark(bank, pages, response_probability=0.5).cut_scores.to_dict()
    {'pass': 0.0}
    """
    check_choice(aggregate, AGGREGATES, "aggregate")
    check_choice(missing, ("raise", "omit"), "missing")
    check_choice(panel_unit, ("panellist", "table"), "panel_unit")
    pages = booklet_of(bank, response_probability, order_by)
    placed = read_placements(placements, pages, rule, levels)
    panel = BookmarkPanel(pages, placed, rule, aggregate)
    position = _final_round(panel, round)
    _check_complete(panel, position, missing)
    theta = panel.theta[position]
    cuts = aggregated(theta, aggregate)
    _refuse_undefined(panel, cuts)
    notes: list[str] = []
    units, noun = _units(panel, position, panel_unit, cuts)
    spread, degrees = panel_part(units, aggregate, panel.levels, notes, noun)
    gradient = _gradient(pages, cut_weights(panel, position))
    values, parts = linked(cuts, spread, item_part(pages.bank, gradient, notes), linking, notes)
    notes += _notes_on_panel(panel, position, cuts)
    return CutScores(
        panel.levels,
        values,
        as_scale(scale, panel.levels),
        "bookmark",
        *parts,
        panel_df=degrees,
        bank=pages.bank,
        gradient=gradient,
        booklet=pages,
        panel=panel,
        linking=linking,
        rp_sensitivity=_sensitivity(panel, position, linking),
        options={
            "response_probability": pages.response_probability,
            "rule": rule,
            "aggregate": aggregate,
            "round": panel.rounds[position],
            "panel_unit": panel_unit,
            "order_by": pages.order_by,
            "n_panellists": int((~np.isnan(theta)).any(axis=1).sum()),
        },
        diagnostics=tuple(notes),
    )


def _final_round(panel: BookmarkPanel, number: Hashable | None) -> int:
    if number is None:
        return len(panel.rounds) - 1
    if not has_label(pd.Index(panel.rounds, dtype=object), number):
        raise LabelError(f"round {number!r} is not among the placements' rounds: {listed(panel.rounds)}.")
    return panel.rounds.index(number)


def _check_complete(panel: BookmarkPanel, position: int, missing: str) -> None:
    pages = panel.placements.pages[position]
    none = [level for k, level in enumerate(panel.levels) if np.isnan(pages[:, k]).all()]
    if none:
        raise DataError(
            f"Round {panel.rounds[position]} has no bookmark for {listed(none)}. Expected one at least for every level; "
            "take another round with round=, or leave those levels out."
        )
    absent = [
        f"{panellist}, {panel.levels[k]}"
        for p, panellist in enumerate(panel.placements.panellists)
        for k in np.flatnonzero(np.isnan(pages[p]))
    ]
    if absent and missing == "raise":
        raise DataError(
            f"Round {panel.rounds[position]} lacks {counted(len(absent), 'bookmark')}: {listed(absent)}.\n"
            'Expected a page for every panellist and level; to aggregate those that are there pass missing="omit".'
        )


def _refuse_undefined(panel: BookmarkPanel, cuts: FloatArray) -> None:
    both = [level for level, cut in zip(panel.levels, cuts, strict=True) if np.isnan(cut)]
    if both:
        raise DataError(
            f"Some panellists left the lower end open for {listed(both)} and others the upper, so that their {panel.aggregate} "
            "does not exist.\nExpected placements between the first and the last page; have the panel discuss that level."
        )


def cut_weights(panel: BookmarkPanel, position: int) -> FloatArray:
    """Return how each cut hangs on the pages' locations, (L, J): a cut is its row times the locations.

    Parameters
    ----------
    panel : BookmarkPanel
    position : int
        Of the round.

    Notes
    -----
    The mean weights all panellists alike. The median weights the middle panellist, or the two middle ones; where several
    panellists share the middle ability by different pages, all of them.
    """
    pages, theta = panel.placements.pages[position], panel.theta[position]
    found = np.zeros((len(panel.levels), panel.booklet.n_pages))
    for k in range(len(panel.levels)):
        own = page_weights(pages[:, k], panel.booklet.n_pages, panel.rule)
        there = np.flatnonzero(~np.isnan(theta[:, k]))
        if panel.aggregate == "mean":
            found[k] = own[there].mean(axis=0)
            continue
        order = there[np.argsort(theta[there, k], kind="stable")]
        middle = {order[(len(order) - 1) // 2], order[len(order) // 2]}
        for one in middle:
            tied = there[theta[there, k] == theta[one, k]]
            found[k] += own[tied].mean(axis=0) / len(middle)
    return found


def _units(panel: BookmarkPanel, position: int, unit: str, cuts: FloatArray) -> tuple[FloatArray, str]:
    """Return the independent values whose spread the panel part is estimated from, and what they are.

    A table counts by its panellists: cut + T n_t / n (mean of the table - cut), whose covariance / T is that of the mean of all
    panellists with tables drawn whole; with tables of one size these are the tables' means.
    """
    theta = panel.theta[position]
    if unit == "panellist":
        return theta, "panellist"
    if not panel.placements.tables:
        raise DataError('panel_unit="table" needs a column "table" in the placements; leave it out to take panellists as units.')
    if panel.aggregate != "mean":
        raise DataError('panel_unit="table" takes the tables\' means as units; it goes with aggregate="mean".')
    names = list(dict.fromkeys(panel.placements.tables))
    rows = [np.array([table == name for table in panel.placements.tables]) for name in names]
    means = np.array([aggregated(theta[own], "mean") for own in rows])
    counts = np.array([(~np.isnan(theta[own])).sum(axis=0) for own in rows])
    share = counts * (counts > 0).sum(axis=0) / counts.sum(axis=0)
    with np.errstate(invalid="ignore"):
        units = np.where(np.isinf(means), means, cuts + share * (means - cuts))
    return units, "table"


def _gradient(pages: OrderedItemBooklet, weights: FloatArray) -> FloatArray:
    """Return the derivatives of the cuts with respect to the item parameters, (L, 2J)."""
    gradient = np.zeros((len(weights), 2 * pages.n_pages))
    gradient[:, 0::2] = weights * (-pages.locations / pages.bank.discrimination)
    gradient[:, 1::2] = weights * (-1.0 / pages.bank.discrimination)
    return gradient


def _notes_on_panel(panel: BookmarkPanel, position: int, cuts: FloatArray) -> list[str]:
    notes = []
    for level, who in panel.open_ended(position).items():
        notes.append(f"open-ended: {counted(len(who), 'panellist')} placed {level} beyond the booklet's pages ({listed(who)})")
    for level, cut in zip(panel.levels, cuts, strict=True):
        if np.isinf(cut):
            where = "every ability is at or above it" if cut < 0 else "no ability reaches it, the level is never given"
            notes.append(f"the cut score of {level} is open-ended ({cut:+g}): {where}")
    if panel.placements.tables:
        between, own = panel.between_table_se(position), panel.agreement.loc[[panel.rounds[position]], "sd"].to_numpy()
        n = (~np.isnan(panel.theta[position])).sum(axis=0)
        with np.errstate(invalid="ignore"):
            wider = between > own / np.sqrt(n)
        if wider.any():
            notes.append("tables differ by more than the spread of panellists explains; panel_unit='table' takes tables as units")
    return notes


def _sensitivity(panel: BookmarkPanel, position: int, linking: LinkingConstants | None) -> pd.DataFrame:
    """Return the cuts at other response probabilities, each panellist's page keeping its item."""
    bank, own = panel.booklet.bank, panel.booklet.response_probability
    asymptotes = bank.guessing if bool(np.any(bank.guessing > 0.0)) else None
    grid = sorted({*(value for value in SENSITIVITY_GRID if value > float(bank.guessing.max())), own})
    rows = []
    for probability in grid:
        locations = rp_locations(bank.discrimination, bank.intercept, asymptotes, probability)
        cuts = aggregated(page_thetas(panel.placements.pages[position], locations, panel.rule), panel.aggregate)
        rows.append(cuts if linking is None else linking.transform(cuts))
    index = pd.Index(grid, name="response_probability")
    return pd.DataFrame(np.array(rows), index=index, columns=pd.Index(list(panel.levels), name="level"))
