"""The process that listens: one worker here, or several that share the socket and the memory maps.

Each worker opens the wiki by its path, so that what is mapped is in memory once. What uvicorn does not do is done here:
a client has a time limit for its headers, too, and what is said before a request can be read is said in our shape.
"""

import json
import os
import socket
import tempfile
from asyncio import TimerHandle, Transport
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.types import Receive, Scope, Send
from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.supervisors import Multiprocess

from linkwalk.serve.app import create_app
from linkwalk.serve.errors import busy, error_json
from linkwalk.serve.limits import Limits
from linkwalk.serve.listening import BACKLOG
from linkwalk.serve.metrics import FOLDER
from linkwalk.wiki import Wiki

_VARIABLE = "LINKWALK_SERVE"
_HEADERS = 32 * 1024  # bytes
_GOODBYE = 5  # seconds for what is at work when the server is told to stop


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a worker has to know; it goes through the environment."""

    wiki: str
    limits: Limits = field(default_factory=Limits)
    runs: str | None = None
    embeddings: str | None = None
    rerank: str | None = None
    warm: bool = True
    names: tuple[str, ...] = ()

    def write(self) -> None:
        """Into the environment."""
        os.environ[_VARIABLE] = json.dumps(asdict(self))

    @classmethod
    def read(cls) -> "Settings":
        """From the environment."""
        found = json.loads(os.environ[_VARIABLE])
        return cls(**found | {"limits": Limits(**found["limits"])})

    def app(self) -> FastAPI:
        """The application."""
        wiki = Wiki.open(self.wiki, embeddings=self.embeddings, rerank=self.rerank)
        runs = None if self.runs is None else Path(self.runs)
        return create_app(wiki, self.limits, runs, warm=self.warm, names=self.names)


def app() -> FastAPI:
    """What each worker starts with."""
    return Settings.read().app()


def configure(app: FastAPI | str, limits: Limits, *, workers: int = 1, verbose: bool = False) -> Config:
    """How uvicorn serves an application, or the factory of that name."""
    return Config(
        app,
        factory=isinstance(app, str),
        http=Patient,
        ws="none",
        lifespan="on",
        log_level="info" if verbose else "error",
        access_log=verbose,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        workers=workers,
        timeout_keep_alive=limits.idle,
        timeout_graceful_shutdown=_GOODBYE,
        timeout_worker_healthcheck=60,  # compiling a kernel may hold a worker up
        h11_max_incomplete_event_size=_HEADERS,
    )


def serve(settings: Settings, listening: socket.socket, workers: int = 1, *, verbose: bool = False) -> None:
    """Answer until told to stop (Ctrl-C, SIGTERM)."""
    settings.write()
    config = configure(f"{__name__}:app", settings.limits, workers=workers, verbose=verbose)
    try:
        if workers == 1:
            Server(config).run([listening])
            return
        # Workers share the cores, so none of them takes all of them for one question.
        os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // workers)))
        with tempfile.TemporaryDirectory(prefix="linkwalk-metrics-") as folder:
            os.environ[FOLDER] = folder
            Multiprocess(config, [listening]).run()
    except KeyboardInterrupt:
        pass


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
    error: Any = busy("too many connections are open: come again in a few seconds", 5)
    error.headers["connection"] = "close"
    await error.response()(scope, receive, send)
