"""Run a benchmark on models: Inspect does the calls, and what comes back are records, a matrix, statistics and provenance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from psychoedu.exceptions import RunnerError
from psychoedu.response_data import INVALID_POLICIES
from psychoedu.responses import Reason, ResponseMatrix
from psychoedu.runners.benchmarks import Benchmark, held, named_function
from psychoedu.runners.inspect_set import LOCK, administer, check_inspect, locked, prepare
from psychoedu.runners.item_statistics import item_statistics
from psychoedu.runners.logs import read_logs
from psychoedu.runners.plan import Plan, make_plan
from psychoedu.runners.provenance import FILE, check_same_run, first_provenance, now, read_provenance, write_provenance
from psychoedu.runners.records import Records
from psychoedu.runners.settings import Settings, as_settings
from psychoedu.validation import check_choice, counted, listed

LOGS = "logs"
WRITTEN = ("records.csv", "records.parquet", "responses.csv", "item_statistics.csv", "rates.csv", "test_retest.csv")


@dataclass(frozen=True, eq=False)
class RunResult:
    """What a run has collected; made by :func:`run`.

    Attributes
    ----------
    plan : Plan
        What was asked for.
    records : Records or None
        One row per model, condition, item and run; None after a dry run.
    provenance : dict
        As in ``provenance.json``; empty after a dry run.
    out : Path
        Folder of the run.
    files : tuple of Path
        What was written, beside the logs.
    invalid : {"wrong", "missing"}
        How replies without an answer count in the matrix, unless it is asked for otherwise.
    """

    plan: Plan
    records: Records | None
    provenance: dict[str, Any]
    out: Path
    files: tuple[Path, ...] = ()
    invalid: str = "wrong"

    @property
    def log_dir(self) -> Path:
        """Folder of Inspect's logs; ``inspect view --log-dir`` shows them."""
        return self.out / LOGS

    @property
    def collected(self) -> Records:
        """The records, or an error after a dry run."""
        if self.records is None:
            raise RunnerError("This was a dry run, which collects nothing. Run it without dry_run=True.")
        return self.records

    def matrix(self, invalid: str | None = None, repeats: str | None = "majority") -> ResponseMatrix:
        """Return the response matrix: a row per model and condition; failed calls are missing.

        Parameters
        ----------
        invalid : {"wrong", "missing"}, optional
            How refused, unparsed and empty replies are scored; default: as the run was asked.
        repeats : {"majority", "first", "mean"} or None
            How the runs of a cell become one.
        """
        options: dict[str, Any] = {"unparsed": self.plan.protocol.get("unparsed", "vote"), **self.plan.benchmark.matrix_options}
        return self.collected.to_matrix(repeats=repeats, invalid=invalid or self.invalid, **options)

    def report(self, **options: Any) -> Any:
        """Return the benchmark's own tables, an object with ``summary()`` and ``save(folder)``; None where it has none.

        Parameters
        ----------
        **options
            What the benchmark's report takes.
        """
        place = self.plan.benchmark.report
        return None if place is None else named_function(place)(self.collected, **options)

    def rates(self) -> pd.DataFrame:
        """Return, by model and condition, counts by reason, the rate under each policy, and the benchmark's further figures."""
        table, frame = self.collected.rates(), self.collected.frame
        for name, measure in self.plan.benchmark.measures.items():
            own = {key: measure(part) for key, part in frame.groupby(["model", "condition"], sort=False)}
            table[name] = [own[key] for key in table.index]
        return table

    def item_statistics(self) -> pd.DataFrame:
        """Return how each item did under each condition; see :func:`psychoedu.runners.item_statistics.item_statistics`."""
        return item_statistics(self.collected, self.matrix(), self.plan.bank)

    def summary(self) -> str:
        """Return what was done, rates by model and condition, and what to look at, as fixed-width text."""
        if self.records is None:
            return self.plan.dry_run()
        return f"{self.plan.summary()}\n\n{self.findings()}"

    def findings(self) -> str:
        """Return rates by model and condition and what to look at, as fixed-width text."""
        return f"{self.collected.summary()}{self._measures()}"

    def _measures(self) -> str:
        names = list(self.plan.benchmark.measures)
        if not names:
            return ""
        return f"\n\n{self.rates()[names].round(3).to_string()}"


