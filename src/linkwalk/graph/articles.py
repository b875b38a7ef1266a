"""Articles and the links between them, whatever blocks these stand in: who links to whom, and how many clicks away.

An article's blocks stand next to each other, so its links are one stretch of the graph's: nothing is copied, and what
is kept are some bytes an article.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from linkwalk.arrays import Bools, Bytes, Int32s, Int64s
from linkwalk.compiled import guarded, row_of, within
from linkwalk.graph.csr import Csr
from linkwalk.graph.paths import UNREACHABLE
from linkwalk.graph.store import CONTENTS, KINDS, LINK, Graph

AUTHORS = (LINK,)
"""Links that people set, the kind that counts where nobody says otherwise."""


@dataclass(frozen=True)
class ArticleLinks:
    """How many links lead from each article to others, and from others to it."""

    outgoing: Int64s
    incoming: Int64s


def article_links(graph: Graph, kinds: Iterable[int] = AUTHORS) -> ArticleLinks:
    """Count the links of some kinds between articles, an article's to itself left out."""
    outgoing, incoming = np.zeros(graph.articles, np.int64), np.zeros(graph.articles, np.int64)
    counted = _mask(kinds)
    _count(graph.forward, graph.out_kinds, counted, graph.node_article, outgoing, incoming)
    tree = _tree(graph, counted)
    outgoing += tree.degrees()  # who is below is above, too: as many come in
    incoming += tree.degrees()
    return ArticleLinks(outgoing, incoming)


def clicks_from(graph: Graph, starts: Sequence[int], kinds: Iterable[int] = AUTHORS) -> Int32s:
    """Clicks to every article from the nearest of some articles, over links of some kinds; -1 where no path leads."""
    clicks = np.full(graph.articles, UNREACHABLE, np.int32)
    queue = np.empty(graph.articles, np.int32)
    bounds = np.append(graph.article_node, np.int32(graph.nodes))
    counted = _mask(kinds)
    begin = np.unique(np.asarray(starts, np.int64))
    _flood(
        graph.forward,
        graph.out_kinds,
        counted,
        graph.node_article,
        bounds,
        _tree(graph, counted),
        begin,
        clicks,
        queue,
    )
    return clicks


def front_page(graph: Graph, links: ArticleLinks, written: Bools) -> int:
    """Where a reader begins: the article above at least half of the others, or else that of most links in and out.

    Only articles that somebody wrote stand above others here, and not the lists that stand for folders.
    """
    if graph.parents is not None:
        above = np.where((graph.parents >= 0) & written[graph.parents], graph.parents, -1)
        top = np.where(above < 0, np.arange(len(above)), above)
        for _ in range(len(top).bit_length()):  # a step up doubles the steps taken
            top = top[top]
        below = np.bincount(top, minlength=len(top))
        best = int(below.argmax())
        if 2 * below[best] >= written.sum() and written[best]:
            return best
    return int((links.incoming * links.outgoing).argmax())


def _mask(kinds: Iterable[int]) -> Bools:
    mask = np.zeros(len(KINDS), np.bool_)
    mask[list(kinds)] = True
    return mask


def _tree(graph: Graph, counted: Bools) -> Csr:
    """Up and down between articles, where contents count: an entity link to the page above hides the edge there."""
    parents = graph.parents
    if parents is None or not counted[CONTENTS]:
        return Csr(np.zeros(graph.articles + 1, np.int64), np.empty(0, np.int32))
    below = np.flatnonzero(parents >= 0).astype(np.int32)
    ends = np.concatenate((below, parents[below])), np.concatenate((parents[below], below))
    order = np.argsort(ends[0], kind="stable")
    indptr = np.searchsorted(ends[0][order], np.arange(graph.articles + 1))
    return Csr(indptr.astype(np.int64), ends[1][order].astype(np.int32))


@guarded
def _count(
    forward: Csr, kinds: Bytes, counted: Bools, article: Int32s, outgoing: Int64s, incoming: Int64s
) -> None:
    indptr, targets = forward
    nodes, size = article.shape[0], min(targets.shape[0], kinds.shape[0])
    for node in range(min(nodes, indptr.shape[0] - 1)):
        here = within(article[node], outgoing.shape[0])
        first, last = row_of(indptr, node, size)
        for edge in range(first, last):
            if counted[within(kinds[edge], counted.shape[0])]:
                there = within(article[within(targets[edge], nodes)], incoming.shape[0])
                if there != here:
                    outgoing[here] += 1
                    incoming[there] += 1


@guarded
def _flood(
    forward: Csr,
    kinds: Bytes,
    counted: Bools,
    article: Int32s,
    bounds: Int32s,
    tree: Csr,
    starts: Int64s,
    clicks: Int32s,
    queue: Int32s,
) -> None:
    """Breadth-first from several articles at once; each enters the queue once, so there is room for all."""
    indptr, targets = forward
    nodes, size, articles = article.shape[0], min(targets.shape[0], kinds.shape[0]), clicks.shape[0]
    head = tail = 0
    for at in range(starts.shape[0]):
        start = within(starts[at], articles)
        if clicks[start] < 0:
            clicks[start] = 0
            queue[tail] = start
            tail += 1
    while head < tail:
        here = queue[head]
        head += 1
        for node in range(bounds[here], bounds[here + 1]):
            first, last = row_of(indptr, node, size)
            for edge in range(first, last):
                if counted[within(kinds[edge], counted.shape[0])]:
                    there = within(article[within(targets[edge], nodes)], articles)
                    if clicks[there] < 0:
                        clicks[there] = clicks[here] + 1
                        queue[tail] = there
                        tail += 1
        first, last = row_of(tree.indptr, here, tree.indices.shape[0])
        for edge in range(first, last):
            there = within(tree.indices[edge], articles)
            if clicks[there] < 0:
                clicks[there] = clicks[here] + 1
                queue[tail] = there
                tail += 1
