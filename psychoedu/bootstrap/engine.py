"""Runs a plan: estimates, closed-form variances and resamples, block by block, the same whoever draws the blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np

from psychoedu._typing import FloatArray, IntArray
from psychoedu.bootstrap import resampling
from psychoedu.bootstrap.corrections import inflate, inflation
from psychoedu.bootstrap.intervals import (
    basic_limits,
    bca_limits,
    percentile_limits,
    satterthwaite,
    studentised_limits,
    t_limits,
)
from psychoedu.bootstrap.plan import Plan
from psychoedu.bootstrap.resampling import Pool, block_size
from psychoedu.bootstrap.streams import Seed
from psychoedu.exceptions import DataError, ResamplingError
from psychoedu.validation import check_integer

MOST_FAILED = 0.05
"""Share of resamples that may fail before an interval is refused."""
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates of K columns with their closed-form errors.

    Attributes
    ----------
    value : (K,) array
    closed_form_error : (K,) array
        Denominator n in every part that is resampled: what resampling with replacement estimates.
    robust_error : (K,) array
        Cluster-robust: n/(n - 1) times that variance in every part.
    df : (K,) array
        Satterthwaite degrees of freedom of the latter.
    """

    value: FloatArray
    closed_form_error: FloatArray
    robust_error: FloatArray
    df: FloatArray


@dataclass(frozen=True, eq=False)
class Resampled:
    """Resamples of K columns.

    Attributes
    ----------
    replicates : (B, K) array
        Corrected where a correction was asked for.
    errors : (B, K) array or None
        Standard error within each resample.
    raw : (B, K) array
        Before the correction: what studentised intervals are made from.
    n_failed : int
        Resamples that were left out, since nothing was observed in a ratio.
    """

    replicates: FloatArray
    errors: FloatArray | None
    raw: FloatArray
    n_failed: int


def estimates_of(plan: Plan, pools: Sequence[Pool]) -> Estimates:
    """Return estimates and closed-form errors of the pools' columns."""
    value = resampling.estimate(pools, plan.coefficients)
    closed = resampling.closed_form_variances(pools, plan.coefficients)
    sizes = np.array([pool.n for pool in pools], dtype=np.float64)
    robust = closed * np.where(sizes > 1, sizes / np.maximum(sizes - 1.0, 1.0), 0.0)[:, None]
    return Estimates(
        value=value,
        closed_form_error=np.sqrt(closed.sum(axis=0)),
        robust_error=np.sqrt(robust.sum(axis=0)),
        df=satterthwaite(robust, sizes - 1.0),
    )


