"""Chance inside kernels: a stream per episode, keyed by seed and episode number (SplitMix64).

An episode's draws depend on nothing else, so neither the batch nor the number of threads changes a result.
"""

from typing import Any

import numpy as np

from linkwalk.compiled import kernel

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31, _32 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32)


@kernel
def _mix(word: np.uint64) -> np.uint64:
    word = (word ^ (word >> _30)) * _MIX_1
    word = (word ^ (word >> _27)) * _MIX_2
    return word ^ (word >> _31)


@kernel
def stream(seed: np.uint64, number: int) -> np.uint64:
    """The state in which an episode's stream begins."""
    return _mix(_mix(np.uint64(seed) + _STEP) + np.uint64(number) * _STEP)


@kernel
def below(state: np.uint64, count: int) -> tuple[np.uint64, Any]:
    """The next state and a number from 0 to ``count - 1``, uniform up to a bias below ``count / 2**32``."""
    state = state + _STEP
    return state, np.int64(((_mix(state) >> _32) * np.uint64(count)) >> _32)
