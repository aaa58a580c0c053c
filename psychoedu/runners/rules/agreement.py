"""Agreement between raters, as plain arrays: kappa of two and of several, Krippendorff's alpha, intraclass correlations."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import fdtri, ndtri

from psychoedu._typing import FloatArray, IntArray
from psychoedu.exceptions import DataError
from psychoedu.validation import check_choice, check_probability, listed

KAPPA_WEIGHTS = ("none", "linear", "quadratic")
ALPHA_LEVELS = ("nominal", "ordinal", "interval")


@dataclass(frozen=True)
class Kappa:
    """Cohen's kappa of two raters.

    Parameters
    ----------
    value : float
        1 for full agreement, 0 for that of chance; nan where chance agreement is complete (one category alone), or without data.
    standard_error, low, high : float
        From the delta method for a kappa other than 0; the limits are cut to -1 and 1. nan where value is.
    observed, expected : float
        Agreement found, and expected of independent raters with these margins; weighted if kappa is.
    n : int
        Pairs with both ratings.
    weights : {"none", "linear", "quadratic"}
    """

    value: float
    standard_error: float
    low: float
    high: float
    observed: float
    expected: float
    n: int
    weights: str


@dataclass(frozen=True)
class IntraclassCorrelation:
    """One form of the intraclass correlation, with its F test's parts and its limits; nan where nothing varies."""

    form: str
    value: float
    low: float
    high: float
    f: float
    df1: float
    df2: float


def is_missing(value: object) -> bool:
    """Tell whether a rating is absent: None or nan."""
    return value is None or (isinstance(value, float | np.floating) and math.isnan(value))


def cohens_kappa(
    first: Sequence[Any],
    second: Sequence[Any],
    categories: Sequence[Any] | None = None,
    weights: str = "none",
    confidence_level: float = 0.95,
) -> Kappa:
    """Compute Cohen's kappa of two raters, plain or weighted.

    Parameters
    ----------
    first, second : sequences of length n
        Ratings; pairs with a missing one (None, nan) are left out.
    categories : sequence, optional
        All categories, in order for weighted kappa. Default: those that occur, sorted.
    weights : {"none", "linear", "quadratic"}
        Disagreement as any difference, |x - y| or (x - y)^2, where x and y are the categories' values if they are numbers, else
        their positions.
    confidence_level : float

    Returns
    -------
    Kappa

    Raises
    ------
    DataError
        Sequences of different lengths, or ratings outside the categories.

    Notes
    -----
    kappa = 1 - sum v_ij p_ij / sum v_ij p_i. p_.j with disagreement weights v. With agreement weights w = 1 - v / max(v), the
    standard error is Fleiss, Cohen and Everitt's (equation 9),
    Var = (sum p_ij (w_ij - (w_i. + w_.j)(1 - kappa))^2 - (kappa - p_e (1 - kappa))^2) / (n (1 - p_e)^2), where
    w_i. = sum_j p_.j w_ij and w_.j = sum_i p_i. w_ij.

    References
    ----------
    Cohen, J. (1968). Weighted kappa. Psychological Bulletin, 70, 213-220.
    Fleiss, J. L., Cohen, J., & Everitt, B. S. (1969). Large sample standard errors of kappa and weighted kappa. Psychological
    Bulletin, 72, 323-327.

    Examples
    --------
    >>> cohens_kappa("AABB", "AABA").value
    0.5
    """
    check_choice(weights, KAPPA_WEIGHTS, "weights")
    level = check_probability(confidence_level, "confidence_level")
    if len(first) != len(second):
        raise DataError(f"The raters have {len(first)} and {len(second)} ratings; expected one for every object from both.")
    pairs = [(x, y) for x, y in zip(first, second, strict=True) if not (is_missing(x) or is_missing(y))]
    known = _categories([rating for pair in pairs for rating in pair], categories)
    place = {category: position for position, category in enumerate(known)}
    counts = np.zeros((len(known), len(known)))
    for x, y in pairs:
        counts[place[x], place[y]] += 1.0
    return kappa_of_table(counts, _distances(known, weights), weights, level)


