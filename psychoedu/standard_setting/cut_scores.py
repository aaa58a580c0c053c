"""Cut scores: abilities that separate levels, the error of each in three parts, and what a reader needs beside them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtrit

from psychoedu._typing import FloatArray
from psychoedu._version import __version__
from psychoedu.exceptions import DataError, LabelError
from psychoedu.irt.bank import ItemBank
from psychoedu.irt.linking_constants import LinkingConstants
from psychoedu.persistence import Saved, plain_label
from psychoedu.standard_setting.booklet import OrderedItemBooklet
from psychoedu.standard_setting.panel import BookmarkPanel
from psychoedu.standard_setting.scales import Scale, as_scale, level_labels
from psychoedu.validation import check_choice, check_probability, listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FEW_PANELLISTS = 5


@dataclass(frozen=True, eq=False, repr=False)
class CutScores(Saved):
    """Cut scores of the levels of a scale; theta >= cut is the upper level.

    Made by :func:`psychoedu.bookmark`, :func:`angoff`, :func:`contrasting_groups`, :func:`borderline_group`,
    :func:`annotation_cuts`, or from given values by :meth:`from_values`.

    Attributes
    ----------
    levels : tuple of labels, (L,)
        The levels that a cut score opens, lowest first; below the first lies the level "below <first>".
    values : ndarray, (L,)
        Cut scores, strictly increasing; infinite where the panel left an end open.
    scale : Scale
        All levels of the scale.
    method : str
        "bookmark", "angoff", "contrasting groups", "borderline group", "annotations" or "given".
    panel_covariance, item_covariance, linking_covariance : ndarray, (L, L)
        Covariance of the cuts from each source of error; nan where unknown, with the reason in ``diagnostics``.
    panel_df : float
        Degrees of freedom of the panel part (panellists - 1); inf for a normal one.
    bank : ItemBank or None
        The items behind the cuts, with their covariance.
    gradient : ndarray, (L, 2J), or None
        Derivative of each cut (on the bank's scale) with respect to the bank's parameters, order a1, d1, a2, d2, ...
    booklet : OrderedItemBooklet or None
    panel : BookmarkPanel or None
        Placements, rounds, agreement (bookmark only).
    linking : LinkingConstants or None
        How the cuts were brought from the bank's scale onto another.
    rp_sensitivity : DataFrame or None
        Cut scores (columns) at other response probabilities (index), the items that carry them held fixed; None where the method
        uses no response probability.
    options : dict
    diagnostics : tuple of str
    version : str
    """

    kind: ClassVar[str] = "cut_scores"

    levels: tuple[Hashable, ...]
    values: FloatArray
    scale: Scale
    method: str
    panel_covariance: FloatArray
    item_covariance: FloatArray
    linking_covariance: FloatArray
    panel_df: float = np.inf
    bank: ItemBank | None = None
    gradient: FloatArray | None = None
    booklet: OrderedItemBooklet | None = None
    panel: BookmarkPanel | None = None
    linking: LinkingConstants | None = None
    rp_sensitivity: pd.DataFrame | None = None
    options: dict[str, Any] = field(default_factory=dict)
    diagnostics: tuple[str, ...] = ()
    version: str = __version__

    def __post_init__(self) -> None:
        for name in ("values", "panel_covariance", "item_covariance", "linking_covariance", "gradient"):
            array = getattr(self, name)
            if array is not None:
                array = np.array(array, dtype=np.float64)
                array.flags.writeable = False
                object.__setattr__(self, name, array)
        refuse_not_increasing(self.levels, self.values)

    @classmethod
    def from_values(
        cls,
        cut_scores: Any,
        standard_errors: Any = None,
        *,
        levels: Sequence[Hashable] | None = None,
        scale: Any = None,
        bank: Any = None,
    ) -> Self:
        """Make cut scores of given numbers.

        Parameters
        ----------
        cut_scores : Series or mapping {level: theta}, or sequence of L numbers with ``levels``
        standard_errors : number, sequence of L, or mapping, optional
            Standard errors of the cuts, counted as the panel's (unknown if not given).
        levels : sequence of labels, optional
            The L levels that the cuts open, lowest first, where ``cut_scores`` is a sequence.
        scale : "CSE", "CEFR", Scale, or list of all levels, optional
        bank : Calibration or ItemBank, optional
            The items, for raw-score equivalents and the measured range.

        Raises
        ------
        DataError
            The cuts do not increase, are no numbers, or are not as many as the levels.

        Examples
        --------
        >>> CutScores.from_values({"CSE-3": -1.0, "CSE-4": 0.0, "CSE-5": 1.0}).level_labels
        ('below CSE-3', 'CSE-3', 'CSE-4', 'CSE-5')
        """
        known, values = read_cuts(cut_scores, levels)
        errors = np.full(len(values), np.nan)
        if standard_errors is not None:
            given = standard_errors
            if isinstance(given, Mapping | pd.Series):
                named = dict(given.items())
                given = [named.get(level, np.nan) for level in known]
            try:
                array = np.asarray(given, dtype=np.float64)
                errors = np.full(len(values), array) if array.ndim == 0 else array.reshape(len(values))
            except (TypeError, ValueError) as error:
                raise DataError(f"standard_errors has to be one number, or one a cut ({len(values)}); got {given!r}.") from error
            if not (np.isfinite(errors) & (errors >= 0.0)).all():
                raise DataError(f"standard_errors has to hold finite numbers of at least 0; got {listed(errors)}.")
        nothing = np.full((len(values), len(values)), np.nan)
        notes = ("the cut scores were given; their error is not known",) if standard_errors is None else ()
        own_bank = getattr(bank, "bank", bank)
        if own_bank is not None and not isinstance(own_bank, ItemBank):
            raise DataError(f"bank has to be a Calibration or an ItemBank; got {type(bank).__name__}.")
        return cls(
            known,
            values,
            as_scale(scale, known),
            "given",
            nothing if standard_errors is None else np.diag(errors**2),
            nothing if standard_errors is None else np.zeros_like(nothing),
            nothing if standard_errors is None else np.zeros_like(nothing),
            bank=own_bank,
            diagnostics=notes,
        )

    @property
    def level_labels(self) -> tuple[str, ...]:
        """Labels of the L + 1 levels, "below <first>" first."""
        return level_labels(self.levels)

    @property
    def level_texts(self) -> tuple[str, ...]:
        """What may be said of each level: the top one reads "or above" where the scale goes on."""
        return self.scale.texts([str(level) for level in self.levels])

    @property
    def cut_scores(self) -> pd.Series:
        """The cut scores by level."""
        return pd.Series(self.values, index=self._index(), name="cut_score")

    @property
    def flags(self) -> pd.Series:
        """What to look at twice, by level: ``open_ended``, ``too_few_panellists``; "" for nothing."""
        few = self.method in ("bookmark", "angoff") and self.panel_df + 1 < FEW_PANELLISTS
        texts = []
        for value in self.values:
            found = [*(["open_ended"] if np.isinf(value) else []), *(["too_few_panellists"] if few else [])]
            texts.append("; ".join(found))
        return pd.Series(texts, index=self._index(), name="flags", dtype=object)

    @cached_property
    def _errors(self) -> dict[str, FloatArray]:
        parts = {"panel": self.panel_covariance, "items": self.item_covariance, "linking": self.linking_covariance}
        found = {name: np.sqrt(np.diag(matrix)) for name, matrix in parts.items()}
        squares = np.array([values**2 for values in found.values()])
        found["total"] = np.sqrt(squares.sum(axis=0))
        return found

    @property
    def standard_errors(self) -> pd.DataFrame:
        """Standard errors by level: panel, items, linking, total (total^2 = sum of squares); nan where unknown, see diagnostics.

        Linking is 0, and included in items, where all forms were calibrated together.
        """
        return pd.DataFrame(self._errors, index=self._index())

    def conf_int(self, confidence_level: float = 0.95, bias: Any = "reading") -> pd.DataFrame:
        """Return intervals of the cut scores.

        Parameters
        ----------
        confidence_level : float
        bias : "reading", None, or sequence of L numbers
            Taken off the cuts that the intervals are built around. "reading": of bookmarks, what :meth:`reading_bias` estimates
            (where it can); without it intervals of bookmark cuts cover too rarely (docs/validation.md). None: nothing.

        Returns
        -------
        DataFrame by level
            ``low``, ``high``: cut - bias -+ sqrt((t panel)^2 + z^2 (items^2 + linking^2)), t with panellists - 1 degrees of
            freedom; nan where a part is unknown.
        """
        level = check_probability(confidence_level, "confidence_level")
        z = float(ndtri(0.5 + level / 2.0))
        t = float(stdtrit(self.panel_df, 0.5 + level / 2.0)) if np.isfinite(self.panel_df) and self.panel_df > 0 else z
        errors = self._errors
        half = np.sqrt((t * errors["panel"]) ** 2 + z**2 * (errors["items"] ** 2 + errors["linking"] ** 2))
        centre = self.values - self._bias(bias)
        return pd.DataFrame({"low": centre - half, "high": centre + half}, index=self._index())

    def _bias(self, bias: Any) -> FloatArray:
        if bias is None:
            return np.zeros(len(self))
        if isinstance(bias, str):
            check_choice(bias, ("reading",), "bias")
            return np.nan_to_num(self._reading_bias["bias"].to_numpy()) if self._can_read else np.zeros(len(self))
        shift = np.asarray(bias, dtype=np.float64)
        if shift.shape not in ((), self.values.shape):
            raise DataError(f"bias has to be one number a cut ({len(self)}); got shape {shift.shape}.")
        return shift

    @property
    def _can_read(self) -> bool:
        return self.panel is not None and self.panel.booklet.bank.covariance is not None

    @cached_property
    def _reading_bias(self) -> pd.DataFrame:
        return self.reading_bias()

    def reading_bias(self, n_draws: int = 500, rng: Any = 0) -> pd.DataFrame:
        """Estimate the bias that misplaced pages bring to bookmark cuts.

        Parameters
        ----------
        n_draws : int
        rng : int, Generator or None

        Returns
        -------
        DataFrame by level
            ``bias`` (what a cut is off on average), ``bias_se`` (its Monte Carlo error), ``sd`` (spread over the draws),
            ``open_ended`` (share of the draws that gave no finite cut; the others count).

        Raises
        ------
        DataError
            The cuts are no bookmarks, or the bank has no covariance.

        Notes
        -----
        A booklet is ordered by estimates, so that some pages stand too early or too late. Who stops at the first page that the
        candidate has not mastered meets one early, at an item whose estimate is too low: the cut comes out low. Parametric
        bootstrap: the estimates stand for the true parameters; in each draw new estimates order a booklet, each panellist, with
        the ability that their own bookmark gave, stops at the first page whose true location lies above it, and the cut is taken
        in that booklet. It supposes that panellists read page by page. ``conf_int`` takes it off.
        """
        from psychoedu.standard_setting.reading_bias import reading_bias

        return reading_bias(self, n_draws, rng)

    def raw_scores(self, forms: Any = None, rounding: str = "up") -> pd.DataFrame:
        """Return the raw-score equivalents of the cuts on each form, through the test characteristic curve.

        Parameters
        ----------
        forms : mapping {form: items}, Series {item: form}, or list of items, optional
            Default: all items of the bank, as one form.
        rounding : {"up", "nearest", "down"}
            "up": the smallest whole score at or above the expected score at the cut, so that who has it is at the cut or above.

        Returns
        -------
        DataFrame by (form, level)
            ``expected_score`` at the cut, ``raw_score`` (whole; the level is reached from it on), ``n_items``, ``rounding``.
        """
        from psychoedu.standard_setting.raw_scores import raw_score_table

        return raw_score_table(self, forms, rounding)

    def compare(self, other: Any) -> pd.DataFrame:
        """Return how these cuts differ from others on the same scale, by level.

        Parameters
        ----------
        other : CutScores, Series or mapping {level: theta}

        Returns
        -------
        DataFrame by level (those that both have)
            Both cuts, ``difference`` (other minus these), its standard error (nan where a part is unknown).
        """
        from psychoedu.standard_setting.raw_scores import compare_cuts

        return compare_cuts(self, other)

    def to_frame(self) -> pd.DataFrame:
        """Return cut scores, standard errors, 95% intervals and flags by level."""
        errors = self.standard_errors.add_prefix("se_").rename(columns={"se_total": "se"})
        columns: list[Any] = [self.cut_scores, errors[["se", "se_panel", "se_items", "se_linking"]], self.conf_int(), self.flags]
        frame: pd.DataFrame = pd.concat(columns, axis=1)
        return frame

    def summary(self) -> str:
        """Return the cut scores, their errors and what hangs on RP as fixed-width text."""
        from psychoedu.standard_setting.cut_summary import cut_summary

        return cut_summary(self)

    def plot(self, calibration: Any = None, ax: Axes | None = None) -> Axes:
        """Draw the cut scores across the Wright map of a calibration; of the bank behind them if none is given."""
        from psychoedu.standard_setting.plots import cuts_on_wright_map

        return cuts_on_wright_map(self, calibration, ax)

    def plot_information(self, calibration: Any = None, ax: Axes | None = None) -> Axes:
        """Draw the cut scores across the test information curve: how well the test measures where decisions fall."""
        from psychoedu.standard_setting.plots import cuts_on_information

        return cuts_on_information(self, calibration, ax)

    def plot_panel(self, ax: Axes | None = None) -> Axes:
        """Draw the panellists' cuts by round and level."""
        from psychoedu.standard_setting.plots import panel_rounds

        return panel_rounds(self, ax)

    def plot_rp_sensitivity(self, ax: Axes | None = None) -> Axes:
        """Draw how the cut scores move with the response probability."""
        from psychoedu.standard_setting.plots import rp_sensitivity

        return rp_sensitivity(self, ax)

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers that ``from_dict`` turns back into equal cut scores."""
        from psychoedu.standard_setting.serialise import cuts_to_dict

        return cuts_to_dict(self)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Build the cut scores from what ``to_dict`` gave."""
        from psychoedu.standard_setting.serialise import cuts_from_dict

        return cls(**cuts_from_dict(content))

    def _index(self) -> pd.Index:
        return pd.Index([plain_label(level) for level in self.levels], name="level", tupleize_cols=False)

    def __len__(self) -> int:
        return len(self.levels)

    def __repr__(self) -> str:
        shown = ", ".join(f"{level} {value:.3f}" for level, value in zip(self.levels, self.values, strict=True))
        return f"CutScores({self.method}: {shown})"

    def _repr_html_(self) -> str:
        return self.to_frame().to_html(float_format=lambda value: f"{value:.3f}", na_rep="-")


def refuse_not_increasing(levels: Sequence[Hashable], values: FloatArray) -> None:
    """Refuse cut scores that are missing or do not rise with the level."""
    if np.isnan(values).any():
        missing = [level for level, value in zip(levels, values, strict=True) if np.isnan(value)]
        raise DataError(f"No cut score for {listed(missing)}. Expected a number for every level.")
    for below, above in zip(range(len(values) - 1), range(1, len(values)), strict=True):
        if not values[above] > values[below]:
            same = "are equal" if values[above] == values[below] else "fall"
            raise DataError(
                f"The cut scores {same} from {levels[below]} ({values[below]:.4g}) to {levels[above]} ({values[above]:.4g}), "
                f"which leaves {levels[below]} without any ability.\n"
                "Expected cut scores that rise from level to level: leave one of the two out, or place them apart."
            )


def read_cuts(cut_scores: Any, levels: Sequence[Hashable] | None = None) -> tuple[tuple[Hashable, ...], FloatArray]:
    """Read cut scores from a CutScores, a Series, a mapping or a sequence, and check that they rise.

    Returns
    -------
    tuple of labels, (L,), and ndarray, (L,)

    Raises
    ------
    DataError
        They are no numbers, do not rise, or are not as many as the levels.
    """
    if isinstance(cut_scores, CutScores):
        return cut_scores.levels, cut_scores.values
    if isinstance(cut_scores, set | frozenset):
        raise DataError("cut_scores is a set, which has no order. Expected a list, lowest first, or {level: theta}.")
    if isinstance(cut_scores, pd.Series):
        known: tuple[Hashable, ...] = tuple(cut_scores.index) if levels is None else tuple(levels)
        given = list(cut_scores)
    elif isinstance(cut_scores, Mapping):
        known, given = tuple(cut_scores), list(cut_scores.values())
        if levels is not None:
            absent = [level for level in levels if level not in cut_scores]
            if absent:
                raise LabelError(f"No cut score for {listed(absent)}. Expected one for each of {listed(list(levels))}.")
            known, given = tuple(levels), [cut_scores[level] for level in levels]
    else:
        try:
            given = list(cut_scores)
        except TypeError as error:
            raise DataError(f"cut_scores has to be a CutScores, or {{level: theta}}; got {type(cut_scores).__name__}.") from error
        known = tuple(f"level {k}" for k in range(2, len(given) + 2)) if levels is None else tuple(levels)
    if len(known) != len(given) or not given:
        raise DataError(
            f"{len(given)} cut scores for {len(known)} levels ({listed(known)}). Expected one for each level that it opens; "
            "the lowest level, below the first cut, has none."
        )
    try:
        values = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"The cut scores have to be numbers; got {listed(given)}.") from error
    if values.ndim != 1:
        raise DataError(f"The cut scores have to be one number a level; got shape {values.shape}.")
    refuse_not_increasing(known, values)
    return known, values
