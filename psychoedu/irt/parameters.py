"""Which parameters of a 2PL calibration are free, and how the free ones make up the full set.

The full vector is (a_1..a_J, d_1..d_J, mean_1..mean_G, log sd_1..log sd_G). Each entry is either fixed at a value or equal to one
free parameter; a free parameter may serve several entries (the common slope of the 1PL). Identification: the reference group is
N(0, 1), unless fixed items or a fixed slope hold the scale (Kolen & Brennan, 2014, section 6.1).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from psychoedu._typing import AnyArray, BoolArray, FloatArray, IntArray

FIXED = -1


@dataclass(frozen=True, slots=True)
class ParameterMap:
    """Map between free parameters and the full vector.

    Attributes
    ----------
    n_items, n_groups : int
    index : (2J + 2G,) int array
        Position of each full entry among the free ones, or ``FIXED``; where no two entries share one, in rising order.
    values : (2J + 2G,) array
        Values of the fixed entries, starting values of the others.
    n_free : int
        Number of free parameters.
    used : int array
        Full entries that are free.
    """

    n_items: int
    n_groups: int
    index: IntArray
    values: FloatArray
    n_free: int = field(init=False)
    used: IntArray = field(init=False)

    def __post_init__(self) -> None:
        """Count the free parameters, and note which full entries they serve."""
        object.__setattr__(self, "n_free", int(self.index.max(initial=-1)) + 1)
        object.__setattr__(self, "used", np.flatnonzero(self.index != FIXED))

    def start(self) -> FloatArray:
        """Return starting values of the free parameters (the mean of the entries that share one)."""
        used = self.used
        total = np.bincount(self.index[used], weights=self.values[used], minlength=self.n_free)
        return total / np.bincount(self.index[used], minlength=self.n_free)

    def expand(self, free: FloatArray) -> FloatArray:
        """Full vector for these free parameters; fixed entries come back to the bit."""
        full = self.values.copy()
        used = self.used
        full[used] = free[self.index[used]]
        return full

    def reduce(self, gradient: FloatArray) -> FloatArray:
        """Gradient with respect to the free parameters from that of the full ones."""
        used = self.used
        if used.size == self.n_free:
            return gradient[used]
        return np.bincount(self.index[used], weights=gradient[used], minlength=self.n_free).astype(np.float64)

    def reduce_matrix(self, matrix: FloatArray) -> FloatArray:
        """Second derivatives with respect to the free parameters from those of the full ones."""
        used = self.used
        target = self.index[used]
        if used.size == self.n_free:
            return matrix[np.ix_(used, used)]
        rows = np.zeros((self.n_free, matrix.shape[1]))
        np.add.at(rows, target, matrix[used])
        reduced = np.zeros((self.n_free, self.n_free))
        np.add.at(reduced.T, target, rows[:, used].T)
        return reduced

    def split(self, full: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Discriminations, intercepts, means and log SDs (views of ``full``)."""
        j, g = self.n_items, self.n_groups
        return full[:j], full[j : 2 * j], full[2 * j : 2 * j + g], full[2 * j + g :]


def parameter_map(
    model: str,
    start_discrimination: FloatArray,
    start_intercept: FloatArray,
    n_groups: int = 1,
    reference: int = 0,
    fixed: BoolArray | None = None,
    start_mean: float = 0.0,
    start_sd: float = 1.0,
) -> ParameterMap:
    """Lay out the free parameters of a model.

    Parameters
    ----------
    model : {"2pl", "1pl", "rasch"}
        "1pl": one common slope, reference group N(0, 1). "rasch": slopes 1, every group's SD free, reference mean 0.
    start_discrimination, start_intercept : (J,) arrays
        Starting values; for fixed items the values to keep.
    start_mean, start_sd : float
        Where the groups' free means and SDs start.
    n_groups, reference : int
        Number of groups and the one that is N(0, 1).
    fixed : (J,) bool array, optional
        Items whose parameters are kept. Where one of them has a slope, all group means and SDs are free, also the reference's.

    Returns
    -------
    ParameterMap
    """
    n_items = start_discrimination.size
    held = np.zeros(n_items, dtype=bool) if fixed is None else fixed
    n_full = 2 * n_items + 2 * n_groups
    values = np.concatenate([start_discrimination, start_intercept, np.zeros(2 * n_groups)])
    free: AnyArray = np.ones(n_full, dtype=bool)
    free[:n_items] = ~held
    free[n_items : 2 * n_items] = ~held
    if model == "rasch":
        free[:n_items] = False
        values[:n_items][~held] = 1.0
    anchored = bool((held & (start_discrimination != 0.0)).any())
    free[2 * n_items + reference] = anchored
    free[2 * n_items + n_groups + reference] = anchored or model == "rasch"
    population = free[2 * n_items :]
    values[2 * n_items :][population] = np.repeat([start_mean, np.log(start_sd)], n_groups)[population]
    index = np.full(n_full, FIXED, dtype=np.int64)
    if model == "1pl" and free[:n_items].any():
        slopes = np.flatnonzero(free[:n_items])
        index[slopes] = 0
        rest = np.flatnonzero(free[n_items:]) + n_items
        index[rest] = np.arange(1, rest.size + 1)
    else:
        chosen = np.flatnonzero(free)
        index[chosen] = np.arange(chosen.size)
    return ParameterMap(n_items, n_groups, index, values)


def parameter_order(index: IntArray, n_items: int) -> IntArray:
    """Free parameters in the order in which results list them: a_1, d_1, a_2, d_2, ..., then the means, then the SDs.

    Parameters
    ----------
    index : (2J + 2G,) int array
        See :class:`ParameterMap`.
    n_items : int

    Returns
    -------
    (p,) int array
        A common slope stands where its first item does.
    """
    listed = np.concatenate([index[: 2 * n_items].reshape(2, n_items).T.ravel(), index[2 * n_items :]])
    listed = listed[listed != FIXED]
    _, first = np.unique(listed, return_index=True)
    order: IntArray = listed[np.sort(first)]
    return order
