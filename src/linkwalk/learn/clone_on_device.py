"""Behavioural cloning that never leaves the GPU: a whole update is recorded once and replayed (sec. 3, app. B.2).

The updates of ``linkwalk.learn.clone`` for the paper's feed-forward head: the same walks, the same dropout, the same
loss, of the same seed. On a CPU, or without Triton, the same updates are plain torch.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from linkwalk.errors import InputError
from linkwalk.gpu.decisions import EdgeDropout, imitation, share_of_goal, states
from linkwalk.gpu.recording import RecordedUpdate
from linkwalk.gpu.walks import DeviceGraph, WalksOnDevice, runs_kernels
from linkwalk.policy.heads import FeedForward


@dataclass(frozen=True, kw_only=True)
class DeviceCloneConfig:
    """What an update is made of; a head, its optimiser and a sampler are given apart."""

    batch: int = 512
    """Walks in a batch."""
    updates: int = 50_000
    edge_dropout: float = 0.5
    seed: int = 0


class CloneOnDevice:
    """A head in training on one graph whose tensors, ``vectors`` [N, D] among them, are all on one device.

    The optimiser must compute on the device alone, at a rate that stays: the paper's RMSProp does.
    """

    def __init__(
        self,
        head: FeedForward,
        optimiser: torch.optim.Optimizer,
        forward: DeviceGraph,
        walks: WalksOnDevice,
        vectors: Tensor,
        config: DeviceCloneConfig,
    ) -> None:
        if not 0 <= config.edge_dropout <= 1:
            raise InputError(f"edge dropout of {config.edge_dropout} is no probability: choose 0 to 1")
        self.head, self.optimiser, self.config = head, optimiser, config
        self.forward, self.walks, self.vectors = forward, walks, vectors
        self.device = vectors.device
        # All chance of the training: the seeds that the loop on a CPU takes from its generator, one update after
        # another, those of the walks first and then, where links are hidden, those of the dropout.
        kinds = 2 if config.edge_dropout else 1
        rng = np.random.default_rng(config.seed)
        seeds = rng.integers(1 << 64, size=(config.updates, kinds), dtype=np.uint64).view(np.int64)
        self._seeds = torch.from_numpy(seeds).to(self.device)
        self._done = torch.zeros(1, dtype=torch.int64, device=self.device)
        self.metrics = torch.zeros((config.updates, 2), device=self.device)
        """Loss and accuracy of every update [U, 2], on the device; zero for those not done yet."""
        self.update = 0
        """How many updates were done, as the host knows."""
        self._recorded = RecordedUpdate(self._do)

    def run(self, updates: int | None = None) -> None:
        """Do that many further updates, or all that are left; returns before the device is through with them."""
        left = self.config.updates - self.update
        wanted = left if updates is None else updates
        if wanted > left:
            raise InputError(f"{wanted} updates asked for, but {left} of {self.config.updates} are left")
        for _ in range(wanted):
            self._next()
            self.update += 1

    def rows(self, *, every: int = 50) -> Iterator[dict[str, float]]:
        """Of the first, every so many and the last update done: update, loss, accuracy. Waits for the device."""
        for update, (loss, accuracy) in enumerate(self.metrics[: self.update].tolist(), 1):
            if update % every == 0 or update in (1, self.update):
                yield {"update": update, "loss": loss, "accuracy": accuracy}

    def _next(self) -> None:
        if self.device.type != "cuda" or not runs_kernels(self.device):
            self._do()  # ragged rows have no shape that could be recorded
        else:
            self._recorded()

    def _do(self) -> Tensor:
        """One update; its loss."""
        seeds = self._seeds[self._done][0]
        nodes, lengths = self.walks.draw(self.config.batch, seeds[:1])
        with torch.no_grad():
            goals = nodes.gather(1, lengths[:, None].long())[:, 0]
            current, goal = self.vectors[nodes[:, :-1]].float(), self.vectors[goals].float()
        state = states(self.head, current, share_of_goal(self.head, goal)[:, None])
        dropout = EdgeDropout(seeds[-1:], self.config.edge_dropout)
        loss, accuracy = imitation(state, self.vectors, self.forward, nodes, lengths, dropout)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        with torch.no_grad():
            self.metrics[self._done] = torch.stack((loss.detach(), accuracy))
            self._done += 1
        return loss.detach()
