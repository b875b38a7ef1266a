"""Methods of retrieval side by side, each held to the same number of blocks (tables 5, 6, and ours).

Answers are those of each method on its own, and each piece of work is done once: search results, what is read, scores
of pairs. Only what several of them would ask for again is kept, and only while the same questions are at hand, so
memory does not grow with a benchmark.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from copy import copy
from functools import partial
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from linkwalk.arrays import Bools, Float32s, Int32s
from linkwalk.embed.sections import Choose, Means, SectionReader, Sections
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.navigate import Agent
from linkwalk.navigate.cosine import Units
from linkwalk.policy.compass import Compass
from linkwalk.retrieve import EvidenceList, FindConfig, Finder, Reranker, tfidf
from linkwalk.retrieve.evidence import Reading
from linkwalk.retrieve.judge import Judge
from linkwalk.retrieve.rerank import BatchReranker, Blocks, Texts, score_many
from linkwalk.retrieve.starts import Near, Search, Starts, nearest_many

MOST_PAIRS = 1 << 18
"""Scores of (query, title, sentence) that are remembered at most."""

_Both = tuple[Float32s, Float32s]
"""The means of one pair: of its query [D] and of its sections [S, D]."""


class Method(NamedTuple):
    """One way to retrieve: where it starts, how it navigates, who ranks."""

    name: str
    start: str = "bm25"
    navigation: str = "none"
    rerank: str = "none"
    """``none``, ``tfidf`` or ``cross``."""
    reference: str | None = None
    """The method that reads search results alone, as they come."""
    control: str | None = None
    """The one that differs in links alone: the same search results in the agent's order, none of their links."""

    def config(self, candidates: int) -> FindConfig:
        """Held to so many blocks: a quarter of them are the starts of walks and of one-hop expansion."""
        return FindConfig(
            start=self.start,
            navigation=self.navigation,
            starts=max(1, candidates // 4),
            candidates=candidates,
            read_all=True,
        )


_NAVIGATION = {
    "none": "",
    "lead": ", lead blocks",
    "expand": " + one-hop",
    "pagerank": " + PageRank",
    "walks": " + walks",
    "order": " + order",
    "tabs": " + navigation",
}


def _methods(start: str, rerank: str, *ways: str) -> list[Method]:
    """One start and one reranker: the search results themselves, and ways to read beyond them."""
    named = {"bm25": "BM25"}.get(start, start)
    ranked = {"none": "", "tfidf": " + TF-IDF", "cross": " + cross-encoder"}[rerank]
    names = {way: f"{named}{said}{ranked}" for way, said in _NAVIGATION.items()}
    return [
        Method(
            name=names[way],
            start=start,
            navigation=way,
            rerank=rerank,
            reference=None if way == "none" else names["none"],
            control=names["order"] if way == "tabs" and "order" in ways else None,
        )
        for way in ways
    ]


METHODS = (
    *_methods("bm25", "none", "none", "lead", "pagerank", "order", "tabs"),
    *_methods("bm25", "tfidf", "none", "expand", "walks", "order", "tabs"),
    *_methods("bm25", "cross", "none", "expand", "pagerank", "walks", "order", "tabs"),
    *_methods("dense", "none", "none", "tabs"),
    *_methods("dense", "cross", "none", "tabs"),
    *_methods("hybrid", "none", "none", "pagerank", "order", "tabs"),
    *_methods("hybrid", "cross", "none", "pagerank", "order", "tabs"),
)
"""``order``: search results alone, those first that look best to the agent; what links add is the difference to it."""


class SideBySide:
    """Some methods over one wiki, all held to the same number of blocks."""

    def __init__(
        self,
        graph: Graph,
        search: Search,
        methods: Sequence[Method],
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
        """``cross`` makes who ranks for the methods that say so, given TF-IDF with a memory; or else a ``judge``."""
        if not candidates:
            raise InputError("ways are compared at one number of blocks: choose 1 or more candidates")
        configs = {method.name: method.config(candidates) for method in methods}
        # Both lists of a hybrid are read this deep, and the lists of tabs.
        depth = max([100, *(config.hits for config in configs.values())])
        searches, by_words = _SearchCache(search, depth), _TfidfCache()
        self._caches: list[_Cache | SectionCache] = [searches, by_words]
        nearest = None
        if (table := near if near is not None else vectors) is not None:
            nearest = _NearCache(table, depth)
            self._caches.append(nearest)
        rerankers: dict[str, Reranker | None] = {"none": None, "tfidf": by_words}
        rerankers["cross"] = cross(by_words) if cross is not None else None
        if judge is not None:
            sections = SectionCache(judge.reader.reader)
            judge, reader = copy(judge), copy(judge.reader)
            reader.reader, judge.reader = sections, reader
            self._caches.append(sections)
        self._readings: dict[FindConfig, list[Reading]] = {}
        self.finders: dict[str, Finder] = {}
        for method in methods:
            crossed = method.rerank == "cross"
            if crossed and judge is None and rerankers["cross"] is None:
                raise InputError(f"{method.name} needs a cross-encoder: rerank with cross, or with a folder")
            finder = _SharingFinder(
                graph,
                searches,
                configs[method.name],
                agent=agent,
                compass=compass,
                rerank=rerankers[method.rerank],
                vectors=vectors,
                near=nearest,
                judge=judge if crossed else None,
                workers=workers,
            )
            finder.shared = self._readings
            if self.finders:
                finder.sentences = next(iter(self.finders.values())).sentences
            self.finders[method.name] = finder

    def find_many(
        self,
        queries: Sequence[str],
        count: int,
        meanings: Float32s | None,
        sought: Float32s | None = None,
    ) -> dict[str, list[EvidenceList]]:
        """What each method finds for the same queries: up to 1,024, a finder's own piece."""
        self._readings.clear()
        for cache in self._caches:
            cache.clear()
        return {
            name: finder.find_many(queries, count, meanings=meanings, sought=sought)
            for name, finder in self.finders.items()
        }


class _SharingFinder(Finder):
    """A finder that reads nothing again that another one of the same settings has read."""

    shared: dict[FindConfig, list[Reading]]

    def read(self, starts: list[Starts], meanings: Float32s | None) -> list[Reading]:
        """What is read for the questions at hand."""
        if self.config not in self.shared:
            self.shared[self.config] = super().read(starts, meanings)
        return self.shared[self.config]


class _Cache:
    """What is known of the questions at hand; what is not known yet is found out at once, and kept."""

    def __init__(self) -> None:
        self.known: dict[Hashable, Any] = {}

    def get(self, keys: Sequence[Any], find: Callable[[list[Any]], Iterable[Any]]) -> list[Any]:
        """What belongs to each key; ``find`` is asked for those that are new, each once."""
        new = [key for key in dict.fromkeys(keys) if key not in self.known]
        if new:
            self.known.update(zip(new, find(new), strict=True))
        return [self.known[key] for key in keys]

    def clear(self) -> None:
        """Other questions follow."""
        self.known.clear()


class _SearchCache(_Cache):
    """A search that is done once, as deep as any method wants it: a shorter list is the head of a longer one."""

    def __init__(self, search: Search, depth: int) -> None:
        super().__init__()
        self.search, self.depth = search, depth

    def search_many(self, queries: Sequence[str], count: int) -> list[tuple[Int32s, list[float]]]:
        """For each query the best blocks, and their scores."""
        depth = max(count, self.depth)
        found = self.get(
            [(query, depth) for query in queries],
            lambda new: self.search.search_many([query for query, _ in new], depth),
        )
        return [(nodes[:count], scores[:count]) for nodes, scores in found]


class _NearCache(_Cache):
    """The same for the nearest embeddings."""

    def __init__(self, table: Near | Units, depth: int) -> None:
        super().__init__()
        self.nearest = table.nearest_many if isinstance(table, Near) else partial(nearest_many, table)
        self.depth = depth

    def nearest_many(self, meanings: Float32s, count: int) -> Sequence[Int32s]:
        """The blocks closest to each vector."""
        depth, rows = max(count, self.depth), {row.tobytes(): row for row in meanings}
        found = self.get(
            [(row.tobytes(), depth) for row in meanings],
            lambda new: self.nearest(np.stack([rows[key] for key, _ in new]), depth),
        )
        return [nodes[:count] for nodes in found]


class _TfidfCache(_Cache, BatchReranker):
    """TF-IDF, whose scores depend on all sentences at hand: remembered for whole lists."""

    def many(
        self, queries: Sequence[str], titles: Texts, sentences: Texts, blocks: Blocks = None
    ) -> list[Float32s]:
        """The scores of several queries' sentences."""
        lists = zip(queries, map(tuple, titles), map(tuple, sentences), strict=True)
        return self.get(list(lists), lambda new: tfidf.many(*zip(*new, strict=True)))


class PairScoreCache(_Cache, BatchReranker):
    """A reranker whose scores do not depend on what else it is shown: remembered for pairs, so many at most."""

    def __init__(self, slow: Reranker, most: int = MOST_PAIRS) -> None:
        super().__init__()
        self.slow, self.most = slow, most

    def many(
        self, queries: Sequence[str], titles: Texts, sentences: Texts, blocks: Blocks = None
    ) -> list[Float32s]:
        """The scores of several queries' sentences."""
        pairs = [
            [(query, title, sentence) for title, sentence in zip(own_titles, own, strict=True)]
            for query, own_titles, own in zip(queries, titles, sentences, strict=True)
        ]
        if len(self.known) + sum(map(len, pairs)) > self.most:
            self.known.clear()
        scores = iter(self.get(list(chain.from_iterable(pairs)), self._score))
        return [np.array(list(islice(scores, len(own))), np.float32) for own in pairs]

    def _score(self, new: list[tuple[str, str, str]]) -> list[float]:
        """Scores of pairs that were not met yet."""
        of_query = [list(own) for _, own in groupby(new, itemgetter(0))]
        queries = [own[0][0] for own in of_query]
        titles = [[title for _, title, _ in own] for own in of_query]
        sentences = [[sentence for _, _, sentence in own] for own in of_query]
        return [float(x) for own in score_many(self.slow, queries, titles, sentences) for x in own]


class SectionCache:
    """A reader of sections that reads no pair twice; which pairs are read to the end is decided anew each time."""

    def __init__(self, reader: SectionReader, *, whole: bool = False) -> None:
        """A reader that reads everything to the end in any case (``whole``) need not be asked again for the rest."""
        self.reader, self.whole = reader, whole
        self._early: dict[Hashable, _Both] = {}
        self._late: dict[Hashable, _Both] = {}

    def read(self, pairs: Sequence[Sections], exit: int, choose: Choose) -> tuple[Means, Means, Bools]:
        """The means after ``exit`` layers and after the last, and which pairs [P] were read to the end."""
        keys: list[Hashable] = [(*pair.tokens, *pair.bounds) for pair in pairs]
        new = {key: pair for key, pair in zip(keys, pairs, strict=True) if key not in self._early}
        chosen: list[Bools] = []

        def going(early: Means) -> Bools:
            self._early.update(zip(new, _each(early), strict=True))
            chosen.append(choose(_joined([self._early[key] for key in keys])))
            deep = {key for key, going in zip(keys, chosen[0].tolist(), strict=True) if going}
            return np.array([self.whole or key in deep for key in new], np.bool_)

        if new:
            _, late, went = self.reader.read(list(new.values()), exit, going)
            each = zip(new, _each(late), went.tolist(), strict=True)
            self._late.update((key, both) for key, both, deep in each if deep)
        early = _joined([self._early[key] for key in keys])
        deep = chosen[0] if chosen else choose(early)
        lacking = {key: pairs[i] for i, key in enumerate(keys) if deep[i] and key not in self._late}
        if lacking:
            _, late, _ = self.reader.read(
                list(lacking.values()), exit, lambda early: np.ones(len(early.query), np.bool_)
            )
            self._late.update(zip(lacking, _each(late), strict=True))
        return early, _joined([self._late.get(key) or self._early[key] for key in keys]), deep

    def clear(self) -> None:
        """Other questions follow."""
        self._early.clear()
        self._late.clear()


def _each(means: Means) -> list[_Both]:
    """Pair by pair."""
    cuts = np.searchsorted(means.owner, np.arange(1, len(means.query)))
    return list(zip(means.query, np.split(means.sections, cuts), strict=True))


def _joined(each: Sequence[_Both]) -> Means:
    """Of all pairs."""
    owner = np.repeat(np.arange(len(each)), [len(sections) for _, sections in each])
    return Means(np.stack([one[0] for one in each]), np.concatenate([one[1] for one in each]), owner)
