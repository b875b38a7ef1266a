"""Search, navigation and the reranker on the bundled encyclopedia: sentences with the path that found them."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from linkwalk import shipped
from linkwalk.arrays import Float32s, Int32s
from linkwalk.build.build import build
from linkwalk.embed.text import goal_sentences
from linkwalk.errors import ArtifactError, InputError
from linkwalk.graph.store import Graph
from linkwalk.navigate import open_baseline, unit_rows
from linkwalk.navigate.tabs import TabsConfig
from linkwalk.retrieve import Bm25, Cascade, EvidenceList, FindConfig, Finder, Reranker, finder, tfidf
from linkwalk.retrieve.config import NAVIGATION
from linkwalk.retrieve.starts import fuse
from tests.retrieve.searching import nearest

QUERY = "Which metal carries oxygen in the blood of an octopus?"
QUERIES = [QUERY, "iron and copper", "zzzzqqq", "Who was born in Vienna?", "zzzz qqqq", QUERY]


@pytest.fixture(scope="module")
def wiki(encyclopedia: Path) -> Path:
    return encyclopedia


@pytest.fixture(scope="module")
def graph(wiki: Path) -> Graph:
    return Graph.open(wiki)


@pytest.fixture(scope="module")
def bm25(wiki: Path, graph: Graph) -> Bm25:
    return Bm25.open(wiki, graph)


@pytest.fixture(scope="module")
def vectors(graph: Graph) -> Float32s:
    """Embeddings that mean nothing: what is tested holds whatever they are."""
    return unit_rows(np.random.default_rng(0).standard_normal((graph.nodes, 8)))


@pytest.fixture(scope="module")
def meanings() -> Float32s:
    """What the queries mean; the first and the last are one and the same."""
    rows = unit_rows(np.random.default_rng(1).standard_normal((len(QUERIES), 8)))
    rows[-1] = rows[0]
    return rows


def make(
    graph: Graph,
    bm25: Bm25,
    vectors: Float32s,
    config: FindConfig,
    *,
    agent: str = "greedy-unvisited",
    rerank: Reranker | None = tfidf,
) -> Finder:
    """A finder with all that any way of navigation wants; where nobody says, it begins by words."""
    config = replace(config, start=config.start or "bm25")
    walker = open_baseline(agent, graph.forward, vectors)
    return Finder(graph, bm25, config, agent=walker, rerank=rerank, vectors=vectors)


def by_length(query: str, titles: Sequence[str], sentences: Sequence[str]) -> Float32s:
    """A reranker that is not lexical, for the slow place of a cascade."""
    return np.array([len(s) % 17 for s in sentences], np.float32)


def check(graph: Graph, found: EvidenceList) -> None:
    """What holds whatever the navigation: real sentences, real paths, blocks once."""
    assert len(set(found.read)) == len(found.read)
    assert sorted(found.ranked) == sorted(found.read)
    assert list(found.ranked) == list(dict.fromkeys(ends(found)))
    for sentence, node, (pages, links) in zip(found.sentences, ends(found), found.trails, strict=True):
        assert sentence in goal_sentences(graph, node)
        clicked = [graph.forward.row(page)[link] for page, link in zip(pages, links, strict=False)]
        assert (*pages[:1], *clicked) == pages, "each link leads to the next page"
    assert list(found.scores) == sorted(found.scores, reverse=True)
    assert all(type(part) is int for trail in found.trails for part in (*trail.pages, *trail.links))


def ends(found: EvidenceList) -> list[int]:
    """The blocks that the sentences stand in."""
    return [trail.pages[-1] for trail in found.trails]


def test_every_block_is_found_by_its_own_words(graph: Graph, bm25: Bm25) -> None:
    for node in range(0, graph.nodes, 40):
        nodes, scores = bm25.search(f"{graph.title(node)} {graph.block(node).text}", 3)
        assert node in nodes.tolist()
        assert scores == sorted(scores, reverse=True)


def test_the_query_language_is_not_spoken(bm25: Bm25) -> None:
    plain, _ = bm25.search("iron and copper", 5)
    odd, _ = bm25.search('IRON AND "copper', 5)
    assert odd.tolist() == plain.tolist()
    assert len(bm25.search("title:[ zzzzqqq", 5)[0]) <= 5
    assert len(bm25.search("zzzzqqq", 5)[0]) == 0
    with pytest.raises(InputError, match="no words"):
        bm25.search("?!", 5)


def test_an_index_of_another_graph_is_refused(wiki: Path, tmp_path: Path) -> None:
    other = tmp_path / "demo2"
    build([shipped.dump_path("demo2")], other)
    with pytest.raises(ArtifactError, match="run `linkwalk index"):
        Bm25.open(other, Graph.open(other))
    (other / "index").symlink_to(wiki / "index")
    with pytest.raises(ArtifactError, match="older than the graph"):
        Bm25.open(other, Graph.open(other))


@pytest.mark.parametrize("candidates", [1, 4, 20, 150])
@pytest.mark.parametrize("way", NAVIGATION)
def test_what_each_way_reads(
    way: str, candidates: int, graph: Graph, bm25: Bm25, vectors: Float32s, meanings: Float32s
) -> None:
    config = FindConfig(navigation=way, candidates=candidates, starts=3, steps=6)
    found = make(graph, bm25, vectors, config).find(QUERY, 10_000, meaning=meanings[0])
    check(graph, found)
    assert (found.start, len(found.read) <= candidates) == ("bm25", True)
    hits = bm25.search(QUERY, 1000)[0].tolist()
    paths = {pages[-1]: (pages[0], links) for pages, links in found.trails}
    if way in ("walks", "expand"):
        assert found.read[:3] == tuple(hits[: min(3, candidates)]), "the starts come first"
        assert {start for start, _ in paths.values()} <= set(hits[:3])
        assert max(len(path) for _, path in paths.values()) <= (6 if way == "walks" else 1)
    elif way == "none":
        assert list(found.read) == hits[:candidates]
    elif way == "lead":
        articles = graph.node_article[hits[: max(100, candidates)]]
        leads = dict.fromkeys(int(graph.article_blocks(article)[0]) for article in articles)
        assert list(found.read) == list(leads)[:candidates]
    else:
        assert len(found.read) == candidates
        assert {start for start, _ in paths.values()} <= set(hits[: max(100, candidates)])
        assert paths[found.read[0]] == (found.read[0], ())
    if way in ("tabs", "walks", "expand") and candidates > 4:
        assert any(path for _, path in paths.values()), "links were followed"


def test_expand_reads_every_link_of_the_starts(graph: Graph, bm25: Bm25) -> None:
    config = FindConfig(navigation="expand", candidates=0, starts=2)
    found = Finder(graph, bm25, config).find(QUERY, 10_000)
    check(graph, found)
    hits = bm25.search(QUERY, 2)[0]
    targets = [graph.forward.row(hit).tolist() for hit in hits]
    assert list(found.read) == list(dict.fromkeys([*hits.tolist(), *targets[0], *targets[1]]))


def test_walks_read_all_that_was_stood_on(
    graph: Graph, bm25: Bm25, vectors: Float32s, meanings: Float32s
) -> None:
    few, all_of_it = (
        make(
            graph, bm25, vectors, FindConfig(navigation="walks", candidates=n, starts=3, steps=6), rerank=None
        ).find(QUERY, 10_000, meaning=meanings[0])
        for n in (5, 0)
    )
    assert few.read == all_of_it.read[:5], "the soonest seen"
    assert len(all_of_it.read) > 9
    lengths = [len(trail.links) for trail in all_of_it.trails]
    assert lengths == sorted(lengths), "unranked, they come as they were seen"


def test_tabs_that_trust_the_search_alone_read_its_list(
    graph: Graph, bm25: Bm25, vectors: Float32s, meanings: Float32s
) -> None:
    trusting = FindConfig(tabs=TabsConfig(trust=1e9, linked=-1e9), candidates=12)
    found = make(graph, bm25, vectors, trusting).find_many(QUERIES, meanings=meanings)
    alone = make(graph, bm25, vectors, FindConfig(navigation="none", candidates=12))
    for one, other in zip(found, alone.find_many(QUERIES, meanings=meanings), strict=True):
        assert one == other
    blind = FindConfig(tabs=TabsConfig(trust=0, linked=0), candidates=1)
    first = make(graph, bm25, vectors, blind).find(QUERY, meaning=meanings[0]).read
    hits = bm25.search(QUERY, 100)[0]
    assert first == (hits[np.argmax(vectors[hits] @ meanings[0])],)


class Turned:
    """Looks the other way, with no regard to length."""

    def directions(self, goals: Float32s) -> Float32s:
        return -3 * goals


def test_the_guide_says_where_tabs_look(
    graph: Graph, bm25: Bm25, vectors: Float32s, meanings: Float32s
) -> None:
    by_words = FindConfig(start="bm25")
    guided = Finder(graph, bm25, by_words, compass=Turned(), vectors=vectors).find_many(
        QUERIES, meanings=meanings
    )
    turned = Finder(graph, bm25, by_words, vectors=vectors).find_many(QUERIES, meanings=-meanings)
    straight = Finder(graph, bm25, by_words, vectors=vectors).find_many(QUERIES, meanings=meanings)
    assert [f.read for f in guided[:2]] == [f.read for f in turned[:2]]
    assert [f.read for f in guided[:2]] != [f.read for f in straight[:2]]
    assert straight[2].start == guided[2].start == "dense"
    assert guided[2].read != turned[2].read, "the compass has no say in where to begin"


RERANKERS: dict[str, Reranker | None] = {
    "none": None,
    "tfidf": tfidf,
    "cascade": Cascade(by_length, top=7),
}


@pytest.mark.parametrize("rerank", RERANKERS)
@pytest.mark.parametrize(
    ("way", "agent"),
    [*((way, "greedy-unvisited") for way in NAVIGATION), ("walks", "random"), ("walks", "greedy-map")],
)
def test_many_at_once_as_one_by_one(
    way: str,
    agent: str,
    rerank: str,
    graph: Graph,
    bm25: Bm25,
    vectors: Float32s,
    meanings: Float32s,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = FindConfig(navigation=way, candidates=12, starts=3, steps=4)
    asked = make(graph, bm25, vectors, config, agent=agent, rerank=RERANKERS[rerank])
    many = asked.find_many(QUERIES, 40, meanings=meanings)
    assert many == [
        asked.find(query, 40, meaning=meaning) for query, meaning in zip(QUERIES, meanings, strict=True)
    ]
    assert many[0] == many[-1]
    assert [found.start for found in many] == ["bm25", "bm25", "dense", "bm25", "dense", "bm25"]
    assert all(len(found.sentences) > 5 for found in many)
    monkeypatch.setattr(finder, "_QUERIES", 4)
    assert asked.find_many(QUERIES, 40, meanings=meanings) == many
    assert asked.find_many([], 40, meanings=meanings[:0]) == []


def test_unranked_sentences_come_as_they_were_read(
    graph: Graph, bm25: Bm25, vectors: Float32s, meanings: Float32s
) -> None:
    found = make(graph, bm25, vectors, FindConfig(), rerank=None).find(QUERY, 10_000, meaning=meanings[0])
    assert found.ranked == found.read
    assert list(zip(ends(found), found.sentences, strict=True)) == [
        (node, sentence) for node in found.read for sentence in goal_sentences(graph, node)
    ]
    ranked = make(graph, bm25, vectors, FindConfig()).find(QUERY, 10_000, meaning=meanings[0])
    assert ranked.read == found.read, "the reranker has no say in what is read"
    assert ranked.ranked != found.read
    few = make(graph, bm25, vectors, FindConfig()).find(QUERY, 3, meaning=meanings[0])
    assert (few.sentences, few.scores, few.trails, few.ranked) == (
        ranked.sentences[:3],
        ranked.scores[:3],
        ranked.trails[:3],
        ranked.ranked,
    )
    assert (
        make(graph, bm25, vectors, FindConfig()).find(QUERY, 0, meaning=meanings[0]).ranked == ranked.ranked
    )


@pytest.mark.parametrize("way", NAVIGATION)
def test_starts_by_meaning(way: str, graph: Graph, bm25: Bm25, vectors: Float32s, meanings: Float32s) -> None:
    config = FindConfig(navigation=way, start="dense", candidates=5)
    close = nearest(vectors, meanings[0], 200).tolist()
    found = make(graph, bm25, vectors, config).find("?!", meaning=meanings[0])
    assert found.start == "dense", "words are not asked for"
    if way == "lead":
        assert found.read[0] == graph.article_blocks(graph.node_article[close[0]])[0]
    else:
        assert found.read[0] == close[0]
    unknown = make(graph, bm25, vectors, FindConfig(navigation=way, candidates=5))
    assert unknown.find("zzzzqqq", meaning=meanings[0]).read == found.read


def test_hybrid_starts_read_as_much_as_is_wanted(
    graph: Graph, bm25: Bm25, vectors: Float32s, meanings: Float32s
) -> None:
    config = FindConfig(navigation="none", start="hybrid", candidates=500)
    found = make(graph, bm25, vectors, config).find("the iron and the water", 0, meaning=meanings[0])
    assert (found.start, len(found.read)) == ("hybrid", 500)
    lists = bm25.search("the iron and the water", 500)[0], nearest(vectors, meanings[0], 500)
    assert list(found.read) == fuse(*lists, count=500)[0].tolist()


class Counting:
    """An index of embeddings; asked often enough, it is known to have been asked."""

    def __init__(self) -> None:
        self.asked = 0

    def nearest_many(self, meanings: Float32s, count: int) -> list[Int32s]:
        self.asked += len(meanings)
        return [np.arange(count, dtype=np.int32) for _ in meanings]


def test_an_index_of_embeddings_in_their_place(graph: Graph, bm25: Bm25, meanings: Float32s) -> None:
    near = Counting()
    config = FindConfig(navigation="none", candidates=4)
    found = Finder(graph, bm25, config, near=near).find_many(QUERIES, meanings=meanings)
    assert [f.start for f in found].count("dense") == near.asked == 2
    assert found[2].read == (0, 1, 2, 3)


@pytest.mark.parametrize("way", ["none", "lead", "expand"])
def test_search_alone_needs_no_embeddings(way: str, graph: Graph, bm25: Bm25) -> None:
    plain = Finder(graph, bm25, FindConfig(navigation=way))
    found, unknown = plain.find_many([QUERY, "zzzzqqq"], 10_000)
    check(graph, found)
    assert found.sentences
    assert (unknown.sentences, unknown.read, unknown.ranked, unknown.start) == ((), (), (), "bm25")
    for start, given in itertools.product(("dense", "hybrid"), (None, np.ones((1, 8), np.float32))):
        blind = Finder(graph, bm25, FindConfig(navigation=way, start=start))
        with pytest.raises(
            InputError, match=f"{start} starts need embeddings: run `linkwalk embed WIKI`, or"
        ):
            blind.find_many([QUERY], meanings=given)


def test_navigation_that_lacks_something(graph: Graph, bm25: Bm25, vectors: Float32s) -> None:
    with pytest.raises(InputError, match="tabs need embeddings: run `linkwalk embed WIKI`, or"):
        Finder(graph, bm25)
    with pytest.raises(InputError, match="nobody walks: give an agent, or"):
        Finder(graph, bm25, FindConfig(navigation="walks"), vectors=vectors)
    for way in ("tabs", "walks"):
        with pytest.raises(InputError, match=f"{way} without meanings"):
            make(graph, bm25, vectors, FindConfig(navigation=way)).find(QUERY)


def test_walks_from_nowhere(graph: Graph, bm25: Bm25, vectors: Float32s, meanings: Float32s) -> None:
    walker = open_baseline("random", graph.forward)
    lost = Finder(graph, bm25, FindConfig(navigation="walks"), agent=walker)
    found = lost.find_many(["zzzzqqq", "qqqqzzz"], meanings=meanings[:2])
    assert [(f.read, f.trails, f.start) for f in found] == [((), (), "bm25")] * 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"starts": 0}, "starts=0"),
        ({"steps": -1}, "steps=-1"),
        ({"candidates": -1}, "candidates=-1"),
        ({"start": "sparse"}, "no starts named 'sparse': choose one of bm25, dense, hybrid"),
        ({"navigation": "fly"}, "no navigation named 'fly': choose one of tabs, "),
        ({"candidates": 0}, "candidates=0 with tabs: choose how many"),
        ({"top": 0}, "top=0: a reranker reads one sentence at least"),
        ({"candidates": 0, "navigation": "none"}, "candidates=0 with none: choose how many"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, str | int], words: str) -> None:
    with pytest.raises(InputError) as refused:
        FindConfig(**options)  # type: ignore[arg-type]
    assert words in str(refused.value)


def test_evidence_of_the_claims_is_found(graph: Graph, bm25: Bm25) -> None:
    plain = Finder(graph, bm25, FindConfig(navigation="none", candidates=10))
    claims = list(shipped.claims())[:40]
    found = plain.find_many([claim["claim"] for claim in claims], 5)
    hits = [claim["article"] in map(graph.title, ends(own)) for own, claim in zip(found, claims, strict=True)]
    assert np.mean(hits) > 0.7
