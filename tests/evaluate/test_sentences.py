"""Sentence search: the sentences are the goals', repeatable, and read by each agent's own encoder."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from linkwalk.evaluate import SentenceQueries, TaskConfig, compare, draw_episodes, draw_sentences
from linkwalk.graph.store import Graph
from linkwalk.navigate import open_baseline, unit_rows
from tests.graph.conftest import Page, write_graph

TASK = TaskConfig(task="sentence", steps=4, episodes=60, seed=2)


@pytest.fixture(scope="module")
def graph(embedded_world: Path) -> Graph:
    return Graph.open(embedded_world)


class Letters:
    """An encoder that counts letters, and what it has read."""

    width = 26

    def __init__(self, first: str = "a") -> None:
        self.first, self.seen = ord(first), list[str]()

    def encode(self, texts: list[str], advance: Callable[[float], None] = lambda _: None) -> np.ndarray:
        self.seen += texts
        advance(len(texts))
        counts = [[text.lower().count(chr(self.first + i)) for i in range(26)] for text in texts]
        return np.array(counts, np.float32) + 1


def test_a_sentence_belongs_to_its_goal_and_the_seed_decides(graph: Graph) -> None:
    episodes = draw_episodes(graph.forward, graph.reverse, TASK)
    sentences = draw_sentences(graph, episodes, TASK)
    for goal, sentence in zip(episodes.goals, sentences, strict=True):
        assert sentence in graph.block(int(goal)).sentences
        assert len(sentence.split()) >= 4
    assert draw_sentences(graph, episodes, TASK) == sentences
    assert draw_sentences(graph, episodes.part(0, 9), TASK) == sentences[:9]
    assert len({s for s, g in zip(sentences, episodes.goals, strict=True) if g == episodes.goals[0]}) > 1
    other = TaskConfig(task="sentence", steps=4, episodes=60, seed=3)
    assert draw_sentences(graph, episodes, other) != sentences


def test_a_block_of_short_lines_is_stood_for_by_its_whole_text(tmp_path: Path) -> None:
    graph = write_graph(
        tmp_path / "w", {"A": [Page("Master clock. x", [("B", 0, 2)])], "B": [Page("One two.")]}
    )
    task = TaskConfig(task="sentence", steps=1, episodes=3)
    episodes = draw_episodes(graph.forward, graph.reverse, task)
    assert draw_sentences(graph, episodes, task) == ["One two."] * 3


def test_every_agent_is_shown_what_its_own_encoder_reads(graph: Graph) -> None:
    plain, own, progress = Letters(), Letters("b"), list[float]()
    shown = SentenceQueries(
        graph, TASK, {"greedy": plain, "greedy-dfs": plain, "policy": own}, progress.append
    )
    episodes = draw_episodes(graph.forward, graph.reverse, TASK)
    assert shown.sentences == draw_sentences(graph, episodes, TASK)
    assert sorted(plain.seen) == sorted(own.seen) == sorted(set(shown.sentences))
    assert sum(progress) == 2 * len(plain.seen)

    def queries(name: str) -> np.ndarray | None:
        agent = open_baseline("random", graph.forward)
        agent.name = name
        return shown(agent, episodes).queries

    assert np.array_equal(queries("greedy"), unit_rows(Letters().encode(shown.sentences)))
    assert np.array_equal(queries("greedy-dfs"), queries("greedy"))
    assert np.array_equal(queries("policy"), unit_rows(Letters("b").encode(shown.sentences)))
    assert queries("random") is None


def test_what_is_shown_decides_where_an_agent_goes(graph: Graph) -> None:
    texts = [f"{graph.title(node)}. {graph.texts[node]}" for node in range(graph.nodes)]
    vectors = unit_rows(Letters().encode(texts))
    agent = open_baseline("greedy-unvisited", graph.forward, vectors)
    show = SentenceQueries(graph, TASK, {"greedy-unvisited": Letters()})
    ends = (graph.forward, graph.reverse, TASK)
    (goal,), (sentence,), (again,) = (
        list(compare(*ends, [agent], None, budget=6, **options))  # type: ignore[arg-type]
        for options in ({}, {"show": show}, {"show": show})
    )
    assert sentence == again
    assert sentence.scores.success != goal.scores.success
    assert sentence.to_json()["task"] == "sentence"
