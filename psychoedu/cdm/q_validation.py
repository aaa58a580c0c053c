"""Validation of a Q-matrix: what the responses suggest beside what was given, which is never overwritten."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray, IntArray
from psychoedu.cdm.fitted import GDINA_NAME, fitted_arrays, possible_profiles, profiles_of
from psychoedu.cdm.profiles import ProfileArray, profile_labels
from psychoedu.cdm.pvaf import (
    FIXED_CUT,
    best_by_size,
    class_probabilities,
    discrimination_index,
    predicted_cut,
    pvaf,
    suggest_by_cut,
    suggest_by_hull,
)
from psychoedu.cdm.stepwise import wald_stepwise
from psychoedu.exceptions import LabelError
from psychoedu.validation import check_choice, check_probability, listed

METHODS = ("pvaf", "pvaf_predicted", "wald", "hull")


@dataclass(frozen=True, eq=False)
class QValidation:
    """Suggested q-vectors beside the given ones.

    Parameters
    ----------
    given : DataFrame
        The Q-matrix as given, items x attributes.
    table : DataFrame
        One row per item: item, given, given_pvaf, then for each method the suggested q-vector and, as ``<method>_reason``, why
        there is none; ``n_methods`` gave a suggestion, ``n_changes`` of them another than the given one.
    mesa : DataFrame
        One row per item and q-vector: item, q_vector, n_attributes, index (variance of success probabilities), pvaf, hull (index
        of the best q-vector of its size), best (of its size), given.
    cuts : dict
        The fixed and the predicted cut of PVAF.
    steps : dict
        Item label to the steps of the stepwise Wald method.
    notes : tuple of str
    """

    given: pd.DataFrame
    table: pd.DataFrame
    mesa: pd.DataFrame
    cuts: dict[str, float]
    steps: dict[Any, tuple[str, ...]]
    notes: tuple[str, ...]

    def suggested(self, method: str = "pvaf") -> pd.DataFrame:
        """Return the Q-matrix that a method suggests, items x attributes; the given row where there is no suggestion."""
        method = check_choice(method, [name for name in METHODS if name in self.table.columns], "method")
        frame: pd.DataFrame = self.given.copy()
        for row, vector in enumerate(self.table[method]):
            if vector:
                frame.iloc[row] = [int(digit) for digit in vector]
        return frame

    def changes(self) -> pd.DataFrame:
        """Return the rows of the table where at least one method suggests another q-vector."""
        return self.table.loc[self.table["n_changes"] > 0]

    def mesa_of(self, item: Any) -> pd.DataFrame:
        """Return the mesa data of one item, in the order of q-vectors."""
        rows: pd.DataFrame = self.mesa.loc[self.mesa["item"] == item]
        if rows.empty:
            raise LabelError(f"{item!r} is not an item of this Q-matrix. Items are {listed(list(self.given.index))}.")
        return rows


def validate_q(
    diagnosis: Any,
    methods: Sequence[str] = METHODS,
    cut: float = FIXED_CUT,
    alpha: float = 0.05,
) -> QValidation:
    """Suggest a q-vector for each item from the fitted responses, beside the given one.

    Parameters
    ----------
    diagnosis : Diagnosis
        With its responses, and all 2^K profiles. The stepwise Wald method needs G-DINA for all items.
    methods : sequence of str
        "pvaf": smallest q-vector with PVAF above ``cut``; "pvaf_predicted": above the cut predicted from item quality, number of
        respondents and items; "wald": stepwise Wald tests, which end at ``cut``; "hull".
    cut : float, default 0.95
    alpha : float, default 0.05
        Level of the stepwise Wald tests.

    Returns
    -------
    QValidation

    Notes
    -----
    All methods rest on the posterior of the given Q-matrix, so a Q-matrix with many errors misleads them; a suggestion is a
    question to the people who wrote the item. Where profiles are restricted (a hierarchy) some q-vectors cannot be told apart:
    no suggestion, with that reason.

    See Also
    --------
    psychoedu.cdm.pvaf, psychoedu.cdm.stepwise : the statistics, with their references.
    """
    names = [check_choice(method, METHODS, "methods") for method in methods]
    cut, level = check_probability(cut, "cut"), check_probability(alpha, "alpha")
    given = _given(diagnosis)
    profiles = profiles_of(diagnosis)
    labels, n_attributes = list(given.index), profiles.shape[1]
    possible = possible_profiles(diagnosis)
    if not possible.all():
        reason = f"needs unstructured profiles: {int(possible.sum())} of {2**n_attributes} are allowed"
        return _nothing(given, names, cut, reason)
    fitted = fitted_arrays(diagnosis, "validate_q()")
    scored, posterior, weights = fitted.scored, fitted.posterior, fitted.weights
    probability, _ = class_probabilities(scored, posterior, weights)
    index = discrimination_index(probability, fitted.mean_posterior, profiles)
    proportion = pvaf(index)
    sizes: IntArray = profiles[1:].sum(axis=1, dtype=np.int64)
    vectors = profile_labels(profiles[1:])
    quality = float(np.mean([own[-1] - own[0] for own in diagnosis.probabilities]))
    cuts = {"pvaf": cut, "pvaf_predicted": predicted_cut(quality, fitted.n, len(labels))}
    hull_place, hull_index = suggest_by_hull(proportion, sizes)
    places = {
        "pvaf": suggest_by_cut(proportion, sizes, cuts["pvaf"]),
        "pvaf_predicted": suggest_by_cut(proportion, sizes, cuts["pvaf_predicted"]),
        "hull": hull_place,
    }
    suggestions = {name: [vectors[place] if place >= 0 else "" for place in places[name]] for name in names if name != "wald"}
    reasons = {name: ["" if vector else _FLAT for vector in found] for name, found in suggestions.items()}
    steps: dict[Any, tuple[str, ...]] = {}
    if "wald" in names:
        suggestions["wald"], reasons["wald"], steps = _stepwise(
            diagnosis, scored, posterior, weights, profiles, proportion, cut, level
        )
    mesa = _mesa(labels, vectors, sizes, index, proportion, hull_index, _as_text(given))
    return QValidation(given, _table(given, names, suggestions, reasons, mesa), mesa, cuts, steps, ())


_FLAT = "the item does not tell profiles apart"


def _given(diagnosis: Any) -> pd.DataFrame:
    frame: pd.DataFrame = diagnosis.q_matrix.frame
    return pd.DataFrame(frame.to_numpy(dtype=np.int8), index=frame.index, columns=frame.columns)


def _as_text(frame: pd.DataFrame) -> list[str]:
    return ["".join(str(int(value)) for value in row) for row in frame.to_numpy()]


def _stepwise(
    diagnosis: Any,
    scored: Any,
    posterior: FloatArray,
    weights: FloatArray | None,
    profiles: ProfileArray,
    proportion: FloatArray,
    cut: float,
    level: float,
) -> tuple[list[str], list[str], dict[Any, tuple[str, ...]]]:
    labels = list(diagnosis.item_labels)
    other = sum(str(model) != GDINA_NAME for model in diagnosis.item_models)
    if other:
        reason = f"needs G-DINA for all items; {other} of {len(labels)} are reduced models"
        return [""] * len(labels), [reason] * len(labels), {}
    probabilities = [np.asarray(own, dtype=np.float64) for own in diagnosis.probabilities]
    choices = [
        wald_stepwise(
            item,
            scored,
            posterior,
            weights,
            profiles,
            probabilities,
            diagnosis.item_groups,
            proportion[item],
            cut=cut,
            alpha_level=level,
        )
        for item in range(len(labels))
    ]
    vectors = ["" if choice.q_vector is None else "".join(str(digit) for digit in choice.q_vector) for choice in choices]
    steps = {label: choice.steps for label, choice in zip(labels, choices, strict=True)}
    return vectors, [choice.reason for choice in choices], steps


def _mesa(
    labels: list[Any],
    vectors: list[str],
    sizes: IntArray,
    index: FloatArray,
    proportion: FloatArray,
    hull_index: FloatArray,
    given: list[str],
) -> pd.DataFrame:
    n_items, n_vectors = index.shape
    best = best_by_size(proportion, sizes)
    is_best = np.zeros(index.shape, dtype=bool)
    np.put_along_axis(is_best, best, True, axis=1)
    at_best = np.full(index.shape, np.nan)
    np.put_along_axis(at_best, best, hull_index, axis=1)
    q_vector = np.tile(vectors, n_items)
    return pd.DataFrame(
        {
            "item": [label for label in labels for _ in range(n_vectors)],
            "q_vector": q_vector,
            "n_attributes": np.tile(sizes, n_items),
            "index": index.ravel(),
            "pvaf": proportion.ravel(),
            "hull": at_best.ravel(),
            "best": is_best.ravel(),
            "given": q_vector == np.repeat(given, n_vectors),
        }
    )


def _table(
    given: pd.DataFrame,
    names: list[str],
    suggestions: dict[str, list[str]],
    reasons: dict[str, list[str]],
    mesa: pd.DataFrame,
) -> pd.DataFrame:
    texts = _as_text(given)
    value = mesa.loc[mesa["given"], "pvaf"].to_numpy(dtype=np.float64) if len(mesa) else np.full(len(texts), math.nan)
    columns: dict[str, Any] = {"item": list(given.index), "given": texts, "given_pvaf": value}
    for name in names:
        columns[name] = suggestions[name]
    for name in names:
        columns[f"{name}_reason"] = reasons[name]
    made = [[name for name in names if suggestions[name][row]] for row in range(len(texts))]
    columns["n_methods"] = [len(found) for found in made]
    columns["n_changes"] = [
        sum(suggestions[name][row] != text for name in found) for row, (text, found) in enumerate(zip(texts, made, strict=True))
    ]
    return pd.DataFrame(columns)


def _nothing(given: pd.DataFrame, names: list[str], cut: float, reason: str) -> QValidation:
    n_items = len(given)
    empty = {name: [""] * n_items for name in names}
    columns = ["item", "q_vector", "n_attributes", "index", "pvaf", "hull", "best", "given"]
    mesa = pd.DataFrame({name: [] for name in columns})
    table = _table(given, names, empty, {name: [reason] * n_items for name in names}, mesa)
    return QValidation(given, table, mesa, {"pvaf": cut}, {}, (reason,))
