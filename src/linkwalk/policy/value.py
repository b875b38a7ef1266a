"""The value network: how much reward is still to come on the way from a page to a goal (app. B.2)."""

import torch
from torch import Tensor, nn


class Value(nn.Module):
    """The paper's: one linear layer on [phi(s_t), phi(s_g)]; with ``hidden``, a layer between, which sees products.

    It begins at zero: nothing is expected before anything was reached.
    """

    def __init__(self, width: int, hidden: int = 0) -> None:
        super().__init__()
        self.inner = nn.Linear(3 * width, hidden) if hidden else None
        self.outer = nn.Linear(hidden or 2 * width, 1)
        nn.init.zeros_(self.outer.weight)
        nn.init.zeros_(self.outer.bias)

    def forward(self, current: Tensor, goal: Tensor) -> Tensor:
        """V [...] of pages and goals [..., D]."""
        if self.inner is None:
            seen = torch.cat((current, goal), -1)
        else:
            unit = (nn.functional.normalize(x, dim=-1) for x in (current, goal))
            a, b = unit
            scale = current.shape[-1] ** 0.5  # products of unit vectors are small
            seen = nn.functional.relu(self.inner(torch.cat((a, b, scale * a * b), -1)))
        value: Tensor = self.outer(seen)
        return value.squeeze(-1)
