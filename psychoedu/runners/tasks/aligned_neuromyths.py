"""AlignED's neuromyths as an Inspect task: ``inspect eval psychoedu/aligned_neuromyths -T condition=... --model ...``."""

from __future__ import annotations

from inspect_ai import Epochs, Task, task
from inspect_ai.model import ChatMessageUser, GenerateConfig
from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, generate, solver

from psychoedu.exceptions import ItemBankError
from psychoedu.runners.aligned.neuromyths import NAME, REPEATS, administration, is_asked, load_items, messages
from psychoedu.runners.aligned.prompts import CONFIDENCE
from psychoedu.runners.banks.statements import StatementBank
from psychoedu.runners.rules.statements import CORRECT, INCORRECT, parse_confidence, parse_statement
from psychoedu.runners.tasks.aligned_common import samples_from, score_of
from psychoedu.validation import check_choice


@task
def aligned_neuromyths(
    condition: str = "standard",
    items: str | StatementBank = "sample",
    rule: str = "substring",
    max_tokens: int | None = None,
    repeats: int = REPEATS,
    limit: int | None = None,
) -> Task:
    """Administer statements to be called Correct or Incorrect, one call each, five iterations.

    Parameters
    ----------
    condition : str
        "standard", "temperature_0.5", "temperature_1.0" (any T), "framing_interrogative" and the like (any framing of the bank),
        or "confidence": the marked statements, with the question how sure the answer is put afterwards.
    items : str
        The file of the statements, or "sample".
    rule : {"substring", "word"}
        How the judgement is read off a reply.
    max_tokens : int, optional
    repeats : int
    limit : int, optional
        Only the first items.
    """
    how = administration(condition)
    check_choice(rule, ("substring", "word"), "rule")
    bank = load_items(items)
    asked = [item for item in bank.items if is_asked(item, condition)]
    if not asked:
        raise ItemBankError(f"{bank.source} marks no statement for the confidence probe. Expected a column probe with some yes.")
    steps: list[Solver] = [generate(), *([ask_confidence()] if how.confidence else [])]
    return Task(
        dataset=samples_from(
            asked,
            bank.source,
            lambda item: messages(item, condition),
            lambda item: CORRECT if item.key else INCORRECT,
            lambda item: {"framing": how.framing, "probe": item.probe},
            limit,
        ),
        solver=steps,
        scorer=statement(rule),
        epochs=Epochs(repeats, "mean"),
        config=GenerateConfig(temperature=how.temperature, max_tokens=max_tokens),
        metadata={"benchmark": NAME, "condition": condition, "items_hash": bank.hash, "rule": rule},
    )


@solver
def ask_confidence() -> Solver:
    """Ask how sure the answer is, in the same conversation; the answer itself stays the sample's output."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        answer = state.output
        state.messages.append(ChatMessageUser(content=CONFIDENCE))
        state = await generate(state)
        reply = state.output.completion
        state.metadata |= {"confidence": parse_confidence(reply) or "unparsed", "confidence_reply": reply}
        state.output = answer
        return state

    return solve


@scorer(metrics=[accuracy(), stderr()])
def statement(rule: str = "substring") -> Scorer:
    """Score the judgement that a reply gives; a reply without one is wrong.

    Parameters
    ----------
    rule : {"substring", "word"}
        See :func:`psychoedu.runners.rules.statements.parse_statement`.
    """

    async def score(state: TaskState, target: Target) -> Score:
        parsed = parse_statement(state.output.completion, rule)
        return score_of(state, parsed == target.text, parsed)

    return score
