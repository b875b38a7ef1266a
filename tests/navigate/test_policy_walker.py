"""A learned policy as an agent: what it is shown, its back button, links drawn by their probability."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr
from linkwalk.navigate import BACK, Episodes, MoveConfig, unit_rows
from linkwalk.navigate.policy_walker import PolicyWalker
from linkwalk.policy.decisions import Decisions
from linkwalk.policy.heads import HEADS, HeadConfig, NodeTable, build_head, log_softmax
from tests.graph.conftest import csr
from tests.navigate.oracle import Look, policy_with_back
from tests.navigate.test_agents import check, random_csr
from tests.walks.conftest import assert_fits, unsorted_graph

WIDTH = 6


def policy(name: str, seed: int = 0, spread: float = 1.5) -> torch.nn.Module:
    """A head with weights that mean nothing, all of them at work."""
    torch.manual_seed(seed)
    head = build_head(HeadConfig(head=name, width=WIDTH, hidden=8, temperature=4.0))
    for weight in head.parameters():
        torch.nn.init.normal_(weight, std=0.02 if name == "compass" else spread)
    return head


def looking(head: torch.nn.Module, graph: Csr, kinds: NDArray[np.uint8], vectors: NDArray[np.float32]):
    """How a head sees one page, by itself: the log-probability of each of its links."""
    table, none = NodeTable(torch.as_tensor(vectors)), np.zeros(0, np.int64)

    def towards(goal: int) -> Look:
        def look(page: int, seen: set[int]) -> list[float]:
            target = graph.row(page).copy()
            kind = kinds[graph.indptr[page] : graph.indptr[page + 1]]
            visited = np.array([t in seen for t in target.tolist()], bool)
            at, to = np.array([page], np.int32), np.array([goal], np.int32)
            decisions = Decisions(at, to, np.array([0, len(target)]), target, kind, visited, none)
            with torch.no_grad():
                return log_softmax(*table.logits(head, decisions), 1).tolist()

        return look

    return towards


@pytest.mark.parametrize("name", HEADS)
def test_it_looks_for_what_it_is_shown(name: str) -> None:
    rng = np.random.default_rng(2)
    graph = csr(60, sorted({(int(a), int(b)) for a, b in rng.integers(0, 60, (300, 2)) if a != b}))
    vectors = 3 * unit_rows(rng.normal(size=(60, 16)).astype(np.float32))  # all of one length
    torch.manual_seed(1)
    head = build_head(HeadConfig(head=name, width=16, hidden=8))
    agent = PolicyWalker(name, head, graph, np.full(len(graph.indices), 2, np.uint8), vectors)
    episodes = Episodes.of(rng.integers(0, 60, 80), rng.integers(0, 60, 80))
    plain = agent.run(episodes, budget=20)
    shown = agent.run(episodes._replace(queries=unit_rows(vectors)[episodes.goals]), budget=20)
    assert np.array_equal(plain.nodes, shown.nodes)
    assert np.allclose(plain.probabilities, shown.probabilities, atol=1e-4)
    # Led to another goal's description it walks towards that one, and the episode's own goal still ends it.
    others = rng.permutation(episodes.goals)
    misled = agent.run(episodes._replace(queries=unit_rows(vectors)[others]), budget=20)
    towards = agent.run(Episodes.of(episodes.starts, others), budget=20)
    first = (episodes.starts != episodes.goals) & (episodes.starts != others)
    assert np.array_equal(misled.nodes[first, 1], towards.nodes[first, 1])
    assert not np.array_equal(misled.nodes, plain.nodes)


@pytest.mark.parametrize("window", [1, 3, 16])
@pytest.mark.parametrize(
    "name", [name for name in HEADS if name != "transformer"]
)  # which remembers its walk
def test_the_back_button_is_what_the_words_say(name: str, window: int) -> None:
    compared = back = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        nodes, budget = int(rng.integers(1, 30)), int(rng.choice([1, 12, 30]))
        graph = (
            unsorted_graph(rng, nodes=nodes, links=1.5)
            if seed % 2
            else random_csr(rng, nodes, rng.uniform(0.5, 2))
        )
        kinds = rng.integers(0, 4, len(graph.indices)).astype(np.uint8)
        vectors = unit_rows(rng.normal(size=(nodes, WIDTH)))
        episodes = Episodes.of(rng.integers(nodes, size=15), rng.integers(nodes, size=15))
        head = policy(name, seed)
        config = MoveConfig(back=True, window=window)
        journeys = PolicyWalker(name, head, graph, kinds, vectors, config).run(episodes, budget=budget)
        check(journeys, graph, episodes, budget)
        towards = looking(head, graph, kinds, vectors)
        for e in range(15):
            path, goal = journeys.path(e).tolist(), int(episodes.goals[e])
            moves = journeys.choices[e, : len(path) - 1].tolist()
            allowed = policy_with_back(graph, towards(goal), path, moves, window, near=1e-4)
            for t, move in enumerate(moves):
                assert move in allowed[t]
                if move == BACK:
                    assert journeys.probabilities[e, t] == 1
            assert len(moves) == budget or path[-1] == goal or not allowed[-1]
            compared, back = compared + len(moves), back + moves.count(BACK)
    assert compared > 150
    assert back > 20


def test_with_the_back_button_a_dead_end_is_no_end() -> None:
    graph = csr(5, [(0, 1), (0, 2), (2, 3)])
    vectors = unit_rows(np.array([[0, 1], [1, 0], [0, 1], [1, 0], [1, 0]]))
    head = build_head(HeadConfig(head="residual", width=2))
    episodes = Episodes.of([0, 1, 0], [3, 3, 4])
    kinds = np.zeros(3, np.uint8)
    without = PolicyWalker("p", head, graph, kinds, vectors).run(episodes, budget=6)
    assert [without.path(e).tolist() for e in range(3)] == [[0, 1], [1], [0, 1]]
    found = PolicyWalker("p", head, graph, kinds, vectors, MoveConfig(back=True)).run(episodes, budget=6)
    assert found.path(0).tolist() == [0, 1, 0, 2, 3]
    assert found.choices[0, :4].tolist() == [0, BACK, 1, 0]
    assert (found.steps.tolist(), found.success.tolist()) == ([4, 0, 6], [True, False, False])
    # All seen: back to the start, and from there to the page seen longest ago.
    assert found.path(2).tolist() == [0, 1, 0, 2, 3, 2, 0]
    assert not found.looped.any()
    on = PolicyWalker("p", head, graph, kinds, vectors, MoveConfig(back=True)).run(episodes, budget=7)
    assert on.path(2).tolist()[-1] == 1
    assert on.looped.tolist() == [False, False, True]


@pytest.mark.parametrize("revisit", [False, True])
def test_links_are_drawn_by_their_probability(revisit: bool) -> None:
    # From 0 to 1, the only way; from 1 back to 0, to 2, to 3 twice, to 4.
    graph, count = csr(6, [(0, 1), (1, 0), (1, 2), (1, 3), (1, 3), (1, 4)]), 20_000
    rng = np.random.default_rng(1)
    kinds, vectors = rng.integers(0, 4, 6).astype(np.uint8), unit_rows(rng.normal(size=(6, WIDTH)))
    head = policy("residual", spread=0.3)
    config = MoveConfig(sampled=True, revisit=revisit)
    journeys = PolicyWalker("p", head, graph, kinds, vectors, config).run(
        Episodes.of([0] * count, [5] * count), budget=2, seed=3
    )
    assert (journeys.nodes[:, 1] == 1).all()
    likely = np.exp(looking(head, graph, kinds, vectors)(5)(1, {0, 1}))
    found = journeys.choices[:, 1]
    assert np.allclose(journeys.probabilities[:, 1], likely[found], atol=1e-5)
    drawn = likely * [revisit, 1, 1, 1, 1]
    assert_fits(np.bincount(found, minlength=5), drawn / drawn.sum())


def test_a_page_seen_before_is_drawn_only_where_there_is_no_other() -> None:
    rng = np.random.default_rng(5)
    graph = csr(20, [(a, int(b)) for a in range(1, 20) for b in rng.integers(20, size=2)])
    kinds = rng.integers(0, 4, len(graph.indices)).astype(np.uint8)
    vectors = unit_rows(rng.normal(size=(20, WIDTH)))
    episodes = Episodes.of(rng.integers(20, size=200), rng.integers(20, size=200))
    agent = PolicyWalker("p", policy("mlp"), graph, kinds, vectors, MoveConfig(sampled=True))
    journeys = agent.run(episodes, budget=25, seed=1)
    check(journeys, graph, episodes, 25)
    cornered = 0
    for e in range(200):
        path = journeys.path(e).tolist()
        for t in range(len(path) - 1):
            fresh = set(graph.row(path[t]).tolist()) - set(path[: t + 1])
            assert path[t + 1] in fresh or not fresh
            cornered += not fresh
        if path[-1] != episodes.goals[e] and len(path) < 26:
            assert len(graph.row(path[-1])) == 0
    assert cornered > 10
    again = agent.run(episodes, budget=25, seed=1)
    for name, column in journeys._asdict().items():
        np.testing.assert_array_equal(column, getattr(again, name))
    # A draw depends on the seed and the episode's number, not on its company.
    pieces = [agent.run(episodes.part(a, a + 50), budget=25, seed=1) for a in range(0, 200, 50)]
    assert (np.concatenate([piece.nodes for piece in pieces]) == journeys.nodes).all(1).mean() > 0.99
    assert not np.array_equal(agent.run(episodes, budget=25, seed=2).nodes, journeys.nodes)


def test_new_pages_that_are_most_improbable() -> None:
    """All of them together have a probability of less than a float can hold, the page seen before has the rest."""
    graph = csr(4, [(0, 1), (1, 0), (1, 2), (1, 3)])
    vectors = np.array([[1, 0], [1, 0], [-1, 0.01], [-1, -0.01]], np.float32)
    head = build_head(HeadConfig(head="residual", width=2, temperature=400.0))
    episodes = Episodes.of([0] * 500, [-1] * 500)._replace(queries=np.tile(vectors[:1], (500, 1)))
    journeys = PolicyWalker("p", head, graph, np.zeros(4, np.uint8), vectors, MoveConfig(sampled=True)).run(
        episodes, budget=2
    )
    assert 200 < (journeys.nodes[:, 2] == 2).sum() < 300
    assert set(journeys.nodes[:, 2].tolist()) == {2, 3}


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(InputError, match="window=0: choose 1 or more"):
        MoveConfig(window=0)
    for wrong in ({"sampled": True}, {"revisit": True}):
        with pytest.raises(InputError, match="with a back button takes the best unseen link"):
            PolicyWalker(
                "p",
                policy("mlp"),
                csr(1, []),
                np.zeros(0, np.uint8),
                np.eye(1),
                MoveConfig(back=True, **wrong),
            )
