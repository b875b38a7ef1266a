"""Ways of retrieval side by side, each piece of work done once: search results, what is read, scores of pairs.

Answers are those of each way on its own. Only what several of them would ask for again is remembered, and only while
the same questions are at hand, so memory does not grow with a benchmark.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkwalk.arrays import Float32s, Int32s
from linkwalk.downstream.remembered import RememberedSections, remembering
from linkwalk.downstream.rows import Row
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.navigate import Agent
from linkwalk.navigate.cosine import Units
from linkwalk.policy.compass import Compass
from linkwalk.retrieve import FindConfig, Finder, Found, Reranker, tfidf
from linkwalk.retrieve.found import Reading
from linkwalk.retrieve.judge import Judge
from linkwalk.retrieve.rerank import Blocks, Many, Texts, score_many
from linkwalk.retrieve.starts import Near, Search, Starts, nearest_many

MOST_PAIRS = 1 << 18
"""Scores of (query, title, sentence) that are remembered at most."""


class Remembered(Many):
    """A reranker that scores no pair twice: one whose scores do not depend on what else it is shown."""

    def __init__(self, slow: Reranker, most: int = MOST_PAIRS) -> None:
        self.slow, self.most = slow, most
        self._scores: dict[tuple[str, str, str], float] = {}

    def many(
        self, queries: Sequence[str], titles: Texts, sentences: Texts, blocks: Blocks = None
    ) -> list[Float32s]:
        """The scores of several queries' sentences."""
        keys = [
            [(query, title, sentence) for title, sentence in zip(own_titles, own, strict=True)]
            for query, own_titles, own in zip(queries, titles, sentences, strict=True)
        ]
        wanted = sum(map(len, keys))
        if len(self._scores) + wanted > self.most:
            self._scores.clear()
        new = [list(dict.fromkeys(key for key in own if key not in self._scores)) for own in keys]
        new = [own for own in new if own]
        for own, scores in zip(new, self._new(new), strict=True):
            self._scores.update(zip(own, scores.tolist(), strict=True))
        return [np.array([self._scores[key] for key in own], np.float32) for own in keys]

    def _new(self, new: list[list[tuple[str, str, str]]]) -> list[Float32s]:
        """Scores of pairs that were not met yet."""
        queries = [own[0][0] for own in new]
        titles = [[title for _, title, _ in own] for own in new]
        sentences = [[sentence for _, _, sentence in own] for own in new]
        return score_many(self.slow, queries, titles, sentences) if new else []


class _Searched:
    """A search that is done once for the questions at hand, as deep as any way wants it."""

    def __init__(self, search: Search, depth: int) -> None:
        self.search, self.depth = search, depth
        self._found: dict[str, tuple[Int32s, list[float]]] = {}

    def search_many(self, queries: Sequence[str], count: int) -> list[tuple[Int32s, list[float]]]:
        """The best blocks: the first of those found, since a shorter list is the head of a longer one."""
        if count > self.depth:
            return self.search.search_many(queries, count)
        new = [query for query in dict.fromkeys(queries) if query not in self._found]
        if new:
            self._found.update(zip(new, self.search.search_many(new, self.depth), strict=True))
        return [(nodes[:count], scores[:count]) for nodes, scores in map(self._found.__getitem__, queries)]

    def clear(self) -> None:
        """Other questions follow."""
        self._found.clear()


class _Neared:
    """The same for the nearest embeddings."""

    def __init__(self, near: Near | Units, depth: int) -> None:
        self.near, self.depth = near, depth
        self._found: dict[bytes, Int32s] = {}

    def nearest_many(self, meanings: Float32s, count: int) -> Sequence[Int32s]:
        """The blocks closest to each vector."""
        if count > self.depth:
            return self._look(meanings, count)
        keys = [meaning.tobytes() for meaning in meanings]
        new = [i for i, key in enumerate(keys) if key not in self._found]
        if new:
            found = self._look(meanings[new], self.depth)
            self._found.update(zip((keys[i] for i in new), found, strict=True))
        return [self._found[key][:count] for key in keys]

    def _look(self, meanings: Float32s, count: int) -> Sequence[Int32s]:
        """The blocks closest to each vector, looked for."""
        if isinstance(self.near, Near):
            return self.near.nearest_many(meanings, count)
        return list(nearest_many(self.near, meanings, count))

    def clear(self) -> None:
        """Other questions follow."""
        self._found.clear()


