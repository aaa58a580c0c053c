"""Figures of a contrast: every model's difference with its interval, and the resamples behind the interval.

Each function draws on ``ax`` (a new one if None) and returns the axes; ``save_figure`` writes a figure as a vector file at
journal size.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from psychoedu.bootstrap.paper import fixed, level_text
from psychoedu.exceptions import DataError
from psychoedu.plots import BLUE, GREY, PALE, VERMILION, new_axes, wrapped
from psychoedu.validation import check_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psychoedu.bootstrap.results import Contrast

COLUMN_WIDTHS = {"single": 3.5, "double": 7.2}
"""Inches: one and two columns of a journal page."""
VECTOR_FORMATS = (".pdf", ".svg", ".eps")
_BINS = 60
ROW_WIDTH, LABEL_WIDTH = 26, 40
"""Characters of a line of a row's label and of an axis label: both fit a figure of one column."""
ROW_FONT, LABEL_FONT = 7, 8


def forest(contrast: Contrast, ax: Axes | None = None) -> Axes:
    """Draw the difference of each model, and of all together, with intervals (forest plot).

    Parameters
    ----------
    contrast : Contrast
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    Models are in order of their difference, the largest on top; squares with thick lines: the interval that was asked for; thin
    grey lines beside them: the recommended one, where a stratum has fewer than 20 clusters.
    """
    rows: list[tuple[str, float, float, float, float, float]] = []
    few = contrast.few_clusters
    better = contrast.recommended_models if few else None
    own = contrast.recommended_interval if few else None
    nothing = (np.nan, np.nan)
    rows.append(("all models", contrast.estimate, *contrast.interval, *(own if own is not None else nothing)))
    order = np.argsort(contrast.models["estimate"].to_numpy(), kind="stable")
    models = contrast.models.iloc[order]
    wide = [nothing] * len(models) if better is None else better[["low", "high"]].iloc[order].itertuples(index=False, name=None)
    for label, values, limits in zip(models.index, models.to_dict("records"), wide, strict=True):
        rows.append((wrapped(label, ROW_WIDTH), values["estimate"], values["low"], values["high"], *limits))
    if contrast.n_models == 1:
        rows = rows[:1]
    ax = new_axes(ax, (COLUMN_WIDTHS["double"] / 1.6, 1.5 + row_height(row[0] for row in rows) * len(rows)))
    for place, (_, estimate, low, high, wide_low, wide_high) in enumerate(rows):
        colour = VERMILION if place == 0 else BLUE
        ax.plot([wide_low, wide_high], [place - 0.22] * 2, color=GREY, linewidth=0.8, solid_capstyle="butt")
        ax.plot([low, high], [place, place], color=colour, linewidth=1.8, solid_capstyle="butt")
        ax.plot(estimate, place, "D" if place == 0 else "s", color=colour, markersize=5 if place == 0 else 4)
    ax.axvline(0.0, color=GREY, linewidth=0.8, linestyle="--", zorder=0)
    ax.axhline(0.5, color=PALE, linewidth=0.8)
    ax.set_yticks(range(len(rows)), [row[0] for row in rows], fontsize=ROW_FONT)
    ax.set_ylim(-0.6, len(rows) - 0.4)
    ax.tick_params(axis="y", length=0)
    label_below(ax, _difference(contrast))
    level = level_text(contrast.confidence_level)
    beside = f"\nthin: recommended, {own.method_words}" if own is not None else ""
    title = f"{level} {contrast.interval.method_words} intervals{beside}"
    ax.set_title(wrapped(title, LABEL_WIDTH + 10), fontsize=7, loc="right", color=GREY)
    return ax


def resamples(contrast: Contrast, ax: Axes | None = None) -> Axes:
    """Draw the histogram of the resamples, with the estimate and the interval.

    Parameters
    ----------
    contrast : Contrast
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib Axes
    """
    ax = new_axes(ax, (COLUMN_WIDTHS["single"] * 1.25, 2.8))
    values = contrast.resamples
    if np.ptp(values) > 0.0:
        ax.hist(values, bins=_BINS, color=PALE, edgecolor="none", density=True)
    top = ax.get_ylim()[1]
    ax.axvline(contrast.estimate, color=VERMILION, linewidth=1.6, label=f"estimate {fixed(contrast.estimate)}")
    low, high = contrast.interval
    level = level_text(contrast.confidence_level)
    label = f"{level} {contrast.interval.method}"
    ax.plot([low, high], [0.03 * top] * 2, color=BLUE, linewidth=3, solid_capstyle="butt", label=label)
    if contrast.few_clusters:
        own = contrast.recommended_interval
        label = f"{level} {own.method}"
        ax.plot([own.low, own.high], [0.07 * top] * 2, color=GREY, linewidth=1.4, solid_capstyle="butt", label=label)
    label_below(ax, _difference(contrast))
    ax.set_ylabel("Density of resamples", fontsize=LABEL_FONT)
    ax.set_yticks([])
    ax.locator_params(axis="x", nbins=6)
    ax.legend(
        frameon=False, fontsize=7, ncols=2, handlelength=1.4, borderaxespad=0.1, loc="lower left", bbox_to_anchor=(0.0, 1.0)
    )
    return ax


def save_figure(ax: Axes, path: Any, width: str | float = "double") -> Path:
    """Write the figure of an axes as a vector file, at the width of a journal's column.

    Parameters
    ----------
    ax : matplotlib Axes
    path : str or Path
        Ends in .pdf, .svg or .eps.
    width : {"single", "double"} or float
        Of the figure: one column (3.5 inches), two columns (7.2), or so many inches; the height stays.

    Returns
    -------
    Path
    """
    import matplotlib

    target = check_path(path, "write")
    if target.suffix.lower() not in VECTOR_FORMATS:
        raise DataError(f"{target.name} is no vector file. Expected a name that ends in {', '.join(VECTOR_FORMATS)}.")
    drawing = ax.get_figure(root=True)
    if drawing is None:
        raise DataError("The axes belong to no figure, so there is nothing to write.")
    inches = COLUMN_WIDTHS.get(width) if isinstance(width, str) else float(width)
    if inches is None or not inches > 0.0:
        raise DataError(f"width has to be 'single', 'double' or a number of inches; got {width!r}.")
    drawing.set_figwidth(inches)
    options = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(target.suffix.lower(), {})
    with matplotlib.rc_context({"svg.fonttype": "none", "pdf.fonttype": 42, "ps.fonttype": 42, "svg.hashsalt": "psychoedu"}):
        drawing.savefig(target, metadata=options or None)
    return target


def _difference(contrast: Contrast) -> str:
    comparison = contrast.comparison if len(contrast.comparison) <= 30 else "comparison"
    if contrast.comparison.startswith("all others"):
        comparison = "all others"
    focal = contrast.focal if len(contrast.focal) <= 30 else "focal"
    return f"Mean reward: {comparison} less {focal}\nabove 0: lower on {focal}"


def row_height(labels: Iterable[str]) -> float:
    """Return inches for a row with its label, which may have several lines."""
    return 0.12 + 0.12 * max(label.count("\n") + 1 for label in labels)


def label_below(ax: Axes, text: str) -> None:
    """Write under the x axis, in lines that end at its right end, so that they fit under long labels of rows too."""
    ax.set_xlabel(wrapped(text, LABEL_WIDTH), fontsize=LABEL_FONT, loc="right", multialignment="right")
    ax.tick_params(axis="x", labelsize=LABEL_FONT)
