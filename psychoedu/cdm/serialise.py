"""A diagnosis as plain JSON content and back, exact to the bit; the responses stay out of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from psychoedu.cdm.q_matrix import QMatrix
from psychoedu.persistence import decode_number, decode_numbers, encode_number, encode_numbers, plain_label

if TYPE_CHECKING:
    from psychoedu.cdm.results import Diagnosis

_NUMBERS = (
    "group_means", "group_sds", "item_parameters", "cells", "cell_se", "cell_n", "structural", "log_prior",
    "log_likelihood_trace",
)  # fmt: skip
_PLAIN = (
    "structure_name", "higher_order", "n_item_parameters", "n_structural_parameters", "converged", "n_iterations", "options",
    "data_summary", "version",
)  # fmt: skip
_SINGLE = ("log_likelihood", "n_respondents", "remaining_gain")


def diagnosis_to_dict(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return plain content of a diagnosis."""
    content: dict[str, Any] = {name: getattr(diagnosis, name) for name in _PLAIN}
    content |= {name: encode_number(getattr(diagnosis, name)) for name in _SINGLE}
    content |= {name: encode_numbers(getattr(diagnosis, name)) for name in _NUMBERS}
    covariance = diagnosis.covariance
    content |= {
        "q_matrix": diagnosis.q_matrix.to_dict(),
        "item_models": list(diagnosis.item_models),
        "group_labels": [plain_label(label) for label in diagnosis.group_labels],
        "structural_names": [[plain_label(of), name] for of, name in diagnosis.structural_names],
        "cell_on_bound": diagnosis.cell_on_bound.tolist(),
        "structural_on_bound": diagnosis.structural_on_bound.tolist(),
        "covariance": None if covariance is None else encode_numbers(covariance),
        "starts": diagnosis.starts.to_dict("list"),
        "withheld": [plain_label(label) for label in diagnosis.withheld],
        "diagnostics": list(diagnosis.diagnostics),
    }
    return content


def diagnosis_arguments(content: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of ``Diagnosis`` from plain content."""
    arguments: dict[str, Any] = {name: content[name] for name in _PLAIN}
    arguments |= {name: decode_number(content[name]) for name in _SINGLE}
    arguments |= {name: decode_numbers(content[name]) for name in _NUMBERS}
    covariance = content["covariance"]
    arguments |= {
        "q_matrix": QMatrix.from_dict(content["q_matrix"]),
        "item_models": tuple(content["item_models"]),
        "group_labels": tuple(content["group_labels"]),
        "structural_names": tuple((of, name) for of, name in content["structural_names"]),
        "cell_on_bound": np.array(content["cell_on_bound"], dtype=bool),
        "structural_on_bound": np.array(content["structural_on_bound"], dtype=bool),
        "covariance": None if covariance is None else decode_numbers(covariance),
        "starts": pd.DataFrame(content["starts"]),
        "withheld": tuple(content["withheld"]),
        "diagnostics": tuple(content["diagnostics"]),
    }
    return arguments
