"""Training a map's weights, and its forecast, on lessons of many graphs and tables at once (``maps.walks``).

The labels are soft, as in ``own_walks``: of all the unseen links remembered, those that led to the goal in the fewest
clicks share 1, each click further is e^-3 as right. Every table has a temperature of its own, so that the weights
learn which link is better and not how sure one can be on that wiki; walking needs no temperature.

Worth is a sum over sights and no more: a hidden layer of rectified units, which saw the state of the walk as well, did
no better on wikis of kinds that it was trained on, and worse on those of others.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from linkwalk.arrays import Float32s, Int32s, Int64s
from linkwalk.graph.paths import UNREACHABLE
from linkwalk.learn.maps.walks import NEVER, Lessons
from linkwalk.learn.own_walks import SHARPNESS, NothingToDecide
from linkwalk.navigate.map_sights import OF_LINKS, SIGHTS
from linkwalk.navigate.trained_map import CLICKS, Forecast
from linkwalk.settings import CheckedSettings, Count, CountOrNone, NotNegative

_SCALE = 20.0
"""Worth is in units of the cosine; a softmax wants more."""
_COOL = -0.7
"""Logarithm of the factor that the temperatures start at: the cosine alone is too sure of itself."""
_SURE = 3.0
"""By how much the constants are surer of their choice where it is to be kept."""
_LEAST = 1e-3


@dataclass(frozen=True, kw_only=True)
class MapTrainingConfig(CheckedSettings):
    """How a map is trained."""

    rounds: Count = 4
    """How often walks are drawn anew, with the map as it is by then; lessons of earlier rounds are kept."""
    walks: Count = 300
    """Of each world and round."""
    picks: Count = 6
    """Steps of a walk."""
    links: Count = 32
    """Unseen links of a step."""
    trials: Count = 2000
    """Episodes on which the map is held against the constants before each further round: where it fails more often, it
    is taught to choose as they do."""
    hidden: Count = 24
    """Units of the forecast."""
    epochs: Count = 10
    batch: Count = 1024
    learning_rate: NotNegative = 5e-3
    weight_decay: NotNegative = 0.01
    seed: CountOrNone = 0


class Scale(NamedTuple):
    """In which units sights are trained on: their own spread, from their mean."""

    mean: Tensor
    spread: Tensor

    @classmethod
    def of(cls, seen: Tensor) -> "Scale":
        """That of rows of sights."""
        return cls(seen.mean(0), seen.std(0).clamp_min(_LEAST))

    def __call__(self, sights: Tensor) -> Tensor:
        """Sights in these units."""
        return (sights - self.mean) / self.spread


def fit_weights(
    lessons: list[Lessons], shares: list[float], held: list[bool], config: MapTrainingConfig
) -> tuple[Float32s, float]:
    """Train on lessons of several worlds, each with its share; what each sight adds, and the loss at last.

    In worlds that are ``held`` the right link is the one that the constants choose. Steps of walks that found nothing
    teach nothing.
    """
    torch.manual_seed(config.seed)
    lessons = [part.some((part.clicks != UNREACHABLE).any(axis=1)) for part in lessons]
    counts = torch.tensor([len(part.counts) for part in lessons])
    world = torch.repeat_interleave(torch.arange(len(lessons)), counts)
    weight = (torch.tensor(shares) / counts.clamp(min=1))[world]
    as_before = torch.tensor(held)[world, None]
    all_ = Lessons.joined(lessons)
    if not len(all_.counts):
        raise NothingToDecide
    weight /= weight.mean()
    sights, worth = (
        torch.from_numpy(all_.sights[:, :, : len(OF_LINKS)]),
        _SCALE * torch.from_numpy(all_.worth),
    )
    missing = torch.arange(worth.shape[1])[None] >= torch.from_numpy(all_.counts)[:, None]
    constant = torch.softmax((_SURE * worth).masked_fill(missing, -1e9), -1)
    target = torch.where(as_before, constant, labels(torch.from_numpy(all_.clicks)))
    scale = Scale.of(sights[~missing])
    sights, weights = scale(sights), nn.Parameter(torch.zeros(len(OF_LINKS)))
    cool = nn.Parameter(torch.full((len(lessons),), _COOL))

    def loss_of(rows: Tensor) -> Tensor:
        logits = (worth[rows] + sights[rows] @ weights) * cool.exp()[world[rows], None]
        chances = torch.log_softmax(logits.masked_fill(missing[rows], -1e9), -1)
        return -(weight[rows, None] * target[rows] * chances).sum() / len(rows)

    loss = _descend([[weights], [cool]], loss_of, len(worth), config)
    found: Float32s = (weights.detach() / scale.spread / _SCALE).numpy()
    return found, loss


def labels(clicks: Tensor) -> Tensor:
    """How right each link is [S, K], 1 in all; each click further is e^-SHARPNESS as right."""
    far = clicks.float().masked_fill(clicks == UNREACHABLE, torch.inf)
    return torch.softmax(-SHARPNESS * far, dim=-1)


def ranges_of(to_go: Int32s) -> Int64s:
    """Which of the forecast's ranges so many clicks are in."""
    return np.where(to_go == NEVER, len(CLICKS), np.searchsorted(CLICKS, to_go)).astype(np.int64)


def fit_forecast(lessons: Lessons, config: MapTrainingConfig) -> Forecast:
    """Train the forecast on what was seen of the link gone for."""
    torch.manual_seed(config.seed)
    seen, target = torch.from_numpy(lessons.sights[:, 0]), torch.from_numpy(ranges_of(lessons.to_go))
    scale = Scale.of(seen)
    into, out = nn.Linear(len(SIGHTS), config.hidden), nn.Linear(config.hidden, len(CLICKS) + 1)
    layers = nn.Sequential(into, nn.ReLU(), out)

    def loss_of(rows: Tensor) -> Tensor:
        return cross_entropy(layers(scale(seen[rows])), target[rows])

    _descend([layers.parameters()], loss_of, len(seen), config)
    with torch.no_grad():
        scaled = into.weight / scale.spread
        weights = scaled.T, into.bias - scaled @ scale.mean, out.weight.T, out.bias
        return Forecast(*(np.ascontiguousarray(weight.numpy(), np.float32) for weight in weights))


def _descend(
    parameters: Sequence[Iterable[nn.Parameter]],
    loss_of: Callable[[Tensor], Tensor],
    rows: int,
    config: MapTrainingConfig,
) -> float:
    """Go through all rows so many times; the loss of the last time. Only the first parameters are kept small."""
    groups: list[dict[str, Any]] = [{"params": list(group), "weight_decay": 0.0} for group in parameters]
    groups[0]["weight_decay"] = config.weight_decay
    optimiser = torch.optim.AdamW(groups, lr=config.learning_rate)
    updates = config.epochs * -(-rows // config.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, config.learning_rate, total_steps=updates + 1, pct_start=0.1
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
