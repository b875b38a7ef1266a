"""The process that listens: one worker here, or several that share the socket and the memory maps.

Each worker opens the wiki by its path, so that what is mapped is in memory once.
"""

import contextlib
import json
import os
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
from dataclasses import asdict, dataclass, field, replace
from multiprocessing import resource_tracker
from pathlib import Path

from fastapi import FastAPI
from uvicorn import Config, Server
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from linkwalk.errors import LinkwalkError
from linkwalk.serve.app import create_app
from linkwalk.serve.limits import Limits
from linkwalk.serve.listening import BACKLOG
from linkwalk.serve.metrics import FOLDER
from linkwalk.serve.patient import Patient
from linkwalk.wiki import Wiki

_VARIABLE = "LINKWALK_SERVE"
_HEADERS = 32 * 1024  # bytes
_FILES = 512  # besides connections: what a wiki maps, what torch opens
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
    failure: str | None = None
    """The file in which one of several workers says why it cannot start."""

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
    settings = Settings.read()
    try:
        return settings.app()
    except Exception as error:
        if settings.failure is None:
            raise
        line = str(error)
        if not isinstance(error, LinkwalkError | OSError):  # our own mistake
            traceback.print_exc()
            line = f"a worker cannot start ({type(error).__name__}, see above)"
        Path(settings.failure).write_text(line, encoding="utf-8")
        sys.exit(1)


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
    """Answer until told to stop (Ctrl-C, SIGTERM), or until a worker cannot start: that is an error."""
    _allow_files(settings.limits.connections)
    config = configure(f"{__name__}:app", settings.limits, workers=workers, verbose=verbose)
    if workers == 1:
        settings.write()
        Server(config).run([listening])
        return
    # Workers share the cores: threads of torch that wait for each other and for a core answer nobody.
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // workers)))
    _keep_ctrl_c_from_workers()
    supervisor = _Workers(config, [listening])  # takes signals from here on: the folder does not stay behind
    with tempfile.TemporaryDirectory(prefix="linkwalk-metrics-") as folder:
        os.environ[FOLDER] = folder
        supervisor.failure = Path(folder, "failure.txt")
        replace(settings, failure=str(supervisor.failure)).write()
        supervisor.run()
        if supervisor.failure.exists():
            raise LinkwalkError(supervisor.failure.read_text(encoding="utf-8"))
    if any(worker.exitcode == STARTUP_FAILURE for worker in supervisor.processes):  # the log has the reason
        sys.exit(STARTUP_FAILURE)


class _Workers(Multiprocess):
    """Workers that are replaced when they die, but not if they cannot start.

    They are not waited for when Ctrl-C comes again.
    """

    failure: Path

    def keep_subprocess_alive(self) -> None:
        """Replace who died; the next would fail as one did that has left a reason."""
        for worker in self.processes:
            worker.child_conn.close()  # theirs: held open by us, too, it never says that they are gone
        if self.failure.exists():
            self.should_exit.set()
        super().keep_subprocess_alive()

    def join_all(self) -> None:
        """Wait for what is at work, or until told twice."""
        while any(worker.process.is_alive() for worker in self.processes):
            if signal.SIGINT in self.signal_queue:
                for worker in self.processes:
                    worker.process.kill()
            time.sleep(0.05)
        super().join_all()


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
