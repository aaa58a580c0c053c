"""Rewards of models on tasks as arrays: who was scored on what, which tasks are resampled together, and in which stratum.

A :class:`ClusterDesign` is read and checked once; contrasts, comparisons of models, leaderboards and the general bootstrap all
start from one.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray, IntArray
from psychoedu.exceptions import DataError, LabelError
from psychoedu.validation import check_known, counted, has_label, listed

MISSING_POLICIES = ("raise", "omit", "zero")
MISSING_WORDS = {"omit": "left out of all means", "zero": "counted as 0"}


def missing_text(n_missing: pd.Series, policy: str) -> str:
    """Say how many rewards were missing, of whom, and what was done about them.

    Parameters
    ----------
    n_missing : Series by model
    policy : {"raise", "omit", "zero"}

    Examples
    --------
    >>> missing_text(pd.Series({"A": 0, "B": 0}), "raise"), missing_text(pd.Series({"A": 0, "B": 1200}), "zero")
    ('none (policy: refuse)', '1,200 (B 1,200), counted as 0 (policy: zero)')
    """
    total = int(n_missing.sum())
    if not total:
        return f"none (policy: {'refuse' if policy == 'raise' else policy})"
    return f"{total:,} ({by_model_text(n_missing)}), {MISSING_WORDS[policy]} (policy: {policy})"


def by_model_text(numbers: pd.Series) -> str:
    """Name the models whose number is not 0, with it: the first five, and how many more.

    Examples
    --------
    >>> by_model_text(pd.Series({"A": 2, "B": 0, "C": 1}))
    'A 2, C 1'
    """
    some = [f"{label} {int(n):,}" for label, n in numbers.items() if n]
    return ", ".join(some[:5]) + (f" and {len(some) - 5} more" if len(some) > 5 else "")


@dataclass(frozen=True, eq=False, repr=False)
class ClusterDesign:
    """Rewards of M models on U units in C clusters of H strata.

    A unit is what is scored: an item of a task, or the whole task. A cluster is what is resampled, such as the task with all
    its units and all models' results on them; each lies in one stratum. A cell is a model's result on a unit. Rows of the table
    it was read from may stand in any order: units and clusters are sorted by their labels.

    Attributes
    ----------
    models : Index, (M,)
        Labels of the columns; a MultiIndex of model and condition where conditions are compared.
    clusters : Index, (C,)
    strata : Index, (H,)
    stratum_of : (C,) int array
        Position of each cluster's stratum.
    units : Index, (U,)
        Labels of the units within their cluster; the clusters' labels where the cluster is the unit.
    cluster_of : (U,) int array
        Position of each unit's cluster; it never falls.
    totals, counts : (U, M) arrays
        Sum and number of the observed rewards of each cell. The number is 0 where nothing counts, 1 for one reward or a mean of
        repeats, and more where a table holds several rows of a model and cluster without a column that tells them apart.
    n_missing : (M,) int array
        Rewards that are absent, by model, whatever is done about them.
    n_partial : (M,) int array
        Of these, those in cells that have other rewards.
    missing : {"raise", "omit", "zero"}
        What was done about them.
    names : dict
        Columns of the table: "cluster", "stratum", "model", "reward", "item", "repeat", "condition" where there are any.

    Notes
    -----
    ``sums`` and ``sizes`` are what a resample of clusters needs: any mean over cells is ``(r @ sums).sum() / (r @ sizes).sum()``
    with r the number of times each cluster was drawn.
    """

    models: pd.Index
    clusters: pd.Index
    strata: pd.Index
    stratum_of: IntArray
    units: pd.Index
    cluster_of: IntArray
    totals: FloatArray
    counts: FloatArray
    n_missing: IntArray
    n_partial: IntArray
    missing: str = "raise"
    names: dict[str, Hashable] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    @classmethod
    def from_long(
        cls,
        rewards: pd.DataFrame,
        *,
        cluster: Hashable = "task",
        stratum: Hashable | None = None,
        model: Hashable | None = "model",
        reward: Hashable = "reward",
        item: Hashable | None = None,
        repeat: Hashable | None = None,
        condition: Hashable | None = None,
        missing: str = "raise",
    ) -> ClusterDesign:
        """Read a table with a row per reward.

        Parameters
        ----------
        rewards : DataFrame
            In any order of rows.
        cluster : column name
            What is resampled as a whole, such as the task.
        stratum : column name, optional
            Stratum of the cluster; one stratum if None.
        model : column name or None
            Whose reward it is; None for one model.
        reward : column name
            A number; True and False are 1 and 0.
        item : column name, optional
            What is scored within a cluster. Without it, several rows of a model and cluster count as so many unnamed items.
        repeat : column name, optional
            Run of the same model on the same unit; repeats are averaged before anything else.
        condition : column name, optional
            Such as the prompt; every model then has a column per condition.
        missing : {"raise", "omit", "zero"}
            What to do about rewards that are blank, and about rows that other models have: refuse, leave the cell out of all
            means, or count it as 0.

        Returns
        -------
        ClusterDesign

        Raises
        ------
        ClusterDesignError
            A label is missing, or a cluster lies in two strata.
        MissingRewardsError
            Rewards are absent and ``missing="raise"``.
        RepeatsError
            A cell has several rewards that no column tells apart.

        Examples
        --------
        >>> frame = pd.DataFrame({"task": ["t1", "t1", "t2", "t2"], "model": ["A", "B"] * 2, "reward": [1, 0, 1, 1]})
        >>> design = ClusterDesign.from_long(frame)
        >>> design.sums
        array([[1., 0.],
               [1., 1.]])
        """
        from psychoedu.bootstrap.reading import Columns, read_long

        names = Columns(cluster, stratum, model, reward, item, repeat, condition)
        return read_long(rewards, names, missing)

    @property
    def n_models(self) -> int:
        """Number of models (times conditions, where there are any)."""
        return len(self.models)

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.clusters)

    @property
    def n_units(self) -> int:
        """Number of units."""
        return len(self.cluster_of)

    @property
    def stratum_sizes(self) -> IntArray:
        """Clusters of each stratum, (H,)."""
        return np.bincount(self.stratum_of, minlength=len(self.strata)).astype(np.int64)

    @cached_property
    def sums(self) -> FloatArray:
        """Sum of the rewards of each cluster and model, (C, M)."""
        return self.by_cluster(self.totals)

    @cached_property
    def sizes(self) -> FloatArray:
        """Number of rewards that count, of each cluster and model, (C, M)."""
        return self.by_cluster(self.counts)

    @property
    def is_binary(self) -> bool:
        """Whether every reward that counts is 0 or 1 and stands alone in its cell."""
        one = self.counts == 1.0
        return bool((one | (self.counts == 0.0)).all() and np.isin(self.totals[one], (0.0, 1.0)).all())

    @property
    def cluster_word(self) -> str:
        """What a cluster is called in texts."""
        return str(self.names.get("cluster", "cluster"))

    def by_cluster(self, values: FloatArray) -> FloatArray:
        """Add values of units, (U, ...), up by cluster, (C, ...)."""
        if self.n_units == self.n_clusters:
            return values
        first = np.flatnonzero(np.diff(self.cluster_of, prepend=-1))
        return np.add.reduceat(values, first, axis=0)

    def position_of_stratum(self, label: Hashable) -> int:
        """Return the position of a stratum, or raise with those that exist."""
        if has_label(self.strata, label):
            return int(self.strata.get_indexer(pd.Index([label], tupleize_cols=False))[0])
        named = f" in column {self.names['stratum']!r}" if "stratum" in self.names else ""
        raise LabelError(f"There is no stratum {label!r}{named}.\nExpected one of the {len(self.strata)}: {listed(self.strata)}.")

    def select_models(self, models: Any) -> ClusterDesign:
        """Return the design of some models, in the order asked for; clusters that only others were scored on stay.

        Parameters
        ----------
        models : sequence of labels

        Raises
        ------
        LabelError
            A model is not there, or is asked for twice.
        """
        at = self.models.get_indexer(check_known(models, self.models, "model"))
        return replace(
            self,
            models=self.models[at],
            totals=self.totals[:, at],
            counts=self.counts[:, at],
            n_missing=self.n_missing[at],
            n_partial=self.n_partial[at],
        )

    def without_empty_clusters(self) -> tuple[ClusterDesign, int]:
        """Return the design of the clusters in which some reward counts, and how many others there are.

        A cluster without any reward says nothing; were it drawn, it would count as one that was sampled.
        """
        keep = self.sizes.sum(axis=1) > 0
        if keep.all():
            return self, 0
        place = np.cumsum(keep) - 1
        own = keep[self.cluster_of]
        kept = replace(
            self,
            clusters=self.clusters[keep],
            stratum_of=self.stratum_of[keep],
            units=self.units[own],
            cluster_of=place[self.cluster_of[own]],
            totals=self.totals[own],
            counts=self.counts[own],
        )
        return kept, int((~keep).sum())

    def refuse_other_columns(self, missing: str = "raise", **named: tuple[Hashable | None, Hashable | None]) -> None:
        """Refuse arguments that say otherwise than this design, which was read already.

        Parameters
        ----------
        missing : str
            The policy that was asked for; "raise", the default, says nothing.
        **named : (value, default)
            Columns as asked for, by role.

        Raises
        ------
        DataError
        """
        for role, (value, default) in named.items():
            if value != default and value != self.names.get(role):
                own = f"its {role} is column {self.names[role]!r}" if role in self.names else f"it was read without {role}="
                raise DataError(
                    f"{role}={value!r} names a column, and a ClusterDesign has been read already: {own}.\n"
                    f"Leave {role}= out, or pass the table of rewards."
                )
        if missing not in ("raise", self.missing):
            raise DataError(
                f"missing={missing!r} comes too late: the design was read with missing={self.missing!r}. Read it again, or leave "
                "missing= out."
            )

    def __repr__(self) -> str:
        """One line."""
        units = f", {counted(self.n_units, 'unit')}" if self.n_units != self.n_clusters else ""
        return (
            f"ClusterDesign({counted(self.n_models, 'model')}, {counted(self.n_clusters, 'cluster')}{units}, "
            f"{counted(len(self.strata), 'stratum') if len(self.strata) == 1 else f'{len(self.strata)} strata'})"
        )