def blocks(n_resamples: int, n_clusters: int) -> list[tuple[int, int]]:
    """Return number and size of the blocks that make up the resamples.

    Examples
    --------
    >>> blocks(2_500, 100)
    [(0, 1024), (1, 1024), (2, 452)]
    """
    size = block_size(n_clusters)
    return [(block, min(size, n_resamples - block * size)) for block in range(-(-n_resamples // size))]


def check_jobs(n_jobs: object) -> int:
    """Check a number of workers: at least 1, or negative, which counts back from all cores."""
    jobs = check_integer(n_jobs, "n_jobs")
    if jobs == 0:
        raise DataError("n_jobs has to be 1 or more, or -1 for all cores; got 0.")
    return jobs


def in_parallel(calls: Sequence[Callable[[], Result]], n_jobs: int, shared_memory: bool = False) -> list[Result]:
    """Run calls in their order, by joblib where more than one worker was asked for.

    Parameters
    ----------
    calls : sequence of callables
    n_jobs : int
        Workers; -1 for all cores. Where the calls run is joblib's to say (``joblib.parallel_config``).
    shared_memory : bool
        Threads, for work that releases the interpreter and writes to shared arrays.
    """
    if n_jobs == 1 or len(calls) <= 1:
        return [call() for call in calls]
    import joblib

    options: dict[str, Any] = {"require": "sharedmem"} if shared_memory else {}
    found: list[Result] = joblib.Parallel(n_jobs=n_jobs, **options)(joblib.delayed(call)() for call in calls)
    return found


def resample(
    plan: Plan, pools: Sequence[Pool], seed: Seed, n_resamples: int, with_errors: bool = False, n_jobs: int = 1
) -> Resampled:
    """Draw all resamples of the pools' columns.

    Parameters
    ----------
    plan : Plan
    pools : sequence of Pool
    seed : Seed
    n_resamples : int
        Exactly so many are drawn.
    with_errors : bool
        Also the standard error within each resample.
    n_jobs : int
        Threads. The numbers do not depend on it.

    Returns
    -------
    Resampled

    Raises
    ------
    ResamplingError
        More than 5% have no observation in a ratio.
    """
    n_columns = pools[0].numerator.shape[1]
    raw = np.empty((n_resamples, n_columns))
    variances = np.empty((n_resamples, n_columns)) if with_errors else None
    laid = blocks(n_resamples, max(pool.n for pool in pools))
    size = laid[0][1]

    def fill(block: int, count: int) -> None:
        at = slice(block * size, block * size + count)
        values, spread = resampling.replicate(seed.generator(block), count, pools, plan.coefficients, with_errors)
        raw[at] = values
        if variances is not None and spread is not None:
            variances[at] = spread

    in_parallel([partial(fill, block, count) for block, count in laid], n_jobs, shared_memory=True)
    return _without_failed(plan, pools, raw, variances)


def _without_failed(plan: Plan, pools: Sequence[Pool], raw: FloatArray, variances: FloatArray | None) -> Resampled:
    """Leave out resamples that are nan in a column that has an estimate."""
    value = resampling.estimate(pools, plan.coefficients)
    failed = np.isnan(raw[:, np.isfinite(value)]).any(axis=1)
    n_failed = int(failed.sum())
    if n_failed > MOST_FAILED * len(raw):
        raise ResamplingError(
            f"{n_failed:,} of {len(raw):,} resamples drew no observed reward of a side, so that its mean does not exist.\n"
            f"Expected at most {MOST_FAILED:.0%}. Leave out models or clusters with few observed rewards."
        )
    if n_failed:
        raw = raw[~failed]
        variances = None if variances is None else variances[~failed]
    factor = inflation(plan.pool_sizes, plan.correction)
    errors = None if variances is None else np.sqrt(variances)
    return Resampled(inflate(raw, value, factor), errors, raw, n_failed)


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits of K columns, where the method could not give any (then percentile), and what to note."""

    limits: FloatArray
    degenerate: IntArray
    notes: tuple[str, ...]


def limits_of(
    method: str, pools: Sequence[Pool], plan: Plan, found: Estimates, drawn: Resampled, confidence_level: float
) -> Limits:
    """Return the limits by a method, (2, K), with percentile limits where it has none.

    Parameters
    ----------
    method : {"percentile", "basic", "bca", "studentised", "t"}
    pools : sequence of Pool
    plan : Plan
    found : Estimates
    drawn : Resampled
        With errors for "studentised".
    confidence_level : float
    """
    none = np.zeros(0, dtype=np.int64)
    if method == "t":
        return Limits(t_limits(found.value, found.robust_error, found.df, confidence_level), none, ())
    percentile = percentile_limits(drawn.replicates, confidence_level)
    if method == "percentile":
        return Limits(percentile, none, ())
    if method == "basic":
        return Limits(basic_limits(drawn.replicates, found.value, confidence_level), none, ())
    if method == "bca":
        acceleration = resampling.acceleration(resampling.jackknife(pools, plan.coefficients))
        limits, degenerate = bca_limits(drawn.replicates, found.value, acceleration, confidence_level)
        limits = np.where(degenerate, percentile, limits)
        return Limits(limits, np.flatnonzero(degenerate), ())
    assert drawn.errors is not None
    limits, empty = studentised_limits(drawn.raw, drawn.errors, found.value, found.robust_error, confidence_level)
    infinite = np.asarray(~np.isfinite(limits).all(axis=0), dtype=np.bool_)
    limits = np.where(infinite, percentile, limits)
    notes: tuple[str, ...] = ()
    if empty.any():
        notes = (f"{int(empty.max()):,} resamples without a spread of their own count as infinitely far out (studentised)",)
    return Limits(limits, np.flatnonzero(infinite), notes)
