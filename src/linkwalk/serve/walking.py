"""The endpoints for walks: whole and click by click, agents side by side, and games."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import Response

from linkwalk.serve import events, openapi, runs, schema
from linkwalk.serve.api import Api, as_json, timed
from linkwalk.serve.reading import BlockName
from linkwalk.wiki import Walk


def add_walking(router: APIRouter, api: Api) -> None:
    """Where agents are sent off, and people's games are sent to."""
    walks = api.lanes.walks
    post = partial(router.post, responses=openapi.POST, tags=["walk"])

    @post("/walk", summary="A walk", response_model=Walk)
    async def walk(asked: schema.WalkRequest) -> Response:
        """Let an agent click its way from a block to another, or towards what a sentence says."""
        api.check_walk(asked)
        return await api.lane(asked.sentence).run(timed(lambda: api.walk(asked)))

    @router.get(
        "/walk/events",
        summary="A walk, click by click",
        response_class=Response,
        responses=openapi.events(
            "Events: `start`, `click` by `click`, `end`; or `failure`, with what every error has.",
            ["start", "click", "end", "failure"],
            'event: start\ndata: {"agent":"compass"}\n\nevent: click\ndata: {"number":1}\n\n',
        ),
        tags=["walk"],
    )
    async def walk_events(
        start: BlockName,
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
            str | None,
            Query(max_length=100, description="Who walks: /api/v1/health lists them, the usual one first."),
        ] = None,
        budget: Annotated[int | None, Query(ge=1, description="Steps. [100; towards words: 20]")] = None,
        back: Annotated[bool, Query(description="Give the agent a back button.")] = False,
        seed: Annotated[int, Query(ge=0, le=2**32 - 1, description="Makes all chance repeatable.")] = 0,
    ) -> Response:
        """The same walk as server-sent events, one click at a time."""
        api.bounds(budget, sentence)  # no event, but an error like any other value that is not valid
        asked = schema.WalkRequest(
            start=start, goal=goal, sentence=sentence, agent=agent, budget=budget, back=back, seed=seed
        )

        def begin() -> Iterator[tuple[str, Any]]:
            api.check_walk(asked)
            return _as_events(api.walk(asked))

        return events.stream(api.lane(sentence), begin)

    @post("/compare", summary="Agents side by side", response_model=schema.Comparison)
    async def compare(asked: schema.CompareRequest) -> Response:
        """Let several agents walk between the same blocks, each with its own steps."""
        api.check(asked.agents, asked.budget)

        def compared() -> schema.Comparison:
            ends: dict[str, Any] = {"start": api.node(asked.start), "goal": api.node(asked.goal)}
            found = (
                api.walk(schema.WalkRequest(**ends, agent=agent, budget=asked.budget, seed=asked.seed))
                for agent in dict.fromkeys(asked.agents)
            )
            return schema.Comparison(walks=tuple(found))

        return await walks.run(timed(compared))

    @post("/runs", summary="A finished game", response_model=schema.StoredRun, tags=["play"])
    @walks.does
    def run(asked: schema.RunRequest) -> Response:
        """A finished game: every step is checked, the shortest path added, and kept where the server keeps games."""
        game = runs.check_run(api.wiki, asked, api.node(asked.start), api.node(asked.goal))
        if api.runs_file is not None:
            runs.append(api.runs_file, game.run, api.limits.run_file)
            game = game.model_copy(update={"stored": True})
        api.metrics.games.labels(str(game.won).lower()).inc()
        return as_json(game)


def _as_events(walk: Walk) -> Iterator[tuple[str, Any]]:
    """What is known at the start, every click, and all but these at the end."""
    yield (
        "start",
        replace(walk, steps=(), success=None, distance=None, optimum=None, closest=None, trapped=False),
    )
    for click in walk.steps:
        yield "click", click
    yield "end", replace(walk, steps=())
