"""What lies on a desk against the same figures computed plainly, one block at a time."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

from linkwalk.graph.store import Graph
from linkwalk.navigate import unit_rows
from linkwalk.retrieve import Bm25
from linkwalk.retrieve.block_reader import ReadBlock
from linkwalk.retrieve.desk import ASKED, GROUPS, HEARD, HIT, MEANT, READ, Desk, Library, Meanings
from linkwalk.retrieve.judge import BlockSentences, sentences_of
from linkwalk.retrieve.starts import SearchHits
from tests.retrieve.searching import nearest

QUERY = "Which metal carries oxygen in the blood of an octopus?"
COMMON = {"which", "in", "the", "of", "an"}


@pytest.fixture(scope="module")
def graph(encyclopedia: Path) -> Graph:
    return Graph.open(encyclopedia)


@pytest.fixture(scope="module")
def vectors(graph: Graph) -> np.ndarray:
    return unit_rows(np.random.default_rng(0).standard_normal((graph.nodes, 8)))


@pytest.fixture(scope="module")
def hits(encyclopedia: Path, graph: Graph, vectors: np.ndarray) -> SearchHits:
    nodes, scores = Bm25.open(encyclopedia, graph).search(QUERY, 30)
    return SearchHits(nodes, np.array(scores, np.float32), nearest(vectors, vectors[7], 30))


def meanings() -> Meanings:
    return Meanings(*unit_rows(np.random.default_rng(1).standard_normal((3, 8))))


def read(graph: Graph, node: int, seed: int) -> tuple[ReadBlock, BlockSentences]:
    """Scores that mean nothing."""
    own, rng = sentences_of(graph, node), np.random.default_rng((seed, node))
    first = rng.normal(0, 3, len(own.texts)).astype(np.float32)
    deep = bool(rng.integers(2))
    last = rng.normal(0, 3, len(own.texts)).astype(np.float32) if deep else first
    return ReadBlock(last, first, deep), own


def opened(desk: Desk, graph: Graph, waves: list[list[int]], seed: int = 0) -> Desk:
    for rows in waves:
        each = [read(graph, desk.nodes[row], seed) for row in rows]
        desk.open(rows, [block for block, _ in each], [own.numbers for _, own in each])
    return desk


class Plain:
    """All figures, by their definitions."""

    def __init__(
        self, desk: Desk, graph: Graph, vectors: np.ndarray | None, weights: dict[int, float]
    ) -> None:
        self.desk, self.graph, self.vectors, self.weights = desk, graph, vectors, weights
        self.read = {desk.nodes[row]: block for row, block in zip(desk.opened, desk.read, strict=True)}
        self.words = re.findall(r"\w+", QUERY.lower())

    def best(self, node: int) -> float:
        return float(max(self.read[node].scores))

    def links(self, node: int) -> list[tuple[float, float]]:
        """Of every link to a block in what was read: the worth of the sentence around it, and of its block."""
        found = []
        for source, block in self.read.items():
            edges = self.graph.links(source)
            raw, own = self.graph.texts.bytes(source), sentences_of(self.graph, source)
            ends = self.graph.sentence_ends[
                self.graph.sentence_indptr[source] : self.graph.sentence_indptr[source + 1]
            ]
            for edge in edges:
                if edge.target == node and edge.kind not in ("prev", "next"):
                    at = len(raw.decode()[: edge.start].encode())
                    number = own.numbers[sum(int(end) <= at for end in ends)]
                    best = float(max(block.scores))
                    found.append((float(block.scores[number]) if number >= 0 else best, best))
        return found

    def heard(self, node: int) -> dict[str, float]:
        desk, graph, hits = self.desk, self.graph, self.desk.hits
        words, near = hits.words.tolist(), hits.near.tolist()
        found = dict.fromkeys(HEARD, 0.0)
        if self.vectors is None:
            found |= dict.fromkeys(MEANT, math.nan)
        elif desk.meanings is not None:
            unit = self.vectors[node].astype(np.float64)
            for name, vector in zip(("goal", "way", "search"), desk.meanings, strict=True):
                found[name] = float(unit @ vector)
            if self.read:
                top = self.vectors[max(self.read, key=self.best)].astype(np.float64)
                lacks = desk.meanings.search - (desk.meanings.search @ top) * top
                found["lacks"] = float(unit @ lacks / np.linalg.norm(lacks))
        share = {n: float(s) / float(max(hits.scores)) for n, s in zip(words, hits.scores, strict=True)}
        found["words"] = share.get(node, 0.0)
        found["words_rank"] = 10 / (10 + words.index(node)) if node in words else 0.0
        found["near_rank"] = 10 / (10 + near.index(node)) if node in near else 0.0
        found["both"] = float(node in words and node in near)
        article = graph.node_article[node]
        mates = [n for n in {*words[:20], *near[:20]} if graph.node_article[n] == article]
        found["mates"] = math.log1p(len(mates))
        found["mates_words"] = max((share.get(n, 0.0) for n in mates), default=0.0)
        if links := self.links(node):
            via, parent = max(links, key=lambda link: link[0])
            found |= {"linked": 1.0, "links": math.log1p(len(links)), "via": via / 10, "parent": parent / 10}
        beside = [n for n in self.read if node in (n - 1, n + 1) and graph.node_article[n] == article]
        found["beside"] = max((self.best(n) for n in beside), default=0.0) / 10
        found["rank"] = self.weights.get(node, 0.0)
        place = node - int(graph.article_node[article])
        found |= {"lead": float(place == 0), "place": math.log1p(place)}
        title = re.findall(r"\w+", graph.title(node).lower())
        content = [word for word in title if word not in COMMON] or title
        found["title"] = sum(word in self.words for word in content) / len(content)
        found["named"] = float(f" {' '.join(title)} " in f" {' '.join(self.words)} ")
        found["degree"] = math.log1p(int((graph.out_targets == node).sum()))
        return found

    def judged(self, node: int) -> dict[str, float]:
        block, own = self.read[node], sentences_of(self.graph, node)
        scores = sorted(block.scores.tolist(), reverse=True)
        content = set(self.words) - COMMON
        text = set(re.findall(r"\w+", " ".join(own.texts).lower()))
        article = self.graph.node_article[node]
        mates = [n for n in self.read if n != node and self.graph.node_article[n] == article]
        return {
            "best": scores[0] / 10,
            "second": scores[1] / 10 if len(scores) > 1 else -2.0,
            "first": float(max(block.first)) / 10,
            "deep": float(block.deep),
            "behind": (scores[0] - max(map(self.best, self.read))) / 10,
            "covered": len(content & text) / len(content),
            "mates_best": max(map(self.best, mates)) / 10 if mates else -2.0,
            "sentences": math.log1p(len(scores)),
        }

    def asked(self) -> dict[str, float]:
        bests = sorted((self.best(n) for n in self.read), reverse=True)
        top = bests[0] if bests else -20.0
        rest = bests[1:4] or [top]
        return {
            "question": 1.0,
            "length": math.log1p(len(QUERY.split())),
            "top": top / 10,
            "spread": (top - sum(rest) / len(rest)) / 10,
            "opened": len(self.read) / 20,
        }


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("sighted", [True, False])
def test_all_figures(links: bool, sighted: bool, graph: Graph, vectors: np.ndarray, hits: SearchHits) -> None:
    weights = {int(node): 0.1 * i for i, node in enumerate(hits.words[:9])}
    table = vectors if sighted else None
    desk = Desk(Library.of(graph, table), QUERY, hits, meanings() if sighted else None, weights, links=links)
    desk.hear(hits.heard(20))
    assert desk.nodes == list(
        dict.fromkeys(n for p in zip(hits.words[:20], hits.near[:20], strict=True) for n in p)
    )
    for waves in ([], [[0, 3, 5]], [[1, 2], [8]]):
        opened(desk, graph, waves)
        plain = Plain(desk, graph, table, weights)
        rows = np.arange(len(desk.nodes))
        figures = desk.heard_of(rows)
        asked = plain.asked()
        for row, node in enumerate(desk.nodes):
            expected = [*plain.heard(node).values(), *(asked[name] for name in ASKED)]
            wrong = {
                name: (got, want)
                for name, got, want in zip((*HEARD, *ASKED), figures[row].tolist(), expected, strict=True)
                if not np.isclose(got, want, rtol=0, atol=1e-5, equal_nan=True)
            }
            assert wrong == {}, graph.name(node)
        weighed = desk.weighed(rows)
        assert np.array_equal(weighed[:, : figures.shape[1]], figures, equal_nan=True)
        scores = {row: float(block.scores.max()) for row, block in zip(desk.opened, desk.read, strict=True)}
        for row, tried in zip(rows.tolist(), weighed[:, figures.shape[1] :].tolist(), strict=True):
            article = graph.node_article[desk.nodes[row]]
            own = [s for r, s in scores.items() if graph.node_article[desk.nodes[r]] == article]
            assert tried == pytest.approx([np.log1p(len(own)), max(own, default=0.0) / 10], abs=1e-5)
        if desk.opened:
            judged = desk.judged(lambda node: sentences_of(graph, node).texts)
            for row, own in zip(desk.opened, judged, strict=True):
                want = plain.judged(desk.nodes[row])
                assert own[len(HEARD) : -len(ASKED)] == pytest.approx([want[name] for name in READ], abs=1e-5)
                assert own[: len(HEARD)] == pytest.approx(figures[row, : len(HEARD)], nan_ok=True)
                assert own[-len(ASKED) :] == pytest.approx([asked[name] for name in ASKED], abs=1e-5)
    if not links:
        assert all(parent[0] == HIT for parent in desk.parent)
    assert set(desk.unread()) | set(desk.opened) == set(range(len(desk.nodes)))


def test_what_was_read_tells_of_what_it_links_to(graph: Graph, hits: SearchHits) -> None:
    desk = Desk(Library.of(graph, None), QUERY, hits, None)
    desk.hear(hits.heard(5))
    before = list(desk.nodes)
    opened(desk, graph, [[2, 0]])
    new = [n for row in (2, 0) for n in graph.forward.row(desk.nodes[row]).tolist()]
    assert desk.nodes == list(dict.fromkeys((*before, *new))), "each once, in the order of reading"
    for row in range(len(before), len(desk.nodes)):
        pages, links = desk.path(row)
        assert len(pages) == 2
        assert pages[0] in (before[2], before[0])
        assert graph.forward.row(pages[0])[links[0]] == pages[1] == desk.nodes[row]
    assert desk.path(0) == ((before[0],), ())
    # A block is read behind the sentence around the best link that leads to it.
    sentences = lambda node: sentences_of(graph, node)  # noqa: E731
    for row in range(len(desk.nodes)):
        passage = desk.passage(row, sentences)
        assert passage.title == graph.title(desk.nodes[row])
        assert passage.sentences == sentences(desk.nodes[row]).texts
        if row < len(before):
            assert passage.via == "", "a search result is read as it is"
        elif row in desk.linked:
            (source, link), edges = desk.parent[row], graph.links(desk.path(row)[0][-2])
            assert edges[link].target == desk.nodes[row]
            assert passage.via in sentences(desk.nodes[source]).texts
            anchor = " ".join(edges[link].anchor.split())
            shown = (
                passage.via,
                *sentences(desk.nodes[source]).texts[:1],
            )  # what is too short stands for the first
            assert any(anchor in " ".join(text.split()) for text in shown)


def test_paths_are_along_what_was_read(graph: Graph, vectors: np.ndarray, hits: SearchHits) -> None:
    rng = np.random.default_rng(3)
    desk = Desk(Library.of(graph, vectors), QUERY, hits, meanings())
    desk.hear(hits.heard(4))
    for wave in range(6):
        rows = rng.choice(desk.unread(), 3, replace=False).tolist()
        opened(desk, graph, [rows], seed=wave)
    read = {desk.nodes[row] for row in desk.opened}
    for row in range(len(desk.nodes)):
        pages, links = desk.path(row)
        assert pages[0] in hits.heard(4)
        assert set(pages[:-1]) <= read
        assert len(set(pages)) == len(pages), "no circles"
        assert [int(graph.forward.row(p)[k]) for p, k in zip(pages, links, strict=False)] == list(pages[1:])
    assert any(len(desk.path(row)[0]) > 2 for row in range(len(desk.nodes)))


def test_nothing_is_heard_of_twice(graph: Graph, hits: SearchHits) -> None:
    desk = Desk(Library.of(graph, None), QUERY, hits, None)
    desk.hear([5, 3, 5, 3, 8])
    desk.hear([8, 5, 1, 1])
    assert desk.nodes == [5, 3, 8, 1]
    assert [desk.row[node] for node in desk.nodes] == [0, 1, 2, 3]
    assert len(desk.known) == 4
    desk.hear([])
    none = SearchHits(np.zeros(0, np.int32), np.zeros(0, np.float32), np.zeros(0, np.int32))
    empty = Desk(Library.of(graph, None), "?", none, None)
    assert len(empty.unread()) == 0
    assert empty.about().shape == (len(ASKED),)


@pytest.mark.parametrize("missing", ["words", "near"])
def test_what_no_list_was_asked_for_is_not_known(
    missing: str, graph: Graph, vectors: np.ndarray, hits: SearchHits
) -> None:
    none = np.zeros(0, np.int32)
    words = {"words": none, "scores": np.zeros(0, np.float32)}
    desk = Desk(
        Library.of(graph, vectors),
        QUERY,
        hits._replace(**words if missing == "words" else {"near": none}),
        meanings(),
    )
    desk.hear(hits.heard(9))
    unknown = {name for name, column in zip(HEARD, desk.known.T, strict=True) if np.isnan(column).all()}
    assert unknown == set(GROUPS[missing])
    assert np.isnan(desk.known).sum() == len(unknown) * len(desk.nodes), "and nothing else"


def test_what_a_list_has_far_down_was_clicked_where_a_link_leads_there(
    graph: Graph, hits: SearchHits
) -> None:
    everything = SearchHits(
        np.arange(graph.nodes, dtype=np.int32), np.ones(graph.nodes, np.float32), hits.near[:0]
    )
    for links in (True, False):
        desk = Desk(Library.of(graph, None), QUERY, everything, None, links=links)
        desk.hear(everything.heard(graph.nodes))
        opened(desk, graph, [[2, 0]])
        clicked = {row for row in range(len(desk.nodes)) if len(desk.path(row)[0]) > 1}
        linked = {row for row in desk.linked if row not in (2, 0) and desk.nodes[row] not in desk.listed[:10]}
        assert linked
        assert clicked == (linked if links else set())
        for row in clicked:
            pages, steps = desk.path(row)
            assert graph.forward.row(pages[0])[steps[0]] == pages[1] == desk.nodes[row]
