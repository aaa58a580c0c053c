"""Figures of standard setting: cut scores on the scale, the panel's rounds, response probability, levels and impact.

Each function draws on ``ax`` (a new one if None) and returns the axes; none shows or saves anything. Colours are those of Okabe
and Ito (2008) and matplotlib's cividis, which people with colour-blindness tell apart; shapes and line styles differ as well.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray
from psychoedu.exceptions import DataError
from psychoedu.irt.bank import ItemBank
from psychoedu.plots import (
    BLUE,
    COLOURS,
    GREY,
    LINE_STYLES,
    MAX_CURVES,
    ORANGE,
    PALE,
    VERMILION,
    information,
    new_axes,
    plain,
    wright_map,
)
from psychoedu.standard_setting.cut_scores import CutScores
from psychoedu.standard_setting.panel import BookmarkPanel, aggregated
from psychoedu.standard_setting.plot_labels import inches, inches_of, legend_above, margin_labels, note, wrapped
from psychoedu.validation import check_known, counted, has_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAX_ROWS, _FRAME = 60, 6.0
_MOST_NAMED = 6
"""More panellists than this are not named."""
_HIGHEST = 0.6
"""Inches of level names over the frame from which on there is no room to name panellists beside it."""
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def cuts_on_wright_map(cuts: CutScores, calibration: Any = None, ax: Axes | None = None) -> Axes:
    """Draw the cut scores across the map of respondents and items.

    Parameters
    ----------
    cuts : CutScores
    calibration : Calibration or ItemBank, optional
        What the map shows, on the scale of the cut scores; by default the items behind the cut scores.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    DataError
        There is no calibration, and no items are known behind the cut scores.

    Notes
    -----
    Bands: 95% intervals of the cut scores, where their error is known. In the margin: what may be said of the abilities between
    two lines. Cut scores that are infinite or beyond the frame are named under the map.
    """
    shown, own_scale = _items_behind(cuts, calibration)
    bank = getattr(shown, "bank", shown)
    ax = new_axes(ax, (7.2, 4.4) if len(bank.labels) <= 25 else (7.6, 7.2))
    wright_map(shown, ax=ax, response_probability=cuts.options.get("response_probability", 0.5))
    if not hasattr(shown, "groups"):  # a bank has no respondents to draw, and no intervals
        ax.set_xlim(0.0, 1.25)
        ax.set_xticks([0.625], ["Items (difficulty)"])
    values = cuts.cut_scores.to_numpy()
    near = values[np.abs(values) < _FRAME]
    low, high = ax.get_ylim()
    low, high = min([low, *(near - 0.4)]), max([high, *(near + 0.4)])
    ax.set_ylim(low, high)
    if own_scale:
        ax.set_ylabel("Ability θ (scale of the cut scores)")
    _draw_bands(ax, cuts, (low, high))
    for value in values[(values > low) & (values < high)]:
        ax.axhline(value, color="black", linewidth=0.9, zorder=1.5)
    middles, names = _level_middles(values, cuts.level_texts, (low, high))
    margin_labels(ax, "right", middles, names)
    handles, _ = ax.get_legend_handles_labels()
    if handles:
        columns = 3 if len(handles) <= 3 else 2
        ax.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns, borderaxespad=0.2)
    note(ax, _not_drawn(cuts.levels, values, (low, high)))
    return ax


def cuts_on_information(cuts: CutScores, calibration: Any = None, ax: Axes | None = None) -> Axes:
    """Draw the cut scores across the test information: how well the test measures where decisions fall.

    Parameters
    ----------
    cuts : CutScores
    calibration : Calibration or ItemBank, optional
        Whose information, on the scale of the cut scores; by default that of the items behind the cut scores.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib Axes
        The axes of the information; the standard error has a second one with the same x axis.

    Raises
    ------
    DataError
        There is no calibration, and no items are known behind the cut scores.

    Notes
    -----
    On top: what may be said of the abilities between two lines. Cut scores that are infinite or beyond the frame are named below.
    """
    shown, own_scale = _items_behind(cuts, calibration)
    ax = new_axes(ax, (5.2, 4.0))
    information(shown, ax=ax)
    if own_scale:
        ax.set_xlabel("Ability θ (scale of the cut scores)")
    low, high = ax.get_xlim()
    values = cuts.cut_scores.to_numpy()
    for value in values[(values > low) & (values < high)]:
        ax.axvline(value, color="black", linewidth=0.9, zorder=1.5)
    middles, names = _level_middles(values, cuts.level_texts, (low, high))
    margin_labels(ax, "top", middles, names)
    note(ax, _not_drawn(cuts.levels, values, (low, high)))
    return ax


def panel_rounds(cuts: CutScores, ax: Axes | None = None) -> Axes:
    """Draw the panellists' bookmarks by level and round, on the scale of the cut scores.

    Parameters
    ----------
    cuts : CutScores
        Made by :func:`psychoedu.bookmark`.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    DataError
        The cut scores come from no bookmark panel.

    Notes
    -----
    A line joins the rounds of a panellist, who keeps the same place from left to right within each round; a few are named at the
    right. Bars: the panel's
    aggregate in each round. Triangles at the edge of the frame: open-ended placements, and bars that they carry along.
    """
    panel = cuts.panel
    if panel is None:
        raise DataError(
            f"These cut scores have no bookmark panel to draw: their method is {cuts.method!r}. Expected those that bookmark() "
            "returns."
        )
    theta = panel.theta if cuts.linking is None else cuts.linking.transform(panel.theta)
    n_rounds, n_panellists, n_levels = theta.shape
    ax = new_axes(ax, (min(10.0, max(3.6, 1.3 + 0.42 * (n_rounds + 0.8) * n_levels)), 4.2))
    low, high, edges = _panel_frame(theta)
    columns = np.arange(n_levels)[:, None] * (n_rounds + 0.8) + np.arange(n_rounds)
    size = 4.5 if n_panellists <= 15 else 3.2
    _draw_panel(ax, panel, theta, columns, edges, size)
    for k in range(1, n_levels):
        ax.axvline(columns[k, 0] - 0.9, color=PALE, linewidth=0.8, zorder=0)
    ax.set_xlim(-0.9, float(columns.max()) + 0.9)
    ax.set_ylim(low, high)
    _rounds_below(ax, columns, panel.rounds)
    ax.set_ylabel("Ability θ at the bookmark")
    rise = margin_labels(ax, "top", columns.mean(axis=1), [str(level) for level in cuts.levels])
    last = theta[-1, :, -1]
    named = np.flatnonzero(np.isfinite(last) & (n_panellists <= _MOST_NAMED) & (rise <= _HIGHEST))
    margin_labels(ax, "right", last[named], [str(panel.placements.panellists[p]) for p in named])
    entries = ax.plot([], [], "-o", color=BLUE, linewidth=0.8, markersize=size, label=f"panellist (n = {n_panellists})")
    entries += ax.plot([], [], "-", color=VERMILION, linewidth=3.2, label=f"{panel.aggregate} of the panel")
    legend_above(ax, entries, rise, 2.0)
    count = int(np.isinf(theta).sum())
    note(ax, f"{counted(count, 'open-ended placement')} at the edge of the frame (triangles)" if count else "")
    return ax


def rp_sensitivity(cuts: CutScores, ax: Axes | None = None) -> Axes:
    """Draw the cut scores over the response probability, the panel's pages held fixed.

    Parameters
    ----------
    cuts : CutScores
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    DataError
        The method uses no response probability.

    Notes
    -----
    Dashed: the response probability in use, with the cut scores themselves as open circles.
    """
    table = cuts.rp_sensitivity
    if table is None:
        raise DataError(
            f"These cut scores do not depend on a response probability: their method is {cuts.method!r}. "
            "Expected those that bookmark() returns."
        )
    ax = new_axes(ax, (4.8, 3.8))
    grid, values = table.index.to_numpy(dtype=np.float64), table.to_numpy(dtype=np.float64)
    drawn = np.flatnonzero(np.isfinite(values).all(axis=0))
    for k in drawn:
        colour, style = COLOURS[k % MAX_CURVES], LINE_STYLES[k % MAX_CURVES]
        ax.plot(grid, values[:, k], color=colour, linestyle=style, linewidth=1.6, clip_on=False)
        ax.plot(grid, values[:, k], "o", color=colour, markersize=3.0, clip_on=False)
    ax.set_xlim(float(grid.min()) - 0.01, float(grid.max()) + 0.005)
    in_use = cuts.options.get("response_probability", None if cuts.booklet is None else cuts.booklet.response_probability)
    if in_use is not None:
        ax.axvline(in_use, color=GREY, linestyle=(0, (4, 3)), linewidth=1.0, zorder=0)
        own = cuts.cut_scores.to_numpy()[drawn]
        ax.plot(np.full(len(own), in_use), own, "o", color="black", markerfacecolor="white", markersize=6, zorder=3)
        ax.annotate(f"in use: {in_use:.4g}", (in_use, 1.0), xycoords=ax.get_xaxis_transform(), xytext=(0, 2),
                    textcoords="offset points", ha="center", va="bottom", fontsize=8, color=GREY)  # fmt: skip
    if not len(drawn):
        ax.set_ylim(-1.0, 1.0)
    ax.set_xlabel("Response probability")
    ax.set_ylabel("Cut score θ")
    ax.set_ylim(ax.get_ylim())  # the labels in the margin stand at these limits
    colours = [COLOURS[k % MAX_CURVES] for k in drawn]
    margin_labels(ax, "right", values[-1, drawn], [str(cuts.levels[k]) for k in drawn], colours)
    others = [k for k in range(len(cuts.levels)) if k not in drawn]
    note(ax, _not_drawn([cuts.levels[k] for k in others], cuts.cut_scores.to_numpy()[others], (-np.inf, np.inf)))
    return ax


def level_probabilities(levels: Any, ax: Axes | None = None, respondents: Any = None) -> Axes:
    """Draw the probability of each level as a bar per respondent.

    Parameters
    ----------
    levels : Levels
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.
    respondents : label or sequence of labels, optional
        Whom to draw, from top to bottom; by default everybody. At most 60.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    DataError
        Nobody, or more than 60 respondents.
    LabelError
        A respondent is unknown.

    Notes
    -----
    The darker, the higher the level. Diamonds: the level of the point estimate, which need not be the most probable one. A row
    whose probabilities are not known reads "unknown".
    """
    table, level = _rows_to_draw(levels, respondents)
    texts = getattr(getattr(levels, "cut_scores", None), "level_texts", levels.level_labels)
    names = [str(text) for text in texts]
    from matplotlib import colormaps

    shades = colormaps["cividis"](np.linspace(0.97, 0.03, len(names)))
    ax = new_axes(ax, (6.6, 1.3 + 0.24 * len(table)))
    share = table.to_numpy(dtype=np.float64)
    place, known = np.arange(len(share)), np.isfinite(share).all(axis=1)
    right = np.cumsum(share, axis=1)
    entries: list[Any] = []
    for k, name in enumerate(names):
        entries += [ax.barh(place[known], share[known, k], left=(right - share)[known, k], height=0.78, color=shades[k],
                            edgecolor="white", linewidth=0.6, label=plain(name))]  # fmt: skip
    codes = np.asarray(level.cat.codes)
    marked = known & (codes >= 0)
    middle = (right - share / 2.0)[marked, codes[marked]]
    entries += ax.plot(middle, place[marked], "D", color="white", markeredgecolor="black", markersize=4.5, label="point level")
    for row in place[~known]:
        ax.text(0.01, row, "unknown", ha="left", va="center", fontsize=8, color=GREY, style="italic")
    ax.set_yticks(place, [plain(label) for label in table.index])
    ax.tick_params(axis="y", length=0, labelsize=8)
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(len(share) - 0.4, -0.6)
    ax.spines["left"].set_visible(False)
    ax.set_xlabel("Probability of the level")
    legend_above(ax, entries)
    return ax


def impact(shares: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the share of each group in each level, with intervals.

    Parameters
    ----------
    shares : DataFrame, index (group, level)
        Columns share, low, high; nan where unknown. Groups and levels are drawn in the order in which they stand, or in that of
        a categorical index.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    DataError
        The table has another form, or more than seven groups.
    """
    missing = {"share", "low", "high"} - set(shares.columns)
    if missing or shares.index.nlevels != 2 or not len(shares):
        lacks = f"has no {' and no '.join(sorted(missing))}" if missing else "is not one"
        raise DataError(f"The table of shares {lacks}. Expected columns share, low and high by (group, level).")
    groups, levels = _ordered(shares.index, 0), _ordered(shares.index, 1)
    if len(groups) > MAX_CURVES:
        raise DataError(f"{len(groups)} groups in one figure; expected 1 to {MAX_CURVES}. Pass some of them.")
    ax = new_axes(ax, (min(10.0, max(3.6, 1.1 + len(levels) * (0.45 + 0.2 * len(groups)))), 3.6))
    step = min(0.24, 0.7 / len(groups))
    entries: list[Any] = []
    for order, group in enumerate(groups):
        own = shares[shares.index.get_level_values(0) == group]
        x = np.array([levels.index(level) for level in own.index.get_level_values(1)]) + step * (order - (len(groups) - 1) / 2.0)
        share, low, high = (own[name].to_numpy(dtype=np.float64) for name in ("share", "low", "high"))
        ax.vlines(x, low, high, color=COLOURS[order], linewidth=1.4)
        entries += ax.plot(x, share, _MARKERS[order], color=COLOURS[order], markersize=5.5, markeredgecolor="white",
                           markeredgewidth=0.5, clip_on=False, label=plain(group))  # fmt: skip
    for edge in np.arange(1, len(levels)) - 0.5:
        ax.axvline(edge, color=PALE, linewidth=0.8, zorder=0)
    ax.set_xticks(range(len(levels)), wrapped([plain(level) for level in levels], 0.92 * inches(ax)[0] / len(levels)))
    ax.tick_params(axis="x", length=0, labelsize=9)
    ax.set_xlim(-0.5, len(levels) - 0.5)
    top = np.nanmax(shares[["share", "high"]].to_numpy(dtype=np.float64), initial=0.05)
    ax.set_ylim(0.0, min(1.02, 1.08 * top))
    ax.set_ylabel("Share of the group" if len(groups) > 1 else "Share of respondents")
    if len(groups) > 1:
        legend_above(ax, entries)
    return ax


