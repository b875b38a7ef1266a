"""Shortest paths over links: from one block, and between two (sec. 3.1).

The paper calls shortest-path supervision intractable at 38M nodes because it thinks of Dijkstra from
everywhere. Links have no weight, so a search from both ends needs milliseconds for a pair.
"""

from typing import NamedTuple

import numpy as np

from linkwalk.arrays import Int32s, Int64s, Integers
from linkwalk.compiled import OUTSIDE, guarded, kernel, row_of, within
from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr, links_of
from linkwalk.graph.store import Graph

UNREACHABLE = -1
MAX_EPOCH = (1 << 31) - 1
"""The number of the last search that marks can tell from others."""
#: Columns of a search's marks: (epoch, parent) from the start, then from the goal, all in one cache line.
_FORWARD, _BACKWARD, NOBODY = 0, 2, -1

Nodes = Integers | list[int]


def distances_from(graph: Csr, source: int) -> Int32s:
    """Links to follow from ``source`` to every node, -1 where no path leads (breadth-first)."""
    distances = np.full(graph.nodes, UNREACHABLE, np.int32)
    flood(graph, source, distances, np.empty(graph.nodes, np.int32))
    return distances


@guarded
def flood(graph: Csr, source: int, distances: Int32s, queue: Int32s) -> None:
    """Breadth-first from ``source``: fill ``distances`` [N], UNREACHABLE before; ``queue`` [N] is scratch.

    A node gets its distance as it enters the queue, and enters it once: there is room for all.
    """
    indptr, indices = graph
    size = min(distances.shape[0], queue.shape[0])
    queue[0] = within(source, size)
    distances[source] = 0
    head, tail = 0, 1
    while head < tail:
        node = queue[head]
        head += 1
        first, last = row_of(indptr, node, indices.shape[0])
        for edge in range(first, last):
            target = within(indices[edge], size)
            if distances[target] < 0:
                distances[target] = distances[node] + 1
                queue[tail] = target
                tail += 1


def no_way_out(graph: Graph, start: int) -> str | None:
    """One line on a block that nothing can be reached from; None if it has links."""
    if len(graph.forward.row(start)):
        return None
    graph.check()  # before anybody is told so: can the columns be right?
    return f"{graph.name(start)} has no links, so no path leads anywhere: start elsewhere"


def why_no_path(graph: Graph, start: int, goal: int) -> str:
    """One line on why no path leads from a block to another."""
    if stuck := no_way_out(graph, start):
        return stuck
    graph.check()
    a, b = graph.name(start), graph.name(goal)
    if not len(graph.reverse.row(goal)):
        return f"nothing links to {b}, so no path leads there: choose another goal"
    out, into = (
        int(np.count_nonzero(distances_from(*ends) != UNREACHABLE)) - 1
        for ends in ((graph.forward, start), (graph.reverse, goal))
    )
    return (
        f"no path leads from {a} to {b}: {out:,} other block{'s' * (out != 1)} can be reached from the first, "
        f"{into:,} lead{'s' * (into == 1)} to the second"
    )


class Path(NamedTuple):
    """One shortest path: its links and its nodes from start to goal; -1 and none if no path leads there."""

    distance: int
    nodes: Int32s


class ShortestPaths:
    """Answers "how do I get from a to b" by breadth-first search from both ends (sec. 3.1).

    Always the side with fewer edges ahead takes the next step, so a hub's million in-links are met last.
    Scratch memory is 24 bytes per node, zeroed once and stamped with the number of the query, so that a query
    pays only for what it touches. One object serves one thread.
    """

    def __init__(self, forward: Csr, reverse: Csr) -> None:
        self.forward, self.reverse = forward, reverse
        self._marks = np.zeros((forward.nodes, 4), np.int32)
        self._queues = np.empty((2, forward.nodes), np.int32)
        self._epoch = 0

    def path(self, start: int, goal: int) -> Path:
        """One shortest path from ``start`` to ``goal``; the same one every time."""
        found, meeting = self._search([start], [goal])
        distance = int(found[0])
        nodes = np.empty(distance + 1, np.int32)
        if distance != UNREACHABLE:
            _trace(self._marks, start, goal, meeting, nodes)
        return Path(distance, nodes)

    def distance(self, start: int, goal: int) -> int:
        """Length of the shortest path, -1 if there is none."""
        return int(self.distances([start], [goal])[0])

    def distances(self, starts: Nodes, goals: Nodes) -> Int32s:
        """Lengths of the shortest paths from ``starts[i]`` to ``goals[i]``, -1 where there is none."""
        return self._search(starts, goals)[0]

    def paths(self, starts: Nodes, goals: Nodes, width: int) -> tuple[Int32s, Int32s]:
        """Shortest paths of many pairs: lengths [B] and nodes [B, width + 1], -1 behind a path's end.

        A path of more than ``width`` links leaves its row at -1.
        """
        nodes = np.full((len(starts), width + 1), -1, np.int32)
        return self._search(starts, goals, nodes)[0], nodes

    def _search(self, starts: Nodes, goals: Nodes, nodes: Int32s | None = None) -> tuple[Int32s, int]:
        """Lengths of the paths, and where the two searches of the last pair met."""
        a, b = np.ascontiguousarray(starts, np.int64), np.ascontiguousarray(goals, np.int64)
        if a.shape != b.shape or a.ndim != 1:
            raise InputError(f"{a.size} starts do not pair with {b.size} goals")
        ends = np.concatenate((a, b))
        if len(ends) and (ends.min() < 0 or ends.max() >= self.forward.nodes):
            raise InputError(f"no such node: the graph's nodes are 0 to {self.forward.nodes - 1}")
        if self._epoch + len(a) >= MAX_EPOCH:
            self._marks[:] = 0
            self._epoch = 0
        distances, first = np.empty(len(a), np.int32), self._epoch + 1
        self._epoch += len(a)  # now: marks of a search that ends in an error are no other search's
        nodes = np.empty((len(a), 0), np.int32) if nodes is None else nodes
        meeting = _search_pairs(
            self.forward, self.reverse, a, b, first, self._marks, self._queues, distances, nodes
        )
        return distances, meeting


