"""Figures of a diagnosis: mastery, prevalence, item responses, higher-order curves, model comparison, mesa plot.

Each function draws on ``ax`` (a new one if None) and returns the axes; none shows or saves anything. Colours are those of Okabe
and Ito (2008) and matplotlib's cividis, which people with colour-blindness tell apart; shapes and line styles differ as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from psychoedu._typing import FloatArray
from psychoedu.cdm.fitted import fitted_arrays
from psychoedu.exceptions import DataError, LabelError
from psychoedu.plots import BLUE, COLOURS, GREY, LINE_STYLES, MAX_CURVES, PALE, VERMILION, new_axes, plain
from psychoedu.validation import check_choice, check_probability, listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_Z95 = 1.959963984540054
_MAX_ROWS = 60
_GAP = 0.35
_MAX_VECTORS = 31


def mastery_heatmap(mastery: Any, ax: Axes | None = None, threshold: float = 0.5, annotate: bool | None = None) -> Axes:
    """Draw mastery probabilities of models (or learners) by attribute, conditions side by side.

    Parameters
    ----------
    mastery : DataFrame, Diagnosis, or mapping of condition to either
        Rows are respondents, columns attributes. The conditions' rows are matched by label, in the order of the first condition;
        a row that a condition lacks stays empty.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.
    threshold : float, default 0.5
        Cells strictly above it are mastered: their number is bold.
    annotate : bool, optional
        Write the probabilities; by default if there is room.

    Returns
    -------
    matplotlib Axes
    """
    threshold = check_probability(threshold, "threshold")
    frames = _conditions(mastery)
    attributes = list(next(iter(frames.values())).columns)
    rows = list(dict.fromkeys(label for frame in frames.values() for label in frame.index))
    if not 1 <= len(rows) <= _MAX_ROWS:
        raise DataError(
            f"{len(rows)} respondents in one heat map; expected 1 to {_MAX_ROWS}. Pass some rows, as in mastery.loc[labels]."
        )
    widest = max(len(str(label)) for label in rows)
    width = 0.095 * widest + 0.9 + 0.62 * len(attributes) * len(frames) + 0.2 * len(frames)
    ax = new_axes(ax, (max(4.0, width), 1.5 + 0.27 * len(rows)))
    annotate = len(rows) <= 40 if annotate is None else annotate
    ticks, image = [], None
    for order, (condition, frame) in enumerate(frames.items()):
        left = order * (len(attributes) + _GAP)
        cells = frame.reindex(index=rows, columns=attributes).to_numpy(dtype=np.float64)
        edges = left + np.arange(len(attributes) + 1)
        image = ax.pcolormesh(
            edges, np.arange(len(rows) + 1), np.ma.masked_invalid(cells), cmap="cividis", vmin=0.0, vmax=1.0,
            edgecolors="white", linewidth=1.0,
        )  # fmt: skip
        ticks += list(edges[:-1] + 0.5)
        if len(frames) > 1:
            ax.text(left + len(attributes) / 2.0, -0.25, plain(condition), ha="center", va="bottom", fontsize=9)
        if annotate:
            _write_cells(ax, cells, left, threshold)
    ax.set_xlim(0.0, len(frames) * (len(attributes) + _GAP) - _GAP)
    ax.set_ylim(len(rows), 0.0)
    ax.set_xticks(ticks, [plain(label) for label in attributes] * len(frames), rotation=40, ha="right", rotation_mode="anchor")
    ax.set_yticks(np.arange(len(rows)) + 0.5, [plain(label) for label in rows])
    ax.tick_params(length=0, labelsize=8)
    ax.spines[:].set_visible(False)
    figure = ax.get_figure()
    if figure is not None and image is not None:
        bar = figure.colorbar(image, ax=ax, fraction=0.045, pad=0.02)
        bar.set_label("Mastery probability", fontsize=8)
        bar.ax.tick_params(labelsize=8)
        bar.ax.axhline(threshold, color="white", linewidth=1.2)
    return ax


def attribute_prevalence(diagnosis: Any, ax: Axes | None = None) -> Axes:
    """Draw how common each attribute is: under the model, and among those classified.

    Parameters
    ----------
    diagnosis : Diagnosis
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    Bars: probability of the attribute under the estimated structure. Diamonds: share of the fitted respondents with a mastery
    probability above 1/2, which is pulled away from the bar where the attribute is measured by little.
    """
    prior = np.atleast_2d(np.asarray(diagnosis.prior, dtype=np.float64))
    prevalence = prior @ np.asarray(diagnosis.alpha)
    labels, groups = list(diagnosis.attribute_labels), list(diagnosis.group_labels)
    ax = new_axes(ax, (max(3.4, 1.2 + 0.75 * len(labels) * (1.0 + 0.4 * (len(groups) - 1))), 3.2))
    place, width = np.arange(len(labels)), 0.7 / len(groups)
    for order, label in enumerate(groups):
        at = place + width * (order - (len(groups) - 1) / 2.0)
        shade = _blend(0.35 + 0.45 * order / max(1, len(groups) - 1))
        name = "model" if len(groups) == 1 else f"model: {plain(label)}"
        ax.bar(at, prevalence[order], width=0.94 * width, color=shade, edgecolor=BLUE, linewidth=0.8, label=name)
        for x, value in zip(at, prevalence[order], strict=True):
            ax.text(float(x), 0.015, f"{value:.2f}", ha="center", va="bottom", fontsize=8 if len(groups) == 1 else 7)
    if diagnosis.source is not None:
        fitted = fitted_arrays(diagnosis, "attribute_prevalence()")
        mastery = np.asarray(diagnosis.mastery, dtype=np.float64)[fitted.rows]
        share = np.average(mastery > 0.5, axis=0, weights=fitted.weights)
        share[np.isnan(mastery).any(axis=0)] = np.nan  # withheld
        ax.plot(place, share, "D", color=VERMILION, markersize=5, markeredgecolor="white", label="classified as masters")
    ax.legend(frameon=False, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    ax.set_xticks(place, [plain(label) for label in labels], rotation=0 if len(labels) <= 6 else 40)
    ax.set_ylim(0.0, 1.0)
    ax.set_ylabel("Proportion of masters")
    return ax


def item_responses(diagnosis: Any, item: Any, ax: Axes | None = None) -> Axes:
    """Draw an item's probability of a right answer by reduced profile, with 95% intervals.

    Parameters
    ----------
    diagnosis : Diagnosis
    item : label
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    Intervals are made on the logit (delta method), so they stay inside 0 and 1. Hatched: a profile without a standard error
    (a probability on its bound, or an empty profile).
    """
    table = diagnosis.items
    rows = table[table["item"] == item]
    if rows.empty:
        raise LabelError(f"{item!r} is not an item of this diagnosis. Items are {listed(list(diagnosis.item_labels))}.")
    probability = rows["probability"].to_numpy(dtype=np.float64)
    error = rows["se"].to_numpy(dtype=np.float64)
    profiles = [str(label) for label in rows["profile"]]
    ax = new_axes(ax, (max(3.0, 1.2 + 0.55 * len(profiles)), 3.2))
    known = np.isfinite(error) & (error > 0) & (probability > 0) & (probability < 1)
    place = np.arange(len(profiles))
    ones = np.array([label.count("1") for label in profiles])
    shades = [_blend(0.25 + 0.65 * share) for share in ones / max(1, int(ones.max()))]
    bars = ax.bar(place, probability, width=0.66, color=shades, edgecolor=BLUE, linewidth=0.8)
    for bar, has in zip(bars, known, strict=True):
        if not has:
            bar.set_hatch("///")
    low, high = _logit_interval(probability[known], error[known])
    spread = np.abs(np.stack([probability[known] - low, high - probability[known]]))
    ax.errorbar(place[known], probability[known], yerr=spread, fmt="none", ecolor="black", elinewidth=1.0, capsize=2.5)
    ax.set_xticks(place, profiles, rotation=0 if len(profiles) <= 8 else 60)
    ax.set_ylim(0.0, 1.0)
    ax.set_xlabel(_required_text(diagnosis, item))
    ax.set_ylabel("Probability of a right answer")
    ax.set_title(plain(item), fontsize=10)
    return ax


def higher_order_curves(diagnosis: Any, ax: Axes | None = None) -> Axes:
    """Draw the probability of each attribute over the higher-order ability.

    Parameters
    ----------
    diagnosis : Diagnosis
        With a higher-order structure.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    Grey: the population of the ability, N(0, 1) unless there are groups, without a scale.
    """
    structure = diagnosis.structure
    if not {"slope", "intercept"} <= set(structure.columns):
        raise DataError(f"The structure is {diagnosis.structure_name!r}, which has no curves. Fit with structure='higher-order'.")
    ax = new_axes(ax, (4.8, 3.4))
    theta = np.linspace(-4.0, 4.0, 241)
    means, sds = np.asarray(diagnosis.group_means, dtype=np.float64), np.asarray(diagnosis.group_sds, dtype=np.float64)
    for mean, sd in {(float(mean), float(sd)) for mean, sd in zip(means, sds, strict=True)}:
        density = np.exp(-0.5 * ((theta - mean) / sd) ** 2) / sd
        ax.fill_between(theta, 0.0, 0.22 * density, color=PALE, alpha=0.8, linewidth=0)
    for order, (label, row) in enumerate(structure.iterrows()):
        curve = expit(float(row["slope"]) * theta + float(row["intercept"]))
        colour, style = COLOURS[order % MAX_CURVES], LINE_STYLES[order % MAX_CURVES]
        ax.plot(theta, curve, color=colour, linestyle=style, linewidth=1.6, label=plain(label))
    ax.set_xlim(-4.0, 4.0)
    ax.set_ylim(0.0, 1.0)
    one = len(means) == 1
    ax.set_xlabel(f"Higher-order ability θ ({'population' if one else plain(diagnosis.group_labels[0])}: mean 0, SD 1)")
    ax.set_ylabel("Probability of mastery")
    ax.legend(frameon=False, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=min(4, len(structure)))
    return ax


def model_comparison(table: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw AIC and BIC of models as differences from the smallest of each.

    Parameters
    ----------
    table : DataFrame by model
        With columns aic, bic and n_parameters, as :func:`psychoedu.cdm.compare` returns.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib Axes
    """
    missing = {"aic", "bic"} - set(table.columns)
    if missing:
        raise DataError(f"The table has no {' and no '.join(sorted(missing))}. Pass what pe.cdm.compare returns.")
    names = [plain(label) for label in table.index]
    if "n_parameters" in table.columns:
        names = [f"{name}  ({int(count)})" for name, count in zip(names, table["n_parameters"], strict=True)]
    ax = new_axes(ax, (4.8, 1.3 + 0.36 * len(names)))
    place = np.arange(len(names))
    for offset, column, colour, marker in ((-0.14, "aic", BLUE, "o"), (0.14, "bic", VERMILION, "s")):
        values = table[column].to_numpy(dtype=np.float64)
        difference = values - np.nanmin(values)
        ax.hlines(place + offset, 0.0, difference, color=colour, linewidth=1.2, alpha=0.6)
        best = int(np.nanargmin(values))
        ax.plot(
            difference,
            place + offset,
            marker,
            color=colour,
            markersize=5,
            label=f"{column.upper()} (least: {plain(table.index[best])})",
        )
    ax.axvline(0.0, color=GREY, linewidth=0.8)
    ax.set_yticks(place, names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlabel("Difference from the smallest")
    if "n_parameters" in table.columns:
        ax.set_ylabel("Model (parameters)")
    ax.legend(frameon=False, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return ax


def mesa(validation: Any, item: Any, ax: Axes | None = None, which: str = "best") -> Axes:
    """Draw the mesa plot of an item: PVAF of q-vectors, in the order of PVAF.

    Parameters
    ----------
    validation : QValidation
    item : label
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.
    which : {"best", "all"}
        The best q-vector of each size with the given one, or all (at most 31).

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    The right q-vector stands at the edge of the mesa: the smallest after which PVAF hardly rises. Orange-red: the given one.
    """
    which = check_choice(which, ("best", "all"), "which")
    rows = validation.mesa_of(item)
    if not np.isfinite(rows["pvaf"]).any():
        raise DataError(f"Item {item!r} does not tell profiles apart, so that no q-vector accounts for anything.")
    if which == "best":
        rows = rows[rows["best"] | rows["given"]]
    if len(rows) > _MAX_VECTORS:
        raise DataError(f"{len(rows)} q-vectors in one mesa plot; expected at most {_MAX_VECTORS}. Use which='best'.")
    rows = rows.sort_values(["pvaf", "n_attributes"], kind="stable")
    ax = new_axes(ax, (max(3.4, 1.2 + 0.42 * len(rows)), 3.2))
    place, value = np.arange(len(rows)), rows["pvaf"].to_numpy(dtype=np.float64)
    given = rows["given"].to_numpy(dtype=bool)
    ax.plot(place, value, "-", color=BLUE, linewidth=1.2)
    ax.plot(place[~given], value[~given], "o", color=BLUE, markersize=5)
    ax.plot(place[given], value[given], "D", color=VERMILION, markersize=7, label="given")
    names = {"pvaf": "fixed cut", "pvaf_predicted": "predicted cut"}
    for (name, cut), style in zip(validation.cuts.items(), ("--", ":"), strict=False):
        ax.axhline(cut, color=GREY, linestyle=style, linewidth=1.0, label=f"{names.get(name, name)} {cut:.2f}")
    ax.set_xticks(place, list(rows["q_vector"]), rotation=0 if len(rows) <= 6 else 60)
    ax.set_ylim(0.0, 1.05)
    ax.set_xlabel("q-vector")
    ax.set_ylabel("PVAF")
    ax.set_title(plain(item), fontsize=10)
    ax.legend(frameon=False, fontsize=8, loc="lower right")
    return ax


def _conditions(mastery: Any) -> dict[Any, pd.DataFrame]:
    """Return tables of mastery by condition, all with the same attributes and labels that name one row."""
    named = mastery if isinstance(mastery, Mapping) else {"": mastery}
    frames = {key: value if isinstance(value, pd.DataFrame) else value.mastery for key, value in named.items()}
    if not frames:
        raise DataError("There is no condition to draw. Pass a table of mastery probabilities, or a mapping of them.")
    attributes = list(next(iter(frames.values())).columns)
    for condition, frame in frames.items():
        if set(frame.columns) != set(attributes):
            raise LabelError(
                f"Condition {condition!r} has the attributes {listed(list(frame.columns))}, others have {listed(attributes)}."
            )
        if not frame.index.is_unique:
            doubled = list(frame.index[frame.index.duplicated()].unique())
            raise LabelError(f"{len(doubled)} labels stand for several rows: {listed(doubled)}. Pass one condition at a time.")
    return frames


def _write_cells(ax: Axes, cells: FloatArray, left: float, threshold: float) -> None:
    for (row, column), value in np.ndenumerate(cells):
        if np.isfinite(value):
            ax.text(
                left + column + 0.5,
                row + 0.5,
                _short(float(value)),
                ha="center",
                va="center",
                fontsize=7,
                color="black" if value > 0.6 else "white",
                fontweight="bold" if value > threshold else "normal",
            )


def _short(value: float) -> str:
    """Write a probability with two digits, never as 0 or 1 (which it is not)."""
    if value < 0.005:
        return "<.01"
    if value > 0.995:
        return ">.99"
    return f"{value:.2f}".lstrip("0")


def _blend(share: float) -> tuple[float, float, float]:
    """Return blue on white, the more the darker."""
    blue = np.array([0.0, 114.0, 178.0]) / 255.0
    red, green, last = 1.0 - share * (1.0 - blue)
    return float(red), float(green), float(last)


def _logit_interval(probability: FloatArray, error: FloatArray) -> tuple[FloatArray, FloatArray]:
    centre, half = logit(probability), _Z95 * error / (probability * (1.0 - probability))
    return expit(centre - half), expit(centre + half)


def _required_text(diagnosis: Any, item: Any) -> str:
    row = diagnosis.q_matrix.frame.loc[item]
    names = [plain(label) for label, value in row.items() if value == 1]
    return f"Profile ({', '.join(names)})"
