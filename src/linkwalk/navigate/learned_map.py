"""A walker with a learned map: ``mapped`` with trained weights beside its constants, looking straight at the goal.

Nothing in it belongs to a wiki or to an encoder: one file of weights serves all.
"""

import numpy as np

from linkwalk.arrays import Float32s
from linkwalk.graph.csr import Csr
from linkwalk.navigate.cosine import Units
from linkwalk.navigate.journeys import Episodes, Journeys
from linkwalk.navigate.mapped import Mapped
from linkwalk.navigate.noted import Noted
from linkwalk.navigate.trained_map import TrainedMap, article_length, shipped_map
from linkwalk.navigate.ways import Ways


class LearnedMap(Mapped):
    """Clicks its way to the link that its weights think best; the map that ships, unless told.

    ``length`` is how many blocks an article of the wiki has on average; else it is seen from the links.
    """

    def __init__(
        self,
        name: str,
        graph: Csr,
        vectors: Units | None = None,
        ways: Ways = Ways(),  # noqa: B008 (frozen)
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

        ``navigate.forecast`` has the ranges, and what to make of them.
        """
        steps = int(journeys.steps[0])
        noted = Noted.blank(steps, 1)
        noted.steps[:] = np.arange(steps)
        self.note(episodes.part(0, 1), noted, budget=journeys.choices.shape[1], seed=seed)
        chances = self.trained.forecast.chances(noted.sights[:, 0])
        chances[noted.counts == 0] = np.eye(chances.shape[1], dtype=np.float32)[-1]  # all has been seen
        return chances
