"""Reinforcement learning of a policy: IMPALA's learner, its actors on the same device (sec. 5.2, app. B.2).

A policy walks by drawing its links, is rewarded where it stands on the goal, and follows the gradient of that reward:
V-trace's, beside a value network that knows what to expect. Nothing tells it where a goal is.

The policy that acts is the learner's own as it was at most ``refresh`` - 1 updates ago: by default the very same.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Unpack

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from linkwalk.arrays import Array
from linkwalk.errors import InputError
from linkwalk.evaluate import TaskConfig
from linkwalk.gpu.recording import RecordedUpdate
from linkwalk.learn.loop import LoopConfig, RunOptions, Schedule, Training, seeded, train
from linkwalk.learn.optimise import RmsProp
from linkwalk.learn.ranks import ranks
from linkwalk.learn.rewards.actors import Actors, Hindsight, Unroll, look_back, sees_at_once
from linkwalk.learn.rewards.vtrace import Steps, Targets, vtrace
from linkwalk.policy.heads import HeadConfig, NodeTable, build_head, trajectory_of
from linkwalk.settings import Count, CountOrNone, NotNegative, Share, at_least

if TYPE_CHECKING:
    from linkwalk.envs.world import World

_LINKS = {"cpu": 1 << 15, "cuda": 1 << 19}
"""Links that are looked at together: their embeddings are all in memory."""

_AHEAD = 8
"""Unrolls for which episodes are in store, even if every step ended one."""


@dataclass(frozen=True, kw_only=True)
class ImpalaConfig(LoopConfig):
    """How a policy learns from reward; the defaults are the paper's (app. B.2)."""

    head: HeadConfig = field(default_factory=lambda: HeadConfig(head="feedforward"))
    steps: Count = 20
    """T of the episodes."""
    multistep: bool = False
    """Episodes of Uniform(1, T) steps instead of T."""
    budget: Count = 100
    """B: after so many steps an episode is cut off."""
    batch: Count = 512
    """Episodes side by side."""
    unroll: Count = 100
    """Steps of each between two updates."""
    updates: Count = 50_000
    discount: Share = 0.9
    """gamma; the paper tries 0.8 and 0.9."""
    entropy_cost: NotNegative = 0.01
    """The paper tries 0.1, 0.01 and 0.001."""
    baseline_cost: NotNegative = 0.5
    rho_bound: Annotated[float, at_least(0)] = 1.0
    c_bound: Annotated[float, at_least(0)] = 1.0
    refresh: Count = 1
    """Updates between two times that the actors take the learner's weights; 1: they always have them."""
    value_hidden: CountOrNone = 0
    """Width of a layer within the value network; 0: none, as in the paper."""
    learning_rate: NotNegative = 0.01
    schedule: Schedule = "constant"
    weight_decay: NotNegative = 0.0
    decay: Share = 0.9
    """Of RMSProp's mean square."""
    epsilon: NotNegative = 1e-10
    """Of RMSProp, under the root, as in JAX."""

    def __post_init__(self) -> None:
        """Refuse a head that remembers its walk."""
        super().__post_init__()
        if self.head.head == "transformer":
            raise InputError(
                "reward is for a head that looks at its page alone, not for a transformer over the trajectory: choose "
                "head.head=feedforward"
            )


class Value(nn.Module):
    """How much reward is still to come on the way from a page to a goal (app. B.2).

    The paper's network is one linear layer on [phi(s_t), phi(s_g)]; with ``hidden``, a layer between, which sees
    products. It begins at zero: nothing is expected before anything was reached.
    """

    def __init__(self, width: int, hidden: int = 0) -> None:
        super().__init__()
        self.inner = nn.Linear(3 * width, hidden) if hidden else None
        self.outer = nn.Linear(hidden or 2 * width, 1)
        nn.init.zeros_(self.outer.weight)
        nn.init.zeros_(self.outer.bias)

    def forward(self, current: Tensor, goal: Tensor) -> Tensor:
        """V [...] of pages and goals [..., D]."""
        if self.inner is None:
            seen = torch.cat((current, goal), -1)
        else:
            a, b = (normalize(x, dim=-1) for x in (current, goal))
            scale = current.shape[-1] ** 0.5  # products of unit vectors are small
            seen = torch.relu(self.inner(torch.cat((a, b, scale * a * b), -1)))
        value: Tensor = self.outer(seen)
        return value.squeeze(-1)


