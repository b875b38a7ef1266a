"""A walker with a map: it remembers the links of every page it has been at, and clicks its way to the best of them.

It sees what the paper's agent sees, the current page's links, and moves as that one moves, along them. But a link it
saw ten pages ago is not forgotten: if pages it knows lead back there, it can be reached, and its target competes with
the links of the current page. The worth of an unseen target ``a`` is

    a.q - crowding * log(1 + c(a)) - detour * (steps on the map - 1) - homing * log(d(a))

with vectors of unit length and ``q`` the direction looked in. ``c(a)`` counts the pages already seen that are like
``a``, each from 0 at a cosine of ``likeness`` to 1 at a cosine of 1: where many such pages were no good, the next one
will not be. Without this term a walker reads the thirty blocks of an article that is nearly the right one. ``d(a)`` is
the clicks from the start to ``a``, one more than to the nearest page read that links to it: there are many more pages
far away than near, so that any one of them is less likely to be the goal of somebody who starts here. The walker takes
the first step of a shortest way on its map to the unseen target worth most, and thinks again on the next page. Of
equally short ways the first counts: the back button before links, links in their order. Where all that can be
reached has been seen, it goes on to the page it saw first, and nothing will come of it.

With a back button, the last 16 pages opened, the current one among them, are one press a page away, and are on the map
as well. Where all that these lead to has been seen, it goes back one page, and looks again from there.
"""

from functools import cached_property
from typing import ClassVar

import numpy as np

from linkwalk.arrays import Float32s
from linkwalk.navigate.cosine import in_kernel
from linkwalk.navigate.journeys import Episodes, Journeys
from linkwalk.navigate.mapping import NOT_TOLD, Told, mapped
from linkwalk.navigate.noted import NOTHING_NOTED, Noted
from linkwalk.navigate.trained_map import NO_WEIGHTS, measure_of
from linkwalk.navigate.values import Worth
from linkwalk.navigate.walker import Walker
from linkwalk.navigate.weights import NOWHERE, WORTH, Outlook, Weights


class Mapped(Walker):
    """Clicks its way to the best link it remembers, looking straight at the goal."""

    minds: ClassVar[frozenset[str]] = frozenset({"back", "sampled"})
    weights: Float32s = NO_WEIGHTS
    """What each sight of a link adds to what the constants say."""

    def worth(self) -> Worth:
        """How the kernel finds what a link is worth."""
        return Worth(*self.ways.constants.trades(), *self._measure, self.weights)

    @cached_property
    def _measure(self) -> tuple[float, float]:
        return measure_of(self.vectors) if len(self.weights) else (0.0, 1.0)

    def _walk(self, episodes: Episodes, directions: Float32s, seed: np.uint64, journeys: Journeys) -> None:
        self._fill(episodes, directions, seed, journeys, NOT_TOLD)

    def note(self, episode: Episodes, noted: Noted, *, budget: int, seed: int = 0) -> None:
        """Walk one episode, and write down what is seen at the steps to be noted."""
        again = Journeys.blank(1, budget)
        self._fill(episode, self._looks(episode), np.uint64(seed), again, NOT_TOLD, noted)

    def _fill(
        self,
        episodes: Episodes,
        directions: Float32s,
        seed: np.uint64,
        journeys: Journeys,
        told: Told,
        noted: Noted = NOTHING_NOTED,
    ) -> None:
        mapped(
            self.graph.indptr,
            self.graph.indices,
            in_kernel(self.vectors),
            self.worth(),
            bool(self.ways.sampled),
            self.ways.window if self.ways.back else 0,
            episodes.starts,
            episodes.goals,
            directions,
            episodes.numbers,
            seed,
            journeys,
            told,
            noted,
        )

    def _weigh(self, out: Outlook, episode: Episodes, direction: Float32s, seed: int) -> Weights:
        """Walked once more, with what decided it written down."""
        told = Told(np.empty(len(out.targets), np.float32), np.full(len(out.targets), NOWHERE, np.int32))
        journeys = Journeys.blank(1, len(out.pages))
        self._fill(episode, direction, np.uint64(seed), journeys, told)
        return out.by_worth(told.worth, WORTH, scale=self.ways.constants.temperature, towards=told.towards)
