"""A calibration as plain JSON content and back, exact to the bit; the responses stay out of it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from psychoedu.exceptions import DataError
from psychoedu.irt.classical import ClassicalItems
from psychoedu.persistence import decode_number, decode_numbers, encode_number, encode_numbers

if TYPE_CHECKING:
    from psychoedu.irt.results import Calibration

_NUMBERS = ("discrimination", "intercept", "difficulty", "latent_mean", "latent_sd", "group_n", "log_likelihood_trace")
_PLAIN = ("model", "n_parameters", "converged", "n_iterations", "version", "options", "data_summary")
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
    """Arguments of ``Calibration`` from plain content."""
    arguments: dict[str, Any] = {name: content[name] for name in _PLAIN}
    arguments |= {name: decode_number(content[name]) for name in _SINGLE}
    arguments |= {name: decode_numbers(content[name]) for name in _NUMBERS}
    covariance = content["free_covariance"]
    n_free = content["n_parameters"]
    arguments |= {
        "labels": pd.Index(content["labels"], tupleize_cols=False),
        "fixed": np.array(content["fixed"], dtype=bool),
        "on_bound": np.array(content["on_bound"], dtype=bool),
        "group_labels": tuple(content["group_labels"]),
        "reference_group": content["reference_group"],
        "parameter_index": np.array(content["parameter_index"], dtype=np.int64),
        "free_covariance": None if covariance is None else decode_numbers(covariance).reshape(n_free, n_free),
        "diagnostics": tuple(content["diagnostics"]),
        "stored": {"classical": content["classical"], "reliability": content["reliability"]},
    }
    return arguments


def classical_from(content: dict[str, Any]) -> ClassicalItems:
    """Undo what :func:`calibration_to_dict` made of the classical statistics."""
    values: dict[str, Any] = {key: decode_numbers(value) if isinstance(value, list) else value for key, value in content.items()}
    return ClassicalItems(**{**values, "alpha": decode_number(content["alpha"])})


def _encode(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return encode_numbers(value)
    return encode_number(value) if isinstance(value, float) else value


def plain_label(label: Hashable) -> str | int | float | bool:
    """Turn a label into what JSON holds, or say that it cannot be saved."""
    value = label.item() if isinstance(label, np.generic) else label
    if isinstance(value, str | int | float | bool):
        return value
    raise DataError(f"The label {label!r} cannot be saved: expected text or a number. Rename it before calibrating.")
