import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwalk.graph.csr import Csr
from linkwalk.walks import ForwardWalks, ShortcutWalks, Walks, take_shortcuts
from tests.graph.conftest import csr
from tests.walks.conftest import as_lists, assert_valid, unsorted_graph


def plain_shortcut(graph: Csr, walk: list[int]) -> list[int]:
    """From the last place a node occurs at, on to the latest node of the walk that it links to."""
    here = max(i for i, node in enumerate(walk) if node == walk[0])
    path = [walk[0]]
    while here < len(walk) - 1:
        links = set(graph.row(walk[here]).tolist())
        here = max(i for i in range(here + 1, len(walk)) if walk[i] in links)
        path.append(walk[here])
    return path


@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(2, 60))
@settings(max_examples=60, deadline=None)
def test_shortcuts_are_those_of_the_plain_rule(seed: int, steps: int, nodes: int) -> None:
    graph = unsorted_graph(np.random.default_rng(seed), nodes=nodes)
    if not len(graph.indices):
        return
    raw = ForwardWalks(graph, steps=steps, multistep=True).sample(60, np.random.default_rng(seed))
    short = take_shortcuts(graph, raw)
    assert as_lists(short) == [plain_shortcut(graph, walk) for walk in as_lists(raw)]
    assert (short.nodes[np.arange(steps + 1) > short.lengths[:, None]] == -1).all()
    for path, walk in zip(as_lists(short), as_lists(raw), strict=True):
        assert len(path) == len(set(path)) <= len(walk)
        assert (path[0], path[-1]) == (walk[0], walk[-1])


def test_loops_are_erased_and_chords_taken() -> None:
    graph = csr(6, [(0, 1), (1, 2), (2, 1), (1, 3), (3, 4), (0, 3), (4, 5), (5, 0)])
    walk = [0, 1, 2, 1, 3, 4]
    walks = Walks(np.array([walk, [5, 0, 1, 2, -1, -1]], np.int32), np.array([5, 3], np.int32))
    short = take_shortcuts(graph, walks)
    assert as_lists(short) == [[0, 3, 4], [5, 0, 1, 2]]


def test_a_walk_that_comes_back_has_no_steps_left() -> None:
    graph = csr(2, [(0, 1), (1, 0), (0, 0)])
    walks = Walks(np.array([[0, 1, 0, 0]], np.int32), np.array([3], np.int32))
    assert as_lists(take_shortcuts(graph, walks)) == [[0]]


def test_a_walk_that_no_link_leads_along_is_refused() -> None:
    walks = Walks(np.array([[0, 1, 2]], np.int32), np.array([2], np.int32))
    with pytest.raises(ValueError, match="does not follow"):
        take_shortcuts(csr(3, [(0, 1), (2, 0)]), walks)


def test_the_sampler_cuts_forward_walks_whose_ends_differ() -> None:
    graph = unsorted_graph(np.random.default_rng(4))
    raw = ForwardWalks(graph, steps=9, apart=True).sample(1000, np.random.default_rng(1))
    short = ShortcutWalks(graph, steps=9).sample(1000, np.random.default_rng(1))
    assert_valid(short, graph, 1000, 9)
    assert np.array_equal(short.nodes, take_shortcuts(graph, raw).nodes)
    assert short.lengths.mean() < 0.7 * raw.lengths.mean()
