"""Psychometrics for educational benchmarks: from a response matrix to a calibrated item bank, scores and a report.

The names below are the public ones. Each is imported when it is first used, so that ``import psychoedu`` costs next to nothing.

Examples
--------
>>> import psychoedu as pe
>>> calibration = pe.calibrate(pe.datasets.load_lsat7())
>>> calibration.converged
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from psychoedu._version import __version__

if TYPE_CHECKING:
    from psychoedu import cdm, datasets, exceptions, irt
    from psychoedu.cdm.diagnose import diagnose
    from psychoedu.cdm.q_matrix import QMatrix
    from psychoedu.cdm.results import Diagnosis
    from psychoedu.irt.bank import ItemBank
    from psychoedu.irt.calibrate import calibrate
    from psychoedu.irt.priors import Priors
    from psychoedu.irt.results import Calibration
    from psychoedu.irt.score import Scores, score
    from psychoedu.persistence import load
    from psychoedu.responses import Reason, ResponseMatrix

__all__ = [
    "Calibration",
    "Diagnosis",
    "ItemBank",
    "Priors",
    "QMatrix",
    "Reason",
    "ResponseMatrix",
    "Scores",
    "__version__",
    "calibrate",
    "cdm",
    "datasets",
    "diagnose",
    "exceptions",
    "irt",
    "load",
    "score",
]

_MODULES = frozenset({"cdm", "datasets", "exceptions", "irt"})
_SOURCES = {
    "Calibration": "psychoedu.irt.results",
    "Diagnosis": "psychoedu.cdm.results",
    "ItemBank": "psychoedu.irt.bank",
    "Priors": "psychoedu.irt.priors",
    "QMatrix": "psychoedu.cdm.q_matrix",
    "Reason": "psychoedu.responses",
    "ResponseMatrix": "psychoedu.responses",
    "Scores": "psychoedu.irt.score",
    "calibrate": "psychoedu.irt.calibrate",
    "diagnose": "psychoedu.cdm.diagnose",
    "load": "psychoedu.persistence",
    "score": "psychoedu.irt.score",
}
_SAVED = ("psychoedu.irt.results", "psychoedu.irt.bank", "psychoedu.irt.score", "psychoedu.cdm.q_matrix", "psychoedu.cdm.results")
"""Modules whose classes can be saved: ``load`` knows a class only once its module has been imported."""


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"psychoedu.{name}")
    if name not in _SOURCES:
        raise AttributeError(f"module 'psychoedu' has no attribute {name!r}")
    if name == "load":
        for module in _SAVED:
            import_module(module)
    value = getattr(import_module(_SOURCES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
