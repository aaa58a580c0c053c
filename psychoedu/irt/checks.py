"""What a calibration refuses: too little data, constant items, designs without a common scale."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from psychoedu._typing import BoolArray, CodeArray, FloatArray, IntArray
from psychoedu.exceptions import ConstantItemError, DisconnectedDesignError, IdentificationError, SampleSizeError
from psychoedu.irt.blocks import row_codes
from psychoedu.validation import SHOWN, counted, listed

FEWEST_RESPONDENTS = 10
FEW_RESPONDENTS = 200
FEWEST_OF_A_COPY = 20
"""Two different items agree on so many right and so many wrong answers by next to no chance."""
FEW_RESPONSES = 30
"""An item with fewer responses than this is flagged."""


def response_counts(scored: CodeArray) -> tuple[FloatArray, FloatArray]:
    """Count the responses and the right answers of each item, about a megabyte of rows at a time."""
    n_rows, n_items = scored.shape
    answered, right = np.zeros(n_items), np.zeros(n_items)
    step = max(1, 1_000_000 // max(n_items, 1))
    for start in range(0, n_rows, step):
        part = scored[start : start + step]
        answered += np.count_nonzero(part >= 0, axis=0)
        right += np.count_nonzero(part == 1, axis=0)
    return answered, right


def refuse_constant(answered: FloatArray, right: FloatArray, constant: BoolArray, labels: pd.Index, among: str) -> None:
    """Raise for constant items, naming them with the value they have."""
    where = np.flatnonzero(constant)
    texts = []
    for j in where[:SHOWN]:
        what = "no response" if answered[j] == 0 else f"all {1 if right[j] else 0}, n = {answered[j]:,.0f}"
        texts.append(f"{labels[j]}: {what}")
    more = f" and {where.size - SHOWN:,} more" if where.size > SHOWN else ""
    verb = "has" if where.size == 1 else "have"
    raise ConstantItemError(
        f"{where.size:,} of {counted(labels.size, 'item')} {verb} one response category{among} ({'; '.join(texts)}{more}),\n"
        "so parameters do not exist for them. Expected both 0 and 1 among the observed responses of every item.\n"
        'Drop them, or pass on_constant="drop".'
    )


def refuse_copies(scored: CodeArray, answered: FloatArray, right: FloatArray, labels: pd.Index) -> None:
    """Raise where items have the same response of every respondent, as copies of one item do.

    Only items with at least ``FEWEST_OF_A_COPY`` right and wrong answers are looked at: below, two may be alike by chance.
    """
    common = np.minimum(right, answered - right) >= FEWEST_OF_A_COPY
    seen: dict[tuple[float, float], list[int]] = {}
    pairs = []
    for j in np.flatnonzero(common).tolist():
        earlier = seen.setdefault((float(answered[j]), float(right[j])), [])
        original = next((k for k in earlier if np.array_equal(scored[:, k], scored[:, j])), None)
        if original is None:
            earlier.append(j)
        else:
            pairs.append(f"{labels[original]!r} and {labels[j]!r}")
    if pairs:
        more = f" and {len(pairs) - SHOWN:,} more" if len(pairs) > SHOWN else ""
        raise IdentificationError(
            f"{counted(len(pairs), 'pair')} of items with the same response of every respondent: "
            f"{', '.join(pairs[:SHOWN])}{more}.\n"
            "Expected different items: copies depend on each other perfectly, which inflates their slopes. Drop the copies.\n"
            "To resample tasks, keep the bank fixed and rescore with psychoedu.irt.task_sampling_error."
        )


def refuse_small_sample(n_respondents: int, n_parameters: int, has_priors: bool, has_free_items: bool) -> str:
    """Raise below 10 respondents; return the text of a warning below 200, else ""."""
    if has_priors is False and has_free_items and n_respondents < FEWEST_RESPONDENTS:
        raise SampleSizeError(
            f"{counted(n_respondents, 'respondent')} with responses for {counted(n_parameters, 'parameter')}. Expected at least "
            f"{FEWEST_RESPONDENTS} respondents.\n"
            "Add respondents, pass priors=psychoedu.Priors() to let priors carry what the data do not, "
            "or score on an existing bank."
        )
    if n_respondents >= FEW_RESPONDENTS or not has_free_items:
        return ""
    ratio = n_respondents / max(n_parameters, 1)
    advice = "The priors carry much of these estimates" if has_priors else 'Consider model="1pl" or priors=psychoedu.Priors()'
    return (
        f"{counted(n_respondents, 'respondent')} for {counted(n_parameters, 'parameter')} ({ratio:.2g} respondents a parameter; "
        f"fewer than {FEW_RESPONDENTS} respondents). {advice}; read the standard errors."
    )


def refuse_unidentified(model: str, n_items: int, n_estimated: int, has_priors: bool) -> None:
    """Raise where so few items cannot hold the parameters apart."""
    if has_priors or n_estimated == 0 or n_estimated < n_items:
        return
    needed = {"2pl": 3, "1pl": 2, "rasch": 2}[model]
    if n_items < needed:
        fewer = 'model="1pl" or ' if n_items == 2 else ""
        mend = f"Add items, or pass {fewer}priors=psychoedu.Priors()."
        raise IdentificationError(
            f"The {model} model on {counted(n_items, 'item')} has more parameters than the responses can tell apart.\n"
            f"Expected at least {needed} items. {mend}"
        )


def refuse_disconnected(scored: CodeArray, labels: pd.Index, respondents: pd.Index, anchored: BoolArray) -> None:
    """Raise where items fall into sets that no respondent connects and no fixed item holds on one scale."""
    components = design_components(scored, anchored)
    n_components = int(components.max(initial=-1)) + 1
    if n_components < 2:
        return
    texts = []
    for k in range(min(n_components, SHOWN)):
        members = labels[components == k]
        rows = np.flatnonzero((scored[:, components == k] >= 0).any(axis=1))
        texts.append(f"[{listed(members)}] answered by {counted(rows.size, 'respondent')} from {respondents[rows[0]]!r}")
    more = f"; and {n_components - SHOWN:,} more" if n_components > SHOWN else ""
    raise DisconnectedDesignError(
        f"The items fall into {n_components} sets that no respondent answered across: {'; '.join(texts)}{more}.\n"
        "Expected common items or respondents between them, else they have no common scale. Calibrate each set apart, fix items\n"
        "of each (fixed_items=), or, if the samples are equal by design, pass assume_equal_populations=True."
    )


def design_components(scored: CodeArray, anchored: BoolArray) -> IntArray:
    """Return the number of each item's connected component; items with fixed parameters are connected by them.

    Items without any response do not occur here (they are constant).
    """
    n_rows, n_items = scored.shape
    links: set[tuple[int, int]] = set()
    step = max(1, 4_000_000 // max(n_items, 1))
    for start in range(0, n_rows, step):
        seen = scored[start : start + step] >= 0
        _, first = np.unique(row_codes(np.packbits(seen, axis=1)), return_index=True)
        for row in first:
            members = np.flatnonzero(seen[row])
            links.update((int(members[0]), int(other)) for other in members[1:])
    fixed = np.flatnonzero(anchored)
    links.update((int(fixed[0]), int(other)) for other in fixed[1:])
    if not links:
        return np.arange(n_items)
    ends = np.array(sorted(links))
    graph = csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n_items, n_items))
    _, component = connected_components(graph, directed=False)
    return component.astype(np.int64)
