"""What is imitated and how well: walks as decisions, and the likelihood of what they did (sec. 3)."""

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from linkwalk.arrays import Float32s
from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr
from linkwalk.learn.own_walks import OwnWalks
from linkwalk.policy.compass import Compass
from linkwalk.policy.decisions import Decisions, from_walks, without
from linkwalk.policy.heads import NodeTable, log_softmax
from linkwalk.walks import ForwardWalks, ReverseWalks, Sampler, ShortcutWalks, ShortestWalks
from linkwalk.walks.dropout import drop_edges
from linkwalk.walks.shortest import Reading

if TYPE_CHECKING:
    from linkwalk.learn.clone import CloneConfig

WALKS = ("forward", "reverse", "shortest", "shortcut", "own")


def sampler(config: "CloneConfig", forward: Csr, reverse: Csr) -> Sampler:
    """The trajectory distribution E(n_0 .. n_T) of a configuration (sec. 3.1)."""
    steps, multistep = config.steps, config.multistep
    if config.walks == "forward":
        return ForwardWalks(forward, steps=steps, multistep=multistep)
    if config.walks == "reverse":
        return ReverseWalks(forward, reverse, steps=steps, multistep=multistep)
    if config.walks == "shortest":
        reading: Reading = "exact" if config.exact else "walk"
        return ShortestWalks(forward, reverse, steps=steps, multistep=multistep, reading=reading)
    if config.walks == "shortcut":
        return ShortcutWalks(forward, steps=steps, multistep=multistep)
    raise InputError(f"no walks named {config.walks!r}: choose one of {', '.join(WALKS)}")


class Batches:
    """Fresh walks on one graph as decisions to imitate, some of the links not taken hidden (app. B.2)."""

    def __init__(
        self,
        config: "CloneConfig",
        forward: Csr,
        reverse: Csr,
        kinds: NDArray[np.uint8],
        units: Float32s | None = None,
    ) -> None:
        self.forward, self.kinds = forward, kinds
        self.own: OwnWalks | None = None
        if config.walks == "own":
            if units is None:
                raise InputError("only a compass walks by itself in training: choose head.head=compass")
            steps, multistep = config.steps, config.multistep
            self.own = OwnWalks(forward, reverse, kinds, units, steps=steps, multistep=multistep)
        else:
            self.sampler = sampler(config, forward, reverse)

    def draw(
        self, walks: int, rng: np.random.Generator, head: nn.Module, *, edge_dropout: float = 0.0
    ) -> Decisions:
        """Every step of that many walks, or some steps of the head's own."""
        if self.own is not None:
            assert isinstance(head, Compass), "the configuration sees to it"
            return self.own.draw(walks, rng, head)
        drawn = self.sampler.sample(walks, rng)
        decisions = from_walks(drawn, self.forward, self.kinds)
        if not edge_dropout:
            return decisions
        return without(decisions, drop_edges(self.forward, drawn, probability=edge_dropout, rng=rng).hidden)


def cloning_loss(head: nn.Module, table: NodeTable, decisions: Decisions) -> tuple[Tensor, Tensor]:
    """Mean negative log-likelihood of what the walks did (sec. 3), and how often the policy would do the same."""
    return likelihood(*table.logits(head, decisions), decisions)


def likelihood(logits: Tensor, owner: Tensor, decisions: Decisions) -> tuple[Tensor, Tensor]:
    """The same of logits [A] of the actions of decisions, ``owner`` [A] saying whose each is."""
    likely = log_softmax(logits, owner, len(decisions.current))
    if decisions.share is not None:
        share = torch.as_tensor(decisions.share, device=logits.device)
        best = torch.full_like(likely[: len(decisions.current)], -torch.inf).scatter_reduce(
            0, owner, logits, "amax"
        )
        agreed = (share * (logits >= best[owner])).sum()
        return -(share * likely).sum() / len(best), agreed / len(best)
    taken = torch.as_tensor(decisions.taken, device=logits.device)
    best = torch.full_like(taken, -torch.inf, dtype=logits.dtype).scatter_reduce(0, owner, logits, "amax")
    return -likely[taken].mean(), (logits[taken] >= best).float().mean()
