"""What the runner has to know about a benchmark: its conditions, its items, what a model is sent, and the Inspect task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from psychoedu.exceptions import RunnerError
from psychoedu.validation import listed

if TYPE_CHECKING:
    import pandas as pd

Messages = list[tuple[str, str]]
"""(role, text) in the order in which they are sent."""


@dataclass(frozen=True)
class Benchmark:
    """A benchmark that :func:`psychoedu.runners.run` can administer.

    Attributes
    ----------
    name : str
        As on the command line.
    title : str
        One line on what it measures.
    conditions : mapping of str to str
        Each condition with what it is, in one line.
    default_conditions : tuple of str
        What is run when none is named.
    load_items : callable
        From a file's name, "sample" or a bank to a bank: an object with ``items`` (each with ``item_id``), ``hash``, ``source``
        and ``frame()``.
    task : str
        ``"module:function"`` of the Inspect task; imported when a run starts. It takes ``condition``, ``items``, ``repeats``,
        ``max_tokens`` and the names in ``protocol``.
    messages : callable
        ``messages(item, condition, **protocol)``: what a model is sent about one item, for the dry run and the prompts' hashes.
    protocol : mapping
        Further parameters of the task with their defaults.
    repeats : int
        Runs of each item.
    max_tokens : int or None
        Generated tokens; None: no cap.
    temperature, top_p : float or None
        Decoding, as the task sets it.
    calls : callable
        ``calls(item, condition)``: calls of the evaluated model for an item in one run; 0: the task leaves the item out.
    roles : mapping of str to tuple of str
        Roles of other models (a judge, a writer of knowledge) that a condition needs.
    optional_roles : tuple of str
        Further roles, which may be left out.
    role_options : mapping of str to str
        Parameters of :func:`run` that name the model of a role, as ``{"knowledge_model": "knowledge"}``.
    role_calls : callable
        ``role_calls(condition, n_items, repeats)``: calls of these other models.
    roles_are_shared : bool
        Whether what another model wrote for one of the models serves them all (a snippet), or is asked anew for each (a judge).
    matrix_options : mapping
        How records become a matrix of 0 and 1, as arguments of :meth:`psychoedu.runners.Records.to_matrix`.
    measures : mapping of str to callable
        Further figures of a model under a condition, each made from its records (a DataFrame); they stand beside the rates.
    report : str or None
        ``"module:function"`` from the records to the benchmark's own tables: an object with ``summary()`` and ``save(folder)``.
    analysis : str or None
        ``"module:function"`` that goes on from the response matrix to tables, called as
        ``analysis(matrix, bank=, cuts=, diagnosis=, method=)``.
    """

    name: str
    title: str
    conditions: Mapping[str, str]
    default_conditions: tuple[str, ...]
    load_items: Callable[[Any], Any]
    task: str
    messages: Callable[..., Messages]
    protocol: Mapping[str, Any] = field(default_factory=dict)
    repeats: int = 1
    max_tokens: int | None = None
    temperature: float | None = 0.0
    top_p: float | None = None
    calls: Callable[[Any, str], int] = lambda item, condition: 1
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    optional_roles: tuple[str, ...] = ()
    role_options: Mapping[str, str] = field(default_factory=dict)
    role_calls: Callable[[str, int, int], int] = lambda condition, n_items, repeats: 0
    roles_are_shared: bool = True
    matrix_options: Mapping[str, Any] = field(default_factory=dict)
    measures: Mapping[str, Callable[[pd.DataFrame], float]] = field(default_factory=dict)
    report: str | None = None
    analysis: str | None = None

    def task_factory(self) -> Callable[..., Any]:
        """Return the function that makes the Inspect task; needs inspect_ai."""
        found: Callable[..., Any] = named_function(self.task)
        return found

    def check_conditions(self, conditions: Sequence[str] | None) -> list[str]:
        """Return the conditions to run, each once, or refuse one that the benchmark does not have."""
        if conditions is None or len(conditions) == 0:
            return list(self.default_conditions)
        wanted = [conditions] if isinstance(conditions, str) else list(conditions)
        unknown = [name for name in wanted if name not in self.conditions]
        if unknown:
            raise RunnerError(
                f"{self.name} has no condition {listed(unknown)}. Expected some of {listed(list(self.conditions))}."
            )
        return list(dict.fromkeys(wanted))


_KNOWN: dict[str, str | Benchmark] = {
    "csebench": "psychoedu.runners.csebench.benchmark:CSEBENCH",
    "aligned-neuromyths": "psychoedu.runners.aligned.neuromyths:NEUROMYTHS",
    "aligned-diagnostic": "psychoedu.runners.aligned.diagnostic:DIAGNOSTIC",
    "aligned-certification": "psychoedu.runners.aligned.certification:CERTIFICATION",
    "aligned-comparative": "psychoedu.runners.aligned.comparative:COMPARATIVE",
    "aligned-grading": "psychoedu.runners.aligned.grading:GRADING",
}
"""Benchmarks by name; a text is where the description is imported from when it is asked for."""


def register(benchmark: Benchmark) -> Benchmark:
    """Make a benchmark known by its name, for :func:`psychoedu.runners.run` and the command line.

    Parameters
    ----------
    benchmark : Benchmark

    Returns
    -------
    Benchmark
        The same.
    """
    _KNOWN[benchmark.name] = benchmark
    return benchmark


def benchmark_named(name: str | Benchmark) -> Benchmark:
    """Return a benchmark by its name.

    Raises
    ------
    RunnerError
        There is none of this name.
    """
    if isinstance(name, Benchmark):
        return name
    if name not in _KNOWN:
        raise RunnerError(
            f"There is no benchmark {name!r}. Expected one of {', '.join(sorted(_KNOWN))}; see psychoedu run --list."
        )
    found = _KNOWN[name]
    if isinstance(found, str):
        found = _KNOWN[name] = named_function(found)
    assert isinstance(found, Benchmark)
    return found


def known_benchmarks() -> list[Benchmark]:
    """Return every benchmark, by name."""
    return [benchmark_named(name) for name in sorted(_KNOWN)]


_HELD: dict[str, Any] = {}


@contextmanager
def held(name: str, bank: Any) -> Iterator[None]:
    """Keep a bank that was read already under the name by which tasks ask for it, so that no task reads it again."""
    _HELD[name] = bank
    try:
        yield
    finally:
        _HELD.pop(name, None)


def held_banks() -> tuple[Any, ...]:
    """Return the banks of the run that is being prepared or made."""
    return tuple(_HELD.values())


def held_bank(name: str) -> Any:
    """Return the bank that a run keeps under a name, or None."""
    return _HELD.get(name)


def named_function(place: str) -> Any:
    """Import what ``"module:name"`` names."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
