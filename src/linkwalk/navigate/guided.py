"""A policy with a compass and a map: the walker of ``mapped``, looking in the learned direction."""

from dataclasses import dataclass, field

import numpy as np
import torch

from linkwalk.graph.csr import Csr
from linkwalk.navigate.agents import in_pieces
from linkwalk.navigate.journeys import Episodes, Float32s, Journeys
from linkwalk.navigate.mapped import MapConfig, mapped
from linkwalk.policy.heads import Compass


@dataclass(frozen=True, kw_only=True)
class GuidedConfig:
    """The walker's privileges and trade-offs."""

    back: bool = False
    """Whether it has a back button."""
    window: int = 16
    """How many of the pages behind that button it looks at."""
    map: MapConfig = field(default_factory=MapConfig)


class Guided:
    """A compass head as an agent on one graph; ``vectors`` [N, D] float32 of unit length."""

    def __init__(
        self,
        name: str,
        head: Compass,
        graph: Csr,
        vectors: Float32s,
        config: GuidedConfig = GuidedConfig(),  # noqa: B008 (frozen)
        *,
        workers: int = 1,
    ) -> None:
        self.name, self.head, self.graph, self.vectors = name, head, graph, vectors
        self.config, self.workers = config, workers

    def run(self, episodes: Episodes, *, budget: int = 100, seed: int = 0) -> Journeys:
        """Try each episode within ``budget`` steps."""
        directions = self.directions(
            self.vectors[episodes.goals] if episodes.queries is None else episodes.queries
        )
        journeys = Journeys.blank(episodes.size, budget)
        window = self.config.window if self.config.back else 0

        def work(start: int, stop: int) -> None:
            part = episodes.part(start, stop)
            mapped(
                self.graph.indptr,
                self.graph.indices,
                self.vectors,
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

    @torch.no_grad()
    def directions(self, goals: Float32s) -> Float32s:
        """Where to look for goals [B, D], whatever is hidden from the head in training."""
        head, device = self.head, self.head.turn.weight.device
        training = head.training
        head.eval()
        directions: Float32s = head.direction(torch.from_numpy(goals).to(device)).cpu().numpy()
        head.train(training)
        return directions
