"""Batches of like length under a budget of tokens, so that little of a batch is padding."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray


def by_length(lengths: Sequence[int], budget: int) -> Iterator[NDArray[np.int64]]:
    """Indices in batches, longest first, each with at most ``budget`` tokens once padded (or a single text)."""
    order = np.argsort(-np.asarray(lengths, np.int64), kind="stable")
    at = 0
    while at < len(order):
        size = max(1, budget // max(1, lengths[order[at]]))
        yield order[at : at + size]
        at += size


def pad(rows: Sequence[Sequence[int]], value: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Token ids as one array filled up with ``value``, and the mask that is 1 on tokens."""
    width = max(map(len, rows), default=0)
    ids = np.full((len(rows), width), value, np.int64)
    mask = np.zeros((len(rows), width), np.int64)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = row
        mask[i, : len(row)] = 1
    return ids, mask
