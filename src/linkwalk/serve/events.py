"""Server-sent events: a walk click by click, and what is found for a question as soon as anything is."""

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from starlette.responses import StreamingResponse

from linkwalk.serve.errors import as_api_error
from linkwalk.serve.schema import to_bytes
from linkwalk.serve.work import Lane, in_loop

Events = Iterator[tuple[str, Any]]
_LOG = logging.getLogger(__name__)
_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}


def event(name: str, data: Any) -> bytes:
    """One event: JSON has no line breaks of its own, so the data is a single line."""
    return b"event: " + name.encode() + b"\ndata: " + to_bytes(data) + b"\n\n"


def stream(lane: Lane, begin: Callable[[], Events]) -> StreamingResponse:
    """The events that ``begin()``, run in a thread, gives; each is on its way before the next is written down.

    Where the lane is full this is refused before anything is sent; what goes wrong later is an event of its own, since
    the answer has begun. A client that leaves ends it all.
    """
    lane.admit()

    async def events() -> AsyncIterator[bytes]:
        try:
            began = time.perf_counter()
            ahead = await lane.run(begin)
            # The headers are gone by now: what other answers have in Server-Timing is a comment here.
            yield f": app;dur={(time.perf_counter() - began) * 1e3:.1f}\n\n".encode()
            for name, data in ahead:
                yield event(name, data)
                await asyncio.sleep(0)  # where a client that has left is noticed
        except Exception as error:
            yield _failure(error)

    return _response(events())


def stream_waves(first: Lane, others: Lane, begin: Callable[[], Events]) -> StreamingResponse:
    """The events that ``begin()`` gives, each sent when it is made: the first in one lane, all others in another.

    So the first does not wait for those whose work is long. Of a client that has left no more than the event that is
    being made is made to its end.
    """
    first.admit()
    others.admit()
    left = threading.Event()

    async def events() -> AsyncIterator[bytes]:
        loop, began = asyncio.get_running_loop(), time.perf_counter()
        made: asyncio.Queue[bytes | None] = asyncio.Queue()
        working: asyncio.Task[None] | None = None

        def ended(task: asyncio.Task[None]) -> None:
            task.cancelled() or task.exception()  # heard of, though the client may have left
            made.put_nowait(None)

        def start() -> tuple[bytes, Events]:
            ahead = begin()
            return event(*next(ahead)), ahead

        def go_on(ahead: Events) -> None:
            while not left.is_set() and (one := next(ahead, None)) is not None:
                in_loop(loop, made.put_nowait, event(*one))

        try:
            head, ahead = await first.run(start)
            spent = time.perf_counter() - began
            yield f": app;dur={spent * 1e3:.1f}\n\n".encode() + head
            seconds = max(0.0, others.limits.seconds - spent)
            working = asyncio.create_task(others.run(lambda: go_on(ahead), seconds))
            working.add_done_callback(ended)
            while (one := await made.get()) is not None:
                yield one
            await working
        except Exception as error:
            yield _failure(error)
        finally:
            left.set()
            if working is not None:
                working.cancel()

    return _response(events())


def _failure(error: Exception) -> bytes:
    """What went wrong, as an event; not `error`, which is what a browser calls a connection that broke."""
    failed = as_api_error(error)
    if failed.kind == "internal":
        _LOG.error("events", exc_info=error)
    return event("failure", failed.to_json())


def _response(events: AsyncIterator[bytes]) -> StreamingResponse:
    return StreamingResponse(events, media_type="text/event-stream", headers=_HEADERS)
