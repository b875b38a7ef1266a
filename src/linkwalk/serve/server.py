"""The process that listens: one worker here, or several under a supervisor."""

import contextlib
import os
import signal
import socket
import tempfile
import threading
from dataclasses import replace
from multiprocessing import resource_tracker

from fastapi import FastAPI
from uvicorn import Config, Server

from linkwalk.serve.limits import Limits
from linkwalk.serve.listening import BACKLOG
from linkwalk.serve.metrics import FOLDER
from linkwalk.serve.patient import Patient
from linkwalk.serve.supervisor import Supervisor
from linkwalk.serve.worker import Settings

_HEADERS = 32 * 1024  # bytes
_FILES = 512  # besides connections: what a wiki maps, what torch opens
_GOODBYE = 5  # seconds for what is at work when the server is told to stop


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
    """Answer until told to stop (Ctrl-C, SIGTERM), or until no worker is left and none can start: that is an error."""
    _allow_files(settings.limits.connections)
    config = configure("linkwalk.serve.worker:app", settings.limits, workers=workers, verbose=verbose)
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
