"""Where the items of an evaluation come from: a bank, a file, the sample, or the bank that a run keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from psychoedu.runners.banks import sample
from psychoedu.runners.benchmarks import held_bank


def items_of(items: Any, kind: type[Any], sample_name: str, load: Callable[[Any], Any]) -> Any:
    """Return a bank: as it is, the one that a run keeps under this name, the sample, or from a file.

    Parameters
    ----------
    items : bank, path or "sample"
    kind : type
        Of the bank.
    sample_name : str
        Of the bank that comes with the package.
    load : callable
        From a path to the bank.
    """
    if isinstance(items, kind):
        return items
    name = str(items)
    kept = held_bank(name)
    if isinstance(kept, kind):
        return kept
    return sample(sample_name) if name == "sample" else load(name)
