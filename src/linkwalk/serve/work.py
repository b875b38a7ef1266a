"""Threads beside the event loop: so many at work, so many waiting, and a time limit for each.

The kernels of numba, torch and tantivy release the GIL, so threads use the cores. A request that is given up leaves its
thread at work until it is done; its place is free again only then, so what is going on stays bounded. Every piece
of work is bounded itself, by the limits on steps and candidates.
"""

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from linkwalk.serve.errors import ApiError, busy
from linkwalk.serve.limits import Limits

T = TypeVar("T")


class Lane:
    """A pool of threads with a short queue."""

    def __init__(self, name: str, threads: int, limits: Limits) -> None:
        self.name, self.threads, self.limits = name, threads, limits
        self.taken = 0
        """Pieces of work at work or waiting."""
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=f"linkwalk-{name}")

    @property
    def most(self) -> int:
        """How many may be at work or waiting."""
        return self.threads + self.limits.waiting

    def admit(self) -> None:
        """Refuse what there is no place for."""
        if self.taken >= self.most:
            raise busy(f"{self.taken} requests are at work or waiting: come again in a second")

    async def run(self, work: Callable[[], T]) -> T:
        """Do it in a thread; too many at once or too slow are errors."""
        self.admit()
        loop = asyncio.get_running_loop()
        self.taken += 1
        future: Future[T] = self._pool.submit(work)
        future.add_done_callback(lambda _: _in_loop(loop, self._release))
        try:
            async with asyncio.timeout(self.limits.seconds):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            raise ApiError("timeout", f"this took longer than {self.limits.seconds:g} seconds") from None
        # Cancelled, wrap_future() takes what still waits out of the queue; what is at work ends by itself.

    def start(self, work: Callable[[], object]) -> None:
        """Do it some time, whoever waits."""
        self._pool.submit(work)

    def _release(self) -> None:
        self.taken -= 1

    def close(self) -> None:
        """Start nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _in_loop(loop: asyncio.AbstractEventLoop, work: Callable[[], None]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop has ended, and with it all counting
        loop.call_soon_threadsafe(work)


class Lanes:
    """Where work is done: walks side by side, torch one at a time (it has threads of its own)."""

    def __init__(self, limits: Limits) -> None:
        self.walks = Lane("walks", limits.at_once, limits)
        self.torch = Lane("torch", 1, limits)

    def close(self) -> None:
        """Start nothing more."""
        self.walks.close()
        self.torch.close()
