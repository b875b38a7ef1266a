"""Policy heads over fixed embeddings: the paper's two readings, and one that starts as the cosine (sec. 4.2).

A head gives every action a logit; the probabilities are the softmax over the actions of a decision. Shapes: S
decisions, A actions, D the embeddings' width; ``owner`` [A] says which decision an action belongs to.

A head is a class of ``nn.Module`` that is made from a ``HeadConfig``: one of ``HEADS``, or one's own (``policy.own``).
One that scores a link alike wherever it is seen says where to look (``Pointing``), and walks with a map.

What has a gradient is spread over the actions by ``index_select``: that of ``x[owner]`` is added up in any order where
there are several threads, and a run could not be repeated.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, layer_norm, linear, normalize, one_hot, relu

from linkwalk.arrays import Array, Float32s, Integers
from linkwalk.errors import InputError
from linkwalk.graph.store import TYPES
from linkwalk.policy.own import OWN
from linkwalk.policy.trajectory import Trajectory, TrajectoryConfig

if TYPE_CHECKING:
    from linkwalk.policy.decisions import Decisions


@dataclass(frozen=True, kw_only=True)
class HeadConfig:
    """Which head, and its sizes."""

    head: str = "residual"
    """``feedforward`` (sec. 4.2, app. B.2), ``transformer`` (app. B.3), ``mlp`` (app. B.1), ``residual`` or ``compass``
    (ours); or one's own."""
    width: int = 384
    """D, of the embeddings."""
    hidden: int = 256
    """Width of the hidden layer of ``mlp`` and ``residual``."""
    temperature: float = 20.0
    """By which the residual and the compass head multiply the cosine at the start."""
    dropout: float = 0.0
    """Share of the target's features that is hidden from the compass while it is trained."""
    visited: bool = True
    """Whether it sees which pages the walk has been at (app. B.2)."""
    trajectory: TrajectoryConfig | None = None
    """Sizes of ``transformer``, which others have no need of."""

    def __post_init__(self) -> None:
        """Refuse heads that are not there, and sizes that are none; a transformer has its sizes from here on."""
        if self.head not in OWN | HEADS:
            raise InputError(
                f"no policy head named {self.head!r}: choose one of {', '.join(HEADS)}, or name your own as "
                "package.module:Name"
            )
        sizes = self.trajectory
        if self.head == "transformer" and not isinstance(sizes, TrajectoryConfig):
            object.__setattr__(self, "trajectory", TrajectoryConfig(**(sizes or {})))
        if min(self.width, self.hidden) < 1:
            raise InputError(f"a head of width {self.width} and hidden {self.hidden}: choose 1 or more")
        if not 0 <= self.dropout < 1:
            raise InputError(f"head.dropout={self.dropout}: choose a share below 1, or 0 for none")
        if not 0 <= self.temperature < np.inf:
            raise InputError(f"head.temperature={self.temperature}: choose 0 or more")

    @property
    def built(self) -> type[nn.Module]:
        """The class of that name."""
        return (OWN | HEADS)[self.head]

    def check_width(self, width: int) -> None:
        """Refuse embeddings of another width."""
        if self.width != width:
            raise InputError(f"the head is for embeddings of width {self.width}, these have {width}")

    @property
    def points(self) -> bool:
        """Whether it says where to look, so that it walks with a map."""
        return self.visited and hasattr(self.built, "directions")


def build_head(config: HeadConfig) -> nn.Module:
    """The head of that name, untrained."""
    head = config.built(config)
    return head if config.visited else WithoutVisits(head)


class WithoutVisits(nn.Module):
    """A head from which the visited bit is hidden: to see what that bit is worth."""

    def __init__(self, head: nn.Module) -> None:
        super().__init__()
        self.head = head

    def forward(self, current: Tensor, goal: Tensor, action: Tensor, traits: Tensor, owner: Tensor) -> Tensor:
        """Logits [A], as if nothing had been visited."""
        unmarked = torch.cat((traits[:, :-1], torch.zeros_like(traits[:, -1:])), -1)
        logits: Tensor = self.head(current, goal, action, unmarked, owner)
        return logits


