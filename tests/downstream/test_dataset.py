"""What counts as found."""

import numpy as np
import pytest

from linkwalk.downstream.dataset import AlignedQuestion, answer_phrases, holds, plain
from tests.conftest import Maker, P


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The  Moon's\tfar side!", "moon s far side"),
        ("Élan, ÉLAN", "elan elan"),
        ("a An THE", ""),
        ("theatre an-other a1", "theatre other a1"),
        ("ﬁve ½ İzmir ™", "five 1 2 izmir tm"),
        ("漢字", "漢字"),
        ("", ""),
        ("?!", ""),
    ],
)
def test_plain(text: str, expected: str) -> None:
    assert plain(text) == expected
    assert plain(plain(text)) == plain(text)


def test_whole_words_hold_an_answer() -> None:
    assert holds("It was in Rome, in 1972.", answer_phrases(["rome"]))
    assert holds("Rome", answer_phrases(["The Rome"]))
    assert not holds("It was in Romee in 1972.", answer_phrases(["Rome", "972"]))
    assert not holds("", answer_phrases(["The", "?"]))
    assert answer_phrases(["The", "!", "Rome"]) == [" rome "]


def test_recall_by_gold_takes_the_best_alternative(make: Maker) -> None:
    graph = make([P("A", "Some text.")], min_chars=0).graph
    asked = AlignedQuestion(id="1", text="q", gold=(frozenset((1, 2)), frozenset((7, 8, 9, 4))))
    assert asked.recall(graph, [5, 1, 6, 2, 3, 7]) == [0, 0.5, 0.5, 1, 1]
    assert asked.recall(graph, [7, 8, 9, 1]) == [0.25, 0.5, 0.75, 0.75, 0.75]
    assert asked.recall(graph, np.array([2, 1]), depth=2) == [0.5, 1]
    assert asked.recall(graph, []) == [0] * 5


def test_nothing_known_is_nothing_found(make: Maker) -> None:
    graph = make([P("A", "Some text.")], min_chars=0).graph
    assert AlignedQuestion(id="1", text="q").recall(graph, [0]) == [0] * 5
    assert AlignedQuestion(id="1", text="q", gold=(frozenset(),)).recall(graph, [0]) == [0] * 5


def test_recall_by_answer_string(make: Maker) -> None:
    texts = ["Nobody knows.", "It was JOSÉ Silva's work.", "Jose Silvan had none of it."]
    graph = make([P(f"Page {i}", text) for i, text in enumerate(texts)], min_chars=0).graph
    nodes = [graph.find(f"Page {i}") for i in range(3)]
    asked = AlignedQuestion(id="1", text="who?", answers=("the José Silva", "The"))
    assert asked.recall(graph, [nodes[2], nodes[0], nodes[1]]) == [0, 0, 1, 1, 1]
    assert asked.recall(graph, [nodes[2], nodes[0]], depth=3) == [0, 0, 0]


def test_a_gold_block_counts_more_than_an_answer(make: Maker) -> None:
    graph = make([P("A", "Rome it was."), P("B", "Rome it is.")], min_chars=0).graph
    right, other = graph.find("A"), graph.find("B")
    asked = AlignedQuestion(id="1", text="where?", gold=(frozenset((right,)),), answers=("Rome",))
    assert asked.recall(graph, [other, right], depth=2) == [0, 1]
