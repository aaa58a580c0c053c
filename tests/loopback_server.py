"""A small server on 127.0.0.1 that speaks OpenAI's chat protocol, misbehaves where told to, and counts what it was asked."""

from __future__ import annotations

import json
import re
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PATH = "/v1/chat/completions"
SERVED_MODEL = "served-2024-05-13"
"""What replies call their model, whatever name it was asked by."""


@dataclass(frozen=True)
class Request:
    """One request as it arrived; its key is compared and then forgotten.

    Attributes
    ----------
    model, item : str
        What is asked, and the number of the item in it ("" where there is none).
    attempt : int
        The client's count of its own tries, from 0.
    call : str
        One label for all tries that the client makes of a call by itself.
    at : float
        Seconds on a clock of its own.
    nth : int
        The call's place among those of this model for this item, from 1.
    body : dict
    headers : dict
        In lower case, without Authorization.
    authorized : bool
        Whether the key was the one expected.
    """

    model: str
    item: str
    attempt: int
    call: str
    at: float
    nth: int
    body: dict[str, Any]
    headers: dict[str, str]
    authorized: bool


@dataclass(frozen=True)
class Reply:
    """What is sent back.

    Attributes
    ----------
    text : str or None
        Content of the one choice.
    finish : str
        Reason for which it ends.
    usage : tuple of int
        Tokens of the input, of the output, and those of the output that went into reasoning.
    status : int
    headers : dict
        Further headers.
    wait : float
        Seconds before anything is sent.
    body : bytes, optional
        Sent in place of a completion.
    keep : float
        Share of the body that is sent before the connection is closed; 0: not even a status line, the connection is reset.
    """

    text: str | None = "B"
    finish: str = "stop"
    usage: tuple[int, int, int] = (60, 1, 0)
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    wait: float = 0.0
    body: bytes | None = None
    keep: float = 1.0

    @property
    def is_completion(self) -> bool:
        """Whether this is what a sound server sends, so that the call is done and paid for."""
        return self.status == 200 and self.body is None and self.keep == 1.0

    def content(self) -> bytes:
        """Return the body."""
        if self.body is not None:
            return self.body
        if self.status != 200:
            return json.dumps({"error": {"message": f"made to fail with {self.status}", "type": "server_error"}}).encode()
        asked, said, thought = self.usage
        message = {"role": "assistant", "content": self.text}
        completion = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": SERVED_MODEL,
            "choices": [{"index": 0, "message": message, "finish_reason": self.finish, "logprobs": None}],
            "usage": {
                "prompt_tokens": asked,
                "completion_tokens": said,
                "total_tokens": asked + said,
                "completion_tokens_details": {"reasoning_tokens": thought},
            },
        }
        return json.dumps(completion).encode()


def too_many(retry_after: float = 0.1) -> Reply:
    """429, with the seconds after which to ask again."""
    return Reply(status=429, headers=(("Retry-After", f"{retry_after:g}"),))


def broken() -> Reply:
    """500."""
    return Reply(status=500)


def slow(seconds: float) -> Reply:
    """A good answer that comes late."""
    return Reply(wait=seconds)


