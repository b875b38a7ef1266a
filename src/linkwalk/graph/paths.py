"""Shortest paths over links: from one block, and between two (sec. 3.1).

The paper calls shortest-path supervision intractable at 38M nodes because it thinks of Dijkstra from
everywhere. Links have no weight, so a search from both ends needs milliseconds for a pair.
"""

from typing import NamedTuple

import numpy as np

from linkwalk.arrays import Int32s, Int64s, Integers
from linkwalk.compiled import OUTSIDE, guarded, kernel, row_of, within
from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr
from linkwalk.graph.store import Graph

UNREACHABLE = -1
_MAX_EPOCH = (1 << 31) - 1
#: Columns of a search's marks: (epoch, parent) from the start, then from the goal, all in one cache line.
_FORWARD, _BACKWARD = 0, 2


def distances_from(graph: Csr, source: int) -> Int32s:
    """Links to follow from ``source`` to every node, -1 where no path leads (breadth-first)."""
    distances = np.full(graph.nodes, UNREACHABLE, np.int32)
    flood(graph.indptr, graph.indices, source, distances, np.empty(graph.nodes, np.int32))
    return distances


@guarded
def flood(indptr: Int64s, indices: Int32s, source: int, distances: Int32s, queue: Int32s) -> None:
    """Breadth-first from ``source``: fill ``distances`` [N], UNREACHABLE before; ``queue`` [N] is scratch.

    A node gets its distance as it enters the queue, and enters it once: there is room for all.
    """
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
        starts, goals = self._pairs([start], [goal])
        distance, meeting = self._search(starts, goals)
        if distance[0] == UNREACHABLE:
            return Path(UNREACHABLE, np.zeros(0, np.int32))
        nodes = np.empty(distance[0] + 1, np.int32)
        _trace(self._marks, start, goal, meeting, nodes)
        return Path(int(distance[0]), nodes)

    def distance(self, start: int, goal: int) -> int:
        """Length of the shortest path, -1 if there is none."""
        return int(self.distances([start], [goal])[0])

    def distances(self, starts: Integers | list[int], goals: Integers | list[int]) -> Int32s:
        """Lengths of the shortest paths from ``starts[i]`` to ``goals[i]``, -1 where there is none."""
        return self._search(*self._pairs(starts, goals))[0]

    def paths(
        self, starts: Integers | list[int], goals: Integers | list[int], width: int
    ) -> tuple[Int32s, Int32s]:
        """Shortest paths of many pairs: lengths [B] and nodes [B, width + 1], -1 behind a path's end.

        A path of more than ``width`` links leaves its row at -1.
        """
        nodes = np.full((len(starts), width + 1), -1, np.int32)
        return self._search(*self._pairs(starts, goals), nodes)[0], nodes

    def _pairs(self, starts: Integers | list[int], goals: Integers | list[int]) -> tuple[Int64s, Int64s]:
        a, b = np.ascontiguousarray(starts, np.int64), np.ascontiguousarray(goals, np.int64)
        if a.shape != b.shape or a.ndim != 1:
            raise InputError(f"{a.size} starts do not pair with {b.size} goals")
        for nodes in (a, b):
            if len(nodes) and (nodes.min() < 0 or nodes.max() >= self.forward.nodes):
                raise InputError(f"no such node: the graph's nodes are 0 to {self.forward.nodes - 1}")
        return a, b

    def _search(self, starts: Int64s, goals: Int64s, nodes: Int32s | None = None) -> tuple[Int32s, int]:
        if self._epoch + len(starts) >= _MAX_EPOCH:
            self._marks[:] = 0
            self._epoch = 0
        distances, first = np.empty(len(starts), np.int32), self._epoch + 1
        self._epoch += len(starts)  # now: marks of a search that ends in an error are no other search's
        meeting = _search_pairs(
            self.forward.indptr,
            self.forward.indices,
            self.reverse.indptr,
            self.reverse.indices,
            starts,
            goals,
            first,
            self._marks,
            self._queues,
            distances,
            np.empty((len(starts), 0), np.int32) if nodes is None else nodes,
        )
        return distances, meeting


