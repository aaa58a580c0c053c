"""The result of a diagnosis: item and structural parameters with labels, and what they say of each respondent."""

from __future__ import annotations

import itertools
from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from psychoedu._typing import BoolArray, CodeArray, FloatArray, IntArray
from psychoedu.cdm.models import MODELS, ItemStructure, item_structure, saturated_design
from psychoedu.cdm.models import link as to_link
from psychoedu.cdm.persons import Persons, class_posterior, score_persons
from psychoedu.cdm.profile_table import profile_table
from psychoedu.cdm.profiles import ProfileArray, all_profiles, profile_labels
from psychoedu.cdm.q_matrix import QMatrix
from psychoedu.cdm.structures import HigherOrder
from psychoedu.exceptions import MissingResponsesError
from psychoedu.persistence import Saved
from psychoedu.validation import check_choice, check_known, check_probability

FEW_EXPECTED = 5.0
"""A reduced pattern with fewer expected respondents than this is flagged."""


@dataclass(frozen=True, eq=False)
class DiagnosisSource:
    """The responses behind a diagnosis; not saved with it."""

    labels: pd.Index
    scored: CodeArray
    fitted: BoolArray
    weights: FloatArray | None
    population: IntArray


@dataclass(frozen=True, eq=False)
class Diagnosis(Saved):
    """A cognitive diagnosis model fitted to responses; made by :func:`psychoedu.diagnose`.

    Attributes
    ----------
    items : DataFrame
        A row per item and reduced pattern: ``item``, ``profile`` (0 and 1 for the item's attributes, in the Q-matrix's order),
        ``probability``, ``se``, ``n`` (expected respondents), ``flags``.
    structure : DataFrame
        By attribute ``slope`` and ``intercept`` (higher-order), or ``probability`` (independent); by profile (saturated).
    mastery : DataFrame, N x K
        Posterior probability that each respondent has each attribute.
    profiles : DataFrame, N x L
        Posterior probability of every profile.
    theta, theta_se : Series or None
        Higher-order ability, posterior mean and standard deviation.
    log_likelihood, n_parameters, aic, bic, converged, n_iterations
        Of the respondents that the model was fitted to.
    starts : DataFrame
        How each start ended.
    diagnostics : tuple of str
        What a reader should know before trusting the numbers.
    """

    kind: ClassVar[str] = "diagnosis"

    q_matrix: QMatrix
    item_models: tuple[str, ...]
    structure_name: str
    higher_order: str | None
    group_labels: tuple[Hashable, ...]
    group_means: FloatArray
    group_sds: FloatArray
    item_parameters: FloatArray
    cells: FloatArray
    cell_se: FloatArray
    cell_n: FloatArray
    cell_on_bound: BoolArray
    structural: FloatArray
    structural_names: tuple[tuple[Hashable, str], ...]
    structural_on_bound: BoolArray
    log_prior: FloatArray
    covariance: FloatArray | None
    log_likelihood: float
    n_respondents: float
    n_item_parameters: int
    n_structural_parameters: int
    converged: bool
    n_iterations: int
    remaining_gain: float
    log_likelihood_trace: FloatArray
    starts: pd.DataFrame
    withheld: tuple[Hashable, ...]
    diagnostics: tuple[str, ...]
    options: dict[str, Any]
    data_summary: dict[str, Any]
    version: str
    source: DiagnosisSource | None = field(default=None, repr=False)

    # ---- the model

    @property
    def model(self) -> str:
        """The items' model, or "mixed"."""
        return self.item_models[0] if len(set(self.item_models)) == 1 else "mixed"

    @property
    def item_labels(self) -> pd.Index:
        """Labels of the items."""
        return self.q_matrix.item_labels

    @property
    def attribute_labels(self) -> pd.Index:
        """Labels of the attributes."""
        return self.q_matrix.attribute_labels

    @cached_property
    def alpha(self) -> ProfileArray:
        """All profiles, (L, K): by number of ones, then attribute position."""
        return all_profiles(self.q_matrix.n_attributes)

    @cached_property
    def profile_labels(self) -> list[str]:
        """The profiles as strings of 0 and 1."""
        return profile_labels(self.alpha)

    @cached_property
    def item_structure(self) -> ItemStructure:
        """How classes fall into the items' cells."""
        designs = {int(j): (np.array(matrix), name) for j, (matrix, name) in self.options["designs"].items()}
        return item_structure(self.q_matrix.values, self.item_models, self.alpha, designs)

    @cached_property
    def success(self) -> FloatArray:
        """P(right | profile), (J, L)."""
        return self.item_structure.success(self.cells)

    @property
    def prior(self) -> FloatArray:
        """Model-implied class probabilities: (L,), or (G, L) with several groups."""
        probability = np.exp(self.log_prior)
        return probability[0] if len(self.group_labels) == 1 else probability

    @property
    def probabilities(self) -> list[FloatArray]:
        """Success probabilities of each item's reduced patterns."""
        first = self.item_structure.first_cell
        return [self.cells[a:b] for a, b in itertools.pairwise(first)]

    @property
    def item_groups(self) -> list[IntArray]:
        """For each item, the reduced pattern of every profile, (L,)."""
        return [row - first for row, first in zip(self.item_structure.cell_of, self.item_structure.first_cell[:-1], strict=True)]

    @property
    def n_parameters(self) -> int:
        """Number of item and structural parameters."""
        return self.n_item_parameters + self.n_structural_parameters

    @property
    def minus_2ll(self) -> float:
        """-2 log-likelihood."""
        return -2.0 * self.log_likelihood

    @property
    def aic(self) -> float:
        """-2 log-likelihood + 2 p."""
        return self.minus_2ll + 2.0 * self.n_parameters

    @property
    def bic(self) -> float:
        """-2 log-likelihood + p log N."""
        return self.minus_2ll + self.n_parameters * float(np.log(self.n_respondents))

    @cached_property
    def _items(self) -> pd.DataFrame:
        size = self.q_matrix.values.sum(axis=1).astype(int)
        labels = [label for k in size for label in profile_labels(all_profiles(int(k)))]
        flags = []
        first = self.item_structure.first_cell
        for j, k in enumerate(size):
            own = self.cells[first[j] : first[j + 1]]
            patterns = all_profiles(int(k))
            falls = (patterns[:, None, :] <= patterns[None, :, :]).all(axis=2) & (own[:, None] > own[None, :] + 1e-9)
            for c in range(2**k):
                names = []
                if self.cell_on_bound[first[j] + c]:
                    names.append("on_bound")
                if self.cell_n[first[j] + c] < FEW_EXPECTED:
                    names.append("empty" if self.cell_n[first[j] + c] < 1e-2 else "few_respondents")
                if falls[:, c].any():
                    names.append("monotonicity_violation")
                flags.append("; ".join(names))
        return pd.DataFrame(
            {
                "item": np.repeat(np.asarray(self.item_labels, dtype=object), 2**size),
                "profile": labels,
                "probability": self.cells,
                "se": self.cell_se,
                "n": self.cell_n,
                "flags": pd.array(flags, dtype=object),
            }
        )

    @property
    def items(self) -> pd.DataFrame:
        """A row per item and reduced pattern; see the class."""
        return self._items.copy()

    @property
    def structure(self) -> pd.DataFrame:
        """Structural parameters; see the class."""
        se = np.full(self.structural.size, np.nan)
        if self.covariance is not None:
            se = np.sqrt(np.diag(self.covariance)[self.n_item_parameters :])
        if self.structure_name == "higher-order":
            return self._higher_order_table(se)
        if self.structure_name == "independent":
            return self._independent_table(se)
        return self._saturated_table()

    def _suffixes(self) -> list[str]:
        """Return what is appended to the names of columns, and of parameters, that each group has of its own."""
        shared = self.structure_name == "higher-order" and self.options["group_structure"] == "theta"
        return [""] if shared or len(self.group_labels) == 1 else [f" ({label})" for label in self.group_labels]

    def _higher_order_table(self, se: FloatArray) -> pd.DataFrame:
        known = {name: (value, error) for name, value, error in zip(self.structural_names, self.structural, se, strict=True)}
        table: dict[str, list[float]] = {}
        for suffix in self._suffixes():
            for column in ("slope", "intercept"):
                common = known.get(("all", f"slope{suffix}"), (1.0, np.nan)) if column == "slope" else (np.nan, np.nan)
                pairs = [known.get((label, f"{column}{suffix}"), common) for label in self.attribute_labels]
                table[f"{column}{suffix}"] = [value for value, _ in pairs]
                table[f"{column}_se{suffix}"] = [error for _, error in pairs]
        return pd.DataFrame(table, index=self.attribute_labels.rename("attribute"))

    def _independent_table(self, se: FloatArray) -> pd.DataFrame:
        p = 1.0 / (1.0 + np.exp(-self.structural))
        table: dict[str, FloatArray] = {}
        for suffix, own, error in zip(
            self._suffixes(),
            np.split(p, len(self.group_labels)),
            np.split(se * p * (1.0 - p), len(self.group_labels)),
            strict=True,
        ):
            table |= {f"probability{suffix}": own, f"se{suffix}": error}
        return pd.DataFrame(table, index=self.attribute_labels.rename("attribute"))

    def _saturated_table(self) -> pd.DataFrame:
        probability = np.exp(self.log_prior)
        out = {}
        for g, label in enumerate(self.group_labels):
            suffix = "" if len(self.group_labels) == 1 else f" ({label})"
            out[f"probability{suffix}"] = probability[g]
        frame = pd.DataFrame(out, index=pd.Index(self.profile_labels, name="profile"))
        if self.covariance is not None and len(self.group_labels) == 1:
            frame["se"] = self._class_se(probability[0])
        return frame

    def _class_se(self, probability: FloatArray) -> FloatArray:
        assert self.covariance is not None
        block = self.covariance[self.n_item_parameters :, self.n_item_parameters :]
        known = np.isfinite(np.diag(block))
        permitted = np.flatnonzero(np.isfinite(self.log_prior[0]))
        jacobian = np.zeros((probability.size, block.shape[0]))
        jacobian[permitted[1:], np.arange(block.shape[0])] = probability[permitted[1:]]
        jacobian -= np.multiply.outer(probability, probability[permitted[1:]])
        variance = np.einsum("lp,pq,lq->l", jacobian[:, known], block[np.ix_(known, known)], jacobian[:, known])
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)))

    def jacobians(self) -> tuple[list[FloatArray], FloatArray]:
        """Return d success[j] / d item parameters, each (L, p_j), and d prior / d structural parameters, (L, p_s)."""
        from psychoedu.cdm.wrapping import populations_of

        jacobian = self.item_structure.jacobian(self.item_parameters)
        first = self.item_structure.first_parameter
        items = [jacobian[self.item_structure.cell_of[j]][:, first[j] : first[j + 1]] for j in range(self.q_matrix.n_items)]
        scores = populations_of(self).scores(self.structural)[0]
        prior = np.exp(self.log_prior[0])
        return items, np.where(prior[:, None] > 0, scores * prior[:, None], 0.0)

    def delta(self, link: str = "identity") -> pd.DataFrame:
        """Return the effects of each item's attributes on a link of its success probabilities.

        Parameters
        ----------
        link : {"identity", "logit", "log"}

        Returns
        -------
        DataFrame
            ``item``, ``effect`` ("" for the intercept, else the attributes whose effect or interaction it is), ``delta``,
            ``se`` by the delta method. The design is the saturated one, link(P) = M delta (de la Torre, 2011, equation 1), so
            that the interactions of an additive model are 0 in its own link.
        """
        check_choice(link, ("identity", "logit", "log"), "link")
        rows = []
        covariance = self._cell_covariance()
        first = self.item_structure.first_cell
        for j, label in enumerate(self.item_labels):
            own = np.flatnonzero(self.q_matrix.values[j])
            patterns = all_profiles(own.size)
            cells = slice(first[j], first[j + 1])
            inverse = np.linalg.inv(saturated_design(own.size))
            p = self.cells[cells]
            slope = {"identity": np.ones_like(p), "logit": 1.0 / (p * (1.0 - p)), "log": 1.0 / p}[link]
            effects = inverse @ to_link(link, p)
            variance = np.einsum("pc,cd,pd->p", inverse * slope, covariance[cells, cells], inverse * slope)
            errors = np.sqrt(np.maximum(variance, 0.0))
            for pattern, effect, error in zip(patterns, effects, errors, strict=True):
                names = " x ".join(str(self.attribute_labels[k]) for k in own[pattern == 1])
                rows.append((label, names, effect, error))
        return pd.DataFrame(rows, columns=["item", "effect", "delta", "se"])

    def _cell_covariance(self) -> FloatArray:
        """Return the covariance of the cells' probabilities, (C, C); nan where a parameter has none."""
        if self.covariance is None:
            return np.full((self.cells.size, self.cells.size), np.nan)
        jacobian = self.item_structure.jacobian(self.item_parameters)
        block = self.covariance[: self.n_item_parameters, : self.n_item_parameters]
        known = np.isfinite(np.diag(block))
        out = jacobian[:, known] @ block[np.ix_(known, known)] @ jacobian[:, known].T
        unknown = (jacobian[:, ~known] != 0).any(axis=1)
        out[unknown] = np.nan
        out[:, unknown] = np.nan
        return np.asarray(out)

    # ---- the respondents

    @cached_property
    def persons(self) -> Persons:
        """Results of all respondents as plain arrays."""
        source = self.require_source("results by respondent")
        return score_persons(source.scored, self.success, self.log_prior, source.population, self.alpha, self.ability_by_class())

    def ability_by_class(self) -> tuple[FloatArray, FloatArray] | None:
        """Return mean and variance of theta given the class, each (G, L); None without a higher-order structure."""
        from psychoedu.cdm.populations import Separate, SharedHigherOrder
        from psychoedu.cdm.wrapping import populations_of

        if self.structure_name != "higher-order":
            return None
        populations = populations_of(self)
        if isinstance(populations, SharedHigherOrder):
            nodes = populations.base.nodes()[0]
            given = populations.node_posterior(self.structural)
        else:
            assert isinstance(populations, Separate)
            pairs = list(zip(populations.structures, populations.parts(), strict=True))
            higher = [(one, part) for one, part in pairs if isinstance(one, HigherOrder)]
            nodes = higher[0][0].nodes()[0]
            given = np.array([one.node_posterior(self.structural[part]) for one, part in higher])
        mean = given @ nodes
        return mean, given @ nodes**2 - mean**2

    def posterior(self, fitted_only: bool = False) -> FloatArray:
        """Return the posterior probability of every profile, (N, L); see ``profile_classes`` for those that look alike."""
        source = self.require_source("posterior()")
        everyone = class_posterior(source.scored, self.success, self.log_prior, source.population, slice(None))[0]
        return everyone[source.fitted] if fitted_only else everyone

    @property
    def mastery(self) -> pd.DataFrame:
        """Mastery probabilities, N x K; nan for attributes whose classification is withheld (see ``withheld``)."""
        table = pd.DataFrame(self.persons.mastery, index=self.require_source("mastery").labels, columns=self.attribute_labels)
        for label in self.withheld:
            table[label] = np.nan
        return table

    @property
    def profiles(self) -> pd.DataFrame:
        """Posterior probability of every profile, N x L."""
        return pd.DataFrame(self.posterior(), index=self.require_source("profiles").labels, columns=self.profile_labels)

    @property
    def profile_classes(self) -> pd.DataFrame:
        """Posterior probability of each set of profiles that no item tells apart (labels joined by "|"), N x classes."""
        from psychoedu.cdm.identifiability import check_identifiability

        models = tuple(name if name in MODELS else "G-DINA" for name in self.item_models)
        class_of = check_identifiability(self.q_matrix, models).class_of
        member = class_of[:, None] == np.unique(class_of)
        names = ["|".join(np.array(self.profile_labels)[own]) for own in member.T]
        index = self.require_source("profile_classes").labels
        return pd.DataFrame(self.posterior() @ member.astype(np.float64), index=index, columns=names)

    @property
    def theta(self) -> pd.Series | None:
        """Higher-order ability by respondent."""
        values = self.persons.theta
        return None if values is None else pd.Series(values, index=self.require_source("theta").labels, name="theta")

    @property
    def theta_se(self) -> pd.Series | None:
        """Posterior standard deviation of the higher-order ability."""
        values = self.persons.theta_se
        return None if values is None else pd.Series(values, index=self.require_source("theta_se").labels, name="theta_se")

    def mastered(self, threshold: float = 0.5) -> pd.DataFrame:
        """Return decisions: mastery strictly above the threshold; NA for attributes that are withheld."""
        check_probability(threshold, "threshold")
        decided = self.mastery > threshold
        for label in self.withheld:
            decided[label] = pd.array([pd.NA] * len(decided), dtype="boolean")
        return decided

    def classification(self, method: str = "eap") -> pd.DataFrame:
        """Return each respondent's profile.

        Parameters
        ----------
        method : {"eap", "map", "ml"}
            Each attribute by its mastery above one half; the profile of highest posterior; that of highest likelihood.

        Returns
        -------
        DataFrame by respondent
            One column of 0 and 1 an attribute, ``profile``, and ``tied`` where other profiles are as likely (the first in the
            order of profiles is given). Attributes that are withheld are NA, and "?" in ``profile``.
        """
        check_choice(method, ("eap", "map", "ml"), "method")
        index = self.require_source("classification()").labels
        return profile_table(self.persons, self.alpha, method, index, self.attribute_labels, self.withheld)

    def require_source(self, what: str) -> DiagnosisSource:
        """Return the responses behind the diagnosis, or say how to do without."""
        if self.source is None:
            raise MissingResponsesError(
                f"This diagnosis was read from a file, which holds no responses, and {what} needs them.\n"
                "Use psychoedu.cdm.score(diagnosis, responses)."
            )
        return self.source

    # ---- figures; what draws them is imported when asked for

    def plot_mastery(self, ax: Any = None, respondents: Any = None, threshold: float = 0.5) -> Any:
        """Draw mastery by respondent and attribute; see :func:`psychoedu.cdm.plots.mastery_heatmap`."""
        from psychoedu.cdm.plots import mastery_heatmap

        table = self.mastery
        if respondents is not None:
            table = table.loc[check_known(respondents, table.index, "respondent")]
        return mastery_heatmap(table, ax=ax, threshold=threshold)

    def plot_items(self, item: Hashable, ax: Any = None) -> Any:
        """Draw an item's probability of a right answer by profile; see :func:`psychoedu.cdm.plots.item_responses`."""
        from psychoedu.cdm.plots import item_responses

        return item_responses(self, item, ax=ax)

    def plot_structure(self, ax: Any = None) -> Any:
        """Draw each attribute over the higher-order ability; see :func:`psychoedu.cdm.plots.higher_order_curves`."""
        from psychoedu.cdm.plots import higher_order_curves

        return higher_order_curves(self, ax=ax)

    def plot_prevalence(self, ax: Any = None) -> Any:
        """Draw how common each attribute is; see :func:`psychoedu.cdm.plots.attribute_prevalence`."""
        from psychoedu.cdm.plots import attribute_prevalence

        return attribute_prevalence(self, ax=ax)

    def summary(self) -> str:
        """Return the diagnosis as fixed-width text."""
        from psychoedu.cdm.summary import diagnosis_text

        return diagnosis_text(self)

    def __repr__(self) -> str:
        """One line."""
        state = "" if self.converged else "NOT CONVERGED, "
        return (
            f"Diagnosis({state}{self.structure_name} {self.model}, {self.q_matrix.n_items} items, {self.q_matrix.n_attributes} "
            f"attributes, {self.n_respondents:,.10g} respondents, -2LL {self.minus_2ll:.4f})"
        )

    def _repr_html_(self) -> str:
        from psychoedu.cdm.summary import diagnosis_html

        return diagnosis_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the responses as plain lists, strings and numbers."""
        from psychoedu.cdm.serialise import diagnosis_to_dict

        return diagnosis_to_dict(self)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Build a diagnosis from what ``to_dict`` gave; it has no responses."""
        from psychoedu.cdm.serialise import diagnosis_arguments

        return cls(**diagnosis_arguments(content))
