"""The bootstrap of any statistic: resample clusters within strata as weights or as indices, on as many workers as there are."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray, IntArray
from psychoedu._version import __version__
from psychoedu.bootstrap.bootstrapped import Bootstrapped
from psychoedu.bootstrap.corrections import CORRECTIONS, inflate, inflation, n_draws
from psychoedu.bootstrap.design import ClusterDesign
from psychoedu.bootstrap.engine import MOST_FAILED, check_jobs, in_parallel
from psychoedu.bootstrap.intervals import basic_limits, bca_limits, percentile_limits
from psychoedu.bootstrap.reading import ONLY
from psychoedu.bootstrap.resampling import acceleration, draw_places
from psychoedu.bootstrap.streams import Seed, seed_of
from psychoedu.exceptions import ClusterDesignError, DataError, DegenerateBootstrapWarning, ResamplingError
from psychoedu.validation import check_choice, check_flag, check_integer, check_probability, counted, listed, shown

BLOCK = 64
"""Resamples that one task of a worker draws and evaluates; the same whoever does it, so that workers cannot matter."""
METHODS = ("percentile", "basic", "bca")
Statistic = Callable[[Any], Any]


@dataclass(frozen=True, eq=False)
class Layout:
    """What is resampled: positions of the clusters of each stratum, and how many are drawn of each.

    Attributes
    ----------
    labels : Index, (H,)
    members : list of (n,) int arrays
    n_draws : list of int
        0 for a stratum that is taken as it is.
    n : int
        Number of clusters.
    """

    labels: pd.Index
    members: list[IntArray]
    n_draws: list[int]
    n: int


def bootstrap(
    statistic: Statistic,
    design: Any,
    *,
    takes: str = "weights",
    vectorized: bool = False,
    n_resamples: int = 1_000,
    confidence_level: float = 0.95,
    method: str = "percentile",
    correction: str | None = None,
    singleton: str = "raise",
    rng: Any = None,
    n_jobs: int | None = None,
) -> Bootstrapped:
    """Resample clusters within strata and evaluate a statistic on every resample.

    Parameters
    ----------
    statistic : callable
        Takes the weights of the clusters, a (C,) array of how often each was drawn (ones for the data themselves), or their
        positions, and returns a number, a mapping or Series of numbers, or a one-dimensional array. Weights keep labels and
        leave a calibration's rows apart; positions suit what cannot weigh.
    design : ClusterDesign, int, or sequence with a stratum per unit
        What is resampled: the clusters of a design, so many units of one stratum, or one unit per value (a Series keeps its
        index).
    takes : {"weights", "indices"}
    vectorized : bool
        The statistic takes (b, C) weights or a (b, n) array of positions, and returns (b,) or (b, K).
    n_resamples : int, default 1,000
    confidence_level : float
    method : {"percentile", "basic", "bca"}
        "bca" also evaluates the statistic without each cluster in turn.
    correction : {"rao-wu", "canty-davison"} or None
        For strata of few clusters. Rao and Wu's needs weights.
    singleton : {"raise", "certainty"}
        What to do with a stratum of one cluster.
    rng : int, numpy Generator or None
        The same number gives the same resamples, byte for byte, at any number of workers.
    n_jobs : int, optional
        Workers of joblib; -1 for all cores. None: one, or as a surrounding ``joblib.parallel_config`` says, whose backend
        (processes, Dask, Ray) is used as well; Ray's takes ``n_jobs=-1`` there.

    Returns
    -------
    Bootstrapped

    Raises
    ------
    ResamplingError
        The statistic failed on more than 5% of the resamples; the message counts the reasons.
    ClusterDesignError
        A stratum has one cluster.

    Warns
    -----
    DegenerateBootstrapWarning
        A BCa interval does not exist; the percentile interval stands in its place.

    Notes
    -----
    A resample fails where the statistic raises an Exception or returns nan where its value on the data is a number; failures
    are counted and named in ``.failures``. Block k of 64 resamples has the k-th child of the seed as its stream. Other processes
    import the statistic, or get its code if it is local or a lambda. Statistics that use BLAS with several threads may differ in
    the last bit between machines.

    Examples
    --------
    >>> import psychoedu as pe
    >>> values = np.array([0.2, 0.6, 0.5, 0.9])
    >>> found = pe.bootstrap(lambda w: np.average(values, weights=w), ["A", "A", "B", "B"], rng=1, n_resamples=2_000)
    >>> f"{found.estimate.iloc[0]:.2f} (SE {found.standard_error.iloc[0]:.2f})"
    '0.55 (SE 0.10)'
    """
    if not callable(statistic):
        raise DataError(f"statistic has to be a function of weights or indices; got {statistic!r}.")
    takes = check_choice(takes, ("weights", "indices"), "takes")
    method = check_choice(method, METHODS, "method")
    vectorized = check_flag(vectorized, "vectorized")
    size = check_integer(n_resamples, "n_resamples", minimum=2)
    level = check_probability(confidence_level, "confidence_level")
    if correction is not None:
        correction = check_choice(correction, CORRECTIONS, "correction")
    if correction == "rao-wu" and takes == "indices":
        raise DataError(
            'correction="rao-wu" weighs clusters n/(n - 1) times, which indices cannot say. Expected takes="weights".'
        )
    layout = layout_of(design, correction, check_choice(singleton, ("raise", "certainty"), "singleton"))
    seed = seed_of(rng)
    jobs = None if n_jobs is None else check_jobs(n_jobs)
    names, values = _named(statistic(_everything(layout, takes, vectorized)), vectorized)
    run = partial(_run_block, statistic, layout, seed, takes, vectorized, names)
    calls = [partial(run, block, min(BLOCK, size - block * BLOCK)) for block in range(-(-size // BLOCK))]
    done = _in_parallel(calls, jobs)
    raw = np.concatenate([one[0] for one in done])
    failures = _failures(raw, values, [reason for one in done for reason in one[1]], names)
    kept = np.ones(size, dtype=bool)
    kept[failures["resample"].to_numpy(dtype=np.int64)] = False
    sizes = np.array([len(own) for own, draws in zip(layout.members, layout.n_draws, strict=True) if draws])
    drawn = inflate(raw[kept], values, inflation(sizes, correction))
    limits, methods = _limits(statistic, layout, takes, vectorized, method, names, values, drawn, level)
    certain = [layout.labels[at] for at, draws in enumerate(layout.n_draws) if not draws]
    return Bootstrapped(
        names=names,
        values=values,
        limits=limits,
        methods=methods,
        resamples=drawn,
        failures=failures,
        sizes=pd.Series([len(own) for own in layout.members], index=layout.labels.rename("stratum"), name="n_clusters"),
        n_resamples=size,
        confidence_level=level,
        correction=correction,
        seed=seed.entropy,
        diagnostics=(f"taken as certain, without sampling error (one cluster): {listed(certain)}",) if certain else (),
        version=__version__,
    )


def layout_of(design: Any, correction: str | None = None, singleton: str = "raise") -> Layout:
    """Turn a design, a number of units or a stratum per unit into what is resampled."""
    word = "unit"
    if isinstance(design, ClusterDesign):
        labels, of, word = design.strata, design.stratum_of, design.cluster_word
    elif isinstance(design, int | np.integer) and not isinstance(design, bool):
        labels, of = pd.Index([ONLY]), np.zeros(check_integer(design, "design", minimum=1), dtype=np.int64)
    elif isinstance(design, pd.Series | pd.Index | np.ndarray | Sequence) and not isinstance(design, str):
        series = pd.Series(design)
        if series.isna().any():
            raise ClusterDesignError(f"{counted(int(series.isna().sum()), 'unit')} without a stratum. Expected a label for each.")
        codes, found = pd.factorize(series, sort=True)
        labels, of = pd.Index(found, tupleize_cols=False), codes.astype(np.int64)
    else:
        raise DataError(
            f"design has to be a ClusterDesign, a number of units or a stratum for each unit; got {type(design).__name__}.\n"
            "A table of rewards becomes one with ClusterDesign.from_long(frame)."
        )
    if not len(of):
        raise ClusterDesignError("The design has no units, so there is nothing to resample.")
    members = [np.flatnonzero(of == at) for at in range(len(labels))]
    single = [at for at, own in enumerate(members) if len(own) == 1]
    if single and (singleton == "raise" or len(single) == len(members)):
        where = "the only stratum" if len(members) == 1 else listed(labels[single])
        mend = "" if len(single) == len(members) else ' Pass singleton="certainty" to take it as fixed.'
        raise ClusterDesignError(
            f"{counted(len(single), 'stratum') if len(single) == 1 else f'{len(single)} strata'} with one {word}: {where}. "
            f"The spread between {word}s does not exist.\nExpected at least two.{mend}"
        )
    draws = [0 if len(own) == 1 else n_draws(len(own), correction) for own in members]
    return Layout(labels, members, draws, len(of))


def _everything(layout: Layout, takes: str, vectorized: bool) -> FloatArray | IntArray:
    whole: Any = np.ones(layout.n) if takes == "weights" else np.arange(layout.n)
    found: FloatArray | IntArray = whole[None, :] if vectorized else whole
    return found


def _in_parallel(calls: Sequence[Callable[[], Any]], n_jobs: int | None) -> list[Any]:
    if n_jobs is None:
        import sys

        if "joblib" not in sys.modules:  # nobody can have configured it
            return [call() for call in calls]
        import joblib

        found: list[Any] = joblib.Parallel()(joblib.delayed(call)() for call in calls)
        return found
    return in_parallel(calls, n_jobs)


def draw_block(layout: Layout, seed: Seed, block: int, count: int, takes: str) -> FloatArray | IntArray:
    """Draw a block of resamples: (count, C) weights or (count, n) positions, strata one after the other."""
    generator = seed.generator(block)
    weights = np.zeros((count, layout.n))
    positions: list[IntArray] = []
    rows = np.arange(count)[:, None]
    for own, draws in zip(layout.members, layout.n_draws, strict=True):
        if not draws:
            weights[:, own] = 1.0
            positions.append(np.broadcast_to(own, (count, 1)))
            continue
        places = own[draw_places(generator, count, len(own), draws)]
        positions.append(places)
        np.add.at(weights, (rows, places), len(own) / draws)
    return weights if takes == "weights" else np.concatenate(positions, axis=1)


def _run_block(
    statistic: Statistic, layout: Layout, seed: Seed, takes: str, vectorized: bool, names: pd.Index, block: int, count: int
) -> tuple[FloatArray, list[tuple[int, str]]]:
    """Evaluate one block; resamples that raise are nan, with their number and reason."""
    drawn = draw_block(layout, seed, block, count, takes)
    if vectorized:
        found = np.asarray(statistic(drawn), dtype=np.float64)
        if found.shape not in ((count, len(names)), *(((count,),) if len(names) == 1 else ())):
            raise DataError(
                f"The vectorized statistic gave an array of shape {found.shape} for {count} resamples; expected "
                f"({count}, {len(names)}): a row per resample."
            )
        return found.reshape(count, len(names)), []
    values, reasons = np.full((count, len(names)), np.nan), []
    for row in range(count):
        try:
            values[row] = _aligned(statistic(drawn[row]), names)
        except Exception as error:
            first = str(error).splitlines()[0] if str(error) else ""
            reasons.append((block * BLOCK + row, f"{type(error).__name__}: {first}" if first else type(error).__name__))
    return values, reasons


def _aligned(value: Any, names: pd.Index) -> FloatArray:
    """Return the values of a statistic in the order of its names on all the data; other names or another length are a failure."""
    own, values = _named(value, vectorized=False)
    if len(own) != len(names):
        raise DataError(f"{len(own)} values, where all the data give {len(names)}")
    if own.equals(names):
        return values
    place = own.get_indexer(names) if own.is_unique else np.full(len(names), -1)
    if (place < 0).any():
        raise DataError("other names than on all the data")
    placed: FloatArray = values[place]
    return placed


def _named(value: Any, vectorized: bool) -> tuple[pd.Index, FloatArray]:
    """Return the names and values of what a statistic gave."""
    try:
        return _numbers_of(value, vectorized)
    except (TypeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"The statistic gave {shown(value)[:80]}; expected a number, an array, a Series or a mapping.") from error


def _numbers_of(value: Any, vectorized: bool) -> tuple[pd.Index, FloatArray]:
    if isinstance(value, pd.Series):
        return value.index, value.to_numpy(dtype=np.float64, na_value=np.nan)
    if isinstance(value, Mapping):
        keys: list[Hashable] = list(value)
        return pd.Index(keys, tupleize_cols=False), np.array([float(each) for each in value.values()], dtype=np.float64)
    array = np.asarray(value, dtype=np.float64)
    if vectorized and array.ndim:
        array = array[0]
    if array.ndim > 1 or array.size == 0:
        raise DataError(f"The statistic gave an array of shape {array.shape}; expected a number or one dimension.")
    names = pd.Index(["statistic"]) if array.ndim == 0 else pd.RangeIndex(array.size)
    return names, np.atleast_1d(array)


def _failures(raw: FloatArray, values: FloatArray, raised: list[tuple[int, str]], names: pd.Index) -> pd.DataFrame:
    """List the resamples that failed, or raise where they are more than 5%."""
    reasons = dict(raised)
    for row, column in zip(*np.nonzero(~np.isfinite(raw) & np.isfinite(values)), strict=True):
        reasons.setdefault(int(row), f"{raw[row, column]:g} in {names[column]!r}")
    if len(reasons) > MOST_FAILED * len(raw):
        counts = pd.Series(list(reasons.values())).value_counts().head(3)
        named = "; ".join(f"{n:,} x {reason}" for reason, n in counts.items())
        raise ResamplingError(
            f"The statistic failed on {len(reasons):,} of {len(raw):,} resamples: {named}.\n"
            f"Expected at most {MOST_FAILED:.0%}: an interval from the others would speak of those on which it works."
        )
    rows = sorted(reasons)
    return pd.DataFrame(
        {"resample": np.array(rows, dtype=np.int64), "reason": pd.array([reasons[row] for row in rows], dtype=object)}
    )


def _limits(
    statistic: Statistic,
    layout: Layout,
    takes: str,
    vectorized: bool,
    method: str,
    names: pd.Index,
    values: FloatArray,
    drawn: FloatArray,
    level: float,
) -> tuple[FloatArray, tuple[str, ...]]:
    percentile = percentile_limits(drawn, level)
    if method == "percentile":
        return percentile, ("percentile",) * len(values)
    if method == "basic":
        return basic_limits(drawn, values, level), ("basic",) * len(values)
    influence = _jackknife(statistic, layout, takes, vectorized, names, values)
    limits, degenerate = bca_limits(drawn, values, acceleration(influence), level)
    if degenerate.any():
        warnings.warn(
            f"The BCa interval does not exist for {counted(int(degenerate.sum()), 'component')}: all resamples lie on "
            "one side of the estimate.\nThe percentile interval is given in its place, and says so.",
            DegenerateBootstrapWarning,
            stacklevel=4,
        )
    return np.where(degenerate, percentile, limits), tuple("percentile" if bad else "bca" for bad in degenerate)


def _jackknife(
    statistic: Statistic, layout: Layout, takes: str, vectorized: bool, names: pd.Index, values: FloatArray
) -> list[FloatArray]:
    """Return (n - 1)(theta - theta without cluster i) by stratum; weights of the others in it are scaled up."""
    found = []
    for own, draws in zip(layout.members, layout.n_draws, strict=True):
        rows = []
        for at in own if draws else []:
            whole: Any = np.ones(layout.n) if takes == "weights" else np.delete(np.arange(layout.n), at)
            if takes == "weights":
                whole[own] = len(own) / (len(own) - 1.0)
                whole[at] = 0.0
            left = statistic(whole[None, :] if vectorized else whole)
            without = _named(left, vectorized)[1] if vectorized else _aligned(left, names)
            rows.append((len(own) - 1.0) * (values - without))
        if rows:
            found.append(np.array(rows))
    return found
