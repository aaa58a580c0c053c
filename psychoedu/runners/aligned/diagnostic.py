"""AlignED's diagnostic reasoning: why a teaching strategy did not work in a classroom, scored 0 to 3 by a judge."""

from __future__ import annotations

from typing import Any

from psychoedu.runners.aligned.items import items_of
from psychoedu.runners.aligned.prompts import DIAGNOSTIC_SYSTEM
from psychoedu.runners.banks.scenarios import Scenario, ScenarioBank, load_scenarios
from psychoedu.runners.benchmarks import Benchmark, Messages

NAME = "aligned-diagnostic"
JUDGE, FALLBACK = "judge", "judge_fallback"
FURTHER_JUDGES = ("judge_2", "judge_3", "judge_4", "judge_5")
PANEL_SCORES = ("first", "mean", "median")
"""The score of a reply that several judges have read: that of the first, or the mean or median of all."""

CONDITIONS = {"standard": "the scenario after a system prompt that hints at no direction"}
DICHOTOMY = 2.0 / 3.0
"""Share of the highest score from which a reply is right where only right and wrong are told apart: a partial diagnosis."""


def load_items(items: Any) -> ScenarioBank:
    """Return a bank of scenarios: as it is, from a file, or the sample that comes with the package.

    Raises
    ------
    ItemBankError
        The file has malformed items.
    """
    bank: ScenarioBank = items_of(items, ScenarioBank, "scenarios", load_scenarios)
    return bank


def messages(item: Scenario, condition: str = "standard", **_: Any) -> Messages:
    """Return what a model is sent about a scenario."""
    return [("system", DIAGNOSTIC_SYSTEM), ("user", item.text)]


def role_calls(condition: str, n_items: int, repeats: int) -> int:
    """Return how often a judge is asked: once a reply, unless what it says cannot be read."""
    return n_items * repeats


DIAGNOSTIC = Benchmark(
    name=NAME,
    title="AlignED diagnostic reasoning: why a teaching strategy did not work, judged from 0 to 3",
    conditions=CONDITIONS,
    default_conditions=("standard",),
    load_items=load_items,
    task="psychoedu.runners.tasks.aligned_diagnostic:aligned_diagnostic",
    messages=messages,
    protocol={
        "temperature": 0.0,
        "judge_retries": 1,
        "judge_prompt": None,
        "judge_temperature": 0.0,
        "judge_max_tokens": None,
        "panel_score": "first",
    },
    temperature=None,
    roles={"standard": (JUDGE,)},
    role_options={"judge": JUDGE, "fallback_judge": FALLBACK},
    role_calls=role_calls,
    roles_are_shared=False,
    matrix_options={"threshold": DICHOTOMY},
    optional_roles=(FALLBACK, *FURTHER_JUDGES),
    report="psychoedu.runners.aligned.diagnostic_tables:analyse",
)
