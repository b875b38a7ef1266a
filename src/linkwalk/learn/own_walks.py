"""Decisions on the policy's own walks, with what would have been right at each: cloning where the policy goes.

A policy cloned from walks to their ends has only seen pages on the way to the goal. Its own walks lead elsewhere, and
there it has to do well too. So the policy walks (with its map, ``navigate.map_walkers``), some steps of every walk are
picked, and at each the right link is known: a search back from the goal gives the distance of every page. Links that
lead nearer share the label, 1 in all, each step further is e^-3 as right. Links to pages seen before are left out, as
the walker leaves them out. No labels from anyone: the graph has them all.

The search costs as much as the graph has links, once per walk: a wiki of millions of blocks is trained on a part of it
(``linkwalk split WIKI --by node``), which is enough, as a policy depends on its encoder and never on a graph.
"""

import os
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from linkwalk.arrays import Array, Bytes, Float32s, Int32s, Int64s
from linkwalk.compiled import in_pieces
from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr, bounds_of, owners
from linkwalk.graph.sweeps import flood_many
from linkwalk.navigate import Episodes
from linkwalk.navigate.compass_walker import CompassWalker
from linkwalk.navigate.journeys import Journeys
from linkwalk.policy.compass import Compass
from linkwalk.policy.decisions import Decisions, actions_at, visited_targets
from linkwalk.walks import ForwardWalks

PICKS = 8
"""Steps of a walk that become decisions."""
SHARPNESS = 3.0
"""A link one step further is e^-3 as right."""
BUDGET = 100
ATTEMPTS = 20
"""Batches that are drawn until one has anything to decide: a small one on a sparse graph may have nothing."""
FAR = 127
"""The distance of a page from which no path leads to the goal, or none shorter."""


class NothingToDecide(InputError):
    """No step of these walks has two links to choose from."""

    def __init__(self) -> None:
        super().__init__("the graph offers nothing to decide: no page has two links towards a goal")


@dataclass(eq=False)
class OwnWalks:
    """The walks of a compass on one graph; ``vectors`` [N, D] float32 of unit length."""

    forward: Csr
    reverse: Csr
    kinds: Bytes
    vectors: Float32s
    steps: int
    """T of the walks whose ends are start and goal."""
    multistep: bool
    workers: int = min(16, os.cpu_count() or 1)

    def __post_init__(self) -> None:
        """Goals are the ends of random walks."""
        self.goals = ForwardWalks(self.forward, steps=self.steps, multistep=self.multistep, apart=True)

    def draw(self, walks: int, rng: Generator, compass: Compass) -> Decisions:
        """Some steps of that many walks by the compass, each with its right links."""
        walker = CompassWalker("policy", compass, self.forward, self.vectors, workers=self.workers)
        for _ in range(ATTEMPTS):
            drawn = self.goals.sample(walks, rng)
            episodes = Episodes.of(drawn.starts, drawn.goals)
            journeys = walker.run(episodes, budget=BUDGET)
            with suppress(NothingToDecide):
                return self.label(episodes.goals, journeys, rng)[0]
        raise NothingToDecide

    def label(self, goals: Int32s, journeys: Journeys, rng: Generator) -> tuple[Decisions, Int64s]:
        """Some steps of walks to those goals, each with its right links; and whose walk each is a step of [S]."""
        walk, step = pick_steps(journeys.steps, PICKS, rng)
        current = journeys.nodes[walk, step]
        indptr, target, kind = actions_at(self.forward, self.kinds, current)
        visited = visited_targets(journeys.nodes, walk, step, indptr, target)
        pages, place = np.unique(target, return_inverse=True)
        owner = owners(indptr)
        far = distances_to(self.reverse, goals, pages, self.workers)[walk[owner], place]
        # Decisions are among unseen links that lead to the goal, and there must be two of them.
        open_ = ~visited & (far < FAR)
        count = np.bincount(owner[open_], minlength=len(current))
        kept = count > 1
        open_ &= kept[owner]
        if not open_.any():
            raise NothingToDecide
        bounds = bounds_of(count[kept])
        own = owners(bounds)
        nearest = np.minimum.reduceat(far[open_], bounds[:-1])
        share = np.exp(-SHARPNESS * (far[open_] - nearest[own])).astype(np.float32)
        share /= np.add.reduceat(share, bounds[:-1])[own]
        decisions = Decisions(
            current[kept],
            goals[walk[kept]],
            bounds,
            target[open_],
            kind[open_],
            visited=np.zeros(len(share), np.bool_),
            taken=np.zeros(0, np.int64),
            share=share,
        )
        return decisions, walk[kept]


def pick_steps(steps: Int32s, picks: int, rng: Generator) -> tuple[Int64s, Int64s]:
    """So many random steps of walks that have so many [W]: of which walk each is, and which of its steps."""
    walk = np.repeat(np.arange(len(steps)), picks)
    return walk, (rng.random(len(walk)) * steps[walk]).astype(np.int64)


def distances_to(reverse: Csr, goals: Int32s, pages: Int32s, workers: int) -> Array:
    """Links from each of some pages, each once, to each goal [G, C], ``FAR`` at most: a search back from each."""
    found = np.empty((len(goals), len(pages)), np.int8)

    def search(start: int, stop: int) -> None:
        flood_many(reverse, goals[start:stop], pages, found[start:stop], FAR)

    in_pieces(len(goals), workers, search)
    return found
