"""Random numbers by counter: draw ``t`` of walk ``i`` is a hash of (seed, i, t), whoever computes it and when.

The hash is SplitMix64. Every walk owns a key, every draw a number, so a result depends neither on threads nor on how a
batch is cut.
"""

import numpy as np

from linkwalk.arrays import Float64s
from linkwalk.compiled import kernel
from linkwalk.graph.hashes import GOLDEN, mix_word

LENGTH_DRAW, START_DRAW, FIRST_STEP_DRAW = 0, 1, 2
"""Which draws of its key a uniform walk takes; a step's is this many behind the first."""

_SALT = np.uint64(0xD1B54A32D192ED03)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def seed_from(rng: np.random.Generator) -> np.uint64:
    """The one number a call takes from the caller's generator."""
    return rng.integers(1 << 64, dtype=np.uint64)


@kernel
def key_of(seed: np.uint64, attempt: int, number: int) -> np.uint64:
    """The key of walk ``number``, another one for each attempt at it."""
    return mix_word(mix_word(seed + np.uint64(attempt) * _SALT) + np.uint64(number) * GOLDEN)


@kernel
def draw(key: np.uint64, number: int) -> np.uint64:
    """Draw ``number`` of a key: 64 random bits."""
    return mix_word(key + np.uint64(number + 1) * GOLDEN)


@kernel
def below(word: np.uint64, count: int) -> np.int64:
    """Turn 64 random bits into one of 0 .. count - 1, for counts below 2^32 with a bias below 2^-32.

    The high word of the 128-bit product ``word * count``, put together from two halves.
    """
    n = np.uint64(count)
    return np.int64(((word >> _HALF) * n + (((word & _LOW) * n) >> _HALF)) >> _HALF)


@kernel
def fraction(word: np.uint64) -> np.float64:
    """Turn 64 random bits into a number from 0 to below 1."""
    return np.float64(word >> np.uint64(11)) * 2.0**-53


@kernel
def pick(word: np.uint64, chances: Float64s) -> int:
    """Turn 64 random bits into the place of one of some chances, whatever their sum; never one of 0, if any is more."""
    left, choice = fraction(word) * chances.sum(), 0
    for at in range(chances.shape[0]):
        if chances[at] > 0:
            choice = at
            left -= chances[at]
            if left < 0:
                break
    return choice
