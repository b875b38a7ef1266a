"""Several processes that train together, as torchrun starts them: each follows back its part of every batch.

All draw the same walks from the same seed, each takes its own decisions among them, and gradients and losses are
averaged: what comes of it is, but for the order of sums, what one process makes of the whole batch. The first of them
writes; what it has saved any number of processes go on from.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import torch
from torch import Tensor, distributed, nn

from linkwalk.arrays import Int64s
from linkwalk.policy.decisions import Decisions, some

_PATIENCE = timedelta(hours=2)
"""How long the others wait while one embeds or looks at what is held out."""


@dataclass(frozen=True)
class Ranks:
    """Which of how many processes this is."""

    number: int = 0
    count: int = 1

    @property
    def first(self) -> bool:
        """Whether it is the one that writes."""
        return self.number == 0

    def part(self, size: int) -> tuple[Int64s, float]:
        """Which of so many things are this process's, and what their mean weighs in the mean over processes."""
        own = np.array_split(np.arange(size), self.count)[self.number]
        return (own, len(own) * self.count / size) if len(own) else (np.zeros(1, np.int64), 0.0)

    def of(self, decisions: Decisions) -> tuple[Decisions, float]:
        """The decisions of this process, and what their mean weighs."""
        if self.count == 1:
            return decisions, 1.0
        own, weight = self.part(len(decisions.current))
        return some(decisions, own), weight

    def average(self, weights: Sequence[nn.Parameter], loss: Tensor) -> Tensor:
        """Average the gradients of all processes, and their loss."""
        if self.count == 1:
            return loss
        grads = [w.grad if w.grad is not None else torch.zeros_like(w) for w in weights]
        whole = torch.cat([*(grad.reshape(-1) for grad in grads), loss.reshape(1).to(grads[0])])
        distributed.all_reduce(whole)
        whole /= self.count
        at = 0
        for weight in weights:
            weight.grad = whole[at : at + weight.numel()].view_as(weight).clone()
            at += weight.numel()
        return whole[-1]

    def any(self, asked: bool, device: torch.device) -> bool:
        """Whether any of the processes is asked to stop."""
        if self.count == 1:
            return asked
        told = torch.tensor([float(asked)], device=device)
        distributed.all_reduce(told)
        return bool(told.item())

    def wait(self) -> None:
        """Until all are here."""
        if self.count > 1:
            distributed.barrier()


def ranks() -> Ranks:
    """Those of this process; where nobody has joined others, it is the only one."""
    if not (distributed.is_available() and distributed.is_initialized()):
        return Ranks()
    return Ranks(distributed.get_rank(), distributed.get_world_size())


@contextmanager
def joined(device: str) -> Iterator[tuple[Ranks, str]]:
    """Join the other processes of torchrun, if there are any; and which device is this one's."""
    if int(os.environ.get("WORLD_SIZE", "1")) < 2 or distributed.is_initialized():
        yield ranks(), device
        return
    on_gpu = device.startswith("cuda")
    if on_gpu:
        device = f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
        torch.cuda.set_device(device)
    distributed.init_process_group("nccl" if on_gpu else "gloo", timeout=_PATIENCE)
    try:
        yield ranks(), device
    finally:
        distributed.destroy_process_group()
