"""Answers judged against what was needed, and two ways compared on the same questions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwalk.downstream.benchmark import as_pages
from linkwalk.downstream.dataset import AlignedQuestion
from linkwalk.downstream.measure import RecallScores, compare, judge
from linkwalk.graph.store import Graph
from linkwalk.retrieve import EvidenceList
from tests.conftest import Maker, P, prose


def found(*ranked: int, read: tuple[int, ...] | None = None) -> EvidenceList:
    read = ranked if read is None else read
    return EvidenceList(sentences=(), scores=(), trails=(), start="bm25", read=read, ranked=ranked)


@pytest.fixture
def graph(make: Maker) -> Graph:
    pages = [
        P(name, "\n\n".join(prose(120, seed=i * 10 + j) for j in range(3))) for i, name in enumerate("ABC")
    ]
    return make(pages, min_chars=0).graph


def test_recall_at_every_depth_by_group(graph: Graph) -> None:
    asked = [
        AlignedQuestion(id="1", text="one", gold=(frozenset((3,)),), group="lead"),
        AlignedQuestion(
            id="2", text="two", gold=(frozenset((1, 2)), frozenset((4, 5))), group="two articles"
        ),
        AlignedQuestion(id="3", text="three", gold=(frozenset((0,)),), group="lead"),
    ]
    answers = [found(1, 3, 2), found(4, 0, 3, 1, 2, read=(4, 0, 3, 1, 2, 5)), found()]
    measured = judge(graph, asked, answers)
    assert measured.recall.tolist() == [[0, 1, 1, 1, 1], [0.5, 0.5, 0.5, 0.5, 1], [0] * 5]
    assert measured.seen.tolist() == [1, 1, 0]
    figures = measured.to_json()
    assert list(figures) == ["all", "lead", "two articles"]
    assert figures["lead"] == {
        "questions": 2,
        "recall": [0, 0.5, 0.5, 0.5, 0.5],
        "complete": [0, 0.5, 0.5, 0.5, 0.5],
        "seen": 0.5,
        "blocks": 1.5,
    }
    assert figures["two articles"]["complete"] == [0, 0, 0, 0, 1], "half of what is needed is not all of it"
    assert (figures["all"]["questions"], figures["all"]["blocks"]) == (3, 3)


def test_pages_count_once_however_many_blocks_are_found(graph: Graph) -> None:
    other = int(graph.article_node[1])
    own = [int(node) for node in graph.article_blocks(0)]
    assert len(own) > 1
    asked = [AlignedQuestion(id="1", text="one", gold=(frozenset((other,)),))]
    answers = [found(*own, other + 1)]
    assert judge(graph, asked, answers).recall.tolist() == [[0] * 5]
    assert judge(graph, asked, answers, counts_as=as_pages).recall.tolist() == [[0, 1, 1, 1, 1]]


def measured(recall: list[float], groups: list[str] | None = None) -> RecallScores:
    column = np.array(recall, np.float64)
    groups = groups or ["all"] * len(recall)
    return RecallScores(np.repeat(column[:, None], 5, 1), column, np.ones(len(recall)), tuple(groups))


def test_the_interval_of_a_difference_is_paired() -> None:
    rng = np.random.default_rng(3)
    base = rng.integers(0, 2, 400).astype(float)
    better = base.copy()
    better[np.flatnonzero(base == 0)[:20]] = 1  # never worse: a paired interval stays above zero
    result = compare(measured(better.tolist()), measured(base.tolist()))["all"]
    low, high = result["difference_ci95"]
    assert result["difference"] == pytest.approx(0.05)
    # 20 of 400 gained: 0.05 +- 1.96 sqrt(0.05 0.95 / 400); independent samples would have given three times that.
    assert (low, high) == (pytest.approx(0.0286, abs=0.004), pytest.approx(0.0714, abs=0.004))
    assert result["relative"] == pytest.approx(better.mean() / base.mean() - 1, abs=1e-4)


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=30))
def test_nothing_differs_from_itself(recall: list[float]) -> None:
    result = compare(measured(recall), measured(recall))["all"]
    assert (result["difference"], result["difference_ci95"]) == (0, [0, 0])
    assert result["relative"] == (0 if any(recall) else None)


def test_groups_are_compared_apart_and_repeat_with_the_seed() -> None:
    groups = ["lead", "lead", "other", "other"]
    ours, theirs = measured([1, 1, 0, 0], groups), measured([0, 1, 0, 1], groups)
    result = compare(ours, theirs)
    assert [result[name]["difference"] for name in ("all", "lead", "other")] == [0, 0.5, -0.5]
    assert result == compare(ours, theirs)
    assert compare(ours, theirs, seed=1)["all"]["reference"] == 0.5
