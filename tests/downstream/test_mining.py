"""Lists mined on the bundled encyclopedia: hard negatives, none of them evidence, nothing of the kept half."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from rapidfuzz import fuzz

from linkwalk import shipped
from linkwalk.downstream.align_sentences import comparable
from linkwalk.downstream.benchmark import page_disjoint
from linkwalk.downstream.dataset import answer_phrases, holds, plain
from linkwalk.downstream.mining import (
    MineConfig,
    MiningQuery,
    by_tfidf,
    claims_to_mine,
    kind_of_file,
    mine_lists,
    part_of,
    questions_to_mine,
    untokenised,
    write_lists,
)
from linkwalk.embed.text import goal_sentences
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.learn.readers.ranking import SentenceList, read_lists
from linkwalk.retrieve import Bm25
from tests.downstream.reading import read_claims

FEVER = Path(__file__).parent / "fixtures" / "fever"


@pytest.fixture(scope="module")
def wiki(encyclopedia: Path) -> Path:
    return encyclopedia


@pytest.fixture(scope="module")
def graph(wiki: Path) -> Graph:
    return Graph.open(wiki)


@pytest.fixture(scope="module")
def bm25(wiki: Path, graph: Graph) -> Bm25:
    return Bm25.open(wiki, graph)


def write(path: Path, records: Sequence[Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def claims(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The encyclopedia's own claims as a FEVER file with the text of the evidence."""
    return write(
        tmp_path_factory.mktemp("lists") / "claims.jsonl",
        [
            {
                "claim": one["claim"],
                "label": one["label"],
                "evidence": [[[one["article"], 0]]],
                "evidence_sentence": one["sentence"],
            }
            for one in shipped.claims()
        ],
    )


def sentences(graph: Graph, nodes: Sequence[int]) -> set[tuple[str, str]]:
    return {(graph.title(node), text) for node in nodes for text in goal_sentences(graph, node)}


def test_negatives_are_bm25s_and_none_is_evidence(graph: Graph, bm25: Bm25, claims: Path) -> None:
    found = claims_to_mine(claims, graph, part="all")
    config = MineConfig(negatives=8, depth=10)
    lists = list(mine_lists(graph, bm25, found.queries[:40], config))
    assert [one.query for one in lists] == [one.query for one in found.queries[:40]]
    assert (found.closed, found.damage) == (frozenset(), [])
    for ranked, one in zip(lists, found.queries, strict=False):
        assert ranked.positives == list(one.evidence)
        assert one.gold, "the encyclopedia has its own evidence"
        assert len(set(ranked.negatives)) == len(ranked.negatives) == 8
        near = bm25.search(one.query, 10)[0].tolist()
        assert set(ranked.negatives) <= sentences(graph, [node for node in near if node not in one.gold])
        for _, text in ranked.negatives:
            likeness = [fuzz.token_set_ratio(comparable(text), comparable(e)) for _, e in one.evidence]
            assert max(likeness) < 55


def test_half_is_tfidfs_and_half_is_drawn(graph: Graph, bm25: Bm25, claims: Path) -> None:
    wanted = claims_to_mine(claims, graph, part="all").queries[:6]
    few, many = (
        list(mine_lists(graph, bm25, wanted, MineConfig(negatives=count, depth=12))) for count in (4, 1000)
    )
    for short, whole in zip(few, many, strict=True):
        assert len(whole.negatives) > 20
        ranked = by_tfidf(short.query, sorted(whole.negatives))
        best = {text for _, text in ranked[:2]}
        assert {text for _, text in short.negatives[:2]} == best
        assert not {text for _, text in short.negatives[2:]} & best


def test_what_is_drawn_depends_on_query_and_seed_alone(graph: Graph, bm25: Bm25, claims: Path) -> None:
    wanted = claims_to_mine(claims, graph, part="all").queries[:12]
    config = MineConfig(negatives=8)
    whole = list(mine_lists(graph, bm25, wanted, config))
    assert list(mine_lists(graph, bm25, wanted[5:], config)) == whole[5:]
    other = list(mine_lists(graph, bm25, wanted, MineConfig(negatives=8, seed=1)))
    assert [one.negatives[:4] for one in other] == [one.negatives[:4] for one in whole]
    assert [one.negatives[4:] for one in other] != [one.negatives[4:] for one in whole]


