"""Small parts that leaderboards share: labels of models, names and weights of stages, overall scores and ranks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray
from psychoedu.bootstrap.group_means import Groups
from psychoedu.bootstrap.leaderboard_results import OWN_COLUMNS
from psychoedu.bootstrap.leaderboard_text import BALANCED, BY_TASKS
from psychoedu.bootstrap.ranking import mid_ranks
from psychoedu.exceptions import DataError, LabelError
from psychoedu.validation import check_choice, check_known, counted, listed

GIVEN = "given"
FEWEST_RESAMPLES = 100
WEIGHTINGS = ("task", "cluster")


def flat(models: pd.Index) -> pd.Index:
    """Return labels of models, those of a model and a condition joined to one."""
    if not isinstance(models, pd.MultiIndex):
        return models
    return pd.Index([" / ".join(str(part) for part in label) for label in models], name="model", dtype=object)


def check_stage_names(stages: pd.Index) -> None:
    """Check that no stage is called as a column of the table."""
    taken = [label for label in stages if label in OWN_COLUMNS]
    if taken and len(stages) > 1:
        raise LabelError(
            f"{counted(len(taken), 'stage')} called as a column of the leaderboard: {listed(taken)}.\n"
            "Expected other names. Rename them, or leave them out, if they are no stages."
        )


def stage_weights(weights: Any, stages: pd.Index, units: FloatArray | None) -> tuple[FloatArray, str]:
    """Return weights that sum to 1, and how they came about."""
    if weights is None:
        return np.full(len(stages), 1.0 / len(stages)), BALANCED
    if isinstance(weights, str):
        check_choice(weights, (BY_TASKS,) if units is not None else (), "weights")
        assert units is not None
        return units / units.sum(), BY_TASKS
    if isinstance(weights, pd.Series):
        weights = weights.to_dict()
    if not isinstance(weights, Mapping):
        raise DataError(f'weights has to be a mapping of stage to weight, "task" or None; got {weights!r}.')
    check_known(weights, stages, "stage")
    absent = [label for label in stages if label not in weights]
    if absent:
        raise DataError(
            f"{counted(len(absent), 'stage')} without a weight: {listed(absent)}.\n"
            "Expected one for each; 0 leaves a stage out of the overall score."
        )
    try:
        found = np.array([float(weights[label]) for label in stages])
    except (TypeError, ValueError) as error:
        raise DataError(f"The weights of the stages have to be numbers; got {listed(list(weights.values()))}.") from error
    if not (np.isfinite(found).all() and (found >= 0.0).all() and found.sum() > 0.0):
        raise DataError(
            f"The weights of the stages have to be at least 0, and one above 0; got {listed(list(weights.values()))}."
        )
    return found / found.sum(), GIVEN


def overall_scores(scores: FloatArray, weights: FloatArray) -> FloatArray:
    """Return weighted means over stages, (M,), of scores (T, M); a stage of weight 0 may be blank."""
    used = weights > 0.0
    found: FloatArray = weights[used] @ scores[used]
    return found


def ranks_of(scores: FloatArray, tie: float) -> FloatArray:
    """Return mid-ranks of one set of scores; nan where there is no score."""
    known = np.isfinite(scores)
    found = np.full(scores.shape, np.nan)
    found[known] = mid_ranks(scores[known], tie)
    return found


def sizes_of(groups: Groups) -> pd.Series:
    """Return the clusters of each stratum, by its name as text."""
    sizes = groups.sizes()
    names = [" / ".join(str(part) for part in label) if isinstance(label, tuple) else str(label) for label in sizes.index]
    return pd.Series(sizes.to_numpy(), index=pd.Index(names, name="stratum", dtype=object), name="n_clusters")
