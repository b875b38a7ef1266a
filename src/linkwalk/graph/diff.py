"""What became of a wiki from one snapshot to the next: what came, went and stayed (app. A.3)."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from linkwalk.arrays import Array, Int32s, Int64s, UInt64s
from linkwalk.compiled import kernel, row_of, within
from linkwalk.graph.columns import Strings
from linkwalk.graph.csr import Csr, links_of
from linkwalk.graph.hashes import hash_strings
from linkwalk.graph.statistics import Histogram, degree_histogram
from linkwalk.graph.store import Graph
from linkwalk.progress import Progress

_CHUNK = 1 << 18

#: App. A.3, from 2017 to 2018: what -> (count, share).
PAPER: dict[str, tuple[int, float]] = {
    "new articles": (404_773, 0.075),
    "new nodes": (3_871_578, 0.10),
    "deleted articles": (58_476, 0.011),
    "deleted nodes": (874_372, 0.023),
}


@dataclass(frozen=True)
class Change:
    """How many of a kind there were, are, came, went and stayed."""

    old: int
    new: int
    kept: int

    @property
    def added(self) -> int:
        """In NEW only."""
        return self.new - self.kept

    @property
    def deleted(self) -> int:
        """In OLD only."""
        return self.old - self.kept

    @property
    def added_share(self) -> float:
        """Share of NEW that OLD did not have."""
        return self.added / max(self.new, 1)

    @property
    def deleted_share(self) -> float:
        """Share of OLD that NEW no longer has. Differs: the paper's 1.1 % and 2.3 % fit the sizes of NEW."""
        return self.deleted / max(self.old, 1)

    def to_json(self) -> dict[str, Any]:
        """Counts and shares."""
        names = ("old", "new", "kept", "added", "added_share", "deleted", "deleted_share")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, kw_only=True)
class Diff:
    """What ``linkwalk diff`` shows."""

    old_snapshot: str
    new_snapshot: str
    articles: Change
    nodes: Change
    unchanged: int
    """Kept nodes whose text is the same to the byte."""
    moved: int
    """Nodes of NEW whose text stood in the same article of OLD, under another number."""
    edge_changes: Histogram
    """Over common nodes: edges added plus removed, those to nodes that only one graph has among them."""
    edge_changes_within: Histogram
    """The same, but only edges between common nodes."""
    edges_added: int
    edges_removed: int
    edges_added_within: int
    edges_removed_within: int

    def to_json(self) -> dict[str, Any]:
        """Everything, as plain JSON values."""
        return {
            "old": self.old_snapshot,
            "new": self.new_snapshot,
            "articles": self.articles.to_json(),
            "nodes": self.nodes.to_json()
            | {
                "unchanged_text": self.unchanged,
                "changed_text": self.nodes.kept - self.unchanged,
                "moved_text": self.moved,
            },
            "edge_changes": self.edge_changes.to_json()
            | {"added": self.edges_added, "removed": self.edges_removed},
            "edge_changes_within_common": self.edge_changes_within.to_json()
            | {"added": self.edges_added_within, "removed": self.edges_removed_within},
            "paper": {name: {"count": count, "share": share} for name, (count, share) in PAPER.items()},
        }


def diff(old: Graph, new: Graph, progress: Progress | None = None) -> Diff:
    """Compare two snapshots (app. A.3). An article is its title, a node its title and block number.

    An edge of a common node is known by the identity of its target, whatever its kind and anchor; an edge
    that occurs twice counts twice. The main histogram counts edges to nodes that only one graph has as
    changed, since they change what can be clicked; the totals and the histogram ``within`` leave them out.
    """
    progress = progress or Progress(quiet=True)
    work = old.nodes + new.nodes
    with progress.stage("titles", old.articles + new.articles, "articles") as stage:
        old_keys, new_keys = _hashes(old.titles), _hashes(new.titles)
        _, old_articles, new_articles = np.intersect1d(old_keys, new_keys, return_indices=True)
        stage.update(stage.total)
    pairs = _Pairs(
        old_articles,
        new_articles,
        np.append(old.article_node.astype(np.int64), old.nodes),
        np.append(new.article_node.astype(np.int64), new.nodes),
        np.full(old.nodes, -1, np.int32),
        np.full(new.nodes, -1, np.int32),
    )
    kept = _match_blocks(pairs, old.node_block, new.node_block)
    with progress.stage("texts", work, "nodes") as stage:
        old_hashes = _hashes(old.texts)
        stage.advance(old.nodes)
        new_hashes = _hashes(new.texts)
        stage.advance(new.nodes)
    unchanged, moved = _compare_texts(pairs, old_hashes, new_hashes)
    del old_hashes, new_hashes

    most = degree_histogram(old.forward).max + degree_histogram(new.forward).max
    every, within = np.zeros(most + 1, np.int64), np.zeros(most + 1, np.int64)
    totals = np.zeros(4, np.int64)
    with progress.stage("edges", new.nodes, "nodes") as stage:
        for start in range(0, new.nodes, _CHUNK):
            stop = min(start + _CHUNK, new.nodes)
            _compare_edges(old.forward, new.forward, pairs, start, stop, every, within, totals)
            stage.update(stop)
    added, removed, added_within, removed_within = totals.tolist()
    return Diff(
        old_snapshot=old.snapshot,
        new_snapshot=new.snapshot,
        articles=Change(old.articles, new.articles, len(old_articles)),
        nodes=Change(old.nodes, new.nodes, kept),
        unchanged=unchanged,
        moved=moved,
        edge_changes=Histogram.of(every),
        edge_changes_within=Histogram.of(within),
        edges_added=added,
        edges_removed=removed,
        edges_added_within=added_within,
        edges_removed_within=removed_within,
    )


