"""An event loop for one worker of several."""

from asyncio import SelectorEventLoop
from typing import Any


class Fair(SelectorEventLoop):
    """Takes one connection at a time, where asyncio takes all that wait: the other workers want some, too.

    Without it, eight clients that came at once were all one worker's. asyncio has no setting for it but the socket's
    backlog, which is something else; should its inner workings change, connections are shared out as before.
    """

    def _start_serving(
        self,
        protocol_factory: Any,
        sock: Any,
        sslcontext: Any = None,
        server: Any = None,
        backlog: int = 1,
        *rest: Any,
        **named: Any,
    ) -> None:
        start: Any = super()._start_serving  # type: ignore[misc]
        start(protocol_factory, sock, sslcontext, server, 1, *rest, **named)
