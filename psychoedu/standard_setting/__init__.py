"""Standard setting: from a calibrated bank and judgements to cut scores, and from scores to levels with their probabilities."""

from psychoedu.irt.linking_constants import LinkingConstants
from psychoedu.standard_setting.accuracy import ClassificationAccuracy, classification_accuracy
from psychoedu.standard_setting.angoff import angoff
from psychoedu.standard_setting.annotations import annotation_cuts
from psychoedu.standard_setting.booklet import OrderedItemBooklet, booklet
from psychoedu.standard_setting.bookmark import bookmark
from psychoedu.standard_setting.classify import classify
from psychoedu.standard_setting.cut_scores import CutScores
from psychoedu.standard_setting.examinees import borderline_group, contrasting_groups
from psychoedu.standard_setting.facilitator import FacilitatorSheet, facilitator_sheet
from psychoedu.standard_setting.impact import impact
from psychoedu.standard_setting.jackknife import item_sampling_error
from psychoedu.standard_setting.level_table import LevelTable, level_table
from psychoedu.standard_setting.levels import Levels
from psychoedu.standard_setting.scales import CEFR, CSE, Scale

__all__ = [
    "CEFR",
    "CSE",
    "ClassificationAccuracy",
    "CutScores",
    "FacilitatorSheet",
    "LevelTable",
    "Levels",
    "LinkingConstants",
    "OrderedItemBooklet",
    "Scale",
    "angoff",
    "annotation_cuts",
    "booklet",
    "bookmark",
    "borderline_group",
    "classification_accuracy",
    "classify",
    "contrasting_groups",
    "facilitator_sheet",
    "impact",
    "item_sampling_error",
    "level_table",
]
