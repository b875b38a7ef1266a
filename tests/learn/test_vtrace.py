"""V-trace: the formulas of the paper it is from, and TorchRL's numbers."""

import numpy as np
import pytest
import torch
from torch import Tensor

from linkwalk.learn.rewards.vtrace import Steps, vtrace

GAMMA = 0.9
# By TorchRL 0.14.1: vtrace_advantage_estimate of ``some_steps``, its bounds 1.0.
VALUES = [
    [-0.72873, 0.04707, -0.00556],
    [0.03119, -0.06183, 0.5899],
    [1.21427, -0.06564, 0.00634],
    [0.57296, -0.01659, 0.06493],
    [0.11035, 0.7631, -0.71455],
    [0.76293, -0.08684, 0.07683],
]
ADVANTAGES = [
    [-1.5702, -0.38031, -1.0041],
    [0.58924, -0.13609, 1.05372],
    [1.80492, -0.56512, -0.14877],
    [0.12015, -0.99318, 0.66621],
    [-0.57551, 1.42736, -1.64336],
    [0.53915, -0.54983, -0.72481],
]


def waves(first: float) -> Tensor:
    return torch.sin(first + 1.7 * torch.arange(18.0).square()).view(6, 3)


def some_steps() -> Steps:
    """Six steps of three episodes side by side: two that end, three that are cut off, the rest goes on."""
    terminated, truncated = torch.zeros((2, 6, 3), dtype=torch.bool)
    terminated[1, 0] = terminated[4, 1] = True
    truncated[2, 1] = truncated[3, 0] = truncated[5, 2] = True
    value, following = waves(1), waves(2)
    ended = (terminated | truncated)[:-1]
    following[:-1] = torch.where(ended, following[:-1], value[1:])
    return Steps(waves(3), waves(4), value, following, terminated, truncated)


def plainly(steps: Steps, rho_bound: float, c_bound: float) -> tuple[np.ndarray, np.ndarray]:
    """The sum of eq. 1 as it is written, for each step of each episode: products of c, discounted, times delta."""
    ratio, reward, value, following, terminated, truncated = (x.double().numpy() for x in steps)
    count, episodes = reward.shape
    rho, c = np.minimum(np.exp(ratio), rho_bound), np.minimum(np.exp(ratio), c_bound)
    worth = np.where(terminated > 0, 0.0, following)
    targets, advantages = np.zeros_like(value), np.zeros_like(value)
    for b in range(episodes):
        for s in range(count):
            total, product = value[s, b], 1.0
            for t in range(s, count):
                total += product * rho[t, b] * (reward[t, b] + GAMMA * worth[t, b] - value[t, b])
                if terminated[t, b] or truncated[t, b]:
                    break
                product *= GAMMA * c[t, b]
            targets[s, b] = total
    for b in range(episodes):
        for s in range(count):
            ends = terminated[s, b] or truncated[s, b] or s == count - 1
            after = worth[s, b] if ends else targets[s + 1, b]
            advantages[s, b] = rho[s, b] * (reward[s, b] + GAMMA * after - value[s, b])
    return targets, advantages


@pytest.mark.parametrize(("rho_bound", "c_bound"), [(1.0, 1.0), (1.5, 0.7), (10.0, 10.0)])
def test_it_is_the_sum_that_the_paper_writes(rho_bound: float, c_bound: float) -> None:
    steps = some_steps()
    found = vtrace(steps, discount=GAMMA, rho_bound=rho_bound, c_bound=c_bound)
    targets, advantages = plainly(steps, rho_bound, c_bound)
    np.testing.assert_allclose(found.value.numpy(), targets, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.advantage.numpy(), advantages, rtol=1e-5, atol=1e-6)
    assert torch.equal(found.clipped, steps.log_ratio.exp() > rho_bound)


def test_it_has_torchrls_values() -> None:
    found = vtrace(some_steps(), discount=GAMMA)
    np.testing.assert_allclose(found.value.numpy(), VALUES, atol=2e-5)
    np.testing.assert_allclose(found.advantage.numpy(), ADVANTAGES, atol=2e-5)


def test_on_policy_it_is_the_discounted_reward_and_an_end_is_not_a_cut() -> None:
    none = torch.zeros((3, 1))
    reward, no = torch.tensor([[0.0], [0.0], [1.0]]), torch.zeros((3, 1), dtype=torch.bool)
    last = no.clone()
    last[-1] = True
    following = torch.tensor([[0.0], [0.0], [5.0]])
    ended = vtrace(Steps(none, reward, none, following, last, no), discount=GAMMA).value
    cut = vtrace(Steps(none, reward, none, following, no, last), discount=GAMMA).value
    assert ended.flatten().tolist() == pytest.approx([0.81, 0.9, 1.0])
    assert cut.flatten().tolist() == pytest.approx([0.81 * 5.5, 0.9 * 5.5, 5.5])
