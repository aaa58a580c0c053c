"""A calibration as plain JSON content and back, exact to the bit; the responses stay out of it."""

from __future__ import annotations

import math
from dataclasses import asdict
from dataclasses import fields as dataclass_fields
from typing import TYPE_CHECKING, Any

import numpy as np

from psychoedu._typing import FloatArray
from psychoedu.irt.bank_table import AGREEMENT
from psychoedu.irt.classical import ClassicalItems
from psychoedu.irt.covariance import METHODS
from psychoedu.persistence import Fields, decode_number, decode_numbers, encode_number, encode_numbers, plain_label
from psychoedu.validation import listed

if TYPE_CHECKING:
    from psychoedu.irt.results import Calibration

_NUMBERS = ("discrimination", "intercept", "difficulty", "latent_mean", "latent_sd", "group_n", "log_likelihood_trace")
_PLAIN = ("model", "n_parameters", "converged", "n_iterations", "version", "options", "data_summary")
MODELS = ("2pl", "1pl", "rasch")
RELIABILITIES = ("alpha", "marginal", "empirical")
LARGEST_ASYMMETRY = 0.01
"""Of a covariance, in standard errors: far above the rounding of a sandwich, far below a number that was changed."""
_SINGLE = ("log_likelihood", "n_respondents", "remaining_gain")


def calibration_to_dict(calibration: Calibration) -> dict[str, Any]:
    """Plain content of a calibration."""
    content: dict[str, Any] = {name: getattr(calibration, name) for name in _PLAIN}
    content |= {name: encode_number(getattr(calibration, name)) for name in _SINGLE}
    content |= {name: encode_numbers(getattr(calibration, name)) for name in _NUMBERS}
    covariance = calibration.free_covariance
    content |= {
        "labels": [plain_label(label) for label in calibration.labels],
        "fixed": calibration.fixed.tolist(),
        "on_bound": calibration.on_bound.tolist(),
        "group_labels": [plain_label(label) for label in calibration.group_labels],
        "reference_group": plain_label(calibration.reference_group),
        "parameter_index": calibration.parameter_index.tolist(),
        "free_covariance": None if covariance is None else encode_numbers(covariance),
        "diagnostics": list(calibration.diagnostics),
        "classical": {key: _encode(value) for key, value in asdict(calibration.classical).items()},
        "reliability": {key: encode_number(value) for key, value in calibration.reliability.items()},
    }
    return content


def calibration_arguments(content: dict[str, Any]) -> dict[str, Any]:
    """Arguments of ``Calibration`` from plain content, each field checked.

    Raises
    ------
    FileFormatError
        A field is absent, of the wrong type or shape, outside its range, or contradicts another one.
    """
    fields = Fields(content)
    labels, groups = fields.index("labels", "item"), tuple(fields.labels("group_labels"))
    n_items, n_groups = len(labels), len(groups)
    n_free = fields.integer("n_parameters")
    index = fields.integers("parameter_index", 2 * (n_items + n_groups), -1, n_free - 1)
    if set(index.tolist()) - {-1} != set(range(n_free)):
        fields.refuse("parameter_index", f"each of the {n_free} free parameters (n_parameters) at least once", "not all of them")
    arguments: dict[str, Any] = {
        "model": fields.text("model", MODELS),
        "labels": labels,
        "group_labels": groups,
        "reference_group": fields.label("reference_group", groups),
        "fixed": fields.flags("fixed", n_items),
        "on_bound": fields.flags("on_bound", n_items),
        "discrimination": fields.numbers("discrimination", n_items),
        "intercept": fields.numbers("intercept", n_items),
        "difficulty": fields.numbers("difficulty", n_items, missing=True),
        "latent_mean": fields.numbers("latent_mean", n_groups),
        "latent_sd": fields.numbers("latent_sd", n_groups, above=0.0),
        "group_n": fields.numbers("group_n", n_groups, low=0.0),
        "n_parameters": n_free,
        "parameter_index": index,
        "free_covariance": _covariance(fields, n_free),
        "log_likelihood": fields.number("log_likelihood"),
        "n_respondents": fields.number("n_respondents", low=0.0),
        "converged": fields.flag("converged"),
        "n_iterations": fields.integer("n_iterations"),
        "log_likelihood_trace": fields.numbers("log_likelihood_trace", -1),
        "remaining_gain": fields.number("remaining_gain", low=0.0, missing=True, infinite=True),
        "diagnostics": fields.texts("diagnostics"),
        "version": fields.text("version"),
        "options": _options(fields),
        "data_summary": _data_summary(fields),
        "stored": {"classical": _classical(fields, n_items), "reliability": _reliability(fields)},
    }
    _refuse_contradictions(fields, arguments)
    return arguments