def kappa_of_table(counts: FloatArray, disagreement: FloatArray, weights: str = "none", confidence_level: float = 0.95) -> Kappa:
    """Compute kappa from a table of counts, (C, C), and disagreement weights, (C, C), with a zero diagonal."""
    n = float(counts.sum())
    largest = disagreement.max(initial=0.0)
    unknown = Kappa(math.nan, math.nan, math.nan, math.nan, math.nan, math.nan, int(n), weights)
    if n == 0.0:
        return unknown
    w = 1.0 - disagreement / largest if largest > 0.0 else np.ones_like(disagreement)
    p = counts / n
    rows, columns = p.sum(axis=1), p.sum(axis=0)
    observed, expected = float((w * p).sum()), float(rows @ w @ columns)
    if 1.0 - expected < 1e-12:
        return Kappa(math.nan, math.nan, math.nan, math.nan, observed, expected, int(n), weights)
    kappa = (observed - expected) / (1.0 - expected)
    mixed = (w @ columns)[:, None] + (rows @ w)[None, :]
    variance = (p * (w - mixed * (1.0 - kappa)) ** 2).sum() - (kappa - expected * (1.0 - kappa)) ** 2
    error = math.sqrt(max(float(variance), 0.0) / n) / (1.0 - expected)
    half = float(ndtri(0.5 + confidence_level / 2.0)) * error
    return Kappa(kappa, error, max(kappa - half, -1.0), min(kappa + half, 1.0), observed, expected, int(n), weights)


def _categories(ratings: Sequence[Any], categories: Sequence[Any] | None) -> list[Any]:
    if categories is None:
        try:
            return sorted(set(ratings))
        except TypeError as error:
            raise DataError(f"Ratings of different types: {listed(list(dict.fromkeys(ratings)))}. Pass categories=.") from error
    known = list(categories)
    if len(set(known)) != len(known):
        raise DataError(f"categories holds a category twice: {listed(known)}.")
    strange = list(dict.fromkeys(rating for rating in ratings if rating not in known))
    if strange:
        raise DataError(f"Ratings outside the categories {listed(known)}: {listed(strange)}.")
    return known


def _distances(categories: Sequence[Hashable], weights: str) -> FloatArray:
    numbers = all(isinstance(category, int | float | np.number) for category in categories)
    at = np.array(categories if numbers else range(len(categories)), dtype=np.float64)
    apart = np.abs(at[:, None] - at)
    return (apart > 0.0).astype(np.float64) if weights == "none" else apart if weights == "linear" else apart**2


def fleiss_kappa(counts: FloatArray | IntArray) -> float:
    """Compute Fleiss' kappa of several raters.

    Parameters
    ----------
    counts : ndarray, (n_objects, n_categories)
        How many raters put an object into a category; the same number of ratings, at least 2, for every object.

    Returns
    -------
    float
        nan for no objects, or where all ratings fall into one category.

    Raises
    ------
    DataError
        Objects with different numbers of ratings; :func:`krippendorff_alpha` takes these.

    References
    ----------
    Fleiss, J. L. (1971). Measuring nominal scale agreement among many raters. Psychological Bulletin, 76, 378-382.

    Examples
    --------
    >>> fleiss_kappa(np.array([[2, 0], [0, 2], [1, 1], [1, 1]]))
    0.0
    """
    table = np.asarray(counts, dtype=np.float64)
    if not len(table):
        return math.nan
    raters = table.sum(axis=1)
    n = float(raters[0])
    if n < 2.0 or (raters != n).any():
        raise DataError(f"Objects have {listed(np.unique(raters))} ratings; expected one number, at least 2, for all.")
    observed = float((((table**2).sum(axis=1) - n) / (n * (n - 1.0))).mean())
    expected = float(((table.sum(axis=0) / table.sum()) ** 2).sum())
    return math.nan if 1.0 - expected < 1e-12 else (observed - expected) / (1.0 - expected)


