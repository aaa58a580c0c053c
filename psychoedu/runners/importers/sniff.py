"""Which format a file has, by what stands in it."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from typing import Any

from psychoedu.exceptions import ResultsFormatError
from psychoedu.runners.importers import content, helm, tables
from psychoedu.runners.importers.content import Options
from psychoedu.validation import listed

FORMATS = {
    "inspect": "inspect (.eval, .json)",
    "lm-eval": "lm-eval (samples_*.jsonl)",
    "helm": "helm (run folders)",
    "py-irt": "py-irt (subject_id, responses)",
    "pedagogy": "pedagogy (question_id, pred_*)",
    "records": "records (of psychoedu)",
    "long": "long (model, item_id, score)",
    "wide": "wide (a column per item)",
}
"""Names of the formats, and what they are."""

_MANIFEST = re.compile(r'\s*\{\s*"[^"]+\.(eval|json)"\s*:')
_HEAD = 1 << 16
_SIGNS = re.compile(r'"(subject_id|doc_id|resps|instance_id|eval_id|eval)"\s*:')
"""Keys by which a broken file is known as one of results."""

_SAMPLE_ROWS = 50
_MAGIC = {
    b"\x1f\x8b": "packed with gzip; unpack it first",
    b"\x28\xb5\x2f\xfd": "packed with zstd; unpack it first",
    b"BZh": "packed with bzip2; unpack it first",
    b"\xfd7zXZ": "packed with xz; unpack it first",
    b"SQLite format 3": "an SQLite database",
    b"%PDF": "a PDF",
    b"\x89PNG": "an image",
    b"\xff\xfe": "text in UTF-16; save it as UTF-8",
    b"\xfe\xff": "text in UTF-16; save it as UTF-8",
}


def known_formats() -> str:
    """Return the formats in one line, for messages."""
    return "; ".join(FORMATS.values())


class UnknownFormatError(ResultsFormatError):
    """A file is of no known format; in a folder it is passed over, with a note unless it is expected beside results."""

    beside_results = False


class BesideResultsError(UnknownFormatError):
    """A file is no results, but one that a tool writes beside them."""

    beside_results = True


def unknown(path: Path, saw: str) -> UnknownFormatError:
    """Return the error for a file of no known format."""
    return UnknownFormatError(f"{path} is of no format that is read here: it is {saw}.\nKnown formats: {known_formats()}.")


def recognise(path: Path, options: Options) -> str:
    """Return the name of a file's (or run folder's) format.

    Raises
    ------
    ResultsFormatError
        It is none of them (:class:`UnknownFormatError`; the message says what was seen), or it is recognised, but broken.
    """
    if path.is_dir():
        if helm.is_run(path):
            return "helm"
        raise unknown(path, "a folder without files of a HELM run")
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if not head.strip():
        raise unknown(path, "empty")
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _recognise_archive(path)
    if head.startswith(b"PAR1"):
        return tables.kind_of(tables.parquet_names(path), options)
    for magic, what in _MAGIC.items():
        if head.startswith(magic):
            raise unknown(path, what)
    text = head.decode("utf-8-sig", "replace").lstrip()
    if text.startswith(("{", "[")):
        return _recognise_json(path, text, options)
    if "\0" in text:
        raise unknown(path, f"binary, beginning with {head[:8]!r}")
    if text.startswith("<"):
        raise unknown(path, f"HTML or XML, beginning with {text[:30]!r}")
    return _recognise_csv(path, options)


def _recognise_archive(path: Path) -> str:
    try:
        with zipfile.ZipFile(path) as file:
            names = file.namelist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        return "inspect"  # its reader says what is wrong with the archive
    if any(name in names for name in ("header.json", "_journal/start.json")):
        return "inspect"
    raise unknown(path, f"a zip archive with the entries {listed(names)}")


def _recognise_json(path: Path, text: str, options: Options) -> str:
    if _MANIFEST.match(text):
        raise BesideResultsError(f"{path} is the index that Inspect keeps of a folder of logs. Pass the folder, {path.parent}.")
    line = text.split("\n", 1)[0].strip()
    if len(line) >= _HEAD - 8:  # the first line goes on
        with path.open("rb") as file:
            line = file.readline(options.max_bytes).decode("utf-8-sig", "replace").strip()
    try:
        first = json.loads(line)
    except (ValueError, RecursionError):
        first = None
    if isinstance(first, dict):
        keys = set(first)
        if keys >= {"subject_id", "responses"}:
            return "py-irt"
        if "doc_id" in keys and keys & {"resps", "filtered_resps", "doc_hash"}:
            return "lm-eval"
        if "eval" in keys:
            return "inspect"
        raise _json_unknown(path, first)
    if text.startswith("{") and '"eval"' in text and '"version"' in text:
        return "inspect"
    try:
        document = content.read_json(path, options.max_bytes)
    except ResultsFormatError as error:
        if _SIGNS.search(text):
            raise
        raise UnknownFormatError(f"{error}\nIt has no sign of a known format: {known_formats()}.") from error
    if isinstance(document, dict) and "eval" in document:
        return "inspect"
    if isinstance(document, list) and document and isinstance(document[0], dict) and "instance_id" in document[0]:
        return "helm"
    raise _json_unknown(path, document)


def _json_unknown(path: Path, document: Any) -> UnknownFormatError:
    if isinstance(document, dict):
        if {"results", "configs"} <= set(document) or "lm_eval_version" in document:
            return BesideResultsError(
                f"{path} holds the aggregates of lm-evaluation-harness, no single responses.\n"
                "Expected the samples_<task>_<date>.jsonl beside it (run lm_eval with --log_samples)."
            )
        if "adapter_spec" in document:
            return UnknownFormatError(f"{path} is a run_spec.json of HELM; pass its folder, {path.parent}.")
        return unknown(path, f"JSON with the keys {listed(list(document))}")
    if isinstance(document, list) and document:
        entry = document[0]
        return unknown(
            path, "a JSON list of " + (f"objects with the keys {listed(list(entry))}" if isinstance(entry, dict) else "values")
        )
    return unknown(path, f"JSON, {content.told(document)}")


def _recognise_csv(path: Path, options: Options) -> str:
    try:
        frame = tables.read_table(path, options, _SAMPLE_ROWS)[0]
    except ResultsFormatError as error:
        if _names_of_table(path, options):
            raise
        raise UnknownFormatError(f"{error}\nIts first line names no columns of a known table.") from error
    names = list(frame.columns)
    if set(names) >= {"answers", "resps", "success"}:
        raise unknown(
            path, "a cache of pedagogy-benchmark without question ids (answers, resps, success); read its results table instead"
        )
    kind = tables.kind_of(names, options)
    if kind == "wide":
        if frame.shape[1] < 2:
            raise unknown(path, f"text, beginning with {path.read_text(encoding='utf-8', errors='replace')[:40]!r}")
        if not options.columns and not all(_holds_numbers(frame[name]) for name in names[1:]):
            raise unknown(
                path,
                f"a table with the columns {listed(names)}, which holds other than numbers after the first; for a long table, "
                "say which column is which, as in columns={'model': 'who', 'item_id': 'what', 'score': 'right'}",
            )
    return "long" if kind == "wide" and options.columns else kind


def _names_of_table(path: Path, options: Options) -> bool:
    """Return whether a table that cannot be read is one of results, by its first line."""
    with path.open("rb") as file:
        first = file.readline(_HEAD).decode("utf-8-sig", "replace")
        second = file.readline(_HEAD).decode("utf-8", "replace")
    sep = tables.separator(path)
    names = [name.strip().strip('"') for name in first.split(sep)]
    cells = second.strip().split(sep)
    return tables.kind_of(names, options) != "wide" or (len(names) > 1 and len(cells) > 1 and all(map(_is_number, cells[1:])))


def _holds_numbers(cells: Any) -> bool:
    """Return whether a column holds numbers, a few mistakes aside: those are for the reader to name."""
    known = [cell for cell in cells if cell]
    return sum(map(_is_number, known)) * 2 > len(known) or not known


def _is_number(cell: str) -> bool:
    try:
        tables.score_in(cell.replace(",", "."))  # a decimal comma is refused later, with its row
    except ValueError:
        return False
    return True
