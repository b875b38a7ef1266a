"""A click path shows the words that were clicked, where they stand, and what else there was."""

import numpy as np
import pytest

from linkwalk.graph.sentence import Sentence, find_sentence
from linkwalk.graph.store import Graph
from linkwalk.navigate import Episodes, Ways, click_path, open_baseline, path_steps
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


def test_a_journey_as_steps(graph: Graph) -> None:
    home, iron, harbour = (graph.find(name) for name in ("Home", "Iron", "Harbour"))
    vectors = np.zeros((graph.nodes, 2), np.float32)
    vectors[:, 1] = 1
    vectors[iron] = vectors[harbour + 1] = 1, 0  # Iron looks like the goal and leads nowhere
    agent = open_baseline("greedy-unvisited", graph.forward, vectors, Ways(back=True))
    journeys = agent.run(Episodes.of([home], [harbour + 1]))
    steps = click_path(graph, journeys, vectors=vectors, query=vectors[harbour + 1])
    assert [(s.title, s.block, s.kind, s.link) for s in steps] == [
        ("Iron", 0, "link", "Iron"),
        ("Home", 0, "back", ""),
        ("Harbour", 0, "link", "old harbour"),
        ("Harbour", 1, "next", ""),
    ]
    assert [s.score for s in steps] == [1, 0, 0, 1]
    assert [[(o.title, o.score, o.seen) for o in s.runners_up] for s in steps] == [
        [("Harbour", 0, False)],
        [],
        [("Iron", 1, True)],
        [("Home", 0, True)],
    ]
    assert steps[2].to_json()["sentence"] == "Then comes the [[old harbour]] of Lyön."
    assert [s.sentence is None for s in steps] == [False, True, False, True]


def test_steps_along_given_pages(graph: Graph) -> None:
    home, harbour = graph.find("Home"), graph.find("Harbour")
    steps = path_steps(graph, np.array([home, harbour, harbour + 1], np.int32))
    assert [(s.node, s.kind, s.link) for s in steps] == [
        (harbour, "link", "old harbour"),
        (harbour + 1, "next", ""),
    ]
    assert path_steps(graph, np.array([home], np.int32)) == []