def test_the_kept_half_is_not_read(graph: Graph, bm25: Bm25, claims: Path) -> None:
    tuned, kept = page_disjoint(read_claims(claims, graph, level="page").questions, graph)
    pages = {graph.title(node) for one in kept for nodes in one.gold for node in nodes}
    assert len(pages) > 5
    found = claims_to_mine(claims, graph, part="tuned")
    assert {one.query for one in found.queries} == {one.text for one in tuned}
    assert {graph.titles[article] for article in found.closed} == pages
    lists = list(mine_lists(graph, bm25, found.queries, MineConfig(depth=10), closed=found.closed))
    assert not {title for one in lists for title, _ in (*one.positives, *one.negatives)} & pages
    everywhere = list(mine_lists(graph, bm25, found.queries, MineConfig(depth=10)))
    assert {title for one in everywhere for title, _ in one.negatives} & pages, "else the above says nothing"


def test_a_claim_on_several_lines_is_one_list(graph: Graph, bm25: Bm25, tmp_path: Path) -> None:
    own = [text for _, text in sorted(sentences(graph, [graph.find("Octopus")]))[:2]]
    assert len(own) == 2
    line = {"label": "SUPPORTS", "evidence": [[["Octopus", 0]]]}
    path = write(
        tmp_path / "twice.jsonl",
        [
            line | {"claim": "An octopus is odd.", "evidence_sentence": own[0]},
            line | {"claim": "an octopus is odd", "evidence_sentence": own[1]},
            {"claim": "Nobody knows.", "label": "NOT ENOUGH INFO", "evidence": [[["Octopus", 0]]]},
        ],
    )
    (one,) = claims_to_mine(path, graph, part="all").queries
    assert one.evidence == tuple(("Octopus", text) for text in own)
    (ranked,) = mine_lists(graph, bm25, [one])
    assert ranked.negatives
    assert not set(own) & {text for _, text in ranked.negatives}


def test_evidence_by_number_needs_fevers_wikipedia(graph: Graph) -> None:
    found = claims_to_mine(FEVER / "claims.jsonl", graph, part="all", wiki_pages=FEVER / "wiki-pages")
    by_query = {one.query: one for one in found.queries}
    one = by_query["A crater on the smallest planet is named after Beethoven."]
    ((title, text),) = one.evidence
    assert title == "Mercury (planet)"
    assert "-LRB-" not in text
    two = by_query["Copper turns the blood of an animal with three hearts blue."]
    assert {title for title, _ in two.evidence} == {"Copper", "Octopus"}
    with pytest.raises(InputError, match=r"give FEVER's wiki-pages, which have it$"):
        claims_to_mine(FEVER / "claims.jsonl", graph, part="all")


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ("`` Waiting '' is a song -LRB- 2010 -RRB- .", '"Waiting" is a song (2010).'),
        ("It is n't Rome 's , is it ?", "It isn't Rome's, is it?"),
        ("-LSB- a -RSB- , -LCB- b -RCB- ; -COLON- 5 %", "[a], {b}; : 5%"),
        ("Plain words.", "Plain words."),
    ],
)
def test_tokenisation_is_undone(tokens: str, text: str) -> None:
    assert untokenised(tokens) == text


QUESTIONS: list[dict[str, Any]] = [
    {"question": "how many hearts does an octopus have", "answer": ["three"]},
    {"question": "what carries oxygen in the blood of an octopus", "answer": ["copper"]},
    {"question": "who is it", "answer": ["x"]},
    {"question": "what is the octopus", "answer": ["zyzzyva quux"]},
    {"question": "??", "answer": ["three"]},
]


