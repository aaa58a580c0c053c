"""Scales of levels: their labels in order, and what may be said beyond the levels that have a cut score."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from psychoedu.exceptions import DataError, DuplicateLabelError, LabelError
from psychoedu.validation import counted, listed

UNNAMED = "levels"
"""Name of a scale that was given as a list of labels."""


@dataclass(frozen=True)
class Scale:
    """A named list of levels, lowest first.

    Parameters
    ----------
    name : str
    levels : sequence of str
        All levels of the scale, lowest first, whether or not an instrument has cut scores for them.

    Raises
    ------
    DataError
        Fewer than two levels, or a label twice.

    Examples
    --------
    >>> CSE.labels(["CSE-3", "CSE-4", "CSE-5", "CSE-6"])
    ('below CSE-3', 'CSE-3', 'CSE-4', 'CSE-5', 'CSE-6')
    >>> CSE.texts(["CSE-3", "CSE-5"])
    ('below CSE-3', 'CSE-3 to CSE-4', 'CSE-5 or above')
    """

    name: str
    levels: tuple[str, ...]

    def __post_init__(self) -> None:
        levels = tuple(self.levels)
        object.__setattr__(self, "levels", levels)
        if len(levels) < 2:
            raise DataError(f"The scale {self.name!r} has {counted(len(levels), 'level')}; expected at least two.")
        if len(set(levels)) < len(levels):
            raise DuplicateLabelError(f"The scale {self.name!r} names a level twice: {listed(levels)}. Expected each once.")

    def check(self, cuts: Iterable[Hashable]) -> tuple[Hashable, ...]:
        """Return the levels with a cut score in the scale's order, or say which of them the scale lacks."""
        given = list(cuts)
        unknown = [label for label in given if label not in self.levels]
        if unknown:
            raise LabelError(
                f"{counted(len(unknown), 'level')} not on the scale {self.name}: {listed(unknown)}.\n"
                f"Its levels are {listed(self.levels)}.{self._hint(unknown)}"
            )
        return tuple(label for label in self.levels if label in given)

    def _hint(self, unknown: Sequence[Hashable]) -> str:
        texts = [str(label) for label in unknown]
        spelt = [known for known in self.levels if any(_squeeze(known) == _squeeze(text) for text in texts)]
        spelt = spelt or [known for known in self.levels if any(known == f"{self.name}-{text}" for text in texts)]
        return f" Rename them, as {texts[0]!r} to {spelt[0]!r}." if spelt else ""

    def check_order(self, cuts: Sequence[Hashable]) -> None:
        """Refuse levels that do not stand in the scale's order."""
        known = self.check(cuts)
        if known != tuple(cuts):
            raise DataError(
                f"The levels stand in the order {listed(cuts)}, but on the scale {self.name} it is {listed(known)}.\n"
                "Expected them lowest first; where the scale's order is not the one meant, give another with scale=."
            )

    def labels(self, cuts: Sequence[Hashable]) -> tuple[str, ...]:
        """Return the labels of the L + 1 levels that L cut scores make: below the first, then the levels themselves."""
        return level_labels(self.check(cuts))

    def texts(self, cuts: Sequence[Hashable]) -> tuple[str, ...]:
        """Return what may be said of each of these levels.

        Notes
        -----
        A cut score tells a level from those below it. Above the top cut the instrument tells nothing apart, so that the top level
        reads "or above", unless it is the scale's last; where a level between two cuts has no cut of its own, both are named.
        """
        known = self.check(cuts)
        positions = [self.levels.index(str(label)) for label in known]
        texts = [f"below {known[0]}"]
        for order, position in enumerate(positions):
            if order + 1 == len(positions):
                last = position + 1 == len(self.levels)
                texts.append(str(known[order]) if last else f"{known[order]} or above")
            else:
                top = positions[order + 1] - 1
                texts.append(str(known[order]) if top == position else f"{known[order]} to {self.levels[top]}")
        return tuple(texts)

    def limits(self, cuts: Sequence[Hashable]) -> str:
        """Return in a sentence which levels the instrument can tell apart, and why no more."""
        known = self.check(cuts)
        top, low = str(known[-1]), str(known[0])
        above = self.levels[self.levels.index(top) + 1 :]
        below = self.levels[: self.levels.index(low)]
        parts = []
        if above:
            beyond = above[0] if len(above) == 1 else f"{above[0]} to {above[-1]}"
            parts.append(f"there is no cut score for {beyond}, so a score above the top cut is reported as {top} or above")
        if len(below) > 1:
            parts.append(f"the levels under {low} are not told apart")
        own = f"Level {top} has a cut score" if low == top else f"Levels {low} to {top} have cut scores"
        where = "" if self.name == UNNAMED else f" on the scale {self.name}"
        return f"{own}{where}; " + ", and ".join(parts or ["the whole scale is covered"])


CSE = Scale("CSE", tuple(f"CSE-{level}" for level in range(1, 10)))
"""China's Standards of English, levels 1 to 9."""

CEFR = Scale("CEFR", ("A1", "A2", "B1", "B2", "C1", "C2"))
"""Common European Framework of Reference, A1 to C2."""

