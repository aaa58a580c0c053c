"""Relative fit: information criteria, likelihood-ratio tests, and which item model each item needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import chi2

from psychoedu._typing import FloatArray, IntArray
from psychoedu.cdm.fitted import GDINA_NAME, possible_profiles
from psychoedu.cdm.multiplicity import bonferroni, holm
from psychoedu.cdm.wald import REDUCED_MODELS, WaldTest, reduced_model_test
from psychoedu.exceptions import DataError
from psychoedu.validation import check_choice, check_flag, check_probability

LARGEST_DROP = 1e-3
"""A general model this much below its special case in log-likelihood has not been maximised."""

_RULES = ("simpler", "largestp")


@dataclass(frozen=True)
class LikelihoodRatio:
    """A likelihood-ratio test; nan with a reason where it does not exist."""

    statistic: float
    df: int
    p_value: float
    reason: str


def information_criteria(log_likelihood: float, n_parameters: int, n_respondents: float) -> dict[str, float]:
    """Return -2 log-likelihood, AIC and BIC (with the logarithm of the number of respondents).

    Examples
    --------
    >>> {name: round(value, 2) for name, value in information_criteria(-46901.69, 192, 2074).items()}
    {'minus_2ll': 93803.38, 'aic': 94187.38, 'bic': 95269.73}
    """
    deviance = -2.0 * log_likelihood
    bic = deviance + n_parameters * math.log(n_respondents)
    return {"minus_2ll": deviance, "aic": deviance + 2.0 * n_parameters, "bic": bic}


def relative_fit(models: Mapping[str, tuple[float, int]], n_respondents: float) -> pd.DataFrame:
    """Tabulate the relative fit of models of the same responses.

    Parameters
    ----------
    models : mapping of name to (log-likelihood, number of parameters)
    n_respondents : float
        Respondents fitted (sum of weights), the N of BIC.

    Returns
    -------
    DataFrame by model: log_likelihood, minus_2ll, n_parameters, aic, bic, delta_aic, delta_bic, aic_weight

    Notes
    -----
    delta: difference from the smallest. aic_weight: exp(-delta_aic / 2), made to sum to 1 over the models.
    """
    rows = {
        name: {"log_likelihood": value, "n_parameters": count, **information_criteria(value, count, n_respondents)}
        for name, (value, count) in models.items()
    }
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index.name = "model"
    table = table[["log_likelihood", "minus_2ll", "n_parameters", "aic", "bic"]]
    for name in ("aic", "bic"):
        table[f"delta_{name}"] = table[name] - table[name].min()
    weight = np.exp(-table["delta_aic"] / 2.0)
    table["aic_weight"] = weight / weight.sum()
    return table


def likelihood_ratio(restricted: tuple[float, int], general: tuple[float, int]) -> LikelihoodRatio:
    """Test a model against a more general one in which it is nested.

    Parameters
    ----------
    restricted, general : (log-likelihood, number of parameters)
        Of the same responses; that the first is nested in the second is for the caller to know.

    Returns
    -------
    LikelihoodRatio
        No test, with the reason, if the general model has no more parameters, or fits worse (then it has not been maximised).

    Examples
    --------
    >>> test = likelihood_ratio((-1010.0, 10), (-1000.0, 14))
    >>> test.statistic, test.df, round(test.p_value, 5)
    (20.0, 4, 0.0005)
    """
    df = general[1] - restricted[1]
    statistic = 2.0 * (general[0] - restricted[0])
    if df < 1:
        return LikelihoodRatio(
            math.nan, df, math.nan, f"the general model has {general[1]} parameters, the other {restricted[1]}"
        )
    if not math.isfinite(statistic):
        return LikelihoodRatio(math.nan, df, math.nan, "a log-likelihood is not known")
    if statistic < -2.0 * LARGEST_DROP:
        reason = f"the general model fits worse by {-statistic / 2.0:.4g}: start it from the other's solution"
        return LikelihoodRatio(math.nan, df, math.nan, reason)
    statistic = max(statistic, 0.0)
    return LikelihoodRatio(statistic, df, float(chi2.sf(statistic, df)), "")


def nested_tests(models: Mapping[str, tuple[float, int]], general: str = GDINA_NAME) -> pd.DataFrame:
    """Test every model against the one in which all are nested.

    Parameters
    ----------
    models : mapping of name to (log-likelihood, number of parameters)
    general : str, default "G-DINA"

    Returns
    -------
    DataFrame by model: statistic, df, p_value, p_holm, reason
    """
    if general not in models:
        raise DataError(f"{general!r} is not among the models: {', '.join(models)}. Name the one that holds the others.")
    tests = {name: likelihood_ratio(fit, models[general]) for name, fit in models.items() if name != general}
    table = pd.DataFrame(
        [[test.statistic, test.df, test.p_value, test.reason] for test in tests.values()],
        index=pd.Index(list(tests), name="model"),
        columns=["statistic", "df", "p_value", "reason"],
    )
    table.insert(3, "p_holm", holm(table["p_value"].to_numpy(dtype=np.float64)))
    return table


@dataclass(frozen=True, eq=False)
class ItemModelChoice:
    """Which reduced model, if any, each item needs.

    Parameters
    ----------
    tests : DataFrame
        One row per item and reduced model: item, model, n_attributes, statistic, df, p_value, p_holm, p_bonferroni, reason.
    selected : DataFrame
        One row per item: item, model, p_value, n_kept (reduced models that were not rejected), reason.
    method, rule : str
    alpha : float
    adjusted : bool
        Whether the rule looked at Holm's p-values.
    """

    tests: pd.DataFrame
    selected: pd.DataFrame
    method: str
    rule: str
    alpha: float
    adjusted: bool

    @property
    def models(self) -> list[str]:
        """The selected model of each item, in the order of the items."""
        return [str(model) for model in self.selected["model"]]


def choose_item_models(
    diagnosis: Any,
    models: Sequence[str] = REDUCED_MODELS,
    method: str = "wald",
    rule: str = "simpler",
    alpha: float = 0.05,
    adjusted: bool = False,
    covariance: FloatArray | None = None,
    refit: Callable[[tuple[str, ...]], tuple[float, int]] | None = None,
) -> ItemModelChoice:
    """Test, for each item with several attributes, whether a reduced model does as well as G-DINA.

    Parameters
    ----------
    diagnosis : Diagnosis
        G-DINA for the items tested; other items are left as they are, with the reason.
    models : sequence of str
        Reduced models to try, of "DINA", "DINO", "ACDM", "LLM", "RRUM".
    method : {"wald", "lr"}
        Wald needs one fit and the covariance of the probabilities; the likelihood-ratio test fits each item and model again.
    rule : {"simpler", "largestp"}
        Among the models that are not rejected: DINA or DINO before the additive ones and the largest p-value among those; or the
        largest p-value of all. G-DINA if all are rejected.
    alpha : float, default 0.05
    adjusted : bool, default False
        Let the rule look at Holm's p-values instead of single ones.
    covariance : ndarray, optional
        Of all items' probabilities, in order; the diagnosis's own if None. R's GDINA holds profile probabilities known, which
        makes it a little smaller: ``diagnose(..., standard_errors="crossprod-items")``.
    refit : callable, for method "lr"
        Takes a model per item, returns (log-likelihood, number of parameters) of that fit.

    Returns
    -------
    ItemModelChoice

    Notes
    -----
    A probability on its bound has a covariance in name only: such tests carry a note in ``reason`` although they have a value.
    If profiles are restricted (a hierarchy) and some of an item's reduced profiles cannot occur, its models cannot be told apart
    and the reason says so before anything is computed (R's GDINA stops with a matrix error).

    References
    ----------
    de la Torre, J., & Lee, Y.-S. (2013). *Journal of Educational Measurement, 50*, 355-373. Ma, W., Iaconangelo, C., & de la
    Torre, J. (2016). *Applied Psychological Measurement, 40*, 200-217. Sorrel, M. A., Abad, F. J., Olea, J., de la Torre, J., &
    Barrada, J. R. (2017). Inferential item-fit evaluation in cognitive diagnosis modeling. *Applied Psychological Measurement,
    41*, 614-631.
    """
    method = check_choice(method, ("wald", "lr"), "method")
    rule = check_choice(rule, _RULES, "rule")
    alpha = check_probability(alpha, "alpha")
    adjusted = check_flag(adjusted, "adjusted")
    names = [check_choice(model, REDUCED_MODELS, "models") for model in models]
    if method == "lr" and refit is None:
        raise DataError('method="lr" fits each item and model again: pass refit=, a function of the item models.')
    fitted = tuple(diagnosis.item_models)
    general = (float(diagnosis.log_likelihood), int(diagnosis.n_parameters))
    blocks = _item_covariances(diagnosis, covariance) if method == "wald" else []
    possible = possible_profiles(diagnosis)
    rows: list[list[Any]] = []
    for item, probability in enumerate(diagnosis.probabilities):
        n_attributes = round(math.log2(len(probability)))
        reason = _untestable(fitted[item], n_attributes, np.asarray(diagnosis.item_groups[item])[possible])
        for model in names:
            if reason:
                test: WaldTest | LikelihoodRatio = WaldTest(math.nan, 0, math.nan, reason)
            elif method == "wald":
                test = _noted(reduced_model_test(model, np.asarray(probability), blocks[item]), np.asarray(probability))
            else:
                assert refit is not None
                changed = tuple(model if position == item else kept for position, kept in enumerate(fitted))
                test = likelihood_ratio(refit(changed), general)
            label = diagnosis.item_labels[item]
            rows.append([label, model, n_attributes, test.statistic, test.df, test.p_value, test.reason])
    tests = pd.DataFrame(rows, columns=["item", "model", "n_attributes", "statistic", "df", "p_value", "reason"])
    p_values = tests["p_value"].to_numpy(dtype=np.float64)
    tests.insert(6, "p_holm", holm(p_values))
    tests.insert(7, "p_bonferroni", bonferroni(p_values))
    looked_at = "p_holm" if adjusted else "p_value"
    chosen = []
    for item, label in enumerate(diagnosis.item_labels):
        own_tests = tests.iloc[item * len(names) : (item + 1) * len(names)]
        p = own_tests[looked_at].to_numpy(dtype=np.float64)
        model, value, kept = select_model(names, p, rule, alpha)
        tested = bool(np.isfinite(p).any())
        if not tested:
            model = str(fitted[item])
        chosen.append([label, model, value, kept, "" if tested else str(own_tests["reason"].iloc[0])])
    selected = pd.DataFrame(chosen, columns=["item", "model", "p_value", "n_kept", "reason"])
    return ItemModelChoice(tests, selected, method, rule, alpha, adjusted)


def select_model(names: Sequence[str], p_values: FloatArray, rule: str, alpha: float) -> tuple[str, float, int]:
    """Return the model that a rule selects, its p-value (nan for G-DINA) and how many were not rejected.

    Examples
    --------
    >>> import numpy as np
    >>> select_model(["DINA", "DINO", "ACDM"], np.array([0.001, 0.15, 0.68]), "simpler", 0.05)
    ('DINO', 0.15, 2)
    >>> select_model(["DINA", "DINO", "ACDM"], np.array([0.001, 0.15, 0.68]), "largestp", 0.05)
    ('ACDM', 0.68, 2)
    """
    kept = [(float(p), name) for p, name in zip(p_values, names, strict=True) if p > alpha]
    if not kept:
        return GDINA_NAME, math.nan, 0
    simple = [entry for entry in kept if entry[1] in ("DINA", "DINO")]
    p, name = max(simple if rule == "simpler" and simple else kept, key=lambda entry: entry[0])
    return name, p, len(kept)


def _item_covariances(diagnosis: Any, covariance: FloatArray | None) -> list[FloatArray]:
    """Return the covariance of each item's probabilities, nan where it is not known."""
    sizes = [len(probability) for probability in diagnosis.probabilities]
    if covariance is not None:
        whole = np.asarray(covariance, dtype=np.float64)
        if whole.shape != (sum(sizes), sum(sizes)):
            expected = (sum(sizes), sum(sizes))
            raise DataError(f"covariance has the shape {whole.shape}; expected {expected}, all items' probabilities in order.")
        first = np.concatenate([[0], np.cumsum(sizes)])
        return [whole[a:b, a:b] for a, b in pairwise(first)]
    if diagnosis.covariance is None:
        return [np.full((size, size), np.nan) for size in sizes]
    blocks, start = [], 0
    for size, group, by_profile in zip(sizes, diagnosis.item_groups, diagnosis.jacobians()[0], strict=True):
        own = slice(start, start + by_profile.shape[1])
        start = own.stop
        _, representative = np.unique(group, return_index=True)
        jacobian = by_profile[representative]  # a row per reduced profile
        block: FloatArray = jacobian @ np.asarray(diagnosis.covariance, dtype=np.float64)[own, own] @ jacobian.T
        blocks.append(block if len(block) == size else np.full((size, size), np.nan))
    return blocks


def _untestable(model: Any, n_attributes: int, group: IntArray) -> str:
    if n_attributes < 2:
        return "one attribute: all models are the same"
    if str(model) != GDINA_NAME:
        return f"fitted as {model}; fit it as G-DINA to test reduced models"
    absent = 2**n_attributes - len(np.unique(group))
    if absent:
        return f"needs unstructured profiles: {absent} of {2**n_attributes} reduced profiles cannot occur"
    return ""


def _noted(test: WaldTest, probability: FloatArray) -> WaldTest:
    """Say beside a test that a probability lies so near 0 or 1 that its covariance is one in name only."""
    near = float(min(probability.min(), 1.0 - probability.max()))
    if test.reason or near > 1.001e-4:
        return test
    return WaldTest(test.statistic, test.df, test.p_value, "a probability is on its bound: approximate at best")
