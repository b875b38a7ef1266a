"""Ask, and get sentences with the trail that led to them: starts, navigation, a reranker (sec. 4.3).

Many queries at once: search gives each its starts, navigation decides which blocks are read, every sentence of a block
that was read is a candidate, and the reranker picks. What is read, and from where, is a ``Reading``; there is one
function for each way of reading below, and all are held to the same number of blocks.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from linkwalk.embed.text import goal_sentences
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.navigate import Agent, Episodes, Journeys
from linkwalk.navigate.cosine import Units
from linkwalk.navigate.journeys import Float32s
from linkwalk.navigate.tabs import Hits, read_tabs
from linkwalk.policy.direction import Guide
from linkwalk.retrieve.config import FindConfig
from linkwalk.retrieve.pagerank import spread
from linkwalk.retrieve.rerank import Reranker, score_many
from linkwalk.retrieve.starts import Near, Search, Starts, find_starts
from linkwalk.retrieve.tfidf import tfidf

_NO_GOAL = -1  # no page has that number, so the agent walks all its steps
_QUERIES = 1024  # at a time
_CACHED = 1 << 16


class Trail(NamedTuple):
    """How a block was reached."""

    pages: tuple[int, ...]
    """From the start to the block itself."""
    links: tuple[int, ...]
    """What was clicked between them: numbers in each page's row, or BACK; none if the block is the start."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """What came of a query."""

    sentences: tuple[str, ...]
    """The best first."""
    scores: tuple[float, ...]
    trails: tuple[Trail, ...]
    """How the block that each stands in was reached."""
    start: str
    """How the starts were found in the end: ``dense`` if BM25 was asked and knows none of the words."""
    read: tuple[int, ...]
    """The blocks read, in that order."""
    ranked: tuple[int, ...]
    """The same blocks by their best sentence."""


class Reading(NamedTuple):
    """Which blocks are read for a query, and how each was reached."""

    nodes: list[int]
    """In the order they were seen."""
    trail: Callable[[int], Trail]
    """To the block at a place in that order."""


