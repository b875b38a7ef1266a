"""The endpoints for what is there: the server, titles, blocks, pairs, the graph in numbers."""

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from fastapi import Path as InPath
from fastapi.responses import Response

from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.serve import schema
from linkwalk.serve.api import Api, as_json
from linkwalk.serve.errors import not_found
from linkwalk.serve.metrics import CONTENT_TYPE
from linkwalk.serve.openapi import READ, errors
from linkwalk.wiki import Page

BlockName = Annotated[
    str, Query(min_length=1, max_length=300, description='"Title", or "Title (3)".', examples=["Star"])
]
_Number = Annotated[int, InPath(ge=0, le=schema.BIGGEST, description="The block's number.", examples=[0])]
_Known = Annotated[str | None, Header(alias="If-None-Match", include_in_schema=False)]


def add_metrics(router: APIRouter, api: Api) -> None:
    """Where Prometheus looks."""

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
    """Where one looks at what the wiki has."""
    wiki, reads = api.wiki, api.lanes.reads
    get = partial(router.get, responses=READ, tags=["read"])

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

    @get("/titles", summary="Titles as one types", response_model=schema.Suggestions)
    @reads.does
    def titles(
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
        found = wiki.titles(q, offset + limit)[offset:]
        return as_json(schema.Suggestions(query=q, titles=tuple(found)))

    def read_block(name: str | int, known: str | None) -> Response:
        node = api.node(name)
        # The graph does not change under an open server: a block is what its graph's fingerprint says.
        headers = {"etag": f'"{wiki.graph.fingerprint[:16]}-{node}"', "cache-control": "no-cache"}
        if known is not None and headers["etag"] in known:
            return Response(status_code=304, headers=headers)
        return as_json(wiki.block(node), headers)

    unchanged = {"description": "As the client has it already (If-None-Match)."}
    get_block = partial(get, response_model=Page, responses={304: unchanged, **READ})

    @get_block("/block/{node}", summary="A block by number")
    @reads.does
    def block(node: _Number, known: _Known = None) -> Response:
        """A block by its number: text, links, the blocks before and after."""
        return read_block(node, known)

    @get("/block/{node}/links", summary="A block's links", response_model=schema.Links)
    @reads.does
    def links(
        node: _Number,
        limit: Annotated[int, Query(ge=1, le=1000, description="How many.")] = 100,
        offset: Annotated[
            int, Query(ge=0, le=schema.BIGGEST, description="How many to leave out before.")
        ] = 0,
    ) -> Response:
        """Where a block leads, a part at a time: for blocks that have thousands of links."""
        page = wiki.block(api.node(node))
        some = page.links[offset : offset + limit]
        return as_json(schema.Links(place=page.place, links=some, offset=offset, total=len(page.links)))

    @get_block("/block", summary="A block by name")
    @reads.does
    def block_by_name(name: BlockName, known: _Known = None) -> Response:
        """A block by its name."""
        return read_block(name, known)

    @get("/pair", summary="Two articles for a game", response_model=schema.Game)
    @reads.does
    def pair(
        seed: Annotated[int, Query(ge=0, le=2**32 - 1, description="The same seed, the same pair.")] = 0,
        least: Annotated[int, Query(ge=1, le=20, description="Clicks on the shortest path, at least.")] = 2,
        most: Annotated[int, Query(ge=1, le=20, description="And at most.")] = 6,
    ) -> Response:
        """Two articles for a game."""
        try:
            start, goal, distance = wiki.pair(seed, least, max(least, most))
        except InputError as error:
            raise not_found(str(error)) from None
        return as_json(schema.Game(start=start, goal=goal, distance=distance, seed=seed))

    @get("/graph", summary="The graph in numbers", response_model=schema.GraphStatistics)
    @api.lanes.whole.does
    def graph() -> Response:
        """The graph in numbers: sizes, degrees, path lengths. Computed once; the first to ask waits longest."""
        return as_json(_graph_view(wiki.graph, wiki.statistics()))


def _graph_view(graph: Graph, found: dict[str, Any]) -> dict[str, Any]:
    """What ``linkwalk stats --json`` says, as the page draws it (app. A.3): histograms as pairs, lengths as shares.

    Shares are of the pairs that a path joins; ``reachable`` is the share of all pairs that were looked at.
    """
    rest, snapshot = dict(found), graph.manifest["snapshot"]
    degrees = {way: rest.pop(f"{way}_degree") for way in ("out", "in")}
    paths = rest.pop("path_lengths")
    counts, joined = paths["counts"], sum(paths["counts"])
    del rest["median_path_length"]
    return {
        "snapshot": rest.pop("snapshot"),
        "name": snapshot["name"],
        "date": snapshot["date"],
        "articles": rest.pop("articles"),
        "blocks": rest.pop("nodes"),
        "edges": rest.pop("edges"),
        "links": rest.pop("edges_by_kind"),
        "degree": {way: _pairs(degree) for way, degree in degrees.items()},
        "degree_mean": {way: degree["mean"] for way, degree in degrees.items()},
        "blocks_per_article": _pairs(rest.pop("blocks_per_article")),
        "path_lengths": {
            "sources": paths["sources"],
            "pairs": joined + paths["unreachable"],
            "reachable": 1 - paths["unreachable_share"],
            "mean": paths["mean"],
            "median": paths["median"],
            "histogram": [[length, n / joined] for length, n in enumerate(counts) if n],
        },
        **rest,
    }


def _pairs(counted: dict[str, Any]) -> list[tuple[int, int]]:
    histogram = counted["histogram"]
    return list(zip(histogram["values"], histogram["counts"], strict=True))
