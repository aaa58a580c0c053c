"""AlignED's comparative judgement as an Inspect task: ``inspect eval psychoedu/aligned_comparative -T condition=reverse ...``."""

from __future__ import annotations

from inspect_ai import Epochs, Task, task
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer, stderr
from inspect_ai.solver import TaskState, generate

from psychoedu.runners.aligned.comparative import CONDITIONS, FORWARD, NAME, TRIALS, load_items, messages
from psychoedu.runners.banks.pairs import PairBank
from psychoedu.runners.rules.judgements import parse_better_sample, sample_of
from psychoedu.runners.tasks.aligned_common import samples_from, score_of
from psychoedu.validation import check_choice, check_flag


@task
def aligned_comparative(
    condition: str = FORWARD,
    items: str | PairBank = "sample",
    max_tokens: int | None = None,
    repeats: int = TRIALS,
    limit: int | None = None,
    temperature: float | None = 0.0,
    bare: bool = False,
) -> Task:
    """Have a model say which of two student works is better, in one of the two orders, three trials.

    Parameters
    ----------
    condition : {"forward", "reverse"}
        The order.
    items : str
        The file of the pairs, or "sample".
    max_tokens : int, optional
    repeats : int
        Trials.
    limit : int, optional
        Only the first items.
    temperature : float, optional
        None: the provider's default.
    bare : bool
        Whether a reply that is nothing but the letter counts.
    """
    check_choice(condition, tuple(CONDITIONS), "condition")
    check_flag(bare, "bare")
    bank = load_items(items)
    return Task(
        dataset=samples_from(
            bank.items,
            bank.source,
            lambda item: messages(item, condition),
            lambda item: item.better,
            lambda item: {"subject": item.subject, "year_level": item.year_level},
            limit,
        ),
        solver=generate(),
        scorer=better_sample(condition, bare),
        epochs=Epochs(repeats, "mean"),
        config=GenerateConfig(temperature=temperature, max_tokens=max_tokens),
        metadata={"benchmark": NAME, "condition": condition, "items_hash": bank.hash},
    )


@scorer(metrics=[accuracy(), stderr()])
def better_sample(order: str = FORWARD, bare: bool = False) -> Scorer:
    """Score the sample that a reply calls better; the letter is the place in the prompt, the target the sample of the bank.

    Parameters
    ----------
    order : {"forward", "reverse"}
    bare : bool
        See :func:`psychoedu.runners.rules.judgements.parse_better_sample`.
    """

    async def score(state: TaskState, target: Target) -> Score:
        letter = parse_better_sample(state.output.completion, bare)
        chosen = sample_of(letter, order)
        return score_of(state, chosen == target.text, letter, {} if chosen is None else {"chosen": chosen})

    return score
