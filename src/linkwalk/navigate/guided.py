"""A policy with a compass and a map: the walker of ``mapped``, looking in the learned direction."""

from dataclasses import dataclass, field

import numpy as np

from linkwalk.graph.csr import Csr
from linkwalk.navigate.agents import in_pieces
from linkwalk.navigate.cosine import Units, in_kernel
from linkwalk.navigate.journeys import Episodes, Journeys
from linkwalk.navigate.mapped import MapConfig, mapped
from linkwalk.policy.direction import Guide


@dataclass(frozen=True, kw_only=True)
class GuidedConfig:
    """The walker's privileges and trade-offs."""

    back: bool = False
    """Whether it has a back button."""
    window: int = 16
    """How many of the pages behind that button it looks at."""
    map: MapConfig = field(default_factory=MapConfig)


class Guided:
    """A compass as an agent on one graph; ``vectors`` [N, D] of unit length."""

    def __init__(
        self,
        name: str,
        guide: Guide,
        graph: Csr,
        vectors: Units,
        config: GuidedConfig = GuidedConfig(),  # noqa: B008 (frozen)
        *,
        workers: int = 1,
    ) -> None:
        self.name, self.guide, self.graph, self.vectors = name, guide, graph, vectors
        self.config, self.workers = config, workers

    def run(self, episodes: Episodes, *, budget: int = 100, seed: int = 0) -> Journeys:
        """Try each episode within ``budget`` steps."""
        goals = self.vectors[episodes.goals] if episodes.queries is None else episodes.queries
        directions = self.guide.directions(goals)
        journeys = Journeys.blank(episodes.size, budget)
        window = self.config.window if self.config.back else 0

        def work(start: int, stop: int) -> None:
            part = episodes.part(start, stop)
            mapped(
                self.graph.indptr,
                self.graph.indices,
                in_kernel(self.vectors),
                self.config.map.trades(),
                window,
                part.starts,
                part.goals,
                directions[start:stop],
                part.numbers,
                np.uint64(seed),
                journeys.part(start, stop),
            )

        in_pieces(episodes.size, self.workers, work)
        return journeys
