"""Ways side by side give the answers that each gives alone, and do the common work once."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwalk.arrays import Float32s, Int32s
from linkwalk.build.build import BuildConfig, build
from linkwalk.downstream.measure import ask
from linkwalk.downstream.methods import METHODS, Method, PairScoreCache, SideBySide
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.navigate import open_baseline
from linkwalk.retrieve import Bm25, Cascade, EvidenceList, Finder, index, tfidf
from linkwalk.retrieve.judge import Judge
from tests.conftest import world, write_dump
from tests.retrieve.stand_in import by_hand, reader_of

BY_NAME = {row.name: row for row in METHODS}


def letters(query: str, titles: Sequence[str], sentences: Sequence[str]) -> Float32s:
    """A reranker whose scores depend on the pair alone: how many letters are common."""
    return np.array([len(set(query) & set(s)) + len(s) / 1e3 for s in sentences], np.float32)


class Counting:
    """Counts the pairs that a reranker is given, and the searches that are done."""

    def __init__(self) -> None:
        self.pairs: list[tuple[str, str]] = []
        self.searched: list[str] = []
        self.search: Bm25 | None = None

    def __call__(self, query: str, titles: Sequence[str], sentences: Sequence[str]) -> Float32s:
        self.pairs += [(query, sentence) for sentence in sentences]
        return letters(query, titles, sentences)

    def search_many(self, queries: Sequence[str], count: int) -> list[tuple[Int32s, list[float]]]:
        assert self.search is not None
        self.searched += queries
        return self.search.search_many(queries, count)


class Wiki:
    def __init__(self, folder: Path) -> None:
        build([write_dump(folder / "dump.xml", world(30))], folder / "wiki", BuildConfig())
        self.graph = Graph.open(folder / "wiki")
        index(folder / "wiki", self.graph)
        self.search = Bm25.open(folder / "wiki", self.graph)
        rng = np.random.default_rng(0)
        vectors = rng.standard_normal((self.graph.nodes, 8)).astype(np.float32)
        self.vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        self.agent = open_baseline("greedy-unvisited", self.graph.forward, self.vectors)
        nodes = rng.choice(self.graph.nodes, 6, replace=False).tolist()
        self.queries = [" ".join(self.graph.texts[node].split()[:7]) for node in nodes] + ["zzzzqqq"]
        self.meanings = self.vectors[[*nodes, 0]]


@pytest.fixture(scope="module")
def wiki(tmp_path_factory: pytest.TempPathFactory) -> Wiki:
    return Wiki(tmp_path_factory.mktemp("rows"))


def test_rows_differ_from_their_reference_in_navigation_alone() -> None:
    assert len(BY_NAME) == len(METHODS)
    for row in METHODS:
        if row.reference is not None:
            other = BY_NAME[row.reference]
            assert (row.start, row.rerank) == (other.start, other.rerank)
            assert row.navigation != other.navigation == "none"
            assert row.config(20).candidates == other.config(20).candidates == 20


def test_side_by_side_is_each_alone(wiki: Wiki) -> None:
    ways = SideBySide(
        wiki.graph,
        wiki.search,
        METHODS,
        8,
        cross=lambda quick: Cascade(PairScoreCache(letters), quick, top=5),
        agent=wiki.agent,
        vectors=wiki.vectors,
    )
    together = ways.find_many(wiki.queries, 4, wiki.meanings)
    assert list(together) == [row.name for row in METHODS]
    for row in METHODS:
        rerank = {"none": None, "tfidf": tfidf, "cross": Cascade(letters, top=5)}[row.rerank]
        alone = Finder(
            wiki.graph,
            wiki.search,
            row.config(8),
            agent=wiki.agent,
            rerank=rerank,
            vectors=wiki.vectors,
        )
        assert together[row.name] == alone.find_many(wiki.queries, 4, meanings=wiki.meanings), row.name
        assert all(len(found.read) <= 8 for found in together[row.name])
    reading = {row.name: [found.read for found in together[row.name]] for row in METHODS}
    assert reading["BM25 + navigation"] != reading["BM25"]
    assert reading["BM25 + walks + TF-IDF"] != reading["BM25 + one-hop + TF-IDF"]


def test_side_by_side_with_a_judge_is_each_alone(wiki: Wiki) -> None:
    judge = Judge(wiki.graph, reader_of(), by_hand())
    options = {"agent": wiki.agent, "vectors": wiki.vectors}
    ways = SideBySide(wiki.graph, wiki.search, METHODS, 6, judge=judge, **options)
    queries, goals, sought = wiki.queries[-3:], wiki.meanings[-3:], wiki.meanings[:3]
    for _ in range(2):  # the second time nothing of the first is left
        together = ways.find_many(queries, 4, goals, sought)
    for row in METHODS:
        own = judge if row.rerank == "cross" else None
        rerank = tfidf if row.rerank == "tfidf" else None
        alone = Finder(wiki.graph, wiki.search, row.config(6), rerank=rerank, judge=own, **options)
        found = alone.find_many(queries, 4, meanings=goals, sought=sought)
        for one, other in zip(together[row.name], found, strict=True):
            assert (one.read, one.ranked, one.start) == (other.read, other.ranked, other.start), row.name
            assert one.sentences == other.sentences
            assert one.scores == pytest.approx(other.scores, abs=1e-4)
            assert (one.sure is None) == (row.rerank != "cross")
            assert len(one.read) <= 6


def test_no_pair_is_read_twice(wiki: Wiki, monkeypatch: pytest.MonkeyPatch) -> None:
    reader, seen = reader_of(), []
    plain = reader.reader.read

    def read(pairs: Any, exit: int, choose: Any) -> Any:
        seen.extend(tuple(pair.tokens) for pair in pairs)
        return plain(pairs, exit, choose)

    monkeypatch.setattr(reader.reader, "read", read)
    judge = Judge(wiki.graph, reader, by_hand())
    ways = SideBySide(
        wiki.graph, wiki.search, METHODS, 6, judge=judge, agent=wiki.agent, vectors=wiki.vectors
    )
    ways.find_many(wiki.queries[:2], 4, wiki.meanings[:2])
    again = len(seen) - len(set(seen))  # what another way wants to the end
    rows = sum(row.rerank == "cross" for row in METHODS)
    assert again < len(set(seen)) < rows * 2 * 6 / 2


def test_questions_that_follow_do_not_get_the_answers_of_those_before(wiki: Wiki) -> None:
    ways = SideBySide(
        wiki.graph,
        wiki.search,
        METHODS,
        8,
        cross=lambda _: PairScoreCache(letters),
        agent=wiki.agent,
        vectors=wiki.vectors,
    )
    whole = ways.find_many(wiki.queries, 3, wiki.meanings)
    meaning = dict(zip(wiki.queries, wiki.meanings, strict=True))

    def find(queries: Sequence[str], count: int) -> dict[str, list[EvidenceList]]:
        return ways.find_many(queries, count, np.stack([meaning[query] for query in queries]))

    outcome = ask(find, wiki.queries, sentences=3, piece=2)
    for name, answers in outcome.answers.items():
        assert [(f.read, f.ranked) for f in answers.found] == [(f.read, f.ranked) for f in whole[name]]
        assert [[outcome.sentences[n] for n in some.numbers] for some in answers.sentences] == [
            [(trail.pages[-1], s) for trail, s in zip(f.trails, f.sentences, strict=True)]
            for f in whole[name]
        ]
        assert [some.scores.tolist() for some in answers.sentences] == [
            pytest.approx(f.scores) for f in whole[name]
        ]
        assert all(found.trails == () for found in answers.found), "paths are not kept"


def test_no_pair_is_scored_and_nothing_searched_twice(wiki: Wiki) -> None:
    spy = Counting()
    spy.search = wiki.search
    ways = SideBySide(
        wiki.graph,
        spy,
        METHODS,
        8,
        cross=lambda quick: Cascade(PairScoreCache(spy), quick, top=5),
        agent=wiki.agent,
        vectors=wiki.vectors,
    )
    ways.find_many(wiki.queries, 0, wiki.meanings)
    assert len(spy.pairs) == len(set(spy.pairs)) > 0
    assert sorted(spy.searched) == sorted(wiki.queries)


def test_what_is_remembered_is_bounded_and_right() -> None:
    spy = Counting()
    remembered = PairScoreCache(spy, most=4)
    for query in ("abc", "bcd", "abc"):
        titles, sentences = ["", "", "", ""], ["ab", "cd", "ab", "dd"]
        assert remembered(query, titles, sentences).tolist() == letters(query, titles, sentences).tolist()
        assert len(remembered.known) <= 4
    assert len(spy.pairs) == 9, "three sentences differ; the first query was forgotten by its second time"
    assert remembered.many(["x", "y"], [[], [""]], [[], ["y"]])[0].tolist() == []
    assert [len(own) for own in PairScoreCache(letters).many([], [], [])] == []


def test_rows_that_cannot_be_run_say_why(wiki: Wiki) -> None:
    cross = (BY_NAME["BM25 + cross-encoder"],)
    with pytest.raises(InputError, match="needs a cross-encoder: rerank with cross"):
        SideBySide(wiki.graph, wiki.search, cross, 8)
    with pytest.raises(InputError, match="needs a cross-encoder: rerank with cross"):
        SideBySide(wiki.graph, wiki.search, cross, 8, cross=lambda quick: None)
    with pytest.raises(InputError, match="choose 1 or more candidates"):
        SideBySide(wiki.graph, wiki.search, (Method(name="x"),), 0)
