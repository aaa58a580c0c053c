"""A bank of made-up items with known parameters, and what simulated respondents reply to it without any runner between."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

import psychoedu as pe
from psychoedu.irt.bank import ItemBank
from psychoedu.runners.banks.questions import Question, QuestionBank
from psychoedu.runners.records import Records
from psychoedu.runners.rules.letters import parse_letter
from psychoedu.runners.rules.replies import reply_reason
from psychoedu.runners.simulated import SimulatedFailure
from psychoedu.runners.simulated_names import respondent_named

N_ITEMS = 40
CAP = 8
"""Tokens after which CSEBench's protocol cuts a reply."""


def questions(n_items: int = N_ITEMS) -> QuestionBank:
    """Return a bank of items that ask nothing; keys A, B, C, D in turn, and no capital letter in any option."""
    items = [
        Question(f"q{number:02}", f"Item {number}: choose.", tuple(f"{word} of {number}" for word in WORDS), "ABCD"[number % 4])
        for number in range(1, n_items + 1)
    ]
    return QuestionBank(tuple(items), "made")


WORDS = ("one", "two", "three", "four")


def parameters(n_items: int = N_ITEMS) -> ItemBank:
    """Return a 2PL bank of these items: difficulties from -2.4 to 2.4, discriminations 0.8, 1.1, 1.4, 1.8 in turn."""
    frame = pd.DataFrame(
        {"discrimination": np.resize([0.8, 1.1, 1.4, 1.8], n_items), "difficulty": np.linspace(-2.4, 2.4, n_items)},
        index=questions(n_items).ids,
    )
    return ItemBank(frame)


def abilities(n: int) -> list[float]:
    """Return the middles of n slices of a standard normal population, to two places."""
    return [round(float(value), 2) for value in ndtri((np.arange(n) + 0.5) / n)]


def names_of(thetas: Iterable[float], rates: str = "", first_seed: int = 0) -> list[str]:
    """Return a name for each ability, with seeds that differ."""
    return [f"theta={theta},seed={seed}{rates}" for seed, theta in enumerate(thetas, first_seed)]


def learners_and_q(n: int = 1500, n_items: int = 15) -> tuple[pe.ResponseMatrix, pd.DataFrame]:
    """Return learners who master each of three attributes or not, and the Q-matrix: every third item requires two of them."""
    rng = np.random.default_rng(20260731)
    q = np.zeros((n_items, 3), dtype=int)
    for item in range(n_items):
        q[item, item % 3] = 1
        q[item, (item + 1) % 3] = int(item % 5 == 4)
    table = pd.DataFrame(q, index=questions(n_items).ids, columns=["first", "second", "third"])
    mastered = rng.random((n, 3)) < 0.5
    able = (mastered[:, None, :] >= q[None]).all(axis=2)
    right = rng.random((n, n_items)) < np.where(able, 0.82, 0.22)
    return pe.ResponseMatrix.from_wide(pd.DataFrame(right.astype(int), columns=table.index)), table


def profiles_drawn(diagnosis: Any, n: int, seed: int = 1) -> list[str]:
    """Draw profiles from the distribution that the diagnosis found among its learners."""
    drawn = np.random.default_rng(seed).choice(len(diagnosis.prior), size=n, p=diagnosis.prior)
    return [diagnosis.profile_labels[place] for place in drawn]


def written(folder: Path, bank: Any, n_items: int = N_ITEMS) -> dict[str, str]:
    """Save items and parameters as a user would, and return the arguments of the simulated models that name the files."""
    items = folder / "items.csv"
    questions(n_items).frame().to_csv(items, index=False)
    return {"bank": str(bank.save(folder / "bank.json")), "items": str(items)}


def cut(text: str) -> str:
    """Return the first tokens of a reply, counted as words and marks."""
    marks = list(re.finditer(r"\w+|[^\w\s]", text))
    return text if len(marks) <= CAP else text[: marks[CAP - 1].end()]


def replies(name: str, bank: Any, items: QuestionBank, runs: int = 1) -> pd.DataFrame:
    """Return what a respondent replies to every item in every run, asked directly: a row a reply, as in the records."""
    person = respondent_named(name, bank)
    rows = []
    for item in items.items:
        for epoch in range(1, runs + 1):
            row: dict[str, Any] = {"model": f"simulated/{name}", "item_id": item.item_id, "epoch": epoch, "reason": "api_error"}
            row["parsed"] = None
            try:
                said = cut(person.reply(item.item_id, item.key, epoch=epoch, options=item.options))
            except SimulatedFailure:
                rows.append(row)
                continue
            letter = parse_letter(said)
            why = reply_reason(said, parsed=letter)
            row |= {"raw_output": said, "parsed": letter, "score": float(letter == item.key)}
            rows.append(row | {"reason": "answered" if why is None else why.label})
    columns = ["model", "item_id", "epoch", "raw_output", "parsed", "reason", "score"]
    return pd.DataFrame(rows, columns=columns).astype({"raw_output": object, "parsed": object})


def asked_directly(names: Sequence[str], bank: Any, items: QuestionBank, runs: int = 1) -> Records:
    """Return the records of respondents who were asked without a runner."""
    return Records(pd.concat([replies(name, bank, items, runs) for name in names], ignore_index=True))


def right_by_draws(names: Sequence[str], bank: Any, items: QuestionBank) -> pd.DataFrame:
    """Return 1 and 0 of respondents without rates, models x items."""
    table = {}
    for name in names:
        person = respondent_named(name, bank)
        table[f"simulated/{name}"] = [float(person.reply(one.item_id, one.key) == one.key) for one in items.items]
    return pd.DataFrame.from_dict(table, orient="index", columns=items.ids)


def pivots(scores: Any, thetas: Sequence[float]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return (estimate - theta) / SE of every respondent."""
    return np.asarray((scores.theta.to_numpy() - np.asarray(thetas)) / scores.theta_se.to_numpy(), dtype=np.float64)
