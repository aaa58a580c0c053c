"""Figures of a calibration: Wright map, item characteristic curves, information, populations.

Each function draws on ``ax`` (a new one if None) and returns the axes; none shows or saves anything. Colours are those of Okabe
and Ito (2008), which people with colour-blindness tell apart, and line styles differ as well.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import norm

from psychoedu._typing import BoolArray, CodeArray, FloatArray
from psychoedu.exceptions import DataError, LabelError
from psychoedu.irt.empirical import empirical_curves
from psychoedu.irt.models import item_information, probability
from psychoedu.standard_setting.locations import location_errors, rp_locations
from psychoedu.validation import has_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#AA4499", "#E69F00", "#56B4E9"
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, "#000000")
LINE_STYLES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 1)))
GREY, PALE = "#595959", "#D9D9D9"
MAX_CURVES = len(COLOURS)
_Z95 = 1.959963984540054
_MAX_LABELS = 80
_LIMIT = 6.0


@dataclass(frozen=True, eq=False)
class _Population:
    label: str
    mean: float
    sd: float
    share: float


def wright_map(calibration: Any, ax: Axes | None = None, response_probability: float = 0.5) -> Axes:
    """Draw respondents and items on one scale (Wright map).

    Parameters
    ----------
    calibration : Calibration or ItemBank
        What to draw. A calibration read from a file has no responses: its populations are drawn without the histogram.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.
    response_probability : float, default 0.5
        Items stand where they are answered with this probability: at their difficulty for 0.5 without guessing.

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    Left: histogram of the EAP scores, and the normal population of each group in proportion to its size, which is wider than the
    EAP scores because these are shrunk. Right: each item at its location with a 95% interval; flagged items are orange-red and
    open. Items beyond the frame are named. More than 80 items are drawn as a histogram.
    """
    bank = _bank(calibration)
    ax = new_axes(ax, (6.5, 4.2) if len(bank.labels) <= 25 else (7.2, 7.0))
    populations, theta = _populations(calibration), _eap(calibration)
    at_half = response_probability == 0.5
    places, errors, flagged = _item_places(calibration, bank, None if at_half else response_probability)
    low, high = _theta_range(populations, places, theta)
    ax.set_ylim(low, high)
    ax.set_xlim(-1.0, 1.25)
    _draw_respondents(ax, theta, populations, (low, high))
    _draw_items(ax, bank, places, errors, flagged, (low, high))
    ax.axvline(0.0, color=GREY, linewidth=0.8)
    what = "difficulty" if at_half else f"location at RP {response_probability:.4g}"
    ax.set_xticks(
        [-0.5, 0.625],
        ["Respondents", f"Items ({what}, 95% interval)"],
    )
    ax.tick_params(axis="x", length=0)
    ax.set_ylabel(_theta_label(calibration))
    return ax


def icc(calibration: Any, item: Any, ax: Axes | None = None, n_groups: int = 10) -> Axes:
    """Draw item characteristic curves with the observed proportions.

    Parameters
    ----------
    calibration : Calibration or ItemBank
        Where the curves come from.
    item : label or sequence of labels
        At most seven items.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.
    n_groups : int, default 10
        Number of ability groups for the observed proportions; fewer with few respondents.

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    Shaded: 95% confidence band of the curve, from the covariance of slope and intercept on the logit scale (delta method).
    Points: observed proportions in groups of respondents formed by their ability on the other items, with 95% Wilson intervals;
    see :func:`psychoedu.irt.empirical.empirical_curves` for where they stand. Both appear where the covariance and the responses
    are there.
    """
    bank = _bank(calibration)
    positions = _positions(bank, item)
    ax = new_axes(ax, (4.6, 3.6))
    populations = _populations(calibration)
    low, high = _theta_range(populations, bank.difficulty, None)
    theta = np.linspace(low, high, 241)
    guessing = _guessing(bank)
    curves = probability(
        theta, bank.discrimination[positions], bank.intercept[positions], None if guessing is None else guessing[positions]
    )
    observed = _observed(calibration, bank, positions, n_groups)
    for order, position in enumerate(positions):
        colour = COLOURS[order]
        _draw_band(ax, bank, position, theta, colour, 0.2 if len(positions) <= 3 else 0.1)
        label = plain(bank.labels[position])
        ax.plot(theta, curves[:, order], color=colour, linestyle=LINE_STYLES[order], linewidth=1.6, label=label)
        if observed is not None and len(observed[order].n):
            points = observed[order]
            errors = np.abs(np.stack([points.proportion - points.low, points.high - points.proportion]))
            ax.errorbar(
                points.theta,
                points.proportion,
                yerr=errors,
                fmt="o",
                color=colour,
                markersize=3.5,
                elinewidth=0.9,
                capsize=1.5,
                zorder=3,
            )
    ax.set_xlim(low, high)
    ax.set_ylim(-0.02, 1.02)
    ax.set_xlabel(_theta_label(calibration))
    ax.set_ylabel("Probability of a right answer")
    if len(positions) > 1:
        ax.legend(frameon=False, fontsize=8, handlelength=2.6)
    else:
        ax.set_title(plain(bank.labels[positions[0]]), fontsize=10)
    return ax


def information(calibration: Any, ax: Axes | None = None) -> Axes:
    """Draw test information and, on a second axis, the standard error it implies.

    Parameters
    ----------
    calibration : Calibration or ItemBank
        What to draw.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib Axes
        The axes of the information; the second one shares its x axis.

    Notes
    -----
    The standard error is 1 / sqrt(information), that of a maximum likelihood score on all items of the bank, drawn up to 1.5.
    Grey: the populations, without a scale, to show where respondents are.
    """
    bank = _bank(calibration)
    ax = new_axes(ax, (4.6, 3.6))
    populations = _populations(calibration)
    low, high = _theta_range(populations, bank.difficulty, None)
    theta = np.linspace(low, high, 241)
    total = item_information(theta, bank.discrimination, bank.intercept, _guessing(bank)).sum(axis=1)
    top = 1.12 * float(total.max()) if total.max() > 0 else 1.0
    for population in populations:
        density = norm.pdf(theta, population.mean, population.sd)
        ax.fill_between(theta, 0.0, 0.25 * top * density / norm.pdf(0.0), color=PALE, alpha=0.7, linewidth=0)
        peak = 0.25 * top / population.sd
        if low < population.mean < high:
            name = plain(population.label) if len(populations) > 1 else "population"
            ax.annotate(name, (population.mean, 0.5 * peak), ha="center", va="center", color=GREY, fontsize=8)
    ax.plot(theta, total, color=BLUE, linewidth=1.8)
    ax.set_xlim(low, high)
    ax.set_ylim(0.0, top)
    ax.set_xlabel(_theta_label(calibration))
    ax.set_ylabel("Test information (solid)", color=BLUE)
    second = ax.twinx()
    with np.errstate(divide="ignore"):
        error = 1.0 / np.sqrt(total)
    second.plot(theta, np.where(error <= 1.5, error, np.nan), color=VERMILION, linestyle="--", linewidth=1.6)
    second.set_ylim(0.0, 1.5)
    second.set_ylabel("Standard error of θ (dashed)", color=VERMILION)
    second.spines["top"].set_visible(False)
    return ax


def group_distributions(calibration: Any, ax: Axes | None = None) -> Axes:
    """Draw the normal population of each group, with its mean and standard deviation.

    Parameters
    ----------
    calibration : Calibration
        What to draw.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib Axes
    """
    populations = _populations(calibration)
    if not populations:
        raise DataError("An item bank has no populations to draw. Pass the calibration that the bank came from.")
    ax = new_axes(ax, (4.6, 3.2))
    low = min(population.mean - 3.5 * population.sd for population in populations)
    high = max(population.mean + 3.5 * population.sd for population in populations)
    theta = np.linspace(low, high, 301)
    for order, population in enumerate(populations):
        colour, style = COLOURS[order % MAX_CURVES], LINE_STYLES[order % MAX_CURVES]
        density = norm.pdf(theta, population.mean, population.sd)
        label = f"{plain(population.label)}: mean {population.mean:.2f}, SD {population.sd:.2f}"
        ax.plot(theta, density, color=colour, linestyle=style, linewidth=1.6, label=label)
        ax.fill_between(theta, 0.0, density, color=colour, alpha=0.12, linewidth=0)
    ax.set_xlim(low, high)
    ax.set_ylim(0.0, None)
    ax.set_xlabel(_theta_label(calibration))
    ax.set_ylabel("Density")
    ax.legend(frameon=False, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), handlelength=2.6)
    return ax


def plain(label: Any) -> str:
    """Return a label from the data as text that matplotlib does not read as a formula."""
    return str(label).replace("$", r"\$")


def wrapped(label: Any, width: int) -> str:
    r"""Return a label as lines of at most so many characters, broken at spaces where there are any.

    Examples
    --------
    >>> wrapped("strategic surface learner", 18)
    'strategic surface\nlearner'
    """
    lines = [line for part in str(label).split("\n") for line in textwrap.wrap(part, width) or [part]]
    return plain("\n".join(lines))


def new_axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return the axes to draw on, those of a new figure of this size (inches) if None, without lines at the top and the right."""
    if ax is None:
        from matplotlib import pyplot

        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _bank(calibration: Any) -> Any:
    return getattr(calibration, "bank", calibration)


