"""One evaluation set of Inspect for a plan: tasks with their models, the progress bar, and the logs that came of it."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from psychoedu.exceptions import MissingDependencyError, PsychoeduError, RunnerError
from psychoedu.runners.logs import answered_before, local_path
from psychoedu.runners.plan import Plan
from psychoedu.runners.settings import EXTRA, Settings, refuse_address, without_secrets

LOCK = ".lock"


def check_inspect() -> None:
    """Refuse to start without inspect_ai.

    Raises
    ------
    MissingDependencyError
        Names the extra to install.
    """
    try:
        import inspect_ai  # noqa: F401  # whether it is there
    except ImportError as error:
        raise MissingDependencyError(
            f"A run needs the package inspect_ai, which is not installed. Install it with: {EXTRA}"
        ) from error


@dataclass
class Prepared:
    """Inspect's tasks of a plan, with their models; ``tick`` is called after each sample."""

    tasks: list[Any] = field(default_factory=list)
    tick: Callable[[], None] = lambda: None


def prepare(plan: Plan, settings: Settings) -> Prepared:
    """Make the models and tasks of a plan, without any call and without any file.

    Parameters
    ----------
    plan : Plan
    settings : Settings

    Returns
    -------
    Prepared

    Raises
    ------
    RunnerError
        A model or role cannot be made, or a parameter of the task is wrong.
    """
    made = Prepared()
    with told_shortly():
        made.tasks = _tasks(plan, settings, lambda: made.tick())
    return made


def administer(prepared: Prepared, plan: Plan, settings: Settings, log_dir: Path, progress: bool = True) -> list[Path]:
    """Ask every model every item under every condition, as far as the logs in the folder do not hold it already.

    Parameters
    ----------
    prepared : Prepared
    plan : Plan
    settings : Settings
    log_dir : Path
        Folder of the logs; exists.
    progress : bool
        Show a bar on a terminal.

    Returns
    -------
    list of Path
        One log for each model and condition.

    Raises
    ------
    RunnerError
        A task failed as a whole.
    KeyboardInterrupt
        It was stopped from the keyboard.
    """
    from inspect_ai import eval_set

    tasks = prepared.tasks
    with told_shortly(), bar(plan, log_dir, progress and settings.display == "none") as tick:
        prepared.tick = tick
        with redirect_stdout(io.StringIO()) if settings.display == "none" else _nothing():
            _, headers = eval_set(tasks, log_dir=str(log_dir), model=None, limit=plan.limit, **settings.eval_set_options())
    if len(headers) < len(tasks) or any(_interrupted(header) for header in headers):
        raise KeyboardInterrupt  # which Inspect takes as a wish to end, and returns
    broken = [(header.eval.model, header.error.message) for header in headers if header.error is not None]
    if broken:  # tasks as a whole: calls that failed leave no such error
        raise RunnerError(
            f"{len(broken)} of {len(headers)} tasks did not come to an end, first {broken[0][0]}: "
            f"{without_secrets(_plain(broken[0][1]))}\nWhat was answered is kept; the same command goes on."
        )
    place = {name: number for number, name in enumerate([*plan.models, *plan.conditions])}
    headers.sort(key=lambda header: (place[header.eval.model], place[header.eval.task_args["condition"]]))
    return [local_path(header.location) for header in headers]


def _interrupted(header: Any) -> bool:
    """Tell whether a task was ended before all of its samples were done."""
    counts = header.results
    abandoned = counts is not None and counts.logged_samples is not None and counts.logged_samples < counts.total_samples
    return header.status == "cancelled" or abandoned


def _tasks(plan: Plan, settings: Settings, tick: Callable[[], None]) -> list[Any]:
    factory = plan.benchmark.task_factory()
    models = {name: plan.instances.get(name) or _model(name, settings) for name in plan.models}
    roles = {role: plan.role_instances[role] or _model(name, settings) for role, name in plan.roles.items()}
    for name, model in [*models.items(), *((plan.roles[role], model) for role, model in roles.items())]:
        for address in (model.api.base_url, *_environment_addresses(name)):
            refuse_address(address, f"The address of {name}")
    tasks = []
    for condition in plan.conditions:
        wanted = (*plan.benchmark.roles.get(condition, ()), *plan.benchmark.optional_roles)
        needed = {role: roles[role] for role in wanted if role in roles}
        for name, model in models.items():
            made = factory(**plan.task_arguments(name, condition))
            made.model = model
            made.model_roles = needed or None
            made.cleanup = _counting(made.cleanup, tick)
            tasks.append(made)
    return tasks


def _environment_addresses(name: str) -> list[str]:
    """Return the addresses that environment variables give for a model's provider, as OPENAI_BASE_URL does."""
    providers = [part.upper().replace("-", "_") for part in name.split("/")[:-1]]
    return [os.environ[f"{provider}_BASE_URL"] for provider in providers if f"{provider}_BASE_URL" in os.environ]


def _model(name: str, settings: Settings) -> Any:
    from inspect_ai.model import get_model

    return get_model(name, base_url=settings.base_url, memoize=False, **settings.model_args)


def _counting(first: Any, tick: Callable[[], None]) -> Callable[[Any], Awaitable[None]]:
    """Return a clean-up that Inspect calls after each sample, failed ones as well: the task's own, then one step of the bar."""

    async def cleanup(state: Any) -> None:
        tick()
        if first is not None:
            await first(state)

    return cleanup


@contextmanager
def bar(plan: Plan, log_dir: Path, shown: bool) -> Iterator[Callable[[], None]]:
    """Show how many of the items and runs are done, on a terminal alone; yields what moves it by one."""
    from tqdm import tqdm

    total = plan.n_samples  # counted once: it goes through all items
    with tqdm(total=total, unit="answer", desc=plan.benchmark.name, disable=None if shown else True) as line:
        if not line.disable:
            line.update(min(answered_before(log_dir), total))

        def tick() -> None:
            if line.n < total:  # a sample that is tried again counts once more
                line.update()

        yield tick


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep a second process out of the folder of a run, so that nothing is paid for twice; a kill frees it.

    Raises
    ------
    RunnerError
        Another process runs in it.
    """
    try:
        import fcntl
    except ImportError:  # no such locks on Windows
        yield
        return
    with (folder / LOCK).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise RunnerError(f"Another process runs in {folder}. Wait for it, stop it, or use another folder.") from error
        yield  # the file stays: a third process might hold a lock on one that was taken away


@contextmanager
def told_shortly() -> Iterator[None]:
    """Turn what Inspect raises before the first call (no key, no client package, no such provider) into one short error."""
    try:
        yield
    except PsychoeduError:
        raise
    except Exception as error:
        said = getattr(error, "message", None) or f"{type(error).__name__}: {error}"
        raise RunnerError(f"Inspect cannot carry out the run. {without_secrets(_plain(str(said)))}") from error


def _plain(text: str) -> str:
    """Return a message without the marks for bold and colour, in one line."""
    return " ".join(re.sub(r"\[/?[a-z ]+\]", "", text).removeprefix("ERROR: ").split())


@contextmanager
def _nothing() -> Iterator[None]:
    yield
