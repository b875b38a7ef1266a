"""What an agent is, and those that need no training, by name (sec. 5.2)."""

from typing import Protocol, runtime_checkable

from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr
from linkwalk.navigate.cosine import Units
from linkwalk.navigate.depth_first import GreedyDepthFirst, RandomDepthFirst
from linkwalk.navigate.journeys import Episodes, Journeys
from linkwalk.navigate.learned_map import LearnedMap
from linkwalk.navigate.mapped import Mapped
from linkwalk.navigate.memoryless import Greedy, Random
from linkwalk.navigate.unvisited import Unvisited
from linkwalk.navigate.walker import Walker
from linkwalk.navigate.ways import Ways
from linkwalk.navigate.weights import Weights

BASELINES: dict[str, type[Walker]] = {
    "random": Random,
    "greedy": Greedy,
    "greedy-unvisited": Unvisited,
    "random-dfs": RandomDepthFirst,
    "greedy-dfs": GreedyDepthFirst,
    "greedy-map": Mapped,
    "learned-map": LearnedMap,
}
REFERENCE = "greedy-unvisited"
"""The agent whose failures all others are measured by."""


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

    def explain(self, episodes: Episodes, journeys: Journeys, *, seed: int = 0) -> Weights:
        """What decided each click of the first journey."""


def open_baseline(
    name: str,
    graph: Csr,
    vectors: Units | None = None,
    ways: Ways = Ways(),  # noqa: B008 (frozen)
    *,
    workers: int = 1,
) -> Walker:
    """The baseline of that name on one graph; ``vectors`` [N, D] of unit length."""
    if name not in BASELINES:
        raise InputError(f"no agent named {name!r}: choose one of {', '.join(BASELINES)}")
    return BASELINES[name](name, graph, vectors, ways, workers=workers)
