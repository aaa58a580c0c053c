"""AlignED's standards-based grading as an Inspect task: ``inspect eval psychoedu/aligned_grading -T items=... --model ...``."""

from __future__ import annotations

from inspect_ai import Epochs, Task, task
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer, stderr
from inspect_ai.solver import TaskState, generate

from psychoedu.runners.aligned.grading import CONDITIONS, NAME, load_items, messages
from psychoedu.runners.banks.works import WorkBank
from psychoedu.runners.rules.grading import parse_classification
from psychoedu.runners.tasks.aligned_common import samples_from, score_of
from psychoedu.validation import check_choice


@task
def aligned_grading(
    condition: str = "standard",
    items: str | WorkBank = "sample",
    max_tokens: int | None = None,
    repeats: int = 1,
    limit: int | None = None,
    temperature: float | None = 0.0,
) -> Task:
    """Have a model classify single student works as above, at or below satisfactory, once each.

    Parameters
    ----------
    condition : {"standard"}
    items : str
        The file of the works, or "sample".
    max_tokens : int, optional
    repeats : int
    limit : int, optional
        Only the first items.
    temperature : float, optional
        None: the provider's default.
    """
    check_choice(condition, tuple(CONDITIONS), "condition")
    bank = load_items(items)
    return Task(
        dataset=samples_from(
            bank.items,
            bank.source,
            lambda item: messages(item, condition),
            lambda item: item.level,
            lambda item: {"subject": item.subject, "year_level": item.year_level},
            limit,
        ),
        solver=generate(),
        scorer=classification(),
        epochs=Epochs(repeats, "mean"),
        config=GenerateConfig(temperature=temperature, max_tokens=max_tokens),
        metadata={"benchmark": NAME, "condition": condition, "items_hash": bank.hash},
    )


@scorer(metrics=[accuracy(), stderr()])
def classification() -> Scorer:
    """Score the level that a reply gives; a reply without one is wrong."""

    async def score(state: TaskState, target: Target) -> Score:
        level = parse_classification(state.output.completion)
        return score_of(state, level == target.text, level)

    return score
