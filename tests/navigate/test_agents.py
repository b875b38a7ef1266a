"""The batched agents against the plain ones, and their rules."""

from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray

from linkwalk.errors import ArtifactError, InputError
from linkwalk.graph.csr import Csr
from linkwalk.navigate import BACK, BASELINES, ENDED, Episodes, Journeys, MoveConfig, open_baseline, unit_rows
from tests.graph.conftest import csr
from tests.navigate import oracle


def random_csr(rng: np.random.Generator, nodes: int, degree: float) -> Csr:
    """A chain here and there, random links, double links, self-links, dead ends."""
    edges = [(int(a), int(b)) for a, b in rng.integers(nodes, size=(rng.poisson(nodes * degree), 2))]
    edges += [(i, i + 1) for i in range(nodes - 1) if rng.random() < 0.5]
    dead = set(rng.integers(nodes, size=2).tolist())
    return csr(nodes, [(a, b) for a, b in edges if a not in dead])


def small_numbers(rng: np.random.Generator, nodes: int, width: int) -> NDArray[np.float32]:
    """Vectors whose inner products are exact in any order of summation, with many ties."""
    return rng.integers(-2, 3, size=(nodes, width)).astype(np.float32)


def run(graph: Csr, vectors: NDArray[np.float32] | None, episodes: Episodes, **options: object) -> Journeys:
    budget, seed, name = options.pop("budget", 20), options.pop("seed", 0), str(options.pop("name"))
    agent = open_baseline(name, graph, vectors, MoveConfig(**options))  # type: ignore[arg-type]
    return agent.run(episodes, budget=budget, seed=seed)  # type: ignore[arg-type]


def check(journeys: Journeys, graph: Csr, episodes: Episodes, budget: int) -> None:
    """What holds of every journey, whoever makes it."""
    for e in range(episodes.size):
        steps, path = int(journeys.steps[e]), journeys.path(e).tolist()
        choices = journeys.choices[e].tolist()
        assert path[0] == episodes.starts[e]
        assert len(path) == steps + 1 <= budget + 1
        assert set(journeys.nodes[e, steps + 1 :].tolist()) <= {-1}
        assert set(choices[steps:]) <= {ENDED}
        assert journeys.success[e] == (path[-1] == episodes.goals[e])
        assert episodes.goals[e] not in path[:-1]
        stack, clicked_seen = [path[0]], False
        for t, choice in enumerate(choices[:steps]):
            if choice == BACK:
                stack.pop()
            else:
                stack.append(int(graph.row(path[t])[choice]))
                clicked_seen |= stack[-1] in path[: t + 1]
            assert path[t + 1] == stack[-1]
        assert journeys.looped[e] == clicked_seen
        assert (journeys.probabilities[e, :steps] > 0).all()


CASES = [
    {"name": "random"},
    {"name": "random", "back": True},
    {"name": "greedy"},
    {"name": "greedy", "back": True},
    {"name": "greedy-unvisited"},
    {"name": "greedy-unvisited", "back": True, "window": 3},
    {"name": "greedy-unvisited", "back": True},
    {"name": "random-dfs", "depth": 3},
    {"name": "greedy-dfs", "depth": 3},
    {"name": "greedy-dfs", "depth": 20},
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_agent_keeps_the_rules_and_is_what_the_words_say(case: dict[str, object]) -> None:
    compared = 0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 30))
        graph, vectors = random_csr(rng, n, rng.uniform(0.2, 2.5)), small_numbers(rng, n, 3)
        pairs = rng.integers(n, size=(40, 2))
        episodes, budget = Episodes.of(pairs[:, 0], pairs[:, 1]), int(rng.integers(1, 40))
        journeys = run(graph, vectors, episodes, budget=budget, seed=seed, **case)
        check(journeys, graph, episodes, budget)
        for e in range(episodes.size):
            start, goal = int(pairs[e, 0]), int(pairs[e, 1])
            match case:
                case {"name": "greedy"}:
                    path, moves = oracle.greedy(graph, vectors, start, goal, budget, "back" in case)
                case {"name": "greedy-unvisited", "back": True}:
                    window = int(str(case.get("window", 16)))
                    path, moves = oracle.best_first(graph, vectors, start, goal, budget, window)
                case {"name": "greedy-unvisited"}:
                    path, moves = oracle.greedy_unvisited(graph, vectors, start, goal, budget)
                case {"name": "greedy-dfs"}:
                    depth = int(str(case["depth"]))
                    path, moves = oracle.greedy_dfs(graph, vectors, start, goal, budget, depth)
                case _:
                    continue
            assert journeys.path(e).tolist() == path
            assert journeys.choices[e, : len(moves)].tolist() == moves
            compared += len(moves)
    assert compared > 1000 or str(case["name"]).startswith("random")