KNOWN_SCALES = {"CSE": CSE, "CEFR": CEFR}


def _squeeze(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum())


def level_labels(cuts: Sequence[Hashable]) -> tuple[str, ...]:
    """Return the labels of the levels that cut scores make.

    Examples
    --------
    >>> level_labels(["pass"])
    ('below pass', 'pass')
    """
    return (f"below {cuts[0]}", *(str(label) for label in cuts))


def as_scale(scale: object, cuts: Sequence[Hashable]) -> Scale:
    """Return the scale that was named, or the one that all levels belong to, or one of these levels alone.

    Parameters
    ----------
    scale : Scale, {"CSE", "CEFR"}, sequence of labels, or None
        A sequence lists all levels, lowest first. None: CSE or CEFR where all levels are theirs, else a scale whose top is the
        top cut's level.
    cuts : sequence of labels
        Levels with a cut score.

    Raises
    ------
    DataError, LabelError
        The scale is none of these, lacks a level, or has the levels in another order.
    """
    texts = [str(label) for label in cuts]
    if len(set(texts)) < len(texts):
        raise DuplicateLabelError(f"The levels name one twice: {listed(texts)}. Expected each once, lowest first.")
    if scale is None:
        for known in KNOWN_SCALES.values():
            if set(texts) <= set(known.levels):
                known.check_order(texts)
                return known
        return Scale(UNNAMED, (f"below {texts[0]}", *texts))
    if isinstance(scale, str):
        if scale.upper() not in KNOWN_SCALES:
            raise DataError(f"scale has to be one of 'CSE', 'CEFR', or a list of all levels, lowest first; got {scale!r}.")
        scale = KNOWN_SCALES[scale.upper()]
    elif not isinstance(scale, Scale):
        if not isinstance(scale, Iterable):
            raise DataError(f"scale has to be 'CSE', 'CEFR', a Scale, or a list of all levels, lowest first; got {scale!r}.")
        scale = Scale(UNNAMED, tuple(str(label) for label in scale))
    scale.check_order(texts)
    return scale


def refuse_misspelt(labels: Iterable[Hashable]) -> None:
    """Refuse labels that look like levels of CSE or CEFR and are none, as CSE3 or CSE-12.

    Raises
    ------
    LabelError
        With the level that was meant, where one reads alike.
    """
    labels = list(labels)
    for scale in KNOWN_SCALES.values():
        alike = {_squeezed(level): level for level in scale.levels}
        unknown = [label for label in labels if isinstance(label, str) and label not in scale.levels]
        named = [label for label in unknown if _squeezed(label) in alike]
        beyond = [label for label in unknown if re.fullmatch(rf"{scale.name}[-_ ]?\d+", label, flags=re.IGNORECASE)]
        wrong = list(dict.fromkeys([*named, *beyond]))
        if wrong:
            meant = [alike[_squeezed(label)] for label in named]
            hint = f"Did you mean {listed(meant)}?" if meant else f"Its levels are {listed(scale.levels)}."
            raise LabelError(f"{counted(len(wrong), 'level')} not on the scale {scale.name}: {listed(wrong)}.\n{hint}")


def _squeezed(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum())


def order_levels(labels: pd.Series, levels: Sequence[Hashable] | None = None) -> tuple[Hashable, ...]:
    """Return the levels that occur, lowest first.

    Parameters
    ----------
    labels : Series
        Levels as they stand in a table.
    levels : sequence of labels, optional
        Their order, where it is given.

    Notes
    -----
    Without ``levels``: the order of a Categorical; that of CSE or CEFR; numbers by size; labels that differ in one number (L2,
    L10) by that number; else the order in which they first occur.

    Examples
    --------
    >>> order_levels(pd.Series(["L10", "L2", "L10"]))
    ('L2', 'L10')
    """
    found = list(pd.unique(labels.dropna()))
    if len({str(label) for label in found}) < len(found):
        raise DuplicateLabelError(f"Levels differ in type alone: {listed(found)}. Expected text, or numbers, throughout.")
    if levels is not None:
        given = list(levels)
        if len(set(given)) < len(given):
            raise DuplicateLabelError(f"levels names a level twice: {listed(given)}. Expected each once, lowest first.")
        unknown = [label for label in found if label not in given]
        if unknown:
            raise LabelError(f"{counted(len(unknown), 'level')} not among levels: {listed(unknown)}.\nExpected {listed(given)}.")
        return tuple(label for label in given if label in found)
    if isinstance(labels.dtype, pd.CategoricalDtype):
        return tuple(label for label in labels.cat.categories if label in found)
    refuse_misspelt(found)
    texts = {str(label): label for label in found}
    for known in KNOWN_SCALES.values():
        if set(texts) <= set(known.levels):
            return tuple(texts[name] for name in known.levels if name in texts)
    parts = {text: re.fullmatch(r"(.*?)((?:\A-)?\d+(?:\.\d+)?)", text) for text in texts}
    if all(parts.values()) and len({match.group(1) for match in parts.values() if match}) == 1:
        return tuple(texts[text] for text in sorted(texts, key=lambda text: float(parts[text].group(2))))  # type: ignore[union-attr]
    return tuple(found)
