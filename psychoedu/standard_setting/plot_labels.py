"""Room for text around a figure: labels in the margin that do not overlap, notes under it, legends above it."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal
from unicodedata import east_asian_width

import numpy as np
from scipy.optimize import isotonic_regression

from psychoedu._typing import FloatArray
from psychoedu.plots import GREY, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZES = (9.0, 8.0, 7.0, 6.0, 5.0, 4.0)
_LINE = 18


def inches(ax: Axes) -> tuple[float, float]:
    """Return the width and height of the axes, as far as they are known before the figure is laid out."""
    figure = ax.get_figure()
    dpi = 100.0 if figure is None else figure.dpi
    return float(ax.bbox.width / dpi), float(ax.bbox.height / dpi)


def inches_of(text: str, size: float) -> float:
    """Return about how wide a text is, in inches, by its longest line; size in points."""
    return max(_letters(line) for line in text.split("\n")) * size / 72.0


def _letters(line: str) -> float:
    return sum(1.05 if east_asian_width(letter) in "WF" else 0.62 for letter in line)


def note(ax: Axes, text: str) -> None:
    """Write a note under the label of the x axis."""
    if text:
        lines = plain(fill(text, max(24, int(14 * inches(ax)[0]))))
        ax.set_xlabel(f"{ax.get_xlabel()}\n{lines}".lstrip("\n"), fontsize=9)


def wrapped(labels: Sequence[str], width: float, size: float = 9.0) -> list[str]:
    """Break labels at spaces where they are wider than a width in inches."""
    letters = max(3, int(width * 72.0 / (0.62 * size)))
    return [fill(label, letters, break_long_words=False, break_on_hyphens=False) for label in labels]


def margin_labels(
    ax: Axes, side: Literal["right", "top"], at: FloatArray, texts: Sequence[str], colours: Sequence[str] | None = None
) -> float:
    """Write a label beside each place, moved apart where labels would overlap, with a line to its place.

    Returns
    -------
    float
        How far the labels reach from the frame, in inches.
    """
    if not len(at):
        return 0.0
    from matplotlib.transforms import ScaledTranslation

    right = side == "right"
    texts = [fill(text, _LINE, break_long_words=False, break_on_hyphens=False) for text in texts]
    heights = np.array([1.35 + 1.2 * text.count("\n") for text in texts]) / 72.0
    limits, along = (ax.get_ylim(), inches(ax)[1]) if right else (ax.get_xlim(), inches(ax)[0])
    along *= 0.95  # the layout may take some of it
    upright = not right and sum(inches_of(text, 8.0) + 0.08 for text in texts) > along
    size, room = 0.0, heights
    for size in _SIZES:
        room = heights * size if right or upright else np.array([inches_of(text, size) + 0.08 for text in texts])
        if room.sum() <= along:
            break
    room = room * (limits[1] - limits[0]) / along
    places = _apart(np.asarray(at, dtype=np.float64), room, limits)
    moved = np.abs(places - at) > 0.25 * room
    gap = (16.0 if moved.any() else 4.0) / 72.0
    frame = ax.get_yaxis_transform() if right else ax.get_xaxis_transform()
    outside = frame + ScaledTranslation(*((gap, 0.0) if right else (0.0, gap)), ax.figure.dpi_scale_trans)
    line = {"arrowstyle": "-", "color": GREY, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 1}
    line |= {"relpos": (0.0, 0.5) if right else (0.5, 0.0)}
    for n, text in enumerate(texts):
        ax.annotate(
            plain(text),
            (1.0, at[n]) if right else (at[n], 1.0),
            (1.0, places[n]) if right else (places[n], 1.0),
            xycoords=frame,
            textcoords=outside,
            ha="left" if right else "center",
            va="center" if right else "bottom",
            rotation=90 if upright else 0,
            fontsize=size,
            color="black" if colours is None else colours[n],
            arrowprops=line if moved[n] else None,
            annotation_clip=False,
        )
    return gap + (max(inches_of(text, size) for text in texts) if right or upright else size * float(heights.max()))


def _apart(at: FloatArray, room: FloatArray, limits: tuple[float, float]) -> FloatArray:
    """Return places that leave each label its room inside the limits, as near (least squares) to where they belong as can be."""
    order = np.argsort(at, kind="stable")
    before = np.cumsum(room[order]) - room[order] / 2.0  # from the start of the first label to the middle of each
    spare = limits[1] - room.sum()
    if spare <= limits[0]:
        before *= (limits[1] - limits[0]) / room.sum()
        spare = limits[0]
    start = np.clip(isotonic_regression(at[order] - before).x, limits[0], spare)
    places = np.empty_like(start)
    places[order] = start + before
    return places


def legend_above(ax: Axes, handles: Sequence[Any], rise: float = 0.0, handle_length: float = 1.1) -> None:
    """Put a legend above the axes, and above labels that rise so many inches, that reads from left to right, then down."""
    from matplotlib.transforms import ScaledTranslation

    labels = [handle.get_label() for handle in handles]
    extents = [inches_of(label, 8.0) + 0.4 for label in labels]
    width, columns = 1.1 * inches(ax)[0], len(labels)
    while columns > 1 and sum(max(extents[column::columns]) for column in range(columns)) > width:
        columns -= 1
    order = [entry for column in range(columns) for entry in range(column, len(labels), columns)]
    ax.legend(
        handles=[handles[n] for n in order], frameon=False, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0),
        bbox_transform=ax.transAxes + ScaledTranslation(0.0, rise, ax.figure.dpi_scale_trans), ncols=columns,
        handlelength=handle_length, columnspacing=1.2, handletextpad=0.5,
    )  # fmt: skip
