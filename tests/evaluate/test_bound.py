"""The bound, against every path of graphs small enough to list them all."""

import itertools
from collections import defaultdict

import numpy as np
import pytest
import torch

from linkwalk.errors import InputError
from linkwalk.evaluate.bound import (
    DISTRIBUTIONS,
    bound,
    draw_trajectories,
    of_head,
    path_likelihoods,
    uniform,
)
from linkwalk.graph.csr import Csr
from linkwalk.graph.paths import ShortestPaths
from linkwalk.policy.heads import HeadConfig, NodeTable, build_head
from linkwalk.walks import Walks, take_shortcuts
from tests.graph.conftest import csr
from tests.walks.conftest import turned, unsorted_graph

STEPS = 4
Path = tuple[int, ...]


def small_graph() -> Csr:
    """Loops, chords, a dead end (6), a node that nothing links to (0) and a link that stands twice (1 to 2)."""
    edges = [
        (0, 1),
        (0, 3),
        (1, 2),
        (1, 2),
        (1, 3),
        (2, 1),
        (2, 4),
        (3, 1),
        (3, 4),
        (3, 5),
        (4, 5),
        (4, 2),
        (5, 3),
        (5, 6),
    ]
    return csr(7, edges)


def whole_paths(graph: Csr) -> dict[Path, float]:
    """Every walk of STEPS steps from a uniform linked start, with its probability."""
    starts = np.flatnonzero(graph.degrees()).tolist()
    level = {(n,): 1 / len(starts) for n in starts}
    for _ in range(STEPS):
        further: dict[Path, float] = defaultdict(float)
        for path, share in level.items():
            row = graph.row(path[-1]).tolist()
            for node in row:
                further[(*path, node)] += share / len(row)
        level = further
    return level


def as_walks(paths: list[Path]) -> Walks:
    nodes = np.full((len(paths), STEPS + 1), -1, np.int32)
    for row, path in zip(nodes, paths, strict=True):
        row[: len(path)] = path
    return Walks(nodes, np.array([len(path) - 1 for path in paths], np.int32))


@pytest.fixture(scope="module")
def policy():
    """A head with random weights over random embeddings: it looks at the goal and at what has been visited."""
    torch.manual_seed(3)
    head = build_head(HeadConfig(head="feedforward", width=8))
    return of_head(head, NodeTable(torch.randn(7, 8)))


def exact_success(graph: Csr, kinds: np.ndarray, policy, goal: int) -> float:
    """P(the policy stands on the goal within STEPS steps), over all its paths."""
    starts = np.flatnonzero(graph.degrees()).tolist()
    total = 0.0
    level: list[Path] = [(n,) for n in starts]
    for _ in range(STEPS):
        level = [
            (*p, n) for p in level for n in set(graph.row(p[-1]).tolist()) if p[-1] != goal or len(p) == 1
        ]
        arrived = [p for p in level if p[-1] == goal]
        if arrived:
            likely = path_likelihoods(as_walks(arrived), graph, kinds, policy)
            total += float(np.exp(likely).sum()) / len(starts)
    return total


def test_every_distribution_is_bounded_by_what_the_policy_reaches(policy) -> None:
    graph = small_graph()
    reverse, kinds = turned(graph), np.full(len(graph.indices), 2, np.uint8)
    walks = {path: share for path, share in whole_paths(graph).items() if path[0] != path[-1]}
    total = sum(walks.values())
    by_goal: dict[int, dict[Path, float]] = defaultdict(dict)
    for path, share in walks.items():
        by_goal[path[-1]][path] = share / total
    search, starts = ShortestPaths(graph, reverse), int(np.count_nonzero(graph.degrees()))

    def fit(paths: list[Path]) -> np.ndarray:
        return path_likelihoods(as_walks(paths), graph, kinds, policy)

    exact = dict.fromkeys(DISTRIBUTIONS, 0.0)
    truth = 0.0
    for goal, paths in by_goal.items():
        weight = sum(paths.values())
        truth += weight * np.log(exact_success(graph, kinds, policy, goal))
        ends: dict[int, float] = defaultdict(float)
        for path, share in paths.items():
            ends[path[0]] += share / weight
        spread = -np.log(starts)  # log p(n_0), to which the entropy of q is added
        q = np.array(list(paths.values())) / weight
        exact["forward"] += weight * (spread + q @ (fit(list(paths)) - np.log(q)))
        start_entropy = -sum(share * np.log(share) for share in ends.values())
        shortest = [tuple(search.path(n, goal).nodes.tolist()) for n in ends]
        exact["shortest"] += weight * (spread + start_entropy + np.array(list(ends.values())) @ fit(shortest))
        cut = take_shortcuts(graph, as_walks(list(paths)))
        exact["shortcut"] += weight * (
            spread + start_entropy + q @ path_likelihoods(cut, graph, kinds, policy)
        )
        back: dict[Path, float] = {(goal,): 1.0}
        for _ in range(STEPS):
            further: dict[Path, float] = defaultdict(float)
            for path, share in back.items():
                row = reverse.row(path[0]).tolist()
                for node in row:
                    further[(node, *path)] += share / len(row)
            back = further
        r = np.array(list(back.values())) / sum(back.values())
        exact["reverse"] += weight * (spread + r @ (fit(list(back)) - np.log(r)))

    drawn = draw_trajectories(graph, reverse, steps=STEPS, count=4000, seed=1)
    assert list(drawn) == list(DISTRIBUTIONS)
    for name, trajectories in drawn.items():
        found = bound(name, trajectories, graph, kinds, policy)
        assert found.bound == pytest.approx(found.fit + found.spread)
        assert abs(found.bound - exact[name]) < 5 * found.standard_error + 1e-9, name
        assert exact[name] < truth, name


def test_the_bound_is_exact_for_the_policy_that_clicks_at_random() -> None:
    graph = small_graph()
    reached: dict[int, float] = defaultdict(float)
    for path, share in whole_paths(graph).items():
        if path[0] != path[-1]:
            reached[path[-1]] += share
    walks, spread = draw_trajectories(graph, turned(graph), steps=STEPS, count=200)["forward"]
    kinds = np.full(len(graph.indices), 2, np.uint8)
    values = path_likelihoods(walks, graph, kinds, uniform) + spread
    assert np.allclose(values, [np.log(reached[int(goal)]) for goal in walks.goals])


@pytest.mark.parametrize("seed", range(3))
def test_paths_are_walks_to_the_same_goals(seed: int) -> None:
    graph = unsorted_graph(np.random.default_rng(seed))
    drawn = draw_trajectories(graph, turned(graph), steps=6, count=100, seed=seed)
    for name, (walks, spread) in drawn.items():
        assert (walks.goals == drawn["forward"].walks.goals).all(), name
        assert np.isfinite(spread).all(), name
        for row, length in zip(walks.nodes.tolist(), walks.lengths.tolist(), strict=True):
            assert all(b in graph.row(a) for a, b in itertools.pairwise(row[: length + 1])), name
    again = draw_trajectories(graph, turned(graph), steps=6, count=100, seed=seed)
    assert all((again[name].spread == drawn[name].spread).all() for name in drawn)


def test_a_graph_of_dead_ends_has_no_bound() -> None:
    graph = csr(3, [(0, 1), (1, 2)])
    with pytest.raises(InputError, match="choose fewer steps"):
        draw_trajectories(graph, turned(graph), steps=5, count=10)
