"""Depth-first search: random DFS and greedy DFS (sec. 5.2).

The paper says "DFS of depth equal to number of steps": the task's T bounds how many links below the start the agent
goes. It does not say what going back costs. Here every move costs a step, back as well as forth, as the page one goes
back to is opened again. No page is entered twice; once the search has nothing left, the agent stops.
"""

from typing import ClassVar

import numpy as np

from linkwalk.arrays import Bools, Float32s, Int32s, Int64s
from linkwalk.compiled import kernel, row_of, within
from linkwalk.navigate.chance import below, stream
from linkwalk.navigate.cosine import in_kernel
from linkwalk.navigate.journeys import BACK, Episodes, Journeys
from linkwalk.navigate.memory import NEVER, blank_memory, last_seen, remember
from linkwalk.navigate.unvisited import NONE, best_unseen
from linkwalk.navigate.walker import Walker
from linkwalk.navigate.weights import COSINE, Outlook, Weights


class RandomDepthFirst(Walker):
    """Goes down by any link to an unseen page, and back where there is none, or where it is deep enough."""

    blind: ClassVar[bool] = True
    goes_back: ClassVar[bool] = True

    def _walk(self, episodes: Episodes, directions: Float32s, seed: np.uint64, journeys: Journeys) -> None:
        starts, goals, numbers, _ = episodes
        ways = self.graph.indptr, self.graph.indices, in_kernel(self.vectors), not self.blind, self.ways.depth
        depth_first(*ways, starts, goals, directions, numbers, seed, journeys)

    def _weigh(self, out: Outlook, episode: Episodes, direction: Float32s, seed: int) -> Weights:
        return out.by_chance(self._down(out))

    def _down(self, out: Outlook) -> Bools:
        """Which ways lead down to unseen pages; the back button is for where none does."""
        below_start = np.cumsum(np.where(out.choices == BACK, -1, 1)) - np.where(out.choices == BACK, -1, 1)
        found: Bools = out.links & ~out.seen() & (below_start < self.ways.depth)[out.owner]
        return found


class GreedyDepthFirst(RandomDepthFirst):
    """The same, by the link to the unseen page closest to the goal."""

    blind: ClassVar[bool] = False

    def _weigh(self, out: Outlook, episode: Episodes, direction: Float32s, seed: int) -> Weights:
        worth = np.where(self._down(out), out.cosines(self.vectors, direction[0]), np.float32(np.nan))
        return out.by_worth(worth, COSINE, scale=self.ways.constants.temperature)


@kernel
def depth_first(
    indptr: Int64s,
    indices: Int32s,
    vectors: Float32s,
    greedy: bool,
    depth: int,
    starts: Int32s,
    goals: Int32s,
    queries: Float32s,
    numbers: Int64s,
    seed: np.uint64,
    journeys: Journeys,
) -> None:
    """Fill the journeys of a batch; greedy goes by cosine, random is uniform over the links to unseen pages."""
    nodes, choices, probabilities, steps, success, _ = journeys
    budget = choices.shape[1]
    opened = np.empty(budget + 1, np.int32)
    for e in range(starts.shape[0]):
        memory = blank_memory(budget)
        state = stream(seed, numbers[e])
        node, goal, top, step = within(starts[e], indptr.shape[0] - 1), goals[e], 0, 0
        nodes[e, 0] = opened[0] = node
        remember(memory, node, 0)
        while node != goal and step < budget:
            choice, unseen = NONE, 0
            first, last = row_of(indptr, node, indices.shape[0])
            if top < depth and greedy:
                choice = best_unseen(indptr, indices, vectors, node, queries[e], memory)[0]
            elif top < depth:
                # The n-th unseen link replaces the choice with probability 1/n: uniform in one pass.
                for i in range(last - first):
                    if last_seen(memory, indices[first + i]) == NEVER:
                        unseen += 1
                        state, draw = below(state, unseen)
                        if draw == 0:
                            choice = i
            if choice == NONE:
                if top == 0:
                    break
                choices[e, step] = BACK
                probabilities[e, step] = 1
                top -= 1
                node = opened[top]
            else:
                choices[e, step] = choice
                probabilities[e, step] = 1 if greedy else 1 / unseen
                node = within(indices[first + choice], indptr.shape[0] - 1)
                top += 1
                opened[top] = node
            step += 1
            nodes[e, step] = node
            remember(memory, node, step)
        steps[e] = step
        success[e] = node == goal
