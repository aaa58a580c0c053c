"""Ability scores of respondents, with their labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from psychoedu._typing import AnyArray, CodeArray, FloatArray
from psychoedu._version import __version__
from psychoedu.irt.reliability import empirical_reliability
from psychoedu.irt.scoring import METHODS, Estimates, Flag
from psychoedu.persistence import Fields, Saved, encode_numbers, plain_label
from psychoedu.validation import counted

_FLAG_NAMES = {flag: flag.name.lower() for flag in Flag if flag.name is not None}
_FLAG_TEXTS = np.array(
    ["; ".join(name for flag, name in _FLAG_NAMES.items() if code & flag) for code in range(2 * max(Flag))], dtype=object
)
_METHOD_TEXTS = {
    "eap": "EAP: posterior mean and standard deviation",
    "map": "MAP: posterior mode",
    "ml": "ML: maximum likelihood",
    "wle": "WLE: Warm's weighted likelihood",
}


@dataclass(frozen=True, eq=False, repr=False)
class Scores(Saved):
    """Ability scores, in the rows' order; made by :func:`psychoedu.score` or ``Calibration.scores``.

    Attributes
    ----------
    theta, theta_se : Series, by respondent
        Ability and its standard error on the bank's scale. "ml" may be infinite (standard error nan).
    n : Series, by respondent
        Number of items answered, of those in the bank.
    flags : Series of str, by respondent
        "" for nothing particular, else, joined by "; ": ``no_data`` (nothing answered: EAP and MAP give the prior, ML and WLE
        nan), ``all_right``, ``all_wrong``, ``infinite`` (ML of another row whose likelihood rises without end, which negative
        discriminations or guessing bring about), ``no_information`` (all answered items have discrimination 0).
    method : str
        "eap", "map", "ml" or "wle".
    prior_mean, prior_sd : float or None
        The prior, None where respondents had different ones, or the method has none.
    reliability : float
        Empirical reliability, var(theta) / (var(theta) + mean(theta_se^2)) over respondents with data and a finite score.
    diagnostics : tuple of str
        Why values are missing or infinite.
    version : str
        The version of psychoedu that made the scores.
    """

    kind: ClassVar[str] = "scores"

    respondent_labels: pd.Index
    estimates: Estimates
    method: str
    prior_mean: float | None
    prior_sd: float | None
    version: str = __version__

    def __post_init__(self) -> None:
        for values in (self.estimates.theta, self.estimates.theta_se, self.estimates.n_answered, self.estimates.flags):
            values.flags.writeable = False
        object.__setattr__(self, "respondent_labels", self.respondent_labels.rename("respondent"))

    @property
    def theta(self) -> pd.Series:
        """Ability, by respondent."""
        return self._series(self.estimates.theta, "theta")

    @property
    def theta_se(self) -> pd.Series:
        """Standard error of ability, by respondent."""
        return self._series(self.estimates.theta_se, "theta_se")

    @property
    def n(self) -> pd.Series:
        """Number of items answered, by respondent."""
        return self._series(self.estimates.n_answered, "n")

    @property
    def flags(self) -> pd.Series:
        """What is particular about each respondent's row, "" for nothing."""
        return self._series(_FLAG_TEXTS[self.estimates.flags], "flags")

    @property
    def n_respondents(self) -> int:
        """Number of respondents."""
        return len(self.respondent_labels)

    @property
    def reliability(self) -> float:
        """Empirical reliability; nan for fewer than two respondents with data and a finite score."""
        some = (self.estimates.flags & (Flag.NO_DATA | Flag.NO_INFORMATION)) == 0
        return empirical_reliability(self.estimates.theta[some], self.estimates.theta_se[some])

    @property
    def options(self) -> dict[str, Any]:
        """How the scores were made."""
        return {"method": self.method, "prior_mean": self.prior_mean, "prior_sd": self.prior_sd}

    @property
    def diagnostics(self) -> tuple[str, ...]:
        """Why values are missing or infinite, with counts."""
        notes = []
        reasons = {
            Flag.NO_DATA: "answered no item of the bank",
            Flag.NO_INFORMATION: "answered no item that discriminates",
        }
        outcome = "score is the prior" if self.method in ("eap", "map") else "score and standard error are nan"
        for flag, reason in reasons.items():
            count = int((self.estimates.flags & flag != 0).sum())
            if count:
                notes.append(f"{counted(count, 'respondent')} {reason}: {outcome}")
        infinite = int(np.isinf(self.estimates.theta).sum())
        if infinite:
            notes.append(f"{counted(infinite, 'respondent')}: the likelihood has no maximum, ML is infinite, standard error nan")
        return tuple(notes)

    def to_frame(self) -> pd.DataFrame:
        """Return theta, theta_se, n and flags, by respondent in the rows' order."""
        return pd.DataFrame({"theta": self.theta, "theta_se": self.theta_se, "n": self.n, "flags": self.flags})

    def summary(self) -> str:
        """Return counts, mean, spread and reliability as fixed-width text."""
        theta = self.estimates.theta[np.isfinite(self.estimates.theta)]
        lines = [f"Scores of {counted(self.n_respondents, 'respondent')}, {_METHOD_TEXTS[self.method]}"]
        if self.prior_mean is not None and self.prior_sd is not None:
            lines.append(f"prior: normal, mean {self.prior_mean:g}, SD {self.prior_sd:g}")
        if len(theta):
            spread = f"{theta.std(ddof=1):.3f}" if len(theta) > 1 else "-"
            lines.append(f"mean {theta.mean():.3f}  SD {spread}  min {theta.min():.3f}  max {theta.max():.3f}")
        if np.isfinite(self.reliability):
            lines.append(f"empirical reliability {self.reliability:.3f}")
        return "\n".join([*lines, *self.diagnostics])

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers that ``from_dict`` turns back into equal scores."""
        return {
            "respondents": [plain_label(label) for label in self.respondent_labels],
            "theta": encode_numbers(self.estimates.theta),
            "theta_se": encode_numbers(self.estimates.theta_se),
            "n": self.estimates.n_answered.tolist(),
            "flags": self.estimates.flags.tolist(),
            "method": self.method,
            "prior_mean": self.prior_mean,
            "prior_sd": self.prior_sd,
            "version": self.version,
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Build the scores from what ``to_dict`` gave."""
        fields = Fields(content)
        labels = fields.index("respondents", "respondent")
        count = len(labels)
        theta = fields.numbers("theta", count, missing=True, infinite=True)
        theta_se = fields.numbers("theta_se", count, low=0.0, missing=True, infinite=True)
        flags: CodeArray = fields.integers("flags", count, 0, len(_FLAG_TEXTS) - 1).astype(np.int8)
        estimates = Estimates(theta, theta_se, fields.integers("n", count, 0), flags)
        mean = None if fields.is_none("prior_mean") else fields.number("prior_mean")
        sd = None if fields.is_none("prior_sd") else fields.number("prior_sd", above=0.0)
        return cls(labels, estimates, fields.text("method", METHODS), mean, sd, fields.text("version"))

    def _series(self, values: FloatArray | AnyArray, name: str) -> pd.Series:
        return pd.Series(values, index=self.respondent_labels, name=name)

    def __len__(self) -> int:
        return self.n_respondents

    def __repr__(self) -> str:
        return f"Scores({counted(self.n_respondents, 'respondent')}, method={self.method!r})"

    def _repr_html_(self) -> str:
        return self.to_frame().to_html(float_format=lambda value: f"{value:.3f}", max_rows=30)
