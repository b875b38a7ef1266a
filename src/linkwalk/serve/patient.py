"""HTTP with a limit to patience: what uvicorn leaves to proxies.

A client has a time limit for its headers, connections are few enough, and what is said before a request can be read is
said in our shape.
"""

import json
from asyncio import TimerHandle, Transport

from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from linkwalk.serve.errors import busy, error_json
from linkwalk.serve.limits import Limits

_ON_ITS_WAY = 0.1  # seconds


class Patient(H11Protocol):
    """HTTP with a limit to patience: headers have to arrive in time, and connections to be few enough.

    h11 and not httptools, which sets no limit to the size of headers.
    """

    _timer: TimerHandle | None = None

    @property
    def _limits(self) -> Limits:
        limits: Limits = self.config.loaded_app.state.api.limits
        return limits

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Begin to wait for headers."""
        super().connection_made(transport)
        if len(self.connections) > self._limits.connections:
            self.app = _overcrowded
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Wait on where a request is not whole yet."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop()
        elif self._timer is None and not self.transport.is_closing():
            self._wait()

    def on_response_complete(self) -> None:
        """From here on the limit for idle connections holds, until something comes."""
        self._stop()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing to wait for."""
        self._stop()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """The server stops: whoever has just come in may ask, since a request is on its way as a rule."""
        if self.cycle is None:
            self.loop.call_later(_ON_ITS_WAY, self._leave)
        else:
            super().shutdown()

    def _leave(self) -> None:
        if not self.transport.is_closing():
            super().shutdown()

    def send_400_response(self, msg: str) -> None:
        """What cannot be read as HTTP."""
        self._refuse(
            b"400 Bad Request",
            "bad_input",
            "this is not a request that can be read, or its headers are too large",
        )

    def _wait(self) -> None:
        self._timer = self.loop.call_later(self._limits.reading, self._give_up)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            limit = f"{self._limits.reading:g} seconds"
            self._refuse(b"408 Request Timeout", "timeout", f"no request arrived within {limit}")

    def _refuse(self, status: bytes, kind: str, message: str) -> None:
        body = json.dumps(error_json(kind, message)).encode()
        head = (
            b"HTTP/1.1 %b\r\ncontent-type: application/json\r\nx-content-type-options: nosniff\r\n" % status
        )
        self.transport.write(head + b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (len(body), body))
        self.transport.close()


async def _overcrowded(scope: Scope, receive: Receive, send: Send) -> None:
    error = busy("too many connections are open: come again in a few seconds", 5)
    error.headers["connection"] = "close"
    await error.response()(scope, receive, send)
