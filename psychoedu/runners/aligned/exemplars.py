"""Exemplars before an item: their number, type and order as fields of the condition, and their share of the variance of scores.

AlignED asks its items without exemplars. How far scores depend on them is what the CSEBench article leaves to future work; the
form here, each exemplar as the item itself is asked, with its letter, is ours.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from psychoedu.exceptions import ItemBankError, RecordsError, RunnerError
from psychoedu.runners.banks.questions import Question, QuestionBank
from psychoedu.runners.benchmarks import Messages
from psychoedu.runners.measures import condition_variance
from psychoedu.runners.records import Records
from psychoedu.validation import listed

ZERO_SHOT = "zero_shot"
TYPES = ("same", "other", "any")
"""Exemplars of the item's own category, of other categories, or of any."""

ORDERS = ("file", "reverse", "shuffled")
"""As in the file of exemplars, backwards, or in an order that is the item's own, the same in every run."""

FIELDS = ("exemplar_number", "exemplar_type", "exemplar_order")
_NAME = re.compile(rf"exemplars_([1-9]\d?)_({'|'.join(TYPES)})_({'|'.join(ORDERS)})")


@dataclass(frozen=True)
class Exemplars:
    """Number, type and order of exemplars; 0, "none" and "none" where there are none."""

    number: int = 0
    type: str = "none"
    order: str = "none"

    def fields(self) -> dict[str, int | str]:
        """Return them by the names of their columns."""
        return dict(zip(FIELDS, (self.number, self.type, self.order), strict=True))


def exemplars_of(condition: str) -> Exemplars:
    """Return what a condition says of exemplars.

    Parameters
    ----------
    condition : str
        "zero_shot", or "exemplars_<number>_<type>_<order>", as in "exemplars_3_same_file".

    Raises
    ------
    RunnerError
        It is neither.

    Examples
    --------
    >>> exemplars_of("exemplars_3_same_file")
    Exemplars(number=3, type='same', order='file')
    """
    found = _read(condition)
    if found is None:
        raise RunnerError(
            f"There is no condition {condition!r}. Expected {ZERO_SHOT}, or exemplars_NUMBER_TYPE_ORDER with a type of "
            f"{listed(TYPES)} and an order of {listed(ORDERS)}."
        )
    return found


def _read(condition: object) -> Exemplars | None:
    if condition == ZERO_SHOT:
        return Exemplars()
    found = _NAME.fullmatch(str(condition))
    return None if found is None else Exemplars(int(found[1]), found[2], found[3])


class ExemplarConditions(dict[str, str]):
    """Conditions of which those with exemplars are known by their names."""

    def __contains__(self, condition: object) -> bool:
        """Tell whether a condition can be run."""
        return super().__contains__(condition) or _read(condition) is not None

    def __missing__(self, condition: str) -> str:
        """Return what a condition with exemplars is."""
        how = exemplars_of(condition)
        return f"{how.number} exemplars before the item, type {how.type}, order {how.order}"


def chosen_exemplars(item: Question, how: Exemplars, bank: QuestionBank, category: str = "category") -> list[Question]:
    """Return the exemplars that stand before an item, never the item itself.

    Parameters
    ----------
    item : Question
    how : Exemplars
    bank : QuestionBank
        The exemplars, in the order of their file; the first that fit are taken.
    category : str
        Column of both banks that tells types apart.

    Raises
    ------
    ItemBankError
        Too few fit.
    """
    own = item.metadata.get(category)
    wanted = {"same": (True,), "other": (False,), "any": (True, False)}[how.type]
    fitting = [one for one in bank.items if one.stem != item.stem and (one.metadata.get(category) == own) in wanted]
    found = fitting[: how.number]
    if len(found) < how.number:
        raise ItemBankError(
            f"{bank.source} has {len(found)} exemplars of type {how.type!r} for {item.item_id}; expected {how.number}.\n"
            f"The type is told by the column {category!r}, which is {own!r} there."
        )
    if how.order == "shuffled":
        return sorted(found, key=lambda one: hashlib.sha256(f"{item.item_id}\n{one.item_id}".encode()).hexdigest())
    return found[::-1] if how.order == "reverse" else found


def exemplar_messages(
    item: Question, condition: str, bank: QuestionBank | None, prompt_of: Callable[[Question], str]
) -> Messages:
    """Return the user message for an item: exemplars with their letters, then the item, an empty line between them.

    Parameters
    ----------
    item : Question
    condition : str
    bank : QuestionBank, optional
        The exemplars.
    prompt_of : callable
        The prompt of one item, which ends where its letter goes.

    Raises
    ------
    RunnerError
        The condition wants exemplars and there are none.
    """
    how = exemplars_of(condition)
    if how.number == 0:
        return [("user", prompt_of(item))]
    if bank is None:
        raise RunnerError(f"The condition {condition} wants exemplars. Name a file of items with exemplars=...")
    before = [f"{prompt_of(one)} {one.key}" for one in chosen_exemplars(item, how, bank)]
    return [("user", "\n\n".join([*before, prompt_of(item)]))]


def exemplar_variance(records: Records, interactions: bool = False) -> pd.DataFrame:
    """Split the variance of scores into shares of the model and of number, type and order of exemplars.

    Parameters
    ----------
    records : Records
        Of a run under several conditions.
    interactions : bool
        Whether two-way interactions are terms too.

    Returns
    -------
    DataFrame by term
        See :func:`psychoedu.runners.measures.condition_variance`, of the mean scores of model and condition. Fields that do not
        vary are no terms.

    Raises
    ------
    RecordsError
        The records do not tell exemplars, or nothing varies.
    """
    frame = records.frame
    absent = [name for name in FIELDS if name not in frame]
    if absent:
        raise RecordsError(f"The records have no columns {listed(absent)}, which a run with exemplars writes.")
    share = (frame["score"] / frame["max_score"]).astype(np.float64)
    cells = frame.assign(score=share).groupby(["model", *FIELDS], sort=False)["score"].mean().reset_index()
    varied = [name for name in FIELDS if cells[name].nunique() > 1]
    if not varied:
        raise RecordsError(f"None of {listed(FIELDS)} varies. Expected a run under several of these conditions.")
    return condition_variance(cells, varied, model="model" if cells["model"].nunique() > 1 else None, interactions=interactions)