class FeedForward(nn.Module):
    """The paper's: one linear layer on [phi(s_t), phi(s_g)], inner product with the action (sec. 4.2, app. B.2).

    Both sides are standardised (what ``jax.nn.normalize`` does). Differs: the layer is as wide as the action with its
    type and visited bit, which the paper's inner product implies but does not say; entity links are a type of their
    own.
    """

    def __init__(self, config: HeadConfig) -> None:
        super().__init__()
        self.layer = nn.Linear(2 * config.width, config.width + len(TYPES) + 1)

    def forward(self, current: Tensor, goal: Tensor, action: Tensor, traits: Tensor, owner: Tensor) -> Tensor:
        """Logits [A]; current and goal [S, D], action [A, D], traits [A, K + 1]: the link's type, the visited bit."""
        return _agreement(self.layer(torch.cat((current, goal), -1)), action, traits, owner)


class OverTrajectory(nn.Module):
    """The paper's larger policy: a transformer over the pages of the walk in place of the linear layer (app. B.3)."""

    def __init__(self, config: HeadConfig) -> None:
        super().__init__()
        assert config.trajectory is not None, "the configuration sees to it"
        self.walk = Trajectory(config.width, config.width + len(TYPES) + 1, config.trajectory)

    def forward(self, current: Tensor, goal: Tensor, action: Tensor, traits: Tensor, owner: Tensor) -> Tensor:
        """Logits [A], of the same shapes as the feed-forward head's, but ``current`` is the state of the walk."""
        return _agreement(current, action, traits, owner)


def trajectory_of(head: nn.Module) -> Trajectory | None:
    """What remembers a walk in a head; None in one that looks at its page alone."""
    inner = head.head if isinstance(head, WithoutVisits) else head
    return inner.walk if isinstance(inner, OverTrajectory) else None


class Mlp(nn.Module):
    """The paper's other reading: one hidden layer on [phi(s_g), phi(s_t), a_i], one output neuron (app. B.1).

    Differs: the activation, which the paper does not name, is a ReLU; the action is phi(s_i) with its type and
    visited bit, as in the feed-forward policy, and not the mean of its anchor's tokens.
    """

    def __init__(self, config: HeadConfig) -> None:
        super().__init__()
        self.inner = nn.Linear(3 * config.width + len(TYPES) + 1, config.hidden)
        self.outer = nn.Linear(config.hidden, 1)

    def forward(self, current: Tensor, goal: Tensor, action: Tensor, traits: Tensor, owner: Tensor) -> Tensor:
        """Logits [A], of the same shapes as the feed-forward head's."""
        # One layer on the concatenation, but the state's share of it is computed once a decision, not once an action.
        of_state, of_action = self.inner.weight.tensor_split((2 * current.shape[-1],), 1)
        state = linear(torch.cat((goal, current), -1), of_state, self.inner.bias)
        hidden = linear(torch.cat((action, traits), -1), of_action) + state.index_select(0, owner)
        logits: Tensor = self.outer(relu(hidden))
        return logits.squeeze(-1)


class Residual(nn.Module):
    """Ours: the cosine of target and goal, plus a correction that is zero before training.

    What starts as the cosine policy and learns a residual generalises to graphs it has not seen; what is learned from
    scratch on one wiki overfits to it.
    """

    def __init__(self, config: HeadConfig) -> None:
        super().__init__()
        self.temperature = nn.Parameter(torch.tensor(config.temperature))
        self.inner = nn.Linear(3 * config.width + len(TYPES) + 2, config.hidden)
        self.outer = nn.Linear(config.hidden, 1)
        nn.init.zeros_(self.outer.weight)
        nn.init.zeros_(self.outer.bias)

    def forward(self, current: Tensor, goal: Tensor, action: Tensor, traits: Tensor, owner: Tensor) -> Tensor:
        """Logits [A], of the same shapes as the feed-forward head's."""
        current, goal, action = (normalize(x, dim=-1) for x in (current, goal, action))
        goal, current = goal[owner], current[owner]
        cosine = (action * goal).sum(-1, keepdim=True)
        seen = torch.cat((action * goal, action * current, goal * current, traits, cosine), -1)
        correction: Tensor = self.outer(gelu(self.inner(seen)))
        return (self.temperature * cosine + correction).squeeze(-1)


