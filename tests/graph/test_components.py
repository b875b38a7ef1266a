import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from linkwalk.graph.components import Components, strong_components, weak_components
from linkwalk.graph.csr import Csr
from tests.graph.conftest import csr


def same_partition(components: Components, graph: Csr, connection: str) -> None:
    data = np.ones(len(graph.indices), np.int8)
    matrix = csr_matrix((data, graph.indices.copy(), graph.indptr.copy()), shape=(graph.nodes, graph.nodes))
    count, labels = connected_components(matrix, directed=True, connection=connection)
    assert components.count == count
    pairs = set(zip(components.labels.tolist(), labels.tolist(), strict=True))
    assert len(pairs) == count
    assert components.sizes.tolist() == np.bincount(components.labels).tolist()
    assert components.largest == np.bincount(labels).max()
    assert np.count_nonzero(components.in_largest()) == components.largest
    assert components.largest_share == components.largest / graph.nodes


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_small_graphs_agree_with_scipy(data: st.DataObject) -> None:
    nodes = data.draw(st.integers(1, 20))
    node = st.integers(0, nodes - 1)
    graph = csr(nodes, data.draw(st.lists(st.tuples(node, node), max_size=50)))
    weak, strong = weak_components(graph), strong_components(graph)
    same_partition(weak, graph, "weak")
    same_partition(strong, graph, "strong")
    first = [int(np.flatnonzero(weak.labels == label)[0]) for label in range(weak.count)]
    assert first == sorted(first)
    for source in range(nodes):  # links between strong components lead to smaller numbers
        assert all(strong.labels[source] >= strong.labels[target] for target in graph.row(source))


@pytest.mark.parametrize("edges", [300, 1000, 3000])
def test_larger_graphs_agree_with_scipy(edges: int) -> None:
    rng = np.random.default_rng(edges)
    graph = csr(1000, [tuple(p) for p in rng.integers(1000, size=(edges, 2)).tolist()])
    same_partition(weak_components(graph), graph, "weak")
    same_partition(strong_components(graph), graph, "strong")


def test_a_chain_needs_no_recursion() -> None:
    n = 200_000
    there = csr(n, [(i, i + 1) for i in range(n - 1)])
    assert strong_components(there).count == n
    assert weak_components(there).count == 1
    ring = csr(n, [(i, (i + 1) % n) for i in range(n)])
    assert strong_components(ring).count == 1


def test_an_empty_graph_has_no_component() -> None:
    graph = csr(0, [])
    for components in (weak_components(graph), strong_components(graph)):
        assert (components.count, components.largest, components.largest_share) == (0, 0, 0.0)
        assert len(components.in_largest()) == 0
