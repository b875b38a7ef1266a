"""Personalised PageRank from search results over the links: where weight that starts at the hits comes to rest.

A surfer starts at a search result, follows one of a block's links with a chance of ``damping``, and otherwise stops.
How often it stops at a block is the block's weight; what ends at a block without links starts anew. The weight is
pushed on from block to block, and only while there is enough of it to matter (``least`` for each link): so the cost
depends on neither the size of the wiki nor the degree of its hubs, and what is left out is below ``least`` for each
link of a block. All is done in one fixed order, so the same hits give the same weights to the last bit.

Each block has a trail as well: of all paths from a search result to it the one that carries most, as far as it was
pushed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from linkwalk.arrays import Bools, Float32s, Float64s, Int32s, Int64s
from linkwalk.compiled import in_pieces, inlined, kernel, row_of, within
from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr
from linkwalk.graph.hashes import EMPTY, slot_of
from linkwalk.graph.store import Graph
from linkwalk.retrieve.starts import SearchHits, fuse

HITS = 20
"""Search results that the weight starts at."""
RESTED = 200
"""Blocks whose weight a judge hears of."""
_HIT = -1  # the parent of a search result


@dataclass(frozen=True, kw_only=True)
class PageRankConfig:
    """How weight spreads."""

    damping: float = 0.5
    """The share of a block's weight that goes on along its links."""
    least: float = 1e-5
    """Of all weight, what is worth pushing on, for each link."""

    def __post_init__(self) -> None:
        """Refuse shares that are none, and with which weight would never come to rest."""
        if not 0 <= self.damping < 1:
            raise InputError(f"damping={self.damping}: choose a share from 0 to below 1")
        if not 0 < self.least <= 1:
            raise InputError(f"least={self.least}: choose a share above 0, up to 1")

    def most(self, nodes: int, hits: int) -> int:
        """Blocks that can be heard of: each push takes ``1 - damping`` of at least ``least`` for every link."""
        return min(nodes, int(1 / ((1 - self.damping) * self.least)) + hits + 1)


class PageRank(NamedTuple):
    """Where the weight of one query has come to rest."""

    nodes: Int32s
    """The blocks with most of it, the first first."""
    weights: Float32s
    """Shares of all weight."""
    paths: list[tuple[tuple[int, ...], tuple[int, ...]]]
    """From a search result to each of them: the pages, and the links clicked between them."""


class _Space(NamedTuple):
    """What one query fills; M blocks at most, in the order heard of."""

    keys: Int32s
    """A hash table of blocks, at least half of it free."""
    numbers: Int32s
    """For each of its slots the block's place in that order."""
    pages: Int32s
    rest: Float64s
    """Weight that has come to rest."""
    moving: Float64s
    """Weight that may go on."""
    best: Float64s
    """What the best path carries."""
    parent: Int32s
    link: Int32s
    degree: Int64s
    queue: Int32s
    queued: Bools

    @classmethod
    def of(cls, most: int) -> "_Space":
        size = 1 << (2 * most).bit_length()
        kinds = ("i4", "f8", "f8", "f8", "i4", "i4", "i8", "i4", "?")
        arrays: list[Any] = [np.empty(size, np.int32), np.empty(size, np.int32)]
        return cls(*arrays, *(np.empty(most, kind) for kind in kinds))


def spread(
    graph: Csr,
    hits: Sequence[tuple[Int32s, Float32s]],
    count: int,
    config: PageRankConfig = PageRankConfig(),  # noqa: B008 (frozen)
    *,
    workers: int = 1,
) -> list[PageRank]:
    """For each query the ``count`` blocks with most weight, that of its hits given by their scores (not negative).

    Of equal blocks the one with the lower number comes first.
    """
    found: list[PageRank | None] = [None] * len(hits)
    longest = max((len(nodes) for nodes, _ in hits), default=0)

    def work(start: int, stop: int) -> None:
        space = _Space.of(config.most(graph.nodes, longest))
        for query in range(start, stop):
            nodes, scores = hits[query]
            known = _push(
                graph.indptr,
                graph.indices,
                np.ascontiguousarray(nodes, np.int32),
                _shares(scores),
                config.damping,
                config.least,
                space,
            )
            found[query] = _most(space, known, count)

    in_pieces(len(hits), workers, work)
    return [one for one in found if one is not None]


