"""Power of the paired comparison of two models on the same tasks, and the sizes it asks for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import optimize

from psychoedu.bootstrap.decision_study import LARGEST, smallest
from psychoedu.bootstrap.generalizability_results import Generalizability
from psychoedu.exceptions import DataError
from psychoedu.validation import check_choice, check_integer, check_number, check_positive, check_probability

__all__ = ["design_effect", "minimum_detectable_difference", "power", "power_table", "tasks_for_power"]

ALTERNATIVES = ("two-sided", "greater", "less")
LARGE_SAMPLE = 1_000_000
"""Beyond these degrees of freedom the noncentral t is taken as normal (Johnson et al. 1995, ch. 31): within 1e-11."""
LARGE_DELTA = 30.0
"""Noncentrality beyond which SciPy's series for the noncentral t may not converge."""


@dataclass(frozen=True)
class _Test:
    """A paired t test over tasks: SD over tasks of the difference, level and direction."""

    sd: float
    alpha: float
    alternative: str

    def power(self, difference: float, n_tasks: int) -> float:
        """Return the probability of rejecting no difference."""
        signed = -difference if self.alternative == "less" else difference
        return _power_of(signed * math.sqrt(n_tasks) / self.sd, n_tasks - 1, self.alpha, self.alternative == "two-sided")


def _power_of(noncentrality: float, degrees: int, alpha: float, two_sided: bool) -> float:
    """Return P(|T| > t) or P(T > t), T noncentral t."""
    from scipy import stats  # here: it takes a second to import, and nothing else needs it

    critical = float(stats.t.isf(alpha / 2.0 if two_sided else alpha, degrees))
    delta = abs(noncentrality) if two_sided else noncentrality
    lower = _upper_tail(critical, degrees, -delta) if two_sided else 0.0
    return min(_upper_tail(critical, degrees, delta) + lower, 1.0)


def _upper_tail(critical: float, degrees: int, delta: float) -> float:
    """Return P(T > critical), critical at least 0; SciPy's noncentral t where its series converge."""
    from scipy import stats

    if degrees > LARGE_SAMPLE:
        spread = math.sqrt(1.0 + critical**2 / (2.0 * degrees))
        return float(stats.norm.sf((critical * (1.0 - 0.25 / degrees) - delta) / spread))
    if delta < 0.0:
        # P(T < -critical) of the other sign: SciPy gives nan far out, where the probability is below 1e-13
        found = float(stats.nct.cdf(-critical, degrees, -delta)) if delta > -LARGE_DELTA else 0.0
        return 0.0 if math.isnan(found) else found
    if delta <= LARGE_DELTA:
        return float(stats.nct.sf(critical, degrees, delta))
    # mean over the normal numerator z of P(chi^2 < df z^2 / t^2); the trapezoidal rule is exact to rounding
    z, step = np.linspace(-9.0, 9.0, 4001, retstep=True)
    inside = stats.chi2.cdf(degrees * ((delta + z) / critical) ** 2, degrees)
    return min(float(np.sum(stats.norm.pdf(z) * inside) * step), 1.0)


def design_effect(items_per_task: float, intraclass_correlation: float, size_cv: float = 0.0) -> float:
    """Return by how much clustering of items in tasks multiplies the variance of a mean over items.

    Parameters
    ----------
    items_per_task : float
        Mean number of items of a task, m.
    intraclass_correlation : float
        Correlation rho of two items' scores (or differences) of one task, at least -1 / (m - 1).
    size_cv : float
        Coefficient of variation of the tasks' numbers of items, their SD over their mean.

    Returns
    -------
    float
        1 + ((1 + cv^2) m - 1) rho; above 1 for positive rho.

    References
    ----------
    Kish, L. (1965). *Survey sampling*. Wiley. Eldridge, S. M., Ashby, D., & Kerry, S. (2006). Sample size for cluster randomized
    trials: effect of coefficient of variation of cluster size and analysis method. *International Journal of Epidemiology, 35*,
    1292-1300.

    Examples
    --------
    >>> design_effect(10, 0.1)
    1.9
    """
    size, spread = check_number(items_per_task, "items_per_task"), check_number(size_cv, "size_cv")
    correlation = check_number(intraclass_correlation, "intraclass_correlation")
    if size < 1.0 or spread < 0.0:
        raise DataError(
            f"Expected items_per_task of at least 1 and size_cv of at least 0; got {items_per_task!r} and {size_cv!r}."
        )
    effect = 1.0 + ((1.0 + spread**2) * size - 1.0) * correlation
    if not (correlation <= 1.0 and effect >= 0.0):
        raise DataError(
            f"intraclass_correlation has to lie between -1 / (items per task - 1) and 1; got {intraclass_correlation!r} with "
            f"{size:g} items a task."
        )
    return effect


