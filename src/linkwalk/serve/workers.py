"""Several workers that share a socket, and answer from one and the same wiki at any time.

Each opens the wiki by its path, so that what is mapped is in memory once. A wiki that is built again leaves what is
open as it was: a worker that takes the place of a dead one finds the new graph there while the others answer from the
old. It does not serve then, but leaves a note, and all are replaced: the old ones end, and only then the new ones
begin. Meanwhile requests wait at the socket, which stays open.
"""

import json
import os
import signal
import sys
import time
import traceback
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from fastapi import FastAPI
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess
from uvicorn.supervisors.multiprocess import Process

from linkwalk.embed import use_encoder
from linkwalk.errors import LinkwalkError
from linkwalk.serve.app import create_app
from linkwalk.serve.boundary import Limits
from linkwalk.serve.inspector import Inspector
from linkwalk.wiki import Wiki

_VARIABLE = "LINKWALK_SERVE"
_PAUSE = 5.0  # seconds until a worker that could not start is followed by the next
_NO_GRAPH = ""  # the fingerprint of none: whatever a worker finds is another
_ENDING = {getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGBREAK") if hasattr(signal, name)}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a worker has to know; it goes through the environment."""

    wiki: str
    limits: Limits = field(default_factory=Limits)
    runs: str | None = None
    embeddings: str | None = None
    encoder: str | None = None
    """One's own, as package.module:Name, that made them."""
    rerank: str | None = None
    warm: bool = True
    names: tuple[str, ...] = ()
    graph: str | None = None
    """The fingerprint of the graph that all of several workers answer from."""
    notes: str | None = None
    """The folder in which one of several workers says why it does not serve."""

    def write(self) -> None:
        """Put them where processes that are started from now on find them."""
        os.environ[_VARIABLE] = json.dumps(asdict(self))

    @classmethod
    def read(cls) -> "Settings":
        """What this process was started with."""
        found = json.loads(os.environ[_VARIABLE])
        return cls(**found | {"limits": Limits(**found["limits"])})

    def app(self) -> FastAPI:
        """The application that they describe."""
        if self.encoder is not None:
            use_encoder(self.encoder)
        wiki = Wiki.open(self.wiki, embeddings=self.embeddings, rerank=self.rerank)
        runs = None if self.runs is None else Path(self.runs)
        return create_app(wiki, self.limits, runs, warm=self.warm, names=self.names)


def app() -> FastAPI:
    """What each worker starts with."""
    settings = Settings.read()
    try:
        with Inspector().explained():
            made = settings.app()
    except Exception as error:
        if settings.notes is None:
            raise
        Note(error=_in_words(error)).leave(settings.notes)
        sys.exit(1)
    found: str = made.state.api.wiki.graph.fingerprint
    if settings.notes is not None and found != settings.graph:
        Note(graph=found).leave(settings.notes)
        sys.exit(1)
    return made


def _in_words(error: Exception) -> str:
    if isinstance(error, LinkwalkError | OSError):
        return str(error)
    traceback.print_exc()  # our own mistake
    return f"a worker cannot start ({type(error).__name__}, see above)"


class Note(NamedTuple):
    """Why a worker does not serve."""

    graph: str | None = None
    """The fingerprint of the graph it could serve, which is not the one that all workers answer from."""
    error: str | None = None
    """What keeps it from starting, in a line."""

    def leave(self, folder: str) -> None:
        """Write it down as this process's own."""
        _path(folder, os.getpid()).write_text(json.dumps(self), encoding="utf-8")

    @classmethod
    def take(cls, folder: str, pid: int | None) -> "Note | None":
        """The note of a process that has ended, which is gone then; None if it has left none."""
        path = _path(folder, pid)
        try:
            return cls(*json.loads(path.read_bytes()))
        except (OSError, ValueError):  # or half of one
            return None
        finally:
            path.unlink(missing_ok=True)


def _path(folder: str, pid: int | None) -> Path:
    return Path(folder, f"note-{pid}.json")


class Supervisor(Multiprocess):
    """Workers that are replaced when they die: one alone while the graph is the same, all if there is another.

    They are not waited for when Ctrl-C comes again.
    """

    settings: Settings
    _failure: str | None = None
    """Why nobody is left."""
    _trouble: str | None = None
    """Why somebody is missing."""
    _said: str | None = None
    """The last trouble that was said."""
    _next = 0.0
    """When to start those that are missing."""

    def serve(self, settings: Settings) -> None:
        """Answer until told to stop, or until nobody is left and nobody can start: that is an error."""
        self.settings = settings
        self.run()
        if self._failure is not None:
            raise LinkwalkError(self._failure)

    def init_processes(self) -> None:
        """Start as many workers as were asked for."""
        self._fill()

    def keep_subprocess_alive(self) -> None:
        """See who has died, and what there is to do about it."""
        if self.should_exit.is_set():
            return
        notes = self._bury()
        if graphs := [note.graph for note in notes if note.graph is not None]:
            self._replace_all(graphs[-1])
        elif errors := [note.error for note in notes if note.error is not None]:
            self._put_off(errors[-1])
        self._say()
        self._fill()

    def restart_all(self) -> None:
        """On SIGHUP: a worker looks whether one could start, and finds what is another graph to it in any case."""
        self._start(replace(self.settings, graph=_NO_GRAPH))

    def handle_ttin(self) -> None:
        """On SIGTTIN: one worker more is missing from now on."""
        self.processes_num += 1

    def join_all(self) -> None:
        """Wait for what is at work, or until told twice."""
        while any(worker.process.is_alive() for worker in self.processes):
            if signal.SIGINT in self.signal_queue:
                for worker in self.processes:
                    worker.process.kill()
            time.sleep(0.05)
        super().join_all()

    def _start(self, settings: Settings) -> None:
        settings.write()
        worker = Process(self.config, self.sockets)
        worker.start()
        worker.child_conn.close()  # theirs: held open by us, too, it never says that they are gone
        self.processes.append(worker)

    def _fill(self) -> None:
        """Start those that are missing; after trouble not at once, unless nobody is there at all."""
        if self.should_exit.is_set() or (self.processes and time.monotonic() < self._next):
            return
        while len(self.processes) < self.processes_num:
            self._start(self.settings)

    def _bury(self) -> list[Note]:
        """Take the dead out, and what they have left; who does not answer is as good as dead."""
        notes = []
        for worker in list(self.processes):
            if not worker.is_alive(self.config.timeout_worker_healthcheck):
                worker.kill()
                notes.append(self._forget(worker))
        return notes

    def _forget(self, worker: Process) -> Note:
        worker.join()
        self.processes.remove(worker)
        assert self.settings.notes is not None, "several workers have a folder"
        if note := Note.take(self.settings.notes, worker.pid):
            return note
        failed = worker.exitcode == STARTUP_FAILURE
        return Note(error="a worker cannot start (see above)" if failed else None)

    def _put_off(self, line: str) -> None:
        """Those that are left go on without who could not start; if there are none, it is over."""
        if not self.processes:
            self._failure = line
            self.should_exit.set()
        self._trouble, self._next = line, time.monotonic() + _PAUSE

    def _say(self) -> None:
        """Say once why somebody is missing, as soon as it is clear that others go on."""
        if self._trouble is None:
            return
        ready = [worker.is_ready() for worker in self.processes]
        if any(ready) and self._trouble != self._said:
            self._said = self._trouble
            print(
                f"a new worker cannot start, those at work go on: {self._said}", file=sys.stderr, flush=True
            )
        if sum(ready) >= self.processes_num:
            self._trouble = self._said = None  # nobody is missing any more

    def _replace_all(self, graph: str) -> None:
        """End all, so that new ones can start with another graph."""
        self.terminate_all()
        deadline = time.monotonic() + self.config.timeout_worker_healthcheck
        while any(worker.process.is_alive() for worker in self.processes):
            if not _ENDING.isdisjoint(self.signal_queue):
                return self.handle_signals()  # it was the end of everything
            if time.monotonic() > deadline:
                for worker in self.processes:
                    worker.process.kill()
            time.sleep(0.05)
        for worker in list(self.processes):
            self._forget(worker)
        self.settings = replace(self.settings, graph=graph)
        self._trouble = self._said = None
        self._next = 0.0
