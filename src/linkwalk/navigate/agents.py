"""The agents that need no training, by name, over whole batches of episodes (sec. 5.2)."""

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr
from linkwalk.navigate.cosine import Units, in_kernel
from linkwalk.navigate.depth_first import depth_first
from linkwalk.navigate.journeys import Episodes, Journeys
from linkwalk.navigate.mapped import MapConfig, mapped
from linkwalk.navigate.memoryless import memoryless
from linkwalk.navigate.unvisited import unvisited

BASELINES = ("random", "greedy", "greedy-unvisited", "random-dfs", "greedy-dfs", "greedy-map")
BLIND = frozenset({"random", "random-dfs"})
"""Agents that never look at an embedding."""
REFERENCE = "greedy-unvisited"
"""The agent whose failures all others are measured by."""


class Agent(Protocol):
    """Goes from starts to goals; ``linkwalk.evaluate`` asks for nothing more."""

    @property
    def name(self) -> str:
        """What tables call it."""

    def run(self, episodes: Episodes, *, budget: int = 100, seed: int = 0) -> Journeys:
        """Try each episode within ``budget`` steps; the seed and an episode's number decide all chance."""


@dataclass(frozen=True, kw_only=True)
class BaselineConfig:
    """Which baseline, and its privileges."""

    name: str
    back: bool = False
    """Whether it has a back button; depth-first search goes back in any case."""
    window: int = 16
    """How many pages back an agent with a memory looks for a better link, if it has a back button."""
    depth: int = 20
    """How many links below the start depth-first search goes: the task's T."""
    map: MapConfig = field(default_factory=MapConfig)
    """What greedy-map trades against what."""


def in_pieces(count: int, workers: int, work: Callable[[int, int], None]) -> None:
    """Cut a batch into one piece per worker, and work on all at once; kernels let go of the interpreter."""
    cuts = np.linspace(0, count, max(1, workers) + 1).astype(int).tolist()
    pieces = [(a, b) for a, b in itertools.pairwise(cuts) if a < b]
    if len(pieces) <= 1:
        for piece in pieces:
            work(*piece)
        return
    with ThreadPoolExecutor(len(pieces)) as pool:
        list(pool.map(lambda piece: work(*piece), pieces))


class Baseline:
    """An agent without anything learned, on one graph; ``vectors`` [N, D] of unit length."""

    def __init__(
        self, config: BaselineConfig, graph: Csr, vectors: Units | None = None, *, workers: int = 1
    ) -> None:
        if config.name not in BASELINES:
            raise InputError(f"no agent named {config.name!r}: choose one of {', '.join(BASELINES)}")
        if vectors is None and config.name not in BLIND:
            raise InputError(f"{config.name} needs embeddings: run `linkwalk embed WIKI` first")
        if vectors is not None and len(vectors) != graph.nodes:
            raise InputError(f"{len(vectors)} embeddings do not fit a graph of {graph.nodes} nodes")
        self.config, self.graph, self.workers = config, graph, workers
        self.vectors: Units = np.zeros((0, 0), np.float32) if vectors is None else vectors

    @property
    def name(self) -> str:
        """What tables call it."""
        return self.config.name

    def run(self, episodes: Episodes, *, budget: int = 100, seed: int = 0) -> Journeys:
        """Try each episode within ``budget`` steps, the batch cut into one piece per worker."""
        journeys = Journeys.blank(episodes.size, budget)

        def work(start: int, stop: int) -> None:
            self._run(episodes.part(start, stop), journeys.part(start, stop), np.uint64(seed))

        in_pieces(episodes.size, self.workers, work)
        return journeys

    def _run(self, episodes: Episodes, journeys: Journeys, seed: np.uint64) -> None:
        config, ways = self.config, (self.graph.indptr, self.graph.indices, in_kernel(self.vectors))
        greedy = config.name not in BLIND
        if episodes.queries is not None:
            queries = episodes.queries
        else:
            queries = self.vectors[episodes.goals] if greedy else np.zeros((0, 0), np.float32)
        starts, goals, numbers = episodes.starts, episodes.goals, episodes.numbers
        window = config.window if config.back else 0
        if config.name in ("random", "greedy"):
            memoryless(*ways, greedy, config.back, starts, goals, queries, numbers, seed, journeys)
        elif config.name == REFERENCE:
            unvisited(*ways, window, starts, goals, queries, journeys)
        elif config.name == "greedy-map":
            mapped(*ways, config.map.trades(), window, starts, goals, queries, numbers, seed, journeys)
        else:
            depth_first(*ways, greedy, config.depth, starts, goals, queries, numbers, seed, journeys)
