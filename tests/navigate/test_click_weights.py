"""What an agent says it went by is what it clicked."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from linkwalk.graph.csr import Csr
from linkwalk.navigate import (
    BACK,
    BASELINES,
    ClickWeights,
    Episodes,
    HalfUnits,
    Journeys,
    MoveConfig,
    open_baseline,
    unit_rows,
)
from linkwalk.navigate.click_weights import CHANCE, NOWHERE
from linkwalk.navigate.policy_walker import PolicyWalker
from linkwalk.policy.heads import HEADS, HeadConfig, build_head
from tests.graph.conftest import csr
from tests.navigate.oracle import map_ways
from tests.walks.conftest import unsorted_graph

BUDGET = 30


def check(graph: Csr, journeys: Journeys, weights: ClickWeights, *, sampled: bool) -> None:
    """The ways out are those of the pages; the one clicked is possible, and the best where nothing is drawn."""
    path = journeys.path(0).tolist()
    assert len(weights.indptr) == len(path)
    for t, page in enumerate(path[:-1]):
        own = slice(int(weights.indptr[t]), int(weights.indptr[t + 1]))
        row = graph.row(page).tolist()
        assert weights.targets[own].tolist()[:-1] == row
        choice = int(journeys.choices[0, t])
        at = len(row) if choice == BACK else choice
        assert weights.targets[own][at] == path[t + 1]
        likely, worth = weights.probability[own], weights.worth[own]
        assert likely.sum() == pytest.approx(1, abs=1e-5)
        assert (likely[weights.targets[own] == NOWHERE] == 0).all()
        assert likely[at] > 0
        if sampled or weights.measure == CHANCE:
            continue
        assert likely[at] == likely.max()
        if not np.isnan(worth).all():
            assert worth[at] == np.nanmax(worth)
            assert at == np.flatnonzero(worth == worth[at])[0] or choice == BACK


def world(seed: int, nodes: int) -> tuple[Csr, NDArray[np.float32], Episodes]:
    rng = np.random.default_rng(seed)
    edges = rng.integers(nodes, size=(int(rng.integers(0, 5 * nodes)), 2)).tolist()
    graph = csr(nodes, [(a, b) for a, b in edges])
    start, goal = rng.integers(nodes, size=2).tolist()
    return graph, unit_rows(rng.normal(size=(nodes, 6))), Episodes.of([start], [goal])


@pytest.mark.parametrize("name", BASELINES)
@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 25), st.booleans(), st.booleans(), st.integers(1, 6))
def test_every_baseline(name: str, seed: int, nodes: int, back: bool, sampled: bool, window: int) -> None:
    graph, vectors, episodes = world(seed, nodes)
    ways = MoveConfig(back=back, sampled=sampled, depth=4, window=window)
    agent = open_baseline(name, graph, vectors, ways)
    journeys = agent.run(episodes, budget=BUDGET, seed=seed)
    weights = agent.explain(episodes, journeys, seed=seed)
    check(graph, journeys, weights, sampled=sampled and name.endswith("-map"))


@pytest.mark.parametrize("name", ["greedy", "greedy-unvisited", "greedy-dfs", "greedy-map", "learned-map"])
@pytest.mark.parametrize("half", [False, True])
def test_a_larger_graph_and_halves(name: str, half: bool) -> None:
    rng = np.random.default_rng(3)
    graph = unsorted_graph(rng, nodes=400, links=5)
    vectors = rng.normal(size=(400, 48))
    units = HalfUnits(vectors.astype(np.float16)) if half else unit_rows(vectors)
    for back in (False, True):
        agent = open_baseline(name, graph, units, MoveConfig(back=back))
        for start, goal in rng.integers(400, size=(20, 2)).tolist():
            episodes = Episodes.of([start], [goal])
            journeys = agent.run(episodes, budget=60)
            check(graph, journeys, agent.explain(episodes, journeys), sampled=False)


@pytest.mark.parametrize("head", HEADS)
@settings(deadline=None)
@given(
    seed=st.integers(0, 10**6),
    nodes=st.integers(1, 20),
    how=st.sampled_from(["", "back", "sampled", "revisit"]),
)
def test_every_head(head: str, seed: int, nodes: int, how: str) -> None:
    import torch

    torch.manual_seed(seed)
    graph, vectors, episodes = world(seed, nodes)
    policy = build_head(HeadConfig(head=head, width=6, hidden=8)).eval()
    kinds = np.full(len(graph.indices), 2, np.uint8)
    agent = PolicyWalker("p", policy, graph, kinds, vectors, MoveConfig(**({how: True} if how else {})))
    journeys = agent.run(episodes, budget=BUDGET, seed=seed)
    check(graph, journeys, agent.explain(episodes, journeys, seed=seed), sampled=how == "sampled")


@pytest.mark.parametrize("window", [0, 4])
def test_a_map_says_what_it_went_by_and_for(window: int) -> None:
    rng = np.random.default_rng(8)
    graph, vectors = unsorted_graph(rng, nodes=60, links=3), unit_rows(rng.normal(size=(60, 5)))
    ways, ahead = MoveConfig(back=window > 0, window=window or 16), 0
    agent = open_baseline("greedy-map", graph, vectors, ways)
    for start, goal in rng.integers(60, size=(60, 2)).tolist():
        episodes = Episodes.of([start], [goal])
        journeys = agent.run(episodes, budget=40)
        weights = agent.explain(episodes, journeys)
        path = journeys.path(0).tolist()
        moves = journeys.choices[0, : len(path) - 1].tolist()
        for t in range(len(moves)):
            trades = {
                name: getattr(ways.constants, name) for name in ("detour", "crowding", "likeness", "homing")
            }
            worth = map_ways(graph, vectors, vectors[goal], path[: t + 1], moves[:t], window=window, **trades)
            own = slice(int(weights.indptr[t]), int(weights.indptr[t + 1]))
            found = {
                BACK if i == own.stop - own.start - 1 else i: float(value)
                for i, value in enumerate(weights.worth[own])
                if not np.isnan(value)
            }
            assert found == pytest.approx(worth, abs=1e-4)
            at = own.start + (own.stop - own.start - 1 if moves[t] == BACK else moves[t])
            if weights.towards[at] != NOWHERE:
                ahead += 1
                assert weights.towards[at] not in path[: t + 1]
                assert weights.towards[at] != path[t + 1]
    assert ahead > 5
