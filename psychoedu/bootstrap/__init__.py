"""Stratified task-cluster bootstrap: contrasts, comparisons of models, leaderboards, the bootstrap of anything.

``psychoedu.bootstrap`` is this package, and it can be called: ``psychoedu.bootstrap(statistic, design)`` is
:func:`psychoedu.bootstrap.anything.bootstrap`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from psychoedu.bootstrap.anything import bootstrap
from psychoedu.bootstrap.bootstrapped import Bootstrapped
from psychoedu.bootstrap.compare import compare_models
from psychoedu.bootstrap.contrast import contrast
from psychoedu.bootstrap.design import ClusterDesign
from psychoedu.bootstrap.generalizability import generalizability
from psychoedu.bootstrap.generalizability_results import Generalizability
from psychoedu.bootstrap.leaderboard import leaderboard
from psychoedu.bootstrap.leaderboard_results import Leaderboard
from psychoedu.bootstrap.leaderboard_table import leaderboard_from_scores
from psychoedu.bootstrap.lowest import lowest_for
from psychoedu.bootstrap.lowest_results import Lowest
from psychoedu.bootstrap.power import design_effect, minimum_detectable_difference, power, power_table, tasks_for_power
from psychoedu.bootstrap.results import Contrast, Interval

__all__ = [
    "Bootstrapped",
    "ClusterDesign",
    "Contrast",
    "Generalizability",
    "Interval",
    "Leaderboard",
    "Lowest",
    "bootstrap",
    "compare_models",
    "contrast",
    "design_effect",
    "generalizability",
    "leaderboard",
    "leaderboard_from_scores",
    "lowest_for",
    "minimum_detectable_difference",
    "power",
    "power_table",
    "tasks_for_power",
]


class _CallablePackage(ModuleType):
    """A package that answers calls, so that ``psychoedu.bootstrap`` is both the verb and the room that it lives in."""

    def __call__(self, *args: Any, **kwargs: Any) -> Bootstrapped:
        """Call :func:`psychoedu.bootstrap.anything.bootstrap`."""
        return bootstrap(*args, **kwargs)

    @property
    def __signature__(self) -> Any:
        """The signature of the function that is called."""
        from inspect import signature

        return signature(bootstrap)


sys.modules[__name__].__class__ = _CallablePackage
