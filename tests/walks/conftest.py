"""Small graphs with everything that can go wrong, and what must hold for any walk."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from linkwalk.graph.csr import Csr, transpose
from linkwalk.walks import Walks
from tests.graph.conftest import csr


def unsorted_graph(rng: np.random.Generator, *, nodes: int = 40, links: float = 3.0) -> Csr:
    """Rows in no order, with repeated links, self-links, dead ends and nodes that nothing links to."""
    degrees = rng.poisson(links, nodes)
    degrees[rng.random(nodes) < 0.15] = 0
    indptr = np.concatenate(([0], np.cumsum(degrees)))
    indices = (nodes * rng.random(indptr[-1]) ** 1.5).astype(np.int32)
    indptr.flags.writeable = indices.flags.writeable = False
    return Csr(indptr, indices)


def turned(graph: Csr) -> Csr:
    """The transposed graph, read-only as a mapped one is."""
    reverse = transpose(graph)
    reverse.indptr.flags.writeable = reverse.indices.flags.writeable = False
    return reverse


def ring(nodes: int) -> Csr:
    """A one-way circle."""
    return csr(nodes, [(i, (i + 1) % nodes) for i in range(nodes)])


def as_lists(walks: Walks) -> list[list[int]]:
    """Every walk's nodes, without what stands behind its end."""
    return [row[: n + 1] for row, n in zip(walks.nodes.tolist(), walks.lengths.tolist(), strict=True)]


def assert_valid(walks: Walks, forward: Csr, count: int, steps: int) -> None:
    """What must hold for every sampler: shapes, types, links between neighbours, nothing behind the end."""
    assert walks.nodes.shape == (count, steps + 1)
    assert walks.lengths.shape == (count,)
    assert walks.nodes.dtype == walks.lengths.dtype == np.int32
    if count:
        assert 1 <= walks.lengths.min() <= walks.lengths.max() <= steps
    ended = np.arange(steps + 1) > walks.lengths[:, None]
    assert (walks.nodes[ended] == -1).all()
    assert (walks.nodes[~ended] >= 0).all()
    links = {(a, b) for a in range(forward.nodes) for b in forward.row(a).tolist()}
    assert {pair for walk in as_lists(walks) for pair in pairwise(walk)} <= links
    assert walks.starts.tolist() == [walk[0] for walk in as_lists(walks)]
    assert walks.goals.tolist() == [walk[-1] for walk in as_lists(walks)]


def transitions(graph: Csr) -> NDArray[np.float64]:
    """P[a, b]: how likely a uniform step from a leads to b; a node without links keeps the walker."""
    matrix = np.zeros((graph.nodes, graph.nodes))
    for node in range(graph.nodes):
        row = graph.row(node)
        np.add.at(matrix[node], row, 1 / max(len(row), 1))
        if not len(row):
            matrix[node, node] = 1
    return matrix


def assert_fits(observed: NDArray[np.integer], probability: NDArray[np.float64]) -> None:
    """Chi-square within five standard deviations: counts could come from these probabilities."""
    assert abs(probability.sum() - 1) < 1e-9
    assert observed[probability == 0].sum() == 0
    expected = observed.sum() * probability[probability > 0]
    assert expected.min() > 5, "too few draws for the test to mean anything"
    statistic = ((observed[probability > 0] - expected) ** 2 / expected).sum()
    freedom = len(expected) - 1
    assert abs(statistic - freedom) < 5 * np.sqrt(2 * max(freedom, 1))