def test_questions_with_answers_alone(graph: Graph, bm25: Bm25, tmp_path: Path) -> None:
    found = questions_to_mine(write(tmp_path / "nq.jsonl", QUESTIONS), graph)
    config = MineConfig(question_depth=6, negatives=9)
    lists = list(mine_lists(graph, bm25, found.queries, config))
    assert [bool(one.positives) for one in lists] == [True, True, False, False, False]
    for ranked, record in zip(lists[:2], QUESTIONS, strict=False):
        answers, query = answer_phrases(record["answer"]), record["question"]
        near = sentences(graph, bm25.search(query, 6)[0].tolist())
        assert {*ranked.positives, *ranked.negatives} <= near
        assert len(ranked.positives) <= 2
        for title, text in ranked.positives:
            assert holds(text, answers)
            assert {"octopus", "hearts", "blood", "oxygen"} & set(plain(f"{title} {text}").split())
        assert len(ranked.negatives) == 9
        assert not any(holds(text, answers) for _, text in ranked.negatives)
        without = [s for s in near if not holds(s[1], answers)]
        assert ranked.negatives[0] == by_tfidf(query, sorted(without))[0]
    strict = mine_lists(graph, bm25, found.queries[:2], MineConfig(shared=9))
    assert [one.positives for one in strict] == [[], []]


def test_questions_with_a_passage(graph: Graph, bm25: Bm25, tmp_path: Path) -> None:
    node = next(n for n in range(graph.nodes) if "three hearts" in graph.texts[n])
    passage = {"title": graph.title(node), "text": graph.texts[node]}
    record = {"question": QUESTIONS[0]["question"], "answers": ["three"], "positive_ctxs": [passage]}
    found = questions_to_mine(write(tmp_path / "dpr.jsonl", [record]), graph)
    assert found.queries == [MiningQuery(record["question"], gold=frozenset((node,)), answers=("three",))]
    (ranked,) = mine_lists(graph, bm25, found.queries)
    assert ranked.positives == [
        s for s in [(graph.title(node), t) for t in goal_sentences(graph, node)] if holds(s[1], [" three "])
    ]
    assert ranked.positives
    assert not set(ranked.negatives) & sentences(graph, [node])


def test_lists_are_written_as_they_are_read(tmp_path: Path) -> None:
    lists = [SentenceList("é?", [("T", "a b")], [("", "c"), ("U", "d")]), SentenceList("q", [], [])]
    path = tmp_path / "lists.jsonl"
    assert write_lists(path, iter(lists), "mine") == 2
    assert read_lists(path) == lists
    assert [json.loads(line)["source"] for line in path.read_text().splitlines()] == ["mine", "mine"]
    assert [file.name for file in tmp_path.iterdir()] == ["lists.jsonl"]
    with pytest.raises(InputError, match="cannot write"):
        write_lists(tmp_path / "nowhere" / "lists.jsonl", lists)


def test_files_are_told_apart(tmp_path: Path, claims: Path) -> None:
    files: dict[str, Any] = {
        "lists": {"query": "q", "positives": [], "negatives": []},
        "nq": QUESTIONS[0],
        "multihop": {"question": "q", "supporting_facts": [], "context": []},
    }
    for kind, record in files.items():
        assert kind_of_file(write(tmp_path / kind, [record])) == kind
    assert kind_of_file(claims) == "fever"
    assert kind_of_file(tmp_path / "questions.csv.gz") == "nq"
    with pytest.raises(InputError, match="its first object has a, b"):
        kind_of_file(write(tmp_path / "other", [{"a": 1, "b": 2}]))
    with pytest.raises(InputError, match="is empty"):
        kind_of_file(write(tmp_path / "nothing", []))


def test_parts() -> None:
    assert [part_of(kind, None) for kind in ("fever", "nq")] == ["tuned", "all"]
    assert part_of("fever", "all") == "all"
    with pytest.raises(InputError, match="no part named 'kept' to learn from: choose one of all, tuned"):
        part_of("fever", "kept")


@pytest.mark.parametrize(("name", "least"), [("negatives", 1), ("depth", 1), ("alike", 0), ("seed", 0)])
def test_mining_of_nothing_is_refused(name: str, least: int) -> None:
    with pytest.raises(InputError, match=f"{name}={least - 1}: choose {least} or more"):
        MineConfig(**{name: least - 1})
