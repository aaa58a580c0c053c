"""AlignED's teacher certification knowledge as an Inspect task: ``inspect eval psychoedu/aligned_certification -T items=...``."""

from __future__ import annotations

from inspect_ai import Epochs, Task, task
from inspect_ai.model import GenerateConfig
from inspect_ai.solver import generate

from psychoedu.runners.aligned.certification import NAME, load_items, messages, subset_of
from psychoedu.runners.aligned.exemplars import ZERO_SHOT, exemplars_of
from psychoedu.runners.banks.keys import load_keys
from psychoedu.runners.banks.questions import QuestionBank
from psychoedu.runners.rules.letters import RULES
from psychoedu.runners.tasks.aligned_common import samples_from
from psychoedu.runners.tasks.mcq import letter
from psychoedu.validation import check_choice


@task
def aligned_certification(
    condition: str = ZERO_SHOT,
    items: str | QuestionBank = "sample",
    rule: str = "literal",
    max_tokens: int | None = None,
    repeats: int = 1,
    limit: int | None = None,
    temperature: float | None = 0.0,
    keys: str | None = None,
    subset_column: str | None = None,
    exemplars: str | None = None,
) -> Task:
    """Administer teacher-knowledge items, one run, no system prompt.

    Parameters
    ----------
    condition : str
        "zero_shot", as AlignED asks, or "exemplars_<number>_<type>_<order>" with a file of ``exemplars``.
    items : str
        The file of the items, as cdpk_main or cdpk_send of pedagogy-benchmark, or "sample".
    rule : {"literal", "token", "strict", "pedagogy"}
        How the letter is read off a reply; "pedagogy" is that of pedagogy-benchmark's own harness.
    max_tokens : int, optional
    repeats : int
    limit : int, optional
        Only the first items.
    temperature : float, optional
        None: the provider's default.
    keys : str, optional
        File of corrected keys: item_id, key.
    subset_column : str, optional
        Column that tells CDPK from SEND; see :func:`psychoedu.runners.aligned.certification.subset_of`.
    exemplars : str, optional
        File of questions, for conditions with exemplars.
    """
    how = exemplars_of(condition)
    check_choice(rule, RULES, "rule")
    bank = load_items(items)
    if keys is not None:
        bank = bank.with_keys(load_keys(keys))
    return Task(
        dataset=samples_from(
            bank.items,
            bank.source,
            lambda item: messages(item, condition, exemplars),
            lambda item: item.key,
            lambda item: {
                "subset": subset_of(item, str(items if isinstance(items, str) else bank.source), subset_column),
                "letters": item.letters,
                **how.fields(),
            },
            limit,
        ),
        solver=generate(),
        scorer=letter(rule),
        epochs=Epochs(repeats, "mean"),
        config=GenerateConfig(temperature=temperature, max_tokens=max_tokens),
        metadata={"benchmark": NAME, "condition": condition, "items_hash": bank.hash, "rule": rule},
    )
