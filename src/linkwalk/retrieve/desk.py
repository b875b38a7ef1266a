"""What lies on the desk for one query: blocks heard of, blocks read, and all that is known of either (sec. 4.3).

A block is heard of from a search result or from a link of a block that was read. What is known of it then (``HEARD``)
says whether to open it; what is known once it was read (``READ``, too) says how good it is. ``ASKED`` is known of the
query and of how far it has got, and is the same for all its blocks. Every figure is a plain number that means the same
on any wiki: cosines, shares of the best, logarithms of counts.

Shapes: N blocks heard of, D width.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwalk.arrays import Float32s
from linkwalk.graph.store import LINK, Graph
from linkwalk.navigate.cosine import Units
from linkwalk.retrieve.block_reader import Passage, ReadBlock
from linkwalk.retrieve.starts import SearchHits, fuse

MEANT = ("goal", "way", "search", "lacks")
"""Cosines: to what the query means, to where the agent would look for it, to what it means to search, and to what of
that the best block so far lacks."""
SEARCHED = ("words", "words_rank", "near_rank", "both", "mates", "mates_words")
"""BM25's score as a share of the best one's; ranks, from 1 for the first down to 0; whether both lists have it; how
many hits its article has, and the best share among them."""
LINKED = ("linked", "links", "via", "parent", "beside", "rank")
"""Whether a text that was read links there, how many do, the score of the best sentence around such a link, that of the
block it stands in, that of the best block before or after it, and PageRank's weight."""
PLACED = ("lead", "place", "title", "named", "degree")
"""Whether it is its article's first block; how far down it stands; the share of the title's words that the query has;
whether it has the whole title; how many link to it."""
HEARD = (*MEANT, *SEARCHED, *LINKED, *PLACED)
READ = ("best", "second", "first", "deep", "behind", "covered", "mates_best", "sentences")
"""Of its sentences the best score and the second; the best by the first head; whether it was read to the end; how far
it is behind the query's best block; the share of the query's words that it has; the best of its article's other blocks;
how many sentences it has."""
ASKED = ("question", "length", "top", "spread", "opened")
"""Whether it is a question; how many words it has; the best score so far, and how far the others are behind it; how
many blocks were opened."""
TRIED = ("tried", "tried_best")
"""Of its article, how many blocks were read, and the best score among them: where one block has not settled it, another
article may sooner than the next block of the same one."""
GROUPS = {
    "meant": MEANT,
    "words": ("words", "words_rank", "both", "mates_words"),
    "near": ("near_rank", "both"),
    "linked": LINKED,
}
"""What a way of retrieval may have to do without. What nobody knows is NaN, except of links: there are none then."""

LISTED, PAGE = 20, 10
"""How many of both lists, fused, are asked for, and how many of these are the page of results one would look at."""
HIT = -1
"""The parent of a search result."""
_COLUMN = {name: number for number, name in enumerate(HEARD)}
_WORD = re.compile(r"\w+")
_ASKS = frozenset(
    "who whom whose what when where which why how is are was were do does did can could".split()
)
_COMMON = frozenset(
    "a an the of in on at to and or for by from with as is are was were be been it its this that these those who whom "
    "whose what when where which why how do does did has have had not no".split()
)
_WORST = -20.0  # a score below all others
_RANK = 10  # what softens the lead of first places


class Meanings(NamedTuple):
    """A query as vectors of unit length [D]; None where there are no embeddings."""

    goal: Float32s
    way: Float32s
    search: Float32s


@dataclass(frozen=True)
class Library:
    """What all queries have in common."""

    graph: Graph
    vectors: Units | None

    @classmethod
    def of(cls, graph: Graph, vectors: Units | None) -> "Library":
        """A wiki with its embeddings, of unit length."""
        return cls(graph, vectors)


