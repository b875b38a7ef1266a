"""An article that is deleted for one question is neither found nor walked through, and nothing else changes."""

from pathlib import Path

import numpy as np
import pytest

from linkwalk.downstream.dataset import AlignedQuestion, GoldPassage, Question, gold_articles
from linkwalk.downstream.unanswerable import foreign, lacking, prune
from linkwalk.graph.store import Graph
from linkwalk.graph.subgraph import write_subgraph
from linkwalk.navigate import unit_rows
from linkwalk.progress import Progress
from linkwalk.retrieve import Bm25, FindConfig, Finder

QUERY = "Which metal carries oxygen in the blood of an octopus?"


@pytest.mark.parametrize(
    ("way", "start"),
    [("none", "bm25"), ("none", "dense"), ("pagerank", "hybrid"), ("tabs", "hybrid"), ("expand", "bm25")],
)
def test_nothing_of_a_deleted_article_is_read(encyclopedia: Path, way: str, start: str) -> None:
    graph = Graph.open(encyclopedia)
    rng = np.random.default_rng(0)
    vectors = unit_rows(rng.standard_normal((graph.nodes, 8)))
    config = FindConfig(navigation=way, start=start, candidates=10)
    finder = Finder(graph, Bm25.open(encyclopedia, graph), config, vectors=vectors, rerank=None)
    meanings = unit_rows(rng.standard_normal((1, 8)))
    (before,) = finder.find_many([QUERY], meanings=meanings)
    asked = AlignedQuestion(
        id="1", text=QUERY, gold=(frozenset(before.read[:2]), frozenset(before.read[5:6]))
    )
    gone = gold_articles(graph, [asked])
    assert gone == {int(graph.node_article[node]) for node in (*before.read[:2], before.read[5])}
    (after,) = lacking(finder, np.isin(graph.node_article, list(gone))).find_many([QUERY], meanings=meanings)
    assert len(after.read) == 10
    assert not gone & set(graph.node_article[list(after.read)].tolist())
    if way == "none":  # what is left keeps its order
        kept = [node for node in before.read if int(graph.node_article[node]) not in gone]
        assert list(after.read)[: len(kept)] == kept
    assert finder.find_many([QUERY], meanings=meanings) == [before]


def test_a_pruned_graph_has_the_links_of_one_without_these_blocks(encyclopedia: Path, tmp_path: Path) -> None:
    graph = Graph.open(encyclopedia)
    gone = np.isin(graph.node_article, [3, 4, 90])
    kept = np.flatnonzero(~gone)
    facts = {"snapshot": graph.manifest["snapshot"], "config": {}, "inputs": []}
    with Progress(quiet=True).stage("cut", len(kept), "blocks") as stage:
        write_subgraph(graph, kept, tmp_path / "graph", facts, stage, lambda counts, cut: {})
    other, pruned = Graph.open(tmp_path), prune(graph, gone)
    number = np.cumsum(~gone) - 1
    assert not pruned.forward.degrees()[gone].any()
    assert np.array_equal(pruned.forward.degrees()[kept], other.forward.degrees())
    assert np.array_equal(number[pruned.out_targets], other.out_targets)
    assert np.array_equal(number[pruned.in_sources], other.in_sources)
    assert np.array_equal(pruned.out_kinds, other.out_kinds)
    assert np.array_equal(pruned.out_spans, other.out_spans)


def test_foreign_questions_have_neither_title_nor_answer_here(encyclopedia: Path) -> None:
    graph = Graph.open(encyclopedia)
    title, word = graph.titles[5], graph.texts[9].split()[0]

    def asked(id: str, title: str, answer: str) -> Question:
        return Question(id=id, text=id, evidence=((GoldPassage(title),),), answers=(answer,))

    far = [asked(f"far {n}", "Zzyzx Road", "qqzz") for n in range(9)]
    near = [asked("title", title, "qqzz"), asked("answer", "Zzyzx Road", word)]
    drawn = foreign(graph, [*near, *far], 5)
    assert len({one.id for one in drawn}) == 5
    assert {one.id for one in foreign(graph, [*near, *far], 50)} == {one.id for one in far}
    assert drawn == foreign(graph, [*near, *far], 5)
