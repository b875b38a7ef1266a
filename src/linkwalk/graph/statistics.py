"""A graph in numbers: the paper's table of statistics and what else describes a web (app. A.3)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwalk.arrays import Bools, Bytes, Int32s, Int64s
from linkwalk.compiled import kernel, row_of, within
from linkwalk.graph.components import Components, strong_components, weak_components
from linkwalk.graph.csr import Csr
from linkwalk.graph.lengths import PathLengths, histogram_median, path_lengths
from linkwalk.graph.store import KINDS, LINK, Graph
from linkwalk.graph.words import count_words
from linkwalk.progress import Progress

_CHUNK = 1 << 18

#: The paper's table 3: year -> (articles, nodes, edges, words per node, median path length).
PAPER: dict[str, tuple[float, float, float, int, int]] = {
    "2017": (4.92e6, 36.3e6, 359e6, 110, 15),
    "2018": (5.27e6, 38.5e6, 387e6, 109, 15),
}


@dataclass(frozen=True)
class Histogram:
    """How often each value occurs: ``counts[i]`` times ``values[i]``, ascending, without zeros."""

    values: Int64s
    counts: Int64s

    @classmethod
    def of(cls, counts: Int64s) -> "Histogram":
        """From counts of the values 0, 1, 2, ..."""
        values = np.flatnonzero(counts)
        return cls(values, counts[values])

    @property
    def total(self) -> int:
        """How many things were counted."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        """Mean value, 0 if nothing was counted."""
        return float(self.values @ self.counts) / max(self.total, 1)

    @property
    def median(self) -> float:
        """Median value, 0 if nothing was counted."""
        return histogram_median(self.values, self.counts) or 0.0

    @property
    def max(self) -> int:
        """Largest value, 0 if nothing was counted."""
        return int(self.values.max(initial=0))

    def count(self, value: int) -> int:
        """How often one value occurs."""
        return int(self.counts[self.values == value].sum())

    def to_json(self) -> dict[str, Any]:
        """Mean, median, largest value and the whole histogram."""
        return {
            "mean": self.mean,
            "median": self.median,
            "max": self.max,
            "histogram": {"values": self.values.tolist(), "counts": self.counts.tolist()},
        }


@dataclass(frozen=True)
class Part:
    """A count and its share of all blocks."""

    count: int
    share: float

    @classmethod
    def of(cls, count: int, total: int) -> "Part":
        """A count out of a total."""
        return cls(count, count / max(total, 1))

    def to_json(self) -> dict[str, Any]:
        """Both numbers."""
        return {"count": self.count, "share": self.share}


@dataclass(frozen=True)
class ComponentSummary:
    """How many components, and how large the largest is."""

    count: int
    largest: Part

    @classmethod
    def of(cls, components: Components) -> "ComponentSummary":
        """Keep the summary, let the labels go."""
        return cls(components.count, Part(components.largest, components.largest_share))

    def to_json(self) -> dict[str, Any]:
        """Count, size and share of the largest."""
        return {"count": self.count, "largest": self.largest.count, "largest_share": self.largest.share}


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """What ``linkwalk stats`` shows."""

    snapshot: str
    articles: int
    nodes: int
    edges: int
    edges_by_kind: dict[str, int]
    words: int
    text_bytes: int
    blocks_per_article: Histogram
    out_degree: Histogram
    in_degree: Histogram
    links_per_node: float
    """Out-links per block that leave the article's chain: all but previous and next."""
    dead_ends: Part
    """Blocks without any out-link."""
    chain_only: Part
    """Blocks whose out-links are at most previous and next."""
    unreferenced: Part
    """Blocks to which nothing leads."""
    chain_reached: Part
    """Blocks to which at most previous and next lead."""
    weak: ComponentSummary
    strong: ComponentSummary
    paths: PathLengths

    @property
    def words_per_node(self) -> float:
        """Mean words in a block."""
        return self.words / max(self.nodes, 1)

    def to_json(self) -> dict[str, Any]:
        """Everything, as plain JSON values."""
        return {
            "snapshot": self.snapshot,
            "articles": self.articles,
            "nodes": self.nodes,
            "edges": self.edges,
            "edges_by_kind": self.edges_by_kind,
            "words_per_node": self.words_per_node,
            "median_path_length": self.paths.median,
            "words": self.words,
            "text_bytes": self.text_bytes,
            "blocks_per_article": self.blocks_per_article.to_json(),
            "out_degree": self.out_degree.to_json(),
            "in_degree": self.in_degree.to_json(),
            "links_per_node": self.links_per_node,
            "dead_ends": self.dead_ends.to_json(),
            "chain_only": self.chain_only.to_json(),
            "unreferenced": self.unreferenced.to_json(),
            "chain_reached": self.chain_reached.to_json(),
            "weak_components": self.weak.to_json(),
            "strong_components": self.strong.to_json(),
            "path_lengths": {
                "sources": self.paths.sources,
                "mean": self.paths.mean,
                "median": self.paths.median,
                "counts": self.paths.counts.tolist(),
                "unreachable": self.paths.unreachable,
                "unreachable_share": self.paths.unreachable_share,
            },
            "paper": {
                year: dict(
                    zip(
                        ("articles", "nodes", "edges", "words_per_node", "median_path_length"),
                        row,
                        strict=True,
                    )
                )
                for year, row in PAPER.items()
            },
        }