@dataclass(eq=False)
class Impala(Training[ImpalaConfig]):
    """A policy and a value network that learn from the reward of the policy's own episodes."""

    clip = 0.0
    world: "World"
    vectors: Tensor
    start: nn.Module | None = None
    """A policy to go on from."""

    def begin(self) -> None:
        """Begin with the first episodes."""
        # Their package makes itself known to Gymnasium, which who reads settings has no use for.
        from linkwalk.envs.on_torch import NavigationOnDevice
        from linkwalk.envs.world import Rules

        config, device = self.config, self.vectors.device
        self.head = build_head(config.head).to(device)
        if self.start is not None:
            self.head.load_state_dict(self.start.state_dict())
        self.head.eval()  # what a compass hides in cloning it would hide from its own walks
        self.value = Value(config.head.width, config.value_hidden).to(device)
        self.model = nn.ModuleDict({"policy": self.head, "value": self.value})
        self.actor = self.head
        if config.refresh > 1:
            self.actor = build_head(config.head).to(device).eval()
            self.actor.load_state_dict(self.head.state_dict())
        task = TaskConfig(task="multistep" if config.multistep else "navigation", steps=config.steps)
        rules = Rules(task=task, budget=config.budget)
        environment = NavigationOnDevice(
            self.world, rules, config.batch, device=device, autoreset=False, store=_AHEAD * config.unroll
        )
        environment.seeded(int(self.rng.integers(1 << 63)))
        environment.reset()
        self.actors = Actors(environment, self.vectors)
        self.told = _Tally(device)
        self._recorded: RecordedUpdate | None = None

    def improve(self, update: int, optimiser: torch.optim.Optimizer) -> Tensor:
        """An update as any other's; on a GPU one that is recorded, where it is the same one every time."""
        if not self._repeats:
            return super().improve(update, optimiser)
        if self._recorded is None:
            self._recorded = RecordedUpdate(lambda: super(Impala, self).improve(update, optimiser))
        self.actors.environment.stock(self.config.unroll)
        with _quick_products():
            return self._recorded()

    @property
    def _repeats(self) -> bool:
        """Whether nothing but tensors changes from one update to the next."""
        config = self.config
        own = self.actor is self.head and config.schedule == "constant" and not config.warmup
        return own and ranks().count == 1 and self.vectors.is_cuda and self.actors.at_once(self.head)

    def pieces(self, update: int) -> Iterator[Tensor]:
        """The loss of a fresh unroll, so many links at a time."""
        config = self.config
        if config.refresh > 1 and (update - 1) % config.refresh == 0:
            self.actor.load_state_dict(self.head.state_dict())
        unroll = self.actors.act(self.actor, config.unroll)
        targets, baseline = self._aims(unroll)
        yield config.baseline_cost * baseline
        entropy = torch.zeros((), device=baseline.device)
        for part in self._parts(unroll):
            log_pi, spread = self._look_back(unroll, part)
            advantage = targets.advantage.flatten()[part]
            yield -(advantage * log_pi + config.entropy_cost * spread).sum() / unroll.action.numel()
            entropy += spread.detach().sum() / unroll.action.numel()
        self.told.add(unroll, targets, entropy, baseline.detach())

    def _aims(self, unroll: Unroll) -> tuple[Targets, Tensor]:
        """What V-trace says of an unroll, and how far the value network is from it, squared and halved."""
        goal = self.vectors[unroll.goal].float()
        value = self.value(self.vectors[unroll.current].float(), goal)
        with torch.no_grad():
            following = self.value(self.vectors[unroll.landed].float(), goal)
            ratio = torch.zeros_like(unroll.log_mu)
            if self.actor is not self.head:
                now = [self._look_back(unroll, part).log_pi for part in self._parts(unroll)]
                ratio = torch.cat(now).view_as(unroll.log_mu) - unroll.log_mu
        steps = Steps(ratio, unroll.reward, value.detach(), following, unroll.terminated, unroll.truncated)
        config = self.config
        targets = vtrace(steps, discount=config.discount, rho_bound=config.rho_bound, c_bound=config.c_bound)
        return targets, 0.5 * (targets.value - value).square().mean()

    def _parts(self, unroll: Unroll) -> list[slice]:
        """Steps that are looked at together: all, or where their links' embeddings are in memory not too many."""
        if sees_at_once(self.head, self.vectors.device):
            return [slice(0, unroll.action.numel())]
        most = _LINKS["cuda" if self.vectors.is_cuda else "cpu"]
        links = self.actors.environment.graph.bounds(unroll.current.flatten())[1]
        piece = ((links.cumsum(0) - 1) // most).cpu().numpy()
        cuts = [0, *(np.flatnonzero(np.diff(piece)) + 1).tolist(), len(piece)]
        return [slice(a, b) for a, b in pairwise(cuts)]

    def _look_back(self, unroll: Unroll, part: slice) -> Hindsight:
        graph, action = self.actors.environment.graph, unroll.action.flatten()[part]
        return look_back(self.head, self.vectors, graph, unroll.places(part), action)

    def row(self) -> dict[str, float]:
        """What came of the episodes that ended since the last row."""
        return self.told.row()

    def weights(self) -> dict[str, Tensor]:
        """Of both networks, and the actors' where they are others."""
        found: dict[str, Tensor] = self.model.state_dict()
        if self.actor is not self.head:
            found |= {f"actor.{name}": value for name, value in self.actor.state_dict().items()}
        return found

    def optimiser(self) -> torch.optim.Optimizer:
        """The paper's RMSProp."""
        return RmsProp.of(self.config, self.parameters())

    def memory(self) -> dict[str, Any]:
        """Where every episode stands, and what has not been told yet."""
        return {"episodes": self.actors.environment.to_json(), "told": self.told.sums.tolist()}

    def remember(self, memory: dict[str, Any]) -> None:
        """Go on from there."""
        self.actors.environment.from_json(memory["episodes"])
        self.told.sums = torch.tensor(memory["told"], device=self.told.sums.device, dtype=torch.float64)


@contextmanager
def _quick_products() -> Iterator[None]:
    """Matrix products by tensor cores, in which a number has ten bits of its fraction: plenty for a gradient."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


class _Tally:
    """Sums over the updates since the last row, on the device: a look at them waits for it."""

    def __init__(self, device: torch.device) -> None:
        self.sums = torch.zeros(8, dtype=torch.float64, device=device)

    @torch.no_grad()
    def add(self, unroll: Unroll, targets: Targets, entropy: Tensor, baseline: Tensor) -> None:
        """Count an unroll."""
        ended = unroll.terminated | unroll.truncated
        found = (
            torch.ones_like(entropy),
            entropy,
            baseline,
            targets.clipped.float().mean(),
            targets.advantage.abs().mean(),
            unroll.reward.sum(),
            ended.sum(),
            ((unroll.steps + 1) * ended).sum(),
        )
        self.sums += torch.stack([x.double() for x in found])

    def row(self) -> dict[str, float]:
        """Means, and a fresh start."""
        updates, entropy, baseline, clipped, advantage, reward, episodes, steps = self.sums.tolist()
        self.sums.zero_()
        updates, ended = max(updates, 1), max(episodes, 1)
        return {
            "reward": reward / ended,
            "episodes": int(episodes),
            "episode_steps": steps / ended,
            "entropy": entropy / updates,
            "value_loss": baseline / updates,
            "advantage": advantage / updates,
            "clipped": clipped / updates,
        }


def reinforce(
    world: "World",
    vectors: Array,
    config: ImpalaConfig,
    *,
    start: nn.Module | None = None,
    device: str = "cpu",
    **run: Unpack[RunOptions],
) -> nn.Module:
    """Train a policy by reward on one graph; ``start`` is a policy to go on from, else it knows nothing."""
    config.head.check_width(vectors.shape[1])
    table = NodeTable.of(vectors, device)
    with seeded(config.seed, device):
        training = Impala(config, world, table.vectors, start)
        if trajectory_of(training.head) is not None:
            raise InputError("a policy that remembers its walk cannot be trained by reward")
        train(training, **run)
    return training.head.eval()
