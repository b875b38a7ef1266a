"""The page and the API's page: files of the package, and the headers that keep them to themselves."""

from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse, HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

FOLDER = Path(__file__).parent / "page"
POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
_HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
_REVALIDATE = (b"cache-control", b"no-cache")
_NONE = (
    '<!doctype html><html lang="en"><title>linkwalk</title><p>No page. <a href="/docs">The API</a></p></html>'
)


class Headers:
    """Adds to every answer what a browser has to be told: nothing from elsewhere, nothing inline, no guessing."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stand outside of what answers."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [*message["headers"], *_HEADERS]
                if not any(name == b"cache-control" for name, _ in headers):
                    headers.append(_REVALIDATE)
                message = {**message, "headers": headers}
            await send(message)

        await self.app(scope, receive, told)


def add_pages(app: FastAPI) -> None:
    """The page at ``/``, the API's page at ``/docs``, their files under ``/static``."""

    async def index() -> Response:
        return _file("index.html")

    async def docs() -> Response:
        return _file("docs.html")

    for path, page in (("/", index), ("/docs", docs)):
        app.add_api_route(path, page, methods=["GET", "HEAD"], include_in_schema=False)
    app.mount("/static", StaticFiles(directory=FOLDER))


def _file(name: str) -> Response:
    path = FOLDER / name
    return FileResponse(path) if path.is_file() else HTMLResponse(_NONE)
