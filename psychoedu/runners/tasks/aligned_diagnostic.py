"""AlignED's diagnostic reasoning as an Inspect task; judges are roles: ``--model-role judge=...``, ``judge_fallback=...``."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from inspect_ai import Epochs, Task, task
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageUser, GenerateConfig, Model, get_model, model_roles
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState, generate
from inspect_ai.util import LimitExceededError

from psychoedu.response_codes import Reason
from psychoedu.runners.aligned.diagnostic import CONDITIONS, FALLBACK, JUDGE, NAME, PANEL_SCORES, load_items, messages
from psychoedu.runners.aligned.judge import AGAIN, MAXIMUM, SYSTEM, Verdict, judge_hash, judge_messages, read_verdict, version_of
from psychoedu.runners.banks.scenarios import Scenario, ScenarioBank
from psychoedu.runners.rules.replies import reply_reason
from psychoedu.runners.tasks.aligned_common import chat_message, details_of, samples_from
from psychoedu.runners.tasks.failures import told
from psychoedu.validation import check_choice, check_integer

QUOTED = 80
"""Characters of a judge's reply that an error repeats."""


@task
def aligned_diagnostic(
    condition: str = "standard",
    items: str | ScenarioBank = "sample",
    max_tokens: int | None = None,
    repeats: int = 1,
    limit: int | None = None,
    temperature: float | None = 0.0,
    judge_retries: int = 1,
    judge_prompt: str | None = None,
    judge_temperature: float | None = 0.0,
    judge_max_tokens: int | None = None,
    panel_score: str = "first",
) -> Task:
    """Have a model diagnose classroom situations, and judges score its replies from 0 to 3.

    Parameters
    ----------
    condition : {"standard"}
    items : str
        The file of the scenarios, or "sample".
    max_tokens : int, optional
    repeats : int
    limit : int, optional
        Only the first items.
    temperature : float, optional
        None: the provider's default.
    judge_retries : int
        How often a judge is asked again that gave no readable score.
    judge_prompt : str, optional
        Other instructions for the judge; default: those of :mod:`psychoedu.runners.aligned.judge`.
    judge_temperature : float, optional
    judge_max_tokens : int, optional
    panel_score : {"first", "mean", "median"}
        The score of a reply that several judges have read.
    """
    check_choice(condition, tuple(CONDITIONS), "condition")
    bank = load_items(items)
    return Task(
        dataset=samples_from(
            bank.items,
            bank.source,
            lambda item: messages(item, condition),
            None,
            lambda item: {"mechanism": item.mechanism, "implementation_error": item.implementation_error},
            limit,
        ),
        solver=generate(),
        scorer=judged(judge_retries, judge_prompt, judge_temperature, judge_max_tokens, panel_score),
        epochs=Epochs(repeats, "mean"),
        config=GenerateConfig(temperature=temperature, max_tokens=max_tokens),
        metadata={"benchmark": NAME, "condition": condition, "items_hash": bank.hash},
    )


@dataclass(frozen=True)
class Judgement:
    """What came of asking one judge: the verdict, its model, how often it was asked, and why there is no score."""

    verdict: Verdict
    model: str
    version: str | None
    attempts: int
    error: str | None = None


@scorer(metrics=[mean(), stderr()])
def judged(
    retries: int = 1,
    prompt: str | None = None,
    temperature: float | None = 0.0,
    max_tokens: int | None = None,
    panel_score: str = "first",
) -> Scorer:
    """Have the model of the role "judge" score a reply, and that of "judge_fallback" where its verdict cannot be read.

    Parameters
    ----------
    retries : int
        How often a judge is asked again.
    prompt : str, optional
        The judges' instructions.
    temperature : float, optional
    max_tokens : int, optional
    panel_score : {"first", "mean", "median"}
        Where further judges are given, as a list for the role "judge" or as the roles "judge_2", "judge_3" and so on.
    """
    check_integer(retries, "judge_retries", 0)
    check_choice(panel_score, PANEL_SCORES, "panel_score")
    system = SYSTEM if prompt is None else prompt
    config = GenerateConfig(temperature=temperature, max_tokens=max_tokens)

    async def score(state: TaskState, target: Target) -> Score:
        text = state.output.completion
        stop = state.output.stop_reason if state.output.choices else None
        reason = reply_reason(text, stop, text if text.strip() else None)
        if reason is not None:
            details = details_of(state, reason) | {"max_score": float(MAXIMUM)}
            return Score(value=0, answer=None, explanation=text, metadata=details)
        item = Scenario(
            str(state.sample_id), state.input_text, state.metadata["mechanism"], state.metadata["implementation_error"]
        )
        request = [chat_message(role, message) for role, message in judge_messages(item, text, system)]
        judgements = {role: await _ask(model, request, config, retries) for role, model in panel().items()}
        first = judgements[JUDGE]
        if first.verdict.score is None and first.error is None and FALLBACK in model_roles():
            judgements[FALLBACK] = await _ask(get_model(role=FALLBACK), request, config, retries)
        details = details_of(state, None, False) | {
            "judge_prompt_hash": judge_hash(system),
            "judge_prompt_version": version_of(system),
        }
        return _combined(judgements, details, panel_score)

    return score


