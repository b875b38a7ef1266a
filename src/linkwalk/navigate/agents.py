"""What an agent is, and what those whose loop is compiled have in common (sec. 5.2)."""

from abc import ABC, abstractmethod
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from linkwalk.arrays import Float32s
from linkwalk.compiled import in_pieces
from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr
from linkwalk.navigate.click_weights import ClickWeights, WaysOut
from linkwalk.navigate.cosine import Units
from linkwalk.navigate.journeys import Episodes, Journeys
from linkwalk.navigate.moves import MoveConfig


class Agent(Protocol):
    """Goes from starts to goals; ``linkwalk.evaluate`` asks for nothing more."""

    @property
    def name(self) -> str:
        """What tables call it."""

    def run(self, episodes: Episodes, *, budget: int = 100, seed: int = 0) -> Journeys:
        """Try each episode within ``budget`` steps; the seed and an episode's number decide all chance."""


@runtime_checkable
class Explains(Protocol):
    """An agent that can say why it clicked; a walk by one that cannot shows its clicks alone."""

    def explain(self, episodes: Episodes, journeys: Journeys, *, seed: int = 0) -> ClickWeights:
        """What decided each click of the first journey."""


class Walker(ABC):
    """An agent on one graph whose loop is compiled; ``vectors`` [N, D] of unit length."""

    blind: ClassVar[bool] = False
    """Whether it never looks at an embedding."""
    goes_back: ClassVar[bool] = False
    """Whether it goes back, with a button or without."""
    minds: ClassVar[frozenset[str]] = frozenset({"back"})
    """Which of ``MoveConfig`` change what it does."""

    def __init__(
        self,
        name: str,
        graph: Csr,
        vectors: Units | None = None,
        ways: MoveConfig = MoveConfig(),  # noqa: B008 (frozen)
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
        journeys = Journeys.blank(episodes.size, budget)
        looked = episodes._replace(queries=self._looks(episodes))

        def work(start: int, stop: int) -> None:
            self._walk(looked.part(start, stop), np.uint64(seed), journeys.part(start, stop))

        in_pieces(episodes.size, self.workers, work)
        return journeys

    def explain(self, episodes: Episodes, journeys: Journeys, *, seed: int = 0) -> ClickWeights:
        """What decided each click of the first journey."""
        out = WaysOut(self.graph, journeys, back=self.goes_back or self.ways.back)
        looks = self._looks(episodes.part(0, 1))
        return self._weigh(out, episodes.part(0, 1)._replace(queries=looks), looks[0], seed)

    def _looks(self, episodes: Episodes) -> Float32s:
        """Where it looks in each episode [B, D]; a blind one nowhere."""
        if self.blind:
            return np.zeros((episodes.size, 0), np.float32)
        goals = self.vectors[episodes.goals] if episodes.queries is None else episodes.queries
        return self.directions(goals)

    @abstractmethod
    def _walk(self, episodes: Episodes, seed: np.uint64, journeys: Journeys) -> None:
        """Fill the journeys of a piece; it looks where the episodes' queries say."""

    @abstractmethod
    def _weigh(self, out: WaysOut, episode: Episodes, direction: Float32s, seed: int) -> ClickWeights:
        """What the ways out were worth in one episode, walked already."""
