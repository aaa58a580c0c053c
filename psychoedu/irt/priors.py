"""Priors for calibrations with few respondents, as penalties on the marginal log-likelihood.

The densities are those of Mislevy (1986, Psychometrika 51, 177-195) for the 2PL: discriminations lognormal, difficulties normal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from psychoedu._typing import BoolArray, FloatArray
from psychoedu.exceptions import DataError


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


@dataclass(frozen=True, slots=True)
class Priors:
    """Priors of the item parameters.

    Parameters
    ----------
    discrimination : LogNormal or None
        Keeps every discrimination positive. Default: lognormal(0, 0.5), 95% of it within 0.38 and 2.66.
    difficulty : Normal or None
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
        """Refuse densities that are none."""
        for name in ("discrimination", "difficulty"):
            density = getattr(self, name)
            if density is not None and not (np.isfinite(density.mean) and np.isfinite(density.sd) and density.sd > 0):
                raise DataError(f"The prior of {name} is {density}. Expected a finite mean and an sd above 0.")

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
        families = {"discrimination": ("lognormal", LogNormal), "difficulty": ("normal", Normal)}
        if isinstance(priors, dict) and set(priors) <= set(families):
            given: dict[str, Any] = {"discrimination": None, "difficulty": None}
            for name, density in priors.items():
                family, kind = families[name]
                if density is None or isinstance(density, kind):
                    given[name] = density
                elif isinstance(density, tuple | list) and len(density) == 3 and density[0] == family:
                    given[name] = kind(float(density[1]), float(density[2]))
                else:
                    raise DataError(
                        f"The prior of {name} is {density!r}. Expected ({family!r}, mean, sd), for example Priors().{name}."
                    )
            return cls(**given) if any(given.values()) else None
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
        a, d = discrimination, intercept
        by_a, by_d, curvature = np.zeros_like(a), np.zeros_like(a), np.zeros((3, a.size))
        total = 0.0
        if self.discrimination is not None:
            mean, sd = self.discrimination.mean, self.discrimination.sd
            z = (np.log(a) - mean) / sd
            total += float(weight @ (-np.log(a) - 0.5 * z**2 - np.log(sd * np.sqrt(2 * np.pi))))
            by_a -= weight * (1.0 + z / sd) / a
            curvature[0] += weight * ((1.0 - z * sd) / sd**2 - 1.0) / a**2
        if self.difficulty is not None:
            once = (weight > 0).astype(np.float64)
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