def run(
    benchmark: str | Benchmark,
    models: Any,
    conditions: Sequence[str] | str | None = None,
    *,
    items: Any = None,
    out: str | Path,
    repeats: int | None = None,
    limit: int | None = None,
    max_tokens: int | Mapping[Any, int] | None = None,
    roles: Mapping[str, Any] | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
    progress: bool = True,
    dry_run: bool = False,
    invalid: str = "wrong",
    announce: Callable[[str], None] | None = None,
    **protocol: Any,
) -> RunResult:
    """Administer a benchmark to models, or go on with a run that was stopped.

    Parameters
    ----------
    benchmark : str or Benchmark
        Such as "csebench".
    models : str or sequence of str
        Names of Inspect, such as "openai/gpt-4o", "ollama/qwen2.5:7b" or "simulated/theta=0.8".
    conditions : sequence of str, optional
        Default: the benchmark's own.
    items : path, "sample" or bank, optional
        Default: the sample that comes with the package, which carries no claim.
    out : path
        Folder of the run. If it holds the same run, stopped, that goes on: answers that are in its logs are not asked again.
    repeats : int, optional
        Runs of each item; default: the protocol's.
    limit : int, optional
        Only the first items. A later run into the same folder without it, or with a larger one, asks the others.
    max_tokens : int or {model: int}, optional
        Cap on generated tokens, for all models or for each (the key None: for the others); default: the protocol's. Reasoning
        models need thousands.
    roles : {role: model}, optional
        Other models that a condition needs; CSEBench's ``knowledge_model="..."`` is the same as ``{"knowledge": "..."}``.
    settings : Settings or mapping, optional
        Connections, retries, logs; see :class:`psychoedu.runners.settings.Settings`.
    progress : bool, default True
        Show a bar, on a terminal alone.
    dry_run : bool, default False
        Count the calls and lay out the prompts without making any call.
    invalid : {"wrong", "missing"}
        How refused, unparsed and empty replies count in ``responses.csv`` and ``.matrix()``; the records keep both.
    announce : callable, optional
        Takes a text that says what is going to be asked, before the first call, such as ``print``.
    **protocol
        Further parameters of the benchmark, as ``rule="strict"``.

    Returns
    -------
    RunResult
        ``.records``, ``.matrix()``, ``.item_statistics()``, ``.provenance``, ``.summary()``.

    Raises
    ------
    RunnerError
        A name is unknown, a model cannot be made, the folder holds a run with other settings or is in use, or the run was stopped
        from the keyboard.
    MissingDependencyError
        inspect_ai is not installed.
    ItemBankError
        The items are malformed.

    Notes
    -----
    Written to ``out``: ``logs/`` (Inspect's), ``records.parquet`` and ``records.csv``, ``responses.csv`` (the matrix),
    ``item_statistics.csv``, ``rates.csv``, ``test_retest.csv`` and ``provenance.json``. A call that fails for good is missing,
    with its error, and is asked again by the next run into the same folder; a reply without an answer is wrong, as the protocols
    say, and the matrix can count it as missing instead.

    Examples
    --------
    >>> from psychoedu.runners import run
    >>> plan = run("csebench", ["openai/gpt-4o"], ["zero_shot"], out="unused", limit=2, dry_run=True).plan
    >>> plan.n_calls
    6
    """
    plan = make_plan(
        benchmark, models, _listed(conditions), items=items, repeats=repeats, limit=limit, max_tokens=max_tokens, roles=roles,
        **protocol,
    )  # fmt: skip
    chosen, folder = as_settings(settings), Path(out)
    if dry_run:
        return RunResult(plan, None, {}, folder)
    check_inspect()
    is_new = not folder.exists()
    _make_folder(folder)
    try:
        with locked(folder):
            return _run(plan, chosen, folder, progress, check_choice(invalid, INVALID_POLICIES, "invalid"), announce)
    finally:
        if is_new and {path.name for path in folder.iterdir()} <= {LOCK}:  # refused before the first call
            (folder / LOCK).unlink(missing_ok=True)
            folder.rmdir()


