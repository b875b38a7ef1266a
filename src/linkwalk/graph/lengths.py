"""The distribution of shortest-path lengths: 64 breadth-first searches in the bits of one word (app. A.3)."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock

import numpy as np

from linkwalk.arrays import Int32s, Int64s, Integers, UInt64s
from linkwalk.compiled import guarded, kernel, row_of, within
from linkwalk.graph.csr import Csr

LANES = 64
"""Searches that share one sweep: the bits of a word."""


@dataclass(frozen=True)
class PathLengths:
    """Shortest-path lengths over all pairs of a source and another node (app. A.3, figure "distribution")."""

    sources: int
    counts: Int64s
    """``counts[d]`` pairs are ``d`` links apart; ``counts[0]`` is 0, as a node is no pair with itself."""
    unreachable: int

    @property
    def reachable(self) -> int:
        """Pairs that a path joins."""
        return int(self.counts.sum())

    @property
    def unreachable_share(self) -> float:
        """Share of pairs that no path joins."""
        return self.unreachable / max(self.reachable + self.unreachable, 1)

    @property
    def mean(self) -> float | None:
        """Mean length over reachable pairs; None where there are none."""
        if not self.reachable:
            return None
        return float(np.arange(len(self.counts)) @ self.counts / self.reachable)

    @property
    def median(self) -> float | None:
        """Median length over reachable pairs; None where there are none."""
        return histogram_median(np.arange(len(self.counts)), self.counts)


def histogram_median(values: Integers, counts: Integers) -> float | None:
    """Median of a histogram with ascending ``values``, the mean of the middle two; None if it is empty."""
    running = np.cumsum(counts)
    total = int(running[-1]) if len(running) else 0
    if total == 0:
        return None
    low, high = np.searchsorted(running, [(total - 1) // 2, total // 2], side="right")
    return (float(values[low]) + float(values[high])) / 2


def path_lengths(
    graph: Csr,
    sources: Integers,
    *,
    workers: int = 1,
    advance: Callable[[int], None] = lambda _: None,
) -> PathLengths:
    """Lengths of the shortest paths from every source to every other node, 64 sources per sweep of the graph.

    Each worker is a thread and holds 32 bytes per node. ``advance`` hears of finished sources.
    """
    batches = [
        np.ascontiguousarray(sources[at : at + LANES], np.int64) for at in range(0, len(sources), LANES)
    ]
    lock = Lock()

    def work(own: list[Int64s]) -> list[Int64s]:
        state = np.zeros((graph.nodes, 2), np.uint64)
        bits = np.empty(graph.nodes, np.uint64)
        queues = np.empty((2, graph.nodes), np.int32)
        found = []
        for batch in own:
            found.append(_sweep(graph.indptr, graph.indices, batch, state, bits, queues[0], queues[1]))
            with lock:
                advance(len(batch))
        return found

    workers = max(1, min(workers, len(batches)))
    with ThreadPoolExecutor(workers) as pool:
        histograms = [
            h for part in pool.map(work, [batches[i::workers] for i in range(workers)]) for h in part
        ]
    counts = np.zeros(max((len(h) for h in histograms), default=1), np.int64)
    for histogram in histograms:
        counts[: len(histogram)] += histogram
    pairs = len(sources) * (graph.nodes - 1)
    return PathLengths(len(sources), counts, pairs - int(counts.sum()))


@kernel
def _ones(word: np.uint64) -> np.int64:
    """Number of bits set, by adding neighbours in parallel."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@guarded
def _sweep(
    indptr: Int64s,
    indices: Int32s,
    sources: Int64s,
    state: UInt64s,
    bits: UInt64s,
    active: Int32s,
    touched: Int32s,
) -> Int64s:
    """Breadth-first from up to 64 sources at once: bit ``i`` of a node's word says source ``i`` reached it.

    ``state[:, 0]`` is reached, ``state[:, 1]`` reached on this level: side by side, as both are needed at
    once. Only active nodes are visited, since long chains of blocks make for hundreds of nearly empty levels. A node
    is touched once a level: there is room for all.
    """
    none = np.uint64(0)
    state[:] = none
    for lane in range(sources.shape[0]):
        state[within(sources[lane], state.shape[0]), 1] |= np.uint64(1) << np.uint64(lane)
    n = 0
    for lane in range(sources.shape[0]):
        node = sources[lane]
        if state[node, 1] != none:
            active[n] = node
            bits[n] = state[node, 1]
            state[node, 0] = state[node, 1]
            state[node, 1] = none
            n += 1
    counts = np.zeros(64, np.int64)
    level = 0
    while n > 0:
        m = 0
        for at in range(n):
            node, lanes = active[at], bits[at]
            first, last = row_of(indptr, node, indices.shape[0])
            for edge in range(first, last):
                target = within(indices[edge], state.shape[0])
                fresh = lanes & ~state[target, 0]
                if fresh != none:
                    if state[target, 1] == none:
                        touched[m] = target
                        m += 1
                    state[target, 1] |= fresh
        total = np.int64(0)
        for at in range(m):
            target = touched[at]
            fresh = state[target, 1]
            state[target, 0] |= fresh
            state[target, 1] = none
            bits[at] = fresh
            total += _ones(fresh)
        level += 1
        if level == counts.shape[0]:
            longer = np.zeros(2 * level, np.int64)
            longer[:level] = counts
            counts = longer
        counts[level] = total
        active, touched, n = touched, active, m
    return counts[: max(level, 1)]
