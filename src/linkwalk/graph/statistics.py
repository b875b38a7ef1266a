"""A graph in numbers: the paper's table of statistics and what else describes a web (app. A.3)."""

from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from linkwalk.arrays import Bools, Bytes, Int64s
from linkwalk.compiled import kernel, row_of, within
from linkwalk.graph.columns import Strings
from linkwalk.graph.components import Components, strong_components, weak_components
from linkwalk.graph.csr import Csr
from linkwalk.graph.store import KINDS, LINK, NO_DATE, Graph
from linkwalk.graph.sweeps import PathLengths, histogram_median, path_lengths
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


@dataclass(frozen=True)
class ComponentSummary:
    """How many components, and how large the largest is."""

    count: int
    largest: int
    largest_share: float

    @classmethod
    def of(cls, components: Components) -> "ComponentSummary":
        """Keep the summary, let the labels go."""
        return cls(components.count, components.largest, components.largest_share)


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """What ``linkwalk stats`` shows."""

    snapshot: str
    articles: int
    nodes: int
    edges: int
    edges_by_kind: dict[str, int]
    words_per_node: float
    median_path_length: float | None
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
    weak_components: ComponentSummary
    strong_components: ComponentSummary
    path_lengths: PathLengths
    dated: int
    """Articles whose date is known."""
    tagged: int
    """Articles with a tag."""
    tags: int

    def to_json(self) -> dict[str, Any]:
        """Everything, as plain JSON values."""
        found = {field.name: _plain(getattr(self, field.name)) for field in fields(self)}
        names = ("articles", "nodes", "edges", "words_per_node", "median_path_length")
        return found | {"paper": {year: dict(zip(names, row, strict=True)) for year, row in PAPER.items()}}


def _plain(value: Any) -> Any:
    if isinstance(value, Histogram | PathLengths):
        return value.to_json()
    return asdict(value) if isinstance(value, Part | ComponentSummary) else value


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
            chain_only += _scan_edges(graph.forward, graph.out_kinds, start, stop, by_kind, linked)
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

    hubs = highest(graph.in_indptr, sources)
    with progress.stage("paths", len(hubs), "sources") as stage:
        paths = path_lengths(graph.forward, hubs, workers=workers, advance=stage.advance)

    firsts = np.append(graph.article_node.astype(np.int64), n)
    return Statistics(
        snapshot=graph.snapshot,
        articles=graph.articles,
        nodes=n,
        edges=graph.edges,
        edges_by_kind=dict(zip(KINDS, by_kind.tolist(), strict=True)),
        words_per_node=words / max(n, 1),
        median_path_length=paths.median,
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
        weak_components=weak,
        strong_components=strong,
        path_lengths=paths,
        dated=0 if graph.dates is None else int(np.count_nonzero(graph.dates != NO_DATE)),
        tagged=0 if graph.tags is None else int(np.count_nonzero(np.diff(graph.article_tag_indptr))),
        tags=0 if graph.tags is None else len(graph.tags),
    )


def count_words(strings: Strings, start: int, stop: int) -> int:
    """Words in strings ``start`` to ``stop``, separated by white space as ``str.split`` understands it (app. A.3)."""
    return int(_count_words(strings.blob, strings.offsets, start, stop))


def degree_histogram(graph: Csr) -> Histogram:
    """Histogram of a graph's row lengths, without an array of degrees."""
    return Histogram.of(_count_degrees(graph.indptr, len(graph.indices)))


def highest(indptr: Int64s, limit: int) -> Int64s:
    """The ``limit`` nodes of highest degree, highest first, ties by number; all nodes if there are fewer."""
    degrees = np.diff(indptr)
    nodes = np.arange(len(degrees))
    if 0 < limit < len(degrees):  # only those from the last one's degree on have to be sorted
        nodes = np.flatnonzero(degrees >= np.partition(degrees, -limit)[-limit])
    return nodes[np.argsort(-degrees[nodes], kind="stable")[: max(limit, 0)]]


@kernel
def _count_degrees(indptr: Int64s, size: int) -> Int64s:
    longest = 0
    for node in range(indptr.shape[0] - 1):
        first, last = row_of(indptr, node, size)
        longest = max(longest, last - first)
    counts = np.zeros(longest + 1, np.int64)
    for node in range(indptr.shape[0] - 1):
        counts[indptr[node + 1] - indptr[node]] += 1
    return counts


@kernel
def _scan_edges(graph: Csr, kinds: Bytes, start: int, stop: int, by_kind: Int64s, linked: Bools) -> int:
    """Count edges by kind and mark what links lead to; returns how many blocks have no link of their own."""
    targets = graph.indices
    without = 0
    for node in range(start, stop):
        links = 0
        first, last = row_of(graph.indptr, node, targets.shape[0])
        for edge in range(first, last):
            kind = kinds[edge]
            by_kind[kind] += 1
            if kind >= LINK:
                links += 1
                linked[within(targets[edge], linked.shape[0])] = True
        if links == 0:
            without += 1
    return without


@kernel
def _count_words(blob: Bytes, offsets: Int64s, start: int, stop: int) -> int:
    """Straight from the blob of texts, without decoding it."""
    words = 0
    for i in range(start, stop):
        inside = False
        at, end = row_of(offsets, i, blob.shape[0])
        while at < end:
            byte = blob[at]
            if byte == 32 or 9 <= byte <= 13 or 28 <= byte <= 31:
                inside = False
                at += 1
                continue
            # Bytes C2, E1, E2 and E3 begin all white space beyond ASCII.
            if byte >= 0xC2 and byte <= 0xE3:
                width = _wide_space(blob, at, end)
                if width > 0:
                    inside = False
                    at += width
                    continue
            if not inside:
                inside = True
                words += 1
            at += 1
    return words


@kernel
def _wide_space(blob: Bytes, at: int, end: int) -> int:
    """Bytes of the white-space character beyond ASCII that begins here, 0 if there is none."""
    first = blob[at]
    if first == 0xC2 and at + 1 < end:
        return 2 if blob[at + 1] == 0x85 or blob[at + 1] == 0xA0 else 0
    if at + 2 >= end:
        return 0
    second, third = blob[at + 1], blob[at + 2]
    if first == 0xE1:
        return 3 if second == 0x9A and third == 0x80 else 0
    if first == 0xE2 and second == 0x80:
        return 3 if third <= 0x8A or third == 0xA8 or third == 0xA9 or third == 0xAF else 0
    if first == 0xE2 and second == 0x81:
        return 3 if third == 0x9F else 0
    if first == 0xE3:
        return 3 if second == 0x80 and third == 0x80 else 0
    return 0
