"""Item models of cognitive diagnosis: how an item's parameters make its success probabilities.

Every model gives one probability for each of an item's 2^K_j reduced patterns, link(P) = M delta (de la Torre, 2011,
Psychometrika 76, 179-199). G-DINA, DINA and DINO are partitions: each of their parameters is the probability of a set of
patterns, and its maximum given the counts is right / answered. ACDM (identity link), LLM (logit) and RRUM (log) add one effect
an attribute; the G-DINA may also be written in any link, which only renames it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from psychoedu._typing import FloatArray, IntArray
from psychoedu.cdm.profiles import ProfileArray, all_profiles, reduced_index

MODELS = ("G-DINA", "DINA", "DINO", "ACDM", "RRUM", "LLM")
CUSTOM = "custom"
"""Model name of items with a design matrix of the user's own."""
Designs = Mapping[int, tuple[FloatArray, str]]
LINKS = {"ACDM": "identity", "RRUM": "log", "LLM": "logit"}
"""Links of the additive models."""


def canonical_model(name: str) -> str | None:
    """Return a model's usual spelling, or None: case, hyphen and blanks do not matter.

    Examples
    --------
    >>> canonical_model("gdina"), canonical_model("Acdm"), canonical_model("A-CDM"), canonical_model("hull")
    ('G-DINA', 'ACDM', 'ACDM', None)
    """
    squeezed = name.replace("-", "").replace(" ", "").replace("_", "").upper()
    return {model.replace("-", ""): model for model in MODELS}.get(squeezed)


def link(name: str, probability: FloatArray) -> FloatArray:
    """Return the link of probabilities."""
    if name == "identity":
        return probability
    return np.log(probability) if name == "log" else np.log(probability / (1.0 - probability))


