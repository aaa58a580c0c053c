"""From variance components to the errors of a design: universe, relative and absolute variance, half-widths, sizes needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit

from psychoedu._typing import FloatArray
from psychoedu.bootstrap.variance_components import Effect

LARGEST = 1_000_000_000
"""Beyond this many tasks a design is none."""


@dataclass(frozen=True, eq=False)
class Universe:
    """What a mean is generalised over.

    Parameters
    ----------
    effects : tuple of tuple of int
        Positions of the facets of each effect; 0 is the object of measurement (the model).
    components : ndarray, (E,)
        Variance of each effect, none below 0.
    random : tuple of bool
        For each facet whether its levels are a sample (the object of measurement counts as random, and is not asked).
    nested : bool
        The last facet lies within the cells of the others.
    """

    effects: tuple[Effect, ...]
    components: FloatArray
    random: tuple[bool, ...]
    nested: bool

    def random_in(self, effect: Effect) -> tuple[int, ...]:
        """Return the random facets of an effect, the object of measurement aside."""
        return tuple(facet for facet in effect if facet and self.random[facet])

    @property
    def has_error(self) -> bool:
        """Tell whether any effect of the model is error: with every facet fixed none is, and the error is unknown."""
        return any(0 in effect and self.random_in(effect) for effect in self.effects)


@dataclass(frozen=True)
class Errors:
    """Variance of the universe score and of the two errors of a mean.

    Parameters
    ----------
    universe, relative, absolute : float
    generalizability, dependability : float
        universe / (universe + relative) and universe / (universe + absolute); nan for 0 / 0.
    """

    universe: float
    relative: float
    absolute: float

    @property
    def generalizability(self) -> float:
        """Generalizability coefficient, E rho^2."""
        return _ratio(self.universe, self.relative)

    @property
    def dependability(self) -> float:
        """Index of dependability, Phi."""
        return _ratio(self.universe, self.absolute)


def _ratio(signal: float, noise: float) -> float:
    return signal / (signal + noise) if signal + noise > 0.0 else np.nan


def shares_of_sizes(effects: Sequence[Effect], sizes: Sequence[float]) -> FloatArray:
    """Return 1 / product of the numbers of levels of each effect's facets, the object of measurement aside, (E,).

    Examples
    --------
    >>> shares_of_sizes(((0,), (1,), (0, 1), (0, 1, 2)), (5, 10, 4)).tolist()
    [1.0, 0.1, 0.1, 0.025]
    """
    return np.array([1.0 / np.prod([sizes[facet] for facet in effect if facet], dtype=np.float64) for effect in effects])


def split_errors(universe: Universe, shares: FloatArray) -> Errors:
    """Divide the variance of a mean into universe score, relative and absolute error.

    Parameters
    ----------
    universe : Universe
    shares : ndarray, (E,)
        By how much each component counts in the variance of a mean, see :func:`shares_of_sizes`.

    Returns
    -------
    Errors

    Notes
    -----
    An effect of the object of measurement whose other facets are all fixed belongs to the universe score; one with a random facet
    is relative error; that and every other effect with a random facet is absolute error (Brennan 2001, ch. 4-5).
    """
    own, relative, absolute = 0.0, 0.0, 0.0
    for effect, value in zip(universe.effects, universe.components * shares, strict=True):
        error = bool(universe.random_in(effect))
        own += value if 0 in effect and not error else 0.0
        relative += value if 0 in effect and error else 0.0
        absolute += value if error else 0.0
    return Errors(float(own), float(relative), float(absolute))


def degrees_of_freedom(universe: Universe, sizes: Sequence[float], difference: bool) -> float:
    """Return the degrees of freedom of an interval of a mean, or of the difference of two.

    Parameters
    ----------
    universe : Universe
    sizes : sequence of float
        Number of levels of each facet.
    difference : bool
        Count the effects of the object of measurement alone.

    Returns
    -------
    float
        nan where a random facet that brings error has one level.

    Notes
    -----
    Errors with the same random facets form one mean square of prod(n - 1) degrees of freedom; nested repeats are part of the
    mean square of their cells where one of the other facets is random. One mean square (random tasks alone): exact, tasks - 1.
    Several: Satterthwaite's (sum v)^2 / sum(v^2 / df).
    """
    shares = shares_of_sizes(universe.effects, sizes)
    squares: dict[tuple[int, ...], float] = {}
    degrees: dict[tuple[int, ...], float] = {}
    last = len(sizes) - 1
    for effect, value in zip(universe.effects, universe.components * shares, strict=True):
        key = universe.random_in(effect)
        if not key or (difference and 0 not in effect):
            continue
        own = 1.0
        if universe.nested and last in key:
            key = tuple(facet for facet in key if facet != last) or (last,)
            if key == (last,):
                own = float(np.prod([sizes[facet] for facet in effect if facet not in (0, last)], dtype=np.float64))
        squares[key] = squares.get(key, 0.0) + float(value)
        degrees[key] = own * float(np.prod([sizes[facet] - 1.0 for facet in key], dtype=np.float64))
    if len(squares) == 1:  # also where its variance is estimated as 0
        (only,) = degrees.values()
        return only if only > 0.0 else np.nan
    counted = {key: value for key, value in squares.items() if value > 0.0}
    if not counted:
        return min((value for value in degrees.values() if value > 0.0), default=np.nan)
    if any(degrees[key] <= 0.0 for key in counted):
        return np.nan
    return sum(counted.values()) ** 2 / sum(value**2 / degrees[key] for key, value in counted.items())


def half_width(universe: Universe, sizes: Sequence[float], difference: bool, confidence_level: float) -> float:
    """Return the half-width of an interval of a mean, or of the difference of two means on the same tasks.

    Parameters
    ----------
    universe : Universe
    sizes : sequence of float
    difference : bool
    confidence_level : float

    Returns
    -------
    float
        t times the square root of the absolute error variance, or of twice the relative one; nan where a random facet that brings
        error has one level.
    """
    errors = split_errors(universe, shares_of_sizes(universe.effects, sizes))
    variance = 2.0 * errors.relative if difference else errors.absolute
    degrees = degrees_of_freedom(universe, sizes, difference)
    if np.isnan(degrees):
        return np.nan
    upper = 0.5 + confidence_level / 2.0
    quantile = ndtri(upper) if np.isinf(degrees) else stdtrit(degrees, upper)
    return float(quantile * np.sqrt(variance))


def smallest(reaches: Callable[[int], bool], start: int = 2) -> int | None:
    """Return the smallest whole number from ``start`` on for which a condition that stays true holds; None beyond 1e9.

    Examples
    --------
    >>> smallest(lambda n: n * n > 50)
    8
    """
    if reaches(start):
        return start
    low, high = start, 2 * start
    while not reaches(high):
        if high > LARGEST:
            return None
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high