_QUICK = 30.0
_CHUNK = 1 << 16


class Pointing(nn.Module):
    """A head that looks for a goal in one direction, whatever page it is at: ``direction`` is all it has to say."""

    def direction(self, goal: Tensor) -> Tensor:
        """Where to look [S, D] for goals [S, D]."""
        raise NotImplementedError

    @torch.no_grad()
    def directions(self, goals: Float32s) -> Float32s:
        """The same [B, D] for who walks by it: nothing is hidden, whatever is in training."""
        training = self.training
        self.eval()
        found = self.direction(torch.from_numpy(goals).to(next(self.parameters()).device)).cpu().numpy()
        self.train(training)
        return np.asarray(found, np.float32)


class CompassHead(Pointing):
    """Ours: the cosine of a link's target and a direction; the direction is the goal, moved by what was learned.

    The paper's feed-forward policy is an inner product of the action with a linear map of the state. This is the same,
    of the goal alone, and begins as the identity: q = phi(s_g) + W phi(s_g) + b with W = 0, b = 0. All of it is in the
    query, so nodes need no second table, and a link is worth the same from wherever it is seen: links of different
    pages can be compared, which a walker with a map or a back button needs (``navigate.map_walkers``).
    """

    def __init__(self, config: HeadConfig) -> None:
        super().__init__()
        self.temperature = config.temperature
        # The temperature's logarithm, as far as it has moved, and how much likelier each kind of link is, so that the
        # direction need not explain it (the walker leaves the kinds out). Few numbers, at a matrix's learning rate.
        self.scales = nn.Parameter(torch.zeros(1 + len(TYPES)))
        self.turn = nn.Linear(config.width, config.width)
        nn.init.zeros_(self.turn.weight)
        nn.init.zeros_(self.turn.bias)
        self.dropout = nn.Dropout(config.dropout)

    def direction(self, goal: Tensor) -> Tensor:
        """Where to look [S, D] for goals [S, D]."""
        goal = normalize(goal, dim=-1)
        moved: Tensor = goal + self.turn(self.dropout(goal))
        return moved

    def forward(self, current: Tensor, goal: Tensor, action: Tensor, traits: Tensor, owner: Tensor) -> Tensor:
        """Logits [A], of the same shapes as the feed-forward head's; the current page does not matter."""
        direction = self.direction(goal).index_select(0, owner)
        cosine = (normalize(action, dim=-1) * direction).sum(-1)
        return self.scaled(cosine, traits[:, : len(TYPES)])

    def scaled(self, cosine: Tensor, kinds: Tensor) -> Tensor:
        """Logits [A] of cosines to the direction looked in [A], and of links of those kinds [A, K]."""
        scale, *more = self.scales_now()
        logits: Tensor = scale * cosine + kinds @ torch.stack(more)
        return logits

    def scales_now(self) -> tuple[Tensor, ...]:
        """The temperature, and how much likelier each kind of link is."""
        scales = _QUICK * self.scales
        return self.temperature * scales[0].exp(), *scales[1:].unbind()


HEADS: dict[str, type[nn.Module]] = {
    "feedforward": FeedForward,
    "transformer": OverTrajectory,
    "mlp": Mlp,
    "residual": Residual,
    "compass": CompassHead,
}
"""Those that are built in."""


def _standardise(x: Tensor) -> Tensor:
    return layer_norm(x, x.shape[-1:])


def _agreement(state: Tensor, action: Tensor, traits: Tensor, owner: Tensor) -> Tensor:
    """The inner product of states [S, K] and actions with their traits, both standardised [A]."""
    actions = _standardise(torch.cat((action, traits), -1))
    return (_standardise(state).index_select(0, owner) * actions).sum(-1)


