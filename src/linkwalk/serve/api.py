"""What the endpoints share: the wiki, the threads, the numbers, and what is checked before anything is done."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastapi.responses import Response

from linkwalk.errors import InputError
from linkwalk.serve import runs, schema
from linkwalk.serve.abilities import health_of
from linkwalk.serve.errors import ApiError, not_found
from linkwalk.serve.limits import Limits
from linkwalk.serve.metrics import Counters
from linkwalk.serve.work import Lane, Lanes
from linkwalk.serve.written import written
from linkwalk.wiki import Walk, Ways, Wiki


class Api:
    """What the endpoints share."""

    def __init__(self, wiki: Wiki, limits: Limits, runs_file: Path | None) -> None:
        self.wiki, self.limits, self.runs_file = wiki, limits, runs_file
        self.lanes, self.metrics = Lanes(limits), Counters()
        self.health, self.referee = health_of(wiki, limits.budget), runs.Referee(wiki.graph)

    def node(self, name: str | int) -> int:
        """The block of that name or number."""
        try:
            return self.wiki.node(name)
        except InputError as error:
            raise not_found(str(error)) from None

    def check(self, agents: list[str], budget: int | None) -> None:
        """Agents must be of this wiki: a path or a module of somebody's choice is nothing to be opened."""
        for agent in agents:
            if agent not in self.wiki.agents:
                raise self.wiki.why_no_agent(agent)
        self.bounds(budget)

    def bounds(self, budget: int | None, text: str | None = None, field: str = "sentence") -> None:
        """What the description rules out, by limits that are this server's own."""
        if budget is not None and budget > self.limits.budget:
            raise ApiError("bad_input", f"budget: should be at most {self.limits.budget:,}")
        if text is not None and len(text) > self.limits.query:
            raise ApiError("bad_input", f"{field}: should have at most {self.limits.query:,} characters")

    def words(self, field: str, text: str) -> None:
        """Words to look for: some, and not too many."""
        if not any(sign.isalnum() for sign in text):
            raise ApiError("bad_input", f"{field}: has no words")
        self.bounds(None, text, field)

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
        self.check([asked.agent or self.wiki.usual], asked.budget)
        if (asked.goal is None) == (asked.sentence is None):
            raise ApiError(
                "bad_input", "say what to find: a block as goal or words as sentence, one of the two"
            )
        if asked.sentence is not None:
            self.words("sentence", asked.sentence)


def as_json(value: Any, headers: dict[str, str] | None = None) -> Response:
    """An answer, sent as what it is."""
    return Response(
        written(value), media_type="application/json", headers={"cache-control": "no-store"} | (headers or {})
    )


def timed(work: Callable[[], Any]) -> Callable[[], Response]:
    """Done and written down, with how long it took in a header: the same question has the same answer."""

    def done() -> Response:
        began = time.perf_counter()
        value = work()
        return as_json(value, {"server-timing": f"app;dur={(time.perf_counter() - began) * 1e3:.1f}"})

    return done