@kernel
def _search_pairs(
    out_indptr: Int64s,
    out_indices: Int32s,
    in_indptr: Int64s,
    in_indices: Int32s,
    starts: Int64s,
    goals: Int64s,
    epoch: int,
    marks: Int32s,
    queues: Int32s,
    distances: Int32s,
    nodes: Int32s,
) -> int:
    """Fill the distances and the paths that fit; returns the node where the last pair's two searches met."""
    if not out_indptr.shape == in_indptr.shape == (marks.shape[0] + 1,):
        raise IndexError(OUTSIDE)
    meeting = -1
    for i in range(starts.shape[0]):
        distances[i], meeting = _search_pair(
            out_indptr, out_indices, in_indptr, in_indices, starts[i], goals[i], epoch + i, marks, queues
        )
        if 0 <= distances[i] < nodes.shape[1]:
            _trace(marks, starts[i], goals[i], meeting, nodes[i, : distances[i] + 1])
    return meeting


@kernel
def _search_pair(
    out_indptr: Int64s,
    out_indices: Int32s,
    in_indptr: Int64s,
    in_indices: Int32s,
    start: int,
    goal: int,
    epoch: int,
    marks: Int32s,
    queues: Int32s,
) -> tuple[int, int]:
    """Level by level from both ends. The first node that both have marked lies on a shortest path.

    Proof: the sides hold all nodes within f links of the start and within b of the goal. A path no longer
    than f + b would have a node in both, and they would have met; so the first meeting is at f + b + 1.
    """
    if start == goal:
        marks[start, _FORWARD] = epoch
        marks[start, _BACKWARD] = epoch
        return 0, start
    ahead, behind = queues[0], queues[1]
    ahead[0], behind[0] = start, goal
    marks[start, _FORWARD] = epoch
    marks[goal, _BACKWARD] = epoch
    ahead_from, ahead_to, behind_from, behind_to = 0, 1, 0, 1
    first, last = row_of(out_indptr, start, out_indices.shape[0])
    ahead_edges = last - first
    first, last = row_of(in_indptr, goal, in_indices.shape[0])
    behind_edges = last - first
    distance = 0
    while ahead_from < ahead_to and behind_from < behind_to:
        distance += 1
        if ahead_edges <= behind_edges:
            end, ahead_edges, meeting = _step(
                out_indptr, out_indices, ahead, ahead_from, ahead_to, marks, _FORWARD, _BACKWARD, epoch
            )
            ahead_from, ahead_to = ahead_to, end
        else:
            end, behind_edges, meeting = _step(
                in_indptr, in_indices, behind, behind_from, behind_to, marks, _BACKWARD, _FORWARD, epoch
            )
            behind_from, behind_to = behind_to, end
        if meeting >= 0:
            return distance, meeting
    return UNREACHABLE, -1


@guarded
def _step(
    indptr: Int64s,
    indices: Int32s,
    queue: Int32s,
    begin: int,
    end: int,
    marks: Int32s,
    own: int,
    other: int,
    epoch: int,
) -> tuple[int, int, int]:
    """One level further on one side: the queue's new end, the edges ahead of it, and the meeting or -1.

    A node is marked as it enters the queue, and enters it once: there is room for all.
    """
    edges = 0
    tail = end
    for at in range(begin, end):
        node = queue[at]
        first, last = row_of(indptr, node, indices.shape[0])
        for edge in range(first, last):
            target = within(indices[edge], marks.shape[0])
            if marks[target, own] == epoch:
                continue
            marks[target, own] = epoch
            marks[target, own + 1] = node
            if marks[target, other] == epoch:
                return tail, edges, target
            queue[tail] = target
            tail += 1
            edges += indptr[target + 1] - indptr[target]
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
