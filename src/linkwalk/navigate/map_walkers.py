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
from linkwalk.graph.csr import Csr
from linkwalk.navigate.agents import Walker
from linkwalk.navigate.click_weights import NO_WORTH, WORTH, ClickWeights, WaysOut, WayWorth
from linkwalk.navigate.cosine import Units, in_kernel
from linkwalk.navigate.journeys import Episodes, Journeys
from linkwalk.navigate.map_kernel import walk_with_map
from linkwalk.navigate.map_sights import NO_NOTES, MapNotes, Worth
from linkwalk.navigate.moves import MoveConfig
from linkwalk.navigate.trained_map import NO_WEIGHTS, TrainedMap, article_length, measure_of, shipped_map


class MapWalker(Walker):
    """Clicks its way to the best link it remembers, looking straight at the goal."""

    minds: ClassVar[frozenset[str]] = frozenset({"back", "sampled"})
    weights: Float32s = NO_WEIGHTS
    """What each sight of a link adds to what the constants say."""

    def note(self, episode: Episodes, notes: MapNotes, *, budget: int, seed: int = 0) -> None:
        """Walk one episode, and write down what is seen at the steps to be noted."""
        episode = episode._replace(queries=self._looks(episode))
        self._walk(episode, np.uint64(seed), Journeys.blank(1, budget), notes=notes)

    def _walk(
        self,
        episodes: Episodes,
        seed: np.uint64,
        journeys: Journeys,
        ways: WayWorth = NO_WORTH,
        notes: MapNotes = NO_NOTES,
    ) -> None:
        mean, spread = self._measure if len(self.weights) else (0.0, 1.0)
        worth = Worth._make((*self.ways.constants.trades(), mean, spread, self.weights))
        window = self.ways.window if self.ways.back else 0
        vectors, sampled = in_kernel(self.vectors), bool(self.ways.sampled)
        walk_with_map(self.graph, vectors, worth, sampled, window, episodes, seed, journeys, ways, notes)

    @cached_property
    def _measure(self) -> tuple[float, float]:
        return measure_of(self.vectors)

    def _weigh(self, out: WaysOut, episode: Episodes, direction: Float32s, seed: int) -> ClickWeights:
        """Walked once more, with what decided it written down."""
        ways = WayWorth.blank(len(out.targets))
        self._walk(episode, np.uint64(seed), Journeys.blank(1, len(out.pages)), ways)
        return out.by_worth(ways.worth, WORTH, scale=self.ways.constants.temperature, towards=ways.towards)


class LearnedMapWalker(MapWalker):
    """Clicks its way to the link that the constants and trained weights think best: the map that ships, unless told.

    Nothing in a map belongs to a wiki or to an encoder: one file of weights serves all. ``length`` is how many blocks
    an article of the wiki has on average; else it is seen from the links.
    """

    def __init__(
        self,
        name: str,
        graph: Csr,
        vectors: Units | None = None,
        ways: MoveConfig = MoveConfig(),  # noqa: B008 (frozen)
        *,
        workers: int = 1,
        trained: TrainedMap | None = None,
        length: float | None = None,
    ) -> None:
        super().__init__(name, graph, vectors, ways, workers=workers)
        self.trained = trained or shipped_map()
        # It was trained without the back button, and with one it fails more often than the constants.
        used = not ways.back and len(self.trained.on(article_length(graph) if length is None else length))
        # Weights of zero say what the constants say, and see what the forecast asks for.
        self.weights = self.trained.weights if used else np.zeros_like(self.trained.weights)

    def forecast(self, episodes: Episodes, journeys: Journeys, *, seed: int = 0) -> Float32s:
        """How likely each range of clicks still to go was at each step of the first journey [T, CLICKS + 1].

        ``navigate.trained_map`` has the ranges, and what to make of them.
        """
        steps = int(journeys.steps[0])
        notes = MapNotes.blank(steps, 1)
        notes.steps[:] = np.arange(steps)
        self.note(episodes.part(0, 1), notes, budget=journeys.choices.shape[1], seed=seed)
        chances = self.trained.forecast.chances(notes.sights[:, 0])
        chances[notes.counts == 0] = np.eye(chances.shape[1], dtype=np.float32)[-1]  # all has been seen
        return chances
