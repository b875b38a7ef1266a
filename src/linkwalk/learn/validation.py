"""Articles that are held out of training, to see when a policy no longer gets better at what it has not seen."""

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from linkwalk.arrays import Bools, Float32s
from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr, transpose
from linkwalk.learn.imitation import Batches, cloning_loss
from linkwalk.navigate import Agent, Episodes
from linkwalk.navigate.compass import CompassWalker
from linkwalk.navigate.learned import Learned
from linkwalk.policy.compass import Compass
from linkwalk.policy.heads import NodeTable, build_head
from linkwalk.walks import ForwardWalks

if TYPE_CHECKING:
    from linkwalk.learn.clone import CloneConfig

CRITERIA = ("loss", "success")
WALKS, EPISODES, STEPS, BUDGET = 1024, 500, 10, 100
"""Fixed for a training: walks whose likelihood is measured, episodes that are tried, their T and B."""


def within(forward: Csr, kinds: NDArray[np.uint8], nodes: Bools) -> tuple[Csr, NDArray[np.uint8]]:
    """The links between some of the nodes, and their kinds; every node keeps its number."""
    source = np.repeat(nodes, forward.degrees())
    kept = source & nodes[forward.indices]
    place = np.concatenate((np.zeros(1, np.int64), np.cumsum(kept, dtype=np.int64)))
    return Csr(place[forward.indptr], forward.indices[kept]), kinds[kept]


class Validation:
    """The cloning loss on fixed walks between held-out articles, and how often fixed goals there are reached."""

    def __init__(
        self,
        config: "CloneConfig",
        forward: Csr,
        kinds: NDArray[np.uint8],
        table: NodeTable,
        units: Float32s | None = None,
    ) -> None:
        rng = np.random.default_rng((config.seed, 1))
        try:
            walks = ForwardWalks(forward, steps=STEPS, apart=True).sample(EPISODES, rng)
            batches = Batches(config, forward, transpose(forward), kinds, units)
            with torch.random.fork_rng(
                []
            ):  # an untrained head draws its weights, which is no business of others
                self.decisions = batches.draw(WALKS, rng, build_head(config.head))
        except InputError:
            raise InputError(
                f"the held-out articles ({config.validation:g} of all) have too few links among themselves: "
                "hold out more, or none with validation=0"
            ) from None
        self.episodes = Episodes.of(walks.starts, walks.goals)
        self.forward, self.kinds, self.table, self.units = forward, kinds, table, units

    @torch.no_grad()
    def measure(self, head: nn.Module) -> dict[str, float]:
        """How good a policy is at what it was not trained on, with nothing of it hidden by dropout."""
        training = head.training
        head.eval()
        loss, accuracy = cloning_loss(head, self.table, self.decisions)
        agent: Agent = Learned("policy", head, self.forward, self.kinds, self.table)
        if isinstance(head, Compass) and self.units is not None:
            agent = CompassWalker("policy", head, self.forward, self.units)
        success = agent.run(self.episodes, budget=BUDGET).success.mean()
        head.train(training)
        return {
            "validation_loss": loss.item(),
            "validation_accuracy": accuracy.item(),
            "success": float(success),
        }