def power(
    difference: float,
    n_tasks: int,
    components: Generalizability | None = None,
    sd_of_difference: float | None = None,
    n_repeats: int | None = None,
    *,
    items_per_task: float = 1,
    intraclass_correlation: float = 0.0,
    size_cv: float = 0.0,
    alpha: float = 0.05,
    alternative: str = "two-sided",
) -> float:
    """Return the power of the paired t test of two models on the same tasks.

    Parameters
    ----------
    difference : float
        True difference of the two means, in units of the reward.
    n_tasks : int
        Number of tasks k, at least 2.
    components : Generalizability, optional
        Where the standard deviation of the difference comes from: that of an average pair of models.
    sd_of_difference : float, optional
        Standard deviation over tasks of the difference of the two models on one task, instead of ``components``; with
        ``items_per_task``, that of the difference on one item.
    n_repeats : int, optional
        Repeats that each reward is the mean of, with ``components``; None as in the study.
    items_per_task, intraclass_correlation, size_cv : float
        With ``sd_of_difference``, where a task is a cluster of items: see :func:`design_effect`.
    alpha : float
        Level of the test.
    alternative : {"two-sided", "greater", "less"}

    Returns
    -------
    float

    Raises
    ------
    DataError
        Neither or both of ``components`` and ``sd_of_difference`` are given, or an argument is out of its range.

    Notes
    -----
    Exact where the differences over tasks are normal: T = mean / (sd / sqrt(k)) has a noncentral t distribution with k - 1
    degrees of freedom and noncentrality difference sqrt(k) / sd, and power = P(|T| > t_{1 - alpha/2, k - 1}).

    - from components: sd^2 = 2 (sigma^2(model x task) + sigma^2(repeat) / n_repeats), see ``Generalizability.sd_of_difference``;
    - clusters: sd^2 = sd_item^2 design_effect / items_per_task. The task stays the unit: k - 1 degrees of freedom, however many
      items there are.

    References
    ----------
    Cohen, J. (1988). *Statistical power analysis for the behavioral sciences* (2nd ed.). Erlbaum. Johnson, N. L., Kotz, S., &
    Balakrishnan, N. (1995). *Continuous univariate distributions* (Vol. 2, 2nd ed.). Wiley.

    Examples
    --------
    >>> round(power(0.05, n_tasks=34, sd_of_difference=0.1), 4)
    0.8078
    """
    count = check_integer(n_tasks, "n_tasks", 2)
    test = _test(components, sd_of_difference, n_repeats, items_per_task, intraclass_correlation, size_cv, alpha, alternative)
    return test.power(check_number(difference, "difference"), count)


def minimum_detectable_difference(
    n_tasks: int,
    components: Generalizability | None = None,
    sd_of_difference: float | None = None,
    n_repeats: int | None = None,
    *,
    power: float = 0.8,
    items_per_task: float = 1,
    intraclass_correlation: float = 0.0,
    size_cv: float = 0.0,
    alpha: float = 0.05,
    alternative: str = "two-sided",
) -> float:
    """Return the smallest difference of two models that a number of tasks detects with the power asked for.

    Parameters
    ----------
    n_tasks : int
    components, sd_of_difference, n_repeats, items_per_task, intraclass_correlation, size_cv, alpha, alternative
        See :func:`power`.
    power : float
        Above ``alpha``.

    Returns
    -------
    float
        In units of the reward; below 0 for ``alternative="less"``.

    Raises
    ------
    DataError
        See :func:`power`; or the power is not above ``alpha``.

    Examples
    --------
    >>> round(minimum_detectable_difference(100, sd_of_difference=0.3), 4)
    0.0849
    """
    count = check_integer(n_tasks, "n_tasks", 2)
    target = _target(power, alpha)
    test = _test(components, sd_of_difference, n_repeats, items_per_task, intraclass_correlation, size_cv, alpha, alternative)
    two_sided = alternative == "two-sided"

    def excess(noncentrality: float) -> float:
        return _power_of(noncentrality, count - 1, alpha, two_sided) - target

    high = 1.0
    while excess(high) < 0.0:
        high *= 2.0
    noncentrality = float(optimize.brentq(excess, 0.0, high, xtol=1e-12, rtol=1e-14))
    found = noncentrality * test.sd / math.sqrt(count)
    return -found if alternative == "less" else found


