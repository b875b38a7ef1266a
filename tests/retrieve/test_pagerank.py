"""Personalised PageRank beside networkx's, its trails, and what it does with files that lie."""

from pathlib import Path

import numpy as np
import pytest

from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr
from linkwalk.graph.store import Graph
from linkwalk.retrieve.pagerank import PageRankConfig, spread

networkx = pytest.importorskip("networkx")


def drawn(nodes: int, seed: int) -> Csr:
    """A graph with hubs, blocks without links, links to oneself and links that come twice."""
    rng = np.random.default_rng(seed)
    degrees = rng.integers(0, 6, nodes)
    degrees[:2] = nodes
    indptr = np.concatenate(([0], np.cumsum(degrees)))
    return Csr(indptr, rng.integers(0, nodes, indptr[-1]).astype(np.int32))


@pytest.mark.parametrize("damping", [0.5, 0.85])
def test_weights_are_those_of_networkx(damping: float) -> None:
    for seed in range(4):
        graph = drawn(60, seed)
        other = networkx.MultiDiGraph()
        other.add_nodes_from(range(graph.nodes))
        other.add_edges_from((node, to) for node in range(graph.nodes) for to in graph.row(node).tolist())
        nodes, scores = np.array([5, 17, 0, 5], np.int32), np.array([1, 0.5, 0.25, 0.25], np.float32)
        (own,) = spread(graph, [(nodes, scores)], 60, PageRankConfig(damping=damping, least=1e-12))
        wanted = networkx.pagerank(other, damping, personalization={5: 1.25, 17: 0.5, 0: 0.25}, tol=1e-12)
        found = dict(zip(own.nodes.tolist(), own.weights.tolist(), strict=True))
        weights = [found.get(node, 0.0) for node in range(60)]
        np.testing.assert_allclose(weights, [wanted[node] for node in range(60)], atol=1e-7)
        assert own.weights.tolist() == sorted(own.weights.tolist(), reverse=True)


def test_a_trail_begins_at_a_hit_and_follows_links_that_are_there(encyclopedia: Path) -> None:
    graph = Graph.open(encyclopedia).forward
    hits = np.array([7, 300, 41], np.int32)
    scores = np.array([1, 0.5, 0.1], np.float32)
    (own,) = spread(graph, [(hits, scores)], 200)
    assert len(own.nodes) == 200
    assert max(len(links) for _, links in own.paths) > 1
    for node, (pages, links) in zip(own.nodes.tolist(), own.paths, strict=True):
        assert pages[0] in hits
        assert pages[-1] == node
        assert [int(graph.row(a)[link]) for a, link in zip(pages[:-1], links, strict=True)] == [*pages[1:]]
        assert len(set(pages)) == len(pages)
        if node in hits:
            assert pages == (node,)


def test_the_trail_is_the_path_that_carries_most() -> None:
    """0 links to 1 and 2, 1 to 3 alone, 2 to 3 and 4; weight comes to 3 by both, most of it by 1."""
    graph = Csr(np.array([0, 2, 3, 5, 5, 5]), np.array([2, 1, 3, 4, 3], np.int32))
    (own,) = spread(graph, [(np.array([0], np.int32), np.ones(1, np.float32))], 5)
    assert own.paths[own.nodes.tolist().index(3)] == ((0, 1, 3), (1, 0))
    assert own.paths[own.nodes.tolist().index(4)] == ((0, 2, 4), (0, 0))


def test_queries_do_not_depend_on_one_another_and_cost_is_bounded() -> None:
    graph = drawn(3000, 1)
    hits = [(np.array([node], np.int32), np.ones(1, np.float32)) for node in (0, 9, 9, 1500)]  # 0 is a hub
    config = PageRankConfig(least=1e-2)
    assert config.most(graph.nodes, 1) == 202
    together = spread(graph, hits, 10, config, workers=3)
    alone = [spread(graph, [own], 10, config)[0] for own in hits]
    for a, b in zip(together, alone, strict=True):
        assert a.nodes.tolist() == b.nodes.tolist()
        assert a.weights.tobytes() == b.weights.tobytes()
        assert a.paths == b.paths
    empty = np.zeros(0, np.int32), np.zeros(0, np.float32)
    assert spread(graph, [empty], 10)[0].paths == []


def test_damaged_links_and_senseless_settings_are_refused() -> None:
    graph = Csr(np.array([0, 1, 2]), np.array([1, 7], np.int32))
    hit = np.array([0], np.int32), np.ones(1, np.float32)
    with pytest.raises(IndexError):
        spread(graph, [hit], 2)
    with pytest.raises(IndexError):
        spread(Csr(np.array([0, 9, 1]), graph.indices), [hit], 2)
    for wrong in ({"damping": 1.0}, {"damping": -0.1}, {"least": 0.0}, {"least": float("nan")}):
        with pytest.raises(InputError):
            PageRankConfig(**wrong)
