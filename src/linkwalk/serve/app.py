"""All of it as one application."""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any

from fastapi import APIRouter, Depends, FastAPI

from linkwalk import __version__
from linkwalk.serve.api import Api
from linkwalk.serve.errors import Caught, add_handlers, only_known
from linkwalk.serve.examples import add_examples
from linkwalk.serve.finding import add_finding
from linkwalk.serve.limits import BodyLimit, Limits, OwnNames, Utf8Only
from linkwalk.serve.metrics import Counted
from linkwalk.serve.pages import Headers, add_pages
from linkwalk.serve.reading import add_metrics, add_reading
from linkwalk.serve.stopping import Stopped
from linkwalk.serve.walking import add_walking
from linkwalk.serve.warm import warm_up
from linkwalk.wiki import Wiki

_ABOUT = """A wiki as a graph of blocks, agents that click their way through it, evidence with the path that led to it.

Every error is `{"error": {"type", "message"}}`. Titles and texts are those of the wiki, as text: never put them into a
page as markup."""


def create_app(
    wiki: Wiki,
    limits: Limits = Limits(),  # noqa: B008 (frozen)
    runs: Path | None = None,
    *,
    warm: bool = False,
    names: Collection[str] = (),
) -> FastAPI:
    """The application: ``runs`` keeps games, ``warm`` opens agents and models before they are asked for.

    ``names`` are those that the server goes by; none: whatever it is called.
    """
    api = Api(wiki, limits, runs)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        if warm:
            warm_up(api, app.openapi)
        yield
        api.lanes.close()
        api.metrics.close()

    app = FastAPI(
        title="linkwalk",
        version=__version__,
        description=_ABOUT,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.api = api
    router = APIRouter(prefix="/api/v1", dependencies=[Depends(only_known)])
    for add in (add_reading, add_walking, add_finding):
        add(router, api)
    app.include_router(router)
    add_metrics(app.router, api)
    add_pages(app)
    add_handlers(app)
    # The last added is the outermost.
    app.add_middleware(Utf8Only)
    app.add_middleware(BodyLimit, limits=limits)
    if names:
        app.add_middleware(OwnNames, names=names)
    app.add_middleware(Caught)
    app.add_middleware(Headers)
    app.add_middleware(Counted, metrics=api.metrics)
    app.add_middleware(Stopped)
    describe, lock = app.openapi, Lock()

    def openapi() -> dict[str, Any]:
        with lock:
            if app.openapi_schema is None:
                _bound(describe(), limits)
                with suppress(Exception):  # a wiki that is damaged says so where it is read
                    add_examples(describe(), wiki, api.health)
            return describe()

    app.openapi = openapi  # type: ignore[method-assign]
    return app


def _bound(description: dict[str, Any], limits: Limits) -> None:
    """Write the limits that are this server's own into its description."""
    schemas = description["components"]["schemas"]
    for name in ("WalkRequest", "CompareRequest"):
        _set(schemas[name]["properties"]["budget"], "integer", "maximum", limits.budget)
    _set(schemas["WalkRequest"]["properties"]["sentence"], "string", "maxLength", limits.query)
    _set(schemas["FindRequest"]["properties"]["query"], "string", "maxLength", limits.query)
    for path in ("walk", "find"):
        for parameter in description["paths"][f"/api/v1/{path}/events"]["get"]["parameters"]:
            if parameter["name"] == "budget":
                _set(parameter["schema"], "integer", "maximum", limits.budget)
            if parameter["name"] in ("sentence", "query"):
                _set(parameter["schema"], "string", "maxLength", limits.query)


def _set(schema: dict[str, Any], kind: str, name: str, value: int) -> None:
    for part in schema.get("anyOf", [schema]):
        if part.get("type") == kind:
            part[name] = value
