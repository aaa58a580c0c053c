"""Figures of a leaderboard: overall scores with intervals, ranks with their probabilities, and counts of "lowest for k models".

Each function draws on ``ax`` (a new one if None) and returns the axes; ``psychoedu.bootstrap.plots.save_figure`` writes a
figure as a vector file at journal size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from psychoedu.bootstrap.leaderboard_text import method_words
from psychoedu.bootstrap.paper import level_text
from psychoedu.bootstrap.plots import COLUMN_WIDTHS, ROW_FONT, ROW_WIDTH, label_below, row_height
from psychoedu.plots import BLUE, GREY, PALE, VERMILION, new_axes, plain, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psychoedu.bootstrap.leaderboard_results import Leaderboard
    from psychoedu.bootstrap.lowest_results import Lowest

_WIDTH = COLUMN_WIDTHS["double"] / 1.6
_STAGE_MARKS = "ov^sDP*X"


def overall_scores(board: Leaderboard, ax: Axes | None = None, stages: bool = True) -> Axes:
    """Draw overall scores with their intervals, best on top, and the scores of the stages as open marks (forest plot).

    Parameters
    ----------
    board : Leaderboard
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.
    stages : bool, default True
        Also the scores of the stages.

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    Thick lines: the interval that was asked for; thin grey lines beside them: the recommended one, where fewer than 20 clusters
    are drawn from together somewhere. Without rewards by task there are no intervals.
    """
    table, places = board.table, np.arange(len(board.models))
    several = stages and len(board.stages) > 1
    ax = new_axes(ax, (_WIDTH, 1.2 + _row(board) * len(table)))
    if several:
        for order, label in enumerate(board.stages):
            mark = _STAGE_MARKS[order % len(_STAGE_MARKS)]
            ax.plot(
                board.scores[:, order], places, mark, markersize=3.5, markerfacecolor="none", markeredgecolor=GREY,
                markeredgewidth=0.7, label=plain(label), zorder=1,
            )  # fmt: skip
    if board.few_clusters:
        better = board.recommended
        ax.hlines(places + 0.22, better["low"], better["high"], color=GREY, linewidth=0.8)
    if board.has_intervals:
        ax.hlines(places, table["low"], table["high"], color=BLUE, linewidth=1.8)
    ax.plot(board.overall, places, "s", color=BLUE, markersize=4.5, label="overall" if several else None, zorder=3)
    _label_rows(ax, board)
    said = "no intervals: no rewards by task"
    if board.has_intervals:
        said = f"{level_text(board.confidence_level)} {method_words(board)} intervals"
        said += "; thin: recommended" if board.few_clusters else ""
    if several:
        _legend(ax, len(board.stages) + 1)
    what = "Overall score" if len(board.stages) > 1 else "Mean reward"
    label_below(ax, f"{what}\n({said})")
    return ax


def ranks(board: Leaderboard, ax: Axes | None = None) -> Axes:
    """Draw each model's rank with its intervals, over the probability of every rank (rank plot).

    Parameters
    ----------
    board : Leaderboard
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    Shading: share of the resamples with that rank, darker for more. Thick lines: percentiles of the resampled ranks; thin lines:
    ranks that hold for all models at once. Without rewards by task only the ranks, of the stages as open marks too.
    """
    table, n = board.table, len(board.models)
    places = np.arange(n)
    ax = new_axes(ax, (_WIDTH, 1.2 + _row(board) * n))
    level = level_text(board.confidence_level)
    if board.has_intervals:
        from matplotlib.colors import LinearSegmentedColormap

        shades = LinearSegmentedColormap.from_list("shares", ["white", PALE, "#9a9a9a"])
        edges = np.arange(n + 1)
        cells = np.ma.masked_invalid(board.rank_probabilities.to_numpy())
        ax.pcolormesh(edges + 0.5, edges - 0.5, cells, cmap=shades, vmin=0.0, vmax=float(cells.max()), zorder=0)
        ax.hlines(places, table["rank_low_simultaneous"], table["rank_high_simultaneous"], color=BLUE, linewidth=0.8)
        ax.hlines(places, table["rank_low"], table["rank_high"], color=BLUE, linewidth=2.6)
        said = f"{level}; thin: all ranks at once; shade: share of resamples"
    else:
        said = "no intervals: no rewards by task"
        for order, label in enumerate(board.stages if len(board.stages) > 1 else []):
            mark = _STAGE_MARKS[order % len(_STAGE_MARKS)]
            ax.plot(
                board.ranks_by_stage[:, order], places, mark, markersize=3.5, markerfacecolor="none", markeredgecolor=GREY,
                markeredgewidth=0.7, label=plain(label),
            )  # fmt: skip
        if len(board.stages) > 1:
            _legend(ax, len(board.stages))
    ax.plot(board.ranks, places, "D", color=VERMILION, markersize=4.5, zorder=3)
    _label_rows(ax, board)
    ax.set_xlim(0.5, n + 0.5)
    ax.set_xticks(_rank_ticks(n))
    label_below(ax, f"Rank (1 is best)\n({said})")
    return ax


def lowest_counts(found: Lowest, ax: Axes | None = None) -> Axes:
    """Draw in what share of the resamples the focal stratum is lowest for how many models.

    Parameters
    ----------
    found : Lowest
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib Axes
    """
    ax = new_axes(ax, (_WIDTH, 2.6))
    counts = np.arange(found.n_models + 1)
    inside = (counts >= found.low) & (counts <= found.high)
    level = level_text(found.confidence_level)
    for kept, colour, label in ((inside, BLUE, f"{level} of the resamples"), (~inside, PALE, None)):
        ax.bar(counts[kept], found.distribution[kept], width=0.8, color=colour, label=label)
    ax.axvline(found.k, color=VERMILION, linewidth=1.6, label=f"observed: {found.k} of {found.n_models}")
    label_below(ax, f"Models for which {found.focal} is lowest")
    ax.set_ylabel("Share of resamples")
    ax.set_xticks(counts if len(counts) <= 21 else counts[:: -(-len(counts) // 20)])
    ax.set_xlim(-0.6, found.n_models + 0.6)
    ax.legend(frameon=False, fontsize=7, ncols=2, loc="lower left", bbox_to_anchor=(0.0, 1.0))
    return ax


def _legend(ax: Axes, n_marks: int) -> None:
    """Put the legend above the axes, so that it never hides a model."""
    ax.legend(
        frameon=False, fontsize=7, ncols=min(4, n_marks), loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.1,
        handletextpad=0.2,
    )  # fmt: skip


def _label_rows(ax: Axes, board: Leaderboard) -> None:
    ax.set_yticks(np.arange(len(board.models)), [wrapped(label, ROW_WIDTH) for label in board.models], fontsize=ROW_FONT)
    ax.set_ylim(len(board.models) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)


def _row(board: Leaderboard) -> float:
    return row_height(wrapped(label, ROW_WIDTH) for label in board.models)


def _rank_ticks(n: int) -> list[int]:
    """Return ranks to name: all up to 20, else the first and every fifth, tenth, ..."""
    if n <= 20:
        return list(range(1, n + 1))
    step = 5 * -(-n // 100)
    return [1, *range(step, n + 1, step)]
