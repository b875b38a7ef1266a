"""The process that listens, one worker here or several under a supervisor; and the HTTP that it speaks."""

import contextlib
import json
import os
import signal
import socket
import tempfile
import threading
from asyncio import TimerHandle, Transport
from dataclasses import replace
from multiprocessing import resource_tracker

from fastapi import FastAPI
from starlette.types import Receive, Scope, Send
from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol

from linkwalk.serve.boundary import Limits
from linkwalk.serve.errors import ApiError, busy
from linkwalk.serve.listening import BACKLOG
from linkwalk.serve.metrics import FOLDER
from linkwalk.serve.workers import Settings, Supervisor

_HEADERS = 32 * 1024  # bytes
_FILES = 512  # besides connections: what a wiki maps, what torch opens
_ON_ITS_WAY = 0.1  # seconds
_GOODBYE = 5  # seconds for what is at work when the server is told to stop


def configure(app: FastAPI | str, limits: Limits, *, workers: int = 1, verbose: bool = False) -> Config:
    """How uvicorn serves an application, or the factory of that name."""
    return Config(
        app,
        factory=isinstance(app, str),
        http=LimitedProtocol,
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
    """Answer until told to stop (Ctrl-C, SIGTERM), or until no worker is left and none can start: that is an error."""
    _allow_files(settings.limits.connections)
    config = configure("linkwalk.serve.workers:app", settings.limits, workers=workers, verbose=verbose)
    if workers == 1:
        settings.write()
        Server(config).run([listening])
        return
    # Workers share the cores: threads of torch that wait for each other and for a core answer nobody.
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // workers)))
    _keep_ctrl_c_from_workers()
    supervisor = Supervisor(
        config, [listening]
    )  # takes signals from here on: the folder does not stay behind
    with tempfile.TemporaryDirectory(prefix="linkwalk-serve-") as folder:
        os.environ[FOLDER] = folder
        supervisor.serve(replace(settings, notes=folder))


def _keep_ctrl_c_from_workers() -> None:
    """A terminal tells all of its processes at once; the workers are to hear of it from us, once they can listen.

    They inherit what this thread blocks. Another, begun before, takes the signal for the process.
    """
    if hasattr(signal, "pthread_sigmask"):
        resource_tracker.ensure_running()  # at its start it lets the signal through again
        threading.Thread(target=threading.Event().wait, daemon=True).start()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def _allow_files(connections: int) -> None:
    """As many open files as connections are allowed, where the system lets us."""
    try:
        import resource
    except ImportError:  # not on this system
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + _FILES
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class LimitedProtocol(H11Protocol):
    """HTTP with limits that uvicorn leaves to proxies: headers have to arrive in time, connections to be few enough.

    What is said before a request can be read is said in our shape. h11 and not httptools, which sets no limit to the
    size of headers.
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
        """The client has gone, and its headers are not waited for."""
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
        what = "this is not a request that can be read, or its headers are too large"
        self._refuse(b"400 Bad Request", ApiError("bad_input", what))

    def _wait(self) -> None:
        self._timer = self.loop.call_later(self._limits.reading, self._give_up)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            what = f"no request arrived within {self._limits.reading:g} seconds"
            self._refuse(b"408 Request Timeout", ApiError("timeout", what))

    def _refuse(self, status: bytes, error: ApiError) -> None:
        body = json.dumps(error.to_json()).encode()
        head = (
            b"HTTP/1.1 %b\r\ncontent-type: application/json\r\nx-content-type-options: nosniff\r\n" % status
        )
        self.transport.write(head + b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (len(body), body))
        self.transport.close()


async def _overcrowded(scope: Scope, receive: Receive, send: Send) -> None:
    error = busy("too many connections are open: come again in a few seconds", 5)
    error.headers["connection"] = "close"
    await error.response()(scope, receive, send)