class Desk:
    """What is known for one query: blocks heard of, blocks read, and the figures of both."""

    def __init__(
        self,
        library: Library,
        query: str,
        hits: SearchHits,
        meanings: Meanings | None,
        weights: dict[int, float] | None = None,
        *,
        links: bool = True,
    ) -> None:
        """``weights`` are PageRank's; without ``links`` no block is heard of by one."""
        self.library, self.query, self.hits, self.links = library, query, hits, links
        self.meanings, self.weights = (meanings if library.vectors is not None else None), weights or {}
        self.asked = frozenset(_WORD.findall(query.lower()))
        self.content = self.asked - _COMMON
        self.plain = f" {' '.join(_WORD.findall(query.lower()))} "
        self.row: dict[int, int] = {}
        self.nodes: list[int] = []
        self.known = np.zeros((0, len(HEARD)), np.float32)
        self.units = np.zeros((0, 0), np.float32)
        self.parent: list[tuple[int, int]] = []
        """The row and the link that led to each block, or HIT."""
        self.opened: list[int] = []
        """Rows that were read, in that order."""
        self.read: list[ReadBlock] = []
        self.via: dict[int, tuple[int, int]] = {}
        """Of rows that a link led to: the row and the sentence that it stands in."""
        self.led: dict[int, tuple[int, int]] = {}
        """The row and the link by which one gets to a row from what was read before it, lists or not."""
        self.linked: dict[int, tuple[int, float, float]] = {}
        """Of rows that some text links to: how many do, the best sentence around such a link, and its block."""
        self.beside: dict[int, float] = {}
        """Of rows before or after a block that was read, what that was worth."""
        self._best = np.zeros(0, np.float32)
        best = float(hits.scores.max(initial=0)) or 1.0
        self._words = {n: float(s) / best for n, s in zip(hits.words.tolist(), hits.scores, strict=True)}
        self._words_rank = {n: _RANK / (_RANK + i) for i, n in enumerate(hits.words.tolist())}
        self._near_rank = {n: _RANK / (_RANK + i) for i, n in enumerate(hits.near.tolist())}
        self._mates: dict[int, tuple[int, float]] = {}
        articles = library.graph.node_article
        for node in dict.fromkeys((*hits.words[:20].tolist(), *hits.near[:20].tolist())):
            article = int(articles[node])
            count, share = self._mates.get(article, (0, 0.0))
            self._mates[article] = count + 1, max(share, self._words.get(node, 0.0))
        self._titles: dict[int, tuple[float, float]] = {}
        self.listed: list[int] = fuse(hits.words, hits.near, count=LISTED)[0].tolist()
        """The first of both lists, fused."""
        there = {"meant": self.meanings is not None, "words": len(hits.words) > 0, "near": len(hits.near) > 0}
        self._unknown = [_COLUMN[own] for name, known in there.items() if not known for own in GROUPS[name]]

    def hear(self, nodes: Sequence[int], parents: Sequence[tuple[int, int]] | None = None) -> None:
        """Put blocks on the desk that are not there yet."""
        first = {node: i for i, node in reversed(list(enumerate(nodes))) if node not in self.row}
        new = sorted(first.values())
        if not new:
            return
        graph, at = self.library.graph, np.array([nodes[i] for i in new], np.int64)
        fresh = np.zeros((len(new), len(HEARD)), np.float32)
        column = {name: fresh[:, number] for name, number in _COLUMN.items()}
        if self.meanings is not None:
            units = np.asarray(self.library.vectors[at], np.float32)  # type: ignore[index]
            self.units = units if not len(self.nodes) else np.concatenate((self.units, units))
            for name, vector in zip(("goal", "way", "search"), self.meanings, strict=True):
                column[name][:] = units @ vector
        which = graph.node_article[at]
        articles, places = which.tolist(), at - graph.article_node[which]
        column["words"][:] = [self._words.get(n, 0.0) for n in at.tolist()]
        column["words_rank"][:] = [self._words_rank.get(n, 0.0) for n in at.tolist()]
        column["near_rank"][:] = [self._near_rank.get(n, 0.0) for n in at.tolist()]
        column["both"][:] = (column["words_rank"] > 0) & (column["near_rank"] > 0)
        mates = np.array([self._mates.get(a, (0, 0.0)) for a in articles], np.float32)
        column["mates"][:], column["mates_words"][:] = np.log1p(mates[:, 0]), mates[:, 1]
        column["rank"][:] = [self.weights.get(n, 0.0) for n in at.tolist()]
        column["lead"][:], column["place"][:] = places == 0, np.log1p(places)
        titles = np.array([self._titled(a) for a in articles], np.float32)
        column["title"][:], column["named"][:] = titles[:, 0], titles[:, 1]
        column["degree"][:] = np.log1p(graph.in_indptr[at + 1] - graph.in_indptr[at])
        fresh[:, self._unknown] = np.nan
        self.known = np.concatenate((self.known, fresh))
        for i in new:
            self.row[int(nodes[i])] = len(self.nodes)
            self.nodes.append(int(nodes[i]))
            self.parent.append((HIT, 0) if parents is None else parents[i])

    def _titled(self, article: int) -> tuple[float, float]:
        """How much of an article's title the query has, and whether it has the whole of it."""
        if article not in self._titles:
            words = _WORD.findall(self.library.graph.titles[article].lower())
            content = [word for word in words if word not in _COMMON] or words
            share = sum(word in self.asked for word in content) / max(1, len(content))
            self._titles[article] = share, float(bool(words) and f" {' '.join(words)} " in self.plain)
        return self._titles[article]

    def passage(self, row: int, sentences: Callable[[int], Any]) -> Passage:
        """What is read of a block: behind the sentence around the link, if a link led there."""
        via = ""
        if self.parent[row][0] != HIT and row in self.via:
            parent, sentence = self.via[row]
            texts = sentences(self.nodes[parent]).texts
            via = texts[min(sentence, len(texts) - 1)]
        node = self.nodes[row]
        return Passage(self.library.graph.title(node), sentences(node).texts, via)

    def open(
        self, rows: Sequence[int], read: Sequence[ReadBlock], numbers: Sequence[NDArray[np.int64]]
    ) -> None:
        """Take down what was read; ``numbers`` says of each sentence of a block's own which one of the read it is."""
        self.opened += rows
        self.read += read
        self._best = np.array([float(block.scores.max(initial=_WORST)) for block in self.read], np.float32)
        self._follow(rows, read, numbers)
        if self.meanings is not None and len(self.read):
            best = self.units[self.opened[int(self._best.argmax())]]
            lacks = self.meanings.search - (self.meanings.search @ best) * best
            length = float(np.linalg.norm(lacks)) or 1.0
            self.known[:, _COLUMN["lacks"]] = self.units @ (lacks / length).astype(np.float32)

    def _follow(
        self, rows: Sequence[int], read: Sequence[ReadBlock], numbers: Sequence[NDArray[np.int64]]
    ) -> None:
        """Hear of what blocks that were read link to, and of their neighbours."""
        graph = self.library.graph
        found: list[tuple[int, bool, tuple[int, int], int, float, float]] = []
        for row, block, number in zip(rows, read, numbers, strict=True):
            node = self.nodes[row]
            out = slice(int(graph.out_indptr[node]), int(graph.out_indptr[node + 1]))
            ends = graph.sentence_ends[graph.sentence_indptr[node] : graph.sentence_indptr[node + 1]]
            own = np.searchsorted(ends, graph.out_spans[out, 0], side="right")
            around = np.append(number, -1)[np.minimum(own, len(number))]
            best = float(block.scores.max(initial=_WORST))
            score = np.append(block.scores, np.float32(best))[around]
            found += zip(
                graph.out_targets[out].tolist(),
                (graph.out_kinds[out] >= LINK).tolist(),
                [(row, link) for link in range(out.stop - out.start)],
                around.tolist(),
                score.tolist(),
                [best] * (out.stop - out.start),
                strict=True,
            )
        if self.links:
            self.hear([one[0] for one in found], [one[2] for one in found])
        opened = {row: place for place, row in enumerate(self.opened)}
        for target, text, step, sentence, worth, best in found:
            at = self.row.get(target)
            if at is None:
                continue
            if not text:
                self.beside[at] = max(self.beside.get(at, _WORST), best)
                continue
            links, via, parent = self.linked.get(at, (0, _WORST, _WORST))
            if worth > via:
                via, parent = worth, best
                if opened.get(at, len(opened)) > opened[step[0]]:
                    self.led[at] = step
                if at not in opened:
                    self.via[at] = step[0], max(sentence, 0)
                    if self.parent[at][0] != HIT:
                        self.parent[at] = step
            self.linked[at] = links + 1, via, parent

    def unread(self) -> NDArray[np.int64]:
        """Rows that were not read yet."""
        rest = np.ones(len(self.nodes), np.bool_)
        rest[self.opened] = False
        return np.flatnonzero(rest)

    def about(self) -> Float32s:
        """What is known of the query, in the order of ``ASKED``."""
        words = self.query.lower().split()
        asks = self.query.rstrip().endswith("?") or bool(words and words[0] in _ASKS)
        top = second = _WORST
        if len(self._best):
            top = float(self._best.max())
            second = float(np.mean(np.sort(self._best)[-4:-1])) if len(self._best) > 1 else top
        found = (float(asks), np.log1p(len(words)), top / 10, (top - second) / 10, len(self.opened) / 20)
        return np.array(found, np.float32)

    def heard_of(self, rows: NDArray[np.int64]) -> Float32s:
        """``HEARD`` and ``ASKED`` of some blocks."""
        known = self.known[rows]
        none = (0, 0.0, 0.0)
        links = np.array([self.linked.get(row, none) for row in rows.tolist()], np.float32).reshape(-1, 3)
        known[:, _COLUMN["linked"]], known[:, _COLUMN["links"]] = links[:, 0] > 0, np.log1p(links[:, 0])
        known[:, _COLUMN["via"]], known[:, _COLUMN["parent"]] = links[:, 1] / 10, links[:, 2] / 10
        known[:, _COLUMN["beside"]] = [self.beside.get(row, 0.0) / 10 for row in rows.tolist()]
        return np.concatenate((known, np.repeat(self.about()[None], len(rows), 0)), 1)

    def weighed(self, rows: NDArray[np.int64]) -> Float32s:
        """``HEARD``, ``ASKED`` and ``TRIED`` of some blocks."""
        read: dict[int, tuple[int, float]] = {}
        articles = self.articles(rows).tolist()
        for article, best in zip(self.articles(self.opened).tolist(), self._best.tolist(), strict=True):
            count, most = read.get(article, (0, _WORST))
            read[article] = count + 1, max(most, best)
        tried = np.array([read.get(article, (0, 0.0)) for article in articles], np.float32).reshape(-1, 2)
        tried[:, 0], tried[:, 1] = np.log1p(tried[:, 0]), tried[:, 1] / 10
        return np.concatenate((self.heard_of(rows), tried), 1)

    def articles(self, rows: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int32]:
        """Which articles some rows are of."""
        nodes = np.array(self.nodes, np.int64)[np.asarray(rows, np.int64)]
        found: NDArray[np.int32] = self.library.graph.node_article[nodes]
        return found

    def judged(self, texts: Callable[[int], tuple[str, ...]]) -> Float32s:
        """``HEARD``, ``READ`` and ``ASKED`` of the blocks that were read, in that order."""
        rows = np.array(self.opened, np.int64)
        read = np.zeros((len(rows), len(READ)), np.float32)
        articles = self.articles(rows)
        for i, block in enumerate(self.read):
            scores = np.sort(block.scores)[::-1]
            words = set(_WORD.findall(" ".join(texts(self.nodes[self.opened[i]])).lower()))
            mates = (articles == articles[i]) & (np.arange(len(rows)) != i)
            read[i] = (
                scores[0] / 10 if len(scores) else -2,
                scores[1] / 10 if len(scores) > 1 else -2,
                block.first.max(initial=_WORST) / 10,
                block.deep,
                (scores[0] - self._best.max()) / 10 if len(scores) else -2,
                len(self.content & words) / max(1, len(self.content)),
                self._best[mates].max(initial=_WORST) / 10,
                np.log1p(len(scores)),
            )
        heard = self.heard_of(rows)
        return np.concatenate((heard[:, : len(HEARD)], read, heard[:, len(HEARD) :]), 1)

    def path(self, row: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The pages from a search result to a block, and the links clicked between them.

        What is not on the page of results, and is linked to by a block that was read before it, is a click from there.
        """
        pages, links = [self.nodes[row]], []
        while (step := self._step(row))[0] != HIT:
            row, link = step
            pages.append(self.nodes[row])
            links.append(link)
        return tuple(pages[::-1]), tuple(links[::-1])

    def _step(self, row: int) -> tuple[int, int]:
        """The row and the link that a row is reached from, or HIT."""
        step = self.parent[row]
        found = step[0] == HIT and (not self.links or self.nodes[row] in self.listed[:PAGE])
        return step if found or step[0] != HIT else self.led.get(row, step)
