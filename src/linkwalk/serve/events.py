"""A walk as server-sent events: ``start``, then ``click`` by ``click``, then ``end``; or ``failure``."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from starlette.responses import StreamingResponse

from linkwalk.serve.errors import as_api_error
from linkwalk.serve.work import Lane
from linkwalk.serve.written import written

Events = Iterator[tuple[str, Any]]
_LOG = logging.getLogger(__name__)
_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}


def event(name: str, data: Any) -> bytes:
    """One event: JSON has no line breaks of its own, so the data is a single line."""
    return b"event: " + name.encode() + b"\ndata: " + written(data) + b"\n\n"


def stream(lane: Lane, begin: Callable[[], Events]) -> StreamingResponse:
    """The events that ``begin()``, run in a thread, gives; each is on its way before the next is written down.

    Where the lane is full this is refused before anything is sent; what goes wrong later is an event of its own, since
    the answer has begun. A client that leaves ends it all.
    """
    lane.admit()

    async def events() -> AsyncIterator[bytes]:
        try:
            began = time.perf_counter()
            told = await lane.run(begin)
            # The headers are gone by now: what other answers have in Server-Timing is a comment here.
            yield f": app;dur={(time.perf_counter() - began) * 1e3:.1f}\n\n".encode()
            for name, data in told:
                yield event(name, data)
                await asyncio.sleep(0)  # where a client that has left is noticed
        except Exception as error:
            failed = as_api_error(error)
            if failed.kind == "internal":
                _LOG.exception("events")
            # Not `error`: that is what a browser calls a connection that broke.
            yield event("failure", failed.to_json())

    return StreamingResponse(events(), media_type="text/event-stream", headers=_HEADERS)
