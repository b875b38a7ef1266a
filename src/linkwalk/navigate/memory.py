"""Which pages an episode has seen, and when last: a small hash table of the budget's size, not of the graph's."""

from typing import Any

import numpy as np

from linkwalk.arrays import Int32s
from linkwalk.compiled import guarded, kernel
from linkwalk.graph.hashes import slot_of

NEVER = -1


@kernel
def blank_memory(budget: int) -> Int32s:
    """Room for ``budget + 1`` pages in a table at most half full: pages, and the steps of their last visits."""
    size = 4
    while size < 2 * (budget + 1):
        size *= 2
    return np.full((2, size), NEVER, np.int32)


@guarded
def last_seen(memory: Int32s, node: int) -> Any:
    """The step at which the page was last stood on, or NEVER."""
    return memory[1, slot_of(memory[0], node)]


@guarded
def remember(memory: Int32s, node: int, step: int) -> None:
    """Note that the page is stood on at this step."""
    at = slot_of(memory[0], node)
    memory[0, at], memory[1, at] = node, step
