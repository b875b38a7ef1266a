"""What the endpoints share: the wiki, what it can do, the threads, the numbers; and what is checked beforehand."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastapi.responses import Response

from linkwalk import __version__
from linkwalk.errors import InputError
from linkwalk.serve import schema
from linkwalk.serve.boundary import Limits
from linkwalk.serve.errors import ApiError, not_found
from linkwalk.serve.metrics import Counters
from linkwalk.serve.work import Lane, Lanes
from linkwalk.shipped import POLICY
from linkwalk.wiki import MoveConfig, Walk, Wiki

_ABOUT = {
    POLICY: "The policy that ships: goes where a learned map of the goal points, and remembers the links it has seen.",
    "random": "Any link, drawn evenly.",
    "greedy": "The link whose page is most like the goal, even if it has been there.",
    "greedy-unvisited": "The page most like the goal that it has not seen: the paper's baseline.",
    "random-dfs": "Depth-first search, links in random order.",
    "greedy-dfs": "Depth-first search, the most promising link first.",
    "greedy-map": "As compass, with nothing learned.",
    "learned-map": "As greedy-map, with a learned sense of which link to go for, on any wiki.",
}
_WITHOUT = {
    "navigate": "agents walk by chance only",
    "find": "Ask is off",
    "policy": "greedy-map walks where nobody is named",
    "read": "agents find no sentences, nor does Ask read on from what it finds",
}


class Api:
    """What the endpoints share."""

    def __init__(self, wiki: Wiki, limits: Limits, runs_file: Path | None) -> None:
        self.wiki, self.limits, self.runs_file = wiki, limits, runs_file
        self.lanes, self.metrics = Lanes(limits), Counters()
        self.health = health_of(wiki, limits.budget)

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
                ways=MoveConfig(back=asked.back),
                seed=asked.seed,
            )
        except InputError as error:  # all else was checked: no path leads there
            raise not_found(str(error)) from None
        self.metrics.walks.labels(walk.agent, str(walk.success).lower()).inc()
        self.metrics.clicks.labels(walk.agent).inc(len(walk.steps))
        return walk

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
    headers = {"cache-control": "no-store"} | (headers or {})
    return Response(schema.to_bytes(value), media_type="application/json", headers=headers)


def timed(work: Callable[[], Any]) -> Callable[[], Response]:
    """Done and written down, with how long it took in a header: the same question has the same answer."""

    def done() -> Response:
        began = time.perf_counter()
        value = work()
        return as_json(value, {"server-timing": f"app;dur={(time.perf_counter() - began) * 1e3:.1f}"})

    return done


def health_of(wiki: Wiki, budget: int) -> schema.Health:
    """What ``/api/v1/health`` says of a wiki; nothing large is opened for it."""
    graph, missing = wiki.graph, wiki.missing()
    return schema.Health(
        version=__version__,
        wiki=schema.WikiInfo(
            name=wiki.folder.resolve().name,
            snapshot=graph.snapshot,
            blocks=graph.nodes,
            articles=graph.articles,
            links=graph.edges,
        ),
        agents=tuple(
            schema.AgentInfo(name=name, about=_ABOUT.get(name, "A policy of this workspace."))
            for name in wiki.agents
        ),
        find="find" not in missing,
        navigate="navigate" not in missing,
        embeddings=None if "navigate" in missing else wiki.table().name,
        rerank=Path(wiki.ranks).name,
        missing={what: f"{_WITHOUT[what]}: {line}" for what, line in missing.items()},  # type: ignore[misc]
        budget=budget,
    )
