"""Behavioural cloning of random walks: the whole of the paper's method (sec. 3, app. B.2).

Walks are drawn, every step of a walk becomes a decision towards the walk's end, and the policy is trained to take the
step the walk took. No labels, no rewards. Articles may be held out, to see when it no longer gets better at what it has
not seen.
"""

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, Unpack

import numpy as np
import torch
from numpy.random import Generator, default_rng
from torch import Tensor, nn

from linkwalk.arrays import Array, Bools, Bytes, Float32s
from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr, bounds_of, transpose
from linkwalk.learn.loop import (
    DivergenceError,
    HeldOutScore,
    RunOptions,
    Schedule,
    Training,
    ValidationConfig,
    seeded,
    train,
)
from linkwalk.learn.optimise import build_optimiser
from linkwalk.learn.own_walks import OwnWalks
from linkwalk.learn.ranks import ranks
from linkwalk.navigate import Agent, Episodes, unit_rows
from linkwalk.navigate.compass_walker import CompassWalker
from linkwalk.navigate.policy_walker import PolicyWalker
from linkwalk.policy.compass import Compass
from linkwalk.policy.decisions import Decisions, from_walks, without
from linkwalk.policy.heads import HeadConfig, NodeTable, build_head, highest, log_softmax, shared_likelihood
from linkwalk.settings import Count, NotNegative, Share, one_of
from linkwalk.walks import ForwardWalks, ReverseWalks, Sampler, ShortcutWalks, ShortestWalks, drop_edges

if TYPE_CHECKING:
    from linkwalk.learn.rewards.impala import ImpalaConfig

WALKS = ("forward", "reverse", "shortest", "shortcut", "own")
VALIDATION_WALKS, EPISODES, STEPS, BUDGET = 1024, 500, 10, 100
"""Fixed for a training: walks whose likelihood is measured, episodes that are tried, their T and B."""


@dataclass(frozen=True, kw_only=True)
class CloneConfig(ValidationConfig):
    """How a policy is cloned; the defaults are ours, ``linkwalk.recipes`` has the paper's."""

    head: HeadConfig = field(default_factory=HeadConfig)
    walks: str = "shortcut"
    """``forward``, ``reverse``, ``shortest`` or ``shortcut`` (sec. 3.1); ``own``: the policy's (``own_walks``)."""
    exact: bool = False
    """Shortest paths of exactly T steps to a uniform goal (sec. 3.1), instead of between a walk's ends (sec. 5.1)."""
    steps: Count = 20
    """T."""
    multistep: bool = True
    """Walks of Uniform(1, T) steps instead of T."""
    batch: Count = 256
    """Walks in a batch."""
    updates: Count = 2000
    edge_dropout: Share = 0.5
    """With which probability a link that was not taken is hidden (app. B.2); on the policy's own walks, none."""
    optimiser: str = "adamw"
    """``adamw`` or ``rmsprop``."""
    learning_rate: NotNegative = 3e-4
    schedule: Schedule = "constant"
    decay: Share = 0.9
    """Of RMSProp's mean square."""
    epsilon: NotNegative = 1e-10
    """Of RMSProp."""
    epsilon_inside: bool = True
    """Whether RMSProp's epsilon is under the root, as in JAX, or outside, as in torch."""
    trust: Share = 1.0
    """How far the weights that are kept lie from the first ones (0) to the trained ones (1).

    What starts as the cosine and is moved half-way only is better on wikis it has not seen than either end.
    """
    validation: float = 0.0
    """Share of the articles that is held out; 0: none, and the last weights are kept, not the best."""
    criterion: Annotated[str, one_of("loss", "success")] = "loss"
    """What better means on the held-out articles: ``loss`` or ``success``."""

    def __post_init__(self) -> None:
        """Refuse settings that do not go together."""
        super().__post_init__()
        if not 0 <= self.validation < 1:
            raise InputError(f"validation={self.validation}: choose a share below 1, or 0 for none")
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


def clone(
    forward: Csr,
    reverse: Csr,
    kinds: Bytes,
    vectors: Array,
    config: CloneConfig,
    *,
    held_out: Bools | None = None,
    device: str = "cpu",
    **run: Unpack[RunOptions],
) -> nn.Module:
    """Train a policy on one graph; with ``held_out`` nodes [N], on the rest of it, and give the weights best there."""
    config.head.check_width(vectors.shape[1])
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
            train(cloning, **run)
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
    return cloning.model.eval()


