from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwalk.graph.columns import Strings
from linkwalk.graph.paths import distances_from
from linkwalk.graph.statistics import count_words, highest, statistics
from linkwalk.graph.store import KINDS, Graph
from tests.graph.conftest import Page, random_graph, write_graph


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return random_graph(tmp_path_factory.mktemp("wiki"), np.random.default_rng(0), articles=40, links=1.2)


def test_statistics_agree_with_a_plain_count(graph: Graph) -> None:
    found = statistics(graph, sources=10)
    edges = [graph.links(n) for n in range(graph.nodes)]
    assert (found.articles, found.nodes, found.edges) == (40, graph.nodes, sum(map(len, edges)))
    kinds = [e.kind for row in edges for e in row]
    assert found.edges_by_kind == {k: kinds.count(k) for k in KINDS}
    texts = [graph.texts[n] for n in range(graph.nodes)]
    assert found.words == sum(len(t.split()) for t in texts)
    assert found.words_per_node == pytest.approx(np.mean([len(t.split()) for t in texts]))
    assert found.text_bytes == sum(len(t.encode()) for t in texts)

    out = np.array([len(row) for row in edges])
    into = np.bincount([e.target for row in edges for e in row], minlength=graph.nodes)
    for histogram, degrees in ((found.out_degree, out), (found.in_degree, into)):
        assert histogram.mean == pytest.approx(degrees.mean())
        assert histogram.median == np.median(degrees)
        assert histogram.max == degrees.max()
        values, counts = np.unique(degrees, return_counts=True)
        assert histogram.values.tolist() == values.tolist()
        assert histogram.counts.tolist() == counts.tolist()
        assert histogram.total == graph.nodes

    own = [[e for e in row if e.kind not in ("prev", "next")] for row in edges]
    assert found.links_per_node == pytest.approx(np.mean([len(row) for row in own]))
    assert found.dead_ends.count == sum(not row for row in edges)
    assert found.chain_only.count == sum(not row for row in own)
    assert found.chain_only.share == pytest.approx(found.chain_only.count / graph.nodes)
    assert found.unreferenced.count == np.count_nonzero(into == 0)
    assert found.chain_reached.count == graph.nodes - len({e.target for row in own for e in row})
    assert found.blocks_per_article.mean == pytest.approx(graph.nodes / 40) == graph.article_length

    top = sorted(range(graph.nodes), key=lambda n: (-into[n], n))[:10]
    distances = np.array([distances_from(graph.forward, n) for n in top])
    assert found.path_lengths.counts.tolist()[1:] == np.bincount(distances[distances > 0]).tolist()[1:]
    assert found.path_lengths.median == np.median(distances[distances > 0])
    assert found.path_lengths.unreachable == np.count_nonzero(distances < 0)


def test_json_has_the_contract_and_only_plain_values(graph: Graph) -> None:
    import json

    value = json.loads(json.dumps(statistics(graph, sources=5).to_json()))
    assert {"articles", "nodes", "edges", "edges_by_kind", "words_per_node", "median_path_length"} <= set(
        value
    )
    assert set(value["edges_by_kind"]) == set(KINDS)
    assert value["paper"]["2018"]["median_path_length"] == 15


def test_more_sources_than_nodes_take_all(graph: Graph) -> None:
    assert statistics(graph, sources=10**6).path_lengths.sources == graph.nodes
    assert statistics(graph, sources=0).to_json()["median_path_length"] is None


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30), st.integers(0, 40))
@settings(deadline=None)
def test_highest_degrees_come_first_and_ties_by_number(degrees: list[int], limit: int) -> None:
    indptr = np.concatenate(([0], np.cumsum(degrees)))
    indptr.flags.writeable = False
    expected = sorted(range(len(degrees)), key=lambda n: (-degrees[n], n))[:limit]
    assert highest(indptr, limit).tolist() == expected


@given(
    st.lists(
        st.text(st.characters(codec="utf-8") | st.sampled_from("\x85\xa0\u1680\u2000\u2029\u205f\u3000 "))
    )
)
@settings(deadline=None)
def test_words_are_counted_as_python_counts_them(texts: list[str]) -> None:
    encoded = [t.encode() for t in texts]
    blob = np.frombuffer(b"".join(encoded), np.uint8)
    offsets = np.cumsum([0, *map(len, encoded)])
    offsets.flags.writeable = False
    assert count_words(Strings(blob, offsets), 0, len(texts)) == sum(len(t.split()) for t in texts)


def test_one_lonely_block(tmp_path: Path) -> None:
    found = statistics(write_graph(tmp_path, {"Alone": [Page("one two")]}))
    assert (found.nodes, found.edges, found.words_per_node) == (1, 0, 2.0)
    assert (
        found.dead_ends.count
        == found.unreferenced.count
        == found.weak_components.count
        == found.strong_components.count
        == 1
    )
    assert found.path_lengths.median is None
    assert found.path_lengths.unreachable_share == 0.0


def test_dates_and_tags_are_counted(graph: Graph, tmp_path: Path) -> None:
    found = statistics(graph, sources=1)
    assert (found.dated, found.tagged, found.tags) == (32, 26, 7 + 13)
    bare = statistics(write_graph(tmp_path, {"A": [Page("One.")]}), sources=1)
    assert (bare.dated, bare.tagged, bare.tags) == (0, 0, 0)
