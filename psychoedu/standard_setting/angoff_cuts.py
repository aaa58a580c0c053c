"""Raw cut scores of an Angoff panel: what follows from its ratings, and the way to theta."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from textwrap import fill
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray
from psychoedu._version import __version__
from psychoedu.exceptions import DataError
from psychoedu.irt.bank import ItemBank
from psychoedu.irt.linking_constants import LinkingConstants
from psychoedu.persistence import Fields, Saved, encode_numbers, plain_label
from psychoedu.standard_setting.agreement import intraclass_correlations, mean_pairwise_difference, median_error_ratio, spread
from psychoedu.standard_setting.angoff_table import KINDS, MISSING, AngoffRatings
from psychoedu.standard_setting.angoff_theta import angoff_cut_scores, panel_thetas, rated_bank
from psychoedu.standard_setting.cut_scores import FEW_PANELLISTS, CutScores
from psychoedu.standard_setting.panel import AGGREGATES, aggregated
from psychoedu.standard_setting.scales import Scale, as_scale
from psychoedu.validation import check_choice, counted, listed

_WIDTH = 100


@dataclass(frozen=True, eq=False, repr=False)
class AngoffCuts(Saved):
    """Raw cut scores of an Angoff panel; made by :func:`psychoedu.standard_setting.angoff`.

    Attributes
    ----------
    ratings : AngoffRatings
        Ratings by round, panellist, level and item.
    rating_kind : {"probability", "yes-no"}
    aggregate : {"mean", "median"}
        Of the panellists' raw cuts.
    round : label
        The round whose ratings are final.
    missing : {"raise", "item-mean"}
    scale : Scale
    bank : ItemBank or None
        The rated items.
    version : str
    """

    kind: ClassVar[str] = "angoff_cuts"

    ratings: AngoffRatings
    rating_kind: str
    aggregate: str
    round: Hashable
    missing: str
    scale: Scale
    bank: ItemBank | None = None
    version: str = __version__

    @property
    def levels(self) -> tuple[Hashable, ...]:
        """The levels that a cut score opens, lowest first, (L,)."""
        return self.ratings.levels

    @property
    def n_items(self) -> int:
        """Number of items rated, the highest raw score."""
        return len(self.ratings.items)

    @property
    def _position(self) -> int:
        return self.ratings.rounds.index(self.round)

    @property
    def _final(self) -> FloatArray:
        """Raw cuts of the final round, (P, L)."""
        found: FloatArray = self.ratings.raw_cuts[self._position]
        return found

    def _index(self) -> pd.Index:
        return pd.Index([plain_label(level) for level in self.levels], name="level", tupleize_cols=False)

    @property
    def cut_scores(self) -> pd.Series:
        """Raw cut scores by level: the mean or median of the panellists' in the final round."""
        return pd.Series(aggregated(self._final, self.aggregate), index=self._index(), name="cut_score")

    @property
    def mean(self) -> pd.Series:
        """Mean raw cut of the final round by level."""
        return pd.Series(aggregated(self._final, "mean"), index=self._index(), name="mean")

    @property
    def median(self) -> pd.Series:
        """Median raw cut of the final round by level."""
        return pd.Series(aggregated(self._final, "median"), index=self._index(), name="median")

    @property
    def panellists(self) -> pd.DataFrame:
        """Raw cuts of the final round: a row per panellist, a column per level."""
        index = pd.Index(list(self.ratings.panellists), name="panellist", tupleize_cols=False)
        return pd.DataFrame(self._final, index=index, columns=self._index())

    @property
    def standard_errors(self) -> pd.DataFrame:
        """Standard errors of the raw cuts from the panel's spread, by level.

        Returns
        -------
        DataFrame
            ``panel``: of the cut score; ``mean``: SD / sqrt(n); ``median``: that times the ratio that holds for normal values
            (1.16 at n = 3, up to 1.2533). nan for one panellist: unknown, not 0.
        """
        n = (~np.isnan(self._final)).sum(axis=0)
        mean = spread(self._final)[1] / np.sqrt(n)
        median = mean * np.array([median_error_ratio(int(count)) for count in n])
        own = mean if self.aggregate == "mean" else median
        return pd.DataFrame({"panel": own, "mean": mean, "median": median}, index=self._index())

    @property
    def agreement(self) -> pd.DataFrame:
        """How far the panellists agree, by round and level.

        Returns
        -------
        DataFrame, index (round, level)
            ``n``; ``mean``, ``median``, ``range``, ``sd``, ``mad``, ``pairwise`` (mean absolute difference of all pairs) of
            the raw cuts; ``icc``, ``icc_mean``: ICC(2,1) of a panellist's and ICC(2,k) of the panel's mean ratings over the
            items.
        """
        rows, index = [], []
        for r, number in enumerate(self.ratings.rounds):
            cuts = self.ratings.raw_cuts[r]
            there = ~np.isnan(cuts)
            columns = [there.sum(axis=0), aggregated(cuts, "mean"), aggregated(cuts, "median"), *spread(cuts)]
            columns.append(mean_pairwise_difference(cuts))
            for k, level in enumerate(self.levels):
                icc = intraclass_correlations(self.ratings.filled[r, there[:, k], k].T)
                rows.append([*(column[k] for column in columns), *icc])
                index.append((number, level))
        names = ["n", "mean", "median", "range", "sd", "mad", "pairwise", "icc", "icc_mean"]
        frame = pd.DataFrame(rows, columns=names, index=pd.MultiIndex.from_tuples(index, names=["round", "level"]))
        return frame.astype({"n": np.int64})

    @property
    def movement(self) -> pd.DataFrame:
        """How ratings moved from each round to the next, by level.

        Returns
        -------
        DataFrame, index (from, to, level)
            ``n`` (who rated in both), ``moved``, ``up``, ``down`` (panellists by their raw cut), ``mean_change``,
            ``mean_absolute_change`` (of raw cuts), ``cut_change`` (of their aggregate), ``ratings_changed`` (share),
            ``sd_before``, ``sd_after``.
        """
        rows, index = [], []
        table = self.ratings
        for r in range(1, len(table.rounds)):
            for k, level in enumerate(table.levels):
                pair = table.raw_cuts[r - 1 : r + 1, :, k]
                both = ~np.isnan(pair).any(axis=0)
                before, after = pair[:, both]
                step = np.where(np.abs(after - before) < 1e-9, 0.0, after - before)
                cuts = [aggregated(values[:, None], self.aggregate)[0] for values in (before, after)]
                changed = table.filled[r, both, k] != table.filled[r - 1, both, k]
                mean, size, share = (step.mean(), np.abs(step).mean(), changed.mean()) if both.any() else (np.nan,) * 3
                counts = [int(both.sum()), int((step != 0.0).sum()), int((step > 0.0).sum()), int((step < 0.0).sum())]
                sd = [spread(values[:, None])[1, 0] for values in (before, after)]
                rows.append([*counts, mean, size, cuts[1] - cuts[0], share, *sd])
                index.append((table.rounds[r - 1], table.rounds[r], level))
        names = ["n", "moved", "up", "down", "mean_change", "mean_absolute_change", "cut_change", "ratings_changed"]
        names += ["sd_before", "sd_after"]
        return pd.DataFrame(rows, columns=names, index=pd.MultiIndex.from_tuples(index, names=["from", "to", "level"]))

    @property
    def items(self) -> pd.DataFrame:
        """What the panel says of each item in the final round.

        Returns
        -------
        DataFrame, index (level, item)
            ``mean``, ``sd`` and ``n`` of the ratings given; with a bank ``probability`` of a right answer at the cut on
            theta, and ``difference`` (mean less probability): a panel that knows its items keeps it small.
        """
        values = self.ratings.values[self._position].swapaxes(0, 1)  # (L, P, J)
        parts = []
        for k, level in enumerate(self.levels):
            columns = {
                "mean": aggregated(values[k], "mean"),
                "sd": spread(values[k])[1],
                "n": (~np.isnan(values[k])).sum(axis=0),
            }
            index = pd.MultiIndex.from_product([[level], self.ratings.items], names=["level", "item"])
            parts.append(pd.DataFrame(columns, index=index))
        frame = pd.concat(parts)
        if self.bank is not None:
            theta = aggregated(panel_thetas(self._final, self.bank), self.aggregate)
            frame["probability"] = np.concatenate([_probability(self.bank, value) for value in theta])
            frame["difference"] = frame["mean"] - frame["probability"]
        return frame

    @property
    def diagnostics(self) -> tuple[str, ...]:
        """Why values are missing or should not be trusted."""
        notes = []
        n = int((~np.isnan(self._final)).sum(axis=0).min())
        if n == 1:
            notes.append("standard errors: unknown with one panellist, there is no spread to see (they are not 0)")
        elif n < FEW_PANELLISTS:
            notes.append(
                f"too few panellists: {n}; the spread of so few is hardly known, nor is the standard error that rests on it"
            )
        gaps = int(self.ratings.gaps[self._position].sum())
        if gaps:
            notes.append(
                f"{counted(gaps, 'missing rating')} of round {self.round} filled with the item's mean over the other panellists"
            )
        for k, level in enumerate(self.levels):
            absent = [name for name, cut in zip(self.ratings.panellists, self._final[:, k], strict=True) if np.isnan(cut)]
            if absent:
                notes.append(
                    f"no rating for {level} in round {self.round}: {counted(len(absent), 'panellist')} ({listed(absent)})"
                )
        filled = self.ratings.filled[self._position]
        with np.errstate(invalid="ignore"):
            crossed = int((np.diff(filled, axis=1) < 0.0).sum())
        if crossed:
            notes.append(f"{counted(crossed, 'rating')} of an item for a level lower than for the level below it")
        if self.bank is not None:
            notes += self._notes_on_items()
        return tuple(notes)

    def _notes_on_items(self) -> list[str]:
        notes = []
        frame = self.items
        for level in self.levels:
            own = frame.loc[[level]]
            if min(own["mean"].std(), own["probability"].std()) > 0.0:
                correlation = float(np.corrcoef(own["mean"], own["probability"])[0, 1])
                if correlation <= 0.0:
                    notes.append(
                        f"ratings for {level} do not follow the items' difficulties (correlation {correlation:.2f} with the "
                        "model's probabilities at the cut)"
                    )
        return notes

    def to_theta(
        self, bank: Any = None, *, aggregate: str | None = None, scale: Any = None, linking: LinkingConstants | None = None
    ) -> CutScores:
        """Bring the cuts to theta through the test characteristic curve of the rated items.

        Parameters
        ----------
        bank : Calibration or ItemBank, optional
            With parameters of all rated items; by default the one given to :func:`angoff`.
        aggregate : {"mean", "median"}, optional
            Of the panellists' abilities; by default that of the raw cuts.
        scale : "CSE", "CEFR", Scale, or list of all levels, optional
        linking : LinkingConstants, optional
            Brings the cuts from the bank's scale onto another; their error becomes the linking part.

        Returns
        -------
        CutScores
            Of method "angoff".

        Raises
        ------
        DataError
            There is no bank; an item's discrimination is below 0, so that the curve may fall; the cut scores do not rise.
        LabelError
            A rated item has no parameters.

        Notes
        -----
        Each panellist's raw cut r becomes the ability at which the expected score is r, T(theta) = r, and the abilities are
        aggregated; for an odd panel the median is the same either way, the mean is not. A raw cut at or above the number of
        items, or at or below the sum of the items' guessing, is an open end: an infinite ability. Panel part: SD / sqrt(n) of
        the abilities (for the median times the ratio that holds for normal values). Items part: delta method, d theta / d
        parameter = -(dT / d parameter) / T'(theta), each panellist's raw cut held fixed.
        """
        own = self.bank if bank is None else bank
        if own is None:
            raise DataError(
                "To bring raw cut scores to theta takes the items' parameters: pass bank=, a Calibration or an ItemBank."
            )
        how = self.aggregate if aggregate is None else check_choice(aggregate, AGGREGATES, "aggregate")
        options = {"aggregate": how, "round": self.round, "rating_kind": self.rating_kind}
        rated = rated_bank(own, self.ratings.items)
        wanted = self.scale if scale is None else as_scale(scale, self.levels)
        return angoff_cut_scores(self._final, self.levels, self.ratings.panellists, rated, wanted, linking, options)

    def to_frame(self) -> pd.DataFrame:
        """Return by level the cut score, also in percent of the items, its standard error, mean, median and panellists (n)."""
        n = (~np.isnan(self._final)).sum(axis=0)
        cuts = self.cut_scores
        columns = {"cut_score": cuts, "percent": 100.0 * cuts / self.n_items, "se": self.standard_errors["panel"]}
        return pd.DataFrame({**columns, "mean": self.mean, "median": self.median, "n": n})

    def summary(self) -> str:
        """Return cut scores, agreement and movement as fixed-width text."""
        lines = [
            f"Angoff cut scores ({self.rating_kind}): {counted(len(self.ratings.panellists), 'panellist')}, "
            f"{counted(self.n_items, 'item')}, round {self.round}, {self.aggregate}",
            "",
            _text(self.to_frame()),
            "",
            "Agreement",
            "",
            _text(self.agreement),
        ]
        if len(self.ratings.rounds) > 1:
            lines += ["", "Movement", "", _text(self.movement)]
        notes = [fill(f"- {note}", _WIDTH, subsequent_indent="  ") for note in self.diagnostics]
        return "\n".join([*lines, *([""] if notes else []), *notes])

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers that ``from_dict`` turns back into equal cut scores."""
        table = self.ratings
        return {
            **{
                name: [plain_label(label) for label in getattr(table, name)]
                for name in ("rounds", "panellists", "levels", "items")
            },
            "ratings": encode_numbers(table.values),
            "rating_kind": self.rating_kind,
            "aggregate": self.aggregate,
            "round": plain_label(self.round),
            "missing": self.missing,
            "scale": {"name": self.scale.name, "levels": list(self.scale.levels)},
            "bank": None if self.bank is None else self.bank.to_dict(),
            "version": self.version,
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Build the cut scores from what ``to_dict`` gave."""
        fields = Fields(content)
        axes = [tuple(fields.labels(name)) for name in ("rounds", "panellists", "levels", "items")]
        values = fields.numbers("ratings", *map(len, axes), low=0.0, missing=True)
        if (values > 1.0).any():
            fields.refuse("ratings", "numbers from 0 to 1")
        values.flags.writeable = False
        table = AngoffRatings(axes[0], axes[1], axes[2], axes[3], values)
        bank = None if fields.is_none("bank") else ItemBank.from_dict(fields.part("bank").content)
        if bank is not None and list(bank.labels) != list(table.items):
            fields.refuse("bank", "the parameters of the rated items, in their order")
        scale = fields.part("scale")
        return cls(
            table,
            fields.text("rating_kind", KINDS),
            fields.text("aggregate", AGGREGATES),
            fields.label("round", table.rounds),
            fields.text("missing", MISSING),
            Scale(scale.text("name"), scale.texts("levels")),
            bank,
            fields.text("version"),
        )

    def __len__(self) -> int:
        return len(self.levels)

    def __repr__(self) -> str:
        shown = ", ".join(f"{level} {value:.3f}" for level, value in self.cut_scores.items())
        return f"AngoffCuts(raw, of {counted(self.n_items, 'item')}: {shown})"

    def _repr_html_(self) -> str:
        return self.to_frame().to_html(float_format=lambda value: f"{value:.3f}", na_rep="-")


def _probability(bank: ItemBank, theta: float) -> FloatArray:
    if np.isfinite(theta):
        return bank.probability(theta)
    if np.isnan(theta):
        return np.full(bank.n_items, np.nan)
    flat = bank.discrimination == 0.0
    return np.where(flat, bank.probability(0.0), bank.guessing if theta < 0.0 else 1.0)


def _text(frame: pd.DataFrame) -> str:
    return frame.to_string(float_format=lambda value: f"{value:.3f}", na_rep="-")