class Finder:
    """Answers queries on one wiki."""

    def __init__(
        self,
        graph: Graph,
        search: Search,
        config: FindConfig = FindConfig(),  # noqa: B008 (frozen)
        *,
        agent: Agent | None = None,
        guide: Guide | None = None,
        rerank: Reranker | None = tfidf,
        vectors: Units | None = None,
        near: Near | None = None,
        workers: int = 1,
    ) -> None:
        """``agent`` is for ``walks``; ``vectors`` [N, D] of unit length for ``tabs`` and dense starts.

        ``guide`` turns what a query means into the direction that ``tabs`` look in; without one it is the direction.
        ``near`` finds dense starts where looking at all vectors takes too long. ``rerank`` None: sentences as seen.
        """
        self.graph, self.search, self.config, self.agent, self.guide = graph, search, config, agent, guide
        self.rerank, self.vectors, self.near, self.workers = rerank, vectors, near, workers
        if config.navigation == "walks" and agent is None:
            raise InputError("nobody walks: give an agent, or another way of navigation")
        if config.navigation in ("tabs", "order") and vectors is None:
            raise InputError("tabs need embeddings: run `linkwalk embed WIKI`, or do without navigation")
        self.sentences = lru_cache(_CACHED)(lambda node: goal_sentences(graph, node))

    def find(self, query: str, count: int = 5, *, meaning: Float32s | None = None) -> Found:
        """The best sentences for a query; ``meaning`` [D], of unit length, is what is walked towards."""
        return self.find_many([query], count, meanings=None if meaning is None else meaning[None])[0]

    def find_many(
        self,
        queries: Sequence[str],
        count: int = 5,
        *,
        meanings: Float32s | None = None,
        starts: Sequence[Starts] | None = None,
    ) -> list[Found]:
        """The same for many queries; ``meanings`` [Q, D]; ``starts`` where they are known already."""
        found = []
        for at in range(0, len(queries), _QUERIES):
            some = (
                None if meanings is None else np.ascontiguousarray(meanings[at : at + _QUERIES], np.float32)
            )
            known = None if starts is None else list(starts[at : at + _QUERIES])
            found += self._find(queries[at : at + _QUERIES], count, some, known)
        return found

    def starts(self, queries: Sequence[str], meanings: Float32s | None = None) -> list[Starts]:
        """Where to begin for each query."""
        return find_starts(
            self.config.begin, self.config.hits, self.search, queries, self.near or self.vectors, meanings
        )

    def _find(
        self, queries: Sequence[str], count: int, meanings: Float32s | None, starts: list[Starts] | None
    ) -> list[Found]:
        starts = self.starts(queries, meanings) if starts is None else starts
        readings = self.read(starts, meanings)
        nodes = [[n for n in r.nodes for _ in self.sentences(n)] for r in readings]
        sentences = [[s for n in r.nodes for s in self.sentences(n)] for r in readings]
        named = {n: self.graph.title(n) for r in readings for n in r.nodes}
        titles = [[named[n] for n in own] for own in nodes]
        scores = self._scores(queries, titles, sentences, nodes)
        each = zip(starts, readings, nodes, sentences, scores, strict=True)
        return [self._found(*own, count) for own in each]

    def read(self, starts: list[Starts], meanings: Float32s | None) -> list[Reading]:
        """What is read for each query, its starts given."""
        way = self.config.navigation
        if self.config.navigated:
            if meanings is None:
                raise InputError(f"{way} without meanings: say what the queries mean to the agent")
            return (self._walks if way == "walks" else self._tabs)(starts, meanings)
        if way == "expand":
            return [self._expand(own.nodes.tolist()) for own in starts]
        if way == "pagerank":
            return self._pagerank(starts)
        if way == "lead":
            articles = [dict.fromkeys(self.graph.node_article[own.nodes].tolist()) for own in starts]
            return [self._alone(int(self.graph.article_blocks(a)[0]) for a in own) for own in articles]
        return [self._alone(own.nodes.tolist()) for own in starts]

    def _alone(self, nodes: Iterable[int]) -> Reading:
        """Blocks that are read as they are."""
        own = list(nodes)[: self.config.candidates]
        return Reading(own, lambda place: Trail((own[place],), ()))

    def _tabs(self, starts: list[Starts], meanings: Float32s) -> list[Reading]:
        """The best link of all pages read, or the next hit."""
        assert self.vectors is not None, "the constructor sees to it"
        directions = meanings if self.guide is None else self.guide.directions(meanings)
        directions = directions / np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), 1e-12)
        tabs = read_tabs(
            self.graph.forward,
            self.graph.out_kinds,
            self.vectors,
            directions.astype(np.float32),
            Hits.of([(own.nodes, own.scores) for own in starts]),
            self.config.candidates,
            replace(self.config.tabs, links=self.config.navigation == "tabs"),
            workers=self.workers,
        )

        def reading(query: int) -> Reading:
            def trail(place: int) -> Trail:
                pages, links = tabs.path(query, place)
                return Trail(tuple(pages), tuple(links))

            nodes = tabs.nodes[query]
            return Reading(nodes[nodes >= 0].tolist(), trail)

        return [reading(query) for query in range(len(starts))]

    def _walks(self, starts: list[Starts], meanings: Float32s) -> list[Reading]:
        """The agent walks from each start, all at once; the starts come first, then all first steps, and so on."""
        assert self.agent is not None, "the constructor sees to it"
        begin = [node for own in starts for node in own.nodes.tolist()]
        counts = [len(own.nodes) for own in starts]
        # Numbered within each query, so that an agent's chance does not depend on what else is asked.
        numbers = np.array([number for count in counts for number in range(count)], np.int64)
        episodes = Episodes.of(begin, [_NO_GOAL] * len(begin))
        episodes = episodes._replace(numbers=numbers, queries=np.repeat(meanings, counts, 0))
        journeys = self.agent.run(episodes, budget=self.config.steps)
        ends = np.cumsum([0, *counts]).tolist()
        return [self._soonest(journeys, ends[i], ends[i + 1]) for i in range(len(starts))]

    def _soonest(self, journeys: Journeys, begin: int, stop: int) -> Reading:
        """Blocks of some journeys by when they were first stood on."""
        seen: dict[int, tuple[int, int]] = {}
        for step in range(journeys.nodes.shape[1]):
            for journey in range(begin, stop):
                if step <= journeys.steps[journey]:
                    seen.setdefault(int(journeys.nodes[journey, step]), (journey, step))
        nodes = list(seen)[: self.config.candidates or None]

        def trail(place: int) -> Trail:
            journey, step = seen[nodes[place]]
            pages, links = journeys.nodes[journey, : step + 1], journeys.choices[journey, :step]
            return Trail(tuple(pages.tolist()), tuple(links.tolist()))

        return Reading(nodes, trail)

    def _expand(self, starts: list[int]) -> Reading:
        """The starts, then every block that one of them links to."""
        seen: dict[int, tuple[int, int | None]] = {node: (node, None) for node in starts}
        for start in starts:
            for link, node in enumerate(self.graph.forward.row(start).tolist()):
                seen.setdefault(node, (start, link))
        nodes = list(seen)[: self.config.candidates or None]

        def trail(place: int) -> Trail:
            start, link = seen[nodes[place]]
            return Trail((start,), ()) if link is None else Trail((start, nodes[place]), (link,))

        return Reading(nodes, trail)

    def _pagerank(self, starts: list[Starts]) -> list[Reading]:
        """The blocks where most of the hits' weight comes to rest."""
        hits = [(own.nodes, own.scores) for own in starts]
        found = spread(self.graph.forward, hits, self.config.candidates, workers=self.workers)

        def reading(nodes: list[int], paths: Sequence[tuple[tuple[int, ...], tuple[int, ...]]]) -> Reading:
            return Reading(nodes, lambda place: Trail(*paths[place]))

        return [reading(own.nodes.tolist(), own.paths) for own in found]

    def _scores(
        self,
        queries: Sequence[str],
        titles: list[list[str]],
        sentences: list[list[str]],
        nodes: list[list[int]],
    ) -> list[Float32s]:
        if self.rerank is None:
            return [-np.arange(len(own), dtype=np.float32) for own in sentences]
        return score_many(self.rerank, queries, titles, sentences, nodes)

    def _found(
        self,
        starts: Starts,
        reading: Reading,
        nodes: list[int],
        sentences: list[str],
        scores: Float32s,
        count: int,
    ) -> Found:
        order = np.argsort(-scores, kind="stable").tolist()
        places = {node: place for place, node in enumerate(reading.nodes)}
        best = order[:count]
        return Found(
            sentences=tuple(sentences[i] for i in best),
            scores=tuple(scores[best].tolist()),
            trails=tuple(reading.trail(places[nodes[i]]) for i in best),
            start=starts.how,
            read=tuple(reading.nodes),
            ranked=tuple(dict.fromkeys(nodes[i] for i in order)),
        )
