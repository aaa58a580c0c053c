"""Models of Inspect's mock provider for tests: what they answer is a function of the prompt; nothing is fetched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

INSPECT = [
    pytest.mark.usefixtures("swept"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
"""Marks of a module whose tests let Inspect run: ``pytestmark = INSPECT``."""


def mock_model(
    answer: Callable[[str, int], Any], name: str = "mockllm/a", version: str = "mock-2024-01-01", seen: list[str] | None = None
) -> Any:
    """Return a model that answers ``answer(prompt, number of the call)``: a text, (text, stop reason), or an error to raise."""
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    count = 0

    def reply(messages: Any, tools: Any, choice: Any, config: Any) -> Any:
        nonlocal count
        count += 1
        prompt = messages[-1].text
        if seen is not None:
            seen.append(prompt)
        said = answer(prompt, count)
        if isinstance(said, BaseException):
            raise said
        text, stop = said if isinstance(said, tuple) else (said, "stop")
        output = ModelOutput.from_content(version, text, stop_reason=stop)
        output.usage = ModelUsage(input_tokens=20, output_tokens=1, total_tokens=21, reasoning_tokens=0)
        return output

    return get_model(name, custom_outputs=reply, memoize=False)


def item_of(prompt: str) -> str:
    """Return the stem of the item that a prompt asks about."""
    return prompt.rpartition("Input: ")[2].partition("\n")[0]


def small_bank(n_items: int = 4) -> Any:
    """Return a bank of plain items, keys A, B, C, D in turn."""
    from psychoedu.runners.banks.questions import Question, QuestionBank

    options = ("one", "two", "three", "four")
    items = tuple(
        Question(f"q{number}", f"The stem of item {number} ____.", options, "ABCD"[(number - 1) % 4], {"level": 2 + number})
        for number in range(1, n_items + 1)
    )
    return QuestionBank(items, "small")
