"""What stands between clients and the application: limits on what is asked, headers and numbers of what is answered.

Whatever happens behind it is answered. A body is counted while it arrives, whatever length it claimed; words in an
address must be UTF-8. How many requests are at work is the business of ``work``, how long a client may take to say what
it wants that of ``server``.
"""

import asyncio
import logging
import time
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from linkwalk.serve.errors import ApiError, as_api_error, busy
from linkwalk.serve.metrics import Counters

POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
_HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
_REVALIDATE = (b"cache-control", b"no-cache")
_CLOSE = {"connection": "close"}  # what the client goes on sending is not worth reading
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What the options of ``linkwalk serve`` set."""

    body: int = 64 * 1024
    """Bytes of a request's body."""
    budget: int = 1_000
    """Steps of a walk."""
    query: int = 2_000
    """Characters of a question, a claim or a sentence."""
    at_once: int = 1
    """Walks at work at the same time in each worker. A walk is explained in Python, so that threads take turns: on two
    cores four of them answered 0.7 times as many walks a second as one did, and kept others waiting. Workers add up."""
    waiting: int = 128
    """Requests that may wait for them; who comes then is told to come again."""
    seconds: float = 30.0
    """Time for one answer, waiting included."""
    reading: float = 10.0
    """Time for a client to send its headers, and again for its body."""
    idle: int = 15
    """Seconds that a connection without a request is kept."""
    connections: int = 1_000
    """Open connections in each worker."""
    run_file: int = 256 * 1024 * 1024
    """Bytes that the file of games may grow to."""


class Boundary:
    """Stands around the application, and answers in its place what is refused, unexpected, or cut off by a stop.

    ``names`` are those that the server goes by; none: whatever it is called. The framework's own answers to what nobody
    expected would lack our headers.
    """

    def __init__(self, app: ASGIApp, limits: Limits, metrics: Counters, names: Collection[str] = ()) -> None:
        self.app, self.limits, self.metrics, self.names = app, limits, metrics, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or the application's life.

        Told to stop once, the server lets work finish and says so to the application; told twice, it cancels what is
        there and says nothing. That is what was asked for, not an error: nobody wants a traceback for pressing Ctrl-C
        again.
        """
        if scope["type"] != "http":
            return await self.app(scope, _until_cancelled(receive), send)
        answer = _AnswerSender(send)
        began = time.perf_counter()
        self.metrics.open.inc()
        try:
            try:
                await self._answer(scope, receive, answer)
            finally:
                self.metrics.open.dec()
                self.metrics.count(scope, answer.status or 500, time.perf_counter() - began)
        except asyncio.CancelledError:
            if answer.status:  # events end where they are: the client sees that the last one is missing
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            else:
                await busy("the server is stopping").response()(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, answer: "_AnswerSender") -> None:
        error: Exception
        try:
            self._check(scope)
            return await self.app(scope, _LimitedBody(receive, self.limits).receive, answer)
        except _BodyRefusal as refusal:
            error = refusal.error
        except ApiError as refusal:
            error = refusal
        except Exception as unexpected:
            _LOG.exception("%s %s", scope.get("method"), scope.get("path"))
            error = unexpected
        if answer.status:
            raise error
        await as_api_error(error).response()(scope, receive, answer)

    def _check(self, scope: Scope) -> None:
        """Refuse what can be refused by its headers and address alone.

        A page from elsewhere may give its own name our address, and would then be let in by the browser as if it were
        ours. Words that are not UTF-8 would be looked for as something else.
        """
        headers = dict(reversed(scope["headers"]))  # the first of several counts
        if self.names and _host(headers.get(b"host", b"")) not in self.names:
            raise ApiError("bad_input", "the Host header names another server", status=421)
        claimed = headers.get(b"content-length", b"")
        if claimed.isdigit() and len(claimed) < 20 and int(claimed) > self.limits.body:
            raise _too_large(self.limits)
        try:
            for part in (scope.get("raw_path") or b"", scope.get("query_string") or b""):
                if b"%" in part or not part.isascii():
                    unquote_to_bytes(part).decode()
        except UnicodeDecodeError:
            raise ApiError("bad_input", "the address has %-signs that are not UTF-8") from None


class _AnswerSender:
    """Sends an answer with what a browser has to be told: nothing from elsewhere, nothing inline, no guessing."""

    status: int | None = None
    """None until it has begun."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [*message["headers"], *_HEADERS]
            if not any(name == b"cache-control" for name, _ in headers):
                headers.append(_REVALIDATE)
            message = {**message, "headers": headers}
        await self._send(message)


class _LimitedBody:
    """A request's body, refused while it arrives where it is too large or too slow."""

    def __init__(self, receive: Receive, limits: Limits) -> None:
        self._receive, self.limits = receive, limits
        self.bytes, self.whole = 0, False
        self.deadline: float | None = None

    async def receive(self) -> Message:
        """The next part."""
        if self.whole:  # what is left to wait for is that the client leaves, and that has no limit
            return await self._receive()
        self.deadline = self.deadline or asyncio.get_running_loop().time() + self.limits.reading
        try:
            async with asyncio.timeout_at(self.deadline):
                message = await self._receive()
        except TimeoutError:
            what = f"the body did not arrive within {self.limits.reading:g} seconds"
            raise _BodyRefusal(ApiError("timeout", what, _CLOSE, status=408)) from None
        self.bytes += len(message.get("body", b""))
        if self.bytes > self.limits.body:
            raise _BodyRefusal(_too_large(self.limits))
        self.whole = not message.get("more_body", False)
        return message


class _BodyRefusal(BaseException):
    """Not an Exception: the framework would take it for a body that cannot be read."""

    def __init__(self, error: ApiError) -> None:
        self.error = error


def _too_large(limits: Limits) -> ApiError:
    return ApiError("too_large", f"a request's body has at most {limits.body:,} bytes", _CLOSE)


def _host(header: bytes) -> str:
    """A name without its port."""
    host = str(header, "latin-1").lower()
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]


def _until_cancelled(receive: Receive) -> Receive:
    """The messages of an application's life: it starts, and whatever comes next ends it."""
    alive = False

    async def received() -> Message:
        nonlocal alive
        try:
            message = await receive()
        except asyncio.CancelledError:
            if not alive:
                raise
            return {"type": "lifespan.shutdown"}
        alive = True
        return message

    return received
