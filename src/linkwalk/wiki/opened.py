"""A wiki, opened: what the command line, the server and the adapters stand on."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

from linkwalk.embed import Encoder, use_encoder
from linkwalk.errors import ArtifactError, InputError
from linkwalk.graph.paths import Path as ShortestPath
from linkwalk.graph.paths import ShortestPaths, no_way_out, why_no_path
from linkwalk.graph.store import Graph
from linkwalk.navigate import Agent, Episodes, Explains, Ways, unit_rows
from linkwalk.navigate.cosine import Units
from linkwalk.navigate.journeys import Float32s
from linkwalk.navigate.traps import trapped_at
from linkwalk.retrieve import Bm25, FindConfig, Found, Reranker
from linkwalk.wiki.agents import (
    check_agents,
    open_agent,
    open_encoder,
    open_vectors,
    threads,
)
from linkwalk.wiki.answers import Answer
from linkwalk.wiki.clicks import clicks_along, shortest_clicks, weighed
from linkwalk.wiki.pages import Page, read_page
from linkwalk.wiki.pairs import GamePairs
from linkwalk.wiki.places import Place
from linkwalk.wiki.retrieval import Opened, need_search, open_finder
from linkwalk.wiki.titles import Titles
from linkwalk.wiki.walks import Click, Closest, Walk
from linkwalk.wiki.workspace import Workspace

BUDGET, SENTENCE_BUDGET = 100, 20
"""Steps an agent has where none are named: towards a block, and towards a sentence."""
MOST_STEPS = 1_000_000
_UNKNOWN = -1  # the goal's number, where only a sentence is known of it: no page has it
_LARGE = 20_000_000
_MANY_TITLES = 100_000
_MOST_SEED = 2**63


def _sound(text: str, what: str) -> str:
    """A text that can be written down."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{what} holds half a character (a lone surrogate): give it in UTF-8") from None
    return text


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
        super().__init__(folder, graph, embeddings, rerank)
        self._reading = Lock()  # tokenizers and networks serve one thread at a time
        self._searching = Lock()  # so does a search for shortest paths
        # Policies are files; who was there once is on the shelf from then on, and need not be looked for again.
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
        if count < 1:
            raise InputError(f"count={count}: ask for 1 or more titles")
        index = self._shelf.get("titles", lambda: Titles.open(self.folder, self.graph))
        found = index.find(words, count, alike)
        return Place.many(self.graph, self.graph.article_node[list(found)].tolist())

    def search(self, words: str, count: int = 8) -> list[Place]:
        """Blocks that have the words, best first (BM25); none if the index knows none of them."""
        if count < 1:
            raise InputError(f"count={count}: ask for 1 or more blocks")
        need_search()
        bm25 = self._shelf.get("bm25", lambda: Bm25.open(self.folder, self.graph))
        ((nodes, _),) = bm25.search_many([_sound(words, "what to search for")], count)
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
        ways: Ways = Ways(),  # noqa: B008 (frozen)
        seed: int = 0,
    ) -> Walk:
        """Let an agent walk to a block, or for all its steps towards what a sentence means (sec. 4.1, 4.2).

        The agent is one of ``agents``, of which the first walks where none is named, the path of a policy,
        ``package.module:Name``, or an object of your own.
        """
        (who,) = self._named([agent or self.usual], ways)
        if (goal is None) == (sentence is None):
            raise InputError("say what to find: a block or a sentence, one of the two")
        budget = self._checked(budget, BUDGET if sentence is None else SENTENCE_BUDGET, seed)
        a = self.node(start)
        if goal is not None:
            b = self.node(goal)
            return self._walk(a, b, who, self._optimum(a, b), budget, ways, seed)
        assert sentence is not None, "one of the two"
        if not _sound(sentence, "the sentence").strip():
            raise InputError("the sentence is empty: give the words to look for")
        if stuck := no_way_out(self.graph, a):
            raise InputError(stuck)
        return self._walk_towards(a, sentence, who, budget, ways, seed)

    def compare(
        self,
        start: str | int,
        goal: str | int,
        agents: Sequence[str | Agent],
        *,
        budget: int = BUDGET,
        ways: Ways = Ways(),  # noqa: B008 (frozen)
        seed: int = 0,
    ) -> list[Walk]:
        """The same walk by several agents."""
        walkers = self._named(agents, ways, several=True)
        budget = self._checked(budget, BUDGET, seed)
        a, b = self.node(start), self.node(goal)
        optimum = self._optimum(a, b)
        return [self._walk(a, b, who, optimum, budget, ways, seed) for who in walkers]

    def _named(
        self, agents: Sequence[str | Agent], ways: Ways, *, several: bool = False
    ) -> list[str | Agent]:
        """Names that are agents here, and agents that are objects, each once."""
        names = self._check(tuple(agent for agent in agents if isinstance(agent, str)), ways)
        walkers: list[str | Agent] = [*names]
        walkers += (agent for agent in agents if not isinstance(agent, str))
        if not walkers:
            raise InputError("no agent is named: name one or more")
        if len(walkers) > 1 and not several:
            raise InputError("one agent walks at a time: name one")
        return walkers

    def _checked(self, budget: int | None, default: int, seed: int) -> int:
        budget = default if budget is None else budget
        if not 1 <= budget <= MOST_STEPS:
            raise InputError(f"budget={budget}: choose 1 to {MOST_STEPS:,} steps")
        if not 0 <= seed < _MOST_SEED:
            raise InputError(f"seed={seed}: choose a number from 0 to {_MOST_SEED - 1}")
        return budget

    def _optimum(self, start: int, goal: int) -> ShortestPath:
        with self._searching:
            optimum = self._paths.path(start, goal)
        if optimum.distance < 0:
            raise InputError(why_no_path(self.graph, start, goal))
        return optimum

    @property
    def _paths(self) -> ShortestPaths:
        """For one thread at a time."""
        return self._shelf.get("paths", lambda: ShortestPaths(self.graph.forward, self.graph.reverse))

    def _open_agent(self, who: str | Agent, ways: Ways) -> tuple[Agent, Units | None]:
        names = [who] if isinstance(who, str) else []
        used = self.embeddings
        with suppress(ArtifactError):  # whoever can do without is not refused
            used = self.table(*names).name
        vectors = open_vectors(self.folder, self.graph, names, used, self._shelf, mapped=True)
        if not isinstance(who, str):
            return who, vectors
        agent = self._shelf.get(
            ("agent", who, ways),
            lambda: open_agent(who, self.folder, self.graph, vectors, ways, used),
        )
        return agent, vectors

    def _walk(
        self,
        start: int,
        goal: int,
        who: str | Agent,
        optimum: ShortestPath,
        budget: int,
        ways: Ways,
        seed: int,
    ) -> Walk:
        walker, _ = self._open_agent(who, ways)
        clicks, measure, path, trapped = self._clicks(
            walker, Episodes.of([start], [goal]), budget, ways, seed
        )
        here, there = Place.many(self.graph, [start, goal])
        return Walk(
            agent=walker.name,
            start=here,
            goal=there,
            success=path[-1] == goal,
            distance=optimum.distance,
            steps=clicks,
            optimum=shortest_clicks(self.graph, optimum.nodes.tolist()),
            budget=budget,
            seed=seed,
            ways=getattr(walker, "ways", ways),
            measure=measure,
            trapped=trapped,
        )

    def _walk_towards(
        self, start: int, sentence: str, who: str | Agent, budget: int, ways: Ways, seed: int
    ) -> Walk:
        query = self._read(who, sentence)
        walker, vectors = self._open_agent(who, ways)
        assert vectors is not None, "a sentence cannot be read without"
        episodes = Episodes.of([start], [_UNKNOWN])._replace(queries=query[None])
        clicks, measure, path, trapped = self._clicks(walker, episodes, budget, ways, seed)
        cosines = vectors[path] @ query
        at = int(cosines.argmax())
        return Walk(
            agent=walker.name,
            start=self.place(start),
            sentence=sentence,
            steps=clicks,
            closest=Closest(place=self.place(path[at]), step=at, score=float(cosines[at])),
            budget=budget,
            seed=seed,
            ways=getattr(walker, "ways", ways),
            measure=measure,
            trapped=trapped,
        )

    def _clicks(
        self, walker: Agent, episodes: Episodes, budget: int, ways: Ways, seed: int
    ) -> tuple[tuple[Click, ...], str | None, list[int], bool]:
        """The clicks of one episode up to where it is trapped, what their scores are, the pages stood on; the trap."""
        journeys = walker.run(episodes, budget=budget, seed=seed)
        back = ways.back or getattr(walker, "goes_back", False)
        end = (
            None
            if journeys.success[0]
            else trapped_at(self.graph.forward, journeys.path(0).tolist(), back=back)
        )
        if end is not None:
            journeys.steps[0] = end
        path = journeys.path(0).tolist()
        links = journeys.choices[0, : len(path) - 1].tolist()
        if not isinstance(walker, Explains):
            return clicks_along(self.graph, path, links), None, path, end is not None
        weights = walker.explain(episodes, journeys, seed=seed)
        choices = weighed(self.graph, path, links, weights)
        return clicks_along(self.graph, path, links, choices), weights.measure, path, end is not None

    def _read(self, who: str | Agent, sentence: str) -> Float32s:
        """What the agent is shown of the words to look for: a vector of unit length."""
        name = who if isinstance(who, str) else None
        table = self.table(*filter(None, [name]))
        encoder: Encoder = open_encoder(self.folder, name, table, self._shelf)
        with self._reading:
            query: Float32s = unit_rows(encoder.encode([sentence]))[0]
        return query

    def pair(self, seed: int, least: int = 2, most: int = 6) -> tuple[Place, Place, int]:
        """Two articles for a game, from ``least`` to ``most`` clicks apart, and how many; a seed gives one pair."""
        with self._searching:
            start, goal, distance = GamePairs(self.graph, self._paths).draw(seed, least, most)
        return self.place(start), self.place(goal), distance

    # Evidence

    def finder(self, asked: FindConfig) -> Opened:
        """A way of looking for evidence, opened."""
        return open_finder(self.folder, self.graph, asked, self._shelf, device="cpu", mapped=True)

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
        opened = self._asked(queries, count, options)
        with self._reading if opened.alone else nullcontext():
            found = opened.find(queries, count)
        return [
            Answer.of(self.graph, query, own, opened.asked, opened.reranker)
            for query, own in zip(queries, found, strict=True)
        ]

    def find_waves(self, query: str, count: int = 5, **options: Any) -> Iterator[Answer]:
        """What is found for a query, as soon as anything is: at once the search engine's list, then wave by wave.

        The last is what ``find`` gives; each says its ``stage``.
        """
        opened = self._asked([query], count, options)
        waves = opened.find_waves(query, count)
        found: Found | None = next(waves)  # no network has read anything yet, so nobody is waited for
        while found is not None:
            yield Answer.of(self.graph, query, found, opened.asked, opened.reranker)
            with self._reading if opened.alone else nullcontext():
                found = next(waves, None)

    def _asked(self, queries: Sequence[str], count: int, options: dict[str, Any]) -> Opened:
        """The way of looking for evidence that was asked for, opened."""
        if count < 1:
            raise InputError(f"count={count}: ask for 1 or more sentences")
        wanted = {"embeddings": self.embeddings, "rerank": self.rerank}
        given = {name: value for name, value in options.items() if value is not None}
        asked = FindConfig.of(**wanted | given)
        for query in queries:
            if not _sound(query, "the query").strip():
                raise InputError("the query is empty: give a claim or a question")
            if asked.begin != "dense" and not any(sign.isalnum() for sign in query):
                raise InputError("the query has no words: give a claim or a question")
        return self.finder(asked)

    # The graph

    def statistics(self) -> dict[str, Any]:
        """The graph in numbers, as ``linkwalk stats --json`` says it; computed once."""
        return self._shelf.get("statistics", self._statistics)

    def _statistics(self) -> dict[str, Any]:
        from linkwalk.graph.statistics import statistics

        # A source is one sweep over all links, and there may be hundreds of millions.
        sources = 1000 if self.graph.edges < _LARGE else 64
        return statistics(self.graph, sources=sources, workers=threads()).to_json()
