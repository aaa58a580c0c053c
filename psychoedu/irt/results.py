"""The result of a calibration: estimates with their labels, standard errors, fit, and where they came from."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pandas as pd
from scipy.special import ndtri

from psychoedu._typing import AnyArray, BoolArray, FloatArray, IntArray
from psychoedu.exceptions import LabelError, MissingResponsesError
from psychoedu.irt.bank import ItemBank
from psychoedu.irt.classical import ClassicalItems, item_statistics
from psychoedu.persistence import Saved, decode_number
from psychoedu.validation import check_probability, has_label, listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psychoedu.irt.scores import Scores
    from psychoedu.responses import ResponseMatrix


@dataclass(frozen=True, eq=False)
class Source:
    """The responses behind a calibration; not saved with it.

    Attributes
    ----------
    responses : ResponseMatrix
        All respondents, on the calibrated items.
    fitted : (N,) bool array
        Respondents that the parameters were estimated from.
    weights : (N,) array or None
    population : (N,) int array
        Position in ``Calibration.groups`` of each respondent's population.
    """

    responses: ResponseMatrix
    fitted: BoolArray
    weights: FloatArray | None
    population: IntArray


@dataclass(frozen=True, eq=False)
class Calibration(Saved):
    """Item parameters of the 2PL family estimated from responses; made by :func:`psychoedu.calibrate`.

    P(right | theta) = logistic(a theta + d), a the discrimination, d = -a b the intercept, b the difficulty; logit metric
    (D = 1); the reference group's ability is N(0, 1).

    Attributes
    ----------
    items : DataFrame by item
        ``discrimination``, ``difficulty``, ``intercept``, each with its ``_se``; ``p_value``, ``point_biserial`` (corrected),
        ``n``, ``flags``.
    groups : DataFrame by group
        ``latent_mean``, ``latent_sd``, each with its ``_se`` (nan where it is fixed), ``n``.
    log_likelihood : float
        Marginal log-likelihood at the estimates, without priors.
    n_parameters : int
        Number of free parameters.
    converged : bool
    n_iterations : int
        Steps of the estimation, over all sets of quadrature points that it needed.
    log_likelihood_trace : array
        Objective at the start and after each step on the last set of quadrature points: the log-likelihood of all respondents,
        plus the log priors where there are any. It never falls.
    covariance : DataFrame or None
        Covariance of the free parameters, labelled ``(item or group, parameter)``; None with a reason in ``diagnostics``.
    diagnostics : tuple of str
        What a reader should know before trusting the numbers.
    options, data_summary : dict
    version : str
        Version of psychoedu that made it.
    bank : ItemBank
        The parameters alone, to score anyone with.
    """

    kind: ClassVar[str] = "calibration"

    model: str
    labels: pd.Index
    discrimination: FloatArray
    intercept: FloatArray
    difficulty: FloatArray
    fixed: BoolArray
    on_bound: BoolArray
    group_labels: tuple[Hashable, ...]
    latent_mean: FloatArray
    latent_sd: FloatArray
    group_n: FloatArray
    reference_group: Hashable
    log_likelihood: float
    n_respondents: float
    n_parameters: int
    converged: bool
    n_iterations: int
    log_likelihood_trace: FloatArray
    remaining_gain: float
    parameter_index: IntArray
    free_covariance: FloatArray | None
    diagnostics: tuple[str, ...]
    options: dict[str, Any]
    data_summary: dict[str, Any]
    version: str
    source: Source | None = field(default=None, repr=False)
    stored: dict[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    @property
    def minus_2ll(self) -> float:
        """Deviance, -2 log-likelihood."""
        return -2.0 * self.log_likelihood

    @property
    def aic(self) -> float:
        """-2 log-likelihood + 2 p."""
        return self.minus_2ll + 2.0 * self.n_parameters

    @property
    def bic(self) -> float:
        """-2 log-likelihood + p log N, N the (weighted) respondents with data that the parameters were estimated from."""
        return self.minus_2ll + self.n_parameters * float(np.log(self.n_respondents))

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.labels)

    @cached_property
    def standard_errors(self) -> dict[str, FloatArray]:
        """Standard errors of discrimination, intercept, difficulty (J,), latent_mean and latent_sd (G,); nan where none."""
        n_items, n_groups = self.n_items, len(self.group_labels)
        nothing = np.full(n_items, np.nan)
        none = dict.fromkeys(("discrimination", "intercept", "difficulty"), nothing)
        none |= {name: np.full(n_groups, np.nan) for name in ("latent_mean", "latent_sd")}
        if self.free_covariance is None:
            return none
        covariance = self.free_covariance
        index = self.parameter_index
        variance = np.append(np.diag(covariance), np.nan)[index]  # index -1, a fixed parameter, takes the nan
        a, d = slice(0, n_items), slice(n_items, 2 * n_items)
        padded = np.zeros((covariance.shape[0] + 1,) * 2)
        padded[:-1, :-1] = covariance
        var_a, var_d, cov = padded[index[a], index[a]], padded[index[d], index[d]], padded[index[a], index[d]]
        with np.errstate(divide="ignore", invalid="ignore"):
            var_b = (self.difficulty**2 * var_a + var_d + 2.0 * self.difficulty * cov) / self.discrimination**2
            difficulty = np.sqrt(np.where((index[a] < 0) & (index[d] < 0), np.nan, var_b))
            roots = np.sqrt(variance)
        return {
            "discrimination": roots[a],
            "intercept": roots[d],
            "difficulty": difficulty,
            "latent_mean": roots[2 * n_items : 2 * n_items + n_groups],
            "latent_sd": roots[2 * n_items + n_groups :],
        }

    @cached_property
    def classical(self) -> ClassicalItems:
        """Classical statistics of the items among the respondents that the parameters were estimated from."""
        if self.source is None:
            from psychoedu.irt.serialise import classical_from

            return classical_from(self.stored["classical"])
        scored, weights = self.source.responses.scored(), self.source.weights
        if not self.source.fitted.all():
            scored = scored[self.source.fitted]
            weights = None if weights is None else weights[self.source.fitted]
        return item_statistics(scored, weights)

    @cached_property
    def flags(self) -> tuple[str, ...]:
        """Flags of each item, "; " between them."""
        from psychoedu.irt.checks import FEW_RESPONSES

        tests = {
            "negative_discrimination": self.discrimination < 0,
            "on_bound": self.on_bound,
            "fixed": self.fixed,
            "few_responses": self.classical.n < FEW_RESPONSES,
        }
        return tuple("; ".join(name for name, test in tests.items() if test[j]) for j in range(self.n_items))

    @cached_property
    def _items(self) -> pd.DataFrame:
        se = self.standard_errors
        return pd.DataFrame(
            {
                "discrimination": self.discrimination,
                "discrimination_se": se["discrimination"],
                "difficulty": self.difficulty,
                "difficulty_se": se["difficulty"],
                "intercept": self.intercept,
                "intercept_se": se["intercept"],
                "p_value": self.classical.p_value,
                "point_biserial": self.classical.point_biserial,
                "n": self.classical.n,
                "flags": pd.array(list(self.flags), dtype=object),
            },
            index=self.labels.rename("item"),
        )

    @property
    def items(self) -> pd.DataFrame:
        """One row per item; see the class."""
        return self._items.copy()

    @property
    def groups(self) -> pd.DataFrame:
        """One row per group; see the class."""
        se = self.standard_errors
        return pd.DataFrame(
            {
                "latent_mean": self.latent_mean,
                "latent_mean_se": se["latent_mean"],
                "latent_sd": self.latent_sd,
                "latent_sd_se": se["latent_sd"],
                "n": self.group_n,
            },
            index=pd.Index(list(self.group_labels), name="group", tupleize_cols=False),
        )

    @property
    def parameter_names(self) -> tuple[tuple[Hashable, str], ...]:
        """Name of each free parameter, in the order of ``covariance``: (item or group, parameter); "all" for a common slope."""
        n_items, n_groups = self.n_items, len(self.group_labels)
        index = self.parameter_index
        names: dict[int, tuple[Hashable, str]] = {}
        for j, label in enumerate(self.labels):
            names.setdefault(int(index[j]), (label, "discrimination"))
            names.setdefault(int(index[n_items + j]), (label, "intercept"))
        slopes = index[:n_items]
        if n_items > 1 and (slopes >= 0).sum() > 1 and np.unique(slopes[slopes >= 0]).size == 1:
            names[int(slopes.max())] = ("all", "discrimination")
        for g, label in enumerate(self.group_labels):
            names.setdefault(int(index[2 * n_items + g]), (label, "latent_mean"))
            names.setdefault(int(index[2 * n_items + n_groups + g]), (label, "latent_sd"))
        return tuple(names[k] for k in range(self.n_parameters))

    @cached_property
    def covariance(self) -> pd.DataFrame | None:
        """Covariance of the free parameters, rows and columns ``(item or group, parameter)``."""
        if self.free_covariance is None:
            return None
        names = pd.MultiIndex.from_tuples(list(self.parameter_names), names=["of", "parameter"])
        return pd.DataFrame(self.free_covariance, index=names, columns=names)

    @cached_property
    def bank(self) -> ItemBank:
        """The item parameters with their covariance, order a_1, d_1, a_2, d_2, ...; fixed ones have covariance 0."""
        covariance = None
        if self.free_covariance is not None:
            order = np.arange(2 * self.n_items).reshape(2, self.n_items).T.ravel()
            index = self.parameter_index[order]
            padded = np.zeros((self.free_covariance.shape[0] + 1,) * 2)
            padded[:-1, :-1] = self.free_covariance
            covariance = padded[np.ix_(index, index)]
        return ItemBank.from_arrays(
            self.labels, self.discrimination, self.intercept, covariance=covariance, difficulty=self.difficulty
        )

    def item_analysis(self) -> pd.DataFrame:
        """Return the items with the classical statistics that a reader of such tables expects.

        Returns
        -------
        DataFrame by item
            ``n``, ``p_value``, ``point_biserial`` (corrected), ``discrimination_index`` (upper less lower 27%),
            ``alpha_if_deleted``, ``discrimination``, ``difficulty``, ``flags``.
        """
        items = self._items
        return pd.DataFrame(
            {
                "n": items["n"],
                "p_value": items["p_value"],
                "point_biserial": items["point_biserial"],
                "discrimination_index": self.classical.discrimination_index,
                "alpha_if_deleted": self.classical.alpha_if_deleted,
                "discrimination": items["discrimination"],
                "difficulty": items["difficulty"],
                "flags": items["flags"],
            }
        )

    @cached_property
    def reliability(self) -> dict[str, float]:
        """Coefficient alpha, marginal reliability (reference group) and empirical reliability of the EAP scores (nan: none)."""
        from psychoedu.irt.reliability import empirical_reliability, marginal_reliability

        if self.source is None:
            return {key: decode_number(value) for key, value in self.stored["reliability"].items()}
        scores = self.scores()
        fitted = self.source.fitted
        reference = self.group_labels.index(self.reference_group)
        return {
            "alpha": self.classical.alpha,
            "marginal": marginal_reliability(self.bank, float(self.latent_mean[reference]), float(self.latent_sd[reference])),
            "empirical": empirical_reliability(scores.theta.to_numpy()[fitted], scores.theta_se.to_numpy()[fitted]),
        }

    def information(self, theta: Any) -> FloatArray:
        """Return test information at abilities, of the shape of ``theta``."""
        abilities = np.asarray(theta, dtype=np.float64)
        return np.asarray(self.bank.information(abilities))

    def scores(self, method: str = "eap") -> Scores:
        """Score every respondent of the calibration, each with the population of their own group as prior.

        Parameters
        ----------
        method : {"eap", "map", "ml", "wle"}

        Returns
        -------
        Scores
            In the order of the rows. Respondents outside ``fit_to`` whose group was not estimated get the reference group's.

        Raises
        ------
        MissingResponsesError
            The calibration was read from a file, which holds no responses: use ``psychoedu.score(calibration, responses)``.
        """
        from psychoedu.irt.score import score_bank

        source = self.require_source("scores()")
        return score_bank(
            self.bank, source.responses, method, self.latent_mean[source.population], self.latent_sd[source.population]
        )

    def require_source(self, what: str) -> Source:
        """Return the responses behind the calibration, or say how to do without."""
        if self.source is None:
            raise MissingResponsesError(
                f"This calibration was read from a file, which holds no responses, and {what} needs them.\n"
                "Use psychoedu.score(calibration, responses)."
            )
        return self.source

    def conf_int(self, confidence_level: float = 0.95) -> pd.DataFrame:
        """Return Wald intervals of the item parameters.

        Parameters
        ----------
        confidence_level : float
            Between 0 and 1.

        Returns
        -------
        DataFrame by item
            ``<parameter>_low`` and ``<parameter>_high`` of discrimination, difficulty and intercept; nan where there is no SE.
        """
        level = check_probability(confidence_level, "confidence_level")
        z = float(ndtri(0.5 + level / 2.0))
        items = self._items
        columns: dict[str, AnyArray] = {}
        for name in ("discrimination", "difficulty", "intercept"):
            half = z * items[f"{name}_se"].to_numpy()
            columns[f"{name}_low"] = items[name].to_numpy() - half
            columns[f"{name}_high"] = items[name].to_numpy() + half
        return pd.DataFrame(columns, index=items.index)

    def position_of(self, item: Hashable) -> int:
        """Return the position of an item, or raise with the labels that exist."""
        if not has_label(self.labels, item):
            raise LabelError(f"There is no item {item!r}. The calibration has {self.n_items} items: {listed(self.labels)}.")
        return int(self.labels.get_indexer(pd.Index([item], tupleize_cols=False))[0])

    def summary(self) -> str:
        """Return the calibration as fixed-width text."""
        from psychoedu.irt.summary import calibration_text

        return calibration_text(self)

    def __repr__(self) -> str:
        """One line."""
        state = "" if self.converged else "NOT CONVERGED, "
        groups = f", {len(self.group_labels)} groups" if len(self.group_labels) > 1 else ""
        return (
            f"Calibration({state}{self.model}, {self.n_items} items, {self.n_respondents:,.0f} respondents{groups}, "
            f"log-likelihood {self.log_likelihood:.4f})"
        )

    def _repr_html_(self) -> str:
        """Notebook display."""
        from psychoedu.irt.summary import calibration_html

        return calibration_html(self)

    def plot_wright_map(self, ax: Axes | None = None) -> Axes:
        """Draw persons and item difficulties on one scale; returns the axes."""
        from psychoedu import plots

        return plots.wright_map(self, ax=ax)

    def plot_icc(self, item: Hashable | list[Hashable], ax: Axes | None = None) -> Axes:
        """Draw the characteristic curve of one or several items with the observed proportions; returns the axes."""
        from psychoedu import plots

        return plots.icc(self, item, ax=ax)

    def plot_information(self, ax: Axes | None = None) -> Axes:
        """Draw test information and the standard error that follows from it; returns the axes."""
        from psychoedu import plots

        return plots.information(self, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the responses as plain lists, strings and numbers."""
        from psychoedu.irt.serialise import calibration_to_dict

        return calibration_to_dict(self)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Build a calibration from what ``to_dict`` gave; it has no responses."""
        from psychoedu.irt.serialise import calibration_arguments

        return cls(**calibration_arguments(content))
