"""Priors for calibrations with few respondents, as penalties on the marginal log-likelihood.

The densities are those of Mislevy (1986, Psychometrika 51, 177-195) for the 2PL: discriminations lognormal, difficulties normal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from psychoedu._typing import BoolArray, FloatArray
from psychoedu.exceptions import DataError
from psychoedu.validation import check_number, check_positive


@dataclass(frozen=True, slots=True)
class LogNormal:
    """log x ~ N(mean, sd)."""

    mean: float = 0.0
    sd: float = 0.5


@dataclass(frozen=True, slots=True)
class Normal:
    """x ~ N(mean, sd)."""

    mean: float = 0.0
    sd: float = 2.0


_FAMILIES: dict[str, tuple[str, type[LogNormal | Normal]]] = {
    "discrimination": ("lognormal", LogNormal),
    "difficulty": ("normal", Normal),
}


@dataclass(frozen=True, slots=True)
class Priors:
    """Priors of the item parameters.

    Parameters
    ----------
    discrimination : LogNormal, ("lognormal", mean, sd) or None
        Keeps every discrimination positive. Default: lognormal(0, 0.5), 95% of it within 0.38 and 2.66.
    difficulty : Normal, ("normal", mean, sd) or None
        Default: N(0, 2), in the metric of the population N(0, 1).

    Examples
    --------
    >>> from psychoedu import Priors
    >>> Priors()
    Priors(discrimination=LogNormal(mean=0.0, sd=0.5), difficulty=Normal(mean=0.0, sd=2.0))
    >>> Priors.parse({"discrimination": ("lognormal", 0.0, 0.3), "difficulty": None})
    Priors(discrimination=LogNormal(mean=0.0, sd=0.3), difficulty=None)
    """

    discrimination: LogNormal | None = LogNormal()
    difficulty: Normal | None = Normal()

    def __post_init__(self) -> None:
        """Take densities that are written as tuples, and refuse what is none."""
        for name, (family, kind) in _FAMILIES.items():
            object.__setattr__(self, name, _density(getattr(self, name), name, family, kind))

    @classmethod
    def parse(cls, priors: Any) -> Priors | None:
        """Accept None, True, a Priors object, or {"discrimination": ("lognormal", mean, sd), "difficulty": ("normal", mean, sd)}.

        Raises
        ------
        DataError
            Anything else.
        """
        if priors is None or priors is False:
            return None
        if priors is True:
            return cls()
        if isinstance(priors, cls):
            return priors if priors.discrimination or priors.difficulty else None
        if isinstance(priors, dict) and set(priors) <= set(_FAMILIES):
            given: dict[str, Any] = {name: priors.get(name) for name in _FAMILIES}
            return None if all(density is None for density in given.values()) else cls(**given)
        raise DataError(
            f"priors={priors!r} is not understood. Expected psychoedu.Priors(), True for its defaults, or "
            'a dict such as {"discrimination": ("lognormal", 0, 0.5), "difficulty": ("normal", 0, 2)}.'
        )

    def evaluate(
        self, discrimination: FloatArray, intercept: FloatArray, weight: FloatArray
    ) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        """Log density summed over items, its gradient by a and by d, and minus its second derivatives.

        Parameters
        ----------
        discrimination, intercept, weight : (J,) arrays
            ``weight`` is 1 for an item that the prior applies to, 0 for a fixed one, 1 / J each where one slope serves all
            (the slope's density counts once; difficulties keep weight 1 through ``weight > 0``).

        Returns
        -------
        log_density : float
        by_discrimination, by_intercept : (J,) arrays
        curvature : (3, J) array
            Minus the second derivatives by (a, a), (a, d) and (d, d).
        """
        used = weight > 0  # fixed items may have any slope
        a, d = np.where(used, discrimination, 1.0), np.where(used, intercept, 0.0)
        by_a, by_d, curvature = np.zeros_like(a), np.zeros_like(a), np.zeros((3, a.size))
        total = 0.0
        if self.discrimination is not None:
            mean, sd = self.discrimination.mean, self.discrimination.sd
            z = (np.log(a) - mean) / sd
            total += float(weight @ (-np.log(a) - 0.5 * z**2 - np.log(sd * np.sqrt(2 * np.pi))))
            by_a -= weight * (1.0 + z / sd) / a
            curvature[0] += weight * ((1.0 - z * sd) / sd**2 - 1.0) / a**2
        if self.difficulty is not None:
            once = used.astype(np.float64)
            mean, sd = self.difficulty.mean, self.difficulty.sd
            b = -d / a
            pull = once * (b - mean) / sd**2
            total += float(once @ (-0.5 * ((b - mean) / sd) ** 2 - np.log(sd * np.sqrt(2 * np.pi))))
            by_a += pull * b / a
            by_d += pull / a
            curvature[0] += once * (b / a) ** 2 / sd**2 + pull * 2.0 * b / a**2
            curvature[1] += once * b / a**2 / sd**2 + pull / a**2
            curvature[2] += once / a**2 / sd**2
        return total, by_a, by_d, curvature

    def weights(self, estimated: BoolArray, common_slope: bool) -> FloatArray:
        """Weight of each item in :meth:`evaluate`."""
        weight = estimated.astype(np.float64)
        return weight / max(1.0, weight.sum()) if common_slope else weight


def _density(given: object, name: str, family: str, kind: type[LogNormal | Normal]) -> LogNormal | Normal | None:
    """Return the density of one kind of parameter, checked, or None where there is none."""
    if given is None:
        return None
    try:
        if isinstance(given, kind):
            check_number(given.mean, "mean")
            check_positive(given.sd, "sd")
            return given
        if isinstance(given, tuple | list) and len(given) == 3 and isinstance(given[0], str) and given[0] == family:
            return kind(check_number(given[1], "mean"), check_positive(given[2], "sd"))
    except DataError:
        pass  # said below, with the whole density
    raise DataError(
        f"The prior of {name} is {given!r}.\n"
        f"Expected ({family!r}, mean, sd) or {kind.__name__}(mean, sd), with a finite mean and an sd above 0."
    )
