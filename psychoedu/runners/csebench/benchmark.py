"""CSEBench as the runner sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from psychoedu.runners.banks import sample
from psychoedu.runners.banks.questions import Question, QuestionBank, load_questions
from psychoedu.runners.benchmarks import Benchmark, Messages, held_bank
from psychoedu.runners.csebench.prompts import CONDITIONS, KNOWLEDGE, KNOWLEDGE_PROMPT, prompt
from psychoedu.runners.rules import letters

if TYPE_CHECKING:
    import pandas as pd

MAX_TOKENS = 8
REPEATS = 3
KNOWLEDGE_MAX_TOKENS = 4096


def load_items(items: str | QuestionBank) -> QuestionBank:
    """Return an item bank: as it is, from a file, or the sample that comes with the package.

    Parameters
    ----------
    items : QuestionBank, path or "sample"

    Raises
    ------
    ItemBankError
        The file has malformed items.
    """
    if isinstance(items, QuestionBank):
        return items
    name = str(items)
    found = held_bank(name) or (sample("csebench") if name == "sample" else load_questions(name))
    assert isinstance(found, QuestionBank)
    return found


def messages(item: Question, condition: str, **_: Any) -> Messages:
    """Return what a model is sent about one item, with ``{knowledge}`` where a snippet goes that is yet to be written.

    Parameters
    ----------
    item : Question
    condition : {"zero_shot", "few_shot", "knowledge"}
    """
    return [("user", prompt(item.text, condition, KNOWLEDGE if condition == "knowledge" else None))]


def role_calls(condition: str, n_items: int, repeats: int) -> int:
    """Return how often the knowledge model is asked: once an item."""
    return n_items if condition == "knowledge" else 0


def rules_differ(frame: pd.DataFrame) -> float:
    """Return the share of replies that the rules "literal" and "token" read differently, for items of four options."""
    return letters.rules_differ(frame["raw_output"].dropna())


CSEBENCH = Benchmark(
    name="csebench",
    title="English proficiency on the China Standards of English: multiple-choice items of CSE levels 2-7",
    conditions=CONDITIONS,
    default_conditions=("zero_shot", "few_shot"),
    load_items=load_items,
    task="psychoedu.runners.tasks.csebench:csebench",
    messages=messages,
    protocol={
        "rule": "literal",
        "unparsed": "vote",
        "knowledge_prompt": KNOWLEDGE_PROMPT,
        "knowledge_max_tokens": KNOWLEDGE_MAX_TOKENS,
    },
    repeats=REPEATS,
    max_tokens=MAX_TOKENS,
    temperature=0.0,
    top_p=1.0,
    roles={"knowledge": ("knowledge",)},
    role_options={"knowledge_model": "knowledge"},
    role_calls=role_calls,
    measures={"rules_differ": rules_differ},
    analysis="psychoedu.runners.csebench.tables:tables",
)
