"""Questions that a wiki does not answer: what they need is deleted from it, or they were asked of another one.

To delete an article is to find no block of it and to have no link from or to it. Blocks keep their numbers, so
embeddings and the index stay as they are; only BM25's weights of words still know of the article.
"""

import random
from collections.abc import Iterable, Sequence
from copy import copy
from functools import partial

import numpy as np

from linkwalk.arrays import Bools, Float32s, Int32s
from linkwalk.downstream.align_passages import answerable
from linkwalk.downstream.dataset import Question
from linkwalk.graph.csr import Csr, transpose
from linkwalk.graph.store import Graph
from linkwalk.navigate.cosine import Units
from linkwalk.retrieve.finder import Finder
from linkwalk.retrieve.starts import Near, Search, nearest_many
from linkwalk.sources.site import Site

_SITE = Site()


def lacking(finder: Finder, gone: Bools) -> Finder:
    """The same finder on a wiki that lacks some blocks, ``gone`` [N]: none of them is found or read.

    But for the first block of an article with others left, where ``lead`` blocks are what is read.
    """
    other = copy(finder)
    other.graph, other.search = prune(finder.graph, gone), _SearchWithout(finder.search, gone)
    table = finder.near or finder.vectors
    other.near = None if table is None else _NearWithout(table, gone)
    return other


def prune(graph: Graph, gone: Bools) -> Graph:
    """A graph without the links from and to some blocks, ``gone`` [N]; these stay as blocks that nobody reaches."""
    kept = ~gone[graph.out_targets]
    kept &= ~np.repeat(gone, graph.forward.degrees())
    before = np.concatenate((np.zeros(1, np.int64), np.cumsum(kept, dtype=np.int64)))
    forward = Csr(before[graph.out_indptr], graph.out_targets[kept])
    reverse = transpose(forward)
    return graph.changed(
        out_indptr=forward.indptr,
        out_targets=forward.indices,
        out_kinds=graph.out_kinds[kept],
        out_spans=graph.out_spans[kept],
        in_indptr=reverse.indptr,
        in_sources=reverse.indices,
    )


class _SearchWithout:
    """A search that does not know some blocks."""

    def __init__(self, search: Search, gone: Bools) -> None:
        self.search, self.gone, self.extra = search, gone, int(gone.sum())

    def search_many(self, queries: Sequence[str], count: int) -> list[tuple[Int32s, list[float]]]:
        """The best of the other blocks."""
        found = []
        for nodes, scores in self.search.search_many(queries, count + self.extra):
            kept = np.flatnonzero(~self.gone[nodes])[:count]
            found.append((nodes[kept], [scores[place] for place in kept.tolist()]))
        return found


class _NearWithout:
    """The same for the nearest embeddings."""

    def __init__(self, table: Near | Units, gone: Bools) -> None:
        self.nearest = table.nearest_many if isinstance(table, Near) else partial(nearest_many, table)
        self.gone, self.extra = gone, int(gone.sum())

    def nearest_many(self, meanings: Float32s, count: int) -> Sequence[Int32s]:
        """The closest of the other blocks."""
        found = self.nearest(meanings, count + self.extra)
        return [nodes[~self.gone[nodes]][:count] for nodes in found]


def foreign(
    graph: Graph, questions: Iterable[Question], count: int = 100, *, seed: int = 0
) -> list[Question]:
    """So many questions of another set, drawn, of which the wiki has no article and no block with an answer."""
    far = []
    for one in questions:
        titles = {_SITE.normalise(piece.title) for group in one.evidence for piece in group}
        if not one.left_out and all(graph.article(title) is None for title in titles):
            far.append(one)
    held = answerable(graph, [one.answers for one in far])
    far = [one for one, hit in zip(far, held, strict=True) if not hit]
    return random.Random(seed).sample(far, min(count, len(far)))
