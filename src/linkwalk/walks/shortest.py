"""Random shortest paths, in both readings of the paper (sec. 3.1 and 5.1)."""

from typing import Literal

import numpy as np

from linkwalk.arrays import Int32s, Int64s
from linkwalk.compiled import guarded, kernel, within
from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr
from linkwalk.graph.paths import MAX_EPOCH, NOBODY, ShortestPaths, next_level
from linkwalk.walks.draws import below, draw, key_of, seed_from
from linkwalk.walks.sampler import Walks, check_steps, empty_walks, linked_nodes
from linkwalk.walks.uniform import ForwardWalks

Reading = Literal["exact", "walk"]

_LENGTH_DRAW, _FIRST_GOAL_DRAW = 0, 1


class ShortestWalks:
    """Shortest paths as walks; ``reading`` says between which ends.

    ``"exact"`` (sec. 3.1): goal uniform, start uniform among the nodes at distance exactly ``steps``; a goal that
    has none is drawn again, at most ``redraws`` times in a row. Each draw is a search back from the goal: O(E).
    ``"walk"`` (sec. 5.1): the ends are those of a forward walk of ``steps`` steps whose ends differ, so the path
    may be shorter. With ``multistep`` the number of steps is drawn from Uniform{1 .. steps}. One object serves one
    thread.
    """

    def __init__(
        self,
        forward: Csr,
        reverse: Csr,
        *,
        steps: int,
        multistep: bool = False,
        reading: Reading = "walk",
        redraws: int = 1000,
    ) -> None:
        check_steps(steps)
        if reading not in ("exact", "walk"):
            raise InputError(f'no reading "{reading}" of shortest paths: choose "exact" or "walk"')
        self.forward, self.reverse, self.reading = forward, reverse, reading
        self.steps, self.multistep, self.redraws = steps, multistep, redraws
        self._goals = linked_nodes(reverse)
        if reading == "walk":
            self._walks = ForwardWalks(forward, steps=steps, multistep=multistep, apart=True)
            self._search = ShortestPaths(forward, reverse)
        else:
            # The number of the search that reached a node, and the node it came from, in one cache line.
            self._marks = np.zeros((forward.nodes, 2), np.int32)
            self._queue = np.empty(forward.nodes, np.int32)
            self._epoch = np.zeros(1, np.int64)

    def sample(self, count: int, rng: np.random.Generator) -> Walks:
        """Draw walks."""
        return self._sample_exact(count, rng) if self.reading == "exact" else self._sample_walk(count, rng)

    def _sample_walk(self, count: int, rng: np.random.Generator) -> Walks:
        walks = self._walks.sample(count, rng)
        lengths, nodes = self._search.paths(walks.starts, walks.goals, self.steps)
        return Walks(nodes, lengths)

    def _sample_exact(self, count: int, rng: np.random.Generator) -> Walks:
        walks = empty_walks(count, self.steps)
        failed = _draw_exact(
            self.reverse,
            self._goals,
            seed_from(rng),
            self.multistep,
            self.redraws,
            self._epoch,
            self._marks,
            self._queue,
            walks,
        )
        if failed:
            raise InputError(
                f"none of {self.redraws} goals has a start exactly {failed} steps away: choose fewer steps"
            )
        return walks


@kernel
def _draw_exact(
    graph: Csr,
    goals: Int32s,
    seed: np.uint64,
    multistep: bool,
    redraws: int,
    epoch: Int64s,
    marks: Int32s,
    queue: Int32s,
    walks: Walks,
) -> int:
    """Fill the walks over the transposed graph; returns the length that was not to be had, or 0.

    Every search counts the epoch up where it stands: marks of one that ends in an error are no other search's.
    """
    nodes, lengths = walks
    steps = nodes.shape[1] - 1
    for walk in range(nodes.shape[0]):
        key = key_of(seed, 0, walk)
        lengths[walk] = 1 + below(draw(key, _LENGTH_DRAW), steps) if multistep else steps
        length = lengths[walk]
        number, found = _FIRST_GOAL_DRAW, 0
        for _ in range(redraws):
            if epoch[0] == MAX_EPOCH:
                marks[:] = 0
                epoch[0] = 0
            epoch[0] += 1
            goal = goals[below(draw(key, number), goals.shape[0])]
            begin, end = _level(graph, goal, length, epoch[0], marks, queue)
            found = end - begin
            if found:
                node = queue[begin + below(draw(key, number + 1), found)]
                break
            number += 2
        if not found:
            return int(length)
        for at in range(length + 1):
            nodes[walk, at] = node
            node = marks[node, 1]
        nodes[walk, length + 1 :] = -1
    return 0


@guarded
def _level(graph: Csr, goal: int, depth: int, epoch: int, marks: Int32s, queue: Int32s) -> tuple[int, int]:
    """Search back from the goal; where in the queue the nodes exactly ``depth`` links away are."""
    queue[0] = within(goal, min(marks.shape[0], queue.shape[0]))
    marks[goal, 0] = epoch
    begin, end = 0, 1
    for _ in range(depth):
        if begin == end:
            break
        tail = next_level(graph, queue, begin, end, marks, 0, NOBODY, epoch)[0]
        begin, end = end, tail
    return begin, end
