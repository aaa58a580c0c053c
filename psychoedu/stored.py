"""Reading saved objects of every kind: ``load`` knows a class once its module has been imported, and all of them are, here."""

from __future__ import annotations

from psychoedu.bootstrap.bootstrapped import Bootstrapped
from psychoedu.bootstrap.comparison import ModelComparison
from psychoedu.bootstrap.generalizability_results import Generalizability
from psychoedu.bootstrap.leaderboard_results import Leaderboard
from psychoedu.bootstrap.lowest_results import Lowest
from psychoedu.bootstrap.results import Contrast
from psychoedu.cdm.q_matrix import QMatrix
from psychoedu.cdm.results import Diagnosis
from psychoedu.irt.bank import ItemBank
from psychoedu.irt.results import Calibration
from psychoedu.irt.scores import Scores
from psychoedu.persistence import Saved, load
from psychoedu.standard_setting.angoff_cuts import AngoffCuts
from psychoedu.standard_setting.booklet import OrderedItemBooklet
from psychoedu.standard_setting.cut_scores import CutScores
from psychoedu.standard_setting.levels import Levels

__all__ = ["CLASSES", "load"]

CLASSES: tuple[type[Saved], ...] = (
    AngoffCuts,
    Bootstrapped,
    Calibration,
    Contrast,
    CutScores,
    Diagnosis,
    Generalizability,
    ItemBank,
    Leaderboard,
    Levels,
    Lowest,
    ModelComparison,
    OrderedItemBooklet,
    QMatrix,
    Scores,
)
"""Every class that :func:`load` gives back."""
