"""A contrast as plain JSON content and back, exact to the bit; the rewards stay out of it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from psychoedu.bootstrap.corrections import CORRECTIONS
from psychoedu.bootstrap.described import BOUNDARY_COLUMNS
from psychoedu.bootstrap.design import MISSING_POLICIES
from psychoedu.bootstrap.intervals import METHODS
from psychoedu.bootstrap.plan import MIXED, WEIGHTINGS, WITHIN
from psychoedu.exceptions import FileFormatError
from psychoedu.persistence import Fields, encode_number, encode_numbers, plain_label

if TYPE_CHECKING:
    from psychoedu.bootstrap.results import Contrast, Interval

_NUMBERS = (
    "estimate", "focal_mean", "comparison_mean", "standard_error", "robust_standard_error", "closed_form_standard_error",
    "df", "p_value",
)  # fmt: skip
MODEL_COLUMNS = (
    "focal_mean", "comparison_mean", "estimate", "standard_error", "low", "high", "p_value", "p_holm",
)  # fmt: skip


def contrast_to_dict(contrast: Contrast) -> dict[str, Any]:
    """Plain content of a contrast."""
    strata, models = contrast.strata, contrast.models
    mean = "mean_difference" if contrast.paired else "mean"
    return {
        **{name: encode_number(getattr(contrast, name)) for name in _NUMBERS},
        "interval": interval_to_dict(contrast.interval),
        "recommended_interval": interval_to_dict(contrast.recommended_interval),
        "resamples": encode_numbers(contrast.resamples),
        "strata": {
            "labels": [plain_label(label) for label in strata.index],
            "side": list(strata["side"]),
            "n_clusters": strata["n_clusters"].tolist(),
            "n_cells": strata["n_cells"].tolist(),
            "mean": encode_numbers(strata[mean].to_numpy()),
            "drawn": list(strata["drawn"]),
        },
        "models": {
            "labels": [plain_label(label) for label in models.index],
            "n_missing": contrast.missing["n_missing"].tolist(),
            **{name: encode_numbers(models[name].to_numpy()) for name in MODEL_COLUMNS},
        },
        "recommended_models": {
            "low": encode_numbers(contrast.recommended_models["low"].to_numpy()),
            "high": encode_numbers(contrast.recommended_models["high"].to_numpy()),
            "method": list(contrast.recommended_models["method"]),
        },
        "boundary": {str(side): encode_numbers(row.to_numpy()) for side, row in contrast.boundary.iterrows()},
        "boundary_models": {
            "models": [plain_label(label) for label, _ in contrast.boundary_models.index],
            "sides": [side for _, side in contrast.boundary_models.index],
            **{name: encode_numbers(contrast.boundary_models[name].to_numpy()) for name in BOUNDARY_COLUMNS},
        },
        "focal": contrast.focal,
        "comparison": contrast.comparison,
        "n_resamples": contrast.n_resamples,
        "n_failed": contrast.n_failed,
        "confidence_level": contrast.confidence_level,
        "seed": str(contrast.seed),
        "diagnostics": list(contrast.diagnostics),
        "options": dict(contrast.options),
        "version": contrast.version,
    }


def contrast_arguments(content: dict[str, Any]) -> dict[str, Any]:
    """Arguments of ``Contrast`` from plain content, each field checked."""
    fields = Fields(content)
    options = _options(fields)
    level = fields.number("confidence_level", above=0.0, high=1.0)
    models = fields.part("models")
    labels = _index(models, "model")
    frame = pd.DataFrame(
        {name: models.numbers(name, len(labels), missing=True, infinite=True) for name in MODEL_COLUMNS}, index=labels
    )
    n_resamples = fields.integer("n_resamples", 1)
    n_failed = fields.integer("n_failed")
    if n_failed >= n_resamples:
        fields.refuse("n_failed", f"below n_resamples, {n_resamples:,}")
    numbers = {name: fields.number(name, missing=True, infinite=True) for name in _NUMBERS}
    for name in ("standard_error", "robust_standard_error", "closed_form_standard_error", "df", "p_value"):
        if numbers[name] < 0.0 or (name == "p_value" and numbers[name] > 1.0):
            fields.refuse(name, "a number from 0 to 1" if name == "p_value" else "a number of at least 0")
    gap = numbers["comparison_mean"] - numbers["focal_mean"]
    if abs(numbers["estimate"] - gap) > 1e-9 * max(1.0, abs(numbers["comparison_mean"]), abs(numbers["focal_mean"])):
        fields.refuse("estimate", f"comparison_mean less focal_mean, {gap:g}")
    return {
        **numbers,
        "interval": interval_from(fields.part("interval"), level),
        "resamples": fields.numbers("resamples", n_resamples - n_failed, missing=True),
        "focal": fields.text("focal"),
        "comparison": fields.text("comparison"),
        "n_resamples": n_resamples,
        "n_failed": n_failed,
        "confidence_level": level,
        "seed": seed_from(fields),
        "diagnostics": fields.texts("diagnostics"),
        "options": options,
        "version": fields.text("version"),
        "stored": {
            "models": frame,
            "recommended_interval": interval_from(fields.part("recommended_interval"), level),
            "recommended_models": _recommended_models(fields.part("recommended_models"), labels),
            "strata": _strata(fields.part("strata"), bool(options["paired"])),
            "missing": pd.DataFrame({"n_missing": models.integers("n_missing", len(labels), 0)}, index=labels),
            "boundary": _boundary(fields.part("boundary")),
            "boundary_models": _boundary_models(fields.part("boundary_models"), labels),
        },
    }


def interval_to_dict(interval: Interval) -> dict[str, Any]:
    """Plain content of an interval."""
    return {
        "low": encode_number(interval.low),
        "high": encode_number(interval.high),
        "method": interval.method,
        "correction": interval.correction,
        "note": interval.note,
    }


def interval_from(fields: Fields, level: float) -> Interval:
    """Read an interval."""
    from psychoedu.bootstrap.results import Interval

    correction = None if fields.is_none("correction") else fields.text("correction", CORRECTIONS)
    low = fields.number("low", missing=True, infinite=True)
    high = fields.number("high", missing=True, infinite=True)
    if low > high:
        fields.refuse("high", f"at least low, {low:g}")
    return Interval(low, high, level, fields.text("method", METHODS), correction, fields.text("note"))


def seed_from(fields: Fields) -> int:
    """Read a seed, which is text, since it may have more digits than JSON numbers keep."""
    text = fields.text("seed")
    if not (text.isascii() and text.isdigit()):
        fields.refuse("seed", "the digits of a whole number")
    return int(text)


def _index(fields: Fields, name: str) -> pd.Index:
    labels: list[Hashable] = list(fields.labels("labels"))
    return pd.Index(labels, name=name, tupleize_cols=False)


def _strata(fields: Fields, paired: bool) -> pd.DataFrame:
    labels = _index(fields, "stratum")
    size = len(labels)
    side, drawn = fields.texts("side"), fields.texts("drawn")
    if len(side) != size or len(drawn) != size:
        fields.refuse("side" if len(side) != size else "drawn", f"{size} texts")
    return pd.DataFrame(
        {
            "side": pd.array(list(side)),
            "n_clusters": fields.integers("n_clusters", size, 1),
            "n_cells": fields.integers("n_cells", size, 0),
            "mean_difference" if paired else "mean": fields.numbers("mean", size, missing=True),
            "drawn": pd.array(list(drawn)),
        },
        index=labels,
    )


def _recommended_models(fields: Fields, labels: pd.Index) -> pd.DataFrame:
    limits = {name: fields.numbers(name, len(labels), missing=True, infinite=True) for name in ("low", "high")}
    methods = fields.texts("method")
    if len(methods) != len(labels) or not set(methods) <= set(METHODS):
        fields.refuse("method", f"{len(labels)} of {', '.join(METHODS)}")
    return pd.DataFrame({**limits, "method": list(methods)}, index=labels)


def _boundary(fields: Fields) -> pd.DataFrame:
    rows = {side: fields.numbers(side, len(BOUNDARY_COLUMNS)) for side in fields.content}
    if set(rows) - {"focal", "comparison"}:
        raise FileFormatError("its field 'boundary' holds another side than focal and comparison.")
    frame = pd.DataFrame(
        [rows[side] for side in rows], columns=list(BOUNDARY_COLUMNS), index=pd.Index(list(rows), name="side", dtype=object)
    )
    return frame.astype({"n_clusters": np.int64})


def _boundary_models(fields: Fields, labels: pd.Index) -> pd.DataFrame:
    models, sides = fields.repeated_labels("models"), fields.texts("sides")
    if not set(models) <= set(labels):
        fields.refuse("models", "models of the contrast")
    if len(sides) != len(models) or not set(sides) <= {"focal", "comparison"}:
        fields.refuse("sides", f"{len(models)} of focal and comparison")
    columns = {name: fields.numbers(name, len(models), low=0.0) for name in BOUNDARY_COLUMNS}
    index = pd.MultiIndex.from_arrays([models, list(sides)], names=["model", "side"])
    return pd.DataFrame(columns, index=index).astype({"n_clusters": np.int64})


def _options(fields: Fields) -> dict[str, Any]:
    options = fields.part("options")
    options.text("method", METHODS)
    if not options.is_none("correction"):
        options.text("correction", CORRECTIONS)
    options.text("weighting", WEIGHTINGS)
    options.text("resample_within", (*WITHIN, MIXED))
    options.flag("weighted_sides")
    options.text("missing", MISSING_POLICIES)
    options.flag("paired")
    options.integer("fewest_clusters", 1)
    names = options.part("names")
    for name in names.content:
        names.text(name)
    return dict(options.content)
