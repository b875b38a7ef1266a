"""How the application ends when the server no longer waits for it.

Told to stop once, the server lets work finish and says so to the application; told twice, it cancels what is there and
says nothing. That is what was asked for, not an error: nobody wants a traceback for pressing Ctrl-C again.
"""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from linkwalk.serve.errors import busy


class Stopped:
    """Takes being cancelled for the word to end."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stand around everything else."""
        if scope["type"] == "lifespan":
            await self.app(scope, _until_cancelled(receive), send)
        else:
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def noted(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, noted)
        except asyncio.CancelledError:
            if started:  # events end where they are: the client sees that the last one is missing
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            else:
                await busy("the server is stopping").response()(scope, receive, send)


def _until_cancelled(receive: Receive) -> Receive:
    """The messages of an application's life: it starts, and whatever comes next ends it."""
    alive = False

    async def received() -> Message:
        nonlocal alive
        if not alive:
            message = await receive()
            alive = True
            return message
        try:
            return await receive()
        except asyncio.CancelledError:
            return {"type": "lifespan.shutdown"}

    return received
