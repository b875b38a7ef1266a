"""How much a client may ask for: small pieces of ASGI that stand before the application.

A body is counted while it arrives, whatever length it claimed; words in an address must be UTF-8. How many requests
are at work is the business of ``work``, how long a client may take to say what it wants that of ``server``.
"""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from linkwalk.serve.errors import ApiError


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


class BodyLimit:
    """Refuses bodies that are too large or too slow, while they arrive."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self.app, self.limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stand between the client and the application."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        most, got, started, whole = self.limits.body, 0, False, False
        deadline = 0.0

        async def counted() -> Message:
            nonlocal got, whole, deadline
            if whole:  # what is left to wait for is that the client leaves, and that has no limit
                return await receive()
            deadline = deadline or asyncio.get_running_loop().time() + self.limits.reading
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                raise _Slow from None
            got += len(message.get("body", b""))
            if got > most:
                raise _TooLarge
            whole = not message.get("more_body", False)
            return message

        async def noted(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            if _claimed(scope) > most:
                raise _TooLarge
            await self.app(scope, counted, noted)
        except _TooLarge:
            error = ApiError("too_large", f"a request's body has at most {most:,} bytes", _CLOSE)
            await self._refuse(started, scope, receive, send, error)
        except _Slow:
            what = f"the body did not arrive within {self.limits.reading:g} seconds"
            error = ApiError("timeout", what, _CLOSE, status=408)
            await self._refuse(started, scope, receive, send, error)

    async def _refuse(
        self, started: bool, scope: Scope, receive: Receive, send: Send, error: ApiError
    ) -> None:
        if started:
            raise error
        await error.response()(scope, receive, send)


_CLOSE = {"connection": "close"}  # what the client goes on sending is not worth reading


class _TooLarge(BaseException):
    """Not an Exception: the framework would take it for a body that cannot be read."""


class _Slow(BaseException):
    """Likewise."""


def _claimed(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() and len(value) < 20 else 0
    return 0


class OwnNames:
    """Refuses requests that were meant for another server.

    A page from elsewhere may give its own name our address, and would then be let in by the browser as if it were ours.
    """

    def __init__(self, app: ASGIApp, names: Collection[str]) -> None:
        self.app, self.names = app, frozenset(name.lower() for name in names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stand between the client and the application."""
        if scope["type"] == "http" and self._name(scope) not in self.names:
            error = ApiError("bad_input", "the Host header names another server", status=421)
            return await error.response()(scope, receive, send)
        await self.app(scope, receive, send)

    def _name(self, scope: Scope) -> str:
        for name, value in scope["headers"]:
            if name == b"host":
                host = str(value, "latin-1").lower()
                return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
        return ""


class Utf8Only:
    """Refuses addresses whose words are not UTF-8, instead of looking for something else."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stand between the client and the application."""
        if scope["type"] == "http":
            try:
                for part in (scope.get("raw_path") or b"", scope.get("query_string") or b""):
                    if b"%" in part or not part.isascii():
                        unquote_to_bytes(part).decode()
            except UnicodeDecodeError:
                error = ApiError("bad_input", "the address has %-signs that are not UTF-8")
                return await error.response()(scope, receive, send)
        await self.app(scope, receive, send)
