"""One call for the results of any tool: recognise, read, and join into records."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from psychoedu.runners.importers import helm, inspect_log, lm_eval, py_irt, tables
from psychoedu.runners.importers.content import MAX_BYTES, Options, Reading
from psychoedu.runners.importers.discover import PathLike, discovered
from psychoedu.runners.importers.join import joined
from psychoedu.runners.records import Records
from psychoedu.runners.records_frame import printable_messages
from psychoedu.validation import check_choice, check_flag, check_integer, check_positive

_READERS: dict[str, Callable[[Path, Options], Reading]] = {
    "inspect": inspect_log.read,
    "lm-eval": lm_eval.read,
    "helm": helm.read,
    "py-irt": py_irt.read,
    "pedagogy": tables.read_pedagogy,
    "records": tables.read_records,
    "long": tables.read_long,
    "wide": tables.read_wide,
}


def read_results(
    path: PathLike | Iterable[PathLike],
    format: str | None = None,
    *,
    score: str | Sequence[str] | None = None,
    repeats: str | None = None,
    model: str | None = None,
    condition: str | None = None,
    item: str | None = None,
    filter: str | None = None,
    columns: Mapping[str, str] | None = None,
    metadata: str | Sequence[str] | None = None,
    transposed: bool = False,
    max_score: float | None = None,
    full: bool = False,
    max_bytes: int = MAX_BYTES,
) -> Records:
    r"""Read results that other tools wrote: Inspect, lm-evaluation-harness, HELM, py-irt, tables and more, into records.

    Parameters
    ----------
    path : path, or iterable of paths
        A file, a folder (read with its subfolders), a pattern such as ``"logs/*.eval"``, or several of them.
    format : str, optional
        "inspect", "lm-eval", "helm", "py-irt", "pedagogy", "records", "long" or "wide"; recognised by content if None.
    score : str or sequence of str, optional
        Which score is read where there are several: a scorer of Inspect (``"scorer/key"`` where its values are mappings), a
        metric of lm-evaluation-harness, a stat of HELM, a column of a long table. Of several names the first that is there.
    repeats : {"append"}, optional
        What to do where the same model, condition, item and epoch stand in two files: an error, or further runs.
    model : str, optional
        The model, where files do not name it (it replaces what they say, but not in tables of several models).
    condition : str, optional
        Where the condition stands: an argument or metadata of an Inspect task, a setting of the others, a column. Default:
        ``condition``, and the number of shots in lm-evaluation-harness and HELM.
    item : str, optional
        The field of a document (lm-evaluation-harness), or the column (long tables), that labels the item.
    filter : str, optional
        The filter of lm-evaluation-harness; default the first in the file.
    columns : mapping, optional
        Columns of a long table by the record's names, as ``{"model": "who", "item_id": "what", "score": "right"}``.
    metadata : str or sequence of str, optional
        Which metadata are kept; all of Inspect's and of tables by default, none of a lm-evaluation-harness document.
    transposed : bool
        Whether a wide table has a row per item.
    max_score : float, optional
        The highest score there is, where it is not 1.
    full : bool
        Read full samples of an ``.eval`` log rather than summaries: raw replies, prompt hashes and model versions, about 20 times
        slower.
    max_bytes : int
        Most bytes that are read, or unpacked, of one file (256 MiB); it also bounds the number of objects and lists in JSON.

    Returns
    -------
    Records
        With notes on everything that was left out, renamed or assumed.

    Raises
    ------
    ResultsFormatError
        A file is of no known format, damaged, or not as its format says: the message names file and place.
    RecordsError
        The same response stands in two files, or responses contradict themselves.
    MissingDependencyError
        A file needs a package that is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "matrix.csv").write_text("model,q1,q2\na,1,0\nb,1,1\n")
    >>> read_results(folder / "matrix.csv")
    Records(4 records: 2 models, 2 items; 4 answered)
    """
    if format is not None:
        check_choice(format, tuple(_READERS), "format")
    if repeats is not None:
        check_choice(repeats, ("append",), "repeats")
    options = Options(
        score=_names(score),
        model=model,
        condition=condition,
        item=item,
        filter=filter,
        columns=dict(columns or {}),
        metadata=None if metadata is None else _names(metadata),
        transposed=check_flag(transposed, "transposed"),
        max_score=None if max_score is None else check_positive(max_score, "max_score"),
        full=check_flag(full, "full"),
        max_bytes=check_integer(max_bytes, "max_bytes", 1),
    )
    with printable_messages():
        found, notes = discovered([path] if isinstance(path, str | os.PathLike) else list(path), format, options)
        return joined([_READERS[kind](place, options) for place, kind in found], notes, repeats)


def _names(names: str | Sequence[str] | None) -> tuple[str, ...]:
    if names is None:
        return ()
    return (names,) if isinstance(names, str) else tuple(names)