def rest_of(graph: Graph, hits: Sequence[SearchHits], workers: int = 1) -> list[dict[int, float]]:
    """Tenths of the weight that blocks get from the first of each query's search results, both lists fused."""
    starts = [fuse(own.words, own.near, count=HITS) for own in hits]
    found = spread(graph.forward, starts, RESTED, workers=workers)
    return [dict(zip(one.nodes.tolist(), (10 * one.weights).tolist(), strict=True)) for one in found]


def _shares(scores: Float32s) -> Float64s:
    """Scores as shares of all weight; alike where no score says anything."""
    weights = np.asarray(scores, np.float64)
    total = weights.sum()
    return weights / total if total > 0 else np.full(len(weights), 1 / max(1, len(weights)))


def _most(space: _Space, known: int, count: int) -> PageRank:
    """The blocks with most weight, and the way to each."""
    weights = space.rest[:known]
    places = np.arange(known)
    if known > count > 0:
        places = np.flatnonzero(weights >= np.partition(weights, known - count)[known - count])
    places = places[np.lexsort((space.pages[places], -weights[places]))][:count]
    total = weights.sum()
    return PageRank(
        space.pages[places].copy(),
        (weights[places] / (total if total > 0 else 1)).astype(np.float32),
        [_path(space, place) for place in places.tolist()],
    )


def _path(space: _Space, place: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The pages from a search result to a block, and the links between them."""
    pages, links = [int(space.pages[place])], []
    while (parent := int(space.parent[place])) != _HIT:
        links.append(int(space.link[place]))
        pages.append(int(space.pages[parent]))
        place = parent
    return tuple(pages[::-1]), tuple(links[::-1])


@inlined
def _place_of(indptr: Int64s, indices: Int32s, page: int, known: int, space: "_Space") -> tuple[int, int]:
    """A block's place in the order heard of, the next one if it is news; and how many are known then."""
    at = slot_of(space.keys, page)
    if space.keys[at] == EMPTY:
        first, last = row_of(indptr, page, indices.shape[0])
        space.keys[at], space.numbers[at] = page, known
        space.pages[known], space.degree[known] = page, last - first
        space.rest[known] = space.moving[known] = space.best[known] = 0
        space.parent[known], space.link[known] = _HIT, 0
        space.queued[known] = False
        known += 1
    return space.numbers[at], known


@kernel
def _push(
    indptr: Int64s,
    indices: Int32s,
    hits: Int32s,
    shares: Float64s,
    damping: float,
    least: float,
    space: _Space,
) -> int:
    """Let the weight of some hits come to rest, and say how many blocks were heard of."""
    keys, _, pages, rest, moving, best, parent, link, degree, queue, queued = space
    nodes, most = indptr.shape[0] - 1, pages.shape[0]
    keys[:] = EMPTY
    known = head = waiting = 0
    for hit in range(hits.shape[0]):
        place, known = _place_of(indptr, indices, within(hits[hit], nodes), known, space)
        moving[place] += shares[hit]
        best[place] += shares[hit]
    found = known
    for place in range(found):
        if moving[place] >= least * max(1, degree[place]):
            queue[waiting], queued[place] = place, True
            waiting += 1
    while waiting > 0:
        here = queue[head]
        head = (head + 1) % most
        waiting -= 1
        queued[here] = False
        weight, moving[here] = moving[here], 0.0
        rest[here] += (1 - damping) * weight
        first, last = row_of(indptr, pages[here], indices.shape[0])
        if first == last:
            continue
        each, carried = damping * weight / (last - first), damping * best[here] / (last - first)
        for edge in range(first, last):
            to, known = _place_of(indptr, indices, within(indices[edge], nodes), known, space)
            moving[to] += each
            # A search result's trail is itself. A path never carries more for going in a circle, so none does.
            if to >= found and carried > best[to]:
                best[to], parent[to], link[to] = carried, here, edge - first
            if not queued[to] and moving[to] >= least * max(1, degree[to]):
                queue[(head + waiting) % most], queued[to] = to, True
                waiting += 1
    for place in range(known):
        rest[place] += (1 - damping) * moving[place]
    return known