def test_the_budget_counts_moves_and_the_last_one_still_wins() -> None:
    chain = csr(5, [(i, i + 1) for i in range(4)])
    vectors = np.eye(5, dtype=np.float32)
    for name in BASELINES:
        for budget, success in ((4, True), (3, False), (1, False)):
            journeys = run(chain, vectors, Episodes.of([0], [4]), name=name, budget=budget)
            assert (bool(journeys.success[0]), int(journeys.steps[0])) == (success, min(budget, 4)), name


def test_standing_on_the_goal_needs_no_step() -> None:
    journeys = run(csr(2, [(0, 1)]), None, Episodes.of([0, 1], [0, 1]), name="random")
    assert journeys.success.all()
    assert journeys.steps.tolist() == [0, 0]


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("name", BASELINES)
def test_a_start_without_links_is_a_failure_without_steps(name: str, back: bool) -> None:
    graph, vectors = csr(2, []), np.ones((2, 2), np.float32)
    journeys = run(graph, vectors, Episodes.of([0], [1]), name=name, back=back)
    assert (bool(journeys.success[0]), int(journeys.steps[0])) == (False, 0)


def test_a_dead_end_ends_the_journey_unless_there_is_a_back_button() -> None:
    graph = csr(4, [(0, 1), (0, 2), (2, 3)])
    vectors = np.array(
        [[0, 1], [1, 0], [0, 1], [1, 0]], np.float32
    )  # 1 looks like the goal, 3, and is a trap
    trapped = run(graph, vectors, Episodes.of([0], [3]), name="greedy-unvisited")
    assert trapped.path(0).tolist() == [0, 1]
    assert not trapped.success[0]
    freed = run(graph, vectors, Episodes.of([0], [3]), name="greedy-unvisited", back=True)
    assert freed.path(0).tolist() == [0, 1, 0, 2, 3]
    assert freed.choices[0, :4].tolist() == [0, BACK, 1, 0]
    assert freed.success[0]
    assert not freed.looped[0]


def test_going_back_costs_a_step_in_depth_first_search_and_the_depth_is_kept() -> None:
    #  0 -> 1 -> 2 -> 3, 0 -> 4: the goal 4 looks least like itself, so the greedy search goes down first
    graph = csr(5, [(0, 1), (1, 2), (2, 3), (0, 4)])
    vectors = np.array([[0, 0], [3, 0], [3, 0], [3, 0], [1, 0]], np.float32)
    episode = Episodes.of([0], [4])
    assert run(graph, vectors, episode, name="greedy-dfs", depth=2).path(0).tolist() == [0, 1, 2, 1, 0, 4]
    deep = run(graph, vectors, episode, name="greedy-dfs", depth=9)
    assert deep.path(0).tolist() == [0, 1, 2, 3, 2, 1, 0, 4]
    assert not run(graph, vectors, episode, name="greedy-dfs", depth=9, budget=6).success[0]
    assert run(graph, vectors, episode, name="greedy-dfs", depth=9, budget=7).success[0]


def test_a_finished_search_stops() -> None:
    ring = csr(4, [(0, 1), (1, 0), (2, 3)])
    for name in ("random-dfs", "greedy-dfs"):
        journeys = run(ring, np.ones((4, 2), np.float32), Episodes.of([0], [3]), name=name)
        assert journeys.path(0).tolist() == [0, 1, 0]


