"""The verb ``classification_accuracy``: how often levels are right, and how often they would be given again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray, IntArray
from psychoedu.exceptions import DataError, LabelError
from psychoedu.irt.bank import ItemBank
from psychoedu.irt.scores import Scores
from psychoedu.standard_setting.cut_scores import read_cuts
from psychoedu.standard_setting.decisions import (
    Decisions,
    agreement,
    kappa,
    lee,
    merge_levels,
    population_nodes,
    posterior_mean,
    rudner,
)
from psychoedu.standard_setting.raw_scores import ROUNDINGS, expected_scores, round_score
from psychoedu.standard_setting.scales import level_labels
from psychoedu.validation import check_choice, check_labels, check_number, check_positive, check_weights, counted, listed

METHODS = ("rudner", "lee", "eap")
_TITLES = {
    "rudner": "Rudner: a normal around each score",
    "lee": "Lee: number right on a form",
    "eap": "posterior mean of complete responses to a form",
}
_REPEATED = {
    "rudner": "two abilities drawn from one posterior share a level; not two administrations (method='eap' has those)",
    "lee": "two administrations of the form give the same level",
    "eap": "two administrations of the form give the same level",
}
_SHARES_SLACK = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class ClassificationAccuracy:
    """Accuracy and consistency of levels; made by :func:`classification_accuracy`.

    Parameters
    ----------
    accuracy : float
        Probability that the level given is the true one.
    consistency, kappa : float
        Probability that a second occasion gives the same level, and the same beyond chance. What a second occasion is depends on
        the method: see :func:`classification_accuracy`.
    by_cut : DataFrame by level
        The decision at each cut alone: cut_score, raw_cut (Lee), accuracy, false_positive (below the cut, said to be at or
        above it), false_negative, consistency, kappa.
    by_level : DataFrame by level
        true and assigned (shares of respondents), accuracy (of those truly there, the share said to be there), correct (of those
        said to be there, the share truly there); nan where there is nobody.
    table : DataFrame
        Shares of true (rows) by assigned (columns) level; they sum to 1.
    respondents : Series by respondent, or None
        Probability that each respondent's level is right; nan where it does not exist. None for a population.
    n : float or None
        Respondents, weighted; None for a population.
    method : str
    about : tuple of str
        Whom the figures are about.
    diagnostics : tuple of str
        What is missing, and why.
    """

    accuracy: float
    consistency: float
    kappa: float
    by_cut: pd.DataFrame
    by_level: pd.DataFrame
    table: pd.DataFrame
    respondents: pd.Series | None
    n: float | None
    method: str
    about: tuple[str, ...]
    diagnostics: tuple[str, ...]

    def summary(self) -> str:
        """Return the figures as fixed-width text."""
        lines = [f"Classification accuracy, {_TITLES[self.method]}", *self.about]
        lines += [
            f"accuracy {self.accuracy:.3f}  consistency {self.consistency:.3f}  kappa {self.kappa:.3f}",
            f"consistency: {_REPEATED[self.method]}",
            "",
            self.by_cut.round(3).to_string(),
            "",
            self.by_level.round(3).to_string(),
        ]
        return "\n".join([*lines, *([""] if self.diagnostics else []), *self.diagnostics])

    def __repr__(self) -> str:
        figures = f"accuracy={self.accuracy:.3f}, consistency={self.consistency:.3f}"
        return f"ClassificationAccuracy({counted(len(self.by_level), 'level')}, method={self.method!r}, {figures})"

    def _repr_html_(self) -> str:
        return self.table.to_html(float_format=lambda value: f"{value:.3f}")


def classification_accuracy(
    scores: Any,
    cut_scores: Any,
    method: str = "rudner",
    *,
    bank: Any = None,
    items: Any = None,
    raw_scores: Any = None,
    rounding: str = "up",
    population: Any = (0.0, 1.0),
    prior: tuple[float, float] = (0.0, 1.0),
    weights: Any = None,
) -> ClassificationAccuracy:
    """Estimate how often levels are right, and how often they would be given again.

    Parameters
    ----------
    scores : Scores, DataFrame or None
        Abilities by respondent; a frame has columns theta and theta_se ("lee" and "eap" use theta alone). None where a population
        is given.
    cut_scores : CutScores, Series, mapping or sequence of float
        Abilities from which each level starts, in ascending order: theta >= cut is the upper level. A Series or mapping goes by
        level; the levels that a plain sequence opens are called "level 2", "level 3", ...
    method : {"rudner", "lee", "eap"}
        "rudner": from the scores and their standard errors alone. "lee": levels given by the number right on a form. "eap":
        levels given by the posterior mean of complete responses to a form of 2PL items.
    bank : ItemBank or Calibration, optional
        The item parameters on the scale of the cut scores, for "lee" and "eap".
    items : sequence of labels, optional
        The form: items of the bank. All of them by default.
    raw_scores : sequence of int, optional
        For "lee": the number right from which each level is given, where it is not that of the test characteristic curve.
    rounding : {"up", "nearest", "down"}
        For "lee": how the expected score at a cut becomes a number right. "up" is the smallest whole score at or above it.
    population : (mean, SD), sequence of (share, mean, SD), or None
        For "lee" and "eap": the population, normal or a mixture of normals whose shares sum to 1 (Lee's D method); the scores are
        then not used. None averages over the scores instead (his P method).
    prior : (mean, SD)
        For "eap": the prior that the levels' scores are made with.
    weights : Series, mapping or array-like of length N, optional
        Weights of the respondents.

    Returns
    -------
    ClassificationAccuracy

    Raises
    ------
    DataError
        An argument is none of the above; cuts do not increase; the method needs what was not given; no respondent is left.
    LabelError
        The form has items that the bank lacks; scores lack a column.

    Notes
    -----
    *Rudner.* With P_i the level probabilities of respondent i under N(theta_i, theta_se_i), accuracy is the mean probability of
    the level of theta_i, consistency the mean of sum_l P_i(l)^2. With EAP scores and their posterior standard deviations,
    accuracy estimates the share of respondents whose true level is the one given, in the population that the prior describes.

    **The sum of squares is not the consistency of two administrations**: it is the probability that two abilities drawn from one
    posterior share a level. Posterior means of two administrations have the same correlation but a smaller spread, so that
    the outer cuts divide fewer of them: with four cuts the sum of squares is about 0.011 too low at 35 items, 0.006 at 61
    (docs/validation.md). Ask "eap" for two administrations. With ML or WLE scores the normal takes no account of the
    population, and the scores spread by their errors besides.

    *Lee.* Exact for the model: the distribution of the number right at each ability by the Lord-Wingersky recursion, integrated
    between the cuts. The true level is that of ability against the cut on ability, so that what is lost by rounding the raw
    cut counts. The P method takes estimates for true abilities: EAP scores spread too little, ML scores too much, and the figures
    with them; give the population where it is known.

    *EAP.* The same for the posterior mean, which in the 2PL rises with the weighted score sum a_j x_j. Accuracy and consistency
    are those of two administrations, everyone answering every item of the form.

    A respondent without a finite score and standard error is left out and counted in ``.diagnostics``.

    References
    ----------
    Rudner, L. M. (2001). Computing the expected proportions of misclassified examinees. Practical Assessment, Research &
    Evaluation, 7(14).
    Rudner, L. M. (2005). Expected classification accuracy. Practical Assessment, Research & Evaluation, 10(13).
    Lee, W.-C. (2010). Classification consistency and accuracy for complex assessments using item response theory. Journal of
    Educational Measurement, 47, 1-17.

    Examples
    --------
    >>> import pandas as pd
    >>> scores = pd.DataFrame({"theta": [0.3, -1.0], "theta_se": [0.4, 0.5]}, index=["model-x", "model-y"])
    >>> found = classification_accuracy(scores, {"B1": -0.5, "B2": 0.5})
    >>> round(found.accuracy, 3), found.respondents.round(3).to_dict()
    (0.755, {'model-x': 0.669, 'model-y': 0.841})
    >>> bank = ItemBank(pd.DataFrame({"discrimination": 1.0, "difficulty": [-2, -1, 0, 1, 2]}, index=list("abcde")))
    >>> found = classification_accuracy(None, {"pass": 0.0}, "lee", bank=bank)
    >>> found.by_cut["raw_cut"].to_dict(), round(found.accuracy, 3)
    ({'pass': 3}, 0.746)
    """
    check_choice(method, METHODS, "method")
    names, cuts = read_cuts(cut_scores)
    levels = level_labels(names)
    raw_cuts: IntArray | None = None
    notes: list[str] = []
    if method == "rudner":
        respondents, theta, theta_se = _respondents(scores, True)
        weight = check_weights(weights, respondents)
        known = np.isfinite(theta) & np.isfinite(theta_se)
        notes += _left_out(respondents, known, weight, "score and standard error")
        found = rudner(theta[known], theta_se[known], cuts, weight[known])
        about, n = (f"{counted(int(known.sum()), 'respondent')}",), float(weight[known].sum())
    else:
        form = _form(bank, items, method)
        if population is None:
            respondents, theta, _ = _respondents(scores, False)
            weight = check_weights(weights, respondents)
            known = np.isfinite(theta)
            notes += _left_out(respondents, known, weight, "score")
            nodes, node_weights = theta[known], weight[known]
            who, n = f"{counted(len(nodes), 'respondent')}, their scores taken for true abilities", float(node_weights.sum())
        else:
            if weights is not None:
                raise DataError(
                    "weights are those of respondents, and a population is given instead.\n"
                    "Leave the weights out, or average over the scores with population=None."
                )
            shares, means, sds = _population(population)
            nodes, node_weights = population_nodes(shares, means, sds, cuts, float(np.abs(form.discrimination).max()))
            who, n, known = f"population {_population_text(shares, means, sds)}", None, None
        about = (f"{counted(form.n_items, 'item')}; {who}",)
        if method == "lee":
            raw_cuts = _raw_cuts(raw_scores, form, cuts, rounding, levels, notes)
            guessing = form.guessing if form.guessing.any() else None
            found = lee(nodes, node_weights, (form.discrimination, form.intercept, guessing), cuts, raw_cuts)
        else:
            found = posterior_mean(nodes, node_weights, form.discrimination, form.intercept, cuts, _pair(prior, "prior"))
        notes += [note for note in form.diagnostics if note.startswith("negative")]
    own = None
    if known is not None:
        values = np.full(len(known), np.nan)
        values[known] = found.accuracy
        own = pd.Series(values, index=respondents, name="accuracy")
    return _wrap(found, levels, cuts, raw_cuts, own, n, method, about, notes)


def _wrap(
    found: Decisions,
    levels: tuple[str, ...],
    cuts: FloatArray,
    raw_cuts: IntArray | None,
    respondents: pd.Series | None,
    n: float | None,
    method: str,
    about: tuple[str, ...],
    notes: list[str],
) -> ClassificationAccuracy:
    names = pd.Index(levels, name="level")
    single, repeated = merge_levels(found.table), merge_levels(found.repeated)
    by_cut: dict[str, Any] = {"cut_score": cuts}
    if raw_cuts is not None:
        by_cut["raw_cut"] = raw_cuts
    by_cut |= {
        "accuracy": agreement(single),
        "false_positive": single[:, 0, 1],
        "false_negative": single[:, 1, 0],
        "consistency": agreement(repeated),
        "kappa": kappa(repeated),
    }
    true, assigned, right = found.table.sum(axis=1), found.table.sum(axis=0), np.diag(found.table)
    by_level = {"true": true, "assigned": assigned, "accuracy": _ratio(right, true), "correct": _ratio(right, assigned)}
    beyond_chance = float(kappa(found.repeated))
    if not np.isfinite(beyond_chance):
        notes.append("kappa does not exist: everybody is in one level")
    return ClassificationAccuracy(
        accuracy=float(agreement(found.table)),
        consistency=float(agreement(found.repeated)),
        kappa=beyond_chance,
        by_cut=pd.DataFrame(by_cut, index=names[1:]),
        by_level=pd.DataFrame(by_level, index=names),
        table=pd.DataFrame(found.table, index=names.rename("true"), columns=names.rename("assigned")),
        respondents=respondents,
        n=n,
        method=method,
        about=about,
        diagnostics=tuple(notes),
    )


def _ratio(part: FloatArray, whole: FloatArray) -> FloatArray:
    some = whole > 0.0
    return np.where(some, part / np.where(some, whole, 1.0), np.nan)


def _respondents(scores: Any, with_errors: bool) -> tuple[pd.Index, FloatArray, FloatArray]:
    """Return labels, abilities and standard errors."""
    if isinstance(scores, Scores):
        scores = scores.to_frame()
    if not isinstance(scores, pd.DataFrame):
        what = "nothing" if scores is None else f"a {type(scores).__name__}"
        raise DataError(
            f"scores is {what}. Expected Scores, or a DataFrame with columns theta and theta_se, by respondent.\n"
            "Without scores, give a population: method='lee' or 'eap' with bank= and population=(mean, SD)."
        )
    needed = ["theta", "theta_se"] if with_errors else ["theta"]
    absent = [name for name in needed if name not in scores.columns]
    if absent:
        raise LabelError(
            f"scores lacks {counted(len(absent), 'column')}: {listed(absent)}. Its columns are {listed(scores.columns)}.\n"
            "Rename the columns of ability and its standard error to theta and theta_se."
        )
    try:
        columns = [np.asarray(scores[name].to_numpy(dtype=np.float64, na_value=np.nan)) for name in needed]
    except (TypeError, ValueError) as error:
        raise DataError(f"scores has to hold numbers in {listed(needed)}.") from error
    labels = check_labels(scores.index, "respondent")
    wrong = columns[-1] < 0.0
    if with_errors and wrong.any():
        raise DataError(
            f"theta_se of {counted(int(wrong.sum()), 'respondent')} is negative: {listed(labels[wrong])} "
            f"({listed(columns[-1][wrong])}).\nExpected standard errors of at least 0."
        )
    return labels, columns[0], columns[-1]


def _left_out(labels: pd.Index, known: np.ndarray[Any, np.dtype[np.bool_]], weight: FloatArray, what: str) -> list[str]:
    if not (weight[known] > 0.0).any():
        raise DataError(f"None of {counted(len(labels), 'respondent')} has a finite {what}, so there is nobody to classify.")
    unknown = labels[~known]
    return [f"{counted(len(unknown), 'respondent')} without a finite {what} left out: {listed(unknown)}"] if len(unknown) else []


def _form(bank: Any, items: Any, method: str) -> ItemBank:
    known = getattr(bank, "bank", bank)
    if not isinstance(known, ItemBank):
        what = "none" if bank is None else f"a {type(bank).__name__}"
        raise DataError(f"method={method!r} needs the item parameters: bank= an ItemBank or a Calibration; got {what}.")
    if items is not None:
        labels = [items] if isinstance(items, str) else list(items)
        if not any(label in known.labels for label in labels):
            raise LabelError(
                f"items and bank have no item in common: the form has {listed(labels)}, the bank {listed(known.labels)}.\n"
                "Expected labels of the bank's items; number and text are different labels."
            )
        known = known.select(labels)
    if method == "eap" and known.guessing.any():
        raise DataError(
            f"{counted(int((known.guessing > 0).sum()), 'item')} with guessing: {listed(known.labels[known.guessing > 0])}.\n"
            "method='eap' works for 2PL items, whose posterior depends on a weighted score alone; use 'rudner' or 'lee'."
        )
    return known


def _raw_cuts(given: Any, form: ItemBank, cuts: FloatArray, rounding: str, levels: tuple[str, ...], notes: list[str]) -> IntArray:
    check_choice(rounding, ROUNDINGS, "rounding")
    if given is None:
        whole_scores = round_score(expected_scores(form, cuts), rounding)
        raw_cuts = np.where(cuts == np.inf, form.n_items + 1, np.where(cuts == -np.inf, 0.0, whole_scores)).astype(np.int64)
        mend = "Leave out items with a negative discrimination, or give raw_scores."
    else:
        values = list(given.values()) if isinstance(given, Mapping) else list(given)
        whole = [isinstance(value, int | np.integer) and not isinstance(value, bool) for value in values]
        if len(values) != len(cuts) or not all(whole) or not all(0 <= value <= form.n_items + 1 for value in values):
            raise DataError(
                f"raw_scores has to hold a whole number from 0 to {form.n_items + 1} for each of {counted(len(cuts), 'cut')}; "
                f"got {listed(values)}.\n{form.n_items + 1} is never reached."
            )
        raw_cuts, mend = np.array(values, dtype=np.int64), "Give them from the lowest level to the highest."
    if (np.diff(raw_cuts) < 0).any():
        raise DataError(
            f"The raw cuts of {listed(levels[1:])} decrease: {listed(raw_cuts)}. Expected none below the one before.\n{mend}"
        )
    bounds = np.concatenate([[0], raw_cuts, [form.n_items + 1]])
    never = [name for name, empty in zip(levels, np.diff(bounds) == 0, strict=True) if empty]
    if never:
        notes.append(f"{counted(len(never), 'level')} that no number right gives: {listed(never)}")
    return raw_cuts


def _pair(given: Any, name: str) -> tuple[float, float]:
    if not isinstance(given, Sequence | np.ndarray) or isinstance(given, str) or len(given) != 2:
        raise DataError(f"{name} has to be a mean and a standard deviation, as (0.0, 1.0); got {given!r}.")
    return check_number(given[0], f"the mean of {name}"), check_positive(given[1], f"the standard deviation of {name}")


def _population(given: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return shares, means and standard deviations."""
    parts = list(given) if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str) else []
    if not parts or np.ndim(parts[0]) == 0:
        mean, sd = _pair(given, "population")
        return np.ones(1), np.array([mean]), np.array([sd])
    if any(np.ndim(part) == 0 or len(part) != 3 for part in parts):
        raise DataError(f"population has to be (mean, SD) or a sequence of (share, mean, SD); got {given!r}.")
    shares = np.array([check_positive(part[0], "a share of population") for part in parts])
    if abs(shares.sum() - 1.0) > _SHARES_SLACK:
        raise DataError(f"The shares of population sum to {shares.sum():g}: {listed(shares)}. Expected shares that sum to 1.")
    pairs = np.array([_pair(part[1:], "population") for part in parts])
    return shares / shares.sum(), pairs[:, 0], pairs[:, 1]


def _population_text(shares: FloatArray, means: FloatArray, sds: FloatArray) -> str:
    parts = [f"N({mean:g}, {sd:g})" for mean, sd in zip(means, sds, strict=True)]
    if len(parts) == 1:
        return parts[0]
    return " + ".join(f"{share:.3g} {part}" for share, part in zip(shares, parts, strict=True))
