"""CSEBench as an Inspect task: ``inspect eval psychoedu/csebench -T condition=few_shot --model ...`` in any project."""

from __future__ import annotations

from weakref import WeakValueDictionary

import anyio
from inspect_ai import Epochs, Task, task
from inspect_ai.model import CachePolicy, GenerateConfig, Model, ModelOutput, get_model
from inspect_ai.solver import Generate, Solver, TaskState, generate, solver
from inspect_ai.util import LimitExceededError

from psychoedu.exceptions import RunnerError
from psychoedu.runners.banks.questions import QuestionBank
from psychoedu.runners.csebench.benchmark import KNOWLEDGE_MAX_TOKENS, MAX_TOKENS, REPEATS, load_items
from psychoedu.runners.csebench.prompts import CONDITIONS, KNOWLEDGE_PROMPT, knowledge_request, prompt
from psychoedu.runners.prompt_hash import prompt_hash
from psychoedu.runners.rules.letters import RULES
from psychoedu.runners.tasks.failures import told
from psychoedu.runners.tasks.mcq import letter, majority_first, samples_of
from psychoedu.validation import check_choice

_LOCKS: WeakValueDictionary[tuple[str, str], anyio.Lock] = WeakValueDictionary()
"""One lock for each snippet that is being written, so that runs of an item at the same time share one call."""


@task
def csebench(
    condition: str = "zero_shot",
    items: str | QuestionBank = "sample",
    rule: str = "literal",
    max_tokens: int = MAX_TOKENS,
    repeats: int = REPEATS,
    limit: int | None = None,
    unparsed: str = "vote",
    knowledge_model: str | None = None,
    knowledge_prompt: str = KNOWLEDGE_PROMPT,
    knowledge_max_tokens: int = KNOWLEDGE_MAX_TOKENS,
) -> Task:
    """Administer CSEBench's multiple-choice items: temperature 0, top-p 1, options as they stand, runs by majority.

    Parameters
    ----------
    condition : {"zero_shot", "few_shot", "knowledge"}
    items : str
        The file of the items (CSV, XLSX, JSONL or Parquet), or "sample".
    rule : {"literal", "token", "strict"}
        How the letter is read off a reply.
    max_tokens : int
        8 in the article; a reasoning model, whose hidden reasoning counts, needs thousands.
    repeats : int
        Runs of each item.
    limit : int, optional
        Only the first items.
    unparsed : {"vote", "drop"}
        Whether replies without a letter vote in the majority.
    knowledge_model : str, optional
        Who writes the snippets of the condition "knowledge"; default: the model of the role "knowledge" (``--model-role``).
    knowledge_prompt : str
        What it is asked, with ``{input}`` where the item goes.
    knowledge_max_tokens : int

    Returns
    -------
    Task
    """
    check_choice(condition, tuple(CONDITIONS), "condition")
    check_choice(rule, RULES, "rule")
    bank = load_items(items)
    steps: list[Solver] = [generate()]
    if condition == "knowledge":
        dataset = samples_of(bank, lambda question: question.text, limit, final=False)
        steps = [augment(knowledge_model, knowledge_prompt, knowledge_max_tokens), generate()]
    else:
        dataset = samples_of(bank, lambda question: prompt(question.text, condition), limit)
    return Task(
        dataset=dataset,
        solver=steps,
        scorer=letter(rule),
        epochs=Epochs(repeats, majority_first(unparsed)),
        config=GenerateConfig(temperature=0.0, top_p=1.0, max_tokens=max_tokens),
        metadata={"benchmark": "csebench", "condition": condition, "items_hash": bank.hash, "rule": rule},
    )


@solver
def augment(model: str | None = None, template: str = KNOWLEDGE_PROMPT, max_tokens: int = KNOWLEDGE_MAX_TOKENS) -> Solver:
    """Put a snippet of knowledge before the item, which the knowledge model writes once an item and which is then cached.

    Parameters
    ----------
    model : str, optional
        Default: the model of the role "knowledge".
    template : str
        What it is asked.
    max_tokens : int
    """
    knowledge_request("", template)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        writer = get_model(role="knowledge", required=True) if model is None else get_model(model)
        item = state.input_text
        try:
            output = await _written(writer, knowledge_request(item, template), max_tokens)
        except LimitExceededError:
            raise
        except Exception as error:  # whatever a provider raises when it has given up
            raise RunnerError(f"The knowledge model {writer} failed: {told(error)}") from error
        snippet = output.completion.strip()
        if not snippet:
            raise RunnerError(
                f"The knowledge model {writer} wrote nothing (stop reason: {output.stop_reason}); expected a snippet.\n"
                f"If it reasons first, raise knowledge_max_tokens={max_tokens}."
            )
        text = prompt(item, "knowledge", snippet)
        state.user_prompt.text = text
        state.metadata |= {
            "knowledge": snippet,
            "knowledge_model": output.model or str(writer),
            "prompt_hash": prompt_hash([("user", text)]),
        }
        return state

    return solve


async def _written(writer: Model, request: str, max_tokens: int) -> ModelOutput:
    """Return a snippet, from the cache if it was written before; the runs of an item wait for the first of them."""
    key = (str(writer), request)
    lock = _LOCKS.setdefault(key, anyio.Lock())
    async with lock:
        return await writer.generate(
            request,
            config=GenerateConfig(temperature=0.0, top_p=1.0, max_tokens=max_tokens),
            cache=CachePolicy(expiry=None, per_epoch=False),
        )
