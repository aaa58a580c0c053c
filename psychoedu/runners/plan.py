"""What a run is going to do: models, conditions, items, and how many calls that makes, before any of them is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from psychoedu.exceptions import RunnerError
from psychoedu.runners.benchmarks import Benchmark, benchmark_named
from psychoedu.validation import check_integer, counted, listed


@dataclass(frozen=True, eq=False)
class Plan:
    """A run before its first call; made by :func:`make_plan`.

    Attributes
    ----------
    benchmark : Benchmark
    models : tuple of str
        Names, as in the records.
    instances : dict
        Models that were given as objects of Inspect, by name.
    conditions : tuple of str
    items : str
        The name under which tasks ask for the bank.
    bank : object
        The items.
    repeats : int
    limit : int or None
    max_tokens : dict
        By model.
    protocol : dict
        Further parameters of the task, all of them.
    roles : dict
        Model by role, for those that a condition needs.
    role_instances : dict
        Those that were given as objects.
    """

    benchmark: Benchmark
    models: tuple[str, ...]
    instances: dict[str, Any]
    conditions: tuple[str, ...]
    items: str
    bank: Any
    repeats: int
    limit: int | None
    max_tokens: dict[str, int | None]
    protocol: dict[str, Any]
    roles: dict[str, str]
    role_instances: dict[str, Any]

    def items_under(self, condition: str) -> list[Any]:
        """Return the items that are administered under a condition."""
        asked = [item for item in self.bank.items if self.benchmark.calls(item, condition) > 0]
        return asked[: self.limit]

    @property
    def n_items(self) -> int:
        """Items that are administered under the condition that has most of them."""
        return max(len(self.items_under(condition)) for condition in self.conditions)

    @property
    def n_samples(self) -> int:
        """Records that a whole run has: models x conditions x items x repeats."""
        return len(self.models) * self.repeats * sum(len(self.items_under(condition)) for condition in self.conditions)

    @property
    def n_calls(self) -> int:
        """Calls of the models that are evaluated: as many, where an item takes one call."""
        each = [self.benchmark.calls(item, condition) for condition in self.conditions for item in self.items_under(condition)]
        return len(self.models) * self.repeats * sum(each)

    @property
    def n_role_calls(self) -> int:
        """Calls of other models, without repeated ones: for each model, unless what they wrote serves all."""
        counts = {condition: len(self.items_under(condition)) for condition in self.conditions}
        each = sum(self.benchmark.role_calls(condition, counts[condition], self.repeats) for condition in self.conditions)
        return each if self.benchmark.roles_are_shared else each * len(self.models)

    def task_arguments(self, model: str, condition: str) -> dict[str, Any]:
        """Return the arguments of the Inspect task; those that are the task's own defaults are left out."""
        arguments: dict[str, Any] = {"condition": condition, "items": self.items, "repeats": self.repeats}
        if self.max_tokens[model] is not None:
            arguments["max_tokens"] = self.max_tokens[model]
        defaults = self.benchmark.protocol
        return arguments | {name: value for name, value in self.protocol.items() if value != defaults[name]}

    def summary(self) -> str:
        """Return the number of calls, and what they are of."""
        caps = dict.fromkeys(self.max_tokens.values())
        decoding = [
            f"{name} {value:g}"
            for name, value in (("temperature", self.benchmark.temperature), ("top-p", self.benchmark.top_p))
            if value is not None
        ]
        told = ", ".join(f"{model} {_cap(cap)}" for model, cap in self.max_tokens.items()) if len(caps) > 1 else _cap(*caps)
        lines = [
            f"{self.benchmark.name}: {counted(len(self.models), 'model')} x {counted(len(self.conditions), 'condition')} x "
            f"{counted(self.n_items, 'item')} x {counted(self.repeats, 'run')} = {counted(self.n_calls, 'call')}",
            f"Models: {', '.join(self.models)}",
            f"Conditions: {', '.join(self.conditions)}",
            f"Items: {self.bank.source} ({counted(len(self.bank.items), 'item')}, hash {self.bank.hash[:12]})",
            f"Decoding: {', '.join([*decoding, f'generated tokens {told}'])}",
        ]
        for role, model in self.roles.items():
            lines.append(f"Role {role}: {model}, up to {counted(self.n_role_calls, 'further call')}")
        return "\n".join(lines)

    def dry_run(self) -> str:
        """Return the summary and, for each condition, everything that a model is sent about the first item."""
        parts = [self.summary()]
        for condition in self.conditions:
            told = self.benchmark.messages(self.items_under(condition)[0], condition, **self.protocol)
            texts = [f"[{role}]\n{text}" for role, text in told]
            parts.append("\n".join([f"--- {condition}: {self.benchmark.conditions[condition]} ---", *texts]))
        return "\n\n".join([*parts, "Nothing was sent."])


