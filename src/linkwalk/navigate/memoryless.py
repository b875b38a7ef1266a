"""Agents that look at the page before them and at nothing else: random and greedy (sec. 5.2).

With a back button they have one more action, the page they came from: random takes it as often as any link, greedy
scores it as it does a link. An agent on a page without a link, and without a way back, has failed.
"""

from typing import ClassVar

import numpy as np

from linkwalk.arrays import Float32s, Int32s, Int64s
from linkwalk.compiled import kernel, row_of, within
from linkwalk.navigate.chance import below, stream
from linkwalk.navigate.cosine import cosine, in_kernel
from linkwalk.navigate.journeys import BACK, Episodes, Journeys
from linkwalk.navigate.memory import NEVER, blank_memory, last_seen, remember
from linkwalk.navigate.walker import Walker
from linkwalk.navigate.weights import COSINE, NOWHERE, Outlook, Weights


class Random(Walker):
    """Takes any link, each as often as any other."""

    blind: ClassVar[bool] = True

    def _walk(self, episodes: Episodes, directions: Float32s, seed: np.uint64, journeys: Journeys) -> None:
        starts, goals, numbers, _ = episodes
        ways = self.graph.indptr, self.graph.indices, in_kernel(self.vectors), not self.blind, self.ways.back
        memoryless(*ways, starts, goals, directions, numbers, seed, journeys)

    def _weigh(self, out: Outlook, episode: Episodes, direction: Float32s, seed: int) -> Weights:
        return out.by_chance(out.targets != NOWHERE)


class Greedy(Random):
    """Takes the link whose target is closest to the goal, the first of equals."""

    blind: ClassVar[bool] = False

    def _weigh(self, out: Outlook, episode: Episodes, direction: Float32s, seed: int) -> Weights:
        worth = out.cosines(self.vectors, direction[0])
        return out.by_worth(worth, COSINE, scale=self.ways.constants.temperature)


@kernel
def memoryless(
    indptr: Int64s,
    indices: Int32s,
    vectors: Float32s,
    greedy: bool,
    back: bool,
    starts: Int32s,
    goals: Int32s,
    queries: Float32s,
    numbers: Int64s,
    seed: np.uint64,
    journeys: Journeys,
) -> None:
    """Fill the journeys of a batch; greedy takes the link closest to the goal, the first of equals."""
    nodes, choices, probabilities, steps, success, looped = journeys
    budget = choices.shape[1]
    opened = np.empty(budget + 1, np.int32)  # the pages behind the back button, the current one on top
    for e in range(starts.shape[0]):
        memory = blank_memory(budget)
        state = stream(seed, numbers[e])
        node, goal, top, step = within(starts[e], indptr.shape[0] - 1), goals[e], 0, 0
        nodes[e, 0] = opened[0] = node
        remember(memory, node, 0)
        while node != goal and step < budget:
            first, last = row_of(indptr, node, indices.shape[0])
            degree = last - first
            actions = degree + 1 if back and top > 0 else degree
            if actions == 0:
                break
            if greedy:
                choice, best = 0, np.float32(-np.inf)
                for i in range(actions):
                    target = indices[first + i] if i < degree else opened[top - 1]
                    score = cosine(vectors[within(target, vectors.shape[0])], queries[e])
                    if score > best:
                        choice, best = i, score
                probabilities[e, step] = 1
            else:
                state, choice = below(state, actions)
                probabilities[e, step] = 1 / actions
            if choice < degree:
                node = within(indices[first + choice], indptr.shape[0] - 1)
                choices[e, step] = choice
                looped[e] |= last_seen(memory, node) != NEVER
                top += 1
                opened[top] = node
            else:
                choices[e, step] = BACK
                top -= 1
                node = opened[top]
            step += 1
            nodes[e, step] = node
            remember(memory, node, step)
        steps[e] = step
        success[e] = node == goal
