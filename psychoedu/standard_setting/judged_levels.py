"""Levels that judges gave to respondents or items: their order, and which of them a cut score opens."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import IntArray
from psychoedu.exceptions import DataError, DuplicateLabelError, LabelError
from psychoedu.standard_setting.scales import KNOWN_SCALES, Scale, as_scale, order_levels
from psychoedu.validation import counted, listed


@dataclass(frozen=True, eq=False)
class JudgedLevels:
    """Levels of a set of respondents or items.

    Attributes
    ----------
    order : tuple of labels
        All levels, lowest first.
    cuts : tuple of labels, (L,)
        Those that get a cut score.
    places : ndarray of int, (N,)
        Position of each one's level in ``order``; -1 where there is none.
    scale : Scale or None
        The scale that was named or recognised.
    uncut : label or None
        A level that was asked for, but lies lowest, so that no cut score opens it.
    """

    order: tuple[Hashable, ...]
    cuts: tuple[Hashable, ...]
    places: IntArray
    scale: Scale | None
    uncut: Hashable | None = None

    def first(self, level: Hashable) -> int:
        """Return the position from which on a level is reached."""
        return self.order.index(level)


def matched(values: Any, labels: pd.Index, name: str, axis: str, by_position: bool = True) -> tuple[pd.Series, int]:
    """Put judgements in the order of the labels.

    Parameters
    ----------
    values : Series or mapping {label: level}, or sequence with one level for each label
        Labels without a judgement may be absent.
    labels : Index
    name, axis : str
        For the messages.
    by_position : bool
        Whether a sequence without labels is taken.

    Returns
    -------
    Series by label, and int
        Missing where there is no judgement; how many judgements are of labels that are not there.

    Raises
    ------
    LabelError
        No judgement belongs to any label, or one label has several.
    """
    if isinstance(values, Mapping):
        values = pd.Series(list(values.values()), index=pd.Index(list(values), tupleize_cols=False))
    if isinstance(values, pd.DataFrame):
        raise DataError(f"{name} is a table. Expected a Series of levels by {axis}; take one of its columns.")
    if not isinstance(values, pd.Series):
        listing = list(values) if by_position and isinstance(values, Iterable) and not isinstance(values, str) else []
        if len(listing) != len(labels):
            others = f", or one level for each of the {counted(len(labels), axis)}" if by_position else ""
            raise DataError(f"{name} has to be a Series of levels by {axis}{others}; got {type(values).__name__}.")
        values = pd.Series(listing, index=labels)
    if not values.index.is_unique:
        twice = values.index[values.index.duplicated()].unique()
        raise DuplicateLabelError(
            f"{name} has several levels for {counted(len(twice), axis)}: {listed(twice)}. Expected one each."
        )
    elsewhere = int((~values.index.isin(labels) & values.notna().to_numpy()).sum())
    found = values.reindex(labels)
    if not found.notna().any():
        raise LabelError(
            f"{name} has no level for any of the {counted(len(labels), axis)} ({listed(labels)}).\n"
            f"Expected the {axis}s' labels as its index; it has {listed(values.index)}."
        )
    return found, elsewhere


def named_levels(labels: pd.Series, scale: Scale | None) -> pd.Series:
    """Turn numbers into the labels of the scale that end in them, as 4 into CSE-4; other labels stay.

    Examples
    --------
    >>> from psychoedu.standard_setting.scales import CSE
    >>> named_levels(pd.Series([4.0, None, "CSE-5"], dtype=object), CSE).tolist()
    ['CSE-4', nan, 'CSE-5']
    """
    numbers: dict[float, list[str]] = {}
    for text in () if scale is None else scale.levels:
        ending = re.search(r"\d+$", text)
        if ending:
            numbers.setdefault(float(ending.group()), []).append(text)
    if isinstance(labels.dtype, pd.CategoricalDtype) and not pd.api.types.is_numeric_dtype(labels.cat.categories.dtype):
        return labels

    def name(label: Any) -> Any:
        if isinstance(label, list | dict | set):
            raise DataError(f"{label!r} is no level: expected text or a number, one for each.")
        if pd.isna(label):
            return np.nan
        plain = label.item() if isinstance(label, np.generic) else label
        known = isinstance(plain, int | float) or (isinstance(plain, str) and plain.strip().isdigit())
        texts = numbers.get(float(plain), []) if known and not isinstance(plain, bool) else []
        if len(texts) == 1:
            return texts[0]
        return int(plain) if isinstance(plain, float) and plain.is_integer() else plain

    return pd.Series([name(label) for label in labels], index=labels.index, dtype=object)


def judged_levels(labels: pd.Series, levels: Sequence[Hashable] | None, scale: Any, name: str) -> JudgedLevels:
    """Find the order of the levels, and which of them get a cut score.

    Parameters
    ----------
    labels : Series
        Levels of respondents or items; missing for none. Numbers stand for the levels of the scale that end in them.
    levels : sequence of labels, optional
        Levels with a cut score, lowest first. The lowest level of all opens no cut; it may be listed or not.
    scale : "CSE", "CEFR", Scale, list of all levels, or None
        None: CSE or CEFR where the labels are theirs. It orders the labels; one below it may read "below ...".
    name : str
        Of the argument, for the messages.

    Raises
    ------
    DataError
        The order of the levels is not known, or there is but one.
    LabelError
        A label is not among the levels.
    """
    known = None if scale is None else as_scale(scale, ())
    named = named_levels(labels, known)
    found = list(pd.unique(named.dropna()))
    if not found:
        raise DataError(f"No level of {name} is left: whoever has one has no ability to go with it, or a weight of 0.")
    wanted = None if levels is None else _wanted(levels, known)
    if known is None:
        texts = {str(label) for label in found if not _is_below(label)}
        known = next((one for one in KNOWN_SCALES.values() if texts and texts <= set(one.levels)), None)
    if known is not None:
        order = _on_scale(found, wanted, known, name)
    elif wanted is not None:
        order = _among(found, wanted, name)
    else:
        order = _by_nature(named, found, name)
    cuts = list(order[1:]) if wanted is None else [level for level in order if level in wanted]
    uncut = cuts[0] if cuts and cuts[0] == order[0] else None
    cuts = [level for level in cuts if level != order[0]]
    if not cuts:
        raise DataError(f"{name} knows but one level: {listed(order)}. Expected at least two, for a cut score between them.")
    places = pd.Index(order, dtype=object, tupleize_cols=False).get_indexer(pd.Index(named, dtype=object, tupleize_cols=False))
    places[named.isna().to_numpy()] = -1
    judged = JudgedLevels(tuple(order), tuple(cuts), places.astype(np.int64), known, uncut)
    if wanted is not None:
        _refuse_alike(judged, name)
    return judged


def border_levels(
    labels: pd.Series, levels: Sequence[Hashable] | None, scale: Any, name: str
) -> tuple[pd.Series, tuple[Hashable, ...]]:
    """Name the levels on whose border respondents stand, and order them.

    Parameters
    ----------
    labels, levels, scale, name
        As for :func:`judged_levels`; every level gets a cut score, and labels that are not among ``levels`` are left out.

    Returns
    -------
    Series and tuple of labels, (L,)
        The labels as the scale names them; the levels, lowest first.
    """
    known = None if scale is None else as_scale(scale, ())
    named = named_levels(labels, known)
    found = list(pd.unique(named.dropna()))
    if levels is not None:
        wanted = _wanted(levels, known)
        return named.where(named.isin(wanted)), tuple(wanted)
    if known is not None:
        return named, known.check(found)
    return named, tuple(_by_nature(named, found, name))


def _wanted(levels: Sequence[Hashable], scale: Scale | None) -> list[Hashable]:
    given = [levels] if isinstance(levels, str) else list(levels)
    named = list(named_levels(pd.Series(given, dtype=object), scale))
    if len(set(named)) < len(named):
        raise DuplicateLabelError(f"levels names a level twice: {listed(named)}. Expected each once, lowest first.")
    return named


def _is_below(label: Hashable) -> bool:
    return isinstance(label, str) and label.lower().startswith("below ")


def _on_scale(found: list[Hashable], wanted: list[Hashable] | None, scale: Scale, name: str) -> list[Hashable]:
    everything = dict.fromkeys([*found, *(wanted or [])])
    foreign = [label for label in everything if str(label) not in scale.levels]
    allowed = [label for label in foreign if _is_below(label) or (wanted is not None and label == wanted[0])]
    if len(foreign) > 1 or foreign != allowed:
        strange = [label for label in foreign if label not in allowed] or foreign
        raise LabelError(
            f"{counted(len(strange), 'level')} of {name} not on the scale {scale.name}: {listed(strange)}.\n"
            f"Its levels are {listed(scale.levels)}; one label more may stand for what lies below them, as 'below "
            f"{scale.levels[0]}', or be the first of levels=."
        )
    places = {text: place for place, text in enumerate(scale.levels)}
    rank = {label: places.get(str(label), -1) for label in everything}
    order = sorted(everything, key=lambda label: rank[label])
    lowest = order[1:2] if foreign else []
    if foreign and _is_below(foreign[0]) and lowest:
        upper = str(foreign[0])[len("below ") :]
        if rank[lowest[0]] < places.get(upper, -1):
            raise DataError(
                f"{name} has both {foreign[0]!r} and {lowest[0]!r}, which lies below it. Expected levels that do not overlap: "
                "give all of the lower ones one label."
            )
    if wanted is not None and [label for label in order if label in wanted] != wanted:
        raise DataError(f"levels is {listed(wanted)}; expected the order of the scale {scale.name}, lowest first.")
    return order


def _among(found: list[Hashable], wanted: list[Hashable], name: str) -> list[Hashable]:
    others = [label for label in found if label not in wanted]
    if len(others) > 1:
        raise LabelError(
            f"{counted(len(others), 'level')} of {name} not among levels: {listed(others)}.\n"
            f"Expected {listed(wanted)}, and at most one label for what lies below; list all levels, lowest first, with scale=."
        )
    return [*others, *wanted]


def _by_nature(named: pd.Series, found: list[Hashable], name: str) -> list[Hashable]:
    below = [label for label in found if _is_below(label)]
    rest = named[~named.isin(below)] if below else named
    order = order_levels(rest)
    if len(below) > 1 or order != order_levels(rest[::-1]):  # else the order would be that in which they happen to occur
        raise DataError(
            f"The order of the levels of {name} is not known: {listed(found)}.\n"
            "Give it with levels=[...], lowest first, or use the labels of a scale."
        )
    return [*below, *order]


def _refuse_alike(judged: JudgedLevels, name: str) -> None:
    places = [judged.first(level) for level in judged.cuts]
    for below, above in pairwise(range(len(places))):
        between = (judged.places >= places[below]) & (judged.places < places[above])
        if not between.any() and (judged.places >= places[above]).any():
            raise DataError(
                f"{name} gives nothing the level {judged.cuts[below]}, so that its cut score and that of {judged.cuts[above]} "
                "would be one and the same.\n"
                "Leave one of the two out of levels=."
            )