@dataclass(eq=False)
class Cloning(Training[CloneConfig]):
    """A head that learns to do what walks on one graph do."""

    clip = 0.0
    batches: "Batches"
    table: NodeTable
    validation: "Validation | None"

    def begin(self) -> None:
        """Begin with an untrained head."""
        self.model = build_head(self.config.head).to(self.table.vectors.device)

    def loss(self, update: int) -> Tensor:
        """Of fresh walks (sec. 3)."""
        dropout = self.config.edge_dropout
        decisions = self.batches.draw(self.config.batch, self.rng, self.model, edge_dropout=dropout)
        own, weight = ranks().of(decisions)
        loss, self.accuracy = cloning_loss(self.model, self.table, own)
        return weight * loss

    def row(self) -> dict[str, float]:
        """How often the policy would have done what the walks did."""
        return {"accuracy": self.accuracy.item()}

    def validate(self) -> HeldOutScore | None:
        """The same on held-out articles, and how often goals are reached there."""
        if self.validation is None:
            return None
        row = self.validation.measure(self.model)
        success = self.config.criterion == "success"
        return HeldOutScore(row["success"] if success else -row["validation_loss"], row)

    def weights(self) -> dict[str, Tensor]:
        """All of the head's."""
        weights: dict[str, Tensor] = self.model.state_dict()
        return weights

    def optimiser(self) -> torch.optim.Optimizer:
        """The configuration's."""
        return build_optimiser(self.config, self.model)


def sampler(config: CloneConfig, forward: Csr, reverse: Csr) -> Sampler:
    """The trajectory distribution E(n_0 .. n_T) of a configuration (sec. 3.1)."""
    steps, multistep = config.steps, config.multistep
    if config.walks == "forward":
        return ForwardWalks(forward, steps=steps, multistep=multistep)
    if config.walks == "reverse":
        return ReverseWalks(forward, reverse, steps=steps, multistep=multistep)
    if config.walks == "shortest":
        reading: Literal["exact", "walk"] = "exact" if config.exact else "walk"
        return ShortestWalks(forward, reverse, steps=steps, multistep=multistep, reading=reading)
    if config.walks == "shortcut":
        return ShortcutWalks(forward, steps=steps, multistep=multistep)
    raise InputError(f"no walks named {config.walks!r}: choose one of {', '.join(WALKS)}")


class Batches:
    """Fresh walks on one graph as decisions to imitate, some of the links not taken hidden (app. B.2)."""

    def __init__(
        self, config: CloneConfig, forward: Csr, reverse: Csr, kinds: Bytes, units: Float32s | None = None
    ) -> None:
        self.forward, self.kinds = forward, kinds
        self.own: OwnWalks | None = None
        if config.walks != "own":
            self.sampler = sampler(config, forward, reverse)
        elif units is None:
            raise InputError("only a compass walks by itself in training: choose head.head=compass")
        else:
            steps, multistep = config.steps, config.multistep
            self.own = OwnWalks(forward, reverse, kinds, units, steps=steps, multistep=multistep)

    def draw(
        self, walks: int, rng: Generator, head: nn.Module | Compass, *, edge_dropout: float = 0.0
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
    count, device = len(decisions.current), logits.device
    if decisions.share is not None:
        return shared_likelihood(logits, owner, torch.as_tensor(decisions.share, device=device), count)
    taken = torch.as_tensor(decisions.taken, device=device)
    agrees = logits[taken] >= highest(logits, owner, count)
    return -log_softmax(logits, owner, count)[taken].mean(), agrees.float().mean()


def within(forward: Csr, kinds: Bytes, nodes: Bools) -> tuple[Csr, Bytes]:
    """The links between some of the nodes, and their kinds; every node keeps its number."""
    kept = np.repeat(nodes, forward.degrees()) & nodes[forward.indices]
    return Csr(bounds_of(kept)[forward.indptr], forward.indices[kept]), kinds[kept]


class Validation:
    """The cloning loss on fixed walks between held-out articles, and how often fixed goals there are reached."""

    def __init__(
        self,
        config: CloneConfig,
        forward: Csr,
        kinds: Bytes,
        table: NodeTable,
        units: Float32s | None = None,
    ) -> None:
        rng = default_rng((config.seed, 1))
        try:
            walks = ForwardWalks(forward, steps=STEPS, apart=True).sample(EPISODES, rng)
            batches = Batches(config, forward, transpose(forward), kinds, units)
            with torch.random.fork_rng([]):  # an untrained head draws weights, which is no business of others
                self.decisions = batches.draw(VALIDATION_WALKS, rng, build_head(config.head))
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
        agent: Agent = PolicyWalker("policy", head, self.forward, self.kinds, self.table)
        if isinstance(head, Compass) and self.units is not None:
            agent = CompassWalker("policy", head, self.forward, self.units)
        success = agent.run(self.episodes, budget=BUDGET).success.mean()
        head.train(training)
        return {
            "validation_loss": loss.item(),
            "validation_accuracy": accuracy.item(),
            "success": float(success),
        }


def config_to_json(config: "CloneConfig | ImpalaConfig") -> dict[str, Any]:
    """The resolved configuration, for the manifest; what is left out belongs to another head."""
    found = asdict(config)
    if found["head"]["trajectory"] is None:
        del found["head"]["trajectory"]
    return found
