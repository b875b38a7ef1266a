"""Which pages an episode has seen, and when last: a small hash table of the budget's size, not of the graph's."""

from typing import Any

import numpy as np

from linkwalk.compiled import guarded, kernel
from linkwalk.graph.csr import Int32s

NEVER = -1


@kernel
def blank_memory(budget: int) -> Int32s:
    """Room for ``budget + 1`` pages in a table at most half full: rows (page, step of the last visit)."""
    size = 4
    while size < 2 * (budget + 1):
        size *= 2
    return np.full((size, 2), NEVER, np.int32)


@guarded
def _slot(memory: Int32s, node: int) -> Any:
    """Where a page is in the table, or the free row where it would be; the mask keeps all within."""
    mask = memory.shape[0] - 1
    # Multiplied by an odd constant (Fibonacci hashing), since the blocks of one article are neighbours.
    at = ((node * 0x9E3779B1) >> 11) & mask
    while memory[at, 0] != NEVER and memory[at, 0] != node:
        at = (at + 1) & mask
    return at


@guarded
def last_seen(memory: Int32s, node: int) -> Any:
    """The step at which the page was last stood on, or NEVER."""
    return memory[_slot(memory, node), 1]


@guarded
def remember(memory: Int32s, node: int, step: int) -> None:
    """Note that the page is stood on at this step."""
    at = _slot(memory, node)
    memory[at, 0] = node
    memory[at, 1] = step
