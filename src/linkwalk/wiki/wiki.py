"""A wiki, opened: what the command line, the server and the adapters stand on."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

from linkwalk.embed import Embeddings, Encoder, use_encoder
from linkwalk.errors import InputError
from linkwalk.graph.paths import Path as ShortestPath
from linkwalk.graph.paths import ShortestPaths, no_way_out, why_no_path
from linkwalk.graph.store import Graph
from linkwalk.navigate import Agent, Episodes, Explains, MoveConfig, unit_rows
from linkwalk.navigate.journeys import trapped_at
from linkwalk.retrieve import EvidenceList, FindConfig, Reranker
from linkwalk.wiki.agents import check_agents
from linkwalk.wiki.answers import Answer, Closest, Evidence, Place, Walk
from linkwalk.wiki.clicks import clicks_along, shortest_clicks, weighed
from linkwalk.wiki.pages import Page, read_page
from linkwalk.wiki.pairs import draw_pair
from linkwalk.wiki.retrieval import Retriever, open_finder
from linkwalk.wiki.titles import Titles
from linkwalk.wiki.workspace import Workspace, threads

BUDGET, SENTENCE_BUDGET = 100, 20
"""Steps an agent has where none are named: towards a block, and towards a sentence."""
MOST_STEPS = 1_000_000
_UNKNOWN = -1  # the goal's number, where only a sentence is known of it: no page has it
_LARGE = 20_000_000
_MANY_TITLES = 100_000
_MOST_SEED = 2**63


class Wiki(Workspace):
    """A wiki, opened: titles, blocks and links; agents that walk it; evidence.

    ``Wiki.open`` maps the graph. Embeddings, agents, the index and rerankers are opened when first asked for, once, and
    may be asked for by several threads; what reads text with a neural network does so one at a time.
    """

    def __init__(
        self,
        folder: Path,
        graph: Graph,
        *,
        embeddings: str | None = None,
        rerank: str | Reranker | None = None,
    ) -> None:
        super().__init__(folder, graph, embeddings, rerank, device="cpu", mapped=True)
        self._reading = Lock()  # tokenizers and networks serve one thread at a time
        self._searching = Lock()  # so does a search for shortest paths
        # Policies are files; who was there once is opened from then on, and need not be looked for again.
        self._check = lru_cache(1 << 8)(lambda agents, ways: check_agents(agents, folder, ways))

    @classmethod
    def open(
        cls,
        folder: Path | str,
        *,
        embeddings: str | None = None,
        rerank: str | Reranker | None = None,
        encoder: Encoder | None = None,
    ) -> "Wiki":
        """Open a workspace; ``embeddings`` are what agents look at, ``rerank`` who ranks sentences (see ``find``).

        ``encoder`` is the one of your own that made the embeddings: without it no sentence can be read.
        """
        if encoder is not None:
            use_encoder(encoder)
        return cls(Path(folder), Graph.open(folder), embeddings=embeddings, rerank=rerank)

    def __repr__(self) -> str:
        return f"Wiki({self.folder}, {self.graph!r})"

    # Blocks

    def node(self, name: str | int) -> int:
        """The number of a block: ``"Title"`` (its first), ``"Title (3)"``, or the number itself."""
        if isinstance(name, str):
            few = self.graph.articles < _MANY_TITLES
            return self.graph.find(_sound(name, "a block's name"), None if few else self._suggest)
        if not 0 <= name < self.graph.nodes:
            raise InputError(
                f"no block {name}: the blocks of {self.graph.snapshot} are 0 to {self.graph.nodes - 1}"
            )
        return int(name)

    def _suggest(self, name: str) -> list[str]:
        return [place.title for place in self.titles(name, 3)]

    def place(self, node: str | int) -> Place:
        """Where a block is."""
        return Place.of(self.graph, self.node(node))

    def block(self, name: str | int) -> Page:
        """A block as one reads it: its text cut at the links, and where these lead."""
        return read_page(self.graph, self.node(name))

    def titles(self, words: str, count: int = 8, *, alike: bool = True) -> list[Place]:
        """Articles whose title or redirect begins with the words, or has a word that does; then what looks like them.

        Case and accents do not matter. Exact titles come first, then beginnings of titles, then of other words, each by
        how many links lead there. What only looks like the words comes where there is nothing else, if wanted.
        """
        _check_count(count, "titles")
        index = self.opened("titles", lambda: Titles.open(self.folder, self.graph))
        found = index.find(words, count, alike)
        return Place.many(self.graph, self.graph.article_node[list(found)].tolist())

    def search(self, words: str, count: int = 8) -> list[Place]:
        """Blocks that have the words, best first (BM25); none if the index knows none of them."""
        _check_count(count, "blocks")
        ((nodes, _),) = self.bm25().search_many([_sound(words, "what to search for")], count)
        return Place.many(self.graph, nodes.tolist())

    # Walks

    def walk(
        self,
        start: str | int,
        goal: str | int | None = None,
        *,
        sentence: str | None = None,
        agent: str | Agent | None = None,
        budget: int | None = None,
        ways: MoveConfig = MoveConfig(),  # noqa: B008 (frozen)
        seed: int = 0,
    ) -> Walk:
        """Let an agent walk to a block, or for all its steps towards what a sentence means (sec. 4.1, 4.2).

        The agent is one of ``agents``, of which the first walks where none is named, the path of a policy,
        ``package.module:Name``, or an object of your own.
        """
        who, *others = self._named([agent or self.usual], ways)
        if others:
            raise InputError("one agent walks at a time: name one")
        if (goal is None) == (sentence is None):
            raise InputError("say what to find: a block or a sentence, one of the two")
        if budget is None:
            budget = BUDGET if sentence is None else SENTENCE_BUDGET
        _check_numbers(budget, seed)
        here = self.node(start)
        if goal is not None:
            return self._walk_to(here, self.node(goal), [who], budget, ways, seed)[0]
        assert sentence is not None, "one of the two"
        if not _sound(sentence, "the sentence").strip():
            raise InputError("the sentence is empty: give the words to look for")
        if stuck := no_way_out(self.graph, here):
            raise InputError(stuck)
        return self._walk_towards(here, sentence, who, budget, ways, seed)

    def compare(
        self,
        start: str | int,
        goal: str | int,
        agents: Sequence[str | Agent],
        *,
        budget: int = BUDGET,
        ways: MoveConfig = MoveConfig(),  # noqa: B008 (frozen)
        seed: int = 0,
    ) -> list[Walk]:
        """The same walk by several agents."""
        walkers = self._named(agents, ways)
        _check_numbers(budget, seed)
        return self._walk_to(self.node(start), self.node(goal), walkers, budget, ways, seed)

    def _named(self, agents: Sequence[str | Agent], ways: MoveConfig) -> list[str | Agent]:
        """Names that are agents here, and agents that are objects, each once."""
        names = self._check(tuple(agent for agent in agents if isinstance(agent, str)), ways)
        walkers: list[str | Agent] = [*names, *(agent for agent in agents if not isinstance(agent, str))]
        if not walkers:
            raise InputError("no agent is named: name one or more")
        return walkers

    def shortest(self, start: int, goal: int) -> ShortestPath:
        """A shortest path between two blocks; its distance is -1 where none leads there."""
        with self._searching:
            return self._paths.path(start, goal)

    @property
    def _paths(self) -> ShortestPaths:
        """For one thread at a time."""
        return self.opened("paths", lambda: ShortestPaths(self.graph.forward, self.graph.reverse))

    def _walk_to(
        self, start: int, goal: int, walkers: list[str | Agent], budget: int, ways: MoveConfig, seed: int
    ) -> list[Walk]:
        """Walks to a goal that some path leads to."""
        shortest = self.shortest(start, goal)
        if shortest.distance < 0:
            raise InputError(why_no_path(self.graph, start, goal))
        walks, episodes = [], Episodes.of([start], [goal])
        for who in walkers:
            walk = self._walk(episodes, who, self.table_for(_name(who)), budget, ways, seed)
            found = replace(
                walk,
                goal=self.place(goal),
                success=walk.end.node == goal,
                distance=shortest.distance,
                optimum=shortest_clicks(self.graph, shortest.nodes.tolist()),
            )
            walks.append(found)
        return walks

    def _walk_towards(
        self, start: int, sentence: str, who: str | Agent, budget: int, ways: MoveConfig, seed: int
    ) -> Walk:
        """A walk towards what a sentence says; the agent is shown what it means, a vector of unit length."""
        table = self.table(*_name(who))
        encoder = self.encoder(table, *_name(who))
        with self._reading:
            (query,) = unit_rows(encoder.encode([sentence]))
        episodes = Episodes.of([start], [_UNKNOWN])._replace(queries=query[None])
        walk = self._walk(episodes, who, table, budget, ways, seed)
        cosines = self.units(table)[walk.nodes] @ query
        at = int(cosines.argmax())
        closest = Closest(place=self.place(walk.nodes[at]), step=at, score=float(cosines[at]))
        return replace(walk, sentence=sentence, closest=closest)

    def _walk(
        self,
        episodes: Episodes,
        who: str | Agent,
        table: Embeddings | None,
        budget: int,
        ways: MoveConfig,
        seed: int,
    ) -> Walk:
        """What an agent does in one episode, up to where it is trapped."""
        walker = who
        if isinstance(walker, str):
            key = ("agent", who, ways, table and table.name)
            walker = self.opened(key, lambda: self.agent(str(who), ways, table))
        journeys = walker.run(episodes, budget=budget, seed=seed)
        end = None
        if not journeys.success[0]:
            back = ways.back or getattr(walker, "goes_back", False)
            end = trapped_at(self.graph.forward, journeys.path(0).tolist(), back=back)
        if end is not None:
            journeys.steps[0] = end
        path = journeys.path(0).tolist()
        links = journeys.choices[0, : len(path) - 1].tolist()
        measure = None
        if isinstance(walker, Explains):
            weights = walker.explain(episodes, journeys, seed=seed)
            measure = weights.measure
            clicks = clicks_along(self.graph, path, links, weighed(self.graph, path, links, weights))
        else:
            clicks = clicks_along(self.graph, path, links)
        return Walk(
            agent=walker.name,
            start=self.place(path[0]),
            steps=clicks,
            budget=budget,
            seed=seed,
            ways=getattr(walker, "ways", ways),
            measure=measure,
            trapped=end is not None,
        )

    def pair(self, seed: int, least: int = 2, most: int = 6) -> tuple[Place, Place, int]:
        """Two articles for a game, from ``least`` to ``most`` clicks apart, and how many; a seed gives one pair."""
        with self._searching:
            start, goal, distance = draw_pair(self.graph, self._paths, seed, least, most)
        return self.place(start), self.place(goal), distance

    # Evidence

    def finder(self, asked: FindConfig) -> Retriever:
        """A way of looking for evidence, opened."""
        return open_finder(self, asked)

    def find(self, query: str, count: int = 5, **options: Any) -> Answer:
        """The sentences that answer a question or bear on a claim, each with the click path that led to it (sec. 4.3).

        Options are the fields of ``FindConfig``: ``navigation`` (tabs, walks, expand, pagerank, order, lead or none),
        ``start`` (bm25, dense or hybrid), ``candidates`` (blocks to read), ``rerank`` (cross, tfidf, none, a folder,
        ``package.module:Name``, or any ``Reranker`` of your own), ``top`` (sentences that the cross-encoder reads),
        ``agent`` (a name or an object), ``read_all`` (though what is left is hardly worth it), ``starts``, ``steps``,
        ``embeddings``.
        """
        return self.find_many([query], count, **options)[0]

    def find_many(self, queries: Sequence[str], count: int = 5, **options: Any) -> list[Answer]:
        """The same for many queries at once."""
        retriever = self._retriever(queries, count, options)
        with self._reading if retriever.alone else nullcontext():
            found = retriever.find(queries, count)
        return [self._answer(query, own, retriever) for query, own in zip(queries, found, strict=True)]

    def find_waves(self, query: str, count: int = 5, **options: Any) -> Iterator[Answer]:
        """What is found for a query, as soon as anything is: at once the search engine's list, then wave by wave.

        The last is what ``find`` gives; each says its ``stage``.
        """
        retriever = self._retriever([query], count, options)
        waves = retriever.find_waves(query, count)
        found: EvidenceList | None = next(waves)  # no network has read anything yet, so nobody is waited for
        while found is not None:
            yield self._answer(query, found, retriever)
            with self._reading if retriever.alone else nullcontext():
                found = next(waves, None)

    def _retriever(self, queries: Sequence[str], count: int, options: dict[str, Any]) -> Retriever:
        """The way of looking for evidence that was asked for, opened."""
        _check_count(count, "sentences")
        wanted = {"embeddings": self.embeddings, "rerank": self.rerank}
        given = {name: value for name, value in options.items() if value is not None}
        asked = FindConfig.of(**wanted | given)
        for query in queries:
            if not _sound(query, "the query").strip():
                raise InputError("the query is empty: give a claim or a question")
            if asked.begin != "dense" and not any(sign.isalnum() for sign in query):
                raise InputError("the query has no words: give a claim or a question")
        return self.finder(asked)

    def _answer(self, query: str, found: EvidenceList, retriever: Retriever) -> Answer:
        asked = retriever.asked
        return Answer(
            query=query,
            start=found.start,
            navigation=asked.navigation,
            rerank=retriever.reranker,
            agent=asked.who if asked.navigated else None,
            blocks=len(found.read),
            evidence=tuple(
                Evidence(
                    score=score,
                    sentence=sentence,
                    place=self.place(trail.pages[-1]),
                    start=self.place(trail.pages[0]),
                    path=clicks_along(self.graph, trail.pages, trail.links),
                )
                for score, sentence, trail in zip(found.scores, found.sentences, found.trails, strict=True)
            ),
            confidence=found.sure,
            answered=found.answered,
            stage=found.stage,
            milliseconds=dict(found.milliseconds),
        )

    # The graph

    def statistics(self) -> dict[str, Any]:
        """The graph in numbers, as ``linkwalk stats --json`` says it; computed once."""
        return self.opened("statistics", self._statistics)

    def _statistics(self) -> dict[str, Any]:
        from linkwalk.graph.statistics import statistics

        # A source is one sweep over all links, and there may be hundreds of millions.
        sources = 1000 if self.graph.edges < _LARGE else 64
        return statistics(self.graph, sources=sources, workers=threads()).to_json()


def _name(who: str | Agent) -> list[str]:
    """An agent's name, where it is known by one."""
    return [who] if isinstance(who, str) else []


def _sound(text: str, what: str) -> str:
    """A text that can be written down."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{what} holds half a character (a lone surrogate): give it in UTF-8") from None
    return text


def _check_count(count: int, what: str) -> None:
    if count < 1:
        raise InputError(f"count={count}: ask for 1 or more {what}")


def _check_numbers(budget: int, seed: int) -> None:
    if not 1 <= budget <= MOST_STEPS:
        raise InputError(f"budget={budget}: choose 1 to {MOST_STEPS:,} steps")
    if not 0 <= seed < _MOST_SEED:
        raise InputError(f"seed={seed}: choose a number from 0 to {_MOST_SEED - 1}")