def _hashes(strings: Strings) -> UInt64s:
    """Hashes of a whole table, in pieces so that an interrupt is heard."""
    hashes = np.empty(len(strings), np.uint64)
    for start in range(0, len(strings), _CHUNK):
        stop = min(start + _CHUNK, len(strings))
        hashes[start:stop] = hash_strings(strings, start, stop)
    return hashes


class _Pairs(NamedTuple):
    """What two snapshots have in common: articles by their titles, and the blocks of these by their numbers."""

    old_articles: Int64s
    new_articles: Int64s
    """[C]: which article of OLD is which of NEW."""
    old_first: Int64s
    new_first: Int64s
    """[A + 1]: the first block of every article."""
    new_of_old: Int32s
    old_of_new: Int32s
    """[N]: the same block in the other snapshot, or -1."""


@kernel
def _match_blocks(pairs: _Pairs, old_block: Int32s, new_block: Int32s) -> int:
    """Pair blocks of the same number in articles of the same title; within an article numbers ascend."""
    old_articles, new_articles, old_first, new_first, new_of_old, old_of_new = pairs
    kept = 0
    for i in range(old_articles.shape[0]):
        a, a_end = row_of(old_first, old_articles[i], new_of_old.shape[0])
        b, b_end = row_of(new_first, new_articles[i], old_of_new.shape[0])
        while a < a_end and b < b_end:
            if old_block[a] < new_block[b]:
                a += 1
            elif old_block[a] > new_block[b]:
                b += 1
            else:
                old_of_new[b] = a
                new_of_old[a] = b
                kept += 1
                a += 1
                b += 1
    return kept


@kernel
def _compare_texts(pairs: _Pairs, old_hashes: UInt64s, new_hashes: UInt64s) -> tuple[int, int]:
    """Count texts that stayed where they were and, of the others, those found elsewhere in their article."""
    old_articles, new_articles, old_first, new_first, new_of_old, old_of_new = pairs
    unchanged, moved = 0, 0
    for i in range(old_articles.shape[0]):
        a, a_end = row_of(old_first, old_articles[i], new_of_old.shape[0])
        b, b_end = row_of(new_first, new_articles[i], old_of_new.shape[0])
        left = np.empty(a_end - a, np.uint64)
        right = np.empty(b_end - b, np.uint64)
        lefts, rights = 0, 0
        for node in range(a, a_end):
            if new_of_old[node] >= 0 and new_hashes[new_of_old[node]] == old_hashes[node]:
                unchanged += 1
            else:
                left[lefts] = old_hashes[node]
                lefts += 1
        for node in range(b, b_end):
            if old_of_new[node] < 0 or old_hashes[old_of_new[node]] != new_hashes[node]:
                right[rights] = new_hashes[node]
                rights += 1
        moved += _common(left[:lefts], right[:rights])
    return unchanged, moved


@kernel
def _common(left: Array, right: Array) -> int:
    """Elements that two lists share, each as often as in both; sorts the lists."""
    left.sort()
    right.sort()
    a, b, common = 0, 0, 0
    while a < left.shape[0] and b < right.shape[0]:
        if left[a] < right[b]:
            a += 1
        elif left[a] > right[b]:
            b += 1
        else:
            common += 1
            a += 1
            b += 1
    return common


@kernel
def _compare_edges(
    old: Csr,
    new: Csr,
    pairs: _Pairs,
    start: int,
    stop: int,
    every: Int64s,
    inside: Int64s,
    totals: Int64s,
) -> None:
    """Add the common nodes among ``start`` to ``stop`` of NEW to the two histograms and the four totals."""
    new_of_old, old_of_new = pairs.new_of_old, pairs.old_of_new
    was, now = np.empty(every.shape[0], np.int32), np.empty(every.shape[0], np.int32)
    for node in range(start, stop):
        before = old_of_new[node]
        if before < 0:
            continue
        wases, nows = 0, 0
        old_links, old_end = links_of(old, before)
        new_links, new_end = links_of(new, node)
        for edge in range(old_links, old_end):
            target = within(old.indices[edge], new_of_old.shape[0])
            if new_of_old[target] >= 0:
                was[wases] = target
                wases += 1
        for edge in range(new_links, new_end):
            target = old_of_new[within(new.indices[edge], old_of_new.shape[0])]
            if target >= 0:
                now[nows] = target
                nows += 1
        same = _common(was[:wases], now[:nows])
        added, removed = new_end - new_links - same, old_end - old_links - same
        every[added + removed] += 1
        inside[wases + nows - 2 * same] += 1
        totals[0] += added
        totals[1] += removed
        totals[2] += nows - same
        totals[3] += wases - same