def _covariance(fields: Fields, size: int) -> FloatArray | None:
    if fields.is_none("free_covariance"):
        return None
    matrix = fields.numbers("free_covariance", size, size, missing=True)
    scale = np.sqrt(np.maximum(np.diag(matrix), 0.0))  # nan where the parameter rests on its bound
    apart = np.abs(matrix - matrix.T) > LARGEST_ASYMMETRY * np.multiply.outer(scale, scale)
    if (np.diag(matrix) < 0.0).any() or apart.any() or (np.isnan(matrix) != np.isnan(matrix.T)).any():
        fields.refuse("free_covariance", "a symmetric matrix without negative variances", "another one")
    return matrix


def _options(fields: Fields) -> dict[str, Any]:
    options = fields.part("options")
    if not options.is_none("standard_errors"):
        options.text("standard_errors", METHODS)
    if not options.is_none("priors"):
        options.text("priors")
    options.integer("n_points", 1)
    options.number("high", above=options.number("low"))
    return dict(options.content)


def _data_summary(fields: Fields) -> dict[str, Any]:
    summary = fields.part("data_summary")
    summary.number("share_missing", low=0.0, high=1.0)
    summary.integer("n_responses")
    summary.integer("n_scored_only")
    summary.texts("dropped_items")
    return dict(summary.content)


def _classical(fields: Fields, n_items: int) -> dict[str, Any]:
    classical = fields.part("classical")
    classical.number("alpha", missing=True, infinite=True)
    classical.text("alpha_reason")
    classical.numbers("n", n_items, low=0.0)
    for name in ("p_value", "point_biserial", "discrimination_index", "alpha_if_deleted"):
        classical.numbers(name, n_items, missing=True, infinite=True)
    return {field.name: classical.content[field.name] for field in dataclass_fields(ClassicalItems)}


def _reliability(fields: Fields) -> dict[str, Any]:
    reliability = fields.part("reliability")
    for name in RELIABILITIES:
        reliability.number(name, missing=True, infinite=True)
    return {name: reliability.content[name] for name in RELIABILITIES}


def _refuse_contradictions(fields: Fields, arguments: dict[str, Any]) -> None:
    """Refuse fields that are well formed, each by itself, but do not belong together."""
    labels, a, d, b = (arguments[name] for name in ("labels", "discrimination", "intercept", "difficulty"))
    size = np.maximum(1.0, np.maximum(np.abs(d), np.abs(a * b)))
    with np.errstate(invalid="ignore"):
        apart = np.where(a == 0.0, np.isfinite(b), ~(np.abs(d + a * b) <= AGREEMENT * size))
    if apart.any():
        where = f"{listed(b[apart])} at {listed(labels[apart])}"
        fields.refuse("difficulty", "-intercept / discrimination, and null where the discrimination is 0", where)
    index, fixed = arguments["parameter_index"], arguments["fixed"]
    of_items = index[: 2 * fixed.size].reshape(2, fixed.size)
    if (of_items[:, fixed] >= 0).any() or (of_items[1, ~fixed] < 0).any():
        fields.refuse(
            "parameter_index", "-1 for the fixed items (fixed), and the intercepts of the others free", "something else"
        )
    total = float(arguments["group_n"].sum())
    if not math.isclose(arguments["n_respondents"], total, rel_tol=1e-9):
        fields.refuse("n_respondents", f"the sum of group_n, {total:.10g}")


def classical_from(content: dict[str, Any]) -> ClassicalItems:
    """Undo what :func:`calibration_to_dict` made of the classical statistics."""
    values: dict[str, Any] = {key: decode_numbers(value) if isinstance(value, list) else value for key, value in content.items()}
    return ClassicalItems(**{**values, "alpha": decode_number(content["alpha"])})


def _encode(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return encode_numbers(value)
    return encode_number(value) if isinstance(value, float) else value
