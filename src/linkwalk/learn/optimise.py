"""Optimisers and learning rates: the paper's RMSProp with its epsilon where JAX has it, and AdamW (app. B.2)."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from linkwalk.errors import InputError

if TYPE_CHECKING:
    from linkwalk.learn.clone import CloneConfig
    from linkwalk.learn.loop import LoopConfig
    from linkwalk.learn.rewards.impala import ImpalaConfig

OPTIMISERS = ("adamw", "rmsprop")
SCHEDULES = ("constant", "cosine")


class RmsProp(torch.optim.Optimizer):
    """RMSProp without momentum; ``inside`` says whether epsilon is under the root.

    JAX and optax divide by sqrt(v + epsilon), torch by sqrt(v) + epsilon. At the paper's 1e-10 that is a floor of
    1e-5 or of 1e-10 under every gradient, so with torch's a weight that has hardly any gradient moves as far as any.
    """

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        *,
        lr: float,
        decay: float = 0.9,
        epsilon: float = 1e-10,
        inside: bool = True,
        weight_decay: float = 0.0,
    ) -> None:
        settings = {
            "lr": lr,
            "decay": decay,
            "epsilon": epsilon,
            "inside": inside,
            "weight_decay": weight_decay,
        }
        super().__init__(parameters, settings)

    @classmethod
    def of(
        cls, config: "CloneConfig | ImpalaConfig", parameters: Iterable[nn.Parameter], *, inside: bool = True
    ) -> "RmsProp":
        """The configuration's."""
        return cls(
            parameters,
            lr=config.learning_rate,
            decay=config.decay,
            epsilon=config.epsilon,
            inside=inside,
            weight_decay=config.weight_decay,
        )

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Move every weight against its gradient, divided by the root of the gradient's mean square."""
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                if not self.state[weight]:
                    self.state[weight]["square"] = torch.zeros_like(weight)
                square = self.state[weight]["square"]
                square.mul_(group["decay"]).addcmul_(weight.grad, weight.grad, value=1 - group["decay"])
                floor = group["epsilon"]
                root = (square + floor).sqrt_() if group["inside"] else square.sqrt().add_(floor)
                weight.mul_(1 - group["lr"] * group["weight_decay"])
                weight.addcdiv_(weight.grad, root, value=-group["lr"])


def build_optimiser(config: "CloneConfig", head: nn.Module) -> torch.optim.Optimizer:
    """The configuration's optimiser of the head's weights."""
    if config.optimiser == "adamw":
        return torch.optim.AdamW(head.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay)
    if config.optimiser == "rmsprop":
        return RmsProp.of(config, head.parameters(), inside=config.epsilon_inside)
    raise InputError(f"no optimiser named {config.optimiser!r}: choose one of {', '.join(OPTIMISERS)}")


def rate_at(config: "LoopConfig", update: int) -> float:
    """The learning rate of an update, counted from 1: a linear warm-up, then constant or half a cosine down to 0."""
    if update <= config.warmup:
        return config.learning_rate * update / config.warmup
    if config.schedule == "constant":
        return config.learning_rate
    share = (update - config.warmup - 1) / max(1, config.updates - config.warmup)
    return config.learning_rate * 0.5 * (1 + math.cos(math.pi * share))
