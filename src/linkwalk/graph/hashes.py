"""64-bit FNV-1a of strings, straight from their blob: to tell which texts and titles are the same."""

import numpy as np
from numpy.typing import NDArray

from linkwalk.compiled import kernel, row_of
from linkwalk.graph.columns import Strings
from linkwalk.graph.csr import Int64s


def hash_strings(strings: Strings, start: int, stop: int) -> NDArray[np.uint64]:
    """Hashes of strings ``start`` to ``stop``; two of 77M texts share one by chance once in 6,000 times."""
    hashes = np.empty(stop - start, np.uint64)
    _hash(strings.blob, strings.offsets, start, hashes)
    return hashes


@kernel
def _hash(blob: NDArray[np.uint8], offsets: Int64s, start: int, hashes: NDArray[np.uint64]) -> None:
    for i in range(hashes.shape[0]):
        value = np.uint64(0xCBF29CE484222325)
        first, last = row_of(offsets, start + i, blob.shape[0])
        for at in range(first, last):
            value = (value ^ np.uint64(blob[at])) * np.uint64(0x100000001B3)
        hashes[i] = value
