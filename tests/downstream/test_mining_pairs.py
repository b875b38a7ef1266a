"""Claims and questions as pairs for tuning: where search begins, and the blocks that hold the evidence."""

import json
from pathlib import Path
from typing import Any

import pytest

from linkwalk.downstream.benchmark import page_disjoint
from linkwalk.downstream.dataset import holds
from linkwalk.downstream.mining import DEPTH, STARTS, read_pairs
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.retrieve import Bm25
from tests.downstream.reading import read_claims
from tests.downstream.test_mining import QUESTIONS, bm25, claims, graph, wiki, write

__all__ = ["bm25", "claims", "graph", "wiki"]


def test_claims(graph: Graph, bm25: Bm25, claims: Path) -> None:
    tuned, kept = page_disjoint(read_claims(claims, graph, level="page").questions, graph)
    gold = {one.text: one.gold for one in read_claims(claims, graph).questions}
    found = read_pairs(claims, graph, bm25)
    assert {pair.text for pair in found.pairs} == {one.text for one in tuned}
    assert found.report == {
        "file": "claims.jsonl",
        "kind": "fever",
        "part": "tuned",
        "asked": len(tuned),
        "pairs": len(tuned),
        "distant": False,
    }
    closed = {graph.title(node) for one in kept for nodes in one.gold for node in nodes}
    for pair in found.pairs:
        assert pair.gold == sorted({node for nodes in gold[pair.text] for node in nodes})
        assert pair.starts == bm25.search(pair.text, STARTS)[0].tolist()
        assert not {graph.title(node) for node in pair.gold} & closed
    whole = read_pairs(claims, graph, bm25, part="all")
    assert len(whole.pairs) == len(tuned) + len(kept)


def test_answers_alone(graph: Graph, bm25: Bm25, tmp_path: Path) -> None:
    pairs, report, damage = read_pairs(write(tmp_path / "nq.jsonl", QUESTIONS), graph, bm25)
    assert [pair.text for pair in pairs] == [one["question"] for one in QUESTIONS[:2]]
    assert (report["part"], report["distant"], report["asked"], report["pairs"]) == ("all", True, 5, 2)
    assert damage == []
    for pair, answer in zip(pairs, ([" three "], [" copper "]), strict=True):
        near = bm25.search(pair.text, DEPTH)[0].tolist()
        assert pair.starts == near[:STARTS]
        assert pair.gold == [node for node in near if holds(graph.texts[node], answer)]


def test_a_passage(graph: Graph, bm25: Bm25, tmp_path: Path) -> None:
    node = next(n for n in range(graph.nodes) if "three hearts" in graph.texts[n])
    passage = {"title": graph.title(node), "text": graph.texts[node]}
    record = {"question": "how many hearts?", "answers": ["three"], "positive_ctxs": [passage]}
    ((pair,), report, _) = read_pairs(write(tmp_path / "dpr.json", [record]), graph, bm25)
    assert (pair.gold, report["distant"]) == ([node], False)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"query": "q", "positives": [], "negatives": []}, "holds lists for a reranker"),
        ({"question": "what is the octopus", "answer": ["zyzzyva quux"]}, "no block is known that holds"),
        ({"x": 1}, "holds neither lists"),
    ],
)
def test_nothing_to_learn_from(
    record: dict[str, Any], message: str, graph: Graph, bm25: Bm25, tmp_path: Path
) -> None:
    (tmp_path / "file.jsonl").write_text(json.dumps(record))
    with pytest.raises(InputError, match=message):
        read_pairs(tmp_path / "file.jsonl", graph, bm25)
