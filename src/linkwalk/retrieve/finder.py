"""Ask, and get sentences with the trail that led to them: starts, navigation, a reranker (sec. 4.3).

Many queries at once: search gives each its starts, navigation decides which blocks are read, every sentence of a block
that was read is a candidate, and the reranker picks. What is read, and from where, is a ``Reading``; there is one
function for each way of reading below, and all are held to the same number of blocks.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import starmap
from typing import NamedTuple

import numpy as np

from linkwalk.arrays import Float32s
from linkwalk.embed.text import goal_sentences
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.navigate import Agent, Episodes, Journeys
from linkwalk.navigate.cosine import Units
from linkwalk.navigate.tabs import Hits, read_tabs
from linkwalk.policy.compass import Compass
from linkwalk.retrieve.config import FindConfig
from linkwalk.retrieve.desk import Desk, Library, Meanings
from linkwalk.retrieve.evidence import (
    FINAL,
    READING,
    Clock,
    EvidenceList,
    Reading,
    Trail,
    at_desk,
    judged,
    ranked,
    searched,
)
from linkwalk.retrieve.judge import HEARD_OF, Judge
from linkwalk.retrieve.pagerank import rest_of, spread
from linkwalk.retrieve.rerank import Reranker, score_many, tfidf
from linkwalk.retrieve.starts import (
    DEPTH,
    Near,
    Search,
    SearchHits,
    Starts,
    begin_at,
    blocks_by_meaning,
    blocks_by_words,
)

_NO_GOAL = -1  # no page has that number, so the agent walks all its steps
_QUERIES = 1024  # at a time
_DESKS = 64  # where whole blocks are read: 0.2 GB of token vectors
_CACHED = 1 << 16


class QueryVectors(NamedTuple):
    """What queries mean, as vectors of unit length; None where no embeddings are looked at."""

    goals: Float32s | None = None
    """[Q, D]: what is walked towards."""
    sought: Float32s | None = None
    """[Q, D]: what is searched for; None: the goals."""


class Desks(NamedTuple):
    """What lies before a judge: for each query a desk, and blocks that are read in any case."""

    desks: list[Desk]
    starts: list[Starts]
    readings: list[Reading] | None
    """None where the judge decides what is read."""

    def read(self) -> list[Reading]:
        """What was read at each."""
        return self.readings or [at_desk(desk) for desk in self.desks]


class Finder:
    """Answers queries on one wiki."""

    def __init__(
        self,
        graph: Graph,
        search: Search,
        config: FindConfig = FindConfig(),  # noqa: B008 (frozen)
        *,
        agent: Agent | None = None,
        compass: Compass | None = None,
        rerank: Reranker | None = tfidf,
        vectors: Units | None = None,
        near: Near | None = None,
        judge: Judge | None = None,
        workers: int = 1,
    ) -> None:
        """``agent`` is for ``walks``; ``vectors`` [N, D] of unit length for ``tabs`` and dense starts.

        ``compass`` turns what a query means into the direction that ``tabs`` look in; without one it is the direction.
        ``near`` finds dense starts where looking at all vectors takes too long. ``rerank`` None: sentences as seen.
        A ``judge`` ranks in its place and, with ``tabs`` and ``order``, also decides what is read.
        """
        self.graph, self.search, self.config, self.agent, self.compass = graph, search, config, agent, compass
        self.rerank, self.vectors, self.near, self.judge, self.workers = rerank, vectors, near, judge, workers
        if config.navigation == "walks" and agent is None:
            raise InputError("nobody walks: give an agent, or another way of navigation")
        if config.navigation in ("tabs", "order") and vectors is None:
            raise InputError("tabs need embeddings: run `linkwalk embed WIKI`, or do without navigation")
        self.sentences = lru_cache(_CACHED)(lambda node: goal_sentences(graph, node))

    def find(self, query: str, count: int = 5, *, meaning: Float32s | None = None) -> EvidenceList:
        """The best sentences for a query; ``meaning`` [D], of unit length, is what is walked towards."""
        return self.find_many([query], count, meanings=None if meaning is None else meaning[None])[0]

    def find_many(
        self,
        queries: Sequence[str],
        count: int = 5,
        *,
        meanings: Float32s | None = None,
        sought: Float32s | None = None,
        hits: Sequence[SearchHits] | None = None,
        clock: Clock | None = None,
    ) -> list[EvidenceList]:
        """The same for many queries; ``meanings`` [Q, D]; ``sought`` [Q, D] where search has other ones.

        ``hits`` are search results where they are known already.
        """
        clock = clock or Clock()
        found: list[EvidenceList] = []
        for part, meant in self._parts(queries, QueryVectors(meanings, sought)):
            with clock("search"):
                own = self._hits(queries[part], meant) if hits is None else hits[part]
            *_, last = self._answers(queries[part], count, own, meant, clock)
            found += last
        spent = clock.milliseconds(len(queries))
        return [replace(one, milliseconds=spent) for one in found]

    def find_waves(
        self, query: str, count: int = 5, meaning: Callable[[], QueryVectors] = QueryVectors
    ) -> Iterator[EvidenceList]:
        """What is found for a query, as soon as anything is: first BM25's list, then after every wave of reading.

        The first is empty where BM25 is not asked, or knows none of the words. The last is what ``find_many`` gives.
        ``meaning`` is asked for once the first has been handed over.
        """
        clock = Clock()
        with clock("search"):
            words = self._words([query])
            first = searched(query, words[0], "bm25", count, self.sentences)
        yield replace(first, milliseconds=clock.milliseconds(1))
        with clock("meaning"):
            meant = meaning()
        with clock("search"):
            hits = self._near(words, meant)
        for (found,) in self._answers([query], count, hits, meant, clock, waves=True):
            yield replace(found, milliseconds=clock.milliseconds(1))

    def hits(
        self, queries: Sequence[str], meanings: Float32s | None = None, sought: Float32s | None = None
    ) -> list[SearchHits]:
        """What search says of each query: blocks with its words, and those nearest to it, as the starts want them."""
        return self._hits(queries, QueryVectors(meanings, sought))

    def readings(
        self, queries: Sequence[str], meanings: Float32s | None = None, sought: Float32s | None = None
    ) -> tuple[list[Starts], list[Reading]]:
        """Where reading begins for each query, and what is read."""
        starts: list[Starts] = []
        found: list[Reading] = []
        for part, meant in self._parts(queries, QueryVectors(meanings, sought)):
            hits = self._hits(queries[part], meant)
            if self.judge is None:
                own = self._starts(hits)
                read = self.read(own, meant.goals)
            else:
                desks = self._sit_down(queries[part], hits, meant, Clock())
                list(self._read_on(desks, Clock()))
                own, read = desks.starts, desks.read()
            starts += own
            found += read
        return starts, found

    def _parts(self, queries: Sequence[str], meant: QueryVectors) -> Iterator[tuple[slice, QueryVectors]]:
        """As many queries as are answered at once, and what they mean."""
        size = _QUERIES if self.judge is None else _DESKS
        for at in range(0, len(queries), size):
            part = slice(at, at + size)
            some = (None if x is None else np.ascontiguousarray(x[part], np.float32) for x in meant)
            yield part, QueryVectors(*some)

    @property
    def _depth(self) -> int:
        """How far down the lists are read."""
        short = self.judge is None and self.config.begin != "hybrid"
        return self.config.hits if short else max(DEPTH, self.config.hits)

    def _words(self, queries: Sequence[str]) -> list[SearchHits]:
        return blocks_by_words(self.config.begin, self._depth, self.search, queries)

    def _near(self, hits: list[SearchHits], meant: QueryVectors) -> list[SearchHits]:
        vectors = meant.goals if meant.sought is None else meant.sought
        return blocks_by_meaning(self.config.begin, self._depth, hits, self.near or self.vectors, vectors)

    def _hits(self, queries: Sequence[str], meant: QueryVectors) -> list[SearchHits]:
        return self._near(self._words(queries), meant)

    def _starts(self, hits: Sequence[SearchHits]) -> list[Starts]:
        return [begin_at(self.config.begin, self.config.hits, own) for own in hits]

    def _answers(
        self,
        queries: Sequence[str],
        count: int,
        hits: Sequence[SearchHits],
        meant: QueryVectors,
        clock: Clock,
        *,
        waves: bool = False,
    ) -> Iterator[list[EvidenceList]]:
        """What is found in the end; with ``waves``, where a judge reads, also after every wave."""
        if self.judge is None:
            starts = self._starts(hits)
            with clock("reading"):
                readings = self.read(starts, meant.goals)
            with clock("ranking"):
                yield self._ranked(queries, count, starts, readings)
            return
        desks = self._sit_down(queries, hits, meant, clock)
        for _ in self._read_on(desks, clock):
            if waves:
                yield self._judged(desks, count, clock, READING)
        yield self._judged(desks, count, clock)

    def _ranked(
        self, queries: Sequence[str], count: int, starts: list[Starts], readings: list[Reading]
    ) -> list[EvidenceList]:
        """What was read, ranked by the reranker."""
        nodes = [[n for n in r.nodes for _ in self.sentences(n)] for r in readings]
        sentences = [[s for n in r.nodes for s in self.sentences(n)] for r in readings]
        if self.rerank is None:
            scores = [-np.arange(len(own), dtype=np.float32) for own in sentences]
        else:
            named = {n: self.graph.title(n) for r in readings for n in r.nodes}
            titles = [[named[n] for n in own] for own in nodes]
            scores = score_many(self.rerank, queries, titles, sentences, nodes)
        each = zip(starts, readings, nodes, sentences, scores, strict=True)
        return [ranked(*own, count) for own in each]

    def _sit_down(
        self, queries: Sequence[str], hits: Sequence[SearchHits], meant: QueryVectors, clock: Clock
    ) -> Desks:
        """A desk for each query, with all on it that is heard of before anything is read."""
        goals, way = meant.goals, self.config.navigation
        with clock("links"):
            weights = rest_of(self.graph, hits, self.workers)
        with clock("desk"):
            meanings: list[Meanings | None] = [None] * len(queries)
            if goals is not None:
                three = goals, self._directions(goals), goals if meant.sought is None else meant.sought
                meanings = [Meanings(*own) for own in zip(*three, strict=True)]
            library = Library.of(self.graph, self.vectors)
            desks = [
                Desk(library, *own, links=way == "tabs")
                for own in zip(queries, hits, meanings, weights, strict=True)
            ]
        starts, readings = self._starts(hits), None
        if way not in ("tabs", "order"):
            with clock("links"):
                readings = self.read(starts, goals)
        with clock("desk"):
            for i, desk in enumerate(desks):
                heard = hits[i].heard(max(HEARD_OF, self.config.candidates))
                desk.hear(heard if readings is None else readings[i].nodes)
        return Desks(desks, starts, readings)

    def _read_on(self, desks: Desks, clock: Clock) -> Iterator[None]:
        """Read, and hand over after every wave."""
        assert self.judge is not None
        if desks.readings is not None:
            rows = [[d.row[n] for n in r.nodes] for d, r in zip(desks.desks, desks.readings, strict=True)]
            some = [i for i, own in enumerate(rows) if own]
            with clock("reading"):
                self.judge.open([desks.desks[i] for i in some], [rows[i] for i in some])
            yield
            return
        enough = 0.0 if self.config.read_all else None
        waves = self.judge.read_on(desks.desks, self.config.candidates, enough=enough)
        while True:
            with clock("reading"):
                done = next(waves, True)
            if done:
                return
            yield

    def _judged(self, desks: Desks, count: int, clock: Clock, stage: str = FINAL) -> list[EvidenceList]:
        assert self.judge is not None
        with clock("ranking"):
            each = zip(desks.desks, desks.read(), desks.starts, strict=True)
            return [judged(self.judge, desk, reading, own.how, count, stage) for desk, reading, own in each]

    def _directions(self, meanings: Float32s) -> Float32s:
        """Where the agent looks [Q, D], of unit length."""
        directions = meanings if self.compass is None else self.compass.directions(meanings)
        lengths = np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), 1e-12)
        return np.asarray(directions / lengths, np.float32)

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
            hits = [(own.nodes, own.scores) for own in starts]
            most = self.config.candidates
            ranks = spread(self.graph.forward, hits, most, workers=self.workers)
            return [
                Reading.of(dict(zip(own.nodes.tolist(), starmap(Trail, own.paths), strict=True)), most)
                for own in ranks
            ]
        nodes = [own.nodes.tolist() for own in starts]
        if way == "lead":
            articles = [dict.fromkeys(self.graph.node_article[own].tolist()) for own in nodes]
            nodes = [[int(self.graph.article_blocks(a)[0]) for a in own] for own in articles]
        return [Reading.of({n: Trail((n,), ()) for n in own}, self.config.candidates) for own in nodes]

    def _tabs(self, starts: list[Starts], meanings: Float32s) -> list[Reading]:
        """The best link of all pages read, or the next hit."""
        assert self.vectors is not None, "the constructor sees to it"
        tabs = read_tabs(
            self.graph.forward,
            self.graph.out_kinds,
            self.vectors,
            self._directions(meanings),
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
        seen: dict[int, Trail] = {node: Trail((node,), ()) for node in starts}
        for start in starts:
            for link, node in enumerate(self.graph.forward.row(start).tolist()):
                seen.setdefault(node, Trail((start, node), (link,)))
        return Reading.of(seen, self.config.candidates)