def make_plan(
    benchmark: str | Benchmark,
    models: Any,
    conditions: Sequence[str] | None = None,
    *,
    items: Any = None,
    repeats: int | None = None,
    limit: int | None = None,
    max_tokens: int | Mapping[Any, int] | None = None,
    roles: Mapping[str, Any] | None = None,
    **protocol: Any,
) -> Plan:
    """Check what a run is asked to do; parameters as of :func:`psychoedu.runners.run`.

    Returns
    -------
    Plan

    Raises
    ------
    RunnerError
        A benchmark, condition, parameter or role is unknown, or a model is named twice.
    ItemBankError
        The items are malformed.
    """
    described = benchmark_named(benchmark)
    chosen = described.check_conditions(conditions)
    instances = _named_models(models)
    wanted_roles = dict(roles or {})
    for option, role in described.role_options.items():
        value = protocol.pop(option, None)
        if value is not None:
            wanted_roles[role] = value
    needed = list(dict.fromkeys(role for condition in chosen for role in described.roles.get(condition, ())))
    absent = [role for role in needed if role not in wanted_roles]
    if absent:
        option = next(
            (name for name, role in described.role_options.items() if role == absent[0]), f"roles={{{absent[0]!r}: ...}}"
        )
        raise RunnerError(
            f"The condition needs a model for the role {listed(absent)}. Name it with {option} (or --role NAME=MODEL)."
        )
    known_roles = {*described.optional_roles, *(role for members in described.roles.values() for role in members)}
    needed += [role for role in described.optional_roles if role in wanted_roles and role not in needed]
    strange = [role for role in wanted_roles if role not in known_roles]
    if strange:
        raise RunnerError(f"{described.name} has no role {listed(strange)}. Expected one of {listed(sorted(known_roles))}.")
    unknown = [name for name in protocol if name not in described.protocol]
    if unknown:
        raise RunnerError(
            f"{described.name} has no parameter {listed(unknown)}. Expected some of {listed(list(described.protocol))}."
        )
    bank = described.load_items("sample" if items is None else items)
    if len(bank.items) == 0:
        raise RunnerError(f"{bank.source} holds no items.")
    unasked = [name for name in chosen if not any(described.calls(item, name) for item in bank.items)]
    if unasked:
        raise RunnerError(
            f"{bank.source} has no items for {'the condition' if len(unasked) == 1 else 'the conditions'} {listed(unasked)}."
        )
    role_models = {role: _named_models([wanted_roles[role]]) for role in needed}
    return Plan(
        benchmark=described,
        models=tuple(instances),
        instances={name: model for name, model in instances.items() if model is not None},
        conditions=tuple(chosen),
        items=_name_of_items(items, bank),
        bank=bank,
        repeats=check_integer(described.repeats if repeats is None else repeats, "repeats", 1),
        limit=None if limit is None else check_integer(limit, "limit", 1),
        max_tokens=_caps(max_tokens, list(instances), described.max_tokens),
        protocol={**described.protocol, **protocol},
        roles={role: next(iter(named)) for role, named in role_models.items()},
        role_instances={role: next(iter(named.values())) for role, named in role_models.items()},
    )


def _cap(cap: int | None) -> str:
    return "without a cap" if cap is None else f"at most {cap:,}"


def _named_models(models: Any) -> dict[str, Any]:
    given = [models] if isinstance(models, str) or not isinstance(models, Sequence) else list(models)
    if not given:
        raise RunnerError("No model is named. Expected at least one, such as 'openai/gpt-4o' or 'simulated/theta=0.8'.")
    named: dict[str, Any] = {}
    for model in given:
        name = model if isinstance(model, str) else str(model)
        if "/" not in name:
            raise RunnerError(f"{name!r} is no model of Inspect. Expected provider/model, such as 'openai/gpt-4o'.")
        if name in named:
            raise RunnerError(f"The model {name} is named twice. Expected each once; --repeats sets the number of runs.")
        named[name] = None if isinstance(model, str) else model
    return named


def _name_of_items(items: Any, bank: Any) -> str:
    if items is None:
        return "sample"
    return str(items) if isinstance(items, str | Path) else f"sha256:{bank.hash}"


def _caps(max_tokens: Any, models: list[str], default: int | None) -> dict[str, int | None]:
    if max_tokens is None:
        return dict.fromkeys(models, default)
    if isinstance(max_tokens, Mapping):
        unknown = [name for name in max_tokens if name is not None and name not in models]
        if unknown:
            raise RunnerError(f"max_tokens names {listed(unknown)}, which is not run. Expected some of {listed(models)}.")
        caps = {name: check_integer(cap, "max_tokens", 1) for name, cap in max_tokens.items()}
        return {name: caps.get(name, caps.get(None, default)) for name in models}
    return dict.fromkeys(models, check_integer(max_tokens, "max_tokens", 1))
