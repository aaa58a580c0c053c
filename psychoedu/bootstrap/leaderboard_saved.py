"""Leaderboards, and statements about the lowest group, as plain content of a JSON file, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray
from psychoedu.bootstrap.corrections import CORRECTIONS
from psychoedu.bootstrap.design import MISSING_POLICIES
from psychoedu.bootstrap.intervals import METHODS
from psychoedu.bootstrap.leaderboard_results import CORRELATION_COLUMNS, SAMPLING_COLUMNS
from psychoedu.bootstrap.plan import WEIGHTINGS
from psychoedu.bootstrap.rank_correlation import COEFFICIENTS
from psychoedu.bootstrap.serialise import seed_from
from psychoedu.persistence import Fields, encode_numbers, plain_label

if TYPE_CHECKING:
    from psychoedu.bootstrap.leaderboard_results import Leaderboard
    from psychoedu.bootstrap.lowest_results import Lowest

NO_METHOD = "none"
_COUNTS = ("n_models", "n_undefined")
_ARRAYS = ("stage_weights", "scores", "overall", "ranks", "ranks_by_stage")


def common_to_dict(found: Leaderboard | Lowest) -> dict[str, Any]:
    """Plain content of what every result from resampled group means says about how it was made."""
    return {
        "models": [plain_label(label) for label in found.models],
        "sizes": {str(label): int(n) for label, n in found.sizes.items()},
        "n_missing": found.n_missing.tolist(),
        **{name: getattr(found, name) for name in ("n_resamples", "n_failed", "confidence_level", "correction", "weighting")},
        "missing": found.missing,
        "fewest_clusters": found.fewest_clusters,
        "seed": str(found.seed),
        "cluster_word": found.cluster_word,
        "diagnostics": list(found.diagnostics),
        "version": found.version,
    }


def common_arguments(fields: Fields) -> dict[str, Any]:
    """Read back what :func:`common_to_dict` wrote."""
    models = pd.Index(fields.labels("models"), name="model", tupleize_cols=False)
    sizes = fields.part("sizes")
    counts = [sizes.integer(name, 1) for name in sizes.content]
    return {
        "models": models,
        "sizes": pd.Series(
            counts, index=pd.Index(list(sizes.content), name="stratum", dtype=object), name="n_clusters", dtype=np.int64
        ),
        "n_missing": pd.Series(fields.integers("n_missing", len(models), 0), index=models, name="n_missing"),
        "n_resamples": fields.integer("n_resamples"),
        "n_failed": fields.integer("n_failed"),
        "confidence_level": fields.number("confidence_level", above=0.0, high=1.0),
        "correction": None if fields.is_none("correction") else fields.text("correction", CORRECTIONS),
        "weighting": fields.text("weighting", WEIGHTINGS),
        "missing": fields.text("missing", MISSING_POLICIES),
        "fewest_clusters": fields.integer("fewest_clusters"),
        "seed": seed_from(fields),
        "cluster_word": fields.text("cluster_word"),
        "diagnostics": fields.texts("diagnostics"),
        "version": fields.text("version"),
    }


def leaderboard_to_dict(board: Leaderboard) -> dict[str, Any]:
    """Plain content of a leaderboard."""
    table, better = board.table, board.recommended
    content = {
        "stages": [plain_label(label) for label in board.stages],
        "weighting_of_stages": board.weighting_of_stages,
        "method": board.method,
        **{name: encode_numbers(getattr(board, name)) for name in _ARRAYS},
        **common_to_dict(board),
        "sampling": {name: encode_numbers(table[name].to_numpy()) for name in SAMPLING_COLUMNS},
        "rank_probabilities": encode_numbers(board.rank_probabilities.to_numpy()),
        "probability_above": encode_numbers(board.probability_above.to_numpy()),
        "stage_errors": encode_numbers(board.stage_errors.to_numpy()),
        "reliability": encode_numbers(board.reliability.to_numpy()),
        "recommended": {
            "low": encode_numbers(better["low"].to_numpy()),
            "high": encode_numbers(better["high"].to_numpy()),
            "method": list(better["method"]),
        },
    }
    if len(board.stages) > 1:
        rows = board.rank_correlations()
        content["correlations"] = {
            name: rows[name].tolist() if name in _COUNTS else encode_numbers(rows[name].to_numpy())
            for name in CORRELATION_COLUMNS
        }
    return content


def leaderboard_arguments(content: dict[str, Any]) -> dict[str, Any]:
    """Arguments of ``Leaderboard`` from plain content, each field checked."""
    fields = Fields(content)
    common = common_arguments(fields)
    models: pd.Index = common["models"]
    stages = pd.Index(fields.labels("stages"), name="stage", tupleize_cols=False)
    n, t = len(models), len(stages)
    shapes = {"stage_weights": (t,), "scores": (n, t), "overall": (n,), "ranks": (n,), "ranks_by_stage": (n, t)}
    sampling = fields.part("sampling")
    frame = pd.DataFrame({name: _numbers(sampling, name, n) for name in SAMPLING_COLUMNS}, index=models)
    better = fields.part("recommended")
    methods = better.texts("method")
    if len(methods) != n or not set(methods) <= {*METHODS, NO_METHOD}:
        better.refuse("method", f"{n} of {', '.join((*METHODS, NO_METHOD))}")
    return {
        **common,
        "stages": stages,
        "weighting_of_stages": fields.text("weighting_of_stages"),
        "method": fields.text("method", (*METHODS, NO_METHOD)),
        **{name: _numbers(fields, name, *shape) for name, shape in shapes.items()},
        "limits": np.stack([frame["low"].to_numpy(), frame["high"].to_numpy()]),
        "robust_standard_error": frame["robust_standard_error"].to_numpy(),
        "stored": {
            "sampling": frame,
            "rank_probabilities": _numbers(fields, "rank_probabilities", n, n),
            "probability_above": _numbers(fields, "probability_above", n, n),
            "stage_errors": _numbers(fields, "stage_errors", n, t),
            "reliability": _numbers(fields, "reliability", t),
            "recommended": pd.DataFrame(
                {"low": _numbers(better, "low", n), "high": _numbers(better, "high", n), "method": list(methods)}, index=models
            ),
            "correlations": _correlations(fields, stages),
        },
    }


def _numbers(fields: Fields, name: str, *shape: int) -> FloatArray:
    return fields.numbers(name, *shape, missing=True, infinite=True)


def _correlations(fields: Fields, stages: pd.Index) -> pd.DataFrame:
    if len(stages) < 2:
        return pd.DataFrame(columns=list(CORRELATION_COLUMNS))
    part = fields.part("correlations")
    labels = [
        (stages[first], stages[second], name)
        for first in range(len(stages))
        for second in range(first + 1, len(stages))
        for name in COEFFICIENTS
    ]
    columns = {
        name: part.integers(name, len(labels), 0) if name in _COUNTS else _numbers(part, name, len(labels))
        for name in CORRELATION_COLUMNS
    }
    return pd.DataFrame(columns, index=pd.MultiIndex.from_tuples(labels, names=["first", "second", "coefficient"]))


_LOWEST_ARRAYS = {"scores": "gm", "shares": "gm", "probability_focal": "m", "distribution": "k", "counts": "g", "tied": "g"}


def lowest_to_dict(found: Lowest) -> dict[str, Any]:
    """Plain content of a statement about the lowest group."""
    return {
        "groups": [plain_label(label) for label in found.groups],
        "focal": plain_label(found.focal),
        "by": found.by,
        "tie": found.tie,
        **{name: encode_numbers(getattr(found, name)) for name in (*_LOWEST_ARRAYS, "count_limits", "count_means", "pooled")},
        **common_to_dict(found),
    }


def lowest_arguments(content: dict[str, Any]) -> dict[str, Any]:
    """Arguments of ``Lowest`` from plain content, each field checked."""
    fields = Fields(content)
    common = common_arguments(fields)
    groups = pd.Index(fields.labels("groups"), name="stratum", tupleize_cols=False)
    n, g = len(common["models"]), len(groups)
    sizes = {"g": g, "m": n, "k": n + 1}
    return {
        **common,
        "groups": groups,
        "focal": fields.label("focal", list(groups)),
        "by": fields.text("by"),
        "tie": fields.number("tie", low=0.0),
        **{name: _numbers(fields, name, *(sizes[axis] for axis in axes)) for name, axes in _LOWEST_ARRAYS.items()},
        "count_limits": _numbers(fields, "count_limits", 2, g),
        "count_means": _numbers(fields, "count_means", g),
        "pooled": _numbers(fields, "pooled", g),
    }
