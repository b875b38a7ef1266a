"""The judge: what he opens and in which order, how he ranks it, how sure he is; with a reader that scores at random."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest

from linkwalk.graph.store import Graph
from linkwalk.navigate import unit_rows
from linkwalk.retrieve import Bm25
from linkwalk.retrieve.block_reader import Passage, ReadBlock
from linkwalk.retrieve.desk import ASKED, HEARD, Desk, Library, Meanings
from linkwalk.retrieve.judge import (
    FURTHER,
    RANK,
    SURE,
    WAVES,
    WORTH,
    Judge,
    JudgeWeights,
    further_of,
    sentences_of,
    sure_of,
)
from linkwalk.retrieve.scorer import Scorer
from linkwalk.retrieve.starts import SearchHits, fuse
from tests.retrieve.searching import nearest
from tests.retrieve.stand_in import by_hand, scorer

QUERIES = ["Which metal carries oxygen in the blood of an octopus?", "iron and copper", "Born in Vienna."]


class Reader:
    """Scores by the letters, and keeps what it was given."""

    def __init__(self) -> None:
        self.given: list[list[Passage]] = []

    def read(self, queries: Sequence[str], passages: Sequence[Sequence[Passage]]) -> list[list[ReadBlock]]:
        self.given += map(list, passages)
        return [
            [self.block(query, passage, i) for i, passage in enumerate(own)]
            for query, own in zip(queries, passages, strict=True)
        ]

    def block(self, query: str, passage: Passage, place: int) -> ReadBlock:
        scores = [
            crc32(f"{query}|{passage.via}|{text}".encode()) % 1000 / 100 - 5 for text in passage.sentences
        ]
        found = np.array(scores, np.float32)
        return ReadBlock(found, found - 1, place % 2 == 0)


@pytest.fixture(scope="module")
def graph(encyclopedia: Path) -> Graph:
    return Graph.open(encyclopedia)


@pytest.fixture(scope="module")
def vectors(graph: Graph) -> np.ndarray:
    return unit_rows(np.random.default_rng(0).standard_normal((graph.nodes, 8)))


@pytest.fixture(scope="module")
def hits(encyclopedia: Path, graph: Graph, vectors: np.ndarray) -> list[SearchHits]:
    found = Bm25.open(encyclopedia, graph).search_many(QUERIES, 100)
    return [
        SearchHits(nodes, np.array(scores, np.float32), nearest(vectors, vectors[i], 100))
        for i, (nodes, scores) in enumerate(found)
    ]


def sit_down(graph: Graph, vectors: np.ndarray, hits: list[SearchHits], **options: bool) -> list[Desk]:
    library, rng = Library.of(graph, vectors), np.random.default_rng(1)
    desks = []
    for query, own in zip(QUERIES, hits, strict=True):
        meanings = Meanings(*unit_rows(rng.standard_normal((3, 8))))
        desks.append(Desk(library, query, own, meanings, **options))
        desks[-1].hear(own.heard(50))
    return desks


def weights(*, further: Scorer | None = None, **limits: float) -> JudgeWeights:
    """Follows links gladly."""
    worth = scorer(WORTH, search=3, words=2, linked=1.0, via=3.0, beside=-1.0)
    rank = scorer(RANK, best=10, search=2, covered=1)
    return JudgeWeights(worth=worth, rank=rank, sure=scorer(SURE, best=2, share=1), further=further, **limits)


def read_all(
    judge: Judge, desks: list[Desk], candidates: int, enough: float | None = None
) -> list[list[int]]:
    """How many were opened at each desk after each wave."""
    return [[len(d.opened) for d in desks] for _ in judge.read_on(desks, candidates, enough=enough)]


@pytest.mark.parametrize("candidates", [1, 5, 8, 20, 31])
@pytest.mark.parametrize("links", [True, False])
def test_waves(
    candidates: int, links: bool, graph: Graph, vectors: np.ndarray, hits: list[SearchHits]
) -> None:
    desks, reader = sit_down(graph, vectors, hits, links=links), Reader()
    waves = read_all(Judge(graph, reader, weights()), desks, candidates)
    expected = [min(candidates, WAVES[0])]
    while expected[-1] < candidates:
        expected.append(min(candidates, expected[-1] + WAVES[1]))
    assert waves == [[count] * len(desks) for count in expected]
    clicked = 0
    for desk, own in zip(desks, hits, strict=True):
        read = [desk.nodes[row] for row in desk.opened]
        assert len(set(read)) == len(read) == candidates, "no block twice, and no more than asked for"
        for row in desk.opened:
            pages, clicks = desk.path(row)
            assert pages[0] in own.heard(50)
            assert set(pages[:-1]) <= set(read)
            assert [int(graph.forward.row(p)[k]) for p, k in zip(pages, clicks, strict=False)] == list(
                pages[1:]
            )
            clicked += len(clicks)
    assert (clicked > 0) == (links and candidates > 8)
    again, other = sit_down(graph, vectors, hits, links=links), Reader()
    read_all(Judge(graph, other, weights()), again, candidates)
    assert other.given == reader.given
    assert [d.nodes for d in again] == [d.nodes for d in desks]


def test_each_wave_takes_what_search_has_next_and_what_is_worth_most(
    graph: Graph, vectors: np.ndarray, hits: list[SearchHits]
) -> None:
    (desk, *_), judge = sit_down(graph, vectors, hits), Judge(graph, Reader(), weights())
    while len(desk.opened) < 24:
        rows = desk.unread()
        worth = judge.weights.worth(desk.weighed(rows))
        best = rows[np.argsort(-worth, kind="stable")].tolist()
        size, later = WAVES[bool(desk.opened)], bool(desk.opened)
        listed = [
            r
            for n in fuse(desk.hits.words, desk.hits.near, count=20)[0].tolist()
            if (r := desk.row.get(n, -1)) in rows
        ]
        first = listed[: (1 if later else 4)]
        expected = [*first, *(row for row in best if row not in first)][:size]
        assert judge.next(desk, size, 0.0) == expected
        judge.open([desk], [expected])
    assert judge.next(desk, 0, 0.0) == []
    alone = sit_down(graph, vectors, hits)[0]
    read_all(Judge(graph, Reader(), weights()), [alone], 24)
    assert alone.opened == desk.opened, "whatever else is asked"


def test_reading_ends_where_nothing_is_worth_it(
    graph: Graph, vectors: np.ndarray, hits: list[SearchHits]
) -> None:
    desks = sit_down(graph, vectors, hits)
    judge = Judge(graph, Reader(), weights(enough=4.1))  # four chances are never more
    assert read_all(judge, desks, 20) == [[8, 8, 8]], "the first wave is read in any case"
    whole = sit_down(graph, vectors, hits)
    assert read_all(judge, whole, 20, enough=0.0)[-1] == [20, 20, 20]
    some = sit_down(graph, vectors, hits)
    judge = Judge(graph, Reader(), weights(enough=2.5))
    read_all(judge, some, 60)
    for desk in some:
        rows = desk.unread()
        logits = np.sort(judge.weights.worth(desk.weighed(rows)))[::-1][:4].astype(np.float64)
        assert len(desk.opened) == 60 or (1 / (1 + np.exp(-logits))).sum() < 2.5


def test_other_articles_come_first_where_one_was_tried(
    graph: Graph, vectors: np.ndarray, hits: list[SearchHits]
) -> None:
    worth = scorer(WORTH, search=3, words=2, via=3.0, tried=-2.0, tried_best=0.5)
    judge = Judge(graph, Reader(), replace(weights(), worth=worth))
    plain = Judge(graph, Reader(), weights())
    desks, others = sit_down(graph, vectors, hits), sit_down(graph, vectors, hits)
    for desk in desks:
        while len(desk.opened) < 20:
            size = WAVES[bool(desk.opened)]
            rows = desk.unread()
            listed = [r for n in desk.listed if (r := desk.row.get(n, -1)) in rows]
            chosen: list[int] = listed[: (1 if desk.opened else 4)]
            while len(chosen) < size:  # one by one, as if those before it were read
                figures = desk.weighed(rows)
                for row in chosen:
                    same = desk.articles(rows) == desk.articles([row])[0]
                    figures[same, WORTH.index("tried")] = np.log1p(
                        np.expm1(figures[same, WORTH.index("tried")]) + 1
                    )
                order = rows[np.argsort(-judge.weights.worth(figures), kind="stable")].tolist()
                chosen.append(next(row for row in order if row not in chosen))
            assert judge.next(desk, size, 0.0) == chosen
            judge.open([desk], [chosen])
    read_all(plain, others, 20)
    articles = [[len(set(d.articles(d.opened).tolist())) for d in some] for some in (desks, others)]
    assert sum(articles[0]) > sum(articles[1])


def test_a_fourth_network_says_when_to_stop(
    graph: Graph, vectors: np.ndarray, hits: list[SearchHits]
) -> None:
    further = scorer(FURTHER, bias=1.0, opened=-4.0, left=0.5, share=-1.0, fifth=0.1)
    judge = Judge(graph, Reader(), weights(further=further, enough=0.3))
    assert read_all(judge, sit_down(graph, vectors, hits), 20, enough=0.0)[-1] == [20, 20, 20]
    desks = sit_down(graph, vectors, hits)
    read_all(judge, desks, 28)
    chances = []
    for desk in desks:
        rows = desk.unread()
        waiting, figures = desk.weighed(rows), judge.judged(desk)
        worth, scores = judge.weights.worth(waiting), judge.weights.rank(figures)
        known = dict(zip(FURTHER, further_of(figures, scores, waiting, worth).tolist(), strict=True))
        ranked, best = np.sort(scores.astype(np.float64))[::-1], int(scores.argmax())
        share = np.exp(ranked - ranked[0]) / np.exp(ranked - ranked[0]).sum()
        chance = (1 / (1 + np.exp(-np.sort(worth.astype(np.float64))[::-1][:4]))).mean()
        following = waiting[int(worth.argmax())]
        expected = {
            "left": np.log(chance / (1 - chance)),
            "next": worth.max(),
            "next_lacks": following[WORTH.index("lacks")],
            "share": share[0],
            "share_of_five": share[:5].sum(),
            "ahead_of_fifth": ranked[0] - ranked[4],
            "fifth_ahead": ranked[4] - ranked[5],
            "fifth": ranked[4],
            "covered": figures[best, RANK.index("covered")],
            "opened": len(desk.opened) / 20,
        }
        assert {name: known[name] for name in expected} == pytest.approx(expected, abs=1e-3)
        chances.append(judge.more(desk, waiting, worth))
        logit = sum(float(w) * known[n] for n, w in zip(FURTHER, further.linear, strict=True)) + 1
        assert chances[-1] == pytest.approx(1 / (1 + np.exp(-logit)), abs=1e-4)
    assert all(c < 0.3 or len(d.opened) == 28 for c, d in zip(chances, desks, strict=True))
    assert any(len(desk.opened) < 28 for desk in desks)
    one = sit_down(graph, vectors, hits)[:1]
    read_all(judge, one, 1)
    rows = one[0].unread()
    assert 0 < judge.more(one[0], one[0].weighed(rows), judge.weights.worth(one[0].weighed(rows))) < 1


def test_few_blocks_are_all_read(graph: Graph, vectors: np.ndarray, hits: list[SearchHits]) -> None:
    (desk, *_), judge = sit_down(graph, vectors, hits, links=False), Judge(graph, Reader(), weights())
    count = len(desk.nodes)
    assert read_all(judge, [desk], 1000)[-1] == [count]
    assert judge.next(desk, 4, 0.0) == []
    none = SearchHits(np.zeros(0, np.int32), np.zeros(0, np.float32), np.zeros(0, np.int32))
    empty = Desk(Library.of(graph, None), "zzz", none, None)
    assert read_all(judge, [empty], 20) == []
    verdict = judge.verdict(empty)
    assert (verdict.order, verdict.chances.tolist(), verdict.sure) == ([], [], 0.0)


def test_the_verdict(graph: Graph, vectors: np.ndarray, hits: list[SearchHits]) -> None:
    desks, judge = sit_down(graph, vectors, hits), Judge(graph, Reader(), weights())
    read_all(judge, desks, 12)
    for desk in desks:
        verdict, figures = judge.verdict(desk), judge.judged(desk)
        assert figures.shape == (12, len(RANK))
        scores = figures.astype(np.float64) @ judge.weights.rank.linear
        assert verdict.order == np.argsort(-scores, kind="stable").tolist()
        share = np.exp(scores - scores.max())
        share /= share.sum()
        ranked = np.sort(scores)[::-1]
        margins = [ranked[0] - ranked[1], ranked[0] - ranked[1:5].mean(), share.max()]
        sure = np.concatenate((figures[verdict.order[0]], margins))
        assert sure_of(figures, scores.astype(np.float32)) == pytest.approx(sure, abs=1e-4)
        logit = float(sure @ judge.weights.sure.linear)
        assert verdict.sure == pytest.approx(1 / (1 + np.exp(-logit)), abs=1e-5)
        assert verdict.chances == pytest.approx(verdict.sure * share, abs=1e-5)
        assert verdict.chances.sum() == pytest.approx(verdict.sure, abs=1e-5)
    one = sit_down(graph, vectors, hits)[:1]
    read_all(judge, one, 1)
    assert judge.verdict(one[0]).order == [0]
    assert sure_of(judge.judged(one[0]), np.ones(1, np.float32))[-3:].tolist() == [0, 0, 1]


def test_sentences_and_their_numbers(graph: Graph) -> None:
    for node in range(0, graph.nodes, 7):
        block, own = graph.block(node), sentences_of(graph, node)
        assert len(own.numbers) == len(block.sentences)
        if own.texts == (block.text,):
            assert not own.numbers.any()
            continue
        for text, number in zip(block.sentences, own.numbers.tolist(), strict=True):
            assert (own.texts[number] == text) if number >= 0 else len(text.split()) < 4
        assert [n for n in own.numbers.tolist() if n >= 0] == list(range(len(own.texts)))


def test_scorers() -> None:
    rng = np.random.default_rng(0)
    names = ("a", "b", "c")
    mean, spread, linear = rng.standard_normal((3, 3)).astype(np.float32)
    hidden = rng.standard_normal((4, 4)).astype(np.float32)
    network = Scorer(names, mean, spread, linear, hidden, rng.standard_normal(4).astype(np.float32), 0.5)
    x = rng.standard_normal((6, 3)).astype(np.float32)
    for row, score in zip(x.astype(np.float64), network(x), strict=True):
        z = np.clip((row - mean) / spread, -8, 8)
        units = np.tanh(hidden[:, :3] @ z + hidden[:, 3])
        assert score == pytest.approx(linear @ z + network.out @ units + 0.5, abs=1e-4)
    dark = x.copy()
    dark[:, 1] = np.nan
    known = x.copy()
    known[:, 1] = mean[1]
    assert network(dark) == pytest.approx(network(known)), "what is not known counts as the mean"
    again = Scorer.from_json(json.loads(json.dumps(network.to_json())), names)
    assert again(x) == pytest.approx(network(x), abs=1e-3)
    assert again.to_json() == network.to_json(), "what is rounded is rounded once"
    found = network.to_json()
    for change, words in (
        ({"names": ["a", "b", "d"]}, "for other figures"),
        ({"mean": [1.0]}, "of another size"),
        ({"bias": float("nan")}, "not a number"),
        ({"linear": [1.0, float("inf"), 0.0]}, "not a number"),
        ({"hidden": [1.0, 2.0]}, "reshape"),
    ):
        with pytest.raises(ValueError, match=words):
            Scorer.from_json(found | change, names)
    with pytest.raises(KeyError):
        Scorer.from_json({"names": list(names)}, names)


def test_weights_as_a_file() -> None:
    found = by_hand(enough=0.25, nothing=0.125)
    again = JudgeWeights.from_json(json.loads(json.dumps(found.to_json())))
    assert again.to_json() == found.to_json()
    assert (again.enough, again.nothing) == (0.25, 0.125)


def test_weights_of_before_there_was_a_fourth_network(
    graph: Graph, vectors: np.ndarray, hits: list[SearchHits]
) -> None:
    before = (*HEARD, *ASKED)
    worth = scorer(before, search=3, words=2, linked=1.0, via=3.0, beside=-1.0)
    found = weights(enough=1.5).to_json() | {"worth": worth.to_json()}
    assert "further" not in found
    old = JudgeWeights.from_json(json.loads(json.dumps(found)))
    assert (old.worth.names, old.further) == (before, None)
    desks, others = sit_down(graph, vectors, hits), sit_down(graph, vectors, hits)
    assert read_all(Judge(graph, Reader(), old), desks, 20) == read_all(
        Judge(graph, Reader(), weights(enough=1.5)), others, 20
    )
    assert [desk.opened for desk in desks] == [desk.opened for desk in others]
    new = weights(further=scorer(FURTHER, opened=1.0))
    assert JudgeWeights.from_json(json.loads(json.dumps(new.to_json()))).to_json() == new.to_json()
    with pytest.raises(ValueError, match="for other figures"):
        JudgeWeights.from_json(found | {"further": scorer(("left", "mood")).to_json()})
