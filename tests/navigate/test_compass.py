"""A compass as an agent: untrained the baseline with a map, trained it looks where it has learned to."""

from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from linkwalk.graph.csr import Csr
from linkwalk.graph.store import Graph
from linkwalk.navigate import BACK, Episodes, Journeys, MoveConfig, open_baseline, unit_rows
from linkwalk.navigate.compass_walker import CompassWalker
from linkwalk.policy.checkpoint import save_policy
from linkwalk.policy.compass import LinearCompass
from linkwalk.policy.heads import CompassHead, HeadConfig
from tests.graph.conftest import csr
from tests.navigate.test_agents import check
from tests.walks.conftest import unsorted_graph

NODES, WIDTH, BUDGET = 150, 12, 30


def world() -> tuple[Csr, NDArray[np.float32], Episodes]:
    """A sparse graph, so that there are dead ends to come back from."""
    rng = np.random.default_rng(6)
    graph, vectors = unsorted_graph(rng, nodes=NODES, links=2.5), unit_rows(rng.normal(size=(NODES, WIDTH)))
    return graph, vectors, Episodes.of(rng.integers(NODES, size=120), rng.integers(NODES, size=120))


def compass(*, trained: bool = False, dropout: float = 0.0) -> CompassHead:
    head = CompassHead(HeadConfig(head="compass", width=WIDTH, dropout=dropout))
    if trained:
        torch.manual_seed(3)
        torch.nn.init.normal_(head.turn.weight, std=0.3)
        torch.nn.init.normal_(head.turn.bias, std=0.1)
    return head


def assert_same(found: Journeys, exact: Journeys) -> None:
    for name in ("nodes", "choices", "steps", "success", "looped"):
        np.testing.assert_array_equal(getattr(found, name), getattr(exact, name), err_msg=name)
    assert np.allclose(found.probabilities, exact.probabilities, atol=1e-5)


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("back", [False, True])
def test_untrained_it_is_the_baseline_with_a_map(back: bool, sampled: bool) -> None:
    graph, vectors, episodes = world()
    config = MoveConfig(back=back, sampled=sampled)
    exact = open_baseline("greedy-map", graph, vectors, config).run(episodes, budget=BUDGET, seed=4)
    for workers in (1, 3):
        guided = CompassWalker("compass", compass(), graph, vectors, config, workers=workers)
        found = guided.run(episodes, budget=BUDGET, seed=4)
        check(found, graph, episodes, BUDGET)
        assert_same(found, exact)
    assert (exact.choices == BACK).any() == back
    assert 0 < exact.success.mean() < 1


def of_words(graph: Graph) -> NDArray[np.float32]:
    """Embeddings that know what a block is about: the sum of its words' own directions."""
    words = np.random.default_rng(0).normal(size=(4096, 64))
    texts = (graph.texts[node].lower().split() for node in range(graph.nodes))
    return unit_rows(np.stack([words[[crc32(w.encode()) % 4096 for w in text]].sum(0) for text in texts]))


@pytest.mark.parametrize("back", [False, True])
def test_untrained_it_takes_the_baselines_journeys_through_the_encyclopedia(
    encyclopedia: Path, back: bool
) -> None:
    graph = Graph.open(encyclopedia)
    vectors, rng = of_words(graph), np.random.default_rng(1)
    episodes = Episodes.of(rng.integers(graph.nodes, size=400), rng.integers(graph.nodes, size=400))
    exact = open_baseline("greedy-map", graph.forward, vectors, MoveConfig(back=back)).run(
        episodes, budget=100
    )
    width = vectors.shape[1]
    for guide in (
        CompassHead(HeadConfig(head="compass", width=width)),
        LinearCompass(np.zeros((width, width), np.float32), np.zeros(width, np.float32)),
    ):
        found = CompassWalker("compass", guide, graph.forward, vectors, MoveConfig(back=back)).run(
            episodes, budget=100
        )
        assert_same(found, exact)
    assert (exact.choices == BACK).any() == back
    assert 0.2 < exact.success.mean() < 0.8, "journeys that end, and some that are cut off"