def _guessing(bank: Any) -> FloatArray | None:
    guessing = bank.guessing
    return None if guessing is None or not np.any(guessing) else np.asarray(guessing, dtype=np.float64)


def _positions(bank: Any, item: Any) -> list[int]:
    labels = pd.Index(bank.labels)
    single = isinstance(item, str) or not isinstance(item, Iterable) or (isinstance(item, tuple) and has_label(labels, item))
    wanted = [item] if single else list(item)
    unknown = [label for label in wanted if not has_label(labels, label)]
    if unknown:
        near = get_close_matches(str(unknown[0]), [str(label) for label in labels], n=3, cutoff=0.4)
        hint = f"Did you mean {', '.join(near)}?" if near else f"Items are {', '.join(str(label) for label in labels[:5])} ..."
        shown = ", ".join(repr(label) for label in unknown[:5])
        raise LabelError(f"{len(unknown)} of {len(wanted)} items are not in the bank: {shown}. {hint}")
    if not 1 <= len(wanted) <= MAX_CURVES:
        raise DataError(
            f"{len(wanted)} items were asked for in one figure; expected 1 to {MAX_CURVES}. Draw them on several axes."
        )
    return [int(labels.get_loc(label)) for label in wanted]


def _populations(calibration: Any) -> list[_Population]:
    groups = getattr(calibration, "groups", None)
    if groups is None:
        return []
    share = groups["n"] / groups["n"].sum()
    rows = zip(groups.index, groups["latent_mean"], groups["latent_sd"], share, strict=True)
    return [_Population(str(label), float(mean), float(sd), float(part)) for label, mean, sd, part in rows]


