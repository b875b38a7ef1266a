"""Behavioural cloning that never leaves the GPU: a whole update is recorded once and replayed (sec. 3, app. B.2).

The updates of ``linkwalk.learn.clone`` for the paper's feed-forward head: the same walks, the same dropout, the same
loss, of the same seed; only sums are rounded otherwise. It takes a fraction of the time.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn

from linkwalk.arrays import Array
from linkwalk.errors import InputError
from linkwalk.gpu.decisions import EdgeDropout, imitation, share_of_goal, states
from linkwalk.gpu.recording import RecordedUpdate
from linkwalk.gpu.walks import DeviceGraph, WalksOnDevice, runs_kernels
from linkwalk.graph.store import Graph
from linkwalk.learn.clone import CloneConfig, Cloning
from linkwalk.learn.metrics import Metrics
from linkwalk.learn.optimise import build_optimiser
from linkwalk.policy.heads import FeedForward, build_head
from linkwalk.progress import Progress

_PIECE = 500


def recordable(config: CloneConfig) -> bool:
    """Whether the trainer on a device knows all that a configuration asks for: the paper's, on walks of its own."""
    return (
        config.head.head == "feedforward"
        and config.head.visited
        and config.walks in ("forward", "reverse")
        and config.optimiser == "rmsprop"
        and config.schedule == "constant"
        and not config.warmup
        and not config.validation
    )


def clone_recorded(
    graph: Graph, vectors: Array, config: CloneConfig, *, device: str, folder: Path, progress: Progress
) -> nn.Module:
    """Train the paper's head on one graph; metrics go to ``folder``. Nothing is saved on the way: it takes a minute."""
    with torch.random.fork_rng():
        torch.manual_seed(config.seed)
        head = build_head(config.head).to(device)
    if not isinstance(head, FeedForward):
        raise InputError(
            f"a head {config.head.head!r} is not trained by recorded updates: choose feedforward"
        )
    forward = DeviceGraph.of(graph.forward, graph.out_kinds, device=device)
    back = config.walks == "reverse"
    walked = DeviceGraph.of(graph.reverse, device=device) if back else forward
    walks = WalksOnDevice(walked, steps=config.steps, multistep=config.multistep, reverse=back)
    table = torch.tensor(vectors, device=device)
    trainer = CloneOnDevice(head, build_optimiser(config, head), forward, walks, table, config)
    folder.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    with progress.stage("train", config.updates, "updates") as stage:
        while trainer.update < config.updates:
            trainer.run(min(_PIECE, config.updates - trainer.update))
            trainer.metrics[trainer.update - 1].tolist()  # waits for the device
            stage.update(trainer.update)
    seconds = time.monotonic() - started
    with Metrics(folder) as metrics:
        for row in trainer.rows(every=Cloning.log_every):
            share = row["update"] / config.updates
            metrics.write({**row, "update": int(row["update"]), "seconds": round(seconds * share, 3)})
    if not torch.isfinite(trainer.metrics[-1]).all():
        raise InputError("the loss is no longer a number: lower the learning rate")
    return head.eval()


@dataclass(eq=False)
class CloneOnDevice:
    """A head in training on one graph whose tensors, ``vectors`` [N, D] among them, are all on one device.

    The optimiser must compute on the device alone, at a rate that stays: the paper's RMSProp does. Of the configuration
    the batch, the updates, the edge dropout and the seed count.
    """

    head: FeedForward
    optimiser: torch.optim.Optimizer
    forward: DeviceGraph
    walks: WalksOnDevice
    vectors: Tensor
    config: CloneConfig
    update: int = 0
    """How many updates were done, as the host knows."""

    def __post_init__(self) -> None:
        """Draw all chance of the training.

        It is the seeds that the loop on a CPU takes from its generator, one update after another, those of the walks
        first and then, where links are hidden, those of the dropout.
        """
        config, device = self.config, self.vectors.device
        shape = (config.updates, 2 if config.edge_dropout else 1)
        seeds = default_rng(config.seed).integers(1 << 64, size=shape, dtype=np.uint64)
        self._seeds = torch.from_numpy(seeds.view(np.int64)).to(device)
        self._done = torch.zeros(1, dtype=torch.int64, device=device)
        self.metrics = torch.zeros((config.updates, 2), device=device)
        """Loss and accuracy of every update [U, 2], on the device; zero for those not done yet."""
        # Elsewhere ragged rows have no shape that could be recorded.
        records = device.type == "cuda" and runs_kernels(device)
        self._next = RecordedUpdate(self._do) if records else self._do

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
