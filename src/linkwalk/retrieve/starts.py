"""Where walks begin: BM25's blocks, the nearest by embedding, or both lists fused (sec. 4.3)."""

from typing import Protocol

import numpy as np

from linkwalk.errors import InputError
from linkwalk.graph.csr import Int32s
from linkwalk.navigate.journeys import Float32s

STARTS = ("bm25", "dense", "hybrid")
DEPTH = 100
"""How far down both lists are read before they are fused."""
_RANK = 60  # what softens the lead of first places, as is usual for this fusion
_ROWS = 1 << 16


class Search(Protocol):
    """Anything that finds blocks by words: ``Bm25``."""

    def search(self, query: str, count: int) -> tuple[Int32s, list[float]]:
        """The best blocks, the best first, and their scores."""


def nearest(vectors: Float32s, meaning: Float32s, count: int) -> Int32s:
    """The blocks [count] closest to a vector of unit length, the closest first; exact, in pieces."""
    scores = np.concatenate(
        [vectors[at : at + _ROWS] @ meaning for at in range(0, len(vectors), _ROWS)]
        or [np.zeros(0, np.float32)]
    )
    count = min(count, len(scores))
    best = np.argpartition(-scores, count - 1)[:count] if count else np.zeros(0, np.int64)
    return best[np.argsort(-scores[best], kind="stable")].astype(np.int32)


def fuse(*lists: Int32s, count: int) -> Int32s:
    """The best of several ranked lists, by the sum of 1 / (60 + rank): ranks compare where scores do not."""
    totals: dict[int, float] = {}
    for found in lists:
        for rank, node in enumerate(found.tolist(), 1):
            totals[node] = totals.get(node, 0.0) + 1 / (_RANK + rank)
    order = sorted(totals, key=lambda node: -totals[node])
    return np.array(order[:count], np.int32)


def find_starts(
    how: str, count: int, search: Search, query: str, vectors: Float32s | None, meaning: Float32s | None
) -> tuple[Int32s, str]:
    """Blocks to begin at, and how they were found: BM25 without a hit falls back to the nearest."""
    words = np.zeros(0, np.int32)
    if how != "dense":
        words = search.search(query, DEPTH if how == "hybrid" else count)[0]
        if how == "bm25" and len(words):
            return words, "bm25"
    if vectors is None or meaning is None:
        if how != "bm25":
            raise InputError(f"{how} starts need embeddings: run `linkwalk embed WIKI`, or begin by bm25")
        return words, "bm25"
    near = nearest(vectors, meaning, DEPTH if how == "hybrid" else count)
    if how == "hybrid" and len(words):
        return fuse(words, near, count=count), "hybrid"
    return near[:count], "dense"
