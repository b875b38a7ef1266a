"""Searches from many nodes at once: 64 breadth-first searches in the bits of one word (app. A.3; Then et al., 2014).

Searches of a small-world graph meet nearly all nodes within some steps, and so do the next one's. A word holds, for
each node, which of 64 searches have been there; one pass over the links of a node moves all of them a step further.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwalk.arrays import Int32s, Int64s, Integers, UInt64s
from linkwalk.compiled import guarded, kernel, row_of, within
from linkwalk.graph.csr import Csr

LANES = 64
"""Searches that share one sweep: the bits of a word."""
_ONE = np.uint64(1)


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

    def to_json(self) -> dict[str, Any]:
        """What ``linkwalk stats`` shows of it."""
        names = ("sources", "mean", "median", "counts", "unreachable", "unreachable_share")
        return {name: getattr(self, name) for name in names} | {"counts": self.counts.tolist()}


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
        space, found = _space(graph.nodes), []
        for batch in own:
            found.append(_count_lengths(graph, batch, *space))
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
def flood_many(graph: Csr, sources: Int32s, nodes: Int32s, distance: NDArray[np.int8], far: int) -> None:
    """Fill ``distance`` [S, C]: the steps from each source to some nodes, each of these once, ``far`` at most."""
    size = graph.indptr.shape[0] - 1
    place = np.full(size, -1, np.int32)
    for i in range(nodes.shape[0]):
        place[within(nodes[i], size)] = i
    distance[:] = far
    state, bits, queues = _space(size)
    active, touched = queues[0], queues[1]
    for first in range(0, sources.shape[0], LANES):
        level, count = 0, _begin(sources[first : first + LANES], state, bits, active)
        while count > 0 and level < far:
            for at in range(count):
                to = place[active[at]]
                for lane in range(LANES if to >= 0 else 0):
                    if (bits[at] >> np.uint64(lane)) & _ONE:
                        distance[first + lane, to] = level
            level += 1
            count = _next_level(graph, state, bits, active, count, touched) if level < far else 0
            active, touched = touched, active


@guarded
def _count_lengths(graph: Csr, sources: Int64s, state: UInt64s, bits: UInt64s, queues: Int32s) -> Int64s:
    """How many pairs of up to 64 sources and another node are 0, 1, 2, ... links apart."""
    active, touched = queues[0], queues[1]
    counts, level = np.zeros(64, np.int64), 0
    count = _begin(sources, state, bits, active)
    while count > 0:
        count = _next_level(graph, state, bits, active, count, touched)
        active, touched = touched, active
        level += 1
        if level == counts.shape[0]:
            longer = np.zeros(2 * level, np.int64)
            longer[:level] = counts
            counts = longer
        for at in range(count):
            counts[level] += _ones(bits[at])
    return counts[: max(level, 1)]


@kernel
def _space(nodes: int) -> tuple[UInt64s, UInt64s, Int32s]:
    """Room for a search, 32 bytes per node: state, bits and two queues.

    ``state[:, 0]`` is reached, ``state[:, 1]`` reached on this level: side by side, as both are needed at once. Bit
    ``i`` says that search ``i`` did.
    """
    return np.zeros((nodes, 2), np.uint64), np.empty(nodes, np.uint64), np.empty((2, nodes), np.int32)


@guarded
def _begin(sources: Any, state: UInt64s, bits: UInt64s, active: Int32s) -> int:
    """Begin a search at each source; the queue has these nodes, each once, and the bits of who begins there."""
    state[:] = 0
    for lane in range(sources.shape[0]):
        state[within(sources[lane], state.shape[0]), 1] |= _ONE << np.uint64(lane)
    return _move_on(sources, sources.shape[0], state, bits, active)


@guarded
def _next_level(
    graph: Csr, state: UInt64s, bits: UInt64s, active: Int32s, count: int, touched: Int32s
) -> int:
    """One level further: of the active nodes, with their bits, to those touched, with theirs; how many these are.

    Only active nodes are visited, since long chains of blocks make for hundreds of nearly empty levels. A node is
    touched once a level: there is room for all.
    """
    indptr, indices = graph
    met = 0
    for at in range(count):
        lanes = bits[at]
        first, last = row_of(indptr, active[at], indices.shape[0])
        for edge in range(first, last):
            target = within(indices[edge], state.shape[0])
            fresh = lanes & ~state[target, 0]
            if fresh != 0:
                if state[target, 1] == 0:
                    touched[met] = target
                    met += 1
                state[target, 1] |= fresh
    return _move_on(touched, met, state, bits, touched)


@guarded
def _move_on(nodes: Any, count: int, state: UInt64s, bits: UInt64s, queue: Int32s) -> int:
    """What was reached on this level is reached: queue these nodes, each once, with the bits of who came there."""
    queued = 0
    for at in range(count):
        node = nodes[at]
        if state[node, 1] != 0:
            queue[queued] = node
            bits[queued] = state[node, 1]
            state[node, 0] |= state[node, 1]
            state[node, 1] = 0
            queued += 1
    return queued
