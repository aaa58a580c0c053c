"""Item response theory: calibration, scoring, banks, item analysis, simulation."""

from psychoedu.irt.bank import ItemBank
from psychoedu.irt.calibrate import calibrate
from psychoedu.irt.classical import coefficient_alpha, item_statistics
from psychoedu.irt.priors import LogNormal, Normal, Priors
from psychoedu.irt.reliability import empirical_reliability, marginal_reliability
from psychoedu.irt.resampled import TaskSampling, bootstrap_calibration, task_sampling_error
from psychoedu.irt.results import Calibration
from psychoedu.irt.score import score
from psychoedu.irt.scores import Scores
from psychoedu.irt.simulate import simulate_responses

__all__ = [
    "Calibration",
    "ItemBank",
    "LogNormal",
    "Normal",
    "Priors",
    "Scores",
    "TaskSampling",
    "bootstrap_calibration",
    "calibrate",
    "coefficient_alpha",
    "empirical_reliability",
    "item_statistics",
    "marginal_reliability",
    "score",
    "simulate_responses",
    "task_sampling_error",
]
