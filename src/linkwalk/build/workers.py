"""A pool of worker processes with a bounded queue; with one worker everything runs in this process."""

import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait
from typing import Any

from linkwalk.errors import LinkwalkError

Task = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function and its arguments."""


class WorkerPool:
    """Runs tasks, at most a few ahead of what is done, so that a fast reader does not fill the memory."""

    def __init__(self, count: int, folders: Sequence[str] = ()) -> None:
        """``folders`` are where workers find modules, beside where they would look anyway."""
        self.count = count
        self._pool: ProcessPoolExecutor | None = None
        if count > 1:
            # Spawned, not forked: the same on every system, and safe beside the threads of the progress display.
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(count, context, _start_worker, (list(folders),))

    def run(self, tasks: Iterable[Task], done: Callable[[], None]) -> None:
        """Run every task; ``done`` is called once for each, in the tasks' order."""
        if self._pool is None:
            for function, arguments in tasks:
                function(*arguments)
                done()
            return
        waiting: deque[Future[Any]] = deque()

        def finish_first() -> None:
            waiting.popleft().result()
            done()

        try:
            for function, arguments in tasks:
                waiting.append(self._pool.submit(function, *arguments))
                while waiting and (len(waiting) > 2 * self.count + 2 or waiting[0].done()):
                    finish_first()
            while waiting:
                finish_first()
        except BrokenProcessPool:
            raise LinkwalkError(
                "a worker process died, perhaps for want of memory: run the same command again with fewer workers; "
                "what is finished is kept"
            ) from None

    def __enter__(self) -> "WorkerPool":
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)


def _start_worker(folders: list[str]) -> None:
    """Leave Ctrl-C to the parent, and do not outlive it."""
    sys.path += [folder for folder in folders if folder not in sys.path]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:

        def follow() -> None:
            wait([parent.sentinel])
            os._exit(1)

        threading.Thread(target=follow, daemon=True).start()
