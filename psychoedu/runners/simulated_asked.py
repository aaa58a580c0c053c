"""What a simulated respondent is asked: the item, what can be answered, and which answer is right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from psychoedu.exceptions import DataError
from psychoedu.validation import check_choice

KINDS = {
    "question": True,
    "statement": True,
    "pair": True,
    "work": True,
    "scenario": True,
    "judge": True,
    "confidence": False,
    "knowledge": False,
}
"""Kinds of prompts, each with whether an answer can be right or wrong."""

_ORDERED = ("work", "judge")


@dataclass(frozen=True)
class Asked:
    """One thing that is asked.

    Parameters
    ----------
    kind : str
        One of :data:`KINDS`.
    item_id : str
    key : str or None
        The right option; None where options are scores, the last the best.
    options : tuple of str
    texts : tuple of str
        What the options say, for questions.
    variant : str
        The wording or order, where the item may come in several: noise of runs is drawn anew for each.
    metadata : mapping

    Raises
    ------
    DataError
        The key is no option, or there are fewer than two.
    """

    kind: str
    item_id: str
    key: str | None
    options: tuple[str, ...]
    texts: tuple[str, ...] = ()
    variant: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        check_choice(self.kind, tuple(KINDS), "kind")
        if KINDS[self.kind] and len(self.options) < 2:
            raise DataError(f"Item {self.item_id!r} has the options {self.options!r}; expected two or more.")
        if self.key is not None and self.key not in self.options:
            raise DataError(f"The key {self.key!r} of item {self.item_id!r} is none of its options {', '.join(self.options)}.")

    @property
    def label(self) -> str:
        """What the item's hashes are of: its label, for other kinds than questions with the kind before it."""
        return self.item_id if self.kind == "question" else f"{self.kind}\x1f{self.item_id}"

    @property
    def wrong_options(self) -> tuple[str, ...]:
        """The options that can be chosen by mistake: any but the key, and of levels and scores those next to it."""
        if self.key is None or self.kind not in _ORDERED:
            return tuple(option for option in self.options if option != self.key)
        place = self.options.index(self.key)
        return tuple(option for other, option in enumerate(self.options) if abs(other - place) == 1)
