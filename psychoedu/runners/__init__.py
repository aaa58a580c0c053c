"""Runners of benchmarks and importers of result files: what collects the responses of models.

The names below are imported when they are first used, and none of them needs inspect_ai before it runs something.

Examples
--------
>>> from psychoedu.runners import RECORD_COLUMNS
>>> list(RECORD_COLUMNS)[:5]
['run_id', 'benchmark', 'subset', 'item_id', 'model']
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psychoedu.runners.importers.read import read_results
    from psychoedu.runners.records import RECORD_COLUMNS, Records
    from psychoedu.runners.run import run

__all__ = ["RECORD_COLUMNS", "Records", "read_results", "run"]

_SOURCES = {
    "RECORD_COLUMNS": "psychoedu.runners.records",
    "Records": "psychoedu.runners.records",
    "read_results": "psychoedu.runners.importers.read",
}


class _Room(ModuleType):
    """A package whose ``run`` stays the function, also after the module of that name was imported."""

    @property
    def run(self) -> Any:
        """The function :func:`psychoedu.runners.run.run`."""
        return import_module("psychoedu.runners.run").run

    @run.setter
    def run(self, module: ModuleType) -> None:
        """Take no notice of the module that an import puts here."""


def __getattr__(name: str) -> Any:
    if name not in _SOURCES:
        raise AttributeError(f"module 'psychoedu.runners' has no attribute {name!r}")
    value = getattr(import_module(_SOURCES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


sys.modules[__name__].__class__ = _Room