def inverse_link(name: str, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return probabilities and their derivatives by eta."""
    if name == "identity":
        return eta, np.ones_like(eta)
    probability: FloatArray = np.exp(eta) if name == "log" else expit(eta)
    return probability, probability if name == "log" else probability * (1.0 - probability)


def partition(model: str, n_attributes: int) -> IntArray:
    """Return the parameter that each reduced pattern takes its probability from: G-DINA its own, DINA and DINO one of two."""
    n_patterns = 2**n_attributes
    if model == "DINA":
        return np.asarray(np.arange(n_patterns) == n_patterns - 1, dtype=np.int64)
    if model == "DINO":
        return np.asarray(np.arange(n_patterns) > 0, dtype=np.int64)
    return np.arange(n_patterns)


def additive_design(n_attributes: int) -> FloatArray:
    """Return the design of an additive model, (2^K_j, K_j + 1): an intercept and one effect an attribute."""
    patterns = all_profiles(n_attributes).astype(np.float64)
    return np.column_stack([np.ones(len(patterns)), patterns])


def saturated_design(n_attributes: int) -> FloatArray:
    """Return the saturated design, (2^K_j, 2^K_j): intercept, main effects, interactions, in the patterns' order.

    Examples
    --------
    >>> saturated_design(2).astype(int).tolist()
    [[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 1, 1]]
    """
    patterns = all_profiles(n_attributes)
    return np.asarray((patterns[:, None, :] >= patterns[None, :, :]).all(axis=2), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class ItemKind:
    """Items that share a model and a number of attributes.

    Attributes
    ----------
    model : str
    n_attributes : int
    items : (m,) int array
    cells : (m, 2^K_j) int array
        Positions of the items' reduced patterns among all cells.
    parameters : (m, p_j) int array
        Positions of the items' parameters among all item parameters.
    design : array
        Of an additive model, (2^K_j, p_j); of a partition, its indicator matrix.
    link : str
        "" for a partition.
    """

    model: str
    n_attributes: int
    items: IntArray
    cells: IntArray
    parameters: IntArray
    design: FloatArray
    link: str

    @property
    def order_attributes(self) -> int:
        """How many attributes the parameters of a partition are ordered by: the item's own, or one for DINA and DINO."""
        return self.n_attributes if self.design.shape[1] == 2**self.n_attributes else 1


@dataclass(frozen=True, slots=True)
class ItemStructure:
    """All items of a model: cells (reduced patterns of all items in a row), parameters, and how classes fall into cells.

    Attributes
    ----------
    cell_of : (J, L) int array
        Cell of item j that class l falls into.
    first_cell : (J + 1,) int array
        Where each item's cells begin.
    first_parameter : (J + 1,) int array
    kinds : tuple of ItemKind
    models : tuple of str, one an item
    """

    cell_of: IntArray
    first_cell: IntArray
    first_parameter: IntArray
    kinds: tuple[ItemKind, ...]
    models: tuple[str, ...]

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return int(self.first_cell[-1])

    @property
    def n_parameters(self) -> int:
        """Number of item parameters."""
        return int(self.first_parameter[-1])

    def collect(self, by_class: FloatArray) -> FloatArray:
        """Sum an array of items by classes (J, L) into cells."""
        return np.bincount(self.cell_of.ravel(), weights=by_class.ravel(), minlength=self.n_cells).astype(np.float64)

    def success(self, cells: FloatArray) -> FloatArray:
        """Spread cells' probabilities over classes, (J, L)."""
        return cells[self.cell_of]

    def cells(self, parameters: FloatArray) -> FloatArray:
        """Return the cells' probabilities from the parameters (probabilities of partitions, effects of additive models)."""
        out = np.empty(self.n_cells)
        for kind in self.kinds:
            eta = parameters[kind.parameters] @ kind.design.T
            out[kind.cells] = inverse_link(kind.link, eta)[0] if kind.link else eta
        return out

    def jacobian(self, parameters: FloatArray) -> FloatArray:
        """Return d cell / d parameter, (cells, parameters), block-diagonal by items."""
        out = np.zeros((self.n_cells, self.n_parameters))
        for kind in self.kinds:
            slope = np.ones(kind.cells.shape)
            if kind.link:
                slope = inverse_link(kind.link, parameters[kind.parameters] @ kind.design.T)[1]
            out[kind.cells[:, :, None], kind.parameters[:, None, :]] = slope[:, :, None] * kind.design
        return out


def item_structure(
    q_values: ProfileArray, models: tuple[str, ...], alpha: ProfileArray, designs: Designs | None = None
) -> ItemStructure:
    """Lay out the items of a model.

    Parameters
    ----------
    q_values : (J, K) array of 0 and 1
    models : one of ``MODELS`` for each item, "custom" for those in ``designs``
    alpha : (L, K) array
    designs : {item position: (matrix, link)}, optional
        link(P) = matrix effects, a row a reduced pattern.

    Returns
    -------
    ItemStructure
    """
    size = q_values.sum(axis=1).astype(np.int64)
    first_cell = np.concatenate([[0], np.cumsum(2**size)])
    # an item of one attribute is the same under every model: a partition into two
    given = designs or {}
    simple = tuple(
        model if j in given else "G-DINA" if k == 1 else model for j, (model, k) in enumerate(zip(models, size, strict=True))
    )
    widths = np.array(
        [
            given[j][0].shape[1] if j in given else parameter_count(model, int(k))
            for j, (model, k) in enumerate(zip(simple, size, strict=True))
        ],
        dtype=np.int64,
    )
    first_parameter = np.concatenate([[0], np.cumsum(widths)])
    own = {tuple(row): reduced_index(row, alpha) for row in np.unique(q_values, axis=0)}
    cell_of = np.vstack([first_cell[j] + own[tuple(row)] for j, row in enumerate(q_values)])
    kinds = []
    for j, (matrix, name) in given.items():
        cells = first_cell[[j]][:, None] + np.arange(2 ** size[j])
        parameters = first_parameter[[j]][:, None] + np.arange(matrix.shape[1])
        kinds.append(ItemKind(CUSTOM, int(size[j]), np.array([j]), cells, parameters, matrix, name))
    usual = [j for j in range(len(simple)) if j not in given]
    for model, k in sorted({(simple[j], int(size[j])) for j in usual}):
        items = np.array([j for j in usual if simple[j] == model and size[j] == k])
        additive = model in LINKS
        design = additive_design(k) if additive else np.eye(int(widths[items[0]]))[partition(model, k)]
        kinds.append(
            ItemKind(
                model,
                k,
                items,
                first_cell[items][:, None] + np.arange(2**k),
                first_parameter[items][:, None] + np.arange(widths[items[0]]),
                design,
                LINKS.get(model, ""),
            )
        )
    return ItemStructure(cell_of, first_cell, first_parameter, tuple(kinds), models)


def parameter_count(model: str, n_attributes: int) -> int:
    """Return an item's number of parameters: DINA and DINO 2, additive models K_j + 1, G-DINA 2^K_j."""
    if model in ("DINA", "DINO"):
        return 2
    return n_attributes + 1 if model in LINKS else 2**n_attributes