def _theta_label(calibration: Any) -> str:
    groups = getattr(calibration, "groups", None)
    if groups is None:
        return "Ability θ (scale of the item bank)"
    reference = calibration.reference_group
    at = groups.iloc[list(groups.index).index(reference)]  # by position: .loc takes a tuple for row and column
    if abs(at["latent_mean"]) > 1e-9 or abs(at["latent_sd"] - 1.0) > 1e-9:
        return "Ability θ (logits)"
    who = f"{plain(reference)}: " if len(groups) > 1 else "population: "
    return f"Ability θ ({who}mean 0, SD 1)"


def _eap(calibration: Any) -> FloatArray | None:
    """Return the EAP scores of the respondents that were fitted; None where there are no responses to score."""
    source = getattr(calibration, "source", None)
    if source is None:
        return None
    theta: FloatArray = np.asarray(calibration.scores("eap").theta, dtype=np.float64)[source.fitted]
    return theta[np.isfinite(theta)]


def _theta_range(populations: Sequence[_Population], places: Any, theta: FloatArray | None) -> tuple[float, float]:
    """Return a frame that holds the populations, the scores and most items, no wider than 6 on either side of them."""
    low = min([-3.5, *(population.mean - 3.2 * population.sd for population in populations)])
    high = max([3.5, *(population.mean + 3.2 * population.sd for population in populations)])
    outer_low, outer_high = min(low, -_LIMIT), max(high, _LIMIT)
    places = np.asarray(places, dtype=np.float64)
    values = [places] if theta is None else [places, theta]
    inside = np.concatenate([value[(value > outer_low) & (value < outer_high)] for value in values])
    if inside.size and theta is not None:
        low, high = min(low, float(inside.min()) - 0.3), max(high, float(inside.max()) + 0.3)
    return low, high


