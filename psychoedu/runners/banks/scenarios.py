"""Banks of classroom scenarios that a reply diagnoses and a judge scores, such as AlignED's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from psychoedu.runners.banks.bank import Bank
from psychoedu.runners.banks.fields import Faults, item_ids, match_columns, warn_of_repeats
from psychoedu.runners.banks.tables import read_table

_COLUMNS: dict[str, tuple[str, ...]] = {
    "item_id": ("id", "item", "scenario_id"),
    "text": ("scenario", "scenario_text", "stem", "prompt"),
    "mechanism": ("key_mechanism", "principle"),
    "implementation_error": ("error", "actual_issue"),
}


@dataclass(frozen=True)
class Scenario:
    """A classroom situation in which a strategy did not work as expected.

    Parameters
    ----------
    item_id : str
    text : str
        What the teacher tells; all that the model sees.
    mechanism : str
        The principle that a full diagnosis names; for the judge.
    implementation_error : str
        What went wrong; for the judge.
    metadata : mapping
    """

    item_id: str
    text: str
    mechanism: str
    implementation_error: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def content(self) -> dict[str, Any]:
        """Return label, text, mechanism and implementation error."""
        return {name: getattr(self, name) for name in ("item_id", "text", "mechanism", "implementation_error")}


@dataclass(frozen=True, repr=False)
class ScenarioBank(Bank[Scenario]):
    """Scenarios; made by :func:`load_scenarios`. See :class:`~psychoedu.runners.banks.bank.Bank`."""

    kind: ClassVar[str] = "scenarios"

    items: tuple[Scenario, ...]
    source: str = "items"


def load_scenarios(path: Any, columns: Mapping[str, str] | None = None) -> ScenarioBank:
    """Read scenarios from CSV, XLSX, JSONL or Parquet.

    Parameters
    ----------
    path : path or DataFrame
        A row a scenario. Columns, in any case: ``item_id`` (without it the items become q1, q2, ...), ``text`` (scenario),
        ``mechanism`` (key mechanism), and perhaps ``implementation_error``. Others are metadata.
    columns : mapping of str to str, optional
        {theirs: ours}.

    Returns
    -------
    ScenarioBank

    Raises
    ------
    ItemBankError
        A column is missing, a text or a mechanism blank, or a label stands twice.

    Warns
    -----
    PsychoeduWarning
        Two labels have the same text.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"scenario": ["I gave hints at once ..."], "mechanism": ["productive struggle"]})
    >>> load_scenarios(table).items[0].item_id
    'q1'
    """
    table = read_table(path)
    found = match_columns(table, _COLUMNS, ("text", "mechanism"), columns)
    faults = Faults(table.source, len(table.rows))
    items = [
        Scenario(
            label,
            found.required(row, "text", faults),
            found.required(row, "mechanism", faults),
            found.text(row, "implementation_error", faults),
            found.metadata(row, _COLUMNS),
        )
        for row, label in zip(table.rows, item_ids(found, "item_id", faults), strict=True)
    ]
    faults.check()
    bank = ScenarioBank(tuple(items), table.source)
    warn_of_repeats(table.source, ((item.item_id, item.text) for item in items))
    return bank
