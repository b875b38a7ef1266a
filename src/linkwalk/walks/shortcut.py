"""Shortcut walks: forward walks with their loops erased and their chords taken, nearly shortest at a walk's price.

Differs: not in the paper. Its forward walks wander (sec. 3.1), its shortest paths cost a search of the graph; a
shortcut walk costs one look at the rows of the walk's own nodes, whatever the size of the graph.
"""

import numpy as np

from linkwalk.arrays import Int32s
from linkwalk.compiled import guarded, prefetch, row_of, within
from linkwalk.graph.csr import Csr
from linkwalk.graph.hashes import EMPTY, slot_of
from linkwalk.walks.sampler import Walks
from linkwalk.walks.uniform import ForwardWalks


class ShortcutWalks:
    """Forward walks of up to ``steps`` steps, whose ends differ, cut short by the walk's own links."""

    def __init__(self, forward: Csr, *, steps: int, multistep: bool = False) -> None:
        self.walks = ForwardWalks(forward, steps=steps, multistep=multistep, apart=True)

    def sample(self, count: int, rng: np.random.Generator) -> Walks:
        """Draw walks."""
        return take_shortcuts(self.walks.forward, self.walks.sample(count, rng))


def take_shortcuts(forward: Csr, walks: Walks) -> Walks:
    """From every node go on to the latest node of the walk that it links to: simple paths with the same ends.

    Length 0 where a walk ends where it began.
    """
    cut = Walks(np.empty_like(walks.nodes), np.empty_like(walks.lengths))
    # Twice as many slots as nodes, so that a search for a node that is not there ends soon.
    slots = np.empty((2, 1 << max(2, (2 * walks.nodes.shape[1] - 1).bit_length())), np.int32)
    _cut(forward, walks, slots, cut)
    return cut


@guarded
def _cut(graph: Csr, walks: Walks, slots: Int32s, cut: Walks) -> None:
    """Cut every walk short: O(T) to note where its nodes last occur, then one scan of each kept node's row.

    Once at a node's last occurrence, the latest node it links to is at its last occurrence, too: positions only
    grow and no node comes twice.
    """
    indptr, indices = graph
    walked, steps = walks
    nodes, lengths = cut
    held, last = slots[0], slots[1]
    for walk in range(walked.shape[0]):
        end = within(steps[walk], walked.shape[1])
        held[:] = EMPTY
        for at in range(end + 1):
            node = within(walked[walk, at], indptr.shape[0] - 1)
            slot = slot_of(held, node)
            held[slot] = node
            last[slot] = at
            prefetch(indptr, node)
        for at in range(end + 1):  # on a large graph more than twice as fast as waiting for row after row
            prefetch(indices, indptr[walked[walk, at]])
        here = last[slot_of(held, walked[walk, 0])]
        length = 0
        nodes[walk, 0] = walked[walk, 0]
        while here < end:
            before = here
            link, stop = row_of(indptr, walked[walk, here], indices.shape[0])
            for edge in range(link, stop):
                slot = slot_of(held, indices[edge])
                if held[slot] != EMPTY and last[slot] > here:
                    here = last[slot]
            if here == before:
                raise ValueError("the walk does not follow the graph's links")
            length += 1
            nodes[walk, length] = walked[walk, here]
        lengths[walk] = length
        nodes[walk, length + 1 :] = -1
