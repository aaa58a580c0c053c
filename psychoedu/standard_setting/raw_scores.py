"""Raw-score equivalents of cut scores, and the difference between two sets of cuts."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray
from psychoedu.exceptions import DataError, LabelError
from psychoedu.irt.bank import ItemBank
from psychoedu.irt.linking_constants import LinkingConstants
from psychoedu.validation import check_choice, check_known, listed

if TYPE_CHECKING:
    from psychoedu.standard_setting.cut_scores import CutScores

ROUNDINGS = ("up", "nearest", "down")
_SLACK = 1e-9
"""An expected score this close to a whole number is that number: rounding up is not to add a point for a rounding error."""


def round_score(expected: FloatArray, rounding: str) -> FloatArray:
    """Round expected scores to whole ones.

    Examples
    --------
    >>> [round_score(np.array([17.2, 17.5, 18.0]), rule).tolist() for rule in ROUNDINGS]
    [[18.0, 18.0, 18.0], [17.0, 18.0, 18.0], [17.0, 17.0, 18.0]]
    """
    if rounding == "up":
        return np.asarray(np.ceil(expected - _SLACK))
    if rounding == "down":
        return np.asarray(np.floor(expected + _SLACK))
    return np.asarray(np.floor(expected + 0.5 + _SLACK))


def expected_scores(bank: ItemBank, theta: FloatArray) -> FloatArray:
    """Return the expected number of right answers at abilities that may be infinite, (n,)."""
    ends = np.where(bank.discrimination > 0.0, 1.0, bank.guessing)
    lows = np.where(bank.discrimination > 0.0, bank.guessing, 1.0)
    flat = bank.discrimination == 0.0
    at_zero = bank.probability(0.0)
    found = np.empty(len(theta))
    for place, value in enumerate(theta):
        if np.isinf(value):
            found[place] = np.where(flat, at_zero, ends if value > 0 else lows).sum()
        else:
            found[place] = float(bank.expected_score(value))
    return found


def raw_score_table(cuts: CutScores, forms: Any, rounding: str) -> pd.DataFrame:
    """Return ``CutScores.raw_scores``."""
    check_choice(rounding, ROUNDINGS, "rounding")
    if cuts.bank is None:
        raise DataError(
            "These cut scores have no bank, so there is no test characteristic curve. Give one: from_values(..., bank=)."
        )
    theta = cuts.values
    if cuts.linking is not None:  # the curve stands on the bank's own scale
        theta = (theta - cuts.linking.intercept) / cuts.linking.slope
    parts = []
    for form, items in forms_of(forms, cuts.bank).items():
        own = cuts.bank.select(items)
        expected = expected_scores(own, theta)
        never = np.isposinf(theta)  # the level is not given at any score
        raw = pd.array(np.where(never, 0, round_score(expected, rounding)).astype(np.int64), dtype="Int64")
        raw[never] = pd.NA
        columns = {"expected_score": expected, "raw_score": raw, "n_items": own.n_items, "rounding": rounding}
        index = pd.MultiIndex.from_product([[form], cuts.levels], names=["form", "level"])
        parts.append(pd.DataFrame(columns, index=index))
    return pd.concat(parts)


def forms_of(forms: Any, bank: ItemBank) -> dict[Hashable, list[Hashable]]:
    """Return the items of each form, checked against the bank.

    Parameters
    ----------
    forms : None, mapping {form: items}, Series {item: form}, or list of items
    bank : ItemBank
    """
    if forms is None:
        return {"all items": list(bank.labels)}
    if isinstance(forms, pd.Series):
        known = forms.dropna()
        found = {form: list(known.index[known == form]) for form in pd.unique(known)}
    elif isinstance(forms, Mapping):
        found = {form: list(items) for form, items in forms.items()}
    elif isinstance(forms, Iterable) and not isinstance(forms, str):
        found = {"form": list(forms)}
    else:
        raise DataError(
            f"forms has to be {{form: items}}, a Series of forms by item, or a list of items; got {type(forms).__name__}."
        )
    if not found:
        raise DataError("forms names no form. Expected {form: items}.")
    for form, items in found.items():
        absent = [item for item in items if item not in bank.labels]
        if absent:
            raise LabelError(
                f"Form {form!r} has items that are not behind these cuts: {listed(absent)} ({len(absent)} of {len(items)}).\n"
                "Expected items of the booklet; items that were left out of it do not count in the raw score either."
            )
        if not items:
            raise DataError(f"Form {form!r} has no item. Expected at least one.")
        check_known(items, bank.labels, "item")
    return found


def compare_cuts(cuts: CutScores, other: Any) -> pd.DataFrame:
    """Return ``CutScores.compare``.

    Notes
    -----
    The panels are taken as independent. Where both sets of cuts come from one bank, the error of the item parameters is that of
    the difference, (g1 - g2) Cov (g1 - g2)', most of which cancels; else the two item parts add up. So it is with the link.
    """
    from psychoedu.standard_setting.cut_scores import CutScores as Cuts
    from psychoedu.standard_setting.cut_scores import read_cuts

    levels, values = read_cuts(other)
    common = [level for level in cuts.levels if level in levels]
    if not common:
        raise LabelError(f"The two sets of cut scores share no level: {listed(cuts.levels)} and {listed(levels)}.")
    here, there = [cuts.levels.index(level) for level in common], [levels.index(level) for level in common]
    first, second = cuts.values[here], values[there]
    names = [cuts.method, other.method if isinstance(other, Cuts) else "other"]
    if names[0] == names[1]:
        names = [f"{names[0]} (these)", f"{names[1]} (others)"]
    error = np.full(len(common), np.nan)
    if isinstance(other, Cuts):
        own, its = (np.diag(part)[place] for part, place in ((cuts.panel_covariance, here), (other.panel_covariance, there)))
        same_link = _same_link(cuts.linking, other.linking)
        item_part = _item_variance(cuts, other, here, there, same_link)
        error = np.sqrt(own + its + item_part + _linking_variance(cuts, other, here, there, same_link))
    with np.errstate(invalid="ignore"):
        columns = {names[0]: first, names[1]: second, "difference": second - first, "difference_se": error}
    return pd.DataFrame(columns, index=pd.Index(common, name="level"))


def _same_link(one: LinkingConstants | None, two: LinkingConstants | None) -> bool:
    if one is None or two is None:
        return one is two
    if (one.slope, one.intercept, one.covariance is None) != (two.slope, two.intercept, two.covariance is None):
        return False
    return one.covariance is None or two.covariance is None or np.array_equal(one.covariance, two.covariance)


def _linking_variance(cuts: CutScores, other: CutScores, here: list[int], there: list[int], same_link: bool) -> FloatArray:
    if same_link and cuts.linking is not None and cuts.linking.covariance is not None:  # its intercept moves both alike
        apart = (other.values[there] - cuts.values[here]) / cuts.linking.slope
        return np.asarray(cuts.linking.covariance[0, 0] * apart**2)
    return np.asarray(np.diag(cuts.linking_covariance)[here] + np.diag(other.linking_covariance)[there])


def _item_variance(cuts: CutScores, other: CutScores, here: list[int], there: list[int], same_link: bool) -> FloatArray:
    apart: FloatArray = np.diag(cuts.item_covariance)[here] + np.diag(other.item_covariance)[there]
    one, two = cuts.bank, other.bank
    if one is None or two is None or cuts.gradient is None or other.gradient is None or one.covariance is None:
        return apart
    if set(one.labels) != set(two.labels) or not same_link:
        return apart
    place = two.labels.get_indexer(one.labels)
    if not np.array_equal(one.discrimination, two.discrimination[place]):
        return apart
    columns = np.column_stack((2 * place, 2 * place + 1)).ravel()
    difference = cuts.gradient[here] - other.gradient[there][:, columns]
    found = np.einsum("ij,jk,ik->i", difference, np.nan_to_num(one.covariance), difference)
    found[difference[:, np.isnan(np.diag(one.covariance))].any(axis=1)] = np.nan
    return np.asarray(found if cuts.linking is None else cuts.linking.slope**2 * found)
