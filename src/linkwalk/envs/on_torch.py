"""The environment on a GPU, or any device of torch's: what is seen stays there, and no step waits for the host.

Does as ``Navigation`` on a CPU, with the same episodes for the same seeds. Episodes are drawn ahead: every environment
has a few in store, and what was taken is replaced once in so many steps, which is when the host is waited for.

Shapes: B episodes, A links padded, T the budget of steps, K episodes in store.
"""

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from linkwalk.envs.world import ATTEMPTS, EpisodeBatch, Observation, Rules, StepResult, World, none_found
from linkwalk.errors import InputError
from linkwalk.gpu.walks import DeviceGraph, WalksOnDevice, key_of

_STORE = 32
_KEPT = ("goal", "steps", "taken", "terminated", "truncated")


class NavigationOnDevice(EpisodeBatch):
    """On a device of torch's; tensors that are returned are new ones at each call."""

    def __init__(
        self,
        world: World,
        rules: Rules,
        count: int,
        *,
        device: torch.device | str,
        autoreset: bool = True,
        store: int = _STORE,
    ) -> None:
        super().__init__(world, rules, count, autoreset=autoreset)
        self.store, self.device = store, torch.device(device)
        self.graph = DeviceGraph.of(world.forward, world.kinds, device=device)
        reverse, multistep = rules.task.sampling == "reverse", rules.task.task == "multistep"
        walked = DeviceGraph.of(world.reverse, device=device) if reverse else self.graph
        self._walks = WalksOnDevice(walked, steps=rules.task.steps, multistep=multistep, reverse=reverse)
        self.table = None if world.table is None else _with_zeros(world.table, self.device)
        """Embeddings [N + 1, D] in half precision; the last row is zeros, so that it is that of link -1."""

        full = partial(torch.full, device=device)
        self._rows = torch.arange(count, device=device)
        self._places = torch.arange(self.links, device=device)
        self._seeds, self.taken, self.steps, self._depth = (
            full((count,), 0, dtype=torch.int64) for _ in range(4)
        )
        self._stored = full((count, store), -1, dtype=torch.int64)
        self._store = full((count, store, 2), 0, dtype=torch.int32)
        self._calls = self._sure = 0

        self.current, self.goal = (full((count,), 0, dtype=torch.int32) for _ in range(2))
        self.path = full((count, rules.budget + 1), -1, dtype=torch.int32)
        self._trail = self.path.clone() if rules.back else None
        self.terminated = full((count,), True, dtype=torch.bool)
        """Whether the goal is reached, or a page without a way out [B]."""
        self.truncated = torch.zeros_like(self.terminated)
        """Whether the budget is spent [B]."""

    def seeded(self, seed: int) -> None:
        """Give every environment a seed, ``seed + b`` to the one of number ``b``, and let it count from 0."""
        low = torch.from_numpy(np.array([seed % (1 << 64)], np.uint64).view(np.int64)).to(self.device)
        self._seeds = low + self._rows
        self.taken.zero_()
        self._forget_stock()

    def reset(
        self, *, which: Tensor | None = None, starts: Tensor | None = None, goals: Tensor | None = None
    ) -> Observation:
        """Begin the next episodes of ``which`` [B] environments, or episodes with given starts and goals [B]."""
        which = torch.ones_like(self.terminated) if which is None else which
        if starts is None or goals is None:
            starts, goals = self._next(which)
        else:
            self.world.check_ends(starts[which].cpu().numpy(), goals[which].cpu().numpy())
        self._begin(which, starts, goals)
        return self._look()

    def step(self, actions: Tensor) -> StepResult:
        """Click, in every episode; B legal actions, or what is illegal takes a step and leads nowhere."""
        over = self.ended
        reward, illegal = self.move(actions)
        if self.autoreset:
            self._begin(over, *self._next(over))
        return StepResult(self._look(), reward, self.terminated, self.truncated, illegal)

    def move(self, actions: Tensor) -> tuple[Tensor, Tensor]:
        """The same for who looks for itself, where an episode that has ended stands still; reward and illegal [B]."""
        going = ~self.ended
        first, degree = self.graph.bounds(self.current)
        clicks = (actions >= 0) & (actions < degree) & going
        link = torch.where(clicks, first + actions, 0)
        target = torch.where(clicks, self.graph.indices[link], self.current)
        legal = clicks
        if self._trail is not None:
            presses = (actions == self.links) & (self._depth > 0) & going
            before = self._trail[self._rows, (self._depth - 1).clamp(min=0)]
            target = torch.where(presses, before, target)
            at = self._depth.clamp(max=self.rules.budget)
            self._trail[self._rows, at] = torch.where(clicks, self.current, self._trail[self._rows, at])
            self._depth += clicks.long() - presses.long()
            legal = clicks | presses
        self.steps = self.steps + going
        self.current = target
        self.path[self._rows, self.steps] = torch.where(going, target, self.path[self._rows, self.steps])

        reached = target == self.goal
        ended = reached | ((self.graph.bounds(target)[1] == 0) & (self._depth == 0))
        reward = torch.where(going, reached.float() - self.rules.step_cost, 0.0)
        self.terminated = torch.where(going, ended, self.terminated)
        self.truncated = torch.where(going, ~ended & (self.steps >= self.rules.budget), self.truncated)
        return reward, ~legal & going

    def renew(self) -> None:
        """Begin the next episode wherever one has ended."""
        self._begin(self.ended, *self._next(self.ended))

    def stock(self, steps: int) -> Tensor:
        """The next K episodes of every environment [B, K, 2], number n at place n % K: those from ``taken`` [B] on.

        They are enough for so many steps of who moves ``taken`` on; what was taken is replaced only when it must be.
        """
        if self._sure < steps:
            self._fill()
            self._sure = self.store
        self._sure -= steps
        found: Tensor = self._store
        return found

    @property
    def ended(self) -> Tensor:
        """Either [B]."""
        return self.terminated | self.truncated

    def to_json(self) -> dict[str, Any]:
        """Where every episode stands, for who goes on another day (``seeded`` with the same seed, then this)."""
        found = {name: getattr(self, name).tolist() for name in _KEPT}
        pairs = zip(self.path.tolist(), found["steps"], strict=True)
        return found | {"paths": [path[: steps + 1] for path, steps in pairs]}

    def from_json(self, found: dict[str, Any]) -> None:
        """Stand there again; the back button has forgotten where it leads."""
        for name in _KEPT:
            setattr(
                self, name, torch.tensor(found[name], dtype=getattr(self, name).dtype, device=self.device)
            )
        padded = [path + [-1] * (self.rules.budget + 1 - len(path)) for path in found["paths"]]
        self.path = torch.tensor(padded, dtype=torch.int32, device=self.device)
        self.current = self.path[self._rows, self.steps]
        self._depth.zero_()
        self._forget_stock()

    def look_up(self, nodes: Tensor) -> Tensor:
        """Embeddings of pages of any shape, in half precision; zeros where there is none (-1)."""
        if self.table is None:
            raise InputError("the world was opened without embeddings: open it with some")
        return self.table[nodes]

    def _begin(self, which: Tensor, starts: Tensor, goals: Tensor) -> None:
        self.current = torch.where(which, starts, self.current)
        self.goal = torch.where(which, goals, self.goal)
        self.steps = torch.where(which, 0, self.steps)
        self._depth = torch.where(which, 0, self._depth)
        self.path.masked_fill_(which[:, None], -1)
        self.path[:, 0] = torch.where(which, starts, self.path[:, 0])
        self.terminated = self.terminated & ~which
        self.truncated = self.truncated & ~which

    def _look(self) -> Observation:
        first, degree = self.graph.bounds(self.current)
        there = self._places < degree[:, None]
        link = torch.where(there, first[:, None] + self._places, 0)
        links = torch.where(there, self.graph.indices[link], -1)
        kinds = torch.where(there, self.graph.kinds[link], 0)
        been = torch.where(self.path < 0, -2, self.path)  # nobody has been behind the last link, which is -1
        visited = (links[:, :, None] == been[:, None, :]).any(-1)
        mask = there
        if self._trail is not None:
            mask = torch.cat((there, (self._depth > 0)[:, None]), 1)
        return Observation(self.current, self.goal, links, kinds, visited.to(torch.int8), mask.to(torch.int8))

    def _next(self, which: Tensor) -> tuple[Tensor, Tensor]:
        """The next episodes of some environments [B], which are in store; a call takes at most one of each."""
        self._sure = 0
        if self._calls % self.store == 0:
            self._fill()
        self._calls += 1
        pair = self._store[self._rows, self.taken % self.store]
        self.taken = self.taken + which
        return pair[:, 0], pair[:, 1]

    def _forget_stock(self) -> None:
        self._stored.fill_(-1)
        self._calls = self._sure = 0

    def _fill(self) -> None:
        """Draw what is missing of the next K episodes of every environment."""
        ahead = torch.arange(self.store, device=self.device)
        # Their numbers, by their places in the store.
        wanted = self.taken[:, None] + (ahead - self.taken[:, None]) % self.store
        b, place = torch.nonzero(self._stored != wanted, as_tuple=True)
        seeds, numbers = self._seeds[b], wanted[b, place]
        left = torch.arange(len(b), device=self.device)
        for attempt in range(ATTEMPTS):
            starts, goals = self._walks.between(key_of(seeds[left], numbers[left], attempt))
            self._store[b[left], place[left]] = torch.stack((starts, goals), -1)
            left = left[starts == goals]
            if not len(left):
                break
        else:
            raise none_found(self.rules.task.steps)
        self._stored.copy_(wanted)


def _with_zeros(table: np.ndarray, device: torch.device) -> Tensor:
    """The table on a device, with a row of zeros behind the last."""
    rows = torch.zeros((len(table) + 1, table.shape[1]), dtype=torch.float16, device=device)
    step = 1 << 16
    for at in range(0, len(table), step):  # in pieces: it is mapped
        rows[at : at + step][: len(table) - at] = torch.from_numpy(np.array(table[at : at + step])).to(device)
    return rows
