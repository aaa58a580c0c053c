"""The bias that misplaced pages bring to bookmark cuts: a parametric bootstrap of the panel's reading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray
from psychoedu.exceptions import DataError
from psychoedu.standard_setting.booklet import OrderedItemBooklet
from psychoedu.standard_setting.locations import draw_parameters, rp_locations
from psychoedu.standard_setting.panel import BookmarkPanel, aggregated
from psychoedu.standard_setting.placements import page_thetas
from psychoedu.validation import check_integer

if TYPE_CHECKING:
    from psychoedu.standard_setting.cut_scores import CutScores

_LARGEST_JOINT = 400
"""Items up to which the parameters are drawn with their covariances between items; beyond, item by item."""


def reading_bias(cuts: CutScores, n_draws: int, rng: Any) -> pd.DataFrame:
    """Return ``CutScores.reading_bias``."""
    panel = cuts.panel
    if panel is None:
        raise DataError(f"reading_bias is about bookmarks; these cut scores are by {cuts.method}.")
    if panel.booklet.bank.covariance is None:
        raise DataError("reading_bias needs the covariance of the item parameters; calibrate with standard errors.")
    check_integer(n_draws, "n_draws", 2)
    position = panel.rounds.index(cuts.options["round"])
    theta = panel.theta[position]
    locations, drawn = _draw_locations(panel.booklet, n_draws, np.random.default_rng(rng))
    found = np.empty((n_draws, len(cuts)))
    start = np.empty(len(cuts))
    for k in range(len(cuts)):
        own = theta[~np.isnan(theta[:, k]), k]
        start[k] = aggregated(_read(locations[None], locations[None], own, panel)[0][:, None], panel.aggregate)[0]
        order = np.argsort(drawn, axis=1, kind="stable")
        booklets = np.take_along_axis(drawn, order, axis=1)
        placed = _read(booklets, locations[order], own, panel)
        found[:, k] = np.median(placed, axis=1) if panel.aggregate == "median" else placed.mean(axis=1)
    slope = 1.0 if cuts.linking is None else cuts.linking.slope
    rows = []
    for k in range(len(cuts)):
        own = found[np.isfinite(found[:, k]), k] if np.isfinite(start[k]) else np.empty(0)
        few = len(own) < 2
        spread = np.nan if few else slope * float(own.std(ddof=1))
        bias = np.nan if few else slope * float(own.mean() - start[k])
        rows.append([bias, np.nan if few else spread / np.sqrt(len(own)), spread, 1.0 - len(own) / n_draws])
    return pd.DataFrame(rows, columns=["bias", "bias_se", "sd", "open_ended"], index=cuts.cut_scores.index)


def _draw_locations(pages: OrderedItemBooklet, n_draws: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return the locations in rising order, (J,), and draws of estimates around them, (R, J)."""
    bank = pages.bank
    covariance = np.nan_to_num(bank.covariance if bank.covariance is not None else np.zeros((2 * bank.n_items,) * 2))
    if bank.n_items <= _LARGEST_JOINT:
        a, d = draw_parameters(bank.discrimination, bank.intercept, covariance, n_draws, rng)
    else:
        a, d = np.empty((n_draws, bank.n_items)), np.empty((n_draws, bank.n_items))
        for j in range(bank.n_items):
            own = slice(2 * j, 2 * j + 2)
            one = draw_parameters(bank.discrimination[[j]], bank.intercept[[j]], covariance[own, own], n_draws, rng)
            a[:, j], d[:, j] = one[0][:, 0], one[1][:, 0]
    guessing = bank.guessing if bool(np.any(bank.guessing > 0.0)) else None
    order = np.argsort(pages.locations, kind="stable")
    drawn = rp_locations(a, d, guessing, pages.response_probability)
    return pages.locations[order], drawn[:, order]


def _read(booklets: FloatArray, true: FloatArray, theta: FloatArray, panel: BookmarkPanel) -> FloatArray:
    """Read each booklet up to the first page whose true location lies above each panellist's ability; return the cuts, (R, P).

    Parameters
    ----------
    booklets, true : ndarray, (R, J)
        Estimated and true locations in page order.
    theta : ndarray, (P,)
    panel : BookmarkPanel
        For the rule.
    """
    highest = np.maximum.accumulate(true, axis=1)  # the first page above is the first whose running maximum is
    mastered = np.array([np.searchsorted(row, theta, side="right") for row in highest])
    pages = mastered + 1.0 if panel.rule == "first-not-mastered" else mastered.astype(np.float64)
    return np.array([page_thetas(own, row, panel.rule) for own, row in zip(pages, booklets, strict=True)])
