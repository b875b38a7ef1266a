"""The updates of the cloning loop, recorded once and replayed on a GPU: the same training in a fraction of the time.

Walks, dropout and optimiser are those of ``linkwalk.learn.clone`` for the same seed; only sums are rounded otherwise.
"""

import time
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray
from torch import nn

from linkwalk.errors import InputError
from linkwalk.gpu.walks import DeviceGraph, WalksOnDevice
from linkwalk.graph.store import Graph
from linkwalk.learn.clone import CloneConfig, Cloning
from linkwalk.learn.clone_on_device import CloneOnDevice, DeviceCloneConfig
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
    graph: Graph,
    vectors: NDArray[Any],
    config: CloneConfig,
    *,
    device: str,
    folder: Path,
    progress: Progress,
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
    trainer = CloneOnDevice(
        head,
        build_optimiser(config, head),
        forward,
        WalksOnDevice(walked, steps=config.steps, multistep=config.multistep, reverse=back),
        torch.tensor(vectors, device=device),
        DeviceCloneConfig(
            batch=config.batch, updates=config.updates, edge_dropout=config.edge_dropout, seed=config.seed
        ),
    )
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
