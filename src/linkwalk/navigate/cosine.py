"""Cosines between embeddings: rows of unit length, so that an inner product is one (sec. 5.2, "greedy")."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from linkwalk.errors import ArtifactError
from linkwalk.navigate.journeys import Float32s

_ROWS = 1 << 15


def unit_rows(vectors: NDArray[Any]) -> Float32s:
    """The rows in float32, scaled to unit length; a row of zeros stays, and has cosine 0 to everything."""
    units = np.empty(vectors.shape, np.float32)
    for at in range(0, len(vectors), _ROWS):  # in pieces, as the table is mapped and may be wider than memory
        rows = vectors[at : at + _ROWS].astype(np.float32)
        lengths = np.sqrt(np.einsum("nd,nd->n", rows, rows))
        if not np.isfinite(lengths).all():
            node = at + int(np.argmin(np.isfinite(lengths)))
            raise ArtifactError(
                f"the embedding of node {node} is not a number: run `linkwalk embed WIKI` again"
            )
        lengths[lengths == 0] = 1
        np.divide(rows, lengths[:, None], out=units[at : at + _ROWS])
    return units


# Sums may be taken in any order, which lets the loop run on vector registers: four times as fast.
@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def cosine(a: Float32s, b: Float32s) -> np.float32:
    """Inner product of two rows of unit length."""
    total = np.float32(0)
    for d in range(a.shape[0]):
        total += a[d] * b[d]
    return total