def test_trained_it_looks_where_it_has_learned_to() -> None:
    graph, vectors, episodes = world()
    head = compass(trained=True)
    weight, bias = head.turn.weight.detach().numpy(), head.turn.bias.detach().numpy()
    towards = np.stack([v + weight @ v + bias for v in vectors[episodes.goals]])
    exact = open_baseline("greedy-map", graph, vectors).run(
        episodes._replace(queries=towards.astype(np.float32)), budget=BUDGET
    )
    found = CompassWalker("compass", head, graph, vectors).run(episodes, budget=BUDGET)
    assert_same(found, exact)
    straight = open_baseline("greedy-map", graph, vectors).run(episodes, budget=BUDGET)
    assert not np.array_equal(found.nodes, straight.nodes)


def test_a_query_stands_for_the_goal() -> None:
    graph, vectors, episodes = world()
    guided = CompassWalker("compass", compass(trained=True), graph, vectors)
    plain = guided.run(episodes, budget=BUDGET)
    shown = guided.run(episodes._replace(queries=vectors[episodes.goals]), budget=BUDGET)
    assert_same(shown, plain)
    long = guided.run(episodes._replace(queries=5 * vectors[episodes.goals]), budget=BUDGET)
    assert_same(long, plain)  # its length says nothing
    others = np.random.default_rng(0).permutation(episodes.goals)
    misled = guided.run(episodes._replace(queries=vectors[others]), budget=BUDGET)
    towards = guided.run(Episodes.of(episodes.starts, others), budget=BUDGET)
    first = (episodes.starts != episodes.goals) & (episodes.starts != others)
    np.testing.assert_array_equal(misled.nodes[first, 1], towards.nodes[first, 1])
    # The episode's own goal still ends it.
    assert (misled.success == (misled.nodes[range(120), misled.steps] == episodes.goals)).all()


@pytest.mark.parametrize("training", [False, True])
def test_nothing_is_hidden_from_it_and_training_goes_on(training: bool) -> None:
    graph, vectors, episodes = world()
    head = compass(trained=True, dropout=0.8).train(training)
    torch.manual_seed(0)
    chance = torch.get_rng_state()
    found = CompassWalker("compass", head, graph, vectors).run(episodes, budget=BUDGET)
    assert head.training == head.dropout.training == training
    assert torch.equal(torch.get_rng_state(), chance)
    assert all(weight.grad is None for weight in head.parameters())
    assert_same(
        found, CompassWalker("compass", compass(trained=True), graph, vectors).run(episodes, budget=BUDGET)
    )


@pytest.mark.parametrize("back", [False, True])
def test_it_walks_the_same_without_torch(tmp_path: Path, back: bool) -> None:
    graph, vectors, episodes = world()
    head = compass(trained=True)
    save_policy(
        tmp_path, head, HeadConfig(head="compass", width=WIDTH), {"encoder": "x", "encoder_name": "toy"}
    )
    direction = LinearCompass.load(tmp_path / "weights.safetensors")
    assert np.allclose(direction.directions(3 * vectors), head.directions(3 * vectors), atol=1e-5)
    config = MoveConfig(back=back)
    exact = CompassWalker("compass", head, graph, vectors, config).run(episodes, budget=BUDGET)
    assert_same(
        CompassWalker("compass", direction, graph, vectors, config).run(episodes, budget=BUDGET), exact
    )


def test_a_dead_end_is_left_by_the_back_button() -> None:
    # 1 looks like the goal, 3, and is a trap.
    graph = csr(4, [(0, 1), (0, 2), (2, 3)])
    vectors = np.array([[0, 1], [1, 0], [0, 1], [1, 0]], np.float32)
    head, episodes = CompassHead(HeadConfig(head="compass", width=2)), Episodes.of([0, 1, 2], [3, 3, 1])
    trapped = CompassWalker("compass", head, graph, vectors).run(episodes, budget=4)
    assert [trapped.path(e).tolist() for e in range(3)] == [[0, 1], [1], [2, 3]]
    freed = CompassWalker("compass", head, graph, vectors, MoveConfig(back=True)).run(episodes, budget=4)
    # From 2 nothing leads to 1, so all it can do is to come and go.
    assert [freed.path(e).tolist() for e in range(3)] == [[0, 1, 0, 2, 3], [1], [2, 3, 2, 3, 2]]
    assert freed.choices[[0, 2]].tolist() == [[0, BACK, 1, 0], [0, BACK, 0, BACK]]
    assert freed.success.tolist() == [True, False, False]
    assert freed.looped.tolist() == [False, False, True]
    assert CompassWalker("compass", head, graph, vectors).run(Episodes.of([], []), budget=3).nodes.shape == (
        0,
        4,
    )
