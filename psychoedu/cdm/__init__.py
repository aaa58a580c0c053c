"""Cognitive diagnosis: which attributes a respondent has mastered, from a Q-matrix and the responses."""

from psychoedu.cdm.accuracy import classification_accuracy
from psychoedu.cdm.bootstrap_errors import BootstrapErrors, bootstrap_errors
from psychoedu.cdm.compare import compare, score
from psychoedu.cdm.diagnose import diagnose
from psychoedu.cdm.fit import absolute_fit
from psychoedu.cdm.hierarchy import AttributeHierarchy, read_hierarchy
from psychoedu.cdm.identifiability import IdentifiabilityReport, check_identifiability
from psychoedu.cdm.mastery_table import MasteryTable, mastery_table
from psychoedu.cdm.memory import estimate_memory
from psychoedu.cdm.q_matrix import QMatrix
from psychoedu.cdm.q_validation import validate_q
from psychoedu.cdm.resampled import MasterySampling, mastery_sampling_error
from psychoedu.cdm.results import Diagnosis
from psychoedu.cdm.selection import choose_item_models, likelihood_ratio, nested_tests, relative_fit
from psychoedu.cdm.sensitivity import CalibrationSensitivity, calibration_sensitivity

__all__ = [
    "AttributeHierarchy",
    "BootstrapErrors",
    "CalibrationSensitivity",
    "Diagnosis",
    "IdentifiabilityReport",
    "MasterySampling",
    "MasteryTable",
    "QMatrix",
    "absolute_fit",
    "bootstrap_errors",
    "calibration_sensitivity",
    "check_identifiability",
    "choose_item_models",
    "classification_accuracy",
    "compare",
    "diagnose",
    "estimate_memory",
    "likelihood_ratio",
    "mastery_sampling_error",
    "mastery_table",
    "nested_tests",
    "read_hierarchy",
    "relative_fit",
    "score",
    "validate_q",
]
