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
    from psychoedu.responses import Reason, ResponseMatrix
    from psychoedu.runners.importers.read import read_results
    from psychoedu.runners.records import Records
    from psychoedu.standard_setting.booklet import OrderedItemBooklet, booklet
    from psychoedu.standard_setting.bookmark import bookmark
    from psychoedu.standard_setting.classify import classify
    from psychoedu.standard_setting.cut_scores import CutScores
    from psychoedu.standard_setting.level_table import level_table
    from psychoedu.standard_setting.levels import Levels
    from psychoedu.standard_setting.scales import CEFR, CSE, Scale
    from psychoedu.stored import load

__all__ = [
    "CEFR",
    "CSE",
    "Bootstrapped",
    "Calibration",
    "ClusterDesign",
    "Contrast",
    "CutScores",
    "Diagnosis",
    "ItemBank",
    "Leaderboard",
    "Levels",
    "Lowest",
    "OrderedItemBooklet",
    "Priors",
    "QMatrix",
    "Reason",
    "Records",
    "ResponseMatrix",
    "Scale",
    "Scores",
    "__version__",
    "booklet",
    "bookmark",
    "bootstrap",
    "calibrate",
    "cdm",
    "classify",
    "compare_models",
    "contrast",
    "datasets",
    "diagnose",
    "exceptions",
    "irt",
    "leaderboard",
    "leaderboard_from_scores",
    "level_table",
    "load",
    "lowest_for",
    "read_results",
    "score",
    "standard_setting",
]

_MODULES = frozenset({"bootstrap", "cdm", "datasets", "exceptions", "irt", "standard_setting"})
_SOURCES = {
    "Bootstrapped": "psychoedu.bootstrap.bootstrapped",
    "CEFR": "psychoedu.standard_setting.scales",
    "CSE": "psychoedu.standard_setting.scales",
    "Calibration": "psychoedu.irt.results",
    "ClusterDesign": "psychoedu.bootstrap.design",
    "Contrast": "psychoedu.bootstrap.results",
    "CutScores": "psychoedu.standard_setting.cut_scores",
    "Diagnosis": "psychoedu.cdm.results",
    "ItemBank": "psychoedu.irt.bank",
    "Leaderboard": "psychoedu.bootstrap.leaderboard_results",
    "Levels": "psychoedu.standard_setting.levels",
    "Lowest": "psychoedu.bootstrap.lowest_results",
    "OrderedItemBooklet": "psychoedu.standard_setting.booklet",
    "Priors": "psychoedu.irt.priors",
    "QMatrix": "psychoedu.cdm.q_matrix",
    "Reason": "psychoedu.responses",
    "Records": "psychoedu.runners.records",
    "ResponseMatrix": "psychoedu.responses",
    "Scale": "psychoedu.standard_setting.scales",
    "Scores": "psychoedu.irt.score",
    "booklet": "psychoedu.standard_setting.booklet",
    "bookmark": "psychoedu.standard_setting.bookmark",
    "calibrate": "psychoedu.irt.calibrate",
    "classify": "psychoedu.standard_setting.classify",
    "compare_models": "psychoedu.bootstrap.compare",
    "contrast": "psychoedu.bootstrap.contrast",
    "diagnose": "psychoedu.cdm.diagnose",
    "leaderboard": "psychoedu.bootstrap.leaderboard",
    "leaderboard_from_scores": "psychoedu.bootstrap.leaderboard_table",
    "level_table": "psychoedu.standard_setting.level_table",
    "load": "psychoedu.stored",
    "lowest_for": "psychoedu.bootstrap.lowest",
    "read_results": "psychoedu.runners.importers.read",
    "score": "psychoedu.irt.score",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"psychoedu.{name}")
    if name not in _SOURCES:
        raise AttributeError(f"module 'psychoedu' has no attribute {name!r}")
    value = getattr(import_module(_SOURCES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