def test_without_unseen_links_the_page_seen_longest_ago_is_next() -> None:
    graph = csr(4, [(0, 1), (1, 2), (2, 1), (2, 0)])
    journeys = run(
        graph, np.ones((4, 2), np.float32), Episodes.of([0], [3]), name="greedy-unvisited", budget=6
    )
    assert journeys.path(0).tolist() == [0, 1, 2, 0, 1, 2, 0]
    assert journeys.looped[0]


@pytest.mark.parametrize(("back", "ways"), [(False, 3), (True, 4)])
def test_random_is_uniform_over_links_and_the_back_button(back: bool, ways: int) -> None:
    # From 0 there is one way, to 1; from 1 there are two to 2 and one to 3.
    graph, count = csr(5, [(0, 1), (1, 2), (1, 2), (1, 3)]), 40_000
    episodes = Episodes.of([0] * count, [4] * count)
    journeys = run(graph, None, episodes, name="random", back=back, budget=2)
    found = Counter(journeys.choices[:, 1].tolist())
    assert set(found) == ({0, 1, 2, BACK} if back else {0, 1, 2})
    assert max(abs(n / count - 1 / ways) for n in found.values()) < 0.012
    assert np.allclose(journeys.probabilities, [1, 1 / ways])


def test_random_depth_first_is_uniform_over_unseen_links() -> None:
    graph, count = csr(5, [(0, 1), (1, 0), (1, 2), (1, 3)]), 40_000
    journeys = run(graph, None, Episodes.of([0] * count, [4] * count), name="random-dfs", budget=2)
    found = Counter(journeys.nodes[:, 2].tolist())
    assert set(found) == {2, 3}
    assert abs(found[2] / count - 0.5) < 0.012
    assert (journeys.probabilities[:, 1] == 0.5).all()


@pytest.mark.parametrize("name", ["random", "random-dfs", "greedy-unvisited"])
def test_results_do_not_depend_on_batches_threads_or_company(name: str) -> None:
    rng = np.random.default_rng(3)
    graph, vectors = random_csr(rng, 200, 2), unit_rows(rng.normal(size=(200, 8)))
    pairs = rng.integers(200, size=(300, 2))
    episodes = Episodes.of(pairs[:, 0], pairs[:, 1])
    ways = MoveConfig(back=True)
    whole = open_baseline(name, graph, vectors, ways).run(episodes, budget=30, seed=7)
    threads = open_baseline(name, graph, vectors, ways, workers=3).run(episodes, budget=30, seed=7)
    pieces = [
        open_baseline(name, graph, vectors, ways).run(episodes.part(a, a + 77), budget=30, seed=7)
        for a in range(0, 300, 77)
    ]
    for i, column in enumerate(whole):
        np.testing.assert_array_equal(column, threads[i])
        np.testing.assert_array_equal(column, np.concatenate([piece[i] for piece in pieces]))
    other = open_baseline(name, graph, vectors, ways).run(episodes, budget=30, seed=8)
    assert (other.nodes == whole.nodes).all() == (name == "greedy-unvisited")


def test_a_query_stands_for_the_goal() -> None:
    graph, vectors = csr(3, [(0, 1), (0, 2)]), np.eye(3, dtype=np.float32)
    episodes = Episodes.of([0, 0], [2, 2])._replace(queries=vectors[[2, 1]])
    assert run(graph, vectors, episodes, name="greedy", budget=1).nodes[:, 1].tolist() == [2, 1]


def test_unit_rows() -> None:
    rows = unit_rows(np.array([[3, 4], [0, 0], [-2, 0]], np.float16))
    assert rows.dtype == np.float32
    assert np.allclose(rows, np.array([[0.6, 0.8], [0, 0], [-1, 0]]))
    with pytest.raises(ArtifactError, match="node 1 is not a number"):
        unit_rows(np.array([[1, 0], [np.nan, 0]], np.float32))


def test_what_cannot_be_is_refused() -> None:
    graph = csr(2, [(0, 1)])
    with pytest.raises(InputError, match="no agent named 'best': choose one of random, "):
        open_baseline("best", graph)
    with pytest.raises(InputError, match="greedy needs embeddings: run `linkwalk embed"):
        open_baseline("greedy", graph)
    with pytest.raises(InputError, match="3 embeddings do not fit a graph of 2"):
        open_baseline("greedy", graph, np.eye(3, dtype=np.float32))
