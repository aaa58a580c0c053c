"""The verb ``calibration_sensitivity``: what changes if the models help to estimate the parameters that they are scored with."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import BoolArray, FloatArray
from psychoedu.cdm.compare import score
from psychoedu.cdm.diagnose import diagnose, diagnosis_settings, prepare_diagnosis, run_fit
from psychoedu.cdm.item_step import DEFAULT_BOUNDS
from psychoedu.cdm.results import Diagnosis
from psychoedu.cdm.wrapping import start_notes, wrap_diagnosis
from psychoedu.exceptions import ConvergenceWarning, DuplicateLabelError, LabelError
from psychoedu.responses import ResponseMatrix, as_response_matrix
from psychoedu.validation import counted, listed

_MOST_ROWS = 60


@dataclass(frozen=True, eq=False)
class CalibrationSensitivity:
    """What joint calibration changes; made by :func:`calibration_sensitivity`.

    Parameters
    ----------
    learners, joint : Diagnosis
        Fitted to the learners alone, and to learners and models together.
    scored : Diagnosis
        The models on the learners' parameters.
    fit : DataFrame by calibration
        ``n_respondents``, ``log_likelihood``, ``minus_2ll``, ``n_parameters``, ``aic``, ``bic``, ``converged``, and
        ``learners_minus_2ll``: -2LL of the learners' responses alone under each set of parameters, the one figure that compares
        the two. The others do not: they are of different data.
    items : DataFrame
        ``item``, ``profile``, ``learners``, ``joint``, ``change`` (joint minus learners), ``se`` (learners'),
        ``standardized_change`` (change / se).
    structure : DataFrame
        ``of`` (attribute or profile), ``parameter``, and the same columns.
    mastery : DataFrame
        A row per model and attribute: ``respondent``, ``attribute``, ``learners``, ``joint``, ``change``, ``decision_changes``
        (mastered strictly above one half under one of the two only).
    theta : DataFrame by respondent, or None
        ``learners``, ``joint``, ``change`` of the models' higher-order ability.
    notes : tuple of str
    """

    learners: Diagnosis
    joint: Diagnosis
    scored: Diagnosis
    fit: pd.DataFrame
    items: pd.DataFrame
    structure: pd.DataFrame
    mastery: pd.DataFrame
    theta: pd.DataFrame | None
    notes: tuple[str, ...]

    @property
    def n_decisions_changed(self) -> int:
        """Number of mastery decisions that differ."""
        return int(self.mastery["decision_changes"].sum())

    def largest(self) -> pd.DataFrame:
        """Return the largest change of each kind of number, in absolute value, and where it is."""
        parts: list[tuple[str, pd.DataFrame, list[str]]] = [
            ("item probability", self.items, ["item", "profile"]),
            ("structural parameter", self.structure, ["of", "parameter"]),
            ("mastery", self.mastery, ["respondent", "attribute"]),
        ]
        if self.theta is not None:
            parts.append(("ability", self.theta.reset_index(), ["respondent"]))
        rows = []
        for name, table, keys in parts:
            size = table["change"].abs().to_numpy(dtype=np.float64)
            if not np.isfinite(size).any():
                continue
            row = table.iloc[int(np.nanargmax(size))]
            where = ", ".join(str(row[key]) for key in keys)
            rows.append([name, where, row["learners"], row["joint"], row["change"], row.get("standardized_change", np.nan)])
        columns = ["number", "where", "learners", "joint", "change", "standardized_change"]
        return pd.DataFrame(rows, columns=columns).set_index("number")

    def summary(self) -> str:
        """Return both fits and the largest changes as fixed-width text."""
        fit = self.fit.copy()
        fit["n_respondents"] = fit["n_respondents"].map("{:,.10g}".format)
        columns = ["n_respondents", "n_parameters", "minus_2ll", "aic", "bic", "learners_minus_2ll"]
        decimals = dict.fromkeys(columns[2:], "{:,.2f}".format)
        worse = self.fit["learners_minus_2ll"].to_numpy(dtype=np.float64)
        lines = [
            f"Calibration sensitivity: {self.learners.model} with {self.learners.structure_name} attributes",
            "",
            fit[columns].to_string(formatters=decimals),
            "",
            "-2LL, AIC and BIC of the two are of different data. On the learners' own responses the joint parameters cost "
            f"{worse[1] - worse[0]:,.3f} of -2LL.",
            "",
            "Largest changes (joint minus learners; in standard errors of the learners' estimate):",
            self.largest().to_string(float_format="{:.4f}".format, na_rep="-"),
            "",
            f"Mastery decisions that change: {self.n_decisions_changed} of {len(self.mastery)}.",
        ]
        changed = self.mastery[self.mastery["decision_changes"]].head(_MOST_ROWS)
        if len(changed):
            names = ["respondent", "attribute", "learners", "joint"]
            lines.append(changed[names].to_string(index=False, float_format="{:.4f}".format))
        lines += [f"Note: {text}" for text in self.notes]
        return "\n".join(lines)

    def __repr__(self) -> str:
        """One line."""
        n_both = self.fit["n_respondents"].to_numpy(dtype=np.float64)
        return (
            f"CalibrationSensitivity({n_both[0]:,.10g} learners, {n_both[1]:,.10g} with the models; "
            f"{self.n_decisions_changed} of {len(self.mastery)} mastery decisions change)"
        )


def calibration_sensitivity(
    learners: Any,
    models: Any,
    q_matrix: Any,
    model: str | Mapping[Hashable, str] | Sequence[str] = "G-DINA",
    structure: str = "higher-order",
    higher_order: str = "2pl",
    hierarchy: Any = None,
    n_starts: int = 3,
    n_points: int = 61,
    standard_errors: str | None = "oakes",
    rng: Any = None,
) -> CalibrationSensitivity:
    """Estimate a diagnosis from the learners alone, and from learners and models together, and compare.

    Parameters
    ----------
    learners : ResponseMatrix, DataFrame or array
        Who the attributes and their structure are about.
    models : ResponseMatrix, DataFrame or array
        Respondents to be scored, such as runs of language models. An item that is absent counts as missing.
    q_matrix, model, structure, higher_order, hierarchy, n_starts, n_points, standard_errors, rng
        As in :func:`psychoedu.diagnose`.

    Returns
    -------
    CalibrationSensitivity

    Raises
    ------
    LabelError
        The models have items that the learners lack.
    DuplicateLabelError
        Respondents are among both.

    Warns
    -----
    ConvergenceWarning
        And what :func:`psychoedu.diagnose` warns about on the learners.

    Notes
    -----
    A language model's profile need not come from the population of the learners: rows that are right (or wrong) throughout pull
    item probabilities and the structure towards themselves, and are then scored with what they pulled. The learners' calibration
    is the default use; this shows what the other would give. The joint fit is started from the learners' solution as well, so
    that a difference is not one of starting values. N is what BIC counts: a published BIC - (-2LL) = p ln N tells which it was.

    Examples
    --------
    >>> import psychoedu as pe
    >>> matrix, q = pe.datasets.load_cse_like(), pe.datasets.load_cse_like_q()
    >>> learners = matrix.select(respondents={"group": ["junior", "college"]})
    >>> both = calibration_sensitivity(learners, matrix.select(respondents={"group": "model"}), q, n_starts=1)
    >>> both.fit["n_respondents"].tolist()
    [2050.0, 2074.0]
    """
    one, other = as_response_matrix(learners), as_response_matrix(models)
    _refuse_repeats(one, other)
    together = _joined(one, other)
    fitted = diagnose(
        one, q_matrix, model=model, structure=structure, higher_order=higher_order, hierarchy=hierarchy, n_starts=n_starts,
        n_points=n_points, standard_errors=standard_errors, rng=rng,
    )  # fmt: skip
    scored = score(fitted, other)
    job = prepare_diagnosis(together, q_matrix, None, None, None)
    settings = diagnosis_settings(
        job, model, structure, higher_order, "separate", hierarchy, n_starts, n_points, DEFAULT_BOUNDS, (0.1, 5.0), (-4.0, 4.0),
        standard_errors, 1e-6, 3000,
    )  # fmt: skip
    fit, seed = run_fit(job, settings, rng, [("learners", fitted.cells, fitted.structural)])
    joint = wrap_diagnosis(job, fit, settings, start_notes(fit), fitted.withheld, seed)
    if not joint.converged:
        text = "The joint calibration stopped before its maximum; its changes are not final."
        warnings.warn(text, ConvergenceWarning, stacklevel=2)
    rows = slice(one.n_respondents, None)
    return CalibrationSensitivity(
        fitted, joint, scored, _fit_table(fitted, joint, one), _item_table(fitted, joint), _structure_table(fitted, joint),
        _mastery_table(scored, joint, rows), _theta_table(scored, joint, rows), tuple(_notes(fitted, joint, other)),
    )  # fmt: skip


def _refuse_repeats(one: ResponseMatrix, other: ResponseMatrix) -> None:
    """Refuse a respondent that is among both; plain numbers are places, not names."""
    if all(pd.api.types.is_integer_dtype(matrix.respondent_labels.dtype) for matrix in (one, other)):
        return
    both = other.respondent_labels[other.respondent_labels.isin(one.respondent_labels)]
    if len(both):
        raise DuplicateLabelError(
            f"{counted(len(both), 'respondent')} among the learners and the models: {listed(both)}.\n"
            "Expected each in one of them, or the joint calibration counts them twice. Select the learners first."
        )


def _joined(one: ResponseMatrix, other: ResponseMatrix) -> ResponseMatrix:
    """Put the models' rows under the learners', numbered from 1; what the models lack is missing."""
    place = one.item_labels.get_indexer(other.item_labels)
    unknown = other.item_labels[place < 0]
    if len(unknown):
        raise LabelError(
            f"The models answered {counted(len(unknown), 'item')} that the learners lack: {listed(unknown)}.\n"
            "Expected items with learners' responses, which their parameters come from. Select the common ones first."
        )
    codes = np.full((one.n_respondents + other.n_respondents, one.n_items), -1, dtype=np.int8)
    codes[: one.n_respondents] = one.scored()
    codes[one.n_respondents :, place] = other.scored()
    cells = np.where(codes < 0, np.nan, codes).astype(np.float32)
    return ResponseMatrix.from_wide(cells, items=one.item_labels)


def _notes(fitted: Diagnosis, joint: Diagnosis, other: ResponseMatrix) -> list[str]:
    notes = []
    for diagnosis, name in ((fitted, "learners'"), (joint, "joint")):
        if not diagnosis.converged:
            notes.append(f"The {name} calibration did not converge. Do not use its numbers.")
    empty: BoolArray = np.asarray((other.scored() < 0).all(axis=1), dtype=np.bool_)
    if empty.any():
        labels = other.respondent_labels[empty]
        notes.append(f"{counted(int(empty.sum()), 'model')} without a response have the prior as mastery: {listed(labels)}.")
    return notes


def _fit_table(fitted: Diagnosis, joint: Diagnosis, one: ResponseMatrix) -> pd.DataFrame:
    names = ("n_respondents", "log_likelihood", "minus_2ll", "n_parameters", "aic", "bic", "converged")
    table = pd.DataFrame([{name: getattr(part, name) for name in names} for part in (fitted, joint)])
    table["learners_minus_2ll"] = [-2.0 * float(score(part, one).persons.log_likelihood.sum()) for part in (fitted, joint)]
    return table.set_axis(pd.Index(["learners", "joint"], name="calibration"), axis=0)


def _changes(alone: FloatArray, together: FloatArray, se: FloatArray) -> dict[str, FloatArray]:
    change = together - alone
    known = np.isfinite(se) & (se > 0)
    in_se = np.full(change.shape, np.nan)
    in_se[known] = change[known] / se[known]
    return {"learners": alone, "joint": together, "change": change, "se": se, "standardized_change": in_se}


def _item_table(fitted: Diagnosis, joint: Diagnosis) -> pd.DataFrame:
    items = fitted.items
    changes = _changes(fitted.cells, joint.cells, items["se"].to_numpy(dtype=np.float64))
    return pd.concat([items[["item", "profile"]], pd.DataFrame(changes)], axis=1)


def _structure_table(fitted: Diagnosis, joint: Diagnosis) -> pd.DataFrame:
    alone, together = fitted.structure, joint.structure
    parts = []
    for name in ("slope", "intercept", "probability"):
        if name not in alone:
            continue
        error = next((column for column in (f"{name}_se", "se") if column in alone), None)
        se = np.full(len(alone), np.nan) if error is None else alone[error].to_numpy(dtype=np.float64)
        changes = _changes(alone[name].to_numpy(dtype=np.float64), together[name].to_numpy(dtype=np.float64), se)
        of = pd.DataFrame({"of": alone.index, "parameter": name})
        parts.append(pd.concat([of, pd.DataFrame(changes)], axis=1))
    return pd.concat(parts, ignore_index=True)


def _mastery_table(scored: Diagnosis, joint: Diagnosis, rows: slice) -> pd.DataFrame:
    alone, together = scored.mastery, joint.mastery.iloc[rows]
    first, second = alone.to_numpy(dtype=np.float64), together.to_numpy(dtype=np.float64)
    n_rows, n_attributes = first.shape
    return pd.DataFrame(
        {
            "respondent": np.repeat(np.asarray(alone.index, dtype=object), n_attributes),
            "attribute": np.tile(np.asarray(alone.columns, dtype=object), n_rows),
            "learners": first.ravel(),
            "joint": second.ravel(),
            "change": (second - first).ravel(),
            "decision_changes": ((first > 0.5) != (second > 0.5)).ravel(),
        }
    )


def _theta_table(scored: Diagnosis, joint: Diagnosis, rows: slice) -> pd.DataFrame | None:
    alone, together = scored.theta, joint.theta
    if alone is None or together is None:
        return None
    first, second = alone.to_numpy(dtype=np.float64), together.to_numpy(dtype=np.float64)[rows]
    frame = {"learners": first, "joint": second, "change": second - first}
    return pd.DataFrame(frame, index=alone.index.rename("respondent"))
