"""The endpoints for what is there: the server, titles, blocks, pairs, the graph in numbers."""

from typing import Annotated

from fastapi import APIRouter, Header, Query
from fastapi import Path as InPath
from fastapi.responses import Response

from linkwalk.errors import InputError
from linkwalk.serve import schema
from linkwalk.serve.api import Api, as_json
from linkwalk.serve.described import READ, errors
from linkwalk.serve.errors import not_found
from linkwalk.serve.graph_view import graph_view
from linkwalk.serve.metrics import CONTENT_TYPE
from linkwalk.wiki import Page


def add_metrics(router: APIRouter, api: Api) -> None:
    """What happened, in numbers."""

    @router.get(
        "/metrics",
        summary="Numbers for Prometheus",
        response_class=Response,
        responses={
            200: {"content": {"text/plain": {"example": "# HELP linkwalk_requests_total Answers"}}},
            **errors(),
        },
        tags=["server"],
    )
    async def metrics() -> Response:
        """Counters and times in Prometheus's text format, of all workers together."""
        return Response(api.metrics.text(), media_type=CONTENT_TYPE, headers={"cache-control": "no-store"})


def add_reading(router: APIRouter, api: Api) -> None:
    """What is read."""
    wiki, lanes = api.wiki, api.lanes

    @router.get(
        "/health",
        summary="What is here",
        response_model=schema.Health,
        responses=errors(),
        tags=["server"],
    )
    async def health() -> Response:
        """Whether the server answers, which wiki it has, who can walk it, and what is missing."""
        return as_json(api.health)

    @router.get(
        "/titles",
        summary="Titles as one types",
        response_model=schema.Suggestions,
        responses=READ,
        tags=["read"],
    )
    async def titles(
        q: Annotated[
            str,
            Query(
                max_length=300,
                description="The beginning of a title, or something like it.",
                examples=["cor"],
            ),
        ] = "",
        limit: Annotated[int, Query(ge=1, le=50, description="How many.")] = 8,
        offset: Annotated[int, Query(ge=0, le=1000, description="How many to leave out before.")] = 0,
    ) -> Response:
        """Titles as one types: exact, then by their beginning, then by a word's, then what looks alike."""

        def suggest() -> Response:
            found = wiki.titles(q, offset + limit)[offset:]
            return as_json(schema.Suggestions(query=q, titles=tuple(found)))

        return await lanes.reads.run(suggest)

    async def block_of(name: str | int, known: str | None) -> Response:
        def read() -> Response:
            node = api.node(name)
            # The graph does not change under an open server: a block is what its graph's fingerprint says.
            headers = {"etag": f'"{wiki.graph.fingerprint[:16]}-{node}"', "cache-control": "no-cache"}
            if known is not None and headers["etag"] in known:
                return Response(status_code=304, headers=headers)
            return as_json(wiki.block(node), headers)

        return await lanes.reads.run(read)

    block_answers = {304: {"description": "As the client has it already (If-None-Match)."}, **READ}
    Known = Annotated[str | None, Header(alias="If-None-Match", include_in_schema=False)]

    @router.get(
        "/block/{node}",
        summary="A block by number",
        response_model=Page,
        responses=block_answers,
        tags=["read"],
    )
    async def block(
        node: Annotated[
            int, InPath(ge=0, le=schema.BIGGEST, description="The block's number.", examples=[0])
        ],
        known: Known = None,
    ) -> Response:
        """A block by its number: text, links, the blocks before and after."""
        return await block_of(node, known)

    @router.get(
        "/block/{node}/links",
        summary="A block's links",
        response_model=schema.Links,
        responses=READ,
        tags=["read"],
    )
    async def links(
        node: Annotated[
            int, InPath(ge=0, le=schema.BIGGEST, description="The block's number.", examples=[0])
        ],
        limit: Annotated[int, Query(ge=1, le=1000, description="How many.")] = 100,
        offset: Annotated[
            int, Query(ge=0, le=schema.BIGGEST, description="How many to leave out before.")
        ] = 0,
    ) -> Response:
        """Where a block leads, a part at a time: for blocks that have thousands of links."""

        def read() -> Response:
            page = wiki.block(api.node(node))
            some = page.links[offset : offset + limit]
            return as_json(schema.Links(place=page.place, links=some, offset=offset, total=len(page.links)))

        return await lanes.reads.run(read)

    @router.get(
        "/block",
        summary="A block by name",
        response_model=Page,
        responses=block_answers,
        tags=["read"],
    )
    async def block_by_name(
        name: Annotated[
            str,
            Query(min_length=1, max_length=300, description='"Title", or "Title (3)".', examples=["Star"]),
        ],
        known: Known = None,
    ) -> Response:
        """A block by its name."""
        return await block_of(name, known)

    @router.get(
        "/pair",
        summary="Two articles for a game",
        response_model=schema.Game,
        responses=READ,
        tags=["read"],
    )
    async def pair(
        seed: Annotated[int, Query(ge=0, le=2**32 - 1, description="The same seed, the same pair.")] = 0,
        least: Annotated[int, Query(ge=1, le=20, description="Clicks on the shortest path, at least.")] = 2,
        most: Annotated[int, Query(ge=1, le=20, description="And at most.")] = 6,
    ) -> Response:
        """Two articles for a game."""

        def draw() -> Response:
            try:
                start, goal, distance = wiki.pair(seed, least, max(least, most))
            except InputError as error:
                raise not_found(str(error)) from None
            return as_json(schema.Game(start=start, goal=goal, distance=distance, seed=seed))

        return await lanes.reads.run(draw)

    @router.get(
        "/graph",
        summary="The graph in numbers",
        response_model=schema.GraphStatistics,
        responses=READ,
        tags=["read"],
    )
    async def graph() -> Response:
        """The graph in numbers: sizes, degrees, path lengths. Computed once; the first to ask waits longest."""
        return await lanes.whole.run(lambda: as_json(graph_view(wiki.graph, wiki.statistics())))
