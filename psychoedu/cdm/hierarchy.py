"""Attribute hierarchies: which attributes come before others, and the profiles that this leaves possible."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import BoolArray
from psychoedu.cdm.profiles import ProfileArray, all_profiles
from psychoedu.exceptions import DataError
from psychoedu.validation import check_known, listed, shown

Prerequisites = Mapping[Hashable, Any] | Iterable[Any]
_WORD = " before "


@dataclass(frozen=True, eq=False, repr=False)
class AttributeHierarchy:
    """Prerequisites among attributes, closed under "comes before what comes after".

    Attributes
    ----------
    attribute_labels : Index
        The attributes in the Q-matrix's column order, (K,).
    edges : tuple of pairs
        (before, after), as they were given, each once.
    requires : ndarray of bool, (K, K)
        Row k, column m: nobody masters attribute k without attribute m. The diagonal is False. Read-only.
    """

    attribute_labels: pd.Index
    edges: tuple[tuple[Hashable, Hashable], ...]
    requires: BoolArray

    @property
    def n_attributes(self) -> int:
        """Number of attributes."""
        return len(self.attribute_labels)

    def permissible(self, alpha: ProfileArray | None = None) -> BoolArray:
        """Return which profiles the hierarchy allows.

        Parameters
        ----------
        alpha : ndarray, (L, K), optional
            Profiles; all 2^K in the usual order by default.

        Returns
        -------
        ndarray of bool, (L,)
            True where every mastered attribute has all its prerequisites mastered.
        """
        profiles = all_profiles(self.n_attributes) if alpha is None else np.asarray(alpha)
        mastered = profiles.astype(np.bool_)
        lacking = (~mastered).astype(np.int64) @ self.requires.T.astype(np.int64)
        return np.asarray(~(mastered & (lacking > 0)).any(axis=1))

    def profiles(self) -> ProfileArray:
        """Return the permissible profiles, (L, K), in the order of all profiles."""
        alpha = all_profiles(self.n_attributes)
        return alpha[self.permissible(alpha)]

    def __repr__(self) -> str:
        if not self.edges:
            return f"AttributeHierarchy({self.n_attributes} attributes, no prerequisites)"
        texts = [f"{before} before {after}" for before, after in self.edges]
        more = "" if len(texts) <= 5 else f" and {len(texts) - 5} more"
        return f"AttributeHierarchy({', '.join(texts[:5])}{more}: {len(self.profiles())} of {2**self.n_attributes} profiles)"


def read_hierarchy(prerequisites: Prerequisites, attribute_labels: Iterable[Hashable]) -> AttributeHierarchy:
    """Read which attributes come before which.

    Parameters
    ----------
    prerequisites : pairs, strings or mapping
        Pairs ``("A1", "A2")`` or strings ``"A1 before A2"``, meaning that A2 is not mastered without A1; or a mapping from an
        attribute to what has to be mastered before it, ``{"A2": ["A1"]}`` or ``{"A2": "A1"}``. Prerequisites of prerequisites
        need not be spelled out.
    attribute_labels : sequence of labels, (K,)
        The attributes in the Q-matrix's column order.

    Returns
    -------
    AttributeHierarchy

    Raises
    ------
    LabelError
        An attribute is not in the Q-matrix.
    DataError
        Something is neither a pair nor "A before B", or attributes come before themselves.

    Examples
    --------
    >>> hierarchy = read_hierarchy(["A1 before A2", ("A2", "A3")], ["A1", "A2", "A3"])
    >>> hierarchy.profiles().tolist()
    [[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]]
    >>> hierarchy
    AttributeHierarchy(A1 before A2, A2 before A3: 4 of 8 profiles)
    """
    labels = attribute_labels if isinstance(attribute_labels, pd.Index) else pd.Index(list(attribute_labels), tupleize_cols=False)
    edges = tuple(dict.fromkeys(_edges(prerequisites)))
    named = list(dict.fromkeys(label for edge in edges for label in edge))
    check_known(named, labels, "attribute")
    requires = np.zeros((len(labels), len(labels)), dtype=np.bool_)
    for before, after in edges:
        requires[labels.get_loc(after), labels.get_loc(before)] = True
    closed = _closure(requires)
    on_cycle = np.diag(closed)
    if on_cycle.any():
        raise DataError(
            f"The hierarchy puts attributes before themselves: {_cycle(requires, int(np.flatnonzero(on_cycle)[0]), labels)}.\n"
            "Expected an order without circles, in which something comes first. Drop one of these prerequisites."
        )
    closed.flags.writeable = False
    return AttributeHierarchy(labels, edges, closed)


def permissible_profiles(prerequisites: Prerequisites, attribute_labels: Iterable[Hashable]) -> BoolArray:
    """Return which of all 2^K profiles, in their usual order, prerequisites allow; see :func:`read_hierarchy`.

    Examples
    --------
    >>> permissible_profiles([("A1", "A2")], ["A1", "A2"]).tolist()  # 00, 10, 01, 11
    [True, True, False, True]
    """
    return read_hierarchy(prerequisites, attribute_labels).permissible()


def _edges(prerequisites: Prerequisites) -> list[tuple[Hashable, Hashable]]:
    if isinstance(prerequisites, str):
        return [_pair(prerequisites)]
    if not isinstance(prerequisites, Mapping):
        return [_pair(item) for item in prerequisites]
    edges: list[tuple[Hashable, Hashable]] = []
    for after, before in prerequisites.items():
        several = [before] if isinstance(before, str) or not isinstance(before, Iterable) else list(before)
        edges += [(label, after) for label in several]
    return edges


def _pair(item: Any) -> tuple[Hashable, Hashable]:
    parts = item.split(_WORD) if isinstance(item, str) else item
    if isinstance(parts, tuple | list) and len(parts) == 2:
        before, after = (part.strip() if isinstance(item, str) else part for part in parts)
        return before, after
    raise DataError(
        f"A prerequisite has to be a pair (before, after) or a string 'A before B'; got {shown(item)}.\n"
        "Give for example [('A1', 'A2')], ['A1 before A2'] or {'A2': ['A1']}."
    )


def _closure(requires: BoolArray) -> BoolArray:
    closed = requires.copy()
    for middle in range(len(closed)):
        closed |= closed[:, [middle]] & closed[[middle], :]
    return closed


def _cycle(requires: BoolArray, start: int, labels: pd.Index) -> str:
    """Write one circle through an attribute, as in 'A1' before 'A2' before 'A1'."""
    came_from = {start: -1}
    queue = [start]
    while queue:
        here = queue.pop(0)
        for step in np.flatnonzero(requires[:, here]):
            if step == start:
                path = [start]
                while here != -1:
                    path.append(here)
                    here = came_from[here]
                return " before ".join(shown(labels[k]) for k in reversed(path))
            if int(step) not in came_from:
                came_from[int(step)] = here
                queue.append(int(step))
    return listed(labels[[start]])
