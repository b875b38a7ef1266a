"""Optimisers: RMSProp in both readings of its epsilon, and the learning rate of every update."""

import math
from dataclasses import replace

import pytest
import torch

from linkwalk.errors import InputError
from linkwalk.learn.clone import CloneConfig
from linkwalk.learn.optimise import RmsProp, build_optimiser, rate_at
from linkwalk.policy.heads import HeadConfig, build_head

GRADIENTS = ([0.3, -2.0, 1e-6, 0.0], [0.1, 1.0, 2e-6, 0.0], [-0.2, 0.5, -1e-6, 0.0])


def moved(optimiser: type, **settings: object) -> list[float]:
    weight = torch.nn.Parameter(torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64))
    stepper = optimiser([weight], **settings)
    for gradient in GRADIENTS:
        weight.grad = torch.tensor(gradient, dtype=torch.float64)
        stepper.step()
    return weight.tolist()


def by_hand(*, inside: bool, weight_decay: float = 0.0) -> list[float]:
    """The recurrence, one number at a time."""
    found = []
    for at, weight in enumerate((1.0, 2.0, 3.0, 4.0)):
        square = 0.0
        for gradient in (row[at] for row in GRADIENTS):
            square = 0.9 * square + 0.1 * gradient * gradient
            root = math.sqrt(square + 1e-10) if inside else math.sqrt(square) + 1e-10
            weight = weight * (1 - 0.01 * weight_decay) - 0.01 * gradient / root
        found.append(weight)
    return found


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("weight_decay", [0.0, 0.5])
def test_rmsprop_by_hand(inside: bool, weight_decay: float) -> None:
    settings = {"lr": 0.01, "decay": 0.9, "epsilon": 1e-10, "inside": inside, "weight_decay": weight_decay}
    assert moved(RmsProp, **settings) == pytest.approx(
        by_hand(inside=inside, weight_decay=weight_decay), rel=1e-12
    )


def test_outside_the_root_it_is_torchs() -> None:
    torchs = moved(torch.optim.RMSprop, lr=0.01, alpha=0.9, eps=1e-10)
    assert moved(RmsProp, lr=0.01, inside=False) == pytest.approx(torchs, rel=1e-12)


def test_where_epsilon_is_matters_for_tiny_gradients() -> None:
    inside, outside = (moved(RmsProp, lr=0.01, inside=inside) for inside in (True, False))
    assert inside[0] == pytest.approx(outside[0], abs=1e-6)
    assert abs(inside[2] - 3) < 0.1 * abs(outside[2] - 3)


def test_rates() -> None:
    config = CloneConfig(learning_rate=2.0, updates=100, warmup=10)
    assert [rate_at(config, u) for u in (1, 5, 10, 11, 100)] == [0.2, 1.0, 2.0, 2.0, 2.0]
    cosine = replace(config, schedule="cosine")
    assert [rate_at(cosine, u) for u in (1, 10, 11)] == [0.2, 2.0, 2.0]
    assert rate_at(cosine, 56) == pytest.approx(1.0)
    rates = [rate_at(cosine, u) for u in range(11, 101)]
    assert rates == sorted(rates, reverse=True)
    assert 0 < rates[-1] < 0.001


def test_the_settings_reach_the_optimiser() -> None:
    head = build_head(HeadConfig(width=4, hidden=3))
    config = CloneConfig(
        optimiser="rmsprop", epsilon=1e-3, epsilon_inside=False, decay=0.5, weight_decay=0.25
    )
    found = build_optimiser(config, head).defaults
    assert (found["epsilon"], found["inside"], found["decay"], found["weight_decay"]) == (
        1e-3,
        False,
        0.5,
        0.25,
    )
    assert build_optimiser(CloneConfig(weight_decay=0.25), head).defaults["weight_decay"] == 0.25
    with pytest.raises(InputError, match="no optimiser named 'sgd': choose one of adamw, rmsprop"):
        build_optimiser(CloneConfig(optimiser="sgd"), head)


@pytest.mark.parametrize(
    "wrong",
    [
        {"updates": 0},
        {"batch": 0},
        {"edge_dropout": 1.5},
        {"learning_rate": -1.0},
        {"learning_rate": float("nan")},
        {"validation": 1.0},
        {"schedule": "linear"},
        {"criterion": "luck"},
    ],
)
def test_settings_that_make_no_sense(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError, match=f"{next(iter(wrong))}=.*: choose"):
        CloneConfig(**wrong)  # type: ignore[arg-type]
