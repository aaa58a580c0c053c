"""How a run is carried out: connections, retries, logs; and what a run must never be given: keys."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from psychoedu.exceptions import RunnerError
from psychoedu.validation import check_choice, check_flag, check_integer, listed

EXTRA = 'pip install "psychoedu[runners]"'
REMOVED = "[removed]"
SECRET_NAME = re.compile(
    r"(?:^|[_-])(?:api_?key|key|token|secret|password|passwd|credential|auth|authorization|signature|sig)s?(?:$|[_-])",
    re.IGNORECASE,
)
NOT_SECRET = frozenset({"max_tokens", "reasoning_tokens", "knowledge_max_tokens", "token_limit"})
LEAST_SECRET = 8
"""Values of environment variables that are shorter are no keys; taking them out of a text would spoil it."""


@dataclass(frozen=True)
class Settings:
    """Options of :func:`psychoedu.runners.run` that are not the benchmark's own; those of Inspect keep their names.

    Attributes
    ----------
    max_connections : int
        Calls to one provider at a time. As many as it needs to stay busy, and no more: each sample in work costs memory.
    max_samples : int, optional
        Samples in work at a time in each task; default ``max_connections``.
    max_tasks : int, optional
        Tasks (a model under a condition) in work at a time; default Inspect's.
    max_retries : int
        Attempts after a failed call (rate limit, server error, time-out), with growing waits: 6 take about three minutes.
        Inspect's own default never gives up.
    timeout, attempt_timeout : int, optional
        Seconds for a call with all its retries, and for one attempt.
    retry_on_error : int
        How often a whole sample is tried again after its call has failed for good.
    log_format : {"eval", "json"}
    log_realtime : bool
        Write every sample at once: nothing that was paid for is lost if the process is killed, at about 6 ms of processor time a
        sample. False: up to ``log_buffer`` samples a task, and the calls in flight, are asked again.
    log_buffer : int
        Samples kept back before the log file is written.
    display : str
        Inspect's own display; "none" leaves the screen to the progress bar.
    log_level : str
        What Inspect says on the screen: "warning" and above by default.
    base_url : str, optional
        Address of the providers' interface; never with a user name, password or key in it.
    model_args : mapping
        Arguments of the model provider, for all models.
    seed : int, optional
        Asked of providers that have one; best effort.
    generate : mapping
        Further options of Inspect's GenerateConfig, as ``{"reasoning_effort": "low"}``.
    """

    max_connections: int = 10
    max_samples: int | None = None
    max_tasks: int | None = None
    max_retries: int = 6
    timeout: int | None = None
    attempt_timeout: int | None = None
    retry_on_error: int = 0
    log_format: str = "eval"
    log_realtime: bool = False
    log_buffer: int = 10
    display: str = "none"
    log_level: str = "warning"
    base_url: str | None = None
    model_args: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    generate: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("max_connections", "log_buffer"):
            check_integer(getattr(self, name), name, 1)
        for name in ("max_retries", "retry_on_error"):
            check_integer(getattr(self, name), name, 0)
        for name in ("max_samples", "max_tasks", "timeout", "attempt_timeout"):
            if getattr(self, name) is not None:
                check_integer(getattr(self, name), name, 1)
        if self.seed is not None:
            check_integer(self.seed, "seed")
        check_choice(self.log_format, ("eval", "json"), "log_format")
        check_flag(self.log_realtime, "log_realtime")
        taken = [name for name in self.generate if name in _OWN_GENERATE]
        if taken:
            raise RunnerError(
                f"generate holds {listed(taken)}, which the benchmark or another setting gives. Leave it out there."
            )
        refuse_keys(self.model_args, "model_args")
        refuse_keys(self.generate, "generate")
        refuse_address(self.base_url, "base_url")

    @property
    def answers(self) -> dict[str, Any]:
        """Those settings that may change what a model answers: a run cannot go on with others."""
        return {name: plain(getattr(self, name)) for name in ("seed", "model_args", "generate")}

    def to_dict(self) -> dict[str, Any]:
        """Return every setting as plain values."""
        return {name: plain(value) for name, value in asdict(self).items()}

    def eval_set_options(self) -> dict[str, Any]:
        """Return the arguments of ``inspect_ai.eval_set`` that these settings stand for."""
        chosen = {
            "max_connections": self.max_connections,
            "max_samples": self.max_samples or self.max_connections,
            "max_tasks": self.max_tasks,
            "max_retries": self.max_retries,
            "timeout": self.timeout,
            "attempt_timeout": self.attempt_timeout,
            "retry_on_error": self.retry_on_error or None,
            "seed": self.seed,
            **self.generate,
        }
        return {
            **{name: value for name, value in chosen.items() if value is not None},
            "log_format": self.log_format,
            "log_realtime": self.log_realtime,
            "log_buffer": self.log_buffer,
            "log_level": self.log_level,
            "display": self.display,
            # a failed call ends nothing, but marks its task as unfinished, so that the next run asks it again
            "fail_on_error": True,
            "continue_on_fail": True,
            "retry_attempts": 1,
            "retry_immediate": False,
        }


_OWN_GENERATE = frozenset(
    {"temperature", "top_p", "max_tokens", "system_message", "num_choices", "cache"} | {item.name for item in fields(Settings)}
)


def as_settings(settings: Settings | Mapping[str, Any] | None) -> Settings:
    """Return settings from a mapping of those that differ from the defaults.

    Raises
    ------
    RunnerError
        A name is none of a setting.
    """
    if isinstance(settings, Settings):
        return settings
    given = dict(settings or {})
    names = [item.name for item in fields(Settings)]
    unknown = [name for name in given if name not in names]
    if unknown:
        raise RunnerError(f"There are no settings {listed(unknown)}. Expected some of {', '.join(names)}.")
    return Settings(**given)


def plain(value: Any) -> Any:
    """Return mappings and sequences as dict and list, and what is no plain value as text."""
    if isinstance(value, Mapping):
        return {str(name): plain(member) for name, member in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(member) for member in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def refuse_keys(options: Mapping[str, Any], where: str) -> None:
    """Refuse options that look like keys: Inspect writes options into its logs.

    Raises
    ------
    RunnerError
        A name, also one inside, says key, token, secret, password or authorization.
    """
    for name, value in options.items():
        if SECRET_NAME.search(str(name)) and str(name) not in NOT_SECRET:
            raise RunnerError(
                f"{where} holds {name!r}, which looks like a key and would be written into the logs.\n"
                "Expected keys in environment variables, such as OPENAI_API_KEY; see the provider's page of Inspect."
            )
        if isinstance(value, Mapping):
            refuse_keys(value, where)
        elif isinstance(value, str) and "://" in value:
            refuse_address(value, f"{where}[{name!r}]")


def refuse_address(address: str | None, where: str) -> None:
    """Refuse an address with a user name, a password or a key in it: Inspect writes addresses into its logs.

    Raises
    ------
    RunnerError
        The address holds credentials; the message does not repeat them.
    """
    if not address:
        return
    parts = urlsplit(address)
    secret = [name for name, _ in parse_qsl(parts.query) if SECRET_NAME.search(name)]
    what = "credentials" if "@" in parts.netloc else f"a value of {secret[0]!r}" if secret else None
    if what is not None:
        raise RunnerError(
            f"{where} holds {what} for {parts.hostname}, which would be written into the logs.\n"
            "Expected an address without any; keys belong in environment variables."
        )


def without_secrets(value: Any, environment: Mapping[str, str] | None = None) -> Any:
    """Take the values of environment variables that are keys, and credentials in addresses, out of texts.

    Parameters
    ----------
    value : str, list, dict or other
        Texts inside are searched; others stay as they are.
    environment : mapping, optional
        Default: that of the process.

    Examples
    --------
    >>> without_secrets({"error": "401: sk-12345678 at https://me:pw@host/v1"}, {"OPENAI_API_KEY": "sk-12345678"})
    {'error': '401: [removed] at https://[removed]@host/v1'}
    """
    known = os.environ if environment is None else environment
    secrets = {text for name, text in known.items() if SECRET_NAME.search(name) and len(text) >= LEAST_SECRET}
    return _cleaned(value, sorted(secrets, key=len, reverse=True))


def _cleaned(value: Any, secrets: list[str]) -> Any:
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, REMOVED)
        return re.sub(r"(://)[^/\s@]+@", rf"\1{REMOVED}@", value)
    if isinstance(value, Mapping):
        return {_cleaned(name, secrets): _cleaned(member, secrets) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(member, secrets) for member in value]
    return value
