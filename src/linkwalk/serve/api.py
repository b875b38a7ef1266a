"""The endpoints. Each says what it wants, has a thread do it, and writes the facade's own JSON down."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from fastapi import Path as InPath
from fastapi.responses import Response
from pydantic_core import to_json

from linkwalk import __version__
from linkwalk.demo import POLICY
from linkwalk.errors import InputError
from linkwalk.serve import events, runs, schema
from linkwalk.serve.abilities import Abilities
from linkwalk.serve.errors import ApiError, not_found
from linkwalk.serve.graph_view import graph_view
from linkwalk.serve.limits import Limits
from linkwalk.serve.metrics import CONTENT_TYPE, Metrics
from linkwalk.serve.work import Lane, Lanes
from linkwalk.wiki import Ways, Wiki
from linkwalk.wiki.walks import Walk

_BUDGET, _SENTENCE_BUDGET = 100, 20
_WHAT = {
    404: (
        "What was named is not here: a block, an agent, or a path between two blocks.",
        "not_found",
        "no article named 'Stra': did you mean 'Star'?",
    ),
    405: ("Another method.", "method_not_allowed", "/api/walk is for POST"),
    408: ("The body did not arrive in time.", "timeout", "the body did not arrive within 10 seconds"),
    413: ("The body is too large.", "too_large", "a request's body has at most 65,536 bytes"),
    422: (
        "Something in the request cannot be used; the message names the field.",
        "bad_input",
        "budget: should be greater than or equal to 1",
    ),
    500: ("A mistake of ours.", "internal", "something went wrong here: the server's log says what"),
    503: (
        "Too many requests at once.",
        "busy",
        "132 requests are at work or waiting: come again in a second",
    ),
    504: ("It took too long.", "timeout", "this took longer than 30 seconds"),
}


def _errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    said: dict[int | str, dict[str, Any]] = {}
    for status in sorted({*statuses, 405, 413, 422, 500}):
        what, kind, message = _WHAT[status]
        said[status] = {
            "model": schema.Error,
            "description": what,
            "content": {"application/json": {"example": {"error": {"type": kind, "message": message}}}},
        }
        if status == 503:
            said[status]["headers"] = {
                "Retry-After": {"schema": {"type": "string"}, "description": "Seconds."}
            }
    return said


_EVENT = {
    "type": "object",
    "properties": {
        "event": {"type": "string", "enum": ["start", "click", "end", "error"]},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
    "required": ["event", "data"],
}
_READ = _errors(404, 503, 504)
_POST = _errors(404, 408, 503, 504)


class Api:
    """What the endpoints share."""

    def __init__(self, wiki: Wiki, limits: Limits, runs_file: Path | None) -> None:
        self.wiki, self.limits, self.runs_file = wiki, limits, runs_file
        self.lanes, self.metrics = Lanes(limits), Metrics()
        self.abilities, self.referee = Abilities.of(wiki), runs.Referee(wiki.graph)

    def health(self) -> dict[str, Any]:
        """What the server has and can do."""
        can = self.abilities
        return {
            "status": "ok",
            "version": __version__,
            "wiki": can.wiki,
            "agents": can.agents,
            "find": "find" not in can.missing,
            "navigate": "navigate" not in can.missing,
            "rerank": can.rerank,
            "missing": can.missing,
            "budget": self.limits.budget,
        }

    def node(self, name: str | int) -> int:
        """The block of that name or number."""
        try:
            return self.wiki.node(name)
        except InputError as error:
            raise not_found(str(error)) from None

    def check(self, agents: list[str], budget: int | None) -> None:
        """Agents must be of this wiki: a path of somebody's choice is nothing to be opened."""
        for agent in agents:
            if agent not in self.wiki.agents:
                raise not_found(f"no agent named {agent[:80]!r}: choose from {', '.join(self.wiki.agents)}")
        if budget is not None and budget > self.limits.budget:
            raise ApiError("bad_input", f"budget: should be at most {self.limits.budget:,}")

    def words(self, field: str, text: str) -> None:
        """Words to look for: some, and not too many."""
        if not any(sign.isalnum() for sign in text):
            raise ApiError("bad_input", f"{field}: has no words")
        if len(text) > self.limits.query:
            raise ApiError("bad_input", f"{field}: should have at most {self.limits.query:,} characters")

    def lane(self, sentence: str | None) -> Lane:
        """Where a walk is done: reading a sentence is torch's work."""
        return self.lanes.walks if sentence is None else self.lanes.torch

    def walk(self, asked: schema.WalkRequest) -> Walk:
        """A walk, counted."""
        start, goal = self.node(asked.start), None if asked.goal is None else self.node(asked.goal)
        try:
            walk = self.wiki.walk(
                start,
                goal,
                sentence=asked.sentence,
                agent=asked.agent,
                budget=asked.budget,
                ways=Ways(back=asked.back),
                seed=asked.seed,
            )
        except InputError as error:  # all else was checked: no path leads there
            raise not_found(str(error)) from None
        self.count(walk)
        return walk

    def count(self, walk: Walk) -> None:
        """For the metrics."""
        self.metrics.walks.labels(walk.agent, str(walk.success).lower()).inc()
        self.metrics.clicks.labels(walk.agent).inc(len(walk.steps))

    def check_walk(self, asked: schema.WalkRequest) -> None:
        """What can be said before anything is looked up."""
        if (asked.goal is None) == (asked.sentence is None):
            raise ApiError(
                "bad_input", "say what to find: a block as goal or words as sentence, one of the two"
            )
        self.check([asked.agent], asked.budget)
        if asked.sentence is not None:
            self.words("sentence", asked.sentence)