def _draw_respondents(
    ax: Axes, theta: FloatArray | None, populations: Sequence[_Population], limits: tuple[float, float]
) -> None:
    grid = np.linspace(*limits, 301)
    density = np.array([population.share * norm.pdf(grid, population.mean, population.sd) for population in populations])
    heights, edges = np.zeros(1), np.array([0.0, 1.0])
    if theta is not None and theta.size:
        heights, edges = np.histogram(theta, bins=np.arange(limits[0], limits[1] + 0.25, 0.25), density=True)
    top = 1.1 * max(float(heights.max()), float(density.max(initial=0.0)), 1e-12)
    if theta is not None and theta.size:
        middle = (edges[:-1] + edges[1:]) / 2.0
        label = f"EAP scores (n = {theta.size:,})"
        ax.barh(middle, -heights / top, height=0.9 * np.diff(edges), color=PALE, edgecolor="#A6A6A6", linewidth=0.5, label=label)
    for order, population in enumerate(populations):
        colour, style = COLOURS[order % MAX_CURVES], LINE_STYLES[order % MAX_CURVES]
        name = f"Population {plain(population.label)}" if len(populations) > 1 else "Population"
        ax.plot(-density[order] / top, grid, color=colour, linestyle=style, linewidth=1.4, label=name)
    if populations or (theta is not None and theta.size):
        ax.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, borderaxespad=0.2)


