"""Journeys over tensors: those of the agents on the host, link by link."""

import numpy as np
import pytest
import torch

from linkwalk.gpu.journeys import DeviceAgent
from linkwalk.gpu.walks import DeviceGraph
from linkwalk.navigate import Episodes, Journeys, MoveConfig, open_baseline, unit_rows
from linkwalk.navigate.policy_walker import PolicyWalker
from linkwalk.policy.heads import FeedForward, HeadConfig
from tests.graph.conftest import csr
from tests.on_device import DEVICE, way
from tests.walks.conftest import unsorted_graph

__all__ = ["way"]
WIDTH, BUDGET = 8, 25


def world(nodes: int = 80, links: float = 3.0):
    """A sparse graph, so that journeys end at dead ends and in corners, and episodes, some over at the start."""
    rng = np.random.default_rng(1)
    graph = unsorted_graph(rng, nodes=nodes, links=links)
    kinds = rng.integers(0, 4, len(graph.indices)).astype(np.uint8)
    vectors = rng.normal(size=(nodes, WIDTH)).astype(np.float32)
    episodes = Episodes.of(rng.integers(0, nodes, 150), rng.integers(0, nodes, 150))
    return graph, kinds, vectors, episodes


def assert_same(found: Journeys, exact: Journeys) -> None:
    assert [column.dtype for column in found] == [column.dtype for column in exact]
    for name in ("nodes", "choices", "steps", "success", "looped"):
        np.testing.assert_array_equal(getattr(found, name), getattr(exact, name), err_msg=name)
    assert np.allclose(found.probabilities, exact.probabilities, atol=1e-5)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("queries", [False, True])
def test_by_cosine_they_are_those_of_greedy_unvisited(queries: bool) -> None:
    graph, kinds, vectors, episodes = world()
    if queries:
        noise = np.random.default_rng(2).normal(size=(episodes.size, WIDTH))
        episodes = episodes._replace(queries=unit_rows(vectors[episodes.goals] + noise))
    exact = open_baseline("greedy-unvisited", graph, unit_rows(vectors)).run(episodes, budget=BUDGET)
    assert exact.looped.any()
    assert 0 < exact.success.mean() < 1
    there = DeviceGraph.of(graph, kinds, device=DEVICE)
    agent = DeviceAgent("greedy-unvisited", there, torch.from_numpy(vectors).to(DEVICE))
    assert_same(agent.run(episodes, budget=BUDGET), exact)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("revisit", [False, True])
def test_with_a_head_they_are_those_of_the_learned_agent(revisit: bool) -> None:
    graph, kinds, vectors, episodes = world()
    torch.manual_seed(0)
    head = FeedForward(HeadConfig(width=WIDTH))
    exact = PolicyWalker("p", head, graph, kinds, vectors, MoveConfig(revisit=revisit)).run(
        episodes, budget=BUDGET
    )
    assert exact.looped.any()
    there = DeviceGraph.of(graph, kinds, device=DEVICE)
    agent = DeviceAgent("p", there, torch.from_numpy(vectors).to(DEVICE), head.to(DEVICE), revisit=revisit)
    assert_same(agent.run(episodes, budget=BUDGET), exact)


@pytest.mark.usefixtures("way")
def test_a_page_with_many_links() -> None:
    count = 300
    graph = csr(count, [(0, i) for i in range(1, count)])
    vectors = np.random.default_rng(0).normal(size=(count, WIDTH)).astype(np.float32)
    goals = np.arange(1, count)
    episodes = Episodes.of(np.zeros(len(goals), np.int32), goals)
    agent = DeviceAgent(
        "greedy-unvisited", DeviceGraph.of(graph, device=DEVICE), torch.from_numpy(vectors).to(DEVICE)
    )
    found = agent.run(episodes, budget=3)
    assert found.success.all()
    assert found.steps.tolist() == [1] * len(goals)
    assert np.array_equal(found.choices[:, 0], goals - 1)


@pytest.mark.usefixtures("way")
def test_no_episodes() -> None:
    graph, kinds, vectors, _ = world()
    agent = DeviceAgent(
        "g", DeviceGraph.of(graph, kinds, device=DEVICE), torch.from_numpy(vectors).to(DEVICE)
    )
    assert agent.run(Episodes.of([], []), budget=3).nodes.shape == (0, 4)
