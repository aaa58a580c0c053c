"""Constants of a linear link between two ability scales, with their sampling error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from psychoedu._typing import FloatArray
from psychoedu.exceptions import DataError
from psychoedu.persistence import Fields, encode_numbers
from psychoedu.validation import check_number, check_positive


@dataclass(frozen=True, eq=False)
class LinkingConstants:
    """theta on the new scale = slope x theta on the old scale + intercept.

    Parameters
    ----------
    slope : float
        Above 0.
    intercept : float
    covariance : array-like, (2, 2), optional
        Sampling covariance of (slope, intercept).

    Raises
    ------
    DataError
        The slope is not above 0, or the covariance is no covariance.

    References
    ----------
    Kolen, M. J., & Brennan, R. L. (2014). Test equating, scaling, and linking (3rd ed.), equation 6.2. Springer.

    Examples
    --------
    >>> link = LinkingConstants(1.2, -0.3, [[0.0016, 0.0], [0.0, 0.0009]])
    >>> link.transform(np.array([1.0])).round(3).tolist(), link.standard_error(np.array([1.0])).round(3).tolist()
    ([0.9], [0.05])
    """

    slope: float
    intercept: float
    covariance: FloatArray | None = None

    def __init__(self, slope: float, intercept: float, covariance: ArrayLike | None = None) -> None:
        object.__setattr__(self, "slope", check_positive(slope, "slope"))
        object.__setattr__(self, "intercept", check_number(intercept, "intercept"))
        object.__setattr__(self, "covariance", None if covariance is None else _covariance(covariance))

    def transform(self, theta: FloatArray) -> FloatArray:
        """Return abilities on the new scale."""
        return self.slope * theta + self.intercept

    def transform_covariance(self, theta: FloatArray) -> FloatArray:
        """Return the covariance that the constants' error gives to transformed abilities, (n, n); nan where it is not known.

        (theta_i, 1) Cov (theta_j, 1)'.
        """
        if self.covariance is None:
            return np.full((len(theta), len(theta)), np.nan)
        design = np.column_stack((theta, np.ones(len(theta))))
        found: FloatArray = design @ self.covariance @ design.T
        return found

    def standard_error(self, theta: FloatArray) -> FloatArray:
        """Return the standard error that the constants' error gives to transformed abilities; nan where it is not known."""
        return np.sqrt(np.diag(self.transform_covariance(theta)))

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers that ``from_dict`` turns back into equal constants."""
        covariance = None if self.covariance is None else encode_numbers(self.covariance)
        return {"slope": self.slope, "intercept": self.intercept, "covariance": covariance}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Build the constants from what ``to_dict`` gave."""
        fields = Fields(content, "linking")
        covariance = None if fields.is_none("covariance") else fields.numbers("covariance", 2, 2)
        return cls(fields.number("slope", above=0.0), fields.number("intercept"), covariance)


def _covariance(values: ArrayLike) -> FloatArray:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)
    good = array.shape == (2, 2) and np.isfinite(array).all() and np.allclose(array, array.T)
    if not good or np.linalg.eigvalsh(array).min() < -1e-12:
        raise DataError(
            f"covariance has to be the 2 x 2 covariance of (slope, intercept): symmetric, no negative variance; got {values!r}."
        )
    array.flags.writeable = False
    return array
