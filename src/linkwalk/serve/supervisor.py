"""Several workers that share a socket, and answer from one and the same wiki at any time.

Each opens the wiki by its path, so that what is mapped is in memory once. A wiki that is built again leaves what is
open as it was: a worker that takes the place of a dead one finds the new graph there while the others answer from the
old. It does not serve then, but leaves a note, and all are replaced: the old ones end, and only then the new ones
begin. Meanwhile requests wait at the socket, which stays open.
"""

import signal
import sys
import time
from dataclasses import replace

from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess
from uvicorn.supervisors.multiprocess import Process

from linkwalk.errors import LinkwalkError
from linkwalk.serve.worker import Note, Settings

_PAUSE = 5.0  # seconds until a worker that could not start is followed by the next
_NO_GRAPH = ""  # the fingerprint of none: whatever a worker finds is another
_ENDING = {getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGBREAK") if hasattr(signal, name)}


class Supervisor(Multiprocess):
    """Workers that are replaced when they die: one alone while the graph is the same, all if there is another.

    They are not waited for when Ctrl-C comes again.
    """

    settings: Settings
    _failure: str | None = None
    """Why nobody is left."""
    _trouble: str | None = None
    """Why somebody is missing."""
    _told: str | None = None
    """The last trouble that was told."""
    _next = 0.0
    """When to start those that are missing."""

    def serve(self, settings: Settings) -> None:
        """Answer until told to stop, or until nobody is left and nobody can start: that is an error."""
        self.settings = settings
        self.run()
        if self._failure is not None:
            raise LinkwalkError(self._failure)

    def init_processes(self) -> None:
        """Start all."""
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
        self._tell()
        self._fill()

    def restart_all(self) -> None:
        """On SIGHUP: a worker looks whether one could start, and finds what is another graph to it in any case."""
        self._start(replace(self.settings, graph=_NO_GRAPH))

    def handle_ttin(self) -> None:
        """One more."""
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

    def _tell(self) -> None:
        """Say once why somebody is missing, as soon as it is clear that others go on."""
        if self._trouble is None:
            return
        ready = [worker.is_ready() for worker in self.processes]
        if any(ready) and self._trouble != self._told:
            self._told = self._trouble
            print(
                f"a new worker cannot start, those at work go on: {self._told}", file=sys.stderr, flush=True
            )
        if sum(ready) >= self.processes_num:
            self._trouble = self._told = None  # nobody is missing any more

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
        self._trouble = self._told = None
        self._next = 0.0
