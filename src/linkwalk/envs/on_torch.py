"""The environment on a GPU, or any device of torch's: what is seen stays there, and no step waits for the host.

Does as ``Navigation`` on a CPU, with the same episodes for the same seeds. Episodes are drawn ahead: every environment
has a few in store, and what was taken is replaced once in so many steps, which is when the host is waited for.

Shapes: B episodes, A links padded, T the budget of steps, K episodes in store.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from linkwalk.envs.drawn import ATTEMPTS, none_found
from linkwalk.envs.rules import Rules
from linkwalk.envs.seen import Seen, Stepped
from linkwalk.envs.world import World
from linkwalk.errors import InputError
from linkwalk.gpu.walks import DeviceGraph, WalksOnDevice, key_of

_STORE = 32


class NavigationOnDevice:
    """B episodes that step together on a device; tensors that are returned are new ones at each call.

    An episode that has ended begins anew at the next step, whose action is ignored (Gymnasium's next-step mode), unless
    ``autoreset`` is off: then it stands still until it is reset.
    """

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
        if count < 1:
            raise InputError(f"{count} environments take no step: choose 1 or more")
        self.world, self.rules, self.count, self.autoreset = world, rules, count, autoreset
        self.store = store
        self.device, self.links = torch.device(device), world.most_links
        self.actions = self.links + rules.back
        self.graph = DeviceGraph.of(world.forward, world.kinds, device=device)
        reverse, multistep = rules.task.sampling == "reverse", rules.task.task == "multistep"
        walked = DeviceGraph.of(world.reverse, device=device) if reverse else self.graph
        self._walks = WalksOnDevice(walked, steps=rules.task.steps, multistep=multistep, reverse=reverse)
        self.table = None if world.table is None else _with_zeros(world.table, self.device)
        """Embeddings [N + 1, D] in half precision; the last row is zeros, so that it is that of link -1."""

        self._rows = torch.arange(count, device=device)
        self._places = torch.arange(self.links, device=device)
        whole = {"dtype": torch.int32, "device": device}
        self._seeds = torch.zeros(count, dtype=torch.int64, device=device)
        self.taken = torch.zeros(count, dtype=torch.int64, device=device)
        self._stored = torch.full((count, store), -1, dtype=torch.int64, device=device)
        self._store = torch.zeros((count, store, 2), **whole)  # type: ignore[call-overload]
        self._calls = self._sure = 0

        self.current, self.goal = (torch.zeros(count, **whole) for _ in range(2))  # type: ignore[call-overload]
        self.steps, self._depth = (torch.zeros(count, dtype=torch.int64, device=device) for _ in range(2))
        self.path = torch.full((count, rules.budget + 1), -1, **whole)  # type: ignore[call-overload]
        self._trail = self.path.clone() if rules.back else None
        self._terminated = torch.ones(count, dtype=torch.bool, device=device)
        self._truncated = torch.zeros_like(self._terminated)

    def seeded(self, seed: int) -> None:
        """Give every environment a seed, ``seed + b`` to the one of number ``b``, and let it count from 0."""
        low = torch.from_numpy(np.array([seed % (1 << 64)], np.uint64).view(np.int64)).to(self.device)
        self._seeds = low + self._rows
        self.taken.zero_()
        self._stored.fill_(-1)
        self._calls = self._sure = 0

    def reset(
        self, *, which: Tensor | None = None, starts: Tensor | None = None, goals: Tensor | None = None
    ) -> Seen:
        """Begin the next episodes of ``which`` [B] environments, or episodes with given starts and goals [B]."""
        which = torch.ones_like(self._terminated) if which is None else which
        if starts is None or goals is None:
            starts, goals = self._next(which)
        else:
            self.world.check_ends(starts[which].cpu().numpy(), goals[which].cpu().numpy())
        self._begin(which, starts, goals)
        return self._look()

    def step(self, actions: Tensor) -> Stepped:
        """Click, in every episode; B legal actions, or what is illegal takes a step and leads nowhere."""
        over = self._terminated | self._truncated
        reward, illegal = self.move(actions)
        if self.autoreset:
            self._begin(over, *self._next(over))
        return Stepped(self._look(), reward, self._terminated, self._truncated, illegal)

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
        self._terminated = torch.where(going, ended, self._terminated)
        self._truncated = torch.where(going, ~ended & (self.steps >= self.rules.budget), self._truncated)
        return reward, ~legal & going

    def renew(self) -> None:
        """Begin the next episode wherever one has ended."""
        over = self.ended
        self._begin(over, *self._next(over))

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
    def terminated(self) -> Tensor:
        """Whether the goal is reached, or a page without a way out [B]."""
        return self._terminated

    @property
    def truncated(self) -> Tensor:
        """Whether the budget is spent [B]."""
        return self._truncated

    @property
    def ended(self) -> Tensor:
        """Either [B]."""
        return self._terminated | self._truncated

    def to_json(self) -> dict[str, Any]:
        """Where every episode stands, for who goes on another day (``seeded`` with the same seed, then this)."""
        columns = {name: getattr(self, name).tolist() for name in ("goal", "steps")}
        paths = [path[: steps + 1] for path, steps in zip(self.path.tolist(), columns["steps"], strict=True)]
        ended = {"terminated": self._terminated.tolist(), "truncated": self._truncated.tolist()}
        return {**columns, "paths": paths, "taken": self.taken.tolist(), **ended}

    def from_json(self, found: dict[str, Any]) -> None:
        """Stand there again; the back button has forgotten where it leads."""
        device = self.device
        self.goal = torch.tensor(found["goal"], dtype=torch.int32, device=device)
        self.steps, self.taken = (torch.tensor(found[name], device=device) for name in ("steps", "taken"))
        padded = [path + [-1] * (self.rules.budget + 1 - len(path)) for path in found["paths"]]
        self.path = torch.tensor(padded, dtype=torch.int32, device=device)
        self.current = self.path[self._rows, self.steps]
        self._terminated = torch.tensor(found["terminated"], device=device)
        self._truncated = torch.tensor(found["truncated"], device=device)
        self._depth.zero_()
        self._stored.fill_(-1)
        self._calls = self._sure = 0

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
        self._terminated = self._terminated & ~which
        self._truncated = self._truncated & ~which

    def _look(self) -> Seen:
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
        return Seen(self.current, self.goal, links, kinds, visited.to(torch.int8), mask.to(torch.int8))

    def _next(self, which: Tensor) -> tuple[Tensor, Tensor]:
        """The next episodes of some environments [B], which are in store; a call takes at most one of each."""
        self._sure = 0
        if self._calls % self.store == 0:
            self._fill()
        self._calls += 1
        pair = self._store[self._rows, self.taken % self.store]
        self.taken = self.taken + which
        return pair[:, 0], pair[:, 1]

    def _fill(self) -> None:
        """Draw what is missing of the next K episodes of every environment."""
        ahead = torch.arange(self.store, device=self.device)
        wanted = (
            self.taken[:, None] + (ahead - self.taken[:, None]) % self.store
        )  # by their places in the store
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
