"""Absolute fit of a diagnosis: M2, RMSEA2, SRMSR and the residuals of item pairs, with labels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from psychoedu.cdm.fitted import fitted_arrays, pooled_prior
from psychoedu.cdm.limited_information import m2_statistic, undefined
from psychoedu.cdm.moments import pair_counts
from psychoedu.cdm.pair_fit import MINIMUM_JOINT, PairResiduals, pair_residuals, srmsr
from psychoedu.validation import check_choice, check_positive, check_probability

_TEST_COLUMNS = ("observed", "expected", "residual", "se", "z", "p_value", "p_holm", "p_bonferroni")


@dataclass(frozen=True, eq=False)
class AbsoluteFit:
    """How well a diagnosis reproduces the first and second moments of the responses.

    Parameters
    ----------
    statistics : DataFrame
        One row per index: value, low, high (of RMSEA2), reason (why the value is nan, else empty).
        Rows: m2, df, p_value, rmsea2, srmsr, max_abs_z_correlation, max_abs_z_log_odds.
    pairs : DataFrame
        One row per item pair: item_1, item_2, n; for correlations r_observed, r_expected, r_residual (in Fisher's z), r_se, r_z,
        r_p_value, r_p_holm, r_p_bonferroni, r_reason; the same for log-odds ratios with log_odds_.
    largest : DataFrame
        The pair with the largest absolute z: index r and log_odds; item_1, item_2, z, p_value, p_holm, p_bonferroni.
    n : float
        Respondents with any score (sum of weights).
    n_moments, n_parameters : int
    class_weights : str
        "model" or "posterior".
    confidence_level : float
        Of the interval of RMSEA2.
    notes : tuple of str
        What a reader has to know about the indices that exist.
    """

    statistics: pd.DataFrame
    pairs: pd.DataFrame
    largest: pd.DataFrame
    n: float
    n_moments: int
    n_parameters: int
    class_weights: str
    confidence_level: float
    notes: tuple[str, ...]

    def __getattr__(self, name: str) -> float:
        """Return one of the indices by its name, as in ``fit.m2``."""
        if not name.startswith("_") and name in self.statistics.index:
            return float(self.statistics["value"].to_dict()[name])
        raise AttributeError(f"{type(self).__name__} has no {name!r}")

    def reason(self, name: str) -> str:
        """Return why an index does not exist; empty where it does."""
        return str(self.statistics.loc[name, "reason"])

    def to_dict(self) -> dict[str, Any]:
        """Return the indices as a plain dictionary; None with a reason where one does not exist."""
        rows = self.statistics.to_dict("index")
        indices = {str(name): {key: _plain(value) for key, value in row.items()} for name, row in rows.items()}
        return {
            "indices": indices,
            "n": self.n,
            "n_moments": self.n_moments,
            "n_parameters": self.n_parameters,
            "class_weights": self.class_weights,
            "confidence_level": self.confidence_level,
            "notes": list(self.notes),
        }

    def summary(self) -> str:
        """Return the indices as text."""
        lines = [f"Absolute fit: {self.n:g} respondents, {self.n_moments} moments, {self.n_parameters} parameters"]
        for name, row in self.statistics.iterrows():
            if row["reason"]:
                lines.append(f"  {name!s:<22} not defined: {row['reason']}")
                continue
            interval = f"  {self.confidence_level:.0%} [{row['low']:.4f}, {row['high']:.4f}]" if np.isfinite(row["low"]) else ""
            digits = ".0f" if name == "df" else ".3g" if name == "p_value" else ".4f"
            lines.append(f"  {name!s:<22} {row['value']:{digits}}{interval}")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])


def absolute_fit(
    diagnosis: Any,
    class_weights: str = "model",
    minimum_joint: float = MINIMUM_JOINT,
    short_pairs: str = "refuse",
    confidence_level: float = 0.90,
) -> AbsoluteFit:
    """Compute the absolute fit of a diagnosis to the respondents that it was fitted to.

    Parameters
    ----------
    diagnosis : Diagnosis
        With its responses.
    class_weights : {"model", "posterior"}
        Whose profile probabilities make the expected moments: the structure's, which M2 is about, or the mean posterior, as R's
        GDINA does. With saturated profiles the two are the same at convergence; with a higher-order structure the posterior
        hides what the structure does not fit.
    minimum_joint : float, default 200
        With missing cells, the least number of joint responses behind a pair.
    short_pairs : {"refuse", "drop"}
        With missing cells, what to do about M2 and SRMSR if a pair has fewer: say so instead of a number, or leave it out.
    confidence_level : float, default 0.90
        Of the interval of RMSEA2.

    Returns
    -------
    AbsoluteFit

    Notes
    -----
    RMSEA2 = sqrt(max((M2 - df) / (N df), 0)): N, as in R's GDINA; mirt divides by (N - 1) df. Where moments do not tell all
    parameters apart (an A-CDM of single-attribute items, an item with three attributes beside items with two), df counts those
    they do; GDINA subtracts all and so loses as many degrees of freedom, in directions that depend on the order of the columns.

    See Also
    --------
    psychoedu.cdm.limited_information, psychoedu.cdm.pair_fit : the statistics, with their references.
    """
    class_weights = check_choice(class_weights, ("model", "posterior"), "class_weights")
    drop = check_choice(short_pairs, ("refuse", "drop"), "short_pairs") == "drop"
    minimum_joint = check_positive(minimum_joint, "minimum_joint")
    confidence_level = check_probability(confidence_level, "confidence_level")
    fitted = fitted_arrays(diagnosis, "absolute_fit()")
    success = np.asarray(diagnosis.success, dtype=np.float64)
    profile = pooled_prior(diagnosis, fitted) if class_weights == "model" else fitted.mean_posterior
    n_groups = np.atleast_2d(np.asarray(diagnosis.prior)).shape[0]
    if n_groups > 1:
        reason = f"fitted with {n_groups} groups: M2 is for one population; fit each group by itself"
        n_moments = len(success) * (len(success) + 1) // 2
        overall = undefined(reason, fitted.n, n_moments, int(diagnosis.n_parameters))
    else:
        item_jacobian, prior_jacobian = diagnosis.jacobians()
        overall = m2_statistic(
            fitted.scored,
            fitted.weights,
            success,
            profile,
            item_jacobian,
            prior_jacobian,
            minimum_joint=minimum_joint,
            drop_short_pairs=drop,
            confidence_level=confidence_level,
        )
    counts = pair_counts(fitted.scored, fitted.weights)
    residuals = pair_residuals(counts, success, profile, minimum_joint)
    standardised, reason = srmsr(counts, success, profile, minimum_joint, drop)
    pairs = pair_table(residuals, list(diagnosis.item_labels))
    largest = _largest(pairs)
    rows = {
        "m2": (overall.m2, math.nan, math.nan, overall.reasons.get("m2", "")),
        "df": (overall.df, math.nan, math.nan, overall.reasons.get("df", "")),
        "p_value": (overall.p_value, math.nan, math.nan, overall.reasons.get("p_value", "")),
        "rmsea2": (overall.rmsea2, overall.rmsea2_low, overall.rmsea2_high, overall.reasons.get("rmsea2", "")),
        "srmsr": (standardised, math.nan, math.nan, reason),
    }
    for kind, name in (("r", "max_abs_z_correlation"), ("log_odds", "max_abs_z_log_odds")):
        z = abs(float(largest["z"].to_dict()[kind]))
        rows[name] = (z, math.nan, math.nan, str(largest.loc[kind, "reason"]))
    return AbsoluteFit(
        statistics=pd.DataFrame.from_dict(rows, orient="index", columns=["value", "low", "high", "reason"]),
        pairs=pairs,
        largest=largest,
        n=overall.n,
        n_moments=overall.n_moments,
        n_parameters=overall.n_parameters,
        class_weights=class_weights,
        confidence_level=confidence_level,
        notes=overall.notes,
    )


def pair_table(residuals: PairResiduals, labels: list[Any]) -> pd.DataFrame:
    """Label the residuals of item pairs."""
    columns: dict[str, Any] = {
        "item_1": [labels[j] for j in residuals.first],
        "item_2": [labels[j] for j in residuals.second],
        "n": residuals.n,
    }
    for prefix, values, reasons in (
        ("r", residuals.correlation, residuals.correlation_reason),
        ("log_odds", residuals.log_odds, residuals.log_odds_reason),
    ):
        columns |= {f"{prefix}_{name}": values[name] for name in _TEST_COLUMNS}
        columns[f"{prefix}_reason"] = reasons
    return pd.DataFrame(columns)


def _largest(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the pair with the largest absolute z of each kind, or why there is none."""
    rows: dict[str, list[Any]] = {}
    for prefix in ("r", "log_odds"):
        size = pairs[f"{prefix}_z"].abs()
        if not size.notna().any():
            first = str(pairs[f"{prefix}_reason"].iloc[0]) if len(pairs) else ""
            reason = f"no pair could be tested: {first}" if first else "one item has no pairs"
            rows[prefix] = [None, None, *[math.nan] * 4, reason]
            continue
        place = int(np.nanargmax(size.to_numpy()))
        tests = [float(pairs[f"{prefix}_{name}"].iloc[place]) for name in ("z", "p_value", "p_holm", "p_bonferroni")]
        rows[prefix] = [pairs["item_1"].iloc[place], pairs["item_2"].iloc[place], *tests, ""]
    columns = ["item_1", "item_2", "z", "p_value", "p_holm", "p_bonferroni", "reason"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
