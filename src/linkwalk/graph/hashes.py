"""Hashes: of strings (FNV-1a), of 64-bit words (SplitMix64), and tables of nodes that kernels look up by hash."""

from typing import Any, TypeVar

import numpy as np

from linkwalk.arrays import Bytes, Int32s, Int64s, UInt64s
from linkwalk.compiled import guarded, kernel, row_of
from linkwalk.graph.columns import Strings

FNV_BASIS, FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2^64 over the golden ratio: its multiples are spread evenly. SplitMix64 counts in steps of it."""
EMPTY = -1
"""A slot of a table of nodes that holds none."""

Words = TypeVar("Words", UInt64s, np.uint64)


def hash_strings(strings: Strings, start: int, stop: int) -> UInt64s:
    """FNV-1a of strings ``start`` to ``stop``; two of 77M texts share one by chance once in 6,000 times."""
    hashes = np.empty(stop - start, np.uint64)
    _hash(strings.blob, strings.offsets, start, hashes)
    return hashes


def mix(words: Words) -> Words:
    """Spread every bit over all bits: the output function of SplitMix64, of a whole array."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


mix_word = kernel(mix)
"""The same, compiled for use in kernels."""


@guarded
def slot_of(table: Int32s, node: int) -> Any:
    """Where a node is in a hash table [2^k], or the empty slot where it would be; one must be left empty.

    Open addressing; neighbouring nodes, as the blocks of an article are, lie far apart. The mask keeps all within.
    """
    mask = table.shape[0] - 1
    at = np.int64((np.uint64(node) * GOLDEN) >> np.uint64(32)) & mask
    while table[at] != EMPTY and table[at] != node:
        at = (at + 1) & mask
    return at


@kernel
def _hash(blob: Bytes, offsets: Int64s, start: int, hashes: UInt64s) -> None:
    for i in range(hashes.shape[0]):
        value = FNV_BASIS
        first, last = row_of(offsets, start + i, blob.shape[0])
        for at in range(first, last):
            value = (value ^ np.uint64(blob[at])) * FNV_PRIME
        hashes[i] = value
