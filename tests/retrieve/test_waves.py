"""A finder with a judge: every way of reading, what is told meanwhile, and that the last word is the same."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from linkwalk.arrays import Float32s
from linkwalk.downstream.unanswerable import lacking
from linkwalk.graph.store import Graph
from linkwalk.navigate import open_baseline, unit_rows
from linkwalk.retrieve import Bm25, EvidenceList, FindConfig, Finder, tfidf
from linkwalk.retrieve.config import NAVIGATION
from linkwalk.retrieve.finder import QueryVectors
from linkwalk.retrieve.judge import Judge, JudgeWeights
from linkwalk.retrieve.pagerank import HITS, rest_of, spread
from linkwalk.retrieve.starts import fuse
from tests.retrieve.searching import nearest
from tests.retrieve.test_find import check
from tests.retrieve.test_judge import Reader, weights

QUERIES = ["Which metal carries oxygen in the blood of an octopus?", "iron and copper", "zzzzqqq"]


class World:
    """The encyclopedia with embeddings that mean nothing."""

    def __init__(self, folder: Path) -> None:
        self.graph = Graph.open(folder)
        self.bm25 = Bm25.open(folder, self.graph)
        rng = np.random.default_rng(0)
        self.vectors = unit_rows(rng.standard_normal((self.graph.nodes, 8)))
        self.goals, self.sought = unit_rows(rng.standard_normal((6, 8))).reshape(2, 3, 8)

    def finder(self, *, way: str = "tabs", weights: JudgeWeights | None = None, **options: object) -> Finder:
        judge = Judge(self.graph, Reader(), weights or JUDGE)
        agent = open_baseline("greedy-unvisited", self.graph.forward, self.vectors)
        config = FindConfig(navigation=way, **options)
        return Finder(self.graph, self.bm25, config, agent=agent, vectors=self.vectors, judge=judge)


JUDGE = weights(nothing=0.5)


@pytest.fixture(scope="module")
def world(encyclopedia: Path) -> World:
    return World(encyclopedia)


def meant(world: World, query: int) -> QueryVectors:
    return QueryVectors(world.goals[query : query + 1], world.sought[query : query + 1])


@pytest.mark.parametrize("start", ["bm25", "dense", "hybrid"])
@pytest.mark.parametrize("way", NAVIGATION)
def test_the_last_wave_is_what_is_found(way: str, start: str, world: World) -> None:
    finder = world.finder(way=way, start=start, candidates=14, steps=4, starts=3)
    many = finder.find_many(QUERIES, 10_000, meanings=world.goals, sought=world.sought)
    for i, (query, whole) in enumerate(zip(QUERIES, many, strict=True)):
        waves = list(finder.find_waves(query, 10_000, lambda i=i: meant(world, i)))  # type: ignore[misc]
        assert [one.stage for one in waves] == ["search", *["reading"] * (len(waves) - 2), "final"]
        assert waves[-1] == whole
        for one in waves[1:]:
            checked(world, one)
            assert whole.read[: len(one.read)] == one.read
        if way in ("tabs", "order"):
            assert [len(one.read) for one in waves[1:]] == [8, 12, 14, 14]
        hits = world.bm25.search(query, 10_000)[0].tolist() if start != "dense" and i < 2 else []
        first = waves[0]
        assert list(first.ranked) == hits[: len(first.ranked)]
        assert (first.read, first.sure, bool(first.sentences)) == ((), None, bool(hits))
        assert set(whole.milliseconds) >= {"search", "reading", "ranking"}
        if way == "none" and start == "dense":
            assert list(whole.read) == nearest(world.vectors, world.sought[i], 14).tolist()


def checked(world: World, found: EvidenceList) -> None:
    """What holds whatever is read: real sentences, real paths, chances."""
    check(world.graph, found)
    assert found.sure is not None
    assert 0 < found.sure < 1
    assert found.answered == (found.sure >= JUDGE.nothing)
    best = {
        trail.pages[-1]: score for trail, score in zip(found.trails[::-1], found.scores[::-1], strict=True)
    }
    assert sum(best.values()) == pytest.approx(found.sure, abs=1e-4), "a block's best sentence has its chance"
    assert all(0 <= score <= found.sure for score in found.scores)


def test_sentences_within_a_block_go_by_the_reader(world: World) -> None:
    finder = world.finder(way="none", start="bm25", candidates=5)
    found = finder.find(QUERIES[0], 1000)
    assert finder.judge is not None
    for node in found.read:
        own = finder.judge.sentences(node).texts
        shown = [(s, x) for s, x, t in zip(found.sentences, found.scores, found.trails, strict=True)]
        chances = {s: x for (s, x), t in zip(shown, found.trails, strict=True) if t.pages[-1] == node}
        passage = type("P", (), {"via": "", "sentences": own})
        scores = Reader().block(QUERIES[0], passage, 0).scores  # type: ignore[arg-type]
        best = max(chances.values())
        for text, score in zip(own, scores, strict=True):
            assert chances[text] == pytest.approx(best * np.exp(score - scores.max()), rel=1e-3)


def test_nothing_is_embedded_before_the_first_is_told(world: World) -> None:
    asked = []

    def meaning() -> QueryVectors:
        asked.append(1)
        return meant(world, 0)

    waves = world.finder().find_waves(QUERIES[0], 3, meaning)
    first = next(waves)
    assert (first.stage, len(first.sentences), asked) == ("search", 3, [])
    words = set(QUERIES[0].lower().rstrip("?").split())
    for sentence, trail in zip(first.sentences, first.trails, strict=True):
        texts = world.finder().sentences(trail.pages[0])
        common = [
            len(words & set(text.lower().replace(".", " ").replace(",", " ").split())) for text in texts
        ]
        assert common[texts.index(sentence)] == max(common)
    assert first.scores[0] == 1.0
    list(waves)
    assert asked == [1]


def test_without_a_judge_it_is_search_and_the_end(world: World) -> None:
    finder = Finder(world.graph, world.bm25, FindConfig(navigation="none"), rerank=tfidf)
    waves = list(finder.find_waves(QUERIES[0], 4))
    assert [one.stage for one in waves] == ["search", "final"]
    assert waves[1] == finder.find(QUERIES[0], 4)
    assert (waves[1].sure, waves[1].answered) == (None, True)


def test_what_nobody_has_words_for(world: World) -> None:
    finder = world.finder(way="none", start="bm25")
    (found,) = finder.find_many(["zzzzqqq"], 5)
    assert (found.read, found.sentences, found.sure, found.answered) == ((), (), 0.0, False)
    (near,) = world.finder().find_many(["zzzzqqq"], 5, meanings=world.goals[:1])
    assert (near.start, len(near.read)) == ("dense", 20)


def test_reading_ends_early_unless_all_is_to_be_read(world: World) -> None:
    lazy = weights(enough=4.1)
    for read_all, count in ((False, 8), (True, 20)):
        finder = world.finder(weights=lazy, read_all=read_all)
        (found,) = finder.find_many(QUERIES[:1], 5, meanings=world.goals[:1])
        assert len(found.read) == count


def test_many_are_read_where_many_are_asked_for(world: World) -> None:
    for way in ("tabs", "order"):
        (found,) = world.finder(way=way, candidates=150).find_many(QUERIES[:1], 5, meanings=world.goals[:1])
        assert len(found.read) == 150


def test_pieces_do_not_matter(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = world.finder().find_many(QUERIES, 5, meanings=world.goals, sought=world.sought)
    monkeypatch.setattr("linkwalk.retrieve.finder._DESKS", 2)
    assert world.finder().find_many(QUERIES, 5, meanings=world.goals, sought=world.sought) == whole


def test_known_hits_are_not_looked_for_again(world: World) -> None:
    finder = world.finder()
    hits = finder.hits(QUERIES, world.goals, world.sought)
    whole = finder.find_many(QUERIES, 5, meanings=world.goals, sought=world.sought)
    finder.search = None  # type: ignore[assignment]
    assert finder.find_many(QUERIES, 5, meanings=world.goals, sought=world.sought, hits=hits) == whole
    for own, query, vector in zip(hits, QUERIES, world.sought, strict=True):
        assert own.words.tolist() == world.bm25.search(query, 100)[0].tolist()
        assert own.near.tolist() == nearest(world.vectors, vector, 100).tolist()


def test_what_is_read_as_readings(world: World) -> None:
    for way in NAVIGATION:
        finder = world.finder(way=way, candidates=10, steps=3)
        starts, readings = finder.readings(QUERIES, world.goals, world.sought)
        found = finder.find_many(QUERIES, 1000, meanings=world.goals, sought=world.sought)
        for own, reading, one in zip(starts, readings, found, strict=True):
            assert (own.how, tuple(reading.nodes)) == (one.start, one.read)
            trails = {trail.pages[-1]: trail for trail in one.trails}
            assert [reading.trail(i) for i in range(len(reading.nodes))] == [trails[n] for n in reading.nodes]


def test_blocks_that_are_gone_are_not_read(world: World) -> None:
    finder = world.finder(candidates=30)
    (before,) = finder.find_many(QUERIES[:1], 5, meanings=world.goals[:1])
    gone = np.zeros(world.graph.nodes, np.bool_)
    gone[list(before.read[::2])] = True
    (after,) = lacking(finder, gone).find_many(QUERIES[:1], 5, meanings=world.goals[:1])
    assert not gone[list(after.read)].any()
    assert len(after.read) == 30
    assert finder.find_many(QUERIES[:1], 5, meanings=world.goals[:1]) == [before]


def test_the_weights_of_pagerank(world: World) -> None:
    hits = world.finder().hits(QUERIES[:2], world.goals[:2], world.sought[:2])
    for own, found in zip(hits, rest_of(world.graph, hits), strict=True):
        (rested,) = spread(world.graph.forward, [fuse(own.words, own.near, count=HITS)], 200)
        assert list(found) == rested.nodes.tolist()
        assert list(found.values()) == pytest.approx((10 * rested.weights).tolist())


def test_a_compass_shows_the_way(world: World) -> None:
    class Back:
        def directions(self, goals: Float32s) -> Float32s:
            return -3 * goals

    finder = world.finder()
    finder.compass = Back()
    seen: list[Sequence[float]] = []
    assert finder.judge is not None
    plain = finder.judge.verdict

    def verdict(desk):  # type: ignore[no-untyped-def]
        seen.append(
            [float(desk.meanings.goal @ desk.meanings.way), float(desk.meanings.search @ desk.meanings.goal)]
        )
        return plain(desk)

    finder.judge.verdict = verdict  # type: ignore[method-assign]
    finder.find_many(QUERIES[:1], 5, meanings=world.goals[:1])
    assert seen[0] == pytest.approx([-1.0, 1.0], abs=1e-5)
    finder.find_many(QUERIES[:1], 5, meanings=world.goals[:1], sought=world.sought[:1])
    assert seen[1][1] == pytest.approx(float(world.goals[0] @ world.sought[0]), abs=1e-5)


def test_times_are_no_part_of_what_was_found(world: World) -> None:
    (one,) = world.finder().find_many(QUERIES[:1], 5, meanings=world.goals[:1])
    assert one == replace(one, milliseconds={})
    assert all(spent >= 0 for spent in one.milliseconds.values())
