"""From the records of a run straight on: ability, CSE level and mastery of the models just run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from psychoedu.cdm.compare import score as diagnosis_score
from psychoedu.cdm.mastery_table import MasteryTable, mastery_table
from psychoedu.cdm.results import Diagnosis
from psychoedu.exceptions import DataError, LabelError
from psychoedu.irt.score import Scores, score
from psychoedu.responses import ResponseMatrix
from psychoedu.standard_setting.level_table import LevelTable, level_table
from psychoedu.validation import counted, listed

if TYPE_CHECKING:
    from psychoedu.standard_setting.cut_scores import CutScores


@dataclass(frozen=True, eq=False)
class Tables:
    """What a bank, cut scores and a diagnosis say of the models of a run; made by :func:`tables`.

    Attributes
    ----------
    scores : Scores or None
        Ability of each model under each condition.
    levels : LevelTable or None
        Table 1: models x conditions, the CSE level in each cell.
    mastery : MasteryTable or None
        Table 3: ability and mastery of the attributes.
    notes : tuple of str
        Items that were left out, as not in the bank.
    """

    scores: Scores | None
    levels: LevelTable | None
    mastery: MasteryTable | None
    notes: tuple[str, ...] = ()

    def summary(self) -> str:
        """Return the tables as fixed-width text."""
        parts = list(self.notes)
        if self.levels is not None:
            parts.append(f"Table 1. Level by model and condition\n\n{self.levels.summary()}")
        if self.scores is not None:
            shown = self.scores.to_frame().round(4).to_string()
            parts.append(f"Ability on the bank's scale\n\n{shown}")
        if self.mastery is not None:
            parts.append(f"Table 3. Ability and probability of mastery\n\n{self.mastery.summary()}")
        return "\n\n".join(parts)


def tables(
    matrix: ResponseMatrix,
    bank: Any = None,
    cuts: CutScores | None = None,
    diagnosis: Diagnosis | None = None,
    method: str = "eap",
) -> Tables:
    """Score, place and diagnose the models of a run.

    Parameters
    ----------
    matrix : ResponseMatrix
        Of the run, with ``model`` and ``condition`` among the respondents' columns.
    bank : Calibration or ItemBank, optional
        Calibrated, with the same item labels.
    cuts : CutScores, optional
        On the bank's scale; needs ``bank``.
    diagnosis : Diagnosis, optional
        Fitted to people; its parameters stay as they are.
    method : {"eap", "map", "ml", "wle"}
        Of the ability.

    Returns
    -------
    Tables

    Raises
    ------
    DataError
        Cut scores without a bank.
    LabelError
        The bank or the diagnosis shares no item with the run.
    """
    if cuts is not None and bank is None:
        raise DataError("Cut scores place models on a bank's scale; give the bank as well (--bank FILE).")
    notes: list[str] = []
    scores = levels = mastery = None
    columns: dict[str, Any] = {"model": "model", "condition": "condition"}
    if bank is not None:
        own = _common(matrix, getattr(bank, "bank", bank).labels, "bank", notes)
        scores = score(bank, own, method)
        if cuts is not None:
            levels = level_table(bank, own, cuts, method=method, **columns)
    if diagnosis is not None:
        some = _answered(_common(matrix, diagnosis.item_labels, "diagnosis", notes), notes)
        if some is not None:
            learners = diagnosis if diagnosis.source is not None else None
            mastery = mastery_table(diagnosis_score(diagnosis, some), respondents=some.respondents, learners=learners, **columns)
    return Tables(scores, levels, mastery, tuple(notes))


def _answered(matrix: ResponseMatrix, notes: list[str]) -> ResponseMatrix | None:
    """Return the respondents with an answer that counts, None if there is nobody: others would show the learners' shares."""
    has = matrix.to_frame().notna().any(axis=1).to_numpy()
    if has.all():
        return matrix
    notes.append(f"No mastery without a single answer: {listed(matrix.respondent_labels[~has])}.")
    return matrix.select(respondents=has) if has.any() else None


def _common(matrix: ResponseMatrix, labels: Iterable[Any], what: str, notes: list[str]) -> ResponseMatrix:
    """Return the items that the other side knows, by its own labels, which may be numbers where those of a run are text."""
    own = {str(label): label for label in labels}
    shared = [label for label in matrix.item_labels if str(label) in own]
    left_out = [label for label in matrix.item_labels if str(label) not in own]
    if not shared:
        raise LabelError(
            f"The {what} knows none of the {counted(matrix.n_items, 'item')} of the run ({listed(matrix.item_labels)}); "
            f"its items are {listed(list(own.values()))}.\nExpected the same item labels on both sides."
        )
    if left_out:
        verb = "is" if len(left_out) == 1 else "are"
        notes.append(f"{counted(len(left_out), 'item')} of the run {verb} not in the {what}: {listed(left_out)}.")
    absent = len(own) - len(shared)
    if absent:
        notes.append(f"{counted(absent, 'item')} of the {what} {'was' if absent == 1 else 'were'} not administered.")
    frame = matrix.to_frame()[shared].rename(columns=dict(zip(shared, (own[str(label)] for label in shared), strict=True)))
    table = pd.DataFrame(matrix.respondents)
    return ResponseMatrix.from_wide(frame, respondent_table=table)