def _items_behind(cuts: CutScores, calibration: Any) -> tuple[Any, bool]:
    """Return what to draw, and whether it is the bank behind the cuts brought onto their scale."""
    if calibration is not None:
        return calibration, False
    bank, link = cuts.bank, cuts.linking
    if bank is None:
        raise DataError(
            f"No items are known behind these cut scores (method {cuts.method!r}). Pass the calibration or the item bank on "
            "whose scale they are."
        )
    if link is None:
        return bank, False
    slopes = bank.discrimination / link.slope
    return ItemBank.from_arrays(bank.labels, slopes, bank.intercept - slopes * link.intercept, bank.guessing), True


def _draw_bands(ax: Axes, cuts: CutScores, limits: tuple[float, float]) -> None:
    interval = cuts.conf_int().to_numpy(dtype=np.float64)
    label: str | None = "95% interval of a cut score"
    for value, (low, high) in zip(cuts.cut_scores, interval, strict=True):
        if np.isfinite([low, high]).all() and limits[0] < value < limits[1]:
            ax.axhspan(max(low, limits[0]), min(high, limits[1]), color=ORANGE, alpha=0.22, linewidth=0, zorder=0.5, label=label)
            label = None


def _level_middles(values: FloatArray, texts: Sequence[str], limits: tuple[float, float]) -> tuple[FloatArray, list[str]]:
    """Return the middle of what the frame shows of each level, and its name; levels without room are left out."""
    low = np.maximum(np.concatenate([[-np.inf], values]), limits[0])
    high = np.minimum(np.concatenate([values, [np.inf]]), limits[1])
    there = high > low
    return (low + high)[there] / 2.0, [text for text, has in zip(texts, there, strict=True) if has]


