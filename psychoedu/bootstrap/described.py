"""Tables of what a contrast resampled and what was missing, made when they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray, IntArray
from psychoedu.bootstrap.analysis import Source
from psychoedu.bootstrap.intervals import clopper_pearson_limits
from psychoedu.proportions import wilson_interval

BOUNDARY_COLUMNS = ("n_clusters", "value", "wilson_low", "wilson_high", "clopper_pearson_low", "clopper_pearson_high")


def missing_table(source: Source) -> pd.DataFrame:
    """Return the number of missing rewards by model, those of both conditions together."""
    design = source.plan.design
    models, n_missing = design.models, design.n_missing
    if source.paired:
        models = models.get_level_values("model").unique()
        n_missing = n_missing.reshape(len(models), 2).sum(axis=1)
    return pd.DataFrame({"n_missing": n_missing}, index=models.rename("model"))


def stratum_table(source: Source) -> pd.DataFrame:
    """Return a row per stratum: its side, clusters, rewards that count, mean, and what it is drawn from together with."""
    design = source.plan.design
    sums, sizes = source.columns(by_model=False)
    rows = []
    for part in source.plan.parts:
        for at in part.strata:
            own = design.stratum_of == at
            n_cells = float(sizes[own].sum())
            others = [str(design.strata[other]) for other in part.strata if other != at]
            drawn = "not" if part.certain else f"with {', '.join(others)}" if others else "alone"
            mean = float(sums[own].sum()) / n_cells if n_cells else np.nan
            rows.append((part.side, int(own.sum()), int(n_cells), mean, drawn))
    labels = [design.strata[at] for part in source.plan.parts for at in part.strata]
    columns = ["side", "n_clusters", "n_cells", "mean_difference" if source.paired else "mean", "drawn"]
    return pd.DataFrame(rows, columns=columns, index=pd.Index(labels, name="stratum", tupleize_cols=False))


def boundary_table(source: Source, confidence_level: float) -> pd.DataFrame:
    """Return intervals of proportions for the sides whose rewards are all 0 or all 1; no row for the others."""
    design = source.plan.design
    rows: dict[str, tuple[Any, ...]] = {}
    sides: Sequence[tuple[str, FloatArray, IntArray]]
    if source.side_sums is not None:
        everything = np.arange(design.n_clusters)
        sides = [(name, sums, everything) for name, sums in zip(("focal", "comparison"), source.side_sums, strict=True)]
    else:
        clusters = {name: [part.clusters for part in source.plan.parts if part.side == name] for name in ("focal", "comparison")}
        sides = [(name, source.sums, np.concatenate(own)) for name, own in clusters.items()]
    for name, sums, own in sides:
        total, size = float(sums[own].sum()), float(source.sizes[own].sum())
        if size and total in (0.0, size) and design.is_binary:
            seen = int((source.sizes[own].sum(axis=1) > 0).sum())
            right = seen if total else 0
            wilson = [float(limit) for limit in wilson_interval(np.array(right / seen), seen, confidence_level)]
            limits = (*wilson, *clopper_pearson_limits(right, seen, confidence_level))
            rows[name] = (seen, total / size, *limits)
    index = pd.Index(list(rows), name="side", dtype=object)
    return pd.DataFrame(list(rows.values()), columns=list(BOUNDARY_COLUMNS), index=index).astype({"n_clusters": np.int64})
