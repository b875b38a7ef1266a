from collections import deque
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwalk.compiled import OUTSIDE
from linkwalk.errors import InputError
from linkwalk.graph import paths
from linkwalk.graph.csr import Csr, transpose
from linkwalk.graph.paths import ShortestPaths, distances_from, no_way_out, why_no_path
from linkwalk.graph.store import LINK
from linkwalk.graph.sweeps import histogram_median, path_lengths
from tests.graph.conftest import Page, csr, write_graph


@st.composite
def graphs(draw: st.DrawFn) -> Csr:
    nodes = draw(st.integers(1, 25))
    node = st.integers(0, nodes - 1)
    return csr(nodes, draw(st.lists(st.tuples(node, node), max_size=60)))


def plain_distances(graph: Csr, source: int) -> list[int]:
    distance = {source: 0}
    queue = deque([source])
    while queue:
        node = queue.popleft()
        for target in graph.row(node).tolist():
            if target not in distance:
                distance[target] = distance[node] + 1
                queue.append(target)
    return [distance.get(node, -1) for node in range(graph.nodes)]


def read_only(graph: Csr) -> Csr:
    for array in graph:
        array.flags.writeable = False
    return graph


@given(graphs())
@settings(max_examples=60, deadline=None)
def test_one_source_many_sources_and_two_ends_agree_with_plain_search(graph: Csr) -> None:
    oracle = np.array([plain_distances(graph, source) for source in range(graph.nodes)])
    assert np.array_equal([distances_from(graph, s) for s in range(graph.nodes)], oracle)

    lengths = path_lengths(graph, np.arange(graph.nodes))
    assert lengths.counts.tolist()[1:] == np.bincount(oracle[oracle > 0]).tolist()[1:]
    assert lengths.counts[0] == 0
    assert lengths.unreachable == np.count_nonzero(oracle < 0)
    if lengths.reachable:
        assert lengths.median == np.median(oracle[oracle > 0])
        assert lengths.mean == pytest.approx(oracle[oracle > 0].mean())
    else:
        assert lengths.median is None
        assert lengths.mean is None

    search = ShortestPaths(graph, read_only(transpose(graph)))
    starts, goals = np.divmod(np.arange(graph.nodes**2), graph.nodes)
    assert np.array_equal(search.distances(starts, goals), oracle.ravel())
    for start, goal in zip(starts.tolist()[:50], goals.tolist()[:50], strict=True):
        distance, nodes = search.path(start, goal)
        assert distance == oracle[start, goal] == search.distance(start, goal)
        assert len(nodes) == distance + 1
        if distance >= 0:
            assert (nodes[0], nodes[-1]) == (start, goal)
            assert all(b in graph.row(a) for a, b in pairwise(nodes))


def skewed(rng: np.random.Generator, nodes: int, edges: int) -> Csr:
    pairs = np.stack([rng.integers(nodes, size=edges), (nodes * rng.random(edges) ** 3).astype(np.int64)], 1)
    return csr(nodes, [tuple(p) for p in pairs.tolist()])


def test_more_than_one_word_of_sources_in_several_threads() -> None:
    graph = skewed(np.random.default_rng(1), 500, 1500)
    sources = np.random.default_rng(2).permutation(500)[:200]
    oracle = np.array([plain_distances(graph, s) for s in sources.tolist()])
    done: list[int] = []
    lengths = path_lengths(graph, sources, workers=3, advance=done.append)
    assert sorted(done) == [8, 64, 64, 64]
    assert lengths.counts.tolist()[1:] == np.bincount(oracle[oracle > 0]).tolist()[1:]
    assert lengths.unreachable == np.count_nonzero(oracle < 0)
    assert lengths.unreachable_share == pytest.approx(lengths.unreachable / (200 * 499))


def test_a_chain_longer_than_the_first_histogram() -> None:
    chain = csr(300, [(i, i + 1) for i in range(299)])
    lengths = path_lengths(chain, np.array([0]))
    assert lengths.counts.tolist() == [0] + [1] * 299
    search = ShortestPaths(chain, read_only(transpose(chain)))
    assert search.path(0, 299).nodes.tolist() == list(range(300))
    assert search.path(299, 0).distance == -1


def test_no_sources_and_repeated_sources() -> None:
    graph = csr(3, [(0, 1), (1, 2)])
    assert path_lengths(graph, np.zeros(0, np.int64)).reachable == 0
    assert path_lengths(graph, np.array([0, 0])).counts.tolist() == [0, 2, 2]


def test_epochs_begin_anew_before_they_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "MAX_EPOCH", 5)
    graph = csr(4, [(0, 1), (1, 2), (2, 3)])
    search = ShortestPaths(graph, read_only(transpose(graph)))
    for _ in range(10):
        assert search.path(0, 3) == (3, pytest.approx([0, 1, 2, 3]))
        assert search.distance(3, 0) == -1


def test_a_search_that_fails_leaves_no_marks() -> None:
    sound = csr(8, [(0, 1), (1, 2), (2, 3), (4, 1), (4, 5), (5, 3), (6, 3), (7, 3)])
    targets = sound.indices.copy()
    targets[sound.indptr[4] + 1] = 8
    search = ShortestPaths(read_only(Csr(sound.indptr, targets)), read_only(transpose(sound)))
    with pytest.raises(IndexError, match=OUTSIDE):
        search.path(4, 3)
    assert search.path(0, 3) == (3, pytest.approx([0, 1, 2, 3]))


def test_pairs_must_be_pairs_of_nodes() -> None:
    graph = csr(2, [(0, 1)])
    search = ShortestPaths(graph, read_only(transpose(graph)))
    with pytest.raises(InputError, match="0 to 1"):
        search.path(0, 2)
    with pytest.raises(InputError, match="do not pair"):
        search.distances([0, 1], [1])
    assert search.distances([], []).shape == (0,)


@given(st.lists(st.integers(0, 9), max_size=30))
def test_median_of_a_histogram_is_numpys(values: list[int]) -> None:
    median = histogram_median(np.arange(10), np.bincount(values, minlength=10))
    assert median == (np.median(values) if values else None)


def test_one_line_says_why_no_path_leads_there(tmp_path: Path) -> None:
    links = {"A": "B", "B": "A", "C": "A", "D": "C", "E": "F", "F": None}
    pages = {name: [Page("word", [(to, 0, LINK)] if to else [])] for name, to in links.items()}
    graph = write_graph(tmp_path, pages)
    a, b, c, d, _, f = range(6)
    assert no_way_out(graph, a) is None
    assert no_way_out(graph, f) == "F (0) has no links, so no path leads anywhere: start elsewhere"
    assert why_no_path(graph, f, a) == no_way_out(graph, f)
    assert why_no_path(graph, a, d) == "nothing links to D (0), so no path leads there: choose another goal"
    assert why_no_path(graph, b, c) == (
        "no path leads from B (0) to C (0): 1 other block can be reached from the first, 1 leads to the second"
    )
    assert why_no_path(graph, d, f).endswith(
        "3 other blocks can be reached from the first, 1 leads to the second"
    )
