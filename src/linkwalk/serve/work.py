"""Threads beside the event loop: so many at work, so many waiting, and a time limit for each.

The kernels of numba, torch and tantivy let other threads run meanwhile; what explains a walk is Python and does not, so
walks take one thread and the cores are for workers. A request that is given up leaves its thread at work until it is
done; its place is free again only then, so what is going on stays bounded. Every piece of work is bounded itself, by
the limits on steps and candidates.
"""

import asyncio
import contextlib
import functools
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from linkwalk.serve.boundary import Limits
from linkwalk.serve.errors import ApiError, busy
from linkwalk.serve.inspector import Inspector

P = ParamSpec("P")
T = TypeVar("T")


class Lane:
    """A pool of threads with a short queue."""

    def __init__(
        self,
        name: str,
        threads: int,
        limits: Limits,
        waiting: int | None = None,
        damage: Inspector | None = None,
    ) -> None:
        self.name, self.limits = name, limits
        self._damage = damage or Inspector()
        self.most = threads + (limits.waiting if waiting is None else waiting)
        """How many may be at work or waiting."""
        self.taken = 0
        """Pieces of work at work or waiting."""
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=f"linkwalk-{name}")

    def admit(self) -> None:
        """Refuse what there is no place for."""
        if self.taken >= self.most:
            raise busy(f"{self.taken} requests are at work or waiting: come again in a second")

    async def run(self, work: Callable[[], T], seconds: float | None = None) -> T:
        """Do it in a thread; too many at once or too slow are errors. ``seconds`` are what is left of the time."""
        self.admit()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        self.taken += 1
        # One message to the loop says that the place is free and what came of it: each wakes the loop up.
        done = self._pool.submit(self._explained, work)
        done.add_done_callback(lambda done: in_loop(loop, self._finish, done, answer))
        late = loop.call_later(self.limits.seconds if seconds is None else seconds, self._give_up, answer)
        try:
            return await answer
        finally:
            late.cancel()
            done.cancel()  # what still waits is never begun; what is at work ends by itself

    def does(self, work: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
        """The same function for the event loop, done here."""

        @functools.wraps(work)
        async def done(*arguments: P.args, **named: P.kwargs) -> T:
            return await self.run(lambda: work(*arguments, **named))

        return done

    def _explained(self, work: Callable[[], T]) -> T:
        with self._damage.explained():
            return work()

    def _finish(self, done: "Future[T]", answer: "asyncio.Future[T]") -> None:
        self.taken -= 1
        if answer.done():  # given up
            return
        if done.cancelled():  # the server stops
            answer.cancel()
        elif (error := done.exception()) is not None:
            answer.set_exception(error)
        else:
            answer.set_result(done.result())

    def _give_up(self, answer: "asyncio.Future[T]") -> None:
        if not answer.done():
            said = f"this took longer than {self.limits.seconds:g} seconds"
            answer.set_exception(ApiError("timeout", said))

    def start(self, work: Callable[[], object]) -> None:
        """Do it some time, whoever waits."""
        self._pool.submit(work)

    def close(self) -> None:
        """Start nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def in_loop(loop: asyncio.AbstractEventLoop, work: Callable[..., None], *arguments: object) -> None:
    """Let the event loop do something, from a thread."""
    with contextlib.suppress(RuntimeError):  # the loop has ended, and with it all counting
        loop.call_soon_threadsafe(work, *arguments)


class Lanes:
    """Where work is done: what takes a millisecond apart from what takes many, torch one at a time.

    Somebody who types or turns a page does not wait behind walks, and walks do not wait behind questions.
    """

    def __init__(self, limits: Limits) -> None:
        damage = Inspector()
        few = limits.waiting // 4
        # A question takes half a second: who would be last in a long queue hears so at once.
        self.reads = Lane("reads", 2, limits, damage=damage)
        self.walks = Lane("walks", limits.at_once, limits, damage=damage)
        self.torch = Lane("torch", 1, limits, few, damage)
        self.search = Lane("search", 1, limits, few, damage)
        """For what a question has at once, while others are being read."""
        self.whole = Lane("whole", 1, limits, few, damage)
        """For what looks at all of a wiki."""

    def close(self) -> None:
        """Start nothing more."""
        for lane in (self.reads, self.walks, self.torch, self.search, self.whole):
            lane.close()
