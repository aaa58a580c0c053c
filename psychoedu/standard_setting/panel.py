"""What a bookmark panel did: cuts by panellist and round, movement between rounds, and agreement."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray
from psychoedu.persistence import Fields, encode_numbers, plain_label
from psychoedu.standard_setting.agreement import intraclass_correlations, mean_pairwise_difference, spread
from psychoedu.standard_setting.booklet import OrderedItemBooklet
from psychoedu.standard_setting.placements import RULES, Placements, page_range, page_thetas
from psychoedu.validation import counted

AGGREGATES = ("median", "mean")


def aggregated(values: FloatArray, aggregate: str) -> FloatArray:
    """Return the median or mean of each column, nan left out; nan where nothing is left or infinities of both signs meet."""
    found = np.full(values.shape[1], np.nan)
    for column in range(values.shape[1]):
        own = values[~np.isnan(values[:, column]), column]
        if len(own):
            with np.errstate(invalid="ignore"):
                found[column] = np.median(own) if aggregate == "median" else own.mean()
    return found


@dataclass(frozen=True, eq=False)
class BookmarkPanel:
    """Placements of a panel in its booklet, and what follows from them.

    Attributes
    ----------
    booklet : OrderedItemBooklet
    placements : Placements
    rule : {"last-mastered", "first-not-mastered", "midpoint"}
    aggregate : {"median", "mean"}
    """

    booklet: OrderedItemBooklet
    placements: Placements
    rule: str
    aggregate: str

    @cached_property
    def theta(self) -> FloatArray:
        """Ability of each bookmark, (R, P, L); infinite at an open end, nan where there is none."""
        return page_thetas(self.placements.pages, self.booklet.locations, self.rule)

    @property
    def rounds(self) -> tuple[Hashable, ...]:
        """The rounds, in order."""
        return self.placements.rounds

    @property
    def levels(self) -> tuple[Hashable, ...]:
        """The levels with a bookmark, from the lowest."""
        return self.placements.levels

    def to_frame(self) -> pd.DataFrame:
        """Return a row per placement: panellist, round, level, page, theta (and table)."""
        frame = self.placements.to_frame()
        theta = self.theta[~np.isnan(self.placements.pages)]
        frame.insert(4, "theta", theta)
        return frame

    @property
    def agreement(self) -> pd.DataFrame:
        """How far the panellists agree, by round and level.

        Returns
        -------
        DataFrame, index (round, level)
            ``n``; ``median_page``, ``mean_page``; ``cut`` (the aggregate), ``median``, ``mean`` (theta); ``range``, ``sd``,
            ``mad`` (theta); ``pairwise_pages``, ``pairwise_theta`` (mean absolute difference of all pairs of panellists);
            ``icc``, ``icc_mean`` (one for the round: ICC(2,1) of a panellist and ICC(2,k) of the panel's mean over the levels);
            with tables ``between_table_se`` (SD of the tables' mean thetas / sqrt(tables)).
        """
        parts = []
        for r, number in enumerate(self.rounds):
            pages, theta = self.placements.pages[r], self.theta[r]
            wide, sd, mad = spread(theta)
            complete = ~np.isnan(theta).any(axis=1)
            icc = intraclass_correlations(theta[complete].T)
            columns: dict[str, Any] = {
                "n": (~np.isnan(pages)).sum(axis=0),
                "median_page": aggregated(pages, "median"),
                "mean_page": aggregated(pages, "mean"),
                "cut": aggregated(theta, self.aggregate),
                "median": aggregated(theta, "median"),
                "mean": aggregated(theta, "mean"),
                "range": wide,
                "sd": sd,
                "mad": mad,
                "pairwise_pages": mean_pairwise_difference(pages),
                "pairwise_theta": mean_pairwise_difference(theta),
                "icc": icc[0],
                "icc_mean": icc[1],
            }
            if self.placements.tables:
                columns["between_table_se"] = self.between_table_se(r)
            index = pd.MultiIndex.from_product([[number], self.levels], names=["round", "level"])
            parts.append(pd.DataFrame(columns, index=index))
        return pd.concat(parts)

    def between_table_se(self, position: int) -> FloatArray:
        """Return the standard error of the mean from the tables' means in the round at a position, (L,); nan for one table."""
        theta = self.theta[position]
        names = list(dict.fromkeys(self.placements.tables))
        if len(names) < 2:
            return np.full(len(self.levels), np.nan)
        own = [np.array([table == name for table in self.placements.tables]) for name in names]
        means = np.array([aggregated(theta[rows], "mean") for rows in own])
        found: FloatArray = spread(means)[1] / np.sqrt((~np.isnan(means)).sum(axis=0))
        return found

    @property
    def movement(self) -> pd.DataFrame:
        """How bookmarks moved from each round to the next, by level.

        Returns
        -------
        DataFrame, index (from, to, level)
            ``n`` (who placed in both), ``moved``, ``up``, ``down`` (how many), ``mean_pages``, ``mean_absolute_pages``,
            ``cut_change`` (theta, of those in both), ``sd_before``, ``sd_after``.
        """
        rows, index = [], []
        for r in range(1, len(self.rounds)):
            before, after = self.placements.pages[r - 1], self.placements.pages[r]
            for k, level in enumerate(self.levels):
                both = ~np.isnan(before[:, k]) & ~np.isnan(after[:, k])
                step = after[both, k] - before[both, k]
                theta = self.theta[r - 1 : r + 1, both, k]
                cuts = [aggregated(values[:, None], self.aggregate)[0] for values in theta]
                with np.errstate(invalid="ignore"):
                    change = cuts[1] - cuts[0] if cuts[0] != cuts[1] else 0.0
                mean, size = (float(step.mean()), float(np.abs(step).mean())) if both.any() else (np.nan, np.nan)
                spreads = [spread(values[:, None])[1, 0] for values in theta]
                counts = [int(both.sum()), int((step != 0).sum()), int((step > 0).sum()), int((step < 0).sum())]
                rows.append([*counts, mean, size, change, *spreads])
                index.append((self.rounds[r - 1], self.rounds[r], level))
        names = ["n", "moved", "up", "down", "mean_pages", "mean_absolute_pages", "cut_change", "sd_before", "sd_after"]
        return pd.DataFrame(rows, columns=names, index=pd.MultiIndex.from_tuples(index, names=["from", "to", "level"]))

    @property
    def moves(self) -> pd.DataFrame:
        """Return a row per panellist, round (after the first) and level: page before and after, and the change of theta."""
        rows = []
        for r in range(1, len(self.rounds)):
            for p, panellist in enumerate(self.placements.panellists):
                for k, level in enumerate(self.levels):
                    before, after = self.placements.pages[r - 1 : r + 1, p, k]
                    if not np.isnan(before + after):
                        first, second = self.theta[r - 1 : r + 1, p, k]
                        change = 0.0 if first == second else second - first
                        rows.append([panellist, self.rounds[r], level, int(before), int(after), change])
        return pd.DataFrame(rows, columns=["panellist", "round", "level", "page_before", "page", "theta_change"])

    def open_ended(self, position: int) -> dict[Hashable, list[Hashable]]:
        """Return by level who placed the bookmark at an open end in the round at a position."""
        found = {}
        for k, level in enumerate(self.levels):
            who = [name for p, name in enumerate(self.placements.panellists) if np.isinf(self.theta[position, p, k])]
            if who:
                found[level] = who
        return found

    def summary(self) -> str:
        """Return agreement and movement as fixed-width text."""
        shown = self.agreement.drop(columns=["median", "mean"])
        lines = [
            f"Bookmark panel: {counted(len(self.placements.panellists), 'panellist')}, {counted(len(self.rounds), 'round')}, "
            f"rule {self.rule}, {self.aggregate}",
            "",
            shown.to_string(float_format=lambda value: f"{value:.3f}", na_rep="-"),
        ]
        if len(self.rounds) > 1:
            lines += ["", "Movement", "", self.movement.to_string(float_format=lambda value: f"{value:.3f}", na_rep="-")]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers that ``from_dict`` turns back into an equal panel."""
        placed = self.placements
        return {
            "booklet": self.booklet.to_dict(),
            "rounds": [plain_label(label) for label in placed.rounds],
            "panellists": [plain_label(label) for label in placed.panellists],
            "levels": [plain_label(label) for label in placed.levels],
            "pages": encode_numbers(placed.pages),
            "tables": [plain_label(label) for label in placed.tables],
            "rule": self.rule,
            "aggregate": self.aggregate,
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Build the panel from what ``to_dict`` gave."""
        fields = Fields(content, "panel")
        booklet = OrderedItemBooklet.from_dict(fields.part("booklet").content)
        rounds, panellists, levels = (tuple(fields.labels(name)) for name in ("rounds", "panellists", "levels"))
        tables = content["tables"]
        if not isinstance(tables, list) or len(tables) not in (0, len(panellists)):
            fields.refuse("tables", f"none, or {len(panellists)} labels")
        shape = (len(rounds), len(panellists), len(levels))
        pages = fields.numbers("pages", *shape, missing=True)
        rule = fields.text("rule", RULES)
        low, high = page_range(rule, booklet.n_pages)
        known = pages[~np.isnan(pages)]
        if ((known < low) | (known > high) | (known != np.floor(known))).any():
            fields.refuse("pages", f"whole numbers from {low} to {high}")
        pages.flags.writeable = False
        placements = Placements(rounds, panellists, levels, pages, tuple(tables))
        return cls(booklet, placements, rule, fields.text("aggregate", AGGREGATES))
