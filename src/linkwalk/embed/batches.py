"""Batches of like length under a budget of tokens, so that little of a batch is padding."""

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush

import numpy as np

from linkwalk.arrays import Int64s


def by_length(lengths: Sequence[int], budget: int) -> Iterator[Int64s]:
    """Indices in batches, longest first, each with at most ``budget`` tokens once padded (or a single text)."""
    order = np.argsort(-np.asarray(lengths, np.int64), kind="stable")
    at = 0
    while at < len(order):
        size = max(1, budget // max(1, lengths[order[at]]))
        yield order[at : at + size]
        at += size


def shared_out(lengths: Sequence[int], budget: int, among: int) -> list[Int64s]:
    """Indices in batches of about as many tokens, up to ``budget`` where texts are short, a multiple of ``among``.

    So that nobody waits for who has more to read: the longest first, each to whoever has least so far.
    """
    if not lengths:
        return []
    count = min(len(lengths), among * max(1, -(-sum(lengths) // (budget * among))))
    batches: list[list[int]] = [[] for _ in range(count)]
    load = [(0, number) for number in range(count)]
    for i in np.argsort(-np.asarray(lengths, np.int64), kind="stable").tolist():
        tokens, number = heappop(load)
        batches[number].append(i)
        heappush(load, (tokens + lengths[i], number))
    return [np.array(batch, np.int64) for batch in batches]


def pad(rows: Sequence[Sequence[int]], value: int) -> tuple[Int64s, Int64s]:
    """Token ids as one array filled up with ``value``, and the mask that is 1 on tokens."""
    width = max(map(len, rows), default=0)
    ids = np.full((len(rows), width), value, np.int64)
    mask = np.zeros((len(rows), width), np.int64)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = row
        mask[i, : len(row)] = 1
    return ids, mask