def krippendorff_alpha(ratings: FloatArray, level: str = "nominal") -> float:
    """Compute Krippendorff's alpha of any number of raters, with ratings missing or not.

    Parameters
    ----------
    ratings : ndarray, (n_objects, n_raters)
        Numbers; nan is missing. Objects with fewer than two ratings say nothing and are left out.
    level : {"nominal", "ordinal", "interval"}
        How far apart two values are: different or not, by the ranks between them, or by their squared difference.

    Returns
    -------
    float
        nan where fewer than two different values occur.

    References
    ----------
    Krippendorff, K. (2011). Computing Krippendorff's alpha-reliability. University of Pennsylvania.

    Examples
    --------
    >>> krippendorff_alpha(np.array([[0.0, 0.0], [1.0, 1.0], [0.0, np.nan]]))
    1.0
    """
    check_choice(level, ALPHA_LEVELS, "level")
    table = np.asarray(ratings, dtype=np.float64)
    table = table[(~np.isnan(table)).sum(axis=1) >= 2]
    values = np.unique(table[~np.isnan(table)])
    if len(values) < 2:
        return math.nan
    counts = (table[:, :, None] == values).sum(axis=1).astype(np.float64)
    pairable = counts.sum(axis=1)
    coincidences = (counts / (pairable - 1.0)[:, None]).T @ counts - np.diag((counts / (pairable - 1.0)[:, None]).sum(axis=0))
    margin = counts.sum(axis=0)
    if level == "ordinal":
        middle = np.cumsum(margin) - margin / 2.0
        apart = (middle[:, None] - middle) ** 2
    elif level == "interval":
        apart = (values[:, None] - values) ** 2
    else:
        apart = 1.0 - np.eye(len(values))
    expected = (np.outer(margin, margin) * apart).sum() / (margin.sum() - 1.0)
    return float(1.0 - (coincidences * apart).sum() / expected)


def intraclass(ratings: FloatArray, confidence_level: float = 0.95) -> dict[str, IntraclassCorrelation]:
    """Compute the six intraclass correlations of Shrout and Fleiss, with limits from the F distribution.

    Parameters
    ----------
    ratings : ndarray, (n_objects, n_raters)
        All present; at least two of both.
    confidence_level : float

    Returns
    -------
    dict
        "ICC(1,1)", "ICC(2,1)", "ICC(3,1)" for a single rater and "ICC(1,k)", "ICC(2,k)", "ICC(3,k)" for the mean of the k.
        Form 1: each object has its own raters; 2: absolute agreement of raters drawn at random; 3: consistency of these very
        raters. All nan where all ratings are equal.

    Raises
    ------
    DataError
        Ratings are missing, or fewer than two of either.

    Notes
    -----
    From the mean squares of objects B, raters J, residual E and within objects W:
    ICC(1,1) = (B - W) / (B + (k - 1) W), ICC(2,1) = (B - E) / (B + (k - 1) E + k (J - E) / n),
    ICC(3,1) = (B - E) / (B + (k - 1) E); of the mean, (B - W) / B, (B - E) / (B + (J - E) / n), (B - E) / B. Limits of form 2
    use Satterthwaite's degrees of freedom. Estimates below 0 are left as they are.

    References
    ----------
    Shrout, P. E., & Fleiss, J. L. (1979). Intraclass correlations: Uses in assessing rater reliability. Psychological Bulletin,
    86, 420-428. McGraw, K. O., & Wong, S. P. (1996). Forming inferences about some intraclass correlation coefficients.
    Psychological Methods, 1, 30-46, table 7.

    Examples
    --------
    >>> ratings = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7.0]])
    >>> {form: round(result.value, 2) for form, result in intraclass(ratings).items()}
    {'ICC(1,1)': 0.17, 'ICC(2,1)': 0.29, 'ICC(3,1)': 0.71, 'ICC(1,k)': 0.44, 'ICC(2,k)': 0.62, 'ICC(3,k)': 0.91}
    """
    tail = (1.0 - check_probability(confidence_level, "confidence_level")) / 2.0
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2 or min(table.shape) < 2 or not np.isfinite(table).all():
        raise DataError(f"ratings has shape {table.shape}; expected finite numbers from at least 2 raters on at least 2 objects.")
    n, k = table.shape
    squares = _mean_squares(table)
    df_b, df_e, df_w = n - 1.0, (n - 1.0) * (k - 1.0), n * (k - 1.0)
    single = {
        "1": _by_f(squares.objects, squares.within, df_b, df_w, k, tail),
        "2": _agreement_limits(squares, n, k, tail),
        "3": _by_f(squares.objects, squares.residual, df_b, df_e, k, tail),
    }
    found = {}
    for form, (value, low, high, f, df2) in single.items():
        found[f"ICC({form},1)"] = IntraclassCorrelation(f"ICC({form},1)", value, low, high, f, df_b, df2)
    for form, (value, low, high, f, df2) in single.items():
        name = f"ICC({form},k)"
        stepped = [_stepped_up(limit, k) for limit in (value, low, high)]
        found[name] = IntraclassCorrelation(name, stepped[0], stepped[1], stepped[2], f, df_b, df2)
    return found


