"""Angoff cuts on theta: each panellist's raw cut through the inverse of the test characteristic curve of the rated items."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray
from psychoedu.exceptions import DataError, LabelError
from psychoedu.irt.bank import ItemBank
from psychoedu.irt.linking_constants import LinkingConstants
from psychoedu.standard_setting.curve_inverse import inverse_curve, inverse_gradient
from psychoedu.standard_setting.cut_scores import CutScores
from psychoedu.standard_setting.error_parts import item_part, linked, panel_part
from psychoedu.standard_setting.panel import aggregated
from psychoedu.standard_setting.scales import Scale
from psychoedu.validation import counted, listed


def rated_bank(bank: Any, items: Sequence[Hashable]) -> ItemBank:
    """Return the parameters of the rated items, in their order.

    Parameters
    ----------
    bank : Calibration or ItemBank
    items : sequence of labels, (J,)

    Raises
    ------
    DataError
        The bank is none; a discrimination is below 0, or none is above it.
    LabelError
        A rated item is not in the bank.
    """
    own = getattr(bank, "bank", bank)
    if not isinstance(own, ItemBank):
        hint = " Make a bank of the table first: ItemBank(frame)." if isinstance(bank, pd.DataFrame) else ""
        raise DataError(f"bank has to be a Calibration or an ItemBank; got {type(bank).__name__}.{hint}")
    wanted = pd.Index(list(items), tupleize_cols=False)
    absent = wanted[~wanted.isin(own.labels)]
    if len(absent):
        raise LabelError(
            f"{counted(len(absent), 'rated item')} without parameters in the bank: {listed(absent)}.\n"
            "Expected those of all rated items; leave these out of the raw cut with items= of angoff()."
        )
    some = own.select(wanted)
    falling = some.discrimination < 0.0
    if falling.any() or not (some.discrimination > 0.0).any():
        what = f"a discrimination below 0: {listed(some.labels[falling])}" if falling.any() else "no discrimination above 0"
        raise DataError(
            f"The rated items have {what}, so that the test characteristic curve need not rise, and a raw cut has no one "
            "ability.\n"
            "Leave such items out of the raw cut with items= of angoff()."
        )
    return some


def panel_thetas(raw_cuts: FloatArray, bank: ItemBank) -> FloatArray:
    """Return the ability of each raw cut, (P, L); infinite at an open end."""
    return inverse_curve(raw_cuts, bank.discrimination, bank.intercept, bank.guessing)


def aggregated_weights(theta: FloatArray, aggregate: str) -> FloatArray:
    """Return how the aggregate of one level hangs on the panellists' abilities, (P,).

    Notes
    -----
    The mean weights all alike. The median weights the middle panellist, or the two middle ones; of several with that ability,
    all.
    """
    there = ~np.isnan(theta)
    if aggregate == "mean":
        return np.asarray(there / there.sum())
    ordered = np.sort(theta[there])
    middle = ordered[[(len(ordered) - 1) // 2, len(ordered) // 2]]
    return np.asarray(sum((0.5 * (theta == value) / (theta == value).sum() for value in middle), start=np.zeros(len(theta))))


def angoff_cut_scores(
    raw_cuts: FloatArray,
    levels: tuple[Hashable, ...],
    panellists: Sequence[Hashable],
    bank: ItemBank,
    scale: Scale,
    linking: LinkingConstants | None,
    options: dict[str, Any],
) -> CutScores:
    """Return the cut scores on theta.

    Parameters
    ----------
    raw_cuts : ndarray, (P, L)
    levels : tuple of labels, (L,)
    panellists : sequence of labels, (P,)
    bank : ItemBank
        Of the rated items.
    scale : Scale
    linking : LinkingConstants or None
    options : dict
        With "aggregate".

    Returns
    -------
    CutScores
    """
    theta = panel_thetas(raw_cuts, bank)
    cuts = aggregated(theta, options["aggregate"])
    both = [level for level, cut in zip(levels, cuts, strict=True) if np.isnan(cut)]
    if both:
        raise DataError(
            f"Some panellists left the lower end open for {listed(both)} and others the upper end, so that their "
            f"{options['aggregate']} does not exist.\n"
            "Expected raw cuts between the sum of guessing and the number of items; have the panel discuss that level."
        )
    notes: list[str] = []
    gradient = np.zeros((len(levels), 2 * bank.n_items))
    for k, cut in enumerate(cuts):
        if np.isfinite(cut):
            weights = aggregated_weights(theta[:, k], options["aggregate"])
            some = weights > 0.0
            gradient[k] = weights[some] @ inverse_gradient(theta[some, k], bank.discrimination, bank.intercept, bank.guessing)
    panel, degrees = panel_part(theta, options["aggregate"], levels, notes)
    values, parts = linked(cuts, panel, item_part(bank, gradient, notes), linking, notes)
    for k, level in enumerate(levels):
        who = [name for name, value in zip(panellists, theta[:, k], strict=True) if np.isinf(value)]
        if who:
            notes.append(
                f"open-ended: {counted(len(who), 'panellist')} rated {level} at an end of the test characteristic curve "
                f"({listed(who)})"
            )
        if np.isinf(cuts[k]):
            where = "every ability is at or above it" if cuts[k] < 0 else "no ability reaches it, the level is never given"
            notes.append(f"the cut score of {level} is open-ended ({cuts[k]:+g}): {where}")
    options = {**options, "n_panellists": int((~np.isnan(theta)).any(axis=1).sum()), "n_items": bank.n_items}
    return CutScores(
        levels,
        values,
        scale,
        "angoff",
        *parts,
        panel_df=degrees,
        bank=bank,
        gradient=gradient,
        linking=linking,
        options=options,
        diagnostics=tuple(notes),
    )