def statistics(
    graph: Graph, *, sources: int = 1000, workers: int = 1, progress: Progress | None = None
) -> Statistics:
    """Measure a graph. Path lengths are taken from the ``sources`` blocks of highest in-degree (app. A.3).

    Differs: the paper took 250,000 sources.
    """
    progress = progress or Progress(quiet=True)
    n = graph.nodes
    out_degree, in_degree = degree_histogram(graph.forward), degree_histogram(graph.reverse)

    by_kind = np.zeros(len(KINDS), np.int64)
    linked = np.zeros(n, np.bool_)
    chain_only = 0
    with progress.stage("edges", graph.edges, "edges") as stage:
        for start in range(0, n, _CHUNK):
            stop = min(start + _CHUNK, n)
            chain_only += _scan_edges(
                graph.out_indptr, graph.out_targets, graph.out_kinds, start, stop, by_kind, linked
            )
            stage.update(int(graph.out_indptr[stop]))

    words, text_bytes = 0, int(graph.texts.offsets[-1])
    with progress.stage("words", text_bytes / 1e6, "MB") as stage:
        for start in range(0, n, _CHUNK):
            stop = min(start + _CHUNK, n)
            words += count_words(graph.texts, start, stop)
            stage.update(int(graph.texts.offsets[stop]) / 1e6)

    with progress.stage("components", 2, "passes") as stage:
        weak = ComponentSummary.of(weak_components(graph.forward))
        stage.advance()
        strong = ComponentSummary.of(strong_components(graph.forward))
        stage.advance()

    hubs = highest(graph.in_indptr, in_degree, sources)
    with progress.stage("paths", len(hubs), "sources") as stage:
        paths = path_lengths(graph.forward, hubs, workers=workers, advance=stage.advance)

    firsts = np.append(graph.article_node.astype(np.int64), n)
    return Statistics(
        snapshot=graph.snapshot,
        articles=graph.articles,
        nodes=n,
        edges=graph.edges,
        edges_by_kind=dict(zip(KINDS, by_kind.tolist(), strict=True)),
        words=words,
        text_bytes=text_bytes,
        blocks_per_article=degree_histogram(Csr(firsts, graph.node_article)),
        out_degree=out_degree,
        in_degree=in_degree,
        links_per_node=float(by_kind[LINK:].sum()) / max(n, 1),
        dead_ends=Part.of(out_degree.count(0), n),
        chain_only=Part.of(chain_only, n),
        unreferenced=Part.of(in_degree.count(0), n),
        chain_reached=Part.of(n - int(np.count_nonzero(linked)), n),
        weak=weak,
        strong=strong,
        paths=paths,
    )


def degree_histogram(graph: Csr) -> Histogram:
    """Histogram of a graph's row lengths, without an array of degrees."""
    counts = np.zeros(_longest_row(graph.indptr, len(graph.indices)) + 1, np.int64)
    _count_degrees(graph.indptr, counts)
    return Histogram.of(counts)


def highest(indptr: Int64s, degrees: Histogram, limit: int) -> Int64s:
    """The ``limit`` nodes of highest degree, highest first, ties by number; all nodes if there are fewer."""
    limit = min(limit, len(indptr) - 1)
    if limit <= 0:
        return np.zeros(0, np.int64)
    # The histogram says from which degree on nodes are among them, so that only those have to be sorted.
    at_least = np.cumsum(degrees.counts[::-1])[::-1]
    threshold = int(degrees.values[np.flatnonzero(at_least >= limit)[-1]])
    nodes = _rows_of_length(indptr, threshold, int(at_least[degrees.values == threshold][0]))
    lengths = indptr[nodes + 1] - indptr[nodes]
    return nodes[np.argsort(-lengths, kind="stable")[:limit]]


@kernel
def _longest_row(indptr: Int64s, size: int) -> int:
    longest = 0
    for node in range(indptr.shape[0] - 1):
        first, last = row_of(indptr, node, size)
        longest = max(longest, last - first)
    return longest


@kernel
def _count_degrees(indptr: Int64s, counts: Int64s) -> None:
    for node in range(indptr.shape[0] - 1):
        counts[indptr[node + 1] - indptr[node]] += 1


@kernel
def _rows_of_length(indptr: Int64s, least: int, count: int) -> Int64s:
    nodes = np.empty(count, np.int64)
    found = 0
    for node in range(indptr.shape[0] - 1):
        if indptr[node + 1] - indptr[node] >= least:
            nodes[found] = node
            found += 1
    return nodes[:found]


@kernel
def _scan_edges(
    indptr: Int64s,
    targets: Int32s,
    kinds: Bytes,
    start: int,
    stop: int,
    by_kind: Int64s,
    linked: Bools,
) -> int:
    """Count edges by kind and mark what links lead to; returns how many blocks have no link of their own."""
    without = 0
    for node in range(start, stop):
        links = 0
        first, last = row_of(indptr, node, targets.shape[0])
        for edge in range(first, last):
            kind = kinds[edge]
            by_kind[kind] += 1
            if kind >= LINK:
                links += 1
                linked[within(targets[edge], linked.shape[0])] = True
        if links == 0:
            without += 1
    return without
