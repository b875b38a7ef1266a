"""What a gallery of evidence shows: blocks that only clicks lead to, and how near the others were."""

import pytest

from linkwalk.downstream.dataset import AlignedQuestion
from linkwalk.embed import Embeddings
from linkwalk.navigate import unit_rows
from linkwalk.reproduce.traces import EvidenceTrace, evidence_gallery
from linkwalk.retrieve import Bm25, FindConfig, Finder, index
from tests.conftest import Maker, P


@pytest.fixture
def finder(make: Maker) -> Finder:
    from linkwalk.embed import EmbedConfig, embed

    pages = [
        P("Bronze", "Bronze is an alloy for bells and swords, made with [[Copper]] since antiquity."),
        P("Copper", "This reddish metal conducts electricity well and comes from [[Cyprus]] by name."),
        P("Cyprus", "An island of the eastern sea where mines were rich. It has no railway at all."),
        P("Moon", "A rock that goes round a planet once a month, seen by night from everywhere."),
    ]
    graph = make(pages, min_chars=0, entity_links=False).graph
    wiki = graph.folder.parent
    embed(wiki, EmbedConfig(encoder="minilm"), device="cpu")
    index(wiki, graph)
    vectors = unit_rows(Embeddings.open(wiki, "minilm", graph).vectors)
    config = FindConfig(start="bm25", candidates=3)
    return Finder(graph, Bm25.open(wiki, graph), config, rerank=None, vectors=vectors)


def test_found_by_clicks_and_near_misses(finder: Finder) -> None:
    graph, vectors = finder.graph, finder.vectors
    assert vectors is not None
    bronze, copper, cyprus, moon = (graph.find(name) for name in ("Bronze", "Copper", "Cyprus", "Moon"))
    asked = [
        AlignedQuestion(id="1", text="bells and swords", gold=(frozenset({cyprus}),)),
        AlignedQuestion(id="2", text="bells and swords", gold=(frozenset({moon}),)),
        AlignedQuestion(id="3", text="an alloy", gold=(frozenset({bronze}),)),
        AlignedQuestion(id="4", text="bells", gold=()),
    ]
    shown = evidence_gallery(graph, finder, asked, vectors[[cyprus, cyprus, bronze, bronze]], count=2)
    assert [shown.facts[name] for name in ("asked", "read", "clicked")] == [4, 2, 1]
    (found,) = shown.found
    assert isinstance(found, EvidenceTrace)
    assert found.pages == (bronze, copper, cyprus)
    assert (found.gold, found.left, found.searched, found.place) == (cyprus, 0, None, 3)
    assert found.clicks == ("Copper", "Cyprus")
    assert shown.missed == ()  # no way leads to the moon
    text = "\n".join(shown.lines())
    assert "- read as number 3: Bronze (0) > [Copper] Copper (0) > [Cyprus] Cyprus (0)" in text
    assert "for 1 of these some of it only thanks to links" in text


def test_a_near_miss_is_where_the_fewest_links_are_left(finder: Finder) -> None:
    graph, vectors = finder.graph, finder.vectors
    assert vectors is not None
    finder.config = FindConfig(start="bm25", candidates=1)
    bronze, cyprus = graph.find("Bronze"), graph.find("Cyprus")
    asked = [AlignedQuestion(id="1", text="bells and swords", gold=(frozenset({cyprus}),))]
    (missed,) = evidence_gallery(graph, finder, asked, vectors[[cyprus]]).missed
    assert (missed.pages, missed.left, missed.clicks) == ((bronze,), 2, ())
    assert missed.to_json(graph)["links_left"] == 2
