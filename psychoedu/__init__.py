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
    from psychoedu import cdm, datasets, exceptions, irt, standard_setting
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
    from psychoedu.standard_setting.booklet import OrderedItemBooklet, booklet
    from psychoedu.standard_setting.bookmark import bookmark
    from psychoedu.standard_setting.classify import classify
    from psychoedu.standard_setting.cut_scores import CutScores
    from psychoedu.standard_setting.level_table import level_table
    from psychoedu.standard_setting.levels import Levels
    from psychoedu.standard_setting.scales import CEFR, CSE, Scale

__all__ = [
    "CEFR",
    "CSE",
    "Calibration",
    "CutScores",
    "Diagnosis",
    "ItemBank",
    "Levels",
    "OrderedItemBooklet",
    "Priors",
    "QMatrix",
    "Reason",
    "ResponseMatrix",
    "Scale",
    "Scores",
    "__version__",
    "booklet",
    "bookmark",
    "calibrate",
    "cdm",
    "classify",
    "datasets",
    "diagnose",
    "exceptions",
    "irt",
    "level_table",
    "load",
    "score",
    "standard_setting",
]

_MODULES = frozenset({"cdm", "datasets", "exceptions", "irt", "standard_setting"})
_SOURCES = {
    "CEFR": "psychoedu.standard_setting.scales",
    "CSE": "psychoedu.standard_setting.scales",
    "Calibration": "psychoedu.irt.results",
    "CutScores": "psychoedu.standard_setting.cut_scores",
    "Diagnosis": "psychoedu.cdm.results",
    "ItemBank": "psychoedu.irt.bank",
    "Levels": "psychoedu.standard_setting.levels",
    "OrderedItemBooklet": "psychoedu.standard_setting.booklet",
    "Priors": "psychoedu.irt.priors",
    "QMatrix": "psychoedu.cdm.q_matrix",
    "Reason": "psychoedu.responses",
    "ResponseMatrix": "psychoedu.responses",
    "Scale": "psychoedu.standard_setting.scales",
    "Scores": "psychoedu.irt.score",
    "booklet": "psychoedu.standard_setting.booklet",
    "bookmark": "psychoedu.standard_setting.bookmark",
    "calibrate": "psychoedu.irt.calibrate",
    "classify": "psychoedu.standard_setting.classify",
    "diagnose": "psychoedu.cdm.diagnose",
    "level_table": "psychoedu.standard_setting.level_table",
    "load": "psychoedu.persistence",
    "score": "psychoedu.irt.score",
}
_SAVED = (
    "psychoedu.irt.results",
    "psychoedu.irt.bank",
    "psychoedu.irt.score",
    "psychoedu.cdm.q_matrix",
    "psychoedu.cdm.results",
    "psychoedu.standard_setting.levels",
    "psychoedu.standard_setting.angoff",
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
