"""A click path shows the words that were clicked, where they stand, and what else there was."""

import numpy as np
import pytest

from linkwalk.graph.store import Graph, Sentence, find_sentence
from linkwalk.navigate import Episodes, MoveConfig, open_baseline
from linkwalk.wiki.clicks import clicks_along, shortest_clicks
from tests.conftest import Maker, P, prose, world

PAGES = [
    P("Home", f"Über [[Iron]] läuft es. Then comes the [[Harbour|old harbour]] of Lyön. {prose(20)}"),
    P("Iron", f"It is a metal. {prose(20)}"),
    P("Harbour", f"Ships rest here. From [[Home]] it is far. {prose(20)}\n\n{prose(120, 2)}"),
]


@pytest.fixture
def graph(make: Maker) -> Graph:
    return make(PAGES, min_chars=0, block_words=60).graph


def test_sentences_are_cut_around_the_link(graph: Graph) -> None:
    home = graph.find("Home")
    kinds = {edge.anchor: i for i, edge in enumerate(graph.links(home))}
    first = int(graph.out_indptr[home])
    assert find_sentence(graph, home, first + kinds["Iron"]) == Sentence("Über ", "Iron", " läuft es.")
    assert find_sentence(graph, home, first + kinds["old harbour"]) == Sentence(
        "Then comes the ",
        "old harbour",
        " of Lyön.",
    )


def test_every_link_is_marked_in_a_sentence_of_its_block(make: Maker) -> None:
    graph, seen = make(world(20)).graph, 0
    for node in range(graph.nodes):
        block = graph.block(node)
        for i, edge in enumerate(graph.links(node)):
            if edge.kind in ("link", "entity"):
                sentence = find_sentence(graph, node, int(graph.out_indptr[node]) + i)
                assert sentence.link == edge.anchor
                assert f"{sentence.before}{sentence.link}{sentence.after}" in block.sentences
                seen += 1
    assert seen > 30


def test_a_journey_as_clicks(graph: Graph) -> None:
    home, iron, harbour = (graph.find(name) for name in ("Home", "Iron", "Harbour"))
    vectors = np.zeros((graph.nodes, 2), np.float32)
    vectors[:, 1] = 1
    vectors[iron] = vectors[harbour + 1] = 1, 0  # Iron looks like the goal and leads nowhere
    agent = open_baseline("greedy-unvisited", graph.forward, vectors, MoveConfig(back=True))
    journeys = agent.run(Episodes.of([home], [harbour + 1]))
    pages = journeys.path(0).tolist()
    clicks = clicks_along(graph, pages, journeys.choices[0, : len(pages) - 1].tolist())
    assert [(c.number, c.at.name, c.to.name, c.kind, c.link, c.seen) for c in clicks] == [
        (1, "Home (0)", "Iron (0)", "link", "Iron", False),
        (2, "Iron (0)", "Home (0)", "back", "", True),
        (3, "Home (0)", "Harbour (0)", "link", "old harbour", False),
        (4, "Harbour (0)", "Harbour (1)", "next", "", False),
    ]
    assert clicks[2].sentence == Sentence("Then comes the ", "old harbour", " of Lyön.")
    assert [(c.sentence is None, c.segment is None) for c in clicks] == [
        (False, False),
        (True, True),
        (False, False),
        (True, True),
    ]
    assert {(c.score, c.probability, c.choices, c.others) for c in clicks} == {(None, None, (), 0)}


def test_clicks_along_given_pages(graph: Graph) -> None:
    home, harbour = graph.find("Home"), graph.find("Harbour")
    clicks = shortest_clicks(graph, [home, harbour, harbour + 1])
    assert [(c.to.node, c.kind, c.link) for c in clicks] == [
        (harbour, "link", "old harbour"),
        (harbour + 1, "next", ""),
    ]
    assert shortest_clicks(graph, [home]) == ()