def tasks_for_power(
    difference: float,
    components: Generalizability | None = None,
    sd_of_difference: float | None = None,
    n_repeats: int | None = None,
    *,
    power: float = 0.8,
    items_per_task: float = 1,
    intraclass_correlation: float = 0.0,
    size_cv: float = 0.0,
    alpha: float = 0.05,
    alternative: str = "two-sided",
) -> int:
    """Return the smallest number of tasks that detects a difference of two models with the power asked for.

    Parameters
    ----------
    difference : float
        Not 0, and of the sign that ``alternative`` names.
    components, sd_of_difference, n_repeats, items_per_task, intraclass_correlation, size_cv, alpha, alternative
        See :func:`power`.
    power : float
        Above ``alpha``.

    Returns
    -------
    int
        At least 2.

    Raises
    ------
    DataError
        See :func:`power`; or the difference is 0 or of the other sign, or more than a billion tasks would be needed.

    Examples
    --------
    >>> tasks_for_power(0.05, sd_of_difference=0.1)
    34
    """
    gap, target = check_number(difference, "difference"), _target(power, alpha)
    test = _test(components, sd_of_difference, n_repeats, items_per_task, intraclass_correlation, size_cv, alpha, alternative)
    wanted = {"two-sided": gap != 0.0, "greater": gap > 0.0, "less": gap < 0.0}[alternative]
    if not wanted:
        expected = "other than 0" if alternative == "two-sided" else "above 0" if alternative == "greater" else "below 0"
        raise DataError(
            f"difference has to be {expected} with alternative={alternative!r}; got {difference!r}: no number of tasks shows it."
        )
    found = smallest(lambda count: test.power(gap, count) >= target)
    if found is None:
        raise DataError(
            f"More than {LARGEST:,} tasks are needed for a difference of {gap:g} where its SD over tasks is {test.sd:g}."
        )
    return found


def power_table(
    differences: Sequence[float],
    n_tasks: Sequence[int],
    components: Generalizability | None = None,
    sd_of_difference: float | None = None,
    n_repeats: int | None = None,
    *,
    items_per_task: float = 1,
    intraclass_correlation: float = 0.0,
    size_cv: float = 0.0,
    alpha: float = 0.05,
    alternative: str = "two-sided",
) -> pd.DataFrame:
    """Return the power of each difference with each number of tasks.

    Parameters
    ----------
    differences : sequence of float
    n_tasks : sequence of int
    components, sd_of_difference, n_repeats, items_per_task, intraclass_correlation, size_cv, alpha, alternative
        See :func:`power`.

    Returns
    -------
    DataFrame
        Rows are differences, columns numbers of tasks.

    Examples
    --------
    >>> power_table([0.05, 0.1], [20, 50, 100], sd_of_difference=0.3).round(3)
    n_tasks       20     50     100
    difference
    0.05        0.109  0.211  0.379
    0.10        0.294  0.637  0.910
    """
    for values, name in ((differences, "differences"), (n_tasks, "n_tasks")):
        if np.ndim(values) != 1 or not len(values):
            raise DataError(f"{name} has to be a list of numbers; got {values!r}.")
    gaps = [check_number(value, "difference") for value in differences]
    counts = [check_integer(value, "n_tasks", 2) for value in n_tasks]
    test = _test(components, sd_of_difference, n_repeats, items_per_task, intraclass_correlation, size_cv, alpha, alternative)
    return pd.DataFrame(
        [[test.power(gap, count) for count in counts] for gap in gaps],
        index=pd.Index(gaps, name="difference"),
        columns=pd.Index(counts, name="n_tasks"),
    )


def _target(power: object, alpha: object) -> float:
    target = check_probability(power, "power")
    if target <= check_probability(alpha, "alpha"):
        raise DataError(f"power has to be above alpha, which no difference at all reaches; got power={power!r}, alpha={alpha!r}.")
    return target


def _test(
    components: Generalizability | None,
    sd_of_difference: float | None,
    n_repeats: int | None,
    items_per_task: float,
    intraclass_correlation: float,
    size_cv: float,
    alpha: float,
    alternative: str,
) -> _Test:
    """Check the arguments that all functions share."""
    level = check_probability(alpha, "alpha")
    if level >= 0.5:
        raise DataError(
            f"alpha has to be below 0.5; got {alpha!r}. It is the level of the test, as 0.05, not the confidence level."
        )
    side = check_choice(alternative, ALTERNATIVES, "alternative")
    factor = design_effect(items_per_task, intraclass_correlation, size_cv) / items_per_task
    if (components is None) == (sd_of_difference is None):
        given = "neither" if components is None else "both"
        raise DataError(
            f"Expected one of components (a Generalizability) and sd_of_difference (a number); got {given}.\n"
            "Make the components with generalizability(rewards, ...), or take the SD over tasks of a pilot's differences."
        )
    if sd_of_difference is not None:
        if n_repeats is not None:
            raise DataError("n_repeats needs components, which say how much of the SD comes from repeats; got sd_of_difference.")
        deviation = check_positive(sd_of_difference, "sd_of_difference") * math.sqrt(factor)
    else:
        if not isinstance(components, Generalizability):
            raise DataError(
                f"components has to be a Generalizability; got {type(components).__name__}. Make it with generalizability(...)."
            )
        if items_per_task != 1 or intraclass_correlation != 0.0 or size_cv != 0.0:
            raise DataError(
                "Items within tasks go with sd_of_difference; the components are of whole tasks. Pass one or the other."
            )
        deviation = components.sd_of_difference(n_repeats)
    if deviation <= 0.0:
        raise DataError(
            "The differences do not vary over tasks (SD 0), so the test and its power do not exist. Give sd_of_difference."
        )
    return _Test(deviation, level, side)
