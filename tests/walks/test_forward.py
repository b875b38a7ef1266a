import numpy as np
import pytest

from linkwalk.graph.csr import Csr
from linkwalk.walks import ForwardWalks
from linkwalk.walks.uniform import _LANES
from tests.graph.conftest import csr
from tests.walks.conftest import as_lists, assert_fits, assert_valid, ring, transitions, unsorted_graph

COUNT = 200_000


@pytest.fixture(scope="module")
def graph() -> Csr:
    return unsorted_graph(np.random.default_rng(5), nodes=12)


def test_starts_are_uniform_over_nodes_with_a_link(graph: Csr) -> None:
    walks = ForwardWalks(graph, steps=1).sample(COUNT, np.random.default_rng(1))
    linked = graph.degrees() > 0
    assert 0 < linked.sum() < graph.nodes
    assert_fits(np.bincount(walks.starts, minlength=graph.nodes), linked / linked.sum())


def test_every_link_is_equally_likely_at_every_step(graph: Csr) -> None:
    exact = transitions(graph)
    walks = ForwardWalks(graph, steps=3).sample(COUNT, np.random.default_rng(2))
    for step in range(3):
        walking = walks.lengths > step
        here, there = walks.nodes[walking, step], walks.nodes[walking, step + 1]
        for node in np.unique(here).tolist():
            assert_fits(np.bincount(there[here == node], minlength=graph.nodes), exact[node])


def test_goals_are_distributed_as_the_powers_of_the_transition_matrix(graph: Csr) -> None:
    steps = 4
    linked = graph.degrees() > 0
    exact = linked / linked.sum() @ np.linalg.matrix_power(transitions(graph), steps)
    walks = ForwardWalks(graph, steps=steps).sample(COUNT, np.random.default_rng(3))
    assert_fits(np.bincount(walks.goals, minlength=graph.nodes), exact)


def test_whole_paths_have_the_product_s_probability() -> None:
    graph = csr(3, [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1), (2, 1)])
    steps, exact = 3, transitions(graph)
    walks = ForwardWalks(graph, steps=steps).sample(COUNT, np.random.default_rng(4))
    code = walks.nodes @ 3 ** np.arange(steps + 1)
    digits = np.arange(81)[:, None] // 3 ** np.arange(steps + 1) % 3
    probability = np.prod(exact[digits[:, :-1], digits[:, 1:]], 1) / 3
    assert_fits(np.bincount(code, minlength=81), probability)


def test_multistep_lengths_are_uniform() -> None:
    walks = ForwardWalks(ring(30), steps=20, multistep=True).sample(50_000, np.random.default_rng(5))
    assert_fits(np.bincount(walks.lengths, minlength=21)[1:], np.full(20, 1 / 20))
    assert np.array_equal(walks.goals, (walks.starts + walks.lengths) % 30)


def test_the_number_of_steps_says_nothing_about_where_they_lead(graph: Csr) -> None:
    fixed = ForwardWalks(graph, steps=6).sample(3000, np.random.default_rng(6))
    free = ForwardWalks(graph, steps=6, multistep=True).sample(3000, np.random.default_rng(6))
    for long, short in zip(as_lists(fixed), as_lists(free), strict=True):
        assert short == long[: len(short)]


def test_a_walk_ends_at_a_dead_end() -> None:
    walks = ForwardWalks(csr(4, [(0, 1), (1, 2), (2, 3)]), steps=9).sample(500, np.random.default_rng(1))
    assert {tuple(walk) for walk in as_lists(walks)} == {(0, 1, 2, 3), (1, 2, 3), (2, 3)}


@pytest.mark.parametrize("count", [_LANES - 1, _LANES, _LANES + 1, 3 * _LANES + 5])
def test_walkers_that_step_together_do_not_mix(count: int) -> None:
    graph = unsorted_graph(np.random.default_rng(8), nodes=200)
    walks = ForwardWalks(graph, steps=12, multistep=True).sample(count, np.random.default_rng(1))
    assert_valid(walks, graph, count, 12)
    ended = walks.lengths < ForwardWalks(graph, steps=12).sample(count, np.random.default_rng(1)).lengths
    dead = graph.degrees()[walks.goals] == 0
    assert (ended | dead | (walks.lengths == 12)).all()


def test_drawing_again_changes_only_walks_that_came_back() -> None:
    graph = unsorted_graph(np.random.default_rng(3))
    free = ForwardWalks(graph, steps=4).sample(3000, np.random.default_rng(1))
    apart = ForwardWalks(graph, steps=4, apart=True).sample(3000, np.random.default_rng(1))
    came_back = free.starts == free.goals
    assert 0 < came_back.sum() < 1500
    assert np.array_equal((free.nodes != apart.nodes).any(1), came_back)
