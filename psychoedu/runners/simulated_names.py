"""Names of simulated respondents, such as ``theta=0.8,seed=3,flip=0.1``, read strictly."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from psychoedu.exceptions import DataError
from psychoedu.runners.simulated import RATES, SimulatedRespondent, success_of
from psychoedu.validation import shown

KEYS = ("theta", "profile", "seed", *RATES)
EXAMPLES = "simulated/theta=0.8,seed=3 or simulated/profile=1011"
_WHOLE = re.compile(r"[+-]?\d+")


def respondent_named(name: str, bank: Any = None, options: Mapping[str, Any] | None = None) -> SimulatedRespondent:
    """Make a respondent from its name.

    Parameters
    ----------
    name : str
        ``key=value`` parted by commas, or by colons, since Inspect's command line parts models by commas: ``theta`` or
        ``profile``, ``seed``, and the rates of :class:`SimulatedRespondent`.
    bank : ItemBank, Calibration or Diagnosis, optional
    options : mapping, optional
        The seed and rates for keys that the name does not have.

    Returns
    -------
    SimulatedRespondent

    Raises
    ------
    DataError
        A key is unknown or comes twice, or a value is not as expected.

    Examples
    --------
    >>> respondent_named("theta=0.8,seed=3,flip=0.1")
    SimulatedRespondent(theta=0.8, seed=3, flip=0.1)
    >>> respondent_named("theta=0.8:seeds=3")
    Traceback (most recent call last):
    psychoedu.exceptions.DataError: simulated/theta=0.8:seeds=3 has a key 'seeds'; did you mean 'seed'?
    Expected some of theta, profile, seed, flip, sentence, wrong_format, refuse, empty, error, as in simulated/theta=0.8,seed=3 or simulated/profile=1011.
    """  # noqa: E501  # the error message is one line
    found = _read(name)
    for key, value in (options or {}).items():
        _check_key(key, f"The options of simulated/{name} have", KEYS[2:])
        if key not in found:
            found[key] = _value(key, str(value), name)
    theta, profile = found.get("theta"), found.get("profile")
    if (theta is None) == (profile is None):
        both = "both theta and profile" if theta is not None else "neither theta nor profile"
        raise DataError(f"simulated/{name} has {both}; expected one of them, as in {EXAMPLES}.")
    return SimulatedRespondent(success={} if bank is None else success_of(bank, theta, profile), **found)


def _read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in re.split(r"[,:]", name):
        key, equals, text = part.strip().partition("=")
        if not equals:
            raise DataError(f"simulated/{name}: {part!r} is no key=value. Expected a name as {EXAMPLES}.")
        _check_key(key, f"simulated/{name} has", KEYS)
        if key in found:
            raise DataError(f"simulated/{name} has {key} twice. Expected each key once.")
        found[key] = _value(key, text.strip(), name)
    return found


def _check_key(key: str, subject: str, known: tuple[str, ...]) -> None:
    if key in known:
        return
    close = get_close_matches(key.lower(), known, 1, cutoff=0.5)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    raise DataError(f"{subject} a key {key!r}{hint}\nExpected some of {', '.join(known)}, as in {EXAMPLES}.")


def _value(key: str, text: str, name: str) -> Any:
    if key == "profile":
        return text
    if key == "seed":
        if not _WHOLE.fullmatch(text):
            raise DataError(f"simulated/{name}: seed has to be a whole number; got {shown(text)}.")
        return int(text)
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise DataError(f"simulated/{name}: {key} has to be a number; got {shown(text)}.")
    return number
