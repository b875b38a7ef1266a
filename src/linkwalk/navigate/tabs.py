"""Reading with tabs: from a page of search results, always open the most promising link seen so far (sec. 4.3, ours).

The paper's agent walks from each start on its own, and a walk that went wrong is lost. A person with a browser keeps
every page open: next comes the best link of any of them, or the next search result. The worth of an unread page ``a``
is

    a.q + trust * s(a) + linked (if the text of some page read links to it)

with vectors of unit length, ``q`` the direction looked in, and ``s(a)`` from 0 to 1 what the search engine thinks of
it: its score over that of the best hit, 0 if it is none. The blocks before and after a page read can be opened, too,
but nobody recommends them. A page never loses by a further link: a negative ``linked`` counts against pages that were
heard of by a link first. Each page opened costs one, hit or link, so at equal cost this is the search engine's list
with some of its entries traded for links.

Shapes: Q queries, H hits of all of them, N pages to read, D width.
"""

import itertools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from linkwalk.arrays import Bytes, Float32s, Int32s, Int64s
from linkwalk.compiled import guarded, in_pieces, kernel, row_of, within
from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr, links_of
from linkwalk.graph.hashes import EMPTY, slot_of
from linkwalk.graph.store import LINK
from linkwalk.navigate.cosine import Units, cosine, in_kernel

HIT = -1
"""The parent of a page that was opened from the search results."""
_READ = np.float32(np.inf)


@dataclass(frozen=True, kw_only=True)
class TabsConfig:
    """What counts besides the cosine, in its units."""

    trust: float = 0.25
    """What the best hit's score is worth."""
    linked: float = 0.15
    """What it is worth that the text of a page read links there."""
    links: bool = True
    """Whether links are followed; if not, this is the search engine's list in another order."""

    def __post_init__(self) -> None:
        """What is added to a cosine is a number."""
        for name in ("trust", "linked"):
            if not np.isfinite(getattr(self, name)):
                raise InputError(f"{name}={getattr(self, name)}: choose a number")


class Hits(NamedTuple):
    """Search results of several queries, one after the other."""

    bounds: Int64s
    """[Q + 1]: where each query's begin."""
    nodes: Int32s
    """[H]: the best first."""
    scores: Float32s
    """[H]: from 0 to 1, the query's best is 1."""

    @classmethod
    def of(cls, lists: list[tuple[Int32s, Float32s]]) -> "Hits":
        """From each query's nodes and scores."""
        bounds = np.array([0, *itertools.accumulate(len(nodes) for nodes, _ in lists)], np.int64)
        if not lists:
            return cls(bounds, np.zeros(0, np.int32), np.zeros(0, np.float32))
        nodes = np.concatenate([nodes for nodes, _ in lists]).astype(np.int32)
        return cls(bounds, nodes, np.concatenate([scores for _, scores in lists]).astype(np.float32))


class Tabs(NamedTuple):
    """What was read, in that order, and from where."""

    nodes: Int32s
    """[Q, N]; -1 where nothing more could be opened."""
    parents: Int32s
    """[Q, N]: which of the pages before it links there (its place in the order), or HIT."""
    links: Int32s
    """[Q, N]: the number of the link on that page."""
    worth: Float32s
    """[Q, N]: what the page looked worth when it was opened."""

    def path(self, query: int, place: int) -> tuple[list[int], list[int]]:
        """The pages from a search result to the one at a place, and the links clicked between them."""
        pages, links = [int(self.nodes[query, place])], []
        while (parent := int(self.parents[query, place])) != HIT:
            links.append(int(self.links[query, place]))
            pages.append(int(self.nodes[query, parent]))
            place = parent
        return pages[::-1], links[::-1]