def half_json() -> Reply:
    """A whole response whose JSON breaks off."""
    whole = Reply().content()
    return Reply(body=whole[: len(whole) // 2])


def half_sent() -> Reply:
    """A response that breaks off before its announced length."""
    return Reply(keep=0.5)


def no_choices() -> Reply:
    """A completion without any choice."""
    return Reply(body=json.dumps({**json.loads(Reply().content()), "choices": []}).encode())


def all_thought(tokens: int = 8) -> Reply:
    """The cap went into reasoning: no text, the finish reason "length"."""
    return Reply(text="", finish="length", usage=(60, tokens, tokens))


def withheld() -> Reply:
    """The provider's filter took the answer."""
    return Reply(text=None, finish="content_filter", usage=(60, 0, 0))


def reset() -> Reply:
    """No reply; the connection is reset."""
    return Reply(keep=0.0)


def no_utf8() -> Reply:
    """JSON with bytes in its text that are no UTF-8."""
    return Reply(body=Reply(text="B@@").content().replace(b"@@", b"\xff\xfe"))


def not_json() -> Reply:
    """A proxy's page in place of a completion."""
    return Reply(body=b"<html><body>Bad gateway</body></html>", headers=(("Content-Type", "text/html"),))


Rule = Callable[[Request], Reply]


class Loopback:
    """A running server; made by :func:`loopback`.

    Attributes
    ----------
    rule : callable
        From a request to the reply; may be exchanged while it runs.
    requests : list of Request
        In the order of their arrival.
    completed : Counter
        Completions that were sent whole, by (model, item).
    most_at_once : int
        Requests that were being answered at the same time.
    """

    def __init__(self, rule: Rule, key: str) -> None:
        self.rule = rule
        self.requests: list[Request] = []
        self.completed: Counter[tuple[str, str]] = Counter()
        self.most_at_once = 0
        self._key = key
        self._in_work = 0
        self._labels: dict[tuple[str, str], dict[str, int]] = {}
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Address for clients, up to and with ``/v1``."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def calls(self) -> Counter[tuple[str, str]]:
        """Calls as the client counts them, its own tries of one call together, by (model, item)."""
        with self._lock:
            return Counter({asked: len(labels) for asked, labels in self._labels.items()})

    @property
    def tries(self) -> Counter[tuple[str, str]]:
        """Requests by (model, item)."""
        with self._lock:
            return Counter((one.model, one.item) for one in self.requests)

    def forget(self) -> None:
        """Count from zero."""
        with self._lock:
            self.requests.clear()
            self.completed.clear()
            self._labels.clear()
            self.most_at_once = 0

    def wait_for(self, count: int, alive: Callable[[], bool] = lambda: True, seconds: float = 60.0) -> None:
        """Return when so many requests have come; fail if whoever makes them is no longer alive, or takes too long."""
        end = time.monotonic() + seconds
        while len(self.requests) < count:
            in_time = alive() and time.monotonic() < end
            assert in_time, f"{len(self.requests)} requests came, not {count}"
            time.sleep(0.01)

    def wait_until_idle(self, seconds: float = 10.0) -> None:
        """Return when no request is being answered."""
        end = time.monotonic() + seconds
        while self._in_work:
            assert time.monotonic() < end, "requests are still being answered"
            time.sleep(0.01)

    def close(self) -> None:
        """Stop; late answers are not waited for."""
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *_: Any) -> None:
                """Say nothing on the screen."""

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                request = server._arrived(self.path, body, {name.lower(): value for name, value in self.headers.items()})
                try:
                    reply = Reply(status=401) if not request.authorized else server.rule(request)
                    if self.path != PATH:
                        reply = Reply(status=404)
                    server._closing.wait(reply.wait)
                    if self._sent(reply) and reply.is_completion:
                        with server._lock:
                            server.completed[request.model, request.item] += 1
                finally:
                    server._left()

            def _sent(self, reply: Reply) -> bool:
                """Send it, and tell whether nobody had hung up."""
                content = reply.content()
                if reply.keep == 0.0:
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    self.connection.close()  # with this option, closing is resetting
                    self.close_connection = True
                    return False
                headers = {"Content-Type": "application/json", "Content-Length": str(len(content)), **dict(reply.headers)}
                try:
                    self.send_response(reply.status)
                    for name, value in headers.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(content[: round(len(content) * reply.keep)])
                    self.wfile.flush()
                except OSError:
                    self.close_connection = True
                    return False
                self.close_connection = self.close_connection or reply.keep < 1.0
                return True

            def finish(self) -> None:
                try:
                    super().finish()
                except (OSError, ValueError):
                    """The connection was reset."""

        return Handler

    def _arrived(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> Request:
        authorized = headers.pop("authorization", "") == f"Bearer {self._key}"
        found = re.search(r"item (\d+)", body["messages"][-1]["content"].rpartition("Input:")[2])
        model, item, call = body["model"], found[1] if found else "", headers["x-irid"]
        attempt = int(headers.get("x-stainless-retry-count", 0))
        with self._lock:
            labels = self._labels.setdefault((model, item), {})
            nth = labels.setdefault(call, len(labels) + 1)
            request = Request(model, item, attempt, call, time.monotonic(), nth, body, {**headers, ":path": path}, authorized)
            self.requests.append(request)
            self._in_work += 1
            self.most_at_once = max(self.most_at_once, self._in_work)
        return request

    def _left(self) -> None:
        with self._lock:
            self._in_work -= 1


@contextmanager
def loopback(rule: Rule, key: str) -> Iterator[Loopback]:
    """Run a server that replies by the rule, and refuses every key but one.

    Parameters
    ----------
    rule : callable
        From a :class:`Request` to a :class:`Reply`.
    key : str
    """
    server = Loopback(rule, key)
    try:
        yield server
    finally:
        server.close()


def at_first(trouble: Reply) -> Rule:
    """Misbehave at the first try of each call alone, which the client then tries again by itself."""
    return lambda request: trouble if request.attempt == 0 else Reply()


def first_call(trouble: Reply) -> Rule:
    """Misbehave at the first call of each item, however often the client tries."""
    return lambda request: trouble if request.nth == 1 else Reply()


def always(reply: Reply) -> Rule:
    """Reply the same every time."""
    return lambda _: reply


def by_item(rules: dict[str, Rule], other: Rule) -> Rule:
    """Reply by the number of the item."""
    return lambda request: rules.get(request.item, other)(request)
