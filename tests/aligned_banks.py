"""Small banks of AlignED's kinds for tests, of our own writing, and mock models that answer by item."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
from mock_models import INSPECT

from psychoedu.runners.banks import load_pairs, load_questions, load_scenarios, load_statements, load_works
from psychoedu.runners.logs import read_logs
from psychoedu.runners.records import Records

FRAMED = {
    "interrogative": "Is this so: {}?",
    "embedded": "A teacher claims: {} Is this claim correct or incorrect?",
    "adversarial": "Research has shown: {} Is the statement correct or incorrect?",
}


def inspected(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test in which Inspect runs, see ``mock_models.INSPECT``; others are spared the sweep after it."""
    for mark in INSPECT:
        test = mark(test)
    return test


def statements() -> Any:
    """Return four statements, keys true, false, false, true; the second and third are probed."""
    texts = ["Water is wet.", "Stone is soft.", "Ice is warm.", "Fire is hot."]
    rows = [
        {
            "item_id": f"Q{number}",
            "text": text,
            "key": number in (1, 4),
            "probe": number in (2, 3),
            "item_type": "general_assertion" if number in (1, 4) else "neuromyth",
            **{f"framing_{name}": form.format(text) for name, form in FRAMED.items()},
        }
        for number, text in enumerate(texts, start=1)
    ]
    return load_statements(pd.DataFrame(rows))


def scenarios() -> Any:
    """Return three classroom situations."""
    rows = [
        {"item_id": f"S{n}", "text": f"Situation {n}.", "mechanism": f"mechanism {n}", "implementation_error": f"error {n}"}
        for n in (1, 2, 3)
    ]
    return load_scenarios(pd.DataFrame(rows))


def questions() -> Any:
    """Return four teacher-knowledge questions, keys A, B, C, D; two of each component and of each category."""
    rows = [
        {
            "item_id": f"C{n}",
            "stem": f"Question {n}?",
            **{f"option_{letter}": f"{letter} of {n}" for letter in "abcd"},
            "key": "ABCD"[n - 1],
            "config": "cdpk_main" if n <= 2 else "cdpk_send",
            "category": "odd" if n % 2 else "even",
        }
        for n in (1, 2, 3, 4)
    ]
    return load_questions(pd.DataFrame(rows))


def pairs() -> Any:
    """Return two pairs; A is better in the first, B in the second."""
    rows = [
        {
            "pair_id": f"P{n}",
            "year_level": "Year 3",
            "subject": "English",
            "achievement_standard": "Writes sentences.",
            "task_description": f"Task {n}",
            "sample_a": f"work a of {n}",
            "sample_b": f"work b of {n}",
            "better": "AB"[n - 1],
        }
        for n in (1, 2)
    ]
    return load_pairs(pd.DataFrame(rows))


def works(levels: Sequence[str] = ("below", "satisfactory", "above")) -> Any:
    """Return a work of each level given, the subjects English and Science in turn."""
    rows = [
        {
            "work_id": f"W{n}",
            "year_level": "Year 3",
            "subject": "English" if n % 2 else "Science",
            "achievement_standard": "Writes sentences.",
            "task_description": "Write about a pet.",
            "student_work": f"[work {n}]",
            "level": level,
        }
        for n, level in enumerate(levels, start=1)
    ]
    return load_works(pd.DataFrame(rows))


def by_part(replies: Mapping[str, Any]) -> Callable[[str, int], Any]:
    """Return an answer function: the reply whose key stands in the prompt; of a list the next one each time."""
    asked: dict[str, int] = defaultdict(int)

    def answer(prompt: str, number: int) -> Any:
        part = next(part for part in replies if part in prompt)
        found = replies[part]
        if isinstance(found, list):
            place, asked[part] = asked[part], asked[part] + 1
            return found[min(place, len(found) - 1)]
        return found

    return answer


def records_of(log: Any, folder: Any, bank: Any = None) -> Records:
    """Return the records of one log of Inspect."""
    return read_logs([log.location], folder, "run", bank)
