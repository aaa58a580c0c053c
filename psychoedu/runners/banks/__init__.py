"""Item banks: questions, statements, scenarios, pairs and works, from files, checked row by row.

``load_questions``, ``load_statements``, ``load_scenarios``, ``load_pairs`` and ``load_works`` read a bank; :func:`sample` gives
the small ones that come with the package.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from psychoedu.runners.banks.bank import Bank
from psychoedu.runners.banks.keys import KeyTable, load_keys
from psychoedu.runners.banks.pairs import Pair, PairBank, load_pairs
from psychoedu.runners.banks.questions import Question, QuestionBank, load_questions
from psychoedu.runners.banks.scenarios import Scenario, ScenarioBank, load_scenarios
from psychoedu.runners.banks.statements import Statement, StatementBank, load_statements
from psychoedu.runners.banks.works import StudentWork, WorkBank, load_works
from psychoedu.validation import check_choice

__all__ = [
    "Bank",
    "KeyTable",
    "Pair",
    "PairBank",
    "Question",
    "QuestionBank",
    "Scenario",
    "ScenarioBank",
    "Statement",
    "StatementBank",
    "StudentWork",
    "WorkBank",
    "load_keys",
    "load_pairs",
    "load_questions",
    "load_scenarios",
    "load_statements",
    "load_works",
    "sample",
]

SAMPLES: dict[str, tuple[str, Callable[..., Any]]] = {
    "csebench": ("sample_csebench.csv", load_questions),
    "neuromyths": ("sample_neuromyths.csv", load_statements),
    "scenarios": ("sample_scenarios.jsonl", load_scenarios),
    "certification": ("sample_certification.csv", load_questions),
    "pairs": ("sample_pairs.jsonl", load_pairs),
    "works": ("sample_works.jsonl", load_works),
}
"""The file and the loader of each sample bank."""


def sample(name: str) -> Any:
    """Read a sample bank, which is of psychoedu's own writing: for trying a runner, without any claim about what it measures.

    Parameters
    ----------
    name : {"csebench", "neuromyths", "scenarios", "certification", "pairs", "works"}

    Returns
    -------
    Bank
        QuestionBank, StatementBank, ScenarioBank, QuestionBank, PairBank or WorkBank.

    Examples
    --------
    >>> bank = sample("csebench")
    >>> len(bank), bank.items[0].letters
    (24, 'ABCD')
    """
    from psychoedu.datasets import located

    check_choice(name, tuple(SAMPLES), "name")
    file, load = SAMPLES[name]
    with located(file) as path:
        return load(path)
