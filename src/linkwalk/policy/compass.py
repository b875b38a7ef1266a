"""A compass says where to look for a goal, whatever page one is at; the trained one needs numpy alone.

It is a matrix and a bias, so that walking starts at once, without torch. ``policy.heads.CompassHead`` trains it.
"""

from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Float32s = NDArray[np.float32]


@runtime_checkable
class Compass(Protocol):
    """What a walker with a map goes by (``navigate.compass``): the direction of a goal, whatever page it is at."""

    def directions(self, goals: Float32s) -> Float32s:
        """Directions [B, D] for goals [B, D] of unit length."""


class LinearCompass:
    """q = phi(s_g) + W phi(s_g) + b: what ``CompassHead`` computes, from its weights."""

    def __init__(self, weight: Float32s, bias: Float32s) -> None:
        if weight.shape != (len(bias), len(bias)):
            raise ValueError(f"a matrix of {weight.shape} and a bias of {bias.shape}")
        self.weight, self.bias = weight, bias

    @classmethod
    def load(cls, path: Path) -> "LinearCompass":
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
