"""What agents whose loop is compiled have in common: a batch goes in, cut into one piece per worker (sec. 5.2)."""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import numpy as np

from linkwalk.arrays import Float32s
from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr
from linkwalk.navigate.cosine import Units
from linkwalk.navigate.journeys import Episodes, Journeys
from linkwalk.navigate.ways import Ways
from linkwalk.navigate.weights import Outlook, Weights


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


class Walker(ABC):
    """An agent on one graph; ``vectors`` [N, D] of unit length."""

    blind: ClassVar[bool] = False
    """Whether it never looks at an embedding."""
    goes_back: ClassVar[bool] = False
    """Whether it goes back, with a button or without."""
    minds: ClassVar[frozenset[str]] = frozenset({"back"})
    """Which of ``Ways`` change what it does."""

    def __init__(
        self,
        name: str,
        graph: Csr,
        vectors: Units | None = None,
        ways: Ways = Ways(),  # noqa: B008 (frozen)
        *,
        workers: int = 1,
    ) -> None:
        if vectors is None and not self.blind:
            raise InputError(f"{name} needs embeddings: run `linkwalk embed WIKI` first")
        if vectors is not None and len(vectors) != graph.nodes:
            raise InputError(f"{len(vectors)} embeddings do not fit a graph of {graph.nodes} nodes")
        self.name, self.graph, self.ways, self.workers = name, graph, ways, workers
        self.vectors: Units = np.zeros((0, 0), np.float32) if vectors is None else vectors

    def directions(self, goals: Float32s) -> Float32s:
        """Where it looks [B, D] for goals [B, D]: straight at them, unless it has learned better."""
        return goals

    def run(self, episodes: Episodes, *, budget: int = 100, seed: int = 0) -> Journeys:
        """Try each episode within ``budget`` steps; the seed and an episode's number decide all chance."""
        journeys, directions = Journeys.blank(episodes.size, budget), self._looks(episodes)

        def work(start: int, stop: int) -> None:
            part, piece = episodes.part(start, stop), journeys.part(start, stop)
            self._walk(part, directions[start:stop], np.uint64(seed), piece)

        in_pieces(episodes.size, self.workers, work)
        return journeys

    def explain(self, episodes: Episodes, journeys: Journeys, *, seed: int = 0) -> Weights:
        """What decided each click of the first journey."""
        out = Outlook(self.graph, journeys, back=self.goes_back or self.ways.back)
        return self._weigh(out, episodes.part(0, 1), self._looks(episodes.part(0, 1)), seed)

    def _looks(self, episodes: Episodes) -> Float32s:
        """Where it looks in each episode [B, D]; a blind one nowhere."""
        if self.blind:
            return np.zeros((episodes.size, 0), np.float32)
        goals = self.vectors[episodes.goals] if episodes.queries is None else episodes.queries
        return self.directions(goals)

    @abstractmethod
    def _walk(self, episodes: Episodes, directions: Float32s, seed: np.uint64, journeys: Journeys) -> None:
        """Fill the journeys of a piece."""

    @abstractmethod
    def _weigh(self, out: Outlook, episode: Episodes, direction: Float32s, seed: int) -> Weights:
        """What the ways out were worth in one episode, walked already."""