@dataclass(frozen=True)
class _MeanSquares:
    objects: float
    raters: float
    residual: float
    within: float


def _mean_squares(table: FloatArray) -> _MeanSquares:
    n, k = table.shape
    if np.ptp(table) == 0.0:  # means of equal numbers may differ from them by rounding
        return _MeanSquares(0.0, 0.0, 0.0, 0.0)
    grand, by_object, by_rater = table.mean(), table.mean(axis=1), table.mean(axis=0)
    rest = ((table - by_object[:, None] - by_rater + grand) ** 2).sum()
    between_raters = n * ((by_rater - grand) ** 2).sum()
    return _MeanSquares(
        float(k * ((by_object - grand) ** 2).sum() / (n - 1)),
        float(between_raters / (k - 1)),
        float(rest / ((n - 1) * (k - 1))),
        float((rest + between_raters) / (n * (k - 1))),
    )


def _ratio(numerator: float, denominator: float) -> float:
    if denominator != 0.0:
        return numerator / denominator
    return math.nan if numerator == 0.0 else math.copysign(math.inf, numerator)


def _by_f(objects: float, rest: float, df1: float, df2: float, k: int, tail: float) -> tuple[float, float, float, float, float]:
    """Return estimate, limits, F and its second degrees of freedom of forms 1 and 3."""
    f = _ratio(objects, rest)
    value = _ratio(objects - rest, objects + (k - 1) * rest)
    if not math.isfinite(f):
        return value, value, value, f, df2
    low, high = f / float(fdtri(df1, df2, 1.0 - tail)), f * float(fdtri(df2, df1, 1.0 - tail))
    return value, (low - 1.0) / (low + k - 1.0), (high - 1.0) / (high + k - 1.0), f, df2


def _agreement_limits(squares: _MeanSquares, n: int, k: int, tail: float) -> tuple[float, float, float, float, float]:
    """Return the same of form 2."""
    b, j, e = squares.objects, squares.raters, squares.residual
    value = _ratio(b - e, b + (k - 1) * e + k * (j - e) / n)
    f, df2 = _ratio(b, e), (n - 1.0) * (k - 1.0)
    left, right = k * value * j, (n * (1.0 + (k - 1) * value) - k * value) * e
    if not math.isfinite(value) or left == right == 0.0:  # nothing varies, or the raters agree to the last digit
        return value, value, value, f, df2
    satterthwaite = (left + right) ** 2 / (left**2 / (k - 1.0) + right**2 / df2)
    above, below = float(fdtri(n - 1.0, satterthwaite, 1.0 - tail)), float(fdtri(satterthwaite, n - 1.0, 1.0 - tail))
    spread = k * j + (k * n - k - n) * e
    return value, n * (b - above * e) / (above * spread + n * b), n * (below * b - e) / (spread + n * below * b), f, df2


def _stepped_up(value: float, k: int) -> float:
    """Return the reliability of the mean of k raters from that of one (Spearman and Brown)."""
    return _ratio(k * value, 1.0 + (k - 1) * value)
