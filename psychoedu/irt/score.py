"""The verb ``score``: abilities of respondents against an item bank."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray
from psychoedu.exceptions import DataError, LabelError
from psychoedu.irt.bank import ItemBank
from psychoedu.irt.scores import Scores
from psychoedu.irt.scoring import METHODS, Method, estimate
from psychoedu.responses import ResponseMatrix, as_response_matrix
from psychoedu.validation import check_choice, check_number, check_per_label, check_positive, counted, listed

__all__ = ["Scores", "score", "score_bank"]


def score(
    calibration_or_bank: Any,
    responses: Any,
    method: str = "eap",
    prior_mean: Any = 0.0,
    prior_sd: Any = 1.0,
) -> Scores:
    """Score respondents against a calibration or an item bank, item parameters held fixed.

    Parameters
    ----------
    calibration_or_bank : Calibration or ItemBank
    responses : ResponseMatrix, DataFrame, or array-like of shape (N, J)
        Right 1, wrong 0, missing nan; N may be 1. Items are matched to the bank by label, in any order (an array's items are
        q1, q2, ...). An item of the bank that is absent counts as missing.
    method : {"eap", "map", "ml", "wle"}
        Posterior mean, posterior mode, maximum likelihood, or Warm's weighted likelihood.
    prior_mean, prior_sd : float or one number per respondent
        The normal prior of "eap" and "map", on the bank's scale; prior_sd is a standard deviation. "ml" and "wle" do without.

    Returns
    -------
    Scores
        ``.theta`` and ``.theta_se`` by respondent, in the rows' order; ``.flags``; ``.to_frame()``.

    Raises
    ------
    LabelError
        The responses have items that the bank does not have.
    DataError
        An argument is none of the above.

    Notes
    -----
    EAP: mean and standard deviation of the posterior, on at least 121 equally spaced points from about
    prior_mean - 7.5 prior_sd to prior_mean + 7.5 prior_sd, more where a row's items could make its posterior narrow against their
    spacing, and a wider range where the posterior has not died out at its ends; within 1e-7 of the integral.

    MAP maximises log L + log prior, ML log L, WLE log L + log(I) / 2 with I the test information. Each standard error is
    1 / sqrt(-second derivative of what was maximised), as in R mirt: for MAP of a 2PL 1 / sqrt(I + 1 / prior_sd^2), for ML
    1 / sqrt(I), and for WLE that of the *penalised* objective, which is not 1 / sqrt(I) (on short tests it
    differs by 0.02 to 0.1).

    An all-right (all-wrong) row has no ML: it gets +inf (-inf), a standard error of nan and a flag, as does any row whose
    likelihood rises without end. With guessing the likelihood may have several maxima, or be highest at -inf: the highest of
    those found from 121 points spread over the bank is taken, and -inf where its limit there is higher still. With guessing
    log(I) / 2 is Jeffreys's prior, no longer Warm's own correction, which for the 2PL it equals.

    A row with nothing answered gets the prior (EAP, MAP) or nan (ML, WLE) and the flag ``no_data``. A row's result does not
    depend on the other rows: scored alone it is the same to the last bit.

    Cost: rows with equal responses and one prior are scored once; a million rows of 20 items take about a second, and so do
    100,000 rows of 30 items that each have a prior of their own.

    References
    ----------
    Bock, R. D., & Mislevy, R. J. (1982). Adaptive EAP estimation of ability in a microcomputer environment. Applied Psychological
    Measurement, 6, 431-444.
    Warm, T. A. (1989). Weighted likelihood estimation of ability in item response theory. Psychometrika, 54, 427-450.

    Examples
    --------
    >>> import pandas as pd
    >>> from psychoedu.irt.bank import ItemBank
    >>> bank = ItemBank(pd.DataFrame({"discrimination": 1.0, "difficulty": [-2, -1, 0, 1, 2]}, index=list("abcde")))
    >>> models = pd.DataFrame({"a": [1, 1], "b": [1, 1], "c": [1, 1], "d": [0, 1], "e": [0, 1]}, index=["model-x", "model-y"])
    >>> scores = score(bank, models)
    >>> scores.theta.round(3).to_dict()
    {'model-x': 0.275, 'model-y': 1.405}
    >>> scores.flags["model-y"]
    'all_right'
    """
    bank = getattr(calibration_or_bank, "bank", calibration_or_bank)
    if not isinstance(bank, ItemBank):
        hint = " Make a bank of the table first: ItemBank(frame)." if isinstance(bank, pd.DataFrame) else ""
        if type(bank).__name__ == "Diagnosis":
            hint = " A diagnosis classifies respondents with psychoedu.cdm.score(diagnosis, responses)."
        raise DataError(f"score needs a Calibration or an ItemBank first; got {type(calibration_or_bank).__name__}.{hint}")
    matrix = as_response_matrix(responses)
    mean = _prior(prior_mean, matrix, "prior_mean")
    sd = _prior(prior_sd, matrix, "prior_sd")
    return score_bank(bank, matrix, method, mean, sd)


def score_bank(
    bank: ItemBank,
    matrix: ResponseMatrix,
    method: str = "eap",
    prior_mean: float | FloatArray = 0.0,
    prior_sd: float | FloatArray = 1.0,
) -> Scores:
    """Score a response matrix against a bank; :func:`score` without its checks of the other arguments.

    Parameters
    ----------
    bank : ItemBank
    matrix : ResponseMatrix
    method : {"eap", "map", "ml", "wle"}
    prior_mean, prior_sd : float or ndarray, (N,)
        Each respondent's own prior, where arrays: the mean and SD of the respondent's group.

    Returns
    -------
    Scores

    Raises
    ------
    LabelError
        The matrix has items that the bank does not have.
    DataError
        The method is none of the above.
    """
    check_choice(method, METHODS, "method")
    chosen: Method = next(name for name in METHODS if name == method)
    positions = _positions(bank.labels, matrix.item_labels)
    estimates = estimate(
        matrix.scored(), bank.discrimination, bank.intercept, bank.guessing, chosen, prior_mean, prior_sd, positions
    )
    with_prior = chosen in ("eap", "map")
    mean, sd = (
        float(np.ravel(values)[0]) if with_prior and np.all(values == np.ravel(values)[0]) else None
        for values in (prior_mean, prior_sd)
    )
    return Scores(matrix.respondent_labels, estimates, chosen, mean, sd)


def _positions(known: pd.Index, wanted: pd.Index) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return where each column stands in the bank."""
    positions = known.get_indexer(wanted)
    unknown = wanted[positions < 0]
    if len(unknown):
        texts = set(map(str, known))
        alike = all(str(label) in texts for label in unknown)
        mend = (
            "They differ in type alone (text or number): convert them, as in frame.columns = frame.columns.astype(str)."
            if alike
            else "Leave them out, as in matrix.select(items=[...]) or frame[[...]], or rename them to the bank's labels."
        )
        raise LabelError(
            f"{len(unknown):,} of {counted(len(wanted), 'item')} of the responses are not in the bank: {listed(unknown)}.\n"
            f"Expected items among the bank's {len(known):,}: {listed(known)}.\n{mend}"
        )
    return positions.astype(np.int64)


def _prior(value: Any, matrix: ResponseMatrix, name: str) -> float | FloatArray:
    check = check_positive if name == "prior_sd" else check_number
    if np.ndim(value) == 0:
        return check(value, name)
    values = check_per_label(value, matrix.respondent_labels, name)
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} has to be numbers; got {listed(values)}.") from error
    wrong = ~np.isfinite(array) | ((array <= 0.0) if name == "prior_sd" else False)
    if wrong.any():
        expected = "finite numbers above 0" if name == "prior_sd" else "finite numbers"
        raise DataError(
            f"{name} of {counted(int(wrong.sum()), 'respondent')} is not usable: {listed(matrix.respondent_labels[wrong])} "
            f"({listed(array[wrong])}). Expected {expected}."
        )
    return array
