"""The verb ``angoff``: raw cut scores from a panel's ratings of items."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from psychoedu.exceptions import DataError, LabelError
from psychoedu.standard_setting.angoff_cuts import AngoffCuts
from psychoedu.standard_setting.angoff_table import KINDS, MISSING, AngoffRatings, read_ratings
from psychoedu.standard_setting.angoff_theta import rated_bank
from psychoedu.standard_setting.panel import AGGREGATES
from psychoedu.standard_setting.scales import as_scale
from psychoedu.validation import check_choice, counted, has_label, listed

__all__ = ["AngoffCuts", "angoff"]


def angoff(
    ratings: Any,
    *,
    kind: str = "probability",
    aggregate: str = "mean",
    round: Hashable | None = None,
    levels: Sequence[Hashable] | None = None,
    items: Iterable[Hashable] | None = None,
    missing: str = "raise",
    scale: Any = None,
    bank: Any = None,
) -> AngoffCuts:
    """Turn a panel's ratings of items into raw cut scores.

    Parameters
    ----------
    ratings : DataFrame
        How likely the just-qualified candidate answers each item correctly. Wide: a row per panellist (its index, or a column
        ``panellist``), a column per item; one level, one round. Long: a row per rating, ``panellist``, ``item``, ``rating``, and
        optionally ``level`` and ``round``.
    kind : {"probability", "yes-no"}
        Proportions from 0 to 1; or 0 and 1 (False and True), whether the candidate answers it correctly.
    aggregate : {"mean", "median"}
        Of the panellists' raw cuts.
    round : label, optional
        The round whose ratings are final; by default the last.
    levels : sequence of labels, optional
        Levels from the lowest; of a wide table its one level ("pass" by default).
    items : labels, optional
        The items that count, by default all rated.
    missing : {"raise", "item-mean"}
        What to do where a panellist left an item out: raise, or take the mean rating of the others. Who rated nothing for a
        level has no cut there.
    scale : "CSE", "CEFR", Scale, or list of all levels, optional
        By default CSE or CEFR where the levels are theirs. With it numbers are read as its levels, 4 as CSE-4.
    bank : Calibration or ItemBank, optional
        Parameters of the rated items, for ``.items`` (ratings against the model) and ``.to_theta()``.

    Returns
    -------
    AngoffCuts
        ``.cut_scores`` (raw), ``.standard_errors``, ``.panellists``, ``.agreement``, ``.movement``, ``.items``,
        ``.to_theta(bank)``.

    Raises
    ------
    DataError
        A rating is out of range (60 instead of 0.6) or missing; a panellist's raw cut of a higher level is below that of a
        lower one.
    LabelError
        A column, item, level or round is unknown.

    Notes
    -----
    A panellist's raw cut is the sum of their ratings, the expected score of the just-qualified candidate.

    References
    ----------
    Angoff, W. H. (1971). Scales, norms, and equivalent scores. In R. L. Thorndike (Ed.), Educational measurement (2nd ed.,
    pp. 508-600). American Council on Education.
    Impara, J. C., & Plake, B. S. (1997). Standard setting: An alternative approach. Journal of Educational Measurement, 34,
    353-366.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [[0.6, 0.7, 0.5, 0.8], [0.5, 0.6, 0.6, 0.7], [0.7, 0.8, 0.6, 0.9]]
    >>> cuts = angoff(pd.DataFrame(rows, index=["x", "y", "z"], columns=["q1", "q2", "q3", "q4"]))
    >>> cuts.cut_scores.round(5).to_dict(), cuts.standard_errors["panel"].round(5).to_dict()
    ({'pass': 2.66667}, {'pass': 0.17638})
    """
    check_choice(kind, KINDS, "kind")
    check_choice(aggregate, AGGREGATES, "aggregate")
    check_choice(missing, MISSING, "missing")
    table = read_ratings(ratings, kind, levels, scale, items, missing)
    if round is not None and not has_label(pd.Index(table.rounds, dtype=object), round):
        raise LabelError(f"round {round!r} is not among the ratings' rounds: {listed(table.rounds)}.")
    final = table.rounds[-1] if round is None else round
    _refuse_absent(table, table.rounds.index(final), missing)
    own = None if bank is None else rated_bank(bank, table.items)
    return AngoffCuts(table, kind, aggregate, final, missing, as_scale(scale, table.levels), own)


def _refuse_absent(table: AngoffRatings, position: int, missing: str) -> None:
    """Refuse a final round in which a level, or (unless a rule is given) a panellist, has no rating."""
    absent = np.isnan(table.raw_cuts[position])
    none = [level for level, everyone in zip(table.levels, absent.all(axis=0), strict=True) if everyone]
    if none:
        raise DataError(
            f"Round {table.rounds[position]} has no rating for {listed(none)}. Expected at least one panellist's for every "
            "level; take another round with round=."
        )
    if absent.any() and missing == "raise":
        names = [f"{table.panellists[p]}, {table.levels[k]}" for p, k in np.argwhere(absent)]
        raise DataError(
            f"Round {table.rounds[position]} lacks all ratings of {counted(len(names), 'panellist')}: {listed(names)}.\n"
            "Expected those of "
            'every panellist and level; to go on without them pass missing="item-mean".'
        )