def panel() -> dict[str, Model]:
    """Return the judges by role: "judge", which has to be there, then "judge_2" and so on, also from a list for "judge"."""
    get_model(role=JUDGE, required=True)
    found: list[Model] = []
    for role in sorted((name for name in model_roles() if re.fullmatch(rf"{JUDGE}(_\d+)?", name)), key=_number):
        given = model_roles()[role]
        found += given if isinstance(given, list) else [given]
    return {JUDGE if place == 1 else f"{JUDGE}_{place}": model for place, model in enumerate(found, start=1)}


def _number(role: str) -> int:
    return int(role.rpartition("_")[2]) if "_" in role else 1


async def _ask(model: Model, request: list[ChatMessage], config: GenerateConfig, retries: int) -> Judgement:
    """Ask a judge until its verdict can be read, within bounds; a call that fails for good ends it."""
    said = list(request)
    verdict, version, attempt = Verdict(None, ""), None, 0
    for attempt in range(1, retries + 2):
        try:
            output = await model.generate(said, config=config)
        except LimitExceededError:
            raise
        except Exception as error:  # whatever a provider raises when it has given up
            return Judgement(verdict, str(model), version, attempt, told(error))
        verdict, version = read_verdict(output.completion), output.model or None
        if verdict.score is not None:
            break
        if output.completion.strip():
            said = [*request, ChatMessageAssistant(content=output.completion), ChatMessageUser(content=AGAIN)]
    return Judgement(verdict, str(model), version, attempt)


def _combined(judgements: dict[str, Judgement], details: dict[str, Any], panel_score: str) -> Score:
    """Return the score of a reply from what its judges said, or none and the reason."""
    given = {role: one.verdict.score for role, one in judgements.items()}
    scores = [value for value in given.values() if value is not None]
    first = judgements.get(FALLBACK, judgements[JUDGE])
    value: float | None = first.verdict.score
    if panel_score != "first" and scores:
        value = fmean(scores) if panel_score == "mean" else float(median(scores))
    details |= {
        "max_score": float(MAXIMUM),
        "judge_model": first.model,
        "judge_fallback": FALLBACK in judgements,
        "judge_explanation": first.verdict.explanation,
        "judge_attempts": sum(one.attempts for one in judgements.values()),
        "judge_scores": json.dumps(given),
        "judge_models": json.dumps({role: one.model for role, one in judgements.items()}),
        "mechanisms_mentioned": first.verdict.mentioned,
        "mechanisms_missed": first.verdict.missed,
    }
    if first.version is not None:
        details["judge_version"] = first.version
    if value is None:
        details |= {"reason": Reason.API_ERROR.label, "error": "; ".join(_told(role, one) for role, one in judgements.items())}
        return Score.unscored(reason="grader_failed", explanation=first.verdict.explanation, metadata=details)
    return Score(value=value, answer=f"{value:g}", explanation=first.verdict.explanation, metadata=details)


def _told(role: str, one: Judgement) -> str:
    if one.error is not None:
        return f"{role} {one.model}: the call failed ({one.error})"
    said = " ".join(one.verdict.explanation.split())
    quoted = said if len(said) <= QUOTED else f"{said[:QUOTED]}..."
    return f"{role} {one.model}: no readable score in {one.attempts} replies, the last {quoted!r}"
