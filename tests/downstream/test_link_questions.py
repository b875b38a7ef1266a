"""Questions from links: the sentence asks, the page answers, and the block that asks is not there to be found."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from linkwalk.cli import main
from linkwalk.downstream.benchmark import as_pages, read_benchmark
from linkwalk.downstream.link_questions import (
    BRIDGE,
    LinkDrawConfig,
    LinkQuestion,
    draw_bridges,
    draw_links,
    read_links,
    sources_of,
    write_links,
)
from linkwalk.downstream.link_sentences import MASK
from linkwalk.downstream.measure import judge
from linkwalk.downstream.unanswerable import lacking, prune
from linkwalk.errors import InputError
from linkwalk.graph.store import LINK, Graph
from linkwalk.retrieve import Bm25, FindConfig, Finder
from tests.conftest import Maker, P, prose

PLAIN = FindConfig(navigation="none", start="bm25", candidates=20)


def letters(sentence: str) -> str:
    return "".join(sign for sign in sentence.lower() if sign.isalpha() or ord(sign) > 127)


@pytest.fixture(scope="module")
def drawn(encyclopedia: Path) -> tuple[Graph, list[LinkQuestion]]:
    graph = Graph.open(encyclopedia)
    return graph, draw_links(graph, LinkDrawConfig(count=60, seed=3))


def test_questions_are_sentences_without_their_link(drawn: tuple[Graph, list[LinkQuestion]]) -> None:
    graph, questions = drawn
    assert len(questions) > 40
    again = Counter(letters(s) for node in range(graph.nodes) for s in graph.block(node).sentences)
    for one in questions:
        first = int(graph.out_indptr[one.source])
        link = graph.links(one.source)[one.edge - first]
        assert (link.kind, link.target) == ("link", one.target)
        assert graph.node_article[one.source] != graph.node_article[one.target]
        assert MASK in one.text
        assert len(one.text.split()) >= 8
        assert graph.title(one.target).lower() not in one.text.lower().replace("'", " ").split(" ")
        parts = [part.strip(" ,.;:!?()\"'") for part in one.text.split(MASK)]
        text = graph.texts[one.source]
        assert all(part in text for part in parts)
        sentence = next(
            s for s in graph.block(one.source).sentences if link.anchor in s and max(parts, key=len) in s
        )
        assert again[letters(sentence)] == 1


def test_draws_are_the_same_and_spread(drawn: tuple[Graph, list[LinkQuestion]]) -> None:
    graph, questions = drawn
    assert draw_links(graph, LinkDrawConfig(count=60, seed=3)) == questions
    assert draw_links(graph, LinkDrawConfig(count=60, seed=4)) != questions
    assert len({one.source for one in questions}) == len(questions) == len({one.id for one in questions})
    for nodes in ([one.source for one in questions], [one.target for one in questions]):
        assert max(Counter(graph.node_article[nodes].tolist()).values()) <= 3
    closed = frozenset(graph.node_article[[questions[0].source, questions[1].target]].tolist())
    others = draw_links(graph, LinkDrawConfig(count=60, seed=3, closed=closed))
    met = {int(graph.node_article[node]) for one in others for node in (one.source, one.target)}
    assert others
    assert not met & closed


def test_every_answer_can_still_be_reached(drawn: tuple[Graph, list[LinkQuestion]]) -> None:
    graph, questions = drawn
    gone = sources_of(graph, questions)
    pruned = prune(graph, gone)
    linked = {
        int(pruned.node_article[edge.target])
        for node in range(pruned.nodes)
        for edge in pruned.links(node)
        if edge.kind not in ("prev", "next") and pruned.node_article[node] != pruned.node_article[edge.target]
    }
    assert gone.sum() == len(questions)
    assert not gone[[one.target for one in questions]].any()
    assert {int(graph.node_article[one.target]) for one in questions} <= linked


def test_what_is_no_question(make: Maker) -> None:
    good = "The old harbour of the northern coast was built by [[Ida Moss|Moss]] after the winter flood."
    pages = [
        P("Harbour", f"{good} {prose(20, 1)}"),
        P("Anaphor", f"It was rebuilt with copper and glass by [[Ida Moss]] in a cold summer. {prose(20, 2)}"),
        P("Short", f"The tower is by [[Ida Moss]]. {prose(30, 3)}"),
        P("Pale", f"See also the page about [[Ida Moss]] for more of the information on this. {prose(30, 4)}"),
        P("Names", f"Meadow, orbit, planet, [[Ida Moss]], village, forest, glass, paper, window. {prose(30, 5)}"),
        *(
            P(f"Boiler {n}", f"The copper in the {n} engines of a village is as [[Ida Moss]] left it. {prose(30, n)}")
            for n in range(6, 8)
        ),
        P("Links", "[[Harbour]] or [[Anaphor]], [[Short]] or [[Names]], [[Boiler 6]] of [[Ida Moss]] in a [[Pale]]."),
        P("Ida Moss", f"{prose(40, 9)} Ida Moss was a builder of harbours in the cold north, and of towers."),
    ]  # fmt: skip
    graph = make(pages, entity_links=False).graph
    questions = draw_links(graph, LinkDrawConfig(count=9))
    assert [one.text for one in questions] == [
        "The old harbour of the northern coast was built by ... after the winter flood."
    ]
    (one,) = questions
    assert (graph.name(one.source), graph.title(one.target)) == ("Harbour (0)", "Ida Moss")
    lead = int(graph.article_node[graph.node_article[one.target]])
    assert one.aligned(graph).gold == (frozenset({lead}),)


def test_an_answer_that_nothing_else_leads_to_is_not_asked_for(make: Maker) -> None:
    text = "The old harbour of the northern coast was built by [[Ida Moss]] after the winter flood."
    pages = [P("Harbour", f"{text} {prose(20, 1)}"), P("Ida Moss", prose(40, 9))]
    assert draw_links(make(pages, entity_links=False).graph) == []
    pages.append(P("Notes", f"{prose(20, 2)} [[Ida Moss]]."))
    assert len(draw_links(make(pages, entity_links=False).graph)) == 1


@pytest.mark.parametrize("way", ["none", "expand", "pagerank", "tabs"])
def test_the_block_that_asks_is_not_read(
    encyclopedia: Path, drawn: tuple[Graph, list[LinkQuestion]], way: str
) -> None:
    graph, questions = drawn
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((graph.nodes, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    config = FindConfig(navigation=way, start="bm25", candidates=12)
    finder = Finder(graph, Bm25.open(encyclopedia, graph), config, vectors=vectors, rerank=None)
    texts, meanings = [one.text for one in questions], vectors[: len(questions)]
    before = finder.find_many(texts, 0, meanings=meanings)
    after = lacking(finder, sources_of(graph, questions)).find_many(texts, 0, meanings=meanings)
    gone = set(np.flatnonzero(sources_of(graph, questions)).tolist())
    if way != "tabs":  # the vectors are anything
        assert sum(one.source in found.read for one, found in zip(questions, before, strict=True)) > 40
    assert not any(gone & set(found.read) for found in after)


def test_two_links_need_both_blocks(drawn: tuple[Graph, list[LinkQuestion]]) -> None:
    graph = drawn[0]
    questions = draw_bridges(graph, LinkDrawConfig(count=40, seed=1))
    assert draw_bridges(graph, LinkDrawConfig(count=40, seed=1)) == questions
    assert len(questions) > 20
    assert not sources_of(graph, questions).any()
    for one in questions:
        assert one.group == BRIDGE
        assert one.aligned(graph).gold == (frozenset({one.source, one.target}),)
        assert graph.out_kinds[one.edge] == LINK
        landed = graph.node_article[graph.out_targets[one.edge]]
        assert landed == graph.node_article[one.target] != graph.node_article[one.source]
        assert graph.title(one.target).lower() not in one.text.lower().split()
        for node in (one.source, one.target):  # no sentence is there whole
            assert not any(s in one.text for s in graph.block(node).sentences if len(s.split()) > 11)


def test_files_are_read_as_they_were_written(drawn: tuple[Graph, list[LinkQuestion]], tmp_path: Path) -> None:
    graph, questions = drawn
    both = [*questions, *draw_bridges(graph, LinkDrawConfig(count=9))]
    assert write_links(tmp_path / "links.jsonl", graph, both) == len(both)
    assert read_links(tmp_path / "links.jsonl", graph) == both
    lines = [json.loads(line) for line in (tmp_path / "links.jsonl").read_text().splitlines()]
    assert lines[0]["source"] == graph.name(both[0].source)
    read = read_benchmark("links", tmp_path / "links.jsonl", graph)
    assert (read.level, [one.text for one in read.judged]) == ("page", [one.text for one in both])
    assert [one.gold for one in read.judged[: len(questions)]] == [
        one.aligned(graph).gold for one in questions
    ]
    assert {len(nodes) for one in read.judged[len(questions) :] for nodes in one.gold} == {2}
    hidden = read.hidden(graph)
    assert hidden is not None
    assert np.array_equal(hidden, sources_of(graph, questions))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"text": "a"}, "no question from a link in line 1"),
        ({"source": "Octopus (0)", "block": "Octopus (0)", "link": 0}, "is of another wiki"),
        ({"claim": "a"}, "holds FEVER, not questions from links"),
    ],
)
def test_other_files_are_refused(
    drawn: tuple[Graph, list[LinkQuestion]], tmp_path: Path, line: dict[str, object], message: str
) -> None:
    path = tmp_path / "links.jsonl"
    path.write_text(json.dumps({"id": "1", "text": "a", "group": "link", **line}) + "\n")
    with pytest.raises(InputError, match=message):
        read_links(path, drawn[0])


def test_the_command_line_hides_what_asks(
    encyclopedia: Path,
    drawn: tuple[Graph, list[LinkQuestion]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    graph, questions = drawn
    path = tmp_path / "links.jsonl"
    write_links(path, graph, questions)
    asked = ["--navigation", "none", "--start", "bm25", "--rerank", "none"]
    with pytest.raises(SystemExit) as leave:
        main(["score", "links", str(encyclopedia), str(path), *asked, "--json", "--quiet"])
    assert leave.value.code in (0, None)
    found = json.loads(capsys.readouterr().out)
    assert (found["measure"], found["judged"]) == ("gold page", len(questions))
    finder = Finder(graph, Bm25.open(encyclopedia, graph), PLAIN, rerank=None)
    answers = lacking(finder, sources_of(graph, questions)).find_many([one.text for one in questions], 0)
    own = judge(graph, [one.aligned(graph) for one in questions], answers, counts_as=as_pages)
    assert found["results"][0]["metrics"]["recall"] == own.to_json()["all"]["recall"]