def _not_drawn(levels: Sequence[Hashable], values: FloatArray, limits: tuple[float, float]) -> str:
    """Return a note that names the cut scores that are infinite or outside the limits; "" where there are none."""
    why = {np.inf: "open-ended, +∞", -np.inf: "open-ended, −∞"}
    beyond = [
        f"{level} ({why.get(value, f'{value:.2f}, beyond the frame')})"
        for level, value in zip(levels, values, strict=True)
        if not limits[0] < value < limits[1]
    ]
    return f"Cut scores not drawn: {', '.join(beyond)}" if beyond else ""


def _draw_panel(
    ax: Axes, panel: BookmarkPanel, theta: FloatArray, columns: FloatArray, edges: tuple[float, float], size: float
) -> None:
    """Draw panellists and the bars of the panel; what is infinite stands at the edges."""
    n_panellists = theta.shape[1]
    offset = np.linspace(-0.24, 0.24, n_panellists) if n_panellists > 1 else np.zeros(1)
    for k, places in enumerate(columns):
        x, y = places[:, None] + offset, np.clip(theta[:, :, k], *edges)
        known = np.isfinite(theta[:, :, k])
        ax.plot(x, y, "-", color=BLUE, linewidth=0.8, alpha=0.45)
        ax.plot(x[known], y[known], "o", color=BLUE, markersize=size, markeredgecolor="white", markeredgewidth=0.3)
        bars = aggregated(theta[:, :, k].T, panel.aggregate)
        for place, bar in zip(places[~np.isnan(bars)], bars[~np.isnan(bars)], strict=True):
            marker = "" if np.isfinite(bar) else "^" if bar > 0 else "v"
            ends = place + np.array([-0.38, 0.38])
            ax.plot(
                ends, np.clip([bar, bar], *edges), "-", marker=marker, color=VERMILION, linewidth=3.2, markersize=8, zorder=1.5
            )
        for marker, sign in (("v", -np.inf), ("^", np.inf)):
            open_end = theta[:, :, k] == sign
            ax.plot(
                x[open_end], y[open_end], marker, color=BLUE, markersize=size + 2, markeredgecolor="white", markeredgewidth=0.3
            )


