import numpy as np
import pytest

from linkwalk.graph.csr import Csr
from linkwalk.walks import ReverseWalks
from tests.graph.conftest import csr
from tests.walks.conftest import as_lists, assert_fits, transitions, turned, unsorted_graph

COUNT = 200_000


@pytest.fixture(scope="module")
def graph() -> Csr:
    return unsorted_graph(np.random.default_rng(7), nodes=12)


@pytest.mark.parametrize("multistep", [False, True])
def test_goals_are_uniform_over_nodes_with_an_in_link(graph: Csr, multistep: bool) -> None:
    reverse = turned(graph)
    linked = reverse.degrees() > 0
    assert 0 < linked.sum() < graph.nodes
    walks = ReverseWalks(graph, reverse, steps=4, multistep=multistep).sample(COUNT, np.random.default_rng(1))
    assert_fits(np.bincount(walks.goals, minlength=graph.nodes), linked / linked.sum())


def test_every_link_back_is_equally_likely_at_every_step(graph: Csr) -> None:
    reverse = turned(graph)
    exact = transitions(reverse)
    walks = ReverseWalks(graph, reverse, steps=3).sample(COUNT, np.random.default_rng(2))
    for back in range(3):
        rows = np.flatnonzero(walks.lengths > back)
        at = walks.lengths[rows] - back
        there, here = walks.nodes[rows, at], walks.nodes[rows, at - 1]
        for node in np.unique(there).tolist():
            assert_fits(np.bincount(here[there == node], minlength=graph.nodes), exact[node])


def test_starts_are_distributed_as_the_powers_of_the_reverse_transition_matrix(graph: Csr) -> None:
    reverse = turned(graph)
    linked = reverse.degrees() > 0
    exact = linked / linked.sum() @ np.linalg.matrix_power(transitions(reverse), 4)
    walks = ReverseWalks(graph, reverse, steps=4).sample(COUNT, np.random.default_rng(3))
    assert_fits(np.bincount(walks.starts, minlength=graph.nodes), exact)


def test_a_walk_starts_where_nothing_leads_to() -> None:
    graph = csr(4, [(0, 1), (1, 2), (2, 3)])
    walks = ReverseWalks(graph, turned(graph), steps=9).sample(500, np.random.default_rng(1))
    assert {tuple(walk) for walk in as_lists(walks)} == {(0, 1, 2, 3), (0, 1, 2), (0, 1)}
