"""The three parts of a cut score's error: the panel's spread, the item parameters, the link."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray
from psychoedu.exceptions import DataError
from psychoedu.irt.bank import ItemBank
from psychoedu.irt.linking_constants import LinkingConstants
from psychoedu.standard_setting.agreement import median_error_ratio
from psychoedu.standard_setting.cut_scores import FEW_PANELLISTS
from psychoedu.validation import counted, listed


def panel_part(
    units: FloatArray, aggregate: str, levels: Sequence[Hashable], notes: list[str], noun: str = "panellist"
) -> tuple[FloatArray, float]:
    """Return the covariance of the cuts from the panel's spread, and its degrees of freedom.

    Parameters
    ----------
    units : ndarray, (P, L)
        Ability of each panellist's cut; nan where there is none, infinite at an open end.
    aggregate : {"mean", "median"}
    levels : sequence of labels, (L,)
    notes : list of str
        What is said of it is added here.
    noun : str
        What a unit is.

    Returns
    -------
    ndarray, (L, L), and float
        nan for one panellist, and where a placement is open-ended. The degrees of freedom are those of the level with the fewest
        panellists, of the levels that have two.

    Notes
    -----
    S_kl n_kl / (n_k n_l), S the panellists' covariance and n_kl the number with a cut for both levels; with all panellists S / n.
    The median's standard error is the mean's times the ratio that holds for normal values.
    """
    there = (~np.isnan(units)).astype(np.float64)
    n = there.sum(axis=0)
    alone = n < 2
    if alone.any():
        which = [level for level, one in zip(levels, alone, strict=True) if one]
        where = "" if alone.all() else f" for {listed(which)}"
        notes.append(f"panel part of the standard errors: unknown{where} with one {noun}, which shows no spread (it is not 0)")
    if alone.all():
        return np.full((len(levels), len(levels)), np.nan), 0.0
    degrees = float(n[~alone].min() - 1)
    open_ended = np.asarray(np.isinf(units).any(axis=0))
    # each cut has its own panellists: their covariances are those of the panellists that two cuts share
    covariance = pd.DataFrame(np.where(np.isinf(units), np.nan, units)).cov().fillna(0.0).to_numpy()
    ratio = np.array([median_error_ratio(int(count)) if aggregate == "median" else 1.0 for count in n])
    found: FloatArray = covariance * (there.T @ there) * np.multiply.outer(ratio / n, ratio / n)
    unknown = open_ended | alone
    agreed = [level for level, zero in zip(levels, (np.diag(found) == 0.0) & ~unknown, strict=True) if zero]
    if agreed:
        notes.append(f"panel part of the standard errors: 0 for {listed(agreed)}, on which all agree; another panel might not")
    found[unknown, :], found[:, unknown] = np.nan, np.nan
    if open_ended.any():
        names = [level for level, is_open in zip(levels, open_ended.tolist(), strict=True) if is_open]
        notes.append(f"panel part of the standard errors: unknown for {listed(names)}, where a panellist's cut is open-ended")
    if degrees + 1 < FEW_PANELLISTS:
        notes.append(few_panellists(int(degrees) + 1, noun))
    return found, degrees


def few_panellists(n: int, noun: str = "panellist") -> str:
    """Return what is to be said of a panel of so few."""
    return (
        f"too few panellists: the panel part rests on {counted(n, noun)}, and its interval on t with "
        f"{n - 1} degrees of freedom; the spread of so few is hardly known"
    )


def item_part(bank: ItemBank, gradient: FloatArray, notes: list[str]) -> FloatArray:
    """Return the covariance of the cuts from the item parameters by the delta method, (L, L).

    Parameters
    ----------
    bank : ItemBank
    gradient : ndarray, (L, 2J)
        Zeros all along a row: the cut hangs on no item, and has no such part.
    notes : list of str
    """
    if bank.covariance is None:
        notes.append("items part of the standard errors: unknown, the bank has no covariance of its parameters (it is not 0)")
        return np.full((len(gradient), len(gradient)), np.nan)
    used = gradient.any(axis=0)
    some = bank.covariance[np.ix_(used, used)]
    found: FloatArray = gradient[:, used] @ np.nan_to_num(some) @ gradient[:, used].T
    missing = np.isnan(np.diag(some))
    if missing.any():
        items = bank.labels[np.unique(np.flatnonzero(used)[missing] // 2)]
        notes.append(f"items part of the standard errors: unknown where it hangs on {listed(items)}, without standard errors")
    unknown = gradient[:, used][:, missing].any(axis=1) | ~gradient.any(axis=1)
    found[unknown, :], found[:, unknown] = np.nan, np.nan
    return found


def linked(
    cuts: FloatArray, panel: FloatArray, items: FloatArray, linking: LinkingConstants | None, notes: list[str]
) -> tuple[FloatArray, tuple[FloatArray, FloatArray, FloatArray]]:
    """Bring cuts and the parts of their error onto the other scale, and add the error of the link.

    Parameters
    ----------
    cuts : ndarray, (L,)
    panel, items : ndarray, (L, L)
    linking : LinkingConstants or None
        None: the cuts stay, and the linking part is 0.
    notes : list of str

    Returns
    -------
    ndarray, (L,), and three ndarrays, (L, L)
        Cuts; panel, items and linking part.
    """
    if linking is None:
        notes.append("linking part of the standard errors: 0, included in items (all items stand on one calibrated scale)")
        return cuts, (panel, items, np.zeros_like(panel))
    if not isinstance(linking, LinkingConstants):
        raise DataError(f"linking has to be LinkingConstants(slope, intercept, covariance); got {type(linking).__name__}.")
    if linking.covariance is None:
        notes.append("linking part of the standard errors: unknown, the linking constants have no covariance (it is not 0)")
    link = linking.transform_covariance(np.where(np.isinf(cuts), np.nan, cuts))
    return linking.transform(cuts), (linking.slope**2 * panel, linking.slope**2 * items, link)
