"""Where to look: what says so, and a trained compass without torch.

A compass is a matrix and a bias, so that walking starts at once and needs numpy alone.
"""

from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Float32s = NDArray[np.float32]


@runtime_checkable
class Guide(Protocol):
    """Says where to look, whatever page it is at, so that a walker with a map can go by it (``navigate.guided``)."""

    def directions(self, goals: Float32s) -> Float32s:
        """Directions [B, D] for goals [B, D] of unit length."""


class Direction:
    """q = phi(s_g) + W phi(s_g) + b: what ``linkwalk.policy.heads.Compass`` computes, of its saved weights."""

    def __init__(self, weight: Float32s, bias: Float32s) -> None:
        if weight.shape != (len(bias), len(bias)):
            raise ValueError(f"a matrix of {weight.shape} and a bias of {bias.shape}")
        self.weight, self.bias = weight, bias

    @classmethod
    def load(cls, path: Path) -> "Direction":
        """Of a policy's ``weights.safetensors``."""
        from safetensors.numpy import load_file

        weights = load_file(path)
        # In single precision, whatever it was saved in: the walker is compiled for that.
        return cls(weights["turn.weight"].astype(np.float32), weights["turn.bias"].astype(np.float32))

    def directions(self, goals: Float32s) -> Float32s:
        """Where to look [B, D] for goals [B, D]."""
        lengths = np.linalg.norm(goals, axis=-1, keepdims=True)
        goals = goals / np.maximum(lengths, np.float32(1e-12))
        found: Float32s = goals + goals @ self.weight.T + self.bias
        return found


WITHOUT_TORCH = {"compass": Direction}
"""Heads that walk without torch."""
