"""The agents that need no training, by name, over whole batches of episodes (sec. 5.2)."""

import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr
from linkwalk.navigate.depth_first import depth_first
from linkwalk.navigate.journeys import Episodes, Float32s, Journeys
from linkwalk.navigate.memoryless import memoryless
from linkwalk.navigate.unvisited import unvisited

BASELINES = ("random", "greedy", "greedy-unvisited", "random-dfs", "greedy-dfs")
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
    """How many pages back greedy-unvisited looks for a better link, if it has a back button."""
    depth: int = 20
    """How many links below the start depth-first search goes: the task's T."""


class Baseline:
    """An agent without anything learned, on one graph; ``vectors`` [N, D] float32 of unit length."""

    def __init__(
        self, config: BaselineConfig, graph: Csr, vectors: Float32s | None = None, *, workers: int = 1
    ) -> None:
        if config.name not in BASELINES:
            raise InputError(f"no agent named {config.name!r}: choose one of {', '.join(BASELINES)}")
        if vectors is None and config.name not in BLIND:
            raise InputError(f"{config.name} needs embeddings: run `linkwalk embed WIKI` first")
        if vectors is not None and len(vectors) != graph.nodes:
            raise InputError(f"{len(vectors)} embeddings do not fit a graph of {graph.nodes} nodes")
        self.config, self.graph, self.workers = config, graph, workers
        self.vectors = np.zeros((0, 0), np.float32) if vectors is None else vectors

    @property
    def name(self) -> str:
        """What tables call it."""
        return self.config.name

    def run(self, episodes: Episodes, *, budget: int = 100, seed: int = 0) -> Journeys:
        """Try each episode within ``budget`` steps, the batch cut into one piece per worker."""
        journeys = Journeys.blank(episodes.size, budget)
        cuts = np.linspace(0, episodes.size, max(1, self.workers) + 1).astype(int).tolist()
        pieces = [(a, b) for a, b in itertools.pairwise(cuts) if a < b]

        def work(piece: tuple[int, int]) -> None:
            self._run(episodes.part(*piece), journeys.part(*piece), np.uint64(seed))

        if len(pieces) <= 1:
            for piece in pieces:
                work(piece)
        else:
            with ThreadPoolExecutor(len(pieces)) as pool:
                list(pool.map(work, pieces))
        return journeys

    def _run(self, episodes: Episodes, journeys: Journeys, seed: np.uint64) -> None:
        config, ways = self.config, (self.graph.indptr, self.graph.indices, self.vectors)
        greedy = config.name not in BLIND
        if episodes.queries is not None:
            queries = episodes.queries
        else:
            queries = self.vectors[episodes.goals] if greedy else np.zeros((0, 0), np.float32)
        starts, goals, numbers = episodes.starts, episodes.goals, episodes.numbers
        if config.name in ("random", "greedy"):
            memoryless(*ways, greedy, config.back, starts, goals, queries, numbers, seed, journeys)
        elif config.name == REFERENCE:
            window = config.window if config.back else 0
            unvisited(*ways, window, starts, goals, queries, journeys)
        else:
            depth_first(*ways, greedy, config.depth, starts, goals, queries, numbers, seed, journeys)
