"""V-trace: values and advantages from steps that a slightly older policy took (Espeholt et al., 2018, eq. 1).

Shapes: T steps, B episodes side by side; steps come first. Where an episode ends, the next row is another one's: what
a step led to is therefore given apart, and nothing is carried over the end. One that reached a true end is worth
nothing from there on; one that was cut off is worth what its last page is.
"""

from typing import NamedTuple

import torch
from torch import Tensor


class Steps(NamedTuple):
    """What V-trace has to know of every step [T, B]."""

    log_ratio: Tensor
    """log pi(a | s) - log mu(a | s): the policy that learns, and the one that acted."""
    reward: Tensor
    value: Tensor
    """V of where the step was taken."""
    following: Tensor
    """V of where it led, before any new episode began there."""
    terminated: Tensor
    """Whether it reached a true end."""
    truncated: Tensor
    """Whether its episode was cut off there."""


class Targets(NamedTuple):
    """What the two networks are to learn [T, B]."""

    value: Tensor
    """v_s."""
    advantage: Tensor
    """rho_s (r_s + gamma v_s+1 - V(x_s)), by which the policy's gradient is weighted."""
    clipped: Tensor
    """Whether the ratio was above its bound."""


@torch.no_grad()
def vtrace(steps: Steps, *, discount: float, rho_bound: float = 1.0, c_bound: float = 1.0) -> Targets:
    """Targets and advantages of T steps of B episodes."""
    ratio = steps.log_ratio.exp()
    rho, c = ratio.clamp(max=rho_bound), ratio.clamp(max=c_bound)
    decay = discount * (~steps.terminated).to(rho.dtype)
    ended = steps.terminated | steps.truncated
    delta = rho * (steps.reward + decay * steps.following - steps.value)
    carried = decay * c * (~ended).to(rho.dtype)
    more = delta
    """v_s - V(x_s): delta plus what is carried from the next step, added up over 1, 2, 4, .. steps."""
    reach = 1
    while reach < len(delta):
        none = torch.zeros_like(delta[:reach])
        more = more + carried * torch.cat((more[reach:], none))
        carried = carried * torch.cat((carried[reach:], none))
        reach *= 2
    after = torch.cat((more[1:], torch.zeros_like(more[:1])))
    after = torch.where(ended, 0.0, after)
    advantage = rho * (steps.reward + decay * (steps.following + after) - steps.value)
    return Targets(steps.value + more, advantage, ratio > rho_bound)
