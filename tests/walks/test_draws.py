import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from numpy.typing import NDArray

from linkwalk.walks.draws import below, draw, key_of, seed_from
from tests.walks.conftest import assert_fits

WORDS = st.integers(0, 2**64 - 1)


def test_draws_are_splitmix64() -> None:
    drawn = [int(draw(np.uint64(0), number)) for number in range(3)]
    assert drawn == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


@given(WORDS, st.integers(1, 2**32 - 1))
def test_below_is_the_high_word_of_the_product(word: int, count: int) -> None:
    assert below(np.uint64(word), count) == word * count >> 64


@njit
def sevens(seed: np.uint64, which: int, count: int) -> NDArray[np.int64]:
    """Draws of 0 to 6 where only the walk's number, the attempt or the draw's number counts up."""
    drawn = np.empty(count, np.int64)
    for i in range(count):
        walk, attempt, number = (i if which == 0 else 3), (i if which == 1 else 0), (i if which == 2 else 1)
        drawn[i] = below(draw(key_of(seed, attempt, walk), number), 7)
    return drawn


@pytest.mark.parametrize("which", [0, 1, 2])
def test_below_is_uniform_over_walks_attempts_and_draws(which: int) -> None:
    drawn = sevens(np.uint64(5), which, 100_000)
    assert_fits(np.bincount(drawn, minlength=7), np.full(7, 1 / 7))
    pairs = drawn[:-1] * 7 + drawn[1:]  # neighbours are independent
    assert_fits(np.bincount(pairs[::2], minlength=49), np.full(49, 1 / 49))


def test_a_seed_is_one_number_of_the_generator() -> None:
    a, b = np.random.default_rng(1), np.random.default_rng(1)
    assert seed_from(a) == b.integers(1 << 64, dtype=np.uint64)
    assert a.random() == b.random()
