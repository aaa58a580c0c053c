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
    from psychoedu.bootstrap.anything import bootstrap
    from psychoedu.bootstrap.bootstrapped import Bootstrapped
    from psychoedu.bootstrap.compare import compare_models
    from psychoedu.bootstrap.contrast import contrast
    from psychoedu.bootstrap.design import ClusterDesign
    from psychoedu.bootstrap.leaderboard import leaderboard
    from psychoedu.bootstrap.leaderboard_results import Leaderboard
    from psychoedu.bootstrap.leaderboard_table import leaderboard_from_scores
    from psychoedu.bootstrap.lowest import lowest_for
    from psychoedu.bootstrap.lowest_results import Lowest
    from psychoedu.bootstrap.results import Contrast
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
    "Bootstrapped",
    "Calibration",
    "ClusterDesign",
    "Contrast",
    "Diagnosis",
    "ItemBank",
    "Leaderboard",
    "Lowest",
    "Priors",
    "QMatrix",
    "Reason",
    "ResponseMatrix",
    "Scores",
    "__version__",
    "bootstrap",
    "calibrate",
    "cdm",
    "compare_models",
    "contrast",
    "datasets",
    "diagnose",
    "exceptions",
    "irt",
    "leaderboard",
    "leaderboard_from_scores",
    "load",
    "lowest_for",
    "score",
]

_MODULES = frozenset({"bootstrap", "cdm", "datasets", "exceptions", "irt"})
_SOURCES = {
    "Bootstrapped": "psychoedu.bootstrap.bootstrapped",
    "Calibration": "psychoedu.irt.results",
    "ClusterDesign": "psychoedu.bootstrap.design",
    "Contrast": "psychoedu.bootstrap.results",
    "Diagnosis": "psychoedu.cdm.results",
    "ItemBank": "psychoedu.irt.bank",
    "Leaderboard": "psychoedu.bootstrap.leaderboard_results",
    "Lowest": "psychoedu.bootstrap.lowest_results",
    "Priors": "psychoedu.irt.priors",
    "QMatrix": "psychoedu.cdm.q_matrix",
    "Reason": "psychoedu.responses",
    "ResponseMatrix": "psychoedu.responses",
    "Scores": "psychoedu.irt.score",
    "calibrate": "psychoedu.irt.calibrate",
    "compare_models": "psychoedu.bootstrap.compare",
    "contrast": "psychoedu.bootstrap.contrast",
    "diagnose": "psychoedu.cdm.diagnose",
    "leaderboard": "psychoedu.bootstrap.leaderboard",
    "leaderboard_from_scores": "psychoedu.bootstrap.leaderboard_table",
    "load": "psychoedu.persistence",
    "lowest_for": "psychoedu.bootstrap.lowest",
    "score": "psychoedu.irt.score",
}
_SAVED = (
    "psychoedu.bootstrap.bootstrapped",
    "psychoedu.bootstrap.comparison",
    "psychoedu.bootstrap.leaderboard_results",
    "psychoedu.bootstrap.lowest_results",
    "psychoedu.bootstrap.results",
    "psychoedu.cdm.q_matrix",
    "psychoedu.cdm.results",
    "psychoedu.irt.bank",
    "psychoedu.irt.results",
    "psychoedu.irt.score",
)
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
