import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr
from linkwalk.graph.paths import ShortestPaths, distances_from
from linkwalk.walks import ForwardWalks, ShortestWalks, shortest
from tests.graph.conftest import csr
from tests.walks.conftest import assert_fits, ring, turned, unsorted_graph


def all_distances(graph: Csr) -> np.ndarray:
    return np.array([distances_from(graph, node) for node in range(graph.nodes)])


@given(st.integers(0, 2**32), st.integers(1, 6), st.booleans())
@settings(max_examples=25, deadline=None)
def test_exact_walks_are_as_long_as_the_search_says(seed: int, steps: int, multistep: bool) -> None:
    graph = unsorted_graph(np.random.default_rng(seed), links=1.5)
    distances = all_distances(graph)
    sampler = ShortestWalks(graph, turned(graph), steps=steps, multistep=multistep, reading="exact")
    if not set(range(1 if multistep else steps, steps + 1)) <= set(distances.ravel().tolist()):
        with pytest.raises(InputError, match="choose fewer steps"):
            sampler.sample(1000, np.random.default_rng(1))
        return
    walks = sampler.sample(300, np.random.default_rng(1))
    assert np.array_equal(distances[walks.starts, walks.goals], walks.lengths)


def test_exact_goals_and_starts_are_uniform() -> None:
    graph = unsorted_graph(np.random.default_rng(9), nodes=15, links=2.0)
    steps = 3
    at_distance = all_distances(graph) == steps
    starts = at_distance.sum(0)
    goals = np.flatnonzero(starts)
    assert 1 < len(goals) < np.count_nonzero(turned(graph).degrees()), "some goals are drawn again"
    exact = at_distance[:, goals] / starts[goals] / len(goals)
    sampler = ShortestWalks(graph, turned(graph), steps=steps, reading="exact")
    walks = sampler.sample(50_000, np.random.default_rng(1))
    pairs = np.bincount(walks.starts * 15 + walks.goals, minlength=225).reshape(15, 15)
    assert_fits(pairs[:, goals].ravel(), exact.ravel())
    assert pairs[:, goals].sum() == 50_000


def test_exact_multistep_lengths_are_uniform() -> None:
    sampler = ShortestWalks(ring(9), turned(ring(9)), steps=8, multistep=True, reading="exact")
    lengths = sampler.sample(20_000, np.random.default_rng(1)).lengths
    assert_fits(np.bincount(lengths, minlength=9)[1:], np.full(8, 1 / 8))


def test_searches_begin_anew_before_their_numbers_overflow() -> None:
    graph = unsorted_graph(np.random.default_rng(3))
    fresh, old = (ShortestWalks(graph, turned(graph), steps=3, reading="exact") for _ in range(2))
    old._epoch[0] = shortest.MAX_EPOCH - 20
    expected, walks = (sampler.sample(200, np.random.default_rng(1)) for sampler in (fresh, old))
    assert np.array_equal(walks.nodes, expected.nodes)
    assert old._epoch[0] < shortest.MAX_EPOCH


def test_the_walk_reading_has_the_ends_of_forward_walks() -> None:
    graph = unsorted_graph(np.random.default_rng(4))
    raw = ForwardWalks(graph, steps=6, apart=True).sample(2000, np.random.default_rng(1))
    walks = ShortestWalks(graph, turned(graph), steps=6).sample(2000, np.random.default_rng(1))
    assert np.array_equal(walks.starts, raw.starts)
    assert np.array_equal(walks.goals, raw.goals)
    assert np.array_equal(walks.lengths, all_distances(graph)[raw.starts, raw.goals])
    assert (walks.lengths < raw.lengths).any()


def test_many_paths_at_once_are_the_same_as_one_by_one() -> None:
    graph = unsorted_graph(np.random.default_rng(6), links=1.5)
    search, width = ShortestPaths(graph, turned(graph)), 3
    starts, goals = np.divmod(np.arange(graph.nodes**2), graph.nodes)
    lengths, nodes = search.paths(starts, goals, width)
    assert {-1, 0, 1, width, width + 1} <= set(lengths.tolist())
    for start, goal, length, row in zip(starts, goals, lengths, nodes, strict=True):
        distance, path = search.path(int(start), int(goal))
        assert length == distance
        expected = path.tolist() if distance <= width else []
        assert row.tolist() == expected + [-1] * (width + 1 - len(expected))


def test_what_cannot_be_had_is_refused() -> None:
    chain = csr(4, [(0, 1), (1, 2), (2, 3)])
    longest = ShortestWalks(chain, turned(chain), steps=3, reading="exact")
    assert longest.sample(9, np.random.default_rng(1)).nodes.tolist() == [[0, 1, 2, 3]] * 9
    longer = ShortestWalks(chain, turned(chain), steps=4, reading="exact", redraws=50)
    with pytest.raises(InputError, match="none of 50 goals has a start exactly 4 steps away"):
        longer.sample(1, np.random.default_rng(1))
    with pytest.raises(InputError, match='choose "exact" or "walk"'):
        ShortestWalks(chain, turned(chain), steps=3, reading="dijkstra")  # type: ignore[arg-type]
