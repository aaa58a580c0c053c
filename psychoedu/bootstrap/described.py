"""Tables of what a contrast resampled and what was missing, made when they are asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray, IntArray
from psychoedu.bootstrap.analysis import Source
from psychoedu.bootstrap.intervals import clopper_pearson_limits
from psychoedu.proportions import wilson_interval

BOUNDARY_COLUMNS = ("n_clusters", "value", "wilson_low", "wilson_high", "clopper_pearson_low", "clopper_pearson_high")


def boundary_models_table(source: Source, confidence_level: float) -> pd.DataFrame:
    """Return intervals of proportions for models whose rewards on a side are all 0 or all 1; no row for the others."""
    design = source.plan.design
    names = design.models.get_level_values("model").unique() if source.paired else design.models
    alone = (design.counts == 1.0) | (design.counts == 0.0)
    binary = (alone & ((design.totals == 0.0) | (design.totals == 1.0))).all(axis=0).reshape(len(names), -1).all(axis=1)
    rows, labels = [], []
    for side, sums, own in _sides(source):
        totals, sizes = sums[own].sum(axis=0), source.sizes[own].sum(axis=0)
        for at in np.flatnonzero(binary & (sizes > 0) & ((totals == 0.0) | (totals == sizes))).tolist():
            rows.append(_proportion(int((source.sizes[own, at] > 0).sum()), float(totals[at] > 0), confidence_level))
            labels.append((names[at], side))
    index = pd.MultiIndex.from_tuples(labels, names=["model", "side"]) if labels else _no_models()
    return pd.DataFrame(rows, columns=list(BOUNDARY_COLUMNS), index=index).astype({"n_clusters": np.int64})


def _no_models() -> pd.MultiIndex:
    return pd.MultiIndex.from_arrays([[], []], names=["model", "side"])


def _proportion(n: int, value: float, confidence_level: float) -> tuple[Any, ...]:
    """Return number, share and its intervals by Wilson and by Clopper and Pearson, n trials that are all alike."""
    wilson = [float(limit) for limit in wilson_interval(np.array(value), n, confidence_level)]
    return n, value, *wilson, *clopper_pearson_limits(n * value, n, confidence_level)


def _sides(source: Source) -> list[tuple[str, FloatArray, IntArray]]:
    """Return both sides: name, sums of all clusters by model, and the clusters that belong to it."""
    if source.side_sums is not None:
        everything = np.arange(source.plan.design.n_clusters)
        return [(name, sums, everything) for name, sums in zip(("focal", "comparison"), source.side_sums, strict=True)]
    clusters = {name: [part.clusters for part in source.plan.parts if part.side == name] for name in ("focal", "comparison")}
    return [(name, source.sums, np.concatenate(own)) for name, own in clusters.items()]


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
    for name, sums, own in _sides(source):
        total, size = float(sums[own].sum()), float(source.sizes[own].sum())
        if size and total in (0.0, size) and design.is_binary:
            rows[name] = _proportion(int((source.sizes[own].sum(axis=1) > 0).sum()), float(total > 0), confidence_level)
    index = pd.Index(list(rows), name="side", dtype=object)
    return pd.DataFrame(list(rows.values()), columns=list(BOUNDARY_COLUMNS), index=index).astype({"n_clusters": np.int64})