@kernel
def _search_pairs(
    forward: Csr,
    reverse: Csr,
    starts: Int64s,
    goals: Int64s,
    epoch: int,
    marks: Int32s,
    queues: Int32s,
    distances: Int32s,
    nodes: Int32s,
) -> int:
    """Fill the distances and the paths that fit; returns the node where the last pair's two searches met."""
    if not forward.indptr.shape == reverse.indptr.shape == (marks.shape[0] + 1,):
        raise IndexError(OUTSIDE)
    meeting = -1
    for i in range(starts.shape[0]):
        distances[i], meeting = _search_pair(
            forward, reverse, starts[i], goals[i], epoch + i, marks, queues[0], queues[1]
        )
        if 0 <= distances[i] < nodes.shape[1]:
            _trace(marks, starts[i], goals[i], meeting, nodes[i, : distances[i] + 1])
    return meeting


@kernel
def _search_pair(
    forward: Csr,
    reverse: Csr,
    start: int,
    goal: int,
    epoch: int,
    marks: Int32s,
    ahead: Int32s,
    behind: Int32s,
) -> tuple[int, int]:
    """Level by level from both ends. The first node that both have marked lies on a shortest path.

    Proof: the sides hold all nodes within f links of the start and within b of the goal. A path no longer
    than f + b would have a node in both, and they would have met; so the first meeting is at f + b + 1.
    """
    marks[start, _FORWARD] = epoch
    marks[goal, _BACKWARD] = epoch
    if start == goal:
        return 0, start
    ahead[0], behind[0] = start, goal
    ahead_from, ahead_to, behind_from, behind_to = 0, 1, 0, 1
    first, last = links_of(forward, start)
    ahead_edges = last - first
    first, last = links_of(reverse, goal)
    behind_edges = last - first
    distance = 0
    while ahead_from < ahead_to and behind_from < behind_to:
        distance += 1
        if ahead_edges <= behind_edges:
            end, ahead_edges, meeting = next_level(
                forward, ahead, ahead_from, ahead_to, marks, _FORWARD, _BACKWARD, epoch
            )
            ahead_from, ahead_to = ahead_to, end
        else:
            end, behind_edges, meeting = next_level(
                reverse, behind, behind_from, behind_to, marks, _BACKWARD, _FORWARD, epoch
            )
            behind_from, behind_to = behind_to, end
        if meeting >= 0:
            return distance, meeting
    return UNREACHABLE, -1


@guarded
def next_level(
    graph: Csr, queue: Int32s, begin: int, end: int, marks: Int32s, own: int, other: int, epoch: int
) -> tuple[int, int, int]:
    """One level further on one side: the queue's new end, the edges ahead of it, and the meeting or -1.

    ``marks`` has (epoch, parent) of the nodes in columns ``own`` and the next; ``other`` says where those of the search
    are that it is to meet, or NOBODY. A node is marked as it enters the queue, and enters it once: there is room for
    all.
    """
    indptr, indices = graph
    edges, tail = 0, end
    for at in range(begin, end):
        node = queue[at]
        first, last = row_of(indptr, node, indices.shape[0])
        for edge in range(first, last):
            target = within(indices[edge], marks.shape[0])
            if marks[target, own] == epoch:
                continue
            marks[target, own] = epoch
            marks[target, own + 1] = node
            if other != NOBODY:
                if marks[target, other] == epoch:
                    return tail, edges, target
                edges += indptr[target + 1] - indptr[target]
            queue[tail] = target
            tail += 1
    return tail, edges, -1


@kernel
def _trace(marks: Int32s, start: int, goal: int, meeting: int, nodes: Int32s) -> None:
    """Follow the parents from the meeting to both ends."""
    length = 0
    node = meeting
    while node != start:
        node = marks[node, _FORWARD + 1]
        length += 1
    node = meeting
    for at in range(length, -1, -1):
        nodes[at] = node
        node = marks[node, _FORWARD + 1]
    node = meeting
    for at in range(length + 1, nodes.shape[0]):
        node = marks[node, _BACKWARD + 1]
        nodes[at] = node
