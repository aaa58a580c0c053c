"""Files of py-irt: a line per subject, ``{"subject_id": ..., "responses": {item: 0 or 1}}``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from psychoedu.exceptions import ResultsFormatError
from psychoedu.response_codes import ANSWERED, Reason
from psychoedu.runners.importers import content
from psychoedu.runners.importers.content import Options, Reading, frame_of, label_of, number_of, take, told


def read(path: Path, options: Options) -> Reading:
    """Read one file.

    Raises
    ------
    ResultsFormatError
        A line is no such object, or a response no number from 0 to 1.
    """
    rows: list[dict[str, Any]] = []
    for number, line in content.json_lines(path, options.max_bytes):
        where = f"{path} line {number}"
        subject = label_of(line.get("subject_id"), where, "the field 'subject_id'")
        for item, value in take(line, "responses", "an object", where).items():
            score = number_of(value)
            if value is not None and score is None:
                raise ResultsFormatError(f"{where}: the response to {item!r} is {told(value)}; expected 0, 1 or null.")
            rows.append(
                {
                    "model": subject,
                    "item_id": label_of(item, where, "the name of an item"),
                    "score": score,
                    "reason": Reason.NOT_ADMINISTERED.label if value is None else ANSWERED,
                    "max_score": options.max_score,
                    "log_uri": str(path),
                }
            )
    if not rows:
        raise ResultsFormatError(
            f"{path} holds no responses. Expected a line per subject with the fields subject_id and responses."
        )
    return Reading(frame_of(rows), str(path))
