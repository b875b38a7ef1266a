"""Adam for a matrix of which an update touches some rows: moments move, and weights, where there is a gradient."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from linkwalk.arrays import Int64s
from linkwalk.compiled import guarded, within

Float32s = NDArray[np.float32]


class RowAdam(torch.optim.Optimizer):
    """Adam of parameters on a CPU, those with sparse gradients by rows, with one mean square for a row.

    A term's numbers are of one size, so one mean square does for them, and memory is half of Adam's.
    """

    def __init__(
        self, groups: Iterable[dict[str, Any]], *, lr: float, betas: tuple[float, float] = (0.9, 0.999)
    ) -> None:
        super().__init__(groups, {"lr": lr, "betas": betas})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Move the rows that have a gradient."""
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None:
                    self._move(weight, group)

    def _move(self, weight: nn.Parameter, group: dict[str, Any]) -> None:
        state = self.state[weight]
        if not state:
            state["mean"] = torch.zeros_like(weight)
            state["square"] = torch.zeros(len(weight))
            state["times"] = torch.zeros(len(weight))
        grad = weight.grad
        assert grad is not None
        rows, values = _rows_of(grad) if grad.is_sparse else (torch.arange(len(weight)), grad)
        _step(
            _matrix(weight),
            _matrix(state["mean"]),
            state["square"].numpy(),
            state["times"].numpy(),
            rows.numpy(),
            _matrix(values),
            group["lr"],
            *group["betas"],
        )


def _rows_of(grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Which rows have a gradient, each once, and what it is."""
    rows = grad._indices()[0]
    if not bool((rows.diff() > 0).all()):  # several passes have added theirs
        grad = grad.coalesce()
    return grad._indices()[0], grad._values()


def _matrix(values: torch.Tensor) -> Float32s:
    found: Float32s = values.detach().contiguous().view(len(values), -1).numpy()
    return found


@guarded
def _step(
    weight: Float32s,
    mean: Float32s,
    square: Float32s,
    times: Float32s,
    rows: Int64s,
    values: Float32s,
    rate: float,
    slow: float,
    slower: float,
) -> None:
    width = weight.shape[1]
    for i in range(rows.shape[0]):
        row = within(rows[i], weight.shape[0])
        own, new, past = weight[row], values[i], mean[row]
        total = np.float32(0)
        for j in range(width):
            total += new[j] * new[j]
        times[row] += 1
        square[row] = slower * square[row] + (1 - slower) * total / width
        first, second = 1 - slow ** times[row], 1 - slower ** times[row]
        by = np.float32(rate / first / (np.sqrt(square[row] / second) + 1e-12))
        a, b = np.float32(slow), np.float32(1 - slow)
        for j in range(width):
            past[j] = a * past[j] + b * new[j]
            own[j] -= by * past[j]