class _Reader(Finder):
    """A finder that reads what another one of the same ways has read already."""

    known: dict[FindConfig, list[Reading]]

    def read(self, starts: list[Starts], meanings: Float32s | None) -> list[Reading]:
        """What is read for the questions at hand."""
        if self.config not in self.known:
            self.known[self.config] = super().read(starts, meanings)
        return self.known[self.config]


class _Listed(Many):
    """TF-IDF, whose scores depend on all sentences at hand: remembered for whole lists."""

    def __init__(self) -> None:
        self._scores: dict[tuple[Any, ...], Float32s] = {}

    def many(
        self, queries: Sequence[str], titles: Texts, sentences: Texts, blocks: Blocks = None
    ) -> list[Float32s]:
        """The scores of several queries' sentences."""
        keys = [(q, tuple(t), tuple(s)) for q, t, s in zip(queries, titles, sentences, strict=True)]
        new = [key for key in dict.fromkeys(keys) if key not in self._scores]
        self._scores.update(zip(new, tfidf.many(*zip(*new, strict=True)) if new else (), strict=True))
        return [self._scores[key] for key in keys]

    def clear(self) -> None:
        """Other questions follow."""
        self._scores.clear()


class SideBySide:
    """Some rows of ``downstream.rows`` over one wiki, all held to the same number of blocks."""

    def __init__(
        self,
        graph: Graph,
        search: Search,
        rows: Sequence[Row],
        candidates: int,
        *,
        cross: Callable[[Reranker], Reranker | None] | None = None,
        judge: Judge | None = None,
        agent: Agent | None = None,
        compass: Compass | None = None,
        vectors: Units | None = None,
        near: Near | None = None,
        workers: int = 1,
    ) -> None:
        """``cross`` makes who ranks for the rows that say so, given TF-IDF with a memory; or else a ``judge`` does."""
        if not candidates:
            raise InputError("ways are compared at one number of blocks: choose 1 or more candidates")
        self.graph, self.rows = graph, tuple(rows)
        configs = {row.name: row.config(candidates) for row in rows}
        # Both lists of a hybrid are read this deep, and the lists of tabs.
        depth = max([100, *(config.hits for config in configs.values())])
        self._search, self._tfidf = _Searched(search, depth), _Listed()
        table = near if near is not None else vectors
        self._near = None if table is None else _Neared(table, depth)
        rerankers: dict[str, Reranker | None] = {"none": None, "tfidf": self._tfidf}
        if cross is not None:
            rerankers["cross"] = cross(self._tfidf)
        self._judge: Judge | None = None
        self._memory: RememberedSections | None = None
        if judge is not None:
            self._judge, self._memory = remembering(judge)
        self._readings: dict[FindConfig, list[Reading]] = {}
        self.finders: dict[str, Finder] = {}
        for row in rows:
            own = self._judge if row.rerank == "cross" else None
            if row.rerank != "none" and own is None and rerankers.get(row.rerank) is None:
                raise InputError(f"{row.name} needs a cross-encoder: rerank with cross, or with a folder")
            finder = _Reader(
                graph,
                self._search,
                configs[row.name],
                agent=agent,
                compass=compass,
                rerank=rerankers.get(row.rerank),
                vectors=vectors,
                near=self._near,
                judge=own,
                workers=workers,
            )
            finder.known = self._readings
            if self.finders:
                finder.sentences = next(iter(self.finders.values())).sentences
            self.finders[row.name] = finder

    def find_many(
        self,
        queries: Sequence[str],
        count: int,
        meanings: Float32s | None,
        sought: Float32s | None = None,
    ) -> dict[str, list[Found]]:
        """What each row finds for the same queries: up to 1,024, a finder's own piece."""
        if self._memory is not None:
            self._memory.clear()
        self._search.clear()
        self._tfidf.clear()
        self._readings.clear()
        if self._near is not None:
            self._near.clear()
        return {
            name: finder.find_many(queries, count, meanings=meanings, sought=sought)
            for name, finder in self.finders.items()
        }


Find = Callable[[Sequence[str], int], dict[str, list[Found]]]
"""Queries and a number of sentences in; for each way, by its name, what it found for each query."""
