"""Edge dropout: links that are hidden from the learner at each step of a walk (app. B.2)."""

from typing import NamedTuple

import numpy as np

from linkwalk.arrays import Bools, Int64s
from linkwalk.compiled import guarded, row_of, within
from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr
from linkwalk.walks.draws import draw, fraction, key_of, seed_from
from linkwalk.walks.sampler import Walks


class HiddenLinks(NamedTuple):
    """Which out-links are hidden at each of S steps, the steps of the first walk first.

    Row ``s`` is ``hidden[indptr[s]:indptr[s + 1]]``, in the order of the graph's row of the node stepped from: the
    rows of ``forward.gather(walks.nodes[stepped_from])``, where ``stepped_from`` is ``t < lengths[b]``.
    """

    indptr: Int64s
    hidden: Bools


def drop_edges(
    forward: Csr, walks: Walks, *, probability: float = 0.5, rng: np.random.Generator
) -> HiddenLinks:
    """Hide each out-link with a probability, never one that leads where the walk goes next (app. B.2).

    Differs: a row may name the next node twice (in a sentence and as the next block), and a walk does not say which
    of the two was taken; neither is hidden.
    """
    if not 0 <= probability <= 1:
        raise InputError(f"edge dropout of {probability} is no probability: choose 0 to 1")
    indptr = np.zeros(int(walks.lengths.sum(dtype=np.int64)) + 1, np.int64)
    _count(forward, walks, indptr)
    hidden = np.empty(indptr[-1], np.bool_)
    _hide(forward, walks, seed_from(rng), probability, indptr, hidden)
    return HiddenLinks(indptr, hidden)


@guarded
def _count(graph: Csr, walks: Walks, indptr: Int64s) -> None:
    nodes, lengths = walks
    row = 0
    for walk in range(nodes.shape[0]):
        for step in range(within(lengths[walk], nodes.shape[1])):
            first, last = row_of(graph.indptr, nodes[walk, step], graph.indices.shape[0])
            indptr[within(row + 1, indptr.shape[0])] = indptr[row] + last - first
            row += 1


@guarded
def _hide(
    graph: Csr, walks: Walks, seed: np.uint64, probability: float, indptr: Int64s, hidden: Bools
) -> None:
    """Fill the rows that ``_count`` has compared with the links there are."""
    out_indptr, out_indices = graph
    nodes, lengths = walks
    row = 0
    for walk in range(nodes.shape[0]):
        key = key_of(seed, 0, walk)
        for step in range(lengths[walk]):
            links = draw(key, step)  # a key of its own for each step
            taken, first = nodes[walk, step + 1], out_indptr[nodes[walk, step]]
            for k in range(indptr[row + 1] - indptr[row]):
                chance = fraction(draw(links, k))
                hidden[indptr[row] + k] = chance < probability and out_indices[first + k] != taken
            row += 1
