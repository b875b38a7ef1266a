"""What a walker with a map sees on its own walks, and which of the links it knew led it to the goal: a map's lessons.

The walker walks until it has found the goal, with time to spare. Looking back, of the pages that it has read some lead
to the goal, along links between them; all others were in vain. So at every step the right link to go for is known: of
all the unseen links that it remembered then, those by which *its own* pages lead to the goal in the fewest clicks. What
a search of the whole graph would call nearest is not asked for: the walker would not find the rest of that way, and a
map trained on it fails more often than the constants.
"""

import os
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from linkwalk.arrays import Bools, Float32s, Int32s, Int64s
from linkwalk.compiled import in_pieces
from linkwalk.graph.csr import Csr
from linkwalk.graph.paths import UNREACHABLE, flood
from linkwalk.navigate.compass_walker import CompassWalker
from linkwalk.navigate.cosine import Units
from linkwalk.navigate.journeys import Episodes, Journeys
from linkwalk.navigate.map_sights import MapNotes
from linkwalk.navigate.map_walkers import MapWalker
from linkwalk.navigate.moves import MoveConfig
from linkwalk.navigate.trained_map import NO_WEIGHTS, article_length
from linkwalk.policy.compass import Compass
from linkwalk.walks import ForwardWalks

BUDGET = 300
USUAL = 100
"""Clicks that a walk has where it counts."""
STEPS = 20
"""Goals are up to so many random steps from the start."""
NEVER = -1
_AMONG = 4
"""So many walks are made for one that is looked at."""
_CLOSED = 1 << 30


class Lessons(NamedTuple):
    """S steps of walks, K links at each: the one that the walker goes for first."""

    sights: Float32s
    """[S, K, SIGHTS]."""
    worth: Float32s
    """[S, K]: by the constants."""
    clicks: Int32s
    """[S, K]: to the goal by that link and pages that the walk came to; UNREACHABLE where it was in vain."""
    counts: Int64s
    """[S]: links there are."""
    steps: Int64s
    """[S]: clicks made so far."""
    to_go: Int32s
    """[S]: clicks that the walker still took to find the goal, or NEVER."""

    @classmethod
    def joined(cls, parts: "list[Lessons]") -> "Lessons":
        """Several as one."""
        columns: Any = zip(*parts, strict=True)
        return cls(*(np.concatenate(column) for column in columns))

    def some(self, rows: Bools) -> "Lessons":
        """Those of some steps."""
        columns: Any = self
        return Lessons(*(column[rows] for column in columns))


class MapWalks:
    """A walker with a map on one graph, with one table; it looks straight at the goal, or where a compass says."""

    def __init__(
        self,
        forward: Csr,
        reverse: Csr,
        vectors: Units,
        compass: Compass | None = None,
        *,
        ways: MoveConfig = MoveConfig(),  # noqa: B008 (frozen)
        length: float | None = None,
        workers: int | None = None,
    ) -> None:
        self.reverse = reverse
        self.article_length = article_length(forward) if length is None else length
        self.workers = workers or min(16, os.cpu_count() or 1)
        self.walker = (
            MapWalker("map", forward, vectors, ways, workers=self.workers)
            if compass is None
            else CompassWalker("map", compass, forward, vectors, ways, workers=self.workers)
        )
        self.goals = ForwardWalks(forward, steps=STEPS, multistep=True, apart=True)

    def draw(self, walks: int, rng: Generator, weights: Float32s, *, picks: int, links: int) -> Lessons:
        """Some steps of that many walks with this map, whether they found the goal or not."""
        drawn = self.goals.sample(_AMONG * walks, rng)
        episodes = Episodes.of(drawn.starts, drawn.goals)
        return self.lessons(episodes, walks, rng, weights, picks=picks, links=links)

    def lessons(
        self,
        episodes: Episodes,
        walks: int,
        rng: Generator,
        weights: Float32s,
        *,
        picks: int,
        links: int,
    ) -> Lessons:
        """Some steps of some walks of these, so that all steps are as likely."""
        self.walker.weights = weights
        journeys = self.walker.run(episodes, budget=BUDGET)
        chances = journeys.steps / max(1, int(journeys.steps.sum()))
        walks = min(walks, int(np.count_nonzero(chances)))
        chosen = rng.choice(len(chances), walks, replace=False, p=chances) if walks else np.zeros(0, np.int64)
        columns: Any = journeys
        journeys = Journeys(*(column[chosen] for column in columns))
        episodes = Episodes.of(episodes.starts[chosen], episodes.goals[chosen])
        steps = [np.unique(rng.integers(count, size=picks)) for count in journeys.steps.tolist()]
        bounds = np.cumsum([0, *map(len, steps)]).tolist()
        noted = MapNotes.blank(bounds[-1], links)
        noted.steps[:] = np.concatenate([np.zeros(0, np.int64), *steps])

        def work(start: int, stop: int) -> None:
            for walk in range(start, stop):
                rows = noted.part(bounds[walk], bounds[walk + 1])
                self._note(episodes.part(walk, walk + 1), journeys.path(walk), rows)

        in_pieces(walks, self.workers, work)
        walk = np.repeat(np.arange(walks), np.diff(bounds))
        to_go = np.where(journeys.success[walk], journeys.steps[walk] - noted.steps, NEVER).astype(np.int32)
        return Lessons(noted.sights, noted.worth, noted.clicks, noted.counts, noted.steps, to_go)

    def failures(self, count: int, rng: Generator, weights: Float32s) -> tuple[int, int]:
        """How many of the same so many episodes the map of these weights fails, and how many the constants alone."""
        drawn = self.goals.sample(count, rng)
        episodes, found = Episodes.of(drawn.starts, drawn.goals), []
        for own in (weights, NO_WEIGHTS):
            self.walker.weights = own
            found.append(int((~self.walker.run(episodes, budget=USUAL).success).sum()))
        return found[0], found[1]

    def _note(self, episode: Episodes, path: Int32s, noted: MapNotes) -> None:
        """Walk it again, and write down what was seen at its picked steps."""
        nodes = self.reverse.nodes
        far, queue = np.full(nodes, _CLOSED, np.int32), np.empty(nodes, np.int32)
        far[path] = UNREACHABLE
        if path[-1] == episode.goals[0]:
            flood(self.reverse, int(path[-1]), far, queue)
        far[far == _CLOSED] = UNREACHABLE
        self.walker.note(episode, noted._replace(distances=far), budget=BUDGET)