def _run(
    plan: Plan, chosen: Settings, folder: Path, progress: bool, invalid: str, announce: Callable[[str], None] | None
) -> RunResult:
    """Run a plan in a folder that this process has for itself; nothing is written before models and tasks are made."""
    before = read_provenance(folder)
    content = first_provenance(plan, chosen, None if before is None else before["run_id"])
    content["matrix"] = {"invalid": invalid, "repeats": "majority", "unparsed": plan.protocol.get("unparsed", "vote")}
    if before is not None:
        check_same_run(before, content, folder)
        content["started"] = before["started"]
        plan = replace(plan, items=before["items"]["name"])  # as the logs name them
        content["items"]["name"] = plan.items
    else:
        _refuse_other_files(folder)
    with held(plan.items, plan.bank):
        prepared = prepare(plan, chosen)
        (folder / LOGS).mkdir(exist_ok=True)
        write_provenance(folder, content)
        if announce is not None:
            announce(plan.summary())
        try:
            logs = administer(prepared, plan, chosen, folder / LOGS, progress)
        except KeyboardInterrupt:
            write_provenance(folder, {**content, "status": "stopped"})
            raise RunnerError(f"Stopped. The same command goes on where it stopped; what was answered is in {folder}.") from None
        except BaseException:
            write_provenance(folder, {**content, "status": "failed"})
            raise
    records = read_logs(logs, folder, content["run_id"], plan.bank)
    result = RunResult(plan, records, _finished(content, plan, records, logs), folder, invalid=invalid)
    return replace(result, files=tuple(_write(result)))


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunnerError(f"The folder {folder} cannot be made: {error.strerror or error}. Name another one as out.") from error


def _refuse_other_files(folder: Path) -> None:
    """Refuse a folder without a provenance of ours that holds what a run would write over."""
    own = [name for name in WRITTEN if (folder / name).exists()]
    own += [f"{LOGS}/"] if any((folder / LOGS).glob("*")) else []
    if own:
        raise RunnerError(
            f"{folder} holds {listed(own)} of something else, without {FILE} of a run. Nothing was changed; use another folder."
        )


def _listed(conditions: Sequence[str] | str | None) -> Sequence[str] | None:
    return [conditions] if isinstance(conditions, str) else conditions


def _finished(content: dict[str, Any], plan: Plan, records: Records, logs: Sequence[Path]) -> dict[str, Any]:
    frame = records.frame
    models = []
    for member in content["models"]:
        own = frame[frame["model"] == member["model"]]
        reported = sorted(own["model_version"].dropna().unique())
        models.append({**member, "provider": member["model"].partition("/")[0], "reported": reported})
    return {
        **content,
        "status": _status(frame, plan),
        "finished": now(),
        "models": models,
        "decoding": {**content["decoding"], "by_condition": _decoding(frame)},
        "records": {"n": len(frame), "by_reason": {str(k): int(v) for k, v in frame["reason"].value_counts().items()}},
        "logs": sorted(f"{LOGS}/{path.name}" for path in logs),
    }


def _status(frame: pd.DataFrame, plan: Plan) -> str:
    if len(frame) < plan.n_samples:
        return "incomplete"
    return "calls failed" if (frame["reason"] == Reason.API_ERROR.label).any() else "complete"


def _decoding(frame: pd.DataFrame) -> dict[str, Any]:
    """Return, by condition, with which temperature and top-p the models were asked."""
    return {
        str(condition): {name: sorted(own[name].dropna().unique().tolist()) for name in ("temperature", "top_p")}
        for condition, own in frame.groupby("condition", sort=False)
    }


def _write(result: RunResult) -> list[Path]:
    out, records = result.out, result.collected
    written = [*records.save(out)]
    tables = {
        "responses.csv": result.matrix().to_frame(),
        "item_statistics.csv": result.item_statistics(),
        "rates.csv": result.rates(),
    }
    if result.plan.repeats > 1:
        tables["test_retest.csv"] = records.test_retest()
    for name, table in tables.items():
        table.to_csv(out / name)
        written.append(out / name)
    return [*written, write_provenance(out, result.provenance)]


def told(result: RunResult) -> str:
    """Return in one line what was written and where."""
    names = ", ".join(path.name for path in result.files)
    return f"wrote {result.out}: {counted(len(result.collected), 'record')} ({names}, {LOGS}/)"
