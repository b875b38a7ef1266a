"""Reverse trajectories: a uniform goal and uniform steps back along links (sec. 3.1)."""

import numpy as np

from linkwalk.arrays import Int32s
from linkwalk.compiled import guarded, within
from linkwalk.graph.csr import Csr
from linkwalk.walks.forward import walk_uniformly
from linkwalk.walks.sampler import Walks, check_steps, linked_nodes


class ReverseWalks:
    """Walks whose goal is uniform over nodes with an in-link, uniform on the transposed graph (sec. 3.1).

    The paper's formula and text differ; this is the text. A walk that reaches a node without in-links starts there.
    """

    def __init__(
        self, forward: Csr, reverse: Csr, *, steps: int, multistep: bool = False, apart: bool = False
    ) -> None:
        check_steps(steps)
        self.forward, self.reverse = forward, reverse
        self.steps, self.multistep, self.apart = steps, multistep, apart
        self._goals = linked_nodes(reverse, what="links")

    def sample(self, count: int, rng: np.random.Generator) -> Walks:
        """Draw walks, start first."""
        walks = walk_uniformly(self.reverse, self._goals, count, self.steps, rng, self.multistep, self.apart)
        _turn(walks.nodes, walks.lengths)
        return walks


@guarded
def _turn(nodes: Int32s, lengths: Int32s) -> None:
    """Put every walk the other way round, in place."""
    for walk in range(nodes.shape[0]):
        last = within(lengths[walk], nodes.shape[1])
        for at in range((last + 1) // 2):
            nodes[walk, at], nodes[walk, last - at] = nodes[walk, last - at], nodes[walk, at]
