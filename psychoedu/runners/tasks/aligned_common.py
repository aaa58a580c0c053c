"""What the Inspect tasks of AlignED share: samples from messages, and a score with the columns of a record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageSystem, ChatMessageUser
from inspect_ai.scorer import CORRECT, INCORRECT, Score
from inspect_ai.solver import TaskState

from psychoedu.response_codes import ANSWERED, Reason
from psychoedu.runners.benchmarks import Messages
from psychoedu.runners.prompt_hash import prompt_hash
from psychoedu.runners.rules.replies import reply_reason
from psychoedu.runners.tasks.mcq import EXACT, SUMMARY_LENGTH, measured

SPARE = 24
"""Of the length that a summary of a log keeps whole, what quotes and brackets take."""


def samples_from(
    items: Iterable[Any],
    source: str,
    messages_of: Callable[[Any], Messages],
    key_of: Callable[[Any], str] | None,
    further: Callable[[Any], Mapping[str, Any]] = lambda item: {},
    limit: int | None = None,
) -> MemoryDataset:
    """Return items as samples: the messages up to the model's first answer, the key as target, the item's columns as metadata.

    Parameters
    ----------
    items : iterable
    source : str
        Name of the bank.
    messages_of : callable
        The whole conversation about an item; what follows an assistant's message is left to the task.
    key_of : callable, optional
        None where there is no right answer.
    further : callable
        Further metadata of an item.
    limit : int, optional
        Only the first items.
    """
    samples = []
    for item in list(items)[:limit]:
        sent = messages_of(item)
        known = {name: value for name, value in item.metadata.items() if isinstance(value, str | int | float | bool)}
        key = "" if key_of is None else key_of(item)
        known |= {**({"key": key} if key else {}), "prompt_hash": prompt_hash(sent), **further(item)}
        first = [chat_message(role, text) for role, text in _before_answer(sent)]
        samples.append(Sample(input=first, target=key, id=item.item_id, metadata=known))
    return MemoryDataset(samples, name=source, location=source)


def _before_answer(sent: Messages) -> Messages:
    roles = [role for role, _ in sent]
    return sent[: roles.index("assistant")] if "assistant" in roles else sent


def chat_message(role: str, text: str) -> ChatMessage:
    """Return a message of Inspect."""
    if role == "system":
        return ChatMessageSystem(content=text)
    return ChatMessageUser(content=text) if role == "user" else ChatMessageAssistant(content=text)


def score_of(state: TaskState, right: bool, parsed: str | None, further: Mapping[str, Any] | None = None) -> Score:
    """Return the score of a reply with one right answer; a reply that cannot be read is wrong, and the score says why.

    Parameters
    ----------
    state : TaskState
    right : bool
    parsed : str or None
        The answer as it was read.
    further : mapping, optional
        Further columns of the record.
    """
    reason = reply_reason(state.output.completion, _stop_reason(state), parsed)
    details = details_of(state, reason) | dict(further or {})
    return Score(value=CORRECT if right else INCORRECT, answer=parsed, explanation=state.output.completion, metadata=details)


def details_of(state: TaskState, reason: Reason | None, is_explanation: bool = True) -> dict[str, Any]:
    """Return the columns of a record that a score carries: tokens, seconds, version, reason, hash, and the reply where it fits.

    Parameters
    ----------
    state : TaskState
        The reason to stop, and the length of a reply that is to be read from the sample, are put among its metadata.
    reason : Reason or None
        Why there is no answer.
    is_explanation : bool
        Whether the reply is the score's explanation too, from which a plain and short one is read.
    """
    text = state.output.completion
    details = measured(state.output)
    state.metadata["stop_reason"] = details.pop("stop_reason", None)
    details["reason"] = ANSWERED if reason is None else reason.label
    details["prompt_hash"] = state.metadata.get("prompt_hash")
    if not is_explanation or len(text) > SUMMARY_LENGTH or text != " ".join(text.split()):
        state.metadata["raw_length"] = len(text)
        if len(repr(text)) + 2 * text.count("\n") <= SUMMARY_LENGTH - SPARE:
            details[EXACT] = [text]
    return details


def _stop_reason(state: TaskState) -> str | None:
    return state.output.stop_reason if state.output.choices else None
