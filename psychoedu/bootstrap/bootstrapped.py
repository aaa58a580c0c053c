"""The result of the bootstrap of any statistic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray
from psychoedu.bootstrap.corrections import CORRECTIONS
from psychoedu.bootstrap.intervals import METHODS
from psychoedu.bootstrap.serialise import seed_from
from psychoedu.persistence import Fields, Saved, encode_numbers, plain_label


@dataclass(frozen=True, eq=False, repr=False)
class Bootstrapped(Saved):
    """Estimates, standard errors and intervals of a statistic; made by calling ``psychoedu.bootstrap``.

    Attributes
    ----------
    estimate : Series
        The statistic of the data themselves, by name of its component.
    standard_error, bias : Series
        Standard deviation of the resamples, and their mean less the estimate.
    interval : DataFrame
        ``low``, ``high`` and ``method`` of each component.
    resamples : (B, K) array
        Without those that failed.
    failures : DataFrame
        ``resample`` (from 0) and ``reason`` of each resample that failed.
    n_resamples, n_failed, confidence_level, correction, seed, version
    sizes : Series
        Clusters of each stratum.
    diagnostics : tuple of str
    """

    kind: ClassVar[str] = "bootstrap"

    names: pd.Index
    values: FloatArray
    limits: FloatArray
    methods: tuple[str, ...]
    resamples: FloatArray
    failures: pd.DataFrame
    sizes: pd.Series
    n_resamples: int
    confidence_level: float
    correction: str | None
    seed: int
    diagnostics: tuple[str, ...]
    version: str

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    @property
    def estimate(self) -> pd.Series:
        """The statistic of the data themselves."""
        return pd.Series(self.values, index=self.names, name="estimate")

    @property
    def standard_error(self) -> pd.Series:
        """Standard deviation of the resamples."""
        return pd.Series(self.resamples.std(axis=0, ddof=1), index=self.names, name="standard_error")

    @property
    def bias(self) -> pd.Series:
        """Mean of the resamples less the estimate."""
        return pd.Series(self.resamples.mean(axis=0) - self.values, index=self.names, name="bias")

    @property
    def interval(self) -> pd.DataFrame:
        """Limits of each component, with the method that gave them."""
        return pd.DataFrame({"low": self.limits[0], "high": self.limits[1], "method": list(self.methods)}, index=self.names)

    @property
    def n_failed(self) -> int:
        """Number of resamples on which the statistic failed."""
        return len(self.failures)

    def to_frame(self) -> pd.DataFrame:
        """Return estimate, standard error, bias and limits by component."""
        columns = [self.estimate, self.standard_error, self.bias]
        return pd.concat([*columns, self.interval], axis=1)

    def summary(self) -> str:
        """Return the result as fixed-width text."""
        sizes = ", ".join(f"{label} {n}" for label, n in self.sizes.items())
        lines = [
            f"Bootstrap, {self.n_resamples:,} resamples of clusters within strata ({sizes}), seed {self.seed}, "
            f"correction {self.correction or 'none'}, {100 * self.confidence_level:g}% intervals",
            self.to_frame().to_string(float_format=lambda value: f"{value:.4f}"),
        ]
        if self.n_failed:
            lines.append(f"{self.n_failed:,} resamples failed and are left out:")
            counts = self.failures["reason"].value_counts()
            lines += [f"  {n:,} x {reason}" for reason, n in counts.head(5).items()]
        return "\n".join([*lines, *(f"note: {note}" for note in self.diagnostics)])

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, strings and numbers that ``from_dict`` turns back into an equal object."""
        return {
            "names": [plain_label(label) for label in self.names],
            "values": encode_numbers(self.values),
            "limits": encode_numbers(self.limits),
            "methods": list(self.methods),
            "resamples": encode_numbers(self.resamples),
            "failed": self.failures["resample"].tolist(),
            "reasons": self.failures["reason"].tolist(),
            "strata": [plain_label(label) for label in self.sizes.index],
            "sizes": self.sizes.tolist(),
            "n_resamples": self.n_resamples,
            "confidence_level": self.confidence_level,
            "correction": self.correction,
            "seed": str(self.seed),
            "diagnostics": list(self.diagnostics),
            "version": self.version,
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Build the result from what ``to_dict`` gave."""
        fields = Fields(content)
        names = pd.Index(fields.labels("names"), tupleize_cols=False)
        n_resamples = fields.integer("n_resamples", 1)
        reasons = fields.texts("reasons")
        failures = pd.DataFrame(
            {"resample": fields.integers("failed", len(reasons), 0, n_resamples - 1) if reasons else [], "reason": list(reasons)}
        )
        strata = fields.labels("strata")
        methods = fields.texts("methods")
        if len(methods) != len(names) or not set(methods) <= set(METHODS):
            fields.refuse("methods", f"{len(names)} of {', '.join(METHODS)}")
        return cls(
            names=names,
            values=fields.numbers("values", len(names), missing=True, infinite=True),
            limits=fields.numbers("limits", 2, len(names), missing=True, infinite=True),
            methods=methods,
            resamples=fields.numbers("resamples", n_resamples - len(reasons), len(names), missing=True, infinite=True),
            failures=failures,
            sizes=pd.Series(fields.integers("sizes", len(strata), 1), index=pd.Index(strata, name="stratum"), name="n_clusters"),
            n_resamples=n_resamples,
            confidence_level=fields.number("confidence_level", above=0.0, high=1.0),
            correction=None if fields.is_none("correction") else fields.text("correction", CORRECTIONS),
            seed=seed_from(fields),
            diagnostics=fields.texts("diagnostics"),
            version=fields.text("version"),
        )

    def __repr__(self) -> str:
        """One line."""
        return f"Bootstrapped({len(self.names)} components, {self.n_resamples:,} resamples, {self.n_failed:,} failed)"

    def _repr_html_(self) -> str:
        """Notebook display."""
        return self.to_frame().to_html(float_format=lambda value: f"{value:.4f}")
