"""A transformer over a walk: what has been seen on the way decides where to go next (sec. 4.2, app. B.3).

The paper passes [phi(s_0), ..., phi(s_t), phi(s_g)] through four layers. Here the goal comes first, and every page sees
the goal and the pages before it: one pass over a walk gives the state at each of its steps, and a walker adds a page at
a time to what it remembers.

Differs: vectors are standardised before they come in, and so is what comes into each layer; pages are numbered from a
random place while training, since walks are tried for longer than those that were learned from.

Shapes: W walks, T pages, D width, H attention heads, P pages remembered.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, layer_norm, scaled_dot_product_attention

from linkwalk.errors import InputError


@dataclass(frozen=True, kw_only=True)
class TrajectoryConfig:
    """Sizes of the transformer, the paper's by default."""

    layers: int = 4
    heads: int = 12
    size: int = 64
    """Of each attention head."""
    inner: int = 3072
    """Width of the hidden layer."""
    places: int = 101
    """How many numbers there are for pages: as many as a walk may have."""

    def __post_init__(self) -> None:
        """Refuse sizes below 1."""
        for name, value in vars(self).items():
            if value < 1:
                raise InputError(f"head.trajectory.{name}={value}: choose 1 or more")


class Layer(nn.Module):
    """Attention to what came before, and two linear layers."""

    def __init__(self, width: int, config: TrajectoryConfig) -> None:
        super().__init__()
        self.heads, attended = config.heads, config.heads * config.size
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.asked, self.found = nn.Linear(width, 3 * attended), nn.Linear(attended, width)
        self.widen, self.narrow = nn.Linear(width, config.inner), nn.Linear(config.inner, width)

    def forward(self, x_WTD: Tensor, past: Tensor | None = None, at: int = 0) -> Tensor:
        """Every page sees those before it; with ``past`` [2, W, H, P, size] one more is added, at a place."""
        query, key, value = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in self.asked(self.before(x_WTD)).chunk(3, -1)
        )
        if past is not None:
            past[0, :, :, at], past[1, :, :, at] = key[:, :, 0], value[:, :, 0]
            key, value = past[:, :, :, : at + 1].to(query.dtype)
        seen = scaled_dot_product_attention(query, key, value, is_causal=past is None)
        x_WTD = x_WTD + self.found(seen.transpose(1, 2).flatten(2))
        changed: Tensor = x_WTD + self.narrow(gelu(self.widen(self.between(x_WTD))))
        return changed


class Trajectory(nn.Module):
    """States of walks: the goal, then a page at a time."""

    def __init__(self, width: int, out: int, config: TrajectoryConfig) -> None:
        super().__init__()
        self.config, self.width = config, width
        self.goal, self.page = nn.Linear(width, width), nn.Linear(width, width)
        self.layers = nn.ModuleList(Layer(width, config) for _ in range(config.layers))
        self.last, self.out = nn.LayerNorm(width), nn.Linear(width, out)

    def along(self, pages_WTD: Tensor, goal_WD: Tensor) -> Tensor:
        """The state at every page [W, T, K] of whole walks to goals."""
        count = pages_WTD.shape[1]
        spare = self.config.places - count
        first = int(torch.randint(spare + 1, ())) if self.training and spare > 0 else 0
        numbers = torch.arange(first, first + count, device=pages_WTD.device)
        with torch.autocast("cuda", torch.bfloat16, enabled=pages_WTD.is_cuda):
            x_WTD = torch.cat((self._goal(goal_WD), self._pages(pages_WTD, numbers)), 1)
            for layer in self.layers:
                x_WTD = layer(x_WTD)
            found: Tensor = self.out(self.last(x_WTD[:, 1:]))
        return found.float()

    def begin(self, goal_WD: Tensor, pages: int) -> "WalksSoFar":
        """Walks to goals that have seen nothing yet; there is room for so many pages."""
        return WalksSoFar(self, goal_WD, pages)

    def _goal(self, goal_WD: Tensor) -> Tensor:
        found: Tensor = self.goal(_standard(goal_WD))[:, None]
        return found

    def _pages(self, pages_WTD: Tensor, numbers_T: Tensor) -> Tensor:
        found: Tensor = self.page(_standard(pages_WTD)) + _waves(numbers_T, self.width)
        return found


class WalksSoFar:
    """What walks have seen so far, layer by layer; all are at the same step."""

    def __init__(self, model: Trajectory, goal_WD: Tensor, pages: int) -> None:
        config, self.model, self.place = model.config, model, 0
        dtype = torch.bfloat16 if goal_WD.is_cuda else torch.float32
        shape = (config.layers, 2, len(goal_WD), config.heads, pages + 1, config.size)
        self.past = torch.zeros(shape, dtype=dtype, device=goal_WD.device)
        self._add(model._goal(goal_WD))

    def keep(self, which: Tensor) -> None:
        """Forget all walks but these."""
        self.past = self.past[:, :, which]

    def see(self, pages_WD: Tensor) -> Tensor:
        """One more page of every walk; the states there [W, K]."""
        numbers = torch.tensor([self.place - 1], device=pages_WD.device)
        with torch.autocast("cuda", torch.bfloat16, enabled=pages_WD.is_cuda):
            x_WTD = self._add(self.model._pages(pages_WD[:, None], numbers))
            found: Tensor = self.model.out(self.model.last(x_WTD[:, 0]))
        return found.float()

    def _add(self, x_WTD: Tensor) -> Tensor:
        with torch.autocast("cuda", torch.bfloat16, enabled=x_WTD.is_cuda):
            for layer, past in zip(self.model.layers, self.past, strict=True):
                x_WTD = layer(x_WTD, past, self.place)
        self.place += 1
        return x_WTD


def _standard(x: Tensor) -> Tensor:
    return layer_norm(x.float(), x.shape[-1:])


def _waves(numbers_T: Tensor, width: int) -> Tensor:
    """Sines and cosines that tell places apart [T, D]."""
    half = -(-width // 2)
    pace = torch.exp(torch.arange(half, device=numbers_T.device) * (-math.log(10_000.0) / half))
    angle = numbers_T[:, None].float() * pace
    return torch.cat((angle.sin(), angle.cos()), -1)[:, :width]