def _json(value: Any, headers: dict[str, str] | None = None) -> Response:
    """Written by pydantic's serialiser, without a second look: the facade's dataclasses are typed already."""
    return Response(
        to_json(value), media_type="application/json", headers={"cache-control": "no-store"} | (headers or {})
    )


def _timed(work: Callable[[], dict[str, Any]]) -> Callable[[], Response]:
    """Done and written down, with how long it took."""

    def timed() -> Response:
        began = time.perf_counter()
        value = work()
        return _json(value | {"took_ms": round((time.perf_counter() - began) * 1e3, 3)})

    return timed


def router(api: Api) -> APIRouter:
    """All endpoints of a wiki."""
    made = APIRouter()
    _add_reading(made, api)
    _add_walking(made, api)
    _add_finding(made, api)
    return made


def _add_reading(router: APIRouter, api: Api) -> None:
    wiki, lanes = api.wiki, api.lanes

    @router.get(
        "/api/health",
        summary="What is here",
        response_model=schema.Health,
        responses=_errors(),
        tags=["server"],
    )
    async def health() -> Response:
        """Whether the server answers, which wiki it has, who can walk it, and what is missing."""
        return _json(api.health())

    @router.get(
        "/metrics",
        summary="Numbers for Prometheus",
        response_class=Response,
        responses={
            200: {"content": {"text/plain": {"example": "# HELP linkwalk_requests_total Answers"}}},
            **_errors(),
        },
        tags=["server"],
    )
    async def metrics() -> Response:
        """Counters and times in Prometheus's text format, of all workers together."""
        return Response(api.metrics.text(), media_type=CONTENT_TYPE, headers={"cache-control": "no-store"})

    @router.get(
        "/api/titles",
        summary="Titles as one types",
        response_model=schema.Titles,
        responses=_READ,
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
        count: Annotated[int, Query(ge=1, le=50, description="How many.")] = 8,
    ) -> Response:
        """Titles as one types: exact, then by their beginning, then by a word's, then what looks alike."""
        return await lanes.reads.run(
            lambda: _json({"query": q, "titles": [place.to_json() for place in wiki.titles(q, count)]})
        )

    async def block_of(name: str | int, known: str | None) -> Response:
        def read() -> Response:
            node = api.node(name)
            # The graph does not change under an open server: a block is what its graph's fingerprint says.
            headers = {"etag": f'"{wiki.graph.fingerprint[:16]}-{node}"', "cache-control": "no-cache"}
            if known is not None and headers["etag"] in known:
                return Response(status_code=304, headers=headers)
            return _json(wiki.block(node).to_json(), headers)

        return await lanes.reads.run(read)

    block_answers = {304: {"description": "As the client has it already (If-None-Match)."}, **_READ}
    Known = Annotated[str | None, Header(alias="If-None-Match", include_in_schema=False)]

    @router.get(
        "/api/block/{node}",
        summary="A block by number",
        response_model=schema.Block,
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
        "/api/block",
        summary="A block by name",
        response_model=schema.Block,
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
        "/api/pair",
        summary="Two articles for a game",
        response_model=schema.Pair,
        responses=_READ,
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
            return _json(
                {"start": start.to_json(), "goal": goal.to_json(), "distance": distance, "seed": seed}
            )

        return await lanes.reads.run(draw)

    @router.get(
        "/api/graph",
        summary="The graph in numbers",
        response_model=schema.GraphStatistics,
        responses=_READ,
        tags=["read"],
    )
    async def graph() -> Response:
        """The graph in numbers: sizes, degrees, path lengths. Computed once; the first to ask waits longest."""
        return await lanes.whole.run(lambda: _json(graph_view(wiki.graph, wiki.statistics())))


def _add_walking(router: APIRouter, api: Api) -> None:
    @router.post("/api/walk", summary="A walk", response_model=schema.Walk, responses=_POST, tags=["walk"])
    async def walk(asked: schema.WalkRequest) -> Response:
        """Let an agent click its way from a block to another, or towards what a sentence says."""
        api.check_walk(asked)
        return await api.lane(asked.sentence).run(_timed(lambda: api.walk(asked).to_json()))

    @router.get(
        "/api/walk/events",
        summary="A walk, click by click",
        response_class=Response,
        responses={
            200: {
                "description": "Events: `start`, `click` by `click`, `end`; or `error`, as every error.",
                "content": {
                    "text/event-stream": {
                        "schema": _EVENT,
                        "example": 'event: start\ndata: {"agent":"compass"}\n\nevent: click\ndata: {"number":1}\n\n',
                    }
                },
            },
            **_errors(503),
        },
        tags=["walk"],
    )
    async def walk_events(
        start: Annotated[
            str,
            Query(min_length=1, max_length=300, description='"Title", or "Title (3)".', examples=["Star"]),
        ],
        goal: Annotated[
            str | None,
            Query(
                min_length=1,
                max_length=300,
                description="What to find: a block, or",
                examples=["Coral reef (1)"],
            ),
        ] = None,
        sentence: Annotated[str | None, Query(description="words of your own, one of the two.")] = None,
        agent: Annotated[
            str, Query(max_length=100, description="Who walks: /api/health lists them.")
        ] = POLICY,
        budget: Annotated[int | None, Query(ge=1, description="Steps. [100; towards words: 20]")] = None,
        back: Annotated[bool, Query(description="Give the agent a back button.")] = False,
        seed: Annotated[int, Query(ge=0, le=2**32 - 1, description="Makes all chance repeatable.")] = 0,
    ) -> Response:
        """The same walk as server-sent events, one click at a time."""
        asked = schema.WalkRequest(
            start=start, goal=goal, sentence=sentence, agent=agent, budget=budget, back=back, seed=seed
        )

        def begin() -> Iterator[tuple[str, Any]]:
            api.check_walk(asked)
            began = time.perf_counter()
            done = api.walk(asked)
            took = round((time.perf_counter() - began) * 1e3, 3)
            return _told(done, took)

        return events.stream(api.lane(sentence), begin)

    @router.post(
        "/api/compare",
        summary="Agents side by side",
        response_model=schema.Comparison,
        responses=_POST,
        tags=["walk"],
    )
    async def compare(asked: schema.CompareRequest) -> Response:
        """Let several agents walk between the same blocks, each with its own steps."""
        api.check(asked.agents, asked.budget)

        def walked() -> Response:
            start, goal = api.node(asked.start), api.node(asked.goal)
            walks = []
            for agent in dict.fromkeys(asked.agents):
                began = time.perf_counter()
                one = schema.WalkRequest(
                    start=start, goal=goal, agent=agent, budget=asked.budget, seed=asked.seed
                )
                walk = api.walk(one)
                walks.append((walk, round((time.perf_counter() - began) * 1e3, 3)))
            first = walks[0][0]
            assert first.goal is not None
            return _json(
                {
                    "start": first.start.to_json(),
                    "goal": first.goal.to_json(),
                    "distance": first.distance,
                    "optimum": [click.to_json() for click in first.optimum or ()],
                    "walks": [walk.to_json(optimum=False) | {"took_ms": took} for walk, took in walks],
                }
            )

        return await api.lanes.walks.run(walked)

    @router.post(
        "/api/runs",
        summary="A finished game",
        response_model=schema.StoredRun,
        responses=_POST,
        tags=["play"],
    )
    async def run(asked: schema.RunRequest) -> Response:
        """A finished game: every step is checked, the shortest path added, and kept where the server keeps games."""

        def keep() -> Response:
            line = api.referee.checked(asked, api.node(asked.start), api.node(asked.goal))
            if api.runs_file is not None:
                runs.append(api.runs_file, line, api.limits.run_file)
            api.metrics.games.labels(str(line["won"]).lower()).inc()
            return _json(line | {"stored": api.runs_file is not None})

        return await api.lanes.walks.run(keep)


def _told(walk: Walk, took_ms: float) -> Iterator[tuple[str, Any]]:
    """A walk as events."""
    end = walk.to_json(steps=False) | {"took_ms": took_ms}
    yield "start", {name: end[name] for name in ("agent", "start", "goal", "sentence", "budget")}
    for click in walk.steps:
        yield "click", click.to_json()
    yield "end", end


def _add_finding(router: APIRouter, api: Api) -> None:
    @router.post(
        "/api/find", summary="Evidence", response_model=schema.Answer, responses=_POST, tags=["find"]
    )
    async def find(asked: schema.FindRequest) -> Response:
        """Find the sentences that answer a question or bear on a claim, each with the clicks that led to it."""
        api.words("query", asked.query)
        if missing := api.abilities.missing.get("find"):
            raise not_found(missing)

        def found() -> dict[str, Any]:
            answer = api.wiki.find(
                asked.query,
                asked.count,
                candidates=asked.candidates,
                rerank=asked.rerank,
                navigation=asked.navigation,
            )
            api.metrics.evidence.inc(len(answer.evidence))
            # A reranker of the server's own may be a folder, whose path is nobody's business.
            own = {} if asked.rerank else {"rerank": api.abilities.rerank}
            return answer.to_json() | own

        # Search results alone, ranked by TF-IDF, need no torch and need not wait for those that do.
        plain = asked.navigation in ("none", "lead", "expand") and asked.rerank in ("tfidf", "none")
        lane = api.lanes.walks if plain else api.lanes.torch
        return await lane.run(_timed(found))
