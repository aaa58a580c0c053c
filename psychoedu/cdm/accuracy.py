"""How often a diagnosis classifies rightly, and how often it would again: whole profiles, single profiles, attributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray, IntArray
from psychoedu.cdm.fitted import fitted_arrays, profiles_of
from psychoedu.cdm.profiles import ProfileArray
from psychoedu.exceptions import DataError
from psychoedu.validation import check_choice

FEW_EXPECTED = 1.0
"""With fewer expected respondents than this, the accuracy of a profile rests on next to nothing."""


@dataclass(frozen=True, eq=False)
class ClassificationAccuracy:
    """Accuracy and consistency of classification, estimated from the posterior.

    Parameters
    ----------
    accuracy, consistency, consistency_parallel : float
        Of whole profiles; nan with an entry in ``reasons``.
    profiles : DataFrame by profile
        expected (respondents), assigned (respondents), accuracy, consistency_parallel, reason.
    attributes : DataFrame by attribute
        accuracy, consistency, consistency_parallel, n_items (that require it).
    matrix : DataFrame
        P(assigned | true): rows are true profiles, columns assigned ones; nan for profiles that nobody is expected to have.
    method : str
        "map", "eap" or "ml".
    n : float
    reasons : dict
    """

    accuracy: float
    consistency: float
    consistency_parallel: float
    profiles: pd.DataFrame
    attributes: pd.DataFrame
    matrix: pd.DataFrame
    method: str
    n: float
    reasons: dict[str, str]


@dataclass(frozen=True, eq=False)
class AccuracyArrays:
    """What :func:`accuracy_of` computes; nan where a profile is empty."""

    accuracy: float
    consistency: float
    consistency_parallel: float
    profile_expected: FloatArray
    profile_assigned: FloatArray
    profile_accuracy: FloatArray
    profile_consistency: FloatArray
    attribute_accuracy: FloatArray
    attribute_consistency: FloatArray
    attribute_parallel: FloatArray
    matrix: FloatArray
    n_unknown: int


def profile_index(mastered: ProfileArray, alpha: ProfileArray) -> IntArray:
    """Return the place of each row of attributes among the profiles, (N,); -1 for one that is not among them.

    Examples
    --------
    >>> from psychoedu.cdm.profiles import all_profiles
    >>> profile_index(np.array([[0, 1], [1, 1]], dtype=np.int8), all_profiles(2)).tolist()
    [2, 3]
    """
    code = 2 ** np.arange(alpha.shape[1], dtype=np.int64)
    place = dict(zip((alpha.astype(np.int64) @ code).tolist(), range(len(alpha)), strict=True))
    return np.array([place.get(value, -1) for value in (mastered.astype(np.int64) @ code).tolist()], dtype=np.int64)


def accuracy_of(
    posterior: FloatArray, alpha: ProfileArray, mastered: ProfileArray, weights: FloatArray | None = None
) -> AccuracyArrays:
    """Compute classification accuracy and consistency.

    Parameters
    ----------
    posterior : ndarray, (N, L)
        Profile probabilities of each respondent.
    alpha : ndarray, (L, K)
        Attributes of each profile.
    mastered : int8 array, (N, K)
        The attributes that each respondent is said to have. A row that is no profile (EAP with restricted profiles) is wrong.
    weights : ndarray, (N,), optional

    Returns
    -------
    AccuracyArrays

    Notes
    -----
    With posteriors p_i and assigned profiles a_i (n_unknown of them are no profile, so that parallel consistency is nan):

    - accuracy: mean of p_i(a_i); of an attribute, mean of the marginal probability of what was assigned (GDINA's tau, tau_k).
    - consistency: mean of sum p_i^2: two draws from a respondent's posterior agree (GDINA's gamma, gamma_k).
    - M(l, l') = P(assigned l' | true l) = sum of p_i(l) over those assigned l' / sum of p_i(l). Accuracy of profile l is M(l, l).
    - parallel consistency: sum over l of P(l) sum over l' of M(l, l')^2: two administrations to one person give the same profile;
      of an attribute, the same with columns merged by it. This is what "consistency" means to Cui et al.

    These are estimates from the fitted model, and right only as far as it is.

    References
    ----------
    Wang, W., Song, L., Chen, P., Meng, Y., & Ding, S. (2015). Attribute-level and pattern-level classification consistency and
    accuracy indices for cognitive diagnostic assessment. *Journal of Educational Measurement, 52*, 457-476. Cui, Y., Gierl, M.
    J., & Chang, H.-H. (2012). Estimating classification consistency and accuracy for cognitive diagnostic assessment. *Journal of
    Educational Measurement, 49*, 19-38. Iaconangelo, C. (2017). Doctoral dissertation, Rutgers University.
    """
    weight = np.ones(len(posterior)) if weights is None else np.asarray(weights, dtype=np.float64)
    size = float(weight.sum())
    weight = weight / size
    assigned = profile_index(mastered, alpha)
    known = assigned >= 0
    weighted = posterior * weight[:, None]
    mass = weighted.sum(axis=0)
    held = mass > 0
    joint = np.zeros((posterior.shape[1], posterior.shape[1]))
    np.add.at(joint.T, assigned[known], weighted[known])
    matrix, as_master = np.full(joint.shape, np.nan), np.full(alpha.shape, np.nan)
    matrix[held] = joint[held] / mass[held, None]
    as_master[held] = (weighted.T @ mastered)[held] / mass[held, None]
    counts = np.bincount(assigned[known], weights=weight[known], minlength=len(alpha)).astype(np.float64)
    repeated = (matrix**2).sum(axis=1) if known.all() else np.full(len(mass), np.nan)
    same = as_master**2 + (1.0 - as_master) ** 2
    mastery = posterior @ alpha
    return AccuracyArrays(
        accuracy=float(np.trace(joint)),
        consistency=float(weight @ (posterior**2).sum(axis=1)),
        consistency_parallel=float(mass[held] @ repeated[held]),
        profile_expected=mass * size,
        profile_assigned=counts * size,
        profile_accuracy=np.diag(matrix).copy(),
        profile_consistency=repeated,
        attribute_accuracy=weight @ np.where(mastered == 1, mastery, 1.0 - mastery),
        attribute_consistency=weight @ (mastery**2 + (1.0 - mastery) ** 2),
        attribute_parallel=mass[held] @ same[held],
        matrix=matrix,
        n_unknown=int((~known).sum()),
    )


def classification_accuracy(diagnosis: Any, method: str = "map") -> ClassificationAccuracy:
    """Estimate how accurate and how consistent the classification of the fitted respondents is.

    Parameters
    ----------
    diagnosis : Diagnosis
        With its responses.
    method : {"map", "eap", "ml"}
        How respondents are assigned to profiles.

    Returns
    -------
    ClassificationAccuracy

    Notes
    -----
    See :func:`accuracy_of` for the formulas. R's GDINA gives the same for "map" (``CA``); for "eap" its test-level figure is that
    of another quantity, while ours is the mean posterior of the EAP profile.
    """
    method = check_choice(method, ("map", "eap", "ml"), "method")
    fitted = fitted_arrays(diagnosis, "classification_accuracy()")
    posterior, weights = fitted.posterior, fitted.weights
    alpha = profiles_of(diagnosis)
    if not len(posterior):
        raise DataError("The diagnosis was fitted to no respondent, so there is nobody to classify.")
    if method == "eap":
        mastered: ProfileArray = ((posterior @ alpha) > 0.5).astype(np.int8)
    elif method == "map":
        mastered = alpha[np.argmax(posterior, axis=1)]
    else:
        frame = diagnosis.classification(method="ml")[list(diagnosis.attribute_labels)]
        mastered = np.asarray(frame, dtype=np.int8)[fitted.rows]
    labels = [str(label) for label in diagnosis.profile_labels]
    found = accuracy_of(posterior, alpha, mastered, weights)
    reasons: dict[str, str] = {}
    if found.n_unknown:
        text = f"{found.n_unknown} of {len(posterior)} respondents have an {method} profile that the structure does not allow"
        reasons["consistency_parallel"] = text
    profiles = pd.DataFrame(
        {
            "expected": found.profile_expected,
            "assigned": found.profile_assigned,
            "accuracy": found.profile_accuracy,
            "consistency_parallel": found.profile_consistency,
            "reason": [_profile_reason(value, reasons.get("consistency_parallel", "")) for value in found.profile_expected],
        },
        index=pd.Index(labels, name="profile"),
    )
    q_values = np.asarray(diagnosis.q_matrix.values)
    attributes = pd.DataFrame(
        {
            "accuracy": found.attribute_accuracy,
            "consistency": found.attribute_consistency,
            "consistency_parallel": found.attribute_parallel,
            "n_items": q_values.sum(axis=0, dtype=np.int64),
        },
        index=pd.Index(list(diagnosis.attribute_labels), name="attribute"),
    )
    return ClassificationAccuracy(
        accuracy=found.accuracy,
        consistency=found.consistency,
        consistency_parallel=found.consistency_parallel,
        profiles=profiles,
        attributes=attributes,
        matrix=pd.DataFrame(found.matrix, index=pd.Index(labels, name="true"), columns=pd.Index(labels, name="assigned")),
        method=method,
        n=fitted.n,
        reasons=reasons,
    )


def _profile_reason(expected: float, text: str) -> str:
    if expected <= 0.0:
        return "no respondent is expected to have this profile"
    return f"{expected:.2g} expected respondents" if expected < FEW_EXPECTED else text
