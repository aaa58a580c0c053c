"""Simulated respondents as a model provider of Inspect: ``simulated/theta=0.8`` and ``simulated/profile=1011``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable
from contextvars import ContextVar
from functools import lru_cache
from logging import getLogger
from pathlib import Path
from typing import Any

from inspect_ai.hooks import Hooks, SampleAttemptStart, hooks
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    StopReason,
    modelapi,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from psychoedu.exceptions import RunnerError
from psychoedu.runners.banks import PairBank, QuestionBank, ScenarioBank, StatementBank, WorkBank
from psychoedu.runners.benchmarks import held_banks
from psychoedu.runners.simulated import SimulatedRespondent
from psychoedu.runners.simulated_asked import Asked
from psychoedu.runners.simulated_names import respondent_named
from psychoedu.runners.simulated_prompts import KINDS, UNKNOWN, Catalogue
from psychoedu.stored import load
from psychoedu.validation import listed

TOKEN = re.compile(r"\w+|[^\w\s]")
"""What counts as a token: a word, or a mark."""

_LOG = getLogger(__name__)
_BANKS = (QuestionBank, StatementBank, PairBank, WorkBank, ScenarioBank)
"""Banks by kind, in the order of KINDS."""
_EPOCH: ContextVar[int | None] = ContextVar("epoch of the sample that asks", default=None)


@modelapi(name="simulated")
class SimulatedAPI(ModelAPI):
    """A respondent of known ability or mastery that answers the prompts of all benchmarks of this package.

    Parameters
    ----------
    model_name : str
        Such as "theta=0.8,seed=3,flip=0.1", see :func:`psychoedu.runners.simulated_names.respondent_named`.
    base_url, api_key, config
        Of no meaning here.
    bank : path or object, optional
        A saved ItemBank or Calibration (for theta) or Diagnosis (for a profile).
    items, statements, pairs, works, scenarios : path, bank, or list of them, optional
        Where items are recognised; the samples that come with the package by default.
    **options
        The seed and rates, for what the name does not say.

    Raises
    ------
    DataError
        The name is not as expected, or the bank does not belong to it.
    RunnerError
        The bank has none of the items that would be recognised.
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008  # as the base class has it
        bank: Any = None,
        items: Any = None,
        statements: Any = None,
        pairs: Any = None,
        works: Any = None,
        scenarios: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        parameters = _saved(bank)
        self.respondent: SimulatedRespondent = respondent_named(model_name, parameters, options)
        self.catalogue = _catalogue(_with_held((items, statements, pairs, works, scenarios)))
        known = self.catalogue.labels() if parameters is not None else set()
        if parameters is not None and not known & set(self.respondent.success):
            raise RunnerError(
                f"simulated/{model_name} would recognise the items {listed(sorted(known))}, and the bank has none of them: "
                f"{listed(self.respondent.success)}.\nGive the file of the items as well: items=FILE (-M items=FILE)."
            )
        self._told = False
        self._calls: Counter[tuple[str, str]] = Counter()
        _follow_samples()

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        """Answer the last message of the user.

        Raises
        ------
        SimulatedFailure
            At the error rate; it is not retried by Inspect's own rules for calls, and a sample that is tried again fails again.
        """
        turns = [(message.role, message.text) for message in input]
        asked = self.catalogue.find(turns)
        if asked.item_id.startswith(UNKNOWN) and not self._told and asked.kind != "judge":
            self._told = True
            _LOG.warning(
                "simulated/%s was asked something that is in none of its banks (%s) and answers by chance: give items=FILE.",
                self.model_name,
                asked.kind,
            )
        text = self.respondent.respond(asked, self._epoch(asked), config.temperature or 0.0)
        cut, stop = _cut(text, config.max_tokens)
        written, read = _count(cut), sum(_count(said) for _, said in turns)
        message = ChatMessageAssistant(content=cut, model=self.model_name, source="generate")
        return ModelOutput(
            model=self.model_name,
            choices=[ChatCompletionChoice(message=message, stop_reason=stop)],
            usage=ModelUsage(input_tokens=read, output_tokens=written, total_tokens=read + written, reasoning_tokens=0),
        )

    def _epoch(self, asked: Asked) -> int:
        """Return the number of the run: the sample's epoch, or, outside a sample, how often this was asked."""
        epoch = _EPOCH.get()
        if epoch is not None:
            return epoch
        self._calls[asked.label, asked.variant] += 1
        return self._calls[asked.label, asked.variant]

    async def count_text_tokens(self, text: str) -> int:
        """Count words and marks; no tokenizer is fetched."""
        return _count(text)

    def should_retry(self, ex: Exception) -> bool:
        """Retry no call: it would fail again."""
        return False


class _Runs(Hooks):
    """Notes the epoch of a sample in the context of the sample, from which the calls that it makes read it."""

    async def on_sample_attempt_start(self, data: SampleAttemptStart) -> None:
        """Note it when the sample starts, and when it is tried again."""
        _EPOCH.set(data.summary.epoch)


@lru_cache(maxsize=1)
def _follow_samples() -> None:
    """Register the hook when the first simulated model is made, so that runs without one have none."""
    hooks(name="simulated_runs", description="tells simulated respondents the number of the run")(_Runs)


def _cut(text: str, max_tokens: int | None) -> tuple[str, StopReason]:
    marks = list(TOKEN.finditer(text))
    if max_tokens is None or len(marks) <= max_tokens:
        return text, "stop"
    return text[: marks[max_tokens - 1].end()] if max_tokens > 0 else "", "max_tokens"


def _count(text: str) -> int:
    return sum(1 for _ in TOKEN.finditer(text))


def _with_held(banks: tuple[Any, ...]) -> tuple[Any, ...]:
    """Put the banks of the run that is under way in the place of kinds for which none was named."""
    held = [[bank for bank in held_banks() if isinstance(bank, kind)] for kind in _BANKS]
    return tuple(own or None if given is None else given for given, own in zip(banks, held, strict=True))


def _catalogue(banks: tuple[Any, ...]) -> Catalogue:
    """Return one catalogue for all models that know the same items."""
    sources = tuple(() if given is None else tuple(given) if isinstance(given, list | tuple) else (given,) for given in banks)
    state = tuple(_state(source) for each in sources for source in each)
    return _shared_catalogue(_Sources(sources), (tuple(map(len, sources)), *state))


class _Sources:
    """Banks by kind, alike for the cache whatever they are: what tells them apart is their state."""

    def __init__(self, values: tuple[tuple[Any, ...], ...]) -> None:
        self.values = values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Sources)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=16)
def _shared_catalogue(sources: _Sources, state: Hashable) -> Catalogue:
    return Catalogue(dict(zip(KINDS, sources.values, strict=True)))


def _saved(bank: Any) -> Any:
    return _loaded(str(bank), _state(bank)) if isinstance(bank, str | Path) else bank


@lru_cache(maxsize=16)
def _loaded(path: str, state: Hashable) -> Any:
    return load(path)


def _state(source: Any) -> Hashable:
    """Return what changes when a file or bank does."""
    if not isinstance(source, str | Path):
        return source.hash if isinstance(getattr(source, "hash", None), str) else id(source)
    file = Path(source)
    if not file.is_file():
        return str(source)
    facts = file.stat()
    return str(file.resolve()), facts.st_mtime_ns, facts.st_size
