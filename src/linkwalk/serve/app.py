"""The application: endpoints, the page, the boundary around both, and what happens at start and end."""

import gc
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any

from fastapi import APIRouter, Depends, FastAPI

from linkwalk import __version__
from linkwalk.serve.api import Api
from linkwalk.serve.boundary import Boundary, Limits
from linkwalk.serve.errors import add_handlers, only_known
from linkwalk.serve.finding import add_finding
from linkwalk.serve.openapi import add_examples, add_limits
from linkwalk.serve.pages import add_pages
from linkwalk.serve.reading import add_metrics, add_reading
from linkwalk.serve.schema import known_names
from linkwalk.serve.walking import add_walking
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
            _warm_up(api, app.openapi)
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
    app.add_middleware(Boundary, limits=limits, metrics=api.metrics, names=names)
    describe, lock = app.openapi, Lock()

    def openapi() -> dict[str, Any]:
        with lock:
            if app.openapi_schema is None:
                app.openapi_schema = known_names(describe())
                add_limits(describe(), limits)
                with suppress(Exception):  # a wiki that is damaged says so where it is read
                    add_examples(describe(), wiki, api.health)
            return describe()

    app.openapi = openapi  # type: ignore[method-assign]
    return app


def _warm_up(api: Api, describe: Callable[[], object]) -> None:
    """Let the first request not be the slow one: kernels are compiled and models read while nobody waits.

    In the threads that will do so for requests; what fails will be told when asked for.
    """
    wiki, walks = api.wiki, api.lanes.walks

    def walk() -> None:
        wiki.titles("a", 1)
        start, goal, _ = wiki.pair(0, 2, 6)
        wiki.walk(start.node, goal.node, agent=wiki.agents[0], budget=5)

    walks.start(lambda: _settled(walk))
    walks.start(lambda: _settled(describe))
    if api.health.find:
        api.lanes.torch.start(lambda: _settled(lambda: wiki.find(wiki.graph.title(0), 1)))


def _settled(work: Callable[[], object]) -> None:
    """Do it, and let the garbage collector leave alone what is there to stay.

    Half a million objects, most of them torch's: looking through them all takes 0.2 s, in which nobody is answered.
    """
    with suppress(BaseException):  # a panic of a Rust library is no Exception
        work()
    gc.collect()
    gc.freeze()
