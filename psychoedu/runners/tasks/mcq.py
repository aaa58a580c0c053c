"""What Inspect tasks of multiple-choice questions share: samples of a question bank, the scorer, and the majority of runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, ScoreReducer, Target, accuracy, score_reducer, scorer, stderr
from inspect_ai.solver import TaskState

from psychoedu.runners.banks.questions import Question, QuestionBank
from psychoedu.runners.prompt_hash import prompt_hash
from psychoedu.runners.rules.letters import majority_first as majority_of
from psychoedu.runners.rules.letters import parse_letter
from psychoedu.runners.rules.replies import reply_reason

EXACT = "raw_output"
"""Where a score keeps the reply, letter by letter: the summary of a log collapses white space in an explanation."""

SUMMARY_LENGTH = 1000
"""A longer reply is not kept whole in the summary of a log, only in the sample itself."""


def samples_of(
    bank: QuestionBank, prompt_of: Callable[[Question], str], limit: int | None = None, final: bool = True
) -> MemoryDataset:
    """Return a bank as samples: one user message each, the key as target, and the item's own columns as metadata.

    Parameters
    ----------
    bank : QuestionBank
    prompt_of : callable
        The user message of a question.
    limit : int, optional
        Only the first questions.
    final : bool
        Whether this is what the model is sent; if not, the solver that makes the message sets ``prompt_hash``.
    """
    samples = []
    for question in bank.items[:limit]:
        text = prompt_of(question)
        known = {name: value for name, value in question.metadata.items() if isinstance(value, str | int | float | bool)}
        known["letters"] = question.letters
        if final:
            known["prompt_hash"] = prompt_hash([("user", text)])
        samples.append(Sample(input=text, target=question.key, id=question.item_id, metadata=known))
    return MemoryDataset(samples, name=bank.source, location=bank.source)


def measured(output: ModelOutput) -> dict[str, Any]:
    """Return what a provider reported about one call: version, stop reason, tokens and seconds.

    Parameters
    ----------
    output : ModelOutput

    Returns
    -------
    dict
        By the names of the record's columns; what was not reported is left out.
    """
    usage = output.usage
    found = {
        "model_version": output.model or None,
        "stop_reason": output.stop_reason if output.choices else None,
        "latency_s": output.time,
        "input_tokens": None if usage is None else usage.input_tokens,
        "output_tokens": None if usage is None else usage.output_tokens,
        "reasoning_tokens": None if usage is None else usage.reasoning_tokens,
    }
    return {name: value for name, value in found.items() if value is not None}


@scorer(metrics=[accuracy(), stderr()])
def letter(rule: str = "literal") -> Scorer:
    """Score the letter that a reply gives; a reply without one is wrong, and the score says why there is none.

    Parameters
    ----------
    rule : {"literal", "token", "strict"}
        See :func:`psychoedu.runners.rules.letters.parse_letter`.
    """

    async def score(state: TaskState, target: Target) -> Score:
        text = state.output.completion
        parsed = parse_letter(text, state.metadata.get("letters", "ABCD"), rule)
        details = measured(state.output)
        reason = reply_reason(text, details.get("stop_reason"), parsed)
        details |= {"reason": "answered" if reason is None else reason.label, "prompt_hash": state.metadata.get("prompt_hash")}
        state.metadata["stop_reason"] = details.pop("stop_reason", None)
        if len(text) > SUMMARY_LENGTH or text != " ".join(text.split()):
            state.metadata["raw_length"] = len(text)
            if len(json.dumps([text])) <= SUMMARY_LENGTH:
                details[EXACT] = [text]
        return Score(value=CORRECT if parsed == target.text else INCORRECT, answer=parsed, explanation=text, metadata=details)

    return score


@score_reducer
def majority_first(unparsed: str = "vote") -> ScoreReducer:
    """Let the runs of an item vote with their letters; a tie goes to the tied letter that came first.

    Parameters
    ----------
    unparsed : {"vote", "drop"}
        Whether replies without a letter vote, together, for no answer.
    """

    def reduce(scores: list[Score]) -> Score:
        winner = majority_of([score.answer for score in scores], unparsed)
        return next((score for score in scores if score.answer == winner), scores[0])

    return reduce
