"""Behavioural cloning of random walks: the whole of the paper's method (sec. 3, app. B.2).

Walks are drawn, every step of a walk becomes a decision towards the walk's end, and the policy is trained to take the
step the walk took. No labels, no rewards.
"""

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from linkwalk.arrays import Bools
from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr, transpose
from linkwalk.learn.imitation import Batches, cloning_loss, sampler
from linkwalk.learn.limits import at_least, one_of, shares
from linkwalk.learn.loop import (
    DivergenceError,
    HeldOutScore,
    RunOptions,
    Training,
    ValidationConfig,
    seeded,
    train,
)
from linkwalk.learn.optimise import build_optimiser
from linkwalk.learn.ranks import ranks
from linkwalk.learn.validation import CRITERIA, Validation, within
from linkwalk.navigate import unit_rows
from linkwalk.policy.heads import HeadConfig, NodeTable, build_head

if TYPE_CHECKING:
    from linkwalk.learn.rewards.impala import ImpalaConfig

__all__ = ["CloneConfig", "clone", "cloning_loss", "sampler"]


@dataclass(frozen=True, kw_only=True)
class CloneConfig(ValidationConfig):
    """How a policy is cloned; the defaults are ours, ``linkwalk.recipes`` has the paper's."""

    head: HeadConfig = field(default_factory=HeadConfig)
    walks: str = "shortcut"
    """``forward``, ``reverse``, ``shortest`` or ``shortcut`` (sec. 3.1); ``own``: the policy's (``own_walks``)."""
    exact: bool = False
    """Shortest paths of exactly T steps to a uniform goal (sec. 3.1), instead of between a walk's ends (sec. 5.1)."""
    steps: int = 20
    """T."""
    multistep: bool = True
    """Walks of Uniform(1, T) steps instead of T."""
    batch: int = 256
    """Walks in a batch."""
    updates: int = 2000
    edge_dropout: float = 0.5
    """With which probability a link that was not taken is hidden (app. B.2); on the policy's own walks, none."""
    optimiser: str = "adamw"
    """``adamw`` or ``rmsprop``."""
    learning_rate: float = 3e-4
    schedule: str = "constant"
    decay: float = 0.9
    """Of RMSProp's mean square."""
    epsilon: float = 1e-10
    """Of RMSProp."""
    epsilon_inside: bool = True
    """Whether RMSProp's epsilon is under the root, as in JAX, or outside, as in torch."""
    trust: float = 1.0
    """How far the weights that are kept lie from the first ones (0) to the trained ones (1).

    What starts as the cosine and is moved half-way only is better on wikis it has not seen than either end.
    """
    validation: float = 0.0
    """Share of the articles that is held out; 0: none, and the last weights are kept, not the best."""
    criterion: str = "loss"
    """What better means on the held-out articles: ``loss`` or ``success``."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        super().__post_init__()
        at_least(self, batch=1, steps=1, epsilon=0)
        shares(self, "edge_dropout", "decay", "trust")
        if not 0 <= self.validation < 1:
            raise InputError(f"validation={self.validation}: choose a share below 1, or 0 for none")
        one_of(self, criterion=CRITERIA)
        if self.walks == "own":
            if not self.head.visited:
                raise InputError(
                    "head.visited=false: what walks with a map never looks at that; choose head.visited=true"
                )
            if not self.head.points:
                raise InputError(
                    f"walks=own is for a head that walks with a map, not for {self.head.head}: choose "
                    "head.head=compass, or walks=shortcut"
                )
            if self.edge_dropout:
                raise InputError(
                    f"edge_dropout={self.edge_dropout:g} is for walks that are imitated; with walks=own choose "
                    "edge_dropout=0 (and head.dropout for the compass)"
                )


class Cloning(Training):
    """A head that learns to do what walks on one graph do."""

    clip = 0.0

    def __init__(
        self, config: CloneConfig, batches: Batches, table: NodeTable, validation: Validation | None
    ) -> None:
        super().__init__(config)
        self.evaluate_every, self.patience = config.evaluate_every, config.patience
        self.settings, self.batches, self.table, self.validation = config, batches, table, validation
        self.head = build_head(config.head).to(table.vectors.device)

    def loss(self, update: int) -> Tensor:
        """Of fresh walks (sec. 3)."""
        dropout = self.settings.edge_dropout
        decisions = self.batches.draw(self.settings.batch, self.rng, self.head, edge_dropout=dropout)
        own, weight = ranks().of(decisions)
        loss, self.accuracy = cloning_loss(self.head, self.table, own)
        return weight * loss

    def row(self) -> dict[str, float]:
        """How often the policy would have done what the walks did."""
        return {"accuracy": self.accuracy.item()}

    def validate(self) -> HeldOutScore | None:
        """The same on held-out articles, and how often goals are reached there."""
        if self.validation is None:
            return None
        row = self.validation.measure(self.head)
        return HeldOutScore(
            row["success"] if self.settings.criterion == "success" else -row["validation_loss"], row
        )

    def parameters(self) -> list[nn.Parameter]:
        """All of the head's."""
        return list(self.head.parameters())

    def weights(self) -> dict[str, Tensor]:
        """All of the head's."""
        weights: dict[str, Tensor] = self.head.state_dict()
        return weights

    def optimiser(self) -> torch.optim.Optimizer:
        """The configuration's."""
        return build_optimiser(self.settings, self.head)


def clone(
    forward: Csr,
    reverse: Csr,
    kinds: NDArray[np.uint8],
    vectors: NDArray[Any],
    config: CloneConfig,
    *,
    held_out: Bools | None = None,
    device: str = "cpu",
    **kept: Unpack[RunOptions],
) -> nn.Module:
    """Train a policy on one graph; with ``held_out`` nodes [N], on the rest of it, and give the weights best there."""
    if config.head.width != vectors.shape[1]:
        raise InputError(
            f"the head is for embeddings of width {config.head.width}, these have {vectors.shape[1]}"
        )
    if (held_out is not None) != (config.validation > 0):
        raise InputError(
            f"validation={config.validation:g}, but held-out nodes are {'not ' * (held_out is None)}given"
        )
    table, validation = NodeTable.of(vectors, device), None
    units = unit_rows(vectors) if config.head.points else None  # for the walker with a map
    with seeded(config.seed, device):
        if held_out is not None:
            validation = Validation(config, *within(forward, kinds, held_out), table, units)
            forward, kinds = within(forward, kinds, ~held_out)
            reverse = transpose(forward)
        cloning = Cloning(config, Batches(config, forward, reverse, kinds, units), table, validation)
        first = {name: value.clone() for name, value in cloning.weights().items()}
        try:
            train(cloning, **kept)
        except DivergenceError:
            if torch.isfinite(table.vectors).all():
                raise
            raise InputError(
                "the embeddings hold values that are not numbers: run `linkwalk embed WIKI --force`"
            ) from None
    with torch.no_grad():
        for name, value in cloning.weights().items():
            if value.is_floating_point():
                value.copy_(first[name].lerp(value, config.trust))
    return cloning.head.eval()


def config_to_json(config: "CloneConfig | ImpalaConfig") -> dict[str, Any]:
    """The resolved configuration, for the manifest; what is left out belongs to another head."""
    found = asdict(config)
    if found["head"]["trajectory"] is None:
        del found["head"]["trajectory"]
    return found