def _panel_frame(theta: FloatArray) -> tuple[float, float, tuple[float, float]]:
    """Return the limits of the y axis, and where open-ended placements are drawn below and above."""
    known = theta[np.isfinite(theta)]
    low, high = (float(known.min()), float(known.max())) if known.size else (-1.0, 1.0)
    pad = 0.06 * max(high - low, 0.5)
    below, above = (2.0 if (theta == sign).any() else 1.0 for sign in (-np.inf, np.inf))
    return low - below * pad, high + above * pad, (low - pad, high + pad)


def _rounds_below(ax: Axes, columns: FloatArray, rounds: Sequence[Hashable]) -> None:
    width = inches(ax)[0] / (float(columns.max()) + 1.8)
    rotation = 0 if max(inches_of(str(label), 8.0) for label in rounds) < 0.9 * width else 90
    ax.set_xticks(columns.ravel(), [plain(label) for label in rounds] * len(columns), rotation=rotation)
    ax.tick_params(axis="x", length=0, labelsize=8)
    ax.set_xlabel("Round")


def _rows_to_draw(levels: Any, respondents: Any) -> tuple[pd.DataFrame, pd.Series]:
    table: pd.DataFrame = levels.probabilities
    places = np.arange(len(table))
    if respondents is not None:
        one = isinstance(respondents, str) or not isinstance(respondents, Iterable) or has_label(table.index, respondents)
        wanted = check_known([respondents] if one else respondents, table.index, "respondent")
        places = table.index.get_indexer_for(wanted)
    if not 1 <= len(places) <= _MAX_ROWS:
        raise DataError(
            f"{len(places):,} respondents in one figure; expected 1 to {_MAX_ROWS}. Choose some with respondents=[...]."
        )
    return table.iloc[places], levels.level.iloc[places]


def _ordered(index: pd.Index, position: int) -> list[Any]:
    labels = index.get_level_values(position)
    found = list(dict.fromkeys(labels))
    if isinstance(labels, pd.CategoricalIndex):
        return [label for label in labels.categories if label in found]
    return found
