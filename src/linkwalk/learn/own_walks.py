"""Decisions on the policy's own walks, with what would have been right at each: cloning where the policy goes.

A policy cloned from walks to their ends has only seen pages on the way to the goal. Its own walks lead elsewhere, and
there it has to do well too. So the policy walks (with its map, ``navigate.mapped``), some steps of every walk are
picked, and at each the right link is known: a search back from the goal gives the distance of every page. Links that
lead nearer share the label, 1 in all, each step further is e^-3 as right. Links to pages seen before are left out, as
the walker leaves them out. No labels from anyone: the graph has them all.

The search costs as much as the graph has links, once per walk: a wiki of millions of blocks is trained on a part of it
(``linkwalk split WIKI --by node``), which is enough, as a policy depends on its encoder and never on a graph.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from linkwalk.arrays import Float32s, Int32s, Int64s
from linkwalk.compiled import kernel, within
from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr
from linkwalk.graph.paths import UNREACHABLE, flood
from linkwalk.navigate import Episodes
from linkwalk.navigate.compass import CompassWalker
from linkwalk.navigate.journeys import Journeys
from linkwalk.policy.compass import Compass
from linkwalk.policy.decisions import Bools, Decisions, actions_at, visited_targets
from linkwalk.walks import ForwardWalks

PICKS = 8
"""Steps of a walk that become decisions."""
SHARPNESS = 3.0
"""A link one step further is e^-3 as right."""
BUDGET = 100
ATTEMPTS = 20
"""Batches that are drawn until one has anything to decide: a small one on a sparse graph may have nothing."""


class NothingToDecide(InputError):
    """No step of these walks has two links to choose from."""

    def __init__(self) -> None:
        super().__init__("the graph offers nothing to decide: no page has two links towards a goal")


class OwnWalks:
    """The walks of a head that says where to look, on one graph; ``vectors`` [N, D] float32 of unit length."""

    def __init__(
        self,
        forward: Csr,
        reverse: Csr,
        kinds: NDArray[np.uint8],
        vectors: Float32s,
        *,
        steps: int,
        multistep: bool,
        workers: int | None = None,
    ) -> None:
        self.forward, self.reverse, self.kinds, self.vectors = forward, reverse, kinds, vectors
        self.goals = ForwardWalks(forward, steps=steps, multistep=multistep, apart=True)
        self.workers = workers or min(16, os.cpu_count() or 1)

    def draw(self, walks: int, rng: np.random.Generator, head: Compass) -> Decisions:
        """Some steps of that many walks of the head's, each with its right links."""
        walker = CompassWalker("policy", head, self.forward, self.vectors, workers=self.workers)
        for _ in range(ATTEMPTS):
            drawn = self.goals.sample(walks, rng)
            episodes = Episodes.of(drawn.starts, drawn.goals)
            journeys = walker.run(episodes, budget=BUDGET)
            with suppress(NothingToDecide):
                return self.label(episodes.goals, journeys, rng)[0]
        raise NothingToDecide

    def label(self, goals: Int32s, journeys: Journeys, rng: np.random.Generator) -> tuple[Decisions, Int64s]:
        """Some steps of walks to those goals, each with its right links; and whose walk each is a step of [S]."""
        walk = np.repeat(np.arange(len(goals)), PICKS)
        step = (rng.random(len(walk)) * journeys.steps[walk]).astype(np.int64)
        current = journeys.nodes[walk, step]
        indptr, target, kind = actions_at(self.forward, self.kinds, current)
        visited = visited_targets(journeys.nodes, walk, step, indptr, target)
        distance = self._distances(goals, indptr, target)
        decisions, kept = _labelled(current, goals[walk], indptr, target, kind, visited, distance)
        return decisions, walk[kept]

    def _distances(self, goals: Int32s, indptr: Int64s, target: Int32s) -> Int32s:
        """Links from each action's target [A] to the goal of its walk."""
        distance = np.empty(len(target), np.int32)
        cuts = np.linspace(0, len(goals), self.workers + 1).astype(int)

        def work(piece: int) -> None:
            _search_back(
                self.reverse.indptr,
                self.reverse.indices,
                goals,
                cuts[piece],
                cuts[piece + 1],
                indptr,
                target,
                distance,
            )

        with ThreadPoolExecutor(self.workers) as pool:
            list(pool.map(work, range(self.workers)))
        return distance


def _labelled(
    current: Int32s,
    goal: Int32s,
    indptr: Int64s,
    target: Int32s,
    kind: NDArray[np.uint8],
    visited: Bools,
    distance: Int32s,
) -> tuple[Decisions, Bools]:
    """Decisions among unseen links that lead to the goal; which were kept: those with two such links or more."""
    owner = np.repeat(np.arange(len(current)), np.diff(indptr))
    open_ = ~visited & (distance != UNREACHABLE)
    count = np.bincount(owner[open_], minlength=len(current))
    kept = count > 1
    open_ &= kept[owner]
    owner = (np.cumsum(kept) - 1)[owner[open_]]
    bounds = np.concatenate((np.zeros(1, np.int64), np.cumsum(count[kept], dtype=np.int64)))
    if not len(owner):
        raise NothingToDecide
    nearest = np.minimum.reduceat(distance[open_], bounds[:-1])
    share = np.exp(-SHARPNESS * (distance[open_] - nearest[owner])).astype(np.float32)
    share /= np.add.reduceat(share, bounds[:-1])[owner]
    none = np.zeros(0, np.int64)
    unseen = np.zeros(len(share), np.bool_)
    decisions = Decisions(current[kept], goal[kept], bounds, target[open_], kind[open_], unseen, none, share)
    return decisions, kept


@kernel
def _search_back(
    indptr: Int64s,
    indices: Int32s,
    goals: Int32s,
    begin: int,
    end: int,
    bounds: Int64s,
    target: Int32s,
    distance: Int32s,
) -> None:
    """Breadth-first from each goal along links into it; read off the distances of its decisions' targets."""
    nodes = indptr.shape[0] - 1
    far, queue = np.empty(nodes, np.int32), np.empty(nodes, np.int32)
    for walk in range(begin, end):
        far[:] = UNREACHABLE
        flood(indptr, indices, goals[walk], far, queue)
        for action in range(bounds[walk * PICKS], bounds[(walk + 1) * PICKS]):
            distance[action] = far[within(target[action], nodes)]
