"""The hash by which a record names the exact messages that a model was sent."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable


def prompt_hash(messages: Iterable[tuple[str, str]]) -> str:
    """Return the SHA-256 of messages, as hexadecimal digits.

    Parameters
    ----------
    messages : iterable of (role, text)
        In the order in which they are sent, role as "system", "user" or "assistant".

    Returns
    -------
    str
        Of the JSON list ``[[role, text], ...]`` without white space, in UTF-8.

    Examples
    --------
    >>> prompt_hash([("user", "Hello")])[:12]
    'b0ae8b0f316e'
    """
    document = json.dumps([[role, text] for role, text in messages], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(document.encode("utf-8", "surrogatepass")).hexdigest()
