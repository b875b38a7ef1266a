"""BM25, walks and the reranker on the bundled encyclopedia: sentences with the path that found them."""

import json
from pathlib import Path

import numpy as np
import pytest

from linkwalk import demo
from linkwalk.embed.text import goal_sentences
from linkwalk.errors import ArtifactError, InputError
from linkwalk.graph.store import Graph
from linkwalk.navigate import Baseline, BaselineConfig
from linkwalk.retrieve import Bm25, FindConfig, Finder, index, tfidf
from linkwalk.retrieve.starts import fuse, nearest
from linkwalk.sources.build import build


@pytest.fixture(scope="module")
def wiki(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("find") / "demo"
    build([demo.dump_path("demo")], folder)
    index(folder, Graph.open(folder))
    return folder


def test_every_block_is_found_by_its_own_words(wiki: Path) -> None:
    graph = Graph.open(wiki)
    bm25 = Bm25.open(wiki, graph)
    for node in range(0, graph.nodes, 40):
        nodes, scores = bm25.search(f"{graph.title(node)} {graph.block(node).text}", 3)
        assert node in nodes.tolist()
        assert scores == sorted(scores, reverse=True)


def test_the_query_language_is_not_spoken(wiki: Path) -> None:
    bm25 = Bm25.open(wiki, Graph.open(wiki))
    plain, _ = bm25.search("iron and copper", 5)
    odd, _ = bm25.search('IRON AND "copper', 5)
    assert odd.tolist() == plain.tolist()
    assert len(bm25.search("title:[ zzzzqqq", 5)[0]) <= 5
    assert len(bm25.search("zzzzqqq", 5)[0]) == 0
    with pytest.raises(InputError, match="no words"):
        bm25.search("?!", 5)


def test_an_index_of_another_graph_is_refused(wiki: Path, tmp_path: Path) -> None:
    other = tmp_path / "demo2"
    build([demo.dump_path("demo2")], other)
    with pytest.raises(ArtifactError, match="run `linkwalk index"):
        Bm25.open(other, Graph.open(other))
    (other / "index").symlink_to(wiki / "index")
    with pytest.raises(ArtifactError, match="older than the graph"):
        Bm25.open(other, Graph.open(other))


def test_walks_add_sentences_and_every_one_has_its_path(wiki: Path) -> None:
    graph = Graph.open(wiki)
    bm25 = Bm25.open(wiki, graph)
    vectors = np.random.default_rng(0).standard_normal((graph.nodes, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    agent = Baseline(BaselineConfig(name="greedy-map"), graph.forward, vectors)
    query = "Which metal carries oxygen in the blood of an octopus?"
    config = FindConfig(starts=3, steps=4)
    found = Finder(graph, bm25, agent, config).find(query, 1000, meaning=vectors[0]).evidence
    alone = Finder(graph, bm25, None, config).find(query, 1000).evidence
    starts = bm25.search(query, 3)[0].tolist()
    assert {e.node for e in alone} <= set(starts) < {e.node for e in found}
    for evidence in found:
        assert evidence.start in starts
        assert evidence.sentence in goal_sentences(graph, evidence.node)
        at = evidence.start
        for step in evidence.path:
            assert step.node in graph.forward.row(at)
            at = step.node
        assert at == evidence.node
        assert len(evidence.path) <= config.steps
    scores = [e.score for e in found]
    assert scores == sorted(scores, reverse=True)
    json.dumps([e.to_json() for e in found])


def test_evidence_of_the_claims_is_found(wiki: Path) -> None:
    graph = Graph.open(wiki)
    finder = Finder(graph, Bm25.open(wiki, graph), None, FindConfig(starts=10, steps=0))
    claims = list(demo.claims())[:40]
    hits = [
        any(e.title == claim["article"] for e in finder.find(claim["claim"], 5).evidence) for claim in claims
    ]
    assert np.mean(hits) > 0.7


def test_tfidf_prefers_what_shares_words() -> None:
    scores = tfidf("blue whales sing", ["Whale", "Moon"], ["The blue whale sings.", "The moon shines."])
    assert scores[0] > scores[1] >= 0
    assert tfidf("a", ["?"], ["!"]).tolist() == [0.0]


def test_the_nearest_are_the_nearest() -> None:
    rng = np.random.default_rng(1)
    vectors = rng.standard_normal((500, 6)).astype(np.float32)
    wanted = np.argsort(-(vectors @ vectors[7]), kind="stable")[:9]
    assert nearest(vectors, vectors[7], 9).tolist() == wanted.tolist()
    assert len(nearest(vectors, vectors[7], 900)) == 500


def test_fused_lists_prefer_what_both_have() -> None:
    a, b = np.array([1, 2, 3], np.int32), np.array([4, 3, 5], np.int32)
    assert fuse(a, b, count=2).tolist()[0] == 3
    assert sorted(fuse(a, b, count=9).tolist()) == [1, 2, 3, 4, 5]


def test_candidates_are_those_seen_soonest(wiki: Path) -> None:
    graph = Graph.open(wiki)
    bm25 = Bm25.open(wiki, graph)
    vectors = np.random.default_rng(0).standard_normal((graph.nodes, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    agent = Baseline(BaselineConfig(name="greedy-unvisited"), graph.forward, vectors)
    for limit in (2, 3, 5, 40):
        config = FindConfig(starts=3, steps=6, candidates=limit)
        found = Finder(graph, bm25, agent, config, None).find("iron and copper", 1000, meaning=vectors[3])
        assert found.blocks <= limit
        lengths = [len(e.path) for e in found.evidence]
        assert lengths == sorted(lengths), "unranked, they come as they were seen"