class NodeTable:
    """Embeddings on a device, and the tensors of a batch of decisions."""

    def __init__(self, vectors: Tensor) -> None:
        self.vectors = vectors

    @classmethod
    def of(cls, vectors: Array, device: str) -> "NodeTable":
        """The table of an artefact, copied out of the read-only map onto a device, in its own precision."""
        return cls(torch.from_numpy(np.array(vectors)).to(device))

    @cached_property
    def length(self) -> Tensor:
        """How long its vectors are on average."""
        parts = (self.vectors[at : at + _CHUNK] for at in range(0, len(self.vectors), _CHUNK))
        return torch.cat([torch.linalg.vector_norm(part.float(), dim=-1) for part in parts]).mean()

    def rows(self, nodes: Integers) -> Tensor:
        """The embeddings of some nodes, in full precision."""
        found: Tensor = self.vectors[torch.as_tensor(nodes, device=self.vectors.device, dtype=torch.long)]
        return found.float()

    def logits(
        self,
        head: nn.Module,
        decisions: "Decisions",
        goal: Tensor | None = None,
        state: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Every action's logit [A], and whose it is [A]; ``goal`` [S, D] stands for the goals' own rows.

        ``state`` [S, K] is what a head that remembers its walks makes of them; without it, whole walks are gone along.
        """
        device = self.vectors.device
        counts = torch.as_tensor(np.diff(decisions.indptr), device=device)
        owner = torch.repeat_interleave(torch.arange(len(counts), device=device), counts)
        goal = self.goal_rows(decisions) if goal is None else goal
        if state is None and (walk := trajectory_of(head)) is not None:
            state = self._along(walk, decisions, goal)
        current = self.rows(decisions.current) if state is None else state
        actions = self.action_rows(decisions)
        logits: Tensor = head(current, goal, actions, traits_of(decisions, device), owner)
        return logits, owner

    def goal_rows(self, decisions: "Decisions") -> Tensor:
        """The embeddings of what is looked for [S, D]."""
        return self.rows(decisions.goal)

    def action_rows(self, decisions: "Decisions") -> Tensor:
        """The embeddings of where the links lead [A, D]."""
        return self.rows(decisions.target)

    def _along(self, walk: Trajectory, decisions: "Decisions", goal: Tensor) -> Tensor:
        """The state [S, K] at every decision, one pass for all those of a walk."""
        if (steps := decisions.steps) is None:
            raise InputError(
                "a transformer over the trajectory is trained on walks: choose others than walks=own"
            )
        walks, first, which = np.unique(steps.walk, return_index=True, return_inverse=True)
        pages = np.maximum(steps.paths[walks, : int(steps.step.max()) + 1], 0)
        whole = walk.along(
            self.rows(pages.ravel()).view(*pages.shape, -1),
            goal.index_select(0, torch.as_tensor(first, device=goal.device)),
        )
        at = torch.as_tensor(which * pages.shape[1] + steps.step, device=goal.device)
        return whole.flatten(0, 1).index_select(0, at)


def traits_of(decisions: "Decisions", device: torch.device) -> Tensor:
    """The type of each action, one-hot, and whether its target has been visited [A, K + 1] (app. B.2)."""
    kind = torch.as_tensor(decisions.kind, device=device, dtype=torch.long)
    visited = torch.as_tensor(decisions.visited, device=device, dtype=torch.float32)
    return torch.cat((one_hot(kind, len(TYPES)).float(), visited[:, None]), -1)


def highest(values: Tensor, owner: Tensor, decisions: int) -> Tensor:
    """The highest of each decision's values [S], of all of them [A]."""
    lowest = torch.full((decisions,), -torch.inf, device=values.device)
    return lowest.scatter_reduce(0, owner, values.detach(), "amax")


def log_softmax(logits: Tensor, owner: Tensor, decisions: int) -> Tensor:
    """Log-probabilities [A] within each decision's actions, without padding."""
    shifted = logits - highest(logits, owner, decisions)[owner]
    total = torch.zeros(decisions, device=logits.device).scatter_add(0, owner, shifted.exp())
    return shifted - total.log().index_select(0, owner)


def shared_likelihood(logits: Tensor, owner: Tensor, share: Tensor, decisions: int) -> tuple[Tensor, Tensor]:
    """Mean negative log-likelihood of what is right, each action by its share [A], and how often the best one is."""
    best = logits >= highest(logits, owner, decisions)[owner]
    likely = log_softmax(logits, owner, decisions)
    return -(share * likely).sum() / decisions, (share * best).sum() / decisions
