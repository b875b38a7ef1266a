"""Chance inside kernels: a stream per episode, keyed by seed and episode number (SplitMix64).

An episode's draws depend on nothing else, so neither the batch nor the number of threads changes a result.
"""

from typing import Any

import numpy as np

from linkwalk.compiled import kernel
from linkwalk.graph.hashes import GOLDEN, mix_word
from linkwalk.walks.draws import key_of

_HALF = np.uint64(32)


@kernel
def stream(seed: np.uint64, number: int) -> np.uint64:
    """The state in which an episode's stream begins."""
    return key_of(seed + GOLDEN, 0, number)


@kernel
def below(state: np.uint64, count: int) -> tuple[np.uint64, Any]:
    """The next state and a number from 0 to ``count - 1``, uniform up to a bias below ``count / 2**32``."""
    state = state + GOLDEN
    return state, np.int64(((mix_word(state) >> _HALF) * np.uint64(count)) >> _HALF)
