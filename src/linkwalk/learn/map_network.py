"""Training a map's network, and its forecast, on lessons of many graphs and tables at once (``map_walks``).

The labels are soft, as in ``own_walks``: of all the unseen links remembered, those that led to the goal in the fewest
clicks share 1, each click further is e^-3 as right. Every table has a temperature of its own, so that the network
learns which link is better and not how sure one can be on that wiki; walking needs no temperature.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from linkwalk.graph.paths import UNREACHABLE
from linkwalk.learn.map_walks import NEVER, Lessons
from linkwalk.learn.own_walks import SHARPNESS, NothingToDecide
from linkwalk.navigate.forecast import CLICKS, Forecast
from linkwalk.navigate.network import MapNetwork
from linkwalk.navigate.values import SIGHTS

_SCALE = 20.0
"""Worth is in units of the cosine; a softmax wants more."""
_COOL = -0.7
"""Logarithm of the factor that the temperatures start at: the cosine alone is too sure of itself."""
_SURE = 3.0
"""By how much the constants are surer of their choice where it is to be kept."""
_LEAST = 1e-3


class Descent(NamedTuple):
    """How weights are found."""

    epochs: int
    batch: int
    rate: float
    decay: float
    seed: int


class Judge(nn.Module):
    """The network as it is trained: what it sees comes in units of its own spread, and at first it adds nothing."""

    def __init__(self, seen: Tensor, hidden: int, outputs: int = 1) -> None:
        super().__init__()
        self.mean, self.spread = seen.mean(0), seen.std(0).clamp_min(_LEAST)
        self.into = nn.Linear(len(SIGHTS), hidden)
        self.out = nn.Linear(hidden, outputs)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, sights: Tensor) -> Tensor:
        """Outputs for rows of sights."""
        found: Tensor = self.out(torch.relu(self.into((sights - self.mean) / self.spread)))
        return found

    @torch.no_grad()
    def folded(self) -> list[NDArray[np.float32]]:
        """Weights for sights as they are: into [SIGHTS, H], bias [H], out [H, outputs], last [outputs]."""
        into = self.into.weight / self.spread
        bias = self.into.bias - into @ self.mean
        weights = (into.T, bias, self.out.weight.T, self.out.bias)
        return [np.ascontiguousarray(weight.numpy(), np.float32) for weight in weights]


def fit_network(
    lessons: list[Lessons], shares: list[float], held: list[bool], *, hidden: int, config: Descent
) -> tuple[MapNetwork, float]:
    """Train on lessons of several worlds, each with its share of the weight; the network, and its loss at last.

    In worlds that are ``held`` the right link is the one that the constants choose. Steps of walks that found nothing
    teach nothing.
    """
    torch.manual_seed(config.seed)
    lessons = [part.some((part.clicks != UNREACHABLE).any(axis=1)) for part in lessons]
    weight = torch.cat(
        [
            torch.full((len(part.counts),), share / max(1, len(part.counts)))
            for part, share in zip(lessons, shares, strict=True)
        ]
    )
    world = torch.cat([torch.full((len(part.counts),), i) for i, part in enumerate(lessons)])
    as_before = torch.tensor(held)[world, None]
    all_ = Lessons.joined(lessons)
    if not len(all_.counts):
        raise NothingToDecide
    weight /= weight.mean()
    sights, worth = torch.from_numpy(all_.sights), _SCALE * torch.from_numpy(all_.worth)
    missing = torch.arange(worth.shape[1])[None] >= torch.from_numpy(all_.counts)[:, None]
    constant = torch.softmax((_SURE * worth).masked_fill(missing, -1e9), -1)
    target = torch.where(as_before, constant, labels(torch.from_numpy(all_.clicks)))
    judge = Judge(sights[~missing], hidden)
    cool = nn.Parameter(torch.full((len(lessons),), _COOL))

    def loss_of(rows: Tensor) -> Tensor:
        logits = (worth[rows] + judge(sights[rows]).squeeze(-1)) * cool.exp()[world[rows], None]
        chances = torch.log_softmax(logits.masked_fill(missing[rows], -1e9), -1)
        return -(weight[rows, None] * target[rows] * chances).sum() / len(rows)

    loss = _descend([judge.parameters(), [cool]], loss_of, len(worth), config)
    into, bias, out, _ = judge.folded()
    return MapNetwork(into, bias, out[:, 0] / np.float32(_SCALE)), loss


def labels(clicks: Tensor) -> Tensor:
    """How right each link is [S, K], 1 in all; each click further is e^-SHARPNESS as right."""
    far = clicks.float().masked_fill(clicks == UNREACHABLE, torch.inf)
    return torch.softmax(-SHARPNESS * far, dim=-1)


def ranges_of(to_go: NDArray[np.int32]) -> NDArray[np.int64]:
    """Which of the forecast's ranges so many clicks are in."""
    return np.where(to_go == NEVER, len(CLICKS), np.searchsorted(CLICKS, to_go)).astype(np.int64)


def fit_forecast(lessons: Lessons, *, hidden: int, config: Descent) -> Forecast:
    """Train the forecast on what was seen of the link gone for."""
    torch.manual_seed(config.seed)
    seen, target = torch.from_numpy(lessons.sights[:, 0]), torch.from_numpy(ranges_of(lessons.to_go))
    judge = Judge(seen, hidden, len(CLICKS) + 1)

    def loss_of(rows: Tensor) -> Tensor:
        return nn.functional.cross_entropy(judge(seen[rows]), target[rows])

    _descend([judge.parameters()], loss_of, len(seen), config)
    return Forecast(*judge.folded())


def _descend(
    parameters: Sequence[Iterable[nn.Parameter]],
    loss_of: Callable[[Tensor], Tensor],
    rows: int,
    config: Descent,
) -> float:
    """Go through all rows so many times; the loss of the last time. Only the first parameters are kept small."""
    groups: list[dict[str, Any]] = [{"params": list(group), "weight_decay": 0.0} for group in parameters]
    groups[0]["weight_decay"] = config.decay
    optimiser = torch.optim.AdamW(groups, lr=config.rate)
    updates = config.epochs * -(-rows // config.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, config.rate, total_steps=updates + 1, pct_start=0.1
    )
    order, total = torch.Generator().manual_seed(config.seed), 0.0
    for _ in range(config.epochs):
        total = 0.0
        for some in torch.randperm(rows, generator=order).split(config.batch):  # type: ignore[no-untyped-call]
            loss = loss_of(some)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            schedule.step()
            total += float(loss.detach()) * len(some)
    return total / max(rows, 1)