def _item_places(calibration: Any, bank: Any, response_probability: float | None) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return where each item stands, the standard error of that (nan where unknown) and whether it is flagged."""
    places = np.asarray(bank.difficulty, dtype=np.float64)
    errors, flagged = np.full(len(places), np.nan), np.zeros(len(places), dtype=bool)
    if hasattr(calibration, "groups"):  # a bank has neither standard errors of difficulties nor flags
        items = calibration.items
        errors = items["difficulty_se"].to_numpy(dtype=np.float64)
        flagged = np.array([bool({*str(text).split("; ")} - {"", "fixed"}) for text in items["flags"]], dtype=bool)
    if response_probability is not None:
        places = rp_locations(bank.discrimination, bank.intercept, _guessing(bank), response_probability)
        if bank.covariance is not None:
            errors = location_errors(bank.discrimination, places, bank.covariance)
    return places, errors, flagged


def _draw_items(
    ax: Axes, bank: Any, places: FloatArray, errors: FloatArray, flagged: BoolArray, limits: tuple[float, float]
) -> None:
    inside = (places > limits[0]) & (places < limits[1])
    shown = np.flatnonzero(inside)
    outside = np.flatnonzero(~inside)
    if outside.size:
        names = ", ".join(f"{plain(bank.labels[j])} ({places[j]:.1f})" for j in outside[:4])
        more = f" and {outside.size - 4} more" if outside.size > 4 else ""
        ax.text(1.25, limits[0], f"beyond the frame: {names}{more} ", ha="right", va="bottom", fontsize=7, color=VERMILION)
    if len(shown) > _MAX_LABELS:
        heights, edges = np.histogram(places[shown], bins=np.arange(limits[0], limits[1] + 0.2, 0.2))
        middle, top = (edges[:-1] + edges[1:]) / 2.0, max(1, int(heights.max()))
        ax.barh(middle, 1.1 * heights / top, height=0.9 * np.diff(edges), color=SKY, edgecolor=BLUE, linewidth=0.5)
        return
    shown = shown[np.argsort(places[shown], kind="stable")]
    labels = [plain(bank.labels[j]) for j in shown]
    size, columns, width = _label_columns(ax, places[shown], labels, limits)
    for j, label, column in zip(shown, labels, columns, strict=True):
        x = 0.06 + width * column
        colour = VERMILION if flagged[j] else BLUE
        if np.isfinite(errors[j]):
            ax.plot([x, x], places[j] + _Z95 * errors[j] * np.array([-1, 1]), color=colour, linewidth=0.7, alpha=0.55)
        ax.plot(x, places[j], "o", color=colour, markersize=3.2, markerfacecolor="white" if flagged[j] else colour)
        ax.text(x + 0.02, places[j], label, fontsize=size, va="center", color=colour if flagged[j] else "black")


def _label_columns(
    ax: Axes, difficulty: FloatArray, labels: Sequence[str], limits: tuple[float, float]
) -> tuple[float, list[int], float]:
    """Return the font size, the column of each label and the width of a column, so that labels do not overlap."""
    figure = ax.get_figure(root=True)
    box = ax.get_position()
    width_inches = float(figure.get_figwidth() * box.width) if figure is not None else 4.0
    height_inches = float(figure.get_figheight() * box.height) if figure is not None else 3.0
    longest = max((len(label) for label in labels), default=1)
    for size in (8.0, 7.0, 6.0, 5.0, 4.0):
        gap = 1.15 * size / 72.0 / height_inches * (limits[1] - limits[0])
        columns: list[int] = []
        last: list[float] = []
        for value in difficulty:
            free = next((index for index, top in enumerate(last) if value - top >= gap), len(last))
            if free == len(last):
                last.append(value)
            last[free] = float(value)
            columns.append(free)
        width = 0.05 + 0.62 * size * longest / 72.0 / width_inches * 2.25
        if 0.06 + width * len(last) <= 1.25:
            break
    return size, columns, min(width, 1.15 / max(1, len(last)))


def _draw_band(ax: Axes, bank: Any, position: int, theta: FloatArray, colour: str, alpha: float) -> None:
    if bank.covariance is None:
        return
    at = slice(2 * position, 2 * position + 2)
    block = np.asarray(bank.covariance, dtype=np.float64)[at, at]
    if not np.all(np.isfinite(block)):
        return
    design = np.stack([theta, np.ones_like(theta)], axis=1)
    error = np.sqrt(np.maximum(np.einsum("qi,ij,qj->q", design, block, design), 0.0))
    eta = bank.discrimination[position] * theta + bank.intercept[position]
    guessing = _guessing(bank)
    guess = 0.0 if guessing is None else float(guessing[position])
    low, high = (guess + (1.0 - guess) * expit(eta + sign * _Z95 * error) for sign in (-1.0, 1.0))
    ax.fill_between(theta, low, high, color=colour, alpha=alpha, linewidth=0)


def _observed(calibration: Any, bank: Any, positions: Sequence[int], n_groups: int) -> Any:
    data = _fitted_data(calibration)
    if data is None:
        return None
    scored, mean, sd, weights = data
    return empirical_curves(
        positions,
        scored,
        bank.discrimination,
        bank.intercept,
        _guessing(bank),
        prior_mean=mean,
        prior_sd=sd,
        weights=weights,
        n_groups=n_groups,
    )


def _fitted_data(calibration: Any) -> tuple[CodeArray, FloatArray, FloatArray, FloatArray | None] | None:
    """Return scores, prior means and SDs, and weights of the respondents that were fitted, if the calibration holds them."""
    source = getattr(calibration, "source", None)
    if source is None:
        return None
    fitted = slice(None) if source.fitted.all() else source.fitted
    population = source.population[fitted]
    weights = None if source.weights is None else source.weights[fitted]
    mean, sd = np.asarray(calibration.latent_mean)[population], np.asarray(calibration.latent_sd)[population]
    return source.responses.scored()[fitted], mean, sd, weights
