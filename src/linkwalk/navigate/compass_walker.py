"""A policy with a compass and a map: the walker of ``map_walkers``, looking in the learned direction.

Its map may be learned as well: that of the file ``map.json`` in its folder, if there is one. With the back button, for
which no map was trained, the constants decide alone.
"""

from linkwalk.arrays import Float32s
from linkwalk.graph.csr import Csr
from linkwalk.navigate.cosine import Units
from linkwalk.navigate.map_walkers import MapWalker
from linkwalk.navigate.moves import MoveConfig
from linkwalk.policy.compass import Compass


class CompassWalker(MapWalker):
    """A compass as an agent on one graph; ``vectors`` [N, D] of unit length."""

    def __init__(
        self,
        name: str,
        compass: Compass,
        graph: Csr,
        vectors: Units,
        ways: MoveConfig = MoveConfig(),  # noqa: B008 (frozen)
        *,
        workers: int = 1,
        weights: Float32s | None = None,
    ) -> None:
        super().__init__(name, graph, vectors, ways, workers=workers)
        self.compass = compass
        if weights is not None and not ways.back:  # they were trained without the back button
            self.weights = weights

    def directions(self, goals: Float32s) -> Float32s:
        """Where it looks [B, D] for goals [B, D]."""
        return self.compass.directions(goals)