def read_tabs(
    graph: Csr,
    kinds: Bytes,
    vectors: Units,
    directions: Float32s,
    hits: Hits,
    count: int,
    config: TabsConfig = TabsConfig(),  # noqa: B008 (frozen)
    *,
    workers: int = 1,
) -> Tabs:
    """Read ``count`` pages for each query; ``vectors`` [N, D] and ``directions`` [Q, D] are of unit length.

    ``kinds`` has the kind of each link of the graph (``linkwalk.graph.store.KINDS``).
    """
    queries = len(directions)
    tabs = Tabs(
        np.full((queries, count), -1, np.int32),
        np.full((queries, count), HIT, np.int32),
        np.zeros((queries, count), np.int32),
        np.zeros((queries, count), np.float32),
    )
    trust, linked, follow = np.float32(config.trust), np.float32(config.linked), bool(config.links)

    def work(start: int, stop: int) -> None:
        table = in_kernel(vectors)
        _read(graph, kinds, table, directions, hits, trust, linked, follow, start, stop, tabs)

    in_pieces(queries, workers, work)
    return tabs


@guarded
def _best(value: Float32s, heard: Int32s) -> int:
    """Of the slots heard of the one that is worth most and has not been read, the first of equals; or -1."""
    best = -1
    for i in range(heard.shape[0]):
        at = heard[i]
        if value[at] != _READ and (best < 0 or value[at] > value[best]):
            best = at
    return best


@kernel
def _read(
    graph: Csr,
    kinds: Bytes,
    vectors: Float32s,
    directions: Float32s,
    results: Hits,
    trust: np.float32,
    linked: np.float32,
    follow: bool,
    start: int,
    stop: int,
    tabs: Tabs,
) -> None:
    """Fill the rows of some queries."""
    indices = graph.indices
    bounds, hits, scores = results
    nodes, parents, links, worth = tabs
    count = nodes.shape[1]
    size = 1024
    for query in range(start, stop):
        direction = directions[query]
        first, last = row_of(bounds, query, hits.shape[0])
        known = 0
        while 4 * (last - first) > size:
            size *= 2
        # A hash table of the pages heard of; values are the worth, infinite once read.
        pages = np.full(size, EMPTY, np.int32)
        value = np.empty(size, np.float32)
        parent = np.empty(size, np.int32)
        link = np.empty(size, np.int32)
        named = np.zeros(size, np.bool_)  # whether some page's text links there
        heard = np.empty(size // 2, np.int32)  # slots, in the order heard of
        for hit in range(first, last):
            page = within(hits[hit], vectors.shape[0])
            at = slot_of(pages, page)
            if pages[at] == EMPTY:
                pages[at], parent[at], link[at] = page, HIT, 0
                value[at] = cosine(vectors[page], direction) + trust * scores[hit]
                heard[known] = at
                known += 1
        for place in range(count):
            best = _best(value, heard[:known])
            if best < 0:
                break
            node = pages[best]
            nodes[query, place], parents[query, place] = node, parent[best]
            links[query, place], worth[query, place] = link[best], value[best]
            value[best] = _READ
            if not follow:
                continue
            begin, end = links_of(graph, node)
            degree = end - begin
            if 2 * (known + degree + 1) > size:
                old_pages, old_value, old_parent, old_link, old = pages, value, parent, link, heard
                old_named = named
                while 2 * (known + degree + 1) > size:
                    size *= 2
                pages = np.full(size, EMPTY, np.int32)
                value, parent = np.empty(size, np.float32), np.empty(size, np.int32)
                link, heard = np.empty(size, np.int32), np.empty(size // 2, np.int32)
                named = np.zeros(size, np.bool_)
                for i in range(known):
                    before = old[i]
                    at = slot_of(pages, old_pages[before])
                    pages[at], value[at] = old_pages[before], old_value[before]
                    parent[at], link[at] = old_parent[before], old_link[before]
                    named[at] = old_named[before]
                    heard[i] = at
            for edge in range(begin, end):
                target, text = within(indices[edge], vectors.shape[0]), kinds[edge] >= LINK
                at = slot_of(pages, target)
                new = pages[at] == EMPTY
                if new:
                    pages[at], value[at] = target, cosine(vectors[target], direction)
                    heard[known] = at
                    known += 1
                if new or (text and not named[at] and linked > 0 and value[at] != _READ):
                    parent[at], link[at], named[at] = place, edge - begin, text
                    if text:
                        value[at] += linked
