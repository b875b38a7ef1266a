"""The page and the API's page: files of the package."""

from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse, HTMLResponse, Response
from starlette.staticfiles import StaticFiles

FOLDER = Path(__file__).parent / "page"
_NONE = (
    '<!doctype html><html lang="en"><title>linkwalk</title><p>No page. <a href="/docs">The API</a></p></html>'
)


def add_pages(app: FastAPI) -> None:
    """The page at ``/``, the API's page at ``/docs``, their files under ``/static``."""

    def add(path: str, file: Path) -> None:
        async def page() -> Response:
            return FileResponse(file) if file.is_file() else HTMLResponse(_NONE)

        app.add_api_route(path, page, methods=["GET", "HEAD"], include_in_schema=False)

    add("/", FOLDER / "index.html")
    add("/docs", FOLDER / "docs.html")
    app.mount("/static", StaticFiles(directory=FOLDER))
