"""How many clicks a walk with a map will still take: an estimate with its spread, for giving up or going on.

A small network looks at what is seen of the link that the walker goes for, and divides its belief among a few ranges of
clicks. They are those of the walker itself, detours and all, not those of the shortest path.
"""

from typing import NamedTuple

import numpy as np

from linkwalk.arrays import Float32s, Float64s

CLICKS = (1, 2, 3, 5, 8, 13, 21, 40)
"""The last of each range; in the one after them all are more clicks, and goals that are never found."""


class Forecast(NamedTuple):
    """One hidden layer of rectified units, on ``values.SIGHTS``."""

    into: Float32s
    """[SIGHTS, H]."""
    bias: Float32s
    """[H]."""
    out: Float32s
    """[H, CLICKS + 1]."""
    last: Float32s
    """[CLICKS + 1]."""

    def chances(self, sights: Float32s) -> Float32s:
        """Of each range of clicks [T, CLICKS + 1], by what is seen of the best link [T, SIGHTS]."""
        hidden = np.maximum(sights @ self.into + self.bias, 0)
        logits = hidden @ self.out + self.last
        chances = np.exp(logits - logits.max(axis=-1, keepdims=True))
        found: Float32s = (chances / chances.sum(axis=-1, keepdims=True)).astype(np.float32)
        return found


def within_clicks(chances: Float32s, clicks: int) -> Float32s:
    """How probable it is that the goal is found within so many clicks [T], evenly spread within a range."""
    bounds = np.array((0, *CLICKS))
    share = np.clip((clicks - bounds[:-1]) / np.diff(bounds), 0, 1)
    found: Float32s = chances[:, :-1] @ share.astype(np.float32)
    return found


def quantile(chances: Float32s, share: float) -> Float64s:
    """The clicks within which the goal is found with that probability [T]; infinite where never."""
    bounds, below = np.array((0.0, *CLICKS)), np.cumsum(chances[:, :-1], axis=1)
    below = np.hstack([np.zeros((len(chances), 1), np.float32), below])
    clicks = [np.interp(share, row, bounds) if row[-1] >= share else np.inf for row in below]
    return np.array(clicks, np.float64)
